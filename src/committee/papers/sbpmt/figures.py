"""Figures 2, 3 and 4 of the SBPMT paper, drawn from our own runs and its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.papers.sbpmt.figure2 import PAPER, Simulation
from committee.papers.sbpmt.table2 import FOREST, OURS, XGBOOST, RebuiltRow
from committee.papers.shared.figures import BLUE, GREEN, GREY, ORANGE, plain
from committee.papers.shared.mease_wyner import NOISE
from committee.report.displays.base import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = (
    ("ours", ORANGE, "o", "-"),
    (f"paper: {OURS}", BLUE, "D", "-"),
    (f"paper: {FOREST}", GREEN, "s", "--"),
    (f"paper: {XGBOOST}", GREY, "^", ":"),
)


def figure2(errors: dict[str, NDArray[np.float64]], simulation: Simulation = PAPER) -> Figure:
    """Four panels: test error against each parameter, the others at the benchmark setting.

    Drawn are means over the repeats, with a band of two standard errors either side.
    """
    figure = new_figure(9.0, 6.4)
    panels = figure.subplots(2, 2, sharey=True)
    for letter, ax, (curve, values) in zip("abcd", panels.ravel(), simulation.curves.items(), strict=True):
        runs = 100.0 * errors[curve]
        mean = runs.mean(axis=0)
        if len(runs) > 1:
            band = 2.0 * runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
            ax.fill_between(values, mean - band, mean + band, color=BLUE, alpha=0.2, linewidth=0)
        ax.plot(values, mean, color=BLUE, linewidth=1.4, marker="o" if len(values) < 50 else "", markersize=4)
        ax.axhline(100.0 * NOISE, color=GREY, linewidth=0.9, linestyle="--")
        ax.set_xlabel(curve)
        plain(ax, f"({letter})")
    for ax in panels[:, 0]:
        ax.set_ylabel("test error, %")
    panels[0, 0].annotate(
        "the best rule", (1.0, 100.0 * NOISE), (0, 4), xycoords=("axes fraction", "data"), textcoords="offset points",
        ha="right", color="#666666", fontsize="small",
    )  # fmt: skip
    return figure


def figure3(rows: Sequence[RebuiltRow]) -> Figure:
    """Accuracy on every table, tables by size; ours beside three columns of the paper."""
    ordered = sorted(rows, key=lambda row: row.published.rows)
    return _accuracies(ordered, [f"{row.published.title}\n{row.published.rows:,}" for row in ordered], "tables by rows")


def figure4(rows: Sequence[RebuiltRow]) -> Figure:
    """Accuracy on every table, tables by the share of numeric columns (then by size)."""
    ordered = sorted(rows, key=lambda row: (_numeric_share(row), row.published.rows))
    labels = [f"{row.published.title}\n{100 * _numeric_share(row):.0f}%" for row in ordered]
    return _accuracies(ordered, labels, "tables by share of numeric columns, then by rows")


def _numeric_share(row: RebuiltRow) -> float:
    return row.published.numeric / (row.published.numeric + row.published.categorical)


def _accuracies(rows: Sequence[RebuiltRow], labels: list[str], title: str) -> Figure:
    figure = new_figure(max(7.5, 1.5 + 0.42 * len(rows)), 5.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    place = np.arange(len(rows))
    theirs = {
        method: np.array([row.published.accuracy[method][0] for row in rows]) for method in (OURS, FOREST, XGBOOST)
    }
    ours = np.array([row.mean for row in rows])
    for values, (name, color, marker, line) in zip((ours, *theirs.values()), _STYLES, strict=True):
        above.plot(
            place, values, color=color, marker=marker, linestyle=line, linewidth=1.0, markersize=5, alpha=0.9,
            label=name, zorder=3 if name == "ours" else 2,
        )  # fmt: skip
    above.set_ylabel("accuracy, %")
    above.legend(frameon=False, fontsize="small", ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    for method, (name, color, marker, _) in zip(theirs, _STYLES[1:], strict=True):
        below.plot(place, ours - theirs[method], color=color, marker=marker, linestyle="", markersize=5, label=name)
    below.axhline(0.0, color=INK, linewidth=0.8)
    below.set_ylabel("ours less\nthe paper's")
    below.set_xlabel(title)
    below.set_xticks(place, labels, rotation=90, fontsize="small")
    for ax in (above, below):
        ax.margins(x=0.02)
        plain(ax)
    return figure
