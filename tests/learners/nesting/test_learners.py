"""Fitted learners of probabilistic voters: whatever rows, tables, classes, ways to vote and ways to stop."""

import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.voters.vote_graph import PathMajority
from tests.oracles import nesting as oracle
from tests.probabilistic_voters import fitted, weights_at_nodes

METHODS = ["expected", "likely_path", "sampled", "majority"]
LEARNERS = {
    "adaboost": ProbabilisticAdaBoostClassifier(6, random_state=0),
    "tree": BoostingTreeClassifier(8, random_state=0),
    "drop": BoostingTreeClassifier(8, choose="drop", random_state=0),
    "binary": MatryoshkaClassifier(levels=3, random_state=0),
    "sizes": MatryoshkaClassifier([3, 1, 2], random_state=0),
    "sign": MatryoshkaClassifier(levels=3, collect="sign", random_state=0),
    "greedy": MatryoshkaClassifier("greedy", max_voters=9, random_state=0),
}
every_learner = pytest.mark.parametrize("model", LEARNERS.values(), ids=LEARNERS)


def table(n=120, n_classes=2, seed=0, missing=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.6 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


def same(one, other, X, Y=None, tolerance=0.0):
    assert len(one.graph_) == len(other.graph_)
    assert_array_equal(one.graph_.next, other.graph_.next)
    assert_allclose(one.decision_function(X), other.decision_function(X if Y is None else Y), atol=tolerance, rtol=0)
    assert_allclose(one.bounds_, other.bounds_, atol=tolerance, rtol=0)


@every_learner
def test_where_nothing_was_missing_a_gap_is_unknown(model):
    X, y = table()
    committee = fitted(model, X, y)
    q = committee.graph_.voters.probabilities(np.full((1, 4), np.nan))[0]
    assert ((q > 0) & (q < 1)).all()
    assert np.isfinite(committee.predict_proba(np.full((1, 4), np.nan))).all()


@every_learner
def test_stumps_on_categories_are_hard(model):
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "grey"], size=150)
    y = np.where((np.isin(colour, ["red", "blue"])) ^ (rng.random(150) < 0.1), "yes", "no")
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": rng.normal(size=150)})
    frame.loc[::7, "colour"] = np.nan
    committee = fitted(model, frame, y)
    assert committee.score(frame, y) > 0.8
    stumps = committee.graph_.voters
    q = stumps.probabilities(committee.committee_.encode(frame))[frame["colour"].notna()]
    categorical = np.diff(stumps.category_offset) > 0
    assert categorical[0]
    assert set(np.unique(q[:, categorical])) <= {0.0, 1.0}
    assert_array_equal(stumps.softness[categorical], 0.0)


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e150])
@every_learner
def test_the_unit_of_a_column_does_not_matter(model, factor):
    X, y = table()
    same(fitted(model, X, y), fitted(model, X * factor, y), X, X * factor, tolerance=1e-6)


@pytest.mark.one_in(2)
@every_learner
@pytest.mark.parametrize("method", ["expected", "likely_path"])
def test_every_class_is_told_from_the_rest_as_two_classes_are(model, method):
    X, y = load_iris(return_X_y=True)
    w = np.random.default_rng(0).uniform(0.5, 2, size=len(y))  # without ties
    all_ = fitted(model, X, y, w, method=method)
    alone = [fitted(model, X, y == k, w, method=method) for k in range(3)]
    assert_array_equal(all_.decision_function(X), np.column_stack([one.decision_function(X) for one in alone]))
    assert_array_equal(all_.bounds_, np.concatenate([one.bounds_ for one in alone]))
    assert all_.bound_ == pytest.approx(sum(one.bound_ for one in alone))
    assert all_.cost_ == pytest.approx(sum(one.cost_ for one in alone))
    assert_allclose(all_.cost(X), sum(one.cost(X) for one in alone))
    P, error = all_.vote_probability(X)
    assert P.shape == error.shape == (len(X), 3)
    if isinstance(all_, MatryoshkaClassifier):
        begin = np.cumsum([0, *(len(one.graph_) for one in alone)])
        expected = [[node + by for node in doll] for one, by in zip(alone, begin, strict=False) for doll in one.dolls_]
        assert all_.dolls_ == expected


@pytest.mark.one_in(2)
@every_learner
def test_the_sum_of_bounds_bounds_the_error_of_several_classes(model):
    X, y = table(150, 4)
    committee = fitted(model, X, y)
    # the scores' paths are independent: a row is surely right where each score has its sign
    P, _ = committee.vote_probability(X)
    own = np.eye(4, dtype=bool)[y]
    wrong = np.where(own, 1.0 - P, P).sum(axis=1)
    assert wrong.mean() <= committee.bound_ + 0.02
    drawn = [np.mean(fitted(model, X, y, method="sampled", random_state=k).predict(X) != y) for k in range(5)]
    assert np.mean(drawn) <= min(wrong.mean(), 1.0) + 0.05


@every_learner
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_elected_class_is_the_likeliest(model, method, n_classes):
    X, y = table(150, n_classes)
    committee = fitted(model, X, y, method=method, n_paths=200, calibrate=None)
    P = committee.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert ((P >= 0) & (P <= 1)).all()
    assert_array_equal(P.argmax(axis=1), committee.predict(X))
    if n_classes == 2 or method != "majority":  # of three classes no path may say more than "not this one"
        assert committee.score(X, y) > 1.2 / n_classes
    if n_classes == 2 and method != "majority":
        assert_allclose(P[:, 1], 1.0 / (1.0 + np.exp(-2.0 * committee.decision_function(X))))
    elif n_classes == 2:
        n = len(X)
        assert_allclose(P[:, 1], np.clip(committee.vote_probability(X)[0], 0.25 / n, 1.0 - 0.25 / n))


@every_learner
def test_what_ways_to_vote_say_is_what_all_ways_through_say(model):
    X, y = table(80)
    committees = {method: fitted(model, X, y, method=method) for method in METHODS}
    graph = committees["expected"].graph_
    q = graph.voters.probabilities(X)
    ways = oracle.ways_of(graph.next, graph.vote, q)
    steps = np.sum([way.reach * len(way.answers) for way in ways], axis=0)
    expected = np.sum([way.reach * way.H for way in ways], axis=0)
    assert_allclose(committees["expected"].decision_function(X), expected, atol=1e-10)
    assert_allclose(committees["expected"].cost(X), steps)
    assert committees["expected"].cost_ == pytest.approx(steps.mean(), rel=1e-5)
    assert_allclose(committees["expected"].reach_, graph.reach(X).mean(axis=0), rtol=1e-5)
    likely, walked, drawn = [], [], []
    for row in range(len(X)):
        node, H, met = 0, 0.0, 0
        while node >= 0:
            side = 0 if q[row, node] > 0.5 else 1
            H, met, node = H + graph.vote[node, side], met + 1, int(graph.next[node, side])
        likely.append(H)
        walked.append(met)
        drawn.append({round(way.H, 9) for way in ways if way.reach[row] > 0})
    assert_allclose(committees["likely_path"].decision_function(X), likely)
    assert_array_equal(committees["likely_path"].cost(X), walked)
    assert all(
        round(float(H), 9) in ends for H, ends in zip(committees["sampled"].decision_function(X), drawn, strict=True)
    )
    P = np.sum([way.reach * (way.H > 0) for way in ways], axis=0)
    assert_allclose(committees["majority"].vote_probability(X)[0], P, atol=1e-12)
    assert_allclose(committees["majority"].decision_function(X), 2 * P - 1, atol=1e-12)


@every_learner
def test_sampled_paths_are_the_rows_own(model):
    X, y = table(200)
    committee = fitted(model, X, y, method="sampled")
    order = np.random.default_rng(0).permutation(200)
    said = committee.decision_function(X)
    assert_array_equal(committee.decision_function(X[order]), said[order])
    assert_array_equal(committee.decision_function(X[:1]), said[:1])
    assert_array_equal(committee.cost(X[order]), committee.cost(X)[order])
    other = fitted(model, X, y, method="sampled", random_state=1)
    same(fitted(model, X, y), fitted(model, X, y, random_state=1), X)  # nothing else is drawn
    assert (other.decision_function(X) != said).any()


@pytest.mark.parametrize("name", ["adaboost", "binary", "greedy"])
def test_sampled_majorities_are_near_the_exact_ones(name):
    X, y = table(300)
    committee = fitted(LEARNERS[name], X, y, method="majority")
    exact, none = committee.vote_probability(X)
    assert_array_equal(none, 0.0)
    n_paths = 4000
    rows = committee.committee_.encode(X)
    sampled = committee.graph_.positive_paths(rows, n_paths)[:, 0] / n_paths
    error = np.sqrt(exact * (1.0 - exact) / n_paths)
    assert (np.abs(sampled - exact) <= 5.0 * error + 2.0 / n_paths).all()  # the rarest are counted in whole paths
    likely = (exact > 0.01) & (exact < 0.99)
    off = ((sampled - exact) / np.maximum(error, 1e-12))[likely]
    assert abs(off.mean()) < 5.0 / np.sqrt(len(off))
    assert 0.8 < off.std() < 1.2


def test_too_many_ways_are_sampled_and_say_how_well():
    X, y = table(200)
    model = ProbabilisticAdaBoostClassifier(30, method="majority", n_paths=400, random_state=0).fit(X, y)
    majority = model.committee_.voters
    assert isinstance(majority, PathMajority)
    P, error = model.vote_probability(X)
    assert_allclose(error, np.sqrt(P * (1 - P) / 400))
    assert error.max() <= 0.5 / np.sqrt(400)
    assert_allclose(P * 400, np.round(P * 400))
    many, _ = model.set_params(n_paths=6000).fit(X, y).vote_probability(X)
    assert (np.abs(P - many) <= 5.0 * (np.sqrt(many * (1 - many) / 400) + 0.015)).all()


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_target_ends_it_at_the_first_voter_that_reaches_it(model, n_classes):
    X, y = table(200, n_classes)
    whole = fitted(model, X, y)
    target = float(np.clip(whole.bound_ * 1.15, 0.01, 0.99))
    committee = fitted(model, X, y, target_bound=target)
    share = target / (1 if n_classes == 2 else n_classes)
    for first, last in pairwise(committee.graph_.start):
        bounds = committee.bounds_[first:last]
        assert (bounds[:-1] > share).all()
    if committee.bound_ > target:  # not to be had with so many voters of every class
        assert len(committee.graph_) == len(whole.graph_) or n_classes > 2


@pytest.mark.one_in(5)
@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_time_there_is_one_voter_of_each_score(model, n_classes):
    X, y = table(100, n_classes)
    committee = fitted(model, X, y, time_budget=1e-9)
    assert len(committee.graph_) == (1 if n_classes == 2 else n_classes)
    assert committee.score(X, y) > 1.1 / n_classes
    begun = time.process_time()
    fitted(BoostingTreeClassifier(100_000, softness=1.0), *table(2000), time_budget=0.3)
    assert time.process_time() - begun < 5.0


@pytest.mark.parametrize(
    ("shape", "given", "T"),
    [
        ("binary", {"levels": 2}, 4),
        ("binary", {"levels": None}, 64),
        ("greedy", {"max_voters": 5}, 5),
        ([5], {}, 5),
        ((2, 3), {}, 6),
        ([1, 1], {}, 1),
    ],
)
def test_shapes_have_the_voters_that_they_name(shape, given, T):
    X, y = table(100)
    model = MatryoshkaClassifier(shape, **given).fit(X, y)
    assert len(model.graph_) == T
    for name in ("bounds_", "normalisers_", "edges_", "entropies_", "reach_", "n_draws_"):
        assert len(getattr(model, name)) == T
    assert model.reach_[0] == pytest.approx(1.0)
    assert (model.edges_ > 0).all()
    assert (model.normalisers_ < 1).all()


@pytest.mark.parametrize(("n", "levels"), [(10, 3), (16, 4), (20, 4), (64, 6), (200, 6)])
def test_levels_that_are_not_given_are_what_the_rows_allow(n, levels):
    assert len(MatryoshkaClassifier(softness=1.0).fit(*table(n, seed=1)).graph_) == 2**levels


@pytest.mark.parametrize("collect", ["confidence", "sign"])
def test_dolls_are_all_sub_trees_to_the_outermost_but_one(collect):
    X, y = table(100)
    model = MatryoshkaClassifier(levels=3, collect=collect).fit(X, y)
    assert model.dolls_ == [[0, 1], [2, 3], [0, 1, 2, 3], [4, 5], [6, 7], [4, 5, 6, 7]]
    assert MatryoshkaClassifier([3, 2]).fit(X, y).dolls_ == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "model",
    [
        ProbabilisticAdaBoostClassifier(200),
        BoostingTreeClassifier(400),
        BoostingTreeClassifier(200, softness=0.0),
        MatryoshkaClassifier(levels=7),
        MatryoshkaClassifier(levels=7, collect="sign"),
        MatryoshkaClassifier("greedy", max_voters=200),
    ],
    ids=str,
)
def test_the_bound_is_that_of_the_graph_after_hundreds_of_voters(model):
    X, y = table(400)
    model = clone(model).fit(X, y)
    _, left = weights_at_nodes(model, X, y)
    assert model.bound_ == pytest.approx(left.mean(), rel=1e-6)
    assert model.cost_ == pytest.approx(model.cost(X).mean(), rel=1e-6)


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_importances_are_shares_of_what_each_voter_took_from_the_bound(model, n_classes):
    X, y = table(200, n_classes)
    model = fitted(model, X, y)
    graph, earned = model.graph_, np.zeros(4)
    for begin, end in pairwise(graph.start.tolist()):
        bound = 1.0
        for t in range(begin, end):
            earned[graph.voters.feature[t]] += max(0.0, bound - model.bounds_[t])
            bound = model.bounds_[t]
    assert_allclose(model.feature_importances_, earned / earned.sum())
    assert model.feature_importances_.argmax() != 3, "a column of noise"


@every_learner
def test_voters_of_ones_own_have_no_importances(model):
    committee = fitted(model, *table(80), voter=GaussianNB())
    with pytest.raises(
        AttributeError, match=r"feature_importances_ needs stumps \(voter=None\); a given voter may use any"
    ):
        committee.feature_importances_  # noqa: B018
    with pytest.warns(UserWarning, match="one class only"):
        constant = fitted(model, np.zeros((4, 1)), np.zeros(4))
    with pytest.raises(AttributeError, match="this model has no graph: it was trained on rows of one class"):
        constant.graph_  # noqa: B018


@pytest.mark.one_in(5)
@every_learner
@pytest.mark.parametrize("voter", [DecisionTreeClassifier(max_depth=2), GaussianNB()], ids=str)
def test_classifiers_of_others_are_voters(model, voter):
    X, y = table(200)
    committee = fitted(model, X, y, voter=voter)
    graph = committee.graph_
    members = graph.voters.voters
    assert all(type(member) is type(voter) for member in members)
    assert_allclose(graph.voters.probabilities(X)[:, 0], members[0].predict_proba(X)[:, 1])
    assert committee.score(X, y) > 0.7
    ways = oracle.ways_of(graph.next, graph.vote, graph.voters.probabilities(X))
    C = sum(float((way.reach * np.exp(-way.H * (2.0 * y - 1.0))).mean()) for way in ways)
    assert committee.bound_ == pytest.approx(C, rel=1e-4)
    three = fitted(model, *table(200, 3), voter=voter)
    assert three.decision_function(X).shape == (200, 3)
