"""How numbers and dates are written in files that are read in pieces, by their first rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from committee.cli.inputs import frame_of
from committee.cli.table_options import TableOptions

if TYPE_CHECKING:
    import polars as pl

    from committee.data.pieces.scan import Pieces
    from committee.data.reading.cell_forms import CellForms

LOOKED_AT = 10_000
"""Rows by which it is found how a model's columns are written in new files."""


def forms_of_pieces(
    pieces: Pieces, target: str, table: TableOptions, categorical: Sequence[str], n_rows: int
) -> tuple[Pieces, CellForms, pl.DataFrame]:
    """Find how numbers and dates are written.

    Returns
    -------
    pieces : Pieces
        The same, with columns as text whose points stand between thousands.
    forms : CellForms
        By the name of the column, and notes.
    rows : polars.DataFrame
        The first rows, as they are written.
    """
    import polars as pl

    from committee.data.pieces.text_columns import with_text
    from committee.data.pieces.text_files import TextFiles
    from committee.data.reading.cell_forms import CellForms, forms_of_times, words_of_points
    from committee.data.reading.number_forms import COMMA, have_points_between_thousands

    rows, numbers = first_rows(pieces, n_rows), CellForms()
    if isinstance(pieces.source, TextFiles):
        numbers = forms_of_new_numbers(rows, pieces.source.separator, categorical, table.decimal)
        pointed = [column.name for column in rows.get_columns() if column.dtype == pl.Float64]
        if pointed and (table.decimal == "," or COMMA in numbers.forms.values()):
            # a point before three digits is no decimal point here, though the reader takes it for one
            source = with_text(pieces.source, pointed)
            texts = first_rows(replace(pieces, source=source, columns=tuple(pointed)), n_rows)
            if grouped := [name for name in pointed if have_points_between_thousands(texts[name])]:
                pieces = replace(pieces, source=with_text(pieces.source, [*categorical, *grouped]))
                rows = rows.with_columns(texts[name] for name in grouped)
                forms = numbers.forms | dict.fromkeys(grouped, COMMA)
                numbers = CellForms(forms, (*numbers.notes, words_of_points(grouped)))
    others = {target, *categorical, *numbers.forms}
    times = forms_of_times([column for column in rows.get_columns() if column.name not in others])
    return pieces, CellForms(numbers.forms | times.forms, (*numbers.notes, *times.notes)), rows


def forms_of_new_numbers(rows: pl.DataFrame, separator: str, known: Collection[str], decimal: str | None) -> CellForms:
    """Find how numbers of text files are written, but for the columns that are `known`."""
    import polars as pl

    from committee.data.reading.cell_forms import forms_of_numbers

    texts = [column for column in rows.get_columns() if column.dtype == pl.String and column.name not in known]
    return forms_of_numbers(texts, decimal, separator)


def first_rows(pieces: Pieces, n_rows: int = LOOKED_AT) -> pl.DataFrame:
    """The first rows, or all."""
    import polars as pl

    found: list[pl.DataFrame] = []
    for piece in pieces:
        if len(piece) or not found:
            found.append(frame_of(piece))
        if sum(map(len, found)) >= n_rows:
            break
    if not found:
        return pl.DataFrame(schema=dict.fromkeys(pieces.columns or (), pl.Null))
    return pl.concat(found, how="vertical_relaxed").head(n_rows)
