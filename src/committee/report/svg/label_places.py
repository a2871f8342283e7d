"""Where the labels of marks go so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence

LETTER, LINE, AWAY, MARK = 8.0, 15.0, 12.0, 9.0
"""Widths of a letter and heights of a line, from the middle of a mark to that of its label, and a mark's own width."""

_SIDES = ((1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0))

Box = tuple[float, float, float, float]


def label_places(points: Sequence[tuple[float, float]], texts: Sequence[str]) -> list[tuple[float, float] | None]:
    """Offsets of labels from their marks; None for one that there is no room for.

    Parameters
    ----------
    points : sequence of tuple of two float
        Places of the marks in the picture, across and down.
    texts : sequence of str
        The labels; earlier ones have the first choice.

    Examples
    --------
    >>> label_places([(10.0, 10.0), (90.0, 90.0)], ["1", "2"])
    [(12.0, 0.0), (12.0, 0.0)]
    >>> label_places([(50.0, 50.0)] * 6, list("123456"))[-1] is None
    True
    """
    taken = [_box(point, (0.0, 0.0), MARK, MARK) for point in points]
    places: list[tuple[float, float] | None] = []
    for point, text in zip(points, texts, strict=True):
        wide = LETTER * len(text)
        for across, down in _SIDES:
            offset = (across * (AWAY + (wide - LETTER) / 2.0), down * AWAY)
            box = _box(point, offset, wide, LINE)
            if not any(_meet(box, other) for other in taken):
                taken.append(box)
                places.append(offset)
                break
        else:
            places.append(None)
    return places


def _box(point: tuple[float, float], offset: tuple[float, float], wide: float, high: float) -> Box:
    x, y = point[0] + offset[0], point[1] + offset[1]
    return x - wide / 2.0, x + wide / 2.0, y - high / 2.0, y + high / 2.0


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
