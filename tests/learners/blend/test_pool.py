"""Weights of members: on the simplex, and the best there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from committee.learners.blend.pool import PRIOR, log_loss_weights, squared_error_weights

seeds = st.integers(0, 2**32 - 1)
members = st.integers(1, 7)


def drawn(seed, m, n=60):
    """Probabilities, errors that are alike in part, and weights of rows."""
    random = np.random.default_rng(seed)
    error = random.normal(size=(1, n)) * random.uniform(0, 2) + random.normal(size=(m, n)) * random.uniform(
        0.1, 2, (m, 1)
    )
    return random.beta(*random.uniform(0.2, 4, 2), (m, n)).clip(1e-12), error, random.exponential(size=n)


def likelihood(w, p, v):
    """The penalised likelihood that weights of least log loss maximise."""
    return v @ np.log(w @ p) + PRIOR * np.log(w).mean()


def ridge(error, v):
    """The matrix G of the squared error w'Gw, with its ridge."""
    gram = np.einsum("i,ki,li->kl", v, error, error) / v.sum()
    return gram + np.eye(len(error)) * np.trace(gram) / len(error) * (PRIOR / v.sum() + 1e-12)


@given(seeds, members)
def test_weights_are_on_the_simplex(seed, m):
    p, error, v = drawn(seed, m)
    for w in (log_loss_weights(p, v), squared_error_weights(error, v)):
        assert w.shape == (m,) and w.min() >= 0.0
        assert_allclose(w.sum(), 1.0, rtol=1e-12)


@given(seeds, members)
def test_no_direction_lowers_the_log_loss(seed, m):
    """All slopes of the penalised likelihood are equal, as the prior keeps every weight above zero."""
    p, _, v = drawn(seed, m)
    w = log_loss_weights(p, v)
    assert w.min() > 0.0
    step = w * (p @ (v / (w @ p))) + PRIOR / m  # the weight that each member deserves, in rows
    assert_allclose(step / (v.sum() + PRIOR), w, atol=5e-8)
    random = np.random.default_rng(seed)
    for other in random.dirichlet(np.full(m, 0.5), 20):
        other = 0.999 * other + 0.001 / m
        assert likelihood(w, p, v) >= likelihood(other, p, v) - 1e-5 * v.sum()


@given(seeds, st.integers(2, 4))
def test_log_loss_weights_are_those_of_a_solver(seed, m):
    p, _, v = drawn(seed, m)

    def loss(z):
        w = np.exp(z - z.max())
        return -likelihood(w / w.sum(), p, v)

    solved = minimize(loss, np.zeros(m), method="BFGS", options={"gtol": 1e-8})
    assert -likelihood(log_loss_weights(p, v), p, v) <= solved.fun + 1e-4 * abs(solved.fun)


@given(seeds, members)
def test_no_direction_lowers_the_squared_error(seed, m):
    """Slopes are equal where there is weight, and not smaller elsewhere."""
    _, error, v = drawn(seed, m)
    w, G = squared_error_weights(error, v), ridge(error, v)
    slope, least = G @ w, w @ G @ w
    assert_allclose(slope[w > 0], least, rtol=1e-9)
    assert (slope >= least * (1 - 1e-9)).all()


@given(seeds, st.integers(2, 5))
def test_squared_error_weights_are_those_of_a_solver(seed, m):
    _, error, v = drawn(seed, m)
    w, G = squared_error_weights(error, v), ridge(error, v)
    on_simplex = {"type": "eq", "fun": lambda w: w.sum() - 1.0}
    solved = minimize(
        lambda w: w @ G @ w,
        np.full(m, 1 / m),
        jac=lambda w: 2 * G @ w,
        bounds=[(0, 1)] * m,
        constraints=[on_simplex],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert w @ G @ w <= solved.fun * (1 + 1e-9)
    assert_allclose(w, solved.x, atol=1e-4)


@given(seeds, members, st.floats(1e-3, 1e3))
def test_the_unit_of_errors_does_not_matter(seed, m, unit):
    _, error, v = drawn(seed, m)
    assert_allclose(squared_error_weights(unit * error, v), squared_error_weights(error, v), atol=1e-9)


@given(seeds, members)
def test_a_row_of_weight_two_is_two_rows(seed, m):
    p, error, v = drawn(seed, m)
    assert_allclose(log_loss_weights(np.tile(p, 2), np.tile(v, 2)), log_loss_weights(p, 2 * v), atol=1e-6)
    assert_allclose(
        squared_error_weights(np.tile(error, 2), np.tile(v, 2)), squared_error_weights(error, 2 * v), atol=1e-9
    )


def test_members_that_are_alike_share_their_weight():
    p, error, v = drawn(0, 1)
    assert_allclose(log_loss_weights(np.repeat(p, 3, axis=0), v), 1 / 3)
    assert_allclose(squared_error_weights(np.repeat(error, 3, axis=0), v), 1 / 3, rtol=1e-6)


def test_members_without_error_share_all_weight():
    assert_allclose(squared_error_weights(np.zeros((4, 9)), np.ones(9)), 0.25)


def test_few_rows_are_no_reason_to_trust_one_member_alone():
    good, bad = np.full(1, 0.9), np.full(1, 0.1)
    few = log_loss_weights(np.array([good, bad]), np.ones(1))
    many = log_loss_weights(np.array([np.full(1000, 0.9), np.full(1000, 0.1)]), np.ones(1000))
    assert 0.5 < few[0] < 0.8 < 0.99 < many[0]


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-300, 2.0**1000])
def test_the_unit_of_errors_changes_no_bit(unit):
    rng = np.random.default_rng(0)
    error, v = np.round(rng.normal(size=(3, 40)) * 100.0), rng.exponential(size=40)
    assert_array_equal(squared_error_weights(error * unit, v), squared_error_weights(error, v))
