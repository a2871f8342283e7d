"""Tree committees as sums of trees with a simple link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Average, Identity, Log
from committee.vote.links.probability import Logistic, Share, Softmax, TemperedMargin, TemperedShare, Truncated
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds

ONE_CLASS = "the model has one class only; train it on two or more."
TIE_BREAK = 1e-13
"""Lead of the first class over the last: above the rounding of sums, below real differences."""
NEAR_TIE_BREAK = 2e-12
"""Lead for log-odds of committees that tie scores within 1e-12."""
Plain: TypeAlias = Literal[
    "shares", "softened", "log_odds", "softmax", "one_vs_rest", "clipped", "number", "mean", "exponential"
]
"""Links with at most one constant: T of "softened", s of "one_vs_rest", c of "clipped".

"softened": shares to the power 1 / T, normalised. "one_vs_rest": sigma(s F_k), normalised. "clipped": (1 + F_k) / 2,
normalised, with F_k clipped to [-c, c].
"""
VOTER_WORDS = {
    "LinearLeaves": 'trees with lines in their leaves (none with leaf="constant", or LightGBM\'s linear_tree=False)',
    "ModelForest": "trees with models in their leaves",
    "BoostedCommittees": "boosted model trees",
    "LinearScores": "linear scores",
    "VoteGraph": "voters with random votes along paths",
    "PathMajority": "voters with random votes along paths",
    "MemberCommittees": "whole committees",
    "EstimatorVoters": "fitted estimators",
    "SignedVoters": "fitted estimators",
    "RegressorVoters": "fitted estimators",
    "RegressorRounds": "fitted estimators",
}


@dataclass(frozen=True, eq=False)
class ScoreTrees:
    """Trees whose leaves add numbers to scores: F(x) = F_0 + sum_t v_t(x)."""

    forest: Forest  # the trees; their own votes are not used
    value: F64  # (N, D) or (N, 1): leaf values times weights, 0 at inner nodes
    score: NDArray[np.int64] | None  # (T,): score of each tree; None if leaves have one number per score
    intercept: F64
    total: float  # weight of the voters; an intercept counts 1
    always_votes: bool  # leaves hold labels, and no tree abstains

    @classmethod
    def of(cls, committee: Committee | RegressionCommittee, target: str) -> ScoreTrees:
        voters, weights = committee.voters, committee.weights
        score, always = None, False
        if isinstance(voters, Rounds):
            forest = voters.forest
            score = np.arange(len(forest)) % voters.n_outputs
            weights = np.repeat(weights, voters.n_outputs)
        elif isinstance(voters, Forest):
            forest = voters
            always = forest.label is not None and bool((forest.label[forest.feature < 0] >= 0).all())
        else:
            kind = type(voters).__name__
            raise TypeError(
                f"the voters are {VOTER_WORDS.get(kind, kind)}, which {target} has no trees for; docs/onnx.md "
                "lists those that committee.to_onnx takes."
            )
        votes = np.where((forest.feature < 0)[:, None], forest.node_votes, 0.0)
        value = votes * np.repeat(weights, forest.n_nodes)[:, None]
        start = np.zeros(voters.n_outputs) if committee.intercept is None else np.array(committee.intercept)
        return cls(forest, value, score, start, committee.total_weight, always)

    @property
    def n_scores(self) -> int:
        return len(self.intercept)

    @property
    def largest(self) -> float:
        """Upper bound of the absolute value of any score."""
        own = self.by_leaf()
        most = np.maximum.reduceat(np.abs(own.value), self.forest.offset[:-1], axis=0).sum(axis=0)
        return float((most + np.abs(self.intercept)).max())

    def scaled(self, factor: float) -> ScoreTrees:
        return replace(self, value=self.value * factor, intercept=self.intercept * factor)

    def signed(self) -> ScoreTrees:
        if self.n_scores == 1:
            return self
        start = self.intercept[1:] - self.intercept[:1]
        if self.score is None:
            return replace(self, value=self.value[:, 1:] - self.value[:, :1], intercept=start)
        sign = np.repeat(np.where(self.score == 1, 1.0, -1.0), self.forest.n_nodes)[:, None]
        return replace(self, value=self.value * sign, score=np.zeros_like(self.score), intercept=start)

    def two_sided(self) -> ScoreTrees:
        """Replace a signed score by two scores that sum to the total."""
        if self.n_scores == 2:
            return self
        start = (np.array([-1.0, 1.0]) * self.intercept + self.total) / 2.0
        return replace(self, value=np.hstack([-self.value, self.value]) / 2.0, score=None, intercept=start)

    def averaged(self, total: float) -> F64:
        """Leaf values ``(N, D)`` whose mean over the trees is the score divided by `total`."""
        trees, T = self.by_leaf(), len(self.forest)
        # where trees weigh alike the factor is 1, and no digit is lost
        value = trees.value * (T / total) + trees.intercept / total
        return np.where((self.forest.feature < 0)[:, None], value, 0.0)

    def by_leaf(self) -> ScoreTrees:
        """Give each leaf one number per score, ``(N, D)``."""
        if self.score is None:
            return self
        value = np.zeros((len(self.value), self.n_scores))
        value[np.arange(len(value)), np.repeat(self.score, self.forest.n_nodes)] = self.value[:, 0]
        return replace(self, value=value, score=None)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        return np.asarray(np.diff(self.forest.category_offset) > 0)

    @property
    def split_columns(self) -> NDArray[np.int32]:
        return np.asarray(np.unique(self.forest.feature[self.forest.feature >= 0]))


@dataclass(frozen=True, eq=False)
class FoldedTrees:
    trees: ScoreTrees  # scores times the link's scale, or plus its prior
    link: Plain
    total: float = 1.0  # divisor of scores that are shares or means
    constant: float = 1.0  # T, s or c of the link
    rounded: bool = False  # ties need a tie-break, since scores may differ by rounding


def fold_link(committee: Committee | RegressionCommittee, target: str, alternative: str) -> FoldedTrees:
    """Reduce a committee to trees with a `Plain` link."""
    trees = ScoreTrees.of(committee, target)
    if isinstance(committee, RegressionCommittee):
        return _of_numbers(committee, trees, target, alternative)
    if committee.n_classes < 2:
        raise ValueError(ONE_CLASS)
    link, two = committee.link, committee.n_classes == 2
    fixed = trees.always_votes or committee.voters.kind == "score"
    if not fixed and link.averages:
        raise TypeError(
            f"leaves abstain, and the {link.name} link divides by the weight of those that do not, which {target} "
            f"cannot; {alternative}."
        )
    if isinstance(link, Share):
        same = trees.n_scores == committee.n_classes and bool((committee.weights == 1.0).all())
        trees = trees.two_sided() if two else trees
        if not isinstance(link, TemperedShare):
            return FoldedTrees(trees, "shares", trees.total, rounded=not same)
        total = trees.total + trees.n_scores * link.prior
        ahead = replace(trees, intercept=trees.intercept + link.prior)
        return FoldedTrees(ahead, "softened", total, link.temperature, rounded=True)
    if type(link) is Logistic and not two:
        return FoldedTrees(trees, "one_vs_rest", constant=link.scale)
    near, trees = ties_near_scores(committee), trees.signed() if two else trees
    if type(link) is Truncated:
        return FoldedTrees(trees, "clipped", constant=1.0 - 2.0 * link.floor, rounded=near)
    if type(link) is Softmax:
        scale = link.scale / trees.total if link.normalized and trees.total > 0.0 else link.scale
    elif type(link) is Logistic:
        scale = link.scale
    elif type(link) is TemperedMargin:
        scale = 1.0 / link.temperature
    else:
        raise TypeError(f"{target} has no {link.name} link of {committee.n_classes} classes; {alternative}.")
    return FoldedTrees(trees.scaled(scale), "log_odds" if two else "softmax", rounded=near)


def ties_near_scores(committee: Committee) -> bool:
    return committee.voters.kind == "score" and isinstance(committee.link, Truncated | TemperedMargin)


def _of_numbers(committee: RegressionCommittee, trees: ScoreTrees, target: str, alternative: str) -> FoldedTrees:
    link = committee.link
    if isinstance(link, Average):
        return FoldedTrees(trees, "mean", trees.total)
    if isinstance(link, Identity):
        single = committee.n_voters == 1 and not np.any(trees.intercept)
        return FoldedTrees(trees, "mean" if single else "number")
    if isinstance(link, Log):
        return FoldedTrees(trees, "exponential")
    raise TypeError(f"{target} has no counterpart of the {link.name} link; {alternative}.")


def round_to_grid(numbers: F64, largest_sum: float) -> F64:
    """Round numbers so that sums up to `largest_sum` are exact in any order."""
    return np.asarray(np.round(numbers / _step(largest_sum)) * _step(largest_sum))


def break_score_ties(trees: ScoreTrees, most_ahead: float = TIE_BREAK) -> ScoreTrees:
    """Put each class slightly behind the one before it, so that equal scores elect the first class."""
    K, most = trees.n_scores, 2.0 * max(trees.largest, 1.0)
    behind = most_ahead * (np.arange(K) / (K - 1) if K > 1 else np.ones(1))
    if _step(most) * np.sqrt(len(trees.forest)) > TIE_BREAK:  # a grid would cost digits
        return replace(trees, intercept=trees.intercept - behind)
    start = round_to_grid(trees.intercept - behind, most)
    return replace(trees, value=round_to_grid(trees.value, most), intercept=start)


def break_share_ties(shares: F64, forest: Forest, *, most_ahead: float = TIE_BREAK, centred: bool = False) -> F64:
    """Round class shares ``(N, K)`` to a grid and add the tie-break to the leaves of the first tree."""
    T = len(forest)
    if T == 1:
        return shares
    K = shares.shape[1]
    ahead = T * most_ahead * np.arange(K - 1, -1, -1) / (K * (K - 1) / 2.0)
    if centred:
        ahead -= ahead.mean()
    first = ((forest.feature < 0) & (np.arange(len(forest.feature)) < forest.offset[1]))[:, None]
    return round_to_grid(np.where(first, shares + ahead, shares), 2.0 * T)


def _step(largest_sum: float) -> float:
    return float(np.ldexp(1.0, int(np.ceil(np.log2(largest_sum))) - 52))
