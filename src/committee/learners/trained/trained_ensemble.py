"""Base of the models that are made from an ensemble trained already, which stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.data.rows import refuse_total
from committee.learners.base.estimator import BaseClassifier, BaseRegressor, CommitteeEstimator
from committee.learners.base.parameters import fitted, required, with_parameters
from committee.learners.base.stored_learner import MetaEstimatorMixin
from committee.vote.committee import Committee
from committee.vote.exports.scikit_learn_model import Kept, as_sklearn
from committee.vote.regression import RegressionCommittee
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.estimators import EstimatorVoters

RowsGiven = Literal["train", "oob", "validation"]
"""Rows of a fit: the ensemble's training rows, judged by all voters or by those that did not draw them, or others."""


@with_parameters
class TrainedEnsemble(MetaEstimatorMixin, CommitteeEstimator):
    """Base of models whose first parameter is a trained `ensemble`: frozen, neither trained nor changed.

    `clone` keeps the ensemble as it is, and its own parameters cannot be set through this object.
    """

    voter_kinds: ClassVar[tuple[str, ...] | None] = None
    trained_parameters: ClassVar[tuple[str, ...]] = ("ensemble",)
    _not_pickled: ClassVar[tuple[str, ...]] = ()
    """Attributes of a fit that are larger than the model."""

    ensemble: Any = required(
        """A learner of this library, or what `Committee.from_estimator` takes; a ``FrozenEstimator`` around it is
        opened.""",
        "no_validation",
        type_words="fitted classifier or Committee",
    )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; the frozen ensemble's own are not among them."""
        return super().get_params(deep=False)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; not those of the frozen ensemble.

        Raises
        ------
        ValueError
            If a name is none of this object's parameters.
        """
        inner = [name for name in params if "__" in name]
        if inner:
            raise ValueError(
                f"{inner[0]}: parameters of a trained ensemble cannot be set here; train another one and give it as "
                "ensemble."
            )
        super().set_params(**params)
        return self

    def __sklearn_clone__(self) -> Self:
        params = self.get_params()
        trained = {name: params.pop(name) for name in self.trained_parameters if name in params}  # one for all
        return type(self)(**trained, **{name: clone(value, safe=False) for name, value in params.items()})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in self._not_pickled}

    @property
    def trained(self) -> Any:
        """The ensemble, out of a ``FrozenEstimator`` if it is in one."""
        return self.ensemble.estimator if isinstance(self.ensemble, FrozenEstimator) else self.ensemble

    @property
    def _takes_sparse(self) -> bool:
        return hasattr(self.trained, "__sklearn_tags__") and bool(get_tags(self.trained).input_tags.sparse)

    def _take_columns(self, ensemble: Any, committee: WeightedVotes, X: Any) -> TableSchema | None:
        """Set the ensemble's columns; those that it has no names for have the names of the rows."""
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
        if table is not None or not isinstance(committee.voters, EstimatorVoters):  # else each voter reads the rows
            shown = None if names is None else tuple(map(str, names))
            known = TableSchema(shown, (None,) * width) if table is None else replace(table, names=shown)
        self.table_: Any = known
        return known

    def _weights(self, y: ArrayLike, sample_weight: ArrayLike | None, n: int) -> F64 | None:
        """Weights of n rows, checked, times those of their classes; None if all are equal."""
        weights = self.fit_weights(y, None if sample_weight is None else row_weights(sample_weight, n))
        return None if weights is None else np.asarray(weights)

    def _check_voters(self, kind: str) -> None:
        """Refuse a kind of voters that cannot be; classifiers may each read the table themselves."""
        if self.table_ is not None or kind != "estimators":
            super()._check_voters(kind)

    def validate_rows(self, X: Any) -> Any:
        """Return X as the committee takes it; as it is where the voters read the table themselves."""
        return X if self.table_ is None else super().validate_rows(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "committee_")


@with_parameters
class TrainedEnsembleClassifier(TrainedEnsemble, BaseClassifier):
    """Base of classifiers that are made from a trained ensemble."""

    committee_: Committee = fitted()
    classes_: NDArray[Any] = fitted()

    def as_sklearn(self, *, keep: Kept = "probabilities") -> Any:
        """The trees that are left as a model of scikit-learn's own; see `committee.as_sklearn`."""
        check_is_fitted(self)
        return as_sklearn(self.committee_, keep=keep)


@with_parameters
class TrainedEnsembleRegressor(TrainedEnsemble, BaseRegressor):
    """Base of regressors that are made from a trained ensemble of numbers."""

    committee_: RegressionCommittee = fitted()

    def as_sklearn(self) -> Any:
        """The trees that are left as a model of scikit-learn's own; see `committee.as_sklearn`."""
        check_is_fitted(self)
        return as_sklearn(self.committee_)


def trained_committee(ensemble: Any) -> Committee:
    """The committee of an ensemble that votes for two classes or more.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    TypeError
        If it is no classifier, or of a kind that is not known.
    ValueError
        If it knows one class only.
    """
    if isinstance(ensemble, RegressionCommittee):
        raise TypeError(f"ensemble is {ensemble!r}, which predicts numbers; margins are of votes for classes.")
    committee = ensemble if isinstance(ensemble, Committee) else Committee.from_estimator(ensemble)
    if committee.n_classes < 2:
        raise ValueError("ensemble knows one class only; margins need at least 2.")
    return committee


def trained_regression(ensemble: Any) -> RegressionCommittee:
    """The committee of an ensemble that predicts one number.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    TypeError
        If it is no regressor, or of a kind that is not known.
    ValueError
        If it predicts several numbers.
    """
    if isinstance(ensemble, Committee) or hasattr(ensemble, "classes_"):
        raise TypeError(f"ensemble is {ensemble!r}, which votes for classes; LeafReweighter makes it smaller.")
    if isinstance(ensemble, CommitteeEstimator):
        check_is_fitted(ensemble)
    committee = ensemble if isinstance(ensemble, RegressionCommittee) else RegressionCommittee.from_estimator(ensemble)
    if committee.n_outputs != 1:
        raise ValueError(
            f"ensemble predicts {committee.n_outputs} numbers of each row, and leaves vote for one; train an ensemble "
            "for each, such as one for each quantile."
        )
    return committee


def refuse_missing(ensemble: Any, committee: WeightedVotes, X: Any) -> None:
    """Refuse missing values that the ensemble refuses, though its voters by themselves know a way for them.

    Raises
    ------
    ValueError
        If there are any.
    """
    # a committee, and another library's bare booster, take what their voters take
    if not hasattr(ensemble, "__sklearn_tags__") or get_tags(ensemble).input_tags.allow_nan:
        return
    data = committee.encode(X)
    if isinstance(data, np.ndarray) and data.dtype == np.float64 and np.isnan(data).any():
        raise ValueError(
            f"X has missing values (NaN), which {type(ensemble).__name__} does not take; fill them in, or leave these "
            "rows out."
        )


def row_weights(sample_weight: ArrayLike, n: int) -> F64:
    """Weights of n rows, checked.

    Raises
    ------
    ValueError
        If they are not one number a row, finite, not negative and not all zero, or their sum is out of all bounds.
    """
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}; X has {n} rows, which need one each.")
    if not np.isfinite(weights).all() or (weights < 0.0).any() or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero for every row.")
    refuse_total(weights)
    return weights
