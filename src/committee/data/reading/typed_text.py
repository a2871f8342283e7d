"""Columns of text in files that bring types along: numbers that have been written as text, as text files have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from committee.data.names import listing
from committee.data.reading.cell_forms import CellForms, words_of_points
from committee.data.reading.cells import MISSING, plain_numbers
from committee.data.reading.digit_codes import CodesSoFar, are_codes, words_of_codes
from committee.data.reading.file_format import FileFormat
from committee.data.reading.in_numbers import PLAIN, WHOLE, in_numbers
from committee.data.reading.known_columns import KnownColumns
from committee.data.reading.missing_cells import are_common_marks, without_marks
from committee.data.reading.number_forms import COMMA, base_of, have_points_between_thousands
from committee.data.reading.text_forms import read_forms, without_common_marks

if TYPE_CHECKING:
    import polars as pl

SEPARATOR = ","
"""Separator of text files whose rules are those of files without one: a comma before three digits is no decimal one."""


def read_typed_text(
    frame: pl.DataFrame, texts: frozenset[str], form: FileFormat, known: KnownColumns
) -> tuple[pl.DataFrame, CellForms]:
    """Read columns of text, but for those of `texts`, as numbers where they are, as they would be read in a text file.

    Raises
    ------
    ValueError
        If a cell is not of a known form, or percentages stand where plain numbers were learned.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"rooms": ["2", "?"], "zip": ["01067", "80331"], "cost": ["$1,250", "$3"]})
    >>> read_typed_text(frame, frozenset(), FileFormat(), KnownColumns())[0].rows()
    [(2.0, '01067', 1250.0), (None, '80331', 3.0)]
    """
    import polars as pl

    written = without_marks(frame, form.missing, list(known.verbatim))
    candidates = [column for column in written.get_columns() if column.dtype == pl.String and column.name not in texts]
    if not candidates:
        return frame, CellForms()
    candidates = [column for column in candidates if column.name not in known.forms]
    codes = [column for column in candidates if column.name not in known.plain and are_codes(column)]
    texts |= {column.name for column in codes}
    plain = (plain_numbers(column) for column in candidates if column.name not in texts)
    numbers = [column for column in plain if column is not None]
    read, of_marks = without_common_marks(written.with_columns(numbers), known, texts)
    read, found = read_forms(read, known, texts, form.decimal, SEPARATOR)
    forms = dict(found.forms)
    notes: tuple[str, ...] = (words_of_codes(codes),) if codes else ()
    grouped = pointed_columns(written.select(each.name for each in numbers), form.decimal, forms)
    read = in_numbers(read.with_columns(written.select(grouped)), dict.fromkeys(grouped, COMMA))
    new = [each.name for each in numbers if each.name not in (*grouped, *known.plain)]
    notes += (words_of_numbers(new),) if new else ()
    notes += (words_of_points(grouped),) if grouped else ()
    return read, replace(found, forms=forms | dict.fromkeys(grouped, COMMA), notes=(*notes, *of_marks, *found.notes))


def pointed_columns(written: pl.DataFrame, decimal: str | None, forms: dict[str, str]) -> list[str]:
    """Columns of plain numbers whose points stand between thousands, as the others of the file have decimal commas."""
    if decimal != "," and COMMA not in map(base_of, forms.values()):
        return []
    return [column.name for column in written.get_columns() if have_points_between_thousands(column)]


def words_of_numbers(names: Sequence[str]) -> str:
    """Note on columns of text that are plain numbers.

    Examples
    --------
    >>> words_of_numbers(["rooms"])
    "text that holds numbers alone is read as numbers: 'rooms'; --categorical takes columns for categories"
    """
    shown = listing(names)
    return f"text that holds numbers alone is read as numbers: {shown}; --categorical takes columns for categories"


@dataclass
class NumbersSoFar:
    """What the pieces of a column of text say of its being plain numbers, or codes.

    Examples
    --------
    >>> import polars as pl
    >>> found = NumbersSoFar()
    >>> found.take(pl.Series(["1", "2"]))
    >>> found.form
    '1'
    >>> found.take(pl.Series(["1.5", "?"]))
    >>> found.form
    '0.5'
    """

    codes: CodesSoFar = field(default_factory=CodesSoFar)
    whole: bool = True
    numbers: bool = True

    def take(self, column: pl.Series) -> None:
        """Look at some rows."""
        import polars as pl

        if column.dtype != pl.String:  # as some of the files may have it
            self.whole = self.whole and column.dtype.is_integer()
            return
        self.codes.take(column)
        marked = are_common_marks(column) & ~column.is_in(MISSING).fill_null(False)
        found = plain_numbers(column.set(marked, None))
        if found is not None:
            self.whole = self.whole and found.dtype.is_integer() and not marked.any()
        elif column.set(are_common_marks(column), None).count():
            self.numbers = False

    @property
    def form(self) -> str | None:
        """How its numbers are written; None: not all are numbers, or they are codes."""
        if self.codes.are_codes or not self.numbers:
            return None
        return WHOLE if self.whole else PLAIN
