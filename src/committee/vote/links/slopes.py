"""Derivatives of links, and means of these derivatives between two scores."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from scipy.special import erfcx, log_expit

from committee.data.number_types import F64
from committee.vote.links.probability import Link, Logistic, Probit, Softmax, TemperedMargin, TemperedShare, Truncated

_POINTS, _WEIGHTS = (a / 2.0 for a in np.polynomial.legendre.leggauss(16))
_POINTS += 0.5
_CLOSE = 1e-13
"""Tolerance of the change of the probabilities along an interval."""
_MOST_HALVINGS = 40
_BLOCK = 1 << 20
"""Derivatives per block of rows."""


def slopes(link: Link, F: F64, total: float) -> F64:
    """Derivatives dp_k / dF_d of a link's probabilities, ``(n, K, D)``, for the links of `LINKS` except `Share`."""
    p, K = link.probability(F, total), F.shape[1]
    if K == 1:
        upper = _slope_of_two(link, F[:, 0], p, total)
        return np.stack([-upper, upper], axis=1)[:, :, None]
    if isinstance(link, Truncated):
        most = 1.0 - 2.0 * link.floor
        told = (1.0 + np.clip(F, -most, most)).sum(axis=1)
        per_score = np.divide(np.abs(F) < most, told[:, None], out=np.zeros_like(F), where=told[:, None] > 0.0)
        return np.asarray((np.eye(K) - p[:, :, None]) * per_score[:, None, :])
    return p[:, :, None] * (np.eye(K) - p[:, None, :]) * _log_slopes(link, F, total)[:, None, :]


def _slope_of_two(link: Link, F: F64, p: F64, total: float) -> F64:
    if isinstance(link, Probit):
        return np.asarray(np.exp(-F * F / 2.0) / sqrt(2.0 * pi))
    if isinstance(link, Truncated):
        return np.where(np.abs(F) < 1.0 - 2.0 * link.floor, 0.5, 0.0)
    evidence = p[:, 0] * p[:, 1]
    if isinstance(link, TemperedShare):
        votes = np.maximum(np.column_stack([total - F, total + F]) / 2.0, 0.0) + link.prior
        return np.asarray(evidence / link.temperature * (0.5 / votes).sum(axis=1))
    return evidence * _factor(link, total)


def _log_slopes(link: Link, F: F64, total: float) -> F64:
    if isinstance(link, Logistic):
        return np.asarray(link.scale * np.exp(log_expit(-link.scale * F)))
    if isinstance(link, Probit):
        return np.asarray(sqrt(2.0 / pi) / erfcx(-F / sqrt(2.0)))
    if isinstance(link, TemperedShare):
        return np.asarray(1.0 / (link.temperature * (np.maximum(F, 0.0) + link.prior)))
    return np.full_like(F, _factor(link, total))


def _factor(link: Link, total: float) -> float:
    if isinstance(link, TemperedMargin):
        return 1.0 / link.temperature
    if isinstance(link, Logistic):
        return link.scale
    assert isinstance(link, Softmax)
    if not link.normalized:
        return link.scale
    return link.scale / total if total > 0.0 else 0.0


def mean_slopes(link: Link, base: F64, step: F64, total: float) -> F64:
    """Mean derivatives between two scores, int_0^1 dp/dF (base + t step) dt, ``(n, K, D)``.

    Gauss-Legendre quadrature with 16 points. Intervals are halved, at most 40 times, until the derivatives times the
    step match the change of the probabilities. The rest is distributed in proportion to the steps, so that for each
    class sum_d slope_kd step_d = p_k(base + step) - p_k(base).
    """
    n, D = base.shape
    rows = max(1, _BLOCK // (len(_POINTS) * max(2, D) * D))
    if n > rows:
        parts = [mean_slopes(link, base[i : i + rows], step[i : i + rows], total) for i in range(0, n, rows)]
        return np.concatenate(parts)
    mean = np.zeros((n, max(2, D), D))
    row, begin, width = np.arange(n), np.zeros(n), 1.0
    rounding = 8.0 * np.finfo(np.float64).eps * (np.abs(base) + np.abs(step)).max(axis=1)
    for halving in range(_MOST_HALVINGS + 1):
        if not len(row):
            break
        part, change, steepest = _piece(link, base[row], step[row], begin, width, total)
        left = change - np.einsum("nkd,nd->nk", part, step[row])
        done = np.abs(left).max(axis=1) <= _CLOSE + steepest * rounding[row]
        done |= halving == _MOST_HALVINGS
        np.add.at(mean, row[done], part[done] + _in_proportion(left[done], step[row[done]]))
        row, begin, width = np.repeat(row[~done], 2), np.repeat(begin[~done], 2), width / 2.0
        begin[1::2] += width
    return mean


def _piece(link: Link, base: F64, step: F64, begin: F64, width: float, total: float) -> tuple[F64, F64, F64]:
    at = (begin[:, None] + width * _POINTS)[:, :, None]
    F = base[:, None] + at * step[:, None]
    n, m, D = F.shape
    inside = slopes(link, F.reshape(n * m, D), total).reshape(n, m, -1, D)
    first, last = (link.probability(base + t[:, None] * step, total) for t in (begin, begin + width))
    return width * np.einsum("m,nmkd->nkd", _WEIGHTS, inside), last - first, np.abs(inside).max(axis=(1, 2, 3))


def _in_proportion(left: F64, step: F64) -> F64:
    unit = np.abs(step).max(axis=1, keepdims=True)
    unit = np.divide(step, unit, out=np.zeros_like(step), where=unit > 0.0)
    length = (unit * step).sum(axis=1, keepdims=True)
    unit = np.divide(unit, length, out=np.zeros_like(step), where=length > 0.0)
    return np.asarray(left[:, :, None] * unit[:, None, :])
