"""What a model file has of a re-weighted ensemble, and how it is read."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from committee.data.named import read_named
from committee.data.number_types import F64
from committee.learners.base.parameters import fitted, with_parameters
from committee.learners.trained.trained_ensemble import TrainedEnsembleClassifier
from committee.objectives.margins.named_objectives import OBJECTIVES
from committee.objectives.margins.objective import Objective

_STORED: dict[str, type] = {
    "objective_": dict,
    "voters_": np.ndarray,
    "value_": float,
    "value_before_": float,
    "gap_": float,
    "status_": str,
    "n_rows_used_": int,
    "n_rounds_": int,
}
"""Fitted attributes of a `MarginReweighter` that a file has beside its committee, and what they are there."""


@with_parameters
class StoredReweighter(TrainedEnsembleClassifier):
    """Base of `MarginReweighter`, whose objectives a file has by name."""

    stored_attributes: ClassVar[tuple[str, ...]] = (*_STORED, "lost_", "lost_error_")

    voters_: NDArray[np.intp] = fitted()
    weights_: F64 = fitted()
    own_weights_: F64 = fitted()
    objective_: Objective = fitted()
    objective: Any

    def _for_file(self) -> Self:
        """With the objectives by name, and the voters by their numbers in the ensemble, which is not in a file."""
        stored = copy.copy(self)
        stored.objective_ = _named_objective("objective_", self.objective_)
        if isinstance(self.objective, Objective):
            stored.objective = _named_objective("objective", self.objective)
        return stored

    def _from_file(self) -> None:
        """A loaded re-weighter's ensemble is its own small committee, and its weights are the committee's."""
        committee = self.committee_
        for name, kind in _STORED.items():
            if not isinstance(getattr(self, name, None), kind):
                raise ValueError(f"{name} is {getattr(self, name, 'absent')!r}, which is not what fit sets")
        if isinstance(self.objective, dict):
            self.objective = _objective_named(self.objective)
        self._objective()
        self.objective_ = _objective_named(self.objective_)
        if self.voters_.ndim != 1 or self.voters_.dtype.kind != "i" or (self.voters_ < 0).any():
            raise ValueError("voters_ are not numbers of voters")
        weights = committee.weights * committee.voters.spread
        if not np.abs(weights).sum() > 0.0:
            raise ValueError("no voter has any weight")
        self.weights_ = self.own_weights_ = weights / np.abs(weights).sum()
        self.ensemble = self._all = committee

    def _objective(self) -> Objective:
        """The objective of the parameters; an error if they do not fit together."""
        raise NotImplementedError


def _named_objective(name: str, objective: Objective) -> Any:
    if type(objective) not in OBJECTIVES.values():
        raise TypeError(
            f"{name} is a {type(objective).__module__}.{type(objective).__qualname__}, and a model file holds only "
            f"committee's own objectives ({', '.join(OBJECTIVES)}). Use skops.io.dump or joblib.dump for this model."
        )
    return objective.to_json()


def _objective_named(stored: Any) -> Objective:
    return read_named(stored, OBJECTIVES, "objective")
