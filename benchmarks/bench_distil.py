"""What a committee of ensembles loses when it is distilled to a hundredth of its nodes, or pruned to a third.

``python -m benchmarks.bench_distil`` fits `CommitteeClassifier` and `CommitteeRegressor` on four of five folds of each
table of `benchmarks.default_tables` that has no more than 5,000 rows, distils it, and judges both on the other fold;
``--way prune`` prunes it. Cells are kept in `results/distil/`.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from benchmarks.code import kept_cells
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from committee import CommitteeClassifier, CommitteeRegressor
from committee.files.journal import Journal
from committee.learners.blend.candidates import Effort

MOST_ROWS = 5000
FLOOR = 0.01  # of losses, as in benchmarks.bench_committee


def loss(model: Any, problem: Problem, rows: NDArray[np.intp]) -> float:
    """Log loss or mean squared error, of classes no less than 0.01."""
    X, y = problem.X[rows], problem.y[rows]
    if problem.numbers:
        return float(np.mean((model.predict(X) - y) ** 2))
    return max(FLOOR, float(log_loss(y, np.maximum(model.predict_proba(X), 1e-15), labels=model.classes_)))


def cell(problem: Problem, effort: Effort, split: int, way: str, max_nodes: float) -> dict[str, Any]:
    """Fit, distil or prune, and judge both on one fold."""
    train, test = list(problem.splits(5, 0))[split]
    kind = CommitteeRegressor if problem.numbers else CommitteeClassifier
    categorical = problem.categorical if problem.categorical.any() else None
    model = kind(effort, categorical_features=categorical, random_state=split, n_jobs=1)
    model.fit(problem.X[train], problem.y[train])
    known = test if problem.numbers else test[np.isin(problem.y[test], model.classes_)]
    start = time.process_time()
    found: dict[str, Any] = {}
    if way == "distil":
        distilled = model.distil(problem.X[train], max_nodes=max_nodes)
        small = distilled.model
        found = {"student": distilled.student, "estimate": [distilled.score_before, distilled.score]}
    else:
        small = model.prune(max_nodes)
    seconds = time.process_time() - start
    both = (model, small)
    return found | {
        "nodes": [one.committee_.n_nodes for one in both],
        "seconds": seconds,
        "loss": [loss(one, problem, known) for one in both],
        "score": [float(one.score(problem.X[known], problem.y[known])) for one in both],
    }


def cells(
    folder: Path, half: str, effort: Effort, splits: int, way: str, max_nodes: float, journal: Journal
) -> Iterator[dict[str, Any]]:
    """All cells of a half, those that the journal has first."""
    yield from journal.cells
    done = {(c["table"], c["fold"]) for c in journal.cells}
    for problem in problems(folder, half):
        for split in range(splits):
            if len(problem.X) > MOST_ROWS or (problem.name, split) in done:
                continue
            where = {"table": problem.name, "fold": split, "numbers": problem.numbers}
            journal.append({**where, **cell(problem, effort, split, way, max_nodes)})
            yield journal.cells[-1]


def report(findings: Findings, found: list[dict[str, Any]], max_nodes: float) -> None:
    """Points of accuracy, or of R2, that are lost: what was measured, and what `distil` had estimated."""
    for numbers, what in ((False, "accuracy"), (True, "R2")):
        tables: dict[str, list[Any]] = {}
        for one in found:
            if one["numbers"] == numbers:
                tables.setdefault(one["table"], []).append(one)
        if not tables:
            continue

        def mean(of: Callable[[dict[str, Any]], float], tables: dict[str, list[Any]] = tables) -> NDArray[np.float64]:
            return np.array([np.mean([of(c) for c in each]) for each in tables.values()])

        lost = 100.0 * mean(lambda c: c["score"][0] - c["score"][1])
        told = ""
        if "estimate" in found[0]:
            told = f", estimated {100.0 * mean(lambda c: c['estimate'][0] - c['estimate'][1]).mean():.2f}"
        ratio = np.exp(mean(lambda c: np.log(c["loss"][1] / c["loss"][0])).mean())
        seconds = np.median([c["seconds"] for each in tables.values() for c in each])
        findings.settings[what] = {name: round(float(x), 2) for name, x in zip(tables, lost, strict=True)}
        findings.add(
            Figure(
                f"{what} lost with {max_nodes:g} of the nodes",
                "the committee",
                "points",
                Spread.of(lost),
                target=None,
                at_least=False,
                remark=f"mean {lost.mean():.2f} ± {lost.std(ddof=1) / np.sqrt(len(lost)):.2f} of {len(lost)} tables"
                f"{told}; ratio of losses {ratio:.3f} (geometric mean); median of {seconds:.1f} s",
            )
        )


def main() -> None:
    """Measure what is missing, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_distil", description=__doc__)
    parser.add_argument("--half", choices=("choosing", "checking"), default="checking")
    parser.add_argument("--effort", choices=("fast", "default"), default="fast")
    parser.add_argument("--splits", type=int, default=1, help="folds that are fitted, at most five")
    parser.add_argument("--way", choices=("distil", "prune"), default="distil")
    parser.add_argument("--max-nodes", type=float, help="share of the nodes; a hundredth, or to prune a third")
    options, rest = parser.parse_known_args()
    if options.max_nodes is None:
        options.max_nodes = 0.01 if options.way == "distil" else 0.33

    def measure(findings: Findings, quick: bool) -> None:
        """Committees of ensembles, distilled."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {**vars(options)}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        way = "" if options.way == "distil" else f"_{options.way}"
        journal_of = RESULTS / "distil" / f"{options.half}_{options.effort}{way}.jsonl"
        with warnings.catch_warnings(), kept_cells(journal_of, {"max_nodes": options.max_nodes}, __name__) as journal:
            warnings.simplefilter("ignore")
            how = (options.effort, options.splits, options.way, options.max_nodes)
            report(findings, list(cells(Path(folder), options.half, *how, journal)), options.max_nodes)

    name = options.way if options.half == "checking" else f"{options.way}_choosing"
    command(name if options.effort == "fast" else f"{name}_{options.effort}", measure, arguments=rest)


if __name__ == "__main__":
    main()
