"""Text from files as a terminal may have it: control characters as escapes, so that none moves the cursor or hides."""

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that are no text: controls, formats such as right-to-left overrides, lone surrogates and
separators of lines."""
_JOINERS = "\u200c\u200d"
"""Formats that words of some languages need."""


def printable(text: str) -> str:
    r"""Return a text with its control characters, but for line breaks, as the escapes of a Python string.

    Examples
    --------
    >>> from committee.data.printable import printable
    >>> print(printable("a\x1b[31mred\x1b[0m"))
    a\x1b[31mred\x1b[0m
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character == "\n" or character in _JOINERS or unicodedata.category(character) not in _HIDDEN:
        return character
    return repr(character)[1:-1]
