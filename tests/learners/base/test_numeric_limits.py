"""Numbers at the limits of their type."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_regressor

import committee
from committee.objectives.losses.regression import huber_location
from tests.learners.base.test_capabilities import FIRST

LARGEST = np.finfo(float).max
CELLS = (LARGEST, -LARGEST, 1e300, -1e300, 1e155, 1e-310, 5e-324, 1e16, 0.0, np.nan)
MAGNITUDES = ((-9, 9), (-140, -139), (100, 140), (-50, 50), (-3, 3))

LEARNERS: list[Any] = [
    *(model for kind, model in FIRST.items() if not kind.__name__.startswith(("Conformal", "Functional"))),
    committee.AdaBoostClassifier(4, vote="confidence", early_stopping=True, random_state=0),
    committee.GradientBoostingRegressor(5, loss="huber", min_samples_leaf=1, random_state=0),
    committee.GradientBoostingRegressor(5, loss="absolute_error", min_samples_leaf=1, line_search=True, random_state=0),
    committee.LogitBoostClassifier(5, early_stopping=True, random_state=0),
    committee.LogitBoostClassifier(5, learner="stump"),
    committee.ProbitBoostClassifier(5, early_stopping=True, random_state=0),
]


def storm(seed: int, regression: bool) -> tuple[Any, Any, Any]:
    """Rows with some cells, columns, targets and weights at the limits."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.choice([20, 40, 80])), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p))
    kind = rng.integers(5)
    if kind == 0:
        X[:, 0] *= 10.0 ** rng.uniform(-300, 300)
    if kind == 1:
        X[:, 0] = np.where(rng.random(n) < 0.5, -LARGEST, LARGEST)
    for _ in range(int(rng.integers(0, 4))):
        X[rng.integers(n), rng.integers(p)] = rng.choice(CELLS)
    y: Any = rng.integers(0, rng.integers(2, 4), n)
    if regression:
        y = rng.normal(size=n) * 10.0 ** (rng.uniform(-155, 149) if rng.random() < 0.5 else 0)
    low, high = MAGNITUDES[rng.integers(len(MAGNITUDES))]
    return X, y, 10.0 ** rng.uniform(low, high, n) if rng.random() < 0.5 else None


@pytest.mark.one_in(3)
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_a_fit_refuses_or_gives_numbers_and_a_file(learner, seed):
    X, y, w = storm(seed, is_regressor(learner))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = clone(learner).fit(X, y, w)
        except ValueError:
            return
        new = np.vstack([X, np.full((1, X.shape[1]), LARGEST), np.full((1, X.shape[1]), -LARGEST)])
        if is_regressor(learner):
            assert np.isfinite(model.predict(new)).all()
        else:
            assert np.isfinite(model.predict_proba(new)).all()
            assert not np.isnan(model.decision_function(new)).any()
        with TemporaryDirectory() as folder:
            model.save(Path(folder, "model"))
            assert_array_equal(committee.load(Path(folder, "model")).predict(new), model.predict(new))


@pytest.mark.parametrize("kind", [committee.ProbitBoostClassifier, committee.LogitBoostClassifier])
@pytest.mark.parametrize("seed", range(4))
def test_early_stopping_of_lines_in_one_column(kind, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 1)), rng.integers(0, 3, 60)
    model = kind(20, early_stopping=True, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("scale", [1e15, 1e16, 1e17, 1e100])
def test_huber_of_targets_beside_which_delta_is_nothing(scale):
    X, y = np.arange(41.0)[:, None], scale * np.random.default_rng(0).normal(size=41)
    assert abs(huber_location(y, np.ones(41), 1.0) - np.median(y)) <= 1.0 + 1e-15 * scale
    model = committee.GradientBoostingRegressor(5, loss="huber", min_samples_leaf=1, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_forests_of_numbers_and_weights_that_round_to_nothing():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(200, 3)), 10.0 ** rng.uniform(-9, 9, 200)
    forest = committee.RandomForestRegressor(5, random_state=0).fit(X, X[:, 0], w)
    assert np.isfinite(forest.feature_importances_).all()


def test_a_column_that_linear_scores_cannot_take_is_named():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[5, 1] = LARGEST
    with pytest.raises(ValueError, match=r"column 'x1' holds a number of size 1\.8e\+308; linear scores take none"):
        committee.ProbitBoostClassifier(5).fit(X, X[:, 0] > 0)
