"""An estimator of the user's as voter: its template, seeds and row weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from committee.data.bins import check_category_counts, most_bins
from committee.data.table_schema import TableSchema
from committee.learners.base.stored_learner import BaseEstimator


def voter_template(
    parameter: str, voter: Any, table: TableSchema, *, numbers: bool = False, calibrated: bool = False
) -> BaseEstimator:
    """Clone a user's classifier, or regressor for `numbers`, with `categorical_features` of the encoded matrix set.

    The `calibrate` of a classifier is set to None, unless it is a temperature and `calibrated` ones are wanted.
    ``ValueError`` if the estimator is of the other kind, or a column has more categories than it takes.
    """
    copy: BaseEstimator = clone(voter)
    if numbers and not is_regressor(copy):
        raise ValueError(f"{parameter}={voter!r} is not a regressor; give one that predicts numbers.")
    if not numbers and not is_classifier(copy):
        raise ValueError(f"{parameter}={voter!r} is not a classifier; give one, as voters must name classes.")
    params = copy.get_params(deep=False)
    # a tree's shrunk leaves would no longer be the shares of the weighted rows
    if not numbers and "calibrate" in params and not (calibrated and getattr(copy, "_has_temperature", False)):
        copy.set_params(calibrate=None)
    categorical = np.flatnonzero(table.categorical)
    if len(categorical) and "categorical_features" in params:
        # voters see a matrix without names, so a column is refused here, where it has one
        if "max_bins" in params:
            check_category_counts(table, most_bins(params["max_bins"]))
        copy.set_params(categorical_features=categorical.tolist())
    return copy


def seeded(member: BaseEstimator, seed: int) -> BaseEstimator:
    """Set every ``random_state`` that is None, also of nested estimators, so that a run can be repeated."""
    free = [
        name
        for name, value in sorted(member.get_params().items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    random = np.random.RandomState(seed)
    return member.set_params(**{name: int(random.randint(2**31 - 1)) for name in free})


def weight_argument(voter: Any) -> str | None:
    """Argument by which ``fit`` takes row weights, in a pipeline that of the last step; None if it takes none."""
    if has_fit_parameter(voter, "sample_weight"):
        return "sample_weight"
    if not isinstance(voter, Pipeline):
        return None
    name, last = voter.steps[-1]
    of_last = weight_argument(last)
    return None if of_last is None else f"{name}__{of_last}"


def fit_weighted(member: Any, X: Any, y: NDArray[Any], weights: NDArray[np.float64] | None, **given: Any) -> Any:
    """Fit an estimator to rows, weighted unless `weights` is None; ``ValueError`` if it takes no weights."""
    if weights is None:
        return member.fit(X, y, **given)
    argument = weight_argument(member)
    if argument is None:
        raise ValueError(f"{member!r} takes no row weights; leave them out, or choose another estimator.")
    with config_context(enable_metadata_routing=False):  # routed or not, these weights are for the fit
        return member.fit(X, y, **{argument: weights}, **given)
