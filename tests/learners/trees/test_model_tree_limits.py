"""The size of model trees follows the rows where it is left open, and is as it is told where it is not."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from committee import ProbitModelTreeClassifier, SBPMTClassifier
from committee.learners.trees.model_tree_limits import ModelTreeLimits, depth_for
from committee.papers.sbpmt.table2 import SETTINGS


def boxes(n, seed=0):
    """A class for each of 64 boxes of two columns, in a table of six."""
    X = np.random.default_rng(seed).uniform(size=(n, 6))
    classes = np.random.default_rng(7).integers(0, 2, (8, 8))
    return X, classes[tuple(np.floor(8 * X[:, :2]).astype(int).T)]


def test_depth_is_that_of_even_splits_and_one_more():
    assert [depth_for(n, 20) for n in (2, 100, 640, 641, 1280, 20 * 2**10)] == [6, 6, 6, 7, 7, 11]
    assert depth_for(1024, 1) == 11


def test_auto_gives_trees_more_depth_the_more_rows_there_are():
    for n_rows in (150, 5_000, 30_000):
        limits = ModelTreeLimits.of(SBPMTClassifier(), n_rows)
        assert limits.growth.max_depth == depth_for(n_rows, 20)
        assert (limits.growth.min_impurity_decrease, limits.pruned) == (0.0, True)


@pytest.mark.parametrize("given", [{"max_depth": None, "min_impurity_decrease": -np.inf}, SETTINGS["paper"]])
def test_what_is_given_does_not_follow_the_rows(given):
    learner = SBPMTClassifier(**given)
    small, large = (ModelTreeLimits.of(learner, n) for n in (100, 100_000))
    assert small == large
    assert not small.pruned
    assert small.growth.max_depth == given["max_depth"]
    assert small.growth.min_impurity_decrease == given["min_impurity_decrease"]


@pytest.mark.parametrize(
    ("learner", "n_grown"),
    [
        (SBPMTClassifier(3, 2, 5, random_state=0), 1400),
        (ProbitModelTreeClassifier(5, max_depth="auto", min_impurity_decrease=0.0), 2000),
    ],
)
def test_auto_is_the_depth_of_the_rows_of_a_tree(learner, n_grown):
    X, y = boxes(2000)
    told = learner.__class__(**learner.get_params()).set_params(max_depth=depth_for(n_grown, 20))
    assert_array_equal(learner.fit(X, y).predict_proba(X), told.fit(X, y).predict_proba(X))


def test_trees_of_more_rows_are_larger_and_find_what_a_fixed_limit_hides():
    X, y = boxes(6000)
    X_test, y_test = boxes(2000, seed=1)
    fixed = SBPMTClassifier(3, 2, 20, max_depth=6, min_impurity_decrease=0.005, random_state=0).fit(X, y)
    auto = SBPMTClassifier(3, 2, 20, random_state=0).fit(X, y)
    assert auto.score(X_test, y_test) > fixed.score(X_test, y_test) + 0.1
    few = SBPMTClassifier(3, 2, 20, random_state=0).fit(X[:600], y[:600])
    of_a_tree = [model.committee_.n_nodes / len(model.errors_) for model in (few, fixed, auto)]
    assert of_a_tree[2] > 1.5 * max(of_a_tree[:2])


def test_a_word_that_is_no_rule_is_refused():
    for name in ("max_depth", "min_impurity_decrease"):
        with pytest.raises(ValueError, match=name):
            SBPMTClassifier(**{name: "large"}).fit(*boxes(50))
