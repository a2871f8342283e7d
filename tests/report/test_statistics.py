"""Statistical tests: agreement with scipy, enumerated outcomes, and simulated levels."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, stats

from committee.report.statistics import (
    average_ranks,
    chance_of_being_better,
    corrected_paired_t_test,
    holm,
    poisson_binomial_test,
    sign_test,
)

counts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=7)


@given(hnp.arrays(np.float64, st.integers(2, 30), elements=st.floats(-1, 1, width=32)), st.sampled_from([0.0, 0.25]))
def test_a_paired_test_is_scipys_but_for_the_correction(d, ratio):
    test = corrected_paired_t_test(d, ratio)
    if np.ptp(d) < 1e-9:
        return
    reference = stats.ttest_rel(d, np.zeros_like(d)).statistic / np.sqrt(1 + len(d) * ratio)
    assert test.difference == pytest.approx(d.mean()) and test.degrees_of_freedom == len(d) - 1
    assert test.statistic == pytest.approx(reference, abs=1e-12)
    assert test.standard_error == pytest.approx(np.sqrt((1 / len(d) + ratio) * d.var(ddof=1)))
    assert test.pvalue == pytest.approx(2 * stats.t(len(d) - 1).sf(abs(reference)), abs=1e-12)


def test_constant_differences():
    assert corrected_paired_t_test([0.0] * 5, 0.25).pvalue == 1.0
    for n in (2, 5, 10):  # by the sign test: the differences' spread says nothing
        test = corrected_paired_t_test([-0.1] * n, 0.25)
        assert test.pvalue == pytest.approx(stats.binomtest(n, n, 0.5).pvalue)
        assert test.statistic == pytest.approx(-0.1 / test.standard_error)


def test_level_when_folds_share_training_rows():
    """Differences with correlation n_test/n: the corrected test keeps 5 %, the plain one does not."""
    rng = np.random.default_rng(0)
    folds, repeats, runs = 10, 3, 3000
    J, rho = folds * repeats, 1 / folds
    common = rng.standard_normal((runs, 1)) * np.sqrt(rho)
    d = common + rng.standard_normal((runs, J)) * np.sqrt(1 - rho)
    corrected = np.mean([corrected_paired_t_test(row, 1 / (folds - 1)).pvalue <= 0.05 for row in d])
    plain = np.mean([corrected_paired_t_test(row, 0.0).pvalue <= 0.05 for row in d])
    assert corrected == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / runs))
    assert plain > 0.2


@given(hnp.arrays(np.float64, st.integers(0, 12), elements=st.floats(0, 1)))
def test_holm_against_the_sequential_definition(p):
    """Rejecting adjusted p <= a must be Holm's own step-down procedure at level a."""
    adjusted = holm(p)
    for level in (0.01, 0.05, 0.2):
        rejected = np.zeros(p.size, dtype=bool)
        for step, j in enumerate(np.argsort(p, kind="stable")):
            if p[j] * (p.size - step) > level:
                break
            rejected[j] = True
        np.testing.assert_array_equal(adjusted <= level, rejected)
    assert (adjusted >= p).all()


@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 3)))
def test_average_ranks_sum(scores):
    k = scores.shape[1]
    assert average_ranks(scores).sum() == pytest.approx(k * (k + 1) / 2)
    np.testing.assert_array_equal(average_ranks(-scores, higher_is_better=False), average_ranks(scores))


@given(counts)
def test_chances_are_beta_tails_and_those_of_the_other_the_rest(pairs):
    a, b = np.array(pairs).T
    found = chance_of_being_better(a, b)
    np.testing.assert_allclose(found, stats.beta(a + 1, b + 1).sf(0.5), rtol=1e-9)
    np.testing.assert_allclose(found + chance_of_being_better(b, a), 1.0)
    # a uniform prior: as probable as at least a_only + 1 heads of a_only + b_only + 1 coins are tails
    np.testing.assert_allclose(found, stats.binom(a + b + 1, 0.5).cdf(a), rtol=1e-9)


def test_chances_of_counts_that_are_means():
    found = chance_of_being_better([2.5], [1.0])
    area, _ = integrate.quad(lambda q: q**2.5 * (1 - q), 0.5, 1)
    whole, _ = integrate.quad(lambda q: q**2.5 * (1 - q), 0, 1)
    assert found[0] == pytest.approx(area / whole)
    assert chance_of_being_better([0], [900])[0] == pytest.approx(2.0**-901), "small chances keep their digits"


@given(counts, st.sampled_from(["these tables", "tables like these"]))
def test_against_all_outcomes(pairs, about):
    a, b = np.array(pairs).T
    n, won, lost = len(a), stats.beta(a + 1, b + 1).sf(0.5), stats.beta(a + 1, b + 1).cdf(0.5)
    k = np.arange(n + 1)
    worth = (np.sign(2 * k - n) + 1) / 2 if about == "these tables" else stats.beta(k + 1, n - k + 1).sf(0.5)
    expected = sum(
        np.where(outcome, won, lost).prod() * worth[sum(outcome)] for outcome in itertools.product((0, 1), repeat=n)
    )
    found = poisson_binomial_test(a, b, about=about)
    assert found == pytest.approx(expected, abs=1e-12)
    assert found + poisson_binomial_test(b, a, about=about) == pytest.approx(1.0)


def test_a_test_is_a_probability_though_numbers_are_rounded():
    sure = poisson_binomial_test([900] * 301, [3] * 301)
    assert sure == pytest.approx(1.0) and sure <= 1.0
    assert poisson_binomial_test([0] * 6, [0] * 6) == pytest.approx(0.5)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60))
def test_signs_are_sums_of_binomial_coefficients(pairs):
    a, b = np.array(pairs, dtype=float).reshape(-1, 2).T
    w, k = int((a < b).sum()), int((a > b).sum())
    assert sign_test([], []).pvalue == 1.0
    test = sign_test(a, b)
    assert (test.wins, test.losses, test.ties) == (w, k, len(a) - w - k)
    tail = sum(comb(w + k, i) for i in range(max(w, k), w + k + 1))
    assert test.pvalue == pytest.approx(min(1.0, 2 * tail / 2 ** (w + k)), rel=1e-12)
    assert sign_test(b, a).pvalue == test.pvalue


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: corrected_paired_t_test([0.1], 0.1), "at least 2"),
        (lambda: corrected_paired_t_test([[0.1, 0.2]], 0.1), "one-dimensional"),
        (lambda: corrected_paired_t_test([0.1, np.nan], 0.1), "finite"),
        (lambda: corrected_paired_t_test([0.1, 0.2], -0.1), "test_train_ratio"),
        (lambda: holm([1.2]), "pvalues"),
        (lambda: holm([[0.1]]), "pvalues"),
        (lambda: average_ranks([0.1, 0.2]), "shape"),
        (lambda: average_ranks([[0.1, np.nan]]), "finite"),
        (lambda: chance_of_being_better([-1], [0]), "a_only must hold finite counts of at least 0; got -1.0"),
        (lambda: chance_of_being_better([1], [np.nan]), "b_only must hold finite counts"),
        (lambda: chance_of_being_better([[1]], [[0]]), r"a_only must be one-dimensional.*\(1, 1\)"),
        (lambda: chance_of_being_better([1, 2], [1]), "a_only has 2 tables but b_only has 1"),
        (lambda: poisson_binomial_test([], []), "hold no table; a test needs one at least"),
        (lambda: poisson_binomial_test([1], [1], about="all"), "about='all' is not known; use one of 'these tables'"),
        (lambda: sign_test([0.1], [0.1, 0.2]), r"got shapes \(1,\) and \(2,\)"),
        (lambda: sign_test([np.nan], [0.1]), "errors must be finite"),
    ],
)
def test_invalid_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
