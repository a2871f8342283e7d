"""Training rows for the kernels: matrix, targets, row and class weights, offsets, and tables as the user gives them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, isfinite, log2
from numbers import Real
from typing import Any, Literal, Self, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from committee.data.bins import Binned, most_bins
from committee.data.categories import CategoryValues
from committee.data.columns import is_frame
from committee.data.design import Design
from committee.data.labels import CodedText, Labels, encode_classes
from committee.data.matrices import Matrix, SparseMatrix, as_sparse_matrix, is_sparse, numeric_matrix
from committee.data.number_types import F64, Mask
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix
from committee.data.table_schema import TableSchema
from committee.data.target_statistics import (
    ClassTarget,
    HighCardinality,
    NumberTarget,
    SeveralTargets,
    target_statistics,
)
from committee.data.text import pluralize, warn_user

MAX_SQUARES = 1e306  # limit of the squared sum of weighted targets, and of the sum of their weighted squares

LEAST_SHARE = 1e-150  # a row with a smaller share of the total weight is ignored: its quotients leave float64's range

MOST_POWER = 300  # weights are divided by a power of 2 if the largest is outside 2^-300 to 2^300
SAME_SCALE = 2.0**-51  # a scale this close to a power of 2 is taken as that power, so that scaling again changes no bit
MOST_COUNTED = 10.0  # whole row weights with a larger mean are not numbers of repeated rows

_OF_COLUMNS = ("uniform", "categorical")  # fields without an entry for each row

RowIndex: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.bool_]  # indices of rows, or a mask


@dataclass(frozen=True, eq=False)
class WeightedRows:
    X: Matrix | OutOfCoreMatrix
    y: NDArray[Any]  # class numbers, or numbers to predict ``(n,)`` or ``(n, q)``
    weights: NDArray[np.float64]
    uniform: bool  # whether no weights are given, so that all are 1
    levels: HighCardinality | None = None  # high-cardinality columns of `X`, whose categories become numbers
    offset: NDArray[np.float64] | None = None  # scores to which the model's are added, ``(n,)`` or ``(n, D)``
    response: NumberTarget | None = None  # target of `target_statistics` if offsets vary, else None
    group: NDArray[np.intp] | None = None  # number of the group of each row, ``(n,)``, which is held out as a whole
    categorical: Mask | None = None  # columns with categories, (p,); draws of rows do not depend on category names

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, index: RowIndex) -> Self:
        arrays = {
            name: array[index] for name, array in vars(self).items() if name not in _OF_COLUMNS and array is not None
        }
        return replace(self, **arrays)

    @property
    def equal_weights(self) -> bool:
        return self.uniform or bool((self.weights == self.weights[0]).all())

    def without_cells(self) -> Self:
        return replace(self, X=np.empty((len(self), 0)), levels=None, categorical=None)

    def binned(self, table: TableSchema, max_bins: int | Literal["auto"], n_threads: int) -> Binned:
        most = most_bins(max_bins, self.count, self.X.shape[1])
        return Binned.of(self.X, None if self.uniform else self.weights, table, most, n_threads)

    @property
    def is_remote(self) -> bool:
        return isinstance(self.X, OutOfCoreMatrix) and self.X.is_remote

    def need_cells(self) -> None:
        if isinstance(self.X, OutOfCoreMatrix):
            self.X.needs_cells = True

    @property
    def dense(self) -> NDArray[np.float64]:
        assert not isinstance(self.X, SparseMatrix)  # learners for dense tables have rejected sparse ones
        return self.X.dense if isinstance(self.X, OutOfCoreMatrix) else self.X

    def designed(self, design: Design) -> NDArray[np.float64]:
        if not isinstance(self.X, OutOfCoreMatrix):
            return np.ascontiguousarray(design.matrix(self.dense))
        return self.dense if design.is_table else self.X.transform_rows(len(design), design.matrix)

    def room(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return self.X.room(shape) if isinstance(self.X, OutOfCoreMatrix) else np.empty(shape)

    @property
    def cells(self) -> Matrix:
        return self.X if isinstance(self.X, SparseMatrix) else self.dense

    @property
    @abstractmethod
    def class_numbers(self) -> NDArray[np.uint16] | None: ...

    @property
    @abstractmethod
    def statistic(self) -> ClassTarget | NumberTarget: ...

    def with_numbers(self, table: TableSchema) -> tuple[Self, TableSchema]:
        if self.levels is None:
            return self, table
        numbers, values = target_statistics(self.levels, self.response or self.statistic, self.weights)
        return self._with_columns(numbers), table.with_values(values)

    @property
    def with_codes(self) -> Self:
        if self.levels is None:
            return self
        codes = self.levels.codes
        return self._with_columns(np.where(codes < 0, np.nan, codes))

    def encode_levels_from(self, index: RowIndex, table: TableSchema) -> tuple[Self, TableSchema]:
        if self.levels is None:
            return self, table
        training, table = self.take(index).with_numbers(table)
        numbers = self._numbers_by(table)
        numbers[index] = training.dense[:, self.levels.columns]
        return self._with_columns(numbers), table

    def encode_levels_with(self, table: TableSchema) -> Self:
        return self if self.levels is None else self._with_columns(self._numbers_by(table))

    def _numbers_by(self, table: TableSchema) -> NDArray[np.float64]:
        assert self.levels is not None
        numbers = np.empty(self.levels.codes.shape)
        for c, j in enumerate(self.levels.columns):
            codes = self.levels.codes[:, c].astype(np.float64)
            numbers[:, c] = cast("CategoryValues", table.values[j]).numbers(codes, codes < 0)
        return numbers

    def _with_columns(self, numbers: NDArray[np.float64]) -> Self:
        assert self.levels is not None and not isinstance(self.X, SparseMatrix)
        if isinstance(self.X, OutOfCoreMatrix):
            return replace(self, X=self.X.with_columns(self.levels.columns, numbers))
        changed = self.X.copy()
        changed[:, list(self.levels.columns)] = numbers
        return replace(self, X=changed)

    @property
    def count(self) -> float:
        return max(float(self.weights.sum()), float(len(self.weights)))


class Rows(WeightedRows):
    @property
    def labels(self) -> NDArray[np.uint16]:
        return self.y

    class_numbers = labels

    @property
    def statistic(self) -> ClassTarget:
        return ClassTarget(self.labels, max(2, int(self.labels.max()) + 1))


class TargetRows(WeightedRows):
    class_numbers = None

    @property
    def target(self) -> NDArray[np.float64]:
        return self.y

    @property
    def statistic(self) -> NumberTarget:
        return NumberTarget(self.target) if self.target.ndim == 1 else SeveralTargets(self.comparable)

    @property
    def n_targets(self) -> int:
        return 1 if self.target.ndim == 1 else self.target.shape[1]

    @property
    def scale(self) -> NDArray[np.float64]:
        if self.target.ndim == 1:
            return np.ones(1)
        apart = self.target - self.target[0]  # exactly 0 where all are equal
        share = (self.weights / self.weights.sum())[:, None]
        apart -= (share * apart).sum(axis=0)
        return np.array([rounded_scale(square) for square in (share * apart**2).sum(axis=0).tolist()])

    @property
    def comparable(self) -> NDArray[np.float64]:
        return self.target if self.target.ndim == 1 else self.target / self.scale

    def check_squares(self) -> None:
        largest, total = float(np.abs(self.target).max()), float(self.weights.sum()) * self.n_targets
        if largest * largest > MAX_SQUARES / total / max(1.0, total):
            raise ValueError(
                f"y holds numbers up to {largest:.3g}, and the rows weigh {self.weights.sum():.3g} together, so that "
                f"squares of weighted sums or weighted squares of y exceed {MAX_SQUARES:g}. Rescale y or sample_weight."
            )


def rounded_scale(square: float) -> float:
    # the square varies slightly with the order of the rows
    return float(2.0 ** (np.round(8.0 * np.log2(square)) / 16.0)) if square > 0.0 else 1.0


def nonzero_weights(weights: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(weights > LEAST_SHARE * weights.sum())


def nonzero_sample_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    given = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    return nonzero_weights(_moderate(given) if given.ndim else np.ones(n))


class InnerWeights(NDArray[np.float64]):
    """Weights of a fit inside another one, which has decided whether they count rows."""


def inner_weights(weights: F64 | None) -> F64 | None:
    return None if weights is None else weights.view(InnerWeights)


def row_weights(
    sample_weight: ArrayLike | None,
    X: ArrayLike | Labels | SparseMatrix,
    name: str = "sample_weight",
    *,
    warn: bool = True,
) -> F64:
    weights = checked_weights(sample_weight, X, name, warn=warn)
    return np.asarray(weights) if counts_rows(weights) else scaled_weights(weights)


def weighted_by_class(weights: F64, factors: F64) -> F64:
    with np.errstate(under="ignore"):
        product = np.asarray(weights * _moderate(factors))
    # factors change ratios, not the number of counted rows
    return scaled_weights(product, fsum(weights.tolist()) if counts_rows(weights) else None)


def checked_weights(
    sample_weight: ArrayLike | None,
    X: ArrayLike | Labels | SparseMatrix,
    name: str = "sample_weight",
    *,
    warn: bool = True,
) -> F64:
    if isinstance(sample_weight, list | tuple):
        sample_weight = np.asarray(sample_weight)
    if getattr(getattr(sample_weight, "dtype", None), "kind", None) == "c":
        raise ValueError(f"{name} holds complex numbers; give real ones, as by {name}.real.")
    rows = X.codes if isinstance(X, CodedText) else X
    try:
        weights: F64 = _check_sample_weight(sample_weight, rows, dtype=np.float64, allow_all_zero_weights=True)
    except OverflowError as error:
        raise ValueError(f"{name} holds a number of more than 300 digits; scale the weights.") from error
    except (TypeError, ValueError) as error:
        shape, n = np.shape(cast("Any", sample_weight)), _num_samples(rows)
        if shape == (n,):
            _reject_text(cast("Any", sample_weight), name)
            raise
        raise ValueError(f"{name} has shape {shape}; {n} rows need one weight each.") from error
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(f"{name}[{row}] is {weights[row]}; weights must not be negative (0 leaves a row out).")
    if not weights.any():
        raise ValueError(f"{name} is zero for every row; at least one row must count.")
    if isinstance(sample_weight, InnerWeights):
        return weights.view(InnerWeights)
    weights = _moderate(weights)
    # every larger float is whole
    if warn and weights.max() < 2.0**53 and _are_whole(weights) and not counts_rows(weights):
        mean = weights[weights > 0.0].mean()
        warn_user(
            f"{name} holds whole numbers with a mean of {mean:.6g}. Only their ratios are used, because whole "
            f"weights count repeated rows only if their mean is at most {MOST_COUNTED:g}. To count rows, repeat them; "
            "to avoid this warning, divide the weights by that mean, which is one without zeros."
        )
    return weights


def _reject_text(weights: Any, name: str) -> None:
    for row, value in enumerate(np.asarray(weights, dtype=object).tolist()):
        if value is None or isinstance(value, str):
            raise ValueError(f"{name} holds {value!r} in row {row}; give a number for each row, 0 to leave it out.")


def _moderate(weights: F64) -> F64:
    # sums of weights and their squares must be finite
    power = int(np.frexp(weights.max())[1])
    if abs(power) <= MOST_POWER:
        return weights
    with np.errstate(under="ignore"):
        return np.ldexp(weights, -power)


def _are_whole(weights: F64) -> bool:
    return bool((weights == np.rint(weights)).all())


def counts_rows(weights: F64) -> bool:
    if isinstance(weights, InnerWeights):
        return True
    kept = weights[weights > 0.0]
    return _are_whole(kept) and bool(kept.mean() <= MOST_COUNTED)


def scaled_weights(weights: F64, total: float | None = None) -> F64:
    counted = nonzero_weights(weights)
    kept = weights[counted]
    total = float(len(kept)) if total is None else total
    if kept.min() == kept.max():
        return np.where(counted, total / len(kept), 0.0)
    scale = total / fsum(kept.tolist())  # an exact sum, of rows in any order
    power = 2.0 ** round(log2(scale))
    with np.errstate(under="ignore"):
        return weights * (power if abs(scale / power - 1.0) <= SAME_SCALE else scale)


ClassWeightChoice: TypeAlias = "Mapping[Any, float] | str | None"


@dataclass(frozen=True, eq=False)
class ClassWeights:
    classes: NDArray[Any]  # (K,): sorted labels of rows with weight
    factors: F64

    @classmethod
    def of(cls, choice: ClassWeightChoice, y: Labels, weights: F64) -> Self:
        keep = nonzero_weights(weights)
        classes, number = encode_classes(y[keep])
        if isinstance(choice, Mapping):
            return cls(classes, _given_factors(choice, classes))
        return cls(classes, balanced_class_factors(np.bincount(number, weights[keep], len(classes))))

    def of_rows(self, y: Labels) -> F64:
        if isinstance(y, CodedText):
            factors: F64 = self.of_rows(y.texts)[y.codes]
            return factors
        place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return np.where(self.classes[place] == y, self.factors[place], 1.0)


def balanced_class_factors(totals: NDArray[Any]) -> F64:
    there = totals > 0.0
    factors = np.zeros(len(totals))
    factors[there] = totals[there].sum() / (there.sum() * totals[there])
    return factors


def _given_factors(choice: Mapping[Any, float], classes: NDArray[Any]) -> F64:
    number = {label: k for k, label in enumerate(classes.tolist())}
    factors = np.ones(len(classes))
    for label, factor in choice.items():
        if label not in number:
            raise ValueError(
                f"class_weight has the key {label!r}, which is not a class of y's rows with weight, {classes.tolist()}."
                " Leave the key out, or write it as y does."
            )
        if isinstance(factor, bool) or not (isinstance(factor, Real) and isfinite(factor) and factor > 0):
            raise ValueError(
                f"class_weight[{label!r}] is {factor!r}; it must be a finite number above 0. To leave a class out, "
                "leave its rows out."
            )
        factors[number[label]] = float(factor)
    return factors


def given_table(X: Any, left_out: Sequence[int] = ()) -> Any:
    if is_sparse(X):
        cells = as_sparse_matrix(X)
        index = np.int32 if len(cells.value) < 2**31 else np.int64  # few estimators take 64-bit indices
        return csr_array((cells.value, cells.column.astype(index), cells.start.astype(index)), shape=cells.shape)
    if not is_frame(X):
        return numeric_matrix(X, None)
    if not left_out:
        return X
    return _safe_indexing(X, np.setdiff1d(np.arange(X.shape[1]), left_out), axis=1)


@dataclass(frozen=True, eq=False)
class GivenRows:
    table: Any
    cells: Matrix

    @classmethod
    def of(cls, X: Any, cells: Matrix, left_out: Sequence[int] = ()) -> GivenRows:
        return cls(given_table(X, left_out), cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: NDArray[np.integer[Any]]) -> GivenRows:
        return GivenRows(_safe_indexing(self.table, index), self.cells[index])


def encoded_cells(rows: Matrix | GivenRows) -> Matrix:
    return rows.cells if isinstance(rows, GivenRows) else rows


R = TypeVar("R", bound=WeightedRows)


@dataclass(frozen=True)
class Offsets:
    training: Any = None
    validation: Any = None

    def of_training(self, rows: R, weights: ArrayLike | None) -> R:
        """Add the offsets to training rows; `weights` are those of all the user's rows."""
        if self.training is None:
            return rows
        kept = np.ones(len(rows), dtype=bool) if weights is None else nonzero_weights(np.asarray(weights))
        return replace(rows, offset=checked_offset(self.training, len(kept))[kept])

    def of_validation(self, rows: R) -> R:
        if (self.training is None) != (self.validation is None):
            missing = "offset_val" if self.validation is None else "offset"
            raise ValueError(f"offset and offset_val go together, and {missing} is missing; give it, zeros if need be.")
        if self.validation is None:
            return rows
        return replace(rows, offset=checked_offset(self.validation, len(rows), "offset_val"))


def checked_offset(offset: Any, n_rows: int, name: str = "offset") -> F64:
    try:
        numbers = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is {offset!r:.60}; give numbers of shape (n,), or (n, D) for D scores.") from error
    if numbers.ndim not in (1, 2) or len(numbers) != n_rows:
        raise ValueError(
            f"{name} has shape {numbers.shape} for {n_rows} rows; give shape ({n_rows},), or ({n_rows}, D) "
            "for D scores."
        )
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers.reshape(n_rows, -1)).all(axis=1)))
        raise ValueError(
            f"{name}[{row}] is {numbers[row]}; offsets must be finite. Leave such rows out; if it is the logarithm of "
            "an exposure of 0, correct the exposure."
        )
    return numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers


def check_scores(offset: F64 | None, n_scores: int) -> None:
    given = 1 if offset is None or offset.ndim == 1 else offset.shape[1]
    if offset is not None and given != n_scores:
        shape = "(n,)" if n_scores == 1 else f"(n, {n_scores})"
        raise ValueError(
            f"offset has {pluralize(given, 'number')} for each row, and a row has {pluralize(n_scores, 'score')} here; "
            f"give shape {shape}."
        )
