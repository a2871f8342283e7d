"""Boosting that looks at margins: what its learners do alike."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import has_fit_parameter

from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.held_out import held_out_rows
from committee.learners.base.parameters import with_parameters
from committee.learners.base.shared_parameters import EarlyStoppingParameters
from committee.learners.margin_boosting.error_watch import ErrorWatch
from committee.learners.margin_boosting.voting_run import VotingRun
from committee.learners.pools.edge_sources import ClassifierEdges, EdgeSource, StumpEdges, TreeEdges
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Truncated
from committee.voters.growing import GrowthLimits
from committee.voters.stump_dictionary import StumpDictionary

if TYPE_CHECKING:
    from sklearn.utils import Tags

F64 = NDArray[np.float64]

EVERY_STUMP = "1: each round takes, of all stumps between bins or subsets of categories and their complements,"
DEEPER = "deeper trees are grown by the Gini criterion."


@with_parameters
class MarginBoosting(CommitteeClassifier, EarlyStoppingParameters):
    """Base of the learners: voters of largest edge, one class against the rest, and margins after each round."""

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

    # --- what the learners say ----------------------------------------------------------------------------------

    @abstractmethod
    def _run(self, source: EdgeSource, positive: int, count: float) -> VotingRun:
        """The rounds for one class against the rest; `count` is how many rows the weights stand for."""

    @abstractmethod
    def _figures(self, runs: Sequence[Any], n_rounds: int) -> dict[str, Any]:
        """Fitted attributes beyond the committee, after so many rounds of `_run`'s runs."""

    def _link(self, count: float) -> Link:
        """From scores to probabilities: weights add up to one, so that a score is a difference of shares."""
        return Truncated(floor=0.5 / (count + len(self.classes_)))  # n rows make no class certain

    def _blas(self) -> AbstractContextManager[Any]:
        """What the rounds run in."""
        return nullcontext()

    def _warn(self, runs: Sequence[Any]) -> None:
        """Say what is wrong with finished runs."""
        if all(run.useless for run in runs):
            warnings.warn(
                "No voter beats chance: the committee says no more than a single voter that does not.", stacklevel=3
            )

    # --- the fit ------------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Run the rounds.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows; NaN is a value of its own.
        y : array-like (n,)
            Class labels.
        sample_weight : array-like (n,), default=None
            Row weights; 0 means absent, k means repeated k times.
        X_val, y_val : table and labels, default=None
            Held-out rows for early stopping.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `y` holds fewer than two classes, every column is constant, a column holds infinity or what can be no
            feature, a given classifier takes no row weights, or parameters contradict each other.
        """
        tasks = FitTasks(self, X, y, sample_weight, self.n_estimators)
        self._check_voter()
        rows = self._rows(X, y, sample_weight)
        random = check_random_state(self.random_state)
        rows, held_out = held_out_rows(self, rows, X_val, y_val, random)
        source = self._source(rows, int(random.randint(2**31 - 1)))
        K = len(self.classes_)
        runs = [self._run(source, k, rows.count) for k in ([1] if K == 2 else range(K))]
        watch = None if held_out is None else ErrorWatch(source, runs, held_out, self.n_iter_no_change)
        tasks.begin()
        stop = False
        with self._blas():
            while not stop and not all(run.finished for run in runs):
                ended = tasks.part("round")
                for run in runs:
                    if not run.finished:
                        run.round()
                stop = watch is not None and watch.after(max(run.n_rounds for run in runs))
                stop |= ended(lambda: self._state(source, runs, watch, rows.count))
        state = self._state(source, runs, watch, rows.count)
        for name, value in state.items():
            setattr(self, name, value)
        self._warn(runs)
        tasks.end(lambda: state)
        return self

    def _check_voter(self) -> None:
        if self.voter is not None and not has_fit_parameter(self.voter, "sample_weight"):
            raise ValueError(
                f"voter={self.voter!r} cannot be boosted: its fit takes no sample_weight, and that is how a round "
                "tells it which rows matter. Choose another classifier, or voter=None for native trees."
            )

    def _source(self, rows: Rows, seed: int) -> EdgeSource:
        """Where the voters come from that the parameters ask for."""
        threads = n_threads(self.n_jobs)
        if self.voter is not None:
            return ClassifierEdges(self._member("voter", self.voter), rows, seed)
        binned = rows.binned(self.table_, self.max_bins, threads)
        if np.array_equal(binned.codes.min(axis=0), binned.codes.max(axis=0)):
            raise ValueError("Every column of X is constant, so no tree parts the rows. Give columns that vary.")
        if (self.max_depth == 1 or self.max_leaf_nodes == 2) and self.min_samples_leaf == 1:
            stumps = StumpDictionary.of(binned, rows.weights, subsets=True, n_threads=threads)
            return StumpEdges(rows, binned, stumps, threads)
        limits = GrowthLimits(self.max_depth, self.max_leaf_nodes, self.min_samples_leaf)
        return TreeEdges(rows, binned, limits, threads)

    def _state(
        self, source: EdgeSource, runs: Sequence[VotingRun], watch: ErrorWatch | None, count: float
    ) -> dict[str, Any]:
        """Fitted attributes as of now."""
        n_rounds = max(run.n_rounds for run in runs) if watch is None else watch.best
        by_run = [run.weights_after(n_rounds) for run in runs]
        output = np.repeat(np.arange(len(runs)), [len(weights) for weights in by_run])
        place = np.concatenate([np.arange(len(weights)) for weights in by_run])
        weights = np.concatenate(by_run)
        order = np.lexsort((output, place))  # by rounds, so that stages of several classes grow together
        order = order[weights[order] > 0.0]
        found = [runs[k].voters[t] for k, t in zip(output[order].tolist(), place[order].tolist(), strict=True)]
        voters = source.plant(found, None if len(runs) == 1 else output[order], len(self.classes_))
        return {
            "classes_": self.classes_,
            "table_": self.table_,
            "n_features_in_": self.n_features_in_,
            "committee_": Committee(voters, weights[order], self.classes_, self._link(count), self.table_),
            "validation_errors_": None if watch is None else np.array(watch.errors[:n_rounds]),
            **self._figures(runs, n_rounds),
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.voter, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(self.voter).input_tags.allow_nan
        return tags
