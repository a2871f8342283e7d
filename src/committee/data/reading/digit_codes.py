"""Columns of codes, such as postcodes, which lose the zeros that they begin with where they are read as numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from committee.data.reading.separated_text import SeparatedText, read_separated, read_texts

if TYPE_CHECKING:
    from collections.abc import Container

    import polars as pl

_BLOCK = 2**20


def are_codes(texts: pl.Series) -> bool:
    """Say whether all cells of a column are digits, and one or more begin with a zero that is not all of them.

    Examples
    --------
    >>> import polars as pl
    >>> are_codes(pl.Series(["01067", "80331", None])), are_codes(pl.Series(["0", "7"])), are_codes(pl.Series(["0.7"]))
    (True, False, False)
    """
    found = CodesSoFar()
    found.take(texts)
    return found.are_codes


@dataclass
class CodesSoFar:
    """What the pieces of a column say of its being of codes.

    Examples
    --------
    >>> import polars as pl
    >>> found = CodesSoFar()
    >>> found.take(pl.Series(["80331"]))
    >>> found.take(pl.Series(["01067"]))
    >>> found.are_codes, found.example
    (True, '01067')
    """

    digits: bool = True
    example: str = ""

    def take(self, texts: pl.Series) -> None:
        """Look at some rows."""
        present = texts.drop_nulls().str.strip_chars()
        self.digits = self.digits and bool(present.str.contains(r"^\d+$").all())
        padded = present.filter(present.str.contains(r"^0\d+$"))
        self.example = self.example or (padded[0] if len(padded) else "")

    @property
    def are_codes(self) -> bool:
        """Whether all cells are digits, and one or more begin with a zero that is not all of them."""
        return self.digits and bool(self.example)


def with_codes(text: SeparatedText, frame: pl.DataFrame, but: Container[str]) -> tuple[pl.DataFrame, list[str]]:
    """Return a table, as it was read from a file, in which columns of numbers that are codes there are text; and these.

    Columns of `but` are not looked at.
    """
    whole = [column.name for column in frame.get_columns() if column.name not in but and _are_whole(column)]
    if not whole or not may_have_codes(text):
        return frame, []
    texts = read_texts(text, whole)
    codes = [name for name in whole if are_codes(texts[name])]
    if codes and texts.height != frame.height:  # blank lines have been left out
        texts = read_separated(text, codes)
    return frame.with_columns(texts[name] for name in codes), codes


def words_of_codes(columns: list[pl.Series]) -> str:
    """Note on columns of codes.

    Examples
    --------
    >>> import polars as pl
    >>> words_of_codes([pl.Series("zip", ["80331", "01067"])])
    "codes with zeros in front are kept as text, as categories: 'zip' (such as '01067')"
    """
    padded = {column.name: column.filter(column.str.contains(r"^\s*0\d").fill_null(False))[0] for column in columns}
    shown = ", ".join(f"{name!r} (such as {cell!r})" for name, cell in padded.items())
    return f"codes with zeros in front are kept as text, as categories: {shown}"


def _are_whole(column: pl.Series) -> bool:
    if column.dtype.is_integer():
        return True
    return column.dtype.is_float() and bool((column == column.floor()).fill_null(True).all())


def may_have_codes(text: SeparatedText) -> bool:
    """Whether any cell of the file begins with a zero and a digit: most have none, and need not be read again."""
    if not text.is_utf_8:
        return True
    begins = re.compile(b"[%s\"'\\s]0[0-9]" % re.escape(text.separator.encode()))
    before = b"\n"
    with text.errors(), text.file.opened() as opened:
        while block := opened.read(_BLOCK):
            if begins.search(before + block):
                return True
            before = block[-2:]
    return False
