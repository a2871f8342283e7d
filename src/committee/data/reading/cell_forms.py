"""How the cells of columns become numbers that are not written as such: numbers with commas, dates and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from committee.data.names import listing
from committee.data.reading import number_forms, time_forms
from committee.data.reading.cells import as_numbers

if TYPE_CHECKING:
    import polars as pl

NUMBERS = (number_forms.COMMA, number_forms.THOUSANDS)

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
    """

    forms: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def forms_of_numbers(columns: Sequence[pl.Series], decimal: str | None, separator: str) -> CellForms:
    """Find columns of a text file that are numbers with commas.

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
    if found.mixed:
        notes.append(
            f"read as text, as some numbers have decimal commas and others decimal points: {listing(found.mixed)};"
            " write them in one way"
        )
    return CellForms(found.forms, tuple(notes))


def words_of_points(names: Sequence[str]) -> str:
    """Note on columns whose points are none of decimals.

    Examples
    --------
    >>> words_of_points(["price"])
    "points between thousands, as the file has decimal commas: 'price'"
    """
    return f"points between thousands, as the file has decimal commas: {listing(names)}"


def forms_of_times(columns: Sequence[pl.Series]) -> CellForms:
    """Find columns that are dates or times, typed or as text.

    Examples
    --------
    >>> import polars as pl
    >>> forms_of_times([pl.Series("day", ["31.12.2024"])]).notes
    ("dates and times read as seconds: 'day' (such as '31.12.2024')",)
    """
    forms: dict[str, str] = {}
    shown, unsure, nearly = [], [], []
    for column in columns:
        form, sure = time_forms.form_of_times(column)
        if form is None:
            if wrong := time_forms.cells_that_are_no_times(column):
                nearly.append((column.name, wrong))
            continue
        forms[column.name] = form
        first = str(column.drop_nulls().head(1).to_list()[0]) if column.null_count() < len(column) else "no cell"
        shown.append(f"{column.name!r} (such as {first!r})")
        if not sure:
            unsure.append((column.name, first))
    notes = [f"dates and times read as seconds: {', '.join(shown)}"] if shown else []
    notes += [
        f"dates of {name!r} such as {first!r} are read with the day before the month; write them as 2024-12-31 if"
        " that is wrong"
        for name, first in unsure
    ]
    notes += [
        f"column {name!r} is read as text because {len(wrong):,} cell(s) are no dates or times"
        f" ({listing(dict.fromkeys(wrong), 3)}); if they mean missing, leave them empty in the file"
        for name, wrong in nearly
    ]
    return CellForms(forms, tuple(notes))


def in_numbers(frame: pl.DataFrame, forms: Mapping[str, str]) -> pl.DataFrame:
    """Turn the columns that have a form into numbers; such as are numbers with a form of numbers stay as they are.

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
    changed = [_in_numbers(frame[name], form) for name, form in forms.items() if name in frame.columns]
    return frame.with_columns(changed)


def _in_numbers(column: pl.Series, form: str) -> pl.Series:
    import polars as pl

    if column.null_count() == len(column):
        return column.cast(pl.Float64, strict=False)
    if form in NUMBERS:
        if column.dtype != pl.String:
            return column
        found = number_forms.numbers(column, form)
        if found.null_count() > column.null_count():
            plain = as_numbers(column)  # another file may write them with points
            found = plain if plain.null_count() == column.null_count() else found
        what = f"numbers written as {form!r}"
    else:
        if column.dtype.is_temporal():
            return time_forms.seconds_of_typed(column)
        if column.dtype != pl.String:
            raise ValueError(
                f"column {column.name!r} was learned as dates or times and holds {column.dtype} here; write it as there"
            )
        found = time_forms.seconds(column, form)
        if found.null_count() > column.null_count():
            own, sure = time_forms.form_of_times(column)  # another file may write them otherwise
            found = time_forms.seconds(column, own) if own is not None and sure else found
        what = f"dates or times written as {form}"
    wrong = column.filter(found.is_null() & column.is_not_null())
    if len(wrong):
        raise ValueError(
            f"column {column.name!r} holds {what}, but {len(wrong):,} cell(s) are none"
            f" ({listing(wrong.unique(maintain_order=True).to_list(), 3)}); correct them, leave them empty if they mean"
            " missing, or take the column as text with --categorical when fitting"
        )
    return found
