"""Fit of gradient boosting: parameters, rows, early stopping and warm starts of its classifier and regressor."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from committee import _core
from committee.data.bins import Binned
from committee.data.matrices import SparseMatrix
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting
from committee.learners.base.early_stopping import EarlyStopping
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import NOT_NEGATIVE, SHARE, fitted, parameter, required, with_parameters
from committee.learners.base.row_sampling import RowUnits
from committee.learners.base.warm_start import WarmStart
from committee.learners.gradient import constraints
from committee.learners.gradient.leaf_values import LeafPenalty, LineFit
from committee.learners.gradient.line_search import LineSearch
from committee.learners.gradient.rounds import Draws, GradientRun, RowsInMemory, ScoredRows, TreeVoters
from committee.learners.gradient.shards import RowsOnShards, ShardedCodes
from committee.learners.gradient.target import Target, constant_scores, refits, scores_after
from committee.learners.gradient.validation import (
    PartedRows,
    added_votes,
    binned_loss,
    held_out_votes,
    n_trials,
    parts,
    rate_by_trials,
)
from committee.objectives.losses import Derivatives, Loss, LossChoice
from committee.objectives.losses.base import PlainGradient
from committee.voters.growing import features_per_tree_and_node
from committee.voters.linear_leaves import LinearLeaves

if TYPE_CHECKING:
    from committee.learners.base.early_stopping import HeldOutVotes
    from committee.vote.committee import Committee, RegressionCommittee


LEAF_L2 = "Penalty of the leaf weights: half of this times w_j^2; the same of the slopes of lines."
OF_THE_TREE = "They are among those of `max_features_tree`."
LEAVES_BY_ROWS = ((50_000, 63), (10_000, 31), (0, 15))
"""Least number of rows and number of leaves of a tree, measured in docs/defaults.md."""


def leaves_by_rows(n: float) -> int:
    return next(leaves for rows, leaves in LEAVES_BY_ROWS if n >= rows)


@with_parameters
class GradientBoosting(WarmStart, Boosting):
    """Base of the two learners: rounds on a loss, and warm starts."""

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "rounds", "linear_leaves")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("validation_losses_", "validation_scores_", "best_iteration_", "training_objectives_"),
        *("seed_", "learning_rate_"),
    )

    validation_losses_: F64 | None = fitted(
        """Mean held-out loss after each round, with early stopping or `X_val`, unless `scoring` is used; None
        without held-out rows. Of the squared error it is half the mean square.""",
        "float64 array or None",
    )
    training_objectives_: F64 | None = fitted(
        """With line search: the objective over the training weight, before the first and after each round of the
        last call of `fit`.""",
        "float64 array or None",
    )
    learning_rate_: float = fitted("Step of each round, before any line search.", "float")
    seed_: int = fitted(
        """`random_state`, or a seed drawn from it: a warm start holds the same rows out as the fit before it.""", "int"
    )

    loss: LossChoice = required("Loss that is boosted.", str, Loss, callable)
    n_estimators: int = shared.n_estimators(200, "early stopping ends the run, or a round changes nothing")
    _: KW_ONLY
    learning_rate: float | Literal["auto"] = parameter(
        "auto",
        """Shrinks every step, in (0, 10]; smaller steps need more rounds. "auto": one or two short runs with large
        steps, each on three of four parts of the rows, find the total step of least loss on the other part, and
        `n_estimators` rounds share it; 0.1 with early stopping or line search, and for a loss without value.""",
        Interval(Real, 0.0, 10.0, closed="right"),
    )
    max_leaf_nodes: int | Literal["auto"] | None = parameter(
        "auto",
        """Most leaves of a tree; `growth` is the order of splits. "auto": 15, 31 from 10,000 rows on and 63 from
        50,000 on; a row of weight k counts as k. None: no limit.""",
        shared.LEAVES,
    )
    max_depth: int | None = shared.max_depth()
    growth: Literal["leaf", "depth"] = parameter(
        "leaf", "Node that is split next while `max_leaf_nodes` allows: the one that gains most, or level by level."
    )
    min_samples_leaf: int = shared.min_samples_leaf(5, "Each counts once, whatever it weighs.")
    min_hessian_leaf: float = parameter(
        1e-3, "Least sum of hessians of a leaf. For losses whose hessian is 1 it is a weight of rows.", NOT_NEGATIVE
    )
    leaf_l0: float = parameter(
        0.0, "Penalty of each leaf weight w_j that is not 0. Above 0 a leaf may abstain: weigh exactly 0.", NOT_NEGATIVE
    )
    leaf_l1: float = parameter(0.0, "Penalty of the leaf weights: this times |w_j|.", NOT_NEGATIVE)
    leaf_l2: float = parameter(1.0, LEAF_L2, NOT_NEGATIVE)
    leaf: Literal["auto", "constant", "linear"] = parameter(
        "auto",
        """Values of leaves: a weight ("constant"), or a weight and a line along each number that the path to the leaf
        splits on ("linear"; docs/gradient-boosting.md). "auto": lines where numbers are predicted, which are often
        smooth; constants for classes, and where there can be no lines: for losses whose leaves are medians or
        quantiles, with a line search, with monotone constraints, and for sparse rows.""",
    )
    l0_counts: Literal["weights", "leaves"] = parameter(
        "weights", "`leaf_l0` is the price of weights that are not 0, or of leaves, zero or not (XGBoost's gamma)."
    )
    subsample: float = parameter(
        0.7, "Share of the rows of each round, drawn anew without replacement: each with this probability.", SHARE
    )
    max_features: int | float | str | None = shared.max_features(0.5, OF_THE_TREE)
    max_features_tree: int | float | str | None = shared.max_features(of="round")
    extra_trees: bool = parameter(
        False,
        """A node tries one random threshold, or category, of each column, in place of all; drawn among those that leave
        `min_samples_leaf` rows on both sides.""",
    )
    newton: bool = parameter(
        True,
        """Leaves take Newton steps, by the hessians of the loss. False: each tree is fitted to the antigradient by
        least squares and its leaves hold means, as in the first gradient boosting; `line_search` then finds the step,
        up to Newton's step along the tree where the loss has a curvature of its own. Medians and quantiles of leaves
        are not taken either.""",
    )
    line_search: bool = parameter(
        False,
        """Step along each tree to the least objective (loss and penalties of all training rows), times `learning_rate`.
        The objective then never rises.""",
    )
    monotonic_constraints: Any = parameter(
        None,
        """1: predictions (with two classes: the score of the second) never decrease as the column rises; -1: never
        increase; 0: free. With more classes each has a score, and directions of its own: ``{class: {column: 1}}``, or
        one row for each class. The probability of a class never decreases where its score must not and all others' must
        not increase. With several numbers they hold for each, or are a list with one row or dict for each. Several
        scores need a tree each, see `tree`.""",
        "array-like",
        dict,
        None,
        type_words="dict of columns, by name or number, or of classes with such dicts or arrays; array-like (p,) or "
        "(D, p); or None",
    )
    interaction_constraints: Any = parameter(
        None,
        """Columns whose effects may depend on each other: groups of columns, by name or number. The splits on a path
        from the root of a tree to a leaf use columns of one group; a column may be in several, and those in none are
        one more group. "pairwise": any two columns; "no_interactions": one, so that the score is a sum of functions of
        one column each. As scikit-learn's `interaction_cst`.""",
        StrOptions({"pairwise", "no_interactions"}),
        *(list, tuple, np.ndarray, None),
        type_words='{"pairwise", "no_interactions"}, sequence of groups of columns, or None',
    )
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    early_stopping: bool = parameter(
        False,
        """Stop when the loss on held-out rows has not improved for `n_iter_no_change` rounds, and keep the rounds up to
        the best one. Held out are `X_val`, `y_val` of `fit`, or a `validation_fraction`; then the leaves of the rounds
        that are kept are refitted on all rows, splits as they are.""",
    )
    warm_start: bool = parameter(
        False,
        """Go on from the committee of the last `fit`, up to `n_estimators` rounds in all. On the same rows, with the
        same integer `random_state`, that gives the bits of one long fit.""",
        after="n_iter_no_change",
    )
    random_state: Any = shared.random_state("the held-out rows, and of the rows and features of rounds")

    @abstractmethod
    def _chosen_loss(self) -> Loss: ...

    @property
    @abstractmethod
    def _n_classes(self) -> int | None:
        # None where numbers are predicted
        ...

    @property
    @abstractmethod
    def _shared_tree(self) -> bool: ...

    @abstractmethod
    def _vote(self, voters: TreeVoters, weights: F64, loss: Loss, intercept: F64) -> dict[str, Any]: ...

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def _draws_rows(self) -> bool:
        return self.subsample < 1.0 or self.learning_rate == "auto" or self.early_stopping

    def _most_tasks(self, X: Any) -> int:
        earlier = self._earlier_committee()
        return self.n_estimators - (earlier.n_voters if earlier else 0)

    def _opened(self, tasks: FitTasks, X: Any, y: Any, sample_weight: Any, checkpoint: Any) -> Any:
        rows = super()._opened(tasks, X, y, sample_weight, checkpoint)
        if self.monotonic_constraints is not None:
            columns = constraints.columns_with_directions(self.monotonic_constraints)
            constraints.refuse_ambiguous(columns, X, "monotonic_constraints")
        if self.interaction_constraints is not None:
            columns = constraints.columns_in_groups(self.interaction_constraints)
            constraints.refuse_ambiguous(columns, X, "interaction_constraints")
        return rows

    # --- the rounds -------------------------------------------------------------------------------------------------

    def _run(self, rows: Any, random: np.random.RandomState) -> GradientRun:
        parted = rows if isinstance(rows, PartedRows) else None
        rows = rows if parted is None else parted.rows
        given, earlier, threads = self._chosen_loss(), self._earlier_committee(), n_threads(self.n_jobs)
        loss = given if self.newton else PlainGradient(given)
        whole = Target.of(loss, rows)
        n_scores = whole.n_scores(self._n_classes)
        monotone = self._directions(n_scores)
        if rows.is_remote:
            self._check_on_shards(loss)
        line_fit = self._line_fit(rows, loss, monotone is not None)
        if line_fit is not None:
            rows.need_cells()
        binned = rows.binned(self.table_, self.max_bins, threads)
        seed = int(random.randint(2**31 - 1))
        trials = self._trials(rows, parted, seed)
        units = parted.units if parted else trials[0].units if trials else None
        if units is None and self.subsample < 1.0:
            units = RowUnits.of(rows, seed, threads)
        of_tree, of_node = features_per_tree_and_node(self.max_features_tree, self.max_features, rows.X.shape[1])
        max_leaf_nodes = leaves_by_rows(rows.count) if self.max_leaf_nodes == "auto" else self.max_leaf_nodes or 0
        grower = self._grower(binned, n_scores, monotone, of_node, max_leaf_nodes, threads)

        def run(parted: PartedRows | None, rate: float) -> GradientRun:
            target = whole if parted is None or not self.line_search else parted.weighted_target(loss)
            if earlier is None:
                intercept = (whole if parted is None else parted.training_target(loss)).best_constant(n_scores)
            else:
                intercept = self._earlier_intercept(earlier, loss, n_scores, lines=line_fit is not None)
            training = None if parted is None else ~parted.held
            drawn = None if training is None and self.subsample == 1.0 else units
            draws = Draws(seed, rows.X.shape[1], self.subsample, of_tree, of_node > 0, drawn, training)
            search = None
            scored: ScoredRows
            if isinstance(binned.codes, ShardedCodes):
                shards = binned.codes.shards(whole, grower.n_outputs)
                scored = RowsOnShards(shards, binned.codes.new_run(), whole, grower, intercept, draws, line_fit)
            else:
                F = constant_scores(intercept, len(rows))
                if earlier is not None:
                    scores_after(earlier.voters, earlier.weights, F, rows.cells, threads)
                X = None if line_fit is None else rows.dense
                scored = RowsInMemory(target, grower, F, binned, line_fit, X, threads)
                if self.line_search:
                    search = LineSearch(replace(target, loss=given), self._penalty, F, threads, newton=self.newton)
            return GradientRun(
                target,
                scored,
                binned.bins,
                self._n_classes or n_scores,
                intercept=intercept,
                earlier=earlier,
                shared=self._shared_tree,
                draws=draws,
                learning_rate=rate,
                search=search,
            )

        if self.learning_rate != "auto":
            self.learning_rate_ = self.learning_rate
        elif earlier is None:
            self.learning_rate_ = rate_by_trials(trials, run, self.n_estimators)
        return run(parted, self.learning_rate_)

    def _earlier_intercept(
        self, earlier: Committee | RegressionCommittee, loss: Loss, n_scores: int, *, lines: bool
    ) -> F64:
        kinds = ("constant", "linear")
        leaves = kinds[isinstance(earlier.voters, LinearLeaves)], kinds[lines]
        scores = (earlier.voters.n_outputs, n_scores)
        self._check_earlier(earlier, link=(earlier.link, loss.link), leaves=leaves, **{"number of scores": scores})
        assert earlier.intercept is not None
        return earlier.intercept

    def _check_on_shards(self, loss: Loss) -> None:
        kinds = (
            ("warm_start=True", self.warm_start, "fit all rounds at once"),
            ("line_search=True", self.line_search, "set line_search=False"),
            (f"loss={self.loss!r}, whose leaves are medians or quantiles", refits(loss), "take loss='huber'"),
        )
        for name, is_there, remedy in kinds:
            if is_there:
                raise ValueError(
                    f"{name} needs all rows on one machine, and these are on the workers of a cluster; {remedy}, or "
                    "fit on one machine: committee.scan reads a table that does not fit in its memory."
                )

    def _trials(self, rows: Rows | TargetRows, parted: PartedRows | None, seed: int) -> list[PartedRows]:
        no_value = isinstance(self._chosen_loss(), Derivatives)
        if self.learning_rate != "auto" or self.line_search or parted or no_value or self._earlier_committee():
            return []
        units = RowUnits.of(rows, seed, n_threads(self.n_jobs))
        held = parts(units, _labels(rows))[: n_trials(rows.count)]
        return [PartedRows(rows, units, each) for each in held]

    def _line_fit(self, rows: Rows | TargetRows, loss: Loss, monotone: bool) -> LineFit | None:
        hindrances = (
            ("line_search=True", self.line_search),
            ("monotonic_constraints", monotone),
            (f"loss={self.loss!r}, whose leaves are medians or quantiles", refits(loss)),
            ("sparse rows", isinstance(rows.X, SparseMatrix)),
        )
        hindrance = next((name for name, is_there in hindrances if is_there), None)
        if self.leaf == "linear" and hindrance is not None:
            raise ValueError(f"leaf='linear' does not go with {hindrance}; set leaf='constant', or change that.")
        if self.leaf == "constant" or hindrance is not None or (self.leaf == "auto" and self._n_classes is not None):
            return None
        return LineFit((self.table_.n_categories == 0).astype(np.uint8), self.leaf_l2)

    @property
    def _penalty(self) -> LeafPenalty:
        return LeafPenalty(self.leaf_l0, self.leaf_l1, self.leaf_l2, per_leaf=self.l0_counts == "leaves")

    def _directions(self, n_scores: int) -> NDArray[np.int8] | None:
        if self.monotonic_constraints is None:
            return None
        classes = None if self._n_classes is None else self.classes_
        monotone = constraints.directions_of_scores(self.monotonic_constraints, self.table_, n_scores, classes)
        if monotone is not None and n_scores > 1 and self._shared_tree:
            raise ValueError(
                f"monotonic_constraints needs a tree for each score, but the {n_scores} of a row share theirs; set "
                f"tree='{'per_target' if classes is None else 'per_class'}', or monotonic_constraints=None."
            )
        return monotone

    def _grower(
        self,
        binned: Binned,
        n_scores: int,
        monotone: NDArray[np.int8] | None,
        max_features: int,
        max_leaf_nodes: int,
        threads: int,
    ) -> _core.GradientGrower:
        limits = None
        if self.interaction_constraints is not None:
            limits = constraints.interactions(self.interaction_constraints, self.table_)
        return _core.GradientGrower(
            None if isinstance(binned.codes, ShardedCodes) else binned.codes,
            binned.bins.n_bins,
            binned.bins.categorical,
            n_outputs=n_scores if self._shared_tree else 1,
            max_depth=self.max_depth or 0,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            min_hessian_leaf=self.min_hessian_leaf,
            leaf_l0=self.leaf_l0,
            leaf_l1=self.leaf_l1,
            leaf_l2=self.leaf_l2,
            l0_per_leaf=self.l0_counts == "leaves",
            min_gain=0.0,
            max_features=max_features,
            growth=self.growth,
            monotone=monotone,
            max_interaction=limits.most if limits else 0,
            interaction_groups=limits.groups if limits else [],
            draw_thresholds=self.extra_trees,
            n_threads=threads,
        )

    # --- held-out rows ----------------------------------------------------------------------------------------------

    def _hold_out(self, rows: Any, random: np.random.RandomState) -> tuple[Any, Any]:
        units = RowUnits.of(rows, int(random.randint(2**31 - 1)), n_threads(self.n_jobs))
        held = units.held_out(self.validation_fraction, _labels(rows))
        if held is None:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} holds out none of {len(rows)} rows, as one of each "
                "class must remain. Raise it, give X_val and y_val, or set early_stopping=False."
            )
        rows, self.table_ = rows.encode_levels_from(units.rows_of(~held)[0], self.table_)
        parted = PartedRows(rows, units, held)
        return parted, parted

    def _early_stopping(self, run: GradientRun, held_out: Rows | TargetRows | PartedRows) -> EarlyStopping:
        patience = self.n_iter_no_change
        if isinstance(held_out, PartedRows) and run.earlier is None:
            rows, target = held_out.held_target(run.target.loss)
            return EarlyStopping(lambda t: target.mean_loss(run.scored.scores(rows)), patience)
        held_out = held_out.held_rows() if isinstance(held_out, PartedRows) else held_out
        cells = held_out.cells
        if run.earlier is not None or run.scored.line_fit is not None or isinstance(cells, SparseMatrix):
            return EarlyStopping(added_votes(run, held_out, cells), patience)
        return EarlyStopping(binned_loss(run, held_out, cells, n_threads(self.n_jobs)), patience)

    def _stopping(self, run: GradientRun, held_out: Any, scoring: Any) -> EarlyStopping:
        if scoring is not None and isinstance(held_out, PartedRows):
            held_out = held_out.held_rows()
        return super()._stopping(run, held_out, scoring)

    def _held_out_votes(self, run: GradientRun, held_out: Rows | TargetRows) -> HeldOutVotes:
        return held_out_votes(run, held_out, held_out.cells)

    def _after_stopping(self, run: GradientRun, held_out: Any, n_rounds: int) -> None:
        if isinstance(held_out, PartedRows) and not self.warm_start:
            whole = Target.of(run.target.loss, held_out.rows)
            run.replay(whole, self._penalty, whole.best_constant(len(run.intercept)), n_rounds)

    def _warn(self, run: GradientRun, fitted: dict[str, Any]) -> None:
        n = run.scored.n_rows
        if n < 2 * self.min_samples_leaf and not fitted["committee_"].feature_importances_.any():
            warnings.warn(
                f"The model is a constant: {n} training rows cannot be parted into two leaves of "
                f"min_samples_leaf={self.min_samples_leaf}. Lower it.",
                stacklevel=4,
            )

    def _fitted(self, run: GradientRun, n_rounds: int, losses: F64 | None) -> dict[str, Any]:
        objectives = None
        if run.search is not None:
            objectives = np.array(run.search.objectives[: max(0, n_rounds - run.n_earlier) + 1])
        return {
            "validation_losses_": None if losses is None else losses[:n_rounds],
            "training_objectives_": objectives,
            **self._vote(run.voters(0, n_rounds), run.weights(0, n_rounds), run.target.loss, run.intercept),
        }


def _labels(rows: Rows | TargetRows) -> NDArray[np.uint16] | None:
    return rows.labels if isinstance(rows, Rows) else None
