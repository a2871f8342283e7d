"""Where a round's voter comes from: every stump of a table, trees, or a user's classifier."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from committee import _core
from committee.learners.base.estimator import seeded
from committee.learners.quadboost.residual_run import Found
from committee.objectives.programs.coordinate_steps import first_largest
from committee.objectives.programs.penalties import Penalty
from committee.voters.growing import signed_votes
from committee.voters.stump_dictionary import StumpDictionary, Stumps

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]


class StumpSource:
    """The best of all stumps, from one pass over the table: sums of the residuals per cell.

    Parameters
    ----------
    dictionary : StumpDictionary
        The stumps.
    cells : Cells
        The training rows' cells.
    codes : uint8 or uint16 array (n, p)
        Their bins.
    penalty : Penalty
        What weights cost.
    intercept : bool
        Votes are centred.
    """

    def __init__(
        self,
        dictionary: StumpDictionary,
        cells: _core.Cells,
        codes: NDArray[np.uint8] | NDArray[np.uint16],
        penalty: Penalty,
        *,
        intercept: bool,
    ) -> None:
        self.dictionary, self.cells, self.codes, self.penalty = dictionary, cells, codes, penalty
        self.intercept = intercept
        self.mean = dictionary.mean if intercept else np.zeros(len(dictionary))
        self.eta = dictionary.mean_square - self.mean**2
        self.alpha = np.zeros(len(dictionary))
        self._votes: dict[Hashable, I8] = {}

    def best(self, weighted: F64, alpha: dict[Hashable, float]) -> Found | None:
        """As `VoterSource.best`."""
        sums = self.cells.sums(weighted)
        c = self.dictionary.correlations(sums)
        if self.intercept:  # 0 but for rounding, as the residual of an intercept is centred
            c = c - self.mean * float(weighted.sum())
        for key, weight in alpha.items():
            if isinstance(key, int):
                self.alpha[key] = weight
        falls, _ = self.penalty.decrease(c, self.eta, self.alpha)
        j = first_largest(falls)
        found = None if j < 0 else Found(j, float(c[j]), float(self.eta[j]), float(self.mean[j]))
        subset = self._best_subset(sums, alpha) if self.dictionary.subsets else None
        if subset is None or (found is not None and self._fall(found, alpha) >= self._fall(subset, alpha)):
            return found
        return subset

    def _best_subset(self, sums: F64, alpha: dict[Hashable, float]) -> Found | None:
        """The best subset of categories that is not listed."""
        c, subsets = self.dictionary.best_subset(sums)
        found = []
        total = float(sums[: self.dictionary.offset[1]].sum())
        for value, (j, votes) in zip(c.tolist(), subsets, strict=True):
            cells = slice(int(self.dictionary.offset[j]), int(self.dictionary.offset[j + 1]))
            mean = float(votes @ self.dictionary.cell_weight[cells]) / self.dictionary.total if self.intercept else 0.0
            key = (j, votes.tobytes())
            if self.intercept:
                value -= mean * total
            found.append(Found(key, value, 1.0 - mean * mean, mean))
        falls = np.array([self._fall(one, alpha) for one in found])
        at = first_largest(falls)
        return None if at < 0 else found[at]

    def _fall(self, found: Found, alpha: dict[Hashable, float]) -> float:
        now = alpha.get(found.key, 0.0)
        return float(self.penalty.decrease(np.array([found.c]), np.array([found.eta]), np.array([now]))[0][0])

    def _by_bin(self, key: Hashable) -> tuple[int, I8]:
        """Column of a voter, and its votes by bin."""
        if isinstance(key, tuple):
            return key[0], np.frombuffer(key[1], dtype=np.int8)
        assert isinstance(key, int)
        one = self.dictionary.some([key])
        f = int(one.feature[0])
        return f, one.by_bin(0, int(self.dictionary.bins.n_bins[f]), bool(self.dictionary.bins.categorical[f]))

    def votes(self, key: Hashable) -> I8:
        """As `VoterSource.votes`; kept, a byte for each row and voter of the committee."""
        if key not in self._votes:
            self._votes[key] = self.votes_on(self.codes, key)
        return self._votes[key]

    def forget(self, key: Hashable) -> None:
        """As `VoterSource.forget`; stumps can be cast again."""
        self._votes.pop(key, None)

    def votes_on(self, codes: NDArray[np.uint8] | NDArray[np.uint16], key: Hashable) -> I8:
        """What a voter says of other rows in the same bins."""
        f, by_bin = self._by_bin(key)
        votes: I8 = by_bin[codes[:, f]]
        return votes

    def subtract(self, residual: F64, key: Hashable, step: float, mean: float) -> None:
        """As `VoterSource.subtract`."""
        f, by_bin = self._by_bin(key)
        self.cells.shift(residual, f, -step * (by_bin.astype(np.float64) - mean))

    def stumps(self, keys: list[Hashable]) -> Stumps:
        """The voters of these keys."""
        feature, bin, missing = [], [], []
        left: list[NDArray[np.bool_] | None] = []
        for key in keys:
            f, by_bin = self._by_bin(key)
            feature.append(f)
            missing.append(int(by_bin[-1]))
            bin.append(int(self.dictionary.stumps.bin[key]) if isinstance(key, int) else -1)
            left.append(by_bin[:-1] < 0 if isinstance(key, tuple) else None)
        return Stumps(np.array(feature, np.int32), np.array(bin, np.int32), np.array(missing, np.int8), tuple(left))


class _Trained(ABC):
    """Voters that are trained for the residual: its signs are the classes, its sizes the row weights."""

    def __init__(self, penalty: Penalty, *, intercept: bool) -> None:
        self.penalty, self.intercept = penalty, intercept
        self._votes: list[I8] = []

    def best(self, weighted: F64, alpha: dict[Hashable, float]) -> Found | None:
        """As `VoterSource.best`: the voter that was trained, whatever it is worth."""
        positive = weighted > 0.0
        if not weighted.any() or (self._needs_both and positive.all() | ~positive.any()):
            return None
        votes = self._train(positive, np.abs(weighted))
        mean = float(self._row_weights @ votes) if self.intercept else 0.0
        self._votes.append(votes)
        return Found(len(self._votes) - 1, float(weighted @ votes) - mean * float(weighted.sum()), 1.0 - mean**2, mean)

    _row_weights: F64
    _needs_both: ClassVar[bool] = False
    """Whether a training set of one class is refused."""

    @abstractmethod
    def _train(self, positive: NDArray[np.bool_], weights: F64) -> I8:
        """The votes of a new voter, +1 where it takes the residual for positive."""

    def votes(self, key: Hashable) -> I8:
        """As `VoterSource.votes`."""
        assert isinstance(key, int)
        return self._votes[key]

    def forget(self, key: Hashable) -> None:
        """As `VoterSource.forget`: a byte for each row."""
        assert isinstance(key, int)
        self._votes[key] = np.empty(0, dtype=np.int8)

    def subtract(self, residual: F64, key: Hashable, step: float, mean: float) -> None:
        """As `VoterSource.subtract`."""
        residual -= step * (self.votes(key) - mean)


class TreeSource(_Trained):
    """A tree grown on the residual's signs, weighted with its sizes.

    Parameters
    ----------
    grower : Grower
        Grows trees of two classes on the training rows' bins.
    row_weights : float64 array (n,)
        Weights of the rows, which sum to one.
    seed : int
        Draws the features that nodes look at.
    penalty, intercept
        As for `StumpSource`.
    """

    def __init__(self, grower: _core.Grower, row_weights: F64, seed: int, penalty: Penalty, *, intercept: bool) -> None:
        super().__init__(penalty, intercept=intercept)
        self.grower, self._row_weights, self.seed = grower, row_weights, seed
        self.trees: list[_core.GrownTree] = []
        self.labels: list[NDArray[np.int32]] = []

    def _train(self, positive: NDArray[np.bool_], weights: F64) -> I8:
        tree = self.grower.grow_classes(positive.astype(np.uint16), weights, None, self.seed + len(self.trees))
        label, votes = signed_votes(tree)
        self.trees.append(tree)
        self.labels.append(label)
        return votes


class ClassifierSource(_Trained):
    """A user's classifier, fitted to the residual's signs with its sizes as row weights.

    Parameters
    ----------
    voter : classifier
        Its `fit` takes `sample_weight`.
    X : float64 array (n, p)
        The encoded rows.
    count : float
        How many rows they stand for: what the weights of a training set sum to.
    row_weights, seed, penalty, intercept
        As for `TreeSource`.
    """

    _needs_both = True

    def __init__(
        self,
        voter: BaseEstimator,
        X: F64,
        row_weights: F64,
        count: float,
        seed: int,
        penalty: Penalty,
        *,
        intercept: bool,
    ) -> None:
        super().__init__(penalty, intercept=intercept)
        self.voter, self.X, self._row_weights, self.count = voter, X, row_weights, count
        self.random = np.random.RandomState(seed)
        self.members: list[Any] = []

    def _train(self, positive: NDArray[np.bool_], weights: F64) -> I8:
        member: Any = seeded(clone(self.voter), int(self.random.randint(2**31 - 1)))
        # as many as the rows stand for, which classifiers that are held back by a penalty look at
        member.fit(self.X, np.where(positive, 1, -1), sample_weight=self.count * weights / weights.sum())
        self.members.append(member)
        return np.where(member.predict(self.X) > 0, 1, -1).astype(np.int8)
