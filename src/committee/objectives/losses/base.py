"""Base classes of the losses; a loss of your own starts here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, ClassVar, Literal, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee import _core
from committee.data.typed_json import NamedParameters, as_float
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link

Numbers: TypeAlias = NDArray[np.float64]
Targets: TypeAlias = NDArray[Any]  # float64, or class numbers
KernelName: TypeAlias = Literal["logistic", "softmax", "squared"]

SMALLEST_HESSIAN = 1e-16  # floor of a hessian, times the row's weight, so that no leaf divides zero by zero

LARGEST_EXPONENT = 500.0  # beyond it exponentials continue as their tangent, so that sums cannot overflow


@dataclass(frozen=True)
class Interval:
    """An interval of numbers; an infinite end is never part of it.

    Parameters
    ----------
    low, high : float, default=-inf, inf
        The ends.
    closed : {"both", "low", "high", "neither"}, default="neither"
        Ends that belong to the interval.

    Examples
    --------
    >>> from committee.objectives.losses import Interval
    >>> interval = Interval(low=0.0, closed="low")
    >>> print(interval, interval.holds([-1.0, 0.0, float("inf")]).tolist())
    [0, inf) [False, True, False]
    """

    low: float = -inf
    high: float = inf
    closed: str = "neither"

    def holds(self, numbers: ArrayLike) -> NDArray[np.bool_]:
        """Return True for each number in the interval; NaN is outside."""
        x = np.asarray(numbers, dtype=np.float64)
        above = x >= self.low if self.closed in ("both", "low") else x > self.low
        below = x <= self.high if self.closed in ("both", "high") else x < self.high
        return above & below & np.isfinite(x)

    def __str__(self) -> str:
        left = "[" if self.closed in ("both", "low") and isfinite(self.low) else "("
        right = "]" if self.closed in ("both", "high") and isfinite(self.high) else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"


class Loss(NamedParameters, ABC):
    """A loss L(y, F) of the score F for the target y, with its derivatives and link.

    A loss of your own needs `name`, `link`, `value` and `gradient_hessian`; everything else has a default. Make it a
    frozen dataclass with its parameters as fields. Scores are ``(n,)``, or ``(D, n)`` where a loss has D > 1 scores for
    each row. Targets are ``(n,)``: float64, or class numbers.

    Equation: losses (docs/theory.md).
    """

    hessian_is_true: ClassVar[bool] = True
    """True if hessians are second derivatives of the loss (but for their floor), False for others, such as bounds."""
    constant_hessian: ClassVar[bool] = False
    """True if the hessian of every row is its weight."""
    target_interval: ClassVar[Interval] = Interval()
    """Valid targets."""
    mean_interval: ClassVar[Interval] = Interval()
    """Range of the link."""

    @property
    @abstractmethod
    def link(self) -> Link | MeanLink:
        """Link from scores to probabilities or predictions: the inverse of the minimiser of the loss."""

    @abstractmethod
    def value(self, y: Targets, F: Numbers) -> Numbers:
        """Return the unweighted loss of each row, ``(n,)``."""

    @abstractmethod
    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        """Return the gradient and hessian of a Newton step, each in the shape of `F` and times the row's weight.

        Parameters
        ----------
        y : array (n,)
            Targets.
        F : float64 array (n,) or (D, n)
            Scores.
        w : float64 array (n,), default=None
            Row weights, >= 0; None means 1.

        Returns
        -------
        gradient : float64 array
            Derivative of the loss by the score.
        hessian : float64 array
            Second derivative, or an upper bound on it where it may be zero; positive wherever the weight is.
        """

    def n_scores(self, n_classes: int | None = None) -> int:
        """Return the number of scores of a row: one for each of three or more classes, otherwise one."""
        return n_classes if n_classes is not None and n_classes > 2 else 1

    def check_target(self, y: Targets) -> None:
        """Check targets ``(n,)``, or ``(n, q)`` for q scores.

        Raises
        ------
        ValueError
            If a target is outside `target_interval`; the message has its index and value.
        """
        bad = ~self.target_interval.holds(y)
        if bad.any():
            first = tuple(np.argwhere(bad)[0].tolist())
            raise ValueError(
                f"y[{', '.join(map(str, first))}] is {y[first]}; the {self.name} loss needs targets in "
                f"{self.target_interval}. "
                "Leave such rows out or choose another loss."
            )

    def best_constant(self, y: Targets, w: Numbers | None = None, n_scores: int | None = None) -> Numbers:
        """Return the best constant score, argmin_c sum_i w_i L(y_i, c).

        Parameters
        ----------
        y : array (n,)
            Targets.
        w : float64 array (n,), default=None
            Row weights, >= 0, not all zero; None means 1.
        n_scores : int, default=None
            Number of scores of a row. None: by the largest number in `y` for classes, one per quantile, else 1.

        Returns
        -------
        float64 array (D,)
            Finite, also where the best constant is infinite.
        """
        D = n_scores or 1
        return _best_shift(self, y, np.zeros((D, len(y)) if D > 1 else len(y)), w)

    def best_shift(self, y: Targets, F: Numbers, w: Numbers | None = None) -> Numbers:
        """Return the best constants to add to scores, argmin_c sum_i w_i L(y_i, F_i + c).

        Parameters
        ----------
        y : array (n,)
            Targets.
        F : float64 array (n,) or (D, n)
            Scores.
        w : float64 array (n,), default=None
            Row weights, >= 0, not all zero; None means 1.

        Returns
        -------
        float64 array (D,)
        """
        constants = [self.leaf_constant(y - f, w, k) for k, f in enumerate(np.atleast_2d(F))]
        found = [one for one in constants if one is not None]
        return np.array(found) if len(found) == len(constants) else _best_shift(self, y, F, w)

    def leaf_constant(self, residual: Numbers, w: Numbers | None, output: int = 0) -> float | None:
        """Return the best constant to add in a leaf, or None where a Newton step finds it.

        Parameters
        ----------
        residual : float64 array (n,)
            y - F of the leaf's rows.
        w : float64 array (n,) or None
            Their weights; None means 1.
        output : int, default=0
            Index of the score.
        """
        return None


class NativeLoss(Loss):
    """A loss whose gradients a kernel computes."""

    def kernel(self, F: Numbers) -> KernelName:
        """Return the kernel's name of the loss, for scores of the shape of `F`."""
        raise NotImplementedError

    def kernel_target(self, y: Targets, F: Numbers) -> tuple[KernelName, Targets]:
        """Return the kernel's name for scores of the shape of `F`, and targets as the kernel takes them."""
        name = self.kernel(F)
        return name, np.ascontiguousarray(y, dtype=np.float64 if name == "squared" else np.uint16)

    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        F = np.ascontiguousarray(F, dtype=np.float64)
        gradient, hessian = np.empty_like(F), np.empty_like(F)
        self.write_by_kernel(y, F, w, gradient, hessian, n_threads=1)
        return gradient, hessian

    def write_by_kernel(
        self, y: Targets, F: Numbers, w: Numbers | None, gradient: Numbers, hessian: Numbers, n_threads: int
    ) -> None:
        """Write the kernel's gradients and hessians, as `write_gradients` does."""
        name, target = self.kernel_target(y, F)
        weights = None if w is None else np.ascontiguousarray(w, dtype=np.float64)
        _core.loss_gradients(name, target, np.ascontiguousarray(F), weights, gradient, hessian, n_threads)


def has_kernel(loss: Loss) -> TypeGuard[NativeLoss]:
    return isinstance(loss, NativeLoss) and type(loss).gradient_hessian is NativeLoss.gradient_hessian


def write_gradients(
    loss: Loss, y: Targets, F: Numbers, w: Numbers | None, gradient: Numbers, hessian: Numbers, n_threads: int = 1
) -> None:
    """Write gradients and hessians into given arrays, which all rounds of boosting share.

    Parameters
    ----------
    loss : Loss
        Any loss.
    y : array (n,) or (D, n)
        Targets; float64, or uint16 for classes. ``(D, n)``: a target for each score.
    F : float64 array (n,) or (D, n)
        Scores.
    w : float64 array (n,) or None
        Row weights; None means 1.
    gradient, hessian : float64 array
        Output, in the shape of `F`, C-contiguous.
    n_threads : int, default=1
        Most threads; the result does not depend on it.

    Examples
    --------
    >>> from committee.objectives.losses import Squared, write_gradients
    >>> g, h = np.empty(2), np.empty(2)
    >>> write_gradients(Squared(), np.array([1.0, 2.0]), np.zeros(2), None, g, h)
    >>> g.tolist(), h.tolist()
    ([-1.0, -2.0], [1.0, 1.0])
    """
    if y.ndim == 2:
        for y_k, F_k, gradient_k, hessian_k in zip(y, F, gradient, hessian, strict=True):
            write_gradients(loss, y_k, F_k, w, gradient_k, hessian_k, n_threads)
        return
    if has_kernel(loss):
        loss.write_by_kernel(y, F, w, gradient, hessian, n_threads)
    else:
        gradient[...], hessian[...] = loss.gradient_hessian(y, F, w)


def weighted(gradient: Numbers, hessian: Numbers, w: Numbers | None) -> tuple[Numbers, Numbers]:
    """Raise hessians to their floor, and multiply gradient and hessian by the weights, in place."""
    np.maximum(hessian, SMALLEST_HESSIAN, out=hessian)
    if w is not None:
        with np.errstate(over="ignore"):  # tree growing rejects infinities
            gradient *= w
            hessian *= w
    return gradient, hessian


def exp_with_tangent(x: Numbers) -> tuple[Numbers, Numbers]:
    slope = np.exp(np.minimum(x, LARGEST_EXPONENT))
    return slope * (1.0 + np.maximum(x - LARGEST_EXPONENT, 0.0)), slope


def checked_number(name: str, value: object, interval: Interval) -> float:
    number = as_float(name, value)
    if not interval.holds(number):
        raise ValueError(f"{name} is {number}; it must lie in {interval}.")
    return number


def _best_shift(loss: Loss, y: Targets, F: Numbers, w: Numbers | None) -> Numbers:
    weights = np.ones(len(y)) if w is None else np.asarray(w, np.float64)
    if F.ndim == 1:
        return np.array([_root(lambda c: float(loss.gradient_hessian(y, F + c, weights)[0].sum()))])
    from scipy.optimize import minimize  # models that predict need no optimiser

    share = weights / weights.sum()  # so that the tolerance is relative

    def risk(c: Numbers) -> float:
        return float(share @ loss.value(y, F + c[:, None]))

    def slopes(c: Numbers) -> Numbers:
        return np.asarray(loss.gradient_hessian(y, F + c[:, None], share)[0].sum(axis=1))

    return np.asarray(minimize(risk, np.zeros(len(F)), jac=slopes, method="BFGS", options={"gtol": 1e-9}).x)


_FURTHEST = 1e300  # limit of the search for a best constant
_FLAT = 1e-13  # a slope that has decreased to this share of its value at zero counts as zero


def _root(slope: Callable[[float], float]) -> float:
    at_zero = slope(0.0)
    if at_zero == 0.0:
        return 0.0
    near, far = 0.0, -float(np.sign(at_zero))
    with np.errstate(over="ignore", invalid="ignore"):
        while abs(far) < _FURTHEST:
            there = slope(far)
            if abs(there) <= _FLAT * abs(at_zero):
                return far
            if not isfinite(there):
                break
            if there * at_zero < 0.0:
                from scipy.optimize import brentq

                return float(brentq(slope, near, far, xtol=np.finfo(np.float64).tiny, maxiter=2000))
            near, far = far, 2.0 * far
    return near


@dataclass(frozen=True)
class PlainGradient(Loss):
    """Wrapper of a loss whose hessians become the row weights (J. Friedman (2001), Greedy function approximation).

    Equation: first-order (docs/theory.md).
    """

    name: ClassVar[str] = "plain_gradient"
    hessian_is_true: ClassVar[bool] = False
    constant_hessian: ClassVar[bool] = True

    loss: Loss

    @property
    def link(self) -> Link | MeanLink:
        return self.loss.link

    def value(self, y: Targets, F: Numbers) -> Numbers:
        return self.loss.value(y, F)

    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        gradient, hessian = self.loss.gradient_hessian(y, F, w)
        hessian[...] = 1.0 if w is None else w
        return gradient, hessian

    def n_scores(self, n_classes: int | None = None) -> int:
        return self.loss.n_scores(n_classes)

    def check_target(self, y: Targets) -> None:
        self.loss.check_target(y)

    def best_constant(self, y: Targets, w: Numbers | None = None, n_scores: int | None = None) -> Numbers:
        return self.loss.best_constant(y, w, n_scores)

    def best_shift(self, y: Targets, F: Numbers, w: Numbers | None = None) -> Numbers:
        return self.loss.best_shift(y, F, w)
