"""Parts of the committee inside an ensemble, as an adapter finds them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link
from committee.voters.protocol import Voters


class RegressionParts(NamedTuple):
    """Arguments of `RegressionCommittee`, in its order."""

    voters: Voters
    weights: NDArray[np.float64]
    link: MeanLink
    table: TableSchema | None = None
    intercept: NDArray[np.float64] | None = None


class CommitteeParts(NamedTuple):
    """Arguments of `Committee`, in its order."""

    voters: Voters
    weights: NDArray[np.float64]
    classes: NDArray[Any]
    link: Link
    table: TableSchema | None = None
    intercept: NDArray[np.float64] | None = None
