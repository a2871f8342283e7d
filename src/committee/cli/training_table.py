"""Tables that models learn from, their targets, and their folds of groups or times."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.options import TrainingOptions
from committee.cli.row_columns import (
    NO_COLUMNS,
    RowColumns,
    RowValues,
    check_exposure_column,
    take_exposure,
    take_row_columns,
)
from committee.cli.terminal import print_notes
from committee.data.labels import MOST_NUMERIC_CLASSES, all_integers, refuse_identifier
from committee.data.number_types import F64
from committee.data.readers.features import nearly_numeric_columns
from committee.data.readers.table_reader import TableReader
from committee.data.text import pluralize, reworded_errors

if TYPE_CHECKING:
    import polars as pl

    from committee.data.out_of_core.scan import FileStamps
    from committee.report.folds import Folds, Split


@dataclass(frozen=True)
class TrainingTable:
    """Features `X` (a frame, or chunks) and target `y` (n,); `rows` are the first rows of chunks, or all rows."""

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
    values: RowValues = field(default_factory=RowValues)

    @property
    def offset(self) -> dict[str, Any]:
        return {} if self.exposure is None else {"offset": np.log(self.exposure)}

    def as_rates(self, learner: Any) -> TrainingTable:
        """Return y / exposure as target, and row weights exposure^(2 - p) for a loss of variance power p."""
        assert self.exposure is not None
        power = 2.0 - getattr(getattr(learner, "number_loss", None), "variance_power", 1.0)
        units = (self.exposure / self.exposure.mean()) ** power
        weights = units if self.values.weights is None else units * self.values.weights
        return replace(self, y=self.y / self.exposure, exposure=None, values=replace(self.values, weights=weights))

    @property
    def part(self) -> str:
        return part_of(len(self.rows), len(self.y))


def part_of(rows: int, n: int) -> str:
    return "" if rows == n else f" of the first {rows:,} rows"


class PrintingReader(TableReader):
    @staticmethod
    def _worded(text: str) -> str:
        return text

    def _tell(self, notes: Sequence[str]) -> None:
        print_notes(notes)


def whole_table(
    data: Path,
    target: str,
    table: TrainingOptions,
    categorical: Sequence[str],
    *,
    numbers: bool = False,
    exposure: str | None = None,
    free_text: bool = False,
    columns: RowColumns = NO_COLUMNS,
) -> TrainingTable:
    check_exposure_column(exposure, target, columns.named)
    numeric = [*([target] if numbers else []), *([] if exposure is None else [exposure]), *columns.numeric]
    reader = PrintingReader(
        target,
        **table.reader_settings,
        categorical=categorical,
        numeric=numeric,
        drop=columns.to_read(table).dropped,
        keep=(*table.kept, *columns.named.values()),
        strict=table.strict,
        free_text=free_text,
    )
    with reworded_errors(columns.named_options):
        X, y = reader.fit_read(data)
    exposed = None
    if exposure is not None:
        X, exposed = take_exposure(X, exposure)
    X, values = take_row_columns(X, columns, table.dropped)
    forms = {name: form for name, form in reader.forms_.items() if name in X.columns}
    known: dict[str, Any] = {"missing": table.form.missing, "target_form": reader.target_form_, "values": values}
    return TrainingTable(X, y, X, notes=reader.notes_, forms=forms, exposure=exposed, **known)


# --- the target ------------------------------------------------------------------------------------------


def check_text_target(target: str, y: NDArray[Any]) -> None:
    if len(np.unique(y)) <= MOST_NUMERIC_CLASSES:
        return
    import polars as pl

    for cells in nearly_numeric_columns(pl.DataFrame({target: y})).values():
        raise ValueError(f"target {target!r} is text, as {cells}; drop these rows, or add --task classes")


def check_classes(target: str, y: NDArray[Any]) -> None:
    if y.dtype.kind == "f" and not all_integers(y):
        first = float(y[y != np.floor(y)][0])
        raise ValueError(
            f"target {target!r} holds numbers with decimals, such as {first:.10g}, which cannot be classes; leave out"
            f" --task classes to predict numbers, or make them text by --categorical {shlex.quote(target)}"
        )
    refuse_identifier(len(np.unique(y)), len(y), f"target {target!r}")


def describe_target(target: str, y: NDArray[Any], numbers: bool) -> str:
    values = np.unique(y).tolist()
    either = y.dtype.kind in "iuf" and all_integers(y) and len(values) > 2
    if numbers:
        other = "; --task classes predicts classes" if either and len(values) <= len(y) // 2 else ""
        return f"target {target!r}: numbers from {values[0]:.6g} to {values[-1]:.6g}{other}"
    other = "; --task numbers predicts numbers" if either else ""
    return f"target {target!r}: {pluralize(len(values), 'class', 'classes')}{other}"


# --- folds -----------------------------------------------------------------------------------------------

FOLDS = 5


def folds_of_fit(columns: RowColumns, rows: TrainingTable, folds: int) -> Folds:
    from committee.report.folds import Folds

    names = {"groups": columns.group, "time": columns.time}
    return Folds.of(folds, groups=rows.values.groups, time=rows.values.time, names=names)


def check_folds(columns: RowColumns, rows: TrainingTable, folds: int, *, of_classes: bool) -> list[Split]:
    if not (folds and columns.set_folds):
        return []
    codes = np.unique(rows.y, return_inverse=True)[1] if of_classes else np.zeros(len(rows.y), dtype=np.intp)
    return folds_of_fit(columns, rows, folds).splits(codes, of_classes=of_classes)


def dates_note(columns: RowColumns, rows: TrainingTable) -> list[str]:
    from committee.report.folds import date_columns, shuffled_note

    dates = [] if columns.set_folds else date_columns(rows.rows)
    return [shuffled_note(dates)] if dates else []


@contextmanager
def committee_folds(learner: Any, columns: RowColumns, rows: TrainingTable, *, of_classes: bool) -> Iterator[None]:
    """Give a committee the folds of groups or times for a fit."""
    if not columns.set_folds:
        yield
        return
    n = FOLDS if learner.cv is None else learner.cv
    if not isinstance(n, int):
        raise ValueError(f"-p cv={n!r} must be a number of folds, with --group or --time")
    try:
        splits = check_folds(columns, rows, n, of_classes=of_classes)
    except ValueError as error:
        raise ValueError(str(error).replace("folds=", "-p cv=")) from error
    if of_classes:
        _check_classes(splits, rows, columns)
    learner.set_params(cv=splits)
    try:
        yield
    finally:
        learner.set_params(cv=n)  # model files do not store row numbers


def _check_classes(splits: list[Split], rows: TrainingTable, columns: RowColumns) -> None:
    for k, (train, _) in enumerate(splits):
        if len(absent := np.setdiff1d(rows.y, rows.y[train])):
            groups = rows.values.groups
            if groups is not None and groups.filter(rows.y == absent[0]).n_unique() == 1:
                raise ValueError(
                    f"class {str(absent[0])!r} has rows in one group of {columns.group!r} only, and every member needs"
                    " all classes, which no number of folds gives; leave out rows of this class, or --group"
                )
            by, change = (columns.group, "more") if columns.time is None else (columns.time, "fewer")
            raise ValueError(
                f"fold {k + 1} by {by!r} has no training row of class {str(absent[0])!r},"
                f" and every member needs all classes; use {change} folds by -p cv=NUMBER,"
                " or leave out rows of this class"
            )
