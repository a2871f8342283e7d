"""Voters, parameters and tables that learners of probabilistic voters refuse, and voters that are of no use to them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from committee import BoostingTreeClassifier, MatryoshkaClassifier
from committee.voters.probabilistic_voters import draw_answers, prob_positive
from tests.learners.nesting.nested_learners import every_learner, fitted, table
from tests.probabilistic_voters import NoisyStump, Stump


class Told(Stump):
    def __init__(self, q=0.5):
        self.q = q

    def prob_positive(self, X):
        return self.q(X) if callable(self.q) else np.full(len(X), self.q)


class Drawn(Stump):
    def __init__(self, answers=None):
        self.answers = answers

    def draw(self, X, rng):
        return self.answers(X)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (1.2, r"prob_positive of Told is 1\.2 on row 0; a probability lies in \[0, 1\]"),
        (-0.1, r"prob_positive of Told is -0\.1 on row 0"),
        (np.nan, "prob_positive of Told is nan on row 0"),
        (lambda X: np.r_[np.full(len(X) - 1, 0.5), np.inf], "is inf on row 99"),
        (lambda X: np.full((len(X), 2), 0.5), r"has shape \(100, 2\); 100 rows need \(100,\)"),
        (lambda X: np.full(3, 0.5), r"has shape \(3,\); 100 rows need \(100,\)"),
        (lambda X: 0.5, r"has shape \(\); 100 rows need \(100,\)"),
    ],
)
@every_learner
def test_what_is_no_probability_is_refused(model, q, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        fitted(model, X, y, voter=Told(q))


def test_a_rounding_beyond_one_is_forgiven():
    assert_array_equal(prob_positive(Told(1.0 + 1e-12), np.zeros((2, 1))), 1.0)
    assert_array_equal(prob_positive(Told(-1e-12), np.zeros((2, 1))), 0.0)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (lambda X: np.ones(len(X) - 1), r"draw of Drawn has shape \(99,\); 100 rows need \(100,\)"),
        (lambda X: np.ones((len(X), 1)), r"draw of Drawn has shape \(100, 1\)"),
        (lambda X: np.full(len(X), np.nan), "values that are not finite"),
        (lambda X: np.full(len(X), "yes"), "values that are not finite"),
        (lambda X: [None] * len(X), "values that are not finite"),
    ],
)
@every_learner
def test_what_is_no_answer_is_refused(model, answers, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        fitted(model, X, y, voter=Drawn(answers))


def test_answers_may_be_signs_labels_or_truths():
    rng, X = np.random.default_rng(0), np.zeros((3, 1))
    for answers in (np.array([1, -1, 1]), np.array([1.0, 0.0, 2.0]), np.array([True, False, True])):
        assert_array_equal(draw_answers(Drawn(lambda X, said=answers: said), X, rng), [True, False, True])


class Mute(Stump):
    pass


class Weightless(NoisyStump):
    def fit(self, X, y):
        return super().fit(X, y)


class Narrow(Stump):
    def predict_proba(self, X):
        return np.ones((len(X), 1))


@pytest.mark.parametrize(
    ("voter", "message"),
    [
        (KNeighborsClassifier(), r"voter=KNeighborsClassifier\(\) cannot be boosted: its fit takes no sample_weight"),
        (Weightless(), "its fit takes no sample_weight. Choose another"),
        (LinearSVC(), "has neither prob_positive, predict_proba nor draw; a probabilistic voter needs one"),
        (Mute(), "has neither prob_positive, predict_proba nor draw"),
        (LinearRegression(), "neither prob_positive|no classifier"),
        (Narrow(), r"predict_proba of Narrow has shape \(100, 1\); its 2 classes need as many columns"),
    ],
    ids=lambda given: type(given).__name__,
)
@every_learner
def test_voters_that_cannot_serve_are_refused(model, voter, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        fitted(model, X, y, voter=voter)


@every_learner
@pytest.mark.parametrize("softness", [0.0, 0.25])
def test_columns_that_say_nothing_leave_one_voter_of_the_frequencies(model, softness):
    X, y = np.ones((40, 2)), np.r_[np.zeros(30), np.ones(10)].astype(int)
    with pytest.warns(UserWarning, match="No voter beats a constant vote"):
        committee = fitted(model, X, y, softness=softness, calibrate=None)
    assert len(committee.graph_) == 1
    # smoothed by a quarter of a row
    assert_allclose(committee.predict_proba(X)[:, 1], 10.25 / 40.5)
    assert_allclose(committee.predict_proba(np.array([[0.0, np.nan]]))[:, 1], 10.25 / 40.5)
    assert committee.bound_ == pytest.approx(2.0 * np.sqrt(0.25 * 0.75), rel=1e-3)
    assert_array_equal(committee.predict(X), 0)


@every_learner
@pytest.mark.parametrize("q", [0.5, 0.3, 1.0, 0.0])
def test_a_voter_that_answers_without_looking_is_kept_once(model, q):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.r_[np.zeros(20), np.ones(20)].astype(int)
    with pytest.warns(UserWarning, match="No voter beats a constant vote"):
        committee = fitted(model, X, y, voter=Told(q))
    assert len(committee.graph_) == 1
    assert committee.bound_ == pytest.approx(1.0)
    assert_allclose(committee.predict_proba(X), 0.5)


@every_learner
@pytest.mark.parametrize("method", ["expected", "likely_path", "sampled", "majority"])
def test_a_branch_that_nobody_takes_stays_empty(model, method):
    X, y = table()
    with pytest.warns(UserWarning, match="No voter beats a constant vote"):
        committee = fitted(model, X, y, voter=Told(1.0), method=method)
    assert np.isfinite(committee.predict_proba(X)).all()
    assert_array_equal(committee.graph_.vote[0, 1], 0.0)
    assert_allclose(committee.cost(X), 1.0)


class Certain(Stump):
    def prob_positive(self, X):
        return (X[:, 0] > 0.5).astype(np.float64)


@pytest.mark.parametrize("n_draws", [None, 3])
def test_a_branch_of_one_class_ends_there(n_draws):
    X = np.r_[np.full(30, 1.0), np.linspace(0.0, 0.4, 30)][:, None]
    y = np.r_[np.ones(30), np.arange(30) % 3 == 0].astype(int)
    model = BoostingTreeClassifier(6, voter=Certain(), n_draws=n_draws, estimate="ml", random_state=0).fit(X, y)
    assert model.graph_.next.tolist() == [[-1, -1]]
    assert_array_equal(model.predict(X), X[:, 0] > 0.5)


@every_learner
def test_weights_that_leave_rows_of_one_class_alone_are_refused(model, monkeypatch):
    monkeypatch.setattr("committee.learners.nesting.nested_classifier._MOST_BYTES", 0)
    X, y = table()
    weights = np.where(y == 1, 1e-60, 1.0)
    with pytest.raises(ValueError, match=r"voter=.* has no rows of two classes.*by fewer orders of magnitude"):
        clone(model).set_params(voter=NoisyStump()).fit(X, y, weights)


def test_a_voter_with_probabilities_answers_by_them():
    q = np.array([0.0, 1.0, 0.25])
    said = np.array([draw_answers(Told(lambda _: q), np.zeros((3, 1)), np.random.default_rng(s)) for s in range(400)])
    assert not said[:, 0].any() and said[:, 1].all() and said[:, 2].mean() == pytest.approx(0.25, abs=0.06)


@every_learner
def test_one_voter_that_knows_it_all_is_enough(model):
    X = np.linspace(-1, 1, 50)[:, None]
    committee = fitted(model, X, X[:, 0] > 0, softness=0.0)
    assert committee.score(X, X[:, 0] > 0) == 1.0
    assert committee.bound_ < 0.2
    assert committee.edges_[0] == pytest.approx(0.5)


def test_more_voters_than_rows_are_refused():
    X, y = table(20)
    for given, message in [
        ({"levels": 5}, r"levels=5 needs 32 voters, more than the 20 rows; choose fewer levels"),
        ({"shape": [5, 5]}, r"shape=\[5, 5\] needs 25 voters, more than the 20 rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            MatryoshkaClassifier(**given).fit(X, y)
    assert len(MatryoshkaClassifier([5, 4], softness=1.0).fit(X, y).graph_) <= 20


@pytest.mark.parametrize(
    "shape",
    [[], [0], [2.5], [2, -1], ["a"], [None], [[2, 2]], [True, 2], [np.inf], [np.nan], np.array([0.5]), [1] * 2000],
    ids=str,
)
def test_what_is_no_shape_is_refused(shape):
    no_sizes = r"shape=.* is not a list of tree sizes; give whole numbers of at least 1"
    with pytest.raises(ValueError, match="shape has 2,000 levels; give at most 30" if len(shape) > 30 else no_sizes):
        MatryoshkaClassifier(shape).fit(*table())


def test_a_shape_may_be_any_sequence_of_whole_numbers():
    X, y = table()
    listed = MatryoshkaClassifier([2, 3]).fit(X, y)
    for shape in ((2, 3), np.array([2, 3]), [2.0, 3.0], range(2, 4)):
        other = MatryoshkaClassifier(shape).fit(X, y)
        assert_array_equal(other.decision_function(X), listed.decision_function(X))
