"""Which classes are taken for which: counts of rows by their class and the one that is predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.report.drawing.text import shortened
from committee.report.grid import BLANK, Grid

MOST_IN_MATRIX = 10
"""With more classes a terminal shows the most frequent mistakes in place of the matrix."""

MOST_MISTAKES = 15


@dataclass(frozen=True, eq=False)
class Confusion:
    """Rows by class and predicted class.

    Examples
    --------
    >>> from committee.report.confusion import Confusion
    >>> confusion = Confusion.of(["a", "a", "b"], ["a", "b", "b"], ["a", "b"])
    >>> confusion.counts.tolist(), confusion.recall.tolist(), confusion.precision.tolist()
    ([[1, 1], [0, 1]], [0.5, 1.0], [1.0, 0.5])
    """

    classes: NDArray[Any]
    counts: NDArray[np.int64]
    """``(K, K)``: a row for each true class, a column for each predicted one."""

    @classmethod
    def of(cls, y: ArrayLike, predicted: ArrayLike, classes: ArrayLike) -> Self:
        """Count rows by their labels and the predicted ones, all of which are among the classes."""
        labels = np.asarray(classes)
        order = np.argsort(labels, kind="stable")
        place = [order[np.searchsorted(labels, np.asarray(each), sorter=order)] for each in (y, predicted)]
        n = len(labels)
        counts = np.bincount(place[0] * n + place[1], minlength=n * n).reshape(n, n)
        return cls(labels, counts.astype(np.int64))

    @property
    def recall(self) -> NDArray[np.float64]:
        """Of the rows of each class the share predicted right; NaN where there is none."""
        return _share(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def precision(self) -> NDArray[np.float64]:
        """Of the rows predicted as each class the share that is of it; NaN where there is none."""
        return _share(np.diag(self.counts), self.counts.sum(axis=0))

    def grids(self) -> list[Grid]:
        """The matrix, or the most frequent mistakes of many classes; and each class's recall and precision."""
        few = len(self.classes) <= MOST_IN_MATRIX
        return [self.matrix_grid() if few else self.mistakes_grid(), self.classes_grid()]

    def matrix_grid(self) -> Grid:
        """The matrix."""
        names = [shortened(str(label), 16) for label in self.classes]
        rows = tuple((name, *(f"{n:,}" for n in line)) for name, line in zip(names, self.counts.tolist(), strict=True))
        title = "Confusion matrix: a line for each true class, a column for each predicted one"
        return Grid(title, ("", *names), rows, "l" + "r" * len(names))

    def mistakes_grid(self) -> Grid:
        """The most frequent mistakes."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        order = [k for k in np.argsort(-wrong, axis=None, kind="stable")[:MOST_MISTAKES] if wrong.flat[k]]
        names, n = [shortened(str(label), 24) for label in self.classes], len(self.classes)
        rows = tuple((names[k // n], names[k % n], f"{wrong.flat[k]:,}") for k in order)
        return Grid(f"Most frequent mistakes of {n} classes", ("is", "is predicted as", "rows"), rows, "llr")

    def classes_grid(self) -> Grid:
        """Rows, recall and precision of each class, the most frequent classes first."""
        rows_of = self.counts.sum(axis=1)
        shown = np.argsort(-rows_of, kind="stable")[: 2 * MOST_IN_MATRIX].tolist()
        recall, precision = self.recall, self.precision
        rows = tuple(
            (shortened(str(self.classes[k]), 24), f"{rows_of[k]:,}", _text(recall[k]), _text(precision[k]))
            for k in shown
        )
        n = len(self.classes)
        title = "Classes" if len(shown) == n else f"The {len(shown)} most frequent of {n} classes"
        return Grid(title, ("class", "rows", "recall", "precision"), rows, "lrrr")

    def to_json(self) -> dict[str, Any]:
        """Classes and counts as plain values."""
        return {"classes": self.classes.tolist(), "counts": self.counts.tolist()}


def _share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _text(share: float) -> str:
    return BLANK if np.isnan(share) else f"{share:.4f}"
