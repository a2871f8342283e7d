"""Base classes of displays, and matplotlib's drawing of the descriptions of `report.drawing`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import is_whole
from committee.data.packages import require_package
from committee.data.text import shortened
from committee.report.drawing.chart import Band, Box, Chart, Columns, Curve, Dots, Guide, Line, Mark, Sketch, Text
from committee.report.drawing.rows import Bar, CellMap, DotRows
from committee.report.drawing.scale import Scale
from committee.report.drawing.svg import Color, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
"""Palette of Okabe and Ito for colour-blind readers, without its yellow, and with dark grey for black."""

FOR, AGAINST = COLORS[:2]

INK, GREY, PALE, GRID = "#222222", "#777777", "#999999", "#dddddd"

_NAMED = {"ink": INK, "soft": GREY, "pale": PALE, "grid": GRID, "line": "#cccccc", "paper": "#ffffff"}
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":", "-.")
_POINTS = 0.75  # points per pixel of the descriptions


def color(which: Color) -> str:
    return COLORS[which % len(COLORS)] if isinstance(which, int) else _NAMED[which]


def marker(i: int) -> str:
    # colour and marker together distinguish 49 models
    return _MARKERS[(i + i // len(COLORS)) % len(_MARKERS)]


def new_figure(width: float, height: float) -> Figure:
    require_package("matplotlib", "a picture")
    from matplotlib.figure import Figure

    # not of pyplot, so that displays need no screen, work in threads and change no global state
    return Figure(figsize=(width, height), layout="constrained")


def open_axes(ax: Axes) -> Figure:
    ax.spines[["top", "right"]].set_visible(False)
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def check_most(name: str, given: object, *, none: str = "") -> None:
    if (given is None and none) or (is_whole(given) and given >= 1):
        return
    what = name.removeprefix("max_")
    also = f", or None for {none}" if none else ""
    raise ValueError(f"{name}={given!r} is not a number of {what}; give a whole number of 1 or more{also}")


class Display(ABC):
    """A picture made from results and drawn by `plot`, like scikit-learn's displays.

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
            Axes to draw on; `None` makes a new figure.
        """
        require_package("matplotlib", "a picture")
        self._draw(ax)
        return self

    @abstractmethod
    def _draw(self, ax: Axes | None) -> None: ...

    def _axes(self, ax: Axes | None, width: float, height: float) -> Axes:
        self.ax_ = new_figure(width, height).subplots() if ax is None else ax
        self.figure_ = open_axes(self.ax_)
        return self.ax_


class ChartDisplay(Display):
    @abstractmethod
    def chart(self) -> Chart:
        """Return the chart to draw."""

    def _draw(self, ax: Axes | None) -> None:
        draw_chart(self.chart(), self._axes(ax, 7.2, 4.0))


class PanelsDisplay(Display):
    """A display of one or several charts, with one legend.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Axes of each chart. `ax_` is the first.
    """

    axes_: list[Axes]

    @abstractmethod
    def panels(self) -> list[tuple[str, Chart]]:
        """Return the charts to draw, each with its heading."""

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw the charts.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            Axes to draw on, one for each chart; `None` makes a new figure.
        """
        require_package("matplotlib", "a picture")
        panels = self.panels()
        n = len(panels)
        given: list[Axes] = [] if ax is None else np.ravel(ax).tolist()  # type: ignore[arg-type]
        if ax is not None and len(given) != n:
            raise ValueError(f"ax has {len(given)} axes, and there are {n} charts; give {n} axes, or None")
        self.axes_ = given or _grid_of_axes(n)
        self.ax_ = self.axes_[0]
        for i, (each, (heading, chart)) in enumerate(zip(self.axes_, panels, strict=True)):
            self.figure_ = open_axes(each)
            draw_chart(chart, each)
            each.set_title(shortened(heading, 36), fontsize=10, loc="left", parse_math=False)
            beside = i % _beside(n) and ax is None and panels[i - 1][1].y_label == chart.y_label
            each.set_ylabel("" if beside else chart.y_label)
        if all(chart.has_legend for _, chart in panels):
            return self
        drawn = [each.get_legend_handles_labels() for each in self.axes_]
        handles = {label: handle for both in drawn for handle, label in zip(*both, strict=True)}
        shown: dict[str, Any] = {"handles": list(handles.values()), "labels": list(handles), "frameon": False}
        if ax is None:
            n_columns = 8 if sum(map(len, handles)) < 70 else 4 if max(map(len, handles)) < 30 else 2
            self.figure_.legend(**shown, loc="outside upper left", ncols=n_columns)
        else:
            self.ax_.legend(**shown, fontsize="small")
        return self

    def _draw(self, ax: Axes | None) -> None:
        self.plot(ax)


def _beside(n_panels: int) -> int:
    return 2 if n_panels == 4 else min(n_panels, 3)


def _grid_of_axes(n: int) -> list[Axes]:
    n_columns = _beside(n)
    n_rows = -(-n // n_columns)
    figure = new_figure((7.2, 8.4, 10.2)[n_columns - 1], (4.0, 3.4, 2.9)[n_columns - 1] * n_rows)
    figure.set_layout_engine("constrained", h_pad=0.1, w_pad=0.08)
    grid_of_axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for unused in grid_of_axes[n:]:
        unused.remove()
    return list(grid_of_axes[:n])


class CurvesDisplay(ChartDisplay):
    """A chart with a curve for each of several models on the same rows.

    Parameters
    ----------
    curves : mapping of str
        The curve of each model.
    colors : mapping of str to int, default=None
        Place of each name in the palette; `None` uses the order of ``curves``.
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
        """Draw the curves of fitted classifiers on the given rows.

        Parameters
        ----------
        estimators : mapping of str to classifier
            Fitted classifiers of this library, or of others where the display supports them.
        X : frame or array of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        ax : matplotlib Axes, default=None
            Axes to draw on.
        """
        if not isinstance(estimators, Mapping):
            raise TypeError(
                f"estimators is a {type(estimators).__name__}; give a mapping of names to classifiers, such as "
                '{"forest": forest}.'
            )
        return cls({name: cls._curve(each, X, y, sample_weight) for name, each in estimators.items()}).plot(ax)

    @classmethod
    @abstractmethod
    def _curve(cls, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any: ...


# --- descriptions drawn by matplotlib --------------------------------------------------------------------------------


def draw_chart(chart: Chart, ax: Axes, *, is_legend_beside: bool = False) -> None:
    for mark in sorted(chart.marks, key=lambda mark: isinstance(mark, Guide)):
        _draw_mark(mark, ax)
    _put_x_scale(chart.x, ax)
    _put_scale(ax.yaxis, chart.y)
    if chart.names:
        names = [shortened(name, 20) for name in chart.names]
        is_level = max(text_inches(name, 10.0) for name in names) < 0.9 * _width(ax) / len(names)
        turned: dict[str, Any] = {} if is_level else {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(range(len(names)), names, parse_math=False, **turned)
        ax.tick_params(axis="x", length=0)
    ax.set(xlim=(chart.x.low, chart.x.high), ylim=(chart.y.low, chart.y.high))
    ax.set(xlabel=chart.x_label, ylabel=chart.y_label)
    grid(ax, "y")
    labels = [label for _, label in chart.labels] if chart.has_legend else []
    if labels and is_legend_beside:
        legend_beside(ax, "center left", title=chart.title or None)
    elif labels:
        legend_above(ax, 4 if max(map(len, labels)) < 9 else 2, title=chart.title or None, markerscale=0.6)


def _draw_mark(mark: Mark, ax: Axes) -> None:
    match mark:
        case Curve():
            ax.plot(
                mark.x,
                mark.y,
                color=color(mark.color),
                linestyle=LINES[mark.dash],
                linewidth=_POINTS * mark.width,
                drawstyle="steps-post" if mark.is_step else "default",
                alpha=0.6 if mark.faint else None,
                label=shortened(mark.label, 36) or None,
            )
        case Dots():
            ax.scatter(
                mark.x,
                mark.y,
                s=(2.0 * _POINTS * np.asarray(mark.radius)) ** 2,
                color=color(mark.color),
                marker=marker(mark.marker),
                alpha=0.5 if mark.faint else None,
                label=shortened(mark.label, 36) or None,
                zorder=3,
                clip_on=False,
            )
        case Band():
            ax.fill_between(mark.x, mark.low, mark.high, color=color(mark.color), alpha=0.22, linewidth=0)
        case Columns():
            width = np.subtract(mark.high, mark.low)
            ax.bar(mark.low, mark.values, 0.96 * width, align="edge", color=color(mark.color))
        case Guide():
            ax.plot(mark.x, mark.y, color=PALE, linewidth=0.8, zorder=0)
        case _:
            ax.plot(mark.x, np.zeros(np.size(mark.x)), "|", color=PALE, transform=ax.get_xaxis_transform())


def _width(ax: Axes) -> float:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return float(ax.get_position().width * figure.get_size_inches()[0])


def _put_x_scale(scale: Scale, ax: Axes) -> None:
    # up to 6 ticks, as many as fit without overlapping labels, or else up to 4 with turned labels

    def are_apart(most: int) -> bool:
        ticks = scale.ticks(most)
        places = [(scale.at(tick) * _width(ax), text_inches(scale.text(tick), 10.0) / 2.0) for tick in ticks]
        return len(ticks) > 1 and all(at + half + 0.08 < x - other for (at, half), (x, other) in pairwise(places))

    most = next((most for most in (6, 5, 4, 3) if are_apart(most)), None)
    _put_scale(ax.xaxis, scale, most or 4)
    if most is None:
        ax.tick_params(axis="x", labelrotation=30)
        for label in ax.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def _put_scale(axis: Axis, scale: Scale, most_ticks: int = 6) -> None:
    from matplotlib.ticker import FuncFormatter, Locator, NullLocator

    class Ticks(Locator):
        def __call__(self) -> Any:
            return self.tick_values(*axis.get_view_interval())

        def tick_values(self, vmin: float, vmax: float) -> Any:
            return np.array(replace(scale, low=min(vmin, vmax), high=max(vmin, vmax)).ticks(most_ticks))

    if scale.log:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]
    axis.set_major_locator(Ticks())
    axis.set_major_formatter(FuncFormatter(lambda value, _: scale.text(value)))
    axis.set_minor_locator(NullLocator())


def draw_dot_rows(rows: DotRows, ax: Axes) -> None:
    lines = np.arange(len(rows.rows))
    if rows.series:
        low, high = np.array([row.ends for row in rows.rows]).T
        ax.hlines(lines, low, high, color=GRID, linewidth=1.2, zorder=1)
        for k, (label, which) in enumerate(rows.series):
            shape, size = {"vote": ("D", 42), "true": ("|", 150)}.get(label, (marker(k), 30))
            values = [row.values[k] for row in rows.rows]
            ax.scatter(values, lines, size, color(which), marker=shape, label=shortened(label, 36), zorder=3)
        legend_above(ax, 3)
    else:
        for line, row in enumerate(rows.rows):
            # a fixed spread up and down shows equal values side by side, the same in every run
            places = line + 0.16 * np.sin(2.4 * np.arange(len(row.values)))
            is_mean = row.span is None  # or a dot of its own, over its interval
            size, opacity = (4, 0.6) if is_mean else (7, 1.0)
            ax.plot(row.values, places, "o", color=color(row.color), markersize=size, alpha=opacity, markeredgewidth=0)
            low, high = row.ends
            middle = (low + high) / 2.0
            style: dict[str, Any] = {"linewidth": 1.2, "capsize": 3, "zorder": 1.5}
            if is_mean:
                style |= {"marker": "|", "markersize": 13, "zorder": 3}
            ax.errorbar(middle, line, xerr=(high - low) / 2.0, color=INK, **style)
    if rows.reference is not None:
        ax.axvline(rows.reference, color=PALE, linewidth=0.8, linestyle=":", zorder=0)
    if rows.scale is not None:
        _put_scale(ax.xaxis, rows.scale)
        ax.set_xlim(rows.scale.low, rows.scale.high)
    ax.set_yticks(lines, [row.name for row in rows.rows])
    ax.set(ylim=(max(len(lines), 1) - 0.4, -0.6), xlabel=rows.label)
    ax.tick_params(axis="y", length=0)
    grid(ax, "x")


def draw_bars(rows: Sequence[Bar], ax: Axes, label: str) -> None:
    largest = max(bar.end for bar in rows) or 1.0
    ax.barh(range(len(rows)), [bar.value for bar in rows], height=0.66, color=[color(bar.color) for bar in rows])
    for i, bar in enumerate(rows):
        if bar.span is not None:
            ax.plot(bar.span, [i, i], color=INK, linewidth=1.2, solid_capstyle="butt")
        ax.text(bar.end + 0.01 * largest, i, bar.text, va="center", fontsize=8)
    ax.set_yticks(range(len(rows)), [shortened(bar.name, 40) for bar in rows], fontsize=9)
    _put_scale(ax.xaxis, Scale(0.0, 1.08 * largest))
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0.0, 1.08 * largest), xlabel=label)
    ax.tick_params(axis="y", length=0)


def draw_cells(cells: CellMap, ax: Axes) -> None:
    from matplotlib.patches import Rectangle

    for (i, k), cell in cells.cells.items():
        box = Rectangle((k - 0.48, i - 0.46), 0.96, 0.92, facecolor=color(cell.color), alpha=cell.opacity, linewidth=0)
        ax.add_patch(box)
        ax.text(k, i, cell.text, ha="center", va="center", fontsize=9, color=INK)
    rows, columns = ([shortened(name, 20) for name in names] for names in (cells.rows, cells.columns))
    ax.set_yticks(range(len(rows)), rows, fontsize=9)
    ax.set_xticks(range(len(columns)), columns, fontsize=9, rotation=30, ha="right", rotation_mode="anchor")
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def draw_sketch(sketch: Sketch, ax: Axes, shrink: float) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    ax.set(xlim=(-0.05, sketch.width + 0.05), ylim=(sketch.height, 0.0))
    ax.set_axis_off()
    style: dict[str, Any]
    for order, part in enumerate(sketch.parts):
        zorder = 2.0 + order / 1e4
        match part:
            case Text():
                style = {
                    "fontsize": part.size * shrink,
                    "color": color(part.color),
                    "ha": {"start": "left", "middle": "center"}[part.anchor],
                    "weight": "bold" if part.bold else "normal",
                }
                # names of columns and categories may have dollars
                ax.text(part.x, part.y, part.text, va="center", parse_math=False, zorder=zorder, **style)
            case Line():
                x, y = zip(*part.points, strict=True)
                width = part.width * shrink
                ax.plot(x, y, color=color(part.color), linewidth=width, solid_capstyle="butt", zorder=zorder)
            case Box():
                box = (part.x, part.y), part.width, part.height
                style = {"facecolor": color(part.fill), "zorder": zorder, "linewidth": part.edge_width * shrink}
                if part.edge is None:
                    ax.add_patch(Rectangle(*box, **style))
                else:
                    style |= {"edgecolor": color(part.edge), "boxstyle": "round,pad=0,rounding_size=0.05"}
                    ax.add_patch(FancyBboxPatch(*box, **style))


# --- parts of matplotlib's pictures ----------------------------------------------------------------------------------


def grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    ax.grid(axis=axis, color=GRID, linewidth=0.7)
    ax.set_axisbelow(True)


_LEGEND: dict[str, Any] = {
    "frameon": False,
    "fontsize": "small",
    "title_fontsize": "small",
    "alignment": "left",
    "borderaxespad": 0.0,
}


def legend_above(ax: Axes, n_columns: int = 2, **options: Any) -> None:
    above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "ncols": n_columns}
    ax.legend(**_LEGEND | above | options)


def legend_beside(ax: Axes, loc: Literal["upper left", "center left"] = "upper left", **options: Any) -> None:
    beside: dict[str, Any] = {"loc": loc, "bbox_to_anchor": (1.02, 1.0 if loc == "upper left" else 0.5)}
    ax.legend(**_LEGEND | beside | options)


def log_axis(axis: Axis) -> None:
    _put_scale(axis, Scale(1.0, 10.0, log=True))


def room(ax: Axes, width: float, height: float) -> float:
    """Return the scale, at most 1, at which a picture of a size in inches fits on given axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    box, (figure_width, figure_height) = ax.get_position(), figure.get_size_inches()
    return float(min(1.0, box.width * figure_width / width, box.height * figure_height / height))


def text_inches(text: str, points: float) -> float:
    return text_width(text, points) / 72.0
