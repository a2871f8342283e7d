"""Learners of probabilistic voters beside an enumeration of every way through their voters."""

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.special import ndtr

from committee import (
    AdaBoostClassifier,
    BoostingTreeClassifier,
    MatryoshkaClassifier,
    ProbabilisticAdaBoostClassifier,
)
from committee.learners.nesting.growth import Growth
from committee.learners.nesting.nested_fit import NestedClassifier
from tests.examples import examples
from tests.oracles import nesting as oracle
from tests.probabilistic_voters import Edge, NoisyStump, graph_of, grown, growth_of, weights_and_signs

Floats = NDArray[np.float64]
SHAPES = [[1], [2], [3], [5], [2, 2], [3, 2], [2, 3], [2, 2, 2], [1, 3], [3, 1]]


def assert_same_ways(ways: list[oracle.Way], others: list[oracle.Way], tolerance: float = 1e-9) -> None:
    """Ways that have the same answers have the same probabilities and scores."""
    mine, theirs = ({way.answers: way for way in some} for some in (ways, others))
    assert mine.keys() == theirs.keys()
    for answers, way in mine.items():
        assert_allclose(way.reach, theirs[answers].reach, atol=tolerance)
        assert pytest.approx(theirs[answers].H, abs=tolerance) == way.H


def assert_same(growth: Growth, made: oracle.Ensemble) -> None:
    assert_same_ways(oracle.ways_of(*graph_of(growth)), made.ways)
    assert growth.bound == pytest.approx(made.bound(), rel=1e-9)
    assert_allclose(growth.normalisers, made.normalisers, rtol=1e-9)


@given(st.integers(6, 14), st.integers(0, 2**20), st.sampled_from([0.1, 0.2, 0.3]), st.integers(1, 7))
def test_adaboost_is_that_of_all_its_ways(n: int, seed: int, edge: float, T: int) -> None:
    D, y = weights_and_signs(n, seed)
    growth = grown(ProbabilisticAdaBoostClassifier(T), growth_of(Edge(y, edge, 0.3, seed), D, y, 0.05 / n), T)
    made = oracle.adaboost(Edge(y, edge, 0.3, seed), D, y, T, 0.05 / n)
    assert len(made.ways) == 2**T
    assert_same(growth, made)


@given(st.integers(8, 14), st.integers(0, 2**20), st.sampled_from(SHAPES), st.sampled_from(["confidence", "sign"]))
def test_trees_and_matryoshki_are_those_of_all_their_ways(n: int, seed: int, sizes: list[int], collect: Any) -> None:
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
def test_a_boosting_tree_is_a_matryoshka_of_one_size(n: int, seed: int, T: int) -> None:
    D, y = weights_and_signs(n, seed)
    growth = grown(BoostingTreeClassifier(T), growth_of(Edge(y, 0.2, 0.3, seed), D, y, 0.02 / n), T)
    made = oracle.matryoshka(Edge(y, 0.2, 0.3, seed), D, y, [T], 0.02 / n)
    assert_same(growth, made)
    expected = [sum(float(D @ way.reach) for way in made.ways if t in dict(way.answers)) for t in range(T)]
    assert_allclose(growth.shares, expected, rtol=1e-6)


# --- fitted learners --------------------------------------------------------------------------------------------


def numbers(
    n: int = 40, seed: int = 0, missing: bool = False, noise: float = 0.7
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Rows, labels and weights, all of them different."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] + noise * rng.normal(size=n) > 0).astype(np.int64)
    if missing:
        X[rng.random(size=X.shape) < 0.15] = np.nan
    return X, y, rng.uniform(0.5, 1.5, size=n)


def soft_stumps(X: Floats, y: Floats, D: Floats, softness: float) -> oracle.WeakLearner:
    """The stump of least Z, all thresholds between neighbours and both sides of what is missing being tried."""
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

    def train(weights: Floats) -> Floats:
        Z = [normaliser(weights, y, q) for q in listed]
        order = np.argsort(Z)
        q = listed[int(order[0])]
        says_plus = float(weights @ (q * y)) / float(weights @ q)
        says_minus = float(weights @ ((1 - q) * y)) / float(weights @ (1 - q))
        return q if says_plus > says_minus else 1.0 - q

    return train


def normaliser(w: Floats, y: Floats, q: Floats) -> float:
    plus = y > 0
    sums = [float((w * p)[side].sum()) for p in (q, 1.0 - q) for side in (plus, ~plus)]
    return 2.0 * float(np.sqrt(sums[0] * sums[1]) + np.sqrt(sums[2] * sums[3]))


def naive(model: NestedClassifier, train: oracle.WeakLearner, w: Floats, y: Floats) -> oracle.Ensemble:
    D, eps = w / w.sum(), 0.25 / max(w.sum(), len(w))
    if isinstance(model, ProbabilisticAdaBoostClassifier):
        return oracle.adaboost(train, D, y, model.n_estimators, eps)
    if isinstance(model, MatryoshkaClassifier):
        sizes = [2] * int(model.levels or 1) if model.shape == "binary" else list(model.shape)  # type: ignore[arg-type]
        return oracle.matryoshka(train, D, y, [int(size) for size in sizes], eps)
    assert isinstance(model, BoostingTreeClassifier)
    return oracle.matryoshka(train, D, y, [model.max_voters], eps)


MODELS: list[Callable[..., NestedClassifier]] = [
    lambda **given: ProbabilisticAdaBoostClassifier(7, **given),
    lambda **given: BoostingTreeClassifier(8, **given),
    lambda **given: MatryoshkaClassifier(levels=3, **given),
    lambda **given: MatryoshkaClassifier([3, 2], **given),
]


def assert_fitted_as(model: NestedClassifier, made: oracle.Ensemble, X: Floats, w: Floats, y: Floats) -> None:
    """Whatever a fitted learner says is what the ways say."""
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
def test_fitted_stumps_are_the_naive_ones(
    build: Callable[..., NestedClassifier], softness: float, missing: bool
) -> None:
    # sure stumps leave pure leaves, at which nothing is trained and of which the equations say nothing, if they can
    X, labels, w = numbers(seed=3, missing=missing, noise=0.7 if softness > 0 else 20.0)
    y = 2.0 * labels - 1.0
    model = build(softness=softness).fit(X, labels, w)
    assert_fitted_as(model, naive(model, soft_stumps(X, y, w, softness), w, y), X, w, y)


@pytest.mark.parametrize("build", MODELS)
def test_voters_of_the_user_are_boosted_as_the_equations_say(build: Callable[..., NestedClassifier]) -> None:
    X, labels, w = numbers(30)
    y = 2.0 * labels - 1.0

    def train(weights: Floats) -> Floats:
        return NoisyStump(0.2).fit(X, labels, weights).prob_positive(X)

    model = build(voter=NoisyStump(0.2)).fit(X, labels, w)
    assert_fitted_as(model, naive(model, train, w, y), X, w, y)
    assert_array_equal(model.n_draws_, 0)


# --- voters that are sure ---------------------------------------------------------------------------------------


class HalfRow(ProbabilisticAdaBoostClassifier):
    """Smoothed as AdaBoost's votes are, by 1 / (2 n)."""

    def _growths(self, *args: Any) -> list[Growth]:
        growths = super()._growths(*args)
        for growth in growths:
            growth.eps *= 2.0
        return growths


@pytest.mark.parametrize("seed", range(4))
def test_sure_voters_make_it_adaboost(seed: int) -> None:
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
def test_sure_voters_make_an_ordinary_tree(seed: int, T: int) -> None:
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
