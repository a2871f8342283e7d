"""An ensemble of trees that is trained already, with a part of its nodes and a new vote for every leaf."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from committee.data.parallel import N_JOBS, n_threads
from committee.learners.trained.cut_forest import cut_forest
from committee.learners.trained.leaf_cut import LeafCutter, Rows, trees_within
from committee.learners.trained.leaf_path import LINK, LeafPath, leaf_path
from committee.learners.trained.scikit_forest import scikit_forest
from committee.learners.trained.trained_ensemble import (
    TrainedEnsembleClassifier,
    refuse_missing,
    row_weights,
    trained_committee,
)
from committee.learners.trained.tree_nodes import leaf_votes
from committee.learners.trained.unseen_rows import check_against_memory, unseen_rows
from committee.vote.committee import Committee
from committee.vote.signed_votes import SignedVotes
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds

F64 = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
Seen = Literal["train", "oob", "validation"]

BLOCK = 4096
"""Rows whose votes are counted at a time."""

SHORTER = 0.5
"""Each limit on a path, as a share of the one before."""


class _Given(NamedTuple):
    """What `fit` is given, checked: which rows count, which trees have not seen which rows, and are right on them."""

    matrix: F64
    numbers: Index
    weight: F64
    weighted: bool
    counted: Index
    asked: Mask | None
    right: Mask | None


class LeafReweighter(TrainedEnsembleClassifier):
    """A tenth of a forest's nodes, or any other part, with votes of the leaves that make up for the rest.

    The trees are kept that are right most often on rows that they have not seen (or those of greatest weight, where no
    tree has such rows) and fit into the limit, or more of them with their weakest sub-trees cut off; which, is up to
    cross-validation. Then all leaves of all trees are given new
    votes at once, by a logistic regression in which they deviate from what they said as far as the rows tell. With
    ``on="oob"`` each row speaks of the leaves of those trees only that have not seen it: to these it is a new row, so
    that the votes do not believe what the trees have learned by heart. Scores are log-odds, and the probabilities
    calibrated.

    The ensemble itself is frozen: it is neither trained nor changed, and `clone` keeps it as it is.

    Parameters
    ----------
    ensemble : fitted classifier or Committee
        Of trees: a forest, bagged or boosted trees for two classes, of this library or what `Committee.from_estimator`
        takes.
    max_nodes : float or int, default=0.1
        Nodes that stay: a share (0, 1] of the ensemble's, which leaves at least 3 of them, or a number of at least 3.
    min_gain : float, default=None
        Limits are halved from `max_nodes` on, and the smallest is taken whose accuracy on held-out folds, less its
        standard error, is less than this below the best one's. None: `max_nodes`, no other limit is tried.
    on : {"oob", "train", "validation"}, default="oob"
        What `fit` is given. "oob": the rows that the ensemble was trained on; it must know, or be able to tell again,
        which voter saw which. "validation": rows that it has not seen. "train": the training rows of an ensemble whose
        trees saw them all; their leaves' votes are then believed too much, most of all those of deep trees.
    growth : float or tuple of float, default=(1.0, 2.0)
        How many times as large as the limit the trees may be before they are cut, out of which cross-validation
        chooses. 1: trees that stay whole.
    C : float or tuple of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)
        How far the leaves' votes may leave what the trees said; out of several cross-validation chooses.
    cv : int, splitter or iterable of (train, test), default=5
        Folds that choose; a number is of stratified folds of the rows shuffled.
    random_state : int, default=0
        Seed of the folds, where `cv` is a number.
    n_jobs : int or None, default=None
        Threads that walk the trees, and folds that are fitted at a time.

    Attributes
    ----------
    committee_ : Committee
        The trees that are left, each of weight 1 / K.
    classes_ : array (n_classes,)
        The ensemble's.
    voters_ : intp array (K,)
        Numbers of these trees among the ensemble's, in the order of the committee.
    C_, growth_ : float
        What cross-validation chose.
    n_nodes_before_, nbytes_before_, n_voters_before_ : int
        Of the ensemble.
    path_ : LeafPath
        What was tried at each limit; not in a model file, nor in a pickle.

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

    _stored_attributes: ClassVar[tuple[str, ...]] = (
        "voters_",
        "C_",
        "growth_",
        "n_nodes_before_",
        "nbytes_before_",
        "n_voters_before_",
    )

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ensemble": "no_validation",
        "max_nodes": [Interval(Real, 0, None, closed="neither")],
        "min_gain": [Interval(Real, 0, 1, closed="both"), None],
        "on": [StrOptions(set(get_args(Seen)))],
        "growth": [tuple, list, Real],
        "C": [tuple, list, Real],
        "cv": ["cv_object"],
        "random_state": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": N_JOBS,
    }

    voters_: Index
    path_: LeafPath

    def __init__(
        self,
        ensemble: Any,
        *,
        max_nodes: float = 0.1,
        min_gain: float | None = None,
        on: Seen = "oob",
        growth: float | tuple[float, ...] = (1.0, 2.0),
        C: float | tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0),
        cv: Any = 5,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.ensemble = ensemble
        self.max_nodes = max_nodes
        self.min_gain = min_gain
        self.on = on
        self.growth = growth
        self.C = C
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("path_", None)  # its cuts are larger than the model
        return state

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
        growth, C = _positive("growth", self.growth, least=1.0), _positive("C", self.C, least=0.0)
        ensemble = self._trained()
        committee = trained_committee(ensemble)
        refuse_missing(ensemble, committee, X)
        forest = _trees(committee)
        limits = self._limits(forest)
        given = self._given(ensemble, committee, forest, X, y, sample_weight)
        folds = self._folds(X, y, given.counted)
        rows_of = [given.counted, *(given.counted[train] for train, _ in folds)]
        orders = [_order(committee.weights, given, rows) for rows in rows_of]
        most = [trees_within(forest.n_nodes[order], limits[0], max(growth)) for order in orders]
        # trees that no cut takes are left out
        taken = np.unique(np.concatenate([order[:K] for order, K in zip(orders, most, strict=True)]))
        orders = [np.searchsorted(taken, order[:K]) for order, K in zip(orders, most, strict=True)]
        forest, weights = forest[taken], committee.weights[taken]
        rows = self._rows_of(forest, taken, given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a few digits fewer are no other model
            cutter = LeafCutter.of(forest, weights)
            path = leaf_path(cutter, orders, rows, limits, growth, C, folds, n_threads(self.n_jobs))
            step = path.steps[path.chosen(self.min_gain)]
            value = step.cut.refit(rows, step.C)
        # all that could fail has been done
        table = self._take_columns(ensemble, committee, X)
        trees = step.cut.trees
        self.committee_ = Committee(
            cut_forest(forest, step.cut.stands, value)[trees],
            np.full(len(trees), 1.0 / len(trees)),
            committee.classes,
            LINK,
            table,
        )
        self.classes_, self.voters_, self.path_ = committee.classes, taken[trees], path
        self.C_, self.growth_ = step.C, step.growth
        self.n_nodes_before_, self.nbytes_before_ = committee.n_nodes, committee.nbytes
        self.n_voters_before_ = committee.n_voters
        return self

    def _limits(self, forest: Forest) -> tuple[int, ...]:
        """Limits of nodes to try, largest first."""
        total = int(forest.offset[-1])
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

    def _given(
        self,
        ensemble: Any,
        committee: Committee,
        forest: Forest,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
    ) -> _Given:
        """The rows as they were given, checked."""
        numbers = committee.class_indices(y)
        matrix = committee.encode(X)
        if len(matrix) != len(numbers):
            raise ValueError(f"y has {len(numbers)} labels; X has {len(matrix)} rows.")
        weight = np.ones(len(numbers)) if sample_weight is None else row_weights(sample_weight, len(numbers))
        counted, asked, right = weight > 0.0, None, None
        if self.on == "oob":
            asked = unseen_rows(ensemble, committee.n_voters, y, sample_weight)
            if sample_weight is None and getattr(ensemble, "oob_decision_function_", None) is not None:
                check_against_memory(ensemble, committee, SignedVotes.of(committee, X, y), asked)
            counted &= asked.any(axis=1)
            right = np.zeros_like(asked)
            votes = leaf_votes(forest)
            names = (votes[:, 0] > 0.0) if votes.shape[1] == 1 else votes.argmax(axis=1)
            for t, start in enumerate(forest.offset[:-1]):
                rows = asked[:, t]
                leaf = forest[t : t + 1].apply(matrix[rows], n_threads(self.n_jobs))[:, 0]
                right[rows, t] = names[start + leaf] == numbers[rows]
        if len(np.unique(numbers[counted])) < 2:
            raise ValueError("y holds fewer than two classes in the rows that count; votes need two to tell apart.")
        return _Given(matrix, numbers, weight, sample_weight is not None, np.flatnonzero(counted), asked, right)

    def _rows_of(self, forest: Forest, taken: Index, given: _Given) -> Rows:
        """The rows that count, with the leaves of these trees that they fall into."""
        counted = given.counted
        leaf = forest.apply(given.matrix[counted], n_threads(self.n_jobs)) + forest.offset[:-1].astype(np.int32)
        return Rows(
            leaf,
            None if given.asked is None else given.asked[np.ix_(counted, taken)],
            given.numbers[counted],
            given.weight[counted] if given.weighted else None,
        )

    def _folds(self, X: Any, y: ArrayLike, counted: Index) -> list[tuple[Index, Index]]:
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

    def as_sklearn(self) -> RandomForestClassifier:
        """scikit-learn's forest of the trees that are left, which elects the same classes; see `scikit_forest`."""
        check_is_fitted(self)
        return scikit_forest(self.committee_)

    def _from_file(self) -> None:
        """A loaded model's ensemble is its own small committee."""
        if self.voters_.shape != (self.committee_.n_voters,) or self.voters_.dtype.kind != "i":
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


def _order(weights: F64, given: _Given, rows: Index) -> Index:
    """Trees that were drawn alike by how often they are right on rows that they have not seen; others by weight."""
    worth = np.abs(weights)
    if given.asked is not None and given.right is not None:
        right, asked = np.zeros(len(weights)), np.zeros(len(weights))
        for at in range(0, len(rows), BLOCK):  # a product makes float64 of the masks
            block = rows[at : at + BLOCK]
            right += given.weight[block] @ given.right[block]
            asked += given.weight[block] @ given.asked[block]
        worth = right / np.maximum(asked, np.finfo(float).tiny)
    return np.argsort(-worth, kind="stable").astype(np.intp)


def _positive(name: str, values: Any, least: float) -> tuple[float, ...]:
    values = (values,) if isinstance(values, Real) else values
    if not values or not all(isinstance(v, Real) and least <= float(v) < np.inf and float(v) > 0.0 for v in values):
        raise ValueError(f"{name}={values!r} must be finite numbers, each {'at least 1' if least else 'above 0'}.")
    return tuple(sorted(float(v) for v in values))
