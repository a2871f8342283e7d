"""Whether rows that draws leave out are rows that their trees have not seen."""

from __future__ import annotations

from collections.abc import Sequence

from committee.data.columns import MOST_LEVELS
from committee.data.frames import TableSchema
from committee.data.many_levels import ManyLevels
from committee.data.rows import Rows, TargetRows
from committee.data.sparse import SparseMatrix
from committee.learners.base.folds import Fold


def left_out_unseen(rows: Rows | TargetRows, table: TableSchema, folds: Sequence[Fold]) -> bool:
    """Tell whether members may be judged by rows out of bag; if not, they are trained on folds.

    They may not where a draw sees copies of the rows that it leaves out: where folds count k equal rows as one, because
    others come k times too. Nor where one column with many levels is all there is: then the numbers of its levels are
    means of all rows, as nothing tells rows of a level apart.

    Parameters
    ----------
    rows : Rows or TargetRows
        Rows of a fit.
    table : TableSchema
        Their columns.
    folds : sequence of Fold
        In which these rows are dealt out.
    """
    single = int(rows.labels.max()) + 1 if isinstance(rows, Rows) else 1  # only rows of a class are in no fold
    if len(rows) > sum(fold.n_judged for fold in folds) + single:
        return False
    if isinstance(rows.X, SparseMatrix) or table.n_levels.max(initial=0) <= MOST_LEVELS:
        return True
    levels = ManyLevels.of_table(rows.X, table, MOST_LEVELS, "")
    return levels is None or not any(levels.alone)
