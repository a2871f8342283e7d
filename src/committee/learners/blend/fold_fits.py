"""Single fits of members on encoded rows, here or in another process."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.number_types import F64, Index
from committee.data.rows import Rows, TargetRows
from committee.learners.base.folds import Fold
from committee.learners.blend.trained_fit import TrainedFit

if TYPE_CHECKING:
    from committee.learners.blend.portfolio import Candidate

FAILURES = (ValueError, ArithmeticError, RuntimeError, MemoryError, np.linalg.LinAlgError)
"""Errors by which a candidate is left out; others end the fit of all."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a fit, and the seconds that it took."""

    name: str
    number: int
    fit: TrainedFit | Exception
    seconds: float


@dataclass(frozen=True, eq=False)
class FoldFits:
    """Trains candidates on all rows, or on the others of a fold."""

    rows: Rows | TargetRows
    """Encoded rows; many levels of a category are codes, of which each fit learns its own numbers."""
    folds: Sequence[Fold]
    categorical: list[int] | None
    seed: int
    n_jobs: int | None

    def on_others(self, candidate: Candidate, settings: dict[str, Any], number: int) -> TrainedFit:
        """Train on the others of the fold of that number, and answer to its judged rows."""
        fold = self.folds[number]
        model = self.model(candidate, settings, fold.others, fold.other_weights, number)
        committee, X = model.committee_, self.rows.cells[fold.judged]
        if isinstance(self.rows, Rows):
            answers = committee.link.evidence(model.decision_function(X), committee.total_weight)
        else:
            answers = model.predict(X)[:, None]
        return TrainedFit(committee, answers, getattr(model, "learning_rate_", 0.0))

    def outcome(self, candidate: Candidate, settings: dict[str, Any], number: int) -> Outcome:
        """As `on_others`, without warnings; an error by which the candidate is left out is an outcome too."""
        begun = time.perf_counter()
        fit: TrainedFit | Exception
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fit = self.on_others(candidate, settings, number)
            except FAILURES as error:
                fit = error
        return Outcome(candidate.name, number, fit, time.perf_counter() - begun)

    def on_all(self, candidate: Candidate, settings: dict[str, Any], number: int) -> TrainedFit:
        """Train on all rows, whose answers are those of the draws without them."""
        model = self.model(candidate, settings, np.arange(len(self.rows)), self.rows.weights, number)
        committee = model.committee_
        if isinstance(self.rows, TargetRows):
            return TrainedFit(committee, model.oob_prediction_[:, None], 0.0)
        votes = model.oob_decision_function_ * committee.total_weight
        return TrainedFit(committee, committee.link.evidence(votes, committee.total_weight), 0.0)

    def model(self, candidate: Candidate, settings: dict[str, Any], index: Index, weights: F64, number: int) -> Any:
        """Return the learner, trained on some rows of these weights."""
        own: dict[str, Any] = {"random_state": self.seed + number, "n_jobs": self.n_jobs}
        own["categorical_features"] = self.categorical
        if "calibrate" in candidate.learner.declared_parameters:
            own["calibrate"] = None
        model = candidate.learner(**own, **settings)
        y = self.rows.labels if isinstance(self.rows, Rows) else self.rows.target
        uniform = self.rows.uniform and bool((weights == weights[0]).all())
        model.fit(self.rows.cells[index], y[index], None if uniform else weights)
        return model
