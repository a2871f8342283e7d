"""Objectives of re-weighting by name, as `MarginReweighter` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

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


def objective_of(objective: str | Objective, options: Mapping[str, Any]) -> Objective:
    """Return an objective by its name in `OBJECTIVES` and its own options.

    Options are by the names of the objectives' fields, None for one that is not given. An object is returned as it is,
    and takes none.

    Raises
    ------
    ValueError
        If the name is unknown, or an option is given that the objective does not have.

    Examples
    --------
    >>> from committee.objectives.margins.named_objectives import objective_of
    >>> objective_of("rank", {"k": 2.0, "nu": None})
    Rank(slack=0.0, tol=1e-08, k=2.0)
    """
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(objective, Objective):
        for name, value in given.items():
            raise ValueError(f"{name}={value!r} and an objective that is an object; give it to {objective!r}.")
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
