"""Validation rows of the members: folds, out-of-fold predictions, and when out-of-bag predictions may replace them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from committee.data.categories import MAX_SUBSET_CATEGORIES
from committee.data.matrices import SparseMatrix
from committee.data.number_types import F64, Index, Mask
from committee.data.rows import Rows, TargetRows, nonzero_sample_weights
from committee.data.table_schema import TableSchema
from committee.data.target_statistics import HighCardinality
from committee.data.text import pluralize
from committee.learners.base.row_sampling import Fold, content_digests, group_folds
from committee.learners.blend.members import Effort


def default_n_folds(n: float, effort: Effort) -> tuple[int, int]:
    """Folds into which n rows are dealt, and those on which candidates without out-of-bag predictions are trained."""
    if effort == "fast":
        dealt = int(min(20, max(4, n // 10_000)))
        return dealt, 4 if n < 1000 else 2
    most, fewer = (8, 3) if effort == "default" else (10, 5)
    return (most, most) if n < 10_000 else (5, fewer) if n < 100_000 else (10, fewer - 1)


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Test rows of all folds, one fold after the other; a row of several copies may be in several folds."""

    folds: Sequence[Fold]
    row: Index
    weights: F64
    n_rows: float
    """Number of rows, by copies."""

    @classmethod
    def of(cls, folds: Sequence[Fold]) -> ValidationRows:
        row = np.concatenate([np.empty(0, dtype=np.intp), *(fold.test for fold in folds)])
        weights = np.concatenate([np.empty(0), *(fold.test_weights for fold in folds)])
        return cls(folds, row, weights, sum(fold.n_test for fold in folds))

    def take(self, mask: Mask) -> ValidationRows:
        if mask.all():
            return self
        weights = self.weights[mask]
        return ValidationRows(self.folds, self.row[mask], weights, self.n_rows * weights.sum() / self.weights.sum())

    @property
    def row_counts(self) -> F64:
        counts: F64 = self.weights / self.weights.sum() * self.n_rows
        return counts


def stratified_sample(labels: NDArray[np.unsignedinteger], size: int, seed: int) -> Index:
    """Return ascending positions of a stratified sample, with at least one row of each class.

    The sample of fewer rows by the same seed is a subset.
    """
    order = np.random.RandomState(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    count = np.bincount(labels)
    start = np.repeat(np.cumsum(count) - count, count)
    rank = np.arange(len(labels)) - start
    place = np.where(rank > 0, (rank + 0.5) / np.repeat(count, count), -1.0)
    return np.sort(order[np.argsort(place, kind="stable")[: max(size, int((count > 0).sum()))]])


def splitter_folds(
    cv: Any, rows: Rows | TargetRows, y: ArrayLike, groups: ArrayLike | None, sample_weight: ArrayLike | None
) -> list[Fold]:
    """Folds of a user's splitter among the rows with weight, without those that lack a training or test row.

    `y`, `groups` and `sample_weight` are those of all the user's rows, ``(n,)``, to which the splitter's indices refer.
    """
    from sklearn.model_selection import check_cv

    y = np.asarray(y)
    check_consistent_length(y, groups)
    place = np.full(len(y), -1)
    place[nonzero_sample_weights(sample_weight, len(y))] = np.arange(len(rows))
    folds: list[Fold] = []
    for split in check_cv(cv, y, classifier=isinstance(rows, Rows)).split(np.zeros((len(y), 1)), y, groups):
        train, test = (_with_weight(cv, place, index) for index in split)
        if len(train) and len(test):
            if len(np.intersect1d(train, test)):
                raise ValueError(f"cv={cv!r} has training rows in a test set; give disjoint training and test sets.")
            folds.append(Fold(train, rows.weights[train], test, rows.weights[test], len(test)))
    if not folds:
        raise ValueError(f"cv={cv!r} has no split with training and test rows; give a splitter with rows in both.")
    row = np.concatenate([fold.test for fold in folds])
    if len(np.unique(row)) < len(row):
        raise ValueError(f"cv={cv!r} has a row in several test sets; use a splitter with disjoint test sets.")
    if isinstance(rows, Rows):
        _check_classes(cv, folds, rows, y, place)
    return folds


def folds_of_groups(group: Index, rows: Rows | TargetRows, n_folds: int, classes: NDArray[Any] | None) -> list[Fold]:
    """Folds of whole groups, by their numbers ``(n,)``; ``ValueError`` if a training set lacks one of the classes."""
    folds = list(group_folds(group, rows.weights, n_folds, rows.class_numbers))
    for fold in folds if classes is not None else ():
        assert isinstance(rows, Rows) and classes is not None
        absent = np.setdiff1d(rows.labels, rows.labels[fold.train])
        if len(absent):
            several = len(np.unique(group[rows.labels == absent[0]]))
            raise ValueError(
                f"groups leave a fold without a training row of class {classes[absent[0]].item()!r}, which has rows in "
                f"{pluralize(several, 'group')}; every member needs all classes. Each class must have rows in the "
                "groups of at least two folds: leave such a class out, or give a splitter as cv."
            )
    return folds


def _with_weight(cv: Any, place: NDArray[np.intp], index: ArrayLike) -> Index:
    index = np.asarray(index)
    index = np.flatnonzero(index) if index.dtype == bool else index
    if len(index) and not (index.dtype.kind in "iu" and index.min() >= 0 and index.max() < len(place)):
        raise ValueError(
            f"cv={cv!r} has row numbers from {index.min()} to {index.max()}; rows are numbered 0 to {len(place) - 1}."
        )
    found = place[index.astype(np.intp)]
    return np.asarray(found[found >= 0])


def _check_classes(cv: Any, folds: list[Fold], rows: Rows, y: NDArray[Any], place: NDArray[np.intp]) -> None:
    for number, fold in enumerate(folds):
        absent = np.setdiff1d(rows.labels, rows.labels[fold.train])
        if len(absent):
            row = np.flatnonzero(place == np.argmax(rows.labels == absent[0]))[0]
            raise ValueError(
                f"cv={cv!r} leaves split {number} without a row of class {y[row].item()!r} to train on, and every "
                "member needs all classes; give a splitter that stratifies by class, as StratifiedKFold and "
                "StratifiedGroupKFold do, or leave such a class out."
            )


def oob_is_held_out(rows: Rows | TargetRows, table: TableSchema, n_dealt: int) -> bool:
    """Return whether out-of-bag predictions are valid held-out predictions, so that no folds are needed.

    They are not where a draw has copies of the rows that it leaves out: where folds count k equal rows as one, because
    others are repeated k times too. Nor where no column varies but a high-cardinality one: then target statistics are
    means of all rows, as nothing distinguishes rows of a category. `n_dealt` is the number of copies dealt to folds.
    """
    single = int(rows.labels.max()) + 1 if isinstance(rows, Rows) else 1  # only rows of a class are in no fold
    if len(rows) > n_dealt + single:
        return False
    if isinstance(rows.X, SparseMatrix) or table.n_levels.max(initial=0) <= MAX_SUBSET_CATEGORIES:
        return True
    levels = HighCardinality.of_table(rows.X, table, MAX_SUBSET_CATEGORIES, "")
    return levels is None or not any(levels.alone)


def predictions_of_all(rows: Rows | TargetRows, row: Index, predictions: F64, n_threads: int) -> F64:
    """Spread predictions of the rows `row` to all equal rows, ``(n, K)``.

    Several predictions of a row are averaged; rows without any are NaN.
    """
    different, same = np.unique(content_digests(rows, n_threads), return_inverse=True)
    total, count = np.zeros((len(different), predictions.shape[1])), np.zeros(len(different))
    np.add.at(total, same[row], predictions)
    np.add.at(count, same[row], 1.0)
    mean = np.full_like(total, np.nan)
    np.divide(total, count[:, None], out=mean, where=count[:, None] > 0.0)
    return np.asarray(mean[same])
