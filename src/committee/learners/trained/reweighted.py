"""Some voters of a committee with new weights, in units of spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Share, Softmax


def reweighted(committee: Committee, voters: NDArray[np.intp], weights: F64) -> Committee:
    """Some of the voters with their weights, in units of spread; their absolute sum stays the committee's own."""
    spread = committee.voters.spread
    total = float(np.abs(committee.weights) @ spread)
    each = weights * total / np.abs(weights).sum()
    each = np.divide(each, spread[voters], out=np.zeros(len(voters)), where=spread[voters] > 0.0)
    link: Link | None = Softmax() if isinstance(committee.link, Share) and (each < 0.0).any() else None
    chosen = committee.select(voters, each, link=link)
    if committee.intercept is None:
        return chosen
    # it counts as in the lines, where every voter or its opposite has it: less where weights cancel each other
    sign = np.where(committee.weights[voters] < 0.0, -1.0, 1.0)
    return replace(chosen, intercept=committee.intercept * (float(weights @ sign) / float(np.abs(weights).sum())))
