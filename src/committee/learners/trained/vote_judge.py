"""What new votes of leaves are judged by, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from committee.data.number_types import F64
from committee.learners.trained.contract_metric import ContractMetric
from committee.learners.trained.leaf_cut import LeafRows


class VoteJudge(ABC):
    """Two figures of a row by its scores, a loss that chooses and how good the answer is; and a contract."""

    loss_name: ClassVar[str]
    """The loss that chooses among cuts."""
    score_name: str
    """What the mean of the second figure is, more being better."""
    contract: ContractMetric
    """What a contract counts."""

    @abstractmethod
    def figures(self, score: F64, rows: LeafRows) -> F64:
        """The two ``(2, n)`` of the scores ``(n, D)`` of some rows."""

    @abstractmethod
    def predictions(self, score: F64) -> F64:
        """What the contract sees: probabilities ``(n, K)``, or numbers ``(n,)``."""
