"""One class against the rest: the rows, and the pool that finds voters for them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.learners.pools.pool import Candidate, Pool

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class OneAgainstRest:
    """Rows of two classes, and a pool of voters for them.

    Attributes
    ----------
    pool : Pool
        Finds voters.
    y : int8 array (m,)
        +1 for rows of the class, -1 for all others.
    weights : float64 array (m,)
        Row weights.
    """

    pool: Pool
    y: I8
    weights: F64

    @property
    def share(self) -> F64:
        """Row weights that sum to one."""
        return np.asarray(self.weights / self.weights.sum())

    def largest(
        self, u: F64, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Candidate]]:
        """Return the largest edge sum_i u_i y_i h(x_i), and the voters with the largest edges.

        Parameters
        ----------
        u, centre : float64 arrays (m,)
            Row weights, and their mean so far; below zero where a row is to be wrong.
        least, most, known
            As `Pool.largest` has them.
        """
        return self.pool.largest(u * self.y, centre * self.y, least, most, known)

    def signed_votes(self, candidates: Sequence[Candidate]) -> I8:
        """y_i h_j(x_i) of voters that join a program, ``(T, m)``, whose votes the pool then need not keep."""
        signed = np.stack([self.y * self.pool.votes(one) for one in candidates])
        for one in candidates:
            self.pool.forget(one)
        return signed
