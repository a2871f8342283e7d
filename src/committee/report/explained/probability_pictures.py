"""Probabilities beside what came true, as pictures: reliability, ROC, precision by recall, margins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data.counts import counted
from committee.report.explained.curves import RankedClass
from committee.report.page import Picture
from committee.report.reliability import Reliability
from committee.report.svg.axes import COLORS, Axes
from committee.report.svg.element import legend, side_by_side
from committee.report.svg.scale import Scale

if TYPE_CHECKING:
    from committee.vote.margin_distribution import MarginDistribution

SHARE = Scale(0.0, 1.0, percent=True)


def reliability_picture(found: Reliability) -> Picture:
    """How often elected classes are right, by the probability that they are given; a dot's area is its rows."""
    filled = found.weight > 0.0
    n = found.weight[filled]
    sure, right = found.expected[filled] / n, found.right[filled] / n
    low = max(0.0, np.floor(10.0 * float(sure.min()) - 0.5) / 10.0)
    axes = Axes(
        Scale(low, 1.0, percent=True), SHARE, "probability of the class that is predicted", "share that is right"
    )
    axes.guide([low, 1.0], [low, 1.0])
    axes.curve(sure, right)
    tips = [
        f"{counted(int(k), 'row')} of {p:.0%} on average, {r:.0%} right" for k, p, r in zip(n, sure, right, strict=True)
    ]
    axes.dots(sure, right, size=3.0 + 9.0 * np.sqrt(n / n.max()), tips=tips)
    error = found.calibration_error
    return Picture(
        "Reliability",
        "Rows by the probability of the class that they are given, and how often it is right. On the line "
        f"probabilities mean what they say; below it they are too sure. They are off by {error:.3f} on average.",
        axes.svg(f"Reliability curve; calibration error {error:.3f}"),
    )


def ranking_pictures(found: list[RankedClass]) -> Picture:
    """ROC curves, and beside them precision by recall."""
    roc = Axes(SHARE, SHARE, "share of other rows taken for it", "share of its own rows found")
    roc.guide([0.0, 1.0], [0.0, 1.0])
    precise = Axes(SHARE, SHARE, "share of its own rows found (recall)", "share that is right (precision)")
    for i, each in enumerate(found):
        color = COLORS[i % len(COLORS)]
        roc.curve(each.false_positives, each.true_positives, color=color, tip=f"{each.name}: area {each.area:.4f}")
        tip = f"{each.name}: average precision {each.average_precision:.4f}"
        precise.curve(each.recall, each.precision, color=color, tip=tip)
        if len(found) == 1:
            precise.guide([0.0, 1.0], [each.share, each.share])
    named = [
        (COLORS[i % len(COLORS)], f"{each.name}: area {each.area:.3f}, average precision {each.average_precision:.3f}")
        for i, each in enumerate(found)
    ]
    said = "; ".join(text for _, text in named)
    chance = " The pale lines are those of chance." if len(found) == 1 else ""
    return Picture(
        "ROC, and precision by recall",
        "How well scores find the rows of a class, whatever threshold is chosen: each point of a curve is one."
        f"{chance}",
        legend(named)
        + side_by_side(
            [
                roc.svg(f"ROC curves. {said}", heading="ROC"),
                precise.svg(f"Precision by recall. {said}", heading="Precision by recall"),
            ]
        ),
    )


def margin_picture(found: MarginDistribution) -> Picture:
    """Share of rows by their margin at most."""
    margins = np.sort(found.margins)
    share = np.arange(1, len(margins) + 1) / len(margins)
    if len(margins) > 300:
        kept = np.unique(np.linspace(0, len(margins) - 1, 300).astype(np.intp))
        margins, share = margins[kept], share[kept]
    axes = Axes(Scale(-1.0, 1.0), SHARE, "margin", "share of rows of this margin at most")
    axes.guide([0.0, 0.0], [0.0, 1.0])
    axes.curve(np.repeat(margins, 2)[1:], np.repeat(share, 2)[:-1])
    wrong = float(np.mean(found.margins <= 0.0))
    return Picture(
        "Margins",
        "A row's margin is the probability of its own class less the largest other one. Left of zero are rows that are "
        "wrong; rows near zero could have gone either way.",
        axes.svg(f"Cumulative curve of the margins; {wrong:.1%} are at most 0"),
    )
