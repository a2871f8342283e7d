"""Rows of a comparison: targets of classes or numbers, tables, weights, and groups or times that make the folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.columns import is_frame, open_frame, take_named
from committee.data.labels import MOST_NUMERIC_CLASSES, Task, infer_task
from committee.data.number_types import F64
from committee.data.rows import checked_weights
from committee.data.table_schema import TableSchema
from committee.data.text import check_names, pluralize, quoted
from committee.report.folds import Folds, Rows, date_columns, shuffled_note

# --- targets ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Labels:
    """`codes` (n,) are indices in the sorted labels `classes` (K,)."""

    classes: NDArray[Any]
    codes: NDArray[np.intp]
    name: str

    @classmethod
    def read(cls, y: Any, name: str | None = None) -> Labels:
        return cls._of(*_one_column(y, name))

    @classmethod
    def _of(cls, values: NDArray[Any], name: str) -> Labels:
        if values.dtype.kind == "O" and len({type(value) for value in values}) > 1:
            raise ValueError(f"column {name!r} mixes types of labels; make them all text or all numbers")
        classes, codes = np.unique(values, return_inverse=True)
        if classes.size < 2:
            n = pluralize(classes.size, "class", "classes")
            raise ValueError(f"column {name!r} has {n}; a comparison needs at least two: name another target")
        if values.dtype.kind in "iuf" and classes.size > MOST_NUMERIC_CLASSES:
            raise ValueError(
                f"column {name!r} is numeric with {classes.size} distinct values, too many for classes (at most"
                f" {MOST_NUMERIC_CLASSES}): give task='numbers', bin them, or name another target"
            )
        return cls(classes, codes.astype(np.intp), name)

    def check_folds(self, folds: int) -> list[str]:
        counts = np.bincount(self.codes)
        rare = {str(c): int(k) for c, k in zip(self.classes, counts, strict=True) if k < folds}
        single = [c for c, k in rare.items() if k == 1]
        if single:
            raise ValueError(
                f"class(es) {quoted(single)} of column {self.name!r} have 1 row each, which cannot be both trained on"
                " and tested; drop those rows or merge the classes"
            )
        if counts.max() < folds:
            raise ValueError(
                f"folds={folds} is more than any class of column {self.name!r} has rows; use at most {counts.max()}"
            )
        if not rare:
            return []
        named = ", ".join(f"{c!r} ({k} rows)" for c, k in list(rare.items())[:5]) + (", ..." if len(rare) > 5 else "")
        return [
            f"column {self.name!r} has classes with fewer rows than folds={folds}, so some folds test without"
            f" them: {named}; use folds={min(rare.values())}, or merge classes"
        ]


@dataclass(frozen=True, eq=False)
class Numbers(Labels):
    """No `classes`, and zeros as `codes`, so that folds are not stratified."""

    values: F64

    @classmethod
    def _of(cls, values: NDArray[Any], name: str) -> Numbers:
        if values.dtype.kind not in "biuf":
            raise ValueError(f"column {name!r} does not hold numbers; give task='classes', or name another target")
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"column {name!r} holds infinite numbers; drop those rows first")
        if np.ptp(numbers) == 0.0:
            raise ValueError(f"column {name!r} holds {numbers[0]:g} in all rows; name another target")
        return cls(np.empty(0), np.zeros(numbers.size, dtype=np.intp), name, numbers)

    def check_folds(self, folds: int) -> list[str]:
        if folds > self.values.size:
            raise ValueError(f"folds={folds} is more than the {self.values.size} rows; use fewer")
        return []


def read_target(y: Any, name: str | None = None, task: Task | None = None) -> Labels:
    if task not in (None, "classes", "numbers"):
        raise ValueError(f"task={task!r} is neither 'classes' nor 'numbers'")
    values, name = _one_column(y, name)
    kind = Numbers if (task or infer_task(values)) == "numbers" else Labels
    return kind._of(values, name)


def _one_column(y: Any, name: str | None) -> tuple[NDArray[Any], str]:
    import narwhals as nw

    series = nw.from_native(y, series_only=True, pass_through=True)
    name = name or str(getattr(y, "name", None) or "target")
    missing = 0
    if isinstance(series, nw.Series):
        missing = int(series.is_null().sum())
        values = np.asarray(series.to_list()) if missing == 0 else np.empty(len(series), dtype=object)
    else:
        values = np.asarray(y)
    if values.ndim != 1:
        raise ValueError(f"labels must be one column; got an array of shape {values.shape}")
    if missing == 0 and values.dtype.kind in "fO":
        missing = sum(value is None or value != value for value in values.tolist())
    if missing:
        labels = pluralize(missing, "missing label")
        raise ValueError(f"column {name!r} has {labels} in {len(values)} rows; drop those rows first")
    return values, name


def rows_of(frame: Any, rows: Rows) -> Any:
    return frame[rows] if isinstance(frame, np.ndarray) else open_frame(frame)[rows.tolist()].to_native()


@dataclass(frozen=True, eq=False)
class Table:
    frame: Any
    labels: Labels
    weights: F64 | None = None

    def __post_init__(self) -> None:
        if len(self.frame) != self.labels.codes.size:
            raise ValueError(
                f"the table has {len(self.frame)} rows but there are {self.labels.codes.size} labels; give one for each"
            )

    def rows(self, rows: Rows) -> Any:
        return rows_of(self.frame, rows)

    def encoded(self) -> tuple[TableSchema, NDArray[np.float64]]:
        schema = TableSchema.learn(self.frame)
        return schema, schema.encode(self.frame)


# --- rows of a comparison ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComparedRows:
    table: Table
    groups: NDArray[Any] | None
    time: Any
    names: dict[str, str]  # of the columns or series given as "groups", "time" and "sample_weight"

    @classmethod
    def of(cls, frame: Any, y: Any, task: Task | None, target: str | None, **given: Any) -> ComparedRows:
        """`given` are `groups`, `time` and `sample_weight`, as for `compare`."""
        found = {key: value if isinstance(value, str) else getattr(value, "name", None) for key, value in given.items()}
        names = {key: name for key, name in found.items() if isinstance(name, str) and name}
        time = given.pop("time")
        if isinstance(time, str) and is_frame(frame):  # stays a feature
            check_names([time], open_frame(frame).columns, "time")
            time = open_frame(frame)[time].to_native()
        frame, groups, weights = take_named(frame, **given)
        frame = frame if is_frame(frame) else np.asarray(frame)
        for name, values in (("groups", groups), ("time", time)):
            if values is not None and np.shape(values) != (len(frame),):
                raise ValueError(f"{name} has shape {np.shape(values)}; give one value for each of {len(frame)} rows")
        label_name = target or getattr(y, "name", None)
        if weights is None:
            return cls(Table(frame, read_target(y, label_name, task)), groups, time, names)
        weights = np.asarray(checked_weights(weights, np.empty((len(frame), 0))))
        if not weights.all():
            counted = np.flatnonzero(weights)
            frame, weights, y = rows_of(frame, counted), weights[counted], np.asarray(y)[counted]
            groups, time = (None if each is None else np.asarray(each)[counted] for each in (groups, time))
        return cls(Table(frame, read_target(y, label_name, task), weights), groups, time, names)

    def folds(self, folds: int, repeats: int, seed: int) -> Folds:
        return Folds.of(
            folds,
            repeats,
            seed,
            groups=self.groups,
            time=self.time,
            group_name=self.names.get("groups", "groups"),
            time_name=self.names.get("time", "time"),
        )

    def notes(self, plan: Folds) -> list[str]:
        if plan.words:
            return []
        dates = date_columns(self.table.frame)
        return [*self.table.labels.check_folds(plan.folds), *([shuffled_note(dates)] if dates else [])]
