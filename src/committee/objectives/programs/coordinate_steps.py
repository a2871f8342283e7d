"""Steps in one weight after the other on a penalised quadratic: by the kernels, or in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.objectives.programs.penalty import Penalty

TIE = 1e-10
"""A later voter must lower the risk by more than this share over the best so far: ties go to the first."""


def first_largest(decreases: F64) -> int:
    """The first of the voters that lower the risk most, but for rounding; -1 if there are none."""
    if not len(decreases):
        return -1
    return int(np.argmax(decreases >= decreases.max() * (1.0 - TIE)))


def greedy_rounds(
    penalty: Penalty, gram: F64, c: F64, alpha: F64, *, as_new: bool, n_rounds: int, least: float
) -> tuple[NDArray[np.intp], F64, F64]:
    """Rounds on the voter that lowers the penalised risk most; `c` and `alpha` are updated in place.

    Parameters
    ----------
    penalty : Penalty
        Penalty on the weights.
    gram : float64 array (N, N)
        Products of the voters.
    c, alpha : float64 arrays (N,)
        Correlations with the residual, and weights.
    as_new : bool
        A voter that is chosen again counts as one more voter, and the weights add up; else its weight is set anew.
    n_rounds : int
        Most rounds.
    least : float
        The rounds end when no voter lowers the penalised risk by more.

    Returns
    -------
    voter : intp array (T,)
        Voter of each round.
    weight : float64 array (T,)
        Its weight after the round.
    decrease : float64 array (T,)
        Decrease of the risk, the penalty not counted.
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
    """Sweeps over all weights until 0 is within `tol` of every subdifferential; `c` and `alpha` in place.

    Returns
    -------
    float
        The distance reached.
    """
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
