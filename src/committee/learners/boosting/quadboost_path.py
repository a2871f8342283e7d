"""Regularisation path of QuadBoost over a finite dictionary, and the choice of a strength by cross-validation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from committee import _core
from committee.data.columns import warn_of_other_order
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows, nonzero_sample_weights
from committee.data.table_schema import TableSchema
from committee.learners.base import shared_parameters as shared
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import COUNT, FRACTION, parameter, with_parameters
from committee.learners.base.predictors import BaseClassifier
from committee.learners.boosting.dictionaries import listed_stumps
from committee.learners.boosting.quadboost import QuadBoostClassifier, QuadBoostRegressor, classes_committee, signs_of
from committee.learners.boosting.quadboost_rounds import FoldSums, Part, Products, products_of
from committee.objectives.programs.penalised_least_squares import CountedProducts, Penalty, greedy_rounds, reweight
from committee.objectives.programs.penalties import PENALTIES, penalty_class
from committee.vote.committee import Committee, RegressionCommittee
from committee.voters.stump_dictionary import StumpDictionary

PathPenalty = Literal["l1", "l2", "linf", "kl"]
# parameters with the constraints of `QuadBoostClassifier`
_AS_THE_LEARNER = ("n_thresholds", "thresholds", "fit_intercept", "n_jobs")

# cells of a table up to which a path is followed: its products then take two matrices of 512 MB
MOST_CELLS_OF_PATH = 8000
LEAST_RATIO = 1e-100  # least ratio of the weakest strength of a path to the strongest, far from where float64 ends
# least mean square of a target in its own unit: float64 holds few or no digits of the squares of smaller targets
LEAST_SQUARE = 1e-280
LARGEST_STRENGTH = 1e300  # of alphas in the unit of a small target


@dataclass(frozen=True, eq=False, repr=False)
class QuadBoostPath:
    """Committees of all strengths of one penalty, each at the optimum over the whole dictionary.

    Attributes
    ----------
    penalty : {"l1", "l2", "linf", "kl"}
        Penalty of the weights.
    alphas : float64 array (S,)
        lambda, from the strongest to the weakest; for "linf" the bounds alpha_max, rising.
    weights : float64 array (S, N)
        Weights of the N stumps; a negative one is that of the complement.
    intercepts : float64 array (S,)
        Constant part of the scores.
    risks : float64 array (S,)
        Mean squared residual of the training rows, without the penalty; 0 where float64 holds no such square.
    gaps : float64 array (S,)
        Duality gaps: upper bounds on the distance of the penalised risk from its minimum; NaN for "l2" at 0.
    n_voters : int array (S,)
        Number of voters whose weight is not 0.
    dictionary : StumpDictionary
        The stumps.
    learner : QuadBoostClassifier or QuadBoostRegressor
        Unfitted learner with the table's schema, which makes the committees.
    count : float
        Number of training rows that the weights stand for.
    """

    penalty: PathPenalty
    alphas: F64
    weights: F64
    intercepts: F64
    risks: F64
    gaps: F64
    n_voters: NDArray[np.intp]
    dictionary: StumpDictionary
    learner: QuadBoostClassifier | QuadBoostRegressor
    count: float

    def __repr__(self) -> str:
        return f"QuadBoostPath({self.penalty}, {len(self.alphas)} strengths, {len(self.dictionary)} stumps)"

    @property
    def table(self) -> TableSchema:
        return self.learner.table_

    @property
    def classes(self) -> NDArray[Any] | None:
        """The two class labels; None for numbers."""
        return getattr(self.learner, "classes_", None)

    def committee(self, index: int) -> Committee | RegressionCommittee:
        """Return the committee of ``alphas[index]``; -1 is the weakest penalty."""
        index = range(len(self.alphas))[index]
        labels = hasattr(self.learner, "classes_")
        voters, weights = self.dictionary.weighted_forest(self.weights[index][None], labels=labels)
        return self.learner.committee_of(voters, weights, self.intercepts[index : index + 1], self.count)

    def decision_function(self, X: Any) -> F64:
        """Return the scores of all committees of the path, ``(n, S)``, from one pass over the rows."""
        bins = self.dictionary.bins
        codes = bins.encode(self.learner.table_.encode(X))
        by_cell = np.ascontiguousarray(self.dictionary.cell_scores(np.ascontiguousarray(self.weights.T)))
        return _core.Cells(codes, bins.n_bins, 1).scores(by_cell) + self.intercepts


@validate_params(  # type: ignore[untyped-decorator]
    {
        "penalty": [StrOptions(PENALTIES.keys())],
        "alphas": ["array-like", None],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0.0, 1.0, closed="neither")],
        "tol": [Interval(Real, 0.0, 1.0, closed="neither")],
        **{name: QuadBoostClassifier.declared_parameters[name].scikit_constraint for name in _AS_THE_LEARNER},
    },
    prefer_skip_nested_validation=False,
)
def quadboost_path(
    X: Any,
    y: ArrayLike,
    *,
    penalty: PathPenalty = "l1",
    alphas: ArrayLike | None = None,
    n_alphas: int = 100,
    eps: float = 1e-3,
    sample_weight: ArrayLike | None = None,
    n_thresholds: int = 10,
    thresholds: Literal["quantile", "even"] = "quantile",
    fit_intercept: bool = True,
    tol: float = 1e-4,
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
) -> QuadBoostPath:
    """Compute the regularisation path of a finite dictionary: the committees of all strengths of a penalty.

    At each strength the weights of all N stumps minimise the penalised risk of `QuadBoostClassifier`: LASSO, ridge, or
    least squares in a box. "l2" is solved exactly; of other penalties each strength starts from the solution of the one
    before.

    Equation: quadboost-path (docs/theory.md).

    Parameters
    ----------
    X : table or array-like (n, p)
        Training rows.
    y : array-like (n,)
        Labels of two classes, or more than two different numbers as floats.
    penalty : {"l1", "l2", "linf", "kl"}, default="l1"
        Penalty of the weights; "kl" keeps them below 0.3.
    alphas : array-like (S,), default=None
        Strengths (for "linf" the bounds alpha_max). None: `n_alphas` of them, evenly spaced by logarithm from the
        largest |h'y| / n, at which "l1" leaves no voter, down to `eps` times that; for "linf" from `eps` times the
        largest least-squares weight of a single voter up to that. Of numbers whose squares are below 1e-280, those of
        "l2" are in a unit of y's own size.
    n_alphas : int, default=100
        Number of strengths.
    eps : float, default=1e-3
        Ratio of the least strength to the largest.
    sample_weight : array-like (n,), default=None
        Row weights; 0, or less than 1e-150 of their sum, means absent. Whole numbers with a mean of at most 10
        count repeated rows; of others only the ratios matter.
    n_thresholds : int, default=10
        Most thresholds of a column.
    thresholds : {"quantile", "even"}, default="quantile"
        Positions of the thresholds.
    fit_intercept : bool, default=True
        Scores have an intercept that is not penalised.
    tol : float, default=1e-4
        Duality gap, as a share of the target's mean square, to which the solutions of "l1", "linf" and "kl" are
        refined; `gaps` of the result has those that were reached. "l2" is solved exactly.
    categorical_features : "from_dtype", None, list or mask, default="from_dtype"
        Columns of categories.
    n_jobs : int or None, default=None
        Number of threads; the path does not depend on it.

    Returns
    -------
    QuadBoostPath

    Raises
    ------
    ValueError
        If a parameter is out of its range, y holds one class or more than two, alphas holds a negative number (or 0,
        but for "l2"), or the dictionary is too large for its products to be kept.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import quadboost_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = quadboost_path(X, y, n_alphas=5)
    >>> path.n_voters[0], bool((path.n_voters[1:] > 0).all())
    (np.int64(0), True)
    """
    learner: Any
    settings: dict[str, Any] = {"fit_intercept": fit_intercept, "categorical_features": categorical_features}
    values = np.asarray(y)
    if len(np.unique(values)) <= 2:
        learner = QuadBoostClassifier(penalty, **settings)
    elif values.dtype.kind == "f":
        learner = QuadBoostRegressor(penalty, **settings)
    else:
        raise ValueError(
            f"y holds {len(np.unique(values))} values of type {values.dtype}; a path is for two classes or for "
            "numbers. Give numbers as floats; for more classes QuadBoostClassifierCV chooses a strength."
        )
    warn_of_other_order(X, y=y, sample_weight=sample_weight)
    rows = learner.training_rows(X, y, learner.fit_weights(y, sample_weight))
    if isinstance(learner, QuadBoostClassifier) and len(learner.classes_) < 2:
        raise ValueError(f"y holds one class only, {learner.classes_.tolist()[0]!r}; a path needs two.")
    threads = n_threads(n_jobs)
    binned, dictionary = listed_stumps(rows, learner.table_, n_thresholds, thresholds, threads)
    refuse_many_cells(dictionary, n_thresholds)
    target = learner.training_target(rows)
    cells, kind = _core.Cells(binned.codes, binned.bins.n_bins, threads), penalty_class(penalty)
    products = products_of(cells, dictionary, target, threads, counted=kind.takes_counts)
    square = float(products.square[0])
    weighed = target.y[0][target.weights > 0.0]
    power = 0  # the path is followed for y / 2^power
    if square < LEAST_SQUARE and (weighed != (weighed[0] if fit_intercept else 0.0)).any():
        if kind.target_power is None:
            raise ValueError(
                f"the mean square of y{' around its mean' * fit_intercept} is {square:.3g}, below {LEAST_SQUARE:g}, "
                f"and penalty={penalty!r} bounds weights by a number that does not follow the unit of y. Rescale y."
            )
        power = int(np.frexp(np.abs(weighed - (weighed[0] if fit_intercept else 0.0)).max())[1])
        target = replace(target, y=np.ldexp(target.y, -power))
        products = products_of(cells, dictionary, target, threads, counted=kind.takes_counts)
        square = float(products.square[0])
    of_strength = power * (kind.target_power or 0)
    chosen = strengths(kind, products, _in_unit(alphas, of_strength), n_alphas, eps)
    weights, gaps, risks = follow(kind, products.gram, products.b[0], square, dictionary.groups, chosen, tol)
    start = float(target.weights @ target.y[0])
    intercepts = start - weights @ dictionary.mean if fit_intercept else np.zeros(len(chosen))
    weights, intercepts, chosen = np.ldexp(weights, power), np.ldexp(intercepts, power), np.ldexp(chosen, of_strength)
    gaps, risks = np.ldexp(gaps, 2 * power), np.ldexp(risks, 2 * power)
    found = chosen, weights, intercepts, risks, gaps, (weights != 0.0).sum(axis=1)
    return QuadBoostPath(penalty, *found, dictionary, learner, rows.count)


def _in_unit(alphas: ArrayLike | None, power: int) -> ArrayLike | None:
    # strengths in units of 2^power; invalid ones are refused later
    if not power or alphas is None or np.asarray(alphas).dtype.kind not in "iuf":
        return alphas
    return np.minimum(np.ldexp(np.asarray(alphas, dtype=np.float64), -power), LARGEST_STRENGTH)


def refuse_many_cells(dictionary: StumpDictionary, n_thresholds: int) -> None:
    if (C := int(dictionary.offset[-1])) > MOST_CELLS_OF_PATH:
        raise ValueError(
            f"n_thresholds={n_thresholds} makes {C} cells of the columns; all products of their stumps are kept for at "
            f"most {MOST_CELLS_OF_PATH}. Lower n_thresholds, or drop columns."
        )


def strengths(
    kind: type[Penalty], products: Products, alphas: ArrayLike | Collection[float] | None, n_alphas: int, eps: float
) -> F64:
    if alphas is None:
        if eps < LEAST_RATIO:
            raise ValueError(f"eps={eps!r} is below {LEAST_RATIO:g}, the least ratio of two strengths; raise it.")
        return kind.grid(products.b, products.gram.diagonal(), n_alphas, eps)
    try:
        values = np.asarray(alphas, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    given = np.unique(values)
    if values.ndim != 1 or not len(given) or not (given >= 0.0).all() or not np.isfinite(given).all():
        raise ValueError(f"alphas={alphas!r} must be a list of finite numbers >= 0, at least one.")
    return kind.ordered(given)


def follow(
    kind: type[Penalty],
    gram: F64 | CountedProducts,
    b: F64,
    square: float,
    groups: NDArray[np.int64],
    alphas: F64,
    tol: float,
) -> tuple[F64, F64, F64]:
    """Return the best weights ``(S, N)`` at all strengths, their duality gaps and unpenalised risks, ``(S,)``."""
    found = kind.path(gram, b, square, groups, alphas, tol)
    if found is not None:
        return found
    gram = gram.dense() if isinstance(gram, CountedProducts) else gram
    weights, (gaps, risks) = np.zeros((len(alphas), len(b))), np.zeros((2, len(alphas)))
    near, alpha = tol * np.sqrt(square), np.zeros(len(b))
    for i, strength in enumerate(alphas.tolist()):
        penalty = kind(strength)
        for digit in range(8):  # the precision of weights that a gap needs is not known beforehand
            reweight(gram, b, alpha, penalty, near * 0.1**digit)
            c = b - gram @ alpha
            gaps[i] = penalty.gap(c, alpha, b, square)
            if gaps[i] <= tol * square:
                break
        weights[i], risks[i] = alpha, square - float(alpha @ (b + c))
    return weights, gaps, risks


@with_parameters
class QuadBoostClassifierCV(BaseClassifier):
    """QuadBoost on stumps that chooses its strength by cross-validation [1]_.

    All strengths of the penalty are tried on the same folds, with all `n_estimators` if given. For each fold the
    products of the stumps are those of all rows minus those of the fold, so that the whole choice costs a few passes
    over the rows. The chosen strength and number of rounds are then used on all rows.

    Attributes
    ----------
    committee_ : Committee
        Fitted to all rows, heaviest voters first.
    alpha_ : float
        The chosen strength; 0 without a penalty.
    alphas_ : float64 array (S,)
        All strengths, strongest first.
    n_estimators_ : int or None
        The chosen number of rounds.
    rounds_ : int64 array (R,) or None
        All numbers of rounds.
    cv_errors_ : float64 array (S, R or 1, folds)
        Weighted error rates, or risks, on the held-out rows.

    References
    ----------
    .. [1] L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille, J.-F. Roy. Efficient learning of ensembles
       with QuadBoost. Section 4.
    .. [2] T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, section 7.10, for the
       rule of one standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import QuadBoostClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = QuadBoostClassifierCV(one_standard_error=True).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = ("alpha_", "alphas_", "n_estimators_", "rounds_", "cv_errors_")

    penalty: Literal["l1", "l2", "linf", "kl"] | None = parameter(
        "l1",
        'As for `QuadBoostClassifier`, "kl" with weights below 0.3; None chooses the number of rounds only.',
        StrOptions(PENALTIES.keys()),
        None,
    )
    _: KW_ONLY
    alphas: Collection[float] | None = parameter(
        None,
        """Strengths to try; for "linf" bounds alpha_max. None: `n_alphas` of them, as in `quadboost_path`.""",
        "array-like",
        type_words="array-like (S,) or None",
    )
    n_alphas: int = parameter(50, "Number of strengths.", COUNT)
    eps: float = parameter(3e-3, "Ratio of the least strength to the largest.", FRACTION)
    n_estimators: Collection[int] | int | None = parameter(
        None,
        """Numbers of rounds to try with every strength. None: no rounds, but the optimum over all stumps (LASSO, ridge,
        least squares in a box).""",
        "array-like",
        COUNT,
        type_words="array-like (R,), int or None",
    )
    reweight: Literal["none", "chosen"] = parameter(
        "none",
        """Treatment of a voter that is chosen again, as for `QuadBoostClassifier`; by default "none", as in the paper.
        Not used without `n_estimators`.""",
    )
    cv: Any = parameter(
        5,
        "Number of folds, which are then stratified by class, or the folds; each row must be held out exactly once.",
        "cv_object",
        type_words="int, splitter or iterable",
    )
    criterion: Literal["error", "risk"] = parameter(
        "error",
        """Measure on the held-out rows: the error rate, as in the paper, or the quadratic risk summed over the scores,
        which has fewer ties and leads to better probabilities.""",
    )
    one_standard_error: bool = parameter(
        False,
        """Of all strengths whose mean error or risk is within a standard error of the least take the strongest, and the
        fewest rounds: smaller committees, a little more error.""",
    )
    n_thresholds: int = shared.n_thresholds()
    thresholds: Literal["quantile", "even"] = shared.thresholds("Those of all rows; labels are not used.")
    fit_intercept: bool = shared.fit_intercept()
    tol: float = parameter(
        1e-4,
        """Duality gap of the optima ("l2" is exact), as a share of the target's mean square, on the folds ten times
        that; rounds end when no voter can lower the penalised risk by more than ``tol**2`` of that square.""",
        FRACTION,
    )
    categorical_features: Any = shared.categorical_features()
    n_jobs: int | None = shared.n_jobs()

    def _most_tasks(self, X: Any) -> int:
        return 1 + int(check_cv(self.cv).get_n_splits(X))

    def _check_parameters(self) -> None:
        self._rounds()

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        folds, rounds = self._folds(rows, tasks.sample_weight), self._rounds()
        stumps = self.table_, self.n_thresholds, self.thresholds, n_threads(self.n_jobs)
        binned, dictionary = listed_stumps(rows, *stumps)
        refuse_many_cells(dictionary, self.n_thresholds)
        sums = FoldSums(binned, dictionary, rows, signs_of(rows.labels, len(self.classes_)), self.fit_intercept, folds)
        whole, groups = sums.without(None), dictionary.groups
        alphas = np.zeros(1)
        if self.penalty is not None:
            kind = penalty_class(self.penalty)
            alphas = strengths(kind, whole[0], self.alphas, self.n_alphas, self.eps)
        errors = np.empty((len(alphas), len(rounds) or 1, len(folds)))
        for k in range(len(folds)):
            tasks.begin_part("fold")

            def errors_of_fold(k: int = k) -> F64:
                return sums.losses(k, *self._solved(sums.without(k), groups, alphas, rounds), self.criterion)

            errors[:, :, k] = tasks.result("fold", (k, folds[k]), errors_of_fold)
            tasks.end_part(dict)
        a, t = self._chosen(errors)
        tasks.begin_part("all rows")
        weights, start = self._solved(whole, groups, alphas, rounds, only=(a, t))
        voters, vote_weights = dictionary.weighted_forest(weights[0, 0], labels=len(self.classes_) == 2)
        intercept = start[0, 0] if self.fit_intercept else None
        fitted = {
            "committee_": classes_committee(self.classes_, voters, vote_weights, intercept, rows.count, self.table_),
            "alpha_": float(alphas[a]),
            "alphas_": alphas,
            "n_estimators_": rounds[t] if rounds else None,
            "rounds_": np.array(rounds, dtype=np.int64) if rounds else None,
            "cv_errors_": errors,
        }
        tasks.end_part(lambda: fitted)
        return fitted

    def _rounds(self) -> list[int]:
        if self.n_estimators is None:
            if self.penalty is None:
                raise ValueError(
                    "penalty=None needs n_estimators: without a penalty the number of rounds is all there is to "
                    "choose. Give n_estimators=[10, 30, 100, 300, 1000], or a penalty."
                )
            return []
        given = np.unique(np.atleast_1d(np.asarray(self.n_estimators)))
        if given.dtype.kind not in "iu" or not len(given) or given[0] < 1:
            raise ValueError(f"n_estimators={self.n_estimators!r} must be whole numbers >= 1, at least one.")
        return [int(t) for t in given]

    def _folds(self, rows: Rows, sample_weight: ArrayLike | None) -> list[NDArray[np.intp]]:
        cv = check_cv(self.cv, rows.labels, classifier=True)
        if self.cv is None or hasattr(self.cv, "split") or isinstance(self.cv, Integral):
            held = [test for _, test in cv.split(rows.labels, rows.labels)]
        else:  # the user's own folds number all rows, and those without weight are gone
            counted = nonzero_sample_weights(sample_weight, len(rows))
            number = np.where(counted, np.cumsum(counted) - 1, -1)
            held = [number[test][number[test] >= 0] for _, test in cv.split(counted)]
        if not np.array_equal(np.sort(np.concatenate(held)), np.arange(len(rows))):
            raise ValueError(f"cv={type(self.cv).__name__} must hold out every row once; use a KFold of some kind.")
        return [rows_held for rows_held in held if len(rows_held)]

    def _solved(
        self, part: Part, groups: Any, alphas: F64, rounds: list[int], only: tuple[int, int] | None = None
    ) -> tuple[F64, F64]:
        # weights (S, R, K, N) and intercepts (S, R, K) of all strengths and rounds, or of one pair of them
        if only is not None:
            strongest = only[0] if rounds else 0  # a path starts at its strong end
            alphas, rounds = alphas[strongest : only[0] + 1], rounds[: only[1] + 1]
        # errors on held-out rows do not need the digits that the last fit gets
        tol = self.tol if only is not None else 10.0 * self.tol
        (products, mean, start), kind = part, penalty_class(self.penalty)
        K = len(products.b)
        weights = np.zeros((len(alphas), len(rounds) or 1, K, products.gram.shape[0]))
        for k in range(K):
            b, square = products.b[k], float(products.square[k])
            if not rounds:
                weights[:, 0, k], _, _ = follow(kind, products.gram, b, square, groups, alphas, tol)
                continue
            for i, strength in enumerate(alphas.tolist()):
                c, alpha, done, least = b.copy(), np.zeros(len(b)), 0, self.tol * self.tol * square
                for t, n_rounds in enumerate(rounds):
                    options: Any = {"as_new": self.reweight == "none", "n_rounds": n_rounds - done, "least": least}
                    greedy_rounds(kind(strength), products.gram, c, alpha, **options)
                    weights[i, t, k], done = alpha, n_rounds
        weights = weights if only is None else weights[-1:, -1:]
        return weights, start - weights @ mean if self.fit_intercept else np.zeros(weights.shape[:3])

    def _chosen(self, errors: F64) -> tuple[int, int]:
        # strengths are in order, strongest first, and rounds rise: of equally good ones the first is the simplest
        mean = errors.mean(axis=2)
        best = np.unravel_index(int(mean.argmin()), mean.shape)
        allowed = float(mean[best])
        if self.one_standard_error:
            allowed += float(errors[best].std(ddof=1) / np.sqrt(errors.shape[2])) if errors.shape[2] > 1 else 0.0
        good = np.argwhere(mean <= allowed + 1e-12)
        first = good[np.lexsort((good[:, 1], good[:, 0]))[0]]
        return int(first[0]), int(first[1])
