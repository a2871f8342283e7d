"""Signed votes against each rival class, the matrix of margin objectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64

if TYPE_CHECKING:
    from committee.vote.committee import Committee

BLOCK = 1 << 22
"""Votes that are computed or converted to float64 at a time."""


@dataclass(frozen=True, eq=False)
class SignedVotes:
    """Leads of each row's class over its rival classes in the voters' votes, in units of their spread.

    Margins of weights w with sum |w_t| = 1 are the least of ``S @ w`` over a row's rivals.
    """

    matrix: NDArray[np.int8] | F64  # (r, T): S; int8 if all are -1, 0 or 1
    row: NDArray[np.intp]  # (r,): row of each line
    rival: NDArray[np.intp]  # (r,): rival class of each line
    n_rows: int  # n; r = n (K - 1)
    weights: F64  # (T,): the ensemble's weights times spreads, absolute values summing to 1

    @classmethod
    def of(cls, committee: Committee, X: Any, y: ArrayLike, *, n_threads: int = 1) -> SignedVotes:
        truth = committee.class_indices(y)
        weights = committee.weights * committee.voters.spread
        total = float(np.abs(weights).sum())
        if not total > 0.0:
            raise ValueError("Every voter of the ensemble has weight 0 or votes 0 only; there is nothing to re-weight.")
        K, n = committee.n_classes, len(truth)
        row = np.repeat(np.arange(n), K - 1)
        others = np.tile(np.arange(K - 1), n)
        rival = others + (others >= truth[row])  # 0 .. K - 1 without the row's own class
        S: Any = _signed(committee, X, truth, row, rival, n_threads)
        F0 = committee.intercept
        if F0 is not None:  # not re-weighted: its effect is added to every voter
            each = np.array([0.0, F0[0]]) if len(F0) == 1 else F0
            every = total + committee.intercept_spread
            S = S * (total / every)
            S += np.where(weights < 0.0, -1.0, 1.0) * ((each[truth[row]] - each[rival]) / every)[:, None]
        return cls(S, row, rival, n, weights / total)

    @property
    def n_voters(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def own_class(self) -> NDArray[np.intp]:
        rivals = self.rival.reshape(self.n_rows, -1)
        K = rivals.shape[1] + 1
        return np.asarray(K * (K - 1) // 2 - rivals.sum(axis=1))

    def lines(self, weights: F64) -> F64:
        step = max(1, 2**22 // max(1, self.n_voters))
        parts = [self.matrix[at : at + step].astype(np.float64) @ weights for at in range(0, len(self.matrix), step)]
        return np.concatenate(parts)

    def margins(self, weights: F64) -> F64:
        lines = self.lines(weights)
        if len(lines) == self.n_rows:
            return lines
        return np.asarray(lines.reshape(self.n_rows, -1).min(axis=1))


def _signed(
    committee: Committee,
    X: Any,
    truth: NDArray[np.intp],
    row: NDArray[np.intp],
    rival: NDArray[np.intp],
    n_threads: int,
) -> NDArray[np.int8] | F64:
    data, voters = committee.encode(X), committee.voters
    spread = np.where(voters.spread > 0.0, voters.spread, 1.0)
    S: NDArray[np.int8] | F64 = np.empty((len(row), len(voters)), dtype=np.int8)
    n, own = len(truth), truth[row]
    step = max(1, BLOCK // max(1, n * committee.n_classes))
    for at in range(0, len(voters), step):
        H = voters[at : at + step].votes(data, n_threads)
        if len(H) != n:
            raise ValueError(f"y has {n} labels; X has {len(H)} rows.")
        if H.ndim == 2:
            S[:, at : at + step] = (H[row] == own[:, None]).astype(np.int8) - (H[row] == rival[:, None])
            continue
        signed = H.shape[2] == 1  # the second class against the first
        ahead = H[:, :, 0] * (2 * own - 1)[:, None] if signed else H[row, :, own] - H[row, :, rival]
        ahead /= spread[at : at + step]
        if S.dtype == np.int8 and not np.isin(ahead, (-1.0, 0.0, 1.0)).all():
            S = S.astype(np.float64)
        S[:, at : at + step] = ahead
    return S
