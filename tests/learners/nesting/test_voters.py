"""Voters of probabilistic learners: how often they are asked, which are refused, and which are of no use."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import entr
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.learners.nesting import growth, weak_learners
from committee.learners.nesting.growth import Growth
from committee.learners.nesting.weak_learners import MOST_DRAWS, SampledLearner, Sampling, estimated_by_draws
from committee.voters.probabilistic_voters import draw_answers, estimate_probability, prob_positive
from tests.oracles import nesting as oracle
from tests.probabilistic_voters import NoisyStump, Stump, StumpOracle, every_learner, fitted, table, weights_at_nodes


def test_estimates_are_the_documents_formulas():
    count = np.array([0, 1, 3, 4])
    assert_allclose(estimate_probability(count, 4, "ml"), [0.0, 0.25, 0.75, 1.0])
    assert_allclose(estimate_probability(count, 4, "map"), [1 / 6, 2 / 6, 4 / 6, 5 / 6])
    assert_allclose(estimate_probability(np.zeros(1), 10**9, "map"), 0.0, atol=1e-8)


def script(answers):
    left = iter(answers)
    return lambda q: next(left)


def always():
    return np.array([True, False, True])


@pytest.mark.parametrize(("R", "estimate", "q"), [(7, "map", [8 / 9, 1 / 9, 8 / 9]), (1, "ml", [1.0, 0.0, 1.0])])
def test_a_number_of_draws_is_drawn_whatever_they_say(R, estimate, q):
    found, n_draws = estimated_by_draws(always, lambda q: 0.5, R, estimate, 0.0)
    assert n_draws == R
    assert_allclose(found, q)


@pytest.mark.parametrize(
    ("Z", "n_draws"),
    [([0.9, 0.8, 0.8, 0.7, 0.71, 0.1], 5), ([0.9, 0.95, 0.1], 2), ([0.5] * MOST_DRAWS, MOST_DRAWS)],
    ids=["later", "at once", "never"],
)
def test_the_first_rise_ends_it(Z, n_draws):
    assert estimated_by_draws(always, script(Z), "first_rise", "map", 0.0)[1] == n_draws


class Clock:
    def __init__(self, draw):
        self.now, self.draw = 0.0, draw

    def perf_counter(self):
        return self.now

    def ask(self):
        self.now += self.draw
        return np.array([True, False])


@pytest.mark.parametrize(
    ("training", "draw", "Z", "n_draws"),
    [
        # going on is worth ln(0.8) / (3 + 1) = -0.056 a second; a draw ln(0.79 / 0.8) = -0.013: it was one too many
        (3.0, 1.0, [0.8, 0.79], 2),
        # ln(0.7 / 0.8) = -0.134, ln(0.65 / 0.7) = -0.074, ln(0.64 / 0.65) = -0.016
        (3.0, 1.0, [0.8, 0.7, 0.65, 0.64], 4),
        # dear voters, cheap draws: ln(0.8) / 100 = -0.002 a second against ln(0.79 / 0.8) / 0.1 = -0.126
        (100.0, 0.1, [0.8, 0.79, 0.789, 0.7889], 4),
        # cheap voters, dear draws: -0.022 against -0.0134
        (0.0, 10.0, [0.8, 0.7], 2),
        # a rise is never worth its while
        (1000.0, 1.0, [0.8, 0.81], 2),
        # nothing is gained by either
        (1.0, 1.0, [1.0, 1.0, 1.1], 3),
    ],
)
def test_the_stopwatch_compares_falls_by_the_second(monkeypatch, training, draw, Z, n_draws):
    clock = Clock(draw)
    monkeypatch.setattr(weak_learners, "time", clock)
    assert estimated_by_draws(clock.ask, script(Z), "stopwatch", "map", training)[1] == n_draws


def test_the_stopwatch_bears_draws_that_take_no_time(monkeypatch):
    clock = Clock(1e-7)
    monkeypatch.setattr(weak_learners, "time", clock)
    assert estimated_by_draws(clock.ask, script([0.5, 0.9]), "stopwatch", "map", 1e-7)[1] == 2
    clock.draw = 0.0
    assert estimated_by_draws(clock.ask, script([0.5, 0.4, 0.45]), "stopwatch", "map", 0.0)[1] <= 3


@pytest.mark.one_in(3)
@every_learner
@pytest.mark.parametrize("n_draws", [1, 4, "first_rise", "stopwatch", None])
@pytest.mark.parametrize("estimate", ["map", "ml"])
def test_oracles_are_asked_and_may_be_asked_again(model, n_draws, estimate):
    X, y = table()
    committee = fitted(model, X, y, voter=StumpOracle(0.2), n_draws=n_draws, estimate=estimate)
    asked_for = committee.n_draws_
    assert (asked_for >= 1).all()
    if isinstance(n_draws, int):
        assert_array_equal(asked_for, n_draws)
    assert_array_equal(committee.graph_.voters.n_draws, asked_for)
    assert_array_equal(committee.decision_function(X), committee.decision_function(X))
    assert np.isfinite(committee.predict_proba(X)).all()
    assert committee.score(X, y) > 0.5
    if n_draws != "stopwatch":
        again = fitted(model, X, y, voter=StumpOracle(0.2), n_draws=n_draws, estimate=estimate)
        assert_array_equal(committee.decision_function(X), again.decision_function(X))
        assert_array_equal(asked_for, again.n_draws_)


@pytest.mark.one_in(2)
@every_learner
def test_estimated_bounds_are_those_of_the_estimates(model):
    X, y = table()
    known = fitted(model, X, y)
    drawn_ = fitted(model, X, y, n_draws=8)
    assert_array_equal(known.n_draws_, 0)
    assert_array_equal(drawn_.n_draws_, 8)
    # the first voter is the same: only its q is told from draws, and MAP estimates say less
    assert drawn_.graph_.voters.feature[0] == known.graph_.voters.feature[0]
    assert drawn_.bounds_[0] > known.bounds_[0]
    many = fitted(model, X, y, n_draws=3000)
    assert many.bounds_[0] == pytest.approx(known.bounds_[0], rel=0.01)
    # a voter that tells q is asked for it where new rows come
    graph = drawn_.graph_
    ways = oracle.ways_of(graph.next, graph.vote, graph.voters.probabilities(X))
    assert_allclose(drawn_.decision_function(X), sum(way.reach * way.H for way in ways), atol=1e-9)


def test_a_voter_that_tells_its_probabilities_may_be_asked_instead():
    X, y = table()
    model = ProbabilisticAdaBoostClassifier(4, voter=NoisyStump(0.2), n_draws="first_rise", random_state=0).fit(X, y)
    assert (model.n_draws_ >= 2).all()
    assert_array_equal(model.graph_.voters.n_draws, 0)
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert (model.n_draws_ != other.n_draws_).any() or (model.bounds_ != other.bounds_).any()


def timed_by(monkeypatch, training, draw):
    now, done = [0.0], {"trained": 0, "drawn": 0}
    once, again = SampledLearner.drawn_once, Sampling.again

    def train(self, weights):
        now[0] += training + draw
        done["trained"] += 1
        return once(self, weights)

    def one_more(self):
        now[0] += draw
        done["drawn"] += 1
        again(self)

    monkeypatch.setattr(SampledLearner, "drawn_once", train)
    monkeypatch.setattr(Sampling, "again", one_more)
    monkeypatch.setattr(growth, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return done


@pytest.mark.parametrize("voter", [None, StumpOracle(0.2)], ids=["known", "oracle"])
def test_dear_voters_are_asked_more_often(monkeypatch, voter):
    X, y = table()
    asked = {}
    for training in (0.0, 1e3):
        with monkeypatch.context() as patch:
            done = timed_by(patch, training, 1.0)
            model = ProbabilisticAdaBoostClassifier(6, n_draws="look_ahead", voter=voter, random_state=0).fit(X, y)
        asked[training] = model.n_draws_
        # every choice trained a voter and drew an answer; the one of a voter's end was forgotten
        assert done["drawn"] == model.n_draws_.sum()
        assert done["trained"] == 1 + done["drawn"]
    assert asked[1e3].mean() > 2 * asked[0.0].mean() and (asked[0.0] >= 1).all()


@pytest.mark.parametrize("training", [0.0, 0.3, 3.0, 30.0, 300.0])
def test_the_first_choice_is_the_documents_comparison(monkeypatch, training):
    X, y = table()
    timed_by(monkeypatch, training, 1.0)
    values = []
    real = growth._ln_z

    def noted(found):
        values.append(real(found))
        return values[-1]

    monkeypatch.setattr(growth, "_ln_z", noted)
    model = ProbabilisticAdaBoostClassifier(1, n_draws="look_ahead", voter=StumpOracle(0.2), random_state=3).fit(X, y)
    # of each choice three: the next voter's, that of one more answer, that of the answers before
    rates = [(a / (training + 1.0), b - c) for a, b, c in zip(values[::3], values[1::3], values[2::3], strict=True)]
    ends = next(k for k, (by_voter, by_draw) in enumerate(rates, start=1) if by_voter <= by_draw)
    assert ends == model.n_draws_[0] == len(rates)
    assert model.normalisers_[0] == pytest.approx(np.exp(values[-1])), "the last answer is forgotten"


@pytest.mark.parametrize("model", [BoostingTreeClassifier(4), MatryoshkaClassifier(levels=2)], ids=["tree", "nest"])
def test_only_sums_have_a_next_voter(model):
    with pytest.raises(ValueError, match=r"n_draws='look_ahead' is for sums.*use 'stopwatch', its forecast"):
        model.set_params(n_draws="look_ahead").fit(*table())


def test_rows_that_nothing_tells_apart_end_it():
    X, y = np.zeros((20, 1)), np.arange(20) % 2
    with pytest.warns(UserWarning, match="No voter beats a constant vote"):
        model = ProbabilisticAdaBoostClassifier(4, n_draws="look_ahead").fit(X, y)
    assert len(model.bounds_) == 1 and np.isfinite(model.predict_proba(X)).all()


@every_learner
def test_entropies_are_those_of_the_weights_at_each_voter(model):
    X, y = table()
    found = fitted(model, X, y)
    expected = [float(entr(D / D.sum()).sum()) - np.log(len(X)) for D in weights_at_nodes(found, X, y)[0].T]
    assert_allclose(found.entropies_, expected, atol=1e-9)
    assert found.entropies_[0] == pytest.approx(0.0, abs=1e-12) and (found.entropies_[1:] < 0.0).all()


def test_growth_by_entropy_takes_the_leaf_of_most_mass_times_concentration():
    X, y = table(200)
    model = BoostingTreeClassifier(24, choose="entropy").fit(X, y)
    at = weights_at_nodes(model, X, y)[0].T
    # as nodes stand in the order of growth, each was ahead of those that had a leaf already and came later
    first = {0: -1}
    for t, following in enumerate(model.graph_.next.tolist()):
        first |= {onward: t for onward in following if onward >= 0}
    ahead = [D.sum() * e for D, e in zip(at, model.entropies_, strict=True)]
    late = [(t, u) for t in range(24) for u in range(t + 1, 24) if first[u] < t]
    assert late and all(ahead[t] <= ahead[u] + 1e-9 for t, u in late)
    by_mass = BoostingTreeClassifier(24).fit(X, y)
    assert by_mass.bounds_[0] == model.bounds_[0] and (by_mass.bounds_ != model.bounds_).any()


@pytest.mark.parametrize(
    "model",
    [
        ProbabilisticAdaBoostClassifier(40, calibrate=None),
        BoostingTreeClassifier(40, calibrate=None),
        MatryoshkaClassifier(levels=5, calibrate=None),
        MatryoshkaClassifier("greedy", max_voters=40, collect="sign", calibrate=None),
    ],
    ids=lambda model: type(model).__name__[:11],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fit_ends_at_the_training_error_that_is_asked_for(model, weighted):
    X, y = table(300)
    weight = np.arange(len(X)) % 2 + 1.0 if weighted else None
    course = []
    for share in (0.5, 0.15, 0.12):
        found = model.__class__(**model.get_params()).set_params(target_error=share).fit(X, y, sample_weight=weight)
        course.append(len(found.bounds_))
        assert 1.0 - found.score(X, y, sample_weight=weight) <= share + 1e-12
    assert course == sorted(course) and course[0] == 1 and course[-1] < 32
    # one voter fewer would not do
    if isinstance(model, ProbabilisticAdaBoostClassifier):
        fewer = ProbabilisticAdaBoostClassifier(course[-1] - 1, calibrate=None).fit(X, y, sample_weight=weight)
        assert 1.0 - fewer.score(X, y, sample_weight=weight) > 0.12


@pytest.mark.parametrize(
    "model",
    [
        ProbabilisticAdaBoostClassifier(20),
        BoostingTreeClassifier(30),
        MatryoshkaClassifier(levels=5),
        MatryoshkaClassifier([3, 2, 2], collect="sign"),
        MatryoshkaClassifier("greedy", max_voters=30, collect="sign"),
    ],
    ids=str,
)
def test_the_error_that_is_followed_is_that_of_the_committee(model, monkeypatch):
    X, y = table(300)
    seen = []
    asked = Growth.training_error
    monkeypatch.setattr(Growth, "training_error", lambda growth: (seen.append(growth), asked(growth))[1])
    weight = np.where(np.arange(len(X)) % 7 == 0, 0.0, np.arange(len(X)) % 2 + 1.0)
    model.set_params(target_error=1e-9, calibrate=None).fit(X, y, sample_weight=weight)
    expected = seen[-1].expected
    assert expected is not None and len(model.bounds_) == len(seen[-1]) > 11
    assert_allclose(expected, model.decision_function(X)[weight > 0.0], rtol=1e-9, atol=1e-9)


def test_following_the_error_takes_memory_by_rows_and_not_by_voters():
    X, y = table(4000)
    peaks = []
    for share in (None, 1e-9):
        model = BoostingTreeClassifier(100, target_error=share, calibrate=None)
        tracemalloc.start()
        model.fit(X, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 8 * 8 * len(X)


def test_of_several_classes_each_score_has_its_share_of_the_error():
    X, _ = table(300)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    found = BoostingTreeClassifier(64, target_error=0.15, calibrate=None).fit(X, y)
    assert 1.0 - found.score(X, y) <= 0.15 and len(found.bounds_) < 3 * 64


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


def test_a_rounding_beyond_one_is_forgiven():
    assert_array_equal(prob_positive(Told(1.0 + 1e-12), np.zeros((2, 1))), 1.0)
    assert_array_equal(prob_positive(Told(-1e-12), np.zeros((2, 1))), 0.0)


def test_answers_may_be_signs_labels_or_truths():
    rng, X = np.random.default_rng(0), np.zeros((3, 1))
    for answers in (np.array([1, -1, 1]), np.array([1.0, 0.0, 2.0]), np.array([True, False, True])):
        assert_array_equal(draw_answers(Drawn(lambda X, said=answers: said), X, rng), [True, False, True])


class Weightless(NoisyStump):
    def fit(self, X, y):
        return super().fit(X, y)


class Narrow(Stump):
    def predict_proba(self, X):
        return np.ones((len(X), 1))


def short(X):
    return np.full(len(X) - 1, 0.5)


@pytest.mark.parametrize(
    ("voter", "message"),
    [
        (Told(1.2), r"prob_positive of Told is 1\.2 on row 0; a probability lies in \[0, 1\]"),
        (Told(-0.1), r"prob_positive of Told is -0\.1 on row 0"),
        (Told(np.nan), "prob_positive of Told is nan on row 0"),
        (Told(lambda X: np.append(short(X), np.inf)), "is inf on row 99"),
        (Told(lambda X: np.full((len(X), 2), 0.5)), r"has shape \(100, 2\); 100 rows need \(100,\)"),
        (Told(short), r"has shape \(99,\); 100 rows need \(100,\)"),
        (Told(lambda X: 0.5), r"has shape \(\); 100 rows need \(100,\)"),
        (Drawn(short), r"draw of Drawn has shape \(99,\); 100 rows need \(100,\)"),
        (Drawn(lambda X: np.ones((len(X), 1))), r"draw of Drawn has shape \(100, 1\)"),
        (Drawn(lambda X: np.full(len(X), np.nan)), "values that are not finite"),
        (Drawn(lambda X: np.full(len(X), "yes")), "values that are not finite"),
        (Drawn(lambda X: [None] * len(X)), "values that are not finite"),
        (KNeighborsClassifier(), r"voter=KNeighborsClassifier\(\) cannot be boosted: its fit takes no sample_weight"),
        (Weightless(), "its fit takes no sample_weight. Choose another"),
        (LinearSVC(), "has neither prob_positive, predict_proba nor draw; a probabilistic voter needs one"),
        (Stump(), "has neither prob_positive, predict_proba nor draw"),
        (LinearRegression(), "neither prob_positive|no classifier"),
        (Narrow(), r"predict_proba of Narrow has shape \(100, 1\); its 2 classes need as many columns"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_voters_that_cannot_serve_are_refused(voter, message):
    with pytest.raises(ValueError, match=message):
        BoostingTreeClassifier(4, voter=voter).fit(*table())


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
@pytest.mark.parametrize(
    ("q", "method"),
    [(0.5, "expected"), (0.3, "sampled"), (0.0, "majority"), (1.0, "expected"), (1.0, "likely_path"), (1.0, "sampled")],
)
def test_a_voter_that_answers_without_looking_is_kept_once(model, q, method):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.warns(UserWarning, match="No voter beats a constant vote"):
        committee = fitted(model, X, y, voter=Told(q), method=method)
    assert len(committee.graph_) == 1
    assert committee.bound_ == pytest.approx(1.0)
    assert_allclose(committee.cost(X), 1.0)
    assert q < 1.0 or committee.graph_.vote[0, 1] == 0.0  # a branch that no row takes
    assert method == "majority" or (committee.predict_proba(X) == 0.5).all()
    assert np.isfinite(committee.predict_proba(X)).all()


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
