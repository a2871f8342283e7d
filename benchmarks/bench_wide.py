"""Default boosting on tables of many more columns than rows, with its columns screened and not, beside LightGBM.

Tables are made anew from seeds that chose nothing; losses are those of other rows, over those without screening.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, mean_squared_error

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, interleave
from committee import CommitteeClassifier, GradientBoostingClassifier, GradientBoostingRegressor

OURS, ALL = "screened columns", "all columns"
SEEDS, N_TEST = (11, 12), 2_000
Scores = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
KINDS: dict[str, Scores] = {
    "five columns": lambda X, e: X[:, :5].sum(axis=1) + e,
    "three hundred columns": lambda X, e: X[:, :300] @ np.random.default_rng(7).normal(size=300) / 6.0 + e,
    "a product": lambda X, e: 2.0 * X[:, 0] * X[:, 1] + 2.0 * X[:, 2] + X[:, 3] + 0.5 * e,
    "a factor behind 200 columns": lambda X, e: X[:, 0] + 0.5 * e,
    "rings": lambda X, e: np.abs(X[:, 0]) + np.abs(X[:, 1]) + np.sin(2.0 * X[:, 2]) + 0.5 * e,
}
"""What the score is made of, by the columns and noise."""


def table(kind: str, n: int, p: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns ``(n, p)`` of Gaussian numbers, and a score."""
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(n, p)), rng.normal(size=n)
    if "factor" in kind:
        X[:, 1:201] = 0.6 * X[:, 1:201] + 0.8 * X[:, :1]
        X, score = X[:, 1:], KINDS[kind](X, noise)
        return X, score
    return X, KINDS[kind](X, noise)


def compared(findings: Findings, n: int, p: int, seeds: tuple[int, ...], *, numbers: bool) -> None:
    """Losses and processor time of default fits on all kinds of tables."""
    ours = GradientBoostingRegressor if numbers else GradientBoostingClassifier
    peer = lightgbm.LGBMRegressor if numbers else lightgbm.LGBMClassifier
    models: dict[str, Any] = {
        OURS: ours(n_jobs=1, random_state=0),
        ALL: ours(n_jobs=1, random_state=0, max_features_tree=None),
        "LightGBM": peer(n_jobs=1, verbose=-1),
    }
    losses: dict[str, list[float]] = {name: [] for name in models}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for kind in KINDS:
        for seed in seeds:
            X, score = table(kind, n + N_TEST, p, seed)
            y = score if numbers else (score > np.median(score)).astype(np.int64)
            for name, model in models.items():
                begun = time.process_time()
                model.fit(X[:n], y[:n])
                seconds[name].append(time.process_time() - begun)
                losses[name].append(
                    mean_squared_error(y[n:], model.predict(X[n:]))
                    if numbers
                    else log_loss(y[n:], model.predict_proba(X[n:]))
                )
    work = f"{n:,} x {p:,}, {len(losses[OURS])} tables, {'squared error' if numbers else 'log loss'}"
    for name in (ALL, "LightGBM"):
        ratio = np.array(losses[OURS]) / np.array(losses[name])
        mean, won = np.exp(np.log(ratio).mean()), int((ratio < 1.0).sum())
        remark = f"geometric mean {mean:.3f}, lower on {won}"
        findings.add(Figure(f"{work}: ours over theirs", name, "x", Spread.of(ratio), at_least=False, remark=remark))
        faster = Spread.of(np.array(seconds[name]) / np.array(seconds[OURS]))
        findings.add(Figure(f"{work}: fit", name, "x", faster, clock="cpu"))


def fit_times(findings: Findings, n: int, p: int, repeats: int) -> None:
    """Seconds of default fits on one thread."""
    X, score = table("five columns", n, p, SEEDS[0])
    y = score > np.median(score)
    models = {
        "gradient boosting": GradientBoostingClassifier(n_jobs=1, random_state=0),
        "committee, fast": CommitteeClassifier("fast", n_jobs=1, random_state=0),
    }
    trial = interleave({name: partial(model.fit, X, y) for name, model in models.items()}, repeats)
    findings.record(f"{n:,} x {p:,}", trial)
    for name, most in zip(models, (8.0, 20.0), strict=True):
        reached = Spread.of(trial.seconds(name))
        findings.add(Figure(f"{n:,} x {p:,}: fit, {name}", "", "s", reached, most, at_least=False, clock="cpu"))


def measure(findings: Findings, quick: bool) -> None:
    """Fit the defaults to tables of two shapes, and time them on a third."""
    warnings.simplefilter("ignore")
    seeds = SEEDS[:1] if quick else SEEDS
    for n, p, numbers in (
        ((60, 1_100, False),) if quick else ((300, 10_000, False), (1_000, 4_000, False), (300, 4_000, True))
    ):
        compared(findings, n, p, seeds, numbers=numbers)
    fit_times(findings, *((60, 1_100, 1) if quick else (300, 20_000, 3)))


if __name__ == "__main__":
    command("wide", measure)
