"""SBPMT from its equations: a tree grown by listing all splits, leaves boosted in NumPy, Algorithms 3 and 4 over them.

The draws are given, so that everything after them can be compared.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from tests.oracles import grow, linear_boost

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Training rows: as bins for the trees, as numbers for the leaves."""

    codes: NDArray[np.integer]
    n_bins: NDArray[np.int32]
    categorical: NDArray[np.uint8]
    D: Floats
    labels: NDArray[np.uint16]
    n_classes: int


@dataclass(frozen=True)
class Recipe:
    """How model trees are made and boosted."""

    limits: grow.Limits
    leaf: linear_boost.Settings
    per_class: bool = False
    emphasis: str = "half"
    n_rounds: int = 5
    most_classes: int = 0
    """Classes of a leaf above which scores are boosted on samples of its rows; 0: never."""


@dataclass(frozen=True)
class Boosted:
    """One committee: T model trees and what they say of every row, drawn or not."""

    alpha: list[float]
    errors: list[float]
    votes: Integers
    """``(n, T)``"""

    def shares(self, n_classes: int) -> Floats:
        """Share of the committee's weight for each class, ``(n, K)``."""
        total = np.zeros((len(self.votes), n_classes))
        for alpha, vote in zip(self.alpha, self.votes.T, strict=True):
            total[np.arange(len(vote)), vote] += alpha
        return total / sum(self.alpha)


def model_tree(rows: Rows, weights: Floats, drawn: Integers, recipe: Recipe, of_labels: Floats | None = None) -> Floats:
    """Scores ``(n, O)`` of all rows by a model tree trained on the drawn ones.

    With `of_labels` ``(n, K)`` score k is boosted by the weights in column k, and so is a tree of its own.
    """
    if recipe.per_class and rows.n_classes > 2:
        shared = replace(recipe, per_class=False)
        one_class = [
            replace(rows, labels=(rows.labels == k).astype(np.uint16), n_classes=2) for k in range(rows.n_classes)
        ]
        by_class = np.tile(weights, (rows.n_classes, 1)).T if of_labels is None else of_labels
        return np.hstack([model_tree(part, by_class[:, k].copy(), drawn, shared) for k, part in enumerate(one_class)])
    n_outputs = 1 if rows.n_classes == 2 else rows.n_classes
    statistics = grow.class_statistics(rows.labels, weights, rows.n_classes)
    table = grow.Table(rows.codes, rows.n_bins, rows.categorical, "gini", statistics, weights, drawn)
    nodes = grow.grow(table, recipe.limits)
    scores = np.zeros((len(rows.labels), n_outputs))
    for leaf, reached in leaves(nodes, rows.codes):
        for k in range(n_outputs):
            v = (weights if of_labels is None else of_labels[:, k])[leaf]
            most = recipe.most_classes if of_labels is None and n_outputs > 1 else 0
            drawn, v = linear_boost.sampled(rows.labels[leaf], v, k, most)
            Y = linear_boost.signs(rows.labels[leaf][drawn], n_outputs)
            fit = linear_boost.boost(rows.D[leaf][drawn], Y[:, [k]], v, recipe.leaf)
            scores[reached, k] = fit.intercept[0] + rows.D[reached] @ fit.coefficient[0]
    return scores


def leaves(nodes: list[grow.Node], codes: NDArray[np.integer]) -> list[tuple[Integers, Integers]]:
    """For each leaf its training rows, and all rows that reach it."""
    reached = {0: np.arange(len(codes))}
    found = []
    for i, node in enumerate(nodes):  # children come after their parents
        if node.left < 0:
            found.append((node.rows, reached[i]))
            continue
        assert node.goes_left is not None
        left = node.goes_left[codes[reached[i], node.feature]]
        reached[node.left], reached[node.left + 1] = reached[i][left], reached[i][~left]
    return found


def elect(scores: Floats) -> Integers:
    """The sign of one score, or the first largest of several."""
    return (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)


def boost_labels(rows: Rows, weights: Floats, drawn: Integers, recipe: Recipe) -> Boosted:
    """AdaBoost.M2 and AdaBoost.MH as their papers write them, label by label; their alpha is doubled for MH."""
    K, y = rows.n_classes, rows.labels.astype(int)
    m2 = recipe.emphasis == "m2"
    D = np.zeros((len(y), K))
    for i in drawn:
        for k in range(K):
            D[i, k] = weights[i] if not m2 or k != y[i] else 0.0
    D /= D.sum()
    alphas: list[float] = []
    errors: list[float] = []
    votes: list[Integers] = []
    for _ in range(recipe.n_rounds):
        w = D.sum(axis=1)
        of_labels = D.copy()
        if m2:
            of_labels[np.arange(len(y)), y] = w
        scores = model_tree(rows, w, drawn, recipe, of_labels if K > 2 else None)
        vote = elect(scores)
        curve = ndtr if recipe.leaf.link == "probit" else expit
        p = curve(np.hstack([-scores, scores]) if K == 2 else scores)
        p /= p.sum(axis=1, keepdims=True)
        error = float(w[vote != y].sum())
        loss = 0.5 * sum(D[i, k] * (1 - p[i, y[i]] + p[i, k]) for i in drawn for k in range(K) if k != y[i])
        if (loss if m2 else error) == 0:
            return Boosted([1.0], [error], vote[:, None])
        change = np.ones_like(D)
        if m2:
            beta = loss / (1 - loss)
            alpha = np.log(1 / beta)
            for i in drawn:
                for k in range(K):
                    change[i, k] = beta ** (0.5 * (1 + p[i, y[i]] - p[i, k]))
        else:
            h = np.where(vote[:, None] == np.arange(K), 1.0, -1.0)
            Y = np.where(y[:, None] == np.arange(K), 1.0, -1.0)
            r = float((D * Y * h).sum())
            alpha = 2 * 0.5 * np.log((1 + r) / (1 - r))
            change = np.exp(-0.5 * alpha * Y * h)
        if alpha <= 1e-9:
            return Boosted(alphas, errors, np.stack(votes, axis=1)) if votes else Boosted([1.0], [error], vote[:, None])
        alphas.append(float(alpha))
        errors.append(error)
        votes.append(vote)
        D = D * change
        D /= D.sum()
    return Boosted(alphas, errors, np.stack(votes, axis=1))


def boost(rows: Rows, weights: Floats, drawn: Integers, recipe: Recipe) -> Boosted:
    """Algorithm 3 on the drawn rows."""
    if recipe.emphasis in ("m2", "mh"):
        return boost_labels(rows, weights, drawn, recipe)
    J = rows.n_classes
    w = np.zeros(len(weights))
    w[drawn] = weights[drawn] / weights[drawn].sum()
    alphas: list[float] = []
    errors: list[float] = []
    votes: list[Integers] = []
    for _ in range(recipe.n_rounds):
        vote = elect(model_tree(rows, w, drawn, recipe))
        wrong = (vote != rows.labels) & (w > 0)
        error = float(w[wrong].sum())
        if error == 0:  # decides the committee
            return Boosted([1.0], [0.0], vote[:, None])
        if error >= 1 - 1 / (2 if recipe.emphasis == "m1" else J) - 1e-12:
            if not votes:
                return Boosted([1.0], [error], vote[:, None])
            break
        odds = np.log((1 - error) / error)
        alpha = float(
            odds if recipe.emphasis == "m1" else odds * (1 if recipe.emphasis == "samme" else 0.5) + np.log(J - 1)
        )
        alphas.append(alpha)
        errors.append(error)
        votes.append(vote)
        w = np.where(wrong, w * np.exp(alpha), w)
        w = w / w.sum()
    return Boosted(alphas, errors, np.stack(votes, axis=1))


def subagged(committees: list[Boosted], n_classes: int, soft: bool) -> Floats:
    """Share of the committees' votes for each class, ``(n, K)``; hard: one vote each (Algorithm 4)."""
    total = np.zeros((len(committees[0].votes), n_classes))
    for committee in committees:
        share = committee.shares(n_classes)
        total += share if soft else np.eye(n_classes)[share.argmax(axis=1)]
    return total / len(committees)


def out_of_bag(committees: list[Boosted], drawn: list[Integers], n_classes: int, soft: bool) -> Floats:
    """Shares ``(n, K)`` of the votes of those committees that did not see a row; NaN if all saw it."""
    n = len(committees[0].votes)
    share = np.full((n, n_classes), np.nan)
    for i in range(n):
        judges = [c for c, seen in zip(committees, drawn, strict=True) if i not in set(seen.tolist())]
        if judges:
            one_row = [replace(judge, votes=judge.votes[i : i + 1]) for judge in judges]
            share[i] = subagged(one_row, n_classes, soft)[0]
    return share
