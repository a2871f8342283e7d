"""Columns whose form is known turned into numbers; a cell that is not of it is an error that names it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from committee.data.reading import number_forms, time_forms
from committee.data.reading.cell_forms import NUMBERS
from committee.data.reading.cell_words import cells_in_rows
from committee.data.reading.cells import as_numbers, plain_numbers
from committee.data.reading.missing_cells import are_common_marks, mark_counts

if TYPE_CHECKING:
    import polars as pl

PLAIN = "0.5"
"""The form of numbers as computers write them, of which nothing needs to be remembered."""
WHOLE = "1"
"""The form of plain numbers all of which are whole, and remain so."""


def in_numbers(
    frame: pl.DataFrame,
    forms: Mapping[str, str],
    dates: str | None = None,
    marks: dict[str, Counter[str]] | None = None,
) -> pl.DataFrame:
    """Turn the columns that have a form into numbers; such as are numbers with a form of numbers stay as they are.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    forms : dict
        Out of `committee.data.reading.cell_forms.KNOWN`, or `PLAIN`, by the name of the column.
    dates : {"day-first", "month-first", "iso"} or None
        What the user says of the order of days and months, in place of that of the forms.
    marks : dict, default=None
        Common marks for missing values that are met are counted here, by the name of the column.

    Raises
    ------
    ValueError
        If a cell is not of the form of its column.

    Examples
    --------
    >>> import polars as pl
    >>> in_numbers(pl.DataFrame({"day": ["02.01.1970"]}), {"day": "%d.%m.%Y"}).rows()
    [(86400.0,)]
    """
    changed = []
    for name, form in forms.items():
        if name not in frame.columns:
            continue
        column = frame[name]
        if column.null_count() < len(column) and str(column.dtype) == "String":
            column = _without_common_marks(column, marks)
        changed.append(_in_numbers(column, form, dates))
    return frame.with_columns(changed)


def _without_common_marks(column: pl.Series, marks: dict[str, Counter[str]] | None) -> pl.Series:
    """Make cells missing that hold a common mark for it, which is no number."""
    marked = are_common_marks(column)
    if not marked.any():
        return column
    if marks is not None:
        marks.setdefault(column.name, Counter()).update(mark_counts(column, marked))
    return column.set(marked, None)


def _in_numbers(column: pl.Series, form: str, dates: str | None) -> pl.Series:
    import polars as pl

    if column.null_count() == len(column):
        return column.cast(pl.Float64, strict=False)
    if form == WHOLE and column.dtype == pl.String:
        whole = plain_numbers(column)
        return _numbers(column, PLAIN) if whole is None else whole
    if form in NUMBERS or form in (PLAIN, WHOLE):
        return _numbers(column, form) if column.dtype == pl.String else column
    if column.dtype.is_temporal():
        return time_forms.seconds_of_typed(column)
    if column.dtype != pl.String:
        raise ValueError(
            f"column {column.name!r} was learned as dates or times and holds {column.dtype} here; write it as there"
        )
    return _times(column, form, dates)


def _numbers(column: pl.Series, form: str) -> pl.Series:
    """Numbers of a form, or all of another that means the same: another file may write them otherwise."""
    best = form
    found = _read(column, form)
    for other in _other_forms(column, form):
        if found.null_count() == column.null_count():
            break
        read = _read(column, other)
        if read.null_count() < found.null_count():
            best, found = other, read
    wrong = found.is_null() & column.is_not_null()
    if wrong.any():
        what = "must hold numbers" if best == PLAIN else f"holds numbers written as {best!r}"
        raise ValueError(_words_of_wrong(column, wrong, what))
    return found


def _read(column: pl.Series, form: str) -> pl.Series:
    return as_numbers(column) if form == PLAIN else number_forms.numbers(column, form)


def _other_forms(column: pl.Series, form: str) -> list[str]:
    """Forms of the same numbers, without a currency's sign or with one; percentages have theirs always."""
    sign = number_forms.sign_of(form)
    signs = [sign]
    if sign != number_forms.PERCENT:
        of_cells = number_forms.sign_in(column.drop_nulls()[0]) or ""
        # another currency is another number
        signs += [each for each in ("", of_cells) if each != number_forms.PERCENT and not (sign and each)]
    bases = (number_forms.base_of(form), number_forms.THOUSANDS, number_forms.COMMA)
    others = [number_forms.with_sign(base, each) for each in signs for base in bases if base != PLAIN]
    return [other for other in dict.fromkeys(others) if other != form]


def _times(column: pl.Series, form: str, dates: str | None) -> pl.Series:
    """Seconds of dates and times of a form, or of another with day and month in the same order."""
    order = dates or time_forms.order_of(form)
    if dates is not None and time_forms.order_of(form) not in (None, dates):
        form = time_forms.swapped(form) or form if dates != "iso" else time_forms.DAY
    found = time_forms.seconds(column, form)
    if found.null_count() == column.null_count():
        return found
    own, sure = time_forms.form_of_times(column, order)
    if own is not None:
        if sure:
            return time_forms.seconds(column, own)
        raise ValueError(
            f"column {column.name!r} was learned from dates that begin otherwise, and its cells here"
            f" ({column.drop_nulls()[0]!r}) may have the day or the month first; say which: --dates day-first or"
            " --dates month-first"
        )
    allowed = (form, *time_forms.forms_in_order(order))
    best = min(allowed, key=lambda each: time_forms.seconds(column, each).null_count())  # the first of equals
    wrong = time_forms.seconds(column, best).is_null() & column.is_not_null()
    if order in ("day-first", "month-first"):
        _refuse_other_order(column, wrong, order)
    raise ValueError(_words_of_wrong(column, wrong, f"holds dates or times written as {best}"))


def _refuse_other_order(column: pl.Series, wrong: pl.Series, order: str) -> None:
    """Raise if cells are dates with day and month in the other order."""
    other = "month-first" if order == "day-first" else "day-first"
    forms = [form for form in time_forms.FORMS if time_forms.order_of(form) == other]
    contrary = max(
        (wrong & time_forms.seconds(column, form).is_not_null() for form in forms), key=lambda each: each.sum()
    )
    if contrary.any():
        first, second = ("day", "month") if order == "day-first" else ("month", "day")
        raise ValueError(
            f"column {column.name!r} is read with the {first} before the {second}, as it was learned or --dates says,"
            f" and a cell has the {second} first ({cells_in_rows(column, contrary)}); say --dates {other} if all of"
            f" this file has, and fit again with it if the training table had; or write dates as 2024-12-31"
        )


def _words_of_wrong(column: pl.Series, wrong: pl.Series, what: str) -> str:
    n = int(wrong.sum())
    none = "1 cell is none" if n == 1 else f"{n:,} cells are none"
    return (
        f"column {column.name!r} {what}, but {none} ({cells_in_rows(column, wrong)}); correct them, name them by"
        " --missing if they mean missing, or take the column as text with --categorical when fitting"
    )
