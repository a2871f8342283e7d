"""The soft margin by column generation beside scipy's `linprog` on one dense program, and a fit of LPBoost."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.datasets import make_classification

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, collect, interleave, timed
from benchmarks.tables import collisions, hastie
from committee import LPBoostClassifier
from committee.objectives.programs.soft_margin import SoftMarginSolution, soft_margin

F64 = NDArray[np.float64]


def stump_votes(n: int, n_columns: int, n_thresholds: int, seed: int) -> NDArray[np.int8]:
    """y_i h_j(x_i) of stumps and their complements, on normal columns of which four say something of y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    score = X[:, 0] + 0.7 * X[:, 1] * (X[:, 2] > 0) + 0.5 * X[:, 3] + 0.5 * rng.normal(size=n)
    cuts = np.quantile(X, np.arange(1, n_thresholds + 1) / (n_thresholds + 1), axis=0)
    votes = np.where(X[:, :, None] > cuts.T[None], 1, -1).reshape(n, -1).astype(np.int8)
    signed = votes * np.where(score > 0, 1, -1).astype(np.int8)[:, None]
    return np.hstack([signed, -signed])


def dense_program(signed: NDArray[np.int8], nu: float) -> float:
    """The primal program as a textbook has it, given to scipy whole; its value."""
    n, N = signed.shape
    cost = np.concatenate([np.zeros(N), [-1.0], np.full(n, 1.0 / (nu * n))])
    A = np.hstack([-signed.astype(np.float64), np.ones((n, 1)), -np.eye(n)])
    adds_up = np.concatenate([np.ones(N), np.zeros(1 + n)])[None]
    bounds = [(0, None)] * N + [(None, None)] + [(0, None)] * n
    found = linprog(cost, A, np.zeros(n), adds_up, [1.0], bounds)
    if found.status != 0:
        raise RuntimeError(f"linprog: {found.message}")
    return -float(found.fun)


def race(findings: Findings, n: int, n_columns: int, nu: float, rounds: int) -> None:
    """Both on the same votes; then how far their values are apart, and our duality gap."""
    signed = stump_votes(n, n_columns, 10, seed=0)
    reached: dict[str, Any] = {}
    trial = collect(
        {
            "committee": lambda: timed(lambda: reached.update(ours=soft_margin(signed, nu)), 1),
            "one program of all voters": lambda: timed(
                lambda: reached.update(whole=soft_margin(signed, nu, generate=False)), 1
            ),
            "scipy": lambda: timed(lambda: reached.update(theirs=dense_program(signed, nu)), 1),
        },
        rounds,
    )
    ours: SoftMarginSolution = reached["ours"]
    work = f"soft margin, {n:,} rows x {signed.shape[1]:,} voters, nu = {nu}"
    findings.add_ratio(work, "scipy linprog, dense", trial, "scipy", "committee", 5)
    findings.add_ratio(
        f"{work}: column generation", "one dual program", trial, "one program of all voters", "committee"
    )
    findings.add(
        Figure(
            f"{work}: difference of the values",
            "scipy linprog, dense",
            "",
            Spread.of(abs(ours.value - reached["theirs"])),
            target=1e-8,
            at_least=False,
            remark=f"value {ours.value:.9f}, duality gap {ours.gap:.1e}, {np.count_nonzero(ours.weights)} voters",
        )
    )


def fits(findings: Findings, n: int, rounds: int) -> None:
    """A whole fit; no other library has the learner, so its seconds stand alone."""
    X, y = collisions(n, seed=0)
    models = {
        "stumps": LPBoostClassifier(0.8),
        "all stumps": LPBoostClassifier(0.8, dictionary="all_stumps"),
        "trees": LPBoostClassifier(0.8, dictionary="trees"),
    }
    for name, model in models.items():
        seconds_of_fit(findings, f"LPBoost fit, {name}, {n:,} x 28", model, X, y, rounds)


def fits_of_many_voters(findings: Findings, n: int, rounds: int) -> None:
    """Fits at the defaults, with their calibration: a margin from many stumps, and a table without a soft margin."""
    several = make_classification(n, 10, n_informative=6, n_redundant=2, flip_y=0.1, class_sep=0.8, random_state=0)
    ball = hastie(n, seed=0)
    for name, (X, y) in {"many stumps": several, "a ball, no soft margin": ball}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that nu is too small
            seconds_of_fit(findings, f"LPBoost fit, defaults, {name}, {n:,} x 10", LPBoostClassifier(), X, y, rounds)


def seconds_of_fit(findings: Findings, work: str, model: LPBoostClassifier, X: F64, y: Any, rounds: int) -> None:
    """Processor time of a fit, with its gap and voters."""
    trial = interleave({"committee": lambda: model.fit(X, y)}, rounds)
    findings.record(work, trial)
    remark = f"duality gap {model.duality_gap_[0]:.1e}, {model.committee_.n_voters} voters"
    findings.add(Figure(work, "", "s", Spread.of(trial.seconds("committee")), clock="cpu", remark=remark))


def measure(findings: Findings, quick: bool) -> None:
    """Soft margin of 5,000 rows and 2,000 voters, complements among them; LPBoost fits of 5,000 and 10,000 rows."""
    n, n_columns, rounds = (1_000, 20, 1) if quick else (5_000, 100, 3)
    findings.settings = {"rows": n, "voters": 20 * n_columns, "rounds": rounds, "threads": 1}
    race(findings, n, n_columns, 0.4, rounds)
    fits(findings, n, rounds)
    fits_of_many_voters(findings, 2 * n, rounds)


if __name__ == "__main__":
    command("lpboost", measure)
