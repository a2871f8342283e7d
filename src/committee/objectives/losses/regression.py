"""Regression losses: squared, absolute, quantiles, Huber, and Poisson, gamma and Tweedie with a log link."""

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from committee.objectives.losses.base import (
    Interval,
    KernelName,
    Loss,
    NativeLoss,
    Numbers,
    Targets,
    checked_number,
    exp_with_tangent,
    weighted,
)
from committee.vote.links.mean import Identity, Log, MeanLink, Ordered


@dataclass(frozen=True)
class Squared(NativeLoss):
    """L = (y - F)^2 / 2, whose best constant is the mean.

    Examples
    --------
    >>> from committee.objectives.losses import Squared
    >>> Squared().best_constant(np.array([1.0, 2.0, 6.0])).tolist()
    [3.0]
    """

    name: ClassVar[str] = "squared_error"
    link: ClassVar[MeanLink] = Identity()
    constant_hessian: ClassVar[bool] = True

    def kernel(self, F: Numbers) -> KernelName:
        return "squared"

    def value(self, y: Targets, F: Numbers) -> Numbers:
        return 0.5 * np.square(np.asarray(y, dtype=np.float64) - F)

    def best_constant(self, y: Targets, w: Numbers | None = None, n_scores: int | None = None) -> Numbers:
        return np.array([np.average(np.asarray(y, dtype=np.float64), weights=w)])

    def best_shift(self, y: Targets, F: Numbers, w: Numbers | None = None) -> Numbers:
        return self.best_constant(y - F, w)


class _UnitHessian(Loss):
    hessian_is_true: ClassVar[bool] = False
    constant_hessian: ClassVar[bool] = True

    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        return weighted(self._slope(y, F), np.ones_like(F), w)

    @abstractmethod
    def _slope(self, y: Targets, F: Numbers) -> Numbers: ...


class _Pinball(_UnitHessian):
    link: ClassVar[MeanLink] = Identity()

    @property
    @abstractmethod
    def levels(self) -> tuple[float, ...]: ...

    def value(self, y: Targets, F: Numbers) -> Numbers:
        residual, q = np.asarray(y - F), self._shares()
        losses = np.maximum(q * residual, (q - 1.0) * residual)
        return losses if losses.ndim == 1 else np.asarray(losses.sum(axis=0))

    def _slope(self, y: Targets, F: Numbers) -> Numbers:
        residual, q = np.asarray(y - F), self._shares()
        return np.where(residual > 0.0, -q, np.where(residual < 0.0, 1.0 - q, 0.0))

    def best_constant(self, y: Targets, w: Numbers | None = None, n_scores: int | None = None) -> Numbers:
        target = np.asarray(y, dtype=np.float64)
        return np.array([weighted_quantile(target, w, q) for q in self.levels])

    def leaf_constant(self, residual: Numbers, w: Numbers | None, output: int = 0) -> float | None:
        return weighted_quantile(residual, w, self.levels[output])

    def _shares(self) -> Any:
        return self.levels[0] if len(self.levels) == 1 else np.array(self.levels)[:, None]


@dataclass(frozen=True)
class Quantile(_Pinball):
    """L = (q - [y < F]) (y - F), the pinball loss, whose best constant is the q-quantile (Koenker and Bassett 1978).

    It has no curvature; the hessian is 1, and the leaves of a tree get their quantile afterwards (`leaf_constant`).
    Where a whole interval is best, its middle is taken.

    Parameters
    ----------
    quantile : float, default=0.5
        Share q of targets below the prediction; 0 < q < 1.

    Examples
    --------
    >>> from committee.objectives.losses import Quantile
    >>> Quantile(0.8).best_constant(np.arange(11.0)).tolist()
    [8.0]
    """

    name: ClassVar[str] = "quantile"
    quantile: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantile", checked_number("quantile", self.quantile, Interval(0.0, 1.0)))

    @property
    def levels(self) -> tuple[float, ...]:
        return (self.quantile,)


@dataclass(frozen=True)
class Absolute(_Pinball):
    """L = |y - F|, twice the loss of the quantile 1/2, whose best constant is the median.

    Examples
    --------
    >>> from committee.objectives.losses import Absolute
    >>> Absolute().best_constant(np.array([0.0, 1.0, 100.0])).tolist()
    [1.0]
    """

    name: ClassVar[str] = "absolute_error"
    levels: ClassVar[tuple[float, ...]] = (0.5,)

    def value(self, y: Targets, F: Numbers) -> Numbers:
        return np.asarray(np.abs(y - F))

    def _slope(self, y: Targets, F: Numbers) -> Numbers:
        return np.asarray(np.sign(F - y))


@dataclass(frozen=True)
class Quantiles(_Pinball):
    """Sum of the pinball losses of several quantiles, with a score for each.

    The link sorts the scores of a row, so that predicted quantiles do not cross.

    Parameters
    ----------
    quantiles : sequence of float, default=(0.1, 0.5, 0.9)
        At least two, increasing, between 0 and 1.

    Examples
    --------
    >>> from committee.objectives.losses import Quantiles
    >>> Quantiles((0.2, 0.8)).best_constant(np.arange(11.0)).tolist()
    [2.0, 8.0]
    """

    name: ClassVar[str] = "quantiles"
    link: ClassVar[MeanLink] = Ordered()
    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)

    def __post_init__(self) -> None:
        if isinstance(self.quantiles, str) or not np.iterable(self.quantiles):
            raise ValueError(f"quantiles is {self.quantiles!r}; it must be a sequence of numbers.")
        levels = tuple(checked_number(f"quantiles[{k}]", q, Interval(0.0, 1.0)) for k, q in enumerate(self.quantiles))
        if len(levels) < 2 or any(a >= b for a, b in pairwise(levels)):
            raise ValueError(f"quantiles is {levels}; it must hold two or more numbers, increasing.")
        object.__setattr__(self, "quantiles", levels)

    def n_scores(self, n_classes: int | None = None) -> int:
        return len(self.quantiles)

    @property
    def levels(self) -> tuple[float, ...]:
        return self.quantiles


@dataclass(frozen=True)
class Huber(_UnitHessian):
    """L = r^2/2 for residuals r = y - F up to delta, and delta (|r| - delta/2) beyond (P. Huber 1964).

    The hessian is 1 everywhere: an upper bound, with which a step never overshoots.

    Parameters
    ----------
    delta : float, default=1.0
        Residual beyond which the loss is linear, in units of the target; above zero.

    Examples
    --------
    >>> from committee.objectives.losses import Huber
    >>> Huber(delta=1.0).best_constant(np.array([0.0, 1.0, 100.0])).round(6).tolist()
    [1.0]
    """

    name: ClassVar[str] = "huber"
    link: ClassVar[MeanLink] = Identity()
    delta: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", checked_number("delta", self.delta, Interval(0.0, inf)))

    def value(self, y: Targets, F: Numbers) -> Numbers:
        size = np.abs(y - F)
        return np.where(size <= self.delta, 0.5 * size * size, self.delta * (size - 0.5 * self.delta))

    def _slope(self, y: Targets, F: Numbers) -> Numbers:
        return np.clip(F - y, -self.delta, self.delta)

    def best_constant(self, y: Targets, w: Numbers | None = None, n_scores: int | None = None) -> Numbers:
        target = np.asarray(y, dtype=np.float64)
        return np.array([huber_location(target, np.ones(len(y)) if w is None else w, self.delta)])

    def best_shift(self, y: Targets, F: Numbers, w: Numbers | None = None) -> Numbers:
        return self.best_constant(y - F, w)


class _LogLinked(Loss):
    link: ClassVar[MeanLink] = Log()
    target_interval: ClassVar[Interval] = Interval(0.0, inf, closed="low")
    mean_interval: ClassVar[Interval] = Interval(0.0, inf)

    def best_constant(self, y: Targets, w: Numbers | None = None, n_scores: int | None = None) -> Numbers:
        mean = float(np.average(np.asarray(y, dtype=np.float64), weights=w))
        return Log().score(np.array([mean if mean > 0.0 else np.finfo(np.float64).eps]))

    def best_shift(self, y: Targets, F: Numbers, w: Numbers | None = None) -> Numbers:
        # the derivative of the loss by F is m^(2-p) - y m^(1-p), m = exp(F), p the power of the variance
        weights = np.ones(len(y)) if w is None else w
        if not (weights * y).any():
            return self.best_constant(y, w)
        of_targets = logsumexp((1.0 - self.variance_power) * F, b=weights * y)
        return np.array([of_targets - logsumexp((2.0 - self.variance_power) * F, b=weights)])

    @property
    @abstractmethod
    def variance_power(self) -> float:
        """p of the variance m^p of a target with mean m."""

    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        return weighted(*self._derivatives(y, F), w)

    @abstractmethod
    def _derivatives(self, y: Targets, F: Numbers) -> tuple[Numbers, Numbers]: ...


@dataclass(frozen=True)
class Poisson(_LogLinked):
    """L = exp(F) - y F: counts y >= 0 with mean exp(F); half the Poisson deviance but for a constant.

    Examples
    --------
    >>> from committee.objectives.losses import Poisson
    >>> loss = Poisson()
    >>> loss.link.mean(loss.best_constant(np.array([0.0, 1.0, 5.0]))).round(6).tolist()
    [2.0]
    """

    name: ClassVar[str] = "poisson"
    variance_power: ClassVar[float] = 1.0

    def value(self, y: Targets, F: Numbers) -> Numbers:
        return exp_with_tangent(F)[0] - y * F

    def _derivatives(self, y: Targets, F: Numbers) -> tuple[Numbers, Numbers]:
        mean = exp_with_tangent(F)[1]
        return mean - y, mean


@dataclass(frozen=True)
class Gamma(_LogLinked):
    """L = y exp(-F) + F: amounts y > 0 with mean exp(F) and proportional errors; half the deviance but for a constant.

    Examples
    --------
    >>> from committee.objectives.losses import Gamma
    >>> Gamma().check_target(np.array([1.0, 0.0]))
    Traceback (most recent call last):
    ...
    ValueError: y[1] is 0.0; the gamma loss needs targets in (0, inf). Leave such rows out or choose another loss.
    """

    name: ClassVar[str] = "gamma"
    variance_power: ClassVar[float] = 2.0
    target_interval: ClassVar[Interval] = Interval(0.0, inf)

    def value(self, y: Targets, F: Numbers) -> Numbers:
        return y * exp_with_tangent(-F)[0] + F

    def _derivatives(self, y: Targets, F: Numbers) -> tuple[Numbers, Numbers]:
        ratio = y * exp_with_tangent(-F)[1]
        return 1.0 - ratio, ratio


@dataclass(frozen=True)
class Tweedie(_LogLinked):
    """L = -y exp((1-p) F)/(1-p) + exp((2-p) F)/(2-p): amounts y >= 0 that may be exactly zero (B. Jorgensen 1987).

    Half the deviance, but for a constant, of a Poisson number of gamma amounts with mean m = exp(F) and variance
    proportional to m^p, between Poisson (p = 1) and gamma (p = 2).

    Parameters
    ----------
    power : float, default=1.5
        p, with 1 < p < 2; near 1 the variance grows as the mean, near 2 as its square.

    Examples
    --------
    >>> from committee.objectives.losses import Tweedie
    >>> Tweedie(power=1.5).value(np.array([0.0, 1.0]), np.zeros(2)).tolist()
    [2.0, 4.0]
    """

    name: ClassVar[str] = "tweedie"
    power: float = 1.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", checked_number("power", self.power, Interval(1.0, 2.0)))

    @property
    def variance_power(self) -> float:
        return self.power

    def value(self, y: Targets, F: Numbers) -> Numbers:
        a, b = self.power - 1.0, 2.0 - self.power
        return y / a * exp_with_tangent(-a * F)[0] + exp_with_tangent(b * F)[0] / b

    def _derivatives(self, y: Targets, F: Numbers) -> tuple[Numbers, Numbers]:
        a, b = self.power - 1.0, 2.0 - self.power
        low, high = y * exp_with_tangent(-a * F)[1], exp_with_tangent(b * F)[1]
        return high - low, a * low + b * high


def weighted_quantile(values: Numbers, w: Numbers | None, quantile: float) -> float:
    """Return the minimiser of the weighted pinball loss, the middle where a whole interval minimises it."""
    if w is None:
        w = np.ones(len(values))
    counted = np.flatnonzero(w > 0.0)
    order = counted[np.argsort(values[counted], kind="stable")]
    below = np.cumsum(w[order])
    # sums of weights that equal the share may miss it by rounding
    share, rounding = quantile * below[-1], 1e-12 * below[-1]
    first = int(np.searchsorted(below, share - rounding))
    last = min(int(np.searchsorted(below, share + rounding, side="right")), len(order) - 1)
    low, high = float(values[order[first]]), float(values[order[last]])
    return low + 0.5 * (high - low)


LOST = 1e-6  # rounding error of the largest target, relative to delta, above which sums along the pieces are inexact


def huber_location(y: Numbers, w: Numbers, delta: float) -> float:
    """Return the zero of sum_i w_i clip(c - y_i, -delta, delta), or the middle of an interval of zeros."""
    counted = w > 0.0
    y, w = y[counted], w[counted]
    ends = np.concatenate([y - delta, y + delta])
    order = np.argsort(ends, kind="stable")
    ends, steepness = ends[order], np.cumsum(np.concatenate([w, -w])[order])
    pull = delta * w.sum()

    def pulled(c: float) -> float:
        return float(w @ np.clip(c - y, -delta, delta))

    if np.spacing(np.abs(y).max()) > LOST * delta:  # the pieces are too short for sums along them
        below = max(bisect_left(ends, -1e-12 * pull, key=pulled) - 1, 0)
        above = min(bisect_right(ends, 1e-12 * pull, key=pulled), len(ends) - 1)
    else:  # the last end before the zero, and the first one after it
        sums = np.append(0.0, np.cumsum(np.maximum(steepness[:-1], 0.0) * np.diff(ends))) - pull
        below = int(np.searchsorted(sums, -1e-12 * pull)) - 1
        above = int(np.searchsorted(sums, 1e-12 * pull, side="right"))
    if above - below > 1:  # there are ends at which the sum is zero
        below, above = below + 1, above - 1
    middle = 0.5 * (ends[below] + ends[above])
    within = np.abs(y - middle) < delta
    if not within.any():
        return float(middle)
    far = w * np.where(within, 0.0, np.sign(y - middle))
    return float((w[within] @ y[within] + delta * far.sum()) / w[within].sum())
