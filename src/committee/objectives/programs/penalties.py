"""Penalties on the weights of voters: one class each."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee import _core
from committee.data.number_types import F64, Mask

if TYPE_CHECKING:
    from committee._core import Penalty as KernelName

MOST_SWEEPS = 10_000
"""Sweeps over all voters that one strength of a LASSO path may take."""


@dataclass(frozen=True)
class Penalty(ABC):
    """A penalty on the weights of a vote, added to its quadratic risk.

    With c the correlation of a voter with the residual, (1/n) sum_i h(x_i) r_i (mu - M in the paper), eta its mean
    square and alpha its present weight, its own part taken out of the vote leaves it the correlation
    ``own = c + eta alpha``. Everything that rounds, re-weightings and paths need to know of a penalty follows from the
    methods below; another penalty is another class and a line in `PENALTIES` (named_penalties.py).

    Parameters
    ----------
    strength : float, default=0.0
        lambda, or the bound.

    References
    ----------
    L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille, J.-F. Roy. Efficient learning of ensembles with
    QuadBoost, section 3.
    """

    strength: float = 0.0

    kernel: ClassVar[KernelName | None] = None
    """Its name in the kernels; None: they do not know it, and coordinate steps run in NumPy."""
    parameter: ClassVar[str] = "alpha"
    """The learners' parameter that sets the strength."""
    weakens: ClassVar[Literal["lower", "raise"]] = "lower"
    """Advice on the strength, for more voters."""

    @classmethod
    def of(cls, alpha: float | Literal["theory"], alpha_max: float, theory: Callable[[], float]) -> Self:
        """Penalty for a learner's parameters; `theory` gives the strength of ``alpha="theory"``."""
        return cls(theory() if alpha == "theory" else float(alpha))

    @classmethod
    def theory_strength(cls, complexity: float, n_voters: int) -> float:
        """Strength at which the penalised risk is the risk bound of T voters of this Rademacher complexity."""
        raise ValueError("The theory names no strength for this penalty.")

    # --- one weight --------------------------------------------------------------------------------------------

    @abstractmethod
    def best(self, own: F64, eta: F64) -> F64:
        """Best weights of voters, each with the others held.

        Equation: quadboost-step (docs/theory.md).
        """

    @abstractmethod
    def cost(self, alpha: F64) -> F64:
        """Share of each weight in the penalty."""

    @abstractmethod
    def distance(self, c: F64, alpha: F64) -> F64:
        """Distance of 0 to the (halved) subdifferential of the penalised risk in each weight; 0 at an optimum.

        Equation: quadboost-optimum (docs/theory.md).
        """

    def decrease(self, c: F64, eta: F64, alpha: F64) -> tuple[F64, F64]:
        """Decrease of the penalised risk when a voter goes to its best weight, and that weight.

        For a voter that is not in the committee yet this is c^2/eta, (|c| - lambda)^2/eta or c^2/(eta + lambda).
        Voters with eta = 0 abstain on all rows and lower nothing.
        """
        votes = eta > 0.0
        best = np.where(votes, self.best(c + eta * alpha, np.where(votes, eta, 1.0)), alpha)
        d = best - alpha
        return d * (2.0 * c - d * eta) - (self.cost(best) - self.cost(alpha)), best

    # --- all weights: a Newton step on those that are free -----------------------------------------------------

    @property
    def ridge(self) -> float:
        """Half the second derivative of the penalty where it is smooth, if that is the same everywhere."""
        return 0.0

    def curvature(self, alpha: F64) -> F64 | float:
        """Half the second derivative of the penalty in free weights; added to the diagonal of the products."""
        return self.ridge

    def slope(self, alpha: F64) -> F64 | float:
        """Half the first derivative of the penalty in free weights, less their `curvature` times the weights."""
        return 0.0

    def free(self, alpha: F64) -> Mask:
        """Weights in which the penalty is smooth."""
        return np.ones(len(alpha), dtype=bool)

    def stops(self, alpha: F64, step: F64) -> tuple[Mask, F64]:
        """Free weights that leave their smooth piece on the way to ``alpha + step``, and where it ends for each."""
        return np.zeros(len(alpha), dtype=bool), alpha

    def clipped(self, alpha: F64) -> F64:
        """Nearest weights that the penalty allows."""
        return alpha

    # --- all strengths: a path ---------------------------------------------------------------------------------

    @classmethod
    def grid(cls, b: F64, eta: F64, n_strengths: int, eps: float) -> F64:
        """Strengths of a path, strongest first: from the largest |b|, at which "l1" has no voter, to `eps` times it."""
        most = float(np.abs(b).max(initial=0.0))
        return np.geomspace(most, eps * most, n_strengths) if most > 0.0 else np.zeros(n_strengths)

    @classmethod
    def ordered(cls, strengths: F64) -> F64:
        """Rising strengths in the order of a path, strongest penalty first.

        Raises
        ------
        ValueError
            If no path leads to one of them.
        """
        return strengths[::-1].copy()

    @classmethod
    def path(
        cls, gram: F64, b: F64, square: float, groups: NDArray[np.int64], strengths: F64, tol: float
    ) -> tuple[F64, F64] | None:
        """Weights (S, N) and duality gaps (S,) at all strengths; None where re-weighting is the way to find them.

        Parameters
        ----------
        gram, b : float64 arrays (N, N), (N,)
            Products of the voters with each other and with the target.
        square : float
            Mean square of the target.
        groups : int64 array (p + 1,)
            Voters ``groups[j]:groups[j + 1]`` are much alike.
        strengths : float64 array (S,)
            Strongest penalty first.
        tol : float
            Largest gap, as a share of `square`.
        """
        return None

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        """Largest possible excess of the penalised risk over its least value; NaN where no bound is known.

        Parameters
        ----------
        c : float64 array (N,)
            b - G alpha, the correlations of the voters with the residual r.
        alpha, b : float64 arrays (N,)
            Weights, and products with the target.
        square : float
            Mean square of the target.
        """
        return float("nan")


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
        cls, gram: F64, b: F64, square: float, groups: NDArray[np.int64], strengths: F64, tol: float
    ) -> tuple[F64, F64]:
        """As `Penalty.path`: sweeps over the coordinates, a group's voters settled together, until the gap is small."""
        most_gap = tol * square
        weights, gaps = _core.lasso_path(
            gram, b, square, groups, np.ascontiguousarray(strengths), most_gap, MOST_SWEEPS
        )
        if gaps.max() > most_gap:
            warnings.warn(
                f"The path ran out of its {MOST_SWEEPS} sweeps at alpha={strengths[gaps.argmax()]:.3g}, with a duality "
                f"gap of {gaps.max():.2g} where tol is {most_gap:.2g}; the weights are the best so far. Raise "
                "tol, or the weakest alphas.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return weights, gaps

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
        cls, gram: F64, b: F64, square: float, groups: NDArray[np.int64], strengths: F64, tol: float
    ) -> tuple[F64, F64]:
        """As `Penalty.path`: ridge regressions share one eigendecomposition and are exact."""
        # with fewer rows than voters the rank is small: G = U'U with r rows of U, and the weights are U'a
        upper, pivot, rank, _ = la.lapack.dpstrf(gram)
        U = np.triu(upper)[:rank]
        U[:, pivot - 1] = U.copy()
        s, V = la.eigh(U @ U.T, check_finite=False)
        spectral = V.T @ (U @ b)
        weights, gaps = np.zeros((len(strengths), len(b))), np.zeros(len(strengths))
        for i, strength in enumerate(strengths.tolist()):
            # directions in which no voter moves have s = 0 but for rounding, and then b has no part in them
            scale = np.where(s > 1e-12 * s.max(initial=0.0), 1.0 / np.maximum(s * (s + strength), 1e-300), 0.0)
            weights[i] = (V @ (scale * spectral)) @ U
            gaps[i] = cls(strength).gap(b - gram @ weights[i], weights[i], b, square)
        return weights, gaps

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
