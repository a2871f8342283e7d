"""A forest of 500 trees of 50 leaves on 100,000 rows, cut to a tenth of its nodes: processor time and peak memory.

``python -m benchmarks.bench_pruning_speed`` makes rows, trains the forest, and writes both to a folder of its own; a
fresh process reads them and cuts the forest with one thread. Its peak counts everything: Python, the libraries, the
rows, the forest and the cut. Nothing else is compared: rivals' programs are written from their papers, and not for
speed.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from benchmarks.peak_memory import MB, peak_bytes

ROWS, COLUMNS, TREES, LEAVES = 100_000, 20, 500, 50
SHARE = 0.1
REPEATS = 3
MOST_SECONDS, MOST_MB = 15.0, 600.0
CUT_IN = "--cut-in"
"""Before a folder: the forest there is to be cut, and what that took is to be printed."""


def made(n_rows: int) -> tuple[Any, Any]:
    """Rows of two classes, of which a tenth are mislabelled."""
    return make_classification(
        n_rows, COLUMNS, n_informative=10, n_redundant=4, n_clusters_per_class=4, flip_y=0.1, random_state=0
    )


def cut_in(folder: Path) -> None:
    """Cut the forest of a folder, and print processor seconds, wall seconds, the peak and the size."""
    from committee import prune

    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    forest = pickle.loads((folder / "forest.pickle").read_bytes())
    cpu, wall = time.process_time(), time.perf_counter()
    small = prune(forest, X, y, max_nodes=SHARE, n_jobs=1)
    seconds = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"seconds": seconds, "peak": peak_bytes(), "nodes": small.committee_.n_nodes}))


def measure(findings: Findings, quick: bool) -> None:
    """A large forest cut to a tenth of its nodes."""
    n_rows, trees = (5_000, 50) if quick else (ROWS, TREES)
    findings.settings = {"rows": n_rows, "columns": COLUMNS, "trees": trees, "leaves": LEAVES, "share": SHARE}
    X, y = made(n_rows)
    forest = RandomForestClassifier(trees, max_leaf_nodes=LEAVES, random_state=0, n_jobs=1 if quick else 2).fit(X, y)
    forest.n_jobs = 1
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        (Path(folder) / "forest.pickle").write_bytes(pickle.dumps(forest))
        del X, y, forest
        here = [sys.executable, "-m", "benchmarks.bench_pruning_speed", CUT_IN, folder]
        runs = []
        for _ in range(1 if quick else REPEATS):
            done = subprocess.run(here, check=True, capture_output=True, text=True)
            runs.append(json.loads(done.stdout))
    work = f"{trees} trees of {LEAVES} leaves, {n_rows:,} x {COLUMNS}, to {SHARE:g} of the nodes"
    cpu, wall = (Spread.of([run["seconds"][i] for run in runs]) for i in (0, 1))
    findings.add(Figure(f"{work}: time", "", "s", cpu, None if quick else MOST_SECONDS, False, "cpu", wall))
    peak = Spread.of([run["peak"] / MB for run in runs])
    findings.add(
        Figure(
            f"{work}: peak memory of the process", "", "MB", peak, None if quick else MOST_MB, False,
            remark=f"{runs[0]['nodes']:,} nodes stay",
        )
    )  # fmt: skip


if __name__ == "__main__":
    if CUT_IN in sys.argv:
        cut_in(Path(sys.argv[sys.argv.index(CUT_IN) + 1]))
    else:
        command("pruning_speed", measure)
