"""Display of partial dependence, with lines of single rows and accumulated local effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64, is_whole
from committee.data.text import shortened, suggest_names
from committee.report.column_effects import (
    MOST_ROWS,
    ColumnGrid,
    Effect,
    PairEffect,
    effects,
    pair_effect,
    sampled_rows,
)
from committee.report.displays.base import INK, PanelsDisplay, check_most
from committee.report.drawing.chart import Chart, Curve, Dots, Mark, Rug
from committee.report.drawing.scale import DatePartScale, Scale, TimeScale
from committee.report.explanation import MOST_EFFECTS, Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["average", "individual", "both"]

_FIRST_YEAR, _LAST_YEAR = 1500, 2200

MEAN, LOCAL, ROWS, WHERE_MISSING = (
    "mean of all rows",
    "accumulated local effects",
    "single rows",
    "mean if the value is missing",
)


class PartialDependenceDisplay(PanelsDisplay):
    r"""Partial dependence of predictions on columns, with a line for each of some rows.

    The curve is the mean prediction if all rows had the value on the horizontal axis in this column, and their own
    values in all others:

    .. math:: \hat f_j(v) = \frac{1}{n} \sum_{i=1}^{n} f(x_{i1}, \dots, x_{ij} = v, \dots, x_{ip}).

    A pale line is this prediction of one row [1]_. Lines that are not parallel show that the effect depends on other
    columns. The dashed curve shows accumulated local effects; where its shape differs, the column is correlated with
    others. Columns may hold integers, categories, dates and missing values: the prediction at a missing value is a
    dotted level, or the last category. Strokes on the axis are values of rows. Two columns together have a map of the
    mean prediction at each two values, in contours if both are numbers.

    Parameters
    ----------
    effects : sequence of Effect or PairEffect
        Effects of each column, as of ``committee.report.column_effects.effects``, or of pairs of columns.
    outputs : sequence of (int, str), default=((0, ""),)
        Numbers and names of the predictions that are drawn.
    of_classes : bool, default=False
        Whether predictions are probabilities.
    kind : {"average", "individual", "both"}, default="both"
        Curves to draw: of the mean, of single rows, or of both. Several outputs have means alone.
    centered : bool, default=False
        Whether lines of single rows are shifted to begin where the mean does, which shows small differences of their
        slopes. `False`: the lines are predictions.

    References
    ----------
    .. [1] A. Goldstein, A. Kapelner, J. Bleich, E. Pitkin (2015). Peeking inside the black box: visualizing statistical
       learning with plots of individual conditional expectation. J. Computational and Graphical Statistics 24(1).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import RandomForestClassifier
    >>> from committee.report import PartialDependenceDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> display = PartialDependenceDisplay.from_estimator(forest, X, ["proline", "hue"], target=2)
    >>> [ax.get_title(loc="left") for ax in display.axes_], display.ax_.get_ylabel()
    (['proline', 'hue'], 'probability of 2')
    """

    def __init__(
        self,
        effects: Sequence[Effect | PairEffect],
        outputs: Sequence[tuple[int, str]] = ((0, ""),),
        *,
        of_classes: bool = False,
        kind: Kind = "both",
        centered: bool = False,
    ) -> None:
        if kind not in get_args(Kind):
            raise ValueError(f"kind={kind!r} is not one of {', '.join(map(repr, get_args(Kind)))}")
        if not effects or not outputs:
            raise ValueError(
                f"effects has {len(effects)} columns and outputs {len(outputs)}; give at least one of each"
            )
        if kind == "individual" and len(outputs) > 1:
            raise ValueError(f"kind='individual' draws one output, and there are {len(outputs)}; choose one by target")
        for each in effects:
            if isinstance(each, PairEffect) and (len(outputs) > 1 or kind == "individual"):
                reason = (
                    "one output; choose one by target"
                    if len(outputs) > 1
                    else "no lines of single rows; choose kind='average'"
                )
                raise ValueError(f"the map of {each.column} has {reason}")
        self.effects: list[Effect | PairEffect] = list(effects)
        self.outputs: list[tuple[int, str]] = list(outputs)
        self.kind = kind
        self.of_classes: bool = of_classes
        self.centered: bool = centered

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Any = None,
        *,
        target: Any = None,
        kind: Kind = "both",
        centered: bool = False,
        sample_weight: ArrayLike | None = None,
        max_rows: int = MOST_ROWS,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> PartialDependenceDisplay:
        """Draw the partial dependence of a fitted learner on columns.

        Parameters
        ----------
        estimator : fitted learner
            A learner of this library, such as a committee of ensembles.
        X : frame or array of shape (n_samples, n_features)
            Rows to average over.
        features : str, int or sequence of these and of pairs of them, default=None
            Names or numbers of columns; a pair, such as ``[("age", "hours")]``, has a map of both. `None`: the six most
            important ones, except free text.
        target : class label, int or float, default=None
            Class, number of the target, or level of the quantile. `None`: the second of two classes, or at most six of
            several classes, targets or quantiles.
        kind, centered
            As for the class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean; rows of weight 0 are left out.
        max_rows : int, default=250
            Most rows to average over, evenly spaced in X. Each is predicted at up to 14 values of a column, or at 169
            of a pair.
        ax
            As for `plot`.

        Raises
        ------
        TypeError
            If the estimator is of another library, or its voters read the table themselves.
        ValueError
            If a feature is unknown or (nearly) constant in X, or `target` is no output of the model.
        """
        check_most("max_rows", max_rows)
        rows, weights = sampled_rows(X, sample_weight, max_rows)
        found = Explanation.of(estimator, rows)
        if not hasattr(found.model, "validate_rows") or found.model.table_ is None:
            raise TypeError(
                f"estimator is a {type(estimator).__name__}; give a learner of this library whose table_ is not None. "
                "Others are drawn by sklearn.inspection.PartialDependenceDisplay"
            )
        outputs = found.shown_outputs if target is None else [_output(found, target)]
        wanted = _columns(found, features)
        given = found.model, rows
        drawn: list[Effect | PairEffect] = []
        for one in wanted:
            if isinstance(one, tuple):
                both = pair_effect(*given, one, found.predict, weights)
                drawn += [] if both is None else [both]
            else:
                drawn += effects(*given, np.array([one]), found.predict, weights)
        if (len(drawn) < len(wanted) and features is not None) or not drawn:
            schema, shown = found.model.table_.source, {each.column for each in drawn}
            names = {" and ".join(map(schema.column, one if isinstance(one, tuple) else (one,))) for one in wanted}
            raise ValueError(
                f"columns that are (nearly) constant in X have no curve: {', '.join(sorted(names - shown))}; leave them"
                " out, or give rows with more different values"
            )
        return cls(drawn, outputs, of_classes=found.of_classes, kind=kind, centered=centered).plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        super().plot(ax)
        for axes, effect in zip(self.axes_, self.effects, strict=True):
            if isinstance(effect, PairEffect):
                self._draw_map(effect, axes)
        return self

    @property
    def subject(self) -> str:
        """Label of the vertical axis."""
        if self.of_classes:
            return f"probability of {self.outputs[0][1] if len(self.outputs) == 1 else 'each class'}"
        return "prediction" + (f", {self.outputs[0][1]}" if len(self.outputs) == 1 and self.outputs[0][1] else "")

    def panels(self) -> list[tuple[str, Chart]]:
        scale, panels = self._scale(), []
        for each in self.effects:
            if isinstance(each, PairEffect):
                x, y = each.x, each.y
                chart = Chart(_scale_of(x), _scale_of(y), x.column, y.column, (), x.names)
            else:
                chart = self._chart(each, scale)
            panels.append((each.column, chart))
        return panels

    def _draw_map(self, effect: PairEffect, ax: Axes) -> None:
        k, y = self.outputs[0][0], effect.y
        image: Any
        mean, both = effect.dependence[:, :, k], not (effect.x.names or y.names)
        scale = Scale.over(mean, percent=self.of_classes)
        if both:
            image = ax.contourf(effect.x.places, y.places, mean, 14, cmap="viridis")
            lines = ax.contour(effect.x.places, y.places, mean, 5, colors=INK, linewidths=0.6)
            ax.clabel(lines, fontsize=7, fmt=lambda value: scale.text(round(value, 4)))
            ax.set(xlim=effect.x.places[[0, -1]], ylim=y.places[[0, -1]])
        else:
            image = ax.pcolormesh(_edges(effect.x), _edges(y), mean, cmap="viridis")
        if y.names:
            ax.set_yticks(range(len(y.names)), [shortened(name, 20) for name in y.names], parse_math=False)
        ax.grid(visible=False)
        bar = self.figure_.colorbar(image, ax=ax, format=lambda value, _: scale.text(round(value, 10)))
        bar.set_label(self.subject, fontsize=8)

    def _lines(self, effect: Effect) -> F64 | None:
        if len(self.outputs) > 1 or self.kind == "average" or effect.individual is None:
            return None
        k = self.outputs[0][0]
        lines = effect.individual[:, :, k]
        return lines - lines[0] + effect.dependence[0, k] if self.centered else lines

    def _scale(self) -> Scale:
        columns = [k for k, _ in self.outputs]
        single = [effect for effect in self.effects if isinstance(effect, Effect)]
        curves = [each for effect in single for each in (effect.dependence, effect.missing)]
        curves += [effect.local for effect in single if len(columns) == 1]
        parts = [np.empty(0), *(each[..., columns].ravel() for each in curves if each is not None)]
        parts += [lines.ravel() for lines in map(self._lines, single) if lines is not None]
        scale = Scale.over(np.concatenate(parts), margin=0.06, percent=self.of_classes)
        if not self.of_classes or self.centered:  # shifted lines may leave the range of probabilities
            return scale
        return Scale(max(0.0, scale.low), min(1.0, scale.high), percent=True)

    def _chart(self, effect: Effect, y: Scale) -> Chart:
        x = _scale_of(effect)
        marks: list[Mark] = [] if effect.names else [Rug(effect.seen)]
        lines = self._lines(effect)
        for i, line in enumerate([] if lines is None else lines.T):
            marks.append(Curve(effect.places, line, "pale", "" if i else ROWS, width=1.0, faint=True))
        if self.kind != "individual":
            for i, (k, name) in enumerate(self.outputs):
                marks += self._means(effect, x, y, k, i, name if len(self.outputs) > 1 else MEAN)
        return Chart(x, y, "", self.subject, marks, effect.names, has_legend=False)

    def _means(self, effect: Effect, x: Scale, y: Scale, k: int, i: int, label: str) -> list[Mark]:
        curve = effect.dependence[:, k]
        if effect.names:
            tips = [f"{name}: {y.text(round(v, 4))}" for name, v in zip(effect.names, curve.tolist(), strict=True)]
            return [Dots(effect.places, curve, radius=5.0, color=i % 6, label=label, tips=tips)]
        marks: list[Mark] = [Curve(effect.places, curve, i % 6, label)]
        is_one = len(self.outputs) == 1
        if effect.local is not None and is_one:
            marks.append(Curve(effect.places, effect.local[:, k], 1, LOCAL, dash=1))
        if effect.missing is not None:
            at = float(effect.missing[k])
            which, label = (2, WHERE_MISSING) if is_one else (i % 6, "")
            tip = f"{WHERE_MISSING}: {y.text(round(at, 4))}"
            marks.append(Curve([x.low, x.high], [at, at], which, label, dash=2, tip=tip))
        return marks


def _scale_of(effect: Effect | ColumnGrid) -> Scale:
    if effect.names:
        return Scale(-0.6, len(effect.names) - 0.4)
    x, places, form = Scale.over(effect.places), effect.places, effect.form
    if form is None:
        are_years = places[0] >= _FIRST_YEAR and places[-1] <= _LAST_YEAR and (places % 1.0 == 0.0).all()
        return replace(x, whole=True, years=True) if are_years else x
    if form in ("month", "weekday"):
        return DatePartScale(x.low, x.high, part=form)
    return x if form == "hour" else TimeScale(x.low, x.high, form=form)


def _edges(grid: ColumnGrid) -> F64:
    middle = (grid.places[1:] + grid.places[:-1]) / 2.0
    if grid.names:
        return np.concatenate([[-0.5], middle, [len(grid.names) - 0.5]])
    return np.concatenate([grid.places[:1], middle, grid.places[-1:]])


def _output(found: Explanation, target: Any) -> tuple[int, str]:
    if found.of_classes:
        labels = found.model.classes_.tolist()
        if target not in labels:
            raise ValueError(f"target={target!r} is not a class; the classes are {', '.join(map(repr, labels))}")
        return labels.index(target), str(target)
    levels = found.levels
    if levels:
        if target not in levels:
            raise ValueError(
                f"target={target!r} is not a quantile of the model, which has {', '.join(map(str, levels))}"
            )
        return levels.index(target), f"quantile {target:g}"
    n = found.n_outputs
    if not (is_whole(target) and 0 <= target < n):
        raise ValueError(f"target={target!r} is out of range; targets are numbered from 0 to {n - 1}")
    return int(target), f"target {target}" if n > 1 else ""


def _columns(found: Explanation, features: Any) -> list[int | tuple[int, int]]:
    if features is None:
        return [int(j) for j in found.ranked_columns[:MOST_EFFECTS]]
    schema = found.model.table_.source
    names = [schema.column(j) for j in range(schema.n_features)]
    wanted: list[int | tuple[int, int]] = []
    for each in [features] if isinstance(features, str) or is_whole(features) else features:
        if isinstance(each, str) or not np.iterable(each):
            wanted.append(_column(each, names))
            continue
        pair = [_column(one, names) for one in each]
        if len(set(pair)) != 2 or len(pair) != 2:
            raise ValueError(f"features: {each!r} are not two columns; a map is of two different ones")
        wanted.append((pair[0], pair[1]))
    if not wanted:
        raise ValueError(
            f"features is empty; give names of columns, or None for the {MOST_EFFECTS} most important ones"
        )
    return wanted


def _column(feature: Any, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"features: there is no column {feature!r}; {suggest_names(feature, names)}")
        return names.index(feature)
    if is_whole(feature) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(f"features: {feature!r} is not a column; give names, or numbers from 0 to {len(names) - 1}")
