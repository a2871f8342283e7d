"""Classification losses: log loss, and losses of the margin y F (exponential, probit, squared hinge)."""

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
from scipy.special import log_expit, log_ndtr, ndtri

from committee import _core
from committee.objectives.losses.base import (
    Interval,
    KernelName,
    Loss,
    NativeLoss,
    Numbers,
    Targets,
    exp_with_tangent,
    weighted,
)
from committee.vote.links.probability import Link, Softmax, Truncated
from committee.vote.links.probability import Logistic as LogisticLink
from committee.vote.links.probability import Probit as ProbitLink


class _ClassLoss(Loss):
    target_interval: ClassVar[Interval] = Interval(0.0, inf, closed="low")
    mean_interval: ClassVar[Interval] = Interval(0.0, 1.0)

    def check_target(self, y: Targets) -> None:
        if y.dtype.kind not in "iu":
            raise ValueError(
                f"y has dtype {y.dtype}; the {self.name} loss needs class numbers. "
                "Encode the labels as 0 .. K - 1, or choose a regression loss."
            )
        super().check_target(y)

    def best_constant(self, y: Targets, w: Numbers | None = None, n_scores: int | None = None) -> Numbers:
        classes = int(y.max()) + 1
        n_scores = self.n_scores(classes) if n_scores is None else n_scores
        sums = np.bincount(y.astype(np.intp), w, minlength=max(n_scores, 2))
        shares = sums / sums.sum()
        rest = np.array([np.delete(shares, k).sum() for k in range(len(shares))])
        few = np.finfo(np.float64).eps
        constants = self._constant(np.maximum(shares, few), np.maximum(rest, few))
        return constants if n_scores > 1 else constants[1:]

    @abstractmethod
    def _constant(self, share: Numbers, rest: Numbers) -> Numbers: ...


@dataclass(frozen=True)
class Logistic(NativeLoss, _ClassLoss):
    """Log loss, minus the log-likelihood of the class.

    Two classes: L = ln(1 + exp(-y' F)), y' = 2 y - 1, F the log-odds of class 1. More:
    L = ln sum_k exp(F_k) - F_y, the softmax cross-entropy.

    The hessian of the latter is the diagonal p_k (1 - p_k) of the second derivatives. LogitBoost (J. Friedman, T.
    Hastie, R. Tibshirani 2000, Annals of Statistics 28) and LightGBM multiply it by K / (K - 1).

    Examples
    --------
    >>> from committee.objectives.losses import Logistic
    >>> loss = Logistic()
    >>> F = loss.best_constant(np.array([0, 1, 1, 1]))
    >>> F.round(3).tolist(), loss.link.probability(F).round(3).tolist()
    ([1.099], [[0.25, 0.75]])
    """

    name: ClassVar[str] = "log_loss"
    link: ClassVar[Link] = Softmax()  # the softmax, which for one score is sigma(F)

    def kernel(self, F: Numbers) -> KernelName:
        return "logistic" if F.ndim == 1 else "softmax"

    def value(self, y: Targets, F: Numbers) -> Numbers:
        if F.ndim == 1:
            return np.asarray(-log_expit(signs(y, F) * F))
        rows = np.arange(F.shape[1])
        winner = F.argmax(axis=0)
        largest = F[winner, rows]
        others = np.exp(F - largest)
        others[winner, rows] = 0.0  # added by log1p, which keeps the digits of small ones
        return np.asarray(np.log1p(others.sum(axis=0)) + (largest - F[y, rows]))

    def _constant(self, share: Numbers, rest: Numbers) -> Numbers:
        logs = np.log(share)
        # the scores of several classes sum to zero; the log-odds of two are a difference
        return logs - (logs.mean() if len(share) > 2 else np.log(rest))


class MarginLoss(_ClassLoss):
    """Base of the losses Q(y' F) of the margin, y' = +1 for the class of a score and -1 for the rest.

    With more than two classes the loss is the sum over them, each against the rest.
    """

    def value(self, y: Targets, F: Numbers) -> Numbers:
        losses = self._margin_value(signs(y, F) * F)
        return losses if F.ndim == 1 else np.asarray(losses.sum(axis=0))

    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        sign = signs(y, F)
        slope, curvature = self._margin_derivatives(sign * F)
        return weighted(sign * slope, curvature, w)

    @abstractmethod
    def _margin_value(self, x: Numbers) -> Numbers: ...

    @abstractmethod
    def _margin_derivatives(self, x: Numbers) -> tuple[Numbers, Numbers]: ...


@dataclass(frozen=True)
class Exponential(MarginLoss):
    """Q(x) = exp(-x), AdaBoost's loss, continued by its tangent below x = -500. F estimates half the log-odds.

    Source: J. Friedman, T. Hastie, R. Tibshirani (2000). Additive logistic regression. Annals of Statistics 28.

    Examples
    --------
    >>> from committee.objectives.losses import Exponential
    >>> Exponential().value(np.array([0, 1]), np.array([1.0, 1.0])).round(3).tolist()
    [2.718, 0.368]
    """

    name: ClassVar[str] = "exponential"
    link: ClassVar[Link] = LogisticLink(scale=2.0)  # sigma(2 F)

    def _margin_value(self, x: Numbers) -> Numbers:
        return exp_with_tangent(-x)[0]

    def _margin_derivatives(self, x: Numbers) -> tuple[Numbers, Numbers]:
        slope = exp_with_tangent(-x)[1]
        return -slope, slope

    def _constant(self, share: Numbers, rest: Numbers) -> Numbers:
        return 0.5 * (np.log(share) - np.log(rest))


@dataclass(frozen=True)
class Probit(MarginLoss):
    """Q(x) = -ln Phi(x): minus the log-likelihood of a probit model, P[y = 1] = Phi(F).

    Source: S. Zheng, W. Liu (2012). Functional gradient ascent for probit regression. Pattern Recognition 45.

    Examples
    --------
    >>> from committee.objectives.losses import Probit
    >>> Probit().value(np.array([1, 1]), np.array([0.0, -1000.0])).round(3).tolist()
    [0.693, 500007.827]
    """

    name: ClassVar[str] = "probit"
    link: ClassVar[Link] = ProbitLink()  # Phi(F)

    def _margin_value(self, x: Numbers) -> Numbers:
        return np.asarray(-log_ndtr(x))

    def _margin_derivatives(self, x: Numbers) -> tuple[Numbers, Numbers]:
        descent, curvature, _ = _core.newton_terms("probit", np.ravel(x))
        return -descent.reshape(x.shape), curvature.reshape(x.shape)

    def _constant(self, share: Numbers, rest: Numbers) -> Numbers:
        # the smaller of the two shares has the digits
        return np.where(share <= rest, ndtri(share), -ndtri(rest))


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """Q(x) = max(0, 1 - x)^2. F estimates p_1 - p_0 (T. Zhang 2004, Annals of Statistics 32).

    The hessian is 2 everywhere, also where the loss is zero: an upper bound, with which a step never overshoots.

    Examples
    --------
    >>> from committee.objectives.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([1, 1, 0]), np.array([0.0, 2.0, 2.0])).tolist()
    [1.0, 0.0, 9.0]
    """

    name: ClassVar[str] = "squared_hinge"
    link: ClassVar[Link] = Truncated()  # (1 + F) / 2, within [0, 1]
    hessian_is_true: ClassVar[bool] = False
    mean_interval: ClassVar[Interval] = Interval(0.0, 1.0, closed="both")

    def _margin_value(self, x: Numbers) -> Numbers:
        return np.square(np.maximum(1.0 - x, 0.0))

    def _margin_derivatives(self, x: Numbers) -> tuple[Numbers, Numbers]:
        return -2.0 * np.maximum(1.0 - x, 0.0), np.full_like(x, 2.0)

    def _constant(self, share: Numbers, rest: Numbers) -> Numbers:
        return share - rest


def signs(y: Targets, F: Numbers) -> Numbers:
    chosen = y == 1 if F.ndim == 1 else y == np.arange(len(F))[:, None]
    return np.where(chosen, 1.0, -1.0)
