"""Gradient boosting as it comes beside other libraries as they come, on tables that its defaults were not chosen on.

``python -m benchmarks.bench_defaults`` reads the tables of the folder that COMMITTEE_DATA names, fits every model on
the same folds, one thread each, and prints mean ranks by log loss, error and squared error, tables won against each
rival, and fit times by processor time. ``--half choosing`` is for choosing. Each cell is kept in `results/defaults/` at
once, and a run goes on where it was stopped; remove the file when a program has changed. Peers that are not installed
are left out. ``--anew committee LightGBM`` fits these alone and takes the mean losses of the others from the results.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.code import kept_cells
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from benchmarks.rivals import BOOSTERS
from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.files.journal import Journal

OURS = "committee"
LEAST_PROBABILITY = 1e-15
LEAST_LOSS = 0.01
"""Where losses are below, their ratio says nothing: log losses of tables that are learned by heart."""
MODULES = {
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "CatBoost": "catboost",
    "scikit-learn": "sklearn",
    "ChimeraBoost": "chimeraboost",
    "explainable boosting": "interpret",
}


def _ours(numbers: bool, categorical: NDArray[np.bool_], seed: int) -> Any:
    kind = GradientBoostingRegressor if numbers else GradientBoostingClassifier
    return kind(categorical_features=categorical if categorical.any() else None, random_state=seed)


def models() -> dict[str, Callable[[bool, NDArray[np.bool_], int], Any]]:
    """Ours and the peers that are installed."""
    peers = {name: make for name, make in BOOSTERS.items() if find_spec(MODULES[name.partition(",")[0]])}
    return {OURS: _ours, **peers}


@dataclass(frozen=True)
class Measures:
    """A fit judged on test rows."""

    loss: float
    """Mean log loss, or mean squared error."""
    error: float
    """Share of wrong classes, or mean squared error."""
    seconds: float
    """Processor time of the fit."""


def fitted(problem: Problem, make: Any, train: NDArray[np.intp], seed: int) -> tuple[Any, NDArray[Any], float]:
    """A model of the training rows of a split, the classes that they have, in order, and its processor time."""
    y, known = problem.y[train], np.empty(0)
    if not problem.numbers:
        known, y = np.unique(y, return_inverse=True)
    model = make(problem.numbers, problem.categorical, seed)
    begun = time.process_time()
    model = model.fit(problem.X[train], y)
    return model, known, time.process_time() - begun


def judged(problem: Problem, model: Any, known: NDArray[Any], test: NDArray[np.intp], seconds: float) -> Measures:
    """Judge a model of the classes `known`, in order, or of numbers, on test rows."""
    if problem.numbers:
        error = float(np.mean((problem.y[test] - np.ravel(model.predict(problem.X[test]))) ** 2))
        return Measures(error, error, seconds)
    said = np.full((len(test), int(problem.y.max()) + 1), LEAST_PROBABILITY)
    said[:, known] = np.maximum(model.predict_proba(problem.X[test]), LEAST_PROBABILITY)
    said /= said.sum(axis=1, keepdims=True)
    met = np.isin(problem.y[test], known)  # a class that no training row has says nothing about a model
    losses = -np.log(said[np.arange(len(test)), problem.y[test]])[met]
    return Measures(float(losses.mean()), float(np.mean(said.argmax(axis=1) != problem.y[test])), seconds)


Models = dict[str, Callable[[bool, NDArray[np.bool_], int], Any]]


def cells(
    folder: Path,
    half: str,
    n_seeds: int,
    n_splits: int,
    journal: Journal,
    makers: Models,
    held: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """All cells of a half, those that the journal has first; the first fold of all tables comes before the second.

    A model whose name is in `held` has another one in itself, its attribute ``held``, which is judged by that name.
    """
    yield from journal.cells
    held = held or {}
    done = {(c["table"], c["model"], c["seed"], c["fold"]) for c in journal.cells}
    for seed, fold in product(range(n_seeds), range(n_splits)):
        for problem in problems(folder, half):
            train, test = list(problem.splits(5, seed))[fold]
            for name, make in makers.items():
                wanted = [one for one in (name, held.get(name)) if one and (problem.name, one, seed, fold) not in done]
                if not wanted:
                    continue
                model, known, seconds = fitted(problem, make, train, seed)
                for one in wanted:
                    found = judged(problem, model if one == name else model.held, known, test, seconds)
                    where = {"table": problem.name, "numbers": problem.numbers, "model": one}
                    journal.append({**where, "seed": seed, "fold": fold, **vars(found)})
                    yield journal.cells[-1]


def in_common(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells of folds that all models have, so that none is judged by easier ones."""
    names = {c["model"] for c in found}
    have: dict[tuple[str, int, int], set[str]] = {}
    for c in found:
        have.setdefault((c["table"], c["seed"], c["fold"]), set()).add(c["model"])
    return [c for c in found if have[c["table"], c["seed"], c["fold"]] == names]


def beside_earlier(
    findings: Findings, found: list[dict[str, Any]], anew: Sequence[str], results: Path
) -> list[dict[str, Any]]:
    """One cell for each table and model: the means of models fitted `anew`, and for others those of earlier results."""
    before = json.loads(results.read_text(encoding="utf-8"))
    earlier = before["settings"]
    findings.settings["fitted anew"] = list(anew)
    findings.settings["others fitted"] = earlier.get("others fitted", before["machine"]["date"])
    names = list(dict.fromkeys(c["model"] for c in found))
    cells = []
    for (table, numbers), name in product(dict.fromkeys((c["table"], c["numbers"]) for c in found), names):
        means = {measure: _mean(found, table, name, measure) for measure in ("loss", "error", "seconds")}
        cells.append({"table": table, "numbers": numbers, "model": name, "seed": 0, "fold": 0, **means})
    losses = {False: ("classes: log loss", "classes: error"), True: ("numbers: squared error",) * 2}
    for one in [c for c in cells if c["model"] == names[0]]:
        loss, error = (earlier[words][one["table"]] for words in losses[one["numbers"]])
        cells += [
            one | {"model": name, "loss": loss[name], "error": error[name], "seconds": np.nan}
            for name in loss
            if name not in names
        ]
    return cells


def report(findings: Findings, found: list[dict[str, Any]], among: str = "") -> None:
    """Ranks, wins and times of the models over tables; figures begin with the words of `among`."""
    found = in_common(found)
    names = list(dict.fromkeys(c["model"] for c in found))
    findings.settings[f"{among}folds that all models have"] = {
        table: len({(c["seed"], c["fold"]) for c in found if c["table"] == table})
        for table in dict.fromkeys(c["table"] for c in found)
    }
    for numbers in (False, True):
        tables = list(dict.fromkeys(c["table"] for c in found if c["numbers"] is numbers))
        if not tables:
            continue
        means = {
            measure: np.array([[_mean(found, table, name, measure) for name in names] for table in tables])
            for measure in ("loss", "error", "seconds")
        }
        kind, least = (f"{among}numbers", 0.0) if numbers else (f"{among}classes", LEAST_LOSS)
        measures = (("loss", "squared error"),) if numbers else (("loss", "log loss"), ("error", "error"))
        for measure, words in measures:
            ranks = rankdata(means[measure].round(8), axis=1)
            findings.settings[f"{kind}: {words}"] = {
                table: dict(zip(names, row.round(5).tolist(), strict=True))
                for table, row in zip(tables, means[measure], strict=True)
            }
            for name, column in zip(names, ranks.T, strict=True):
                findings.add(_mean_figure(f"{kind}: rank by {words}, {len(tables)} tables", name, column))
        for rival in names[1:]:
            won = means["loss"][:, 0] < means["loss"][:, names.index(rival)]
            findings.add(
                Figure(f"{kind}: tables won of {len(tables)}", rival, "", Spread.of([won.sum()]), None, at_least=True)
            )
            ratio_of_losses = np.maximum(means["loss"][:, 0], least) / np.maximum(
                means["loss"][:, names.index(rival)], least
            )
            words = f"{kind}: loss, ours over theirs (geometric mean {np.exp(np.log(ratio_of_losses).mean()):.3f})"
            findings.add(Figure(words, rival, "x", Spread.of(ratio_of_losses), None, at_least=False))
            if not np.isfinite(means["seconds"][:, names.index(rival)]).all():
                continue
            ratio = means["seconds"][:, 0] / means["seconds"][:, names.index(rival)]
            total = means["seconds"][:, 0].sum() / means["seconds"][:, names.index(rival)].sum()
            words = f"{kind}: fit time, ours over theirs (of all tables together {total:.2f})"
            findings.add(Figure(words, rival, "x", Spread.of(ratio), None, at_least=False, clock="cpu"))


def _mean(found: list[dict[str, Any]], table: str, name: str, measure: str) -> float:
    return float(np.mean([c[measure] for c in found if c["table"] == table and c["model"] == name]))


def _mean_figure(work: str, name: str, column: NDArray[np.float64]) -> Figure:
    mean, error = float(column.mean()), float(column.std(ddof=1) / np.sqrt(len(column)))
    return Figure(work, name, "", Spread(mean, mean - error, mean + error, column.min(), column.max(), len(column)))


def main() -> None:
    """Measure what is missing, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_defaults", description=__doc__)
    parser.add_argument("--half", choices=("choosing", "checking"), default="checking")
    parser.add_argument("--seeds", type=int, default=2, help="shuffles of the rows")
    parser.add_argument("--splits", type=int, default=5, help="folds of each shuffle that are fitted, at most five")
    parser.add_argument("--anew", nargs="+", metavar="MODEL", help="models to fit; losses of the others are kept")
    options, rest = parser.parse_known_args()
    name = "defaults" if options.half == "checking" else f"defaults_{options.half}"

    def measure(findings: Findings, quick: bool) -> None:
        """Gradient boosting's defaults beside those of other libraries."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"half": options.half, "seeds": options.seeds, "splits": options.splits}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        with (
            warnings.catch_warnings(),
            kept_cells(RESULTS / "defaults" / f"{options.half}.jsonl", {}, __name__) as journal,
        ):
            warnings.simplefilter("ignore")
            makers = {one: make for one, make in models().items() if one in (options.anew or models())}
            found = list(cells(Path(folder), options.half, options.seeds, options.splits, journal, makers))
        if options.anew:
            found = beside_earlier(findings, found, options.anew, RESULTS / f"{name}.json")
        report(findings, found)

    command(name, measure, arguments=rest)


if __name__ == "__main__":
    main()
