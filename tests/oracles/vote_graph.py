"""Graphs of voters the slow way: every path listed, with its probability; random numbers in Python's integers."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
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
