"""How numbers and dates are written in files that are read in pieces."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from committee.cli.inputs import frame_of
from committee.cli.table_options import TableOptions

if TYPE_CHECKING:
    import polars as pl

    from committee.data.out_of_core.scan import Pieces
    from committee.data.readers.cell_forms import ColumnFormats
    from committee.data.readers.text_columns import PlainNumbers

LOOKED_AT = 10_000
"""Rows by which it is found how a model's columns are written in new files."""


@dataclass(frozen=True)
class PiecedForms:
    """What was found in a table in pieces.

    Parameters
    ----------
    pieces : Pieces
        The same, with columns as text that the reader would take for other numbers than they are.
    forms : dict
        Forms by the name of the column, also of plain numbers.
    notes : tuple of str
        What to say of them.
    rows : polars.DataFrame
        The first rows, as they are written, without marks for missing cells.
    """

    pieces: Pieces
    forms: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rows: pl.DataFrame = field(kw_only=True)


def forms_of_pieces(
    pieces: Pieces, target: str, table: TableOptions, categorical: Sequence[str], n_rows: int
) -> PiecedForms:
    """Find how numbers and dates are written: by the first rows, and of codes and days by all."""
    from committee.data.out_of_core.file_sources import TextFiles, columns_as_text
    from committee.data.readers.cell_forms import find_time_formats
    from committee.data.readers.cells import replace_missing_marks

    form = table.form
    found = PiecedForms(pieces, rows=replace_missing_marks(first_rows(pieces, n_rows), form.missing))
    texts = [*categorical]
    if isinstance(pieces.source, TextFiles):
        codes, notes = codes_of_pieces(pieces, found.rows, texts)
        texts += codes
        if codes:
            pieces = replace(pieces, source=columns_as_text(pieces.source, texts))
            found = PiecedForms(
                pieces, notes=notes, rows=replace_missing_marks(first_rows(pieces, n_rows), form.missing)
            )
        found = _with_numbers(found, table, texts, n_rows)
    else:
        found, codes = _with_numbers_of_text(found, table, texts)
        texts += codes
    others = {target, *texts, *found.forms}
    candidates = [column for column in found.rows.get_columns() if column.name not in others]
    times = find_time_formats(candidates, form.dates)
    settled = {} if form.dates is not None else settled_dates(found.pieces, times)
    no_longer = {times.unsure[name] for name in settled}
    notes = (*found.notes, *(each for each in times.notes if each not in no_longer))
    return replace(found, forms=found.forms | times.forms | settled, notes=notes)


def _with_numbers(found: PiecedForms, table: TableOptions, texts: Sequence[str], n_rows: int) -> PiecedForms:
    """Find how numbers of text files are written."""
    import polars as pl

    from committee.data.out_of_core.file_sources import columns_as_text
    from committee.data.readers.cell_forms import grouping_points_note
    from committee.data.readers.cells import COMMA, format_base, have_grouping_points
    from committee.data.readers.file_format import NO_KNOWN_COLUMNS
    from committee.data.readers.text_columns import replace_common_marks

    marked = found.rows
    rows, _ = replace_common_marks(marked, NO_KNOWN_COLUMNS, texts)
    numbers = forms_of_new_numbers(rows, separator_of(found.pieces), texts, table.decimal)
    plain = _became_numbers(marked, rows)
    pieces, forms, notes = found.pieces, plain | numbers.forms, (*found.notes, *numbers.notes)
    pointed = [column.name for column in rows.get_columns() if column.dtype == pl.Float64 and column.name not in plain]
    if pointed and (table.decimal == "," or COMMA in map(format_base, numbers.forms.values())):
        # a point before three digits is no decimal point here, though the reader takes it for one
        source = columns_as_text(pieces.source, pointed)
        written = first_rows(replace(pieces, source=source, columns=tuple(pointed)), n_rows)
        if grouped := [name for name in pointed if have_grouping_points(written[name])]:
            pieces = replace(pieces, source=columns_as_text(pieces.source, [*texts, *grouped]))
            rows = rows.with_columns(written[name] for name in grouped)
            forms |= dict.fromkeys(grouped, COMMA)
            notes += (grouping_points_note(grouped),)
    return PiecedForms(pieces, forms, notes, rows=rows)


def _with_numbers_of_text(
    found: PiecedForms, table: TableOptions, texts: Sequence[str]
) -> tuple[PiecedForms, list[str]]:
    """Find the columns of text, of files that bring types along, that are numbers; and the codes among them."""
    import polars as pl

    from committee.data.readers.cell_forms import convert_columns, grouping_points_note
    from committee.data.readers.cells import COMMA
    from committee.data.readers.file_format import NO_KNOWN_COLUMNS
    from committee.data.readers.text_columns import (
        SEPARATOR,
        digit_codes_note,
        grouping_point_columns,
        plain_numbers_note,
        replace_common_marks,
    )

    written = found.rows
    looked = _numbers_of_text(found.pieces, written, texts, table.form.missing)
    codes = {name: each.codes.example for name, each in looked.items() if each.codes.are_codes}
    whole = {name: each.form for name, each in looked.items() if each.form is not None}
    stay = [*texts, *(name for name in looked if name not in whole)]
    rows, _ = replace_common_marks(convert_columns(written, whole), NO_KNOWN_COLUMNS, stay)
    plain = _became_numbers(written, rows)
    numbers = forms_of_new_numbers(rows, SEPARATOR, stay, table.decimal)
    grouped = grouping_point_columns(written.select(list(whole)), table.decimal, numbers.forms)
    new = [name for name in whole if name not in grouped]
    notes = [digit_codes_note([pl.Series(name, [cell]) for name, cell in codes.items()])] if codes else []
    notes += [plain_numbers_note(new)] if new else []
    notes += [grouping_points_note(grouped)] if grouped else []
    forms = plain | whole | numbers.forms | dict.fromkeys(grouped, COMMA)
    rows = rows.with_columns(written.select(grouped))
    return PiecedForms(found.pieces, forms, (*found.notes, *notes, *numbers.notes), rows=rows), list(codes)


def _became_numbers(written: pl.DataFrame, rows: pl.DataFrame) -> dict[str, str]:
    """Columns that are text as they are written, and plain numbers in the rows as they are read."""
    import polars as pl

    from committee.data.readers.cell_forms import PLAIN

    texts = [column.name for column in written.get_columns() if column.dtype == pl.String]
    return {name: PLAIN for name in texts if rows[name].dtype != pl.String}


def _numbers_of_text(
    pieces: Pieces, rows: pl.DataFrame, texts: Collection[str], missing: Sequence[str]
) -> dict[str, PlainNumbers]:
    """Look at all rows of the columns of text that are plain numbers in the first ones."""
    import polars as pl

    from committee.data.readers.cells import infer_plain_numbers, replace_missing_marks
    from committee.data.readers.text_columns import PlainNumbers

    columns = [column for column in rows.get_columns() if column.dtype == pl.String and column.name not in texts]
    looked = {column.name: PlainNumbers() for column in columns if infer_plain_numbers(column) is not None}
    if looked:
        for piece in replace(pieces, columns=tuple(looked)):
            frame = replace_missing_marks(frame_of(piece), missing)
            for name, each in looked.items():
                each.take(frame[name])
    return looked


def forms_of_new_numbers(
    rows: pl.DataFrame, separator: str, known: Collection[str], decimal: str | None
) -> ColumnFormats:
    """Find how numbers of text files are written, but for the columns that are `known`."""
    import polars as pl

    from committee.data.readers.cell_forms import find_number_formats
    from committee.data.readers.cells import are_digit_codes

    texts = [column for column in rows.get_columns() if column.dtype == pl.String and column.name not in known]
    return find_number_formats([column for column in texts if not are_digit_codes(column)], decimal, separator)


def separator_of(pieces: Pieces) -> str:
    """What stands between cells of text files; of others what their rules for numbers are those of."""
    from committee.data.out_of_core.file_sources import TextFiles
    from committee.data.readers.text_columns import SEPARATOR

    return pieces.source.separator if isinstance(pieces.source, TextFiles) else SEPARATOR


def codes_of_pieces(pieces: Pieces, rows: pl.DataFrame, texts: Collection[str]) -> tuple[list[str], tuple[str, ...]]:
    """Find columns of digits that begin with zeros, by all rows of text files; and what to say of them."""
    import polars as pl

    from committee.data.out_of_core.file_sources import columns_as_text
    from committee.data.readers.cells import DigitCodes
    from committee.data.readers.file_format import table_file
    from committee.data.readers.formats import SeparatedText
    from committee.data.readers.text_columns import digit_codes_note, may_have_codes

    whole = [column.name for column in rows.get_columns() if column.dtype.is_integer() and column.name not in texts]
    form = pieces.source.form  # type: ignore[attr-defined]  # of text files
    if not whole or not any(may_have_codes(SeparatedText.of(table_file(path), form)) for path in pieces.source.files):  # type: ignore[attr-defined]
        return [], ()
    found = {name: DigitCodes() for name in whole}
    for piece in replace(pieces, source=columns_as_text(pieces.source, [*texts, *whole]), columns=tuple(whole)):
        frame = frame_of(piece)
        for name in whole:
            found[name].take(frame[name])
    codes = {name: each.example for name, each in found.items() if each.are_codes}
    return list(codes), (digit_codes_note([pl.Series(name, [cell]) for name, cell in codes.items()]),) if codes else ()


def settled_dates(pieces: Pieces, times: ColumnFormats) -> dict[str, str]:
    """Settle by all rows which of day and month is first, where the first rows leave it open.

    Raises
    ------
    ValueError
        If rows settle it in different ways.
    """
    from committee.data.dates import day_month_order, parse_seconds, swap_day_month
    from committee.data.readers.cells import describe_cells

    open_ones = {name: form for name, form in times.forms.items() if day_month_order(form) and name in times.unsure}
    settled: dict[str, str] = {}
    if not open_ones:
        return settled
    for piece in replace(pieces, columns=tuple(open_ones)):
        frame = frame_of(piece)
        for name, form in open_ones.items():
            column, other = frame[name], swap_day_month(form) or form
            day, month = parse_seconds(column, form).is_not_null(), parse_seconds(column, other).is_not_null()
            for here, there, own in ((day, month, form), (month, day, other)):
                if (here & ~there).any() and settled.setdefault(name, own) != own:
                    raise ValueError(
                        f"{piece.name}: column {name!r} has dates with the day first and with the month first"
                        f" ({describe_cells(column, here & ~there)}); write them as 2024-12-31"
                    )
    return settled


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
