"""Bars that lie, each below its name, so that long names have all the width of a telephone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from committee.report.svg.axes import WIDTH
from committee.report.svg.element import drawing, element, words
from committee.report.svg.letters import SIZE, lines_of, text_width

if TYPE_CHECKING:
    from markupsafe import Markup

FOR, AGAINST, REST = "var(--c0)", "var(--c1)", "var(--pale)"
"""Colours of what speaks for, of what speaks against, and of sums of what is not shown."""

_USUAL = text_width("+0.00000")
"""Room for a figure, that pictures of the same numbers have bars of the same scale."""


@dataclass(frozen=True)
class Bar:
    """A bar: its name, its length, what is written at its end, and whether it stands for several."""

    name: str
    value: float
    text: str
    is_rest: bool = False


def bars(
    some: Sequence[Bar],
    description: str,
    *,
    heading: str = "",
    least: float | None = None,
    largest: float | None = None,
    most_lines: int = 1,
) -> Markup:
    """Draw bars from zero, to the right of it what is above and to the left what is below; figures stand to the right.

    Parameters
    ----------
    some : sequence of Bar
        From top to bottom.
    description : str
        What they show, for who cannot see them.
    heading : str, default=""
    least, largest : float, default=None
        Numbers that the picture has room for, that several pictures have one scale; None: those of the bars.
    most_lines : int, default=1
        Lines that a name may take.

    Examples
    --------
    >>> bars([Bar("age", 0.7, "0.700"), Bar("city", 0.3, "0.300")], "Shares of two columns").count("<rect")
    2
    """
    values = [bar.value for bar in some]
    low = min([0.0, *values]) if least is None else min(0.0, least)
    high = max([0.0, *values]) if largest is None else max(0.0, largest)
    unit = _unit(some, low, high)
    zero = 1.0 - low * unit
    parts: list[Markup] = []
    y = 0.0
    for bar in some:
        y = _write(parts, bar.name, y, most_lines)
        length = bar.value * unit
        color = REST if bar.is_rest else FOR if bar.value >= 0.0 else AGAINST
        parts.append(
            element(
                "rect", x=min(zero, zero + length), y=y + 6.0, width=max(abs(length), 0.5), height=10.0,
                style=f"fill: {color}",
            )
        )  # fmt: skip
        if low < 0.0 < high:  # beside the bar alone: a line through all would cross names
            parts.append(element("line", x1=zero, y1=y + 3.0, x2=zero, y2=y + 19.0, class_="zero"))
        parts.append(words(bar.text, zero + max(length, 0.0) + 5.0, y + 6.0 + 0.8 * SIZE, kind="soft"))
        y += 25.0
    return drawing(parts, WIDTH, y, description, heading=heading)


def _unit(some: Sequence[Bar], low: float, high: float) -> float:
    """Length of 1 such that the longest bars, and the figure to the right of each and of zero, have room."""

    def wide(is_above: bool) -> float:
        figures = (text_width(bar.text) for bar in some if (bar.value >= 0.0) == is_above)
        return 6.0 + max(_USUAL, *figures, 0.0)

    rooms = [(WIDTH - 2.0 - wide(True)) / (high - low)] if high > low else []
    if low < 0.0:
        rooms.append((WIDTH - 2.0 - wide(False)) / -low)
    return min(rooms, default=1.0)


@dataclass(frozen=True)
class Stack:
    """A bar of parts: its name, of each part a colour, a share and its words, and what is written below."""

    name: str
    parts: tuple[tuple[str, float, str], ...]
    text: str


def stacks(some: Sequence[Stack], description: str, *, most_lines: int = 1) -> Markup:
    """Draw bars of the same length, each below its name and divided into shares.

    Parameters
    ----------
    some : sequence of Stack
        From top to bottom.
    description : str
        What they show, for who cannot see them.
    most_lines : int, default=1
        Lines that a name may take.

    Examples
    --------
    >>> stacks([Stack("x <= 1", (("red", 0.25, "a"), ("blue", 0.75, "b")), "b: 75%")], "A bar").count("<rect")
    2
    """
    parts: list[Markup] = []
    y = 0.0
    for stack in some:
        y = _write(parts, stack.name, y, most_lines)
        x = 1.0
        for color, share, tip in stack.parts:
            width = share * (WIDTH - 2.0)
            if width > 0.0:
                style = f"fill: {color}"
                parts.append(element("rect", x=x, y=y + 4.0, width=width, height=10.0, style=style, data_tip=tip))
            x += width
        y += 14.0 if stack.parts else 0.0
        y = _write(parts, stack.text, y, 2, kind="soft") + 10.0
    return drawing(parts, WIDTH, y, description)


def _write(parts: list[Markup], text: str, y: float, most_lines: int, *, kind: str = "") -> float:
    """Add a text below y, in as many lines as it needs and may take; where its last line stands."""
    for line in lines_of(text, WIDTH - 4.0, most_lines):
        y += SIZE + 3.0
        parts.append(words(line, 1.0, y, kind=kind))
    return y
