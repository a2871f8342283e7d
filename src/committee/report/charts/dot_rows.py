"""Values of several things as dots on one axis, a row for each thing, with the mean and one standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from committee.report.charts.plot import attribute
from committee.report.charts.scale import Scale

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
    color : int, default=0
        Of the dots.
    span : tuple of two float, default=None
        A line from one to the other; None: a standard deviation either side of the mean.
    tips : sequence of str, default=()
        Tooltip of each dot.
    """

    name: str
    values: Sequence[float]
    end: str
    color: int = 0
    span: tuple[float, float] | None = None
    tips: Sequence[str] = ()

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
    scale = Scale.around(ends + [value for row in rows for value in (*row.values, *(row.span or ()))])
    drawn = Markup("").join(_row(row, scale, reference) for row in rows)
    ticks = Markup("").join(
        Markup('<text class="tick" x="{:.2f}%" y="1em" text-anchor="middle">{}</text>').format(at, text)
        for at, text in scale.ticks(4)
    )
    head = Markup('<div class="dot-rows" role="img" aria-label="{}">').format(description)
    axis = Markup('<div class="dot-axis"><span></span><svg class="strip axis">{}</svg><span></span></div></div>')
    return head + drawn + axis.format(ticks)


def _row(row: DotRow, scale: Scale, reference: float | None) -> Markup:
    from markupsafe import Markup

    def upright(value: float, name: str, y1: str = "0", y2: str = "100%") -> Markup:
        line = Markup('<line class="{0}" x1="{1:.2f}%" x2="{1:.2f}%" y1="{2}" y2="{3}"/>')
        return line.format(name, scale.at(value), y1, y2)

    grid = Markup("").join(
        Markup('<line class="grid" x1="{0:.2f}%" x2="{0:.2f}%" y1="0" y2="100%"/>').format(at)
        for at, _ in scale.ticks(4)
    )
    if reference is not None:
        grid += upright(reference, "reference")
    low, high = (max(0.0, min(100.0, scale.at(end))) for end in row.reach)
    line = Markup('<line class="spread" x1="{:.2f}%" x2="{:.2f}%" y1="50%" y2="50%"/>').format(low, high)
    line += upright(fmean(row.values), "mean", "18%", "82%")
    # dots of equal values lie a little above and below each other, the same in every picture
    tips = row.tips or [""] * len(row.values)
    dots = Markup("").join(
        Markup('<circle class="c{}" cx="{:.2f}%" cy="{}%" r="3.5"{}/>').format(
            row.color % 7, scale.at(value), (50, 34, 66)[k % 3], attribute("data-tip", tip)
        )
        for k, (value, tip) in enumerate(zip(row.values, tips, strict=True))
    )
    whole = Markup(
        '<div class="dot-row" data-key="{0}"><span class="name">{0}</span><svg class="strip">{1}</svg>'
        '<span class="end">{2}</span></div>'
    )
    return whole.format(row.name, grid + dots + line, row.end)
