"""The score of one row, or its probability, as a sum over features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64
from committee.report.arguments import check_most
from committee.report.displays.base import AGAINST, FOR, INK, PALE, Display, shortened
from committee.report.row_explanation import RowExplanation, largest_shares, start_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ContributionDisplay(Display):
    """The score of one row: from the mean over the training rows, feature by feature.

    Parameters
    ----------
    contributions : array-like (p + 1,)
        One row, and for one class, of what ``contributions(X)`` returns; the bias last.
    labels : sequence of str (p,)
        Features in words, as ``"age = 41"``.
    subject : str, default="score"
        What the contributions add up to, for the axis.
    total : str, default="score"
        The same in a word, at the end of the bars.
    from_zero : bool, default=True
        Whether 0 is in the picture, as where the sign of a score elects the class.
    remark : str, default=""
        A line above, as what the row was voted.
    max_features : int, default=12
        So many are drawn, the largest first; the others, and those that add nothing, are one bar.

    Raises
    ------
    ValueError
        If there is not one label for each feature, or nothing is to be drawn.

    Examples
    --------
    >>> from committee.report import ContributionDisplay
    >>> display = ContributionDisplay([0.5, -0.2, 1.0], ["age = 41", "city = Oslo"]).plot()
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['mean of training rows', 'age = 41', 'city = Oslo', 'score']
    """

    def __init__(
        self,
        contributions: ArrayLike,
        labels: Sequence[str],
        *,
        subject: str = "score",
        total: str = "score",
        from_zero: bool = True,
        remark: str = "",
        max_features: int = 12,
    ) -> None:
        self.contributions: F64 = np.asarray(contributions, dtype=np.float64)
        if self.contributions.shape != (len(labels) + 1,):
            raise ValueError(
                f"contributions has shape {self.contributions.shape}; {len(labels)} labels need ({len(labels) + 1},),"
                " the bias last; of several classes, choose one"
            )
        check_most("max_features", max_features)
        self.total: str = total
        self.from_zero: bool = from_zero
        self.labels: list[str] = list(labels)
        self.subject: str = subject
        self.remark: str = remark
        self.max_features: int = max_features

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        row: int = 0,
        *,
        label: Any = None,
        max_features: int = 12,
        ax: Axes | None = None,
    ) -> ContributionDisplay:
        """Draw what each feature adds to the score of one row, or to the number or probability that is such a sum.

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
            targets its number, the first's by default; of several quantiles the level, by default the nearest to the
            median.
        max_features : int, default=12
            So many are drawn, the largest first; the others are one bar.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ContributionDisplay
            Already drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator has no contributions, or `X` is sparse.
        ValueError
            If the label is no class, target or quantile of the estimator, or there is no such row.
        """
        return cls.of(RowExplanation.of(estimator, X, row, label=label), max_features=max_features).plot(ax)

    @classmethod
    def of(cls, found: RowExplanation, *, max_features: int = 12) -> ContributionDisplay:
        """Picture of a row that is explained, to be drawn."""
        return cls(
            found.contributions,
            found.labels,
            subject=found.subject,
            total=found.total,
            from_zero=found.of_classes,
            remark=found.remark,
            max_features=max_features,
        )

    def _draw(self, ax: Axes | None) -> None:
        """One bar for each feature, the largest on top, from the bias down to the score."""
        bias = float(self.contributions[-1])
        drawn, (n_others, rest) = largest_shares(self.contributions, self.labels, self.max_features)
        steps, words = [share for _, share in drawn], [shortened(label, 40) for label, _ in drawn]
        if n_others:
            steps.append(rest)
            words.append(f"{n_others} other" + ("s" if n_others > 1 else ""))
        edges = bias + np.concatenate([[0.0], np.cumsum(steps)])
        ax = self._axes(ax, 7.2, 1.3 + 0.3 * (len(steps) + 2))
        for i, step in enumerate(steps):
            color = FOR if step >= 0 else AGAINST
            ax.barh(i + 1, step, left=edges[i], height=0.62, color=color)
            ax.plot([edges[i]] * 2, [i - 0.31 if i else 0, i + 1.31], color=PALE, linewidth=0.7, zorder=0)
        last = len(steps) + 1
        score = float(edges[-1])
        ax.plot([score] * 2, [last - 1.31, last], color=PALE, linewidth=0.7, zorder=0)
        ax.plot([bias, score], [0, last], linestyle="", marker="D", color=INK, markersize=6)
        self._write(edges, steps)
        if self.from_zero:
            ax.axvline(0.0, color=PALE, linewidth=0.8, linestyle=":", zorder=0)
        ax.set_yticks(range(last + 1), [start_in_words(self.total), *words, self.total], fontsize=9)
        ax.set(ylim=(last + 0.6, -0.6), xlabel=self.subject)
        ax.tick_params(axis="y", length=0)
        if self.remark:
            ax.set_title(self.remark, fontsize=10, loc="left")

    def _write(self, edges: F64, steps: list[float]) -> None:
        """Every bar's figure, beyond the end it points to; room is made for them."""
        seen = np.append(edges, 0.0) if self.from_zero else edges
        low, high = float(seen.min()), float(seen.max())
        room = 0.02 * (high - low or 1.0)
        self.ax_.set_xlim(low - 8 * room, high + 8 * room)
        for i, step in enumerate(steps):
            at = max(edges[i], edges[i + 1]) if step >= 0 else min(edges[i], edges[i + 1])
            side = "left" if step >= 0 else "right"
            self.ax_.text(
                at + (room if step >= 0 else -room) / 2, i + 1, f"{step:+.3g}", ha=side, va="center", fontsize=8
            )
        for line, value in ((0, edges[0]), (len(steps) + 1, edges[-1])):
            self.ax_.text(value + 1.5 * room, line, f"{value:.4g}", ha="left", va="center", fontsize=8)
