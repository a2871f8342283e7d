"""Are models the same, to the bit, from memory, from pieces, from mapped codes and from any number of workers?

``python -m benchmarks.scale_bits [CASES] [LEARNERS]`` fits learners with random settings to random tables in memory and
elsewhere, so many cases of each: in pieces of random sizes with codes in memory or mapped, and on clusters of 1, 2, 4
and 7 workers, one of which is killed in every fourth case. Cases are kept in `results/scale/bits.jsonl`, where a run
goes on; differences by learner are printed, and written to `results/scale_bits.json`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from sklearn.base import clone

import committee
import committee.dask
from benchmarks import machine
from benchmarks.code import code_of, kept_cells
from benchmarks.figures import RESULTS
from committee.files.writing import write_file

WORKERS = (1, 2, 4, 7)
SHARDED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
LEARNERS = (*SHARDED, "RandomForestClassifier", "RandomForestRegressor", "SubaggingClassifier", "SBPMTClassifier")
IN_PIECES = (*LEARNERS, "AdaBoostClassifier", "QuadBoostClassifier")


def table(random: np.random.Generator) -> pd.DataFrame:
    """Numbers, few values, letters, a column of many levels; labels, a number and weights."""
    n = int(random.choice([60, 400, 1_500]))
    found = pd.DataFrame({f"x{j}": random.normal(size=n).round(int(random.integers(1, 9))) for j in range(4)})
    found["letter"] = random.choice(list("abcde"), n)
    found["code"] = [f"c{i}" for i in random.integers(0, int(random.choice([3, 40])), n)]
    found = found.mask(random.random(found.shape) < random.choice([0.0, 0.1]))
    score = np.nan_to_num(found["x0"]) + (found["letter"] < "c").fillna(False) + 0.3 * random.normal(size=n)
    found["label"] = np.digitize(score, [0.5] if random.random() < 0.5 else [0.2, 1.0])
    found["number"] = score
    found["weight"] = random.integers(0, 3, n) if random.random() < 0.5 else random.uniform(0.0, 2.0, n)
    return found


def learner(name: str, random: np.random.Generator) -> Any:
    """A learner of a few rounds with random settings."""
    model = getattr(committee, name)(n_estimators=int(random.integers(2, 9)))
    if "random_state" in model.get_params():
        model.set_params(random_state=int(random.integers(1000)))
    if name in SHARDED:
        model.set_params(
            leaf=str(random.choice(["auto", "constant", "linear"])),
            growth=str(random.choice(["leaf", "depth"])),
            subsample=float(random.choice([0.5, 0.7, 1.0])),
            max_features=None if random.random() < 0.5 else 0.5,
            extra_trees=["auto", False, True][random.integers(3)],
            max_leaf_nodes=int(random.choice([4, 15, 31])),
            early_stopping=bool(random.random() < 0.3),
            learning_rate="auto" if random.random() < 0.5 else 0.3,
        )
    return model


def cuts(n: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Pieces of random sizes, some of them empty."""
    return list(pairwise([0, *sorted(random.integers(0, n + 1, int(random.integers(0, 9))).tolist()), n]))


def answers(model: Any, X: pd.DataFrame) -> list[np.ndarray]:
    """What a model says of rows, and what its file has of it."""
    found = [model.predict(X)]
    found += [getattr(model, name)(X) for name in ("decision_function", "predict_proba") if hasattr(model, name)]
    return [*found, model.committee_.weights]


@contextlib.contextmanager
def clusters() -> Iterator[dict[int, Any]]:
    """A cluster of each size."""
    import dask
    from distributed import Client, LocalCluster

    # a worker that was lost once is not given up when it is lost again soon after
    patience = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with patience, contextlib.ExitStack() as open_:
        yield {
            n: open_.enter_context(
                Client(
                    open_.enter_context(
                        LocalCluster(n_workers=n, threads_per_worker=1, processes=True, dashboard_address=":0")
                    ),
                    set_as_default=False,
                )
            )
            for n in WORKERS
        }


def killed_later(client: Any, seconds: float) -> threading.Thread:
    """Kill a worker after some time."""

    def kill() -> None:
        time.sleep(seconds)
        with contextlib.suppress(OSError, TimeoutError):
            pids = list(client.run(os.getpid, on_error="ignore").values())
            os.kill(pids[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def case(name: str, seed: int, clients: dict[int, Any], folder: Path) -> dict[str, Any]:
    """One case: what was fitted where, and whether it is the model of the table in memory."""
    import dask.dataframe as dd

    random = np.random.default_rng((seed, crc32(name.encode())))
    places = ["pieces", "mapped", *(["cluster"] * 2 if name in LEARNERS else [])]
    rows, place = table(random), str(random.choice(places))
    target = "number" if name.endswith("Regressor") else "label"
    weighted = bool(random.random() < 0.5)
    X, w = rows.drop(columns=["label", "number", "weight"]), rows["weight"] if weighted else None
    model = learner(name, random)
    whole = clone(model)
    whole.fit(X, rows[target], w)
    begun, killed = time.perf_counter(), False
    ends = cuts(len(rows), random)
    if place == "cluster":
        client = clients[int(random.choice(WORKERS))]
        client.wait_for_workers(len(client.scheduler_info()["workers"]) or 1, timeout=60)
        parts = dd.from_map(lambda part: part, [rows.iloc[a:b] for a, b in ends], meta=rows.iloc[:0])
        killed = bool(random.random() < 0.25)
        thread = killed_later(client, float(random.uniform(0.1, 1.5))) if killed else None
        committee.dask.fit(model, parts[list(X)], parts[target], parts["weight"] if weighted else None, client=client)
        if thread is not None:
            thread.join()
        place = f"cluster of {len(client.scheduler_info()['workers'])}"
    else:
        pieces = [tuple(rows[part].iloc[a:b] for part in (list(X), target, "weight")) for a, b in ends]
        limit = 1 if place == "mapped" else None
        given = [piece if weighted else piece[:2] for piece in pieces]
        model.fit(committee.scan(given, memory_limit=limit, scratch=folder))
    same = all(np.array_equal(a, b) for a, b in zip(answers(model, X), answers(whole, X), strict=True))
    seconds = round(time.perf_counter() - begun, 2)
    return {"seed": seed, "learner": name, "place": place, "killed": killed, "same": same, "seconds": seconds}


def main() -> None:
    """Run the cases that are not there yet, print, write."""
    import tempfile

    n_cases = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    names = sys.argv[2:] or list(IN_PIECES)
    with (
        kept_cells(RESULTS / "scale" / "bits.jsonl", {}, __name__) as journal,
        clusters() as clients,
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        done = {(one["learner"], one["seed"]) for one in journal.cells}
        for name, seed in product(names, range(n_cases)):
            if (name, seed) not in done:
                journal.append(case(name, seed, clients, Path(folder)))
        found = journal.cells
    by_learner = {
        name: {
            "cases": len(own),
            "on clusters": sum(one["place"].startswith("cluster") for one in own),
            "workers killed": sum(one["killed"] for one in own),
            "differences": sum(not one["same"] for one in own),
        }
        for name in IN_PIECES
        if (own := [one for one in found if one["learner"] == name])
    }
    print(json.dumps(by_learner, indent=1))
    document = {"code": code_of(__name__), "machine": machine.describe(), "by learner": by_learner}
    write_file(RESULTS / "scale_bits.json", json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
