"""Learners of probabilistic voters that are each trained on all rows: sums, trees, and trees nested in trees."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from heapq import heappop, heappush
from itertools import accumulate, count
from math import log2, prod
from numbers import Integral
from operator import mul
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from committee import _core
from committee.bounds.nested_trees import nesting_rate
from committee.data.number_types import F64
from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.nesting.growth import MINUS, PLUS, SIGN, Branching, Growth, Leaf, alphas, look_ahead
from committee.learners.nesting.nested_classifier import NestedClassifier, Run


@with_parameters
class ProbabilisticAdaBoostClassifier(NestedClassifier):
    """AdaBoost of voters that vote +1 with a probability q(x) [1]_.

    H(x) = sum_t alpha_t(x) h_t(x) is a random number: the vote of voter t is alpha_+ for the answer + and -alpha_- for
    -. With W^{ab} the expected weight of class b with answer a, smoothed by 1 / (4 n),

        alpha_+ = 1/2 ln (W^{++} / W^{+-}),    alpha_- = 1/2 ln (W^{--} / W^{-+}),
        D_i <- D_i (q_i exp(-alpha_+ y_i) + (1 - q_i) exp(alpha_- y_i)) / Z.

    The expected training error is at most the product of the Z. With q in {0, 1} it is confidence-rated AdaBoost [2]_.
    More than two classes: one against the rest.

    References
    ----------
    .. [1] E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 3.
    .. [2] R. Schapire, Y. Singer (1999). Improved boosting algorithms using confidence-rated predictions.
       Machine Learning 37.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import ProbabilisticAdaBoostClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = ProbabilisticAdaBoostClassifier(n_estimators=50).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.93
    True
    """

    _looks_ahead: ClassVar[bool] = True

    n_estimators: int = parameter(
        50, "Most voters of a score; fewer when none beats chance or the run is ended otherwise.", COUNT
    )

    def _most_voters(self, count: float) -> int:
        return self.n_estimators

    def _grow(self, growth: Growth) -> Iterator[None]:
        if self.n_draws == "look_ahead":
            yield from look_ahead(growth)
            return
        leaf = growth.root()
        while (found := growth.branching(leaf)) is not None:
            leaf = growth.join(leaf, found)
            yield


@with_parameters
class BoostingTreeClassifier(NestedClassifier):
    """A tree of probabilistic voters, each trained on all rows, grown where it lowers the bound on the training error.

    A row comes to a node with a probability. Its weight there depends on this probability and on the votes on the path:

        D_{s+} ~ D_s q exp(-alpha_+ y),    D_{s-} ~ D_s (1 - q) exp(alpha_- y).

    H(x) is the sum of the votes alpha_+ and -alpha_- on the path taken, and C = sum over leaves of the product of the Z
    on their paths bounds the expected training error. By default the tree grows at the leaf with the largest part of C;
    with voters of edge eps or more C <= F(T, sqrt(1 - 4 eps^2)) (`bounds.boosting_tree`). A row meets about log T
    voters, not T. More than two classes: one tree against the rest for each.

    Notes
    -----
    Every leaf keeps its weights on all rows while training: 4 n (T + 1) bytes in float32, or 8 n (T + 1) in float64 if
    that is at most 64 MB.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 4. Eq. 6 as printed has the
    wrong sign for the minus child.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import BoostingTreeClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = BoostingTreeClassifier(max_voters=64).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.93
    True
    """

    max_voters: int = parameter(
        64, "Most nodes of a tree; fewer when none beats chance or the run is ended otherwise.", COUNT
    )
    _: KW_ONLY
    choose: Literal["mass", "drop", "entropy"] = parameter(
        "mass",
        """Leaf that grows next. "mass": that with the largest product of Z, as in the source document. "drop": that
        whose voter lowers the bound most; voters are trained at every leaf beforehand (twice the time, and 8 bytes a
        row and leaf more). "entropy": that whose product of Z, times minus the entropy of its weights relative to the
        rows' own, is largest, as voters err less where these lie on few rows.""",
    )

    def _limit_rounds(self, rounds: int) -> None:
        self.max_voters = rounds

    def _most_voters(self, count: float) -> int:
        return self.max_voters

    def _most_leaves(self, count: float) -> int:
        return self.max_voters + 1

    def _grow(self, growth: Growth) -> Iterator[None]:
        order = count()  # of equal leaves the older one
        waiting: list[tuple[float, int, Leaf, Branching | None]] = []

        def wait(leaf: Leaf) -> None:
            if self.choose == "mass":
                heappush(waiting, (-leaf.mass, next(order), leaf, None))
            elif self.choose == "entropy":
                ahead = leaf.mass * growth.entropy(leaf) if leaf.mass > 0.0 else 0.0
                heappush(waiting, (ahead, next(order), leaf, None))
            elif (found := growth.branching(leaf)) is not None:
                heappush(waiting, (leaf.mass * (float(found.Z.sum()) - 1.0), next(order), leaf, found))

        wait(growth.root())
        while waiting:
            _, _, leaf, prepared = heappop(waiting)
            found = growth.branching(leaf) if prepared is None else prepared
            if found is None:
                continue
            leaves = growth.branch(leaf, found)
            yield
            for child in leaves:
                wait(child)


_MOST_LEVELS = 6
_MOST_NESTED = 30  # levels of trees in trees; 30 of two nodes are a billion voters

Collect: TypeAlias = Literal["confidence", "sign"]
Rate: TypeAlias = Literal["voters", "seconds"]
Growing: TypeAlias = Generator[None, None, list[Leaf]]  # yields after every voter, and returns the leaves


@with_parameters
class MatryoshkaClassifier(NestedClassifier):
    """Trees nested in trees: the leaves of a sub-tree are collected, and it becomes one node of the tree around it.

    Leaves that vote + become the node's + edge, the others its - edge, so that a later voter is met by all rows that
    leave by the same edge. If collected leaves keep their own votes (`collect`), Z_+ + Z_- of the node is the bound C
    of the sub-tree, and with voters of edge eps the whole has the bound F(T_L, ... F(T_2, F(T_1, rho))),
    rho = sqrt(1 - 4 eps^2) (`bounds.matryoshka`), far below that of one tree of as many voters. More than two classes:
    one against the rest.

    Attributes
    ----------
    dolls_ : list of list of int
        For every collected sub-tree the graph's nodes inside it, inner ones before those around them.

    Notes
    -----
    A leaf's vote is half the log-odds of the weight that leaves through it, out of that which entered its tree; in a
    tree that is not nested this is the sum of its alphas. It follows from p(l, x_i), which leaves keep beside their
    weights, 8 n bytes a leaf in float32, or 16 n in float64 if all leaves then take at most 64 MB. Nested trees of
    given sizes have as many leaves at a time as one tree at each level, "greedy" one more than its voters; its
    leaves keep 8 n bytes more, as their next voters are kept.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import MatryoshkaClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = MatryoshkaClassifier(levels=5).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.93
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (*NestedClassifier.stored_attributes, "dolls_")

    shape: Literal["binary", "greedy"] | Sequence[int] = parameter(
        "binary",
        """"binary": every tree has two nodes, the 2-matryoshka. "greedy": sub-trees are collected where that lowers the
        bound faster. A sequence: nodes of the trees at each level, the innermost first, as in `bounds.matryoshka`.""",
        StrOptions({"binary", "greedy"}),
        "array-like",
        type_words='{"binary", "greedy"} or sequence of int',
    )
    _: KW_ONLY
    levels: int | None = parameter(
        None,
        """Levels of "binary", of up to 2^levels voters a score. None: 6, or as many as the rows allow.""",
        Interval(Integral, 1, 30, closed="both"),
    )
    max_voters: int = parameter(64, """Most voters of a score of "greedy".""", COUNT)
    rate: Rate = parameter(
        "voters",
        """Unit by which "greedy" compares decreases of the bound: a voter, or a second of training (such a run
        cannot be repeated exactly).""",
    )
    collect: Collect = parameter(
        "confidence",
        """Votes of collected leaves. "confidence": they keep theirs. "sign": only their signs count, and the node gets
        a vote of its own; the sub-tree's bound C may then rise to sqrt(C (2 - C)).""",
    )

    def _limit_rounds(self, rounds: int) -> None:
        if self._is("greedy"):
            self.max_voters = rounds
            return
        sizes = self._sizes(2.0 * rounds)
        n_levels = sum(product < rounds for product in accumulate(sizes, mul)) + 1
        self.shape = sizes[:n_levels]  # the fewest levels with as many voters

    def _most_voters(self, count: float) -> int | None:
        if self._is("greedy"):
            return self.max_voters
        sizes = self._sizes(count)
        if prod(sizes) > count:
            given = f"levels={self.levels}" if self._is("binary") else f"shape={list(self.shape)}"
            raise ValueError(
                f"{given} needs {prod(sizes):,} voters, more than the {count:,.0f} rows; choose fewer levels or "
                "smaller trees."
            )
        return None  # the last sub-trees are collected after their last voter

    def _sizes(self, count: float) -> list[int]:
        if self._is("binary"):
            return [2] * (self.levels or max(1, min(_MOST_LEVELS, int(log2(count)))))
        given = list(self.shape)
        numbers = [size for size in given if isinstance(size, int | float | np.number) and not isinstance(size, bool)]
        whole = [size for size in numbers if float(size).is_integer()]
        sizes = [int(size) for size in whole if size >= 1]
        if not sizes or len(sizes) != len(given):
            raise ValueError(
                f"shape={self.shape!r} is not a list of tree sizes; give whole numbers of at least 1, the innermost "
                "first, as [2, 2, 2], or 'binary' or 'greedy'."
            )
        if len(sizes) > _MOST_NESTED:
            raise ValueError(
                f"shape has {len(sizes):,} levels; give at most {_MOST_NESTED}, leaving out trees of one node."
            )
        return sizes

    def _most_leaves(self, count: float) -> int:
        sizes = [self.max_voters] if self._is("greedy") else self._sizes(count)
        return sum(sizes) + len(sizes)

    def _is(self, name: str) -> bool:
        return isinstance(self.shape, str) and self.shape == name  # an array is not to be compared with a word

    def _clocks(self) -> dict[str, bool]:
        return super()._clocks() | {"rate": self.rate == "seconds" and self._is("greedy")}

    def _keeps_reach(self) -> bool:
        return True

    def _grow(self, growth: Growth) -> Iterator[None]:
        collector = Collector(growth, self.collect)
        if self._is("greedy"):
            return GreedyNest(growth, collector, self.rate).grow(growth.root())
        return nested(growth, collector, growth.root(), self._sizes(0.25 / growth.eps))

    def _fitted(self, run: Run) -> dict[str, Any]:
        dolls = [
            [node + int(first) for node in doll]
            for growth, first in zip(run.growths, run.starts[:-1], strict=True)
            for doll in growth.collected
        ]
        return {**super()._fitted(run), "dolls_": dolls}


@dataclass
class Collector:
    """Collector of a sub-tree into one node. Equation: collected-leaves (docs/theory.md)."""

    growth: Growth
    collect: Collect

    def collected(self, entry: Leaf, leaves: Sequence[Leaf], nodes: Sequence[int]) -> tuple[Leaf, Leaf]:
        """Merge the leaves of a sub-tree grown at `entry` into a + and a - leaf."""
        growth = self.growth
        growth.collected.append(sorted(nodes))
        entered = self._by_reach(entry)
        # sum D_i p(leaf, x_i) of each class, + first: the weight that leaves through a leaf
        W = np.array(
            [_core.branch_sums(entered, self._reach(leaf), growth.positive, growth.threads)[PLUS] for leaf in leaves]
        )
        positive = W[:, 0] > W[:, 1]
        groups = [[leaves[k] for k in np.flatnonzero(members).tolist()] for members in (positive, ~positive)]
        if self.collect == "confidence":
            plus, minus = (growth.merged(group) for group in groups)
            return plus, minus
        share = np.array([W[positive].sum(axis=0), W[~positive].sum(axis=0)]) / entry.mass
        return self._signed(entry, groups, share, nodes)

    def _by_reach(self, entry: Leaf) -> F64:
        reach = self._reach(entry)
        return np.divide(entry.weights, reach, out=np.zeros_like(reach), where=reach > 0.0)

    @staticmethod
    def _reach(leaf: Leaf) -> F64:
        assert leaf.reach is not None
        return np.minimum(leaf.reach, 1.0, dtype=np.float64)  # in float32 it may exceed 1

    def _signed(
        self, entry: Leaf, groups: list[list[Leaf]], share: NDArray[np.float64], nodes: Sequence[int]
    ) -> tuple[Leaf, Leaf]:
        growth = self.growth
        alpha, Z = alphas(share, growth.eps)
        for node in nodes:
            growth.vote[node] = [0.0, 0.0]
        leaves = []
        if growth.expected is not None:
            for leaf in (leaf for group in groups for leaf in group):
                growth.expected -= leaf.score * growth.reached(leaf)
        for answer, group in zip((PLUS, MINUS), groups, strict=True):
            joined = growth.merged(group)
            vote = float(alpha[answer] * SIGN[answer])
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
    """Grow a tree of ``sizes[-1]`` nodes at a leaf, each a tree of ``sizes[-2]`` nodes, and so on inwards."""
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
    """Node of the greedy builder's tree: one voter, or a collected sub-tree."""

    entry: Leaf
    nodes: list[int]  # the graph's nodes in it
    seconds: float  # training time
    parts: list[Leaf | Site]  # leaves or sites after its answers, + first
    above: Site | None  # the site before it

    def sites(self) -> list[Site]:
        return [self, *(site for part in self.parts if isinstance(part, Site) for site in part.sites())]

    def leaves(self) -> list[Leaf]:
        return [leaf for part in self.parts for leaf in (part.leaves() if isinstance(part, Site) else [part])]


class GreedyNest:
    """Greedy matryoshka (Grossmann, section 5.4, eqs. 12 to 14). Equation: greedy-matryoshka (docs/theory.md)."""

    def __init__(self, growth: Growth, collector: Collector, rate: Rate) -> None:
        self.rate = rate
        self.growth: Growth = growth
        self.collector: Collector = collector
        self.next_voter: dict[Leaf, tuple[Branching | None, float]] = {}

    def grow(self, root: Leaf) -> Growing:
        top: Site | None = None
        while True:
            leaf = self._best([root] if top is None else top.leaves())
            if leaf is None:
                return [root] if top is None else top.leaves()
            found, seconds = self.next_voter.pop(leaf)
            assert found is not None
            parts: list[Leaf | Site] = list(self.growth.branch(leaf, found))
            site = Site(leaf, [len(self.growth) - 1], seconds, parts, None)
            if top is None:
                top = site
            else:
                places = ((above, k) for above in top.sites() for k in range(len(above.parts)))
                site.above, answer = next((above, k) for above, k in places if above.parts[k] is leaf)
                site.above.parts[answer] = site
            self._collect(site)
            yield

    def _best(self, leaves: Sequence[Leaf]) -> Leaf | None:
        for leaf in sorted((leaf for leaf in leaves if leaf.edges or not len(self.growth)), key=lambda at: -at.mass):
            if self.voter_at(leaf)[0] is not None:
                return leaf
        return None

    def voter_at(self, leaf: Leaf) -> tuple[Branching | None, float]:
        if leaf not in self.next_voter:
            begun = time.perf_counter()
            found = self.growth.branching(leaf)
            self.next_voter[leaf] = found, time.perf_counter() - begun
        return self.next_voter[leaf]

    def _collect(self, newest: Site) -> None:
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
        """Return whether the bound falls faster if the sub-tree is collected; the newest voter lowered it by `last`."""
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
