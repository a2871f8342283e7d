"""A penalty on the weights of voters: what rounds, re-weightings and paths need to know of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Mask
from committee.objectives.programs.counted_products import CountedProducts

if TYPE_CHECKING:
    from committee._core import Penalty as KernelName


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
    takes_counts: ClassVar[bool] = False
    """Its path is followed on counts of rows as on products."""
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
        cls, gram: F64 | CountedProducts, b: F64, square: float, groups: NDArray[np.int64], strengths: F64, tol: float
    ) -> tuple[F64, F64, F64] | None:
        """Weights (S, N), duality gaps and risks (S,) at all strengths; None where re-weighting is the way to them.

        Parameters
        ----------
        gram : float64 array (N, N) or CountedProducts
            Products of the voters with each other; counts only where `takes_counts`.
        b : float64 array (N,)
            Those with the target.
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
