"""Votes by whether they are right: the matrix that every objective of the margins is written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.vote import Committee

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SignedVotes:
    """What every voter does for a row against one rival of its class: +1 right, -1 for the rival, 0 neither.

    Two classes have one rival, so there is one line for each row, S_it = y_i h_t(x_i). With more classes a row has a
    line against each other class; its margin is the least of them. A score voter gives the difference of its scores, in
    units of its spread. The margins of weights w that sum to one are ``S @ w``.

    Parameters
    ----------
    matrix : int8 or float64 array (r, T)
        S; int8 where voters name classes.
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
    >>> from committee.margins.signed_votes import SignedVotes
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
        """Ask a committee's voters about rows whose classes are known.

        Raises
        ------
        ValueError
            If `y` holds a class that the committee does not know or another number of labels than `X` has rows, if
            the committee has an intercept, which is no voter, or no voter has any weight.
        """
        if committee.intercept is not None:
            raise ValueError(
                "The ensemble has an intercept, which is no voter and cannot be re-weighted; fit it without one."
            )
        truth = committee._class_index(y)
        spread = committee.voters.spread
        weights = committee.weights * spread
        if not np.abs(weights).sum() > 0.0:
            raise ValueError("No voter of the ensemble has any weight; there is nothing to re-weight.")
        H = committee.votes(X, n_threads=n_threads)
        if len(H) != len(truth):
            raise ValueError(f"y has {len(truth)} labels; X has {len(H)} rows.")
        K = committee.n_classes
        rows = np.arange(len(truth))
        if K == 2:
            S: Any = H * (2 * truth - 1).astype(np.int8)[:, None]
            if S.dtype != np.int8:
                S /= np.where(spread > 0.0, spread, 1.0)
            return cls(S, rows, 1 - truth, len(rows), weights / np.abs(weights).sum())
        row = np.repeat(rows, K - 1)
        others = np.tile(np.arange(K - 1), (len(rows), 1))
        rival = (others + (others >= truth[:, None])).ravel()
        if H.ndim == 2:
            S = (H[row] == truth[row, None]).astype(np.int8) - (H[row] == rival[:, None]).astype(np.int8)
        else:
            S = (H[row, :, truth[row]] - H[row, :, rival]) / np.where(spread > 0.0, spread, 1.0)
        return cls(S, row, rival, len(rows), weights / np.abs(weights).sum())

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
