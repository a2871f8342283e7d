"""Votes for classes, judged row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from committee.data.number_types import F64
from committee.learners.trained.contract_metric import ContractMetric
from committee.learners.trained.leaf_cut import LeafRows
from committee.learners.trained.vote_judge import VoteJudge
from committee.vote.links.probability import Softmax

LINK = Softmax()
"""Refitted scores are log-odds of two classes, and logarithms of the shares of several."""


@dataclass(frozen=True)
class ClassJudge(VoteJudge):
    """Log loss, and whether a row is right."""

    contract: ContractMetric
    loss_name: ClassVar[str] = "log_loss"
    score_name = "accuracy"

    def figures(self, score: F64, rows: LeafRows) -> F64:
        """See `VoteJudge`."""
        share = LINK.probability(score)
        labels = np.asarray(rows.y, dtype=np.intp)
        logs = np.log(np.maximum(share, np.finfo(float).tiny))
        loss = -logs[np.arange(len(rows)), labels] if rows.target is None else -(rows.target * logs).sum(axis=1)
        return np.stack([loss, share.argmax(axis=1) == labels])

    def predictions(self, score: F64) -> F64:
        """See `VoteJudge`."""
        return LINK.probability(score)
