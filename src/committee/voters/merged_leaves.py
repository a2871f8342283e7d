"""Trees as other formats store them: equal leaves side by side are one, and what is not reached is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import unpack_category_bits
from committee.voters.forest import Forest


@dataclass(frozen=True, eq=False)
class MergedLeaves:
    """What is left of the N nodes of a forest when splits between equal leaves are leaves themselves.

    Parameters
    ----------
    single : bool array (N,)
        Nodes that are leaves now, or lie below one.
    stands : int64 array (N,)
        A leaf of the forest that says what each of these says.
    nodes : int64 array (M,)
        The nodes that are left, ascending: inner ones and leaves, tree by tree.
    left : int64 array (N,)
        Left child of each inner node among all N nodes; the right one is its neighbour.
    """

    single: NDArray[np.bool_]
    stands: NDArray[np.int64]
    nodes: NDArray[np.int64]
    left: NDArray[np.int64]

    @classmethod
    def of(cls, forest: Forest, says: Sequence[NDArray[Any]]) -> MergedLeaves:
        """Return the nodes that are left where leaves with the same in all arrays ``(N,)`` or ``(N, D)`` are equal.

        Examples
        --------
        >>> import numpy as np
        >>> from committee import TreeRegressor
        >>> from committee.voters.merged_leaves import MergedLeaves
        >>> X = np.arange(4.0)[:, None]
        >>> forest = TreeRegressor(max_depth=2, min_samples_leaf=1).fit(X, X[:, 0]).committee_.voters
        >>> len(MergedLeaves.of(forest, [forest.value]).nodes), len(MergedLeaves.of(forest, [forest.value < 9.0]).nodes)
        (7, 1)
        """
        roots = forest.offset[:-1]
        left = np.repeat(roots, forest.n_nodes) + forest.left
        split = forest.feature >= 0
        levels, level = [], roots
        while len(level):
            inner = level[split[level]]
            levels.append(inner)
            level = np.concatenate([left[inner], left[inner] + 1])
        single, stands = ~split, np.arange(len(split))
        for inner in reversed(levels):
            a, b = left[inner], left[inner] + 1
            equal = single[a] & single[b]
            for each in says:
                same = each[stands[a]] == each[stands[b]]
                equal &= same if same.ndim == 1 else same.all(axis=1)
            single[inner], stands[inner] = equal, stands[a]
        kept = [roots]
        while len(kept[-1]):
            inner = kept[-1][~single[kept[-1]]]
            kept.append(np.concatenate([left[inner], left[inner] + 1]))
        return cls(single, stands, np.sort(np.concatenate(kept)), left)


def known_apart(forest: Forest, node: int, n_categories: int) -> NDArray[np.int64]:
    """Codes of the categories on the side of a split that missing and unseen ones do not go to.

    Parameters
    ----------
    forest : Forest
        The trees.
    node : int
        A split of categories, among all nodes.
    n_categories : int
        Categories of its column; 0 if that is not known.
    """
    words = forest.category_bits[forest.category_offset[node] : forest.category_offset[node + 1]]
    left: NDArray[np.int64] = unpack_category_bits(words).astype(np.int64)
    if not forest.missing_left[node]:
        return left
    most = min(32 * len(words), n_categories or 32 * len(words))
    return np.asarray(np.setdiff1d(np.arange(most), left), dtype=np.int64)
