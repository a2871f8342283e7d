"""How often each two members of a committee of ensembles elect different classes, as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.report.displays.base import FOR, INK, Display, percent, shortened
from committee.report.member_answers import MemberAnswers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MemberDisagreementDisplay(Display):
    """A map of how far each two members, and the vote, are from each other.

    Of classes a cell is the share of rows for which the two elect another class; of numbers the root of the mean
    squared difference of what they predict. The last row is the vote's.

    Parameters
    ----------
    names : sequence of str (m,)
        The members and the vote.
    disagreement : array-like (m, m)
        As `MemberAnswers.disagreement`.
    of_classes : bool, default=True
        Whether cells are shares of rows.

    Raises
    ------
    ValueError
        If there are not as many rows and columns as names, two at least.

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
            Rows, best such as training has not seen.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        MemberDisagreementDisplay
            Already drawn.

        Raises
        ------
        TypeError, ValueError
            As `MemberAnswers.of`.
        """
        return cls.from_answers(MemberAnswers.of(estimator, X)).plot(ax)

    @classmethod
    def from_answers(cls, answers: MemberAnswers) -> Self:
        """Return the picture of answers that are known, not yet drawn."""
        return cls([*answers.names, "vote"], answers.disagreement(), of_classes=answers.classes is not None)

    def _draw(self, ax: Axes | None) -> None:
        """The lower triangle: a cell for each two, the darker the further apart."""
        from matplotlib.colors import LinearSegmentedColormap

        m = len(self.names)
        ax = self._axes(ax, 2.6 + 0.85 * m, 1.1 + 0.42 * m)
        below = np.tril(np.ones((m, m), dtype=bool), -1)
        most = float(self.disagreement[below].max())
        shown = np.where(below, self.disagreement, np.nan)[1:, :-1]
        ax.imshow(
            shown,
            cmap=LinearSegmentedColormap.from_list("paler", ["#ffffff", FOR]),
            vmin=0.0,
            vmax=most or 1.0,
            aspect="auto",
        )
        ax.set_xticks(np.arange(m) - 0.5, minor=True)
        ax.set_yticks(np.arange(m) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=2.0)
        for i, k in np.argwhere(below).tolist():
            value = self.disagreement[i, k]
            text = percent(value) if self.of_classes else f"{value:.3g}"
            ax.text(k, i - 1, text, ha="center", va="center", fontsize=9, color="white" if value > 0.6 * most else INK)
        words = [shortened(name, 20) for name in self.names]
        ax.set_yticks(range(m - 1), words[1:], fontsize=9)
        ax.set_xticks(range(m - 1), words[:-1], fontsize=9, rotation=30, ha="right", rotation_mode="anchor")
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(False)
