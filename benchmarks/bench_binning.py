"""Binning 1,000,000 x 28: edges and codes, beside LightGBM's, XGBoost's and scikit-learn's."""

from __future__ import annotations

import lightgbm
import numpy as np
import xgboost
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, Trial, Work, interleave
from benchmarks.tables import collisions
from committee.data.bins import Bins


def contenders(X: NDArray[np.float64]) -> dict[str, Work]:
    """The whole of each library's binning of X on one thread, 255 or 256 bins."""
    numeric = np.zeros(X.shape[1], dtype=np.int32)
    bins = Bins.learn(X, None, numeric, 255)

    def lightgbm_dataset() -> None:
        lightgbm.Dataset(X, params={"max_bin": 255, "num_threads": 1, "verbose": -1}).construct()

    return {
        "edges": lambda: Bins.learn(X, None, numeric, 255),
        "codes": lambda: bins.encode(X),
        "committee": lambda: Bins.learn(X, None, numeric, 255).encode(X),
        "LightGBM": lightgbm_dataset,
        "XGBoost": lambda: xgboost.QuantileDMatrix(X, max_bin=256, nthread=1),
        "scikit-learn": lambda: _BinMapper(n_bins=256, random_state=0, n_threads=1).fit(X).transform(X),
    }


def per_cell(trial: Trial, name: str, cells: int) -> tuple[Spread, Spread]:
    """Nanoseconds per cell by processor and by wall time."""
    return Spread.of(trial.cpu[name] / cells * 1e9), Spread.of(trial.wall[name] / cells * 1e9)


def measure(findings: Findings, quick: bool) -> None:
    """Binning 1M x 28, one thread."""
    n, rounds = (50_000, 3) if quick else (1_000_000, 7)
    X, _ = collisions(n)
    findings.settings = {"rows": n, "columns": X.shape[1], "rounds": rounds, "threads": 1, "dtype": "float64"}
    work = f"binning, {n:,} x {X.shape[1]}"
    trial = interleave(contenders(X), rounds)
    findings.record(work, trial)
    for part in ("edges", "codes"):
        cpu, wall = per_cell(trial, part, X.size)
        findings.add(Figure(f"{work}: {part}, per cell", "", "ns", cpu, clock="cpu", wall=wall))
    for peer in ("LightGBM", "XGBoost", "scikit-learn"):
        findings.add(
            Figure(
                f"{work}: edges and codes",
                peer,
                "x",
                trial.ratio(peer, "committee"),
                clock="cpu",
                wall=trial.ratio(peer, "committee", "wall"),
            )
        )


if __name__ == "__main__":
    command("binning", measure)
