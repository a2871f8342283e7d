"""Calibration scores of labels and numbers, and the groups and classes of rows in which they are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples

from committee.data.bins import U64, row_digests
from committee.data.columns import is_frame, open_frame
from committee.data.matrices import SparseMatrix, as_sparse_matrix, is_out_of_core, is_sparse, numeric_matrix
from committee.data.number_types import F64, Index
from committee.data.table_schema import TableSchema
from committee.data.text import check_names
from committee.learners.base.fitted_learner import predict_pieces

# rounding error of the end of an interval, relative to the larger of the predicted end and the distance to it
ROUNDED = 4.0 * float(np.finfo(np.float64).eps)
ROUNDING = 1e-9  # relative error of a count that is rounding: 0.9 of 10 rows are 9, whatever their float product is

LabelScore: TypeAlias = Literal["lac", "aps"]
Group = str | int | float | bool | None  # a group by its value; `None` for rows where it is missing


# --- rows ------------------------------------------------------------------------------------------------------------


def indexable_rows(X: Any) -> Any:
    sparse = bool(issparse(X))
    return X.tocsr() if sparse else X  # rows cannot be taken from every other format


def row_hashes(X: Any, table: TableSchema | None) -> U64:
    if is_out_of_core(X):
        names = None if table is None or table.names is None else np.asarray(table.names, dtype=object)
        return predict_pieces(X, lambda rows: row_hashes(rows, table), names)
    if isinstance(X, SparseMatrix) or is_sparse(X):
        rows = X if isinstance(X, SparseMatrix) else as_sparse_matrix(X)
        return row_digests(rows if table is None else table.encode_sparse(rows), 1)
    if table is not None:
        return row_digests(np.ascontiguousarray(table.encode(X)), 1)
    if is_frame(X):
        frame = open_frame(X)
        return _text_hashes(zip(*(frame[name].to_list() for name in frame.columns), strict=True))
    try:
        return row_digests(np.ascontiguousarray(numeric_matrix(X, None)), 1)
    except (TypeError, ValueError):
        return _text_hashes(row.tolist() if isinstance(row, np.ndarray) else row for row in X)


def _text_hashes(rows: Iterable[Any]) -> U64:
    def text(cell: Any) -> str:
        return repr(float(cell)) if isinstance(cell, Real) else str(cell)

    texts = ("\x1f".join(map(text, row)) if isinstance(row, list | tuple) else text(row) for row in rows)
    found = [hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)


# --- groups and classes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowCategories:
    """Combinations of groups and classes in which scores are compared."""

    groups: Sequence[Group]  # sorted; [None] without groups
    classes: Sequence[Any]  # [None] if classes are not compared separately
    grouped: bool

    def __len__(self) -> int:
        return len(self.groups) * len(self.classes)

    def numbers(self, groups: Sequence[Group] | None, labels: Index | None) -> Index:
        """Return category indices ``(n,)``, or ``(n, K)`` for several classes' `labels` ``(1, K)``; -1 is unknown."""
        first = np.zeros(1, dtype=np.intp)
        if groups is not None:
            place = {group: number for number, group in enumerate(self.groups)}
            first = np.array([place.get(group, -1) for group in groups], dtype=np.intp)
        if labels is None or len(self.classes) == 1:
            return first
        first = first[:, None] if labels.ndim == 2 else first
        return np.where(first < 0, -1, first * len(self.classes) + labels)

    def words(self, category: int) -> str:
        group, k = divmod(category, len(self.classes))
        of_class = [f"class {self.classes[k]!r}"] if len(self.classes) > 1 else []
        of_group = [group_words(self.groups[group])] if self.grouped else []
        return " in ".join([*of_class, *of_group]) or "all rows"


def group_words(group: Group) -> str:
    return "the group of missing values" if group is None else f"group {group!r}"


def sorted_groups(groups: Iterable[Group]) -> list[Group]:
    def key(group: Group) -> tuple[int, Any]:
        return (2, 0) if group is None else (int(isinstance(group, str)), group)

    return sorted(set(groups), key=key)


def group_of_rows(X: Any, groups: Any, column: str | int | None) -> list[Group] | None:
    if column is None:
        if groups is None:
            return None
        values = groups.to_list() if hasattr(groups, "to_list") else _list_of_groups(groups)
    elif groups is not None:
        raise ValueError(f"group_by={column!r} names the column of groups, and groups are given too; leave one out.")
    else:
        values = _cells_of_column(X, column)
    if len(values) != (n := _num_samples(X)):
        raise ValueError(f"groups has {len(values)} entries; X has {n} rows, which need one each.")
    return [_group(value) for value in values]


def _list_of_groups(groups: Any) -> list[Any]:
    array = np.asarray(groups, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"groups has the shape {array.shape}; give one value for each row.")
    return list(array.tolist())


def _cells_of_column(X: Any, column: str | int) -> list[Any]:
    if isinstance(column, str):
        if not is_frame(X):
            raise ValueError(
                f"group_by={column!r} is a name, and X has no named columns; give a data frame, or the column's number."
            )
        frame = open_frame(X)
        check_names((column,), tuple(frame.columns), "group_by")
        return list(frame[column].to_list())
    width = X.shape[1] if hasattr(X, "shape") else len(X[0])
    if not 0 <= column < width:
        raise ValueError(f"group_by={column!r} is no column of X, which has {width}, numbered from 0.")
    if is_frame(X):
        frame = open_frame(X)
        return list(frame[frame.columns[column]].to_list())
    cells = X[:, [column]].toarray()[:, 0] if is_sparse(X) else np.asarray(X)[:, column]
    return list(cells.tolist())


def _group(value: Any) -> Group:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is not value or (isinstance(value, float) and isnan(value)):
        return None
    if isinstance(value, str | int | float | bool):
        return value
    text = str(value)  # such as a date
    return None if text in ("NaT", "<NA>") else text


# --- scores ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CalibrationScores:
    """Scores of rows that the voters have not seen, sorted within each category.

    The p-value of a new score s is (sum_i v_i [s_i >= s] + 1) / (V + 1), with the scores s_i of its category, their
    weights v_i and the sum V of these. A row is covered at alpha if p > alpha.
    """

    scores: F64  # (n,): category by category, ascending within each
    start: NDArray[np.int64]  # (C + 1,): first score of each category
    below: F64  # (n + 1,): weight of all scores before each

    @classmethod
    def of(cls, scores: F64, category: Index, n_categories: int, weights: F64 | None = None) -> Self:
        known = np.isfinite(scores)
        scores, category = scores[known], category[known]
        counts = np.ones(len(scores)) if weights is None else weights[known]
        order = np.lexsort((scores, category))
        start = np.searchsorted(category[order], np.arange(n_categories + 1))
        return cls(scores[order], start, np.concatenate([[0.0], np.cumsum(counts[order])]))

    @property
    def n_categories(self) -> int:
        return len(self.start) - 1

    @property
    def count(self) -> F64:
        """Weight of the rows of each category, ``(C,)``."""
        return np.asarray(self.below[self.start[1:]] - self.below[self.start[:-1]])

    def thresholds(self, alpha: float) -> F64:
        """Return the largest covered score of each category, ``(C,)``; infinite if rows are too few."""
        found = np.full(self.n_categories, np.inf)
        for c, rank in enumerate(covering_rank(alpha, self.count).tolist()):
            first, last = self.start[c], self.start[c + 1]
            place = int(np.searchsorted(self.below[first + 1 : last + 1] - self.below[first], rank))
            if place < last - first:
                found[c] = self.scores[first + place]
        return found

    def weight_below(self, scores: F64, category: Index) -> F64:
        found = np.zeros(scores.shape)
        for c in range(self.n_categories):
            first, last = self.start[c], self.start[c + 1]
            here = category == c
            place = np.searchsorted(self.scores[first:last], scores[here], side="left")
            found[here] = self.below[first + place] - self.below[first]
        return found

    def p_values(self, scores: F64, category: Index) -> F64:
        total = np.append(self.count, 0.0)[category]  # category -1 is an unknown group
        return (total - self.weight_below(scores, category) + 1.0) / (total + 1.0)


def covering_rank(alpha: float, count: F64) -> F64:
    rank = (1.0 - alpha) * (count + 1.0)
    return np.asarray(rank * (1.0 - ROUNDING))


def covered(p_values: F64, alpha: float) -> NDArray[np.bool_]:
    return np.asarray(p_values > alpha * (1.0 + ROUNDING))


def row_counts(weights: F64) -> F64:
    """Return weights as they are if all are whole, else in units of the mean of the positive ones.

    >>> row_counts(np.array([1.0, 0.0, 3.0])).tolist(), row_counts(np.array([0.1, 0.3])).round(9).tolist()
    ([1.0, 0.0, 3.0], [0.5, 1.5])
    """
    if (weights == np.rint(weights)).all():
        return weights
    return np.asarray(weights / weights[weights > 0.0].mean())


# --- scores of labels ------------------------------------------------------------------------------------------------


def label_scores(p: F64, kind: LabelScore, own: F64 | None) -> F64:
    """Return the scores ``(n, K)`` of all labels; `own` are random shares ``(n,)`` of the label's own probability.

    "lac" is M. Sadinle et al. (2019), "aps" Y. Romano et al. (2020).

    >>> label_scores(np.array([[0.5, 0.25, 0.25]]), "lac", None).tolist()
    [[0.5, 0.75, 0.75]]
    >>> label_scores(np.array([[0.25, 0.5, 0.25]]), "aps", None).tolist()
    [[0.5, 0.0, 0.5]]
    >>> label_scores(np.array([[0.25, 0.5, 0.25]]), "aps", np.array([0.5])).tolist()
    [[0.625, 0.25, 0.625]]
    """
    if kind == "lac":
        return np.asarray(1.0 - p)
    order = np.argsort(-p, axis=1, kind="stable")
    sorted_p = np.take_along_axis(p, order, axis=1)
    before = np.zeros_like(p)
    np.cumsum(sorted_p[:, :-1], axis=1, out=before[:, 1:])
    # equally probable labels have the same score, whichever comes first
    new = np.ones(p.shape, dtype=bool)
    new[:, 1:] = sorted_p[:, 1:] < sorted_p[:, :-1]
    first = np.maximum.accumulate(np.where(new, np.arange(p.shape[1]), 0), axis=1)
    score = np.empty_like(p)
    np.put_along_axis(score, order, np.take_along_axis(before, first, axis=1), axis=1)
    return score if own is None else score + own[:, None] * p


def random_shares(hashes: U64, seed: int) -> F64:
    """Return uniform numbers in [0, 1) from a seed and the hashes of rows, ``(n,)``."""
    mixed = hashes + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53)


# --- scores of numbers -----------------------------------------------------------------------------------------------


def interval_scores(y: F64, low: F64, high: F64, unit: F64 | float) -> F64:
    """Return distances of numbers to the nearest end of their interval over `unit`, negative inside (Y. Romano et al.).

    >>> interval_scores(np.array([3.0, 0.5]), np.array([1.0, 0.0]), np.array([1.0, 2.0]), 2.0).tolist()
    [1.0, -0.25]
    """
    return np.asarray(np.maximum(low - y, y - high) / unit)


def intervals(low: F64, high: F64, unit: F64 | float, threshold: F64) -> F64:
    """Return the intervals ``(n, 2)`` of numbers whose score is at most the threshold; the middle if there are none.

    >>> intervals(np.array([1.0, 0.0]), np.array([1.0, 2.0]), 1.0, np.array([0.5, -3.0])).round(9).tolist()
    [[0.5, 1.5], [1.0, 1.0]]
    """
    wide = threshold * unit
    return uncrossed(np.column_stack([-outward(-low, wide), outward(high, wide)]), (low + high) / 2.0)


def outward(end: F64, wide: F64) -> F64:
    """Return `end + wide` plus a few units in the last place, so that a number at this distance stays inside."""
    little = ROUNDED * np.maximum(np.abs(end), np.abs(wide))
    return np.asarray(end + wide + little)


def uncrossed(ends: F64, middle: F64 | None = None) -> F64:
    crossed = ends[:, 0] > ends[:, 1]
    middles = ends[crossed].mean(axis=1) if middle is None else middle[crossed]
    ends[crossed] = middles[:, None]
    return ends


def order_statistic(values: F64, weights: F64, rank: float) -> F64:
    # the smallest value of each row ``(m,)`` up to which there is this weight
    if weights.sum() < rank:
        return np.full(len(values), np.inf)
    if (weights == 1.0).all():
        k = int(np.ceil(rank)) - 1
        return np.asarray(np.partition(values, k, axis=1)[:, k])
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1) >= rank
    return np.asarray(np.take_along_axis(values, order, axis=1)[np.arange(len(values)), reached.argmax(axis=1)])
