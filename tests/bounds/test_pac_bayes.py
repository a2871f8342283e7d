"""PAC-Bayesian bounds: equal to their definitions, monotone, and above the error in simulations."""

from __future__ import annotations

from itertools import combinations
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from committee.bounds import (
    VoterLosses,
    binomial,
    c_bound_pac_bayes,
    c_bound_weights,
    first_order,
    held_out_errors,
    partition,
    tandem,
    tandem_weights,
    unlabelled_margins,
)
from committee.bounds.pac_bayes import least_sum
from committee.objectives.pac_bayes import PacBayesKl, kl_below, kl_inverse, mean_over
from tests.limits import examples
from tests.oracles import bounds as oracle

seeds = st.integers(0, 2**32 - 1)
BOUNDS = {
    "first order": first_order,
    "tandem": tandem,
    "C-bound, separate": lambda *a, **k: c_bound_pac_bayes(*a, form="separate", **k),
    "C-bound, joint": c_bound_pac_bayes,
    "binomial": binomial,
}


def random_losses(seed, n=60, T=5, *, oob=False, soft=False, error=0.2):
    rng = np.random.default_rng(seed)
    common = rng.random((n, 1)) < 0.5 * error
    wrong = common | (rng.random((n, T)) < 0.7 * error)
    least = np.where(wrong, -1, 1).astype(np.int8)
    least[rng.random((n, T)) < 0.05] = 0
    if soft:
        least = least * rng.random((n, T))
    unseen = rng.random((n, T)) < 0.6 if oob else None
    return VoterLosses(least, unseen, rng.dirichlet(np.ones(T)))


@given(seeds, st.booleans(), st.booleans())
@settings(max_examples=examples(8, 25))
def test_losses_are_those_of_loops_over_rows_and_pairs(seed, oob, soft):
    losses = random_losses(seed, 12, 4, oob=oob, soft=soft)
    naive = oracle.losses(losses.least.astype(float), losses.unseen)
    for ours, theirs in zip(
        (losses.risk, losses.rows, losses.tandem, losses.disagreement, losses.pair_rows), naive, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@given(seeds, st.booleans())
def test_the_moments_of_the_gibbs_loss(seed, soft):
    """E W = rho' r, E W^2 = rho' E rho, and r = e + d / 2."""
    losses = random_losses(seed, soft=soft)
    rho, W = losses.weights, losses.gibbs()
    assert W.mean() == pytest.approx(rho @ losses.risk)
    assert (W**2).mean() == pytest.approx(rho @ losses.tandem @ rho)
    assert rho @ losses.risk == pytest.approx(rho @ (losses.tandem + losses.disagreement / 2) @ rho)


@given(st.floats(0.0, 1.0), st.floats(1e-6, 5.0))
def test_the_lower_inverse_of_kl_is_brentqs(q, c):
    assert float(kl_below(q, c)) == pytest.approx(oracle.kl_below(q, c), abs=1e-9)
    assert float(PacBayesKl(c, 10.0, 0.0, 0.0).above(q)) == pytest.approx(oracle.kl_above(q, c), abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 30, 80])
def test_moments_of_kl_are_at_most_what_the_proofs_need(n):
    """Maurer's 2 sqrt n, and 2 sqrt n + n of three outcomes, for all n."""
    for p in (0.01, 0.2, 0.5):
        assert oracle.moment_of_kl(n, (p, 1 - p)) <= 2 * sqrt(n) + 1e-9
        assert oracle.moment_of_kl(n, (p, 0.7 * (1 - p), 0.3 * (1 - p))) <= 2 * sqrt(n) + n + 1e-9


def test_complexity_of_equal_rows_is_seegers():
    q = np.array([0.7, 0.2, 0.1])
    divergence = float(q @ np.log(3 * q))
    found = PacBayesKl.of(q, [50, 50, 50], log(3), 0.05)
    assert found.c == pytest.approx((divergence + log(2 * sqrt(50) / 0.05)) / 50)
    assert found.divergence == pytest.approx(divergence) and found.rows == pytest.approx(50)


@given(seeds)
@settings(max_examples=examples(8, 25))
def test_complexity_of_unequal_rows_follows_from_the_change_of_measure(seed):
    """sum q_h kl_h <= c for the worst kl_h: those for which sum_h pi_h exp(n_h kl_h) / xi(n_h) = 1 / delta."""
    rng = np.random.default_rng(seed)
    H, delta = 6, 0.05
    q, n = rng.dirichlet(np.ones(H)), rng.integers(5, 60, size=H).astype(float)
    found = PacBayesKl.of(q, n, log(H), delta)
    share = rng.dirichlet(np.ones(H), size=200)
    kl = np.log(np.maximum(share * H / delta * 2 * np.sqrt(n), 1e-300)) / n
    assert (kl @ q).max() <= found.c + 1e-9
    tilted = found.rows * q / n  # the share for which it is reached
    kl = np.log(tilted * H / delta * 2 * np.sqrt(n)) / n
    assert q @ kl == pytest.approx(found.c)


def test_losses_without_a_row_are_taken_for_one():
    losses = VoterLosses(np.ones((4, 2), dtype=np.int8), np.array([[1, 0]] * 4, dtype=bool), np.array([0.5, 0.5]))
    found = PacBayesKl.of(losses.weights, losses.rows, log(2), 0.05)
    assert found.unknown == 0.5 and found.above(0.0) > 0.5 and found.below(1.0) <= 0.5
    assert first_order(losses).value > 1.0 and tandem(losses).value > 3.0 and c_bound_pac_bayes(losses).value == 1.0
    none = VoterLosses(losses.least, np.zeros((4, 2), dtype=bool), losses.weights)
    assert first_order(none).value == 2.0 and tandem(none).value == 4.0
    assert c_bound_pac_bayes(none, form="separate").value == 1.0
    np.testing.assert_array_equal(tandem_weights(none), [0.5, 0.5])


def test_a_share_without_rows_is_set_aside_and_the_rest_is_a_posterior_of_its_own():
    q, n = [0.0, 0.5, 0.25, 0.25], [7.0, 50.0, 20.0, 0.0]
    found, rest = PacBayesKl.of(q, n, log(4), 0.05), PacBayesKl.of([2 / 3, 1 / 3], [50.0, 20.0], log(4), 0.05)
    assert found.unknown == 0.25 and rest.unknown == 0.0
    assert (found.c, found.rows, found.divergence) == pytest.approx((rest.c, rest.rows, rest.divergence))
    for mean in (0.0, 0.1, 0.9, 1.0):
        assert found.above(mean) == pytest.approx(0.75 * oracle.kl_above(mean, found.c) + 0.25)
        assert found.below(mean) == pytest.approx(0.75 * oracle.kl_below(mean, found.c), abs=1e-9)


def test_one_row_is_a_row_and_none_says_nothing():
    one = PacBayesKl.of([0.5, 0.5], [1.0, 1.0], log(2), 0.5)
    assert one.rows == 1.0 and one.c == pytest.approx(log(4.0))
    assert one.above(0.0) == pytest.approx(0.75) and one.below(1.0) == pytest.approx(0.25)
    none = PacBayesKl.of([0.5, 0.5], [0.0, 0.0], log(2), 0.5)
    assert none == PacBayesKl(inf, 0.0, 0.0, 1.0) and (none.above(0.0), none.below(1.0)) == (1.0, 0.0)


def test_a_mean_is_over_the_losses_of_which_there_is_a_row():
    q, values = np.array([0.5, 0.25, 0.25]), np.array([0.2, 0.4, np.nan])
    assert mean_over(q, np.array([1.0, 50.0, 0.0]), values) == pytest.approx(0.2 * 2 / 3 + 0.4 / 3)
    assert mean_over(q, np.zeros(3), values) == 0.0


@given(seeds, st.floats(0.01, 0.5), st.booleans())
@settings(max_examples=examples(8, 25))
def test_first_order_and_tandem_are_kl_bounds(seed, delta, soft):
    losses = random_losses(seed, soft=soft)
    rho = losses.weights
    divergence = float(rho @ np.log(5 * rho))
    one = oracle.seeger(float(rho @ losses.risk), divergence, 60, delta)
    two = oracle.seeger(float(rho @ losses.tandem @ rho), 2 * divergence, 60, delta)
    assert first_order(losses, delta=delta).value == pytest.approx(2 * one, abs=1e-8)
    assert tandem(losses, delta=delta).value == pytest.approx(4 * two, abs=1e-8)
    r = oracle.seeger(float(rho @ losses.risk), divergence, 60, delta / 2)
    d = oracle.kl_below(float(rho @ losses.disagreement @ rho), (2 * divergence + log(4 * sqrt(60) / delta)) / 60)
    separate = 1.0 if r >= 0.5 else max(0.0, 1 - (1 - 2 * r) ** 2 / (1 - 2 * d))
    assert c_bound_pac_bayes(losses, delta=delta, form="separate").value == pytest.approx(separate, abs=1e-7)


@given(seeds)
@settings(max_examples=examples(8, 25))
def test_a_bound_by_pairs_says_how_few_rows_one_of_them_has(seed):
    losses = random_losses(seed, 12, 4, oob=True)
    _, _, _, _, pair_rows = oracle.losses(losses.least.astype(float), losses.unseen)
    terms = tandem(losses).terms
    assert terms["least_rows"] == pair_rows.min()
    pairs = np.outer(losses.weights, losses.weights)
    if pair_rows.min() > 0:
        assert terms["rows"] == pytest.approx(1.0 / (pairs / pair_rows).sum())


@pytest.mark.parametrize(("error", "n"), [(0.1, 300), (0.3, 1000), (0.05, 4000)])
def test_the_joint_c_bound_is_the_worst_on_a_fine_grid(error, n):
    losses = random_losses(0, n, error=error)
    rho = losses.weights
    e, d = float(rho @ losses.tandem @ rho), float(rho @ losses.disagreement @ rho)
    bound = c_bound_pac_bayes(losses)
    c = (2 * float(rho @ np.log(5 * rho)) + log((2 * sqrt(n) + n) / 0.05)) / n
    assert bound.terms["complexity"] == pytest.approx(c)
    worst = oracle.worst_c_bound(e, d, c)
    assert worst - 1e-9 <= bound.value <= worst + 0.01 and bound.value < 1.0
    x, y = bound.terms["worst_gibbs"] - bound.terms["worst_disagreement"] / 2, bound.terms["worst_disagreement"]
    assert oracle.kl_outcomes((e, d, 1 - e - d), (x, y, 1 - x - y)) == pytest.approx(c, abs=1e-6)


def test_voters_that_are_never_or_always_apart():
    never = VoterLosses(np.where(np.arange(400)[:, None] < 20, -1, 1) * np.ones((1, 3)), None, np.full(3, 1 / 3))
    assert c_bound_pac_bayes(never).terms["disagreement"] == 0.0 and c_bound_pac_bayes(never).value < 1.0
    apart = VoterLosses(np.tile([1, -1], (400, 1)), None, np.full(2, 0.5))
    assert c_bound_pac_bayes(apart).value == 1.0 and c_bound_pac_bayes(apart, form="separate").value == 1.0


def test_the_binomial_bound_is_that_of_drawn_votes():
    losses = random_losses(1, 200)
    W, divergence = losses.gibbs(), float(losses.weights @ np.log(5 * losses.weights))
    for N in (1, 5, 21):
        bound = binomial(losses, n_drawn=N)
        mean = oracle.drawn_vote(W, N)
        assert bound.terms["tail"] == pytest.approx(mean)
        assert bound.value == pytest.approx(2 * oracle.seeger(mean, N * divergence, 200, 0.05), abs=1e-8)
    assert binomial(losses, n_drawn=1).value == pytest.approx(first_order(losses).value)
    assert binomial(losses).value == pytest.approx(
        min(binomial(losses, delta=0.05 / 10, n_drawn=N).value for N in (1, 3, 5, 11, 21, 51, 101, 201, 501, 1001))
    )
    with pytest.raises(ValueError, match="n_drawn is 4; give an odd number"):
        binomial(losses, n_drawn=4)


def test_the_test_set_bound_is_the_inverse_of_the_binomial_tail():
    for wrong in (0, 7, 100):
        losses = VoterLosses(np.where(np.arange(100)[:, None] < wrong, -1, 1), None, np.ones(1))
        value = held_out_errors(losses).value
        assert value == 1.0 if wrong == 100 else binom.cdf(wrong, 100, value) == pytest.approx(0.05)
    assert held_out_errors(VoterLosses(np.ones((100, 1)), None, np.ones(1))).value == pytest.approx(
        1 - 0.05 ** (1 / 100)
    )
    ties = VoterLosses(np.tile([1, -1, 0], (50, 1)), None, np.full(3, 1 / 3))
    assert held_out_errors(ties).terms["wrong"] == 50


def test_reference_values():
    """1,000 rows, 20 voters that err on every twentieth row each, never two on the same."""
    least = np.ones((1000, 20))
    least[np.arange(1000), np.arange(1000) % 20] = -1
    losses = VoterLosses(least, None, np.full(20, 0.05))
    c = log(2 * sqrt(1000) / 0.05) / 1000
    assert first_order(losses).value == pytest.approx(2 * oracle.kl_above(0.05, c), abs=1e-9)
    assert first_order(losses).value == pytest.approx(0.160777, abs=1e-6)
    assert tandem(losses).value == pytest.approx(4 * oracle.kl_above(0.0025, c), abs=1e-9)
    assert held_out_errors(losses).value == pytest.approx(1 - 0.05 ** (1 / 1000))


@pytest.mark.parametrize("name", BOUNDS)
@given(seed=seeds, times=st.integers(2, 30), delta=st.floats(0.001, 0.3), factor=st.floats(1.0, 3.0))
@settings(max_examples=examples(8, 25), deadline=None)
def test_more_rows_and_a_larger_risk_of_failure_never_raise_them(name, seed, times, delta, factor):
    bound, losses = BOUNDS[name], random_losses(seed)
    value = bound(losses, delta=delta).value
    more = VoterLosses(np.repeat(losses.least, times, axis=0), None, losses.weights)
    assert bound(more, delta=delta).value <= value + 1e-7
    assert bound(losses, delta=delta * factor).value <= value + 1e-7


@pytest.mark.parametrize("name", BOUNDS)
@given(seed=seeds, soft=st.booleans())
@settings(max_examples=examples(8, 25), deadline=None)
def test_they_are_never_below_the_share_of_wrong_rows(name, seed, soft):
    losses = random_losses(seed, soft=soft, error=0.4)
    assert BOUNDS[name](losses).value >= np.mean(losses.gibbs() >= 0.5) - 1e-9


@given(seeds)
@settings(max_examples=examples(8, 25), deadline=None)
def test_a_prior_with_opposites_costs_ln_two_for_each_voter(seed):
    losses = random_losses(seed)
    turned = VoterLosses(losses.least, None, losses.weights, turned=True)
    for bound in (first_order, tandem):
        assert bound(turned).value > bound(losses).value
    assert first_order(turned).terms["divergence"] == pytest.approx(first_order(losses).terms["divergence"] + log(2))


KINDS, VOTERS, DRAWS = 24, 6, 1000


def population(seed):
    """Rows of 24 kinds, how likely each is, and what six voters say of each."""
    rng = np.random.default_rng(seed)
    least = np.where(rng.random((KINDS, 1)) < 0.15, -1, 1) * np.where(rng.random((KINDS, VOTERS)) < 0.2, -1, 1)
    return rng, rng.dirichlet(np.ones(KINDS)), least


def truth(rho, chance, least):
    """Error of the vote, and the two means that the bounds are about."""
    W = (1 - least @ rho) / 2
    return chance @ (W >= 0.5), chance @ W, chance @ W**2


class Draws:
    """What each sample estimates and may be off by; the inverses of kl are then taken of all samples at once."""

    def __init__(self, delta):
        self.delta, self.each = delta, []

    def add(self, losses, true):
        rho, pairs = losses.weights, np.outer(losses.weights, losses.weights)
        prior, two = losses.ln_prior, 2 * losses.ln_prior
        r = (rho @ losses.risk, pairs.ravel() @ losses.tandem.ravel(), pairs.ravel() @ losses.disagreement.ravel())
        c = [
            PacBayesKl.of(rho, losses.rows, prior, self.delta).c,
            PacBayesKl.of(rho, losses.rows, prior, self.delta / 2).c,
            PacBayesKl.of(pairs, losses.pair_rows, two, self.delta).c,
            PacBayesKl.of(pairs, losses.pair_rows, two, self.delta / 2).c,
            PacBayesKl.of(pairs, losses.pair_rows, two, self.delta, three_outcomes=True).c,
        ]
        self.each.append((*r, *c, *true))

    def failed(self):
        """How often each is below the truth: the vote's error, and the means that the bounds are about."""
        r, e, d, c, c_half, c_pair, c_pair_half, c_three, error, gibbs, pair = np.array(self.each).T
        most, both = kl_inverse(r, c), kl_inverse(e, c_pair)
        worst, apart = np.minimum(kl_inverse(r, c_half), 0.5), kl_below(d, c_pair_half)
        with np.errstate(divide="ignore", invalid="ignore"):
            separate = np.where(worst < 0.5, 1 - (1 - 2 * worst) ** 2 / (1 - 2 * apart), 1.0)
            true = (pair, 2 * (gibbs - pair), 1 - 2 * gibbs + pair)
            three = sum(np.where(q > 0, q * np.log(q / p), 0.0) for q, p in zip((e, d, 1 - e - d), true, strict=True))
        self.values = {"first order": 2 * most, "tandem": 4 * both, "C-bound, separate": np.maximum(separate, 0.0)}
        shares = {name: np.mean(error > value) for name, value in self.values.items()}
        # the joint C-bound is the worst of all moments that are possible: it holds where the true ones are
        assert np.isfinite(list(self.values.values())).all()
        return shares | {
            "Gibbs risk": np.mean(gibbs > most),
            "tandem loss": np.mean(pair > both),
            "three outcomes": np.mean(three > c_three),
        }

    def assert_same(self, some):
        """The functions give what was taken all at once."""
        for name, values in self.values.items():
            for losses, value in zip(some, values, strict=False):
                assert BOUNDS[name](losses, delta=self.delta).value == pytest.approx(value, abs=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(5))
def test_bounds_on_held_out_rows_hold_for_weights_found_by_means_of_them(seed):
    """1,000 samples of a known distribution; the weights lean to voters that did well on the sample."""
    rng, chance, least = population(seed)
    delta = 0.2
    draws, some, fixed = Draws(delta), [], 0
    for sample in rng.choice(KINDS, p=chance, size=(DRAWS, 50)):
        uniform = VoterLosses(least[sample], None, np.full(VOTERS, 1 / VOTERS))
        fixed += truth(uniform.weights, chance, least)[0] > held_out_errors(uniform, delta).value
        rho = np.exp(-10 * uniform.risk)
        losses = VoterLosses(uniform.least, None, rho / rho.sum())
        draws.add(losses, truth(losses.weights, chance, least))
        some.append(losses)
    failed = draws.failed()
    assert max(failed.values()) <= delta, failed
    assert (
        fixed <= delta * DRAWS * 1.15
    )  # its share of failures is nearly delta itself, and 1,000 draws are off a little
    draws.assert_same(some[:10])
    for losses in some[:50]:
        error = truth(losses.weights, chance, least)[0]
        assert min(binomial(losses, delta=delta).value, c_bound_pac_bayes(losses, delta=delta).value) >= error


def test_the_binomial_bound_holds():
    rng, chance, least = population(0)
    delta, N, n = 0.2, 5, 50
    samples = rng.choice(KINDS, p=chance, size=(DRAWS, n))
    risk = ((1 - least) / 2)[samples].mean(axis=1)
    rho = np.exp(-5 * risk)
    rho /= rho.sum(axis=1, keepdims=True)
    W = np.clip(rho @ ((1 - least) / 2).T, 0.0, 1.0)  # of every kind of row, for every sample
    b = binom.sf(N // 2, N, W)
    true, error = b @ chance, (W >= 0.5) @ chance
    tail = np.take_along_axis(b, samples, axis=1).mean(axis=1)
    divergence = (rho * np.log(VOTERS * rho)).sum(axis=1)
    most = kl_inverse(tail, (N * divergence + log(2 * sqrt(n) / delta)) / n)
    assert np.mean(true > most) <= delta and np.mean(error > 2 * most) <= delta
    for k in range(10):
        losses = VoterLosses(least[samples[k]], None, rho[k])
        assert binomial(losses, delta=delta, n_drawn=N).value == pytest.approx(2 * most[k], abs=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(5))
def test_bounds_out_of_bag_hold(seed):
    """1,000 samples; each voter learns the commoner label of every kind of row in a bootstrap of its own."""
    rng, chance, _ = population(seed)
    positive = rng.beta(0.5, 0.5, size=KINDS)  # share of label +1 in each kind
    n, delta = 100, 0.2
    draws, some = Draws(delta), []
    for _ in range(DRAWS):
        kind = rng.choice(KINDS, p=chance, size=n)
        y = np.where(rng.random(n) < positive[kind], 1, -1)
        drawn = rng.integers(n, size=(VOTERS, n))
        votes, unseen = np.zeros((KINDS, VOTERS)), np.ones((n, VOTERS), dtype=bool)
        for t in range(VOTERS):
            np.add.at(votes[:, t], kind[drawn[t]], y[drawn[t]])
            unseen[drawn[t], t] = False
        votes = np.where(votes > 0, 1, -1)
        losses = VoterLosses(votes[kind] * y[:, None], unseen, np.full(VOTERS, 1 / VOTERS))
        sides = [(positive, 1), (1 - positive, -1)]
        draws.add(losses, np.sum([truth(losses.weights, chance * p, votes * sign) for p, sign in sides], axis=0))
        some.append(losses)
    failed = draws.failed()
    assert max(failed.values()) <= delta, failed
    draws.assert_same(some[:10])


def test_training_rows_make_bounds_that_fail_and_rows_out_of_bag_do_not():
    """Labels are coins, and voters know their bootstrap by heart: half of the new rows are wrong."""
    rng, n, T, delta = np.random.default_rng(0), 100, 6, 0.2
    failed = {"oob": 0, "training": 0}
    for _ in range(200):
        drawn = np.zeros((n, T), dtype=bool)
        for t in range(T):
            drawn[rng.integers(n, size=n), t] = True
        least = np.where(drawn | (rng.random((n, T)) < 0.5), 1, -1)
        for name, unseen in (("oob", ~drawn), ("training", None)):
            losses = VoterLosses(least, unseen, np.full(T, 1 / T))
            failed[name] += first_order(losses, delta=delta).terms["gibbs_bound"] < 0.5
    assert failed["oob"] <= delta * 200 and failed["training"] > 0.9 * 200


@given(seeds, st.booleans(), st.booleans())
@settings(max_examples=examples(8, 25), deadline=None)
def test_tandem_weights_are_never_above_uniform_ones(seed, oob, soft):
    losses = random_losses(seed, 150, 8, oob=oob, soft=soft, error=0.4)
    rho = tandem_weights(losses)
    assert rho.min() > 0.0 and rho.sum() == pytest.approx(1.0)
    assert tandem(losses, rho).value <= tandem(losses, np.ones(8)).value


def test_tandem_weights_are_those_of_a_search_over_the_simplex():
    losses = random_losses(3, 2000, 3, error=0.3)
    least = losses.least.copy()
    least[:600, 2] = -1  # one voter is far worse
    losses = VoterLosses(least, None, losses.weights)
    grid = [np.array([a, b, 1 - a - b]) for a in np.linspace(0, 1, 21) for b in np.linspace(0, 1 - a, 21)]
    best = min(tandem(losses, np.maximum(rho, 0.0)).value for rho in grid)
    rho = tandem_weights(losses)
    assert tandem(losses, rho).value <= best + 1e-3 and rho[2] < 0.2


def test_tandem_weights_of_voters_alike_are_uniform():
    losses = VoterLosses(np.where(np.arange(100)[:, None] < 20, -1, 1) * np.ones((1, 4)), None, np.full(4, 0.25))
    np.testing.assert_allclose(tandem_weights(losses), 0.25)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("oob", [False, True])
def test_weights_of_the_c_bound_are_those_of_a_search_over_the_simplex(oob):
    rng = np.random.default_rng(5)
    wrong = (rng.random((1500, 1)) < 0.04) | (rng.random((1500, 3)) < [0.08, 0.12, 0.3])
    unseen = rng.random((1500, 3)) < 0.7 if oob else None
    losses = VoterLosses(np.where(wrong, -1, 1), unseen, np.array([0.2, 0.2, 0.6]))
    rho = c_bound_weights(losses)
    assert rho.min() >= 0.0 and rho.sum() == pytest.approx(1.0)
    value = c_bound_pac_bayes(losses, rho).value
    shares = np.linspace(0, 1, 13)
    grid = [np.array([a, b, 1 - a - b]) for a in shares for b in shares if a + b <= 1.0]
    assert value <= min(c_bound_pac_bayes(losses, each).value for each in grid) + (1e-3 if oob else 1e-5)
    for other in (np.full(3, 1 / 3), losses.weights, tandem_weights(losses)):
        assert value <= c_bound_pac_bayes(losses, other).value


def test_where_the_c_bound_says_nothing_its_weights_are_some_all_the_same():
    losses = random_losses(0, 12, 4, error=0.9)
    assert c_bound_pac_bayes(losses).value == 1.0
    np.testing.assert_allclose(c_bound_weights(losses), 0.25)


def test_the_c_bound_of_its_own_weights_holds_in_a_thousand_draws():
    """The weights of 12 draws are found, and each draw of 1,000 has the true moments among those that are possible."""
    rng, chance, least = population(1)
    delta, n, T = 0.2, 120, 3
    least = least[:, :T]
    true_pair = (least.T < 0).astype(float) * chance @ (least < 0)
    true_apart = (least.T < 0).astype(float) * chance @ (least > 0)
    true_apart += true_apart.T
    failed = 0
    for k, sample in enumerate(rng.choice(KINDS, p=chance, size=(DRAWS, n))):
        losses = VoterLosses(least[sample], None, np.full(T, 1 / T))
        if k < 12:
            rho = c_bound_weights(losses, delta=delta, max_rounds=5)
            assert c_bound_pac_bayes(losses, rho, delta).value >= truth(rho, chance, least)[0]
        else:  # weights as far from equal ones as those, by a rule that costs less
            rho = np.exp(-10 * losses.risk)
            rho /= rho.sum()
        seen, true = (
            (rho @ e @ rho, rho @ d @ rho) for e, d in ((losses.tandem, losses.disagreement), (true_pair, true_apart))
        )
        c = PacBayesKl.of(np.outer(rho, rho), losses.pair_rows, 2 * log(T), delta, three_outcomes=True).c
        failed += oracle.kl_outcomes((*seen, 1 - sum(seen)), (*true, 1 - sum(true))) > c
    assert failed <= delta * DRAWS


def test_what_is_refused():
    losses, oob = random_losses(0), random_losses(0, oob=True)
    for bound in BOUNDS.values():
        for weights in ([1.0], np.zeros(5), -np.ones(5), [np.nan] * 5):
            with pytest.raises(ValueError, match="weights must be 5 numbers, one for each voter"):
                bound(losses, weights)
        with pytest.raises(ValueError, match=r"delta is 1\.5, the probability that the bound fails"):
            bound(losses, delta=1.5)
    for bound in (binomial, held_out_errors):
        with pytest.raises(ValueError, match="Out-of-bag rows give no losses of the whole vote"):
            bound(oob)
    with pytest.raises(ValueError, match="form is 'both'; it must be 'joint' or 'separate'"):
        c_bound_pac_bayes(losses, form="both")
    with pytest.raises(ValueError, match="delta is 0"):
        tandem_weights(losses, delta=0)


def test_weights_are_taken_up_to_a_factor():
    losses = random_losses(0)
    for bound in BOUNDS.values():
        assert bound(losses, 7 * losses.weights).value == pytest.approx(bound(losses).value)
    assert exp(losses.ln_prior) == pytest.approx(5)


def phi(M, theta):
    return M / (2 * theta) + max(0.0, 1 - M / theta)


@given(seeds, st.floats(0.01, 0.3))
@settings(max_examples=15, deadline=None)
def test_unlabelled_margins_are_the_least_over_theta(seed, delta):
    losses, leads = random_losses(seed, 80, 7, error=0.3), np.random.default_rng(seed).random(30)
    gibbs = first_order(losses, delta=delta / 2).value / 2
    values = []
    for theta in np.arange(1, 21) / 20:
        span = max(1.0, 1 / (2 * theta)) - 0.5
        mean = np.mean([phi(M, theta) for M in leads])
        most = 0.5 + span * oracle.kl_above((mean - 0.5) / span, log(40 / delta) / 30)
        values.append((gibbs - 0.5) / theta + most)
    bound = unlabelled_margins(losses, leads, delta)
    assert bound.value == pytest.approx(min(values), abs=1e-7)
    assert bound.terms["theta"] == pytest.approx(0.05 * (1 + np.argmin(values)))
    assert bound.terms["gibbs_bound"] == pytest.approx(gibbs)


@given(seeds, st.floats(0.001, 1.0), st.integers(2, 6))
def test_the_inequality_of_unlabelled_margins_holds_for_every_row(seed, theta, n_classes):
    """1[wrong] <= (W - 1/2) / theta + phi(M), for votes among any number of classes."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(n_classes, 0.3))
    truth = rng.integers(n_classes)
    second, first = np.sort(share)[-2:]
    M = first - second
    margin = share[truth] - np.delete(share, truth).max()
    wrong = margin <= 0.0
    for W in ((1 - margin) / 2, 1 - share[truth]):  # the least that it can be, and with voters that name one class
        if (1 - margin) / 2 <= W + 1e-12:
            assert wrong <= (W - 0.5) / theta + phi(M, theta) + 1e-9


@given(seeds)
@settings(max_examples=examples(8, 25), deadline=None)
def test_unlabelled_margins_are_above_the_error_and_below_first_order_for_sure_votes(seed):
    losses = random_losses(seed, 80, 7, error=0.3)
    W = losses.gibbs()
    assert unlabelled_margins(losses, np.abs(1 - 2 * W)).value >= np.mean(W >= 0.5)
    sure = np.ones(1000)
    assert unlabelled_margins(losses, sure).value < first_order(losses).value


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_unlabelled_margins_hold(seed):
    """1,000 samples of a known distribution, of 50 rows with labels and 50 without."""
    rng, chance, least = population(seed)
    rho, delta = rng.dirichlet(np.full(VOTERS, 5.0)), 0.2
    W = (1 - least @ rho) / 2
    M, error, gibbs = np.abs(1 - 2 * W), chance @ (W >= 0.5), chance @ W
    thetas = np.arange(1, 21) / 20
    true = np.array([chance @ [phi(m, theta) for m in M] for theta in thetas])
    failed, gibbs_failed, mean_failed = 0, 0, 0
    for _ in range(DRAWS):
        labelled, unlabelled = rng.choice(KINDS, p=chance, size=(2, 50))
        bound = unlabelled_margins(VoterLosses(least[labelled], None, rho), M[unlabelled], delta)
        failed += error > bound.value
        gibbs_failed += gibbs > bound.terms["gibbs_bound"]
        mean_failed += true[np.argmin(np.abs(thetas - bound.terms["theta"]))] > bound.terms["mean_bound"]
    assert failed <= delta * DRAWS
    assert max(gibbs_failed, mean_failed) <= delta / 2 * DRAWS


def test_more_unlabelled_rows_never_raise_the_bound():
    losses, leads = random_losses(0), np.random.default_rng(0).random(40)
    values = [unlabelled_margins(losses, np.repeat(leads, times)).value for times in (1, 3, 10, 100)]
    assert (np.diff(values) < 0).all()


def test_unlabelled_margins_reject_bad_leads():
    losses = random_losses(0)
    for leads in ([], [1.5], [-0.1, 0.5], [np.nan], [[0.5]]):
        with pytest.raises(ValueError, match=r"leads must be one number in \[0, 1\]"):
            unlabelled_margins(losses, leads)
    with pytest.raises(ValueError, match=r"delta is 2\.0"):
        unlabelled_margins(losses, [0.5], 2.0)


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
@settings(max_examples=examples(8, 25), deadline=None)
def test_partition_is_the_formula_and_never_above_binomial_or_first_order(seed, oob):
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
def test_partition_holds_for_weights_found_on_the_rows(seed):
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
