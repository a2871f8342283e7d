"""Gradient boosting over any regressor: what its classifier and its regressor do alike."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting
from committee.learners.base.parameters import SHARE, fitted, parameter, required, with_parameters
from committee.learners.base.row_sampling import RowUnits
from committee.learners.base.user_voter import regressor_template, weight_argument
from committee.learners.gradient.functional_run import FunctionalRun, start_scores
from committee.learners.gradient.held_out_rounds import added_votes, held_out_votes
from committee.learners.gradient.leaf import LeafPenalty
from committee.learners.gradient.line_search import LineSearch
from committee.learners.gradient.round_draws import Draws
from committee.learners.gradient.scores import Target
from committee.learners.pools.classifier_pool import Clones
from committee.learners.trees.tree_regressor import TreeRegressor
from committee.objectives.losses import Loss, LossChoice
from committee.voters.regressor_rounds import RegressorRounds
from committee.voters.regressors import RegressorVoters

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from committee.learners.base.early_stopping import EarlyStopping, HeldOutVotes


@with_parameters
class FunctionalGradientBoosting(Boosting):
    """Base of the two learners: rounds of any regressor on the antigradient of a loss."""

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("regressors", "regressor_rounds")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        "validation_losses_",
        "validation_scores_",
        "best_iteration_",
        "training_objectives_",
    )

    validation_losses_: F64 | None = fitted(
        """Mean held-out loss after each round, with early stopping or `X_val`, unless `scoring` is followed; None
        without held-out rows. Of the squared error it is half the mean square.""",
        "float64 array or None",
    )
    training_objectives_: F64 | None = fitted(
        "With line search: mean loss of the training rows before the first round and after each; it never rises.",
        "float64 array or None",
    )

    loss: LossChoice = required("Loss that is boosted.", str, Loss, callable)
    base: Any = parameter(
        None,
        """Base learner: a scikit-learn regressor, of which each round fits a clone for each score. If rows weigh
        differently its ``fit`` must take ``sample_weight``, of a pipeline that of its last step. It sees categories as
        their codes. None: a `TreeRegressor` of depth 3.""",
        HasMethods(["fit", "predict"]),
        None,
        type_words="regressor or None",
    )
    n_estimators: int = shared.n_estimators(100, "early stopping says so, or a round changes nothing")
    _: KW_ONLY
    learning_rate: float = shared.learning_rate(0.1)
    line_search: bool = parameter(
        True,
        """Go along each round's base learners as far as the loss of all training rows decreases, but no further than
        Newton's step along them where the loss has a curvature of its own, times `learning_rate`; the loss then never
        rises. False: the step is `learning_rate`.""",
    )
    subsample: float = parameter(
        1.0, "Share of the rows that a round sees, drawn anew without replacement: each with this probability.", SHARE
    )
    categorical_features: Any = shared.categorical_features()
    early_stopping: bool = shared.early_stopping("loss", "rounds up to the best one")
    random_state: Any = shared.random_state("the held-out rows, the rows of rounds and the base learners")

    # --- one learner's own ---------------------------------------------------------------------------------------

    @abstractmethod
    def _chosen_loss(self) -> Loss:
        """Return the loss that the parameters ask for."""

    @property
    @abstractmethod
    def _n_classes(self) -> int | None:
        """Number of classes; None of numbers."""

    @abstractmethod
    def _vote(self, voters: RegressorVoters | RegressorRounds, weights: F64, loss: Loss, intercept: F64) -> Any:
        """Return the committee."""

    # --- the rounds of both --------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.base is not None and hasattr(self.base, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(self.base).input_tags.allow_nan
        return tags

    def _no_checkpoint(self, X: Any) -> str | None:
        return f"the rounds of a {type(self).__name__} are those of its base learner, which cannot be kept"

    @property
    def _draws_rows(self) -> bool:
        return self.subsample < 1.0

    def _run(self, rows: Rows | TargetRows, random: np.random.RandomState) -> FunctionalRun:
        given = TreeRegressor(max_depth=3) if self.base is None else self.base
        base, threads = regressor_template("base", given, self.table_), n_threads(self.n_jobs)
        target, seed = Target.of(self._chosen_loss(), rows), int(random.randint(2**31 - 1))
        takes_weights = weight_argument(base) is not None
        if not (takes_weights or rows.weigh_alike):
            raise ValueError(
                f"rows weigh differently, and base={self.base!r} takes no weights: its fit has no sample_weight. "
                "Choose another base, or leave sample_weight and class_weight out."
            )
        intercept = target.best_constant(target.n_scores(self._n_classes))
        units = RowUnits.of(rows, seed, threads) if self.subsample < 1.0 else None
        n_features = rows.X.shape[1]
        draws = Draws(seed, n_features, self.subsample, n_features, by_node=False, units=units)
        search = None
        if self.line_search:
            F = start_scores(intercept, len(rows))
            search = LineSearch(target, LeafPenalty(), F, threads, newton=False)
        return FunctionalRun(
            target,
            rows.dense,
            Clones(base, np.random.RandomState(seed)),
            draws,
            intercept,
            weighted=takes_weights and not (rows.weigh_alike and units is None),
            learning_rate=self.learning_rate,
            line_search=search,
            n_classes=self._n_classes or len(intercept),
            n_threads=threads,
        )

    def _early_stopping(self, run: FunctionalRun, held_out: Rows | TargetRows) -> EarlyStopping:
        from committee.learners.base.early_stopping import EarlyStopping

        return EarlyStopping(added_votes(run, held_out, held_out.dense), self.n_iter_no_change)

    def _held_out_votes(self, run: FunctionalRun, held_out: Rows | TargetRows) -> HeldOutVotes:
        return held_out_votes(run, held_out, held_out.dense)

    def _fitted(self, run: FunctionalRun, n_rounds: int, losses: F64 | None) -> dict[str, Any]:
        objectives = None if run.search is None else np.array(run.search.objectives[: n_rounds + 1])
        voters, weights = run.committee(n_rounds)
        return {
            "committee_": self._vote(voters, weights, run.target.loss, run.intercept),
            "validation_losses_": None if losses is None else losses[:n_rounds],
            "training_objectives_": objectives,
        }
