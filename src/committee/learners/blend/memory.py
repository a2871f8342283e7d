"""Memory that a fit needs, estimated beforehand, and the candidates that a limit leaves room for.

The estimates are for one thread more or less, of measured peaks (docs/decisions.md): of rows, columns, classes and
settings, with deep trees as large as noisy targets make them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from committee.data.memory_text import text_of
from committee.data.rows import Rows, TargetRows
from committee.data.sparse import SparseMatrix
from committee.learners.adaboost.adaboost import AdaBoostClassifier
from committee.learners.bagging.random_forest import RandomForestClassifier, RandomForestRegressor
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.learners.base.folds import Fold
from committee.learners.blend.member import LeftOut
from committee.learners.blend.portfolio import Candidate
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from committee.learners.gradient.leaves import leaves_by_rows
from committee.learners.trees.probit_boost import LogitBoostClassifier

LEAST_DRAWN = 1000
"""Draws are not made smaller than that many rows."""
REASON = "memory"
"""Why a candidate is left out that does not fit."""
_NODE = 50.0
"""Bytes of a tree node without its votes, of which a class has 8."""


@dataclass(frozen=True)
class Needed:
    """Bytes that a candidate needs."""

    kept: float
    """Once it is trained: its voters, and its answers to the judged rows."""
    passing: float
    """While it is trained, beyond these."""


@dataclass(frozen=True)
class FitMemory:
    """What a fit needs by the size of its rows; bytes.

    Examples
    --------
    >>> from committee.learners.blend.portfolio import candidates
    >>> memory = FitMemory(n=300_000, row=28 * 8.0, n_columns=28, n_scores=2, n_folds=3, n_trained=2e5, n_threads=1)
    >>> wanted = candidates(False, "default", 300_000)
    >>> chosen, left_out = memory.within(1e9, wanted)
    >>> [one.parameters.get("max_samples") for one in chosen if one.name == "forest"] != [30_000]
    True
    """

    n: int
    row: float
    """Bytes of an encoded row."""
    n_columns: int
    n_scores: int
    """Classes, or numbers to predict."""
    n_folds: int
    n_trained: float
    """Rows of a fit on all but those of a fold, the most of them."""
    n_threads: int

    @classmethod
    def of(cls, rows: Rows | TargetRows, n_scores: int, folds: Sequence[Fold], n_threads: int) -> FitMemory:
        """Sizes of a fit."""
        n_folds, n_trained = len(folds), max(len(fold.others) for fold in folds)
        n, cells = len(rows), rows.cells
        if isinstance(cells, SparseMatrix):
            stored = sum(array.nbytes for array in vars(cells).values() if hasattr(array, "nbytes"))
            return cls(n, stored / n, max(1, round(stored / n / 8.0)), n_scores, n_folds, n_trained, n_threads)
        return cls(n, cells.nbytes / n, cells.shape[1], n_scores, n_folds, n_trained, n_threads)

    @property
    def resident(self) -> float:
        """The encoded table, its targets and weights, and the folds."""
        return self.n * (self.row + 40.0 + 16.0 * self.n_folds)

    @property
    def dealing(self) -> float:
        """Beyond that, while rows are dealt out to folds."""
        return self.n * (self.row + 100.0)

    def weighing(self, n_members: int) -> float:
        """While members are weighed: their answers, and losses with and without each."""
        return self.n * 8.0 * n_members * (2.0 * self.n_scores + 4.0)

    def needed(self, candidate: Candidate) -> Needed:
        """Bytes that a candidate needs."""
        fits = 1 if candidate.out_of_bag else self.n_folds
        n = self.n if candidate.out_of_bag else self.n_trained
        settings = candidate.learner(**candidate.parameters).get_params(deep=False)
        answers = self.n * 8.0 * self.n_scores
        copy = n * (self.row + 32.0)
        of_learner = self._of_learner(candidate.learner, settings, n)
        return Needed(answers + fits * of_learner.kept, 3.0 * answers + copy + of_learner.passing)

    def _of_learner(self, learner: type[Any], settings: dict[str, Any], n: float) -> Needed:
        """Voters of one fit on n rows, and what training them takes beyond a copy of the rows."""
        K, p, threads = self.n_scores, self.n_columns, self.n_threads
        node = _NODE + 8.0 * K
        if issubclass(learner, (RandomForestClassifier, RandomForestRegressor)):
            drawn = min(n, settings["max_samples"] or n)
            different = n * -np.expm1(-drawn / n)  # of rows drawn with replacement
            per_row = min(2.1, 0.5 + 0.1 * K) if issubclass(learner, RandomForestClassifier) else 2.1
            nodes = settings["n_estimators"] * different * per_row
            return Needed(nodes * node, nodes * node * 1.4 + n * (2.0 * p + 16.0 * K) + threads * drawn * 64.0)
        if issubclass(learner, SBPMTClassifier):
            share = settings["max_samples"]
            drawn = share * n if isinstance(share, float) else min(share, n)
            kept = settings["n_estimators"] * drawn * 20.0 * K
            return Needed(kept, threads * drawn * (5.0 * self.row + 40.0 * K) + n * (2.0 * p + 16.0 * K))
        if issubclass(learner, LogitBoostClassifier):
            return Needed(8.0 * p * K, n * (2.0 * self.row + 60.0 + 40.0 * K))
        if issubclass(learner, (GradientBoostingClassifier, GradientBoostingRegressor)):
            leaves = settings["max_leaf_nodes"]
            leaves = leaves_by_rows(n) if leaves == "auto" else leaves
            trees = settings["n_estimators"] * (K if K > 2 else 1)
            nodes = trees * min(2.0 * leaves, 2.0 * n / settings["min_samples_leaf"])
            lines = issubclass(learner, GradientBoostingRegressor) and settings["leaf"] != "constant"
            kept = nodes * (190.0 if lines else 60.0)
            return Needed(kept, 1.4 * kept + n * (2.0 * p + 150.0 + 40.0 * K))
        if issubclass(learner, AdaBoostClassifier):
            nodes = settings["n_estimators"] * 2.0 ** (settings["max_depth"] + 1)
            return Needed(nodes * node, nodes * node + n * (2.0 * p + 100.0 + 16.0 * K))
        return Needed(0.0, n * self.row)

    def peak(self, candidates: Sequence[Candidate]) -> float:
        """The most that a fit of these candidates, one after the other, needs at any time."""
        kept, most = self.resident, self.resident + self.dealing
        for one in candidates:
            needed = self.needed(one)
            kept += needed.kept
            most = max(most, kept + needed.passing)
        return max(most, kept + self.weighing(len(candidates)))

    def within(self, limit: float, candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[LeftOut]]:
        """Return the candidates that a limit leaves room for, some with smaller draws, and the others.

        As many stay as there is room for with the smallest draws, without those that need the most; then draws are
        made larger, those of the first candidate first.

        Parameters
        ----------
        limit : float
            Bytes of the whole fit.
        candidates : sequence of Candidate
            In the order of their training.

        Raises
        ------
        ValueError
            If there is no room for any, with the least limit that leaves some.
        """
        if not candidates or self.peak(candidates) <= limit:
            return list(candidates), []
        chosen = [self._smallest(one) for one in candidates]
        left_out: list[LeftOut] = []
        while self.peak(chosen) > limit:
            largest = max(chosen, key=lambda one: self.peak([one]))
            if len(chosen) == 1:
                raise ValueError(
                    f"memory_limit leaves no candidate room on {self.n} rows of {self.n_columns} columns: the least "
                    f"that a fit needs is {text_of(self.peak(chosen))}, by estimate. Give that much, or fewer rows."
                )
            chosen.remove(largest)
            left_out.append(LeftOut(largest.name, REASON))
        whole = {one.name: one for one in candidates}
        for k, small in enumerate(chosen):
            if small is not whole[small.name]:
                chosen[k] = self._largest_draws(limit, chosen, k, whole[small.name])
        return chosen, left_out

    def _largest_draws(self, limit: float, chosen: Sequence[Candidate], k: int, whole: Candidate) -> Candidate:
        """Return candidate k with the largest draws, up to those of the whole one, that a limit leaves room for."""

        def fits(one: Candidate) -> bool:
            return self.peak([*chosen[:k], one, *chosen[k + 1 :]]) <= limit

        if fits(whole):
            return whole
        few, many = LEAST_DRAWN, self._drawn(whole)
        while many - few > max(1, few // 100):
            middle = (few + many) // 2
            few, many = (middle, many) if fits(_drawing(whole, middle)) else (few, middle)
        return _drawing(whole, few)

    def _drawn(self, candidate: Candidate) -> int:
        """Rows of a draw."""
        share = candidate.learner(**candidate.parameters).get_params(deep=False)["max_samples"]
        return round(share * self.n) if isinstance(share, float) else min(share or self.n, self.n)

    def _smallest(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the smallest draws, or itself if it has none."""
        if "max_samples" not in candidate.learner.declared_parameters or self._drawn(candidate) <= LEAST_DRAWN:
            return candidate
        return _drawing(candidate, LEAST_DRAWN)


def _drawing(candidate: Candidate, rows: int) -> Candidate:
    return replace(candidate, parameters=candidate.parameters | {"max_samples": rows})
