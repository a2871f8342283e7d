"""Who votes with what weight: members weighed by rows that they have not seen, until each adds enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import norm

from committee.data.number_types import F64, Index, Mask
from committee.data.row_digests import row_digests
from committee.data.rows import Rows, TargetRows
from committee.learners.blend.member import LeftOut, Member
from committee.vote.members import MemberCommittees


@dataclass(frozen=True, eq=False)
class Blended:
    """Members whose mean answer is the vote."""

    members: Sequence[Member]
    weights: F64
    """Of each member, adding up to 1."""
    losses: F64
    """Mean loss of each member alone, on rows that it has not seen."""
    gains: F64
    """By how much the loss of the vote would rise without it."""
    loss: float
    """Mean loss of the vote."""
    score: float
    """Accuracy of the vote, or R2."""
    left_out: Sequence[LeftOut] = ()
    """Trained candidates without weight."""
    answers: F64 | None = None
    """What the vote says of the judged rows that all members answer to, ``(n, K)``; None where nothing judges."""
    row: Index | None = None
    """Numbers of these rows."""

    @property
    def voters(self) -> tuple[Any, F64]:
        """The fits of all members, and their weights: those of a member share its weight."""
        fits = np.array([len(one.committees) for one in self.members])
        committees = [each for one in self.members for each in one.committees]
        return MemberCommittees(committees), np.repeat(self.weights / fits, fits)


def rows_of_all(members: Sequence[Member]) -> Mask:
    """Judged rows that all members answer to; where there is none, without the members that answer to fewest."""
    answered = sorted((np.isfinite(one.unseen[:, 0]) for one in members), key=lambda known: -int(known.sum()))
    known = np.all(answered, axis=0)
    while not known.any():
        answered.pop()
        known = np.all(answered, axis=0)
    return np.asarray(known)


def answers_of_all(rows: Rows | TargetRows, row: Index, answers: F64, n_threads: int = 1) -> F64:
    """Answers to all rows of a fit ``(n, K)``, by those to judged ones, of which equal rows are judged as one.

    Several answers to a row are averaged; rows that have none are NaN.
    """
    number = row_digests(rows.X, n_threads)
    if isinstance(rows, TargetRows):
        number = number + row_digests(rows.target.reshape(len(rows), -1), n_threads) * np.uint64(3)
    else:
        number = number + rows.labels
    different, same = np.unique(number, return_inverse=True)
    total, count = np.zeros((len(different), answers.shape[1])), np.zeros(len(different))
    np.add.at(total, same[row], answers)
    np.add.at(count, same[row], 1.0)
    mean = np.full_like(total, np.nan)
    np.divide(total, count[:, None], out=mean, where=count[:, None] > 0.0)
    return np.asarray(mean[same])


@dataclass(frozen=True, eq=False)
class Weighing:
    """How members are weighed by the judged rows that all of them answer to."""

    row_weights: F64
    losses: Callable[[F64], F64]
    """Loss of each row, by answers ``(n, K)``."""
    weights: Callable[[Sequence[F64]], F64]
    """Weights of members of least mean loss, by the answers of each."""
    score: Callable[[F64], float]
    """Accuracy or R2, by answers ``(n, K)``."""

    def blended(self, members: Sequence[Member], known: Mask, min_gain: float) -> Blended:
        """Return the members that add enough to the vote, with their weights.

        Parameters
        ----------
        members : sequence of Member
            Those that do not answer to all the rows have no weight.
        known : bool array
            The rows, out of the judged ones.
        min_gain : float
            Standard errors by which the loss of the vote would rise without a member.
        """
        share = self.row_weights / self.row_weights.sum()
        unit = float(np.sqrt((share**2).sum()))  # standard error of a mean of rows that deviate by 1
        chosen = [one for one in members if np.isfinite(one.unseen[known, 0]).all()]
        answers = [one.unseen[known] for one in chosen]
        losses = {one.name: float(share @ self.losses(each)) for one, each in zip(chosen, answers, strict=True)}
        while True:
            weights, mean = self._vote(answers)
            if len(chosen) == 1:
                gains = np.zeros(1)
                break
            without = (self._vote(answers[:k] + answers[k + 1 :])[1] for k in range(len(chosen)))
            rises = [self.losses(each) - self.losses(mean) for each in without]
            gains = np.array([float(share @ rise) for rise in rises])
            errors = unit * np.array([norm(np.sqrt(share) * (r - g)) for r, g in zip(rises, gains, strict=True)])
            least = int(np.argmin(gains))
            if gains[least] > min_gain * errors[least]:
                break
            del chosen[least], answers[least]
        alone = np.array([losses[one.name] for one in chosen])
        others = [
            LeftOut(one.name, "no weight", losses.get(one.name, np.nan), one.seconds)
            for one in members
            if one not in chosen
        ]
        loss = float(share @ self.losses(mean))
        return Blended(chosen, weights, alone, gains, loss, self.score(mean), others, mean)

    def _vote(self, answers: Sequence[F64]) -> tuple[F64, F64]:
        """Weights of some members, and the mean of their answers."""
        weights = self.weights(answers) if len(answers) > 1 else np.ones(1)
        return weights, np.tensordot(weights, np.stack(answers), 1)
