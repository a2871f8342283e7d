"""What `lossless` leaves of small forests and boosters, in what time, and how near to proved.

``python -m benchmarks.bench_lossless`` fits forests of 10 to 50 trees of depth 2 to 6, and boosters of 50 stumps, on
half of the rows of some tables in the folder that ``COMMITTEE_DATA`` names, and gives each search `SECONDS`. On 100,000
random rows of each ensemble's cells the classes are compared, too.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier

from benchmarks.default_tables import Problem, problems
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import Committee, GradientBoostingClassifier, lossless
from committee.learners.pruning.vote_cells import VoteCells, elected_classes
from committee.voters.rounds import Rounds

SECONDS = 15.0
TABLES = ("tic_tac_toe", "vote", "monks1", "banknote", "wine", "transfusion", "iris", "balance_scale")
ENSEMBLES: dict[str, Any] = {
    "forest of 10, depth 2": RandomForestClassifier(10, max_depth=2, random_state=0),
    "forest of 20, depth 3": RandomForestClassifier(20, max_depth=3, random_state=0),
    "forest of 50, depth 4": RandomForestClassifier(50, max_depth=4, random_state=0),
    "forest of 50, depth 6": RandomForestClassifier(50, max_depth=6, random_state=0),
    "AdaBoost, 50 stumps": AdaBoostClassifier(n_estimators=50, random_state=0),
    "gradient boosting, 50 rounds of stumps": GradientBoostingClassifier(
        n_estimators=50, max_leaf_nodes=2, extra_trees=False, random_state=0
    ),
}


def cell(problem: Problem, ensemble: Any) -> dict[str, Any]:
    """One ensemble made smaller, its classes compared on random rows."""
    X = np.nan_to_num(problem.X, nan=-1.0)[::2]
    whole = Committee.from_estimator(ensemble.fit(X, problem.y[::2]))
    start = time.perf_counter()
    found = lossless(whole, time_limit=SECONDS, random_state=0)
    seconds = time.perf_counter() - start
    trees = whole.voters.forest if isinstance(whole.voters, Rounds) else whole.voters
    drawn = VoteCells.of(trees).random_rows(100_000, np.random.default_rng(1))
    assert isinstance(found.committee, Committee)
    assert (elected_classes(found.committee, drawn) == elected_classes(whole, drawn)).all()
    return {
        "parts": [found.before, found.after, found.bound],
        "nodes": [found.nodes_before, found.nodes_after],
        "bytes": [found.bytes_before, found.bytes_after],
        "seconds": round(seconds, 2),
        "note": found.note,
    }


def report(findings: Findings, name: str, found: dict[str, dict[str, Any]]) -> None:
    """Trees that are left of an ensemble, over tables."""
    parts = np.array([one["parts"] for one in found.values()])
    stored = np.array([one["bytes"] for one in found.values()], dtype=np.float64)
    seconds = np.median([one["seconds"] for one in found.values()])
    proved = int((parts[:, 1] == parts[:, 2]).sum())
    fewer = stored[:, 0] / stored[:, 1]
    findings.settings[name] = found
    findings.add(
        Figure(
            name,
            "the whole",
            "% of its trees",
            Spread.of(100.0 * parts[:, 1] / parts[:, 0]),
            remark=f"proved on {proved} of {len(parts)} tables, fewer on {int((parts[:, 1] < parts[:, 0]).sum())}; "
            f"bytes {np.exp(np.log(fewer).mean()):.1f} times fewer (geometric mean); median of {seconds:.1f} s",
        )
    )


def measure(findings: Findings, quick: bool) -> None:
    """Small forests and boosters, with the same classes everywhere."""
    folder = os.environ.get("COMMITTEE_DATA")
    findings.settings = {"seconds": SECONDS}
    if folder is None or quick:
        findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
        return
    halves = [each for half in ("choosing", "checking") for each in problems(Path(folder), half)]
    chosen = [each for each in halves if each.name in TABLES and not each.numbers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, ensemble in ENSEMBLES.items():
            found = {}
            for problem in chosen:
                found[problem.name] = cell(problem, ensemble)
                print(name, problem.name, found[problem.name], flush=True)
            report(findings, name, found)


if __name__ == "__main__":
    command("lossless", measure)
