"""Boosting that looks at margins: what its learners do alike."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows, scored_classes
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting
from committee.learners.base.calibration import CalibratedClassifier
from committee.learners.base.early_stopping import EarlyStopping
from committee.learners.base.parameters import fitted, with_parameters
from committee.learners.base.user_voter import classifier_template
from committee.learners.margin_boosting.one_against_rest import ClassRuns, HeldOutErrors, VotingRun
from committee.learners.pools.distinct_rows import DistinctPool, DistinctRows, classifiers_on
from committee.learners.pools.pool import Pool
from committee.learners.pools.stump_pool import StumpPool
from committee.learners.pools.tree_pool import TreePool
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Truncated
from committee.voters.growing import GrowthLimits
from committee.voters.stump_dictionary import StumpDictionary

if TYPE_CHECKING:
    from committee.learners.base.early_stopping import HeldOutVotes

EVERY_STUMP = "1: each round takes, of all stumps between bins or subsets of categories and their complements,"
DEEPER = "deeper trees are grown by the Gini criterion."


@with_parameters
class MarginBoosting(Boosting, CalibratedClassifier):
    """Base of the learners: voters of largest edge, one class against the rest, and margins after each round."""

    _voter_parameter = "voter"
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "estimators", "signed")

    validation_errors_: F64 | None = fitted(
        "Held-out error after each round, when early stopping is on.", "float64 array or None"
    )

    n_estimators: int = shared.n_estimators(100, "no voter has an edge left")
    _: KW_ONLY
    max_depth: int | None = shared.max_depth(1, f"{EVERY_STUMP} the one with the largest edge; {DEEPER}")
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    voter: Any = shared.voter()
    min_samples_leaf: int = shared.min_samples_leaf(
        more="Rows that look the same count once. More than 1: stumps, too, are grown by the Gini criterion."
    )
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the held-out rows and of a given classifier")

    # --- one learner's own --------------------------------------------------------------------------------------

    @abstractmethod
    def _class_run(self, pool: Pool, rows: DistinctRows, positive: int, count: float) -> VotingRun:
        """Return the rounds for a class against the rest; `count` is how many rows the weights stand for."""

    @abstractmethod
    def _figures(self, runs: Sequence[Any], n_rounds: int) -> dict[str, Any]:
        """Return fitted attributes beyond the committee, after so many rounds of the classes' runs."""

    def _link(self, count: float) -> Link:
        """From scores to probabilities: weights add up to one, so that a score is a difference of shares."""
        return Truncated(floor=0.5 / (count + len(self.classes_)))  # n rows make no class certain

    # --- the rounds of all of them ------------------------------------------------------------------------------

    def _run(self, rows: Rows, random: np.random.RandomState) -> ClassRuns[Any]:
        pool, distinct = self._pool(rows, int(random.randint(2**31 - 1)))
        n_classes = len(self.classes_)
        runs = [self._class_run(pool, distinct, k, rows.count) for k in scored_classes(n_classes)]
        return ClassRuns(pool, distinct, runs, n_classes, rows.count)

    def _pool(self, rows: Rows, seed: int) -> DistinctPool:
        """Return the pool of voters that the parameters ask for."""
        threads = n_threads(self.n_jobs)
        if self.voter is not None:
            return classifiers_on(rows, classifier_template("voter", self.voter, self.table_), seed)
        binned = rows.binned(self.table_, self.max_bins, threads)
        if np.array_equal(binned.dense.min(axis=0), binned.dense.max(axis=0)):
            raise ValueError("Every column of X is constant, so no tree parts the rows. Give columns that vary.")
        distinct, table = DistinctRows.in_bins(binned, rows)
        if (self.max_depth == 1 or self.max_leaf_nodes == 2) and self.min_samples_leaf == 1:
            stumps = StumpDictionary.of(binned, rows.weights, subsets=True, n_threads=threads)
            return StumpPool(table, stumps, threads), distinct
        return TreePool(table, GrowthLimits.of(self), threads), distinct

    def _early_stopping(self, run: ClassRuns[Any], held_out: Rows) -> EarlyStopping:
        return EarlyStopping(HeldOutErrors(run, held_out), self.n_iter_no_change)

    def _held_out_votes(self, run: ClassRuns[Any], held_out: Rows) -> HeldOutVotes:
        from committee.learners.base.early_stopping import HeldOutVotes

        def total(t: int) -> float:
            return float(sum(one.weights_after(t).sum() for one in run.runs))

        return HeldOutVotes(HeldOutErrors(run, held_out).votes_after, total, self._link(run.count))

    def _fitted(self, run: ClassRuns[Any], n_rounds: int, losses: F64 | None) -> dict[str, Any]:
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

    def _warn(self, run: ClassRuns[Any], fitted: dict[str, Any]) -> None:
        if all(one.useless for one in run.runs):
            warnings.warn(
                "No voter beats chance: the committee says no more than a single voter that does not.", stacklevel=4
            )
