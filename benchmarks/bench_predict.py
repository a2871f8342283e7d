"""Prediction of 200 trees of depth 2 on 10,000 rows and on one, beside scikit-learn, LightGBM and XGBoost."""

from __future__ import annotations

from functools import partial

import lightgbm
import xgboost

from benchmarks.bench_adaboost import peer_of
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, Trial, Work, interleave
from benchmarks.tables import hastie
from committee import AdaBoostClassifier

TREES, DEPTH = 200, 2


def measure(findings: Findings, quick: bool) -> None:
    """Predict with 200 voters of depth 2: 10,000 rows, and one row; one thread."""
    rounds = 5 if quick else 31
    findings.settings = {"trees": TREES, "depth": DEPTH, "rounds": rounds, "threads": 1, "columns": 10}
    X, y = hastie(2_000, seed=0)
    many, _ = hastie(10_000, seed=1)
    ours = AdaBoostClassifier(n_estimators=TREES, max_depth=DEPTH).fit(X, y)
    theirs = peer_of(ours).fit(X, y)
    light = lightgbm.train(
        {"objective": "binary", "num_leaves": 2**DEPTH, "max_depth": DEPTH, "num_threads": 1, "verbose": -1},
        lightgbm.Dataset(X, y),
        TREES,
    )
    gradient = xgboost.train(
        {"objective": "binary:logistic", "max_depth": DEPTH, "nthread": 1}, xgboost.DMatrix(X, y, nthread=1), TREES
    )
    for rows, target in ((many, 10.0), (many[:1], None)):
        contenders: dict[str, Work] = {
            "committee": partial(ours.predict, rows),
            "committee, the committee alone": partial(ours.committee_.predict, rows),
            "committee, the native walk alone": partial(ours.committee_.voters.tally, rows, ours.committee_.weights),
            "scikit-learn": partial(theirs.predict, rows),
            "LightGBM": partial(light.predict, rows, num_threads=1),
            "XGBoost": partial(gradient.inplace_predict, rows),
        }
        _report(findings, interleave(contenders, rounds), len(rows), target)


def _report(findings: Findings, trial: Trial, n: int, target: float | None) -> None:
    work = f"predict, {TREES} voters of depth {DEPTH}, {n:,} {'row' if n == 1 else 'rows'}"
    findings.add_ratio(work, "scikit-learn AdaBoost", trial, "scikit-learn", "committee", target)
    for peer in ("LightGBM", "XGBoost"):
        ratio, wall = trial.ratio(peer, "committee"), trial.ratio(peer, "committee", "wall")
        findings.add(Figure(work, f"{peer}, as many trees", "x", ratio, clock="cpu", wall=wall))
    per = 1e9 / (n * TREES)
    name = "committee, the native walk alone"
    findings.add(
        Figure(
            f"{work}: the native walk, per row and tree",
            "",
            "ns",
            Spread.of(trial.cpu[name] * per),
            clock="cpu",
            wall=Spread.of(trial.wall[name] * per),
        )
    )


if __name__ == "__main__":
    command("predict", measure)
