"""Weak learners whose edge is known, classifiers that answer at random, and learners and graphs of them."""

from collections.abc import Callable
from itertools import islice
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.learners.nesting.growth import Growth, Leaf
from committee.learners.nesting.nested_classifier import NestedClassifier
from committee.learners.nesting.weak_learners import Trained

Floats = NDArray[np.float64]


class Rule:
    """A weak learner that is a function: weights that sum to one in, the q of every row out."""

    def __init__(self, rule: Callable[[Floats], Floats]) -> None:
        self.rule = rule
        self.told: list[Floats] = []

    def train(self, weights: NDArray[Any]) -> Trained:
        weights = weights.astype(np.float64)
        self.told.append(self.rule(weights / weights.sum()))
        return Trained(len(self.told) - 1, self.told[-1])

    def constant(self) -> None:
        return None

    def answers(self, voter: Any, rng: np.random.Generator) -> NDArray[np.bool_]:
        raise NotImplementedError

    def voters(self, trained: list[Trained]) -> Any:
        raise NotImplementedError


class Edge:
    """Voters drawn at random that are right with probability 1/2 + edge under whatever weights, and not more."""

    def __init__(self, y: Floats, edge: float, noise: float, seed: int) -> None:
        self.y, self.edge, self.noise, self.random = y, edge, noise, np.random.default_rng(seed)

    def __call__(self, D: Floats) -> Floats:
        q = np.clip(0.5 + self.y * (self.edge + self.random.normal(scale=self.noise, size=len(D))), 0.02, 0.98)
        has = float(D @ (self.y * (q - 0.5)))
        if has <= self.edge:  # towards the truth
            return q + (self.edge - has) / (0.5 - has) * ((self.y > 0) - q)
        # towards not knowing
        return 0.5 + (q - 0.5) * self.edge / has


def weights_and_signs(n: int, seed: int, least: float = 0.05, positive: float = 0.5) -> tuple[Floats, Floats]:
    """Row weights and signs, of which both occur."""
    rng = np.random.default_rng(seed)
    D = rng.exponential(size=n) + least
    y = np.where(rng.random(n) < positive, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return D / D.sum(), y


def growth_of(
    rule: Callable[[Floats], Floats], D: Floats, y: Floats, eps: float, precision: type = np.float64
) -> Growth:
    """A graph still to be grown."""
    positive = (y > 0).astype(np.uint8)
    return Growth(Rule(rule), positive, D, eps, 1, precision, keep_reach=True)


def grown(model: NestedClassifier, growth: Growth, T: int) -> Growth:
    """Grown as a learner would, to T voters."""
    for _ in islice(model._grow(growth), T):
        pass
    return growth


def graph_of(growth: Growth) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Where answers lead, what they add, and q of the voters in the order of nodes."""
    told: list[Floats] = growth.learner.told  # type: ignore[attr-defined]
    q = np.column_stack([told[one.voter] for one in growth.trained])
    return np.array(growth.following, np.int32), np.array(growth.vote), q


def leaf_shares(growth: Growth, leaf: Leaf) -> tuple[float, float]:
    """Weight of the rows of + and of - that come to a leaf."""
    assert leaf.reach is not None
    weight = growth.weights * leaf.reach
    of_plus = float(weight @ growth.positive)
    return of_plus, float(weight.sum()) - of_plus


class Stump(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The stump of least weighted error."""

    def __init__(self, flip: float = 0.1) -> None:
        self.flip = flip

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, signs = np.asarray(X), np.where(np.asarray(y) == 1, 1.0, -1.0)
        w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        best = (-1.0, 0, 0.0, 1.0)
        for j in range(X.shape[1]):
            for c in np.unique(X[:, j])[:-1]:
                right = float(w @ (signs * np.where(X[:, j] > c, 1.0, -1.0)))
                if abs(right) > best[0]:
                    best = (abs(right), j, float(c), 1.0 if right > 0 else -1.0)
        _, self.column_, self.threshold_, self.side_ = best
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def says(self, X: Any) -> Floats:
        says: Floats = np.where(np.asarray(X)[:, self.column_] > self.threshold_, self.side_, -self.side_)
        return says

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.says(X) > 0).astype(int)]


class NoisyStump(Stump):
    """It says the opposite with probability `flip`, and tells so."""

    def prob_positive(self, X: Any) -> Floats:
        q: Floats = np.where(self.says(X) > 0, 1.0 - self.flip, self.flip)
        return q


class StumpOracle(Stump):
    """It says the opposite with probability `flip`, and can only be asked."""

    def draw(self, X: Any, rng: np.random.Generator) -> Any:
        says = self.says(X)
        return np.where(rng.random(len(says)) < self.flip, -says, says)


LEARNERS = [
    ProbabilisticAdaBoostClassifier(5, random_state=0),
    BoostingTreeClassifier(6, random_state=0),
    MatryoshkaClassifier(levels=2, random_state=0),
    MatryoshkaClassifier("greedy", max_voters=6, random_state=0),
]
every_learner = pytest.mark.parametrize("model", LEARNERS, ids=lambda model: f"{type(model).__name__[:11]}")


def table(n=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)


def fitted(model, X, y, w=None, **given):
    return clone(model).set_params(**given).fit(X, y, w)


def weights_at_nodes(model, X, y):
    """E[exp(-H y); the row comes here] at every node of a fitted graph ``(n, T)``, and at its ends ``(n,)``."""
    graph = model.graph_
    q, signs = graph.voters.probabilities(X), 2.0 * y - 1.0
    here, left = np.zeros((len(X), len(graph))), np.zeros(len(X))
    here[:, 0] = 1.0
    for t in range(len(graph)):
        for answer, p in enumerate((q[:, t], 1.0 - q[:, t])):
            goes = here[:, t] * p * np.exp(-signs * graph.vote[t, answer])
            if graph.next[t, answer] >= 0:
                here[:, graph.next[t, answer]] += goes
            else:
                left += goes
    return here, left
