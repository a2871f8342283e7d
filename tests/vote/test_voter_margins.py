"""The votes of some voters on some rows, against one row and one voter after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee import Committee
from committee.vote.links.probability import Logistic, Share, Softmax, Truncated
from committee.vote.voter_margins import VoterMargins
from tests.cast_votes import casts, committee_of, forest_that_votes, rows
from tests.oracles import votes as oracle

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def of_row(cast, weights, spreads, K, truth, intercept):
    """Margin and mean margin of the voters with these votes, and the lead of the one elected over the next."""
    votes, weights, spreads = list(cast), list(weights), list(spreads)
    if intercept is not None:
        votes, weights = [*votes, intercept], [*weights, 1.0]
        spreads = [*spreads, oracle.spread([intercept])]
    D = 1 if votes and not isinstance(votes[0], int) and len(votes[0]) == 1 else K
    total = sum(abs(w) * s for w, s in zip(weights, spreads, strict=True))
    F = oracle.score(oracle.tally(votes, weights, D), K)
    alone = sum(
        oracle.margin(oracle.score(oracle.tally([v], [w], D), K), truth, [1.0], [1.0])
        for v, w in zip(votes, weights, strict=True)
    )
    lead = sorted([0.0, F[0]] if len(F) == 1 else F)
    return oracle.margin(F, truth, weights, spreads), alone / total if total else 0.0, F, lead[-1] - lead[-2]


@given(casts(), st.booleans(), st.data())
def test_votes_on_some_rows_are_those_of_a_loop(case, with_intercept, data):
    votes, weights, K = case
    n, T = votes.shape[:2]
    D = 1 if votes.ndim == 3 and votes.shape[2] == 1 else K
    kinds = votes.tolist()
    intercept = None
    if with_intercept and votes.ndim == 3:
        intercept = data.draw(st.lists(st.floats(-2, 2), min_size=D, max_size=D))
    truth = np.array(data.draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    counted = np.array(data.draw(st.lists(st.booleans(), min_size=n * T, max_size=n * T))).reshape(n, T)
    committee = Committee(forest_that_votes(votes, K), weights, np.arange(K), Softmax(), intercept=intercept)
    spreads = [oracle.spread([kinds[i][t] for i in range(n)]) for t in range(T)]
    for mask in (None, counted):
        found = VoterMargins.of(committee, rows(n), truth, mask, 1)
        for i in range(n):
            of = [t for t in range(T) if mask is None or mask[i, t]]
            margin, alone, F, lead = of_row(
                [kinds[i][t] for t in of], weights[of], [spreads[t] for t in of], K, truth[i], intercept
            )
            size = sum(abs(w) for w in weights[of]) + 1.0
            total = sum(abs(weights[t]) * spreads[t] for t in of)
            if total + (oracle.spread([intercept]) if intercept else 0.0) > 1e-6 * size:  # digits enough to compare
                np.testing.assert_allclose([found.margins[i], found.voter_margins[i]], [margin, alone], **CLOSE)
            if lead > 1e-9 * size:
                assert found.elected[i] == oracle.elected(F)


@pytest.mark.parametrize("scale", [1e-12, 0.01, 1.0, 100.0, 1e12])
def test_the_scale_of_the_weights_means_nothing(scale):
    committee = committee_of(np.array([[0, 1, 2], [1, 1, -1], [2, 2, 2]]), scale * np.array([1.0, 2.0, 4.0]), 3)
    counted = np.array([[True, True, True], [True, False, True], [False, True, False]])
    found = VoterMargins.of(committee, rows(3), np.array([2, 1, 0]), counted, 1)
    np.testing.assert_allclose(found.margins, [2 / 7, 1 / 5, -1.0], rtol=1e-12)
    np.testing.assert_allclose(found.voter_margins, [1 / 7, 1 / 5, -1.0], rtol=1e-12)
    assert found.elected.tolist() == [2, 1, 2]


def test_a_row_on_which_nobody_votes_has_no_margin():
    committee = committee_of(np.array([[0, 0], [1, 1]]), np.ones(2), 2)
    found = VoterMargins.of(committee, rows(2), np.array([0, 0]), np.array([[False, False], [True, True]]), 1)
    assert found.margins.tolist() == found.voter_margins.tolist() == [0.0, -1.0]


def test_no_margin_is_beyond_one_whatever_the_order_of_the_sums():
    """All voters favour the right class of the first row with all their spread, and a wrong one of the second."""
    low, high = [0.1, 0.2, 0.1], [0.6, 0.7, 0.8]
    votes = np.array([[[top, least, least] for least, top in zip(low, high, strict=True)]] * 2)
    found = VoterMargins.of(committee_of(votes, np.array([0.3, 0.7, 0.1]), 3), rows(2), np.array([0, 1]), None, 1)
    assert found.margins.tolist() == found.voter_margins.tolist() == [1.0, -1.0]


@given(casts(), st.sampled_from([Softmax(), Logistic(), Truncated()]))
def test_all_voters_elect_as_the_committee_does(case, link):
    """Ties and what its link takes for ties among them."""
    votes, weights, K = case
    committee = Committee(forest_that_votes(votes, K), weights, np.arange(K), link)
    found = VoterMargins.of(committee, rows(len(votes)), np.zeros(len(votes), dtype=int), None, 1)
    np.testing.assert_array_equal(found.elected, committee.predict(rows(len(votes))))


@pytest.mark.parametrize("weight", [1.0, 0.03])
def test_shares_with_the_same_mean_are_a_tie_among_some_voters_too(weight):
    """0.3 + 0.4 + 0.1 and 0.1 + 0.3 + 0.4 are apart by a rounding, a third of each is not."""
    shares = np.array([[0.3, 0.1, 0.3, 0.3], [0.4, 0.3, 0.15, 0.15], [0.1, 0.4, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0]])
    tally = weight * shares[0] + weight * shares[1] + weight * shares[2]
    assert tally[0] < tally[1]
    of_three, of_four = (
        Committee(forest_that_votes(np.array([shares[:T]] * 3), 4), np.full(T, weight), np.arange(4), Share())
        for T in (3, 4)
    )
    assert of_three.predict(rows(3)).tolist() == [0, 0, 0]
    counted = np.array([[True, True, True, True], [True, True, True, False], [False, False, False, False]])
    found = VoterMargins.of(of_four, rows(3), np.zeros(3, dtype=int), counted, 1)
    assert found.elected.tolist() == [3, 0, 0]


def test_an_intercept_counts_as_a_voter_where_scores_are_near():
    """Least squares takes scores for equal that are apart by 1e-12 of all weight, here 2."""
    votes = np.array([[[0.0, 1.5e-12, -1.0]], [[0.0, 2.5e-12, -1.0]]])
    committee = Committee(forest_that_votes(votes, 3), [1.0], np.arange(3), Truncated(), intercept=np.zeros(3))
    found = VoterMargins.of(committee, rows(2), np.zeros(2, dtype=int), None, 1)
    assert found.elected.tolist() == committee.predict(rows(2)).tolist() == [0, 1]
