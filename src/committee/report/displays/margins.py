"""Displays of margins: cumulative curves, and margins before and after a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.text import shortened
from committee.report.displays.base import COLORS, GRID, PALE, CurvesDisplay, legend_above, new_figure, open_axes
from committee.report.drawing.chart import Chart, Curve, Guide, Mark, dash
from committee.report.drawing.scale import Scale
from committee.vote.committee import Committee
from committee.vote.margin_distribution import MarginDistribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_STAGES, FEWEST_VOTERS = 4, 10
_EQUAL = 1e-9  # largest difference of equal margins


class MarginDisplay(CurvesDisplay):
    """Cumulative margin curves: the share of rows whose margin is at most theta.

    The further right a curve, the more unanimous the vote. Its height at 0 is the share of rows that are misclassified
    or tied [1]_.

    Parameters
    ----------
    margins : mapping of str to MarginDistribution or array-like of shape (n,)
        Margins of the rows under each vote, in [-1, 1]; an array gives all rows the same weight.
    colors : mapping of str to int, default=None
        Place of each name in the palette; `None` uses the order of ``margins``.
    title : str, default=None
        Title of the legend.

    Attributes
    ----------
    distributions : dict of str to MarginDistribution
        The curves.

    References
    ----------
    .. [1] R. Schapire, Y. Freund, P. Bartlett, W. S. Lee (1998). Boosting the margin: a new explanation for the
       effectiveness of voting methods. Annals of Statistics 26(5).

    Examples
    --------
    >>> from committee.report import MarginDisplay
    >>> MarginDisplay({"a": [-0.2, 0.1, 0.5], "b": [0.0, 0.2, 0.3]}).plot().ax_.get_xlabel()
    'margin'
    """

    def __init__(
        self,
        margins: Mapping[str, MarginDistribution | ArrayLike],
        *,
        colors: Mapping[str, int] | None = None,
        title: str | None = None,
    ) -> None:
        if not margins:
            raise ValueError("margins is empty: give the margins of one committee at least")
        self.distributions: dict[str, MarginDistribution] = {}
        for name, values in margins.items():
            try:
                self.distributions[name] = (
                    values if isinstance(values, MarginDistribution) else MarginDistribution(np.ravel(values))
                )
            except ValueError as error:
                raise ValueError(f"margins of {name!r} must be numbers in [-1, 1], one per row: {error}") from None
        super().__init__(self.distributions, colors=colors)
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> MarginDisplay:
        """Draw the margin curves of fitted classifiers on the given rows.

        Parameters
        ----------
        estimator : classifier, or list or tuple of classifiers
            Fitted learners of this library, or models that `committee.Committee.from_estimator` takes.
        X, y, sample_weight, ax
            As for `from_estimators`.
        names : sequence of str, default=None
            Names for the legend; `None` uses the Python types of the estimators, such as ``AdaBoostClassifier``.
        """
        estimators = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
        if names is None:
            kinds = [type(each).__name__ for each in estimators]
            names = [k if kinds.count(k) == 1 else f"{k} {kinds[: i + 1].count(k)}" for i, k in enumerate(kinds)]
        if len(names) != len(estimators) or len(set(names)) != len(names):
            raise ValueError(f"names must be {len(estimators)} distinct names, one per estimator; got {names!r}")
        return cls.from_estimators(dict(zip(names, estimators, strict=True)), X, y, sample_weight, ax=ax)

    @classmethod
    def _curve(cls, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> MarginDistribution:
        return _margins(estimator, X, y, sample_weight)

    @classmethod
    def from_stages(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        rounds: Sequence[int] | None = None,
        ax: Axes | None = None,
    ) -> MarginDisplay:
        """Draw the margin curves of the first voters of one vote.

        With ``rounds=(50, 200, 500)`` of an AdaBoost of 500 trees this is Figure 1 of W. Martinez, J. B. Gray, *On the
        current state of research in explaining ensemble performance using margins*.

        Parameters
        ----------
        estimator : classifier or Committee
            Fitted. The first t voters keep their final weights, so this is an earlier state of the vote only where
            voters are trained in sequence and their weights do not change.
        X, y, sample_weight, ax
            As for `from_estimators`.
        rounds : sequence of int, default=None
            Numbers of voters; `None` uses all T of them, T / 4, T / 16 and T / 64, down to 10.
        """
        T = _committee(estimator).n_voters
        if rounds is None:
            rounds = [T // 4**i for i in range(MOST_STAGES) if i == 0 or T // 4**i >= FEWEST_VOTERS][::-1]
        steps = [int(t) for t in rounds]
        if not steps or steps != list(rounds) or min(steps) < 1 or max(steps) > T or len(set(steps)) < len(steps):
            raise ValueError(f"rounds is {list(rounds)!r}; give different whole numbers of voters, from 1 to {T}")
        curves = {f"{t:,}": _margins(estimator, X, y, sample_weight, n_voters=t) for t in steps}
        return cls(curves, title="voters").plot(ax)

    def chart(self) -> Chart:
        marks: list[Mark] = [Guide([0.0, 0.0], [0.0, 1.02])]
        for name, each in self.distributions.items():
            theta, share = each.curve()
            x, y = np.concatenate([[-1.0], theta, [1.0]]), np.concatenate([[0.0], share, [1.0]])
            i = self.colors[name]
            marks.append(Curve(x, y, color=i, dash=dash(i), label=name, is_step=True, tip=name or None))
        lowest = min(each.minimum for each in self.distributions.values())
        highest = max(float(each.margins.max()) for each in self.distributions.values())
        x_scale = Scale(max(-1.0, min(-0.05, lowest - 0.05)), min(1.02, max(0.1, highest + 0.05)))
        y_scale = Scale(0.0, 1.02, percent=True)
        return Chart(x_scale, y_scale, "margin", "share of rows at or below", marks, title=self.title or "")


def _committee(estimator: Any) -> Committee:
    return estimator if isinstance(estimator, Committee) else Committee.from_estimator(estimator)


def _margins(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, n_voters: int | None = None
) -> MarginDistribution:
    committee = _committee(estimator).select(slice(n_voters))
    checked = estimator.validate_rows(X) if hasattr(estimator, "validate_rows") else X
    margins = committee.margins(checked, y)
    weight = np.ones(len(margins)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return MarginDistribution(margins, weight)


class MarginChangeDisplay:
    """Margins of the same rows under two votes: cumulative curves, and a point for every row.

    Points above the diagonal are rows whose margin has risen. With the margins of an ensemble before and after it is
    re-weighted, this is each of the Figures 2 to 6 of W. Martinez, J. B. Gray, *On the current state of research in
    explaining ensemble performance using margins*.

    Parameters
    ----------
    before, after : MarginDistribution or array-like (n,)
        Margins of the same rows in the same order, in [-1, 1].
    names : pair of str, default=("before", "after")
        Names of the two votes.
    highlighted : float, bool array-like (n,) or array-like of int, default=None
        Rows to mark: the share of them that had the smallest margins before, a mask, or their numbers. A share xi marks
        ceil(xi n) rows, and those tied with the largest of these.
    highlighted_name : str, default=None
        Name of the marked rows in the legend.

    Attributes
    ----------
    highlighted : bool array (n,) or None
        The marked rows.
    axes_, figure_
        List of axes, and figure drawn on.

    Examples
    --------
    >>> from committee.report import MarginChangeDisplay
    >>> display = MarginChangeDisplay([-0.2, 0.1, 0.5], [0.0, 0.2, 0.3], highlighted=0.3).plot()
    >>> display.highlighted.tolist(), display.share_raised
    ([True, False, False], 0.6666666666666666)
    """

    def __init__(
        self,
        before: MarginDistribution | ArrayLike,
        after: MarginDistribution | ArrayLike,
        *,
        names: Sequence[str] = ("before", "after"),
        highlighted: Any = None,
        highlighted_name: str | None = None,
    ) -> None:
        names = list(names)
        if len(names) != 2 or names[0] == names[1]:
            raise ValueError(f"names is {names!r}; give two different names, one for before and one for after")
        self.names = names
        self.curves: MarginDisplay = MarginDisplay({names[0]: before, names[1]: after})
        self.before, self.after = self.curves.distributions.values()
        if not np.array_equal(self.before.rows, self.after.rows):
            raise ValueError(
                f"before is of {self.before.n_rows} rows and after of {self.after.n_rows}, not the same ones; give "
                "margins of the same rows in the same order"
            )
        self.highlighted: NDArray[np.bool_] | None = (
            None if highlighted is None else _highlighted(highlighted, self.before.margins)
        )
        self.highlighted_name = highlighted_name
        if highlighted_name is None and isinstance(highlighted, float):
            self.highlighted_name = f"lowest {100.0 * highlighted:.3g}% before"

    @classmethod
    def from_estimators(
        cls,
        before: Any,
        after: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        names: Sequence[str] = ("before", "after"),
        highlighted: Any = None,
        axes: Axes | Sequence[Axes] | None = None,
    ) -> MarginChangeDisplay:
        """Draw the margins of rows under two fitted votes.

        Parameters
        ----------
        before, after : classifier or Committee
            Fitted learners of this library, or models that `committee.Committee.from_estimator` takes.
        X, y, sample_weight
            As for `MarginDisplay.from_estimators`.
        names, highlighted, axes
            As for the class and `plot`.
        """
        margins = [_margins(each, X, y, sample_weight) for each in (before, after)]
        return cls(*margins, names=names, highlighted=highlighted).plot(axes)

    @property
    def share_raised(self) -> float:
        """Weighted share of the rows whose margin has risen."""
        return float(self.before.row_weight @ (self.after.margins > self.before.margins + _EQUAL))

    @property
    def share_lowered(self) -> float:
        """Weighted share of the rows whose margin has fallen."""
        return float(self.before.row_weight @ (self.after.margins < self.before.margins - _EQUAL))

    def plot(self, axes: Axes | Sequence[Axes] | None = None) -> MarginChangeDisplay:
        """Draw the curves and the points beside them, or the points alone.

        Parameters
        ----------
        axes : matplotlib Axes or pair of Axes, default=None
            One for the points alone, two for curves and points; `None` makes a new figure of two.
        """
        if axes is None:
            axes = new_figure(8.6, 4.1).subplots(1, 2, width_ratios=(1.0, 1.0))
        both: list[Axes] = np.ravel(axes).tolist()  # type: ignore[arg-type]
        if not 1 <= len(both) <= 2:
            raise ValueError(f"axes has {len(both)} axes; give one for the points, or two for curves and points")
        if len(both) == 2:
            from matplotlib.ticker import MaxNLocator

            self.curves.plot(both[0])
            both[0].xaxis.set_major_locator(MaxNLocator(5))
            if max(map(len, self.names)) > 16:
                legend_above(both[0], 1)
        self.axes_ = both
        self.figure_ = open_axes(both[-1])
        self._draw_points(both[-1])
        return self

    def _draw_points(self, ax: Axes) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        x, y = self.before.margins, self.after.margins
        n = len(x)
        style: dict[str, Any] = {
            "linestyle": "",
            "marker": "o",
            "markersize": float(np.clip(60.0 / np.sqrt(n), 2.0, 4.5)),
            "markeredgewidth": 0.0,
            "alpha": 0.6 if n < 5_000 else 0.3,
            "rasterized": n > 10_000,
        }
        marked = np.zeros(n, dtype=bool) if self.highlighted is None else self.highlighted
        ax.plot(x[~marked], y[~marked], color=COLORS[0], zorder=2, **style)
        ax.plot(x[marked], y[marked], color=COLORS[1], zorder=3, **style | {"alpha": 0.9})
        low, high = min(x.min(), y.min()), max(x.max(), y.max())
        margin = 0.04 * max(high - low, 0.05)
        low, high = max(low - margin, -1.02), min(high + margin, 1.02)
        ax.axline((low, low), slope=1.0, color=PALE, linewidth=0.9, zorder=1)
        if low < 0.0 < high:
            ax.axvline(0.0, color=GRID, linewidth=0.8, zorder=0)
            ax.axhline(0.0, color=GRID, linewidth=0.8, zorder=0)
        ax.set(xlim=(low, high), ylim=(low, high))
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlabel(f"margin, {shortened(self.names[0], 30)}")
        ax.set_ylabel(f"margin, {shortened(self.names[1], 30)}")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(5))
        title = f"larger for {self.share_raised:.1%} of the rows, smaller for {self.share_lowered:.1%}"
        ax.set_title(title, fontsize="small", color="#444444", loc="left", pad=24 if marked.any() else 6)
        if marked.any():
            labels = (f"{self.highlighted_name or 'marked rows'} ({marked.sum():,})", "other rows")
            # legend markers of one size, although points are smaller for many rows
            points: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 5.0, "markeredgewidth": 0.0}
            handles = [Line2D([], [], color=COLORS[1 - i], label=label, **points) for i, label in enumerate(labels)]
            legend_above(ax, handles=handles, bbox_to_anchor=(0.0, 1.0), handletextpad=0.2)


def _highlighted(highlighted: Any, margins: NDArray[np.float64]) -> NDArray[np.bool_]:
    n = len(margins)
    if isinstance(highlighted, float | np.floating):
        if not 0.0 < highlighted <= 1.0:
            raise ValueError(f"highlighted is {highlighted!r}; a share of the rows is above 0 and at most 1")
        count = max(1, int(np.ceil(highlighted * n - 1e-9)))
        largest = np.partition(margins, count - 1)[count - 1]
        mask: NDArray[np.bool_] = margins <= largest + _EQUAL
        return mask
    rows = np.asarray(highlighted)
    if rows.dtype == np.bool_ and rows.shape == (n,):
        return rows.copy()
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows.size and (rows.min() < 0 or rows.max() >= n)):
        raise ValueError(
            f"highlighted must be a share of the rows, a mask of {n}, or row numbers from 0 to {n - 1}; got "
            f"{highlighted!r}"
        )
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask
