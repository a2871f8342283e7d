"""Folds of a cross-validation, and the labelled rows that they divide: targets, tables, weights, groups and times."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.columns import is_frame, open_frame, take_named
from committee.data.labels import MOST_NUMERIC_CLASSES, Task, infer_task
from committee.data.number_types import F64
from committee.data.rows import checked_weights
from committee.data.table_schema import TableSchema
from committee.data.text import check_names, pluralize, quoted
from committee.learners.base.row_sampling import group_numbers

Rows: TypeAlias = NDArray[np.intp]
Split: TypeAlias = tuple[Rows, Rows]


@dataclass(frozen=True, eq=False)
class Folds:
    """Rules of a cross-validation: folds at random, of whole `groups` (n,), or in the order of `time` (n,)."""

    folds: int
    repeats: int = 1
    seed: int = 0
    groups: Rows | None = None  # numbers of the groups
    time: F64 | None = None  # fold k tests part k + 1 of the rows by a fit on parts 1 to k
    group_name: str | None = None
    time_name: str | None = None

    @classmethod
    def of(
        cls,
        folds: int,
        repeats: int = 1,
        seed: int = 0,
        *,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        names: Mapping[str, str | None] | None = None,
    ) -> Self:
        group_name, time_name = ((names or {}).get(key) for key in ("groups", "time"))
        if groups is not None and time is not None:
            raise ValueError("groups and time are both given; folds are either of whole groups, or in order of time")
        if time is not None and repeats > 1:
            raise ValueError(f"repeats={repeats} does not go with time, which gives one order; use repeats=1")
        numbers = None
        if groups is not None:
            numbers = group_numbers(groups, np.ones(len(np.asarray(groups)), dtype=bool))
            if (n := int(numbers.max()) + 1) < folds:
                raise ValueError(
                    f"{group_name or 'groups'} has {n} groups, fewer than folds={folds}; use folds={n} at most"
                )
        moments = None if time is None else _moments(time, time_name or "time")
        return cls(folds, repeats, seed, numbers, moments, group_name, time_name)

    def take(self, rows: Rows) -> Self:
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, groups=groups, time=None if self.time is None else self.time[rows])

    @property
    def words(self) -> str:
        if self.time is not None:
            return f"in order of {self.time_name!r}" if self.time_name else "in order of time"
        if self.groups is None:
            return ""
        return f"of whole groups of {self.group_name!r}" if self.group_name else "of whole groups"

    @property
    def digest(self) -> str:
        given = self.groups if self.time is None else self.time
        return "" if given is None else blake2b(np.ascontiguousarray(given).data, digest_size=16).hexdigest()

    def splits(self, codes: Rows, *, of_classes: bool) -> list[Split]:
        """Return training and test rows of every fold; `codes` (n,) are class indices."""
        if self.time is not None:
            found = time_splits(self.time, self.folds, self.time_name or "time")
        elif self.groups is not None:
            found = self._group_splits(codes, of_classes=of_classes)
        else:
            return stratified_folds(codes, self.folds, self.repeats, self.seed)
        for k, (train, test) in enumerate(found):
            if of_classes and len(np.unique(codes[train])) < 2:
                if self.groups is not None and _one_group_divides(codes, self.groups):
                    raise ValueError(
                        f"the training rows of fold {k + 1} {self.words} are of one class, with any number of folds,"
                        " as all rows of the other classes are in one group; leave out groups="
                    )
                other, option = ("more", "groups") if self.time is None else ("fewer", "time")
                folds = f"use {other} folds than folds={self.folds}, or " if other == "more" or self.folds > 2 else ""
                raise ValueError(
                    f"the training rows of fold {k + 1} {self.words} are of one class; {folds}leave out {option}="
                )
            if not len(test):
                raise ValueError(f"fold {k + 1} {self.words} has no rows; use fewer folds than folds={self.folds}")
        return found

    def _group_splits(self, codes: Rows, *, of_classes: bool) -> list[Split]:
        from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

        kind: Any = StratifiedGroupKFold if of_classes else GroupKFold
        found: list[Split] = []
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            for repeat in range(self.repeats):
                splitter = kind(n_splits=self.folds, shuffle=True, random_state=self.seed + repeat)
                found += splitter.split(np.zeros((codes.size, 1)), codes, self.groups)
        return found


def _one_group_divides(codes: Rows, groups: Rows) -> bool:
    """Return whether the rows outside some group are of fewer than two classes."""
    pairs = np.unique(np.stack([codes, groups]), axis=1)
    classes, n_groups = np.unique(pairs[0], return_counts=True)
    alone = pairs[1, np.isin(pairs[0], classes[n_groups == 1])]  # group of each class that is in one group only
    return len(alone) > 0 and len(classes) - int(np.bincount(alone).max()) < 2


def stratified_folds(codes: Rows, folds: int, repeats: int, seed: int) -> list[Split]:
    from sklearn.model_selection import RepeatedStratifiedKFold

    with warnings.catch_warnings():
        # Labels.check_folds has named the classes that are too small for every fold
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        return list(splitter.split(np.zeros((codes.size, 1)), codes))


def time_splits(time: F64, folds: int, name: str = "time") -> list[Split]:
    order = np.argsort(time, kind="stable")
    starts = np.flatnonzero(np.diff(time[order])) + 1  # of a new time
    for n in range(min(folds, len(starts)), 0, -1):
        wanted = len(time) * np.arange(1, n + 1) / (n + 1)
        cuts = np.unique(starts[np.abs(starts[None, :] - wanted[:, None]).argmin(axis=1)])
        if len(cuts) == folds:
            ends = [*cuts[1:], len(time)]
            return [(order[:cut], order[cut:end]) for cut, end in zip(cuts, ends, strict=True)]
        if len(cuts) == n:
            times = pluralize(len(starts) + 1, "different value")
            remedy = f"use folds={n}" if n > 1 else "leave it out"
            raise ValueError(
                f"{name} has {times}, too few or too unevenly spread for folds={folds} in their order; {remedy}"
            )
    raise ValueError(f"{name} is the same in all rows, and gives no order of folds; leave it out")


def date_columns(frame: Any) -> list[str]:
    if not is_frame(frame):
        return []
    import narwhals as nw

    return [name for name, kind in open_frame(frame).schema.items() if isinstance(kind, nw.Date | nw.Datetime)]


def shuffled_note(names: list[str]) -> str:
    verb = "holds" if len(names) == 1 else "hold"
    column = "column" if len(names) == 1 else "columns"
    return (
        f"{column} {quoted(names, 4)} {verb} dates, and the folds are drawn at random: scores are of rows between those"
        f" trained on. To predict later rows from earlier ones, take folds in order by time={names[0]!r}"
    )


def _moments(time: ArrayLike, name: str) -> F64:
    # times as numbers in the same order
    import narwhals as nw

    series = nw.from_native(time, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and isinstance(series.dtype, nw.Date | nw.Datetime):
        time = [np.nan if each is None else float(each) for each in series.dt.timestamp("us").to_list()]
    values = np.asarray(time)
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}; give one time for each row")
    if values.dtype.kind == "M":
        missing = np.isnat(values)
        numbers = values.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    elif values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        missing = np.isnan(numbers)
    else:
        raise ValueError(f"{name} holds {values.dtype}, which has no order of time; give numbers or dates")
    if missing.any():
        raise ValueError(
            f"{name} is missing in {pluralize(int(missing.sum()), 'row')}, first in row {int(missing.argmax()):,};"
            " fill it in, or leave these rows out"
        )
    return np.asarray(numbers)


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of rows: indices `codes` (n,) in the sorted `classes` (K,)."""

    classes: NDArray[Any]
    codes: NDArray[np.intp]
    name: str

    @classmethod
    def read(cls, y: Any) -> Labels:
        return cls._of(*_one_column(y))

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
    """A numeric target, for folds that are not stratified."""

    values: F64

    @classmethod
    def _of(cls, values: NDArray[Any], name: str) -> Numbers:
        check_numbers(values, name)
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


def check_numbers(values: NDArray[Any], name: str, remedy: str = "give task='classes'") -> None:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"column {name!r} does not hold numbers; {remedy}, or name another target")


def read_target(y: Any, name: str | None = None, task: Task | None = None) -> Labels:
    if task not in (None, "classes", "numbers"):
        raise ValueError(f"task={task!r} is neither 'classes' nor 'numbers'")
    values, name = _one_column(y, name)
    kind = Numbers if (task or infer_task(values)) == "numbers" else Labels
    return kind._of(values, name)


def _one_column(y: Any, name: str | None = None) -> tuple[NDArray[Any], str]:
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


@dataclass(frozen=True, eq=False)
class ComparedRows:
    table: Table
    groups: NDArray[Any] | None
    time: Any
    names: dict[str, str]  # of the columns or series given as "groups", "time" and "sample_weight"

    @classmethod
    def of(cls, frame: Any, y: Any, task: Task | None, target: str | None, **given: Any) -> ComparedRows:
        """Read the data of `compare`, without rows of weight 0."""
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

    def notes(self, plan: Folds) -> list[str]:
        if plan.words:
            return []
        dates = date_columns(self.table.frame)
        return [*self.table.labels.check_folds(plan.folds), *([shuffled_note(dates)] if dates else [])]
