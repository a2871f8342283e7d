"""QuadBoost: boosting of the quadratic loss under a penalty of the weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from committee.data.labels import scored_classes
from committee.data.number_types import F64, I8
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.data.table_schema import TableSchema
from committee.data.text import warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting
from committee.learners.base.early_stopping import EarlyStopping, HeldOutVotes
from committee.learners.base.estimator import voter_template, weight_argument
from committee.learners.base.parameters import COUNT, NOT_NEGATIVE, POSITIVE, fitted, parameter, with_parameters
from committee.learners.base.predictors import BaseClassifier, BaseRegressor
from committee.learners.boosting.dictionaries import DICTIONARIES, StumpPool, dictionary_parameter
from committee.learners.boosting.pool import ClassifierPool, Pool, RegressorPool
from committee.learners.boosting.quadboost_rounds import QuadRun, Schedule, ScoreTargets, products_pay
from committee.objectives.complexity import rademacher_of_stumps, theory_alpha
from committee.objectives.programs.penalties import PENALTIES, penalty_class
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Identity, MeanLink
from committee.vote.links.probability import Link, Truncated


@with_parameters
class QuadBoost(Boosting):
    _voter_parameter = "dictionary"
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "estimators", "signed", "regressors")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("strength_", "training_risks_", "validation_risks_", "validation_scores_", "evals_result_"),
        "best_iteration_",
    )

    strength_: float = fitted('Strength of the penalty: lambda; for "linf" the bound; 0 without a penalty.', "float")
    training_risks_: F64 = fitted(
        """Quadratic risk (mean squared residual, summed over the scores) before the first round and after each kept
        one, without the penalty.""",
        "float64 array (rounds + 1,)",
    )
    validation_risks_: F64 | None = fitted(
        "`training_risks_` of the held-out rows; None without these, or with `scoring`.",
        "float64 array or None",
    )

    penalty: Literal["l1", "l2", "linf", "kl"] | None = parameter(
        "l1",
        """Penalty of the weights: 2 lambda ||alpha||_1, lambda ||alpha||_2^2, or |alpha_j| <= `alpha_max`. "kl": lambda
        times the Kullback-Leibler divergence of weights below `alpha_max`, scaled to that of "l2" for small weights.
        "l1" keeps the committee small; with the others nearly all voters have weight unless the rounds are limited.""",
        StrOptions(PENALTIES.keys()),
        None,
    )
    _: KW_ONLY
    alpha: float | Literal["theory"] = parameter(
        0.01,
        """The paper's lambda, >= 0, of "l1" and "l2"; that of "kl", > 0. "theory": the paper's values by its risk
        bound, 4 R for "l1" and 8 sqrt(T) R for "l2" (see `theory_alpha`), with R the Rademacher complexity of the
        stumps on these rows, drawn with `random_state`, and T = `n_estimators`; with the default `reweight` far more
        than is best for predictions.""",
        NOT_NEGATIVE,
    )
    alpha_max: float = parameter(
        0.3,
        """Largest absolute weight of a voter, > 0, with "linf" and "kl"; with ``reweight="none"``, the largest that one
        round gives it.""",
        POSITIVE,
    )
    n_estimators: int = parameter(
        1000, "Most rounds. A voter may be chosen again, so there may be fewer voters.", COUNT
    )
    dictionary: Any = dictionary_parameter(
        """Voters to choose from, voting -1 or +1 (stumps also 0, on missing values). "stumps": `n_thresholds` of a
        column, or as many of its heaviest categories, each against the others. "all_stumps": every threshold between
        bins, every subset of categories. "trees": grown on the signs of the residuals weighted with their absolute
        values. Any classifier whose ``fit`` takes ``sample_weight`` is trained in the same way. A regressor is fitted
        to the residuals over their root mean square, and votes with its predictions; its ``fit`` must take
        ``sample_weight`` only if rows weigh differently.""",
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
        """Treatment of the weights that voters have. "chosen": the weight of a voter that is chosen again is set anew,
        after its own part is taken out of the vote. "none": they stay; such a voter counts as one more, and its weights
        add up, so that with "l2" and "linf" the number of rounds matters more than the penalty. "every_k",
        "fully_corrective": after every `reweight_interval` rounds, or after each one, all are set to the optimum over
        the voters present: LASSO, ridge, or least squares in a box, on the matrix of votes.""",
    )
    reweight_interval: int = parameter(10, """Rounds between two re-weightings, for "every_k".""", COUNT)
    fit_intercept: bool = shared.fit_intercept()
    tol: float = parameter(
        1e-4,
        """The rounds end when no voter can lower the penalised risk by more than ``tol**2`` of the target's mean
        square. 0: when none can lower it.""",
        Interval(Real, 0.0, 1.0, closed="left"),
    )
    categorical_features: Any = shared.categorical_features()
    early_stopping: bool = shared.early_stopping("quadratic risk", "weights of the best round")
    random_state: Any = shared.random_state("the held-out rows and of the members")

    _tol_is_of_training = True

    @abstractmethod
    def target_of(self, rows: Any) -> ScoreTargets:
        """Return the target scores and normalised weights of rows."""

    def training_target(self, rows: Any) -> ScoreTargets:
        """Return the target scores of training rows."""
        return self.target_of(rows)

    @abstractmethod
    def committee_of(self, voters: Any, weights: F64, start: F64, count: float) -> Committee | RegressionCommittee:
        """Return the committee of weighted voters with intercepts `start`."""

    @abstractmethod
    def link_of(self, count: float) -> Link | MeanLink:
        """Return the link of a committee that was trained on `count` rows."""

    def _check_parameters(self) -> None:
        regressor = hasattr(self.dictionary, "__sklearn_tags__") and is_regressor(self.dictionary)
        if not regressor:  # which is trained without weights where rows weigh alike
            super()._check_parameters()

    @property
    def _takes_sparse(self) -> bool:
        return self.dictionary in ("stumps", "all_stumps")

    def _run(self, rows: Any, random: np.random.RandomState) -> QuadRun:
        run = self._score_runs(rows, self.training_target(rows), int(random.randint(2**31 - 1)))
        run.count, run.most = rows.count, self.n_estimators
        if hasattr(self, "_skl_callbacks"):
            run.rounds_at_once = 1
        return run

    def _early_stopping(self, run: QuadRun, held_out: Any) -> EarlyStopping:
        return EarlyStopping(self._held_out_risk(run, held_out), self.n_iter_no_change, first=0)

    def _held_out_votes(self, run: QuadRun, held_out: Any) -> HeldOutVotes:
        risk = self._held_out_risk(run, held_out)
        return HeldOutVotes(risk.votes_after, risk.total_weight, self.link_of(run.count))

    def _held_out_risk(self, run: QuadRun, held_out: Any) -> HeldOutRisk:
        run.rounds_at_once = 1
        return HeldOutRisk(run, held_out.cells, self.target_of(held_out))

    def _fitted(self, run: QuadRun, n_rounds: int, losses: F64 | None) -> dict[str, Any]:
        members, weights, intercept = run.committee(n_rounds)
        return {
            "committee_": self.committee_of(members, weights, intercept, run.count),
            "strength_": self.strength_,
            "training_risks_": run.training_risks(n_rounds),
            "validation_risks_": None if losses is None else losses[: n_rounds + 1],
        }

    def _warn(self, run: QuadRun, fitted: dict[str, Any]) -> None:
        runs = run.runs
        missed = max(one.missed for one in runs)
        if missed > 0.0:
            warn_user(
                f"A re-weighting ended {missed:.2g} from its optimum (the distance of 0 to the subdifferential), which "
                "nearly equal voters may cause; its weights are the best found. Raise tol.",
                ConvergenceWarning,
            )
        if fitted["committee_"].weights.any():
            return
        largest = max(one.largest / (one.scale or 1.0) for one in runs)
        why = "no voter was found that is correlated with y"
        if largest > 1e-12:
            kind, size = penalty_class(self.penalty), max(one.largest for one in runs)
            by_tol = largest <= self.tol  # such voters lower the risk too little for a round even without a penalty
            by_penalty = not by_tol or (self.penalty == "l1" and size <= self.strength_)
            limit = f"{self.penalty} with strength {self.strength_:.3g}" if by_penalty else f"tol={self.tol:g}"
            remedy = " and ".join([f"{kind.weakens} {kind.parameter}"] * by_penalty + ["lower tol"] * by_tol)
            why = f"{limit} admits no voter, as the largest correlation of a voter with y is {size:.3g}; {remedy}"
        warn_user(f"The committee has no voter of any weight: {why}.")

    def _score_runs(self, rows: Any, target: ScoreTargets, seed: int) -> QuadRun:
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

        def theory() -> float:
            if not isinstance(pools[0], StumpPool):
                raise ValueError(
                    f"alpha='theory' needs the complexity of the voters, which is known for stumps; dictionary="
                    f"{self.dictionary!r} has none. Set alpha to a number, or dictionary to 'stumps' or 'all_stumps'."
                )
            options: Any = {"sample_weight": rows.weights, "constant": self.fit_intercept, "random_state": seed}
            complexity = rademacher_of_stumps(pools[0].dictionary, pools[0].cells, len(rows), **options).estimate
            return theory_alpha(str(self.penalty), complexity, self.n_estimators)

        penalty = penalty_class(self.penalty).of(self.alpha, self.alpha_max, theory)
        self.strength_ = penalty.strength
        if isinstance(pools[0], StumpPool) and products_pay(len(rows), pools[0].dictionary, self.n_estimators * K):
            return QuadRun.on_products(pools[0], target, penalty, schedule, threads)
        return QuadRun.on_residuals(pools, target, penalty, schedule)

    def _pools_of_estimator(self, rows: Any, target: ScoreTargets, seed: int) -> list[Pool]:
        seeds, w, count = range(seed, seed + target.n_outputs), target.weights, rows.count
        if is_regressor(self.dictionary):
            voter = voter_template("dictionary", self.dictionary, self.table_, numbers=True)
            given = None if rows.equal_weights else rows.weights
            if given is not None and weight_argument(voter) is None:
                raise ValueError(
                    f"rows weigh differently, and dictionary={self.dictionary!r} takes no weights: its fit has no "
                    "sample_weight. Choose another regressor, or give all rows equal weights."
                )
            return [RegressorPool(voter, rows.cells, k, w, given, centred=self.fit_intercept) for k in seeds]
        voter = voter_template("dictionary", self.dictionary, self.table_)
        centre = w if self.fit_intercept else None

        def scaled(weights: F64) -> F64:
            return np.asarray(count * weights / weights.sum())

        return [ClassifierPool(voter, rows.cells, k, scaled, centre) for k in seeds]


class HeldOutRisk:
    """Held-out mean squared residual, summed over scores, after t rounds; call it for each t in turn."""

    def __init__(self, run: QuadRun, X: F64, target: ScoreTargets) -> None:
        self.run: QuadRun = run
        self.target: ScoreTargets = target
        self.rows = run.pools[0].read(X)
        trained = run.target
        start = trained.y @ trained.weights if trained.intercept else np.zeros(trained.n_outputs)
        self.residual: F64 = target.y - start[:, None]
        # kept beside the residuals: their rounding depends on the targets, so it would break ties of scores unfairly
        self.scores: F64 = np.repeat(start[:, None], target.y.shape[1], axis=1)
        self.weight: list[dict[int, float]] = [{} for _ in run.runs]
        self._votes: dict[tuple[int, int], I8 | F64] = {}

    def __call__(self, t: int) -> float:
        self._advance(t)
        return float((self.residual**2 @ self.target.weights).sum())

    def votes_after(self, t: int) -> F64:
        self._advance(t)
        return self.scores.T

    def total_weight(self, t: int) -> float:
        voters = sum(abs(weight) for weights in self.weight for weight in weights.values())
        return float(voters) + float(self.target.intercept)

    def _advance(self, t: int) -> None:
        for k, run in enumerate(self.run.runs):
            if not 0 < t <= len(run.history):
                continue
            voters, weights = run.history.changes(t - 1)
            for j, new in zip(voters.tolist(), weights.tolist(), strict=True):
                step = new - self.weight[k].get(j, 0.0)
                if not step:
                    continue
                self.weight[k][j] = new
                candidate = self.run.candidate(k, j)
                if (k, j) not in self._votes:
                    self._votes[k, j] = self.run.pools[k].votes_on(self.rows, candidate)
                change = step * (self._votes[k, j] - (candidate.mean if self.target.intercept else 0.0))
                self.residual[k] -= change
                self.scores[k] += change


@with_parameters
class QuadBoostClassifier(BaseClassifier, QuadBoost):
    """QuadBoost: a vote fitted by penalised least squares, one voter at a time.

    Each round chooses the voter that lowers the penalised quadratic risk most, with its best weight. By its correlation
    with the residual, mu - M = (1/n) sum_i h(x_i) (y_i - F(x_i)), and eta = (1/n) sum_i h(x_i)^2, this weight is:

    ====== =============================================================
    none   (mu - M) / eta
    l1     soft(mu - M, lambda) / eta
    l2     (mu - M) / (eta + lambda)
    linf   (mu - M) / eta, within +-alpha_max
    kl     a tanh(v), eta a tanh(v) + lambda a v = mu - M, with a = alpha_max
    ====== =============================================================

    Row weights do not change, so that rounds over a finite dictionary need only the products of voters, not the rows.
    More than two classes: each against the rest, over one dictionary. `QuadBoostClassifierCV` chooses the strength,
    `quadboost_path` computes the committees of all strengths.

    Attributes
    ----------
    committee_ : Committee
        The voters. One of negative weight is replaced by its complement, unless it is a user's estimator. Two classes:
        votes are classes. More: votes are scores -1, 0, +1 of one class. Votes of regressors are numbers.

    Warns
    -----
    UserWarning
        If no voter has any weight, as when `alpha` is too large.
    ConvergenceWarning
        If a re-weighting ends before its optimum.

    Notes
    -----
    Probabilities are (1 + F)/2, as p_1 - p_0 minimises the quadratic loss, truncated at half of Laplace's estimate for
    a class that none of n rows has.

    References
    ----------
    L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille, J.-F. Roy. Efficient learning of ensembles with
    QuadBoost. Sections 3 and 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import QuadBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = QuadBoostClassifier(alpha=0.02).fit(X[::2], y[::2])
    >>> model.committee_.n_voters, model.score(X[1::2], y[1::2]) > 0.9
    (31, True)
    """

    _: KW_ONLY
    random_state: Any = shared.random_state('the held-out rows, the members and the signs behind ``alpha="theory"``')

    def target_of(self, rows: Rows) -> ScoreTargets:
        y = signs_of(rows.labels, len(self.classes_))
        return ScoreTargets(y, rows.weights / rows.weights.sum(), self.fit_intercept, labels=len(y) == 1)

    def committee_of(self, voters: Any, weights: F64, start: F64, count: float) -> Committee:
        intercept = start if self.fit_intercept else None
        return classes_committee(self.classes_, voters, weights, intercept, count, self.table_)

    def link_of(self, count: float) -> Truncated:
        return class_link(count, len(self.classes_))


def signs_of(labels: NDArray[np.uint16], n_classes: int) -> F64:
    """Return 1 for rows of a scored class and -1 for others, ``(1, n)`` or ``(K, n)``."""
    return np.where(labels == np.array(scored_classes(n_classes))[:, None], 1.0, -1.0)


def classes_committee(
    classes: NDArray[Any], voters: Any, weights: F64, start: F64 | None, count: float, table: TableSchema
) -> Committee:
    intercept = start
    if start is not None and len(start) == 1 and voters.kind == "label":
        intercept = np.array([-0.5, 0.5]) * start
    return Committee(voters, weights, classes, class_link(count, len(classes)), table, intercept)


def class_link(count: float, n_classes: int) -> Truncated:
    return Truncated(floor=0.5 / (count + n_classes))


@with_parameters
class QuadBoostRegressor(BaseRegressor, QuadBoost):
    """QuadBoost for numbers: voters of -1 and +1, or regressors, weighted by penalised least squares.

    The rounds of `QuadBoostClassifier`, with real targets: F(x) = F_0 + sum_t alpha_t h_t(x). With stumps this is an
    additive model, a step function of each column.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The voters, with positive weights unless they are a user's estimators.

    References
    ----------
    P. Buehlmann, B. Yu (2003). Boosting with the L2 loss. JASA 98. The penalties are those of `QuadBoostClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import QuadBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuadBoostRegressor(alpha=2.0).fit(X[::2], y[::2])
    >>> model.committee_.n_voters, model.score(X[1::2], y[1::2]) > 0.4
    (28, True)
    """

    _: KW_ONLY
    alpha: float = parameter(
        0.01,
        """The paper's lambda, >= 0, of "l1" and "l2"; that of "kl", > 0. The lambda of "l1" is in units of the target,
        with which it should be scaled; that of "l2" and "kl" has no units.""",
        NOT_NEGATIVE,
    )
    alpha_max: float = parameter(
        0.3,
        """Largest absolute weight of a voter, > 0, in units of the target, with "linf" and "kl"; with
        ``reweight="none"``, the largest that one round gives it. It should be scaled with the target.""",
        POSITIVE,
    )

    def training_target(self, rows: TargetRows) -> ScoreTargets:
        if len(rows) < 2:
            raise ValueError(f"n_samples={len(rows)}: X has too few rows of positive weight; give at least two.")
        return self.target_of(rows)

    def target_of(self, rows: TargetRows) -> ScoreTargets:
        weights = rows.weights / rows.weights.sum()
        return ScoreTargets(rows.target[None], weights, self.fit_intercept, labels=False)

    def committee_of(self, voters: Any, weights: F64, start: F64, count: float) -> RegressionCommittee:
        intercept = start if self.fit_intercept else None
        return RegressionCommittee(voters, weights, self.link_of(count), self.table_, intercept)

    def link_of(self, count: float) -> Identity:
        return Identity()
