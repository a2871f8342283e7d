"""What a leaf says as a small bar: for which class or in which direction, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from committee.data.number_types import F64
from committee.report.displays.base import AGAINST, COLORS, FOR, GREY, GRID, PALE, color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from committee.report.displays.ensemble_words import PlainTree
    from committee.report.displays.leaf_says import LeafSays

Span: TypeAlias = tuple[float, float]

WIDTH, HEIGHT = 0.52, 0.13
"""Of a leaf's bar, in inches."""


def bar_height(tree: PlainTree, says: LeafSays) -> float:
    """Height of the bars of a tree's leaves, or of their columns, in inches."""
    return 2.0 * HEIGHT if says.kind == "sums" and len(says.start) > 1 and tree.about is None else HEIGHT


def draw_bar(ax: Axes, at: tuple[float, float], tree: PlainTree, leaf: int, says: LeafSays, span: Span) -> None:
    """Draw a leaf's bar; its middle is at x, its upper edge at y, down being more.

    `span` has what bars are measured from, and the largest distance from it in any leaf.
    """
    value = tree.says[leaf]
    if says.kind == "shares":
        _stack(ax, *at, value)
    elif tree.about is not None:
        _signed(ax, *at, float(value[tree.about]), span[1], (GREY, color(tree.about)))
    elif len(value) > 1:
        _columns(ax, *at, value, span[1])
    else:
        colors = (color(0), color(1)) if says.names else (AGAINST, FOR)
        _signed(ax, *at, float(value[0]) - span[0], span[1], colors)


def _stack(ax: Axes, x: float, y: float, shares: F64) -> None:
    """Shares beside each other, as long together as the bar."""
    left = x - WIDTH / 2.0
    for k, share in enumerate(shares.tolist()):
        _box(ax, left, y, WIDTH * share, HEIGHT, color(k))
        left += WIDTH * share


def _columns(ax: Axes, x: float, y: float, value: F64, largest: float) -> None:
    """A column for each class, up for it and down against it; of many classes those alone that are spoken of most."""
    shown = list(range(len(value)))
    if len(value) > len(COLORS):
        shown = sorted(np.argsort(-np.abs(value), kind="stable")[: len(COLORS)].tolist())
    each, middle = WIDTH / len(shown), y + HEIGHT
    unit = HEIGHT / (largest or 1.0)
    for place, k in enumerate(shown):
        _box(ax, x - WIDTH / 2.0 + place * each, middle, 0.85 * each, -unit * float(value[k]), color(k))
    ax.plot([x - WIDTH / 2.0, x + WIDTH / 2.0], [middle] * 2, color=PALE, linewidth=0.6, zorder=4)


def _signed(ax: Axes, x: float, y: float, value: float, largest: float, colors: Sequence[str]) -> None:
    """A bar to the left or to the right of its middle."""
    _box(ax, x - WIDTH / 2.0, y, WIDTH, HEIGHT, GRID)
    _box(ax, x, y, WIDTH / 2.0 * value / (largest or 1.0), HEIGHT, colors[value > 0.0])
    ax.plot([x, x], [y - 0.02, y + HEIGHT + 0.02], color=PALE, linewidth=0.8, zorder=4)


def _box(ax: Axes, x: float, y: float, width: float, height: float, fill: str) -> None:
    from matplotlib.patches import Rectangle

    if width and height:
        ax.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor="none", zorder=3))
