"""The learning rate that trials find."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.learners.gradient.learning_rate import (
    LARGEST_RATE,
    MORE_ROWS,
    TRIAL_RATE,
    TRIAL_ROUNDS,
    WITHOUT_TRIALS,
    n_trials,
)
from tests.gradient_cases import both, data, learner

TRIED = {"learning_rate": "auto"}


def test_noise_gets_small_steps_and_a_clear_rule_large_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    clear, noisy = (X[:, 0] > 0) ^ (X[:, 1] > 0), rng.random(600) < 0.5
    rates = [
        GradientBoostingClassifier(n_estimators=100, random_state=0).fit(X, y).learning_rate_ for y in (noisy, clear)
    ]
    assert rates[0] < 0.02
    assert rates[1] > 0.1


def test_the_rate_is_the_total_step_over_the_rounds():
    X, y = data("classes")
    few, many = (learner("classes", n_estimators=n, **TRIED).fit(X, y).learning_rate_ for n in (100, 400))
    assert few == pytest.approx(4.0 * many)
    assert learner("classes", n_estimators=1, **TRIED).fit(X, y).learning_rate_ == LARGEST_RATE
    rounds = few * 100 / (MORE_ROWS * TRIAL_RATE)
    assert rounds == pytest.approx(round(rounds))
    assert 1 <= rounds <= TRIAL_ROUNDS


@both
def test_trials_serve_rows_that_are_not_seen(kind):
    """Beside the same rounds with steps four times as large, or as small."""
    train, test = data(kind, 300), data(kind, 2000, seed=1)
    rate = learner(kind, n_estimators=100, **TRIED).fit(*train).learning_rate_
    loss = learner(kind)._chosen_loss()

    def held_out(learning_rate: float) -> float:
        model = learner(kind, n_estimators=100, learning_rate=learning_rate).fit(*train)
        return float(loss.value(test[1], model.committee_.decision_function(test[0])).mean())

    assert held_out(rate) < min(held_out(4.0 * rate), held_out(rate / 4.0))


def test_number_of_trials():
    assert [n_trials(n) for n in (10, 9999, 10_000, 1e9)] == [2, 2, 1, 1]


@pytest.mark.parametrize(
    "settings", [{"early_stopping": True}, {"line_search": True}, {"learning_rate": 0.3}], ids=lambda s: next(iter(s))
)
@both
def test_no_trials(kind, settings):
    X, y = data(kind)
    expected = settings.get("learning_rate", WITHOUT_TRIALS)
    assert learner(kind, **TRIED | settings).fit(X, y).learning_rate_ == expected


def test_too_few_rows_for_trials():
    X = np.arange(6.0)[:, None]
    model = GradientBoostingClassifier(n_estimators=5, min_samples_leaf=1)
    assert model.fit(X, [0, 0, 0, 1, 1, 1]).learning_rate_ == WITHOUT_TRIALS


@both
def test_a_warm_start_keeps_the_rate(kind):
    X, y = data(kind)
    model = learner(kind, n_estimators=10, warm_start=True, **TRIED).fit(X, y)
    rate = model.learning_rate_
    model.set_params(n_estimators=20).fit(X, y)
    assert model.learning_rate_ == rate
    assert_array_equal(model.committee_.weights, rate)


def test_breast_cancer_without_a_knob():
    X, y = load_breast_cancer(return_X_y=True)
    test = np.arange(1, len(y), 2)
    losses = []
    for seed in range(3):
        shares = GradientBoostingClassifier(random_state=seed).fit(X[::2], y[::2]).predict_proba(X[test])
        losses.append(-np.log(shares[np.arange(len(test)), y[test]]).mean())
    assert np.mean(losses) < 0.18  # LightGBM as it comes: 0.193
    assert GradientBoostingRegressor(random_state=0).fit(X[::2, 1:], X[::2, 0]).score(X[test, 1:], X[test, 0]) > 0.95
