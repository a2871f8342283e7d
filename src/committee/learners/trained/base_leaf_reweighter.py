"""Base of the models that cut the trees of a trained ensemble and let their leaves vote anew."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils._param_validation import Interval

from committee.data.number_types import F64, Index, Mask, is_number
from committee.data.parallel import n_threads, one_blas_thread
from committee.data.sparse import Matrix
from committee.learners.base import shared_parameters as shared
from committee.learners.base.parameters import POSITIVE, fitted, parameter, required, with_parameters
from committee.learners.trained.contract_metric import check_contract
from committee.learners.trained.cut_fold import Split
from committee.learners.trained.leaf_cut import LeafCutter, LeafRows, trees_within
from committee.learners.trained.leaf_path import LeafPath, LeafSearch
from committee.learners.trained.made_rows import made_between
from committee.learners.trained.score_metric import metric_name, scorer_name
from committee.learners.trained.score_trees import score_trees
from committee.learners.trained.stored_once import stored_once
from committee.learners.trained.trained_ensemble import RowsGiven, TrainedEnsemble, refuse_missing
from committee.learners.trained.tree_nodes import cut_forest
from committee.learners.trained.unseen_rows import drew_by_weight, refuse_weighted_draws
from committee.learners.trained.vote_judge import VoteJudge
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest

MOST_CHOOSING = 20_000
"""Rows that choose among cuts, drawn at random of more: they tell losses apart to a few thousandths, and `C`, the
variance of what a leaf may deviate, is the same for any number of rows. All rows have a part in the votes."""

SHORTER = 0.5
"""Each limit on a path, as a share of the one before."""


class FitRows(NamedTuple):
    """Rows of a fit that count: their places among those given, encoded, with class numbers or numbers, and weights.

    Weights are None where all are 1. `unseen` ``(n, T)`` has the trees that have not seen them; None where all trees
    have seen all rows, or none any.
    """

    place: Index
    matrix: Matrix
    y: Index | F64
    weight: F64 | None
    unseen: Mask | None

    def in_leaves(self, forest: Forest, trees: Index, n_threads: int) -> LeafRows:
        """The rows in the leaves of a forest of some of the trees."""
        leaf = forest.apply(self.matrix, n_threads)
        leaf += forest.offset[:-1].astype(np.int32)  # in place: rows times trees are what takes memory here
        return LeafRows(leaf, None if self.unseen is None else self.unseen[:, trees], self.y, self.weight)


@dataclass(frozen=True, eq=False)
class WholeVote:
    """What is known of an ensemble before it is cut."""

    worth: Sequence[F64]
    """By parts of the rows, how good its trees are ``(T,)``, the better the more."""
    judge: VoteJudge
    """What is asked of cuts."""
    kept: F64 | None
    """What a contract keeps of the whole, ``(d, n)``; None where it has seen the rows."""
    aimed: Callable[[LeafRows], LeafRows]
    """The rows with what votes are fitted to."""
    unit: float = 1.0
    """What scores are in multiples of."""
    centre: float = 0.0
    """What they count from."""


@with_parameters
class BaseLeafReweighter(TrainedEnsemble):
    """Base of the models that cut the trees of a trained ensemble and let their leaves vote anew."""

    stored_attributes: ClassVar[tuple[str, ...]] = (
        "voters_",
        "C_",
        "growth_",
        "lost_",
        "lost_error_",
        "n_nodes_before_",
        "nbytes_before_",
        "n_voters_before_",
    )
    _not_pickled: ClassVar[tuple[str, ...]] = ("path_",)

    voters_: Index = fitted()
    path_: LeafPath = fitted()

    ensemble: Any = required(
        """Of trees: a forest, bagged or boosted trees, of this library or what `Committee.from_estimator` takes.""",
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
        held-out folds, joined over sizes and less its standard error, is less than this below the best one's. None:
        `max_nodes`, no other limit is tried.""",
        Interval(Real, 0, 1, closed="both"),
    )
    max_loss: float | None = parameter(
        None,
        """A contract in place of a size: limits are halved from `max_nodes` on, and the smallest cut is taken that
        loses at most this much of `metric` against the whole ensemble, standard error included, as judged on rows that
        the trees have not seen and other folds (`LeafPath.lost`). If none does, the ensemble is kept whole, and a
        warning says so. None: no contract.""",
        Interval(Real, 0, None, closed="left"),
    )
    on: RowsGiven = parameter(
        "oob",
        """Rows that `fit` is given. "oob": those that the ensemble was trained on; it must know, or be able to draw
        again, which voter saw which. "validation": rows that it has not seen. "train": the training rows of an ensemble
        whose trees saw them all, as in boosting; votes are then fitted to what the whole ensemble says of them, and of
        rows made between near ones, not to their labels, which its trees know by heart, and `class_weight` weighs these
        shares of the classes.""",
    )
    cut: Literal["subtree", "depth"] = parameter(
        "subtree",
        """What goes of trees that are too large together: their weakest sub-trees, or their lowest levels.""",
        after="on",
    )
    growth: float | tuple[float, ...] = parameter(
        (1.0, 2.0, 4.0),
        """Size of the trees before they are cut, at most, in units of the limit; cross-validation
        chooses. 1: trees that stay whole.""",
        tuple,
        list,
        Real,
        type_words="float or tuple of float",
    )
    C: float | tuple[float, ...] = parameter(
        (0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
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
            Their labels, all known to the ensemble, of at least two classes; or their numbers.
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
            If it is of a kind that is not known or does not suit, or its voters are no trees.
        ValueError
            If `X` or `y` do not suit it, a parameter is out of its range, or the out-of-bag rows are not known.
        """
        self._validate_params()
        if self.max_loss is not None:
            check_contract(self.max_loss, self.min_gain, self.on)
        growth, C = _increasing("growth", self.growth, least=1.0), _increasing("C", self.C, least=0.0)
        ensemble, threads = self.trained, n_threads(self.n_jobs)
        committee = self._committee_of(ensemble)
        refuse_missing(ensemble, committee, X)
        forest, weights = score_trees(committee)
        limits = self._limits(int(forest.offset[-1]))
        answers = self._read_answers(committee, y)
        rows = self._rows_that_count(ensemble, committee, X, answers, y, sample_weight)
        folds = self._folds(X, y, rows.place)
        if self.on == "train":
            rows, folds = self._with_made_rows(committee, rows, folds, threads)

        # which trees come first is computed without a fold's rows in that fold, as their votes are
        parts = [np.arange(len(rows.y)), *[train for train, _ in folds]]
        whole = self._whole_vote(ensemble, committee, forest, rows, parts, (y, sample_weight))
        orders = [np.argsort(-worth, kind="stable").astype(np.intp) for worth in whole.worth]
        orders = [order[: trees_within(forest.n_nodes[order], limits[0], max(growth))] for order in orders]
        taken = np.unique(np.concatenate(orders))  # no cut has any of the others
        orders = [np.searchsorted(taken, order) for order in orders]
        forest = forest[taken]
        cutter = LeafCutter.of(forest, weights[taken] / whole.unit, self.cut == "depth")
        reached = whole.aimed(rows.in_leaves(forest, taken, threads))
        del rows  # of all trees; what is needed of the taken ones is in `reached`
        search = LeafSearch(cutter, reached, folds, orders, growth, C, whole.judge, whole.kept)
        with one_blas_thread():  # folds are fitted beside each other, each with many small products
            path = search.path(limits, threads, self.max_loss)
            chosen = path.chosen(self.min_gain) if self.max_loss is None else path.within(self.max_loss)
            step = None if chosen is None else path.steps[chosen]
            value = None if step is None else step.cut.regression(search.rows, threads).votes(step.C)
        if chosen is None:
            self._warn_that_none_is_within(path)
        with self._as_before_if_it_fails():
            table = self._take_columns(ensemble, committee, X)
            small: Any
            if step is None or value is None:
                small = replace(committee, table=table)  # type: ignore[type-var]  # both kinds are dataclasses
                self.voters_ = np.arange(committee.n_voters)
                self.C_ = self.growth_ = np.nan
                self.lost_ = self.lost_error_ = 0.0
            else:
                trees, says = step.cut.trees, whole.centre + whole.unit * value
                voters = cut_forest(forest, step.cut.stands, says)[trees]
                small = self._small(committee, voters, np.full(len(trees), 1.0 / len(trees)), table)
                self.voters_ = taken[trees]
                self.C_ = step.C
                self.growth_ = step.growth
                self.lost_ = float(path.lost()[chosen])
                self.lost_error_ = step.lost_error
            self.committee_, self.path_ = stored_once(small), path
            self.n_nodes_before_: int = committee.n_nodes
            self.nbytes_before_: int = committee.nbytes
            self.n_voters_before_: int = committee.n_voters
            self._take_answers(committee)
        return self

    # --- what an ensemble answers, which subclasses know ---------------------------------------------------------

    @abstractmethod
    def _committee_of(self, ensemble: Any) -> WeightedVotes:
        """The committee of an ensemble of the right kind."""

    @abstractmethod
    def _read_answers(self, committee: Any, y: ArrayLike) -> Index | F64:
        """The answers of the rows as numbers, checked."""

    @abstractmethod
    def _unseen(self, ensemble: Any, committee: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Mask:
        """The trees that have not seen a row of training, ``(n, T)``."""

    @abstractmethod
    def _whole_vote(
        self,
        ensemble: Any,
        committee: Any,
        forest: Forest,
        rows: FitRows,
        parts: Sequence[Index],
        given: tuple[ArrayLike, ArrayLike | None],
    ) -> WholeVote:
        """What the whole says of the rows, and how good its trees are; labels and weights as they were given."""

    @abstractmethod
    def _small(self, committee: Any, voters: Forest, weights: F64, table: Any) -> WeightedVotes:
        """The committee of some trees with new votes."""

    def _take_answers(self, committee: Any) -> None:
        """Set what is known of answers from the committee, such as its classes."""

    # --- limits and rows -----------------------------------------------------------------------------------------

    def _tells_loss(self, ensemble: Any) -> bool:
        """Whether rows tell what a cut loses: those that the trees have not seen, and that are like new ones."""
        if self.on != "oob":
            return self.on == "validation"
        if self.max_loss is not None:
            refuse_weighted_draws(ensemble)
        return not drew_by_weight(ensemble)

    def _warn_that_none_is_within(self, path: LeafPath) -> None:
        """Say that the ensemble stays whole, and which cut came closest."""
        first = path.steps[0]
        of = f"the whole's {self.metric_name}, as a share," if path.judge.contract.in_shares else self.metric_name
        warnings.warn(
            f"a cut of {first.cut.n_nodes} nodes loses {first.lost:.2g} ± {first.lost_error:.1g} of {of} on rows "
            f"that the trees have not seen, which may be more than max_loss={self.max_loss:g}, so that the ensemble is "
            "kept whole; allow more, a larger max_nodes, or give more rows.",
            stacklevel=3,
        )

    @property
    def metric_name(self) -> str:
        """What `max_loss` counts: a metric's name, or a function's."""
        return metric_name(self.metric)

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
        several = self.min_gain is not None or self.max_loss is not None
        while several and (shorter := int(SHORTER * limits[-1])) >= 3:
            limits.append(shorter)
        return tuple(limits)

    def _rows_that_count(
        self,
        ensemble: Any,
        committee: WeightedVotes,
        X: Any,
        answers: Index | F64,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
    ) -> FitRows:
        """The rows that count."""
        matrix = committee.encode(X)
        if len(matrix) != len(answers):
            raise ValueError(f"y has {len(answers)} {self._answer_word}; X has {len(matrix)} rows.")
        weight = self._weights(y, sample_weight, len(answers))
        counts = np.ones(len(answers), dtype=bool) if weight is None else weight > 0.0
        unseen = None
        if self.on == "oob":
            unseen = self._unseen(ensemble, committee, X, y, sample_weight)
            counts &= unseen.any(axis=1)  # a row that all trees have seen is evidence for none
        self._check_answers(answers[counts])
        place = np.flatnonzero(counts)
        if counts.all():
            return FitRows(place, matrix, answers, weight, unseen)  # no copies of what may be large
        weight = None if weight is None else weight[counts]
        unseen = None if unseen is None else unseen[counts]
        return FitRows(place, matrix[counts], answers[counts], weight, unseen)

    _answer_word: ClassVar[str]

    @abstractmethod
    def _check_answers(self, answers: Index | F64) -> None:
        """Refuse answers, of the rows that count, that leave nothing to fit."""

    def _folds(self, X: Any, y: ArrayLike, counted: Index) -> list[Split]:
        """The folds, as numbers among the rows that count."""
        if isinstance(self.cv, Integral):
            labels: NDArray[Any] = np.asarray(y)[counted]
            stratify = self._stratifies and int(np.unique(labels, return_counts=True)[1].min()) >= self.cv
            kind = StratifiedKFold if stratify else KFold
            folds = kind(min(int(self.cv), len(labels)), shuffle=True, random_state=self.random_state)
            if len(labels) <= MOST_CHOOSING:
                return list(folds.split(labels, labels))
            some = np.sort(np.random.default_rng(self.random_state).permutation(len(labels))[:MOST_CHOOSING])
            return [(some[train], some[test]) for train, test in folds.split(labels[some], labels[some])]
        place = np.full(len(np.asarray(y)), -1, dtype=np.intp)
        place[counted] = np.arange(len(counted))
        split = check_cv(self.cv, y, classifier=self._stratifies).split(X, y)
        folds_of = [tuple(at[at >= 0] for at in (place[part] for part in fold)) for fold in split]
        if not folds_of or any(not len(train) or not len(test) for train, test in folds_of):
            raise ValueError(f"cv={self.cv!r} has no folds, or one without rows that count; give others.")
        return folds_of

    def _with_made_rows(
        self, committee: WeightedVotes, rows: FitRows, folds: Sequence[Split], n_threads: int
    ) -> tuple[FitRows, list[Split]]:
        """The rows that count and rows made between them, each in the folds of the row that it is nearer to."""
        n = len(rows.y)
        made = made_between(rows.matrix, rows.weight, committee.table, self.random_state, n_threads)
        beside, weight = made.beside, np.ones(n) if rows.weight is None else rows.weight
        both = FitRows(
            np.append(rows.place, rows.place[beside]),
            made.below(rows.matrix),
            np.concatenate([rows.y, rows.y[beside]]),
            np.append(weight, made.weight),
            None,
        )

        def with_made(part: Index) -> Index:
            inside = np.zeros(n, dtype=bool)
            inside[part] = True
            return np.append(part, n + np.flatnonzero(inside[beside]))

        return both, [(with_made(train), with_made(test)) for train, test in folds]

    _stratifies: ClassVar[bool]
    """Whether folds have the same share of each answer."""

    def _for_file(self) -> Self:
        """With scikit-learn's own functions by the names of their scorers."""
        if self.metric is None or isinstance(self.metric, str):
            return self
        known = scorer_name(self.metric)
        if known is None:
            raise TypeError(
                f"metric={self.metric_name!r} is a function, and a model file holds no code. Before the model is saved "
                "set metric to the name of one, as by set_params(metric=...): it has no part in predictions."
            )
        stored = copy.copy(self)
        vars(stored)["metric"] = known
        return stored

    def _from_file(self) -> None:
        """A loaded model's ensemble is its own small committee."""
        voters = getattr(self, "voters_", None)
        of_voters = isinstance(voters, np.ndarray) and voters.shape == (self.committee_.n_voters,)
        if not of_voters or self.voters_.dtype.kind != "i":
            raise ValueError("voters_ are not the numbers of the committee's voters")
        self.ensemble = self.committee_


def _increasing(name: str, values: Any, least: float) -> tuple[float, ...]:
    """The values of a parameter that may be one or several, in increasing order."""
    values = (values,) if isinstance(values, Real) else values
    if not values or not all(is_number(v) and least <= float(v) < np.inf and float(v) > 0.0 for v in values):
        raise ValueError(f"{name}={values!r} must be finite numbers, each {'at least 1' if least else 'above 0'}.")
    return tuple(sorted(float(v) for v in values))
