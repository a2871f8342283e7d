"""Penalties of leaves: the penalised weight of a leaf and the gain of a split, as equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64


@dataclass(frozen=True)
class LeafPenalty:
    r"""L0, L1 and L2 penalties of leaf weights.

    Where G and H are the sums of gradients and hessians of a leaf's rows, its weight w minimises the quadratic
    model of the loss with the penalties,

        J(w) = G w + H w^2 / 2 + l0 [w != 0] + l1 |w| + l2 w^2 / 2.

    The minimiser of the part without l0 is a soft threshold, and it lowers J by s:

        w = -sign(G) max(|G| - l1, 0) / (H + l2),    s = max(|G| - l1, 0)^2 / (2 (H + l2)).

    The leaf takes it if s > l0, and else abstains with w = 0; either way it is worth V = max(0, s - l0). A split
    gains V_left + V_right - V_parent. With `per_leaf` every leaf costs l0, zero or not, as XGBoost's gamma has it:
    V = s - l0, and no leaf abstains because of l0. Several outputs are penalised one by one, and their V added up.

    Parameters
    ----------
    l0, l1, l2 : float, default=0.0
        The penalties, in units of the (weighted, summed) loss.
    per_leaf : bool, default=False
        Whether l0 is the price of a leaf, not of a weight that is not 0.

    References
    ----------
    .. [1] T. Chen, C. Guestrin (2016). XGBoost: a scalable tree boosting system. KDD. (l2 and gamma)

    Examples
    --------
    >>> from committee.learners.gradient.leaf import LeafPenalty
    >>> penalty = LeafPenalty(l0=0.5, l1=1.0, l2=1.0)
    >>> penalty.weight([-4.0, 2.0, 0.5], [2.0, 2.0, 2.0]).tolist()
    [1.0, 0.0, 0.0]
    >>> penalty.worth([[-4.0], [2.0], [0.5]], [[2.0], [2.0], [2.0]]).tolist()
    [1.0, 0.0, 0.0]
    """

    l0: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    per_leaf: bool = False

    def weight(self, G: ArrayLike, H: ArrayLike, lower: float | F64 = -np.inf, upper: float | F64 = np.inf) -> F64:
        """The best weight of each leaf, within bounds.

        Equation: leaf-weight (docs/theory.md).

        Parameters
        ----------
        G, H : array-like
            Sums of gradients and hessians, of one shape; H + l2 = 0 gives the weight 0.
        lower, upper : float, or float64 array of a shape that fits
            Where the weight must lie, as monotone constraints ask; 0 need not lie between them.
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
        """V = -min J of each leaf; `G` and `H` are ``(..., D)``, and a leaf's D outputs are added up."""
        G, H = np.asarray(G, dtype=np.float64), np.asarray(H, dtype=np.float64)
        w = self.weight(G, H, lower, upper)
        price = self.l0 * (w.shape[-1] if self.per_leaf else np.count_nonzero(w, axis=-1))
        return np.asarray(0.0 - (self._smooth(G, H, w).sum(axis=-1) + price))

    def gain(self, left: tuple[F64, F64], right: tuple[F64, F64]) -> F64:
        """V_left + V_right - V_parent of splits into (G, H) and (G, H), each ``(..., D)``.

        Equation: split-gain (docs/theory.md).
        """
        parent = left[0] + right[0], left[1] + right[1]
        return self.worth(*left) + self.worth(*right) - self.worth(*parent)

    def cost(self, weights: F64) -> float:
        """Cost of the weights of a tree's leaves ``(L, D)`` together."""
        w = np.abs(weights)
        counted = w.size if self.per_leaf else np.count_nonzero(w)
        return float(self.l0 * counted + self.l1 * w.sum() + 0.5 * self.l2 * (w**2).sum())

    def _smooth(self, G: F64, H: F64, w: F64) -> F64:
        """J without the part of l0."""
        return np.asarray(G * w + 0.5 * (H + self.l2) * w**2 + self.l1 * np.abs(w))
