"""Cells of some columns of a file as they stand there, whatever else is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from committee.data.names import known_names
from committee.data.reading.column_names import distinct_names, without_nameless
from committee.data.reading.file_format import FileFormat
from committee.data.reading.separated_text import SeparatedText, header_of, read_cells
from committee.data.reading.spreadsheets import read_sheet, with_whole_numbers
from committee.data.reading.table_file import TableFile, table_file
from committee.data.reading.typed_files import read_typed

if TYPE_CHECKING:
    import polars as pl


def cells_as_they_stand(path: Path, names: Sequence[str], form: FileFormat, option: str) -> pl.DataFrame:
    """Read some columns: the text of text files, and of other files the values in their own types.

    Parameters
    ----------
    path : Path
        A file, which can be read as a table.
    names : sequence of str
        The columns, which the user has named by `option`.
    form : FileFormat
        How the file is written.
    option : str
        What errors call the names.

    Raises
    ------
    ValueError
        If a column is not there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("no,share,city\\n007,10.7%,NA\\n")
    >>> cells_as_they_stand(path, ["no", "share", "city"], FileFormat(), "--id").rows()
    [('007', '10.7%', 'NA')]
    """
    file = table_file(path)
    if file.kind == "text":
        return _of_text(file, names, form, option)
    if file.kind == "sheets":
        frame, _ = without_nameless(file, read_sheet(file, form.sheet, but=names)[0])
        return with_whole_numbers(frame.select(known_names(names, frame.columns, option)))
    frame = read_typed(file)
    return frame.select(known_names(names, frame.columns, option))


def _of_text(file: TableFile, names: Sequence[str], form: FileFormat, option: str) -> pl.DataFrame:
    text = SeparatedText.of(file, form)
    header = distinct_names(file, header_of(text))
    # of columns without a name only the one that holds cells can be meant
    nameless = [name for name in header if name.startswith("\0nameless ")] if "" in names else []
    cells = read_cells(text, [*known_names(names, header, option), *nameless])
    return without_nameless(file, cells)[0].select(names) if nameless else cells.select(names)
