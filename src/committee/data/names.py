"""Names of columns and categories: those asked for against those that are there, and how a terminal shows them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that are no text: controls, formats such as right-to-left overrides, lone surrogates and
separators of lines."""
_JOINERS = "\u200c\u200d"
"""Formats that words of some languages need."""


def known_names(wanted: Iterable[str], known: Sequence[str], where: str) -> tuple[str, ...]:
    """Return ``wanted`` as a tuple, every name of which is in ``known``.

    Errors say `where` the names belong: ``"categorical"``, ``"target"``.

    Raises
    ------
    TypeError
        If ``wanted`` is one string (whose letters would pass for names) or holds something else than strings.
    ValueError
        If a name is not known; the message gives the close matches.

    Examples
    --------
    >>> known_names(["age"], ["age", "sex"], "categorical")
    ('age',)
    """
    if isinstance(wanted, str):
        raise TypeError(f"{where} must be a list of names, got the string {wanted!r}; write [{wanted!r}]")
    names = tuple(wanted)
    present = set(known)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{where} must hold names (str), got {name!r} of type {type(name).__name__}")
        if name not in present:
            raise ValueError(f"{where} names {name!r}, which is not there; {hint_of_names(name, known)}")
    return names


def hint_of_names(name: str, known: Sequence[str]) -> str:
    """Say which known names a mistyped ``name`` may have meant, or the first names there are when none is close.

    Examples
    --------
    >>> hint_of_names("agee", ["age", "sex"])
    "did you mean 'age'?"
    >>> hint_of_names("weight", ["age", "sex"])
    "there are 'age', 'sex'"
    """
    folded = {other.strip().casefold(): other for other in known}
    close = [folded[key] for key in get_close_matches(name.strip().casefold(), list(folded), n=3)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"there are {listing(known)}"


def listing(values: Iterable[object], limit: int = 20) -> str:
    """Write values one after the other for an error message.

    After ``limit`` of them comes "and 12 more": a message with hundreds of names is read by nobody.

    Examples
    --------
    >>> listing(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = list(values)
    text = ", ".join(map(repr, shown[:limit]))
    return text if len(shown) <= limit else f"{text} and {len(shown) - limit} more"


def is_unicode(text: str) -> bool:
    r"""Say whether a text can be written as UTF-8: JSON can spell half a surrogate pair, UTF-8 cannot.

    Examples
    --------
    >>> from committee.data.names import is_unicode
    >>> is_unicode("\U0001f333"), is_unicode("\ud83c")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    r"""Return a text with its control characters, but for line breaks, as the escapes of a Python string.

    Examples
    --------
    >>> from committee.data.names import printable
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
