"""Small tables, and votes on them, for the learners that look at margins."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.subjects import Callback


def small(seed: int, n_classes: int = 2) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Few rows, some of them alike, of three columns with few values."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    X = rng.integers(0, 6, size=(n, 3)).astype(float)
    y = np.clip((X[:, 0] + rng.normal(size=n)) // (7 / n_classes), 0, n_classes - 1).astype(np.int64)
    y[:n_classes] = np.arange(n_classes)
    X[:2, 0] = 0.0, 5.0
    return X, y


def without_noise(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of which no two that are alike are of two classes, so that votes of stumps can be right on most or all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(8, 20)), 4))
    y = (X @ rng.normal(size=4) > 0).astype(np.int64)
    y[:2] = 0, 1
    return X, y


def signed_votes(model: Any, X: Any, y: NDArray[Any]) -> NDArray[Any]:
    """y_i h_t(x_i) of a committee of two classes, ``(n, T)``."""
    signed: NDArray[Any] = np.where(y == model.classes_[1], 1, -1)[:, None] * model.committee_.votes(X)
    return signed


class Diary(Callback):
    """Writes down an attribute after each round; may stop the run."""

    def __init__(self, name: str, stop_after: int = 10_000) -> None:
        self.name, self.stop_after = name, stop_after
        self.rounds: list[Any] = []

    def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any = None, fitted_estimator: Any = None) -> bool:
        if context.task_name == "round":
            self.rounds.append((getattr(fitted_estimator, self.name), fitted_estimator.predict_proba(X)))
        return len(self.rounds) >= self.stop_after
