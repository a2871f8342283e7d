"""What each member of a committee of ensembles says of the rows on which they are furthest apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.report.arguments import check_most
from committee.report.displays.base import GRID, INK, Display, color, legend_above, marker, shortened
from committee.report.member_answers import MemberAnswers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MemberVotesDisplay(Display):
    """The rows on which the members are furthest apart, and where each of them stands.

    Each line is a row. Of classes a mark is the probability that a member gives the class that the vote elects; of
    numbers what it predicts. The vote's is a black diamond, what is true of numbers a line across.

    Parameters
    ----------
    answers : MemberAnswers
        What members say of rows.
    max_rows : int, default=12
        So many are drawn, those of greatest divergence first.

    Attributes
    ----------
    rows : int array
        Numbers of the rows drawn.

    Raises
    ------
    ValueError
        If `max_rows` is no number of rows, or the members are at one on every row.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import CommitteeRegressor
    >>> from committee.report import MemberVotesDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CommitteeRegressor("fast", random_state=0).fit(X[::2], y[::2])
    >>> MemberVotesDisplay.from_estimator(model, X[1::2], y[1::2], max_rows=3).rows.tolist()
    [72, 202, 208]
    """

    def __init__(self, answers: MemberAnswers, *, max_rows: int = 12) -> None:
        check_most("max_rows", max_rows)
        self.answers: MemberAnswers = answers
        self.rows = answers.most_disputed(max_rows)
        if not len(self.rows):
            raise ValueError("the members are at one on every row, so that there is nothing to draw")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike | None = None, *, max_rows: int = 12, ax: Axes | None = None
    ) -> Self:
        """Draw what the members of a fitted committee of ensembles say of rows.

        Parameters
        ----------
        estimator : CommitteeClassifier or CommitteeRegressor
            Fitted.
        X : frame or array (n, p)
            Rows, best such as training has not seen.
        y : array-like (n,), default=None
            Their labels or numbers.
        max_rows : int, default=12
            So many are drawn.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        MemberVotesDisplay
            Already drawn.

        Raises
        ------
        TypeError, ValueError
            As `MemberAnswers.of`, and if the members are at one on every row.
        """
        return cls(MemberAnswers.of(estimator, X, y), max_rows=max_rows).plot(ax)

    def _draw(self, ax: Axes | None) -> None:
        """A line for each row with a mark for each member, and a legend above."""
        told, rows = self.answers, self.rows
        n, of_classes = len(rows), told.classes is not None
        ax = self._axes(ax, 7.2, 1.3 + 0.3 * n + 0.12 * len(told.names))
        winner = told.vote[rows].argmax(axis=1)
        at = told.answers[:, rows, winner]
        lines = np.arange(n)
        ax.hlines(lines, at.min(axis=0), at.max(axis=0), color=GRID, linewidth=1.2, zorder=1)
        for i, (name, weight) in enumerate(zip(told.names, told.weights.tolist(), strict=True)):
            k = i if i < 6 else i + 1  # the palette's dark grey is too near to the vote's
            label = f"{shortened(name, 24)} ({weight:.0%})"
            ax.scatter(at[i], lines, s=30, color=color(k), marker=marker(k), label=label, zorder=3)
        ax.scatter(told.vote[rows, winner], lines, s=42, color=INK, marker="D", label="vote", zorder=4)
        if not of_classes and told.truth is not None:
            ax.scatter(told.truth[rows], lines, s=150, color=INK, marker="|", label="true", zorder=2)
        ax.set_yticks(lines, [self._words(row) for row in rows.tolist()], fontsize=9)
        ax.set_ylim(n - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        if of_classes:
            ax.set(xlim=(-0.02, 1.02))
            ax.axvline(0.5, color=GRID, linewidth=0.8, linestyle=":", zorder=0)
        ax.set_xlabel("probability of the class that the vote elects" if of_classes else "predicted number")
        legend_above(ax, 3)

    def _words(self, row: int) -> str:
        """Number of a row, the class that the vote elects, and if that is wrong its own."""
        classes, truth = self.answers.classes, self.answers.truth
        if classes is None:
            return f"row {row}"
        elected = int(self.answers.vote[row].argmax())
        said = f"row {row}: {shortened(str(classes[elected]), 20)}"
        if truth is None or truth[row] == elected:
            return said
        return f"{said}, is {shortened(str(classes[truth[row]]), 20)}"
