"""The four dictionaries of QuadBoost: how each runs its rounds, and what its voters become."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.binning import Binned
from committee.learners.pools.vote_sources import ClassifierSource, StumpSource, TreeSource
from committee.learners.quadboost.gram_run import GramRun, Schedule
from committee.learners.quadboost.residual_run import ResidualRun
from committee.objectives.programs.penalties import Penalty
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from committee.voters.growing import forest_of
from committee.voters.protocol import Voters
from committee.voters.signed import SignedVoters
from committee.voters.stump_dictionary import StumpDictionary, Stumps

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Target:
    """What is fitted: K scores of n rows.

    Attributes
    ----------
    y : float64 array (K, n)
        -1 or +1, or numbers.
    weights : float64 array (n,)
        Row weights that sum to one.
    intercept : bool
        Scores start at the targets' means, and votes are centred.
    labels : bool
        The one score elects one of two classes.
    """

    y: F64
    weights: F64
    intercept: bool
    labels: bool

    @property
    def n_outputs(self) -> int:
        """Number of scores K."""
        return len(self.y)


class QuadVoters(ABC):
    """Voters of a run per score; a voter goes by its number in its run."""

    runs: Sequence[GramRun | ResidualRun]
    rounds_at_once: int = 1
    """Rounds that are cheap enough to be run without a look at anything else."""

    def __init__(self, target: Target) -> None:
        self.target = target

    @abstractmethod
    def mean(self, k: int, voter: NDArray[np.intp]) -> F64:
        """Mean votes of voters of run k; what their weights take from the intercept."""

    @abstractmethod
    def votes_on(self, held_out: Any, k: int, voter: int) -> I8:
        """What a voter of run k says of other rows, as `read` made them."""

    @abstractmethod
    def read(self, X: F64) -> Any:
        """Other rows, made ready for `votes_on`."""

    @abstractmethod
    def _planted(self, k: int, voter: NDArray[np.intp], flip: NDArray[np.bool_]) -> Any:
        """Voters of run k, those of negative weight turned round, in the form that `_joined` takes."""

    @abstractmethod
    def _joined(self, parts: list[Any], output: NDArray[np.intp]) -> Voters:
        """The voters of all runs as one collection."""

    def committee(self, n_rounds: int) -> tuple[Voters, F64, F64]:
        """Voters, their weights and the intercepts (K,) after the first `n_rounds` rounds of each run.

        A voter of negative weight is turned round, so that all weights are positive. Where no voter is left, one of
        weight 0 stands for none.
        """
        parts, weights, output, start = [], [], [], np.zeros(self.target.n_outputs)
        for k, run in enumerate(self.runs):
            voter, alpha = run.history.after(n_rounds)
            kept = alpha != 0.0
            voter, alpha = voter[kept], alpha[kept]
            if self.target.intercept:
                start[k] = self.target.weights @ self.target.y[k] - alpha @ self.mean(k, voter)
            if len(voter):
                parts.append(self._planted(k, voter, alpha < 0.0))
                weights.append(np.abs(alpha))
                output.append(np.full(len(voter), k))
        if not parts:
            parts, weights, output = [self._any_voter()], [np.zeros(1)], [np.zeros(1, dtype=np.intp)]
        return self._joined(parts, np.concatenate(output)), np.concatenate(weights), start

    @abstractmethod
    def _any_voter(self) -> Any:
        """Some voter, in the form that `_joined` takes."""


class FiniteStumps(QuadVoters):
    """Stumps of a dictionary small enough for all their products: each round costs N, whatever the rows.

    Parameters
    ----------
    binned : Binned
        The training rows.
    dictionary : StumpDictionary
        All N stumps.
    target : Target
        What is fitted.
    penalty, schedule
        What the rounds do.
    n_threads : int
        Ceiling on the number of threads.
    """

    rounds_at_once = 1000

    def __init__(
        self,
        binned: Binned,
        dictionary: StumpDictionary,
        target: Target,
        penalty: Penalty,
        schedule: Schedule,
        n_threads: int,
    ) -> None:
        super().__init__(target)
        self.binned, self.dictionary = binned, dictionary
        products = products_of(binned, dictionary, target, n_threads)
        self.runs = [
            GramRun(products.gram, b, square, penalty, schedule)
            for b, square in zip(products.b, products.square.tolist(), strict=True)
        ]

    def mean(self, k: int, voter: NDArray[np.intp]) -> F64:
        """As `QuadVoters.mean`."""
        return self.dictionary.mean[voter]

    def read(self, X: F64) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """As `QuadVoters.read`."""
        return self.binned.bins.encode(X)

    def votes_on(self, held_out: Any, k: int, voter: int) -> I8:
        """As `QuadVoters.votes_on`."""
        return self.dictionary.votes(held_out, [voter])[:, 0]

    def _planted(self, k: int, voter: NDArray[np.intp], flip: NDArray[np.bool_]) -> tuple[Stumps, NDArray[np.bool_]]:
        return self.dictionary.some(voter), flip

    def _joined(self, parts: list[Any], output: NDArray[np.intp]) -> Forest:
        return _planted_stumps(self.dictionary, parts, self.target, output)

    def _any_voter(self) -> Any:
        return self._planted(0, np.zeros(1, dtype=np.intp), np.zeros(1, dtype=bool))


class ByResiduals(QuadVoters):
    """Dictionaries whose voters are found for the residual, round by round."""

    runs: Sequence[ResidualRun]

    def mean(self, k: int, voter: NDArray[np.intp]) -> F64:
        """As `QuadVoters.mean`."""
        return np.array(self.runs[k].means)[voter]

    def read(self, X: F64) -> Any:
        """As `QuadVoters.read`."""
        return X


class EveryStump(ByResiduals):
    """Stumps at every threshold and of every subset of categories: each round is one pass over the table.

    Parameters
    ----------
    binned, dictionary, target, penalty, schedule, n_threads
        As for `FiniteStumps`.
    """

    def __init__(
        self,
        binned: Binned,
        dictionary: StumpDictionary,
        target: Target,
        penalty: Penalty,
        schedule: Schedule,
        n_threads: int,
    ) -> None:
        super().__init__(target)
        self.binned, self.dictionary = binned, dictionary
        cells = _core.Cells(binned.codes, binned.bins.n_bins, n_threads)
        self.sources = [
            StumpSource(dictionary, cells, binned.codes, penalty, intercept=target.intercept) for _ in target.y
        ]
        self.runs = _residual_runs(self.sources, target, penalty, schedule)

    def read(self, X: F64) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """As `QuadVoters.read`."""
        return self.binned.bins.encode(X)

    def votes_on(self, held_out: Any, k: int, voter: int) -> I8:
        """As `QuadVoters.votes_on`."""
        return self.sources[k].votes_on(held_out, self.runs[k].keys[voter])

    def _planted(self, k: int, voter: NDArray[np.intp], flip: NDArray[np.bool_]) -> tuple[Stumps, NDArray[np.bool_]]:
        keys = [self.runs[k].keys[j] for j in voter.tolist()]
        return self.sources[k].stumps(keys), flip

    def _joined(self, parts: list[Any], output: NDArray[np.intp]) -> Forest:
        return _planted_stumps(self.dictionary, parts, self.target, output)

    def _any_voter(self) -> Any:
        if len(self.dictionary):
            return self.dictionary.some([0]), np.zeros(1, dtype=bool)
        j, votes = self.dictionary.best_subset(np.arange(float(self.dictionary.offset[-1])) % 2 - 0.5)[1][0]
        return self.sources[0].stumps([(j, votes.tobytes())]), np.zeros(1, dtype=bool)


class Trees(ByResiduals):
    """Trees grown on the signs of the residuals, weighted with their sizes.

    Parameters
    ----------
    binned : Binned
        The training rows.
    grower : Grower
        Grows trees of two classes on them.
    target, penalty, schedule
        As for `FiniteStumps`.
    seed : int
        Draws the features that nodes look at.
    """

    def __init__(
        self,
        binned: Binned,
        grower: _core.Grower,
        target: Target,
        penalty: Penalty,
        schedule: Schedule,
        seed: int,
    ) -> None:
        super().__init__(target)
        self.binned = binned
        self.sources = [TreeSource(grower, target.weights, seed, penalty, intercept=target.intercept) for _ in target.y]
        self.runs = _residual_runs(self.sources, target, penalty, schedule)

    def votes_on(self, held_out: Any, k: int, voter: int) -> I8:
        """As `QuadVoters.votes_on`."""
        source = self.sources[k]
        one = forest_of([source.trees[voter]], self.binned.bins, 2, label=[source.labels[voter]])
        return (2 * one.votes(held_out)[:, 0] - 1).astype(np.int8)

    def _planted(self, k: int, voter: NDArray[np.intp], flip: NDArray[np.bool_]) -> list[tuple[Any, I8]]:
        source, found = self.sources[k], []
        for j, turned in zip(voter.tolist(), flip.tolist(), strict=True):
            label = source.labels[j]
            vote = np.where(label < 0, 0, (2 * label - 1) * (-1 if turned else 1))
            found.append((source.trees[j], vote.astype(np.int8)))
        return found

    def _joined(self, parts: list[Any], output: NDArray[np.intp]) -> Forest:
        trees = [tree for part in parts for tree, _ in part]
        votes = [vote for part in parts for _, vote in part]
        if self.target.labels:
            label = [np.where(vote == 0, -1, vote > 0).astype(np.int32) for vote in votes]
            return forest_of(trees, self.binned.bins, 2, label=label)
        K = self.target.n_outputs
        value = [vote[:, None] * (np.arange(K) == k).astype(np.float64) for vote, k in zip(votes, output, strict=True)]
        return forest_of(trees, self.binned.bins, K, value=value)

    def _any_voter(self) -> Any:
        source = self.sources[0]
        if not source.trees:  # the target is constant; any tree will do
            n = len(self.target.weights)
            source.best(np.where(np.arange(n) % 2, 1.0, -1.0) * self.target.weights, {})
        return self._planted(0, np.zeros(1, dtype=np.intp), np.zeros(1, dtype=bool))


class Classifiers(ByResiduals):
    """A user's classifier, trained on the signs of the residuals.

    Parameters
    ----------
    voter : classifier
        To clone.
    X : float64 array (n, p)
        The encoded rows.
    count : float
        How many rows they stand for.
    target, penalty, schedule, seed
        As for `Trees`; the seed is drawn from for the members.
    """

    def __init__(
        self, voter: Any, X: F64, count: float, target: Target, penalty: Penalty, schedule: Schedule, seed: int
    ) -> None:
        super().__init__(target)
        self.sources = [
            ClassifierSource(voter, X, target.weights, count, seed + k, penalty, intercept=target.intercept)
            for k in range(target.n_outputs)
        ]
        self.runs = _residual_runs(self.sources, target, penalty, schedule)

    def votes_on(self, held_out: Any, k: int, voter: int) -> I8:
        """As `QuadVoters.votes_on`."""
        return np.where(self.sources[k].members[voter].predict(held_out) > 0, 1, -1).astype(np.int8)

    def committee(self, n_rounds: int) -> tuple[Voters, F64, F64]:
        """As `QuadVoters.committee`; weights keep their signs, as a user's classifier cannot be turned round."""
        voters, weights, start = super().committee(n_rounds)
        return voters, weights * self._signs, start

    def _planted(self, k: int, voter: NDArray[np.intp], flip: NDArray[np.bool_]) -> tuple[list[Any], F64]:
        return [self.sources[k].members[j] for j in voter.tolist()], np.where(flip, -1.0, 1.0)

    def _joined(self, parts: list[Any], output: NDArray[np.intp]) -> Voters:
        members = [member for some, _ in parts for member in some]
        self._signs = np.concatenate([signs for _, signs in parts])
        voters = EstimatorVoters(members, np.array([-1, 1]))
        return voters if self.target.labels else SignedVoters(voters, output, self.target.n_outputs)

    def _any_voter(self) -> Any:
        source = self.sources[0]
        if not source.members:
            n = len(self.target.weights)
            source.best(np.where(np.arange(n) % 2, 1.0, -1.0) * self.target.weights, {})
        return self._planted(0, np.zeros(1, dtype=np.intp), np.zeros(1, dtype=bool))


@dataclass(frozen=True, eq=False)
class Products:
    """Weighted mean products of N stumps and K targets, centred where there is an intercept.

    Attributes
    ----------
    gram : float64 array (N, N)
        Of the stumps with each other.
    b : float64 array (K, N)
        Of the stumps with the targets.
    square : float64 array (K,)
        Of the targets with themselves.
    """

    gram: F64
    b: F64
    square: F64


def products_of(binned: Binned, dictionary: StumpDictionary, target: Target, n_threads: int) -> Products:
    """All products that rounds over a finite dictionary need, from one pass over pairs of cells."""
    cells = _core.Cells(binned.codes, binned.bins.n_bins, n_threads)
    gram = dictionary.gram(cells.pairs(target.weights), dictionary.mean if target.intercept else None, n_threads)
    y = target.y
    if target.intercept:  # before the products are taken, as numbers far from zero would leave few digits of them
        y = y - (y @ target.weights)[:, None]
    b = np.stack([dictionary.correlations(cells.sums(target.weights * of_run)) for of_run in y])
    if target.intercept:  # 0 but for rounding
        b -= np.outer(y @ target.weights, dictionary.mean)
    square = y**2 @ target.weights
    return Products(gram, b, square)


def _residual_runs(sources: Sequence[Any], target: Target, penalty: Penalty, schedule: Schedule) -> list[ResidualRun]:
    return [
        ResidualRun(source, y, target.weights, penalty, schedule, intercept=target.intercept)
        for source, y in zip(sources, target.y, strict=True)
    ]


def _planted_stumps(dictionary: StumpDictionary, parts: list[Any], target: Target, output: NDArray[np.intp]) -> Forest:
    """Stumps of all runs as one forest."""
    joined, flip = Stumps.joined([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    if target.labels:
        return dictionary.to_forest(joined, flip=flip)
    return dictionary.to_forest(joined, n_classes=target.n_outputs, output=output, flip=flip)
