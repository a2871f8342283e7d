"""Losses of voters on the rows that they may be judged by, of each alone and of two together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Mask
from committee.objectives.programs.margin_matrix import MarginMatrix

_BLOCK = 1 << 22
"""Losses held as float64 at a time."""


@dataclass(frozen=True, eq=False)
class PairLosses:
    """Mean losses of T voters and of their pairs, each over the rows that count for it.

    Parameters
    ----------
    risk : float64 array (T,)
        Mean loss of each voter; NaN without rows.
    tandem : float64 array (T, T)
        Mean of l_t l_u; NaN without rows.
    disagreement : float64 array (T, T)
        Mean of l_t (1 - l_u) + l_u (1 - l_t): how often labels differ.
    rows : float64 array (T, T)
        Number of rows that count for both.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.margins.pair_losses import PairLosses
    >>> pairs = PairLosses.of(np.array([[1, -1], [1, 1]], dtype=np.int8), None)
    >>> pairs.risk.tolist(), pairs.tandem.tolist()
    ([0.0, 0.5], [[0.0, 0.0], [0.0, 0.5]])
    """

    risk: F64
    tandem: F64
    disagreement: F64
    rows: F64

    @classmethod
    def of(cls, least: NDArray[np.int8] | F64, counted: Mask | None) -> PairLosses:
        """Of signed votes.

        Parameters
        ----------
        least : int8 or float64 array (n, T)
            Least signed vote s of each voter; its loss is (1 - s) / 2.
        counted : bool array (n, T) or None
            Rows that count for a voter; None: all.
        """
        T = least.shape[1]
        both, own, rows = np.zeros((T, T)), np.zeros((T, T)), np.zeros((T, T))
        for loss, counts in loss_blocks(least, counted):
            both += loss.T @ loss
            if counts is None:
                own += loss.sum(axis=0)[:, None]
                rows += len(loss)
            else:
                own += loss.T @ counts
                rows += counts.T @ counts
        with np.errstate(invalid="ignore"):
            disagreement = (own + own.T - 2.0 * both) / rows
            return cls(np.diagonal(own) / np.diagonal(rows), both / rows, disagreement, rows)

    @classmethod
    def of_lines(cls, lines: MarginMatrix) -> PairLosses:
        """Of the lines of margins, by the voters that count on them; rows count once each."""
        S = lines.matrix
        least = S if lines.lines_of_row == 1 else S.reshape(lines.n_rows, -1, lines.n_voters).min(axis=1)
        return cls.of(least, lines.unseen)


def loss_blocks(least: NDArray[np.int8] | F64, counted: Mask | None) -> Iterator[tuple[F64, F64 | None]]:
    """Losses of some rows after the other, zero where they do not count, and where they count."""
    step = max(1, _BLOCK // least.shape[1])
    for at in range(0, len(least), step):
        loss: F64 = 0.5 * (1.0 - least[at : at + step].astype(np.float64))
        if counted is None:
            yield loss, None
        else:
            counts = counted[at : at + step].astype(np.float64)
            yield loss * counts, counts
