"""Folds of a splitter of the user's, by which members are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from committee.data.number_types import Index
from committee.data.rows import Rows, TargetRows, have_weight
from committee.learners.base.folds import Fold


def given_folds(
    cv: Any, rows: Rows | TargetRows, y: ArrayLike, groups: ArrayLike | None, sample_weight: ArrayLike | None
) -> list[Fold]:
    """Folds of a splitter among the rows with weight; of those without a row to judge or to train on, none.

    Parameters
    ----------
    cv : splitter or iterable of splits
        Its numbers are those of all the user's rows.
    rows : Rows or TargetRows
        The rows with weight.
    y, groups, sample_weight : array-like (n,)
        Of all the user's rows.

    Raises
    ------
    ValueError
        If it judges no row, a row twice or by fits that have seen it, numbers rows that there are not, or leaves a
        fit without a class.
    """
    from sklearn.model_selection import check_cv

    y = np.asarray(y)
    check_consistent_length(y, groups)
    place = np.full(len(y), -1)
    place[have_weight(sample_weight, len(y))] = np.arange(len(rows))
    folds: list[Fold] = []
    for given in check_cv(cv, y, classifier=isinstance(rows, Rows)).split(np.zeros((len(y), 1)), y, groups):
        others, judged = (_numbers(cv, place, index) for index in given)
        if len(others) and len(judged):
            if len(np.intersect1d(others, judged)):
                raise ValueError(f"cv={cv!r} trains on rows that it judges; give splits whose two parts share none.")
            folds.append(Fold(others, rows.weights[others], judged, rows.weights[judged], len(judged)))
    if not folds:
        raise ValueError(f"cv={cv!r} judges no row by others; give a splitter with some rows in both parts of a split.")
    row = np.concatenate([fold.judged for fold in folds])
    if len(np.unique(row)) < len(row):
        raise ValueError(f"cv={cv!r} judges a row more than once; give a splitter whose test sets share none.")
    if isinstance(rows, Rows):
        _check_classes(cv, folds, rows, y, place)
    return folds


def _numbers(cv: Any, place: NDArray[np.intp], index: ArrayLike) -> Index:
    """Numbers of rows with weight, out of those of the user's, or a mask of these."""
    index = np.asarray(index)
    index = np.flatnonzero(index) if index.dtype == bool else index
    if len(index) and not (index.dtype.kind in "iu" and index.min() >= 0 and index.max() < len(place)):
        raise ValueError(f"cv={cv!r} numbers rows up to {index.max()}, and there are those from 0 to {len(place) - 1}.")
    found = place[index.astype(np.intp)]
    return np.asarray(found[found >= 0])


def _check_classes(cv: Any, folds: list[Fold], rows: Rows, y: NDArray[Any], place: NDArray[np.intp]) -> None:
    for number, fold in enumerate(folds):
        absent = np.setdiff1d(rows.labels, rows.labels[fold.others])
        if len(absent):
            row = np.flatnonzero(place == np.argmax(rows.labels == absent[0]))[0]
            raise ValueError(
                f"cv={cv!r} leaves split {number} without a row of class {y[row].item()!r} to train on, and no member "
                "can do without; give a splitter that parts the rows of each class, as StratifiedKFold and "
                "StratifiedGroupKFold do, or leave such a class out."
            )
