"""`Committee` against the naive vote, on forests made to cast any given votes."""

import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.tree import DecisionTreeClassifier

from committee.data.table_schema import TableSchema
from committee.vote.committee import Committee
from committee.vote.links.probability import Logistic, Probit, Share, Softmax
from committee.voters.estimators import EstimatorVoters
from tests.cast_votes import casts, committee_of, forest_that_votes, rows, values_of
from tests.oracles import votes as oracle
from tests.small_portfolio import with_second_layer

links = st.sampled_from([Softmax(), Softmax(0.1), Softmax(1e-3), Logistic(), Logistic(50.0), Probit()])


@st.composite
def started(draw: st.DrawFn, kind: str | None = None) -> tuple[Committee, np.ndarray]:
    """A committee with an intercept, and the votes that it casts on `rows`."""
    votes, weights, K = draw(casts(kind))
    D = votes.shape[2] if votes.ndim == 3 else K
    intercept = draw(st.lists(values_of, min_size=D, max_size=D))
    return replace(committee_of(votes, weights, K, draw(links)), intercept=intercept), votes


@st.composite
def committees(draw: st.DrawFn) -> Committee:
    """With or without an intercept."""
    committee, _ = draw(started())
    return committee if draw(st.booleans()) else replace(committee, intercept=None)


def some_labels(data: st.DataObject, committee: Committee, n: int) -> np.ndarray:
    return committee.classes[data.draw(st.lists(st.integers(0, committee.n_classes - 1), min_size=n, max_size=n))]


@given(casts(), links, st.data())
def test_against_the_naive_vote(case, link, data):
    votes, weights, K = case
    committee = committee_of(votes, weights, K, link)
    X = rows(len(votes))
    y = some_labels(data, committee, len(votes))
    truth = committee.class_indices(y)
    D = votes.shape[2] if votes.ndim == 3 else K
    tallies = [oracle.tally(row, weights.tolist(), D) for row in votes.tolist()]
    scores = [oracle.score(F, K) for F in tallies]
    spreads = [oracle.spread(votes[:, t].tolist()) for t in range(votes.shape[1])]

    F = committee.decision_function(X)
    assert F.shape == ((len(votes),) if K == 2 else (len(votes), K))
    assert_allclose(F.reshape(len(votes), -1), scores, rtol=1e-12, atol=1e-9)
    # the sums above may round differently from the kernel's: what follows goes by the kernel's
    scores = F.reshape(len(votes), -1).tolist()
    elected = [oracle.elected(row) for row in scores]
    assert_array_equal(committee.predict(X), committee.classes[elected])
    margins = [oracle.margin(s, k, weights.tolist(), spreads) for s, k in zip(scores, truth, strict=True)]
    m = committee.margins(X, y)
    assert_allclose(m, margins, rtol=1e-9, atol=1e-12)
    assert (np.abs(m) <= 1).all()

    p = committee.predict_proba(X)
    assert p.shape == (len(votes), K) and np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(np.argmax(p, axis=1), elected)


@given(casts())
def test_scores_are_votes_times_weights(case):
    votes, weights, K = case
    committee = committee_of(votes, weights, K)
    X = rows(len(votes))
    H, F = committee.votes(X), committee.decision_function(X)
    scale = max(1.0, np.abs(weights).sum() * max(1.0, np.abs(votes).max()))
    if K == 2:
        assert_array_equal(H, [[oracle.signed(v) for v in row] for row in votes.tolist()])
        assert H.dtype == (np.int8 if votes.ndim == 2 else np.float64)
        assert_allclose(H @ weights, F, atol=1e-12 * scale)
    elif votes.ndim == 2:
        assert_array_equal(H, votes)
        assert H.dtype == np.int16
        one_hot = np.eye(K + 1)[H][:, :, :K]  # the last row, of index -1, is for "no vote"
        assert_allclose(np.einsum("ntk,t->nk", one_hot, weights), F, atol=1e-12 * scale)
    else:
        assert_array_equal(H, votes)
        assert_allclose(np.einsum("ntk,t->nk", H, weights), F, atol=1e-12 * scale)


@given(started())
def test_the_score_starts_at_the_intercept(case):
    committee, votes = case
    X, K = rows(len(votes)), committee.n_classes
    plain = replace(committee, intercept=None)
    tally = plain.voters.tally(X, plain.weights) + committee.intercept
    scores = [oracle.score(F, K) for F in tally.tolist()]
    assert_array_equal(committee.decision_function(X).reshape(len(votes), -1), scores)
    assert_array_equal(committee.predict(X), committee.classes[[oracle.elected(s) for s in scores]])
    assert_array_equal(committee.predict_proba(X), committee.link.probability(tally))
    assert_array_equal(committee.votes(X), plain.votes(X))


@given(started("score"), st.data())
def test_in_margins_an_intercept_is_a_voter_of_weight_one(case, data):
    committee, votes = case
    n, _, D = votes.shape
    X, y = rows(n), some_labels(data, committee, n)
    with_voter = np.concatenate([np.broadcast_to(committee.intercept, (n, 1, D)), votes], axis=1)
    same = committee_of(with_voter, np.append(1.0, committee.weights), committee.n_classes, committee.link)
    assert_allclose(committee.margins(X, y), same.margins(X, y), rtol=1e-9, atol=1e-12)


def test_margins_with_labels():
    """Weights 2 and 1 and an intercept of spread 1.5 make 4.5."""
    committee = committee_of(np.array([[0, 1], [2, 2]], dtype=np.int32), np.array([2.0, 1.0]), 3)
    committee = replace(committee, intercept=[0.0, 1.5, 0.5])
    assert_array_equal(committee.decision_function(rows(2)), [[2.0, 2.5, 0.5], [0.0, 1.5, 3.5]])
    assert_allclose(committee.margins(rows(2), ["a", "c"]), [-0.5 / 4.5, 2.0 / 4.5])


@given(committees(), st.data())
def test_right_means_a_positive_margin(committee, data):
    X = rows(6)
    y = some_labels(data, committee, len(X))
    m, right = committee.margins(X, y), committee.predict(X) == y
    F = committee.decision_function(X).reshape(len(X), -1)
    ordered = np.sort(F, axis=1)
    # a lead far below the total weight has a margin that underflows
    lead = np.abs(ordered[:, 0]) if committee.n_classes == 2 else ordered[:, -1] - ordered[:, -2]
    assert (np.abs(m) <= 1).all()
    assert_array_equal(right[lead > 1e-290], m[lead > 1e-290] > 0)
    assert (m[lead == 0] <= 0).all()


@given(committees())
def test_stages(committee):
    X = rows(6)
    scores = list(committee.staged_decision_function(X))
    labels = list(committee.staged_predict(X))
    probabilities = list(committee.staged_predict_proba(X))
    assert len(scores) == len(labels) == len(probabilities) == committee.n_voters
    for t in range(committee.n_voters):
        so_far = committee.select(slice(t + 1))
        assert_array_equal(so_far.intercept, committee.intercept)
        assert_array_equal(scores[t], so_far.decision_function(X))
        assert_array_equal(labels[t], so_far.predict(X))
        assert_array_equal(probabilities[t], so_far.predict_proba(X))
    assert_array_equal(scores[-1], committee.decision_function(X))


@st.composite
def shares(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Class shares as leaves hold them, counts over small totals: full of ties."""
    n, T, K = draw(st.integers(1, 6)), draw(st.integers(1, 9)), draw(st.integers(2, 4))
    flat = draw(st.lists(st.integers(0, 3), min_size=n * T * K, max_size=n * T * K))
    counts = np.array(flat).reshape(n, T, K)
    counts[..., 0] += counts.sum(axis=2) == 0
    weights = np.array(draw(st.lists(st.sampled_from([1.0, 1.0, 0.5, 0.1, 0.3]), min_size=T, max_size=T)))
    return counts / counts.sum(axis=2, keepdims=True), weights, K


@given(shares())
def test_mean_shares(case):
    votes, weights, K = case
    committee = committee_of(votes, weights, K, Share())
    X = rows(len(votes))
    tally = np.array([oracle.tally(row, weights.tolist(), K) for row in votes.tolist()])
    p = committee.predict_proba(X)
    assert_array_equal(p, tally / np.sum(weights))
    assert_array_equal(committee.predict(X), committee.classes[np.argmax(p, axis=1)])
    F = committee.decision_function(X)
    elected = [oracle.elected(row) for row in F.reshape(len(votes), -1).tolist()]
    assert_array_equal(elected, np.argmax(p, axis=1))
    for stage, q in enumerate(committee.staged_predict_proba(X)):
        assert_array_equal(q, committee.select(slice(stage + 1)).predict_proba(X))


@given(casts("label"))
def test_vote_shares(case):
    votes, weights, K = case
    weights = np.abs(weights)
    committee = committee_of(votes, weights, K, Share())
    X = rows(len(votes))
    p = committee.predict_proba(X)
    expected = [oracle.share(oracle.tally(row, weights.tolist(), K)) for row in votes.tolist()]
    assert_allclose(p, expected, rtol=1e-12, atol=1e-15)
    assert_array_equal(committee.classes[np.argmax(p, axis=1)], committee.predict(X))


def test_abstentions():
    """Of three voters one abstains: it is in the margin's denominator, not in the shares."""
    votes = np.array([[1, 1, -1], [-1, -1, -1], [0, 1, -1]], dtype=np.int32)
    committee = committee_of(votes, np.ones(3), 2, Share())
    X = rows(3)
    assert_array_equal(committee.votes(X), [[1, 1, 0], [0, 0, 0], [-1, 1, 0]])
    assert_array_equal(committee.decision_function(X), [2.0, 0.0, 0.0])
    assert_array_equal(committee.predict(X), ["b", "a", "a"])
    assert_allclose(committee.predict_proba(X), [[0, 1], [0.5, 0.5], [0.5, 0.5]])
    assert_allclose(committee.margins(X, ["b", "b", "a"]), [2 / 3, 0, 0])


def test_signed_shares():
    committee = committee_of(np.array([[[1.0], [0.5]], [[-1.0], [-1.0]]]), np.array([1.0, 3.0]), 2, Share())
    assert_allclose(committee.predict_proba(rows(2)), [[0.1875, 0.8125], [1.0, 0.0]])
    assert_allclose(committee.margins(rows(2), ["b", "b"]), [0.625, -1.0])


def test_multiclass_margin_of_scores():
    """The spread is that of the widest leaf: 0.8 for the first voter, 0.5 for the second."""
    votes = np.array([[[0.9, 0.1, 0.1], [0.0, 0.5, 0.5]], [[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]]])
    committee = committee_of(votes, np.array([1.0, -2.0]), 3)
    m = committee.margins(rows(2), ["a", "c"])
    assert_allclose(m, [(0.9 + 0.9) / 1.8, (-0.5 - 0.2) / 1.8])


def test_no_weight_at_all():
    committee = committee_of(np.array([[0, 1], [1, 2]], dtype=np.int32), np.zeros(2), 3)
    assert_array_equal(committee.predict(rows(2)), ["a", "a"])
    assert_array_equal(committee.predict_proba(rows(2)), np.full((2, 3), 1 / 3))
    assert_array_equal(committee.margins(rows(2), ["a", "b"]), [0.0, 0.0])


def test_one_class():
    committee = committee_of(np.array([[0, 0], [-1, 0]], dtype=np.int32), np.ones(2), 1)
    X = rows(2)
    assert_array_equal(committee.predict(X), ["a", "a"])
    assert_array_equal(committee.predict_proba(X), [[1.0], [1.0]])
    assert_array_equal(committee.margins(X, ["a", "a"]), [1.0, 0.5])
    assert committee.votes(X).tolist() == [[0, 0], [-1, 0]]
    assert len(list(committee.staged_predict_proba(X))) == 2


def test_votes_come_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    votes = rng.integers(-1, 2, size=(5, 23)).astype(np.int32)
    committee = committee_of(votes, np.ones(23), 2)
    whole = committee.votes(rows(5))
    for block in (1, 5, 12, 64):
        monkeypatch.setattr("committee.vote.committee.BLOCK", block)
        assert_array_equal(committee.votes(rows(5)), whole)


def test_each_voter_is_asked_once(monkeypatch):
    asked: list[int] = []
    ask = DecisionTreeClassifier.predict
    X = rows(9)
    trees = [DecisionTreeClassifier(max_depth=1).fit(X, X[:, 0] > k) for k in range(4)]
    committee = Committee(EstimatorVoters(trees, [False, True]), np.ones(4), [False, True], Softmax())
    monkeypatch.setattr(
        DecisionTreeClassifier, "predict", lambda self, X: asked.append(trees.index(self)) or ask(self, X)
    )
    for method in ("staged_predict", "staged_predict_proba", "staged_decision_function"):
        asked.clear()
        list(getattr(committee, method)(X))
        assert asked == [0, 1, 2, 3]


@pytest.mark.parametrize("n_threads", [2, 5])
def test_same_bits_for_any_number_of_threads(n_threads):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 4))
    y = rng.integers(0, 3, size=3000)
    trees = [DecisionTreeClassifier(max_depth=4, random_state=k).fit(X + k, y) for k in range(7)]
    voters = [EstimatorVoters(trees, [0, 1, 2], soft=soft) for soft in (False, True)]
    votes = rng.normal(size=(50, 40, 3))
    committees = [Committee(v, rng.random(7), [0, 1, 2], Softmax()) for v in voters]
    native = committee_of(votes, rng.random(40), 3)
    for committee, data in ((committees[0], X), (committees[1], X), (native, rows(50))):
        y = committee.predict(data)
        for method in ("decision_function", "predict", "predict_proba", "votes"):
            ask = getattr(committee, method)
            assert_array_equal(ask(data), ask(data, n_threads=n_threads))
        m = committee.margins(data, y, n_threads=n_threads)
        assert_array_equal(committee.margins(data, y), m)
        for one, many in zip(
            committee.staged_predict_proba(data), committee.staged_predict_proba(data, n_threads=n_threads), strict=True
        ):
            assert_array_equal(one, many)


def test_selection_and_new_weights():
    rng = np.random.default_rng(2)
    votes = rng.integers(0, 3, size=(8, 6)).astype(np.int32)
    weights = rng.random(6)
    committee = committee_of(votes, weights, 3, Share())
    X = rows(8)
    H = committee.votes(X)
    for indices in (slice(2, 5), [4, 0], np.array([5, 5, 1]), weights > np.median(weights), 3, -1):
        chosen = np.atleast_1d(np.arange(6)[indices])
        some = committee.select(indices)
        assert_array_equal(some.weights, weights[chosen])
        assert_array_equal(some.votes(X), H[:, chosen])
        assert some.link == committee.link and some.table is committee.table
        assert_array_equal(committee[indices].weights, some.weights)
        assert_array_equal(committee[indices].decision_function(X), some.decision_function(X))
        assert len(some) == len(chosen)
    fewer = committee.select([0, 1], [0.25, 0.75])
    assert_array_equal(fewer.weights, [0.25, 0.75])
    with pytest.raises(ValueError, match=r"weights\[1\] is -1.*Use the link Softmax\(\)"):
        committee.select([0, 1], [1.0, -1.0])
    signed = committee.select([0, 1], [1.0, -1.0], link=Softmax())
    assert signed.link == Softmax()
    with pytest.raises(ValueError, match="selects no voter"):
        committee.select([])
    with pytest.raises(ValueError, match="selects no voter"):
        committee[6:]
    for index in (6, "a"):
        with pytest.raises(IndexError):
            committee[index]
    # one after the other, and backwards
    assert_array_equal(np.hstack([each.votes(X) for each in committee]), H)
    assert_array_equal(committee[::-1].votes(X), H[:, ::-1])


def test_size_and_name():
    committee = committee_of(np.zeros((4, 3), dtype=np.int32), np.ones(3), 2)
    assert (committee.n_voters, committee.n_classes, committee.n_nodes) == (3, 2, 21)
    assert committee.nbytes == committee.voters.nbytes + 24
    assert repr(committee) == "Committee(3 voters, 2 classes, softmax link)"
    assert repr(committee[:1]) == "Committee(1 voter, 2 classes, softmax link)"
    assert_array_equal(committee.feature_importances_, [1.0])
    started = replace(committee, intercept=[0.0, 0.5])
    assert started.nbytes == committee.nbytes + 16
    layered = with_second_layer().committee_.voters
    lines, second = [one for one in layered.members if one.table], [one for one in layered.members if not one.table]
    own = sum(one.voters.second.nbytes + one.weights.nbytes + one.intercept.nbytes for one in second)
    assert layered.nbytes == sum(one.nbytes for one in lines) + own
    with pytest.raises(TypeError, match=r"these are StackedVoters\. .* model\.without\('second_layer'\)"):
        second[0].apply(rows(4))
    assert_array_equal(started.select([0], [2.0]).decision_function(rows(4)), np.full(4, -1.5))


def test_tables():
    """With a schema, frames and arrays come in as users have them, checked by name."""
    trees = forest_that_votes(np.array([[0], [1], [1]], dtype=np.int32), 2)
    schema = TableSchema(("size",), (("S", "M", "L"),))
    committee = Committee(trees, [1.0], ["low", "high"], Softmax(), schema)
    frame = pl.DataFrame({"size": ["L", "S"]})
    assert_array_equal(committee.predict(frame), ["high", "low"])
    m = committee.margins(frame.to_pandas(), pd.Series(["high", "high"]))
    assert_array_equal(m, [1.0, -1.0])
    with pytest.raises(ValueError, match="height"):
        committee.predict(frame.rename({"size": "height"}))
    coded = replace(committee, table=None)
    assert_array_equal(coded.predict([[2], [0]]), ["high", "low"])


def test_matrices_are_checked():
    committee = committee_of(np.array([[0], [1]], dtype=np.int32), np.ones(1), 2)
    with pytest.raises(ValueError, match="X has 2 columns; the voters need 1"):
        committee.predict(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="infinity"):
        committee.predict([[np.inf]])
    with pytest.raises(TypeError, match="Sparse"):
        committee.predict(csr_array(np.ones((2, 1))))
    with pytest.raises(ValueError, match="2D"):
        committee.predict([1.0])
    # at the call, not at the first stage
    with pytest.raises(ValueError, match="X has 2 columns"):
        committee.staged_predict(np.zeros((3, 2)))
    assert committee.predict(np.array([[np.nan], [0.0]], dtype=np.float32)).tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "d", "e"], r"\['d', 'e'\].*\['a', 'b', 'c'\]"),
        (["a", "b"], "y has 2 labels; X has 3 rows"),
        ([0, 1, 2], r"not classes of the committee: \[0, 1, 2\]; .*\. Leave out rows of other labels\."),
        ([1.0, np.nan, 2.0], "nan"),
        (np.array(["a", None, "b"], dtype=object), "y mixes labels"),
        ([["a", "b"], ["a", "b"], ["a", "b"]], "1d"),
    ],
)
def test_labels_are_checked(y, message):
    committee = committee_of(np.array([[0], [1], [2]], dtype=np.int32), np.ones(1), 3)
    with pytest.raises(ValueError, match=message):
        committee.margins(rows(3), y)


def test_labels_of_equal_value_are_equal():
    votes = forest_that_votes(np.array([[0], [1]], dtype=np.int32), 2)
    committee = Committee(votes, [1.0], [0, 1], Softmax())
    for y in ([0.0, 1.0], [False, True], np.array([0, 1], dtype=np.uint8), np.array([0, 1], dtype=object)):
        assert_array_equal(committee.margins(rows(2), y), [1.0, 1.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [1.0]}, r"weights has shape \(1,\); 2 voters"),
        ({"weights": [1.0, np.nan]}, r"weights\[1\] is nan"),
        ({"weights": [np.inf, 1.0]}, r"weights\[0\] is inf"),
        ({"classes": ["a", "b"]}, "classes has 2 labels; the voters choose from 3"),
        ({"classes": ["a", "b", "a"]}, "different labels"),
        ({"classes": []}, "different labels"),
        ({"weights": [1.0, -2.0], "link": Share()}, r"weights\[1\] is -2\.0; the share link"),
        ({"weights": [1.0, -2.0], "link": Softmax(normalized=True)}, r"weights\[1\] is -2\.0; the norm"),
        ({"intercept": [0.0, 0.0]}, r"intercept has shape \(2,\); it must be \(3,\)"),
        ({"intercept": 0.5}, r"intercept has shape \(\); it must be \(3,\)"),
        ({"intercept": [[0.0, 0.0, 0.0]]}, r"intercept has shape \(1, 3\)"),
        ({"intercept": [0.0, np.nan, 0.0]}, r"intercept\[1\] is nan; intercept must be finite"),
        ({"intercept": [0.0, 0.0, np.inf]}, r"intercept\[2\] is inf"),
        ({"intercept": [0.0, 0.0, 1.0], "link": Share()}, r"Share\(\) averages votes, and takes no intercept"),
        (
            {"intercept": [0.0, 0.0, 1.0], "link": Softmax(normalized=True)},
            "Softmax.* averages votes",
        ),
    ],
)
def test_parts_are_checked(change, message):
    parts: dict[str, Any] = {
        "voters": forest_that_votes(np.array([[0, 1], [2, -1]], dtype=np.int32), 3),
        "weights": [1.0, 2.0],
        "classes": ["a", "b", "c"],
        "link": Softmax(),
    }
    Committee(**parts)
    with pytest.raises(ValueError, match=message):
        Committee(**(parts | change))
    with pytest.raises(ValueError, match="voters is empty"):
        Committee(**(parts | {"voters": parts["voters"][:0], "weights": []}))


@pytest.mark.parametrize(("leaf", "K"), [([[0.5, 0.6]], 2), ([[1.5, -0.5]], 2), ([[1.5]], 2), ([[0.2, 0.2, 0.2]], 3)])
def test_shares_must_be_shares(leaf, K):
    voters = forest_that_votes(np.array([leaf]), K)
    with pytest.raises(ValueError, match="share link needs class shares"):
        Committee(voters, [1.0], np.arange(K), Share())
    Committee(voters, [1.0], np.arange(K), Logistic())


def test_shares_are_checked_in_every_block(monkeypatch):
    monkeypatch.setattr("committee.vote.links.probability.CHECKED_CELLS", 6)
    shares = np.tile([0.25, 0.75], (1, 7, 1))
    Committee(forest_that_votes(shares, 2), np.ones(7), np.arange(2), Share())
    for tree in range(7):
        wrong = shares.copy()
        wrong[0, tree, 0] = 0.5
        with pytest.raises(ValueError, match=r"A leaf holds \[0\.5, 0\.75\]"):
            Committee(forest_that_votes(wrong, 2), np.ones(7), np.arange(2), Share())


def test_nothing_changes_a_committee():
    weights, classes, intercept = np.ones(2), np.array(["a", "b", "c"]), np.ones(3)
    voters = forest_that_votes(np.zeros((2, 2), dtype=np.int32), 3)
    committee = Committee(voters, weights, classes, Softmax(), intercept=intercept)
    weights[0] = classes[0] = intercept[0] = 7
    assert (committee.weights[0], committee.classes[0], committee.intercept[0]) == (1.0, "a", 1.0)
    for part in (committee.weights, committee.intercept):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 2.0
    with pytest.raises(FrozenInstanceError):
        committee.link = Share()


@given(committees())
def test_pickling(committee):
    again = pickle.loads(pickle.dumps(committee))
    assert_array_equal(again.predict_proba(rows(6)), committee.predict_proba(rows(6)))
