"""The signed votes of an ensemble as lines of margins, with row weights, voter signs and out-of-bag scales."""

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
    """Matrix S (r, T) of signed votes, from which ``S @ w`` gives the margins of weights w on the simplex.

    A *line* is a row of S. Each row of the table has one line for two classes, and K - 1 adjacent lines for K classes,
    of which the least product with w is its margin.
    """

    matrix: NDArray[np.int8] | F64
    first: NDArray[np.intp]  # (n,) first line of every row
    row_weight: F64  # (n,) positive, sums to one
    own: F64  # (T,) the ensemble's own weights: not negative, sum to one
    sign: F64  # (T,) -1 for a voter that is replaced by its opposite, else 1
    unseen: NDArray[np.bool_] | None = None  # (n, T) votes that count (out of bag), the others are 0; None: all
    scale: F64 | None = None  # (r,) factors of the lines, T / T_i if T_i voters count on row i; None: 1

    @classmethod
    def of(
        cls, votes: SignedVotes, row_weight: F64 | None = None, unseen: NDArray[np.bool_] | None = None
    ) -> MarginMatrix:
        """Build the matrix from an ensemble's signed votes, without rows of weight 0 or without a counted vote."""
        n, lines_of_row = votes.n_rows, len(votes.matrix) // max(1, votes.n_rows)
        weight = np.ones(n) if row_weight is None else row_weight
        S = _as_bytes(votes.matrix)
        if unseen is not None:
            S = np.where(np.repeat(unseen, lines_of_row, axis=0), S, np.zeros((), dtype=S.dtype))
        sign = np.where(votes.weights < 0.0, -1.0, 1.0)
        if (sign < 0.0).any():
            S = S * sign.astype(S.dtype)
        first = np.arange(n, dtype=np.intp) * lines_of_row
        return cls(S, first, weight, np.abs(votes.weights), sign, unseen)._without_empty_rows()

    def _without_empty_rows(self) -> MarginMatrix:
        counted = self.row_weight > 0.0
        if self.unseen is not None:
            counted &= self.unseen.any(axis=1)
        if not counted.any():
            raise ValueError(
                "No row is left: none has weight and, out of bag, a voter that was not trained on it; give other rows."
            )
        S, first, unseen = self.matrix, self.first, self.unseen
        if not counted.all():
            S = S[self.of_rows(counted)]
            first = np.arange(int(counted.sum()), dtype=np.intp) * self.lines_of_row
            unseen = None if unseen is None else unseen[counted]
        weight = self.row_weight[counted] / self.row_weight[counted].sum()
        scale = None if unseen is None else np.repeat(unseen.shape[1] / unseen.sum(axis=1), self.lines_of_row)
        return replace(self, matrix=S, first=first, row_weight=weight, unseen=unseen, scale=scale)

    @classmethod
    def of_matrix(cls, S: Any, own: F64 | None = None, row_weight: F64 | None = None) -> MarginMatrix:
        """Make lines of a matrix of signed votes, one for each row."""
        S = np.asarray(S)
        n, T = S.shape
        weights = np.full(T, 1.0 / T) if own is None else np.asarray(own, dtype=np.float64)
        rows = np.arange(n)
        return cls.of(SignedVotes(S, rows, rows, n, weights / np.abs(weights).sum()), row_weight)

    @property
    def n_voters(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def n_rows(self) -> int:
        return len(self.first)

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def lines_of_row(self) -> int:
        return len(self.matrix) // len(self.first)

    @property
    def line_weight(self) -> F64:
        return self.of_rows(self.row_weight) / self.lines_of_row

    def of_rows(self, numbers: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(numbers, self.lines_of_row)

    def taken(self, lines: NDArray[np.intp]) -> F64:
        some: F64 = self.matrix[lines].astype(np.float64)
        return some if self.scale is None else some * self.scale[lines, None]

    def part(self, lines: NDArray[np.intp], voters: NDArray[np.intp]) -> NDArray[np.int8] | F64:
        some: NDArray[np.int8] | F64 = self.matrix[lines[:, None], voters]
        return some if self.scale is None else some * self.scale[lines, None]

    def values(self, weights: F64) -> F64:
        """Return ``S @ w``, ``(r,)``."""
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
        return self.least(self.values(weights))

    def least(self, lines: F64) -> F64:
        if len(lines) == len(self.first):
            return lines
        least: F64 = lines.reshape(len(self.first), -1).min(axis=1)
        return least

    def dots(self, numbers: F64) -> F64:
        """Return ``S' u`` for a number for each line, ``(T,)``."""
        u = numbers if self.scale is None else numbers * self.scale
        total = np.zeros(self.n_voters)
        for at, block in _blocks(self.matrix):
            total += u[at : at + len(block)] @ block.astype(np.float64, copy=False)
        return total

    def mean_votes(self) -> F64:
        """Return the weighted mean of each voter's column, its edge, ``(T,)``."""
        return self.dots(self.line_weight)

    def gram(self) -> F64:
        """Return the second moments of the votes, ``(T, T)``: ``S' diag(u) S`` with the line weights u."""
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
        """Return margins, normalised by the weight of voters that count, and row weights, of rows with such voters."""
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
        return replace(self, row_weight=row_weight)._without_empty_rows()

    def select(self, voters: NDArray[np.intp], own: F64) -> MarginMatrix:
        unseen = None if self.unseen is None else self.unseen[:, voters]
        return replace(
            self, matrix=self.matrix[:, voters], own=own, sign=self.sign[voters], unseen=unseen
        )._without_empty_rows()

    def as_numbers(self) -> MarginMatrix:
        """Return the lines with float64 votes if they fit into one block, which saves conversions."""
        if len(self) * self.n_voters > BLOCK:
            return self
        return replace(self, matrix=self.matrix.astype(np.float64, copy=False))

    def lowest(self, most: int) -> MarginMatrix:
        """Return the `most` lowest lines of each row at the own weights."""
        n, k = self.n_rows, self.lines_of_row
        if k <= most:
            return self
        at = self.values(self.own).reshape(n, k)
        chosen = self.first[:, None] + np.sort(np.argpartition(at, most - 1, axis=1)[:, :most], axis=1)
        scale = None if self.scale is None else self.scale[chosen.ravel()]
        first = np.arange(n, dtype=np.intp) * most
        return replace(self, matrix=self.matrix[chosen.ravel()], first=first, scale=scale)


def _blocks(S: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    step = max(1, BLOCK // max(1, S.shape[1]))
    return ((at, S[at : at + step]) for at in range(0, len(S), step))


def _as_bytes(S: NDArray[np.int8] | F64) -> NDArray[np.int8] | F64:
    if S.dtype == np.int8:
        return S
    whole = np.empty(S.shape, dtype=np.int8)
    for at, block in _blocks(S):
        if not np.isin(block, (-1.0, 0.0, 1.0)).all():
            return S.astype(np.float64, copy=False)
        whole[at : at + len(block)] = block
    return whole
