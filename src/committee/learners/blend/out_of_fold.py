"""Members of a committee of ensembles: folds, fits of candidates on them, and predictions for held-out rows."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from committee.data.categories import MAX_SUBSET_CATEGORIES
from committee.data.matrices import SparseMatrix
from committee.data.number_types import F64, Index, Mask
from committee.data.parallel import MemberExecutor, member_executor, n_threads
from committee.data.rows import GivenRows, Rows, TargetRows, inner_weights, nonzero_sample_weights
from committee.data.table_schema import TableSchema
from committee.data.target_statistics import HighCardinality
from committee.data.text import brief_repr, pluralize
from committee.files.documents import Arrays, Tensors
from committee.files.kinds import COMMITTEES, describe_model, rebuild_model
from committee.files.store import parse_json
from committee.learners.base.fit_record import Codec
from committee.learners.base.row_sampling import Fold, content_digests, group_folds
from committee.learners.blend.candidates import Candidate, Effort, predict_estimator, train_estimator
from committee.learners.blend.time_plan import Deadline
from committee.vote.committee import Committee, RegressionCommittee
from committee.voters.tree_voters import compact_voters

FAILURES = (ValueError, ArithmeticError, RuntimeError, MemoryError, np.linalg.LinAlgError)
"""Errors that leave a candidate out."""

Bytes = NDArray[np.uint8]
Job: TypeAlias = "tuple[Candidate, dict[str, Any], int]"
"""A candidate, its settings and the number of a fold."""


# --- folds ------------------------------------------------------------------------------------------------------------


def default_n_folds(n: float, effort: Effort) -> tuple[int, int]:
    """Number of folds of n rows, and of those on which candidates without out-of-bag predictions are trained."""
    if effort == "fast":
        dealt = int(min(20, max(4, n // 10_000)))
        return dealt, 4 if n < 1000 else 2
    most, fewer = (8, 3) if effort == "default" else (10, 5)
    return (most, most) if n < 10_000 else (5, fewer) if n < 100_000 else (10, fewer - 1)


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Test rows of all folds, one fold after the other."""

    folds: Sequence[Fold]
    row: Index
    weights: F64
    n_rows: float
    """Number of copies of the test rows."""

    @classmethod
    def of(cls, folds: Sequence[Fold]) -> ValidationRows:
        row = np.concatenate([np.empty(0, dtype=np.intp), *(fold.test for fold in folds)])
        weights = np.concatenate([np.empty(0), *(fold.test_weights for fold in folds)])
        return cls(folds, row, weights, sum(fold.n_test for fold in folds))

    def take(self, mask: Mask) -> ValidationRows:
        if mask.all():
            return self
        weights = self.weights[mask]
        return ValidationRows(self.folds, self.row[mask], weights, self.n_rows * weights.sum() / self.weights.sum())

    @property
    def row_counts(self) -> F64:
        counts: F64 = self.weights / self.weights.sum() * self.n_rows
        return counts


def stratified_sample(labels: NDArray[np.unsignedinteger], size: int, seed: int) -> Index:
    """Return ascending positions of a stratified sample; smaller ones with the same seed are subsets."""
    order = np.random.RandomState(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    count = np.bincount(labels)
    start = np.repeat(np.cumsum(count) - count, count)
    rank = np.arange(len(labels)) - start
    place = np.where(rank > 0, (rank + 0.5) / np.repeat(count, count), -1.0)
    return np.sort(order[np.argsort(place, kind="stable")[: max(size, int((count > 0).sum()))]])


def splitter_folds(
    cv: Any, rows: Rows | TargetRows, y: ArrayLike, groups: ArrayLike | None, sample_weight: ArrayLike | None
) -> list[Fold]:
    """Folds of a user's splitter among the rows with weight; its indices are those of all the user's rows."""
    from sklearn.model_selection import check_cv

    y = np.asarray(y)
    check_consistent_length(y, groups)
    place = np.full(len(y), -1)
    place[nonzero_sample_weights(sample_weight, len(y))] = np.arange(len(rows))
    folds: list[Fold] = []
    for split in check_cv(cv, y, classifier=isinstance(rows, Rows)).split(np.zeros((len(y), 1)), y, groups):
        train, test = (_with_weight(cv, place, index) for index in split)
        if len(train) and len(test):
            if len(np.intersect1d(train, test)):
                raise ValueError(
                    f"cv={brief_repr(cv)} has training rows in a test set; give disjoint training and test sets."
                )
            folds.append(Fold(train, rows.weights[train], test, rows.weights[test], len(test)))
    if not folds:
        raise ValueError(
            f"cv={brief_repr(cv)} has no split with training and test rows; give a splitter with rows in both."
        )
    row = np.concatenate([fold.test for fold in folds])
    if len(np.unique(row)) < len(row):
        raise ValueError(f"cv={brief_repr(cv)} has a row in several test sets; use a splitter with disjoint test sets.")
    if isinstance(rows, Rows):
        _check_classes(cv, folds, rows, y, place)
    return folds


def folds_of_groups(group: Index, rows: Rows | TargetRows, n_folds: int, classes: NDArray[Any] | None) -> list[Fold]:
    folds = list(group_folds(group, rows.weights, n_folds, rows.class_numbers))
    for fold in folds if classes is not None else ():
        assert isinstance(rows, Rows) and classes is not None
        absent = np.setdiff1d(rows.labels, rows.labels[fold.train])
        if len(absent):
            several = len(np.unique(group[rows.labels == absent[0]]))
            raise ValueError(
                f"groups leave a fold without a training row of class {classes[absent[0]].item()!r}, which has rows in "
                f"{pluralize(several, 'group')}; every member needs all classes. Each class must have rows in the "
                "groups of at least two folds: leave such a class out, or give a splitter as cv."
            )
    return folds


def _with_weight(cv: Any, place: NDArray[np.intp], index: ArrayLike) -> Index:
    index = np.asarray(index)
    index = np.flatnonzero(index) if index.dtype == bool else index
    if len(index) and not (index.dtype.kind in "iu" and index.min() >= 0 and index.max() < len(place)):
        raise ValueError(
            f"cv={brief_repr(cv)} has row numbers from {index.min()} to {index.max()}; rows are numbered 0 to "
            f"{len(place) - 1}."
        )
    found = place[index.astype(np.intp)]
    return np.asarray(found[found >= 0])


def _check_classes(cv: Any, folds: list[Fold], rows: Rows, y: NDArray[Any], place: NDArray[np.intp]) -> None:
    for number, fold in enumerate(folds):
        absent = np.setdiff1d(rows.labels, rows.labels[fold.train])
        if len(absent):
            row = np.flatnonzero(place == np.argmax(rows.labels == absent[0]))[0]
            raise ValueError(
                f"cv={brief_repr(cv)} leaves split {number} without a row of class {y[row].item()!r} to train on, and "
                "every member needs all classes; give a splitter that stratifies by class, as StratifiedKFold and "
                "StratifiedGroupKFold do, or leave such a class out."
            )


def oob_is_held_out(rows: Rows | TargetRows, table: TableSchema, n_dealt: int) -> bool:
    """Return whether out-of-bag predictions are valid held-out predictions, so that no folds are needed."""
    single = int(rows.labels.max()) + 1 if isinstance(rows, Rows) else 1  # only rows of a class are in no fold
    if len(rows) > n_dealt + single:  # a draw has copies of rows that it leaves out
        return False
    if isinstance(rows.X, SparseMatrix) or table.n_levels.max(initial=0) <= MAX_SUBSET_CATEGORIES:
        return True
    levels = HighCardinality.of_table(rows.X, table, MAX_SUBSET_CATEGORIES, "")
    return levels is None or not any(levels.alone)  # which makes target statistics means of all rows


def predictions_of_all(rows: Rows | TargetRows, row: Index, predictions: F64, n_threads: int) -> F64:
    """Spread predictions of the rows `row` to all equal rows, ``(n, K)``."""
    different, same = np.unique(content_digests(rows, n_threads), return_inverse=True)
    total, count = np.zeros((len(different), predictions.shape[1])), np.zeros(len(different))
    np.add.at(total, same[row], predictions)
    np.add.at(count, same[row], 1.0)
    mean = np.full_like(total, np.nan)
    np.divide(total, count[:, None], out=mean, where=count[:, None] > 0.0)
    return np.asarray(mean[same])


# --- fits -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Member:
    name: str
    committees: Sequence[Committee | RegressionCommittee]
    """One trained on all rows, or one for each of its folds."""
    predictions: F64
    """Predictions for the validation rows: probabilities ``(n, K)`` or numbers ``(n, 1)``, or NaN."""
    seconds: float
    temperature: float | None = None

    def sharpened(self, sharpness: float) -> Member:
        if self.temperature is None:
            return self
        temperature = self.temperature / sharpness
        tempered = [one for one in self.committees if isinstance(one, Committee)]
        committees = [replace(one, link=one.link.tempered(temperature)) for one in tempered]
        predictions = sharpened(self.predictions, sharpness)
        return replace(self, committees=committees, predictions=predictions, temperature=temperature)


def sharpened(p: F64, sharpness: float) -> F64:
    powers = p**sharpness
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def tempered(committees: Sequence[Committee], evidence: F64, temperature: float) -> tuple[list[Committee], F64]:
    """Committees with a temperature, and their probabilities of held-out rows by the evidence ``(n, K)``."""
    z = evidence / temperature
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return [replace(one, link=one.link.tempered(temperature)) for one in committees], p / p.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class TrainedFit:
    """A committee, its evidence ``(n, K)`` or numbers ``(n, 1)`` for held-out rows, and settings chosen by trials."""

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


FIT_CODEC = Codec(_encode_fit, _decode_fit)


@dataclass(frozen=True, eq=False)
class Outcome:
    name: str
    number: int
    fit: TrainedFit | Exception
    seconds: float


@dataclass(frozen=True, eq=False)
class FoldTrainer:
    rows: Rows | TargetRows
    """Encoded rows with category codes, not target statistics."""
    folds: Sequence[Fold]
    categorical: list[int] | None
    seed: int
    n_jobs: int | None
    given: GivenRows | None

    def on_fold(self, candidate: Candidate, settings: dict[str, Any], number: int) -> TrainedFit:
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
        assert self.given is not None
        seed = self.seed + number
        committee = train_estimator(candidate, self.rows, self.given, train, weights, seed, self.n_jobs)
        return TrainedFit(committee, predict_estimator(committee, self.given[test]))

    def sample(self, index: Index, size: int, number: int) -> Index:
        labels = self.rows.labels[index] if isinstance(self.rows, Rows) else np.zeros(len(index), dtype=np.uint16)
        return stratified_sample(labels, size, self.seed + number)

    def on_sample(self, candidate: Candidate, size: int) -> None:
        """Train on `size` of the first fold's training rows, to measure the time."""
        fold = self.folds[0]
        drawn = self.sample(fold.train, size, 0)
        share = max(1, round(len(fold.test) * size / len(fold.train)))
        settings = candidate.parameters | ({"oob_score": True} if candidate.out_of_bag else {})
        with warnings.catch_warnings(action="ignore"), suppress(*FAILURES):  # which the fit itself reports
            train, weights = fold.train[drawn], fold.train_weights[drawn]
            if candidate.estimator is not None:  # whose predictions may take longer than its fit
                self._of_user(candidate, train, weights, fold.test[:share], 0)
            else:
                self.model(candidate, settings, train, weights, 0)

    def outcome(self, candidate: Candidate, settings: dict[str, Any], number: int) -> Outcome:
        begun = time.perf_counter()
        fit: TrainedFit | Exception
        with warnings.catch_warnings(action="ignore"):
            try:
                fit = self.on_fold(candidate, settings, number)
            except FAILURES as error:
                fit = error
        return Outcome(candidate.name, number, fit, time.perf_counter() - begun)

    def on_all(self, candidate: Candidate, settings: dict[str, Any], number: int) -> TrainedFit:
        model = self.model(candidate, settings, np.arange(len(self.rows)), self.rows.weights, number)
        committee = model.committee_
        of_numbers = isinstance(self.rows, TargetRows)
        out_of_bag = model.oob_prediction_[:, None] if of_numbers else model.oob_decision_function_
        # copies of a row get the mean of their predictions: few voters leave out any one of many copies
        known = np.flatnonzero(np.isfinite(out_of_bag).all(axis=1))
        mean = predictions_of_all(self.rows, known, out_of_bag[known], n_threads(self.n_jobs))
        if of_numbers:
            return TrainedFit(committee, mean)
        return TrainedFit(committee, committee.link.evidence(mean * committee.total_weight, committee.total_weight))

    def model(self, candidate: Candidate, settings: dict[str, Any], index: Index, weights: F64, number: int) -> Any:
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


class ParallelFolds:
    """Fits on folds by an executor, ahead of the run that takes them one after the other."""

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
        if _tunes_rate(candidate, settings):  # its other folds wait for the rate of the first
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
    """Yield fits on folds by the executor in force; if `in_time`, none begins ahead."""
    executor = member_executor()
    if executor is None:
        yield None
        return
    with ExitStack() as under_way:
        yield ParallelFolds(executor, under_way, fits, [] if in_time else [one for one in wanted if not one.out_of_bag])


def n_fits(candidate: Candidate, folds: Sequence[Fold]) -> int:
    return len(folds) if candidate.n_fits is None else min(candidate.n_fits, len(folds))


def _tuned(model: Any) -> dict[str, Any]:
    # settings that boosting chose by trials, for fits on other folds
    if not hasattr(model, "learning_rate_"):
        return {}
    found = {"learning_rate": model.learning_rate_}
    if model.n_estimators == "auto":
        found["n_estimators"] = model.n_estimators_
    if model.max_leaf_nodes == "auto":
        found["max_leaf_nodes"] = model.max_leaf_nodes_
    if model.subsample == "auto":
        found["subsample"] = model.subsample_
    if model.max_features == "auto" and model.max_features_ == 0:
        found["max_features"] = None
    return found


def _tunes_rate(candidate: Candidate, settings: dict[str, Any]) -> bool:
    return bool(replace(candidate, parameters=settings).settings.get("learning_rate") == "auto")
