"""Pictures of a comparison: its metric by model, and against size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.report.displays.base import INK, Display, color, grid, legend_beside, marker, plain_log_ticks
from committee.report.tables import metric_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from committee.report.comparison import Comparison


class _OfComparison(Display):
    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison


class ComparisonDisplay(_OfComparison):
    """The metric that ranks them of every model: one dot per fold, the mean and one standard deviation either side.

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

    def _draw(self, ax: Axes | None) -> None:
        """One row per model, best on top."""
        models, metric = self.comparison.ranked, self.comparison.metric
        ax = self._axes(ax, 7.2, 0.9 + 0.42 * max(len(models), 1))
        for row, model in enumerate(models):
            values = model.values(metric)
            # A fixed spread up and down shows folds of equal value side by side, the same in every run.
            offset = 0.16 * np.sin(2.4 * np.arange(values.size))
            ax.plot(
                values,
                row + offset,
                linestyle="",
                marker="o",
                color=color(row),
                markersize=4,
                alpha=0.6,
                markeredgewidth=0,
            )
            mean, sd = float(values.mean()), model.sd(metric) or 0.0
            ax.errorbar(mean, row, xerr=sd, color=INK, marker="|", markersize=13, linewidth=1.2, capsize=3, zorder=3)
        ax.set_yticks(range(len(models)), [model.name for model in models])
        ax.set(ylim=(max(len(models), 1) - 0.5, -0.5), xlabel=metric_words(metric))
        ax.tick_params(axis="y", length=0)
        grid(ax, "x")


class SizeDisplay(_OfComparison):
    """The metric that ranks the models against size: the mean number of nodes of each model, on a logarithmic scale.

    Models whose nodes are not counted are left out.

    Parameters
    ----------
    comparison : Comparison
        Result of `committee.report.comparison.compare`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee.report.comparison import compare
    >>> from committee.report import SizeDisplay
    >>> result = compare(*load_iris(return_X_y=True), ["scikit-learn:random_forest"], folds=3)
    >>> SizeDisplay(result).plot().ax_.get_xscale()
    'log'
    """

    def _draw(self, ax: Axes | None) -> None:
        """One mark per model, with the legend beside the axes."""
        ax, metric = self._axes(ax, 7.2, 3.6), self.comparison.metric
        for i, model in enumerate(self.comparison.ranked):
            nodes, value = model.mean("n_nodes"), model.mean(metric)
            if not nodes or value is None:
                continue
            ax.errorbar(
                nodes,
                value,
                yerr=model.sd(metric) or 0.0,
                marker=marker(i),
                color=color(i),
                markersize=7,
                elinewidth=0.8,
                linestyle="",
                label=model.name,
            )
        ax.set(xscale="log", xlabel="nodes in all trees (mean over folds)", ylabel=metric_words(metric))
        low, high = ax.get_xlim()
        ax.set_xlim(low / 1.3, high * 1.3)
        plain_log_ticks(ax.xaxis, low, high)
        grid(ax)
        if ax.get_legend_handles_labels()[0]:
            legend_beside(ax, "center left")
