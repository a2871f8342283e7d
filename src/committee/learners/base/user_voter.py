"""A classifier of the user's as voter: what is cloned, and how clones are seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from committee.data.binning import refuse_more_categories
from committee.data.frames import TableSchema
from committee.learners.base.scikit_types import BaseEstimator


def voter_to_clone(parameter: str, voter: Any, table: TableSchema, *, votes_by_class: bool = True) -> BaseEstimator:
    """Copy a user's classifier, and name to it the columns of the encoded matrix that are categories.

    One whose vote is the class that it predicts spends no time on its probabilities.

    Raises
    ------
    ValueError
        If it is no classifier, or a column has more categories than it takes.
    """
    copy: BaseEstimator = clone(voter)
    if not is_classifier(copy):
        raise ValueError(f"{parameter}={voter!r} is no classifier; a vote needs voters that name classes.")
    params = copy.get_params(deep=False)
    if votes_by_class and "calibrate" in params:
        copy.set_params(calibrate=None)
    categorical = np.flatnonzero(table.categorical)
    if len(categorical) and "categorical_features" in params:
        # voters see a matrix without names, so a column is refused here, where it has one
        if "max_bins" in params:
            refuse_more_categories(table, params["max_bins"])
        copy.set_params(categorical_features=categorical.tolist())
    return copy


def seeded(member: BaseEstimator, seed: int) -> BaseEstimator:
    """Seed every ``random_state`` left None, of its parts too, so that a run can be repeated."""
    free = [
        name
        for name, value in sorted(member.get_params().items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    random = np.random.RandomState(seed)
    return member.set_params(**{name: int(random.randint(2**31 - 1)) for name in free})
