"""What scikit-learn's tree ensembles have: single trees, their number, leaves, paths and importances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeRegressor

from committee import (
    AdaBoostClassifier,
    CommitteeClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    TreeRegressor,
)

ENSEMBLES = [
    RandomForestClassifier(3),
    RandomForestRegressor(3),
    AdaBoostClassifier(3, max_depth=2),
    GradientBoostingClassifier(n_estimators=3),
    SBPMTClassifier(3, 1, 2),
]


def rows(n=80):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, (X[:, 0] + random.normal(size=n) > 0).astype(int) + (X[:, 1] > 1)


@pytest.mark.filterwarnings("ignore:.* rows are in every draw:UserWarning")
@pytest.mark.parametrize("learner", ENSEMBLES, ids=lambda one: type(one).__name__)
def test_each_voter_is_a_committee_of_its_own(learner):
    X, y = rows()
    assert learner
    with pytest.raises(NotFittedError):
        len(learner)
    model = learner.fit(X, y)
    assert len(model) == len(model.estimators_) == model.committee_.n_voters
    for t, one in enumerate(model.estimators_):
        assert_array_equal(one.apply(X)[:, 0], model.apply(X)[:, t])
        assert_allclose(one.decision_function(X), model.committee_[t].decision_function(X))
    if isinstance(model, RandomForestRegressor):
        assert_allclose(np.mean([one.predict(X) for one in model.estimators_], axis=0), model.predict(X))


@pytest.mark.filterwarnings("ignore:.* rows are in every draw:UserWarning")
@pytest.mark.parametrize("learner", ENSEMBLES, ids=lambda one: type(one).__name__)
def test_paths_lead_from_the_root_to_the_leaf(learner):
    X, y = rows()
    model = learner.fit(X, y)
    indicator, first = model.decision_path(X)
    leaf = model.apply(X).reshape(len(X), -1)
    assert indicator.shape == (80, first[-1]) and len(first) == leaf.shape[1] + 1
    passed = indicator.toarray()
    assert set(np.unique(passed)) == {0, 1}
    for t in range(leaf.shape[1]):
        own = passed[:, first[t] : first[t + 1]]
        assert own[:, 0].all() and own[np.arange(80), leaf[:, t]].all()
        assert_array_equal(own.shape[1] - 1 - own[:, ::-1].argmax(axis=1), leaf[:, t])  # parents come first


def test_paths_are_those_of_scikit_learn():
    X, y = rows()
    ours = TreeRegressor(max_depth=4).fit(X, X[:, 0] * 3 + X[:, 1])
    theirs = DecisionTreeRegressor(max_depth=4).fit(X, X[:, 0] * 3 + X[:, 1])
    passed = ours.decision_path(X)
    assert passed.shape == (len(X), theirs.tree_.node_count)
    together = (passed @ passed.T).toarray()  # nodes that two rows have in common
    own = theirs.decision_path(X)
    assert_array_equal(together, (own @ own.T).toarray())
    forest = TheirForest(2, random_state=0).fit(X, y)
    assert [type(part) for part in forest.decision_path(X)[1:]] == [np.ndarray]


@pytest.mark.parametrize("kind", ["gain", "count", "cover"])
def test_importances_add_up(kind):
    X, y = rows()
    found = RandomForestClassifier(5, random_state=0).fit(X, y).feature_importances(kind)
    assert found.argmax() in (0, 1)
    assert_allclose(found.sum(), 1.0)


def test_a_committee_of_ensembles_names_its_members():
    X, y = rows()
    model = CommitteeClassifier("fast", cv=2, random_state=0).fit(X, y)
    assert len(model) == model.member_sizes_.sum()
    with pytest.raises(TypeError, match=r"such as model\.member\(model\.member_names_\[0\]\)"):
        model.decision_path(X)


def test_two_forests_without_a_seed_are_twins():
    """The same table and parameters give the same model; a seed each makes them differ."""
    X, y = rows()
    twins = VotingClassifier([("a", RandomForestClassifier(3)), ("b", RandomForestClassifier(3))], voting="soft")
    a, b = twins.fit(X, y).estimators_
    assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    a, b = twins.set_params(a__random_state=0, b__random_state=1).fit(X, y).estimators_
    assert (a.predict_proba(X) != b.predict_proba(X)).any()
