"""Penalised least squares over the weights of voters: the interface of a penalty, coordinate steps, re-weighting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64, Mask

if TYPE_CHECKING:
    from committee._core import Penalty as KernelName


@dataclass(frozen=True)
class Penalty(ABC):
    """A penalty on the weights of a vote, added to its quadratic risk.

    With c the correlation of a voter with the residual, (1/n) sum_i h(x_i) r_i, eta its mean square and alpha its
    weight, ``own = c + eta alpha`` is its correlation with the residual of all others (L. Fortier-Dubois and others,
    Efficient learning of ensembles with QuadBoost, section 3).
    """

    strength: float = 0.0  # lambda, or the bound

    kernel: ClassVar[KernelName | None] = None  # name in the kernels; None: coordinate steps run in NumPy
    takes_counts: ClassVar[bool] = False  # true if `path` accepts `CountedProducts`
    parameter: ClassVar[str] = "alpha"  # parameter of the learners that sets the strength
    target_power: ClassVar[int | None] = 0  # power of the target's unit in the strength's; None: weights have a bound
    weakens: ClassVar[Literal["lower", "raise"]] = "lower"  # direction of the strength that admits more voters

    @classmethod
    def of(cls, alpha: float | Literal["theory"], alpha_max: float, theory: Callable[[], float]) -> Self:
        return cls(theory() if alpha == "theory" else float(alpha))

    @classmethod
    def theory_strength(cls, complexity: float, n_voters: int) -> float:
        """Return the paper's strength for T voters of this complexity."""
        raise ValueError("The risk bound gives no strength for this penalty; choose 'l1' or 'l2'.")

    # --- one weight --------------------------------------------------------------------------------------------

    @abstractmethod
    def best(self, own: F64, eta: F64) -> F64:
        """Return the best weight of each voter with the others fixed.

        Equation: quadboost-step (docs/theory.md).
        """

    @abstractmethod
    def cost(self, alpha: F64) -> F64:
        """Return the summand of each weight in the penalty."""

    @abstractmethod
    def distance(self, c: F64, alpha: F64) -> F64:
        """Return the distance of 0 to the (halved) subdifferential of the penalised risk in each weight.

        Equation: quadboost-optimum (docs/theory.md).
        """

    def decrease(self, c: F64, eta: F64, alpha: F64) -> tuple[F64, F64]:
        """Return the decrease of the penalised risk at each voter's best weight, and that weight."""
        votes = eta > 0.0  # others abstain on all rows
        best = np.where(votes, self.best(c + eta * alpha, np.where(votes, eta, 1.0)), alpha)
        d = best - alpha
        return d * (2.0 * c - d * eta) - (self.cost(best) - self.cost(alpha)), best

    # --- all weights: a Newton step on those that are free -----------------------------------------------------

    @property
    def ridge(self) -> float:
        """Half the second derivative of the penalty where it is smooth, if constant."""
        return 0.0

    def curvature(self, alpha: F64) -> F64 | float:
        """Half the second derivative of the penalty in free weights."""
        return self.ridge

    def slope(self, alpha: F64) -> F64 | float:
        """Half the first derivative of the penalty in free weights, less their `curvature` times the weights."""
        return 0.0

    def free(self, alpha: F64) -> Mask:
        """Return True for weights in which the penalty is smooth."""
        return np.ones(len(alpha), dtype=bool)

    def stops(self, alpha: F64, step: F64) -> tuple[Mask, F64]:
        """Return a mask of free weights that leave their smooth piece before ``alpha + step``, and where to stop."""
        return np.zeros(len(alpha), dtype=bool), alpha

    def clipped(self, alpha: F64) -> F64:
        return alpha

    # --- all strengths: a path ---------------------------------------------------------------------------------

    @classmethod
    def grid(cls, b: F64, eta: F64, n_strengths: int, eps: float) -> F64:
        """Return the strengths of a path, strongest penalty first."""
        most = float(np.abs(b).max(initial=0.0))
        return np.geomspace(most, eps * most, n_strengths) if most > 0.0 else np.zeros(n_strengths)

    @classmethod
    def ordered(cls, strengths: F64) -> F64:
        """Return ascending strengths in the order of a path, the strongest penalty first."""
        return strengths[::-1].copy()

    @classmethod
    def path(
        cls, gram: F64 | CountedProducts, b: F64, square: float, groups: NDArray[np.int64], strengths: F64, tol: float
    ) -> tuple[F64, F64, F64] | None:
        """Return weights (S, N), duality gaps and risks (S,) at all strengths, or `None` to use `reweight` instead.

        Voters ``groups[j]:groups[j + 1]`` are similar; `tol` is a share of `square`, the mean square of the target.
        """
        return None

    def gap(self, c: F64, alpha: F64, b: F64, square: float) -> float:
        """Return the duality gap, an upper bound on the excess of the penalised risk over its minimum."""
        return float("nan")


@dataclass(frozen=True, eq=False)
class CountedProducts:
    """Products G_jk = total - 2 unit apart_jk - mean_j mean_k of N voters with votes +-1, as counts of rows."""

    apart: NDArray[np.uint16] | NDArray[np.uint32]  # (N, N) Number of rows on which two voters differ
    mean: F64  # (N,) Mean votes, where products are centred; else zeros
    unit: float  # weight of a row
    total: float  # weight of all rows

    def dense(self) -> F64:
        return (self.total - 2.0 * self.unit * self.apart) - self.mean[:, None] * self.mean

    def diagonal(self) -> F64:
        return self.total - self.mean**2


TIE = 1e-10  # relative difference of decreases that counts as a tie; ties go to the first voter


def first_largest(decreases: F64) -> int:
    if not len(decreases):
        return -1
    return int(np.argmax(decreases >= decreases.max() * (1.0 - TIE)))


def greedy_rounds(
    penalty: Penalty, gram: F64, c: F64, alpha: F64, *, as_new: bool, n_rounds: int, least: float
) -> tuple[NDArray[np.intp], F64, F64]:
    """Run greedy rounds on the voter that lowers the penalised risk most; update `c` and `alpha` in place.

    Return the voter, its weight and the decrease of the unpenalised risk of each round.
    """
    if penalty.kernel is not None:
        chosen = _core.greedy_rounds(gram, c, alpha, penalty.kernel, penalty.strength, as_new, n_rounds, least)
        return chosen[0].astype(np.intp), chosen[1], chosen[2]
    eta = np.diag(gram)
    rounds: list[tuple[int, float, float]] = []
    while len(rounds) < n_rounds:
        before = np.zeros(len(alpha)) if as_new else alpha
        decreases, best = penalty.decrease(c, eta, before)
        j = first_largest(decreases)
        if j < 0 or decreases[j] <= least:
            break
        step = best[j] - before[j]
        decrease = step * (2.0 * c[j] - step * eta[j])
        alpha[j] += step
        c -= step * gram[j]
        rounds.append((j, float(alpha[j]), float(decrease)))
    voter, weight, decrease = np.array(rounds).reshape(-1, 3).T
    return voter.astype(np.intp), weight, decrease


def cyclic_sweeps(penalty: Penalty, gram: F64, c: F64, alpha: F64, tol: float, most_sweeps: int) -> float:
    """Sweep in place until the largest `distance` is at most `tol`; return it."""
    if penalty.kernel is not None:
        return _core.cyclic_sweeps(gram, c, alpha, penalty.kernel, penalty.strength, tol, most_sweeps)[1]
    eta = np.diag(gram)
    for _ in range(most_sweeps):
        if penalty.distance(c, alpha).max() <= tol:
            break
        for j in np.flatnonzero(eta > 0.0).tolist():
            best = float(penalty.best(c[j] + eta[j] * alpha[j], eta[j]))
            c -= (best - alpha[j]) * gram[j]
            alpha[j] = best
    return float(penalty.distance(c, alpha).max())


ROUNDING = 1e-13  # floor of the tolerance, as a share of the largest product with the target

SWEEPS_BETWEEN = 20  # cyclic sweeps between two steps on the free weights

MOST_STEPS = 500  # most rounds of sweeps and steps


def reweight(gram: F64, b: F64, alpha: F64, penalty: Penalty, tol: float) -> float:
    """Minimise yy - 2 b'alpha + alpha' G alpha + penalty(alpha) in place; return the distance reached."""
    if not len(b):
        return 0.0
    gram = np.ascontiguousarray(gram)
    tol = max(tol, ROUNDING * float(np.abs(b).max()))
    alpha[:] = penalty.clipped(alpha)
    c = b - gram @ alpha
    distance = np.inf
    for _ in range(MOST_STEPS):
        distance = cyclic_sweeps(penalty, gram, c, alpha, tol, SWEEPS_BETWEEN)
        if distance <= tol:
            c = b - gram @ alpha  # without the rounding errors of the sweeps
            distance = float(penalty.distance(c, alpha).max())
            if distance <= tol:
                break
        # nearly equal voters make sweeps slow
        _step_on_free(gram, b, alpha, penalty)
        c = b - gram @ alpha
    return distance


def _step_on_free(gram: F64, b: F64, alpha: F64, penalty: Penalty) -> None:
    free = penalty.free(alpha)
    if not free.any():
        return
    A = gram[np.ix_(free, free)]
    right = b[free] - gram[np.ix_(free, ~free)] @ alpha[~free] - penalty.slope(alpha[free])
    curvature = penalty.curvature(alpha[free])
    if np.any(curvature):
        A = A + curvature * np.eye(len(A))
    try:
        # equal voters make A singular; a ridge of rounding size selects one of the solutions
        factor = la.cho_factor(A + 1e-13 * np.trace(A) / len(A) * np.eye(len(A)), check_finite=False)
    except la.LinAlgError:
        return
    now = alpha[free]
    # solve for the correction, so that the ridge does not perturb the solution
    way = la.cho_solve(factor, right - A @ now, check_finite=False)
    turns, ends = penalty.stops(now, way)
    # the first weight that leaves its smooth piece ends the step for all
    shares = (ends[turns] - now[turns]) / way[turns]
    reach = float(min(1.0, shares.min(initial=1.0)))
    moved = now + reach * way
    # set it exactly, or rounding may keep it among the free weights
    at_end = np.flatnonzero(turns)[shares <= reach]
    moved[at_end] = ends[at_end]
    alpha[free] = moved
