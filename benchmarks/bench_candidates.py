"""Estimators of other libraries as candidates of a committee of ensembles: what the vote gains, and the time it takes.

``python -m benchmarks.bench_candidates`` fits `CommitteeClassifier("fast")` without and with pipelines of scikit-learn,
LightGBM's boosting and pytabkit's network RealMLP, if installed, on folds of six tables of numbers, of the choosing
half, in the folder that COMMITTEE_DATA names.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.bench_defaults import LEAST_LOSS, judged
from benchmarks.default_tables import problems
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import CommitteeClassifier

TABLES = ("parkinsons", "wdbc", "fourclass", "yeast", "waveform_noise", "optdigits")
N_FOLDS = 3


def estimators() -> dict[str, Any]:
    """A kernel machine, nearest neighbours and a network on scaled columns, and those of other libraries."""
    others: dict[str, Any] = {}
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        others["LightGBM"] = LGBMClassifier(n_jobs=1, verbose=-1)
    if find_spec("pytabkit"):
        from pytabkit import RealMLP_TD_Classifier

        others["RealMLP"] = RealMLP_TD_Classifier(device="cpu", random_state=0, n_threads=1)
    return {
        "SVC": make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False)),
        "nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
        "network": make_pipeline(StandardScaler(), MLPClassifier()),
        **others,
    }


def cells(folder: Path, quick: bool) -> Iterator[dict[str, Any]]:
    """Log loss, error and processor time of each committee on each fold, and the weight of the estimators."""
    for problem in problems(folder, "choosing"):
        if problem.name not in (TABLES[:1] if quick else TABLES):
            continue
        for fold, (train, test) in enumerate(problem.splits(N_FOLDS, 1)):
            more = {"none": [], **{name: [(name, one)] for name, one in estimators().items()}}
            more["all"] = list(estimators().items())
            for name, given in more.items():
                model = CommitteeClassifier("fast", candidates=["default", *given], random_state=0)
                begun = time.process_time()
                model.fit(problem.X[train], problem.y[train])
                found = judged(problem, model, np.unique(problem.y[train]), test, time.process_time() - begun)
                pairs = zip(model.member_names_, model.member_weights_.tolist(), strict=True)
                weight = sum(w for one, w in pairs if one in dict(given))
                yield {"table": problem.name, "fold": fold, "candidates": name, "weight": weight} | vars(found)


def measure(findings: Findings, quick: bool) -> None:
    """Committees with estimators of another library beside those without."""
    folder = os.environ.get("COMMITTEE_DATA")
    if folder is None:
        findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(cells(Path(folder), quick))
    tables = list(dict.fromkeys(cell["table"] for cell in found))
    names = list(dict.fromkeys(cell["candidates"] for cell in found))

    def means(name: str, measured: str) -> Any:
        of = [[c[measured] for c in found if (c["table"], c["candidates"]) == (table, name)] for table in tables]
        return np.array(of).mean(axis=1)

    for name in names[1:]:
        loss, before = (np.maximum(means(one, "loss"), LEAST_LOSS) for one in (name, "none"))
        ratio = Spread.of(np.exp(np.log(loss / before).mean(keepdims=True)))
        findings.add(Figure(f"log loss with {name}, {len(tables)} tables", "without", "x", ratio, at_least=False))
        points = Spread.of(100.0 * (means("none", "error") - means(name, "error")).mean(keepdims=True))
        findings.add(Figure(f"accuracy with {name}", "without", "points more", points))
        ratio = Spread.of(np.exp(np.log(means(name, "seconds") / means("none", "seconds")).mean(keepdims=True)))
        findings.add(Figure(f"fit time with {name}", "without", "x", ratio, at_least=False, clock="cpu"))
    for table in tables:
        findings.settings[table] = {
            name: {key: round(float(means(name, key)[tables.index(table)]), 4) for key in ("loss", "error", "weight")}
            for name in names
        }


if __name__ == "__main__":
    command("candidates", measure)
