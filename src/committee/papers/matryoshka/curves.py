"""The document's Figures 2 and 3: bounds of trees and of trees nested in trees, by their sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log2, sqrt
from pathlib import Path

import numpy as np

from committee.bounds.nested_trees import tree_factor, two_matryoshka
from committee.data.number_types import F64
from committee.papers.shared.pages import grid_of, write_csv
from committee.report.grid import Grid

RHOS = {"31/32": 31 / 32, "7/8": 7 / 8, "3/4": 3 / 4, "1/2": 1 / 2, "1/4": 1 / 4}
"""Of Figure 2, from top to bottom."""
MOST_LEVELS = 16
"""T up to 2 to this power."""
SPLIT_SIZES = (64, 1024, 65_536)
"""T on the right of Figure 2; the document does not say its own."""
SPLIT_RHOS = ("31/32", "7/8")
NESTED_SIZES = (1024, 65_536)
"""T of Figure 3."""
NESTED_RHO = "31/32"
LEVELS_BEYOND = 4
"""Levels drawn past log2 T, where trees are smaller than two nodes."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A line of a figure."""

    name: str
    """Algorithm, or kind of sizes."""
    rho: str
    """A key of `RHOS`."""
    T: int | None
    """Voters, where they are not what is on the horizontal axis."""
    x: F64
    y: F64


def by_voters() -> list[Curve]:
    """Figure 2, left: F(T, rho), M_2(T, rho) and rho^T at T = 1, 2, 4, ..., the last also in between."""
    T = np.exp2(np.arange(MOST_LEVELS + 1.0))
    between = np.exp2(np.linspace(0.0, MOST_LEVELS, 8 * MOST_LEVELS + 1))
    curves = []
    for name, rho in RHOS.items():
        nested = np.array([two_matryoshka(int(size), rho) for size in T])
        curves += [
            Curve("tree", name, None, T, tree_factor(T, rho)),
            Curve("2-matryoshka", name, None, T, nested),
            Curve("AdaBoost", name, None, between, rho**between),
        ]
    return curves


def by_inner_size() -> list[Curve]:
    """Figure 2, right: F(T / T_1, F(T_1, rho)) at real T_1 from 1 to T."""
    curves = []
    for name in SPLIT_RHOS:
        for T in SPLIT_SIZES:
            T1 = np.exp2(np.linspace(0.0, log2(T), 16 * round(log2(T)) + 1))
            curves.append(Curve("tree of trees", name, T, T1, tree_factor(T / T1, tree_factor(T1, RHOS[name]))))
    return curves


def by_level() -> list[Curve]:
    """Figure 3: trees of T^(1/L) nodes; of whole sizes next to it, two ways round; and one tree that is not nested."""
    rho, curves = RHOS[NESTED_RHO], []
    for T in NESTED_SIZES:
        every = range(1, round(log2(T)) + LEVELS_BEYOND + 1)
        whole = range(1, round(log2(T)) + 1)
        lines: dict[str, list[float]] = {
            "real sizes": [nested_bound([T ** (1.0 / L)] * L, rho) for L in every],
            "whole sizes, larger inside": [nested_bound(whole_sizes(T, L), rho) for L in whole],
            "whole sizes, larger outside": [nested_bound(whole_sizes(T, L)[::-1], rho) for L in whole],
            "not nested": [float(tree_factor(T, rho)) for _ in every],
        }
        for name, y in lines.items():
            curves.append(Curve(name, NESTED_RHO, T, np.arange(1.0, len(y) + 1.0), np.array(y)))
    return curves


def whole_sizes(T: int, levels: int) -> list[int]:
    """Sizes of nested trees, the larger ones inside: whole numbers next to T^(1/L), as many voters as T allows.

    Examples
    --------
    >>> from committee.papers.matryoshka.curves import whole_sizes
    >>> whole_sizes(1024, 4)  # 1080 voters would be too many
    [6, 6, 5, 5]
    """
    # T^(1/L) may be a whole number but for its rounding
    small = floor(round(T ** (1.0 / levels), 9))
    larger = max(m for m in range(levels + 1) if (small + 1) ** m * small ** (levels - m) <= T)
    return [small + 1] * larger + [small] * (levels - larger)


def nested_bound(sizes: Sequence[float], rho: float) -> float:
    """F(T_L, ... F(T_2, F(T_1, rho))): trees nested in trees, the innermost first (eq. 11).

    Sizes are the nodes of the trees at each level, any numbers of at least 1; rho is the normaliser of every voter.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 5.2.

    Examples
    --------
    >>> from committee.papers.matryoshka.curves import nested_bound
    >>> round(nested_bound([2] * 10, 31 / 32), 7)
    0.2471858
    """
    bound = rho
    for size in sizes:
        bound = float(tree_factor(size, bound))
    return bound


def grid() -> Grid:
    """The bounds of the figures at some T, for the page."""
    body = []
    for curve in by_inner_size():
        assert curve.T is not None
        T, rho, best = curve.T, RHOS[curve.rho], int(np.argmin(curve.y))
        tree, nested, binary = (f"{b:.4f}" for b in (float(tree_factor(T, rho)), curve.y[best], two_matryoshka(T, rho)))
        adaboost = f"{rho**T:.2g}" if rho**T > 0.0 else "< 1e-300"
        body.append((curve.rho, f"{T:,}", tree, nested, f"{curve.x[best]:.1f}", f"{sqrt(T):.0f}", binary, adaboost))
    columns = ("rho", "T", "tree", "tree of trees", "at T_1", "sqrt T", "2-matryoshka", "AdaBoost")
    title = (
        "Bounds on the expected training error: F(T, rho); the least F(T / T_1, F(T_1, rho)) and its T_1; M_2(T, rho);"
        " rho^T"
    )
    return grid_of(title, columns, body)


def write(out: Path) -> None:
    """Write the figures' points as CSV."""
    for name, curves in (("figure2-left", by_voters()), ("figure2-right", by_inner_size()), ("figure3", by_level())):
        write_csv(_lines(curves), out / f"{name}.csv")


def _lines(curves: Sequence[Curve]) -> Iterator[dict[str, object]]:
    for curve in curves:
        first = {"curve": curve.name, "rho": curve.rho, "T": "" if curve.T is None else curve.T}
        for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True):
            yield {**first, "x": f"{x:.8g}", "bound": f"{y:.8g}"}
