"""Pictures of the document's Figures 2 and 3."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from committee.papers.matryoshka.curves import (
    NESTED_SIZES,
    RHOS,
    SPLIT_RHOS,
    SPLIT_SIZES,
    Curve,
    by_inner_size,
    by_level,
    by_voters,
)
from committee.papers.shared.figures import AMBER, BLUE, GREEN, GREY, ORANGE, plain, save
from committee.report.displays.base import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (INK, BLUE, GREEN, AMBER, ORANGE)
"""Of each rho; orders of lightness as well."""
_LINES = {"tree": "-", "2-matryoshka": (0, (5, 2)), "AdaBoost": (0, (1, 1.5))}
_LEAST = 1e-4
"""Bounds below it are not drawn."""


def write(out: Path) -> None:
    """Write ``figure2.png`` and ``figure3.png``."""
    save(figure2(by_voters(), by_inner_size()), out / "figure2.png")
    save(figure3(by_level()), out / "figure3.png")


def figure2(left: Sequence[Curve], right: Sequence[Curve]) -> Figure:
    """Left: bounds `by_voters`; right: of a tree of trees, `by_inner_size`."""
    figure = new_figure(11.0, 5.4)
    by_voters, by_size = figure.subplots(1, 2)
    for curve in left:
        colour = _COLOURS[list(RHOS).index(curve.rho)]
        label = f"rho = {curve.rho}" if curve.name == "tree" else None
        seen = curve.y >= _LEAST / 100.0
        by_voters.plot(
            curve.x[seen], curve.y[seen], color=colour, linestyle=_LINES[curve.name], linewidth=1.4, label=label
        )
    for name, line in _LINES.items():
        by_voters.plot([], [], color=GREY, linestyle=line, label=name)
    by_voters.set_yscale("log")
    by_voters.set_ylim(_LEAST, 1.2)
    by_voters.set_ylabel("bound on the expected training error")
    by_voters.set_xlabel("voters T")
    by_voters.legend(frameon=False, fontsize="small", ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    for curve in right:
        _split(by_size, curve)
    by_size.set_xlabel("nodes of the inner trees, T₁")
    by_size.set_ylim(0.0, 1.0)
    by_size.legend(frameon=False, fontsize="small", ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    for ax in (by_voters, by_size):
        ax.set_xscale("log", base=2)
        plain(ax)
    return figure


def _split(ax: Axes, curve: Curve) -> None:
    assert curve.T is not None
    colour = (INK, BLUE)[SPLIT_RHOS.index(curve.rho)]
    line = ("-", (0, (5, 2)), (0, (1, 1.5)))[SPLIT_SIZES.index(curve.T)]
    ax.plot(curve.x, curve.y, color=colour, linestyle=line, linewidth=1.4, label=f"rho = {curve.rho}, T = {curve.T:,}")
    best = int(np.argmin(curve.y))
    ax.plot(curve.x[best], curve.y[best], color=colour, marker="o", markersize=5)
    at_root = float(np.interp(np.log(sqrt(curve.T)), np.log(curve.x), curve.y))
    ax.plot(sqrt(curve.T), at_root, color=colour, marker="|", markersize=11)


def figure3(curves: Sequence[Curve]) -> Figure:
    """Bounds `by_level` of nesting, a panel for each T."""
    styles = {
        "real sizes": (INK, "-", "o"),
        "whole sizes, larger inside": (ORANGE, "-", "v"),
        "whole sizes, larger outside": (BLUE, "-", "^"),
        "not nested": (GREY, "--", ""),
    }
    figure = new_figure(10.0, 4.2)
    for ax, T in zip(figure.subplots(1, 2, sharey=True), NESTED_SIZES, strict=True):
        for curve in curves:
            if curve.T == T:
                colour, line, marker = styles[curve.name]
                ax.plot(
                    curve.x, curve.y, color=colour, linestyle=line, marker=marker, markersize=4, linewidth=1.2,
                    alpha=0.55 if "whole" in curve.name else 1.0, label=curve.name,
                )  # fmt: skip
        ax.axvline(np.log2(T), color=GREY, linewidth=0.8, linestyle=":")
        ax.set_xlabel("levels of nesting L")
        ax.set_yscale("log")
        ax.set_ylim(0.004, 1.1)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.label_outer()
        plain(ax, f"T = {T:,}, rho = 31/32; dotted: trees of two nodes")
    figure.axes[0].set_ylabel("bound on the expected training error")
    figure.axes[0].legend(frameon=False, fontsize="small", loc="lower left")
    return figure
