"""Rows that early stopping watches."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import train_test_split

from committee.estimator import CommitteeClassifier, Rows


def held_out_rows(
    model: CommitteeClassifier, rows: Rows, X_val: Any, y_val: ArrayLike | None, random: np.random.RandomState
) -> tuple[Rows, Rows | None]:
    """Training rows, and the rows that early stopping watches.

    Parameters
    ----------
    model : classifier
        Its `early_stopping` and `validation_fraction` count; `table_` and `classes_` are there.
    rows : Rows
        The training rows.
    X_val, y_val : table and labels, or None
        The user's own rows to watch.
    random : RandomState
        Draws, where there are none.

    Returns
    -------
    training, watched : Rows and (Rows or None)
        Without early stopping all rows and None.

    Raises
    ------
    ValueError
        If rows to watch are given but not wanted, or too few rows are there to share.
    """
    given = model._validation_rows(X_val, y_val)
    wanted: bool = model.get_params(deep=False)["early_stopping"]
    if not wanted:
        if given is not None:
            raise ValueError("X_val is only used by early stopping; set early_stopping=True or leave it out.")
        return rows, None
    if given is not None:
        return rows, given
    fraction: float = model.get_params(deep=False)["validation_fraction"]
    n, n_classes = len(rows.labels), len(model.classes_)
    count = np.bincount(rows.labels, minlength=n_classes)
    if count.min() < 2:
        raise ValueError(
            f"early_stopping needs two rows of each class, one of them to hold out; class "
            f"{model.classes_.tolist()[count.argmin()]!r} has {count.min()}. Give X_val and y_val."
        )
    n_held = ceil(fraction * n)
    if not n_classes <= n_held <= n - n_classes:
        raise ValueError(
            f"validation_fraction={fraction} holds out {n_held} of {n} rows; that many and as "
            f"many as remain must be at least the {n_classes} classes. Change it, or give X_val and y_val."
        )
    train, held = train_test_split(np.arange(n), test_size=n_held, stratify=rows.labels, random_state=random)
    lost = np.bincount(rows.labels[train], minlength=n_classes) == 0
    if lost.any():
        raise ValueError(
            f"validation_fraction={fraction} leaves no row of class "
            f"{model.classes_.tolist()[lost.argmax()]!r} to train on; lower it, or give X_val and y_val."
        )
    return rows.take(np.sort(train)), rows.take(np.sort(held))
