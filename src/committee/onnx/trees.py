"""Flat trees as ONNX trees: every leaf adds one number to one score, and equal leaves side by side are one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.onnx.ensembles import Ensemble, double_ensemble, leaf_ensemble
from committee.onnx.graph import Value
from committee.onnx.rows import Rows
from committee.voters.forest import Forest
from committee.voters.merged_leaves import MergedLeaves, known_apart


@dataclass(frozen=True, eq=False)
class LeafPart:
    """What leaves add, each to one score.

    Parameters
    ----------
    target : int64 array (N,)
        The score, by node; what inner nodes have does not count.
    number : float64 array (N,)
        What is added to it; 0 where nothing is.
    """

    target: NDArray[np.int64]
    number: F64


def forest_tally(rows: Rows, forest: Forest, weights: F64) -> Value:
    """Weighted sum of the votes of trees, ``(n, n_outputs)``."""
    weight = np.repeat(weights, forest.n_nodes)
    return _summed(rows, forest, list(_parts_of_votes(forest, weight)), forest.n_outputs)


def rounds_tally(rows: Rows, forest: Forest, weights: F64, n_outputs: int) -> Value:
    """Weighted sum of trees that add to the scores in turn, ``(n, n_outputs)``; weights are those of rounds."""
    assert forest.value is not None
    weight = np.repeat(np.repeat(weights, n_outputs), forest.n_nodes)
    target = np.repeat(np.arange(len(forest)) % n_outputs, forest.n_nodes)
    return _summed(rows, forest, [LeafPart(target, weight * forest.value[:, 0])], n_outputs)


def leaf_numbers(rows: Rows, forest: Forest, number: NDArray[np.integer]) -> Value:
    """The number that the leaf of each tree has, of whole numbers by node ``(N,)``: int64 ``(n, T)``."""
    target = np.repeat(np.arange(len(forest)), forest.n_nodes)
    part = LeafPart(target, number.astype(np.float64))
    if rows.X.graph.trees == 3:
        return leaf_ensemble(*_trees_for(rows, forest, [part]))
    return double_ensemble(*_trees_for(rows, forest, [part]), len(forest)).cast(np.int64)


def _parts_of_votes(forest: Forest, weight: F64) -> Iterator[LeafPart]:
    """Votes of leaves, weighted: the class that they name, or the first, second, ... of their numbers that are not 0.

    A tree of such a part has the other leaves of its tree as zeros, so that in pure leaves, which most are, the trees
    are not repeated for each class.
    """
    if forest.label is not None:
        names = forest.label >= 0
        yield LeafPart(np.where(names, forest.label, 0).astype(np.int64), np.where(names, weight, 0.0))
        return
    assert forest.value is not None
    value = forest.value * weight[:, None]
    value[forest.feature >= 0] = 0.0
    if value.shape[1] == 1:
        yield LeafPart(np.zeros(len(value), dtype=np.int64), value[:, 0])
        return
    order = np.argsort(value == 0.0, axis=1, kind="stable")
    count = np.count_nonzero(value, axis=1)
    for r in range(max(1, int(count.max(initial=0)))):
        target = order[:, r].astype(np.int64)
        number = value[np.arange(len(value)), target]
        yield LeafPart(np.where(number == 0.0, 0, target), number)


def _summed(rows: Rows, forest: Forest, parts: Sequence[LeafPart], n_outputs: int) -> Value:
    if rows.X.graph.trees == 5:
        return double_ensemble(*_trees_for(rows, forest, parts), n_outputs)
    # a table of what leaves add
    leaf = np.flatnonzero(forest.feature < 0)
    number = np.zeros(len(forest.feature), dtype=np.int64)
    number[leaf] = np.arange(len(leaf))
    added = np.zeros((len(leaf), n_outputs))
    for part in parts:
        added[np.arange(len(leaf)), part.target[leaf]] += part.number[leaf]
    reached = leaf_numbers(rows, forest, number)
    return rows.X.graph.constant(added).take(reached, axis=0).sum(axis=1).reshape(-1, n_outputs)


def _trees_for(rows: Rows, forest: Forest, parts: Sequence[LeafPart]) -> tuple[Value, Ensemble]:
    """The matrix as trees need it, and the trees."""
    sets = np.diff(forest.category_offset) > 0
    coded = rows.coded(np.unique(forest.feature[sets]).astype(np.intp), forest.n_features)
    return coded.X, _ensemble(forest, parts, rows.n_categories)


def _ensemble(forest: Forest, parts: Sequence[LeafPart], known: NDArray[np.int32] | None) -> Ensemble:
    """The trees of all parts, in the order of the forest's: a score's sum is then added in the same order as ours."""
    pieces = [_Piece.of(forest, part) for part in parts]
    for number, piece in enumerate(pieces[1:], 1):
        pieces[number] = piece.without_zeros()
    tree = np.concatenate([piece.tree for piece in pieces])
    part_of = np.concatenate([np.full(len(piece.tree), r) for r, piece in enumerate(pieces)])
    # numbers of inner nodes and leaves, part after part
    inner_from = np.cumsum([0, *(len(piece.inner) for piece in pieces)])
    leaf_from = np.cumsum([0, *(len(piece.leaf) for piece in pieces)])

    def placed(child: NDArray[np.int64], r: int) -> NDArray[np.int64]:
        return np.asarray(np.where(child >= 0, child + inner_from[r], child - leaf_from[r]))

    left, right, root = (
        np.concatenate([placed(getattr(piece, side), r) for r, piece in enumerate(pieces)])
        for side in ("left", "right", "root")
    )
    inner = np.concatenate([piece.inner for piece in pieces])
    words = np.diff(forest.category_offset)[inner]
    turned = (words > 0) & (forest.missing_left[inner] == 1)
    members: dict[int, NDArray[np.int64]] = {}
    for at in np.flatnonzero(words).tolist():
        node = int(inner[at])
        members[at] = known_apart(forest, node, 0 if known is None else int(known[forest.feature[node]]))
    order = np.lexsort((part_of, tree))
    return Ensemble(
        root=root[order],
        feature=forest.feature[inner].astype(np.int64),
        threshold=np.where(words > 0, 0.0, forest.threshold[inner]),
        missing_true=np.where(words > 0, 0, forest.missing_left[inner]).astype(np.int64),
        true=np.where(turned, right, left),
        false=np.where(turned, left, right),
        members=members,
        target=np.concatenate([piece.part.target[piece.leaf] for piece in pieces]),
        number=np.concatenate([piece.part.number[piece.leaf] for piece in pieces]),
    )


@dataclass(frozen=True, eq=False)
class _Piece:
    """The trees of one part of the leaves; a child is the number of an inner node, or -1 - that of a leaf."""

    part: LeafPart
    tree: NDArray[np.int64]
    root: NDArray[np.int64]
    inner: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    leaf: NDArray[np.int64]

    @classmethod
    def of(cls, forest: Forest, part: LeafPart) -> _Piece:
        merged = MergedLeaves.of(forest, [part.target, part.number])
        single, nodes, left = merged.single, merged.nodes, merged.left
        inner, leaf = nodes[~single[nodes]], nodes[single[nodes]]
        place = np.zeros(len(single), dtype=np.int64)
        place[inner] = np.arange(len(inner))
        place[leaf] = -1 - np.arange(len(leaf))
        return cls(
            LeafPart(part.target[merged.stands], part.number[merged.stands]),
            np.arange(len(forest)),
            place[forest.offset[:-1]],
            inner,
            place[left[inner]],
            place[left[inner] + 1],
            leaf,
        )

    def without_zeros(self) -> _Piece:
        """The same without trees that add nothing."""
        leaf = self.leaf[np.where(self.root < 0, -1 - self.root, 0)]
        adds = (self.root >= 0) | (self.part.number[leaf] != 0.0)
        return _Piece(self.part, self.tree[adds], self.root[adds], self.inner, self.left, self.right, self.leaf)
