"""Metrics of fitted models, and the columns of a comparison that show them; a new column is one entry of `METRICS`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64
from committee.data.text import shortened, suggest_names

N_BINS = 10


@dataclass(frozen=True, eq=False)
class FittedFold:
    """A model fitted on the training rows of a fold, and the inputs of its metrics."""

    model: Any
    X_test: Any
    y_test: NDArray[Any]  # (m,)
    classes: NDArray[Any]  # (K,) sorted; empty for numbers
    predicted: NDArray[Any]
    fit_seconds: float
    predict_microseconds: float
    size: tuple[int, int] | None  # n_voters, n_nodes
    margins: F64 | None  # (n,) of the training rows
    weights: F64 | None = None  # (m,) of the test rows

    @cached_property
    def probabilities(self) -> F64 | None:
        """Class probabilities of the test rows, shape (m, K)."""
        if not hasattr(self.model, "predict_proba"):
            return None
        given = np.asarray(self.model.predict_proba(self.X_test))
        if given.dtype != np.float64:
            # single precision sums to one within 1e-7 only; scikit-learn's log loss wants it closer
            given = given.astype(np.float64)
            given /= given.sum(axis=1, keepdims=True)
        probability = np.zeros((given.shape[0], self.classes.size))
        # a class that the training rows lack has probability zero
        probability[:, np.searchsorted(self.classes, self.model.classes_)] = given
        return probability

    @cached_property
    def scores(self) -> F64 | None:
        """Scores of the test rows for each class, shape (m, K)."""
        if self.classes.size == 2 and hasattr(self.model, "decision_function"):
            score = np.asarray(self.model.decision_function(self.X_test), dtype=np.float64)
            return np.column_stack([-score, score])
        return self.probabilities

    @property
    def is_class(self) -> NDArray[np.bool_]:
        """Indicators of the true classes, shape (m, K)."""
        return np.asarray(self.y_test[:, None] == self.classes)

    @property
    def errors(self) -> F64:
        return np.asarray(self.predicted - self.y_test, dtype=np.float64)


@dataclass(frozen=True)
class Metric:
    """A figure of a model on a fold, and a column of the comparison."""

    heading: str
    table: Literal["quality", "cost"]
    measure: Callable[[FittedFold], float | None]
    text: Callable[[F64], str]  # of the values over folds
    note: tuple[str, str] | None = None  # name and explanation; {run}: number of fits at a time
    best: Literal["highest", "lowest"] | None = None  # None: models are not ranked by it
    shown: bool = True


def _of_probabilities(name: str) -> Callable[[FittedFold], float | None]:
    def measure(fold: FittedFold) -> float | None:
        from sklearn import metrics

        p = fold.probabilities
        if p is None:
            return None
        return float(getattr(metrics, name)(fold.y_test, p, labels=fold.classes, sample_weight=fold.weights))

    return measure


def ranked_classes(fold: FittedFold) -> NDArray[np.intp]:
    is_class = fold.is_class
    return np.flatnonzero(is_class.any(axis=0) & ~is_class.all(axis=0))


def _mean_over_classes(name: str) -> Callable[[FittedFold], float | None]:
    # score of the positive of two classes; of more classes the mean of each against the rest
    def measure(fold: FittedFold) -> float | None:
        from sklearn import metrics

        if fold.scores is None:
            return None
        score, ranked = getattr(metrics, name), ranked_classes(fold)
        among = ranked[-1:] if fold.classes.size == 2 else ranked
        w = fold.weights
        values = [float(score(fold.is_class[:, k], fold.scores[:, k], sample_weight=w)) for k in among]
        return float(np.mean(values)) if values else None

    return measure


def _balanced_accuracy(fold: FittedFold) -> float:
    from sklearn.metrics import recall_score

    # balanced_accuracy_score, without its warning of predicted classes that have no test rows
    y, labels = fold.y_test, np.unique(fold.y_test)
    return float(recall_score(y, fold.predicted, labels=labels, average="macro", sample_weight=fold.weights))


def _f1_macro(fold: FittedFold) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(fold.y_test, fold.predicted, average="macro", sample_weight=fold.weights))


def _of_positive_class(name: str) -> Callable[[FittedFold], float | None]:
    def measure(fold: FittedFold) -> float | None:
        from sklearn import metrics

        if fold.classes.size != 2:
            return None
        true, predicted = (labels == fold.classes[1] for labels in (fold.y_test, fold.predicted))
        return float(getattr(metrics, name)(true, predicted, zero_division=0.0, sample_weight=fold.weights))

    return measure


def _mcc(fold: FittedFold) -> float:
    from sklearn.metrics import matthews_corrcoef

    if len({*fold.y_test.tolist(), *fold.predicted.tolist()}) == 1:
        return 0.0  # as scikit-learn, without its warning
    return float(matthews_corrcoef(fold.y_test, fold.predicted, sample_weight=fold.weights))


def _r2(fold: FittedFold) -> float | None:
    mean = np.average(fold.y_test, weights=fold.weights)
    spread = float(np.average(np.square(fold.y_test - mean), weights=fold.weights))
    return 1.0 - float(np.average(np.square(fold.errors), weights=fold.weights)) / spread if spread > 0.0 else None


def _deviation(values: F64, form: str) -> str:
    return f" ±{values.std(ddof=1):{form}}" if values.size > 1 else ""


def _mean_and_deviation(values: F64) -> str:
    form = f".{4 if values.mean() < 10 else 3}f"
    return f"{values.mean():{form}}" + _deviation(values, form)


def four_digit_decimals(size: float) -> int:
    return max(0, 3 - int(np.floor(np.log10(size)))) if size > 0.0 else 4


def four_digits(values: F64) -> str:
    mean = float(values.mean())
    if not np.isfinite(mean) or abs(mean) >= 1e12 or 0.0 < abs(mean) < 1e-4:
        return f"{mean:.4g}" + _deviation(values, ".2g")
    form = f",.{four_digit_decimals(abs(mean))}f"
    return f"{mean:{form}}" + _deviation(values, form)


def _mean(form: str) -> Callable[[F64], str]:
    return lambda values: f"{values.mean():{form}}"


_mean_of_four_decimals = _mean(".4f")


def _median(values: F64) -> str:
    # without an exponent: three significant digits, below 1 three decimals
    value = float(np.median(values))
    if value >= 99.95:
        return f"{value:,.0f}"
    if value == 0.0:
        return "0"
    if abs(value) < 0.001:
        return "<0.001"
    return f"{value:.{1 if value >= 9.995 else 2 if value >= 0.9995 else 3}f}"


def _score(
    heading: str,
    measure: Callable[[FittedFold], float | None],
    note: str,
    best: Literal["highest", "lowest"] = "highest",
    *,
    text: Callable[[F64], str] = _mean_of_four_decimals,
    shown: bool = False,
) -> Metric:
    return Metric(heading, "quality", measure, text, (heading, note), best, shown)


METRICS: dict[str, Metric] = {
    "accuracy": _score(
        "accuracy",
        lambda fold: float(np.average(fold.predicted == fold.y_test, weights=fold.weights)),
        "Share of test rows predicted correctly: mean over folds, and after ± their standard deviation.",
        text=_mean_and_deviation,
        shown=True,
    ),
    "balanced_accuracy": _score(
        "balanced",
        _balanced_accuracy,
        "Balanced accuracy: mean over the classes of the share of their test rows predicted correctly.",
    ),
    "f1": _score(
        "F1",
        _of_positive_class("f1_score"),
        "Harmonic mean of precision and recall of the class in brackets, the second of two in order.",
    ),
    "precision": _score(
        "precision",
        _of_positive_class("precision_score"),
        "Share of the rows predicted as the class in brackets that have it; 0 if no row is.",
    ),
    "recall": _score(
        "recall",
        _of_positive_class("recall_score"),
        "Share of the rows of the class in brackets that are predicted as it.",
    ),
    "f1_macro": _score(
        "macro F1", _f1_macro, "F1 of each class, the harmonic mean of its precision and recall, averaged."
    ),
    "mcc": _score("MCC", _mcc, "Matthews correlation of predicted and true classes: 0 by chance, 1 without an error."),
    "log_loss": _score(
        "log loss",
        _of_probabilities("log_loss"),
        "Mean of minus the logarithm (base e) of the probability of the true class; probabilities are clipped at"
        " 2.2e-16, as in scikit-learn.",
        "lowest",
        text=_mean_and_deviation,
        shown=True,
    ),
    "brier": _score(
        "Brier",
        _of_probabilities("brier_score_loss"),
        "Brier score: mean squared difference of probability and outcome, 0 or 1; for two classes of one class, for"
        " more classes summed over all.",
        "lowest",
    ),
    "roc_auc": _score(
        "ROC AUC",
        _mean_over_classes("roc_auc_score"),
        "Area under the ROC curve; macro: the mean over the classes, each against the rest.",
        shown=True,
    ),
    "average_precision": _score(
        "AP",
        _mean_over_classes("average_precision_score"),
        "Average precision, the area under the precision-recall curve, of the class in brackets; macro: the mean over"
        " the classes, each against the rest.",
    ),
    "fit_seconds": Metric(
        "fit time (s)",
        "cost",
        lambda fold: fold.fit_seconds,
        _median,
        (
            "fit time (s)",
            "Median over folds of the wall time from the training rows of the table to the fitted model,"
            " encoding included, on one thread; {run}.",
        ),
    ),
    "predict_microseconds": Metric(
        "predict time (µs/row)",
        "cost",
        lambda fold: fold.predict_microseconds,
        _median,
        (
            "predict time (µs/row)",
            "Median over folds of the wall time of predict, from table rows to predictions, in one batch of at"
            " least 4,096 rows (test rows, repeated where there are fewer), per row.",
        ),
    ),
    "n_voters": Metric(
        "voters",
        "cost",
        lambda fold: fold.size and fold.size[0],
        _mean(",.0f"),
        ("voters, nodes", "Trees (or other voters), and inner nodes and leaves in all of them; means over folds."),
    ),
    "n_nodes": Metric("nodes", "cost", lambda fold: fold.size and fold.size[1], _mean(",.0f")),
    "mean_margin": Metric(
        "mean margin",
        "cost",
        lambda fold: None if fold.margins is None else float(fold.margins.mean()),
        _mean(".3f"),
        (
            "margins",
            "Margins of the training rows: weighted votes for the true class minus those for the strongest other"
            " class, as a share of all votes; means over folds. A dash: the votes of the model are not available.",
        ),
    ),
    "minimum_margin": Metric(
        "min margin", "cost", lambda fold: None if fold.margins is None else float(fold.margins.min()), _mean(".3f")
    ),
}

OF_TWO_CLASSES = ("f1", "precision", "recall")
"""Metrics of the second of two classes, not available for more classes."""

OF_POSITIVE_CLASS = (*OF_TWO_CLASSES, "average_precision")
"""Metrics that for two classes are those of the second."""

MACRO_OF_MORE = ("roc_auc", "average_precision")
"""Metrics that are means over the classes if there are more than two."""

METRICS_OF_NUMBERS: dict[str, Metric] = {
    "rmse": _score(
        "RMSE",
        lambda fold: float(np.sqrt(np.average(np.square(fold.errors), weights=fold.weights))),
        "Root of the mean squared error on the test rows: mean over folds, and after ± their standard deviation.",
        "lowest",
        text=four_digits,
        shown=True,
    ),
    "mae": _score(
        "MAE",
        lambda fold: float(np.average(np.abs(fold.errors), weights=fold.weights)),
        "Mean absolute error on the test rows.",
        "lowest",
        text=four_digits,
        shown=True,
    ),
    "r2": _score(
        "R2",
        _r2,
        "Share of the test rows' variance that is explained: 1 without an error, 0 for always predicting their mean.",
        shown=True,
    ),
    **{name: METRICS[name] for name in ("fit_seconds", "predict_microseconds", "n_voters", "n_nodes")},
}


def metrics_of(numbers: bool) -> dict[str, Metric]:
    return METRICS_OF_NUMBERS if numbers else METRICS


def known_metric(name: str) -> Metric:
    return METRICS[name] if name in METRICS else METRICS_OF_NUMBERS[name]


def metric_words(name: str, classes: Collection[Any] = ()) -> str:
    known = {"f1": "F1", "f1_macro": "macro F1", "mcc": "MCC", "roc_auc": "ROC AUC", "brier": "Brier score"}
    words = known.get(name, name.upper() if name in METRICS_OF_NUMBERS else name.replace("_", " "))
    return averaged(words, name, classes)


def averaged(words: str, name: str, classes: Collection[Any]) -> str:
    if len(classes) == 2 and name in OF_POSITIVE_CLASS:
        return f"{words} ({shortened(str(list(classes)[1]), 16)})"
    return f"macro {words}" if len(classes) > 2 and name in MACRO_OF_MORE else words


def ranking_metrics(numbers: bool = False, n_classes: int = 2) -> list[str]:
    left_out = OF_TWO_CLASSES if n_classes > 2 else ()
    return [name for name, metric in metrics_of(numbers).items() if metric.best is not None and name not in left_out]


RARE = 0.2
"""A class is rare if it has less than this share of the rows, divided by the number of classes."""


def default_metrics(counts: Collection[float], folds: int, *, at_random: bool = True) -> tuple[str, ...]:
    if min(counts) * len(counts) >= RARE * sum(counts):
        return ("accuracy",)
    # both classes must be in every fold
    has_auc = len(counts) == 2 and at_random and min(counts) >= folds
    return (*(("roc_auc",) if has_auc else ()), "log_loss", "accuracy")


def chosen_metrics(
    metric: str | Iterable[str] | None, numbers: bool | None = False, n_classes: int = 2
) -> tuple[str, ...]:
    """Return checked names of metrics; `numbers` is `None` before the task is known."""
    if metric is None:
        return ("rmse",) if numbers else ("accuracy",)
    names = (metric,) if isinstance(metric, str) else tuple(metric)
    if not names:
        raise ValueError("metric is empty: name at least one to rank the models by")
    either = [*ranking_metrics(), *ranking_metrics(numbers=True)]
    known = either if numbers is None else ranking_metrics(numbers)
    for name in names:
        if name in either and name not in known:
            kind, other = ("numbers", "classes") if numbers else ("classes", "numbers")
            raise ValueError(f"{name} is a metric for {other}, and the task is {kind}; use one of {', '.join(known)}")
        if name not in known:
            raise ValueError(f"there is no metric {name!r} to rank models by; {suggest_names(str(name), known)}")
        if n_classes > 2 and name in OF_TWO_CLASSES:
            macro = "f1_macro" if name == "f1" else "balanced_accuracy (macro recall) or f1_macro"
            raise ValueError(f"metric {name!r} is of two classes, and the target has {n_classes}; use {macro}")
    return names


@dataclass(frozen=True, eq=False)
class Reliability:
    """Reliability diagram: sums over the rows in ten bins of their largest class probability, shape (10,)."""

    weight: F64
    expected: F64  # sum of these probabilities
    right: F64  # rows whose most probable class is the true one

    @classmethod
    def of(cls, probability: ArrayLike, right: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Sum over rows with class probabilities (n, K); `right` (n,) marks right predictions."""
        p, is_right = np.asarray(probability, dtype=np.float64), np.asarray(right, dtype=np.float64)
        if p.ndim != 2 or not p.size or is_right.shape != p.shape[:1]:
            raise ValueError(
                f"probability has shape {p.shape} and right {is_right.shape}; give (n, K) and (n,), n > 0."
            )
        highest = p.max(axis=1)
        if not ((highest >= 0.0) & (highest <= 1.0 + 1e-9)).all():
            raise ValueError("probability holds values that are not in [0, 1]; give those of predict_proba.")
        weight = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        bins = np.minimum((highest * N_BINS).astype(np.intp), N_BINS - 1)
        sums = (np.bincount(bins, each, N_BINS) for each in (weight, weight * highest, weight * is_right))
        return cls(*(each.astype(np.float64) for each in sums))

    @classmethod
    def sum(cls, some: Iterable[Reliability]) -> Self:
        return cls(*np.sum([[each.weight, each.expected, each.right] for each in some], axis=0))

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: mean over rows of |share right - mean probability| of their bin."""
        return float(np.abs(self.right - self.expected).sum() / self.weight.sum())
