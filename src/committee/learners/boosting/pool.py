"""Pools of candidate voters: the best voter for signed row weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from committee import _core
from committee.data.bins import Binned
from committee.data.number_types import F64, I8
from committee.learners.base.estimator import fit_weighted, seeded
from committee.learners.base.fit_record import FitRecord, RecordedGrower
from committee.objectives.programs.penalised_least_squares import Penalty
from committee.voters.estimators import EstimatorVoters, RegressorVoters, SignedVoters, predict_numbers
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits, forest_from_grown, leaf_labels_and_votes, tree_grower
from committee.voters.protocol import Voters


@dataclass(frozen=True, eq=False)
class Candidate:
    """A voter that was found for signed row weights s."""

    key: Hashable  # equal keys of a pool are the same voter
    voter: Any  # the pool's own form of the voter, from which it makes voters of a committee
    c: float  # correlation sum_i s_i h(x_i), centred where the pool centres votes
    eta: float = 1.0  # its (centred) mean square
    mean: float = 0.0  # its mean vote; 0 where votes are not centred
    sign: int = 1  # -1: its complement votes


class Pool(ABC):
    """Voters of one kind, searched for large correlations ``sum_i s_i h(x_i)`` with signed row weights s."""

    exhaustive: ClassVar[bool]  # every voter is searched; else candidates are trained
    has_complements: ClassVar[bool] = True  # the complement of a voter, which votes -h, can be a voter too

    @abstractmethod
    def best(self, s: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        """Return the best voter for residuals times row weights `s` ``(n,)``; `alpha` has weights by voter key."""

    @abstractmethod
    def largest(
        self, s: F64, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Candidate]]:
        """Return the largest correlation found with classes times row weights `s`, and candidates above `least`."""

    @abstractmethod
    def votes(self, candidate: Candidate) -> I8 | F64:
        """Return votes on the training rows, ``(n,)``, stored until `forget` is called."""

    @abstractmethod
    def forget(self, candidate: Candidate) -> None: ...

    def subtract(self, residual: F64, candidate: Candidate, step: float) -> None:
        residual -= step * (self.votes(candidate) - candidate.mean)

    def read(self, X: F64) -> Any:
        """Return other rows in the form that `votes_on` takes."""
        return X

    @abstractmethod
    def votes_on(self, rows: Any, candidate: Candidate) -> I8 | F64: ...

    @abstractmethod
    def voters(self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int) -> Voters:
        """Return voters of a committee; `output` ``(T,)`` is the column of the score that each votes on."""

    @abstractmethod
    def stand_in(self, row_weights: F64) -> Candidate:
        """Return a candidate for a committee in which no voter has weight."""

    def keep(self, record: FitRecord) -> None:  # noqa: B027 - voters of a user cannot be recorded
        """Record results of searches, and reuse those in `record`."""


class TrainedPool(Pool):
    """Voters that are trained in each round, on signed row weights."""

    exhaustive = False
    needs_both: ClassVar[bool] = False  # nothing is trained on rows of a single class

    def __init__(self, row_weights: F64 | None = None) -> None:
        self.row_weights = row_weights
        self._first: Candidate | None = None
        self._n_trained = 0
        self._votes: dict[Hashable, Any] = {}

    def train(self, positive: NDArray[np.bool_], weights: F64) -> tuple[Any, I8]:
        """Return a voter trained to tell `positive` rows from others, and its votes on all rows."""
        raise NotImplementedError

    def best(self, s: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        positive = s > 0.0
        if not s.any() or (self.needs_both and positive.all() | ~positive.any()):
            return None
        return self._trained(positive, np.abs(s), s)

    def largest(
        self, s: F64, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Candidate]]:
        # The row weights of a program of few voters lie on few rows, often of one class, from which there is little to
        # learn. So a voter is trained half-way to the mean of all row weights so far; if it has no edge under the
        # present ones, on these themselves, and at last on the mean.
        reached = -np.inf
        for signed in (0.5 * (s + centre), s, centre):
            weights, positive = np.abs(signed), ~np.signbit(signed)  # a row without weight keeps the class of its zero
            if len(np.unique(positive[weights > 0.0])) < 2:
                continue
            candidate = self._trained(positive, weights, s)
            reached = max(reached, candidate.c)
            if candidate.c > least:
                return candidate.c, [candidate]
            self.forget(candidate)
        return reached, []

    def _trained(self, positive: NDArray[np.bool_], weights: F64, s: F64) -> Candidate:
        voter, votes = self.train(positive, weights)
        c, mean = float(s @ votes), 0.0
        if self.row_weights is not None:
            mean = float(self.row_weights @ votes)
            c -= mean * float(s.sum())
        return self._added(Candidate(self._n_trained, voter, c, 1.0 - mean**2, mean), votes)

    def _added(self, candidate: Candidate, votes: I8 | F64) -> Candidate:
        self._votes[candidate.key] = votes
        self._n_trained += 1
        self._first = self._first or candidate
        return candidate

    def votes(self, candidate: Candidate) -> Any:
        return self._votes[candidate.key]

    def forget(self, candidate: Candidate) -> None:
        del self._votes[candidate.key]

    def stand_in(self, row_weights: F64) -> Candidate:
        if self._first is None:
            s = np.where(np.arange(len(row_weights)) % 2, 1.0, -1.0) * row_weights
            return self._trained(s > 0.0, np.abs(s), s)
        return self._first


class TreePool(TrainedPool):
    def __init__(self, binned: Binned, limits: GrowthLimits, n_threads: int, row_weights: F64 | None = None) -> None:
        super().__init__(row_weights)
        self.binned = binned
        self.grower: _core.Grower | RecordedGrower = tree_grower(binned, "gini", 2, limits, n_threads)

    def keep(self, record: FitRecord) -> None:
        self.grower = RecordedGrower(self.grower, self.binned, record)

    def train(self, positive: NDArray[np.bool_], weights: F64) -> tuple[tuple[_core.GrownTree, NDArray[np.int32]], I8]:
        tree = self.grower.grow_classes(positive.astype(np.uint16), weights, None, 0)
        label, votes = leaf_labels_and_votes(tree)
        return (tree, label), votes

    def votes_on(self, rows: F64, candidate: Candidate) -> I8:
        return (2 * self.voters([candidate], None, 2).votes(rows)[:, 0] - 1).astype(np.int8)

    def voters(self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int) -> Forest:
        trees = [one.voter[0] for one in candidates]
        signs = [one.sign * np.where(one.voter[1] < 0, 0, 2 * one.voter[1] - 1) for one in candidates]
        if output is None:
            label = [np.where(sign == 0, -1, sign > 0).astype(np.int32) for sign in signs]
            return forest_from_grown(trees, self.binned.bins, 2, label=label)
        columns = (output[:, None] == np.arange(n_classes)).astype(np.float64)
        value = [sign[:, None] * column for sign, column in zip(signs, columns, strict=True)]
        return forest_from_grown(trees, self.binned.bins, n_classes, value=value)


class Clones:
    def __init__(self, voter: Any, random: np.random.RandomState) -> None:
        self.voter, self.random = voter, random

    def trained(self, X: F64, y: NDArray[Any], weights: F64 | None) -> Any:
        member: Any = seeded(clone(self.voter), int(self.random.randint(2**31 - 1)))
        return fit_weighted(member, X, y, weights)


class ClassifierPool(TrainedPool):
    """Clones of a user's classifier, trained to tell -1 from +1."""

    has_complements = False
    needs_both = True

    def __init__(
        self,
        voter: Any,
        X: F64,
        seed: int,
        scaled: Callable[[F64], F64],
        row_weights: F64 | None = None,
        labels: type[np.integer[Any]] = np.int64,
    ) -> None:
        super().__init__(row_weights)
        self.clones: Clones = Clones(voter, np.random.RandomState(seed))
        # classifiers with a penalty take the sum of weights for a number of rows
        self.X, self.scaled, self.labels = X, scaled, labels

    def train(self, positive: NDArray[np.bool_], weights: F64) -> tuple[Any, I8]:
        member = self.clones.trained(self.X, np.where(positive, 1, -1).astype(self.labels), self.scaled(weights))
        return member, _signs(member, self.X)

    def votes_on(self, rows: F64, candidate: Candidate) -> I8:
        return _signs(candidate.voter, rows)

    def voters(self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int) -> Voters:
        voters = EstimatorVoters([one.voter for one in candidates], np.array([-1, 1]))
        return voters if output is None else SignedVoters(voters, output, n_classes)


def _signs(member: Any, X: F64) -> I8:
    return np.where(member.predict(X) > 0, 1, -1).astype(np.int8)


class RegressorPool(TrainedPool):
    """Clones of a user's regressor, fitted to the residuals over their root mean square."""

    has_complements: ClassVar[bool] = False

    def __init__(
        self, voter: Any, X: F64, seed: int, row_weights: F64, weights_of_fits: F64 | None, *, centred: bool
    ) -> None:
        super().__init__(row_weights)
        self.clones: Clones = Clones(voter, np.random.RandomState(seed))
        self.X = X
        self.w: F64 = row_weights
        self.weights_of_fits: F64 | None = weights_of_fits
        self.centred: bool = centred

    def _trained(self, positive: NDArray[np.bool_], weights: F64, s: F64) -> Candidate:
        residual = s / self.w
        # so weights and penalties keep their meaning as residuals shrink
        size = float(np.sqrt(self.w @ residual**2)) or 1.0
        voter = self.clones.trained(self.X, residual / size, self.weights_of_fits)
        votes = predict_numbers(voter, self.X)
        mean = float(self.w @ votes) if self.centred else 0.0
        about = votes - mean
        fitted = voter, float(np.abs(votes).max())
        return self._added(Candidate(self._n_trained, fitted, float(s @ about), float(self.w @ about**2), mean), votes)

    def votes_on(self, rows: F64, candidate: Candidate) -> F64:
        return predict_numbers(candidate.voter[0], rows)

    def voters(
        self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int
    ) -> RegressorVoters:
        members, spread = zip(*(one.voter for one in candidates), strict=True)
        of_score = np.zeros(len(candidates), dtype=np.intp) if output is None else output
        return RegressorVoters(members, of_score, np.array(spread), 1 if output is None else n_classes, n_classes)
