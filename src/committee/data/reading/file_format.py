"""What a user says of how a file is written; what is left open is recognised."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Self

NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
"""Separators that are hard to type in a shell, by name."""

DATE_ORDERS = ("day-first", "month-first", "iso")
"""How dates are read that could be read in two ways."""


@dataclass(frozen=True)
class FileFormat:
    """How a file is written.

    Parameters
    ----------
    separator : str or None
        The character between the cells of a text file; None: found out.
    decimal : {".", ","} or None
        The decimal mark of a text file; None: found out.
    encoding : str or None
        The encoding of a text file, as Python names it; None: UTF-8, or UTF-16 if the file says so.
    sheet : str or None
        The sheet of a spreadsheet, by name, or by number from 1; None: the first.
    missing : tuple of str
        What cells hold that are missing, besides those that are so always: text, or numbers such as ``"-999"``.
    dates : {"day-first", "month-first", "iso"} or None
        How dates such as 01/02/2024 are read; ``"iso"``: dates are those alone that begin with the year. None: as the
        cells of the column settle it.

    Raises
    ------
    ValueError
        If the separator is not one ASCII character, the decimal mark neither point nor comma, there is no such
        encoding, or no such order of dates.

    Examples
    --------
    >>> FileFormat(separator=";", decimal=",").encoding is None
    True
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    missing: tuple[str, ...] = ()
    dates: str | None = None

    def __post_init__(self) -> None:
        mark = self.separator
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in '"\r\n.-+'):
            raise ValueError(
                f"separator {mark!r} is no character that separates cells; give one such as ',', ';', '|' or 'tab'"
            )
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal {self.decimal!r} is neither '.' nor ','")
        if self.encoding is not None:
            _check_encoding(self.encoding)
        if self.dates not in (None, *DATE_ORDERS):
            raise ValueError(f"dates {self.dates!r} is none of {', '.join(DATE_ORDERS)}")

    @classmethod
    def of_words(
        cls,
        separator: str | None,
        decimal: str | None,
        encoding: str | None,
        sheet: str | None = None,
        missing: tuple[str, ...] = (),
        dates: str | None = None,
    ) -> Self:
        """Take what is typed in a shell, where a separator may be spelled as its name.

        Examples
        --------
        >>> FileFormat.of_words("tab", None, None).separator
        '\\t'
        """
        named = None if separator is None else NAMED_SEPARATORS.get(separator.lower(), separator)
        return cls(named, decimal, encoding, sheet, missing, dates)


UNSAID = FileFormat()
"""Of a file of which nothing is said."""


def _check_encoding(name: str) -> None:
    try:
        if codecs.lookup(name)._is_text_encoding:  # Python has others too, of bytes to bytes
            return
    except (LookupError, ValueError):
        pass
    raise ValueError(f"there is no encoding {name!r}; often met are utf-8, cp1252, latin-1 and utf-16")
