"""Several targets: forests beside scikit-learn's, boosting beside XGBoost's, both beside a model for each target."""

from __future__ import annotations

from functools import partial
from typing import Any

import xgboost
from sklearn.ensemble import RandomForestRegressor as TheirForest
from sklearn.multioutput import MultiOutputRegressor

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, interleave
from benchmarks.tables import Table, several_targets
from committee import GradientBoostingRegressor, RandomForestRegressor

OURS = "committee"
APART = "committee, a model for each target"


def race(findings: Findings, work: str, models: dict[str, Any], train: Table, test: Table, repeats: int) -> None:
    """Fits in turn, our time as a ratio to the others'; then R2 on the test rows, uniform over the targets."""
    trial = interleave({who: partial(model.fit, *train) for who, model in models.items()}, repeats)
    findings.record(work, trial)
    scores = {who: float(model.score(*test)) for who, model in models.items()}
    for who in models:
        if who == OURS:
            continue
        ratio, wall = trial.ratio(who, OURS), trial.ratio(who, OURS, "wall")
        target = 1.0 if who == "scikit-learn" else None
        findings.add(Figure(f"{work}: fit", who, "x", ratio, target, clock="cpu", wall=wall))
        apart = Spread.of(scores[OURS] - scores[who])
        remark = f"ours {scores[OURS]:.4f}, theirs {scores[who]:.4f}"
        findings.add(Figure(f"{work}: R2 above theirs", who, "", apart, remark=remark))


def forests(trees: int) -> dict[str, Any]:
    """Forests of trees grown to the end, all columns tried at each node."""
    settings: dict[str, Any] = {"n_estimators": trees, "random_state": 0, "n_jobs": 1}
    return {
        OURS: RandomForestRegressor(**settings),
        "scikit-learn": TheirForest(**settings),
        APART: MultiOutputRegressor(RandomForestRegressor(**settings)),
    }


def boosters(rounds: int) -> dict[str, Any]:
    """Trees of 16 leaves, a step of 0.1, on all rows and columns; XGBoost's leaves are not penalised either."""
    settings: dict[str, Any] = {"n_estimators": rounds, "learning_rate": 0.1, "n_jobs": 1}
    ours = partial(
        GradientBoostingRegressor,
        **{"max_leaf_nodes": 16, "max_features": None, "subsample": 1.0, "extra_trees": False, "leaf_l2": 0.0},
        **settings,
    )
    theirs = partial(
        xgboost.XGBRegressor,
        max_leaves=16,
        max_depth=0,
        grow_policy="lossguide",
        max_bin=255,
        reg_lambda=0.0,
        **settings,
    )
    return {
        OURS: ours(tree="shared"),
        "committee, per_target": ours(tree="per_target"),
        APART: MultiOutputRegressor(ours()),
        "XGBoost, multi_output_tree": theirs(multi_strategy="multi_output_tree"),
        "XGBoost, one_output_per_tree": theirs(),
    }


def measure(findings: Findings, quick: bool) -> None:
    """Forests of 50 trees and 100 rounds of boosting, on 10,000 x 20 with 5 targets."""
    n, trees, rounds, repeats = (1_000, 5, 10, 2) if quick else (10_000, 50, 100, 2)
    findings.settings = {"rows": n, "trees": trees, "rounds": rounds, "repeats": repeats}
    train, test = several_targets(n, seed=0), several_targets(n, seed=1)
    name = f"{n:,} x 20, 5 targets"
    race(findings, f"{name}: forest of {trees} trees", forests(trees), train, test, repeats)
    race(findings, f"{name}: {rounds} rounds of 16 leaves", boosters(rounds), train, test, repeats)


if __name__ == "__main__":
    command("several_targets", measure)
