"""Reduced-error pruning of model trees: a split stays where the scores below it err no more than the node's own.

Gini asks whether a split parts the classes, which is not what a tree with linear scores in its leaves needs to know:
where a line does, no split is needed, and where two features matter only together the first split parts nothing. So a
tree is grown as far as its limits allow and cut back from its leaves: scores are boosted in every node on two thirds of
its rows, and the others judge (Quinlan 1987). Rows weigh what they do for the user, not in the round of boosting: late
rounds lay most of the weight on few rows, and what few rows say of a split is chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee._core import GrownTree
from committee.data.number_types import F64
from committee.voters.model_forest import LinkName

HELD_OUT = 1 / 3
"""Share of the rows that judge."""
N_STEPS = 20
"""Boosting steps of a score that is judged: most of what a leaf's own steps gain, at a fraction of their time."""
MOST_ROWS = 1_000
"""Rows that the score of a node is boosted on, so that the large nodes next to the root cost no more than others."""
ROUNDING = 1e-12
"""Differences of two errors below this share of the weight are rounding."""


@dataclass(frozen=True, eq=False)
class RowsOfNodes:
    """Rows of a tree, ordered by leaf so that each node has those of one range."""

    rows: NDArray[np.int32]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def of(cls, tree: GrownTree, drawn: NDArray[np.int32]) -> RowsOfNodes:
        """Order the drawn rows, which are those that the tree was grown on."""
        leaf, left = tree.leaf_of_row[drawn], tree.left.tolist()
        size = np.bincount(leaf, minlength=len(left)).tolist()
        begin = [0] * len(left)
        for node in range(len(left) - 1, -1, -1):  # children come after their parents
            if left[node] >= 0:
                size[node] = size[left[node]] + size[left[node] + 1]
        for node, child in enumerate(left):
            if child >= 0:
                begin[child], begin[child + 1] = begin[node], begin[node] + size[child]
        first = np.array(begin, dtype=np.int64)
        return cls(drawn[np.argsort(first[leaf], kind="stable")], first, first + np.array(size, dtype=np.int64))


def pruned(
    tree: GrownTree,
    D: F64,
    labels: NDArray[np.uint16],
    weights: F64,
    drawn: NDArray[np.int32],
    *,
    n_outputs: int,
    link: LinkName,
    cap: float,
    seed: int,
    n_threads: int,
) -> GrownTree:
    """Return the tree without the splits that do not pay, grown on the `drawn` rows of design `D` ``(n, q)``.

    Equation: reduced-error (docs/theory.md).
    """
    if tree.left[0] < 0:
        return tree
    rows = RowsOfNodes.of(tree, drawn)
    held_out = (np.random.default_rng(seed).random(len(D)) < HELD_OUT).astype(np.uint8)
    errors = _core.held_out_errors(
        D, rows.rows, rows.begin, rows.end, labels, weights, held_out, n_outputs, link, N_STEPS, cap, MOST_ROWS,
        n_threads,
    )  # fmt: skip
    return cut(tree, kept_splits(tree.left, errors, ROUNDING * float(weights[drawn].sum())))


def kept_splits(left: NDArray[np.int32], errors: F64, rounding: float = 0.0) -> NDArray[np.bool_]:
    """Which nodes stay split: those whose kept leaves err no more together than the node alone.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.trees.reduced_error_pruning import kept_splits
    >>> kept_splits(np.array([1, 3, -1, -1, -1]), np.array([5.0, 2.0, 2.0, 1.5, 1.0])).tolist()
    [True, False, False, False, False]
    """
    least, keep = errors.tolist(), left >= 0
    for node in range(len(least) - 1, -1, -1):  # children come after their parents
        if keep[node]:
            below = least[left[node]] + least[left[node] + 1]
            keep[node] = below <= least[node] + rounding
            least[node] = min(below, least[node])
    return keep


def cut(tree: GrownTree, keep: NDArray[np.bool_]) -> GrownTree:
    """Return the tree whose nodes outside of `keep` are leaves."""
    feature, bin, left, missing_left, offset, bits, gain, count, sums = tree.nodes()
    reached = np.zeros(len(left), dtype=bool)
    reached[0] = True
    over = np.arange(len(left))  # the node itself, or the leaf that it is now part of
    for node, child in enumerate(left.tolist()):
        if child >= 0:
            reached[child : child + 2] = reached[node] and keep[node]
            if not reached[child]:
                over[child : child + 2] = over[node]
    split = keep & reached
    number = np.cumsum(reached) - 1
    words = np.where(split, np.diff(offset), 0)
    nodes = (
        np.where(split, feature, -1)[reached],
        np.where(split, bin, -1)[reached],
        np.where(split, number[left], -1).astype(np.int32)[reached],
        np.where(split, missing_left, 0).astype(np.uint8)[reached],
        np.concatenate([[0], np.cumsum(words[reached])]).astype(np.int64),
        bits[np.repeat(split, np.diff(offset))],
        np.where(split, gain, 0.0)[reached],
        count[reached],
        np.ascontiguousarray(sums[reached]),
    )
    leaf = np.where(tree.leaf_of_row < 0, -1, number[over[tree.leaf_of_row]]).astype(np.int32)
    return GrownTree(nodes, leaf)
