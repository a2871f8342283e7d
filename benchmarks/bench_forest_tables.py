"""Random forests beside scikit-learn's on the shared tables: error, log loss and R2, no clock.

Tables of classes are those of the folder that ``COMMITTEE_DATA`` names, by their half; as numbers to predict serve the
first column of each that has more than 40 values and no gaps, and four tables that scikit-learn makes or has. Both
libraries get the same matrix, categories as codes, so that nothing but the forests differs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import RandomForestClassifier as PeerClassifier
from sklearn.ensemble import RandomForestRegressor as PeerRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import RandomForestClassifier, RandomForestRegressor

Table = tuple[NDArray[np.float64], NDArray[Any]]
TOO_LARGE = ("letter", "madelon", "musk2")
MOST_ROWS = 6000
FLOOR = 1e-3  # forests name probabilities of 0, which the log loss does not forgive


def matrix(folder: Path, entry: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[Any], list[bool]]:
    """Columns as numbers, text as codes; the labels; and which columns are numbers of more than 40 values."""
    frame = pl.read_csv(folder / entry["file"], infer_schema_length=None, schema_overrides={"target": pl.String})
    frame, y = frame.head(MOST_ROWS), frame["target"].head(MOST_ROWS).to_numpy()
    columns = [c.cast(pl.Categorical).to_physical() if c.dtype == pl.String else c for c in frame.drop("target")]
    X = np.column_stack([c.cast(pl.Float64).to_numpy() for c in columns])
    worth = [c.dtype != pl.String and c.n_unique() > 40 and not c.null_count() for c in frame.drop("target")]
    return X, y, worth


def tables(folder: Path, half: str) -> tuple[dict[str, Table], dict[str, Table]]:
    """Tables of classes and of numbers of one half."""
    halves = json.loads((folder / "halves.json").read_text())
    classes, numbers = {}, dict(made())
    for entry in json.loads((folder / "catalogue.json").read_text()):
        name = entry["name"]
        if halves.get(name) != half or name in TOO_LARGE:
            continue
        X, y, worth = matrix(folder, entry)
        classes[name] = (X, y)
        if any(worth) and len(X) > 300 and X.shape[1] < 70:
            j = worth.index(True)
            numbers[f"{name}: column {j}"] = (np.delete(X, j, axis=1)[:3000], X[:3000, j])
    return classes, numbers


def made() -> Iterator[tuple[str, Table]]:
    """Tables of numbers that scikit-learn makes or has."""
    yield "friedman1", make_friedman1(600, noise=1.0, random_state=0)
    yield "friedman2", make_friedman2(600, noise=100.0, random_state=0)
    yield "friedman3", make_friedman3(600, noise=0.1, random_state=0)
    yield "diabetes", load_diabetes(return_X_y=True)


def of_classes(kind: Any, table: Table, split: int, n_trees: int) -> tuple[float, float]:
    """Error and log loss on a third of the rows."""
    X, y = table
    common = np.unique(y, return_counts=True)[1].min() > 2
    train, test = train_test_split(
        np.arange(len(y)), test_size=1 / 3, random_state=split, stratify=y if common else None
    )
    model = kind(n_trees, random_state=split).fit(X[train], y[train])
    known = test[np.isin(y[test], model.classes_)]
    shares = np.maximum(model.predict_proba(X[known]), FLOOR)
    loss = log_loss(y[known], shares / shares.sum(axis=1, keepdims=True), labels=model.classes_)
    return float(np.mean(model.predict(X[test]) != y[test])), float(loss)


def of_numbers(kind: Any, table: Table, split: int, n_trees: int) -> float:
    """R2 on a third of the rows."""
    X, X_test, y, y_test = train_test_split(*table, test_size=1 / 3, random_state=split)
    return float(kind(n_trees, random_state=split).fit(X, y).score(X_test, y_test))


def measure(findings: Findings, quick: bool) -> None:
    """Forests of 100 trees, five splits of every table."""
    folder, n_trees, splits = os.environ.get("COMMITTEE_DATA"), 100, 5
    if quick:
        n_trees, splits = 5, 1
    findings.settings = {"trees": n_trees, "splits": splits}
    if folder is None:
        findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
        return
    for half in ("choosing", "checking"):
        classes, numbers = tables(Path(folder), half)
        both = {
            name: np.array(
                [
                    [of_classes(k, t, s, n_trees) for s in range(splits)]
                    for k in (RandomForestClassifier, PeerClassifier)
                ]
            )
            for name, t in classes.items()
        }
        for place, what in enumerate(("error", "log loss")):
            _report(findings, f"{half} tables: {what}", {n: v[..., place] for n, v in both.items()}, at_least=False)
        r2 = {
            name: np.array(
                [[of_numbers(k, t, s, n_trees) for s in range(splits)] for k in (RandomForestRegressor, PeerRegressor)]
            )
            for name, t in numbers.items()
        }
        _report(findings, f"{half} tables: R2", r2, at_least=True)


def _report(findings: Findings, what: str, found: dict[str, NDArray[np.float64]], *, at_least: bool) -> None:
    """Ours less theirs over the tables, beside each table's means."""
    differences = np.array([(ours - theirs).mean() for ours, theirs in found.values()])
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    better = int(((differences > 0.0) == at_least)[differences != 0.0].sum())
    findings.settings[what] = {name: np.round(each.mean(axis=1), 4).tolist() for name, each in found.items()}
    findings.add(
        Figure(
            f"{what}, ours less theirs",
            "scikit-learn",
            "",
            Spread.of(differences),
            target=None,
            at_least=at_least,
            remark=f"mean {differences.mean():+.4f} ± {error:.4f}, better on {better} of {len(found)} tables",
        )
    )


if __name__ == "__main__":
    command("forest_tables", measure)
