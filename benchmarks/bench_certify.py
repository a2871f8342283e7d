"""Certificates of forests on 15 tables: how far they are above the test error, and what a reserve costs in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import RandomForestClassifier
from committee.data.read import read_table, split_target
from committee.learners.trained import certify

TABLES = [
    "australian",
    "breast_w",
    "colon",
    "fourclass",
    "ionosphere",
    "madelon",
    "mushroom",
    "musk2",
    "parkinsons",
    "pima",
    "sonar",
    "spambase",
    "splice",
    "transfusion",
    "wdbc",
]
RESERVES = (0.0, 0.1, 0.2, 0.3)
ALONE, TOGETHER, UNLABELLED = "test set alone", "all bounds together", "unlabelled test rows"


def table(folder: Path, name: str) -> tuple[Any, NDArray[Any]]:
    """A table of two classes by its catalogue entry; splice as neither kind of junction against both."""
    entry = next(e for e in json.loads((folder / "catalogue.json").read_text()) if e["name"] == name)
    frame = read_table(folder / entry["file"], categorical=[*entry["categorical"], "target"])
    X, y = split_target(frame, "target")
    labels = np.asarray(y)
    return X, np.where(labels == "N", "N", "E") if name == "splice" else labels


def certificates(X: Any, y: NDArray[Any], reserve: float, n_trees: int, split: int) -> dict[str, float]:
    """Test error of a forest on 70% of the rows, and what bounds it."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=split, stratify=y)
    rows, new = X[train.tolist()], X[test.tolist()]
    forest = RandomForestClassifier(n_trees, oob_score=True, reserve=reserve, random_state=split)
    forest.fit(rows, y[train])
    found = {"test error": 1.0 - forest.score(new, y[test])}
    found[TOGETHER] = certify(forest, rows, y[train], on="oob").best.value
    if reserve > 0.0:
        found[ALONE] = certify(forest, rows, y[train], on="oob", bounds=("test_set",)).best.value
    else:
        names = ("first_order", "unlabelled_margins")
        found["first order alone"] = certify(forest, rows, y[train], on="oob", bounds=names[:1]).best.value
        found[UNLABELLED] = certify(forest, rows, y[train], on="oob", bounds=names[1:], X_unlabelled=new).best.value
    return found


def measure(findings: Findings, quick: bool) -> None:
    """Forests of 200 trees on 15 tables, five splits each, with reserves of 0, 10, 20 and 30%."""
    folder, names, n_trees, splits = os.environ.get("COMMITTEE_DATA"), TABLES, 200, 5
    if quick:
        names, n_trees, splits = ["colon", "parkinsons"], 20, 2
    findings.settings = {"trees": n_trees, "splits": splits, "share trained on": 0.7, "delta": 0.05}
    if folder is None:
        findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
        return
    found: dict[float, dict[str, list[dict[str, float]]]] = {reserve: {} for reserve in RESERVES}
    for name in names:
        X, y = table(Path(folder), name)
        for reserve in RESERVES:
            found[reserve][name] = [certificates(X, y, reserve, n_trees, split) for split in range(splits)]
    findings.settings["mean over splits"] = {
        str(reserve): {
            name: {key: round(mean(each[key] for each in cells), 4) for key in cells[0]} for name, cells in of.items()
        }
        for reserve, of in found.items()
    }
    for reserve, of in found.items():
        for kind in next(iter(of.values()))[0]:
            if kind != "test error":
                _report(findings, f"forest of {n_trees}, reserve {reserve:g}, {kind}", of, kind, reserve > 0.0)
    for reserve in RESERVES[1:]:
        _cost(findings, reserve, found[0.0], found[reserve])


def _report(findings: Findings, work: str, of: dict[str, list[dict[str, float]]], kind: str, held: bool) -> None:
    """How many tables it says something of, and how far above the test error it is."""
    by_split = zip(*of.values(), strict=True)
    useful = [sum(cell[kind] < 0.5 for cell in cells) for cells in by_split]
    gaps = [median(cell[kind] - cell["test error"] for cell in cells) for cells in of.values()]
    findings.add(
        Figure(
            f"{work}: tables below 1/2",
            "",
            f"of {len(of)}",
            Spread.of(useful),
            target=12 if held and len(of) == len(TABLES) else None,
            remark="spread over splits",
        )
    )
    findings.add(
        Figure(
            f"{work}: certificate less test error",
            "",
            "",
            Spread.of(gaps),
            target=0.2 if held else None,
            at_least=False,
            remark="median of splits, spread over tables",
        )
    )


def _cost(
    findings: Findings,
    reserve: float,
    whole: dict[str, list[dict[str, float]]],
    held: dict[str, list[dict[str, float]]],
) -> None:
    """What the forest loses by the rows that it does not learn from, in points of test error."""
    lost = [
        100.0 * mean(b["test error"] - a["test error"] for a, b in zip(whole[name], cells, strict=True))
        for name, cells in held.items()
    ]
    findings.add(
        Figure(
            f"test error with a reserve of {reserve:g} less that without",
            "forest of all rows",
            "points",
            Spread.of(lost),
            at_least=False,
            remark=f"mean of splits, spread over tables; mean {mean(lost):.2f}",
        )
    )


if __name__ == "__main__":
    command("certify", measure)
