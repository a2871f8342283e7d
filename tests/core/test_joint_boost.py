"""Gradient boosting of all classes' scores together: the kernel and NumPy's likelihood against finite differences."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.special import ndtr

from committee import _core
from committee.learners.trees.newton_boost import JointLikelihood, leaf_losses
from tests.core.cases import each, refusals
from tests.core.leaf_problems import LINKS, in_user_units, one_leaf, random_table
from tests.oracles import linear_boost as oracle
from tests.oracles.linear_boost import Settings

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
    expected = oracle.joint_boost(D, y.astype(int), v, K, link, 8)
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


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("by_likelihood", [False, True])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -3e8, 1e300, 1.7e308, 5e-324])
def test_constant_columns_have_no_slope(link, by_likelihood, value):
    X, y = random_table(80, 1)
    settings = Settings(link, 15, by_likelihood=by_likelihood)
    result = one_leaf(np.column_stack([np.full(80, value), X]), y).boost(settings)
    assert_array_equal(result.coefficient[0, 0, 0], 0.0)
    assert_allclose(result.scores, one_leaf(X, y).boost(settings).scores, rtol=1e-12)
    alone = one_leaf(np.full(80, value), y).boost(settings)
    assert set(alone.path[0, 0].tolist()) <= {-1, -2} and alone.path[0, 0, 0] == -1
    assert_array_equal(alone.coefficient, 0.0)
    p = ndtr(alone.intercept[0, 0]) if link == "probit" else 1 / (1 + np.exp(-alone.intercept[0, 0]))
    assert p == pytest.approx(y.mean(), abs=1e-9)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("by_likelihood", [False, True])
@pytest.mark.parametrize("cap", [3.0, 20.0])
def test_separable_columns_end_at_the_cap(link, by_likelihood, cap):
    x = np.concatenate([np.linspace(-2.0, -1.0, 20), np.linspace(1.0, 2.0, 30)])
    y = x > 0
    result = one_leaf(x, y).boost(Settings(link, 500, cap=cap, by_likelihood=by_likelihood))
    assert np.abs(result.scores).max() <= cap
    assert_array_equal(result.scores[:, 0] > 0, y)
    assert np.isfinite(result.coefficient).all() and np.isfinite(result.intercept).all()
    assert result.risk[0, 0, -1] < (0.2 if cap == 3.0 else 0.01)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0, 0]])
def test_leaf_of_one_class_is_the_cap(link, labels):
    problem = one_leaf([[1.0, 2.0], [3.0, 4.0], [7.0, 0.0]], labels)
    result = problem.boost(Settings(link, 5, cap=12.0))
    sign = 1.0 if labels[0] else -1.0
    assert_array_equal(result.scores, sign * 12.0)
    assert_array_equal(result.intercept, sign * 12.0)
    assert_array_equal(result.coefficient, 0.0)
    assert_array_equal(result.path, -2)
    loss = oracle.terms(link, np.array([12.0]))[2]
    assert_allclose(result.risk.ravel(), loss[0], rtol=1e-5, atol=1e-15)


def test_absent_class_among_several_is_minus_the_cap():
    X, y = random_table(60, 2)
    result = one_leaf(X, y, n_outputs=3).boost(Settings(cap=9.0))
    assert_array_equal(result.scores[:, 2], -9.0)
    assert np.abs(result.scores[:, :2]).max() < 9.0


def test_leaves_of_few_rows():
    """One row is one class; two rows of two classes are separable."""
    D, labels = np.array([[1.0], [5.0], [5.0]]), np.array([0, 1, 0], dtype=np.uint16)
    for rows in ([0], [0, 1], [1, 2], [0, 0, 1]):
        problem = replace(one_leaf(D, labels), rows=np.array(rows, np.int32), start=np.array([0, len(rows)]))
        for by_likelihood in (False, True):
            result = problem.boost(Settings(n_steps=50, by_likelihood=by_likelihood))
            assert np.isfinite(result.scores).all() and np.abs(result.scores).max() <= 20.0
    assert_allclose(problem.boost().scores.shape, (3, 1))
    tied = replace(one_leaf(D, labels), rows=np.array([1, 2], np.int32), start=np.array([0, 2])).boost()
    assert_allclose(tied.scores, 0.0, atol=1e-12)


def test_no_columns_is_the_share_of_the_classes():
    y = random_table(90, 1)[1]
    result = one_leaf(np.empty((90, 0)), y).boost()
    assert result.coefficient.shape == (1, 1, 0)
    assert ndtr(result.intercept[0, 0]) == pytest.approx(y.mean(), abs=1e-9)


def test_weights_of_very_different_sizes():
    X, y = random_table(100, 3)
    weights = 10.0 ** np.random.default_rng(0).uniform(-140, 140, 100)
    result = one_leaf(X, y, weights).boost(Settings(n_steps=60))
    assert np.isfinite(result.scores).all()
    assert (np.diff(result.risk, axis=2) <= 0.0).all()


@pytest.mark.parametrize("scale", [1e-140, 1e150])
def test_columns_of_extreme_size(scale):
    X, y = random_table(100, 2)
    plain, scaled = one_leaf(X, y).boost(), one_leaf(X * scale, y).boost()
    assert_allclose(scaled.scores, plain.scores, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-200, 1e200, 1e307])
def test_columns_beyond_squares_give_numbers_all_the_same(scale):
    X, y = random_table(100, 2)
    X = np.clip(X, -3, 3)
    problem = one_leaf(np.column_stack([X[:, 0] * scale, X[:, 1]]), y)
    result = problem.boost()
    assert np.isfinite(result.coefficient).all() and np.isfinite(result.intercept).all()
    assert_allclose(in_user_units(problem, result), result.scores, atol=1e-9)


def test_column_with_one_far_row():
    X, y = random_table(200, 1)
    far = np.zeros(200)
    far[0] = 1e12
    result = one_leaf(np.column_stack([far, X]), y).boost(Settings(n_steps=50))
    assert np.isfinite(result.scores).all()
    assert result.risk[0, 0, -1] <= one_leaf(X, y).boost(Settings(n_steps=50)).risk[0, 0, -1] + 1e-3


REFUSALS = {
    "one number per row": each(D=[np.zeros((5, 2))], labels=[np.zeros(5, np.uint16)], weights=[np.ones(7)]),
    "label is not below the number of classes": each(labels=[np.full(6, 2, np.uint16)]),
    "weights must be positive": each(weights=[np.full(6, weight) for weight in (0.0, -1.0, np.nan, np.inf)]),
    "outside the table": each(rows=[np.array([0, 1, 2, 3, 4, row], np.int32) for row in (6, -1)]),
    "start must run": each(start=[np.array(start, np.int64) for start in ([0, 5], [1, 6], [0], [])]),
    "a leaf has no rows": each(start=map(np.array, ([0, 3, 3, 6], [0, 9, 3, 6], [0, -2, 6]))),
    "n_outputs must be positive": each(n_outputs=[0, -1]),
}


@pytest.mark.parametrize(("changed", "message"), refusals(REFUSALS))
def test_refused_tables(changed, message):
    problem = one_leaf(np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1])
    problem.boost()
    with pytest.raises(ValueError, match=message):
        replace(problem, **changed).boost()


@pytest.mark.parametrize(
    ("changed", "message"),
    refusals(
        {
            "link must be": each(link=["cauchit"]),
            "n_steps must be positive": each(n_steps=[0, -3]),
            "tol must not be negative": each(tol=[-1e-3, np.nan]),
            "cap must be positive": each(cap=[0.0, np.inf, np.nan]),
        }
    ),
)
def test_refused_settings(changed, message):
    problem = one_leaf(np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match=message):
        problem.boost(replace(Settings(), **changed))


def test_other_types_are_refused_not_converted():
    problem = one_leaf(np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1])
    for name, other in (("D", np.float32), ("rows", np.int64), ("labels", np.int64), ("weights", np.float32)):
        with pytest.raises(TypeError):
            replace(problem, **{name: getattr(problem, name).astype(other)}).boost()
    with pytest.raises(TypeError):
        replace(problem, D=np.asfortranarray(problem.D)).boost()
