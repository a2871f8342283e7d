"""Committees as voters: a vote is the answer of one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from committee import Committee, RandomForestClassifier, RegressionCommittee, TreeRegressor, TreeVoter
from committee.vote.links.mean import Identity
from committee.vote.links.probability import Share
from committee.vote.members import MemberCommittees
from committee.voters.protocol import Voters
from tests.subjects import noisy_scores, numbers


def of_classes(n_classes=3):
    X, y = numbers(n_classes)
    kinds = [TreeVoter(max_depth=2), TreeVoter(max_depth=4), RandomForestClassifier(3, random_state=0)]
    return X, [kind.fit(X, y).committee_ for kind in kinds]


def of_numbers():
    X, y = noisy_scores()
    return X, [TreeRegressor(max_depth=depth).fit(X, y).committee_ for depth in (1, 2, 5)]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_vote_is_what_a_committee_says_of_the_classes(n_classes):
    X, members = of_classes(n_classes)
    voters = MemberCommittees(members)
    assert isinstance(voters, Voters)
    assert (len(voters), voters.n_classes, voters.n_outputs, voters.n_features) == (3, n_classes, n_classes, 5)
    votes = voters.votes(X)
    assert_array_equal(votes, np.stack([one.predict_proba(X) for one in members], axis=1))
    w = np.array([0.5, 0.0, 2.0])
    assert_allclose(voters.tally(X, w), np.einsum("t,itk->ik", w, votes))
    assert_allclose(voters.tally(X), votes.sum(axis=1))
    assert_array_equal(voters.n_nodes, [one.n_nodes for one in members])
    assert voters.nbytes == sum(one.nbytes for one in members)
    assert (np.ptp(votes, axis=2) <= voters.spread).all()


def test_a_vote_is_the_number_that_a_committee_predicts():
    X, members = of_numbers()
    vote = RegressionCommittee(MemberCommittees(members), [0.2, 0.3, 0.5], Identity())
    mean = sum(w * one.predict(X) for w, one in zip((0.2, 0.3, 0.5), members, strict=True))
    assert_allclose(vote.predict(X), mean)
    assert_array_equal(vote.votes(X), np.column_stack([one.predict(X) for one in members]))


def test_some_members():
    X, members = of_classes()
    voters = MemberCommittees(members)
    for index, kept in (
        (slice(1, None), [1, 2]),
        ([2, 0, 2], [2, 0, 2]),
        (1, [1]),
        (np.array([True, False, True]), [0, 2]),
    ):
        assert_array_equal(voters[index].votes(X), voters.votes(X)[:, kept])
    vote = Committee(voters, [1.0, 2.0, 3.0], members[0].classes, Share())
    assert_allclose(vote.select([1]).predict_proba(X), members[1].predict_proba(X))
    assert_allclose(list(vote.staged_predict_proba(X))[-1], vote.predict_proba(X))


def test_members_answer_alike():
    _, members = of_classes()
    with pytest.raises(ValueError, match="members is empty"):
        MemberCommittees([])
    with pytest.raises(ValueError, match="members vote for classes and for numbers"):
        MemberCommittees([members[0], of_numbers()[1][0]])
    with pytest.raises(ValueError, match="members have different classes"):
        MemberCommittees([members[0], of_classes(2)[1][0]])
