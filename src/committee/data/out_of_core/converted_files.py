"""Files whose pieces are changed: cells converted and rows checked as in whole tables, and columns as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from committee.data.dates import restore_times
from committee.data.out_of_core.file_sources import ParquetFiles, TextFiles
from committee.data.out_of_core.sources import DerivedFiles, Piece, TableSource
from committee.data.readers.cell_forms import convert_columns
from committee.data.readers.cells import (
    are_missing,
    reject_infinity,
    replace_missing_marks,
    strip_cells,
    strip_to_levels,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class StrippedFiles(DerivedFiles):
    noted: Container[str] = ()  # columns that `blanks` leaves out
    blanks: dict[str, str] = field(default_factory=dict)  # by column, a cell with blanks around it

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        import polars as pl

        for piece in self.source.pieces(columns):
            table = piece.X
            if isinstance(table, pl.DataFrame):
                table, found = strip_cells(table)
            else:
                stripped, found = strip_cells(pl.DataFrame(table))
                for name in found:  # polars would lose the declared order of categories of the other columns
                    table = table.set_column(table.column_names.index(name), name, stripped[name].to_arrow())
            for name, cell in found.items():
                if name not in self.noted:
                    self.blanks.setdefault(name, cell)
            yield replace(piece, X=table)


@dataclass(frozen=True, eq=False)
class CheckedFiles(DerivedFiles):
    decides_text: ClassVar[bool] = True  # learners accept text that looks like numbers

    target: str | None = None  # None leaves all rows in
    left_out: list[int] = field(default_factory=list)  # rows without a target, all rows, index of the first without

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        import polars as pl

        target, n, without = self.target, 0, list[int]()
        wanted = columns if columns is None or target is None else list(dict.fromkeys([*columns, target]))
        for piece in self.source.pieces(wanted):
            frame, kept = pl.DataFrame(piece.X), piece
            if piece.place is not None:
                reject_infinity(frame.get_columns(), piece.place)
            if target is not None and (missing := are_missing(frame[target])).any():
                without += (n + missing.arg_true()).to_list()
                mask = ~missing if isinstance(piece.X, pl.DataFrame) else (~missing).to_arrow()
                kept = replace(piece, X=piece.X.filter(mask))
            n += frame.height
            if len(kept):
                yield kept.with_columns(columns, ())
        self.left_out[:] = [len(without), n, *without[:1]]


@dataclass(frozen=True, eq=False)
class ConvertedFiles(DerivedFiles):
    forms: Mapping[str, str]
    missing: tuple[str, ...] = ()
    dates: str | None = None
    verbatim: tuple[str, ...] = ()  # columns in which cells of `missing` stay
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)  # categories by column
    marks: dict[str, Counter[str]] = field(default_factory=dict)  # by column, counts of marks for missing values
    typed: Mapping[str, str] = field(default_factory=dict)  # formats of columns that become typed

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        marks: dict[str, Counter[str]] = {}
        for piece in self.source.pieces(columns):
            with piece.named_in_errors():
                table = self._with_numbers(piece.X, marks)
            yield replace(piece, X=table)
        self.marks.update(marks)

    def _with_numbers(self, table: Any, marks: dict[str, Counter[str]]) -> Any:
        import polars as pl

        if isinstance(table, pl.DataFrame):
            return self._read(table, marks)
        for k, name in enumerate(table.column_names):
            if name not in (*self.forms, *self.levels) and (not self.missing or name in self.verbatim):
                continue
            before = pl.DataFrame(table.select([name]))
            after = self._read(before, marks)[name]
            # polars would lose the declared order of categories of unchanged columns
            if name in self.forms or not after.equals(before[name]):
                table = table.set_column(k, name, after.to_arrow())
        return table

    def _read(self, frame: pl.DataFrame, marks: dict[str, Counter[str]]) -> pl.DataFrame:
        frame = strip_to_levels(replace_missing_marks(frame, self.missing, self.verbatim), self.levels)
        frame = convert_columns(frame, self.forms, self.dates, marks)
        frame = replace_missing_marks(frame, self.missing, self.verbatim)  # again, as marks may be numbers
        return restore_times(frame, self.typed)


def convert_files(source: TableSource, forms: Mapping[str, str], **how: Any) -> TableSource:
    return ConvertedFiles(source, forms, **how) if forms or how.get("missing") or how.get("levels") else source


@dataclass(frozen=True, eq=False)
class ParquetWithText(DerivedFiles):
    text: tuple[str, ...]

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        import polars as pl

        for piece in self.source.pieces(columns):
            table = piece.X
            for name in (name for name in self.text if name in table.column_names):
                cells = pl.DataFrame(table.select([name]))[name]
                if cells.dtype.is_nested():
                    raise ValueError(f"{piece.name}: column {name!r} holds {cells.dtype}, no text; leave it out")
                text = cells.cast(pl.String).to_arrow()
                # polars would lose the declared order of categories of the other columns
                table = table.set_column(table.column_names.index(name), name, text)
            yield replace(piece, X=table)


def columns_as_text(source: TableSource, names: Sequence[str]) -> TableSource:
    if not names:
        return source
    if isinstance(source, TextFiles):
        return replace(source, text=tuple(names))
    assert isinstance(source, ParquetFiles)
    return ParquetWithText(source, tuple(names))


class RawCellReader:
    """Reader of unchanged columns in step with a pass over the same files."""

    def __init__(self, source: TableSource, names: Sequence[str]) -> None:
        self._names = list(names)
        self._pieces = source.cells(names) if isinstance(source, TextFiles) else source.pieces(names)
        self._left: pl.DataFrame | None = None

    def next_rows(self, n: int) -> pl.DataFrame:
        import polars as pl

        if not self._names:
            return pl.DataFrame()
        parts: list[pl.DataFrame] = []
        while n:
            if self._left is None or not self._left.height:
                piece = next(self._pieces, None)
                if piece is None:
                    raise ValueError(
                        "the files have fewer rows than a moment ago; leave them alone while they are read"
                    )
                self._left = pl.DataFrame(piece.X)
            part, self._left = self._left[:n], self._left[n:]
            parts.append(part)
            n -= part.height
        return pl.concat(parts, how="vertical_relaxed")
