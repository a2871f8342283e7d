"""Rare classes of the shared tables: class weights and thresholds, by what is found and by what it costs; no clock.

Of each table that ``COMMITTEE_DATA`` has, the rarest class of at least 30 rows against the rest, thinned to 6 % of the
rows; tables with fewer than 24 such rows, or of more than 6,000, are left out. Thresholds are scikit-learn's
``TunedThresholdClassifierCV``, by balanced accuracy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, balanced_accuracy_score, log_loss
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from benchmarks.bench_forest_tables import MOST_ROWS, matrix
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier

Table = tuple[NDArray[np.float64], NDArray[np.int64]]
SHARE = 0.06
"""Share of the rows that are of the rare class."""
FLOOR = 1e-3  # forests name probabilities of 0, which the log loss does not forgive
MEASURES = ("balanced accuracy", "average precision", "log loss")


def tables(folder: Path, half: str) -> dict[str, Table]:
    """Tables of one half, each with one rare class."""
    halves = json.loads((folder / "halves.json").read_text())
    found = {}
    for entry in json.loads((folder / "catalogue.json").read_text()):
        if halves.get(entry["name"]) != half or not 300 <= entry["rows"] <= MOST_ROWS:
            continue
        X, labels, _ = matrix(folder, entry)
        names, counts = np.unique(labels, return_counts=True)
        if X.shape[1] > 120 or counts.max() < 30:
            continue
        y = (labels == names[np.argmin(np.where(counts >= 30, counts, len(labels)))]).astype(np.int64)
        rare, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
        kept = min(len(rare), int(SHARE / (1.0 - SHARE) * len(others)))
        if kept >= 24:
            rows = np.sort(np.append(others, np.random.RandomState(0).choice(rare, kept, replace=False)))
            found[entry["name"]] = X[rows], y[rows]
    return found


def judged(model: Any, table: Table, split: int) -> tuple[float, float, float]:
    """Balanced accuracy, average precision of the rare class and log loss on a third of the rows."""
    X, X_test, y, y_test = train_test_split(*table, test_size=1 / 3, random_state=split, stratify=table[1])
    model.fit(X, y)
    p = model.predict_proba(X_test)[:, 1]
    return (
        float(balanced_accuracy_score(y_test, model.predict(X_test))),
        float(average_precision_score(y_test, p)),
        float(log_loss(y_test, np.clip(p, FLOOR, 1.0 - FLOOR))),
    )


def learners(n: int) -> dict[str, Callable[..., Any]]:
    """Learners of n voters, with probabilities as their votes have them."""
    plain: dict[str, Any] = {"calibrate": None, "random_state": 0}
    return {
        "gradient boosting": lambda **own: GradientBoostingClassifier(n_estimators=n, random_state=0, **own),
        "AdaBoost, confidence": lambda **own: AdaBoostClassifier(n, vote="confidence", **plain, **own),
        "forest": lambda **own: RandomForestClassifier(n, **plain, **own),
        "forest, min_weight_leaf=0.02": lambda **own: RandomForestClassifier(n, min_weight_leaf=0.02, **plain, **own),
    }


def measure(findings: Findings, quick: bool) -> None:
    """Each learner as it is, with balanced classes, and with a threshold: three splits of every table."""
    folder, n, splits = os.environ.get("COMMITTEE_DATA"), 100, 3
    if quick:
        n, splits = 5, 1
    findings.settings = {"voters": n, "splits": splits, "share of the rare class": SHARE}
    if folder is None:
        findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
        return
    for half in ("choosing", "checking"):
        found = tables(Path(folder), half)
        for name, learner in learners(n).items():
            ways = {
                "as it is": learner(),
                'class_weight="balanced"': learner(class_weight="balanced"),
                "a threshold": TunedThresholdClassifierCV(learner(), cv=5),
            }
            values = {
                way: np.array([[judged(model, table, s) for s in range(splits)] for table in found.values()])
                for way, model in ways.items()
            }
            for place, what in enumerate(MEASURES):
                _report(findings, f"{half} tables, {name}: {what}", {w: v[..., place] for w, v in values.items()})


def _report(findings: Findings, what: str, found: dict[str, NDArray[np.float64]]) -> None:
    """Means over the tables of each way, and the differences that balanced classes make."""
    plain, balanced, _ = found.values()
    differences = (balanced - plain).mean(axis=1)
    means = ", ".join(f"{way} {values.mean():.3f}" for way, values in found.items())
    findings.add(
        Figure(
            f"{what}, balanced less plain",
            "",
            "",
            Spread.of(differences),
            at_least=not what.endswith("log loss"),
            remark=f"{means}; {len(differences)} tables",
        )
    )


if __name__ == "__main__":
    command("rare_classes", measure)
