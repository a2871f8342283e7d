"""Interaction constraints: which columns meet on a path, what that makes of a model, and what is refused."""

from itertools import combinations
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.voters.forest import Forest
from tests.gradient_cases import PLAIN, SMALL, answer, both, data, learner, table

Floats = NDArray[np.float64]
P = 6


def paths(model: Any) -> set[frozenset[int]]:
    """The columns on the way to each leaf of each tree."""
    voters = model.committee_.voters
    forest = voters if isinstance(voters, Forest) else voters.forest
    found: set[frozenset[int]] = set()
    for first, end in zip(forest.offset[:-1].tolist(), forest.offset[1:].tolist(), strict=True):
        above: list[frozenset[int]] = [frozenset()] * (end - first)
        for i in range(end - first):  # children stand after their parent
            feature, left = int(forest.feature[first + i]), int(forest.left[first + i])
            if feature < 0:
                found.add(above[i])
            else:
                above[left] = above[left + 1] = above[i] | {feature}
    return found


def frame(n: int, seed: int, towns: int = 40) -> pd.DataFrame:
    """Four columns of numbers, one of few categories, one of many, which become numbers."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(np.round(rng.normal(size=(n, 4)), 1), columns=list("abcd"))
    X["colour"] = pd.Categorical(rng.choice(["red", "green", "blue"], n))
    X["town"] = pd.Categorical([f"town {k}" for k in rng.integers(0, towns, n)])
    return X.mask(rng.random(X.shape) < 0.05)


def target(X: pd.DataFrame, n_classes: int, seed: int) -> NDArray[Any]:
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
    model: Any = (
        GradientBoostingClassifier(tree=tree, **settings) if n_classes else GradientBoostingRegressor(**settings)
    )
    model.fit(X, y)
    allowed = [*groups, set(range(P)).difference(*groups)]
    assert all(any(path <= group for group in allowed) for path in paths(model))


@pytest.mark.parametrize(("constraints", "most"), [("no_interactions", 1), ("pairwise", 2)])
@pytest.mark.parametrize(("n_classes", "tree"), [(0, "shared"), (2, "shared"), (3, "per_class"), (3, "shared")])
def test_few_columns_meet(constraints, most, n_classes, tree):
    X = frame(400, 0)
    y = target(X, n_classes, 0)
    settings: dict[str, Any] = {"n_estimators": 12, "random_state": 0, "interaction_constraints": constraints}
    free, model = (
        (GradientBoostingClassifier(tree=tree, **each) if n_classes else GradientBoostingRegressor(**each)).fit(X, y)
        for each in (settings | {"interaction_constraints": None}, settings)
    )
    assert max(map(len, paths(model))) == most < max(map(len, paths(free)))
    names = [[name] for name in X] if most == 1 else [list(pair) for pair in combinations(X, 2)]
    listed = type(model)(**(model.get_params() | {"interaction_constraints": names})).fit(X, y)
    assert_array_equal(answer(listed, X), answer(model, X))


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
@both
def test_sparse_tables(kind, make):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, P), density=0.4, rng=rng, data_sampler=lambda size: rng.normal(size=size))
    z = X.toarray() @ np.arange(P) + 3 * X.toarray()[:, 0] * X.toarray()[:, 1] + rng.normal(size=300)
    y = (z > 0).astype(int) if kind == "classes" else z
    for constraints in ([[0, 1], [1, 2, 3]], "no_interactions"):
        for max_features in (None, 0.5):
            model = learner(kind, interaction_constraints=constraints, max_features=max_features)
            sparse, dense = model.fit(make(X), y), learner(**{"kind": kind} | model.get_params()).fit(X.toarray(), y)
            assert_array_equal(answer(sparse, X.toarray()), answer(dense, X.toarray()))
            assert all(len(path) <= 3 for path in paths(sparse))


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


@pytest.mark.parametrize("tree", ["per_class", "shared"])
def test_contributions_are_functions_of_their_column(tree):
    X, y = table(n_classes=3)
    model = GradientBoostingClassifier(
        **SMALL | {"n_estimators": 10, "tree": tree, "interaction_constraints": "no_interactions"}
    ).fit(X, y)
    contributions = model.contributions(X)
    for j in range(X.shape[1]):
        _, first, same = np.unique(X[:, j], return_index=True, return_inverse=True)
        assert_allclose(contributions[:, j], contributions[first[same], j], atol=1e-12)


@both
def test_groups_that_hold_all_columns_limit_nothing(kind):
    X, y = data(kind)
    free = learner(kind).fit(X, y)
    for constraints in ([], [[0, 1, 2, 3]], [[2], [3, 0, 1, 2]], [{0, 1}, ()]):
        limited = learner(kind, interaction_constraints=constraints).fit(X, y)
        assert np.array_equal(answer(limited, X), answer(free, X)) == (constraints != [{0, 1}, ()])


@pytest.mark.parametrize("named", [False, True])
@both
def test_groups_may_be_an_array(kind, named):
    X, y = data(kind)
    X = pd.DataFrame(X, columns=list("abcd")) if named else X
    array = np.array([["a", "b"], ["c", "d"]] if named else [[0, 1], [2, 3]])
    limited, by_list = (learner(kind, interaction_constraints=groups).fit(X, y) for groups in (array, array.tolist()))
    assert_array_equal(answer(limited, X), answer(by_list, X))


@both
def test_columns_in_no_group_are_a_group(kind):
    """As scikit-learn has it."""
    X, _ = data(kind)
    z = 0.2 * X[:, 0] + 2 * (X[:, 1] > 0) * (X[:, 2] > 0)
    y = (z > 0.5).astype(int) if kind == "classes" else z
    rest, all_of_them = (learner(kind, interaction_constraints=c).fit(X, y) for c in ([{0, 3}], ([0, 3], [1, 2])))
    assert_array_equal(answer(rest, X), answer(all_of_them, X))
    assert frozenset({1, 2}) in paths(rest)


def test_the_trees_of_lightgbm_under_the_same_groups():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(3)
    X = rng.integers(0, 60, size=(800, 5)).astype(np.float64)
    y = X[:, 0] / 15 + X[:, 1] * X[:, 2] / 720 + rng.normal(size=800)
    groups = [[0, 1, 3], [1, 2], [3, 4]]
    settings = {"num_leaves": 12, "learning_rate": 0.1, "lambda_l2": 0.0, "min_data_in_leaf": 10, "max_bin": 255}
    settings |= {"min_data_in_bin": 1, "feature_pre_filter": False, "num_threads": 1, "verbosity": -1}
    settings |= {"interaction_constraints": groups}
    peer = lightgbm.train(settings, lightgbm.Dataset(X, y), num_boost_round=10)
    ours = GradientBoostingRegressor(
        n_estimators=10,
        **PLAIN | {"max_leaf_nodes": 12, "leaf_l2": 0.0, "min_samples_leaf": 10},
        interaction_constraints=groups,
    ).fit(X, y)
    assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("constraints", "named", "error", "message"),
    [
        ([["a", "e"]], True, ValueError, "names 'e', which is no column of X; there are 'a', 'b', 'c', 'd'"),
        ([["a"]], False, ValueError, "names 'a', which is no column of X; X is an array without names"),
        ([[0, 4]], True, ValueError, "has column 4; X has columns 0 to 3"),
        ([[-1]], False, ValueError, "has column -1; X has columns 0 to 3"),
        ([[0.5]], False, TypeError, "has 0.5 of type float for a column; use names or whole numbers"),
        (np.array([0, 1]), False, TypeError, r"has 0 where a group of columns belongs; write \[0\]"),
        ([[True]], False, TypeError, "has True of type bool for a column"),
        ([0, 1], False, TypeError, r"has 0 where a group of columns belongs; write \[0\]"),
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
