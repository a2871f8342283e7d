"""Columns of text, as a file of text or a spreadsheet has them, that are numbers: marked, with commas or with signs."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from committee.data.reading import number_forms, time_forms
from committee.data.reading.cell_forms import CellForms, forms_of_numbers
from committee.data.reading.cell_words import cells_in_rows
from committee.data.reading.cells import as_numbers
from committee.data.reading.digit_codes import are_codes
from committee.data.reading.in_numbers import PLAIN, in_numbers
from committee.data.reading.known_columns import KnownColumns
from committee.data.reading.missing_cells import are_common_marks, mark_counts, words_of_marks

if TYPE_CHECKING:
    import polars as pl


def without_common_marks(
    frame: pl.DataFrame, known: KnownColumns, texts: Container[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Make cells missing that hold a common mark for it, where all others of the column are numbers, dates or times.

    Columns of `texts` stay as they are.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": ["31", "?"], "city": ["Oslo", "?"]})
    >>> without_common_marks(frame, KnownColumns(), ())[0].rows()
    [(31.0, 'Oslo'), (None, '?')]
    """
    import polars as pl

    changed, notes = [], []
    for column in frame.get_columns():
        if column.dtype != pl.String or column.name in texts:
            continue
        marked = are_common_marks(column)
        if not marked.any():
            continue
        rest = column.set(marked, None)
        learned = column.name in known.plain or column.name in known.forms
        if not learned and not _are_values(rest.drop_nulls()):
            continue
        notes.append(words_of_marks(column.name, mark_counts(column, marked), learned=learned))
        numbers = as_numbers(rest)
        plain = numbers.null_count() == rest.null_count() and not are_codes(rest)
        changed.append(numbers if plain else rest)
    return frame.with_columns(changed), tuple(notes)


def _are_values(present: pl.Series) -> bool:
    """Whether all cells are numbers, dates or times of one form."""
    if present.is_empty():
        return False
    if not as_numbers(present).null_count() or number_forms.forms_that_read(present):
        return True
    return time_forms.form_of_times(present)[0] is not None


def read_forms(
    frame: pl.DataFrame, known: KnownColumns, texts: Container[str], decimal: str | None, separator: str
) -> tuple[pl.DataFrame, CellForms]:
    """Read columns of text as numbers, by the forms that are known or found.

    Raises
    ------
    ValueError
        If a cell is not of a known form, or percentages stand where plain numbers were learned.
    """
    import polars as pl

    forms = {name: form for name, form in known.forms.items() if name in frame.columns and form in number_forms.FORMS}
    unknown = [
        column
        for column in frame.get_columns()
        if column.dtype == pl.String and column.name not in texts and column.name not in forms
    ]
    found = forms_of_numbers([column for column in unknown if not are_codes(column)], decimal, separator)
    refuse_percentages(frame, found.forms, known)
    forms |= found.forms
    frame = in_numbers(frame, forms)
    plain = [name for name in known.plain if name in frame.columns and frame[name].dtype == pl.String]
    plain = [name for name in plain if name not in known.answers or as_numbers(frame[name]).count()]  # else no answers
    return in_numbers(frame, dict.fromkeys(plain, PLAIN)), replace(found, forms=forms)


def refuse_percentages(frame: pl.DataFrame, forms: Mapping[str, str], known: KnownColumns) -> None:
    """Raise ``ValueError`` for percentages where plain numbers were learned: 12 % may have been 12 there, or 0.12."""
    for name in known.numbers.intersection(forms):
        if number_forms.sign_of(forms[name]) == number_forms.PERCENT:
            raise ValueError(
                f"column {name!r} holds percentages here ({cells_in_rows(frame[name], frame[name].is_not_null(), 1)}),"
                " and plain numbers in the table that was learned from; write them as there"
            )
