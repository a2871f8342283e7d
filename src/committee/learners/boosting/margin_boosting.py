"""Rounds of the learners that optimise margins, of each class against the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from committee.data.labels import scored_classes
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.data.text import warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting, BoostingRun
from committee.learners.base.calibration import BoostedCalibration
from committee.learners.base.early_stopping import EarlyStopping, HeldOutVotes, weighted_error
from committee.learners.base.estimator import voter_template
from committee.learners.base.fit_record import FitRecord
from committee.learners.base.parameters import fitted, with_parameters
from committee.learners.boosting.dictionaries import DistinctPool, DistinctRows, StumpPool, classifiers_on
from committee.learners.boosting.pool import Candidate, Pool, TreePool
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Truncated
from committee.voters.growing import GrowthLimits
from committee.voters.protocol import Voters
from committee.voters.stump_dictionary import StumpDictionary

NO_EDGE = 1e-12  # edges that differ by no more than this are equal but for rounding


def depth_of_voters(taken: str) -> int | None:
    stumps = "1: each round takes, of all stumps between bins or subsets of categories and their complements,"
    return shared.max_depth(1, f"{stumps} {taken}; deeper trees are grown by the Gini criterion.")


@with_parameters
class MarginBoosting(Boosting, BoostedCalibration):
    _run_type: ClassVar[type[VotingRun]]
    _voter_parameter = "voter"
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "estimators", "signed")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("validation_errors_", "validation_scores_", "evals_result_", "best_iteration_", "temperature_"),
    )

    validation_errors_: F64 | None = fitted(
        "Held-out error after each round that is kept; None without held-out rows, or with `scoring`.",
        "float64 array or None",
    )

    n_estimators: int = shared.n_estimators(100, "no voter has an edge left, or early stopping ends the run")
    _: KW_ONLY
    max_depth: int | None = depth_of_voters("the one with the largest edge")
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    voter: Any = shared.voter()
    min_samples_leaf: int = shared.min_samples_leaf(
        more="Equal rows count once. More than 1: stumps, too, are grown by the Gini criterion."
    )
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the held-out rows and of a given classifier")

    @abstractmethod
    def _figures(self, runs: Sequence[Any], n_rounds: int) -> dict[str, Any]: ...

    def _link(self, count: float) -> Link:
        # weights add up to one, so that a score is a difference of shares; n rows make no class certain
        return Truncated(floor=0.5 / (count + len(self.classes_)))

    def _run(self, rows: Rows, random: np.random.RandomState) -> ClassRuns:
        return ClassRuns.of(self, self._run_type, rows, random)

    def _pool(self, rows: Rows, seed: int) -> DistinctPool:
        threads = n_threads(self.n_jobs)
        if self.voter is not None:
            return classifiers_on(rows, voter_template("voter", self.voter, self.table_), seed)
        binned = rows.binned(self.table_, self.max_bins, threads)
        if np.array_equal(binned.dense.min(axis=0), binned.dense.max(axis=0)):
            raise ValueError(
                f"Every column of X is constant, or in one of max_bins={self.max_bins} bins, so no tree parts the "
                "rows. Give columns that vary, or raise max_bins."
            )
        distinct, table = DistinctRows.in_bins(binned, rows)
        if (self.max_depth == 1 or self.max_leaf_nodes == 2) and self.min_samples_leaf == 1:
            stumps = StumpDictionary.of(binned, rows.weights, subsets=True, n_threads=threads)
            return StumpPool(table, stumps, threads), distinct
        return TreePool(table, GrowthLimits.of(self), threads), distinct

    def _early_stopping(self, run: ClassRuns, held_out: Rows) -> EarlyStopping:
        return EarlyStopping(HeldOutErrors(run, held_out, self._link(run.count)), self.n_iter_no_change)

    def _held_out_votes(self, run: ClassRuns, held_out: Rows) -> HeldOutVotes:
        errors = HeldOutErrors(run, held_out, self._link(run.count))
        return HeldOutVotes(errors.votes_after, errors.total_weight, errors.link)

    def _fitted(self, run: ClassRuns, n_rounds: int, losses: F64 | None) -> dict[str, Any]:
        by_class = [one.weights_after(n_rounds) for one in run.runs]
        output = np.repeat(np.arange(len(by_class)), [len(weights) for weights in by_class])
        place = np.concatenate([np.arange(len(weights)) for weights in by_class])
        weights = np.concatenate(by_class)
        order = np.lexsort((output, place))  # by rounds, so that stages of several classes grow together
        order = order[weights[order] > 0.0]
        voters = run.voters(output[order], place[order])
        return {
            "committee_": Committee(voters, weights[order], self.classes_, self._link(run.count), self.table_),
            "validation_errors_": None if losses is None else losses[:n_rounds],
            **self._figures(run.runs, n_rounds),
        }

    def _warn(self, run: ClassRuns, fitted: dict[str, Any]) -> None:
        if all(one.useless for one in run.runs):
            warn_user(
                "No voter beats chance: the committee is no better than guessing. Choose "
                f"{'deeper trees (max_depth)' if self.voter is None else 'another voter'}, or other columns."
            )


class VotingRun(ABC):
    """Rounds of a vote for class number `positive` against the rest."""

    def __init__(self, model: Any, pool: Pool, rows: DistinctRows, positive: int, count: float) -> None:
        self.pool = pool
        self.most: int = model.n_estimators
        self.y = np.where(rows.labels == positive, 1, -1).astype(np.int8)
        self.share: F64 = rows.weights / rows.weights.sum()
        self.voters: list[Candidate] = []
        self.least_edge = NO_EDGE
        self.finished = self.useless = self.cut_short = False  # useless: the only voter does not beat chance
        self._next: list[Candidate] | None = None

    def keep(self, record: FitRecord) -> None:  # noqa: B027 - most runs compute nothing costly beside their searches
        ...

    def round(self) -> None:
        joining = self._search(-np.inf) if self._next is None else self._next
        self.voters += joining
        signed = self.y * np.stack([*map(self.pool.votes, joining)])
        for one in joining:
            self.pool.forget(one)
        self._join(signed)
        if self.finished:
            return
        self._next = self._search(self.least_edge)
        self.cut_short = bool(self._next) and len(self.voters) >= self.most
        self.finished = self.cut_short or not self._next

    @abstractmethod
    def _search(self, least: float) -> list[Candidate]:
        # voters whose edge sum_i u_i y_i h(x_i) under the present row weights is above `least`
        ...

    @abstractmethod
    def _join(self, signed: NDArray[np.int8]) -> None:
        # weigh the newest voters, whose y_i h_j(x_i) are the rows of `signed`, and weigh the rows anew
        ...

    @abstractmethod
    def weights_after(self, n_rounds: int) -> F64: ...


@dataclass(eq=False)
class ClassRuns(BoostingRun):
    pool: Pool
    rows: DistinctRows
    runs: list[Any]
    n_classes: int
    count: float  # number of rows that the weights stand for

    @classmethod
    def of(cls, model: Any, run_type: type[VotingRun], rows: Rows, random: np.random.RandomState) -> Self:
        pool, distinct = model._pool(rows, int(random.randint(2**31 - 1)))
        n_classes = len(model.classes_)
        runs = [run_type(model, pool, distinct, k, rows.count) for k in scored_classes(n_classes)]
        return cls(pool, distinct, runs, n_classes, rows.count)

    def has_next(self) -> bool:
        return not all(run.finished for run in self.runs)

    def advance(self) -> None:
        self.n_rounds += 1
        for run in self.runs:
            if not run.finished:
                run.round()

    def keep(self, record: FitRecord) -> None:
        self.pool.keep(record)
        for run in self.runs:
            run.keep(record)

    def voters(self, run: NDArray[np.intp], place: NDArray[np.intp]) -> Voters:
        found = [self.runs[k].voters[t] for k, t in zip(run.tolist(), place.tolist(), strict=True)]
        return self.pool.voters(found, None if len(self.runs) == 1 else run, self.n_classes)


class HeldOutErrors:
    def __init__(self, run: ClassRuns, rows: Rows, link: Link) -> None:
        self.run: ClassRuns = run
        self.rows: Rows = rows
        self.link: Link = link
        self._read = run.pool.read(rows.dense)
        self._votes: list[list[NDArray[np.int8]]] = [[] for _ in run.runs]

    def __call__(self, t: int) -> float:
        return weighted_error(self.link.settle(self.votes_after(t), self.total_weight(t)), self.rows)

    def total_weight(self, t: int) -> float:
        return float(sum(one.weights_after(t).sum() for one in self.run.runs))

    def votes_after(self, t: int) -> F64:
        scores = np.zeros((len(self.run.runs), len(self.rows)))  # anew, as a round may change all weights
        for F, run, votes in zip(scores, self.run.runs, self._votes, strict=True):
            new = (self.run.pool.votes_on(self._read, one) for one in run.voters[len(votes) :])
            votes += [np.asarray(each, dtype=np.int8) for each in new]
            for weight, some in zip(run.weights_after(t).tolist(), votes, strict=False):
                if weight:
                    F += weight * some
        return np.ascontiguousarray(scores.T)


def by_round(histories: Sequence[Sequence[float]], n_rounds: int, ended: float | None = None) -> F64:
    """Return the runs' histories, ``(P, n_rounds)``, filled up with `ended` or their last numbers."""
    table = np.empty((len(histories), n_rounds))
    for line, history in zip(table, histories, strict=True):
        some = history[:n_rounds]
        line[: len(some)] = some
        line[len(some) :] = some[-1] if ended is None else ended
    return table
