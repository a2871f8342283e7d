"""Several files, a folder or a pattern as one table in memory, for commands that look at all rows at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.cli.columns import form_for, form_of_answers, pieced_columns_of
from committee.cli.inputs import frame_of, paths_of, scanned
from committee.cli.pieced_forms import separator_of
from committee.cli.table_options import TableOptions
from committee.cli.terminal import say, say_notes
from committee.data.text import pluralize

if TYPE_CHECKING:
    import polars as pl

    from committee.data.out_of_core.scan import Pieces
    from committee.data.readers.file_format import KnownColumns


def read_together(
    learner: Any, data: Sequence[Path], table: TableOptions, target_of: Callable[[list[str]], str]
) -> tuple[pl.DataFrame, str]:
    """Put the rows of files together: columns that the model learned from, and that of the answers.

    Parameters
    ----------
    learner : fitted learner
    data : sequence of path
        Files, folders or patterns.
    table : TableOptions
        How they are written.
    target_of : callable
        Names the column of the answers among all columns.

    Raises
    ------
    ValueError
        If the files are no one table, or the memory cannot hold it.
    """
    import polars as pl

    from committee.data.readers.cells import missing_marks_note
    from committee.data.readers.file_format import KnownColumns, check_table_size

    pieces = scanned(data, table, form=form_for(learner, table))
    files, target, marks = pieces.files, target_of(list(pieces.columns or ())), dict[str, Counter[str]]()
    say(f"{pluralize(len(paths_of(pieces)), 'file')}, read as one table")
    separator = separator_of(pieces)
    pieces = pieced_columns_of(learner, pieces, table, answers=[target], marks=marks)
    check_table_size(_n_rows(pieces), len(pieces.columns or ()))
    frame = pl.concat([frame_of(piece) for piece in pieces], how="vertical_relaxed")
    files.check_unchanged()
    say_notes(missing_marks_note(name, counts, learned=True) for name, counts in marks.items())
    if not hasattr(learner, "classes_"):
        form = form_of_answers(learner, target)
        known = KnownColumns(forms={target: form}) if form else KnownColumns(answers=frozenset([target]))
        frame = _with_numbers(frame, target, known, table, separator)
    return frame, target


def _n_rows(pieces: Pieces) -> int:
    n_rows: int = pieces.source.n_rows  # type: ignore[attr-defined]  # of files
    return n_rows


def _with_numbers(
    frame: pl.DataFrame, target: str, known: KnownColumns, table: TableOptions, separator: str
) -> pl.DataFrame:
    """Answers as numbers, which have been read as they stand."""
    from committee.data.readers.text_columns import convert_text_columns

    numbers, found = convert_text_columns(frame.select(target), known, (), table.decimal, separator)
    say_notes(found.notes)
    return frame.with_columns(numbers[target])
