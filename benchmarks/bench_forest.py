"""Random forests beside scikit-learn's: whole fits, test errors, the price of the out-of-bag curve; and the floor.

The floor of a tree is what its counting alone must cost: the rows of all its inner nodes (on 100,000 x 28 a drawn row
passes 18 levels), times the columns that a node tries (5 of 28), times the third of a nanosecond that the histogram
kernel takes for a row and a column when it reads whole rows in order. A tree takes about 11 times that. Rows of which
a node reads a few columns, from a histogram with marks, cost some 1.1 ns each, a quarter of the growth; two fifths are
the scan of the touched bins, as small nodes have as many candidate splits as rows (2.5 million; scanning eight at a
time took a quarter off a fit); a sixth is taking the touched bins
out of the histogram, and a tenth the partition of the rows. A fit adds a third to its trees' growth: bins, draws,
thresholds, class shares and the joining of trees, some 180 MB of nodes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier as PeerClassifier
from sklearn.ensemble import RandomForestRegressor as PeerRegressor

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, interleave, timed
from benchmarks.tables import Table, collisions, hastie
from committee import RandomForestClassifier, RandomForestRegressor, _core
from committee.data.binning import Binned
from committee.data.frames import TableSchema
from committee.learners.bagging.forest_trees import RowDraw, rows_where

JOBS = 2


def race(
    findings: Findings,
    work: str,
    ours: Any,
    peer: Any,
    train: Table,
    test: Table,
    rounds: int,
    *,
    faster: float | None = None,
    closer: float | None = None,
) -> None:
    """Both fits in turn; then the errors of both on the test set, of which ours may be larger by `closer`."""
    X, y = train
    trial = interleave({"committee": partial(ours.fit, X, y), "scikit-learn": partial(peer.fit, X, y)}, rounds)
    findings.add_ratio(f"{work}: fit", "scikit-learn", trial, "scikit-learn", "committee", faster)
    errors = [float(np.mean(model.predict(test[0]) != test[1])) for model in (ours, peer)]
    findings.add(
        Figure(
            f"{work}: test error above theirs",
            "scikit-learn",
            "",
            Spread.of(errors[0] - errors[1]),
            target=closer,
            at_least=False,
            remark=f"ours {errors[0]:.4f}, theirs {errors[1]:.4f} on {len(test[1]):,} rows",
        )
    )


def curve(findings: Findings, train: Table, n_estimators: int, rounds: int) -> None:
    """What `oob_score` costs: every row through the trees that did not see it, and the error after every tree."""
    X, y = train
    plain, judged = (
        RandomForestClassifier(n_estimators, oob_score=oob, random_state=0, n_jobs=JOBS) for oob in (False, True)
    )
    trial = interleave({"with": partial(judged.fit, X, y), "without": partial(plain.fit, X, y)}, rounds)
    work = f"forest, {n_estimators} trees, {len(y):,} x {X.shape[1]}: out-of-bag curve"
    findings.add_ratio(f"{work}, fit with over fit without", "without", trial, "with", "without")


def floor(findings: Findings, train: Table, rounds: int) -> None:
    """One tree's growth over the time that its counting alone must take."""
    X, y = train
    n, p = X.shape
    tried = int(np.sqrt(p))
    labels = y.astype(np.uint16)
    binned = Binned.of(X, None, TableSchema.learn(X), 255)
    bins = binned.bins
    grower = _core.DeepGrower(
        binned.codes,
        bins.n_bins,
        bins.categorical,
        "gini",
        2,
        max_depth=0,
        min_samples_leaf=1,
        min_weight_leaf=0.0,
        min_gain=0.0,
        max_features=tried,
        n_threads=1,
    )
    times = RowDraw(n, n, bootstrap=True).times(0)
    drawn, weights = rows_where(times > 0), times.astype(np.float64)
    tree = grower.grow_classes(labels, weights, drawn, 0)
    looks = float(tree.count[tree.feature >= 0].sum()) * tried
    growth = np.array([timed(partial(grower.grow_classes, labels, weights, drawn, 0), 5)[1] for _ in range(rounds)])
    counting = np.array(
        [
            _core.histogram_seconds(binned.codes, bins.n_bins, labels, 2, weights, None, 5, 1).min() / (n * p)
            for _ in range(rounds)
        ]
    )
    findings.add(
        Figure(
            f"one tree, {n:,} x {p}, {tried} columns tried: growth over its floor",
            "counting alone",
            "x",
            Spread.of(growth / (looks * counting)),
            at_least=False,
            clock="cpu",
            remark=f"{1e3 * np.median(growth):.3g} ms; {looks / 1e6:.3g}M rows x columns "
            f"at {1e9 * np.median(counting):.2g} ns",
        )
    )


def measure(findings: Findings, quick: bool) -> None:
    """Forests of 100 trees on 100,000 x 28, on 2,000 x 10, and of numbers; two jobs."""
    n, small, trees, rounds = (5_000, 1_000, 10, 2) if quick else (100_000, 2_000, 100, 3)
    findings.settings = {"rows": [n, small], "trees": trees, "rounds": rounds, "jobs": JOBS}
    train, test = collisions(n, seed=0), collisions(n, seed=1)
    options: dict[str, Any] = {"n_estimators": trees, "random_state": 0, "n_jobs": JOBS}
    race(
        findings,
        f"forest, {trees} trees, {n:,} x 28",
        RandomForestClassifier(**options),
        PeerClassifier(**options),
        train,
        test,
        rounds,
        faster=10,
        closer=0.003,
    )
    race(
        findings,
        f"forest, {trees} trees, {small:,} x 10",
        RandomForestClassifier(**options),
        PeerClassifier(**options),
        hastie(small, seed=0),
        hastie(10_000, seed=1),
        rounds,
    )
    X, y = train[0][: n // 10], train[0][: n // 10, 21] + 0.1 * train[1][: n // 10]
    numbers = {
        "committee": partial(RandomForestRegressor(**options).fit, X[:, :21], y),
        "scikit-learn": partial(PeerRegressor(**options).fit, X[:, :21], y),
    }
    work = f"regression forest, {trees} trees, {n // 10:,} x 21: fit"
    findings.add_ratio(work, "scikit-learn", interleave(numbers, rounds), "scikit-learn", "committee")
    curve(findings, train, trees, rounds)
    floor(findings, train, 3 * rounds)


if __name__ == "__main__":
    command("forest", measure)
