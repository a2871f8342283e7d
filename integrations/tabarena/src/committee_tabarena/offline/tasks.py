"""Tables as TabArena's tasks of a user's own."""

from __future__ import annotations

import warnings
from pathlib import Path

from sklearn.model_selection import StratifiedKFold
from tabarena.benchmark.task import UserTask
from tabarena.benchmark.task.user_task import from_sklearn_splits_to_user_task_splits

from committee_tabarena.offline.tables import TARGET, Table

FOLDS = 3
"""Outer folds, as in TabArena."""


def user_task(table: Table, n_folds: int, cache: Path) -> UserTask:
    """Return a task on disk whose splits are the first of three stratified folds.

    Parameters
    ----------
    table : Table
        Rows.
    n_folds : int
        How many of the folds are tested on, 1 to 3.
    cache : Path
        Folder of the task's file.
    """
    if not 1 <= n_folds <= FOLDS:
        raise ValueError(f"folds={n_folds}: TabArena has {FOLDS} folds; give 1 to {FOLDS}.")
    features, target = table.frame.drop(columns=TARGET), table.frame[TARGET]
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(features, target))[:n_folds]
    task = UserTask(task_name=table.name, task_cache_path=cache)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas', for how TabArena looks at columns
        whole = task.create_task(
            target_feature=TARGET,
            problem_type="classification",
            dataset=table.frame,
            splits=from_sklearn_splits_to_user_task_splits(folds, n_folds),
        )
    task.save_task(whole)
    return task
