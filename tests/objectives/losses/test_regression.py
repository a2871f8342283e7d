"""Losses of numbers: tangents of the exponential, the middle of best constants, weighted quantiles, means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.utils.stats import _weighted_percentile

from committee.objectives import losses
from committee.objectives.losses.regression import weighted_quantile
from committee.vote.links.mean import MeanLink
from tests.objectives.losses.cases import Case, seeds


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
    seed=seeds,
    n=st.integers(1, 30),
    q=st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]),
    weighted=st.booleans(),
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
