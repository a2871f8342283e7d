"""Calibration of boosted votes by a fit on fewer rows and rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, log2
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.data.matrices import SparseMatrix
from committee.data.number_types import F64
from committee.data.out_of_core.out_of_core_matrix import OutOfCoreMatrix
from committee.data.parallel import n_threads
from committee.data.row_digests import row_digests
from committee.data.rows import Rows
from committee.learners.base.calibration import ENOUGH_ROWS, N_FOLDS, CalibratedClassifier, HeldOutEvidence
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.row_sampling import Fold
from committee.vote.committee import Committee

LEAST_ROWS = 400
"""Least number of rows of which half are enough for the smaller fit; with fewer, four fifths are."""
MANY_ROWS, MANY_ROWS_PER_VOTER = 4000, 80
"""Number of rows drawn from larger tables, half of them for the smaller fit: 4000, or 80 per voter if that is more."""
SHARE_OF_ROUNDS, LEAST_ROUNDS = 1 / 4, 25
"""Rounds of a fit on half of the rows, as a share of all: at least `LEAST_ROUNDS`, or all of them."""
EASIER = 0.4
"""Binary logarithm of the held-out temperature of a fit on hardly any rows and rounds over that of the whole fit."""
SMALL_OPTIMISM = 0.4
"""Optimism at which both estimates of a temperature count alike, as a binary logarithm."""
FIRST_COLUMNS = 4
MOSTLY = 0.95
"""Share of different rows among chosen ones by which the first columns suffice for a sample."""


class BoostedCalibration(CalibratedClassifier):
    """Base of boosters that are calibrated by a smaller fit."""

    n_estimators: int

    def _calibrated_by_folds(
        self, fitted: dict[str, Any], rows: Rows, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        committee: Committee = fitted["committee_"]
        halves, rounds = rows.count >= LEAST_ROWS, committee.n_voters
        if halves:
            rounds = min(rounds, max(LEAST_ROUNDS, ceil(SHARE_OF_ROUNDS * rounds)))
        most = max(MANY_ROWS, MANY_ROWS_PER_VOTER * committee.n_voters)
        some = sampled_rows(rows, most, n_threads(self.n_jobs))
        coded = some.with_codes  # each fit learns its own target statistics
        seeds = random.randint(2**31 - 1, size=N_FOLDS).tolist()
        found: list[SmallerFit] = []
        group = None if coded.group is None else np.unique(coded.group, return_inverse=True)[1]
        for fold, seed in zip(self._folds(coded, 2 if halves else N_FOLDS, group), seeds, strict=False):
            compute = partial(self._evidence_of_part, committee, coded, fold, seed, rounds)
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
        return self._with_temperature(fitted, temperature_of(found, share_of_rows, rounds / committee.n_voters))

    def _evidence_of_part(self, committee: Committee, rows: Rows, fold: Fold, seed: int, rounds: int) -> F64:
        model = self._for_fold(seed)
        model.n_estimators = rounds
        if not self._fitted_on(model, rows, fold):
            return np.empty((0, len(self.classes_)))
        votes = model.decision_function(rows.cells[np.concatenate([fold.train, fold.test])])
        return committee.link.evidence(votes, model.committee_.total_weight)


@dataclass(frozen=True, eq=False)
class SmallerFit:
    """Evidence of a smaller fit on its own and on other rows, and of the whole fit on the former."""

    whole: HeldOutEvidence
    train: HeldOutEvidence
    test: HeldOutEvidence

    @classmethod
    def of(cls, whole: F64, evidence: F64, labels: NDArray[np.uint16], fold: Fold) -> Self:
        """Scale the smaller fit's evidence of its training and test rows to the mean size of the whole fit's."""
        n = len(fold.train)
        size, size_of_whole = (_mean_size(each, fold.train_weights) for each in (evidence[:n], whole))
        evidence = evidence * (size_of_whole / size if size > 0.0 else 0.0)
        train = HeldOutEvidence(evidence[:n], labels[fold.train], fold.train_weights, n)
        test = HeldOutEvidence(evidence[n:], labels[fold.test], fold.test_weights, fold.n_test)
        return cls(replace(train, evidence=whole), train, test)


def _mean_size(evidence: F64, weights: F64) -> float:
    return float(weights @ np.abs(evidence - evidence.mean(axis=1, keepdims=True)).mean(axis=1) / weights.sum())


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
    """Return about `most` rows, chosen by their contents: equal rows are all among them, or none is.

    Rows of a class of which fewer than two are chosen are all among them. The digests are those of as few of the first
    columns as tell nearly all chosen rows apart, as digests of many columns take longer than a small fit.
    """
    if rows.count <= most:
        return rows
    n_columns = rows.X.shape[1]
    k = n_columns if isinstance(rows.X, SparseMatrix | OutOfCoreMatrix) else min(FIRST_COLUMNS, n_columns)
    while True:
        X = rows.X if k == n_columns else np.ascontiguousarray(rows.dense[:, :k])
        digests = row_digests(X, n_threads)
        chosen = digests < np.uint64(most / rows.count * 2.0**64)
        if k == n_columns or len(np.unique(digests[chosen])) >= MOSTLY * chosen.sum() > 0:
            break
        k = min(2 * k, n_columns)
    of_class = np.bincount(rows.labels[chosen], minlength=int(rows.labels.max()) + 1)
    return rows.take(chosen | (of_class < 2)[rows.labels])
