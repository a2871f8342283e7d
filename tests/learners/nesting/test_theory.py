"""What is proved of probabilistic boosting, trees and matryoshki, and what is not true of them."""

from itertools import pairwise
from math import prod, sqrt

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar
from scipy.special import betaln, ndtr, zeta

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.bounds import matryoshka
from committee.bounds.nested_trees import nesting_rate, normaliser_of_edge, slope_in_nodes, tree_factor, two_matryoshka
from committee.learners.nesting.growth import alphas
from committee.learners.nesting.nested_trees import Collector, nested
from committee.voters.probabilistic_voters import estimate_probability
from tests.oracles import nesting as oracle
from tests.probabilistic_voters import Edge, graph_of, grown, growth_of, leaf_shares, weights_and_signs

unit = st.floats(0.0, 1.0)
edges = st.sampled_from([0.02, 0.1, 0.2, 0.35])
seeds = st.integers(0, 2**20)

NONE = 1e-14
"""Smoothing as good as none, with which a voter that never says - has no logarithm of 0 / 0 yet."""


def sums(a, b, q):
    return np.array([[a @ q, b @ q], [a @ (1.0 - q), b @ (1.0 - q)]])


def normaliser(a, b, q):
    W = sums(a, b, q)
    return float(2.0 * np.sqrt(W[:, 0] * W[:, 1]).sum())


def table(n, seed):
    return weights_and_signs(n, seed, least=0.01, positive=0.4)


@given(st.integers(2, 30), seeds, st.floats(0.0, 0.45), st.floats(0.0, 0.5))
def test_normaliser_of_a_voter_with_an_edge(n, seed, edge, noise):
    D, y = table(n, seed)
    q = Edge(y, edge, noise, seed)(D)
    plus = y > 0
    W = sums(D * plus, D * ~plus, q)
    assert float(D @ np.where(plus, 1.0 - q, q)) <= 0.5 - edge + 1e-12
    assert W[0, 0] + W[1, 1] - 0.5 == pytest.approx(edge, abs=1e-9)
    least = normaliser(D * plus, D * ~plus, q)
    assert least <= normaliser_of_edge(edge) + 1e-12
    # alpha without smoothing attains it, and smoothed it is never below
    assert alphas(W, 0.0)[1].sum() == pytest.approx(least, abs=1e-12)
    assert alphas(W, 0.25 / n)[1].sum() >= least - 1e-12


@given(arrays(float, (2, 6), elements=unit), arrays(float, (2, 6), elements=unit), unit)
def test_normaliser_is_concave_in_the_probabilities(weights, q, share):
    mixed = normaliser(*weights, share * q[0] + (1.0 - share) * q[1])
    assert mixed >= share * normaliser(*weights, q[0]) + (1.0 - share) * normaliser(*weights, q[1]) - 1e-9


@given(seeds, st.integers(3, 25), st.floats(0.01, 5.0), st.booleans())
def test_no_soft_stump_has_a_lower_normaliser_than_the_best_hard_one(seed, n, softness, missing):
    rng = np.random.default_rng(seed)
    x, (D, y) = np.round(rng.normal(size=n), 1), table(n, seed)
    there = rng.random(n) < 0.8 if missing else np.ones(n, bool)
    a, b = D * (y > 0), D * (y < 0)
    hard = [
        normaliser(a, b, np.where(there, x > c, side)) for c in np.append(np.unique(x), -np.inf) for side in (0.0, 1.0)
    ]
    for c in np.linspace(-2.0, 2.0, 9):
        for side in (0.0, 0.3, 1.0):
            q = np.where(there, ndtr((x - c) / softness), side)
            assert normaliser(a, b, q) >= min(hard) - 1e-12


@given(arrays(float, (2, 5), elements=unit), arrays(float, 5, elements=unit), st.integers(0, 4))
def test_what_is_missing_goes_wholly_to_one_side(weights, q, missing):
    def told_by(side):
        told = q.copy()
        told[missing] = side
        return normaliser(*weights, told)

    assert min(told_by(0.0), told_by(1.0)) <= min(told_by(side) for side in np.linspace(0.0, 1.0, 21)) + 1e-12


def made_of(growth):
    made = oracle.Ensemble(growth.weights, 2.0 * growth.positive - 1.0, growth.eps)
    made.leaves = [oracle.ways_of(*graph_of(growth))]
    return made


def assert_bounds_hold(growth):
    made = made_of(growth)
    assert growth.bound == pytest.approx(made.bound(), rel=1e-9)
    assert made.expected_error() <= growth.bound + 1e-12


@given(st.integers(6, 20), seeds, edges, st.sampled_from([NONE, 0.25]))
def test_adaboost_is_bounded_by_the_product(n, seed, edge, smoothing):
    (D, y), rho = table(n, seed), normaliser_of_edge(edge)
    growth = growth_of(Edge(y, edge, 0.2, seed), D, y, smoothing / n)
    for t, _ in enumerate(zip(ProbabilisticAdaBoostClassifier(8)._grow(growth), range(8), strict=False), start=1):
        assert_bounds_hold(growth)
        assert growth.bound <= (rho if smoothing == NONE else max(growth.normalisers)) ** t + 1e-12
        assert growth.bound == pytest.approx(prod(growth.normalisers), rel=1e-9)


@given(st.integers(6, 20), seeds, edges, st.sampled_from([NONE, 0.25]), st.sampled_from(["mass", "drop", "entropy"]))
def test_a_boosting_tree_is_bounded_by_its_factor(n, seed, edge, smoothing, choose):
    (D, y), rho = table(n, seed), normaliser_of_edge(edge)
    growth = growth_of(Edge(y, edge, 0.2, seed), D, y, smoothing / n)
    model = BoostingTreeClassifier(20, choose=choose)
    for T, _ in enumerate(zip(model._grow(growth), range(20), strict=False), start=1):
        assert_bounds_hold(growth)
        worst = rho if smoothing == NONE else max(growth.normalisers)
        if choose == "mass":
            assert growth.bound <= tree_factor(T, min(worst, 1.0)) + 1e-12
    assert (np.diff(growth.bounds) <= 0).all()


@given(st.integers(6, 20), seeds, edges, st.sampled_from([[4], [2, 2], [3, 2], [2, 3], [2, 2, 2], [4, 3]]))
def test_a_matryoshka_is_bounded_by_its_nested_factors(n, seed, edge, sizes):
    (D, y), rho = table(n, seed), normaliser_of_edge(edge)
    growth = growth_of(Edge(y, edge, 0.2, seed), D, y, NONE)
    inner = prod(sizes[:-1])
    for T, _ in enumerate(MatryoshkaClassifier(sizes)._grow(growth), start=1):
        assert_bounds_hold(growth)
        if T % inner == 0:  # whole nodes of the outermost tree
            assert growth.bound <= matryoshka([*sizes[:-1], T // inner], edge).value + 1e-12
    assert prod(sizes) == T
    if set(sizes) == {2}:
        assert growth.bound <= two_matryoshka(T, rho) + 1e-12
    assert growth.bound <= tree_factor(T, rho) + 1e-12 or len(sizes) > 1


@given(st.integers(6, 20), seeds, edges, st.sampled_from([[2, 2], [3, 2], [2, 2, 2]]))
def test_smoothing_costs_what_the_normalisers_say(n, seed, edge, sizes):
    D, y = table(n, seed)
    growth = growth_of(Edge(y, edge, 0.2, seed), D, y, 0.25 / n)
    growth = grown(MatryoshkaClassifier(sizes), growth, prod(sizes))
    C = min(max(growth.normalisers), 1.0)
    for size in sizes:
        C = float(tree_factor(size, C))
    assert_bounds_hold(growth)
    assert len(growth) < prod(sizes) or growth.bound <= C + 1e-12


def relative_bound(entry, leaves):
    return sum(leaf.mass for leaf in leaves) / entry.mass


@pytest.mark.parametrize(("precision", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-10)])
@given(n=st.integers(6, 40), seed=seeds, edge=edges, T=st.integers(2, 7))
def test_a_collected_sub_tree_has_the_normaliser_of_its_bound(precision, tolerance, n, seed, edge, T):
    D, y = table(n, seed)
    growth = growth_of(Edge(y, edge, 0.2, seed), D, y, 0.25 / n, precision)
    growth.keep_reach = True
    entry = growth.root()
    leaves = drained(nested(growth, Collector(growth, "confidence"), entry, [T]))
    C = relative_bound(entry, leaves)
    plus, minus = Collector(growth, "confidence").collected(entry, leaves, range(T))
    # by the masses that are carried along, by the weights that are summed, and by all ways
    assert (plus.mass + minus.mass) / entry.mass == pytest.approx(C, rel=1e-12)
    weight = float(plus.weights.sum(dtype=np.float64) + minus.weights.sum(dtype=np.float64))
    assert weight / entry.mass == pytest.approx(C, rel=tolerance)
    assert made_of(growth).bound() == pytest.approx(C, rel=tolerance)


def drained(grower):
    while True:
        try:
            next(grower)
        except StopIteration as end:
            return end.value


@given(st.integers(6, 40), seeds, edges, st.integers(1, 7))
def test_of_signs_alone_less_is_left(n, seed, edge, T):
    D, y = table(n, seed)
    growth = growth_of(Edge(y, edge, 0.2, seed), D, y, NONE)
    entry = growth.root()
    leaves = drained(nested(growth, Collector(growth, "confidence"), entry, [T]))
    C = relative_bound(entry, leaves)
    wrong = sum(min(leaf_shares(growth, leaf)) for leaf in leaves)
    assert wrong <= C / 2 + 1e-6
    parts = [part for part in Collector(growth, "sign").collected(entry, leaves, range(T)) if part.mass > 0]
    Z = relative_bound(entry, parts)
    assert C - 1e-6 <= Z <= sqrt(C * (2.0 - C)) + 1e-6
    assert 2.0 * sqrt(wrong * (1.0 - wrong)) + 1e-6 >= Z
    made = made_of(growth)
    assert growth.bound == pytest.approx(made.bound(), rel=1e-5)
    assert made.expected_error() <= growth.bound + 1e-6


@given(st.integers(6, 30), seeds, edges, st.integers(1, 8))
def test_a_leaf_votes_half_the_log_odds_of_what_comes_there(n, seed, edge, T):
    D, y = table(n, seed)
    growth = growth_of(Edge(y, edge, 0.2, seed), D, y, NONE)
    leaves = drained(nested(growth, Collector(growth, "confidence"), growth.root(), [T]))
    for leaf in leaves:
        P, N = leaf_shares(growth, leaf)
        assert leaf.score == pytest.approx(0.5 * np.log(P / N), abs=1e-4)
        assert leaf.mass == pytest.approx(2.0 * sqrt(P * N), rel=1e-5)
        # so that both classes weigh the same where the next voter is trained
        assert float(leaf.weights @ (2.0 * growth.positive - 1.0)) == pytest.approx(0.0, abs=1e-9)


@given(st.integers(6, 30), seeds, edges, st.integers(2, 7))
def test_any_grouping_of_leaves_keeps_the_bound(n, seed, edge, T):
    D, y = table(n, seed)
    growth = growth_of(Edge(y, edge, 0.2, seed), D, y, NONE)
    leaves = drained(nested(growth, Collector(growth, "confidence"), growth.root(), [T]))
    rng = np.random.default_rng(seed)
    sides = rng.random(len(leaves)) < 0.5
    joined = [growth.merged([leaf for leaf, at in zip(leaves, sides, strict=True) if at == side]) for side in (0, 1)]
    assert sum(leaf.mass for leaf in joined) == pytest.approx(growth.bound, rel=1e-12)
    assert sum(float(leaf.weights.sum()) for leaf in joined) == pytest.approx(growth.bound, rel=1e-9)
    # and a voter with an edge lowers what is left by rho, whatever was grouped
    before = growth.bound
    largest = max(joined, key=lambda leaf: leaf.mass)
    found = growth.branching(largest)
    assert found is not None
    growth.branch(largest, found)
    assert growth.bound <= before - largest.mass * (1.0 - normaliser_of_edge(edge)) + 1e-9


def test_a_leaf_that_is_met_by_several_ways_may_err_more_than_its_bound_says_of_signs():
    # two ways of opposite votes, both as sure: as one leaf they know nothing, though E exp(-H y) is as it was
    P, N = np.array([0.4, 0.1]), np.array([0.1, 0.4])
    C = float(2.0 * np.sqrt(P * N).sum())
    wrong_as_one = min(P.sum(), N.sum())
    assert wrong_as_one > C / 2
    assert 2.0 * sqrt(wrong_as_one * (1.0 - wrong_as_one)) == 1.0 > sqrt(C * (2.0 - C))


def mean_estimates(q, y, draws, estimate, times=2000):
    rng = np.random.default_rng(0)
    a, b = (y > 0) / len(y), (y < 0) / len(y)
    told = []
    for R in draws:
        Z = [
            normaliser(a, b, estimate_probability(count, R, estimate))
            for count in rng.binomial(R, q, size=(times, len(q)))
        ]
        told.append((float(np.mean(Z)), float(np.std(Z) / np.sqrt(len(Z)))))
    return told


def balanced(n, edge):
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    q = 0.5 + edge * y
    return q, y, normaliser((y > 0) / n, (y < 0) / n, q)


@pytest.mark.parametrize("edge", [0.1, 0.2, 0.4])
def test_with_an_edge_and_many_rows_map_estimates_come_down_to_the_normaliser(edge):
    q, y, true = balanced(200, edge)
    told = mean_estimates(q, y, [1, 2, 4, 8, 16, 64, 256], "map")
    for (earlier, _), (later, _) in pairwise(told):
        assert later < earlier
    assert told[0][0] > true + 0.01
    assert true < told[-1][0] < true + 0.01


def test_ml_estimates_lie_below():
    q, y, true = balanced(40, 0.2)
    for mean, error in mean_estimates(q, y, [1, 2, 4], "ml", times=6000):
        assert mean < true - 5 * error


@pytest.mark.parametrize(("n", "edge"), [(10, 0.05), (20, 0.05), (40, 0.0), (40, 0.05), (100, 0.02), (200, 0.05)])
def test_with_few_rows_for_the_edge_map_estimates_come_up_instead(n, edge):
    """The document says that they come from above. Noise in q lowers a concave Z, and may do so by more.

    Near Z = 1 the mean estimate is off by (8 edge^2 (R + 1) - R / (2 n)) / (R + 2)^2: above for every number of draws R
    only if n edge^2 is at least 1 / 16.
    """
    q, y, true = balanced(n, edge)
    draws = [1, 4, 16, 64]
    for R, (mean, error) in zip(draws, mean_estimates(q, y, draws, "map"), strict=True):
        off = (8.0 * edge**2 * (R + 1) - R / (2.0 * n)) / (R + 2) ** 2
        assert mean - true == pytest.approx(off, rel=0.12, abs=5 * error)
        if n * edge**2 < 1 / 32:
            assert mean < true - 5 * error


def best_inner_size(T, rho):
    """T_1 of the least F(T / T_1, F(T_1, rho)), as a power of T, and how much larger that is at sqrt T."""

    def log_bound(power):
        return float(np.log(tree_factor(T ** (1.0 - power), min(float(tree_factor(T**power, rho)), 1.0))))

    powers = np.linspace(0.0, 1.0, 401)
    first = float(powers[np.argmin([log_bound(power) for power in powers])])
    best = minimize_scalar(log_bound, bounds=(max(first - 0.01, 0), min(first + 0.01, 1)), method="bounded")
    return float(best.x), float(np.exp(log_bound(0.5) - best.fun))


@pytest.mark.parametrize(
    ("rho", "shares"),  # of T_1 in sqrt T, for T = 64, 256, 1024, 65536
    [
        (31 / 32, [0.988, 0.974, 0.954, 0.857]),
        (7 / 8, [0.946, 0.891, 0.816, 0.536]),
        (3 / 4, [0.881, 0.774, 0.649, 0.300]),
        (1 / 2, [0.735, 0.568, 0.412, 0.122]),
        (1 / 4, [0.598, 0.417, 0.275, 0.064]),
    ],
)
def test_the_best_tree_of_trees_has_inner_trees_below_the_square_root(rho, shares):
    """The document has them always near it: so they are for weak voters, and ever less for more of them."""
    for T, share in zip([64, 256, 1024, 65536], shares, strict=True):
        power, excess = best_inner_size(T, rho)
        assert T ** (power - 0.5) == pytest.approx(share, abs=2e-3)
        assert 0.25 < power < 0.5
        assert 1.0 <= excess < 1.6  # but nothing much is lost at the square root
    assert np.all(np.diff(shares) < 0)


@given(st.floats(0.01, 0.99), st.integers(2, 5000))
def test_a_tree_as_bad_as_its_bound_falls_faster_nested(rho, T):
    """The document has both rates equal for all T > 1; they are at T = 1 alone."""
    C = float(tree_factor(T, rho))
    assert nesting_rate(T, C) < slope_in_nodes(T, rho) < 0
    assert nesting_rate(1, rho) == pytest.approx(float(slope_in_nodes(1, rho)), abs=1e-12)


@pytest.mark.parametrize("C", [1e-2, 1e-4, 1e-6])
def test_the_nested_rate_tends_to_that_of_halving_by_doubling(C):
    for T in (1, 30, 1000):
        assert float(nesting_rate(T, C)) * T / C == pytest.approx(-1.0, abs=2 * zeta(2) * C)


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.75])
def test_the_simple_rate_tends_to_that_of_a_power(rho):
    T = 10**6
    assert float(slope_in_nodes(T, rho) * T / tree_factor(T, rho)) == pytest.approx(rho - 1.0, abs=1e-5)


def log_factor(T, rho):
    return -np.log(T) - betaln(T, rho)


@pytest.mark.parametrize("rho", [0.25, 0.5, 0.75])
def test_in_the_end_no_power_is_the_best_inner_size(rho):
    off = []
    for log_T in (40.0, 160.0, 640.0):
        inner = np.linspace(0.005, 0.9, 100_001) * log_T
        C = np.exp(log_factor(np.exp(inner), rho))
        best = int(np.argmin(log_factor(np.exp(log_T - inner), C)))
        off.append(abs(C[best] * (log_T - inner[best]) * (1.0 - rho) / rho - 1.0))
    assert off[0] > off[1] > off[2]
    assert off[2] < 0.05


def test_differences_for_slopes_hold_the_first_voters_back():
    # eq. 12 takes (C(T + 1) - C(T - 1)) / 2, which for few strong voters is far steeper than the slope of eq. 13
    for rho, ahead in [(31 / 32, [1]), (1 / 2, [1]), (1 / 4, [1, 2]), (0.05, [1, 2, 4])]:
        for T in (1, 2, 4, 16):
            difference = float(tree_factor(T + 1, rho) - tree_factor(T - 1, rho)) / 2.0
            assert (difference < nesting_rate(T, float(tree_factor(T, rho)))) == (T in ahead)
