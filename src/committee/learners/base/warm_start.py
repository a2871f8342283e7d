"""Warm starts: a fit adds voters to those of the last one, with its seed and columns."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from committee.data.matrices import is_out_of_core
from committee.data.rows import Rows, TargetRows, WeightedRows, nonzero_weights
from committee.data.table_schema import TableSchema
from committee.data.text import quoted
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.row_sampling import table_seed
from committee.vote.committee import Committee, RegressionCommittee

R = TypeVar("R", bound=WeightedRows)


class WarmStart(CommitteeEstimator):
    warm_start: bool
    n_estimators: Any
    random_state: Any
    voters_called = "rounds"
    """Name of the voters in messages."""

    seed_: int

    def _no_checkpoint(self, X: Any) -> str | None:
        if self._earlier_committee() is not None:
            return "warm_start continues a committee that the file would not hold"
        return super()._no_checkpoint(X)

    def _earlier_committee(self) -> Committee | RegressionCommittee | None:
        if not self.warm_start or not hasattr(self, "committee_"):
            return None
        n_voters = self.committee_.n_voters
        if isinstance(self.n_estimators, Integral) and self.n_estimators < n_voters:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_voters} {self.voters_called} that warm_start "
                "continues; raise it, or set warm_start=False."
            )
        return self.committee_

    def _by_earlier_columns(self, rows: R, X: Any, weights: ArrayLike | None) -> R:
        """Encode rows by the table of the continued committee, if that covers the table of the rows.

        `weights` are those of all rows of `X`, also of those without weight.
        """
        earlier = self._earlier_committee()
        known = None if earlier is None else earlier.table
        if known is None or known == self.table_ or is_out_of_core(X) or not known.covers(self.table_):
            return rows
        self.table_ = known
        cells = self._validation_matrix(X)
        if weights is not None:
            cells = cells[nonzero_weights(np.asarray(weights))]
        encoded: R = replace(cast("Any", rows), X=cells, levels=None)  # both kinds of rows are dataclasses
        return encoded

    def _random(self, generator: np.random.RandomState, rows: Rows | TargetRows) -> np.random.RandomState:
        if isinstance(self.random_state, Integral):
            self.seed_ = int(self.random_state)
            return generator
        if not (self.warm_start and hasattr(self, "seed_")):
            drawn = self.random_state is not None
            self.seed_ = int(generator.randint(2**31 - 1)) if drawn else table_seed(rows.class_numbers, rows.weights)
        return np.random.RandomState(self.seed_)

    def _check_earlier(self, earlier: Committee | RegressionCommittee, **same: tuple[Any, Any]) -> None:
        # `same` are further pairs of values, then and now, that must be equal
        if earlier.table != self.table_:
            raise ValueError(
                f"warm_start continues a committee with other columns: {_difference(earlier.table, self.table_)}. Give "
                "X the columns of the first fit, or set warm_start=False."
            )
        if isinstance(earlier, Committee):
            same["classes"] = (earlier.classes.tolist(), self.classes_.tolist())
        for what, (before, now) in same.items():
            if before != now:
                raise ValueError(
                    f"warm_start continues a committee with other {what}: {before!r} then, {now!r} now. Keep the "
                    f"{what}, or set warm_start=False."
                )

    def _from_file(self) -> None:
        super()._from_file()
        seed = getattr(self, "seed_", 0)
        if type(seed) is not int or not 0 <= seed < 2**32:
            raise ValueError(f"seed_ is {seed!r}; it must be a whole number from 0 to 2^32 - 1")


def _difference(then: TableSchema | None, now: TableSchema) -> str:
    if then is None:
        return "the committee has none"
    if then.n_features != now.n_features:
        return f"{then.n_features} then, {now.n_features} now"
    if then.names is None or now.names is None:
        return "with names then, none now" if now.names is None else "without names then, with names now"
    if then.names != now.names:
        j = next(j for j in range(now.n_features) if then.column(j) != now.column(j))
        return f"column {j} was {then.column(j)!r} then, and is {now.column(j)!r} now"
    for j, (before, after) in enumerate(zip(then.categories, now.categories, strict=True)):
        name = now.column(j)
        if (before is None) != (after is None):
            kinds = "categories then, numbers now" if after is None else "numbers then, categories now"
            return f"column {name!r} held {kinds}"
        if before != after:
            odd = sorted(set(before or ()).symmetric_difference(after or ()), key=str)
            words = f"other categories, as for {quoted(odd, 5)}" if odd else "its categories in another order"
            return f"column {name!r} has {words}"
    return "the target statistics of high-cardinality categories were learned on other rows"
