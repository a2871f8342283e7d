"""AdaBoost in the QuadBoost document's comparison: on the stump of the best edge, or of the least Gini index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned, Bins
from committee.data.number_types import F64
from committee.papers.quadboost.plan import LabelledRows, Params, SearchPlan
from committee.report.crossvalidation import Split
from committee.vote.committee import Committee
from committee.vote.links.probability import Logistic
from committee.voters.stump_dictionary import StumpDictionary


class ListedStumpBoosts:
    """Discrete AdaBoost on the listed stumps, read off after several numbers of rounds.

    Each round takes the stump, or the complement, of least weighted error: of the largest edge. As of the other
    methods' stumps, each has a side for missing numbers; none refuses.
    """

    def __init__(self, X: F64, y: NDArray[np.int64], rounds: Sequence[int]) -> None:
        self.rounds: list[int] = list(rounds)
        bins = Bins.learn(X, None, np.zeros(X.shape[1], np.int32), _MOST_BINS)
        binned = Binned(bins, bins.encode(X))
        self.dictionary: StumpDictionary = StumpDictionary.of(binned, np.ones(len(X)))
        self.voting: NDArray[np.intp] = np.flatnonzero(self.dictionary.stumps.missing != 0)
        votes = np.ascontiguousarray(self.dictionary.votes(binned.codes, self.voting))
        self.alpha, _ = _core.listed_rounds(votes, y.astype(np.int8), np.ones(len(X)), np.array(self.rounds))

    def committee(self, k: int) -> Committee:
        """The vote after ``rounds[k]`` rounds, or after the last one that found a stump."""
        alpha = np.zeros((1, len(self.dictionary)))
        alpha[0, self.voting] = self.alpha[k]
        forest, weights = self.dictionary.weighted_forest(alpha, labels=True)
        return Committee(forest, weights, np.array([-1, 1]), Logistic())

    def wrong(self, X: F64, y: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows predicted wrong after each number of rounds."""
        votes = self.dictionary.votes(self.dictionary.bins.encode(X), self.voting)
        return np.asarray((np.where(votes @ self.alpha.T > 0.0, 1, -1) != y[:, None]).sum(axis=0), dtype=np.int64)


_MOST_BINS = 255
"""Above the eleven different values of a column that `prepared` leaves."""


@dataclass(frozen=True, eq=False)
class FittedVote:
    """A committee that answers as a fitted classifier does."""

    committee_: Committee

    def predict(self, X: F64) -> NDArray[np.int64]:
        """Labels -1 and +1, ``(n,)``."""
        labels: NDArray[np.int64] = self.committee_.predict(X)
        return labels

    def decision_function(self, X: F64) -> F64:
        """F(x), ``(n,)``."""
        return np.asarray(self.committee_.decision_function(X), dtype=np.float64)


@dataclass(frozen=True)
class AdaBoostSearch(ABC):
    """AdaBoost, whose one hyperparameter is the number of rounds: a run of the most of them has all others in it."""

    rounds: tuple[float, float]
    """Decimal logarithms of the least and the largest number of rounds."""
    quadratic: bool = False

    @abstractmethod
    def tried(self, plan: SearchPlan) -> list[int]:
        """The numbers of rounds that are tried, ascending."""

    @abstractmethod
    def wrong_after(self, rows: LabelledRows, others: LabelledRows, rounds: Sequence[int]) -> NDArray[np.int64]:
        """Of the other rows, those that a run on `rows` predicts wrong after each number of rounds."""

    def choose(self, X: F64, y: NDArray[np.int64], folds: Sequence[Split], plan: SearchPlan) -> tuple[Params, float]:
        """See `SearchedMethod`; of rounds that are equal the fewest."""
        rounds = self.tried(plan)
        wrong = np.zeros(len(rounds), dtype=np.int64)
        for train, test in folds:
            wrong += self.wrong_after((X[train], y[train]), (X[test], y[test]), rounds)
        best = int(wrong.argmin())
        return {"rounds": rounds[best]}, float(wrong[best] / sum(len(test) for _, test in folds))

    def test_errors(self, rows: LabelledRows, others: LabelledRows, plan: SearchPlan) -> dict[str, float]:
        """See `SearchedMethod`."""
        rounds = self.tried(plan)
        errors = self.wrong_after(rows, others, rounds) / len(others[1])
        return {str(T): round(float(error), 6) for T, error in zip(rounds, errors, strict=True)}


@dataclass(frozen=True)
class BestEdgeSearch(AdaBoostSearch):
    """AdaBoost as the other methods choose: each round takes the stump of the best edge."""

    def tried(self, plan: SearchPlan) -> list[int]:
        """See `AdaBoostSearch`."""
        return plan.affordable(*self.rounds, plan.max_rounds)

    def wrong_after(self, rows: LabelledRows, others: LabelledRows, rounds: Sequence[int]) -> NDArray[np.int64]:
        """See `AdaBoostSearch`."""
        return ListedStumpBoosts(*rows, rounds).wrong(*others)

    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> FittedVote:
        """See `SearchedMethod`."""
        return FittedVote(ListedStumpBoosts(X, y, [int(params["rounds"])]).committee(0))


@dataclass(frozen=True)
class GrownSearch(AdaBoostSearch):
    """AdaBoost as the library has it by default: each round grows the stump of the least Gini index."""

    def tried(self, plan: SearchPlan) -> list[int]:
        """See `AdaBoostSearch`."""
        return plan.affordable(*self.rounds, plan.max_grown)

    def wrong_after(self, rows: LabelledRows, others: LabelledRows, rounds: Sequence[int]) -> NDArray[np.int64]:
        """See `AdaBoostSearch`; a run that ends by itself stays what it was."""
        X, y = others
        committee = self.fit(*rows, {"rounds": rounds[-1]}).committee_
        votes = committee.votes(X)
        scores = (votes[:, :T] @ committee.weights[:T] for T in rounds)
        return np.array([(np.where(score > 0.0, 1, -1) != y).sum() for score in scores])

    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> Any:
        """See `SearchedMethod`."""
        from committee.learners.adaboost import AdaBoostClassifier

        return AdaBoostClassifier(int(params["rounds"]), calibrate=None, n_jobs=1).fit(X, y)
