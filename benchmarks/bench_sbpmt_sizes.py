"""SBPMT beside a forest of 500 trees on tables of all sizes, and how its fit time grows with the rows.

Tables are those of the folder that ``COMMITTEE_DATA`` names, by their half (``halves.json``); both learners get the
same encoded columns and know which are categories. ``--tables NAME ...`` measures some of them alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import RandomForestClassifier, SBPMTClassifier
from committee.data.frames import TableSchema

LARGE = 3_000
"""Rows beyond which SBPMT must be within half a point of the forest."""
LEFT_OUT = ("colon", "madelon", "letter")
"""Two of very many columns, and one of 20,000 rows and 26 classes, which would take as long as all the others."""
SIZES = (5_000, 10_000, 20_000, 40_000)
BEFORE: dict[str, Any] = {"max_depth": 6, "min_impurity_decrease": 0.005}
"""Defaults that did not follow the rows."""

Table = tuple[NDArray[np.float64], NDArray[Any], NDArray[np.bool_]]


def read(folder: Path, entry: dict[str, Any]) -> Table:
    """Columns as committee encodes them, labels, and which columns are categories."""
    text = dict.fromkeys([*entry["categorical"], "target"], str)
    frame = pd.read_csv(folder / entry["file"], dtype=text, keep_default_na=False, na_values=[""])
    rows = frame.drop(columns="target")
    schema = TableSchema.learn(rows)
    return schema.encode(rows), frame["target"].to_numpy(), np.asarray(schema.categorical)


def made(n_rows: int) -> Table:
    """Two classes in eight clusters each."""
    X, y = make_classification(
        n_rows, 20, n_informative=10, n_redundant=5, n_clusters_per_class=8, flip_y=0.02, random_state=0
    )
    return X, y, np.zeros(20, dtype=bool)


def accuracies(table: Table, models: dict[str, Any], n_splits: int) -> NDArray[np.float64]:
    """Accuracy in percent on a third of the rows, splits x models."""
    X, y, categorical = table
    common = np.unique(y, return_counts=True)[1].min() > 2
    found = np.empty((n_splits, len(models)))
    for split in range(n_splits):
        train, test = train_test_split(
            np.arange(len(y)), test_size=1 / 3, random_state=split, stratify=y if common else None
        )
        for m, make in enumerate(models.values()):
            model = make(random_state=split, categorical_features=categorical, n_jobs=1).fit(X[train], y[train])
            found[split, m] = 100.0 * np.mean(model.predict(X[test]) == y[test])
    return found


def measure(findings: Findings, quick: bool, names: list[str] | None = None) -> None:
    """Accuracy on the tables, two splits of each, and seconds of fits on made tables of 5,000 to 40,000 rows."""
    n_trees, n_splits, sizes = (500, 2, SIZES) if not quick else (20, 1, (300, 600))
    findings.settings = {"trees of the forest": n_trees, "splits": n_splits, "before": BEFORE}
    if folder := os.environ.get("COMMITTEE_DATA"):
        models = {
            "forest": partial(RandomForestClassifier, n_trees),
            "SBPMT": SBPMTClassifier,
            "SBPMT before": partial(SBPMTClassifier, **BEFORE),
        }
        for half in ("checking", "choosing"):
            _accuracy(findings, half, _tables(Path(folder), half, names), models, n_splits)
    else:
        findings.settings["left out"] = "tables: COMMITTEE_DATA names no folder"
    _seconds(findings, sizes)


def _tables(folder: Path, half: str, names: list[str] | None) -> dict[str, Table]:
    """The tables of a half, smallest first."""
    halves = json.loads((folder / "halves.json").read_text(encoding="utf-8"))
    entries = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    chosen = [
        e
        for e in entries
        if halves.get(e["name"]) == half and (e["name"] not in LEFT_OUT or e["name"] in (names or ()))
    ]
    return {
        e["name"]: read(folder, e)
        for e in sorted(chosen, key=lambda e: int(e["rows"]))
        if names is None or e["name"] in names
    }


def _accuracy(findings: Findings, half: str, tables: dict[str, Table], models: dict[str, Any], n_splits: int) -> None:
    """Accuracy of SBPMT less that of the forest, small and large tables apart."""
    found: dict[str, NDArray[np.float64]] = {}
    for name, table in tables.items():
        found[name] = accuracies(table, models, n_splits).mean(axis=0)
        print(f"{half} {name:16} {len(table[1]):6}", " ".join(f"{a:6.2f}" for a in found[name]), flush=True)
    findings.settings[f"{half}: accuracy of {', '.join(models)}"] = {n: a.round(2).tolist() for n, a in found.items()}
    for large in (True, False):
        some = np.array([found[name] for name, table in tables.items() if (len(table[1]) > LARGE) == large])
        if not len(some):
            continue
        ahead = some[:, 1] - some[:, 0]
        findings.add(
            Figure(
                f"{half} tables of {'more' if large else 'no more'} than {LARGE:,} rows: accuracy less the forest's",
                "forest of 500",
                "points",
                Spread.of(ahead),
                remark=f"mean {ahead.mean():+.2f}, worst {ahead.min():+.2f}, ahead on {(ahead > 0).sum()} of "
                f"{len(ahead)}; before: mean {(some[:, 2] - some[:, 0]).mean():+.2f}, worst "
                f"{(some[:, 2] - some[:, 0]).min():+.2f}",
            )
        )


def _seconds(findings: Findings, sizes: tuple[int, ...]) -> None:
    """Processor time of fits by rows, and its growth: 1 is linear."""
    seconds: dict[str, list[float]] = {"SBPMT": [], "forest of 500": []}
    for n_rows in sizes:
        X, y, _ = made(n_rows)
        for name, model in (("SBPMT", SBPMTClassifier), ("forest of 500", partial(RandomForestClassifier, 500))):
            begin = time.process_time()
            model(random_state=0, n_jobs=1).fit(X, y)
            seconds[name].append(time.process_time() - begin)
        print(f"{n_rows:6} rows:", " ".join(f"{name} {each[-1]:.2f} s" for name, each in seconds.items()), flush=True)
    findings.settings["seconds of fits by rows"] = {"rows": list(sizes), **seconds}
    for name, each in seconds.items():
        growth = np.log(each[-1] / each[0]) / np.log(sizes[-1] / sizes[0])
        findings.add(
            Figure(
                f"{name}, {sizes[0]:,} to {sizes[-1]:,} rows: exponent of the fit time",
                "",
                "",
                Spread.of([growth]),
                target=1.0 if name == "SBPMT" else None,
                at_least=False,
            )
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--tables", nargs="*")
    options, rest = parser.parse_known_args(sys.argv[1:])
    chosen = partial(measure, names=options.tables)
    chosen.__doc__ = measure.__doc__
    command("sbpmt_sizes", chosen, arguments=rest)
