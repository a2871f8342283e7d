"""Gradient boosting of any loss: what its classifier and its regressor do alike."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state

from committee import _core
from committee.data.binning import Binned
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.held_out import held_out_rows
from committee.learners.base.parameters import NOT_NEGATIVE, SHARE, fitted, parameter, required, with_parameters
from committee.learners.base.shared_parameters import EarlyStoppingParameters
from committee.learners.gradient.leaf import LeafPenalty
from committee.learners.gradient.loss_watch import LossWatch
from committee.learners.gradient.monotone import directions
from committee.learners.gradient.round_draws import Draws
from committee.learners.gradient.rounds import GradientRounds, joined
from committee.learners.gradient.scores import Target, scores_after
from committee.objectives.losses import Loss
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.growing import n_features_tried
from committee.voters.rounds import Rounds

F64 = NDArray[np.float64]


@with_parameters
class GradientBoosting(CommitteeEstimator, EarlyStoppingParameters):
    """Base of the two learners: rounds on a loss, early stopping, and going on from an earlier fit."""

    _stored_attributes: ClassVar[tuple[str, ...]] = ("validation_losses_", "training_objectives_")

    classes_: NDArray[Any] = fitted()

    loss: str | Loss = required("What is boosted.", str, Loss)
    n_estimators: int = shared.n_estimators(100, "early stopping says so, or a round changes nothing")
    _: KW_ONLY
    learning_rate: float = shared.learning_rate(0.1)
    max_leaf_nodes: int | None = shared.max_leaf_nodes(15, order="`growth` says which split comes first")
    max_depth: int | None = shared.max_depth()
    growth: Literal["leaf", "depth"] = parameter(
        "leaf",
        """Which node is split next while `max_leaf_nodes` allows: the one that gains most, or level by level.""",
    )
    min_samples_leaf: int = shared.min_samples_leaf(10, "Each counts once, whatever it weighs.")
    min_hessian_leaf: float = parameter(
        1e-3,
        "Least sum of hessians of a leaf. For losses whose hessian is 1 it is a weight of rows.",
        NOT_NEGATIVE,
    )
    leaf_l0: float = parameter(
        0.0,
        """Penalty of each leaf weight w_j that is not 0. Above 0 a leaf may abstain: weigh exactly 0.""",
        NOT_NEGATIVE,
    )
    leaf_l1: float = parameter(0.0, "Penalty of the leaf weights: this times |w_j|.", NOT_NEGATIVE)
    leaf_l2: float = parameter(5.0, "Penalty of the leaf weights: half of this times w_j^2.", NOT_NEGATIVE)
    l0_counts: Literal["weights", "leaves"] = parameter(
        "weights", "What `leaf_l0` is the price of: weights that are not 0, or leaves, zero or not (XGBoost's gamma)."
    )
    subsample: float = parameter(1.0, "Share of the rows that a round sees, drawn anew without replacement.", SHARE)
    max_features: int | float | str | None = shared.max_features(more="They are among those of `max_features_tree`.")
    max_features_tree: int | float | str | None = shared.max_features(of="round")
    line_search: bool = parameter(
        False,
        """Go along each tree as far as the objective (loss and penalties of all training rows) decreases, times
        `learning_rate`. The objective then never rises.""",
    )
    monotonic_constraints: Any = parameter(
        None,
        """1: predictions (with two classes: the score of the second) never decrease as the column rises; -1: never
        increase; 0: free. Not with more classes or several quantiles.""",
        "array-like",
        dict,
        None,
        type_words="dict of column names, array-like (p,) or None",
    )
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    early_stopping: bool = shared.early_stopping("loss", "rounds up to the best one")
    warm_start: bool = parameter(
        False,
        """Go on from the committee of the last `fit`, up to `n_estimators` rounds in all. On the same rows, with the
        same integer `random_state`, that gives the bits of one long fit.""",
        after="n_iter_no_change",
    )
    random_state: Any = shared.random_state("the held-out rows, and of the rows and features of rounds")

    # --- what the two learners say -------------------------------------------------------------------------------

    @abstractmethod
    def _rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
        """Check and encode training rows."""

    @abstractmethod
    def _chosen_loss(self) -> Loss:
        """The loss that the parameters ask for."""

    @property
    @abstractmethod
    def _n_classes(self) -> int | None:
        """Number of classes; None of numbers."""

    @property
    @abstractmethod
    def _shared_tree(self) -> bool:
        """One tree for all scores of a round."""

    @abstractmethod
    def _vote(self, voters: Forest | Rounds, weights: F64, loss: Loss, intercept: F64) -> dict[str, Any]:
        """The committee, and what else of the fit depends on the kind of learner, by attribute."""

    # --- the fit -----------------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
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
            Class labels, or numbers that the loss takes.
        sample_weight : array-like (n,), default=None
            Row weights; 0 means absent, k means repeated k times.
        X_val, y_val : table and labels or numbers, default=None
            Held-out rows for early stopping.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a column holds infinity or what can be no feature, `y` is not what the loss takes, parameters
            contradict each other or the data, or a warm start does not fit the committee it goes on from.
        """
        earlier = self._earlier_committee()
        tasks = FitTasks(self, X, y, sample_weight, self.n_estimators - (earlier.n_voters if earlier else 0))
        # nothing here holds on to the rows: once they are binned their weights are not needed any more
        run = self._run(self._rows(X, y, sample_weight), earlier, X_val, y_val)
        tasks.begin()
        while run.n_rounds < self.n_estimators:
            ended = tasks.part("round")
            goes_on = run.round()
            if ended(lambda: self._state(run)) or not goes_on:
                break
        for name, value in self._state(run).items():
            setattr(self, name, value)
        tasks.end(lambda: self._state(run))
        return self

    def _earlier_committee(self) -> Committee | RegressionCommittee | None:
        """The committee that a warm start goes on from."""
        if not self.warm_start or not hasattr(self, "committee_"):
            return None
        if self.n_estimators < self.committee_.n_voters:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {self.committee_.n_voters} rounds that warm_start "
                "goes on from; raise it, or set warm_start=False."
            )
        return self.committee_

    def _run(
        self, rows: Any, earlier: Committee | RegressionCommittee | None, X_val: Any, y_val: ArrayLike | None
    ) -> _Run:
        """Everything made ready for the first round."""
        random = check_random_state(self.random_state)
        rows, held_out = held_out_rows(self, rows, X_val, y_val, random)
        loss, threads = self._chosen_loss(), n_threads(self.n_jobs)
        target, n_scores = _target(loss, rows), loss.n_scores(self._n_classes)
        intercept = np.asarray(loss.best_constant(target.y, target.w, n_scores), dtype=np.float64).reshape(n_scores)
        if earlier is not None:
            self._check_earlier(earlier, loss, n_scores)
            assert earlier.intercept is not None
            intercept = earlier.intercept
        binned = rows.binned(self.table_, self.max_bins, threads)
        F = np.repeat(intercept[:, None], len(rows), axis=1)
        F = F[0] if n_scores == 1 else F
        watch = None
        if held_out is not None:
            watch = LossWatch(_target(loss, held_out), held_out.X, intercept, self.n_iter_no_change)
        if earlier is not None:
            scores_after(earlier.voters, earlier.weights, F, rows.X, threads)
            if watch is not None:
                watch.after_each(earlier.voters, earlier.weights)
        p = binned.codes.shape[1]
        of_tree = n_features_tried(self.max_features_tree, p)
        of_node = min(n_features_tried(self.max_features, p), of_tree)
        if isinstance(self.max_features, (str, float)):
            of_node = n_features_tried(self.max_features, of_tree)
        draws = Draws(int(random.randint(2**31 - 1)), len(rows), p, self.subsample, of_tree, of_node < of_tree)
        rounds = GradientRounds(
            target,
            self._grower(binned, n_scores, of_node, threads),
            F,
            first=earlier.n_voters if earlier else 0,
            shared=self._shared_tree,
            draws=draws,
            learning_rate=self.learning_rate,
            penalty=self._penalty,
            line_search=self.line_search,
            n_threads=threads,
        )
        return _Run(rounds, binned, watch, earlier, loss, intercept, self._n_classes or n_scores)

    @property
    def _penalty(self) -> LeafPenalty:
        return LeafPenalty(self.leaf_l0, self.leaf_l1, self.leaf_l2, per_leaf=self.l0_counts == "leaves")

    def _grower(self, binned: Binned, n_scores: int, max_features: int, threads: int) -> _core.GradientGrower:
        """The kernel that grows the rounds' trees."""
        monotone = directions(self.monotonic_constraints, self.table_)
        if monotone is not None and n_scores > 1:
            raise ValueError(
                f"monotonic_constraints needs a single score, which rises or falls; here each row has {n_scores}. "
                "Set monotonic_constraints=None, or predict two classes or one number."
            )
        penalty = self._penalty
        return _core.GradientGrower(
            binned.codes,
            binned.bins.n_bins,
            binned.bins.categorical,
            n_outputs=n_scores if self._shared_tree else 1,
            max_depth=self.max_depth or 0,
            max_leaf_nodes=self.max_leaf_nodes or 0,
            min_samples_leaf=self.min_samples_leaf,
            min_hessian_leaf=self.min_hessian_leaf,
            leaf_l0=penalty.l0,
            leaf_l1=penalty.l1,
            leaf_l2=penalty.l2,
            l0_per_leaf=penalty.per_leaf,
            min_gain=0.0,
            max_features=max_features,
            growth=self.growth,
            monotone=monotone,
            n_threads=threads,
        )

    def _check_earlier(self, earlier: Committee | RegressionCommittee, loss: Loss, n_scores: int) -> None:
        """A warm start needs the columns, classes and scores of the committee it goes on from."""
        found: dict[str, tuple[Any, Any]] = {
            "columns": (earlier.table, self.table_),
            "link": (earlier.link, loss.link),
            "number of scores": (earlier.voters.n_outputs, n_scores),
        }
        if isinstance(earlier, Committee):
            found["classes"] = (earlier.classes.tolist(), self.classes_.tolist())
        for what, (before, now) in found.items():
            if before != now:
                raise ValueError(
                    f"warm_start goes on from a committee with other {what}: {before!r} then, {now!r} now. Give it the "
                    "same, or set warm_start=False."
                )

    def _state(self, run: _Run) -> dict[str, Any]:
        """Fitted attributes as of now."""
        kept = run.kept
        objectives = None
        if run.rounds.search is not None:
            objectives = np.array(run.rounds.search.objectives[: max(0, kept - run.rounds.first) + 1])
        return {
            "table_": self.table_,
            "n_features_in_": self.n_features_in_,
            "validation_losses_": None if run.watch is None else np.array(run.watch.losses[:kept]),
            "training_objectives_": objectives,
            **self._vote(run.voters(kept), run.weights(kept), run.loss, run.intercept),
        }


@dataclass(eq=False)
class _Run:
    """One call of fit: its rounds, those it goes on from, and what it watches."""

    rounds: GradientRounds
    binned: Binned
    watch: LossWatch | None
    earlier: Committee | RegressionCommittee | None
    loss: Loss
    intercept: F64
    n_classes: int

    @property
    def n_rounds(self) -> int:
        """Rounds so far, earlier ones included."""
        return self.rounds.first + len(self.rounds)

    @property
    def kept(self) -> int:
        """How many of them the committee has: up to the first best one if held-out rows are watched."""
        return self.n_rounds if self.watch is None else self.watch.best

    def round(self) -> bool:
        """One round more; whether there should be others."""
        before = len(self.rounds)
        goes_on = self.rounds.round()
        if self.watch is not None and len(self.rounds) > before:
            step = np.array(self.rounds.steps[before:])
            goes_on &= not self.watch.after(self._grown(before, before + 1), step)
        return goes_on

    def voters(self, kept: int) -> Forest | Rounds:
        """The first `kept` rounds."""
        if self.earlier is None:
            return self._grown(0, kept)
        earlier: Any = self.earlier.voters
        new = kept - len(earlier)
        return joined(earlier, self._grown(0, new)) if new > 0 else earlier[:kept]

    def weights(self, kept: int) -> F64:
        """Their steps."""
        before = [] if self.earlier is None else self.earlier.weights.tolist()
        return np.array([*before, *self.rounds.steps][:kept])

    def _grown(self, first: int, last: int) -> Forest | Rounds:
        return self.rounds.voters(self.binned.bins, self.n_classes, first, last)


def _target(loss: Loss, rows: Rows | TargetRows) -> Target:
    """What is boosted on these rows; refuses targets that the loss does not take."""
    y = rows.labels if isinstance(rows, Rows) else rows.target
    loss.check_target(y)
    return Target(loss, y, None if rows.uniform else rows.weights)
