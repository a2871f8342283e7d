"""Folds of ``committee fit``: those of a committee's members, or of the estimate of a single learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from committee.cli.row_columns import RowColumns
from committee.cli.training_table import TrainingTable
from committee.report.folds import Folds, Split, date_columns, shuffled_note

FOLDS = 5
"""Default number of folds: for the estimate of a single learner, and for a committee with --group or --time."""


def folds_of_fit(columns: RowColumns, rows: TrainingTable, folds: int) -> Folds:
    values = rows.values
    return Folds.of(
        folds,
        groups=values.groups,
        time=values.time,
        group_name=columns.group or "groups",
        time_name=columns.time or "time",
    )


def check_folds(columns: RowColumns, rows: TrainingTable, folds: int, *, of_classes: bool) -> list[Split]:
    if not (folds and (columns.group or columns.time)):
        return []
    codes = np.unique(rows.y, return_inverse=True)[1] if of_classes else np.zeros(len(rows.y), dtype=np.intp)
    return folds_of_fit(columns, rows, folds).splits(codes, of_classes=of_classes)


def dates_note(columns: RowColumns, rows: TrainingTable) -> list[str]:
    dates = [] if columns.group or columns.time else date_columns(rows.rows)
    return [shuffled_note(dates)] if dates else []


@contextmanager
def committee_folds(learner: Any, columns: RowColumns, rows: TrainingTable, *, of_classes: bool) -> Iterator[None]:
    """Give a committee the folds of groups or times for a fit.

    Afterwards `cv` is the number of folds, as model files do not store row numbers.
    """
    if not (columns.group or columns.time):
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
        learner.set_params(cv=n)


def _check_classes(splits: list[Split], rows: TrainingTable, columns: RowColumns) -> None:
    for k, (train, _) in enumerate(splits):
        if len(absent := np.setdiff1d(rows.y, rows.y[train])):
            groups = rows.values.groups
            if groups is not None and groups.filter(rows.y == absent[0]).n_unique() == 1:
                raise ValueError(
                    f"class {str(absent[0])!r} has rows in one group of {columns.group!r} only, and every member needs"
                    " all classes, which no number of folds gives; leave out rows of this class, or --group"
                )
            raise ValueError(
                f"fold {k + 1} by {columns.group or columns.time!r} has no training row of class {str(absent[0])!r},"
                f" and every member needs all classes; use {'fewer' if columns.time else 'more'} folds by -p cv=NUMBER,"
                " or leave out rows of this class"
            )
