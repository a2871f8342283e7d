"""Tables of the predictions of the members of a committee of ensembles."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64
from committee.data.text import pluralize
from committee.learners.blend.losses import loss_label
from committee.report.drawing.scale import format_percent
from committee.report.drawing.text import shortened
from committee.report.grid import BLANK, Grid
from committee.report.members import MemberAnswers
from committee.report.metrics import Reliability

MOST_CLASSES = 20
MOST_ROWS = 12


def rows_grids(answers: MemberAnswers) -> list[Grid]:
    """Return all tables of predictions; without labels the disputed rows alone."""
    grids = []
    if answers.truth is not None:
        grids.append(figures_grid(answers))
        if answers.classes is not None:
            grids.append(classes_grid(answers))
    disputed = disputed_grid(answers)
    return [*grids, disputed] if disputed.rows else grids


def reliabilities(answers: MemberAnswers) -> dict[str, Reliability]:
    """Return the reliability of each member and of the vote."""
    right = answers.elected() == answers.truth
    everyone = zip((*answers.names, "vote"), answers.everyone, right, strict=True)
    return {name: Reliability.of(p, each) for name, p, each in everyone}


def figures_grid(answers: MemberAnswers) -> Grid:
    """Return weight and metrics of the vote and of the members."""
    names, weights = [*answers.names, "vote"], [BLANK, *(f"{weight:.1%}" for weight in answers.weights)]
    apart, errors = answers.disagreement()[-1], answers.errors()
    title = f"Members on {pluralize(answers.n_rows, 'row')}"
    order = [len(names) - 1, *range(len(names) - 1)]
    if answers.classes is None:
        of_numbers = [
            (names[i], weights[k], f"{errors[i]:.4g}", BLANK if k == 0 else f"{apart[i]:.4g}")
            for k, i in enumerate(order)
        ]
        headings = ("", "weight", loss_label(answers.loss), "RMS difference to the vote")
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
    """Return recall and precision of the vote, and the mean probability of the true class by each member."""
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
                *(f"{float((own & chosen).sum()) / float(n):.3f}" if n else BLANK for n in (counts[k], chosen.sum())),
                *(BLANK if np.isnan(p) else f"{p:.3f}" for p in [mean[-1], *mean[:-1]]),
            )
        )
    n = len(answers.classes)
    some = f"{MOST_CLASSES} most frequent of {n} classes" if n > MOST_CLASSES else f"{n} classes"
    columns = ("class", "rows", "recall", "precision", "vote", *answers.names)
    justify = "lrrr" + "r" * (len(answers.names) + 1)
    return Grid(f"Mean probability of the true class ({some})", columns, tuple(rows), justify)


def disputed_grid(answers: MemberAnswers) -> Grid:
    """Return the predictions for the rows on which the members disagree most."""
    labelled, everyone = answers.truth is not None, answers.everyone
    rows = []
    for row in answers.most_disputed(MOST_ROWS).tolist():
        predicted = [_prediction(answers, everyone[i, row]) for i in range(-1, len(answers.names))]
        rows.append((str(row), *([_true_value(answers, row)] if labelled else []), *predicted))
    columns = ("row", *(("true",) if labelled else ()), "vote", *answers.names)
    title = "Rows on which members disagree most (the first is 0)"
    return Grid(title, columns, tuple(rows), "r" + ("l" if answers.classes is not None else "r") * (len(columns) - 1))


def _prediction(answers: MemberAnswers, predicted: F64) -> str:
    if answers.classes is None:
        return f"{predicted[0]:.4g}"
    k = int(predicted.argmax())
    return f"{shortened(str(answers.classes[k]), 16)} ({format_percent(float(predicted[k]))})"


def _true_value(answers: MemberAnswers, row: int) -> str:
    assert answers.truth is not None
    if answers.classes is None:
        return f"{answers.truth[row]:.4g}"
    return shortened(str(answers.classes[answers.truth[row]]), 16)
