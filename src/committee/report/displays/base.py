"""Base of displays, and what all pictures look like: colours, markers, axes, legends.

Pictures are drawn on matplotlib's `Figure` directly and touch no global state, so they work without a screen and in
threads. For a window, draw on axes of pyplot: ``display.plot(plt.subplots()[1])``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from committee.data.extras import needed

if TYPE_CHECKING:
    from typing import Literal, Self

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
"""The palette of Okabe and Ito, readable with colour-blind eyes; without its yellow, too light on white."""

FOR, AGAINST = COLORS[:2]
"""Votes for a class and against it."""

INK, GREY, PALE, GRID = "#222222", "#777777", "#999999", "#dddddd"

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def color(i: int) -> str:
    """Colour of the i-th model."""
    return COLORS[i % len(COLORS)]


def marker(i: int) -> str:
    """Marker of the i-th model; markers go on when the colours start again, so that 49 models stay distinct."""
    return _MARKERS[(i + i // len(COLORS)) % len(_MARKERS)]


def line_style(i: int) -> str:
    """Line style of the i-th model, another one each time that the colours start again."""
    return ("-", "--", ":", "-.")[(i // len(COLORS)) % 4]


def new_figure(width: float, height: float) -> Figure:
    """A figure of that size in inches, apart from pyplot."""
    needed("matplotlib", "a picture")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def open_axes(ax: Axes) -> Figure:
    """Take the upper and right spines away, and return the figure of the axes."""
    ax.spines[["top", "right"]].set_visible(False)
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


class Display(ABC):
    """A picture on one pair of axes, in the manner of scikit-learn's displays: made from results, drawn by `plot`.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.
    """

    ax_: Axes
    figure_: Figure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        Display
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        needed("matplotlib", "a picture")
        self._draw(ax)
        return self

    @abstractmethod
    def _draw(self, ax: Axes | None) -> None:
        """Draw on the axes, or on those of `_axes`."""

    def _axes(self, ax: Axes | None, width: float, height: float) -> Axes:
        """The axes to draw on: those given, or a new figure's of that size in inches."""
        self.ax_ = new_figure(width, height).subplots() if ax is None else ax
        self.figure_ = open_axes(self.ax_)
        return self.ax_


class CurvesDisplay(Display):
    """A picture with a curve for each of several models on the same rows.

    Parameters
    ----------
    curves : mapping of str
        What is drawn of each model.
    colors : mapping of str to int, default=None
        Place of each name in the palette; by default the order of ``curves``.
    """

    def __init__(self, curves: Mapping[str, Any], *, colors: Mapping[str, int] | None = None) -> None:
        self.colors: dict[str, int] = {name: i for i, name in enumerate(curves)} if colors is None else dict(colors)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the curves of fitted classifiers on the given rows, each under its name.

        Parameters
        ----------
        estimators : mapping of str to classifier
            Fitted learners of this library, or models of others that the picture can be drawn of.
        X : frame or array of shape (n_samples, n_features)
            The rows, as the classifiers take them.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        CurvesDisplay
            Already drawn.

        Raises
        ------
        TypeError
            If the classifiers have no names.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import RandomForestClassifier
        >>> from committee.report import MarginDisplay, ReliabilityDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> forests = {"forest": RandomForestClassifier(random_state=0).fit(X[::2], y[::2])}
        >>> ReliabilityDisplay.from_estimators(forests, X[1::2], y[1::2]).curves["forest"].calibration_error < 0.05
        True
        >>> MarginDisplay.from_estimators(forests, X[1::2], y[1::2]).distributions["forest"].n_rows
        284
        """
        if not isinstance(estimators, Mapping):
            raise TypeError(
                f"estimators is a {type(estimators).__name__}; give a mapping of names to classifiers, such as "
                '{"forest": forest}.'
            )
        return cls({name: cls._curve(each, X, y, sample_weight) for name, each in estimators.items()}).plot(ax)

    @classmethod
    @abstractmethod
    def _curve(cls, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
        """Return what is drawn of a fitted classifier."""


def grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Pale lines across the axes, below all that is drawn."""
    ax.grid(axis=axis, color=GRID, linewidth=0.7)
    ax.set_axisbelow(True)


_PLAIN_LEGEND: dict[str, Any] = {
    "frameon": False,
    "fontsize": "small",
    "title_fontsize": "small",
    "alignment": "left",
    "borderaxespad": 0.0,
}


def legend_above(ax: Axes, n_columns: int = 2, **options: Any) -> None:
    """A legend above the axes, where no curve can be in its way."""
    above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "ncols": n_columns}
    ax.legend(**_PLAIN_LEGEND | above | options)


def legend_beside(ax: Axes, loc: Literal["upper left", "center left"] = "upper left", **options: Any) -> None:
    """A legend right of the axes, at their top or beside their middle."""
    beside: dict[str, Any] = {"loc": loc, "bbox_to_anchor": (1.02, 1.0 if loc == "upper left" else 0.5)}
    ax.legend(**_PLAIN_LEGEND | beside | options)


def plain_log_ticks(axis: Axis, low: float, high: float) -> None:
    """Plain numbers at few round places of a logarithmic axis, whose minor labels would overlap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    span = high / low
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if span < 50 else (1.0, 3.0) if span < 500 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    axis.set_minor_locator(NullLocator())


def plain_number(value: float) -> str:
    """A tick of a logarithmic axis: thousands separated, fractions as short as they are."""
    return f"{value:,.0f}" if value >= 1.0 else f"{value:g}"


def shortened(text: str, most: int = 28) -> str:
    """Text that ends in an ellipsis if it is too long."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def room(ax: Axes, width: float, height: float) -> float:
    """Scale of a picture of that size in inches on given axes, against a figure of its own; at most 1."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    box, (wide, high) = ax.get_position(), figure.get_size_inches()
    return float(min(1.0, box.width * wide / width, box.height * high / height))


def text_width(text: str, size: float) -> float:
    """Width of a text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    if not text:
        return 0.0
    points, *_ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(points) / 72.0


def percent(share: float) -> str:
    """A share as a percentage, small ones with a decimal."""
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"
