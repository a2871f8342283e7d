"""Signed votes, right or wrong: the matrix that every objective of the margins is written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64

if TYPE_CHECKING:
    from committee.vote.committee import Committee

BLOCK = 1 << 22
"""Votes that are held as floating-point numbers at a time."""


@dataclass(frozen=True, eq=False)
class SignedVotes:
    """Votes of all voters for each row against one rival of its class: +1 right, -1 for the rival, 0 neither.

    Two classes have one rival, so there is one line for each row, S_it = y_i h_t(x_i). With more classes a row has a
    line against each other class; its margin is the least of them. A score voter gives the difference of its scores, in
    units of its spread. The margins of weights w that sum to one are ``S @ w``.

    An intercept F_0 is not re-weighted. As the weights sum to one, what it does for a line can be added to every voter:
    with W = sum_t |w_t| s_t the ensemble's total spread and I that of its intercept, S_it is W / (W + I) times what
    voter t does in units of its spread, plus 1 / (W + I) times what F_0 does.

    Parameters
    ----------
    matrix : int8 or float64 array (r, T)
        S; int8 where voters name classes, or all their scores are whole.
    row : intp array (r,)
        The row that each line is of.
    rival : intp array (r,)
        The class it is against.
    n_rows : int
        Rows n; r = n (K - 1).
    weights : float64 array (T,)
        The ensemble's own weights, in units of spread, absolute values summing to one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from committee import AdaBoostClassifier
    >>> from committee.vote.signed_votes import SignedVotes
    >>> X, y = load_iris(return_X_y=True)
    >>> committee = AdaBoostClassifier(5).fit(X, y).committee_
    >>> S = SignedVotes.of(committee, X, y)
    >>> S.matrix.shape, bool(np.allclose(S.margins(S.weights), committee.margins(X, y)))
    ((300, 5), True)
    """

    matrix: NDArray[np.int8] | F64
    row: NDArray[np.intp]
    rival: NDArray[np.intp]
    n_rows: int
    weights: F64

    @classmethod
    def of(cls, committee: Committee, X: Any, y: ArrayLike, *, n_threads: int = 1) -> SignedVotes:
        """Votes of a committee on rows whose classes are known.

        Raises
        ------
        ValueError
            If `y` holds a class that the committee does not know or another number of labels than `X` has rows, or if
            no voter has any weight.
        """
        truth = committee.class_indices(y)
        spread = committee.voters.spread
        weights = committee.weights * spread
        if not np.abs(weights).sum() > 0.0:
            raise ValueError("No voter of the ensemble has any weight; there is nothing to re-weight.")
        K, n = committee.n_classes, len(truth)
        row = np.repeat(np.arange(n), K - 1)
        others = np.tile(np.arange(K - 1), n)
        rival = others + (others >= truth[row])  # 0 .. K - 1 without the row's own class
        S = _signed(committee, X, truth, row, rival, n_threads)
        S = _with_intercept(S, committee, weights, truth[row], rival)
        return cls(S, row, rival, n, weights / np.abs(weights).sum())

    @property
    def n_voters(self) -> int:
        """Number of voters T."""
        return int(self.matrix.shape[1])

    @property
    def own_class(self) -> NDArray[np.intp]:
        """Class of every row, ``(n,)``: the one that is no rival."""
        rivals = self.rival.reshape(self.n_rows, -1)
        K = rivals.shape[1] + 1
        own: NDArray[np.intp] = K * (K - 1) // 2 - rivals.sum(axis=1)
        return own

    def lines(self, weights: F64) -> F64:
        """``S @ w`` of every line, in blocks, so that whole numbers are never copied as float64 all at once."""
        step = max(1, 2**22 // max(1, self.n_voters))
        parts = [self.matrix[at : at + step].astype(np.float64) @ weights for at in range(0, len(self.matrix), step)]
        return np.concatenate(parts)

    def margins(self, weights: F64) -> F64:
        """Margin of every row: its least line."""
        lines = self.lines(weights)
        if len(lines) == self.n_rows:
            return lines
        least: F64 = lines.reshape(self.n_rows, -1).min(axis=1)
        return least


def _signed(
    committee: Committee,
    X: Any,
    truth: NDArray[np.intp],
    row: NDArray[np.intp],
    rival: NDArray[np.intp],
    n_threads: int,
) -> NDArray[np.int8] | F64:
    """Vote of every voter in each line, in units of its spread: bytes where all of them are whole numbers.

    A few voters vote at a time, as their votes on all classes take much more room than those of the lines.
    """
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


def _with_intercept(
    S: Any, committee: Committee, weights: F64, own: NDArray[np.intp], rival: NDArray[np.intp]
) -> NDArray[np.int8] | F64:
    """The matrix with what the intercept does for each line in every column; a voter's opposite has it too."""
    if committee.intercept is None:
        same: NDArray[np.int8] | F64 = S
        return same
    F0 = committee.intercept
    each = np.array([0.0, F0[0]]) if len(F0) == 1 else F0
    total = float(np.abs(weights).sum())
    every = total + committee.intercept_spread
    moved: F64 = S * (total / every)
    moved += np.where(weights < 0.0, -1.0, 1.0) * ((each[own] - each[rival]) / every)[:, None]
    return moved
