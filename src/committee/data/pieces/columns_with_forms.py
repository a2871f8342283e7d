"""Columns of files that become numbers piece by piece: with decimal commas, signs, dates, marks for missing cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from committee.data.pieces.over_files import OverFiles
from committee.data.pieces.piece import Piece
from committee.data.reading.in_numbers import in_numbers
from committee.data.reading.missing_cells import without_marks

if TYPE_CHECKING:
    import polars as pl

    from committee.data.pieces.source import Source


@dataclass(frozen=True, eq=False)
class FilesWithForms(OverFiles):
    """Files of which some columns are written in a form, out of `committee.data.reading.cell_forms`.

    Parameters
    ----------
    source : Source
        The files.
    forms : dict
        By the name of the column.
    missing : tuple of str
        Cells that the user takes for missing.
    dates : str or None
        What the user says of the order of days and months.
    verbatim : tuple of str
        Columns that stay as they are.
    marks : dict
        Common marks for missing cells that the last pass has met in columns with forms, by the name of the column.
    """

    forms: Mapping[str, str]
    missing: tuple[str, ...] = ()
    dates: str | None = None
    verbatim: tuple[str, ...] = ()
    marks: dict[str, Counter[str]] = field(default_factory=dict)

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Rows of one file after the other."""
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
            if name not in self.forms and (not self.missing or name in self.verbatim):
                continue
            before = pl.DataFrame(table.select([name]))
            after = self._read(before, marks)[name]
            # of columns that stay polars would lose the order that pandas declares
            if name in self.forms or after.null_count() > before[name].null_count():
                table = table.set_column(k, name, after.to_arrow())
        return table

    def _read(self, frame: pl.DataFrame, marks: dict[str, Counter[str]]) -> pl.DataFrame:
        frame = without_marks(frame, self.missing, self.verbatim)
        frame = in_numbers(frame, self.forms, self.dates, marks)
        return without_marks(frame, self.missing, self.verbatim)  # as numbers, too


def with_forms(source: Source, forms: Mapping[str, str], **how: Any) -> Source:
    """Return files of which these columns are numbers; further arguments are those of `FilesWithForms`."""
    return FilesWithForms(source, forms, **how) if forms or how.get("missing") else source
