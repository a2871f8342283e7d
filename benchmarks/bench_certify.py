"""Certificates of forests on 25 tables: how far they are above the test error, and what a reserve costs in it.

``python -m benchmarks.bench_certify [--splits 5] [--large-splits 3] [--minutes M]`` measures; a run that was stopped
goes on where it was, from ``results/certify/cells.jsonl``, which is to be deleted when a program has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.code import kept_cells
from benchmarks.figures import QUICK_RESULTS, RESULTS, Figure, Findings, Measure, command
from benchmarks.pairing import Spread
from committee import CommitteeClassifier, RandomForestClassifier
from committee.bounds import VoterLosses, held_out_errors
from committee.data.readers.table_reader import read_table
from committee.data.readers.tables import split_target
from committee.learners.bagging.forest_trees import draw_reserve
from committee.learners.trained_ensembles import certify

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
SEVERAL = [
    "bhp",
    "car",
    "cmc",
    "letter",
    "obesity",
    "optdigits",
    "pendigits",
    "segment",
    "waveform_noise",
    "yeast",
]
"""All tables of three classes or more and 1,000 rows or more; splice, of three, is one of two above."""
RESERVES = (0, 0.1, 0.2)
LARGE = 2_000
"""Rows from which on a table has fewer splits."""
ONE, TOGETHER, UNLABELLED = "one number", "least of all bounds", "unlabelled test rows"
FIRST = "first order alone"
COMMITTEE = "committee"
"""In place of a reserve: a committee of ensembles, a tenth of whose rows are held out."""
COMMITTEE_SPLITS = 3
"""Splits of small tables on which it is trained; of large ones there is one."""
AS_IF = "rows out of fold, as if they were held out"
USEFUL = 22
"""Tables of 25 on which the one number with a reserve is asked to be below 1/2."""
ASKED = 0.05
"""How far above the test error it may be, in the median over tables."""
CELLS = Path("certify") / "cells.jsonl"


def table(folder: Path, name: str) -> tuple[Any, NDArray[Any]]:
    """A table by its catalogue entry; splice as neither kind of junction against both."""
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
    certificate = certify(forest, rows, y[train], on="oob")
    found |= {ONE: certificate.headline.value, TOGETHER: certificate.best.value, "judged by": certificate.n_untouched}
    if reserve == 0.0:
        names = ("first_order", "unlabelled_margins")
        found[FIRST] = certify(forest, rows, y[train], on="oob", bounds=names[:1]).best.value
        found[UNLABELLED] = certify(forest, rows, y[train], on="oob", bounds=names[1:], X_unlabelled=new).best.value
    return found


def of_committee(X: Any, y: NDArray[Any], split: int, effort: str = "fast") -> dict[str, float]:
    """Test error of a committee of ensembles, what a tenth of its rows proves of it, and what those out of fold say."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=split, stratify=y)
    held = draw_reserve(len(train), 0.1, np.random.RandomState(split))
    fit, new = train[~held], train[held]
    model = CommitteeClassifier(effort, keep_oof=True, random_state=split, n_jobs=1).fit(X[fit.tolist()], y[fit])
    found = {"test error": 1.0 - model.score(X[test.tolist()], y[test])}
    found[ONE] = certify(model, X[new.tolist()], y[new], bounds=("test_set",)).headline.value
    answers = model.oof_decision_function_
    known = np.isfinite(answers).all(axis=1)
    wrong = model.classes_[answers[known].argmax(axis=1)] != y[fit][known]
    found[AS_IF] = held_out_errors(VoterLosses(np.where(wrong[:, None], -1, 1), None, np.ones(1))).value
    return found | {"out of fold": float(wrong.mean()), "judged by": int(held.sum())}


def measuring(splits: int, large_splits: int, minutes: float) -> Measure:
    """The benchmark with so many splits, ended before all are done when the time is up."""

    def measure(findings: Findings, quick: bool) -> None:
        """Forests of 200 trees on 25 tables of two and of several classes, with reserves of 0, 10 and 20%."""
        folder, names, n_trees, most = os.environ.get("COMMITTEE_DATA"), [*TABLES, *SEVERAL], 200, splits
        if quick:
            names, n_trees, most = ["colon", "parkinsons"], 20, 2
        findings.settings = {"trees": n_trees, "share trained on": 0.7, "delta": 0.05}
        if folder is None:
            findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
            return
        end = time.monotonic() + 60.0 * minutes
        with kept_cells((QUICK_RESULTS if quick else RESULTS) / CELLS, dict(findings.settings), __name__) as journal:
            done = {(cell["table"], cell["reserve"], cell["split"]) for cell in journal.cells}
            for name in names:
                X, y = table(Path(folder), name)
                for split in range(most if len(y) < LARGE else min(most, large_splits)):
                    for reserve in (*RESERVES, COMMITTEE):
                        if reserve == COMMITTEE and split >= (1 if len(y) >= LARGE else COMMITTEE_SPLITS):
                            continue
                        if (name, reserve, split) not in done and time.monotonic() < end:
                            if reserve == COMMITTEE:
                                found = of_committee(X, y, split)
                            else:
                                found = certificates(X, y, float(reserve), n_trees, split)
                            journal.append({"table": name, "reserve": reserve, "split": split, "found": found})
            report(findings, journal.cells, names)

    return measure


def report(findings: Findings, cells: list[dict[str, Any]], names: list[str]) -> None:
    """How many tables a certificate says something of, how far it is above the test error, and what a reserve costs."""
    found: dict[float | str, dict[str, list[dict[str, float]]]] = {
        reserve: {
            name: [cell["found"] for cell in cells if (cell["table"], cell["reserve"]) == (name, reserve)]
            for name in names
        }
        for reserve in (*RESERVES, COMMITTEE)
    }
    found = {reserve: {name: each for name, each in of.items() if each} for reserve, of in found.items()}
    findings.settings["splits"] = {name: len(each) for name, each in found[0].items()}
    findings.settings["mean over splits"] = {
        str(reserve): {
            name: {key: round(mean(each[key] for each in cells), 4) for key in cells[0]} for name, cells in of.items()
        }
        for reserve, of in found.items()
    }
    for reserve, of in found.items():
        for kind in next(iter(of.values()))[0]:
            if kind in ("test error", "judged by", "out of fold") or (kind == TOGETHER and reserve == 0):
                continue
            forest = f"forest of {findings.settings['trees']}, reserve {reserve}"
            work = f"{'fast committee, a tenth held out' if reserve == COMMITTEE else forest}, {kind}"
            asked = reserve != 0 and kind == ONE
            _report(findings, work, of, kind, asked and len(of) == len(TABLES) + len(SEVERAL))
            if asked:
                for what, part in (("two", TABLES), ("several", SEVERAL)):
                    some = {name: of[name] for name in part if name in of}
                    if some:
                        _report(findings, f"{work}, tables of {what} classes", some, kind, False)
    for reserve in RESERVES[1:]:
        _cost(findings, reserve, found[0], found[reserve])


def _report(findings: Findings, work: str, of: dict[str, list[dict[str, float]]], kind: str, asked: bool) -> None:
    """On how many tables its median over splits is below 1/2, and how far above the test error it is."""
    useful = sum(median(cell[kind] for cell in cells) < 0.5 for cells in of.values())
    gaps = [median(cell[kind] - cell["test error"] for cell in cells) for cells in of.values()]
    findings.add(
        Figure(
            f"{work}: tables below 1/2",
            "",
            f"of {len(of)}",
            Spread.of([useful]),
            target=USEFUL if asked else None,
            remark="median of splits",
        )
    )
    findings.add(
        Figure(
            f"{work}: certificate less test error",
            "",
            "",
            Spread.of(gaps),
            target=ASKED if asked else None,
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


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--large-splits", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options, rest = parser.parse_known_args()
    command("certify", measuring(options.splits, options.large_splits, options.minutes), arguments=rest)


if __name__ == "__main__":
    main()
