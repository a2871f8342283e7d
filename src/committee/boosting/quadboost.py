"""QuadBoost: boosting of the quadratic loss, its weights held down in the L1, L2 or Linf norm."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import Interval, StrOptions

from committee import _core
from committee.boosting.dictionaries import DICTIONARY_CONSTRAINTS, check_voter, stumps_binned, trees_binned
from committee.boosting.gram_run import Schedule
from committee.boosting.quad_voters import Classifiers, EveryStump, FiniteStumps, QuadVoters, Target, Trees
from committee.boosting.risk_watch import RiskWatch
from committee.boosting.vote_penalty import Penalty
from committee.complexity import rademacher_of_stumps, theory_alpha
from committee.data.frames import TableSchema
from committee.estimator import CommitteeClassifier, CommitteeEstimator, CommitteeRegressor
from committee.fit_tasks import FitTasks
from committee.held_out import held_out_rows
from committee.links import Truncated
from committee.mean_links import Identity
from committee.parallel import N_JOBS, n_threads
from committee.regression_vote import RegressionCommittee
from committee.rows import Rows, TargetRows
from committee.vote import Committee
from committee.voters.growing import GrowthLimits, grower
from committee.voters.stump_dictionary import StumpDictionary

if TYPE_CHECKING:
    from sklearn.utils import Tags

F64 = NDArray[np.float64]

MOST_CELLS = 3000
"""Cells of a table up to which all products of its stumps are kept: two matrices of 72 MB."""


class QuadBoost(CommitteeEstimator):
    """Base of the two learners: rounds on the residual, whatever the targets are."""

    _stored_attributes: ClassVar[tuple[str, ...]] = ("strength_", "training_risks_", "validation_risks_")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [StrOptions({"l1", "l2", "linf"}), None],
        "alpha": [Interval(Real, 0.0, None, closed="left"), StrOptions({"theory"})],
        "alpha_max": [Interval(Real, 0.0, None, closed="neither")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        **DICTIONARY_CONSTRAINTS,
        "reweight": [StrOptions({"none", "chosen", "every_k", "fully_corrective"})],
        "reweight_interval": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, 1.0, closed="left")],
        "categorical_features": "no_validation",
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        penalty: Literal["l1", "l2", "linf"] | None = "l1",
        *,
        alpha: float | Literal["theory"] = 0.01,
        alpha_max: float = 0.3,
        n_estimators: int = 1000,
        dictionary: Any = "stumps",
        n_thresholds: int = 10,
        thresholds: Literal["quantile", "even"] = "quantile",
        max_depth: int | None = 2,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 1,
        max_bins: int = 255,
        reweight: Literal["none", "chosen", "every_k", "fully_corrective"] = "chosen",
        reweight_interval: int = 10,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.alpha_max = alpha_max
        self.n_estimators = n_estimators
        self.dictionary = dictionary
        self.n_thresholds = n_thresholds
        self.thresholds = thresholds
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.reweight = reweight
        self.reweight_interval = reweight_interval
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs

    # --- what the two learners say -------------------------------------------------------------------------------

    @abstractmethod
    def _rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
        """Check and encode training rows."""

    @abstractmethod
    def _target(self, rows: Any) -> Target:
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

    def _voters(self, rows: Any, target: Target, seed: int) -> QuadVoters:
        """The dictionary that the parameters ask for, ready for the first round."""
        threads = n_threads(self.n_jobs)
        every = {"every_k": self.reweight_interval, "fully_corrective": 1}.get(self.reweight, 0)
        schedule = Schedule(self.tol, every, as_new=self.reweight == "none")
        if self.dictionary in ("stumps", "all_stumps"):
            binned, stumps = stumps_binned(
                rows, self.table_, self.dictionary, self.n_thresholds, self.thresholds, self.max_bins, threads
            )
            cells = _core.Cells(binned.codes, binned.bins.n_bins, threads)
            penalty = self._penalty(lambda: self._complexity(stumps, cells, rows.weights, seed))
            small = self._products_pay(len(rows), stumps, target.n_outputs)
            return (FiniteStumps if small else EveryStump)(binned, stumps, target, penalty, schedule, threads)
        penalty = self._penalty(self._no_complexity)
        if self.dictionary == "trees":
            binned = trees_binned(rows, self.table_, self.max_bins, threads)
            limits = GrowthLimits(self.max_depth, self.max_leaf_nodes, self.min_samples_leaf)
            return Trees(binned, grower(binned, "gini", 2, limits, threads), target, penalty, schedule, seed)
        voter = self._user_voter()
        return Classifiers(voter, rows.X, rows.count, target, penalty, schedule, seed)

    def _products_pay(self, n: int, stumps: StumpDictionary, n_outputs: int) -> bool:
        """Whether all products of the stumps cost less than the passes over the table that they save.

        Products take n p^2 / 2 additions and some C^2 for C cells; a pass takes n p, and there is one a round and
        score. Subsets of categories have no list to take products of.
        """
        C, p = int(stumps.offset[-1]), len(stumps.offset) - 1
        listed = not (stumps.subsets and stumps.bins.categorical.any())
        return listed and C <= MOST_CELLS and n * p * p / 2 + 4 * C * C <= 1.0 * n * p * self.n_estimators * n_outputs

    def _penalty(self, complexity: Callable[[], float]) -> Penalty:
        """The penalty that the parameters ask for; sets `strength_`."""
        if self.penalty is None:
            self.strength_ = 0.0
            return Penalty("none")
        if self.penalty == "linf":
            if self.alpha == "theory":
                raise ValueError(
                    "alpha='theory' is for penalty='l1' and 'l2'; penalty='linf' bounds each weight by alpha_max, "
                    "for which the theory names no value. Set alpha_max, and leave alpha as it is."
                )
            self.strength_ = float(self.alpha_max)
            return Penalty("linf", self.strength_)
        if self.alpha == "theory":
            self.strength_ = theory_alpha(self.penalty, complexity(), self.n_estimators)
        else:
            self.strength_ = float(self.alpha)
        return Penalty(self.penalty, self.strength_)

    def _complexity(self, stumps: StumpDictionary, cells: _core.Cells, weights: F64, seed: int) -> float:
        """Rademacher complexity of the stumps on the training rows."""
        found = rademacher_of_stumps(
            stumps, cells, len(weights), sample_weight=weights, constant=self.fit_intercept, random_state=seed
        )
        return found.estimate

    def _no_complexity(self) -> float:
        raise ValueError(
            f"alpha='theory' needs the complexity of the voters, which is known for stumps; dictionary="
            f"{self.dictionary!r} has none. Set alpha to a number, or dictionary to 'stumps' or 'all_stumps'."
        )

    def _user_voter(self) -> Any:
        """The user's classifier to clone."""
        return CommitteeClassifier._member(self, "dictionary", self.dictionary)

    def _state(self, voters: QuadVoters, watch: RiskWatch | None, count: float, n_rounds: int) -> dict[str, Any]:
        """Fitted attributes as of now."""
        kept = n_rounds if watch is None else watch.best
        falls = np.zeros((kept, len(voters.runs)))
        for k, run in enumerate(voters.runs):
            some = run.falls[:kept]
            falls[: len(some), k] = some
        start = np.array([run.scale**2 for run in voters.runs])
        members, weights, intercept = voters.committee(kept)
        return {
            "table_": self.table_,
            "n_features_in_": self.n_features_in_,
            "strength_": self.strength_,
            "training_risks_": start.sum() - np.concatenate([[0.0], np.cumsum(falls.sum(axis=1))]),
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
            lower = "raise alpha_max" if self.penalty == "linf" else "lower alpha"
            known = f"the largest correlation of a voter with y is {max(run.largest for run in voters.runs):.3g}"
            why = f"{self.penalty} with strength {self.strength_:.3g} lets none in, where {known}; {lower}"
        warnings.warn(f"The committee has no voter of any weight: {why}.", stacklevel=3)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.dictionary, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(self.dictionary).input_tags.allow_nan
        return tags


class QuadBoostClassifier(CommitteeClassifier, QuadBoost):
    """QuadBoost: a vote fitted by least squares, one voter at a time, with its weights held down.

    Each round takes the voter whose correlation with the residual, mu - M = (1/n) sum_i h(x_i) (y_i - F(x_i)), lowers
    the penalised quadratic risk most, to the weight that is best for it; with eta = (1/n) sum_i h(x_i)^2:

    ====== ===================================
    none   (mu - M) / eta
    l1     soft(mu - M, lambda) / eta
    l2     (mu - M) / (eta + lambda)
    linf   (mu - M) / eta, within +-alpha_max
    ====== ===================================

    No row weights change and nothing is exponential, which makes rounds cheap: over a finite dictionary they do not
    look at the rows at all, but at products of voters. More than two classes: each against the rest, over one
    dictionary. `QuadBoostClassifierCV` chooses the strength, `quadboost_path` shows all of them.

    Parameters
    ----------
    penalty : {"l1", "l2", "linf"} or None, default="l1"
        Norm of the weights that is held down: 2 lambda ||alpha||_1, lambda ||alpha||_2^2, or |alpha_j| <= `alpha_max`.
        "l1" keeps the committee small and stops by itself; the others need a limit on the rounds.
    alpha : float or "theory", default=0.01
        The paper's lambda, >= 0, of "l1" and "l2". "theory": the value under which the penalised risk is the bound,
        4 R for "l1" and 8 sqrt(T) R for "l2", with R the Rademacher complexity of the stumps on these rows, drawn
        with `random_state`, and T = `n_estimators`; far more than predicts best.
    alpha_max : float, default=0.3
        Most that a round may give a voter, > 0, with ``penalty="linf"``; unless ``reweight="none"`` most that it has.
    n_estimators : int, default=1000
        Most rounds. A voter may be chosen again, so there may be fewer voters.
    dictionary : {"stumps", "all_stumps", "trees"} or classifier, default="stumps"
        What voters there are, all voting -1 or +1 (stumps also 0, on missing values). "stumps": `n_thresholds` of a
        column, and each of its categories against the others. "all_stumps": every threshold between bins, every
        subset of categories. "trees": grown on the signs of the residuals weighted with their sizes. Any classifier
        whose ``fit`` takes ``sample_weight`` is trained in the same way.
    n_thresholds : int, default=10
        Most thresholds of a column (and categories told from the rest), for "stumps".
    thresholds : {"quantile", "even"}, default="quantile"
        Where they lie: the rows shared out evenly, or the range.
    max_depth, max_leaf_nodes : int or None, default=2 and None
        Limits of "trees".
    min_samples_leaf : int, default=1
        Fewest training rows of a leaf, for "trees".
    max_bins : int, default=255
        Most bins of a column, for "all_stumps" and "trees".
    reweight : {"none", "chosen", "every_k", "fully_corrective"}, default="chosen"
        What becomes of the weights that voters have. "chosen": that of a voter that is chosen again is set anew, its
        own part taken out of the vote first. "none": they stay; such a voter counts as one more, and its weights add
        up, which with "l2" and "linf" makes the rounds count and the penalty less.
        "every_k", "fully_corrective": after every `reweight_interval` rounds, or after each one, all are set to the
        optimum over the voters present: LASSO, ridge, or least squares in a box, on the matrix of votes.
    reweight_interval : int, default=10
        Rounds between two re-weightings, for "every_k".
    fit_intercept : bool, default=True
        The score starts at an intercept, which is not penalised. False is the paper's form.
    tol : float, default=1e-4
        The rounds end when no voter can lower the penalised risk by more than ``tol**2`` of the target's mean square.
        0: never, but for `n_estimators`.
    categorical_features : "from_dtype", None, list or mask, default="from_dtype"
        Which columns are categories; "from_dtype": text, categorical and boolean columns of a data frame.
    early_stopping : bool, default=False
        Stop when the quadratic risk of held-out rows has not improved for `n_iter_no_change` rounds, and keep the
        weights of the best round.
    validation_fraction : float, default=0.1
        Share of rows held out, when early stopping is on and no validation set is given.
    n_iter_no_change : int, default=10
        Rounds without improvement that end the run.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, the members' seeds and the signs behind ``alpha="theory"``; otherwise not used.
    n_jobs : int or None, default=None
        Threads; the committee does not depend on it, bit for bit.

    Attributes
    ----------
    committee_ : Committee
        The voters, with positive weights (a voter of negative weight is turned round; a user's classifier keeps its
        sign). Two classes: voters name classes. More: scores -1, 0, +1 in the column of the class they speak of.
    classes_ : array (n_classes,)
    strength_ : float
        lambda or the bound that was used.
    training_risks_ : float64 array (rounds + 1,)
        Quadratic risk before the first round and after each one, summed over the classes; without the penalty.
    validation_risks_ : float64 array or None
        Quadratic risk of the held-out rows before the first round and after each one, with early stopping.
    table_ : TableSchema
        What the columns are.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

    Warns
    -----
    UserWarning
        If no voter has any weight, as when `alpha` is too large.
    ConvergenceWarning
        If a re-weighting ends before its optimum.

    Notes
    -----
    Probabilities are (1 + F)/2, cut off at what n rows cannot tell from 0 and 1: the quadratic loss has
    p_1 - p_0 as its minimiser.

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

    def _target(self, rows: Rows) -> Target:
        y = signs_of(rows.labels, len(self.classes_))
        return Target(y, rows.weights / rows.weights.sum(), self.fit_intercept, labels=len(y) == 1)

    def _committee(self, voters: Any, weights: F64, start: F64, count: float) -> dict[str, Any]:
        intercept = start if self.fit_intercept else None
        return classes_committee(self.classes_, voters, weights, intercept, count, self.table_)


def signs_of(labels: NDArray[np.uint16], n_classes: int) -> F64:
    """Targets -1 and +1: of the second of two classes, or of each class against the rest, ``(K, n)``."""
    numbers = np.arange(1, 2) if n_classes == 2 else np.arange(n_classes)
    return np.where(labels == numbers[:, None], 1.0, -1.0)


def classes_committee(
    classes: NDArray[Any], voters: Any, weights: F64, start: F64 | None, count: float, table: TableSchema
) -> dict[str, Any]:
    """The committee of a classifier, and its classes, by attribute.

    Scores are differences of probabilities. None of these is called less than what `count` rows cannot tell from zero,
    Laplace's estimate of a class that none of them has.
    """
    intercept = start
    if start is not None and len(start) == 1:
        intercept = np.array([-0.5, 0.5]) * start
    link = Truncated(floor=0.5 / (count + len(classes)))
    return {"classes_": classes, "committee_": Committee(voters, weights, classes, link, table, intercept)}


class QuadBoostRegressor(CommitteeRegressor, QuadBoost):
    """QuadBoost on numbers: voters of -1 and +1, weighted to fit the target by penalised least squares.

    The rounds of `QuadBoostClassifier`, with real targets: F(x) = F_0 + sum_t alpha_t h_t(x). With stumps this is an
    additive model, a step function of each column.

    Parameters
    ----------
    penalty : {"l1", "l2", "linf"} or None, default="l1"
        Norm of the weights that is held down: 2 lambda ||alpha||_1, lambda ||alpha||_2^2, or |alpha_j| <= `alpha_max`.
        "l1" keeps the committee small and stops by itself; the others need a limit on the rounds.
    alpha : float, default=0.01
        The paper's lambda, >= 0, of "l1" and "l2", in units of the target: "l1" keeps a voter whose correlation with
        the residual exceeds it. For targets of another scale than 1 it should be scaled with them ("l1").
    alpha_max : float, default=0.3
        Most that a round may give a voter, > 0, with ``penalty="linf"``; unless ``reweight="none"`` most that it has.
    n_estimators : int, default=1000
        Most rounds. A voter may be chosen again, so there may be fewer voters.
    dictionary : {"stumps", "all_stumps", "trees"} or classifier, default="stumps"
        What voters there are, all voting -1 or +1 (stumps also 0, on missing values). "stumps": `n_thresholds` of a
        column, and each of its categories against the others. "all_stumps": every threshold between bins, every
        subset of categories. "trees": grown on the signs of the residuals weighted with their sizes. Any classifier
        whose ``fit`` takes ``sample_weight`` is trained in the same way.
    n_thresholds : int, default=10
        Most thresholds of a column (and categories told from the rest), for "stumps".
    thresholds : {"quantile", "even"}, default="quantile"
        Where they lie: the rows shared out evenly, or the range.
    max_depth, max_leaf_nodes : int or None, default=2 and None
        Limits of "trees".
    min_samples_leaf : int, default=1
        Fewest training rows of a leaf, for "trees".
    max_bins : int, default=255
        Most bins of a column, for "all_stumps" and "trees".
    reweight : {"none", "chosen", "every_k", "fully_corrective"}, default="chosen"
        What becomes of the weights that voters have. "chosen": that of a voter that is chosen again is set anew, its
        own part taken out of the vote first. "none": they stay; such a voter counts as one more, and its weights add
        up, which with "l2" and "linf" makes the rounds count and the penalty less.
        "every_k", "fully_corrective": after every `reweight_interval` rounds, or after each one, all are set to the
        optimum over the voters present: LASSO, ridge, or least squares in a box, on the matrix of votes.
    reweight_interval : int, default=10
        Rounds between two re-weightings, for "every_k".
    fit_intercept : bool, default=True
        The score starts at an intercept, which is not penalised. False is the paper's form.
    tol : float, default=1e-4
        The rounds end when no voter can lower the penalised risk by more than ``tol**2`` of the target's mean square.
        0: never, but for `n_estimators`.
    categorical_features : "from_dtype", None, list or mask, default="from_dtype"
        Which columns are categories; "from_dtype": text, categorical and boolean columns of a data frame.
    early_stopping : bool, default=False
        Stop when the quadratic risk of held-out rows has not improved for `n_iter_no_change` rounds, and keep the
        weights of the best round.
    validation_fraction : float, default=0.1
        Share of rows held out, when early stopping is on and no validation set is given.
    n_iter_no_change : int, default=10
        Rounds without improvement that end the run.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows and the members' seeds; otherwise not used.
    n_jobs : int or None, default=None
        Threads; the committee does not depend on it, bit for bit.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The voters, with positive weights.
    strength_ : float
        lambda or the bound that was used.
    training_risks_ : float64 array (rounds + 1,)
        Mean squared residual before the first round and after each one; without the penalty.
    validation_risks_ : float64 array or None
        Mean squared residual of the held-out rows before the first round and after each one, with early stopping.
    table_ : TableSchema
        What the columns are.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **QuadBoost._parameter_constraints,
        "alpha": [Interval(Real, 0.0, None, closed="left")],
    }

    def _target(self, rows: TargetRows) -> Target:
        if len(rows) < 2:
            raise ValueError(f"n_samples={len(rows)}: X holds one row of any weight; voters need at least two to part.")
        weights = rows.weights / rows.weights.sum()
        return Target(rows.target[None], weights, self.fit_intercept, labels=False)

    def _committee(self, voters: Any, weights: F64, start: F64, count: float) -> dict[str, Any]:
        intercept = start if self.fit_intercept else None
        return {"committee_": RegressionCommittee(voters, weights, Identity(), self.table_, intercept)}
