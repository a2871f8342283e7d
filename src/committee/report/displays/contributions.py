"""Displays of contributions of columns: to the prediction of one row, and their mean size over rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64
from committee.data.text import shortened
from committee.report.column_effects import sampled_rows
from committee.report.displays.base import AGAINST, FOR, INK, PALE, Display, check_most, draw_bars
from committee.report.drawing.rows import Bar, rest_bar
from committee.report.explanation import (
    RowExplanation,
    check_explained,
    contributions_of_rows,
    largest_shares,
    place,
    start_in_words,
)
from committee.report.figures import quantile_levels
from committee.vote.links.mean import Log, Ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPREAD = "10 % to 90 % quantile of the rows"

MOVED = "probability moved between classes"

_SPREAD_LEVELS = (0.1, 0.9)


class ContributionDisplay(Display):
    """Contributions of features to the score of one row, drawn from the bias to the score.

    Parameters
    ----------
    contributions : array-like (p + 1,)
        ``contributions(X)`` of one row, and of one class; the bias last.
    labels : sequence of str (p,)
        Features with their values, such as ``"age = 41"``.
    subject, total : str, default="score"
        Label of the axis, and name of the sum at the end of the bars.
    from_zero : bool, default=True
        Whether the axis includes 0. It should if the sign of the score decides on the class.
    remark : str, default=""
        Title, such as the prediction.
    max_features : int, default=12
        Features with a bar, the largest first; the others are summed in one.

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
        self.labels: list[str] = list(labels)
        self.subject: str = subject
        self.total: str = total
        self.remark: str = remark
        self.from_zero: bool = from_zero
        self.max_features: int = max_features

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, row: int = 0, *, label: Any = None, max_features: int = 12, ax: Axes | None = None
    ) -> ContributionDisplay:
        """Draw what each feature adds to the score, prediction or probability of one row.

        Parameters
        ----------
        estimator : fitted learner
            With ``contributions(X)``.
        X : frame or array (n, p)
            Rows.
        row : int, default=0
            Number of the row.
        label : class label, int or float, default=None
            Class, number of a target, or level of a quantile. `None`: the predicted class, the first target, or the
            quantile nearest to the median. Either of two classes with one score selects that score.
        max_features, ax
            As for the class and `plot`.
        """
        return cls.of(RowExplanation.of(estimator, X, row, label=label), max_features=max_features).plot(ax)

    @classmethod
    def of(cls, found: RowExplanation, *, max_features: int = 12) -> ContributionDisplay:
        """Make the display of an explained row, not yet drawn."""
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
        bias = float(self.contributions[-1])
        largest, (n_others, rest) = largest_shares(self.contributions, self.labels, self.max_features)
        steps, labels = [share for _, share in largest], [shortened(label, 40) for label, _ in largest]
        if n_others:
            steps.append(rest)
            labels.append(f"{n_others} other" + ("s" if n_others > 1 else ""))
        edges = bias + np.concatenate([[0.0], np.cumsum(steps)])
        ax = self._axes(ax, 7.2, 1.3 + 0.3 * (len(steps) + 2))
        for i, step in enumerate(steps):
            ax.barh(i + 1, step, left=edges[i], height=0.62, color=FOR if step >= 0 else AGAINST)
            ax.plot([edges[i]] * 2, [i - 0.31 if i else 0, i + 1.31], color=PALE, linewidth=0.7, zorder=0)
        last = len(steps) + 1
        score = float(edges[-1])
        ax.plot([score] * 2, [last - 1.31, last], color=PALE, linewidth=0.7, zorder=0)
        ax.plot([bias, score], [0, last], linestyle="", marker="D", color=INK, markersize=6)
        self._write_values(edges, steps)
        if self.from_zero:
            ax.axvline(0.0, color=PALE, linewidth=0.8, linestyle=":", zorder=0)
        ax.set_yticks(range(last + 1), [start_in_words(self.total), *labels, self.total], fontsize=9)
        ax.set(ylim=(last + 0.6, -0.6), xlabel=self.subject)
        ax.tick_params(axis="y", length=0)
        ax.set_title(self.remark, fontsize=10, loc="left")

    def _write_values(self, edges: F64, steps: list[float]) -> None:
        shown = np.append(edges, 0.0) if self.from_zero else edges
        low, high = float(shown.min()), float(shown.max())
        gap = 0.02 * (high - low or 1.0)
        self.ax_.set_xlim(low - 8 * gap, high + 8 * gap)
        for i, step in enumerate(steps):
            is_up = step >= 0
            at = max(edges[i], edges[i + 1]) + gap / 2 if is_up else min(edges[i], edges[i + 1]) - gap / 2
            self.ax_.text(at, i + 1, f"{step:+.3g}", ha="left" if is_up else "right", va="center", fontsize=8)
        for line, value in ((0, edges[0]), (len(steps) + 1, edges[-1])):
            self.ax_.text(value + 1.5 * gap, line, f"{value:.4g}", ha="left", va="center", fontsize=8)


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
        label : class label, int or float, default=None
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
        """Return the bars to draw: the largest means, and one for the sum of the others."""
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
    """Return sizes (n, p) of contributions (n, p + 1) or (n, p + 1, K), over all outputs."""
    sizes = np.abs(contributions[:, :-1])  # without the start of the sum
    if sizes.ndim == 2:
        return np.asarray(sizes)
    # half of the sum: the probability that a column moves between classes
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
