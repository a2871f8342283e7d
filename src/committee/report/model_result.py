"""One model of a comparison: its folds, its place, and its test against the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from committee.report.crossvalidation import FoldResult
from committee.report.metric_choice import known_metric
from committee.report.models import ComparedModel
from committee.report.reliability import Reliability
from committee.report.statistics import average_ranks, corrected_paired_t_test, holm

LEVEL = 0.05
"""Level of the tests: the accepted chance of any false alarm among a comparison's differences."""


@dataclass(frozen=True)
class AgainstBest:
    """Paired test of one model against the best: positive ``difference`` means worse by that much.

    Attributes
    ----------
    difference, standard_error : float
        Mean over folds, and its corrected standard error.
    interval : tuple of two float
        95 % confidence interval of the difference, of this pair alone.
    least_shown : float
        Differences as uncertain as this one are significant from this size on.
    in_every_fold : bool
        Whether the model is worse in each fold.
    pvalue, adjusted_pvalue : float
        Two-sided; as it is, and by Holm's rule.
    """

    difference: float
    standard_error: float
    interval: tuple[float, float]
    least_shown: float
    in_every_fold: bool
    pvalue: float
    adjusted_pvalue: float

    @property
    def significant(self) -> bool:
        """Whether the difference stands at level 0.05 after Holm's correction."""
        return self.adjusted_pvalue <= LEVEL


@dataclass(frozen=True, eq=False)
class ModelResult:
    """One model's folds, its place and its test against the best.

    Attributes
    ----------
    name : str
        Name in the comparison.
    own : bool
        Whether it is a learner of this library.
    fold_results : tuple of FoldResult
        In the order of the folds.
    place : int or None
        1 for the best mean; None when the model failed in a fold.
    average_rank : float or None
        Mean over folds of its rank within the fold; ties share the mean of their ranks.
    against_best : AgainstBest or None
        None for the best model itself, for one that failed, and with fewer than two folds.
    error : str or None
        The first error, with its fold; such a model has no place.
    warnings : tuple of str
        Distinct warnings it raised while it learned and predicted.
    margin_quantiles : tuple of float or None
        101 evenly spaced quantiles of the training margins, averaged over folds.
    reliability : Reliability or None
        Test rows of all folds by the probability of their class; None for a model that gives none.
    """

    name: str
    own: bool
    fold_results: tuple[FoldResult, ...]
    place: int | None = None
    average_rank: float | None = None
    against_best: AgainstBest | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    margin_quantiles: tuple[float, ...] | None = None
    reliability: Reliability | None = None

    @property
    def _metrics(self) -> list[str]:
        return list(self.fold_results[0].figures) if self.fold_results else []

    def values(self, metric: str) -> NDArray[np.float64]:
        """Values of a metric in the folds that have it, ``(at most n_folds,)``."""
        values = [fold.figures.get(metric) for fold in self.fold_results]
        return np.array([value for value in values if value is not None], dtype=np.float64)

    def mean(self, metric: str) -> float | None:
        """Mean over folds; None where the model has no such figure."""
        values = self.values(metric)
        return float(values.mean()) if values.size else None

    def sd(self, metric: str) -> float | None:
        """Standard deviation over folds (n - 1); None with fewer than two values."""
        values = self.values(metric)
        return float(values.std(ddof=1)) if values.size > 1 else None

    def median(self, metric: str) -> float | None:
        """Median over folds: the figure quoted for times, which a busy machine disturbs now and then."""
        values = self.values(metric)
        return float(np.median(values)) if values.size else None

    def to_json(self) -> dict[str, Any]:
        """Summaries and every fold's figures as plain values."""
        summary = {m: {"mean": self.mean(m), "sd": self.sd(m), "median": self.median(m)} for m in self._metrics}
        test = self.against_best
        return {
            "name": self.name,
            "own": self.own,
            "place": self.place,
            "average_rank": self.average_rank,
            "against_best": None if test is None else asdict(test) | {"significant": test.significant},
            "error": self.error,
            "warnings": list(self.warnings),
            "summary": summary,
            "folds": [fold.figures | {"error": fold.error} for fold in self.fold_results],
            "margin_quantiles": None if self.margin_quantiles is None else list(self.margin_quantiles),
        }


def collected(model: ComparedModel, results: Mapping[int, FoldResult]) -> ModelResult:
    """A model's results by the numbers of their folds."""
    failures = [f"fold {i + 1}: {fold.error}" for i, fold in sorted(results.items()) if fold.error is not None]
    folds = [results[i] for i in sorted(results)]
    raised = dict.fromkeys(text for fold in folds for text in fold.warnings)
    reliable = [fold.reliability for fold in folds if fold.reliability is not None]
    curves = [fold.margin_quantiles for fold in folds if fold.margin_quantiles is not None]
    return ModelResult(
        name=model.name,
        own=model.own,
        fold_results=tuple(folds),
        error=failures[0] if failures else None,
        warnings=tuple(raised),
        margin_quantiles=tuple(np.mean(curves, axis=0).tolist()) if curves else None,
        reliability=Reliability.sum(reliable) if reliable else None,
    )


def placed(results: list[ModelResult], metric: str, test_train_ratio: float) -> list[ModelResult]:
    """Order the models by their mean, and test each against the best."""
    # A model without probabilities has no log loss: it keeps its figures but takes no place by log loss.
    able = [r for r in results if r.error is None and r.fold_results and r.values(metric).size == len(r.fold_results)]
    rest = [r for r in results if r not in able]
    if not able:
        return rest
    sign = -1.0 if known_metric(metric).best == "highest" else 1.0
    scores = np.column_stack([sign * r.values(metric) for r in able])
    ranks = average_ranks(scores, higher_is_better=False)
    # Rounding: two models that are right equally often must differ by zero, not by 1e-17.
    order = np.lexsort((ranks, np.round(scores.mean(axis=0), 12)))
    worse = np.round(scores - scores[:, order[:1]], 12)
    against: list[AgainstBest | None] = [None] * len(order)
    if len(scores) > 1:
        against[1:] = _against_best(worse[:, order[1:]], test_train_ratio)
    return [
        replace(able[j], place=i + 1, average_rank=float(ranks[j]), against_best=against[i])
        for i, j in enumerate(order)
    ] + rest


def _against_best(worse: NDArray[np.float64], test_train_ratio: float) -> list[AgainstBest]:
    """Tests of several models by how much worse each is in each fold, ``(n_folds, n_models)``."""
    tests = [corrected_paired_t_test(column, test_train_ratio) for column in worse.T]
    found = []
    for test, column, adjusted in zip(tests, worse.T, holm([test.pvalue for test in tests]), strict=True):
        wide = float(stats.t.isf(LEVEL / 2.0, test.degrees_of_freedom)) * test.standard_error
        least = float(stats.t.isf(LEVEL / 2.0 / len(tests), test.degrees_of_freedom)) * test.standard_error
        found.append(
            AgainstBest(
                difference=test.difference,
                standard_error=test.standard_error,
                interval=(test.difference - wide, test.difference + wide),
                least_shown=least,
                in_every_fold=bool((column > 0.0).all()),
                pvalue=test.pvalue,
                adjusted_pvalue=float(adjusted),
            )
        )
    return found
