"""Dask versions of the learners: estimators that call `committee.dask.fit` and `committee.dask.predict`."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY
from typing import Any, Self

from dask.base import is_dask_collection

from committee.dask import estimators
from committee.learners.bagging.random_forest import RandomForestClassifier, RandomForestRegressor
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.learners.bagging.subagging import SubaggingClassifier
from committee.learners.base.parameters import parameter, with_parameters
from committee.learners.blend.committees import CommitteeClassifier, CommitteeRegressor
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor

_Learner: Any = object


@with_parameters
class DaskLearner(_Learner):  # type: ignore[misc]
    """Mixin, before the learner among the base classes, that runs it on a Dask cluster."""

    _: KW_ONLY
    client: Any = parameter(
        None,
        "Client of the cluster; None: the current one. Neither pickled nor saved.",
        "no_validation",
        type_words="distributed.Client or None",
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Self:
        """Train on Dask collections, or tables of this process; see `committee.dask.fit`."""
        return estimators.fit(self, X, y, sample_weight, self.client, **options)

    def fit_here(self, *given: Any, **named: Any) -> Self:
        """Train with the `fit` of the local learner class."""
        trained: Self = super().fit(*given, **named)
        return trained

    def predict(self, X: Any, **options: Any) -> Any:
        """Predict the class or number of each row, lazily if `X` is lazy (see `committee.dask.predict`)."""
        return estimators.predict(self, X) if _is_lazy(X, options) else super().predict(X, **options)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> float:
        """Compute accuracy or R2 (see `committee.dask.score`)."""
        if _is_lazy(X, options):
            return estimators.score(self, X, y, sample_weight)
        found: float = super().score(X, y, sample_weight, **options)
        return found

    def to_local(self) -> Any:
        """Return the learner without the cluster, fitted if this one is."""
        kind: Any = next(base for base in type(self).__mro__ if not issubclass(base, DaskLearner))
        learner = kind.__new__(kind)
        learner.__dict__.update({name: value for name, value in vars(self).items() if name != "client"})
        return learner

    def save(self, path: Any) -> None:
        """Write the local model (see `to_local`) to a file."""
        self.to_local().save(path)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state | {"client": None}

    def __sklearn_clone__(self) -> Self:
        without = copy(self)  # by __getstate__
        made: Self = super(DaskLearner, without).__sklearn_clone__()
        made.client = self.client
        return made


class _DaskClassifier(DaskLearner):
    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Predict class probabilities, lazily if `X` is lazy (see `committee.dask.predict_proba`)."""
        return estimators.predict_proba(self, X) if _is_lazy(X, options) else super().predict_proba(X, **options)

    def decision_function(self, X: Any, **options: Any) -> Any:
        """Compute scores, lazily if `X` is lazy (see `committee.dask.decision_function`)."""
        if _is_lazy(X, options):
            return estimators.decision_function(self, X)
        return super().decision_function(X, **options)


def _is_lazy(X: Any, options: dict[str, Any]) -> bool:
    lazy = bool(is_dask_collection(X))
    if lazy and options:
        raise ValueError(f"{min(options)} needs rows in memory, and X is a Dask collection; give X.compute().")
    return lazy


@with_parameters
class DaskGradientBoostingClassifier(_DaskClassifier, GradientBoostingClassifier):
    """`committee.GradientBoostingClassifier` on a Dask cluster."""


@with_parameters
class DaskGradientBoostingRegressor(DaskLearner, GradientBoostingRegressor):
    """`committee.GradientBoostingRegressor` on a Dask cluster."""


@with_parameters
class DaskRandomForestClassifier(_DaskClassifier, RandomForestClassifier):
    """`committee.RandomForestClassifier` on a Dask cluster."""


@with_parameters
class DaskRandomForestRegressor(DaskLearner, RandomForestRegressor):
    """`committee.RandomForestRegressor` on a Dask cluster."""


@with_parameters
class DaskSBPMTClassifier(_DaskClassifier, SBPMTClassifier):
    """`committee.SBPMTClassifier` on a Dask cluster."""


@with_parameters
class DaskSubaggingClassifier(_DaskClassifier, SubaggingClassifier):
    """`committee.SubaggingClassifier` on a Dask cluster."""


@with_parameters
class DaskCommitteeClassifier(_DaskClassifier, CommitteeClassifier):
    """`committee.CommitteeClassifier` on a Dask cluster."""


@with_parameters
class DaskCommitteeRegressor(DaskLearner, CommitteeRegressor):
    """`committee.CommitteeRegressor` on a Dask cluster."""
