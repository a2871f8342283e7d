"""Fewer fits and trees of the members of a committee of ensembles: sizes, weights, and what is said of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from committee import CommitteeClassifier, CommitteeRegressor, load, prune
from committee.learners.blend.pruned import PRUNED, PrunableMember
from tests.small_portfolio import use_small_members
from tests.subjects import noisy_scores, numbers

FAST = {"effort": "fast", "cv": 4, "random_state": 0, "n_jobs": 1, "min_gain": 0.0}
BOTH = pytest.mark.parametrize("kind", [CommitteeClassifier, CommitteeRegressor])


@pytest.fixture(autouse=True)
def small(monkeypatch):
    use_small_members(monkeypatch)


def fitted(kind, n=200):
    X, y = numbers(3, n) if kind is CommitteeClassifier else noisy_scores(n)
    return kind(**FAST).fit(X, y), X, y


def answers(one, X):
    return one.predict_proba(X) if hasattr(one, "predict_proba") else one.predict(X)


@BOTH
@pytest.mark.parametrize("max_nodes", [0.8, 0.5, 0.34])
def test_fewer_nodes_and_the_same_members_of_the_same_weights(kind, max_nodes):
    model, X, _ = fitted(kind)
    before = answers(model, X)
    small = model.prune(max_nodes)
    assert small.committee_.n_nodes <= max_nodes * model.committee_.n_nodes
    assert small.committee_.n_nodes > 0.3 * max_nodes * model.committee_.n_nodes
    assert type(small) is kind and small.get_params() == model.get_params()
    assert small.member_names_ == model.member_names_ and len(small.member_names_) > 1
    assert_allclose(small.member_weights_, model.member_weights_)
    assert_allclose(small.committee_.weights.sum(), 1.0)
    assert (small.member_sizes_ <= model.member_sizes_).all()
    if kind is CommitteeClassifier:
        assert np.mean(small.predict(X) == model.predict(X)) > 0.85
    else:
        assert np.corrcoef(small.predict(X), before)[0, 1] > 0.97
    assert_array_equal(answers(model, X), before)


@BOTH
def test_it_votes_by_the_first_parts_of_each_member(kind):
    model, X, _ = fitted(kind)
    small = model.prune(0.5)
    expected, number = 0.0, 0
    for name, weight, size, kept in zip(
        model.member_names_, model.member_weights_, model.member_sizes_, small.member_sizes_, strict=True
    ):
        fits = model.committee_.voters.members[number : number + size]
        number += size
        parts = fits[:kept]
        if name in ("forest", "sbpmt"):
            n_voters = small.member(name).voters.members[0].n_voters
            assert n_voters < fits[0].n_voters
            parts = [fits[0][:n_voters]]
        expected = expected + weight * np.mean([answers(one, X) for one in parts], axis=0)
    assert_allclose(answers(small, X), expected)


@BOTH
def test_all_nodes_are_all_members(kind):
    model, X, _ = fitted(kind)
    assert_array_equal(answers(model.prune(1.0), X), answers(model, X))
    assert model.prune(1.0).committee_.n_nodes == model.committee_.n_nodes


@BOTH
def test_members_go_where_one_part_of_each_is_too_much(kind, tmp_path):
    model, X, _ = fitted(kind)
    least = sum(
        int(PrunableMember(name, model.committee_.voters.members[start : start + size]).nodes[0])
        for name, start, size in zip(
            model.member_names_, np.cumsum(model.member_sizes_) - model.member_sizes_, model.member_sizes_, strict=True
        )
    )
    assert model.prune(least).member_names_ == model.member_names_
    small = model.prune(least - 1)
    gone = [name for name in model.member_names_ if name not in small.member_names_]
    assert gone[0] == model.member_names_[int(np.argmin(model.member_weights_))]
    assert {name: small.left_out_[name] for name in gone} == dict.fromkeys(gone, PRUNED)
    assert PRUNED not in model.left_out_.values()
    assert len(small.left_out_losses_) == len(small.left_out_seconds_) == len(small.left_out_)
    assert small.members_.filter(small.members_["member"] == gone[0])["weight"].item() in (0.0, None)
    assert_allclose(small.member_weights_.sum(), 1.0)
    small.save(tmp_path / "small")
    assert_array_equal(answers(load(tmp_path / "small"), X), answers(small, X))


def test_nothing_has_judged_it():
    small = fitted(CommitteeRegressor)[0].prune(0.5)
    assert np.isnan([small.oof_loss_, small.oof_score_]).all()


def test_what_cannot_be_pruned_is_refused():
    model, X, y = fitted(CommitteeClassifier)
    with pytest.raises(ValueError, match=r"allows 1 nodes, and a part of the member '\w+' has \d+; allow more, or"):
        model.prune(1)
    with pytest.raises(ValueError, match=r"max_nodes=2\.0 must be a share"):
        model.prune(2.0)
    with pytest.warns(UserWarning, match="one class"):
        constant = CommitteeClassifier(**FAST).fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="there is nothing to prune"):
        constant.prune()
    with pytest.raises(TypeError, match=r"is a CommitteeClassifier, .* call its own prune"):
        prune(model, X, y, on="train")
    with pytest.raises(TypeError, match=r"is a CommitteeRegressor, .* call its own prune"):
        prune(fitted(CommitteeRegressor)[0], X, y, level="voter")


def test_rows_that_it_has_not_seen_drop_whole_fits():
    model = fitted(CommitteeClassifier)[0]
    X, y = numbers(3, 300, seed=1)
    small = prune(model, X, y, level="voter", on="validation", max_voters=3)
    assert small.committee_.n_voters <= 3
    assert small.score(X, y) > 0.5
