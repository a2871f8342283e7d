"""Gradient boosting beside LightGBM, XGBoost and scikit-learn: equal rounds, leaves, step and bins; and the floor."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.bench_histogram import kernel
from benchmarks.figures import Figure, Findings, both, command
from benchmarks.pairing import Clock, Spread, Work, collect, interleave, timed
from benchmarks.peak_memory import FIT_IN, memory_figure, print_peak
from benchmarks.tables import Table, collisions, hastie
from committee import GradientBoostingClassifier, _core
from committee.data.bins import Binned, Bins
from committee.data.table_schema import TableSchema

LEAVES, STEP, BINS, FEWEST = 31, 0.1, 255, 20
OURS = "committee"
CAPTION = (
    "All are told the same number of rounds and leaves, learning rate and bins, leaf-wise growth, all rows and columns "
    "and no penalty. A leaf of ours, LightGBM's and scikit-learn's has at least 20 rows and a hessian of 0.001. "
    "XGBoost cannot count rows: its least hessian is that of 20 rows at the start, where all classes are alike (5 for "
    "two, 4.4 for eight). As the probabilities grow sure a row's hessian falls, and the same limit asks for more rows; "
    "so XGBoost also stands without it, at a hessian of 0.001."
)


def least_hessian(n_classes: int) -> float:
    """What 20 rows have at equal probabilities: p (1 - p) each, which XGBoost doubles for more than two classes."""
    p = 1.0 / n_classes
    return FEWEST * p * (1.0 - p) * (2.0 if n_classes > 2 else 1.0)


def contenders(rounds: int, threads: int, n_classes: int = 2) -> dict[str, Any]:
    """All programs, told the same as far as they can be: see the caption."""
    alike: dict[str, Any] = {
        "max_leaf_nodes": LEAVES,
        "learning_rate": STEP,
        "max_bins": BINS,
        "min_samples_leaf": FEWEST,
    }
    light = partial(
        lightgbm.LGBMClassifier,
        n_estimators=rounds,
        num_leaves=LEAVES,
        learning_rate=STEP,
        max_bin=BINS,
        min_child_samples=FEWEST,
        n_jobs=threads,
        verbose=-1,
    )
    extreme = partial(
        xgboost.XGBClassifier,
        n_estimators=rounds,
        max_leaves=LEAVES,
        max_depth=0,
        grow_policy="lossguide",
        learning_rate=STEP,
        max_bin=BINS,
        reg_lambda=0.0,
        tree_method="hist",
        n_jobs=threads,
    )
    return {
        OURS: GradientBoostingClassifier(
            n_estimators=rounds,
            leaf="constant",
            leaf_l2=0.0,
            subsample=1.0,
            max_features=None,
            max_features_tree=None,
            extra_trees=False,
            n_jobs=threads,
            **alike,
        ),
        "LightGBM": light(),
        "LightGBM, quantised": light(use_quantized_grad=True),
        "XGBoost hist": extreme(min_child_weight=least_hessian(n_classes)),
        "XGBoost hist, leaves of any size": extreme(min_child_weight=1e-3),
        "scikit-learn hist": HistGradientBoostingClassifier(max_iter=rounds, early_stopping=False, **alike),
    }


@dataclass(frozen=True)
class Race:
    """One table, and what is asked of our fit on it."""

    name: str
    train: Callable[[], Table]
    test: Callable[[], Table]
    rounds: int
    threads: int
    target: float
    repeats: int
    close: bool = True
    """The test log loss may not be 0.5 % above the fastest peer's; on few rows rounding noise itself regularises."""


def run(findings: Findings, race: Race) -> None:
    """All fits in turn; our time as a ratio to each, the fastest against the target; then the log losses."""
    X, y = race.train()
    models = contenders(race.rounds, race.threads, int(y.max()) + 1)
    clock: Clock = "cpu" if race.threads == 1 else "wall"
    with threadpool_limits(limits=race.threads):
        works: dict[str, Work] = {name: partial(model.fit, X, y) for name, model in models.items()}
        trial = interleave(works, race.repeats)
        losses = {name: log_loss(*_told(model, race.test())) for name, model in models.items()}
    work = f"{race.name}, {race.rounds} rounds of {LEAVES} leaves, {race.threads} thread{'s' * (race.threads > 1)}"
    findings.record(work, trial)
    peers = [name for name in models if name != OURS]
    fastest = min(peers, key=lambda name: float(np.median(trial.seconds(name, clock))))
    for name in peers:
        findings.add(
            Figure(
                f"{work}: fit",
                name,
                "x",
                trial.ratio(name, OURS, clock),
                race.target if name == fastest else None,
                clock=clock,
                wall=trial.ratio(name, OURS, "wall"),
                remark="the fastest peer" if name == fastest else "",
                quality=both("log loss", losses[OURS], losses[name]),
            )
        )
    findings.add(
        Figure(
            f"{work}: test log loss above the fastest peer's",
            fastest,
            "%",
            Spread.of(100.0 * (losses[OURS] / losses[fastest] - 1.0)),
            target=0.5 if race.close else None,
            at_least=False,
            remark=", ".join(f"{name} {loss:.4f}" for name, loss in losses.items()),
        )
    )


def defaults_of_eight_classes(findings: Findings, n: int, repeats: int) -> None:
    """Default settings of ours and LightGBM's, trials included."""
    X, y = eight_classes(n)
    X_test, y_test = eight_classes(n, 1)
    peer = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1)
    models: dict[str, Any] = {OURS: GradientBoostingClassifier(n_jobs=1), "LightGBM": peer}
    works: dict[str, Work] = {name: partial(model.fit, X, y) for name, model in models.items()}
    with threadpool_limits(limits=1):
        trial = interleave(works, repeats)
        losses = [log_loss(y_test, model.predict_proba(X_test)) for model in models.values()]
    work = f"{n:,} x 28, 8 classes, defaults, 1 thread"
    findings.record(work, trial)
    ratio, quality = trial.ratio("LightGBM", OURS, "cpu"), both("log loss", *losses)
    findings.add(Figure(f"{work}: fit", "LightGBM", "x", ratio, 1.0, clock="cpu", quality=quality))


def _told(model: Any, test: Table) -> tuple[Any, Any]:
    return test[1], model.predict_proba(test[0])


def eight_classes(n: int, seed: int = 0) -> Table:
    """`collisions`, its label the eighth of a noisy score of ten columns."""
    X, _ = collisions(n, seed)
    noise = np.random.default_rng(seed + 1_000).normal(size=n)
    score = X[:, 21] + X[:, 22] - X[:, 23] + np.abs(X[:, 27]) + 0.5 * X[:, 12] * X[:, 13] + 0.7 * noise
    edges = [0.46, 1.23, 1.86, 2.47, 3.12, 3.87, 4.94]
    return X, np.searchsorted(edges, score)


def wide(n: int, seed: int = 0) -> Table:
    """100 Gaussian columns, the first ten of which matter as in `hastie`."""
    X = np.random.default_rng(seed).normal(size=(n, 100))
    return X, (np.square(X[:, :10]).sum(axis=1) > 9.34).astype(np.int64)


def parts(findings: Findings, train: Table, rounds: int, repeats: int) -> None:
    """What a fit is made of, each part called on its own, and the floor: rows touched x features x the kernel's time.

    A tree cannot do with less than one histogram of all rows and one of each smaller child.
    """
    X, y = train
    labels = y.astype(np.uint16)
    table = TableSchema.learn(X)
    binned = Binned.of(X, None, table, BINS)
    model = contenders(rounds, 1)[OURS].fit(X, y)
    grower = _grower(binned)
    F, gradient, hessian = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
    _core.loss_gradients("logistic", labels, F, None, gradient, hessian, 1)
    tree = grower.grow(gradient, hessian, None, None, 0)
    forest = model.committee_.voters
    split = np.flatnonzero(forest.left >= 0)
    first = split + forest.left[split] - (split - _within(forest.offset, split))
    smaller = np.minimum(forest.count[first], forest.count[first + 1]).sum()
    touched = (len(forest) * len(y) + smaller) / len(forest)
    works: dict[str, Work] = {
        "whole fit": lambda: model.fit(X, y),
        "schema and encoding": lambda: TableSchema.learn(X).encode(X),
        "edges of the bins": lambda: Bins.learn(X, None, table.n_categories, BINS),
        "codes": lambda: binned.bins.encode(X),
        "codes by column, and their check": lambda: _grower(binned),
        "each round: gradients": lambda: _core.loss_gradients("logistic", labels, F, None, gradient, hessian, 1),
        "each round: tree": lambda: grower.grow(gradient, hessian, None, None, 0),
        "each round: new scores": lambda: _core.add_leaf_values(F, grower.leaf_of_row, tree.value[:, 0], 1),
    }
    calls = {name: 5 if name.startswith("each round") else 1 for name in works}
    measures = {name: partial(timed, work, calls[name]) for name, work in works.items()}
    one_histogram = kernel(binned.codes, binned.bins.n_bins, labels, np.full(len(y), 1.0), None)
    trial = collect({**measures, "one histogram of all rows": one_histogram}, repeats)
    findings.record(f"parts of a fit, {len(y):,} x {X.shape[1]}, {rounds} rounds of {LEAVES} leaves", trial)
    findings.settings["parts"] = {"rounds": rounds, "rows touched per tree": touched}
    floor = trial.cpu["one histogram of all rows"] * touched / len(y) * rounds
    findings.add(
        Figure(
            f"{len(y):,} x {X.shape[1]}, {rounds} rounds: fit over the floor of its histograms",
            "",
            "x",
            Spread.of(trial.cpu["whole fit"] / floor),
            clock="cpu",
            remark=f"a tree touches {touched / len(y):.2f} times the rows; floor {float(np.median(floor)):.2f} s",
        )
    )


def _grower(binned: Binned) -> _core.GradientGrower:
    return _core.GradientGrower(
        binned.codes,
        binned.bins.n_bins,
        binned.bins.categorical,
        n_outputs=1,
        max_depth=0,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=FEWEST,
        min_hessian_leaf=0.0,
        leaf_l0=0.0,
        leaf_l1=0.0,
        leaf_l2=0.0,
        l0_per_leaf=False,
        min_gain=0.0,
        max_features=0,
        growth="leaf",
        monotone=None,
        max_interaction=0,
        interaction_groups=[],
        draw_thresholds=0.0,
        n_threads=1,
    )


def _within(offset: Any, nodes: Any) -> Any:
    """Number of each node within its tree."""
    return nodes - offset[np.searchsorted(offset, nodes, side="right") - 1]


# --- memory -----------------------------------------------------------------------------------------------------------


def fit_and_tell(folder: Path, name: str) -> None:
    """In a process of its own: read the table, fit, and print the peak above the input."""
    print_peak(contenders(10, 1)[name], np.load(folder / "X.npy"), np.load(folder / "y.npy"))


def memory(findings: Findings, table: Table) -> None:
    """Peak memory of every program above the input; ours at most the leanest peer's."""
    X, y = table
    peers = [name for name in contenders(1, 1) if name != OURS]
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        findings.add(memory_figure(f"{len(X):,} x {X.shape[1]}", "gradient_boosting", folder, OURS, peers))


def measure(findings: Findings, quick: bool) -> None:
    """Gradient boosting fits of five sizes, eight classes, two threads, defaults; memory; parts of a fit, floor."""
    large, middle = (50_000, 10_000) if quick else (1_000_000, 100_000)
    rounds = 10 if quick else 100
    unseen = partial(collisions, 100_000, 1)
    races = [
        Race("1,000 x 10", partial(hastie, 1_000), partial(hastie, 20_000, 1), 100, 1, 3.0, 3 if quick else 21, False),
        Race("10,000 x 100", partial(wide, 10_000), partial(wide, 20_000, 1), rounds, 1, 1.5, 2 if quick else 7, False),
        Race(f"{middle:,} x 28", partial(collisions, middle), unseen, rounds, 1, 1.5, 2 if quick else 7),
        Race(
            f"{middle:,} x 28, 8 classes",
            partial(eight_classes, middle),
            partial(eight_classes, 100_000, 1),
            5 if quick else 50,
            1,
            1.5,
            2 if quick else 3,
        ),
        Race(f"{large:,} x 28", partial(collisions, large), unseen, rounds, 1, 1.5, 2 if quick else 3),
        Race(f"{large:,} x 28", partial(collisions, large), unseen, rounds, 2, 1.5, 2 if quick else 3),
    ]
    findings.caption = CAPTION
    findings.settings = {"repeats": {race.name: race.repeats for race in races}, "leaves": LEAVES, "step": STEP}
    for race in races:
        run(findings, race)
    defaults_of_eight_classes(findings, middle, 2 if quick else 3)
    table = collisions(large)
    memory(findings, table)
    with threadpool_limits(limits=1):
        parts(findings, table, rounds, 2 if quick else 5)


if __name__ == "__main__":
    if sys.argv[1:2] == [FIT_IN]:
        fit_and_tell(Path(sys.argv[2]), sys.argv[3])
    else:
        command("gradient_boosting", measure, one_thread=False)
