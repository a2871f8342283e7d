"""Draws of the rows and columns that a round of stochastic boosting sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Draws:
    """Draws of the rows and columns that a round sees, by numbers that depend on the seed and the round alone."""

    seed: int
    """Seed of the run."""
    n_rows: int
    n_features: int
    """Size of the table."""
    subsample: float
    """Share of the rows that a round sees, drawn without replacement; 1: all."""
    features_of_tree: int
    """Columns that a round sees."""
    by_node: bool
    """Whether the grower draws columns for each node."""

    @property
    def any(self) -> bool:
        """Whether two rounds may see different tables."""
        return self.by_node or self.subsample < 1.0 or self.features_of_tree < self.n_features

    def of_round(self, t: int) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
        """Rows and columns of round t in rising order; None where it sees all."""
        if self.subsample == 1.0 and self.features_of_tree == self.n_features:
            return None, None
        random = np.random.default_rng((self.seed, t))
        rows = features = None
        if self.subsample < 1.0:
            rows = _some(random, self.n_rows, max(1, round(self.subsample * self.n_rows)))
        if self.features_of_tree < self.n_features:
            features = _some(random, self.n_features, self.features_of_tree)
        return rows, features


def _some(random: np.random.Generator, n: int, size: int) -> NDArray[np.int32]:
    """`size` of the numbers below n, in rising order."""
    chosen = np.zeros(n, dtype=bool)
    chosen[random.choice(n, size, replace=False, shuffle=False)] = True
    return np.flatnonzero(chosen).astype(np.int32)
