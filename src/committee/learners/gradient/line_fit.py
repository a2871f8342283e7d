r"""Lines in the leaves of a boosting round's trees.

Beside its weight a leaf has a slope for every number that the path to it splits on. In units u of the leaf's rows,
centred and scaled by their hessians, the slopes b minimise the quadratic model of the loss with `leaf_l2`,

    sum_i [g_i b.u_i + h_i (b.u_i)^2 / 2] + leaf_l2 |b|^2 / 2.

Columns that are not on the path, categories and missing values add nothing, and no line goes on beyond the least and
largest value of the leaf's rows. The weight of the leaf is the one that it has without lines.

References
----------
.. [1] Y. Shi, J. Li, Z. Li (2019). Gradient boosting with piece-wise linear regression trees. IJCAI.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.voters.leaf_lines import LeafLines

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LineFit:
    """How leaves get lines.

    Parameters
    ----------
    numeric : uint8 array (p,)
        1 for columns that lines may be along.
    l2 : float
        Penalty of the slopes, for columns of deviation 1.
    """

    numeric: NDArray[np.uint8]
    l2: float

    def paths(
        self, tree: _core.GradientTree
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8], NDArray[np.uint8]]:
        """Where lines of a tree can be; leaves that weigh exactly 0 abstain, and have none."""
        return tree.feature, tree.left, np.asarray(tree.value.any(axis=1), dtype=np.uint8), self.numeric

    def sums(
        self,
        X: F64,
        tree: _core.GradientTree,
        leaf: NDArray[np.int32],
        rows: NDArray[np.int32] | None,
        gradient: F64,
        hessian: F64,
        n_threads: int,
    ) -> _core.LineSums:
        """Sums for a tree's lines over rows ``(n, p)``, which may be some of those that it was grown on.

        Of each row are given its leaf, its gradients and its hessians ``(n,)`` or ``(D, n)``; `rows` are those that
        the tree was grown on.
        """
        g, h, n = np.atleast_2d(gradient), np.atleast_2d(hessian), int(tree.count[0])
        return _core.LineSums(X, leaf, rows, g, h, *self.paths(tree), n, n_threads)

    def lines(self, tree: _core.GradientTree, largest: F64, weights: I64, products: I64) -> LeafLines:
        """Lines of a tree's leaves, of the largest numbers of all rows and of their sums.

        Equation: leaf-line (docs/theory.md).
        """
        n_outputs, n = tree.value.shape[1], int(tree.count[0])
        found = _core.lines_of_sums(*self.paths(tree), n_outputs, n, self.l2, largest, weights, products)
        return LeafLines(*found)


def add_lines(
    F: F64, lines: LeafLines, X: F64, leaf: NDArray[np.int32], step: float, first: int, n_threads: int
) -> None:
    """F <- F + step times what the lines of each row's leaf add, in place; scores as for `add_tree`."""
    outputs = F[None] if F.ndim == 1 else F[first : first + lines.slope.shape[1]]
    for k, scores in enumerate(outputs):
        _core.add_leaf_lines(scores, leaf, X, *lines.arrays, k, step, n_threads)
