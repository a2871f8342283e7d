"""What each column adds to the answer for one row: the data of its picture, of its table and of its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from committee.data.columns import is_frame, open_frame
from committee.data.matrices import is_sparse
from committee.data.number_types import F64
from committee.report.arguments import place
from committee.report.row_shares import shares_of_row
from committee.vote.explain.rules import missing_condition


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """One row's score, number or probability as a sum over the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.report.row_explanation import RowExplanation
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> row = RowExplanation.of(RandomForestClassifier(10, random_state=0).fit(X, y), X, 7)
    >>> row.labels[2], row.subject, row.remark
    ('petal length (cm) = 1.5', 'probability for 0', 'predicted 0 (99%)')
    """

    labels: tuple[str, ...]
    """Columns with the row's values, as ``"age = 41"``."""
    contributions: F64
    """What each adds, and last where the sum starts, ``(p + 1,)``."""
    subject: str
    """What they add up to."""
    total: str
    """The same in a word: "score", "prediction" or "probability"."""
    of_classes: bool
    """Whether classes are predicted, so that 0 may be a place that matters."""
    predicted: Any
    """Class or number that the row is given."""
    remark: str
    """That in words."""

    @classmethod
    def of(cls, estimator: Any, X: Any, row: int = 0, *, label: Any = None) -> Self:
        """Explain one row.

        Parameters
        ----------
        estimator : fitted learner
            Any that has ``contributions(X)``.
        X : frame or array (n, p)
            Rows.
        row : int, default=0
            Which of them.
        label : class label or int, default=None
            Whose score, with more than two classes, or probability; the predicted class's by default. Of several
            targets its number, the first's by default. Of several quantiles its level, by default that nearest to the
            median.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator has no contributions, or `X` is sparse.
        ValueError
            If the label is no class, target or quantile of the estimator, or there is no such row.
        """
        from sklearn.utils.validation import check_is_fitted

        if not (hasattr(estimator, "contributions") and hasattr(estimator, "validate_rows")):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, which has no contributions(X); give a fitted learner of "
                "this library"
            )
        check_is_fitted(estimator)
        if is_sparse(X):
            raise TypeError("X is sparse, and a picture is of the values of one row; pass X[[row]].toarray()")
        encoded = estimator.table_.encode(estimator.validate_rows(X))
        row = place("row", row, len(encoded))
        one = open_frame(X)[row : row + 1].to_native() if is_frame(X) else np.asarray(X)[[row]]
        found = shares_of_row(estimator, one, label)
        labels = tuple(values_in_words(encoded[row], estimator.table_, one))
        of_classes = hasattr(estimator, "classes_")
        return cls(labels, found.contributions, found.subject, found.total, of_classes, found.predicted, found.remark)

    def largest(self, most: int) -> tuple[list[tuple[str, float]], tuple[int, float]]:
        """The columns that add most, by size, and how many others there are and what they add together."""
        return largest_shares(self.contributions, self.labels, most)

    @property
    def start(self) -> str:
        """Where the sum starts, in words."""
        return start_in_words(self.total)


def largest_shares(
    contributions: F64, labels: Sequence[str], most: int
) -> tuple[list[tuple[str, float]], tuple[int, float]]:
    """As `RowExplanation.largest`: columns that add nothing are among the others, but for one if none adds anything."""
    shares = contributions[:-1]
    order = np.argsort(-np.abs(shares), kind="stable")
    n_shown = min(most, max(1, np.count_nonzero(shares)))
    shown = [(labels[j], float(shares[j])) for j in order[:n_shown].tolist()]
    others = order[n_shown:]
    return shown, (len(others), float(shares[others].sum()))


def start_in_words(total: str) -> str:
    """Where a sum of contributions to a score, a number or a probability starts."""
    # the mean vote goes through a link, too, and is then no mean of the training rows' probabilities
    return "no column known" if total == "probability" else "mean of training rows"


def values_in_words(encoded: F64, table: Any, one: Any) -> Sequence[str]:
    """``age = 41`` for every column of an encoded row, whose cells are those of the table `one`."""
    words = []
    for j, value in enumerate(encoded.tolist()):
        known = table.coded(j)
        if np.isnan(value):
            cell = None if known is None else _cell(one, j)
            words.append(
                missing_condition(table.column(j))
                if cell is None
                else f"{table.column(j)} = {cell} (not learned, taken for missing)"
            )
            continue
        words.append(
            f"{table.quantity(j)} = " + (table.format_number(j, value) if known is None else str(known[int(value)]))
        )
    return words


def _cell(one: Any, column: int) -> str | None:
    """What a table of one row holds in a column, by its place; None if it is missing there."""
    if is_frame(one):
        frame = open_frame(one)
        cell = None if frame[frame.columns[column]].is_null()[0] else frame[frame.columns[column]].to_list()[0]
    else:
        cell = one[0, column].item() if hasattr(one[0, column], "item") else one[0, column]
    if cell is None or cell != cell:
        return None
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
