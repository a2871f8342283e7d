"""A fitted model and the rows of its page, with what the pictures of the page show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64, Index
from committee.data.row_digests import RowOverlap
from committee.report.column_effects import MOST_ROWS, Effect, TableRows, effects, spread_rows, stored_effects
from committee.report.evaluation import Evaluation, evaluate, predictions_over
from committee.report.figures import quantile_levels
from committee.report.inspection import Importances
from committee.report.prediction_sets import CoveredRows, model_inside
from committee.report.provenance import known_rows
from committee.report.row_explanation import RowExplanation
from committee.report.thresholds import ThresholdModel
from committee.vote.margin_distribution import MarginDistribution
from committee.vote.weighted_votes import lead

MOST_EFFECTS, MOST_CURVES = 6, 6
"""Columns whose effects are shown, and outputs with a curve."""


@dataclass(frozen=True, eq=False)
class RankedClass:
    name: str
    share: float
    false_positive_rate: F64
    true_positive_rate: F64
    area: float
    recall: F64
    precision: F64
    average_precision: float

    @classmethod
    def of(cls, name: str, is_class: NDArray[np.bool_], score: F64, weights: F64 | None = None) -> RankedClass:
        """Some of the rows, but not all, are of the class."""
        from sklearn import metrics

        given = is_class, score
        false_positive_rate, true_positive_rate, _ = metrics.roc_curve(*given, sample_weight=weights)
        precision, recall, _ = metrics.precision_recall_curve(*given, sample_weight=weights)
        return cls(
            name,
            float(np.average(is_class, weights=weights)),
            false_positive_rate,
            true_positive_rate,
            float(metrics.roc_auc_score(*given, sample_weight=weights)),
            recall,
            precision,
            float(metrics.average_precision_score(*given, sample_weight=weights)),
        )


def ranked_classes(
    y: NDArray[Any], classes: NDArray[Any], scores: F64, most: int, weights: F64 | None = None
) -> list[RankedClass]:
    if weights is not None:
        y, scores, weights = y[weights > 0.0], scores[weights > 0.0], weights[weights > 0.0]
    counts = np.array([np.count_nonzero(y == label) for label in classes.tolist()])
    ranked = [k for k in np.argsort(-counts, kind="stable").tolist() if 0 < counts[k] < len(y)]
    if len(classes) == 2 and len(ranked) == 2:
        ranked = [1]
    return [RankedClass.of(str(classes[k]), y == classes[k], scores[:, k], weights) for k in sorted(ranked[:most])]


@dataclass(frozen=True, eq=False)
class Explanation:
    """A fitted model with rows `X` and their labels or numbers `y`; `conformal` is the conformal model around it.

    Predictions and metrics include the `offset` of the rows, effects and contributions do not.
    """

    model: Any
    X: Any = None
    y: NDArray[Any] | None = None
    conformal: Any = None
    offset: F64 | None = None
    weights: F64 | None = None
    threshold: float | None = None
    costs: tuple[float, float] | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        offset: F64 | None = None,
        *,
        sample_weight: F64 | None = None,
        threshold: float | None = None,
        costs: tuple[float, float] | None = None,
    ) -> Self:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        inside = model_inside(model)
        y, wrapper = None if y is None else np.asarray(y), None if inside is model else model
        return cls(inside, X, y, wrapper, offset, sample_weight, threshold, costs)

    @property
    def of_classes(self) -> bool:
        return hasattr(self.model, "classes_")

    @cached_property
    def importances(self) -> Importances | None:
        return Importances.of(self.model)

    def predict(self, rows: Any) -> F64:
        predictions = self.model.predict_proba(rows) if self.of_classes else self.model.predict(rows)
        return np.asarray(predictions, dtype=np.float64).reshape(len(predictions), -1)

    @cached_property
    def predictions(self) -> F64:
        if self.offset is None:
            return self.predict(self.X)
        return predictions_over(self.model, self.X, self.offset).reshape(len(self.offset), -1)

    @cached_property
    def sampled_rows(self) -> Any:
        every = TableRows(self.X)
        return every.taken(spread_rows(len(every), MOST_ROWS))

    @cached_property
    def shown_outputs(self) -> list[tuple[int, str]]:
        if self.of_classes:
            classes = [str(label) for label in self.model.classes_.tolist()]
            if len(classes) == 2:
                return [(1, classes[1])]
            if self.X is None:
                return list(enumerate(classes[:MOST_CURVES]))
            most = np.argsort(-self.predictions.mean(axis=0), kind="stable")[:MOST_CURVES]
            return [(k, classes[k]) for k in sorted(most.tolist())]
        names = [f"quantile {level:g}" for level in self.levels] or [f"target {k}" for k in range(self.n_outputs)]
        return [(k, name if self.n_outputs > 1 else "") for k, name in enumerate(names[:MOST_CURVES])]

    @property
    def n_outputs(self) -> int:
        return int(self.model.committee_.voters.n_outputs)

    @property
    def levels(self) -> tuple[float, ...]:
        return quantile_levels(self.model, self.n_outputs)

    @property
    def ranked_columns(self) -> Index:
        order = self.importances.order if self.importances is not None else range(self.model.n_features_in_)
        table = self.model.table_
        return np.array([j for j in order if table.source.column(j) not in table.texts], dtype=np.intp)

    @cached_property
    def effects(self) -> list[Effect]:
        if self.model.table_ is None:
            return []
        columns = self.ranked_columns[:MOST_EFFECTS]
        if self.X is None:
            return stored_effects(self.model, columns)
        return effects(self.model, self.sampled_rows, columns, self.predict)

    @cached_property
    def evaluation(self) -> Evaluation | None:
        if self.y is None or (self.of_classes and len(np.union1d(self.model.classes_, self.y)) < 2):
            return None
        model = self.model if self.conformal is None else self.conformal
        chosen: dict[str, Any] = {"threshold": self.threshold, "costs": self.costs, "sample_weight": self.weights}
        return evaluate(model, self.X, self.y, offset=self.offset, **chosen)

    @cached_property
    def covered(self) -> CoveredRows | None:
        if self.conformal is None or self.y is None:
            return None
        return CoveredRows.of(self.conformal, self.X, self.y, self.weights, self.offset)

    @cached_property
    def known_rows(self) -> RowOverlap | None:
        return None if self.X is None else known_rows(self.model, self.X)

    @cached_property
    def predicted(self) -> NDArray[Any]:
        model = self.model if self.threshold is None else ThresholdModel(self.model, self.threshold)
        predicted = predictions_over(model, self.X, self.offset)
        if predicted.ndim == 1:
            return predicted
        levels = quantile_levels(self.model, predicted.shape[1])
        return predicted[:, int(np.argmin(np.abs(np.array(levels) - 0.5)))] if levels else predicted[:, 0]

    @cached_property
    def rankings(self) -> list[RankedClass]:
        if self.y is None or not self.of_classes:
            return []
        return ranked_classes(self.y, self.model.classes_, self.predictions, MOST_CURVES, self.weights)

    @cached_property
    def margins(self) -> MarginDistribution | None:
        """Probability of the true class minus the largest other one, of the rows whose label the model has."""
        if self.y is None or not self.of_classes or len(self.model.classes_) < 2:
            return None
        known = np.isin(self.y, self.model.classes_)
        weights = None if self.weights is None else self.weights[known]
        if not known.any() or (weights is not None and not weights.any()):
            return None
        place = np.searchsorted(self.model.classes_, self.y[known])
        even = np.ones(int(known.sum()))
        return MarginDistribution(lead(self.predictions[known], place), even if weights is None else weights)

    @cached_property
    def errors(self) -> F64:
        assert self.y is not None
        if self.of_classes:
            own = np.zeros(len(self.y))
            for k, label in enumerate(self.model.classes_.tolist()):
                own[self.y == label] = self.predictions[self.y == label, k]
            errors: F64 = np.where(self.predicted == self.y, 0.0, 1.0 - own)
        else:
            errors = np.abs(np.asarray(self.y, dtype=np.float64) - self.predicted)
        return errors if self.weights is None else np.where(self.weights > 0.0, errors, 0.0)

    def wrong_rows(self, most: int) -> Index:
        order = np.argsort(-self.errors, kind="stable")[:most]
        return np.asarray(order[self.errors[order] > 0.0])

    def row(self, number: int, label: Any = None) -> RowExplanation | None:
        one = TableRows(self.X).taken(np.array([number]))
        try:
            return RowExplanation.of(self.model, one, label=label)
        except (TypeError, ValueError):  # voters without trees, members with a log link
            return None
