"""A pair of axes with curves, dots, bars and bands, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from committee.report.svg.element import drawing, element, words
from committee.report.svg.label_places import label_places
from committee.report.svg.letters import SIZE, fitted, text_width
from committee.report.svg.scale import Scale

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 350.0, 230.0
"""Size of a picture, in pixels of a telephone that is held upright."""

SMALL_WIDTH, SMALL_HEIGHT = 230.0, 145.0
"""Size of one of many pictures of the same kind."""

COLORS = tuple(f"var(--c{i})" for i in range(6))
"""Of curves; what they mean is said in a legend."""


class Axes:
    """A picture with two axes, written as its parts are added.

    Parameters
    ----------
    x, y : Scale
        What the axes show.
    x_label, y_label : str
        What it is, below and above; empty where it is said beside the picture.
    names : sequence of str, default=()
        Of places 0, 1, ... along the x axis, where these are categories and no numbers.
    small : bool, default=False
        Whether it is one of many, beside each other.

    Examples
    --------
    >>> axes = Axes(Scale(0.0, 1.0), Scale(0.0, 1.0), "false positives", "true positives")
    >>> axes.curve([0.0, 0.2, 1.0], [0.0, 0.9, 1.0])
    >>> axes.svg("A curve from corner to corner").startswith("<svg")
    True
    """

    def __init__(
        self,
        x: Scale,
        y: Scale,
        x_label: str,
        y_label: str,
        *,
        names: Sequence[str] = (),
        small: bool = False,
    ) -> None:
        self.width, height = (SMALL_WIDTH, SMALL_HEIGHT) if small else (WIDTH, HEIGHT)
        self.small = small
        ticks = y.ticks(3 if small else 5)
        left = 10.0 + max((text_width(y.text(tick)) for tick in ticks), default=0.0)
        turned = [fitted(name, 90.0) for name in names]
        stands = bool(names) and max(map(text_width, turned)) > (self.width - left - 10.0) / len(names) - 4.0
        below = 8.0 + max(map(text_width, turned)) if stands else SIZE + 8.0
        self.height: float = height + (below - SIZE - 8.0)
        self.x: Scale = x.placed(left, self.width - 10.0)
        foot, head = SIZE + 8.0 if x_label else 2.0, SIZE + 12.0 if y_label else 0.6 * SIZE
        self.y: Scale = y.placed(self.height - below - foot, head)
        self.parts: list[Markup] = []
        for tick in ticks:
            at = self.y.at(tick)
            self._line(self.x.begin, at, self.x.end, at, "grid")
            self.parts.append(words(self.y.text(tick), left - 6.0, at + 0.36 * SIZE, anchor="end", kind="soft"))
        if names:
            self._name_places(turned, stands=stands)
        else:
            self._name_numbers()
        if y_label:
            self.parts.append(words(fitted(y_label, self.width - 4.0), 2.0, SIZE, kind="soft"))
        if x_label:
            label = fitted(x_label, self.width - 4.0)
            middle = (self.x.begin + self.x.end) / 2.0
            half = text_width(label) / 2.0
            middle = min(max(middle, half + 2.0), self.width - half - 2.0)
            self.parts.append(words(label, middle, self.height - 4.0, anchor="middle", kind="soft"))
        self._line(self.x.begin, self.y.begin, self.x.end, self.y.begin, "axis")

    def _name_numbers(self) -> None:
        for most in (6, 5, 4, 3, 2):
            ticks = self.x.ticks(most)
            if self._have_room(ticks):
                break
        for tick in ticks:
            at, text = self.x.at(tick), self.x.text(tick)
            half = text_width(text) / 2.0
            place = min(max(at, half), self.width - half)
            self.parts.append(words(text, place, self.y.begin + SIZE + 4.0, anchor="middle", kind="soft"))
            self._line(at, self.y.begin, at, self.y.begin + 4.0, "axis")

    def _have_room(self, ticks: Sequence[float]) -> bool:
        """Whether no tick's text comes close to the next one's."""
        spans = [(self.x.at(tick), text_width(self.x.text(tick)) / 2.0) for tick in ticks]
        return all(at + half + 6.0 < after - other for (at, half), (after, other) in pairwise(spans))

    def _name_places(self, names: Sequence[str], *, stands: bool) -> None:
        for i, name in enumerate(names):
            at = self.x.at(i)
            if stands:
                self.parts.append(
                    words(name, at + 0.36 * SIZE, self.y.begin + 6.0, anchor="end", kind="soft", turned=True)
                )
            else:
                self.parts.append(words(name, at, self.y.begin + SIZE + 4.0, anchor="middle", kind="soft"))

    def _line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self.parts.append(element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind))

    def _places(self, x: ArrayLike, y: ArrayLike) -> list[tuple[float, float]]:
        both = zip(np.asarray(x, dtype=float).tolist(), np.asarray(y, dtype=float).tolist(), strict=True)
        return [(self.x.at(a), self.y.at(b)) for a, b in both if np.isfinite(a) and np.isfinite(b)]

    def curve(
        self, x: ArrayLike, y: ArrayLike, *, color: str = COLORS[0], dashed: bool = False, tip: str | None = None
    ) -> None:
        """A curve through points."""
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in self._places(x, y))
        dashes = "5 4" if dashed else None
        style = f"stroke: {color}"
        self.parts.append(
            element("polyline", points=points, class_="curve", style=style, stroke_dasharray=dashes, data_tip=tip)
        )

    def guide(self, x: ArrayLike, y: ArrayLike) -> None:
        """A pale line to compare with, such as a diagonal."""
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in self._places(x, y))
        self.parts.append(element("polyline", points=points, class_="guide"))

    def band(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, *, color: str = COLORS[0]) -> None:
        """The area between two curves."""
        around = [*self._places(x, low), *reversed(self._places(x, high))]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in around)
        self.parts.append(element("polygon", points=points, class_="band", style=f"fill: {color}"))

    def dots(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        size: ArrayLike = 3.0,
        color: str = COLORS[0],
        faint: bool = False,
        tips: Iterable[str] = (),
        key: str | None = None,
    ) -> None:
        """Dots of some radius, one for all or one each; a reader who hides what `key` names hides them."""
        said = iter(tips)
        places = self._places(x, y)
        for (a, b), r in zip(places, np.broadcast_to(np.asarray(size, dtype=float), len(places)).tolist(), strict=True):
            self.parts.append(
                element(
                    "circle", cx=a, cy=b, r=r, class_="faint" if faint else None, style=f"fill: {color}",
                    data_tip=next(said, None), data_key=key,
                )
            )  # fmt: skip

    def labels(self, x: ArrayLike, y: ArrayLike, texts: Sequence[str], keys: Sequence[str]) -> None:
        """Texts beside dots, as far as there is room."""
        places = self._places(x, y)
        for (a, b), text, key, offset in zip(places, texts, keys, label_places(places, texts), strict=True):
            if offset is not None:
                at = (a + offset[0], b + offset[1] + 0.36 * SIZE)
                self.parts.append(words(text, *at, anchor="middle", kind="strong", key=key))

    def columns(
        self, low: ArrayLike, high: ArrayLike, values: ArrayLike, *, color: str = COLORS[0], tips: Iterable[str] = ()
    ) -> None:
        """Bars that stand on the axis, each from a low to a high place along it."""
        said = iter(tips)
        for a, b, value in zip(*(np.asarray(each, dtype=float).tolist() for each in (low, high, values)), strict=True):
            left, right, top = self.x.at(a), self.x.at(b), self.y.at(value)
            base = self.y.at(min(max(0.0, self.y.low), self.y.high))
            self.parts.append(
                element(
                    "rect", x=left + 0.5, y=min(top, base), width=max(right - left - 1.0, 0.5), height=abs(base - top),
                    style=f"fill: {color}", data_tip=next(said, None),
                )
            )  # fmt: skip

    def marks(self, x: ArrayLike) -> None:
        """Short strokes on the axis: where rows are."""
        for a in np.asarray(x, dtype=float).tolist():
            if np.isfinite(a) and self.x.low <= a <= self.x.high:
                self._line(self.x.at(a), self.y.begin, self.x.at(a), self.y.begin - 5.0, "mark")

    def svg(self, description: str, *, heading: str = "", key: str | None = None) -> Markup:
        """The picture; the description says what it shows to who cannot see it, `key` whose it is."""
        return drawing(self.parts, self.width, self.height, description, heading=heading, key=key)
