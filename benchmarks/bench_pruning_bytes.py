"""Forests of 500 trees cut by ``max_loss=0.005``: bytes in memory and in files, time of a prediction, accuracy lost.

``python -m benchmarks.bench_pruning_bytes [--minutes M]`` measures on the checking half, one split of each table; a run
that was stopped goes on where it was, from ``results/pruning/bytes.jsonl``. Predictions are those of the public
``predict_proba``, of 1,000 rows at a time, with one thread, by processor time in turn: scikit-learn's forest, the
committee of all of its trees, and the cut.
"""

from __future__ import annotations

import argparse
import os
import pickle
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean, mean
from typing import Any

import numpy as np

from benchmarks.figures import QUICK_RESULTS, RESULTS, Figure, Findings, Measure, command
from benchmarks.pairing import Spread, interleave
from benchmarks.pruned_ensembles import MOST_ROWS, Trained, tables, trained
from committee import prune
from committee.files.journal import Cell, Journal, code_digest

ENSEMBLE = "RF(500)"
MAX_LOSS = 0.005
BATCH = 1_000
ROUNDS = 5
QUICK_TABLES = ("heart_statlog", "transfusion")
FEWER_BYTES, FASTER = 30.0, 10.0
"""What is asked for, in the geometric mean over tables."""


def measuring(minutes: float) -> Measure:
    """The benchmark, ended before all is done when the time is up."""

    def measure(findings: Findings, quick: bool) -> None:
        """Bytes and predictions of forests that are cut by a contract."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"ensemble": ENSEMBLE, "max_loss": MAX_LOSS, "batch": BATCH, "most rows": MOST_ROWS}
        if folder is None:
            findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
            return
        path = (QUICK_RESULTS if quick else RESULTS) / "pruning" / "bytes.jsonl"
        end = time.monotonic() + 60.0 * minutes
        code = code_digest("committee.learners.pruning.pruning")
        with Journal(path, dict(findings.settings), code=lambda cell: code) as journal:
            done = {cell["table"] for cell in journal.cells}
            for name, X, y in tables(Path(folder), "checking"):
                if name in done or time.monotonic() > end or (quick and name not in QUICK_TABLES):
                    continue
                journal.append({"table": name, **_measured(trained(ENSEMBLE, X, y, 0))})
                print(journal.cells[-1], flush=True)
            cells = list(journal.cells)
        if cells:
            report(findings, cells)

    return measure


def _measured(trained: Trained) -> Cell:
    """One forest beside what is left of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        start = time.process_time()
        cut = prune(trained.ensemble, trained.X, trained.y, max_loss=MAX_LOSS)
        seconds = time.process_time() - start
    whole, small = trained.committee, cut.committee_
    rows = np.ascontiguousarray(np.resize(trained.X_new, (BATCH, trained.X_new.shape[1])))
    trial = interleave(
        {
            "scikit-learn": lambda: trained.ensemble.predict_proba(rows),
            "all trees": lambda: whole.predict_proba(rows),
            "cut": lambda: cut.predict_proba(rows),
        },
        ROUNDS,
    )
    return {
        "rows": len(trained.y) + len(trained.y_new),
        "classes": trained.n_classes,
        "whole": bool(small.n_nodes == whole.n_nodes),
        "nodes": [whole.n_nodes, small.n_nodes],
        "memory": [whole.nbytes, small.nbytes],
        "file": [_file_bytes(whole), _file_bytes(cut)],
        "pickle": len(pickle.dumps(trained.ensemble)),
        "us": {name: 1e6 * float(np.median(trial.seconds(name))) / BATCH for name in trial.cpu},
        "error": [
            float((one.predict_proba(trained.X_new).argmax(axis=1) != trained.y_new).mean()) for one in (whole, cut)
        ],
        "seconds": seconds,
    }


def _file_bytes(model: Any) -> int:
    """Bytes of a model's file, as ``save`` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        return path.stat().st_size


def report(findings: Findings, cells: Sequence[Cell]) -> None:
    """Ratios over tables."""
    findings.settings["tables"] = {cell["table"]: {k: v for k, v in cell.items() if k != "table"} for cell in cells}
    findings.settings["kept whole"] = sum(cell["whole"] for cell in cells)
    kept = f"{findings.settings['kept whole']} of {len(cells)} kept whole"
    work = f"{ENSEMBLE} at max_loss={MAX_LOSS:g}"
    _ratio(findings, f"{work}: bytes in memory", "all trees", [c["memory"][0] / c["memory"][1] for c in cells], kept)
    of_file = [c["memory"][0] / c["file"][1] for c in cells]
    _ratio(findings, f"{work}: bytes of its file", "all trees in memory", of_file, kept, FEWER_BYTES)
    _ratio(findings, f"{work}: bytes of its file", "file of all trees", [c["file"][0] / c["file"][1] for c in cells])
    _ratio(
        findings, f"{work}: bytes of its file", "pickle of scikit-learn", [c["pickle"] / c["file"][1] for c in cells]
    )
    for other, asked in (("scikit-learn", FASTER), ("all trees", None)):
        faster = [cell["us"][other] / cell["us"]["cut"] for cell in cells]
        _ratio(findings, f"{work}: predict_proba of {BATCH:,} rows", other, faster, kept, asked)
        cut = [ratio for ratio, cell in zip(faster, cells, strict=True) if not cell["whole"]]
        if cut:
            _ratio(findings, f"{work}, tables that were cut: predict_proba of {BATCH:,} rows", other, cut)
    lost = [100.0 * (cell["error"][1] - cell["error"][0]) for cell in cells]
    findings.add(Figure(f"{work}: test error above theirs", "all trees", "points", Spread.of(lost),
                        remark=f"mean {mean(lost):+.2f}"))  # fmt: skip


def _ratio(
    findings: Findings, work: str, against: str, ratios: list[float], remark: str = "", target: float | None = None
) -> None:
    """A geometric mean, with the quartiles over tables."""
    spread, middle = Spread.of(ratios), geometric_mean(ratios)
    shown = Spread(middle, spread.lower_quartile, spread.upper_quartile, spread.least, spread.most, spread.n)
    words = f"geometric mean over {len(ratios)} tables, median {spread.median:.3g}"
    clock: Any = "cpu" if "predict" in work else None
    findings.add(
        Figure(work, against, "x", shown, target, clock=clock, remark=f"{words}; {remark}" if remark else words)
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options, rest = parser.parse_known_args()
    command("pruning_bytes", measuring(options.minutes), arguments=rest)


if __name__ == "__main__":
    main()
