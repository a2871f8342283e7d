"""What each column adds to the answers of a model, on average over rows, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64
from committee.report.arguments import check_most
from committee.report.displays.base import FOR, PALE, Display, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MeanContributionDisplay(Display):
    """Mean size of each column's share over rows, the largest on top.

    Parameters
    ----------
    sizes : array-like (p,)
        As `mean_sizes` has them.
    labels : sequence of str (p,)
        Columns in words.
    subject : str, default="score"
        What the shares add up to, for the axis.
    max_features : int, default=12
        So many are drawn; the others are one bar, their sum.

    Raises
    ------
    ValueError
        If there is not one label for each size, or nothing is to be drawn.

    Examples
    --------
    >>> from committee.report import MeanContributionDisplay
    >>> display = MeanContributionDisplay([0.1, 0.2], ["age", "city"]).plot()
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['city', 'age']
    """

    def __init__(
        self, sizes: ArrayLike, labels: Sequence[str], *, subject: str = "score", max_features: int = 12
    ) -> None:
        check_most("max_features", max_features)
        self.sizes: F64 = np.asarray(sizes, dtype=np.float64)
        self.labels: list[str] = list(labels)
        if self.sizes.shape != (len(self.labels),):
            raise ValueError(f"sizes has shape {self.sizes.shape}; {len(self.labels)} labels need one each")
        self.subject: str = subject
        self.max_features: int = max_features

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, max_features: int = 12, ax: Axes | None = None) -> Self:
        """Draw the mean size of a committee of ensembles' contributions over rows.

        Parameters
        ----------
        estimator : CommitteeClassifier or CommitteeRegressor
            Fitted.
        X : frame or array (n, p)
            Rows; a few hundred are enough.
        max_features : int, default=12
            So many columns are drawn.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        MeanContributionDisplay
            Already drawn.

        Raises
        ------
        TypeError
            If the estimator is no committee of ensembles, or `X` is sparse.
        """
        from committee.learners.blend.blend import Blend

        if not isinstance(estimator, Blend):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}; give a CommitteeClassifier or a CommitteeRegressor"
            )
        sizes = mean_sizes(estimator.contributions(X))
        labels = [estimator.table_.column(j) for j in range(len(sizes))]
        of_classes = hasattr(estimator, "classes_")
        subject = "probability moved from class to class" if of_classes else "number added or taken away"
        return cls(sizes, labels, subject=subject, max_features=max_features).plot(ax)

    def _draw(self, ax: Axes | None) -> None:
        """A bar for each column, its figure at the end."""
        order = np.argsort(-self.sizes, kind="stable")
        n_drawn = min(self.max_features, max(1, np.count_nonzero(self.sizes)))
        drawn, others = order[:n_drawn], order[n_drawn:]
        sizes, words = self.sizes[drawn].tolist(), [shortened(self.labels[j], 40) for j in drawn]
        colors = [FOR] * len(sizes)
        if self.sizes[others].any():
            sizes.append(float(self.sizes[others].sum()))
            words.append(f"{len(others)} other" + ("s" if len(others) > 1 else "") + " in sum")
            colors.append(PALE)
        ax = self._axes(ax, 7.2, 0.9 + 0.28 * len(sizes))
        ax.barh(range(len(sizes)), sizes, height=0.66, color=colors)
        room = 0.01 * (max(sizes) or 1.0)
        for i, size in enumerate(sizes):
            ax.text(size + room, i, f"{size:.3g}", va="center", fontsize=8)
        ax.set_yticks(range(len(sizes)), words, fontsize=9)
        ax.set_ylim(len(sizes) - 0.4, -0.6)
        ax.set_xlim(0.0, 1.08 * (max(sizes) or 1.0))
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"mean {self.subject}")


def mean_sizes(contributions: F64) -> F64:
    """Mean over rows of the size of each column's share, ``(p,)``.

    Of contributions ``(n, p + 1)`` the absolute value; of probabilities ``(n, p + 1, K)`` half of the sum of absolute
    values over the classes, which is the probability that a column moves from some classes to others.

    Examples
    --------
    >>> import numpy as np
    >>> mean_sizes(np.array([[[0.2, -0.2], [0.5, 0.5]]])).tolist()
    [0.2]
    """
    shares = np.abs(contributions[:, :-1])
    return np.asarray((shares if shares.ndim == 2 else shares.sum(axis=2) / 2.0).mean(axis=0))
