"""The table that `committee fit` learns from: whole, or in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.cli.inputs import are_in_pieces, scanned, words_of
from committee.cli.pieced_forms import forms_of_pieces
from committee.cli.reading import watched
from committee.cli.table_options import TrainingOptions
from committee.cli.terminal import say, say_notes

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from committee.data.out_of_core.scan import FileStamps, Pieces

SHOWN_ROWS = 10_000
"""Of a table in pieces what is said of its rows is said of the first so many."""


@dataclass(frozen=True)
class TrainingTable:
    """Features and labels.

    Parameters
    ----------
    X : frame or Pieces
        What a fit takes.
    y : array (n,)
        Labels.
    rows : frame
        All rows, or the first `SHOWN_ROWS`.
    files : FileStates or None
        Files in pieces, as they were before their labels were read.
    notes : tuple of str
        What has been pointed out of how files were read, and of their columns.
    forms : dict
        How numbers are written in the files, of columns where that is no matter of course.
    missing : tuple of str
        Cells that the user takes for missing.
    target_form : str or None
        How the numbers of the target are written, where that is no matter of course.
    marks : dict
        Of a table in pieces: common marks for missing cells that the last pass has met, by the name of the column.
    """

    X: Any
    y: NDArray[Any]
    rows: pl.DataFrame
    files: FileStamps | None = None
    notes: tuple[str, ...] = ()
    forms: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    target_form: str | None = None
    marks: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def y_of_rows(self) -> NDArray[Any]:
        """Labels of `rows`."""
        y: NDArray[Any] = self.y[: len(self.rows)]
        return y

    @property
    def paths(self) -> list[Path]:
        """The files that are read in pieces."""
        return [] if self.files is None else [path for path, *_ in self.files.states]

    @property
    def part(self) -> str:
        """What share of the rows `rows` are, where they are not all."""
        return part_of(len(self.rows), len(self.y))


def part_of(rows: int, n: int) -> str:
    """Words for the first rows where they are not all.

    Examples
    --------
    >>> part_of(10_000, 25_000), part_of(150, 150)
    (' of the first 10,000 rows', '')
    """
    return "" if rows == n else f" of the first {rows:,} rows"


def training_table(
    data: Sequence[Path],
    target: str,
    table: TrainingOptions,
    *,
    categorical: Sequence[str],
    memory_limit: str | None,
    scratch: Path | None,
    progress: bool | None,
    bar: bool,
    numbers: bool = False,
) -> TrainingTable:
    """Read a table whole, or the labels of one in pieces; point out what is odd, and leave out identifiers."""
    from committee.data.out_of_core.file_sources import convert_files
    from committee.data.readers.cell_forms import PLAIN, WHOLE, convert_columns
    from committee.data.readers.features import select_features

    if not are_in_pieces(data, memory_limit, scratch):
        return whole_table(data[0], target, table, categorical, numbers=numbers)
    pieces = scanned(data, table, text=categorical, memory_limit=memory_limit, scratch=scratch)
    say(words_of(pieces))
    found = forms_of_pieces(pieces, target, table, categorical, SHOWN_ROWS)
    pieces = found.pieces
    assert pieces.columns is not None
    files, seen = pieces.files, watched(pieces, "reading", wanted=progress, bar=bar)
    how = {"missing": table.form.missing, "dates": table.dates}
    y = labels_of(replace(seen, source=convert_files(seen.source, found.forms, **how)), target)
    forms = _without(found.forms, target)
    rows = convert_columns(found.rows.drop(target), forms, table.dates)
    chosen = select_features(rows, table.kept, part_of(len(rows), len(y)), categorical)
    notes = (*found.notes, *chosen.notes)
    say_notes(notes)
    columns = tuple(name for name in pieces.columns if name not in (target, *chosen.left_out))
    marks: dict[str, Counter[str]] = {}
    seen = replace(seen, source=convert_files(seen.source, forms, **how, marks=marks), columns=columns)
    kept = {name: form for name, form in forms.items() if form not in (PLAIN, WHOLE)}
    of_target = found.forms.get(target)
    return TrainingTable(
        seen,
        y,
        rows.select(columns),
        files,
        notes,
        kept,
        table.form.missing,
        None if of_target in (PLAIN, WHOLE) else of_target,
        marks,
    )


def whole_table(
    data: Path, target: str, table: TrainingOptions, categorical: Sequence[str], *, numbers: bool = False
) -> TrainingTable:
    """Read a table whole, point out what is odd of it, and leave out identifiers; `numbers`: the target holds such."""
    from committee.data.readers.file_format import KnownColumns
    from committee.data.readers.tables import read_table_with_notes, split_target

    known = KnownColumns(answers=frozenset([target] if numbers else []))
    read = read_table_with_notes(data, categorical=categorical, drop=table.dropped, form=table.form, known=known)
    say_notes(read.notes)
    X, y = split_target(read.frame, target)
    learned = learned_from(X, y, table, read.notes, _without(read.forms, target), categorical)
    return replace(learned, target_form=read.forms.get(target))


def _without(forms: Mapping[str, str], target: str) -> dict[str, str]:
    return {name: form for name, form in forms.items() if name != target}


def learned_from(
    X: pl.DataFrame,
    y: NDArray[Any],
    table: TrainingOptions,
    notes: Sequence[str] = (),
    forms: Mapping[str, str] | None = None,
    categorical: Sequence[str] = (),
) -> TrainingTable:
    """Take the columns of a table in memory that are learned from, as numbers, and point out what is odd of it.

    `notes` have been said before.
    """
    from committee.data.readers.cell_forms import convert_columns, find_time_formats
    from committee.data.readers.features import select_features

    times = find_time_formats(
        [column for column in X.get_columns() if column.name not in categorical], table.form.dates
    )
    X = convert_columns(X, times.forms)
    chosen = select_features(X, table.kept, categorical=categorical)
    found = (*times.notes, *chosen.notes)
    say_notes(found)
    X = X.drop(chosen.left_out)
    forms = {**(forms or {}), **times.forms}
    return TrainingTable(X, y, X, notes=(*notes, *found), forms=forms, missing=table.form.missing)


def labels_of(pieces: Pieces, target: str) -> NDArray[Any]:
    """Read the labels alone, as `split_target` takes them off a table in memory.

    Raises
    ------
    ValueError
        If there is no such column, no other column, a label is missing, or labels are neither text, numbers nor
        booleans, naming the piece.
    """
    import numpy as np

    from committee.data.out_of_core.training_pass import TargetCollector
    from committee.data.text import suggest_names

    names = pieces.columns or ()
    if target not in names:
        raise ValueError(f"target {target!r} is no column; {suggest_names(target, names)}")
    if len(names) == 1:
        raise ValueError(f"target {target!r} is the only column; a table needs at least one more")
    found = TargetCollector(target, None)
    for piece in replace(pieces, columns=(target,)):
        with piece.named_in_errors():
            labels = piece.column(target)
            if labels.dtype.kind not in "Ubiuf":
                raise ValueError(f"target {target!r} holds {labels.dtype}; make its labels text, numbers or booleans")
            if labels.dtype.kind == "f" and (missing := int(np.isnan(labels).sum())):
                raise ValueError(
                    f"target {target!r} is missing in {missing} rows; drop these rows, or fill in their labels"
                )
            found.take(piece)
    y: NDArray[Any] | None = found.labels()
    if y is None:
        raise ValueError("the files have 0 rows; at least one is needed")
    return y
