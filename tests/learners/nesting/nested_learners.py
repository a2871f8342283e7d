"""Learners of probabilistic voters, and a small table to fit them on."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.learners.nesting.nested_classifier import NestedClassifier

Floats = NDArray[np.float64]
LEARNERS: list[NestedClassifier] = [
    ProbabilisticAdaBoostClassifier(5, random_state=0),
    BoostingTreeClassifier(6, random_state=0),
    MatryoshkaClassifier(levels=2, random_state=0),
    MatryoshkaClassifier("greedy", max_voters=6, random_state=0),
]
every_learner = pytest.mark.parametrize("model", LEARNERS, ids=lambda model: f"{type(model).__name__[:11]}")


def table(n: int = 100, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)


def fitted(model: NestedClassifier, X: Any, y: Any, **given: Any) -> NestedClassifier:
    return clone(model).set_params(**given).fit(X, y)  # type: ignore[no-any-return]
