"""Leaf models as a table: it has the scores."""

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from committee import ProbitModelTreeClassifier, SBPMTClassifier
from committee.vote.explain.leaf_models import LEADING, coefficient_names, leaf_models
from tests.vote.explain.mixed_table import N, mixed_table, scores


@pytest.mark.parametrize("tree", ["shared", "per_class"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaf_models_give_the_scores(tree, n_classes):
    X, y = mixed_table(7, n_classes=n_classes)
    model = ProbitModelTreeClassifier(tree=tree, min_impurity_decrease=0.001).fit(X, y)
    frame, voters = model.leaf_models_, model.committee_.voters
    encoded = model.table_.encode(X)
    D, leaf, F = voters.design.matrix(encoded), voters.forest.apply(encoded), scores(model, X)
    names = coefficient_names(voters.design.names(model.table_))
    assert frame.columns == ["tree", "leaf", "rule", "rows", "class", "intercept", *names]
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
    assert leaf_models(voters, model.classes_, model.table_, [1]).equals(frame.filter(_tree_number(frame) == 1))
    with pytest.raises(IndexError):
        leaf_models(voters, model.classes_, model.table_, [10_000])


def _tree_number(frame):
    """Trees of all committees counted through."""
    changed = frame.select((pl.struct("committee", "tree") != pl.struct("committee", "tree").shift()).fill_null(False))
    return changed.to_series().cum_sum()


def test_a_column_may_be_named_as_the_table_is():
    rng = np.random.default_rng(0)
    X = pl.DataFrame({name: rng.normal(size=100) for name in LEADING})
    model = ProbitModelTreeClassifier().fit(X, rng.integers(0, 2, 100))
    assert set(model.leaf_models_.columns) >= {"rows", "coefficient of rows", "class", "coefficient of class"}
