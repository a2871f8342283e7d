"""Lines of margins that sums and constraints run over: rows' weights, voters' signs and out-of-bag scales with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.vote.signed_votes import BLOCK, SignedVotes


@dataclass(frozen=True, eq=False)
class MarginMatrix:
    """A matrix S whose products ``S @ w`` are the lines of the margins of weights w on the simplex.

    Two classes have one line for each row, K classes have K - 1; a row's margin is its least line. A voter of negative
    weight is replaced by its opposite, so that the ensemble's own weights are a point of the simplex. Lines are never
    held as float64 all at once unless they are numbers to begin with.

    Parameters
    ----------
    matrix : int8 or float64 array (r, T)
        What each voter does for each line: +1, -1 or 0, or a number. The lines of a row are next to each other.
    first : intp array (n,)
        The first line of every row.
    row_weight : float64 array (n,)
        Weight of every row; positive, sums to one.
    own : float64 array (T,)
        The ensemble's own weights: not negative, sum to one.
    sign : float64 array (T,)
        -1 for a voter that stands for its opposite, else 1.
    unseen : bool array (n, T), default=None
        Voters whose votes on a row count, as they have not seen it; the others' are 0 in `matrix`. None: all.
    scale : float64 array (r,), default=None
        What a line of `matrix` is multiplied by: T / T_i where only T_i voters count on row i. None: by 1.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> lines = MarginMatrix.of_matrix(np.array([[1, 1], [1, -1], [-1, 1]], dtype=np.int8))
    >>> lines.margins(np.array([0.75, 0.25])).tolist()
    [1.0, 0.5, -0.5]
    >>> lines.mean_votes().round(3).tolist()  # the mean of each voter's signed votes
    [0.333, 0.333]
    """

    matrix: NDArray[np.int8] | F64
    first: NDArray[np.intp]
    row_weight: F64
    own: F64
    sign: F64
    unseen: NDArray[np.bool_] | None = None
    scale: F64 | None = None

    @classmethod
    def of(
        cls, votes: SignedVotes, row_weight: F64 | None = None, unseen: NDArray[np.bool_] | None = None
    ) -> MarginMatrix:
        """The lines of an ensemble's signed votes.

        Parameters
        ----------
        votes : SignedVotes
            Its matrix is copied only where it has to change.
        row_weight : float64 array (n,), default=None
            Weights of the rows, not negative; rows of weight 0 are left out. None: all the same.
        unseen : bool array (n, T), default=None
            Voters whose votes on a row count, as they have not seen it; the others' are 0, and the lines of row i are
            multiplied by T / T_i. Rows without such a voter are left out. None: all voters count on all rows.

        Raises
        ------
        ValueError
            If no row is left.
        """
        n, lines_of_row = votes.n_rows, len(votes.matrix) // max(1, votes.n_rows)
        weight = np.ones(n) if row_weight is None else row_weight
        S = _as_bytes(votes.matrix)
        if unseen is not None:
            S = np.where(np.repeat(unseen, lines_of_row, axis=0), S, np.zeros((), dtype=S.dtype))
        sign = np.where(votes.weights < 0.0, -1.0, 1.0)
        if (sign < 0.0).any():
            S = S * sign.astype(S.dtype)
        first = np.arange(n, dtype=np.intp) * lines_of_row
        return cls(S, first, weight, np.abs(votes.weights), sign, unseen)._counted()

    def _counted(self) -> MarginMatrix:
        """Without rows that have no weight or that all voters have seen; weights and scale follow from the rest."""
        counted = self.row_weight > 0.0
        if self.unseen is not None:
            counted &= self.unseen.any(axis=1)
        if not counted.any():
            raise ValueError("No row is left: every row has weight 0 or was seen by all voters; give other rows.")
        S, first, unseen = self.matrix, self.first, self.unseen
        if not counted.all():
            S = S[self.of_rows(counted)]
            first = np.arange(int(counted.sum()), dtype=np.intp) * self.lines_of_row
            unseen = None if unseen is None else unseen[counted]
        weight = self.row_weight[counted] / self.row_weight[counted].sum()
        scale = None if unseen is None else np.repeat(unseen.shape[1] / unseen.sum(axis=1), self.lines_of_row)
        return replace(self, matrix=S, first=first, row_weight=weight, unseen=unseen, scale=scale)

    def of_some(self, rows: NDArray[np.bool_]) -> MarginMatrix:
        """The lines of some rows, whose weights sum to one again."""
        return replace(self, row_weight=np.where(rows, self.row_weight, 0.0))._counted()

    @classmethod
    def of_matrix(cls, S: Any, own: F64 | None = None, row_weight: F64 | None = None) -> MarginMatrix:
        """Lines of a matrix of signed votes, one a row; own weights all the same unless given."""
        S = np.asarray(S)
        n, T = S.shape
        weights = np.full(T, 1.0 / T) if own is None else np.asarray(own, dtype=np.float64)
        rows = np.arange(n)
        return cls.of(SignedVotes(S, rows, rows, n, weights / np.abs(weights).sum()), row_weight)

    @property
    def n_voters(self) -> int:
        """Number of voters T."""
        return int(self.matrix.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.first)

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def lines_of_row(self) -> int:
        """Lines that each row has, K - 1."""
        return len(self.matrix) // len(self.first)

    @property
    def line_weight(self) -> F64:
        """Weight of each line, its row's in equal shares; sums to one."""
        return self.of_rows(self.row_weight) / self.lines_of_row

    def of_rows(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """A number of every row, for each of its lines."""
        return np.repeat(numbers, self.lines_of_row)

    def taken(self, lines: NDArray[np.intp]) -> F64:
        """Some lines of S as float64, ``(k, T)``."""
        some: F64 = self.matrix[lines].astype(np.float64)
        return some if self.scale is None else some * self.scale[lines, None]

    def part(self, lines: NDArray[np.intp], voters: NDArray[np.intp]) -> NDArray[np.int8] | F64:
        """Some lines of S for some voters, ``(k, m)``: int8 where no scale makes them numbers."""
        some: NDArray[np.int8] | F64 = self.matrix[lines[:, None], voters]
        return some if self.scale is None else some * self.scale[lines, None]

    def values(self, weights: F64) -> F64:
        """``S @ w``, ``(r,)``; voters without weight are not looked at."""
        used = np.flatnonzero(weights)
        some = weights[used]
        few = len(used) < self.n_voters // 2
        parts = [
            (block[:, used] if few else block).astype(np.float64, copy=False) @ (some if few else weights)
            for _, block in _blocks(self.matrix)
        ]
        lines: F64 = np.concatenate(parts)
        return lines if self.scale is None else lines * self.scale

    def margins(self, weights: F64) -> F64:
        """Margin of every row, its least line, ``(n,)``."""
        return self.least(self.values(weights))

    def least(self, lines: F64) -> F64:
        """Least of each row's lines."""
        if len(lines) == len(self.first):
            return lines
        least: F64 = lines.reshape(len(self.first), -1).min(axis=1)
        return least

    def dots(self, numbers: F64) -> F64:
        """``S' u`` for a number for each line, ``(T,)``."""
        u = numbers if self.scale is None else numbers * self.scale
        total = np.zeros(self.n_voters)
        for at, block in _blocks(self.matrix):
            total += u[at : at + len(block)] @ block.astype(np.float64, copy=False)
        return total

    def mean_votes(self) -> F64:
        """Weighted mean of each voter's column, ``(T,)``: its edge."""
        return self.dots(self.line_weight)

    def gram(self) -> F64:
        """``S' diag(line weights) S``, ``(T, T)``: the second moments of the voters' votes."""
        weight = self.line_weight if self.scale is None else self.line_weight * self.scale**2
        total = np.zeros((self.n_voters, self.n_voters))
        # the products of small whole numbers, and their sums over a block, are exact in single precision
        plain = self.matrix.dtype == np.int8 and bool((weight == weight[0]).all())
        for at, block in _blocks(self.matrix):
            if plain:
                B = block.astype(np.float32)
                total += (B.T @ B).astype(np.float64) * weight[0]
            else:
                C = block.astype(np.float64)
                total += C.T @ (C * weight[at : at + len(block), None])
        return (total + total.T) / 2.0

    def judged(self, weights: F64) -> tuple[F64, F64]:
        """Margins of the rows that some voter of weight has not seen, and these rows' weights.

        They are normalised by the weight of these voters, as an out-of-bag vote is.
        """
        each = np.abs(weights)
        total = each.sum() if self.unseen is None else np.concatenate([some @ each for _, some in _blocks(self.unseen)])
        lines = self.values(weights)
        margins = self.least(lines if self.scale is None else lines / self.scale)
        some = np.broadcast_to(total, margins.shape) > 0.0
        row_weight = self.row_weight[some]
        if not len(row_weight):
            return margins, self.row_weight
        return (margins / np.where(total > 0.0, total, 1.0))[some], row_weight / row_weight.sum()

    def weighted(self, row_weight: F64) -> MarginMatrix:
        """The same lines with other weights of the rows ``(n,)``; those of weight 0 are left out.

        Raises
        ------
        ValueError
            If no row is left.
        """
        return replace(self, row_weight=row_weight, scale=None)._counted()

    def select(self, voters: NDArray[np.intp], own: F64) -> MarginMatrix:
        """The lines of some voters, whose own weights are set; without rows that all of them have seen.

        Raises
        ------
        ValueError
            If no row is left.
        """
        unseen = None if self.unseen is None else self.unseen[:, voters]
        return replace(
            self, matrix=self.matrix[:, voters], own=own, sign=self.sign[voters], unseen=unseen, scale=None
        )._counted()

    def as_numbers(self) -> MarginMatrix:
        """The same with float64 votes if they fit into one block, so that they need not be converted at every look."""
        if len(self) * self.n_voters > BLOCK:
            return self
        return replace(self, matrix=self.matrix.astype(np.float64, copy=False))

    def lowest(self, most: int) -> MarginMatrix:
        """Only the `most` lowest lines of each row at the own weights; these lines themselves if there are no more."""
        n, k = self.n_rows, self.lines_of_row
        if k <= most:
            return self
        at = self.values(self.own).reshape(n, k)
        chosen = self.first[:, None] + np.sort(np.argpartition(at, most - 1, axis=1)[:, :most], axis=1)
        scale = None if self.scale is None else self.scale[chosen.ravel()]
        first = np.arange(n, dtype=np.intp) * most
        return replace(self, matrix=self.matrix[chosen.ravel()], first=first, scale=scale)


def _blocks(S: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Some rows after the other, with the number of the first."""
    step = max(1, BLOCK // max(1, S.shape[1]))
    return ((at, S[at : at + step]) for at in range(0, len(S), step))


def _as_bytes(S: NDArray[np.int8] | F64) -> NDArray[np.int8] | F64:
    """Votes as int8 where they are whole numbers, as those of trees whose leaves are pure."""
    if S.dtype == np.int8:
        return S
    whole = np.empty(S.shape, dtype=np.int8)
    for at, block in _blocks(S):
        if not np.isin(block, (-1.0, 0.0, 1.0)).all():
            return S.astype(np.float64, copy=False)
        whole[at : at + len(block)] = block
    return whole
