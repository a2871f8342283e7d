"""Reliability curves as a picture: share of elected classes that are right, against their probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.report.displays.base import PALE, Display, color, grid, legend_above, line_style, marker, shortened
from committee.report.reliability import Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 0.005
"""Share of the rows below which a bin is too empty to be drawn."""


class ReliabilityDisplay(Display):
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
        self.curves = dict(curves)
        self.colors = {name: i for i, name in enumerate(self.curves)} if colors is None else dict(colors)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Draw the curves of fitted classifiers on the given rows, each under its name.

        Parameters
        ----------
        estimators : mapping of str to classifier
            Fitted, with ``predict_proba``; of any library.
        X : frame or array of shape (n_samples, n_features)
            Rows that they were not trained on, as they take them.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ReliabilityDisplay
            Already drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import RandomForestClassifier
        >>> from committee.report import ReliabilityDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
        >>> display = ReliabilityDisplay.from_estimators({"forest": forest}, X[1::2], y[1::2])
        >>> display.curves["forest"].calibration_error < 0.05
        True
        """
        truth, curves = np.ravel(y), {}
        for name, each in estimators.items():
            p = np.asarray(each.predict_proba(X))
            curves[name] = Reliability.of(p, each.classes_[p.argmax(axis=1)] == truth, sample_weight)
        return cls(curves).plot(ax)

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
