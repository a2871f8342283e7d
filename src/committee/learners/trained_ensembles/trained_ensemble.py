"""Base classes of models that are derived from a trained ensemble."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from committee.data.number_types import F64
from committee.data.table_schema import TableSchema
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.parameters import fitted, required, with_parameters
from committee.learners.base.predictors import BaseClassifier, BaseRegressor
from committee.learners.base.stored_learner import MetaEstimatorMixin
from committee.vote.adapters.pipelines import last_step
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.exports.scikit_learn_model import Kept, as_sklearn
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.estimators import EstimatorVoters

RowsGiven = Literal["train", "oob", "validation"]


@with_parameters
class TrainedEnsemble(MetaEstimatorMixin, CommitteeEstimator):
    """Base of models whose first parameter is a trained `ensemble`, which is neither trained nor changed."""

    voter_kinds: ClassVar[tuple[str, ...] | None] = None
    trained_parameters: ClassVar[tuple[str, ...]] = ("ensemble",)
    _not_pickled: ClassVar[tuple[str, ...]] = ()  # fitted attributes that are larger than the model

    ensemble: Any = required(
        """A learner of this library, or any model that `Committee.from_estimator` takes; a ``FrozenEstimator`` is
        unwrapped.""",
        "no_validation",
        type_words="fitted classifier or Committee",
    )

    @abstractmethod
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the votes or weights of the trained ensemble. A fit that fails changes nothing.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows as the parameter `on` describes them.
        y : array-like (n,)
            Labels, all known to the ensemble; or numbers.
        sample_weight : array-like (n,), default=None
            Row weights; 0 leaves a row out. With ``on="oob"`` those of the ensemble's fit.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            If the ensemble is not fitted.
        TypeError
            If the ensemble is of an unknown or unsuitable kind.
        ValueError
            If it has too few voters, `X` or `y` do not match it, a parameter is out of range or contradicts another,
            an objective has no solution, or out-of-bag rows are unknown.
        RuntimeError
            If a solver fails.
        """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return super().get_params(deep=False)

    def set_params(self, **params: Any) -> Self:
        inner = [name for name in params if "__" in name]
        if inner:
            raise ValueError(
                f"{inner[0]}: parameters of a trained ensemble cannot be set here; train another one and pass it as "
                "ensemble."
            )
        super().set_params(**params)
        return self

    def __sklearn_clone__(self) -> Self:
        params = self.get_params()
        trained = {name: params.pop(name) for name in self.trained_parameters if name in params}  # not copied
        return type(self)(**trained, **{name: clone(value, safe=False) for name, value in params.items()})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in self._not_pickled}

    @property
    def trained(self) -> Any:
        return self.ensemble.estimator if isinstance(self.ensemble, FrozenEstimator) else self.ensemble

    @property
    def _takes_sparse(self) -> bool:
        return hasattr(self.trained, "__sklearn_tags__") and bool(get_tags(self.trained).input_tags.sparse)

    def _take_columns(self, ensemble: Any, committee: WeightedVotes, X: Any) -> TableSchema | None:
        # without column names in the ensemble, those of X are used
        for name in ("n_features_in_", "feature_names_in_", "provenance_"):
            self.__dict__.pop(name, None)
        table = committee.table
        width: Any = getattr(ensemble, "n_features_in_", committee.voters.n_features)
        names = getattr(ensemble, "feature_names_in_", None) if table is None else table.names
        if width is not None:
            self.n_features_in_ = width
        if names is None:
            _check_feature_names(self, X, reset=True)
            names = getattr(self, "feature_names_in_", None)
        else:
            self.feature_names_in_: NDArray[Any] = np.array(names, dtype=object)
        known: TableSchema | None = None
        if table is not None or not isinstance(committee.voters, EstimatorVoters):  # else each voter reads X itself
            shown = None if names is None else tuple(map(str, names))
            known = TableSchema(shown, (None,) * width) if table is None else replace(table, names=shown)
        self.table_: Any = known
        return known

    def _weights(self, y: ArrayLike, sample_weight: ArrayLike | None) -> F64 | None:
        weights = self.fit_weights(np.asarray(y), sample_weight)
        return None if weights is None else np.asarray(weights)

    def _check_voters(self, kind: str) -> None:
        if self.table_ is not None or kind != "estimators":
            super()._check_voters(kind)

    def validate_rows(self, X: Any) -> Any:
        return X if self.table_ is None else super().validate_rows(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "committee_")


@with_parameters
class TrainedEnsembleClassifier(TrainedEnsemble, BaseClassifier):
    committee_: Committee = fitted()
    classes_: NDArray[Any] = fitted("The ensemble's classes.", "array (n_classes,)")

    def as_sklearn(self, *, keep: Kept = "probabilities") -> Any:
        """Return the remaining trees as a scikit-learn model; see `committee.as_sklearn`."""
        check_is_fitted(self)
        return as_sklearn(self.committee_, keep=keep)


@with_parameters
class TrainedEnsembleRegressor(TrainedEnsemble, BaseRegressor):
    committee_: RegressionCommittee = fitted()

    def as_sklearn(self) -> Any:
        """Return the remaining trees as a scikit-learn model; see `committee.as_sklearn`."""
        check_is_fitted(self)
        return as_sklearn(self.committee_)


def predicts_numbers(ensemble: Any) -> bool:
    committee = getattr(ensemble, "committee_", ensemble)
    if isinstance(committee, Committee | RegressionCommittee):
        return isinstance(committee, RegressionCommittee)
    return hasattr(ensemble, "__sklearn_tags__") and is_regressor(ensemble)


def trained_committee(ensemble: Any) -> Committee:
    if isinstance(ensemble, RegressionCommittee):
        raise TypeError(f"ensemble is {ensemble!r}, which predicts numbers; give one that votes for classes.")
    committee = ensemble if isinstance(ensemble, Committee) else Committee.from_estimator(ensemble)
    if committee.n_classes < 2:
        raise ValueError("ensemble has one class; at least two are needed. Train it on rows of two.")
    return committee


def trained_regression(ensemble: Any) -> RegressionCommittee:
    if isinstance(ensemble, Committee) or hasattr(ensemble, "classes_"):
        raise TypeError(f"ensemble is {ensemble!r}, which votes for classes; use LeafReweighter.")
    if isinstance(ensemble, CommitteeEstimator):
        check_is_fitted(ensemble)
    committee = ensemble if isinstance(ensemble, RegressionCommittee) else RegressionCommittee.from_estimator(ensemble)
    if committee.n_outputs != 1:
        raise ValueError(
            f"ensemble predicts {committee.n_outputs} numbers of each row, and one is supported; train an ensemble "
            "for each, such as one for each quantile."
        )
    return committee


def refuse_missing(ensemble: Any, committee: WeightedVotes, X: Any) -> None:
    # a committee, and a bare booster of another library, accept what their voters accept
    last = last_step(ensemble)
    if not hasattr(last, "__sklearn_tags__") or get_tags(last).input_tags.allow_nan:
        return
    data = committee.encode(X) if last is ensemble else ensemble[:-1].transform(X)
    if isinstance(data, np.ndarray) and data.dtype == np.float64 and np.isnan(data).any():
        raise ValueError(
            f"X has missing values (NaN), which {type(last).__name__} does not accept; fill them in, or leave "
            "these rows out."
        )
