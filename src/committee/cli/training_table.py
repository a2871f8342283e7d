"""Tables that models learn from, and messages about their target."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.cli.options import TrainingOptions
from committee.cli.terminal import print_notes

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from committee.data.number_types import F64
    from committee.data.out_of_core.scan import FileStamps


@dataclass(frozen=True)
class TrainingTable:
    """Features `X` (a frame, or chunks) and target `y` (n,), with metadata for the model.

    `rows` is a frame of all rows, or of the first ones of a table in chunks. `files` are the states of files in chunks
    before the target was read. `marks` counts the marks for missing cells in the last pass over chunks. `blanks` has,
    for columns without such cells in `rows`, a cell with blanks around it. `exposure` has one number per row.
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
    exposure: F64 | None = None
    blanks: dict[str, str] = field(default_factory=dict)

    @property
    def offset(self) -> dict[str, Any]:
        """Argument ``offset`` of fits and predictions: the logarithm of the exposure, if there is one."""
        import numpy as np

        return {} if self.exposure is None else {"offset": np.log(self.exposure)}

    @property
    def y_of_rows(self) -> NDArray[Any]:
        """Target of `rows`."""
        y: NDArray[Any] = self.y[: len(self.rows)]
        return y

    @property
    def paths(self) -> list[Path]:
        """Files that are read in chunks."""
        return [] if self.files is None else [path for path, *_ in self.files.states]

    @property
    def part(self) -> str:
        """Text on the sampled share of the rows, empty if all rows are used."""
        return part_of(len(self.rows), len(self.y))


def part_of(rows: int, n: int) -> str:
    """Return text for the first `rows` of `n` rows.

    Examples
    --------
    >>> part_of(10_000, 25_000), part_of(150, 150)
    (' of the first 10,000 rows', '')
    """
    return "" if rows == n else f" of the first {rows:,} rows"


def whole_table(
    data: Path,
    target: str,
    table: TrainingOptions,
    categorical: Sequence[str],
    *,
    numbers: bool = False,
    exposure: str | None = None,
    free_text: bool = False,
) -> TrainingTable:
    """Read a table into memory, print notes on it, and leave out identifiers.

    With `numbers` the target holds numbers; with `free_text` the model takes columns of sentences.
    """
    from committee.cli.exposure import take_exposure
    from committee.data.readers.cells import blanks_note, strip_cells
    from committee.data.readers.file_format import KnownColumns
    from committee.data.readers.tables import read_table_with_notes, reject_infinite_cells, split_target

    answers = [target] if numbers else []
    known = KnownColumns(answers=frozenset(answers if exposure is None else [*answers, exposure]))
    read = read_table_with_notes(data, categorical=categorical, drop=table.dropped, form=table.form, known=known)
    reject_infinite_cells(data, read.frame, table.form)
    frame, blanks = strip_cells(read.frame)
    frame, of_rows = drop_unlabelled(frame, target, strict=table.strict)
    notes = (*read.notes, *blanks_note(blanks), *of_rows)
    print_notes(notes)
    forms = {name: form for name, form in read.forms.items() if name not in (target, exposure)}
    if exposure == target:
        raise ValueError(f"--exposure {exposure!r} is the target; name another column")
    exposed = None
    if exposure is not None:
        frame, exposed = take_exposure(frame, exposure)
    X, y = split_target(frame, target)
    if of_case := case_notes(target, y):
        print_notes(of_case)
        notes += of_case
    learned = learnable_table(X, y, table, notes, forms, categorical, free_text=free_text)
    return replace(learned, target_form=read.forms.get(target), exposure=exposed)


def learnable_table(
    X: pl.DataFrame,
    y: NDArray[Any],
    table: TrainingOptions,
    notes: Sequence[str] = (),
    forms: Mapping[str, str] | None = None,
    categorical: Sequence[str] = (),
    *,
    free_text: bool = False,
) -> TrainingTable:
    """Select the feature columns of a frame, convert them to numbers and dates, and print `notes` and the new notes."""
    import polars as pl

    from committee.data.dates import kind_of_format, restore_times
    from committee.data.readers.cell_forms import convert_columns, find_time_formats
    from committee.data.readers.features import select_features

    times = find_time_formats(
        [column for column in X.get_columns() if column.name not in categorical], table.form.dates
    )
    X = convert_columns(X, times.forms)
    chosen = select_features(X, table.kept, categorical=categorical, free_text=free_text)
    found = (*times.notes, *chosen.notes)
    print_notes(found)
    # committees compute the months, weekdays and hours of dates, which must not look like numbers
    dates = {name: form for name, form in times.forms.items() if kind_of_format(form) == "date"}
    X = restore_times(X.drop(chosen.left_out), dates)
    if free_text:  # columns of a categorical type are no text
        X = X.with_columns(pl.col(name).cast(pl.Categorical) for name in categorical if X.schema.get(name) == pl.String)
    forms = {**(forms or {}), **times.forms}
    return TrainingTable(X, y, X, notes=(*notes, *found), forms=forms, missing=table.form.missing)


# --- the target ------------------------------------------------------------------------------------------


def drop_unlabelled(frame: pl.DataFrame, target: str, *, strict: bool) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Leave out rows without a target, with a note; keep them if `strict`, or if the target is missing in all rows."""
    if strict or target not in frame.columns:
        return frame, ()
    from committee.data.readers.cells import are_missing

    missing = are_missing(frame[target])
    n = int(missing.sum())
    if n in (0, frame.height):
        return frame, ()
    return frame.filter(~missing), (unlabelled_note(target, n, frame.height, int(missing.arg_max() or 0)),)


def unlabelled_note(target: str, n_missing: int, n: int, first: int) -> str:
    """Return a note on rows that are left out because they have no target."""
    rows = "1 row" if n_missing == 1 else f"{n_missing:,} rows"
    return f"{rows} of {n:,} without target {target!r} left out, the first row {first:,}; --strict refuses them"


def case_notes(target: str, y: NDArray[Any]) -> tuple[str, ...]:
    """Return a note on classes that differ by case alone."""
    if y.dtype.kind != "U":
        return ()
    same: dict[str, list[str]] = {}
    for label, count in sorted(Counter(y.tolist()).items()):
        same.setdefault(label.casefold(), []).append(f"{label!r} ({count:,})")
    groups = [" and ".join(group) for group in same.values() if len(group) > 1]
    if not groups:
        return ()
    shown = ", ".join(groups[:3]) + (f" and {len(groups) - 3:,} more" if len(groups) > 3 else "")
    return (f"target {target!r} has classes that differ by case alone: {shown}; write each in one way",)


def check_text_target(target: str, y: NDArray[Any]) -> None:
    """Refuse a target that is text because a few of its cells are not numbers."""
    import numpy as np

    from committee.data.labels import MOST_NUMERIC_CLASSES

    if len(np.unique(y)) <= MOST_NUMERIC_CLASSES:
        return
    import polars as pl

    from committee.data.readers.features import nearly_numeric_columns

    for nearly in nearly_numeric_columns(pl.DataFrame({target: y})):
        raise ValueError(f"target {nearly.name!r} is text, as {nearly.words}; drop these rows, or add --task classes")


def check_classes(target: str, y: NDArray[Any]) -> None:
    """Refuse numbers with decimals, and identifiers of the rows, as classes."""
    import numpy as np

    from committee.data.labels import all_integers, refuse_identifier

    if y.dtype.kind == "f" and not all_integers(y):
        first = float(y[y != np.floor(y)][0])
        raise ValueError(
            f"target {target!r} holds numbers with decimals, such as {first:.10g}, which cannot be classes; leave out"
            f" --task classes to predict numbers, or make them text by --categorical {shlex.quote(target)}"
        )
    refuse_identifier(len(np.unique(y)), len(y), f"target {target!r}")


def describe_target(target: str, y: NDArray[Any], numbers: bool) -> str:
    """Describe the target, and name the option that changes the task if both tasks are possible."""
    import numpy as np

    from committee.data.labels import all_integers
    from committee.data.text import pluralize

    values = np.unique(y).tolist()
    either = y.dtype.kind in "iuf" and all_integers(y) and len(values) > 2
    if numbers:
        other = "; --task classes predicts classes" if either and len(values) <= len(y) // 2 else ""
        return f"target {target!r}: numbers from {values[0]:.6g} to {values[-1]:.6g}{other}"
    other = "; --task numbers predicts numbers" if either else ""
    return f"target {target!r}: {pluralize(len(values), 'class', 'classes')}{other}"
