"""Which columns a model uses, by what it knows of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.report.inspection import importance_words


@dataclass(frozen=True, eq=False)
class Importances:
    """Shares of the columns, which sum to one."""

    columns: tuple[str, ...]
    shares: F64
    words: str
    """What the shares are of."""

    @classmethod
    def of(cls, model: Any) -> Importances | None:
        """Those of a fitted learner; None if it knows none, or uses no column."""
        try:
            shares = np.asarray(model.feature_importances_, dtype=np.float64)
        except AttributeError:
            return None
        if not shares.any():
            return None
        return cls(tuple(model.table_.column(j) for j in range(len(shares))), shares, importance_words(model))

    @property
    def order(self) -> list[int]:
        """Numbers of the columns that are used, the most used first."""
        ranked = np.argsort(-self.shares, kind="stable")
        return [j for j in ranked.tolist() if self.shares[j] > 0.0]
