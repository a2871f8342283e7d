"""Temperatures of AdaBoost and LPBoost: those of a smaller fit, corrected by the training rows of both fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

from committee import AdaBoostClassifier, LPBoostClassifier
from committee.data.rows import Rows
from committee.learners.base import smaller_fit
from committee.learners.base.calibration import HeldOutEvidence
from committee.learners.base.row_sampling import Folds
from committee.learners.base.smaller_fit import SmallerFit, sampled_rows, temperature_of
from committee.vote.links.temperature import best_temperature
from tests.subjects import numbers


def evidence_of(model, X):
    return model.committee_.link.evidence(model.decision_function(X), model.committee_.total_weight)


def size(z, w):
    return np.average(np.abs(z - z.mean(axis=1)[:, None]).mean(axis=1), weights=w)


@pytest.mark.parametrize(("model", "n_classes"), [(AdaBoostClassifier(30), 2), (AdaBoostClassifier(28), 3)])
def test_temperature_by_hand(model, n_classes):
    X, y = numbers(n_classes, 420)
    whole = model.set_params(random_state=0).fit(X, y)
    fold = next(iter(Folds.of(whole.training_rows(X, y, None), 2)))
    assert fold.n_test == 210
    small = AdaBoostClassifier(25, calibrate=None).fit(X[fold.train], y[fold.train])
    ones, y_train = np.ones(210), y[fold.train].astype(np.uint16)
    z, u = evidence_of(whole, X[fold.train]), evidence_of(small, X[fold.train])
    factor = size(z, ones) / size(u, ones)
    T0 = best_temperature(factor * u, y_train, ones, 210)
    T1 = best_temperature(factor * evidence_of(small, X[fold.test]), y[fold.test].astype(np.uint16), ones, 210)
    T2 = best_temperature(z, y_train, ones, 210)
    q, r = 1 / 2, 25 / model.n_estimators
    o = max(0.0, np.log2(T1 / T0)) * q / r
    v = 1 / (1 + (o / 0.4) ** 2)
    expected = v * (np.log2(T2) + o) + (1 - v) * (np.log2(T1) - 0.4 * (1 - q * r))
    assert_allclose(np.log2(whole.temperature_), expected, rtol=1e-9, atol=1e-12)


def test_training_rows_decide_where_held_out_rows_agree():
    labels, w = np.tile([0, 1, 0, 0], 50).astype(np.uint16), np.ones(200)
    z = np.tile([1.0, -1.0], (200, 1))
    some = HeldOutEvidence(z, labels, w, 200)
    fit = SmallerFit(HeldOutEvidence(3.0 * z, labels, w, 200), some, some)
    assert_allclose(temperature_of([fit], 0.1, 0.5), best_temperature(3.0 * z, labels, w, 200), rtol=1e-12)


def test_few_rows_have_folds_and_many_a_sample(monkeypatch):
    fits = []

    def recorded(self, model, rows, fold, own=AdaBoostClassifier._fitted_on):
        fits.append((len(fold.train), model.n_estimators))
        return own(self, model, rows, fold)

    monkeypatch.setattr(AdaBoostClassifier, "_fitted_on", recorded)
    monkeypatch.setattr(smaller_fit, "MANY_ROWS", 500)
    monkeypatch.setattr(smaller_fit, "MANY_ROWS_PER_VOTER", 0)
    for n, expected in ((150, [(120, 4)] * 4), (396, [(316, 4)] * 2), (402, [(200, 4)])):
        fits.clear()
        AdaBoostClassifier(4).fit(*numbers(2, n))
        assert fits == expected
    fits.clear()
    AdaBoostClassifier(200, learning_rate=0.1).fit(*numbers(2, 1500))
    ((n, rounds),) = fits
    assert 200 < n < 300 and rounds == 50


@pytest.mark.parametrize(
    "model",
    [AdaBoostClassifier(40), AdaBoostClassifier(40, vote="confidence", max_depth=2), LPBoostClassifier()],
)
def test_as_good_as_the_best_temperature(model):
    ratios = []
    for seed in range(3):
        X, y = numbers(2, 2000, seed=seed)
        model.set_params(random_state=0).fit(X[:800], y[:800])
        z = evidence_of(model, X[800:])
        T = best_temperature(z, y[800:].astype(np.uint16), np.ones(1200), 1200)
        p = np.exp(z / T)
        best = log_loss(y[800:], p / p.sum(axis=1)[:, None])
        ratios.append(log_loss(y[800:], model.predict_proba(X[800:])) / best)
    assert np.mean(ratios) < 1.03


def test_samples_do_not_depend_on_the_order_of_rows():
    X = np.random.default_rng(0).normal(size=(2000, 6))
    X[:, :4] = np.round(X[:, :4])  # the first columns do not tell rows apart
    labels = np.r_[np.full(1998, 0), 1, 1].astype(np.uint16)
    order = np.random.default_rng(1).permutation(2000)
    here, there = (
        sampled_rows(Rows(X[at], labels[at], np.ones(2000), True), 400, 1) for at in (np.arange(2000), order)
    )
    assert 300 < len(here) < 500 and (here.labels == 1).sum() == 2
    assert_array_equal(np.sort(here.X, axis=0), np.sort(there.X, axis=0))


def test_weights_of_rows_are_copies():
    X, y = numbers(2, 300)
    times = np.random.default_rng(0).integers(0, 4, 300)
    one = AdaBoostClassifier(10).fit(X, y, sample_weight=times)
    other = AdaBoostClassifier(10).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(one.temperature_, other.temperature_, rtol=1e-12)
