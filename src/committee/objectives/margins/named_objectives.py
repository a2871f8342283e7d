"""Objectives of re-weighting by name, as `MarginReweighter` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from committee.objectives.margins.linear_objectives import MinMargin, Percentile, Range, Rank, SoftMargin, Uniform
from committee.objectives.margins.margin_costs import Doom, MinCq, Variance
from committee.objectives.margins.objective import Objective
from committee.objectives.margins.tandem_bound import Tandem

OBJECTIVES: dict[str, type[Objective]] = {
    kind.name: kind for kind in (Uniform, Rank, Percentile, Range, Variance, MinMargin, SoftMargin, MinCq, Doom, Tandem)
}


def objective_of(objective: str | Objective, options: Mapping[str, Any]) -> Objective:
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(objective, Objective):
        for name, value in given.items():
            raise ValueError(
                f"{name}={value!r} cannot be combined with an Objective, here {objective!r}, which has options of its "
                "own; leave it out."
            )
        return objective
    if not isinstance(objective, str) or objective not in OBJECTIVES:
        raise ValueError(
            f"objective={objective!r} is unknown; choose from {', '.join(OBJECTIVES)}, or give an Objective."
        )
    for name, value in given.items():
        owners = [kind.name for kind in OBJECTIVES.values() if name in signature(kind).parameters]
        if objective not in owners:
            raise ValueError(
                f"{name}={value!r} has no meaning for objective={objective!r}, only for {', '.join(owners)}; leave it "
                "out."
            )
    return OBJECTIVES[objective](**given)
