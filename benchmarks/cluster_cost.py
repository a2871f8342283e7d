r"""What a tree of boosting costs on a cluster: a model with four constants, measured here and checked against runs.

``python -m benchmarks.cluster_cost`` measures the constants, compares the model with runs on 1, 2 and 4 workers, and
draws it for up to 1,000 workers and 10^11 rows in `docs/cluster-cost.png`.

A tree of d levels on n rows and p columns, on W workers of c threads, takes

    T = t0 + s n / (W c) + (d + 3) l + H(W) b S,

with t0 the client's work for a tree (splits are looked for in the histograms of all rows), s the seconds that a row
costs one thread (packed, counted, parted, summed), l the time of a message, S the bytes of the histograms of a tree, of
the smaller child of each split, b the seconds a byte, and H(W) the histograms that are received one after the other:
those of up to FAN workers at each step of the way from the workers to the client.
"""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import asdict, dataclass
from math import ceil, log
from pathlib import Path
from typing import Any

import numpy as np

import committee
import committee.dask
from benchmarks import machine
from benchmarks.bench_scale import CELLS_OF_LEVEL, cluster, level_seconds
from benchmarks.code import code_of
from benchmarks.figures import RESULTS
from committee.dask.shards import FAN
from committee.files.writing import write_file

LEAVES, LEVELS, COLUMNS, BINS = 32, 5, 28, 256
BYTES_OF_CELL = 16
PICTURE = Path(__file__).parents[1] / "docs" / "cluster-cost.png"


@dataclass(frozen=True)
class Costs:
    """The constants, in seconds."""

    tree: float
    """t0: of a tree, whatever its rows."""
    row: float
    """s: of a row in a tree, on one thread."""
    message: float
    """l: of a message, however short."""
    byte: float
    """b: of a byte of a histogram that is received and added."""

    def of_tree(self, n: float, workers: int, threads: int = 1, columns: int = COLUMNS) -> float:
        """Seconds of a tree of `LEAVES` leaves."""
        sums = (LEAVES - 1) * columns * BINS * BYTES_OF_CELL
        work = self.tree * columns / COLUMNS + self.row * columns / COLUMNS * n / (workers * threads)
        return work + (LEVELS + 3) * self.message + received(workers) * self.byte * sums


def received(workers: int) -> int:
    """H(W): histograms that are received one after the other."""
    if workers <= FAN:
        return workers
    return FAN * ceil(log(workers) / log(FAN))


def model(rounds: int) -> Any:
    """Trees of full depth, level by level."""
    return committee.GradientBoostingClassifier(
        n_estimators=rounds,
        learning_rate=0.1,
        subsample=1.0,
        max_features=None,
        extra_trees=False,
        growth="depth",
        max_leaf_nodes=LEAVES,
        random_state=0,
    )


def rows(n: int) -> tuple[Any, Any]:
    """A table and its labels."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, COLUMNS))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=n) > 0).astype(np.int64)


def seconds_a_tree(fit: Any) -> float:
    """Seconds that a tree adds to a fit, which has much else to do."""
    taken = {}
    for rounds in (10, 40):
        for _ in range(3):
            one = model(rounds)
            begun = time.perf_counter()
            fit(one)
            taken[rounds] = min(taken.get(rounds, np.inf), time.perf_counter() - begun)
    return float(taken[40] - taken[10]) / 30


def measured() -> Costs:
    """Measure the constants on this machine."""
    few, many = (seconds_a_tree(lambda one, X=X, y=y: one.fit(X, y)) for X, y in (rows(50_000), rows(1_000_000)))
    row = (many - few) / 950_000
    with cluster(2) as client:
        short, long = (float(np.median(level_seconds(client, nodes, 60)[5:])) for nodes in (1, 16))
    byte = (long - short) / (2 * 15 * CELLS_OF_LEVEL * BYTES_OF_CELL)
    return Costs(few - row * 50_000, row, short - byte * 2 * CELLS_OF_LEVEL * BYTES_OF_CELL, byte)


def runs(n: int) -> dict[int, float]:
    """Measured seconds of a tree on so many workers."""
    import dask.array as da
    from distributed import wait

    X, y = rows(n)
    found = {}
    for workers in (1, 2, 4):
        with cluster(workers) as client:
            chunk = -(-n // workers)
            there = client.persist([da.from_array(X, chunks=(chunk, COLUMNS)), da.from_array(y, chunks=chunk)])
            wait(there)
            found[workers] = seconds_a_tree(lambda one, c=client, t=there: committee.dask.fit(one, *t, client=c))
    return found


def draw(costs: Costs) -> None:
    """Seconds of a tree by workers of 16 threads, for numbers of rows."""
    import matplotlib.pyplot as plt

    workers = np.unique(np.geomspace(1, 1000, 60).astype(int))
    figure, axes = plt.subplots(figsize=(7.2, 4.4))
    for exponent in range(6, 12):
        seconds = [costs.of_tree(10.0**exponent, int(w), 16) for w in workers]
        axes.loglog(workers, seconds, label=f"$10^{{{exponent}}}$ rows")
    axes.set_xlabel("workers of 16 threads")
    axes.set_ylabel(f"seconds a tree of {LEAVES} leaves, {COLUMNS} columns")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(PICTURE, dpi=110, bbox_inches="tight")


def main() -> None:
    """Measure, compare, draw, write."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        costs, n = measured(), 1_000_000
        found = runs(n)
    compared = {
        workers: {"measured": seconds, "model": costs.of_tree(n, min(workers, 2)) + added(costs, workers)}
        for workers, seconds in found.items()
    }
    for workers, both in compared.items():
        print(workers, {name: round(1e3 * seconds, 1) for name, seconds in both.items()}, "ms a tree")
    print({name: f"{seconds:.3g}" for name, seconds in asdict(costs).items()})
    draw(costs)
    document = {
        "code": code_of(__name__),
        "machine": machine.describe(),
        "constants": asdict(costs),
        f"seconds a tree, {n} rows": compared,
    }
    write_file(RESULTS / "cluster_cost.json", json.dumps(document, indent=1) + "\n")


def added(costs: Costs, workers: int) -> float:
    """What messages of more workers than this machine has processors, 2, add."""
    return costs.of_tree(0, workers) - costs.of_tree(0, min(workers, 2))


if __name__ == "__main__":
    main()
