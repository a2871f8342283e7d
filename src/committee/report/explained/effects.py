r"""How a model's answer changes with one column: partial dependence, and accumulated local effects.

Partial dependence at a value v is the mean answer if all rows had v in this column [1]_. Where columns go together
that asks for rows which do not exist, such as tall ones of little weight. Accumulated local effects [2]_ ask only what
a small step does to the rows that are near it: with edges :math:`z_0 < z_1 < \dots` and the rows :math:`N_k` between
:math:`z_{k-1}` and :math:`z_k`,

.. math:: A(z_k) = \sum_{l \le k} \frac{1}{|N_l|} \sum_{i \in N_l} [f(z_l, x_i) - f(z_{l-1}, x_i)],

here moved up or down so that its mean over the rows is the mean answer. Where the two curves part, the column goes
together with others that the model uses.

.. [1] J. H. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29(5).
.. [2] D. W. Apley, J. Zhu (2020). Visualizing the effects of predictor variables in black box supervised learning
   models. Journal of the Royal Statistical Society B 82(4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.number_types import F64, Index
from committee.data.reading.time_words import DAY
from committee.report.explained.columns import TableRows, encoded_rows
from committee.vote.explain.tree_expectations import split_places, tree_expectations

MOST_ROWS, MOST_PLACES, MOST_CATEGORIES = 250, 13, 8
"""Rows that are enough to average over, and places where answers are asked for."""

Answer = Callable[[Any], F64]
"""Answers of a model to rows: probabilities ``(n, K)``, or numbers ``(n, q)``."""


@dataclass(frozen=True, eq=False)
class Effect:
    """Mean answers of a model over the values of one column."""

    column: str
    names: tuple[str, ...]
    """Categories in words; none of a column of numbers."""
    places: F64
    """Numbers, rising; of categories 0, 1, ..."""
    dependence: F64
    """Partial dependence, ``(places, K)``."""
    local: F64 | None
    """Accumulated local effects of a column of numbers, ``(places, K)``."""
    missing: F64 | None
    """Partial dependence where the value is missing, ``(K,)``; None if no row lacks it."""
    n_rows: int
    """Rows averaged over; 0 if it is the trees' own memory of their training rows."""
    seen: F64
    """Values of a column of numbers in the rows, a few of them."""
    form: str | None = None
    """How a column of dates or times is written in files; its places are seconds."""

    @property
    def span(self) -> float:
        """How far the partial dependence goes up and down, at most."""
        return float(np.ptp(self.dependence, axis=0).max())


def effects(model: Any, X: Any, columns: Index, answer: Answer) -> list[Effect]:
    """Effects of some columns, by number, in their order; those with one value alone have none.

    Parameters
    ----------
    model : fitted learner
        With a table of its own, ``table_``.
    X : table or array-like (n, p)
        Rows that answers are averaged over; `MOST_ROWS` of them are enough.
    columns : int array
        Which columns.
    answer : callable ``(rows) -> (n, K)``
        What the model answers.
    """
    table = TableRows(X)
    rows, encoded = np.arange(len(table)), encoded_rows(model, X)
    found = [
        _of_categories(model, table, rows, j, answer)
        if model.table_.categories[j] is not None
        else _of_numbers(model, table, rows, j, encoded[:, j], answer)
        for j in columns.tolist()
    ]
    return [effect for effect in found if effect is not None]


def remembered_effects(model: Any, columns: Index) -> list[Effect]:
    """Effects of columns as the model's trees remember their training rows, without any rows.

    See `committee.vote.explain.tree_expectations`. There are none of voters that remember nothing of the kind.
    """
    found = []
    for j in columns.tolist():
        coded = model.table_.coded(j)
        names: tuple[str, ...] = ()
        if coded is not None:
            places = np.arange(min(len(coded), MOST_CATEGORIES), dtype=np.float64)
            names = tuple(str(word) for word in coded[: len(places)])
        else:
            splits = split_places(model.committee_, j)
            if not len(splits):
                continue
            # at a threshold a row still goes left; a step beyond the last one shows what is to its right
            places = np.unique(np.quantile(splits, np.linspace(0.0, 1.0, MOST_PLACES), method="nearest"))
            alone = abs(places[-1]) / 10.0 or 1.0 if model.table_.form_of_times(j) is None else DAY
            places = np.append(places, places[-1] + (np.ptp(places) / 12.0 or alone))
        try:
            answers = tree_expectations(model.committee_, j, places)
        except (TypeError, ValueError):  # other voters, or trees that were made without a record
            return []
        form = model.table_.form_of_times(j)
        found.append(Effect(model.table_.quantity(j), names, places, answers, None, None, 0, places[:0], form))
    return found


def _of_numbers(model: Any, table: TableRows, rows: Index, j: int, values: F64, answer: Answer) -> Effect | None:
    order = np.argsort(values, kind="stable")[: np.count_nonzero(np.isfinite(values))]
    if not len(order):
        return None
    # values that rows have, so that whole numbers stay whole; the outer fiftieths would be drawn long and say little
    at = order[np.linspace(0.02 * (len(order) - 1), 0.98 * (len(order) - 1), MOST_PLACES).round().astype(np.intp)]
    at = at[np.unique(values[at], return_index=True)[1]]
    if len(at) < 2:
        return None
    return Effect(
        model.table_.column(j),
        (),
        values[at],
        _dependence(table, rows, j, at, answer),
        _local(table, rows, j, at, values, answer),
        _missing(table, rows, j, values, answer),
        len(rows),
        values[rows][np.isfinite(values[rows])][:: max(1, len(rows) // 80)],
        model.table_.form_of_times(j),
    )


def _of_categories(model: Any, table: TableRows, rows: Index, j: int, answer: Answer) -> Effect | None:
    texts = table.texts(j)
    counts = Counter(text for text in texts if text)
    levels = {str(level): place for place, level in enumerate(model.table_.categories[j] or ())}
    # in the order of their levels, which is that in which they were declared
    most = [name for name, _ in counts.most_common(MOST_CATEGORIES)]
    names = sorted(most, key=lambda name: levels.get(name, len(levels)))
    if len(names) < 2:
        return None
    at = np.array([texts.index(name) for name in names])
    lacks = np.array([np.nan if not text else 0.0 for text in texts])
    dependence, missing = _dependence(table, rows, j, at, answer), _missing(table, rows, j, lacks, answer)
    places = np.arange(len(names), dtype=np.float64)
    return Effect(model.table_.column(j), tuple(names), places, dependence, None, missing, len(rows), places[:0])


def _dependence(table: TableRows, rows: Index, j: int, at: Index, answer: Answer) -> F64:
    """Mean answers if all rows had the value of each of the rows `at`."""
    changed = table.with_column(np.tile(rows, len(at)), j, np.repeat(at, len(rows)))
    answers = answer(changed)
    return np.asarray(answers.reshape(len(at), len(rows), -1).mean(axis=1))


def _missing(table: TableRows, rows: Index, j: int, values: F64, answer: Answer) -> F64 | None:
    lacking = np.flatnonzero(np.isnan(values))
    return _dependence(table, rows, j, lacking[:1], answer)[0] if len(lacking) else None


def _local(table: TableRows, rows: Index, j: int, at: Index, values: F64, answer: Answer) -> F64:
    """Accumulated local effects at the values of the rows `at`."""
    known = rows[np.isfinite(values[rows])]
    step = np.clip(np.searchsorted(values[at], values[known], side="left"), 1, len(at) - 1)
    upper, lower = (answer(table.with_column(known, j, at[step - back])) for back in (0, 1))
    moved = np.zeros((len(at), upper.shape[1]))
    np.add.at(moved, step, upper - lower)
    counts = np.bincount(step, minlength=len(at))
    total = np.cumsum(moved / np.maximum(counts, 1)[:, None], axis=0)
    # the mean over rows of the curve, taken in the middle of each step, shall be the mean answer
    middle = (total[step] + total[step - 1]) / 2.0
    mean = answer(table.taken(known)).mean(axis=0)
    return np.asarray(total - middle.mean(axis=0) + mean)
