"""The graph of one score while it grows: leaves, voters trained at them, and the bound so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.learners.nesting.weak_learners import SampledLearner, Trained, WeakLearner
from committee.voters.oracles import OracleVoters
from committee.voters.soft_stumps import SoftStumps

RowWeights: TypeAlias = NDArray[np.float32] | NDArray[np.float64]


PLUS, MINUS = 0, 1
"""The two answers, in the order in which edges, votes and sums are kept."""

_SIGN = np.array([1.0, -1.0])

_LEAST_DECREASE = 1e-6
"""A voter that lowers a leaf's loss by less than this share of it says nothing."""


@dataclass(eq=False)
class Leaf:
    """An end of the graph, where a voter may be trained."""

    edges: list[tuple[int, int]]
    """The answers that lead here; none for the root."""
    weights: RowWeights
    """``(n,)``: D_i E[exp(-H y_i); x_i comes here]: what the row counts for when a voter is trained here."""
    mass: float
    """Their sum, the product of the Z along a single path; the masses of all leaves sum to the bound C."""
    reach: RowWeights | None = None
    """``(n,)``: probability p(l, x_i) of coming here, where the learner keeps it."""
    share: float | None = None
    """Expected share of the training rows that come here, where it is known without looking at them."""
    score: float = 0.0
    """H of the leaf where one path leads here, or where all paths were given the same votes."""


@dataclass
class Branching:
    """A voter trained at a leaf, and how it splits the leaf's weight."""

    trained: Trained
    W: F64
    """``(2, 2)``: W^{ab}, answer a by class b, + first; shares of the leaf's mass."""
    alpha: F64
    """``(2,)``: alpha_+ and alpha_-: half the log of W^{aa} over the other class, both smoothed by eps."""
    Z: F64
    """``(2,)``: what each answer multiplies the leaf's mass by: sum_b W^{ab} exp(-alpha_a a b)."""

    @property
    def edge(self) -> float:
        """1/2 minus the expected error under the leaf's weights."""
        return float(self.W[PLUS, PLUS] + self.W[MINUS, MINUS]) - 0.5


@dataclass
class Growth:
    """One graph: nodes in the order in which their voters were trained."""

    learner: WeakLearner
    """What is trained at leaves."""
    positive: NDArray[np.uint8]
    """``(n,)``: 1 for rows of class +."""
    weights: F64
    """``(n,)``: row weights, summing to 1."""
    eps: float
    """Smoothing of W in alpha: 1 / (4 n)."""
    threads: int
    """Ceiling on the number of threads."""
    precision: type[np.float32] | type[np.float64] = np.float64
    """Of leaves' weights and reach: float64, or float32 where many leaves keep theirs."""
    keep_reach: bool = False
    """Whether leaves keep p(l, x_i), which collecting them needs."""
    sampled: SampledLearner | None = None
    """The same weak learner, drawing answers, where probabilities are estimated."""
    expected: F64 | None = None
    """``(n,)``: E[H] of the training rows as of now, zeros at first; None where it is not followed."""
    trained: list[Trained] = field(default_factory=list)
    following: list[list[int]] = field(default_factory=list)
    """Where + and - of each node lead, -1 for nowhere yet."""
    vote: list[list[float]] = field(default_factory=list)
    """What + and - of each node add to the score."""
    bounds: list[float] = field(default_factory=list)
    """C after each voter."""
    normalisers: list[float] = field(default_factory=list)
    """Z_+ + Z_- of each voter."""
    edges: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    """Of the weights that each voter was trained with, relative to the rows' own; see `relative_entropy`."""
    shares: list[float] = field(default_factory=list)
    """Expected share of the training rows that come to each voter."""
    collected: list[list[int]] = field(default_factory=list)
    """The nodes inside each collected sub-tree, in the order of collection."""
    bound: float = 1.0
    """C as of now."""
    useless: bool = False
    """Whether the voter at the root lowers nothing."""

    def __len__(self) -> int:
        return len(self.trained)

    def root(self) -> Leaf:
        """Return the leaf that all rows begin at."""
        weights: RowWeights = self.weights.astype(self.precision)  # type: ignore[assignment]
        return Leaf([], weights, 1.0, np.ones_like(weights) if self.keep_reach else None, share=1.0)

    def branching(self, leaf: Leaf) -> Branching | None:
        """Train a voter at a leaf; None if it lowers nothing there.

        At the root even a useless voter is taken, as it knows the classes' frequencies.
        """
        if not leaf.mass > 0.0:
            return None
        if self.sampled is None:
            trained = self.learner.train(leaf.weights)
        else:
            trained = self.sampled.train(leaf.weights, lambda q: float(self.measured(leaf, Trained(None, q)).Z.sum()))
        found = None if trained is None else self.measured(leaf, trained)
        return self.taken(leaf, found)

    def taken(self, leaf: Leaf, found: Branching | None) -> Branching | None:
        """Return what a leaf gets of a voter trained there: none that lowers nothing, but at the root."""
        if found is not None and found.Z.sum() < self._idle(found) * (1.0 - _LEAST_DECREASE):
            return found
        if leaf.edges:
            return None
        self.useless = True
        constant = self.learner.constant()
        return found if constant is None else self.measured(leaf, constant)

    def branch(self, leaf: Leaf, found: Branching) -> tuple[Leaf, Leaf]:
        """Put the voter at the leaf: two new leaves, one for each answer."""
        node = self._put(leaf, found)
        q, factors = self._q(found), np.exp(-np.outer(found.alpha * _SIGN, _SIGN))
        weights = _core.branch_weights(leaf.weights, q, self.positive, factors, self.threads)
        reach: tuple[RowWeights | None, RowWeights | None] = (None, None)
        if leaf.reach is not None:
            reach = _core.branch_weights(leaf.reach, q, self.positive, np.ones((2, 2)), self.threads)
        plus, minus = (
            Leaf(
                [(node, answer)],
                weights[answer],
                leaf.mass * float(found.Z[answer]),
                reach[answer],
                score=leaf.score + float(found.alpha[answer] * _SIGN[answer]),
            )
            for answer in (PLUS, MINUS)
        )
        return plus, minus

    def join(self, leaf: Leaf, found: Branching) -> Leaf:
        """Put the voter at the leaf, and let both answers lead on to one new leaf."""
        after = self.beyond(leaf, found)
        self._put(leaf, found)
        return after

    def beyond(self, leaf: Leaf, found: Branching) -> Leaf:
        """The leaf that both answers of the next node would lead to, if the voter were put there."""
        node = len(self)
        factors = np.exp(-np.outer(found.alpha * _SIGN, _SIGN))
        weights = _core.joined_weights(leaf.weights, self._q(found), self.positive, factors, self.threads)
        return Leaf([(node, PLUS), (node, MINUS)], weights, leaf.mass * float(found.Z.sum()), share=leaf.share)

    def merged(self, leaves: Sequence[Leaf]) -> Leaf:
        """Several leaves as one: all their edges will lead to the same voter."""
        if len(leaves) == 1:
            return leaves[0]
        n = len(self.weights)
        weights: RowWeights = np.zeros(n, dtype=self.precision)  # type: ignore[assignment]
        reach = np.zeros_like(weights) if self.keep_reach else None
        for leaf in leaves:
            weights += leaf.weights
            if reach is not None and leaf.reach is not None:
                reach += leaf.reach
        edges = [edge for leaf in leaves for edge in leaf.edges]
        return Leaf(edges, weights, sum(leaf.mass for leaf in leaves), reach)

    def voters(self) -> SoftStumps | OracleVoters:
        """The trained voters."""
        return self.learner.voters(self.trained)

    def _put(self, leaf: Leaf, found: Branching) -> int:
        """A new node for the voter; the leaf's edges lead to it."""
        node = len(self.trained)
        self.trained.append(Trained(found.trained.voter, None, found.trained.n_draws))
        self.following.append([-1, -1])
        self.vote.append((found.alpha * _SIGN).tolist())
        for before, answer in leaf.edges:
            self.following[before][answer] = node
        Z = float(found.Z.sum())
        # first what the other leaves have: of a sum nothing, so that nothing of larger bounds stays in a tiny one
        self.bound = max(self.bound - leaf.mass, 0.0) + leaf.mass * Z
        self.bounds.append(self.bound)
        self.normalisers.append(Z)
        self.edges.append(found.edge)
        self.entropies.append(self.entropy(leaf))
        if self.expected is not None:
            q, (plus, minus) = self._q(found), self.vote[node]
            self.expected += self.reached(leaf) * (q * plus + (1.0 - q) * minus)
        self.shares.append(self._share(leaf, found))
        return node

    def entropy(self, leaf: Leaf) -> float:
        """Relative entropy of the leaf's weights; see `relative_entropy`."""
        return relative_entropy(leaf.weights, self.weights)

    def training_error(self) -> float:
        """Share of the training rows, by weight, that E[H] gets wrong as of now; a tie elects the class -."""
        assert self.expected is not None
        return float(self.weights @ ((self.expected > 0.0) != (self.positive == 1)))

    def reached(self, leaf: Leaf) -> F64:
        """p(l, x_i), ``(n,)``: where all rows come, as leaves keep it, or from the weights of a leaf at one path.

        Those are w_i p(l, x_i) exp(-H y_i). In float32 they are 0 where H y_i is above some 90; such a row's E[H]
        lacks the votes behind it, beside which what it has is far from 0.
        """
        if leaf.share == 1.0:
            return np.ones(len(self.weights))
        if leaf.reach is not None:
            kept: F64 = np.minimum(leaf.reach, 1.0, dtype=np.float64)
            return kept
        factors = np.exp(leaf.score * _SIGN)[1 - self.positive]
        found = np.zeros_like(self.weights)
        np.divide(leaf.weights, self.weights, out=found, where=self.weights > 0.0)
        np.minimum(found * factors, 1.0, out=found)
        return found

    def measured(self, leaf: Leaf, trained: Trained) -> Branching:
        """W, alpha and Z of a voter at a leaf."""
        assert trained.q is not None
        W = _core.branch_sums(leaf.weights, trained.q, self.positive, self.threads) / leaf.mass
        return Branching(trained, W, *alphas(W, self.eps))

    def _share(self, leaf: Leaf, found: Branching) -> float:
        """Expected share of the training rows that come to a leaf."""
        if leaf.share is not None:
            return leaf.share
        if leaf.reach is not None:
            return float((self.weights * leaf.reach).sum())
        # one path leads here, so exp(-H y), which a class's rows have in common, can be taken out of their weights
        return float(found.W.sum(axis=0) @ np.exp(_SIGN * leaf.score)) * leaf.mass

    def _idle(self, found: Branching) -> float:
        """Z of a voter that always says the same."""
        return float(alphas(np.array([found.W.sum(axis=0), [0.0, 0.0]]), self.eps)[1].sum())

    def _q(self, found: Branching) -> F64:
        assert found.trained.q is not None
        return found.trained.q


def relative_entropy(weights: RowWeights, own: F64) -> float:
    """sum_i D_i ln(w_i / D_i), D the weights divided by their sum and w the rows' own, which sum to one.

    0 where D is w, below 0 elsewhere: its exponential is the share of all rows on which weights as even as those they
    began with would have the entropy of D. With equal own weights the entropy of D is this and ln n.

    Equation: weight-entropy (docs/theory.md).

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.nesting.growth import relative_entropy
    >>> bool(np.isclose(np.exp(relative_entropy(np.array([3.0, 3.0, 0.0, 0.0]), np.full(4, 0.25))), 0.5))
    True
    """
    D = weights.astype(np.float64)
    D /= D.sum()
    heavy = D > 0.0
    return min(0.0, float(D[heavy] @ (np.log(own[heavy]) - np.log(D[heavy]))))


def alphas(W: F64, eps: float) -> tuple[F64, F64]:
    """alpha_a = 1/2 ln((W^{aa} + eps) / (W^{a,-a} + eps)) and Z_a = W^{aa} exp(-alpha_a) + W^{a,-a} exp(alpha_a).

    Without smoothing Z_a is the least there is, 2 sqrt(W^{a+} W^{a-}).

    Equation: probabilistic-alpha (docs/theory.md).

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, sections 3.1 and 4.2.
    """
    own, other = np.diag(W), np.array([W[PLUS, MINUS], W[MINUS, PLUS]])
    alpha = 0.5 * np.log((own + eps) / (other + eps))
    return alpha, own * np.exp(-alpha) + other * np.exp(alpha)
