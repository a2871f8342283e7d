"""Numbers of text files that are written with a decimal comma, or with marks between thousands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from committee.data.reading.cells import as_numbers

if TYPE_CHECKING:
    import polars as pl

COMMA = "0,5"
"""The form of numbers with a decimal comma; points, spaces and apostrophes may stand between thousands."""
THOUSANDS = "1,000"
"""The form of numbers with a decimal point and with commas, spaces or apostrophes between thousands."""

_SPACES = " '\u00a0\u202f\u2009\u2019"
_NUMBER = r"^[+-]?(\d+|\d{{1,3}}([{marks}]\d{{3}})+)?({point}\d+)?{point}?([eE][+-]?\d+)?$"
_PATTERNS = {
    COMMA: _NUMBER.format(marks="." + _SPACES, point=","),
    THOUSANDS: _NUMBER.format(marks="," + _SPACES, point=r"\."),
}
_BETWEEN = {COMMA: rf"[.{_SPACES}]", THOUSANDS: rf"[,{_SPACES}]"}
_GROUPED = r"^[+-]?\d{1,3}(\.\d{3})+$"


def numbers(texts: pl.Series, form: str) -> pl.Series:
    """Read text of a form as numbers, null where it is none.

    Examples
    --------
    >>> import polars as pl
    >>> numbers(pl.Series(["1.234,5", "7", "1.5"]), COMMA).to_list()
    [1234.5, 7.0, None]
    """
    stripped = texts.str.strip_chars()
    fits = stripped.str.contains(_PATTERNS[form])
    plain = stripped.str.replace_all(_BETWEEN[form], "").str.replace(",", ".", literal=True)
    found = as_numbers(plain)
    return found.set(~fits.fill_null(False), None)


@dataclass(frozen=True)
class NumberForms:
    """Columns of text that are numbers of a form.

    Parameters
    ----------
    forms : dict
        `COMMA` or `THOUSANDS` by the name of the column.
    mixed : tuple of str
        Columns of which some numbers have decimal commas and others points, so that they stay text.
    """

    forms: dict[str, str]
    mixed: tuple[str, ...] = ()


def number_forms(columns: Sequence[pl.Series], decimal: str | None, separator: str) -> NumberForms:
    """Find out which columns of text are numbers, in which form.

    A comma before three digits says nothing by itself. Where another column of the file settles it, or the user has
    by `decimal`, it is that; else it stands between thousands if cells are separated by commas, and else before
    decimals.

    Parameters
    ----------
    columns : sequence of polars.Series
        Columns of text.
    decimal : {".", ","} or None
        What the user says.
    separator : str
        Between the cells of the file.

    Examples
    --------
    >>> import polars as pl
    >>> number_forms([pl.Series("a", ["1,5", "2"]), pl.Series("b", ["1,250"]), pl.Series("c", ["x"])], None, ";").forms
    {'a': '0,5', 'b': '0,5'}
    """
    sure: dict[str, str] = {}
    either: list[str] = []
    mixed: list[str] = []
    for column in columns:
        present = column.drop_nulls()
        if present.is_empty() or not present.head(1).str.contains(r"^\s*[+-]?[\d,.]")[0]:
            continue
        found = [form for form in (COMMA, THOUSANDS) if not numbers(present, form).null_count()]
        if len(found) == 2:
            either.append(column.name)
        elif found:
            sure[column.name] = found[0]
        elif _is_mixed(present):
            mixed.append(column.name)
    wanted = {".": THOUSANDS, ",": COMMA}.get(decimal or "")
    forms = {name: form for name, form in sure.items() if wanted in (None, form)}
    settled = wanted or (COMMA if separator != "," or COMMA in forms.values() else THOUSANDS)
    if wanted is None and set(forms.values()) == {THOUSANDS}:
        settled = THOUSANDS
    forms |= dict.fromkeys(either, settled)
    return NumberForms({column.name: forms[column.name] for column in columns if column.name in forms}, tuple(mixed))


def have_points_between_thousands(texts: pl.Series) -> bool:
    """Say whether all points of a column of numbers stand before three digits, as between thousands.

    Examples
    --------
    >>> import polars as pl
    >>> have_points_between_thousands(pl.Series(["1.250", "75"])), have_points_between_thousands(pl.Series(["1.5"]))
    (True, False)
    """
    pointed = texts.drop_nulls().str.strip_chars()
    pointed = pointed.filter(pointed.str.contains(".", literal=True))
    return not pointed.is_empty() and bool(pointed.str.contains(_GROUPED).all())


def _is_mixed(present: pl.Series) -> bool:
    """Whether each cell is a number with a point or with a comma, if not all of one kind."""
    comma, point = numbers(present, COMMA), as_numbers(present)
    return bool((comma.is_not_null() | point.is_not_null()).all())
