"""Path of committees with ever fewer voters, and their cross-validated loss increase."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.data.number_types import F64, Index
from committee.data.packages import require_package
from committee.data.parallel import one_blas_thread
from committee.learners.reweighting.cut_path import shuffled_folds, with_nan
from committee.learners.reweighting.out_of_bag_votes import oob_probabilities
from committee.learners.reweighting.pruning_metrics import LossPath, PruningMetric
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Share, Softmax

if TYPE_CHECKING:
    import polars as pl

SHRINK = 0.8
"""Share of the voters that each step of a path keeps: about twenty steps from a hundred voters to one."""

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class PrunedVote:
    """A committee on the path: voters, weights and figures on the rows.

    With out-of-bag rows, accuracy and margins are of each row's out-of-bag voters.
    """

    voters: NDArray[np.intp]
    weights: F64
    """``(k,)``, as for `MarginMatrix`: not negative and of sum one, but for the free form of the variance."""
    accuracy: float  # weighted share of rows with a positive margin; a margin of 0 counts half
    mean_margin: float
    least_margin: float
    n_nodes: int
    nbytes: int
    lost: float = np.nan  # loss increase against the whole ensemble; NaN without `max_loss`
    lost_error: float = np.nan


@dataclass(frozen=True, eq=False, repr=False)
class PruningPath(LossPath):
    """Committees from all voters of nonzero weight to a single one, largest first.

    Parameters
    ----------
    steps : tuple of PrunedVote
        Each with fewer voters than the one before.
    before : PrunedVote
        The ensemble with its own weights.
    metric : str, default=""
        Metric of `max_loss`; empty without one.
    max_loss : float, default=None
        Largest loss increase.
    """

    steps: tuple[PrunedVote, ...]
    before: PrunedVote
    metric: str = ""
    max_loss: float | None = None

    def chosen(
        self, max_voters: int | None = None, min_gain: float | None = None, max_nodes: float | None = None
    ) -> int:
        """Return the place in `steps` of the largest committee within the limits, or one that `min_gain` chooses.

        Parameters
        ----------
        max_voters : int, default=None
            Most voters.
        min_gain : float, default=None
            Decrease of accuracy that is too large: the smallest committee is chosen whose accuracy is less than this
            below the best.
        max_nodes : float or int, default=None
            Most tree nodes: a share (0, 1] of the ensemble's, or a whole number. A single voter is always allowed.
        """
        most = np.inf if max_nodes is None else max_nodes
        if not isinstance(most, Integral) and most <= 1.0:
            most *= self.before.n_nodes
        allowed = [
            i
            for i, step in enumerate(self.steps)
            if (max_voters is None or len(step.voters) <= max_voters) and step.n_nodes <= most
        ] or [len(self.steps) - 1]
        if min_gain is None:
            return allowed[0]
        best = max(self.steps[i].accuracy for i in allowed)
        return max(i for i in allowed if best - self.steps[i].accuracy < min_gain or i == allowed[0])

    def within(self, max_loss: float, max_voters: int | None = None, max_nodes: float | None = None) -> int | None:
        smallest = super().within(max_loss)
        allowed = smallest is not None and smallest >= self.chosen(max_voters, None, max_nodes)
        return smallest if allowed else None

    def table(self) -> pl.DataFrame:
        """Return the path as a table: a row for each committee, the ensemble first."""
        require_package("polars", "the table of a path")
        import polars as pl

        names: tuple[str, ...] = ("accuracy", "mean_margin", "least_margin", "n_nodes", "nbytes")
        every = (self.before, *self.steps)
        columns: dict[str, Any] = {"n_voters": [len(step.voters) for step in every]}
        if any(np.isfinite(step.lost) for step in self.steps):
            names = (*names, "lost", "lost_error")
        columns |= {name: [getattr(step, name) for step in every] for name in names}
        return pl.DataFrame({"committee": ["own weights"] + ["re-weighted"] * len(self.steps), **columns})


def pruning_path(
    committee: Committee, lines: MarginMatrix, weights: F64, *, objective: Objective | None = None
) -> PruningPath:
    """Drop voters of least weight, starting from the weights ``(T,)``, until one is left.

    The `objective` is solved again for the voters left after each step. Without an objective, or if it has no solution,
    their weights stay in proportion.
    """
    stay = np.flatnonzero(weights)
    now = weights[stay]
    steps = [_figures(committee, lines, stay, now)]
    while len(stay) > 1:
        size = min(len(stay) - 1, int(np.ceil(SHRINK * len(stay))))
        left = np.sort(np.argsort(-np.abs(now), kind="stable")[:size])
        stay, now = stay[left], now[left] / np.abs(now[left]).sum()
        if objective is not None and len(stay) > 1:
            solved = _solved_or_kept(objective, lines.select(stay, np.abs(now)), now)
            stay, now = stay[solved != 0.0], solved[solved != 0.0]
        steps.append(_figures(committee, lines, stay, now))
    return PruningPath(tuple(steps), _figures(committee, lines, np.arange(lines.n_voters), lines.own))


def _solved_or_kept(objective: Objective, lines: MarginMatrix, weights: F64) -> F64:
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return objective.solve(lines).weights
        except ValueError:
            return weights


def _figures(committee: Committee, lines: MarginMatrix, voters: NDArray[np.intp], weights: F64) -> PrunedVote:
    every = np.zeros(lines.n_voters)
    every[voters] = weights
    margins, row_weight = lines.judged(every)
    right = np.where(np.abs(margins) < 1e-12, 0.5, margins > 0.0)
    part = committee.voters[voters]
    return PrunedVote(
        voters,
        weights,
        float(row_weight @ right),
        float(row_weight @ margins),
        float(margins.min()),
        int(part.n_nodes.sum()),
        int(part.nbytes),
    )


def reweighted(committee: Committee, voters: NDArray[np.intp], weights: F64) -> Committee:
    """Return some voters; `weights` are products with their spreads, scaled to the committee's own absolute sum."""
    spread = committee.voters.spread
    total = float(np.abs(committee.weights) @ spread)
    each = weights * total / np.abs(weights).sum()
    each = np.divide(each, spread[voters], out=np.zeros(len(voters)), where=spread[voters] > 0.0)
    link: Link | None = Softmax() if isinstance(committee.link, Share) and (each < 0.0).any() else None
    chosen = committee.select(voters, each, link=link)
    if committee.intercept is None:
        return chosen
    # as in the margin matrix, where every voter or its negation has the intercept: less where weights cancel
    sign = np.where(committee.weights[voters] < 0.0, -1.0, 1.0)
    return replace(chosen, intercept=committee.intercept * (float(weights @ sign) / float(np.abs(weights).sum())))


# --- the loss increase -----------------------------------------------------------------------------------------------


def evaluate_path(
    path: PruningPath,
    committee: Committee,
    lines: MarginMatrix,
    data: Any,
    labels: Index,
    metric: PruningMetric,
    objective: Objective,
    n_threads: int,
) -> PruningPath:
    """Return the path with the cross-validated loss increase of each of its committees.

    `data` has the rows of `lines`, encoded. A row is scored by weights that were fitted without it, and by its
    out-of-bag voters if `lines` has them.
    """

    def statistics(vote: PrunedVote, rows: Index) -> F64:
        small = reweighted(committee, vote.voters, vote.weights * lines.sign[vote.voters])
        unseen = None if lines.unseen is None else lines.unseen[np.ix_(rows, vote.voters)]
        usable = np.ones(len(rows), dtype=bool) if unseen is None else np.asarray(unseen.any(axis=1))
        unseen = None if unseen is None else unseen[usable]
        some = rows[usable]
        predicted, halves = oob_probabilities(small, data[some], unseen, n_threads)
        return with_nan(metric.statistics(labels[some], predicted, halves, unseen), usable)

    folds = list(shuffled_folds(labels, N_FOLDS, 0).split(labels, labels))
    of_steps: list[list[F64]] = [[] for _ in path.steps]
    for train, test in folds:
        weight = np.zeros(len(labels))
        weight[train] = lines.row_weight[train]
        part = lines.weighted(weight)
        steps = pruning_path(committee, part, _solved_or_kept(objective, part, part.own)).steps
        for found, step in zip(of_steps, path.steps, strict=True):
            alike = next((s for s in steps if len(s.voters) <= len(step.voters)), steps[-1])
            found.append(statistics(alike, test))
    tested = np.concatenate([test for _, test in folds])
    whole = statistics(path.before, np.arange(len(labels)))[:, tested]
    evaluated = []
    for step, parts in zip(path.steps, of_steps, strict=True):
        of_step = np.concatenate(parts, axis=1)
        lost, error = metric.loss_increase(labels[tested], of_step, whole, lines.row_weight[tested])
        evaluated.append(replace(step, lost=lost, lost_error=error))
    return replace(path, steps=tuple(evaluated))
