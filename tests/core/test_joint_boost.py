"""Gradient boosting of all classes' scores together: the kernel and NumPy's likelihood against finite differences."""

from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from committee.learners.trees.joint_likelihood import JointLikelihood, leaf_losses
from tests.oracles import joint_boost as oracle

LINKS = ("probit", "logit")
seeds = st.integers(0, 2**31 - 1)
Floats = NDArray[np.float64]


def problem(seed: int, n_classes: int, n: int = 60) -> tuple[Floats, NDArray[np.uint16], Floats]:
    """Columns of other units, overlapping classes that all have rows, and weights."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    y = (Z @ rng.normal(size=(3, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = range(n_classes)
    return Z * [1.0, 10.0, 0.1] + [0.0, 50.0, 1.0], y.astype(np.uint16), rng.exponential(size=n) + 0.05


def boosted(
    D: Floats, y: Any, v: Floats, n_outputs: int, link: Any = "probit", n_steps: int = 8, tol: float = 0.0,
    cap: float = 20.0, start: Any = None, n_threads: int = 1,
) -> tuple[Any, ...]:  # fmt: skip
    n = len(D)
    start = np.array([0, n] if start is None else start)
    return _core.joint_boost(
        D, np.arange(n, dtype=np.int32), start, y, v, n_outputs, link, n_steps, tol, cap, n_threads
    )


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_gradient_and_information_are_those_of_the_likelihood(link, n_classes):
    rng = np.random.default_rng(0)
    F, d = rng.normal(size=(2, 50, 1 if n_classes == 2 else n_classes)) * 2.0
    y = rng.integers(0, n_classes, 50).astype(np.uint16)
    likelihood = JointLikelihood(link)
    assert_allclose(likelihood.log_shares(F), oracle.log_shares(link, F), rtol=1e-12)
    assert_allclose(likelihood.gradient(F, y), oracle.gradient(link, F, y), atol=1e-8)
    assert_allclose(likelihood.information(F, d), oracle.information(link, F, d), atol=1e-7)
    P = np.exp(oracle.log_shares(link, F))
    yes = np.eye(n_classes)[y]
    if n_classes > 2:
        assert_allclose(leaf_losses(link, F, y, joint=True), -np.log(np.where(yes == 1, P, 1 - P)), rtol=1e-9)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@settings(max_examples=4)
@given(seed=seeds)
def test_kernel_is_the_oracle(link, n_classes, seed):
    D, y, v = problem(seed, n_classes)
    K = 1 if n_classes == 2 else n_classes
    intercept, coefficient, scores, path, risk, lines = boosted(D, y, v, K, link, cap=40.0)
    expected = oracle.boost(D, y.astype(int), v, K, link, 8)
    assert_array_equal(path[0], expected.path)
    assert_allclose(scores, expected.scores, atol=1e-7)
    assert_allclose(risk[0].sum(axis=0), expected.risk, rtol=1e-9)
    assert_allclose(D @ coefficient[0].T + intercept[0], scores, atol=1e-8)
    # the steps that lead there, one by one; every class gains by its own
    assert_allclose(lines[0, :, :, 0].sum(axis=1), intercept[0], atol=1e-8)
    for k, j in np.ndindex(coefficient[0].shape):
        assert_allclose(lines[0, k, path[0, k] == j, 1].sum(), coefficient[0, k, j], atol=1e-9)
    assert (np.diff(risk[0], axis=1) <= 0).all()


def test_leaves_one_by_one_threads_and_repeated_rows():
    D, y, v = problem(3, 4, 160)
    y[:40] = 2  # a leaf of one class, and one that lacks two
    y[40:80] = np.where(y[40:80] < 2, 3, y[40:80])
    start = [0, 40, 80, 160]
    together, threads = (boosted(D, y, v, 4, start=start, n_threads=t) for t in (1, 3))
    for one, other in zip(together, threads, strict=True):
        assert_array_equal(one, other)
    for leaf, (a, b) in enumerate(pairwise(start)):
        alone = boosted(D[a:b].copy(), y[a:b].copy(), v[a:b].copy(), 4)
        assert_array_equal(alone[2], together[2][a:b])
        assert_array_equal(alone[4][0], together[4][leaf])
    assert_array_equal(together[2][:40], np.tile([-20.0, -20.0, 20.0, -20.0], (40, 1)))
    assert_array_equal(together[2][40:80, :2], -20.0)
    k = np.random.default_rng(0).integers(1, 4, 160)
    weighed = boosted(D, y, k.astype(float), 4)
    repeated = boosted(np.repeat(D, k, axis=0), np.repeat(y, k), np.ones(k.sum()), 4)
    assert_allclose(repeated[2], np.repeat(weighed[2], k, axis=0), atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_score_passes_the_cap_and_tolerance_ends(n_classes):
    D = np.arange(30.0)[:, None]
    y = (np.arange(30) * n_classes // 30).astype(np.uint16)
    K = 1 if n_classes == 2 else n_classes
    scores, _, risk = boosted(D, y, np.ones(30), K, n_steps=400, cap=6.0)[2:5]
    assert np.abs(scores).max() <= 6.0 + 1e-9
    assert (np.exp(oracle.log_shares("probit", scores)).argmax(axis=1) == y).mean() > 0.9
    assert (np.diff(risk[0].sum(axis=0)) <= 1e-15).all()
    few = boosted(D, y, np.ones(30), K, n_steps=400, tol=0.01)
    falls = -np.diff(few[4][0].sum(axis=0))
    assert 1 < (few[3][0, 0] > -2).sum() < 50 and falls[falls > 0].min() >= 0.01


def test_what_is_refused():
    D, y, v = problem(0, 3)
    for options, said in (
        ({"n_steps": 0}, "n_steps must be positive"),
        ({"cap": np.inf}, "cap must be positive and finite"),
        ({"start": [0, 5]}, "start must run"),
        ({"v": -v}, "weights must be positive"),
    ):
        with pytest.raises(ValueError, match=said):
            boosted(**({"D": D, "y": y, "v": v, "n_outputs": 3} | options))
