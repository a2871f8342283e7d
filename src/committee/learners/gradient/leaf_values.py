"""Values and lines of leaves: penalised weights, refits on other rows, and lines along the numbers of a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee import _core
from committee.data.number_types import F64
from committee.voters.linear_leaves import LeafLines

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class LeafPenalty:
    r"""L0, L1 and L2 penalties of leaf weights, as equations.

    With G and H the sums of gradients and hessians of a leaf's rows, its weight w minimises the quadratic model of the
    loss with the penalties,

        J(w) = G w + H w^2 / 2 + l0 [w != 0] + l1 |w| + l2 w^2 / 2.

    The minimiser of the part without l0 is a soft threshold, and it lowers J by s:

        w = -sign(G) max(|G| - l1, 0) / (H + l2),    s = max(|G| - l1, 0)^2 / (2 (H + l2)).

    If s <= l0 the leaf abstains with w = 0; its value is V = max(0, s - l0). A split gains V_left + V_right - V_parent.
    With `per_leaf` every leaf costs l0, zero or not, as XGBoost's gamma [1]_: V = s - l0, and no leaf abstains because
    of l0. Several outputs are penalised one by one, and their V added up.

    References
    ----------
    .. [1] T. Chen, C. Guestrin (2016). XGBoost: a scalable tree boosting system. KDD.

    Examples
    --------
    >>> from committee.learners.gradient.leaf_values import LeafPenalty
    >>> penalty = LeafPenalty(l0=0.5, l1=1.0, l2=1.0)
    >>> penalty.weight([-4.0, 2.0, 0.5], [2.0, 2.0, 2.0]).tolist()
    [1.0, 0.0, 0.0]
    """

    l0: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    per_leaf: bool = False

    def weight(self, G: ArrayLike, H: ArrayLike, lower: float | F64 = -np.inf, upper: float | F64 = np.inf) -> F64:
        """Return the best weight of each leaf within bounds; where H + l2 = 0, the number within them nearest to 0.

        Equation: leaf-weight (docs/theory.md).
        """
        G, H = np.asarray(G, dtype=np.float64), np.asarray(H, dtype=np.float64)
        curvature = H + self.l2
        shrunk = -np.sign(G) * np.maximum(np.abs(G) - self.l1, 0.0)
        w = np.divide(shrunk, curvature, out=np.zeros_like(curvature), where=curvature > 0)
        w = np.asarray(np.clip(w, lower, upper))
        if self.per_leaf:
            return w
        may_abstain = (np.asarray(lower) <= 0.0) & (np.asarray(upper) >= 0.0)
        return np.where(~may_abstain | (-self._smooth(G, H, w) > self.l0), w, 0.0)

    def worth(self, G: ArrayLike, H: ArrayLike, lower: float = -np.inf, upper: float = np.inf) -> F64:
        """Return V = -min J of each leaf, summed over the D outputs of `G` and `H` ``(..., D)``."""
        G, H = np.asarray(G, dtype=np.float64), np.asarray(H, dtype=np.float64)
        w = self.weight(G, H, lower, upper)
        price = self.l0 * (w.shape[-1] if self.per_leaf else np.count_nonzero(w, axis=-1))
        return np.asarray(0.0 - (self._smooth(G, H, w).sum(axis=-1) + price))

    def gain(self, left: tuple[F64, F64], right: tuple[F64, F64]) -> F64:
        """Return V_left + V_right - V_parent of splits into (G, H) and (G, H), each ``(..., D)``.

        Equation: split-gain (docs/theory.md).
        """
        parent = left[0] + right[0], left[1] + right[1]
        return self.worth(*left) + self.worth(*right) - self.worth(*parent)

    def cost(self, weights: F64) -> float:
        w = np.abs(weights)
        counted = w.size if self.per_leaf else np.count_nonzero(w)
        return float(self.l0 * counted + self.l1 * w.sum() + 0.5 * self.l2 * (w**2).sum())

    def _smooth(self, G: F64, H: F64, w: F64) -> F64:
        return np.asarray(G * w + 0.5 * (H + self.l2) * w**2 + self.l1 * np.abs(w))


# --- leaf values refitted on other rows -------------------------------------------------------------------------------


def leaf_terms(gradient: F64, hessian: F64, w: F64 | None) -> F64:
    terms = [*np.atleast_2d(gradient), *np.atleast_2d(hessian)]
    return np.stack(terms if w is None else [*terms, w])


def node_sums(terms: F64, leaf: I32, n_nodes: int) -> F64:
    """Sum terms ``(k, n)`` over the rows of each node, ``(n_nodes, k)``; the order of the rows has no effect."""
    largest = np.abs(terms).max(axis=1)
    return _core.sums_of_limbs(_core.node_sums(terms, leaf, n_nodes, largest), largest)


def refitted_tree(
    tree: _core.GradientTree, sums: F64, count: NDArray[np.integer], penalty: LeafPenalty, *, weighted: bool
) -> _core.GradientTree:
    """Return the tree with the best leaf values for `leaf_terms` summed by node, ``(N, 2 D)`` or ``(N, 2 D + 1)``."""
    D, left = tree.value.shape[1], tree.left
    best = penalty.weight(sums[:, :D], sums[:, D : 2 * D], tree.bounds[:, :1], tree.bounds[:, 1:])
    value = np.where(tree.feature[:, None] < 0, best, tree.value)
    count, weight = count.copy(), sums[:, 2 * D].copy() if weighted else None
    for i in np.flatnonzero(left >= 0)[::-1].tolist():  # children come after their parent
        children = slice(left[i], left[i] + 2)
        count[i] = count[children].sum()
        if weight is not None:
            weight[i] = weight[children].sum()
    *structure, _, of_growth = tree.nodes()
    nodes = (*structure, count.astype(np.int64), of_growth)
    return _core.GradientTree(nodes, value, tree.bounds, weight)  # type: ignore[arg-type]


# --- lines in leaves --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LineFit:
    r"""Least squares lines in the leaves of a boosting round's trees [1]_.

    A leaf has a weight and a slope for every number that the path to it splits on. In the columns u of the leaf's rows,
    centred and scaled by their hessians, the slopes b minimise the quadratic model of the loss with `l2`,

        sum_i [g_i b.u_i + h_i (b.u_i)^2 / 2] + l2 |b|^2 / 2.

    Missing values add nothing, and no line goes on beyond the least and largest value of the leaf's rows. `numeric`
    ``(p,)`` is 1 for columns that lines may use.

    References
    ----------
    .. [1] Y. Shi, J. Li, Z. Li (2019). Gradient boosting with piece-wise linear regression trees. IJCAI.
    """

    numeric: NDArray[np.uint8]
    l2: float

    def _paths(self, tree: _core.GradientTree) -> tuple[I32, I32, NDArray[np.uint8], NDArray[np.uint8]]:
        # leaves that weigh exactly 0 abstain, and have no lines
        return tree.feature, tree.left, np.asarray(tree.value.any(axis=1), dtype=np.uint8), self.numeric

    def sums(
        self, X: F64, tree: _core.GradientTree, leaf: I32, rows: I32 | None, gradient: F64, hessian: F64, n_threads: int
    ) -> _core.LineSums:
        g, h, n = np.atleast_2d(gradient), np.atleast_2d(hessian), int(tree.count[0])
        return _core.LineSums(X, leaf, rows, g, h, *self._paths(tree), n, n_threads)

    def lines(self, tree: _core.GradientTree, largest: F64, weights: I64, products: I64) -> LeafLines:
        """Return the lines of a tree's leaves, given sums over all rows. Equation: leaf-line (docs/theory.md)."""
        n_outputs, n = tree.value.shape[1], int(tree.count[0])
        found = _core.lines_of_sums(*self._paths(tree), n_outputs, n, self.l2, largest, weights, products)
        return LeafLines(*found)


def add_lines(F: F64, lines: LeafLines, X: F64, leaf: I32, step: float, first: int, n_threads: int) -> None:
    outputs = F[None] if F.ndim == 1 else F[first : first + lines.slope.shape[1]]
    for k, scores in enumerate(outputs):
        _core.add_leaf_lines(scores, leaf, X, *lines.arrays, k, step, n_threads)
