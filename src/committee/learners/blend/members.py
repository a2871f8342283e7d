"""Candidates of a committee of ensembles, its members, and the table of both."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from committee.data.matrices import Matrix
from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.data.rows import GivenRows
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.members import MemberCommittees

if TYPE_CHECKING:
    import polars as pl

Effort = Literal["fast", "default", "best"]

TIMED_ROWS = 1000


@dataclass(frozen=True)
class Candidate:
    """A learner that may become a member, and the rows on which it is trained."""

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
    n_fits: int | None = None
    """Number of folds on which it is fitted, the first ones. None: all."""
    max_rows: int | None = None
    """Most training rows of a fold that a fit has, a stratified sample of them. None: all."""
    seconds: float | None = None
    """Seconds after which a fit takes no further round or voter. None: any."""
    estimator: Any = None
    """Estimator of another library, which is trained in place of a `learner`; that is ``object`` then."""

    @property
    def settings(self) -> dict[str, Any]:
        if self.estimator is not None:
            return {}
        settings: dict[str, Any] = self.learner(**self.parameters).get_params(deep=False)
        return settings


@dataclass(frozen=True, eq=False)
class Member:
    """A trained candidate."""

    name: str
    committees: Sequence[Committee | RegressionCommittee]
    """One trained on all rows, or one for each of its folds."""
    predictions: F64
    """Predictions for the validation rows: probabilities ``(n, K)`` or numbers ``(n, 1)``, or NaN."""
    seconds: float
    temperature: float | None = None
    """Temperature of the committees' links; None: their links are as trained."""

    def sharpened(self, sharpness: float) -> Member:
        """Copy with the temperature, if there is one, divided by `sharpness`."""
        if self.temperature is None:
            return self
        temperature = self.temperature / sharpness
        tempered = [one for one in self.committees if isinstance(one, Committee)]
        committees = [replace(one, link=one.link.tempered(temperature)) for one in tempered]
        predictions = sharpened(self.predictions, sharpness)
        return replace(self, committees=committees, predictions=predictions, temperature=temperature)


def sharpened(p: F64, sharpness: float) -> F64:
    """Probabilities ``(n, K)`` in proportion to ``p^sharpness``: those of a temperature divided by the sharpness."""
    powers = p**sharpness
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class LeftOut:
    """A candidate that is not a member, and the reason; loss or seconds are NaN if they are unknown."""

    name: str
    reason: str
    loss: float = float("nan")
    seconds: float = float("nan")
    failed: bool = field(default=False, repr=False)
    """Whether its fit raised an error."""


def predict_times(voters: MemberCommittees, sizes: NDArray[np.int64], X: Matrix | GivenRows) -> F64:
    """Processor time of each member's vote in microseconds per row, ``(m,)``, on one thread.

    A batch of 1,000 rows is made from `X`, which are encoded rows, with the table for members of other libraries.
    Member k has the next ``sizes[k]`` of the voters.
    """
    batch = X[np.resize(np.arange(min(len(X), TIMED_ROWS)), TIMED_ROWS)]
    times: list[float] = []
    for first, size in zip((np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True):
        fits = voters[first : first + size]
        fits.tally(batch[np.arange(1)])  # makes the native trees
        begun = time.thread_time()
        fits.tally(batch)
        times.append(1e6 * (time.thread_time() - begun) / TIMED_ROWS)
    return np.array(times)


def members_table(model: Any) -> pl.DataFrame:
    """Candidates of a fitted committee of ensembles: members by weight, then those left out, the least loss first.

    Columns are ``member``, its name; ``weight`` in the vote, 0 of those left out; ``fits`` and ``nodes`` that vote; its
    ``loss`` alone on held-out rows; ``gain``, the rise of the vote's loss without it; ``seconds`` of its training;
    ``nbytes`` in memory and ``file_bytes`` in a model file, which also has the names, categories and texts of the
    columns (``committee_.column_bytes``; ``committee_.file_bytes`` is the whole), null if a file cannot hold it;
    ``predict_us``, microseconds per predicted row; ``left_out``, the reason why it is not a member. Null where there is
    none. Empty for a model of one class.
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
        "nbytes": pl.Int64,
        "file_bytes": pl.Int64,
        "predict_us": pl.Float64,
        "left_out": pl.String,
    }
    if not hasattr(model, "member_names_"):
        return pl.DataFrame(schema=schema)
    others = len(model.left_out_)
    zeros, unknown = np.zeros(others, dtype=np.int64), np.full(others, np.nan)
    gains = model.member_gains_ if len(model.member_gains_) > 1 else np.full(1, np.nan)  # without it is no vote
    fits = model.committee_.voters.members
    first = np.cumsum(model.member_sizes_) - model.member_sizes_

    def of_members(each: list[int]) -> NDArray[np.int64]:
        return np.append(np.add.reduceat(np.array(each, dtype=np.int64), first), zeros)

    stored = np.split(np.array(model.committee_.voters.file_bytes, dtype=object), first[1:])
    times = getattr(model, "member_predict_times_", np.full(len(first), np.nan))
    table = {
        "member": [*model.member_names_, *model.left_out_],
        "weight": np.append(model.member_weights_, np.zeros(others)),
        "fits": np.append(model.member_sizes_, zeros),
        "loss": np.append(model.member_losses_, getattr(model, "left_out_losses_", unknown)),
        "gain": np.append(gains, unknown),
        "seconds": np.append(model.member_seconds_, getattr(model, "left_out_seconds_", unknown)),
        "nodes": of_members([one.n_nodes for one in fits]),
        "nbytes": of_members([one.nbytes for one in fits]),
        "file_bytes": [None if None in group else sum(group) for group in stored] + [0] * others,
        "predict_us": np.append(times, unknown),
        "left_out": [None] * len(model.member_names_) + [*model.left_out_.values()],
    }
    order = [pl.col("left_out").is_not_null(), "weight", "loss"]
    return pl.DataFrame(table, schema=schema, nan_to_null=True).sort(
        order, descending=[False, True, False], nulls_last=True, maintain_order=True
    )
