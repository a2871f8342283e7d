"""Members of a committee of ensembles on given rows, as tables: their figures, the classes, and disputed rows."""

from __future__ import annotations

import numpy as np

from committee.data.text import pluralize
from committee.learners.blend.losses import loss_label
from committee.report.drawing.scale import format_percent
from committee.report.drawing.text import shortened
from committee.report.grid import BLANK, Grid
from committee.report.member_answers import MemberAnswers
from committee.report.reliability import Reliability

MOST_CLASSES = 20
MOST_ROWS = 12


def rows_grids(answers: MemberAnswers) -> list[Grid]:
    """Every table that the answers are enough for.

    Without the rows' labels or numbers these are the disputed rows alone, and there are none that one member disputes.
    """
    grids = []
    if answers.truth is not None:
        grids.append(figures_grid(answers))
        if answers.classes is not None:
            grids.append(classes_grid(answers))
    disputed = disputed_grid(answers)
    return [*grids, disputed] if disputed.rows else grids


def reliabilities(answers: MemberAnswers) -> dict[str, Reliability]:
    """How often elected classes are right beside their probability: of the vote, and of each member."""
    right = answers.elected() == answers.truth
    everyone = zip(_names(answers), answers.everyone, right, strict=True)
    return {name: Reliability.of(p, each) for name, p, each in everyone}


def figures_grid(answers: MemberAnswers) -> Grid:
    """The vote and the members: weight, how good they are on the rows, and how often they differ from the vote."""
    names, weights = _names(answers), [BLANK, *(f"{weight:.1%}" for weight in answers.weights)]
    apart, errors = answers.disagreement()[-1], answers.errors()
    title = f"Members on {pluralize(answers.n_rows, 'row')}, of which training should have seen none"
    order = [len(names) - 1, *range(len(names) - 1)]
    if answers.classes is None:
        of_numbers = [
            (names[i], weights[k], f"{errors[i]:.4g}", BLANK if k == 0 else f"{apart[i]:.4g}")
            for k, i in enumerate(order)
        ]
        headings = ("", "weight", loss_label(answers.loss), "RMS difference from the vote")
        return Grid(title, headings, tuple(of_numbers), "lrrr")
    losses, reliable = answers.log_losses(), reliabilities(answers)
    right = answers.elected() == answers.truth
    rows = [
        (
            names[i],
            weights[k],
            f"{1.0 - errors[i]:.4f}",
            f"{losses[i]:.4f}",
            f"{reliable[names[i]].calibration_error:.4f}",
            BLANK if k == 0 else format_percent(float(apart[i])),
            BLANK if k == 0 else format_percent(float((right[i] & ~right[-1]).mean())),
        )
        for k, i in enumerate(order)
    ]
    columns = ("", "weight", "accuracy", "log loss", "calibration error", "differs from the vote", "and is right")
    return Grid(title, columns, tuple(rows), "lrrrrrr")


def classes_grid(answers: MemberAnswers) -> Grid:
    """Who votes for what: the classes by rows, what the vote finds, and the probability that each member gives them."""
    assert answers.classes is not None and answers.truth is not None
    elected, rows = answers.elected()[-1], []
    counts = np.bincount(answers.truth, minlength=len(answers.classes))
    for k in np.argsort(-counts, kind="stable").tolist()[:MOST_CLASSES]:
        own, chosen = answers.truth == k, elected == k
        mean = answers.everyone[:, own, k].mean(axis=1) if own.any() else np.full(len(answers.names) + 1, np.nan)
        rows.append(
            (
                shortened(str(answers.classes[k])),
                f"{counts[k]:,}",
                _share(float((own & chosen).sum()), float(counts[k])),
                _share(float((own & chosen).sum()), float(chosen.sum())),
                *(BLANK if np.isnan(p) else f"{p:.3f}" for p in [mean[-1], *mean[:-1]]),
            )
        )
    n = len(answers.classes)
    some = f"the {MOST_CLASSES} most frequent of {n} classes" if n > MOST_CLASSES else f"{n} classes"
    title = f"Who votes for what: mean probability of a row's own class ({some})"
    columns = ("class", "rows", "recall", "precision", "vote", *answers.names)
    return Grid(title, columns, tuple(rows), "lrrr" + "r" * (len(answers.names) + 1))


def disputed_grid(answers: MemberAnswers) -> Grid:
    """The rows on which the members are furthest apart: the class that each elects and its probability, or number."""
    rows = []
    for row in answers.most_disputed(MOST_ROWS).tolist():
        told = [_told(answers, i, row) for i in [len(answers.names), *range(len(answers.names))]]
        rows.append((str(row), *([_true(answers, row)] if answers.truth is not None else []), *told))
    is_true = ("is",) if answers.truth is not None else ()
    columns = ("row", *is_true, "vote", *answers.names)
    title = "Rows, from 0 on, on which the members are furthest apart"
    return Grid(title, columns, tuple(rows), "r" + ("l" if answers.classes is not None else "r") * (len(columns) - 1))


def _names(answers: MemberAnswers) -> list[str]:
    return [*answers.names, "vote"]


def _told(answers: MemberAnswers, i: int, row: int) -> str:
    told = answers.everyone[i, row]
    if answers.classes is None:
        return f"{told[0]:.4g}"
    k = int(told.argmax())
    return f"{shortened(str(answers.classes[k]), 16)} ({format_percent(float(told[k]))})"


def _true(answers: MemberAnswers, row: int) -> str:
    assert answers.truth is not None
    if answers.classes is None:
        return f"{answers.truth[row]:.4g}"
    return shortened(str(answers.classes[answers.truth[row]]), 16)


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.3f}" if whole > 0.0 else BLANK
