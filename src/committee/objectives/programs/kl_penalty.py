"""The Kullback-Leibler penalty: weights as a distribution over voters and their complements, held near the uniform."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from committee.data.number_types import F64, Mask
from committee.objectives.programs.penalty import Penalty

NEARLY_ONE = 1.0 - 2.0**-52
"""Largest share of its bound that a weight has; artanh is finite there."""

MOST_TIMES = 1e150
"""Arguments of tanh that are told apart; it is 1 long before."""

_MOST_STEPS = 100


@dataclass(frozen=True)
class KLPenalty(Penalty):
    r"""lambda times the divergence of quasi-uniform distributions: 2 lambda a^2 sum_j h(alpha_j / a), |alpha_j| < a.

    Let each voter share the mass 1/N with its complement, Q_j+ + Q_j- = 1/N, as P does with half of it for each. The
    vote is a N sum_j (Q_j+ - Q_j-) h_j, whose weights are alpha_j = a u_j with u_j = N (Q_j+ - Q_j-), and

        KL(Q || P) = 1/N sum_j h(u_j),  h(u) = ((1 + u) ln(1 + u) + (1 - u) ln(1 - u)) / 2,

    which is u^2 / 2 near 0 and rises with infinite slope at the ends: small weights cost what "l2" asks, and none
    reaches the bound a.

    Equation: kl-step (docs/theory.md).

    Parameters
    ----------
    strength : float, default=0.0
        lambda, > 0.
    bound : float, default=0.3
        a: the learners' `alpha_max`.

    References
    ----------
    P. Germain, A. Lacasse, F. Laviolette, M. Marchand, S. Shanian (2009). From PAC-Bayes bounds to KL regularization.
    NIPS 22.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.kl_penalty import KLPenalty
    >>> KLPenalty(0.5, bound=0.3).best(np.array([0.1, 2.0]), np.ones(2)).round(3).tolist()
    [0.066, 0.3]
    """

    bound: float = 0.3

    @classmethod
    def of(cls, alpha: float | Literal["theory"], alpha_max: float, theory: Callable[[], float]) -> Self:
        """As `Penalty.of`."""
        if alpha == "theory":
            raise ValueError(
                "alpha='theory' is for penalty='l1' and 'l2'; for penalty='kl' the theory names no value. Set alpha to "
                "a number above 0."
            )
        if alpha == 0.0:
            raise ValueError("penalty='kl' needs alpha > 0; with 0 only the bound is left: take penalty='linf'.")
        return cls(float(alpha), float(alpha_max))

    def best(self, own: F64, eta: F64) -> F64:
        """As `Penalty.best`: a tanh v with eta a tanh v + lambda a v = own.

        The left side is concave where it is positive, so Newton's steps from below rise to the root.
        """
        size = _times(own, self.bound)
        v = _times(size, self.strength + eta)
        for _ in range(_MOST_STEPS):
            u = np.tanh(v)
            step = (size - eta * u - self.strength * v) / (self.strength + eta * (1.0 - u) * (1.0 + u))
            v = v + np.maximum(step, 0.0)
            if not np.any(step > 1e-15 * v):
                break
        return np.asarray(np.sign(own) * self.bound * np.minimum(np.tanh(v), NEARLY_ONE))

    def cost(self, alpha: F64) -> F64:
        """As `Penalty.cost`."""
        u = self._shares(alpha)
        divergence = 0.5 * ((1.0 + u) * np.log1p(u) + (1.0 - u) * np.log1p(-u))
        return 2.0 * self.strength * self.bound**2 * divergence

    def distance(self, c: F64, alpha: F64) -> F64:
        """As `Penalty.distance`, where that says more than rounding.

        Near the bound slopes are so steep that the last digit of a weight decides them. An optimum has
        alpha = a tanh(c / (lambda a)), and no step of a weight lowers the risk by more than its distance times that of
        the weight from this; the root of the product stands for the distance where it is smaller.
        """
        off = np.abs(c - self._half_slope(alpha))
        short = np.abs(self.bound * np.sign(c) * np.tanh(_times(c, self.strength * self.bound)) - alpha)
        return np.asarray(np.minimum(off, np.sqrt(off * short)))

    def free(self, alpha: F64) -> Mask:
        """As `Penalty.free`."""
        return np.abs(alpha) < NEARLY_ONE * self.bound

    def slope(self, alpha: F64) -> F64 | float:
        """As `Penalty.slope`."""
        return self._half_slope(alpha) - self.curvature(alpha) * alpha

    def curvature(self, alpha: F64) -> F64 | float:
        """As `Penalty.curvature`."""
        u = self._shares(alpha)
        return np.asarray(self.strength / ((1.0 - u) * (1.0 + u)))

    def stops(self, alpha: F64, step: F64) -> tuple[Mask, F64]:
        """As `Penalty.stops`: a weight that would leave its bound goes half of the way there."""
        return np.abs(alpha + step) >= NEARLY_ONE * self.bound, 0.5 * (alpha + np.sign(step) * self.bound)

    def clipped(self, alpha: F64) -> F64:
        """As `Penalty.clipped`."""
        return self.bound * self._shares(alpha)

    @classmethod
    def ordered(cls, strengths: F64) -> F64:
        """As `Penalty.ordered`."""
        if strengths[0] == 0.0:
            raise ValueError("alphas holds 0, where penalty='kl' is the bound of 'linf' alone. Leave it out.")
        return super().ordered(strengths)

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        """As `Penalty.gap`: the dual of the cost is 2 lambda a^2 ln cosh(c / (lambda a)), finite for every residual."""
        scaled = _times(c, self.strength * self.bound)
        ln_cosh = scaled + np.log1p(np.exp(-2.0 * scaled)) - np.log(2.0)
        dual = 2.0 * self.strength * self.bound**2 * ln_cosh
        return float(np.maximum(self.cost(alpha) + dual - 2.0 * alpha * c, 0.0).sum())

    def _shares(self, alpha: F64) -> F64:
        """Weights over their bound, inside it."""
        return np.clip(alpha / self.bound, -NEARLY_ONE, NEARLY_ONE)

    def _half_slope(self, alpha: F64) -> F64:
        return np.asarray(self.strength * self.bound * np.arctanh(self._shares(alpha)))


def _times(size: F64, unit: F64 | float) -> F64:
    """How many times a unit goes into the size of numbers, at most `MOST_TIMES`; units may be near zero."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(np.abs(size) / np.maximum(unit, np.finfo(np.float64).tiny), MOST_TIMES))
