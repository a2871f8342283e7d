"""Draws of the rows and columns that a round of stochastic boosting sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.learners.base.row_sampling import Mask, RowUnits


@dataclass(frozen=True)
class Draws:
    """Draws of the rows and columns that a round sees, by numbers that depend on the seed and the round alone."""

    seed: int
    """Seed of the run."""
    n_features: int
    """Columns of the table."""
    subsample: float
    """Share of the training rows that a round sees, each drawn with this probability; 1: all."""
    features_of_tree: int
    """Columns that a round sees."""
    by_node: bool
    """Whether the grower draws columns for each node."""
    units: RowUnits | None
    """Rows as they are drawn; None where every round sees all of them."""
    training: Mask | None = None
    """Units of the training rows; None: all."""

    @property
    def any(self) -> bool:
        """Whether two rounds may see different tables."""
        return self.by_node or self.subsample < 1.0 or self.features_of_tree < self.n_features

    def rows_of_round(self, t: int) -> tuple[NDArray[np.int32] | None, F64 | None]:
        """Rows of round t in rising order, None for all; what all rows then weigh, None for what they always do."""
        if self.units is None:
            return None, None
        if self.subsample < 1.0:
            return self.units.rows_of(self.units.drawn(self.subsample, self.seed + t, self.training))
        assert self.training is not None
        return self.units.rows_of(self.training)

    def features_of_round(self, t: int) -> NDArray[np.int32] | None:
        """Columns of round t in rising order; None for all."""
        if self.features_of_tree == self.n_features:
            return None
        random = np.random.default_rng((self.seed, t))
        chosen = random.choice(self.n_features, self.features_of_tree, replace=False, shuffle=False)
        return np.sort(chosen).astype(np.int32)
