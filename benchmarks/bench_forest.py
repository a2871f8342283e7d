"""Random forests beside those of others: whole fits, test errors, the price of the out-of-bag curve; and the floor.

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

import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier as PeerClassifier
from sklearn.ensemble import RandomForestRegressor as PeerRegressor

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, interleave, timed
from benchmarks.peak_memory import FIT_IN, memory_figure, print_peak
from benchmarks.r_side import r_has, r_numbers
from benchmarks.races import OURS, PLAIN, Program, Target, race
from benchmarks.tables import Table, collisions, hastie
from committee import RandomForestClassifier, RandomForestRegressor, _core
from committee.data.bins import Binned
from committee.data.table_schema import TableSchema
from committee.learners.bagging.subsamples import RowDraw, rows_where

JOBS = 1
SCIKIT_LEARN, RANGER = "scikit-learn", "ranger (R)"
FEWEST = 20
DISTINCT = 0.632
"""Share of the rows that a bootstrap draw has at least once."""
CAPTION = (
    "All grow the same number of trees and try the root of the number of columns at each split, on one thread. Ours, "
    "scikit-learn's and ranger's see bootstrap draws; LightGBM's and XGBoost's see 63.2 % of the rows without "
    "replacement, as many as a draw has. Of 20 rows in a leaf LightGBM may have as many leaves as that allows, and "
    "XGBoost, which limits the sum of hessians (1/4 a row at the start of classes alike in number), is told 5; ranger "
    "is left out there, as the version that was there limits the rows of a node that is split, not those of a leaf. On "
    "100,000 rows trees to the last row are left out for LightGBM and XGBoost, as they take them minutes and "
    "gigabytes. Ours with `calibrate=None` does what the peers do; as it comes it also calibrates its probabilities by "
    "the out-of-bag votes."
)


def forests(trees: int, fewest: int) -> dict[str, Any]:
    """Both of ours, and scikit-learn's: trees of any depth with so many rows in a leaf."""
    options: dict[str, Any] = {
        "n_estimators": trees,
        "min_samples_leaf": fewest,
        "random_state": 0,
        "n_jobs": JOBS,
    }
    ours = RandomForestClassifier(**options)
    return {OURS: ours, PLAIN: clone(ours).set_params(calibrate=None), SCIKIT_LEARN: PeerClassifier(**options)}


def histogram_forests(trees: int, fewest: int, n: int, p: int) -> dict[str, Any]:
    """Forests of the libraries of boosting, which find splits in histograms as ours do."""
    alike: dict[str, Any] = {
        "n_estimators": trees,
        "subsample": DISTINCT,
        "colsample_bynode": int(np.sqrt(p)) / p,
        "random_state": 0,
        "n_jobs": JOBS,
    }
    found: dict[str, Any] = {}
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        found["LightGBM rf"] = LGBMClassifier(
            boosting_type="rf",
            num_leaves=n // fewest,
            min_child_samples=fewest,
            min_child_weight=0.0,
            subsample_freq=1,
            max_bin=255,
            verbose=-1,
            **alike,
        )
    if find_spec("xgboost"):
        from xgboost import XGBRFClassifier

        found["XGBRFClassifier"] = XGBRFClassifier(
            max_depth=0, min_child_weight=fewest / 4, max_bin=255, reg_lambda=0.0, tree_method="hist", **alike
        )
    return found


class Ranger:
    """ranger in R, on the same rows, which it reads from files; it times its own fit."""

    error = float("nan")

    def __init__(self, folder: Path, train: Table, test: Table, trees: int) -> None:
        p = train[0].shape[1]
        self.arguments = (folder, p, trees, int(np.sqrt(p)), JOBS)
        for name, (X, y) in (("train", train), ("test", test)):
            np.asfortranarray(X).ravel(order="F").tofile(folder / f"{name}.X")
            y.astype(np.float64).tofile(folder / f"{name}.y")

    def __call__(self) -> tuple[float, float]:
        """Fit in a process of its own, and tell the seconds by the clock on the wall and of the processors."""
        ((wall, processor, self.error),) = r_numbers("ranger_side.R", *self.arguments)
        return wall, processor


def curve(findings: Findings, train: Table, n_estimators: int, rounds: int) -> None:
    """What `oob_score` costs: every row through the trees that did not see it, and the error after every tree."""
    X, y = train
    plain, judged = (
        RandomForestClassifier(n_estimators, oob_score=oob, calibrate=None, random_state=0, n_jobs=JOBS)
        for oob in (False, True)
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


MANY_CLASSES = ((5_000, 100, 8.0), (5_000, 500, 10.0), (400, 400, None))
"""Rows, classes, and how many times as fast as scikit-learn fits are to be."""


def around_centres(n: int, n_classes: int) -> Table:
    """Rows of 20 columns with unit noise around a centre of their class; all classes have rows."""
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(n_classes, 20))
    y = rng.permutation(np.arange(n) % n_classes)
    return centre[y] + rng.normal(size=(n, 20)), y


def many_classes(findings: Findings, rounds: int, quick: bool) -> None:
    """Time and peak memory of fits of many classes."""
    for n, n_classes, target in MANY_CLASSES[: 1 if quick else None]:
        X, y = around_centres(n, n_classes)
        work = f"forest, 100 trees, {n:,} x 20, {n_classes} classes: fit"
        programs = {name: partial(model.fit, X, y) for name, model in forests(100, 1).items()}
        findings.add_ratio(work, SCIKIT_LEARN, interleave(programs, rounds), SCIKIT_LEARN, OURS, target)
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "X.npy", X)
            np.save(Path(folder) / "y.npy", y)
            findings.add(memory_figure(work, "forest", folder, OURS, [SCIKIT_LEARN]))


def fit_and_print(folder: Path, name: str) -> None:
    """Fit a forest to the table of a folder, and print its peak memory."""
    print_peak(forests(100, 1)[name], np.load(folder / "X.npy"), np.load(folder / "y.npy"), first=20)


def measure(findings: Findings, quick: bool) -> None:
    """Forests of 20 trees on 100,000 x 28, to the last row and with 20 in a leaf, and of 100 on 2,000 x 10; numbers."""
    n, small, trees, rounds = (5_000, 1_000, 10, 2) if quick else (100_000, 2_000, 20, 3)
    findings.settings = {"rows": [n, small], "trees": trees, "rounds": rounds, "jobs": JOBS}
    findings.caption = CAPTION
    train, test = collisions(n, seed=0), collisions(n, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        programs: dict[str, Program] = {}
        if r_has("ranger"):
            programs[RANGER] = Ranger(Path(folder), train, test, trees)
        else:
            findings.settings["left out"] = "ranger: there is no Rscript, or it has no package ranger"
        race(
            findings,
            f"forest, {trees} trees, {n:,} x 28",
            forests(trees, 1),
            train,
            test,
            rounds,
            programs=programs,
            target=Target(SCIKIT_LEARN, faster=10, closer=0.003),
        )
    race(
        findings,
        f"forest, {trees} trees of {FEWEST} rows in a leaf, {n:,} x 28",
        forests(trees, FEWEST) | histogram_forests(trees, FEWEST, n, train[0].shape[1]),
        train,
        test,
        rounds,
    )
    few = hastie(small, seed=0), hastie(10_000, seed=1)
    many = 10 if quick else 100
    models = forests(many, 1) | histogram_forests(many, 1, small, few[0][0].shape[1])
    race(findings, f"forest, {many} trees, {small:,} x 10", models, *few, rounds)
    X, y = train[0][: n // 10], train[0][: n // 10, 21] + 0.1 * train[1][: n // 10]
    options: dict[str, Any] = {"n_estimators": trees, "random_state": 0, "n_jobs": JOBS}
    numbers = {
        OURS: partial(RandomForestRegressor(**options).fit, X[:, :21], y),
        SCIKIT_LEARN: partial(PeerRegressor(**options).fit, X[:, :21], y),
    }
    work = f"regression forest, {trees} trees, {n // 10:,} x 21: fit"
    findings.add_ratio(work, SCIKIT_LEARN, interleave(numbers, rounds), SCIKIT_LEARN, OURS)
    many_classes(findings, rounds, quick)
    curve(findings, train, trees, rounds)
    floor(findings, train, 3 * rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == [FIT_IN]:
        fit_and_print(Path(sys.argv[2]), sys.argv[3])
    else:
        command("forest", measure)
