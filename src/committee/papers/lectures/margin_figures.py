"""Pictures of the lecture notes' margins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from committee.papers.lectures.margin_curves import ALL, LEVELS, REFUSING, STUMPS, TREES, MarginCurves
from committee.papers.shared.figures import BLUE, ORANGE, SKY, plain
from committee.report.displays.base import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (SKY, BLUE, ORANGE)
"""Few, many and most rounds: they differ in lightness too."""
_DASHES = (0, (4, 2))
_ACROSS, _UP = "margin θ", "share of rows with margin ≤ θ"


def stumps(found: Sequence[MarginCurves]) -> Figure:
    """One class against the rest, a panel each: margins of boosted stumps after each number of rounds."""
    own = [c for c in found if c.learner == STUMPS]
    colour = {T: k for k, T in enumerate(dict.fromkeys(c.rounds for c in own))}
    lines = [(c, f"{c.rounds:,} rounds", colour[c.rounds]) for c in own]
    return _panels(lines, "stumps: one class against the rest")


def refusing(found: Sequence[MarginCurves]) -> Figure:
    """Stumps that may refuse beside those that may not, after most rounds."""
    most = max(c.rounds for c in found)
    chosen = [c for c in found if c.learner in (STUMPS, REFUSING) and c.rounds == most]
    lines = [(c, c.learner, 1 + (c.learner == REFUSING)) for c in chosen]
    return _panels(lines, f"with and without refusals, after {most:,} rounds")


def trees(found: Sequence[MarginCurves]) -> Figure:
    """All classes at once, by trees."""
    figure = new_figure(6.4, 4.6)
    ax = figure.subplots()
    own = [c for c in found if c.learner == TREES]
    for k, c in enumerate(own):
        _curve(ax, c, f"{c.rounds:,} rounds", k)
    _margin_axes(ax, own, f"{TREES}: {ALL}")
    ax.set_xlabel(_ACROSS)
    ax.set_ylabel(_UP)
    _legend_above(figure, ax)
    return figure


PICTURES: dict[str, Callable[[Sequence[MarginCurves]], Figure]] = {
    "margins-stumps": stumps,
    "margins-refusing": refusing,
    "margins-trees": trees,
}
"""Names of files, and what draws them."""


def _panels(lines: Sequence[tuple[MarginCurves, str, int]], title: str) -> Figure:
    """A panel for each class, with the curves that belong to it."""
    figure = new_figure(9.0, 7.0)
    problems = list(dict.fromkeys(c.problem for c, _, _ in lines))
    axes = figure.subplots(-(-len(problems) // 2), 2, sharex=True, sharey=True, squeeze=False)
    for ax, problem in zip(axes.ravel(), problems, strict=False):
        for c, name, colour in lines:
            if c.problem == problem:
                _curve(ax, c, name, colour)
        _margin_axes(ax, [c for c, _, _ in lines], problem)
    for ax in axes.ravel()[len(problems) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel(_ACROSS)
    for ax in axes[:, 0]:
        ax.set_ylabel(_UP)
    figure.suptitle(title, fontsize="medium")
    _legend_above(figure, axes[0, 0])
    return figure


def _curve(ax: Axes, c: MarginCurves, name: str, colour: int) -> None:
    ax.plot(LEVELS, c.train, color=_COLOURS[colour], linewidth=1.6, label=name)
    ax.plot(LEVELS, c.test, color=_COLOURS[colour], linewidth=1.1, linestyle=_DASHES, alpha=0.9)


def _margin_axes(ax: Axes, found: Sequence[MarginCurves], title: str) -> None:
    """As wide as the margins of nearly all rows."""
    inner = np.any([(shares > 0.002) & (shares < 0.998) for c in found for shares in (c.train, c.test)], axis=0)
    low, high = LEVELS[np.flatnonzero(inner)[[0, -1]]]
    ax.axvline(0.0, color=INK, linewidth=0.7)
    ax.set_xlim(np.floor(10.0 * low - 0.5) / 10.0, np.ceil(10.0 * high + 0.5) / 10.0)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(-0.01, 1.01)
    plain(ax, title)


def _legend_above(figure: Figure, ax: Axes) -> None:
    """Names of the colours and of the two kinds of line, above all panels: curves fill the panels."""
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    handles.append(Line2D([], [], color=INK, linewidth=1.6))
    handles.append(Line2D([], [], color=INK, linewidth=1.1, linestyle=_DASHES))
    figure.legend(
        handles, [*labels, "training rows", "test rows"], loc="outside lower center", ncols=len(handles), frameon=False,
        fontsize="small",
    )  # fmt: skip
