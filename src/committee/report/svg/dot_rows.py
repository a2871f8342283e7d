"""Values of several things as dots on one axis, a row for each thing, with the mean and one standard deviation.

Each row is laid out by the browser, places in percent, so that names have the room they need and rows can be hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from committee.report.svg.axes import COLORS
from committee.report.svg.element import breakable, element
from committee.report.svg.scale import Scale

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class DotRow:
    """What stands in a row.

    Attributes
    ----------
    name : str
    values : sequence of float
        A dot for each.
    end : str
        Text behind them.
    color : str, default=COLORS[0]
        Of the dots.
    span : tuple of two float, default=None
        A line from one to the other; None: a standard deviation either side of the mean, which is marked.
    tips : sequence of str, default=()
        Tooltip of each dot.
    """

    name: str
    values: Sequence[float]
    end: str
    color: str = COLORS[0]
    span: tuple[float, float] | None = None
    tips: Sequence[str | None] = ()

    @property
    def reach(self) -> tuple[float, float]:
        """Both ends of the line."""
        if self.span is not None:
            return self.span
        mean = fmean(self.values)
        spread = stdev(self.values) if len(self.values) > 1 else 0.0
        return mean - spread, mean + spread


def dot_rows(rows: Sequence[DotRow], *, description: str, reference: float | None = None) -> Markup:
    """Draw a row for each.

    Parameters
    ----------
    rows : sequence of DotRow
    description : str
        What the picture shows, for who cannot see it.
    reference : float, default=None
        A value that each row has a line at.

    Examples
    --------
    >>> picture = dot_rows([DotRow("a", [1.0, 3.0], "2.0")], description="Values of a")
    >>> picture.count("<circle"), "2.0" in picture
    (2, True)
    """
    from markupsafe import Markup

    ends = [] if reference is None else [reference]
    scale = Scale.over(
        ends + [value for row in rows for value in (*row.values, *row.reach)],
        margin=0.06,
    ).placed(0.0, 100.0)
    ticks = scale.ticks(5)
    drawn = Markup("").join(_row(row, scale, ticks, reference) for row in rows)
    named = Markup("").join(
        element("text", scale.text(tick), x=_percent(scale.at(tick)), y="1em", text_anchor="middle") for tick in ticks
    )
    head = Markup('<div class="dot-rows" role="img" aria-label="{}">').format(description)
    axis = Markup('<div class="dot-axis"><span></span><svg class="strip axis">{}</svg><span></span></div></div>')
    return head + drawn + axis.format(named)


def _row(row: DotRow, scale: Scale, ticks: Sequence[float], reference: float | None) -> Markup:
    from markupsafe import Markup

    def upright(value: float, name: str, y1: str = "0", y2: str = "100%") -> Markup:
        x = _percent(scale.at(value))
        return element("line", class_=name, x1=x, x2=x, y1=y1, y2=y2)

    below = Markup("").join(upright(tick, "grid") for tick in ticks)
    if reference is not None:
        below += upright(reference, "reference")
    low, high = (_percent(scale.at(end)) for end in row.reach)
    line = element("line", class_="spread", x1=low, x2=high, y1="50%", y2="50%")
    # dots of equal values lie a little above and below each other, the same in every picture
    tips = row.tips or [None] * len(row.values)
    style = f"fill: {row.color}"
    dots = Markup("").join(
        element(
            "circle", cx=_percent(scale.at(value)), cy=f"{(50, 34, 66)[k % 3]}%", r=3.5 if row.span is None else 5.0,
            style=style, data_tip=tip,
        )
        for k, (value, tip) in enumerate(zip(row.values, tips, strict=True))
    )  # fmt: skip
    inside = below + line + dots if row.span else below + dots + line + upright(fmean(row.values), "mean", "18%", "82%")
    return element(
        "div",
        element("span", breakable(row.name), class_="name")
        + element("svg", inside, class_="strip")
        + element("span", row.end, class_="end"),
        class_="dot-row",
        data_key=row.name,
    )


def _percent(place: float) -> str:
    return f"{place:.2f}%"
