"""Columns of files that become numbers piece by piece: those with decimal commas, dates and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from committee.data.pieces.over_files import OverFiles
from committee.data.pieces.piece import Piece
from committee.data.reading.cell_forms import in_numbers

if TYPE_CHECKING:
    from committee.data.pieces.source import Source


@dataclass(frozen=True, eq=False)
class FilesWithForms(OverFiles):
    """Files of which some columns are written in a form, out of `committee.data.reading.cell_forms`."""

    forms: Mapping[str, str]

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Rows of one file after the other."""
        for piece in self.source.pieces(columns):
            with piece.named_in_errors():
                table = self._with_numbers(piece.X)
            yield replace(piece, X=table)

    def _with_numbers(self, table: Any) -> Any:
        import polars as pl

        if isinstance(table, pl.DataFrame):
            return in_numbers(table, self.forms)
        for name in (name for name in self.forms if name in table.column_names):
            column = in_numbers(pl.DataFrame(table.select([name])), self.forms)[name]
            # of the other columns polars would lose the order that pandas declares
            table = table.set_column(table.column_names.index(name), name, column.to_arrow())
        return table


def with_forms(source: Source, forms: Mapping[str, str]) -> Source:
    """Return files of which these columns are numbers."""
    return FilesWithForms(source, forms) if forms else source
