"""Regularisation path of QuadBoost over a finite dictionary."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from committee import _core
from committee.data.bins import Binned
from committee.data.columns import warn_of_other_order
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.data.table_schema import TableSchema
from committee.learners.pools.dictionaries import listed_stumps
from committee.learners.quadboost.quadboost import QuadBoostClassifier, QuadBoostRegressor
from committee.learners.quadboost.rounds import Products, products_of
from committee.objectives.programs.penalised_least_squares import CountedProducts, Penalty, reweight
from committee.objectives.programs.penalties import PENALTIES, penalty_class
from committee.vote.committee import Committee, RegressionCommittee
from committee.voters.stump_dictionary import StumpDictionary

PathPenalty = Literal["l1", "l2", "linf", "kl"]
_AS_THE_LEARNER = ("n_thresholds", "thresholds", "fit_intercept", "n_jobs")
"""Parameters with the constraints of `QuadBoostClassifier`."""

MOST_CELLS_OF_PATH = 8000
"""Cells of a table up to which a path is followed: its products then take two matrices of 512 MB."""

LEAST_RATIO = 1e-100  # least ratio of the weakest strength of a path to the strongest, far from where float64 ends

LEAST_SQUARE = 1e-280
"""Least mean square of a target in its own unit: float64 holds few or no digits of the squares of smaller targets."""

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
        Duality gaps: upper bounds on the distance of the penalised risk from its minimum.
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
        If a parameter is out of its range, y holds one class or more than two, alphas holds a negative number, or the
        dictionary is too large for its products to be kept.

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
    binned, dictionary = path_stumps(rows, learner.table_, n_thresholds, thresholds, threads)
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
    n_voters = (weights != 0.0).sum(axis=1)
    return QuadBoostPath(penalty, chosen, weights, intercepts, risks, gaps, n_voters, dictionary, learner, rows.count)


def _in_unit(alphas: ArrayLike | None, power: int) -> ArrayLike | None:
    # strengths in units of 2^power; invalid ones are refused later
    if not power or alphas is None or np.asarray(alphas).dtype.kind not in "iuf":
        return alphas
    return np.minimum(np.ldexp(np.asarray(alphas, dtype=np.float64), -power), LARGEST_STRENGTH)


def path_stumps(
    rows: Rows | TargetRows,
    table: TableSchema,
    n_thresholds: int,
    thresholds: Literal["quantile", "even"],
    threads: int,
) -> tuple[Binned, StumpDictionary]:
    binned, dictionary = listed_stumps(rows, table, n_thresholds, thresholds, threads)
    C = int(dictionary.offset[-1])
    if C > MOST_CELLS_OF_PATH:
        raise ValueError(
            f"n_thresholds={n_thresholds} makes {C} cells of the columns; all products of their stumps are kept for at "
            f"most {MOST_CELLS_OF_PATH}. Lower n_thresholds, or drop columns."
        )
    return binned, dictionary


def strengths(
    kind: type[Penalty], products: Products, alphas: ArrayLike | Collection[float] | None, n_alphas: int, eps: float
) -> F64:
    if alphas is None:
        if eps < LEAST_RATIO:
            raise ValueError(f"eps={eps!r} is below {LEAST_RATIO:g}: the weakest strengths of the path would be 0.")
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
    """Return weights ``(S, N)``, duality gaps and risks ``(S,)`` of all strengths."""
    found = kind.path(gram, b, square, groups, alphas, tol)
    if found is not None:
        return found
    gram = gram.dense() if isinstance(gram, CountedProducts) else gram
    weights, gaps, risks = np.zeros((len(alphas), len(b))), np.zeros(len(alphas)), np.zeros(len(alphas))
    near = tol * np.sqrt(square)
    alpha = np.zeros(len(b))
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
