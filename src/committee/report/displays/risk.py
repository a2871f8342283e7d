"""The risk of boosted scores, step by step, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.report.displays.base import Display, color, grid, legend_above, line_style, shortened
from committee.vote.explain.leaf_models import model_trees

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CURVES = 7
"""More curves than this are drawn thin and grey, with their mean."""


class RiskPathDisplay(Display):
    """Mean training risk after every boosting step.

    Parameters
    ----------
    risk : array-like (B + 1,) or (curves, B + 1)
        Risk before the first and after every step.
    names : sequence of str, default=None
        One for each curve; numbers by default.
    weights : array-like (curves,), default=None
        How much each curve counts in the mean that is drawn where there are many; equal by default.

    Raises
    ------
    ValueError
        If there is no curve, or not one name or weight for each.

    Examples
    --------
    >>> from committee.report import RiskPathDisplay
    >>> RiskPathDisplay([0.69, 0.5, 0.4]).plot().ax_.get_xlabel()
    'boosting step'
    """

    def __init__(
        self, risk: ArrayLike, *, names: Sequence[str] | None = None, weights: ArrayLike | None = None
    ) -> None:
        self.risk = np.atleast_2d(np.asarray(risk, dtype=np.float64))
        if self.risk.ndim != 2 or not self.risk.size:
            raise ValueError(f"risk has shape {self.risk.shape}; it must be (curves, steps + 1), one curve at least")
        n = len(self.risk)
        self.names: list[str] = [str(i) for i in range(n)] if names is None else list(names)
        self.weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        if len(self.names) != n or self.weights.shape != (n,):
            raise ValueError(f"names ({len(self.names)}) and weights {self.weights.shape} must be for {n} curves")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> RiskPathDisplay:
        """Draw the risk path of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            With ``risk_path_``: a boosted score, or a model tree, with a curve for each leaf and class.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        RiskPathDisplay
            Already drawn.

        Raises
        ------
        ValueError
            If it has none.
        """
        path = getattr(estimator, "risk_path_", None)
        if path is None:
            raise ValueError(f"{type(estimator).__name__} has no risk_path_ to draw; is it fitted, and boosted?")
        path = np.asarray(path)
        if path.ndim < 3:
            path = np.atleast_2d(path)
            return cls(path, names=_classes_of(estimator, len(path))).plot(ax)
        trees = model_trees(estimator)
        nodes = np.flatnonzero(trees.model >= 0)
        nodes = nodes[np.argsort(trees.model[nodes], kind="stable")]
        tree = np.searchsorted(trees.forest.offset, nodes, side="right") - 1
        leaf = (nodes - trees.forest.offset[tree]).tolist()
        labels = _classes_of(estimator, max(path.shape[1], trees.trees_per_voter))
        scored = [[labels[t]] for t in tree.tolist()] if trees.trees_per_voter > 1 else [labels] * len(leaf)
        names = [f"leaf {node}, {label}" for node, mine in zip(leaf, scored, strict=True) for label in mine]
        mass = np.ones(len(leaf)) if trees.record is None else trees.record.mass
        weights = np.repeat(mass, path.shape[1])
        return cls(path.reshape(-1, path.shape[2]), names=names, weights=weights).plot(ax)

    def _draw(self, ax: Axes | None) -> None:
        """The curves; more than a few are thin and grey, with their weighted mean."""
        ax = self._axes(ax, 7.2, 3.8)
        steps = np.arange(self.risk.shape[1])
        many = len(self.risk) > _MOST_CURVES
        for i, curve in enumerate(self.risk):
            if many:
                label = f"{len(self.risk)} curves, one for each leaf and class" if i == 0 else None
                ax.plot(steps, curve, color="#aaaaaa", linewidth=0.8, alpha=0.7, label=label)
            else:
                label = shortened(self.names[i], 36)
                ax.plot(steps, curve, linewidth=1.6, label=label, color=color(i), linestyle=line_style(i))
        if many:
            mean = self.weights @ self.risk / self.weights.sum()
            ax.plot(steps, mean, color=color(0), linewidth=2.2, label="their mean, by rows")
        ax.set(xlabel="boosting step", ylabel="mean risk of the training rows", xlim=(0, max(steps[-1], 1)))
        ax.set_ylim(0.0, 1.05 * max(float(self.risk.max()), 1e-12))
        grid(ax, "y")
        if len(self.risk) > 1:
            legend_above(ax)


def _classes_of(estimator: Any, n_outputs: int) -> list[str]:
    labels = [str(label) for label in estimator.classes_.tolist()]
    return labels if len(labels) == n_outputs else labels[1:2]
