"""Training of a member: its committees, and what they answer to rows that they have not seen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.number_types import F64, Index, Mask
from committee.data.rows import Rows, TargetRows
from committee.files.checkpoint import CheckpointError
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.folds import Fold
from committee.learners.blend.fits_ahead import FitsAhead
from committee.learners.blend.fold_fits import FAILURES, FoldFits
from committee.learners.blend.pool import PRIOR
from committee.learners.blend.time_limit import TimeLimit
from committee.learners.blend.trained_fit import TrainedFit
from committee.objectives.losses import Loss
from committee.vote.committee import Committee
from committee.vote.links.mean import Average, Identity
from committee.vote.links.temperature import best_temperature
from committee.vote.regression import RegressionCommittee

if TYPE_CHECKING:
    from committee.learners.blend.portfolio import Candidate


@dataclass(frozen=True, eq=False)
class Judged:
    """The rows that every member is judged by, each by committees that have not seen it."""

    folds: Sequence[Fold]
    row: Index
    """Numbers of the rows, one fold after the other; a row of several copies may come in several."""
    weights: F64
    """Their weights."""

    @classmethod
    def of(cls, folds: Sequence[Fold]) -> Judged:
        """The rows of all folds."""
        row = np.concatenate([np.empty(0, dtype=np.intp), *(fold.judged for fold in folds)])
        return cls(folds, row, np.concatenate([np.empty(0), *(fold.judged_weights for fold in folds)]))

    def some(self, mask: Mask) -> Judged:
        """Those of a mask."""
        return replace(self, row=self.row[mask], weights=self.weights[mask])

    @property
    def count(self) -> int:
        """How many rows they count as."""
        return sum(fold.n_judged for fold in self.folds)


@dataclass(frozen=True, eq=False)
class Member:
    """A trained candidate."""

    name: str
    committees: Sequence[Committee | RegressionCommittee]
    """One trained on all rows, or one for each fold, on the others."""
    unseen: F64
    """Answers to the judged rows: probabilities ``(n, K)`` or numbers ``(n, 1)``; NaN where all draws have the row."""
    seconds: float


@dataclass(frozen=True)
class LeftOut:
    """A candidate that is no member, and why."""

    name: str
    reason: str
    """No weight, an error, or no time."""
    loss: float = float("nan")
    """Mean loss of it alone, on rows that it has not seen; NaN if it is not trained."""
    seconds: float = float("nan")


@dataclass(frozen=True, eq=False)
class Training:
    """What the candidates of a fit are trained on, in common."""

    fits: FoldFits
    judged: Judged
    limit: TimeLimit
    tasks: FitTasks
    """The fit that it is part of, with the fits that a checkpoint knows."""
    loss: Loss | None
    """Loss of numbers, in which candidates for means are moved; None where classes are predicted."""
    counted: Mask
    """Which of the user's rows these are."""
    ahead: FitsAhead | None = None
    """Fits on folds by an executor; None if they are trained here, one after the other."""

    @property
    def rows(self) -> Rows | TargetRows:
        """Encoded rows."""
        return self.fits.rows

    def n_folds(self, candidate: Candidate) -> int:
        """Folds that a candidate is trained on, 0 if it judges out of bag."""
        return 0 if candidate.out_of_bag else len(self.judged.folds)

    def trained(self, candidate: Candidate, fit_ended: Callable[[], None]) -> Member | LeftOut:
        """Train a candidate, and give its probabilities a temperature; one that cannot be trained is left out.

        Parameters
        ----------
        candidate : Candidate
            To be trained.
        fit_ended : callable
            Ends the task of one of several fits.

        Raises
        ------
        OutOfTimeError
            If there is no time for one of its fits.
        """
        begun = time.perf_counter()
        try:
            fits = [self._out_of_bag(candidate)] if candidate.out_of_bag else self._cross_fitted(candidate, fit_ended)
            with _failures():
                answers = np.concatenate([fit.answers for fit in fits])
                committees, unseen = self._tempered([fit.committee for fit in fits], answers)
            if not np.isfinite(unseen[:, 0]).any():
                raise _NotTrainedError("every row is in all of its draws, so that none judges it")
            if candidate.moved:
                committees, unseen = self._moved(committees, unseen)
        except _NotTrainedError as error:
            return LeftOut(candidate.name, str(error), seconds=self._seconds(candidate, begun))
        return Member(candidate.name, committees, unseen, self._seconds(candidate, begun))

    def _seconds(self, candidate: Candidate, begun: float) -> float:
        """Seconds that the training of a candidate took, wherever that was."""
        here = time.perf_counter() - begun
        return here if self.ahead is None else self.ahead.seconds.get(candidate.name, here)

    def unjudged(self, candidate: Candidate) -> Member:
        """Train a candidate on all rows, with nothing to judge it by."""
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as of rows that are too few for a split
            every = np.arange(len(self.rows))
            model = self.fits.model(candidate, candidate.parameters, every, self.rows.weights, 0)
        return Member(candidate.name, [model.committee_], np.empty((0, 1)), time.perf_counter() - begun)

    def _cross_fitted(self, candidate: Candidate, fit_ended: Callable[[], None]) -> list[TrainedFit]:
        """A fit on the others of each fold; steps that are tried out are tried out once."""
        settings, fits = dict(candidate.parameters), []
        train = self.fits.on_others if self.ahead is None else self.ahead.fit
        for number in range(len(self.judged.folds)):
            self.limit.check()
            self.tasks.begin_part("fold")
            try:
                fits.append(self._trained_fit(candidate, settings, number, train))
            except _NotTrainedError:
                fit_ended()
                raise
            fit_ended()
            if fits[-1].rate > 0.0:
                settings["learning_rate"] = fits[-1].rate
        return fits

    def _out_of_bag(self, candidate: Candidate) -> TrainedFit:
        """One fit, whose votes on each row are those of the draws without it."""
        self.limit.check()
        fit = self._trained_fit(candidate, {"oob_score": True, **candidate.parameters}, 0, self.fits.on_all)
        return replace(fit, answers=fit.answers[self.judged.row])

    def _trained_fit(
        self, candidate: Candidate, settings: dict[str, Any], number: int, train: Callable[..., TrainedFit]
    ) -> TrainedFit:
        """Return a fit, the one that a checkpoint has if it does."""
        record, given = self.tasks.record, [candidate.name, number, repr(settings)]
        with _failures():
            if record is None:
                return train(candidate, settings, number)
            return record.result("fit", given, lambda: train(candidate, settings, number), TrainedFit.form())

    def _moved(self, committees: list[Any], unseen: F64) -> tuple[list[Any], F64]:
        """Add the constant of least loss to what committees for means predict, by judged rows and one without error."""
        assert isinstance(self.rows, TargetRows) and self.loss is not None
        known = np.isfinite(unseen[:, 0])
        residual = self.rows.target[self.judged.row][known] - unseen[known, 0]
        weights = self.judged.weights / self.judged.weights.sum() * self.judged.count
        constant = self.loss.best_constant(np.append(residual, 0.0), np.append(weights[known], PRIOR))
        return [_with_constant(one, constant) for one in committees], unseen + constant

    def _tempered(self, committees: list[Any], evidence: F64) -> tuple[list[Any], F64]:
        """Give all committees the temperature of least log loss on the judged rows."""
        if isinstance(self.rows, TargetRows):
            return committees, evidence
        known = np.isfinite(evidence).all(axis=1)
        if not known.any():
            return committees, evidence
        labels, weights = self.rows.labels[self.judged.row], self.judged.weights
        temperature = best_temperature(evidence[known], labels[known], weights[known], self.judged.count)
        z = evidence / temperature
        p = np.exp(z - z.max(axis=1, keepdims=True))
        tempered = [replace(one, link=one.link.tempered(temperature)) for one in committees]
        return tempered, p / p.sum(axis=1, keepdims=True)


def _with_constant(committee: RegressionCommittee, constant: F64) -> RegressionCommittee:
    """Return a committee whose predictions are larger by a constant."""
    start = np.zeros(1) if committee.intercept is None else committee.intercept
    divisor = committee.total_weight if isinstance(committee.link, Average) else 1.0
    weights, start = committee.weights / divisor, start / divisor + constant
    return replace(committee, weights=weights, intercept=start, link=Identity())


class _NotTrainedError(Exception):
    """A candidate cannot be trained."""


@contextmanager
def _failures() -> Iterator[None]:
    """Train: warnings are not shown, such as of columns that do not vary within a fold, and errors become reasons.

    A checkpoint that is no good is one of the whole fit.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except CheckpointError:
            raise
        except FAILURES as error:
            raise _NotTrainedError(str(error) or type(error).__name__) from error
