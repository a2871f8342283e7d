"""Rows that early stopping watches."""

from __future__ import annotations

from math import ceil
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split

from committee.data.rows import Rows, TargetRows
from committee.learners.base.estimator import CommitteeClassifier, CommitteeEstimator

R = TypeVar("R", Rows, TargetRows)
Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def held_out_rows(
    model: CommitteeEstimator, rows: R, X_val: Any, y_val: ArrayLike | None, random: np.random.RandomState
) -> tuple[R, R | None]:
    """Training rows, and the rows that early stopping watches.

    Parameters
    ----------
    model : classifier or regressor
        Its `early_stopping` and `validation_fraction` count; `table_`, and `classes_` of a classifier, are there.
    rows : Rows or TargetRows
        The training rows. Rows of classes are held out class by class.
    X_val, y_val : table and labels or numbers, or None
        The user's own rows to watch.
    random : RandomState
        Draws, where there are none.

    Returns
    -------
    training, watched : rows of the same kind, and such rows or None
        Without early stopping all rows and None.

    Raises
    ------
    ValueError
        If rows to watch are given but not wanted, or too few rows are there to share.
    """
    given = cast("R | None", model._validation_rows(X_val, y_val))
    wanted: bool = model.early_stopping
    if not wanted:
        if given is not None:
            raise ValueError("X_val is only used by early stopping; set early_stopping=True or leave it out.")
        return rows, None
    if given is not None:
        return rows, given
    fraction: float = model.validation_fraction
    if isinstance(rows, Rows):
        train, held = _split_classes(rows.labels, cast(CommitteeClassifier, model).classes_, fraction, random)
    else:
        train, held = _split(len(rows), fraction, random)
    return rows.take(np.sort(train)), rows.take(np.sort(held))


def _split(n: int, fraction: float, random: np.random.RandomState) -> Split:
    """Training rows and held-out ones, at least one of each."""
    n_held = ceil(fraction * n)
    if not 1 <= n_held < n:
        raise ValueError(
            f"validation_fraction={fraction} holds out {n_held} of {n} rows; at least one must be held out and one "
            "remain. Change it, or give X_val and y_val."
        )
    train, held = train_test_split(np.arange(n), test_size=n_held, random_state=random)
    return train, held


def _split_classes(
    labels: NDArray[np.uint16], classes: NDArray[Any], fraction: float, random: np.random.RandomState
) -> Split:
    """Training rows and held-out ones, with the classes in the same shares."""
    n, n_classes = len(labels), len(classes)
    count = np.bincount(labels, minlength=n_classes)
    if count.min() < 2:
        raise ValueError(
            f"early_stopping needs two rows of each class, one of them to hold out; class "
            f"{classes.tolist()[count.argmin()]!r} has {count.min()}. Give X_val and y_val."
        )
    n_held = ceil(fraction * n)
    if not n_classes <= n_held <= n - n_classes:
        raise ValueError(
            f"validation_fraction={fraction} holds out {n_held} of {n} rows; that many and as "
            f"many as remain must be at least the {n_classes} classes. Change it, or give X_val and y_val."
        )
    train, held = train_test_split(np.arange(n), test_size=n_held, stratify=labels, random_state=random)
    lost = np.bincount(labels[train], minlength=n_classes) == 0
    if lost.any():
        raise ValueError(
            f"validation_fraction={fraction} leaves no row of class "
            f"{classes.tolist()[lost.argmax()]!r} to train on; lower it, or give X_val and y_val."
        )
    return train, held
