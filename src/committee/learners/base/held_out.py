"""Rows that early stopping looks at, drawn from the training rows."""

from __future__ import annotations

from math import ceil
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from committee.data.rows import Rows, TargetRows

R = TypeVar("R", Rows, TargetRows)
Parts = tuple[NDArray[np.intp], NDArray[np.intp]]


def split(rows: R, fraction: float, random: np.random.RandomState, classes: NDArray[Any] | None) -> tuple[R, R]:
    """Training rows, and a share of them held out; rows of classes class by class.

    `classes` are the labels, for messages; None for rows of numbers.

    Raises
    ------
    ValueError
        If there are too few rows to share.
    """
    if isinstance(rows, Rows):
        assert classes is not None
        train, held = _split_classes(rows.labels, classes, fraction, random)
    else:
        train, held = _split(len(rows), fraction, random)
    return rows.take(np.sort(train)), rows.take(np.sort(held))


def _split(n: int, fraction: float, random: np.random.RandomState) -> Parts:
    """Training rows and held-out ones, at least one of each."""
    n_held = ceil(fraction * n)
    if not 1 <= n_held < n:
        raise ValueError(
            f"validation_fraction={fraction} holds out {n_held} of {n} rows; at least one must be held out and one "
            "remain. Change it, or give X_val and y_val."
        )
    from sklearn.model_selection import train_test_split  # models that predict hold out no rows

    train, held = train_test_split(np.arange(n), test_size=n_held, random_state=random)
    return train, held


def _split_classes(
    labels: NDArray[np.uint16], classes: NDArray[Any], fraction: float, random: np.random.RandomState
) -> Parts:
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
    from sklearn.model_selection import train_test_split

    train, held = train_test_split(np.arange(n), test_size=n_held, stratify=labels, random_state=random)
    lost = np.bincount(labels[train], minlength=n_classes) == 0
    if lost.any():
        raise ValueError(
            f"validation_fraction={fraction} leaves no row of class "
            f"{classes.tolist()[lost.argmax()]!r} to train on; lower it, or give X_val and y_val."
        )
    return train, held
