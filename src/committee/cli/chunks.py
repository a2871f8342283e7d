"""Tables read in chunks: several files, folders and patterns, or one file that is large."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.cli.files import check_columns, check_not_dropped
from committee.cli.options import TableOptions
from committee.cli.terminal import completes_tenth, info, print_notes, progress_bar, progress_console
from committee.data.dates import day_month_order, parse_seconds, swap_day_month
from committee.data.out_of_core.converted_files import CheckedFiles, StrippedFiles, columns_as_text, convert_files
from committee.data.out_of_core.file_sources import TextFiles
from committee.data.out_of_core.scan import Pieces, scan
from committee.data.out_of_core.sources import DerivedFiles, Piece
from committee.data.readers.cell_forms import (
    PLAIN,
    ColumnFormats,
    convert_columns,
    find_number_formats,
    find_time_formats,
    grouping_points_note,
)
from committee.data.readers.cells import (
    COMMA,
    DigitCodes,
    are_digit_codes,
    are_missing_marks,
    blanks_note,
    describe_cells,
    format_base,
    have_grouping_points,
    infer_plain_numbers,
    is_text,
    missing_marks_note,
    parse_plain_numbers,
    replace_missing_marks,
    strip_cells,
    text_columns,
)
from committee.data.readers.features import LearnedColumns
from committee.data.readers.file_format import NO_KNOWN_COLUMNS, FileFormat, KnownColumns, check_table_size, table_file
from committee.data.readers.formats import SeparatedText
from committee.data.readers.text_columns import (
    SEPARATOR,
    PlainNumbers,
    convert_text_columns,
    digit_codes_note,
    grouping_point_columns,
    may_have_codes,
    plain_numbers_note,
    reject_percentages,
    replace_common_marks,
)
from committee.data.text import check_names, pluralize, suggest_names

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

FORMAT_ROWS = 10_000
"""Number of first rows from which the formats of columns are detected."""


def open_chunks(
    data: Sequence[Path],
    table: TableOptions,
    *,
    text: Sequence[str] = (),
    form: FileFormat | None = None,
    memory_limit: str | None = None,
    scratch: Path | None = None,
) -> Pieces:
    try:
        pieces = scan([str(path) for path in data], memory_limit=memory_limit, scratch=scratch)
    except ImportError as error:
        raise ValueError(str(error)) from error
    if isinstance(pieces.source, TextFiles):
        pieces = replace(pieces, source=replace(pieces.source, form=form or table.form, by_options=True))
    names = list(pieces.source.names or ())
    left_out = set(check_names(table.dropped, names, "--drop"))
    source = columns_as_text(pieces.source, check_names(text, names, "--categorical"))
    return replace(pieces, source=source, columns=tuple(name for name in names if name not in left_out))


def files_in_chunks(pieces: Pieces) -> str:
    return f"{pluralize(len(pieces.files.paths), 'file')}, read in chunks"


def chunk_frame(piece: Piece) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(piece.X)


def first_rows(pieces: Pieces, n_rows: int) -> pl.DataFrame:
    import polars as pl

    found: list[pl.DataFrame] = []
    for piece in pieces:
        if len(piece) or not found:
            found.append(chunk_frame(piece))
        if sum(map(len, found)) >= n_rows:
            break
    if not found:
        return pl.DataFrame(schema=dict.fromkeys(pieces.columns or (), pl.Null))
    return pl.concat(found, how="vertical_relaxed").head(n_rows)


def with_progress(pieces: Pieces, task: str, *, wanted: bool | None, bar: bool = True) -> Pieces:
    terminal = progress_console(wanted)
    if terminal is None:
        return pieces
    shown = terminal if terminal.is_terminal and bar else None
    return replace(pieces, source=FilesWithProgress(pieces.source, task, shown))


@dataclass(frozen=True, eq=False)
class FilesWithProgress(DerivedFiles):
    task: str
    terminal: Console | None  # of a bar; None: lines
    passes: Iterator[int] = field(default_factory=lambda: count(1))

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        task, total, rows = f"{self.task}, pass {next(self.passes)}", self.n_rows, 0
        bar: AbstractContextManager[Any] = nullcontext()
        if self.terminal is not None:
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

            fields = (BarColumn(), MofNCompleteColumn(), TextColumn("rows"), TimeRemainingColumn())
            bar = progress_bar(self.terminal, task, *fields, total=total)
        with bar as update:
            for piece in self.source.pieces(columns):
                yield piece
                before, rows = rows, rows + len(piece)
                if update is not None:
                    update(completed=rows)
                elif completes_tenth(rows, before, total):
                    # on sys.stderr itself, which a bar replaces to print lines above itself
                    print(f"{task}: {rows:,} of {total:,} rows", file=sys.stderr, flush=True)


# --- formats of numbers and dates ------------------------------------------------------------------------


@dataclass(frozen=True)
class ChunkFormats:
    """Formats of the columns of a table in chunks, and its first rows with nulls for missing-cell marks."""

    pieces: Pieces
    rows: pl.DataFrame
    forms: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    blanks: dict[str, str] = field(default_factory=dict)
    """A cell with blanks around it, by column of text."""

    def checked(
        self, target: str | None, table: TableOptions, marks: dict[str, Counter[str]] | None = None
    ) -> tuple[CheckedFiles, dict[str, str]]:
        """Return the files to learn from; a pass over them completes `marks` and the returned cells with blanks."""
        stripped = StrippedFiles(self.pieces.source, self.blanks)
        how: dict[str, Any] = {"missing": table.form.missing, "dates": table.dates}
        converted = convert_files(stripped, self.forms, **how, marks={} if marks is None else marks)
        return CheckedFiles(converted, target), stripped.blanks


def detect_formats(
    pieces: Pieces, target: str, table: TableOptions, categorical: Sequence[str], n_rows: int
) -> ChunkFormats:
    form = table.form
    found = ChunkFormats(pieces, replace_missing_marks(first_rows(pieces, n_rows), form.missing))
    texts = [*categorical]
    if isinstance(pieces.source, TextFiles):
        if codes := _digit_codes(pieces, found.rows, texts):
            texts += codes
            pieces = replace(pieces, source=columns_as_text(pieces.source, texts))
            rows = replace_missing_marks(first_rows(pieces, n_rows), form.missing)
            found = ChunkFormats(pieces, rows, notes=(_note_of_codes(codes),))
        layout = pieces.source.notes(found.rows)  # type: ignore[attr-defined]  # of text files
        found = _numbers_of_text_files(replace(found, notes=(*layout, *found.notes)), table, texts, n_rows)
    else:
        found, of_digits = _numbers_of_typed_files(found, table, texts)
        texts += of_digits
    others = {target, *texts, *found.forms}
    rows, blanks = strip_cells(found.rows)
    found = replace(found, rows=rows, notes=(*found.notes, *blanks_note(blanks)), blanks=blanks)
    candidates = [column for column in found.rows.get_columns() if column.name not in others]
    times = find_time_formats(candidates, form.dates)
    settled = {} if form.dates is not None else _day_orders(found.pieces, times)
    obsolete = {times.unsure[name] for name in settled}
    notes = (*found.notes, *(each for each in times.notes if each not in obsolete))
    return replace(found, forms=found.forms | times.forms | settled, notes=notes)


def _numbers_of_text_files(found: ChunkFormats, table: TableOptions, texts: Sequence[str], n_rows: int) -> ChunkFormats:
    import polars as pl

    marked = found.rows
    rows, _ = replace_common_marks(marked, NO_KNOWN_COLUMNS, texts)
    # columns of text all of whose cells are plain numbers, with blanks around some
    columns = [column for column in text_columns(rows, texts) if not are_digit_codes(column)]
    read = ((parse_plain_numbers(column), column) for column in columns)
    rows = rows.with_columns(new for new, old in read if old.count() and new.null_count() == old.null_count())
    numbers = _number_forms(rows, separator_of(found.pieces), texts, table.decimal)
    plain = _became_numbers(marked, rows)
    pieces, forms, notes = found.pieces, plain | numbers.forms, (*found.notes, *numbers.notes)
    pointed = [column.name for column in rows.get_columns() if column.dtype == pl.Float64]
    if pointed and (table.decimal == "," or COMMA in map(format_base, numbers.forms.values())):
        # in a file with decimal commas a point before three digits separates thousands
        source = columns_as_text(pieces.source, pointed)
        written = first_rows(replace(pieces, source=source, columns=tuple(pointed)), n_rows)
        if grouped := [name for name in pointed if have_grouping_points(written[name])]:
            pieces = replace(pieces, source=columns_as_text(pieces.source, [*texts, *grouped]))
            rows = rows.with_columns(written[name] for name in grouped)
            forms |= dict.fromkeys(grouped, COMMA)
            notes += (grouping_points_note(grouped),)
    return ChunkFormats(pieces, rows, forms, notes)


def _numbers_of_typed_files(
    found: ChunkFormats, table: TableOptions, texts: Sequence[str]
) -> tuple[ChunkFormats, list[str]]:
    written = found.rows
    candidates = _numbers_in_text(found.pieces, written, texts, table.form.missing)
    codes = {name: each.codes.example for name, each in candidates.items() if each.codes.are_codes}
    whole = {name: each.form for name, each in candidates.items() if each.form is not None}
    stay = [*texts, *(name for name in candidates if name not in whole)]
    rows, _ = replace_common_marks(convert_columns(written, whole), NO_KNOWN_COLUMNS, stay)
    plain = _became_numbers(written, rows)
    numbers = _number_forms(rows, SEPARATOR, stay, table.decimal)
    grouped = grouping_point_columns(written.select(list(whole)), table.decimal, numbers.forms)
    new = [name for name in whole if name not in grouped]
    notes = [_note_of_codes(codes)] if codes else []
    notes += [plain_numbers_note(new)] if new else []
    notes += [grouping_points_note(grouped)] if grouped else []
    forms = plain | whole | numbers.forms | dict.fromkeys(grouped, COMMA)
    rows = rows.with_columns(written.select(grouped))
    return ChunkFormats(found.pieces, rows, forms, (*found.notes, *notes, *numbers.notes)), list(codes)


def _became_numbers(written: pl.DataFrame, rows: pl.DataFrame) -> dict[str, str]:
    return {column.name: PLAIN for column in text_columns(written) if not is_text(rows[column.name])}


def _numbers_in_text(
    pieces: Pieces, rows: pl.DataFrame, texts: Collection[str], missing: Sequence[str]
) -> dict[str, PlainNumbers]:
    columns = text_columns(rows, texts)
    found = {column.name: PlainNumbers() for column in columns if infer_plain_numbers(column) is not None}
    if found:
        for piece in replace(pieces, columns=tuple(found)):
            frame = replace_missing_marks(chunk_frame(piece), missing)
            for name, each in found.items():
                each.take(frame[name])
    return found


def _number_forms(rows: pl.DataFrame, separator: str, known: Collection[str], decimal: str | None) -> ColumnFormats:
    texts = [column for column in text_columns(rows, known) if not are_digit_codes(column)]
    return find_number_formats(texts, decimal, separator)


def separator_of(pieces: Pieces) -> str:
    return pieces.source.separator if isinstance(pieces.source, TextFiles) else SEPARATOR


def _digit_codes(pieces: Pieces, rows: pl.DataFrame, texts: Collection[str]) -> dict[str, Any]:
    # columns of digits with leading zeros, found in all rows, each with an example
    whole = [column.name for column in rows.get_columns() if column.dtype.is_integer() and column.name not in texts]
    form = pieces.source.form  # type: ignore[attr-defined]  # of text files
    if not whole or not any(may_have_codes(SeparatedText.of(table_file(path), form)) for path in pieces.source.files):  # type: ignore[attr-defined]
        return {}
    found = {name: DigitCodes() for name in whole}
    for piece in replace(pieces, source=columns_as_text(pieces.source, [*texts, *whole]), columns=tuple(whole)):
        frame = chunk_frame(piece)
        for name in whole:
            found[name].take(frame[name])
    return {name: each.example for name, each in found.items() if each.are_codes}


def _note_of_codes(codes: dict[str, Any]) -> str:
    import polars as pl

    return digit_codes_note([pl.Series(name, [cell]) for name, cell in codes.items()])


def _day_orders(pieces: Pieces, times: ColumnFormats) -> dict[str, str]:
    ambiguous = {name: form for name, form in times.forms.items() if day_month_order(form) and name in times.unsure}
    settled: dict[str, str] = {}
    if not ambiguous:
        return settled
    for piece in replace(pieces, columns=tuple(ambiguous)):
        frame = chunk_frame(piece)
        for name, form in ambiguous.items():
            column, other = frame[name], swap_day_month(form) or form
            day, month = parse_seconds(column, form).is_not_null(), parse_seconds(column, other).is_not_null()
            for here, there, own in ((day, month, form), (month, day, other)):
                if (here & ~there).any() and settled.setdefault(name, own) != own:
                    raise ValueError(
                        f"column {name!r} has dates with the day first and with the month first"
                        f" ({describe_cells(column, here & ~there)} of {piece.name}); write them as 2024-12-31"
                    )
    return settled


# --- tables for a model ----------------------------------------------------------------------------------


def model_chunks(
    learner: Any,
    pieces: Pieces,
    table: TableOptions,
    ids: Sequence[str] = (),
    answers: Sequence[str] = (),
    *,
    marks: dict[str, Counter[str]],
    numbers: Sequence[str],
) -> Pieces:
    """Select and convert the features of a model, and the columns `answers` and `numbers`."""
    columns = LearnedColumns.of_model(learner)
    names = columns.names
    if names is None:
        return replace(pieces, source=CheckedFiles(pieces.source))
    check_not_dropped(learner, table.dropped)
    unnamed = {*ids, *answers, *numbers}.difference(names)
    check_columns(learner, "the table", names, [name for name in pieces.columns or () if name not in unnamed])
    names = (*names, *numbers)
    others, known = [name for name in answers if name not in names], columns.known()
    text, forms = list(columns.text), dict(columns.forms)
    of_text = isinstance(pieces.source, TextFiles)
    rows = first_rows(replace(pieces, columns=tuple(names)), FORMAT_ROWS)
    if isinstance(pieces.source, TextFiles):
        print_notes(pieces.source.notes(rows))
    texts = text_columns(rows)
    marked = [column.set(are_missing_marks(column), None) for column in texts]
    rows = rows.select(column for column in marked if parse_plain_numbers(column).null_count() > column.null_count())
    new = _number_forms(rows, separator_of(pieces), {*text, *forms}, table.decimal)
    print_notes(new.notes)
    reject_percentages(rows, new.forms, known)
    plain = dict.fromkeys({*known.numbers, *numbers}.intersection(column.name for column in texts), PLAIN)
    text, forms = [*text, *(forms if of_text else ()), *(others if of_text else ())], forms | plain | new.forms
    how: dict[str, Any] = {
        "missing": columns.file_format(table.form).missing,
        "dates": table.dates,
        "verbatim": tuple(others),
        "marks": marks,
        "levels": columns.levels or {},
        "typed": columns.typed,
    }
    source = CheckedFiles(convert_files(columns_as_text(pieces.source, text), forms, **how))
    return replace(pieces, source=source, columns=(*names, *others))


def read_all_chunks(
    learner: Any,
    data: Sequence[Path],
    table: TableOptions,
    target_of: Callable[[list[str]], str],
    further: Mapping[str, str | None],
) -> tuple[pl.DataFrame, str]:
    """Return the rows of all files and the target; `further` are columns of numbers by option."""
    import polars as pl

    columns = LearnedColumns.of_model(learner)
    pieces = open_chunks(data, table, form=columns.file_format(table.form))
    files, target, marks = pieces.files, target_of(list(pieces.columns or ())), dict[str, Counter[str]]()
    info(f"{pluralize(len(files.paths), 'file')}, read as one table")
    separator = separator_of(pieces)
    names = list(pieces.columns or ())
    for option, name in further.items():
        if name is not None and name not in names:
            raise ValueError(f"{option} {name!r} is not a column; {suggest_names(name, names)}")
    numbers = [name for name in further.values() if name is not None]
    pieces = model_chunks(learner, pieces, table, answers=[target], marks=marks, numbers=numbers)
    n_rows: int = pieces.source.n_rows  # type: ignore[attr-defined]  # of files
    check_table_size(n_rows, len(pieces.columns or ()))
    frame = pl.concat([chunk_frame(piece) for piece in pieces], how="vertical_relaxed")
    files.check_unchanged()
    print_notes(missing_marks_note(name, counts, learned=True) for name, counts in marks.items())
    if not hasattr(learner, "classes_"):  # numbers, which have been read as text
        form = columns.target_form if target == columns.target else None
        known = KnownColumns(forms={target: form}) if form else KnownColumns(answers=frozenset([target]))
        read, found = convert_text_columns(frame.select(target), known, (), table.decimal, separator)
        print_notes(found.notes)
        frame = frame.with_columns(read[target])
    return frame, target
