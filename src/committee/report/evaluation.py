"""How good a fitted model is on rows whose answers are known: every figure, who is taken for whom, calibration."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.text import pluralize
from committee.report.confusion import Confusion
from committee.report.covered_rows import CoveredRows
from committee.report.grid import BLANK, Grid
from committee.report.intervals import interval_of_classes
from committee.report.measured import Measured
from committee.report.metrics import METRICS, FittedFold
from committee.report.number_figures import number_figures, quantile_figures, quantile_levels
from committee.report.prediction_sets import model_inside
from committee.report.reliability import N_BINS, Reliability
from committee.report.tables import metric_words

CONFIDENCE = 0.95
OVER_CLASSES = {
    "balanced_accuracy": "mean over the classes of the share of their rows that is found",
    "f1_macro": "mean over the classes, each counted alike",
    "roc_auc": "mean over the classes, each against all others",
    "average_precision": "mean over the classes, each against all others",
}
"""How a figure of several classes is made of theirs."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Figures of a model on rows that it should not have been trained on.

    Attributes
    ----------
    n_rows : int
    figures : tuple of Measured
    confusion : Confusion or None
        Of classes.
    reliability : Reliability or None
        Of classes with probabilities.
    """

    n_rows: int
    figures: tuple[Measured, ...]
    confusion: Confusion | None = None
    reliability: Reliability | None = field(default=None)

    def __getitem__(self, name: str) -> float:
        """A figure by its name."""
        return {figure.name: figure.value for figure in self.figures}[name]

    def brief(self, *, with_alone: bool = True) -> str:
        """Accuracy and log loss, R2 and RMSE, or pinball loss and coverage in a line; and the most frequent class."""
        values = {figure.name: figure.value for figure in self.figures}
        if "accuracy" in values:
            alone = (
                f" ({values['accuracy_of_most_frequent']:.4f} by the most frequent class alone)" if with_alone else ""
            )
            loss = f", log loss {values['log_loss']:.4f}" if "log_loss" in values else ""
            return f"accuracy {values['accuracy']:.4f}{alone}{loss}"
        levels = [name.removeprefix("pinball_") for name in values if name.startswith("pinball_")]
        if levels:
            losses = ", ".join(f"{values[f'pinball_{q}']:.4g} ({q})" for q in levels)
            shares = ", ".join(f"{values[f'coverage_{q}']:.3f} ({q})" for q in levels)
            return f"pinball loss {losses}; coverage {shares}"
        score = f"R2 {values['r2']:.4f}, " if "r2" in values else ""
        return f"{score}root mean squared error {values['rmse']:,.4g}"

    def grids(self) -> list[Grid]:
        """All of it as tables."""
        shown = _number if self.confusion is None else _share
        rows = tuple((each.heading, shown(each.value), each.words(shown)) for each in self.figures)
        grids = [Grid(f"Figures on {pluralize(self.n_rows, 'row')}", ("", "", ""), rows, "lrl")]
        if self.confusion is not None:
            grids += self.confusion.grids()
        if self.reliability is not None:
            grids.append(reliability_grid(self.reliability))
        return [grid for grid in grids if grid.rows]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        document: dict[str, Any] = {
            "rows": self.n_rows,
            "figures": {f.name: f.value for f in self.figures},
            "intervals": {f.name: list(f.interval) for f in self.figures if f.interval is not None},
        }
        if self.confusion is not None:
            document["confusion"] = self.confusion.to_json()
        if self.reliability is not None:
            document["reliability"] = {name: each.tolist() for name, each in vars(self.reliability).items()}
        return document


def evaluate(model: Any, X: Any, y: ArrayLike) -> Evaluation:
    """Judge a fitted model by rows whose answers are known.

    Parameters
    ----------
    model : classifier or regressor
        Fitted; what predicts several targets is refused, what predicts several quantiles of one is not.
    X : table or array-like (n, p)
        Rows that it was not trained on.
    y : array-like (n,)
        Their labels, spelled as the model's classes; ones that it does not know count as wrong. Or their numbers.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        If there is no row, there is not one answer for each, numbers are not finite, or several targets are predicted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.report.evaluation import evaluate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = evaluate(AdaBoostClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> found.n_rows, found["accuracy"] > 0.93, found.confusion.counts.sum()
    (284, True, np.int64(284))
    """
    truth = np.asarray(y)
    if truth.ndim != 1 or not len(truth):
        raise ValueError(f"y has shape {truth.shape}; give the answers of one row at least, one each.")
    predicted = np.asarray(model.predict(X))
    if len(predicted) != len(truth):
        raise ValueError(f"y has {len(truth)} answers; X has {len(predicted)} rows.")
    found = (
        _of_classes(model, X, truth, predicted) if hasattr(model, "classes_") else _of_numbers(model, truth, predicted)
    )
    covered = CoveredRows.of(model, X, truth)
    return found if covered is None else replace(found, figures=(*found.figures, *covered.figures()))


def _of_classes(model: Any, X: Any, y: NDArray[Any], predicted: NDArray[Any]) -> Evaluation:
    classes = np.union1d(model.classes_, y)
    fold = FittedFold(model, X, y, classes, predicted, 0.0, 0.0, None, None)
    low, high = accuracy_interval(y, predicted)
    figures = []
    for name, metric in METRICS.items():
        if metric.table == "quality" and (value := metric.measure(fold)) is not None:
            if name == "accuracy":
                figures += [Measured(name, metric_words(name), value, interval=(low, high)), _most_frequent(y)]
            else:
                remark = "" if name == "roc_auc" and classes.size == 2 else OVER_CLASSES.get(name, "")
                between = interval_of_classes(name, value, fold)
                figures.append(Measured(name, metric_words(name), value, remark, between))
    reliability = None
    if fold.probabilities is not None:
        p = fold.probabilities
        reliability = Reliability.of(p, classes[p.argmax(axis=1)] == y)
        figures.append(
            Measured(
                "calibration_error",
                "calibration error",
                reliability.calibration_error,
                "how far probabilities are from the share right",
            )
        )
    return Evaluation(len(y), tuple(figures), Confusion.of(y, predicted, classes), reliability)


def _of_numbers(model: Any, y: NDArray[Any], predicted: NDArray[Any]) -> Evaluation:
    if y.dtype.kind not in "biuf" or not np.isfinite(y).all():
        raise ValueError(
            f"y holds {y.dtype}, or numbers that are not finite; the {type(model).__name__} is of numbers."
        )
    truth, columns = y.astype(np.float64), predicted.reshape(len(y), -1).astype(np.float64)
    levels = quantile_levels(model_inside(model), columns.shape[1])
    if not levels:
        if columns.shape[1] > 1:
            raise ValueError(f"model predicts {columns.shape[1]} numbers of each row; one is evaluated at a time.")
        return Evaluation(len(y), tuple(number_figures(truth, columns[:, 0])))
    figures = quantile_figures(truth, columns, levels)
    if 0.5 in levels:  # a median is a prediction of the number itself
        figures += number_figures(truth, columns[:, levels.index(0.5)])
    return Evaluation(len(y), tuple(figures))


def reliability_grid(reliability: Reliability) -> Grid:
    """Rows by the probability of the class that they are given: how sure, and how often right."""
    rows = []
    for k in range(N_BINS):
        n = reliability.weight[k]
        if n > 0.0:
            sure, right = reliability.expected[k] / n, reliability.right[k] / n
            rows.append((f"{k / N_BINS:.1f} to {(k + 1) / N_BINS:.1f}", f"{n:,.0f}", f"{sure:.3f}", f"{right:.3f}"))
    title = "Calibration: rows by the probability of the class that they are given"
    return Grid(title, ("probability", "rows", "mean", "share right"), tuple(rows), "lrrr")


def _most_frequent(y: NDArray[Any]) -> Measured:
    labels, counts = np.unique(y, return_counts=True)
    label = str(labels[counts.argmax()])
    return Measured(
        "accuracy_of_most_frequent",
        "by the most frequent class alone",
        float(counts.max() / len(y)),
        f"if every row is taken for {label!r}",
    )


def accuracy_interval(y: NDArray[Any], predicted: NDArray[Any]) -> tuple[float, float]:
    """What the accuracy on all such rows may be, by Wilson's interval.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = accuracy_interval(np.array([0, 1] * 50), np.ones(100, dtype=int))
    >>> f"{low:.3f} to {high:.3f}"
    '0.404 to 0.596'
    """
    from scipy.stats import binomtest

    interval = binomtest(int((predicted == y).sum()), len(y)).proportion_ci(CONFIDENCE, method="wilson")
    return float(interval.low), float(interval.high)


def _share(value: float) -> str:
    return BLANK if np.isnan(value) else f"{value:.4f}"


def _number(value: float) -> str:
    """Five digits, in whatever units the numbers are."""
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.5g}"
