"""Two algorithms over many tables: worked examples, all outcomes one by one, and scipy's binomial test."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from committee.report.across_tables import chance_of_being_better, number_of_wins, poisson_binomial_test, sign_test

counts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=7)
probabilities = st.lists(st.floats(0, 1), max_size=7)


# --- one table -------------------------------------------------------------------------------------------------------


def test_chances_worked_by_hand():
    # k rows of A's alone and none of B's: the posterior is (k + 1) q^k, above 1/2 with 1 - 2^-(k + 1)
    np.testing.assert_allclose(chance_of_being_better([0, 1, 2, 9], [0, 0, 0, 0]), [0.5, 0.75, 0.875, 1 - 2.0**-10])
    # two against one: 12 q^2 (1 - q) above 1/2 is 1 - 12 (1/24 - 1/64) = 11/16
    np.testing.assert_allclose(chance_of_being_better([2], [1]), [11 / 16])


@given(counts)
def test_chances_are_beta_tails_and_those_of_the_other_the_rest(pairs):
    a, b = np.array(pairs).T
    found = chance_of_being_better(a, b)
    np.testing.assert_allclose(found, stats.beta(a + 1, b + 1).sf(0.5), rtol=1e-9)
    np.testing.assert_allclose(found + chance_of_being_better(b, a), 1.0)
    # a uniform prior: as probable as at least a_only + 1 heads of a_only + b_only + 1 coins are tails
    np.testing.assert_allclose(found, stats.binom(a + b + 1, 0.5).cdf(a), rtol=1e-9)


def test_other_priors_and_counts_that_are_means():
    found = chance_of_being_better([2.5], [1.0], prior=0.5)
    area, _ = integrate.quad(lambda q: q**2 * (1 - q) ** 0.5, 0.5, 1)
    whole, _ = integrate.quad(lambda q: q**2 * (1 - q) ** 0.5, 0, 1)
    assert found[0] == pytest.approx(area / whole)
    assert chance_of_being_better([0], [900])[0] == pytest.approx(2.0**-901), "small chances keep their digits"


# --- wins ------------------------------------------------------------------------------------------------------------


def by_enumeration(p):
    """Every outcome of every table, its probability added where its number of wins is."""
    found = np.zeros(len(p) + 1)
    for outcome in itertools.product((0, 1), repeat=len(p)):
        found[sum(outcome)] += np.prod([q if won else 1 - q for q, won in zip(p, outcome, strict=True)])
    return found


@given(probabilities)
def test_wins_are_those_of_all_outcomes(p):
    np.testing.assert_allclose(number_of_wins(p), by_enumeration(p), atol=1e-13)


def test_wins_worked_by_hand():
    assert number_of_wins([]).tolist() == [1.0]
    np.testing.assert_allclose(number_of_wins([0.5, 0.2]), [0.4, 0.5, 0.1])
    np.testing.assert_allclose(number_of_wins([0.0, 1.0, 1.0]), [0, 0, 1, 0])


@pytest.mark.parametrize("n", [1, 7, 400])
def test_equal_chances_are_a_binomial_distribution(n):
    np.testing.assert_allclose(number_of_wins([0.3] * n), stats.binom(n, 0.3).pmf(np.arange(n + 1)), rtol=1e-10)


# --- the test --------------------------------------------------------------------------------------------------------


def test_poisson_binomial_test_worked_by_hand():
    test = poisson_binomial_test([1, 2, 0], [0, 0, 0])
    # 3/4, 7/8 and 1/2: of the 64 equally heavy outcomes 21 have three wins and 31 two
    np.testing.assert_allclose(test.wins, np.array([1, 11, 31, 21]) / 64)
    assert test.probability == pytest.approx(52 / 64)
    # a posterior of Beta(k + 1, 4 - k) for k wins of 3: above 1/2 with 1/16, 5/16, 11/16, 15/16
    like = poisson_binomial_test([1, 2, 0], [0, 0, 0], about="tables like these")
    assert like.probability == pytest.approx((1 * 1 + 11 * 5 + 31 * 11 + 21 * 15) / (64 * 16))


def test_half_of_the_tables_is_half_a_win():
    # 3/4 and 1/4: two wins 3/16, one 10/16
    assert poisson_binomial_test([1, 0], [0, 1]).probability == pytest.approx(3 / 16 + 5 / 16)
    assert poisson_binomial_test([2, 0], [0, 1]).probability == pytest.approx(7 / 32 + (21 + 1) / 32 / 2)


@given(counts, st.sampled_from(["these tables", "tables like these"]))
def test_against_all_outcomes(pairs, about):
    a, b = np.array(pairs).T
    n, won, lost = len(a), stats.beta(a + 1, b + 1).sf(0.5), stats.beta(a + 1, b + 1).cdf(0.5)
    k = np.arange(n + 1)
    worth = (np.sign(2 * k - n) + 1) / 2 if about == "these tables" else stats.beta(k + 1, n - k + 1).sf(0.5)
    expected = sum(
        np.where(outcome, won, lost).prod() * worth[sum(outcome)] for outcome in itertools.product((0, 1), repeat=n)
    )
    test = poisson_binomial_test(a, b, about=about)
    assert test.probability == pytest.approx(expected, abs=1e-12)
    other = poisson_binomial_test(b, a, about=about)
    assert test.probability + other.probability == pytest.approx(1.0)


def test_a_test_is_a_probability_though_numbers_are_rounded():
    sure = poisson_binomial_test([900] * 301, [3] * 301)
    assert sure.probability == pytest.approx(1.0) and sure.probability <= 1.0
    assert poisson_binomial_test([0] * 6, [0] * 6).probability == pytest.approx(0.5)


# --- the sign test ---------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60))
def test_signs_are_scipys_binomial_test(pairs):
    a, b = np.array(pairs, dtype=float).reshape(-1, 2).T
    w, k = int((a < b).sum()), int((a > b).sum())
    test = sign_test(a, b)
    assert (test.wins, test.losses, test.ties) == (w, k, len(a) - w - k)
    assert test.pvalue == pytest.approx(stats.binomtest(w, w + k).pvalue if w + k else 1.0, abs=1e-12)
    half = test.ties // 2
    split = sign_test(a, b, ties="split")
    reference = stats.binomtest(w + half, w + k + 2 * half).pvalue if w + k + half else 1.0
    assert split.pvalue == pytest.approx(reference, abs=1e-12)
    assert sign_test(b, a).pvalue == test.pvalue


def test_signs_worked_by_hand():
    # 11 of 14: twice (C(14, 11) + C(14, 12) + C(14, 13) + 1) / 2^14
    a = np.array([0.1] * 11 + [0.3] * 3 + [0.2] * 11)
    test = sign_test(a, np.full(25, 0.2))
    assert (test.wins, test.losses, test.ties) == (11, 3, 11)
    assert test.pvalue == 2 * (364 + 91 + 14 + 1) / 2**14
    # the ties shared out, 16 of 24: one of the eleven is left out
    split = sign_test(a, np.full(25, 0.2), ties="split")
    assert split.pvalue == 2 * sum(comb(24, k) for k in range(16, 25)) / 2**24
    assert sign_test([0.1, 0.3], [0.2, 0.2]).pvalue == sign_test([], []).pvalue == 1.0


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chance_of_being_better([-1], [0]), "a_only must hold finite counts of at least 0; got -1.0 as"),
        (lambda: chance_of_being_better([1], [np.nan]), "b_only must hold finite counts"),
        (lambda: chance_of_being_better([[1]], [[0]]), r"a_only must be one-dimensional.*\(1, 1\)"),
        (lambda: chance_of_being_better([1, 2], [1]), "a_only has 2 tables but b_only has 1"),
        (lambda: chance_of_being_better([1], [1], prior=0.0), "prior must be positive and finite; got 0"),
        (lambda: number_of_wins([0.5, 1.1]), r"chances must lie in \[0, 1\]"),
        (lambda: number_of_wins([[0.5]]), "chances must be one-dimensional"),
        (lambda: poisson_binomial_test([], []), "hold no table; a test needs one at least"),
        (lambda: poisson_binomial_test([1], [1], about="all"), "about='all' is not known; use one of 'these tables'"),
        (lambda: sign_test([0.1], [0.1, 0.2]), r"got shapes \(1,\) and \(2,\)"),
        (lambda: sign_test([np.nan], [0.1]), "errors must be finite"),
        (lambda: sign_test([0.1], [0.1], ties="half"), "ties='half' is not known; use one of 'drop', 'split'"),
    ],
)
def test_refusals_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
