"""Larsen and Schalburg's margin bound: its formula, its place beside the others, and 1,000 draws at C = 1."""

from math import e, inf, log

import numpy as np
import pytest

from committee.bounds import tight_margin, voting_certified
from committee.bounds.voting_margins import THETAS


def formula(nu, size, n, delta, thetas):
    d, confidence = size / (thetas**2 * n), log(e / delta) / n
    with np.errstate(all="ignore"):
        root = np.sqrt(np.where(nu > 0, nu * (np.log(e / nu) * d + confidence), 0.0))
        return np.where(d < 1.0, nu + root + d * np.log(1 / d) + confidence, inf).min(axis=-1)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_least_over_theta_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    m, size = np.clip(rng.normal(0.3, 0.2, 3000), -1, 1), log(50)
    nu = (m[:, None] <= THETAS).mean(axis=0)
    found = tight_margin(m, size, 0.1)
    assert found.value == pytest.approx(formula(nu, size, 3000, 0.1, THETAS))
    twice = tight_margin(m, size, 0.1, constant=2.0, thetas=[0.3])
    once = tight_margin(m, size, 0.1, thetas=[0.3])
    share = once.terms["nu_theta"]
    assert twice.value - share == pytest.approx(2 * (once.value - share)) and once.terms["theta"] == 0.3
    assert "not a certificate" in found.remarks[0]


def test_few_rows_or_small_margins_say_nothing_and_more_rows_say_more():
    assert tight_margin(np.full(5, 0.1), log(1000)).value == inf
    values = [tight_margin(np.full(n, 0.5), log(1000)).value for n in (1_000, 10_000, 100_000)]
    assert values == sorted(values, reverse=True)
    needed = tight_margin(np.full(100, 0.5), log(1000)).terms["rows_to_be_useful"]
    assert tight_margin(np.full(int(1.02 * needed), 0.5), log(1000)).value < 0.5
    # with the constant 1 it is below what is proved where all margins are large, not always elsewhere
    assert tight_margin(np.full(10_000, 0.5), log(1000)).value < voting_certified(np.full(10_000, 0.5), log(1000)).value


@pytest.mark.parametrize("sharpness", [0.0, 20.0, 200.0])
def test_it_holds_in_a_thousand_draws_for_weights_found_by_means_of_the_rows(sharpness):
    """64 voters on rows of 24 kinds, labels half noise; the weights lean to voters that did well on the draw."""
    rng = np.random.default_rng(0)
    kinds, T, n, delta = 24, 64, 600, 0.2
    votes = np.where(rng.random((kinds, T)) < 0.5, -1, 1)
    chance, positive = rng.dirichlet(np.ones(kinds)), rng.beta(0.7, 0.7, kinds)
    outcome = np.concatenate([chance * positive, chance * (1 - positive)])  # kind and label
    signed = np.concatenate([votes, -votes])
    counts = rng.multinomial(n, outcome, size=1000)
    rho = np.exp(sharpness * (counts @ signed) / n)
    rho /= rho.sum(axis=1, keepdims=True)
    margins = rho @ signed.T
    nu = np.stack([((margins <= theta) * counts).sum(axis=1) / n for theta in THETAS], axis=1)
    error = (margins <= 1e-12) @ outcome
    value = formula(nu, log(T), n, delta, THETAS)
    assert np.mean(error > value) <= delta
    for k in range(5):
        drawn = np.repeat(np.clip(margins[k], -1, 1), counts[k])
        assert tight_margin(drawn, log(T), delta).value == pytest.approx(value[k])
