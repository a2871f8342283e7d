"""No penalty, an L1, an L2 and an Linf penalty on the weights of voters: one class each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee import _core
from committee.data.number_types import F64, Mask
from committee.objectives.programs.counted_products import CountedProducts
from committee.objectives.programs.penalty import Penalty

if TYPE_CHECKING:
    from committee._core import Penalty as KernelName

MOST_SWEEPS = 10_000
"""Sweeps over all voters that one strength of a LASSO path may take."""


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """Least squares: the best weight is own / eta."""

    kernel: ClassVar[KernelName | None] = "none"

    @classmethod
    def of(cls, alpha: float | Literal["theory"], alpha_max: float, theory: Callable[[], float]) -> Self:
        """As `Penalty.of`; no parameter counts."""
        return cls()

    def best(self, own: F64, eta: F64) -> F64:
        """As `Penalty.best`."""
        return np.asarray(own / eta)

    def cost(self, alpha: F64) -> F64:
        """As `Penalty.cost`."""
        return np.zeros_like(alpha)

    def distance(self, c: F64, alpha: F64) -> F64:
        """As `Penalty.distance`."""
        return np.abs(c)


@dataclass(frozen=True)
class L1Penalty(Penalty):
    """2 lambda sum |alpha|: the best weight is soft(own, lambda) / eta (eq. 7).

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.penalties import L1Penalty
    >>> L1Penalty(0.1).best(np.array([0.3, -0.05]), np.ones(2)).round(3).tolist()
    [0.2, -0.0]
    """

    kernel: ClassVar[KernelName | None] = "l1"
    takes_counts: ClassVar[bool] = True

    @classmethod
    def theory_strength(cls, complexity: float, n_voters: int) -> float:
        """As `Penalty.theory_strength`: 4 R."""
        return 4.0 * complexity

    def best(self, own: F64, eta: F64) -> F64:
        """As `Penalty.best`."""
        return np.asarray(np.sign(own) * np.maximum(np.abs(own) - self.strength, 0.0) / eta)

    def cost(self, alpha: F64) -> F64:
        """As `Penalty.cost`."""
        return 2.0 * self.strength * np.abs(alpha)

    def distance(self, c: F64, alpha: F64) -> F64:
        """As `Penalty.distance`."""
        off = np.maximum(np.abs(c) - self.strength, 0.0)
        return np.where(alpha == 0.0, off, np.abs(c - np.sign(alpha) * self.strength))

    def slope(self, alpha: F64) -> F64 | float:
        """As `Penalty.slope`."""
        return self.strength * np.sign(alpha)

    def free(self, alpha: F64) -> Mask:
        """As `Penalty.free`: all but those at zero."""
        return np.not_equal(alpha, 0.0)

    def stops(self, alpha: F64, step: F64) -> tuple[Mask, F64]:
        """As `Penalty.stops`: where a weight would change its sign it ends at zero."""
        return np.sign(alpha + step) != np.sign(alpha), np.zeros(len(alpha))

    @classmethod
    def ordered(cls, strengths: F64) -> F64:
        """As `Penalty.ordered`."""
        if strengths[0] == 0.0:
            raise ValueError(
                "alphas holds 0, where the LASSO is least squares and has no duality gap to stop by. Leave it out, or "
                "use QuadBoostClassifier(penalty=None)."
            )
        return super().ordered(strengths)

    @classmethod
    def path(
        cls, gram: F64 | CountedProducts, b: F64, square: float, groups: NDArray[np.int64], strengths: F64, tol: float
    ) -> tuple[F64, F64, F64]:
        """As `Penalty.path`: sweeps over the coordinates, a group's voters settled together, until the gap is small."""
        most_gap = tol * square
        rest = b, square, groups, np.ascontiguousarray(strengths), most_gap, MOST_SWEEPS
        if isinstance(gram, CountedProducts):
            weights, gaps, risks = _core.lasso_path_of_votes(gram.apart, gram.mean, gram.unit, gram.total, *rest)
        else:
            weights, gaps, risks = _core.lasso_path(gram, *rest)
        if gaps.max() > most_gap:
            warnings.warn(
                f"The path ran out of its {MOST_SWEEPS} sweeps at alpha={strengths[gaps.argmax()]:.3g}, with a duality "
                f"gap of {gaps.max():.2g} where tol is {most_gap:.2g}; the weights are the best so far. Raise "
                "tol, or the weakest alphas.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return weights, gaps, risks

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        """As `Penalty.gap`: the scaled residual s r, s = min(1, lambda / max |c|), is feasible for the dual.

        Its value there is 2 s r'y - s^2 r'r.
        """
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
        """As `Penalty.theory_strength`: 8 sqrt(T) R."""
        return float(8.0 * n_voters**0.5 * complexity)

    def best(self, own: F64, eta: F64) -> F64:
        """As `Penalty.best`."""
        return np.asarray(own / (eta + self.strength))

    def cost(self, alpha: F64) -> F64:
        """As `Penalty.cost`."""
        return self.strength * alpha**2

    def distance(self, c: F64, alpha: F64) -> F64:
        """As `Penalty.distance`."""
        return np.abs(c - self.strength * alpha)

    @property
    def ridge(self) -> float:
        """As `Penalty.ridge`."""
        return self.strength

    @classmethod
    def path(
        cls, gram: F64 | CountedProducts, b: F64, square: float, groups: NDArray[np.int64], strengths: F64, tol: float
    ) -> tuple[F64, F64, F64]:
        """As `Penalty.path`: ridge regressions share one eigendecomposition and are exact."""
        gram = gram.dense() if isinstance(gram, CountedProducts) else gram
        # with fewer rows than voters the rank is small: G = U'U with r rows of U, and the weights are U'a
        upper, pivot, rank, _ = la.lapack.dpstrf(gram)
        U = np.triu(upper)[:rank]
        U[:, pivot - 1] = U.copy()
        s, V = la.eigh(U @ U.T, check_finite=False)
        spectral = V.T @ (U @ b)
        weights, gaps, risks = np.zeros((len(strengths), len(b))), np.zeros(len(strengths)), np.zeros(len(strengths))
        for i, strength in enumerate(strengths.tolist()):
            # directions in which no voter moves have s = 0 but for rounding, and then b has no part in them
            scale = np.where(s > 1e-12 * s.max(initial=0.0), 1.0 / np.maximum(s * (s + strength), 1e-300), 0.0)
            weights[i] = (V @ (scale * spectral)) @ U
            c = b - gram @ weights[i]
            gaps[i] = cls(strength).gap(c, weights[i], b, square)
            risks[i] = square - float(weights[i] @ (b + c))
        return weights, gaps, risks

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        """As `Penalty.gap`: |c - lambda alpha|^2 / lambda, by strong convexity."""
        off = c - self.strength * alpha
        return float(off @ off / self.strength) if self.strength > 0.0 else float("nan")


@dataclass(frozen=True)
class LinfPenalty(Penalty):
    """|alpha| <= bound: the best weight is own / eta, clipped (eq. 9)."""

    kernel: ClassVar[KernelName | None] = "linf"
    parameter: ClassVar[str] = "alpha_max"
    weakens: ClassVar[Literal["lower", "raise"]] = "raise"

    @classmethod
    def of(cls, alpha: float | Literal["theory"], alpha_max: float, theory: Callable[[], float]) -> Self:
        """As `Penalty.of`."""
        if alpha == "theory":
            raise ValueError(
                "alpha='theory' is for penalty='l1' and 'l2'; penalty='linf' bounds each weight by alpha_max, "
                "for which the theory names no value. Set alpha_max, and leave alpha as it is."
            )
        return cls(float(alpha_max))

    @classmethod
    def theory_strength(cls, complexity: float, n_voters: int) -> float:
        """As `Penalty.theory_strength`: 8 T R, for lambda max |alpha|; the learners have a bound and no lambda."""
        return 8.0 * n_voters * complexity

    def best(self, own: F64, eta: F64) -> F64:
        """As `Penalty.best`."""
        return np.clip(own / eta, -self.strength, self.strength)

    def cost(self, alpha: F64) -> F64:
        """As `Penalty.cost`."""
        return np.zeros_like(alpha)

    def distance(self, c: F64, alpha: F64) -> F64:
        """As `Penalty.distance`."""
        return np.where(np.abs(alpha) < self.strength, np.abs(c), np.maximum(-np.sign(alpha) * c, 0.0))

    def free(self, alpha: F64) -> Mask:
        """As `Penalty.free`: all but those at the bound."""
        return np.abs(alpha) < self.strength

    def stops(self, alpha: F64, step: F64) -> tuple[Mask, F64]:
        """As `Penalty.stops`: at the bound."""
        return np.abs(alpha + step) > self.strength, np.sign(step) * self.strength

    def clipped(self, alpha: F64) -> F64:
        """As `Penalty.clipped`."""
        return np.clip(alpha, -self.strength, self.strength)

    @classmethod
    def grid(cls, b: F64, eta: F64, n_strengths: int, eps: float) -> F64:
        """As `Penalty.grid`: bounds up to the largest least-squares weight of a single voter."""
        most = float(np.divide(np.abs(b), eta, out=np.zeros_like(b), where=eta > 1e-12).max(initial=0.0))
        return np.geomspace(eps * most, most, n_strengths) if most > 0.0 else np.ones(n_strengths)

    @classmethod
    def ordered(cls, strengths: F64) -> F64:
        """As `Penalty.ordered`: bounds rise."""
        if strengths[0] == 0.0:
            raise ValueError("alphas holds 0; as a bound on all weights it leaves no committee. Leave it out.")
        return strengths

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        """As `Penalty.gap`: the least value in the box of the tangent, 2 sum_j (bound |c_j| - alpha_j c_j) below."""
        return float(max(0.0, 2.0 * (self.strength * np.abs(c) - alpha * c).sum()))
