"""What a vote of few trees loses against one of all of them, and figures without that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee.data.number_types import F64, Mask


class Fewness(NamedTuple):
    """How much of what varies with the trees that vote is in three votes on a row.

    What varies so costs about b / m where m trees vote. Of a row that a single tree has not seen there are no halves.
    """

    parted: Mask
    """``(n,)``: rows that two trees or more have not seen."""
    fewer: F64
    """``(n,)``: by how many times b the halves' votes are worse, on the mean, than that of the trees together."""
    more: F64
    """``(n,)``: by how many times b that is worse than the vote of all K trees."""

    @classmethod
    def of(cls, unseen: Mask) -> Fewness:
        """Of rows by the trees that have not seen them ``(n, K)``."""
        n_trees = unseen.sum(axis=1)
        n_first, n_second = (n_trees + 1) // 2, n_trees // 2  # of `halves_of`
        parted = n_second > 0
        fewer = (1.0 / n_first + 1.0 / np.maximum(n_second, 1)) / 2.0 - 1.0 / n_trees
        return cls(parted, np.where(parted, fewer, 0.0), 1.0 / n_trees - 1.0 / unseen.shape[1])


FEWEST = 3.0
"""Trees on the mean that have not seen a row, below which errors of votes for classes do not follow b / m: two are
right no more often than one, as they are tied wherever they differ."""


def tells_of_all(unseen: Mask) -> bool:
    """Whether enough trees have not seen the rows ``(n, K)`` to tell the loss of all of them, in votes for classes."""
    return bool(unseen.sum(axis=1).mean() >= FEWEST)


def refuse_few(unseen: Mask, max_loss: float) -> None:
    """Refuse a contract on votes for classes whose rows too few trees have not seen.

    Raises
    ------
    ValueError
        If `tells_of_all` does not hold.
    """
    if not tells_of_all(unseen):
        raise ValueError(
            f"max_loss={max_loss!r} is judged by the trees that have not seen a row, "
            f"{unseen.sum(axis=1).mean():.1f} of {unseen.shape[1]} in the mean, and 3 are needed to tell what all "
            "lose; train more trees, or give other rows with on='validation'."
        )


def halves_of(unseen: Mask) -> tuple[Mask, Mask]:
    """Every other of the trees that have not seen a row, and the others ``(n, K)``."""
    # counts may wrap: all that is asked is whether they are odd
    odd = (np.cumsum(unseen, axis=1, dtype=np.uint8) & 1).astype(bool)
    return unseen & odd, unseen & ~odd


def as_if_all_had_not(unseen: Mask, by_these: F64, by_first: F64, by_second: F64, *, pooled: bool = False) -> F64:
    """Losses ``(..., n)`` as if all K trees had not seen the rows.

    They follow from those by the trees that have not, and by the halves of these, as the loss at 1 / K follows from
    those at 1 / m and at 2 / m. A row that a single tree has not seen tells nothing of that; it takes what the others
    tell together if they are `pooled`, else none.
    """
    parted, fewer, more = Fewness.of(unseen)
    steps = np.divide(more, fewer, out=np.zeros(len(parted)), where=parted)
    above = (by_first + by_second) / 2.0 - by_these
    by_all: F64 = by_these - steps * above
    if pooled and parted.any():
        b = above[..., parted].sum(axis=-1, keepdims=True) / fewer[parted].sum()
        by_all = np.where(parted, by_all, by_these - b * more)
    return by_all
