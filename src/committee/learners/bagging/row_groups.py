"""Groups of rows that are drawn, and left out, together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from committee.data.number_types import Index
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import fitted, with_parameters
from committee.learners.base.row_sampling import copied_rows, warn_of_copies

if TYPE_CHECKING:
    from committee.files.journal import Checkpoint


@with_parameters
class GroupedRows(CommitteeEstimator):
    """Base of learners that draw the rows of each voter, or groups of them."""

    n_groups_: int = fitted(
        """Number of groups that were drawn in place of rows: those of `groups`, or different rows if others are copies
        of them; absent if rows were drawn.""",
        "int",
    )

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        groups: ArrayLike | str | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on rows. A fit that fails leaves the estimator unchanged.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows; NaN is a value of its own.
        y : array-like (n,) or str
            Class labels, numbers to predict, or the name of their column; ``(n, q)`` for several targets.
        sample_weight : array-like (n,) or str, default=None
            Row weights, or the name of their column; 0, or less than 1e-150 of their sum, means absent. Whole numbers
            with a mean of at most 10 count repeated rows; of others only the ratios matter.
        groups : array-like (n,) or str, default=None
            Groups of rows, such as places or patients, or the name of their column. Voters draw whole groups, of which
            `max_samples` is a number or share, so that out-of-bag predictions and temperatures are those of new groups.
            None: voters draw rows; if many are copies of others, as after resampling, equal rows are a group.
        checkpoint : path or Checkpoint, default=None
            File from which the same fit resumes if it is killed; see `committee.Checkpoint`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows, targets or groups are invalid, parameters contradict each other or the rows, or the checkpoint is
            damaged or of another fit.

        Warns
        -----
        UserWarning
            If `y` holds one class only, which is then predicted everywhere, or many rows are copies of others.
        """
        with self._one_fit(X, y, sample_weight, checkpoint, groups=groups) as (tasks, rows):
            tasks.begin()
            tasks.end(self._constant(rows) or self._train(rows, tasks))
        return self

    def _drawn_groups(self, rows: Rows | TargetRows, tasks: FitTasks) -> Index | None:
        """Number of the group of each row with weight, ``(n,)``; None if rows are drawn."""
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
