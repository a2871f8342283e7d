"""The entropy of the weights that voters are trained with, growth by it, and the end at a training error."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import entr

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.learners.nesting.growth import Growth
from committee.learners.nesting.nested_fit import NestedClassifier
from tests.learners.nesting.nested_learners import every_learner, fitted, table

Floats = Any


def naive_weights(model: NestedClassifier, X: Floats, y: Floats) -> list[Floats]:
    """The weights at every node of a fitted graph, way by way from the root."""
    graph = model.graph_
    q, sign = graph.voters.probabilities(X), np.where(y == 1, 1.0, -1.0)
    at = [np.zeros(len(X)) for _ in range(len(graph.next))]
    at[0] += 1.0
    for t, (following, votes) in enumerate(zip(graph.next.tolist(), graph.vote.tolist(), strict=True)):
        for onward, vote, chance in zip(following, votes, (q[:, t], 1.0 - q[:, t]), strict=True):
            if onward >= 0:
                at[onward] += at[t] * chance * np.exp(-vote * sign)
    return at


@every_learner
def test_entropies_are_those_of_the_weights_at_each_voter(model: NestedClassifier) -> None:
    X, y = table()
    found = fitted(model, X, y)
    expected = [float(entr(D / D.sum()).sum()) - np.log(len(X)) for D in naive_weights(found, X, y)]
    assert_allclose(found.entropies_, expected, atol=1e-9)
    assert found.entropies_[0] == pytest.approx(0.0, abs=1e-12) and (found.entropies_[1:] < 0.0).all()


@every_learner
def test_a_weight_of_two_is_a_row_twice_and_one_of_nothing_no_row(model: NestedClassifier) -> None:
    X, y = table()
    weight = np.arange(len(X)) % 3
    weighted = model.__class__(**model.get_params()).fit(X, y, sample_weight=weight)
    repeated = fitted(model, np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.entropies_, repeated.entropies_, atol=1e-9)


def test_growth_by_entropy_takes_the_leaf_of_most_mass_times_concentration() -> None:
    X, y = table(200)
    model = BoostingTreeClassifier(24, choose="entropy").fit(X, y)
    at = naive_weights(model, X, y)
    # as nodes stand in the order of growth, each was ahead of those that had a leaf already and came later
    first = {0: -1}
    for t, following in enumerate(model.graph_.next.tolist()):
        first |= {onward: t for onward in following if onward >= 0}
    ahead = [D.sum() * e for D, e in zip(at, model.entropies_, strict=True)]
    late = [(t, u) for t in range(24) for u in range(t + 1, 24) if first[u] < t]
    assert late and all(ahead[t] <= ahead[u] + 1e-9 for t, u in late)
    by_mass = BoostingTreeClassifier(24).fit(X, y)
    assert by_mass.bounds_[0] == model.bounds_[0] and (by_mass.bounds_ != model.bounds_).any()


@pytest.mark.parametrize(
    "model",
    [
        ProbabilisticAdaBoostClassifier(40, calibrate=None),
        BoostingTreeClassifier(40, calibrate=None),
        MatryoshkaClassifier(levels=5, calibrate=None),
        MatryoshkaClassifier("greedy", max_voters=40, collect="sign", calibrate=None),
    ],
    ids=lambda model: type(model).__name__[:11],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fit_ends_at_the_training_error_that_is_asked_for(model: NestedClassifier, weighted: bool) -> None:
    X, y = table(300)
    weight = np.arange(len(X)) % 2 + 1.0 if weighted else None
    course: list[float] = []
    for share in (0.5, 0.15, 0.12):
        found = model.__class__(**model.get_params()).set_params(target_error=share).fit(X, y, sample_weight=weight)
        course.append(len(found.bounds_))
        assert 1.0 - found.score(X, y, sample_weight=weight) <= share + 1e-12
    assert course == sorted(course) and course[0] == 1 and course[-1] < 32
    # one voter fewer would not do
    if isinstance(model, ProbabilisticAdaBoostClassifier):
        fewer = ProbabilisticAdaBoostClassifier(course[-1] - 1, calibrate=None).fit(X, y, sample_weight=weight)
        assert 1.0 - fewer.score(X, y, sample_weight=weight) > 0.12


@pytest.mark.parametrize(
    "model",
    [
        ProbabilisticAdaBoostClassifier(20),
        BoostingTreeClassifier(30),
        MatryoshkaClassifier(levels=5),
        MatryoshkaClassifier([3, 2, 2], collect="sign"),
        MatryoshkaClassifier("greedy", max_voters=30, collect="sign"),
    ],
    ids=str,
)
def test_the_error_that_is_followed_is_that_of_the_committee(
    model: NestedClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E[H] of the training rows, added up voter after voter and changed where sub-trees are collected by sign."""
    X, y = table(300)
    seen: list[Growth] = []
    asked = Growth.training_error
    monkeypatch.setattr(Growth, "training_error", lambda growth: (seen.append(growth), asked(growth))[1])
    weight = np.where(np.arange(len(X)) % 7 == 0, 0.0, np.arange(len(X)) % 2 + 1.0)
    model.set_params(target_error=1e-9, calibrate=None).fit(X, y, sample_weight=weight)
    expected = seen[-1].expected
    assert expected is not None and len(model.bounds_) == len(seen[-1]) > 11
    assert_allclose(expected, model.decision_function(X)[weight > 0.0], rtol=1e-9, atol=1e-9)


def test_following_the_error_takes_memory_by_rows_and_not_by_voters() -> None:
    X, y = table(4000)
    peaks = []
    for share in (None, 1e-9):
        model = BoostingTreeClassifier(100, target_error=share, calibrate=None)
        tracemalloc.start()
        model.fit(X, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 8 * 8 * len(X)


def test_of_several_classes_each_score_has_its_share_of_the_error() -> None:
    X, _ = table(300)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    found = BoostingTreeClassifier(64, target_error=0.15, calibrate=None).fit(X, y)
    assert 1.0 - found.score(X, y) <= 0.15 and len(found.bounds_) < 3 * 64
