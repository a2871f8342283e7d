"""Rules of leaves against the walk of the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from committee import ProbitModelTreeClassifier
from committee.data.frames import TableSchema
from committee.vote.explain.rules import Condition, leaf_conditions, leaf_rules
from tests.vote.explain.mixed_table import N, mixed_table


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
        np.testing.assert_array_equal(met, leaf == node)


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


def test_rules_of_a_plain_forest():
    from committee import TreeVoter

    X, y = load_iris(return_X_y=True)
    tree = TreeVoter(max_depth=2).fit(X, y)
    rules = leaf_rules(tree.committee_.voters, 0, tree.table_)
    assert len(rules) == int((tree.committee_.voters.feature < 0).sum())
