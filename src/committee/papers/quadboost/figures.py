"""The picture of the rebuilt QuadBoost comparison: average ranks, and what penalties gain on every table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from committee.papers.quadboost.results import TableResult, document_errors, mean_errors, ranks_of_splits
from committee.papers.quadboost.tables import L2, LINF, METHODS, VANILLA
from committee.papers.shared.figures import BLUE, ORANGE, legend_below, plain
from committee.papers.shared.paired import standard_error
from committee.report.displays.base import INK, new_figure
from committee.report.statistics import average_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(results: Sequence[TableResult]) -> Figure:
    """Left: average ranks, ours and the document's; right: errors of L2 and Linf less those of vanilla.

    Ours have the range over single splits on the left, two standard errors over splits on the right.
    """
    figure = new_figure(10.0, 3.0 + 0.17 * len(results))
    left, *others = figure.subplots(1, 3, width_ratios=(4, 3, 3))
    _ranks(left, results)
    for ax, method in zip(others, (L2, LINF), strict=True):
        _gains(ax, results, method)
    others[1].set_yticklabels([])
    legend_below(figure, left, 3)
    return figure


def _ranks(ax: Axes, results: Sequence[TableResult]) -> None:
    ours = average_ranks(mean_errors(results), higher_is_better=False)
    theirs = average_ranks(document_errors(results), higher_is_better=False)
    single = ranks_of_splits(results)
    order = np.argsort(ours, kind="stable")
    place = np.arange(len(METHODS))
    ax.hlines(
        place, single.min(axis=0)[order], single.max(axis=0)[order], color=ORANGE, alpha=0.35, linewidth=5,
        label="ours, single splits",
    )  # fmt: skip
    ax.plot(ours[order], place, color=ORANGE, marker="o", linestyle="", label="ours")
    ax.plot(theirs[order], place, color=BLUE, marker="D", linestyle="", markerfacecolor="white", label="the document")
    ax.set_yticks(place, [METHODS[k] for k in order])
    ax.invert_yaxis()
    ax.set_xlabel("average rank (1 is best)")
    plain(ax, f"{len(results)} tables")


def _gains(ax: Axes, results: Sequence[TableResult], method: str) -> None:
    place = np.arange(len(results))
    differences = [100.0 * (result.errors(method) - result.errors(VANILLA)) for result in results]
    theirs = [100.0 * (result.published.error[method] - result.published.error[VANILLA]) for result in results]
    ax.errorbar(
        [d.mean() for d in differences], place, xerr=[2.0 * standard_error(d) for d in differences],
        color=ORANGE, marker="o", markersize=4, linestyle="", linewidth=1.0,
    )  # fmt: skip
    ax.plot(theirs, place, color=BLUE, marker="D", markersize=4, linestyle="", markerfacecolor="white")
    ax.axvline(0.0, color=INK, linewidth=0.8)
    ax.set_yticks(place, [result.published.title for result in results], fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel("points of error; left of 0 it gains")
    plain(ax, f"{method} less {VANILLA}")
