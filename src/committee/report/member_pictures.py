"""Members of a committee of ensembles on given rows, as pictures of a page."""

from __future__ import annotations

from typing import Any

from committee.report.displays.margin import MarginDisplay
from committee.report.displays.mean_contribution import MeanContributionDisplay
from committee.report.displays.member_disagreement import MemberDisagreementDisplay
from committee.report.displays.member_votes import MemberVotesDisplay
from committee.report.displays.reliability import ReliabilityDisplay
from committee.report.drawn import svg_of
from committee.report.explained.columns import TableRows, spread_rows
from committee.report.member_answers import MemberAnswers
from committee.report.member_rows import reliabilities
from committee.report.page import Picture
from committee.vote.links.mean import Log
from committee.vote.scores import lead

MOST_EXPLAINED, FEWEST_EXPLAINED = 200, 20
"""Rows whose contributions are averaged."""
_WORK = 2e8
"""Nodes, times rows and classes, that are walked for them: some ten seconds."""


def member_pictures(model: Any, answers: MemberAnswers, X: Any) -> list[Picture]:
    """Return where the members disagree, how reliable they are, their margins, and what the columns add.

    Reliability and margins need the rows' classes; what columns add, a vote that is a sum.
    """
    of_classes = answers.classes is not None
    pictures = []
    if len(answers.names) > 1:
        pictures += _disagreement(answers, of_classes)
    if of_classes and answers.truth is not None:
        pictures += _against_the_truth(answers)
    if isinstance(getattr(model.number_loss, "link", None), Log):
        return pictures  # what a loss with a log link predicts is no sum over columns
    return [*pictures, _contributions(model, X, answers.n_rows, of_classes)]


def _disagreement(answers: MemberAnswers, of_classes: bool) -> list[Picture]:
    what = "Share of rows for which two elect another class" if of_classes else "Root mean squared difference of two"
    pictures = [
        Picture(
            "Where members disagree",
            f"{what}; the last row is the vote.",
            svg_of(MemberDisagreementDisplay.from_answers(answers).plot().figure_, f"{what}, as a map", themed=False),
        )
    ]
    if len(answers.most_disputed(1)):
        stand = "the probability that each gives the class of the vote" if of_classes else "what each predicts"
        pictures.append(
            Picture(
                "Rows on which they are furthest apart",
                f"A line is a row, numbered from 0, a mark {stand}; in brackets the weights.",
                svg_of(
                    MemberVotesDisplay(answers).plot().figure_,
                    "Marks of each member on the rows of greatest divergence",
                ),
            )
        )
    return pictures


def _against_the_truth(answers: MemberAnswers) -> list[Picture]:
    """Reliability and margins, of the vote and of its members, in the same colours."""
    names = [*answers.names, "vote"]
    colors = {name: i if i < 6 else i + 1 for i, name in enumerate(answers.names)} | {"vote": 6}
    reliable = reliabilities(answers)
    assert answers.truth is not None
    margins = {name: lead(p, answers.truth) for name, p in zip(names, answers.everyone, strict=True)}
    return [
        Picture(
            "Reliability",
            "Rows by the probability of the class they are given, and how often it is right. On the line probabilities"
            " mean what they say; below it they are too sure.",
            svg_of(
                ReliabilityDisplay(reliable, colors=colors).plot().figure_,
                "; ".join(f"{name} {each.calibration_error:.3f}" for name, each in reliable.items()),
            ),
        ),
        Picture(
            "Margins",
            "Share of rows whose margin, the probability of their own class less the largest other one, is at most the"
            " value below; left of zero are those that are wrong.",
            svg_of(
                MarginDisplay(margins, colors=colors).plot().figure_,
                "Cumulative distribution of the margins of the vote and of its members",
            ),
        ),
    ]


def _contributions(model: Any, X: Any, n_rows: int, of_classes: bool) -> Picture:
    per_row = max(1.0, float(model.committee_.n_nodes) * model.committee_.voters.n_outputs)
    most = min(n_rows, max(FEWEST_EXPLAINED, min(MOST_EXPLAINED, int(_WORK / per_row))))
    some = spread_rows(n_rows, most)
    display = MeanContributionDisplay.from_estimator(model, TableRows(X).taken(some))
    moved = "the probability that it moves from class to class" if of_classes else "what it adds or takes away"
    return Picture(
        "What columns add",
        f"Mean over {len(some):,} rows of the size of each column's contribution: {moved}.",
        svg_of(display.figure_, "Bars of mean contributions"),
    )
