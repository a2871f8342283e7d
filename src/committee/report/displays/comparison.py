"""Displays of a comparison: its metric by model, and against size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from committee.report.comparison_page import fold_rows, size_chart
from committee.report.displays.base import ChartDisplay, Display, draw_chart, draw_dot_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from committee.report.comparison import Comparison
    from committee.report.drawing.chart import Chart


class ComparisonDisplay(Display):
    """The ranking metric of every model: a dot per fold, the mean, and one standard deviation either side of it.

    Parameters
    ----------
    comparison : Comparison
        Result of `committee.report.comparison.compare`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from committee.report.comparison import compare
    >>> from committee.report import ComparisonDisplay
    >>> display = ComparisonDisplay(compare(*load_iris(return_X_y=True), {"bayes": GaussianNB()})).plot()
    >>> display.ax_.get_xlabel()
    'accuracy'
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def _draw(self, ax: Axes | None) -> None:
        rows = fold_rows(self.comparison)
        draw_dot_rows(rows, self._axes(ax, 7.2, 0.9 + 0.42 * max(len(rows.rows), 1)))


class SizeDisplay(ChartDisplay):
    """The ranking metric against the mean number of nodes in all trees of a model, on a logarithmic scale.

    Models whose nodes are not counted are left out. Lines are one standard deviation either side of the mean.

    Parameters
    ----------
    comparison : Comparison
        Result of `committee.report.comparison.compare`.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def chart(self) -> Chart:
        return size_chart(self.comparison)

    def _draw(self, ax: Axes | None) -> None:
        draw_chart(self.chart(), self._axes(ax, 7.2, 3.6), is_legend_beside=True)
