"""Folds of a cross-validation: dealt at random, by whole groups of rows, or in the order of time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.columns import is_frame, open_frame
from committee.data.number_types import F64
from committee.data.text import pluralize, quoted
from committee.learners.base.row_sampling import group_numbers

Rows: TypeAlias = NDArray[np.intp]
Split: TypeAlias = tuple[Rows, Rows]


@dataclass(frozen=True, eq=False)
class Folds:
    """Rules of a cross-validation: number of folds, and how rows are assigned to them.

    Without `groups` and `time` the folds are drawn at random, for classes stratified. Rows of a group (numbers (n,))
    are in one fold of each repeat. With `time` (n,) the rows are cut into ``folds + 1`` parts of about equal size in
    this order; rows of equal times are in one part. Fold k tests part k + 1 by a fit on parts 1 to k. The names are for
    messages.
    """

    folds: int
    repeats: int = 1
    seed: int = 0
    groups: Rows | None = None
    time: F64 | None = None
    group_name: str = "groups"
    time_name: str = "time"

    @classmethod
    def of(
        cls,
        folds: int,
        repeats: int = 1,
        seed: int = 0,
        *,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        group_name: str = "groups",
        time_name: str = "time",
    ) -> Self:
        if groups is not None and time is not None:
            raise ValueError("groups and time are both given; folds are either of whole groups, or in order of time")
        if time is not None and repeats > 1:
            raise ValueError(f"repeats={repeats} does not go with time, which gives one order; use repeats=1")
        numbers = None
        if groups is not None:
            numbers = group_numbers(groups, np.ones(len(np.asarray(groups)), dtype=bool))
            if (n := int(numbers.max()) + 1) < folds:
                raise ValueError(f"{group_name} has {n} groups, fewer than folds={folds}; use folds={n} at most")
        return cls(
            folds, repeats, seed, numbers, None if time is None else _moments(time, time_name), group_name, time_name
        )

    def take(self, rows: Rows) -> Self:
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, groups=groups, time=None if self.time is None else self.time[rows])

    @property
    def words(self) -> str:
        if self.time is not None:
            return f"in order of {self.time_name!r}"
        return f"of whole groups of {self.group_name!r}" if self.groups is not None else ""

    @property
    def digest(self) -> str:
        given = self.groups if self.time is None else self.time
        return "" if given is None else blake2b(np.ascontiguousarray(given).data, digest_size=16).hexdigest()

    def splits(self, codes: Rows, *, of_classes: bool) -> list[Split]:
        """Return training and test rows of every fold; `codes` (n,) are class indices of the rows."""
        if self.time is not None:
            found = time_splits(self.time, self.folds, self.time_name)
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
