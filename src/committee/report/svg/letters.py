"""How wide texts are in a picture, and how they are cut and broken to fit."""

from __future__ import annotations

import unicodedata

SIZE = 12.0
"""Height of letters in a picture, of 16 in the page's own text."""

_WIDE, _MEAN = 1.05, 0.61
"""Widths of letters as shares of their height, such that no usual font without serifs is wider."""


def text_width(text: str, size: float = SIZE) -> float:
    """Width that a text needs at most, in units of a picture.

    Examples
    --------
    >>> text_width("ab") < text_width("abc") < text_width("ab漢")
    True
    """
    return size * sum(_width(letter) for letter in text)


def _width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return _WIDE
    return 0.95 if letter in "MWmw@%" else 0.72 if letter.isupper() else _MEAN


def fitted(text: str, room: float, size: float = SIZE) -> str:
    """Text that ends in an ellipsis if it is wider than the room for it.

    Examples
    --------
    >>> fitted("mean concave points", 80.0), fitted("age", 80.0)
    ('mean conc…', 'age')
    """
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1].rstrip()
    return text + "…"


def lines_of(text: str, room: float, most: int, size: float = SIZE) -> list[str]:
    """Break a text between words into lines that fit; what is beyond the last line ends in an ellipsis.

    Examples
    --------
    >>> lines_of("worst radius <= 16.8 and worst texture > 20", 170.0, 2)
    ['worst radius <= 16.8', 'and worst texture > 20']
    """
    lines, left = [""], text.split()
    while left:
        word = left[0]
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size) <= room:
            lines[-1] = longer
            left.pop(0)
        elif len(lines) == most:
            lines[-1] = fitted(f"{lines[-1]} {' '.join(left)}", room, size)
            break
        elif lines[-1]:
            lines.append("")
        else:  # one word wider than a line
            lines[-1] = fitted(word, room, size)
            left.pop(0)
    return lines
