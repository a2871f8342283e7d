r"""Effects of single columns on a model's predictions: partial dependence, and accumulated local effects.

Partial dependence at a value v is the mean prediction if all rows had v in this column [1]_. With correlated columns
that needs rows which do not exist, such as tall people of little weight. Accumulated local effects [2]_ change a value
only to the next edge: with edges :math:`z_0 < z_1 < \dots` and the rows :math:`N_k` between :math:`z_{k-1}` and
:math:`z_k`,

.. math:: A(z_k) = \sum_{l \le k} \frac{1}{|N_l|} \sum_{i \in N_l} [f(z_l, x_i) - f(z_{l-1}, x_i)],

here shifted so that its mean over the rows is the mean prediction. Where the two curves differ, the column is
correlated with others that the model uses.

.. [1] J. H. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29(5).
.. [2] D. W. Apley, J. Zhu (2020). Visualizing the effects of predictor variables in black box supervised learning
   models. Journal of the Royal Statistical Society B 82(4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.columns import is_frame, open_frame
from committee.data.dates import SECONDS_PER_DAY
from committee.data.matrices import is_sparse
from committee.data.number_types import F64, Index
from committee.report.drawing.chart import Chart, Curve, Dots, Mark, Rug
from committee.report.drawing.scale import Scale, TimeScale, format_number
from committee.report.drawing.svg import legend, side_by_side
from committee.report.drawing.text import fitted
from committee.report.page import Picture
from committee.vote.explain.tree_expectations import split_thresholds, tree_expectations

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_ROWS, MOST_PLACES, MOST_CATEGORIES = 250, 13, 8
"""Most rows to average over, most values of a numeric column, and most categories."""

SMALL = 0.15
"""Share of the largest effect below which a column gets the finer scale."""

Predict = Callable[[Any], F64]
"""Predictions of rows: probabilities, shape (n, K), or numbers, shape (n, q)."""


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a user's table, by number; rows of a sparse table become dense."""

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
        """Rows with the values of other rows in one column."""
        if not is_frame(self.X):
            changed = np.array(self.taken(rows))
            changed[:, column] = np.asarray(self.taken(values_of))[:, column]
            return changed
        frame = open_frame(self.X)
        name = frame.columns[column]
        values = frame[name][values_of.tolist()]
        return frame[rows.tolist()].with_columns(values.alias(name)).to_native()

    def texts(self, column: int) -> list[str]:
        """Values of a column as texts, empty where missing."""
        if not is_frame(self.X):
            values: list[Any] = np.asarray(self.taken(np.arange(len(self))))[:, column].tolist()
        else:
            frame = open_frame(self.X)
            values = frame[frame.columns[column]].to_list()
        return ["" if value is None or value != value else str(value) for value in values]


def spread_rows(n: int, most: int) -> Index:
    """Return the indices of at most `most` of n rows, evenly spaced from the first to the last."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def encoded_rows(model: Any, X: Any) -> F64:
    rows: F64 = model.table_.encode(model.validate_rows(X))
    return rows


@dataclass(frozen=True, eq=False)
class Effect:
    """Partial dependence and accumulated local effects of one column.

    `places` is the grid of column values: increasing numbers, or 0, 1, ... for the categories in `names`. Dates and
    times are seconds there, and `form` is their format. `dependence` is the partial dependence and `local` are the
    accumulated local effects, both of shape (places, K). `missing`, shape (K,), is the partial dependence at missing
    values, or `None`. `n_rows` is the number of averaged rows, 0 if the training record of the trees was used instead.
    `seen` contains some of the rows' values of the column.
    """

    column: str
    names: tuple[str, ...]
    places: F64
    dependence: F64
    local: F64 | None
    missing: F64 | None
    n_rows: int
    seen: F64
    form: str | None = None


def effects(model: Any, X: Any, columns: Index, predict: Predict) -> list[Effect]:
    """Effects of columns by number, averaged over rows; constant columns are left out."""
    table, schema = TableRows(X), model.table_.source
    rows, encoded = np.arange(len(table)), schema.encode(model.validate_rows(X))
    found = [
        _of_numbers(model, table, rows, j, encoded[:, j], predict)
        if schema.categories[j] is None
        else _of_categories(model, table, rows, j, predict)
        for j in columns.tolist()
    ]
    return [effect for effect in found if effect is not None]


def stored_effects(model: Any, columns: Index) -> list[Effect]:
    """Effects of columns by the training record of the trees, without rows; empty for voters without a record.

    See `committee.vote.explain.tree_expectations`.
    """
    found = []
    for j in (part for column in columns.tolist() for part in model.table_.matrix_columns(column)):
        coded = model.table_.coded(j)
        names: tuple[str, ...] = ()
        if coded is not None:
            places = np.arange(min(len(coded), MOST_CATEGORIES), dtype=np.float64)
            names = tuple(str(word) for word in coded[: len(places)])
        else:
            splits = split_thresholds(model.committee_, j)
            if not len(splits):
                continue
            # at a threshold a row still goes left; a step beyond the last one shows what is to its right
            places = np.unique(np.quantile(splits, np.linspace(0.0, 1.0, MOST_PLACES), method="nearest"))
            alone = abs(places[-1]) / 10.0 or 1.0 if model.table_.time_format(j) is None else SECONDS_PER_DAY
            places = np.append(places, places[-1] + (np.ptp(places) / 12.0 or alone))
        try:
            predictions = tree_expectations(model.committee_, j, places)
        except (TypeError, ValueError):  # other voters, or trees without a record
            return []
        form = model.table_.time_format(j)
        found.append(Effect(model.table_.quantity(j), names, places, predictions, None, None, 0, places[:0], form))
    return found


def _of_numbers(model: Any, table: TableRows, rows: Index, j: int, values: F64, predict: Predict) -> Effect | None:
    order = np.argsort(values, kind="stable")[: np.count_nonzero(np.isfinite(values))]
    if not len(order):
        return None
    # values of rows, so that integers stay integers, without the outer fiftieths, which would stretch the axis
    at = order[np.linspace(0.02 * (len(order) - 1), 0.98 * (len(order) - 1), MOST_PLACES).round().astype(np.intp)]
    at = at[np.unique(values[at], return_index=True)[1]]
    if len(at) < 2:
        return None
    return Effect(
        model.table_.source.column(j),
        (),
        values[at],
        _dependence(table, rows, j, at, predict),
        _local_effects(table, rows, j, at, values, predict),
        _at_missing(table, rows, j, values, predict),
        len(rows),
        values[rows][np.isfinite(values[rows])][:: max(1, len(rows) // 80)],
        model.table_.source.time_format(j),
    )


def _of_categories(model: Any, table: TableRows, rows: Index, j: int, predict: Predict) -> Effect | None:
    texts = table.texts(j)
    counts = Counter(text for text in texts if text)
    levels = {str(level): place for place, level in enumerate(model.table_.source.categories[j] or ())}
    most = [name for name, _ in counts.most_common(MOST_CATEGORIES)]
    names = sorted(most, key=lambda name: levels.get(name, len(levels)))
    if len(names) < 2:
        return None
    at = np.array([texts.index(name) for name in names])
    known = np.array([0.0 if text else np.nan for text in texts])
    dependence, missing = _dependence(table, rows, j, at, predict), _at_missing(table, rows, j, known, predict)
    places = np.arange(len(names), dtype=np.float64)
    return Effect(model.table_.source.column(j), tuple(names), places, dependence, None, missing, len(rows), places[:0])


def _dependence(table: TableRows, rows: Index, j: int, at: Index, predict: Predict) -> F64:
    changed = table.with_column(np.tile(rows, len(at)), j, np.repeat(at, len(rows)))
    return np.asarray(predict(changed).reshape(len(at), len(rows), -1).mean(axis=1))


def _at_missing(table: TableRows, rows: Index, j: int, values: F64, predict: Predict) -> F64 | None:
    missing = np.flatnonzero(np.isnan(values))
    return _dependence(table, rows, j, missing[:1], predict)[0] if len(missing) else None


def _local_effects(table: TableRows, rows: Index, j: int, at: Index, values: F64, predict: Predict) -> F64:
    known = rows[np.isfinite(values[rows])]
    step = np.clip(np.searchsorted(values[at], values[known], side="left"), 1, len(at) - 1)
    upper, lower = (predict(table.with_column(known, j, at[step - back])) for back in (0, 1))
    change = np.zeros((len(at), upper.shape[1]))
    np.add.at(change, step, upper - lower)
    counts = np.bincount(step, minlength=len(at))
    total = np.cumsum(change / np.maximum(counts, 1)[:, None], axis=0)
    # the mean over rows of the curve, taken in the middle of each step, is made the mean prediction
    middle = (total[step] + total[step - 1]) / 2.0
    mean = predict(table.taken(known)).mean(axis=0)
    return np.asarray(total - middle.mean(axis=0) + mean)


# --- pictures --------------------------------------------------------------------------------------------------------


def effect_pictures(found: list[Effect], outputs: list[tuple[int, str]], *, of_classes: bool) -> Picture:
    """Draw effects on one scale, or two where some are far larger; `outputs` are numbers and names of predictions."""
    from markupsafe import Markup

    columns = [k for k, _ in outputs]
    subject = "probability of each class" if of_classes else "prediction"
    if of_classes and len(outputs) == 1:
        subject = f"probability of {fitted(outputs[0][1], 150.0)}"

    def panels(effects: list[Effect]) -> Markup:
        scale = _common_scale(effects, columns, of_classes)
        return side_by_side([_panel(effect, columns, scale, subject, of_classes=of_classes) for effect in effects])

    spans = [float(np.ptp(effect.dependence[:, columns], axis=0).max()) for effect in found]
    small = [effect for effect, span in zip(found, spans, strict=True) if span < SMALL * max(spans)]
    body = panels([effect for effect in found if effect not in small])
    if small:
        finer = f"These columns have less than {SMALL:.0%} of the largest effect above; their scale is finer."
        body += Markup("<p>{}</p>").format(finer) + panels(small)
    if len(outputs) > 1:
        body = legend([(i % 6, name) for i, (_, name) in enumerate(outputs)]) + body
    has_local = len(outputs) == 1 and any(effect.local is not None for effect in found)
    return Picture("", _caption(found, "probabilities" if of_classes else "predictions", has_local), body)


def _caption(found: list[Effect], what: str, has_local: bool) -> str:
    if found[0].n_rows:
        caption = (
            f"Partial dependence: mean {what} of {found[0].n_rows:,} rows if all of them had the value on the"
            " horizontal axis in this column, and their own values in all others."
        )
        caption += " Strokes on the axis are rows." if any(len(effect.seen) for effect in found) else ""
    else:
        caption = (
            f"Mean {what} if only this column is known: at splits on other columns, rows go both ways, in the shares of"
            " the training rows that the trees have stored. No data is needed."
        )
    if has_local:
        caption += (
            " The dashed curve shows accumulated local effects, which change each row's value only a little. Where the"
            " two curves differ, the column is correlated with others."
        )
    return caption


def _common_scale(found: list[Effect], columns: list[int], of_classes: bool) -> Scale:
    values: F64 = np.concatenate(
        [each[..., columns].ravel() for e in found for each in (e.dependence, e.local, e.missing) if each is not None]
    )
    scale = Scale.over(values, margin=0.06, percent=of_classes)
    return Scale(max(0.0, scale.low), min(1.0, scale.high), percent=True) if of_classes else scale


def _panel(effect: Effect, columns: list[int], y: Scale, subject: str, *, of_classes: bool) -> Markup:
    def text(value: float) -> str:
        return f"{value:.0%}" if of_classes else format_number(value, 3)

    x = Scale(-0.6, len(effect.names) - 0.4) if effect.names else Scale.over(effect.places)
    if effect.form is not None:
        x = TimeScale(x.low, x.high, form=effect.form)
    marks: list[Mark] = [] if effect.names else [Rug(effect.seen)]
    for i, k in enumerate(columns):
        curve = effect.dependence[:, k]
        if effect.names:
            tips = [f"{name}: {y.text(round(v, 4))}" for name, v in zip(effect.names, curve.tolist(), strict=True)]
            marks.append(Dots(effect.places, curve, radius=5.0, color=i % 6, tips=tips))
            continue
        marks.append(Curve(effect.places, curve, color=i % 6))
        if effect.local is not None and len(columns) == 1:
            marks.append(Curve(effect.places, effect.local[:, k], color=1, dash=1))
    curves = [effect.dependence[:, k] for k in columns]
    ranges = "; ".join(f"from {text(curve.min())} to {text(curve.max())}" for curve in curves)
    heading = effect.column
    if effect.missing is not None:
        heading += " (missing: " + ", ".join(text(effect.missing[k]) for k in columns) + ")"
    chart = Chart(x, y, "", subject, marks, effect.names)
    return chart.svg(f"{subject} by {effect.column}: {ranges}", heading=heading)
