"""Axes of a picture as SVG, and what is drawn on them.

Places across and up are percentages, so a picture takes the width that it is given; texts, marks and lines keep their
size. Lines, which SVG does not place by percentages, are drawn in a stretched square of 100 by 100.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from committee.report.charts.label_places import label_places
from committee.report.charts.scale import Scale

if TYPE_CHECKING:
    from markupsafe import Markup

Point = tuple[float, float]


class Plot:
    """Two axes, and the parts that are drawn on them one after the other.

    Parameters
    ----------
    x, y : Scale
        Across and up.
    description : str
        What the picture shows, for who cannot see it.
    size : str, default=""
        Another class of the picture: "small" for one of several panels.
    labels : tuple of two str, default=("", "")
        Names of the axes.

    Examples
    --------
    >>> from committee.report.charts.plot import Plot
    >>> from committee.report.charts.scale import Scale
    >>> plot = Plot(Scale(0.0, 1.0), Scale(0.0, 1.0), "a line that rises")
    >>> plot.line([(0.0, 0.0), (1.0, 1.0)], color=0)
    >>> plot.svg()[:11]
    Markup('<svg class=')
    """

    def __init__(
        self, x: Scale, y: Scale, description: str, *, size: str = "", labels: tuple[str, str] = ("", "")
    ) -> None:
        self.x, self.y, self.description, self.size, self.labels = x, y, description, size, labels
        self._parts: list[Markup] = []
        self._ticks()

    def _add(self, template: str, *values: object) -> None:
        from markupsafe import Markup

        self._parts.append(Markup(template).format(*values))

    def _ticks(self) -> None:
        few = self.size == "small"
        for at, text in self.x.ticks(3 if few else 6):
            self._add('<line class="grid" x1="{0:.2f}%" x2="{0:.2f}%" y1="0" y2="100%"/>', at)
            self._add('<text class="tick" x="{:.2f}%" y="100%" dy="1.25em" text-anchor="middle">{}</text>', at, text)
        for at, text in self.y.ticks(3 if few else 5):
            self._add('<line class="grid" x1="0" x2="100%" y1="{0:.2f}%" y2="{0:.2f}%"/>', 100 - at)
            self._add(
                '<text class="tick" x="0" y="{:.2f}%" dx="-.5em" dy=".35em" text-anchor="end">{}</text>', 100 - at, text
            )
        across, up = self.labels
        if across:
            self._add('<text class="axis" x="100%" y="100%" dy="2.6em" text-anchor="end">{}</text>', across)
        if up:
            self._add('<text class="axis" x="0" y="0" dx="-2.6em" dy="-.9em">{}</text>', up)

    def reference(self, points: Iterable[Point]) -> None:
        """A pale line to compare with."""
        self._polyline(points, "pale")

    def line(self, points: Iterable[Point], *, color: int, key: str = "", tip: str = "") -> None:
        """A line through points, in a colour of the page."""
        self._polyline(points, f"c{color % 7}", key, tip)

    def _polyline(self, points: Iterable[Point], name: str, key: str = "", tip: str = "") -> None:
        places = " ".join(f"{self.x.at(x):.2f},{100 - self.y.at(y):.2f}" for x, y in points)
        self._add(
            '<svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%"{}{}>'
            '<polyline class="{}" points="{}"/></svg>',
            attribute("data-key", key),
            attribute("data-tip", tip),
            name,
            places,
        )

    def dot(self, at: Point, *, color: int, radius: float = 4.0, key: str = "", tip: str = "") -> None:
        """A mark."""
        x, y = self._place(at)
        told = attribute("data-key", key) + attribute("data-tip", tip)
        self._add('<circle class="c{}" cx="{:.2f}%" cy="{:.2f}%" r="{:.1f}"{}/>', color % 7, x, y, radius, told)

    def labels_of(self, points: Sequence[Point], texts: Sequence[str], keys: Sequence[str]) -> None:
        """Texts beside marks, as far as there is room."""
        places = [self._place(point) for point in points]
        for (x, y), text, key, offset in zip(places, texts, keys, label_places(places, texts), strict=True):
            if offset is not None:
                self._add(
                    '<text class="beside" x="{:.2f}%" y="{:.2f}%" dx="{:.0f}" dy="{:.0f}"{}>{}</text>',
                    x, y, offset[0], offset[1] + 4.0, attribute("data-key", key), text,
                )  # fmt: skip

    def _place(self, at: Point) -> Point:
        return self.x.at(at[0]), 100.0 - self.y.at(at[1])

    def svg(self) -> Markup:
        """The picture."""
        from markupsafe import Markup

        head = Markup('<svg class="plot {}" role="img" aria-label="{}">').format(self.size, self.description)
        return head + Markup("").join(self._parts) + Markup("</svg>")


def panels(shown: Sequence[tuple[str, Markup]]) -> Markup:
    """Small pictures of the same kind beside each other, each below the name of what it shows, which can be hidden."""
    from markupsafe import Markup

    one = Markup('<div class="small-plot" data-key="{0}"><p class="name">{0}</p>{1}</div>')
    return Markup('<div class="small-plots">{}</div>').format(Markup("").join(one.format(*each) for each in shown))


def attribute(name: str, value: str) -> Markup:
    """An attribute of an element, with a space before it; nothing if it has no value."""
    from markupsafe import Markup

    return Markup(' {}="{}"').format(Markup(name), value) if value else Markup("")
