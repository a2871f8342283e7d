"""Tables for gradient boosting, and small learners of both kinds."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.typing import NDArray

from committee import GradientBoostingClassifier, GradientBoostingRegressor

Floats = NDArray[np.float64]
Table = tuple[Floats, NDArray[Any]]
seeds = st.integers(0, 2**32 - 1)
PLAIN: dict[str, Any] = {
    **{"learning_rate": 0.1, "leaf": "constant"},
    **{"subsample": 1.0, "max_features": None, "extra_trees": False},
}
"""Rounds that see all rows, columns and thresholds, with steps that no trials choose and leaves without lines."""
SMALL: dict[str, Any] = PLAIN | {"max_leaf_nodes": 6, "min_samples_leaf": 3, "leaf_l2": 5.0}


def table(n: int = 300, n_classes: int = 2, seed: int = 0, noise: float = 0.5) -> Table:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    score = X[:, 0] + X[:, 1] * X[:, 2] + noise * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def numbers(n: int = 300, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)


def learner(kind: str, **params: Any) -> GradientBoostingClassifier | GradientBoostingRegressor:
    made = GradientBoostingClassifier if kind == "classes" else GradientBoostingRegressor
    return made(**(SMALL | {"n_estimators": 8, "random_state": 0} | params))


def data(kind: str, n: int = 300, seed: int = 0) -> Table:
    return table(n, seed=seed) if kind == "classes" else numbers(n, seed)


def answer(model: Any, X: Any) -> Floats:
    return model.committee_.decision_function(model.validate_rows(X))


both = pytest.mark.parametrize("kind", ["classes", "numbers"])
