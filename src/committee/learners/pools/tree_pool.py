"""Trees as a pool: one is grown for each round's row weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.binning import Binned
from committee.data.number_types import F64, I8
from committee.learners.pools.pool import Candidate, TrainedPool
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits, forest_of, grower, signed_votes

if TYPE_CHECKING:
    from committee.learners.base.fit_record import RecordedGrower


class TreePool(TrainedPool):
    """Trees of two classes, grown by the Gini criterion; every node looks at all columns."""

    def __init__(self, binned: Binned, limits: GrowthLimits, n_threads: int, row_weights: F64 | None = None) -> None:
        super().__init__(row_weights)
        self.binned = binned
        self.grower: _core.Grower | RecordedGrower = grower(binned, "gini", 2, limits, n_threads)

    def train(self, positive: NDArray[np.bool_], weights: F64) -> tuple[tuple[_core.GrownTree, NDArray[np.int32]], I8]:
        """As `TrainedPool.train`: a tree and the labels of its nodes."""
        tree = self.grower.grow_classes(positive.astype(np.uint16), weights, None, 0)
        label, votes = signed_votes(tree)
        return (tree, label), votes

    def votes_on(self, rows: F64, candidate: Candidate) -> I8:
        """As `Pool.votes_on`."""
        return (2 * self.voters([candidate], None, 2).votes(rows)[:, 0] - 1).astype(np.int8)

    def voters(self, candidates: Sequence[Candidate], output: NDArray[np.intp] | None, n_classes: int) -> Forest:
        """As `Pool.voters`."""
        trees = [one.voter[0] for one in candidates]
        signs = [one.sign * np.where(one.voter[1] < 0, 0, 2 * one.voter[1] - 1) for one in candidates]
        if output is None:
            label = [np.where(sign == 0, -1, sign > 0).astype(np.int32) for sign in signs]
            return forest_of(trees, self.binned.bins, 2, label=label)
        columns = (output[:, None] == np.arange(n_classes)).astype(np.float64)
        value = [sign[:, None] * column for sign, column in zip(signs, columns, strict=True)]
        return forest_of(trees, self.binned.bins, n_classes, value=value)
