"""Where the labels of marks go so that none covers another, whatever width the picture has."""

from __future__ import annotations

from collections.abc import Sequence

WIDTHS, HEIGHT = (270.0, 420.0, 640.0), 270.0
"""Pixels of a picture on a telephone, on a tablet and on a screen, and how high it is."""

LETTER, LINE, AWAY = 8.0, 15.0, 12.0
"""Pixels of a letter, of a line of text, and from the middle of a mark to the middle of its label."""

_SIDES = ((1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0))

Box = tuple[float, float, float, float]


def label_places(points: Sequence[tuple[float, float]], texts: Sequence[str]) -> list[tuple[float, float] | None]:
    """Offsets of labels from their marks in pixels; None for one that there is no room for.

    Parameters
    ----------
    points : sequence of tuple of two float
        Places in percent, across and down.
    texts : sequence of str
        The labels; earlier ones have the first choice.

    Examples
    --------
    >>> label_places([(10.0, 10.0), (90.0, 90.0)], ["1", "2"])
    [(12.0, 0.0), (12.0, 0.0)]
    >>> label_places([(50.0, 50.0)] * 6, list("123456"))[-1] is None
    True
    """
    taken: list[list[Box]] = [[] for _ in WIDTHS]
    places: list[tuple[float, float] | None] = []
    for point, text in zip(points, texts, strict=True):
        wide = LETTER * len(text)
        for across, down in _SIDES:
            offset = (across * (AWAY + (wide - LETTER) / 2.0), down * AWAY)
            boxes = [_box(point, offset, wide, width) for width in WIDTHS]
            if not any(_meet(box, other) for box, others in zip(boxes, taken, strict=True) for other in others):
                for box, others in zip(boxes, taken, strict=True):
                    others.append(box)
                places.append(offset)
                break
        else:
            places.append(None)
    return places


def _box(point: tuple[float, float], offset: tuple[float, float], wide: float, width: float) -> Box:
    x, y = point[0] / 100.0 * width + offset[0], point[1] / 100.0 * HEIGHT + offset[1]
    return x - wide / 2.0, x + wide / 2.0, y - LINE / 2.0, y + LINE / 2.0


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
