"""The arrays of flat trees, and what makes them safe to walk: no walk leaves the arrays, and every walk ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import MAX_CLASSES, MAX_FEATURES

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
"""Arrays with an entry for each node."""
DTYPES: dict[str, type[np.generic]] = {
    "offset": np.int64,
    "category_offset": np.int64,
    "category_bits": np.uint32,
    **NODE_DTYPES,
}


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """T trees over the same p features, their N nodes laid end to end.

    Node numbers inside a tree start at 0 (the root); a child's number is larger than its parent's and the two
    children of a node are neighbours. At an inner node i a row goes left when

    - its value is NaN and ``missing_left[i]``, or
    - the split is numeric (an empty range of category bits) and ``x <= threshold[i]``, or
    - the split is categorical and bit x of its category bits is set. A value that is no whole number within
      the range of those bits is an unseen category and follows ``missing_left[i]``.

    The arrays are kept as read-only views. Sizes and types are checked on construction; `check` looks at
    every value and is what a file's contents must pass.

    Parameters
    ----------
    n_features : int
        Width p of the encoded matrix.
    n_classes : int
        Number of classes K that the voters choose from.
    offset : int64 array (T + 1,)
        Tree t owns nodes ``offset[t]:offset[t + 1]``.
    feature : int32 array (N,)
        Column split on, -1 for a leaf.
    threshold : float64 array (N,)
        ``x <= threshold`` goes left; +inf sends all but missing values left; 0.0 where unused.
    left : int32 array (N,)
        Left child, counted within the tree; the right one is ``left + 1``. -1 for a leaf.
    missing_left : uint8 array (N,)
        1 where missing values go left.
    category_offset : int64 array (N + 1,)
        Node i's category bits are ``category_bits[category_offset[i]:category_offset[i + 1]]``.
    category_bits : uint32 array (C,)
        Bit c of a node's words is set when category c goes left, 32 categories to the word.
    label : int32 array (N,) or None
        Hard votes: the class index a leaf votes for, -1 where it abstains and on inner nodes.
    value : float64 array (N, D) or None
        Score votes: D = 1 for two classes (positive: the second class), or D = K. Exactly one of `label` and
        `value` is given.
    gain, weight : float64 arrays (N,)
        Training record: what the split gained, and the weight of the rows that reached the node.
    count : int64 array (N,)
        Training record: the number of rows that reached the node.

    Raises
    ------
    ValueError
        If an array has the wrong type or size, or if not exactly one of `label` and `value` is given.
    """

    n_features: int
    n_classes: int
    offset: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    category_offset: NDArray[np.int64]
    category_bits: NDArray[np.uint32]
    label: NDArray[np.int32] | None
    value: NDArray[np.float64] | None
    gain: NDArray[np.float64]
    weight: NDArray[np.float64]
    count: NDArray[np.int64]

    def __post_init__(self) -> None:
        if (self.label is None) == (self.value is None):
            raise ValueError("A forest needs exactly one of label (hard votes) and value (scores).")
        for name, dtype in DTYPES.items():
            array = getattr(self, name)
            if array is not None:
                # the kernels keep no copy to compare with, so nobody may change an array after its check
                object.__setattr__(self, name, _frozen(name, array, dtype))
        if self.offset.size < 1:
            raise ValueError("offset must have one more element than there are trees; it is empty.")
        n = self.feature.shape[0]
        for name in (*NODE_DTYPES, "category_offset"):
            array = getattr(self, name)
            size = n if array is None else len(array) - (name == "category_offset")
            if size != n:
                raise ValueError(f"{name} is for {size} nodes; feature is for {n}.")

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Number of nodes of each tree, ``(T,)``."""
        return np.diff(self.offset)

    @property
    def walk_arrays(self) -> WalkArrays:
        """Arguments of the kernels that walk the trees, in their order."""
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

    # -- checking -----------------------------------------------------------------------------------------

    def check(self) -> None:
        """Look at every value, trusting none; after this, no walk can leave the arrays or fail to end.

        Raises
        ------
        ValueError
            Naming the array, the tree and the node at fault: extents that do not rise, a column or a child
            out of range, nodes that do not form a tree, category bits out of order, a class out of range, a
            number that is not finite or a negative count.

        Examples
        --------
        ``forest.check()`` returns nothing for a forest that training made.
        """
        if not 1 <= self.n_features <= MAX_FEATURES:
            raise ValueError(f"n_features is {self.n_features}; it must be within 1 and {MAX_FEATURES}.")
        if not 1 <= self.n_classes <= MAX_CLASSES:
            raise ValueError(f"n_classes is {self.n_classes}; it must be within 1 and {MAX_CLASSES}.")
        check_extents("offset", self.offset, len(self.feature), least=1)
        check_extents("category_offset", self.category_offset, len(self.category_bits), least=0)
        self._check_structure()
        self._check_votes()
        self._check_record()

    def _check_structure(self) -> None:
        """Each node but the root has exactly one parent, and that one comes before it."""
        feature, left, leaf = self.feature, self.left, self.feature < 0
        size = np.repeat(self.n_nodes, self.n_nodes)
        first = np.repeat(self.offset[:-1], self.n_nodes)
        number = np.arange(len(feature)) - first
        outside = (feature < -1) | (feature >= self.n_features)
        self._refuse("feature", outside, f"not within -1 and {self.n_features - 1}")
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
        """Leaves vote for classes that exist, or with numbers that are some."""
        if self.label is not None:
            outside = (self.label < -1) | (self.label >= self.n_classes)
            self._refuse("label", outside, f"not within -1 and {self.n_classes - 1}")
            self._refuse("label", (self.feature >= 0) & (self.label != -1), "not -1 at an inner node")
        if self.value is not None:
            D = self.value.shape[1]
            if self.n_classes != D and not (self.n_classes == 2 and D == 1):
                raise ValueError(f"value has {D} columns for {self.n_classes} classes.")
            self._refuse("value", ~np.isfinite(self.value).all(axis=1), "not finite")

    def _check_record(self) -> None:
        """The training record holds numbers that a training could have left."""
        self._refuse("gain", ~np.isfinite(self.gain), "not finite")
        self._refuse("weight", ~np.isfinite(self.weight) | (self.weight < 0), "not a finite number >= 0")
        self._refuse("count", self.count < 0, "negative")

    def _refuse(
        self, name: str, bad: NDArray[np.bool_] | np.bool_, fault: str, shown: NDArray[Any] | None = None
    ) -> None:
        """Raise for the first bad node, showing its value in array `name` or in `shown`."""
        if bad.any():
            node = int(np.argmax(bad))
            tree = int(np.searchsorted(self.offset, node, side="right")) - 1
            found = (getattr(self, name) if shown is None else shown)[node]
            raise ValueError(f"{name} is {fault} (found {found}) at node {node - self.offset[tree]} of tree {tree}.")


def _frozen(name: str, array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """A read-only view of an array of the right type; anything else is refused, not converted."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{name} is {found}; it must be an array of {np.dtype(dtype)}.")
    if array.ndim != (2 if name == "value" else 1) or not array.flags.c_contiguous or not array.flags.aligned:
        wanted = "matrix" if name == "value" else "vector"
        raise ValueError(f"{name} must be a C-contiguous {wanted}; its shape is {array.shape}.")
    view = array.view()
    view.flags.writeable = False
    return view


def check_extents(name: str, extents: NDArray[np.int64], end: int, least: int) -> None:
    """Refuse extents that do not start at 0, rise (strictly if `least`) and stop at `end`; differences could wrap."""
    if extents[0] != 0:
        raise ValueError(f"{name} starts at {extents[0]}; it must start at 0.")
    wrong = extents[1:] < extents[:-1] if least == 0 else extents[1:] <= extents[:-1]
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{name} goes from {extents[at]} to {extents[at + 1]} at {at}; it must rise.")
    if extents[-1] != end:
        raise ValueError(f"{name} ends at {extents[-1]}; it must end at {end}.")


def extents(sizes: ArrayLike) -> NDArray[np.int64]:
    """Extents of ranges laid end to end: range i is ``extents[i]:extents[i + 1]``.

    Examples
    --------
    >>> from committee.voters.flat_trees import extents
    >>> extents([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))], dtype=np.int64)


def positions(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions in several ranges, one range after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.voters.flat_trees import positions
    >>> positions(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    return np.arange(sizes.sum()) + np.repeat(starts - extents(sizes)[:-1], sizes)
