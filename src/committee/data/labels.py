"""Targets: class labels and numbers to predict, checked and converted; text labels as codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d


@dataclass(frozen=True, eq=False)
class CodedText:
    codes: NDArray[Any]  # (n,): index of each row's text
    texts: NDArray[np.str_]  # distinct texts, ascending

    @classmethod
    def of(cls, values: NDArray[np.str_]) -> Self:
        texts, codes = np.unique(values, return_inverse=True)
        return cls(codes.astype(_codes_for(len(texts))), texts)

    @classmethod
    def of_parts(cls, parts: Sequence[CodedText]) -> Self:
        texts = np.unique(np.concatenate([part.texts for part in parts]))
        places = [np.searchsorted(texts, part.texts).astype(_codes_for(len(texts))) for part in parts]
        return cls(np.concatenate([place[part.codes] for place, part in zip(places, parts, strict=True)]), texts)

    def counted(self) -> tuple[NDArray[np.str_], NDArray[Any]]:
        present = np.flatnonzero(np.bincount(self.codes, minlength=len(self.texts)))
        place = np.zeros(len(self.texts), dtype=self.codes.dtype)
        place[present] = np.arange(len(present))
        return self.texts[present], place[self.codes]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.texts.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    @property
    def ndim(self) -> int:
        return 1

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> CodedText:
        return CodedText(self.codes[index], self.texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts[self.codes])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("coded texts become an array only by a copy; pass copy=None")
        texts: NDArray[Any] = self.texts[self.codes]
        return texts if dtype is None else texts.astype(dtype)


Labels: TypeAlias = NDArray[Any] | CodedText
Task = Literal["classes", "numbers"]

MAX_TARGET = 1e150  # losses square a target, and sums of squares must stay finite
MOST_NUMERIC_CLASSES = 50  # a numeric target with more distinct values holds numbers to predict
MOST_FEW_CLASSES = 20  # with more classes than these, each must have two rows on average
ROWS_OF_A_CLASS = 5  # integers with a mean of fewer rows per value are numbers to predict, unless there are two values


def _codes_for(n: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if n <= 2**8 else np.uint16 if n <= 2**16 else np.uint32


def infer_task(y: NDArray[Any]) -> Task:
    if y.dtype.kind not in "iuf":
        return "classes"
    values = np.unique(y)
    if not all_integers(values):
        return "numbers"
    most = min(MOST_NUMERIC_CLASSES, len(y) // ROWS_OF_A_CLASS)
    return "classes" if len(values) <= max(2, most) else "numbers"


def all_integers(values: NDArray[Any]) -> bool:
    return bool((np.isfinite(values) & (values == np.floor(values))).all())


def label_vector(y: ArrayLike | CodedText | None) -> Labels:
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


def refuse_identifier(n_classes: int, n_rows: float, what: str) -> None:
    if n_classes <= max(MOST_FEW_CLASSES, n_rows / 2):
        return
    raise ValueError(
        f"{what} has {n_classes} different values in {n_rows:.0f} rows, as an identifier of the rows has, and a class "
        "of one row cannot be learned. Give the column to predict; if the values are numbers to predict, use a "
        "regressor (--task numbers); if they are groups of rows, pass them as groups."
    )


def encode_classes(y: Labels) -> tuple[NDArray[Any], NDArray[Any]]:
    if isinstance(y, CodedText):
        return y.counted()
    if y.dtype.kind in "biu" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < 65_536 and high < 2**63:  # counted, which is faster than sorting
            shifted = (y.astype(np.int64) - low).astype(np.uint16)
            present = np.flatnonzero(np.bincount(shifted, minlength=high - low + 1))
            number = np.zeros(high - low + 1, dtype=np.uint16)
            number[present] = np.arange(len(present))
            return (present + low).astype(y.dtype), number[shifted]
    return np.unique(y, return_inverse=True)


def scored_classes(n_classes: int) -> range:
    return range(1 if n_classes == 2 else 0, n_classes)


def n_columns(y: Any) -> int:
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return int(shape[1]) if len(shape) == 2 else 1


def target_matrix(y: ArrayLike | None, name: str = "y") -> NDArray[np.float64]:
    if n_columns(y) < 2:
        return target_vector(y, name)
    if issparse(y):
        raise ValueError(f"{name} is a sparse matrix; give several targets as an array, {name}.toarray().")
    return _real_numbers(np.asarray(y), name)


def target_vector(y: ArrayLike | None, name: str = "y") -> NDArray[np.float64]:
    if y is None:
        raise ValueError(f"A regressor requires {name} to be passed, but the target {name} is None; give numbers.")
    if (q := n_columns(y)) > 1:
        raise ValueError(
            f"{name} has {q} columns, and this learner predicts one number a row; wrap it in "
            "sklearn.multioutput.MultiOutputRegressor, or take RandomForestRegressor or GradientBoostingRegressor, "
            "which take several targets."
        )
    return _real_numbers(column_or_1d(y, warn=True), name)


def _real_numbers(given: NDArray[Any], name: str) -> NDArray[np.float64]:
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
            f"{name} holds {given.dtype.name} values, such as {given.flat[0]}; a regressor predicts real numbers; "
            f"convert them, as by {name}.astype({('int64' if given.dtype.kind in 'mM' else 'float')!r})."
        )
    target = np.ascontiguousarray(given, dtype=np.float64)
    if (missing := np.isnan(target)).any():
        row = int(np.argwhere(missing)[0, 0])
        raise ValueError(f"Input {name} contains NaN: row {row} has no number; leave such rows out.")
    if (huge := ~(np.abs(target) <= MAX_TARGET)).any():
        first = tuple(np.argwhere(huge)[0].tolist())
        raise ValueError(
            f"{name}[{', '.join(map(str, first))}] is {target[first]}; targets must be finite, between "
            f"-{MAX_TARGET:.0e} and {MAX_TARGET:.0e}. Leave such rows out, or rescale."
        )
    return target


def _check_objects(target: NDArray[Any]) -> None:
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
    if isinstance(label, float | np.floating):
        return bool(np.isnan(label))
    return label is None or type(label).__name__ in ("NAType", "NaTType")
