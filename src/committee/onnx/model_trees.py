"""Model trees: scores of all leaf models by one product of matrices, of which each row takes those of its leaves."""

from __future__ import annotations

import numpy as np

from committee.data.design import MAX_NUMBER, Design
from committee.data.number_types import F64
from committee.onnx.curves import Curve, let_win, log_upper, shares, two_sided
from committee.onnx.graph import Value, joined
from committee.onnx.rows import Rows
from committee.onnx.trees import leaf_numbers
from committee.voters.committees import BoostedCommittees
from committee.voters.linear_scores import LinearScores
from committee.voters.model_forest import ModelForest


def model_trees_tally(rows: Rows, voters: ModelForest, weights: F64) -> Value:
    """Weighted sum of the votes, ``(n, n_outputs)``: scores, probabilities, or a one at the class that is named."""
    votes = _scores(rows, voters) if isinstance(voters, LinearScores) else _votes(rows, voters)
    return _weighted(votes, weights[None], voters.n_outputs)


def committees_tally(rows: Rows, voters: BoostedCommittees, weights: F64) -> Value:
    """Weighted sum over committees of model trees, ``(n, K)``."""
    votes, K = _votes(rows, voters.members), voters.n_classes
    if voters.soft:
        return _weighted(votes, voters.tree_weights(weights)[None], K)
    within = np.zeros((len(voters), len(voters.alpha)))
    within[np.repeat(np.arange(len(voters)), np.diff(voters.start)), np.arange(len(voters.alpha))] = voters.alpha
    elected = (rows.X.graph.constant(within) @ votes).argmax()
    return _weighted(elected.one_hot(K), weights[None], K)


def _weighted(votes: Value, weights: F64, n_outputs: int) -> Value:
    """Sums ``(n, D)`` over voters of what they say, ``(n, T, D)``."""
    return (votes.graph.constant(weights) @ votes).reshape(-1, n_outputs)


def _votes(rows: Rows, voters: ModelForest) -> Value:
    """Probabilities of each voter, or a one at the class that it names, ``(n, T, K)``."""
    scores = _scores(rows, voters)
    n_scores = voters.trees_per_voter * voters.intercept.shape[1]
    curve: Curve = "probit" if voters.link == "probit" else "logit"
    index = (scores > 0.0).cast(np.int64).reshape(0, len(voters)) if n_scores == 1 else scores.argmax()
    if not voters.soft:
        return index.one_hot(voters.n_classes)
    p = two_sided(curve, scores) if n_scores == 1 else shares(log_upper(curve, scores.at_least(-1e150)))
    return let_win(p, index, voters.n_classes)


def _scores(rows: Rows, voters: ModelForest) -> Value:
    """Linear scores of each voter, ``(n, T, O)``."""
    L, n_outputs, q = voters.coefficient.shape
    table, order = _design(rows, voters.design)
    coefficient = voters.coefficient.reshape(L * n_outputs, q)[:, order]
    every = table @ np.ascontiguousarray(coefficient.T) + voters.intercept.reshape(1, -1)
    T = len(voters.forest)
    if L == 1:  # one model for all rows
        return every.reshape(0, T, n_outputs)
    model = leaf_numbers(rows, voters.forest, np.maximum(voters.model, 0))
    graph = rows.X.graph
    first = graph.add("Mul", model.reshape(0, T, 1), np.int64(n_outputs))
    places = graph.add("Add", first, np.arange(n_outputs)).reshape(0, T * n_outputs)
    taken = graph.add("GatherElements", every, places, axis=1)
    return taken.reshape(0, len(voters), voters.trees_per_voter * n_outputs)


def _design(rows: Rows, design: Design) -> tuple[Value, np.ndarray]:
    """Columns of a linear model: numbers, then categories, then what was missing; and their places in the design."""
    X = rows.wide
    number, code, gap = (
        np.flatnonzero(which) for which in (design.category == -1, design.category >= 0, design.category == -2)
    )
    parts: list[Value] = []
    if len(number):
        source = design.source[number].astype(np.int64)
        column = X.take(source)
        parts.append(column.is_nan().where(design.fill[source][None], column).clip(-MAX_NUMBER, MAX_NUMBER))
    if len(code):
        column = X.take(design.source[code].astype(np.int64))
        parts.append(column.equals(design.category[code].astype(np.float64)[None]).cast(np.float64))
    if len(gap):
        parts.append(X.take(design.source[gap].astype(np.int64)).is_nan().cast(np.float64))
    return joined(parts), np.concatenate([number, code, gap])
