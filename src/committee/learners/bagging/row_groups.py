"""Groups of rows that are drawn, and left out, together."""

from __future__ import annotations

import os
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from committee.data.number_types import Index
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.files.journal import Checkpoint
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import fitted, with_parameters
from committee.learners.base.row_sampling import copied_rows, warn_of_copies
from committee.learners.base.shared_parameters import with_fit_parameters


@with_parameters
class GroupedRows(CommitteeEstimator):
    """Base of learners that draw the rows of each voter, or groups of them."""

    n_groups_: int = fitted(
        """Number of groups that were drawn in place of rows: those of `groups`, or different rows if others are copies
        of them; absent if rows were drawn.""",
        "int",
    )

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @with_fit_parameters(
        "X",
        "y",
        "sample_weight",
        "groups",
        "checkpoint",
        groups="""Groups of rows, such as places or patients, or the name of their column. Voters draw whole groups, of
        which `max_samples` is a number or share, so that out-of-bag predictions and temperatures are those of new
        groups. None: voters draw rows; if many are copies of others, as after resampling, equal rows are a group.""",
        warns=", or many rows are copies of others",
    )
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        groups: ArrayLike | str | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on rows. A fit that fails leaves the estimator unchanged."""
        with self._one_fit(X, y, sample_weight, checkpoint, groups=groups) as (tasks, rows):
            tasks.begin()
            tasks.end(self._constant(rows) or self._train(rows, tasks))
        return self

    def _drawn_groups(self, rows: Rows | TargetRows, tasks: FitTasks) -> Index | None:
        if (group := tasks.group_of(rows)) is not None:
            return group
        group = copied_rows(rows.with_codes, n_threads(self.n_jobs))
        if group is not None:
            warn_of_copies(group)
        return group

    def _from_file(self) -> None:
        super()._from_file()
        number = getattr(self, "n_groups_", 2)
        if type(number) is not int or number < 2:
            raise ValueError(f"n_groups_ is {number!r}; it must be a whole number above 1")
