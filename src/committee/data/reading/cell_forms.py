"""How the cells of columns are written that are numbers, but not as such: with commas and signs, dates and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from committee.data.names import listing
from committee.data.reading import number_forms, time_forms
from committee.data.reading.cell_words import cells_in_rows

if TYPE_CHECKING:
    import polars as pl

NUMBERS = frozenset(number_forms.FORMS)
"""Forms of numbers."""

KNOWN = frozenset({*NUMBERS, *time_forms.FORMS, time_forms.DURATION})
"""All forms."""


@dataclass(frozen=True)
class CellForms:
    """Forms that were found in a table.

    Parameters
    ----------
    forms : dict
        Out of `KNOWN`, by the name of the column.
    notes : tuple of str
        What to say of them.
    unsure : dict
        Of these notes those on dates whose order no cell settles, by the name of the column.
    """

    forms: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unsure: dict[str, str] = field(default_factory=dict)


def forms_of_numbers(columns: Sequence[pl.Series], decimal: str | None, separator: str) -> CellForms:
    """Find columns of a text file that are numbers with commas, with the sign of a currency, or percentages.

    Examples
    --------
    >>> import polars as pl
    >>> forms_of_numbers([pl.Series("price", ["1,5", "20"])], None, ";").notes
    ("read as numbers with a decimal comma: 'price'",)
    """
    found = number_forms.number_forms(columns, decimal, separator)
    notes = []
    for form, words in (
        (number_forms.COMMA, "with a decimal comma"),
        (number_forms.THOUSANDS, "with commas or spaces between thousands"),
    ):
        names = [name for name, own in found.forms.items() if own == form]
        if names:
            notes.append(f"read as numbers {words}: {listing(names)}")
    notes += [
        _words_of_sign(column, found.forms[column.name])
        for column in columns
        if number_forms.sign_of(found.forms.get(column.name, ""))
    ]
    if found.mixed:
        notes.append(
            f"read as text, as some numbers have decimal commas and others decimal points: {listing(found.mixed)};"
            " write them in one way"
        )
    return CellForms(found.forms, tuple(notes))


def _words_of_sign(column: pl.Series, form: str) -> str:
    """Note on a column of numbers that have a sign."""
    sign, cell = number_forms.sign_of(form), column.drop_nulls()[:1]
    number = number_forms.numbers(cell, form)[0]
    what = "percentages" if sign == number_forms.PERCENT else f"numbers with {sign}"
    return f"column {column.name!r} is read as {what}: {cell[0]!r} is {number:.10g}"


def words_of_points(names: Sequence[str]) -> str:
    """Note on columns whose points are none of decimals.

    Examples
    --------
    >>> words_of_points(["price"])
    "points between thousands, as the file has decimal commas: 'price'"
    """
    return f"points between thousands, as the file has decimal commas: {listing(names)}"


def forms_of_times(columns: Sequence[pl.Series], order: str | None = None) -> CellForms:
    """Find columns that are dates or times, typed or as text; `order` is what the user says of 01/02/2024.

    Raises
    ------
    ValueError
        If all cells of a column are dates, but in another order.

    Examples
    --------
    >>> import polars as pl
    >>> forms_of_times([pl.Series("day", ["31.12.2024"])]).notes
    ("dates and times read as seconds: 'day' (such as '31.12.2024')",)
    """
    forms: dict[str, str] = {}
    unsure: dict[str, str] = {}
    shown, others = [], []
    for column in columns:
        form, sure = time_forms.form_of_times(column, order)
        if form is None:
            others += _words_of_no_times(column, order)
            continue
        forms[column.name] = form
        first = str(column.drop_nulls().head(1).to_list()[0]) if column.null_count() < len(column) else "no cell"
        shown.append(f"{column.name!r} (such as {first!r})")
        if not sure:
            unsure[column.name] = words_of_unsure_dates(column.name, first)
            others.append(unsure[column.name])
    notes = [f"dates and times read as seconds: {', '.join(shown)}"] if shown else []
    return CellForms(forms, (*notes, *others), unsure)


def words_of_unsure_dates(name: str, cell: str) -> str:
    """Note on a column of dates of which nothing says whether the day or the month is first.

    Examples
    --------
    >>> words_of_unsure_dates("day", "03/04/2024")
    "dates of 'day' such as '03/04/2024' are read with the day before the month, as no cell settles it; --dates \
month-first reads them the other way"
    """
    return (
        f"dates of {name!r} such as {cell!r} are read with the day before the month, as no cell settles it; --dates"
        " month-first reads them the other way"
    )


def _words_of_no_times(column: pl.Series, order: str | None) -> list[str]:
    """Notes on a column of text that is no dates, though some of its cells are."""
    import polars as pl

    if column.dtype != pl.String or column.null_count() == len(column):
        return []
    if order is not None:
        form, _ = time_forms.form_of_times(column)
        if form is not None:
            return [_words_of_other_order(column, form, order)]
    mixed = time_forms.mixed_orders(column.drop_nulls())
    if mixed is not None:
        return [
            f"column {column.name!r} is read as text because some dates have the day before the month ({mixed[0]!r})"
            f" and others the month before the day ({mixed[1]!r}); write them as 2024-12-31"
        ]
    wrong = time_forms.cells_that_are_no_times(column)
    if not wrong.any():
        return []
    n = int(wrong.sum())
    what = "1 cell is no date or time" if n == 1 else f"{n:,} cells are no dates or times"
    return [
        f"column {column.name!r} is read as text because {what} ({cells_in_rows(column, wrong)}); if they mean"
        " missing, name them by --missing, or leave them empty in the file"
    ]


def _words_of_other_order(column: pl.Series, form: str, order: str) -> str:
    """Note on dates that are left as text, as `order` is that of ISO 8601; an error where it is another one."""
    if order == "iso":
        cell = column.drop_nulls()[0]
        return f"column {column.name!r} is read as text because its dates, such as {cell!r}, are not of --dates iso"
    wrong = time_forms.seconds(column, time_forms.swapped(form) or form).is_null() & column.is_not_null()
    raise ValueError(
        f"column {column.name!r} has the {'month' if order == 'day-first' else 'day'} first"
        f" ({cells_in_rows(column, wrong)}), and --dates says {order}; leave it out, or write dates as 2024-12-31"
    )
