"""Voters that are fitted scikit-learn classifiers, and committees of them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.voters.estimators import EstimatorVoters
from committee.voters.protocol import Voters
from tests.oracles import votes as oracle


class Dictator:
    """A classifier that says the same to everybody."""

    def __init__(self, label: Any, classes: Any, p: Any = None) -> None:
        self.label, self.classes_, self.p = label, np.asarray(classes), p

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), self.label)

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile(self.p, (len(X), 1))


def test_estimator_voters_satisfy_the_protocol():
    voters = EstimatorVoters([Dictator("a", ["a"])], ["a", "b"])
    assert isinstance(voters, Voters) and isinstance(voters[0], EstimatorVoters)
    assert voters.kind == "label" and voters.spread.tolist() == [1.0] and voters.n_nodes.tolist() == [0]
    assert voters.nbytes > 0


def test_members_may_know_fewer_classes():
    members = [Dictator("c", ["c", "a"], [0.75, 0.25]), Dictator("b", ["b"], [1.0])]
    X = np.zeros((2, 1))
    hard, soft = (EstimatorVoters(members, ["a", "b", "c"], soft=soft) for soft in (False, True))
    assert_array_equal(hard.votes(X), [[2, 1], [2, 1]])
    assert_array_equal(hard.tally(X, np.array([1.0, 3.0])), [[0, 3, 1], [0, 3, 1]])
    assert_array_equal(soft.votes(X)[0], [[0.25, 0, 0.75], [0, 1, 0]])
    assert_array_equal(soft.tally(X)[1], [0.25, 1, 0.75])
    with pytest.raises(ValueError, match=r"estimators\[0\] \(Dictator\) votes for .*'c'"):
        EstimatorVoters(members, ["a", "b"]).votes(X)
    with pytest.raises(ValueError, match="not among the classes"):
        EstimatorVoters(members, ["a", "b"], soft=True).votes(X)


def test_a_committee_of_estimators():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    members = [make_pipeline(StandardScaler(), LogisticRegression()), DecisionTreeClassifier(max_depth=2)]
    members = [member.fit(X, y) for member in members]
    hard = Committee(EstimatorVoters(members, ["no", "yes"]), [1.0, 2.0], ["no", "yes"], Share())
    soft = Committee(EstimatorVoters(members, ["no", "yes"], soft=True), [1.0, 2.0], ["no", "yes"], Share())
    sign = np.column_stack([np.where(member.predict(X) == "yes", 1, -1) for member in members])
    assert_array_equal(hard.votes(X), sign)
    assert_allclose(hard.decision_function(X), sign @ [1.0, 2.0])
    mean = (members[0].predict_proba(X) + 2 * members[1].predict_proba(X)) / 3
    assert_allclose(soft.predict_proba(X), mean)
    assert_allclose(soft.decision_function(X), 3 * (mean[:, 1] - mean[:, 0]))
    assert_allclose(soft.votes(X) @ soft.weights, soft.decision_function(X))
    assert hard.n_nodes == members[1].tree_.node_count
    assert not hasattr(hard, "feature_importances_")
    right = soft.predict(X) == y
    assert_array_equal(soft.margins(X, y) > 0, right)
    with pytest.raises(ValueError, match="X has 2 columns; the members need 3"):
        hard.predict(X[:, :2])


@pytest.mark.parametrize("sparse", [False, True])
def test_members_on_their_own_columns(sparse):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 4))
    y = (X[:, 2] > 0).astype(int)
    features = [np.array([0, 2]), np.array([3, 1]), np.array([2, 2])]
    members = [LogisticRegression().fit(X[:, f], y) for f in features]
    voters = EstimatorVoters(members, [0, 1], soft=True, features=features)
    data = csr_array(X) if sparse else X
    expected = np.stack([m.predict_proba(X[:, f]) for m, f in zip(members, features, strict=True)], axis=1)
    assert_allclose(voters.votes(data), expected)
    assert_allclose(voters[[2, 0]].votes(data), expected[:, [2, 0]])


def test_estimator_voters_are_checked(monkeypatch):
    member = Dictator("a", ["a", "b"], [0.5, 0.25, 0.25])
    X = np.zeros((1, 1))
    with pytest.raises(ValueError, match="estimators is empty"):
        EstimatorVoters([], ["a"])
    with pytest.raises(ValueError, match="different labels"):
        EstimatorVoters([member], ["a", "a"])
    with pytest.raises(ValueError, match="features is for 2 members; there are 1"):
        EstimatorVoters([member], ["a"], features=[np.array([0]), np.array([1])])
    with pytest.raises(ValueError, match=r"predict_proba of estimators\[0\] has shape \(1, 3\)"):
        EstimatorVoters([member], ["a", "b"], soft=True).votes(X)
    with pytest.raises(ValueError, match=r"weights has shape \(2,\); 1 voters"):
        EstimatorVoters([member], ["a", "b"]).tally(X, np.ones(2))
    monkeypatch.delattr(Dictator, "predict_proba")
    with pytest.raises(ValueError, match=r"estimators\[0\] \(Dictator\) has no predict_proba"):
        EstimatorVoters([member], ["a", "b"], soft=True)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_estimator_voters_against_the_naive_vote(seed, soft, coded):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    classes = np.arange(3) if coded else np.array(["x", "y", "z"])
    y = classes[rng.integers(0, 3, size=20)]
    assume(len(set(y)) > 1)
    members = [DecisionTreeClassifier(max_depth=2).fit(X[s : s + 10], y[s : s + 10]) for s in (0, 5, 10)]
    weights = rng.normal(size=3)
    voters = EstimatorVoters(members, classes, soft=soft)
    votes = voters.votes(X)
    assert votes.dtype == (np.float64 if soft else np.int16)
    expected = [oracle.tally(row, weights.tolist(), 3) for row in votes.tolist()]
    assert_array_equal(voters.tally(X, weights), expected)
    for t, member in enumerate(members):
        if soft:
            known = votes[:, t][:, np.isin(classes, member.classes_)]
            assert_array_equal(known, member.predict_proba(X))
        else:
            assert_array_equal(classes[votes[:, t]], member.predict(X))
