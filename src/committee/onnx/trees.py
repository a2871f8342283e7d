"""Trees as ONNX operators: `TreeEnsemble` of version 5, in double, and `TreeEnsembleRegressor` of version 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.onnx.graph import MACHINE_LEARNING, Rows, Value
from committee.voters.forest import Forest
from committee.voters.redundant_splits import MergedLeaves, categories_opposite_missing

LEQ, LT, MEMBER = 0, 1, 6
"""Node modes of version 5."""

MOST_LEAVES = 2**24
"""Integers below it are exact in float32."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees as flat arrays; a child is an inner node, or -1 - the index of a leaf."""

    root: NDArray[np.int64]  # (T,), in the order of summation
    # inner nodes: values up to the threshold go to `true`, missing ones if `missing_true` is 1
    feature: NDArray[np.int64]
    threshold: F64
    missing_true: NDArray[np.int64]
    true: NDArray[np.int64]
    false: NDArray[np.int64]
    members: dict[int, NDArray[np.int64]]  # category codes that go to `true`, by inner node
    # leaves: score index and value
    target: NDArray[np.int64]
    number: F64


def double_ensemble(X: Value, trees: Ensemble, n_outputs: int) -> Value:
    trees = _with_sets_apart(_without_bare_leaves(trees))
    mode = np.full(len(trees.feature), LEQ, dtype=np.uint8)
    split = trees.threshold.copy()
    sets: list[F64] = []
    for at, codes in sorted(trees.members.items()):
        if not len(codes):  # no value is below -inf
            mode[at], split[at] = LT, -np.inf
            continue
        mode[at] = MEMBER
        sets += [codes.astype(np.float64), np.array([np.nan])]
    membership: dict[str, Any] = {"membership_values": np.concatenate(sets)} if sets else {}
    return X.graph.add(
        "TreeEnsemble",
        X,
        domain=MACHINE_LEARNING,
        aggregate_function=1,
        post_transform=0,
        n_targets=n_outputs,
        tree_roots=trees.root.tolist(),
        nodes_featureids=trees.feature.tolist(),
        nodes_modes=mode,
        nodes_splits=split,
        nodes_missing_value_tracks_true=trees.missing_true.tolist(),
        nodes_truenodeids=_place(trees.true),
        nodes_trueleafs=(trees.true < 0).astype(int).tolist(),
        nodes_falsenodeids=_place(trees.false),
        nodes_falseleafs=(trees.false < 0).astype(int).tolist(),
        leaf_targetids=trees.target.tolist(),
        leaf_weights=trees.number,
        **membership,
    )


def leaf_ensemble(X: Value, trees: Ensemble) -> Value:
    """Add trees of version 3 that return the index of the leaf of each tree, int64 ``(n, T)``."""
    if len(trees.number) and trees.number.max() >= MOST_LEAVES:
        raise TypeError(
            f"the trees have over {MOST_LEAVES:,} leaves in all, too many for float32; call committee.to_onnx with "
            "dtype='float64', or export fewer trees."
        )
    nodes = _nodes_of_single_questions(trees)
    tree = _tree_of(trees, nodes)
    # nodes tree by tree, numbered anew
    order = np.argsort(tree, kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    leaf = nodes.leaf[order]
    is_leaf = leaf >= 0
    true, false = (np.where(is_leaf, 0, number[child[order]]).tolist() for child in (nodes.true, nodes.false))
    threshold = nodes.threshold[order]
    single = X.graph.width == "float32"
    values = (
        {"nodes_values": round_down_float32(threshold).tolist()} if single else {"nodes_values_as_tensor": threshold}
    )
    weight = trees.number[leaf[is_leaf]]
    weights = {"target_weights": weight.tolist()} if single else {"target_weights_as_tensor": weight}
    attributes: dict[str, Any] = {**values, **weights}
    found = X.graph.add(
        "TreeEnsembleRegressor",
        X,
        domain=MACHINE_LEARNING,
        aggregate_function="SUM",
        post_transform="NONE",
        n_targets=len(trees.root),
        nodes_treeids=tree[order].tolist(),
        nodes_nodeids=np.arange(len(order)).tolist(),
        nodes_featureids=nodes.feature[order].tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", np.where(nodes.is_set[order], "BRANCH_EQ", "BRANCH_LEQ")).tolist(),
        nodes_missing_value_tracks_true=nodes.missing_true[order].tolist(),
        nodes_truenodeids=true,
        nodes_falsenodeids=false,
        target_treeids=tree[order][is_leaf].tolist(),
        target_nodeids=np.flatnonzero(is_leaf).tolist(),
        target_ids=trees.target[leaf[is_leaf]].tolist(),
        **attributes,
    )
    return found.cast(np.int64)


def round_down_float32(numbers: F64) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        near = numbers.astype(np.float32)
    return np.where(near.astype(np.float64) > numbers, np.nextafter(near, np.float32(-np.inf)), near)


@dataclass(frozen=True, eq=False)
class _Nodes:
    feature: NDArray[np.int64]
    threshold: F64
    missing_true: NDArray[np.int64]
    is_set: NDArray[np.bool_]
    true: NDArray[np.int64]
    false: NDArray[np.int64]
    leaf: NDArray[np.int64]
    root: NDArray[np.int64]


def _nodes_of_single_questions(trees: Ensemble) -> _Nodes:
    n_inner, n_leaves = len(trees.feature), len(trees.number)
    extra: list[tuple[int, int, float]] = []  # node whose set it belongs to, node to go on to, category
    threshold, is_set, false = trees.threshold.copy(), np.zeros(n_inner, dtype=bool), trees.false.copy()
    for at, codes in sorted(trees.members.items()):
        if not len(codes):
            threshold[at] = -np.inf
            continue
        is_set[at], threshold[at] = True, float(codes[0])
        for code in codes[:0:-1].tolist():
            extra.append((at, int(false[at]), float(code)))
            false[at] = n_inner + len(extra) - 1
    more, onward = (np.array([each[k] for each in extra], dtype=np.int64) for k in (0, 1))
    n_asked = n_inner + len(extra)

    def placed(child: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(child >= 0, child, n_asked - 1 - child)

    nothing = np.zeros(n_leaves, dtype=np.int64)
    return _Nodes(
        np.concatenate([trees.feature, trees.feature[more], nothing]),
        np.concatenate([threshold, [each[2] for each in extra], nothing]),
        np.concatenate([trees.missing_true, np.zeros(len(extra), dtype=np.int64), nothing]),
        np.concatenate([is_set, np.ones(len(extra), dtype=bool), nothing.astype(bool)]),
        np.concatenate([placed(trees.true), placed(trees.true[more]), nothing]),
        np.concatenate([placed(false), placed(onward), nothing]),
        np.concatenate([np.full(n_asked, -1), np.arange(n_leaves)]),
        placed(trees.root),
    )


def _tree_of(trees: Ensemble, nodes: _Nodes) -> NDArray[np.int64]:
    tree = np.full(len(nodes.leaf), len(trees.root))
    level, number = nodes.root, np.arange(len(nodes.root))
    while len(level):
        tree[level] = number
        inner = nodes.leaf[level] < 0
        number = np.concatenate([number[inner], number[inner]])
        level = np.concatenate([nodes.true[level[inner]], nodes.false[level[inner]]])
    return tree


def _without_bare_leaves(trees: Ensemble) -> Ensemble:
    bare = np.flatnonzero(trees.root < 0)
    if not len(bare):
        return trees
    root = trees.root.copy()
    root[bare] = len(trees.feature) + np.arange(len(bare))
    zeros, copied = np.zeros(len(bare), dtype=np.int64), -1 - len(trees.number) - np.arange(len(bare))
    added = {"feature": zeros, "threshold": zeros, "true": trees.root[bare], "false": copied}
    return _extended(replace(trees, root=root), -1 - trees.root[bare], **added)


def _extended(trees: Ensemble, copied: NDArray[np.int64], **nodes: NDArray[Any]) -> Ensemble:
    nodes["missing_true"] = np.zeros(len(copied), dtype=np.int64)
    nodes |= {"target": trees.target[copied], "number": trees.number[copied]}
    extended: Any = {name: np.concatenate([getattr(trees, name), more]) for name, more in nodes.items()}
    return replace(trees, **extended)


def _with_sets_apart(trees: Ensemble) -> Ensemble:
    at = np.array(sorted(trees.members), dtype=np.int64)
    after = trees.false[at]
    at, after = at[after >= 0], after[after >= 0]
    near = np.isin(after, np.array(sorted(trees.members))) & (trees.feature[at] == trees.feature[after])
    near &= (trees.true[at] < 0) & (trees.true[after] < 0)
    at, after = at[near], after[near]
    first, second = -1 - trees.true[at], -1 - trees.true[after]
    mixed = (trees.number[first] == trees.number[second]) & (trees.target[first] != trees.target[second])
    at, after = at[mixed], after[mixed]
    if not len(at):
        return trees
    false = trees.false.copy()
    false[at] = len(trees.feature) + np.arange(len(at))
    added = {"feature": trees.feature[at], "threshold": np.full(len(at), -np.inf), "false": after}
    added["true"] = -1 - len(trees.number) - np.arange(len(at))
    return _extended(replace(trees, false=false), -1 - trees.true[at], **added)


def _place(child: NDArray[np.int64]) -> list[int]:
    places: list[int] = np.where(child >= 0, child, -1 - child).tolist()
    return places


@dataclass(frozen=True, eq=False)
class LeafPart:
    """One value per leaf, added to one score, as arrays over all nodes."""

    target: NDArray[np.int64]  # score index
    number: F64


def forest_tally(rows: Rows, forest: Forest, weights: F64) -> Value:
    weight = np.repeat(weights, forest.n_nodes)
    return _summed(rows, forest, list(_parts_of_votes(forest, weight)), forest.n_outputs)


def rounds_tally(rows: Rows, forest: Forest, weights: F64, n_outputs: int) -> Value:
    """Weighted sum of trees that add to the scores in turn, ``(n, n_outputs)``; one weight per round."""
    assert forest.value is not None
    weight = np.repeat(np.repeat(weights, n_outputs), forest.n_nodes)
    target = np.repeat(np.arange(len(forest)) % n_outputs, forest.n_nodes)
    return _summed(rows, forest, [LeafPart(target, weight * forest.value[:, 0])], n_outputs)


def leaf_numbers(rows: Rows, forest: Forest, number: NDArray[np.integer]) -> Value:
    target = np.repeat(np.arange(len(forest)), forest.n_nodes)
    part = LeafPart(target, number.astype(np.float64))
    if rows.X.graph.trees == 3:
        return leaf_ensemble(*_trees_for(rows, forest, [part]))
    return double_ensemble(*_trees_for(rows, forest, [part]), len(forest)).cast(np.int64)


def _parts_of_votes(forest: Forest, weight: F64) -> Iterator[LeafPart]:
    if forest.label is not None:
        names = forest.label >= 0
        yield LeafPart(np.where(names, forest.label, 0).astype(np.int64), np.where(names, weight, 0.0))
        return
    value = forest.node_votes * weight[:, None]
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
    # value of each leaf for each score
    leaf = np.flatnonzero(forest.feature < 0)
    number = np.zeros(len(forest.feature), dtype=np.int64)
    number[leaf] = np.arange(len(leaf))
    added = np.zeros((len(leaf), n_outputs))
    for part in parts:
        added[np.arange(len(leaf)), part.target[leaf]] += part.number[leaf]
    reached = leaf_numbers(rows, forest, number)
    return rows.X.graph.constant(added).take(reached, axis=0).sum(axis=1).reshape(-1, n_outputs)


def _trees_for(rows: Rows, forest: Forest, parts: Sequence[LeafPart]) -> tuple[Value, Ensemble]:
    sets = np.diff(forest.category_offset) > 0
    coded = rows.coded(np.unique(forest.feature[sets]).astype(np.intp), forest.n_features)
    return coded.X, _ensemble(forest, parts, rows.n_categories)


def _ensemble(forest: Forest, parts: Sequence[LeafPart], known: NDArray[np.int32] | None) -> Ensemble:
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
        members[at] = categories_opposite_missing(
            forest, node, 0 if known is None else int(known[forest.feature[node]])
        )
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
        single, nodes, left = merged.is_leaf, merged.nodes, merged.left
        inner, leaf = nodes[~single[nodes]], nodes[single[nodes]]
        place = np.zeros(len(single), dtype=np.int64)
        place[inner] = np.arange(len(inner))
        place[leaf] = -1 - np.arange(len(leaf))
        return cls(
            LeafPart(part.target[merged.representative], part.number[merged.representative]),
            np.arange(len(forest)),
            place[forest.offset[:-1]],
            inner,
            place[left[inner]],
            place[left[inner] + 1],
            leaf,
        )

    def without_zeros(self) -> _Piece:
        leaf = self.leaf[np.where(self.root < 0, -1 - self.root, 0)]
        adds = (self.root >= 0) | (self.part.number[leaf] != 0.0)
        return _Piece(self.part, self.tree[adds], self.root[adds], self.inner, self.left, self.right, self.leaf)
