"""Learners of probabilistic voters beside an enumeration of every way through their voters."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from committee import AdaBoostClassifier, BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.bounds.nested_trees import nesting_rate
from committee.data.rows import scaled_weights
from committee.learners.nesting import nested_trees
from committee.learners.nesting.nested_trees import Collector, GreedyNest
from committee.report import BoundDisplay
from tests.limits import examples
from tests.oracles import nesting as oracle
from tests.probabilistic_voters import (
    Edge,
    NoisyStump,
    graph_of,
    grown,
    growth_of,
    table,
    weights_and_signs,
    weights_at_nodes,
)

SHAPES = [[1], [2], [3], [5], [2, 2], [3, 2], [2, 3], [2, 2, 2], [1, 3], [3, 1]]


def assert_same_ways(ways, others, tolerance=1e-9):
    mine, theirs = ({way.answers: way for way in some} for some in (ways, others))
    assert mine.keys() == theirs.keys()
    for answers, way in mine.items():
        assert_allclose(way.reach, theirs[answers].reach, atol=tolerance)
        assert pytest.approx(theirs[answers].H, abs=tolerance) == way.H


def assert_same(growth, made):
    assert_same_ways(oracle.ways_of(*graph_of(growth)), made.ways)
    assert growth.bound == pytest.approx(made.bound(), rel=1e-9)
    assert_allclose(growth.normalisers, made.normalisers, rtol=1e-9)


@given(st.integers(6, 14), st.integers(0, 2**20), st.sampled_from([0.1, 0.2, 0.3]), st.integers(1, 7))
def test_adaboost_is_that_of_all_its_ways(n, seed, edge, T):
    D, y = weights_and_signs(n, seed)
    growth = grown(ProbabilisticAdaBoostClassifier(T), growth_of(Edge(y, edge, 0.3, seed), D, y, 0.05 / n), T)
    made = oracle.adaboost(Edge(y, edge, 0.3, seed), D, y, T, 0.05 / n)
    assert len(made.ways) == 2**T
    assert_same(growth, made)


@given(st.integers(8, 14), st.integers(0, 2**20), st.sampled_from(SHAPES), st.sampled_from(["confidence", "sign"]))
def test_trees_and_matryoshki_are_those_of_all_their_ways(n, seed, sizes, collect):
    D, y = weights_and_signs(n, seed)
    model = MatryoshkaClassifier(sizes, collect=collect)
    growth = growth_of(Edge(y, 0.2, 0.3, seed), D, y, 0.02 / n)
    for _ in model._grow(growth):  # beyond the last voter, to the collection of the last leaves
        pass
    made = oracle.matryoshka(Edge(y, 0.2, 0.3, seed), D, y, sizes, 0.02 / n, collect)
    tolerance = 1e-5 if collect == "sign" else 1e-9  # signs are told by probabilities of float32
    assert_same_ways(oracle.ways_of(*graph_of(growth)), made.ways, tolerance)
    assert growth.bound == pytest.approx(made.bound(), rel=tolerance)
    if len(sizes) > 1:
        assert growth.collected == made.dolls
    if collect == "confidence":
        assert_allclose(growth.normalisers, made.normalisers, rtol=1e-9)


@given(st.integers(8, 14), st.integers(0, 2**20), st.integers(1, 6))
def test_a_boosting_tree_is_a_matryoshka_of_one_size(n, seed, T):
    D, y = weights_and_signs(n, seed)
    growth = grown(BoostingTreeClassifier(T), growth_of(Edge(y, 0.2, 0.3, seed), D, y, 0.02 / n), T)
    made = oracle.matryoshka(Edge(y, 0.2, 0.3, seed), D, y, [T], 0.02 / n)
    assert_same(growth, made)
    expected = [sum(float(D @ way.reach) for way in made.ways if t in dict(way.answers)) for t in range(T)]
    assert_allclose(growth.shares, expected, rtol=1e-6)


def numbers(n=40, seed=0, missing=False, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] + noise * rng.normal(size=n) > 0).astype(np.int64)
    if missing:
        X[rng.random(size=X.shape) < 0.15] = np.nan
    return X, y, scaled_weights(rng.uniform(0.5, 1.5, size=n))


def soft_stumps(X, y, D, softness):
    listed = []
    for j in range(X.shape[1]):
        there = ~np.isnan(X[:, j])
        x, w = X[there, j], D[there]
        s = softness * np.sqrt(np.average((x - np.average(x, weights=w)) ** 2, weights=w))
        values = np.unique(x)
        for c in (values[1:] + values[:-1]) / 2:
            q = (X[:, j] > c).astype(float) if s == 0 else ndtr((X[:, j] - c) / s)
            for side in (1.0, 0.0) if not there.all() else (1.0,):
                listed.append(np.where(there, q, side))

    def train(weights):
        Z = [normaliser(weights, y, q) for q in listed]
        order = np.argsort(Z)
        q = listed[int(order[0])]
        says_plus = float(weights @ (q * y)) / float(weights @ q)
        says_minus = float(weights @ ((1 - q) * y)) / float(weights @ (1 - q))
        return q if says_plus > says_minus else 1.0 - q

    return train


def normaliser(w, y, q):
    plus = y > 0
    sums = [float((w * p)[side].sum()) for p in (q, 1.0 - q) for side in (plus, ~plus)]
    return 2.0 * float(np.sqrt(sums[0] * sums[1]) + np.sqrt(sums[2] * sums[3]))


def naive(model, train, w, y):
    D, eps = w / w.sum(), 0.25 / max(w.sum(), len(w))
    if isinstance(model, ProbabilisticAdaBoostClassifier):
        return oracle.adaboost(train, D, y, model.n_estimators, eps)
    if isinstance(model, MatryoshkaClassifier):
        sizes = [2] * int(model.levels or 1) if model.shape == "binary" else list(model.shape)
        return oracle.matryoshka(train, D, y, [int(size) for size in sizes], eps)
    assert isinstance(model, BoostingTreeClassifier)
    return oracle.matryoshka(train, D, y, [model.max_voters], eps)


MODELS = [
    lambda **given: ProbabilisticAdaBoostClassifier(7, **given),
    lambda **given: BoostingTreeClassifier(8, **given),
    lambda **given: MatryoshkaClassifier(levels=3, **given),
    lambda **given: MatryoshkaClassifier([3, 2], **given),
]


def assert_fitted_as(model, made, X, w, y):
    graph = model.graph_
    assert_same_ways(oracle.ways_of(graph.next, graph.vote, graph.voters.probabilities(X)), made.ways, 1e-5)
    assert_allclose(model.decision_function(X), made.expected_score(), atol=1e-4)
    assert_allclose(model.cost(X), made.cost(), atol=1e-5)
    assert model.bound_ == pytest.approx(made.bound(), rel=1e-5)
    assert model.bounds_[-1] == model.bound_
    assert model.cost_ == pytest.approx(float(made.D @ made.cost()), rel=1e-5)
    assert_allclose(model.normalisers_, made.normalisers, rtol=1e-5)
    P, error = model.vote_probability(X)
    assert_array_equal(error, 0.0)
    assert_allclose(P, np.sum([way.reach * (way.H > 0) for way in made.ways], axis=0), atol=1e-5)
    wrong = float(made.D @ np.where(y > 0, 1.0 - P, P))
    assert wrong == pytest.approx(made.expected_error(), abs=1e-5)
    assert wrong <= model.bound_
    # what is expected errs no more than the bound either, by Jensen; the majority twice as often as a path, by Markov
    assert float(made.D @ ((made.expected_score() > 0) != (y > 0))) <= model.bound_
    assert float(made.D @ ((P > 0.5) != (y > 0))) <= 2.0 * wrong + 1e-9


@pytest.mark.parametrize("build", MODELS)
@pytest.mark.parametrize("softness", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("missing", [False, True])
def test_fitted_stumps_are_the_naive_ones(build, softness, missing):
    # sure stumps leave pure leaves, at which nothing is trained and of which the equations say nothing, if they can
    X, labels, w = numbers(seed=3, missing=missing, noise=0.7 if softness > 0 else 20.0)
    y = 2.0 * labels - 1.0
    model = build(softness=softness).fit(X, labels, w)
    assert_fitted_as(model, naive(model, soft_stumps(X, y, w, softness), w, y), X, w, y)


@pytest.mark.parametrize("build", MODELS)
def test_voters_of_the_user_are_boosted_as_the_equations_say(build):
    X, labels, w = numbers(30)
    y = 2.0 * labels - 1.0

    def train(weights):
        return NoisyStump(0.2).fit(X, labels, weights).prob_positive(X)

    model = build(voter=NoisyStump(0.2)).fit(X, labels, w)
    assert_fitted_as(model, naive(model, train, w, y), X, w, y)
    assert_array_equal(model.n_draws_, 0)


class HalfRow(ProbabilisticAdaBoostClassifier):
    def _growths(self, *args):
        growths = super()._growths(*args)
        for growth in growths:
            growth.eps *= 2.0
        return growths


@pytest.mark.parametrize("seed", range(4))
def test_sure_voters_make_it_adaboost(seed):
    X, y, w = numbers(200, seed)
    model = HalfRow(15, softness=0.0).fit(X, y, w)
    adaboost = AdaBoostClassifier(15, vote="confidence").fit(X, y, w)
    assert_allclose(model.decision_function(X), adaboost.decision_function(X), atol=1e-5)
    assert_array_equal(model.predict(X), adaboost.predict(X))
    # with its own smoothing the votes are near, and larger
    own = ProbabilisticAdaBoostClassifier(15, softness=0.0).fit(X, y, w)
    assert np.mean(own.predict(X) == adaboost.predict(X)) > 0.97
    first, theirs = own.graph_.vote[0], model.graph_.vote[0]
    assert (np.abs(first) > np.abs(theirs)).all()
    assert_allclose(first, theirs, rtol=0.2)


@settings(max_examples=examples(6, 60))
@given(st.integers(0, 2**20), st.integers(1, 12))
def test_sure_voters_make_an_ordinary_tree(seed, T):
    X, labels, w = numbers(40, seed)
    model = BoostingTreeClassifier(T, softness=0.0).fit(X, labels, w)
    graph = model.graph_
    q = graph.voters.probabilities(X)
    assert set(np.unique(q)) <= {0.0, 1.0}
    assert set(np.unique(graph.reach(X))) <= {0.0, 1.0}
    ways = oracle.ways_of(graph.next, graph.vote, q)
    assert len(ways) == len(graph) + 1
    assert_array_equal(np.sum([way.reach for way in ways], axis=0), 1.0)
    D, y = w / w.sum(), 2.0 * labels - 1.0
    for way in ways:
        P, N = (float((D * way.reach)[y == sign].sum()) for sign in (1.0, -1.0))
        if P > 0 and N > 0:
            # each step up from the root smooths by 1 / (4 n) of what is left there
            assert abs(way.H - 0.5 * np.log(P / N)) < len(way.answers) * 0.25 / (40 * min(P, N))
        else:
            assert (way.H > 0) == (P > N)
    for method in ("expected", "likely_path", "sampled"):
        assert_allclose(model.set_params(method=method).fit(X, labels, w).decision_function(X), graph.tally(X)[:, 0])
    majority = model.set_params(method="majority").fit(X, labels, w)
    assert_array_equal(majority.decision_function(X), np.sign(graph.tally(X)[:, 0]))


def noisy_numbers(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(np.int64)
    return X, y, scaled_weights(rng.uniform(0.5, 1.5, size=n))


@given(st.integers(0, 2**20), st.integers(1, 11), st.sampled_from([0.05, 0.2, 0.3]))
@settings(max_examples=25)
def test_it_is_the_naive_one(seed, T, flip):
    X, labels, w = noisy_numbers(40, seed)
    y = 2.0 * labels - 1.0

    def train(weights):
        return NoisyStump(flip).fit(X, labels, weights).prob_positive(X)

    model = MatryoshkaClassifier("greedy", max_voters=T, voter=NoisyStump(flip)).fit(X, labels, w)
    made = oracle.greedy(train, w / w.sum(), y, T, 0.25 / max(w.sum(), 40))
    assert len(model.graph_) == T
    assert model.dolls_ == made.dolls
    assert model.bound_ == pytest.approx(made.bound(), rel=1e-5)
    assert_allclose(model.decision_function(X), made.expected_score(), atol=1e-4)
    assert_allclose(model.cost(X), made.cost(), rtol=1e-5)


def is_consistent(dolls):
    return all(
        set(inner) < set(outer) or not set(inner) & set(outer) for k, outer in enumerate(dolls) for inner in dolls[:k]
    )


@pytest.mark.parametrize("rate", ["voters", "seconds"])
@pytest.mark.parametrize("softness", [0.0, 0.25])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_falls_and_dolls_lie_inside_each_other(rate, softness, seed):
    X, y, _ = noisy_numbers(150, seed)
    model = MatryoshkaClassifier("greedy", max_voters=24, rate=rate, softness=softness).fit(X, y)
    assert (np.diff(model.bounds_) < 0).all()
    assert is_consistent(model.dolls_)
    assert all(doll == sorted(doll) and len(doll) > 1 and doll[-1] < 24 for doll in model.dolls_)
    assert model.bounds_[-1] == model.bound_


def test_it_collects_where_the_nested_rate_is_the_lower_and_only_there(monkeypatch):
    looked = []
    collected = []
    judge, collect = GreedyNest.pays_nested, Collector.collected

    def spied(self, site, newest, last):
        says = judge(self, site, newest, last)
        # C(T - 1), C(T) and C(T + 1), by what the leaves weigh
        leaves = site.leaves()
        now = sum(float(leaf.weights.sum(dtype=np.float64)) for leaf in leaves)
        new = newest.leaves()
        before = now - sum(float(leaf.weights.sum(dtype=np.float64)) for leaf in new) + newest.entry.mass
        largest = max((leaf for leaf in leaves if self.voter_at(leaf)[0] is not None), key=lambda leaf: leaf.mass)
        found = self.voter_at(largest)[0]
        assert found is not None
        after = now - largest.mass * (1.0 - float(found.Z.sum()))
        T = sum(len(inner.nodes) for inner in site.sites())
        nested = float(nesting_rate(T, now / site.entry.mass))
        assert says == (nested < (after - before) / (2.0 * site.entry.mass))
        looked.append((len(site.sites()), says))
        return says

    def counted(self, entry, leaves, nodes):
        assert looked[-1][1]
        collected.append(len(looked))
        return collect(self, entry, leaves, nodes)

    monkeypatch.setattr(GreedyNest, "pays_nested", spied)
    monkeypatch.setattr(Collector, "collected", counted)
    X, y, _ = noisy_numbers(200, 0)
    model = MatryoshkaClassifier("greedy", max_voters=30, softness=0.25, calibrate=None).fit(X, y)
    assert len(model.dolls_) == len(collected) == sum(says for _, says in looked) > 0
    assert any(not says for _, says in looked)
    assert all(sites > 1 for sites, _ in looked)


class Clock:
    """A clock by which the first training takes a second, and each later one `factor` times as long."""

    def __init__(self, factor):
        self.now, self.step, self.factor, self.running = 0.0, 1.0, factor, False

    def perf_counter(self):
        if self.running:
            self.now += self.step
            self.step *= self.factor
        self.running = not self.running
        return self.now


def test_where_every_voter_takes_a_second_seconds_are_voters(monkeypatch):
    X, y, _ = noisy_numbers(150, 1)
    by_voters = MatryoshkaClassifier("greedy", max_voters=20, softness=0.25).fit(X, y)
    monkeypatch.setattr(nested_trees, "time", Clock(1.0))
    by_seconds = MatryoshkaClassifier("greedy", max_voters=20, softness=0.25, rate="seconds").fit(X, y)
    assert by_voters.dolls_ == by_seconds.dolls_
    assert_array_equal(by_voters.decision_function(X), by_seconds.decision_function(X))


def test_voters_that_grow_slower_put_collecting_off(monkeypatch):
    dolls = []
    X, y, _ = noisy_numbers(150, 1)
    for factor in (0.5, 1.0, 2.0):
        monkeypatch.setattr(nested_trees, "time", Clock(factor))
        dolls.append(len(MatryoshkaClassifier("greedy", max_voters=12, softness=0.25, rate="seconds").fit(X, y).dolls_))
    # what the nested rate costs is the mean of the seconds so far, the simple one's the seconds of now
    assert dolls[0] <= dolls[1] <= dolls[2]
    assert dolls[0] < dolls[2]


def test_it_ends_by_itself_where_no_leaf_is_left_to_improve():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    D = np.full(30, 1 / 30)
    # the same voter at every leaf but the first: it tells nothing twice
    growth = growth_of(lambda _: 0.5 + 0.3 * y if len(growth) == 0 else np.full(30, 0.5), D, y, 0.25 / 30)
    assert sum(1 for _ in GreedyNest(growth, Collector(growth, "confidence"), "voters").grow(growth.root())) == 1


def test_signs_may_be_collected_greedily_too():
    X, y, _ = noisy_numbers(150, 2)
    model = MatryoshkaClassifier("greedy", max_voters=16, collect="sign").fit(X, y)
    assert model.bound_ == pytest.approx(weights_at_nodes(model, X, y)[1].mean(), rel=1e-4)
    assert model.score(X, y) > 0.7


class Scale(ClassifierMixin, BaseEstimator):
    asked = 0

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def draw(self, X, rng):
        type(self).asked += 1
        return X[:, 0] + rng.normal(size=len(X))


class ScaleThatTells(Scale):
    def prob_positive(self, X):
        return 1.0 / (1.0 + np.exp(-1.7 * X[:, 0]))


def test_a_bound_below_rounding_is_the_product_of_the_normalisers():
    X, _ = table()
    model = ProbabilisticAdaBoostClassifier(200, softness=0.0).fit(X, X[:, 0] > 0)
    assert (model.bounds_ > 0.0).all()
    assert_allclose(np.log(model.bounds_), np.cumsum(np.log(model.normalisers_)), rtol=1e-9)
    BoundDisplay.from_estimator(model)


def test_a_voter_that_tells_its_probabilities_is_not_asked():
    model = BoostingTreeClassifier(4, voter=ScaleThatTells(), random_state=0).fit(*table())
    assert not model.n_draws_.any()


def test_an_oracle_is_asked_once_for_all_ways_through():
    X, y = table()
    model = MatryoshkaClassifier(levels=4, voter=Scale(), n_draws=10, random_state=0).fit(X, y)
    Scale.asked = 0
    P, error = model.vote_probability(X)
    assert Scale.asked == 10 * len(model.bounds_)
    assert not error.any()
    assert ((P >= 0.0) & (P <= 1.0)).all()


@pytest.mark.slow
def test_ways_are_counted_for_each_score():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 80
    model = BoostingTreeClassifier(64, softness=0.5).fit(X, y)
    assert len(model.bounds_) > 4096
    assert not model.vote_probability(X[:5])[1].any()


def test_a_softness_beyond_all_numbers_tells_nothing_apart():
    X, y = table()
    with pytest.warns(UserWarning, match="No voter beats a constant vote"):
        model = BoostingTreeClassifier(2, softness=1e9, calibrate=None).fit(1e300 * X, y)
    assert_allclose(model.predict_proba(1e300 * X)[:, 1], y.mean(), atol=0.01)


def test_a_users_voter_is_given_weights_of_every_size():
    X, y = table(20)
    with np.errstate(over="raise", invalid="raise"):
        model = ProbabilisticAdaBoostClassifier(12, voter=DecisionTreeClassifier()).fit(X, y, np.full(20, 1e100))
    assert model.score(X, y) == 1.0


def test_the_warning_names_the_line_of_the_caller():
    with pytest.warns(UserWarning, match="No voter beats a constant vote") as caught:
        BoostingTreeClassifier(2).fit(np.ones((20, 2)), np.arange(20) % 2)
    assert caught[0].filename == __file__
