"""Displays of the members of a committee of ensembles on given rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.data.text import shortened
from committee.report.displays.base import Display, check_most, draw_cells, draw_dot_rows
from committee.report.drawing.rows import Cell, CellMap, DotRow, DotRows
from committee.report.drawing.scale import Scale, format_percent
from committee.report.members import MemberAnswers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MemberDisagreementDisplay(Display):
    """A map of the disagreement of each two members, and of each member with the vote.

    For classes a cell is the share of rows for which the two predict different classes; for numbers the root mean
    squared difference of their predictions. The last row is the vote.

    Parameters
    ----------
    names : sequence of str (m,)
        The members and the vote.
    disagreement : array-like (m, m)
        As `MemberAnswers.disagreement`.
    of_classes : bool, default=True
        Whether cells are shares of rows.

    Examples
    --------
    >>> from committee.report import MemberDisagreementDisplay
    >>> display = MemberDisagreementDisplay(["forest", "vote"], [[0.0, 0.1], [0.1, 0.0]]).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['10%']
    """

    def __init__(self, names: Sequence[str], disagreement: ArrayLike, *, of_classes: bool = True) -> None:
        self.names: list[str] = list(names)
        self.disagreement = np.asarray(disagreement, dtype=np.float64)
        self.of_classes = of_classes
        m = len(self.names)
        if m < 2 or self.disagreement.shape != (m, m):
            raise ValueError(f"disagreement has shape {self.disagreement.shape}; {m} names need ({m}, {m}), m > 1")

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Axes | None = None) -> Self:
        """Draw the map of a fitted committee of ensembles.

        Parameters
        ----------
        estimator : CommitteeClassifier or CommitteeRegressor
            Fitted.
        X : frame or array (n, p)
            Rows, preferably held out from training.
        ax : matplotlib Axes, default=None
            Axes to draw on.
        """
        return cls.from_answers(MemberAnswers.of(estimator, X)).plot(ax)

    @classmethod
    def from_answers(cls, answers: MemberAnswers) -> Self:
        """Make the display of known predictions, not yet drawn."""
        return cls([*answers.names, "vote"], answers.disagreement(), of_classes=answers.classes is not None)

    def cells(self) -> CellMap:
        """Return the cells to draw: the lower triangle, in stronger colour for more disagreement."""
        below = np.argwhere(np.tril(np.ones(self.disagreement.shape, dtype=bool), -1)).tolist()
        most = max(float(self.disagreement[i, k]) for i, k in below) or 1.0
        cells = {}
        for i, k in below:
            value = float(self.disagreement[i, k])
            text = format_percent(value) if self.of_classes else f"{value:.3g}"
            tip = f"{self.names[i]} and {self.names[k]}: {text}"
            cells[i - 1, k] = Cell(0, value / most, text, tip)
        return CellMap(self.names[1:], self.names[:-1], cells)

    def _draw(self, ax: Axes | None) -> None:
        m = len(self.names)
        draw_cells(self.cells(), self._axes(ax, 2.6 + 0.85 * m, 1.1 + 0.42 * m))


class MemberVotesDisplay(Display):
    """Predictions of each member on the rows on which the members disagree most.

    Each line is a row. For classes a mark is the probability that a member gives the class that the vote predicts; for
    numbers its prediction. The vote is black, the true number a vertical stroke.

    Parameters
    ----------
    answers : MemberAnswers
        Predictions of the members.
    max_rows : int, default=12
        Rows drawn, those of greatest divergence first.

    Attributes
    ----------
    rows : int array
        Numbers of the rows drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import CommitteeRegressor
    >>> from committee.report import MemberVotesDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CommitteeRegressor("fast", random_state=0).fit(X[::2], y[::2])
    >>> MemberVotesDisplay.from_estimator(model, X[1::2], y[1::2], max_rows=3).rows.tolist()
    [158, 208, 187]
    """

    def __init__(self, answers: MemberAnswers, *, max_rows: int = 12) -> None:
        check_most("max_rows", max_rows)
        self.answers: MemberAnswers = answers
        self.rows = answers.most_disputed(max_rows)
        if not len(self.rows):
            raise ValueError("the members agree on every row; give other rows, or a committee of several members")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike | None = None, *, max_rows: int = 12, ax: Axes | None = None
    ) -> Self:
        """Draw the predictions of the members of a fitted committee of ensembles.

        Parameters
        ----------
        estimator : CommitteeClassifier or CommitteeRegressor
            Fitted.
        X, y : frame or array (n, p) and array-like (n,), default=None
            Rows, preferably held out from training, and their labels or numbers.
        max_rows, ax
            As for the class and `plot`.
        """
        return cls(MemberAnswers.of(estimator, X, y), max_rows=max_rows).plot(ax)

    def dot_rows(self) -> DotRows:
        """Return the rows of dots to draw."""
        found, rows = self.answers, self.rows
        of_classes = found.classes is not None
        predicted = found.vote[rows].argmax(axis=1)
        values = [*found.answers[:, rows, predicted], found.vote[rows, predicted]]
        # the palette's dark grey is too near to the vote's
        series: list[tuple[str, int | str]] = [
            (f"{name} ({weight:.0%})", member_color(i))
            for i, (name, weight) in enumerate(zip(found.names, found.weights.tolist(), strict=True))
        ]
        series.append(("vote", "ink"))
        if not of_classes and found.truth is not None:
            values.append(found.truth[rows])
            series.append(("true", "ink"))
        names = [label for label, _ in series]
        lines = []
        for row, numbers in zip(rows.tolist(), np.array(values, dtype=np.float64).T.tolist(), strict=True):
            span = min(numbers[: len(found.names)]), max(numbers[: len(found.names)])
            tips = [f"{name}: {value:.4g}" for name, value in zip(names, numbers, strict=True)]
            lines.append(DotRow(self._row_name(row), numbers, span=span, tips=tips))
        label = "probability of the class that the vote predicts" if of_classes else "predicted number"
        scale = Scale(-0.02, 1.02) if of_classes else None
        return DotRows(lines, label, 0.5 if of_classes else None, series, scale)

    def _row_name(self, row: int) -> str:
        classes, truth = self.answers.classes, self.answers.truth
        if classes is None:
            return f"row {row}"
        predicted = int(self.answers.vote[row].argmax())
        name = f"row {row}: {shortened(str(classes[predicted]), 20)}"
        if truth is None or truth[row] == predicted:
            return name
        return f"{name}, is {shortened(str(classes[truth[row]]), 20)}"

    def _draw(self, ax: Axes | None) -> None:
        height = 1.3 + 0.3 * len(self.rows) + 0.12 * len(self.answers.names)
        draw_dot_rows(self.dot_rows(), self._axes(ax, 7.2, height))


def member_color(i: int) -> int:
    return i + i // 6  # without every seventh, the dark grey of the vote
