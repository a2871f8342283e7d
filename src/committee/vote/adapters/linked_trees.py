"""Trees whose nodes name both their children, as other libraries store them, on their way to a `Forest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import pack_category_bits
from committee.data.number_types import F64, Index
from committee.voters.flat_trees import extents
from committee.voters.forest import Forest
from committee.voters.node_order import breadth_first


@dataclass(frozen=True, eq=False)
class LinkedTrees:
    """Trees with numbers in their leaves, their nodes in any order.

    Parameters
    ----------
    root : intp array (T,)
        Node that each tree starts at.
    feature : intp array (N,)
        Column split on, -1 for a leaf.
    threshold : float64 array (N,)
        ``x <= threshold`` goes left.
    left, right : intp arrays (N,)
        Children among all N nodes; -1 for a leaf.
    missing_left : bool array (N,)
        Where missing values go left, and categories that the columns do not know.
    value : float64 array (N,) or (N, D)
        What a leaf adds to the score, or to each of D; not looked at in inner nodes.
    gain, weight : float64 arrays (N,)
        Training record: what the split gained, the weight of the rows that reached the node.
    count : int64 array (N,)
        Training record: their number; 0 where it is not known.
    codes : dict of int to intp array
        For each categorical node the category codes that go left.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.vote.adapters.linked_trees import LinkedTrees
    >>> trees = LinkedTrees(
    ...     root=np.array([1]), feature=np.array([-1, 0, -1]), threshold=np.array([0.0, 0.5, 0.0]),
    ...     left=np.array([-1, 2, -1]), right=np.array([-1, 0, -1]), missing_left=np.zeros(3, bool),
    ...     value=np.array([1.0, 0.0, -1.0]), gain=np.zeros(3), weight=np.ones(3), count=np.ones(3, np.int64), codes={})
    >>> trees.forest(n_classes=2, n_categories=np.array([0])).votes(np.array([[0.0], [1.0]])).ravel().tolist()
    [-1.0, 1.0]
    """

    root: Index
    feature: Index
    threshold: F64
    left: Index
    right: Index
    missing_left: NDArray[np.bool_]
    value: F64
    gain: F64
    weight: F64
    count: NDArray[np.int64]
    codes: Mapping[int, Index]

    def forest(self, *, n_classes: int, n_categories: NDArray[np.int32]) -> Forest:
        """The same trees, their nodes side by side.

        Parameters
        ----------
        n_classes : int
            2 for trees of one signed score, 1 for those of `Rounds`, D for those of D scores.
        n_categories : int array (p,)
            Categories of each column, 0 for a numeric one.
        """
        split = self.feature >= 0
        order, position, sizes = breadth_first(self.left, self.right, split, self.root)
        offset = extents(sizes)
        start = np.repeat(offset[:-1], sizes)
        numeric = split.copy()
        numeric[list(self.codes)] = False
        # the right child is the next node, as siblings are neighbours in this order
        left = np.where(split[order], position[self.left[order]] - start, -1)
        words = [self._words(node, n_categories) for node in order[split[order] & ~numeric[order]].tolist()]
        n_words = np.zeros(len(order), dtype=np.int64)
        n_words[split[order] & ~numeric[order]] = [len(some) for some in words]
        return Forest(
            n_features=len(n_categories),
            n_classes=n_classes,
            offset=offset,
            feature=self.feature[order].astype(np.int32),
            threshold=np.where(numeric, self.threshold, 0.0)[order],
            left=left.astype(np.int32),
            missing_left=(self.missing_left & split)[order].astype(np.uint8),
            category_offset=extents(n_words),
            category_bits=np.concatenate([np.zeros(0, dtype=np.uint32), *words]),
            label=None,
            value=np.where(split[:, None], 0.0, self.value.reshape(len(split), -1))[order],
            gain=np.where(split, self.gain, 0.0)[order],
            weight=self.weight[order],
            count=self.count[order],
        )

    def _words(self, node: int, n_categories: NDArray[np.int32]) -> NDArray[np.uint32]:
        """One bit for each category of the node's column, set where it goes left."""
        goes_left = np.zeros(int(n_categories[self.feature[node]]), dtype=bool)
        goes_left[self.codes[node]] = True
        return pack_category_bits(goes_left)
