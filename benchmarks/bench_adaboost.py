"""AdaBoost's fit beside scikit-learn's, with the test errors of both; and where our time goes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier as Peer
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bench_histogram import kernel
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, Work, collect, interleave, timed
from benchmarks.tables import Table, collisions, hastie
from committee import AdaBoostClassifier, _core
from committee.data.binning import Binned, Bins
from committee.data.frames import TableSchema
from committee.learners.adaboost.emphasis import Discrete
from committee.voters.growing import GrowthLimits, grower


def peer_of(model: AdaBoostClassifier) -> Peer:
    """scikit-learn's AdaBoost of the same rounds and depth."""
    return Peer(DecisionTreeClassifier(max_depth=model.max_depth), n_estimators=model.n_estimators, random_state=0)


def race(
    findings: Findings,
    work: str,
    model: AdaBoostClassifier,
    train: Table,
    test: Table,
    rounds: int,
    *,
    faster: float,
    closer: float | None = None,
) -> None:
    """Both fits in turn; then the errors of both on the test set, which may differ by `closer`."""
    X, y = train
    peer = peer_of(model)
    trial = interleave({"committee": lambda: model.fit(X, y), "scikit-learn": lambda: peer.fit(X, y)}, rounds)
    findings.add_ratio(f"{work}: fit", "scikit-learn", trial, "scikit-learn", "committee", faster)
    ours, theirs = error(model, test), error(peer, test)
    findings.add(
        Figure(
            f"{work}: difference of the test errors",
            "scikit-learn",
            "",
            Spread.of(abs(ours - theirs)),
            target=closer,
            at_least=False,
            remark=f"ours {ours:.4f}, theirs {theirs:.4f} on {len(test[1]):,} rows",
        )
    )


def error(model: Any, test: Table) -> float:
    """Share of the test rows that are wrong."""
    return float(np.mean(model.predict(test[0]) != test[1]))


def parts(findings: Findings, train: Table, rounds: int, n_estimators: int) -> None:
    """What a fit is made of, each part called on its own; `benchmarks.summary` makes shares of it."""
    X, y = train
    labels = y.astype(np.uint16)
    table = TableSchema.learn(X)
    binned = Binned.of(X, None, table, 255)
    growing = grower(binned, "gini", 2, GrowthLimits(max_depth=1), 1)
    weights = np.full(len(y), 1.0 / len(y))
    tree = growing.grow_classes(labels, weights, None, 0)
    rule = Discrete(2, float(len(y)), 1.0)
    factor = rule.round(tree).factor
    model = AdaBoostClassifier(n_estimators=n_estimators)
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
    """AdaBoost fit: 20 stump rounds on 100,000 x 28, and 200 rounds of depth 2 on 2,000 x 10; one thread."""
    n, large_rounds, small_rounds, n_large = (10_000, 2, 3, 20) if quick else (100_000, 7, 15, 20)
    findings.settings = {"rows": [n, 2_000], "rounds": [large_rounds, small_rounds], "threads": 1}
    train, test = collisions(n, seed=0), collisions(100_000, seed=1)
    stumps = AdaBoostClassifier(n_estimators=n_large)
    race(
        findings,
        f"AdaBoost, {n_large} stump rounds, {n:,} x 28",
        stumps,
        train,
        test,
        large_rounds,
        faster=50,
        closer=0.002,
    )
    deep = AdaBoostClassifier(n_estimators=200, max_depth=2)
    race(
        findings,
        "AdaBoost, 200 rounds of depth 2, 2,000 x 10",
        deep,
        hastie(2_000, seed=0),
        hastie(10_000, seed=1),
        small_rounds,
        faster=15,
    )
    parts(findings, train, 3 if quick else 15, n_large)


if __name__ == "__main__":
    command("adaboost", measure)
