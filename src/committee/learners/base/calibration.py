"""Temperature calibration of classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from math import ceil, inf, log2
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Options, StrOptions

from committee.data.bins import row_digests
from committee.data.labels import scored_classes
from committee.data.matrices import SparseMatrix
from committee.data.number_types import F64, Index
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix
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


@dataclass(frozen=True, eq=False)
class HeldOutEvidence:
    """`Link.evidence` of votes ``(n, K)``, and class numbers and weights of rows."""

    evidence: F64
    labels: NDArray[np.uint16]
    weights: F64
    n_rows: int

    @classmethod
    def of(cls, committee: Committee, tally: F64, total: Any, rows: Rows) -> HeldOutEvidence:
        """`tally` ``(n, K)`` are sums of votes, `total` the voters' weight, one number or ``(n, 1)``."""
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
    temperature_: float = fitted(
        """T of the probabilities, by which the evidence of the votes is divided (docs/theory.md); absent if there is no
        calibration, as with ``calibrate=None`` or one class.""",
        "float",
    )

    _has_temperature = True

    _: KW_ONLY
    calibrate: Literal["auto", False] | None = parameter(
        "auto",
        """Temperature scaling of the probabilities, with the least log loss on rows that the voters were not trained
        on; predicted classes stay. The rows are those out of bag, or, for learners with early stopping, its held-out
        rows or `X_val`, or else rows of up to five folds, each predicted by a fit on the others, until there are 100 of
        them, which costs 0.8 to 4 further fits. In place of folds, boosters and most nested trees on 400 rows or more
        have half of the rows, or of a sample, predicted by a fit on the other half, mostly of fewer rounds, which costs
        0.1 to 1 further fits, less with more rows. A fit that depends on the clock is not calibrated. None, False: the
        votes as they are.""",
        StrOptions({"auto"}),
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
        """Calibrate by out-of-bag votes, ``(n, K)`` and their number ``(n,)``."""
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
        strength = model.committee_.total_weight
        votes = model.decision_function(rows.cells[fold.test])
        evidence = committee.link.evidence(votes, model.committee_.total_weight)
        return evidence * (committee.total_weight / strength) if strength > 0.0 else nothing

    def _fitted_on(self, model: Any, rows: Rows, fold: Fold) -> bool:
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


# --- by a fit on fewer rows and rounds --------------------------------------------------------------------------------


LEAST_ROWS = 400
"""Least `Rows.count` of which half are enough for a smaller fit."""
MANY_ROWS, MANY_ROWS_PER_VOTER = 4000, 80
"""Rows sampled for smaller fits, and rows per voter; the larger number counts."""
LEAST_ROUNDS = 25
"""Least number of rounds of a fit on half of the rows, if the whole fit has as many."""
EASIER = 0.4
"""Binary logarithm of the held-out temperature of a fit on hardly any rows and rounds over that of the whole fit."""
SMALL_OPTIMISM = 0.4
"""Optimism at which both estimates of a temperature count alike, as a binary logarithm."""
FIRST_COLUMNS = 4
MOSTLY = 0.95
"""Least share of distinct digests among the chosen rows at which the first columns suffice for a sample."""


class BoostedCalibration(CalibratedClassifier):
    """Base of boosters that are calibrated by smaller fits."""

    _share_of_rounds: ClassVar[float] = 1 / 4  # of a fit on half of the rows

    def _n_rounds(self, committee: Committee) -> int:
        return ceil(committee.n_voters / len(scored_classes(len(self.classes_))))  # most have voters of each score

    def _limit_rounds(self, rounds: int) -> None:
        self.n_estimators = rounds

    def _calibrated_by_folds(
        self, fitted: dict[str, Any], rows: Rows, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        committee: Committee = fitted["committee_"]
        halves = rows.count >= LEAST_ROWS
        rounds = all_rounds = self._n_rounds(committee)
        if halves:
            rounds = min(rounds, max(LEAST_ROUNDS, ceil(self._share_of_rounds * rounds)))
        most = max(MANY_ROWS, MANY_ROWS_PER_VOTER * all_rounds)
        some = sampled_rows(rows, most, n_threads(self.n_jobs))
        coded = some.with_codes  # each fit learns its own target statistics
        seeds = random.randint(2**31 - 1, size=N_FOLDS).tolist()
        found: list[SmallerFit] = []
        group = None if coded.group is None else np.unique(coded.group, return_inverse=True)[1]
        for fold, seed in zip(self._folds(coded, 2 if halves else N_FOLDS, group), seeds, strict=False):
            compute = partial(self._evidence_of_part, committee, coded, fold, seed, rounds if halves else None)
            evidence = tasks.result("evidence", [seed], compute)
            if len(evidence):
                tally = committee.voters.tally(some.cells[fold.train], committee.weights, n_threads(self.n_jobs))
                whole = committee.link.evidence(tally, committee.total_weight)
                found.append(SmallerFit.of(whole, evidence, some.labels, fold))
            if sum(one.test.n_rows for one in found) >= ENOUGH_ROWS:
                break
        if not any(one.train.evidence.any() for one in found):
            return fitted
        share_of_rows = float(found[0].train.weights.sum() / rows.weights.sum())
        return self._with_temperature(fitted, temperature_of(found, share_of_rows, rounds / all_rounds))

    def _evidence_of_part(self, committee: Committee, rows: Rows, fold: Fold, seed: int, rounds: int | None) -> F64:
        model = self._for_fold(seed)
        if rounds is not None:
            model._limit_rounds(rounds)
        if not self._fitted_on(model, rows, fold):
            return np.empty((0, len(self.classes_)))
        votes = model.decision_function(rows.cells[np.concatenate([fold.train, fold.test])])
        return committee.link.evidence(votes, model.committee_.total_weight)


@dataclass(frozen=True, eq=False)
class SmallerFit:
    """Evidence of a smaller fit on its training and test rows, and of the whole fit on the former."""

    whole: HeldOutEvidence
    train: HeldOutEvidence
    test: HeldOutEvidence

    @classmethod
    def of(cls, whole: F64, evidence: F64, labels: NDArray[np.uint16], fold: Fold) -> Self:
        """Scale `evidence`, of training and then test rows, to the mean size of `whole` on the training rows."""
        n, weights = len(fold.train), fold.train_weights
        size, size_of_whole = (
            float(weights @ np.abs(each - each.mean(axis=1, keepdims=True)).mean(axis=1) / weights.sum())
            for each in (evidence[:n], whole)
        )
        evidence = evidence * (size_of_whole / size if size > 0.0 else 0.0)
        train = HeldOutEvidence(evidence[:n], labels[fold.train], weights, n)
        test = HeldOutEvidence(evidence[n:], labels[fold.test], fold.test_weights, fold.n_test)
        return cls(replace(train, evidence=whole), train, test)


def temperature_of(fits: Sequence[SmallerFit], share_of_rows: float, share_of_rounds: float) -> float:
    """Return the temperature of a whole fit by smaller fits with these shares of its rows and rounds.

    Equation: smaller-fit (docs/theory.md).
    """
    whole, train, test = (
        log2(HeldOutEvidence.joined([getattr(fit, name) for fit in fits]).temperature)
        for name in ("whole", "train", "test")
    )
    optimism = max(test - train, 0.0) * share_of_rows / share_of_rounds
    trust = 1.0 / (1.0 + (optimism / SMALL_OPTIMISM) ** 2)
    held_out = test - EASIER * (1.0 - share_of_rows * share_of_rounds)
    return float(2.0 ** (trust * (whole + optimism) + (1.0 - trust) * held_out))


def sampled_rows(rows: Rows, most: int, n_threads: int) -> Rows:
    """Return rows of a count of about `most`, chosen by digests of their cells."""
    if rows.count <= most:
        return rows
    n_columns = rows.X.shape[1]
    k = n_columns if isinstance(rows.X, SparseMatrix | OutOfCoreMatrix) else min(FIRST_COLUMNS, n_columns)
    while True:  # digests of many columns take longer than a small fit: of as few as tell nearly all chosen rows apart
        X = rows.X if k == n_columns else np.ascontiguousarray(rows.dense[:, :k])
        digests = row_digests(X, n_threads)
        chosen = digests < np.uint64(most / rows.count * 2.0**64)
        if k == n_columns or len(np.unique(digests[chosen])) >= MOSTLY * chosen.sum() > 0:
            break
        k = min(2 * k, n_columns)
    of_class = np.bincount(rows.labels[chosen], minlength=int(rows.labels.max()) + 1)
    return rows.take(chosen | (of_class < 2)[rows.labels])  # all rows of a class with fewer than two
