"""Training error of boosting trees, and of trees nested in trees, by the number of voters and the edge of each."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, digamma, gammaln

from committee.bounds.result import Bound, check_count, check_number
from committee.data.number_types import F64

_ADVICE = "Voters of a larger edge; more of them."


def normaliser_of_edge(edge: float) -> float:
    """Return rho = sqrt(1 - 4 edge^2): a voter of weighted error 1/2 - edge multiplies the exponential loss by it."""
    eps = check_number("edge", edge, 0.0, 0.5)
    return float(np.sqrt((1.0 - 2.0 * eps) * (1.0 + 2.0 * eps)))


def tree_factor(n_nodes: ArrayLike, rho: ArrayLike) -> F64:
    """F(T, rho), the bound on the expected loss C(T) of a boosting tree of T >= 0 voters, with rho in (0, 1].

    C(T) <= F(T, rho) = prod_{t=0}^{T-1} (t + rho) / (t + 1) = 1 / (T B(T, rho)) ~ T^(rho - 1) / Gamma(rho).

    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, eq. 9, prints the product to T.

    Equation: boosting-tree-bound (docs/theory.md).
    """
    T, r = _checked(n_nodes, rho)
    # the beta function keeps the digits that the difference of two large logarithms of gamma functions loses
    return np.asarray(np.where(T > 0.0, np.exp(-betaln(np.maximum(T, 1e-300), r)) / np.maximum(T, 1e-300), 1.0))


def slope_in_nodes(n_nodes: ArrayLike, rho: ArrayLike) -> F64:
    """dF/dT = -F (1/T + psi(T) - psi(T + rho)), the change of the bound of a tree per voter.

    Equation: slope-in-nodes (docs/theory.md).
    """
    T, r = _checked(n_nodes, rho)
    return np.asarray(-tree_factor(T, r) * (digamma(T + 1.0) - digamma(T + r)))


def nesting_rate(n_nodes: ArrayLike, bound: ArrayLike) -> F64:
    """d/dt F(t / T, C) at t = T, the change of the bound per voter if every node were a tree of bound C (eq. 14).

    Equation: nesting-rate (docs/theory.md).
    """
    T, C = _checked(n_nodes, bound, "bound", least=1)
    return slope_in_nodes(np.ones_like(T), C) / T


def boosting_tree(n_voters: int, edge: float) -> Bound:
    """Expected training error of a boosting tree.

    Parameters
    ----------
    n_voters : int
        Nodes T, at least 1.
    edge : float
        In [0, 1/2); each voter's weighted error is at most 1/2 - edge.

    Returns
    -------
    Bound
        Terms: ``rho``, ``asymptotic`` (T^(rho - 1) / Gamma(rho)) and ``adaboost`` (rho^T, the bound of a weighted sum).

    Examples
    --------
    >>> from committee.bounds import boosting_tree
    >>> print(boosting_tree(256, 0.2))
    boosting tree: 0.5962
    """
    T, rho = check_count("n_voters", n_voters, 1), _rho(edge)
    asymptotic = float(np.exp((rho - 1.0) * np.log(T) - gammaln(rho)))
    return Bound(
        name="boosting tree",
        statement=f"expected share of training rows that the tree gets wrong, if every voter has an edge of {edge:g}",
        value=float(tree_factor(T, rho)),
        terms={"rho": rho, "asymptotic": asymptotic, "adaboost": rho**T},
        advice=_ADVICE,
        inputs={"n_voters": T, "edge": edge},
    )


def matryoshka(sizes: Sequence[int], edge: float) -> Bound:
    """Expected training error of trees nested in trees: F(T_L, ... F(T_2, F(T_1, rho))).

    It holds where collected leaves keep their own votes. With their signs alone a collected tree of bound C is a voter
    of rho <= sqrt(C (2 - C)).

    Source: E. Grossmann, eqs. 10 and 11 and section 5.3.

    Parameters
    ----------
    sizes : sequence of int
        Nodes of the trees at each level, the innermost first; ``[2] * L`` is the 2-matryoshka of 2^L voters.
    edge : float
        In [0, 1/2); each voter's weighted error is at most 1/2 - edge.

    Returns
    -------
    Bound
        Terms: ``rho``, ``n_voters`` (the product of the sizes), ``plain_tree`` (F of as many voters in one tree),
        ``adaboost``, and ``level 1``, ``level 2``, ...: the bounds from the inside outwards.

    Examples
    --------
    >>> from committee.bounds import matryoshka
    >>> bound = matryoshka([2] * 8, 0.2)
    >>> round(bound.value, 4), round(bound.terms["plain_tree"], 4)
    (0.196, 0.5962)
    """
    levels = [check_count(f"sizes[{k}]", size, 1) for k, size in enumerate(sizes)]
    if not levels:
        raise ValueError("sizes is empty; give the number of nodes at each level, the innermost first.")
    rho = _rho(edge)
    reached = [rho]
    for size in levels:
        reached.append(float(tree_factor(size, max(reached[-1], np.finfo(float).tiny))))
    T = int(np.prod([float(size) for size in levels]))
    plain = {"rho": rho, "n_voters": float(T), "plain_tree": float(tree_factor(T, rho)), "adaboost": rho**T}
    return Bound(
        name="matryoshka",
        statement=f"expected share of training rows that the trees get wrong, if every voter has an edge of {edge:g}",
        value=reached[-1],
        terms=plain | {f"level {k}": C for k, C in enumerate(reached[1:], start=1)},
        advice=_ADVICE + " Smaller trees, and more levels of them.",
        inputs={"sizes": tuple(levels), "edge": edge},
    )


def two_matryoshka(n_voters: int, rho: float) -> float:
    """M_2(T, rho) = F(2, F(2, ... rho)) of T = 2^L voters, with F(2, rho) = rho (1 + rho) / 2 and rho in (0, 1].

    Equation: two-matryoshka (docs/theory.md).
    """
    T, value = check_count("n_voters", n_voters, 1), check_number("rho", rho, 0.0, 1.0)
    if T & (T - 1):
        raise ValueError(f"n_voters is {T}; a 2-matryoshka has a power of two of them: 1, 2, 4, 8, ...")
    for _ in range(round(log2(T))):
        value = 0.5 * value * (1.0 + value)
    return value


def _rho(edge: float) -> float:
    if check_number("edge", edge, 0.0, 0.5) == 0.5:
        raise ValueError("edge is 0.5; it must be below 0.5, as a voter with this edge is never wrong.")
    return normaliser_of_edge(edge)


def _checked(n_nodes: ArrayLike, rho: ArrayLike, name: str = "rho", least: int = 0) -> tuple[F64, F64]:
    T, r = np.broadcast_arrays(np.asarray(n_nodes, dtype=np.float64), np.asarray(rho, dtype=np.float64))
    if not (least <= T).all():
        raise ValueError(f"n_nodes is {n_nodes!r}; it must be at least {least}.")
    if not ((r > 0.0) & (r <= 1.0)).all():
        raise ValueError(f"{name} is {rho!r}; it must be above 0 and at most 1.")
    return T, r
