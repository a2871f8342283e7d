"""Martinez and Gray's Figures 1 to 6 on the first split, and a figure of associations over tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.objectives.margins.linear_objectives import Percentile, Range, Rank, Uniform
from committee.objectives.margins.margin_costs import Variance
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.papers.margins.cells import (
    ADABOOST,
    DEEP_FOREST,
    ENSEMBLES,
    FOREST,
    MAXIMISE,
    OBJECTIVES,
    Ensembles,
    measured,
    solved,
    trained,
)
from committee.papers.margins.report import fixed
from committee.papers.margins.results import ERROR, MEAN, VARIANCE, MarginResults
from committee.papers.shared.pages import BLUE, GREEN, GREY, ORANGE, PINK, grid_of, plain, save
from committee.papers.shared.tables import Fold, NamedTable
from committee.report.displays.base import new_figure
from committee.report.displays.margins import MarginChangeDisplay, MarginDisplay
from committee.report.page import Grid
from committee.vote.signed_votes import SignedVotes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STAGES = (50, 200, 500)  # trees of AdaBoost in Figure 1
STAGED_DATA = "splice"  # table of Figure 1

TREES = 300  # of the ensembles of Figures 2 to 6


@dataclass(frozen=True)
class Change:
    number: int
    name: str  # of the picture's file
    data: str  # table, by its name in the catalogue
    ensemble: str  # out of "forest", "AdaBoost", "deep forest"
    objective: Objective
    label: str  # name of its weights in the picture
    marked: float | None  # share of the rows, those of least margin, that are marked
    document: dict[str, float]  # the document's numbers for its own split


_FIGURE_2 = {"error": 0.0828, "error after": 0.0690, "mean gain": 0.0888, "least gain": 0.0133}
_FIGURE_5 = {"least after": 0.6467, "variance decrease": 0.0012, "range decrease": 0.1733}
_FIGURE_6 = {"variance decrease": 0.0153, "range decrease": 0.4249}

CHANGES = (
    Change(2, "figure2", "sonar", FOREST, Uniform(), "UWS", None, _FIGURE_2),
    Change(2, "figure2-deep", "sonar", DEEP_FOREST, Uniform(), "UWS", None, _FIGURE_2),
    Change(3, "figure3", "sonar", FOREST, Rank(k=5.0), "EWS, k = 5", None, {}),
    Change(4, "figure4", "sonar", FOREST, Percentile(xi=0.10), "PWS, xi = 0.10", 0.10, {}),
    Change(5, "figure5", "sonar", FOREST, Range(xi=0.20), "SM1, xi = 0.20", 0.20, _FIGURE_5),
    Change(5, "figure5-deep", "sonar", DEEP_FOREST, Range(xi=0.20), "SM1, xi = 0.20", 0.20, _FIGURE_5),
    Change(6, "figure6", "ionosphere", ADABOOST, Variance(form="free"), "SM2", None, _FIGURE_6),
    Change(6, "figure6-simplex", "ionosphere", ADABOOST, Variance(form="simplex"), "SM2, w >= 0", None, {}),
)
"""Changes of weights in Figures 2 to 6."""

NUMBERS = (1, *dict.fromkeys(change.number for change in CHANGES))
DATA: dict[int, str] = {1: STAGED_DATA, **{change.number: change.data for change in CHANGES}}  # table of each figure

_COLUMNS = ("error", "error after", "mean gain", "least gain", "least after", "variance decrease", "range decrease")


def drawable(figure: int | None, chosen: Sequence[str]) -> tuple[int, ...]:
    own = tuple(number for number in NUMBERS if DATA[number] in chosen)
    if figure is None:
        return own
    if figure not in NUMBERS:
        raise ValueError(f"figure={figure} cannot be rebuilt; use 1, 2, 3, 4, 5 or 6")
    if figure not in own:
        needed = DATA[figure]
        raise ValueError(f"figure={figure} needs table {needed!r}; add it to --tables, or leave out --tables")
    return (figure,)


def write(numbers: tuple[int, ...], read: Mapping[str, NamedTable], seed: int, out: Path) -> list[Grid]:
    folds = {name: Fold(table, 0, seed) for name, table in read.items()}
    if 1 in numbers:
        save(stages(folds[STAGED_DATA]), out / "figure1.png")
    rows = []
    for change in CHANGES:
        if change.number in numbers:
            picture, label, found = drawn(change, folds[change.data])
            save(picture, out / f"{change.name}.png")
            beside = {column: f" ({value:.4f})" for column, value in change.document.items()}
            texts = (fixed(found[column]) + beside.get(column, "") for column in _COLUMNS)
            rows.append((f"{change.number}: {change.data}, {change.ensemble}, {label}", *texts))
    title = f"Figures 2 to 6: {TREES} trees on one split (in brackets the document's, on its own split)"
    return [grid_of(title, ("figure", *_COLUMNS), rows)] if rows else []


def stages(fold: Fold) -> Figure:
    committee = trained(fold, ADABOOST, Ensembles(STAGES[-1]))
    rounds = [t for t in STAGES if t < committee.n_voters] + [committee.n_voters]
    display = MarginDisplay.from_stages(committee, fold.rows[0], fold.positive[0], rounds=rounds)
    return display.figure_


def drawn(change: Change, fold: Fold) -> tuple[Figure, str, dict[str, float]]:
    committee = trained(fold, change.ensemble, Ensembles(TREES))
    train, test = (SignedVotes.of(committee, X, y) for X, y in zip(fold.rows, fold.positive, strict=True))
    lines = MarginMatrix.of(train)
    weights, _, objective = solved(change.objective, lines)
    before, after = lines.margins(lines.own), lines.margins(weights)
    label, marked = change.label, change.marked
    if isinstance(objective, Range):
        label, marked = f"SM1, xi = {objective.xi:.2g}", objective.xi
    picture = MarginChangeDisplay(
        before,
        np.clip(after, -1.0, 1.0),
        names=(change.ensemble, label),
        highlighted=marked,
        highlighted_name=None if marked is None else f"lowest {100.0 * marked:.2g}% before",
    ).plot()
    own, new = (measured(margins, w, test, fold.positive[1]) for margins, w in ((before, lines.own), (after, weights)))
    found = {
        "error": own["wrong"] / test.n_rows,
        "error after": new["wrong"] / test.n_rows,
        "mean gain": new["mean"] - own["mean"],
        "least gain": float((after - before).min()),
        "least after": new["minimum"],
        "variance decrease": own["variance"] - new["variance"],
        "range decrease": own["range"] - new["range"],
    }
    return picture.figure_, label, found


def together(results: MarginResults) -> Figure:
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(8.6, 3.1 * len(ENSEMBLES))
    panels = figure.subplots(len(ENSEMBLES), 2, sharey="row")
    styles: dict[str, dict[str, Any]] = {
        "UWS, EWS, PWS": {"color": BLUE, "marker": "o"},
        "SM1": {"color": ORANGE, "marker": "s"},
        "SM2": {"color": GREEN, "marker": "D"},
        "SM2, w >= 0": {"color": PINK, "marker": "^"},
    }
    for row, ensemble in zip(panels, ENSEMBLES, strict=True):
        for ax, what in zip(row, (MEAN, VARIANCE), strict=True):
            for said, style in styles.items():
                objectives = MAXIMISE if said not in OBJECTIVES else (said,)
                points = [
                    (
                        results.change(name, ensemble, objective, what),
                        100.0 * results.change(name, ensemble, objective, ERROR),
                    )
                    for name in results.names
                    for objective in objectives
                ]
                ax.plot(*zip(*points, strict=True), linestyle="", markersize=4, alpha=0.7, label=said, **style)
            ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
            ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
            ax.xaxis.set_major_locator(MaxNLocator(5))
            plain(ax, ensemble)
        row[0].set_ylabel("change of the test error, percentage points")
    panels[-1, 0].set_xlabel("change of the mean margin")
    panels[-1, 1].set_xlabel("change of the variance of the margins")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=4, frameon=False)
    return figure
