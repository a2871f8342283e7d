"""Forests cut to a tenth of their nodes, table by table: by how much the cut errs more, and how sure that is.

``python -m benchmarks.bench_pruning_tables [--half checking] [--ensembles "RF(100)"] [--splits S] [--minutes M]``
measures; a run that was stopped goes on where it was, from ``results/pruning/tables_HALF.jsonl``.

Of each split the test rows are counted that the cut alone gets wrong, b, and those that the whole alone does, c: the
cut errs on (b - c) / n more of them. Splits of one table share its rows; the variance of a mean over S of them is
taken as (1 / S + share tested / share trained) times that of one [1]_. Beside it stands McNemar's standard error of a
single split, ``sqrt(b + c - (b - c)^2 / n) / n``.

References
----------
.. [1] C. Nadeau, Y. Bengio (2003). Inference for the generalization error. Machine Learning 52.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_pruning import FORESTS
from benchmarks.figures import QUICK_RESULTS, RESULTS, Figure, Findings, Measure, command
from benchmarks.pairing import Spread
from benchmarks.pruned_ensembles import MOST_ROWS, Trained, tables, trained
from benchmarks.pruning_ways import judged
from committee import LeafReweighter
from committee.files.journal import Cell, Journal, code_digest

SHARE = 0.1
"""Of the nodes."""
TESTED = 0.3
"""Share of the rows of a split that test."""
ALLOWED = 2.0
"""Points of test error by which a table may be worse, and its standard error on top."""
SPLITS = {"RF(500)": 5, "RF(100)": 10}
QUICK_TABLES = ("heart_statlog", "iris")


def measuring(half: str, ensembles: Sequence[str], splits: int | None, minutes: float) -> Measure:
    """The benchmark on a half of the tables, ended before all is done when the time is up."""

    def measure(findings: Findings, quick: bool) -> None:
        """Forests cut to a tenth of their nodes, table by table."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"half": half, "share of the nodes": SHARE, "share tested": TESTED, "most rows": MOST_ROWS}
        if folder is None:
            findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
            return
        path = (QUICK_RESULTS if quick else RESULTS) / "pruning" / f"tables_{half}.jsonl"
        end = time.monotonic() + 60.0 * minutes
        code = code_digest("committee.learners.reweighting.leaf_reweighter")
        wanted = {name: 2 if quick else splits or SPLITS[name] for name in ensembles}
        with Journal(path, dict(findings.settings), code=lambda cell: code) as journal:
            done = {(cell["ensemble"], cell["table"], cell["split"]) for cell in journal.cells}
            rows = [each for each in tables(Path(folder), half) if not quick or each[0] in QUICK_TABLES]
            for split in range(max(wanted.values())):
                for ensemble in (name for name, count in wanted.items() if split < count):
                    for name, X, y in rows:
                        if (ensemble, name, split) in done or time.monotonic() > end:
                            continue
                        found = _compared(trained(ensemble, X, y, split))
                        journal.append({"ensemble": ensemble, "table": name, "split": split, **found})
            cells = [cell for cell in journal.cells if cell["ensemble"] in wanted]
        for ensemble in dict.fromkeys(cell["ensemble"] for cell in cells):
            report(findings, ensemble, [cell for cell in cells if cell["ensemble"] == ensemble])

    return measure


def _compared(trained: Trained) -> Cell:
    """One cut beside the whole, on test rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        cut = LeafReweighter(trained.ensemble, max_nodes=SHARE).fit(trained.X, trained.y)
    by_cut, by_whole = (one.predict_proba(trained.X_new) for one in (cut.committee_, trained.committee))
    wrong, wrong_whole = (share.argmax(axis=1) != trained.y_new for share in (by_cut, by_whole))
    return {
        "n": len(wrong),
        "b": int((wrong & ~wrong_whole).sum()),
        "c": int((wrong_whole & ~wrong).sum()),
        "error": float(wrong_whole.mean()),
        "log_loss": [judged(share, trained)["log_loss"] for share in (by_cut, by_whole)],
        "C": cut.C_,
        "growth": cut.growth_,
    }


def of_table(cells: Sequence[Cell]) -> dict[str, Any]:
    """What is lost on a table, in points, by all of its splits."""
    n, b, c = (np.array([cell[key] for cell in cells], dtype=np.float64) for key in ("n", "b", "c"))
    lost = 100.0 * (b - c) / n
    single = 100.0 * np.sqrt(b + c - (b - c) ** 2 / n) / n
    variance = float(lost.var(ddof=1)) if len(lost) > 1 else float(single[0] ** 2)
    logs = np.array([cell["log_loss"] for cell in cells])
    return {
        "splits": len(cells),
        "rows tested": int(n[0]),
        "error of the whole": round(100.0 * float(np.mean([cell["error"] for cell in cells])), 2),
        "lost": round(float(lost.mean()), 3),
        "standard error": round(float(np.sqrt(variance * (1.0 / len(lost) + TESTED / (1.0 - TESTED)))), 3),
        "McNemar's, one split": round(float(np.sqrt((single**2).mean())), 3),
        "log loss": round(float((logs[:, 0] - logs[:, 1]).mean()), 4),
    }


def report(findings: Findings, ensemble: str, cells: Sequence[Cell]) -> None:
    """The tables, worst first, and how many are worse than is allowed."""
    names = dict.fromkeys(cell["table"] for cell in cells)
    found = {name: of_table([cell for cell in cells if cell["table"] == name]) for name in names}
    found = dict(sorted(found.items(), key=lambda item: -item[1]["lost"]))
    findings.settings[ensemble] = found
    for name, table in found.items():
        print(ensemble, name, table, flush=True)
    judging = findings.settings["half"] == "checking"
    lost = np.array([table["lost"] for table in found.values()])
    error = np.array([table["standard error"] for table in found.values()])
    worse = found and next(iter(found))
    beyond = int((lost - error > ALLOWED).sum())
    work = f"{ensemble}, LeafReweighter at 1/10 of the nodes"
    findings.add(
        Figure(
            f"{work}: tables worse than {ALLOWED:g} points beyond their standard error",
            "all trees",
            f"of {len(found)}",
            Spread(beyond, beyond, beyond, beyond, beyond, len(found)),
            0.0 if judging else None,
            at_least=False,
            remark=f"{int((lost > ALLOWED).sum())} worse than {ALLOWED:g} points; the worst, {worse}, by "
            f"{lost[0]:.2f} ± {error[0]:.2f}",
        )
    )
    off = float(lost.std(ddof=1) / len(lost) ** 0.5) if len(lost) > 1 else 0.0
    middle = float(lost.mean())
    findings.add(
        Figure(
            f"{work}: test error above theirs",
            "all trees",
            "points",
            Spread(middle, middle - off, middle + off, float(lost.min()), float(lost.max()), len(lost)),
            0.3 if judging else None,
            at_least=False,
            remark=f"mean and a standard error over {len(lost)} tables",
        )
    )
    lower = sum(table["log loss"] < 0.0 for table in found.values())
    findings.add(
        Figure(
            f"{work}: tables of a lower log loss",
            "all trees",
            f"of {len(found)}",
            Spread(lower, lower, lower, lower, lower, len(found)),
            20.0 if judging else None,
            remark=f"{np.mean([table['log loss'] for table in found.values()]):+.3f} in the mean",
        )
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--half", choices=["choosing", "checking"], default="checking")
    parser.add_argument("--ensembles", help="names, with semicolons between them")
    parser.add_argument("--splits", type=int)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options, rest = parser.parse_known_args()
    ensembles = FORESTS if options.ensembles is None else options.ensembles.split(";")
    name = "pruning_tables" if options.half == "checking" else "pruning_tables_choosing"
    command(name, measuring(options.half, ensembles, options.splits, options.minutes), arguments=rest)


if __name__ == "__main__":
    main()
