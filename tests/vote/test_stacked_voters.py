"""Voters of a second layer: answers that are shared with the other members, and files that hold each committee once."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine

from committee import GradientBoostingClassifier, TreeVoter, load
from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.vote.members import MemberCommittees, StackedVoters, stacked_columns
from tests.model_files import Change, contents, craft, put, refused, swap, tell

CLASSES = pytest.mark.parametrize("n_classes", [2, 3])
X, LABELS = load_wine(return_X_y=True)


@cache
def vote(n_classes: int = 3) -> Committee:
    """Two trees, and two fits of a second layer that read them and a third tree; one is a candidate of two trees."""
    y = np.minimum(LABELS, n_classes - 1)
    first = [TreeVoter(max_depth=k + 1).fit(X[k::2], y[k::2]).committee_ for k in range(3)]
    sizes = np.array([1, 2])
    p = [one.predict_proba(X) for one in first]
    columns = stacked_columns(np.stack([p[0], (p[1] + p[2]) / 2.0], axis=1))
    layer = []
    for k in range(2):
        one = GradientBoostingClassifier(n_estimators=3, random_state=k).fit(columns[k::2], y[k::2]).committee_
        layer.append(replace(one, voters=StackedVoters(MemberCommittees(first), sizes, one.voters), table=None))
        assert_array_equal(layer[k].predict_proba(X), one.predict_proba(columns))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    return Committee(MemberCommittees([*first[1:], *layer]), weights, first[0].classes, Share(), first[0].table)


@CLASSES
def test_committees_that_are_members_too_vote_once(n_classes, monkeypatch):
    shared, asked = vote(n_classes), list[Any]()
    members = shared.voters.members
    apart = replace(shared, voters=MemberCommittees([*map(replace, members[:2]), *members[2:]]))
    answer = Committee.answer_of
    monkeypatch.setattr(Committee, "answer_of", lambda one, *given: asked.append(one) or answer(one, *given))
    for use in (
        lambda one: one.voters.votes(X),
        lambda one: one.voters.tally(X, one.weights),
        lambda one: one.voters.tally(X, one.weights, 2),
        lambda one: one.voters.tally(X, np.array([0.0, 0.5, 0.0, 0.5])),
        lambda one: one.predict_proba(X),
    ):
        assert use(shared).tobytes() == use(apart).tobytes()
    asked.clear()
    shared.predict_proba(X)
    assert len(asked) == 5  # three trees and two fits
    alone = np.stack([one.predict_proba(X) for one in members], axis=1)
    assert_array_equal(shared.voters.votes(X), alone)
    assert_array_equal(shared.voters[2:].votes(X[:9]), alone[:9, 2:])
    assert_array_equal(members[2][:2].voters.columns(X), members[2].voters.columns(X))


@CLASSES
def test_files_and_pickles_hold_them_once(n_classes, tmp_path):
    model = vote(n_classes)
    model.save(tmp_path / "model")
    stored = contents((tmp_path / "model").read_bytes())[0]["model"]["voters"]["members"]
    first = [one["voters"]["first"]["members"] for one in stored[2:]]
    assert first[0][1:] == [{"same": "voters.0."}, {"same": "voters.1."}] and "same" not in first[0][0]
    assert first[1] == [{"same": "voters.2.voters.first.0."}, *first[0][1:]]
    for twin in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
        members = twin.voters.members
        one, other = (each.voters.first.members for each in members[2:])
        assert one == other and one[1:] == members[:2]  # the same objects, as committees are equal to no others
        assert twin.nbytes == model.nbytes < sum(each.nbytes for each in members) + model.weights.nbytes
    assert model.file_bytes == pytest.approx((tmp_path / "model").stat().st_size, rel=0.1)
    assert sum(model.voters.file_bytes) + model.column_bytes == pytest.approx(model.file_bytes, rel=0.1)


def test_files_hold_no_reference_to_a_committee_with_references(tmp_path):
    one = TreeVoter(max_depth=1).fit(X, LABELS).committee_
    for _ in range(4):
        one = Committee(MemberCommittees([one, one]), np.full(2, 0.5), one.classes, Share(), one.table)
    one.save(tmp_path / "model")

    stored = contents((tmp_path / "model").read_bytes())[0]["model"]["voters"]
    assert json.dumps(stored).count('"same"') == 15  # all but one of 16 trees
    assert_array_equal(load(tmp_path / "model").predict_proba(X), one.predict_proba(X))


FIRST = ("voters", "members", 2, "voters", "first", "members")
SECOND = ("voters", "members", 2, "voters", "second")
SIZES = "voters.2.voters.sizes"


def nested(document: Any, _: Any) -> None:
    """A second layer of a second layer, which no fit makes."""
    voters = document["model"]["voters"]["members"][2]["voters"]
    voters["second"] = {**voters, "second": voters["second"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (tell(*FIRST, 1, "same", value="voters.7."), "member 1 is that at 'voters.7.', and the file holds none there"),
        (tell("voters", "members", 3, value={"same": "voters.2."}), "member 3 is that at 'voters.2.', and"),
        (tell(*FIRST, 1, "same", value=0), "'same' is a int"),
        (tell(*FIRST, 1, "same", value="voters.1."), "a first layer holds a committee twice"),
        (put(SIZES, 1, 3), "sizes do not count the 3 committees of a first layer"),
        (put(SIZES, slice(None), [-(2**63), -(2**63) + 3]), "sizes do not count the 3 committees"),
        (swap(SIZES, lambda a: np.array([2**62, 2**62, 2**62, 2**62 + 3])), "sizes do not count the 3 committees"),
        (swap(SIZES, lambda a: a.astype(np.int32)), "sizes is int32"),
        (swap(SIZES, lambda a: np.ones(3, np.int64)), "a second layer takes 6 columns, and the first has 9"),
        (tell(*SECOND, "kind", value="members"), "voters are of kind 'members'"),
        (nested, "voters are of kind 'stacked'"),
    ],
)
def test_crafted_files_are_refused(change: Change, message: str, tmp_path: Path) -> None:
    vote().save(tmp_path / "model")
    refused(tmp_path / "model", craft((tmp_path / "model").read_bytes(), change), message)


def test_a_second_layer_votes_for_the_classes_of_the_first(tmp_path: Path) -> None:
    two, three = (vote(n).voters.members[2] for n in (2, 3))
    mixed = StackedVoters(two.voters.first, two.voters.sizes, three.voters.second)
    with pytest.raises(ValueError, match="a second layer votes for other classes than the first"):
        replace(three, voters=mixed).save(tmp_path / "model")
