"""QuadBoost of any target: what its classifier and its regressor do alike."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import Interval, StrOptions

from committee.data.parallel import n_threads
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeClassifier, CommitteeEstimator
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.held_out import held_out_rows
from committee.learners.base.parameters import COUNT, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from committee.learners.base.shared_parameters import EarlyStoppingParameters
from committee.learners.pools.classifier_pool import ClassifierPool
from committee.learners.pools.dictionaries import check_voter, stumps_binned, trees_binned
from committee.learners.pools.pool import Pool
from committee.learners.pools.stump_pool import StumpPool
from committee.learners.pools.tree_pool import TreePool
from committee.learners.quadboost.gram_run import Schedule
from committee.learners.quadboost.quad_voters import QuadVoters, ScoreTargets, products_pay
from committee.learners.quadboost.risk_watch import RiskWatch
from committee.objectives.complexity import rademacher_of_stumps, theory_alpha
from committee.objectives.programs.penalties import PENALTIES, Penalty, penalty_class
from committee.voters.growing import GrowthLimits

if TYPE_CHECKING:
    from sklearn.utils import Tags

F64 = NDArray[np.float64]


@with_parameters
class QuadBoost(CommitteeEstimator, EarlyStoppingParameters):
    """Base of the two learners: rounds on the residual, whatever the targets are."""

    _stored_attributes: ClassVar[tuple[str, ...]] = ("strength_", "training_risks_", "validation_risks_")

    penalty: Literal["l1", "l2", "linf"] | None = parameter(
        "l1",
        """Norm of the weights that is held down: 2 lambda ||alpha||_1, lambda ||alpha||_2^2, or |alpha_j| <=
        `alpha_max`. "l1" keeps the committee small and stops by itself; the others need a limit on the rounds.""",
        StrOptions(PENALTIES.keys()),
        None,
    )
    _: KW_ONLY
    alpha: float | Literal["theory"] = parameter(
        0.01,
        """The paper's lambda, >= 0, of "l1" and "l2". "theory": the value under which the penalised risk is the bound,
        4 R for "l1" and 8 sqrt(T) R for "l2", with R the Rademacher complexity of the stumps on these rows, drawn with
        `random_state`, and T = `n_estimators`; far more than predicts best.""",
        NOT_NEGATIVE,
    )
    alpha_max: float = parameter(
        0.3,
        """Most that a round may give a voter, > 0, with ``penalty="linf"``; unless ``reweight="none"`` most that it
        has.""",
        POSITIVE,
    )
    n_estimators: int = parameter(
        1000, "Most rounds. A voter may be chosen again, so there may be fewer voters.", COUNT
    )
    dictionary: Any = shared.dictionary(
        """What voters there are, all voting -1 or +1 (stumps also 0, on missing values). "stumps": `n_thresholds` of a
        column, and each of its categories against the others. "all_stumps": every threshold between bins, every subset
        of categories. "trees": grown on the signs of the residuals weighted with their sizes. Any classifier whose
        ``fit`` takes ``sample_weight`` is trained in the same way."""
    )
    n_thresholds: int = shared.n_thresholds('For "stumps".')
    thresholds: Literal["quantile", "even"] = shared.thresholds('For "stumps".')
    max_depth: int | None = shared.max_depth(2, 'For "trees".')
    max_leaf_nodes: int | None = shared.max_leaf_nodes(more='For "trees".')
    min_samples_leaf: int = shared.min_samples_leaf(more='For "trees".')
    max_bins: int = shared.max_bins('For "all_stumps" and "trees".')
    reweight: Literal["none", "chosen", "every_k", "fully_corrective"] = parameter(
        "chosen",
        """What becomes of the weights that voters have. "chosen": that of a voter that is chosen again is set anew, its
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

    # --- what the two learners say -------------------------------------------------------------------------------

    @abstractmethod
    def _rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
        """Check and encode training rows."""

    @abstractmethod
    def _target(self, rows: Any) -> ScoreTargets:
        """What is fitted on these rows."""

    @abstractmethod
    def _committee(self, voters: Any, weights: F64, start: F64, count: float) -> dict[str, Any]:
        """The committee, and what else of the fit depends on the kind of learner, by attribute."""

    # --- the fit -----------------------------------------------------------------------------------------------------

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
            Class labels, or numbers.
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
            If no voter can be made of the columns, a column holds infinity or what can be no feature, or
            parameters contradict each other.
        """
        tasks = FitTasks(self, X, y, sample_weight, self.n_estimators)
        check_voter(self.dictionary)
        rows = self._rows(X, y, sample_weight)
        random = check_random_state(self.random_state)
        rows, held_out = held_out_rows(self, rows, X_val, y_val, random)
        target = self._target(rows)
        voters = self._voters(rows, target, int(random.randint(2**31 - 1)))
        watch = None
        if held_out is not None:
            watch = RiskWatch(voters, held_out.X, self._target(held_out), self.n_iter_no_change)
        at_once = 1 if tasks.watched or watch is not None else voters.rounds_at_once
        tasks.begin()
        n_rounds = 0
        with self._blas():
            while n_rounds < self.n_estimators and not all(run.finished for run in voters.runs):
                ended = tasks.part("round")
                more = min(at_once, self.n_estimators - n_rounds)
                for run in voters.runs:
                    run.advance(more)
                n_rounds = max(len(run.history) for run in voters.runs)
                stop = watch is not None and watch.after(n_rounds)
                stop |= ended(partial(self._state, voters, watch, rows.count, n_rounds))
                if stop:
                    break
        state = self._state(voters, watch, rows.count, n_rounds)
        for name, value in state.items():
            setattr(self, name, value)
        self._warn(voters)
        tasks.end(lambda: state)
        return self

    def _blas(self) -> AbstractContextManager[Any]:
        """Many small systems of equations are solved faster by one thread; BLAS does not know of `n_jobs`."""
        if self.reweight not in ("every_k", "fully_corrective"):
            return nullcontext()
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
        return limits

    def _voters(self, rows: Any, target: ScoreTargets, seed: int) -> QuadVoters:
        """Return the voters that the parameters ask for, ready for the first round."""
        threads = n_threads(self.n_jobs)
        every = {"every_k": self.reweight_interval, "fully_corrective": 1}.get(self.reweight, 0)
        schedule = Schedule(self.tol, every, as_new=self.reweight == "none")
        K, count = target.n_outputs, rows.count
        centre = target.weights if self.fit_intercept else None
        pools: Sequence[Pool]
        if self.dictionary in ("stumps", "all_stumps"):
            binned, stumps = stumps_binned(
                rows, self.table_, self.dictionary, self.n_thresholds, self.thresholds, self.max_bins, threads
            )
            pool = StumpPool(binned, stumps, threads, centred=self.fit_intercept)
            penalty = self._penalty(lambda: self._complexity(pool, rows.weights, seed))
            if products_pay(len(rows), stumps, self.n_estimators * K):
                return QuadVoters.on_products(pool, target, penalty, schedule, threads)
            pools = [pool] * K
        else:
            penalty = self._penalty(self._no_complexity)
            if self.dictionary == "trees":
                binned = trees_binned(rows, self.table_, self.max_bins, threads)
                limits = GrowthLimits(self.max_depth, self.max_leaf_nodes, self.min_samples_leaf)
                pools = [TreePool(binned, limits, threads, centre) for _ in range(K)]
            else:
                voter = self._user_voter()

                def scaled(weights: F64) -> F64:
                    return np.asarray(count * weights / weights.sum())

                pools = [ClassifierPool(voter, rows.X, seed + k, scaled, centre) for k in range(K)]
        return QuadVoters.on_residuals(pools, target, penalty, schedule)

    def _penalty(self, complexity: Callable[[], float]) -> Penalty:
        """Return the penalty that the parameters ask for; sets `strength_`."""

        def theory() -> float:
            return theory_alpha(str(self.penalty), complexity(), self.n_estimators)

        penalty = penalty_class(self.penalty).of(self.alpha, self.alpha_max, theory)
        self.strength_ = penalty.strength
        return penalty

    def _complexity(self, pool: StumpPool, weights: F64, seed: int) -> float:
        """Rademacher complexity of the stumps on the training rows."""
        found = rademacher_of_stumps(
            pool.dictionary,
            pool.cells,
            len(weights),
            sample_weight=weights,
            constant=self.fit_intercept,
            random_state=seed,
        )
        return found.estimate

    def _no_complexity(self) -> float:
        raise ValueError(
            f"alpha='theory' needs the complexity of the voters, which is known for stumps; dictionary="
            f"{self.dictionary!r} has none. Set alpha to a number, or dictionary to 'stumps' or 'all_stumps'."
        )

    def _user_voter(self) -> Any:
        """The user's classifier to clone."""
        return CommitteeClassifier._member(cast(CommitteeClassifier, self), "dictionary", self.dictionary)

    def _state(self, voters: QuadVoters, watch: RiskWatch | None, count: float, n_rounds: int) -> dict[str, Any]:
        """Fitted attributes as of now."""
        kept = n_rounds if watch is None else watch.best
        decreases = np.zeros((kept, len(voters.runs)))
        for k, run in enumerate(voters.runs):
            some = run.decreases[:kept]
            decreases[: len(some), k] = some
        start = np.array([run.scale**2 for run in voters.runs])
        members, weights, intercept = voters.committee(kept)
        return {
            "table_": self.table_,
            "n_features_in_": self.n_features_in_,
            "strength_": self.strength_,
            "training_risks_": start.sum() - np.concatenate([[0.0], np.cumsum(decreases.sum(axis=1))]),
            "validation_risks_": None if watch is None else np.array(watch.risks[: kept + 1]),
            **self._committee(members, weights, intercept, count),
        }

    def _warn(self, voters: QuadVoters) -> None:
        """Say why no voter has any weight, or that a re-weighting ended before its optimum."""
        missed = max(run.missed for run in voters.runs)
        if missed > 0.0:
            warnings.warn(
                f"A re-weighting ended {missed:.2g} from its optimum (the distance of 0 to the subdifferential), which "
                "voters that are nearly alike may do; its weights are the best found. Raise tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if self.committee_.weights.any():
            return
        largest = max(run.largest / (run.scale or 1.0) for run in voters.runs)
        why = "no voter goes with y at all"
        if largest > 1e-12:
            kind = penalty_class(self.penalty)
            known = f"the largest correlation of a voter with y is {max(run.largest for run in voters.runs):.3g}"
            remedy = f"{kind.weakens} {kind.parameter}"
            why = f"{self.penalty} with strength {self.strength_:.3g} lets none in, where {known}; {remedy}"
        warnings.warn(f"The committee has no voter of any weight: {why}.", stacklevel=3)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.dictionary, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(self.dictionary).input_tags.allow_nan
        return tags
