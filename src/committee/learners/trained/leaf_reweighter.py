"""An ensemble of trees that is trained already, with a part of its nodes and a new vote for every leaf."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils._param_validation import Interval

from committee.data.number_types import F64, Index, Mask, is_number
from committee.data.parallel import n_threads
from committee.learners.base import shared_parameters as shared
from committee.learners.base.parameters import POSITIVE, fitted, parameter, required, with_parameters
from committee.learners.trained.leaf_cut import LeafCutter, LeafRows, trees_within
from committee.learners.trained.leaf_path import LINK, LeafPath, LeafSearch, Split
from committee.learners.trained.trained_ensemble import (
    RowsGiven,
    TrainedEnsembleClassifier,
    refuse_missing,
    trained_committee,
)
from committee.learners.trained.tree_nodes import cut_forest, leaf_votes
from committee.learners.trained.unseen_rows import unseen_in_fit
from committee.vote.committee import Committee
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds

BLOCK = 4096
"""Rows whose votes are counted at a time."""

SHORTER = 0.5
"""Each limit on a path, as a share of the one before."""


class FitRows(NamedTuple):
    """Rows of a fit that count: encoded, with class numbers and weights (None: all 1).

    `unseen` ``(n, T)`` has the trees that have not seen them; None where all trees have seen all rows, or none any.
    """

    matrix: F64
    y: Index
    weight: F64 | None
    unseen: Mask | None

    def in_leaves(self, forest: Forest, trees: Index, n_threads: int) -> LeafRows:
        """The rows in the leaves of a forest of some of the trees."""
        leaf = forest.apply(self.matrix, n_threads) + forest.offset[:-1].astype(np.int32)
        return LeafRows(leaf, None if self.unseen is None else self.unseen[:, trees], self.y, self.weight)


@with_parameters
class LeafReweighter(TrainedEnsembleClassifier):
    """A tenth of a forest's nodes, or any other part, with votes of the leaves that make up for the rest.

    The trees stay that are right most often on rows that they have not seen (or those of greatest weight, where no tree
    has such rows) and fit into the limit, or more of them with their weakest sub-trees cut off; cross-validation
    chooses. Then all leaves of all trees get new votes at once, by a logistic regression in which they deviate from
    their old ones as far as the rows give reason. With ``on="oob"`` each row speaks of the leaves of those trees only
    that have not seen it: to these it is a new row, so that the votes do not believe what the trees have learned by
    heart. Scores are log-odds, and the probabilities calibrated.

    The ensemble itself is frozen: it is neither trained nor changed, and `clone` keeps it as it is.

    Attributes
    ----------
    committee_ : Committee
        The trees that are left, each of weight 1 / K.
    classes_ : array (n_classes,)
        The ensemble's.
    voters_ : intp array (K,)
        Numbers of these trees among the ensemble's, in the order of the committee.
    C_, growth_ : float
        Those that cross-validation chose.
    n_nodes_before_, nbytes_before_, n_voters_before_ : int
        Of the ensemble.
    path_ : LeafPath
        The best cut at each limit; not in a model file, nor in a pickle.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        From `fit`, which checks everything before it sets anything.

    References
    ----------
    S. Ren, X. Cao, Y. Wei, J. Sun (2015). Global refinement of random forest. CVPR.
    B. Liu, R. Mazumder (2023). ForestPrune: compact depth-pruned tree ensembles. AISTATS.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import LeafReweighter
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(200, random_state=0).fit(X[::2], y[::2])
    >>> small = LeafReweighter(forest, max_nodes=0.1).fit(X[::2], y[::2])
    >>> small.committee_.n_nodes <= 0.1 * small.n_nodes_before_
    True
    >>> bool(small.score(X[1::2], y[1::2]) > 0.94)
    True
    """

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest",)
    stored_attributes: ClassVar[tuple[str, ...]] = (
        "voters_",
        "C_",
        "growth_",
        "n_nodes_before_",
        "nbytes_before_",
        "n_voters_before_",
    )
    _not_pickled: ClassVar[tuple[str, ...]] = ("path_",)

    voters_: Index = fitted()
    path_: LeafPath = fitted()

    ensemble: Any = required(
        """Of trees: a forest, bagged or boosted trees for two classes, of this library or what
        `Committee.from_estimator` takes.""",
        "no_validation",
        type_words="fitted classifier or Committee",
    )
    _: KW_ONLY
    max_nodes: float = parameter(
        0.1,
        """Nodes that stay: a share (0, 1] of the ensemble's, which leaves at least 3 of them, or a number of at least
        3.""",
        POSITIVE,
        type_words="float or int",
    )
    min_gain: float | None = parameter(
        None,
        """Price of accuracy. Limits are halved from `max_nodes` on, and the smallest is taken whose accuracy on
        held-out folds, less its standard error, is less than this below the best one's. None: `max_nodes`, no other
        limit is tried.""",
        Interval(Real, 0, 1, closed="both"),
    )
    on: RowsGiven = parameter(
        "oob",
        """Rows that `fit` is given. "oob": those that the ensemble was trained on; it must know, or be able to draw
        again, which voter saw which. "validation": rows that it has not seen. "train": the training rows of an ensemble
        whose trees saw them all; their leaves' votes are then believed too much, most of all those of deep trees.""",
    )
    growth: float | tuple[float, ...] = parameter(
        (1.0, 2.0),
        """Size of the trees before they are cut, at most, in units of the limit; cross-validation
        chooses. 1: trees that stay whole.""",
        tuple,
        list,
        Real,
        type_words="float or tuple of float",
    )
    C: float | tuple[float, ...] = parameter(
        (0.1, 0.3, 1.0, 3.0, 10.0),
        "How far the leaves' votes may deviate from their old ones; out of several cross-validation chooses.",
        tuple,
        list,
        Real,
        type_words="float or tuple of float",
    )
    cv: Any = parameter(
        5,
        "Folds that choose; a number is of stratified folds of the rows shuffled.",
        "cv_object",
        type_words="int, splitter or iterable of (train, test)",
    )
    random_state: int = parameter(
        0, "Seed of the folds, where `cv` is a number.", Interval(Integral, 0, None, closed="left")
    )
    n_jobs: int | None = shared.n_jobs("Threads that walk the trees, and folds that are fitted at a time")

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Cut the trees, and find the votes of their leaves.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows that `on` says more of.
        y : array-like (n,)
            Their labels, all known to the ensemble, of at least two classes.
        sample_weight : array-like (n,), default=None
            Row weights; 0 leaves a row out. With ``on="oob"`` those that the ensemble was trained with.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            If the ensemble is not fitted.
        TypeError
            If it is no classifier, of a kind that is not known, or its voters are no trees.
        ValueError
            If `X` or `y` do not suit it, a parameter is out of its range, or the out-of-bag rows are not known.
        """
        self._validate_params()
        growth, C = _increasing("growth", self.growth, least=1.0), _increasing("C", self.C, least=0.0)
        ensemble, threads = self.trained, n_threads(self.n_jobs)
        committee = trained_committee(ensemble)
        refuse_missing(ensemble, committee, X)
        forest = _trees(committee)
        limits = self._limits(int(forest.offset[-1]))
        counted, rows = self._rows_that_count(ensemble, committee, X, y, sample_weight)
        folds = self._folds(X, y, counted)

        # which trees come first is computed without a fold's rows in that fold, as their votes are
        right = _right(forest, rows, threads)
        parts = [np.arange(len(rows.y)), *[train for train, _ in folds]]
        orders = [_order(committee.weights, rows, right, part) for part in parts]
        orders = [order[: trees_within(forest.n_nodes[order], limits[0], max(growth))] for order in orders]
        taken = np.unique(np.concatenate(orders))  # no cut has any of the others
        orders = [np.searchsorted(taken, order) for order in orders]
        forest = forest[taken]
        cutter = LeafCutter.of(forest, committee.weights[taken])

        search = LeafSearch(cutter, rows.in_leaves(forest, taken, threads), folds, orders, growth, C)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a few digits fewer are no other model
            path = search.path(limits, threads)
            step = path.steps[path.chosen(self.min_gain)]
            value = step.cut.refit(search.rows, step.C)
        with self._as_before_if_it_fails():
            table = self._take_columns(ensemble, committee, X)
            trees = step.cut.trees
            voters = cut_forest(forest, step.cut.stands, value)[trees]
            self.committee_ = Committee(voters, np.full(len(trees), 1.0 / len(trees)), committee.classes, LINK, table)
            self.classes_, self.voters_, self.path_ = committee.classes, taken[trees], path
            self.C_, self.growth_ = step.C, step.growth
            self.n_nodes_before_, self.nbytes_before_ = committee.n_nodes, committee.nbytes
            self.n_voters_before_ = committee.n_voters
        return self

    def _limits(self, total: int) -> tuple[int, ...]:
        """Limits of nodes to try, largest first, of an ensemble that has so many."""
        if isinstance(self.max_nodes, Integral):
            most = int(self.max_nodes)
        elif self.max_nodes <= 1.0:
            most = max(3, int(self.max_nodes * total))  # a split, whatever the share
        else:
            raise ValueError(
                f"max_nodes={self.max_nodes!r} must be a share of the ensemble's nodes, at most 1.0, or a whole number."
            )
        if most < 3:
            raise ValueError(f"max_nodes={self.max_nodes!r} is too few; a tree that splits has 3.")
        limits = [min(most, total)]
        while self.min_gain is not None and (shorter := int(SHORTER * limits[-1])) >= 3:
            limits.append(shorter)
        return tuple(limits)

    def _rows_that_count(
        self, ensemble: Any, committee: Committee, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Index, FitRows]:
        """The rows that count: their numbers among those given, and what a fit needs of them."""
        numbers = committee.class_indices(y)
        matrix = committee.encode(X)
        if len(matrix) != len(numbers):
            raise ValueError(f"y has {len(numbers)} labels; X has {len(matrix)} rows.")
        weight = self._weights(y, sample_weight, len(numbers))
        counts = np.ones(len(numbers), dtype=bool) if weight is None else weight > 0.0
        unseen = None
        if self.on == "oob":
            unseen = unseen_in_fit(ensemble, committee, X, y, sample_weight)
            counts &= unseen.any(axis=1)  # a row that all trees have seen is evidence for none
        if len(np.unique(numbers[counts])) < 2:
            raise ValueError("y holds fewer than two classes in the rows that count; votes need two to tell apart.")
        weight = None if weight is None else weight[counts]
        unseen = None if unseen is None else unseen[counts]
        return np.flatnonzero(counts), FitRows(matrix[counts], numbers[counts], weight, unseen)

    def _folds(self, X: Any, y: ArrayLike, counted: Index) -> list[Split]:
        """The folds, as numbers among the rows that count."""
        if isinstance(self.cv, Integral):
            labels = np.asarray(y)[counted]
            least = int(np.unique(labels, return_counts=True)[1].min())
            kind = StratifiedKFold if least >= self.cv else KFold
            folds = kind(min(int(self.cv), len(labels)), shuffle=True, random_state=self.random_state)
            return list(folds.split(labels, labels))
        place = np.full(len(np.asarray(y)), -1, dtype=np.intp)
        place[counted] = np.arange(len(counted))
        split = check_cv(self.cv, y, classifier=True).split(X, y)
        folds_of = [tuple(at[at >= 0] for at in (place[part] for part in fold)) for fold in split]
        if not folds_of or any(not len(train) or not len(test) for train, test in folds_of):
            raise ValueError(f"cv={self.cv!r} has no folds, or one without rows that count; give others.")
        return folds_of

    def _from_file(self) -> None:
        """A loaded model's ensemble is its own small committee."""
        voters = getattr(self, "voters_", None)
        of_voters = isinstance(voters, np.ndarray) and voters.shape == (self.committee_.n_voters,)
        if not of_voters or self.voters_.dtype.kind != "i":
            raise ValueError("voters_ are not the numbers of the committee's voters")
        self.ensemble = self.committee_


def _trees(committee: Committee) -> Forest:
    if isinstance(committee.voters, Rounds):
        raise TypeError(
            "ensemble is boosted for several classes, with a tree for each in every round; leaves are cut and refitted "
            "where one tree votes at a time. Drop whole rounds with level='voter', or MarginReweighter and its prune."
        )
    if not isinstance(committee.voters, Forest):
        raise TypeError(
            f"ensemble has {type(committee.voters).__name__} for voters, which have no leaves to cut; drop whole "
            "voters with MarginReweighter and its prune."
        )
    return committee.voters


def _right(forest: Forest, rows: FitRows, n_threads: int) -> Mask | None:
    """Trees that are right on rows that they have not seen, ``(n, T)``; None where that is not known."""
    if rows.unseen is None:
        return None
    votes = leaf_votes(forest)
    named = (votes[:, 0] > 0.0) if votes.shape[1] == 1 else votes.argmax(axis=1)
    right = np.zeros_like(rows.unseen)
    for t, start in enumerate(forest.offset[:-1]):
        new = rows.unseen[:, t]
        leaf = forest[t : t + 1].apply(rows.matrix[new], n_threads)[:, 0]
        right[new, t] = named[start + leaf] == rows.y[new]
    return right


def _order(weights: F64, rows: FitRows, right: Mask | None, part: Index) -> Index:
    """Trees by how often they are right on rows that they have not seen, out of a part; else by their weight."""
    worth = np.abs(weights)
    if right is not None and rows.unseen is not None:
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        hits, judged = np.zeros(len(weights)), np.zeros(len(weights))
        for at in range(0, len(part), BLOCK):  # a product makes float64 of the masks
            block = part[at : at + BLOCK]
            hits += weight[block] @ right[block]
            judged += weight[block] @ rows.unseen[block]
        worth = hits / np.maximum(judged, np.finfo(float).tiny)
    return np.argsort(-worth, kind="stable").astype(np.intp)


def _increasing(name: str, values: Any, least: float) -> tuple[float, ...]:
    """The values of a parameter that may be one or several, in increasing order."""
    values = (values,) if isinstance(values, Real) else values
    if not values or not all(is_number(v) and least <= float(v) < np.inf and float(v) > 0.0 for v in values):
        raise ValueError(f"{name}={values!r} must be finite numbers, each {'at least 1' if least else 'above 0'}.")
    return tuple(sorted(float(v) for v in values))
