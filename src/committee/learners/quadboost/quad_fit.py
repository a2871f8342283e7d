"""QuadBoost of any target: what its classifier and its regressor do alike."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting
from committee.learners.base.early_stopping import EarlyStopping
from committee.learners.base.parameters import COUNT, NOT_NEGATIVE, POSITIVE, fitted, parameter, with_parameters
from committee.learners.base.user_voter import classifier_template, regressor_template, weight_argument
from committee.learners.pools.classifier_pool import ClassifierPool
from committee.learners.pools.dictionaries import DICTIONARIES, dictionary_parameter
from committee.learners.pools.pool import Pool
from committee.learners.pools.regressor_pool import RegressorPool
from committee.learners.pools.stump_pool import StumpPool
from committee.learners.quadboost.quad_run import HeldOutRisk, QuadRun
from committee.learners.quadboost.quad_voters import QuadVoters, ScoreTargets, products_pay
from committee.learners.quadboost.score_runs import Schedule
from committee.objectives.complexity import rademacher_of_stumps, theory_alpha
from committee.objectives.programs.named_penalties import PENALTIES, penalty_class
from committee.objectives.programs.penalty import Penalty
from committee.vote.committee import Committee
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link
from committee.vote.regression import RegressionCommittee

if TYPE_CHECKING:
    from committee.learners.base.early_stopping import HeldOutVotes


@with_parameters
class QuadBoost(Boosting):
    """Base of the two learners: rounds on the residual, whatever the targets are."""

    _voter_parameter = "dictionary"
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "estimators", "signed", "regressors")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        "strength_",
        "training_risks_",
        "validation_risks_",
        "validation_scores_",
        "best_iteration_",
    )

    strength_: float = fitted("lambda or the bound that was used.", "float")

    penalty: Literal["l1", "l2", "linf", "kl"] | None = parameter(
        "l1",
        """What is held down of the weights: 2 lambda ||alpha||_1, lambda ||alpha||_2^2, or |alpha_j| <= `alpha_max`.
        "kl": lambda times the Kullback-Leibler divergence of weights below `alpha_max`, scaled so that small weights
        cost what "l2" asks. "l1" keeps the committee small and stops by itself; the others need a limit on the
        rounds.""",
        StrOptions(PENALTIES.keys()),
        None,
    )
    _: KW_ONLY
    alpha: float | Literal["theory"] = parameter(
        0.01,
        """The paper's lambda, >= 0, of "l1" and "l2"; that of "kl", > 0. "theory": the value under which the penalised
        risk is the bound, 4 R for "l1" and 8 sqrt(T) R for "l2", with R the Rademacher complexity of the stumps on
        these rows, drawn with `random_state`, and T = `n_estimators`; far more than predicts best.""",
        NOT_NEGATIVE,
    )
    alpha_max: float = parameter(
        0.3,
        """Most that a round may give a voter, > 0, with ``penalty="linf"`` and "kl"; unless ``reweight="none"`` most
        that it has.""",
        POSITIVE,
    )
    n_estimators: int = parameter(
        1000, "Most rounds. A voter may be chosen again, so there may be fewer voters.", COUNT
    )
    dictionary: Any = dictionary_parameter(
        """Voters to choose from, voting -1 or +1 (stumps also 0, on missing values). "stumps": `n_thresholds` of a
        column, and each of its categories against the others. "all_stumps": every threshold between bins, every subset
        of categories. "trees": grown on the signs of the residuals weighted with their sizes. Any classifier whose
        ``fit`` takes ``sample_weight`` is trained in the same way. A regressor is fitted to the residuals, in units of
        their root mean square, and votes with what it predicts; its ``fit`` must take ``sample_weight`` only if rows
        weigh differently.""",
        "classifier or regressor",
    )
    n_thresholds: int = shared.n_thresholds('For "stumps".')
    thresholds: Literal["quantile", "even"] = shared.thresholds('For "stumps".')
    max_depth: int | None = shared.max_depth(2, 'For "trees".')
    max_leaf_nodes: int | None = shared.max_leaf_nodes(more='For "trees".')
    min_samples_leaf: int = shared.min_samples_leaf(more='For "trees".')
    max_bins: int = shared.max_bins('For "all_stumps" and "trees".')
    reweight: Literal["none", "chosen", "every_k", "fully_corrective"] = parameter(
        "chosen",
        """Treatment of the weights that voters have. "chosen": that of a voter that is chosen again is set anew, its
        own part taken out of the vote first. "none": they stay; such a voter counts as one more, and its weights add
        up, which with "l2" and "linf" makes the rounds count and the penalty less. "every_k", "fully_corrective": after
        every `reweight_interval` rounds, or after each one, all are set to the optimum over the voters present: LASSO,
        ridge, or least squares in a box, on the matrix of votes.""",
    )
    reweight_interval: int = parameter(10, """Rounds between two re-weightings, for "every_k".""", COUNT)
    fit_intercept: bool = shared.fit_intercept()
    tol: float = parameter(
        1e-4,
        """The rounds end when no voter can lower the penalised risk by more than ``tol**2`` of the target's mean
        square. 0: never, but for `n_estimators`.""",
        Interval(Real, 0.0, 1.0, closed="left"),
    )
    categorical_features: Any = shared.categorical_features()
    early_stopping: bool = shared.early_stopping("quadratic risk", "weights of the best round")
    random_state: Any = shared.random_state("the held-out rows and of the members")

    # --- one learner's own ---------------------------------------------------------------------------------------

    @abstractmethod
    def target_of(self, rows: Any) -> ScoreTargets:
        """Return the target that is fitted on these rows."""

    @abstractmethod
    def committee_of(self, voters: Any, weights: F64, start: F64, count: float) -> Committee | RegressionCommittee:
        """Return the committee of weighted voters; `count` is how many rows it was trained on."""

    def _check_parameters(self) -> None:
        regressor = hasattr(self.dictionary, "__sklearn_tags__") and is_regressor(self.dictionary)
        if not regressor:  # which is trained without weights where rows weigh alike
            super()._check_parameters()

    @property
    def _takes_sparse(self) -> bool:
        return self.dictionary in ("stumps", "all_stumps")

    @abstractmethod
    def link_of(self, count: float) -> Link | MeanLink:
        """Return the link of a committee that was trained on `count` rows."""

    # --- the rounds of both --------------------------------------------------------------------------------------

    def _run(self, rows: Any, random: np.random.RandomState) -> QuadRun:
        voters = self._voters(rows, self.target_of(rows), int(random.randint(2**31 - 1)))
        return QuadRun(voters, rows.count, self.n_estimators, hasattr(self, "_skl_callbacks"))

    @property
    def _one_blas_thread(self) -> bool:  # type: ignore[override]
        return self.reweight in ("every_k", "fully_corrective")

    def _early_stopping(self, run: QuadRun, held_out: Any) -> EarlyStopping:
        return EarlyStopping(self._held_out_risk(run, held_out), self.n_iter_no_change, first=0)

    def _held_out_votes(self, run: QuadRun, held_out: Any) -> HeldOutVotes:
        from committee.learners.base.early_stopping import HeldOutVotes

        risk = self._held_out_risk(run, held_out)
        return HeldOutVotes(risk.votes_after, risk.total_weight, self.link_of(run.count))

    def _held_out_risk(self, run: QuadRun, held_out: Any) -> HeldOutRisk:
        run.one_by_one = True
        return HeldOutRisk(run.voters, held_out.cells, self.target_of(held_out))

    def _fitted(self, run: QuadRun, n_rounds: int, losses: F64 | None) -> dict[str, Any]:
        members, weights, intercept = run.voters.committee(n_rounds)
        return {
            "committee_": self.committee_of(members, weights, intercept, run.count),
            "strength_": self.strength_,
            "training_risks_": run.training_risks(n_rounds),
            "validation_risks_": None if losses is None else losses[: n_rounds + 1],
        }

    def _warn(self, run: QuadRun, fitted: dict[str, Any]) -> None:
        """Warn that no voter has any weight, and why, or that a re-weighting ended before its optimum."""
        runs = run.voters.runs
        missed = max(one.missed for one in runs)
        if missed > 0.0:
            warnings.warn(
                f"A re-weighting ended {missed:.2g} from its optimum (the distance of 0 to the subdifferential), which "
                "voters that are nearly alike may do; its weights are the best found. Raise tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if fitted["committee_"].weights.any():
            return
        largest = max(one.largest / (one.scale or 1.0) for one in runs)
        why = "no voter goes with y at all"
        if largest > 1e-12:
            kind = penalty_class(self.penalty)
            known = f"the largest correlation of a voter with y is {max(one.largest for one in runs):.3g}"
            remedy = f"{kind.weakens} {kind.parameter}"
            why = f"{self.penalty} with strength {self.strength_:.3g} lets none in, where {known}; {remedy}"
        warnings.warn(f"The committee has no voter of any weight: {why}.", stacklevel=4)

    def _voters(self, rows: Any, target: ScoreTargets, seed: int) -> QuadVoters:
        """Return the voters that the parameters ask for, ready for the first round."""
        threads = n_threads(self.n_jobs)
        every = {"every_k": self.reweight_interval, "fully_corrective": 1}.get(self.reweight, 0)
        schedule = Schedule(self.tol, every, as_new=self.reweight == "none")
        K = target.n_outputs
        centre = target.weights if self.fit_intercept else None
        pools: Sequence[Pool]
        if isinstance(self.dictionary, str):
            known = DICTIONARIES[self.dictionary](rows, self.table_, self, threads)
            first = known.pool(known.binned, centre)
            pools = [first] * K  # one that trains voters counts those of its own score
            if not first.exhaustive:
                pools = [first, *(known.pool(known.binned, centre) for _ in range(1, K))]
        else:
            pools = self._pools_of_estimator(rows, target, seed)
        penalty = self._penalty(lambda: self._complexity(pools[0], rows.weights, seed))
        if isinstance(pools[0], StumpPool) and products_pay(len(rows), pools[0].dictionary, self.n_estimators * K):
            return QuadVoters.on_products(pools[0], target, penalty, schedule, threads)
        return QuadVoters.on_residuals(pools, target, penalty, schedule)

    def _pools_of_estimator(self, rows: Any, target: ScoreTargets, seed: int) -> list[Pool]:
        """Return a pool of clones of the user's classifier or regressor for each score."""
        seeds, w, count = range(seed, seed + target.n_outputs), target.weights, rows.count
        if is_regressor(self.dictionary):
            voter = regressor_template("dictionary", self.dictionary, self.table_)
            given = None if rows.weigh_alike else rows.weights
            if given is not None and weight_argument(voter) is None:
                raise ValueError(
                    f"rows weigh differently, and dictionary={self.dictionary!r} takes no weights: its fit has no "
                    "sample_weight. Choose another regressor, or leave sample_weight and class_weight out."
                )
            return [RegressorPool(voter, rows.cells, k, w, given, centred=self.fit_intercept) for k in seeds]
        voter = classifier_template("dictionary", self.dictionary, self.table_)

        def scaled(weights: F64) -> F64:
            return np.asarray(count * weights / weights.sum())

        centre = w if self.fit_intercept else None
        return [ClassifierPool(voter, rows.cells, k, scaled, centre) for k in seeds]

    def _penalty(self, complexity: Callable[[], float]) -> Penalty:
        """Return the penalty that the parameters ask for; sets `strength_`."""

        def theory() -> float:
            return theory_alpha(str(self.penalty), complexity(), self.n_estimators)

        penalty = penalty_class(self.penalty).of(self.alpha, self.alpha_max, theory)
        self.strength_ = penalty.strength
        return penalty

    def _complexity(self, pool: Pool, weights: F64, seed: int) -> float:
        """Rademacher complexity of the stumps on the training rows."""
        if not isinstance(pool, StumpPool):
            raise ValueError(
                f"alpha='theory' needs the complexity of the voters, which is known for stumps; dictionary="
                f"{self.dictionary!r} has none. Set alpha to a number, or dictionary to 'stumps' or 'all_stumps'."
            )
        found = rademacher_of_stumps(
            pool.dictionary,
            pool.cells,
            len(weights),
            sample_weight=weights,
            constant=self.fit_intercept,
            random_state=seed,
        )
        return found.estimate
