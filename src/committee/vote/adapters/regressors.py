"""The committees inside other libraries' ensembles of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.utils.validation import check_is_fitted

from committee.data.frames import TableSchema
from committee.vote.adapters.boosters import is_booster, regression_parts_of_booster
from committee.vote.adapters.parts import RegressionParts
from committee.vote.adapters.sklearn_trees import are_regression_trees, forest_of_trees
from committee.vote.links.mean import Average

FORESTS = (RandomForestRegressor, ExtraTreesRegressor)


def regression_parts_of(estimator: Any) -> RegressionParts:
    """Parts of the committee inside a fitted regressor of another library; see `RegressionCommittee.from_estimator`.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If there is no adapter for its kind.
    ValueError
        If it predicts several outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> len(regression_parts_of(ExtraTreesRegressor(n_estimators=5).fit(X, y)).voters)
    5
    """
    if not isinstance(estimator, type) and is_booster(estimator):
        return regression_parts_of_booster(estimator)
    if not isinstance(estimator, FORESTS):
        raise TypeError(
            f"estimator is {estimator!r}, for which there is no adapter. Of numbers fitted RandomForestRegressor, "
            "ExtraTreesRegressor, XGBRegressor, LGBMRegressor and this library's learners are known."
        )
    check_is_fitted(estimator)
    if estimator.n_outputs_ != 1 or not are_regression_trees(estimator.estimators_):
        raise ValueError(f"estimator predicts {estimator.n_outputs_} outputs; fit one ensemble for each.")
    names = getattr(estimator, "feature_names_in_", None)
    table = TableSchema(None if names is None else tuple(map(str, names)), (None,) * estimator.n_features_in_)
    forest = forest_of_trees(estimator.estimators_, n_features=estimator.n_features_in_, classes=None, soft=True)
    return RegressionParts(forest, np.ones(len(forest)), Average(), table)
