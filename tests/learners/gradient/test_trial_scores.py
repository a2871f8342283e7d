"""Trials of gradient boosting that follow a scorer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import get_scorer

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.learners.gradient import trials
from committee.learners.gradient.trials import TrialScore
from tests.subjects import assert_same_bits, noisy_scores, numbers

FEW = {"min_samples_leaf": 4, "random_state": 0, "n_estimators": 20}


def test_trials_by_the_negated_loss_are_those_by_the_loss():
    for n_classes in (2, 3):
        X, y = numbers(n_classes, 60)
        by_loss, by_score = (GradientBoostingClassifier(scoring=s, **FEW).fit(X, y) for s in (None, "neg_log_loss"))
        assert by_score.trials_["rounds"] == by_loss.trials_["rounds"]
        assert_allclose(by_score.trials_["loss"], by_loss.trials_["loss"], rtol=1e-6)
        assert_allclose(by_score.trials_["gain"], by_loss.trials_["gain"], atol=0.01)
        assert_same_bits(by_score, by_loss, X)
    X, y = noisy_scores(60)
    by_loss, by_score = (
        GradientBoostingRegressor(scoring=s, **FEW).fit(X, y) for s in (None, "neg_mean_squared_error")
    )
    assert by_score.trials_["rounds"] == by_loss.trials_["rounds"] and by_score.learning_rate_ == by_loss.learning_rate_


@pytest.mark.parametrize(
    "scoring", ["accuracy", ["balanced_accuracy", "f1"], pytest.param("roc_auc", marks=pytest.mark.slow)]
)
def test_trials_take_the_best_score_and_of_equal_ones_the_least_loss(scoring, monkeypatch):
    X, y = numbers(2, 60)
    seen, sizes = [], {}
    call = TrialScore.__call__

    def noted(self):
        value = call(self)
        scorer = get_scorer(scoring if isinstance(scoring, str) else scoring[0])
        score = scorer(self._score.model, self.rows.cells, self._score.y)
        assert_allclose(value, -score, atol=1e-8)
        sizes[id(self)] = len(self.rows)
        seen.append((id(self), score, self._target.mean_loss(self._run.scored.scores(self._places))))
        return value

    monkeypatch.setattr(TrialScore, "__call__", noted)
    model = GradientBoostingClassifier(scoring=scoring, subsample=1.0, max_features=None, **FEW).fit(X, y)
    parts = [[each[1:] for each in seen if each[0] == part] for part in dict.fromkeys(each[0] for each in seen)]
    score, loss = np.average(parts, axis=0, weights=list(sizes.values())).T
    best = np.lexsort((loss, -score.round(12)))[0]
    assert model.trials_["rounds"] == [max(0.5, best)]
    assert_allclose(model.trials_["loss"], -score[best], atol=1e-8)


def test_standard_errors_are_those_of_the_rows_for_means_over_rows(monkeypatch):
    X, y = numbers(2, 120)
    results = []
    tried = trials.tried

    def noted(parted, *given):
        results.append((parted, tried(parted, *given)))
        return results[-1][1]

    monkeypatch.setattr(trials, "tried", noted)
    model = GradientBoostingClassifier(scoring="accuracy", **FEW).fit(X, y)
    (parted, first), (_, second) = results[:2]
    n_held = sum(int(one.held.sum()) for one in parted)
    assert_allclose(first.losses.mean(), min(first.curve), atol=1e-6)
    gain, error = second.gain_on(first)
    assert model.trials_["gain"][1] == gain and model.trials_["standard_error"][1] == error
    assert 0.0 < error < 2.0 / np.sqrt(n_held)


def test_weights_are_those_of_the_scores():
    X, y = numbers(2, 60)
    times = np.tile([1.0, 2.0], 30)
    model = GradientBoostingClassifier(scoring="accuracy", **FEW | {"min_samples_leaf": 1})
    weighted = model.fit(X, y, times).trials_
    again = model.fit(np.repeat(X, times.astype(int), axis=0), np.repeat(y, times.astype(int))).trials_
    assert_allclose(weighted["loss"], again["loss"])
    assert weighted["rounds"] == again["rounds"]


@pytest.mark.slow
def test_same_bits_for_any_number_of_threads():
    X, y = numbers(3, 60)
    one, two = (GradientBoostingClassifier(scoring="accuracy", n_jobs=n, **FEW).fit(X, y) for n in (1, 2))
    assert_same_bits(one, two, X)


def test_scores_that_no_trial_can_have_are_refused():
    X, y = numbers(2, 60)
    with pytest.raises(ValueError, match="is not the name of a scorer"):
        GradientBoostingClassifier(scoring="acuracy", **FEW).fit(X, y)
    for without_trials in (
        {"learning_rate": 0.1},
        {"line_search": True},
        {"loss": lambda y, F: (F - y, np.ones(F.shape))},
    ):
        with pytest.raises(ValueError, match=r"scoring='accuracy' needs held-out rows"):
            GradientBoostingClassifier(scoring="accuracy", **FEW | without_trials).fit(X, y)
