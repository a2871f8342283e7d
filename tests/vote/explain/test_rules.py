"""Rules of leaves against the walk of the rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from committee import ProbitModelTreeClassifier, SBPMTClassifier
from committee.data.table_schema import TableSchema
from committee.vote.explain.rules import (
    LEAF_COLUMNS,
    Condition,
    coefficient_names,
    leaf_conditions,
    leaf_models,
)
from tests.vote.explain.mixed_table import N, mixed_table, scores


def holds(condition, x):
    missing = np.isnan(x)
    if condition.codes is None:
        inside = (x > condition.low) & (x <= condition.high)
    else:
        inside = np.isin(x, list(condition.codes))
    return np.where(missing, condition.missing, inside)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4))
def test_a_rule_holds_for_the_rows_of_its_leaf_and_no_others(seed, n_classes):
    X, y = mixed_table(seed, n_classes=n_classes)
    model = ProbitModelTreeClassifier(n_leaf_steps=1, min_samples_leaf=5, min_impurity_decrease=0.0).fit(X, y)
    forest, encoded = model.committee_.voters.forest, model.table_.encode(X)
    leaf = forest.apply(encoded)[:, 0]
    conditions = leaf_conditions(forest, 0, model.table_)
    assert sorted(conditions) == sorted(np.flatnonzero(forest.feature < 0))
    for node, asked in conditions.items():
        met = np.ones(N, dtype=bool)
        for condition in asked:
            met &= holds(condition, encoded[:, condition.feature])
        assert_array_equal(met, leaf == node)


TABLE = TableSchema(("w", "colour"), (None, ("blue", "green", "red")))


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition(0, high=0.8, missing=False), "w <= 0.8"),
        (Condition(0, low=0.8), "w > 0.8 (or missing)"),
        (Condition(0, low=0.1, high=0.30000000000000004, missing=False), "0.1 < w <= 0.3"),
        (Condition(0, low=1.0, high=1.0000000001, missing=False), "1.0 < w <= 1.0000000001"),
        (Condition(0, low=np.inf), "w is missing"),
        (Condition(0, low=2.0, high=1.0), "w is missing"),
        (Condition(0, missing=False), "w is not missing"),
        (Condition(0), ""),
        (Condition(1, codes=frozenset({2})), "colour = red (or missing)"),
        (Condition(1, codes=frozenset({0, 2}), missing=False), "colour in {blue, red}"),
        (Condition(1, codes=frozenset()), "colour is missing"),
        (Condition(1, codes=frozenset({0, 1, 2}), missing=False), "colour is not missing"),
        (Condition(1, codes=frozenset({0, 1, 2})), ""),
    ],
)
def test_conditions_in_words(condition, words):
    assert condition.words(TABLE) == words


def test_missing_values_are_told_only_where_there_were_some():
    assert Condition(0, low=0.8).words(TABLE, say_missing=False) == "w > 0.8"
    X, y = mixed_table(6)
    rules = ProbitModelTreeClassifier(min_impurity_decrease=0.0).fit(X, y).leaf_models_["rule"].to_list()
    assert any("(or missing)" in rule for rule in rules)
    assert not any("flag" in part and "missing" in part for rule in rules for part in rule.split(" and "))


def test_long_lists_of_categories_name_the_fewer():
    table = TableSchema(("c",), (tuple(f"k{i:02}" for i in range(40)),))
    assert Condition(0, codes=frozenset(range(38)), missing=False).words(table) == "c not in {k38, k39}"
    assert Condition(0, codes=frozenset(range(40)), missing=False).words(table) == "c is not missing"
    assert Condition(0, codes=frozenset({3, 39}), missing=False).words(table) == "c in {k03, k39}"


@pytest.mark.parametrize("tree", ["shared", "per_class"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaf_models_give_the_scores(tree, n_classes):
    X, y = mixed_table(7, n_classes=n_classes)
    model = ProbitModelTreeClassifier(tree=tree, min_impurity_decrease=0.001).fit(X, y)
    frame, voters = model.leaf_models_, model.committee_.voters
    encoded = model.table_.encode(X)
    D, leaf, F = voters.design.matrix(encoded), voters.forest.apply(encoded), scores(model, X)
    names = coefficient_names(voters.design.names(model.table_))
    assert frame.columns == ["tree", "leaf", "rule", "rows", "class", "intercept", *names, "age if missing"]
    assert_allclose(frame["age if missing"].unique(), np.nanmean(encoded[:, 0]))
    assert "colour = red" in names and "age missing" in names and "flag = yes" in names
    table = {(r["tree"], r["leaf"], r["class"]): r for r in frame.iter_rows(named=True)}
    assert len(table) == len(frame)
    for i in range(0, N, 7):
        for k, label in enumerate(model.classes_ if n_classes > 2 else model.classes_[1:]):
            t = k if voters.trees_per_voter > 1 else 0
            row = table[t, int(leaf[i, t]), label]
            assert np.isclose(row["intercept"] + D[i] @ [row[name] for name in names], F[i, k], rtol=1e-9, atol=1e-9)
    one = frame.filter((pl.col("tree") == 0) & (pl.col("class") == frame["class"][0]))
    assert one["rows"].sum() == N


@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_leaf_models_of_committees_say_which(tree):
    X, y = load_iris(return_X_y=True)
    model = SBPMTClassifier(4, 3, 10, tree=tree, random_state=0).fit(X, y)
    frame, voters = model.leaf_models_, model.committee_.voters
    per_voter = 3 if tree == "per_class" else 1
    assert frame["committee"].unique().to_list() == [0, 1, 2, 3]
    for m in range(4):
        own = frame.filter(pl.col("committee") == m)
        n_trees = int(np.diff(voters.start)[m])
        assert own["tree"].unique().sort().to_list() == list(range(n_trees * per_voter))
        for t in range(n_trees):
            alpha = own.filter(pl.col("tree") == t * per_voter)["alpha"]
            assert (alpha == voters.alpha[voters.start[m] + t]).all()
    # trees of all committees counted through
    changed = frame.select((pl.struct("committee", "tree") != pl.struct("committee", "tree").shift()).fill_null(False))
    second = frame.filter(changed.to_series().cum_sum() == 1)
    assert leaf_models(voters, model.classes_, model.table_, [1]).equals(second)
    with pytest.raises(IndexError):
        leaf_models(voters, model.classes_, model.table_, [10_000])


def test_a_column_may_be_named_as_the_table_is():
    rng = np.random.default_rng(0)
    X = pl.DataFrame({name: rng.normal(size=100) for name in LEAF_COLUMNS})
    model = ProbitModelTreeClassifier().fit(X, rng.integers(0, 2, 100))
    assert set(model.leaf_models_.columns) >= {"rows", "coefficient of rows", "class", "coefficient of class"}
