"""A committee of trees as a sum of trees: what their leaves add to which score, weights and names of classes gone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds

INSIDE = {
    "LinearLeaves": 'trees with lines in their leaves (leaf="constant" trains trees without)',
    "ModelForest": "trees with models in their leaves",
    "BoostedCommittees": "boosted model trees",
    "LinearScores": "linear scores",
    "VoteGraph": "voters that answer at random along paths",
    "PathMajority": "voters that answer at random along paths",
    "MemberCommittees": "whole committees",
    "EstimatorVoters": "models of their own",
    "SignedVoters": "models of their own",
    "RegressorVoters": "models of their own",
    "RegressorRounds": "models of their own",
}
"""What voters are that are no trees, by the name of their kind."""


@dataclass(frozen=True, eq=False)
class ScoreTrees:
    """Trees whose leaves add numbers to scores: F(x) = F_0 + sum_t v_t(x).

    Parameters
    ----------
    forest : Forest
        The trees; its own votes do not count here.
    value : float64 array (N, D) or (N, 1)
        What each leaf adds, weights multiplied in; 0 at inner nodes.
    score : int64 array (T,) or None
        The score that each tree adds to, where it adds one number; None: a leaf has a number for each score.
    intercept : float64 array (D,)
        F_0.
    total : float
        Weight of the voters; an intercept counts 1.
    always_votes : bool
        Whether the scores of each row sum up to the total: no tree abstains from naming a class.
    """

    forest: Forest
    value: F64
    score: NDArray[np.int64] | None
    intercept: F64
    total: float
    always_votes: bool

    @classmethod
    def of(cls, committee: Committee | RegressionCommittee, place: str) -> ScoreTrees:
        """The trees of a committee.

        Raises
        ------
        TypeError
            If its voters are no trees with numbers or classes in their leaves; `place` says where they were to go.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from committee import GradientBoostingClassifier
        >>> from committee.vote.exports.score_trees import ScoreTrees
        >>> committee = GradientBoostingClassifier(n_estimators=4).fit(*load_iris(return_X_y=True)).committee_
        >>> ScoreTrees.of(committee, "treelite").score.tolist()
        [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
        """
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
                f"the voters are {INSIDE.get(kind, kind)}, which {place} has no trees for; committee.to_onnx takes "
                "those that are not drawn at random."
            )
        value = _leaf_values(forest) * np.repeat(weights, forest.n_nodes)[:, None]
        start = np.zeros(voters.n_outputs) if committee.intercept is None else np.array(committee.intercept)
        return cls(forest, value, score, start, committee.total_weight, always)

    @property
    def n_scores(self) -> int:
        """Number of scores D."""
        return len(self.intercept)

    @property
    def largest(self) -> float:
        """No score is larger than this, and none smaller than its negative."""
        own = self.by_leaf()
        most = np.maximum.reduceat(np.abs(own.value), self.forest.offset[:-1], axis=0).sum(axis=0)
        return float((most + np.abs(self.intercept)).max())

    def scaled(self, factor: float) -> ScoreTrees:
        """All scores times a factor."""
        return replace(self, value=self.value * factor, intercept=self.intercept * factor)

    def signed(self) -> ScoreTrees:
        """One score for two: the second less the first."""
        if self.n_scores == 1:
            return self
        start = self.intercept[1:] - self.intercept[:1]
        if self.score is None:
            return replace(self, value=self.value[:, 1:] - self.value[:, :1], intercept=start)
        sign = np.repeat(np.where(self.score == 1, 1.0, -1.0), self.forest.n_nodes)[:, None]
        return replace(self, value=self.value * sign, score=np.zeros_like(self.score), intercept=start)

    def two_sided(self) -> ScoreTrees:
        """Two scores that sum up to the total, for one that is the second less the first."""
        if self.n_scores == 2:
            return self
        start = (np.array([-1.0, 1.0]) * self.intercept + self.total) / 2.0
        return replace(self, value=np.hstack([-self.value, self.value]) / 2.0, score=None, intercept=start)

    def averaged(self, total: float) -> F64:
        """What the leaves are if the scores over a total are the mean of the trees, ``(N, D)``."""
        trees, T = self.by_leaf(), len(self.forest)
        # where trees weigh alike the factor is 1, and no digit is lost
        value = trees.value * (T / total) + trees.intercept / total
        return np.where((self.forest.feature < 0)[:, None], value, 0.0)

    def by_leaf(self) -> ScoreTrees:
        """The same with a number for each score in every leaf."""
        if self.score is None:
            return self
        value = np.zeros((len(self.value), self.n_scores))
        value[np.arange(len(value)), np.repeat(self.score, self.forest.n_nodes)] = self.value[:, 0]
        return replace(self, value=value, score=None)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Which nodes split on categories, ``(N,)``."""
        found: NDArray[np.bool_] = np.diff(self.forest.category_offset) > 0
        return found

    @property
    def split_columns(self) -> NDArray[np.int32]:
        """Columns that splits ask for."""
        found: NDArray[np.int32] = np.unique(self.forest.feature[self.forest.feature >= 0])
        return found


def _leaf_values(forest: Forest) -> F64:
    """Votes of leaves as numbers ``(N, D)``: their values, or 1 for the class that they name; 0 at inner nodes."""
    leaf = (forest.feature < 0)[:, None]
    if forest.value is not None:
        return np.where(leaf, forest.value, 0.0)
    assert forest.label is not None
    named: F64 = (leaf & (forest.label[:, None] == np.arange(forest.n_classes))).astype(np.float64)
    return named
