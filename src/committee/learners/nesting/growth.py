"""The graph of one score while it grows: leaves, voters trained at them, and the bound so far."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.learners.nesting.weak_learners import (
    LEAST_Z,
    MOST_DRAWS,
    SampledLearner,
    Sampling,
    Trained,
    WeakLearner,
)

RowWeights: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

PLUS, MINUS = 0, 1  # the two answers, in the order of edges, votes and sums
SIGN = np.array([1.0, -1.0])
_LEAST_DECREASE = 1e-6  # least share by which a useful voter's loss is below that of a constant vote


@dataclass(eq=False)
class Leaf:
    edges: list[tuple[int, int]]  # nodes and answers that lead here; none for the root
    weights: RowWeights  # (n,): D_i E[exp(-H y_i); x_i comes here]
    mass: float  # sum of the weights; the masses of all leaves sum to the bound C
    reach: RowWeights | None = None  # (n,): probability p(l, x_i) of coming here, where the learner keeps it
    share: float | None = None  # expected share of the training rows that come here, where it is known without the rows
    score: float = 0.0  # H of the leaf where one path leads here, or where all paths were given the same votes


@dataclass
class Branching:
    trained: Trained
    W: F64  # (2, 2): W^{ab}, answer a by class b, + first; shares of the leaf's mass
    alpha: F64  # (2,): alpha_+ and alpha_-
    Z: F64  # (2,): factor of the leaf's mass for each answer

    @property
    def q(self) -> F64:
        assert self.trained.q is not None
        return self.trained.q

    @property
    def edge(self) -> float:
        return float(self.W[PLUS, PLUS] + self.W[MINUS, MINUS]) - 0.5

    @property
    def factors(self) -> F64:
        """exp(-alpha_a a b) of answer a and class b, ``(2, 2)``."""
        return np.exp(-np.outer(self.alpha * SIGN, SIGN))


@dataclass
class Growth:
    """The graph of one score, with nodes in the order of their entry."""

    learner: WeakLearner
    positive: NDArray[np.uint8]  # (n,): 1 for rows of class +
    weights: F64  # (n,): row weights, summing to 1
    eps: float  # smoothing of W in alpha: 1 / (4 n)
    threads: int
    precision: type[np.float32] | type[np.float64] = np.float64  # type of the leaves' `weights` and `reach`
    keep_reach: bool = False  # leaves keep p(l, x_i), which collecting them needs
    sampled: SampledLearner | None = None  # the weak learner with estimated probabilities
    expected: F64 | None = None  # (n,): present E[H] of the training rows, zeros at first; None where it is not needed
    trained: list[Trained] = field(default_factory=list)
    following: list[list[int]] = field(default_factory=list)  # nodes after + and - of each node, -1 for none so far
    vote: list[list[float]] = field(default_factory=list)  # votes of + and - of each node
    bounds: list[float] = field(default_factory=list)  # C after each voter
    normalisers: list[float] = field(default_factory=list)  # Z_+ + Z_- of each voter
    edges: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)  # expected share of the training rows that come to each voter
    collected: list[list[int]] = field(default_factory=list)  # the nodes inside each collected sub-tree
    bound: float = 1.0  # present C
    useless: bool = False  # no voter at the root is better than a constant vote

    def __len__(self) -> int:
        return len(self.trained)

    def root(self) -> Leaf:
        weights: Any = self.weights.astype(self.precision)
        return Leaf([], weights, 1.0, np.ones_like(weights) if self.keep_reach else None, share=1.0)

    def branching(self, leaf: Leaf) -> Branching | None:
        if not leaf.mass > 0.0:
            return None
        if self.sampled is None:
            trained = self.learner.train(leaf.weights)
        else:
            trained = self.sampled.train(leaf.weights, lambda q: float(self.measured(leaf, Trained(None, q)).Z.sum()))
        found = None if trained is None else self.measured(leaf, trained)
        return self.taken(leaf, found)

    def taken(self, leaf: Leaf, found: Branching | None) -> Branching | None:
        if found is not None:
            constant_Z = alphas(np.array([found.W.sum(axis=0), [0.0, 0.0]]), self.eps)[1].sum()
            if found.Z.sum() < float(constant_Z) * (1.0 - _LEAST_DECREASE):
                return found
        if leaf.edges:
            return None
        # the root needs a voter
        self.useless = True
        constant = self.learner.constant()
        return found if constant is None else self.measured(leaf, constant)

    def measured(self, leaf: Leaf, trained: Trained) -> Branching:
        assert trained.q is not None
        W = _core.branch_sums(leaf.weights, trained.q, self.positive, self.threads) / leaf.mass
        return Branching(trained, W, *alphas(W, self.eps))

    def branch(self, leaf: Leaf, found: Branching) -> tuple[Leaf, Leaf]:
        node = self._put(leaf, found)
        weights = _core.branch_weights(leaf.weights, found.q, self.positive, found.factors, self.threads)
        reach: tuple[RowWeights | None, RowWeights | None] = (None, None)
        if leaf.reach is not None:
            reach = _core.branch_weights(leaf.reach, found.q, self.positive, np.ones((2, 2)), self.threads)
        plus, minus = (
            Leaf(
                [(node, answer)],
                weights[answer],
                leaf.mass * float(found.Z[answer]),
                reach[answer],
                score=leaf.score + float(found.alpha[answer] * SIGN[answer]),
            )
            for answer in (PLUS, MINUS)
        )
        return plus, minus

    def join(self, leaf: Leaf, found: Branching) -> Leaf:
        """Put a voter at a leaf, and return one new leaf for both answers."""
        after = self.beyond(leaf, found)
        self._put(leaf, found)
        return after

    def beyond(self, leaf: Leaf, found: Branching) -> Leaf:
        """Return the leaf that `join` would return."""
        node = len(self)
        weights = _core.joined_weights(leaf.weights, found.q, self.positive, found.factors, self.threads)
        return Leaf([(node, PLUS), (node, MINUS)], weights, leaf.mass * float(found.Z.sum()), share=leaf.share)

    def merged(self, leaves: Sequence[Leaf]) -> Leaf:
        if len(leaves) == 1:
            return leaves[0]
        weights: Any = np.zeros(len(self.weights), dtype=self.precision)
        reach = np.zeros_like(weights) if self.keep_reach else None
        for leaf in leaves:
            weights += leaf.weights
            if reach is not None and leaf.reach is not None:
                reach += leaf.reach
        edges = [edge for leaf in leaves for edge in leaf.edges]
        return Leaf(edges, weights, sum(leaf.mass for leaf in leaves), reach)

    def _put(self, leaf: Leaf, found: Branching) -> int:
        node = len(self.trained)
        self.trained.append(Trained(found.trained.voter, None, found.trained.n_draws))
        self.following.append([-1, -1])
        self.vote.append((found.alpha * SIGN).tolist())
        for before, answer in leaf.edges:
            self.following[before][answer] = node
        Z = float(found.Z.sum())
        # first the sum of the other leaves' masses, so that rounding errors of larger bounds do not stay in a tiny one
        self.bound = max(self.bound - leaf.mass, 0.0) + leaf.mass * Z
        self.bounds.append(self.bound)
        self.normalisers.append(Z)
        self.edges.append(found.edge)
        self.entropies.append(self.entropy(leaf))
        if self.expected is not None:
            plus, minus = self.vote[node]
            self.expected += self.reached(leaf) * (found.q * plus + (1.0 - found.q) * minus)
        share = leaf.share
        if share is None and leaf.reach is not None:
            share = float((self.weights * leaf.reach).sum())
        elif share is None:
            # one path leads here, so that exp(-H y), equal for all rows of a class, can be taken out of their weights
            share = float(found.W.sum(axis=0) @ np.exp(SIGN * leaf.score)) * leaf.mass
        self.shares.append(share)
        return node

    def entropy(self, leaf: Leaf) -> float:
        return relative_entropy(leaf.weights, self.weights)

    def training_error(self) -> float:
        assert self.expected is not None
        return float(self.weights @ ((self.expected > 0.0) != (self.positive == 1)))

    def reached(self, leaf: Leaf) -> F64:
        """Return each row's probability to come to the leaf, ``(n,)``."""
        if leaf.share == 1.0:
            return np.ones(len(self.weights))
        if leaf.reach is not None:
            kept: F64 = np.minimum(leaf.reach, 1.0, dtype=np.float64)
            return kept
        # weights over D_i exp(-H y_i); in float32 they are 0 where H y_i > 90 or so
        factors = np.exp(leaf.score * SIGN)[1 - self.positive]
        found = np.zeros_like(self.weights)
        np.divide(leaf.weights, self.weights, out=found, where=self.weights > 0.0)
        np.minimum(found * factors, 1.0, out=found)
        return found


def relative_entropy(weights: RowWeights, own: F64) -> float:
    """Return sum_i D_i ln(w_i / D_i) (Grossmann, section 6). Equation: weight-entropy (docs/theory.md)."""
    D = weights.astype(np.float64)
    D /= D.sum()
    heavy = D > 0.0
    return min(0.0, float(D[heavy] @ (np.log(own[heavy]) - np.log(D[heavy]))))


def alphas(W: F64, eps: float) -> tuple[F64, F64]:
    """Return alpha_a and Z_a of answers a. Equation: probabilistic-alpha (docs/theory.md)."""
    own, other = np.diag(W), np.array([W[PLUS, MINUS], W[MINUS, PLUS]])
    alpha = 0.5 * np.log((own + eps) / (other + eps))
    return alpha, own * np.exp(-alpha) + other * np.exp(alpha)


def look_ahead(growth: Growth) -> Iterator[None]:
    """Grow a sum, choosing after each draw between the next voter and one more draw; yields after every voter.

    Grossmann, section 3.2, second approach. Equation: look-ahead (docs/theory.md).
    """
    assert growth.sampled is not None
    leaf = growth.root()
    newest = growth.sampled.drawn_once(leaf.weights)
    while True:
        found, following = (None, None) if newest is None else _chosen(growth, growth.sampled, leaf, newest)
        kept = growth.taken(leaf, found)
        if kept is None:
            return
        leaf = growth.join(leaf, kept)
        yield
        if not leaf.mass > 0.0:
            return
        # the first voter may have been replaced by the constant one
        newest = following if kept is found else growth.sampled.drawn_once(leaf.weights)


def _chosen(growth: Growth, sampled: SampledLearner, leaf: Leaf, newest: Sampling) -> tuple[Branching, Sampling | None]:
    found = growth.measured(leaf, newest.trained())
    while True:
        begun = time.perf_counter()
        after = growth.beyond(leaf, found)
        following = sampled.drawn_once(after.weights) if after.mass > 0.0 else None
        gained = 0.0 if following is None else _ln_z(growth.measured(after, following.trained()))
        by_voter = gained / _seconds(begun)
        if newest.n_draws >= MOST_DRAWS:
            return found, following
        begun = time.perf_counter()
        newest.again()
        again = growth.measured(leaf, newest.trained())
        by_draw = (_ln_z(again) - _ln_z(found)) / _seconds(begun)
        if by_voter <= by_draw:
            return found, following
        found = again


def _ln_z(found: Branching) -> float:
    return log(max(float(found.Z.sum()), LEAST_Z))


def _seconds(begun: float) -> float:
    return max(time.perf_counter() - begun, 1e-9)
