"""The bound on the expected training error while voters are added, beside the promise of theory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from committee.bounds.nested_trees import normaliser_of_edge, tree_factor, two_matryoshka
from committee.data.number_types import F64
from committee.report.displays.base import GREY, Display, color, grid, legend_above, line_style, shortened
from committee.report.displays.nested_score import nested_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LITTLE = 0.99


class BoundDisplay(Display):
    """Bound C on the expected training error against the number of voters, on a logarithmic axis.

    Grey reference curves say what voters of one edge promise: a sum rho^T, a tree F(T, rho), and at powers of two the
    2-matryoshka M_2(T, rho), with rho = sqrt(1 - 4 edge^2).

    Parameters
    ----------
    bounds : mapping of str to array-like (T,)
        Bound after each voter, for each model; of T of its own.
    edge : float, default=None
        Edge of the reference curves, in (0, 1/2); None: no curves.
    n_scores : int, default=1
        So many times the promise of one score is drawn, where bounds are sums over as many.
    subject : str, default="expected training error"
        Name of the bounded quantity, for the axis.

    Raises
    ------
    ValueError
        If there is no model, a bound is not above 0, or the edge is out of its range.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, eqs. 3, 9 and 11.

    Examples
    --------
    >>> from committee.report import BoundDisplay
    >>> display = BoundDisplay({"tree": [0.9, 0.8, 0.75], "sum": [0.9, 0.7, 0.6]}, edge=0.2).plot()
    >>> len(display.ax_.get_lines())
    5
    """

    def __init__(
        self,
        bounds: Mapping[str, ArrayLike],
        *,
        edge: float | None = None,
        n_scores: int = 1,
        subject: str = "expected training error",
    ) -> None:
        if not bounds:
            raise ValueError("bounds is empty: give the bounds of one model at least")
        self.bounds: dict[str, F64] = {}
        for name, given in bounds.items():
            values = np.asarray(given, dtype=np.float64)
            if values.ndim != 1 or not values.size or not ((values > 0.0) & np.isfinite(values)).all():
                raise ValueError(f"bounds of {name!r} must be numbers above 0, one for each voter, at least one")
            self.bounds[name] = values
        if edge is not None and not 0.0 < edge < 0.5:
            raise ValueError(
                f"edge={edge} promises nothing, or everything; give a number in (0, 1/2), or None for no curves"
            )
        self.edge: float | None = edge
        self.n_scores: int = n_scores
        self.subject: str = subject

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, for_class: Any = None, edge: float | str | None = "smallest", ax: Axes | None = None
    ) -> BoundDisplay:
        """Draw the bound of one fitted learner.

        Parameters
        ----------
        estimator : ProbabilisticAdaBoostClassifier, BoostingTreeClassifier or MatryoshkaClassifier
            Fitted.
        for_class, edge, ax
            As for `from_estimators`.

        Returns
        -------
        BoundDisplay
            Already drawn.
        """
        return cls.from_estimators({type(estimator).__name__: estimator}, for_class=for_class, edge=edge, ax=ax)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        *,
        for_class: Any = None,
        edge: float | str | None = "smallest",
        ax: Axes | None = None,
    ) -> BoundDisplay:
        """Draw the bounds of fitted learners in one picture.

        Parameters
        ----------
        estimators : mapping of str to classifier
            Fitted ProbabilisticAdaBoostClassifier, BoostingTreeClassifier or MatryoshkaClassifier.
        for_class : class label, default=None
            Of one score only, of more than two classes. None: the sum over all scores after as many voters of each,
            which bounds the expected training error.
        edge : float, "smallest" or None, default="smallest"
            Edge of the reference curves. "smallest": the least of the first model's voters, by size, for an edge below
            0 is as good; no curves if even a sum of such voters promised less than 1 percent, as the last voters of a
            long run often do. None: no curves.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        BoundDisplay
            Already drawn.

        Raises
        ------
        NotFittedError
            If an estimator is not fitted.
        ValueError
            If there is none, one has no such bounds, or no score for that class.
        """
        if isinstance(edge, str) and edge != "smallest":
            raise ValueError(f"edge={edge!r} is no edge; give a number in (0, 1/2), 'smallest', or None for no curves")
        scores = {name: _bounds_and_edges(estimator, for_class) for name, estimator in estimators.items()}
        smallest = None
        if edge == "smallest" and scores:
            least = min(float(np.abs(edges).min()) for _, edges in next(iter(scores.values())))
            most = max(len(bounds) for pairs in scores.values() for bounds, _ in pairs)
            # curves that stay at 1 would only press the others down
            visible = least < 0.5 and normaliser_of_edge(least) ** most < _LITTLE
            smallest = least if visible else None
        display = cls(
            {name: _summed([bounds for bounds, _ in pairs]) for name, pairs in scores.items()},
            edge=smallest if isinstance(edge, str) else edge,
            n_scores=max(map(len, scores.values()), default=1),
            subject="expected training error" if for_class is None else f"expected error of the score for {for_class}",
        )
        return display.plot(ax)

    def _draw(self, ax: Axes | None) -> None:
        """The curves, the reference curves in grey, and a legend above."""
        from matplotlib.ticker import MaxNLocator

        ax = self._axes(ax, 7.2, 4.2)
        most = max(map(len, self.bounds.values()))
        ax.set_yscale("log")
        for i, (name, values) in enumerate(self.bounds.items()):
            ax.plot(
                np.arange(1, len(values) + 1),
                values,
                color=color(i),
                linestyle=line_style(i),
                # one that lies under others shows beside them
                linewidth=1.4 + min(0.8 * (len(self.bounds) - 1 - i), 3.2),
                zorder=2.0 + 0.01 * i,
                marker="o" if len(values) == 1 else None,
                markersize=4,
                label=shortened(name, 36),
            )
        low = min(float(values.min()) for values in self.bounds.values())
        if self.edge is not None:
            self._draw_references(most, low)
        self._scale(low)
        ax.set(
            xlabel="voters" if self.n_scores == 1 else "voters of each score",
            ylabel=f"bound on the {self.subject}",
            xlim=(1.0 - 0.015 * most, most + 0.015 * most),
        )
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        grid(ax, "y")
        legend_above(ax)

    def _draw_references(self, most: int, low: float) -> None:
        """The promise of voters of one edge, as far down as the bounds come, with a little room."""
        assert self.edge is not None
        rho, floor = normaliser_of_edge(self.edge), 0.3 * low
        T = np.arange(1, max(most, 2) + 1)
        powers = 2 ** np.arange(int(np.log2(T[-1])) + 1)
        nested = np.array([two_matryoshka(int(power), rho) for power in powers])
        of_edge = f"edge {self.edge:.3g}"
        for x, values, label, style in (
            (T, tree_factor(T, rho), rf"tree, $F(T, \rho)$, {of_edge}", {"linestyle": "-."}),
            (powers, nested, r"2-matryoshka, $M_2(T, \rho)$", {"linestyle": ":", "marker": "s", "markersize": 3}),
            (T, np.exp(T * np.log(rho)), r"sum, $\rho^T$", {"linestyle": "--"}),
        ):
            curve = self.n_scores * values
            self.ax_.plot(
                x, np.where(curve >= floor, curve, np.nan), color=GREY, linewidth=1.1, zorder=1, label=label, **style
            )

    def _scale(self, low: float) -> None:
        """Plain numbers at few round places: a log axis of less than a decade has hardly any."""
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

        high = max(1.0 * self.n_scores, *(float(values.max()) for values in self.bounds.values()))
        bottom, top = low / (high / low) ** 0.08, high * (high / low) ** 0.03
        self.ax_.set_ylim(min(bottom, 0.97 * low), max(top, 1.03 * high))
        ratio = high / low
        axis = self.ax_.yaxis
        axis.set_major_locator(
            MaxNLocator(7, steps=[1, 2, 2.5, 5, 10])
            if ratio < 6.0
            else LogLocator(subs=(1.0, 2.0, 5.0) if ratio < 300.0 else (1.0,))
        )
        if ratio < 1000.0:
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
        axis.set_minor_locator(NullLocator())


def _bounds_and_edges(estimator: Any, for_class: Any) -> list[tuple[F64, F64]]:
    """Bounds and edges of each score of a learner, whose bounds add up; of one score if a class is named."""
    check_is_fitted(estimator)
    one = for_class is not None or len(estimator.classes_) == 2
    labels = [for_class] if one else estimator.classes_.tolist()
    nodes = [nested_score(estimator, label)[0] for label in labels]
    return [(estimator.bounds_[each], estimator.edges_[each]) for each in nodes]


def _summed(bounds: list[F64]) -> F64:
    """Their sum after as many voters each; a score that ended earlier stays where it is."""
    most = max(map(len, bounds))
    return np.asarray(sum(np.concatenate([values, np.full(most - len(values), values[-1])]) for values in bounds))
