"""What a committee pays for its weights, and where that puts the weight of one voter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
PenaltyName: TypeAlias = Literal["none", "l1", "l2", "linf"]

TIE = 1e-10
"""A later voter must lower the risk by more than this share over the best so far: ties go to the first."""


@dataclass(frozen=True)
class Penalty:
    """The penalised quadratic risk, one voter at a time.

    With c the correlation of a voter with the residual, (1/n) sum_i h(x_i) r_i (mu - M in the paper), eta its mean
    square and alpha its present weight, its own part taken out of the vote leaves it the correlation
    ``own = c + eta alpha``. Its best weight then is

    - "none": own / eta
    - "l1", 2 lambda |alpha|: soft(own, lambda) / eta (eq. 7)
    - "l2", lambda alpha^2: own / (eta + lambda) (eq. 8)
    - "linf", |alpha| <= bound: own / eta, clipped (eq. 9)

    Parameters
    ----------
    name : {"none", "l1", "l2", "linf"}
        Which norm of the weights is held down.
    strength : float, default=0.0
        lambda, or the bound.

    References
    ----------
    L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille, J.-F. Roy. Efficient learning of ensembles with
    QuadBoost, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.vote_penalty import Penalty
    >>> Penalty("l1", 0.1).best(np.array([0.3, -0.05]), np.ones(2)).round(3).tolist()
    [0.2, -0.0]
    """

    name: PenaltyName
    strength: float = 0.0

    def best(self, own: F64, eta: F64) -> F64:
        """The best weights of voters, each with the others held."""
        if self.name == "l1":
            return np.asarray(np.sign(own) * np.maximum(np.abs(own) - self.strength, 0.0) / eta)
        if self.name == "l2":
            return np.asarray(own / (eta + self.strength))
        best = own / eta
        return np.clip(best, -self.strength, self.strength) if self.name == "linf" else np.asarray(best)

    def cost(self, alpha: F64) -> F64:
        """What the weights add to the risk, each for itself."""
        if self.name == "l1":
            return 2.0 * self.strength * np.abs(alpha)
        return self.strength * alpha**2 if self.name == "l2" else np.zeros_like(alpha)

    def fall(self, c: F64, eta: F64, alpha: F64) -> tuple[F64, F64]:
        """How much the penalised risk falls when a voter goes to its best weight, and that weight.

        For a voter that is not in the committee yet this is c^2/eta, (|c| - lambda)^2/eta or c^2/(eta + lambda).
        Voters with eta = 0 say nothing and lower nothing.
        """
        speaks = eta > 0.0
        best = np.where(speaks, self.best(c + eta * alpha, np.where(speaks, eta, 1.0)), alpha)
        d = best - alpha
        return d * (2.0 * c - d * eta) - (self.cost(best) - self.cost(alpha)), best

    def distance(self, c: F64, alpha: F64) -> F64:
        """Distance of 0 to the (halved) subdifferential of the penalised risk in each weight; 0 at an optimum."""
        if self.name == "l1":
            off = np.maximum(np.abs(c) - self.strength, 0.0)
            return np.where(alpha == 0.0, off, np.abs(c - np.sign(alpha) * self.strength))
        if self.name == "l2":
            return np.abs(c - self.strength * alpha)
        if self.name == "linf":
            return np.where(np.abs(alpha) < self.strength, np.abs(c), np.maximum(-np.sign(alpha) * c, 0.0))
        return np.abs(c)


def first_largest(falls: F64) -> int:
    """The first of the voters that lower the risk most, but for rounding; -1 if there are none."""
    if not len(falls):
        return -1
    return int(np.argmax(falls >= falls.max() * (1.0 - TIE)))
