"""Figure 2 of the SBPMT paper: its four parameters, one at a time, on Mease and Wyner's simulation."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.papers.sbpmt.table2 import SETTINGS
from committee.papers.shared.journal import Cell, Journal
from committee.report.tables import Grid
from committee.voters.committees import BoostedCommittees

F64 = NDArray[np.float64]

DIMENSION, EFFECTIVE, NOISE = 10, 5, 0.1
"""d and E as the paper has them; it leaves q open, and 0.1 is Mease and Wyner's."""

TRAINING_ROWS, TEST_ROWS = 2000, 10000
BENCHMARK: dict[str, Any] = {
    **SETTINGS["paper"],
    "n_estimators": 5,
    "n_boosting_rounds": 5,
    "n_leaf_steps": 5,
    "max_depth": 3,
}
"""The paper's benchmark setting; each curve moves one parameter of it."""

MOST = 100
RATIOS = tuple(round(0.05 * k, 2) for k in range(1, 21))
CURVES: dict[str, tuple[float, ...]] = {
    "subagging times": tuple(range(1, MOST + 1)),
    "AdaBoost iterations": tuple(range(1, MOST + 1)),
    "ProbitBoost iterations": tuple(range(1, MOST + 1)),
    "subagging ratio": RATIOS,
}
"""The four panels: name and values of the parameter."""


def mease_wyner(n: int, random: np.random.Generator) -> tuple[F64, NDArray[np.int64]]:
    """Draw rows of the simulation: P(y = 1 | x) = q + (1 - 2q) [x_1 + ... + x_E > E/2], x uniform on the cube.

    Parameters
    ----------
    n : int
        Rows.
    random : Generator
        Draws them.

    Returns
    -------
    X : float64 array (n, 10)
    y : int64 array (n,)
        -1 and +1; the best rule errs on a tenth.

    References
    ----------
    D. Mease, A. Wyner (2008). Evidence contrary to the statistical view of boosting. JMLR 9.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.papers.sbpmt.mease_wyner import mease_wyner
    >>> X, y = mease_wyner(1000, np.random.default_rng(0))
    >>> rule = np.where(X[:, :5].sum(axis=1) > 2.5, 1, -1)
    >>> bool(0.07 < (rule != y).mean() < 0.13)
    True
    """
    X = random.random((n, DIMENSION))
    above = X[:, :EFFECTIVE].sum(axis=1) > EFFECTIVE / 2
    y = np.where(random.random(n) < NOISE + (1.0 - 2.0 * NOISE) * above, 1, -1)
    return X, y


def rebuild_figure2(
    out: Path,
    *,
    repeats: int = 1,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, F64]:
    """Run the simulation; every repeat draws new training and test rows.

    Parameters
    ----------
    out : Path
        Folder for ``cells-figure2.jsonl``, which keeps every finished repeat, and ``figure2.csv``.
    repeats : int, default=1
        Times the simulation is run; the paper seems to run it once.
    seed : int, default=0
        Seed of the rows and, with the number of the repeat, of the models.
    jobs : int, default=1
        Processes.
    progress : callable, default=None
        Called with repeats done, repeats in all and a name.

    Returns
    -------
    dict of str to float64 array (repeats, len(values))
        Test errors of each curve in `CURVES`.
    """
    from joblib import Parallel, delayed

    if repeats < 1 or jobs < 1:
        raise ValueError(f"repeats and jobs must be at least 1; got repeats={repeats}, jobs={jobs}")
    run = {"figure": 2, "rows": [TRAINING_ROWS, TEST_ROWS], "most": MOST, "seed": seed, "q": NOISE}
    run |= {"committee": version("committee"), **SBPMTClassifier(**BENCHMARK).get_params()}
    with Journal(out / "cells-figure2.jsonl", run) as journal:
        done = {cell["repeat"] for cell in journal.cells if cell["repeat"] < repeats}
        calls = (delayed(run_repeat)(seed, repeat) for repeat in range(repeats) if repeat not in done)
        count = len(done)
        for cell in Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(calls):
            journal.append(cell)
            count += 1
            if progress is not None:
                progress(count, repeats, "simulation")
        cells = sorted((cell for cell in journal.cells if cell["repeat"] < repeats), key=lambda cell: cell["repeat"])
    errors = {curve: np.array([cell["errors"][curve] for cell in cells]) for curve in CURVES}
    write_figure2(errors, out / "figure2.csv")
    return errors


def run_repeat(seed: int, repeat: int) -> Cell:
    """The four curves on one drawing of the rows."""
    random = np.random.default_rng([seed, repeat])
    X, y = mease_wyner(TRAINING_ROWS, random)
    X_test, y_test = mease_wyner(TEST_ROWS, random)

    def fitted(**changed: Any) -> SBPMTClassifier:
        model = SBPMTClassifier(**{**BENCHMARK, **changed}, random_state=repeat)
        model.fit(X, y)
        return model

    def error(**changed: Any) -> float:
        return float((fitted(**changed).predict(X_test) != y_test).mean())

    many = fitted(n_estimators=MOST).staged_predict(X_test)
    long = fitted(n_boosting_rounds=MOST)
    errors = {
        "subagging times": [float((predicted != y_test).mean()) for predicted in many],
        "AdaBoost iterations": errors_by_round(long, X_test, y_test, MOST),
        "ProbitBoost iterations": [error(n_leaf_steps=B) for B in range(1, MOST + 1)],
        "subagging ratio": [error(max_samples=ratio) for ratio in RATIOS],
    }
    return {"repeat": repeat, "errors": errors}


def errors_by_round(model: SBPMTClassifier, X: F64, y: NDArray[np.int64], most: int) -> list[float]:
    """Test errors of the binary model cut off after 1, ..., `most` boosting rounds.

    The rounds of AdaBoost do not look ahead: the first t of a long run are those of a run of t rounds, so one fit
    gives the whole curve. A committee whose boosting stopped early stays as it is.
    """
    committees = model.committee_.voters
    assert isinstance(committees, BoostedCommittees)
    sides = 2.0 * committees.members.votes(X) - 1.0
    scores = np.zeros((len(X), len(committees)))
    errors = []
    for t in range(most):
        trees = committees.start[:-1] + t
        present = trees < committees.start[1:]
        scores[:, present] += committees.alpha[trees[present]] * sides[:, trees[present]]
        majority = np.where(scores > 0.0, 1, -1).sum(axis=1)
        predicted = model.classes_[(majority > 0).astype(np.intp)]
        errors.append(float((predicted != y).mean()))
    return errors


def figure2_grid(errors: dict[str, F64]) -> Grid:
    """Mean test errors at a few values of each parameter."""
    *counts, ratio = CURVES
    body = []
    for value, share in zip((1, 2, 5, 10, 20, 50, 100), (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0), strict=True):
        cells = [f"{100 * errors[curve][:, CURVES[curve].index(value)].mean():.2f}" for curve in counts]
        last = f"{100 * errors[ratio][:, RATIOS.index(share)].mean():.2f}"
        body.append((f"{value}", *cells, f"{share:g}", last))
    title = f"Figure 2: test error in percent, mean of {len(errors[ratio])} run(s); the best rule has {100 * NOISE:g}"
    return Grid(title, ("at", *counts, "at", ratio), tuple(body), "rrrrrr")


def write_figure2(errors: dict[str, F64], path: Path) -> None:
    """Write the curves as CSV: curve, value of its parameter, mean test error and its standard error."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["parameter", "value", "test_error", "standard_error", "runs"])
        for curve, values in CURVES.items():
            for value, column in zip(values, errors[curve].T, strict=True):
                error = standard_error(column)
                writer.writerow([curve, value, f"{column.mean():.6f}", f"{error:.6f}", len(column)])


def standard_error(values: Sequence[float] | F64) -> float:
    """Standard error of a mean; 0 of a single value."""
    n = len(values)
    return float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0
