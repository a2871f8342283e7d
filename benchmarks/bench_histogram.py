"""The histogram kernel on 1,000,000 x 28 codes: all rows, and a random tenth as a grown node holds it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.histogram import HistogramBuilder

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, Trial, collect, timed
from benchmarks.tables import collisions
from committee import _core
from committee.data.bins import Bins

Rows = NDArray[np.int32] | None
COLUMNS = 28


def even_codes(n: int) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Every bin equally likely: the most cells in play, and the fewest additions in a row to one of them."""
    codes = np.random.default_rng(1).integers(0, 255, (n, COLUMNS), dtype=np.uint8)
    return codes, np.full(COLUMNS, 255, dtype=np.int32)


def collision_codes(n: int) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """As a real table gives them: some columns hold few values."""
    X, _ = collisions(n)
    bins = Bins.learn(X, None, np.zeros(COLUMNS, dtype=np.int32), 255)
    return bins.encode(X).astype(np.uint8, copy=False), bins.n_bins


def row_sets(n: int) -> dict[str, Rows]:
    """All rows; a random tenth in order, as growth keeps its nodes; the same tenth out of order."""
    r = np.random.default_rng(2)
    tenth = r.permutation(n)[: n // 10].astype(np.int32)
    return {"all rows": None, "a random tenth": np.sort(tenth), "a random tenth, unsorted": tenth}


def kernel(
    codes: NDArray[Any],
    n_bins: NDArray[np.int32],
    labels: NDArray[np.uint16],
    weights: NDArray[np.float64],
    rows: Rows,
) -> Callable[[], tuple[float, float]]:
    """What measures the kernel alone, two classes, on one thread: wall and processor seconds of a pass."""
    passes = 10 if rows is None else 100
    run = partial(_core.histogram_seconds, codes, n_bins, labels, 2, weights, rows)

    def once() -> tuple[float, float]:
        # a call checks and packs its rows before it times its passes; what more passes cost is the kernel
        start = time.process_time()
        run(1, 1)
        between = time.process_time()
        wall = run(1 + passes, 1)
        cpu = time.process_time() - between - (between - start)
        return float(np.median(wall[1:])), cpu / passes

    return once


def race(codes: NDArray[np.uint8], n_bins: NDArray[np.int32], rounds: int) -> Trial:
    """The kernel on each set of rows in turn, and scikit-learn's on all rows."""
    n = len(codes)
    r = np.random.default_rng(3)
    labels, weights = r.integers(0, 2, n).astype(np.uint16), r.random(n)

    peer = HistogramBuilder(np.asfortranarray(codes), 256, weights.astype(np.float32), np.ones(1, np.float32), True, 1)
    every = np.arange(n, dtype=np.uint32)
    measures = {name: kernel(codes, n_bins, labels, weights, rows) for name, rows in row_sets(n).items()}
    measures["scikit-learn, all rows"] = lambda: timed(lambda: peer.compute_histograms_brute(every), 10)
    return collect(measures, rounds)


def measure(findings: Findings, quick: bool) -> None:
    """The histogram kernel, ns per row and feature, one thread."""
    n, rounds = (100_000, 7) if quick else (1_000_000, 15)
    findings.settings = {"rows": n, "columns": COLUMNS, "classes": 2, "rounds": rounds, "threads": 1}
    targets = {"all rows": 0.45, "a random tenth": 0.60, "a random tenth, unsorted": None}
    for table, made in (("even bins", even_codes), ("collisions", collision_codes)):
        trial = race(*made(n), rounds)
        work = f"histogram, {n:,} x {COLUMNS}, {table}"
        findings.record(work, trial)
        for name, target in targets.items():
            size = (n if name == "all rows" else n // 10) * COLUMNS
            findings.add(
                Figure(
                    f"{work}: {name}, per row and feature",
                    "",
                    "ns",
                    Spread.of(trial.cpu[name] / size * 1e9),
                    target,
                    at_least=False,
                    clock="cpu",
                    wall=Spread.of(trial.wall[name] / size * 1e9),
                )
            )
        findings.add(
            Figure(
                f"{work}: all rows",
                "scikit-learn's gradient histogram",
                "x",
                trial.ratio("scikit-learn, all rows", "all rows"),
                clock="cpu",
                wall=trial.ratio("scikit-learn, all rows", "all rows", "wall"),
            )
        )


if __name__ == "__main__":
    command("histogram", measure)
