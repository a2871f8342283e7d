"""Intercepts of committees."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.vote.committee import Committee
from committee.vote.links.probability import Logistic, Probit, Share, Softmax
from tests.cast_votes import casts, committee_of, rows, values_of
from tests.oracles import votes as oracle

links = st.sampled_from([Softmax(), Softmax(0.1), Logistic(), Probit()])


@st.composite
def started(draw: st.DrawFn, kind: str | None = None) -> tuple[Committee, np.ndarray]:
    """A committee with an intercept, and the votes that it casts on `rows`."""
    votes, weights, K = draw(casts(kind))
    D = votes.shape[2] if votes.ndim == 3 else K
    intercept = draw(st.lists(values_of, min_size=D, max_size=D))
    return replace(committee_of(votes, weights, K, draw(links)), intercept=intercept), votes


@given(started())
def test_the_score_starts_at_the_intercept(case):
    committee, votes = case
    X, K = rows(len(votes)), committee.n_classes
    plain = replace(committee, intercept=None)
    tally = plain.voters.tally(X, plain.weights) + committee.intercept
    scores = [oracle.score(F, K) for F in tally.tolist()]
    F = committee.decision_function(X)
    np.testing.assert_array_equal(F.reshape(len(votes), -1), scores)
    np.testing.assert_array_equal(committee.predict(X), committee.classes[[oracle.elected(s) for s in scores]])
    np.testing.assert_array_equal(committee.predict_proba(X), committee.link.probability(tally))
    np.testing.assert_array_equal(committee.votes(X), plain.votes(X))


@given(started(), st.data())
def test_every_stage_starts_at_the_intercept(case, data):
    committee, votes = case
    X = rows(len(votes))
    stages = zip(
        committee.staged_decision_function(X),
        committee.staged_predict(X),
        committee.staged_predict_proba(X),
        strict=True,
    )
    for t, (F, label, p) in enumerate(stages):
        so_far = committee.select(slice(t + 1))
        np.testing.assert_array_equal(so_far.intercept, committee.intercept)
        np.testing.assert_array_equal(F, so_far.decision_function(X))
        np.testing.assert_array_equal(label, so_far.predict(X))
        np.testing.assert_array_equal(p, so_far.predict_proba(X))


@given(started("score"), st.data())
def test_in_margins_it_is_a_voter_of_weight_one(case, data):
    committee, votes = case
    n, _, D = votes.shape
    X = rows(n)
    truth = data.draw(st.lists(st.integers(0, committee.n_classes - 1), min_size=n, max_size=n))
    y = committee.classes[truth]
    with_voter = np.concatenate([np.broadcast_to(committee.intercept, (n, 1, D)), votes], axis=1)
    same = committee_of(with_voter, np.append(1.0, committee.weights), committee.n_classes, committee.link)
    np.testing.assert_allclose(committee.margins(X, y), same.margins(X, y), rtol=1e-9, atol=1e-12)


@given(started(), st.data())
def test_right_means_a_positive_margin(case, data):
    committee, votes = case
    X = rows(len(votes))
    truth = data.draw(st.lists(st.integers(0, committee.n_classes - 1), min_size=len(X), max_size=len(X)))
    y = committee.classes[truth]
    m, right = committee.margins(X, y), committee.predict(X) == y
    assert (np.abs(m) <= 1).all()
    assert right[m > 0].all() and not right[m < 0].any()


def test_margins_with_labels():
    """Weights 2 and 1 and an intercept of spread 1.5 make 4.5."""
    committee = committee_of(np.array([[0, 1], [2, 2]], dtype=np.int32), np.array([2.0, 1.0]), 3)
    committee = replace(committee, intercept=[0.0, 1.5, 0.5])
    np.testing.assert_array_equal(committee.decision_function(rows(2)), [[2.0, 2.5, 0.5], [0.0, 1.5, 3.5]])
    np.testing.assert_allclose(committee.margins(rows(2), ["a", "c"]), [-0.5 / 4.5, 2.0 / 4.5])


def test_it_belongs_to_the_committee():
    committee = committee_of(np.array([[[1.0]], [[-1.0]]]), np.ones(1), 2)
    intercept = np.array([0.5])
    started = replace(committee, intercept=intercept)
    intercept[0] = 7.0
    np.testing.assert_array_equal(started.decision_function(rows(2)), [1.5, -0.5])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(started)).decision_function(rows(2)), [1.5, -0.5])
    np.testing.assert_array_equal(started.select([0], [2.0]).decision_function(rows(2)), [2.5, -1.5])
    assert started.nbytes == committee.nbytes + 8
    with pytest.raises(ValueError, match="read-only"):
        started.intercept[0] = 1.0  # type: ignore[index]


@pytest.mark.parametrize(
    ("intercept", "link", "message"),
    [
        ([0.0, 0.0], Softmax(), r"intercept has shape \(2,\); it must be \(3,\)"),
        (0.5, Softmax(), r"intercept has shape \(\); it must be \(3,\)"),
        ([[0.0, 0.0, 0.0]], Softmax(), r"intercept has shape \(1, 3\)"),
        ([0.0, np.nan, 0.0], Softmax(), r"intercept\[1\] is nan; intercept must be finite"),
        ([0.0, 0.0, np.inf], Softmax(), r"intercept\[2\] is inf"),
        ([0.0, 0.0, 1.0], Share(), r"Share\(\) averages votes, and takes no intercept"),
        ([0.0, 0.0, 1.0], Softmax(normalized=True), "Softmax.* averages votes, and takes no intercept"),
    ],
)
def test_it_is_checked(intercept: Any, link: Any, message: str) -> None:
    committee = committee_of(np.array([[0, 1], [2, -1]], dtype=np.int32), np.ones(2), 3, link)
    with pytest.raises(ValueError, match=message):
        replace(committee, intercept=intercept)
