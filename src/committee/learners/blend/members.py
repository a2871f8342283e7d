"""Candidates of a committee of ensembles, its members, and the table of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.vote.committee import Committee, RegressionCommittee

if TYPE_CHECKING:
    import polars as pl

Effort = Literal["fast", "default", "best"]


@dataclass(frozen=True)
class Candidate:
    """A learner that may become a member, and the source of its held-out predictions."""

    name: str
    learner: type[Any]
    parameters: dict[str, Any] = field(default_factory=dict)
    out_of_bag: bool = False
    """Whether it is fitted once, with out-of-bag predictions; others are fitted on folds."""
    lines: bool = False
    """Whether it is a candidate because of its linear leaves, which sparse rows do not have."""
    moved: bool = False
    """Whether it predicts means for a loss that the mean does not minimise, and is shifted by the best constant on
    held-out rows."""


@dataclass(frozen=True, eq=False)
class Member:
    """A trained candidate."""

    name: str
    committees: Sequence[Committee | RegressionCommittee]
    """One trained on all rows, or one for each fold."""
    predictions: F64
    """Predictions for the validation rows: probabilities ``(n, K)`` or numbers ``(n, 1)``, or NaN."""
    seconds: float


@dataclass(frozen=True)
class LeftOut:
    """A candidate that is not a member, and the reason; its mean loss is NaN if it is not trained."""

    name: str
    reason: str
    loss: float = float("nan")
    seconds: float = float("nan")


def members_table(model: Any) -> pl.DataFrame:
    """Candidates of a fitted committee of ensembles: members by weight, then those left out, the least loss first.

    Parameters
    ----------
    model : CommitteeClassifier or CommitteeRegressor
        Fitted.

    Returns
    -------
    polars DataFrame
        ``member``, its name; ``weight`` in the vote, 0 of those left out; ``fits`` and ``nodes`` that vote; its
        ``loss`` alone on held-out rows; ``gain``, the rise of the vote's loss without it; ``seconds`` of its training;
        ``left_out``, the reason why it is not a member. Null where there is none. Empty for a model of one class.
    """
    require_package("polars", "the table of members")
    import polars as pl

    schema = {
        "member": pl.String,
        "weight": pl.Float64,
        "fits": pl.Int64,
        "loss": pl.Float64,
        "gain": pl.Float64,
        "seconds": pl.Float64,
        "nodes": pl.Int64,
        "left_out": pl.String,
    }
    if not hasattr(model, "member_names_"):
        return pl.DataFrame(schema=schema)
    others = len(model.left_out_)
    zeros, unknown = np.zeros(others, dtype=np.int64), np.full(others, np.nan)
    gains = model.member_gains_ if len(model.member_gains_) > 1 else np.full(1, np.nan)  # without it is no vote
    nodes = np.add.reduceat(model.committee_.voters.n_nodes, np.cumsum(model.member_sizes_) - model.member_sizes_)
    table = {
        "member": [*model.member_names_, *model.left_out_],
        "weight": np.append(model.member_weights_, np.zeros(others)),
        "fits": np.append(model.member_sizes_, zeros),
        "loss": np.append(model.member_losses_, getattr(model, "left_out_losses_", unknown)),
        "gain": np.append(gains, unknown),
        "seconds": np.append(model.member_seconds_, getattr(model, "left_out_seconds_", unknown)),
        "nodes": np.append(nodes, zeros),
        "left_out": [None] * len(model.member_names_) + [*model.left_out_.values()],
    }
    order = [pl.col("left_out").is_not_null(), "weight", "loss"]
    return pl.DataFrame(table, schema=schema, nan_to_null=True).sort(
        order, descending=[False, True, False], nulls_last=True, maintain_order=True
    )
