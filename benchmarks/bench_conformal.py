"""Conformal sets and intervals around a random forest: coverage, size and processor time, beside MAPIE and crepes.

Every way wraps scikit-learn's forest of 100 trees, but for the last, which is this library's own. The tables are the
checking ones (`benchmarks.default_tables`) of 150 to 1,500 rows; half of the rows train, the other half says how many
are covered. Seconds are those of all that comes before predictions, the forest's own fit among them; beside them stand
those that are left when a fit of the forest alone is taken off.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier as PeerClassifier
from sklearn.ensemble import RandomForestRegressor as PeerRegressor
from sklearn.model_selection import train_test_split

from benchmarks.default_tables import Problem, problems
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import ConformalClassifier, ConformalRegressor, RandomForestClassifier, RandomForestRegressor

ALPHA, LEAST_ROWS, MOST_ROWS, RARE = 0.1, 150, 1500, 10
OURS = "committee"
LESS = 10.0
"""Times that others' training is to take, what the forest itself takes left out."""

Rows = NDArray[np.float64]
Trained = Callable[[Rows], NDArray[Any]]
"""Sets ``(n, K)`` or ends ``(n, 2)`` of new rows."""
Way = Callable[[Rows, NDArray[Any], int], Trained]
"""Train on rows, with a seed."""


@dataclass(frozen=True)
class Covered:
    """What one way did on one split: share of rows, labels in a set or mean width, processor seconds of training."""

    share: float
    size: float
    seconds: float


def ways_of_classes(n_trees: int) -> dict[str, Way]:
    """Ways to sets of labels, by the probability of the label."""

    def ours(X: Rows, y: NDArray[Any], seed: int) -> Trained:
        return ConformalClassifier(PeerClassifier(n_trees, random_state=seed), ALPHA).fit(X, y).predict_set

    def own(X: Rows, y: NDArray[Any], seed: int) -> Trained:
        return ConformalClassifier(RandomForestClassifier(n_trees, random_state=seed), ALPHA).fit(X, y).predict_set

    def crepes(X: Rows, y: NDArray[Any], seed: int) -> Trained:
        from crepes import WrapClassifier

        model = WrapClassifier(PeerClassifier(n_trees, oob_score=True, random_state=seed))
        model.fit(X, y)
        model.calibrate(X, y, oob=True)
        return lambda new: model.predict_set(new, labels=False, confidence=1.0 - ALPHA, smoothing=False).astype(bool)

    def mapie(X: Rows, y: NDArray[Any], seed: int) -> Trained:
        from mapie.classification import CrossConformalClassifier

        forest = PeerClassifier(n_trees, random_state=seed)
        model = CrossConformalClassifier(forest, 1.0 - ALPHA, "lac", cv=5, random_state=seed).fit_conformalize(X, y)
        return lambda new: model.predict_set(new)[1][:, :, 0]

    ways: dict[str, Way] = {
        OURS: ours,
        "crepes, out of bag": crepes,
        "MAPIE, 5 folds": mapie,
        "committee, own forest": own,
    }
    return {name: way for name, way in ways.items() if _is_there(name)}


def ways_of_numbers(n_trees: int) -> dict[str, Way]:
    """Ways to intervals, by the absolute error."""

    def ours(method: str, kind: Any = PeerRegressor) -> Way:
        def way(X: Rows, y: NDArray[Any], seed: int) -> Trained:
            forest = kind(n_trees, random_state=seed)
            return ConformalRegressor(forest, ALPHA, method=method).fit(X, y).predict_interval

        return way

    def crepes(X: Rows, y: NDArray[Any], seed: int) -> Trained:
        from crepes import WrapRegressor

        model = WrapRegressor(PeerRegressor(n_trees, oob_score=True, random_state=seed))
        model.fit(X, y)
        model.calibrate(X, y, oob=True)
        return lambda new: model.predict_int(new, confidence=1.0 - ALPHA)

    def mapie(X: Rows, y: NDArray[Any], seed: int) -> Trained:
        from mapie.regression import CrossConformalRegressor

        forest = PeerRegressor(n_trees, random_state=seed)
        model = CrossConformalRegressor(forest, 1.0 - ALPHA, cv=5, random_state=seed).fit_conformalize(X, y)
        return lambda new: model.predict_interval(new)[1][:, :, 0]

    def bootstrap(X: Rows, y: NDArray[Any], seed: int) -> Trained:
        from mapie.regression import JackknifeAfterBootstrapRegressor

        forest = PeerRegressor(n_trees, random_state=seed)
        model = JackknifeAfterBootstrapRegressor(forest, 1.0 - ALPHA, resampling=30, random_state=seed)
        model.fit_conformalize(X, y)
        return lambda new: model.predict_interval(new)[1][:, :, 0]

    ways: dict[str, Way] = {
        OURS: ours("base"),
        "committee, plus": ours("plus"),
        "crepes, out of bag": crepes,
        "MAPIE, 5 folds": mapie,
        "MAPIE, 30 bootstraps": bootstrap,
        "committee, own forest": ours("base", RandomForestRegressor),
    }
    return {name: way for name, way in ways.items() if _is_there(name)}


def _is_there(way: str) -> bool:
    """Whether the library of a way is installed."""
    return find_spec(way.partition(",")[0].lower()) is not None


def covered(way: Way, problem: Problem, seed: int) -> Covered:
    """Train a way on half of a table, and look how it covers the other half."""
    both = None if problem.numbers else problem.y
    X, new, y, answers = train_test_split(problem.X, problem.y, test_size=0.5, random_state=seed, stratify=both)
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = way(X, y, seed)
        seconds = time.process_time() - begun
        found = told(new)
    if problem.numbers:
        inside = (found[:, 0] <= answers) & (answers <= found[:, 1])
        return Covered(float(inside.mean()), float((found[:, 1] - found[:, 0]).mean()), seconds)
    return Covered(float(found[np.arange(len(answers)), answers].mean()), float(found.sum(axis=1).mean()), seconds)


def alone(problem: Problem, n_trees: int, splits: int) -> float:
    """Processor seconds of the forest's own fit, a mean over the splits."""
    seconds = []
    for seed in range(splits):
        both = None if problem.numbers else problem.y
        X, _, y, _ = train_test_split(problem.X, problem.y, test_size=0.5, random_state=seed, stratify=both)
        forest = (PeerRegressor if problem.numbers else PeerClassifier)(n_trees, random_state=seed)
        begun = time.process_time()
        forest.fit(X, y)
        seconds.append(time.process_time() - begun)
    return float(np.mean(seconds))


def measure(findings: Findings, quick: bool) -> None:
    """Coverage, size and cost of sets and intervals around a forest."""
    folder, n_trees, splits = os.environ.get("COMMITTEE_DATA"), 100, 2
    if quick:
        n_trees, splits = 10, 1
    findings.settings = {"trees": n_trees, "splits": splits, "alpha": ALPHA}
    if folder is None:
        findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
        return
    every = [each for each in problems(Path(folder), "checking") if LEAST_ROWS <= len(each.X) <= MOST_ROWS]
    for what, ways, chosen in (
        ("sets", ways_of_classes(n_trees), [p for p in every if not p.numbers and np.bincount(p.y).min() >= RARE]),
        ("intervals", ways_of_numbers(n_trees), [p for p in every if p.numbers]),
    ):
        found = {
            p.name: {name: _mean_of(way, p, splits) for name, way in ways.items()}
            for p in chosen[: 3 if quick else None]
        }
        findings.settings[what] = {
            table: {name: [round(one.share, 4), round(one.size, 4), round(one.seconds, 3)] for name, one in row.items()}
            for table, row in found.items()
        }
        fit = {p.name: alone(p, n_trees, splits) for p in chosen if p.name in found}
        findings.settings[f"{what}, seconds of the forest alone"] = fit
        _report(findings, what, found, list(ways), fit)


def _mean_of(way: Way, problem: Problem, splits: int) -> Covered:
    """Means over the splits of a table."""
    each = [covered(way, problem, seed) for seed in range(splits)]
    return Covered(*(float(np.mean([getattr(one, name) for one in each])) for name in ("share", "size", "seconds")))


def _report(
    findings: Findings, what: str, found: dict[str, dict[str, Covered]], ways: list[str], fit: dict[str, float]
) -> None:
    """Coverage of each way, and of others how much larger and dearer they are, with and without the forest's fit."""
    for name in ways:
        shares = [row[name].share for row in found.values()]
        words = f"mean {np.mean(shares):.4f}, {1.0 - ALPHA:g} is asked for"
        findings.add(Figure(f"{what}: share of rows covered, {name}", "", "", Spread.of(shares), remark=words))
    for name in ways:
        if name == OURS:
            continue
        size = [row[name].size / row[OURS].size for row in found.values()]
        seconds = [row[name].seconds / row[OURS].seconds for row in found.values()]
        findings.add(Figure(f"{what}: size beside {OURS}", name, "x", Spread.of(size)))
        findings.add(Figure(f"{what}: processor time of training beside {OURS}", name, "x", Spread.of(seconds)))
        if name.startswith(OURS):
            continue
        # of all tables together, as small differences of one may be less than what a clock tells
        ours, theirs = (sum(row[way].seconds - fit[table] for table, row in found.items()) for way in (OURS, name))
        beyond = Spread.of(theirs / max(ours, 1e-9))
        work = f"{what}: processor time beyond the forest's own fit, all tables, beside {OURS}"
        findings.add(
            Figure(work, name, "x", beyond, LESS if name.startswith("MAPIE") else None, remark=f"{ours:.2f} s")
        )


if __name__ == "__main__":
    command("conformal", measure)
