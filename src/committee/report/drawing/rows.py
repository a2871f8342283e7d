"""Pictures of named rows: bars, stacked bars, dots with intervals, and maps of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from committee.report.drawing.chart import WIDTH
from committee.report.drawing.scale import Scale
from committee.report.drawing.svg import (
    AGAINST,
    FOR,
    REST,
    SIZE,
    Color,
    breakable,
    css,
    element,
    fitted,
    legend,
    svg_picture,
    text_line,
    text_width,
    wrapped,
)

if TYPE_CHECKING:
    from markupsafe import Markup

_USUAL_TEXT = text_width("+0.00000")  # room for a bar's text, so that most pictures have the same scale
_LONGEST_NAME = 120.0


@dataclass(frozen=True)
class Bar:
    """A named bar from 0 to `value`, with a line over `span`."""

    name: str
    value: float
    text: str
    is_rest: bool = False  # the sum of other bars
    span: tuple[float, float] | None = None

    @property
    def color(self) -> Color:
        return REST if self.is_rest else FOR if self.value >= 0.0 else AGAINST

    @property
    def end(self) -> float:
        return max(self.value, 0.0, *(self.span or ()))


def rest_bar(n: int, value: float, text: str) -> list[Bar]:
    return [Bar(f"{n:,} other{'s' if n > 1 else ''}, together", value, text, is_rest=True)] if n else []


def bars(
    rows: Sequence[Bar],
    description: str,
    *,
    heading: str = "",
    least: float | None = None,
    largest: float | None = None,
    most_lines: int = 1,
) -> Markup:
    """Draw bars; `least` and `largest` give several pictures one scale."""
    values = [value for bar in rows for value in (bar.value, bar.end)]
    low = min([0.0, *values]) if least is None else min(0.0, least)
    high = max([0.0, *values]) if largest is None else max(0.0, largest)
    unit = _unit(rows, low, high)
    zero = 1.0 - low * unit
    parts: list[Markup] = []
    y = 0.0
    for bar in rows:
        y = _write(parts, bar.name, y, most_lines)
        length = bar.value * unit
        left, style = min(zero, zero + length), f"fill: {css(bar.color)}"
        parts.append(element("rect", x=left, y=y + 6.0, width=max(abs(length), 0.5), height=10.0, style=style))
        if low < 0.0 < high:  # beside the bar alone: a line through all would cross names
            parts.append(element("line", x1=zero, y1=y + 3.0, x2=zero, y2=y + 19.0, class_="zero"))
        if bar.span is not None:
            left, right = (zero + end * unit for end in bar.span)
            parts.append(element("line", x1=left, y1=y + 11.0, x2=right, y2=y + 11.0, class_="spread"))
        parts.append(text_line(bar.text, zero + bar.end * unit + 5.0, y + 6.0 + 0.8 * SIZE, kind="soft"))
        y += 25.0
    return svg_picture(parts, WIDTH, y, description, heading=heading)


def _unit(rows: Sequence[Bar], low: float, high: float) -> float:
    def text_room(is_positive: bool) -> float:
        widths = (text_width(bar.text) for bar in rows if (bar.value >= 0.0) == is_positive)
        return 6.0 + max(_USUAL_TEXT, *widths, 0.0)

    units = [(WIDTH - 2.0 - text_room(True)) / (high - low)] if high > low else []
    if low < 0.0:
        units.append((WIDTH - 2.0 - text_room(False)) / -low)
    return min(units, default=1.0)


@dataclass(frozen=True)
class Stack:
    name: str
    parts: tuple[tuple[Color, float, str], ...]  # colour, share and tooltip
    text: str


def stacks(rows: Sequence[Stack], description: str) -> Markup:
    parts: list[Markup] = []
    y = 0.0
    for stack in rows:
        y = _write(parts, stack.name, y, 3)
        x = 1.0
        for color, share, tip in stack.parts:
            width = share * (WIDTH - 2.0)
            if width > 0.0:
                style = f"fill: {css(color)}"
                parts.append(element("rect", x=x, y=y + 4.0, width=width, height=10.0, style=style, data_tip=tip))
            x += width
        y += 14.0 if stack.parts else 0.0
        y = _write(parts, stack.text, y, 2, kind="soft") + 10.0
    return svg_picture(parts, WIDTH, y, description)


def _write(parts: list[Markup], text: str, y: float, most_lines: int, *, kind: str = "") -> float:
    for line in wrapped(text, WIDTH - 4.0, most_lines):
        y += SIZE + 3.0
        parts.append(text_line(line, 1.0, y, kind=kind))
    return y


@dataclass(frozen=True)
class DotRow:
    """Dots at `values`, with a line over `span`."""

    name: str
    values: Sequence[float]
    end: str = ""
    color: Color = 0
    span: tuple[float, float] | None = None
    tips: Sequence[str] = ()

    @property
    def ends(self) -> tuple[float, float]:
        if self.span is not None:
            return self.span
        mean = fmean(self.values)
        deviation = stdev(self.values) if len(self.values) > 1 else 0.0
        return mean - deviation, mean + deviation


@dataclass(frozen=True, eq=False)
class DotRows:
    """Rows of dots on one axis; with `series`, a row has one value of each."""

    rows: Sequence[DotRow]
    label: str
    reference: float | None = None  # a line across all rows
    series: Sequence[tuple[str, Color]] = ()  # "true" has a stroke instead of a dot
    scale: Scale | None = None

    def svg(self, description: str) -> Markup:
        from markupsafe import Markup

        numbers = [value for row in self.rows for value in (*row.values, *row.ends)]
        numbers += [] if self.reference is None else [self.reference]
        scale = (self.scale or Scale.over(numbers, margin=0.06)).placed(0.0, 100.0)
        ticks = scale.ticks(5)
        # in HTML, which gives names the room that they need; each row has an SVG, placed in per cent
        rows = Markup("").join(self._row(row, scale, ticks) for row in self.rows)
        labels = Markup("").join(
            element("text", scale.text(tick), x=_percent(scale.at(tick)), y="1em", text_anchor="middle")
            for tick in ticks
        )
        head = Markup('<div class="dot-rows" role="img" aria-label="{}">').format(description)
        axis = Markup('<div class="dot-axis"><span></span><svg class="strip axis">{}</svg><span></span></div></div>')
        key = legend([(color, label) for label, color in self.series]) if self.series else Markup("")
        return key + head + rows + axis.format(labels)

    def _row(self, row: DotRow, scale: Scale, ticks: Sequence[float]) -> Markup:
        from markupsafe import Markup

        def upright(value: float, kind: str, y1: str = "0", y2: str = "100%") -> Markup:
            x = _percent(scale.at(value))
            return element("line", class_=kind, x1=x, x2=x, y1=y1, y2=y2)

        below = Markup("").join(upright(tick, "grid") for tick in ticks)
        if self.reference is not None:
            below += upright(self.reference, "reference")
        low, high = (_percent(scale.at(end)) for end in row.ends)
        line = element("line", class_="spread", x1=low, x2=high, y1="50%", y2="50%")
        tips: Sequence[str | None] = row.tips or [None] * len(row.values)
        series = self.series or [("", row.color)] * len(row.values)
        dots = Markup("")
        for k, (value, tip, (label, color)) in enumerate(zip(row.values, tips, series, strict=True)):
            if label == "true":
                dots += upright(value, "mean", "10%", "90%")
                continue
            # dots of equal values lie a little above and below each other, the same in every picture
            place = f"{50 if self.series else (50, 34, 66)[k % 3]}%"
            radius = 3.5 if row.span is None else 4.5
            style = f"fill: {css(color)}"
            dots += element("circle", cx=_percent(scale.at(value)), cy=place, r=radius, style=style, data_tip=tip)
        if row.span is None:
            content = below + dots + line + upright(fmean(row.values), "mean", "18%", "82%")
        else:
            content = below + line + dots
        return element(
            "div",
            element("span", breakable(row.name), class_="name")
            + element("svg", content, class_="strip")
            + element("span", row.end, class_="end"),
            class_="dot-row",
            data_key=row.name,
        )


def _percent(place: float) -> str:
    return f"{place:.2f}%"


@dataclass(frozen=True)
class Cell:
    color: Color
    strength: float  # of the colour, 0 to 1
    text: str
    tip: str
    short: str = ""  # text for a narrow cell

    @property
    def opacity(self) -> float:
        return 0.12 + 0.38 * self.strength if self.text else 0.0  # ink on the cell has enough contrast


@dataclass(frozen=True, eq=False)
class CellMap:
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[int, int], Cell]
    row_heading: str = ""
    column_heading: str = ""

    def svg(self, description: str) -> Markup:
        left = min(_LONGEST_NAME, max(map(text_width, self.rows)) + 8.0)
        width = (WIDTH - left - 1.0) / len(self.columns)
        height = min(46.0, max(30.0, width))
        longest = max(map(text_width, self.columns))
        is_flat = longest < width - 4.0
        top = SIZE + 14.0 + min(_LONGEST_NAME, longest) if not is_flat else 2.0 * SIZE + 10.0
        parts = [
            text_line(self.column_heading, left, SIZE, kind="soft"),
            text_line(self.row_heading, 1.0, top - 6.0, kind="soft"),
        ]
        for k, name in enumerate(self.columns):
            at = left + (k + 0.5) * width
            if is_flat:
                parts.append(text_line(name, at, top - 6.0, anchor="middle"))
            else:
                label = fitted(name, _LONGEST_NAME)
                parts.append(text_line(label, at + 0.36 * SIZE, top - 6.0, turned=True, tip=name))
        for i, name in enumerate(self.rows):
            parts.append(text_line(fitted(name, left - 8.0), 1.0, top + (i + 0.5) * height + 0.36 * SIZE, tip=name))
        for (i, k), cell in self.cells.items():
            x, y = left + k * width, top + i * height
            box: dict[str, Any] = {"x": x + 1.0, "y": y + 1.0, "width": width - 2.0, "height": height - 2.0}
            parts.append(element("rect", **box, class_="cell", data_tip=cell.tip))
            if not cell.text:
                continue
            style = f"fill: {css(cell.color)}; fill-opacity: {cell.opacity:.3f}"
            parts.append(element("rect", **box, style=style, data_tip=cell.tip))
            text = cell.text if text_width(cell.text) < width - 3.0 else cell.short
            if text_width(text) < width - 3.0:
                middle = x + width / 2.0, y + height / 2.0 + 0.36 * SIZE
                parts.append(text_line(text, *middle, anchor="middle", tip=cell.tip))
        return svg_picture(parts, WIDTH, top + len(self.rows) * height + 2.0, description)
