"""Votes for a number, judged row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from committee.data.number_types import F64
from committee.learners.trained.contract_metric import ContractMetric
from committee.learners.trained.leaf_cut import LeafRows
from committee.learners.trained.number_loss import NumberLoss
from committee.learners.trained.vote_judge import VoteJudge


@dataclass(frozen=True)
class NumberJudge(VoteJudge):
    """The loss that votes are fitted with, and its part of what a constant would lose.

    Scores, and what they are fitted to, are numbers less `centre`, in units of `unit`.
    """

    centre: float
    unit: float
    fitted: NumberLoss
    """What chooses."""
    constant: float
    """Mean of that loss for the best constant, 0 where numbers do not differ."""
    contract: ContractMetric
    score_name: str
    loss_name: ClassVar[str] = "loss"

    def figures(self, score: F64, rows: LeafRows) -> F64:
        """See `VoteJudge`."""
        assert rows.target is not None
        loss = self.fitted(rows.target[:, 0], score[:, 0])
        explained = 1.0 - loss / self.constant if self.constant > 0.0 else np.zeros_like(loss)
        return np.stack([loss, explained])

    def predictions(self, score: F64) -> F64:
        """See `VoteJudge`."""
        return self.centre + self.unit * score[:, 0]
