"""Margins of a vote before and after new weights, as a picture: both curves, and every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.report.displays.base import COLORS, GRID, PALE, legend_above, new_figure, open_axes, shortened
from committee.report.displays.margin import MarginDisplay, margins_under
from committee.vote.margin_distribution import MarginDistribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAME = 1e-9
"""Margins that differ by no more are the same."""
_MOST_TICKS = 5
"""Steps between numbers along an axis half as wide as a page."""
_BESIDE_ANOTHER = 16
"""Letters of a name up to which two of them go side by side over such an axis."""
_ROUNDING = 1e-9
"""Rounding error of a share times a number of rows."""


class MarginChangeDisplay:
    """Margins of the same rows under two votes: cumulative curves, and a point for every row.

    Points above the line of equality are rows whose margin has risen. With the margins of an ensemble and those of its
    new weights this is each of the Figures 2 to 6 of W. Martinez, J. B. Gray, *On the current state of research in
    explaining ensemble performance using margins*.

    Parameters
    ----------
    before, after : MarginDistribution or array-like (n,)
        Margins of the same rows in the same order, in [-1, 1].
    names : pair of str, default=("before", "after")
        Names of the two votes.
    highlighted : float, bool array-like (n,) or array-like of int, default=None
        Rows to mark: the share of them that had the smallest margins before, a mask, or their places. A share xi marks
        ceil(xi n) rows, and those whose margin is equal to the largest of these.
    highlighted_name : str, default=None
        Name of the marked rows in the legend.

    Attributes
    ----------
    highlighted : bool array (n,) or None
        The marked rows.
    axes_, figure_
        List of axes, and figure drawn on.

    Raises
    ------
    ValueError
        If there are not the same rows before and after, or `names` or `highlighted` do not fit.

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
        self.highlighted = None if highlighted is None else _marked(highlighted, self.before.margins)
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
        """Draw the margins of some rows before and after.

        Parameters
        ----------
        before, after : classifier or Committee
            Fitted learners of this library, or models that `committee.Committee.from_estimator` takes.
        X : table or array-like (n, p)
            The rows, as the classifiers take them.
        y : array-like (n,)
            Their labels.
        sample_weight : array-like (n,), default=None
            Their weights.
        names, highlighted
            As in the class.
        axes : matplotlib Axes or pair of Axes, default=None
            As for `plot`.

        Returns
        -------
        MarginChangeDisplay
            Already drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import AdaBoostClassifier
        >>> from committee.report import MarginChangeDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> boosted = AdaBoostClassifier(40).fit(X, y)
        >>> display = MarginChangeDisplay.from_estimators(boosted.committee_[:10], boosted, X, y)
        >>> len(display.axes_)
        2
        """
        margins = [margins_under(each, X, y, sample_weight) for each in (before, after)]
        return cls(*margins, names=names, highlighted=highlighted).plot(axes)

    @property
    def share_raised(self) -> float:
        """Share of the rows, by their weights, whose margin is larger than before."""
        return float(self.before.row_weight @ (self.after.margins > self.before.margins + _SAME))

    @property
    def share_lowered(self) -> float:
        """Share of the rows whose margin is smaller than before."""
        return float(self.before.row_weight @ (self.after.margins < self.before.margins - _SAME))

    def plot(self, axes: Axes | Sequence[Axes] | None = None) -> MarginChangeDisplay:
        """Draw the curves and the points beside them, or the points alone.

        Parameters
        ----------
        axes : matplotlib Axes or pair of Axes, default=None
            Where to draw: one for the points alone, two for curves and points; a new figure of two by default.

        Returns
        -------
        MarginChangeDisplay
            Itself.

        Raises
        ------
        ValueError
            If `axes` are more than two.
        """
        if axes is None:
            axes = new_figure(8.6, 4.1).subplots(1, 2, width_ratios=(1.0, 1.0))
        given: list[Axes] = np.ravel(axes).tolist()  # type: ignore[arg-type]
        if not 1 <= len(given) <= 2:
            raise ValueError(f"axes has {len(given)} axes; give one for the points, or two for curves and points")
        if len(given) == 2:
            from matplotlib.ticker import MaxNLocator

            self.curves.plot(given[0])
            given[0].xaxis.set_major_locator(MaxNLocator(_MOST_TICKS))
            if max(map(len, self.names)) > _BESIDE_ANOTHER:
                legend_above(given[0], 1)
        self.axes_ = given
        self.figure_ = open_axes(given[-1])
        self._draw_points(given[-1])
        return self

    def _draw_points(self, ax: Axes) -> None:
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
        room = 0.04 * max(high - low, 0.05)
        low, high = max(low - room, -1.02), min(high + room, 1.02)
        ax.axline((low, low), slope=1.0, color=PALE, linewidth=0.9, zorder=1)
        if low < 0.0 < high:
            ax.axvline(0.0, color=GRID, linewidth=0.8, zorder=0)
            ax.axhline(0.0, color=GRID, linewidth=0.8, zorder=0)
        ax.set(xlim=(low, high), ylim=(low, high))
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlabel(f"margin, {shortened(self.names[0], 30)}")
        ax.set_ylabel(f"margin, {shortened(self.names[1], 30)}")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(_MOST_TICKS))
        title = f"larger for {self.share_raised:.1%} of the rows, smaller for {self.share_lowered:.1%}"
        ax.set_title(title, fontsize="small", color="#444444", loc="left", pad=24 if marked.any() else 6)
        if marked.any():
            self._name_points(ax)

    def _name_points(self, ax: Axes) -> None:
        """Points of one size, however small those of many rows are."""
        from matplotlib.lines import Line2D

        assert self.highlighted is not None
        words = (f"{self.highlighted_name or 'marked rows'} ({self.highlighted.sum():,})", "other rows")
        points: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 5.0, "markeredgewidth": 0.0}
        handles = [Line2D([], [], color=COLORS[1 - i], label=text, **points) for i, text in enumerate(words)]
        legend_above(ax, handles=handles, bbox_to_anchor=(0.0, 1.0), handletextpad=0.2)


def _marked(given: Any, margins: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The rows that a share, a mask or places mean."""
    n = len(margins)
    if isinstance(given, float | np.floating):
        if not 0.0 < given <= 1.0:
            raise ValueError(f"highlighted is {given!r}; a share of the rows is above 0 and at most 1")
        count = max(1, int(np.ceil(given * n - _ROUNDING)))
        largest = np.partition(margins, count - 1)[count - 1]
        marked: NDArray[np.bool_] = margins <= largest + _SAME
        return marked
    rows = np.asarray(given)
    if rows.dtype == np.bool_ and rows.shape == (n,):
        return rows.copy()
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows.size and (rows.min() < 0 or rows.max() >= n)):
        raise ValueError(
            f"highlighted must be a share of the rows, a mask of {n}, or places from 0 to {n - 1}; got {given!r}"
        )
    marked = np.zeros(n, dtype=bool)
    marked[rows] = True
    return marked
