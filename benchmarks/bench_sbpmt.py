"""SBPMT: the boosting kernel beside its NumPy twin, folds beside the authors' program, prediction beside a forest."""

from __future__ import annotations

import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, Work, interleave
from committee import SBPMTClassifier, _core
from committee.data.design import Design
from committee.data.frames import TableSchema
from committee.data.read import read_table, split_target
from tests.oracles import linear_boost as oracle

AUTHORS_SECONDS = {"wdbc": (15.0, 20.0), "vehicle": (60.0, 94.2)}
"""The authors' R and C++ program, one core of an AMD EPYC (family 26) server: 10 folds with M = 21, T = 5, B = 100. Not
measured in this run; the lower and the higher of its times."""

STEPS = 100


def measure(findings: Findings, quick: bool) -> None:
    """The boosting kernel against NumPy, ten folds against the authors' program, prediction against a forest."""
    rounds = 3 if quick else 9
    findings.settings = {"rounds": rounds, "threads": 1, "steps": STEPS}
    folder = os.environ.get("COMMITTEE_DATA")
    _kernel(findings, rounds)
    _prediction(findings, rounds)
    if folder is None:
        findings.settings["left out"] = "wdbc, vehicle and letter: COMMITTEE_DATA names no folder of tables"
        return
    for name in AUTHORS_SECONDS:
        _folds(findings, Path(folder), name, 1 if quick else 5)
    _against_numpy(findings, Path(folder), 1 if quick else 5)
    if not quick:
        _letter(findings, Path(folder))


def table(folder: Path, name: str) -> tuple[Any, NDArray[Any]]:
    """A table by its catalogue entry."""
    entry = next(e for e in json.loads((folder / "catalogue.json").read_text()) if e["name"] == name)
    return split_target(read_table(folder / entry["file"], categorical=[*entry["categorical"], "target"]), "target")


def _kernel(findings: Findings, rounds: int) -> None:
    """Arithmetic rate of the kernel on one leaf, beside the machine's matrix product."""
    random = np.random.default_rng(0)
    square = random.normal(size=(1000, 1000))
    for n, q in ((592, 18), (60, 60)):
        D = random.normal(size=(n, q))
        labels = (D[:, 0] + random.normal(size=n) > 0).astype(np.uint16)
        rows, start, weights = np.arange(n, dtype=np.int32), np.array([0, n]), np.full(n, 1.0 / n)
        boost = partial(
            _core.linear_boost, D, rows, start, labels, weights, 1, "probit", STEPS, 0.0, 1e6, False, True, 1
        )
        taken = int((boost()[3] >= -1).sum())
        trial = interleave({"boost": boost, "dgemm": partial(np.matmul, square, square)}, rounds)
        work = f"boosting one leaf, {n} rows x {q} features, {taken} steps"
        findings.record(work, trial)
        # six operations per row and feature in the sums, about 150 per row in the Newton terms
        operations = n * taken * (6 * q + 150)
        findings.add(Figure(work, "", "GFLOP/s", Spread.of(operations / trial.cpu["boost"] / 1e9), clock="cpu"))
        findings.add(Figure(f"{work}: dgemm", "", "GFLOP/s", Spread.of(2e9 / trial.cpu["dgemm"] / 1e9), clock="cpu"))


def _prediction(findings: Findings, rounds: int) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    soft = SBPMTClassifier(random_state=0).fit(X, y)
    hard = SBPMTClassifier(random_state=0, voting="hard").fit(X, y)
    theirs = RandomForestClassifier(500, random_state=0).fit(X, y)
    many = np.tile(X, (18, 1))[:10_000].copy()
    for rows, target in ((many, 20.0), (many[:1], None)):
        contenders: dict[str, Work] = {
            "soft votes": partial(soft.predict, rows),
            "hard votes": partial(hard.predict, rows),
            "scikit-learn": partial(theirs.predict, rows),
        }
        trial = interleave(contenders, rounds)
        for ours in ("hard votes", "soft votes"):
            work = f"predict, breast cancer, {len(rows):,} {'row' if len(rows) == 1 else 'rows'}, {ours}"
            findings.add_ratio(work, "scikit-learn forest of 500", trial, "scikit-learn", ours, target)
            per_row = Spread.of(trial.cpu[ours] / len(rows) * 1e6)
            findings.add(Figure(f"{work}: per row", "", "us", per_row, clock="cpu"))


def _folds(findings: Findings, folder: Path, name: str, rounds: int) -> None:
    X, y = table(folder, name)
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
            SBPMTClassifier(random_state=0).fit(X[train.tolist()], y[train]).predict(X[test.tolist()])
        seconds.append(time.process_time() - start)
    for authors, target in zip(AUTHORS_SECONDS[name], (50.0, None), strict=True):
        findings.add(
            Figure(
                f"ten folds of {name}, fit and predict",
                f"the authors' program, {authors:g} s",
                "x",
                Spread.of(authors / np.array(seconds)),
                target,
                clock="cpu",
                remark="not in this run",
            )
        )


def _against_numpy(findings: Findings, folder: Path, rounds: int) -> None:
    """All outputs of one leaf of vehicle's size: the kernel, and its twin in matrix products."""
    X, y = table(folder, "vehicle")
    schema = TableSchema.learn(X)
    encoded = schema.encode(X)[:592]
    D = Design.learn(encoded, np.ones(592), schema.n_categories).matrix(encoded)
    labels = np.unique(y[:592], return_inverse=True)[1].astype(np.uint16)
    rows, start, weights = np.arange(592, dtype=np.int32), np.array([0, 592]), np.full(592, 1.0 / 592)
    settings = oracle.Settings(n_steps=STEPS)
    contenders: dict[str, Work] = {
        "kernel": partial(
            _core.linear_boost, D, rows, start, labels, weights, 4, "probit", STEPS, 0.0, 20.0, False, False, 1
        ),
        "NumPy": partial(oracle.boost, D, oracle.signs(labels, 4), weights, settings),
    }
    trial = interleave(contenders, rounds)
    findings.add_ratio("boosting vehicle, 592 rows, 4 classes", "its NumPy twin", trial, "NumPy", "kernel", 20.0)


def _letter(findings: Findings, folder: Path) -> None:
    X, y = table(folder, "letter")
    train, _ = next(StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    X, y = X[train.tolist()], y[train]
    start = time.perf_counter()
    SBPMTClassifier(random_state=0, n_jobs=2).fit(X, y)
    seconds = Spread.of([time.perf_counter() - start])
    findings.add(Figure("one fit of letter, 18,000 rows, 26 classes, 2 jobs", "", "s", seconds, 60.0, at_least=False))


if __name__ == "__main__":
    command("sbpmt", measure)
