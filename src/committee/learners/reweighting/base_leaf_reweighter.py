"""Base class of the models that prune the trees of an ensemble and refit the votes of their leaves."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, replace
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval

from committee.data.columns import take_named, warn_of_other_order
from committee.data.matrices import Matrix
from committee.data.number_types import F64, Index, Mask, is_number, is_whole
from committee.data.parallel import n_threads, one_blas_thread
from committee.data.text import brief_repr, pluralize, warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.parameters import POSITIVE, fitted, parameter, required, with_parameters
from committee.learners.reweighting.leaf_cuts import (
    LeafCutter,
    LeafRows,
    cut_forest,
    score_trees,
    share_subtrees,
    trees_within,
)
from committee.learners.reweighting.pruning_metrics import SelectionCriterion, check_max_loss, metric_name, scorer_name
from committee.learners.reweighting.pruning_paths import Fold, LeafPath, LeafSearch, LeafStep, shuffled_folds
from committee.learners.reweighting.unseen_rows import interpolated_rows
from committee.learners.trained_ensembles.out_of_bag import draws_by_weight, refuse_weighted_draws
from committee.learners.trained_ensembles.trained_ensemble import RowsGiven, TrainedEnsemble, refuse_missing
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest

MAX_SELECTION_ROWS = 20_000  # most rows that choose among cuts: enough for differences of a few thousandths in loss

NOTABLE_LOSS = 0.01  # accuracy lost for which a warning is given, if the loss is larger by twice its standard error
LIMIT_FACTOR = 0.5  # ratio of successive node limits on a path


class FitRows(NamedTuple):
    place: Index  # numbers of the rows among those given to `fit`
    matrix: Matrix
    y: Index | F64  # class numbers, or regression targets
    weight: F64 | None
    unseen: Mask | None  # (n, T): out-of-bag mask; `None` if the trees have seen all rows, or none
    given: tuple[ArrayLike, ArrayLike | None]  # labels or targets, and weights, of all rows that `fit` was given


class WholeVote(NamedTuple):
    """Evaluation of the whole ensemble, before trees are cut."""

    worth: Sequence[F64]  # quality of the trees (T,) on each part of the rows, higher being better
    criterion: SelectionCriterion
    statistics: F64 | None  # (d, n), see `PruningMetric.statistics`; `None` without a fair comparison
    with_target: Callable[[LeafRows], LeafRows]  # sets the target of the fit


@with_parameters
class BaseLeafReweighter(TrainedEnsemble):
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
    _target_word: ClassVar[str]
    _stratifies: ClassVar[bool]

    voters_: Index = fitted(
        """Numbers of the kept trees in the ensemble, in the order of the committee. Boosters of several classes have a
        tree per class and round, numbered round by round; each kept tree votes for all classes. If such a booster
        is kept whole, its rounds are numbered.""",
        "intp array (K,)",
    )
    C_: float = fitted("Chosen `C`; NaN if the ensemble is kept whole.", "float")
    growth_: float = fitted("Chosen `growth`; NaN if the ensemble is kept whole.", "float")
    lost_: float = fitted(
        """Loss increase by `metric` against the whole ensemble, on rows that the trees have not seen; see `max_loss`. 0
        if the ensemble is kept whole. NaN with ``on="train"``, and with "oob" for a forest that drew rows by weight, or
        in classification for fewer than 3 out-of-bag trees per row on average. Slightly optimistic, as the same rows
        choose the size.""",
        "float",
    )
    lost_error_: float = fitted("Standard error of `lost_`.", "float")
    n_nodes_before_: int = fitted("Nodes of the ensemble.", "int")
    nbytes_before_: int = fitted("Bytes of the ensemble's voters.", "int")
    n_voters_before_: int = fitted("Voters of the ensemble.", "int")
    path_: LeafPath = fitted(
        "The best cut at each limit of nodes, as a table or a picture; not stored in files or pickles.", "LeafPath"
    )

    ensemble: Any = required(
        """Forest, bagged or boosted trees, of this library or any that `Committee.from_estimator` or
        `RegressionCommittee.from_estimator` takes; trees of numbers have one output.""",
        "no_validation",
        type_words="fitted ensemble, or its committee",
    )
    _: KW_ONLY
    max_nodes: float = parameter(
        0.1,
        """Largest number of nodes that stay: a share (0, 1] of the ensemble's nodes, or a whole number of at least
        3.""",
        POSITIVE,
        type_words="float or int",
    )
    min_gain: float | None = parameter(
        None,
        """Decrease of accuracy that is too large. Node limits are halved from `max_nodes` on, and the smallest is
        chosen whose accuracy is less than `min_gain` below the best. Accuracy (in regression R^2, or its analogue for
        pinball loss) is cross-validated, made monotone in the size by isotonic regression, and reduced by the standard
        error of its difference to that at `max_nodes`. None: without `max_loss` only `max_nodes` is tried.""",
        Interval(Real, 0, 1, closed="both"),
    )
    max_loss: float | None = parameter(
        None,
        """Largest loss increase by `metric` that is accepted. Node limits are halved from `max_nodes` on, and the
        smallest is chosen whose loss increase against the whole ensemble plus its standard error is at most `max_loss`.
        The increase is cross-validated on rows that the trees have not seen (`LeafPath.lost`); in regression it is a
        share of the ensemble's loss, except for scorers. If no limit qualifies, the ensemble is kept whole with a
        warning. None: `max_nodes` and `min_gain` decide.""",
        Interval(Real, 0, None, closed="left"),
    )
    on: RowsGiven = parameter(
        "oob",
        """Rows that `fit` is given. "oob": the training rows, for an ensemble whose out-of-bag rows are stored or can
        be drawn again. "validation": rows that it has not seen. "train": the training rows of an ensemble whose trees
        have seen all of them, as in boosting; votes are then fitted to the ensemble's predictions of these rows and of
        synthetic rows between near ones, and a classifier's `class_weight` weighs the predicted class shares.""",
    )
    cut: Literal["subtree", "depth"] = parameter(
        "subtree",
        """Part that is cut off trees which together exceed the limit: the weakest sub-trees, or the lowest levels.""",
        after="on",
    )
    growth: float | tuple[float, ...] = parameter(
        (1.0, 2.0, 4.0),
        """Most nodes of the trees before the cut, in multiples of the limit; cross-validation chooses. 1: whole trees,
        unless a single one exceeds the limit.""",
        tuple,
        list,
        Real,
        type_words="float or tuple of float",
    )
    C: float | tuple[float, ...] = parameter(
        (0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
        "Inverse penalty of the leaves' deviations from their old votes; cross-validation chooses among several.",
        tuple,
        list,
        Real,
        type_words="float or tuple of float",
    )
    cv: Any = parameter(
        5,
        """Folds of the cross-validation; a number means shuffled folds, in classification stratified if every class has
        as many rows as there are folds.""",
        "cv_object",
        type_words="int, splitter or iterable of (train, test)",
    )
    random_state: int = parameter(
        0, "Seed of the folds if `cv` is a number, and of synthetic rows.", Interval(Integral, 0, None, closed="left")
    )
    n_jobs: int | None = shared.n_jobs("Threads that walk the trees, and folds that are fitted at a time")

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        self._validate_params()
        named = {"y": y, "sample_weight": sample_weight}
        X, y, sample_weight = take_named(X, **named)
        if self.max_loss is not None:
            check_max_loss(self.max_loss, self.min_gain, self.on)
        committee, threads = self._committee_of(self.trained), n_threads(self.n_jobs)
        refuse_missing(self.trained, committee, X)
        warn_of_other_order(X, y=y, sample_weight=sample_weight)
        forest, weights = score_trees(committee)
        limits = self._limits(int(forest.offset[-1]))
        rows = self._fit_rows(committee, X, y, sample_weight)
        folds = self._folds(X, y, rows.place)
        if self.on == "train":
            rows, folds = self._with_synthetic_rows(committee, rows, folds, threads)
        search, taken = self._search(committee, forest, weights, rows, folds, limits[0])
        del rows, forest  # arrays of all trees
        with one_blas_thread():  # folds are fitted in parallel, each with many small products
            path = search.path(limits, threads, self.max_loss)
            chosen = path.chosen(self.min_gain) if self.max_loss is None else path.within(self.max_loss)
            if chosen is not None:
                step = path.steps[chosen]
                value = step.cut.regression(search.rows, threads).votes(step.C)
        is_share = not is_whole(self.max_nodes)  # who counts the nodes wants so few
        if chosen is None or (self.max_loss is None and is_share and self._loses_too_much(path.steps[chosen])):
            on_path = [*zip(limits, path.steps, strict=False)][: chosen or 0]
            doubled = self._doubled_steps(committee, (X, y, sample_weight), folds, limits[0])
            self._warn_of_loss(path, chosen, self._remedy(chain(reversed(on_path), doubled), committee.n_nodes))
        with self._as_before_if_it_fails():
            self._remember_named(named)
            table = self._take_columns(self.trained, committee, X)
            small: Any = committee
            self.voters_ = np.arange(committee.n_voters)
            self.C_ = self.growth_ = np.nan
            self.lost_ = self.lost_error_ = 0.0
            if chosen is not None:
                trees = step.cut.trees
                value = search.criterion.centre + search.criterion.unit * value
                voters = cut_forest(search.cutter.forest, step.cut.stands, value)[trees]
                small = self._small(committee, voters, np.full(len(trees), 1.0 / len(trees)))
                self.voters_ = taken[trees]
                self.C_, self.growth_ = step.C, step.growth
                self.lost_, self.lost_error_ = float(path.lost()[chosen]), step.lost_error
            self.committee_, self.path_ = share_subtrees(replace(small, table=table)), path
            self.n_nodes_before_ = committee.n_nodes
            self.nbytes_before_ = committee.nbytes
            self.n_voters_before_ = committee.n_voters
            self._take_target(committee)
        return self

    def _search(
        self, committee: WeightedVotes, forest: Forest, weights: F64, rows: FitRows, folds: list[Fold], most: int
    ) -> tuple[LeafSearch, Index]:
        # returns also the numbers of the trees that any cut may have
        growth, C = _sorted_values("growth", self.growth, least=1.0), _sorted_values("C", self.C, least=0.0)
        # in a fold, the order of the trees does not depend on its test rows
        parts = [np.arange(len(rows.y)), *[train for train, _ in folds]]
        worth, criterion, statistics, with_target = self._whole_vote(committee, forest, rows, parts)
        orders = [np.argsort(-each, kind="stable").astype(np.intp) for each in worth]
        orders = [order[: trees_within(forest.n_nodes[order], most, max(growth))] for order in orders]
        taken = np.unique(np.concatenate(orders))
        orders = [np.searchsorted(taken, order) for order in orders]
        forest = forest[taken]
        cutter = LeafCutter.of(forest, weights[taken] / criterion.unit, self.cut == "depth")
        leaf = forest.apply(rows.matrix, n_threads(self.n_jobs))
        leaf += forest.offset[:-1].astype(np.int32)  # in place: (n, T) is the largest array here
        unseen = None if rows.unseen is None else rows.unseen[:, taken]
        reached = with_target(LeafRows(leaf, unseen, rows.y, rows.weight))
        return LeafSearch(cutter, reached, folds, orders, growth, C, criterion, statistics), taken

    # --- classification or regression ----------------------------------------------------------------------------

    @abstractmethod
    def _committee_of(self, ensemble: Any) -> WeightedVotes: ...

    @abstractmethod
    def _read_target(self, committee: Any, y: ArrayLike) -> Index | F64: ...

    @abstractmethod
    def _check_target(self, target: Index | F64) -> None: ...

    @abstractmethod
    def _out_of_bag_mask(self, committee: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Mask: ...

    @abstractmethod
    def _whole_vote(self, committee: Any, forest: Forest, rows: FitRows, parts: Sequence[Index]) -> WholeVote: ...

    @abstractmethod
    def _small(self, committee: Any, voters: Forest, weights: F64) -> WeightedVotes: ...

    @abstractmethod
    def _take_target(self, committee: Any) -> None: ...

    # --- limits and rows -----------------------------------------------------------------------------------------

    @property
    def _has_new_rows(self) -> bool:
        # if rows were drawn by weight, out-of-bag rows have smaller weights than new rows
        if self.on != "oob":
            return self.on == "validation"
        if self.max_loss is not None:
            refuse_weighted_draws(self.trained)
        return not draws_by_weight(self.trained)

    def _loses_too_much(self, step: LeafStep) -> bool:
        if self.max_loss is not None:
            return step.lost + step.lost_error > self.max_loss
        return self.metric_name == "accuracy" and step.lost - 2.0 * step.lost_error > NOTABLE_LOSS

    def _doubled_steps(
        self, committee: WeightedVotes, given: tuple[Any, ArrayLike, ArrayLike | None], folds: list[Fold], most: int
    ) -> Iterator[tuple[int, LeafStep]]:
        limits = []
        while (most := 2 * most) <= committee.n_nodes // 2:  # larger ones take long, and save little
            limits.append(most)
        if not limits:
            return
        rows = self._fit_rows(committee, *given)
        search, _ = self._search(committee, *score_trees(committee), rows, folds, limits[-1])
        for limit in limits:  # together they cost about two fits of the last one taken
            with one_blas_thread():
                path = search.path((limit,), n_threads(self.n_jobs))
            yield limit, path.steps[0]

    def _remedy(self, larger: Iterable[tuple[int, LeafStep]], n_nodes: int) -> str:
        loses = f"loses at most {NOTABLE_LOSS:g} plus two standard errors"
        meets = loses if self.max_loss is None else f"meets max_loss={self.max_loss:g}"
        tried = ""
        for limit, step in larger:
            size = f"max_nodes={limit} ({limit / n_nodes:.2g} of the nodes)"
            if not self._loses_too_much(step):
                without = "" if self.min_gain is None else " without min_gain"
                return f"give {size}{without}, the smallest size tried that {meets}"
            tried = f"no size tried, up to {size}, {meets}; "
        if self.max_loss is None:
            return f"{tried}give a larger max_nodes, or keep the whole ensemble"
        return f"{tried}raise max_loss or max_nodes, or give more rows"

    def _warn_of_loss(self, path: LeafPath, chosen: int | None, remedy: str) -> None:
        step = path.steps[chosen or 0]
        pruned = f"pruned to {pluralize(step.cut.n_nodes, 'node')} by max_nodes={self.max_nodes:g}, the ensemble"
        lost, rows = f"{step.lost:.2g} ± {step.lost_error:.1g}", "on rows that the trees have not seen"
        if chosen is not None:
            warn_user(f"{pruned} loses {lost} of its accuracy {rows}; {remedy}.")
            return
        of = " of the whole ensemble's" if path.criterion.metric.in_shares else ""
        warn_user(
            f"{pruned}'s loss by metric={self.metric_name!r} rises by {lost}{of} {rows}, which may be more than "
            f"max_loss={self.max_loss:g}, so that it is kept whole; {remedy}."
        )

    @property
    def metric_name(self) -> str:
        return metric_name(self.metric)

    def _limits(self, total: int) -> tuple[int, ...]:
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
        while several and (shorter := int(LIMIT_FACTOR * limits[-1])) >= 3:
            limits.append(shorter)
        return tuple(limits)

    def _fit_rows(self, committee: WeightedVotes, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> FitRows:
        target = self._read_target(committee, y)
        matrix = committee.encode(X)
        if len(matrix) != len(target):
            raise ValueError(f"y has {len(target)} {self._target_word}; X has {len(matrix)} rows, which need one each.")
        weight = self._weights(y, sample_weight)
        counts = np.ones(len(target), dtype=bool) if weight is None else weight > 0.0
        unseen = None
        if self.on == "oob":
            unseen = self._out_of_bag_mask(committee, X, y, sample_weight)
            counts &= unseen.any(axis=1)
        self._check_target(target[counts])
        place, given = np.flatnonzero(counts), (y, sample_weight)
        if counts.all():
            return FitRows(place, matrix, target, weight, unseen, given)  # without copies of large arrays
        weight = None if weight is None else weight[counts]
        unseen = None if unseen is None else unseen[counts]
        return FitRows(place, matrix[counts], target[counts], weight, unseen, given)

    def _folds(self, X: Any, y: ArrayLike, counted: Index) -> list[Fold]:
        if isinstance(self.cv, Integral):
            labels: NDArray[Any] = np.asarray(y)[counted]
            folds = shuffled_folds(labels, int(self.cv), self.random_state, stratify=self._stratifies)
            if len(labels) <= MAX_SELECTION_ROWS:
                return list(folds.split(labels, labels))
            some = np.sort(np.random.default_rng(self.random_state).permutation(len(labels))[:MAX_SELECTION_ROWS])
            return [(some[train], some[test]) for train, test in folds.split(labels[some], labels[some])]
        place = np.full(len(np.asarray(y)), -1, dtype=np.intp)
        place[counted] = np.arange(len(counted))
        split = check_cv(self.cv, y, classifier=self._stratifies).split(X, y)
        folds_of = [tuple(at[at >= 0] for at in (place[part] for part in fold)) for fold in split]
        if not folds_of or any(not len(train) or not len(test) for train, test in folds_of):
            raise ValueError(f"cv={brief_repr(self.cv)} gives no folds, or one without usable rows; give other folds.")
        return folds_of

    def _with_synthetic_rows(
        self, committee: WeightedVotes, rows: FitRows, folds: Sequence[Fold], n_threads: int
    ) -> tuple[FitRows, list[Fold]]:
        n = len(rows.y)
        new = interpolated_rows(rows.matrix, rows.weight, committee.table, self.random_state, n_threads)
        beside, weight = new.beside, np.ones(n) if rows.weight is None else rows.weight
        both = FitRows(
            np.append(rows.place, rows.place[beside]),
            new.below(rows.matrix),
            np.concatenate([rows.y, rows.y[beside]]),
            np.append(weight, new.weight),
            None,
            rows.given,
        )

        def with_new(part: Index) -> Index:
            inside = np.zeros(n, dtype=bool)
            inside[part] = True
            return np.append(part, n + np.flatnonzero(inside[beside]))

        return both, [(with_new(train), with_new(test)) for train, test in folds]

    # --- model files ---------------------------------------------------------------------------------------------

    def _for_file(self) -> Self:
        if self.metric is None or isinstance(self.metric, str):
            return self
        known = scorer_name(self.metric)
        if known is None:
            raise TypeError(
                f"metric={self.metric_name!r} is a function or scorer, and a model file holds no code. Before saving, "
                "set metric to the name of a metric by set_params(metric=...): predictions do not depend on it."
            )
        stored = copy.copy(self)
        vars(stored)["metric"] = known
        return stored

    def _from_file(self) -> None:
        voters = getattr(self, "voters_", None)
        of_voters = isinstance(voters, np.ndarray) and voters.shape == (self.committee_.n_voters,)
        if not of_voters or self.voters_.dtype.kind != "i":
            raise ValueError("voters_ are not the numbers of the committee's voters")
        self.ensemble = self.committee_


def _sorted_values(name: str, values: Any, least: float) -> tuple[float, ...]:
    values = (values,) if isinstance(values, Real) else values
    if not values or not all(is_number(v) and least <= float(v) < np.inf and float(v) > 0.0 for v in values):
        raise ValueError(f"{name}={values!r} must be finite numbers, each {'at least 1' if least else 'above 0'}.")
    return tuple(sorted(float(v) for v in values))
