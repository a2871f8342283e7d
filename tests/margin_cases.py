"""Small tables, and votes on them, for the learners that look at margins."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tests.subjects import numbers


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


def assert_short_runs_bound_what_is_left(model: Any, objective: str, lengths: tuple[int, ...]) -> None:
    """A run cut short warns, and its duality gap is at least the objective that it has left."""
    X, y = numbers(2, 300)
    best = getattr(clone(model).fit(X, y), objective)[0]
    for most in lengths:
        with pytest.warns(ConvergenceWarning, match=f"n_estimators={most} ended the run.*Raise n_estimators"):
            short = clone(model).set_params(n_estimators=most).fit(X, y)
        assert short.committee_.n_voters <= most
        assert 0 < best - getattr(short, objective)[0] <= short.duality_gap_[0] + 1e-6


class Watcher:
    """A callback that does nothing; its kinds say what they do after a task."""

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None, y: Any = None) -> None:
        pass


class Diary(Watcher):
    """Writes down an attribute after each round; may stop the run."""

    def __init__(self, name: str, stop_after: int = 10_000) -> None:
        self.name, self.stop_after = name, stop_after
        self.rounds: list[Any] = []

    def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any = None, fitted_estimator: Any = None) -> bool:
        if context.task_name == "round":
            self.rounds.append((getattr(fitted_estimator, self.name), fitted_estimator.predict_proba(X)))
        return len(self.rounds) >= self.stop_after
