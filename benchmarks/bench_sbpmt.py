"""SBPMT: the boosting kernel beside its NumPy twin, folds beside the authors' program, prediction beside a forest."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from benchmarks.figures import Figure, Findings, both, command
from benchmarks.pairing import Spread, Trial, Work, interleave, timed
from benchmarks.r_side import r_has, r_numbers
from committee import SBPMTClassifier, _core
from committee.data.design import Design
from committee.data.readers.table_reader import read_table
from committee.data.readers.tables import split_target
from committee.data.table_schema import TableSchema
from committee.papers.sbpmt.table2 import classifier
from tests.oracles import linear_boost as oracle

AUTHORS = "the authors' program"
AUTHORS_SECONDS = {"wdbc": (15.0, 20.0), "vehicle": (60.0, 94.2)}
"""What the authors' R and C++ program took once, on one core of an AMD EPYC (family 26) server: 10 folds with M = 21,
T = 5, B = 100; the lower and the higher of its times. For runs in which R or their package is not installed."""
RECORDED = "recorded earlier, on an AMD EPYC; not timed in this run"
CAPTION = (
    "The authors' program has the settings of its paper in both rows, and grows a tree for each class; ours grows one "
    "tree for all. A fold of ours and one of theirs are timed in turn, each in one thread, theirs within R."
)

STEPS = 100


def measure(findings: Findings, quick: bool) -> None:
    """The boosting kernel against NumPy, folds against the authors' program, prediction against a forest."""
    rounds = 3 if quick else 9
    findings.settings = {"rounds": rounds, "threads": 1, "steps": STEPS}
    folder = os.environ.get("COMMITTEE_DATA")
    _kernel(findings, rounds)
    _prediction(findings, rounds)
    _sizes(findings, quick)
    if folder is None:
        findings.settings["left out"] = "wdbc, vehicle and letter: COMMITTEE_DATA names no folder of tables"
        return
    if not r_has("SBPMT"):
        findings.settings["not timed"] = "the authors' program: R or its package SBPMT is not installed"
    findings.caption = CAPTION
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


def _sizes(findings: Findings, quick: bool) -> None:
    """One fit of many classes, and one of many rows."""
    random = np.random.default_rng(0)
    n, K = (500, 50) if quick else (5_000, 500)
    y = np.concatenate([np.arange(K), random.integers(K, size=n - K)])
    clusters = random.normal(scale=1.5, size=(K, 10))[y] + random.normal(size=(n, 10))
    rows = random.normal(size=(1_000 if quick else 100_000, 10))
    score = rows[:, 0] * rows[:, 1] + rows[:, 2] + np.sin(3.0 * rows[:, 3]) + random.normal(size=len(rows))
    for work, X, target, ceiling in (
        (f"fit, {n:,} x 10, {K} classes", clusters, y, 20.0),
        (f"fit, {len(rows):,} x 10, 2 classes", rows, score > 0, 8.0),
    ):
        fit = partial(SBPMTClassifier(random_state=0).fit, X, target)
        wall, processor = timed(fit, 1)
        findings.add(
            Figure(work, "", "s", Spread.of([processor]), ceiling, at_least=False, clock="cpu", wall=Spread.of([wall]))
        )


def _folds(findings: Findings, folder: Path, name: str, n_folds: int) -> None:
    """Fit and predict on folds of ten, beside the authors' program, or beside what it once took."""
    X, y = table(folder, name)
    splits = list(StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y))[:n_folds]
    models = {"defaults": SBPMTClassifier(random_state=0), "the paper's settings": classifier("paper", 0)}
    with tempfile.TemporaryDirectory() as place:
        theirs = _authors(Path(place), X, y, splits) if r_has("SBPMT") else None
        seconds: dict[str, list[tuple[float, float]]] = {who: [] for who in (*models, *((AUTHORS,) if theirs else ()))}
        errors: dict[str, list[float]] = {who: [] for who in seconds}
        for fold, (train, test) in enumerate(splits):
            for who, model in models.items():
                seconds[who].append(timed(partial(_answers, model, X, y, train, test), 1))
                errors[who].append(float(np.mean(model.predict(X[test]) != y[test])))
            if theirs:
                wall, processor, error = theirs(fold)
                seconds[AUTHORS].append((wall, processor))
                errors[AUTHORS].append(error)
    trial = Trial(
        {who: np.array(each)[:, 0] for who, each in seconds.items()},
        {who: np.array(each)[:, 1] for who, each in seconds.items()},
        dict.fromkeys(seconds, 1),
    )
    for who in models:
        work = f"{name}, fit and predict on {n_folds} of ten folds, {who}"
        if theirs:
            quality = both("error", 100.0 * np.mean(errors[who]), 100.0 * np.mean(errors[AUTHORS]), 2, " %")
            findings.add_ratio(work, AUTHORS, trial, AUTHORS, who, 50.0, quality=quality)
            continue
        whole = float(trial.cpu[who].sum()) * 10 / n_folds
        for recorded in AUTHORS_SECONDS[name]:
            ratio = Spread.of(recorded / whole)
            findings.add(Figure(work, f"{AUTHORS}, recorded: {recorded:g} s", "x", ratio, clock="cpu", remark=RECORDED))


def _answers(model: Any, X: Any, y: NDArray[Any], train: NDArray[Any], test: NDArray[Any]) -> None:
    """Fit on some rows, and predict others."""
    model.fit(X[train], y[train]).predict(X[test])


def _authors(
    place: Path, X: Any, y: NDArray[Any], splits: list[tuple[NDArray[Any], NDArray[Any]]]
) -> Callable[[int], list[float]]:
    """The authors' program on a fold: seconds by the clock on the wall and of the processors, and the error."""
    fold = np.zeros(len(y), dtype=np.int64)
    for number, (_, test) in enumerate(splits, start=1):
        fold[test] = number
    target = pl.Series("target", np.unique(y, return_inverse=True)[1])
    X.with_columns(target, pl.Series("fold", fold)).write_csv(place / "table.csv")
    return lambda number: r_numbers("sbpmt_authors.R", place / "table.csv", number + 1)[0]


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
    work, remark = "one fit of letter, 18,000 rows, 26 classes, 2 jobs", "by the clock on the wall"
    findings.add(Figure(work, "", "s", seconds, 60.0, at_least=False, remark=remark))


if __name__ == "__main__":
    command("sbpmt", measure)
