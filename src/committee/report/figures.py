"""Figures of a model on some rows, their confidence intervals, and the mistakes and costs at thresholds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, rankdata

from committee.data.number_types import F64, is_number
from committee.data.text import shortened
from committee.objectives.losses import Quantiles
from committee.report.metrics import FittedFold, ranked_classes
from committee.report.page import BLANK, Grid

NORMAL = 1.959963984540054
"""97.5 % quantile of the normal distribution."""

CONFIDENCE = 0.95

FEWEST = 10
"""Fewest rows for an interval by influences."""


@dataclass(frozen=True)
class Measured:
    name: str  # in files
    heading: str  # in tables
    value: float
    remark: str = ""  # a baseline or target
    interval: tuple[float, float] | None = None

    def words(self, text: Callable[[float], str]) -> str:
        interval = "" if self.interval is None else f"95% CI {' to '.join(map(text, self.interval))}"
        return "; ".join(filter(None, [interval, self.remark]))


# --- numbers ---------------------------------------------------------------------------------------------


def number_figures(y: F64, predicted: F64, weights: F64 | None = None) -> list[Measured]:
    from sklearn.metrics import mean_absolute_error, median_absolute_error, r2_score, root_mean_squared_error

    mean, median = np.average(y, weights=weights), weighted_quantile(y, 0.5, weights)
    spread = np.sqrt(np.average((y - mean) ** 2, weights=weights))
    by_mean = f"{float(spread):.4g} for always predicting the mean"
    by_median = f"{float(np.average(np.abs(y - median), weights=weights)):.4g} for always predicting the median"
    w = {"sample_weight": weights}
    figures = [
        Measured("rmse", "RMSE", float(root_mean_squared_error(y, predicted, **w)), by_mean),
        Measured("mae", "MAE", float(mean_absolute_error(y, predicted, **w)), by_median),
        Measured("median_absolute_error", "median absolute error", float(median_absolute_error(y, predicted, **w))),
    ]
    if len(y) > 1 and np.ptp(y) > 0.0:
        meant = "1 without an error, 0 for always predicting the mean"
        figures.append(Measured("r2", "R2", float(r2_score(y, predicted, **w)), meant))
    if weights is not None:
        return figures
    return [replace(each, interval=interval_of_number(each.name, each.value, y, predicted)) for each in figures]


def weighted_quantile(y: F64, level: float, weights: F64 | None = None) -> float:
    if weights is None:
        return float(np.quantile(y, level))
    # the least number with `level` of the weight at or below it
    order = np.argsort(y, kind="stable")
    reached = np.cumsum(weights[order])
    return float(y[order[min(int(np.searchsorted(reached, level * reached[-1])), len(y) - 1)]])


def quantile_levels(model: Any, n_columns: int = 1) -> tuple[float, ...]:
    loss = getattr(model, "loss", None)
    if isinstance(loss, str):
        if loss not in ("quantile", "quantiles"):
            return ()
        levels = tuple(np.ravel(np.asarray(model.quantile, dtype=np.float64)).tolist())
        return levels if len(levels) == n_columns else Quantiles().levels
    of_quantiles = getattr(loss, "name", None) in ("quantile", "quantiles")
    return tuple(getattr(loss, "levels", ())) if of_quantiles else ()


def quantile_figures(y: F64, predicted: F64, levels: tuple[float, ...], weights: F64 | None = None) -> list[Measured]:
    from sklearn.metrics import mean_pinball_loss

    figures = []
    for level, column in zip(levels, predicted.T, strict=True):
        loss = float(mean_pinball_loss(y, column, alpha=level, sample_weight=weights))
        constant = np.full(len(y), weighted_quantile(y, level, weights))
        alone = float(mean_pinball_loss(y, constant, alpha=level, sample_weight=weights))
        by_constant = f"{alone:.4g} for always predicting the quantile"
        figures.append(Measured(f"pinball_{level:g}", f"pinball loss of {level:g}", loss, by_constant))
        share = float(np.average(y <= column, weights=weights))
        meant = f"share of rows at or below it; the target is {level:g}"
        figures.append(Measured(f"coverage_{level:g}", f"coverage of {level:g}", share, meant))
    if len(levels) > 1:
        low, high = predicted[:, 0], predicted[:, -1]
        covered = (low <= y) & (y <= high)
        inside, between = float(np.average(covered, weights=weights)), f"{levels[0]:g} to {levels[-1]:g}"
        meant = f"share of rows in the interval; the target is {levels[-1] - levels[0]:g}"
        figures += [
            Measured("interval_coverage", f"coverage of {between}", inside, meant),
            Measured("interval_width", f"mean width of {between}", float(np.average(high - low, weights=weights))),
        ]
    return figures


def quantile_sentences(figures: Iterable[Measured]) -> list[str]:
    by_name = {figure.name: figure for figure in figures}
    levels = [name.removeprefix("pinball_") for name in by_name if name.startswith("pinball_")]
    losses = [by_name[f"pinball_{q}"] for q in levels]
    below = [by_name[f"coverage_{q}"].value for q in levels]
    if len(levels) == 1:
        (q,), (share,), (loss,) = levels, below, losses
        return [
            f"{share:.1%} of the rows lie at or below the quantile {q}; the target is {100.0 * float(q):.3g}%.",
            f"Pinball loss: {loss.value:.4g} ({loss.remark}).",
        ]
    inside, meant = by_name["interval_coverage"].value, 100.0 * (float(levels[-1]) - float(levels[0]))
    shares = ", ".join(f"{share:.1%} ({q})" for q, share in zip(levels, below, strict=True))
    costs = ", ".join(f"{loss.value:.4g} for {q} ({loss.remark})" for q, loss in zip(levels, losses, strict=True))
    return [
        f"{inside:.1%} of the rows lie between the quantiles {levels[0]} and {levels[-1]}; the target is {meant:.3g}%.",
        f"Rows at or below each quantile: {shares}.",
        f"Pinball loss by quantile: {costs}.",
    ]


# --- intervals -------------------------------------------------------------------------------------------


def accuracy_interval(y: NDArray[Any], predicted: NDArray[Any]) -> tuple[float, float]:
    interval = binomtest(int((predicted == y).sum()), len(y)).proportion_ci(CONFIDENCE, method="wilson")
    return float(interval.low), float(interval.high)


def interval_of_number(name: str, value: float, y: F64, predicted: F64) -> tuple[float, float] | None:
    error = predicted - y
    if name == "mae":
        influence = np.abs(error)
    elif name == "rmse":
        influence = error**2 / (2.0 * value) if value > 0.0 else np.zeros_like(error)
    elif name == "r2":
        # of 1 - E / V, with E the mean squared error and V the variance
        from_mean = (y - y.mean()) ** 2
        influence = (error**2 - (1.0 - value) * from_mean) / from_mean.mean()
    else:
        return None
    return _interval(value, influence, -np.inf if name == "r2" else 0.0, 1.0 if name == "r2" else np.inf)


def interval_of_classes(name: str, value: float, fold: FittedFold) -> tuple[float, float] | None:
    if name in ("log_loss", "brier") and fold.probabilities is not None:
        p, is_class = fold.probabilities, fold.is_class
        if name == "log_loss":
            of_own = p[is_class]
            # rows of probability 0 dominate the loss, and their number varies more than an interval would show
            return _interval(value, -np.log(of_own), 0.0, np.inf) if (of_own > 0.0).all() else None
        influence = ((p - is_class) ** 2).sum(axis=1) / (2.0 if fold.classes.size == 2 else 1.0)
        return _interval(value, influence, 0.0, np.inf)
    if name == "roc_auc" and fold.scores is not None:
        each = [_auc_influence(fold.is_class[:, k], fold.scores[:, k]) for k in ranked_classes(fold)]
        return _interval(value, np.mean(each, axis=0), 0.0, 1.0)
    return None


def _interval(value: float, influence: F64, low: float, high: float) -> tuple[float, float] | None:
    # influence of a row: up to a constant, n times the change of the figure, to first order, if the row counted twice
    # (Hampel, J. Amer. Statist. Assoc. 69, 1974)
    n = len(influence)
    if n < FEWEST:
        return None
    half = NORMAL * float(influence.std(ddof=1)) / float(np.sqrt(n))
    return max(low, value - half), min(high, value + half)


def _auc_influence(of_class: NDArray[np.bool_], score: F64) -> F64:
    # influence on the area under the ROC curve (DeLong, DeLong & Clarke-Pearson, Biometrics 44, 1988): the share of
    # rows of the other kind that a row is ranked right against, over the share of its own kind
    n, n_class = len(score), int(of_class.sum())
    among_all = rankdata(score)
    among_own = np.empty(n)
    among_own[of_class], among_own[~of_class] = rankdata(score[of_class]), rankdata(score[~of_class])
    others_below = among_all - among_own
    right = np.where(of_class, others_below / (n - n_class), 1.0 - others_below / n_class)
    area = right[of_class].mean()
    return np.asarray((right - area) * np.where(of_class, n / n_class, n / (n - n_class)))


# --- thresholds -------------------------------------------------------------------------------------------------------


OPTIMISTIC = "cheapest on these rows (optimistic)"


def check_threshold(model: Any, threshold: float) -> float:
    if not (is_number(threshold) and 0.0 <= threshold <= 1.0):
        raise ValueError(f"threshold is {threshold}; it must be a probability from 0 to 1.")
    if not hasattr(model, "predict_proba"):
        raise ValueError("threshold and costs need probabilities, which the model does not predict; leave them out.")
    if (n := len(model.classes_)) != 2:
        raise ValueError(f"threshold and costs are for two classes, and the model has {n}; leave them out.")
    return float(threshold)


def check_costs(costs: Sequence[float]) -> tuple[float, float]:
    several = np.iterable(costs)
    values: list[Any] = list(costs) if several else [costs]
    if len(values) != 2 or not all(is_number(each) and 0.0 <= each < np.inf for each in values) or not any(values):
        raise ValueError(
            f"costs is {values if several else costs}; give two finite costs of at least 0, not both 0: of a false"
            " alarm and of a miss."
        )
    return float(values[0]), float(values[1])


class ThresholdModel:
    """A fitted classifier that predicts the second of its two classes where its probability is at least a threshold.

    Like scikit-learn's FixedThresholdClassifier, for a model that is fitted already. Other attributes are those of the
    model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(5).fit(X, y)
    >>> bool(ThresholdModel(model, 0.0).predict(X).all()), int((ThresholdModel(model, 0.9).predict(X) == 1).sum()) < 357
    (True, True)
    """

    def __init__(self, model: Any, threshold: float) -> None:
        self.model = model
        self.threshold: float = check_threshold(model, threshold)

    def predict(self, X: Any) -> NDArray[Any]:
        positive = self.model.predict_proba(X)[:, 1] >= self.threshold
        return np.asarray(self.model.classes_[positive.astype(np.intp)])

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # not yet set, as while unpickling
            raise AttributeError(name)
        return getattr(self.model, name)


@dataclass(frozen=True)
class ThresholdRow:
    threshold: float
    remark: str
    predicted: float  # weight of the rows predicted positive
    right: float  # of those that are
    false_alarms: float
    misses: float
    cost: float | None  # mean of a row


@dataclass(frozen=True, eq=False)
class Thresholds:
    positive: str
    rows: tuple[ThresholdRow, ...]

    @classmethod
    def of(
        cls,
        is_positive: NDArray[np.bool_],
        probability: F64,
        positive: str,
        threshold: float | None = None,
        costs: tuple[float, float] | None = None,
        weights: F64 | None = None,
    ) -> Thresholds:
        """Count mistakes at 0.5, at `threshold`, and at the cheapest thresholds for `costs`."""
        w = np.ones(len(probability)) if weights is None else weights
        wanted = {0.5: ["default"]}
        if threshold is not None:
            wanted.setdefault(threshold, []).append("given")
        if costs is not None:
            # costs of a false alarm and of a miss
            wanted.setdefault(costs[0] / sum(costs), []).append("cheapest if calibrated")
            wanted.setdefault(cheapest_threshold(is_positive, probability, costs, w), []).append(OPTIMISTIC)
        rows = []
        for value, remarks in sorted(wanted.items()):
            predicted = probability >= value
            right, alarms, misses = (
                float(w[mask].sum())
                for mask in (predicted & is_positive, predicted & ~is_positive, ~predicted & is_positive)
            )
            cost = None if costs is None else (costs[0] * alarms + costs[1] * misses) / float(w.sum())
            rows.append(ThresholdRow(value, "; ".join(remarks), right + alarms, right, alarms, misses, cost))
        return cls(positive, tuple(rows))

    def grid(self) -> Grid:
        name = shortened(self.positive, 16)
        columns = ["threshold", f"predicted {name}", "precision", "recall", "false alarms", "misses"]
        with_costs = self.rows[0].cost is not None
        rows = []
        for row in self.rows:
            present = row.right + row.misses
            cells = [
                f"{row.threshold:.4g}",
                f"{row.predicted:,.6g}",
                f"{row.right / row.predicted:.4f}" if row.predicted else BLANK,
                f"{row.right / present:.4f}" if present else BLANK,
                f"{row.false_alarms:,.6g}",
                f"{row.misses:,.6g}",
            ]
            rows.append((*cells, *([f"{row.cost:.4g}"] if with_costs else []), row.remark))
        headings = (*columns, *(["cost of a row"] if with_costs else []), "")
        title = f"Thresholds of the probability of {self.positive!r}"
        return Grid(title, headings, tuple(rows), "r" * (len(headings) - 1) + "l")

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.rows]


def cheapest_threshold(
    is_positive: NDArray[np.bool_], probability: F64, costs: tuple[float, float], weights: F64 | None = None
) -> float:
    """Return the threshold with the least cost on rows, the middle between two probabilities."""
    w = np.ones(len(probability)) if weights is None else weights
    order = np.argsort(probability, kind="stable")
    p, positive, w = probability[order], is_positive[order], w[order]
    misses = np.concatenate([[0.0], np.cumsum(w * positive)])  # of the rows before each cut
    alarms = np.concatenate([[0.0], np.cumsum(w * ~positive)])
    total = costs[0] * (alarms[-1] - alarms) + costs[1] * misses
    between = np.concatenate([[True], p[1:] > p[:-1], [p[-1] < 1.0]])
    cut = int(np.argmin(np.where(between, total, np.inf)))  # the lowest of equally cheap ones
    if cut in (0, len(p)):
        return 0.0 if cut == 0 else 1.0
    middle = float(0.5 * (p[cut - 1] + p[cut]))
    return middle if middle > p[cut - 1] else float(p[cut])
