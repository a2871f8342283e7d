"""Shares of scores carried through a link by their definition: many short steps along the line."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from committee.voters.model_forest import ModelForest
from tests.oracles import tree_shap

F64 = NDArray[np.float64]


def carried(link, shares: F64, total: float, n_steps: int = 20_000) -> F64:
    """``(places, K)`` of one row's shares ``(places, D)``: change of p where each feature alone goes a step further."""
    base, of_features = shares[-1], shares[:-1]
    middle = base + (np.arange(n_steps)[:, None] + 0.5) / n_steps * of_features.sum(axis=0)
    out = np.zeros((len(shares), link.probability(base[None], total).shape[1]))
    out[-1] = link.probability(base[None], total)[0]
    for j, share in enumerate(of_features):
        half = share / n_steps / 2.0
        out[j] = (link.probability(middle + half, total) - link.probability(middle - half, total)).sum(axis=0)
    return out


def leaf_probabilities(voters: ModelForest, link, X: F64, weights: F64) -> F64:
    """``(n, p + 1, K)``: Shapley's mean over all sets, of trees of the leaves' own probabilities; then their lines."""
    forest, record = voters.forest, voters.record
    assert record is not None
    value, mass = np.zeros((len(voters.model), voters.n_classes)), np.zeros(len(voters.model))
    for t in range(len(forest)):
        first = int(forest.offset[t])
        for i in reversed(range(first, int(forest.offset[t + 1]))):
            model = int(voters.model[i])
            if model < 0:
                child = first + int(forest.left[i])
                mass[i] = mass[child] + mass[child + 1]
                continue
            mass[i] = record.mass[model]
            score = voters.intercept[model] + voters.coefficient[model] @ record.centre[model]
            value[i] = link.probability(score[None])[0]
    out = tree_shap.contributions(replace(forest, weight=mass), value, X, weights, voters.n_classes)
    D, leaf = voters.design.matrix(X), forest.apply(X)
    for i in range(len(X)):
        for t, weight in enumerate(weights):
            model = int(voters.model[forest.offset[t] + leaf[i, t]])
            shares = np.zeros((X.shape[1] + 1, voters.intercept.shape[1]))
            shares[-1] = voters.intercept[model] + voters.coefficient[model] @ record.centre[model]
            for c, j in enumerate(voters.design.source):
                shares[j] += voters.coefficient[model, :, c] * (D[i, c] - record.centre[model, c])
            out[i, :-1] += weight * carried(link, shares, 1.0, 2_000)[:-1]
    return out
