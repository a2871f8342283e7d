"""What trees expect of a row of which one column alone is known."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier as Peer

from committee import (
    AdaBoostClassifier,
    Committee,
    CommitteeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ProbitModelTreeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
)
from committee.vote.explain.contributions import probability_contributions
from committee.vote.explain.tree_expectations import split_thresholds, tree_expectations

X, Y = load_wine(return_X_y=True)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(10, random_state=0),
        RandomForestRegressor(10, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        GradientBoostingRegressor(n_estimators=10, leaf="constant", random_state=0),
        AdaBoostClassifier(10),
        SBPMTClassifier(2, voting="soft", random_state=0),
        CommitteeClassifier("fast", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_of_one_column_expectations_are_predictions(model):
    """With a single column all is known, missing values and categories among it."""
    text = np.array(["low", "middle", "high"])[(X[:, 0] > 12.5).astype(int) + (X[:, 0] > 13.5)]
    numbers = np.where(np.arange(len(X)) % 9 == 0, np.nan, X[:, 6])
    for column in (text, numbers):
        frame = pl.DataFrame({"only": column})
        model.fit(frame, Y)
        encoded = model.table_.encode(frame)[:, 0]
        told = model.predict_proba(frame) if hasattr(model, "classes_") else model.predict(frame)[:, None]
        assert_allclose(tree_expectations(model.committee_, 0, encoded), told, atol=1e-9)


def test_expectations_share_rows_as_shapley_values_do():
    """Of two columns phi_1 + phi_2 = v(1, 2) - v(none), and phi_1 = [v(1) - v(none) + v(1, 2) - v(2)] / 2."""
    two = X[:, [6, 9]]
    model = RandomForestClassifier(5, calibrate=None, random_state=0).fit(two, Y)
    shares = probability_contributions(model.committee_, two)
    first, second = (tree_expectations(model.committee_, j, two[:, j]) for j in (0, 1))
    none = shares[:, 2]
    assert_allclose(shares[:, 0], (first - none + model.predict_proba(two) - second) / 2.0, atol=1e-12)


def test_trees_are_walked_some_at_a_time_with_the_same_result(monkeypatch):
    model = GradientBoostingClassifier(n_estimators=7, random_state=0).fit(X, Y)
    places = split_thresholds(model.committee_, 6)
    whole = tree_expectations(model.committee_, 6, places)
    monkeypatch.setattr("committee.vote.explain.tree_expectations._CELLS", 1)
    assert_allclose(tree_expectations(model.committee_, 6, places), whole, rtol=1e-12)
    assert (np.diff(places) >= 0.0).all() and len(places)


def test_voters_that_remember_nothing_are_refused():
    tree = ProbitModelTreeClassifier().fit(*load_breast_cancer(return_X_y=True))
    with pytest.raises(TypeError, match="need voters that are native trees, lines or soft model trees"):
        tree_expectations(tree.committee_, 0, np.zeros(1))
    theirs = Committee.from_estimator(Peer(2, random_state=0).fit(X, Y))
    assert len(split_thresholds(theirs, 6)) and tree_expectations(theirs, 6, np.zeros(1)).shape == (1, 3)
