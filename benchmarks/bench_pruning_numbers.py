"""What forests and boosters of numbers lose when a part of their nodes stays, beside their first trees.

``python -m benchmarks.bench_pruning_numbers`` trains scikit-learn's `RandomForestRegressor(100)` and 100 rounds of
XGBoost and LightGBM, the latter of the quantile 0.9 too, on 70 % of the rows of each table of numbers of
`benchmarks.default_tables`, three splits of 3,000 rows at most, and cuts them with `LeafReweighterRegressor`. Forests
are cut by rows out of bag; boosters are trained on three quarters of the training rows, and cut by the others.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRegressor
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import d2_pinball_score, r2_score
from xgboost import XGBRegressor

from benchmarks.default_tables import Problem, problems
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import LeafReweighterRegressor, RegressionCommittee

MOST_ROWS, SPLITS, QUANTILE = 3000, 3, 0.9
LIMITS = {"1/3": 1 / 3, "1/10": 0.1, "1/30": 1 / 30}
ALL, FIRST, LEAVES = "all trees", "first trees", "LeafReweighterRegressor"
OUT_OF_BAG = "RF(100)"
QUANTILES = "LightGBM(100), quantile 0.9"

Scores = dict[tuple[str, str, str], list[float]]
"""By ensemble, way and limit, the mean of each table."""


@dataclass(frozen=True)
class Split:
    """Rows that train, that cut, and that judge."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    train: NDArray[np.intp]
    cut: NDArray[np.intp]
    test: NDArray[np.intp]


def ensembles(seed: int) -> dict[str, Any]:
    """What is cut, untrained."""
    return {
        OUT_OF_BAG: RandomForestRegressor(100, random_state=seed),
        "XGBoost(100)": XGBRegressor(n_estimators=100, n_jobs=1),
        "LightGBM(100)": LGBMRegressor(n_estimators=100, n_jobs=1, verbose=-1),
        QUANTILES: LGBMRegressor(n_estimators=100, objective="quantile", alpha=QUANTILE, n_jobs=1, verbose=-1),
    }


def splits(problem: Problem, by_others: bool) -> Iterator[Split]:
    """Seven tenths to train, and of these a quarter to cut if others than those that train do so."""
    for seed in range(SPLITS):
        rows = np.random.default_rng(seed).permutation(len(problem.y))[:MOST_ROWS]
        train, test = np.split(rows, [int(0.7 * len(rows))])
        cut = train
        if by_others:
            train, cut = np.split(train, [int(0.75 * len(train))])
        yield Split(problem.X, problem.y, train, cut, test)


def scores(name: str, ensemble: Any, of: Split) -> dict[tuple[str, str], float]:
    """R2 of all ways and limits, of a quantile the like share of pinball loss."""
    ensemble.fit(of.X[of.train], of.y[of.train])
    whole = RegressionCommittee.from_estimator(ensemble)
    test, nodes = of.X[of.test], np.cumsum(whole.voters.n_nodes)  # type: ignore[attr-defined]  # a forest

    def judged(model: Any) -> float:
        predicted = model.predict(test)
        if name == QUANTILES:
            return float(d2_pinball_score(of.y[of.test], predicted, alpha=QUANTILE))
        return float(r2_score(of.y[of.test], predicted))

    found = {}
    for limit, share in LIMITS.items():
        first = whole[: max(1, int(np.searchsorted(nodes, share * nodes[-1], side="right")))]
        on: Any = "oob" if name == OUT_OF_BAG else "validation"
        small = LeafReweighterRegressor(ensemble, max_nodes=share, on=on).fit(of.X[of.cut], of.y[of.cut])
        found |= {(way, limit): judged(model) for way, model in ((ALL, whole), (FIRST, first), (LEAVES, small))}
    return found


def report(findings: Findings, found: Scores, tables: list[str]) -> None:
    """Means of all ways, what is lost, and the tenth of each table."""
    for (name, way, limit), values in found.items():
        findings.settings.setdefault(f"mean R2 of {name}", {})[f"{way}, {limit}"] = round(float(np.mean(values)), 4)
        if limit == "1/10":
            each = {table: round(value, 3) for table, value in zip(tables, values, strict=True)}
            findings.settings.setdefault(f"R2 of {name}, 1/10", {})[way] = each
        if way != LEAVES:
            continue
        for other in (ALL, FIRST):
            gained = 100.0 * (np.array(values) - found[name, other, limit])
            error = gained.std(ddof=1) / np.sqrt(len(gained)) if len(gained) > 1 else np.nan
            remark = f"mean {gained.mean():+.2f} ± {error:.2f} of {len(gained)} tables"
            findings.add(
                Figure(f"{name}, {limit} of the nodes", other, "points of R2", Spread.of(gained), remark=remark)
            )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_pruning_numbers", description=__doc__)
    parser.add_argument("--half", choices=("choosing", "checking"), default="checking")
    options, rest = parser.parse_known_args()

    def measure(findings: Findings, quick: bool) -> None:
        """Ensembles of numbers, cut."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {**vars(options)}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        every = [problem for problem in problems(Path(folder), options.half) if problem.numbers]
        found: Scores = {}
        for problem in every:
            for name in ensembles(0):
                of_splits = enumerate(splits(problem, name != OUT_OF_BAG))
                cells = [scores(name, ensembles(seed)[name], split) for seed, split in of_splits]
                for key in cells[0]:
                    found.setdefault((name, *key), []).append(float(np.mean([cell[key] for cell in cells])))
        report(findings, found, [problem.name for problem in every])

    command("pruning_numbers" if options.half == "checking" else "pruning_numbers_choosing", measure, arguments=rest)


if __name__ == "__main__":
    main()
