"""Contracts on whole voters: how few of them lose no more than is allowed, judged in folds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.contract_metric import ContractMetric, Halves
from committee.learners.trained.few_trees import halves_of
from committee.learners.trained.reweighted import reweighted
from committee.learners.trained.unseen_vote import BLOCK
from committee.learners.trained.voter_path import PrunedVote, PruningPath, pruning_path, solved_or_kept
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.committee import Committee

FOLDS = 5
"""Parts of the rows, each judged by weights that were found without it."""

SEED = 0
"""Of the folds."""


@dataclass(frozen=True, eq=False)
class VoterContract:
    """Rows that judge whole voters and their weights.

    The weights that judge a row were found without it, and the voters that vote on it have not seen it.

    Parameters
    ----------
    committee : Committee
        The whole ensemble.
    lines : MarginMatrix
        Its lines on n rows.
    data : array (n, p)
        These rows, encoded as the committee takes them.
    labels : intp array (n,)
        Their class numbers.
    metric : ContractMetric
        What is counted.
    objective : Objective
        Finds the weights.
    n_threads : int
        Threads that walk the voters.
    """

    committee: Committee
    lines: MarginMatrix
    data: Any
    labels: Index
    metric: ContractMetric
    objective: Objective
    n_threads: int

    def judged(self, path: PruningPath) -> PruningPath:
        """The path with what each of its committees loses against the whole ensemble."""
        every = np.arange(len(self.labels))
        whole = self._kept(path.before, self.lines, every)
        kept: list[list[F64]] = [[] for _ in path.steps]
        order = []
        for train, test in self._folds():
            order.append(test)
            weight = np.zeros(len(self.labels))
            weight[train] = self.lines.row_weight[train]
            part = self.lines.weighted(weight)
            own = part.own
            steps = pruning_path(self.committee, part, solved_or_kept(self.objective, part, own)).steps
            for i, step in enumerate(path.steps):
                alike = next((s for s in steps if len(s.voters) <= len(step.voters)), steps[-1])
                kept[i].append(self._kept(alike, self.lines, test))
        tested = np.concatenate(order)
        found = [
            self.metric.lost(
                self.labels[tested], np.concatenate(parts, axis=1), whole[:, tested], self.lines.row_weight[tested]
            )
            for parts in kept
        ]
        steps = tuple(
            replace(step, lost=lost, lost_error=error) for step, (lost, error) in zip(path.steps, found, strict=True)
        )
        return replace(path, steps=steps)

    def _folds(self) -> Iterator[tuple[Index, Index]]:
        least = int(np.unique(self.labels, return_counts=True)[1].min())
        kind = StratifiedKFold if least >= FOLDS else KFold
        folds = kind(min(FOLDS, len(self.labels)), shuffle=True, random_state=SEED)
        split: Iterator[tuple[Index, Index]] = folds.split(self.labels, self.labels)
        return split

    def _kept(self, vote: PrunedVote, lines: MarginMatrix, rows: Index) -> F64:
        """What is to be known of a vote on some rows; NaN for those that all of its voters have seen."""
        small = reweighted(self.committee, vote.voters, vote.weights * lines.sign[vote.voters])
        unseen = None if lines.unseen is None else lines.unseen[np.ix_(rows, vote.voters)]
        judging = np.ones(len(rows), dtype=bool) if unseen is None else unseen.any(axis=1)
        unseen = None if unseen is None else unseen[judging]
        some = rows[judging]
        predicted, halves = votes_of_unseen(small, self.data[some], unseen, self.n_threads)
        found = self.metric.kept(self.labels[some], predicted, halves, unseen)
        every = np.full((len(found), len(rows)), np.nan)
        every[:, judging] = found
        return every


def votes_of_unseen(committee: Committee, data: Any, unseen: Mask | None, n_threads: int = 1) -> tuple[F64, Halves]:
    """Probabilities by the voters that have not seen a row, and by either half of these.

    Parameters
    ----------
    committee : Committee
        Of T voters of any kind.
    data : array (n, p)
        Encoded rows.
    unseen : bool array (n, T) or None
        Voters that have not seen them, of each row at least one; None: all.
    n_threads : int
        Threads that walk the voters.
    """
    if unseen is None:
        return committee.probability_of(committee.voters.tally(data, committee.weights, n_threads)), None
    weights = np.abs(committee.weights)
    masks = [unseen, *halves_of(unseen)]
    found = np.empty((3, len(unseen), committee.n_classes))
    for at in range(0, len(unseen), BLOCK):
        rows = slice(at, at + BLOCK)
        votes = _as_numbers(committee.voters.votes(data[rows], n_threads), committee.n_classes)
        for place, mask in enumerate(masks):
            counted = committee.weights * mask[rows]
            tally = np.einsum("nt,ntd->nd", counted, votes)
            # as much weight as all voters have; nothing where no voter is in the half
            heavy = mask[rows] @ weights
            tally *= np.divide(weights.sum(), heavy, out=np.zeros_like(heavy), where=heavy > 0.0)[:, None]
            found[place, rows] = committee.probability_of(tally)
    return found[0], (found[1], found[2])


def _as_numbers(votes: NDArray[Any], n_classes: int) -> F64:
    """Votes ``(n, T, D)``; a named class is 1 of the classes."""
    if votes.ndim == 2:
        votes = votes[:, :, None] == np.arange(n_classes)
    return np.asarray(votes, dtype=np.float64)


def warn_that_none_is_within(path: PruningPath, first: PrunedVote, max_loss: float, metric: str) -> None:
    """Say that the ensemble stays whole, and what the largest committee that limits allow loses."""
    warnings.warn(
        f"{len(first.voters)} of {len(path.before.voters)} voters lose {first.lost:.2g} ± {first.lost_error:.1g} of "
        f"{metric} on rows that they have not seen, which may be more than max_loss={max_loss:g}, so that the ensemble "
        "is kept whole; allow more, or more voters, or give more rows.",
        stacklevel=4,
    )
