"""Newton boosting of linear scores where it is hard: separable, constant, huge and tiny; and what is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

from tests.core.leaf_problems import LINKS, in_user_units, one_leaf, random_table
from tests.oracles import linear_boost as oracle
from tests.oracles.linear_boost import Settings

# --- hard leaves --------------------------------------------------------------------------------------------


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
    """An outlier neither overflows nor stops the other column."""
    X, y = random_table(200, 1)
    far = np.zeros(200)
    far[0] = 1e12
    result = one_leaf(np.column_stack([far, X]), y).boost(Settings(n_steps=50))
    assert np.isfinite(result.scores).all()
    assert result.risk[0, 0, -1] <= one_leaf(X, y).boost(Settings(n_steps=50)).risk[0, 0, -1] + 1e-3


# --- refusals -----------------------------------------------------------------------------------------------


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"D": np.full((6, 2), np.nan)}, "D must be finite"),
    ({"D": np.full((6, 2), np.inf)}, "D must be finite"),
    ({"D": np.zeros((5, 2))}, "one number per row"),
    ({"labels": np.full(6, 2, np.uint16)}, "label is not below the number of classes"),
    ({"labels": np.zeros(5, np.uint16)}, "one number per row"),
    ({"weights": np.zeros(6)}, "weights must be positive"),
    ({"weights": np.full(6, -1.0)}, "weights must be positive"),
    ({"weights": np.full(6, np.nan)}, "weights must be positive"),
    ({"weights": np.full(6, np.inf)}, "weights must be positive"),
    ({"weights": np.ones(7)}, "one number per row"),
    ({"rows": np.array([0, 1, 2, 3, 4, 6], np.int32)}, "outside the table"),
    ({"rows": np.array([0, 1, 2, 3, 4, -1], np.int32)}, "outside the table"),
    ({"start": np.array([0, 5])}, "start must run"),
    ({"start": np.array([1, 6])}, "start must run"),
    ({"start": np.array([0])}, "start must run"),
    ({"start": np.array([], np.int64)}, "start must run"),
    ({"start": np.array([0, 3, 3, 6])}, "a leaf has no rows"),
    ({"start": np.array([0, 9, 3, 6])}, "a leaf has no rows"),
    ({"start": np.array([0, -2, 6])}, "a leaf has no rows"),
    ({"n_outputs": 0}, "n_outputs must be positive"),
    ({"n_outputs": -1}, "n_outputs must be positive"),
]


@pytest.mark.parametrize(("changed", "message"), REFUSALS)
def test_refused_tables(changed, message):
    problem = one_leaf(np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1])
    problem.boost()
    with pytest.raises(ValueError, match=message):
        replace(problem, **changed).boost()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"link": "cauchit"}, "link must be"),
        ({"n_steps": 0}, "n_steps must be positive"),
        ({"n_steps": -3}, "n_steps must be positive"),
        ({"tol": -1e-3}, "tol must not be negative"),
        ({"tol": float("nan")}, "tol must not be negative"),
        ({"cap": 0.0}, "cap must be positive"),
        ({"cap": float("inf")}, "cap must be positive"),
        ({"cap": float("nan")}, "cap must be positive"),
    ],
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
