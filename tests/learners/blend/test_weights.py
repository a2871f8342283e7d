"""Weights of members: on the simplex, and of least loss there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog, minimize
from sklearn import metrics

from committee.learners.blend.out_of_fold import sharpened
from committee.learners.blend.weights import (
    PRIOR,
    best_sharpness,
    log_loss_weights,
    loss_weights,
    row_losses,
    squared_error_weights,
)
from committee.objectives.losses import Absolute, Gamma, Huber, Poisson, Quantile, Squared, Tweedie
from committee.vote.links.mean import Log

CONVEX = [Absolute(), Quantile(0.9), Quantile(0.02), Huber(1.0), Huber(0.01), Huber(100.0), Poisson(), Squared()]
ALL = [*CONVEX, Gamma(), Tweedie(1.5)]
all_losses = pytest.mark.parametrize("loss", ALL, ids=repr)
seeds = st.integers(0, 2**32 - 1)
members = st.integers(1, 7)


def drawn(seed, m, n=60):
    """Probabilities, errors that are alike in part, and weights of rows."""
    random = np.random.default_rng(seed)
    error = random.normal(size=(1, n)) * random.uniform(0, 2) + random.normal(size=(m, n)) * random.uniform(
        0.1, 2, (m, 1)
    )
    return random.beta(*random.uniform(0.2, 4, 2), (m, n)).clip(1e-12), error, random.exponential(size=n) + 0.01


def amounts(seed, m, n=60):
    """Positive targets, predictions, and weights of rows."""
    _, error, v = drawn(seed, m, n)
    y = np.random.default_rng(seed).gamma(2.0, 3.0, n) + 0.1
    return y, np.abs(y + error) + 0.05, v


def likelihood(w, p, v):
    """The penalised likelihood that weights of least log loss maximise."""
    return v @ np.log(w @ p) + PRIOR * np.log(w).mean()


def ridge(error, v):
    """The matrix G of the squared error w'Gw, with its ridge."""
    gram = np.einsum("i,ki,li->kl", v, error, error) / v.sum()
    return gram + np.eye(len(error)) * np.trace(gram) / len(error) * (PRIOR / v.sum() + 1e-12)


def objective(loss, w, f, y, v):
    """Mean loss of the weighted mean, and its ridge of one row of the members' mean loss."""
    share, least = v / v.sum(), loss.value(y, loss.link.score(y))
    size = np.mean([share @ (loss.value(y, loss.link.score(each)) - least) for each in f])
    return share @ loss.value(y, loss.link.score(w @ f)) + PRIOR / v.sum() * size * (w @ w), size


def assert_as_good(loss, one, other, f, y, v):
    """Two vectors of weights have the same loss."""
    (first, size), (second, _) = (objective(loss, w, f, y, v) for w in (one, other))
    assert_allclose(first, second, atol=1e-5 * size)


def assert_on_simplex(w, m):
    assert w.shape == (m,) and w.min() >= 0.0
    assert_allclose(w.sum(), 1.0, rtol=1e-12)


# --- log loss and squared error --------------------------------------------------------------------------------------


@given(seeds, members)
def test_no_direction_lowers_the_log_loss(seed, m):
    """All slopes of the penalised likelihood are equal, as the prior keeps every weight above zero."""
    p, _, v = drawn(seed, m)
    w = log_loss_weights(p, v)
    assert_on_simplex(w, m)
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
    assert_on_simplex(w, m)
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
def test_unit_of_errors_and_repeated_rows(seed, m, unit):
    p, error, v = drawn(seed, m)
    assert_allclose(squared_error_weights(unit * error, v), squared_error_weights(error, v), atol=1e-9)
    assert_allclose(log_loss_weights(np.tile(p, 2), np.tile(v, 2)), log_loss_weights(p, 2 * v), atol=1e-6)
    twice = squared_error_weights(np.tile(error, 2), np.tile(v, 2))
    assert_allclose(twice, squared_error_weights(error, 2 * v), atol=1e-9)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-300, 2.0**1000])
def test_the_unit_of_errors_changes_no_bit(unit):
    rng = np.random.default_rng(0)
    error, v = np.round(rng.normal(size=(3, 40)) * 100.0), rng.exponential(size=40)
    assert_array_equal(squared_error_weights(error * unit, v), squared_error_weights(error, v))


def test_equal_members_share_their_weight():
    p, error, v = drawn(0, 1)
    assert_allclose(log_loss_weights(np.repeat(p, 3, axis=0), v), 1 / 3)
    assert_allclose(squared_error_weights(np.repeat(error, 3, axis=0), v), 1 / 3, rtol=1e-6)
    assert_allclose(squared_error_weights(np.zeros((4, 9)), np.ones(9)), 0.25)


def test_few_rows_do_not_favour_a_single_member():
    few, many = (log_loss_weights(np.array([[0.9] * n, [0.1] * n]), np.ones(n))[0] for n in (1, 1000))
    assert 0.5 < few < 0.8 < 0.99 < many
    for n, least, most in ((1, 0.5, 0.97), (1000, 0.99, 1.0)):
        y = np.full(n, 1.0)
        w = loss_weights(Absolute(), np.stack([y + 0.1, y + 2.0]), y, np.ones(n))
        assert least < w[0] <= most


@given(seed=seeds, m=members, K=st.sampled_from([2, 3, 7]))
def test_no_sharpness_nearby_has_less_loss(seed, m, K):
    random = np.random.default_rng(seed)
    evidence = random.normal(size=(40, K)) * random.uniform(0.2, 4)
    p = [sharpened(np.exp(evidence + random.normal(size=(40, K))), 1.0) for _ in range(m)]
    labels = evidence.argmax(axis=1) if seed % 3 else random.integers(0, K, 40)
    w, v = random.dirichlet(np.ones(m)), random.exponential(size=40) + 0.01

    def loss(b):
        logs = np.log(np.einsum("k,kij->ij", w, [sharpened(one, b) for one in p]))
        return -(v @ (logs[np.arange(40), labels] + logs.mean(axis=1) / v.sum()))

    b, step = best_sharpness(p, w, labels, v), 2 ** (1 / 16)
    assert 1.0 <= b <= 4.0
    assert loss(b) <= loss(b * step) * (1 + 1e-12) or b == 4.0
    assert b == 1.0 or loss(b) < loss(b / step)


def test_the_mean_of_calibrated_members_is_sharpened():
    """Each member sees one of two independent signs; both together say more than their mean."""
    random = np.random.default_rng(0)
    seen = random.choice([-1.0, 1.0], (2, 4_000))
    members = [np.column_stack([1 - q, q]) for q in 1 / (1 + np.exp(-1.2 * seen))]
    labels = (random.random(4_000) < 1 / (1 + np.exp(-1.2 * seen.sum(axis=0)))).astype(np.uint16)
    b = best_sharpness(members, np.array([0.5, 0.5]), labels, np.ones(4_000))
    assert 1.2 < b < 3.0
    assert (
        best_sharpness(members[:1], np.ones(1), (random.random(4_000) < members[0][:, 1]).astype(int), np.ones(4_000))
        < 1.1
    )


# --- other losses ----------------------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("loss", CONVEX, ids=repr)
@given(seeds, members)
def test_no_other_weights_have_less_loss(loss, seed, m):
    """Of a convex loss: none drawn, no member alone, and none near by."""
    y, f, v = amounts(seed, m)
    w = loss_weights(loss, f, y, v)
    least, size = objective(loss, w, f, y, v)
    random = np.random.default_rng(seed)
    others = [*np.eye(m), *random.dirichlet(np.ones(m), 20), *(0.99 * w + 0.01 * random.dirichlet(np.ones(m), 20))]
    for other in others:
        assert least <= objective(loss, other, f, y, v)[0] + 1e-5 * size


@pytest.mark.one_in(3)
@all_losses
@given(seeds, members)
def test_no_direction_towards_a_member_leads_down(loss, seed, m):
    """Gamma and Tweedie's losses, which are not convex here, among them."""
    y, f, v = amounts(seed, m)
    w = loss_weights(loss, f, y, v)
    assert_on_simplex(w, m)
    least, size = objective(loss, w, f, y, v)
    for k in range(m):
        step = 1e-4
        assert objective(loss, (1 - step) * w + step * np.eye(m)[k], f, y, v)[0] >= least - 2e-6 * size


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
@given(seed=seeds, m=st.integers(2, 5))
def test_pinball_weights_are_those_of_the_linear_program(quantile, seed, m):
    """But for the ridge, which many rows make small."""
    y, f, _ = amounts(seed, m, n=300)
    n = len(y)
    w = loss_weights(Quantile(quantile), f, y, np.full(n, 1e6))
    cost = np.concatenate([np.zeros(m), np.full(n, quantile), np.full(n, 1.0 - quantile)])
    equal = np.block([[f.T, np.eye(n), -np.eye(n)], [np.ones((1, m)), np.zeros((1, 2 * n))]])
    solved = linprog(cost, A_eq=equal, b_eq=np.append(y, 1.0), bounds=(0, None), method="highs")
    assert Quantile(quantile).value(y, w @ f).sum() <= solved.fun * (1.0 + 1e-5)


@given(seeds, st.integers(2, 5))
def test_absolute_weights_are_those_of_the_median(seed, m):
    y, f, v = amounts(seed, m)
    of_median, of_absolute = (loss_weights(one, f, y, v) for one in (Quantile(0.5), Absolute()))
    assert_as_good(Absolute(), of_median, of_absolute, f, y, v)


@given(seeds, st.integers(2, 5))
def test_squared_weights_are_those_of_least_squares(seed, m):
    """A Huber loss with distant corners has the same ones."""
    y, f, v = amounts(seed, m)
    for loss in (Squared(), Huber(1e6)):
        assert_allclose(loss_weights(loss, f, y, v), squared_error_weights(f - y, v), atol=2e-3)


@pytest.mark.parametrize("loss", [Absolute(), Quantile(0.9), Poisson(), Gamma(), Tweedie(1.5)], ids=repr)
@given(seeds, members, st.floats(1e-3, 1e3))
def test_the_unit_of_targets_does_not_matter(loss, seed, m, unit):
    y, f, v = amounts(seed, m)
    assert_as_good(loss, *(loss_weights(loss, u * f, u * y, v) for u in (unit, 1.0)), f, y, v)


@pytest.mark.one_in(3)
@all_losses
@given(seeds, members)
def test_a_row_of_weight_two_is_two_rows(loss, seed, m):
    y, f, v = amounts(seed, m)
    twice = loss_weights(loss, np.tile(f, 2), np.tile(y, 2), np.tile(v, 2))
    assert_as_good(loss, twice, loss_weights(loss, f, y, 2 * v), f, y, 2 * v)


@all_losses
def test_equal_members_share_their_weight_in_any_loss(loss):
    y, f, v = amounts(0, 1)
    assert_allclose(loss_weights(loss, np.repeat(f, 3, axis=0), y, v), 1 / 3, rtol=1e-6)
    assert_allclose(loss_weights(loss, np.tile(y, (4, 1)), y, v), 0.25, rtol=1e-9)


@pytest.mark.parametrize("loss", [Absolute(), Quantile(0.9)], ids=repr)
def test_members_whose_loss_is_no_normal_number_share_all_weight(loss):
    f = np.array([[0.0], [5e-324]]) * np.ones(60)
    assert_allclose(loss_weights(loss, f, np.zeros(60), amounts(0, 1)[2]), 0.5, rtol=1e-9)


@pytest.mark.parametrize("loss", [Poisson(), Gamma(), Tweedie(1.5)], ids=repr)
@pytest.mark.parametrize("far", [5e-324, 1e300])
def test_predictions_very_far_from_their_targets_are_weighed(loss, far):
    y, f, v = amounts(0, 2)
    f[1, :3] = far
    assert_on_simplex(loss_weights(loss, f, y, v), 2)


@all_losses
def test_losses_of_rows_are_those_of_scikit_learn(loss):
    y, f, v = amounts(3, 1)
    f, powers = f[0], {"poisson": 1, "gamma": 2, "tweedie": 1.5, "squared_error": 0}
    match loss.name:
        case "huber":
            size = np.abs(y - f)
            rows = np.where(size <= loss.delta, size**2 / 2, loss.delta * (size - loss.delta / 2))
            theirs = np.average(rows, weights=v)
        case "quantile":
            theirs = metrics.mean_pinball_loss(y, f, sample_weight=v, alpha=loss.quantile)
        case "absolute_error":
            theirs = metrics.mean_absolute_error(y, f, sample_weight=v)
        case name:
            theirs = metrics.mean_tweedie_deviance(y, f, sample_weight=v, power=powers[name])
            assert isinstance(loss.link, Log) or name == "squared_error"
    assert_allclose(np.average(row_losses(loss, y, f), weights=v), theirs, rtol=1e-9)
