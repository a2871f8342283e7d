"""Files read in pieces: separated text, and Parquet with columns in names of Hive-style folders (``year=2019``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from committee.data.columns import reject_duplicates
from committee.data.out_of_core.sources import (
    FoundFile,
    LazyFrameSource,
    Piece,
    default_chunk_rows,
    row_range,
)
from committee.data.packages import require_package
from committee.data.readers.cells import MISSING
from committee.data.readers.file_format import DEFAULT_FORMAT, FileFormat, check_utf_8_path, is_number, table_file
from committee.data.readers.formats import (
    NO_HEADER,
    SeparatedText,
    blank_lines,
    distinct_header,
    empty_columns_note,
    first_error_line,
    is_nameless,
    names_of_polars,
    no_header_note,
    quotes_doubled,
    read_header,
    reject_nul_bytes_of_file,
    stripped_names,
    stripped_names_note,
    written_header,
)
from committee.data.text import reworded_errors, suggest_names

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq


_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_NULL = "__HIVE_DEFAULT_PARTITION__"
_BUFFER = 2**20  # bytes of a column that are read from disk at a time

_WHOLE = ": give one file, without --memory-limit and --scratch"
_OPTION = re.compile(r"(?<!\S)--(sep|skip-lines|no-header|encoding)\b( cp1252)?")
_PARAMETERS = {"sep": "separator", "skip-lines": "skip_lines", "no-header": "header=False"}


@dataclass(frozen=True)
class PartitionColumns:
    names: tuple[str, ...] = ()
    values: tuple[tuple[str | int | None, ...], ...] = ()  # per file, one of each column

    @classmethod
    def of(cls, files: Sequence[FoundFile]) -> PartitionColumns:
        texts = [_pairs(file) for file in files]
        names = tuple(texts[0])
        for file, found in zip(files, texts, strict=True):
            if set(found) != set(names):
                odd = sorted(set(found) ^ set(names))[0]
                raise ValueError(
                    f"{str(file.path)!r}: column {odd!r}, which names of folders give, is not in all files; scan files "
                    "with the same columns"
                )
        _check_ignored_folders(files)
        columns = [_typed([found[name] for found in texts]) for name in names]
        return cls(names, tuple(zip(*columns, strict=True)) if columns else ((),) * len(files))

    def without(self, names: Sequence[str]) -> PartitionColumns:
        kept = [k for k, name in enumerate(self.names) if name not in names]
        return PartitionColumns(
            tuple(self.names[k] for k in kept), tuple(tuple(row[k] for k in kept) for row in self.values)
        )

    def cells(self, file: int, name: str, n: int) -> pa.Array:
        import pyarrow as pa

        k = self.names.index(name)
        whole = any(isinstance(row[k], int) for row in self.values)
        return pa.repeat(pa.scalar(self.values[file][k], pa.int32() if whole else pa.string()), n)


def _pairs(file: FoundFile) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for folder in file.folders:
        name, equals, text = folder.partition("=")
        if not (name and equals):
            continue
        if name in found:
            raise ValueError(f"{str(file.path)!r}: two folders give column {name!r}; rename one of them")
        try:
            found[name] = None if text == _NULL else unquote(text, errors="strict")
        except UnicodeDecodeError as error:
            raise ValueError(f"{str(file.path)!r}: {folder!r} stands for text that is not UTF-8; rename it") from error
    return found


def _typed(texts: Sequence[str | None]) -> list[str | None] | list[int | None]:
    whole = all(text is None or (_WHOLE_NUMBER.fullmatch(text) and -(2**31) <= int(text) < 2**31) for text in texts)
    return [None if text is None else int(text) for text in texts] if whole else list(texts)


def _check_ignored_folders(files: Sequence[FoundFile]) -> None:
    # folders above the given ones are ignored, so files must not differ in their values
    parts = [
        tuple(part for part in file.path.parts[: -1 - len(file.folders)] if part.partition("=")[1]) for file in files
    ]
    other = next((k for k, found in enumerate(parts) if found != parts[0]), None)
    if other is not None:
        raise ValueError(
            f"{str(files[0].path)!r} and {str(files[other].path)!r} are in folders whose names give different values "
            "of a column, or none, and are read only below a given folder or pattern; give the folder that holds all "
            'of them, or a pattern in quotation marks, such as "folder/*/*.parquet"'
        )


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    files: tuple[Path, ...]
    of_folders: PartitionColumns = field(default_factory=PartitionColumns)

    def __post_init__(self) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "Parquet files are read in pieces by pyarrow, which is not installed: pip install pyarrow; or give "
                f"polars.scan_parquet of {str(self.files[0])!r}{' and the others' * (len(self.files) > 1)}"
            ) from error

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (*self._names_in_files, *self._added.names)

    @cached_property
    def _names_in_files(self) -> tuple[str, ...]:
        with _opened(self.files[0]) as file:
            names: list[str] = file.schema_arrow.names
        reject_duplicates(names)
        return tuple(names)

    @cached_property
    def _added(self) -> PartitionColumns:
        return self.of_folders.without(self._names_in_files)

    @cached_property
    def n_rows(self) -> int:
        count = 0
        for path in self.files:
            with _opened(path) as file:
                count += file.metadata.num_rows
        return count

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        import pyarrow as pa

        try:
            yield from self._pieces(columns)
        finally:
            pa.default_memory_pool().release_unused()  # buffers of about 100 MB

    def _pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        added = self._added.names
        wanted = list(self.names if columns is None else columns)
        in_files = [name for name in wanted if name not in added]
        for number, path in enumerate(self.files):
            first = 0
            with _opened(path) as file:
                self._check_columns(path, file.schema_arrow.names, None if columns is None else in_files)
                for batch in file.iter_batches(batch_size=default_chunk_rows(len(wanted)), columns=in_files):
                    table, last = self._with_added(number, batch, wanted), first + len(batch)
                    place = partial(_row_of_file, path, first)
                    yield Piece(table, f"{str(path)!r}, {row_range(first, last)}", place=place)
                    first = last

    def _with_added(self, number: int, batch: pa.RecordBatch, wanted: list[str]) -> pa.Table:
        import pyarrow as pa

        added = {name: self._added.cells(number, name, len(batch)) for name in wanted if name in self._added.names}
        fields = [pa.field(name, added[name].type) if name in added else batch.field(name) for name in wanted]
        cells = [added[name] if name in added else batch[name] for name in wanted]
        return pa.Table.from_arrays(cells, schema=pa.schema(fields, batch.schema.metadata))

    def _check_columns(self, path: Path, names: Sequence[str], wanted: Sequence[str] | None) -> None:
        reject_duplicates(names)
        missing = [name for name in wanted or () if name not in names]
        if missing and missing[0] in self._names_in_files:
            raise ValueError(
                f"{str(path)!r}: there is no column {missing[0]!r}, which others have; add it, or fit without it by"
                " columns="
            )
        if missing:
            raise ValueError(
                f"{str(path)!r}: there is no column {missing[0]!r}; {suggest_names(missing[0], self.names)}"
            )
        if of_both := [name for name in self._added.names if name in names]:
            raise ValueError(
                f"{str(path)!r}: column {of_both[0]!r} is in this file, and in others only in names of folders; drop "
                "it from the file, or rename the folders"
            )
        if wanted is None and set(names) != set(self._names_in_files):
            odd = sorted(set(names) ^ set(self._names_in_files))[0]
            raise ValueError(
                f"{str(path)!r}: column {odd!r} is missing in some files; select common columns with columns="
            )


def _row_of_file(path: Path, first: int, row: int) -> str:
    return f"row {first + row:,} of {str(path)!r}"


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # by default all row groups are read ahead, which takes as much memory as the file
        with pq.ParquetFile(check_utf_8_path(path), pre_buffer=False, buffer_size=_BUFFER) as file:
            yield file
    except pa.ArrowException as error:
        raise ValueError(f"{str(path)!r} cannot be read as Parquet: {error}") from error


@dataclass(frozen=True, eq=False)
class TextFiles:
    files: tuple[Path, ...]
    text: tuple[str, ...] = ()  # columns to read as text though they look numeric
    form: FileFormat = DEFAULT_FORMAT
    by_options: bool = False  # errors name options of the command line, not classes

    def __post_init__(self) -> None:
        require_package("polars", "reading text files in pieces")

    @cached_property
    def types(self) -> tuple[dict[str, pl.DataType], ...]:
        import polars as pl

        own: list[dict[str, pl.DataType]] = []  # a column has one type in all files
        for path in self.files:
            text = SeparatedText.of(table_file(path), self.form)
            distinct_header(text.file, read_header(text))  # polars would rename duplicates
            with _errors_of(path, self.form):
                own.append(dict(_scanned(path, self.form, infer_schema_length=None).collect_schema()))
            reject_nul_bytes_of_file(text)
        common: dict[str, pl.DataType] = {}
        for path, types in zip(self.files, own, strict=True):
            if set(types) != set(own[0]):
                odd = sorted(set(types) ^ set(own[0]))[0]
                what = (
                    f"if the first line is a row of data, {NO_HEADER}"
                    if is_number(odd)
                    else "give them the same columns"
                )
                raise ValueError(f"{str(path)!r}: column {odd!r} is missing in some files; {what}")
            for name, dtype in _types_of_cells(path, self.form, types, own).items():
                before = common.setdefault(name, dtype)
                if before != dtype:
                    common[name] = pl.Float64() if before.is_numeric() and dtype.is_numeric() else pl.String()
        common |= {name: own[0][name] for name in own[0] if name not in common}
        common |= {name: pl.String() for name in self.text}
        return tuple({name: common[name] for name in types} for types in own)

    @cached_property
    def names(self) -> tuple[str, ...]:
        with reworded_errors(str if self.by_options else _by_classes):
            return tuple(name for name in self.types[0] if name not in self._empty)

    @cached_property
    def _empty(self) -> frozenset[str]:
        nameless = [name for name in self.types[0] if not name or is_nameless(name)]
        if not nameless:
            return frozenset()
        with _errors_of(self.files[0], self.form):
            parts = [_scanned(path, self.form, schema=own) for path, own in zip(self.files, self.types, strict=True)]
            filled = [part.select(nameless).count().collect().row(0, named=True) for part in parts]
        return frozenset(name for name in nameless if not any(found[name] for found in filled))

    @property
    def separator(self) -> str:
        return SeparatedText.of(table_file(self.files[0]), self.form).separator

    def notes(self, rows: pl.DataFrame) -> tuple[str, ...]:
        found: dict[str, str] = {}
        if self._empty:
            found[""] = empty_columns_note(len(self._empty), table_file(self.files[0]))
        for path in self.files:
            text = SeparatedText.of(table_file(path), self.form)
            written = written_header(text)
            notes = (*text.notes, *stripped_names_note(written, stripped_names(written)))
            for note in (*notes, *(no_header_note(text, rows) if path == self.files[0] else ())):
                found.setdefault(note.replace(str(text.file), ""), note)
        return tuple(found.values())

    @cached_property
    def lines(self) -> tuple[tuple[int, Sequence[int]], ...]:
        """Per file, the number of rows, and the indices of those that are blank."""
        import polars as pl

        found: list[tuple[int, Sequence[int]]] = []
        for path in self.files:
            text = SeparatedText.of(table_file(path), self.form)
            names = read_header(text)
            with _errors_of(path, self.form):
                rows = _scanned(path, self.form, infer_schema=False, null_values=None)
                n, n_null = rows.select(pl.len(), pl.last().null_count().alias("")).collect().row(0)
            # in a file of one column a blank line is a missing cell; short rows are filled up with null
            found.append((n, blank_lines(text, len(names)) if n_null and len(names) > 1 else ()))
        return tuple(found)

    @property
    def n_rows(self) -> int:
        return sum(n - len(blank) for n, blank in self.lines)

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        with reworded_errors(str if self.by_options else _by_classes):
            yield from self._pieces(columns)

    def _pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        for path, types, (_, blank) in zip(self.files, self.types, self.lines, strict=True):
            with _errors_of(path, self.form):
                rows, first = LazyFrameSource(_scanned(path, self.form, blank, schema=types), repr(str(path))), 0
                for piece in rows.pieces(None):  # with fewer columns polars misses lines of too many cells
                    place = partial(_line_of_file, path, self.form, len(types), first)
                    yield replace(piece.with_columns(columns or self.names, ()), place=place)
                    first += len(piece)

    def cells(self, columns: Sequence[str]) -> Iterator[Piece]:
        for path, (_, blank) in zip(self.files, self.lines, strict=True):
            with _errors_of(path, self.form):
                rows = _scanned(path, self.form, blank, null_values=None, infer_schema=False)
                yield from LazyFrameSource(rows, repr(str(path))).pieces(columns)


def _by_classes(text: str) -> str:
    """Replace options of the command line in a message by parameters of `TableReader`."""

    def parameter(found: re.Match[str]) -> str:
        name = _PARAMETERS.get(found[1], found[1])
        value = "" if "=" in name else f"={found[2].strip()!r}" if found[2] else "=..."
        return f"TableReader({name}{value})"

    text, n = _OPTION.subn(parameter, text.replace(_WHOLE, " with TableReader"))
    if not n:
        return text
    lazy = "" if "TableReader(encoding=" in text else "; scan also takes a polars LazyFrame"  # which must be UTF-8
    return f"{text} (TableReader reads the file into memory{lazy})"


def _line_of_file(path: Path, form: FileFormat, n_columns: int, first: int, row: int) -> str:
    text = SeparatedText.of(table_file(path), form)
    return f"line {text.line_of_row(first + row, n_columns):,} of {text.file}"


def _types_of_cells(
    path: Path, form: FileFormat, types: dict[str, pl.DataType], of_files: Sequence[dict[str, pl.DataType]]
) -> dict[str, pl.DataType]:
    # leaves out columns without cells in this file: they have the type text here, and another in other files
    import polars as pl

    texts = [name for name, dtype in types.items() if dtype == pl.String]
    asked = [name for name in texts if any(other.get(name, pl.String) != pl.String for other in of_files)]
    if not asked:
        return types
    with _errors_of(path, form):
        cells = _scanned(path, form, schema=types).select(pl.col(asked).count()).collect().row(0, named=True)
    return {name: dtype for name, dtype in types.items() if cells.get(name) != 0}


def _scanned(path: Path, form: FileFormat, blank: Sequence[int] = (), **options: Any) -> pl.LazyFrame:
    import polars as pl

    text = SeparatedText.of(table_file(path), form)
    if not text.is_utf_8:
        raise ValueError(f"{str(path)!r} is {text.encoding} text; files read in pieces must be UTF-8; convert it")
    path = check_utf_8_path(path)
    if text.aligned:
        raise ValueError(
            f"{str(path)!r} has columns aligned by blanks; write it with a separator, as files that are read in pieces"
            f" need one, or read it whole{_WHOLE}"
        )
    options = {"null_values": [*MISSING, *form.missing], **text.options, **options}
    written = written_header(text)
    names = distinct_header(text.file, stripped_names(written))
    given = zip(names_of_polars(text, written), map(quotes_doubled, names), strict=True)
    changed = {own: name for own, name in given if own != name}
    if changed and "schema" in options:
        own_names = {name: own for own, name in changed.items()}
        options["schema"] = {own_names.get(name, name): dtype for name, dtype in options["schema"].items()}
    if not blank:
        return pl.scan_csv(path, **options).rename(changed, strict=False)
    number = max(written, key=len) + "#"  # longer than the name of any column
    rows = pl.scan_csv(path, row_index_name=number, **options)
    return rows.filter(~pl.col(number).is_in(blank)).drop(number).rename(changed, strict=False)


@contextmanager
def _errors_of(path: Path, form: FileFormat) -> Iterator[None]:
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        cause = error.__cause__ if isinstance(error, ValueError) else error
        if not isinstance(cause, pl.exceptions.PolarsError | OSError) or getattr(cause, "errno", None) is not None:
            raise
        text = SeparatedText.of(table_file(path), form)
        blank_lines(text, len(read_header(text)))  # raises for a row of a wrong length, with its line
        raise ValueError(f"{str(path)!r} cannot be read: {first_error_line(cause)}") from error
