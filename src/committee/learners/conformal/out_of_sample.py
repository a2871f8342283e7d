"""Predictions for the rows of a fit by voters that have not seen them: out of bag, out of fold, or held out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    StratifiedGroupKFold,
    check_cv,
)
from sklearn.utils import _safe_indexing

from committee.data.bins import digests_of_kinds, row_digests
from committee.data.columns import is_frame
from committee.data.matrices import Matrix, as_sparse_matrix, is_sparse, numeric_matrix
from committee.data.number_types import F64, Index, Mask
from committee.data.parallel import in_parallel
from committee.data.rows import Rows, TargetRows, inner_weights, nonzero_weights
from committee.data.table_schema import TableSchema
from committee.data.text import brief_repr
from committee.learners.bagging.random_forest import ForestEstimator
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.learners.bagging.subagging import SubaggingClassifier
from committee.learners.base.estimator import fit_weighted
from committee.learners.base.row_sampling import copied_rows, ranks
from committee.learners.blend.blend import OOF_ATTRIBUTES, Blend
from committee.learners.trained_ensembles.out_of_bag import NoUnseenRowsError, out_of_bag_mask
from committee.learners.trained_ensembles.trained_ensemble import TrainedEnsemble
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Identity
from committee.vote.links.probability import Share
from committee.voters.estimators import EstimatorVoters, RegressorVoters

MAX_CELLS = 4_000_000  # numbers that are held at a time

N_FOLDS = 5
GROUP_SPLITTERS = (GroupKFold, GroupShuffleSplit, LeaveOneGroupOut, LeavePGroupsOut, StratifiedGroupKFold)

Source: TypeAlias = Literal["out of bag", "out of fold", "held out"]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    X: Any
    y: NDArray[Any]
    weights: F64 | None
    offset: F64 | None = None  # (n,) or (n, D)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def counted(self) -> NDArray[np.bool_]:
        return np.ones(len(self), dtype=bool) if self.weights is None else nonzero_weights(self.weights)

    def class_numbers(self, classes: NDArray[Any], *, all_known: bool) -> Index:
        """Return the class number of each row; 0 for labels that are not in `classes`."""
        place = {label: k for k, label in enumerate(classes.tolist())}
        unknown = [label for label in self.y[self.counted].tolist() if label not in place]
        if unknown and all_known:
            raise ValueError(
                f"y holds {unknown[0]!r}, which is not a class of the estimator; its classes are {list(place)}. "
                "Leave such rows out."
            )
        return np.array([place.get(label, 0) for label in self.y.tolist()], dtype=np.intp)

    def select(self, rows: Index) -> TrainingRows:
        weights = None if self.weights is None else self.weights[rows]
        offset = None if self.offset is None else self.offset[rows]
        return TrainingRows(_safe_indexing(self.X, rows), self.y[rows], weights, offset)

    def masked(self, rows: NDArray[np.bool_]) -> TrainingRows:
        return self if rows.all() else self.select(np.flatnonzero(rows))

    def fitted(self, estimator: Any, rows: Index | None = None) -> Any:
        part = self if rows is None else self.select(rows)
        given = {} if part.offset is None else {"offset": part.offset}
        return fit_weighted(clone(estimator), part.X, part.y, inner_weights(part.weights), **given)

    def predictions_of(self, model: Any) -> F64:
        return predictions_of(model, self.X, self.offset)


@dataclass(frozen=True, eq=False)
class OutOfSample:
    model: Any  # fitted to all rows
    predicted: F64  # (n, D); NaN for rows without a voter that has not seen them
    source: Source
    leave_out: LeaveOut | None = None


def predictions_of(model: Any, X: Any, offset: F64 | None = None) -> F64:
    """Return the probabilities ``(n, K)`` of a classifier, or the numbers ``(n, D)`` of a regressor."""
    given = {} if offset is None else {"offset": offset}
    if hasattr(model, "classes_") or isinstance(model, Committee):
        return np.asarray(model.predict_proba(X, **given), dtype=np.float64)
    found = np.asarray(model.predict(X, **given), dtype=np.float64)
    return found.reshape(len(found), -1)


# --- the estimator ---------------------------------------------------------------------------------------------------


def unfitted_copy(estimator: Any) -> Any:
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator={estimator!r} is no estimator; give one that has fit and predict.")
    if getattr(estimator, "trained_parameters", ()) == ("ensemble",):
        raise ValueError(
            f"estimator is a {type(estimator).__name__}, which is made from a trained ensemble; put it in a "
            "sklearn.frozen.FrozenEstimator, with on='validation' and rows that neither has seen."
        )
    return clone(estimator)


def check_kind(estimator: Any, *, classifier: bool) -> None:
    def is_one(committee: type, test: Callable[[Any], bool]) -> bool:
        return isinstance(estimator, committee) or (hasattr(estimator, "__sklearn_tags__") and bool(test(estimator)))

    if classifier and is_one(RegressionCommittee, is_regressor):
        raise TypeError(f"estimator={estimator!r} is a regressor; ConformalRegressor is for those.")
    if not classifier and is_one(Committee, is_classifier):
        raise TypeError(f"estimator={estimator!r} is a classifier; ConformalClassifier is for those.")
    if classifier and not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator={estimator!r} has no predict_proba, which sets of classes need; a "
            "sklearn.calibration.CalibratedClassifierCV around it has."
        )


def check_takes_offset(estimator: Any) -> None:
    method = getattr(estimator, "fit", getattr(estimator, "predict", None))
    if method is None or "offset" not in signature(method).parameters:
        kind = "the default" if estimator is None else type(estimator).__name__
        raise ValueError(
            f"offset is given, and estimator ({kind}) takes none; use a GradientBoostingRegressor or "
            "GradientBoostingClassifier, or, for counts over exposures, fit y / exposure with sample_weight=exposure."
        )


def committee_of(model: Any) -> Committee | RegressionCommittee | None:
    if isinstance(model, Committee | RegressionCommittee):
        return model
    kind: Any = Committee if hasattr(model, "classes_") else RegressionCommittee
    try:
        found: Committee | RegressionCommittee = kind.from_estimator(model)
    except (TypeError, ValueError):
        return None
    return found


def as_committee(model: Any) -> Committee | RegressionCommittee:
    found = committee_of(model)
    if found is not None:
        return found
    if hasattr(model, "classes_"):
        voters = EstimatorVoters([model], model.classes_, soft=True)
        return Committee(voters, np.ones(1), model.classes_, Share())
    only = RegressorVoters([model], np.zeros(1, dtype=np.intp), np.zeros(1), 1, 1)  # unbounded
    return RegressionCommittee(only, np.ones(1), Identity())


# --- out of bag ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OutOfBagVoters:
    """Voters of equal weight with their out-of-bag rows."""

    committee: Any
    unseen: Mask  # (n, T): out-of-bag mask

    def training_predictions(self, X: Any) -> F64:
        """Return out-of-bag predictions of the training rows, ``(n, D)``; NaN for rows that all voters have seen."""
        data, voters = self.committee.encode(X), self.committee.voters
        tally: F64 | None = None
        for t in range(len(voters)):
            rows = np.flatnonzero(self.unseen[:, t])
            if len(rows):
                votes = voters[t].tally(data[rows], n_threads=1)
                tally = np.zeros((len(self.unseen), votes.shape[1])) if tally is None else tally
                tally[rows] += votes
        assert tally is not None  # some voter has left out a row
        return self.mean_prediction(tally, self.unseen.sum(axis=1))

    def mean_prediction(self, tally: F64, n_votes: NDArray[np.int64]) -> F64:
        total, link = self.committee.total_weight, self.committee.link
        mean = np.full_like(tally, np.nan)
        some = n_votes > 0
        scores = tally[some] / n_votes[some, None] * total
        if hasattr(link, "probability"):
            mean[some] = link.probability(scores, total)
        else:
            mean[some] = np.asarray(link.mean(scores[:, 0], total))[:, None]
        return mean

    def predictions(self, X: Any, offset: F64 | None = None) -> Iterator[tuple[Index, F64]]:
        """Yield a training row's index ``(1,)``, and predictions ``(m, D)`` for `X` by voters that have not seen it."""
        assert offset is None  # no learner of out-of-bag voters takes an offset
        data, voters = self.committee.encode(X), self.committee.voters
        votes = np.stack([voters[t].tally(data, n_threads=1) for t in range(len(voters))])
        T, m, D = votes.shape
        flat, n_votes = votes.reshape(T, m * D), self.unseen.sum(axis=1)
        rows_with_votes = np.flatnonzero(n_votes)
        step = max(1, MAX_CELLS // (m * D))
        for a in range(0, len(rows_with_votes), step):
            rows = rows_with_votes[a : a + step]
            tally = (self.unseen[rows].astype(np.float64) @ flat).reshape(len(rows), m, D)
            for row, each in zip(rows.tolist(), tally, strict=True):
                yield np.array([row]), self.mean_prediction(each, np.full(m, n_votes[row]))


def has_out_of_bag_rows(estimator: Any) -> bool:
    if isinstance(estimator, Blend | SBPMTClassifier):
        return True
    if not hasattr(estimator, "oob_score"):
        return False
    if isinstance(estimator, BaggingClassifier | BaggingRegressor) and estimator.warm_start:
        return False  # which excludes oob_score
    bootstrap = bool(getattr(estimator, "bootstrap", False))
    if isinstance(estimator, ForestEstimator | SubaggingClassifier):
        return bootstrap or getattr(estimator, "max_samples", None) not in (None, 1.0)
    return bootstrap


def fit_out_of_bag(
    estimator: Any, training: TrainingRows, *, leave_out: bool = False, required: bool = False
) -> OutOfSample | None:
    """Fit an estimator and return its out-of-bag predictions, or `None` if it has no usable ones."""
    option = "keep_oof" if isinstance(estimator, Blend) else "oob_score"
    kept = getattr(estimator, option)
    model = training.fitted(clone(estimator).set_params(**{option: kept or True}))
    table = getattr(model, "table_", None)
    if table is not None and table.values and not required:
        return None  # category encodings were learned from all rows
    try:
        found = out_of_bag(model, training, leave_out=leave_out)
    except NoUnseenRowsError:
        if required:
            raise
        return None
    if option == "keep_oof" and not kept:
        model.keep_oof = False
        for name in OOF_ATTRIBUTES:
            vars(model).pop(name, None)
    return found if np.isfinite(found.predicted[:, 0]).any() else None


def out_of_bag(model: Any, training: TrainingRows, *, leave_out: bool, trained_before: bool = False) -> OutOfSample:
    if len(getattr(model, "classes_", (0, 1))) == 1:
        return OutOfSample(model, np.ones((len(training), 1)), "out of bag")
    if isinstance(model, Blend):
        return _out_of_fold_of_blend(model, training, leave_out=leave_out)
    if isinstance(model, TrainedEnsemble):
        raise ValueError(
            f"on='oob': the votes of a {type(model).__name__} may have been chosen by these rows; use "
            "on='validation', with rows that neither it nor its ensemble has seen."
        )
    committee = committee_of(model)
    n_voters = len(getattr(model, "estimators_", ())) if committee is None else committee.n_voters
    unseen = out_of_bag_mask(model, n_voters, training.y, training.weights)
    unseen &= training.counted[:, None]
    votes = None if committee is None else OutOfBagVoters(committee, unseen)
    if votes is None and leave_out:
        raise ValueError(f'method="plus" needs votes of each voter of {model!r}, which are unknown; use "base".')
    stored = _stored_predictions(model, votes, len(training))
    if trained_before and stored is None and isinstance(model, ForestEstimator | SubaggingClassifier):
        raise ValueError(
            f"{type(model).__name__} has no stored out-of-bag vote by which rows drawn again could be checked; train "
            "it with oob_score=True, or use on='validation'."
        )
    if votes is not None and (stored is None or trained_before):
        predicted = votes.training_predictions(training.X)
        if stored is not None:
            _check_stored(predicted, stored, model)
    elif stored is not None:
        predicted = stored
    else:
        raise ValueError(f"{model!r} has no stored out-of-bag prediction; train it with oob_score=True.")
    predicted = np.where(np.any(unseen, axis=1, keepdims=True), predicted, np.nan)
    return OutOfSample(model, predicted, "out of bag", votes if leave_out else None)


def _stored_predictions(model: Any, votes: OutOfBagVoters | None, n: int) -> F64 | None:
    names = ("oob_decision_function_", "oob_prediction_")
    kept = next((getattr(model, name) for name in names if getattr(model, name, None) is not None), None)
    if kept is None or len(kept) != n:
        return None
    kept = np.asarray(kept, dtype=np.float64).reshape(n, -1)
    if votes is None or not isinstance(model, ForestEstimator | SubaggingClassifier | SBPMTClassifier):
        return kept
    return votes.mean_prediction(kept, np.isfinite(kept[:, 0]).astype(np.int64))


def _check_stored(predicted: F64, stored: F64, model: Any) -> None:
    known = np.isfinite(predicted).all(axis=1) & np.isfinite(stored).all(axis=1)
    differ = ~np.isclose(predicted[known], stored[known], rtol=1e-6, atol=1e-6).all(axis=1)
    if differ.any():
        row = int(np.flatnonzero(known)[differ.argmax()])
        raise ValueError(
            f"on='oob': the out-of-bag prediction of row {row} differs from the one that the {type(model).__name__} "
            "has stored; X and y must be the rows that it was trained on, in their order, with their weights."
        )


def _out_of_fold_of_blend(model: Blend, training: TrainingRows, *, leave_out: bool) -> OutOfSample:
    if leave_out:
        raise ValueError(
            f'method="plus" needs predictions without each row, which the {type(model).__name__} does not keep; use '
            'method="base", or, unless it is trained already, cv=5.'
        )
    kept = next((getattr(model, name) for name in OOF_ATTRIBUTES if hasattr(model, name)), None)
    if kept is None:
        raise NoUnseenRowsError(
            f"the {type(model).__name__} has no out-of-fold predictions: its rows are too few, or it was trained with "
            "keep_oof=False. Train it on more rows with keep_oof=True, or use on='validation' with held-out rows."
        )
    if len(kept) != len(training):
        raise ValueError(
            f"X has {len(training)} rows; the {type(model).__name__} was trained on {len(kept)}. on='oob' needs the "
            "training rows, in the same order."
        )
    return OutOfSample(model, kept.reshape(len(kept), -1), "out of fold")


# --- out of fold -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FoldModels:
    """A model for each fold, fitted to all other rows."""

    models: Sequence[Any]
    fold: NDArray[np.int64]  # (n,): fold of each training row; -1 for none

    def predictions(self, X: Any, offset: F64 | None = None) -> Iterator[tuple[Index, F64]]:
        for k, model in enumerate(self.models):
            yield np.flatnonzero(self.fold == k), predictions_of(model, X, offset)


LeaveOut: TypeAlias = OutOfBagVoters | FoldModels


def fit_on_folds(
    estimator: Any, training: TrainingRows, fold: NDArray[np.int64], n_jobs: int | None, *, leave_out: bool
) -> OutOfSample:
    """Fit to all rows and without each fold; rows of fold -1 are in all fits."""
    counted = training.counted
    jobs: list[Any] = [delayed(training.fitted)(estimator)]
    folds = [k for k in range(int(fold.max()) + 1) if (counted & (fold == k)).any()]
    jobs += [delayed(training.fitted)(estimator, np.flatnonzero(counted & (fold != k))) for k in folds]
    with in_parallel(jobs, n_jobs) as fits:
        model, *others = fits
    classes = getattr(model, "classes_", None)
    others = [
        one if classes is None or len(one.classes_) == len(classes) else _WithAllClasses(one, classes) for one in others
    ]
    predicted: F64 | None = None
    for k, one in zip(folds, others, strict=True):
        rows = np.flatnonzero(counted & (fold == k))
        found = training.select(rows).predictions_of(one)
        predicted = np.full((len(training), found.shape[1]), np.nan) if predicted is None else predicted
        predicted[rows] = found
    if predicted is None:
        raise ValueError(
            f"n_samples = {len(training)} rows make no folds, which need two different rows"
            f"{'' if classes is None else ' of a class'}; give more rows, or held-out rows for a trained model."
        )
    kept = FoldModels(others, np.where(counted, fold, -1)) if leave_out else None
    return OutOfSample(model, predicted, "out of fold", kept)


class _WithAllClasses:
    # a classifier whose training folds have no row of some class, which gets the probability 0
    def __init__(self, model: Any, classes: NDArray[Any]) -> None:
        self.model, self.classes_ = model, classes

    def predict_proba(self, X: Any, **given: F64) -> F64:
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        p = np.zeros((len(found := self.model.predict_proba(X, **given)), len(place)))
        p[:, [place[label] for label in self.model.classes_.tolist()]] = found
        return p


def folds_of_rows(cv: Any, X: Any, y: NDArray[Any], labels: Index | None) -> NDArray[np.int64]:
    """Return the test fold of each row, ``(n,)``, -1 for none; an integer `cv` keeps copies of a row in one fold."""
    if not isinstance(cv, Integral):
        return _folds_of_splitter(cv, y, labels)
    classes = np.zeros(len(y), dtype=np.intp) if labels is None else labels
    numbers, whole, copied = _content_numbers(X, y, labels)
    # class by class, by content
    order = np.lexsort((whole, numbers, classes))
    other_class = np.diff(classes[order], prepend=-1) != 0
    other_row = other_class | (np.diff(whole[order].astype(np.uint64), prepend=np.uint64(0)) != 0) | (copied is None)
    place = np.empty(len(y), dtype=np.int64)
    place[order] = np.cumsum(other_row) - 1  # of each row, or of each different one
    single = np.bincount(classes[order][other_row])[classes] == 1
    return np.where(single, -1, place % int(cv))


def _content_numbers(X: Any, y: NDArray[Any], labels: Index | None) -> tuple[NDArray[Any], NDArray[Any], Index | None]:
    # two digests of each row: of its numeric columns, and of all columns; in regression both with the target's rank.
    # Last, the distinct row of each row if equal rows are copies, else None
    matrix: Matrix
    try:
        if is_sparse(X):
            matrix = as_sparse_matrix(X)
            numbers, every = row_digests(matrix, 1), None
        else:
            rows = X if is_frame(X) else numeric_matrix(X, None)
            table = TableSchema.learn(rows, "from_dtype")
            matrix = np.ascontiguousarray(table.encode(rows))
            numbers, every = digests_of_kinds(matrix, table.with_levels, 1)
    except (TypeError, ValueError, AttributeError, IndexError):
        return np.arange(len(y)), np.arange(len(y)), None
    whole, weights = numbers if every is None else every, np.ones(len(y))
    if labels is not None:
        copied = copied_rows(Rows(matrix, labels.astype(np.uint16), weights, True), 1, 0.0)
        return numbers, whole, copied
    copied = copied_rows(TargetRows(matrix, y, weights, True), 1, 0.0)
    of_target = row_digests(ranks(y)[:, None], 1) * np.uint64(3)
    return numbers + of_target, whole + of_target, copied


def _folds_of_splitter(cv: Any, y: NDArray[Any], labels: Index | None) -> NDArray[np.int64]:
    fold = np.full(len(y), -1, dtype=np.int64)
    if isinstance(cv, GROUP_SPLITTERS):
        raise ValueError(
            f"cv={brief_repr(cv)} splits by groups, which it is not given; give its splits: "
            "cv=list(splitter.split(X, y, groups))."
        )
    rows = np.zeros((len(y), 1))
    for k, (train, test) in enumerate(check_cv(cv, y, classifier=labels is not None).split(rows, y)):
        others = np.setdiff1d(np.arange(len(y)), test)
        if len(np.setdiff1d(others, train)) or len(np.intersect1d(train, test)):
            raise ValueError(
                f"cv={brief_repr(cv)} trains fold {k} on {len(train)} of {len(y)} rows and judges {len(test)}; each "
                "fold must be trained on exactly the rows that it does not judge."
            )
        if (fold[test] >= 0).any():
            raise ValueError(
                f"cv={brief_repr(cv)} has a row in several test sets; use a splitter with disjoint test sets."
            )
        fold[test] = k
    if not (fold >= 0).any():
        raise ValueError(f"cv={brief_repr(cv)} has no test rows; use a splitter with non-empty test sets.")
    return fold
