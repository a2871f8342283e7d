"""From all voters to one: which to drop next, and what a smaller committee costs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.data.extras import needed
from committee.data.number_types import F64
from committee.data.parallel import one_blas_thread
from committee.learners.trained.mean_and_error import increasing
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.committee import Committee

if TYPE_CHECKING:
    import polars as pl

SHRINK = 0.8
"""Share of the voters that each step of a path keeps: about twenty steps from a hundred voters to one."""


@dataclass(frozen=True, eq=False)
class PrunedVote:
    """A committee on the path: its voters, their weights and what it does on the rows.

    Parameters
    ----------
    voters : intp array (k,)
        Numbers of the voters among all T.
    weights : float64 array (k,)
        Their weights on the lines of the path: not negative (but for the free form of the variance), sum to one.
    accuracy : float
        Weighted share of rows with a positive margin; a margin of 0 counts half. On out-of-bag rows each row is judged
        by those voters that did not see it, and left out if there are none.
    mean_margin, least_margin : float
        Weighted mean and minimum of the margins.
    n_nodes, nbytes : int
        Tree nodes of the voters, and their bytes.
    """

    voters: NDArray[np.intp]
    weights: F64
    accuracy: float
    mean_margin: float
    least_margin: float
    n_nodes: int
    nbytes: int
    lost: float = np.nan
    """How much more it loses than the whole ensemble, where a contract was judged."""
    lost_error: float = np.nan
    """Standard error of that."""


@dataclass(frozen=True, eq=False)
class PruningPath:
    """Committees from all voters that have any weight to a single one, largest first.

    Parameters
    ----------
    steps : tuple of PrunedVote
        Each with fewer voters than the one before.
    before : PrunedVote
        The ensemble with its own weights.
    """

    steps: tuple[PrunedVote, ...]
    before: PrunedVote
    metric: str = ""
    """What a contract counted; empty if there was none."""
    max_loss: float | None = None
    """Most that it allowed."""

    def chosen(
        self, max_voters: int | None = None, min_gain: float | None = None, max_nodes: float | None = None
    ) -> int:
        """Place in `steps` that a limit of size and a price of accuracy ask for.

        Parameters
        ----------
        max_voters : int, default=None
            Most voters.
        min_gain : float, default=None
            The smallest committee is taken whose accuracy is less than this below that of any larger one within the
            limits: what is dropped gained less. None: the largest committee.
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

    def lost(self) -> F64:
        """What the committees lose against the whole ensemble, ``(steps,)``, joined by `increasing`."""
        return increasing(
            np.array([step.lost for step in self.steps]), np.array([step.lost_error for step in self.steps])
        )

    def within(self, max_loss: float, max_voters: int | None = None, max_nodes: float | None = None) -> int | None:
        """Place of the smallest that loses at most so much, its standard error added; None if none within limits does.

        Limits are those of `chosen`.
        """
        sure = self.lost() + [step.lost_error for step in self.steps]
        kept = np.flatnonzero(sure <= max_loss)
        first = self.chosen(max_voters, None, max_nodes)
        return int(kept[-1]) if len(kept) and kept[-1] >= first else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.table()})"

    def table(self) -> pl.DataFrame:
        """The path as a table: one row for each committee, the ensemble itself first."""
        needed("polars", "the table of a path")
        import polars as pl

        names: tuple[str, ...] = ("accuracy", "mean_margin", "least_margin", "n_nodes", "nbytes")
        every = (self.before, *self.steps)
        columns: dict[str, Any] = {"n_voters": [len(step.voters) for step in every]}
        if any(np.isfinite(step.lost) for step in self.steps):
            names = (*names, "lost", "lost_error")
        columns |= {name: [getattr(step, name) for step in every] for name in names}
        return pl.DataFrame({"committee": ["own weights"] + ["re-weighted"] * len(self.steps), **columns})


def pruning_path(
    committee: Committee,
    lines: MarginMatrix,
    weights: F64,
    *,
    objective: Objective | None = None,
    shrink: float = SHRINK,
) -> PruningPath:
    """Drop voters, least weight first, until one is left; each step keeps a share `shrink` of them.

    Parameters
    ----------
    committee : Committee
        The ensemble.
    lines : MarginMatrix
        Its lines on the rows that judge.
    weights : float64 array (T,)
        Where the path starts, on the lines' own scale; voters of weight 0 are not on it.
    objective : Objective, default=None
        Solved again for the voters that are left after each step, so that their weights take into account who has gone;
        where it has no solution for them, they keep their weights. None: what is left keeps its weights in proportion.
    """
    stay = np.flatnonzero(weights)
    now = weights[stay]
    steps = [_judged(committee, lines, stay, now)]
    while len(stay) > 1:
        size = min(len(stay) - 1, int(np.ceil(shrink * len(stay))))
        left = np.sort(np.argsort(-np.abs(now), kind="stable")[:size])
        stay, now = stay[left], now[left] / np.abs(now[left]).sum()
        if objective is not None and len(stay) > 1:
            solved = solved_or_kept(objective, lines.select(stay, np.abs(now)), now)
            stay, now = stay[solved != 0.0], solved[solved != 0.0]
        steps.append(_judged(committee, lines, stay, now))
    everyone = np.arange(lines.n_voters)
    return PruningPath(tuple(steps), _judged(committee, lines, everyone, lines.own))


def solved_or_kept(objective: Objective, lines: MarginMatrix, weights: F64) -> F64:
    """The objective's weights; the present ones where it has no room, or requires what these voters cannot do."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return objective.solve(lines).weights
        except ValueError:
            return weights


def _judged(committee: Committee, lines: MarginMatrix, voters: NDArray[np.intp], weights: F64) -> PrunedVote:
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
