"""Committees of ensembles within bounds: time limits, and both quick efforts, beside LightGBM.

``python -m benchmarks.bench_bounds`` fits generated tables of the kind of a census (six numbers, eight categories, two
classes) and one of 40 classes, on one thread, and scores them on 20,000 other rows. Time limits count processor time
here, so that a busy machine changes nothing; a single learner "fits into a limit" if it alone takes less. Limits are
also tried on tables of the folder that COMMITTEE_DATA names.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from benchmarks.default_tables import problems
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from benchmarks.rivals import BOOSTERS
from benchmarks.tables import Table
from committee import CommitteeClassifier, GradientBoostingClassifier, LogitBoostClassifier, RandomForestClassifier

LEVELS = (8, 16, 7, 14, 6, 5, 2, 41)
SIZES = {"fast": (100, 1000, 10_000, 36_000, 200_000, 1_000_000), "default": (1000, 36_000)}
LIMITS = (0.3, 1.0, 2.0, 5.0, 20.0)
LIMITS_OF_TABLES = (1.0, 3.0, 10.0, 30.0, 300.0)
N_TABLES = 15
SINGLE = (GradientBoostingClassifier, RandomForestClassifier, LogitBoostClassifier)
N_LIMITED = 36_000
N_TEST = 20_000
MOST = {"fast": 5.0, "default": 25.0}
"""Fit time over LightGBM's that is asked for."""


def census(n: int, seed: int = 0) -> Table:
    """Six numbers and eight columns of categories, two classes by additive effects and two interactions."""
    r, rule = np.random.default_rng(seed), np.random.default_rng(7)
    numbers = np.column_stack(
        [
            r.integers(17, 90, n),
            r.lognormal(12.0, 0.5, n).round(),
            r.integers(1, 17, n),
            np.where(r.random(n) < 0.08, r.lognormal(8.0, 1.2, n), 0.0).round(),
            np.where(r.random(n) < 0.05, r.normal(1870.0, 300.0, n), 0.0).round(),
            np.clip(r.normal(40.0, 12.0, n), 1.0, 99.0).round(),
        ]
    )
    codes = []
    for k in LEVELS:
        share = 1.0 / np.arange(1, k + 1) ** 0.8
        codes.append(r.choice(k, n, p=share / share.sum()))
    age, _, years, gain, loss, hours = numbers.T
    score = 0.3 * (years - 9.0) - 0.0016 * (age - 48.0) ** 2 + 0.03 * (hours - 40.0) + 1.8 * (gain > 5000)
    score += 0.8 * (loss > 1800) + sum(0.35 * rule.normal(size=k)[c] for k, c in zip(LEVELS, codes, strict=True))
    score += 0.3 * (codes[2] == 0) * (years - 9.0) - 1.2
    y = (r.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(np.int64)
    return np.column_stack([numbers, *codes]).astype(np.float64), y


CATEGORICAL = np.arange(14) >= 6


def _fit(model: Any, rows: Table, test: Table) -> tuple[float, float, Any]:
    begun = time.process_time()
    model.fit(*rows)
    seconds = time.process_time() - begun
    return seconds, float(log_loss(test[1], model.predict_proba(test[0]))), model


def _rows(n: int) -> tuple[Table, Table]:
    X, y = census(n + N_TEST)
    return (X[:n], y[:n]), (X[n:], y[n:])


def _own(kind: Any, *given: Any, **settings: Any) -> Any:
    return kind(*given, categorical_features=CATEGORICAL, random_state=0, **settings)


def efforts(findings: Findings, quick: bool) -> None:
    """Fit time, log loss and file size by the number of rows."""
    for effort, sizes in SIZES.items():
        for n in sizes[:1] if quick else sizes:
            rows, test = _rows(n)
            theirs = min(_fit(_rival(CATEGORICAL), rows, test)[0] for _ in range(3))
            loss = _fit(_rival(CATEGORICAL), rows, test)[1]
            ours, own, model = _fit(_own(CommitteeClassifier, effort), rows, test)
            plain = _fit(_own(GradientBoostingClassifier), rows, test)
            work = f'effort "{effort}": {n:,} rows, {_megabytes(model):.1f} MB'
            quality = f"log loss {own:.4f} / {loss:.4f}; boosting alone {plain[1]:.4f} in {plain[0] / theirs:.1f} x"
            spread = Spread.of([ours / theirs])
            figure = Figure(work, "LightGBM", "x", spread, MOST[effort], at_least=False, clock="cpu", quality=quality)
            findings.add(figure)


def _rival(categorical: Any) -> Any:
    return BOOSTERS["LightGBM"](False, categorical, 0)


def _megabytes(model: Any) -> float:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.stat().st_size / 1e6


def limits(findings: Findings, quick: bool) -> None:
    """Overrun and log loss of fits with a time limit."""
    n = 2000 if quick else N_LIMITED
    rows, test = _rows(n)
    alone, plain, _ = _fit(_own(GradientBoostingClassifier), rows, test)
    for seconds in LIMITS[:2] if quick else LIMITS:
        with patch.object(time, "perf_counter", time.process_time):
            took, loss, model = _fit(_own(CommitteeClassifier, "fast", time_limit=seconds), rows, test)
        names = ", ".join(model.member_names_)
        quality = f"log loss {loss:.4f} ({names}); boosting alone {plain:.4f} in {alone:.2f} s"
        most = max(1.1 * seconds, seconds + 0.5)
        work = f"time_limit={seconds:g}, {n:,} rows"
        findings.add(Figure(work, "", "s", Spread.of([took]), most, at_least=False, clock="cpu", quality=quality))


def limits_of_tables(findings: Findings, quick: bool) -> None:
    """Overrun on the largest tables of the checking half, and whether a single learner that takes less is better."""
    folder = os.environ.get("COMMITTEE_DATA")
    if folder is None or quick:
        findings.settings["left out"] = "limits on tables: for --quick, or as COMMITTEE_DATA names no folder of them"
        return
    of_classes = [one for one in problems(Path(folder), "checking") if not one.numbers]
    tables = sorted(of_classes, key=lambda one: -one.X.size)[:N_TABLES]
    found: dict[float, list[tuple[float, float]]] = {seconds: [] for seconds in LIMITS_OF_TABLES}
    for table in tables:
        train, test = next(iter(table.splits(3, 0)))
        known = np.isin(table.y[test], table.y[train])
        rows, others = (table.X[train], table.y[train]), (table.X[test][known], table.y[test][known])
        settings: Any = {
            "categorical_features": table.categorical if table.categorical.any() else None,
            "random_state": 0,
        }
        alone = [_row_losses(kind(**settings), rows, others) for kind in SINGLE]
        for seconds, each in found.items():
            with patch.object(time, "perf_counter", time.process_time):
                took, losses = _row_losses(CommitteeClassifier(time_limit=seconds, **settings), rows, others)
            behind = 0.0
            for single in [one for duration, one in alone if duration <= seconds]:
                lead = losses - single
                error = lead.std(ddof=1) / np.sqrt(len(lead))
                behind = max(behind, float(lead.mean() / error) if error > 0.0 else 0.0)
            each.append((took / max(1.1 * seconds, seconds + 0.5), behind))
    for seconds, each in found.items():
        taken, behind = np.array(each).T
        work = f"time_limit={seconds:g}, {len(tables)} tables: time over the most allowed"
        quality = f"behind a single learner in time by two standard errors on {int((behind > 2.0).sum())}"
        spread = Spread.of(taken)
        findings.add(Figure(work, "", "x", spread, 1.0, at_least=False, clock="cpu", quality=quality))


def _row_losses(model: Any, rows: Table, test: Table) -> tuple[float, NDArray[np.float64]]:
    """Processor time of a fit, and the log loss of each test row."""
    begun = time.process_time()
    model.fit(*rows)
    took = time.process_time() - begun
    place = np.searchsorted(model.classes_, test[1])
    return took, -np.log(np.maximum(model.predict_proba(test[0])[np.arange(len(place)), place], 1e-15))


def many_classes(findings: Findings, quick: bool) -> None:
    """Fit time and size of 40 classes."""
    n, k = (400, 5) if quick else (8000, 40)
    X, y = make_classification(
        n + 4000,
        20,
        n_informative=12,
        n_redundant=4,
        n_classes=k,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=0,
    )
    rows, test = (X[:n], y[:n]), (X[n:], y[n:])
    theirs, loss, _ = _fit(_rival(np.zeros(20, dtype=bool)), rows, test)
    ours, own, model = _fit(CommitteeClassifier("fast", random_state=0), rows, test)
    quality = f"log loss {own:.4f} / {loss:.4f} in {theirs:.1f} s"
    work = f'effort "fast": {n:,} rows of {k} classes'
    findings.add(Figure(work, "", "s", Spread.of([ours]), 20.0, at_least=False, clock="cpu", quality=quality))
    findings.add(Figure(f"{work}, file", "", "MB", Spread.of([_megabytes(model)]), 30.0, at_least=False))


def main() -> None:
    """Measure, print, write."""

    def measure(findings: Findings, quick: bool) -> None:
        """Committees of ensembles within bounds of time, beside LightGBM."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows, test = _rows(300)
            for model in (_own(CommitteeClassifier, "default"), _rival(CATEGORICAL)):  # imports take no part
                _fit(model, rows, test)
            for part in (efforts, limits, limits_of_tables, many_classes):
                part(findings, quick)

    command("bounds", measure)


if __name__ == "__main__":
    main()
