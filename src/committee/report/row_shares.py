"""Which sum over the columns explains a row's answer: of a probability, a score or a number, and of which of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.report.arguments import place
from committee.report.number_figures import quantile_levels
from committee.vote.explain.contributions import probability_contributions
from committee.vote.links.mean import Average, Identity, Log, Ordered
from committee.vote.links.probability import Share
from committee.vote.members import MemberCommittees
from committee.voters.committees import BoostedCommittees
from committee.voters.forest import Forest


@dataclass(frozen=True, eq=False)
class RowShares:
    """What each column adds, and to what; as `committee.report.row_explanation.RowExplanation` has it."""

    contributions: F64
    subject: str
    total: str
    predicted: Any
    remark: str


def shares_of_row(estimator: Any, one: Any, label: Any) -> RowShares:
    """Share out the answer of a fitted learner for a table of one row.

    Raises
    ------
    TypeError
        If the voters are none whose answers are sums over columns.
    ValueError
        If the label is no class, target or quantile of the estimator.
    """
    return (_of_class if hasattr(estimator, "classes_") else _of_number)(estimator, one, label)


def explains_probabilities(estimator: Any) -> bool:
    """Whether it is probabilities of a classifier that are shared out: of means of votes, as forests have, and blends.

    Of other votes it is the score.
    """
    votes = estimator.committee_
    averages = isinstance(votes.voters, Forest) and isinstance(votes.link, Share) and votes.total_weight > 0.0
    abstain = (
        averages and votes.voters.label is not None and bool((votes.voters.label[votes.voters.feature < 0] < 0).any())
    )
    return hasattr(estimator, "classes_") and (isinstance(votes.voters, MemberCommittees) or (averages and not abstain))


def _of_class(estimator: Any, one: Any, label: Any) -> RowShares:
    votes, classes = estimator.committee_, estimator.classes_.tolist()
    predicted = estimator.predict(one).tolist()[0]
    of_probabilities = explains_probabilities(estimator)
    total = "probability" if of_probabilities else "score"
    if of_probabilities:
        shares = probability_contributions(votes, estimator.validate_rows(one))[0]
    else:
        shares = estimator.contributions(one, output="score")[0]
    remark = f"predicted {predicted} ({estimator.predict_proba(one)[0, classes.index(predicted)]:.0%})"
    score = "mean score" if isinstance(votes.voters, BoostedCommittees) else total
    if shares.ndim == 1:
        subject = f"{score}: above 0 for {classes[-1]}, below for {classes[0]}"
        return RowShares(shares, subject, total, predicted, remark)
    label = predicted if label is None else label
    if label not in classes:
        raise ValueError(f"label={label!r} is no class; the classes are {', '.join(map(repr, classes))}")
    return RowShares(shares[:, classes.index(label)], f"{score} for {label}", total, predicted, remark)


def _of_number(estimator: Any, one: Any, label: Any) -> RowShares:
    link, predicted = estimator.committee_.link, estimator.predict(one)[0]
    if isinstance(link, Ordered) and np.ndim(predicted):
        return _of_quantile(estimator, one, label, predicted)
    total = "prediction" if isinstance(link, (Identity, Average)) else "score"
    shares = estimator.contributions(one, output=total)[0]
    subject = f"{total}: the logarithm of the prediction" if isinstance(link, Log) else total
    if shares.ndim > 1:
        k = place("label", 0 if label is None else label, shares.shape[1])
        shares, predicted, subject = shares[:, k], predicted[k], f"{total} for target {k}"
    return RowShares(shares, subject, total, float(predicted), f"predicted {predicted:.4g}")


def _of_quantile(estimator: Any, one: Any, label: Any, predicted: F64) -> RowShares:
    """One of several quantiles: the sum which is that quantile once all sums of the row are put in order."""
    levels = quantile_levels(estimator, len(predicted))
    names = [f"{level:g}" for level in levels] or [str(k) for k in range(len(predicted))]
    if label is None:
        k = int(np.argmin(np.abs(np.array(levels) - 0.5))) if levels else 0
    else:
        given = f"{label:g}" if isinstance(label, float) else str(label)
        if given not in names:
            raise ValueError(f"label={label!r} is no quantile of the estimator; they are {', '.join(names)}")
        k = names.index(given)
    sums = estimator.contributions(one, output="score")[0]
    column = int(np.argsort(sums.sum(axis=0), kind="stable")[k])
    told = ", ".join(f"{number:.4g} ({name})" for number, name in zip(predicted.tolist(), names, strict=True))
    subject = f"prediction of quantile {names[k]}"
    return RowShares(sums[:, column], subject, "prediction", float(predicted[k]), f"predicted {told}")
