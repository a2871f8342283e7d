"""Fit of a gradient booster: columns and data of its trials and rounds, and the settings that trials choose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned
from committee.data.matrices import SparseMatrix
from committee.data.number_types import F64
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix
from committee.data.rows import Rows, TargetRows
from committee.data.table_schema import check_draws, feature_weights
from committee.learners.base.row_sampling import RowUnits
from committee.learners.gradient import constraints
from committee.learners.gradient.leaf_values import LineFit
from committee.learners.gradient.rounds import Draws, GradientRun, LineSearch, RowsInMemory, ScoredRows
from committee.learners.gradient.shards import RowsOnShards, ShardedCodes, check_on_shards
from committee.learners.gradient.target import PartedRows, Target, refits, scores_after
from committee.learners.gradient.trials import (
    FEWEST_ROUNDS,
    MOST_ROUNDS,
    WITHOUT_TRIALS,
    Pace,
    RoundSettings,
    TrialResult,
    TrialScore,
    one_row_in,
    results_of_trials,
    rows_of_trials,
)
from committee.objectives.losses import Derivatives
from committee.objectives.losses.base import PlainGradient
from committee.voters.rounds import LinearLeaves

# share of trees with random thresholds by "auto", and the row count from which it is 0
EXTRA_TREES, EXACT_FROM = 2 / 3, 50_000
LEAST_SCREENED = 1000  # least number of columns that screening leaves


@dataclass(frozen=True, eq=False)
class ChosenRounds:
    most: int
    learning_rate: float
    settings: RoundSettings
    trials: list[TrialResult]


@dataclass(eq=False)
class GradientFit:
    learner: Any
    rows: Any
    parted: PartedRows | None  # `rows`, if some are held out for early stopping
    seed: int
    n_threads: int

    def __post_init__(self) -> None:
        learner, rows = self.learner, self.rows
        self.earlier = learner._earlier_committee()
        self.given = learner._chosen_loss()
        self.loss = self.given if learner.newton else PlainGradient(self.given)
        self.target = Target.of(self.loss, rows)
        self.n_scores = self.target.n_scores(learner._n_classes)
        self.monotone = self._directions()
        if rows.is_remote:
            check_on_shards(self.loss, learner)
        self.line_fit = self._lines()
        if self.line_fit is not None:
            rows.need_cells()
        self.extra_trees = learner.extra_trees
        if self.extra_trees == "auto":
            lines_for_numbers = self.line_fit is not None and learner._n_classes is None
            self.extra_trees = 1.0 if lines_for_numbers else EXTRA_TREES if rows.count < EXACT_FROM else 0.0
        self.binned = rows.binned(learner.table_, learner.max_bins, self.n_threads)
        self.units = None if self.parted is None else self.parted.units
        self.n_screened = n_screened(learner, rows)
        self.of_tree, self.settings = RoundSettings.of(learner, rows, self.earlier, self.n_screened)
        self._screened: dict[PartedRows | None, NDArray[np.int32]] = {}
        self.weights: NDArray[np.uint32] | None = None
        if learner.feature_weights is not None:
            self.weights = feature_weights(learner.feature_weights, learner.table_)
            check_draws(self.weights, self.of_tree, self.settings.max_features)

    def _directions(self) -> NDArray[np.int8] | None:
        learner, n_scores = self.learner, self.n_scores
        if learner.monotonic_constraints is None:
            return None
        classes = None if learner._n_classes is None else learner.classes_
        given = learner.monotonic_constraints, learner.table_, n_scores, classes
        if (monotone := constraints.directions_of_scores(*given)) is not None and n_scores > 1 and learner._shared_tree:
            raise ValueError(
                f"monotonic_constraints needs a tree for each score, but the {n_scores} of a row share theirs; set "
                f"tree='{'per_target' if classes is None else 'per_class'}', or monotonic_constraints=None."
            )
        return monotone

    def _lines(self) -> LineFit | None:
        learner = self.learner
        hindrances = (
            ("line_search=True", learner.line_search),
            ("max_delta_step", learner.max_delta_step is not None),
            ("monotonic_constraints", self.monotone is not None),
            (f"loss={learner.loss!r}, whose leaves are medians or quantiles", refits(self.loss)),
            ("sparse rows", isinstance(self.rows.X, SparseMatrix)),
        )
        hindrance = next((name for name, is_there in hindrances if is_there), None)
        if learner.leaf == "linear" and hindrance is not None:
            raise ValueError(f"leaf='linear' does not go with {hindrance}; set leaf='constant', or change that.")
        unwanted = learner.leaf == "constant" or (learner.leaf == "auto" and learner._n_classes is not None)
        if unwanted or hindrance is not None:
            return None
        return LineFit((learner.table_.n_categories == 0).astype(np.uint8), learner.leaf_l2)

    def _earlier_intercept(self) -> F64:
        earlier, kinds = self.earlier, ("constant", "linear")
        leaves = kinds[isinstance(earlier.voters, LinearLeaves)], kinds[self.line_fit is not None]
        scores = {"number of scores": (earlier.voters.n_outputs, self.n_scores)}
        self.learner._check_earlier(earlier, link=(earlier.link, self.loss.link), leaves=leaves, **scores)
        intercept: F64 = earlier.intercept
        return intercept

    def chosen(self) -> ChosenRounds:
        learner, given = self.learner, self.learner.n_estimators
        rate = WITHOUT_TRIALS if learner.learning_rate == "auto" else learner.learning_rate
        parts: list[PartedRows] = []
        hindered = learner.line_search or self.parted or self.earlier or isinstance(self.given, Derivatives)
        if learner.learning_rate == "auto" and not hindered:
            self.units = RowUnits.of(self.rows, self.seed, self.n_threads)
            tried, one_in = self._of_trials(self.units)
            parts = rows_of_trials(tried.rows, tried.units or self.units)
        if not parts:
            if given == "auto" and self.earlier is not None:
                given = self.earlier.n_voters
            elif given == "auto":
                given = MOST_ROUNDS if learner.early_stopping else FEWEST_ROUNDS
            return ChosenRounds(given, rate, self.settings, [])
        most, pace = None if given == "auto" else int(given), Pace.of(learner._n_classes, one_in)
        without_draws, more_leaves = self.settings.others(learner, self.rows)
        others = without_draws, more_leaves and one_in == 1  # few rows would choose smaller trees
        scoring = getattr(learner, "scoring", None)  # a subclass with another signature may have none

        def scored(parted: PartedRows, run: GradientRun) -> TrialScore:
            return TrialScore(scoring, parted, run, getattr(learner, "classes_", None))

        by_score = None if scoring is None else scored
        best, results = results_of_trials(
            parts, tried.run, pace.most_trial_rounds(most), self.settings, *others, by_score
        )
        if most is None:
            most = pace.most_rounds(best)
        return ChosenRounds(most, pace.learning_rate(best, most), best.settings, results)

    def _of_trials(self, units: RowUnits) -> tuple[GradientFit, int]:
        learner, rows = self.learner, self.rows
        one_in = one_row_in(rows.count, learner._n_classes)
        if one_in == 1 or isinstance(rows.X, OutOfCoreMatrix):
            return self, 1
        some, weights = units.rows_of(units.parts(one_in, rows.class_numbers, rows.group) <= 0)  # with rare classes
        taken = rows.take(some)
        sample = taken if weights is None else replace(taken, weights=weights[some])
        fit = GradientFit(learner, sample, None, self.seed, self.n_threads)
        fit.units, fit.extra_trees = RowUnits.of(sample, self.seed, self.n_threads), self.extra_trees
        fit.n_screened, fit.of_tree = self.n_screened, self.of_tree
        return fit, one_in

    def _columns(self, most: int, parted: PartedRows | None, intercept: F64) -> NDArray[np.int32]:
        # by the training rows alone, as held-out rows would choose columns that suit them; once for all trials
        if parted not in self._screened:
            target, learner = self.target if parted is None else parted.weighted_target(self.loss), self.learner
            F = target.first_scores(intercept)
            gradient, hessian = np.empty_like(F), np.empty_like(F)
            target.write_gradients(F, target.w, gradient, hessian, self.n_threads)
            sums = gradient, hessian, target.w, most, learner.min_samples_leaf, learner.leaf_l2
            self._screened[parted] = screened_columns(self.binned, *sums, self.n_threads)
        return self._screened[parted]

    def run(self, parted: PartedRows | None, rate: float, settings: RoundSettings) -> GradientRun:
        learner, rows, whole, binned, threads = self.learner, self.rows, self.target, self.binned, self.n_threads
        if self.units is None and settings.subsample < 1.0:
            self.units = RowUnits.of(rows, self.seed, threads)
        grower = self._grower(settings)
        if self.earlier is None:
            trained = whole if parted is None else parted.training_target(self.loss)
            intercept = trained.best_constant(self.n_scores)
        else:
            intercept = self._earlier_intercept()
        training = None if parted is None else ~parted.held
        units = None if training is None and settings.subsample == 1.0 else self.units
        draws = Draws(
            *(self.seed, rows.X.shape[1], settings.subsample, self.of_tree),
            by_node=settings.max_features > 0,
            units=units,
            training=training,
            feature_weights=self.weights,
            columns=None if self.n_screened is None else self._columns(self.n_screened, parted, intercept),
            thresholds=self.extra_trees > 0.0,
        )
        target, search = whole, None
        scored: ScoredRows
        if isinstance(binned.codes, ShardedCodes):
            shards = binned.codes.shards(whole, grower.n_outputs)
            scored = RowsOnShards(shards, binned.codes.new_run(), whole, grower, intercept, draws, self.line_fit)
        else:
            F = whole.first_scores(intercept)
            if self.earlier is not None:
                scores_after(self.earlier.voters, self.earlier.weights, F, rows.cells, threads)
            if learner.line_search:
                target = whole if parted is None else parted.weighted_target(self.loss)
                loss = replace(target, loss=self.given)
                search = LineSearch(loss, learner._penalty, F, threads, newton=learner.newton)
            X = None if self.line_fit is None else rows.dense
            scored = RowsInMemory(target, grower, F, binned, self.line_fit, X, threads)
        return GradientRun(
            *(target, scored, binned.bins, learner._n_classes or self.n_scores, intercept, self.earlier),
            *(learner._shared_tree, draws, rate, search),
        )

    def _grower(self, settings: RoundSettings) -> _core.GradientGrower:
        learner, binned = self.learner, self.binned
        more: dict[str, Any] = {} if learner.max_delta_step is None else {"max_weight": float(learner.max_delta_step)}
        more |= {} if self.weights is None else {"feature_weights": self.weights}
        limits = constraints.Interactions()
        if learner.interaction_constraints is not None:
            limits = constraints.interactions(learner.interaction_constraints, learner.table_)
        return _core.GradientGrower(
            None if isinstance(binned.codes, ShardedCodes) else binned.codes,
            binned.bins.n_bins,
            binned.bins.categorical,
            n_outputs=self.n_scores if learner._shared_tree else 1,
            max_depth=learner.max_depth or 0,
            max_leaf_nodes=settings.max_leaf_nodes,
            min_samples_leaf=learner.min_samples_leaf,
            min_hessian_leaf=learner.min_hessian_leaf,
            leaf_l0=learner.leaf_l0,
            leaf_l1=learner.leaf_l1,
            leaf_l2=learner.leaf_l2,
            l0_per_leaf=learner.l0_counts == "leaves",
            min_gain=0.0,
            max_features=settings.max_features,
            growth=learner.growth,
            monotone=self.monotone,
            max_interaction=limits.most,
            interaction_groups=limits.groups,
            draw_thresholds=self.extra_trees,
            **more,
            n_threads=self.n_threads,
        )


# --- screening of columns ---------------------------------------------------------------------------------------------


def n_screened(learner: Any, rows: Rows | TargetRows) -> int | None:
    if learner.max_features_tree != "auto" or learner.feature_weights is not None:
        return None
    if learner.monotonic_constraints is not None:  # the best split may have a direction that trees may not
        return None
    most = max(LEAST_SCREENED, int(rows.count) // 2)
    return most if most < rows.X.shape[1] and not rows.is_remote else None


def screened_columns(
    binned: Binned, gradient: F64, hessian: F64, w: F64 | None, most: int, least: int, l2: float, n_threads: int
) -> NDArray[np.int32]:
    """Return, ascending, the `most` columns whose best split of the rows gains most; of equals the first [1]_.

    Gradients and hessians, ``(n,)`` or ``(D, n)``, include the weights `w`; rows of weight 0 are absent. A split leaves
    at least `least` rows on both sides.

    References
    ----------
    .. [1] J. Fan, J. Lv (2008). Sure independence screening for ultrahigh dimensional feature space. JRSS B 70(5).
    """
    rows = None if w is None else np.flatnonzero(w > 0.0).astype(np.int32)
    codes, n_bins, categorical = binned.codes, binned.bins.n_bins, binned.bins.categorical
    gain = _core.first_split_gains(codes, n_bins, categorical, gradient, hessian, rows, least, l2, n_threads)
    return np.sort(np.argsort(-gain, kind="stable")[:most]).astype(np.int32)
