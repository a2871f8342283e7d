"""Charts, marks on two scales, and sketches without axes: drawn as SVG here, by matplotlib in `displays.base`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from committee.data.text import shortened
from committee.report.drawing.scale import Scale
from committee.report.drawing.svg import SIZE, Color, css, element, fitted, legend, svg_picture, text_line, text_width

if TYPE_CHECKING:
    from markupsafe import Markup

    from committee.report.metrics import Reliability

WIDTH, HEIGHT = 350.0, 230.0
SMALL_WIDTH, SMALL_HEIGHT = 230.0, 145.0
"""Size in pixels of a chart, and of a small one."""

FEW = 0.005
"""Share of the rows below which a bin of probabilities is not drawn."""

RELIABILITY = (
    "Rows by the probability of their most probable class, and the share that is of that class. On the dashed line"
    " probabilities are calibrated; below it they are too high. A larger dot has more rows."
)

_BASELINE = 0.36 * SIZE  # from the middle of a line of text to its baseline
_MOST_POINTS = 300
_LABEL_CHARACTER, _LABEL_LINE, _LABEL_OFFSET, _MARK = 8.0, 15.0, 12.0, 9.0
_DASHES = (None, "5 4", "1 3", "6 3 1 3")


@dataclass(frozen=True, eq=False)
class Curve:
    x: ArrayLike
    y: ArrayLike
    color: Color = 0
    label: str = ""
    dash: int = 0  # number of the line style
    width: float = 2.0
    is_step: bool = False
    faint: bool = False
    tip: str | None = None
    key: str | None = None  # model that a reader can hide


@dataclass(frozen=True, eq=False)
class Dots:
    x: ArrayLike
    y: ArrayLike
    radius: ArrayLike = 3.0  # in pixels
    color: Color = 0
    label: str = ""
    marker: int = 0
    faint: bool = False
    tips: Sequence[str] = ()
    texts: Sequence[str] = ()
    key: str | None = None


@dataclass(frozen=True, eq=False)
class Band:
    x: ArrayLike
    low: ArrayLike
    high: ArrayLike
    color: Color = 0


@dataclass(frozen=True, eq=False)
class Columns:
    """Bars from y = 0 to `values`, from `low` to `high` along the x axis."""

    low: ArrayLike
    high: ArrayLike
    values: ArrayLike
    color: Color = 0
    tips: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Guide:
    """A pale reference line."""

    x: ArrayLike
    y: ArrayLike


@dataclass(frozen=True, eq=False)
class Rug:
    x: ArrayLike


Edges: TypeAlias = tuple[float, float, float, float]  # of a label: left, right, top and bottom
Mark: TypeAlias = Curve | Dots | Band | Columns | Guide | Rug


@dataclass(frozen=True, eq=False)
class Chart:
    """Marks on two labelled scales; `names` are categories at 0, 1, ... of the x axis."""

    x: Scale
    y: Scale
    x_label: str
    y_label: str
    marks: Sequence[Mark]
    names: Sequence[str] = ()
    small: bool = False  # one of many, without a legend
    title: str = ""  # of matplotlib's legend
    has_legend: bool = True

    @property
    def labels(self) -> list[tuple[Color, str]]:
        return [(mark.color, mark.label) for mark in self.marks if isinstance(mark, Curve | Dots) and mark.label]

    def svg(self, description: str, *, heading: str = "", key: str | None = None) -> Markup:
        plot = _SvgPlot(self)
        picture = svg_picture(plot.parts(), plot.width, plot.height, description, heading=heading, key=key)
        return legend(self.labels) + picture if self.labels and self.has_legend and not self.small else picture


def shared_legend(charts: Iterable[Chart]) -> Markup:
    labels = {label: color for chart in charts for color, label in chart.labels}
    return legend([(color, label) for label, color in labels.items()])


class _SvgPlot:
    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.width, height = (SMALL_WIDTH, SMALL_HEIGHT) if chart.small else (WIDTH, HEIGHT)
        self.y_ticks = chart.y.ticks(3 if chart.small else 5)
        left = 10.0 + max((text_width(chart.y.text(tick)) for tick in self.y_ticks), default=0.0)
        self.names = [fitted(name, 90.0) for name in chart.names]
        widest = max(map(text_width, self.names), default=0.0)
        self.turned = bool(self.names) and widest > (self.width - left - 10.0) / len(self.names) - 4.0
        below = 8.0 + (widest if self.turned else SIZE)
        self.height = height + below - SIZE - 8.0
        foot = SIZE + 8.0 if chart.x_label else 2.0
        head = SIZE + 12.0 if chart.y_label else 0.6 * SIZE
        self.x = chart.x.placed(left, self.width - 10.0)
        self.y = chart.y.placed(self.height - below - foot, head)

    def parts(self) -> list[Markup]:
        marks = sorted(self.chart.marks, key=lambda mark: not isinstance(mark, Guide))
        return [*self._axes(), *(part for mark in marks for part in self._draw(mark)), *self._texts()]

    def _axes(self) -> Iterator[Markup]:
        for tick in self.y_ticks:
            at = self.y.at(tick)
            yield self._line(self.x.begin, at, self.x.end, at, "grid")
            yield text_line(self.y.text(tick), self.x.begin - 6.0, at + _BASELINE, anchor="end", kind="soft")
        yield from self._categories() if self.names else self._x_ticks()
        if self.chart.y_label:
            yield text_line(fitted(self.chart.y_label, self.width - 4.0), 2.0, SIZE, kind="soft")
        if self.chart.x_label:
            label = fitted(self.chart.x_label, self.width - 4.0)
            middle = self._inside((self.x.begin + self.x.end) / 2.0, text_width(label) / 2.0 + 2.0)
            yield text_line(label, middle, self.height - 4.0, anchor="middle", kind="soft")
        yield self._line(self.x.begin, self.y.begin, self.x.end, self.y.begin, "axis")

    def _inside(self, at: float, half: float) -> float:
        return min(max(at, half), self.width - half)

    def _x_ticks(self) -> Iterator[Markup]:
        ticks = next((ticks for most in (6, 5, 4, 3) if self._apart(ticks := self.x.ticks(most))), self.x.ticks(2))
        for tick in ticks:
            at, text = self.x.at(tick), self.x.text(tick)
            place = self._inside(at, text_width(text) / 2.0)
            yield text_line(text, place, self.y.begin + SIZE + 4.0, anchor="middle", kind="soft")
            yield self._line(at, self.y.begin, at, self.y.begin + 4.0, "axis")

    def _apart(self, ticks: Sequence[float]) -> bool:
        spans = [(self.x.at(tick), text_width(self.x.text(tick)) / 2.0) for tick in ticks]
        return all(at + half + 6.0 < after - other for (at, half), (after, other) in pairwise(spans))

    def _categories(self) -> Iterator[Markup]:
        for i, name in enumerate(self.names):
            at, y = self.x.at(i), self.y.begin
            if self.turned:
                yield text_line(name, at + _BASELINE, y + 6.0, anchor="end", kind="soft", turned=True)
            else:
                yield text_line(name, at, y + SIZE + 4.0, anchor="middle", kind="soft")

    def _line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
        return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)

    def _places(self, x: ArrayLike, y: ArrayLike) -> list[tuple[float, float]]:
        both = zip(np.asarray(x, dtype=float).tolist(), np.asarray(y, dtype=float).tolist(), strict=True)
        return [(self.x.at(a), self.y.at(b)) for a, b in both if np.isfinite(a) and np.isfinite(b)]

    def _draw(self, mark: Mark) -> Iterator[Markup]:
        match mark:
            case Curve():
                yield self._curve(mark)
            case Guide():
                yield element("polyline", points=_points(self._places(mark.x, mark.y)), class_="guide")
            case Band():
                around = [*self._places(mark.x, mark.low), *reversed(self._places(mark.x, mark.high))]
                yield element("polygon", points=_points(around), class_="band", style=f"fill: {css(mark.color)}")
            case Dots():
                yield from self._dots(mark)
            case Columns():
                yield from self._columns(mark)
            case Rug():
                for a in np.asarray(mark.x, dtype=float).tolist():
                    if self.x.low <= a <= self.x.high:
                        yield self._line(self.x.at(a), self.y.begin, self.x.at(a), self.y.begin - 5.0, "mark")

    def _curve(self, mark: Curve) -> Markup:
        places = self._places(mark.x, mark.y)
        if len(places) > _MOST_POINTS:
            kept = np.unique(np.linspace(0, len(places) - 1, _MOST_POINTS).astype(np.intp))
            places = [places[i] for i in kept.tolist()]
        if mark.is_step:
            places = [(min(max(a, self.x.begin), self.x.end), b) for a, b in places]
            places = [corner for (a, b), (c, d) in pairwise(places) for corner in ((a, b), (c, b))] + places[-1:]
        return element(
            "polyline",
            points=_points(places),
            class_="curve faint" if mark.faint else "curve",
            style=f"stroke: {css(mark.color)}" + (f"; stroke-width: {mark.width:g}" if mark.width != 2.0 else ""),
            stroke_dasharray=_DASHES[mark.dash],
            data_tip=mark.tip,
            data_key=mark.key,
        )

    def _dots(self, mark: Dots) -> Iterator[Markup]:
        places = self._places(mark.x, mark.y)
        radii = np.broadcast_to(np.asarray(mark.radius, dtype=float), len(places)).tolist()
        tips: Sequence[str | None] = mark.tips or [None] * len(places)
        for (a, b), r, tip in zip(places, radii, tips, strict=True):
            style = f"fill: {css(mark.color)}"
            kind = "faint" if mark.faint else None
            yield element("circle", cx=a, cy=b, r=r, class_=kind, style=style, data_tip=tip, data_key=mark.key)

    def _columns(self, mark: Columns) -> Iterator[Markup]:
        base = self.y.at(min(max(0.0, self.y.low), self.y.high))
        numbers = (np.asarray(each, dtype=float).tolist() for each in (mark.low, mark.high, mark.values))
        tips: Sequence[str | None] = mark.tips or [None] * np.size(mark.values)
        for low, high, value, tip in zip(*numbers, tips, strict=True):
            left, right, top = self.x.at(low), self.x.at(high), self.y.at(value)
            yield element(
                "rect",
                x=left + 0.5,
                y=min(top, base),
                width=max(right - left - 1.0, 0.5),
                height=abs(base - top),
                style=f"fill: {css(mark.color)}",
                data_tip=tip,
            )

    def _texts(self) -> Iterator[Markup]:
        named = [
            (place, text, mark.key)
            for mark in self.chart.marks
            if isinstance(mark, Dots) and mark.texts
            for place, text in zip(self._places(mark.x, mark.y), mark.texts, strict=True)
        ]
        offsets = _label_offsets([place for place, *_ in named], [text for _, text, _ in named])
        for ((x, y), text, key), offset in zip(named, offsets, strict=True):
            if offset is not None:
                at = x + offset[0], y + offset[1] + _BASELINE
                yield text_line(text, *at, anchor="middle", kind="strong", key=key)


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in places)


def _label_offsets(points: Sequence[tuple[float, float]], labels: Sequence[str]) -> list[tuple[float, float] | None]:
    taken = [_box(point, (0.0, 0.0), _MARK, _MARK) for point in points]
    offsets: list[tuple[float, float] | None] = []
    for point, label in zip(points, labels, strict=True):
        width = _LABEL_CHARACTER * len(label)
        aside = _LABEL_OFFSET + (width - _LABEL_CHARACTER) / 2.0
        for offset in ((aside, 0.0), (-aside, 0.0), (0.0, -_LABEL_OFFSET), (0.0, _LABEL_OFFSET)):
            box = _box(point, offset, width, _LABEL_LINE)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                offsets.append(offset)
                break
        else:
            offsets.append(None)
    return offsets


def _box(point: tuple[float, float], offset: tuple[float, float], width: float, height: float) -> Edges:
    x, y = point[0] + offset[0], point[1] + offset[1]
    return x - width / 2.0, x + width / 2.0, y - height / 2.0, y + height / 2.0


def _overlap(a: Edges, b: Edges) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def dash(i: int) -> int:
    return (i // 7) % len(_DASHES)


def reliability_chart(curves: Mapping[str, Reliability], colors: Mapping[str, int], *, small: bool = False) -> Chart:
    marks: list[Mark] = []
    lowest = 1.0
    for name, curve in curves.items():
        share = curve.weight / curve.weight.sum()
        is_drawn = share >= FEW
        share = share[is_drawn]
        p, right = (part[is_drawn] / curve.weight[is_drawn] for part in (curve.expected, curve.right))
        tips = [
            f"{name}\n{of:.1%} of the rows: probability {a:.3f}, right {b:.3f}".lstrip()
            for of, a, b in zip(share.tolist(), p.tolist(), right.tolist(), strict=True)
        ]
        i = colors[name]
        label = f"{shortened(name, 36)} ({curve.calibration_error:.3f})" if name else ""
        marks.append(Curve(p, right, color=i, dash=dash(i)))
        marks.append(Dots(p, right, 2.5 + 4.0 * np.sqrt(share), color=i, marker=i, label=label, tips=tips))
        lowest = min(lowest, float(p.min()))
    low = 0.0 if small else max(0.0, float(np.floor(10.0 * lowest - 0.5) / 10.0))
    marks.append(Guide([low, 1.0], [low, 1.0]))
    labels = ("", "") if small else ("probability of the most probable class", "share of rows of that class")
    x, y = Scale(low, 1.0, percent=True), Scale(0.0, 1.0, percent=True)
    return Chart(x, y, *labels, marks, small=small, title="expected calibration error in brackets")


# --- sketches --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Text:
    x: float
    y: float  # of the middle
    text: str
    size: float  # in points
    color: Color = "ink"
    anchor: str = "start"
    bold: bool = False


@dataclass(frozen=True, eq=False)
class Line:
    points: Sequence[tuple[float, float]]
    color: Color
    width: float  # in points


@dataclass(frozen=True, eq=False)
class Box:
    x: float
    y: float
    width: float
    height: float
    fill: Color = "paper"
    edge: Color | None = None
    edge_width: float = 0.0


Part: TypeAlias = Text | Line | Box


@dataclass(frozen=True, eq=False)
class Sketch:
    """Texts, lines and boxes at places in inches, y from the top down."""

    width: float
    height: float
    parts: Sequence[Part]

    def svg(self, description: str) -> Markup:
        from markupsafe import Markup

        picture = element(
            "svg",
            Markup("").join(map(_element, self.parts)),
            class_="sketch",
            role="img",
            aria_label=description,
            viewBox=f"0 0 {96.0 * self.width:.0f} {96.0 * self.height:.0f}",
            style=f"max-width: {96.0 * self.width:.0f}px; min-width: {82.0 * self.width:.0f}px",
        )
        label = f"Picture: {description[:60]}"  # on a narrow screen it scrolls
        return element("div", picture, class_="scroll", role="region", tabindex="0", aria_label=label)


def _element(part: Part) -> Markup:
    match part:
        case Text():
            size = part.size * 96.0 / 72.0
            return element(
                "text",
                part.text,
                x=96.0 * part.x,
                y=96.0 * part.y + 0.36 * size,
                font_size=size,
                text_anchor=part.anchor,
                style=f"fill: {css(part.color)}",
                font_weight="600" if part.bold else None,
            )
        case Line():
            points = " ".join(f"{96.0 * x:.1f},{96.0 * y:.1f}" for x, y in part.points)
            style = f"stroke: {css(part.color)}; stroke-width: {part.width * 96.0 / 72.0:.2f}"
            return element("polyline", points=points, fill="none", style=style)
        case Box():
            edge = "" if part.edge is None else f"; stroke: {css(part.edge)}; stroke-width: {part.edge_width:g}"
            x, width = sorted((part.x, part.x + part.width))
            y, height = sorted((part.y, part.y + part.height))
            return element(
                "rect",
                x=96.0 * x,
                y=96.0 * y,
                width=96.0 * (width - x),
                height=96.0 * (height - y),
                rx=None if part.edge is None else 5.0,
                style=f"fill: {css(part.fill)}{edge}",
            )
