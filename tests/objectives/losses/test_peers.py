"""The losses beside scikit-learn's."""

from typing import Any

import numpy as np
import pytest
import sklearn._loss.loss as peer
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from committee.objectives import losses
from tests.objectives.losses.cases import Case, seeds

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
# theirs of the others is one step, or has other ties; brute force is the judge of ours
SAME_CONSTANT = [
    pair for pair in PEERS if not isinstance(pair[0].loss, losses.Huber | losses.Quantile | losses.Absolute)
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


@pytest.mark.parametrize(("case", "theirs"), SAME_CONSTANT, ids=named)
@given(seed=seeds)
def test_same_constant_as_scikit_learn(case, theirs, seed):
    rng = np.random.default_rng(seed)
    y, w = case.targets(rng, 41), rng.integers(1, 4, 41).astype(np.float64)
    y[: case.n_classes or 0] = np.arange(case.n_classes or 0)
    assert_allclose(case.loss.best_constant(y, w), theirs.fit_intercept_only(y.astype(np.float64), w), rtol=1e-9)
