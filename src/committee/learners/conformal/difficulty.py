"""How large an error is to be expected of a row: the unit of its score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from committee.data.number_types import F64
from committee.learners.bagging.random_forest import RandomForestRegressor
from committee.learners.base.user_voter import seeded
from committee.learners.conformal.dealt_folds import N_FOLDS, folds_of_rows
from committee.learners.conformal.unseen_answers import (
    Training,
    answer,
    judges_itself,
    trained_on_folds,
    trained_out_of_bag,
)

SHARE = 0.1
"""Of the mean error, which is added to what is expected: no row is so easy that its unit is next to nothing."""


def default_difficulty() -> RandomForestRegressor:
    """Return the forest that is trained on errors where nothing else is given."""
    return RandomForestRegressor(100, min_samples_leaf=5)


def expected_errors(
    template: Any, training: Training, errors: F64, seed: int, n_jobs: int | None
) -> tuple[Any, F64, float]:
    """Train a regressor on errors; return it, its units for the same rows, each without the row, and the least unit.

    Rows without an error, which nothing judges, are left out, and have no unit.

    Raises
    ------
    ValueError
        If no two rows have one.
    """
    known = np.flatnonzero(np.isfinite(errors) & training.counted)
    if len(known) < 2:
        raise ValueError(
            f'nonconformity="normalised" learns from errors how large they are, and has {len(known)} of them; score '
            'more rows, or use "absolute".'
        )
    weights = None if training.weights is None else training.weights[known]
    some = Training(_safe_indexing(training.X, known), errors[known], weights)
    estimator = seeded(clone(template), seed)
    found = trained_out_of_bag(estimator, some) if judges_itself(estimator) else None
    if found is None:
        fold = folds_of_rows(N_FOLDS, some.X, some.y, None)
        found = trained_on_folds(estimator, some, fold, n_jobs, leave_out=False)
    least = SHARE * float(np.average(some.y, weights=weights))
    of_rows = np.full(len(errors), np.nan)
    of_rows[known] = _units(found.answers, least)
    return found.model, of_rows, least


def units(model: Any, X: Any, least: float) -> F64:
    """Units of new rows, ``(n,)``."""
    return _units(answer(model, X), least)


def _units(expected: F64, least: float) -> F64:
    # a model of errors that are all 0 expects no others
    return np.asarray(np.maximum(expected[:, 0], 0.0) + (least if least > 0.0 else 1.0))
