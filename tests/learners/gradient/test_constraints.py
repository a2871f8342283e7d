"""Interaction constraints, by the columns that meet on a path, and monotone ones, along columns; what is refused."""

from functools import partial
from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.objectives.losses import Huber
from committee.voters.forest import Forest
from tests.gradient_cases import PLAIN, SMALL, answer, both, data, learner, seeds

P = 6


def paths(model):
    voters = model.committee_.voters
    forest = voters if isinstance(voters, Forest) else voters.forest
    found = set()
    for first, end in zip(forest.offset[:-1].tolist(), forest.offset[1:].tolist(), strict=True):
        above = [frozenset()] * (end - first)
        for i in range(end - first):  # children stand after their parent
            feature, left = int(forest.feature[first + i]), int(forest.left[first + i])
            if feature < 0:
                found.add(above[i])
            else:
                above[left] = above[left + 1] = above[i] | {feature}
    return found


def frame(n, seed, towns=40):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(np.round(rng.normal(size=(n, 4)), 1), columns=list("abcd"))
    X["colour"] = pd.Categorical(rng.choice(["red", "green", "blue"], n))
    X["town"] = pd.Categorical([f"town {k}" for k in rng.integers(0, towns, n)])
    return X.mask(rng.random(X.shape) < 0.05)


def target(X, n_classes, seed):
    noise = np.random.default_rng(seed).normal(size=len(X))
    town = X["town"].str.slice(5).fillna("0").astype(int) % 3
    z = (
        X["a"].fillna(1) * X["b"].fillna(0)
        + X["c"].fillna(0) * town
        + (X["colour"] == "red") * X["d"].fillna(1)
        + noise
    )
    return np.digitize(z, np.quantile(z, np.arange(1, n_classes) / n_classes)) if n_classes else z.to_numpy()


groups_of_columns = st.lists(st.sets(st.integers(0, P - 1), min_size=1, max_size=4), max_size=4)


@given(
    groups=groups_of_columns,
    seed=st.integers(0, 1_000),
    n_classes=st.sampled_from([0, 2, 3]),
    params=st.fixed_dictionaries(
        {
            "growth": st.sampled_from(["leaf", "depth"]),
            "max_features": st.sampled_from([None, 0.5, 2]),
            "max_features_tree": st.sampled_from([None, 4]),
            "tree": st.sampled_from(["per_class", "shared"]),
            "named": st.booleans(),
        }
    ),
)
def test_the_columns_of_a_path_share_a_group(groups, seed, n_classes, params):
    X = frame(150, seed)
    y = target(X, n_classes, seed)
    named, tree = params.pop("named"), params.pop("tree")
    given_groups = [[X.columns[j] for j in group] if named else sorted(group) for group in groups]
    settings = SMALL | params | {"n_estimators": 4, "random_state": seed, "interaction_constraints": given_groups}
    model = GradientBoostingClassifier(tree=tree, **settings) if n_classes else GradientBoostingRegressor(**settings)
    model.fit(X, y)
    allowed = [*groups, set(range(P)).difference(*groups)]
    assert all(any(path <= group for group in allowed) for path in paths(model))


@pytest.mark.parametrize(("constraints", "most"), [("no_interactions", 1), ("pairwise", 2)])
@pytest.mark.parametrize(("n_classes", "tree"), [(0, "shared"), (2, "shared"), (3, "per_class"), (3, "shared")])
def test_few_columns_meet(constraints, most, n_classes, tree):
    X = frame(400, 0)
    y = target(X, n_classes, 0)
    settings = {"n_estimators": 12, "random_state": 0, "interaction_constraints": constraints}
    free, model = (
        (GradientBoostingClassifier(tree=tree, **each) if n_classes else GradientBoostingRegressor(**each)).fit(X, y)
        for each in (settings | {"interaction_constraints": None}, settings)
    )
    assert max(map(len, paths(model))) == most < max(map(len, paths(free)))
    names = [[name] for name in X] if most == 1 else [list(pair) for pair in combinations(X, 2)]
    listed = type(model)(**(model.get_params() | {"interaction_constraints": names})).fit(X, y)
    assert_array_equal(answer(listed, X), answer(model, X))


@both
def test_without_interactions_a_model_is_a_sum_over_columns(kind):
    """f(x) = f(o) + sum over j of f(o with x_j) - f(o), at any point o."""
    X, y = data(kind)
    model = learner(kind, n_estimators=30, interaction_constraints="no_interactions").fit(X, y)
    origin = X[0]
    total = answer(model, X) - answer(model, origin[None])
    for j in range(X.shape[1]):
        alone = np.tile(origin, (len(X), 1))
        alone[:, j] = X[:, j]
        total = total - (answer(model, alone) - answer(model, origin[None]))
    assert_allclose(total, 0.0, atol=1e-12)
    assert np.ptp(answer(model, X)) > 0.5


@both
def test_groups_that_hold_all_columns_limit_nothing(kind):
    X, y = data(kind)
    free, few = learner(kind).fit(X, y), [{0, 1}, ()]
    for constraints in ([], [[0, 1, 2, 3]], np.array([[2, 3, 0, 1]]), [[2], [3, 0, 1, 2]], few):
        limited = learner(kind, interaction_constraints=constraints).fit(X, y)
        assert np.array_equal(answer(limited, X), answer(free, X)) == (constraints is not few)


@both
def test_columns_in_no_group_are_a_group(kind):
    X, _ = data(kind)
    z = 0.2 * X[:, 0] + 2 * (X[:, 1] > 0) * (X[:, 2] > 0)
    y = (z > 0.5).astype(int) if kind == "classes" else z
    rest, all_of_them = (learner(kind, interaction_constraints=c).fit(X, y) for c in ([{0, 3}], ([0, 3], [1, 2])))
    assert_array_equal(answer(rest, X), answer(all_of_them, X))
    assert frozenset({1, 2}) in paths(rest)


@pytest.mark.parametrize(
    ("constraints", "named", "error", "message"),
    [
        ([["a", "e"]], True, ValueError, "names 'e', which is not a column of X; there are 'a', 'b', 'c', 'd'"),
        ([[-1]], False, ValueError, "has column -1; X has columns 0 to 3"),
        ([[0.5]], False, TypeError, "has 0.5 of type float for a column; use names or whole numbers"),
        (np.array([0, 1]), False, TypeError, r"has 0 where a group of columns belongs; write \[0\]"),
        (["ab"], True, TypeError, r"has 'ab' where a group of columns belongs; write \['ab'\]"),
        ("pairs", False, ValueError, "interaction_constraints"),
    ],
)
@both
def test_what_is_refused(kind, constraints, named, error, message):
    X, y = data(kind, n=40)
    rows = pd.DataFrame(X, columns=list("abcd")) if named else X
    with pytest.raises(error, match=message):
        learner(kind, interaction_constraints=constraints).fit(rows, y)


N_COLUMNS, K = 3, 3
LABELS = np.array(["high", "low", "middle"])
"""Classes in the order of their scores."""


def along(predict, j, X, seed=0):
    """Predictions at 20 rows of X moved along column j, ``(20, 30)`` or ``(20, 30, K)``."""
    rng = np.random.default_rng(seed)
    moved = np.repeat(X[rng.integers(0, len(X), 20), None], 30, axis=1)
    moved[:, :, j] = np.linspace(-3, 3, 30)
    predicted = predict(moved.reshape(-1, N_COLUMNS))
    return predicted.reshape(20, 30, *predicted.shape[1:])


def noisy(n, seed, missing):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, N_COLUMNS)), 1)
    z = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 0] + 0.5 * rng.normal(size=n)
    y = LABELS[[1, 2, 0]][np.digitize(z, np.quantile(z, [1 / 3, 2 / 3]))]
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@given(
    signs=st.lists(
        st.lists(st.sampled_from([-1, 0, 1]), min_size=N_COLUMNS, max_size=N_COLUMNS), min_size=K, max_size=K
    ),
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
    constraints = dict(zip(LABELS.tolist(), signs, strict=True)) if by_class else np.array(signs)
    settings = SMALL | params | {"n_estimators": 5, "learning_rate": 0.5, "random_state": 0}
    model = GradientBoostingClassifier(**settings, monotonic_constraints=constraints).fit(X, y)
    for j in range(N_COLUMNS):
        steps = np.diff(along(partial(answer, model), j, X, seed), axis=1)
        assert (steps * np.array(signs)[:, j] >= -1e-12).all()


@given(
    seed=st.integers(0, 1_000),
    loss=st.sampled_from(["log_loss", "exponential", "probit", "squared_hinge"]),
    n_classes=st.sampled_from([2, 3]),
)
def test_a_class_rises_where_all_others_fall(seed, loss, n_classes):
    """p_c = s(F_c) / sum_k s(F_k) with s rising: up where F_c goes up and every other score down, and odds alike."""
    X, y = noisy(200, seed, missing=False)
    constraints = {"high": [1, 0, 0], "low": [-1, 0, 0], "middle": [-1, 0, 0]}
    if n_classes == 2:  # one score, of the second class
        y, constraints = y == "high", [1, 0, 0]
    settings = SMALL | {"n_estimators": 10, "learning_rate": 0.5, "monotonic_constraints": constraints}
    model = GradientBoostingClassifier(loss=loss, **settings).fit(X, y)
    probability = along(model.predict_proba, 0, X, seed)[:, :, 0 if n_classes == 3 else 1]
    assert (np.diff(probability, axis=1) >= -1e-12).all()
    assert np.ptp(probability) > 0.1


def test_a_rising_score_alone_does_not_make_a_probability_rise():
    """The others' may rise faster: why the page asks for directions of all classes."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(600, 1))
    y = LABELS[np.where(X[:, 0] < 0, rng.choice([0, 1], 600), np.where(X[:, 0] < 2, 0, 2))]
    X = np.repeat(X, N_COLUMNS, axis=1) * [1, 0, 0]
    model = GradientBoostingClassifier(**SMALL | {"n_estimators": 40, "monotonic_constraints": {"high": [1, 0, 0]}})
    score, probability = (along(f, 0, X)[:, :, 0] for f in (partial(answer, model.fit(X, y)), model.predict_proba))
    assert (np.diff(score, axis=1) >= -1e-12).all()
    assert np.diff(probability, axis=1).min() < -0.1


def test_free_classes_are_as_without_constraints():
    """Scores meet in the loss: the first round's trees of free classes are those of the free model."""
    X, y = noisy(300, 0, missing=False)
    settings = SMALL | {"n_estimators": 1}
    free = GradientBoostingClassifier(**settings).fit(X, y)
    bound = GradientBoostingClassifier(**settings, monotonic_constraints={"low": [-1, 1, 0]}).fit(X, y)
    same = (answer(free, X) == answer(bound, X)).all(axis=0)
    assert same.tolist() == [True, False, True]
    for nothing in ({}, {"low": [0, 0, 0]}, np.zeros((K, N_COLUMNS))):
        unbound = GradientBoostingClassifier(**settings, monotonic_constraints=nothing).fit(X, y)
        assert_array_equal(answer(unbound, X), answer(free, X))


def test_ways_to_say_it():
    X, y = noisy(200, 0, missing=False)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    first, *others = (
        answer(GradientBoostingClassifier(**SMALL, n_estimators=3, monotonic_constraints=each).fit(rows, y), rows)
        for rows, each in (
            (frame, [[0, 0, 1], [0, 0, 0], [-1, 1, 0]]),
            (frame, {"middle": {"a": -1, "b": 1}, "high": {"c": 1}}),
            (frame, {"middle": [-1, 1, 0], "high": {"c": 1}}),
            (frame, [{"c": 1}, None, {0: -1, "b": 1}]),
            (X, {"middle": {0: -1, np.int64(1): 1}, "high": {2: 1}}),
        )
    )
    for other in others:
        assert_array_equal(other, first)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", Huber(50.0)], ids=str)
@pytest.mark.parametrize(
    "constraints", [[1, 0, -1], {"a": 1, "c": -1}, [[1, 0, 0], [0, -1, 1]], [{0: 1}, {"b": -1, 2: 1}]], ids=str
)
def test_targets_with_trees_of_their_own_in_any_units(loss, constraints):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, N_COLUMNS)), 1)
    Y = np.column_stack([rng.poisson(np.exp(np.sin(3 * X[:, j]) + 0.3 * X[:, 2])) for j in (0, 1)]) * [0.01, 100.0]
    settings = PLAIN | {"n_estimators": 20, "tree": "per_target", "monotonic_constraints": constraints}
    names = ["a", "b", "c"]
    model = GradientBoostingRegressor(loss=loss, **settings).fit(pd.DataFrame(X, columns=names), Y)
    signs = [[1, 0, 0], [0, -1, 1]] if len(constraints) == 2 and isinstance(constraints, list) else [[1, 0, -1]] * 2
    for j in range(N_COLUMNS):
        predicted = along(lambda rows: model.predict(pd.DataFrame(rows, columns=names)), j, X)
        assert (np.diff(predicted, axis=1) * np.array(signs)[:, j] >= -1e-12).all()
        assert (np.ptp(predicted, axis=1) > 0.0).any()


@settings(max_examples=20)
@given(
    seeds,
    st.sampled_from(["squared_error", "absolute_error", "quantile", "huber"]),
    st.sampled_from([(1, 0, 0), (-1, 1, 0), (1, -1, 1)]),
    st.sampled_from([0.0, 1.0]),
    st.booleans(),
)
def test_numbers_follow_their_directions(seed, loss, directions, penalty, missing):
    rng = np.random.default_rng(seed)
    X, y = np.round(rng.normal(size=(120, N_COLUMNS)), 1), rng.normal(size=120) * 2  # nothing in the data asks for it
    y += X[:, 0] * rng.choice([-2, 0, 2])
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    limits = {"max_leaf_nodes": 8, "min_samples_leaf": 2, "leaf_l0": penalty, "leaf_l1": penalty, "learning_rate": 0.3}
    model = GradientBoostingRegressor(8, loss=loss, quantile=0.3, **SMALL | limits, monotonic_constraints=directions)
    model.fit(X, y)
    for j, direction in enumerate(directions):
        assert (direction * np.diff(along(model.predict, j, X, seed), axis=1) >= -1e-12).all()


def test_categories_have_no_direction():
    X, y = noisy(90, 0, missing=False)
    for categories in (X[:, 1] > 0, np.arange(90) // 2):  # subsets of few, target statistics of many
        with pytest.raises(ValueError, match="column 'b', whose categories have no order"):
            model = GradientBoostingClassifier(monotonic_constraints={"b": 1})
            model.fit(pd.DataFrame({"b": pd.Categorical(categories)}), y == "high")


def test_quantiles_in_order_are_monotone_too():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, N_COLUMNS)), 1)
    y = np.sin(3 * X[:, 0]) + (1 + X[:, 1] ** 2) * rng.normal(size=300)
    model = GradientBoostingRegressor(
        20, loss="quantile", quantile=[0.2, 0.5, 0.8], tree="per_target", monotonic_constraints=[1, 0, 0], **PLAIN
    ).fit(X, y)
    predicted = along(model.predict, 0, X)
    assert (np.diff(predicted, axis=1) >= 0).all()
    assert (np.diff(predicted, axis=2) >= 0).all()
    assert np.ptp(predicted[:, :, 1]) > 0.5


IN_COLUMNS = [
    ({3: 1}, ValueError, "monotonic_constraints has column 3; X has columns 0 to 2"),
    ({"a": 1, 0: 1}, ValueError, "has column 'a' twice, by name and number"),
    ([1, "up", 0], ValueError, "has 'up' for column 'b'; use -1, 0 or 1"),
    ([1, 0], ValueError, "give one of -1, 0 and 1 for each of the 3 columns"),
    ({"A ": 1}, ValueError, r"names 'A ', which is not a column of X; did you mean 'a'\?$"),
    ({"a": True}, ValueError, "has True for column 'a'; use -1, 0 or 1"),
    (np.array([False, True, False]), ValueError, "has False for column 'a'; use -1, 0 or 1"),
    ({"high": [1, 0, 0]}, ValueError, "here each row has one; give one direction for each column"),
]
IN_CLASSES = [
    ([1, 0, 0], "each of the 3 classes has a score of its own; give it by class, as in {'middle': {column: 1}}"),
    ({"a": 1}, "give it by class"),
    ({"tall": {"a": 1}}, r"key 'tall', which is not a class of y; its classes are \['high', 'low', 'middle'\]"),
    ([[1, 0, 0]], "has 1 rows; it needs one for each class, 3"),
]
IN_TARGETS = [
    ({0: {0: 1}, 1: {0: -1}}, "numbers of a row have no names; give a list with one dict or row for each"),
    ([[1, 0, 0]] * 3, "monotonic_constraints has 3 rows; it needs one for each predicted number, 2"),
]


@pytest.mark.parametrize(
    ("model", "kind", "constraints", "error", "message"),
    [
        *((GradientBoostingClassifier(**SMALL), "two classes", *case) for case in IN_COLUMNS),
        *((GradientBoostingClassifier(**SMALL), "classes", each, ValueError, words) for each, words in IN_CLASSES),
        *((GradientBoostingRegressor(**SMALL), "targets", each, ValueError, words) for each, words in IN_TARGETS),
        (
            *(GradientBoostingClassifier(tree="shared"), "classes", {"high": {"a": 1}}, ValueError),
            "needs a tree for each score, but the 3 of a row share theirs; set tree='per_class'",
        ),
        (
            *(GradientBoostingRegressor(loss="quantile", quantile=[0.2, 0.8]), "numbers", [1, 0, 0], ValueError),
            "needs a tree for each score, but the 2 of a row share theirs; set tree='per_target'",
        ),
    ],
)
def test_refused_monotone_constraints(model, kind, constraints, error, message):
    X, y = noisy(90, 0, missing=False)
    frame = X if kind == "targets" else pd.DataFrame(X, columns=["a", "b", "c"])
    y = {"two classes": y == "high", "classes": y, "targets": X[:, :2], "numbers": X[:, 0]}[kind]
    with pytest.raises(error, match=message):
        clone(model).set_params(monotonic_constraints=constraints).fit(frame, y)


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
