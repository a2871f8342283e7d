"""Naive graphs of voters, path by path, and soft stumps."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

MASK = 2**64 - 1
STRIDE = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Graph:
    """Nodes start[d]:start[d + 1] belong to score d; -1 leads out."""

    next: NDArray[np.int32]
    vote: F64
    start: NDArray[np.int64]

    @property
    def arrays(self) -> tuple[Any, ...]:
        return tuple(vars(self).values())

    @property
    def n_scores(self) -> int:
        return len(self.start) - 1


@dataclass(frozen=True)
class Path:
    nodes: tuple[int, ...]
    answers: tuple[int, ...]
    """0 for +, 1 for -."""

    def probability(self, q: F64) -> float:
        return math.prod(q[t] if a == 0 else 1.0 - q[t] for t, a in zip(self.nodes, self.answers, strict=True))

    def score(self, graph: Graph) -> float:
        return sum(float(graph.vote[t, a]) for t, a in zip(self.nodes, self.answers, strict=True))


def random_graph(rng: np.random.Generator, sizes: tuple[int, ...]) -> Graph:
    """Edges to any later node of the score, or out."""
    start = np.cumsum([0, *sizes]).astype(np.int64)
    following: list[list[int]] = []
    for d in range(len(sizes)):
        for t in range(start[d], start[d + 1]):
            later = [-1, *range(t + 1, start[d + 1])]
            following.append([int(rng.choice(later)), int(rng.choice(later))])
    return Graph(np.array(following, dtype=np.int32), rng.normal(size=(len(following), 2)), start)


def paths(graph: Graph, d: int) -> Iterator[Path]:
    """All ways through one graph."""
    open_ = [Path((int(graph.start[d]),), ())]
    while open_:
        path = open_.pop()
        for answer in (0, 1):
            answers = (*path.answers, answer)
            to = int(graph.next[path.nodes[-1], answer])
            if to < 0:
                yield Path(path.nodes, answers)
            else:
                open_.append(Path((*path.nodes, to), answers))


def expected(graph: Graph, q: F64) -> tuple[F64, F64]:
    scores, cost = np.zeros((len(q), graph.n_scores)), np.zeros(len(q))
    for d in range(graph.n_scores):
        for path in paths(graph, d):
            for i, row in enumerate(q):
                scores[i, d] += path.probability(row) * path.score(graph)
                cost[i] += path.probability(row) * len(path.nodes)
    return scores, cost


def reach(graph: Graph, q: F64) -> F64:
    found = np.zeros(q.shape)
    for d in range(graph.n_scores):
        for path in paths(graph, d):
            for i, row in enumerate(q):
                found[i, list(path.nodes)] += path.probability(row)
    return found


def walk(graph: Graph, d: int, says_plus: Any) -> Path:
    """The path of one row; ``says_plus(t)`` is its answer at a node."""
    nodes, answers, t = [], [], int(graph.start[d])
    while t >= 0:
        nodes.append(t)
        answers.append(0 if says_plus(t) else 1)
        t = int(graph.next[t, answers[-1]])
    return Path(tuple(nodes), tuple(answers))


def likely(graph: Graph, q: F64) -> tuple[F64, NDArray[np.int32]]:
    scores, steps = np.zeros((len(q), graph.n_scores)), np.zeros(len(q), np.int32)
    for i, row in enumerate(q.tolist()):
        for d in range(graph.n_scores):
            path = walk(graph, d, lambda t, row=row: row[t] > 0.5)
            scores[i, d] = path.score(graph)
            steps[i] += len(path.nodes)
    return scores, steps


def scramble(z: int) -> int:
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def draw(key: int, path: int, node: int) -> float:
    """The number in [0, 1) that a path of a row meets at a node."""
    of_path = scramble((key + STRIDE * (path + 1)) & MASK)
    return (scramble((of_path + STRIDE * (node + 1)) & MASK) >> 11) * 2.0**-53


def row_key(x: list[float], seed: int) -> int:
    key = scramble((seed + STRIDE) & MASK)
    for value in x:
        canonical = math.nan if math.isnan(value) else value + 0.0
        (bits,) = struct.unpack("<Q", struct.pack("<d", canonical))
        key = scramble(((key ^ bits) + STRIDE) & MASK)
    return key


def sampled(graph: Graph, q: F64, keys: NDArray[np.uint64], n_paths: int) -> tuple[F64, NDArray[np.int64], F64]:
    scores, positive = np.zeros((len(q), graph.n_scores)), np.zeros((len(q), graph.n_scores), np.int64)
    steps = np.zeros(len(q))
    for i, (row, key) in enumerate(zip(q.tolist(), keys.tolist(), strict=True)):
        for k in range(n_paths):
            for d in range(graph.n_scores):
                path = walk(graph, d, lambda t, row=row, key=key, k=k: draw(key, k, t) < row[t])
                scores[i, d] = path.score(graph)
                positive[i, d] += scores[i, d] > 0.0
                steps[i] += len(path.nodes) / n_paths
    return scores, positive, steps


SAME_Z = 1e-12
"""Relative difference of two Z that rounding makes."""
MOST_SOFT_EDGES = 128


@dataclass(frozen=True)
class Stumps:
    """T stumps as the kernels take them."""

    feature: NDArray[np.int32]
    threshold: F64
    softness: F64
    ascending: NDArray[np.uint8]
    missing: F64
    category_offset: NDArray[np.int64]
    category_bits: NDArray[np.uint32]

    @property
    def arrays(self) -> tuple[Any, ...]:
        return tuple(vars(self).values())

    def __len__(self) -> int:
        return len(self.feature)


def one_stump(c: float, s: float, ascending: bool, missing: float = 0.5) -> Stumps:
    """A stump on the first column, which holds numbers."""
    return Stumps(
        np.zeros(1, np.int32),
        np.array([c]),
        np.array([s]),
        np.array([ascending], np.uint8),
        np.array([missing]),
        np.zeros(2, np.int64),
        np.empty(0, np.uint32),
    )


def normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def probability(stumps: Stumps, t: int, x: float) -> float:
    """q of stump t for the value x of its column."""
    words = stumps.category_bits[stumps.category_offset[t] : stumps.category_offset[t + 1]].tolist()
    if math.isnan(x):
        return float(stumps.missing[t])
    if words:
        known = 0 <= x < 32 * len(words) and x == math.floor(x)
        return float(words[int(x) // 32] >> (int(x) % 32) & 1) if known else 0.0
    c, s, up = float(stumps.threshold[t]), float(stumps.softness[t]), bool(stumps.ascending[t])
    if s == 0.0:
        return float((x > c) == up)
    if x == c:
        return 0.5
    with np.errstate(over="ignore"):
        z = float(np.float64(x - c) / s)
    return normal_cdf(z if up else -z)


def probabilities(stumps: Stumps, X: F64) -> F64:
    q = [[probability(stumps, t, row[stumps.feature[t]]) for t in range(len(stumps))] for row in X.tolist()]
    return np.array(q).reshape(len(X), len(stumps))


def random_stumps(rng: np.random.Generator, n_stumps: int, n_categories: tuple[int, ...]) -> Stumps:
    """Hard and soft ones, on columns of numbers and of categories (``n_categories[j] > 0``)."""
    feature = rng.integers(0, len(n_categories), n_stumps).astype(np.int32)
    n_words = [-(-n_categories[j] // 32) for j in feature]
    return Stumps(
        feature,
        rng.integers(-3, 4, n_stumps) / 2,
        rng.choice([0.0, 1e-300, 0.1, 1.0, 30.0], n_stumps),
        rng.integers(0, 2, n_stumps).astype(np.uint8),
        rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], n_stumps),
        np.cumsum([0, *n_words], dtype=np.int64),
        rng.integers(2**32, size=sum(n_words), dtype=np.uint32),
    )


# --- the search --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A binned table: what a search is given."""

    codes: NDArray[Any]
    n_bins: NDArray[np.int32]
    categorical: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    positions: F64
    edges: F64
    edge_offset: NDArray[np.int64]
    softness: F64

    @property
    def arrays(self) -> tuple[Any, ...]:
        return tuple(vars(self).values())

    def hard(self) -> Table:
        return replace(self, softness=np.zeros_like(self.softness))


@dataclass(frozen=True)
class Found:
    feature: int
    edge: int
    z: float


def branch_sums(weights: NDArray[Any], q: F64, labels: NDArray[np.uint8]) -> F64:
    """[[W++, W+-], [W-+, W--]]."""
    w = weights.astype(np.float64)
    return np.array(
        [
            [math.fsum(w[labels == 1] * q[labels == 1]), math.fsum(w[labels == 0] * q[labels == 0])],
            [math.fsum(w[labels == 1] * (1 - q[labels == 1])), math.fsum(w[labels == 0] * (1 - q[labels == 0]))],
        ]
    )


def z_of(weights: NDArray[Any], q: F64, labels: NDArray[np.uint8]) -> float:
    root = np.sqrt(branch_sums(weights, q, labels))  # a product might be too small for a number
    return float(2.0 * root[0, 0] * root[0, 1] + 2.0 * root[1, 0] * root[1, 1])


def q_on_bins(table: Table, j: int, edge: int) -> F64:
    """q of an ascending stump for every bin of a column, the missing one left out."""
    bins = np.arange(table.n_bins[j])
    if table.softness[j] == 0.0:
        return (bins > edge).astype(np.float64)
    first = int(table.n_bins[:j].sum())
    c, s = table.edges[table.edge_offset[j] + edge], table.softness[j]
    return np.array([0.5 if x == c else normal_cdf((x - c) / s) for x in table.positions[first : first + len(bins)]])


def tried_edges(table: Table, j: int) -> list[int]:
    n = int(table.n_bins[j]) - 1
    if table.softness[j] == 0.0 or n <= MOST_SOFT_EDGES:
        return list(range(n))
    return [(2 * k + 1) * n // (2 * MOST_SOFT_EDGES) for k in range(MOST_SOFT_EDGES)]


def candidates(table: Table, weights: NDArray[Any]) -> Iterator[Found]:
    """Every stump there is, with missing values on either side; every set of the categories."""
    for j in range(table.codes.shape[1]):
        codes, missing = table.codes[:, j].astype(np.int64), int(table.n_bins[j])
        if table.categorical[j]:
            there = np.unique(codes[weights > 0]).tolist()
            for sides in product([0.0, 1.0], repeat=len(there)):
                q = np.zeros(missing + 1)
                q[there] = sides
                yield Found(j, -1, z_of(weights, q[codes], table.labels))
            continue
        for edge in tried_edges(table, j):
            for side in (0.0, 1.0):
                q = np.append(q_on_bins(table, j, edge), side)
                yield Found(j, edge, z_of(weights, q[codes], table.labels))


def best(table: Table, weights: NDArray[Any]) -> Found:
    """The first of the least Z; feature -1 if none is below that of one side."""
    one_side = z_of(weights, np.ones(len(weights)), table.labels)
    every = list(candidates(table, weights))
    least = min((c.z for c in every), default=math.inf)
    if not least < one_side * (1.0 - SAME_Z):
        return Found(-1, -1, one_side)
    return next(c for c in every if c.z <= least * (1.0 + SAME_Z))


def q_of_choice(table: Table, choice: tuple[Any, ...]) -> F64:
    """q on every row of what a search returned."""
    feature, edge, ascending, missing, _, words = choice
    codes = table.codes[:, feature].astype(np.int64)
    if table.categorical[feature]:
        set_ = [words[c // 32] >> np.uint32(c % 32) & 1 for c in range(int(table.n_bins[feature]))]
        return np.append(np.array(set_, dtype=np.float64), missing)[codes]
    q = q_on_bins(table, feature, edge)
    return np.append(q if ascending else 1.0 - q, missing)[codes]
