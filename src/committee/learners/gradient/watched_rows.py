"""Held-out rows that are no part of the training table, and follow the rounds of gradient boosting on their codes."""

from __future__ import annotations

from collections.abc import Callable

from committee.data.binning import Binned
from committee.data.number_types import F64
from committee.learners.base.fit_record import leaf_of_rows
from committee.learners.gradient.gradient_run import GradientRun
from committee.learners.gradient.scores import Target, add_tree


class WatchedRows:
    """Scores of held-out rows round by round.

    They are put into the bins of the training table once; then each grown tree sorts their codes into its leaves, and
    no voters need be made of it.

    Parameters
    ----------
    run : GradientRun
        The rounds, from the first on; their leaves are constants.
    binned : Binned
        The held-out rows.
    target : Target
        Their loss.
    F : float64 array (D, n)
        Their scores before the first round, changed in place.
    n_threads : int
        Ceiling on the number of threads.
    """

    def __init__(self, run: GradientRun, binned: Binned, target: Target, F: F64, n_threads: int) -> None:
        self.run = run
        self.binned = binned
        self.F = F
        self.n_threads: int = n_threads
        self._loss: Callable[[F64], float] = target.mean_loss

    def loss_after(self, t: int) -> float:
        """Mean loss after t rounds; called for each in turn."""
        run = self.run
        step = run.steps[t - 1]
        for k, one in enumerate(run.grown[(t - 1) * run.n_trees : t * run.n_trees]):
            add_tree(self.F, leaf_of_rows(self.binned, one.tree, None), one.value, step, k, self.n_threads)
        return self._loss(self.F[0] if len(self.F) == 1 else self.F)
