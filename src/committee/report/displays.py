"""Pictures in the manner of scikit-learn's Display objects: made from results, drawn by ``plot``.

They draw on matplotlib's `Figure` directly and touch no global state, so they work without a screen and in
threads. For a window, hand them axes of pyplot: ``display.plot(ax=plt.subplots()[1])``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from committee.comparison import Comparison

__all__ = ["ComparisonDisplay", "MarginDisplay", "SizeDisplay"]

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


class MarginDisplay:
    """Cumulative margin curves: the share of rows whose margin is at most theta.

    Parameters
    ----------
    margins : mapping of str to array-like of shape (n,)
        Margins of the rows under each committee, in [-1, 1].
    colors : mapping of str to int, default=None
        Place of each name in the palette; by default the order of ``margins``. Lets several pictures agree.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Figure of the axes.

    Raises
    ------
    ValueError
        No committee, or margins empty or outside [-1, 1].

    Examples
    --------
    >>> from committee.report import MarginDisplay
    >>> display = MarginDisplay({"a": [-0.2, 0.1, 0.5], "b": [0.0, 0.2, 0.3]}).plot()
    >>> display.ax_.get_xlabel()
    'margin'
    """

    def __init__(self, margins: Mapping[str, ArrayLike], *, colors: Mapping[str, int] | None = None) -> None:
        if not margins:
            raise ValueError("margins is empty: give the margins of one committee at least")
        self.margins: dict[str, NDArray[np.float64]] = {}
        for name, given in margins.items():
            values = np.sort(np.asarray(given, dtype=np.float64).ravel())
            if values.size == 0 or not (np.abs(values) <= 1.0 + 1e-9).all():
                raise ValueError(f"margins of {name!r} must be numbers in [-1, 1], one per row")
            self.margins[name] = values
        self.colors = {name: i for i, name in enumerate(self.margins)} if colors is None else dict(colors)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> MarginDisplay:
        """Draw the margin curves of fitted classifiers on the given rows.

        Parameters
        ----------
        estimator : classifier or sequence of classifiers
            Fitted learners of this library, or models that `committee.Committee.from_estimator` takes.
        X : frame or array of shape (n_samples, n_features)
            The rows, as the classifiers take them.
        y : array-like of shape (n_samples,)
            Their labels.
        names : sequence of str, default=None
            Names for the legend; class names by default.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        MarginDisplay
            Already drawn.
        """
        estimators = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
        if names is None:
            kinds = [type(each).__name__ for each in estimators]
            names = [k if kinds.count(k) == 1 else f"{k} {i + 1}" for i, k in enumerate(kinds)]
        if len(names) != len(estimators) or len(set(names)) != len(names):
            raise ValueError(f"names must be {len(estimators)} distinct names, one per estimator; got {names!r}")
        return cls({n: _margins(e, X, y) for n, e in zip(names, estimators, strict=True)}).plot(ax)

    def plot(self, ax: Axes | None = None) -> MarginDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        MarginDisplay
            Itself.
        """
        self.figure_, self.ax_ = _axes(ax, 7.2, 3.8)
        for name, values in self.margins.items():
            share = np.arange(1, values.size + 1) / values.size
            i = self.colors[name]
            x = np.concatenate([[-1.0], values, [1.0]])
            y = np.concatenate([[0.0], share, [1.0]])
            self.ax_.step(x, y, where="post", color=_color(i), linestyle=_line(i), linewidth=1.6, label=name)
        lowest = min(float(values[0]) for values in self.margins.values())
        left = max(-1.0, min(-0.05, lowest - 0.05))
        self.ax_.axvline(0.0, color="#999999", linewidth=0.8, zorder=0)
        self.ax_.set(xlim=(left, 1.02), ylim=(0.0, 1.02), xlabel="margin")
        self.ax_.set_ylabel("share of rows at or below")
        self.ax_.legend(
            frameon=False,
            fontsize="small",
            ncols=2,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.01),
            borderaxespad=0.0,
        )
        return self


def _margins(estimator: Any, X: Any, y: ArrayLike) -> NDArray[np.float64]:
    from committee.vote import Committee

    labels = np.asarray(y)
    margins: NDArray[np.float64]
    if hasattr(estimator, "committee_"):
        margins = estimator.committee_.margins(X, labels)
    else:
        margins = Committee.from_estimator(estimator).margins(np.ascontiguousarray(X, dtype=np.float64), labels)
    return margins


class ComparisonDisplay:
    """Accuracy of every model: one dot per fold, the mean and one standard deviation either side.

    Parameters
    ----------
    comparison : Comparison
        What `committee.comparison.compare` returned.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from committee.comparison import compare
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
        What `committee.comparison.compare` returned.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee.comparison import compare
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
