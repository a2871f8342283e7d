"""Numbers of text files that are written with decimal commas, marks between thousands, currencies or percent signs."""

from __future__ import annotations

import re
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

PERCENT = "%"
CURRENCIES = (
    "US$", "R$", "A$", "C$", "$", "\u00a2", "\u00a3", "\u00a5", "\u20ac", "\u20a9", "\u20aa", "\u20ab", "\u20b1",
    "\u20b4", "\u20b8", "\u20b9", "\u20ba", "\u20bd", "\u0e3f", "kr", "z\u0142", "K\u010d", "Fr.",
    "AUD", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS", "INR",
    "JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PEN", "PHP", "PLN", "RON", "RUB", "SAR", "SEK", "SGD", "THB", "TRY",
    "TWD", "UAH", "USD", "VND", "ZAR",
)  # fmt: skip
"""Signs of currencies, and their codes, that stand before or behind numbers."""

FORMS = tuple(f"{base} {sign}".strip() for base in (COMMA, THOUSANDS) for sign in ("", PERCENT, *CURRENCIES))
"""All forms: `COMMA` or `THOUSANDS`, by itself or followed by the sign that all cells have."""

_SPACES = " '\u00a0\u202f\u2009\u2019"
_NUMBER = r"^[+-]?(\d+|\d{{1,3}}([{marks}]\d{{3}})+)?({point}\d+)?{point}?([eE][+-]?\d+)?$"
_PATTERNS = {
    COMMA: _NUMBER.format(marks="." + _SPACES, point=","),
    THOUSANDS: _NUMBER.format(marks="," + _SPACES, point=r"\."),
}
_BETWEEN = {COMMA: rf"[.{_SPACES}]", THOUSANDS: rf"[,{_SPACES}]"}
_GROUPED = r"^[+-]?\d{1,3}(\.\d{3})+$"
_SIGN = "|".join(map(re.escape, (PERCENT, *CURRENCIES)))
_BEGINS = re.compile(rf"\s*[+-]?\s*(?P<before>{_SIGN})?\s*[+-]?[\d.,]")
_ENDS = re.compile(rf"\d[.,]?\s*(?P<behind>{_SIGN})\s*$")


def sign_of(form: str) -> str:
    """Return the sign in a form of numbers.

    Examples
    --------
    >>> sign_of("0,5 EUR"), sign_of("1,000")
    ('EUR', '')
    """
    return form.partition(" ")[2]


def base_of(form: str) -> str:
    """Return a form of numbers without its sign."""
    return form.partition(" ")[0]


def with_sign(base: str, sign: str) -> str:
    """Return a form with a sign."""
    return f"{base} {sign}".rstrip()


def numbers(texts: pl.Series, form: str) -> pl.Series:
    """Read text of a form as numbers, null where it is none; 12 % is 0.12.

    Examples
    --------
    >>> import polars as pl
    >>> numbers(pl.Series(["1.234,5", "7", "1.5"]), COMMA).to_list()
    [1234.5, 7.0, None]
    >>> numbers(pl.Series(["$1,250", "-$3.20", "7"]), "1,000 $").to_list()
    [1250.0, -3.2, None]
    """
    base, _, sign = form.partition(" ")
    stripped = texts.str.strip_chars()
    if sign:
        stripped = _without_sign(stripped, sign)
    fits = stripped.str.contains(_PATTERNS[base])
    plain = stripped.str.replace_all(_BETWEEN[base], "").str.replace(",", ".", literal=True)
    found = as_numbers(plain)
    found = found.set(~fits.fill_null(False), None)
    return found / 100.0 if sign == PERCENT else found


def _without_sign(stripped: pl.Series, sign: str) -> pl.Series:
    """Text without the sign before or behind it; null where it has none, or two."""
    escaped, spaces = re.escape(sign), r"[\s\u00a0\u202f]*"
    before, behind = rf"^([+-]?){spaces}{escaped}{spaces}([+-]?[\d.,])", rf"([\d.,]){spaces}{escaped}$"
    once = stripped.str.count_matches(sign, literal=True) == 1
    there = once & (stripped.str.contains(before) | stripped.str.contains(behind))
    bare = stripped.str.replace(before, "${1}${2}").str.replace(behind, "${1}")
    return bare.set(~there.fill_null(False), None)


def sign_in(cell: str) -> str | None:
    """Return the sign of a number with one, "" for a number without, None for what begins as no number does.

    Examples
    --------
    >>> sign_in("-3,20 EUR"), sign_in("12%"), sign_in("7"), sign_in("Oslo")
    ('EUR', '%', '', None)
    """
    begins, ends = _BEGINS.match(cell), _ENDS.search(cell)
    if begins is None:
        return None
    return begins["before"] or (ends["behind"] if ends else "")


def forms_that_read(present: pl.Series) -> list[str]:
    """Return the forms of which all cells of a column are, none of which is missing: none, one, or two.

    Examples
    --------
    >>> import polars as pl
    >>> forms_that_read(pl.Series(["1,5"])), forms_that_read(pl.Series(["1,250 %"]))
    (['0,5'], ['0,5 %', '1,000 %'])
    """
    sign = None if present.is_empty() else sign_in(present[0])
    if sign is None:
        return []
    return [form for base in (COMMA, THOUSANDS) if not numbers(present, form := with_sign(base, sign)).null_count()]


@dataclass(frozen=True)
class NumberForms:
    """Columns of text that are numbers of a form.

    Parameters
    ----------
    forms : dict
        Out of `FORMS` by the name of the column.
    mixed : tuple of str
        Columns of which some numbers have decimal commas and others points, so that they stay text.
    """

    forms: dict[str, str]
    mixed: tuple[str, ...] = ()


def number_forms(columns: Sequence[pl.Series], decimal: str | None, separator: str) -> NumberForms:
    """Find out which columns of text are numbers, in which form.

    A comma before three digits says nothing by itself. Where another column of the file settles it, or the user has
    by `decimal`, it is that; else it stands between thousands if cells are separated by commas, and else before
    decimals. A point before three digits of numbers with a sign is a decimal point, unless the file has decimal commas.

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
    either: dict[str, pl.Series] = {}
    mixed: list[str] = []
    for column in columns:
        present = column.drop_nulls()
        found = forms_that_read(present)
        if len(found) == 2:
            either[column.name] = present
        elif found:
            sure[column.name] = found[0]
        elif _is_mixed(present):
            mixed.append(column.name)
    wanted = {".": THOUSANDS, ",": COMMA}.get(decimal or "")
    forms = {name: form for name, form in sure.items() if wanted in (None, base_of(form))}
    bases = {base_of(form) for form in forms.values()}
    settled = wanted or (COMMA if separator != "," or COMMA in bases else THOUSANDS)
    if wanted is None and bases == {THOUSANDS}:
        settled = THOUSANDS
    for name, present in either.items():
        sign = sign_in(present[0]) or ""
        without_comma = bool(sign) and wanted is None and not present.str.contains(",", literal=True).any()
        base = (COMMA if COMMA in bases else THOUSANDS) if without_comma else settled
        forms[name] = with_sign(base, sign)
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
    if present.is_empty():
        return False
    comma, point = numbers(present, COMMA), as_numbers(present)
    return bool((comma.is_not_null() | point.is_not_null()).all())
