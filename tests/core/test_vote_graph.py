"""Graphs of voters that answer at random, against every path listed."""

from __future__ import annotations

import math
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from tests.core.cases import check_threads, each, refusals
from tests.oracles import vote_graph as oracle

F64 = NDArray[np.float64]
Case = tuple[oracle.Graph, oracle.Stumps, F64]

N_CATEGORIES = (0, 0, 5, 40)


def stump_graph(stumps: oracle.Stumps, graph: oracle.Graph, n_features: int = 4) -> _core.StumpGraph:
    return _core.StumpGraph(n_features, *stumps.arrays, *graph.arrays)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A few small graphs one behind the other, their stumps, and rows that meet thresholds and have gaps."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    n_categories = draw(st.sampled_from([N_CATEGORIES, (0, 0, 0, 0)]))
    graph, stumps = oracle.random_graph(rng, sizes), oracle.random_stumps(rng, sum(sizes), n_categories)
    X = rng.integers(-4, 5, (draw(st.sampled_from([1, 7, 8, 9, 20])), 4)) / 2
    for j, k in enumerate(n_categories):
        if k:
            X[:, j] = rng.integers(0, k, len(X))
    odd = rng.random(X.shape) < 0.2
    X[odd] = rng.choice([np.nan, -0.0, 31.0, 64.0, 0.3, np.inf, -np.inf], odd.sum())
    return graph, stumps, X


@given(cases())
def test_expectation_and_reach_are_those_of_all_paths(case):
    graph, stumps, X = case
    q = oracle.probabilities(stumps, X)
    scores, cost = stump_graph(stumps, graph).expected(X, 1)
    true_scores, true_cost = oracle.expected(graph, q)
    assert_allclose(scores, true_scores, rtol=1e-11, atol=1e-11)
    assert_allclose(cost, true_cost, rtol=1e-11)
    reach = stump_graph(stumps, graph).reach(X, 1)
    assert_allclose(reach, oracle.reach(graph, q), rtol=1e-11, atol=1e-12)


@given(cases())
def test_the_likely_path_is_that_of_the_likelier_answers(case):
    graph, stumps, X = case
    scores, steps = stump_graph(stumps, graph).likely(X, 1)
    true_scores, true_steps = oracle.likely(graph, oracle.probabilities(stumps, X))
    assert_allclose(scores, true_scores, rtol=1e-12, atol=1e-12)
    assert_array_equal(steps, true_steps)


@given(cases(), st.integers(1, 5))
def test_drawn_paths_are_those_of_the_naive_twin(case, n_paths):
    graph, stumps, X = case
    keys = _core.row_keys(X, 3, 1)
    drawn = stump_graph(stumps, graph).sampled(X, keys, n_paths, 1)
    for ours, theirs in zip(drawn, oracle.sampled(graph, oracle.probabilities(stumps, X), keys, n_paths), strict=True):
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@given(cases())
def test_a_matrix_of_probabilities_says_what_its_stumps_say(case):
    graph, stumps, X = case
    q, keys = _core.stump_probabilities(X, *stumps.arrays, 1), _core.row_keys(X, 0, 1)
    by_stumps, by_matrix = stump_graph(stumps, graph), _core.MatrixGraph(*graph.arrays)
    assert by_stumps.reach(X, 1).tobytes() == by_matrix.reach(q, 1).tobytes()
    for ours, theirs in (
        (by_stumps.expected(X, 1), by_matrix.expected(q, 1)),
        (by_stumps.likely(X, 1), by_matrix.likely(q, 1)),
        (by_stumps.sampled(X, keys, 3, 1), by_matrix.sampled(q, keys, 3, 1)),
    ):
        assert [a.tobytes() for a in ours] == [a.tobytes() for a in theirs]


@given(cases())
def test_a_row_takes_the_path_that_it_takes_alone(case):
    graph, stumps, X = case
    walked = stump_graph(stumps, graph)

    def answers(rows):
        keys = _core.row_keys(rows, 5, 1)
        return [*walked.expected(rows, 1), *walked.likely(rows, 1), *walked.sampled(rows, keys, 2, 1)]

    alone = [answers(X[i : i + 1]) for i in range(len(X))]
    for k, of_all in enumerate(answers(X)):
        assert of_all.tobytes() == np.concatenate([one[k] for one in alone]).tobytes()


def test_ties_of_stumps_are_answered_with_minus_unless_hard_and_descending():
    """q = 1/2 is not above 1/2; a hard stump is never undecided."""
    X = np.array([[0.0], [-0.0], [5e-324], [-5e-324], [np.inf], [-np.inf], [np.nan]])
    graph = oracle.Graph(np.array([[-1, -1]], np.int32), np.array([[1.0, -1.0]]), np.array([0, 1]))
    for c in (0.0, np.inf, -np.inf, 1.7e308):
        for softness in (0.0, 1e-320):
            for ascending in (0, 1):
                for missing in (0.0, 0.5, 0.75, 1.0):
                    stumps = oracle.one_stump(c, softness, bool(ascending), missing)
                    expected = np.where(oracle.probabilities(stumps, X) > 0.5, 1.0, -1.0)
                    if softness > 0 and c == 0.0:  # the sides of the threshold, where q is 1/2 but for rounding
                        expected[2:4, 0] = [1.0, -1.0] if ascending else [-1.0, 1.0]
                    scores, steps = stump_graph(stumps, graph, 1).likely(X, 1)
                    assert_array_equal(scores, expected)
                    assert (steps == 1).all()


def test_frequencies_tend_to_the_probabilities():
    rng = np.random.default_rng(7)
    graph, n_paths = oracle.random_graph(rng, (6, 5)), 20_000
    q = rng.random((10, 11))
    scores, positive, steps = _core.MatrixGraph(*graph.arrays).sampled(q, _core.row_keys(q, 1, 1), n_paths, 1)
    for d in range(2):
        ways = list(oracle.paths(graph, d))
        for i in range(len(q)):
            p = sum(path.probability(q[i]) for path in ways if path.score(graph) > 0)
            assert abs(positive[i, d] - n_paths * p) <= 5 * math.sqrt(n_paths * p * (1 - p)) + 1e-6
            assert min(abs(path.score(graph) - scores[i, d]) for path in ways) < 1e-12
    cost = _core.MatrixGraph(*graph.arrays).expected(q, 1)[1]
    assert (np.abs(steps - cost) <= 5 * 11 / math.sqrt(n_paths)).all()


def test_other_seeds_and_other_paths_are_other_draws():
    q = np.full((2_000, 1), 0.5)
    graph = _core.MatrixGraph(np.array([[-1, -1]], np.int32), np.array([[1.0, -1.0]]), np.array([0, 1]))
    rows = np.arange(2_000.0)[:, None]
    first, second = (graph.sampled(q, _core.row_keys(rows, seed, 1), 1, 1)[0].ravel() for seed in (0, 1))
    later = graph.sampled(q, _core.row_keys(rows, 0, 1), 2, 1)[0].ravel()
    for a, b in ((first, second), (first, later), (first[1:], first[:-1])):
        assert abs(np.mean(a * b)) <= 5 / math.sqrt(2_000)
    assert abs(first.mean()) <= 5 / math.sqrt(2_000)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 7, 8, 9, 30]), st.integers(1, 4))
def test_keys_are_those_of_the_naive_twin(case_seed, seed, n, p):
    rng = np.random.default_rng(case_seed)
    X = rng.choice([0.0, -0.0, 1.5, -2.0, np.nan, np.inf], (n, p)) * rng.choice([1.0, rng.normal()], (n, p))
    assert _core.row_keys(X, seed, 1).tolist() == [oracle.row_key(row, seed) for row in X.tolist()]


def test_keys_know_one_zero_and_one_nan():
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    X = np.array([[0.0, np.nan], [-0.0, odd[0]], [0.0, odd[1]], [np.nan, 0.0]])
    keys = _core.row_keys(X, 9, 1)
    assert keys[0] == keys[1] == keys[2] != keys[3]


def large_case() -> tuple[_core.StumpGraph, F64]:
    rng = np.random.default_rng(0)
    graph, stumps = oracle.random_graph(rng, (40, 30)), oracle.random_stumps(rng, 70, N_CATEGORIES)
    X = rng.integers(-4, 5, (40_000, 4)) / 2
    X[rng.random(X.shape) < 0.1] = np.nan
    return stump_graph(stumps, graph), X


def test_any_number_of_threads_gives_the_same_bits():
    graph, X = large_case()
    keys = _core.row_keys(X, 0, 1)

    def everything(n):
        walks = (graph.expected(X, n), graph.likely(X, n), graph.sampled(X, keys, 2, n))
        return [_core.row_keys(X, 0, n), graph.reach(X, n), *(array for walk in walks for array in walk)]

    check_threads(everything)


def test_no_rows_give_no_scores():
    graph = _core.MatrixGraph(np.array([[-1, -1]], np.int32), np.ones((1, 2)), np.array([0, 1]))
    assert graph.expected(np.empty((0, 1)), 1)[0].shape == (0, 1)
    assert graph.likely(np.empty((0, 1)), 1)[1].shape == (0,)
    assert graph.sampled(np.empty((0, 1)), np.empty(0, np.uint64), 1, 1)[1].shape == (0, 1)


def test_graphs_that_cannot_be_are_refused():
    rng = np.random.default_rng(0)
    graph = oracle.Graph(
        np.array([[1, 2], [2, -1], [-1, -1], [-1, -1]], np.int32), np.ones((4, 2)), np.array([0, 3, 4])
    )
    stumps = oracle.random_stumps(rng, 4, N_CATEGORIES)
    _core.MatrixGraph(*graph.arrays)

    def following(t, to):
        changed = graph.next.copy()
        changed[t, 1] = to
        return changed

    wrong = {
        "no later node of the same score at node 1": each(next=[following(1, 1)]),
        "no later node": each(next=[following(*link) for link in ((1, 0), (1, 3), (3, 4), (0, -2))]),
        "vote is not finite at node 0": each(vote=[np.full((4, 2), np.nan)]),
        "must be": each(vote=[np.ones((3, 2))]),
        "score 1 has no nodes": each(start=[np.array([0, 3, 3, 4])]),
        "score 0 has no nodes|score 1 has no nodes": each(start=[np.array([0, 5, 4])]),
        "start must run": each(start=[np.array([1, 4]), np.array([0, 3])]),
        "one number per score": each(start=[np.array([0])]),
    }
    for change, message in refusals(wrong):
        bad = replace(graph, **change)
        with pytest.raises(ValueError, match=message):
            _core.MatrixGraph(*bad.arrays)
        with pytest.raises(ValueError, match=message):
            stump_graph(stumps, bad)
    with pytest.raises(ValueError, match="one row per stump"):
        stump_graph(oracle.random_stumps(rng, 3, N_CATEGORIES), graph)


def test_rows_that_do_not_fit_are_refused():
    rng = np.random.default_rng(0)
    graph, stumps = oracle.random_graph(rng, (3,)), oracle.random_stumps(rng, 3, N_CATEGORIES)
    X, q, keys = np.zeros((2, 4)), np.zeros((2, 3)), np.zeros(2, np.uint64)
    by_stumps, by_matrix = stump_graph(stumps, graph), _core.MatrixGraph(*graph.arrays)
    with pytest.raises(ValueError, match="number of columns"):
        by_stumps.likely(q, 1)
    with pytest.raises(ValueError, match="one column per node"):
        by_matrix.expected(X, 1)
    for wrong in (np.nan, -0.1, 1.1):
        with pytest.raises(ValueError, match="q must lie"):
            by_matrix.reach(q + wrong, 1)
    with pytest.raises(ValueError, match="one number per row"):
        by_stumps.sampled(X, keys[1:].copy(), 1, 1)
    with pytest.raises(ValueError, match="n_paths"):
        by_matrix.sampled(q, keys, 0, 1)
