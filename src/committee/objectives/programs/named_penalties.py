"""Penalties on the weights of voters by the names that users give."""

from __future__ import annotations

from committee.objectives.programs.kl_penalty import KLPenalty
from committee.objectives.programs.penalties import L1Penalty, L2Penalty, LinfPenalty, NoPenalty
from committee.objectives.programs.penalty import Penalty

PENALTIES: dict[str, type[Penalty]] = {"l1": L1Penalty, "l2": L2Penalty, "linf": LinfPenalty, "kl": KLPenalty}
"""``penalty=`` of the QuadBoost learners."""


def penalty_class(name: str | None) -> type[Penalty]:
    """Penalty of this name; None is none."""
    return NoPenalty if name is None else PENALTIES[name]
