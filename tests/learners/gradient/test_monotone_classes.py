"""Monotone constraints where each row has several scores: of classes, targets and quantiles."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from tests.gradient_cases import PLAIN, SMALL, answer

Floats = NDArray[np.float64]
P, K = 3, 3
LABELS = np.array(["high", "low", "middle"])
"""Classes in the order of their scores."""


def lines(j: int, X: Floats, seed: int) -> Floats:
    """Rows that differ in column j alone, ``(20, 30, P)``; its first value is missing in none."""
    rng = np.random.default_rng(seed)
    moved = np.repeat(X[rng.integers(0, len(X), 20), None], 30, axis=1)
    moved[:, :, j] = np.linspace(-3, 3, 30)
    return moved


def noisy(n: int, seed: int, missing: bool) -> tuple[Floats, NDArray[Any]]:
    """Three classes along a score that rises and falls with each column."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, P)), 1)
    z = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 0] + 0.5 * rng.normal(size=n)
    y = LABELS[[1, 2, 0]][np.digitize(z, np.quantile(z, [1 / 3, 2 / 3]))]
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def scores(model: Any, moved: Floats) -> Floats:
    """Scores along lines, ``(20, 30, K)``."""
    return answer(model, moved.reshape(-1, P)).reshape(*moved.shape[:2], -1)


@given(
    signs=st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=P, max_size=P), min_size=K, max_size=K),
    seed=st.integers(0, 1_000),
    missing=st.booleans(),
    by_class=st.booleans(),
    params=st.fixed_dictionaries(
        {
            "loss": st.sampled_from(["log_loss", "exponential", "probit", "squared_hinge"]),
            "growth": st.sampled_from(["leaf", "depth"]),
            "leaf_l0": st.sampled_from([0.0, 0.3]),
            "subsample": st.sampled_from([0.7, 1.0]),
            "max_features_tree": st.sampled_from([None, 2]),
            "extra_trees": st.booleans(),
            "early_stopping": st.booleans(),
            "interaction_constraints": st.sampled_from([None, "pairwise"]),
        }
    ),
)
def test_scores_of_classes_follow_their_directions(signs, seed, missing, by_class, params):
    X, y = noisy(150, seed, missing)
    constraints: Any = dict(zip(LABELS.tolist(), signs, strict=True)) if by_class else np.array(signs)
    settings: dict[str, Any] = SMALL | params | {"n_estimators": 5, "learning_rate": 0.5, "random_state": 0}
    model = GradientBoostingClassifier(**settings, monotonic_constraints=constraints).fit(X, y)
    for j in range(P):
        steps = np.diff(scores(model, lines(j, X, seed)), axis=1)
        assert (steps * np.array(signs)[:, j] >= -1e-12).all()


@given(seed=st.integers(0, 1_000), loss=st.sampled_from(["log_loss", "exponential", "probit", "squared_hinge"]))
def test_a_class_rises_where_all_others_fall(seed, loss):
    """p_c = s(F_c) / sum_k s(F_k) with s rising: up where F_c goes up and every other score down, and odds alike."""
    X, y = noisy(200, seed, missing=False)
    constraints = {"high": [1, 0, 0], "low": [-1, 0, 0], "middle": [-1, 0, 0]}
    settings = SMALL | {"n_estimators": 10, "learning_rate": 0.5, "monotonic_constraints": constraints}
    model = GradientBoostingClassifier(loss, **settings).fit(X, y)
    moved = lines(0, X, seed)
    probability = model.predict_proba(moved.reshape(-1, P)).reshape(20, 30, K)
    assert (np.diff(probability[:, :, 0], axis=1) >= -1e-12).all()
    assert np.ptp(probability[:, :, 0]) > 0.1


def test_a_rising_score_alone_does_not_make_a_probability_rise():
    """The others' may rise faster: why the page asks for directions of all classes."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(600, 1))
    y = LABELS[np.where(X[:, 0] < 0, rng.choice([0, 1], 600), np.where(X[:, 0] < 2, 0, 2))]
    X = np.repeat(X, P, axis=1) * [1, 0, 0]
    model = GradientBoostingClassifier(**SMALL | {"n_estimators": 40, "monotonic_constraints": {"high": [1, 0, 0]}})
    moved = lines(0, X, 0)
    probability = model.fit(X, y).predict_proba(moved.reshape(-1, P)).reshape(20, 30, K)[:, :, 0]
    assert (np.diff(scores(model, moved)[:, :, 0], axis=1) >= -1e-12).all()
    assert np.diff(probability, axis=1).min() < -0.1


def test_free_classes_are_as_without_constraints():
    """Scores meet in the loss: the first round's trees of free classes are those of the free model."""
    X, y = noisy(300, 0, missing=False)
    settings = SMALL | {"n_estimators": 1}
    free = GradientBoostingClassifier(**settings).fit(X, y)
    bound = GradientBoostingClassifier(**settings, monotonic_constraints={"low": [-1, 1, 0]}).fit(X, y)
    same = (answer(free, X) == answer(bound, X)).all(axis=0)
    assert same.tolist() == [True, False, True]
    for nothing in ({}, {"low": [0, 0, 0]}, np.zeros((K, P))):
        unbound = GradientBoostingClassifier(**settings, monotonic_constraints=nothing).fit(X, y)
        assert_array_equal(answer(unbound, X), answer(free, X))


def test_ways_to_say_it():
    X, y = noisy(200, 0, missing=False)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    settings = SMALL | {"n_estimators": 3}
    by_array, by_name, by_list, by_number, by_row = (
        GradientBoostingClassifier(**settings, monotonic_constraints=constraints).fit(frame, y)
        for constraints in (
            [[0, 0, 1], [0, 0, 0], [-1, 1, 0]],
            {"middle": {"a": -1, "b": 1}, "high": {"c": 1}},
            {"middle": [-1, 1, 0], "high": {"c": 1}},
            {"middle": {0: -1, np.int64(1): 1}, "high": {2: 1}},
            [{"c": 1}, None, {0: -1, "b": 1}],
        )
    )
    assert_array_equal(answer(by_number, frame), answer(by_array, frame))
    assert_array_equal(answer(by_row, frame), answer(by_array, frame))
    assert_array_equal(answer(by_name, frame), answer(by_array, frame))
    assert_array_equal(answer(by_list, frame), answer(by_array, frame))


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize(
    "constraints", [[1, 0, -1], {"a": 1, "c": -1}, [[1, 0, 0], [0, -1, 1]], [{0: 1}, {"b": -1, 2: 1}]], ids=str
)
def test_targets_with_trees_of_their_own(loss, constraints):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, P)), 1)
    Y = np.column_stack([rng.poisson(np.exp(np.sin(3 * X[:, j]) + 0.3 * X[:, 2])) for j in (0, 1)]).astype(float)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    settings = PLAIN | {"n_estimators": 20, "tree": "per_target", "monotonic_constraints": constraints}
    model = GradientBoostingRegressor(loss, **settings).fit(frame, Y)
    signs = [[1, 0, 0], [0, -1, 1]] if len(constraints) == 2 and isinstance(constraints, list) else [[1, 0, -1]] * 2
    signs = np.array(signs)
    for j in range(P):
        moved = lines(j, X, 0)
        predicted = model.predict(pd.DataFrame(moved.reshape(-1, P), columns=["a", "b", "c"])).reshape(20, 30, 2)
        assert (np.diff(predicted, axis=1) * signs[:, j] >= -1e-12).all()


def test_quantiles_in_order_are_monotone_too():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, P)), 1)
    y = np.sin(3 * X[:, 0]) + (1 + X[:, 1] ** 2) * rng.normal(size=300)
    model = GradientBoostingRegressor(
        "quantile", 20, quantile=[0.2, 0.5, 0.8], tree="per_target", monotonic_constraints=[1, 0, 0], **PLAIN
    ).fit(X, y)
    predicted = model.predict(lines(0, X, 0).reshape(-1, P)).reshape(20, 30, 3)
    assert (np.diff(predicted, axis=1) >= 0).all()
    assert (np.diff(predicted, axis=2) >= 0).all()
    assert np.ptp(predicted[:, :, 1]) > 0.5


@pytest.mark.parametrize(
    ("constraints", "params", "message"),
    [
        (
            [1, 0, 0],
            {},
            r"each of the 3 classes has a score of its own; say it by class, as in {'middle': {column: 1}}",
        ),
        ({"a": 1}, {}, "say it by class"),
        ({"tall": {"a": 1}}, {}, r"key 'tall', which is no class of y; its classes are \['high', 'low', 'middle'\]"),
        ({"high": {"e": 1}}, {}, "names 'e', which is no column of X"),
        ({"high": [1, 0]}, {}, "needs one of -1, 0 and 1 for each of the 3 columns"),
        ([[1, 0, 0]], {}, "has 1 rows; it needs one for each class, 3"),
        ({"high": {"a": 2}}, {}, "has 2 for column 'a'; use -1, 0 or 1"),
        (
            {"high": {"a": 1}},
            {"tree": "shared"},
            "needs a tree for each score, but the 3 of a row share theirs; set tree=",
        ),
    ],
)
def test_what_is_refused(constraints, params, message):
    X, y = noisy(90, 0, missing=False)
    with pytest.raises(ValueError, match=message):
        GradientBoostingClassifier(**SMALL | params, monotonic_constraints=constraints).fit(
            pd.DataFrame(X, columns=["a", "b", "c"]), y
        )


def test_columns_by_number_are_columns_by_name():
    X, y = noisy(200, 0, missing=False)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_name = GradientBoostingClassifier(**SMALL, monotonic_constraints={"c": -1}).fit(frame, y == "high")
    for rows in (frame, X, pd.DataFrame(X)):
        model = GradientBoostingClassifier(**SMALL, monotonic_constraints={2: -1}).fit(rows, y == "high")
        assert_array_equal(answer(model, rows), answer(by_name, frame))


@pytest.mark.parametrize(
    ("constraints", "error", "message"),
    [
        ({3: 1}, ValueError, "monotonic_constraints has column 3; X has columns 0 to 2"),
        ({0.5: 1}, TypeError, "monotonic_constraints has 0.5 of type float for a column; use names or whole numbers"),
        ({"a": 1, 0: 1}, ValueError, "has column 'a' twice, by name and number"),
        ({"a": "up"}, ValueError, "has 'up' for column 'a'; use -1, 0 or 1"),
        ([1, "up", 0], ValueError, "has 'up' for column 'b'; use -1, 0 or 1"),
        ({"agee": 1}, ValueError, "names 'agee', which is no column of X; there are 'a', 'b', 'c'"),
        ({"A ": 1}, ValueError, r"names 'A ', which is no column of X; did you mean 'a'\?$"),
        ({"a": True}, ValueError, "has True for column 'a'; use -1, 0 or 1"),
        (np.array([False, True, False]), ValueError, "has False for column 'a'; use -1, 0 or 1"),
    ],
    ids=str,
)
def test_columns_and_directions_that_are_none(constraints, error, message):
    X, y = noisy(90, 0, missing=False)
    with pytest.raises(error, match=message):
        GradientBoostingClassifier(**SMALL, monotonic_constraints=constraints).fit(
            pd.DataFrame(X, columns=["a", "b", "c"]), y == "high"
        )


@pytest.mark.parametrize(
    "constraints",
    [
        {"monotonic_constraints": {"high": {1: 1}}},
        {"monotonic_constraints": [{1: 1}, {}, {}]},
        {"interaction_constraints": [[1, 2]]},
    ],
    ids=str,
)
def test_numbers_that_are_names_of_other_columns_are_refused(constraints):
    X, y = noisy(90, 0, missing=False)
    frame = pd.DataFrame(X, columns=[2, 1, 0])
    with pytest.raises(ValueError, match=r"have other numbers for names, 2, 1, 0: .* X.columns.astype\(str\)"):
        GradientBoostingClassifier(**SMALL, **constraints).fit(frame, y)


def test_targets_have_no_names():
    X, _ = noisy(90, 0, missing=False)
    with pytest.raises(ValueError, match="numbers of a row have no names; give a list with one dict or row for each"):
        GradientBoostingRegressor(monotonic_constraints={0: {0: 1}, 1: {0: -1}}).fit(X, X[:, :2])


def test_two_classes_have_one_score():
    X, y = noisy(90, 0, missing=False)
    with pytest.raises(ValueError, match="here each row has one score; give one direction for each column"):
        GradientBoostingClassifier(**SMALL, monotonic_constraints={"high": [1, 0, 0]}).fit(X, y == "high")
    for constraints in ([[1, 0, 0]] * 3, {"a": 1}):
        with pytest.raises(ValueError, match="monotonic_constraints"):
            GradientBoostingRegressor(**SMALL, tree="per_target", monotonic_constraints=constraints).fit(
                X, np.column_stack([X[:, 0], X[:, 1]])
            )
