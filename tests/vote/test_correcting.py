"""Correcting operations: a weighted sum is the committee's own vote, and others can say what no sum can."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from committee import (
    AdaBoostClassifier,
    Committee,
    GradientBoostingClassifier,
    QuadBoostClassifier,
    SubaggingClassifier,
)
from committee.vote.correcting import CorrectedVote, WeightedSum
from committee.vote.links.probability import Softmax
from committee.voters.estimators import EstimatorVoters
from tests.subjects import numbers


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "learner",
    [
        AdaBoostClassifier(5),
        AdaBoostClassifier(5, vote="abstaining"),
        QuadBoostClassifier(n_estimators=8),
        GradientBoostingClassifier(n_estimators=4, random_state=0),
        SubaggingClassifier(n_estimators=3, voting="soft", random_state=0),
    ],
)
def test_the_weighted_sum_is_the_vote_of_the_committee(learner, n_classes):
    X, y = numbers(n_classes)
    committee = learner.fit(X, y).committee_
    corrected = CorrectedVote(committee, WeightedSum())
    assert_allclose(corrected.decision_function(X), committee.decision_function(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(corrected.predict(X), committee.predict(X))
    assert corrected.votes(X).shape == (len(X), len(corrected.weights), 1 if n_classes == 2 else 3)


@dataclass(frozen=True)
class Product:
    """Parity of the votes."""

    def scores(self, votes, weights, X):
        return votes.prod(axis=1)


def test_a_product_tells_what_no_weighted_sum_of_the_same_votes_can():
    """Two stumps, each blind to the classes alone: a sum of their votes parts the plane by a monotone rule."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] > 0) == (X[:, 1] > 0)
    stumps = [DecisionTreeClassifier(max_depth=1).fit(X, X[:, j] > 0) for j in (0, 1)]
    voters = EstimatorVoters(stumps, np.array([False, True]))
    right = [
        np.mean(Committee(voters, np.array([np.cos(a), np.sin(a)]), voters.classes, Softmax()).predict(X) == y)
        for a in np.linspace(0.0, 2.0 * np.pi, 50)
    ]
    assert max(right) < 0.8
    committee = Committee(voters, np.ones(2), voters.classes, Softmax())
    assert_array_equal(CorrectedVote(committee, Product()).predict(X), y)


@dataclass(frozen=True)
class Odd:
    result: object

    def scores(self, votes, weights, X):
        return self.result


def test_bad_operations_are_refused():
    X, y = numbers(3)
    committee = AdaBoostClassifier(3).fit(X, y).committee_
    with pytest.raises(TypeError, match=r"operation is 3; it must be an object with scores\(votes, weights, X\)"):
        CorrectedVote(committee, 3)
    with pytest.raises(TypeError, match="it must be an object with scores"):
        CorrectedVote(committee, WeightedSum)
    with pytest.warns(UserWarning, match="y holds one class only"):
        one = AdaBoostClassifier(3).fit(X, np.ones(len(X), dtype=int)).committee_
    with pytest.raises(ValueError, match="the committee has the one class 1; no score elects another"):
        CorrectedVote(one, WeightedSum())
    with pytest.raises(ValueError, match="made scores that are not numbers"):
        CorrectedVote(committee, Odd(np.full((120, 3), "abc"))).predict(X)
    with pytest.raises(TypeError, match="it must be a Committee"):
        CorrectedVote(AdaBoostClassifier(3), WeightedSum())
    with pytest.raises(ValueError, match=r"made scores of shape \(120,\) for 120 rows; it must be \(120, 3\)"):
        CorrectedVote(committee, Odd(np.zeros(120))).predict(X)
    with pytest.raises(ValueError, match="made scores that are not finite"):
        CorrectedVote(committee, Odd(np.full((120, 3), np.nan))).predict(X)
