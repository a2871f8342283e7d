"""Which fold judges which row."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    StratifiedGroupKFold,
    check_cv,
)

from committee.data.arrays import numeric_matrix
from committee.data.frame_columns import is_frame
from committee.data.frames import TableSchema
from committee.data.number_types import Index
from committee.data.row_digests import row_digests
from committee.data.sparse import is_sparse, read_sparse

N_FOLDS = 5
BY_GROUPS = (GroupKFold, GroupShuffleSplit, LeaveOneGroupOut, LeavePGroupsOut, StratifiedGroupKFold)


def folds_of_rows(cv: Any, X: Any, y: NDArray[Any], labels: Index | None) -> NDArray[np.int64]:
    """Return the fold of each row, ``(n,)``: -1 for rows that no fold judges.

    Folds of a number are dealt out class by class, by what rows hold: rows in another order are dealt the same way.
    Rows that hold the same, the class or the number to predict too, are in one fold, so that none is judged by a fit
    that has seen its like, and k copies are dealt as one row of weight k. A class of which all rows are the same is
    judged by none. Rows of no table, such as texts, are dealt out in their order.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
    X : table, array-like or sequence (n, ...)
    y : array (n,)
    labels : int array (n,) or None
        Numbers of the classes; None of numbers to predict.

    Raises
    ------
    ValueError
        If a splitter judges a row twice, or by a fit that sees it, or judges none; or if it parts groups.

    Examples
    --------
    >>> X, y = np.array([[3.0], [1.0], [2.0], [5.0]]), np.array([0, 0, 0, 1])
    >>> fold = folds_of_rows(2, X, y, y)
    >>> other = np.array([2, 0, 1, 3])
    >>> fold[3], bool((folds_of_rows(2, X[other], y[other], y[other]) == fold[other]).all())
    (np.int64(-1), True)
    >>> folds_of_rows(2, X[[0, 0, 1, 1]], X[[0, 0, 1, 1], 0], None).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """
    if not isinstance(cv, Integral):
        return _of_splitter(cv, X, y, labels)
    classes = np.zeros(len(y), dtype=np.intp) if labels is None else labels
    numbers = _numbers_of_rows(X, y, labels is None)
    order = np.lexsort((numbers, classes))
    other_class = np.diff(classes[order], prepend=-1) != 0
    other_row = other_class | (np.diff(numbers[order].astype(np.uint64), prepend=np.uint64(0)) != 0)
    place = np.empty(len(y), dtype=np.int64)
    place[order] = np.cumsum(other_row) - 1  # of each different row
    single = np.bincount(classes[order][other_row])[classes] == 1
    return np.where(single, -1, place % int(cv))


def _numbers_of_rows(X: Any, y: NDArray[Any], of_numbers: bool) -> NDArray[Any]:
    """Return numbers that follow from what rows hold; of no table the rows' places."""
    try:
        if is_sparse(X):
            numbers = row_digests(read_sparse(X), 1)
        else:
            rows = X if is_frame(X) else numeric_matrix(X, None)
            table = TableSchema.learn(rows, "from_dtype")
            numbers = row_digests(np.ascontiguousarray(table.encode(rows)), 1)
    except (TypeError, ValueError, AttributeError, IndexError):
        return np.arange(len(y))
    if of_numbers:
        numbers = numbers + row_digests(np.ascontiguousarray(y[:, None]), 1) * np.uint64(3)
    return numbers


def _of_splitter(cv: Any, X: Any, y: NDArray[Any], labels: Index | None) -> NDArray[np.int64]:
    fold = np.full(len(y), -1, dtype=np.int64)
    if isinstance(cv, BY_GROUPS):
        raise ValueError(
            f"cv={cv!r} parts rows by groups, which it is not given; give its splits: cv=list(splitter.split(X, y, "
            "groups))."
        )
    rows = np.zeros((len(y), 1))
    for k, (train, test) in enumerate(check_cv(cv, y, classifier=labels is not None).split(rows, y)):
        others = np.setdiff1d(np.arange(len(y)), test)
        if len(np.setdiff1d(others, train)) or len(np.intersect1d(train, test)):
            raise ValueError(
                f"cv={cv!r} trains fold {k} on {len(train)} of {len(y)} rows and judges {len(test)}; each fold must be "
                "trained on all rows that it does not judge."
            )
        if (fold[test] >= 0).any():
            raise ValueError(f"cv={cv!r} judges a row more than once; give a splitter whose test sets share none.")
        fold[test] = k
    if not (fold >= 0).any():
        raise ValueError(f"cv={cv!r} judges no row; give a splitter with rows in its test sets.")
    return fold
