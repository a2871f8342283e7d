"""Penalties on the weights of voters: none, L1, L2, Linf and Kullback-Leibler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee import _core
from committee.data.number_types import F64, Mask
from committee.data.text import warn_user
from committee.objectives.programs.penalised_least_squares import CountedProducts, Penalty

if TYPE_CHECKING:
    from committee._core import Penalty as KernelName


MOST_SWEEPS = 10_000  # most sweeps at one strength of a LASSO path


@dataclass(frozen=True)
class NoPenalty(Penalty):
    kernel: ClassVar[KernelName | None] = "none"

    @classmethod
    def of(cls, alpha: float | Literal["theory"], alpha_max: float, theory: Callable[[], float]) -> Self:
        return cls()

    def best(self, own: F64, eta: F64) -> F64:
        return np.asarray(own / eta)

    def cost(self, alpha: F64) -> F64:
        return np.zeros_like(alpha)

    def distance(self, c: F64, alpha: F64) -> F64:
        return np.abs(c)


@dataclass(frozen=True)
class L1Penalty(Penalty):
    """2 lambda sum |alpha|: the best weight is soft(own, lambda) / eta (eq. 7)."""

    kernel: ClassVar[KernelName | None] = "l1"
    target_power: ClassVar[int | None] = 1
    takes_counts: ClassVar[bool] = True

    @classmethod
    def theory_strength(cls, complexity: float, n_voters: int) -> float:
        return 4.0 * complexity

    def best(self, own: F64, eta: F64) -> F64:
        return np.asarray(np.sign(own) * np.maximum(np.abs(own) - self.strength, 0.0) / eta)

    def cost(self, alpha: F64) -> F64:
        return 2.0 * self.strength * np.abs(alpha)

    def distance(self, c: F64, alpha: F64) -> F64:
        off = np.maximum(np.abs(c) - self.strength, 0.0)
        return np.where(alpha == 0.0, off, np.abs(c - np.sign(alpha) * self.strength))

    def slope(self, alpha: F64) -> F64 | float:
        return self.strength * np.sign(alpha)

    def free(self, alpha: F64) -> Mask:
        return np.not_equal(alpha, 0.0)

    def stops(self, alpha: F64, step: F64) -> tuple[Mask, F64]:
        return np.sign(alpha + step) != np.sign(alpha), np.zeros(len(alpha))

    @classmethod
    def ordered(cls, strengths: F64) -> F64:
        if strengths[0] == 0.0:
            raise ValueError(
                "alphas holds 0, where the LASSO is least squares and has no duality gap to stop by. Leave it out, or "
                "train a QuadBoost learner with penalty=None."
            )
        return super().ordered(strengths)

    @classmethod
    def path(
        cls, gram: F64 | CountedProducts, b: F64, square: float, groups: NDArray[np.int64], strengths: F64, tol: float
    ) -> tuple[F64, F64, F64]:
        most_gap = tol * square
        rest = b, square, groups, np.ascontiguousarray(strengths), most_gap, MOST_SWEEPS
        if isinstance(gram, CountedProducts):
            weights, gaps, risks = _core.lasso_path_of_votes(gram.apart, gram.mean, gram.unit, gram.total, *rest)
        else:
            weights, gaps, risks = _core.lasso_path(gram, *rest)
        if gaps.max() > most_gap:
            warn_user(
                f"The path ran out of its {MOST_SWEEPS} sweeps at alpha={strengths[gaps.argmax()]:.3g}, with a duality "
                f"gap of {gaps.max():.2g} where tol allows {most_gap:.2g}; the weights are the best so far. Raise "
                "tol, or the weakest alphas.",
                ConvergenceWarning,
            )
        return weights, gaps, risks

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        # the scaled residual s r, s = min(1, lambda / max |c|), is feasible for the dual, with value 2 s r'y - s^2 r'r
        ry = square - float(alpha @ b)
        rr = ry - float(alpha @ c)
        largest = float(np.abs(c).max(initial=0.0))
        s = min(1.0, self.strength / largest) if largest > 0.0 else 1.0
        primal = rr + float(self.cost(alpha).sum())
        return max(0.0, primal - (2.0 * s * ry - s * s * rr))


@dataclass(frozen=True)
class L2Penalty(Penalty):
    """lambda sum alpha^2: the best weight is own / (eta + lambda) (eq. 8)."""

    kernel: ClassVar[KernelName | None] = "l2"

    @classmethod
    def theory_strength(cls, complexity: float, n_voters: int) -> float:
        return float(8.0 * n_voters**0.5 * complexity)

    def best(self, own: F64, eta: F64) -> F64:
        return np.asarray(own / (eta + self.strength))

    def cost(self, alpha: F64) -> F64:
        return self.strength * alpha**2

    def distance(self, c: F64, alpha: F64) -> F64:
        return np.abs(c - self.strength * alpha)

    @property
    def ridge(self) -> float:
        return self.strength

    @classmethod
    def path(
        cls, gram: F64 | CountedProducts, b: F64, square: float, groups: NDArray[np.int64], strengths: F64, tol: float
    ) -> tuple[F64, F64, F64]:
        gram = gram.dense() if isinstance(gram, CountedProducts) else gram
        # with fewer rows than voters the rank is small: G = U'U with r rows of U, and the weights are U'a
        upper, pivot, rank, _ = la.lapack.dpstrf(gram)
        U = np.triu(upper)[:rank]
        U[:, pivot - 1] = U.copy()
        s, V = la.eigh(U @ U.T, check_finite=False)
        spectral = V.T @ (U @ b)
        weights, gaps, risks = np.zeros((len(strengths), len(b))), np.zeros(len(strengths)), np.zeros(len(strengths))
        for i, strength in enumerate(strengths.tolist()):
            # directions of no voter have s = 0 within rounding, and no part in b
            scale = np.where(s > 1e-12 * s.max(initial=0.0), 1.0 / np.maximum(s * (s + strength), 1e-300), 0.0)
            weights[i] = (V @ (scale * spectral)) @ U
            c = b - gram @ weights[i]
            gaps[i] = cls(strength).gap(c, weights[i], b, square)
            risks[i] = square - float(weights[i] @ (b + c))
        return weights, gaps, risks

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        off = c - self.strength * alpha  # by strong convexity
        return float(off @ off / self.strength) if self.strength > 0.0 else float("nan")


@dataclass(frozen=True)
class LinfPenalty(Penalty):
    """|alpha| <= bound: the best weight is own / eta, clipped (eq. 9)."""

    kernel: ClassVar[KernelName | None] = "linf"
    target_power: ClassVar[int | None] = 1
    parameter: ClassVar[str] = "alpha_max"
    weakens: ClassVar[Literal["lower", "raise"]] = "raise"

    @classmethod
    def of(cls, alpha: float | Literal["theory"], alpha_max: float, theory: Callable[[], float]) -> Self:
        if alpha == "theory":
            raise ValueError(
                "alpha='theory' is for penalty='l1' and 'l2'; penalty='linf' bounds each weight by alpha_max, "
                "for which the theory names no value. Set alpha_max, and leave alpha out."
            )
        return cls(float(alpha_max))

    @classmethod
    def theory_strength(cls, complexity: float, n_voters: int) -> float:
        return 8.0 * n_voters * complexity

    def best(self, own: F64, eta: F64) -> F64:
        return np.clip(own / eta, -self.strength, self.strength)

    def cost(self, alpha: F64) -> F64:
        return np.zeros_like(alpha)

    def distance(self, c: F64, alpha: F64) -> F64:
        return np.where(np.abs(alpha) < self.strength, np.abs(c), np.maximum(-np.sign(alpha) * c, 0.0))

    def free(self, alpha: F64) -> Mask:
        return np.abs(alpha) < self.strength

    def stops(self, alpha: F64, step: F64) -> tuple[Mask, F64]:
        return np.abs(alpha + step) > self.strength, np.sign(step) * self.strength

    def clipped(self, alpha: F64) -> F64:
        return np.clip(alpha, -self.strength, self.strength)

    @classmethod
    def grid(cls, b: F64, eta: F64, n_strengths: int, eps: float) -> F64:
        most = float(np.divide(np.abs(b), eta, out=np.zeros_like(b), where=eta > 1e-12).max(initial=0.0))
        return np.geomspace(eps * most, most, n_strengths) if most > 0.0 else np.ones(n_strengths)

    @classmethod
    def ordered(cls, strengths: F64) -> F64:
        if strengths[0] == 0.0:
            raise ValueError("alphas holds 0; as a bound on all weights it leaves no committee. Leave it out.")
        return strengths

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        # the minimum over the box of the tangent is 2 sum_j (bound |c_j| - alpha_j c_j) lower
        return float(max(0.0, 2.0 * (self.strength * np.abs(c) - alpha * c).sum()))


NEARLY_ONE = 1.0 - 2.0**-52  # largest share of its bound that a weight may have, so that artanh is finite

MOST_TIMES = 1e150  # cap of the arguments of tanh

_MOST_STEPS = 100


@dataclass(frozen=True)
class KLPenalty(Penalty):
    r"""Multiple of the divergence of quasi-uniform distributions: 2 lambda a^2 sum_j h(alpha_j / a), |alpha_j| < a.

    Each voter shares the mass 1/N with its complement, and P gives half of it to each. With alpha_j = a u_j and
    u_j = N (Q_j+ - Q_j-),

        KL(Q || P) = 1/N sum_j h(u_j),  h(u) = ((1 + u) ln(1 + u) + (1 - u) ln(1 - u)) / 2

    (P. Germain, A. Lacasse, F. Laviolette, M. Marchand, S. Shanian 2009. From PAC-Bayes bounds to KL regularization.
    NIPS 22).

    Equation: kl-step (docs/theory.md).
    """

    target_power: ClassVar[int | None] = None

    bound: float = 0.3  # a: the learners' `alpha_max`

    @classmethod
    def of(cls, alpha: float | Literal["theory"], alpha_max: float, theory: Callable[[], float]) -> Self:
        if alpha == "theory":
            raise ValueError(
                "alpha='theory' is for penalty='l1' and 'l2'; for penalty='kl' the theory names no value. Set alpha to "
                "a number above 0."
            )
        if alpha == 0.0:
            raise ValueError("penalty='kl' needs alpha > 0; with 0 only the bound is left: take penalty='linf'.")
        return cls(float(alpha), float(alpha_max))

    def best(self, own: F64, eta: F64) -> F64:
        # a tanh v with eta a tanh v + lambda a v = own; Newton's steps from below rise to the root, as the left is
        # concave
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
        u = self._shares(alpha)
        divergence = 0.5 * ((1.0 + u) * np.log1p(u) + (1.0 - u) * np.log1p(-u))
        return 2.0 * self.strength * self.bound**2 * divergence

    def distance(self, c: F64, alpha: F64) -> F64:
        # Near the bound the slope depends on the last digit of a weight. The decrease of the risk is at most the
        # distance times that of the weight from the optimum a tanh(c / (lambda a)), so the root of this product is used
        # if smaller.
        off = np.abs(c - self._half_slope(alpha))
        short = np.abs(self.bound * np.sign(c) * np.tanh(_times(c, self.strength * self.bound)) - alpha)
        return np.asarray(np.minimum(off, np.sqrt(off * short)))

    def free(self, alpha: F64) -> Mask:
        return np.abs(alpha) < NEARLY_ONE * self.bound

    def slope(self, alpha: F64) -> F64 | float:
        return self._half_slope(alpha) - self.curvature(alpha) * alpha

    def curvature(self, alpha: F64) -> F64 | float:
        u = self._shares(alpha)
        return np.asarray(self.strength / ((1.0 - u) * (1.0 + u)))

    def stops(self, alpha: F64, step: F64) -> tuple[Mask, F64]:
        return np.abs(alpha + step) >= NEARLY_ONE * self.bound, 0.5 * (alpha + np.sign(step) * self.bound)

    def clipped(self, alpha: F64) -> F64:
        return self.bound * self._shares(alpha)

    @classmethod
    def ordered(cls, strengths: F64) -> F64:
        if strengths[0] == 0.0:
            raise ValueError("alphas holds 0, where penalty='kl' is the bound of 'linf' alone. Leave it out.")
        return super().ordered(strengths)

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        # the dual of the cost is 2 lambda a^2 ln cosh(c / (lambda a)), finite for every residual
        scaled = _times(c, self.strength * self.bound)
        ln_cosh = scaled + np.log1p(np.exp(-2.0 * scaled)) - np.log(2.0)
        dual = 2.0 * self.strength * self.bound**2 * ln_cosh
        return float(np.maximum(self.cost(alpha) + dual - 2.0 * alpha * c, 0.0).sum())

    def _shares(self, alpha: F64) -> F64:
        return np.clip(alpha / self.bound, -NEARLY_ONE, NEARLY_ONE)

    def _half_slope(self, alpha: F64) -> F64:
        return np.asarray(self.strength * self.bound * np.arctanh(self._shares(alpha)))


def _times(size: F64, unit: F64 | float) -> F64:
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(np.abs(size) / np.maximum(unit, np.finfo(np.float64).tiny), MOST_TIMES))


PENALTIES: dict[str, type[Penalty]] = {"l1": L1Penalty, "l2": L2Penalty, "linf": LinfPenalty, "kl": KLPenalty}


def penalty_class(name: str | None) -> type[Penalty]:
    return NoPenalty if name is None else PENALTIES[name]
