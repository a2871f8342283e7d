"""Rounds of one tree per score, against the same trees one by one."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from committee.data.number_types import MAX_CLASSES
from committee.vote.committee import Committee
from committee.vote.links.probability import Softmax
from committee.voters.forest import Forest
from committee.voters.protocol import Voters
from committee.voters.rounds import Rounds
from tests.cast_votes import forest_that_votes, rows, values_of


def rounds_that_vote(votes: np.ndarray) -> Rounds:
    """Rounds whose tree k of round t gives row i the number ``votes[i, t, k]``."""
    n, T, K = votes.shape
    return Rounds(forest_that_votes(votes.reshape(n, T * K, 1), 1), K)


@st.composite
def ballots(draw: st.DrawFn, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Votes (n, T, K) and weights (T,)."""
    n, T, K = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(least, 4))
    flat = draw(st.lists(values_of, min_size=n * T * K, max_size=n * T * K))
    weights = draw(st.lists(st.floats(-3, 3), min_size=T, max_size=T))
    return np.array(flat).reshape(n, T, K), np.array(weights)


@given(ballots())
def test_votes_and_tallies(case):
    votes, weights = case
    n, T, K = votes.shape
    rounds, X = rounds_that_vote(votes), rows(n)
    rounds.check()
    assert isinstance(rounds, Voters)
    assert (len(rounds), rounds.n_classes, rounds.n_outputs, rounds.kind, rounds.n_features) == (T, K, K, "score", 1)
    assert_array_equal(rounds.votes(X), votes)
    scale = max(1.0, float(np.abs(votes).max()))
    for w in (weights, None):
        expected = np.einsum("ntk,t->nk", votes, np.ones(T) if w is None else w)
        assert_allclose(rounds.tally(X, w), expected, rtol=1e-12, atol=1e-12 * scale)
    assert_array_equal(rounds.tally(X, weights, n_threads=3), rounds.tally(X, weights))
    assert rounds.n_nodes.tolist() == [K * (2 * n - 1)] * T
    assert rounds.nbytes == rounds.forest.nbytes


@given(ballots(), st.data())
def test_selection(case, data):
    votes, weights = case
    n, T, K = votes.shape
    rounds, X = rounds_that_vote(votes), rows(n)
    chosen = data.draw(st.lists(st.integers(0, T - 1), max_size=5))
    some = rounds[chosen]
    assert_array_equal(some.votes(X), votes[:, chosen])
    assert_array_equal(
        some.tally(X, weights[chosen]),
        rounds_that_vote(votes[:, chosen]).tally(X, weights[chosen]) if chosen else np.zeros((n, K)),
    )
    assert_array_equal(rounds[-1].votes(X), votes[:, -1:])
    assert_array_equal(rounds[:2].votes(X), votes[:, :2])


@given(ballots())
def test_spread_is_a_bound_on_every_vote(case):
    votes, _ = case
    spread = rounds_that_vote(votes).spread
    high, low, K = votes.max(axis=0), votes.min(axis=0), votes.shape[2]
    if K == 1:
        assert_array_equal(spread, np.abs(votes[:, :, 0]).max(axis=0))
        return
    pairs = [(j, k) for j in range(K) for k in range(K) if j != k]
    assert_array_equal(spread, [max(0.0, *(high[t, j] - low[t, k] for j, k in pairs)) for t in range(len(high))])
    assert (np.ptp(votes, axis=2) <= spread).all()


@given(ballots(least=2))
def test_in_a_committee(case):
    votes, weights = case
    n, _, K = votes.shape
    X, intercept = rows(n), np.linspace(-1.0, 1.0, K)
    committee = Committee(rounds_that_vote(votes), weights, np.arange(K), Softmax(), None, intercept)
    expected = np.einsum("ntk,t->nk", votes, weights) + intercept
    F = committee.decision_function(X)
    scale = max(1.0, float(np.abs(votes).max()))
    assert_allclose(F, expected[:, 1] - expected[:, 0] if K == 2 else expected, rtol=1e-9, atol=1e-12 * scale)
    assert_array_equal(list(committee.staged_decision_function(X))[-1], F)
    assert (np.abs(committee.margins(X, committee.predict(X))) <= 1.0).all()
    with pytest.raises(ValueError, match="X has 2 columns; the voters need 1"):
        committee.predict(np.zeros((1, 2)))


def test_importances_count_rounds():
    """Tree 2 t + k splits on column k + t; rounds weigh 1 and 3."""
    feature = np.array([0, -1, -1, 1, -1, -1, 1, -1, -1, 2, -1, -1], dtype=np.int32)
    forest = replace(stumps(), n_features=3, feature=feature)
    rounds = Rounds(forest, 2)
    rounds.check()
    assert_allclose(rounds.feature_importances(), [0.25, 0.5, 0.25])
    assert_allclose(rounds.feature_importances(np.array([1.0, -3.0])), [1 / 8, 4 / 8, 3 / 8])
    committee = Committee(rounds, [1.0, -3.0], [0, 1], Softmax())
    assert_allclose(committee.feature_importances_, [1 / 8, 4 / 8, 3 / 8])


def test_pickles_hold_the_trees_once():
    rounds = rounds_that_vote(np.arange(24.0).reshape(2, 3, 4))
    before = len(pickle.dumps(rounds))
    rounds.tally(rows(2))
    assert len(pickle.dumps(rounds)) == before
    assert_array_equal(pickle.loads(pickle.dumps(rounds)).tally(rows(2)), rounds.tally(rows(2)))


def stumps(T: int = 4) -> Forest:
    return forest_that_votes(np.zeros((2, T, 1)), 1)


def test_parts_are_checked():
    labels = forest_that_votes(np.zeros((2, 4), dtype=np.int32), 2)
    wide = forest_that_votes(np.zeros((2, 4, 2)), 2)
    for forest in (labels, wide, replace(stumps(), n_classes=2)):
        with pytest.raises(ValueError, match="leaves hold one number"):
            Rounds(forest, 2)
    for n_outputs in (0, -2, 3, 8):
        with pytest.raises(ValueError, match=f"4 trees are no whole rounds of n_outputs={n_outputs}"):
            Rounds(stumps(), n_outputs)
    with pytest.raises(ValueError, match=r"weights has shape \(4,\); 2 rounds need \(2,\)"):
        Rounds(stumps(), 2).tally(rows(2), np.ones(4))
    with pytest.raises(ValueError, match=f"n_outputs is {MAX_CLASSES + 1}"):
        Rounds(stumps(MAX_CLASSES + 1), MAX_CLASSES + 1).check()
    with pytest.raises(ValueError, match="value is not finite"):
        Rounds(replace(stumps(), value=np.full((12, 1), np.nan)), 2).check()
