"""What is taken for a model with a committee, and what is refused."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

import committee
from committee import Committee, RegressionCommittee
from committee.vote.committee_in import committee_in

X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32).astype(np.float64)
LABEL = np.array(["b", "a", "c"])[np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])]


@pytest.mark.parametrize("model", ["x", 3, None, committee.TreeVoter, DecisionTreeClassifier])
@pytest.mark.parametrize("export", [committee.as_sklearn, committee.to_treelite, committee.to_onnx])
def test_what_is_no_estimator_is_refused(export: Any, model: Any) -> None:
    with pytest.raises(TypeError, match=r"estimator is .*; it must be a fitted classifier"):
        export(model)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_a_tree_alone_is_a_committee(kind: Any) -> None:
    tree = kind(max_depth=4, random_state=0).fit(X, LABEL)
    ours = committee_in(tree, "ONNX")
    assert isinstance(ours, Committee) and ours.n_voters == 1
    assert_array_equal(ours.predict_proba(X), tree.predict_proba(X))
    assert_array_equal(ours.predict(X), tree.predict(X))
    again = committee.as_sklearn(tree)
    assert_array_equal(again.predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, ExtraTreeRegressor])
def test_a_tree_of_numbers_alone(kind: Any) -> None:
    tree = kind(max_depth=4, random_state=0).fit(X, X[:, 1])
    ours = committee_in(tree, "ONNX")
    assert isinstance(ours, RegressionCommittee)
    assert_array_equal(ours.predict(X), tree.predict(X))
    assert_array_equal(committee.as_sklearn(tree).predict(X), tree.predict(X))


def test_boosters_without_a_class_of_scikit_learn() -> None:
    import lightgbm

    booster = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, LABEL == "a"), 3)
    assert isinstance(committee_in(booster, "ONNX"), Committee)
