"""Evaluation of fitted models on labelled rows: metrics, confusion matrix, calibration."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.columns import is_frame
from committee.data.number_types import F64
from committee.data.rows import checked_weights
from committee.data.text import pluralize, shortened
from committee.report.figures import (
    Measured,
    ThresholdModel,
    Thresholds,
    accuracy_interval,
    check_costs,
    check_threshold,
    interval_of_classes,
    number_figures,
    quantile_figures,
    quantile_levels,
)
from committee.report.folds import Folds, Split, rows_of
from committee.report.metrics import MACRO_OF_MORE, METRICS, N_BINS, FittedFold, Reliability, metric_words
from committee.report.page import BLANK, Grid
from committee.report.prediction_sets import CoveredRows, model_inside

OVER_CLASSES = {
    "balanced_accuracy": "mean over the classes of the recall",
    "f1_macro": "mean over the classes, with equal weight",
    "roc_auc": "mean over the classes, each against the rest",
    "average_precision": "mean over the classes, each against the rest",
}

MOST_IN_MATRIX = 10

MOST_MISTAKES = 15

LEAST_ROWS = 10
"""Fewest rows for an out-of-fold evaluation."""


@dataclass(frozen=True, eq=False)
class Confusion:
    """`counts` (K, K) of rows, or sums of their weights, by true and predicted class."""

    classes: NDArray[Any]
    counts: NDArray[Any]

    @classmethod
    def of(cls, y: ArrayLike, predicted: ArrayLike, classes: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        from sklearn.metrics import confusion_matrix

        labels = np.asarray(classes)
        counts = np.asarray(confusion_matrix(y, predicted, labels=labels, sample_weight=sample_weight))
        return cls(labels, counts.astype(np.int64 if sample_weight is None else np.float64))

    @property
    def unit(self) -> str:
        return "weight" if self.counts.dtype.kind == "f" else "rows"

    @property
    def recall(self) -> NDArray[np.float64]:  # NaN for a class without rows
        return _ratio(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def precision(self) -> NDArray[np.float64]:  # NaN for a class without predictions
        return _ratio(np.diag(self.counts), self.counts.sum(axis=0))

    def grids(self) -> list[Grid]:
        few = len(self.classes) <= MOST_IN_MATRIX
        return [self.matrix_grid() if few else self.mistakes_grid(), self.classes_grid()]

    def matrix_grid(self) -> Grid:
        names = [shortened(str(label), 16) for label in self.classes]
        lines = zip(names, self.counts.tolist(), strict=True)
        rows = tuple((name, *(_amount(n) for n in line)) for name, line in lines)
        return Grid("Confusion matrix (rows: true, columns: predicted)", ("", *names), rows, "l" + "r" * len(names))

    def mistakes_grid(self) -> Grid:
        wrong = self.counts - np.diag(np.diag(self.counts))
        order = [k for k in np.argsort(-wrong, axis=None, kind="stable")[:MOST_MISTAKES] if wrong.flat[k]]
        names, n = [shortened(str(label), 24) for label in self.classes], len(self.classes)
        rows = tuple((names[k // n], names[k % n], _amount(wrong.flat[k])) for k in order)
        return Grid(f"Most frequent mistakes of {n} classes", ("true", "predicted", self.unit), rows, "llr")

    def classes_grid(self) -> Grid:
        rows_of = self.counts.sum(axis=1)
        shown = np.argsort(-rows_of, kind="stable")[: 2 * MOST_IN_MATRIX].tolist()
        recall, precision = self.recall, self.precision
        rows = tuple(
            (shortened(str(self.classes[k]), 24), _amount(rows_of[k]), _share(recall[k]), _share(precision[k]))
            for k in shown
        )
        n = len(self.classes)
        title = "Classes" if len(shown) == n else f"The {len(shown)} most frequent of {n} classes"
        return Grid(title, ("class", self.unit, "recall", "precision"), rows, "lrrr")

    def to_json(self) -> dict[str, Any]:
        return {"classes": self.classes.tolist(), "counts": self.counts.tolist()}


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> F64:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), np.nan)


def _amount(n: Any) -> str:
    return f"{n:,}" if isinstance(n, int | np.integer) else f"{n:,.6g}"  # rows, or a sum of weights


@dataclass(frozen=True, eq=False)
class Evaluation:
    n_rows: int
    figures: tuple[Measured, ...]
    confusion: Confusion | None = None
    reliability: Reliability | None = None
    thresholds: Thresholds | None = None

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    @property
    def _values(self) -> dict[str, float]:
        return {figure.name: figure.value for figure in self.figures}

    @property
    def comment(self) -> str | None:
        return baseline_comment(self._values)

    def brief(self, *, with_baseline: bool = True) -> str:
        values = self._values
        if "accuracy" in values:
            baseline = ""
            if with_baseline:
                baseline = f" (most frequent class: {values['accuracy_of_most_frequent']:.4f})"
            loss = f", log loss {values['log_loss']:.4f}" if "log_loss" in values else ""
            return f"accuracy {values['accuracy']:.4f}{baseline}{loss}"
        levels = [name.removeprefix("pinball_") for name in values if name.startswith("pinball_")]
        if levels:
            losses = ", ".join(f"{values[f'pinball_{q}']:.4g} ({q})" for q in levels)
            shares = ", ".join(f"{values[f'coverage_{q}']:.3f} ({q})" for q in levels)
            return f"pinball loss {losses}; coverage {shares}"
        score = f"R2 {values['r2']:.4f}, " if "r2" in values else ""
        return f"{score}RMSE {values['rmse']:,.4g}"

    def grids(self) -> list[Grid]:
        shown = _number if self.confusion is None else _share
        rows = tuple((each.heading, shown(each.value), each.words(shown)) for each in self.figures)
        unit = "rows" if self.confusion is None else self.confusion.unit
        by_weight = "" if unit == "rows" else ", by weight"
        grids = [Grid(f"Metrics on {pluralize(self.n_rows, 'row')}{by_weight}", ("", "", ""), rows, "lrl")]
        if self.confusion is not None:
            grids += self.confusion.grids()
        if self.thresholds is not None:
            grids.append(self.thresholds.grid())
        if self.reliability is not None:
            grids.append(_reliability_grid(self.reliability, unit))
        return [grid for grid in grids if grid.rows]

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "rows": self.n_rows,
            "figures": self._values,
            "intervals": {f.name: list(f.interval) for f in self.figures if f.interval is not None},
        }
        if self.confusion is not None:
            document["confusion"] = self.confusion.to_json()
        if self.reliability is not None:
            document["reliability"] = {name: each.tolist() for name, each in vars(self.reliability).items()}
        if self.thresholds is not None:
            document["thresholds"] = self.thresholds.to_json()
        return document


def evaluate(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    offset: ArrayLike | None = None,
    threshold: float | None = None,
    costs: Sequence[float] | None = None,
    sample_weight: ArrayLike | None = None,
) -> Evaluation:
    """Evaluate a fitted model on labelled rows.

    Parameters
    ----------
    model : classifier or regressor
        Fitted, for one target; it may predict several quantiles of it.
    X : table or array-like (n, p)
        Rows that were not used in training.
    y : array-like (n,)
        Labels, with the values of the model's classes (others count as wrong), or numbers.
    offset : array-like (n,), default=None
        Offset of each row for a regressor: any number if its `predict` takes offsets, else the logarithm of exposures.
    threshold : float, default=None
        For two classes: the second is predicted where its probability is at least this. None: by `predict`.
    costs : (float, float), default=None
        For two classes: costs of a false alarm (the second class is predicted for a row of the first) and of a miss.
        The evaluation then has the mean cost of a row, also at the cheapest thresholds.
    sample_weight : array-like (n,), default=None
        Weights of the rows in all metrics, which then have no confidence intervals. Rows of weight 0 are left out.

    Raises
    ------
    ValueError
        If rows, labels and weights do not fit, numbers are not finite, the model has several targets, `threshold` or
        `costs` are invalid, or either is given for a model that is not of two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.report.evaluation import evaluate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = evaluate(AdaBoostClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> found.n_rows, found["accuracy"] > 0.93
    (284, True)
    """
    truth = np.asarray(y)
    if truth.ndim != 1 or not len(truth):
        raise ValueError(f"y has shape {truth.shape}; give one label or number for each row, and at least one row.")
    if threshold is not None:
        model = ThresholdModel(model, threshold)
    if costs is not None:
        check_threshold(model, 0.5 if threshold is None else threshold)
        costs = check_costs(costs)
    weights: F64 | None = None
    if sample_weight is not None:
        weights = np.asarray(checked_weights(sample_weight, np.empty((len(truth), 0)), warn=False))
        if not weights.all():
            counted = np.flatnonzero(weights)
            X, truth, weights = rows_of(X if is_frame(X) else np.asarray(X), counted), truth[counted], weights[counted]
            offset = None if offset is None else np.asarray(offset)[counted]
    predicted = predictions_over(model, X, offset)
    if len(predicted) != len(truth):
        values, rows = pluralize(len(truth), "value"), pluralize(len(predicted), "row")
        raise ValueError(f"y has {values} and X has {rows}; give one value for each row.")
    if hasattr(model, "classes_"):
        found = _of_classes(model, X, truth, predicted, weights)
        if threshold is not None or costs is not None:
            positive, p = model.classes_[1], model.predict_proba(X)[:, 1]
            both = None if costs is None else (costs[0], costs[1])
            found = replace(
                found, thresholds=Thresholds.of(truth == positive, p, str(positive), threshold, both, weights)
            )
    else:
        found = _of_numbers(model, truth, predicted, weights)
    covered = CoveredRows.of(model, X, truth, weights, offset)
    return found if covered is None else replace(found, figures=(*found.figures, *covered.figures()))


def predictions_over(model: Any, X: Any, offset: ArrayLike | None) -> NDArray[Any]:
    if offset is None:
        return np.asarray(model.predict(X))
    if "offset" in signature(model.predict).parameters:
        return np.asarray(model.predict(X, offset=offset))
    found = np.asarray(model.predict(X), dtype=np.float64)
    exposure = np.exp(np.asarray(offset, dtype=np.float64))
    return found * exposure.reshape(-1, *[1] * (found.ndim - 1))


def _of_classes(model: Any, X: Any, y: NDArray[Any], predicted: NDArray[Any], weights: F64 | None = None) -> Evaluation:
    classes = np.union1d(model.classes_, y)
    fold = FittedFold(model, X, y, classes, predicted, 0.0, 0.0, None, None, weights)
    figures = []
    for name, metric in METRICS.items():
        if metric.table == "quality" and (value := metric.measure(fold)) is not None:
            if name == "accuracy":
                interval = accuracy_interval(y, predicted) if weights is None else None
                figures += [Measured(name, metric_words(name), value, interval=interval), _most_frequent(y, weights)]
            else:
                remark = "" if classes.size == 2 and name in MACRO_OF_MORE else OVER_CLASSES.get(name, "")
                between = interval_of_classes(name, value, fold) if weights is None else None
                figures.append(Measured(name, metric_words(name, classes.tolist()), value, remark, between))
    reliability = None
    if fold.probabilities is not None:
        p = fold.probabilities
        reliability = Reliability.of(p, classes[p.argmax(axis=1)] == y, weights)
        remark = "mean difference of probability and share right"
        figures.append(Measured("calibration_error", "calibration error", reliability.calibration_error, remark))
    return Evaluation(len(y), tuple(figures), Confusion.of(y, predicted, classes, weights), reliability)


def baseline_comment(figures: Mapping[str, float]) -> str | None:
    accuracy, constant = figures.get("accuracy"), figures.get("accuracy_of_most_frequent")
    if accuracy is not None and constant is not None and accuracy <= constant:
        return (
            "by accuracy the model is no better than always predicting the most frequent class"
            f" ({accuracy:.4f} and {constant:.4f}). ROC AUC and log loss measure its probabilities; for two classes"
            " evaluate --costs shows what mistakes cost at other thresholds"
        )
    if (r2 := figures.get("r2", 1.0)) <= 0.0:
        return f"the model is no better than always predicting the mean (R2 {r2:.4f})"
    return None


def _most_frequent(y: NDArray[Any], weights: F64 | None) -> Measured:
    labels, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes, weights)
    share, label = float(counts.max() / counts.sum()), str(labels[counts.argmax()])
    remark = f"accuracy of always predicting {label!r}"
    return Measured("accuracy_of_most_frequent", "most frequent class", share, remark)


def _of_numbers(model: Any, y: NDArray[Any], predicted: NDArray[Any], weights: F64 | None = None) -> Evaluation:
    if y.dtype.kind not in "biuf" or not np.isfinite(y).all():
        raise ValueError(
            f"y, of type {y.dtype}, holds values that are not finite numbers; give finite ones, as the model predicts."
        )
    truth, columns = y.astype(np.float64), predicted.reshape(len(y), -1).astype(np.float64)
    levels = quantile_levels(model_inside(model), columns.shape[1])
    if not levels:
        if columns.shape[1] > 1:
            raise ValueError(f"model predicts {columns.shape[1]} numbers of each row; evaluate a model of one target.")
        return Evaluation(len(y), tuple(number_figures(truth, columns[:, 0], weights)))
    figures = quantile_figures(truth, columns, levels, weights)
    if 0.5 in levels:  # a median is a prediction of the number itself
        figures += number_figures(truth, columns[:, levels.index(0.5)], weights)
    return Evaluation(len(y), tuple(figures))


def _reliability_grid(reliability: Reliability, unit: str) -> Grid:
    rows = []
    for k in range(N_BINS):
        n = reliability.weight[k]
        if n > 0.0:
            mean, right = reliability.expected[k] / n, reliability.right[k] / n
            rows.append((f"{k / N_BINS:.1f} to {(k + 1) / N_BINS:.1f}", f"{n:,.0f}", f"{mean:.3f}", f"{right:.3f}"))
    title = f"Calibration: {unit} by the probability of the most probable class"
    return Grid(title, ("probability", unit, "mean", "share right"), tuple(rows), "lrrr")


def _share(value: float) -> str:
    return BLANK if np.isnan(value) else f"{value:.4f}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.5g}"


def _given(offset: ArrayLike | None, rows: Any = slice(None)) -> dict[str, Any]:
    return {} if offset is None else {"offset": np.asarray(offset)[rows]}


def out_of_fold(
    learner: Any,
    X: Any,
    y: ArrayLike,
    *,
    folds: int | Folds = 5,
    seed: int = 0,
    offset: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Evaluation | None:
    """Evaluate out-of-fold predictions of copies of a learner."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    truth = np.asarray(y)
    plan, folds = (folds, folds.folds) if isinstance(folds, Folds) else (Folds(folds), folds)
    weights: F64 | None = None
    if sample_weight is not None:
        weights = np.asarray(checked_weights(sample_weight, np.empty((len(truth), 0)), warn=False))
        counted = np.flatnonzero(weights)
        X, truth, weights, plan = X[counted], truth[counted], weights[counted], plan.take(counted)
        offset = None if offset is None else np.asarray(offset)[counted]
    of_classes = hasattr(learner, "predict_proba")
    classes, counts = np.unique(truth, return_counts=True)
    if len(truth) < max(LEAST_ROWS, folds) or (of_classes and (len(classes) < 2 or counts.max() < folds)):
        return None
    if plan.words:
        codes = np.searchsorted(classes, truth) if of_classes else np.zeros(len(truth), dtype=np.intp)
        splits: Iterable[Split] = plan.splits(codes, of_classes=of_classes)
    else:  # split below, where warnings are ignored
        splitter = (StratifiedKFold if of_classes else KFold)(folds, shuffle=True, random_state=seed)
        splits = splitter.split(np.zeros((len(truth), 1)), truth)
    tests, predictions = [], []
    probability = np.zeros((len(truth), len(classes))) if of_classes else np.empty(0)
    with warnings.catch_warnings(action="ignore"):  # the fit on all rows has shown them
        for train, test in splits:
            given = {} if weights is None else {"sample_weight": weights[train]}
            fitted = clone(learner).fit(X[train], truth[train], **_given(offset, train), **given)
            tests.append(test)
            predictions.append(np.asarray(fitted.predict(X[test], **_given(offset, test))))
            if of_classes:  # a class that no training row has gets probability 0
                probability[np.ix_(test, np.searchsorted(classes, fitted.classes_))] = fitted.predict_proba(X[test])
    tested = np.concatenate(tests)
    order = np.argsort(tested)
    tested, predicted = tested[order], np.concatenate(predictions)[order]
    model = SimpleNamespace(predict=lambda X: predicted)
    if of_classes:
        model.classes_, model.predict_proba = classes, lambda X: probability[tested]
    else:
        model.loss, model.quantile = getattr(learner, "loss", None), getattr(learner, "quantile", None)
    return evaluate(model, X[tested], truth[tested], sample_weight=None if weights is None else weights[tested])
