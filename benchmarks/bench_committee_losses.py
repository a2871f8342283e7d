"""The committee of ensembles for other losses of numbers, beside boosting alone and other libraries on the same loss.

``python -m benchmarks.bench_committee_losses`` fits medians and a quantile of the tables of numbers of
`benchmarks.default_tables`, in the folder that COMMITTEE_DATA names, and judges them by absolute error and pinball loss
on test rows. Cells are kept in `results/committee_losses/`.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.bench_defaults import MODULES
from benchmarks.code import kept_cells
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from benchmarks.rivals import BOOSTERS, CatBoost
from committee import CommitteeRegressor, GradientBoostingRegressor
from committee.files.journal import Journal
from committee.learners.blend.weights import resolve_loss, row_losses

Flags = NDArray[np.bool_]
LOSSES = {"absolute error": ("absolute_error", 0.5), "pinball loss of 0.9": ("quantile", 0.9)}
"""Name and quantile of each loss."""


def _ours(kind: Any, **settings: Any) -> Callable[[str, float, Flags, int], Any]:
    def make(loss: str, quantile: float, categorical: Flags, seed: int) -> Any:
        columns = categorical if categorical.any() else None
        return kind(loss=loss, quantile=quantile, categorical_features=columns, random_state=seed, **settings)

    return make


def _lightgbm(loss: str, quantile: float, categorical: Flags, seed: int) -> Any:
    objective = {"objective": "mae"} if loss == "absolute_error" else {"objective": "quantile", "alpha": quantile}
    return BOOSTERS["LightGBM"](True, categorical, seed).set_params(**objective)


def _catboost(loss: str, quantile: float, categorical: Flags, seed: int) -> Any:
    name = "MAE" if loss == "absolute_error" else f"Quantile:alpha={quantile}"
    return CatBoost(True, categorical, seed, loss_function=name)


def models() -> dict[str, Callable[[str, float, Flags, int], Any]]:
    """The committee by two efforts, boosting alone, and the peers that are installed."""
    own = {
        "committee": _ours(CommitteeRegressor),
        "committee, fast": _ours(CommitteeRegressor, effort="fast"),
        "gradient boosting": _ours(GradientBoostingRegressor),
    }
    peers = {"LightGBM": _lightgbm, "CatBoost": _catboost}
    return own | {name: make for name, make in peers.items() if find_spec(MODULES[name])}


def measured(
    problem: Problem, make: Any, words: str, train: NDArray[np.intp], test: NDArray[np.intp], seed: int
) -> dict[str, float]:
    """Fit on training rows; loss, share of targets below the prediction, and processor time of the fit."""
    loss, quantile = LOSSES[words]
    begun = time.process_time()
    model = make(loss, quantile, problem.categorical, seed).fit(problem.X[train], problem.y[train])
    seconds = time.process_time() - begun
    said, y = np.ravel(model.predict(problem.X[test])), problem.y[test]
    lost = float(row_losses(resolve_loss(loss, quantile), y, said).mean())
    return {"loss": lost, "below": float(np.mean(y < said)), "seconds": seconds}


def cells(folder: Path, half: str, n_splits: int, journal: Journal) -> list[dict[str, Any]]:
    """All cells of a half; those that the journal lacks are measured."""
    done = {(c["table"], c["of"], c["model"], c["fold"]) for c in journal.cells}
    for problem in problems(folder, half):
        if not problem.numbers:
            continue
        for fold, (train, test) in list(enumerate(problem.splits(5, 0)))[:n_splits]:
            for words in LOSSES:
                for name, make in models().items():
                    if (problem.name, words, name, fold) not in done:
                        where = {"table": problem.name, "of": words, "model": name, "fold": fold}
                        journal.append({**where, **measured(problem, make, words, train, test, 0)})
    return list(journal.cells)


def report(findings: Findings, found: list[dict[str, Any]]) -> None:
    """Ranks, ratios of losses, and times over tables."""
    names = list(models())
    tables = list(dict.fromkeys(c["table"] for c in found))
    for words in LOSSES:

        def means(of: str, words: str = words) -> NDArray[np.float64]:
            here = [c for c in found if c["of"] == words]
            return np.array(
                [
                    [np.mean([c[of] for c in here if (c["table"], c["model"]) == (t, name)]) for name in names]
                    for t in tables
                ]
            )

        losses, seconds, below = means("loss"), means("seconds"), means("below")
        ranks = rankdata(losses.round(8), axis=1)
        findings.settings[words] = {
            table: dict(zip(names, row.round(5).tolist(), strict=True))
            for table, row in zip(tables, losses, strict=True)
        }
        for k, name in enumerate(names):
            remark = f"{below[:, k].mean():.3f} of the targets below"
            work = f"{words}: rank, {len(tables)} tables"
            findings.add(Figure(work, name, "", Spread.of([ranks[:, k].mean()]), at_least=False, remark=remark))
        for k, rival in enumerate(names[1:], 1):
            ratio = losses[:, 0] / losses[:, k]
            work = f"{words}: loss, ours over theirs (geometric mean {np.exp(np.log(ratio).mean()):.3f})"
            won = f"{int((ratio < 1.0).sum())} of {len(tables)} tables won"
            findings.add(Figure(work, rival, "x", Spread.of(ratio), at_least=False, remark=won))
            time_ratio = Spread.of(seconds[:, 0] / seconds[:, k])
            findings.add(Figure(f"{words}: fit time, ours over theirs", rival, "x", time_ratio, clock="cpu"))


def main() -> None:
    """Measure what is missing, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_committee_losses", description=__doc__)
    parser.add_argument("--half", choices=("choosing", "checking"), default="checking")
    parser.add_argument("--splits", type=int, default=5, help="folds that are fitted, at most five")
    options, rest = parser.parse_known_args()

    def measure(findings: Findings, quick: bool) -> None:
        """Medians and quantiles by committees of ensembles beside boosting."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"half": options.half, "splits": options.splits}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        path = RESULTS / "committee_losses" / f"{options.half}.jsonl"
        with warnings.catch_warnings(), kept_cells(path, {}, __name__) as journal:
            warnings.simplefilter("ignore")
            found = cells(Path(folder), options.half, options.splits, journal)
        report(findings, found)

    name = "committee_losses" if options.half == "checking" else "committee_losses_choosing"
    command(name, measure, arguments=rest)


if __name__ == "__main__":
    main()
