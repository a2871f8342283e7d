"""AdaBoost's fit beside scikit-learn's and boosted trees of histograms, with test errors; and where our time goes."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier as Peer
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bench_histogram import kernel
from benchmarks.figures import Findings, command
from benchmarks.pairing import Work, collect, timed
from benchmarks.races import OURS, PLAIN, Target, race
from benchmarks.tables import Table, collisions, hastie
from committee import AdaBoostClassifier, _core
from committee.data.bins import Binned, Bins
from committee.data.table_schema import TableSchema
from committee.learners.boosting.adaboost import Discrete
from committee.voters.growing import GrowthLimits, tree_grower

SCIKIT_LEARN = "scikit-learn"
CAPTION = (
    "Neither LightGBM nor XGBoost has AdaBoost. Beside it stand as many of their trees of the same depth, with a "
    "learning rate of 1, no penalty and one row in a leaf, boosted by Newton's steps on the logistic loss, as in "
    "LogitBoost: trees with numbers in their leaves, where AdaBoost's discrete votes are signs. Ours with "
    "`calibrate=None` does what the peers do; as it comes it also fits on parts of the rows to calibrate its "
    "probabilities."
)


def peer_of(model: AdaBoostClassifier) -> Peer:
    """scikit-learn's AdaBoost of the same rounds and depth."""
    return Peer(DecisionTreeClassifier(max_depth=model.max_depth), n_estimators=model.n_estimators, random_state=0)


def contenders(rounds: int, depth: int) -> dict[str, Any]:
    """Programs of as many trees of one depth: AdaBoost's, and boosted trees on the logistic loss."""
    model = AdaBoostClassifier(n_estimators=rounds, max_depth=depth)
    found = {OURS: model, PLAIN: clone(model).set_params(calibrate=None), SCIKIT_LEARN: peer_of(model)}
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        found["LightGBM, logistic loss"] = LGBMClassifier(
            n_estimators=rounds,
            learning_rate=1.0,
            num_leaves=2**depth,
            max_depth=depth,
            min_child_samples=1,
            max_bin=255,
            n_jobs=1,
            verbose=-1,
        )
    if find_spec("xgboost"):
        from xgboost import XGBClassifier

        found["XGBoost hist, logistic loss"] = XGBClassifier(
            n_estimators=rounds,
            learning_rate=1.0,
            max_depth=depth,
            min_child_weight=1e-3,
            reg_lambda=0.0,
            max_bin=255,
            tree_method="hist",
            n_jobs=1,
        )
    return found


def parts(findings: Findings, train: Table, rounds: int, n_estimators: int) -> None:
    """What a fit is made of, each part called on its own; `benchmarks.summary` makes shares of it."""
    X, y = train
    labels = y.astype(np.uint16)
    table = TableSchema.learn(X)
    binned = Binned.of(X, None, table, 255)
    growing = tree_grower(binned, "gini", 2, GrowthLimits(max_depth=1), 1)
    weights = np.full(len(y), 1.0 / len(y))
    tree = growing.grow_classes(labels, weights, None, 0)
    rule = Discrete(2, float(len(y)), 1.0)
    factor = rule.round(tree).factor
    model = AdaBoostClassifier(n_estimators=n_estimators, calibrate=None)
    works: dict[str, Work] = {
        "whole fit": lambda: model.fit(X, y),
        "schema and encoding": lambda: TableSchema.learn(X).encode(X),
        "edges of the bins": lambda: Bins.learn(X, None, table.n_categories, 255),
        "codes": lambda: binned.bins.encode(X),
        "each round: growth": lambda: growing.grow_classes(labels, weights, None, 0),
        "each round: decision": lambda: rule.round(tree),
        "each round: new weights": lambda: _core.scale_rows(weights.copy(), tree.leaf_of_row, labels, factor, 1),
    }
    histogram = kernel(binned.codes, binned.bins.n_bins, labels, weights, None)
    calls = {name: 20 if name.startswith("each round") else 3 for name in works}
    measures = {name: partial(timed, work, calls[name]) for name, work in works.items()}
    trial = collect({**measures, "each round: histogram, within growth": histogram}, rounds)
    findings.record(f"parts of a fit, {len(y):,} x {X.shape[1]}, {n_estimators} stump rounds", trial)
    findings.settings["parts"] = {"rounds": n_estimators}


def measure(findings: Findings, quick: bool) -> None:
    """AdaBoost fit: 50 stumps, the default, on 100,000 x 28, and 200 trees of depth 2 on 2,000 x 10; one thread."""
    n_large = 50
    n, large_rounds, small_rounds = (10_000, 2, 3) if quick else (100_000, 3, 15)
    findings.settings = {"rows": [n, 2_000], "rounds": [large_rounds, small_rounds], "threads": 1}
    findings.caption = CAPTION
    train, test = collisions(n, seed=0), collisions(100_000, seed=1)
    race(
        findings,
        f"AdaBoost at its defaults, {n_large} stump rounds, {n:,} x 28",
        contenders(n_large, 1),
        train,
        test,
        large_rounds,
        target=Target(SCIKIT_LEARN, faster=70, closer=0.002),
    )
    race(
        findings,
        "AdaBoost, 200 rounds of depth 2, 2,000 x 10",
        contenders(200, 2),
        hastie(2_000, seed=0),
        hastie(10_000, seed=1),
        small_rounds,
        target=Target(SCIKIT_LEARN, faster=15, closer=0.01),
    )
    parts(findings, train, 3 if quick else 15, n_large)


if __name__ == "__main__":
    command("adaboost", measure)
