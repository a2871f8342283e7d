"""`RegressionCommittee` against sums written out, on forests made to give any numbers, and mean links."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

import committee
from committee import RandomForestClassifier, TreeRegressor, TreeVoter
from committee.data.categories import CategoryValues
from committee.data.table_schema import TableSchema
from committee.vote.committee import Committee, RegressionCommittee, as_committee
from committee.vote.links.mean import LARGEST_LOG, MEAN_LINKS, Average, Identity, Log, MeanLink, Ordered, from_json
from committee.vote.links.probability import Share, Softmax
from committee.vote.members import MemberCommittees
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from committee.voters.protocol import Voters
from committee.voters.rounds import Rounds
from tests.cast_votes import forest_that_votes, rows, values_of
from tests.subjects import noisy_scores, numbers
from tests.voters.test_estimators import Dictator
from tests.voters.test_forest import rounds_that_vote

LINKS = st.sampled_from([Identity(), Log(), Average(), Ordered()])


def forest_of_numbers(votes: np.ndarray) -> Forest:
    """Trees that give row i the numbers ``votes[i, t]``."""
    return forest_that_votes(votes, votes.shape[2])


@st.composite
def committees(draw: st.DrawFn) -> tuple[RegressionCommittee, np.ndarray]:
    """A committee and the votes (n, T, D) that it casts on `rows`."""
    n, T, D = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    flat = draw(st.lists(values_of, min_size=n * T * D, max_size=n * T * D))
    votes = np.array(flat).reshape(n, T, D)
    weights = draw(st.lists(st.sampled_from([1.0, 0.1, 2.0]), min_size=T, max_size=T))
    intercept = draw(st.none() | st.lists(values_of, min_size=D, max_size=D))
    voters = draw(st.sampled_from([forest_of_numbers, rounds_that_vote]))(votes)
    return RegressionCommittee(voters, weights, draw(LINKS), None, intercept), votes


@given(committees())
def test_scores_and_predictions(case):
    committee, votes = case
    X, D = rows(len(votes)), votes.shape[2]
    start = np.zeros(D) if committee.intercept is None else committee.intercept
    expected = start + np.einsum("ntd,t->nd", votes, committee.weights)
    shape = (len(votes),) if D == 1 else (len(votes), D)
    F, predicted = committee.decision_function(X), committee.predict(X)
    assert F.shape == predicted.shape == shape
    scale = max(1.0, float(np.abs(votes).max()), float(np.abs(start).max()))
    assert_allclose(F, expected.reshape(shape), rtol=1e-12, atol=1e-11 * scale)
    total = committee.weights.sum() + (committee.intercept is not None)
    assert_array_equal(predicted, committee.link.mean(F, total))
    assert_array_equal(committee.votes(X), votes[:, :, 0] if D == 1 else votes)
    assert_array_equal(committee.predict(X, n_threads=3), predicted)
    again = pickle.loads(pickle.dumps(committee))
    assert_array_equal(again.predict(X), predicted)


@given(committees())
def test_stages(case):
    committee, votes = case
    X = rows(len(votes))
    stages = list(zip(committee.staged_decision_function(X), committee.staged_predict(X), strict=True))
    assert len(stages) == committee.n_voters
    for t, (F, predicted) in enumerate(stages):
        so_far = committee[: t + 1]
        assert_array_equal(F, so_far.decision_function(X))
        assert_array_equal(predicted, so_far.predict(X))
    assert_array_equal(stages[-1][1], committee.predict(X))


def averaged(intercept: Any = None) -> RegressionCommittee:
    votes = np.array([[[1.0], [5.0], [3.0]], [[2.0], [2.0], [2.0]]])
    return RegressionCommittee(forest_of_numbers(votes), [1.0, 1.0, 2.0], Average(), None, intercept)


def test_an_average_is_over_the_weights():
    assert_array_equal(averaged().predict(rows(2)), [3.0, 2.0])
    assert_array_equal(averaged([8.0]).predict(rows(2)), [4.0, 3.2])  # one more voter of weight 1
    assert_array_equal([p[0] for p in averaged().staged_predict(rows(2))], [1.0, 3.0, 3.0])
    assert_array_equal(averaged().select([0, 1]).predict(rows(2)), [3.0, 2.0])
    assert_array_equal(averaged().select(slice(2), [3.0, 1.0]).predict(rows(2)), [2.0, 2.0])


def test_quantiles_do_not_cross():
    votes = np.array([[[1.0, 3.0, 2.0]], [[5.0, 4.0, 6.0]]])
    committee = RegressionCommittee(rounds_that_vote(votes), [1.0], Ordered())
    assert_array_equal(committee.predict(rows(2)), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert_array_equal(committee.decision_function(rows(2)), votes[:, 0])


def test_size_and_name():
    committee = averaged([8.0])
    assert (committee.n_voters, committee.n_outputs, committee.n_nodes) == (3, 1, 9)
    assert repr(committee) == "RegressionCommittee(3 voters, 1 output, average link)"
    assert committee.nbytes == committee.voters.nbytes + 32
    assert_array_equal(committee.feature_importances_, [1.0])
    quantiles = RegressionCommittee(rounds_that_vote(np.zeros((2, 1, 3))), [1.0], Ordered())
    assert repr(quantiles) == "RegressionCommittee(1 voter, 3 outputs, ordered link)"


def test_another_link_and_other_weights():
    committee = averaged()
    as_is: MeanLink = Identity()
    assert_array_equal(committee.select(slice(None), link=as_is).predict(rows(2)), [12.0, 8.0])
    assert committee.link == Average()
    with pytest.raises(ValueError, match="selects no voter"):
        committee.select([])
    with pytest.raises(ValueError, match=r"weights has shape \(1,\); 2 voters"):
        committee.select([0, 1], [1.0])


def test_tables():
    trees = forest_of_numbers(np.array([[[1.5]], [[2.5]], [[4.0]]]))
    schema = TableSchema(("size",), (("S", "M", "L"),))
    committee = RegressionCommittee(trees, [1.0], Identity(), schema)
    assert committee.predict(pl.DataFrame({"size": ["L", "S"]})).tolist() == [4.0, 1.5]
    with pytest.raises(ValueError, match="X has 2 columns; the voters need 1"):
        replace(committee, table=None).predict(np.zeros((3, 2)))
    # at the call, not at the first stage
    with pytest.raises(ValueError, match="X has 2 columns; the voters need 1"):
        replace(committee, table=None).staged_predict(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [1.0]}, r"weights has shape \(1,\); 3 voters"),
        ({"weights": [1.0, np.nan, 1.0]}, r"weights\[1\] is nan"),
        ({"intercept": [1.0, 2.0]}, r"intercept has shape \(2,\); it must be \(1,\)"),
        ({"intercept": [np.inf]}, r"intercept\[0\] is inf"),
        ({"voters": forest_that_votes(np.zeros((2, 3), dtype=np.int32), 2)}, "regression needs scores"),
        ({"voters": forest_that_votes(np.zeros((2, 3, 1)), 2)}, "votes for 2 classes.*Use Committee"),
        (
            {"voters": EstimatorVoters([Dictator(0, [0, 1])] * 3, [0, 1])},
            "votes for 2 classes; regression needs scores",
        ),
        ({"voters": forest_of_numbers(np.zeros((2, 3, 1)))[:0], "weights": []}, "voters is empty"),
    ],
)
def test_parts_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(averaged(), **change)


def test_the_two_committees_share_their_sums():
    """As scores of classes or as numbers: the same F."""
    votes = np.random.default_rng(0).normal(size=(4, 3, 3))
    weights, intercept = [1.0, -0.5, 2.0], [0.1, 0.2, 0.3]
    for voters in (forest_of_numbers(votes), Rounds(rounds_that_vote(votes).forest, 3)):
        numbers = RegressionCommittee(voters, weights, Identity(), None, intercept)
        classes = Committee(voters, weights, list("abc"), Softmax(), None, intercept)
        assert_array_equal(numbers.decision_function(rows(4)), classes.decision_function(rows(4)))


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


@pytest.mark.parametrize("categorical", [False, True])
def test_members_encode_columns_by_their_own_tables(categorical: bool) -> None:
    # with and without categories, other numbers for them, rounded cells, and the first table again
    X, members = of_classes()
    X = np.column_stack([X[:, :4], np.arange(len(X)) % 4 + np.tile([0.0, 0.5], len(X))[: len(X)]])
    plain = TableSchema(None, (None,) * 5)
    codes = TableSchema(None, (None, None, None, None, (0, 1, 2)))
    tables = [codes, plain, codes.with_values({4: CategoryValues((0.3, -2.0, 1.0), 0.1, "mean")}), codes]
    tables += [replace(codes, rounding="trunc"), codes] if categorical else []
    tables = tables if categorical else tables[1:]
    voters = MemberCommittees([replace(members[k % 3], table=table) for k, table in enumerate(tables)])
    before = X.copy()
    expected = np.stack([one.predict_proba(X) for one in voters.members], axis=1)
    assert_array_equal(voters.votes(X), expected)
    assert_array_equal(voters.votes(X[::-1]), expected[::-1])  # not in one piece of memory
    assert_array_equal(X, before)


def test_members_answer_alike():
    _, members = of_classes()
    with pytest.raises(ValueError, match="members is empty"):
        MemberCommittees([])
    with pytest.raises(ValueError, match="members vote for classes and for numbers"):
        MemberCommittees([members[0], of_numbers()[1][0]])
    with pytest.raises(ValueError, match="members have different classes"):
        MemberCommittees([members[0], of_classes(2)[1][0]])


X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32).astype(np.float64)
LABEL = np.array(["b", "a", "c"])[np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])]


@pytest.mark.parametrize("model", ["x", 3, None, committee.TreeVoter, DecisionTreeClassifier])
@pytest.mark.parametrize("export", [committee.as_sklearn, committee.to_treelite, committee.to_onnx])
def test_what_is_no_estimator_is_refused(export: Any, model: Any) -> None:
    with pytest.raises(TypeError, match=r"estimator is .*; it must be a fitted classifier"):
        export(model)


@pytest.mark.parametrize(
    "kind", [DecisionTreeClassifier, ExtraTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor]
)
def test_a_tree_alone_is_a_committee(kind: Any) -> None:
    of_classes = is_classifier(kind())
    tree = kind(max_depth=4, random_state=0).fit(X, LABEL if of_classes else X[:, 1])
    ours = as_committee(tree, "ONNX")
    assert isinstance(ours, Committee if of_classes else RegressionCommittee) and ours.n_voters == 1
    for model in (ours, committee.as_sklearn(tree)):
        assert_array_equal(model.predict(X), tree.predict(X))
        if of_classes:
            assert_array_equal(model.predict_proba(X), tree.predict_proba(X))


def test_boosters_without_a_class_of_scikit_learn() -> None:
    import lightgbm

    booster = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, LABEL == "a"), 3)
    assert isinstance(as_committee(booster, "ONNX"), Committee)


vectors = st.lists(st.floats(-1e3, 1e3), max_size=9).map(lambda x: np.array(x, dtype=np.float64))
tables = st.integers(1, 5).flatmap(
    lambda D: st.lists(st.lists(st.floats(-1e3, 1e3), min_size=D, max_size=D), min_size=1, max_size=9).map(np.array)
)
of_all = pytest.mark.parametrize("link", [Identity(), Log(), Average(), Ordered()], ids=str)


@given(vectors)
def test_equations(F):
    assert_array_equal(Identity().mean(F), F)
    assert_allclose(Log().mean(F), [np.exp(min(max(f, -700.0), 700.0)) for f in F], rtol=1e-14)
    assert_array_equal(Average().mean(F, 4.0), F / 4)
    assert_array_equal(Ordered().mean(F), F)


@given(tables)
def test_tables_keep_their_shape(F):
    for link in (Identity(), Log(), Average()):
        by_column = [link.mean(column, 2.0) for column in F.T]
        assert_array_equal(link.mean(F, 2.0), np.array(by_column).T)
    assert_array_equal(Ordered().mean(F), [sorted(row) for row in F.tolist()])


@of_all
@given(vectors)
def test_mean_and_score_are_inverse(link, F):
    inside = F[np.abs(F) <= LARGEST_LOG]
    assert_allclose(link.score(link.mean(inside, 1.0)), inside, rtol=1e-12, atol=1e-12)


@of_all
def test_means_are_new_arrays(link):
    F = np.array([[2.0, 1.0]])
    F.flags.writeable = False
    for made in (link.mean(F, 1.0), link.score(np.abs(F))):
        made += 1.0
    assert F.tolist() == [[2.0, 1.0]]


def test_logarithms_are_finite():
    assert_allclose(Log().score([0.0, 1.0, 1e308]), [-700.0, 0.0, 700.0], atol=1e-12)
    assert np.isfinite(Log().mean([-1e9, 1e9])).all() and (Log().mean([-1e9, 1e9]) > 0.0).all()


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_order_never_increases_the_error_of_quantiles(seed, D):
    """Chernozhukov, Fernandez-Val and Galichon (2010), proposition 4: for increasing truths and any p >= 1."""
    rng = np.random.default_rng(seed)
    truth, F = np.sort(rng.normal(size=(5, D)), axis=1), rng.normal(size=(5, D))
    for p in (1.0, 1.5, 2.0, 7.0):
        errors = [(np.abs(quantiles - truth) ** p).sum(axis=1) for quantiles in (Ordered().mean(F), F)]
        assert (errors[0] <= errors[1] + 1e-12).all()


@pytest.mark.parametrize("total", [None, 0.0, -1.0, float("nan")])
def test_an_average_needs_a_weight(total):
    with pytest.raises(ValueError, match=f"total is {total}"):
        Average().mean([1.0], total)


@of_all
def test_json_round_trip(link):
    assert from_json(json.loads(json.dumps(link.to_json()))) == link


def test_every_mean_link_is_in_the_table():
    ours = [
        {link for link in links if link.__module__ == "committee.vote.links.mean"}  # pages may have added to the table
        for links in (MEAN_LINKS.values(), MeanLink.__subclasses__())
    ]
    assert ours[0] == ours[1]


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (None, "mean link is NoneType"),
        ({"name": "softmax"}, "mean link name is 'softmax'; it must be one of identity, log, average, ordered"),
        ({"name": "log", "base": 2.0}, "mean link 'log' has no 'base'"),
    ],
)
def test_stored_mean_links_are_checked(stored, message):
    with pytest.raises(ValueError, match=message):
        from_json(stored)
