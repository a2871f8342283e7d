"""Metrics of a comparison: what is measured of every model on every fold, and how its column shows it.

A further column is one more entry of `METRICS`. Scores of predictions are scikit-learn's, of classes that a fold has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64


@dataclass(frozen=True, eq=False)
class FittedFold:
    """A model fitted on the training rows of a fold, and what metrics are computed from.

    Attributes
    ----------
    model : estimator
        Fitted.
    X_test : table or array
        Test rows, as the model takes them.
    y_test : array (m,)
        Their labels, out of `classes`.
    classes : array (K,)
        All class labels, sorted.
    predicted : array (m,)
        Labels that the model gives the test rows.
    fit_seconds : float
        Wall time from the training rows of the table to the fitted model.
    predict_microseconds : float
        Wall time of ``predict`` per row.
    size : tuple (n_voters, n_nodes) or None
        Voters, and nodes in all of them; None where they are not counted.
    margins : float64 array (n,) or None
        Of the training rows; None where the model's votes are not read.
    """

    model: Any
    X_test: Any
    y_test: NDArray[Any]
    classes: NDArray[Any]
    predicted: NDArray[Any]
    fit_seconds: float
    predict_microseconds: float
    size: tuple[int, int] | None
    margins: F64 | None

    @cached_property
    def probabilities(self) -> F64 | None:
        """Probabilities of all classes, ``(m, K)``; None for a model that gives none."""
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
        """Scores that rank the rows for each class, ``(m, K)``; None for a model that only names classes.

        They are the probabilities, and for two classes the decision function where there is one.
        """
        if self.classes.size == 2 and hasattr(self.model, "decision_function"):
            score = np.asarray(self.model.decision_function(self.X_test), dtype=np.float64)
            return np.column_stack([-score, score])
        return self.probabilities

    @property
    def is_class(self) -> NDArray[np.bool_]:
        """Which row is of which class, ``(m, K)``."""
        return np.asarray(self.y_test[:, None] == self.classes)


@dataclass(frozen=True)
class Metric:
    """A figure of a model on a fold, and a column of the comparison.

    Attributes
    ----------
    heading : str
        Of the column.
    table : {"quality", "cost"}
        Table that the column stands in.
    measure : callable ``(FittedFold) -> float, int or None``
        None where the model or the fold has no such figure.
    text : callable ``(values over folds) -> str``
        Text of a cell.
    note : tuple of two str, default=None
        Name and sentence for the list of what was measured; ``{run}`` stands for the way that fits were run.
    best : {"highest", "lowest"}, default=None
        Which value is better; None for a figure by which models are not ranked.
    shown : bool, default=True
        Whether the column is there unasked.
    """

    heading: str
    table: Literal["quality", "cost"]
    measure: Callable[[FittedFold], float | None]
    text: Callable[[F64], str]
    note: tuple[str, str] | None = None
    best: Literal["highest", "lowest"] | None = None
    shown: bool = True


def _log_loss(fold: FittedFold) -> float | None:
    from sklearn.metrics import log_loss

    probability = fold.probabilities
    return None if probability is None else float(log_loss(fold.y_test, probability, labels=fold.classes))


def _mean_over_classes(score: Callable[[Any, Any], Any], fold: FittedFold) -> float | None:
    """Mean of a score of each class against the rest, over the classes that have test rows but not all of them."""
    if fold.scores is None:
        return None
    is_class = fold.is_class
    told = np.flatnonzero(is_class.any(axis=0) & ~is_class.all(axis=0))
    values = [float(score(is_class[:, k], fold.scores[:, k])) for k in told]
    return float(np.mean(values)) if values else None


def _roc_auc(fold: FittedFold) -> float | None:
    from sklearn.metrics import roc_auc_score

    return _mean_over_classes(roc_auc_score, fold)


def _average_precision(fold: FittedFold) -> float | None:
    from sklearn.metrics import average_precision_score

    return _mean_over_classes(average_precision_score, fold)


def _brier(fold: FittedFold) -> float | None:
    from sklearn.metrics import brier_score_loss

    probability = fold.probabilities
    return None if probability is None else float(brier_score_loss(fold.y_test, probability, labels=fold.classes))


def _balanced_accuracy(fold: FittedFold) -> float:
    from sklearn.metrics import recall_score

    # balanced_accuracy_score, without its warning where a class is predicted that the fold has no row of
    return float(recall_score(fold.y_test, fold.predicted, labels=np.unique(fold.y_test), average="macro"))


def _f1_macro(fold: FittedFold) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(fold.y_test, fold.predicted, average="macro"))


def _mcc(fold: FittedFold) -> float:
    from sklearn.metrics import matthews_corrcoef

    if len({*fold.y_test.tolist(), *fold.predicted.tolist()}) == 1:
        return 0.0  # as scikit-learn has it, without its warning
    return float(matthews_corrcoef(fold.y_test, fold.predicted))


def _mean_and_deviation(values: F64) -> str:
    """Mean and standard deviation (n - 1), 4 digits after the point, or 3 where the number is large."""
    mean = values.mean()
    digits = 4 if mean < 10 else 3
    return f"{mean:.{digits}f}" + (f" ±{values.std(ddof=1):.{digits}f}" if values.size > 1 else "")


def _mean(values: F64) -> str:
    return f"{values.mean():.4f}"


def _median(values: F64) -> str:
    """Three significant digits without an exponent; whole numbers with thousands separated."""
    value = float(np.median(values))
    if value >= 99.95:
        return f"{value:,.0f}"
    if value == 0.0:
        return "0"
    if abs(value) < 0.001:
        return "<0.001"
    digits = 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{value:.{digits}f}"


def _mean_count(values: F64) -> str:
    return f"{values.mean():,.0f}"


def _mean_margin(values: F64) -> str:
    return f"{values.mean():.3f}"


METRICS: dict[str, Metric] = {
    "accuracy": Metric(
        "accuracy",
        "quality",
        lambda fold: float(np.mean(fold.predicted == fold.y_test)),
        _mean_and_deviation,
        ("accuracy", "Share of test rows predicted correctly: mean over folds ± standard deviation over folds."),
        best="highest",
    ),
    "balanced_accuracy": Metric(
        "balanced",
        "quality",
        _balanced_accuracy,
        _mean,
        ("balanced", "Balanced accuracy: mean over the classes of the share of their test rows predicted correctly."),
        best="highest",
        shown=False,
    ),
    "f1_macro": Metric(
        "F1",
        "quality",
        _f1_macro,
        _mean,
        ("F1", "Mean over the classes of F1, the harmonic mean of precision and recall."),
        best="highest",
        shown=False,
    ),
    "mcc": Metric(
        "MCC",
        "quality",
        _mcc,
        _mean,
        ("MCC", "Matthews' correlation of predicted and true classes: 0 by chance, 1 without an error."),
        best="highest",
        shown=False,
    ),
    "log_loss": Metric(
        "log loss",
        "quality",
        _log_loss,
        _mean_and_deviation,
        (
            "log loss",
            "Mean of minus the logarithm (base e) of the probability given to the true class; probabilities"
            " are clipped at 2.2e-16, as scikit-learn does.",
        ),
        best="lowest",
    ),
    "brier": Metric(
        "Brier",
        "quality",
        _brier,
        _mean,
        (
            "Brier",
            "Mean squared difference of the probabilities and what is true, 0 or 1; of one class where there are two,"
            " summed over all where there are more.",
        ),
        best="lowest",
        shown=False,
    ),
    "roc_auc": Metric(
        "ROC AUC",
        "quality",
        _roc_auc,
        _mean,
        ("ROC AUC", "Area under the ROC curve; of more than two classes the mean over each against the rest."),
        best="highest",
    ),
    "average_precision": Metric(
        "AP",
        "quality",
        _average_precision,
        _mean,
        (
            "AP",
            "Average precision, the area under the curve of precision by recall: mean over the classes, each against"
            " the rest.",
        ),
        best="highest",
        shown=False,
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
            "Median over folds of the wall time of predict, from table rows to labels, in one batch of at"
            " least 4,096 rows (test rows, repeated where there are fewer), per row.",
        ),
    ),
    "n_voters": Metric(
        "voters",
        "cost",
        lambda fold: fold.size and fold.size[0],
        _mean_count,
        ("voters, nodes", "Trees (or other voters), and inner nodes and leaves in all of them; means over folds."),
    ),
    "n_nodes": Metric("nodes", "cost", lambda fold: fold.size and fold.size[1], _mean_count),
    "mean_margin": Metric(
        "mean margin",
        "cost",
        lambda fold: None if fold.margins is None else float(fold.margins.mean()),
        _mean_margin,
        (
            "margins",
            "Of the training rows: the weighted votes for the true class less those for the strongest other"
            " class, as a share of all votes; means over folds. A dash: the votes of the model are not available.",
        ),
    ),
    "minimum_margin": Metric(
        "min margin",
        "cost",
        lambda fold: None if fold.margins is None else float(fold.margins.min()),
        _mean_margin,
    ),
}
"""Metrics by their names in results and in the JSON file, in the order of the columns."""
