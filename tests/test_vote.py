"""`Committee` against the naive vote, on forests made to cast any given votes."""

import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee import vote as vote_module
from committee.data.frames import TableSchema
from committee.links import Logistic, Share, Softmax
from committee.vote import Committee
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from committee.voters.protocol import Voters
from tests.oracles import vote as oracle


def forest_that_votes(votes: np.ndarray, n_classes: int) -> Forest:
    """Trees that give row i (the row with x = i) the vote ``votes[i, t]``: a chain of splits x <= i + 1/2."""
    n, T = votes.shape[:2]
    size = 2 * n - 1
    feature = np.full(size, -1, dtype=np.int32)
    left = np.full(size, -1, dtype=np.int32)
    threshold = np.zeros(size)
    inner = 2 * np.arange(n - 1)
    feature[inner], left[inner], threshold[inner] = 0, inner + 1, np.arange(n - 1) + 0.5
    leaf_of_row = np.append(2 * np.arange(n - 1) + 1, size - 1)
    hard = votes.ndim == 2
    label = np.full((T, size), -1, dtype=np.int32)
    value = np.zeros((T, size, 1 if hard else votes.shape[2]))
    if hard:
        label[:, leaf_of_row] = votes.T
    else:
        value[:, leaf_of_row] = votes.transpose(1, 0, 2)
    N = T * size
    forest = Forest(
        n_features=1,
        n_classes=n_classes,
        offset=np.arange(T + 1, dtype=np.int64) * size,
        feature=np.tile(feature, T),
        threshold=np.tile(threshold, T),
        left=np.tile(left, T),
        missing_left=np.zeros(N, dtype=np.uint8),
        category_offset=np.zeros(N + 1, dtype=np.int64),
        category_bits=np.zeros(0, dtype=np.uint32),
        label=label.ravel() if hard else None,
        value=None if hard else value.reshape(N, -1),
        gain=np.tile(np.where(feature < 0, 0.0, 1.0), T),
        weight=np.ones(N),
        count=np.ones(N, dtype=np.int64),
    )
    forest.check()
    return forest


def rows(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float64)[:, None]


weights_of = st.one_of(
    st.floats(-3, 3), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 1.0, 0.1, 0.2, 0.3, 1e-30, -1.0])
)
values_of = st.one_of(st.floats(-2, 2), st.sampled_from([0.0, 1.0, -1.0, 1 / 3, 1e-30, 1e5]))


@st.composite
def casts(draw: st.DrawFn, kind: str | None = None) -> tuple[np.ndarray, np.ndarray, int]:
    """Votes (n, T) or (n, T, D), weights (T,), number of classes."""
    n, T = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    K = draw(st.integers(2, 4))
    kind = kind or draw(st.sampled_from(["label", "score", "signed"]))
    weights = np.array(draw(st.lists(weights_of, min_size=T, max_size=T)))
    if kind == "label":
        flat = draw(st.lists(st.integers(-1, K - 1), min_size=n * T, max_size=n * T))
        return np.array(flat, dtype=np.int32).reshape(n, T), weights, K
    D, K = (1, 2) if kind == "signed" else (K, K)
    flat = draw(st.lists(values_of, min_size=n * T * D, max_size=n * T * D))
    return np.array(flat).reshape(n, T, D), weights, K


def committee_of(votes: np.ndarray, weights: np.ndarray, K: int, link: Any = None) -> Committee:
    voters = forest_that_votes(votes, K)
    return Committee(voters, weights, np.array(list("abcdef")[:K]), link or Softmax())


links = st.sampled_from([Softmax(), Softmax(1e-3), Logistic(), Logistic(50.0)])


@given(casts(), links, st.data())
def test_against_the_naive_vote(case, link, data):
    votes, weights, K = case
    committee = committee_of(votes, weights, K, link)
    X = rows(len(votes))
    truth = data.draw(st.lists(st.integers(0, K - 1), min_size=len(votes), max_size=len(votes)))
    D = votes.shape[2] if votes.ndim == 3 else K
    tallies = [oracle.tally(row, weights.tolist(), D) for row in votes.tolist()]
    scores = [oracle.score(F, K) for F in tallies]
    spreads = [oracle.spread(votes[:, t].tolist()) for t in range(votes.shape[1])]

    F = committee.decision_function(X)
    assert F.shape == ((len(votes),) if K == 2 else (len(votes), K))
    np.testing.assert_allclose(F.reshape(len(votes), -1), scores, rtol=1e-12, atol=1e-9)
    # the sums above may round differently from the kernel's: what follows goes by the kernel's
    scores = F.reshape(len(votes), -1).tolist()
    elected = [oracle.elected(row) for row in scores]
    np.testing.assert_array_equal(committee.predict(X), committee.classes[elected])
    margins = [oracle.margin(s, k, weights.tolist(), spreads) for s, k in zip(scores, truth, strict=True)]
    m = committee.margins(X, committee.classes[truth])
    np.testing.assert_allclose(m, margins, rtol=1e-9, atol=1e-12)
    assert (np.abs(m) <= 1).all()

    p = committee.predict_proba(X)
    assert p.shape == (len(votes), K) and np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(np.argmax(p, axis=1), elected)


@given(casts())
def test_scores_are_votes_times_weights(case):
    votes, weights, K = case
    committee = committee_of(votes, weights, K)
    X = rows(len(votes))
    H, F = committee.votes(X), committee.decision_function(X)
    scale = max(1.0, np.abs(weights).sum() * max(1.0, np.abs(votes).max()))
    if K == 2:
        np.testing.assert_array_equal(H, [[oracle.signed(v) for v in row] for row in votes.tolist()])
        assert H.dtype == (np.int8 if votes.ndim == 2 else np.float64)
        np.testing.assert_allclose(H @ weights, F, atol=1e-12 * scale)
    elif votes.ndim == 2:
        np.testing.assert_array_equal(H, votes)
        assert H.dtype == np.int16
        one_hot = np.eye(K + 1)[H][:, :, :K]  # the last row, of index -1, is for "no vote"
        np.testing.assert_allclose(np.einsum("ntk,t->nk", one_hot, weights), F, atol=1e-12 * scale)
    else:
        np.testing.assert_array_equal(H, votes)
        np.testing.assert_allclose(np.einsum("ntk,t->nk", H, weights), F, atol=1e-12 * scale)


@given(casts(), st.data())
def test_right_means_a_positive_margin(case, data):
    votes, weights, K = case
    committee = committee_of(votes, weights, K)
    X = rows(len(votes))
    truth = data.draw(st.lists(st.integers(0, K - 1), min_size=len(votes), max_size=len(votes)))
    y = committee.classes[truth]
    m, right = committee.margins(X, y), committee.predict(X) == y
    F = committee.decision_function(X).reshape(len(votes), -1)
    ordered = np.sort(F, axis=1)
    tied = ordered[:, 0] == 0 if K == 2 else ordered[:, -1] == ordered[:, -2]
    # a lead far below the total weight has a margin that underflows
    lead = np.abs(ordered[:, 0]) if K == 2 else ordered[:, -1] - ordered[:, -2]
    clear = ~tied & (lead > 1e-290)
    np.testing.assert_array_equal(right[clear], m[clear] > 0)
    np.testing.assert_array_equal(m[tied] <= 0, np.ones(tied.sum(), dtype=bool))


@given(casts(), links)
def test_stages(case, link):
    votes, weights, K = case
    committee = committee_of(votes, weights, K, link)
    X = rows(len(votes))
    scores = list(committee.staged_decision_function(X))
    labels = list(committee.staged_predict(X))
    probabilities = list(committee.staged_predict_proba(X))
    assert len(scores) == len(labels) == len(probabilities) == committee.n_voters
    for t in range(committee.n_voters):
        so_far = committee.select(slice(t + 1))
        np.testing.assert_array_equal(scores[t], so_far.decision_function(X))
        np.testing.assert_array_equal(labels[t], so_far.predict(X))
        np.testing.assert_array_equal(probabilities[t], so_far.predict_proba(X))
    np.testing.assert_array_equal(scores[-1], committee.decision_function(X))


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
    np.testing.assert_array_equal(p, tally / np.sum(weights))
    np.testing.assert_array_equal(committee.predict(X), committee.classes[np.argmax(p, axis=1)])
    F = committee.decision_function(X)
    elected = [oracle.elected(row) for row in F.reshape(len(votes), -1).tolist()]
    np.testing.assert_array_equal(elected, np.argmax(p, axis=1))
    for stage, q in enumerate(committee.staged_predict_proba(X)):
        np.testing.assert_array_equal(q, committee.select(slice(stage + 1)).predict_proba(X))


@given(casts("label"))
def test_vote_shares(case):
    votes, weights, K = case
    weights = np.abs(weights)
    committee = committee_of(votes, weights, K, Share())
    X = rows(len(votes))
    p = committee.predict_proba(X)
    expected = [oracle.share(oracle.tally(row, weights.tolist(), K)) for row in votes.tolist()]
    np.testing.assert_allclose(p, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(committee.classes[np.argmax(p, axis=1)], committee.predict(X))


def test_abstentions():
    """Of three voters one abstains: it is in the margin's denominator, not in the shares."""
    votes = np.array([[1, 1, -1], [-1, -1, -1], [0, 1, -1]], dtype=np.int32)
    committee = committee_of(votes, np.ones(3), 2, Share())
    X = rows(3)
    np.testing.assert_array_equal(committee.votes(X), [[1, 1, 0], [0, 0, 0], [-1, 1, 0]])
    np.testing.assert_array_equal(committee.decision_function(X), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(committee.predict(X), ["b", "a", "a"])
    np.testing.assert_allclose(committee.predict_proba(X), [[0, 1], [0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(committee.margins(X, ["b", "b", "a"]), [2 / 3, 0, 0])


def test_signed_shares():
    committee = committee_of(np.array([[[1.0], [0.5]], [[-1.0], [-1.0]]]), np.array([1.0, 3.0]), 2, Share())
    np.testing.assert_allclose(committee.predict_proba(rows(2)), [[0.1875, 0.8125], [1.0, 0.0]])
    np.testing.assert_allclose(committee.margins(rows(2), ["b", "b"]), [0.625, -1.0])


def test_multiclass_margin_of_scores():
    """The spread is that of the widest leaf: 0.8 for the first voter, 0.5 for the second."""
    votes = np.array([[[0.9, 0.1, 0.1], [0.0, 0.5, 0.5]], [[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]]])
    committee = committee_of(votes, np.array([1.0, -2.0]), 3)
    m = committee.margins(rows(2), ["a", "c"])
    np.testing.assert_allclose(m, [(0.9 + 0.9) / 1.8, (-0.5 - 0.2) / 1.8])


def test_no_weight_at_all():
    committee = committee_of(np.array([[0, 1], [1, 2]], dtype=np.int32), np.zeros(2), 3)
    np.testing.assert_array_equal(committee.predict(rows(2)), ["a", "a"])
    np.testing.assert_array_equal(committee.predict_proba(rows(2)), np.full((2, 3), 1 / 3))
    np.testing.assert_array_equal(committee.margins(rows(2), ["a", "b"]), [0.0, 0.0])


def test_one_class():
    committee = committee_of(np.array([[0, 0], [-1, 0]], dtype=np.int32), np.ones(2), 1)
    X = rows(2)
    np.testing.assert_array_equal(committee.predict(X), ["a", "a"])
    np.testing.assert_array_equal(committee.predict_proba(X), [[1.0], [1.0]])
    np.testing.assert_array_equal(committee.margins(X, ["a", "a"]), [1.0, 0.5])
    assert committee.votes(X).tolist() == [[0, 0], [-1, 0]]
    assert len(list(committee.staged_predict_proba(X))) == 2


def test_votes_come_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    votes = rng.integers(-1, 2, size=(5, 23)).astype(np.int32)
    committee = committee_of(votes, np.ones(23), 2)
    whole = committee.votes(rows(5))
    for block in (1, 5, 12, 64):
        monkeypatch.setattr(vote_module, "_BLOCK", block)
        np.testing.assert_array_equal(committee.votes(rows(5)), whole)


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
            np.testing.assert_array_equal(ask(data), ask(data, n_threads=n_threads))
        m = committee.margins(data, y, n_threads=n_threads)
        np.testing.assert_array_equal(committee.margins(data, y), m)
        for one, many in zip(
            committee.staged_predict_proba(data),
            committee.staged_predict_proba(data, n_threads=n_threads),
            strict=True,
        ):
            np.testing.assert_array_equal(one, many)


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
        np.testing.assert_array_equal(some.weights, weights[chosen])
        np.testing.assert_array_equal(some.votes(X), H[:, chosen])
        assert some.link == committee.link and some.table is committee.table
    fewer = committee.select([0, 1], [0.25, 0.75])
    np.testing.assert_array_equal(fewer.weights, [0.25, 0.75])
    with pytest.raises(ValueError, match=r"weights\[1\] is -1.*Use the softmax link"):
        committee.select([0, 1], [1.0, -1.0])
    signed = committee.select([0, 1], [1.0, -1.0], link=Softmax())
    assert signed.link == Softmax()
    with pytest.raises(ValueError, match="selects no voter"):
        committee.select([])
    with pytest.raises(IndexError):
        committee.select(6)


def test_size_and_name():
    committee = committee_of(np.zeros((4, 3), dtype=np.int32), np.ones(3), 2)
    assert (committee.n_voters, committee.n_classes, committee.n_nodes) == (3, 2, 21)
    assert committee.nbytes == committee.voters.nbytes + 24
    assert repr(committee) == "Committee(3 voters, 2 classes, softmax link)"
    np.testing.assert_array_equal(committee.feature_importances_, [1.0])


def test_tables():
    """With a schema, frames and arrays come in as users have them, checked by name."""
    trees = forest_that_votes(np.array([[0], [1], [1]], dtype=np.int32), 2)
    schema = TableSchema(("size",), (("S", "M", "L"),))
    committee = Committee(trees, [1.0], ["low", "high"], Softmax(), schema)
    frame = pl.DataFrame({"size": ["L", "S"]})
    np.testing.assert_array_equal(committee.predict(frame), ["high", "low"])
    m = committee.margins(frame.to_pandas(), pd.Series(["high", "high"]))
    np.testing.assert_array_equal(m, [1.0, -1.0])
    with pytest.raises(ValueError, match="height"):
        committee.predict(frame.rename({"size": "height"}))
    coded = replace(committee, table=None)
    np.testing.assert_array_equal(coded.predict([[2], [0]]), ["high", "low"])


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
        ([0, 1, 2], r"does not know: \[0, 1, 2\]"),
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
        np.testing.assert_array_equal(committee.margins(rows(2), y), [1.0, 1.0])


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


def test_nothing_changes_a_committee():
    weights, classes = np.ones(2), np.array(["a", "b", "c"])
    committee = Committee(forest_that_votes(np.zeros((2, 2), dtype=np.int32), 3), weights, classes, Softmax())
    weights[0] = classes[0] = 7
    assert committee.weights[0] == 1.0 and committee.classes[0] == "a"
    with pytest.raises(ValueError, match="read-only"):
        committee.weights[0] = 2.0
    with pytest.raises(FrozenInstanceError):
        committee.link = Share()


@given(casts())
def test_pickling(case):
    votes, weights, K = case
    committee = committee_of(votes, weights, K)
    again = pickle.loads(pickle.dumps(committee))
    X = rows(len(votes))
    np.testing.assert_array_equal(again.predict_proba(X), committee.predict_proba(X))


# -- voters that are estimators ---------------------------------------------------------------------------


class Dictator:
    """A classifier that says the same to everybody."""

    def __init__(self, label: Any, classes: Any, p: Any = None) -> None:
        self.label, self.classes_, self.p = label, np.asarray(classes), p

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), self.label)

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile(self.p, (len(X), 1))


def test_estimator_voters_satisfy_the_protocol():
    voters = EstimatorVoters([Dictator("a", ["a"])], ["a", "b"])
    assert isinstance(voters, Voters) and isinstance(voters[0], EstimatorVoters)
    assert voters.kind == "label" and voters.spread.tolist() == [1.0] and voters.n_nodes.tolist() == [0]
    assert voters.nbytes > 0


def test_members_may_know_fewer_classes():
    members = [Dictator("c", ["c", "a"], [0.75, 0.25]), Dictator("b", ["b"], [1.0])]
    X = np.zeros((2, 1))
    hard, soft = (EstimatorVoters(members, ["a", "b", "c"], soft=soft) for soft in (False, True))
    np.testing.assert_array_equal(hard.votes(X), [[2, 1], [2, 1]])
    np.testing.assert_array_equal(hard.tally(X, np.array([1.0, 3.0])), [[0, 3, 1], [0, 3, 1]])
    np.testing.assert_array_equal(soft.votes(X)[0], [[0.25, 0, 0.75], [0, 1, 0]])
    np.testing.assert_array_equal(soft.tally(X)[1], [0.25, 1, 0.75])
    with pytest.raises(ValueError, match=r"estimators\[0\] \(Dictator\) votes for .*'c'"):
        EstimatorVoters(members, ["a", "b"]).votes(X)
    with pytest.raises(ValueError, match="not among the classes"):
        EstimatorVoters(members, ["a", "b"], soft=True).votes(X)


def test_a_committee_of_estimators():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    members = [make_pipeline(StandardScaler(), LogisticRegression()), DecisionTreeClassifier(max_depth=2)]
    members = [member.fit(X, y) for member in members]
    hard = Committee(EstimatorVoters(members, ["no", "yes"]), [1.0, 2.0], ["no", "yes"], Share())
    soft = Committee(EstimatorVoters(members, ["no", "yes"], soft=True), [1.0, 2.0], ["no", "yes"], Share())
    sign = np.column_stack([np.where(member.predict(X) == "yes", 1, -1) for member in members])
    np.testing.assert_array_equal(hard.votes(X), sign)
    np.testing.assert_allclose(hard.decision_function(X), sign @ [1.0, 2.0])
    mean = (members[0].predict_proba(X) + 2 * members[1].predict_proba(X)) / 3
    np.testing.assert_allclose(soft.predict_proba(X), mean)
    np.testing.assert_allclose(soft.decision_function(X), 3 * (mean[:, 1] - mean[:, 0]))
    np.testing.assert_allclose(soft.votes(X) @ soft.weights, soft.decision_function(X))
    assert hard.n_nodes == members[1].tree_.node_count
    assert not hasattr(hard, "feature_importances_")
    right = soft.predict(X) == y
    np.testing.assert_array_equal(soft.margins(X, y) > 0, right)
    with pytest.raises(ValueError, match="X has 2 columns; the members need 3"):
        hard.predict(X[:, :2])


@pytest.mark.parametrize("sparse", [False, True])
def test_members_on_their_own_columns(sparse):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 4))
    y = (X[:, 2] > 0).astype(int)
    features = [np.array([0, 2]), np.array([3, 1]), np.array([2, 2])]
    members = [LogisticRegression().fit(X[:, f], y) for f in features]
    voters = EstimatorVoters(members, [0, 1], soft=True, features=features)
    data = csr_array(X) if sparse else X
    expected = np.stack([m.predict_proba(X[:, f]) for m, f in zip(members, features, strict=True)], axis=1)
    np.testing.assert_allclose(voters.votes(data), expected)
    np.testing.assert_allclose(voters[[2, 0]].votes(data), expected[:, [2, 0]])


def test_estimator_voters_are_checked(monkeypatch):
    member = Dictator("a", ["a", "b"], [0.5, 0.25, 0.25])
    X = np.zeros((1, 1))
    with pytest.raises(ValueError, match="estimators is empty"):
        EstimatorVoters([], ["a"])
    with pytest.raises(ValueError, match="different labels"):
        EstimatorVoters([member], ["a", "a"])
    with pytest.raises(ValueError, match="features is for 2 members; there are 1"):
        EstimatorVoters([member], ["a"], features=[np.array([0]), np.array([1])])
    with pytest.raises(ValueError, match=r"predict_proba of estimators\[0\] has shape \(1, 3\)"):
        EstimatorVoters([member], ["a", "b"], soft=True).votes(X)
    with pytest.raises(ValueError, match=r"weights has shape \(2,\); 1 members"):
        EstimatorVoters([member], ["a", "b"]).tally(X, np.ones(2))
    monkeypatch.delattr(Dictator, "predict_proba")
    with pytest.raises(ValueError, match=r"estimators\[0\] \(Dictator\) has no predict_proba"):
        EstimatorVoters([member], ["a", "b"], soft=True)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_estimator_voters_against_the_naive_vote(seed, soft, coded):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    classes = np.arange(3) if coded else np.array(["x", "y", "z"])
    y = classes[rng.integers(0, 3, size=20)]
    assume(len(set(y)) > 1)
    members = [DecisionTreeClassifier(max_depth=2).fit(X[s : s + 10], y[s : s + 10]) for s in (0, 5, 10)]
    weights = rng.normal(size=3)
    voters = EstimatorVoters(members, classes, soft=soft)
    votes = voters.votes(X)
    assert votes.dtype == (np.float64 if soft else np.int16)
    expected = [oracle.tally(row, weights.tolist(), 3) for row in votes.tolist()]
    np.testing.assert_array_equal(voters.tally(X, weights), expected)
    for t, member in enumerate(members):
        if soft:
            known = votes[:, t][:, np.isin(classes, member.classes_)]
            np.testing.assert_array_equal(known, member.predict_proba(X))
        else:
            np.testing.assert_array_equal(classes[votes[:, t]], member.predict(X))
