"""Ways to prune an ensemble: whole voters along a path, or parts of trees."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from committee.data.number_types import F64, Index, is_number, is_whole
from committee.data.packages import require_package
from committee.data.parallel import one_blas_thread
from committee.learners.reweighting.cut_path import with_nan
from committee.learners.reweighting.leaf_reweighter import LeafReweighter, LeafReweighterRegressor
from committee.learners.reweighting.out_of_bag_votes import oob_probabilities
from committee.learners.reweighting.pruning_metrics import PruningMetric, isotonic_losses
from committee.learners.trained_ensembles.trained_ensemble import RowsGiven
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.probability import Link, Share, Softmax

if TYPE_CHECKING:
    import polars as pl

DEFAULT_SHARE = 0.1
"""Share of the nodes that stay without any limit."""

MAX_LOSS_SHARE = 1 / 3
"""Share of the nodes of the largest cut that `max_loss` tries without another limit."""

SHRINK = 0.8
"""Share of the voters that each step of a path keeps: about twenty steps from a hundred voters to one."""

N_FOLDS = 5


@dataclass(frozen=True)
class Limits:
    """Limits of a smaller vote, as parameters of `prune`."""

    max_nodes: float | None
    max_voters: int | None
    min_gain: float | None
    max_loss: float | None = None
    metric: Any = None

    def __post_init__(self) -> None:
        nodes, voters, gain = self.max_nodes, self.max_voters, self.min_gain
        if voters is not None and not (is_whole(voters) and voters >= 1):
            raise ValueError(f"max_voters={voters!r} must be a whole number of at least 1, or None.")
        whole = is_whole(nodes)
        if nodes is not None and not (is_number(nodes) and (nodes >= 1 if whole else 0.0 < nodes <= 1.0)):
            raise ValueError(f"max_nodes={nodes!r} must be a share in (0, 1], a whole number above 0, or None.")
        if self.max_loss is not None and not (is_number(self.max_loss) and 0.0 <= self.max_loss < float("inf")):
            raise ValueError(f"max_loss={self.max_loss!r} must be a finite number that is not negative, or None.")
        if gain is not None and not (is_number(gain) and gain >= 0.0):
            raise ValueError(f"min_gain={gain!r} must be a share of rows that is not negative, or None.")


# --- levels ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PruningLevel(ABC):
    """A way to prune: the parts of an ensemble that are dropped, and the votes of the others."""

    on: RowsGiven
    objective: Any
    n_jobs: int | None
    quantile: float | None = None
    """Of regression ensembles; `None`: that of their parameters."""

    @abstractmethod
    def of_ensemble(self, ensemble: Any, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
        """Return a smaller vote, which does not hold the ensemble."""

    @abstractmethod
    def of_reweighted(self, model: Any, limits: Limits, resolve: bool, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return a smaller vote of a `MarginReweighter`; see `MarginReweighter.prune`."""


class LeafPruning(PruningLevel):
    """Drop trees and sub-trees, whichever does best, and refit all leaves."""

    options: ClassVar[dict[str, Any]] = {}
    """Parameters of the leaf re-weighters."""

    def of_ensemble(
        self, ensemble: Any, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> LeafReweighter | LeafReweighterRegressor:
        if limits.max_voters is not None:
            raise ValueError(
                f"max_voters={limits.max_voters!r} limits whole voters, and this level limits nodes; give max_nodes "
                "instead, or level='voter'."
            )
        most = limits.max_nodes
        if most is None:
            most = DEFAULT_SHARE if limits.max_loss is None else MAX_LOSS_SHARE
        kind = LeafReweighterRegressor if predicts_numbers(ensemble) else LeafReweighter
        given = {"metric": limits.metric, "quantile": self.quantile}
        model = kind(
            ensemble,
            max_nodes=most,
            min_gain=limits.min_gain,
            max_loss=limits.max_loss,
            on=self.on,
            n_jobs=self.n_jobs,
            **{name: value for name, value in given.items() if value is not None},
            **self.options,
        )
        model.fit(X, y, sample_weight)
        model.ensemble = model.committee_  # smaller in memory and in files too
        return model

    def of_reweighted(
        self, model: Any, limits: Limits, resolve: bool, X: Any, y: Any, sample_weight: Any
    ) -> LeafReweighter:
        if X is None or y is None:
            raise ValueError("level='leaf' needs rows; pass X and y of fit, or held-out rows if on='validation'.")
        leaves = self.of_ensemble(model, limits, X, y, model.fit_weights(y, sample_weight))
        assert isinstance(leaves, LeafReweighter)
        leaves.ensemble = model
        return leaves


class TreePruning(LeafPruning):
    """Drop whole trees, and refit all leaves of the others."""

    options: ClassVar[dict[str, Any]] = {"growth": 1.0}


class SubtreePruning(LeafPruning):
    """Drop the weakest sub-trees, of as many trees as does best."""

    options: ClassVar[dict[str, Any]] = {"growth": (2.0, 4.0, 8.0)}


class DepthPruning(LeafPruning):
    """Drop the lowest levels, of as many trees as does best."""

    options: ClassVar[dict[str, Any]] = {"growth": (2.0, 4.0, 8.0, 16.0), "cut": "depth"}


def predicts_numbers(ensemble: Any) -> bool:
    """Return whether an ensemble is a regressor."""
    committee = getattr(ensemble, "committee_", ensemble)
    if isinstance(committee, Committee | RegressionCommittee):
        return isinstance(committee, RegressionCommittee)
    return hasattr(ensemble, "__sklearn_tags__") and is_regressor(ensemble)


# --- the path of whole voters ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PrunedVote:
    """A committee on the path: voters, weights and figures on the rows.

    With out-of-bag rows, accuracy and margins are of each row's out-of-bag voters.
    """

    voters: NDArray[np.intp]
    weights: F64
    """``(k,)``, on the scale of the margin matrix: not negative (but for the free form of the variance), of sum one."""
    accuracy: float
    """Weighted share of rows with a positive margin; a margin of 0 counts half."""
    mean_margin: float
    least_margin: float
    n_nodes: int
    nbytes: int
    lost: float = np.nan
    """Loss increase against the whole ensemble, where `max_loss` asks for it."""
    lost_error: float = np.nan


@dataclass(frozen=True, eq=False)
class PruningPath:
    """Committees from all voters of positive weight to a single one, largest first.

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
            Price of accuracy: the smallest committee whose accuracy is less than this below the best.
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
        """Return the loss increase of each step, joined by isotonic regression."""
        return isotonic_losses([step.lost for step in self.steps], [step.lost_error for step in self.steps])

    def within(self, max_loss: float, max_voters: int | None = None, max_nodes: float | None = None) -> int | None:
        """Return the smallest step within the limits with a loss increase plus standard error of at most `max_loss`."""
        kept = np.flatnonzero(self.lost() + [step.lost_error for step in self.steps] <= max_loss)
        first = self.chosen(max_voters, None, max_nodes)
        return int(kept[-1]) if len(kept) and kept[-1] >= first else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.table()})"

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

    The `objective` is solved again for the voters left after each step, unless it has no solution; without one they
    keep their weights in proportion.
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
    """Return some voters with weights in units of spread, scaled so that their absolute sum is the committee's own."""
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


# --- the loss increase of whole voters -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PathEvaluation:
    """Cross-validated loss increase of a `PruningPath`.

    A row is scored by weights that were fitted without it, and by its out-of-bag voters.
    """

    committee: Committee
    lines: MarginMatrix
    data: Any
    """``(n, p)``: the rows of `lines`, encoded."""
    labels: Index
    metric: PruningMetric
    objective: Objective
    n_threads: int

    def evaluate(self, path: PruningPath) -> PruningPath:
        """Return the path with the loss increase of each of its committees."""
        whole = self._statistics(path.before, np.arange(len(self.labels)))
        statistics: list[list[F64]] = [[] for _ in path.steps]
        order = []
        for train, test in self._folds():
            order.append(test)
            weight = np.zeros(len(self.labels))
            weight[train] = self.lines.row_weight[train]
            part = self.lines.weighted(weight)
            steps = pruning_path(self.committee, part, _solved_or_kept(self.objective, part, part.own)).steps
            for i, step in enumerate(path.steps):
                alike = next((s for s in steps if len(s.voters) <= len(step.voters)), steps[-1])
                statistics[i].append(self._statistics(alike, test))
        tested = np.concatenate(order)
        labels, row_weight = self.labels[tested], self.lines.row_weight[tested]
        evaluated = []
        for step, parts in zip(path.steps, statistics, strict=True):
            of_step = np.concatenate(parts, axis=1)
            lost, error = self.metric.loss_increase(labels, of_step, whole[:, tested], row_weight)
            evaluated.append(replace(step, lost=lost, lost_error=error))
        return replace(path, steps=tuple(evaluated))

    def _folds(self) -> Iterator[tuple[Index, Index]]:
        least = int(np.unique(self.labels, return_counts=True)[1].min())
        kind = StratifiedKFold if least >= N_FOLDS else KFold
        folds = kind(min(N_FOLDS, len(self.labels)), shuffle=True, random_state=0)
        split: Iterator[tuple[Index, Index]] = folds.split(self.labels, self.labels)
        return split

    def _statistics(self, vote: PrunedVote, rows: Index) -> F64:
        small = reweighted(self.committee, vote.voters, vote.weights * self.lines.sign[vote.voters])
        unseen = None if self.lines.unseen is None else self.lines.unseen[np.ix_(rows, vote.voters)]
        usable = np.ones(len(rows), dtype=bool) if unseen is None else np.asarray(unseen.any(axis=1))
        unseen = None if unseen is None else unseen[usable]
        some = rows[usable]
        predicted, halves = oob_probabilities(small, self.data[some], unseen, self.n_threads)
        return with_nan(self.metric.statistics(self.labels[some], predicted, halves, unseen), usable)


def warn_kept_whole(path: PruningPath, first: PrunedVote, max_loss: float, metric: str) -> None:
    """Warn that no committee is within `max_loss`, with the loss increase of the largest that limits allow."""
    warnings.warn(
        f"{len(first.voters)} of {len(path.before.voters)} voters lose {first.lost:.2g} ± {first.lost_error:.1g} of "
        f"{metric} on rows that they have not seen, which may be more than max_loss={max_loss:g}, so that the ensemble "
        "is kept whole; allow more, or more voters, or give more rows.",
        stacklevel=4,
    )
