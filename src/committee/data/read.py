"""Files in: tables of many formats as polars frames, with nothing repaired in silence."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.extras import needed
from committee.data.names import hint_of_names, known_names
from committee.data.reading.file_format import UNSAID, FileFormat

if TYPE_CHECKING:
    import polars as pl

    from committee.data.reading.table_file import TableFile

FilePath: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class TableRead:
    """A table as it was read.

    Parameters
    ----------
    frame : polars.DataFrame
        Its cells.
    notes : tuple of str
        What a user should know of how they were read.
    """

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()


def read_table(
    path: FilePath,
    *,
    categorical: Iterable[str] = (),
    drop: Iterable[str] = (),
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> pl.DataFrame:
    """Read a table from a file.

    Text files have the column names in the first line. Missing is a cell
    that is empty or ``NA``, ``NaN``, ``nan`` or ``null``, and nothing else: ``?`` or ``-`` is a value (see
    :func:`nearly_numeric_columns`). A column's type is that of its whole length: numbers if every present
    cell is one (and if no cell is present), booleans if every one is true or false, else text; dates stay
    text. Blank lines are passed over. The other formats bring their types along.

    Parameters
    ----------
    path : path
        Separated text (.csv, .tsv, .tab, .psv, .txt), JSON lines (.jsonl, .ndjson), either also followed by .gz;
        a spreadsheet (.xlsx, .xlsm, .xlsb, .xls, .ods, with the package fastexcel); .parquet; .feather, .arrow or
        .ipc; or a .zip with one of these in it.
    categorical : iterable of str, default=()
        Columns to read as text though they look numeric, so that each value is a category of its own.
    drop : iterable of str, default=()
        Columns to leave out.
    separator : str, default=None
        Character between the cells of a text file; None: out of comma, semicolon, tab and pipe the one that
        parts all of the first lines into the same number of cells, the most if several do.
    encoding : str, default=None
        Encoding of a text file, as Python names it; None: UTF-8, or UTF-16 if the file begins with its mark.
    sheet : str, default=None
        Sheet of a spreadsheet, by name, or by number from 1; None: the first.

    Returns
    -------
    polars.DataFrame of shape (n, p)

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the ending is unknown, the file is empty, broken, not of the encoding or without rows, column names repeat,
        a row has more or fewer cells than there are columns (with its line), or ``categorical`` or ``drop``
        names a column that is not there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,zip,city\\n31,0150,Oslo\\nNA,3011,Bern\\n")
    >>> read_table(path, categorical=["zip"]).rows()
    [(31, '0150', 'Oslo'), (None, '3011', 'Bern')]
    """
    form = FileFormat(separator, None, encoding, sheet)
    return read_noted(path, categorical=categorical, drop=drop, form=form).frame


def read_noted(
    path: FilePath,
    *,
    categorical: Iterable[str] = (),
    drop: Iterable[str] = (),
    form: FileFormat = UNSAID,
    rows_needed: bool = True,
) -> TableRead:
    """Read a table as :func:`read_table` does, with notes on what was found out about its file.

    Raises
    ------
    FileNotFoundError, ValueError
        As of :func:`read_table`; a table of 0 rows is refused only if `rows_needed`.
    """
    needed("polars", "reading a table")
    import polars as pl

    from committee.data.reading.table_file import table_file

    wanted = categorical if isinstance(categorical, str) else tuple(categorical)
    file = table_file(path)
    frame, notes = _read(file, wanted, form)
    if not frame.width or not (frame.height or not rows_needed):
        raise ValueError(f"{file} has {frame.width} columns and {frame.height} rows; both must be at least 1")
    texts = known_names(wanted, frame.columns, "categorical")
    dropped = known_names(drop, frame.columns, "drop")
    types = frame.schema
    nested = [name for name in texts if types[name].is_nested()]
    if nested:
        raise ValueError(f"categorical names {nested[0]!r}, which holds {types[nested[0]]}; drop it")
    casts = [name for name in texts if types[name] not in (pl.String, pl.Categorical, pl.Enum)]
    return TableRead(frame.with_columns(pl.col(casts).cast(pl.String)).drop(dropped), notes)


def _read(file: TableFile, texts: Iterable[str], form: FileFormat) -> tuple[pl.DataFrame, tuple[str, ...]]:
    from committee.data.reading.column_names import without_nameless
    from committee.data.reading.separated_text import SeparatedText, read_separated
    from committee.data.reading.typed_files import read_typed

    if form.sheet is not None and file.kind != "sheets":
        raise ValueError(f"a sheet is given for {file}, which is no spreadsheet; leave it out")
    notes: tuple[str, ...] = ()
    if file.kind == "sheets":
        from committee.data.reading.spreadsheets import read_sheet

        frame, notes = read_sheet(file, form.sheet)
    elif file.kind == "text":
        text = SeparatedText.of(file, form)
        if text.recognised:
            notes = (f"the cells of {file} are taken to be separated by {text.separator!r}",)
        frame = read_separated(text, texts)
    else:
        return read_typed(file), ()
    frame, more = without_nameless(file, frame)
    return frame, (*notes, *more)


def split_target(frame: pl.DataFrame, target: str) -> tuple[pl.DataFrame, NDArray[Any]]:
    """Take the label column off a table.

    Parameters
    ----------
    frame : polars.DataFrame of shape (n, p + 1)
        The table.
    target : str
        The label column.

    Returns
    -------
    X : polars.DataFrame of shape (n, p)
        The other columns.
    y : ndarray of shape (n,)
        The labels: str, bool, int or float as the column is.

    Raises
    ------
    ValueError
        If there is no such column, no other column, a label is missing, or the labels are neither text,
        numbers nor booleans.

    Examples
    --------
    >>> import polars as pl
    >>> X, y = split_target(pl.DataFrame({"x": [1, 2], "label": ["no", "yes"]}), "label")
    >>> y
    array(['no', 'yes'], dtype='<U3')
    """
    import polars as pl

    if target not in frame.columns:
        raise ValueError(f"target {target!r} is no column; {hint_of_names(target, frame.columns)}")
    if frame.width == 1:
        raise ValueError(f"target {target!r} is the only column; a table needs at least one more")
    labels = frame[target]
    if labels.dtype.is_float():
        labels = labels.fill_nan(None)
    if labels.null_count():
        first = labels.is_null().arg_max()
        raise ValueError(
            f"target {target!r} is missing in {labels.null_count()} of {frame.height} rows "
            f"(first in row {first}); drop these rows, or fill in their labels"
        )
    if labels.dtype in (pl.String, pl.Categorical, pl.Enum):
        y: NDArray[Any] = np.array(labels.cast(pl.String).to_list(), dtype=np.str_)
    elif labels.dtype.is_numeric() or labels.dtype == pl.Boolean:
        y = labels.to_numpy()
    else:
        raise ValueError(f"target {target!r} holds {labels.dtype}; make its labels text, numbers or booleans")
    return frame.drop(target), y
