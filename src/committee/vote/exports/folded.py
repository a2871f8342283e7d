"""Links of other libraries: what is left of a committee's link once its constants are multiplied into the leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from committee.vote.committee import Committee
from committee.vote.exports.score_trees import ScoreTrees
from committee.vote.links.mean import Average, Identity, Log
from committee.vote.links.probability import Logistic, Share, Softmax, TemperedMargin, TemperedShare, Truncated
from committee.vote.regression import RegressionCommittee

ONE_CLASS = "the model knows one class only, and has nothing to tell apart."

Plain: TypeAlias = Literal[
    "shares", "softened", "log_odds", "softmax", "one_vs_rest", "clipped", "number", "mean", "exponential"
]
"""Links with one constant at most.

"shares": scores over their total are probabilities. "softened": they are shares, and probabilities the powers 1 / T of
them, normalised. "log_odds": one score, the log-odds of the second of two classes. "softmax": a score for each class.
"one_vs_rest": sigma(s F_k) of a score for each class, normalised. "clipped": (1 + F_k) / 2 within -c and c, normalised;
of two classes one score says it.
"number": scores are what is predicted; "mean": they are over their total; "exponential": exp(score) is.
"""


@dataclass(frozen=True, eq=False)
class Folded:
    """Trees with a plain link.

    Parameters
    ----------
    trees : ScoreTrees
        With the link's constants in their leaves.
    link : str
        One of `Plain`.
    total : float, default=1.0
        What scores that are shares or means are divided by.
    constant : float, default=1.0
        The T, s or c of the link.
    rounded : bool, default=False
        Whether the first of tied classes has to be given something ahead, since the committee ties scores that differ
        by a rounding, or shares of votes with weights are rounded otherwise.
    """

    trees: ScoreTrees
    link: Plain
    total: float = 1.0
    constant: float = 1.0
    rounded: bool = False


def folded(committee: Committee | RegressionCommittee, place: str, instead: str) -> Folded:
    """Return the trees of a committee with a plain link.

    Parameters
    ----------
    committee : Committee or RegressionCommittee
        Of trees.
    place : str
        Where it is to go, for the message of an error.
    instead : str
        What takes any link, as the end of that message.

    Returns
    -------
    Folded

    Raises
    ------
    TypeError
        If its voters are no such trees, or its link is not one of the plain ones, whatever is in the leaves.
    ValueError
        If it knows one class only.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.vote.exports.folded import folded
    >>> model = AdaBoostClassifier(n_estimators=3).fit(*load_breast_cancer(return_X_y=True))
    >>> folded(model.committee_, "treelite", "").link
    'log_odds'
    """
    trees = ScoreTrees.of(committee, place)
    if isinstance(committee, RegressionCommittee):
        return _of_numbers(committee, trees, place, instead)
    if committee.n_classes < 2:
        raise ValueError(ONE_CLASS)
    link, two = committee.link, committee.n_classes == 2
    fixed = trees.always_votes or committee.voters.kind == "score"
    if not fixed and (isinstance(link, TemperedShare | Share) or (isinstance(link, Softmax) and link.normalized)):
        raise TypeError(
            f"leaves abstain, and the {link.name} link divides by the weight of those that do not, which {place} "
            "cannot; "
            f"{instead}."
        )
    if isinstance(link, Share):
        same = trees.n_scores == committee.n_classes and bool((committee.weights == 1.0).all())
        return _of_shares(trees.two_sided() if two else trees, link, rounded=not same)
    if type(link) is Logistic and not two:
        return Folded(trees, "one_vs_rest", constant=link.scale)
    if type(link) is Truncated:
        return Folded(
            trees.signed() if two else trees,
            "clipped",
            constant=1.0 - 2.0 * link.floor,
            rounded=ties_near_scores(committee),
        )
    scale = _scale(link, trees.total)
    if scale is None:
        raise TypeError(f"{place} has nothing like the {link.name} link of {committee.n_classes} classes; {instead}.")
    near = ties_near_scores(committee)
    if two:
        return Folded(trees.signed().scaled(scale), "log_odds", rounded=near)
    return Folded(trees.scaled(scale), "softmax", rounded=near)


def ties_near_scores(committee: Committee) -> bool:
    """Whether a committee's link takes scores for tied that differ by a rounding."""
    return committee.voters.kind == "score" and isinstance(committee.link, Truncated | TemperedMargin)


def _of_shares(trees: ScoreTrees, link: Share, *, rounded: bool) -> Folded:
    if not isinstance(link, TemperedShare):
        return Folded(trees, "shares", trees.total, rounded=rounded)
    ahead = replace(trees, intercept=trees.intercept + link.prior)
    return Folded(ahead, "softened", trees.total + trees.n_scores * link.prior, link.temperature, rounded=True)


def _scale(link: object, total: float) -> float | None:
    """What scores are multiplied by before they are log-odds; None of other links."""
    if type(link) is Softmax:
        return link.scale / total if link.normalized and total > 0.0 else link.scale
    if type(link) is Logistic:
        return link.scale
    if type(link) is TemperedMargin:
        return 1.0 / link.temperature
    return None


def _of_numbers(committee: RegressionCommittee, trees: ScoreTrees, place: str, instead: str) -> Folded:
    link = committee.link
    if isinstance(link, Average):
        return Folded(trees, "mean", trees.total)
    if isinstance(link, Identity):
        single = committee.n_voters == 1 and not np.any(trees.intercept)
        return Folded(trees, "mean" if single else "number")
    if isinstance(link, Log):
        return Folded(trees, "exponential")
    raise TypeError(
        f"{place} has nothing like the {link.name} link, by which the numbers of a row change places; {instead}."
    )
