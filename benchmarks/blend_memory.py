"""Peak memory of each candidate of a committee of ensembles beside the estimate that `memory_limit` goes by."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

import committee
from benchmarks.peak_memory import MB, peak_bytes
from committee.learners.blend import blend
from committee.learners.blend.candidates import Candidate
from committee.learners.blend.portfolio import FitMemory, candidates

SIZES = ((10_000, 28, 2), (40_000, 28, 2), (40_000, 7, 2), (20_000, 28, 6), (10_000, 28, 1), (40_000, 7, 1))
"""Rows, columns, and classes; one class stands for numbers."""
N_FOLDS = 3


def rows(n: int, n_columns: int, n_classes: int) -> tuple[Any, Any]:
    """Normal columns, and a score of three of them under noise, cut into classes of one size."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, n_columns))
    score = X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=n)
    if n_classes == 1:
        return X, score
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def measure(name: str, n: int, n_columns: int, n_classes: int) -> None:
    """Print measured and estimated bytes of a fit with one candidate, the table counted."""
    numbers = n_classes == 1
    (one,) = (each for each in candidates(numbers, "best", n) if each.name == name)

    def alone(*_: Any) -> list[Candidate]:
        return [one]

    blend.candidates = alone
    kind = committee.CommitteeRegressor if numbers else committee.CommitteeClassifier
    kind(cv=N_FOLDS, random_state=0).fit(*rows(600, n_columns, n_classes))  # what is loaded at first use
    X, y = rows(n, n_columns, n_classes)
    before = peak_bytes() - X.nbytes
    kind(cv=N_FOLDS, random_state=0).fit(X, y)
    memory = FitMemory(n, 8.0 * n_columns, n_columns, n_classes, N_FOLDS, n * (1 - 1 / N_FOLDS), 1)
    print(json.dumps({"measured": (peak_bytes() - before) / MB, "estimated": memory.peak([one]) / MB}))


def main() -> None:
    """Measure each candidate at each size in a process of its own."""
    if len(sys.argv) > 1:
        measure(sys.argv[1], *map(int, sys.argv[2:]))
        return
    for size in SIZES:
        for one in candidates(size[2] == 1, "best", size[0]):
            command = [sys.executable, "-m", "benchmarks.blend_memory", one.name, *map(str, size)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(f"{one.name:18s} {size} {found['measured']:8.1f} MB, estimated {found['estimated']:8.1f}", flush=True)


if __name__ == "__main__":
    main()
