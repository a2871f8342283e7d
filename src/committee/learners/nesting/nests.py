"""Trees of trees: sub-trees whose leaves are collected, by given sizes or where that lowers the bound faster."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.bounds.nested_trees import nesting_rate
from committee.learners.nesting.growth import MINUS, PLUS, Branching, Growth, Leaf, alphas

Collect: TypeAlias = Literal["confidence", "sign"]
"""Votes of collected leaves: their own, or the signs of them."""

Rate: TypeAlias = Literal["voters", "seconds"]
"""Unit by which the greedy builder counts the decrease of the bound."""

Growing: TypeAlias = Generator[None, None, list[Leaf]]
"""A tree on its way: yields after every voter, and returns the leaves."""


@dataclass
class Collector:
    """Makes one node of a sub-tree: the leaves that vote + become its + edge, the others its - edge.

    A leaf votes H_l, half the log-odds of the weight that leaves through it, out of that which entered; in a tree that
    is not nested this is the sum of its alphas. "confidence" lets each leaf keep its votes, so that the node's
    Z_+ + Z_- is the bound C of the sub-tree; "sign" takes them away and gives the node an alpha of its own, after which
    only sqrt(C (2 - C)) is sure.

    Equation: collected-leaves (docs/theory.md).
    """

    growth: Growth
    collect: Collect

    def collected(self, entry: Leaf, leaves: Sequence[Leaf], nodes: Sequence[int]) -> tuple[Leaf, Leaf]:
        """The two leaves that a sub-tree grown at `entry` is reduced to; the second may have no edges."""
        growth = self.growth
        growth.collected.append(sorted(nodes))
        entered = self._by_reach(entry)
        # of each class, + first, what leaves through a leaf of what entered: sum D_i p(leaf, x_i)
        W = np.array(
            [_core.branch_sums(entered, self._reach(leaf), growth.positive, growth.threads)[PLUS] for leaf in leaves]
        )
        positive = W[:, 0] > W[:, 1]
        groups = [[leaves[k] for k in np.flatnonzero(says).tolist()] for says in (positive, ~positive)]
        if self.collect == "confidence":
            plus, minus = (growth.merged(group) for group in groups)
            return plus, minus
        return self._signed(entry, groups, W, positive, nodes)

    def _by_reach(self, entry: Leaf) -> NDArray[np.float64]:
        """The rows' weights where they entered, for each unit of the probability that they did."""
        reach = self._reach(entry)
        return np.divide(entry.weights, reach, out=np.zeros_like(reach), where=reach > 0.0)

    @staticmethod
    def _reach(leaf: Leaf) -> NDArray[np.float64]:
        """p(leaf, x_i), which in float32 may have passed 1."""
        assert leaf.reach is not None
        return np.minimum(leaf.reach, 1.0, dtype=np.float64)

    def _signed(
        self,
        entry: Leaf,
        groups: list[list[Leaf]],
        W: NDArray[np.float64],
        positive: NDArray[np.bool_],
        nodes: Sequence[int],
    ) -> tuple[Leaf, Leaf]:
        growth = self.growth
        share = np.array([W[positive].sum(axis=0), W[~positive].sum(axis=0)]) / entry.mass
        alpha, Z = alphas(share, growth.eps)
        for node in nodes:
            growth.vote[node] = [0.0, 0.0]
        leaves = []
        if growth.expected is not None:
            for leaf in (leaf for group in groups for leaf in group):
                growth.expected -= leaf.score * growth.reached(leaf)
        for answer, group in zip((PLUS, MINUS), groups, strict=True):
            joined = growth.merged(group)
            vote = float(alpha[answer]) * (1.0 if answer == PLUS else -1.0)
            for node, side in joined.edges:
                growth.vote[node][side] = vote
            joined.score = entry.score + vote
            if growth.expected is not None:
                growth.expected += joined.score * growth.reached(joined)
            y = 2.0 * growth.positive - 1.0
            weights = self._by_reach(entry) * self._reach(joined) * np.exp(-vote * y)
            joined.weights = weights.astype(growth.precision)
            growth.bound = max(growth.bound - joined.mass, 0.0) + entry.mass * float(Z[answer])
            joined.mass = entry.mass * float(Z[answer])
            leaves.append(joined)
        growth.bounds[-1] = growth.bound
        return leaves[0], leaves[1]


def nested(growth: Growth, collector: Collector, leaf: Leaf, sizes: Sequence[int]) -> Growing:
    """Grow a tree of ``sizes[-1]`` nodes at a leaf, each a tree of ``sizes[-2]`` nodes, and so on inwards.

    Always at the leaf with the most mass. Yields after every voter; what is returned are the tree's leaves, or the leaf
    alone where no voter lowers anything.
    """
    leaves, closed = [leaf], list[Leaf]()
    for _ in range(sizes[-1]):
        while leaves:
            largest = max(leaves, key=lambda at: at.mass)
            leaves.remove(largest)
            before = len(growth)
            if len(sizes) == 1:
                found = growth.branching(largest)
                parts = [largest] if found is None else list(growth.branch(largest, found))
                if found is not None:
                    yield
            else:
                inner = yield from nested(growth, collector, largest, sizes[:-1])
                inside = range(before, len(growth))
                # the two leaves of a single voter are collected as they are
                parts = list(collector.collected(largest, inner, inside)) if len(inside) > 1 else inner
            if len(growth) > before:
                leaves += [part for part in parts if part.edges]
                break
            closed.append(largest)
    return leaves + closed


@dataclass(eq=False)
class Site:
    """A node of the greedy builder's tree: one voter, or a collected sub-tree."""

    entry: Leaf
    """Where it was put."""
    nodes: list[int]
    """The graph's nodes in it."""
    seconds: float
    """Time that training them took."""
    parts: list[Leaf | Site]
    """Leaves or sites that its answers lead to, + first."""
    above: Site | None
    """The site that leads to it, by `answer`."""
    answer: int

    def sites(self) -> list[Site]:
        """It and all sites below it."""
        return [self, *(site for part in self.parts if isinstance(part, Site) for site in part.sites())]

    def leaves(self) -> list[Leaf]:
        """All leaves below it."""
        return [leaf for part in self.parts for leaf in (part.leaves() if isinstance(part, Site) else [part])]


class GreedyNest:
    """The greedy matryoshka: grow at the leaf of most mass, and collect where that lowers the bound faster.

    After each new voter every sub-tree that holds it is looked at, the outermost first. Of a sub-tree with T voters and
    bound C the simple rate is (C(T + 1) - C(T - 1)) / 2 and the nested one C / T (gamma_E + psi(C) + 1 / C - 1); where
    the nested one is less, the sub-tree's leaves are collected. C(T + 1) needs the next voter, which is trained
    and used when its leaf's turn comes.

    Equation: greedy-matryoshka (docs/theory.md).

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 5.4, eqs. 12 to 14.
    """

    def __init__(self, growth: Growth, collector: Collector, rate: Rate) -> None:
        self.growth: Growth = growth
        self.collector: Collector = collector
        self.rate = rate
        self.next_voter: dict[Leaf, tuple[Branching | None, float]] = {}

    def grow(self, root: Leaf) -> Growing:
        """Grow voter after voter until no leaf can be improved, and return the leaves."""
        top: Site | None = None
        while True:
            leaf = self._best([root] if top is None else top.leaves())
            if leaf is None:
                return [root] if top is None else top.leaves()
            found, seconds = self.next_voter.pop(leaf)
            assert found is not None
            parts: list[Leaf | Site] = list(self.growth.branch(leaf, found))
            above, answer = (None, PLUS) if top is None else _holder(top, leaf)
            site = Site(leaf, [len(self.growth) - 1], seconds, parts, above, answer)
            if above is None:
                top = site
            else:
                above.parts[answer] = site
            self._collect(site)
            yield

    def _best(self, leaves: Sequence[Leaf]) -> Leaf | None:
        """The leaf of most mass at which a voter lowers the bound."""
        for leaf in sorted((leaf for leaf in leaves if leaf.edges or not len(self.growth)), key=lambda at: -at.mass):
            if self.voter_at(leaf)[0] is not None:
                return leaf
        return None

    def voter_at(self, leaf: Leaf) -> tuple[Branching | None, float]:
        """Return the voter that a leaf would get, and the seconds it took; trained once."""
        if leaf not in self.next_voter:
            begun = time.perf_counter()
            found = self.growth.branching(leaf)
            self.next_voter[leaf] = found, time.perf_counter() - begun
        return self.next_voter[leaf]

    def _collect(self, newest: Site) -> None:
        """Collect the outermost sub-tree around the newest voter whose bound would decrease faster for it."""
        last = newest.entry.mass - sum(leaf.mass for leaf in newest.leaves())
        around: list[Site] = []
        site: Site | None = newest
        while site is not None:
            around.append(site)
            site = site.above
        for outer in reversed(around):
            if len(outer.sites()) > 1 and self.pays_nested(outer, newest, last):
                leaves, nodes = outer.leaves(), [node for site in outer.sites() for node in site.nodes]
                outer.seconds = sum(site.seconds for site in outer.sites())
                outer.parts = list(self.collector.collected(outer.entry, leaves, nodes))
                outer.nodes = sorted(nodes)
                for leaf in leaves:
                    self.next_voter.pop(leaf, None)
                return

    def pays_nested(self, site: Site, newest: Site, last: float) -> bool:
        """Tell whether a sub-tree's bound decreases faster nested; the newest voter has lowered it by `last`."""
        leaves = site.leaves()
        C = sum(leaf.mass for leaf in leaves) / site.entry.mass
        best = self._best(leaves)
        if best is None or not 0.0 < C < 1.0:
            return False
        found, seconds = self.voter_at(best)
        assert found is not None
        coming = best.mass * (1.0 - float(found.Z.sum()))
        T = sum(len(inner.nodes) for inner in site.sites())
        change = -(last + coming) / site.entry.mass
        nested_rate = float(nesting_rate(T, C))
        if self.rate == "voters":
            return nested_rate < change / 2.0
        spent = sum(inner.seconds for inner in site.sites())
        return nested_rate * T / spent < change / (newest.seconds + seconds)


def _holder(top: Site, leaf: Leaf) -> tuple[Site, int]:
    """The site that has a leaf, and by which answer."""
    for site in top.sites():
        for answer, part in enumerate(site.parts):
            if part is leaf:
                return site, answer
    raise AssertionError("a leaf has a site")
