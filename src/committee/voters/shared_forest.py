"""Forests whose equal subtrees, splits and leaves are stored once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, MAX_CLASSES, Index, Mask, check_range
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors, read_count, to_single
from committee.voters.flat_trees import (
    DTYPES,
    NODE_DTYPES,
    ClassShares,
    breadth_first_order,
    check_extents,
    extents,
    inner_levels,
    positions,
)
from committee.voters.forest import (
    GAINS,
    REAL,
    UNSIGNED,
    VOTE_ARRAYS,
    Forest,
    has_record,
    read_record,
    read_vote,
    record_arrays,
    record_names,
    to_smallest_unsigned,
)
from committee.voters.protocol import VoterIndex
from committee.voters.redundant_splits import LEFT, RIGHT, UNDECIDED, decided_splits

MIN_NODE_LIMIT, NODES_PER_ENTRY = 2**19, 32
"""Limit of the nodes of trees in a file: a constant, or a multiple of the file's entries if larger."""

_FILE_TYPES: dict[str, tuple[tuple[Any, ...], str]] = {
    "threshold": (REAL, "float32 or float64, a vector"),
    "value": (REAL, "float32 or float64, a matrix"),
    "missing_left": ((np.uint8,), "uint8, a vector"),
    "category_bits": ((np.uint32,), "uint32, a vector"),
    "label": ((np.int32,), "int32, a vector"),
    "share": (REAL, "float32 or float64, a vector"),
}
_PLACES = ("root", "split", "left", "right")
_COUNTED = ("feature", "category_offset")
MAX_LEVELS = 2**15
"""Largest depth of a tree of shared parts."""


@dataclass(frozen=True, eq=False)
class SharedTrees:
    """T trees as a graph of M distinct inner nodes, S splits and L leaves; place M + l is leaf l."""

    n_features: int
    n_classes: int
    root: NDArray[np.int64]  # (T,): place of each root
    split: NDArray[np.int64]  # (M,): split of each inner node
    left: NDArray[np.int64]  # (M,): place of the left child
    right: NDArray[np.int64]
    feature: NDArray[np.int32]  # (S,): as in Forest, one entry per split
    threshold: F64
    missing_left: NDArray[np.uint8]
    category_offset: NDArray[np.int64]  # (S + 1,)
    category_bits: NDArray[np.uint32]
    label: NDArray[np.int32] | None  # (L,)
    value: F64 | None  # (L, D)
    shares: ClassShares | None = None  # of L leaves

    @classmethod
    def of(cls, forest: Forest, *, every_node: bool = False) -> SharedTrees:
        """Graph of a forest, without redundant splits unless `every_node`."""
        inner = forest.feature >= 0
        first_leaf, leaf = _distinct_leaves(forest, ~inner)
        first_split, split = _distinct(_split_keys(forest, inner))
        split_of, place = np.zeros((2, len(inner)), dtype=np.int64)
        split_of[inner] = split
        place[~inner] = ~leaf  # negative until the number of inner nodes is known
        nodes = _number_nodes(forest, split_of, place, every_node)
        M, root = len(nodes), place[forest.offset[:-1]]
        # splits and leaves that are still in use, counted anew
        splits, split = np.unique(nodes[:, 0], return_inverse=True)
        places = np.concatenate([root, nodes[:, 1], nodes[:, 2]])
        leaves, leaf = np.unique(~places[places < 0], return_inverse=True)
        places[places < 0] = M + leaf.reshape(-1)
        root, left, right = np.split(places, [len(root), len(root) + M])
        at_split, at_leaf = np.flatnonzero(inner)[first_split[splits]], np.flatnonzero(~inner)[first_leaf[leaves]]
        words = np.diff(forest.category_offset)[at_split]
        return cls(
            n_features=forest.n_features,
            n_classes=forest.n_classes,
            root=root,
            split=split.reshape(-1).astype(np.int64),
            left=left,
            right=right,
            feature=forest.feature[at_split],
            threshold=forest.threshold[at_split],
            missing_left=forest.missing_left[at_split],
            category_offset=extents(words),
            category_bits=forest.category_bits[positions(forest.category_offset[at_split], words)],
            label=None if forest.label is None else forest.label[at_leaf],
            value=None if forest.value is None else np.ascontiguousarray(forest.value[at_leaf]),
            shares=None if forest.shares is None else forest.shares.take(at_leaf),
        )

    @property
    def n_leaves(self) -> int:
        votes = self.label if self.label is not None else self.value if self.value is not None else self.shares
        assert votes is not None
        return len(votes)

    def sizes(self, max_nodes: int) -> tuple[NDArray[np.int64], int]:
        """Number of nodes of the subtree at each place, ``(M + L,)``, and the largest depth."""
        M, L = len(self.split), self.n_leaves
        size, level = [0] * M + [1] * L, [0] * (M + L)
        # children come before their parents
        for node, (left, right) in enumerate(zip(self.left.tolist(), self.right.tolist(), strict=True)):
            size[node] = min(1 + size[left] + size[right], max_nodes + 1)
            level[node] = 1 + max(level[left], level[right])
        total, highest = sum(size[root] for root in self.root.tolist()), max(level, default=0)
        if total > max_nodes:
            raise ValueError(f"the trees that share parts have more than {max_nodes} nodes in all")
        if highest > MAX_LEVELS:
            raise ValueError(f"a tree has {highest} levels; at most {MAX_LEVELS} are stored with shared parts")
        return np.array(size, dtype=np.int64), highest

    def node_arrays(self, max_nodes: int) -> dict[str, Any]:
        """Arrays of a breadth-first `Forest` with an empty training record."""
        size, _ = self.sizes(max_nodes)
        M = len(self.split)
        offset = extents(size[self.root])
        place = np.zeros(offset[-1], dtype=np.int64)
        left = np.full(offset[-1], -1, dtype=np.int32)
        tree, at, free = np.arange(len(self.root)), offset[:-1], np.ones(len(self.root), dtype=np.int64)
        here = self.root
        while len(here):
            place[at] = here
            inner = here < M
            here, tree, at = here[inner], tree[inner], at[inner]
            rank = np.arange(len(tree)) - np.searchsorted(tree, tree)  # trees stay in order
            child = free[tree] + 2 * rank
            left[at] = child
            free += 2 * np.bincount(tree, minlength=len(free))
            here = np.column_stack([self.left[here], self.right[here]]).ravel()
            at = (np.column_stack([child, child + 1]) + offset[tree][:, None]).ravel()
            tree = np.repeat(tree, 2)
        zero, none = np.zeros(len(place)), np.zeros(len(place), dtype=np.int64)
        return {"offset": offset, "left": left, **self._node_values(place), "gain": zero, "weight": zero, "count": none}

    def _node_values(self, place: NDArray[np.int64]) -> dict[str, Any]:
        M, inner = len(self.split), place < len(self.split)
        split = self.split[place[inner]]
        words = np.zeros(len(place), dtype=np.int64)
        words[inner] = np.diff(self.category_offset)[split]

        def spread(numbers: NDArray[Any], otherwise: Any, who: Mask, which: Index) -> NDArray[Any]:
            out = np.full((len(place), *numbers.shape[1:]), otherwise, dtype=numbers.dtype)
            out[who] = numbers[which]
            return out

        leaf = place[~inner] - M
        return {
            "feature": spread(self.feature, -1, inner, split),
            "threshold": spread(self.threshold, 0.0, inner, split),
            "missing_left": spread(self.missing_left, 0, inner, split),
            "category_offset": extents(words),
            "category_bits": self.category_bits[positions(self.category_offset[split], words[inner])],
            "label": None if self.label is None else spread(self.label, -1, ~inner, leaf),
            "value": None if self.value is None else spread(self.value, 0.0, ~inner, leaf),
            "shares": None
            if self.shares is None
            else self.shares.take(leaf).spread_over(np.flatnonzero(~inner), len(place)),
        }


def _bits(numbers: Any) -> NDArray[np.int64]:
    whole = numbers.view(np.int64) if numbers.dtype == np.float64 else numbers.astype(np.int64)
    return np.asarray(whole if whole.ndim == 2 else whole[:, None])


def _distinct(keys: NDArray[np.int64]) -> tuple[Index, NDArray[np.int64]]:
    # first of the rows of each kind, and kind of each row; kinds in lexicographic order
    first, kind = np.zeros(min(len(keys), 1), dtype=np.intp), np.zeros(len(keys), dtype=np.int64)
    for column in keys.T:
        values, place = np.unique(column, return_inverse=True)
        _, first, kind = np.unique(kind * len(values) + place, return_index=True, return_inverse=True)
    return first, kind.astype(np.int64, copy=False)


def _distinct_leaves(forest: Forest, leaf: Mask) -> tuple[Index, NDArray[np.int64]]:
    # as `_distinct` of the votes of the leaves
    if forest.shares is None:
        return _distinct(_bits(forest.value if forest.label is None else forest.label)[leaf])
    shares = forest.shares.take(np.flatnonzero(leaf))
    known: dict[bytes, int] = {}
    first: list[int] = []
    kind = np.zeros(len(shares), dtype=np.int64)
    start, label, share = shares.share_offset.tolist(), shares.share_label, shares.share
    for at, (begin, end) in enumerate(pairwise(start)):
        kind[at] = known.setdefault(label[begin:end].tobytes() + share[begin:end].tobytes(), len(known))
        if kind[at] == len(first):
            first.append(at)
    return np.array(first, dtype=np.intp), kind


def _split_keys(forest: Forest, inner: Mask) -> NDArray[np.int64]:
    nodes, size = np.flatnonzero(inner), np.diff(forest.category_offset)[inner]
    first = np.arange(len(nodes))  # first split with the same set of categories
    for width in np.unique(size[size > 0]).tolist():
        same = np.flatnonzero(size == width)
        words = forest.category_bits[positions(forest.category_offset[nodes[same]], size[same])]
        at, kind = _distinct(words.reshape(-1, width).astype(np.int64))
        first[same] = same[at[kind]]
    words = np.zeros(len(nodes), dtype=np.int64)
    words[size > 0] = 1 + np.unique(first[size > 0], return_inverse=True)[1]
    threshold = np.where(words > 0, 0.0, forest.threshold[inner])  # unused by categories
    return np.column_stack([forest.feature[inner], _bits(threshold)[:, 0], forest.missing_left[inner], words])


def _number_nodes(
    forest: Forest, split: NDArray[np.int64], place: NDArray[np.int64], every_node: bool
) -> NDArray[np.int64]:
    side = np.full(len(split), UNDECIDED) if every_node else decided_splits(forest)
    known: dict[tuple[int, int, int], int] = {}
    for level, child in reversed(inner_levels(forest.left, forest.offset)):
        left, right = place[child], place[child + 1]
        left, right = np.where(side[level] == RIGHT, right, left), np.where(side[level] == LEFT, left, right)
        place[level] = left
        parts = np.ones(len(level), dtype=bool) if every_node else left != right
        keys = np.column_stack([split[level], left, right])[parts]
        first, kind = _distinct(keys)
        numbers = [known.setdefault(tuple(row), len(known)) for row in keys[first].tolist()]
        place[level[parts]] = np.array(numbers, dtype=np.int64)[kind]
    return np.array(list(known), dtype=np.int64).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class SharedForest(Forest):
    """Forest whose equal subtrees, splits and leaves are stored once in files."""

    @classmethod
    def of(cls, forest: Forest) -> Self:
        graph = SharedTrees.of(forest)  # has no training record, which differs between equal subtrees
        return cls(graph.n_features, graph.n_classes, **graph.node_arrays(len(forest.feature)))

    @classmethod
    def with_record(cls, forest: Forest) -> Self:
        """Keep all nodes, breadth-first, with their training record."""
        if not has_record(forest):
            return cls.of(forest)
        order = breadth_first_order(forest.left, forest.offset)
        arrays = {name: getattr(forest, name) for name in (*DTYPES, "shares")}
        if order is not None:
            words = np.diff(forest.category_offset)[order]
            position = np.empty(len(order), dtype=np.int64)
            position[order] = np.arange(len(order))
            start = np.repeat(forest.offset[:-1], forest.n_nodes)
            first = np.where(forest.left >= 0, position[np.where(forest.left >= 0, forest.left + start, 0)] - start, -1)
            arrays |= {name: None if arrays[name] is None else arrays[name][order] for name in NODE_DTYPES}
            arrays["left"] = first[order].astype(np.int32)
            arrays["category_offset"] = extents(words)
            arrays["category_bits"] = forest.category_bits[positions(forest.category_offset[order], words)]
            arrays["shares"] = None if forest.shares is None else forest.shares.take(order)
        return cls(forest.n_features, forest.n_classes, **arrays)

    def __getitem__(self, index: VoterIndex) -> SharedForest:
        some = super().__getitem__(index)
        return SharedForest.with_record(some) if has_record(some) else SharedForest.of(some)

    @property
    def graph(self) -> SharedTrees:
        return SharedTrees.of(self, every_node=has_record(self))

    @property
    def stored_bytes(self) -> int:
        return sum(array.nbytes for array in self._stored_arrays().values())

    @property
    def most_stored_bytes(self) -> int:
        """Upper bound on the bytes of the arrays in a file, without a search for equal parts."""
        inner = self.feature >= 0
        n_inner, n_nodes = int(inner.sum()), len(inner)
        if n_nodes > MIN_NODE_LIMIT or self.gain[~inner].any():
            return self.nbytes  # may be stored as a plain forest
        places, number = 4 if n_nodes > np.iinfo(np.uint16).max else 2, 8
        votes = (n_nodes - n_inner) * (number * self.n_outputs if self.label is None else self.label.itemsize)
        if self.shares is not None:
            votes = self.shares.nbytes
        record = (2 * n_nodes + n_inner) * number if has_record(self) else 0
        of_split = 3 * places + number + 1 + 4 + 4
        of_nodes = n_inner * of_split + votes
        return int(len(self) * places + of_nodes + record + self.category_bits.nbytes)

    def _stored_arrays(self) -> dict[str, NDArray[Any]]:
        graph = self.graph
        return {
            **{name: to_smallest_unsigned(getattr(graph, name)) for name in (*_PLACES, *_COUNTED)},
            "threshold": to_single(graph.threshold),
            "missing_left": graph.missing_left,
            "category_bits": graph.category_bits,
            **_stored_votes(graph),
            **record_arrays(self),
        }

    def to_document(self, tensors: Tensors) -> Document:
        arrays = self._stored_arrays()
        if len(self.feature) > _node_limit(arrays) or (has_record(self) and "gain" not in arrays):
            return Forest.to_document(self, tensors)
        tensors.put(**arrays)
        described = self._described("shared_forest")
        return described | {"record": "values" if GAINS in arrays else "all"} if "gain" in arrays else described

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        vote = read_vote(document)
        names = (*_PLACES, *_COUNTED, "threshold", "missing_left", "category_bits", *VOTE_ARRAYS[vote])
        arrays = tensors.take_fields(names)
        recorded = tensors.take_fields(record_names(document))
        limit = _node_limit(arrays | recorded)
        graph = _checked_graph(read_count(document, "n_features"), read_count(document, "n_classes"), arrays)
        nodes = graph.node_arrays(limit)
        if recorded:
            nodes |= read_record(recorded, nodes["left"], nodes["offset"])
        forest = cls(graph.n_features, graph.n_classes, **nodes)
        forest.check()
        return forest


def read_forest(document: Document, tensors: Tensors, vote: str, of: str) -> Forest:
    kinds: dict[str, type[Forest]] = {"forest": Forest, "shared_forest": SharedForest}
    kind = kinds.get(field(document, "kind", str))
    if kind is None or field(document, "vote", str) != vote:
        raise ValueError(f"the trees of {of} must be a forest of {vote}s")
    return kind.from_document(document, tensors)


def _node_limit(arrays: dict[str, NDArray[Any]]) -> int:
    return max(MIN_NODE_LIMIT, NODES_PER_ENTRY * sum(map(np.size, arrays.values())))


def _checked_graph(n_features: int, n_classes: int, arrays: dict[str, Any]) -> SharedTrees:
    for name, array in arrays.items():
        allowed, wanted = _FILE_TYPES.get(name, (UNSIGNED, "unsigned, a vector"))
        if array.dtype not in allowed or array.ndim != 1 + (name == "value"):
            raise ValueError(f"{name} is {array.dtype} of {array.ndim} dimensions; it must be {wanted}")
        if allowed == UNSIGNED:
            arrays[name] = array.astype(np.int64)
        elif allowed == REAL:
            arrays[name] = array.astype(np.float64)
    arrays["feature"] = arrays["feature"].clip(max=np.iinfo(np.int32).max).astype(np.int32)
    if "share" in arrays:
        offset, label, share = (arrays.pop(name) for name in VOTE_ARRAYS["shares"])
        check_range("share_label", label, 0, min(n_classes, MAX_CLASSES) - 1)
        arrays["shares"] = ClassShares(n_classes, offset, label.astype(np.uint16), share)
        check_extents("share_offset", offset, len(share), least=0)
    graph = SharedTrees(n_features, n_classes, **({"label": None, "value": None} | arrays))
    _check_graph(graph)
    return graph


def _stored_votes(graph: SharedTrees) -> dict[str, NDArray[Any]]:
    if graph.label is not None:
        return {"label": graph.label}
    if graph.shares is None:
        assert graph.value is not None
        return {"value": to_single(graph.value)}
    return {
        "share_offset": to_smallest_unsigned(graph.shares.share_offset),
        "share_label": to_smallest_unsigned(graph.shares.share_label),
        "share": to_single(graph.shares.share),
    }


def _check_graph(graph: SharedTrees) -> None:
    M, S = len(graph.split), len(graph.feature)
    if not len(graph.root):
        raise ValueError("there are no voters")
    if not len(graph.left) == len(graph.right) == M:
        raise ValueError(f"split, left and right have {M}, {len(graph.left)} and {len(graph.right)} entries")
    if not len(graph.threshold) == len(graph.missing_left) == len(graph.category_offset) - 1 == S:
        raise ValueError("feature, threshold, missing_left and category_offset differ in their number of splits")
    check_range("split", graph.split, 0, S - 1)
    for name in ("root", "left", "right"):
        check_range(name, getattr(graph, name), 0, M + graph.n_leaves - 1)
    number = np.arange(M)
    for name in ("left", "right"):
        places = getattr(graph, name)
        late = (places < M) & (places >= number)
        if late.any():
            at = int(np.argmax(late))
            raise ValueError(f"{name} of inner node {at} is {int(places[at])}, which does not come before it")
    offset = graph.category_offset
    if offset[0] != 0 or offset[-1] != len(graph.category_bits) or (np.diff(offset) < 0).any():
        raise ValueError("category_offset does not partition category_bits")
