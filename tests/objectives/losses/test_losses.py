"""Every loss: derivatives, best constants, links, leaf constants; peers in scikit-learn; a loss of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn._loss.loss as peer
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.stats import _weighted_percentile

from committee.objectives import losses
from committee.objectives.losses.base import SMALLEST_HESSIAN
from committee.objectives.losses.regression import weighted_quantile
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link
from tests.objectives.losses.cases import CASES, OF_CLASSES, Array, Case, LogCosh, of_all, seeds
from tests.oracles import losses as oracle


def far_from_kinks(case: Case, y: Array, F: Array) -> Array:
    """Rows on which the loss is smooth around the scores."""
    if case.n_classes is None:
        r = np.abs(np.atleast_2d(y - F))
        kinks = np.minimum(r, np.abs(r - case.loss.delta)) if isinstance(case.loss, losses.Huber) else r
    else:
        kinks = np.abs(np.abs(np.atleast_2d(F)) - 1.0)
    return (kinks > 1e-3).all(axis=0) | (case.loss.hessian_is_true)


def one_output_moved(F: Array, k: int, step: float) -> Array:
    moved = F.copy()
    np.atleast_2d(moved)[k] += step  # a view
    return moved


@of_all
@given(seed=seeds, scale=st.sampled_from([0.1, 1.0, 4.0]))
def test_derivatives_are_finite_differences(case, seed, scale):
    rng = np.random.default_rng(seed)
    y, F = case.targets(rng, 20), case.scores(rng, 20, scale)
    loss, smooth, step = case.loss, far_from_kinks(case, y, F), 1e-5
    gradient, hessian = (np.atleast_2d(d) for d in loss.gradient_hessian(y, F))
    size = np.maximum(1.0, loss.value(y, F))
    for k in range(case.n_scores):
        up, down = one_output_moved(F, k, step), one_output_moved(F, k, -step)
        slope = (loss.value(y, up) - loss.value(y, down)) / (2 * step)
        assert (np.abs(slope - gradient[k]) <= 1e-6 * np.maximum(size, np.abs(slope)))[smooth].all()
        if loss.hessian_is_true:
            ahead, behind = (np.atleast_2d(loss.gradient_hessian(y, at)[0])[k] for at in (up, down))
            curvature = (ahead - behind) / (2 * step)
            assert (np.abs(curvature - hessian[k]) <= 1e-5 * np.maximum(size, curvature)).all()


FAR = np.array([-1000.0, -740.0, -600.0, -300.0, -40.0, -37.5, -8.0, -1.3, -0.7, -1e-9])
FAR = np.concatenate([FAR, [0.0], -FAR[::-1]])


def far_scores(case: Case) -> tuple[Array, Array]:
    """Targets and scores of up to +-1000; with several scores a row, each of them once among ordinary ones."""
    rng = np.random.default_rng(0)
    y = {2: [0, 1], 4: [0, 3]}.get(
        case.n_classes or 0, [0.5, 3.0] if isinstance(case.loss, losses.Gamma) else [0.0, 0.5, 3.0]
    )
    target, F = (grid.ravel() for grid in np.meshgrid(y, FAR))
    if case.n_scores == 1:
        return target.astype(np.uint16 if case.n_classes else np.float64), F
    target, output = np.tile(target, case.n_scores), np.repeat(np.arange(case.n_scores), len(F))
    scores = rng.normal(size=(case.n_scores, len(target)))
    scores[output, np.arange(len(target))] = np.tile(F, case.n_scores)
    return target.astype(np.uint16 if case.n_classes else np.float64), scores


@of_all
def test_scores_of_a_thousand(case):
    """Values, signs and digits, against 50 digits; the tests turn an overflow into an error."""
    loss = case.loss
    y, F = far_scores(case)
    value, (gradient, hessian) = loss.value(y, F), loss.gradient_hessian(y, F)
    assert np.isfinite(value).all() and np.isfinite(gradient).all() and np.isfinite(hessian).all()
    rows = np.atleast_2d(F).T
    expected = [float(oracle.definition(loss, *row)) for row in zip(y.tolist(), rows.tolist(), strict=True)]
    assert_allclose(value, expected, rtol=1e-12, atol=1e-300)
    smooth = far_from_kinks(case, y, F)
    for k in range(case.n_scores):
        truth = np.array([oracle.derivative(loss, *row, k, 1) for row in zip(y.tolist(), rows.tolist(), strict=True)])
        ours = np.atleast_2d(gradient)[k]
        terms = np.maximum(1.0, np.abs(y)) if case.n_classes is None else 0.0  # may cancel in exp(F) - y
        # the softmax has one sum for all scores, whose 50 digits its derivatives share
        tiny = 1e-25 if isinstance(case.loss, losses.Logistic) else 1e-300
        assert (np.abs(ours - truth) <= 1e-11 * np.abs(truth) + 1e-15 * terms + tiny)[smooth].all()
        assert ((np.sign(ours) == np.sign(truth)) | (np.abs(truth) < 1e-14))[smooth].all()
        assert_true_hessian(case, y, F, k, np.atleast_2d(hessian)[k])


def assert_true_hessian(case: Case, y: Array, F: Array, k: int, hessian: Array) -> None:
    """Second derivatives but for the floor, and for the tangent, which has none; at least those otherwise."""
    rows, smooth = np.atleast_2d(F).T, far_from_kinks(case, y, F)
    truth = np.array([oracle.derivative(case.loss, *row, k, 2) for row in zip(y.tolist(), rows.tolist(), strict=True)])
    assert (hessian >= SMALLEST_HESSIAN).all()
    assert (hessian >= truth * (1 - 1e-10))[smooth].all()
    if case.loss.hessian_is_true:
        before_tangent = np.abs(rows[:, k]) < 500.0
        assert_allclose(hessian[before_tangent], np.maximum(truth, SMALLEST_HESSIAN)[before_tangent], rtol=1e-9)


@of_all
@given(seed=seeds, scale=st.sampled_from([1.0, 30.0, 600.0]), share=st.floats(0.01, 0.99))
def test_convex(case, seed, scale, share):
    rng = np.random.default_rng(seed)
    y, a, b = case.targets(rng, 20), case.scores(rng, 20, scale), case.scores(rng, 20, scale)
    value = case.loss.value
    between, chord = value(y, share * a + (1 - share) * b), share * value(y, a) + (1 - share) * value(y, b)
    assert (between <= chord + 1e-9 * np.maximum(1.0, np.abs(chord))).all()


@pytest.mark.parametrize(
    "case", [Case(losses.Squared()), Case(losses.Huber(0.7)), Case(losses.SquaredHinge(), 2)], ids=lambda c: str(c.loss)
)
@given(seed=seeds, scale=st.sampled_from([0.5, 3.0, 100.0]))
def test_step_never_overshoots_a_majorised_loss(case, seed, scale):
    rng = np.random.default_rng(seed)
    y, F, step = case.targets(rng, 30), case.scores(rng, 30, scale), case.scores(rng, 30, scale)
    g, h = case.loss.gradient_hessian(y, F)
    bound = case.loss.value(y, F) + g * step + 0.5 * h * step**2
    assert (case.loss.value(y, F + step) <= bound + 1e-9 * np.abs(bound) + 1e-12).all()


@of_all
@given(seed=seeds, scale=st.sampled_from([1.0, 100.0]))
def test_weights_multiply(case, seed, scale):
    rng = np.random.default_rng(seed)
    y, F = case.targets(rng, 20), case.scores(rng, 20, scale)
    w = rng.integers(0, 3, 20).astype(np.float64)
    plain, weighted = case.loss.gradient_hessian(y, F), case.loss.gradient_hessian(y, F, w)
    for one, other in zip(plain, weighted, strict=True):
        assert_array_equal(one * w, other)
    assert (weighted[1] > 0.0).T[w > 0].all()
    if case.loss.constant_hessian:
        assert_array_equal(weighted[1], np.broadcast_to(w, F.shape))


@of_all
def test_arguments_are_left_alone(case):
    rng = np.random.default_rng(0)
    y, F, w = case.targets(rng, 9), case.scores(rng, 9, 1.0), rng.exponential(size=9)
    kept = [a.copy() for a in (y, F, w)]
    for array in (y, F, w):
        array.flags.writeable = False
    case.loss.gradient_hessian(y, F, w)
    case.loss.value(y, F)
    case.loss.best_constant(y, w)
    case.loss.check_target(y)
    for array, before in zip((y, F, w), kept, strict=True):
        assert_array_equal(array, before)


@of_all
@pytest.mark.parametrize("weighted", [False, True])
def test_written_in_place(case, weighted):
    rng = np.random.default_rng(1)
    y, F = case.targets(rng, 30_000), case.scores(rng, 30_000, 2.0)
    w = rng.exponential(size=30_000) if weighted else None
    for n_threads in (1, 3):
        gradient, hessian = np.full_like(F, np.nan), np.full_like(F, np.nan)
        losses.write_gradients(case.loss, y, F, w, gradient, hessian, n_threads)
        for ours, theirs in zip((gradient, hessian), case.loss.gradient_hessian(y, F, w), strict=True):
            assert_array_equal(ours, theirs)


def both_sided(case: Case, y: Array) -> Array:
    """The same targets, changed where all are zero or a class is not there: the best constant would be infinite."""
    y[: case.n_classes or 0] = np.arange(case.n_classes or 0)
    if isinstance(case.loss, losses.Poisson | losses.Tweedie):
        y[0] += 1.0
    return y


@of_all
@given(seed=seeds, n=st.integers(4, 40), weighted=st.booleans())
def test_best_constant_by_brute_force(case, seed, n, weighted):
    rng = np.random.default_rng(seed)
    y = both_sided(case, case.targets(rng, n))
    w = rng.exponential(size=n) if weighted else np.ones(n)
    best = case.loss.best_constant(y, w if weighted else None, case.n_scores)
    assert best.shape == (case.n_scores,) and np.isfinite(best).all()
    least = case.risk(best, y, w)
    for k in range(case.n_scores):
        for step in (1e-4, 1e-2, 0.1, 1.0, 10.0):
            for sign in (-1.0, 1.0):
                moved = best.copy()
                moved[k] += sign * step
                assert least <= case.risk(moved, y, w) + 1e-9 * (1.0 + abs(least))


@of_all
@given(seed=seeds, n=st.integers(8, 60))
def test_gradients_sum_to_zero_at_the_best_constant(case, seed, n):
    rng = np.random.default_rng(seed)
    y, w = both_sided(case, case.targets(rng, n)), rng.exponential(size=n)
    F = case.constant(case.loss.best_constant(y, w), n)
    slope = np.atleast_2d(case.loss.gradient_hessian(y, F, w)[0]).sum(axis=1)
    if case.is_piecewise_linear():  # zero is among the slopes of the rows that are met exactly
        levels = getattr(case.loss, "quantiles", (getattr(case.loss, "quantile", 0.5),))
        met = np.array([w[y == c].sum() for c in np.atleast_2d(F)[:, 0]])
        unit = 2.0 if isinstance(case.loss, losses.Absolute) else 1.0
        assert (np.abs(slope) <= unit * met * np.maximum(levels, 1 - np.array(levels)) + 1e-9).all()
    else:
        assert_allclose(slope, 0.0, atol=1e-9 * w.sum())


@of_all
@given(seed=seeds, n=st.integers(1, 25))
def test_integer_weights_are_repeated_rows(case, seed, n):
    rng = np.random.default_rng(seed)
    y, w = case.targets(rng, n), rng.integers(0, 4, n)
    w[0] += 1
    ours, repeated = case.loss.best_constant(y, w.astype(np.float64), case.n_scores), np.repeat(y, w)
    assert_allclose(ours, case.loss.best_constant(repeated, None, case.n_scores), rtol=1e-10, atol=1e-10)


@of_all
def test_one_sided_targets_have_a_finite_constant(case):
    for value in {0.0, 1.0, 3.0} if case.n_classes is None else {0, 1}:
        y = np.full(5, value, dtype=np.uint16 if case.n_classes else np.float64)
        if not case.loss.target_interval.holds(value):
            continue
        best = case.loss.best_constant(y, None, case.n_scores)
        assert best.shape == (case.n_scores,) and np.isfinite(best).all() and np.abs(best).max() <= 40.0
        least = case.risk(best, y, np.ones(5))
        assert least <= case.risk(np.zeros(case.n_scores), y, np.ones(5)) + 1e-12


@pytest.mark.parametrize("case", [case for case in CASES if not case.is_piecewise_linear()], ids=lambda case: str(case))
@given(seed=seeds, n=st.integers(8, 40))
def test_what_a_loss_of_your_own_inherits_finds_the_same_constant(case, seed, n):
    rng = np.random.default_rng(seed)
    y, w = both_sided(case, case.targets(rng, n)), rng.exponential(size=n) + 0.1
    inherited = losses.Loss.best_constant(case.loss, y, w, case.n_scores)
    expected = case.loss.best_constant(y, w, case.n_scores)
    if case.n_scores == 1:
        assert_allclose(inherited, expected, rtol=1e-9, atol=1e-9)
    else:
        assert case.risk(inherited, y, w) == pytest.approx(case.risk(expected, y, w), rel=1e-6)


@of_all
def test_leaf_constant(case):
    """Of a residual: the constant that is best where scores are zero; only where Newton steps are no good."""
    rng = np.random.default_rng(0)
    residual, w = rng.normal(size=31), rng.exponential(size=31)
    for k in range(case.n_scores):
        ours = case.loss.leaf_constant(residual, w, k)
        assert (ours is not None) == case.is_piecewise_linear()
        if ours is not None:
            assert ours == case.loss.best_constant(residual, w)[k]


@of_all
def test_links_stay_in_the_interval_of_the_mean(case):
    F = (
        FAR
        if case.n_scores == 1
        else np.array(np.meshgrid(FAR, *[[0.0, 2.0]] * (case.n_scores - 1))).reshape(case.n_scores, -1).T
    )
    link = case.loss.link
    means = link.probability(F) if isinstance(link, Link) else link.mean(F)
    interval = case.loss.mean_interval
    # probabilities of (0, 1) may round to its ends
    assert (losses.Interval(0.0, 1.0, "both") if case.n_classes else interval).holds(means).all()
    assert interval.holds(link.probability(F / 1000) if isinstance(link, Link) else means).all()


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (losses.Squared(), [0.0, np.nan], r"y\[1\] is nan; the squared_error loss needs targets in \(-inf, inf\)"),
        (losses.Absolute(), [np.inf], r"y\[0\] is inf"),
        (losses.Poisson(), [1.0, 0.0, -1.0], r"y\[2\] is -1\.0; the poisson loss needs targets in \[0, inf\)"),
        (losses.Tweedie(), [-0.5], r"y\[0\] is -0\.5; the tweedie loss needs targets in \[0, inf\)"),
        (losses.Gamma(), [1.0, 0.0], r"y\[1\] is 0\.0; the gamma loss needs targets in \(0, inf\)"),
        (losses.Logistic(), [0.0, 1.0], r"y has dtype float64; the log_loss loss needs class numbers"),
        (losses.Probit(), np.array([0, -1]), r"y\[1\] is -1"),
    ],
)
def test_targets_outside_the_interval_are_refused(loss, y, message):
    with pytest.raises(ValueError, match=message):
        loss.check_target(np.asarray(y))


def test_intervals():
    assert [str(losses.Interval(0.0, 1.0, closed)) for closed in ("both", "low", "high", "neither")] == [
        "[0, 1]",
        "[0, 1)",
        "(0, 1]",
        "(0, 1)",
    ]
    held = [
        losses.Interval(0.0, 1.0, closed).holds([0.0, 0.5, 1.0, np.nan])
        for closed in ("both", "low", "high", "neither")
    ]
    assert_array_equal(held, [[1, 1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0]])
    whole = losses.Interval(closed="both")
    assert str(whole) == "(-inf, inf)" and whole.holds([-np.inf, 0.0, np.inf]).tolist() == [False, True, False]


class Slope(LogCosh):
    """A loss of a user's own, by its slope, whatever the targets are."""

    def __init__(self, slope):
        self.slope = slope

    def gradient_hessian(self, y, F, w=None):
        return self.slope(F), np.ones(len(F))


@pytest.mark.parametrize(
    ("slope", "low", "high"),
    [
        (lambda F: F, 0.0, 0.0),
        (lambda F: np.full(len(F), -1.0), 1e299, 1e300),
        (lambda F: np.full(len(F), 0.5), -1e300, -1e299),
        (lambda F: -np.exp(-F), 25.0, 35.0),
        (lambda F: np.where(F > 100.0, np.nan, -1.0), 50.0, 100.0),
    ],
    ids=["least at zero", "falls forever", "rises forever", "flattens", "ends in no number"],
)
def test_the_inherited_constant_is_finite_whatever_the_slope(slope, low, high):
    assert low <= Slope(slope).best_constant(np.zeros(3))[0] <= high


def test_a_loss_of_ones_own_inherits_the_rest():
    loss = losses.regression_loss(LogCosh())
    y = np.array([-1.0, 1.0, 3.0])
    assert loss.best_constant(y)[0] == pytest.approx(1.0)
    assert loss.best_constant(y + 1e6, np.array([1.0, 0.0, 1.0]))[0] == pytest.approx(1e6 + 1.0)
    assert loss.n_scores() == 1 and loss.leaf_constant(y, None) is None
    loss.check_target(y)
    assert loss.to_json() == {"name": "log_cosh"}
    gradient, hessian = np.empty(3), np.empty(3)
    losses.write_gradients(loss, y, np.zeros(3), None, gradient, hessian)
    assert_array_equal((gradient, hessian), loss.gradient_hessian(y, np.zeros(3)))
    assert losses.Loss.hessian_is_true and not losses.Loss.constant_hessian


@pytest.mark.parametrize("case", OF_CLASSES, ids=lambda case: f"{case.loss}-{case.n_classes}")
def test_class_numbers_of_any_integer_type(case):
    rng = np.random.default_rng(1)
    y, F = case.targets(rng, 20), case.scores(rng, 20, 2.0)
    expected = case.loss.gradient_hessian(y, F)
    for dtype in (np.int64, np.int32, np.uint8):
        assert_array_equal(case.loss.gradient_hessian(y.astype(dtype), F), expected)
        assert_array_equal(case.loss.value(y.astype(dtype), F), case.loss.value(y, F))
        assert_array_equal(case.loss.best_constant(y.astype(dtype)), case.loss.best_constant(y))


@pytest.mark.parametrize("case", OF_CLASSES, ids=lambda case: f"{case.loss}-{case.n_classes}")
@given(seed=seeds)
def test_link_of_the_best_constant_gives_the_shares_of_the_classes(case, seed):
    rng = np.random.default_rng(seed)
    y, w = case.targets(rng, 50), rng.exponential(size=50)
    y[: case.n_classes] = np.arange(case.n_classes)
    shares = np.bincount(y, w) / w.sum()
    F = case.loss.best_constant(y, w)
    assert isinstance(case.loss.link, Link)
    assert_allclose(case.loss.link.probability(F[None, :])[0], shares, rtol=1e-9)


@pytest.mark.parametrize("loss", [losses.Poisson(), losses.Gamma(), losses.Exponential(), losses.Tweedie(1.5)], ids=str)
@pytest.mark.parametrize("F", [-1100.0, -501.0, -500.0, -499.0, 499.0, 500.0, 501.0, 1100.0])
def test_tangent_meets_the_exponential(loss, F):
    """Where the exponent passes 500, value and slope are continuous, and the slope that of the value."""
    y = np.ones(1, dtype=np.uint16 if isinstance(loss, losses.Exponential) else np.float64)
    values = [loss.value(y, np.array([F + d]))[0] for d in (-1e-4, 1e-4)]
    slope = loss.gradient_hessian(y, np.array([F]))[0][0]
    assert (values[1] - values[0]) / 2e-4 == pytest.approx(slope, rel=1e-4, abs=1e-8)


def test_middle_of_the_best_constants():
    """Halves that are further apart than delta: every constant between them is best."""
    assert losses.Huber(delta=1.0).best_constant(np.array([0.0, 10.0])).tolist() == [5.0]
    assert losses.Huber(delta=1.0).best_constant(np.array([0.0, 10.0, 3.0, 3.0, 9.0]), np.array([2.0, 1, 0, 0, 1])) == [
        4.5
    ]
    assert losses.Absolute().best_constant(np.array([0.0, 4.0])).tolist() == [2.0]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_huber_is_exact_at_any_scale(scale):
    y = np.array([0.0, 1.0, 2.0, 50.0]) * scale
    assert losses.Huber(delta=scale).best_constant(y)[0] == pytest.approx(scale * 1.5, rel=1e-14)
    shifted = losses.Huber(delta=scale).best_constant(y + 1e6 * scale)[0] - 1e6 * scale
    assert shifted == pytest.approx(scale * 1.5, rel=1e-8)


@given(
    seed=seeds, n=st.integers(1, 30), q=st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]), weighted=st.booleans()
)
def test_weighted_quantile_has_the_least_pinball_loss(seed, n, q, weighted):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, n).astype(np.float64)
    w = np.append(1.0, rng.integers(0, 3, n - 1)) if weighted else np.ones(n)
    ours = weighted_quantile(values, w if weighted else None, q)
    risks = [float(w @ losses.Quantile(q).value(values, np.full(n, c))) for c in values]
    assert float(w @ losses.Quantile(q).value(values, np.full(n, ours))) <= min(risks) + 1e-12
    best = values[np.array(risks) <= min(risks) + 1e-9]
    best = best[w[np.array(risks) <= min(risks) + 1e-9] > 0]
    assert ours == pytest.approx((best.min() + best.max()) / 2)
    assert ours == pytest.approx(_weighted_percentile(values, w, 100 * q, average=True))
    if not weighted:
        assert ours == pytest.approx(np.quantile(values, q, method="averaged_inverted_cdf"))


@pytest.mark.parametrize("loss", [losses.Squared(), losses.Poisson(), losses.Gamma(), losses.Tweedie(1.3)], ids=str)
@given(seed=seeds, scale=st.sampled_from([1e-9, 1.0, 1e9]))
def test_link_of_the_best_constant_gives_the_mean(loss, seed, scale):
    rng = np.random.default_rng(seed)
    y, w = Case(loss).targets(rng, 50) * scale, rng.exponential(size=50)
    mean = np.average(y, weights=w)
    assert isinstance(loss.link, MeanLink)
    assert_allclose(loss.link.mean(loss.best_constant(y, w)), [mean], rtol=1e-9)
    assert_allclose(loss.link.score(mean), loss.best_constant(y, w)[0], rtol=1e-9, atol=1e-12 * scale)


PEERS: list[tuple[Case, Any]] = [
    (Case(losses.Squared()), peer.HalfSquaredError()),
    (Case(losses.Absolute()), peer.AbsoluteError()),
    (Case(losses.Quantile(0.3)), peer.PinballLoss(quantile=0.3)),
    (Case(losses.Huber(0.7)), peer.HuberLoss(quantile=0.5, delta=0.7)),
    (Case(losses.Poisson()), peer.HalfPoissonLoss()),
    (Case(losses.Gamma()), peer.HalfGammaLoss()),
    (Case(losses.Tweedie(1.1)), peer.HalfTweedieLoss(power=1.1)),
    (Case(losses.Tweedie(1.9)), peer.HalfTweedieLoss(power=1.9)),
    (Case(losses.Logistic(), 2), peer.HalfBinomialLoss()),
    (Case(losses.Logistic(), 4), peer.HalfMultinomialLoss(n_classes=4)),
    (Case(losses.Exponential(), 2), peer.ExponentialLoss()),
]


def named(part: object) -> str:
    return str(part.loss) if isinstance(part, Case) else type(part).__name__


@pytest.mark.parametrize(("case", "theirs"), PEERS, ids=named)
@given(seed=seeds, scale=st.sampled_from([0.3, 3.0]), weighted=st.booleans())
def test_same_as_scikit_learn(case, theirs, seed, scale, weighted):
    rng = np.random.default_rng(seed)
    y, F = case.targets(rng, 30), case.scores(rng, 30, scale)
    w = rng.exponential(size=30) if weighted else None
    target, raw = y.astype(np.float64), np.ascontiguousarray(F.T)
    value = case.loss.value(y, F) * (1.0 if w is None else w)
    assert_allclose(value, theirs.loss(target, raw, w), rtol=1e-9, atol=1e-10)
    gradient, hessian = case.loss.gradient_hessian(y, F, w)
    g, h = theirs.gradient_hessian(target, raw, w)
    assert_allclose(gradient, g.T, rtol=1e-9, atol=1e-12)
    if not theirs.constant_hessian and not isinstance(case.loss, losses.Huber):
        assert_allclose(hessian, h.T, rtol=1e-9, atol=1e-12)
