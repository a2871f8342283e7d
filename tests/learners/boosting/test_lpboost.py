"""LPBoost: the largest soft margin of its dictionary, whatever the order in which it meets the voters."""

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from committee import LPBoostClassifier
from committee.voters.forest import Forest
from tests.limits import examples
from tests.margin_cases import small
from tests.oracles.margins import primal_program, signed_stump_votes, value_of
from tests.subjects import numbers, weights

seeds = st.integers(0, 2**32 - 1)


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "nu=.* is too small")
        return model.fit(*data)


def margins_of(model, X, y):
    F = model.decision_function(X)
    if F.ndim == 1:
        return np.where(y == model.classes_[1], F, -F)[None]
    return np.where(y == model.classes_[:, None], F.T, -F.T)


@given(seeds, st.sampled_from([0.05, 0.3, 0.6, 1.0]))
def test_no_vote_over_all_stumps_has_a_larger_soft_margin(seed, nu):
    X, y = small(seed)
    model = quiet(LPBoostClassifier(nu, dictionary="all_stumps", tol=1e-9), X, y)
    value, _ = primal_program(signed_stump_votes(X, 2 * y - 1), nu)
    assert_allclose(model.soft_margin_, value, rtol=0, atol=1e-8)
    assert abs(model.duality_gap_[0]) < 1e-8
    # and the committee is the vote that was solved for
    assert_allclose(value_of(margins_of(model, X, y)[0], nu), value, rtol=0, atol=1e-8)
    assert model.committee_.weights.min() > 0
    assert_allclose(model.committee_.weights.sum(), 1.0)


@settings(max_examples=20)
@given(seeds)
def test_with_more_classes_each_is_told_from_the_rest(seed):
    X, y = small(seed, 3)
    model = quiet(LPBoostClassifier(0.4, dictionary="all_stumps", tol=1e-9), X, y)
    forest = model.committee_.voters
    assert isinstance(forest, Forest) and forest.value is not None
    for k, margins in enumerate(margins_of(model, X, y)):
        value, _ = primal_program(signed_stump_votes(X, np.where(y == k, 1, -1)), 0.4)
        assert_allclose(model.soft_margin_[k], value, rtol=0, atol=1e-8)
        assert_allclose(value_of(margins, 0.4), value, rtol=0, atol=1e-8)
    spoken_to = np.abs(np.add.reduceat(np.abs(forest.value), forest.offset[:-1])).argmax(axis=1)
    assert_allclose(np.bincount(spoken_to, model.committee_.weights), 1.0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dictionary", ["stumps", "all_stumps", "trees", GaussianNB()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_at_most_a_share_nu_of_the_rows_is_below_rho(dictionary, n_classes):
    X, y = numbers(n_classes, 300)
    for nu in (0.2, 0.5):
        model = quiet(LPBoostClassifier(nu, dictionary=dictionary, n_estimators=3000, random_state=0), X, y)
        margins = margins_of(model, X, y)
        for rho, m, u in zip(model.rho_, margins, model.row_weights_, strict=True):
            assert np.mean(m < rho - 1e-9) <= nu
            assert np.mean(m <= rho + 1e-9) >= nu
            assert_allclose(u.sum(), 1.0)
            assert u.min() >= 0.0 and u.max() <= 1.0 / (nu * len(y)) * (1 + 1e-9)
            assert_allclose(u[m > rho + 1e-6], 0.0, atol=1e-9)


@pytest.mark.parametrize("dictionary", ["stumps", "trees", GaussianNB()])
def test_row_weights_give_the_committees_voters_the_same_edge(dictionary):
    """Complementary slackness: every voter of positive weight is as right as any under the final row weights."""
    X, y = numbers(2, 200)
    model = LPBoostClassifier(0.3, dictionary=dictionary, random_state=0).fit(X, y)
    edges = (model.row_weights_[0] * (2 * y - 1)) @ model.committee_.votes(X)
    assert_allclose(edges, model.soft_margin_[0], rtol=0, atol=1e-8)


def test_ten_thresholds_a_column_are_the_dictionary():
    X, y = numbers(2, 200)
    model = LPBoostClassifier(0.4, tol=1e-9).fit(X, y)
    cuts = [np.unique(model.committee_.voters.threshold[model.committee_.voters.feature == j]) for j in range(5)]
    assert max(len(some) for some in cuts) <= 10
    every = LPBoostClassifier(0.4, dictionary="all_stumps", tol=1e-9).fit(X, y)
    assert model.soft_margin_[0] < every.soft_margin_[0]


def test_a_perfect_voter_is_the_whole_committee():
    X = np.arange(10.0)[:, None]
    y = (X[:, 0] > 4).astype(int)
    for dictionary in ("all_stumps", "trees"):
        model = LPBoostClassifier(0.5, dictionary=dictionary).fit(X, y)
        assert model.committee_.n_voters == 1
        assert_allclose([model.rho_[0], model.soft_margin_[0]], 1.0)
        assert model.score(X, y) == 1.0


def test_noise_in_a_tenth_of_the_rows_is_let_go():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    noisy = np.where(rng.random(400) < 0.1, 1 - y, y)
    model = LPBoostClassifier(0.45).fit(X, noisy)
    assert model.score(X, y) > 0.9
    assert np.mean(model.row_weights_[0][noisy != y]) > 2 * np.mean(model.row_weights_[0][noisy == y])


def test_rows_of_no_weight_have_no_row_weight():
    X, y = numbers(2)
    w = weights() * (np.arange(len(y)) % 3 > 0)
    model = LPBoostClassifier(0.4).fit(X, y, w)
    assert model.row_weights_.shape == (1, len(y))
    assert (model.row_weights_[0, w == 0] == 0).all()
    assert (model.row_weights_[0] <= w / (0.4 * w.sum()) * (1 + 1e-9)).all()


@given(seeds)
@settings(max_examples=examples(5, 20))
def test_a_row_of_weight_k_is_k_rows_in_any_order(seed):
    X, y = small(seed)
    times = np.random.default_rng(seed).integers(1, 4, len(y))
    order = np.random.default_rng(seed).permutation(int(times.sum()))
    for dictionary in ("all_stumps", "trees"):
        model = LPBoostClassifier(0.5, dictionary=dictionary)
        weighted = quiet(model, X, y, times)
        assert_array_equal(
            weighted.decision_function(X),
            quiet(model, np.repeat(X, times, axis=0)[order], np.repeat(y, times)[order]).decision_function(X),
        )


def test_subsets_of_categories_tell_several_classes_apart():
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abcdef"), 300)
    y = np.array(["one", "two", "three"])[np.searchsorted(["c", "e"], letters, side="right")]
    frame = pl.DataFrame({"letter": letters, "noise": rng.normal(size=300)})
    model = LPBoostClassifier(0.3, dictionary="all_stumps").fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert_allclose(model.soft_margin_, 1.0)
    assert model.committee_.n_voters == 3


def test_a_margin_that_cannot_be_above_zero_is_told():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(200, 2)).astype(float), rng.integers(0, 2, 200)
    with pytest.warns(UserWarning, match=r"nu=0.01 is too small.*Raise nu"):
        LPBoostClassifier(0.01).fit(X, y)


def test_a_classifier_that_learns_nothing_ends_the_run():
    X, y = numbers(2)
    model = quiet(LPBoostClassifier(0.5, dictionary=DummyClassifier()), X, y)
    assert model.committee_.n_voters <= 2


def test_a_classifier_of_several_classes_speaks_to_one_score():
    X, y = numbers(3, 200)
    model = LPBoostClassifier(0.6, dictionary=GaussianNB()).fit(X, y)
    assert model.committee_.votes(X).shape == (200, model.committee_.n_voters, 3)
    assert model.score(X, y) > 0.6
