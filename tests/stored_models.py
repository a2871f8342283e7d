"""Models for the tests of saving and loading, and files of them that are not what they should be."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator

from committee.learners.bagging.subagging import SubaggingClassifier
from committee.learners.boosting.adaboost import AdaBoostClassifier
from committee.learners.trees.tree import AbstainingStump, TreeVoter


def table(n: int = 120) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers, few and many categories, missing values in both."""
    rng = np.random.default_rng(0)
    size, colour = rng.normal(size=n), rng.integers(0, 3, size=n)
    place = rng.integers(0, 40, size=n)
    y = (size + (colour == 1) + (place % 3 == 0) + 0.3 * rng.normal(size=n) > 0.7).astype(int) + (colour == 2)
    missing = rng.random((2, n)) < 0.15
    frame = pl.DataFrame(
        {
            "size": np.where(missing[0], np.nan, size),
            "colour": [None if gone else "rgb"[c] for c, gone in zip(colour, missing[1], strict=True)],
            "place": [f"p{p}" for p in place],
        }
    )
    return frame, y


def matrix(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * X[:, 2] > 0, "yes", "no")
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def boosted(**params: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(**({"n_estimators": 5, "max_depth": 2, "random_state": 0} | params))


LEARNERS: dict[str, Callable[[], BaseEstimator]] = {
    "discrete": lambda: boosted(vote="discrete"),
    "confidence": lambda: boosted(vote="confidence"),
    "subagged": lambda: SubaggingClassifier(boosted(), n_estimators=3, random_state=0),
    "soft": lambda: SubaggingClassifier(TreeVoter(max_depth=2), n_estimators=3, voting="soft", random_state=0),
    "nested": lambda: SubaggingClassifier(
        SubaggingClassifier(boosted(vote="confidence"), n_estimators=2), n_estimators=2, random_state=0
    ),
    "tree": lambda: TreeVoter(max_depth=4),
}
BINARY: dict[str, Callable[[], BaseEstimator]] = {
    "abstaining": lambda: boosted(vote="abstaining", max_depth=1),
    "abstaining stump": AbstainingStump,
}


@cache
def small_file() -> tuple[bytes, np.ndarray]:
    """A small model's file, and what it must answer to `table`."""
    X, y = table()
    model = boosted(n_estimators=2, vote="discrete").fit(X, y)
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes(), model.predict_proba(X)
