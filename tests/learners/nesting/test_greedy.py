"""The greedy matryoshka: what it collects, and when."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import MatryoshkaClassifier
from committee.bounds.nested_trees import nesting_rate
from committee.learners.nesting import nests
from committee.learners.nesting.nests import Collector, GreedyNest, Site
from tests.oracles import nesting as oracle
from tests.probabilistic_voters import NoisyStump, growth_of

Floats = NDArray[np.float64]


def numbers(n: int, seed: int, noise: float = 1.0) -> tuple[Floats, NDArray[np.int64], Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + noise * rng.normal(size=n) > 0).astype(np.int64)
    return X, y, rng.uniform(0.5, 1.5, size=n)


@given(st.integers(0, 2**20), st.integers(1, 11), st.sampled_from([0.05, 0.2, 0.3]))
@settings(max_examples=25)
def test_it_is_the_naive_one(seed: int, T: int, flip: float) -> None:
    X, labels, w = numbers(40, seed)
    y = 2.0 * labels - 1.0

    def train(weights: Floats) -> Floats:
        return NoisyStump(flip).fit(X, labels, weights).prob_positive(X)

    model = MatryoshkaClassifier("greedy", max_voters=T, voter=NoisyStump(flip)).fit(X, labels, w)
    made = oracle.greedy(train, w / w.sum(), y, T, 0.25 / max(w.sum(), 40))
    assert len(model.graph_) == T
    assert model.dolls_ == made.dolls
    assert model.bound_ == pytest.approx(made.bound(), rel=1e-5)
    assert_allclose(model.decision_function(X), made.expected_score(), atol=1e-4)
    assert_allclose(model.cost(X), made.cost(), rtol=1e-5)


def is_consistent(dolls: list[list[int]]) -> bool:
    """Any two are one inside the other, the inner one first, or have nothing in common."""
    return all(
        set(inner) < set(outer) or not set(inner) & set(outer) for k, outer in enumerate(dolls) for inner in dolls[:k]
    )


@pytest.mark.parametrize("rate", ["voters", "seconds"])
@pytest.mark.parametrize("softness", [0.0, 0.25])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_falls_and_dolls_lie_inside_each_other(rate: Any, softness: float, seed: int) -> None:
    X, y, _ = numbers(150, seed)
    model = MatryoshkaClassifier("greedy", max_voters=24, rate=rate, softness=softness).fit(X, y)
    assert (np.diff(model.bounds_) < 0).all()
    assert is_consistent(model.dolls_)
    assert all(doll == sorted(doll) and len(doll) > 1 and doll[-1] < 24 for doll in model.dolls_)
    assert model.bounds_[-1] == model.bound_


def test_it_collects_where_the_nested_rate_is_the_lower_and_only_there(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[tuple[int, bool]] = []
    collected: list[int] = []
    judge, collect = GreedyNest.pays_nested, Collector.collected

    def spied(self: GreedyNest, site: Site, newest: Site, last: float) -> bool:
        says = judge(self, site, newest, last)
        # C(T - 1), C(T) and C(T + 1), by what the leaves weigh
        leaves = site.leaves()
        now = sum(float(leaf.weights.sum(dtype=np.float64)) for leaf in leaves)
        new = newest.leaves()
        before = now - sum(float(leaf.weights.sum(dtype=np.float64)) for leaf in new) + newest.entry.mass
        largest = max((leaf for leaf in leaves if self.voter_at(leaf)[0] is not None), key=lambda leaf: leaf.mass)
        found = self.voter_at(largest)[0]
        assert found is not None
        after = now - largest.mass * (1.0 - float(found.Z.sum()))
        T = sum(len(inner.nodes) for inner in site.sites())
        nested = float(nesting_rate(T, now / site.entry.mass))
        assert says == (nested < (after - before) / (2.0 * site.entry.mass))
        looked.append((len(site.sites()), says))
        return says

    def counted(self: Collector, entry: Any, leaves: Any, nodes: Any) -> Any:
        assert looked[-1][1]
        collected.append(len(looked))
        return collect(self, entry, leaves, nodes)

    monkeypatch.setattr(GreedyNest, "pays_nested", spied)
    monkeypatch.setattr(Collector, "collected", counted)
    X, y, _ = numbers(200, 0)
    model = MatryoshkaClassifier("greedy", max_voters=30, softness=0.25, calibrate=None).fit(X, y)
    assert len(model.dolls_) == len(collected) == sum(says for _, says in looked) > 0
    assert any(not says for _, says in looked)
    assert all(sites > 1 for sites, _ in looked)


def test_where_every_voter_takes_a_second_seconds_are_voters(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            self.now += 1.0
            return self.now

    X, y, _ = numbers(150, 1)
    by_voters = MatryoshkaClassifier("greedy", max_voters=20, softness=0.25).fit(X, y)
    monkeypatch.setattr(nests, "time", Clock())
    by_seconds = MatryoshkaClassifier("greedy", max_voters=20, softness=0.25, rate="seconds").fit(X, y)
    assert by_voters.dolls_ == by_seconds.dolls_
    assert_array_equal(by_voters.decision_function(X), by_seconds.decision_function(X))


def test_voters_that_grow_slower_put_collecting_off(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        """Each voter takes twice as long as the last one."""

        now, step, calls = 0.0, 1.0, 0

        def perf_counter(self) -> float:
            self.calls += 1
            if self.calls % 2 == 0:
                self.now += self.step
                self.step *= self.factor
            return self.now

        factor = 1.0

    dolls = []
    X, y, _ = numbers(150, 1)
    for factor in (0.5, 1.0, 2.0):
        clock = Clock()
        clock.factor = factor
        monkeypatch.setattr(nests, "time", clock)
        dolls.append(len(MatryoshkaClassifier("greedy", max_voters=12, softness=0.25, rate="seconds").fit(X, y).dolls_))
    # what the nested rate costs is the mean of the seconds so far, the simple one's the seconds of now
    assert dolls[0] <= dolls[1] <= dolls[2]
    assert dolls[0] < dolls[2]


def test_nothing_is_collected_where_one_voter_does_it_all() -> None:
    X = np.linspace(-1, 1, 40)[:, None]
    model = MatryoshkaClassifier("greedy", max_voters=8, softness=0.0).fit(X, X[:, 0] > 0)
    assert len(model.graph_) == 1
    assert model.dolls_ == []


def test_it_ends_by_itself_where_no_leaf_is_left_to_improve() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    D = np.full(30, 1 / 30)
    # the same voter at every leaf but the first: it tells nothing twice
    growth = growth_of(lambda _: 0.5 + 0.3 * y if len(growth) == 0 else np.full(30, 0.5), D, y, 0.25 / 30)
    assert sum(1 for _ in GreedyNest(growth, Collector(growth, "confidence"), "voters").grow(growth.root())) == 1


def test_signs_may_be_collected_greedily_too() -> None:
    X, y, _ = numbers(150, 2)
    model = MatryoshkaClassifier("greedy", max_voters=16, collect="sign").fit(X, y)
    ways = oracle.ways_of(model.graph_.next, model.graph_.vote, model.graph_.voters.probabilities(X))
    signs = 2.0 * y - 1.0
    C = sum(float((way.reach * np.exp(-way.H * signs)).mean()) for way in ways)
    assert model.bound_ == pytest.approx(C, rel=1e-4)
    assert model.score(X, y) > 0.7
