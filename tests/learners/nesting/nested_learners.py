"""Learners of probabilistic voters, and a small table to fit them on."""

import numpy as np
import pytest
from sklearn.base import clone

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier

LEARNERS = [
    ProbabilisticAdaBoostClassifier(5, random_state=0),
    BoostingTreeClassifier(6, random_state=0),
    MatryoshkaClassifier(levels=2, random_state=0),
    MatryoshkaClassifier("greedy", max_voters=6, random_state=0),
]
every_learner = pytest.mark.parametrize("model", LEARNERS, ids=lambda model: f"{type(model).__name__[:11]}")


def table(n=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)


def fitted(model, X, y, w=None, **given):
    return clone(model).set_params(**given).fit(X, y, w)


def weights_at_nodes(model, X, y):
    """E[exp(-H y); the row comes here] at every node of a fitted graph ``(n, T)``, and at its ends ``(n,)``."""
    graph = model.graph_
    q, signs = graph.voters.probabilities(X), 2.0 * y - 1.0
    here, left = np.zeros((len(X), len(graph))), np.zeros(len(X))
    here[:, 0] = 1.0
    for t in range(len(graph)):
        for answer, p in enumerate((q[:, t], 1.0 - q[:, t])):
            goes = here[:, t] * p * np.exp(-signs * graph.vote[t, answer])
            if graph.next[t, answer] >= 0:
                here[:, graph.next[t, answer]] += goes
            else:
                left += goes
    return here, left
