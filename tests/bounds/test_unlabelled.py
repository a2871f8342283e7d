"""The bound by leads on unlabelled rows: equal to its definition, it says no less than what is seen, and it holds."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee.bounds import VoterLosses, first_order, unlabelled_margins
from tests.oracles import bounds as oracle

seeds = st.integers(0, 2**32 - 1)
KINDS, VOTERS, DRAWS = 24, 6, 1000


def random_losses(rng, n=80, T=7, error=0.3):
    ease = rng.random((n, 1)) * 2 * error
    return VoterLosses(np.where(rng.random((n, T)) < ease, -1, 1), None, rng.dirichlet(np.ones(T)))


def phi(M, theta):
    return M / (2 * theta) + max(0.0, 1 - M / theta)


@given(seeds, st.floats(0.01, 0.3))
@settings(max_examples=15, deadline=None)
def test_it_is_the_least_over_theta_of_its_two_parts(seed, delta):
    rng = np.random.default_rng(seed)
    losses, leads = random_losses(rng), rng.random(30)
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
def test_what_it_rests_on_is_true_of_every_row(seed, theta, n_classes):
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
@settings(max_examples=25, deadline=None)
def test_it_is_never_below_the_share_of_wrong_rows_and_less_than_first_order_for_sure_votes(seed):
    rng = np.random.default_rng(seed)
    losses = random_losses(rng)
    W = losses.gibbs()
    assert unlabelled_margins(losses, np.abs(1 - 2 * W)).value >= np.mean(W >= 0.5)
    sure = np.ones(1000)
    assert unlabelled_margins(losses, sure).value < first_order(losses).value


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_it_holds(seed):
    """1,000 samples of a known distribution, of 50 rows with labels and 50 without."""
    rng = np.random.default_rng(seed)
    least = np.where(rng.random((KINDS, 1)) < 0.15, -1, 1) * np.where(rng.random((KINDS, VOTERS)) < 0.2, -1, 1)
    chance, rho, delta = rng.dirichlet(np.ones(KINDS)), rng.dirichlet(np.full(VOTERS, 5.0)), 0.2
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


def test_more_unlabelled_rows_never_raise_it():
    rng = np.random.default_rng(0)
    losses, leads = random_losses(rng), rng.random(40)
    values = [unlabelled_margins(losses, np.repeat(leads, times)).value for times in (1, 3, 10, 100)]
    assert (np.diff(values) < 0).all()


def test_what_is_refused():
    losses = random_losses(np.random.default_rng(0))
    for leads in ([], [1.5], [-0.1, 0.5], [np.nan], [[0.5]]):
        with pytest.raises(ValueError, match=r"leads must be one number in \[0, 1\]"):
            unlabelled_margins(losses, leads)
    with pytest.raises(ValueError, match=r"delta is 2\.0"):
        unlabelled_margins(losses, [0.5], 2.0)
