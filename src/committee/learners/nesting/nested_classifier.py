"""Base of the classifiers of probabilistic voters: one graph for each score."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from committee.data.labels import scored_classes
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.data.text import warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.calibration import BoostedCalibration, CalibratedClassifier
from committee.learners.base.estimator import voter_template
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import (
    COUNT,
    FRACTION,
    NOT_NEGATIVE,
    POSITIVE,
    fitted,
    parameter,
    with_parameters,
)
from committee.learners.nesting.growth import Growth
from committee.learners.nesting.weak_learners import (
    SampledLearner,
    Stopping,
    StumpLearner,
    VoterLearner,
    WeakLearner,
    is_only_drawn,
)
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Logistic, Truncated
from committee.voters.probabilistic_voters import SoftStumps
from committee.voters.vote_graph import MAX_PATHS, PathMajority, VoteGraph, Walk

_MOST_BYTES = 2**26  # weights of all leaves that may be kept in float64; where there are more, all are kept in float32

_OF_VOTERS = {
    "bounds_": "bounds",
    "normalisers_": "normalisers",
    "edges_": "edges",
    "reach_": "shares",
    "entropies_": "entropies",
}  # fitted attributes that have a float64 for each voter, and their lists of `Growth`


@dataclass
class Run:
    growths: list[Growth]
    seed: int

    @property
    def starts(self) -> NDArray[np.int64]:
        """Index of each graph's first node, then the number of nodes, ``(O + 1,)``."""
        return np.concatenate([[0], np.cumsum([len(growth) for growth in self.growths])]).astype(np.int64)


@with_parameters
class NestedClassifier(BoostedCalibration):
    _voter_parameter = "voter"
    _looks_ahead: ClassVar[bool] = False
    _share_of_rounds = 1 / 2
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("graph",)
    stored_attributes: ClassVar[tuple[str, ...]] = (*_OF_VOTERS, "n_draws_", "bound_", "cost_", "temperature_")

    committee_: Committee = fitted("The voters, and the graph of their answers (`graph_`).", "Committee")
    bounds_: F64 = fitted(
        """Bound on the expected training error after each voter, the exponential loss E[exp(-H y)]; with more than two
        classes, one score after the other.""",
        "float64 array (T,)",
    )
    bound_: float = fitted(
        "Last of `bounds_`; with more than two classes, the sum over scores, which bounds the expected training error.",
        "float",
    )
    normalisers_: F64 = fitted("Z_+ + Z_- of each voter under the weights it was trained with.", "float64 array (T,)")
    edges_: F64 = fitted(
        "1/2 minus the expected error of each voter under the weights it was trained with.", "float64 array (T,)"
    )
    entropies_: F64 = fitted(
        """Entropy of each voter's training weights relative to the rows' own, sum_i D_i ln(w_i / D_i): 0 where they are
        equal. Its exponential is the share of the rows over which uniform weights would have the same entropy.""",
        "float64 array (T,)",
    )
    reach_: F64 = fitted("Expected share of training rows that meet each voter.", "float64 array (T,)")
    cost_: float = fitted("Expected number of voters that a training row meets, in all scores together.", "float")
    n_draws_: NDArray[np.int64] = fitted(
        "Answers that each voter's q was estimated from; 0 if q is exact.", "int64 array (T,)"
    )

    _: KW_ONLY
    voter: Any = parameter(
        None,
        """Voter of each node, in place of soft stumps: any classifier whose ``fit`` takes ``sample_weight``
        and that has ``predict_proba``, ``prob_positive(X)`` (the probability of +1, exact) or only ``draw(X, rng)``
        (one answer a row, above 0 for +1, drawn anew at each call). It is fitted on classes 0 and 1.""",
        HasMethods(["fit"]),
        None,
        type_words="classifier or None",
    )
    softness: float = parameter(
        0.35,
        """Softness s of the stumps, in standard deviations of their column: q(x) = Phi((x_j - c) / s). 0: hard stumps.
        It is not fitted, as the least Z would always have the least softness (docs/theory.md). 30 tables led to the
        default (docs/decisions.md).""",
        NOT_NEGATIVE,
    )
    n_draws: int | Literal["first_rise", "stopwatch", "look_ahead"] | None = parameter(
        None,
        """Number of drawn answers from which q on the training rows is estimated. "first_rise": as many as until the
        estimate of Z first rises. "stopwatch", "look_ahead": as many as lower the bound faster per second than the next
        voter, which "stopwatch" forecasts and "look_ahead" (only `ProbabilisticAdaBoostClassifier`) trains; such a run
        cannot be repeated exactly. None: q is known, or "first_rise" for a voter that has only ``draw``.""",
        COUNT,
    )
    estimate: Literal["map", "ml"] = parameter(
        "map", 'Estimate of q from R draws: "map" (1 + count) / (R + 2), "ml" count / R.'
    )
    target_bound: float | None = parameter(
        None, "Stop when the bound on the expected training error is at most this, in (0, 1).", FRACTION
    )
    target_error: float | None = parameter(
        None,
        """Stop when E[H] misclassifies at most this share of the training rows, in (0, 1); with more than two classes,
        each of the K scores at most 1 / K of it. E[H] is then kept beside the weights, 8 bytes a row and score.""",
        FRACTION,
    )
    time_budget: float | None = parameter(
        None,
        """Stop after this many seconds, above 0; every score gets one voter at least. Such a run cannot be repeated
        exactly.""",
        POSITIVE,
    )
    method: Literal["expected", "likely_path", "sampled", "majority"] = parameter(
        "expected",
        """Score of the committee. "expected": E[H(x)]. "likely_path": H along the likelier answer at each node;
        it evaluates the fewest stumps. "sampled": H on one path, drawn by `random_state` and the row's values.
        "majority": 2 P - 1, with P the probability that H(x) > 0, as `vote_probability` returns it.""",
    )
    n_paths: int = parameter(
        1000,
        """Paths that P is estimated from where they are too many to add up: its standard error is at most
        1 / (2 sqrt(n_paths)).""",
        Interval(Integral, 1, MAX_PATHS, closed="both"),
    )
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("sampled paths, of draws and of given classifiers")
    n_jobs: int | None = shared.n_jobs()

    def _most_tasks(self, X: Any) -> None:
        return None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        answers = ("prob_positive", "predict_proba", "draw")
        if self.voter is not None and not any(hasattr(self.voter, name) for name in answers):
            raise ValueError(
                f"voter={self.voter!r} has neither prob_positive, predict_proba nor draw; a probabilistic voter needs "
                "one. Choose a classifier with predict_proba."
            )
        if self.n_draws == "look_ahead" and not self._looks_ahead:
            raise ValueError(
                "n_draws='look_ahead' is for sums, in which voters follow each other; use 'stopwatch', its forecast, "
                "or ProbabilisticAdaBoostClassifier."
            )

    def _no_checkpoint(self, X: Any) -> str | None:
        for name in (name for name, used in self._clocks().items() if used):
            return f"{name}={getattr(self, name)!r} makes the fit depend on the time it takes"
        return super()._no_checkpoint(X)

    def _clocks(self) -> dict[str, bool]:
        # parameters that make the fit depend on the time it takes
        return {"time_budget": self.time_budget is not None, "n_draws": self.n_draws in ("stopwatch", "look_ahead")}

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        most = self._most_voters(rows.count)
        random = tasks.random(rows)
        run = Run(self._growths(rows, random), int(random.randint(2**31 - 1)))
        if tasks.record is not None:
            for growth in run.growths:
                if isinstance(growth.learner, StumpLearner):
                    growth.learner.keep(tasks.record)
        growers = [self._grow(growth) for growth in run.growths]
        # every score gets its first voter before any gets its second, so that there is a committee at all times
        for growth, grower in zip(run.growths, growers, strict=True):
            next(grower, None)
            if not len(growth):
                raise ValueError(
                    f"voter={self.voter!r} has no rows of two classes to learn from: beside the heaviest rows the "
                    "weights of one class round to 0. Give weights that vary by fewer orders of magnitude."
                )
        if all(growth.useless for growth in run.growths):
            warn_user(
                "No voter beats a constant vote: the committee may predict no better than the class frequencies. Give "
                "other columns, or another voter.",
            )
        tasks.each("voter", self._trained(run, growers, most, tasks.begun), lambda _: self._fitted(run))
        return self._finished(self._fitted(run), rows, None, random, tasks)

    @property
    def _calibrates(self) -> bool:
        # fits to other rows would exceed the budget, and fits that depend on the clock would differ
        return super()._calibrates and not any(self._clocks().values())

    def _calibrated_by_folds(
        self, fitted: dict[str, Any], rows: Rows, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        if self.method == "majority":  # votes on training rows, which a smaller fit needs, take longer than the fit
            return CalibratedClassifier._calibrated_by_folds(self, fitted, rows, random, tasks)
        return super()._calibrated_by_folds(fitted, rows, random, tasks)

    def _trained(self, run: Run, growers: list[Iterator[None]], most: int | None, begun: float) -> Iterator[None]:
        # one graph after the other; the first voter of each is there already
        target = None if self.target_bound is None else self.target_bound / len(growers)
        error = None if self.target_error is None else self.target_error / len(growers)
        for number, (growth, grower) in enumerate(zip(run.growths, growers, strict=True), start=1):
            until = None if self.time_budget is None else begun + self.time_budget * number / len(growers)
            yield
            while not (
                (target is not None and growth.bound <= target)
                or (error is not None and growth.training_error() <= error)
                or (until is not None and time.perf_counter() >= until)
                or (most is not None and len(growth) >= most)
                or next(grower, _ENDED) is _ENDED
            ):
                yield

    @abstractmethod
    def _most_voters(self, count: float) -> int | None:
        # None where growth ends by itself
        ...

    @abstractmethod
    def _grow(self, growth: Growth) -> Iterator[None]:
        # yields after each voter
        ...

    def _most_leaves(self, count: float) -> int:
        return 1  # that keep their weights at a time

    def _keeps_reach(self) -> bool:
        return False

    def _growths(self, rows: Rows, random: np.random.RandomState) -> list[Growth]:
        threads = n_threads(self.n_jobs)
        weights = rows.weights / rows.weights.sum()
        member = None
        if self.voter is not None:
            member = voter_template("voter", self.voter, self.table_, calibrated=True)
        binned = rows.binned(self.table_, self.max_bins, threads) if member is None else None
        kept = 8 * len(rows) * self._most_leaves(rows.count) * (2 if self._keeps_reach() else 1)
        precision = np.float64 if kept <= _MOST_BYTES else np.float32
        growths = []
        for k in scored_classes(len(self.classes_)):
            positive = (rows.labels == k).astype(np.uint8)
            learner: WeakLearner
            if binned is not None:
                learner = StumpLearner(rows, binned, positive, self.softness, threads)
            else:
                learner = VoterLearner(member, rows, positive, random, self.estimate)
            sampled = None
            if self.n_draws is not None or is_only_drawn(member):
                stopping: Stopping = "first_rise" if self.n_draws is None else self.n_draws
                sampled = SampledLearner(learner, stopping, self.estimate, random)
            expected = None if self.target_error is None else np.zeros(len(rows))
            limits = 0.25 / rows.count, threads, precision, self._keeps_reach()
            growths.append(Growth(learner, positive, weights, *limits, sampled, expected))
        return growths

    def _fitted(self, run: Run) -> dict[str, Any]:
        growths, graph = run.growths, self._graph(run)
        weights = np.ones(len(graph))
        voters: VoteGraph | PathMajority = graph
        link: Link = Logistic(2.0)
        if self.method == "majority":
            voters, weights = PathMajority(graph, self.n_paths), np.ones(1)
            link = Truncated(floor=growths[0].eps)
        return {
            "committee_": Committee(voters, weights, self.classes_, link, self.table_),
            **{name: np.concatenate([getattr(growth, of) for growth in growths]) for name, of in _OF_VOTERS.items()},
            "bound_": float(sum(growth.bound for growth in growths)),
            "cost_": float(sum(sum(growth.shares) for growth in growths)),
            "n_draws_": np.array([one.n_draws for growth in growths for one in growth.trained], dtype=np.int64),
        }

    def _graph(self, run: Run) -> VoteGraph:
        start = run.starts
        following = [
            np.where(np.array(growth.following) >= 0, np.array(growth.following) + first, -1)
            for growth, first in zip(run.growths, start[:-1], strict=True)
        ]
        walk: Walk = "expected" if self.method == "majority" else self.method
        return VoteGraph(
            run.growths[0].learner.voters([one for growth in run.growths for one in growth.trained]),
            np.concatenate(following).astype(np.int32),
            np.concatenate([np.array(growth.vote) for growth in run.growths]),
            start,
            len(self.classes_),
            walk,
            run.seed,
        )

    def _from_file(self) -> None:
        super()._from_file()
        if len(self.classes_) == 1:
            return
        T = len(self.graph_.next)
        for name in (*_OF_VOTERS, "n_draws_"):
            numbers, dtype = getattr(self, name, None), np.int64 if name == "n_draws_" else np.float64
            if numbers is None and name == "entropies_":
                continue  # older files do not have it
            if not isinstance(numbers, np.ndarray) or numbers.dtype != dtype or numbers.shape != (T,):
                raise ValueError(f"{name} are not {T} numbers of type {np.dtype(dtype)}, one for each voter")

    @property
    def graph_(self) -> VoteGraph:
        """Graph of the voters and their answers."""
        check_is_fitted(self)
        voters = self.committee_.voters
        graph = voters.graph if isinstance(voters, PathMajority) else voters
        if not isinstance(graph, VoteGraph):
            raise AttributeError("this model has no graph: it was trained on rows of one class. Train it on two.")
        return graph

    @property
    def feature_importances_(self) -> F64:
        """Share of the stumps on each column in the decrease of the bound, ``(p,)``."""
        graph = self.graph_
        if not isinstance(graph.voters, SoftStumps):
            raise AttributeError("feature_importances_ needs stumps (voter=None); a given voter may use any column.")
        before = np.append(1.0, self.bounds_[:-1])
        before[graph.start[:-1]] = 1.0
        # a sub-tree collected by sign may raise the bound
        earned = np.maximum(before - self.bounds_, 0.0)
        decrease: F64 = np.bincount(graph.voters.feature, earned, self.n_features_in_).astype(np.float64)
        decrease /= max(decrease.sum(), np.finfo(np.float64).tiny)
        return decrease

    def cost(self, X: Any) -> F64:
        """Return the number of voters that each row meets, ``(n,)``: expected, or on its path if `method` takes one.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.
        """
        graph = self.graph_
        return graph.cost(self.committee_.encode(self.validate_rows(X)), n_threads(self.n_jobs))

    def vote_probability(self, X: Any) -> tuple[F64, F64]:
        """Return the probability that the random score H(x) is above 0, and its standard error, for any `method`.

        Exact, with an error of 0, where the graph of each score has at most 4,097 paths, as trees of 4,096 voters have;
        otherwise the share among `n_paths` sampled paths, seeded.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.

        Returns
        -------
        probability, standard_error : float64 arrays
            ``(n,)`` each for two classes; else ``(n, K)``, of "class k or not".
        """
        rows = self.committee_.encode(self.validate_rows(X)) if hasattr(self, "committee_") else self.validate_rows(X)
        P, error = PathMajority(self.graph_, self.n_paths).probability(rows, n_threads(self.n_jobs))
        return (P[:, 0], error[:, 0]) if len(self.classes_) == 2 else (P, error)


_ENDED = object()
