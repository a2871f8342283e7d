"""Arrays of flat trees, their checks and their node order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.categories import unpack_category_bits
from committee.data.number_types import F64, MAX_CLASSES, MAX_FEATURES, Index, Mask

WalkArrays: TypeAlias = tuple[
    int,
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.int32],
    NDArray[np.uint8],
    NDArray[np.int64],
    NDArray[np.uint32],
]

NODE_DTYPES: dict[str, type[np.generic]] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "missing_left": np.uint8,
    "label": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "weight": np.float64,
    "count": np.int64,
}
DTYPES: dict[str, type[np.generic]] = {
    "offset": np.int64,
    "category_offset": np.int64,
    "category_bits": np.uint32,
    **NODE_DTYPES,
}
FEW_CLASSES = 8
"""Most classes whose shares are stored as a dense matrix."""
SHARE_DTYPES: dict[str, type[np.generic]] = {"share_offset": np.int64, "share_label": np.uint16, "share": np.float64}


@dataclass(frozen=True, eq=False)
class ClassShares:
    """Shares of K classes at N nodes; unlisted classes have share 0."""

    n_classes: int
    share_offset: NDArray[np.int64]  # (N + 1,): extents of the nodes' shares
    share_label: NDArray[np.uint16]  # (M,): classes of each node, ascending
    share: F64  # (M,)

    def __post_init__(self) -> None:
        for name, dtype in SHARE_DTYPES.items():
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                is_array = isinstance(array, np.ndarray)
                found = f"{array.dtype} of shape {array.shape}" if is_array else type(array).__name__
                raise ValueError(f"{name} is {found}; it must be a vector of {np.dtype(dtype)}.")
            view = np.ascontiguousarray(array).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)
        if not len(self.share_offset) or len(self.share_label) != len(self.share):
            raise ValueError("share_offset must have an element more than there are nodes, share_label one per share.")

    @classmethod
    def of_dense(cls, shares: F64, leaf: Mask) -> Self:
        present = (shares != 0.0) & leaf[:, None]
        _, label = np.nonzero(present)
        offset = extents(np.count_nonzero(present, axis=1))
        return cls(shares.shape[1], offset, label.astype(np.uint16), shares[present])

    @classmethod
    def joined(cls, parts: Sequence[ClassShares]) -> Self:
        return cls(
            parts[0].n_classes,
            extents(np.concatenate([part.sizes for part in parts])),
            np.concatenate([part.share_label for part in parts]),
            np.concatenate([part.share for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.share_offset) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.share_offset)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in SHARE_DTYPES)

    def take(self, nodes: slice | NDArray[np.integer]) -> ClassShares:
        sizes = self.sizes[nodes]
        some: slice | NDArray[np.int64]
        if isinstance(nodes, slice):
            first = int(self.share_offset[nodes][0]) if len(sizes) else 0
            some = slice(first, first + int(sizes.sum()))
        else:
            some = positions(self.share_offset[nodes], sizes)
        return ClassShares(self.n_classes, extents(sizes), self.share_label[some], self.share[some])

    def spread_over(self, nodes: Index, n_nodes: int) -> ClassShares:
        """Move the shares of node i to node ``nodes[i]`` (ascending) of `n_nodes`."""
        sizes = np.zeros(n_nodes, dtype=np.int64)
        sizes[nodes] = self.sizes
        return ClassShares(self.n_classes, extents(sizes), self.share_label, self.share)

    def dense(self) -> F64:
        shares = np.zeros((len(self), self.n_classes))
        self.add_to(shares, np.arange(len(self)))
        return shares

    def add_to(self, tally: F64, rows: NDArray[np.integer]) -> None:
        """Add the shares of node i to row ``rows[i]`` of a tally ``(n, K)``; `rows` are distinct."""
        tally[np.repeat(rows, self.sizes), self.share_label] += self.share

    def totals(self) -> F64:
        node = np.repeat(np.arange(len(self)), self.sizes)
        return np.asarray(np.bincount(node, self.share, len(self)), dtype=np.float64)

    def largest(self) -> F64:
        return self._reduced(np.maximum)

    def widths(self) -> F64:
        least = self._reduced(np.minimum)
        return np.where(self.sizes == self.n_classes, self.largest() - least, np.maximum(self.largest(), -least))

    def majority(self) -> Index:
        """Class of the largest share of each node, the first of those equal up to rounding."""
        near = self.share >= np.repeat(self.largest(), self.sizes) * (1.0 - 1e-10)
        node = np.repeat(np.arange(len(self)), self.sizes)[near]
        label = np.zeros(len(self), dtype=np.intp)
        label[node[::-1]] = self.share_label[near][::-1]
        return label

    def _reduced(self, by: np.ufunc) -> F64:
        held = self.sizes > 0
        reduced = np.zeros(len(self))
        if held.any():
            reduced[held] = by.reduceat(self.share, self.share_offset[:-1][held])
        return reduced

    def faults(self, leaf: Mask) -> list[tuple[str, Mask, str]]:
        check_extents("share_offset", self.share_offset, len(self.share), least=0)
        node = np.repeat(np.arange(len(self)), self.sizes)

        def at(wrong: NDArray[Any]) -> Mask:
            return np.bincount(node[wrong], minlength=len(self)) > 0

        falls = np.zeros(len(self.share), dtype=bool)
        falls[1:] = (node[1:] == node[:-1]) & (self.share_label[1:] <= self.share_label[:-1])
        return [
            ("share_offset", ~leaf & (self.sizes > 0), "such that an inner node has class shares"),
            ("share_label", at(self.share_label >= self.n_classes), f"not between 0 and {self.n_classes - 1}"),
            ("share_label", at(falls), "not ascending"),
            ("share", at(~np.isfinite(self.share)), "not finite"),
        ]


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """T trees over p features, whose N nodes are stored end to end: parents before children, siblings as neighbours.

    Numeric splits send ``x <= threshold`` left, categorical ones the x of set bits; NaN and unseen categories follow
    ``missing_left``.
    """

    n_features: int
    n_classes: int
    offset: NDArray[np.int64]  # (T + 1,): tree t has the nodes offset[t]:offset[t + 1]
    feature: NDArray[np.int32]  # (N,): split column, -1 at leaves
    threshold: NDArray[np.float64]  # (N,): +inf sends all present values left
    left: NDArray[np.int32]  # (N,): left child within the tree (right = left + 1), -1 at leaves
    missing_left: NDArray[np.uint8]  # (N,): 1 if missing values go left
    category_offset: NDArray[np.int64]  # (N + 1,): extents of the nodes' category bits
    category_bits: NDArray[np.uint32]  # bit c is set if category c goes left; 32 categories per word
    label: NDArray[np.int32] | None  # (N,): class of each leaf; -1 if it abstains, and at inner nodes
    value: NDArray[np.float64] | None  # (N, D): scores of leaves; D = 1 (positive: second class) or K
    gain: NDArray[np.float64]  # (N,): split gain
    weight: NDArray[np.float64]  # (N,): weight of the training rows that reached the node
    count: NDArray[np.int64]  # (N,): number of these rows
    shares: ClassShares | None = None  # of N nodes, in place of `value`: class shares of leaves, for many classes

    def __post_init__(self) -> None:
        if sum(votes is not None for votes in (self.label, self.value, self.shares)) != 1:
            raise ValueError(
                "A forest needs exactly one of label (hard votes), value (scores) and shares (class shares)."
            )
        for name, dtype in DTYPES.items():
            array = getattr(self, name)
            if array is None:
                continue
            if not isinstance(array, np.ndarray) or array.dtype != dtype:
                found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
                raise ValueError(f"{name} is {found}; it must be an array of {np.dtype(dtype)}.")
            if array.ndim != (2 if name == "value" else 1) or not array.flags.c_contiguous or not array.flags.aligned:
                wanted = "matrix" if name == "value" else "vector"
                raise ValueError(f"{name} must be an aligned, C-contiguous {wanted}; its shape is {array.shape}.")
            # the kernels keep no copy to compare with, so an array must not change after its check
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)
        if self.offset.size < 1:
            raise ValueError("offset must have one more element than there are trees; it is empty.")
        n = self.feature.shape[0]
        for name in (*NODE_DTYPES, "category_offset"):
            array = getattr(self, name)
            size = n if array is None else len(array) - (name == "category_offset")
            if size != n:
                raise ValueError(f"{name} is for {size} nodes; feature is for {n}.")
        if self.shares is not None and len(self.shares) != n:
            raise ValueError(f"shares are for {len(self.shares)} nodes; feature is for {n}.")

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.diff(self.offset)

    @property
    def walk_arrays(self) -> WalkArrays:
        return (
            self.n_features,
            self.offset,
            self.feature,
            self.threshold,
            self.left,
            self.missing_left,
            self.category_offset,
            self.category_bits,
        )

    def category_words(self, node: int) -> NDArray[np.uint32]:
        return self.category_bits[self.category_offset[node] : self.category_offset[node + 1]]

    def categories_left(self, node: int, n_codes: int) -> NDArray[np.bool_]:
        words = self.category_words(node)
        left = np.full(max(n_codes, 32 * len(words)), self.missing_left[node] == 1)
        left[: 32 * len(words)] = False
        left[unpack_category_bits(words)] = True
        return left[:n_codes]

    def check(self) -> None:
        """Check all values, so that walks stay inside the arrays and end."""
        if not 1 <= self.n_features <= MAX_FEATURES:
            raise ValueError(f"n_features is {self.n_features}; it must be between 1 and {MAX_FEATURES}.")
        if not 1 <= self.n_classes <= MAX_CLASSES:
            raise ValueError(f"n_classes is {self.n_classes}; it must be between 1 and {MAX_CLASSES}.")
        check_extents("offset", self.offset, len(self.feature), least=1)
        check_extents("category_offset", self.category_offset, len(self.category_bits), least=0)
        self._check_structure()
        self._check_votes()
        self._refuse("gain", ~np.isfinite(self.gain), "not finite")
        self._refuse("weight", ~np.isfinite(self.weight) | (self.weight < 0), "not a finite number >= 0")
        self._refuse("count", self.count < 0, "negative")

    def _check_structure(self) -> None:
        feature, left, leaf = self.feature, self.left, self.feature < 0
        size = np.repeat(self.n_nodes, self.n_nodes)
        first = np.repeat(self.offset[:-1], self.n_nodes)
        number = np.arange(len(feature)) - first
        outside = (feature < -1) | (feature >= self.n_features)
        self._refuse("feature", outside, f"not between -1 and {self.n_features - 1}")
        self._refuse("left", leaf & (left != -1), "not -1 at a leaf")
        self._refuse("left", ~leaf & (left <= number), "not after its parent")
        # the right child is left + 1; in 64 bits, as a crafted file can hold the largest number of 32
        self._refuse("left", ~leaf & (left.astype(np.int64) + 1 >= size), "beyond the end of its tree")
        child = (first + left)[~leaf]
        parents = np.bincount(np.concatenate([child, child + 1]), minlength=len(feature))
        self._refuse("left", parents != (number > 0), "such that a node has not exactly one parent", parents)
        self._refuse("missing_left", self.missing_left > 1, "neither 0 nor 1")
        # +inf parts every value from the missing ones
        self._refuse("threshold", ~(self.threshold > -np.inf), "neither finite nor +inf")
        words = np.diff(self.category_offset)
        self._refuse("category_offset", leaf & (words > 0), "such that a leaf has category bits", words)

    def _check_votes(self) -> None:
        if self.label is not None:
            outside = (self.label < -1) | (self.label >= self.n_classes)
            self._refuse("label", outside, f"not between -1 and {self.n_classes - 1}")
            self._refuse("label", (self.feature >= 0) & (self.label != -1), "not -1 at an inner node")
        if self.value is not None:
            D = self.value.shape[1]
            if self.n_classes != D and not (self.n_classes == 2 and D == 1):
                raise ValueError(f"value has {D} columns for {self.n_classes} classes.")
            self._refuse("value", ~np.isfinite(self.value).all(axis=1), "not finite")
        if self.shares is not None:
            if self.shares.n_classes != self.n_classes:
                raise ValueError(f"shares are of {self.shares.n_classes} classes; the forest has {self.n_classes}.")
            for name, bad, fault in self.shares.faults(self.feature < 0):
                self._refuse(name, bad, fault, self.shares.sizes)

    def _refuse(
        self, name: str, bad: NDArray[np.bool_] | np.bool_, fault: str, shown: NDArray[Any] | None = None
    ) -> None:
        if bad.any():
            node = int(np.argmax(bad))
            tree = int(np.searchsorted(self.offset, node, side="right")) - 1
            found = (getattr(self, name) if shown is None else shown)[node]
            raise ValueError(f"{name} is {fault} (found {found}) at node {node - self.offset[tree]} of tree {tree}.")


def check_extents(name: str, extents: NDArray[np.int64], end: int, least: int) -> None:
    if extents[0] != 0:
        raise ValueError(f"{name} starts at {extents[0]}; it must start at 0.")
    wrong = extents[1:] < extents[:-1] if least == 0 else extents[1:] <= extents[:-1]
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"{name} goes from {extents[at]} to {extents[at + 1]} at {at}; it must {'rise' if least else 'not fall'}."
        )
    if extents[-1] != end:
        raise ValueError(f"{name} ends at {extents[-1]}; it must end at {end}.")


def extents(sizes: ArrayLike) -> NDArray[np.int64]:
    """Extents of consecutive ranges: range i is ``extents[i]:extents[i + 1]``."""
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))], dtype=np.int64)


def join_words(words: Mapping[int, NDArray[np.uint32]], n_nodes: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    sizes = np.zeros(n_nodes, dtype=np.int64)
    for node, own in words.items():
        sizes[node] = len(own)
    return extents(sizes), np.concatenate([np.zeros(0, dtype=np.uint32), *(words[node] for node in sorted(words))])


def positions(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions in several ranges, one after the other."""
    return np.arange(sizes.sum()) + np.repeat(starts - extents(sizes)[:-1], sizes)


def breadth_first(left: Index, right: Index, split: NDArray[np.bool_], root: Index) -> tuple[Index, Index, Index]:
    """Number the nodes of linked trees breadth-first, siblings as neighbours.

    Return old numbers ``(M,)``, new numbers ``(N,)`` (-1 if unreached) and sizes of trees ``(T,)``.
    """
    led_to = np.concatenate([root, left[split], right[split]])
    inside = ((led_to >= 0) & (led_to < len(left))).all()
    if not inside or np.bincount(led_to, minlength=1).max() > 1:
        raise ValueError("the nodes do not form trees: a child is not among them, or has two parents")
    level, tree = np.asarray(root, dtype=np.intp), np.arange(len(root))
    levels, trees = [], []
    while len(level):
        levels.append(level)
        trees.append(tree)
        inner = split[level]
        parents = level[inner]
        level = np.column_stack([left[parents], right[parents]]).ravel()
        tree = np.repeat(tree[inner], 2)
    found, owner = np.concatenate(levels), np.concatenate(trees)
    order = found[np.argsort(owner, kind="stable")]
    position = np.full(len(left), -1, dtype=np.intp)
    position[order] = np.arange(len(order))
    return order, position, np.bincount(owner, minlength=len(root))


def inner_levels(left: NDArray[np.int32], offset: NDArray[np.int64]) -> list[tuple[Index, Index]]:
    """Inner nodes at each depth, roots first, and their left children, as positions among all nodes."""
    start = np.repeat(offset[:-1], np.diff(offset))
    level, levels = offset[:-1].astype(np.intp), []
    while len(level := level[left[level] >= 0]):
        child = (left[level] + start[level]).astype(np.intp)
        levels.append((level, child))
        level = np.column_stack([child, child + 1]).ravel()
    return levels


def breadth_first_order(left: NDArray[np.int32], offset: NDArray[np.int64]) -> Index | None:
    """Order ``(N,)`` in which the nodes of flat trees are breadth-first, or None if they already are."""
    start = np.repeat(offset[:-1], np.diff(offset))
    split = left >= 0
    child = np.where(split, left + start, 0).astype(np.intp)
    order, _, _ = breadth_first(child, child + 1, split, offset[:-1].astype(np.intp))
    return None if (order == np.arange(len(order))).all() else order
