"""Probabilistic AdaBoost, boosting trees and matryoshki the slow way: every way through the voters is told apart.

The letters are those of E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki: D are row
weights, y is -1 or +1, q the probability that a voter says +1, H the score that a way through the voters comes to, and
a weak learner is any function from weights that sum to one to the q of every row.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

Floats = NDArray[np.float64]
WeakLearner = Callable[[Floats], Floats]
Answers = tuple[tuple[int, int], ...]
"""The voters met, by their number, and what each said: 0 for +, 1 for -."""


@dataclass(frozen=True)
class Way:
    """One way through the voters: what was answered, how likely that is on each row, and the score at its end."""

    answers: Answers
    reach: Floats
    H: float


Leaf = list[Way]
"""The ways that end alike; a plain tree has one to a leaf."""


@dataclass
class Ensemble:
    """What a learner has come to."""

    D: Floats
    y: Floats
    eps: float
    voters: list[Floats] = field(default_factory=list)
    """q of each voter on every row."""
    normalisers: list[float] = field(default_factory=list)
    dolls: list[list[int]] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)

    def root(self) -> Leaf:
        return [Way((), np.ones(len(self.y)), 0.0)]

    @property
    def ways(self) -> list[Way]:
        return [way for leaf in self.leaves for way in leaf]

    def weight(self, leaf: Leaf) -> Floats:
        """D_i E[exp(-H y_i); the row comes to the leaf]."""
        total = np.zeros(len(self.y))
        for way in leaf:
            total += self.D * way.reach * np.exp(-way.H * self.y)
        return total

    def mass(self, leaf: Leaf) -> float:
        return float(self.weight(leaf).sum())

    def bound(self) -> float:
        """E exp(-H y) over rows and ways."""
        return sum(self.mass(leaf) for leaf in self.leaves)

    def expected_error(self) -> float:
        """Probability that H has the wrong sign; 0 is taken for -1."""
        wrong = 0.0
        for way in self.ways:
            says = 1.0 if way.H > 0.0 else -1.0
            wrong += float((self.D * way.reach)[self.y != says].sum())
        return wrong

    def expected_score(self) -> Floats:
        return np.sum([way.reach * way.H for way in self.ways], axis=0)

    def cost(self) -> Floats:
        """Expected number of voters met."""
        return np.sum([way.reach * len(way.answers) for way in self.ways], axis=0)


def votes(W: Floats, eps: float) -> tuple[float, float]:
    """What + and - add to H: alpha_+ and -alpha_-; ``W[a, b]`` is the weight of class b to which the voter says a."""
    (pp, pm), (mp, mm) = W
    alpha_plus = 0.5 * np.log((pp + eps) / (pm + eps))
    alpha_minus = 0.5 * np.log((mm + eps) / (mp + eps))
    return float(alpha_plus), -float(alpha_minus)


def branch(made: Ensemble, leaf: Leaf, train: WeakLearner) -> tuple[Leaf, Leaf]:
    """Train a voter at a leaf: what comes there goes on by what it answers."""
    weight = made.weight(leaf)
    D = weight / weight.sum()
    q, node = train(D), len(made.voters)
    W = np.zeros((2, 2))
    for i in range(len(D)):
        b = 0 if made.y[i] > 0 else 1
        W[0, b] += D[i] * q[i]
        W[1, b] += D[i] * (1.0 - q[i])
    made.voters.append(q)
    sides = []
    for answer, (p, vote) in enumerate(zip((q, 1.0 - q), votes(W, made.eps), strict=True)):
        sides.append([Way((*way.answers, (node, answer)), way.reach * p, way.H + vote) for way in leaf])
    made.normalisers.append(sum(made.mass(side) for side in sides) / weight.sum())
    return sides[0], sides[1]


def adaboost(train: WeakLearner, D: Floats, y: Floats, T: int, eps: float) -> Ensemble:
    """Both answers lead to the same next voter: 2^T ways."""
    made = Ensemble(D, y, eps)
    leaf = made.root()
    for _ in range(T):
        plus, minus = branch(made, leaf, train)
        leaf = plus + minus
    made.leaves = [leaf]
    return made


def matryoshka(
    train: WeakLearner, D: Floats, y: Floats, sizes: list[int], eps: float, collect: str = "confidence"
) -> Ensemble:
    """Trees of ``sizes[-1]`` nodes, each a tree of ``sizes[-2]`` nodes, and so on; of one size a boosting tree."""
    made = Ensemble(D, y, eps)
    made.leaves = grow(made, made.root(), train, sizes, collect)
    return made


def grow(made: Ensemble, entry: Leaf, train: WeakLearner, sizes: list[int], collect: str) -> list[Leaf]:
    leaves = [entry]
    for _ in range(sizes[-1]):
        largest = max(leaves, key=made.mass)
        leaves = [leaf for leaf in leaves if leaf is not largest]
        if len(sizes) == 1:
            leaves += branch(made, largest, train)
        else:
            first = len(made.voters)
            inner = grow(made, largest, train, sizes[:-1], collect)
            if len(made.voters) - first > 1:  # a single voter is a node already
                made.dolls.append(list(range(first, len(made.voters))))
                inner = list(collected(made, largest, inner, collect))
            leaves += inner
        leaves = [leaf for leaf in leaves if leaf]
    return leaves


def log_odds(made: Ensemble, entry: Leaf, leaf: Leaf) -> tuple[float, float]:
    """Weight of the rows of + and of - that leaves through a leaf, out of what entered."""
    entered = np.sum([way.reach for way in entry], axis=0)
    left = np.sum([way.reach for way in leaf], axis=0)
    share = np.where(entered > 0, left / np.where(entered > 0, entered, 1.0), 0.0)  # none of those that never come
    weight = made.weight(entry) * share
    return float(weight[made.y > 0].sum()), float(weight[made.y < 0].sum())


def collected(made: Ensemble, entry: Leaf, inner: list[Leaf], collect: str) -> tuple[Leaf, Leaf]:
    """Leaves that vote + as one, the others as one; of "sign" they vote alike from then on."""
    sides: tuple[Leaf, Leaf] = [], []
    W = np.zeros((2, 2))
    for leaf in inner:
        P, N = log_odds(made, entry, leaf)
        side = 0 if P > N else 1
        sides[side].extend(leaf)
        W[side] += P, N
    if collect == "confidence":
        return sides
    signed = votes(W / W.sum(), made.eps)
    before = {way.answers: way.H for way in entry}
    return tuple(  # type: ignore[return-value]
        [replace(way, H=entered(before, way.answers) + vote) for way in side]
        for side, vote in zip(sides, signed, strict=True)
    )


def entered(before: dict[Answers, float], answers: Answers) -> float:
    """The score with which a way entered a sub-tree."""
    while answers not in before:
        answers = answers[:-1]
    return before[answers]


@dataclass
class Site:
    """A node of the greedy builder's tree, of one voter or of those collected, and what its answers lead to."""

    entry: Leaf
    nodes: list[int]
    parts: "list[Leaf | Site]"

    def sites(self) -> "list[Site]":
        return [self, *(site for part in self.parts if isinstance(part, Site) for site in part.sites())]

    def leaves(self) -> list[Leaf]:
        return [leaf for part in self.parts for leaf in (part.leaves() if isinstance(part, Site) else [part]) if leaf]


def greedy(train: WeakLearner, D: Floats, y: Floats, T: int, eps: float) -> Ensemble:
    """Eqs. 12 to 14: after each voter the outermost sub-tree that would fall faster if it were a node is made one."""
    made = Ensemble(D, y, eps)
    top: Site | None = None
    for node in range(T):
        leaf = made.root() if top is None else max(top.leaves(), key=made.mass)
        newest = Site(leaf, [node], list(branch(made, leaf, train)))
        if top is None:
            top = newest
            continue
        for site in top.sites():
            site.parts = [newest if part is leaf else part for part in site.parts]
        for site in top.sites():  # those around come before those inside
            if len(site.sites()) > 1 and newest in site.sites() and falls_faster_nested(made, site, newest, train):
                nodes = sorted(node for inner in site.sites() for node in inner.nodes)
                made.dolls.append(nodes)
                site.nodes, site.parts = nodes, list(collected(made, site.entry, site.leaves(), "confidence"))
                break
    assert top is not None
    made.leaves = top.leaves()
    return made


def falls_faster_nested(made: Ensemble, site: Site, newest: Site, train: WeakLearner) -> bool:
    def bound(leaves: list[Leaf]) -> float:
        return sum(made.mass(leaf) for leaf in leaves) / made.mass(site.entry)

    now = site.leaves()
    before = [leaf for leaf in now if not any(leaf is new for new in newest.leaves())] + [newest.entry]
    largest = max(now, key=made.mass)
    trial = Ensemble(made.D, made.y, made.eps, list(made.voters))
    after = [leaf for leaf in now if leaf is not largest] + list(branch(trial, largest, train))
    C, simple = bound(now), (bound(after) - bound(before)) / 2.0
    T = sum(len(inner.nodes) for inner in site.sites())
    return bool(C / T * (np.euler_gamma + digamma(C) + 1.0 / C - 1.0) < simple)


def ways_of(following: NDArray[np.int32], vote: Floats, q: Floats) -> list[Way]:
    """Every way through a graph from its first node, whoever built it."""
    done: list[Way] = []
    waiting: list[tuple[int, Way]] = [(0, Way((), np.ones(len(q)), 0.0))]
    while waiting:
        node, way = waiting.pop()
        for answer, p in enumerate((q[:, node], 1.0 - q[:, node])):
            on = Way((*way.answers, (node, answer)), way.reach * p, way.H + float(vote[node, answer]))
            if following[node, answer] < 0:
                done.append(on)
            else:
                waiting.append((int(following[node, answer]), on))
    return done
