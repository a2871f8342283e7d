"""The noise test of categories: what a column of random levels costs learners on real tables; no clock.

Up to 5,000 rows of the larger tables of the folder that ``COMMITTEE_DATA`` names, by their half, get a column of text
of k random levels that knows nothing of the classes. Reported is by how much accuracy falls, and log loss rises, on a
third of the rows, of the library's learners and of LightGBM's and scikit-learn's boosting of histograms, each told that
the column is one of categories.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import committee
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread

MOST_ROWS, LEAST_ROWS, MOST_COLUMNS = 5000, 1500, 200
LEVELS = (10, 50, 250, 1000, 4000)
FLOOR = 1e-3  # probabilities of 0 are not forgiven by the log loss
MAIN = ("GradientBoosting", "RandomForest", "AdaBoost", "SBPMT")
"""Learners that are measured where none are named."""

Cells = dict[tuple[str, int], tuple[float, float]]
"""Accuracy and log loss by learner and number of levels; 0 levels is the table without the column."""


def learners(names: Sequence[str]) -> dict[str, Any]:
    """Classifiers of the library by the beginnings of their names, at their defaults, and the peers."""
    found: dict[str, Any] = {}
    for name in names:
        model = getattr(committee, f"{name}Classifier")()
        free = {each: 1 for each in ("n_jobs",) if each in model.get_params()}
        free |= {each: 0 for each in ("random_state",) if each in model.get_params()}
        found[name] = model.set_params(**free)
    found["scikit-learn"] = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    found["LightGBM"] = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    return found


def tables(folder: Path, half: str, only: Sequence[str] | None = None) -> dict[str, tuple[pd.DataFrame, NDArray[Any]]]:
    """Tables of one half with at least `LEAST_ROWS` rows, at most `MOST_ROWS` of which are drawn."""
    halves = json.loads((folder / "halves.json").read_text())
    found = {}
    for entry in json.loads((folder / "catalogue.json").read_text()):
        width = len(entry["numeric"]) + len(entry["categorical"])
        if halves.get(entry["name"]) != half or entry["rows"] < LEAST_ROWS or width > MOST_COLUMNS:
            continue
        if only is not None and entry["name"] not in only:
            continue
        frame = pd.read_csv(folder / entry["file"], dtype={"target": str, **dict.fromkeys(entry["categorical"], str)})
        frame = frame.astype(dict.fromkeys(entry["categorical"], "category"))
        frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0).reset_index(drop=True)
        y = np.unique(frame.pop("target"), return_inverse=True)[1]
        frame.columns = [f"x{j}" for j in range(frame.shape[1])]  # LightGBM takes no punctuation in names
        found[entry["name"]] = (frame, y)
    return found


def judged(model: Any, X: pd.DataFrame, y: NDArray[Any], split: int) -> tuple[float, float]:
    """Accuracy and log loss on a third of the rows."""
    train, test = train_test_split(np.arange(len(y)), test_size=1 / 3, random_state=split, stratify=y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(X.iloc[train], y[train])
        shares = np.maximum(fitted.predict_proba(X.iloc[test]), FLOOR)
    right = float(np.mean(fitted.classes_[shares.argmax(axis=1)] == y[test]))
    return right, float(log_loss(y[test], shares / shares.sum(axis=1, keepdims=True), labels=fitted.classes_))


def with_noise(X: pd.DataFrame, k: int, split: int) -> pd.DataFrame:
    """The table with a last column of k random levels."""
    if not k:
        return X
    level = np.random.default_rng([split, k]).integers(k, size=len(X))
    noise = pd.Series(pd.Categorical([f"level {each}" for each in level]), name="noise")
    return pd.concat([X, noise], axis=1)


def of_table(models: dict[str, Any], X: pd.DataFrame, y: NDArray[Any], levels: Sequence[int], split: int) -> Cells:
    """Every learner on one split of a table, without the column and with it; refusals are left out."""
    cells: Cells = {}
    for k in (0, *levels):
        noisy = with_noise(X, k, split)
        for name, model in models.items():
            try:
                cells[name, k] = judged(model, noisy, y, split)
            except ValueError as error:
                print(f"{name} refuses {k} levels: {str(error)[:80]}", file=sys.stderr)
    return cells


def measure_of(names: Sequence[str], halves: Sequence[str], only: Sequence[str] | None) -> Callable[..., None]:
    """Make the measurement of some learners on some tables."""

    def measure(findings: Findings, quick: bool) -> None:
        """Falls of accuracy and rises of log loss by k random levels, two splits of every table."""
        folder, splits, levels = os.environ.get("COMMITTEE_DATA"), 2, LEVELS
        if quick:
            splits, levels = 1, (50,)
        models = learners(names)
        findings.settings = {"splits": splits, "levels": list(levels)}
        if folder is None:
            findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
            return
        for half in halves:
            found = tables(Path(folder), half, only)
            cells = {
                (table, split): of_table(models, X, y, levels, split)
                for table, (X, y) in found.items()
                for split in range(splits)
            }
            for name in models:
                for k in levels:
                    _report(findings, half, name, k, [c for c in cells.values() if (name, k) in c])

    return measure


def _report(findings: Findings, half: str, name: str, k: int, cells: list[Cells]) -> None:
    """How a learner fares with k levels, over tables and splits."""
    if not cells:
        return
    gained = np.array([np.subtract(c[name, k], c[name, 0]) for c in cells])
    error = gained.std(axis=0, ddof=1) / np.sqrt(len(gained)) if len(gained) > 1 else np.zeros(2)
    means = gained.mean(axis=0)
    for place, what in enumerate(("accuracy", "log loss")):
        remark = f"mean {means[place]:+.4f} ± {error[place]:.4f}"
        work = f"{half} tables: {what} of {name} with {k:,} random levels, less without"
        findings.add(Figure(work, "", "", Spread.of(gained[:, place]), at_least=place == 0, remark=remark))


def main() -> None:
    """Read the options of this benchmark; the others are those of all."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--learners", nargs="+", default=MAIN, help="such as RandomForest")
    parser.add_argument("--halves", nargs="+", default=("choosing", "checking"))
    parser.add_argument("--tables", nargs="+", default=None)
    given, rest = parser.parse_known_args()
    command("noise_categories", measure_of(given.learners, given.halves, given.tables), arguments=rest)


if __name__ == "__main__":
    main()
