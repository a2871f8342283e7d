"""Base of the losses, with defaults for what most of them share; a loss of your own starts here."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee import _core
from committee.data.typed_json import NamedParameters, as_float
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link

Numbers: TypeAlias = NDArray[np.float64]
Targets: TypeAlias = NDArray[Any]  # float64, or the numbers of classes
KernelName: TypeAlias = Literal["logistic", "softmax", "squared"]

SMALLEST_HESSIAN = 1e-16
"""Hessians are at least this times the row's weight.

Far out a true one is zero in floating point (p (1 - p) at F = 1000), and a leaf of such rows would divide zero by
zero. The floor is far below any curvature that says something, so it is no regularisation: how far a step may go
on so little evidence is for `min_hessian_leaf` and `leaf_l2` to say.
"""

LARGEST_EXPONENT = 500.0
"""Where exponentials are continued by their tangent: exp(500) is 1e217, so that sums and weights cannot overflow."""


@dataclass(frozen=True)
class Interval:
    """The numbers between two ends; an end that is infinite is never part of it.

    Parameters
    ----------
    low, high : float, default=-inf, inf
        The ends.
    closed : {"both", "low", "high", "neither"}, default="neither"
        Which of them belong to it.

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
        """Whether each number lies in the interval; NaN does not."""
        x = np.asarray(numbers, dtype=np.float64)
        above = x >= self.low if self.closed in ("both", "low") else x > self.low
        below = x <= self.high if self.closed in ("both", "high") else x < self.high
        return above & below

    def __str__(self) -> str:
        left = "[" if self.closed in ("both", "low") else "("
        right = "]" if self.closed in ("both", "high") else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"


class Loss(NamedParameters, ABC):
    """L(y, F), how wrong the score F is about the target y, with what boosting needs to know of it.

    A loss of your own needs `name`, `link`, `value` and `gradient_hessian`; everything else has a default. Make
    it a frozen dataclass, with its numbers for fields.

    Scores are ``(n,)``, or ``(D, n)`` where a loss has D > 1 of them for each row: one row per output. Targets are
    ``(n,)``: float64, or class numbers.

    Equation: losses (docs/theory.md).
    """

    hessian_is_true: ClassVar[bool] = True
    """Whether hessians are second derivatives of the loss (but for their floor), or other upper bounds."""
    constant_hessian: ClassVar[bool] = False
    """Whether the hessian of every row is its weight."""
    target_interval: ClassVar[Interval] = Interval()
    """Where targets may lie."""
    mean_interval: ClassVar[Interval] = Interval()
    """Where what the link makes of a score may lie."""

    @property
    @abstractmethod
    def link(self) -> Link | MeanLink:
        """The link from scores to probabilities, or to predictions: the inverse of what minimises the loss."""

    @abstractmethod
    def value(self, y: Targets, F: Numbers) -> Numbers:
        """The loss of each row, ``(n,)``, weights aside."""

    @abstractmethod
    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        """Gradient and hessian of a Newton step, each in the shape of `F` and times the row's weight.

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
            The derivative of the loss by the score.
        hessian : float64 array
            Its second derivative, or where that may be zero a bound above it; above zero wherever the weight is.
        """

    def n_scores(self, n_classes: int | None = None) -> int:
        """Number of scores of a row: one for each of three or more classes, otherwise one."""
        return n_classes if n_classes is not None and n_classes > 2 else 1

    def check_target(self, y: Targets) -> None:
        """Refuse targets ``(n,)``, or ``(n, q)`` of which each has a score of its own, outside the loss's interval.

        Raises
        ------
        ValueError
            Naming the first such row and its value.
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
        """The score that is best if all rows have the same, argmin_c sum_i w_i L(y_i, c).

        Parameters
        ----------
        y : array (n,)
            Targets.
        w : float64 array (n,), default=None
            Row weights, >= 0, not all zero; None means 1.
        n_scores : int, default=None
            Number of scores of a row (`n_scores`). None: as many as the targets tell, by the largest class
            number among them.

        Returns
        -------
        float64 array (D,)
            Finite: where the best constant is infinite, one far out.
        """
        return _least_constant(self, y, _weights(y, w), n_scores or 1)

    def leaf_constant(self, residual: Numbers, w: Numbers | None, output: int = 0) -> float | None:
        """The best constant to add in a leaf, where a Newton step is no good; None where it is.

        Parameters
        ----------
        residual : float64 array (n,)
            y - F of the leaf's rows.
        w : float64 array (n,) or None
            Their weights; None means 1.
        output : int, default=0
            Which of the scores it is for.

        Returns
        -------
        float or None
        """
        return None


class NativeLoss(Loss):
    """A loss whose gradients a kernel computes."""

    def kernel(self, F: Numbers) -> KernelName:
        """Name of the loss in the kernel, for scores of this shape."""
        raise NotImplementedError

    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        """By the kernel, on one thread."""
        F = np.ascontiguousarray(F, dtype=np.float64)
        gradient, hessian = np.empty_like(F), np.empty_like(F)
        self.write_by_kernel(y, F, w, gradient, hessian, n_threads=1)
        return gradient, hessian

    def write_by_kernel(
        self, y: Targets, F: Numbers, w: Numbers | None, gradient: Numbers, hessian: Numbers, n_threads: int
    ) -> None:
        """Write what the kernel computes; see `write_gradients`."""
        name = self.kernel(F)
        target: Targets = np.ascontiguousarray(y, dtype=np.float64 if name == "squared" else np.uint16)
        weights = None if w is None else np.ascontiguousarray(w, dtype=np.float64)
        _core.loss_gradients(name, target, np.ascontiguousarray(F), weights, gradient, hessian, n_threads)


def write_gradients(
    loss: Loss,
    y: Targets,
    F: Numbers,
    w: Numbers | None,
    gradient: Numbers,
    hessian: Numbers,
    n_threads: int = 1,
) -> None:
    """Gradients and hessians written where they are wanted: each round of boosting uses the same two arrays.

    Parameters
    ----------
    loss : Loss
        Any loss; those with a kernel allocate nothing here.
    y : array (n,) or (D, n)
        Targets; float64, or uint16 for classes. ``(D, n)``: each score has a target of its own.
    F : float64 array (n,) or (D, n)
        Scores.
    w : float64 array (n,) or None
        Row weights; None means 1.
    gradient, hessian : float64 array
        Arrays to write to; in the shape of `F`, C-contiguous.
    n_threads : int, default=1
        A ceiling; the bits are the same for any.

    Examples
    --------
    >>> import numpy as np
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
    # a subclass of a native loss may have derivatives of its own, of which the kernel knows nothing
    if isinstance(loss, NativeLoss) and type(loss).gradient_hessian is NativeLoss.gradient_hessian:
        loss.write_by_kernel(y, F, w, gradient, hessian, n_threads)
    else:
        gradient[...], hessian[...] = loss.gradient_hessian(y, F, w)


def weighted(gradient: Numbers, hessian: Numbers, w: Numbers | None) -> tuple[Numbers, Numbers]:
    """Gradient and hessian times the weights, hessians not below their floor; in place."""
    np.maximum(hessian, SMALLEST_HESSIAN, out=hessian)
    if w is not None:
        with np.errstate(over="ignore"):  # what is grown on them refuses infinities
            gradient *= w
            hessian *= w
    return gradient, hessian


def exp_with_tangent(x: Numbers) -> tuple[Numbers, Numbers]:
    """exp(x), and its slope; beyond `LARGEST_EXPONENT` the tangent there, which is still convex."""
    slope = np.exp(np.minimum(x, LARGEST_EXPONENT))
    return slope * (1.0 + np.maximum(x - LARGEST_EXPONENT, 0.0)), slope


def checked_number(name: str, value: object, interval: Interval) -> float:
    """`value` as a float of the interval, or the error that says what it should be."""
    number = as_float(name, value)
    if not interval.holds(number):
        raise ValueError(f"{name} is {number}; it must lie in {interval}.")
    return number


def _weights(y: Targets, w: Numbers | None) -> Numbers:
    return np.ones(len(y)) if w is None else np.asarray(w, dtype=np.float64)


def _least_constant(loss: Loss, y: Targets, w: Numbers, n_scores: int) -> Numbers:
    """By the root of the summed gradient; several scores by descent."""

    def slopes(c: Numbers) -> Numbers:
        F = np.repeat(c[:, None], len(y), axis=1)
        gradient = loss.gradient_hessian(y, F if n_scores > 1 else F[0], w)[0]
        return np.asarray(gradient.reshape(n_scores, -1).sum(axis=1))

    def risk(c: Numbers) -> float:
        F = np.repeat(c[:, None], len(y), axis=1)
        return float(w @ loss.value(y, F if n_scores > 1 else F[0]))

    if n_scores > 1:
        from scipy.optimize import minimize  # models that predict need no optimiser

        return np.asarray(minimize(risk, np.zeros(n_scores), jac=slopes, method="BFGS").x)
    return np.array([_root(lambda c: float(slopes(np.array([c]))[0]))])


_FURTHEST = 1e300  # no best constant is looked for beyond
_FLAT = 1e-13  # a slope that has decreased to this share of what it was at zero counts as none


def _root(slope: Callable[[float], float]) -> float:
    """Where an increasing function is zero, or all but zero; far out if it never is."""
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
