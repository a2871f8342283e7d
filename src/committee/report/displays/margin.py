"""Cumulative margin curves as a picture: of several votes, or of one as voters are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.report.displays.base import PALE, CurvesDisplay, color, legend_above, line_style, shortened
from committee.vote.committee import Committee
from committee.vote.margin_distribution import MarginDistribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_STAGES, _FEWEST_VOTERS = 4, 10
"""Curves of one vote, and voters of the first, unless it is said which: fewer voters have few margins to vote with."""


class MarginDisplay(CurvesDisplay):
    """Cumulative margin curves: the share of rows whose margin is at most theta.

    A curve that is further right belongs to a more unanimous vote; its height at 0 is the share of rows that the vote
    gets wrong, ties with them.

    Parameters
    ----------
    margins : mapping of str to MarginDistribution or array-like of shape (n,)
        Margins of the rows under each vote, in [-1, 1]; arrays count all rows the same.
    colors : mapping of str to int, default=None
        Place of each name in the palette; by default the order of ``margins``. Lets several pictures agree.
    title : str, default=None
        Heading of the legend.

    Attributes
    ----------
    distributions : dict of str to MarginDistribution
        The curves drawn.
    ax_, figure_
        Axes and figure drawn on.

    Raises
    ------
    ValueError
        No committee, or margins empty or outside [-1, 1].

    References
    ----------
    R. Schapire, Y. Freund, P. Bartlett, W. S. Lee (1998). Boosting the margin: a new explanation for the effectiveness
    of voting methods. Annals of Statistics 26(5).

    Examples
    --------
    >>> from committee.report import MarginDisplay
    >>> display = MarginDisplay({"a": [-0.2, 0.1, 0.5], "b": [0.0, 0.2, 0.3]}).plot()
    >>> display.ax_.get_xlabel()
    'margin'
    """

    def __init__(
        self,
        margins: Mapping[str, MarginDistribution | ArrayLike],
        *,
        colors: Mapping[str, int] | None = None,
        title: str | None = None,
    ) -> None:
        if not margins:
            raise ValueError("margins is empty: give the margins of one committee at least")
        self.distributions: dict[str, MarginDistribution] = {}
        for name, given in margins.items():
            try:
                distribution = given if isinstance(given, MarginDistribution) else MarginDistribution(np.ravel(given))
            except ValueError as error:
                raise ValueError(f"margins of {name!r} must be numbers in [-1, 1], one per row: {error}") from None
            self.distributions[name] = distribution
        super().__init__(self.distributions, colors=colors)
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> MarginDisplay:
        """Draw the margin curves of fitted classifiers on the given rows.

        Parameters
        ----------
        estimator : classifier or sequence of classifiers
            Fitted learners of this library, or models that `committee.Committee.from_estimator` takes.
        X, y, sample_weight, ax
            As for `from_estimators`.
        names : sequence of str, default=None
            Names for the legend; class names by default.

        Returns
        -------
        MarginDisplay
            Already drawn.
        """
        estimators = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
        if names is None:
            kinds = [type(each).__name__ for each in estimators]
            names = [k if kinds.count(k) == 1 else f"{k} {kinds[: i + 1].count(k)}" for i, k in enumerate(kinds)]
        if len(names) != len(estimators) or len(set(names)) != len(names):
            raise ValueError(f"names must be {len(estimators)} distinct names, one per estimator; got {names!r}")
        return cls.from_estimators(dict(zip(names, estimators, strict=True)), X, y, sample_weight, ax=ax)

    @classmethod
    def _curve(cls, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> MarginDistribution:
        return margins_under(estimator, X, y, sample_weight)

    @classmethod
    def from_stages(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        rounds: Sequence[int] | None = None,
        ax: Axes | None = None,
    ) -> MarginDisplay:
        """Draw the margin curves of the first voters of one vote, fewer and more of them.

        With ``rounds=(50, 200, 500)`` of an AdaBoost of 500 trees this is Figure 1 of W. Martinez, J. B. Gray, *On the
        current state of research in explaining ensemble performance using margins*.

        Parameters
        ----------
        estimator : classifier or Committee
            Fitted. The first t voters count with the weights that they have: where voters are not trained one after the
            other, or all weights change with every round, that is no earlier state of the vote.
        X, y, sample_weight, ax
            As for `from_estimators`.
        rounds : sequence of int, default=None
            Numbers t of voters. By default all T of them, T / 4, T / 16 and T / 64, as long as these are 10.

        Returns
        -------
        MarginDisplay
            Already drawn.

        Raises
        ------
        ValueError
            If `rounds` are not between 1 and the number of voters.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import AdaBoostClassifier
        >>> from committee.report import MarginDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> display = MarginDisplay.from_stages(AdaBoostClassifier(40).fit(X, y), X, y, rounds=(5, 40))
        >>> list(display.distributions)
        ['5', '40']
        """
        T = committee_of(estimator).n_voters
        if rounds is None:
            rounds = [T // 4**i for i in range(_MOST_STAGES) if i == 0 or T // 4**i >= _FEWEST_VOTERS][::-1]
        steps = [int(t) for t in rounds]
        if not steps or steps != list(rounds) or min(steps) < 1 or max(steps) > T or len(set(steps)) < len(steps):
            raise ValueError(f"rounds is {list(rounds)!r}; give different whole numbers between 1 and the {T} voters")
        curves = {f"{t:,}": margins_under(estimator, X, y, sample_weight, n_voters=t) for t in steps}
        return cls(curves, title="voters").plot(ax)

    def _draw(self, ax: Axes | None) -> None:
        """The curves from -1 to 1, and a legend above."""
        ax = self._axes(ax, 7.2, 3.8)
        for name, each in self.distributions.items():
            theta, share = each.curve()
            i = self.colors[name]
            x = np.concatenate([[-1.0], theta, [1.0]])
            y = np.concatenate([[0.0], share, [1.0]])
            label = shortened(name, 36)
            ax.step(x, y, where="post", label=label, color=color(i), linestyle=line_style(i), linewidth=1.6)
        lowest = min(each.minimum for each in self.distributions.values())
        highest = max(float(each.margins.max()) for each in self.distributions.values())
        left, right = max(-1.0, min(-0.05, lowest - 0.05)), min(1.02, max(0.1, highest + 0.05))
        ax.axvline(0.0, color=PALE, linewidth=0.8, zorder=0)
        ax.set(xlim=(left, right), ylim=(0.0, 1.02), xlabel="margin")
        ax.set_ylabel("share of rows at or below")
        legend_above(ax, 2 if self.title is None else len(self.distributions), title=self.title)


def committee_of(estimator: Any) -> Committee:
    """The committee of a fitted classifier; one that is given as it is."""
    return estimator if isinstance(estimator, Committee) else Committee.from_estimator(estimator)


def margins_under(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, n_voters: int | None = None
) -> MarginDistribution:
    """Margins of rows under the vote of a fitted classifier or committee, or of its first voters.

    Margins alone: the errors of single voters, which `MarginDistribution.of` adds, take time.
    """
    committee = committee_of(estimator)
    if n_voters is not None:
        committee = committee.select(slice(n_voters))
    checked = estimator.validate_rows(X) if hasattr(estimator, "validate_rows") else X
    margins = committee.margins(checked, y)
    weight = np.ones(len(margins)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return MarginDistribution(margins, weight)
