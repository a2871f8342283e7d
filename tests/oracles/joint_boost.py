"""Gradient boosting of all classes' scores together from its equations: lines by `numpy.linalg.lstsq`, one leaf."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_ndtr, logsumexp

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Fit:
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


def boost(D: Floats, labels: Integers, v: Floats, n_outputs: int, link: str, n_steps: int) -> Fit:
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
    return Fit(F, path, np.array(risks), intercept, coefficient)
