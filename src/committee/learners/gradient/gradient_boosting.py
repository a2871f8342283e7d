"""Gradient boosting with penalised leaves: classes by any loss of classes, numbers by any loss of numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, astuple, replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from committee.data.columns import refuse_ambiguous
from committee.data.matrices import SparseMatrix
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.data.text import warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.early_stopping import NO_GROUP, EarlyStopping
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import (
    COUNT,
    FRACTION,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    fitted,
    parameter,
    with_parameters,
)
from committee.learners.base.predictors import WarmStart
from committee.learners.base.row_sampling import RowUnits
from committee.learners.gradient import constraints
from committee.learners.gradient.gradient_fit import LEAST_SCREENED, GradientFit
from committee.learners.gradient.leaf_values import LeafPenalty, LeafRefitting
from committee.learners.gradient.rounds import GradientRun, binned_loss
from committee.learners.gradient.target import LossBoosting, OffsetClassifier, OffsetRegressor, PartedRows, Target
from committee.learners.gradient.trial_table import TrialTable
from committee.learners.gradient.trials import (
    CLASSES,
    FEATURES_OF_NODE,
    FEWEST_ROUNDS,
    MOST_ROUNDS,
    NUMBERS,
    ROWS_OF_ROUND,
    check_chosen,
    table_of_trials,
)
from committee.objectives.losses import (
    Derivatives,
    Loss,
    LossChoice,
    Quantile,
    Quantiles,
    classification_loss,
    regression_loss,
)

LEAF_L2 = "Penalty of the leaf weights: half of this times w_j^2; the same of the slopes of lines."
OF_THE_TREE = "They are among those of `max_features_tree`."
AUTO_DRAWS = """"auto": all if the trials of `learning_rate` show that draws do harm, else"""


def rows_of_round(default: float | Literal["auto"]) -> float | Literal["auto"]:
    text = f"""Share of the rows of each round, drawn anew without replacement: each with this probability. {AUTO_DRAWS}
        {ROWS_OF_ROUND}."""
    return parameter(default, text, SHARE, StrOptions({"auto"}))


@with_parameters
class GradientBoosting(WarmStart, LeafRefitting, TrialTable):
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "rounds", "linear_leaves")
    first_parameters: ClassVar[tuple[str, ...]] = (
        *("loss", "learning_rate", "max_leaf_nodes", "early_stopping", "random_state"),
    )
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *LossBoosting.stored_attributes,
        *("seed_", "learning_rate_", "max_leaf_nodes_", "subsample_", "max_features_", "trials_"),
    )

    _takes_sparse = True

    learning_rate_: float = fitted("Step of each round of the last `fit`; with line search, its factor.", "float")
    max_leaf_nodes_: int = fitted("Most leaves of a tree; 0 for any number.", "int")
    subsample_: float = fitted("Share of the rows of a round.", "float")
    max_features_: int = fitted("Columns drawn for each node; 0 for all.", "int")
    trials_: dict[str, list[float]] | None = fitted(
        """Trials of settings in their order, as columns of a table: the settings, `rounds` with large steps until the
        held-out `loss`, or minus the score by `scoring`, was least, the `gain` on the first trial (by a scorer that of
        jackknife estimates of the score), and its `standard_error`. If 5 rounds or fewer are best, the last trial takes
        steps a quarter as large, and four of its rounds count as one. None without trials. `trials_frame` has them as a
        data frame.""",
        "dict or None",
    )
    seed_: int = fitted(
        """`random_state`, or the seed drawn from it, or computed: a warm start holds out the same rows as the fit
        before.""",
        "int",
    )

    n_estimators: int | Literal["auto"] = parameter(
        "auto",
        f"""Most rounds; fewer when early stopping ends the run, or a round without random draws changes nothing.
        "auto": {FEWEST_ROUNDS}, or up to {MOST_ROUNDS} where the total step that the trials of `learning_rate` find
        takes more rounds of {CLASSES.rate}, of {NUMBERS.rate} for numbers; for more than two classes of many rows at
        least {FEWEST_ROUNDS // 2}, of a larger rate (docs/gradient-boosting.md); with early stopping and without
        trials {MOST_ROUNDS}. A warm start with "auto" adds none.""",
        COUNT,
        StrOptions({"auto"}),
    )
    _: KW_ONLY
    learning_rate: float | Literal["auto"] = parameter(
        "auto",
        """Factor of every step, in (0, 10]; smaller steps need more rounds. "auto": up to four short runs with large
        steps, each on three of four parts of the rows, find the total step of least loss on the other part, and
        `n_estimators` rounds share it; 0.1 if early stopping holds out a `validation_fraction`, with line search, for
        a loss without value, and for too few rows. Such trials also choose `n_estimators`, `max_leaf_nodes`,
        `subsample` and `max_features` where these are "auto".""",
        Interval(Real, 0.0, 10.0, closed="right"),
    )
    max_leaf_nodes: int | Literal["auto"] | None = parameter(
        "auto",
        """Most leaves of a tree; `growth` is the order of splits. "auto": 15, 31 from 10,000 rows on and 63 from
        50,000 on (a row of weight k counts as k), or the next one or two of 15, 31, 63, 127, 255 if the trials of
        `learning_rate` show that they pay. None: no limit.""",
        shared.LEAVES,
    )
    max_depth: int | None = shared.max_depth()
    growth: Literal["leaf", "depth"] = parameter(
        "leaf", "Node that is split next while `max_leaf_nodes` allows: the one that gains most, or level by level."
    )
    min_samples_leaf: int = shared.min_samples_leaf(5)
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
        splits on ("linear"; docs/gradient-boosting.md). "auto": lines where numbers are predicted; constants for
        classes, and where there can be no lines: for losses whose leaves are medians or quantiles, with a line search,
        `max_delta_step` or monotone constraints, and for sparse rows.""",
    )
    l0_counts: Literal["weights", "leaves"] = parameter(
        "weights", "`leaf_l0` is the price of weights that are not 0, or of leaves, zero or not (XGBoost's gamma)."
    )
    max_delta_step: float | None = parameter(
        None,
        """Largest size of a leaf weight, before the step; splits gain what weights within it gain. With several targets
        it is in units of the root of their dispersion. None: no limit.""",
        POSITIVE,
    )
    subsample: float | Literal["auto"] = rows_of_round("auto")
    max_features: int | float | str | None = shared.max_features(
        "auto", f"{OF_THE_TREE} {AUTO_DRAWS} {FEATURES_OF_NODE}.", auto=True
    )
    max_features_tree: int | float | str | None = shared.max_features(
        "auto",
        f""""auto": all; if they are more than m = max({LEAST_SCREENED:,}, n / 2) for n rows, in all rounds of a fit
        the same m whose best split of all training rows gains most (not with `feature_weights` or
        `monotonic_constraints`, nor for rows on workers).""",
        of="round",
        auto=True,
    )
    feature_weights: Any = shared.feature_weights()
    extra_trees: bool | float | Literal["auto"] = parameter(
        "auto",
        """Nodes try one random threshold, or category, of each column, in place of all; drawn among those that leave
        `min_samples_leaf` rows on both sides. A number is the share of the trees with such nodes. "auto": all where
        leaves with lines predict numbers; else 2 / 3 below 50,000 rows, and none from there on.""",
        "boolean",
        SHARE,
        StrOptions({"auto"}),
    )
    newton: bool = parameter(
        True,
        """Leaves take Newton steps, by the hessians of the loss. False: each tree is fitted to the antigradient by
        least squares and its leaves hold means (shrunk by `leaf_l2`), as in the first gradient boosting;
        ``line_search=True`` then steps at most as far as Newton's step along the tree where the loss has a curvature
        of its own. Medians and quantiles of leaves are not taken either.""",
    )
    line_search: bool = parameter(
        False,
        """Step along the trees of each round to the least objective (loss and penalties of all training rows), times
        `learning_rate`. The objective then never rises.""",
    )
    monotonic_constraints: Any = parameter(
        None,
        """1: predictions (with two classes: the score of the second) never decrease as the column rises; -1: never
        increase; 0: free. With more classes each has a score, and directions of its own: ``{class: {column: 1}}``, or
        one row for each class. The probability of a class never decreases if its score must not decrease and all other
        scores must not increase. With several numbers they hold for each, or are a list with one row or dict for each.
        Several scores need a tree each, see `tree`.""",
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
    max_bins: int | Literal["auto"] = shared.max_bins_by_rows()
    categorical_features: Any = shared.categorical_features()
    early_stopping: bool = parameter(
        False,
        """Stop when the loss on held-out rows has not improved for `n_iter_no_change` rounds, and keep the rounds up to
        the best one. Held out are `X_val`, `y_val` of `fit`, or a `validation_fraction`. After a fraction was held out,
        and without `warm_start`, leaves of the rounds that are kept are refitted on all rows, splits as they are.""",
    )
    scoring: Any = shared.scoring(
        "early stopping and the trials of `learning_rate` follow",
        """It needs held-out rows: those of early stopping or trials, `X_val` and `y_val`, or `return_train_score`. On
        small tables trials by "accuracy" gain 0.3 points of it, with a log loss 24 % higher; early stopping by it loses
        3 points.""",
    )
    warm_start: bool = parameter(
        False,
        """Go on from the committee of the last `fit`, up to `n_estimators` rounds in all. On the same rows, with the
        same integer `random_state`, a number as `learning_rate` and no early stopping, that gives the bits of one long
        fit; "auto" keeps the rate of the first fit.""",
        after="n_iter_no_change",
    )
    random_state: Any = shared.random_state("the held-out rows, and of the rows, features and thresholds of rounds")

    @property
    @abstractmethod
    def _shared_tree(self) -> bool: ...

    @property
    def _takes_groups(self) -> bool:
        return super()._takes_groups or (self.learning_rate == "auto" and not self.line_search)

    @property
    def _draws_rows(self) -> bool:
        return self.subsample == "auto" or self.subsample < 1.0 or self.learning_rate == "auto" or self.early_stopping

    @property
    def _scores_trials(self) -> bool:
        has_value = not isinstance(self._chosen_loss(), Derivatives)
        return self.learning_rate == "auto" and not self.line_search and has_value

    def _most_tasks(self, X: Any) -> int | None:
        earlier = self._earlier_committee()
        if self.n_estimators == "auto":
            return None if earlier is None else 0
        return self.n_estimators - (earlier.n_voters if earlier else 0)

    def _opened(self, tasks: FitTasks, X: Any, y: Any, sample_weight: Any, checkpoint: Any) -> Any:
        rows = super()._opened(tasks, X, y, sample_weight, checkpoint)
        if self.monotonic_constraints is not None:
            columns = constraints.columns_with_directions(self.monotonic_constraints)
            refuse_ambiguous(columns, X, "monotonic_constraints")
        if self.interaction_constraints is not None:
            columns = constraints.columns_in_groups(self.interaction_constraints)
            refuse_ambiguous(columns, X, "interaction_constraints")
        return self._by_earlier_columns(rows, X, tasks.sample_weight)

    # --- the rounds -------------------------------------------------------------------------------------------------

    def _run(self, rows: Any, random: np.random.RandomState) -> GradientRun:
        parted = rows if isinstance(rows, PartedRows) else None
        rows = rows if parted is None else parted.rows
        fit = GradientFit(self, rows, parted, int(random.randint(2**31 - 1)), n_threads(self.n_jobs))
        chosen = fit.chosen()
        if fit.earlier is None or self.learning_rate != "auto":
            self.learning_rate_ = chosen.learning_rate
        if fit.earlier is None:
            self.trials_ = table_of_trials(chosen.trials) if chosen.trials else None
        self.max_leaf_nodes_, self.subsample_, self.max_features_ = astuple(chosen.settings)
        run = fit.run(parted, self.learning_rate_, chosen.settings)
        run.most_rounds = chosen.most
        return run

    def _most_rounds(self, run: Any) -> int:
        return int(run.most_rounds)

    @property
    def n_estimators_(self) -> int:
        """Number of rounds."""
        return int(self.committee_.n_voters)

    @property
    def _penalty(self) -> LeafPenalty:
        return LeafPenalty(self.leaf_l0, self.leaf_l1, self.leaf_l2, per_leaf=self.l0_counts == "leaves")

    # --- held-out rows ----------------------------------------------------------------------------------------------

    def _hold_out(self, rows: Any, random: np.random.RandomState) -> tuple[Any, Any]:
        units = RowUnits.of(rows, int(random.randint(2**31 - 1)), n_threads(self.n_jobs))
        held = units.held_out(self.validation_fraction, rows.class_numbers, rows.group)
        if held is None and rows.group is not None:
            raise ValueError(NO_GROUP)
        if held is None:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} holds out none of {len(rows)} rows: it is rounded to "
                f"whole rows{'' if self._n_classes is None else ' of each class'}, and one stays. Raise it where there "
                "are more, give X_val and y_val, or set early_stopping=False."
            )
        rows, self.table_ = rows.encode_levels_from(units.rows_of(~held)[0], self.table_)
        parted = PartedRows(rows, units, held)
        return parted, parted

    def _early_stopping(self, run: GradientRun, held_out: Rows | TargetRows | PartedRows) -> EarlyStopping:
        if isinstance(held_out, PartedRows) and run.earlier is None:
            rows, target = held_out.held_target(run.target.loss)
            return EarlyStopping(lambda t: target.mean_loss(run.scored.scores(rows)), self.n_iter_no_change)
        held_out = held_out.held_rows() if isinstance(held_out, PartedRows) else held_out
        if run.earlier is not None or run.scored.line_fit is not None or isinstance(held_out.X, SparseMatrix):
            return super()._early_stopping(run, held_out)
        return EarlyStopping(binned_loss(run, held_out, n_threads(self.n_jobs)), self.n_iter_no_change)

    def _stopping(self, run: GradientRun, held_out: Any, scoring: Any) -> EarlyStopping:
        if scoring is not None and isinstance(held_out, PartedRows):
            held_out = held_out.held_rows()
        return super()._stopping(run, held_out, scoring)

    def _training_curves(self, run: GradientRun, rows: Any, scoring: Any) -> EarlyStopping:
        if isinstance(rows, PartedRows):
            rows = replace(rows, held=~rows.held)
        elif scoring is None and run.earlier is None:
            every = np.arange(len(rows), dtype=np.int32)
            return EarlyStopping(lambda t: run.target.mean_loss(run.scored.scores(every)), None)
        return super()._training_curves(run, rows, scoring)

    def _after_stopping(self, run: GradientRun, held_out: Any, n_rounds: int) -> None:
        if isinstance(held_out, PartedRows) and not self.warm_start:
            whole = Target.of(run.target.loss, held_out.rows)
            run.replay(whole, self._penalty, whole.best_constant(len(run.intercept)), n_rounds)

    def _from_file(self) -> None:
        super()._from_file()
        check_chosen(self)

    def _warn(self, run: GradientRun, fitted: dict[str, Any]) -> None:
        n = run.scored.n_rows
        if n < 2 * self.min_samples_leaf and not fitted["committee_"].feature_importances_.any():
            warn_user(
                f"The model is a constant: {n} training rows cannot be parted into two leaves of "
                f"min_samples_leaf={self.min_samples_leaf}. {'Lower it' if n > 1 else 'Give more rows'}.",
            )


@with_parameters
class GradientBoostingClassifier(OffsetClassifier, GradientBoosting):
    r"""Gradient boosting of trees for classes.

    Each round computes the gradients g and hessians h of the loss at the scores F, grows trees on them, and moves F
    along them: F <- F + a b(x), with the step a = `learning_rate` [1]_, [2]_. With G and H the sums of g and h in a
    leaf [3]_, its weight is

        w = -sign(G) max(|G| - leaf_l1, 0) / (H + leaf_l2),

    or exactly 0 if its gain, s = max(|G| - leaf_l1, 0)^2 / (2 (H + leaf_l2)), does not exceed leaf_l0. Splits gain
    V_left + V_right - V_parent with V = max(0, s - leaf_l0) (see `LeafPenalty`).

    References
    ----------
    .. [1] J. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29(5).
    .. [2] J. Friedman (2002). Stochastic gradient boosting. Computational Statistics & Data Analysis 38(4).
    .. [3] T. Chen, C. Guestrin (2016). XGBoost: a scalable tree boosting system. KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(early_stopping=True, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.94
    True
    """

    _: KW_ONLY
    loss: LossChoice = parameter(
        "log_loss",
        """Loss that is boosted, and with it the link from scores to probabilities. Two classes have one score,
        positive for the second; more have one each. Or a `committee.objectives.losses.Loss`, or a function
        ``(y, F) -> (gradient, hessian)`` (see `committee.objectives.losses.Derivatives`).""",
        *(str, Loss, callable),
        type_words='{"log_loss", "exponential", "probit", "squared_hinge"}, Loss or callable',
    )
    tree: Literal["per_class", "shared"] = parameter(
        "per_class",
        """With more than two classes: a tree for each of them in every round, or one whose leaves hold a number for
        each. Shared trees cost less; trees of their own fit each class better.""",
        after="line_search",
    )

    def _chosen_loss(self) -> Loss:
        return classification_loss(self.loss)

    @property
    def _shared_tree(self) -> bool:
        return self.tree == "shared"


@with_parameters
class GradientBoostingRegressor(OffsetRegressor, GradientBoosting):
    r"""Gradient boosting of trees for numbers: means, medians, counts, amounts, and quantiles that do not cross.

    `y` may have several columns, and predictions as many. Then losses add up, each over the dispersion of its target
    (the variance, of the squared error), so that units do not matter; penalties are of scores in units of the
    dispersion's root.

    The rounds are those of `GradientBoostingClassifier`. For losses without curvature (absolute error, quantiles)
    splits are chosen by gradients alone, and then every leaf that does not abstain gets the constant of least loss for
    its rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(50, loss="quantile", quantile=[0.1, 0.5, 0.9]).fit(X, y)
    >>> low, middle, high = model.predict(X).T
    >>> bool((low <= middle).all() and (middle <= high).all())
    True
    """

    _: KW_ONLY
    loss: LossChoice = parameter(
        "squared_error",
        """"squared_error" (mean), "absolute_error" (median), "quantile", "quantiles", "huber"; "poisson" (counts),
        "gamma" (amounts) and "tweedie" (amounts that may be 0) predict means exp(F). Or a
        `committee.objectives.losses.Loss`, for other numbers than the defaults (``Huber(delta=5.0)``) or a loss of your
        own; or a function
        ``(y, F) -> (gradient, hessian)`` (see `committee.objectives.losses.Derivatives`).""",
        *(str, Loss, callable),
        type_words="str, Loss or callable",
    )
    leaf_l2: float = parameter(20.0, LEAF_L2, NOT_NEGATIVE)
    subsample: float | Literal["auto"] = rows_of_round(ROWS_OF_ROUND)
    max_features: int | float | str | None = shared.max_features(more=OF_THE_TREE)
    quantile: float | Sequence[float] = parameter(
        0.5,
        """For ``loss="quantile"``: level of the predicted quantile. Several, in rising order, also for "quantiles"
        (whose default is 0.1, 0.5, 0.9), are predicted at once, as columns; the numbers of a row are put in order, so
        that they never cross.""",
        FRACTION,
        "array-like",
        type_words="float or sequence of float",
        after="line_search",
    )

    tree: Literal["auto", "shared", "per_target"] = parameter(
        "auto",
        """With several targets or quantiles: one tree in every round, whose leaves hold a number for each, or a tree
        for each of them, which fits each better. "auto": shared for quantiles, per_target for targets.""",
        after="line_search",
    )

    _takes_several_targets = True

    def _chosen_loss(self) -> Loss:
        if self.loss not in ("quantile", "quantiles"):
            return regression_loss(self.loss)
        if isinstance(self.quantile, Real):
            if self.loss == "quantile":
                return Quantile(float(self.quantile))
            if self.quantile != self.declared_parameters["quantile"].default:
                raise ValueError(
                    f"loss='quantiles' predicts several, and quantile={self.quantile!r} is one; give a sequence of "
                    "them, or loss='quantile'."
                )
            return Quantiles()
        levels = tuple(np.asarray(self.quantile, dtype=np.float64).tolist())
        return Quantile(*levels) if len(levels) == 1 else Quantiles(levels)

    @property
    def _shared_tree(self) -> bool:
        return self.tree == "shared" or (self.tree == "auto" and self._chosen_loss().n_scores() > 1)
