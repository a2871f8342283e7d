"""Bounds: the formulas' values, that what they bound is below them, and what they refuse."""

from dataclasses import FrozenInstanceError
from itertools import product
from math import comb, e, exp, log, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from committee.bounds import (
    Overlap,
    advised_draws,
    boosting_probit_risk,
    boosting_tree,
    boosting_vc,
    exponential_loss,
    majority,
    margin_product,
    matryoshka,
    model_tree_vc_dimension,
    overlap,
    overlap_limits,
    subagging,
    subsamples,
)
from committee.bounds.nested_trees import nesting_rate, normaliser_of_edge, slope_in_nodes, tree_factor, two_matryoshka
from tests.oracles import bounds as oracle

seeds = st.integers(0, 2**32 - 1)
errors = st.lists(st.floats(0.01, 0.49), min_size=1, max_size=8)
thetas = st.floats(-1.0, 1.0)


def random_draws(n: int, m: int, n_draws: int, seed: int) -> NDArray[np.bool_]:
    return np.random.default_rng(seed).random((n_draws, n)).argsort(axis=1) < m


def test_a_bound_says_what_it_is():
    bound = margin_product([0.2, 0.3], theta=0.1)
    assert float(bound) == bound.value and not bound.vacuous and "0.1" in bound.statement and bound.advice
    assert str(bound) == f"Theorem 5, margin product: {bound.value:.4g}"
    assert str(boosting_vc(0.1, 100, 5, 3)).endswith("(vacuous)")
    with pytest.raises(FrozenInstanceError):
        bound.value = 0.0  # type: ignore[misc]


def test_margin_product_is_the_formula():
    assert margin_product([0.1, 0.2]).value == pytest.approx(0.6 * 0.8)
    assert margin_product([0.25], theta=1.0).value == pytest.approx(1.5)
    assert margin_product([0.25], theta=-1.0).value == pytest.approx(0.5)
    assert margin_product([0.5] * 9, theta=0.3).value == pytest.approx(1.0)
    assert margin_product([0.0]).value == 0.0
    assert margin_product([0.0], theta=1.0).value == 2.0


@given(errors)
def test_eq_16(err):
    bound = margin_product(err)
    gamma = 0.5 - np.array(err)
    assert bound.value <= bound.terms["exponential"] * (1 + 1e-12)
    assert bound.value == pytest.approx(np.sqrt(1 - 4 * gamma**2).prod())


@given(errors, thetas)
def test_with_adaboosts_weights_the_exponential_loss_is_theorem_5(err, theta):
    alpha = np.log((1 - np.array(err)) / np.array(err))
    assert exponential_loss(err, alpha, theta).value == pytest.approx(margin_product(err, theta).value)


@given(errors, st.floats(0.1, 3.0))
def test_adaboosts_step_is_the_least(err, scale):
    alpha = np.log((1 - np.array(err)) / np.array(err))
    assert exponential_loss(err, scale * alpha).value >= margin_product(err).value * (1 - 1e-12)


def boosted(X, y, n_classes, n_rounds, step):
    """AdaBoost of trees on the exponential loss by hand: errors, weights, and margins of the training rows."""
    w, tally, err, alpha = np.full(len(y), 1 / len(y)), np.zeros((len(y), n_classes)), [], []
    for t in range(n_rounds):
        voted = DecisionTreeClassifier(max_depth=2, max_features=1, random_state=t).fit(X, y, w).predict(X)
        wrong = voted != y
        error = float(w[wrong].sum())
        if not 0 < error < 0.5:
            continue
        err.append(error)
        alpha.append(step * log((1 - error) / error))
        w[wrong] *= exp(alpha[-1])
        w /= w.sum()
        tally[np.arange(len(y)), voted] += alpha[-1]
    own = tally[np.arange(len(y)), y]
    tally[np.arange(len(y)), y] = -np.inf
    return err, alpha, (own - tally.max(axis=1)) / sum(alpha)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("step", [1.0, 0.5, 0.2, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_margins_are_below_the_product(n_classes, step, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=200)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    err, alpha, margins = boosted(X, y, n_classes, 20, step)
    for theta in np.linspace(-1, 1, 21):
        share = np.mean(margins <= theta + 1e-12)
        assert share <= exponential_loss(err, alpha, theta).value * (1 + 1e-9)
        if step == 1.0 and n_classes == 2:
            assert share <= margin_product(err, theta).value * (1 + 1e-9)


def test_theorem_5_fails_for_the_half_step():
    """Voters wrong on row 0, on row 1 and on both: the vote errs on two rows, which the half step leaves light."""
    n = 10_000
    w, score, err, alpha = np.full(n, 1 / n), np.zeros(n), [], []
    for wrong in ([0], [1], [0, 1]):
        err.append(float(w[wrong].sum()))
        alpha.append(0.5 * log((1 - err[-1]) / err[-1]))
        score += alpha[-1]
        score[wrong] -= 2 * alpha[-1]
        w[wrong] *= exp(alpha[-1])
        w /= w.sum()
    share = np.mean(score <= 1e-12)
    assert margin_product(err).value < share == 2 / n <= exponential_loss(err, alpha).value


def test_boosting_vc_is_the_formula():
    n, T, d, delta = 10_000_000, 5, 40, 0.1
    inside = 32 * (T * log(e * n / T) + T * d * log(e * n / d) + log(8 / delta)) / n
    bound = boosting_vc(0.07, n, T, d, delta)
    assert bound.value == pytest.approx(0.07 + sqrt(inside)) and not bound.vacuous
    assert bound.terms["penalty"] == pytest.approx(sqrt(inside))
    useful = round(bound.terms["rows_to_be_useful"])
    assert boosting_vc(0.0, useful, T, d, delta).value == pytest.approx(0.5, rel=0.01)


def test_fewer_rows_than_dimensions_say_nothing():
    assert boosting_vc(0.0, 10, 5, 100).terms["log_growth"] == pytest.approx(10 * log(2))
    assert boosting_vc(0.0, 10, 5, 100).vacuous
    assert boosting_vc(0.0, 10, 50, 2).vacuous


def test_theorem_4_holds_for_the_threshold_that_fits_best():
    """1,000 samples of a noisy step on 200 values; thresholds, one way round, are a class of VC-dimension 1."""
    rng = np.random.default_rng(0)
    n, values, delta = 5000, 200, 0.1
    positive = np.where(np.arange(values) < 120, 0.1, 0.8)
    counts = rng.multinomial(n, np.full(values, 1.0 / values), size=1000)
    ones = rng.binomial(counts, positive)
    # threshold k names 1 from value k on: wrong are the ones before it and the zeros from it on
    before, zeros = np.cumsum(ones, axis=1), np.cumsum((counts - ones)[:, ::-1], axis=1)[:, ::-1]
    wrong = np.column_stack([zeros, np.zeros(1000)]) + np.column_stack([np.zeros(1000), before])
    true = (np.append(np.cumsum((1 - positive)[::-1])[::-1], 0) + np.append(0, np.cumsum(positive))) / values
    best = wrong.argmin(axis=1)
    bounds = [boosting_vc(least / n, n, 1, 1.0, delta=delta) for least in wrong.min(axis=1)]
    assert not any(bound.vacuous for bound in bounds)
    assert np.mean(true[best] > [bound.value for bound in bounds]) <= delta


def test_the_printed_growth_of_theorem_4_is_too_small():
    """T ln(en/T) + d ln(en/d), without the T before d: these voters label n rows in more ways than that."""
    n, d, T = 1000, 4, 5
    ways = log(oracle.votes_of_small_sets(n, d, T))
    dimension = d + 1
    printed = T * log(e * n / T) + dimension * log(e * n / dimension)
    assert printed < ways < boosting_vc(0.0, n, T, dimension).terms["log_growth"]


def test_votes_of_small_sets_are_what_the_oracle_says():
    """All labellings with at most d (T - 1) positive rows, as weighted votes, on few rows."""
    n, d, T = 5, 2, 3
    sets = [np.array(x) for x in product((-1, 1), repeat=n) if sum(v > 0 for v in x) <= d]
    labelled = {
        tuple(np.sign(a + b + (T - 2) * np.ones(n)) > 0) for a in sets for b in sets if not ((a > 0) & (b > 0)).any()
    }
    assert len({x for x in labelled if sum(x) <= d * (T - 1)}) == oracle.votes_of_small_sets(n, d, T)


def test_probit_risk_is_the_formula():
    risks, n, d = [0.1, 0.2], 10**8, 30
    gamma = 0.5 - np.array(risks) / log(2)
    bound = boosting_probit_risk(risks, n, d, 0.1)
    assert bound.value == pytest.approx(exp(-2 * gamma @ gamma) + boosting_vc(0.0, n, 2, d, 0.1).value)
    assert bound.terms["product"] == pytest.approx(margin_product(np.array(risks) / log(2)).value)
    assert bound.terms["product"] <= bound.terms["exponential"]
    assert boosting_probit_risk([0.1, 0.3], n, d, 0.1).value > bound.value


@pytest.mark.parametrize("n_leaves", [1, 2, 3])
def test_model_trees_shatter_no_more_than_the_bound(n_leaves):
    """On the line, L leaves of one threshold each make at most 2 L - 1 changes of sign: VC-dimension 2 L."""
    assert 2 * n_leaves <= model_tree_vc_dimension(n_leaves, 1, [0]) <= 40 * n_leaves


def test_vc_dimension_of_very_many_leaves_takes_no_time():
    assert model_tree_vc_dimension(10**9, 3, [0, 0, 0]) > 4e9


def test_vc_dimension_grows_with_the_trees():
    base = model_tree_vc_dimension(8, 5, [0] * 5)
    assert base >= 8 * 6
    assert base < model_tree_vc_dimension(9, 5, [0] * 5)
    assert base < model_tree_vc_dimension(8, 6, [0] * 5)
    assert base < model_tree_vc_dimension(8, 5, [0] * 5 + [30])


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 9), seeds)
def test_overlap_is_its_definition(n, m, n_draws, seed):
    m = min(m, n)
    draws = random_draws(n, m, n_draws, seed)
    found = overlap(draws)
    assert_allclose([found.A, found.B, found.C], oracle.overlap(draws), rtol=1e-12, atol=1e-12)
    assert (found.n_rows, found.n_drawn, found.n_draws) == (n, m, n_draws)
    a, b, c = found.A, found.B, found.C
    pairs = m * (m - 1)
    assert m**2 / n - 1e-9 <= a <= m + 1e-9  # Jensen; all draws alike
    assert pairs**2 / max(n * (n - 1), 1) - 1e-9 <= b <= pairs + 1e-9
    assert m / n <= c <= 1.0


def test_overlap_of_many_rows_is_counted_in_blocks(monkeypatch):
    draws = random_draws(100, 70, 9, 0)
    whole = overlap(draws)
    monkeypatch.setattr(subsamples, "BLOCK_ROWS", 7)
    assert overlap(draws) == whole


def test_overlap_limits_are_the_formulas():
    n, m, M, delta = 10_000, 1_000, 10**8, 0.05
    tail = log(3 / delta)
    limits = overlap_limits(n, m, M, delta)
    assert sqrt(limits.A) == pytest.approx(m / sqrt(n) + (1 + 4 * sqrt(tail)) * sqrt(m / M))
    assert sqrt(limits.B) == pytest.approx(m**2 / n + (1 + 4 * sqrt(tail)) * m / sqrt(M))
    c = limits.C
    assert c == pytest.approx(m / n + (sqrt(2 * m) + 3) / sqrt(M) * tail)


@pytest.mark.parametrize(("n", "m", "n_draws"), [(200, 140, 31), (50, 5, 500), (300, 3, 40)])
def test_drawn_designs_are_within_their_limits(n, m, n_draws):
    limits = overlap_limits(n, m, n_draws, 0.05)
    for seed in range(20):
        drawn = overlap(random_draws(n, m, n_draws, seed))
        assert drawn.A <= limits.A and drawn.B <= limits.B and drawn.C <= limits.C


def test_limits_fall_with_more_draws_to_those_of_all_draws():
    several = [overlap_limits(1000, 100, 10**k) for k in (2, 6, 12)]
    assert several[0].A > several[1].A > several[2].A and several[0].B > several[1].B > several[2].B
    assert several[0].C >= several[1].C > several[2].C
    assert_allclose([several[2].A, several[2].B, several[2].C], [10, 100, 0.1], rtol=0.01)


def test_advice():
    assert advised_draws(20_000) == pytest.approx(98.08, abs=0.005)
    few, many = (overlap_limits(20_000, 14_000, M) for M in (98, 99))
    assert any("98.1" in remark for remark in subagging(0.1, few).remarks)
    assert not any("98.1" in remark for remark in subagging(0.1, many).remarks)


def test_subagging_is_the_formula():
    design = Overlap(A=3.0, B=5.0, C=0.4, n_rows=100, n_drawn=10, n_draws=21)
    t = (11 - 10.5) / 21 + 1 - 2 * 0.2
    below = 2 * 3 * 0.01 + 5 * 0.02 / 2 + (sqrt(5 * 0.03) + 4 * 0.4 / 3) * t
    bound = subagging(0.2, design, sigma1_squared=0.01, beta=0.02, gamma=0.03)
    assert bound.value == pytest.approx(exp(-(t**2) / below))
    assert bound.terms["t"] == pytest.approx(t)
    assert sum(bound.terms[part] for part in ("single_rows", "pairs", "range")) == pytest.approx(below)
    even = Overlap(A=3.0, B=5.0, C=0.4, n_rows=100, n_drawn=10, n_draws=20)
    assert subagging(0.2, even).terms["t"] == pytest.approx(0.6)
    assert subagging(0.7, design).value == 1.0 and subagging(0.7, design).vacuous


def test_subagging_is_a_mean_over_points():
    design = Overlap(A=0.01, B=0.0, C=0.01, n_rows=100, n_drawn=1, n_draws=101)
    points = [0.05, 0.2, 0.6]
    bound = subagging(points, design, beta=0.0, gamma=0.0)
    assert bound.value == pytest.approx(np.mean([subagging(p, design, beta=0.0, gamma=0.0).value for p in points]))
    assert bound.terms["share_beyond_bound"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("q", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("kernel", [oracle.majority_kernel, oracle.parity_kernel])
def test_moments_are_within_the_most_that_they_can_be(m, q, kernel):
    mean, sigma1, beta, gamma = oracle.moments(kernel(m), q)
    p = (mean + 1) / 2
    slack = 1 + 1e-12
    assert sigma1 <= 4 * p * (1 - p) / m * slack and beta <= 16 * p * (1 - p) * slack and gamma <= 8 * slack
    if kernel is oracle.parity_kernel and m >= 2 and q == 0.5:
        assert beta == pytest.approx(4.0) and gamma == pytest.approx(8.0)  # attained
    if m == 1:
        assert sigma1 == pytest.approx(4 * p * (1 - p))  # attained


@pytest.mark.parametrize(
    ("n", "m", "n_draws", "q"), [(40, 1, 40, 0.6), (60, 3, 200, 0.7), (60, 5, 101, 0.75), (30, 9, 50, 0.8)]
)
def test_the_vote_errs_no_more_than_theorem_3_says(n, m, n_draws, q):
    """A toy rule: a committee says 1 where most of its m labels are 1, each 1 with probability q; 1 is right."""
    mean, sigma1, beta, gamma = oracle.moments(oracle.majority_kernel(m), q)
    p_sub = (mean + 1) / 2
    assert p_sub == pytest.approx(sum(comb(m, k) * q**k * (1 - q) ** (m - k) for k in range(m // 2 + 1)))
    draws = random_draws(n, m, n_draws, 1)
    labels = np.random.default_rng(0).random((20_000, n)) < q
    K = np.where(2 * (labels @ draws.T.astype(float)) <= m, 1.0, -1.0).mean(axis=1)
    sharp = subagging(p_sub, overlap(draws), sigma1_squared=sigma1, beta=beta, gamma=gamma)
    error = np.mean(K >= 0)
    assert error <= sharp.value <= subagging(p_sub, overlap(draws)).value
    assert sharp.value < 0.9  # it says something here
    # the whole tail (eq. 38), not only the vote's threshold
    design = overlap(draws)
    for t in np.linspace(0.05, 1.0, 20):
        below = 2 * design.A * sigma1 + design.B * beta / 2 + (sqrt(design.B * gamma) + 4 * design.C / 3) * t
        assert np.mean(K - mean > t) <= exp(-(t**2) / below) + 3 * sqrt(0.25 / len(K)) * (exp(-(t**2) / below) > 0.01)


def test_theorem_3_fails_for_the_mean_error_over_points():
    """A tenth of new labels is noise, and every committee is right about the rest: K knows nothing of the rows."""
    design = overlap(random_draws(1000, 50, 2001, 0))
    known = {"sigma1_squared": 0.0, "beta": 0.0, "gamma": 0.0}
    error = 0.1  # of every committee, and of their vote
    assert subagging(error, design, **known).value < 0.01 < error
    at_each_point = [1.0] * 100 + [0.0] * 900
    assert subagging(at_each_point, design, **known).value >= error
    assert majority(error, 2001).value >= error


@given(st.integers(1, 9), seeds)
def test_majority_bound(n_voters, seed):
    rng = np.random.default_rng(seed)
    wrong = rng.random((n_voters, 50)) < rng.random()
    assert np.mean(wrong.mean(axis=0) >= 0.5) <= majority(float(wrong.mean()), n_voters).value * (1 + 1e-12)


DESIGN = Overlap(A=2.0, B=1.0, C=0.3, n_rows=50, n_drawn=5, n_draws=21)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: margin_product([0.1, 0.6]), r"errors\[1\] is 0.6"),
        (lambda: margin_product([]), "errors has shape"),
        (lambda: margin_product([np.nan]), r"errors\[0\] is nan"),
        (lambda: margin_product([0.1], 1.5), "theta is 1.5"),
        (lambda: exponential_loss([0.1], [0.2, 0.3]), "errors has length 1 and alpha 2"),
        (lambda: exponential_loss([0.1], [-0.2]), r"alpha\[0\] is -0.2"),
        (lambda: boosting_vc(-0.1, 10, 1, 1), "training_error is -0.1"),
        (lambda: boosting_vc(0.1, 0, 1, 1), "n_rows is 0"),
        (lambda: boosting_vc(0.1, 10, 1.5, 1), "n_rounds is 1.5"),
        (lambda: boosting_vc(0.1, 10, 1, 0), "vc_dimension is 0"),
        (lambda: boosting_vc(0.1, 10, 1, 1, 1.0), "delta is 1.0"),
        (lambda: boosting_vc(True, 10, 1, 1), "training_error is True"),
        (lambda: boosting_vc(0.1, True, 1, 1), "n_rows is True"),
        (lambda: boosting_probit_risk([0.1, 0.35], 10, 1), r"risks\[1\] is 0.35.*n_leaf_steps"),
        (lambda: model_tree_vc_dimension(0, 1, [0]), "n_leaves is 0"),
        (lambda: model_tree_vc_dimension(8, 2, [np.inf, 0]), r"n_categories\[0\] is inf"),
        (lambda: overlap([1, 0]), r"draws has shape \(2,\)"),
        (lambda: overlap([[2, 0]]), "draws holds other values"),
        (lambda: overlap([[1, 0], [1, 1]]), "draws have 1 to 2 of 2 rows"),
        (lambda: overlap([[0, 0]]), "draws have 0 to 0"),
        (lambda: overlap_limits(10, 11, 5), "n_drawn is 11"),
        (lambda: overlap_limits(10, 5, 5, 0.0), "delta is 0.0"),
        (lambda: advised_draws(0), "n_rows is 0"),
        (lambda: subagging(1.1, DESIGN), "p_sub is 1.1"),
        (lambda: subagging(0.1, DESIGN, beta=3.0), "beta is 3.0"),
        (lambda: subagging(0.1, DESIGN, gamma=-1.0), "gamma is -1.0"),
        (lambda: majority(1.1, 3), "error is 1.1"),
        (lambda: majority(0.1, 0), "n_voters is 0"),
        (lambda: boosting_tree(3, 0.6), r"edge is 0\.6"),
        (lambda: boosting_tree(3, 0.5), r"edge is 0\.5"),
        (lambda: boosting_tree(0, 0.1), "n_voters"),
        (lambda: matryoshka([], 0.1), "sizes is empty"),
        (lambda: two_matryoshka(12, 0.5), "power of two"),
        (lambda: tree_factor(3, 0.0), "rho"),
        (lambda: tree_factor(-1, 0.5), "n_nodes is -1; it must be at least 0"),
        (lambda: tree_factor([1, np.nan], 0.5), r"n_nodes is \[1, nan\]; it must be at least 0"),
        (lambda: nesting_rate(0.5, 0.3), r"n_nodes is 0\.5; it must be at least 1"),
    ],
)
def test_arguments_are_refused_by_name(call, named):
    with pytest.raises(ValueError, match=named):
        call()


rhos = st.floats(0.01, 0.999)


@pytest.mark.parametrize(
    ("T", "rho", "expected"), [(2, 0.3, 0.195), (5, 0.7, 0.46561725), (10, 31 / 32, 0.9118320818), (0, 0.4, 1.0)]
)
def test_tree_factor_has_the_values_of_its_product(T: int, rho: float, expected: float) -> None:
    assert tree_factor(T, rho) == pytest.approx(expected, abs=1e-9)


@given(st.integers(1, 200), rhos)
def test_tree_factor_is_the_product_and_the_beta_function(T: int, rho: float) -> None:
    t = np.arange(T)
    assert tree_factor(T, rho) == pytest.approx(np.prod((t + rho) / (t + 1)), rel=1e-11)


def exact_factor(T: mpmath.mpf, rho: mpmath.mpf) -> mpmath.mpf:
    return 1 / (T * mpmath.beta(T, rho))


@given(st.floats(0.5, 300.0), rhos)
def test_slopes_are_those_of_finite_differences(T: float, rho: float) -> None:
    with mpmath.workdps(40):
        in_nodes = mpmath.diff(lambda t: exact_factor(t, mpmath.mpf(rho)), mpmath.mpf(T))
    assert slope_in_nodes(T, rho) == pytest.approx(float(in_nodes), rel=1e-8, abs=1e-13)


@given(st.integers(1, 100), rhos)
def test_nesting_rate_is_the_printed_one(T: int, C: float) -> None:
    with mpmath.workdps(40):
        rate = mpmath.diff(lambda t: exact_factor(t / T, mpmath.mpf(C)), mpmath.mpf(T))
        printed = mpmath.mpf(C) / T * (mpmath.euler + mpmath.digamma(C) + 1 / mpmath.mpf(C) - 1)
    assert nesting_rate(T, C) == pytest.approx(float(rate), rel=1e-8, abs=1e-13)
    assert nesting_rate(T, C) == pytest.approx(float(printed), rel=1e-8, abs=1e-13)


@pytest.mark.parametrize(("T", "expected"), [(16, 0.8544262), (1024, 0.2471858), (65536, 0.0065931)])
def test_two_matryoshka_has_its_reference_values(T: int, expected: float) -> None:
    rho = 31 / 32
    assert two_matryoshka(T, rho) == pytest.approx(expected, abs=1e-7)
    edge = float(np.sqrt(1 - rho**2) / 2)
    assert matryoshka([2] * int(np.log2(T)), edge).value == pytest.approx(expected, abs=1e-7)


@given(st.integers(2, 40), st.integers(2, 40), st.floats(0.01, 0.49))
def test_a_tree_of_trees_is_never_worse_than_a_tree(T1: int, T2: int, edge: float) -> None:
    nested = matryoshka([T1, T2], edge)
    assert nested.value <= nested.terms["plain_tree"] * (1 + 1e-12)
    assert nested.value >= nested.terms["adaboost"] * (1 - 1e-9)
    assert nested.terms["plain_tree"] == pytest.approx(boosting_tree(T1 * T2, edge).value)


@given(st.floats(0.0, 0.4999), st.integers(1, 50))
def test_more_voters_and_larger_edges_lower_every_bound(edge: float, T: int) -> None:
    assert boosting_tree(T + 1, edge).value <= boosting_tree(T, edge).value * (1 + 1e-12)
    assert boosting_tree(T, edge).value <= boosting_tree(T, edge / 2).value * (1 + 1e-12)
    assert normaliser_of_edge(edge) == pytest.approx(np.sqrt(1 - 4 * edge**2), abs=1e-12)
