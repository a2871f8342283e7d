"""Weights of members of least loss, for the losses of numbers that are no squared error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from committee.data.number_types import F64
from committee.learners.blend.loss_of_rows import score_of
from committee.learners.blend.pool import PRIOR
from committee.objectives.losses import Absolute, Huber, Loss, Quantile
from committee.objectives.programs.simplex_active_set import simplex_minimum
from committee.vote.links.mean import Log

_MOST_STEPS = 200
_MOST_HALVINGS = 40
_GAP = 1e-7
"""A solution is within this share of the members' mean loss."""
_NARROWEST = 1e-6
"""Width of the bend that stands for a corner, as a share of the mean residual."""
_NARROWER = 0.1
_FARTHEST = 1e50
"""Predictions of a loss with a log link are at most so many times away from the mean target."""
_LEAST_LOSS = 1e-300
"""Mean loss that is taken for none: a bend would have no width that a number holds."""


class _Curve(Protocol):
    """A loss of predictions, twice differentiable but for corners of its slope."""

    def value(self, f: F64) -> F64: ...

    def derivatives(self, f: F64) -> tuple[F64, F64]: ...


@dataclass(frozen=True)
class _Bent:
    """Slope clip((f - y) / width, low, high): two lines, and a parabola between them where they would meet."""

    y: F64
    low: float
    high: float
    width: float

    def value(self, f: F64) -> F64:
        """The most that a slope u between low and high makes of ``u (f - y) - width u^2 / 2``."""
        residual = f - self.y
        slope = np.clip(residual / self.width, self.low, self.high)
        return slope * (residual - 0.5 * self.width * slope)

    def derivatives(self, f: F64) -> tuple[F64, F64]:
        """Slope and curvature."""
        steep = (f - self.y) / self.width
        return np.clip(steep, self.low, self.high), ((steep > self.low) & (steep < self.high)) / self.width


@dataclass(frozen=True, eq=False)
class _OfScores:
    """A loss of scores, as one of predictions."""

    loss: Loss
    y: F64

    def value(self, f: F64) -> F64:
        return self.loss.value(self.y, score_of(self.loss, f))

    def derivatives(self, f: F64) -> tuple[F64, F64]:
        """By the chain rule, f = exp(F) or F; a curvature below zero, which gamma and Tweedie have, counts as 0."""
        if not isinstance(self.loss.link, Log):
            return self.loss.gradient_hessian(self.y, score_of(self.loss, f))
        f = np.maximum(f, 1.0 / _FARTHEST)  # a mean of predictions that are far apart may round to 0
        gradient, hessian = self.loss.gradient_hessian(self.y, score_of(self.loss, f))
        return gradient / f, np.maximum(hessian - gradient, 0.0) / f**2


def loss_weights(loss: Loss, predictions: F64, y: F64, weights: F64) -> F64:
    """Weights w of the mean ``sum_k w_k f_k`` whose mean loss is least, w >= 0 and sum_k w_k = 1.

    To the mean loss is added ``PRIOR S |w|^2 / n`` with the members' mean loss S above the least possible, as
    `squared_error_weights` does. The sum decreases by Newton's steps, each to the least point of a parabola on the
    simplex; the slopes D_k towards the members bound what is missing, by ``sum_k w_k D_k - min_k D_k``. Corners of
    absolute and pinball losses are parabolas of a width that goes to 1e-6 mean residuals. Gamma and Tweedie's losses
    are not convex in a mean of predictions: there it is a point that no direction leads down from.

    Equation: blend-losses (docs/theory.md).

    Parameters
    ----------
    loss : Loss
        Of one number, with the link `Identity` or `Log`.
    predictions : float64 array (m, n)
        Of each member, for rows that it has not seen.
    y : float64 array (n,)
        Targets.
    weights : float64 array (n,)
        Weights v of the rows, in numbers of rows.

    Returns
    -------
    float64 array (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.losses import Quantile
    >>> y = np.arange(1000.0)
    >>> loss_weights(Quantile(0.9), np.array([np.full(1000, 0.0), np.full(1000, 999.0)]), y, np.ones(1000)).round(2)
    array([0.1, 0.9])
    """
    m = len(predictions)
    share = weights / weights.sum()
    if isinstance(loss.link, Log):
        y, predictions = _of_unit_mean(y, predictions, share)
    size = float(np.mean(_excess(loss, y, predictions) @ share))
    if not size > _LEAST_LOSS:
        return np.full(m, 1.0 / m)
    w = np.full(m, 1.0 / m)
    for curve in _curves(loss, predictions, y, share):
        w = _descended(curve, predictions, share, w, PRIOR / weights.sum() * size, _GAP * size)
    return w


def _of_unit_mean(y: F64, predictions: F64, share: F64) -> tuple[F64, F64]:
    """Targets and predictions in a unit that changes no weights and in which squares of predictions are numbers."""
    unit = float(share @ y) or float(share @ predictions.mean(axis=0)) or 1.0
    return y / unit, np.clip(predictions, unit / _FARTHEST, unit * _FARTHEST) / unit


def _excess(loss: Loss, y: F64, predictions: F64) -> F64:
    """Losses of each member above the least that a row can have, ``(m, n)``."""
    least = loss.value(y, score_of(loss, y))
    return np.maximum(np.stack([loss.value(y, score_of(loss, f)) for f in predictions]) - least, 0.0)


def _curves(loss: Loss, predictions: F64, y: F64, share: F64) -> Iterator[_Curve]:
    """The loss, or curves that come closer and closer to it."""
    slopes: tuple[float, float, float] | None = None
    match loss:
        case Absolute():
            slopes = -1.0, 1.0, 0.0
        case Quantile():
            slopes = -loss.quantile, 1.0 - loss.quantile, 0.0
        case Huber():
            slopes = -loss.delta, loss.delta, 1.0
    if slopes is None:
        yield _OfScores(loss, y)
        return
    low, high, least = slopes
    mean = float(np.mean(np.abs(predictions - y) @ share)) / (high - low)
    width, least = mean, max(least, _NARROWEST * mean)
    while width > least:
        yield _Bent(y, low, high, width)
        width *= _NARROWER
    yield _Bent(y, low, high, least)


def _descended(curve: _Curve, predictions: F64, share: F64, w: F64, ridge: float, gap: float) -> F64:
    """Weights on the simplex from which no direction leads down by more than the gap."""
    middle = predictions.mean(axis=0)
    apart = predictions - middle  # the mean of predictions is middle + w @ apart, as weights add up to 1

    def objective(w: F64) -> float:
        return float(share @ curve.value(middle + w @ apart)) + ridge * float(w @ w)

    now = objective(w)
    for _ in range(_MOST_STEPS):
        slope, curvature = curve.derivatives(middle + w @ apart)
        slopes = apart @ (share * slope) + 2.0 * ridge * w
        if float(slopes @ w - slopes.min()) <= gap:
            break
        bend = (apart * (share * curvature)) @ apart.T + 2.0 * ridge * np.eye(len(w))
        step = simplex_minimum(bend, bend @ w - slopes, w) - w
        descent, length = float(slopes @ step), 1.0
        for _ in range(_MOST_HALVINGS):
            after = objective(w + length * step)
            if after <= now + 1e-4 * length * descent:
                break
            length *= 0.5
        else:
            break  # no more than rounding is left to go down
        w, now = w + length * step, after
    w = np.maximum(w, 0.0)
    return np.asarray(w / w.sum())
