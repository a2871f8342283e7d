"""Figures 2, 3 and 4 of the SBPMT paper, drawn from our own runs and its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.papers.sbpmt.figure2 import PAPER, Simulation
from committee.papers.sbpmt.rival_results import TableOfMethods
from committee.papers.sbpmt.table2 import FOREST, OURS, XGBOOST, PublishedAccuracies, RebuiltRow
from committee.papers.shared.figures import BLUE, GREEN, GREY, ORANGE, plain
from committee.papers.shared.mease_wyner import NOISE
from committee.report.displays.base import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = ((ORANGE, "o", "-"), (BLUE, "D", "-"), (GREEN, "s", "--"), (GREY, "^", ":"))
"""Of the first line, which is ours, and of the others."""


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
    return _by_rows([row.published for row in rows], _beside_the_paper(rows), "ours less\nthe paper's")


def figure4(rows: Sequence[RebuiltRow]) -> Figure:
    """Accuracy on every table, tables by the share of numeric columns (then by size)."""
    return _by_numeric_share([row.published for row in rows], _beside_the_paper(rows), "ours less\nthe paper's")


def own_figure3(results: Sequence[TableOfMethods]) -> Figure:
    """As `figure3`, of our own runs of the three methods that the paper's has."""
    return _by_rows([result.published for result in results], _own(results), "SBPMT less\nthe other")


def own_figure4(results: Sequence[TableOfMethods]) -> Figure:
    """As `figure4`, of our own runs of the three methods that the paper's has."""
    return _by_numeric_share([result.published for result in results], _own(results), "SBPMT less\nthe other")


def _beside_the_paper(rows: Sequence[RebuiltRow]) -> dict[str, F64]:
    theirs = {
        f"paper: {method}": np.array([row.published.accuracy[method][0] for row in rows])
        for method in (OURS, FOREST, XGBOOST)
    }
    return {"ours": np.array([row.mean for row in rows]), **theirs}


def _own(results: Sequence[TableOfMethods]) -> dict[str, F64]:
    methods = [method for method in (OURS, FOREST, XGBOOST) if method in results[0].right]
    return {method: np.array([result.accuracies(method).mean() for result in results]) for method in methods}


def _by_rows(tables: Sequence[PublishedAccuracies], lines: Mapping[str, F64], less: str) -> Figure:
    order = sorted(range(len(tables)), key=lambda t: tables[t].rows)
    labels = [f"{tables[t].title}\n{tables[t].rows:,}" for t in order]
    return _accuracies({name: line[order] for name, line in lines.items()}, labels, "tables by rows", less)


def _by_numeric_share(tables: Sequence[PublishedAccuracies], lines: Mapping[str, F64], less: str) -> Figure:
    order = sorted(range(len(tables)), key=lambda t: (tables[t].numeric_share, tables[t].rows))
    labels = [f"{tables[t].title}\n{100 * tables[t].numeric_share:.0f}%" for t in order]
    title = "tables by share of numeric columns, then by rows"
    return _accuracies({name: line[order] for name, line in lines.items()}, labels, title, less)


def _accuracies(lines: Mapping[str, F64], labels: list[str], title: str, less: str) -> Figure:
    """Draw all lines above, and the first less each of the others below."""
    figure = new_figure(max(7.5, 1.5 + 0.42 * len(labels)), 5.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    place = np.arange(len(labels))
    ours, *others = lines
    for name, (color, marker, line) in zip(lines, _STYLES, strict=False):
        above.plot(
            place, lines[name], color=color, marker=marker, linestyle=line, linewidth=1.0, markersize=5, alpha=0.9,
            label=name, zorder=3 if name == ours else 2,
        )  # fmt: skip
    above.set_ylabel("accuracy, %")
    above.legend(frameon=False, fontsize="small", ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    for name, (color, marker, _) in zip(others, _STYLES[1:], strict=False):
        below.plot(place, lines[ours] - lines[name], color=color, marker=marker, linestyle="", markersize=5, label=name)
    below.axhline(0.0, color=INK, linewidth=0.8)
    below.set_ylabel(less)
    below.set_xlabel(title)
    below.set_xticks(place, labels, rotation=90, fontsize="small")
    for ax in (above, below):
        ax.margins(x=0.02)
        plain(ax)
    return figure
