"""What every classifier of the library is: rows in by one door, a committee out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from committee.data.frames import TableSchema, is_frame
from committee.parallel import n_threads
from committee.vote import Committee
from committee.voters.soundness import MAX_CLASSES

if TYPE_CHECKING:
    from sklearn.utils import Tags


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows ready for the kernels: the encoded matrix, class numbers and weights, all of positive weight."""

    X: NDArray[np.float64]
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64]
    uniform: bool
    """All weights are equal."""

    def take(self, index: NDArray[np.integer[Any]] | NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        return Rows(self.X[index], self.labels[index], self.weights[index], self.uniform)

    @property
    def count(self) -> float:
        """How many rows the weights stand for: a weight of k counts as k rows, and never fewer than there are."""
        return max(float(self.weights.sum()), float(len(self.weights)))


class CommitteeClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the library's classifiers.

    A subclass's ``fit`` calls `_rows`, trains, and sets ``committee_``; everything a fitted classifier can be
    asked is answered here by the committee.
    """

    _stored_attributes: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes beyond the committee that a saved file carries."""

    classes_: NDArray[Any]
    n_features_in_: int
    table_: TableSchema
    committee_: Committee
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    # --- rows in ---------------------------------------------------------------------------------------------

    def _rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        """Check and encode training rows; sets ``classes_``, ``table_``, ``n_features_in_`` and names.

        Rows of zero weight are left out here, so that no learner ever meets them.
        """
        X, y = self._checked(X, y)
        classes, labels = _class_numbers(y)
        self.table_ = TableSchema.learn(X, self.categorical_features)
        encoded = self.table_.encode(X)
        uniform = sample_weight is None
        weights = _check_sample_weight(sample_weight, encoded, dtype=np.float64, ensure_non_negative=True)
        if not uniform and not weights.all():
            keep = weights > 0
            if not keep.any():
                raise ValueError("sample_weight is zero for every row; at least one row must count.")
            encoded, labels, weights = encoded[keep], labels[keep], weights[keep]
            present, labels = np.unique(labels, return_inverse=True)
            classes = classes[present]
        if len(classes) < 2:
            raise ValueError(
                f"y holds a single class, {classes.tolist()[0]!r} (rows of zero weight do not count); "
                "a classifier needs at least two classes."
            )
        if len(classes) > MAX_CLASSES:
            raise ValueError(
                f"y holds {len(classes)} classes; at most {MAX_CLASSES} are possible. Is it a number to predict?"
            )
        self.classes_ = classes
        return Rows(encoded, labels.astype(np.uint16, copy=False), weights, uniform)

    def _checked(self, X: Any, y: ArrayLike) -> tuple[Any, NDArray[Any]]:
        """scikit-learn's checks of the pair, for arrays and frames; values are the table's affair."""
        target: NDArray[Any]
        if not is_frame(X):
            X, target = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite=False)
        else:
            _check_feature_names(self, X, reset=True)
            _check_n_features(self, X, reset=True)
            target = column_or_1d(y, warn=True)
            check_consistent_length(X, target)
        if target.dtype.kind not in "biu":
            if target.dtype.kind == "f":
                assert_all_finite(target, input_name="y")
            check_classification_targets(target)
        return X, target

    def _validation_rows(self, X_val: Any, y_val: ArrayLike | None) -> Rows | None:
        """Encode a validation set by the training table; None when none was given."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together; one of them is missing.")
        if X_val is None:
            return None
        encoded = self.table_.encode(self._named(X_val))
        target: NDArray[Any] = column_or_1d(y_val)
        check_consistent_length(encoded, target)
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        labels = np.array([number.get(label, -1) for label in target.tolist()])
        if (labels < 0).any():
            raise ValueError(f"y_val holds {target[labels < 0][0]!r}, which is not a class of y.")
        return Rows(encoded, labels.astype(np.uint16), np.ones(len(labels)), uniform=True)

    def _named(self, X: Any) -> Any:
        """X as the committee takes it: names and width checked, arrays made float64."""
        check_is_fitted(self, "committee_" if hasattr(self, "committee_") else "table_")
        if not is_frame(X):
            return validate_data(self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite=False)
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        return X

    # --- the committee out -----------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score F(x): ``(n,)`` for two classes, positive for ``classes_[1]``; else ``(n, n_classes)``."""
        check_is_fitted(self)
        return self.committee_.decision_function(self._named(X), n_threads=n_threads(self.n_jobs))

    def predict(self, X: Any) -> NDArray[Any]:
        """Elected class of every row, ``(n,)``; a tie goes to the first of the tied classes."""
        check_is_fitted(self)
        return self.committee_.predict(self._named(X), n_threads=n_threads(self.n_jobs))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities ``(n, n_classes)``; the largest is the class that `predict` gives."""
        check_is_fitted(self)
        return self.committee_.predict_proba(self._named(X), n_threads=n_threads(self.n_jobs))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Score after each voter."""
        check_is_fitted(self)
        return self.committee_.staged_decision_function(self._named(X), n_threads=n_threads(self.n_jobs))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Elected classes after each voter."""
        check_is_fitted(self)
        return self.committee_.staged_predict(self._named(X), n_threads=n_threads(self.n_jobs))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Class probabilities after each voter."""
        check_is_fitted(self)
        return self.committee_.staged_predict_proba(self._named(X), n_threads=n_threads(self.n_jobs))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the voters' weighted split gain that each feature earned, ``(p,)``."""
        check_is_fitted(self)
        return self.committee_.feature_importances_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to a file that `committee.load` reads; loading never runs code.

        Parameters
        ----------
        path : str or path
            Written beside and moved into place, so that an interruption leaves the old file whole.

        Raises
        ------
        TypeError
            If a voter or parameter cannot be stored without pickle.
        """
        from committee.store import save

        check_is_fitted(self)
        save(self, path)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _class_numbers(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sorted classes and each row's class number; small integers are counted instead of sorted."""
    if y.dtype.kind in "biu" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < 65_536:
            shifted = (y.astype(np.int64) - low).astype(np.uint16)
            present = np.flatnonzero(np.bincount(shifted, minlength=high - low + 1))
            number = np.zeros(high - low + 1, dtype=np.uint16)
            number[present] = np.arange(len(present))
            return (present + low).astype(y.dtype), number[shifted]
    return np.unique(y, return_inverse=True)
