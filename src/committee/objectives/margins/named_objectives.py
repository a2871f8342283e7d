"""Objectives of re-weighting by name, as `MarginReweighter` takes them."""

from __future__ import annotations

from committee.objectives.margins.least_margin import MinMargin, SoftMargin
from committee.objectives.margins.margin_maximum import Percentile, Rank, Uniform
from committee.objectives.margins.margin_range import Range
from committee.objectives.margins.margin_variance import Variance
from committee.objectives.margins.objective import Objective
from committee.objectives.margins.second_moment import MinCq
from committee.objectives.margins.sigmoid_cost import Doom
from committee.objectives.margins.tandem_bound import Tandem

OBJECTIVES: dict[str, type[Objective]] = {
    kind.name: kind for kind in (Uniform, Rank, Percentile, Range, Variance, MinMargin, SoftMargin, MinCq, Doom, Tandem)
}
"""Every objective under its name; a further one is one more class and one more entry."""
