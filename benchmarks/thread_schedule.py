"""How gradient trees would grow on many threads, by the sizes of their parts alone.

The schedule of `core/trees/gradient/grow.hpp` and `children.hpp` is replayed for the sizes of the parts of real trees
in elementary operations as the kernels count them. So it knows what is too small to share out, what one thread does for
all, how evenly parts fall to threads and what it costs to meet; not that threads share memory, caches and the clock.
Nodes that are looked at ahead are taken to be split in the end.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.voters.forest import Forest

WORTH_A_WAKE = 100_000
"""Operations for which threads are woken, and twice what a meeting of them costs (core/threads/threads.hpp)."""
MEETINGS = 4
"""Meetings of all threads over one node (core/trees/gradient/grow.hpp)."""
WORTH_STARTING = 600_000
"""Operations of a tree for which a thread is started."""
BLOCK = 8_192
"""Rows of a part; nodes of fewer are counted by one thread, in one word a cell."""
ROW_PASSES = 8
"""Operations a row of a round beside the growth of its tree: gradients, their words, sums over leaves, scores."""


@dataclass(frozen=True)
class Node:
    """Rows of a split node and of its smaller child, and the nodes that its split opens."""

    size: int
    smaller: int
    gain: float
    opens: tuple[int, ...]


@dataclass(frozen=True)
class ThreadSchedule:
    """So many threads on a table of so many columns and cells."""

    threads: int
    n_columns: int
    n_cells: int

    def wanted(self, work: float) -> int:
        """How many threads so much work is given."""
        return int(np.clip(work // WORTH_A_WAKE, 1, self.threads))

    def shared(self, work: float, n_parts: int) -> float:
        """Time of work in equal parts, each taken by the next free thread."""
        if n_parts <= 1 or self.wanted(work) == 1:
            return work
        return work * -(-n_parts // self.threads) / n_parts + WORTH_A_WAKE / 2

    def counted(self, rows: int, narrow: bool) -> float:
        """Time of a histogram: rows are shared out where a thread's own histogram is worth its sum."""
        work = rows * self.n_columns
        parts = 1 if narrow else int(np.clip(work // (16 * self.n_cells + 1), 1, self.wanted(work)))
        return self.shared(work, parts) + self.shared((parts - 1) * 2 * self.n_cells, 2 * self.n_cells // 1024)

    def alone(self, node: Node) -> float:
        """Time of one thread for the children of a node."""
        return 4 * node.size + node.smaller * self.n_columns + 8 * self.n_cells

    def together(self, node: Node) -> float:
        """Time of all threads for the children of one node."""
        blocks = -(-node.size // BLOCK)
        parting = 2 * self.shared(2 * node.size, blocks)
        scans = 2 * self.n_cells + self.shared(6 * self.n_cells, 2 * self.n_columns)
        return parting + self.counted(node.smaller, node.size < BLOCK) + scans

    def busiest(self, works: list[float]) -> float:
        """Time of works that are shared out, the largest first, each to the thread that has least to do."""
        loads = [0.0] * self.threads
        for work in sorted(works, reverse=True):
            heapq.heapreplace(loads, loads[0] + work)
        return max(loads)

    def tree(self, nodes: dict[int, Node], n_rows: int) -> float:
        """Time of a round and its tree: the node that gains most is split, some of the next ones beside it."""
        time = self.shared(ROW_PASSES * n_rows, -(-n_rows // BLOCK)) + self.counted(n_rows, n_rows < BLOCK)
        time += self.shared(4 * self.n_cells, self.n_columns)
        found: set[int] = set()
        waiting = [0] if 0 in nodes else []
        while waiting:
            waiting.sort(key=lambda at: -nodes[at].gain)
            if waiting[0] not in found:
                ahead = [at for at in waiting if at not in found][: 2 * self.threads]
                chosen = self._chosen([nodes[at] for at in ahead])
                some = [nodes[at] for at in ahead[:chosen]]
                if chosen > 1:
                    time += self.busiest([self.alone(node) for node in some]) + WORTH_A_WAKE / 2
                else:
                    time += self.together(some[0]) if self.threads > 1 else self.alone(some[0])
                found.update(ahead[:chosen])
            waiting += nodes[waiting.pop(0)].opens
        return time

    def _chosen(self, nodes: list[Node]) -> int:
        """How many nodes are found at a time, a thread to each: as many as save the most."""
        best, most_saved, one_by_one, works = 1, 0.0, 0.0, list[float]()
        for node in nodes if self.threads > 1 else ():
            work = self.alone(node)
            works.append(work)
            one_by_one += min(work, work / self.threads + MEETINGS * WORTH_A_WAKE / 2)
            saved = one_by_one - self.busiest(works) - WORTH_A_WAKE / 2
            if saved > most_saved and self.wanted(sum(works)) > 1:
                best, most_saved = len(works), saved
        return best


def split_nodes(forest: Forest, tree: int) -> dict[int, Node]:
    """The nodes of a tree that are split, by their number in it."""
    at = slice(int(forest.offset[tree]), int(forest.offset[tree + 1]))
    left, gain = forest.left[at], forest.gain[at]
    count: NDArray[np.int64] = forest.count[at]
    found = {}
    for number in np.flatnonzero(left >= 0).tolist():
        children = (int(left[number]), int(left[number]) + 1)
        sizes = [int(count[child]) for child in children]
        opens = tuple(child for child in children if left[child] >= 0)
        found[number] = Node(int(count[number]), min(sizes), float(gain[number]), opens)
    return found


def speed_up(forest: Forest, threads: int, n_rows: int, n_cells: int) -> float:
    """How many times as fast so many threads grow all trees of a forest as one does."""
    of_tree = 4 * n_rows * forest.n_features + 64 * n_cells
    started = int(np.clip(of_tree // WORTH_STARTING, 1, threads))
    one, many = (ThreadSchedule(t, forest.n_features, n_cells) for t in (1, started))
    trees = [split_nodes(forest, tree) for tree in range(len(forest))]
    return sum(one.tree(nodes, n_rows) for nodes in trees) / sum(many.tree(nodes, n_rows) for nodes in trees)
