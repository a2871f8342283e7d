"""Files in: CSV, TSV, Parquet and Feather tables as polars frames, with nothing repaired in silence."""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.extras import needed
from committee.data.names import hint_of_names, known_names

if TYPE_CHECKING:
    import polars as pl

FilePath: TypeAlias = str | os.PathLike[str]

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".feather", ".arrow", ".ipc")
"""The endings :func:`read_table` knows."""

MISSING = ("", "NA", "NaN", "nan", "null")
"""Texts that stand for a missing value in a file; every other cell is a value."""

MAX_LINE = 2**26
"""Longest line of a text file, in characters: twenty for each of three million columns."""

_GZIP = b"\x1f\x8b"
_BROKEN = (OSError, EOFError, zlib.error)
"""What reading a gzip file that is damaged or cut off raises."""


@dataclass(frozen=True)
class IdLike:
    """A column that seems to number or name the rows, from which nothing can be learned about new ones, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class NearlyNumeric:
    """A text column nearly all cells of which are numbers: often ones with a mark for missing, say ``?``.

    `values` are the first few distinct cells that are not numbers, `count` is how many cells are not.
    """

    name: str
    values: tuple[str, ...]
    count: int


def read_table(path: FilePath, *, categorical: Iterable[str] = (), drop: Iterable[str] = ()) -> pl.DataFrame:
    """Read a table from a file.

    Text files (CSV, TSV, plain or gzip) are UTF-8 with the column names in the first line. Missing is a cell
    that is empty or ``NA``, ``NaN``, ``nan`` or ``null``, and nothing else: ``?`` or ``-`` is a value (see
    :func:`nearly_numeric_columns`). A column's type is that of its whole length: numbers if every present
    cell is one (and if no cell is present), booleans if every one is true or false, else text; dates stay
    text. Blank lines are passed over. The other formats bring their types along.

    Parameters
    ----------
    path : path
        A file ending in .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .feather, .arrow or .ipc.
    categorical : iterable of str, default=()
        Columns to read as text though they look numeric, so that each value is a category of its own.
    drop : iterable of str, default=()
        Columns to leave out.

    Returns
    -------
    polars.DataFrame of shape (n, p)

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the ending is unknown, the file is empty, broken, not UTF-8 or without rows, column names repeat, a
        row has more or fewer cells than there are columns (with its line), or ``categorical`` or ``drop``
        names a column that is not there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,zip,city\\n31,0150,Oslo\\nNA,3011,Bern\\n")
    >>> read_table(path, categorical=["zip"]).rows()
    [(31, '0150', 'Oslo'), (None, '3011', 'Bern')]
    """
    needed("polars", "reading a table")
    import polars as pl

    file = Path(path)
    wanted = categorical if isinstance(categorical, str) else tuple(categorical)
    ending = _ending_of(file)
    if not file.exists():
        raise FileNotFoundError(f"there is no file {str(file)!r}")
    if file.is_dir():
        raise ValueError(f"{str(file)!r} is a folder; give a file in it")
    if file.stat().st_size == 0:
        raise ValueError(f"{str(file)!r} is empty (0 bytes)")
    if ending.startswith((".csv", ".tsv")):
        frame = _read_text(file, "\t" if ending.startswith(".tsv") else ",", wanted)
    else:
        frame = _read_typed(file, ending)
    if not frame.width or not frame.height:
        raise ValueError(f"{str(file)!r} has {frame.width} columns and {frame.height} rows; both must be at least 1")
    texts = known_names(wanted, frame.columns, "categorical")
    dropped = known_names(drop, frame.columns, "drop")
    types = frame.schema
    nested = [name for name in texts if types[name].is_nested()]
    if nested:
        raise ValueError(f"categorical names {nested[0]!r}, which holds {types[nested[0]]}; drop it")
    casts = [name for name in texts if types[name] not in (pl.String, pl.Categorical, pl.Enum)]
    return frame.with_columns(pl.col(casts).cast(pl.String)).drop(dropped)


def id_like_columns(frame: pl.DataFrame) -> list[IdLike]:
    """Find columns that number or name the rows.

    Integers that are all different and either in order or a permutation of consecutive numbers; text that is
    different in more than 95 % of the rows. Tables under 20 rows say nothing. Other numbers are never
    id-like: measurements may all differ.

    Parameters
    ----------
    frame : polars.DataFrame
        The table, without its labels.

    Returns
    -------
    list of IdLike

    Examples
    --------
    >>> import polars as pl
    >>> id_like_columns(pl.DataFrame({"row": range(30), "x": [0.5] * 30}))
    [IdLike(name='row', reason='numbers all 30 rows in order')]
    """
    import polars as pl

    found: list[IdLike] = []
    n = frame.height
    for column in frame.get_columns() if n >= 20 else []:
        name, dtype = column.name, column.dtype
        if dtype.is_integer() and not column.null_count() and column.n_unique() == n:
            if column.is_sorted() or column.is_sorted(descending=True):
                found.append(IdLike(name, f"numbers all {n} rows in order"))
            elif int(column.max()) - int(column.min()) == n - 1:  # type: ignore[arg-type]
                found.append(IdLike(name, f"holds each of {n} consecutive numbers once"))
        elif dtype == pl.String:
            distinct = column.drop_nulls().n_unique()
            if distinct > 0.95 * n:
                found.append(IdLike(name, f"is text with {distinct} different values in {n} rows"))
    return found


def nearly_numeric_columns(frame: pl.DataFrame) -> list[NearlyNumeric]:
    """Find text columns at least nine tenths of whose present cells are numbers, though not all.

    Each would be learned as a category per number. Most often one spelling of "missing" is to blame.

    Examples
    --------
    >>> import polars as pl
    >>> nearly_numeric_columns(pl.DataFrame({"age": ["31", "?", *map(str, range(20))]}))
    [NearlyNumeric(name='age', values=('?',), count=1)]
    """
    import polars as pl

    found: list[NearlyNumeric] = []
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        texts = column.drop_nulls()
        others = texts.filter(_as_numbers(texts).is_null())
        if 0 < len(others) <= 0.1 * len(texts):
            values = tuple(others.unique(maintain_order=True).head(3).to_list())
            found.append(NearlyNumeric(column.name, values, len(others)))
    return found


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


def _ending_of(file: Path) -> str:
    name = file.name.lower()
    ending = next((ending for ending in ENDINGS if name.endswith(ending)), None)
    if ending is None:
        raise ValueError(f"{str(file)!r} has an unknown ending; known are {', '.join(ENDINGS)}")
    with_gzip = ending.endswith(".gz")
    if file.is_file():
        with file.open("rb") as opened:
            head = opened.read(2)
        if with_gzip and head and head != _GZIP:
            raise ValueError(f"{str(file)!r} is not a gzip file though its name says so; rename or compress it")
        if not with_gzip and head == _GZIP:
            raise ValueError(f"{str(file)!r} is a gzip file; name it {file.name}.gz")
    return ending


def _read_typed(file: Path, ending: str) -> pl.DataFrame:
    """Read a format that brings its types along."""
    import polars as pl

    scanned = pl.scan_parquet(file, glob=False) if ending == ".parquet" else pl.scan_ipc(file, glob=False)
    try:
        # a few bytes can stand for any number of equal rows, and without memory the reader ends the process
        rows, columns = scanned.select(pl.len()).collect().item(), len(scanned.collect_schema())
        if (needed := _COPIES * 8 * rows * columns) > memory():
            raise ValueError(
                f"its {rows:,} rows x {columns:,} columns need {needed / 2**30:,.0f} GiB of memory, of which this"
                f" machine has {memory() / 2**30:,.0f}; take fewer rows"
            )
        return scanned.collect()
    except PermissionError:
        raise
    # polars' reader panics on some broken files, which is no Exception
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        kind = "Parquet" if ending == ".parquet" else "Feather (Arrow IPC)"
        raise ValueError(f"{str(file)!r} cannot be read as {kind}: {_first_line(error)}") from error


_COPIES = 2
"""A table stands in memory twice: as a frame, and as the matrix that is made of it."""


def memory() -> int:
    """Bytes of memory that the machine has; where it does not say, as many as one can address."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return 2**63


def _read_text(file: Path, separator: str, categorical: Iterable[str]) -> pl.DataFrame:
    """Read separated text, refuse rows of a wrong length, and find out the types."""
    import polars as pl

    names = _header(file, separator)
    texts = set(known_names(categorical, names, "categorical"))
    try:
        frame = pl.read_csv(
            _unpacked(file) if file.name.lower().endswith(".gz") else file,
            separator=separator,
            null_values=list(MISSING),
            infer_schema_length=None,
            schema_overrides=dict.fromkeys(map(_quotes_doubled, texts), pl.String),
            glob=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, *_BROKEN) as error:
        _lines_without_cells(file, separator, len(names))
        raise ValueError(f"{str(file)!r} cannot be read: {_first_line(error)}") from error
    if frame.columns != list(map(_quotes_doubled, names)):
        raise ValueError(f"{str(file)!r} has an unreadable first line; it must hold the column names")
    frame.columns = names
    # short rows are filled up with null, so they can only be where the last column has one
    if frame.height and len(names) > 1 and frame[names[-1]].null_count():
        blank = _lines_without_cells(file, separator, len(names))
        if blank:
            frame = frame.filter(~pl.Series(np.isin(np.arange(frame.height), blank)))
    # a frame's schema, and a column by its name, take time that grows with the number of columns
    inferred = [column for column in frame.get_columns() if column.dtype == pl.String and column.name not in texts]
    read = ((_as_numbers(column), column) for column in inferred)
    return frame.with_columns(number for number, column in read if number.null_count() == column.null_count())


def _as_numbers(texts: pl.Series) -> pl.Series:
    """Read text as numbers, null where it is none; the CSV reader leaves ``inf`` and ``+1`` as text."""
    import polars as pl

    return texts.str.strip_chars().cast(pl.Float64, strict=False)


def _quotes_doubled(name: str) -> str:
    """Spell a column name as the CSV reader leaves it."""
    return name.replace('"', '""')


def _unpacked(file: Path) -> io.BytesIO:
    """Unpack a gzip file, which may be a thousand times as long: up to a line or a whole that no table needs."""
    unpacked, length = io.BytesIO(), 0
    with gzip.open(file, "rb") as packed:
        while part := packed.read(MAX_LINE // 64):
            length = len(part) - part.rfind(b"\n") - 1 + (length if b"\n" not in part else 0)
            if length > MAX_LINE:
                raise ValueError(_too_long(file))
            if unpacked.tell() > memory() // 2:
                raise ValueError(f"{str(file)!r} unpacks to more than half of this machine's memory; take fewer rows")
            unpacked.write(part)
    unpacked.seek(0)
    return unpacked


def _too_long(file: Path) -> str:
    return f"{str(file)!r} has a line of more than {MAX_LINE:,} characters, which is no row of a table; correct it"


def _open_text(file: Path) -> IO[str]:
    if file.name.lower().endswith(".gz"):
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _header(file: Path, separator: str) -> tuple[str, ...]:
    """Return the column names; polars would rename duplicates."""
    taken: list[str] = []

    def lines(opened: IO[str]) -> Iterator[str]:
        while line := opened.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE:
                raise ValueError(_too_long(file))
            taken.append(line)
            yield line

    try:
        with _open_text(file) as opened:
            names = next(csv.reader(lines(opened), delimiter=separator), [])
    except UnicodeDecodeError as error:
        raise ValueError(f"{str(file)!r} is not UTF-8 text; convert it, e.g. with iconv") from error
    except (*_BROKEN, csv.Error) as error:
        raise ValueError(f"{str(file)!r} cannot be read: {_first_line(error)}") from error
    if taken and taken[-1].endswith("\r"):
        raise ValueError(
            f"{str(file)!r} ends its lines by carriage returns alone, as no system does any more; end them by line"
            " feeds, e.g. with tr '\\r' '\\n'"
        )
    if not names:
        raise ValueError(f"{str(file)!r} has an empty first line; it must hold the column names")
    mark = next((mark for mark in ",;\t" if mark != separator and mark in names[0]), None)
    if len(names) == 1 and mark is not None:
        kind = ".csv" if separator == "," else ".tsv"
        raise ValueError(
            f"{str(file)!r} has one column, {names[0]!r}, which seems to be several separated by {mark!r}; "
            f"a {kind} file must separate them by {separator!r}"
        )
    stray = next((name for name in names if '"' in name and f'"{_quotes_doubled(name)}"' not in "".join(taken)), None)
    if stray is not None:
        raise ValueError(
            f"{str(file)!r} has a stray quotation mark in the column name {stray!r}; remove it, or double it and put"
            " the name in quotation marks"
        )
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise ValueError(f"{str(file)!r} has the column {repeated!r} more than once; rename or remove one")
    return tuple(names)


def _lines_without_cells(file: Path, separator: str, n_columns: int) -> Sequence[int]:
    """Return which rows of a text file are blank lines; raise at one with a wrong number of cells."""
    blank = []
    row = 0
    try:
        with _open_text(file) as lines:
            reader = csv.reader(lines, delimiter=separator)
            next(reader)
            for row, cells in enumerate(reader):
                if not cells:
                    blank.append(row)
                elif len(cells) != n_columns:
                    raise ValueError(
                        f"{str(file)!r} has {len(cells)} cells in line {reader.line_num}, "
                        f"but {n_columns} column names; correct that line"
                    )
    except UnicodeDecodeError as error:
        raise ValueError(f"{str(file)!r} is not UTF-8 text (row {row + 1}); convert it, e.g. with iconv") from error
    except (*_BROKEN, csv.Error) as error:
        raise ValueError(f"{str(file)!r} cannot be read at row {row + 1}: {_first_line(error)}") from error
    return blank


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
