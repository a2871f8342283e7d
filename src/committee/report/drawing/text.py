"""Widths of texts in pictures; shortening, wrapping and placing them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

SIZE = 12.0
"""Font size in a picture of a page, in pixels."""

_LABEL_CHARACTER, _LABEL_LINE, _LABEL_OFFSET, _MARK = 8.0, 15.0, 12.0, 9.0

Box = tuple[float, float, float, float]


def text_width(text: str, size: float = SIZE) -> float:
    """Upper bound of the width of a text in any common sans-serif font, in the unit of `size`."""
    return size * sum(map(_character_width, text))


def _character_width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.95 if character in "MWmw@%" else 0.72 if character.isupper() else 0.61


def middle_cut(text: str, most: int = 26) -> str:
    """Leave out the middle of a long text: names that begin alike often end differently."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2].rstrip()}…{text[len(text) - most + most // 2 + 1 :].lstrip()}"


def fitted(text: str, width: float, size: float = SIZE) -> str:
    """Cut a text to a width, with an ellipsis."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1].rstrip()
    return text + "…"


def wrapped(text: str, width: float, most: int, size: float = SIZE) -> list[str]:
    """Break a text between words into at most `most` lines; the last line ends in an ellipsis if text is left."""
    lines, rest = [""], text.split()
    while rest:
        longer = f"{lines[-1]} {rest[0]}".strip()
        if text_width(longer, size) <= width:
            lines[-1] = longer
            rest.pop(0)
        elif len(lines) == most:
            lines[-1] = fitted(f"{lines[-1]} {' '.join(rest)}", width, size)
            break
        elif lines[-1]:
            lines.append("")
        else:  # one word wider than a line
            lines[-1] = fitted(rest.pop(0), width, size)
    return lines


def label_offsets(points: Sequence[tuple[float, float]], labels: Sequence[str]) -> list[tuple[float, float] | None]:
    """Offsets of labels from their marks such that none overlap; `None` for a label without room.

    Earlier labels are placed first: right of their mark, left, above or below.
    """
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


def _box(point: tuple[float, float], offset: tuple[float, float], width: float, height: float) -> Box:
    x, y = point[0] + offset[0], point[1] + offset[1]
    return x - width / 2.0, x + width / 2.0, y - height / 2.0, y + height / 2.0


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
