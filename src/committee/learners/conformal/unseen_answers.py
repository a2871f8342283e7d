"""Answers to rows by voters that have not seen them: out of bag, out of fold, or of rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.utils import _safe_indexing

from committee.data.number_types import F64
from committee.data.parallel import in_parallel
from committee.data.rows import counted
from committee.learners.bagging.random_forest import ForestEstimator
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.learners.bagging.subagging import SubaggingClassifier
from committee.learners.base.user_voter import fit_weighted
from committee.learners.blend.blend import OOF_ATTRIBUTES, Blend
from committee.learners.conformal.leave_out import FoldModels, LeaveOut, UnseenVotes
from committee.learners.trained.trained_ensemble import TrainedEnsemble
from committee.learners.trained.unseen_rows import unseen_rows
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.estimators import EstimatorVoters

Source: TypeAlias = Literal["out of bag", "out of fold", "held out"]
"""Which rows the scores are of."""

REMEMBERED = ("oob_decision_function_", "oob_prediction_")


@dataclass(frozen=True, eq=False)
class Training:
    """What an estimator is trained on, or was."""

    X: Any
    y: NDArray[Any]
    weights: F64 | None
    """Those of the fit; None if all are equal."""

    def __len__(self) -> int:
        return len(self.y)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Rows with weight."""
        return np.ones(len(self), dtype=bool) if self.weights is None else counted(self.weights)

    def some(self, rows: NDArray[np.bool_]) -> Training:
        """Those of a mask."""
        if rows.all():
            return self
        weights = None if self.weights is None else self.weights[rows]
        return Training(_safe_indexing(self.X, np.flatnonzero(rows)), self.y[rows], weights)

    def fitted(self, estimator: Any, rows: NDArray[np.intp] | None = None) -> Any:
        """Fit a copy of an estimator to the rows, or to some of them."""
        if rows is None:
            return fit_weighted(clone(estimator), self.X, self.y, self.weights)
        weights = None if self.weights is None else self.weights[rows]
        return fit_weighted(clone(estimator), _safe_indexing(self.X, rows), self.y[rows], weights)


@dataclass(frozen=True, eq=False)
class UnseenAnswers:
    """Answers to the rows of a fit, each by voters that have not seen it."""

    model: Any
    """That answers to new rows."""
    answers: F64
    """``(n, D)``; NaN for rows that nothing judges."""
    source: Source
    leave_out: LeaveOut | None = None
    """What is answered to new rows without each of these."""


def answer(model: Any, X: Any) -> F64:
    """Answer rows as a model does: probabilities ``(n, K)``, or numbers ``(n, D)``."""
    if hasattr(model, "classes_") or isinstance(model, Committee):
        return np.asarray(model.predict_proba(X), dtype=np.float64)
    found = np.asarray(model.predict(X), dtype=np.float64)
    return found.reshape(len(found), -1)


def judges_itself(estimator: Any) -> bool:
    """Whether a fit of an estimator has rows that it judges by voters that have not seen them.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> from committee import AdaBoostClassifier, RandomForestClassifier
    >>> [judges_itself(one) for one in (RandomForestClassifier(), AdaBoostClassifier(), ExtraTreesRegressor())]
    [True, False, False]
    """
    if isinstance(estimator, Blend | SBPMTClassifier):
        return True
    if not hasattr(estimator, "oob_score"):
        return False
    if isinstance(estimator, BaggingClassifier | BaggingRegressor) and estimator.warm_start:
        return False  # it refuses to judge rows out of bag then
    bootstrap = bool(getattr(estimator, "bootstrap", False))
    if isinstance(estimator, ForestEstimator | SubaggingClassifier):
        return bootstrap or getattr(estimator, "max_samples", None) not in (None, 1.0)
    return bootstrap


# --- out of bag --------------------------------------------------------------------------------------------------


def trained_out_of_bag(
    estimator: Any, training: Training, *, leave_out: bool = False, levels: bool = False
) -> UnseenAnswers | None:
    """Train an estimator that `judges_itself` once, and take what its voters say of rows that they have not seen.

    Parameters
    ----------
    leave_out : bool, default=False
        Whether new rows are to be answered without each of these, too.
    levels : bool, default=False
        Whether rows do count where numbers that all of them have taught stand for the levels of a column.

    Returns
    -------
    UnseenAnswers or None
        None where they do not count, or all voters have seen all rows.
    """
    asked = "keep_oof" if isinstance(estimator, Blend) else "oob_score"
    kept = getattr(estimator, asked)
    model = training.fitted(clone(estimator).set_params(**{asked: kept or True}))
    if numbers_by_levels(model) and not levels:
        return None
    found = out_of_bag(model, training, leave_out=leave_out)
    if asked == "keep_oof" and not kept:
        model.keep_oof = False
        for name in OOF_ATTRIBUTES:
            vars(model).pop(name, None)
    return found if np.isfinite(found.answers[:, 0]).any() else None


def out_of_bag(model: Any, training: Training, *, leave_out: bool, trained_before: bool = False) -> UnseenAnswers:
    """Take what the voters of a trained ensemble say of those of its training rows that they have not seen.

    Of an ensemble that was `trained_before`, rows are compared with what it remembers of them.

    Raises
    ------
    ValueError
        If it does not know its draws, or the rows are others than it was trained on; if all rows have taught it what
        stands for categories, or its votes were chosen by the rows that are out of bag.
    """
    if len(getattr(model, "classes_", (0, 1))) == 1:
        return UnseenAnswers(model, np.ones((len(training), 1)), "out of bag")
    if isinstance(model, Blend):
        return _of_committee(model, training, leave_out=leave_out)
    refuse_reused_rows(model)
    committee = committee_of(model)
    n_voters = len(getattr(model, "estimators_", ())) if committee is None else committee.n_voters
    unseen = unseen_rows(model, n_voters, training.y, training.weights)
    unseen &= training.counted[:, None]
    votes = None if committee is None else UnseenVotes(committee, unseen)
    if votes is None and leave_out:
        raise ValueError(f'method="plus" asks each voter of {model!r}, and they are none that are known; use "base".')
    remembered = _remembered(model, votes, len(training))
    if trained_before and remembered is None and isinstance(model, ForestEstimator | SubaggingClassifier):
        raise ValueError(
            f"{type(model).__name__} remembers no out-of-bag vote, by which draws that are made again could be "
            "checked; train it with oob_score=True, or use on='validation'."
        )
    if votes is not None and (remembered is None or trained_before):
        answers = votes.of_training_rows(training.X)
        if remembered is not None:
            _refuse_others(answers, remembered, model)
    elif remembered is not None:
        answers = remembered
    else:
        raise ValueError(f"{model!r} remembers no out-of-bag prediction; train it with oob_score=True.")
    answers = np.where(np.any(unseen, axis=1, keepdims=True), answers, np.nan)
    return UnseenAnswers(model, answers, "out of bag", votes if leave_out else None)


def _remembered(model: Any, votes: UnseenVotes | None, n: int) -> F64 | None:
    """Answers to the training rows that an ensemble has kept; None if none, or of another number of rows."""
    kept = next((getattr(model, name) for name in REMEMBERED if getattr(model, name, None) is not None), None)
    if kept is None or len(kept) != n:
        return None
    kept = np.asarray(kept, dtype=np.float64).reshape(n, -1)
    if votes is None or not isinstance(model, ForestEstimator | SubaggingClassifier | SBPMTClassifier):
        return kept
    return votes.answer_of(kept, np.isfinite(kept[:, 0]).astype(np.int64))


def _refuse_others(answers: F64, remembered: F64, model: Any) -> None:
    """Refuse rows of which voters do not say what an ensemble remembers."""
    known = np.isfinite(answers).all(axis=1) & np.isfinite(remembered).all(axis=1)
    differ = ~np.isclose(answers[known], remembered[known], rtol=1e-6, atol=1e-6).all(axis=1)
    if differ.any():
        row = int(np.flatnonzero(known)[differ.argmax()])
        raise ValueError(
            f"on='oob': the out-of-bag answer to row {row} is not the one that the {type(model).__name__} remembers; X "
            "and y must be the rows that it was trained on, in their order, with their weights."
        )


def refuse_reused_rows(model: Any) -> None:
    """Refuse a model whose votes were chosen by the rows that its voters have not seen.

    Raises
    ------
    ValueError
        If it is one.
    """
    if isinstance(model, TrainedEnsemble):
        raise ValueError(
            f"on='oob': the votes of a {type(model).__name__} were chosen by these rows; use on='validation', with "
            "rows that neither it nor its ensemble has seen."
        )


def numbers_by_levels(model: Any) -> bool:
    """Whether numbers that all rows have taught a model stand for the levels of a column."""
    table = getattr(model, "table_", None)
    return bool(table is not None and table.values)


def _of_committee(model: Blend, training: Training, *, leave_out: bool) -> UnseenAnswers:
    """Answers that a committee of ensembles has kept."""
    if leave_out:
        raise ValueError(
            f'method="plus" asks what is answered without each row, which the {type(model).__name__} does not keep; '
            'use method="base", or cv=5.'
        )
    kept = next((getattr(model, name) for name in OOF_ATTRIBUTES if hasattr(model, name)), None)
    if kept is None:
        raise ValueError(
            f"the {type(model).__name__} has not kept what it says of rows that its fits have not seen: its rows are "
            "too few, or it was trained with keep_oof=False. Train it with keep_oof=True, or use on='validation'."
        )
    if len(kept) != len(training):
        raise ValueError(
            f"X has {len(training)} rows; the {type(model).__name__} was trained on {len(kept)}. on='oob' needs the "
            "training rows, in the same order."
        )
    return UnseenAnswers(model, kept.reshape(len(kept), -1), "out of fold")


def committee_of(model: Any) -> Committee | RegressionCommittee | None:
    """Return the committee inside a model; None if there is none that is known."""
    if isinstance(model, Committee | RegressionCommittee):
        return model
    kind: Any = Committee if hasattr(model, "classes_") else RegressionCommittee
    try:
        found: Committee | RegressionCommittee = kind.from_estimator(model)
    except (TypeError, ValueError):
        return None
    return found


# --- out of fold, and held out -----------------------------------------------------------------------------------


def trained_on_folds(
    estimator: Any, training: Training, fold: NDArray[np.int64], n_jobs: int | None, *, leave_out: bool
) -> UnseenAnswers:
    """Train an estimator on all rows, and once more for each fold without it.

    Parameters
    ----------
    fold : int array (n,)
        Fold that judges each row; -1 for rows that are always trained on.
    """
    counted = training.counted
    jobs: list[Any] = [delayed(training.fitted)(estimator)]
    folds = [k for k in range(int(fold.max()) + 1) if (counted & (fold == k)).any()]
    jobs += [delayed(training.fitted)(estimator, np.flatnonzero(counted & (fold != k))) for k in folds]
    with in_parallel(jobs, n_jobs) as fits:
        model, *others = fits
    classes = getattr(model, "classes_", None)
    others = [_OfClasses.of(one, classes) for one in others]
    answers: F64 | None = None
    for k, one in zip(folds, others, strict=True):
        rows = np.flatnonzero(counted & (fold == k))
        found = answer(one, _safe_indexing(training.X, rows))
        answers = np.full((len(training), found.shape[1]), np.nan) if answers is None else answers
        answers[rows] = found
    if answers is None:
        raise ValueError(
            f"n_samples = {len(training)} rows have no two different ones of a class to part into folds; give more, or "
            "rows that are held out."
        )
    kept = FoldModels(others, np.where(counted, fold, -1), answer) if leave_out else None
    return UnseenAnswers(model, answers, "out of fold", kept)


def held_out(model: Any, X: Any) -> UnseenAnswers:
    """Let a trained model answer to rows that it has not seen."""
    return UnseenAnswers(model, answer(model, X), "held out")


class _OfClasses:
    """A classifier of a fold, which may have no row of some class: its probability is 0."""

    def __init__(self, model: Any, classes: NDArray[Any]) -> None:
        self.model, self.classes_ = model, classes

    @classmethod
    def of(cls, model: Any, classes: NDArray[Any] | None) -> Any:
        """Return the model itself where it knows all classes, or numbers."""
        if classes is None or len(model.classes_) == len(classes):
            return model
        return cls(model, classes)

    def predict_proba(self, X: Any) -> F64:
        """Probabilities of all classes."""
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        p = np.zeros((len(found := self.model.predict_proba(X)), len(place)))
        p[:, [place[label] for label in self.model.classes_.tolist()]] = found
        return p


def as_committee(model: Any) -> Committee | RegressionCommittee:
    """Return the committee inside a model, or one of which the model is the only voter."""
    found = committee_of(model)
    if found is not None:
        return found
    if hasattr(model, "classes_"):
        from committee.vote.links.probability import Share

        voters = EstimatorVoters([model], model.classes_, soft=True)
        return Committee(voters, np.ones(1), model.classes_, Share())
    from committee.vote.links.mean import Identity
    from committee.voters.regressors import RegressorVoters

    only = RegressorVoters([model], np.zeros(1, dtype=np.intp), np.zeros(1), 1, 1)  # of no bound: nothing asks for it
    return RegressionCommittee(only, np.ones(1), Identity())
