"""Training rows as the kernels take them: the matrix, labels as class numbers or targets, weights."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, column_or_1d

from committee.data.binning import Binned
from committee.data.coded_text import CodedText, Labels
from committee.data.frames import TableSchema
from committee.data.pieces.pieced_matrix import PiecedMatrix, numbered_columns
from committee.data.sparse import Matrix, SparseMatrix

if TYPE_CHECKING:
    from committee.data.design import Design
    from committee.data.level_values import LevelValues
    from committee.data.many_levels import ManyLevels
    from committee.data.target_statistics import ClassTarget, NumberTarget, SeveralTargets

MAX_TARGET = 1e150
"""Losses square a target, and sums of squares must stay finite."""

MAX_SQUARES = 1e306
"""Limit of the square of a sum of weighted targets, and of a sum of their weighted squares."""

LEAST_SHARE = 1e-150
"""A row of a smaller share of all weight counts for nothing, as float64 has no quotients of such numbers."""

LEAST_WEIGHT, MOST_WEIGHT = 1e-150, 1e150
"""Limits of the sum of row weights, whose square must be a number too."""

RowIndex: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.bool_]
"""A selection of rows: their numbers, or a mask."""


class WeightedRows:
    """Base of rows of classes and rows of numbers."""

    X: Matrix | PiecedMatrix
    weights: NDArray[np.float64]
    uniform: bool
    """No weights are given, and all are 1."""
    levels: ManyLevels | None
    """The columns of `X` in which numbers stand for levels, if there are any."""

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, index: RowIndex) -> Self:
        """Some of the rows."""
        arrays = {name: array[index] for name, array in vars(self).items() if not (name == "uniform" or array is None)}
        chosen: Self = replace(cast("Any", self), **arrays)  # the subclasses are dataclasses
        return chosen

    @property
    def weigh_alike(self) -> bool:
        """Whether all weights are equal, given or not."""
        return self.uniform or bool((self.weights == self.weights[0]).all())

    def without_cells(self) -> Self:
        """Return labels or targets and weights alone, for other processes that have codes in the place of cells."""
        bare: Self = replace(cast("Any", self), X=np.empty((len(self), 0)), levels=None)
        return bare

    def binned(self, table: TableSchema, max_bins: int, n_threads: int) -> Binned:
        """The rows in bins, learned from them and their weights."""
        return Binned.of(self.X, None if self.uniform else self.weights, table, max_bins, n_threads)

    @property
    def elsewhere(self) -> bool:
        """Whether others hold the rows, in shards."""
        return isinstance(self.X, PiecedMatrix) and self.X.elsewhere

    def need_cells(self) -> None:
        """Say that the cells are needed after their bins, as those of a table that others hold may not be."""
        if isinstance(self.X, PiecedMatrix):
            self.X.needs_cells = True

    @property
    def dense(self) -> NDArray[np.float64]:
        """The matrix, for learners that take no sparse tables; that of pieces is written to a file and mapped."""
        assert not isinstance(self.X, SparseMatrix)  # such tables are refused at the door
        return self.X.dense if isinstance(self.X, PiecedMatrix) else self.X

    def designed(self, design: Design) -> NDArray[np.float64]:
        """The design matrix of the rows; of rows in pieces it is written to a file and mapped."""
        if not isinstance(self.X, PiecedMatrix):
            return np.ascontiguousarray(design.matrix(self.dense))
        return self.dense if design.is_table else self.X.row_by_row(len(design), design.matrix)

    def room(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """An array for numbers of the rows: in memory, or in a file where the rows come in pieces."""
        return self.X.room(shape) if isinstance(self.X, PiecedMatrix) else np.empty(shape)

    @property
    def cells(self) -> Matrix:
        """The matrix with its values, `dense` or sparse."""
        return self.X if isinstance(self.X, SparseMatrix) else self.dense

    @property
    @abstractmethod
    def statistic(self) -> ClassTarget | NumberTarget | SeveralTargets:
        """The target, as means over the rows of a level need it."""

    def with_numbers(self, table: TableSchema) -> tuple[Self, TableSchema]:
        """Put numbers in the place of levels, learned from these rows alone; the schema that does so for other rows."""
        if self.levels is None:
            return self, table
        from committee.data.target_statistics import target_statistics  # few tables have many levels

        numbers, values = target_statistics(self.levels, self.statistic, self.weights)
        return self._with_columns(numbers), table.with_values(values)

    def numbered_from(self, index: RowIndex, table: TableSchema) -> tuple[Self, TableSchema]:
        """Put numbers in the place of levels, learned from the rows of `index`, in which the others have no say."""
        if self.levels is None:
            return self, table
        taught, table = self.take(index).with_numbers(table)
        numbers = self._numbers_by(table)
        numbers[index] = taught.dense[:, self.levels.columns]
        return self._with_columns(numbers), table

    def numbered_by(self, table: TableSchema) -> Self:
        """Put the numbers of a schema that other rows have taught in the place of levels."""
        return self if self.levels is None else self._with_columns(self._numbers_by(table))

    def _numbers_by(self, table: TableSchema) -> NDArray[np.float64]:
        assert self.levels is not None
        numbers = np.empty(self.levels.codes.shape)
        for c, j in enumerate(self.levels.columns):
            codes = self.levels.codes[:, c].astype(np.float64)
            numbers[:, c] = cast("LevelValues", table.values[j]).numbers(codes, codes < 0)
        return numbers

    def _with_columns(self, numbers: NDArray[np.float64]) -> Self:
        assert self.levels is not None and not isinstance(self.X, SparseMatrix)
        numbered: Self = replace(cast("Any", self), X=numbered_columns(self.X, self.levels.columns, numbers))
        return numbered

    @property
    def count(self) -> float:
        """Rows that the weights stand for: a weight of k counts as k rows, and never fewer than there are."""
        return max(float(self.weights.sum()), float(len(self.weights)))


@dataclass(frozen=True, eq=False)
class Rows(WeightedRows):
    """Rows of classes: the encoded matrix, class numbers and weights, all of positive weight."""

    X: Matrix | PiecedMatrix
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64]
    uniform: bool
    levels: ManyLevels | None = None

    @property
    def statistic(self) -> ClassTarget:
        """Class of every row."""
        from committee.data.target_statistics import ClassTarget

        return ClassTarget(self.labels, max(2, int(self.labels.max()) + 1))


@dataclass(frozen=True, eq=False)
class TargetRows(WeightedRows):
    """Rows of numbers: the encoded matrix, targets and weights, all of positive weight.

    Of several targets each row has a line, ``(n, q)``.
    """

    X: Matrix | PiecedMatrix
    target: NDArray[np.float64]
    weights: NDArray[np.float64]
    uniform: bool
    levels: ManyLevels | None = None

    @property
    def statistic(self) -> NumberTarget | SeveralTargets:
        """Number of every row, or numbers."""
        from committee.data.target_statistics import NumberTarget, SeveralTargets

        return NumberTarget(self.target) if self.target.ndim == 1 else SeveralTargets(self.comparable)

    @property
    def n_targets(self) -> int:
        """Numbers to predict of each row."""
        return 1 if self.target.ndim == 1 else self.target.shape[1]

    @property
    def scale(self) -> NDArray[np.float64]:
        """Standard deviations of several targets, ``(q,)``, in whose units they count alike; 1 of a single one."""
        if self.target.ndim == 1:
            return np.ones(1)
        apart = self.target - self.target[0]  # exactly 0 where all are equal
        share = (self.weights / self.weights.sum())[:, None]
        apart -= (share * apart).sum(axis=0)
        return np.array([rounded_scale(square) for square in (share * apart**2).sum(axis=0).tolist()])

    @property
    def comparable(self) -> NDArray[np.float64]:
        """Several targets in units of `scale`; a single one as it is."""
        return self.target if self.target.ndim == 1 else self.target / self.scale

    def refuse_squares(self) -> None:
        """Refuse targets whose weighted sum, squared, or weighted squares add up to no number.

        Raises
        ------
        ValueError
            If they may exceed `MAX_SQUARES`.
        """
        largest, total = float(np.abs(self.target).max()), float(self.weights.sum()) * self.n_targets
        if largest * largest > MAX_SQUARES / total / max(1.0, total):
            raise ValueError(
                f"y holds numbers up to {largest:.3g}, and the rows weigh {total:.3g} together, so that squares of "
                f"weighted sums or weighted squares of y exceed {MAX_SQUARES:g}. Rescale y or sample_weight."
            )


def rounded_scale(square: float) -> float:
    """A scale from its square, to a sixteenth of a power of two: the order in which rows were added does not matter.

    Where the square is 0 there is no scale, and 1 is returned.

    Examples
    --------
    >>> rounded_scale(4.0), rounded_scale(4.0 + 1e-12), round(rounded_scale(9.0), 2), rounded_scale(0.0)
    (2.0, 2.0, 2.95, 1.0)
    """
    return float(2.0 ** (np.round(8.0 * np.log2(square)) / 16.0)) if square > 0.0 else 1.0


def counted(weights: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows have weight beside the others, ``(n,)``.

    Examples
    --------
    >>> counted(np.array([2.0, 0.0, 1.0, 1e-300])).tolist()
    [True, False, True, False]
    """
    return np.asarray(weights > LEAST_SHARE * weights.sum())


def have_weight(sample_weight: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    """Tell which of the user's rows have weight, ``(n_given,)``; `n` is how many rows have.

    Examples
    --------
    >>> have_weight([2.0, 0.0, 1.0], 2).tolist(), have_weight(None, 2).tolist()
    ([True, False, True], [True, True])
    """
    given = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    return counted(given if given.ndim else np.ones(n))


# --- weights in ------------------------------------------------------------------------------------------------------


def row_weights(sample_weight: ArrayLike | None, X: Labels | SparseMatrix) -> NDArray[np.float64]:
    """One weight for each row of X; ones if none are given.

    Raises
    ------
    ValueError
        If they are not one number a row, finite, not negative and not all zero, or their sum is out of all bounds.

    Examples
    --------
    >>> row_weights([2, 0], np.zeros((2, 1))).tolist()
    [2.0, 0.0]
    """
    if isinstance(sample_weight, list | tuple):
        sample_weight = np.asarray(sample_weight)
    if getattr(getattr(sample_weight, "dtype", None), "kind", None) == "c":
        raise ValueError("sample_weight holds complex numbers; give real ones, as by sample_weight.real.")
    try:
        weights: NDArray[np.float64] = _check_sample_weight(
            sample_weight, X.codes if isinstance(X, CodedText) else X, dtype=np.float64, allow_all_zero_weights=True
        )
    except OverflowError as error:
        raise ValueError("sample_weight holds a number of more than 300 digits; scale the weights.") from error
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(f"sample_weight[{row}] is {weights[row]}; weights must not be negative (0 leaves a row out).")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least one row must count.")
    refuse_total(weights)
    return weights


def refuse_total(weights: NDArray[np.float64], name: str = "sample_weight") -> None:
    """Refuse row weights whose sum the kernels cannot square; errors call them by `name`.

    Raises
    ------
    ValueError
        If it is below `LEAST_WEIGHT` or above `MOST_WEIGHT`.
    """
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not LEAST_WEIGHT <= total <= MOST_WEIGHT:
        raise ValueError(f"{name} adds up to {total:.3g}; scale it to between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}.")


# --- labels and targets in -----------------------------------------------------------------------------------


def label_vector(y: ArrayLike | CodedText | None) -> Labels:
    """The class labels as a vector ``(n,)``: whole numbers, booleans or text; a series of pandas, polars or Arrow too.

    The result is `y` itself if it is one already.

    Raises
    ------
    ValueError
        If `y` is None, not one-dimensional, has rows without a label, mixes types, or holds numbers to predict
        instead of classes.

    Examples
    --------
    >>> label_vector(["yes", "no"]).tolist()
    ['yes', 'no']
    """
    if y is None:
        raise ValueError("A classifier requires y to be passed, but the target y is None; give each row's class.")
    if (q := n_columns(y)) > 1:
        raise ValueError(
            f"y has {q} columns, but classes are one label a row; for several labels a row wrap the classifier in "
            "sklearn.multioutput.MultiOutputClassifier."
        )
    if isinstance(y, CodedText):
        return y
    target: NDArray[Any] = column_or_1d(y, warn=True)
    if target.dtype.kind in "biu":
        return target
    if target.dtype.kind == "O":
        _check_objects(target)
    elif target.dtype.kind == "f":
        if (missing := np.isnan(target)).any():
            raise ValueError(f"Input y contains NaN: row {np.argmax(missing)} has no label; leave such rows out.")
        assert_all_finite(target, input_name="y")
    check_classification_targets(target)
    return target


def class_numbers(y: Labels) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sorted classes, and each row's class number, ``(n,)``, of labels as `label_vector` gives them.

    Small whole numbers are counted instead of sorted.

    Examples
    --------
    >>> classes, number = class_numbers(np.array([7, 3, 7]))
    >>> classes.tolist(), number.tolist()
    ([3, 7], [1, 0, 1])
    """
    if isinstance(y, CodedText):
        return y.counted()
    if y.dtype.kind in "biu" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < 65_536 and high < 2**63:
            shifted = (y.astype(np.int64) - low).astype(np.uint16)
            present = np.flatnonzero(np.bincount(shifted, minlength=high - low + 1))
            number = np.zeros(high - low + 1, dtype=np.uint16)
            number[present] = np.arange(len(present))
            return (present + low).astype(y.dtype), number[shifted]
    return np.unique(y, return_inverse=True)


def scored_classes(n_classes: int) -> range:
    """Numbers of the classes that each have a score against the rest: of two the second, otherwise all.

    Examples
    --------
    >>> list(scored_classes(2)), list(scored_classes(3))
    ([1], [0, 1, 2])
    """
    return range(1 if n_classes == 2 else 0, n_classes)


def n_columns(y: Any) -> int:
    """Number of columns of a table or array of targets; a vector is one.

    Examples
    --------
    >>> n_columns([1, 2]), n_columns([[1.0, 5.0], [2.0, 6.0]])
    (1, 2)
    """
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return int(shape[1]) if len(shape) == 2 else 1


def target_matrix(y: ArrayLike | None, name: str = "y") -> NDArray[np.float64]:
    """The real numbers to predict as float64: a vector ``(n,)``, or of several targets a matrix ``(n, q)``.

    As `target_vector`, whose errors these are.

    Examples
    --------
    >>> target_matrix([[1, 5], [2, 6]]).tolist()
    [[1.0, 5.0], [2.0, 6.0]]
    """
    if n_columns(y) < 2:
        return target_vector(y, name)
    if issparse(y):
        raise ValueError(f"{name} is a sparse matrix; several targets are an array, {name}.toarray().")
    return _real_numbers(np.asarray(y), name)


def target_vector(y: ArrayLike | None, name: str = "y") -> NDArray[np.float64]:
    """The real numbers to predict as a float64 vector ``(n,)``; a series of pandas, polars or Arrow too.

    Errors call it by `name`.

    Raises
    ------
    ValueError
        If `y` is None, not one-dimensional, holds what is no number, a missing or infinite one, or one whose
        square no float64 holds.

    Examples
    --------
    >>> target_vector([1, 2]).tolist()
    [1.0, 2.0]
    """
    if y is None:
        raise ValueError(f"A regressor requires {name} to be passed, but the target {name} is None.")
    if (q := n_columns(y)) > 1:
        raise ValueError(
            f"{name} has {q} columns, and this learner predicts one number a row; wrap it in "
            "sklearn.multioutput.MultiOutputRegressor, or take RandomForestRegressor or GradientBoostingRegressor, "
            "which take several targets."
        )
    return _real_numbers(column_or_1d(y, warn=True), name)


def _real_numbers(given: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Targets as float64, C-contiguous, or the error that names the first that is no number to predict."""
    if given.dtype.kind in "OUT":
        for place, value in np.ndenumerate(given):
            if isinstance(value, str):
                raise ValueError(
                    f"{name} holds text, {str(value)!r} in row {place[0]}; a regressor predicts numbers. Take a "
                    f"classifier for classes; for numbers that were read as text, {name}.astype(float)."
                )
        numbers = [np.nan if _is_missing(number) else number for number in given.ravel()]
        given = np.array(numbers).reshape(given.shape)
    if given.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} holds {given.dtype.name} values, such as {given.flat[0]}; a regressor predicts real numbers, "
            f"{name}.astype(float)."
        )
    target = np.ascontiguousarray(given, dtype=np.float64)
    if (missing := np.isnan(target)).any():
        row = int(np.argwhere(missing)[0, 0])
        raise ValueError(f"Input {name} contains NaN: row {row} has no number; leave such rows out.")
    if (huge := ~(np.abs(target) <= MAX_TARGET)).any():
        first = tuple(np.argwhere(huge)[0].tolist())
        raise ValueError(
            f"{name}[{', '.join(map(str, first))}] is {target[first]}; targets must be finite, within "
            f"-{MAX_TARGET:.0e} and {MAX_TARGET:.0e}. Leave such rows out, or rescale."
        )
    return target


def _check_objects(target: NDArray[Any]) -> None:
    """Python objects are labels if all of them are text."""
    for row, label in enumerate(target):
        if _is_missing(label):
            raise ValueError(f"Input y contains NaN: row {row} has no label ({label}); leave such rows out.")
    kinds = sorted({type(label).__name__ for label in target if not isinstance(label, str)})
    if kinds:
        mixed = any(isinstance(label, str) for label in target)
        held = f"text mixed with {' and '.join(kinds)}" if mixed else f"{' and '.join(kinds)} as Python objects"
        raise ValueError(
            f"Unknown label type: y holds {held}; make all labels text, y.astype(str), or all whole numbers, "
            "y.astype(int)."
        )


def _is_missing(label: object) -> bool:
    """Say whether an object stands for "no label": None, NaN, and pandas' own two."""
    if isinstance(label, float | np.floating):
        return bool(np.isnan(label))
    return label is None or type(label).__name__ in ("NAType", "NaTType")
