"""Training of the candidates: fits on folds or on all rows, here or by an executor, within a time limit."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from committee.data.given_rows import GivenRows
from committee.data.number_types import F64, Index
from committee.data.parallel import MemberExecutor, member_executor
from committee.data.rows import Rows, TargetRows, inner_weights
from committee.files.documents import Arrays, Tensors
from committee.files.journal import CheckpointError
from committee.files.kinds import COMMITTEES, describe_model, rebuild_model
from committee.files.store import parse_json
from committee.learners.base.fit_record import Codec
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.row_sampling import Fold
from committee.learners.blend.members import Candidate, LeftOut, Member
from committee.learners.blend.out_of_fold import ValidationRows, stratified_sample
from committee.learners.blend.time_plan import NO_TIME, Deadline, TimePlan
from committee.learners.blend.weights import PRIOR, WeightedVote
from committee.objectives.losses import Loss
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Average, Identity
from committee.vote.links.temperature import best_temperature
from committee.voters.compact_voters import compact_voters

FAILURES = (ValueError, ArithmeticError, RuntimeError, MemoryError, np.linalg.LinAlgError)
"""Errors that leave a candidate out; others end the fit."""

Bytes = NDArray[np.uint8]
Job: TypeAlias = "tuple[Candidate, dict[str, Any], int]"
"""A candidate, its settings and the number of a fold."""


# --- fits -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TrainedFit:
    """A trained committee, its predictions ``(n, K)`` for held-out rows, and the settings that its trials chose."""

    committee: Committee | RegressionCommittee
    predictions: F64
    tuned: dict[str, Any] = field(default_factory=dict)


def _encode_fit(fit: TrainedFit) -> tuple[Bytes, Bytes, F64, Bytes]:
    from safetensors.numpy import save

    arrays: Arrays = {}
    text = json.dumps(describe_model(fit.committee, Tensors(arrays)), allow_nan=False)
    stored = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    tuned = np.frombuffer(json.dumps(fit.tuned).encode(), np.uint8)
    return np.frombuffer(text.encode(), np.uint8), np.frombuffer(stored, np.uint8), fit.predictions, tuned


def _decode_fit(text: Bytes, stored: Bytes, predictions: F64, tuned: Bytes) -> TrainedFit:
    from safetensors.numpy import load

    document: dict[str, Any] = parse_json(text.tobytes().decode(), "member")
    if document.get("class") not in COMMITTEES:
        raise ValueError("a member is not a committee")
    return TrainedFit(
        rebuild_model(document, Tensors(load(stored.tobytes()))),
        predictions,
        parse_json(tuned.tobytes().decode(), "settings"),
    )


_FIT_CODEC = Codec(_encode_fit, _decode_fit)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A fit on a fold or its error, and the seconds that it took."""

    name: str
    number: int
    fit: TrainedFit | Exception
    seconds: float


@dataclass(frozen=True, eq=False)
class FoldTrainer:
    """Trains candidates on all rows, or on the training rows of a fold."""

    rows: Rows | TargetRows
    """Encoded rows with category codes, from which each fit learns its own target statistics."""
    folds: Sequence[Fold]
    categorical: list[int] | None
    seed: int
    n_jobs: int | None
    given: GivenRows | None = None
    """The rows as the user gives them, for estimators of other libraries; None without such."""

    def on_fold(self, candidate: Candidate, settings: dict[str, Any], number: int) -> TrainedFit:
        """Train on the fold of that number, and predict its test rows."""
        fold = self.folds[number]
        train, weights = fold.train, fold.train_weights
        if candidate.max_rows is not None and candidate.max_rows < len(train):
            drawn = self.sample(train, candidate.max_rows, number)
            train, weights = train[drawn], weights[drawn]
        if candidate.estimator is not None:
            return self._of_user(candidate, train, weights, fold.test, number)
        model = self.model(candidate, settings, train, weights, number)
        committee, X = model.committee_, self.rows.cells[fold.test]
        if isinstance(self.rows, Rows):
            predictions = committee.link.evidence(model.decision_function(X), committee.total_weight)
        else:
            predictions = model.predict(X)[:, None]
        return TrainedFit(committee, predictions, _tuned(model))

    def _of_user(self, candidate: Candidate, train: Index, weights: F64, test: Index, number: int) -> TrainedFit:
        from committee.learners.blend.user_candidates import predict_estimator, train_estimator

        assert self.given is not None
        seed = self.seed + number
        committee = train_estimator(candidate, self.rows, self.given, train, weights, seed, self.n_jobs)
        return TrainedFit(committee, predict_estimator(committee, self.given[test]))

    def sample(self, index: Index, size: int, number: int) -> Index:
        """Return positions in `index` of a stratified sample, a superset of smaller ones with the same `number`."""
        labels = self.rows.labels[index] if isinstance(self.rows, Rows) else np.zeros(len(index), dtype=np.uint16)
        return stratified_sample(labels, size, self.seed + number)

    def on_sample(self, candidate: Candidate, size: int) -> None:
        """Train on a sample of the first fold's training rows, to take the time."""
        fold = self.folds[0]
        drawn = self.sample(fold.train, size, 0)
        share = max(1, round(len(fold.test) * size / len(fold.train)))
        settings = candidate.parameters | ({"oob_score": True} if candidate.out_of_bag else {})
        with warnings.catch_warnings(), suppress(*FAILURES):  # which the fit itself reports
            warnings.simplefilter("ignore")
            train, weights = fold.train[drawn], fold.train_weights[drawn]
            if candidate.estimator is not None:  # whose predictions may take longer than its fit
                self._of_user(candidate, train, weights, fold.test[:share], 0)
            else:
                self.model(candidate, settings, train, weights, 0)

    def outcome(self, candidate: Candidate, settings: dict[str, Any], number: int) -> Outcome:
        """Train on a fold without warnings; an error that leaves the candidate out is part of the outcome."""
        begun = time.perf_counter()
        fit: TrainedFit | Exception
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fit = self.on_fold(candidate, settings, number)
            except FAILURES as error:
                fit = error
        return Outcome(candidate.name, number, fit, time.perf_counter() - begun)

    def on_all(self, candidate: Candidate, settings: dict[str, Any], number: int) -> TrainedFit:
        """Train on all rows, with out-of-bag predictions."""
        model = self.model(candidate, settings, np.arange(len(self.rows)), self.rows.weights, number)
        committee = model.committee_
        if isinstance(self.rows, TargetRows):
            return TrainedFit(committee, model.oob_prediction_[:, None])
        votes = model.oob_decision_function_ * committee.total_weight
        return TrainedFit(committee, committee.link.evidence(votes, committee.total_weight))

    def model(self, candidate: Candidate, settings: dict[str, Any], index: Index, weights: F64, number: int) -> Any:
        """Learner trained on some rows with these weights."""
        own: dict[str, Any] = {"random_state": self.seed + number, "n_jobs": self.n_jobs}
        own["categorical_features"] = self.categorical
        if "calibrate" in candidate.learner.declared_parameters:
            own["calibrate"] = None
        model = candidate.learner(**(own | settings))
        if candidate.seconds is not None:
            model.set_callbacks(Deadline(candidate.seconds))
        y = self.rows.labels if isinstance(self.rows, Rows) else self.rows.target
        uniform = self.rows.uniform and bool((weights == weights[0]).all())
        model.fit(self.rows.cells[index], y[index], None if uniform else inner_weights(weights))
        model.committee_ = replace(model.committee_, voters=compact_voters(model.committee_.voters))
        return model

    def without_validation(self, candidate: Candidate) -> Member:
        """Train a candidate on all rows, without held-out predictions."""
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as of rows that are too few for a split
            model = self.model(candidate, candidate.parameters, np.arange(len(self.rows)), self.rows.weights, 0)
        return Member(candidate.name, [model.committee_], np.empty((0, 1)), time.perf_counter() - begun)


class ParallelFolds:
    """Fits on folds by an executor, ahead of the run that takes them one after the other.

    The first fit of a candidate that tunes its learning rate finds the rate of its other folds, which wait for it. All
    fits that need no other are trained at the same time, and then all that need these. Leaving `under_way` cancels the
    rest. Fits of `candidates`, in the order of the run, begin before the run takes them. `seconds` has the training
    time of each candidate.
    """

    def __init__(
        self, executor: MemberExecutor, under_way: ExitStack, fits: FoldTrainer, candidates: Sequence[Candidate]
    ) -> None:
        self._executor, self._under_way, self._fits, self._candidates = executor, under_way, fits, candidates
        self._begun = set[tuple[str, int]]()
        self._results: Iterator[Outcome] = iter(())
        self._found: dict[tuple[str, int], Outcome] = {}
        self._tuned: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}

    def fit(self, candidate: Candidate, settings: dict[str, Any], number: int) -> TrainedFit:
        place = candidate.name, number
        if place not in self._begun:
            self._begin(candidate, settings, number)
        while place not in self._found:
            self._keep(next(self._results))
        outcome = self._found.pop(place)
        self.seconds[candidate.name] = self.seconds.get(candidate.name, 0.0) + outcome.seconds
        if isinstance(outcome.fit, Exception):
            raise outcome.fit
        return outcome.fit

    def _keep(self, outcome: Outcome) -> None:
        self._found[outcome.name, outcome.number] = outcome
        if isinstance(outcome.fit, TrainedFit):
            self._tuned.setdefault(outcome.name, outcome.fit.tuned)

    def _begin(self, candidate: Candidate, settings: dict[str, Any], number: int) -> None:
        # this fit, and all that can begin with it
        for outcome in self._results:
            self._keep(outcome)
        names = [one.name for one in self._candidates]
        later = self._candidates[names.index(candidate.name) + 1 :] if candidate.name in names else []
        first, others = [], list(self._jobs(candidate, settings, number))
        if _tunes_rate(candidate, settings):
            first, others = others[:1], []
        for one in later:
            if not _tunes_rate(one, one.parameters):
                others += self._jobs(one, one.parameters, 0)
            elif one.name in self._tuned:
                others += self._jobs(one, one.parameters | self._tuned[one.name], 1)
            elif (one.name, 0) not in self._begun:
                first.append((one, dict(one.parameters), 0))
        jobs = first + others
        self._begun |= {(one.name, k) for one, _, k in jobs}
        train = self._fits.outcome  # one object, which is sent once
        self._results = self._under_way.enter_context(self._executor.results(delayed(train)(*one) for one in jobs))

    def _jobs(self, candidate: Candidate, settings: dict[str, Any], first: int) -> Iterator[Job]:
        for number in range(first, n_fits(candidate, self._fits.folds)):
            if (candidate.name, number) not in self._begun:
                yield candidate, dict(settings), number


@contextmanager
def parallel_folds(fits: FoldTrainer, wanted: Sequence[Candidate], *, in_time: bool) -> Iterator[ParallelFolds | None]:
    """Fits on folds by the executor in force, None without one; ahead of candidates unless they must be `in_time`."""
    executor = member_executor()
    if executor is None:
        yield None
        return
    with ExitStack() as under_way:
        yield ParallelFolds(executor, under_way, fits, [] if in_time else [one for one in wanted if not one.out_of_bag])


def n_fits(candidate: Candidate, folds: Sequence[Fold]) -> int:
    """Number of folds on which a candidate is fitted."""
    return len(folds) if candidate.n_fits is None else min(candidate.n_fits, len(folds))


def _tuned(model: Any) -> dict[str, Any]:
    # settings that boosting chose by trials, for fits on other folds
    if not hasattr(model, "learning_rate_"):
        return {}
    found = {"learning_rate": model.learning_rate_}
    if model.max_leaf_nodes == "auto":
        found["max_leaf_nodes"] = model.max_leaf_nodes_
    if model.subsample == "auto":
        found["subsample"] = model.subsample_
    if model.max_features == "auto" and model.max_features_ == 0:
        found["max_features"] = None
    return found


def _tunes_rate(candidate: Candidate, settings: dict[str, Any]) -> bool:
    return bool(replace(candidate, parameters=settings).settings.get("learning_rate") == "auto")


# --- candidates -------------------------------------------------------------------------------------------------------


class _NotTrainedError(Exception):
    pass


class _StoppedError(Exception):
    pass


@dataclass(eq=False)
class CandidateRun:
    """The training of candidates, each with a temperature or constant shift.

    Each is a task for callbacks, and so is each of its fits on folds.
    """

    fits: FoldTrainer
    validation: ValidationRows
    candidates: Sequence[Candidate]
    """Candidates in the order in which members stand in the vote."""
    order: Sequence[Candidate]
    """Candidates in the order in which they are trained."""
    failed: list[LeftOut]
    """Candidates that do not suit the rows, and then those that fail."""
    plan: TimePlan | None
    """None without a time limit."""
    tasks: FitTasks
    loss: Loss | None
    """Loss of numbers; None for classes."""
    weigh: Callable[[Sequence[Member]], WeightedVote]
    attributes: Callable[[WeightedVote, Sequence[LeftOut]], dict[str, Any]]
    """Fitted attributes of a vote and of all candidates that are not members."""
    ahead: ParallelFolds | None
    """None if fits are trained here, one after the other."""
    members: list[Member] = field(default_factory=list)
    in_haste: Candidate | None = None
    """The only member, if the time limit leaves no candidate its time."""
    _weighed: tuple[int, WeightedVote] | None = None
    _ended: str = "no time"

    def train(self) -> None:
        """Train the candidates; after a KeyboardInterrupt the members are those that were ready."""
        try:
            for k, candidate in enumerate(self.order):
                planned = self._planned(candidate, self.order[k + 1 :])
                if isinstance(planned, Candidate):
                    self._train(planned)
                else:
                    self._leave_out(candidate, planned)
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
        if self.tasks.record is None:
            return plan.chosen(candidate, later, self.fits.on_sample, first=not self.members)

        def decided() -> NDArray[np.uint8]:
            found = plan.chosen(candidate, later, self.fits.on_sample, first=not self.members)
            return np.frombuffer(plan.to_json(candidate, found).encode(), np.uint8)

        text = self.tasks.record.array("plan", [candidate.name], decided).tobytes().decode()
        return plan.from_json(candidate, text)

    def _leave_out(self, candidate: Candidate, reason: str) -> None:
        self.tasks.begin_part(candidate.name)
        self.failed.append(LeftOut(candidate.name, reason))
        self._end_part()

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

    def fitted(self) -> dict[str, Any]:
        """Fitted attributes so far; ``ValueError`` without a member."""
        if not self.members:
            reasons = "; ".join(f"{one.name}: {one.reason}" for one in self.failed)
            raise ValueError(f"no member could be trained on {len(self.fits.rows)} rows ({reasons})")
        if self._weighed is None or self._weighed[0] != len(self.members):
            place = {one.name: k for k, one in enumerate(self.candidates)}
            self._weighed = len(self.members), self.weigh(sorted(self.members, key=lambda one: place[one.name]))
        vote = self._weighed[1]
        known = {one.name for one in self.members} | {one.name for one in self.failed}
        others = [LeftOut(one.name, self._ended) for one in self.candidates if one.name not in known]
        return self.attributes(vote, [*vote.left_out, *self.failed, *others])

    def _train(self, candidate: Candidate) -> None:
        self.tasks.begin_part(candidate.name, 0 if candidate.out_of_bag else n_fits(candidate, self.validation.folds))
        begun = time.perf_counter()
        try:
            committees, predictions = self._predicting(candidate)
        except _NotTrainedError as error:
            seconds = self._seconds(candidate, begun)
            self.failed.append(LeftOut(candidate.name, str(error), seconds=seconds, failed=True))
        else:
            self.members.append(Member(candidate.name, committees, predictions, self._seconds(candidate, begun)))
            if self.plan is not None and candidate.estimator is None:
                self.plan.took(candidate, len(committees), self.members[-1].seconds)
        self._end_part()

    def _predicting(self, candidate: Candidate) -> tuple[list[Any], F64]:
        # fits of a candidate, and their predictions for the validation rows
        fits = [self._out_of_bag(candidate)] if candidate.out_of_bag else self._out_of_fold(candidate)
        with _failures():
            evidence = self._of_all_folds(fits)
            committees, predictions = self._tempered(candidate, [fit.committee for fit in fits], evidence)
        if not np.isfinite(predictions[:, 0]).any():
            raise _NotTrainedError("every voter was trained on all rows, so that no row is out of bag")
        if candidate.estimator is not None and self.loss is not None:
            self._check_domain(self.loss, predictions[:, 0])
        return self._shifted(committees, predictions) if candidate.moved else (committees, predictions)

    @staticmethod
    def _check_domain(loss: Loss, predictions: F64) -> None:
        outside = predictions[np.isfinite(predictions) & ~loss.mean_interval.holds(predictions)]
        if outside.size:
            raise _NotTrainedError(
                f"predicts {outside[0]:g}, and the {loss.name} loss needs predictions in {loss.mean_interval}"
            )

    def _of_all_folds(self, fits: Sequence[TrainedFit]) -> F64:
        # predictions for the validation rows; NaN for folds without a fit
        evidence = np.concatenate([fit.predictions for fit in fits])
        unknown = np.full((len(self.validation.row) - len(evidence), evidence.shape[1]), np.nan)
        return np.concatenate([evidence, unknown])

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

    def _out_of_bag(self, candidate: Candidate) -> TrainedFit:
        fit = self._trained_fit(candidate, {"oob_score": True, **candidate.parameters}, 0, self.fits.on_all)
        return replace(fit, predictions=fit.predictions[self.validation.row])

    def _trained_fit(
        self, candidate: Candidate, settings: dict[str, Any], number: int, train: Callable[..., TrainedFit]
    ) -> TrainedFit:
        record, given = self.tasks.record, [candidate.name, number, repr(settings), repr(candidate.max_rows)]
        if self.plan is not None:
            candidate = replace(candidate, seconds=self.plan.left())
        with _failures():
            if record is None:
                return train(candidate, settings, number)
            return record.result("fit", given, lambda: train(candidate, settings, number), _FIT_CODEC)

    def _shifted(self, committees: list[Any], predictions: F64) -> tuple[list[Any], F64]:
        # add the constant of least loss on the validation rows and a pseudo-row without error
        rows = self.fits.rows
        assert isinstance(rows, TargetRows) and self.loss is not None
        known = np.isfinite(predictions[:, 0])
        residual = rows.target[self.validation.row][known] - predictions[known, 0]
        weights = self.validation.row_counts
        constant = self.loss.best_constant(np.append(residual, 0.0), np.append(weights[known], PRIOR))
        return [_with_constant(one, constant) for one in committees], predictions + constant

    def _tempered(self, candidate: Candidate, committees: list[Any], evidence: F64) -> tuple[list[Any], F64]:
        # committees with the temperature of least log loss, and their probabilities
        rows, known = self.fits.rows, np.isfinite(evidence).all(axis=1)
        if isinstance(rows, TargetRows) or not known.any():
            return committees, evidence
        labels, weights = rows.labels[self.validation.row], self.validation.weights
        folds = self.validation.folds if candidate.out_of_bag else self.validation.folds[: len(committees)]
        n = sum(fold.n_test for fold in folds)
        temperature = best_temperature(evidence[known], labels[known], weights[known], n)
        z = evidence / temperature
        p = np.exp(z - z.max(axis=1, keepdims=True))
        tempered = [replace(one, link=one.link.tempered(temperature)) for one in committees]
        return tempered, p / p.sum(axis=1, keepdims=True)


def _with_constant(committee: RegressionCommittee, constant: F64) -> RegressionCommittee:
    start = np.zeros(1) if committee.intercept is None else committee.intercept
    divisor = committee.total_weight if isinstance(committee.link, Average) else 1.0
    weights, start = committee.weights / divisor, start / divisor + constant
    return replace(committee, weights=weights, intercept=start, link=Identity())


@contextmanager
def _failures() -> Iterator[None]:
    # without warnings, such as of columns that do not vary within a fold; an unusable checkpoint ends the whole fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except CheckpointError:
            raise
        except FAILURES as error:
            raise _NotTrainedError(str(error) or type(error).__name__) from error
