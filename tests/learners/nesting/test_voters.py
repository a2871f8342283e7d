"""Voters that can only be asked, and how often they are."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone

from committee import BoostingTreeClassifier, ProbabilisticAdaBoostClassifier
from committee.learners.nesting import draws
from committee.learners.nesting.draws import MOST_DRAWS, estimated_by_draws
from committee.learners.nesting.nested_fit import NestedClassifier
from committee.voters.oracles import estimated
from tests.learners.nesting.nested_learners import every_learner, fitted, table
from tests.oracles import nesting as oracle
from tests.probabilistic_voters import NoisyStump, StumpOracle

Floats = NDArray[np.float64]


# --- estimates ------------------------------------------------------------------------------------------------


def test_estimates_are_the_documents_formulas() -> None:
    count = np.array([0, 1, 3, 4])
    assert_allclose(estimated(count, 4, "ml"), [0.0, 0.25, 0.75, 1.0])
    assert_allclose(estimated(count, 4, "map"), [1 / 6, 2 / 6, 4 / 6, 5 / 6])
    assert_allclose(estimated(np.zeros(1), 10**9, "map"), 0.0, atol=1e-8)


def script(answers: list[float]) -> Callable[[Floats], float]:
    """A normaliser that has been told what to say."""
    left: Iterator[float] = iter(answers)
    return lambda q: next(left)


def always(n: int = 3) -> Callable[[], NDArray[np.bool_]]:
    return lambda: np.array([True, False, True][:n])


def test_a_number_of_draws_is_drawn_whatever_they_say() -> None:
    q, R = estimated_by_draws(always(), lambda q: 0.5, 7, "map", 0.0)
    assert R == 7
    assert_allclose(q, [8 / 9, 1 / 9, 8 / 9])
    q, R = estimated_by_draws(always(), lambda q: 0.5, 1, "ml", 0.0)
    assert R == 1
    assert_array_equal(q, [1.0, 0.0, 1.0])


def test_the_first_rise_ends_it() -> None:
    assert estimated_by_draws(always(), script([0.9, 0.8, 0.8, 0.7, 0.71, 0.1]), "first_rise", "map", 0.0)[1] == 5
    assert estimated_by_draws(always(), script([0.9, 0.95, 0.1]), "first_rise", "map", 0.0)[1] == 2


def test_a_voter_that_never_makes_it_rise_is_asked_no_more_in_the_end() -> None:
    assert estimated_by_draws(always(), lambda q: 0.5, "first_rise", "map", 0.0)[1] == MOST_DRAWS


class Clock:
    """Time that passes by what is done: a draw takes `draw` seconds."""

    def __init__(self, draw: float) -> None:
        self.now, self.draw = 0.0, draw

    def perf_counter(self) -> float:
        return self.now

    def ask(self) -> NDArray[np.bool_]:
        self.now += self.draw
        return np.array([True, False])


@pytest.mark.parametrize(
    ("training", "draw", "Z", "n_draws"),
    [
        # going on is worth ln(0.8) / (3 + 1) = -0.056 a second; a draw ln(0.79 / 0.8) = -0.013: it was one too many
        (3.0, 1.0, [0.8, 0.79], 2),
        # ln(0.7 / 0.8) = -0.134, ln(0.65 / 0.7) = -0.074, ln(0.64 / 0.65) = -0.016
        (3.0, 1.0, [0.8, 0.7, 0.65, 0.64], 4),
        # dear voters, cheap draws: ln(0.8) / 100 = -0.002 a second against ln(0.79 / 0.8) / 0.1 = -0.126
        (100.0, 0.1, [0.8, 0.79, 0.789, 0.7889], 4),
        # cheap voters, dear draws: -0.022 against -0.0134
        (0.0, 10.0, [0.8, 0.7], 2),
        # a rise is never worth its while
        (1000.0, 1.0, [0.8, 0.81], 2),
        # nothing is gained by either
        (1.0, 1.0, [1.0, 1.0, 1.1], 3),
    ],
)
def test_the_stopwatch_compares_falls_by_the_second(
    monkeypatch: pytest.MonkeyPatch, training: float, draw: float, Z: list[float], n_draws: int
) -> None:
    clock = Clock(draw)
    monkeypatch.setattr(draws, "time", clock)
    assert estimated_by_draws(clock.ask, script(Z), "stopwatch", "map", training)[1] == n_draws


def test_the_stopwatch_bears_draws_that_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(1e-7)
    monkeypatch.setattr(draws, "time", clock)
    assert estimated_by_draws(clock.ask, script([0.5, 0.9]), "stopwatch", "map", 1e-7)[1] == 2
    clock.draw = 0.0
    assert estimated_by_draws(clock.ask, script([0.5, 0.4, 0.45]), "stopwatch", "map", 0.0)[1] <= 3


# --- voters that are asked -----------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@every_learner
@pytest.mark.parametrize("n_draws", [1, 4, "first_rise", "stopwatch", None])
@pytest.mark.parametrize("estimate", ["map", "ml"])
def test_oracles_are_asked_and_may_be_asked_again(model: NestedClassifier, n_draws: Any, estimate: Any) -> None:
    X, y = table()
    committee = fitted(model, X, y, voter=StumpOracle(0.2), n_draws=n_draws, estimate=estimate)
    asked_for = committee.n_draws_
    assert (asked_for >= 1).all()
    if isinstance(n_draws, int):
        assert_array_equal(asked_for, n_draws)
    assert_array_equal(committee.graph_.voters.n_draws, asked_for)  # type: ignore[union-attr]
    assert_array_equal(committee.decision_function(X), committee.decision_function(X))
    assert np.isfinite(committee.predict_proba(X)).all()
    assert committee.score(X, y) > 0.5
    if n_draws != "stopwatch":
        again = fitted(model, X, y, voter=StumpOracle(0.2), n_draws=n_draws, estimate=estimate)
        assert_array_equal(committee.decision_function(X), again.decision_function(X))
        assert_array_equal(asked_for, again.n_draws_)


@pytest.mark.one_in(2)
@every_learner
def test_estimated_bounds_are_those_of_the_estimates(model: NestedClassifier) -> None:
    X, y = table()
    known = fitted(model, X, y)
    drawn_ = fitted(model, X, y, n_draws=8)
    assert_array_equal(known.n_draws_, 0)
    assert_array_equal(drawn_.n_draws_, 8)
    # the first voter is the same: only its q is told from draws, and MAP estimates say less
    assert drawn_.graph_.voters.feature[0] == known.graph_.voters.feature[0]  # type: ignore[union-attr]
    assert drawn_.bounds_[0] > known.bounds_[0]
    many = fitted(model, X, y, n_draws=3000)
    assert many.bounds_[0] == pytest.approx(known.bounds_[0], rel=0.01)
    # a voter that tells q is asked for it where new rows come
    graph = drawn_.graph_
    ways = oracle.ways_of(graph.next, graph.vote, graph.voters.probabilities(X))
    assert_allclose(drawn_.decision_function(X), sum(way.reach * way.H for way in ways), atol=1e-9)


def test_estimates_of_an_oracle_come_near_what_it_would_tell() -> None:
    X, y = table(400)
    told = BoostingTreeClassifier(4, voter=NoisyStump(0.2), random_state=0).fit(X, y)
    known = BoostingTreeClassifier(4, voter=StumpOracle(0.2), n_draws=500, random_state=0).fit(X, y)
    assert known.bound_ == pytest.approx(told.bound_, abs=0.03)
    assert known.graph_.voters.voters[0].column_ == told.graph_.voters.voters[0].column_  # type: ignore[union-attr]
    q = known.graph_.voters.probabilities(X)[:, 0]
    assert_allclose(q, np.where(told.graph_.voters.probabilities(X)[:, 0] > 0.5, 0.8, 0.2), atol=0.12)


def test_a_voter_that_tells_its_probabilities_may_be_asked_instead() -> None:
    X, y = table()
    model = ProbabilisticAdaBoostClassifier(4, voter=NoisyStump(0.2), n_draws="first_rise", random_state=0).fit(X, y)
    assert (model.n_draws_ >= 2).all()
    assert_array_equal(model.graph_.voters.n_draws, 0)  # type: ignore[union-attr]
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert (model.n_draws_ != other.n_draws_).any() or (model.bounds_ != other.bounds_).any()
