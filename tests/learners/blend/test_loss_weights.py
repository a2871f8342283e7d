"""Weights of members of least loss: on the simplex, and no other weights are better."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn import metrics

from committee.learners.blend.loss_of_rows import loss_of_rows
from committee.learners.blend.loss_weights import loss_weights
from committee.learners.blend.pool import PRIOR, squared_error_weights
from committee.objectives.losses import Absolute, Gamma, Huber, Poisson, Quantile, Squared, Tweedie
from committee.vote.links.mean import Log

CONVEX = [Absolute(), Quantile(0.9), Quantile(0.02), Huber(1.0), Huber(0.01), Huber(100.0), Poisson(), Squared()]
ALL = [*CONVEX, Gamma(), Tweedie(1.5)]
seeds = st.integers(0, 2**32 - 1)
members = st.integers(1, 7)


def drawn(seed, m, n=60):
    """Positive targets, predictions whose errors are alike in part, and weights of rows."""
    random = np.random.default_rng(seed)
    y = random.gamma(2.0, 3.0, n) + 0.1
    error = random.normal(size=(1, n)) * random.uniform(0, 2) + random.normal(size=(m, n)) * random.uniform(
        0.1, 2, (m, 1)
    )
    return y, np.abs(y + error) + 0.05, random.exponential(size=n) + 0.01


def objective(loss, w, f, y, v):
    """Mean loss of the weighted mean, and its ridge of one row of the members' mean loss."""
    share, least = v / v.sum(), loss.value(y, loss.link.score(y))
    size = np.mean([share @ (loss.value(y, loss.link.score(each)) - least) for each in f])
    return share @ loss.value(y, loss.link.score(w @ f)) + PRIOR / v.sum() * size * (w @ w), size


@pytest.mark.one_in(3)
@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(seeds, members)
def test_weights_are_on_the_simplex(loss, seed, m):
    y, f, v = drawn(seed, m)
    w = loss_weights(loss, f, y, v)
    assert w.shape == (m,) and w.min() >= 0.0
    assert_allclose(w.sum(), 1.0, rtol=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("loss", CONVEX, ids=repr)
@given(seeds, members)
def test_no_other_weights_have_less_loss(loss, seed, m):
    """Of a convex loss: none drawn, no member alone, and none near by."""
    y, f, v = drawn(seed, m)
    w = loss_weights(loss, f, y, v)
    least, size = objective(loss, w, f, y, v)
    random = np.random.default_rng(seed)
    others = [*np.eye(m), *random.dirichlet(np.ones(m), 20), *(0.99 * w + 0.01 * random.dirichlet(np.ones(m), 20))]
    for other in others:
        assert least <= objective(loss, other, f, y, v)[0] + 1e-5 * size


@pytest.mark.one_in(3)
@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(seeds, members)
def test_no_direction_towards_a_member_leads_down(loss, seed, m):
    """Gamma and Tweedie's losses, which are not convex here, among them."""
    y, f, v = drawn(seed, m)
    w = loss_weights(loss, f, y, v)
    least, size = objective(loss, w, f, y, v)
    for k in range(m):
        step = 1e-4
        assert objective(loss, (1 - step) * w + step * np.eye(m)[k], f, y, v)[0] >= least - 2e-6 * size


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
@given(seed=seeds, m=st.integers(2, 5))
def test_pinball_weights_are_those_of_the_linear_program(quantile, seed, m):
    """But for the ridge, which many rows make small."""
    y, f, _ = drawn(seed, m, n=300)
    n = len(y)
    w = loss_weights(Quantile(quantile), f, y, np.full(n, 1e6))
    cost = np.concatenate([np.zeros(m), np.full(n, quantile), np.full(n, 1.0 - quantile)])
    equal = np.block([[f.T, np.eye(n), -np.eye(n)], [np.ones((1, m)), np.zeros((1, 2 * n))]])
    solved = linprog(cost, A_eq=equal, b_eq=np.append(y, 1.0), bounds=(0, None), method="highs")
    assert Quantile(quantile).value(y, w @ f).sum() <= solved.fun * (1.0 + 1e-5)


@given(seeds, st.integers(2, 5))
def test_absolute_weights_are_those_of_the_median(seed, m):
    y, f, v = drawn(seed, m)
    of_median, of_absolute = (loss_weights(one, f, y, v) for one in (Quantile(0.5), Absolute()))
    one, other = (objective(Absolute(), w, f, y, v) for w in (of_median, of_absolute))
    assert_allclose(one[0], other[0], atol=1e-5 * one[1])


@given(seeds, st.integers(2, 5))
def test_squared_weights_are_those_of_least_squares(seed, m):
    """A Huber loss that begins its lines far out has the same ones."""
    y, f, v = drawn(seed, m)
    for loss in (Squared(), Huber(1e6)):
        assert_allclose(loss_weights(loss, f, y, v), squared_error_weights(f - y, v), atol=2e-3)


@pytest.mark.parametrize("loss", [Absolute(), Quantile(0.9), Poisson(), Gamma(), Tweedie(1.5)], ids=repr)
@given(seeds, members, st.floats(1e-3, 1e3))
def test_the_unit_of_targets_does_not_matter(loss, seed, m, unit):
    y, f, v = drawn(seed, m)
    one = objective(loss, loss_weights(loss, unit * f, unit * y, v), f, y, v)
    other = objective(loss, loss_weights(loss, f, y, v), f, y, v)
    assert_allclose(one[0], other[0], atol=1e-5 * one[1])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(seeds, members)
def test_a_row_of_weight_two_is_two_rows(loss, seed, m):
    y, f, v = drawn(seed, m)
    twice = loss_weights(loss, np.tile(f, 2), np.tile(y, 2), np.tile(v, 2))
    one, other = (objective(loss, w, f, y, 2 * v) for w in (twice, loss_weights(loss, f, y, 2 * v)))
    assert_allclose(one[0], other[0], atol=1e-5 * one[1])


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_members_that_are_alike_share_their_weight(loss):
    y, f, v = drawn(0, 1)
    assert_allclose(loss_weights(loss, np.repeat(f, 3, axis=0), y, v), 1 / 3, rtol=1e-6)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_members_without_loss_share_all_weight(loss):
    y, _, v = drawn(0, 1)
    assert_allclose(loss_weights(loss, np.tile(y, (4, 1)), y, v), 0.25, rtol=1e-9)


@pytest.mark.parametrize("loss", [Absolute(), Quantile(0.9)], ids=repr)
def test_members_whose_loss_is_no_normal_number_share_all_weight(loss):
    _, _, v = drawn(0, 1)
    assert_allclose(loss_weights(loss, np.array([[0.0], [5e-324]]) * np.ones(60), np.zeros(60), v), 0.5, rtol=1e-9)


@pytest.mark.parametrize("loss", [Poisson(), Gamma(), Tweedie(1.5)], ids=repr)
@pytest.mark.parametrize("far", [5e-324, 1e300])
def test_predictions_very_far_from_their_targets_are_weighed(loss, far):
    y, f, v = drawn(0, 2)
    f[1, :3] = far
    w = loss_weights(loss, f, y, v)
    assert (w >= 0).all()
    assert_allclose(w.sum(), 1.0, rtol=1e-12)


def test_few_rows_are_no_reason_to_trust_one_member_alone():
    for n, least, most in ((1, 0.5, 0.97), (1000, 0.99, 1.0)):
        y = np.full(n, 1.0)
        w = loss_weights(Absolute(), np.stack([y + 0.1, y + 2.0]), y, np.ones(n))
        assert least < w[0] <= most


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_losses_of_rows_are_those_of_scikit_learn(loss):
    y, f, v = drawn(3, 1)
    ours = np.average(loss_of_rows(loss, y, f[0]), weights=v)
    powers = {"poisson": 1, "gamma": 2, "tweedie": 1.5, "squared_error": 0}
    if loss.name in powers:
        theirs = metrics.mean_tweedie_deviance(y, f[0], sample_weight=v, power=powers[loss.name])
        assert isinstance(loss.link, Log) or loss.name == "squared_error"
    elif loss.name == "huber":
        size = np.abs(y - f[0])
        theirs = np.average(np.where(size <= loss.delta, size**2 / 2, loss.delta * (size - loss.delta / 2)), weights=v)
    elif loss.name == "quantile":
        theirs = metrics.mean_pinball_loss(y, f[0], sample_weight=v, alpha=loss.quantile)
    else:
        theirs = metrics.mean_absolute_error(y, f[0], sample_weight=v)
    assert_allclose(ours, theirs, rtol=1e-9)
