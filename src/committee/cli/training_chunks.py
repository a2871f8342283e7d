"""Tables in chunks that models learn from: the target, exposures, weights, and the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.chunks import (
    chunk_frame,
    detect_formats,
    files_in_chunks,
    first_rows,
    open_chunks,
    with_progress,
)
from committee.cli.options import TrainingOptions
from committee.cli.row_columns import (
    RowColumns,
    RowValues,
    check_exposure_column,
    numbers_of,
    refuse_no_weight,
    take_row_columns,
)
from committee.cli.terminal import info, print_notes
from committee.cli.training_table import TrainingTable, part_of
from committee.data.dates import KNOWN_TIME_FORMATS
from committee.data.labels import infer_task
from committee.data.out_of_core.converted_files import CheckedFiles
from committee.data.out_of_core.scan import Pieces, draw_stratified_rows, read_numbered_rows
from committee.data.out_of_core.training_pieces import TargetCollector
from committee.data.readers.cell_forms import PLAIN, WHOLE
from committee.data.readers.cells import blanks_note, missing_marks_note
from committee.data.readers.features import learned_features, select_features
from committee.data.readers.tables import case_notes, split_target, unlabelled_note
from committee.data.text import pluralize, reworded_errors, suggest_names

SHOWN_ROWS = 10_000
"""Number of first rows from which columns are described."""


@dataclass(frozen=True)
class RowNumbers:
    exposure: str | None = None
    weight: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.exposure, self.weight) if name is not None)

    def check(self, pieces: Pieces, target: str) -> None:
        weight = {} if self.weight is None else {"--weight": self.weight}
        check_exposure_column(self.exposure, target, weight)
        for option, name in (("--exposure", self.exposure), *weight.items()):
            if name is not None and name not in (pieces.columns or ()):
                raise ValueError(f"{option} {name!r} is not a column; {suggest_names(name, pieces.columns or ())}")

    def read(self, pieces: Pieces) -> dict[str, NDArray[np.float64]]:
        import polars as pl

        if not self.names:
            return {}
        parts: list[pl.DataFrame] = []
        for piece in replace(pieces, columns=self.names):
            with piece.named_in_errors():
                frame = chunk_frame(piece)
                found = {
                    name: numbers_of(frame[name], "exposure" if exposed else "weight", positive=exposed)
                    for name, exposed in ((self.exposure, True), (self.weight, False))
                    if name is not None
                }
            parts.append(pl.DataFrame(found))
        return {name: column.to_numpy() for name, column in pl.concat(parts).to_dict().items()}


def training_chunks(
    data: Sequence[Path],
    target: str,
    table: TrainingOptions,
    categorical: Sequence[str],
    memory_limit: str | None,
    scratch: Path | None,
    progress: bool | None,
    *,
    numbers: RowNumbers,
    bar: bool,
) -> TrainingTable:
    pieces = open_chunks(data, table, text=categorical, memory_limit=memory_limit, scratch=scratch)
    numbers.check(pieces, target)
    info(files_in_chunks(pieces))
    found = detect_formats(pieces, target, table, categorical, SHOWN_ROWS)
    pieces = found.pieces
    assert pieces.columns is not None
    files, shown = pieces.files, with_progress(pieces, "reading", wanted=progress, bar=bar)
    found = replace(found, pieces=shown)
    needed = None if table.strict else target
    y, of_target = read_target(shown, found.checked(needed, table)[0], target)
    unshown = replace(pieces, source=replace(found, pieces=pieces).checked(needed, table)[0])
    of_rows = numbers.read(unshown)
    rows = first_rows(unshown, SHOWN_ROWS).drop(target, *numbers.names)
    dates = [name for name, form in found.forms.items() if name in rows.columns and form in KNOWN_TIME_FORMATS]
    left_out, of_columns = select_features(rows, (*table.kept, *dates), part_of(len(rows), len(y)), categorical)
    notes = (*found.notes, *of_target, *of_columns)
    print_notes(notes)
    columns = tuple(name for name in pieces.columns if name not in (target, *numbers.names, *left_out))
    marks: dict[str, Counter[str]] = {}
    source, blanks = found.checked(needed, table, marks)
    X = replace(shown, source=source, columns=columns)
    forms = {name: form for name, form in found.forms.items() if name not in (target, *numbers.names)}
    kept = {name: form for name, form in forms.items() if form not in (PLAIN, WHOLE)}
    target_form = found.forms.get(target)
    target_form = None if target_form in (PLAIN, WHOLE) else target_form
    exposure = None if numbers.exposure is None else of_rows[numbers.exposure]
    weights = None if numbers.weight is None else of_rows[numbers.weight]
    if weights is not None:
        refuse_no_weight(weights, numbers.weight)
    values = RowValues(weights=weights)
    known: dict[str, Any] = {"blanks": blanks, "exposure": exposure, "values": values}
    return TrainingTable(
        X, y, rows.select(columns), files, notes, kept, table.form.missing, target_form, marks, **known
    )


def sample_rows(
    data: list[Path],
    target: str,
    categorical: tuple[str, ...],
    table: TrainingOptions,
    sample: int,
    progress: bool | None,
    columns: RowColumns,
) -> tuple[TrainingTable, list[Path]]:
    if sample < 1:
        raise ValueError(f"--sample {sample} must be at least 1")
    pieces = open_chunks(data, columns.to_read(table), text=categorical)
    found = detect_formats(pieces, target, table, categorical, SHOWN_ROWS)
    marks: dict[str, Counter[str]] = {}
    files, pieces = found.pieces.files, with_progress(found.pieces, "reading", wanted=progress)
    source, blanks = replace(found, pieces=pieces).checked(None if table.strict else target, table, marks)
    y, of_target = read_target(pieces, source, target)
    pieces = replace(pieces, source=source)
    rows = draw_stratified_rows(y if infer_task(y) == "classes" else np.zeros(len(y), dtype=np.intp), sample)
    info(f"{files_in_chunks(pieces)}; a sample of {len(rows):,} of {pluralize(len(y), 'row')}")
    frame = read_numbered_rows(pieces, rows)
    files.check_unchanged()
    of_marks = (missing_marks_note(name, counts) for name, counts in marks.items())
    notes = (*found.notes, *of_target, *of_marks, *blanks_note(blanks))
    given, y = split_target(frame, target)
    with reworded_errors(columns.named_options):
        keep = (*table.kept, *columns.named.values())
        learned = learned_features(given, table.dates, keep, columns.numeric, categorical, free_text=False)
    notes += learned.notes
    print_notes(notes)
    X, values = take_row_columns(learned.X, columns, table.dropped)
    known = dict[str, Any](notes=notes, forms=learned.forms, missing=table.form.missing, values=values)
    return TrainingTable(X, y, X, **known), files.paths


def read_target(pieces: Pieces, source: CheckedFiles, target: str) -> tuple[NDArray[Any], tuple[str, ...]]:
    names = pieces.columns or ()
    if target not in names:
        raise ValueError(f"target {target!r} is not a column; {suggest_names(target, names)}")
    if len(names) == 1:
        raise ValueError(f"target {target!r} is the only column; a table needs at least one more")
    found = TargetCollector(target, None)
    for piece in replace(pieces, source=source, columns=(target,)):
        with piece.named_in_errors():
            labels = piece.column(target)
            if labels.dtype.kind not in "Ubiuf":
                raise ValueError(f"target {target!r} holds {labels.dtype}; convert it to text, numbers or booleans")
            if labels.dtype.kind == "f" and (missing := int(np.isnan(labels).sum())):
                raise ValueError(
                    f"target {target!r} is missing in {pluralize(missing, 'row')}; drop these rows, or fill in the "
                    "target"
                )
            found.take(piece)
    y: NDArray[Any] | None = found.labels()
    n_missing, n, *first = source.left_out
    if y is None and n:
        raise ValueError(f"target {target!r} is missing in {n:,} of {n:,} rows; fill it in, or name another column")
    if y is None:
        raise ValueError("the files have 0 rows; at least one is needed")
    notes = (unlabelled_note(target, n_missing, n, *first),) if n_missing else ()
    return y, (*notes, *case_notes(target, y))
