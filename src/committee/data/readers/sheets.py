"""Sheets of spreadsheets as polars frames."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from committee.data.packages import require_package
from committee.data.readers.cells import MISSING, are_digit_codes, is_text, parse_plain_numbers
from committee.data.readers.file_format import BROKEN, TableFile, read_unpacked
from committee.data.readers.formats import distinct_header, first_error_line, stripped_names, stripped_names_note
from committee.data.text import quoted, suggest_names

if TYPE_CHECKING:
    import polars as pl


def read_sheet(file: TableFile, sheet: str | None, but: Container[str]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Read one sheet of a spreadsheet, with notes.

    Columns of text whose cells are all numbers become numbers, unless they are in `but` or hold codes: the library that
    reads sheets makes a whole column text if one cell is.
    """
    import polars as pl

    require_package("fastexcel", f"the spreadsheet {file}")
    import fastexcel

    try:
        with file.opened() as opened:
            book = fastexcel.read_excel(read_unpacked(file, opened).getvalue())
        name, notes = _chosen_sheet(file, book.sheet_names, sheet)
        first = book.load_sheet(name, header_row=None, n_rows=1, dtypes="string").to_polars()
        if not first.height or not first.width:
            raise ValueError(f"sheet {name!r} of {file} is empty")
        written = ["" if cell is None else str(cell) for cell in first.row(0)]
        header = distinct_header(file, stripped_names(written))
        frame = book.load_sheet(name, header_row=0, schema_sample_rows=None).to_polars()
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, *BROKEN) as error:
        raise ValueError(f"{file} cannot be read as a spreadsheet: {first_error_line(error)}") from error
    frame.columns = header
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    return frame.with_columns(_typed(column) for column in frame.get_columns() if column.name not in but), (
        *notes,
        *stripped_names_note(written, header),
    )


def _chosen_sheet(file: TableFile, names: list[str], sheet: str | None) -> tuple[str, tuple[str, ...]]:
    if sheet is None:
        several = f"{file} has {len(names)} sheets ({quoted(names, 5)}); the first is read, --sheet names another"
        return names[0], (several,) if len(names) > 1 else ()
    if sheet in names:
        return sheet, ()
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1], ()
    raise ValueError(f"{file} has no sheet {sheet!r}; {suggest_names(sheet, names)}")


def _typed(column: pl.Series) -> pl.Series:
    if is_text(column):
        present = column.set(column.is_in(MISSING).fill_null(False), None)
        numbers = parse_plain_numbers(present)
        are_numbers = numbers.null_count() == present.null_count() and not are_digit_codes(present)
        column = numbers if are_numbers else present
    return _whole(column)


def with_whole_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Spreadsheets have floats alone."""
    return frame.with_columns(_whole(column) for column in frame.get_columns())


def _whole(column: pl.Series) -> pl.Series:
    import polars as pl

    if column.dtype != pl.Float64 or column.null_count() == len(column):
        return column
    whole = column.cast(pl.Int64, strict=False)
    return whole if (whole.cast(pl.Float64) == column).fill_null(True).all() and not whole.null_count() else column
