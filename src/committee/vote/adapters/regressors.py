"""The committees inside other libraries' ensembles of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor
from sklearn.utils.validation import check_is_fitted

from committee.data.frames import TableSchema
from committee.data.number_types import F64, Index
from committee.vote.adapters.boosted_model import BoostedModel
from committee.vote.adapters.boosters import is_booster, regression_parts_of_booster, regression_parts_of_model
from committee.vote.adapters.gradient_boosting import gradient_model
from committee.vote.adapters.histogram_boosting import histogram_model
from committee.vote.adapters.parts import RegressionParts
from committee.vote.adapters.sklearn_trees import are_regression_trees, forest_of_trees
from committee.vote.links.mean import Average


def regression_parts_of(estimator: Any) -> RegressionParts:
    """Parts of the committee inside a fitted regressor of another library; see `RegressionCommittee.from_estimator`.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If there is no adapter for its kind.
    ValueError
        If it predicts several outputs, or no weighted mean or sum of trees.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> len(regression_parts_of(ExtraTreesRegressor(n_estimators=5).fit(X, y)).voters)
    5
    """
    if not isinstance(estimator, type) and is_booster(estimator):
        return regression_parts_of_booster(estimator)
    if isinstance(estimator, AdaBoostRegressor):
        raise ValueError(
            "estimator is an AdaBoostRegressor, which predicts the weighted median of its trees, and a committee their"
            " sum or mean; use GradientBoostingRegressor or a forest."
        )
    reader = next((found for kind, found in READERS.items() if isinstance(estimator, kind)), None)
    if reader is None:
        raise TypeError(
            f"estimator is {estimator!r}, for which there is no adapter. Of numbers fitted "
            f"{', '.join(kind.__name__ for kind in READERS)}, XGBRegressor, LGBMRegressor, CatBoostRegressor and this "
            "library's learners are known."
        )
    check_is_fitted(estimator)
    return reader(estimator)


def _forest(estimator: RandomForestRegressor | ExtraTreesRegressor) -> RegressionParts:
    return _mean(estimator, estimator.estimators_)


def _tree(estimator: DecisionTreeRegressor | ExtraTreeRegressor) -> RegressionParts:
    return _mean(estimator, [estimator])


def _bagging(estimator: BaggingRegressor) -> RegressionParts:
    features = [np.asarray(subset) for subset in estimator.estimators_features_]
    return _mean(estimator, estimator.estimators_, features=features)


def _voting(estimator: VotingRegressor) -> RegressionParts:
    weights = None
    if estimator.weights is not None:
        pairs = zip(estimator.estimators, estimator.weights, strict=True)
        counted = [weight for (_, member), weight in pairs if not isinstance(member, str)]  # not "drop"
        weights = np.asarray(counted, dtype=np.float64)
    return _mean(estimator, estimator.estimators_, weights=weights)


def _mean(
    estimator: Any,
    members: Sequence[Any],
    *,
    features: Sequence[Index] | None = None,
    weights: F64 | None = None,
) -> RegressionParts:
    """The mean of decision trees."""
    n_outputs = max(getattr(member, "n_outputs_", 1) for member in members)
    if n_outputs != 1:
        raise ValueError(f"estimator predicts {n_outputs} outputs; fit one ensemble for each.")
    if not are_regression_trees(members):
        kinds = sorted({type(member).__name__ for member in members})
        raise ValueError(
            f"estimator is a {type(estimator).__name__} of {', '.join(kinds)}; of numbers, those of"
            " DecisionTreeRegressor and ExtraTreeRegressor are read."
        )
    p, names = estimator.n_features_in_, getattr(estimator, "feature_names_in_", None)
    table = TableSchema(None if names is None else tuple(map(str, names)), (None,) * p)
    forest = forest_of_trees(members, n_features=p, classes=None, soft=True, features=features)
    return RegressionParts(forest, np.ones(len(forest)) if weights is None else weights, Average(), table)


def _boosting(read: Callable[[Any], BoostedModel]) -> Callable[[Any], RegressionParts]:
    return lambda estimator: regression_parts_of_model(read(estimator))


READERS: dict[type, Callable[[Any], RegressionParts]] = {
    RandomForestRegressor: _forest,
    ExtraTreesRegressor: _forest,
    BaggingRegressor: _bagging,
    VotingRegressor: _voting,
    DecisionTreeRegressor: _tree,
    GradientBoostingRegressor: _boosting(gradient_model),
    HistGradientBoostingRegressor: _boosting(histogram_model),
}
"""Readers by kind of ensemble; a further one is one more function and one more line."""
