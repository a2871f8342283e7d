"""Pictures in the manner of scikit-learn's Display objects: made from results, drawn by ``plot``.

They draw on matplotlib's `Figure` directly and touch no global state, so they work without a screen and in
threads. For a window, hand them axes of pyplot: ``display.plot(ax=plt.subplots()[1])``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from committee.report.comparison import Comparison

__all__ = ["ComparisonDisplay", "SizeDisplay"]

# The palette of Okabe and Ito, readable with colour-blind eyes; without its yellow, too light on white.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_INK = "#222222"


def _color(i: int) -> str:
    return _COLORS[i % len(_COLORS)]


def _marker(i: int) -> str:
    """Markers go on when the colours start again, so that 49 models stay distinct."""
    return _MARKERS[(i + i // len(_COLORS)) % len(_MARKERS)]


def _line(i: int) -> str:
    return ("-", "--", ":", "-.")[(i // len(_COLORS)) % 4]


def _axes(ax: Axes | None, width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    if ax is None:
        ax = Figure(figsize=(width, height), layout="constrained").subplots()
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure, ax


class ComparisonDisplay:
    """Accuracy of every model: one dot per fold, the mean and one standard deviation either side.

    Parameters
    ----------
    comparison : Comparison
        What `committee.report.comparison.compare` returned.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.

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

    def plot(self, ax: Axes | None = None) -> ComparisonDisplay:
        """Draw one row per model, best on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ComparisonDisplay
            Itself.
        """
        models = self.comparison.ranked
        self.figure_, self.ax_ = _axes(ax, 7.2, 0.9 + 0.42 * max(len(models), 1))
        for row, model in enumerate(models):
            values = model.values("accuracy")
            # A fixed spread up and down shows folds of equal accuracy side by side, the same in every run.
            offset = 0.16 * np.sin(2.4 * np.arange(values.size))
            self.ax_.plot(
                values,
                row + offset,
                linestyle="",
                marker="o",
                color=_color(row),
                markersize=4,
                alpha=0.6,
                markeredgewidth=0,
            )
            mean, sd = float(values.mean()), model.sd("accuracy") or 0.0
            self.ax_.errorbar(
                mean, row, xerr=sd, color=_INK, marker="|", markersize=13, linewidth=1.2, capsize=3, zorder=3
            )
        self.ax_.set_yticks(range(len(models)), [model.name for model in models])
        self.ax_.set(ylim=(max(len(models), 1) - 0.5, -0.5), xlabel="accuracy")
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.grid(axis="x", color="#dddddd", linewidth=0.7)
        self.ax_.set_axisbelow(True)
        return self


class SizeDisplay:
    """Accuracy against size: the mean number of nodes of each model, on a logarithmic scale.

    Models whose nodes are not counted are left out.

    Parameters
    ----------
    comparison : Comparison
        What `committee.report.comparison.compare` returned.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee.report.comparison import compare
    >>> from committee.report import SizeDisplay
    >>> result = compare(*load_iris(return_X_y=True), ["scikit-learn:random_forest"], folds=3)
    >>> SizeDisplay(result).plot().ax_.get_xscale()
    'log'
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def plot(self, ax: Axes | None = None) -> SizeDisplay:
        """Draw one mark per model, with the legend beside the axes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        SizeDisplay
            Itself.
        """
        self.figure_, self.ax_ = _axes(ax, 7.2, 3.6)
        for i, model in enumerate(self.comparison.ranked):
            nodes, accuracy = model.mean("n_nodes"), model.mean("accuracy")
            if not nodes or accuracy is None:
                continue
            self.ax_.errorbar(
                nodes,
                accuracy,
                yerr=model.sd("accuracy") or 0.0,
                marker=_marker(i),
                color=_color(i),
                markersize=7,
                elinewidth=0.8,
                linestyle="",
                label=model.name,
            )
        self._scale()
        self.ax_.set(xlabel="nodes in all trees (mean over folds)", ylabel="accuracy")
        self.ax_.grid(color="#dddddd", linewidth=0.7)
        self.ax_.set_axisbelow(True)
        if self.ax_.get_legend_handles_labels()[0]:
            self.ax_.legend(
                frameon=False,
                fontsize="small",
                loc="center left",
                bbox_to_anchor=(1.02, 0.5),
                borderaxespad=0.0,
            )
        return self

    def _scale(self) -> None:
        """Put plain numbers at few round places: the minor labels of a log axis overlap."""
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        self.ax_.set_xscale("log")
        low, high = self.ax_.get_xlim()
        self.ax_.set_xlim(low / 1.3, high * 1.3)
        subs = (1.0, 2.0, 5.0) if high / low < 50 else (1.0, 3.0) if high / low < 500 else (1.0,)
        self.ax_.xaxis.set_major_locator(LogLocator(subs=subs))
        self.ax_.xaxis.set_major_formatter(FuncFormatter(lambda nodes, _: f"{nodes:,.0f}"))
        self.ax_.xaxis.set_minor_locator(NullLocator())
