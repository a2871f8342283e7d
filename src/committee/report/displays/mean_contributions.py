"""Display of global importance: mean contributions of columns over rows, and their spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64
from committee.report.column_effects import sampled_rows
from committee.report.displays.base import Display, check_most, draw_bars
from committee.report.drawing.rows import Bar, rest_bar
from committee.report.figures import quantile_levels
from committee.report.row_explanation import check_explained, contributions_of_rows, place
from committee.vote.links.mean import Log, Ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPREAD = "10 % to 90 % quantile of the rows"

MOVED = "probability moved between classes"

_SPREAD_LEVELS = (0.1, 0.9)


class MeanContributionDisplay(Display):
    r"""Global importance: mean size of each column's contributions over rows, the largest on top, and their spread.

    A bar is the mean over the rows of the absolute contribution :math:`|\phi_{ij}|`; for contributions to K
    probabilities half of its sum over the classes, the probability that the column moves between classes. A line is the
    spread over rows, from the 10 % to the 90 % quantile of the sizes. It ends left of the bar's end if few rows have
    most of the effect.

    Parameters
    ----------
    sizes : array-like (n, p)
        Sizes of the contributions, as of `contribution_sizes`.
    labels : sequence of str (p,)
        Names of the columns.
    subject : str, default="score"
        Quantity that the contributions add up to, for the axis.
    max_features : int, default=12
        Columns with a bar; the others are summed in one.
    sample_weight : array-like (n,), default=None
        Weights of the rows.

    Attributes
    ----------
    mean : float64 array (p,)
        Mean sizes.
    spread : float64 array (2, p)
        The 10 % and 90 % quantiles of the sizes over rows.

    Examples
    --------
    >>> from committee.report import MeanContributionDisplay
    >>> display = MeanContributionDisplay([[0.1, 0.2], [0.1, 0.4]], ["age", "city"]).plot()
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['city', 'age']
    """

    def __init__(
        self,
        sizes: ArrayLike,
        labels: Sequence[str],
        *,
        subject: str = "score",
        max_features: int = 12,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        check_most("max_features", max_features)
        self.sizes: F64 = np.asarray(sizes, dtype=np.float64)
        self.labels: list[str] = list(labels)
        if self.sizes.ndim != 2 or self.sizes.shape[1] != len(self.labels) or not self.sizes.size:
            raise ValueError(
                f"sizes has shape {self.sizes.shape}; {len(self.labels)} labels need (n, {len(self.labels)}), n > 0"
            )
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.mean: F64 = np.asarray(np.average(self.sizes, axis=0, weights=weights))
        # the least size at or below which are 10 % and 90 % of the rows: weights are repeated rows
        self.spread: F64 = np.quantile(self.sizes, _SPREAD_LEVELS, axis=0, weights=weights, method="inverted_cdf")
        self.subject: str = subject
        self.max_features: int = max_features

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        label: Any = None,
        sample_weight: ArrayLike | None = None,
        max_rows: int = 200,
        max_features: int = 12,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the mean contributions to the predictions of a fitted learner.

        Parameters
        ----------
        estimator : fitted learner
            With ``contributions(X)``, such as boosters, forests and committees of ensembles.
        X : frame or array (n, p)
            Rows.
        label : class label or int, default=None
            Class, number of a target, or level of a quantile, whose contributions are drawn. `None`: all of them; of
            scores and numbers their mean.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows in mean and spread; rows of weight 0 are left out.
        max_rows : int, default=200
            Most rows to average over, evenly spaced in X.
        max_features, ax
            As for the class and `plot`.

        Raises
        ------
        TypeError
            If the estimator has no ``contributions(X)``, or its voters are of a kind without contributions.
        ValueError
            If its predictions are not sums over columns, such as those of a `CommitteeRegressor` whose loss has a log
            link, or `label` is not one of its outputs.
        """
        found = cls.of(
            estimator, X, label=label, sample_weight=sample_weight, max_rows=max_rows, max_features=max_features
        )
        return found.plot(ax)

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        *,
        label: Any = None,
        sample_weight: ArrayLike | None = None,
        max_rows: int = 200,
        max_features: int = 12,
    ) -> Self:
        """Make the display of a fitted learner, not yet drawn."""
        check_most("max_rows", max_rows)
        check_explained(estimator)
        rows, weights = sampled_rows(X, sample_weight, max_rows)
        shares, total = contributions_of_rows(estimator, rows)
        if isinstance(estimator.committee_.link, Log):
            total = "logarithm of the prediction"
        elif isinstance(estimator.committee_.link, Ordered):
            total = "prediction"
        subject = total
        if label is not None:
            shares, subject = _of_label(estimator, shares, total, label)
        elif shares.ndim == 3 and total == "probability":
            subject = MOVED
        elif shares.ndim == 3:
            n = shares.shape[2]
            numbers = "quantiles" if quantile_levels(estimator, n) else "targets"
            subject = f"{total}, mean of {n} {'classes' if hasattr(estimator, 'classes_') else numbers}"
        sizes = contribution_sizes(shares, of_probabilities=total == "probability")
        names = estimator.table_.explained if estimator.table_ else [f"x{j}" for j in range(sizes.shape[1])]
        return cls(sizes, names, subject=subject, max_features=max_features, sample_weight=weights)

    def bars(self) -> list[Bar]:
        """Describe the picture."""
        order = np.argsort(-self.mean, kind="stable").tolist()
        n_bars = min(self.max_features, max(1, np.count_nonzero(self.mean)))
        rows = [
            Bar(self.labels[j], float(self.mean[j]), f"{self.mean[j]:.3g}", span=(self.spread[0, j], self.spread[1, j]))
            for j in order[:n_bars]
        ]
        others = order[n_bars:]
        total = float(self.mean[others].sum())
        return rows + rest_bar(len(others) if total else 0, total, f"{total:.3g}")

    def _draw(self, ax: Axes | None) -> None:
        rows = self.bars()
        what = "mean " + (self.subject if self.subject == MOVED else f"absolute contribution to the {self.subject}")
        draw_bars(rows, self._axes(ax, 7.2, 0.9 + 0.28 * len(rows)), f"{what}\nlines: {SPREAD}")


def contribution_sizes(contributions: F64, *, of_probabilities: bool = False) -> F64:
    """Return sizes (n, p) of contributions (n, p + 1) or (n, p + 1, K), which end with the start of the sum.

    The mean over K outputs of the absolute values; of probabilities half of their sum, the probability that a column
    moves between classes.
    """
    sizes = np.abs(contributions[:, :-1])
    if sizes.ndim == 2:
        return np.asarray(sizes)
    return np.asarray(sizes.sum(axis=2) / 2.0 if of_probabilities else sizes.mean(axis=2))


def _of_label(estimator: Any, shares: F64, total: str, label: Any) -> tuple[F64, str]:
    n_outputs = shares.shape[2] if shares.ndim == 3 else 1
    if hasattr(estimator, "classes_"):
        labels, kind = estimator.classes_.tolist(), "class"
    else:
        labels, kind = list(quantile_levels(estimator, n_outputs)), "quantile"
    if not labels:
        k = place("label", label, n_outputs)
        return shares[:, :, k] if shares.ndim == 3 else shares, f"{total} for target {k}"
    if label not in labels:
        raise ValueError(f"label={label!r} is not a {kind} of the model, which has {', '.join(map(repr, labels))}")
    return shares[:, :, labels.index(label)] if shares.ndim == 3 else shares, f"{total} for {kind} {label}"
