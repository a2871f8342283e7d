"""Loop over boosting rounds, and the base of the boosters with early stopping."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

from committee.data.columns import Backend, data_frame
from committee.data.number_types import F64
from committee.data.rows import Offsets, Rows, TargetRows, nonzero_weights
from committee.files.journal import Checkpoint
from committee.learners.base.early_stopping import (
    EarlyStopping,
    HeldOutScore,
    HeldOutVotes,
    ValidationSet,
    train_validation_split,
)
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.fit_record import FitRecord
from committee.learners.base.fit_tasks import FitTasks, Fitted
from committee.learners.base.shared_parameters import EarlyStoppingParameters, with_fit_parameters


class BoostingRun(ABC):
    """Rounds of one fit. `n_rounds` counts the completed ones, those of a warm start included."""

    n_rounds: int = 0

    @abstractmethod
    def has_next(self) -> bool:
        """Return whether another round is possible; may train its voter."""

    @abstractmethod
    def advance(self) -> None: ...

    def keep(self, record: FitRecord) -> None:  # noqa: B027 - rounds that cost little are run anew
        """Record costly results, and reuse recorded ones."""


def run_rounds(
    run: BoostingRun, most: int, tasks: FitTasks, fitted: Fitted, followed: Sequence[EarlyStopping] = ()
) -> None:
    for each in followed:
        each.follow(run.n_rounds)  # a warm start has some
    while run.n_rounds < most and run.has_next():
        tasks.begin_part("round")
        run.advance()
        ended = [each.follow(run.n_rounds) for each in followed]  # all of them record the round
        if tasks.end_part(fitted) or any(ended):
            break


class Boosting(CommitteeEstimator, EarlyStoppingParameters):
    n_estimators: Any
    _tol_is_of_training = False
    """True if `tol` ends the training; early stopping then has no tolerance."""

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @with_fit_parameters("X", "y", "sample_weight", "X_val, y_val", "sample_weight_val", "groups", "checkpoint")
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | str | None = None,
        groups: ArrayLike | str | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Run the rounds. A fit that fails leaves the estimator unchanged."""
        return self._fit(X, y, sample_weight, checkpoint, ValidationSet(X_val, y_val, sample_weight_val), groups)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
        validation: ValidationSet,
        groups: Any,
        offsets: Offsets | None = None,
    ) -> Self:
        with self._one_fit(X, y, sample_weight, checkpoint, offsets, groups) as (tasks, rows):
            if constant := self._constant(rows):
                tasks.begin()
                tasks.end(constant)
                return self
            scoring = getattr(self, "scoring", None)  # a subclass with another signature may have none
            random = self._random(tasks.random(rows), rows)
            if tasks.groups is not None and not self._takes_groups:
                raise ValueError(
                    "groups are given, but no rows of X are held out; set early_stopping=True, or omit groups."
                )
            if (group := tasks.group_of(rows)) is not None:
                rows = replace(rows, group=group)
            rows, held_out = self._held_out_rows(rows, validation, random, tasks)
            with_training = getattr(self, "return_train_score", False)
            if held_out is None and scoring is not None and not (with_training or self._scores_trials):
                raise ValueError(
                    f"scoring={scoring!r} needs held-out rows, and there are none; set early_stopping=True, give "
                    "X_val and y_val to fit, or set scoring=None."
                )
            tasks.y = tasks.given_weight = None  # no longer needed
            run = self._run(rows, random)
            if tasks.record is not None:
                run.keep(tasks.record)
            kept = rows if self._calibrates and held_out is None else None
            stopping = None if held_out is None else self._stopping(run, held_out, scoring)
            followed = {} if stopping is None else {"validation": stopping}
            if with_training:
                followed = {"training": self._training_curves(run, rows, scoring), **followed}
            del rows  # the run and what follows it reference what they need of them

            def fitted() -> dict[str, Any]:
                best = stopping.best if stopping is not None and self.early_stopping else None
                n_rounds = run.n_rounds if best is None else best
                losses = None if stopping is None else np.array(stopping.losses)
                return {
                    **self._fitted(run, n_rounds, losses if scoring is None else None),
                    "validation_scores_": None if losses is None or scoring is None else -losses[:n_rounds],
                    "evals_result_": {name: each.curves for name, each in followed.items()} or None,
                    "best_iteration_": best,
                }

            tasks.begin()
            run_rounds(run, self._most_rounds(run), tasks, fitted, list(followed.values()))
            if stopping is not None:
                self._after_stopping(run, held_out, stopping.best)
            results = fitted()
            self._warn(run, results)
            tasks.end(self._finished(results, kept, held_out, random, tasks))
        return self

    def _held_out_rows(
        self, rows: Any, validation: ValidationSet, random: np.random.RandomState, tasks: FitTasks
    ) -> tuple[Any, Any]:
        if not validation:
            return self._hold_out(rows, random) if self.early_stopping else (rows, None)
        held_out = self._validation_rows(*validation.columns, tasks.y, tasks.given_weight)
        held_out = held_out if tasks.offsets is None else tasks.offsets.of_validation(held_out)
        counted = nonzero_weights(held_out.weights)
        return rows, held_out if counted.all() else held_out.take(counted)

    def _stopping(self, run: Any, held_out: Any, scoring: Any) -> EarlyStopping:
        if scoring is None:
            stopping = self._early_stopping(run, held_out)
        else:
            votes, classes = self._held_out_votes(run, held_out), getattr(self, "classes_", None)
            stopping = EarlyStopping(HeldOutScore(scoring, held_out, votes, classes), self.n_iter_no_change)
        stopping.tol = 0.0 if self._tol_is_of_training else self.tol
        if not self.early_stopping:
            stopping.patience = None
        return stopping

    def _training_curves(self, run: Any, rows: Any, scoring: Any) -> EarlyStopping:
        curves = self._stopping(run, rows, scoring)
        curves.patience = None
        return curves

    def evals_frame(self, backend: Backend = "pandas") -> Any:
        """Table of `evals_result_`: columns "rows", "metric", "round" and "value".

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Library of the data frame.

        Raises
        ------
        ValueError
            If the fit had neither held-out rows nor `return_train_score`, or one class only, or `backend` is another
            one.
        """
        check_is_fitted(self)
        curves_of_rows = getattr(self, "evals_result_", None)  # absent after a fit to one class, and in older files
        if curves_of_rows is None:
            rows = "" if len(getattr(self, "classes_", "01")) > 1 else ", to rows of two classes"
            how = "early_stopping=True, X_val, or return_train_score=True"
            raise ValueError(f"there are no curves; fit with {how}{rows}.")
        lines = [
            (rows, metric, t, value)
            for rows, curves in curves_of_rows.items()
            for metric, values in curves.items()
            for t, value in enumerate(values, start=1)
        ]
        columns = dict(zip(("rows", "metric", "round", "value"), map(list, zip(*lines, strict=True)), strict=True))
        return data_frame(columns, backend)

    @property
    def _scores_trials(self) -> bool:
        """True if `scoring` scores trials of the learning rate."""
        return False

    @property
    def _takes_groups(self) -> bool:
        return self.early_stopping or self._calibrates

    def _random(self, generator: np.random.RandomState, rows: Rows | TargetRows) -> np.random.RandomState:
        return generator

    def _hold_out(self, rows: Any, random: np.random.RandomState) -> tuple[Any, Any]:
        rows, held_out = train_validation_split(rows, self.validation_fraction, random, getattr(self, "classes_", None))
        rows, table = rows.with_numbers(self.table_)  # target statistics are learned from training rows alone
        self.table_ = table
        return rows, held_out.encode_levels_with(self.table_)

    def _most_tasks(self, X: Any) -> int | None:
        return int(self.n_estimators)

    def _most_rounds(self, run: Any) -> int:
        return int(self.n_estimators)

    @abstractmethod
    def _run(self, rows: Any, random: np.random.RandomState) -> BoostingRun: ...

    @abstractmethod
    def _early_stopping(self, run: Any, held_out: Any) -> EarlyStopping: ...

    def _after_stopping(self, run: Any, held_out: Any, n_rounds: int) -> None:
        """Hook to refit the `n_rounds` kept rounds on all rows, held-out ones included."""

    def _held_out_votes(self, run: Any, held_out: Any) -> HeldOutVotes:
        scoring = getattr(self, "scoring", None)
        raise ValueError(f"scoring={scoring!r}: a {type(self).__name__} takes no scorers; set scoring=None.")

    @abstractmethod
    def _fitted(self, run: Any, n_rounds: int, losses: F64 | None) -> dict[str, Any]:
        """Return the fitted attributes of the first `n_rounds` rounds; `losses` are held-out ones."""

    def _from_file(self) -> None:
        super()._from_file()
        best = getattr(self, "best_iteration_", None)
        if best is not None and (type(best) is not int or best < 1):
            raise ValueError(f"best_iteration_ is {best!r}; it must be a number of rounds, or None")

    def _warn(self, run: Any, fitted: dict[str, Any]) -> None: ...
