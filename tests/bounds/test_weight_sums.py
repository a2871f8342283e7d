"""The partition bound: sums of weights against a search over all sets, its place among the others, and it holds."""

from itertools import combinations
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from committee.bounds import VoterLosses, binomial, first_order, partition
from committee.bounds.weight_sums import least_sum
from committee.objectives.pac_bayes import kl_inverse
from tests.oracles import bounds as oracle

seeds = st.integers(0, 2**32 - 1)


def labels(seed, n=60, T=5, *, oob=False):
    rng = np.random.default_rng(seed)
    least = np.where((rng.random((n, 1)) < 0.05) | (rng.random((n, T)) < 0.15), -1, 1).astype(np.int8)
    unseen = rng.random((n, T)) < 0.6 if oob else None
    return VoterLosses(least, unseen, rng.dirichlet(np.ones(T)), names_classes=True)


@given(seeds, st.integers(1, 9), st.booleans())
@settings(deadline=None)
def test_the_least_sum_is_that_of_a_search_over_all_sets(seed, T, coarse):
    w = np.random.default_rng(seed).dirichlet(np.ones(T))
    if coarse:
        w = np.ceil(8.0 * w) / np.ceil(8.0 * w).sum()
    sums = [w[list(some)].sum() for k in range(T + 1) for some in combinations(range(T), k)]
    assert least_sum(w) == pytest.approx(min(s for s in sums if s >= 0.5 - 1e-12), abs=1e-10)


def test_the_least_sum_of_many_voters():
    assert least_sum(np.full(501, 1 / 501)) == pytest.approx(251 / 501)
    assert least_sum(np.full(500, 1 / 500)) == pytest.approx(0.5)
    assert least_sum(np.random.default_rng(0).dirichlet(np.ones(300))) == 0.5  # too many sums: nothing is claimed


@given(seeds, st.booleans())
@settings(max_examples=25, deadline=None)
def test_it_is_the_formula_and_never_above_the_bound_whose_inequality_it_is(seed, oob):
    losses = labels(seed, oob=oob)
    rho, S, found = losses.weights, least_sum(losses.weights), partition(losses)
    if oob:
        gibbs_bound = first_order(losses).terms["gibbs_bound"]
        assert found.value == pytest.approx(gibbs_bound / S) and found.value <= first_order(losses).value
    else:
        N, W = found.terms["drawn"], losses.gibbs()
        c = (N * float(rho @ np.log(5 * rho)) + log(2 * sqrt(60) * 10 / 0.05)) / 60
        most = oracle.kl_above(oracle.drawn_vote(W, int(N)), c)
        assert found.value == pytest.approx(most / binom.sf(N // 2, N, S), abs=1e-8)
        assert found.value <= binomial(losses).value + 1e-12
    assert found.value >= (0.0 if oob else np.mean(losses.gibbs() >= 0.5))
    others = VoterLosses(losses.least, losses.unseen, rho)  # voters that may abstain
    assert partition(others).value == pytest.approx((first_order if oob else binomial)(others).value)


@pytest.mark.parametrize("seed", range(3))
def test_it_holds_in_a_thousand_draws_for_weights_found_by_means_of_them(seed):
    """Rows of 24 kinds, five voters; each draw gives the better voters more weight, in steps that leave few sums."""
    rng = np.random.default_rng(seed)
    kinds, T, n, delta, N = 24, 5, 60, 0.2, 21
    least = np.where((rng.random((kinds, 1)) < 0.15) | (rng.random((kinds, T)) < 0.2), -1, 1)
    chance = rng.dirichlet(np.ones(kinds))
    samples = rng.choice(kinds, p=chance, size=(1000, n))
    wrong = (1 - least) / 2
    order = wrong[samples].mean(axis=1).argsort(axis=1).argsort(axis=1)
    rho = np.array([3, 2, 2, 1, 1])[order] / 9
    W = rho @ wrong.T
    S, divergence = 5 / 9, float((rho[0] * np.log(T * rho[0])).sum())
    error = (W >= 0.5) @ chance
    for drawn in (1, N):
        b = binom.sf(drawn // 2, drawn, np.clip(W, 0.0, 1.0))
        c = (drawn * divergence + log(2 * sqrt(n) / delta)) / n
        most = kl_inverse(np.take_along_axis(b, samples, axis=1).mean(axis=1), c)
        assert np.mean(b @ chance > most) <= delta
        assert np.mean(error > most / binom.sf(drawn // 2, drawn, S)) <= delta
    for k in range(30):
        losses = VoterLosses(least[samples[k]], None, rho[k], names_classes=True)
        found = partition(losses, delta=delta)
        assert found.terms["least_sum"] == pytest.approx(S) and found.value >= error[k]
