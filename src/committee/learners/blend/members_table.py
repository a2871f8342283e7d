"""The candidates of a fitted blend as a table: members by weight, and those that are none with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.extras import needed

if TYPE_CHECKING:
    import polars as pl


def members_table(model: Any) -> pl.DataFrame:
    """Candidates of a fitted blend: members by weight, then those left out, the least loss first.

    Parameters
    ----------
    model : CommitteeClassifier or CommitteeRegressor
        Fitted.

    Returns
    -------
    polars DataFrame
        ``member``, its name; ``weight`` in the vote, 0 of those left out; ``fits`` and ``nodes`` that vote; ``loss``
        of it alone on rows that it has not seen; ``gain``, by how much the loss of the vote would rise without it;
        ``seconds`` of its training; ``left_out``, why it is no member. Null is what nobody knows: the loss of a
        candidate that failed or was not trained, the gain of the only member, and the reason of a member. Without a row
        if the model was trained on one class.
    """
    needed("polars", "the table of members")
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
    nodes = model.committee_.voters.n_nodes
    others = len(model.left_out_)
    unknown = np.full(others, np.nan)
    gains = model.member_gains_ if len(model.member_gains_) > 1 else np.full(1, np.nan)  # without it is no vote
    table = {
        "member": [*model.member_names_, *model.left_out_],
        "weight": np.append(model.member_weights_, np.zeros(others)),
        "fits": np.append(model.member_sizes_, np.zeros(others, dtype=np.int64)),
        "loss": np.append(model.member_losses_, getattr(model, "left_out_losses_", unknown)),
        "gain": np.append(gains, unknown),
        "seconds": np.append(model.member_seconds_, getattr(model, "left_out_seconds_", unknown)),
        "nodes": np.append(
            np.add.reduceat(nodes, np.cumsum(model.member_sizes_) - model.member_sizes_),
            np.zeros(others, dtype=np.int64),
        ),
        "left_out": [None] * len(model.member_names_) + [*model.left_out_.values()],
    }
    order = [pl.col("left_out").is_not_null(), "weight", "loss"]
    return pl.DataFrame(table, schema=schema, nan_to_null=True).sort(
        order, descending=[False, True, False], nulls_last=True, maintain_order=True
    )
