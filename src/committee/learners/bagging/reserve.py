"""A reserve: rows that no tree of a forest draws, so that the whole forest is new to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema
from committee.data.number_types import Mask
from committee.data.rows import Rows
from committee.data.sparse import Matrix, SparseMatrix
from committee.vote.scores import elected

if TYPE_CHECKING:
    from committee.learners.bagging.oob_curve import OutOfBag
    from committee.vote.committee import Committee


def reserved(n: int, share: float, random: np.random.RandomState) -> Mask:
    """Draw which of n rows are the reserve, ``(n,)``: floor(share n) of them, all sets of that size equally likely.

    Labels have no say, class by class neither: then the reserve is a sample of its own, independent of the other rows,
    and a test set in the strict sense. In equal shares of each class it would repeat what the other rows happen to
    hold, and flatter a forest that leans to the class that is too frequent there.

    Raises
    ------
    ValueError
        If it has no row, or leaves none.
    """
    size = int(share * n)
    if not 0 < size < n:
        raise ValueError(f"reserve={share} is {size} of {n} rows; raise it, or set 0 for no reserve.")
    mask = np.zeros(n, dtype=bool)
    mask[random.permutation(n)[:size]] = True
    return mask


def refuse_learned_weights(class_weight: Any, reserve: float) -> None:
    """Refuse class weights that the reserve's labels would have a part in."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        raise ValueError(
            f"class_weight='balanced' counts the labels of all rows, and those of reserve={reserve} must have no part "
            "in the fit; give the weights as a dict."
        )


@dataclass(frozen=True, eq=False)
class Reserve:
    """The rows that a forest was not shown, and how they are numbered."""

    rows: Rows
    """Encoded as the forest reads them."""
    numbers: NDArray[np.int64]
    """``(m,)``: their numbers among all rows as the user gave them, ascending."""
    others: Mask
    """``(n,)``: rows of the user that trees may draw: those of weight that are not reserved."""

    @classmethod
    def draw(
        cls,
        rows: Rows,
        share: float,
        table: TableSchema,
        classes: NDArray[Any],
        counted: Mask,
        random: np.random.RandomState,
    ) -> tuple[Rows, Reserve, TableSchema]:
        """Draw the reserve: the rows that trees may draw, the reserve, and the schema of the former.

        Nothing but labels' names is learned from the reserve: categories that occur there alone are as unknown as those
        of new rows. `counted` are those of the user's rows that have weight.

        Raises
        ------
        ValueError
            If there are too few rows, or a class has all its rows in the reserve.
        """
        mask = reserved(len(rows), share, random)
        held = np.bincount(rows.labels[~mask], minlength=len(classes))
        if not held.all():
            raise ValueError(
                f"reserve={share} has drawn every row of class {classes.tolist()[held.argmin()]!r}, "
                "which leaves none to learn from; lower it, or leave out classes of so few rows."
            )
        numbers = np.flatnonzero(counted)[mask].astype(np.int64)
        others = counted.copy()
        others[numbers] = False
        table, X = _narrowed(table, rows.cells, ~mask)
        rows = replace(rows, X=X)
        kept, table = rows.take(~mask).with_numbers(table)
        return kept, cls(rows.take(mask).numbered_by(table), numbers, others), table

    def judge(self, committee: Committee, oob: OutOfBag | None, votes: NDArray[np.float64] | None) -> dict[str, Any]:
        """Let the whole forest vote on the reserve, and add it to the out-of-bag vote; the results by attribute.

        The out-of-bag votes of the other rows, if draws leave any out, are in `oob`, and among all rows in `votes`.
        """
        shares = committee.voters.tally(self.rows.cells) / committee.n_voters
        votes = np.full((len(self.others), shares.shape[1]), np.nan) if votes is None else votes
        votes[self.numbers] = shares
        wrong = float(self.rows.weights @ (elected(shares) != self.rows.labels))
        judged = 0.0 if oob is None else float(oob.weights[oob.judged].sum())
        if oob is not None and judged > 0.0:
            wrong += oob.curve[-1] * judged
        return {
            "oob_score_": 1.0 - wrong / (judged + float(self.rows.weights.sum())),
            "oob_decision_function_": votes,
            "reserved_rows_": self.numbers,
        }


def _narrowed(table: TableSchema, X: Matrix, some: Mask) -> tuple[TableSchema, Matrix]:
    """Return the schema that some rows alone would have taught, and all rows encoded by it."""
    if isinstance(X, SparseMatrix):
        return table, X  # which has no categories
    categories: list[Any] = list(table.categories)
    for j in np.flatnonzero(table.categorical):
        seen = np.zeros(len(categories[j]), dtype=bool)
        codes = X[:, j]
        seen[codes[some & ~np.isnan(codes)].astype(np.intp)] = True
        if seen.all():
            continue
        categories[j] = tuple(name for name, stays in zip(categories[j], seen, strict=True) if stays)
        number = np.append(np.where(seen, np.cumsum(seen) - 1.0, np.nan), np.nan)
        X = X.copy()
        X[:, j] = number[np.where(np.isnan(codes), len(seen), codes).astype(np.intp)]
    return replace(table, categories=tuple(categories)), X
