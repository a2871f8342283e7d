"""Voting bounds of fitted committees: their margins, and the number of trees that they chose from."""

from math import exp, log

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

from committee import AdaBoostClassifier, SubaggingClassifier, TreeVoter
from committee.learners.trained import for_vote


def test_the_certificate_of_a_fitted_committee_holds_and_says_something():
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.normal(size=(n, 2))
        return X, (X[:, 0] > 0.0) ^ (rng.random(n) < 0.02)

    X, y = draw(30_000)
    model = AdaBoostClassifier(n_estimators=3, max_bins=16).fit(X, y)
    bound = for_vote(model, X, y)["certified"]
    X_new, y_new = draw(20_000)
    assert np.mean(model.predict(X_new) != y_new) < bound.value < 0.5
    assert bound.inputs["rows_per_voter"] == 2


def test_adaboost_is_counted_by_its_bins():
    X, y = load_breast_cancer(return_X_y=True)
    thresholds = sum(min(len(np.unique(column)) - 1, 254) for column in X.T)
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    bounds = for_vote(model, X, y)
    stumps = bounds["lectures"].inputs["ln_size"]
    assert exp(stumps) == pytest.approx(2 * thresholds + 2, rel=0.01)
    rows = bounds["certified"].inputs["ln_size"]
    assert exp(rows) == pytest.approx(2 * 30 * (569 * 568 + 1) + 2)
    np.testing.assert_array_equal(bounds["lectures"].inputs["margins"], model.committee_.margins(X, y))
    abstaining = AdaBoostClassifier(n_estimators=20, vote="abstaining").fit(X, y)
    assert for_vote(abstaining, X, y)["lectures"].inputs["ln_size"] == pytest.approx(stumps + log(3), abs=1e-3)


def test_trees_of_limited_growth_frames_and_more_classes():
    X, y = load_iris(return_X_y=True)
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"], orient="row").with_columns(
        pl.Series("e", np.array(["u", "v"])[y % 2])
    )
    model = SubaggingClassifier(TreeVoter(max_leaf_nodes=4, min_samples_leaf=5), random_state=0).fit(frame, y)
    bounds = for_vote(model, frame, y)
    assert bounds["certified"].inputs["n_classes"] == 3 and bounds["certified"].inputs["rows_per_voter"] == 6
    few = SubaggingClassifier(TreeVoter(max_depth=30, min_samples_leaf=50), random_state=0).fit(frame, y)
    assert for_vote(few, frame, y)["certified"].inputs["rows_per_voter"] == 2 * (150 // 50 - 1)


def test_where_the_class_is_unknown_it_is_said():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match=r"\|B\| is unknown: the voters are trees of unlimited growth"):
        for_vote(SubaggingClassifier(n_estimators=3, random_state=0).fit(X, y), X, y)
    other = AdaBoostClassifier(n_estimators=3, voter=DecisionTreeClassifier(max_depth=1)).fit(X, y)
    with pytest.raises(ValueError, match=r"classifiers that the library does not know\. Give its logarithm as ln_size"):
        for_vote(other, X, y)
    bounds = for_vote(other, X, y, ln_size=9.0)
    assert [bound.inputs["ln_size"] for bound in bounds.values()] == [9.0, 9.0]
    assert bounds["certified"].inputs["rows_per_voter"] == 0
    with pytest.raises(ValueError, match="give scores, of which there are infinitely many"):
        for_vote(AdaBoostClassifier(n_estimators=3, vote="confidence").fit(X, y), X, y)
