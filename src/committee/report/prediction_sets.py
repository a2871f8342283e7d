"""Prediction sets and intervals of conformal models: their description, and their coverage on labelled rows."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64, Index, Mask
from committee.learners.conformal.calibration_scores import row_counts
from committee.report.figures import Measured, weighted_quantile
from committee.report.page import Grid

SCORES = {
    "lac": "one minus the probability of the label",
    "aps": "probability of all likelier labels",
    "absolute": "absolute error",
    "normalised": "absolute error, divided by the expected error of the row",
    "quantile": "distance beyond the predicted quantiles",
}
ROWS = {
    "out of bag": "training rows, predicted by their out-of-bag voters",
    "out of fold": "training rows, predicted by fits on the other folds",
    "held out": "rows not used in training",
}


def is_conformal(model: Any) -> bool:
    return hasattr(model, "predict_set") or hasattr(model, "predict_interval")


def _needs_groups(model: Any) -> bool:
    # the fit was given groups that are not a column of the table
    return model.groups_ is not None and model.group_by is None


def model_inside(model: Any) -> Any:
    if not is_conformal(model) or not hasattr(model.estimator_, "committee_"):
        return model
    inside = copy.copy(model.estimator_)
    inside.table_ = model.table_
    if hasattr(model, "provenance_"):
        inside.provenance_ = model.provenance_
    return inside


def sets_grid(model: Any) -> Grid | None:
    if not is_conformal(model):
        return None
    known, categories = model.known_, model.row_categories
    what = "true class" if hasattr(model, "classes_") else "true number"
    rows = [
        (f"target coverage of the {what}", f"{1.0 - model.alpha:.4g} (alpha {model.alpha:g})" + _groups(model)),
        ("score", SCORES[model.nonconformity] + (", randomised" if getattr(model, "randomised", False) else "")),
        ("scored rows", f"{known.count.sum():,.6g}, {model.source_}: {ROWS[model.source_]}"),
    ]
    if model.leave_out_ is not None:
        rows.append(("threshold", "one for each new row: it is predicted without each scored row in turn"))
    elif len(categories) == 1:
        rows.append(("threshold", f"{known.thresholds(model.alpha)[0]:.5g}"))
    else:
        listed = zip(range(len(categories)), known.thresholds(model.alpha).tolist(), known.count.tolist(), strict=True)
        rows += [(f"threshold, {categories.words(c)}", f"{q:.5g} ({n:,.6g} scored rows)") for c, q, n in listed][:20]
    rows.append(("guaranteed coverage", _guarantee(model)))
    return Grid("Sets of classes" if hasattr(model, "classes_") else "Intervals", ("", ""), tuple(rows), "ll")


def _guarantee(model: Any) -> str:
    none, practice = "none", "; in practice about the target"
    weights = getattr(model, "score_weights_", None)
    if weights is not None and not np.isin(row_counts(weights), (0.0, 1.0)).all():
        return f"{none} for weighted rows{practice}"
    if model.source_ == "held out":
        if model.nonconformity == "normalised":
            return f"{none}, as expected errors are learned from the scored rows{practice}"
        return f"{1.0 - model.alpha:.4g}, on average over samples of scored rows"
    if model.leave_out_ is None:
        return f"{none}{practice}"
    if len(model.row_categories) > 1:
        return f'{none} for single classes or groups with method="plus"{practice}'
    if not hasattr(model, "fold_models_"):
        return f"nearly {max(0.0, 1.0 - 2.0 * model.alpha):.4g}, on average over samples of rows"
    return f"{_cv_plus_coverage(model):.4g} if folds are of equal size, on average over samples of rows"


def _cv_plus_coverage(model: Any) -> float:
    # Barber and others 2021, Theorem 4
    n, K = float(model.known_.count.sum()), len(model.fold_models_)
    less = min(2.0 * (1.0 - 1.0 / K) / (n / K + 1.0), (1.0 - K / n) / (K + 1.0))
    return max(0.0, 1.0 - 2.0 * float(model.alpha) - less)


def _groups(model: Any) -> str:
    classes = ["for each class"] if getattr(model, "per_class", False) else []
    column = f" of {model.group_by!r}" if isinstance(model.group_by, str) else ""
    groups = [f"for each group{column}"] if model.groups_ is not None else []
    return ", " + " and ".join([*classes, *groups]) if classes or groups else ""


def set_of_row(model: Any, X: Any) -> str | None:
    if not is_conformal(model) or _needs_groups(model):
        return None
    with warnings.catch_warnings(action="ignore"):
        if hasattr(model, "predict_interval"):
            low, high = model.predict_interval(X)[0].tolist()
            return f"The interval at alpha {model.alpha:g} is {low:.6g} to {high:.6g}."
        inside = model.predict_set(X)[0]
    labels = [str(label) for label in model.classes_[inside].tolist()]
    if not labels:
        return f"The set at alpha {model.alpha:g} is empty: no class is likely enough."
    return f"The set at alpha {model.alpha:g} is {', '.join(labels)}."


@dataclass(frozen=True, eq=False)
class CoveredRows:
    """Coverage and size of the sets or intervals of a conformal model on labelled rows."""

    asked: float  # target coverage
    y: NDArray[Any]
    inside: Mask  # (n,) whether the true value is covered
    sizes: Index | None = None  # (n,) numbers of classes in sets
    intervals: F64 | None = None  # (n, 2)
    weights: F64 | None = None

    @classmethod
    def of(
        cls, model: Any, X: Any, y: NDArray[Any], weights: F64 | None = None, offset: ArrayLike | None = None
    ) -> Self | None:
        if not is_conformal(model) or _needs_groups(model):
            return None
        asked = 1.0 - float(model.alpha)
        with warnings.catch_warnings(action="ignore"):  # the fit has warned of too few rows
            predict = model.predict_set if hasattr(model, "predict_set") else model.predict_interval
            found = predict(X, **({} if offset is None else {"offset": offset}))
        if weights is not None:
            counted = weights > 0.0
            found, y, weights = found[counted], y[counted], weights[counted]
        if not hasattr(model, "predict_set"):
            return cls(asked, y, (found[:, 0] <= y) & (y <= found[:, 1]), intervals=found, weights=weights)
        inside = (found & (y[:, None] == model.classes_)).any(axis=1)
        return cls(asked, y, inside, sizes=found.sum(axis=1), weights=weights)

    @property
    def counts(self) -> F64:
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def coverage(self, rows: Index | Mask) -> float:
        return float(np.average(self.inside[rows], weights=self.counts[rows]))

    def _mean(self, values: NDArray[Any]) -> float:
        return float(np.average(values, weights=self.weights))

    @property
    def sentence(self) -> str:
        covered = f"{self._mean(self.inside):.1%} of the rows (target: {100.0 * self.asked:.4g}%)"
        if self.sizes is not None:
            size = self._mean(self.sizes)
            return f"The sets contain the true class of {covered}; their mean size is {size:.2f} classes."
        assert self.intervals is not None
        widths = self.intervals[:, 1] - self.intervals[:, 0]
        width = float(np.median(widths)) if self.weights is None else weighted_quantile(widths, 0.5, self.weights)
        return f"The intervals contain the true number of {covered}; their median width is {width:.4g}."

    def figures(self) -> list[Measured]:
        covered, target = self._mean(self.inside), f"target: {self.asked:.4g}"
        if self.intervals is not None:
            width = self._mean(self.intervals[:, 1] - self.intervals[:, 0])
            return [
                Measured("interval_coverage", "coverage of the intervals", covered, target),
                Measured("interval_width", "mean width of the intervals", width),
            ]
        assert self.sizes is not None
        empty = self._mean(self.sizes == 0)
        return [
            Measured("set_coverage", "coverage of the sets", covered, target),
            Measured("set_size", "mean size of the sets (classes)", self._mean(self.sizes)),
            Measured("set_of_one", "sets of one class", self._mean(self.sizes == 1)),
            Measured("set_empty", "empty sets", empty, "no class is likely enough at this alpha"),
        ]
