"""Thresholds of the probability of the second of two classes, and the cost of the mistakes at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, is_number
from committee.data.text import shortened
from committee.report.grid import BLANK, Grid

OPTIMISTIC = "cheapest on these rows (optimistic)"


def check_threshold(model: Any, threshold: float) -> float:
    if not (is_number(threshold) and 0.0 <= threshold <= 1.0):
        raise ValueError(f"threshold is {threshold}; it must be a probability from 0 to 1.")
    if not hasattr(model, "predict_proba"):
        kind = type(model).__name__
        raise ValueError(f"threshold and costs need probabilities, which a {kind} does not predict; leave them out.")
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
    """Weight of the rows at a threshold that are `predicted` positive, and `right` in that; `cost` is the mean of a
    row.
    """

    threshold: float
    remark: str
    predicted: float
    right: float
    false_alarms: float
    misses: float
    cost: float | None


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Mistakes at several thresholds of the probability of the class `positive`."""

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
        """Count mistakes at 0.5, at `threshold`, and with `costs` at the cheapest thresholds.

        If probabilities are calibrated, the cheapest threshold is c1 / (c1 + c2), with c1 the cost of a false alarm and
        c2 that of a miss. On the given rows it may be another.
        """
        w = np.ones(len(probability)) if weights is None else weights
        wanted = {0.5: ["default"]}
        if threshold is not None:
            wanted.setdefault(threshold, []).append("given")
        if costs is not None:
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
    """Return the threshold with the least cost on rows, the middle between two probabilities.

    Of equally cheap ones it is the lowest. 0 predicts the positive class for all rows, 1 for none.
    """
    w = np.ones(len(probability)) if weights is None else weights
    order = np.argsort(probability, kind="stable")
    p, positive, w = probability[order], is_positive[order], w[order]
    misses = np.concatenate([[0.0], np.cumsum(w * positive)])  # of the rows before each cut
    alarms = np.concatenate([[0.0], np.cumsum(w * ~positive)])
    total = costs[0] * (alarms[-1] - alarms) + costs[1] * misses
    between = np.concatenate([[True], p[1:] > p[:-1], [p[-1] < 1.0]])
    cut = int(np.argmin(np.where(between, total, np.inf)))
    if cut in (0, len(p)):
        return 0.0 if cut == 0 else 1.0
    middle = float(0.5 * (p[cut - 1] + p[cut]))
    return middle if middle > p[cut - 1] else float(p[cut])
