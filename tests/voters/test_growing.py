"""Choice between the two growers of class trees: both grow the same trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from committee import AdaBoostClassifier, SubaggingClassifier, TreeVoter, _core, scan
from committee.data.bins import Binned
from committee.data.table_schema import TableSchema
from committee.learners.trees import tree
from committee.voters.flat_trees import FEW_CLASSES, ClassShares
from committee.voters.forest import Forest
from committee.voters.growing import (
    GrowthLimits,
    class_shares,
    class_tree_grower,
    class_votes,
    leaf_labels,
    majority_class,
    node_weights,
    tree_grower,
)
from tests.core.cases import Case, cases, limits_for
from tests.oracles.grow import Limits

N = 240
RNG = np.random.default_rng(0)
WEIGHTS = {
    "none": None,
    "whole": RNG.integers(1, 4, N).astype(float),
    "real": RNG.exponential(size=N),
    "some zero": RNG.exponential(size=N) * (np.arange(N) >= 20),  # a row or more of each class is left
    "far apart": np.exp(8.0 * RNG.normal(size=N)),
}


def labels(n_classes: int) -> Any:
    return np.arange(N) % n_classes


def numbers(y: Any, missing: float = 0.1) -> Any:
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(y.max() + 1, 4))[y] + rng.normal(size=(N, 4)), 1)
    return np.where(rng.random(X.shape) < missing, np.nan, X)


def categories(y: Any) -> Any:
    X, code = numbers(y), np.random.default_rng(2).integers(0, 3, (N, 2)) + 4 * y[:, None]
    names = [pl.Series(f"name {j}", [None if c % 13 == 12 else f"c{c % 13}" for c in code[:, j]]) for j in (0, 1)]
    return pl.DataFrame([*names, pl.Series("a", X[:, 0]), pl.Series("b", X[:, 1])])


def sparse(y: Any) -> Any:
    return sp.csr_array(np.maximum(numbers(y, missing=0.0), 0.0))


def out_of_core(y: Any) -> Any:
    X = numbers(y)
    return scan([(X[:100], y[:100]), (X[100:], y[100:])])


def assert_same_without_deep_trees(learner: Any, monkeypatch: pytest.MonkeyPatch, *rows: Any, ask: Any) -> None:
    made: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(tree, "class_tree_grower", lambda *given: made.append(class_tree_grower(*given)) or made[-1])
        ours = learner.fit(*rows)
        answers, voters, shrinkage = ours.predict_proba(ask), ours.committee_.voters, getattr(ours, "shrinkage_", None)
        assert {type(one) for one in made} == {_core.DeepGrower}
        patch.setattr(tree, "class_tree_grower", tree_grower)
        dense = learner.fit(*rows)
    assert dense.predict_proba(ask).tobytes() == answers.tobytes()
    assert getattr(dense, "shrinkage_", None) == shrinkage
    if isinstance(voters, Forest):
        for name in ("feature", "threshold", "left", "missing_left", "category_bits", "gain", "weight", "count"):
            assert_array_equal(getattr(voters, name), getattr(dense.committee_.voters, name), err_msg=name)
        assert_array_equal(voters.node_votes, dense.committee_.voters.node_votes)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("n_classes", [2, 3, 9, 80])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("table", [numbers, categories, sparse], ids=lambda table: table.__name__)
def test_tables_and_weights(n_classes, weights, criterion, table, monkeypatch):
    y = labels(n_classes)
    X = table(y)
    for calibrate in ("auto", None):
        learner = TreeVoter(criterion=criterion, calibrate=calibrate, random_state=0)
        assert_same_without_deep_trees(learner, monkeypatch, X, y, WEIGHTS[weights], ask=X)


SETTINGS: list[dict[str, Any]] = [
    {"max_depth": 6},
    {"max_depth": 9, "min_samples_leaf": 2},
    {"min_samples_leaf": 3},
    {"min_weight_leaf": 0.0123},
    {"min_impurity_decrease": 0.00123},
    {"min_impurity_decrease": -np.inf},
    {"max_features": 1},
    {"max_features": "sqrt", "feature_weights": [0.0, 1.0, 2.0, 5.0]},
    {"max_bins": 5},
    {"max_bins": 300},
    {"class_weight": "balanced"},
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("n_classes", [3, 40])
def test_settings(settings, n_classes, monkeypatch):
    y = labels(n_classes)
    X = categories(y) if settings.get("max_bins") != 5 else numbers(y)
    assert_same_without_deep_trees(TreeVoter(random_state=0, **settings), monkeypatch, X, y, WEIGHTS["real"], ask=X)


@pytest.mark.parametrize("n_classes", [2, 5, 40])
@pytest.mark.parametrize(
    "learner",
    [
        SubaggingClassifier(n_estimators=5, random_state=0, calibrate=None),
        SubaggingClassifier(TreeVoter(criterion="entropy"), 5, voting="soft", random_state=0, calibrate=None),
        SubaggingClassifier(TreeVoter(class_weight="balanced"), 5, bootstrap=True, random_state=0, calibrate=None),
        AdaBoostClassifier(3, voter=TreeVoter(min_samples_leaf=2), random_state=0, calibrate=None),
    ],
    ids=repr,
)
def test_voters_of_other_learners(learner, n_classes, monkeypatch):
    y = labels(n_classes)
    X = numbers(y, missing=0.0)
    assert_same_without_deep_trees(learner, monkeypatch, X, y, WEIGHTS["whole"], ask=X)


def test_rows_in_chunks(monkeypatch):
    y = labels(40)
    assert_same_without_deep_trees(TreeVoter(random_state=0), monkeypatch, out_of_core(y), ask=numbers(y))


@pytest.mark.parametrize(
    ("n_classes", "limits", "deep"),
    [
        (2, {}, True),
        (400, {}, True),
        (2, {"max_leaf_nodes": 1000}, False),
        (400, {"max_leaf_nodes": 8}, False),
        (2, {"max_depth": 6}, False),
        (2, {"min_samples_leaf": 20}, False),
        (400, {"max_depth": 6}, True),
        (400, {"max_depth": 10_000, "min_samples_leaf": 20}, True),
        (12, {"max_depth": 3}, False),
    ],
)
def test_trees_of_many_leaves_and_classes_are_grown_deep(n_classes, limits, deep):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    binned = Binned.of(X, None, TableSchema(None, (None,) * 2), 255)
    grower = class_tree_grower(binned, "gini", n_classes, GrowthLimits(**limits), 1)
    assert isinstance(grower, _core.DeepGrower) == deep


@st.composite
def grown(draw: st.DrawFn) -> tuple[Case, Limits]:
    case = draw(cases(kinds=("gini", "entropy")))
    case = replace(case, n_classes=case.n_classes + draw(st.sampled_from([0, 1, FEW_CLASSES])))
    return case, replace(limits_for(case, draw), max_leaf_nodes=0)


@given(grown())
def test_votes_of_leaves_by_the_classes_present(table):
    case, limits = table
    deep, dense = case.grow_with(case.deep_grower(limits)), case.grow(limits)
    assert node_weights(deep).tobytes() == dense.sums.sum(axis=1).tobytes()
    assert_array_equal(leaf_labels(deep), np.where(dense.feature < 0, majority_class(dense.sums), -1))
    assert_array_equal(class_votes(deep, hard=True)["label"], class_votes(dense, hard=True)["label"])
    votes, expected, leaf = class_votes(deep, hard=False), class_shares(dense), dense.feature < 0
    assert ("shares" in votes) == (case.n_classes > FEW_CLASSES)
    if "shares" in votes:
        assert_array_equal(votes["shares"].dense(), ClassShares.of_dense(expected, leaf).dense())
    else:
        assert_array_equal(votes["value"][0], expected)


@pytest.mark.parametrize("cells", [1, 50_000])
def test_strengths_of_shrinkage_are_tried_some_at_a_time(cells, monkeypatch):
    y = labels(20)
    X, calls = numbers(y), []
    usual = TreeVoter(random_state=0).fit(X, y, WEIGHTS["real"])
    monkeypatch.setattr(tree, "CELLS", cells)
    monkeypatch.setattr(tree, "_shrunk", lambda *given, real=tree._shrunk: calls.append(len(given[2])) or real(*given))
    few = TreeVoter(random_state=0).fit(X, y, WEIGHTS["real"])
    assert 2 <= max(calls[:-1]) < len(tree.STRENGTHS)
    assert few.shrinkage_ == usual.shrinkage_
    assert few.predict_proba(X).tobytes() == usual.predict_proba(X).tobytes()


def test_a_tree_without_shrinkage_holds_the_classes_present(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(400, 5)), np.arange(400)
    model = TreeVoter().fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.committee_.voters.nbytes < 75 * model.committee_.n_nodes
