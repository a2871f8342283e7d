"""What the cuts of an ensemble lose, as they get smaller, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.report.displays.base import AGAINST, FOR, GREY, Display, grid, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PruningPathDisplay(Display):
    """Loss of the cuts of an ensemble above that of the whole, against the nodes that are left.

    Parameters
    ----------
    n_nodes : array-like (steps,)
        Nodes of each cut.
    lost : array-like (steps,)
        How much more it loses than the whole ensemble, on rows that the trees have not seen.
    lost_error : array-like (steps,), default=None
        Standard errors, drawn as bars; None: none.
    metric : str, default="accuracy"
        What is lost.
    max_loss : float, default=None
        What may be lost, drawn as a line; None: no line.
    chosen : int, default=None
        Nodes of the cut that is taken, which gets a ring; None: no ring.

    Raises
    ------
    ValueError
        If there is no step, or not one loss for each.

    Examples
    --------
    >>> from committee.report import PruningPathDisplay
    >>> PruningPathDisplay([300, 100, 30], [-0.002, 0.001, 0.02]).plot().ax_.get_xlabel()
    'nodes'
    """

    def __init__(
        self,
        n_nodes: ArrayLike,
        lost: ArrayLike,
        lost_error: ArrayLike | None = None,
        *,
        metric: str = "accuracy",
        max_loss: float | None = None,
        chosen: int | None = None,
    ) -> None:
        self.n_nodes = np.asarray(n_nodes, dtype=np.float64)
        self.lost = np.asarray(lost, dtype=np.float64)
        self.lost_error = None if lost_error is None else np.asarray(lost_error, dtype=np.float64)
        given = [self.n_nodes, self.lost] + ([] if self.lost_error is None else [self.lost_error])
        shapes = [values.shape for values in given]
        if len(set(shapes)) > 1 or self.n_nodes.ndim != 1 or not self.n_nodes.size:
            raise ValueError(f"n_nodes, lost and lost_error have shapes {shapes}; they must be of one length, not 0")
        self.metric: str = metric
        self.max_loss: float | None = max_loss
        self.chosen: int | None = chosen
        self.unit = "nodes"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> PruningPathDisplay:
        """Draw the path of a pruned ensemble.

        Parameters
        ----------
        estimator : LeafReweighter, LeafReweighterRegressor or MarginReweighter
            Fitted with ``on="oob"`` or ``"validation"``; with `min_gain` or `max_loss` it has more than one cut. Whole
            voters have a path by `committee.prune` with `max_loss`; it is drawn against their number.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        PruningPathDisplay
            Already drawn.

        Raises
        ------
        ValueError
            If it has no path, or was fitted on rows that its trees have seen.
        """
        path = getattr(estimator, "path_", None)
        if path is None and hasattr(estimator, "pruning_path_"):
            return cls._of_voters(estimator).plot(ax)
        if path is None:
            raise ValueError(
                f"{type(estimator).__name__} has no path_ to draw; it must be a fitted LeafReweighter, and none that "
                "was loaded or unpickled."
            )
        lost = [step.lost for step in path.steps]
        if not np.isfinite(lost).all():
            raise ValueError("the path was judged on rows that the trees have seen; fit with on='oob' or 'validation'.")
        metric = estimator.metric_name.replace("_", " ")
        return cls(
            [step.cut.n_nodes for step in path.steps],
            lost,
            [step.lost_error for step in path.steps],
            metric=f"share of {metric}" if path.criterion.metric.in_shares else metric,
            max_loss=estimator.max_loss,
            chosen=estimator.committee_.n_nodes,
        ).plot(ax)

    @classmethod
    def _of_voters(cls, estimator: Any) -> PruningPathDisplay:
        """The path of whole voters, of which not all have nodes."""
        steps = estimator.pruning_path_.steps
        lost = [step.lost for step in steps]
        if not np.isfinite(lost).all():
            raise ValueError("the path has no loss increase; prune with max_loss.")
        display = cls(
            [len(step.voters) for step in steps],
            lost,
            [step.lost_error for step in steps],
            metric=estimator.pruning_path_.metric.replace("_", " "),
            max_loss=estimator.pruning_path_.max_loss,
            chosen=estimator.committee_.n_voters,
        )
        display.unit = "voters"
        return display

    def _draw(self, ax: Axes | None) -> None:
        ax = self._axes(ax, 5.2, 3.4)
        ax.axhline(0.0, color=GREY, linewidth=1.0, label="the whole ensemble")
        if self.max_loss is not None:
            ax.axhline(
                self.max_loss, color=AGAINST, linestyle="--", linewidth=1.0, label=f"may be lost: {self.max_loss:g}"
            )
        ax.errorbar(self.n_nodes, self.lost, yerr=self.lost_error, color=FOR, marker="o", markersize=4, capsize=2)
        ring = self.n_nodes == self.chosen
        if ring.any():
            ring_style: dict[str, Any] = {
                "markersize": 10,
                "markerfacecolor": "none",
                "color": AGAINST,
                "linestyle": "none",
            }
            ax.plot(self.n_nodes[ring], self.lost[ring], marker="o", label="taken", **ring_style)
        ax.set_xscale("log")
        ax.set_xlabel(self.unit)
        ax.set_ylabel(f"{self.metric} lost")
        grid(ax)
        legend_above(ax)
