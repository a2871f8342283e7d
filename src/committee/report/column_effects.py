r"""Effects of columns on a model's predictions: partial dependence, also of pairs, and accumulated local effects.

Partial dependence at a value v is the mean prediction if all rows had v in this column [1]_. With correlated columns
that needs rows which do not exist, such as tall people of little weight. Accumulated local effects [2]_ change a value
only to the next edge: with edges :math:`z_0 < z_1 < \dots` and the rows :math:`N_k` between :math:`z_{k-1}` and
:math:`z_k`,

.. math:: A(z_k) = \sum_{l \le k} \frac{1}{|N_l|} \sum_{i \in N_l} [f(z_l, x_i) - f(z_{l-1}, x_i)],

here with the outermost values in the end steps, and shifted so that its mean over the rows with a value, each in the
middle of its step, is their mean prediction. Where the shapes of the two curves differ, the column is correlated with
others that the model uses.

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
from numpy.typing import ArrayLike

from committee.data.columns import is_frame, open_frame
from committee.data.dates import SECONDS_PER_DAY
from committee.data.matrices import is_sparse
from committee.data.number_types import F64, Index
from committee.vote.explain.tree_expectations import split_thresholds, tree_expectations

MOST_ROWS, MOST_PLACES, MOST_CATEGORIES, MOST_LINES = 250, 13, 8, 40
"""Most rows to average over, values of a numeric column, categories, and rows with predictions of their own."""

FEWEST_SPLITS = 3
"""Fewest different thresholds for which an effect without rows is a curve."""

MISSING = "(missing)"

Predict = Callable[[Any], F64]
"""Function that predicts rows, shape (n, K) or (n, q)."""


@dataclass(frozen=True, eq=False)
class TableRows:
    X: Any

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def taken(self, rows: Index) -> Any:
        if is_sparse(self.X):
            return self.X.tocsr()[rows].toarray()
        if not is_frame(self.X):
            return np.asarray(self.X)[rows]
        return open_frame(self.X)[rows.tolist()].to_native()

    def with_column(self, rows: Index, column: int, values_of: Index) -> Any:
        if not is_frame(self.X):
            changed = np.array(self.taken(rows))
            changed[:, column] = np.asarray(self.taken(values_of))[:, column]
            return changed
        frame = open_frame(self.X)
        name = frame.columns[column]
        values = frame[name][values_of.tolist()]
        return frame[rows.tolist()].with_columns(values.alias(name)).to_native()

    def texts(self, column: int) -> list[str]:
        if not is_frame(self.X):
            values: list[Any] = np.asarray(self.taken(np.arange(len(self))))[:, column].tolist()
        else:
            frame = open_frame(self.X)
            values = frame[frame.columns[column]].to_list()
        return ["" if value is None or value != value else str(value) for value in values]


def spread_rows(n: int, most: int) -> Index:
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def sampled_rows(X: Any, sample_weight: ArrayLike | None, most: int) -> tuple[Any, F64 | None]:
    table = TableRows(X)
    if not hasattr(X, "__len__"):
        raise TypeError(f"X is a {type(X).__name__} of unknown length; give a table in memory")
    if sample_weight is None:
        return table.taken(spread_rows(len(table), most)), None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (len(table),) or not (np.isfinite(weights) & (weights >= 0.0)).all() or not weights.any():
        raise ValueError(
            f"sample_weight has shape {weights.shape}; give {len(table)} finite weights of 0 or more, not all 0"
        )
    known = np.flatnonzero(weights)
    rows = known[spread_rows(len(known), most)]
    return table.taken(rows), weights[rows]


def encoded_rows(model: Any, X: Any) -> F64:
    rows: F64 = model.table_.encode(model.validate_rows(X))
    return rows


@dataclass(frozen=True, eq=False)
class Effect:
    """Effect of a column at its values `places`, or of its categories or intervals `names` at 0, 1, ..."""

    column: str
    names: tuple[str, ...]
    places: F64  # dates and times in seconds
    dependence: F64  # (places, K)
    local: F64 | None  # (places, K)
    missing: F64 | None  # (K,)
    n_rows: int  # 0: by the training record of the trees
    seen: F64  # (m,) values in some rows
    form: str | None = None
    individual: F64 | None = None  # (places, rows, K)


@dataclass(frozen=True, eq=False)
class ColumnGrid:
    """Values of a column; `rows` has the index of one row with each."""

    column: str
    number: int
    rows: Index
    names: tuple[str, ...]
    places: F64
    form: str | None = None


@dataclass(frozen=True, eq=False)
class PairEffect:
    """Mean predictions `dependence` by values of two columns, shape (values of y, values of x, K)."""

    x: ColumnGrid
    y: ColumnGrid
    dependence: F64

    @property
    def column(self) -> str:
        return f"{self.x.column} and {self.y.column}"


def pair_effect(
    model: Any, X: Any, pair: tuple[int, int], predict: Predict, weights: F64 | None = None
) -> PairEffect | None:
    schema, table = model.table_.source, TableRows(X)
    encoded = schema.encode(model.validate_rows(X))
    x, y = (_grid(schema, table, j, encoded[:, j]) for j in pair)
    if x is None or y is None:
        return None
    n = len(table)
    first = table.with_column(np.tile(np.arange(n), len(x.rows)), x.number, np.repeat(x.rows, n))
    m = n * len(x.rows)  # the first n rows of which have their own values of y
    both = TableRows(first).with_column(np.tile(np.arange(m), len(y.rows)), y.number, np.repeat(y.rows, m))
    predictions = predict(both).reshape(len(y.rows), len(x.rows), n, -1)
    return PairEffect(x, y, np.average(predictions, axis=2, weights=np.ones(n) if weights is None else weights))


def effects(model: Any, X: Any, columns: Index, predict: Predict, weights: F64 | None = None) -> list[Effect]:
    schema, n = model.table_.source, len(TableRows(X))
    rows = _WeightedRows(TableRows(X), predict, predict(X), np.ones(n) if weights is None else weights)
    encoded = schema.encode(model.validate_rows(X))
    grids = [_grid(schema, rows.table, j, encoded[:, j]) for j in columns.tolist()]
    return [_effect(rows, grid, encoded[:, grid.number]) for grid in grids if grid is not None]


def stored_effects(model: Any, columns: Index) -> list[Effect]:
    found, table, votes = [], model.table_, model.committee_
    for j in (part for column in columns.tolist() for part in table.matrix_columns(column)):
        coded = table.coded(j)
        names: tuple[str, ...] = ()
        if coded is not None:
            values = np.arange(min(len(coded), MOST_CATEGORIES), dtype=np.float64)
            names = tuple(str(word) for word in coded[: len(values)])
        else:
            splits = split_thresholds(votes, j)
            if not len(splits):
                continue
            # at a threshold a row still goes left; a step beyond the last one shows what is to its right
            values = np.unique(splits)
            if len(values) < FEWEST_SPLITS:
                words = [table.format_number(j, threshold) for threshold in values.tolist()]
                names = (*(f"≤ {word}" for word in words), f"> {words[-1]}")
            else:
                values = np.unique(np.quantile(splits, np.linspace(0.0, 1.0, MOST_PLACES), method="nearest"))
            alone = abs(values[-1]) / 10.0 or 1.0 if table.time_format(j) is None else SECONDS_PER_DAY
            values = np.append(values, values[-1] + (np.ptp(values) / 12.0 or alone))
        try:
            predictions = tree_expectations(votes, j, values)
            below = np.array([2.0 * values[0] - values[-1]])
            if coded is None and names and not np.allclose(tree_expectations(votes, j, below), predictions[0]):
                continue  # members with lines: predictions vary within an interval, which a single number would hide
        except (TypeError, ValueError):  # other voters, or trees without a record
            return []
        form = None if names else table.time_format(j) or table.date_part(j)
        places = np.arange(len(names), dtype=np.float64) if names else values
        found.append(Effect(table.quantity(j), names, places, predictions, None, None, 0, places[:0], form))
    return found


@dataclass(frozen=True, eq=False)
class _WeightedRows:
    table: TableRows
    predict: Predict
    predictions: F64
    weights: F64

    def changed(self, j: int, at: Index) -> F64:
        n = len(self.weights)
        changed = self.table.with_column(np.tile(np.arange(n), len(at)), j, np.repeat(at, n))
        return self.predict(changed).reshape(len(at), n, -1)

    def mean(self, predictions: F64) -> F64:
        return np.asarray(np.average(predictions, axis=-2, weights=self.weights))


def _grid(schema: Any, table: TableRows, j: int, values: F64) -> ColumnGrid | None:
    if schema.categories[j] is None:
        order = np.argsort(values, kind="stable")[: np.count_nonzero(np.isfinite(values))]
        if not len(order):
            return None
        # values of rows, so that integers stay integers, without the outer fiftieths, which would stretch the axis
        at = order[np.linspace(0.02 * (len(order) - 1), 0.98 * (len(order) - 1), MOST_PLACES).round().astype(np.intp)]
        at = at[np.unique(values[at], return_index=True)[1]]
        return ColumnGrid(schema.column(j), j, at, (), values[at], schema.time_format(j)) if len(at) > 1 else None
    texts = table.texts(j)
    counts = Counter(text for text in texts if text)
    levels = {str(level): place for place, level in enumerate(schema.categories[j])}
    most = [name for name, _ in counts.most_common(MOST_CATEGORIES)]
    names = sorted(most, key=lambda name: levels.get(name, len(levels)))
    at = np.array([texts.index(name) for name in names])
    if "" in texts:
        names, at = [*names, MISSING], np.append(at, texts.index(""))
    places = np.arange(len(names), dtype=np.float64)
    return ColumnGrid(schema.column(j), j, at, tuple(names), places) if len(names) > 1 else None


def _effect(rows: _WeightedRows, grid: ColumnGrid, values: F64) -> Effect:
    at, numeric = grid.rows, not grid.names
    missing = np.flatnonzero(np.isnan(values))[: int(numeric)]
    changed = rows.changed(grid.number, np.append(at, missing))
    predictions, at_missing = changed[: len(at)], changed[len(at) :]
    finite = values[np.isfinite(values)] if numeric else values[:0]
    return Effect(
        grid.column,
        grid.names,
        grid.places,
        rows.mean(predictions),
        _local_effects(rows, predictions, at, values) if numeric else None,
        rows.mean(at_missing)[0] if len(missing) else None,
        len(values),
        finite[:: max(1, len(values) // 80)],
        grid.form,
        predictions[:, spread_rows(len(values), MOST_LINES)],
    )


def _local_effects(rows: _WeightedRows, predictions: F64, at: Index, values: F64) -> F64:
    known = np.flatnonzero(np.isfinite(values))
    weights = rows.weights[known]
    step = np.clip(np.searchsorted(values[at], values[known], side="left"), 1, len(at) - 1)
    upper, lower = predictions[step, known], predictions[step - 1, known]
    change = np.zeros((len(at), upper.shape[1]))
    np.add.at(change, step, weights[:, None] * (upper - lower))
    in_step = np.bincount(step, weights, minlength=len(at))[:, None]
    total = np.cumsum(np.divide(change, in_step, out=np.zeros_like(change), where=in_step > 0.0), axis=0)
    # the mean over rows of the curve, taken in the middle of each step, is made the mean prediction
    middle = np.average((total[step] + total[step - 1]) / 2.0, axis=0, weights=weights)
    mean = np.average(rows.predictions[known], axis=0, weights=weights)
    return np.asarray(total - middle + mean)
