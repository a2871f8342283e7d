"""A reserve: rows that no tree of a forest draws, so that the whole forest is new to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.frames import TableSchema
from committee.data.rows import Rows
from committee.vote.scores import elected

if TYPE_CHECKING:
    from committee.learners.bagging.oob_curve import OutOfBag

Mask = NDArray[np.bool_]


def reserved(n: int, share: float, random: np.random.RandomState) -> Mask:
    """Which of n rows are the reserve, ``(n,)``: floor(share n) of them, all sets of that size equally likely.

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


@dataclass(frozen=True, eq=False)
class Reserve:
    """The rows that a forest was not shown, and how they are numbered.

    Parameters
    ----------
    rows : Rows
        Encoded as the forest reads them.
    numbers : int64 array (m,)
        Their numbers among all rows as the user gave them, ascending.
    others : bool array (n,)
        Rows of the user that trees may draw: those of weight that are not reserved.
    """

    rows: Rows
    numbers: NDArray[np.int64]
    others: Mask

    @classmethod
    def draw(
        cls, forest: Any, rows: Rows, sample_weight: ArrayLike | None, random: np.random.RandomState
    ) -> tuple[Rows, Reserve]:
        """The rows that trees may draw, and the reserve; also narrows the ``table_`` of the forest that is fitted.

        Nothing but labels' names is learned from the reserve: categories that occur there alone are as unknown as
        those of new rows.

        Raises
        ------
        ValueError
            If there are too few rows, or a class has all its rows in the reserve.
        """
        mask = reserved(len(rows), forest.reserve, random)
        held = np.bincount(rows.labels[~mask], minlength=len(forest.classes_))
        if not held.all():
            raise ValueError(
                f"reserve={forest.reserve} has drawn every row of class {forest.classes_.tolist()[held.argmin()]!r}, "
                "which leaves none to learn from; lower it, or leave out classes of so few rows."
            )
        counted = np.ones(len(rows), dtype=bool) if sample_weight is None else np.asarray(sample_weight) > 0
        numbers = np.flatnonzero(counted)[mask].astype(np.int64)
        others = counted.copy()
        others[numbers] = False
        forest.table_, X = _narrowed(forest.table_, rows.X, ~mask)
        rows = Rows(X, rows.labels, rows.weights, rows.uniform)
        return rows.take(~mask), cls(rows.take(mask), numbers, others)

    def judge(self, forest: Any, oob: OutOfBag | None) -> None:
        """Let the whole forest vote on the reserve, and add it to the out-of-bag vote.

        Parameters
        ----------
        forest : RandomForestClassifier
            Fitted. Its ``reserved_rows_``, ``oob_decision_function_`` and ``oob_score_`` are set.
        oob : OutOfBag or None
            The out-of-bag votes of the other rows, if draws leave any out.
        """
        shares = forest.committee_.voters.tally(self.rows.X) / forest.committee_.n_voters
        if oob is None:
            forest.oob_decision_function_ = np.full((len(self.others), shares.shape[1]), np.nan)
        forest.oob_decision_function_[self.numbers] = shares
        wrong = float(self.rows.weights @ (elected(shares) != self.rows.labels))
        judged = 0.0 if oob is None else float(oob.weights[oob.judged].sum())
        if oob is not None and judged > 0.0:
            wrong += oob.curve[-1] * judged
        forest.oob_score_ = 1.0 - wrong / (judged + float(self.rows.weights.sum()))
        forest.reserved_rows_ = self.numbers


def _narrowed(table: TableSchema, X: NDArray[np.float64], some: Mask) -> tuple[TableSchema, NDArray[np.float64]]:
    """The schema that some rows alone would have taught, and all rows encoded by it."""
    categories: list[Any] = list(table.categories)
    for j in np.flatnonzero(table.categorical):
        kept = np.zeros(len(categories[j]), dtype=bool)
        codes = X[:, j]
        kept[codes[some & ~np.isnan(codes)].astype(np.intp)] = True
        if kept.all():
            continue
        categories[j] = tuple(name for name, stays in zip(categories[j], kept, strict=True) if stays)
        number = np.append(np.where(kept, np.cumsum(kept) - 1.0, np.nan), np.nan)
        X = X.copy()
        X[:, j] = number[np.where(np.isnan(codes), len(kept), codes).astype(np.intp)]
    return TableSchema(table.names, tuple(categories)), X
