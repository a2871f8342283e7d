"""Training of the candidates, one after the other, within a time limit, and a progress line for each."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.data.rows import TargetRows
from committee.files.journal import CheckpointError
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.blend.candidates import SECOND_LAYER, Candidate, LeftOut
from committee.learners.blend.out_of_fold import (
    FAILURES,
    FIT_CODEC,
    FoldTrainer,
    Member,
    ParallelFolds,
    TrainedFit,
    ValidationRows,
    n_fits,
    tempered,
)
from committee.learners.blend.time_plan import NO_TIME, TimePlan
from committee.learners.blend.weights import PRIOR, WeightedVote, loss_label, reported_loss
from committee.objectives.losses import Loss
from committee.vote.links.mean import Average, Identity
from committee.vote.links.temperature import best_temperature


class _NotTrainedError(Exception):
    pass


class _StoppedError(Exception):
    pass


@dataclass(eq=False)
class CandidateRun:
    fits: FoldTrainer
    validation: ValidationRows
    candidates: Sequence[Candidate]
    """Candidates in the order in which members stand in the vote."""
    order: Sequence[Candidate]
    """Candidates in the order in which they are trained."""
    failed: list[LeftOut]
    """Candidates that do not suit, fail or have no time."""
    plan: TimePlan | None
    tasks: FitTasks
    loss: Loss | None
    weigh: Callable[[Sequence[Member]], WeightedVote]
    attributes: Callable[[WeightedVote, Sequence[LeftOut]], dict[str, Any]]
    """Fitted attributes of a vote and of all candidates that are not members."""
    ahead: ParallelFolds | None
    members: list[Member] = field(default_factory=list)
    in_haste: Candidate | None = None
    """The only member, if the time limit leaves no candidate its time."""
    _weighed: tuple[int, WeightedVote] | None = None
    is_extended: bool = False
    _ended: str = "no time"

    def train(self) -> None:
        try:
            for k, candidate in enumerate(self.order):
                planned = self._planned(candidate, self.order[k + 1 :])
                if isinstance(planned, Candidate):
                    self._train(planned)
                else:
                    self.tasks.begin_part(candidate.name)
                    self.failed.append(LeftOut(candidate.name, planned))
                    self._end_part()
            self._train_in_haste()
        except _StoppedError:
            self._ended = "stopped"
            self.tasks.end_parts(self._so_far)
        except KeyboardInterrupt:
            self._ended = "interrupted"
            raise

    def _planned(self, candidate: Candidate, later: Sequence[Candidate]) -> Candidate | str:
        # the candidate as the time left allows it, or why it does not; a resumed fit does what it did before
        plan = self.plan
        if plan is None:
            return candidate

        def chosen() -> Candidate | str:
            return plan.chosen(candidate, later, self.fits.on_sample, first=not self.members)

        if self.tasks.record is None:
            return chosen()
        stored = self.tasks.record.array(
            "plan", [candidate.name], lambda: np.frombuffer(plan.to_json(candidate, chosen()).encode(), np.uint8)
        )
        return plan.from_json(candidate, stored.tobytes().decode())

    def _train_in_haste(self) -> None:
        # of the candidates without time the quickest that can be trained at all
        if self.plan is None or self.members:
            return
        late = {one.name for one in self.failed if one.reason.startswith(NO_TIME)}
        for candidate in self.plan.quickest([one for one in self.order if one.name in late]):
            self.failed[:] = [one for one in self.failed if one.name != candidate.name]
            self._train(candidate)
            if self.members:
                self.in_haste = candidate
                return

    def vote(self) -> WeightedVote:
        if not self.members:
            reasons = "; ".join(f"{one.name}: {one.reason}" for one in self.failed)
            raise ValueError(f"no member could be trained on {len(self.fits.rows)} rows ({reasons})")
        if self._weighed is None or self._weighed[0] != len(self.members):
            self._weighed = len(self.members), self.weigh(self.in_order)
        return self._weighed[1]

    @property
    def in_order(self) -> list[Member]:
        """Members in the order in which they stand in the vote."""
        place = {one.name: k for k, one in enumerate(self.candidates)}
        return sorted(self.members, key=lambda one: place[one.name])

    @property
    def not_trained(self) -> list[Candidate]:
        tried = {one.name for one in self.members} | {one.name for one in self.failed}
        return [one for one in self.candidates if one.name not in tried]

    def extend(self, by: Callable[[CandidateRun, WeightedVote], WeightedVote]) -> None:
        if self._ended != "stopped":
            self._weighed = len(self.members), by(self, self.vote())
        self.is_extended = True

    def fitted(self) -> dict[str, Any]:
        vote = self.vote()
        others = [LeftOut(one.name, self._ended) for one in self.not_trained]
        return self.attributes(vote, [*vote.left_out, *self.failed, *others])

    def _train(self, candidate: Candidate) -> None:
        self.tasks.begin_part(candidate.name, 0 if candidate.out_of_bag else n_fits(candidate, self.validation.folds))
        begun = time.perf_counter()
        try:
            committees, predictions, temperature = self._predicting(candidate)
        except _NotTrainedError as error:
            seconds = self._seconds(candidate, begun)
            self.failed.append(LeftOut(candidate.name, str(error), seconds=seconds, failed=True))
        else:
            seconds = self._seconds(candidate, begun)
            self.members.append(Member(candidate.name, committees, predictions, seconds, temperature))
            if self.plan is not None and candidate.estimator is None:
                self.plan.took(candidate, len(committees), self.members[-1].seconds)
        self._end_part()

    def _predicting(self, candidate: Candidate) -> tuple[list[Any], F64, float | None]:
        # fits of a candidate, their predictions for the validation rows, and their temperature
        if candidate.out_of_bag:
            fit = self._trained_fit(candidate, {"oob_score": True, **candidate.parameters}, 0, self.fits.on_all)
            fits = [replace(fit, predictions=fit.predictions[self.validation.row])]
        else:
            fits = self._out_of_fold(candidate)
        with _failures():
            evidence = np.concatenate([fit.predictions for fit in fits])
            without_fit = np.full((len(self.validation.row) - len(evidence), evidence.shape[1]), np.nan)
            evidence = np.concatenate([evidence, without_fit])
            committees, predictions, temperature = self._tempered(candidate, [fit.committee for fit in fits], evidence)
        if not np.isfinite(predictions[:, 0]).any():
            raise _NotTrainedError("every voter was trained on all rows, so that no row is out of bag")
        if candidate.estimator is not None and self.loss is not None:
            needed = self.loss.mean_interval
            outside = predictions[np.isfinite(predictions) & ~needed.holds(predictions)]
            if outside.size:
                raise _NotTrainedError(
                    f"predicts {outside[0]:g}, and the {self.loss.name} loss needs predictions in {needed}"
                )
        if candidate.moved:
            committees, predictions = self._shifted(committees, predictions)
        return committees, predictions, temperature

    def _seconds(self, candidate: Candidate, begun: float) -> float:
        here = time.perf_counter() - begun
        return here if self.ahead is None else self.ahead.seconds.get(candidate.name, here)

    def _end_part(self) -> None:
        if self.tasks.end_part(self._so_far) and self.members:  # callbacks stop no fit without a member
            raise _StoppedError

    def _so_far(self) -> dict[str, Any] | None:
        return self.fitted() if self.members else None

    def _out_of_fold(self, candidate: Candidate) -> list[TrainedFit]:
        settings, fits = dict(candidate.parameters), []
        train = self.fits.on_fold if self.ahead is None else self.ahead.fit
        longest = 0.0
        for number in range(n_fits(candidate, self.validation.folds)):
            if number and not self._has_time(candidate, number, longest):
                break
            begun = time.perf_counter()
            self.tasks.begin_part("fold")
            try:
                fits.append(self._trained_fit(candidate, settings, number, train))
            except _NotTrainedError:
                self._end_part()
                raise
            self._end_part()
            settings |= fits[-1].tuned  # once
            longest = max(longest, time.perf_counter() - begun)
        return fits

    def _has_time(self, candidate: Candidate, number: int, longest: float) -> bool:
        plan, record = self.plan, self.tasks.record
        if plan is None or record is None:
            return plan is None or plan.has_time(longest)
        decided = record.array("time", [candidate.name, number], lambda: np.array([plan.has_time(longest)]))
        return bool(decided[0])

    def _trained_fit(
        self, candidate: Candidate, settings: dict[str, Any], number: int, train: Callable[..., TrainedFit]
    ) -> TrainedFit:
        record, given = self.tasks.record, [candidate.name, number, repr(settings), repr(candidate.max_rows)]
        if self.plan is not None:
            candidate = replace(candidate, seconds=self.plan.left())
        with _failures():
            if record is None:
                return train(candidate, settings, number)
            return record.result("fit", given, lambda: train(candidate, settings, number), FIT_CODEC)

    def _shifted(self, committees: list[Any], predictions: F64) -> tuple[list[Any], F64]:
        # add the constant of least loss on the validation rows and a pseudo-row without error
        rows = self.fits.rows
        assert isinstance(rows, TargetRows) and self.loss is not None
        known = np.isfinite(predictions[:, 0])
        residual = rows.target[self.validation.row][known] - predictions[known, 0]
        weights = self.validation.row_counts
        constant = self.loss.best_constant(np.append(residual, 0.0), np.append(weights[known], PRIOR))
        shifted = []
        for one in committees:
            start = np.zeros(1) if one.intercept is None else one.intercept
            divisor = one.total_weight if isinstance(one.link, Average) else 1.0
            weights, start = one.weights / divisor, start / divisor + constant
            shifted.append(replace(one, weights=weights, intercept=start, link=Identity()))
        return shifted, predictions + constant

    def _tempered(
        self, candidate: Candidate, committees: list[Any], evidence: F64
    ) -> tuple[list[Any], F64, float | None]:
        # committees with the temperature of least log loss, their probabilities, and the temperature
        rows, known = self.fits.rows, np.isfinite(evidence).all(axis=1)
        if isinstance(rows, TargetRows) or not known.any():
            return committees, evidence, None
        labels, weights = rows.labels[self.validation.row], self.validation.weights
        folds = self.validation.folds if candidate.out_of_bag else self.validation.folds[: len(committees)]
        n = sum(fold.n_test for fold in folds)
        temperature = best_temperature(evidence[known], labels[known], weights[known], n)
        return *tempered(committees, evidence, temperature), temperature


@contextmanager
def _failures() -> Iterator[None]:
    # without warnings, such as of columns that do not vary within a fold; an unusable checkpoint ends the whole fit
    with warnings.catch_warnings(action="ignore"):
        try:
            yield
        except CheckpointError:
            raise
        except FAILURES as error:
            raise _NotTrainedError(str(error) or type(error).__name__) from error


# --- progress ---------------------------------------------------------------------------------------------------------

_SHORT = "under 1 s"


class TimeLeft:
    """Estimate of the seconds left of a fit of several candidates, with an optional `limit` in seconds."""

    def __init__(self, n_candidates: int, limit: float | None) -> None:
        self.n_candidates: int = n_candidates
        self.begun: float = time.perf_counter()
        self._limit = limit
        self._took: list[float] = []
        self._candidate_begun, self._n_fits, self._fits = self.begun, 0, 0

    def begin(self, n_fits: int) -> None:
        self._candidate_begun, self._n_fits, self._fits = time.perf_counter(), n_fits, 0

    def fit_ended(self) -> None:
        self._fits += 1

    def end(self) -> None:
        self._took.append(time.perf_counter() - self._candidate_begun)
        self._n_fits = 0

    @property
    def n_ended(self) -> int:
        return min(len(self._took), self.n_candidates)

    @property
    def share(self) -> float:
        ended = len(self._took) + (self._fits / self._n_fits if self._n_fits else 0.0)
        return min(1.0, ended / self.n_candidates)

    @property
    def passed(self) -> float:
        return time.perf_counter() - self.begun

    @property
    def by_limit(self) -> float | None:
        return None if self._limit is None else max(0.0, self._limit - self.passed)

    def seconds(self) -> float | None:
        lasted, took = time.perf_counter() - self._candidate_begun, list(self._took)
        if self._fits and self._n_fits:
            took.append(lasted * self._n_fits / self._fits)
        if not took:
            return None
        mean, under_way = sum(took) / len(took), 0.0
        if self._n_fits:
            under_way = max(0.0, (took[-1] if self._fits else mean) - lasted)
        return under_way + mean * (self.n_candidates - len(self._took) - bool(self._n_fits))


class MemberLines:
    """A callback that writes a line for each candidate of a committee of ensembles: its loss, and the time left.

    The losses of the candidate alone and of the vote so far are on held-out rows. The time left is estimated by the
    candidates so far, or what `time_limit` leaves if that is less. A second layer has the last line.

    Parameters
    ----------
    write : callable, default=None
        Called with each line. None writes to standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import CommitteeRegressor, MemberLines
    >>> lines = []
    >>> model = CommitteeRegressor("fast", random_state=0).set_callbacks(MemberLines(lines.append))
    >>> model = model.fit(*load_diabetes(return_X_y=True))
    >>> [line.split(":")[0] for line in lines]
    ['forest', 'boosted_lines', 'small_trees']
    """

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        self.write = write

    def setup(self, estimator: Any, context: Any) -> None:
        """Start the clock."""
        self._fit = context
        self.time_left: TimeLeft = TimeLeft(
            context.max_subtasks - (estimator.time_limit is not None), estimator.time_limit
        )

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Begin a candidate."""
        if context.parent is self._fit:
            self.time_left.begin(max(1, context.max_subtasks))
            self.moved(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> None:
        """Write the line of a candidate that is trained or left out, at the end of the fit that of a second layer."""
        if context is self._fit:
            model, name = fitted_estimator, SECOND_LAYER
            if name in getattr(model, "member_names_", []) or name in getattr(model, "left_out_", []):
                self._write(f"{name}: {_scores(name, model)}; {duration_text(self.time_left.passed)} so far")
            return
        if context.parent is not self._fit:
            self.time_left.fit_ended()
            self.moved(context.parent.task_name)
            return
        left = self.time_left
        left.end()
        self.moved(context.task_name)
        line = f"{context.task_name}: {_scores(context.task_name, fitted_estimator)}; "
        line += f"{left.n_ended} of {left.n_candidates} candidates, {duration_text(left.passed)} so far"
        if left.n_ended < left.n_candidates:
            line += f", {time_left_text(left)} left"
        self._write(line)

    def _write(self, line: str) -> None:
        if self.write is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self.write(line)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Required by scikit-learn."""

    def moved(self, name: str) -> None:
        """Hook for subclasses that draw progress: a candidate has begun or ended, or one of its fits has ended."""


def time_left_text(left: TimeLeft) -> str:
    estimate, limit = left.seconds(), left.by_limit
    limited = limit is not None and (estimate is None or limit < estimate)
    seconds = limit if limited else estimate
    if seconds is None:
        return "unknown time"
    words = duration_text(seconds)
    return words if words == _SHORT else f"{'at most' if limited else 'about'} {words}"


def duration_text(seconds: float) -> str:
    if seconds < 120.0:
        return _SHORT if seconds < 0.95 else f"{seconds:.0f} s"
    return f"{seconds / 60.0:.1f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def _scores(name: str, model: Any) -> str:
    if model is None:
        return "left out"
    if name in model.left_out_ and not np.isfinite(_loss(name, model)):
        return f"left out ({model.left_out_[name]})"
    loss, n = model.number_loss, len(model.member_names_)
    words = "log loss" if loss is None else loss_label(loss)
    alone, vote = (x if loss is None else reported_loss(loss, x) for x in (_loss(name, model), model.oof_loss_))
    counts = "" if name in model.member_names_ else " (no weight)"
    return f"{words} {alone:#.4g} alone{counts}, {vote:#.4g} by the vote of {n}"


def _loss(name: str, model: Any) -> float:
    if name in model.member_names_:
        return float(model.member_losses_[model.member_names_.index(name)])
    return float(model.left_out_losses_[list(model.left_out_).index(name)])
