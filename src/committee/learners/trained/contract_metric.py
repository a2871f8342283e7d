"""What a contract of pruning counts, of a whole ensemble and of its cuts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.few_trees import as_if_all_had_not
from committee.learners.trained.mean_and_error import mean_and_error, share_and_error

Halves = tuple[F64, F64] | None
"""Predictions by either half of the trees that have not seen a row; None where all trees answer."""


class ContractMetric(ABC):
    """How much worse one vote is than another, with its standard error.

    Both are judged on the same rows, each by those voters that have not seen it, as if all of them had not.
    """

    in_shares: ClassVar[bool] = False
    """Whether what is lost counts as a share of what the whole loses."""

    @abstractmethod
    def kept(self, y: Index | F64, predicted: F64, halves: Halves, unseen: Mask | None) -> F64:
        """What is to be known of a vote on n rows, ``(d, n)``.

        Parameters
        ----------
        y : intp or float64 array (n,)
            Class numbers, or numbers.
        predicted : float64 array (n, K) or (n,)
            Probabilities, or numbers.
        halves : tuple of float64 arrays, or None
            The same by either half of the voters, see `halves_of`; of a row that one voter alone answers whatever is
            there is not looked at.
        unseen : bool array (n, T) or None
            Voters that have not seen a row.
        """

    @abstractmethod
    def lost(self, y: Index | F64, cut: F64, whole: F64, weight: F64) -> tuple[float, float]:
        """How much worse a vote is than the whole, and the standard error; rows that are NaN in either do not count."""


@dataclass(frozen=True)
class RowMetric(ContractMetric):
    """The mean of a loss of each row."""

    loss: Callable[[Any, F64], F64]
    """From answers ``(n,)`` and predictions to losses ``(n,)``."""

    def kept(self, y: Index | F64, predicted: F64, halves: Halves, unseen: Mask | None) -> F64:
        """See `ContractMetric`."""
        by_these = self.loss(y, predicted)
        if halves is None or unseen is None:
            return by_these[None]
        return as_if_all_had_not(unseen, by_these, *(self.loss(y, half) for half in halves), pooled=True)[None]

    def lost(self, y: Index | F64, cut: F64, whole: F64, weight: F64) -> tuple[float, float]:
        """See `ContractMetric`."""
        return mean_and_error(cut[0] - whole[0], weight)


class ShareMetric(RowMetric):
    """The same as a share of what the whole loses."""

    in_shares: ClassVar[bool] = True

    def lost(self, y: Index | F64, cut: F64, whole: F64, weight: F64) -> tuple[float, float]:
        """See `ContractMetric`."""
        above = cut[0] - whole[0]
        return share_and_error(above, np.where(np.isfinite(above), whole[0], np.nan), weight)


def check_contract(max_loss: float, min_gain: float | None, on: str) -> None:
    """Refuse a contract that no rows can judge, or two at once.

    Raises
    ------
    ValueError
        If a price is given too, or voters have seen the rows.
    """
    if min_gain is not None:
        raise ValueError(f"max_loss={max_loss!r} and min_gain={min_gain!r} both choose the size; give one of them.")
    if on == "train":
        raise ValueError(
            f"max_loss={max_loss!r} is judged on rows that the trees have not seen, and on='train' says that they "
            "have; hold rows back and give them with on='validation'."
        )
