"""Bases of the library's learners: classifiers, regressors, and learners with warm starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from numbers import Integral
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, column_or_1d

from committee.data.labels import Labels, encode_classes, label_vector, n_columns, target_matrix, target_vector
from committee.data.matrices import is_out_of_core
from committee.data.number_types import MAX_CLASSES
from committee.data.rows import (
    ClassWeights,
    Rows,
    TargetRows,
    WeightedRows,
    checked_weights,
    nonzero_weights,
    row_weights,
    weighted_by_class,
)
from committee.data.table_schema import TableSchema
from committee.data.text import quoted, warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.parameters import fitted, with_parameters
from committee.learners.base.row_sampling import table_seed
from committee.learners.base.stored_learner import ClassifierMixin, RegressorMixin
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.probability import Share
from committee.voters.forest import Forest

R = TypeVar("R", bound=WeightedRows)


@with_parameters
class BaseClassifier(ClassifierMixin, CommitteeEstimator):
    classes_: NDArray[Any] = fitted("Classes, in the order of votes and probabilities.", "array (n_classes,)")
    committee_: Committee = fitted()

    _: KW_ONLY
    class_weight: Any = shared.class_weight()

    def fit_weights(self, y: ArrayLike, sample_weight: ArrayLike | None) -> ArrayLike | None:
        if self.class_weight is None:
            return super().fit_weights(y, sample_weight)
        labels = label_vector(y)
        return self.weights_with_classes(labels, checked_weights(sample_weight, labels))

    def weights_with_classes(self, labels: Labels, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply checked row weights by class weights, by `weighted_by_class`; ``ValueError`` if a class is lost."""
        of_classes = ClassWeights.of(self.class_weight, labels, weights)
        weights = weighted_by_class(weights, of_classes.of_rows(labels))
        left = encode_classes(labels[nonzero_weights(weights)])[0].tolist()
        if lost := set(of_classes.classes.tolist()).difference(left):
            raise ValueError(
                f"class_weight={self.class_weight!r} leaves class {min(lost)!r} less than 1e-150 of all weight, which "
                "counts as 0; give class weights that differ by fewer orders of magnitude."
            )
        return weights

    def training_rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        encoded, target, weights, uniform = self._encoded(X, label_vector(y), sample_weight)
        classes, labels = encode_classes(target)
        if len(classes) > MAX_CLASSES:
            raise ValueError(
                f"y holds {len(classes)} classes; at most {MAX_CLASSES} are possible. If y is numeric, use a regressor."
            )
        self.classes_ = classes
        labels = labels.astype(np.uint16, copy=False)
        rows = Rows(encoded, labels, weights, uniform, categorical=self.table_.with_levels)
        return self._numbered(rows, f"rate of {classes[1]}" if len(classes) == 2 else "class score")

    def _constant(self, rows: Any) -> dict[str, Any]:
        if len(self.classes_) > 1:
            return {}
        for name in self.stored_attributes:  # of a fit that a warm start could have continued
            self.__dict__.pop(name, None)
        # no error: a fold may have one class for lack of a rare one, and its score is worth more than an error
        warn_user(
            f"y holds one class only, {self.classes_.tolist()[0]!r} (rows of zero weight do not count): the model "
            "always predicts it, and the attributes that describe a training are not set.",
        )
        leaf, none = np.zeros(1, dtype=np.int32), np.full(1, -1, dtype=np.int32)
        voter = Forest(
            n_features=rows.X.shape[1],
            n_classes=1,
            offset=np.array([0, 1]),
            feature=none,
            threshold=np.zeros(1),
            left=none,
            missing_left=np.zeros(1, dtype=np.uint8),
            category_offset=np.zeros(2, dtype=np.int64),
            category_bits=np.zeros(0, dtype=np.uint32),
            label=leaf,
            value=None,
            gain=np.zeros(1),
            weight=np.array([rows.weights.sum()]),
            count=np.array([len(rows)]),
        )
        return {"committee_": Committee(voter, np.ones(1), self.classes_, Share(), self.table_)}

    def _validation_rows(
        self,
        X_val: Any,
        y_val: Any,
        weights: ArrayLike | None,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        name: str = "y_val",
    ) -> Rows:
        encoded = self._validation_matrix(X_val)
        target: NDArray[Any] = column_or_1d(y_val)
        check_consistent_length(encoded, target)
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in target.tolist() if label not in number]
        if unknown:
            raise ValueError(
                f"{name} holds {unknown[0]!r}, which is not a class of {'y' if name != 'y' else 'the model'}; "
                f"its classes are {self.classes_.tolist()}. Leave such rows out."
            )
        labels = np.array([number[label] for label in target.tolist()], dtype=np.uint16)
        own = np.ones(len(labels)) if weights is None else row_weights(weights, labels, "sample_weight_val")
        if self.class_weight is None:
            return Rows(encoded, labels, own, uniform=weights is None)
        trained = label_vector(y)
        checked = checked_weights(sample_weight, trained, warn=False)
        factors = ClassWeights.of(self.class_weight, trained, checked).factors[labels]
        return Rows(encoded, labels, factors if weights is None else weighted_by_class(own, factors), uniform=False)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score F(x): ``(n,)`` for two classes, positive for ``classes_[1]``; else ``(n, n_classes)``."""
        return self._answers(X, "decision_function")

    def predict(self, X: Any) -> NDArray[Any]:
        """Elected class of every row, ``(n,)``; a tie goes to the first of the tied classes."""
        return self._answers(X, "predict")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities ``(n, n_classes)``; the first largest is that of the class that `predict` returns."""
        return self._answers(X, "predict_proba")

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba` ``(n, n_classes)``; minus infinity where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean accuracy. `y` and `sample_weight` may name columns, or be part of the pieces of an out-of-core table.

        `y` defaults to the column of a data frame `X` that ``fit`` took by its name.
        """
        return self._metric(X, y, sample_weight, "accuracy_score")

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Score after each voter."""
        return self._staged(X, "staged_decision_function")

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Elected classes after each voter."""
        return self._staged(X, "staged_predict")

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Class probabilities after each voter."""
        return self._staged(X, "staged_predict_proba")


class BaseRegressor(RegressorMixin, CommitteeEstimator):
    committee_: RegressionCommittee
    _takes_several_targets: ClassVar[bool] = False

    def _target(self, y: ArrayLike | None, name: str) -> NDArray[np.float64]:
        return target_matrix(y, name) if self._takes_several_targets else target_vector(y, name)

    def training_rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> TargetRows:
        encoded, target, weights, uniform = self._encoded(X, self._target(y, "y"), sample_weight)
        rows = TargetRows(encoded, np.asarray(target), weights, uniform, categorical=self.table_.with_levels)
        rows.check_squares()
        return self._numbered(rows, "mean" if rows.n_targets == 1 else "target score")

    def _validation_rows(
        self,
        X_val: Any,
        y_val: Any,
        weights: ArrayLike | None,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        name: str = "y_val",
    ) -> TargetRows:
        encoded = self._validation_matrix(X_val)
        target = self._target(y_val, name)
        check_consistent_length(encoded, target)
        if (n_targets := n_columns(target)) != n_columns(y):
            raise ValueError(f"{name} has {n_targets} columns, and y has {n_columns(y)}; give it the same targets.")
        own = np.ones(len(target)) if weights is None else row_weights(weights, target, "sample_weight_val")
        return TargetRows(encoded, target, own, uniform=weights is None)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted number of every row, ``(n,)``; ``(n, D)`` where the learner predicts D numbers."""
        return self._answers(X, "predict")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2. `y` and `sample_weight` may name columns, or be part of the pieces of an out-of-core table.

        `y` defaults to the column of a data frame `X` that ``fit`` took by its name.
        """
        return self._metric(X, y, sample_weight, "r2_score")

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predictions after each voter."""
        return self._staged(X, "staged_predict")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        of_one = getattr(self, "criterion", None) == "absolute_error"  # whose trees have one median in a leaf
        tags.target_tags.multi_output = self._takes_several_targets and not of_one
        return tags


class WarmStart(CommitteeEstimator):
    warm_start: bool
    n_estimators: Any
    random_state: Any
    voters_called = "rounds"

    seed_: int

    def _no_checkpoint(self, X: Any) -> str | None:
        if self._earlier_committee() is not None:
            return "warm_start continues a committee that the file would not hold"
        return super()._no_checkpoint(X)

    def _earlier_committee(self) -> Committee | RegressionCommittee | None:
        if not self.warm_start or not hasattr(self, "committee_"):
            return None
        n_voters = self.committee_.n_voters
        if isinstance(self.n_estimators, Integral) and self.n_estimators < n_voters:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_voters} {self.voters_called} that warm_start "
                "continues; raise it, or set warm_start=False."
            )
        return self.committee_

    def _by_earlier_columns(self, rows: R, X: Any, weights: ArrayLike | None) -> R:
        """Encode rows by the table of the continued committee, and set `table_` to it, if it covers theirs."""
        earlier = self._earlier_committee()
        known = None if earlier is None else earlier.table
        if known is None or known == self.table_ or is_out_of_core(X) or not known.covers(self.table_):
            return rows
        self.table_ = known
        cells = self._validation_matrix(X)
        if weights is not None:
            cells = cells[nonzero_weights(np.asarray(weights))]
        encoded: R = replace(cast("Any", rows), X=cells, levels=None)  # both kinds of rows are dataclasses
        return encoded

    def _random(self, generator: np.random.RandomState, rows: Rows | TargetRows) -> np.random.RandomState:
        if isinstance(self.random_state, Integral):
            self.seed_ = int(self.random_state)
            return generator
        if not (self.warm_start and hasattr(self, "seed_")):
            drawn = self.random_state is not None
            self.seed_ = int(generator.randint(2**31 - 1)) if drawn else table_seed(rows.class_numbers, rows.weights)
        return np.random.RandomState(self.seed_)

    def _check_earlier(self, earlier: Committee | RegressionCommittee, **same: tuple[Any, Any]) -> None:
        # `same` are further pairs of values, then and now, that must be equal
        if earlier.table != self.table_:
            raise ValueError(
                f"warm_start continues a committee with other columns: {_difference(earlier.table, self.table_)}. Give "
                "the data of the first fit, or set warm_start=False."
            )
        if isinstance(earlier, Committee):
            same["classes"] = (earlier.classes.tolist(), self.classes_.tolist())
        for what, (before, now) in same.items():
            if before != now:
                raise ValueError(
                    f"warm_start continues a committee with other {what}: {before!r} then, {now!r} now. Keep the "
                    f"{what}, or set warm_start=False."
                )

    def _from_file(self) -> None:
        super()._from_file()
        seed = getattr(self, "seed_", 0)
        if type(seed) is not int or not 0 <= seed < 2**32:
            raise ValueError(f"seed_ is {seed!r}; it must be a whole number from 0 to 2^32 - 1")


def _difference(then: TableSchema | None, now: TableSchema) -> str:
    if then is None:
        return "the committee has none"
    if then.n_features != now.n_features:
        return f"{then.n_features} then, {now.n_features} now"
    if then.names is None or now.names is None:
        return "with names then, none now" if now.names is None else "without names then, with names now"
    if then.names != now.names:
        j = next(j for j in range(now.n_features) if then.column(j) != now.column(j))
        return f"column {j} was {then.column(j)!r} then, and is {now.column(j)!r} now"
    for j, (before, after) in enumerate(zip(then.categories, now.categories, strict=True)):
        name = now.column(j)
        if (before is None) != (after is None):
            kinds = "categories then, numbers now" if after is None else "numbers then, categories now"
            return f"column {name!r} held {kinds}"
        if before != after:
            odd = sorted(set(before or ()).symmetric_difference(after or ()), key=str)
            words = f"other categories, as for {quoted(odd, 5)}" if odd else "its categories in another order"
            return f"column {name!r} has {words}"
    return "the target statistics of high-cardinality categories were learned on other data"
