"""Reliability curves as a picture: share of elected classes that are right, against their probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.report.displays.base import PALE, CurvesDisplay, color, grid, legend_above, line_style, marker, shortened
from committee.report.reliability import Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 0.005
"""Share of the rows below which a bin is too empty to be drawn."""


class ReliabilityDisplay(CurvesDisplay):
    """Reliability curves: of the rows whose class is given a probability, the share for which it is right.

    Probabilities that mean what they say lie on the diagonal; below it a model is too sure of itself. Bins of less than
    half a per cent of the rows are left out. A marker's area goes with the rows of its bin.

    Parameters
    ----------
    curves : mapping of str to Reliability
        Rows by the probability of their class, for each model.
    colors : mapping of str to int, default=None
        Place of each name in the palette; by default the order of ``curves``. Lets several pictures agree.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.

    Raises
    ------
    ValueError
        No curve.

    References
    ----------
    A. Niculescu-Mizil, R. Caruana (2005). Predicting good probabilities with supervised learning. ICML.

    Examples
    --------
    >>> from committee.report import ReliabilityDisplay
    >>> from committee.report.reliability import Reliability
    >>> display = ReliabilityDisplay({"a": Reliability.of([[0.1, 0.9], [0.6, 0.4]], [True, False])}).plot()
    >>> display.ax_.get_xlabel()
    'probability of the elected class'
    """

    def __init__(self, curves: Mapping[str, Reliability], *, colors: Mapping[str, int] | None = None) -> None:
        if not curves:
            raise ValueError("curves is empty: give the reliability of one model at least")
        self.curves: dict[str, Reliability] = dict(curves)
        super().__init__(curves, colors=colors)

    @classmethod
    def _curve(cls, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Reliability:
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, which has no predict_proba; give classifiers that have one"
            )
        p = np.asarray(estimator.predict_proba(X))
        return Reliability.of(p, estimator.classes_[p.argmax(axis=1)] == np.ravel(y), sample_weight)

    def _draw(self, ax: Axes | None) -> None:
        """The diagonal, a curve for each model, and a legend above."""
        ax = self._axes(ax, 7.2, 4.2)
        ax.plot([0.0, 1.0], [0.0, 1.0], color=PALE, linewidth=0.8, zorder=0)
        lowest = 1.0
        for name, each in self.curves.items():
            share = each.weight / each.weight.sum()
            drawn = share >= _FEW
            x, y = (part[drawn] / each.weight[drawn] for part in (each.expected, each.right))
            i = self.colors[name]
            ax.plot(x, y, color=color(i), linestyle=line_style(i), linewidth=1.4, zorder=2)
            label = f"{shortened(name, 36)} ({each.calibration_error:.3f})"
            ax.scatter(x, y, s=12.0 + 160.0 * share[drawn], color=color(i), marker=marker(i), label=label, zorder=3)
            lowest = min(lowest, float(x.min()))
        ax.set(xlim=(max(0.0, lowest - 0.05), 1.02), ylim=(0.0, 1.03))
        ax.set(xlabel="probability of the elected class", ylabel="share of rows that are right")
        grid(ax)
        legend_above(ax, title="expected calibration error in brackets", markerscale=0.6)
