"""Classifiers whose probabilities are calibrated: one temperature, chosen on rows that the voters have not seen."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Options

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.data.sparse import Matrix
from committee.learners.base.estimator import BaseClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.vote.committee import Committee
from committee.vote.links.temperature import best_temperature

if TYPE_CHECKING:
    from committee.learners.base.folds import Fold

N_FOLDS = 5
"""Folds of a cross-fit."""
ENOUGH = 100
"""Rows that are enough to choose a temperature by: no further fold is judged."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """Rows that the voters have not seen, and what the votes say of them."""

    evidence: F64
    labels: NDArray[np.uint16]
    weights: F64
    n_rows: int
    """How many rows they count as."""

    @classmethod
    def of(cls, committee: Committee, tally: F64, total: Any, rows: Rows) -> Unseen:
        """Rows with the sum of the votes on each, and the weight of these voters."""
        return cls(committee.link.evidence(tally, total), rows.labels, rows.weights, len(rows))


@with_parameters
class CalibratedClassifier(BaseClassifier):
    """Base of the classifiers whose votes are no probabilities by themselves."""

    temperature_: float = fitted(
        """T of the probabilities, by which the evidence of the votes is divided (docs/theory.md); absent if `calibrate`
        is None, and where there was nothing to choose it by.""",
        "float",
    )

    _: KW_ONLY
    calibrate: Literal["auto"] | bool | None = parameter(
        "auto",
        """Probabilities by a temperature of least log loss on rows that the voters have not seen; elections stay as
        they are. The rows are those out of bag or, failing these, held out by early stopping; otherwise rows of up to
        five folds, each judged by a fit on the others, until 100 rows are judged, which costs 0.8 to 4
        further fits. None, False: what the votes say as they are.""",
        Options(bool, {False}),
        type_words='"auto", False or None',
    )

    def _calibrated(self, fitted: dict[str, Any], unseen: Unseen | None) -> dict[str, Any]:
        """Add to the fitted attributes the temperature, and give the committee the link that has it."""
        if unseen is None or not unseen.weights.sum() > 0.0:
            return fitted
        committee: Committee = fitted["committee_"]
        temperature = best_temperature(unseen.evidence, unseen.labels, unseen.weights, unseen.n_rows)
        link = committee.link.tempered(temperature)
        return fitted | {"committee_": replace(committee, link=link), "temperature_": temperature}

    def _calibrated_out_of_bag(
        self,
        fitted: dict[str, Any],
        rows: Rows,
        tally: F64,
        n_votes: NDArray[Any],
        random: np.random.RandomState,
        tasks: FitTasks,
    ) -> dict[str, Any]:
        """As `_finished`, by the sum of so many votes on each row; by folds if there is no row out of bag."""
        out = n_votes > 0
        if not out.any():
            return self._finished(fitted, rows, None, random, tasks)
        unseen = Unseen.of(fitted["committee_"], tally[out], n_votes[out, None], rows.without_cells().take(out))
        return self._calibrated(fitted, unseen)

    def _cross_fitted(
        self, committee: Committee, rows: Rows, random: np.random.RandomState, tasks: FitTasks
    ) -> Unseen | None:
        """Let fits on the rows of other folds judge those of each; None if no fold can be."""
        from committee.learners.base.folds import Folds

        rows = replace(rows, X=_with_levels(rows))  # of which each fold's others learn what they stand for
        seeds = random.randint(2**31 - 1, size=N_FOLDS)
        judged: list[Unseen] = []
        for fold, seed in zip(Folds.of(rows, N_FOLDS, n_threads(self.n_jobs)), seeds.tolist(), strict=False):
            judge = partial(self._judged_by_others, committee, rows, fold, seed)
            evidence = tasks.result("evidence", [seed], judge)
            if len(evidence):
                judged.append(Unseen(evidence, rows.labels[fold.judged], fold.judged_weights, fold.n_judged))
            if sum(one.n_rows for one in judged) >= ENOUGH:
                break
        if not judged:
            return None
        return Unseen(
            np.concatenate([one.evidence for one in judged]),
            np.concatenate([one.labels for one in judged]),
            np.concatenate([one.weights for one in judged]),
            sum(one.n_rows for one in judged),
        )

    def _judged_by_others(self, committee: Committee, rows: Rows, fold: Fold, seed: int) -> F64:
        """Evidence of the rows of a fold by a fit on the others; no line if these cannot be fitted."""
        X, nothing = rows.cells, np.empty((0, len(self.classes_)))
        model = self._for_fold(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say of the voters the whole fit says
            try:
                model.fit(X[fold.others], rows.labels[fold.others], fold.other_weights)
            except ValueError:  # such as no column that varies
                return nothing
        if len(model.classes_) < len(self.classes_):
            return nothing
        strength = self._strength(model.committee_)
        evidence = committee.link.evidence(model.decision_function(X[fold.judged]), model.committee_.total_weight)
        return evidence * (self._strength(committee) / strength) if strength > 0.0 else nothing

    def _for_fold(self, seed: int) -> Any:
        """Return an unfitted copy for encoded rows whose weights are those of the fit."""
        model = clone(self)
        model.__dict__.pop("_skl_callbacks", None)  # callbacks follow the whole fit alone
        own: dict[str, Any] = {"calibrate": None, "random_state": seed, "reserve": 0.0}
        own["categorical_features"] = np.flatnonzero(self.table_.n_levels).tolist() or None
        if getattr(self, "class_weight", None) != "balanced_subsample":  # the others are among the rows' weights
            own["class_weight"] = None
        for name, value in own.items():
            if hasattr(model, name):  # set_params knows only what the __init__ of a user's subclass takes
                setattr(model, name, value)
        return model

    def _strength(self, committee: Committee) -> float:
        """Unit of the scores: the weight of the voters, so that fits on fewer rows are compared by their mean vote."""
        return committee.total_weight

    # --- steps of a fit ---------------------------------------------------------------------------------------

    @property
    def _calibrates(self) -> bool:
        return bool(getattr(self, "calibrate", None) == "auto")  # a subclass may have a signature of its own

    def _finished(
        self, fitted: dict[str, Any], rows: Any, held_out: Any, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        if not self._calibrates:
            return fitted
        committee: Committee = fitted["committee_"]
        if held_out is None:
            return self._calibrated(fitted, self._cross_fitted(committee, rows, random, tasks))
        tally = committee.voters.tally(held_out.cells, committee.weights, n_threads(self.n_jobs))
        return self._calibrated(fitted, Unseen.of(committee, tally, committee.total_weight, held_out))

    def _from_file(self) -> None:
        super()._from_file()
        temperature = getattr(self, "temperature_", 1.0)
        if not (isinstance(temperature, float) and 0.0 < temperature < inf):
            raise ValueError(f"temperature_ is {temperature!r}; it must be a number above zero")


def _with_levels(rows: Rows) -> Matrix:
    """Encoded matrix with the levels of categories where numbers learned from all rows stand for them."""
    if rows.levels is None:
        return rows.cells
    X, codes = rows.dense.copy(), rows.levels.codes
    X[:, rows.levels.columns] = np.where(codes < 0, np.nan, codes)
    return X
