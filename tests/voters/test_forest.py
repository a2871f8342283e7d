"""`Forest` against the naive walk, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

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
from tests.cast_votes import forest_by_hand, forest_that_votes, rows, values_of
from tests.oracles import traverse


@st.composite
def forests(draw: st.DrawFn) -> tuple[Forest, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.integers(2, 5))
    outputs = draw(st.sampled_from([None, n_classes, *([1] if n_classes == 2 else [])]))
    categories = tuple(draw(st.lists(st.sampled_from([0, 0, 1, 5, 32, 33, 100]), min_size=1, max_size=5)))
    forest = traverse.random_forest(
        rng,
        n_trees=draw(st.integers(1, 6)),
        n_splits=draw(st.integers(0, 12)),
        n_categories=categories,
        n_classes=n_classes,
        n_outputs=outputs,
    )
    return forest, traverse.random_rows(rng, draw(st.integers(0, 30)), categories), rng


@given(forests())
def test_walks_like_the_naive_version(case):
    forest, X, rng = case
    forest.check()
    weights = rng.normal(size=len(forest))
    assert_array_equal(forest.apply(X), traverse.apply(forest, X))
    votes = forest.votes(X)
    assert_array_equal(votes, traverse.votes(forest, X))
    assert votes.dtype == (np.int16 if forest.kind == "label" else np.float64)
    expected = traverse.tally(forest, X, weights)
    assert_allclose(forest.tally(X, weights), expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(forest.tally(X), forest.tally(X, np.ones(len(forest))))


@given(forests(), st.data())
def test_selected_trees_vote_as_they_did(case, data):
    forest, X, _ = case
    T = len(forest)
    index = data.draw(
        st.one_of(
            st.integers(-T, T - 1),
            st.slices(T),
            st.lists(st.integers(-T, T - 1)).map(lambda chosen: np.array(chosen, dtype=np.intp)),
            st.lists(st.booleans(), min_size=T, max_size=T).map(np.array),
        )
    )
    chosen = forest[index]
    chosen.check()
    columns = np.atleast_1d(np.arange(T)[index])
    assert len(chosen) == len(columns)
    assert_array_equal(chosen.n_nodes, forest.n_nodes[columns])
    assert_array_equal(chosen.spread, forest.spread[columns])
    assert_array_equal(chosen.votes(X), forest.votes(X)[:, columns])


@given(forests())
def test_cut_and_joined_again(case):
    forest, X, _ = case
    trees = [forest[t] for t in range(len(forest))]
    joined = Forest.concatenate(trees)
    assert len(trees) == len(forest)
    for name in ("offset", "feature", "left", "category_offset", "category_bits", "gain", "count"):
        assert_array_equal(getattr(joined, name), getattr(forest, name))
    assert_array_equal(joined.tally(X), forest.tally(X))
    assert_array_equal(Forest.joined(trees).tally(X), forest.tally(X))
    assert not trees


@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("n", [1, 7, 5000])
def test_same_bits_for_any_number_of_threads(outputs, n):
    rng = np.random.default_rng(0)
    forest = traverse.random_forest(rng, n_trees=40, n_splits=20, n_outputs=outputs)
    X = traverse.random_rows(rng, n)
    weights = rng.normal(size=40)
    for n_threads in (2, 5):
        assert forest.tally(X, weights, n_threads).tobytes() == forest.tally(X, weights, 1).tobytes()
        assert forest.apply(X, n_threads).tobytes() == forest.apply(X, 1).tobytes()


def small(**changes: Any) -> Forest:
    """Two trees on two columns: a numeric stump, and a categorical split whose right child splits again."""
    arrays: dict[str, Any] = {
        "offset": np.array([0, 3, 8]),
        "threshold": np.array([0.5, 0, 0, 0, 0, -1.5, 0, 0]),
        "missing_left": np.array([1, 0, 0, 0, 0, 0, 0, 0], dtype=np.uint8),
        "category_offset": np.array([0, 0, 0, 0, 1, 1, 1, 1, 1]),
        "category_bits": np.array([0b101], dtype=np.uint32),
        "label": np.array([-1, 0, 1, -1, 1, -1, -1, 0], dtype=np.int32),
        "gain": np.array([3.0, 0, 0, 2, 0, 1, 0, 0]),
        "count": np.full(8, 4),
    }
    forest = forest_by_hand([0, -1, -1, 1, -1, 0, -1, -1], [1, -1, -1, 1, -1, 3, -1, -1], **arrays)
    return replace(forest, **changes)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: small().votes(np.zeros((3, 5))), ValueError, r"X has shape \(3, 5\); the forest needs \(n, 2\)"),
        (lambda: small().tally(np.zeros(2)), ValueError, "X has shape"),
        (lambda: small().tally(np.zeros((3, 2)), np.ones(3)), ValueError, r"weights has shape \(3,\); 2 voters need"),
        (lambda: small().feature_importances(np.ones(3)), ValueError, "weights has 3 elements; the forest has 2 trees"),
        (lambda: small()[2], IndexError, "out of bounds"),
        (lambda: Forest.concatenate([]), ValueError, "at least one forest"),
        (
            lambda: Forest.concatenate([small(), small(n_classes=3)]),
            ValueError,
            "forest 1 has n_classes = 3, the first has 2",
        ),
        (lambda: Forest.concatenate([small(), small(**scores(*[0.0] * 8))]), ValueError, "forest 1 has kind = 'score'"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def scores(*rows: float) -> dict[str, Any]:
    return {"label": None, "value": np.array(rows).reshape(8, -1)}


def test_by_hand():
    X = np.array([[0.5, 0.0], [0.6, 1.0], [np.nan, 2.0], [-2.0, np.nan], [-2.0, 3.0], [0.0, 7.0]])
    forest = small()
    assert forest.votes(X).tolist() == [[0, 1], [1, 0], [0, 1], [0, -1], [0, -1], [0, 0]]
    assert forest.tally(X, np.array([1.0, 2.0])).tolist() == [[1, 2], [2, 1], [1, 2], [1, 0], [1, 0], [3, 0]]
    assert forest.n_nodes.tolist() == [3, 5]
    assert forest.kind == "label"
    assert forest.spread.tolist() == [1.0, 1.0]
    assert forest.nbytes == 8 * (3 + 9 + 8 * 4) + 4 * (8 * 3 + 1) + 8
    assert isinstance(forest, Voters)


def test_all_values_parted_from_the_missing_ones():
    forest = small(**changed("threshold", 0, np.inf) | changed("missing_left", 0, 0))
    forest.check()
    assert forest.votes(np.array([[1e308, 0.0], [np.nan, 0.0]]))[:, 0].tolist() == [0, 1]


def test_spread_looks_at_leaves_only():
    signed = small(**scores(99.0, -2.0, 1.0, 99.0, 0.25, 99.0, 0.5, -0.125))
    assert signed.spread.tolist() == [2.0, 0.5]
    pairs = np.zeros((8, 2))
    pairs[[1, 4, 0]] = [[-1.0, 0.5], [2.0, 2.25], [9.0, -9.0]]
    assert small(label=None, value=pairs).spread.tolist() == [1.5, 0.25]
    assert small()[[]].spread.shape == (0,)


def test_feature_importances():
    assert small().feature_importances().tolist() == [4 / 6, 2 / 6]
    assert small().feature_importances(np.array([-1.0, 2.0])).tolist() == [5 / 9, 4 / 9]
    assert small(gain=np.zeros(8)).feature_importances().tolist() == [0.0, 0.0]
    for unit in (2.0**1020, 2.0**-1040):
        assert small(gain=unit * small().gain).feature_importances().tolist() == [4 / 6, 2 / 6]


def test_parts_of_rounds_are_checked():
    labels = forest_that_votes(np.zeros((2, 4), dtype=np.int32), 2)
    wide = forest_that_votes(np.zeros((2, 4, 2)), 2)
    refused = [
        (lambda each=each: Rounds(each, 2), "leaves hold one number") for each in (labels, wide, stumps(n_classes=2))
    ]
    refused += [(lambda n=n: Rounds(stumps(), n), f"do not form whole rounds of n_outputs={n}") for n in (0, -2, 3, 8)]
    refused += [
        (lambda: Rounds(stumps(), 2).tally(rows(2), np.ones(4)), r"weights has shape \(4,\); 2 voters need \(2,\)"),
        (lambda: Rounds(stumps(MAX_CLASSES + 1), MAX_CLASSES + 1).check(), f"n_outputs is {MAX_CLASSES + 1}"),
        (lambda: Rounds(stumps(value=np.full((12, 1), np.nan)), 2).check(), "value is not finite"),
    ]
    for call, message in refused:
        with pytest.raises(ValueError, match=message):
            call()


def test_a_forest_cannot_be_changed_after_its_check():
    forest = small()
    with pytest.raises(ValueError, match="read-only"):
        forest.left[0] = 7
    with pytest.raises(AttributeError):
        forest.left = forest.left  # type: ignore[misc]


@pytest.mark.parametrize("copied", [lambda f: pickle.loads(pickle.dumps(f)), copy.copy, copy.deepcopy])
def test_copies_leave_the_native_handle_behind(copied):
    forest = small()
    X = np.array([[0.0, 1.0]])
    forest.votes(X)
    twin = copied(forest)
    assert "trees" in vars(forest)
    assert "trees" not in vars(twin)
    assert_array_equal(twin.votes(X), forest.votes(X))


def test_no_trees_no_votes():
    none = small()[[]]
    none.check()
    X = np.zeros((3, 2))
    assert none.votes(X).shape == (3, 0)
    assert none.tally(X).tolist() == [[0.0, 0.0]] * 3
    assert none.feature_importances().tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": None}, "exactly one of label"),
        (scores(*[1.0] * 8) | {"label": np.zeros(8, np.int32)}, "exactly one of label"),
        ({"feature": np.zeros(8)}, "feature is float64; it must be an array of int32"),
        ({"feature": [0] * 8}, "feature is list; it must be an array"),
        ({"gain": np.zeros(7)}, "gain is for 7 nodes; feature is for 8"),
        ({"category_offset": np.zeros(8, np.int64)}, "category_offset is for 7 nodes"),
        ({"offset": np.zeros(0, np.int64)}, "offset must have one more element"),
        ({"weight": np.ones(16)[::2]}, "weight must be an aligned, C-contiguous vector"),
        ({"label": None, "value": np.ones(8)}, "value must be an aligned, C-contiguous matrix"),
    ],
)
def test_wrong_sizes_and_types_are_refused_at_once(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


def changed(name: str, at: int, to: float) -> dict[str, Any]:
    array = getattr(small(), name).copy()
    array[at] = to
    return {name: array}


BROKEN = [
    ({"n_features": 0}, "n_features is 0"),
    ({"n_features": 2**29}, "n_features is 536870912"),
    ({"n_classes": 0}, "n_classes is 0"),
    ({"n_classes": 40_000}, "n_classes is 40000"),
    ({"n_classes": 1}, "label is not between -1 and 0"),
    (changed("offset", 0, 1), "offset starts at 1"),
    (changed("offset", 1, 0), "offset goes from 0 to 0"),
    (changed("offset", 1, 2), "left is not after its parent"),
    (changed("offset", 1, 9), "offset goes from 9 to 8"),
    (changed("offset", 1, -(2**63)), "it must rise"),
    (changed("offset", 2, 2**63 - 1), "offset ends at"),
    (changed("category_offset", 8, 2), "category_offset ends at 2"),
    (changed("category_offset", 3, 5), "category_offset goes from 5 to 1"),
    (changed("category_offset", 2, 1), "it must not fall"),
    ({"category_offset": np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])}, "a leaf has category bits"),
    (changed("feature", 0, 2), "feature is not between -1 and 1 .found 2. at node 0 of tree 0"),
    (changed("feature", 0, -2), "feature is not between"),
    (changed("feature", 0, -1), "left is not -1 at a leaf"),
    (changed("feature", 1, 0), "left is not after its parent"),
    (changed("left", 3, 0), "left is not after its parent .found 0. at node 0 of tree 1"),
    (changed("left", 3, -1), "left is not after its parent"),
    (changed("left", 5, 4), "left is beyond the end of its tree .found 4. at node 2 of tree 1"),
    (changed("left", 5, 2**31 - 1), "beyond the end"),
    (changed("left", 3, 3), "a node has not exactly one parent"),
    (changed("left", 3, 2), "a node has not exactly one parent"),
    (changed("missing_left", 0, 2), "missing_left is neither 0 nor 1"),
    (changed("threshold", 0, np.nan), "threshold is neither finite nor"),
    (changed("threshold", 1, -np.inf), "threshold is neither finite nor"),
    (changed("label", 1, 2), "label is not between -1 and 1"),
    (changed("label", 1, -2), "label is not between -1 and 1"),
    (changed("label", 0, 1), "label is not -1 at an inner node"),
    (changed("gain", 0, np.inf), "gain is not finite"),
    (changed("weight", 7, -1), "weight is not a finite number >= 0"),
    (changed("weight", 7, np.nan), "weight is not a finite number >= 0"),
    (changed("count", 7, -1), "count is negative .found -1. at node 4 of tree 1"),
    (scores(*[0.0] * 7, np.nan), "value is not finite"),
    (scores(*[0.0] * 24), "value has 3 columns for 2 classes"),
    (scores(*[0.0] * 8) | {"n_classes": 3}, "value has 1 columns for 3 classes"),
    ({"label": None, "value": np.zeros((8, 0))}, "value has 0 columns"),
]


@pytest.mark.parametrize(("changes", "message"), BROKEN)
def test_check_finds_what_is_wrong(changes, message):
    small().check()
    with pytest.raises(ValueError, match=message):
        small(**changes).check()


def rounds_that_vote(votes: np.ndarray) -> Rounds:
    """Rounds whose tree k of round t gives row i the number ``votes[i, t, k]``."""
    n, T, K = votes.shape
    return Rounds(forest_that_votes(votes.reshape(n, T * K, 1), 1), K)


@st.composite
def ballots(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Votes (n, T, K) and weights (T,)."""
    n, T, K = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
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


def test_importances_count_rounds():
    """Tree 2 t + k splits on column k + t; rounds weigh 1 and 3."""
    feature = np.array([0, -1, -1, 1, -1, -1, 1, -1, -1, 2, -1, -1], dtype=np.int32)
    rounds = Rounds(stumps(n_features=3, feature=feature), 2)
    rounds.check()
    assert_allclose(rounds.feature_importances(), [0.25, 0.5, 0.25])
    committee = Committee(rounds, [1.0, -3.0], [0, 1], Softmax())
    for importances in (rounds.feature_importances(np.array([1.0, -3.0])), committee.feature_importances_):
        assert_allclose(importances, [1 / 8, 4 / 8, 3 / 8])


def stumps(T: int = 4, **changes: Any) -> Forest:
    return replace(forest_that_votes(np.zeros((2, T, 1)), 1), **changes)
