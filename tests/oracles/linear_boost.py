"""Component-wise Newton boosting from its equations, twice.

`boost` is the batch version: all outputs of a leaf at once, matrix products over all features; what the kernel is
timed against. `literal` is the text of the algorithm: one output, and for every step and feature a weighted least
squares fit by `numpy.linalg.lstsq`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_expit, log_ndtr, logsumexp

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HALVINGS = 30
ROUNDING = 1e-14
"""Changes of the risk below this share of it are rounding."""
NO_LINE = 1e-10
"""A column whose weighted spread is below this share of its weighted square has no line."""


@dataclass(frozen=True)
class Settings:
    """The arguments of the kernel."""

    link: str = "probit"
    n_steps: int = 20
    tol: float = 0.0
    cap: float = 20.0
    by_likelihood: bool = False


@dataclass(frozen=True)
class Fit:
    """Linear scores of K outputs in the user's units, and how they came about."""

    intercept: Floats
    """``(K,)``"""
    coefficient: Floats
    """``(K, q)``"""
    scores: Floats
    """``(n, K)``"""
    path: Integers
    """``(K, B)``: -1 the intercept alone, -2 not taken."""
    risk: Floats
    """``(K, B + 1)``: mean risk before and after every step."""
    clear: int
    """Steps before the first whose choice hangs on rounding."""


def terms(link: str, x: Floats) -> tuple[Floats, Floats, Floats]:
    """-Q', Q'' and Q of x = y f."""
    if link == "logit":
        return expit(-x), expit(x) * expit(-x), np.logaddexp(0.0, -x)
    rate = np.sqrt(2.0 / np.pi) / erfcx(-x / np.sqrt(2.0))
    return rate, rate * (x + rate), -log_ndtr(x)


class Leaf:
    """Standardised columns, their squares, signs and weights of a leaf, and the state of all its outputs."""

    def __init__(self, D: Floats, Y: Floats, v: Floats, settings: Settings) -> None:
        self.Y, self.v, self.settings = Y, v, settings
        mean, deviation = D.mean(axis=0), D.std(axis=0)
        constant = deviation <= 1e-12 * np.abs(mean)
        self.mean, self.scale = mean, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, deviation))
        self.X = (D - mean) * self.scale
        self.squares = self.X**2
        self.F = np.zeros_like(Y)
        self.intercept = np.zeros(Y.shape[1])
        self.slope = np.zeros((Y.shape[1], D.shape[1]))

    def risk(self, F: Floats) -> Floats:
        """Total risk of each output's scores."""
        return self.v @ terms(self.settings.link, self.Y * F)[2]

    def lines(self) -> tuple[Floats, Floats, Floats]:
        """Weighted regressions of z on each feature: intercepts, slopes and falls of the squared error ``(q + 1, K)``.

        The last row is the intercept alone, and a feature without a line falls by -1.
        """
        gradient, curvature, _ = terms(self.settings.link, self.Y * self.F)
        w = self.v[:, None] * curvature
        wz = self.v[:, None] * self.Y * gradient
        weight, response = w.sum(axis=0), wz.sum(axis=0)
        x, xx, xz = self.X.T @ w, self.squares.T @ w, self.X.T @ wz
        spread, shared = xx - x * x / weight, xz - x * response / weight
        self.definite = np.abs(spread - NO_LINE * xx) > 1e-3 * NO_LINE * xx
        has_line = spread > NO_LINE * xx
        slope = np.divide(shared, spread, out=np.zeros_like(spread), where=has_line)
        fall = np.where(has_line, slope * shared, -1.0)
        nothing = np.zeros((1, self.Y.shape[1]))
        intercepts = np.concatenate([(response - slope * x) / weight, (response / weight)[None]])
        return intercepts, np.concatenate([slope, nothing]), np.concatenate([fall, nothing])

    def added(self, chosen: Integers, intercept: Floats, slope: Floats) -> Floats:
        """Scores after one line for each output."""
        columns = np.concatenate([self.X, np.zeros((len(self.X), 1))], axis=1)
        return self.F + intercept + columns[:, chosen] * slope

    def choose(self) -> tuple[Integers, Floats, Floats, bool]:
        """Feature and line of each output (q: the intercept alone), and whether no choice is nearly another."""
        intercepts, slopes, fall = self.lines()
        q, K = slopes.shape
        if self.settings.by_likelihood:
            risks = np.array([self.risk(self.added(np.full(K, j), intercepts[j], slopes[j])) for j in range(q)])
            merit = np.where(fall >= 0.0, -risks, -np.inf)
        else:
            merit = fall
        chosen = merit.argmax(axis=0)
        each = np.arange(K)
        runner_up, best = np.sort(merit, axis=0)[-2:] if q > 1 else (np.full(K, -np.inf), merit[0])
        clear = bool((best - runner_up > 1e-7 * np.abs(best)).all() and self.definite.all())
        return chosen, intercepts[chosen, each], slopes[chosen, each], clear


def boost(D: Floats, Y: Floats, v: Floats, settings: Settings) -> Fit:
    """Boost every column of ``Y`` (+-1) on the rows of one leaf.

    A step is halved until the risk does not rise; an output stops when it does not fall even so, when a score would
    pass the cap, or when it falls by less than ``tol`` for each unit of weight.
    """
    K = Y.shape[1]
    leaf, total = Leaf(D, Y, v, settings), v.sum()
    path = np.full((K, settings.n_steps), -2)
    one_sided = (Y[0] == Y).all(axis=0)
    leaf.intercept[one_sided] = settings.cap * Y[0, one_sided]
    leaf.F[:, one_sided] = leaf.intercept[one_sided]
    now = leaf.risk(leaf.F)
    risk = np.repeat(now[:, None] / total, settings.n_steps + 1, axis=1)
    active, clear = ~one_sided, settings.n_steps
    for step in range(settings.n_steps):
        if not active.any():
            break
        chosen, a, b, sure = leaf.choose()
        F = leaf.added(chosen, a, b)
        after = leaf.risk(F)
        for _ in range(HALVINGS):
            if not (rising := active & ~(after <= now * (1 + ROUNDING))).any():
                break
            a, b = np.where(rising, a / 2, a), np.where(rising, b / 2, b)
            F = leaf.added(chosen, a, b)
            after = leaf.risk(F)
        largest = np.abs(F).max(axis=0)
        sure &= bool((np.abs(largest - settings.cap) > 1e-7 * settings.cap)[active].all())
        drop = (now - after)[active]
        sure &= bool((np.abs(drop - settings.tol * total) > 1e-9 * now[active]).all())
        if not sure:
            clear = min(clear, step)
        active = (
            active & (now - after > ROUNDING * now) & (largest <= settings.cap) & ~(now - after < settings.tol * total)
        )
        leaf.F[:, active] = F[:, active]
        leaf.intercept[active] += a[active]
        with_slope = np.flatnonzero(active & (chosen < D.shape[1]))
        leaf.slope[with_slope, chosen[with_slope]] += b[with_slope]
        path[active, step] = np.where(chosen < D.shape[1], chosen, -1)[active]
        now = np.where(active, after, now)
        risk[active, step + 1 :] = (now / total)[active, None]
    slope = leaf.slope * leaf.scale
    return Fit(leaf.intercept - slope @ leaf.mean, slope, leaf.F, path, risk, clear)


def signs(labels: NDArray[np.uint16], n_outputs: int) -> Floats:
    """``(n, K)``: +1 for label 1 of two classes, or for "class k" of more; -1 otherwise."""
    yes = labels[:, None] == (np.array([1]) if n_outputs == 1 else np.arange(n_outputs))
    return np.where(yes, 1.0, -1.0)


def boost_leaves(
    D: Floats,
    rows: NDArray[np.int32],
    start: NDArray[np.int64],
    labels: NDArray[np.uint16],
    weights: Floats,
    n_outputs: int,
    settings: Settings,
) -> list[Fit]:
    """One fit for each leaf; leaf l has ``rows[start[l]:start[l + 1]]``."""
    leaves = [rows[a:b] for a, b in pairwise(start)]
    return [boost(D[leaf], signs(labels[leaf], n_outputs), weights[leaf], settings) for leaf in leaves]


def sampled(labels: NDArray[np.uint16], weights: Floats, output: int, most_classes: int) -> tuple[Integers, Floats]:
    """Rows of a leaf that an output is boosted on, those of its class first, and their weights.

    Of more than `most_classes` classes: a systematic sample of the other rows, by weight and in the order of classes.
    """
    n, n_classes = len(labels), len(np.unique(labels))
    own, others = np.flatnonzero(labels == output), np.flatnonzero(labels != output)
    if not n_classes > most_classes > 0:
        return np.arange(n), weights
    others = others[np.argsort(labels[others], kind="stable")]
    size = -(-n * most_classes // n_classes)
    spacing = weights[others].sum() / size
    points = (np.arange(size) + (output + 1) * 0.6180339887498949 % 1.0) * spacing
    times = np.bincount(np.searchsorted(np.cumsum(weights[others]), points, side="right"), minlength=len(others))
    return np.concatenate([own, others[times > 0]]), np.concatenate([weights[own], times[times > 0] * spacing])


def literal(D: Floats, y: Floats, v: Floats, link: str, n_steps: int) -> tuple[list[int], Floats, Floats]:
    """ProbitBoost as the document writes it: path, and the intercept and slopes of the sum of its lines.

    Without cap, tolerance and halving.
    """
    n, q = D.shape
    path, intercept, slope = [], 0.0, np.zeros(q)
    for _ in range(n_steps):
        x = y * (intercept + D @ slope)
        gradient, curvature, _ = terms(link, x)
        w, z = v * curvature, y * gradient / curvature
        fits = []
        for j in range(q):
            A = np.column_stack([np.ones(n), D[:, j]])
            line = np.linalg.lstsq(A * np.sqrt(w)[:, None], z * np.sqrt(w))[0]
            fits.append((float(w @ (z - A @ line) ** 2), line))
        best = int(np.argmin([error for error, _ in fits]))
        intercept += fits[best][1][0]
        slope[best] += fits[best][1][1]
        path.append(best)
    return path, np.array(intercept), slope


@dataclass(frozen=True)
class JointFit:
    """Scores of the rows, each class's lines by step, and the mean risk before and after every step."""

    scores: Floats
    path: Integers
    risk: Floats
    intercept: Floats
    coefficient: Floats


def log_shares(link: str, F: Floats) -> Floats:
    """ln P(k | x) ``(n, K)`` of scores ``(n, K)``, or ``(n, 1)`` for two classes."""
    curve = log_ndtr if link == "probit" else log_expit
    if F.shape[1] == 1:
        return np.hstack([curve(-F), curve(F)])
    return np.asarray(curve(F) - logsumexp(curve(F), axis=1, keepdims=True))


def risk(link: str, F: Floats, labels: Integers, v: Floats) -> float:
    """Mean negative log-likelihood."""
    return float(-np.average(log_shares(link, F)[np.arange(len(F)), labels], weights=v))


def gradient(link: str, F: Floats, labels: Integers) -> Floats:
    """Of each row's log-likelihood in its scores, by central differences."""
    r, rows = np.empty_like(F), np.arange(len(F))
    for k in range(F.shape[1]):
        h = 1e-5 * (np.arange(F.shape[1]) == k)
        r[:, k] = (log_shares(link, F + h) - log_shares(link, F - h))[rows, labels] / 2e-5
    return r


def information(link: str, F: Floats, d: Floats) -> Floats:
    """Expected square of the derivative of ln P(Y | x) along d, of each row, by central differences."""
    slopes = (log_shares(link, F + 1e-5 * d) - log_shares(link, F - 1e-5 * d)) / 2e-5
    return np.asarray((np.exp(log_shares(link, F)) * slopes**2).sum(axis=1))


def joint_boost(
    D: Floats,
    labels: Integers,
    v: Floats,
    n_outputs: int,
    link: str,
    n_steps: int,
) -> JointFit:
    """Take steps until the risk decreases no more; every class has rows. Without cap and tolerance."""
    n, q = D.shape
    F, intercept, coefficient = np.zeros((n, n_outputs)), np.zeros(n_outputs), np.zeros((n_outputs, q))
    path, risks = np.full((n_outputs, n_steps), -2), [risk(link, np.zeros((n, n_outputs)), labels, v)]
    for step in range(n_steps):
        r = gradient(link, F, labels)
        chosen, lines = [], []
        for k in range(n_outputs):
            fits = []
            for j in range(q):
                A = np.column_stack([np.ones(n), D[:, j]])
                line = np.linalg.lstsq(A * np.sqrt(v)[:, None], r[:, k] * np.sqrt(v))[0]
                fits.append((float(v @ (r[:, k] - A @ line) ** 2), line))
            best = int(np.argmin([error for error, _ in fits]))
            chosen.append(best)
            lines.append(fits[best][1])
        d = np.column_stack([a + b * D[:, j] for j, (a, b) in zip(chosen, lines, strict=True)])
        eta = float(v @ (r * d).sum(axis=1)) / float(v @ information(link, F, d))
        while risk(link, F + eta * d, labels, v) > risks[-1] * (1 + 1e-14) and eta > 1e-9:
            eta /= 2
        F = F + eta * d
        for k, (j, (a, b)) in enumerate(zip(chosen, lines, strict=True)):
            intercept[k] += eta * a
            coefficient[k, j] += eta * b
            path[k, step] = j
        risks.append(risk(link, F, labels, v))
    return JointFit(F, path, np.array(risks), intercept, coefficient)


def held_out_error(
    D: Floats,
    labels: NDArray[np.uint16],
    weights: Floats,
    rows: Integers,
    held_out: Integers,
    n_outputs: int,
    settings: Settings,
    most_rows: int,
    most_classes: int = 0,
) -> tuple[float, bool]:
    """Weight of a node's held-out rows that its own scores are wrong about, and whether no step or vote is a tie."""
    judges, fitted = rows[held_out[rows] == 1], rows[held_out[rows] == 0]
    if not len(fitted):
        return float(weights[judges].sum()), True
    if len(fitted) > most_rows:
        fitted = fitted[[i * len(fitted) // most_rows for i in range(most_rows)]]
    scores, clear = np.zeros((len(judges), n_outputs)), True
    for k in range(n_outputs):
        drawn, v = sampled(labels[fitted], weights[fitted], k, most_classes)
        rows = fitted[drawn]
        fit = boost(D[rows], signs(labels[rows], n_outputs)[:, [k]], v, settings)
        scores[:, k] = fit.intercept[0] + D[judges] @ fit.coefficient[0]
        clear &= fit.clear == settings.n_steps
    both = np.hstack([np.zeros_like(scores), scores]) if n_outputs == 1 else scores
    lead = np.diff(np.sort(both, axis=1)[:, -2:], axis=1)
    wrong = both.argmax(axis=1) != labels[judges]
    return float(weights[judges][wrong].sum()), clear and bool((lead > 1e-7).all())


def least_error(left: Sequence[int], errors: Sequence[float], node: int = 0) -> float:
    """The least that any way of cutting the tree below a node gets wrong, by trying all of them."""
    if left[node] < 0:
        return errors[node]
    below = least_error(left, errors, left[node]) + least_error(left, errors, left[node] + 1)
    return min(errors[node], below)


def lines_of_a_leaf(X: Floats, g: Floats, h: Floats, l2: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Slope, centre, least and largest value of each column, for the leaf's rows."""
    there = ~np.isnan(X)
    centre = np.array([np.average(x[t], weights=h[t]) for x, t in zip(X.T, there.T, strict=True)])
    U = np.where(there, X - centre, 0.0)
    deviation = np.sqrt((h @ U**2) / (h @ there))
    U /= deviation
    root = np.sqrt(h)[:, None]
    # ridge as least squares: rows of sqrt(l2) below
    A = np.vstack([root * U, np.sqrt(l2) * np.eye(U.shape[1])])
    b = np.concatenate([-g / root[:, 0], np.zeros(U.shape[1])])
    slope = np.linalg.lstsq(A, b, rcond=None)[0] / deviation
    return slope, centre, np.nanmin(X, axis=0), np.nanmax(X, axis=0)


def added(voters: Any, t: int, X: Floats) -> Floats:
    """What voter t adds to the scores of each row, ``(n, D)``, one row and one line after the other."""
    K, forest, lines = voters.trees_per_voter, voters.forest, voters.lines
    out = np.zeros((len(X), voters.n_outputs))
    for tree in range(t * K, t * K + K):
        for i, leaf in enumerate(forest.apply(X)[:, tree]):
            node = forest.offset[tree] + leaf
            vote = forest.value[node].copy()
            for m in range(lines.start[node], lines.start[node + 1]):
                x = X[i, lines.column[m]]
                if not np.isnan(x):
                    vote += lines.slope[m] * (min(max(x, lines.low[m]), lines.high[m]) - lines.centre[m])
            out[i, tree % K : tree % K + len(vote)] += vote
    return out
