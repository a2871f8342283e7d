"""AdaBoost's margins by the number of rounds (the lecture notes' last figure), and the voting bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.bounds import voting, voting_certified
from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.learners.boosting.adaboost import AdaBoostClassifier
from committee.learners.trained_ensembles import for_vote
from committee.papers.lectures.simulations import LecturePlan
from committee.papers.shared.cells import Task
from committee.papers.shared.pages import BLUE, ORANGE, SKY, grid_of, plain, save, write_csv, write_grid
from committee.papers.shared.tables import SOURCE_TABLES, Folder, labels_of, load_source_table
from committee.report.displays.base import INK, new_figure
from committee.report.folds import Split, Table, stratified_folds
from committee.report.page import BLANK, Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ALL = "all classes"  # the problem with every class in it; the others are one class against the rest

STUMPS, REFUSING, TREES = "stumps", "abstaining stumps", "trees of 16 leaves"
LEARNERS: dict[str, dict[str, Any]] = {
    STUMPS: {},
    REFUSING: {"vote": "abstaining"},
    TREES: {"vote": "discrete", "max_depth": None, "max_leaf_nodes": 16},
}
"""Parameters of AdaBoost by kind of voters."""

LEVELS: F64 = np.linspace(-1.0, 1.0, 401)  # margins theta at which the share of rows below is kept


def margin_cell(table: Table, problem: str, learner: str, split: Split, rounds: tuple[int, ...]) -> Cell:
    train_rows, test_rows = split
    labels = labels_of(table)
    if problem != ALL:
        labels = labels == problem
    X, y = table.rows(train_rows), labels[train_rows]
    X_test, y_test = table.rows(test_rows), labels[test_rows]
    model = AdaBoostClassifier(max(rounds), calibrate=None, **LEARNERS[learner]).fit(X, y)
    size, described = (bound.inputs for bound in for_vote(model, X, y).values())
    stages = {}
    for T in rounds:
        committee = model.committee_.select(slice(T))
        train, test = committee.margins(X, y), committee.margins(X_test, y_test)
        certified = voting_certified(
            train, described["ln_size"], n_classes=described["n_classes"], rows_per_voter=described["rows_per_voter"]
        )
        rough = voting(train, size["ln_size"])
        stages[str(T)] = {
            "voters": committee.n_voters,
            "below": below(train),
            "test_below": below(test),
            "minimum": float(train.min()),
            "mean": float(train.mean()),
            "train_error": float(np.mean(committee.predict(X) != y)),
            "test_wrong": int(np.sum(committee.predict(X_test) != y_test)),
            "bound": rough.value,
            "theta": rough.terms["theta"],
            "certified": certified.value,
            # infinity is no JSON
            "rows_needed": min(certified.terms["rows_to_be_useful"], 1e300),
        }
    return {
        "problem": problem,
        "learner": learner,
        "rows": len(train_rows),
        "test_rows": len(test_rows),
        "ln_size": size["ln_size"],
        "stages": stages,
    }


def below(margins: F64) -> list[int]:
    return [int(k) for k in np.searchsorted(np.sort(margins), LEVELS + 1e-12, side="right")]  # within rounding


@dataclass(frozen=True)
class MarginCurves:
    problem: str
    learner: str
    rounds: int  # T
    train: F64
    test: F64  # share of rows with a margin of at most each level, ``(len(LEVELS),)``, over all folds
    minimum: float  # means over the folds, as `mean`, `train_error` and the bounds
    mean: float  # of the training margins
    train_error: float
    test_error: float  # over the test rows of all folds
    bound: float
    theta: float  # `voting` with C = 1, and the theta at its minimum
    certified: float  # `voting_certified`
    rows_needed: float  # training rows for `certified` to be 1/2 with the same margins; median over the folds


def curves(cells: Sequence[Cell]) -> list[MarginCurves]:
    problems = dict.fromkeys((cell["problem"], cell["learner"]) for cell in cells)
    found = []
    for problem, learner in problems:
        own = [cell for cell in cells if (cell["problem"], cell["learner"]) == (problem, learner)]
        for T in own[0]["stages"]:
            stages = [cell["stages"][T] for cell in own]
            mean = {
                name: float(np.mean([stage[name] for stage in stages]))
                for name in ("minimum", "mean", "train_error", "bound", "theta", "certified")
            }
            found.append(
                MarginCurves(
                    problem,
                    learner,
                    int(T),
                    train=np.sum([stage["below"] for stage in stages], axis=0) / sum(cell["rows"] for cell in own),
                    test=np.sum([stage["test_below"] for stage in stages], axis=0)
                    / sum(cell["test_rows"] for cell in own),
                    test_error=sum(stage["test_wrong"] for stage in stages) / sum(cell["test_rows"] for cell in own),
                    rows_needed=float(np.median([stage["rows_needed"] for stage in stages])),
                    **mean,
                )
            )
    return found


def share_at(found: MarginCurves, theta: float) -> float:
    return float(found.train[np.argmin(np.abs(LEVELS - theta))])


_COLOURS = (SKY, BLUE, ORANGE)  # few, many and most rounds: they differ in lightness too
_DASHES = (0, (4, 2))
_ACROSS, _UP = "margin θ", "share of rows with margin ≤ θ"


def stumps(found: Sequence[MarginCurves]) -> Figure:
    own = [c for c in found if c.learner == STUMPS]
    colour = {T: k for k, T in enumerate(dict.fromkeys(c.rounds for c in own))}
    lines = [(c, f"{c.rounds:,} rounds", colour[c.rounds]) for c in own]
    return _panels(lines, "stumps: one class against the rest")


def refusing(found: Sequence[MarginCurves]) -> Figure:
    most = max(c.rounds for c in found)
    chosen = [c for c in found if c.learner in (STUMPS, REFUSING) and c.rounds == most]
    lines = [(c, c.learner, 1 + (c.learner == REFUSING)) for c in chosen]
    return _panels(lines, f"stumps with and without abstention, after {most:,} rounds")


def trees(found: Sequence[MarginCurves]) -> Figure:
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


def _panels(lines: Sequence[tuple[MarginCurves, str, int]], title: str) -> Figure:
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
    inner = np.any([(shares > 0.002) & (shares < 0.998) for c in found for shares in (c.train, c.test)], axis=0)
    low, high = LEVELS[np.flatnonzero(inner)[[0, -1]]]
    ax.axvline(0.0, color=INK, linewidth=0.7)
    ax.set_xlim(np.floor(10.0 * low - 0.5) / 10.0, np.ceil(10.0 * high + 0.5) / 10.0)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(-0.01, 1.01)
    plain(ax, title)


def _legend_above(figure: Figure, ax: Axes) -> None:
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    handles.append(Line2D([], [], color=INK, linewidth=1.6))
    handles.append(Line2D([], [], color=INK, linewidth=1.1, linestyle=_DASHES))
    figure.legend(
        handles, [*labels, "training rows", "test rows"], loc="outside lower center", ncols=len(handles), frameon=False,
        fontsize="small",
    )  # fmt: skip


def tasks(plan: LecturePlan, seed: int, folder: Folder) -> list[Task]:
    table = load_source_table(SOURCE_TABLES[plan.table], folder)
    classes = [str(label) for label in table.labels.classes]
    problems = [(name, learner) for name in classes for learner in (STUMPS, REFUSING)] + [(ALL, TREES)]
    return [
        Task(
            {"name": f"margins: {problem}, {learner}, fold {fold}"},
            partial(margin_cell, table, problem, learner, split, plan.rounds),
        )
        for fold, split in enumerate(stratified_folds(table.labels.codes, plan.folds, 1, seed))
        for problem, learner in problems
    ]


def report(cells: Sequence[Cell], plan: LecturePlan, out: Path) -> list[Grid]:
    found = curves(cells)
    margins = grid(found, plan.table)
    write_csv(lines(found), out / "margin-curves.csv")
    write_grid(margins, out / "margins.csv", {"<= 0.1": "share_at_0.1"})
    for name, draw in PICTURES.items():
        save(draw(found), out / f"{name}.png")
    return [margins]


def grid(found: Sequence[MarginCurves], table: str) -> Grid:
    voters = {STUMPS: "stumps", REFUSING: "abstaining", TREES: "trees"}
    body = []
    for c in found:
        shares = (share_at(c, 0.1), c.train_error, c.test_error)
        precise = (f"{100 * share:.{digits}f}" for share, digits in zip(shares, (1, 2, 2), strict=True))
        margins = (f"{c.minimum:+.3f}", f"{c.mean:.3f}", *precise)
        needed = BLANK if c.rows_needed >= 1e300 else f"{c.rows_needed:.1e}"
        bounds = (f"{c.theta:.2f}", f"{c.bound:.2f}", f"{c.certified:.2f}", needed)
        body.append((c.problem, voters[c.learner], f"{c.rounds:,}", *margins, *bounds))
    title = (
        f"Margins of AdaBoost on {table}: least and mean training margin; share of training margins <= 0.1, training"
        " error and test error in percent; voting bound with C = 1 (no certificate) and the theta of its minimum;"
        " certified bound, and the number of training rows for which it is 1/2 with the same margins"
    )
    columns = (
        *("class", "voters", "rounds", "least", "mean", "<= 0.1", "train error", "test error"),
        *("theta", "C = 1", "certified", "rows for 1/2"),
    )
    return grid_of(title, columns, body, text=2)


def lines(found: Sequence[MarginCurves]) -> list[dict[str, object]]:
    return [
        {
            "class": c.problem,
            "voters": c.learner,
            "rounds": c.rounds,
            "theta": f"{level:.3f}",
            "train": f"{train:.6f}",
            "test": f"{test:.6f}",
        }
        for c in found
        for level, train, test in zip(LEVELS.tolist(), c.train.tolist(), c.test.tolist(), strict=True)
    ]
