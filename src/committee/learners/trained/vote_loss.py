"""Losses that votes of leaves are fitted with: values, derivatives and curvature in the scores of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit, logsumexp, softmax

from committee.data.number_types import F64, Index


class VoteLoss(ABC):
    """A convex loss of scores ``(n, D)``."""

    is_quadratic: ClassVar[bool] = False
    """Whether one step of Newton's method leads to the optimum."""

    @abstractmethod
    def of(self, score: F64, y: Index | F64) -> tuple[F64, F64]:
        """Loss of each row ``(n,)``, and its derivatives ``(n, D)``."""

    @abstractmethod
    def curved(self, score: F64, y: Index | F64, direction: F64) -> F64:
        """How the derivatives change along a direction of the scores, ``(n, D)``."""

    @abstractmethod
    def curvature(self, n_scores: int) -> float:
        """The largest curvature in a score, or about that."""


class Logistic(VoteLoss):
    """Logistic loss of one score, multinomial of several; `y` has class numbers, or shares of the classes."""

    def of(self, score: F64, y: Index | F64) -> tuple[F64, F64]:
        """See `VoteLoss`."""
        if y.ndim == 2:
            return _of_shares(score, np.asarray(y, dtype=np.float64))
        if score.shape[1] == 1:
            sign = np.where(y == 1, 1.0, -1.0)
            log_right = log_expit(sign * score[:, 0])
            return -log_right, (sign * np.expm1(log_right))[:, None]
        rows = np.arange(len(y))
        log_share = score - logsumexp(score, axis=1, keepdims=True)
        slope = np.exp(log_share)
        slope[rows, y] -= 1.0
        return -log_share[rows, y], slope

    def curved(self, score: F64, y: Index | F64, direction: F64) -> F64:
        """See `VoteLoss`."""
        if score.shape[1] == 1:
            share = expit(score)
            return share * expit(-score) * direction
        share = softmax(score, axis=1)
        found: F64 = share * (direction - (share * direction).sum(axis=1, keepdims=True))
        return found

    def curvature(self, n_scores: int) -> float:
        """See `VoteLoss`."""
        return 1.0 / max(4, n_scores)


class HalfSquares(VoteLoss):
    """Half the squared distance to the numbers `y` ``(n, 1)``."""

    is_quadratic: ClassVar[bool] = True

    def of(self, score: F64, y: Index | F64) -> tuple[F64, F64]:
        """See `VoteLoss`."""
        off = score - y
        return 0.5 * (off**2).sum(axis=1), off

    def curved(self, score: F64, y: Index | F64, direction: F64) -> F64:
        """See `VoteLoss`."""
        return direction.copy()

    def curvature(self, n_scores: int) -> float:
        """See `VoteLoss`."""
        return 1.0


@dataclass(frozen=True)
class SmoothPinball(VoteLoss):
    """Pinball loss of a quantile of the numbers `y` ``(n, 1)``, smooth where a residual is less than `width`.

    It is the pinball loss averaged over residuals within `width` of a row's.

    References
    ----------
    M. Fernandes, E. Guerre, E. Horta (2021). Smoothing quantile regressions. Journal of Business & Economic
    Statistics 39(1).
    """

    quantile: float
    width: float

    def of(self, score: F64, y: Index | F64) -> tuple[F64, F64]:
        """See `VoteLoss`."""
        off = y - score
        near = np.minimum(np.abs(off), self.width)
        # |r| where it is large, a parabola that meets it where it is small
        absolute = np.abs(off) - near + (near**2 + self.width**2) / (2.0 * self.width)
        loss = (self.quantile - 0.5) * off + 0.5 * absolute
        slope = 0.5 - self.quantile - 0.5 * np.clip(off / self.width, -1.0, 1.0)
        return loss.sum(axis=1), slope

    def curved(self, score: F64, y: Index | F64, direction: F64) -> F64:
        """See `VoteLoss`."""
        found: F64 = np.where(np.abs(y - score) < self.width, direction / (2.0 * self.width), 0.0)
        return found

    def curvature(self, n_scores: int) -> float:
        """See `VoteLoss`."""
        return 1.0 / (2.0 * self.width)


LOGISTIC = Logistic()


def _of_shares(score: F64, share: F64) -> tuple[F64, F64]:
    """The logistic loss and its derivatives of rows that are of each class to a share ``(n, K)``."""
    if score.shape[1] == 1:
        second = share[:, 1:]
        return (np.logaddexp(0.0, score) - second * score)[:, 0], expit(score) - second
    log_sum = logsumexp(score, axis=1, keepdims=True)
    return log_sum[:, 0] - (share * score).sum(axis=1), np.exp(score - log_sum) - share
