"""Files in: tables of many formats as polars frames, with nothing repaired in silence."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.counts import counted
from committee.data.extras import needed
from committee.data.names import hint_of_names, known_names
from committee.data.reading.file_format import UNSAID, FileFormat
from committee.data.reading.known_columns import NOTHING, KnownColumns

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
    forms : dict
        How cells were written of columns that have become numbers, by name: out of `committee.data.reading.cell_forms`.
    notes : tuple of str
        What a user should know of how they were read.
    """

    frame: pl.DataFrame
    forms: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_table(
    path: FilePath,
    *,
    categorical: Iterable[str] = (),
    drop: Iterable[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    missing: Iterable[str] = (),
) -> pl.DataFrame:
    """Read a table from a file.

    Text files have the column names in the first line. Missing is a cell
    that is empty or ``NA``, ``NaN``, ``nan`` or ``null``, and nothing else, unless `missing` says so: ``?`` or ``-`` is
    a value. A column's type is that of its whole length: numbers if every present
    cell is one (and if no cell is present), also with one currency's sign or a percent sign in all of them (12 % is
    0.12), booleans if every one is true or false, else text; dates stay text, and whole numbers one of which begins
    with a zero, such as postcodes. Blank lines are passed over. The other formats bring their types along.

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
    decimal : {".", ","}, default=None
        Decimal mark of a text file; None: a column all of whose cells are numbers if commas are decimal commas is
        read as such, and one that has commas between thousands as such.
    encoding : str, default=None
        Encoding of a text file, as Python names it; None: UTF-8, or UTF-16 if the file begins with its mark.
    sheet : str, default=None
        Sheet of a spreadsheet, by name, or by number from 1; None: the first.
    missing : iterable of str, default=()
        Further texts of cells that are missing; one that is a number, such as ``"-999"``, is so in columns of numbers.

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
    >>> read_table(path, missing=["Bern"]).rows()
    [(31, '0150', 'Oslo'), (None, '3011', None)]
    """
    form = FileFormat(separator, decimal, encoding, sheet, tuple(missing))
    return read_noted(path, categorical=categorical, drop=drop, form=form, marks=False).frame


def read_noted(
    path: FilePath,
    *,
    categorical: Iterable[str] = (),
    drop: Iterable[str] = (),
    form: FileFormat = UNSAID,
    known: KnownColumns = NOTHING,
    marks: bool = True,
    rows_needed: bool = True,
) -> TableRead:
    """Read a table as :func:`read_table` does, with notes on what was found out about its file.

    Parameters
    ----------
    path, categorical, drop
        As of :func:`read_table`.
    form : FileFormat
        How the file is written.
    known : KnownColumns
        What its columns are, which need not be there.
    marks : bool, default=True
        Whether common marks for missing cells, such as ``?``, are read as such in columns of numbers, dates or times.
    rows_needed : bool, default=True
        Whether a table of 0 rows is refused.

    Raises
    ------
    FileNotFoundError, ValueError
        As of :func:`read_table`.
    """
    needed("polars", "reading a table")
    import polars as pl

    from committee.data.reading.missing_cells import without_marks
    from committee.data.reading.table_file import table_file

    wanted = categorical if isinstance(categorical, str) else tuple(categorical)
    drop = drop if isinstance(drop, str) else tuple(drop)
    file = table_file(path)
    read = _read(file, frozenset([*wanted, *drop]), form, known, marks)
    frame = read.frame
    if not frame.width or not (frame.height or not rows_needed):
        remarks = "".join(f"; {note}" for note in read.notes)
        raise ValueError(
            f"{file} has {counted(frame.width, 'column')} and {counted(frame.height, 'row')}; both must be at least"
            f" 1{remarks}"
        )
    texts = {*known_names(wanted, frame.columns, "categorical"), *known.text}
    dropped = known_names(drop, frame.columns, "drop")
    frame = without_marks(frame, form.missing, list(known.verbatim))
    types = frame.schema
    nested = [name for name in wanted if types[name].is_nested()]
    if nested:
        raise ValueError(f"categorical names {nested[0]!r}, which holds {types[nested[0]]}; drop it")
    casts = [name for name in types if name in texts and types[name] not in (pl.String, pl.Categorical, pl.Enum)]
    frame = frame.with_columns(pl.col(casts).cast(pl.String)).drop(dropped)
    return replace(read, frame=frame)


def _read(file: TableFile, as_text: frozenset[str], form: FileFormat, known: KnownColumns, marks: bool) -> TableRead:
    from committee.data.reading.column_names import without_nameless
    from committee.data.reading.typed_files import read_typed

    if form.sheet is not None and file.kind != "sheets":
        raise ValueError(f"a sheet is given for {file}, which is no spreadsheet; leave it out")
    texts = as_text | known.text | known.verbatim
    if file.kind == "sheets":
        read = _read_sheet(file, texts, form, known, marks)
    elif file.kind == "text":
        read = _read_text(file, texts, form, known, marks)
    else:
        read = TableRead(read_typed(file))
        return _with_typed_text(read.frame, texts, form, known) if marks else read
    frame, more = without_nameless(file, read.frame)
    return replace(read, frame=frame, notes=(*read.notes, *more))


def _with_typed_text(frame: pl.DataFrame, texts: frozenset[str], form: FileFormat, known: KnownColumns) -> TableRead:
    from committee.data.reading.typed_text import read_typed_text

    frame, found = read_typed_text(frame, texts, form, known)
    return TableRead(frame, found.forms, found.notes)


def _read_sheet(
    file: TableFile, texts: frozenset[str], form: FileFormat, known: KnownColumns, marks: bool
) -> TableRead:
    """Read a sheet, and its text that is numbers."""
    import polars as pl

    from committee.data.reading.digit_codes import are_codes, words_of_codes
    from committee.data.reading.missing_cells import without_marks
    from committee.data.reading.spreadsheets import read_sheet
    from committee.data.reading.text_forms import read_forms, without_common_marks

    frame, notes = read_sheet(file, form.sheet, but=texts)
    frame = without_marks(frame, form.missing, list(known.verbatim))
    if marks:
        frame, more = without_common_marks(frame, known, texts)
        notes += more
    codes = [column for column in frame.get_columns() if column.dtype == pl.String and are_codes(column)]
    if codes := [column for column in codes if column.name not in texts]:
        notes += (words_of_codes(codes),)
    frame, found = read_forms(frame, known, texts, form.decimal, "\t")
    return TableRead(frame, found.forms, (*notes, *found.notes))


def _read_text(file: TableFile, texts: frozenset[str], form: FileFormat, known: KnownColumns, marks: bool) -> TableRead:
    """Read separated text, and its numbers however they are written."""
    import polars as pl

    from committee.data.reading.cell_forms import NUMBERS, words_of_points
    from committee.data.reading.digit_codes import with_codes, words_of_codes
    from committee.data.reading.in_numbers import in_numbers
    from committee.data.reading.missing_cells import without_marks
    from committee.data.reading.number_forms import COMMA, base_of, have_points_between_thousands
    from committee.data.reading.separated_text import SeparatedText, read_separated
    from committee.data.reading.text_forms import read_forms, without_common_marks

    text = SeparatedText.of(file, form)
    notes: tuple[str, ...] = ()
    if text.recognised:
        notes = (f"the cells of {file} are taken to be separated by {text.separator!r}",)
    written = {name for name, own in known.forms.items() if own in NUMBERS}
    frame = read_separated(text, texts | written)
    frame, codes = with_codes(text, frame, texts | written | known.plain)
    if codes:
        texts |= set(codes)
        notes += (words_of_codes([frame[name] for name in codes]),)
    frame = without_marks(frame, form.missing, list(known.verbatim))
    if marks:
        frame, more = without_common_marks(frame, known, texts)
        notes += more
    frame, found = read_forms(frame, known, texts, form.decimal, text.separator)
    forms = found.forms
    if form.decimal == "," or COMMA in map(base_of, forms.values()):
        # a point before three digits is no decimal point here, though the reader takes it for one
        pointed = [
            column.name for column in frame.get_columns() if column.dtype == pl.Float64 and column.name not in forms
        ]
        again = read_separated(text, pointed) if pointed else frame
        grouped = [again[name] for name in pointed if have_points_between_thousands(again[name])]
        if grouped:
            frame = in_numbers(frame.with_columns(grouped), dict.fromkeys([column.name for column in grouped], COMMA))
            forms |= dict.fromkeys([column.name for column in grouped], COMMA)
            notes += (words_of_points([column.name for column in grouped]),)
    return TableRead(frame, forms, (*notes, *found.notes))


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
