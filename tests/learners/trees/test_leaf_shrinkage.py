"""Probabilities of single trees: leaves shrunk towards their ancestors, and model trees by a temperature."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

from committee import ProbitModelTreeClassifier, TreeVoter, load
from committee.data.rows import Rows
from committee.data.table_schema import TableSchema
from committee.learners.base.row_sampling import Folds
from committee.learners.trees.leaf_shrinkage import STRENGTHS, TreeOfFold, best_strength, shrunk_shares
from committee.voters.growing import GrowthLimits, tree_grower


def noisy(n=300, n_classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return X, (X[:, 0] + random.normal(size=n) > 0).astype(int) + (n_classes > 2) * (X[:, 1] > 1)


def grown(rows, n_classes):
    binned = rows.binned(TableSchema(None, (None,) * 4), 255, 1)
    return tree_grower(binned, "gini", n_classes, GrowthLimits(), 1).grow_classes(rows.labels, rows.weights, None, 0)


def naive(tree, strength):
    """The published sum over a leaf's ancestors, node by node."""
    P, W = tree.sums / tree.sums.sum(axis=1, keepdims=True), tree.sums.sum(axis=1)
    found = P.copy()

    def walk(node):
        if tree.feature[node] < 0:
            return
        for child in (tree.left[node], tree.left[node] + 1):
            found[child] = found[node] + (P[child] - P[node]) / (1.0 + strength / W[node])
            walk(child)

    walk(0)
    return found


def rows_of(X, y, weights=None):
    uniform = weights is None
    return Rows(X, y.astype(np.uint16), np.ones(len(y)) if uniform else weights, uniform)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strength", [0.1, 7.0, 1000.0])
def test_shares_are_those_of_the_paper(n_classes, strength):
    X, y = noisy(120, n_classes)
    tree = grown(rows_of(X, y, np.random.default_rng(1).uniform(0.5, 2.0, 120)), n_classes)
    shares = shrunk_shares(tree, strength)
    assert_allclose(shares, naive(tree, strength), rtol=1e-12)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.min() > 0.0


def test_the_strength_has_the_least_log_loss_on_folds():
    X, y = noisy(150)
    own, anywhere, folds = np.zeros(len(STRENGTHS)), np.zeros(len(STRENGTHS)), []
    for fold in Folds.of(rows_of(X, y), 5):
        tree = grown(rows_of(X[fold.train], y[fold.train]), 2)
        leaf = TreeVoter(calibrate=None).fit(X[fold.train], y[fold.train]).apply(X[fold.test])[:, 0]
        folds.append(TreeOfFold(tree, leaf, y[fold.test].astype(np.uint16), fold.test_weights, fold.n_test))
        for s, strength in enumerate(STRENGTHS):
            surprise = -np.log(naive(tree, strength)[leaf])
            own[s] += surprise[np.arange(len(leaf)), y[fold.test]].sum()
            anywhere[s] += surprise.mean(axis=1).sum()
        n = sum(one.n_test for one in folds)
        if n >= 100:
            break
    expected = STRENGTHS[(own + anywhere / n).argmin()]
    assert best_strength(iter(folds)) == TreeVoter().fit(X, y).shrinkage_ == expected


@pytest.mark.parametrize(
    "learner", [TreeVoter(), ProbitModelTreeClassifier(max_depth=3, min_samples_leaf=5, n_leaf_steps=20)], ids=repr
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_tree_alone_has_usable_probabilities(learner, n_classes):
    X, y = noisy(600, n_classes)
    model = learner.set_params(calibrate="auto").fit(X[:300], y[:300])
    base = log_loss(y[300:], np.tile(np.bincount(y[:300]) / 300, (300, 1)))
    assert log_loss(y[300:], model.predict_proba(X[300:])) < base
    raw = learner.set_params(calibrate=None).fit(X[:300], y[:300])
    assert log_loss(y[300:], raw.predict_proba(X[300:])) > 1.3 * base
    assert not hasattr(raw, "shrinkage_") and not hasattr(raw, "temperature_")


def test_the_strength_is_stored_and_checked(tmp_path):
    model = TreeVoter().fit(*noisy(60))
    model.save(tmp_path / "tree")
    assert load(tmp_path / "tree").shrinkage_ == model.shrinkage_
    model.shrinkage_ = -1.0
    with pytest.raises(ValueError, match=r"shrinkage_ is -1\.0"):
        model.save(tmp_path / "tree")


def test_categories_that_become_numbers_are_learned_in_each_fold():
    """A column of random names is of no use, and its tree is shrunk to the shares of all rows."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"name": pd.Categorical([f"n{i}" for i in random.integers(0, 60, 300)])})
    model = TreeVoter().fit(X, random.integers(0, 2, 300))
    assert abs(model.predict_proba(X) - 0.5).max() < 0.2


def test_too_few_rows_or_one_class_have_no_strength():
    X = np.arange(4.0)[:, None]
    assert not hasattr(TreeVoter().fit(X[:2], [0, 1]), "shrinkage_")
    with pytest.warns(UserWarning, match="one class only"):
        assert not hasattr(TreeVoter().fit(X, np.zeros(4)), "shrinkage_")
    same = TreeVoter().fit(np.zeros((40, 1)), np.arange(40) % 2)
    assert_array_equal(same.predict_proba([[0.0]]), [[0.5, 0.5]])
