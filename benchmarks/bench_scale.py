"""Tables past memory, past one machine: ``python -m benchmarks.bench_scale [--quick]``.

- 50,000,000 rows x 28 columns of Parquet (`benchmarks.big_table`, in the folder COMMITTEE_BIG), 20 trees of 31 leaves
  on 2 threads: peak memory and seconds beside a tenth of the rows in memory, and beside XGBoost's external memory.
- 1,000,000 x 28, 100 trees of 31 leaves: 2 Dask workers of one thread beside 2 threads of one process, and LightGBM's
  and XGBoost's Dask in the same run.
- One level of a tree over 4 workers without any work: what messages cost.
- A worker killed at half time beside the undisturbed run.

That models have the same bits everywhere is for `benchmarks.scale_bits`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import committee
import committee.dask
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread

GB = 1e9
SETTINGS: dict[str, Any] = {
    **{"learning_rate": 0.1, "max_leaf_nodes": 31},
    **{"subsample": 1.0, "max_features": None, "extra_trees": False},
}
CELLS_OF_LEVEL = 28 * 256
NODES_OF_LEVEL = 8
ROUNDS = 5


def out_of_core(findings: Findings, folder: str, n: int) -> None:
    """Peak memory and time of a table in pieces."""

    def run(name: str, rows: int) -> dict[str, float]:
        words = [name, folder, str(rows), "28", "20", "2"]
        here = [sys.executable, "-m", "benchmarks.out_of_core", *words]
        done: dict[str, float] = json.loads(subprocess.run(here, check=True, capture_output=True, text=True).stdout)
        return done

    part = n // 10
    ours, memory = run("in_pieces", n), [run("in_memory", part) for _ in range(3)]
    per_row = ours["seconds"] / n / (np.array([one["seconds"] for one in memory]) / part)
    rival = run("xgboost", part)
    findings.settings["out of core"] = {"pieces": ours, f"memory, {part} rows": memory, f"XGBoost, {part} rows": rival}
    work = f"{n:,} x 28 in Parquet, 20 trees of 31 leaves, 2 threads"
    findings.add(Figure(f"{work}: peak memory", "", "GB", Spread.of([ours["peak"] / GB]), 4.0, at_least=False))
    beside = f"the same in memory, {part:,} rows"
    findings.add(Figure(f"{work}: time a row", beside, "x", Spread.of(per_row), 1.3, at_least=False, clock="wall"))
    ratio = rival["seconds"] / part / (ours["seconds"] / n)
    findings.add(
        Figure(
            f"{work}: time a row", f"XGBoost's external memory, {part:,} rows", "x", Spread.of([ratio]), clock="wall"
        )
    )


@contextlib.contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    """A cluster of processes of one thread each on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0") as here,
        Client(here) as client,
    ):
        yield client


def rows(n: int) -> tuple[Any, Any]:
    """A table as a Dask array, and its labels."""
    import dask.array as da

    random = np.random.default_rng(0)
    X = random.normal(size=(n, 28))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=n) > 0).astype(np.int64)
    return da.from_array(X, chunks=(-(-n // 2), 28)), da.from_array(y, chunks=-(-n // 2))


def seconds_of(work: Callable[[], Any]) -> float:
    """Wall seconds of a call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def two_workers(findings: Findings, n: int, rounds: int, repeats: int) -> None:
    """Two workers of one thread beside two threads, and the rivals' Dask."""
    import lightgbm
    from xgboost import dask as of_xgboost

    X, y = rows(n)
    X_here, y_here = X.compute(), y.compute()

    def ours(growth: str) -> Any:
        return committee.GradientBoostingClassifier(n_estimators=rounds, random_state=0, growth=growth, **SETTINGS)

    with cluster(2) as client:
        from distributed import wait

        X, y = client.persist([X, y])
        wait([X, y])

        def by_xgboost() -> None:
            parameters = {"objective": "binary:logistic", "tree_method": "hist", "max_leaves": 31, "max_depth": 0}
            parameters |= {"grow_policy": "lossguide", "eta": 0.1, "max_bin": 255}
            data = of_xgboost.DaskQuantileDMatrix(client, X, y, max_bin=255)
            of_xgboost.train(client, parameters, data, num_boost_round=rounds)

        def by_lightgbm() -> None:
            model = lightgbm.DaskLGBMClassifier(n_estimators=rounds, num_leaves=31, client=client, verbose=-1)
            model.fit(X, y)

        works: dict[str, Callable[[], Any]] = {}
        for growth in ("leaf", "depth"):
            works[f"committee, one process, {growth}"] = lambda g=growth: (
                ours(g).set_params(n_jobs=2).fit(X_here, y_here)
            )
            works[f"committee, Dask, {growth}"] = lambda g=growth: committee.dask.fit(ours(g), X, y, client=client)
        works |= {"LightGBM, Dask": by_lightgbm, "XGBoost, Dask": by_xgboost}
        taken: dict[str, list[float]] = {name: [] for name in works}
        for repeat in range(repeats + 1):
            for name, work in works.items():
                found = seconds_of(work)
                if repeat:  # the first is for what is loaded at first use
                    taken[name].append(found)
    findings.settings["two workers"] = {name: [round(one, 3) for one in found] for name, found in taken.items()}
    size = f"{n:,} x 28, {rounds} trees of 31 leaves, 2 workers of one thread"
    for growth in ("leaf", "depth"):
        here, there = (np.array(taken[f"committee, {place}, {growth}"]) for place in ("one process", "Dask"))
        most = 1.15 if growth == "depth" else None
        work = f"{size}, {growth} by {growth}" if growth == "leaf" else f"{size}, level by level"
        findings.add(Figure(work, "2 threads of one process", "x", Spread.of(there / here), most, at_least=False))
        for rival in ("LightGBM, Dask", "XGBoost, Dask"):
            findings.add(Figure(work, rival, "x", Spread.of(np.array(taken[rival]) / there), 1.0, clock="wall"))


class Idle:
    """A shard that answers without work: histograms of so many nodes."""

    def __init__(self, nodes: int) -> None:
        self.sums = np.zeros(nodes * 2 * CELLS_OF_LEVEL, dtype=np.uint64)

    def part(self, *_: Any) -> np.ndarray:
        """Return them."""
        return self.sums


def level_seconds(client: Any, nodes: int, repeats: int) -> list[float]:
    """Seconds that the messages of a level take, over all workers of a client."""
    import dask

    from committee.dask.cluster import Cluster
    from committee.dask.shards import ShardHomes, ShardsOnWorkers
    from committee.learners.gradient.target import Target
    from committee.objectives.losses import Logistic

    def hold(fit: str, number: int) -> None:
        from committee.dask.shards import HELD, StoredShard  # the worker's

        idle: Any = Idle(nodes)
        HELD.setdefault(fit, {})[number] = StoredShard(np.zeros((1, 1), np.uint8), np.ones(1, np.int32), idle)

    n = len(client.scheduler_info()["workers"])
    homes = ShardHomes(Cluster(client, 60.0), lambda fit, number: dask.delayed(hold)(fit, number), [1] * n)
    homes.open(range(n))
    shards = ShardsOnWorkers(homes, Target(Logistic(), np.zeros(n, np.uint16), None), 1)
    shards._waiting.clear()  # there is nothing to make
    orders = [*(np.zeros(nodes, kind) for kind in (np.int32, np.int32, np.int32, np.uint8))]
    orders.append(np.zeros(nodes * 256, np.uint8))
    taken = [seconds_of(lambda: shards.total("part", *orders)) for _ in range(repeats)]
    homes.close()
    return taken


def one_level(findings: Findings, repeats: int) -> None:
    """What the messages of one level over four workers cost."""
    with cluster(4) as client:
        taken = 1e3 * np.array(level_seconds(client, NODES_OF_LEVEL, repeats))
    size = NODES_OF_LEVEL * 2 * CELLS_OF_LEVEL * 8
    work = f"a level of {NODES_OF_LEVEL} nodes, 28 columns of 256 bins, over 4 workers ({size:,} bytes from each)"
    findings.add(Figure(work, "", "ms", Spread.of(taken[5:]), 15.0, at_least=False, clock="wall"))


def killed(findings: Findings, n: int, rounds: int, repeats: int) -> None:
    """A worker killed at half time beside an undisturbed run."""
    X, y = rows(n)
    ratios, together = [], []
    for _ in range(repeats):
        with cluster(2) as client:
            from distributed import wait

            X_there, y_there = client.persist([X, y])
            wait([X_there, y_there])

            def fit(client: Any = client, X: Any = X_there, y: Any = y_there) -> None:
                model = committee.GradientBoostingClassifier(n_estimators=rounds, random_state=0, **SETTINGS)
                committee.dask.fit(model, X, y, client=client)

            fit()
            alone = seconds_of(fit)

            def kill(client: Any = client, after: float = alone / 2) -> None:
                pid = next(iter(client.run(os.getpid).values()))
                time.sleep(after)
                os.kill(pid, signal.SIGKILL)

            thread = threading.Thread(target=kill)
            thread.start()
            disturbed = seconds_of(fit)
            thread.join()
        together.append((round(alone, 2), round(disturbed, 2)))
        ratios.append(disturbed / alone)
    findings.settings["killed"] = {"seconds alone, and with a worker killed": together}
    work = f"{n:,} x 28, {rounds} trees, one of 2 workers killed at half time"
    findings.add(Figure(work, "the undisturbed run", "x", Spread.of(ratios), 1.25, at_least=False, clock="wall"))


def main() -> None:
    """Measure, print, write."""

    def measure(findings: Findings, quick: bool) -> None:
        """Tables past memory, past one machine."""
        folder = os.environ.get("COMMITTEE_BIG")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if folder is None:
                findings.settings["left out"] = "out of core, as COMMITTEE_BIG names no folder"
            else:
                out_of_core(findings, folder, 500_000 if quick else 50_000_000)
            one_level(findings, 20 if quick else 100)
            two_workers(findings, 20_000 if quick else 1_000_000, 5 if quick else 100, 1 if quick else ROUNDS)
            killed(findings, 20_000 if quick else 1_000_000, 20 if quick else 100, 1 if quick else 3)

    command("scale", measure, one_thread=False)


if __name__ == "__main__":
    main()
