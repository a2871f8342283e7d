"""Sheets of Excel and OpenDocument files, read by fastexcel, which is polars' own engine for them."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

from committee.data.extras import needed
from committee.data.names import hint_of_names, listing
from committee.data.reading.cells import MISSING, as_numbers
from committee.data.reading.column_names import distinct_names
from committee.data.reading.digit_codes import are_codes
from committee.data.reading.memory_room import unpacked
from committee.data.reading.separated_text import first_line
from committee.data.reading.table_file import BROKEN, TableFile

if TYPE_CHECKING:
    import polars as pl


def read_sheet(file: TableFile, sheet: str | None, but: Container[str] = ()) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Read one sheet: a frame, and notes where there are several.

    A cell is missing if it is empty or holds one of the texts that mean so in text files; a column of text all of
    whose present cells are numbers is numbers, as one cell of text makes text of its whole column; but for codes with
    zeros in front, and for columns of `but`.

    Raises
    ------
    ValueError
        If the file is broken, or there is no such sheet.
    MissingExtraError
        Without fastexcel.
    """
    import polars as pl

    needed("fastexcel", f"the spreadsheet {file}")
    import fastexcel

    try:
        with file.opened() as opened:
            book = fastexcel.read_excel(unpacked(file, opened).getvalue())
        name, notes = _chosen(file, book.sheet_names, sheet)
        header = _header(file, name, book)
        frame = book.load_sheet(name, header_row=0, schema_sample_rows=None).to_polars()
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, *BROKEN) as error:
        raise ValueError(f"{file} cannot be read as a spreadsheet: {first_line(error)}") from error
    frame.columns = header
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # rows that are empty
    return frame.with_columns(_typed(column) for column in frame.get_columns() if column.name not in but), notes


def _chosen(file: TableFile, names: list[str], sheet: str | None) -> tuple[str, tuple[str, ...]]:
    """Name of the sheet to read, and what is to be said of the others."""
    if sheet is None:
        several = f"{file} has {len(names)} sheets ({listing(names, 5)}); the first is read, --sheet names another"
        return names[0], (several,) if len(names) > 1 else ()
    if sheet in names:
        return sheet, ()
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1], ()
    raise ValueError(f"{file} has no sheet {sheet!r}; {hint_of_names(sheet, names)}")


def _header(file: TableFile, sheet: str, book: Any) -> list[str]:
    """Names in the first row, which are different; the reader would rename those that are not."""
    first = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
    if not first.height or not first.width:
        raise ValueError(f"sheet {sheet!r} of {file} is empty")
    return distinct_names(file, ["" if cell is None else str(cell) for cell in first.row(0)])


def _typed(column: pl.Series) -> pl.Series:
    """Text as numbers where it is that alone, and numbers as whole ones: a spreadsheet has no others."""
    import polars as pl

    if column.dtype == pl.String:
        present = column.set(column.is_in(MISSING).fill_null(False), None)
        numbers = as_numbers(present)
        are_numbers = numbers.null_count() == present.null_count() and not are_codes(present)
        column = numbers if are_numbers else present
    return _whole(column)


def with_whole_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a sheet's columns of whole numbers as such: the reader gives some as decimals.

    Examples
    --------
    >>> import polars as pl
    >>> with_whole_numbers(pl.DataFrame({"no": [1.0, 2.0], "size": [1.0, 2.5]})).rows()
    [(1, 1.0), (2, 2.5)]
    """
    return frame.with_columns(_whole(column) for column in frame.get_columns())


def _whole(column: pl.Series) -> pl.Series:
    import polars as pl

    if column.dtype != pl.Float64 or column.null_count() == len(column):
        return column
    whole = column.cast(pl.Int64, strict=False)
    return whole if (whole.cast(pl.Float64) == column).fill_null(True).all() and not whole.null_count() else column
