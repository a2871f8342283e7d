"""Calibrated classifiers: one temperature, chosen on rows that the voters were not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Options

from committee.data.number_types import F64, Index
from committee.data.parallel import n_threads
from committee.data.rows import Rows, inner_weights
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.base.predictors import BaseClassifier
from committee.learners.base.row_sampling import Fold, Folds, group_folds
from committee.vote.committee import Committee
from committee.vote.links.temperature import best_temperature

N_FOLDS = 5
ENOUGH_ROWS = 100
"""Held-out rows that suffice for a temperature; no further fold is fitted."""


@dataclass(frozen=True, eq=False)
class HeldOutEvidence:
    """Evidence of votes ``(n, K)`` (`Link.evidence`), class numbers and weights of rows that count as `n_rows`."""

    evidence: F64
    labels: NDArray[np.uint16]
    weights: F64
    n_rows: int

    @classmethod
    def of(cls, committee: Committee, tally: F64, total: Any, rows: Rows) -> HeldOutEvidence:
        """Evidence of the sums of votes `tally` ``(n, K)``; `total` is the voters' weight, one number or ``(n, 1)``."""
        return cls(committee.link.evidence(tally, total), rows.labels, rows.weights, len(rows))

    @classmethod
    def joined(cls, parts: Sequence[HeldOutEvidence]) -> HeldOutEvidence:
        evidence, labels, weights = (
            np.concatenate([getattr(each, name) for each in parts]) for name in ("evidence", "labels", "weights")
        )
        return cls(evidence, labels, weights, sum(each.n_rows for each in parts))

    @property
    def temperature(self) -> float:
        return best_temperature(self.evidence, self.labels, self.weights, self.n_rows)


@with_parameters
class CalibratedClassifier(BaseClassifier):
    """Base of the classifiers with `calibrate`."""

    temperature_: float = fitted(
        """T of the probabilities, by which the evidence of the votes is divided (docs/theory.md); absent if there is no
        calibration, as with ``calibrate=None`` or one class.""",
        "float",
    )

    _has_temperature = True

    _: KW_ONLY
    calibrate: Literal["auto"] | bool | None = parameter(
        "auto",
        """Temperature scaling of the probabilities, with the least log loss on rows that the voters were not trained
        on; predicted classes stay. The rows are those out of bag, or else `X_val` or those held out by early
        stopping, or else rows of up to five folds, each predicted by a fit on the others, until there are 100 of them,
        which costs 0.8 to 4 further fits. In place of folds AdaBoost and LPBoost on 400 rows or more have half of the
        rows, or of a sample, predicted by a fit of fewer rounds on the other half, which costs 0.3 to 1 further fits
        below a few thousand rows and 0.1 to 0.3 at 100,000. A fit that depends on the clock is not calibrated. None,
        False: the votes as they are.""",
        Options(bool, {False}),
        type_words='"auto", False or None',
    )

    def _calibrated(self, fitted: dict[str, Any], held_out: HeldOutEvidence | None) -> dict[str, Any]:
        if held_out is None or not held_out.weights.sum() > 0.0:
            return fitted
        return self._with_temperature(fitted, held_out.temperature)

    @staticmethod
    def _with_temperature(fitted: dict[str, Any], temperature: float) -> dict[str, Any]:
        committee: Committee = fitted["committee_"]
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
        """Calibrate by out-of-bag votes, ``(n, K)`` and their number ``(n,)``; by folds if no row is out of bag."""
        out = n_votes > 0
        if not out.any():
            return self._finished(fitted, rows, None, random, tasks)
        held_out = HeldOutEvidence.of(
            fitted["committee_"], tally[out], n_votes[out, None], rows.without_cells().take(out)
        )
        return self._calibrated(fitted, held_out)

    def _calibrated_by_folds(
        self, fitted: dict[str, Any], rows: Rows, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        rows = rows.with_codes  # each fold learns its own target statistics
        seeds = random.randint(2**31 - 1, size=N_FOLDS)
        held_out: list[HeldOutEvidence] = []
        for fold, seed in zip(self._folds(rows, N_FOLDS, tasks.group_of(rows)), seeds.tolist(), strict=False):
            compute = partial(self._evidence_of_fold, fitted["committee_"], rows, fold, seed)
            evidence = tasks.result("evidence", [seed], compute)
            if len(evidence):
                held_out.append(HeldOutEvidence(evidence, rows.labels[fold.test], fold.test_weights, fold.n_test))
            if sum(one.n_rows for one in held_out) >= ENOUGH_ROWS:
                break
        return self._calibrated(fitted, HeldOutEvidence.joined(held_out) if held_out else None)

    def _folds(self, rows: Rows, n_folds: int, group: Index | None) -> Iterable[Fold]:
        if group is None:
            return Folds.of(rows, n_folds, n_threads(self.n_jobs))
        return group_folds(group, rows.weights, n_folds)

    def _evidence_of_fold(self, committee: Committee, rows: Rows, fold: Fold, seed: int) -> F64:
        nothing = np.empty((0, len(self.classes_)))
        model = self._for_fold(seed)
        if not self._fitted_on(model, rows, fold):
            return nothing
        strength = self._strength(model.committee_)
        votes = model.decision_function(rows.cells[fold.test])
        evidence = committee.link.evidence(votes, model.committee_.total_weight)
        return evidence * (self._strength(committee) / strength) if strength > 0.0 else nothing

    def _fitted_on(self, model: Any, rows: Rows, fold: Fold) -> bool:
        """Fit a model to the training rows of a fold; return whether it has all classes."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all rows has given these warnings
            try:
                model.fit(rows.cells[fold.train], rows.labels[fold.train], inner_weights(fold.train_weights))
            except ValueError:  # for example, if no column varies
                return False
        return len(model.classes_) == len(self.classes_)

    def _for_fold(self, seed: int) -> Any:
        model = clone(self)
        model.__dict__.pop("_skl_callbacks", None)  # callbacks follow the whole fit alone
        own: dict[str, Any] = {"calibrate": None, "random_state": seed, "reserve": 0.0}
        own["categorical_features"] = np.flatnonzero(self.table_.n_levels).tolist() or None
        if getattr(self, "class_weight", None) != "balanced_subsample":  # others are part of the row weights
            own["class_weight"] = None
        for name, value in own.items():
            if hasattr(model, name):  # set_params takes only what the __init__ of a user's subclass takes
                setattr(model, name, value)
        return model

    def _strength(self, committee: Committee) -> float:
        """Scale of the evidence: the total weight of the voters. That of a fold is rescaled to the whole fit's."""
        return committee.total_weight

    @property
    def _calibrates(self) -> bool:
        return bool(getattr(self, "calibrate", None) == "auto")  # a subclass with another signature may have none

    def _finished(
        self, fitted: dict[str, Any], rows: Any, held_out: Any, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        if not self._calibrates:
            return fitted
        committee: Committee = fitted["committee_"]
        if held_out is None:
            return self._calibrated_by_folds(fitted, rows, random, tasks)
        tally = committee.voters.tally(held_out.cells, committee.weights, n_threads(self.n_jobs))
        return self._calibrated(fitted, HeldOutEvidence.of(committee, tally, committee.total_weight, held_out))

    def _from_file(self) -> None:
        super()._from_file()
        temperature = getattr(self, "temperature_", 1.0)
        if not (isinstance(temperature, float) and 0.0 < temperature < inf):
            raise ValueError(f"temperature_ is {temperature!r}; it must be a finite float above 0")
