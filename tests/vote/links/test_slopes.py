"""Slopes of links against differences, and their means along lines."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad_vec

from committee.vote.links.probability import (
    LINKS,
    Logistic,
    Probit,
    Share,
    Softmax,
    TemperedMargin,
    TemperedShare,
    Truncated,
)
from committee.vote.links.slopes import mean_slopes, slopes

EVERY = [
    Softmax(1.3),
    Softmax(2.0, normalized=True),
    Logistic(),
    Probit(),
    TemperedShare(0.6),
    Truncated(0.05),
    TemperedMargin(0.4),
]
TOTAL = 5.0


def scores(rng, link, n, D, size=1.0):
    """Scores that the link takes, those of shares votes of weight `TOTAL`."""
    if not isinstance(link, TemperedShare):
        return rng.normal(0.0, size, (n, D))
    return rng.uniform(-TOTAL, TOTAL, (n, 1)) if D == 1 else rng.dirichlet(np.ones(D), n) * TOTAL


def columns(link):
    return [1, 3, 5] + [2] * isinstance(link, TemperedShare)


def test_every_link_has_slopes():
    assert {type(link) for link in EVERY} == {*LINKS.values()} - {Share}


@pytest.mark.parametrize("link", EVERY, ids=str)
def test_slopes_are_differences(link):
    rng = np.random.default_rng(0)
    for D in columns(link):
        F = scores(rng, link, 40, D)
        if isinstance(link, Truncated):
            F = F[(np.abs(np.abs(F) - 0.9) > 1e-3).all(axis=1)]
        found = slopes(link, F, TOTAL)
        for d, step in enumerate(np.eye(D) * 1e-5):
            change = link.probability(F + step, TOTAL) - link.probability(F - step, TOTAL)
            assert_allclose(found[:, :, d], change / 2e-5, atol=1e-8)


def slope_at(link, first, last, t):
    return slopes(link, (first + t * (last - first))[None], TOTAL)[0]


@pytest.mark.parametrize("link", EVERY, ids=str)
@pytest.mark.parametrize("size", [0.1, 40.0])
def test_means_are_integrals(link, size):
    rng = np.random.default_rng(1)
    for D in (1, 3):
        base, end = scores(rng, link, 2, D, size), scores(rng, link, 2, D, size)
        found = mean_slopes(link, base, end - base, TOTAL)
        pieces = np.linspace(0, 1, 40).tolist() if size > 1.0 or isinstance(link, Truncated) else None
        for first, last, slope in zip(base, end, found, strict=True):
            mean, _ = quad_vec(partial(slope_at, link, first, last), 0.0, 1.0, points=pieces)
            assert_allclose(slope, mean, atol=1e-6 if isinstance(link, Truncated) else 1e-9)


@given(
    st.sampled_from(EVERY),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e-9, 1.0, 30.0, 1e6, 1e100]),
    st.sampled_from([0.0, 1.0, 50.0]),
)
def test_means_times_steps_are_the_change(link, seed, size, far):
    rng = np.random.default_rng(seed)
    for D in columns(link):
        base, end = scores(rng, link, 3, D, far), scores(rng, link, 3, D, size)
        found = mean_slopes(link, base, end - base, TOTAL)
        change = link.probability(base + (end - base), TOTAL) - link.probability(base, TOTAL)
        assert_allclose(np.einsum("nkd,nd->nk", found, end - base), change, atol=1e-12)


def test_a_row_of_many_has_the_bits_of_one_alone():
    rng = np.random.default_rng(2)
    base, step = rng.normal(0, 3, (40_000, 3)), rng.normal(0, 30, (40_000, 3))
    found = mean_slopes(Logistic(1.0), base, step, 1.0)
    for i in (0, 17, 39_999):
        assert_array_equal(mean_slopes(Logistic(1.0), base[i : i + 1], step[i : i + 1], 1.0)[0], found[i])


def test_no_weight_has_no_slopes():
    assert not slopes(Softmax(1.0, normalized=True), np.zeros((1, 3)), 0.0).any()
