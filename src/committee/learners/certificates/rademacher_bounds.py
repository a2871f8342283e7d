"""Bounds of a fitted QuadBoost or LPBoost by the empirical Rademacher complexity of its voters."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from committee import _core
from committee.bounds.rademacher import ensemble_margin, ensemble_norm, ln_tree_class, massart
from committee.bounds.result import Bound, check_delta, on_new_rows
from committee.data.bins import Binned, Bins
from committee.data.number_types import F64
from committee.learners.boosting.largest_margin import LPBoostClassifier
from committee.learners.boosting.quadboost import QuadBoostClassifier
from committee.learners.boosting.quadboost_path import QuadBoostClassifierCV
from committee.learners.certificates.fitted_bounds import most_leaves
from committee.objectives.complexity import Complexity, rademacher_of_stumps
from committee.vote.committee import Committee
from committee.voters.stump_dictionary import StumpDictionary

Learner: TypeAlias = QuadBoostClassifier | QuadBoostClassifierCV | LPBoostClassifier

MOST_VALUES = 65_535  # largest number of distinct values of a column with a bin for each
ROWS_VOTED = 256  # rows at a time on which voters vote, to find the classes that they vote for

SHARE_OF_SIGNS = 0.1  # share of delta for the estimate from random signs, which depends on its logarithm


def for_quadboost(
    model: Learner,
    X: Any,
    y: ArrayLike,
    delta: float = 0.05,
    *,
    p: float | None = None,
    complexity: float | Complexity | None = None,
    random_state: int | None = 0,
) -> dict[str, Bound]:
    """Return bounds on a QuadBoost's or LPBoost's error on new rows, by its voters' empirical Rademacher complexity.

    - ``"norm"``: `ensemble_norm`, Theorem 1 for the norm `p`.
    - ``"margin"``: `ensemble_margin`, the sharpest that the theorem's proof gives.

    The theorem is for voters that were fixed before the rows were seen, and thresholds are not. So the class is every
    stump on a column, whatever its threshold and its votes on missing values, and the constants. Its complexity is
    estimated from random signs with an exact search for the best stump. Of trees, and of stumps if a column has more
    than 65,535 distinct values or its categories became target statistics, it is Massart's bound, from the number of
    trees of limited growth that differ on these rows.

    Parameters
    ----------
    model : QuadBoostClassifier, QuadBoostClassifierCV or LPBoostClassifier
        Fitted. The bounds hold for all votes at once, however rows were weighted or held out. With more than two
        classes the values are sums over the classes, each against the rest.
    X, y : table or array-like (n, p) and array-like (n,)
        All training rows, each counted once, and labels.
    delta : float, default=0.05
        Each bound fails with at most this probability.
    p : float, default=None
        Norm of the weights in Theorem 1, whatever the model was trained with. None: that of the penalty "l1", "l2" or
        "linf", else 1. 1 is mostly the best, above all with an intercept.
    complexity : float or Complexity, default=None
        Complexity of a known class, such as a dictionary that was fixed beforehand; needed for unknown voters and for
        trees of unlimited growth. An intercept is a constant voter of the class.
    random_state : int or None, default=0
        Seed of the random signs.

    Returns
    -------
    dict of str to Bound

    Raises
    ------
    TypeError
        If the model is of another class.
    ValueError
        If the complexity is unknown, or an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import QuadBoostClassifier
    >>> from committee.learners.trained_ensembles import for_quadboost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2))
    >>> y = X[:, 0] > 0.0
    >>> model = QuadBoostClassifier("l1", alpha=0.1, reweight="chosen").fit(X, y)
    >>> for name, bound in for_quadboost(model, X, y).items():
    ...     print(f"{name:6s} {bound}")
    norm   Theorem 1, L1 norm: 0.4535
    margin margins and complexity: 0.1976
    """
    if not isinstance(model, Learner):
        raise TypeError(
            f"model is of type {type(model).__name__}; these bounds are for QuadBoostClassifier, QuadBoostClassifierCV "
            "and LPBoostClassifier. For another vote give its margins to ensemble_margin."
        )
    check_is_fitted(model)
    delta = check_delta(delta)
    named = model.validate_rows(X)
    target = column_or_1d(y)
    check_consistent_length(named, target)
    remarks: tuple[str, ...] = ()
    if complexity is None:
        complexity, what = _complexity(model, model.table_.encode(named), delta * SHARE_OF_SIGNS, random_state)
        remarks = (what,)
    signs_delta = complexity.delta if isinstance(complexity, Complexity) else 0.0
    if signs_delta >= delta:
        raise ValueError(
            f"complexity fails with probability {signs_delta:g}, and delta is {delta:g}: give a larger delta, or "
            "estimate the complexity with a smaller one."
        )
    votes = _votes(model.committee_, named, target)
    p = {"l2": 2.0, "linf": inf}.get(str(getattr(model, "penalty", None)), 1.0) if p is None else p
    each = (delta - signs_delta) / len(votes)
    by_norm, by_margin = [], []
    for yF, alpha in votes:
        total = np.abs(alpha).sum()
        margins = np.clip(yF / total, -1.0, 1.0) if total > 0.0 else np.zeros(len(yF))
        by_norm.append(ensemble_norm(yF, alpha, complexity, each, p=p))
        by_margin.append(ensemble_margin(margins, complexity, each))
    return {"norm": _together(by_norm, delta, remarks), "margin": _together(by_margin, delta, remarks)}


def _votes(committee: Committee, X: Any, y: NDArray[Any]) -> list[tuple[F64, F64]]:
    # (y F, alpha) of each binary problem: the second class against the first, or of more classes each against the rest
    labels, F = committee.class_indices(y), committee.decision_function(X)
    weights, intercept = np.asarray(committee.weights), committee.intercept
    K = len(committee.classes)
    if K == 2:
        constant = () if intercept is None else (intercept[-1] - (intercept[0] if len(intercept) == 2 else 0.0),)
        return [(np.where(labels == 1, F, -F), np.append(weights, constant))]
    votes_for, data = np.zeros((len(weights), K), dtype=bool), committee.encode(X)
    for first in range(0, len(labels), ROWS_VOTED):  # a voter that abstains on a row does not show its classes
        if votes_for.any(axis=1).all():
            break
        votes_for |= (committee.voters.votes(data[first : first + ROWS_VOTED], 1) != 0).any(axis=0)
    problems = []
    for k in range(K):
        constant = () if intercept is None and votes_for[:, k].any() else (0.0 if intercept is None else intercept[k],)
        problems.append((np.where(labels == k, F[:, k], -F[:, k]), np.append(weights[votes_for[:, k]], constant)))
    return problems


def _together(bounds: list[Bound], delta: float, remarks: tuple[str, ...]) -> Bound:
    first = bounds[0]
    statement = on_new_rows(delta)
    if len(bounds) == 1:
        return replace(first, statement=statement, remarks=remarks + first.remarks)
    added = {name: sum(bound.terms[name] for bound in bounds) for name in ("loss", "complexity", "confidence")}
    return Bound(
        name=f"{first.name}, {len(bounds)} classes",
        statement=statement,
        value=sum(bound.value for bound in bounds),
        terms={**added, "largest": max(bound.value for bound in bounds), "rademacher": first.terms["rademacher"]},
        advice=max(bounds, key=float).advice,
        inputs={"bounds": tuple(bounds)},
        remarks=(*remarks, *first.remarks, "The sum over the classes, each against the rest."),
    )


def _complexity(model: Learner, X: F64, delta: float, random_state: int | None) -> tuple[float | Complexity, str]:
    n, values = len(X), [len(np.unique(column[~np.isnan(column)])) for column in X.T]
    which: Any = "stumps" if isinstance(model, QuadBoostClassifierCV) else model.dictionary
    if which in ("stumps", "all_stumps") and max(values) <= MOST_VALUES and not model.table_.values:
        bins = Bins.learn(X, None, model.table_.n_categories, MOST_VALUES)
        every = Binned(bins, bins.encode(X))
        # the stumps of categories are for one against the others, or for any subset, as the dictionary's are
        dictionary = StumpDictionary.of(every, np.ones(n), subsets=which == "all_stumps")
        cells = _core.Cells(every.codes, bins.n_bins, 1)
        solved = rademacher_of_stumps(dictionary, cells, n, constant=True, delta=delta, random_state=random_state)
        return solved, f"The class: the constants, and the {len(dictionary)} listed stumps that split these rows."
    ln_size = ln_tree_class(_splits(X, model.table_.n_levels, values), _leaves(model, n), 2)
    return massart(ln_size, n), f"The class: e^{ln_size:.0f} votes that such trees can have on these rows, by Massart."


def _splits(X: F64, n_categories: NDArray[np.int32], n_values: list[int]) -> int:
    # number of splits that differ on these rows; missing values go left or right, get no vote, or are split from others
    total = 0
    for column, k, values in zip(X.T, n_categories.tolist(), n_values, strict=True):
        gaps = bool(np.isnan(column).any())
        total += 2 ** (k + gaps - 1) - 1 if k else max(values - 1, 0) * (3 if gaps else 1) + gaps
    return int(total)


def _leaves(model: Learner, n: int) -> int:
    if isinstance(model, QuadBoostClassifierCV) or model.dictionary in ("stumps", "all_stumps"):
        return 2
    if model.dictionary != "trees" or (model.max_depth is None and model.max_leaf_nodes is None):
        unlimited = "trees of unlimited growth" if model.dictionary == "trees" else "estimators of unknown make"
        raise ValueError(
            f"the complexity of the voters is unknown: they are {unlimited}. Give it as complexity, or set max_depth "
            "or max_leaf_nodes of dictionary='trees'."
        )
    return most_leaves(model, n, model.max_depth)
