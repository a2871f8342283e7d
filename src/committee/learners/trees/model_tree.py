"""Model trees: classification trees whose leaves are boosted linear scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import ceil, log2
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee import _core
from committee._core import GrownTree
from committee.data.design import Design
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.data.table_schema import TableSchema
from committee.learners.base import shared_parameters as shared
from committee.learners.base.calibration import CalibratedClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import with_parameters
from committee.learners.trees.newton_boost import (
    ERROR_ROUNDING,
    I32,
    I64,
    SCORE_CAP,
    LeafBoosting,
    boosted_leaves,
    leaf_losses,
)
from committee.vote.committee import Committee
from committee.vote.explain.contributions import contributions, require_score_output
from committee.vote.explain.importances import feature_importances, is_faster_by_covariance, risk_decreases
from committee.vote.explain.rules import leaf_models
from committee.vote.explain.tree_contributions import Output
from committee.vote.links.probability import Share
from committee.voters.growing import GrowthLimits, deep_tree_grower, forest_from_grown, leaf_labels, tree_grower
from committee.voters.model_forest import LeafRows, LinkName, ModelForest, TrainingRecord

if TYPE_CHECKING:
    import polars as pl


@with_parameters
class ProbitModelTreeClassifier(CalibratedClassifier):
    """A probit model tree (PMT): a classification tree with a boosted linear score in every leaf.

    The tree splits by weighted Gini [1]_. In each leaf ProbitBoost takes `n_leaf_steps` Newton steps on the risk
    -ln Phi(y f): every step regresses the working response z = y / (x + lambda(x)) on one feature with weights
    w = lambda(x) (x + lambda(x)), x = y f, lambda = phi / Phi, and adds the line of the feature with the least weighted
    squared error. More than two classes: one score per class ("class k or not"), and the largest wins. A leaf of one
    class predicts it. Steps along the gradient [2]_, and their risk, are those of `ProbitBoostClassifier`.

    Attributes
    ----------
    committee_ : Committee
        A committee of one, voting with probabilities.
    leaf_models_ : polars.DataFrame
        Every leaf in words, with its linear score in the columns' own units.
    feature_importances_ : array (p,)
        Share of each feature in the decrease of the training risk, by splits and in the leaves.
    risk_path_ : array (n_leaves, n_outputs, n_leaf_steps + 1)
        Mean risk of the training rows of each leaf before and after every step; with ``n_leaf_steps="cv"`` for 100.
        With ``tree="per_class"`` the leaves of all trees, each of one output.

    Notes
    -----
    Scores are overconfident after a hundred steps in leaves of some twenty rows, as in the paper; `calibrate` and
    ``n_leaf_steps="cv"`` correct the probabilities, and `SBPMTClassifier` votes with those of many trees.

    Steps that would take a training score past +-20 (probit; 40 for logit) are not taken, and a step that does not
    lower the risk is halved until it does, so the weighted risk never rises (Lemma 3 of [1]_).

    The folds of `calibrate` follow the rows' numeric cells. Rows that differ in categories alone are dealt in the order
    of the categories' names. The folds of ``n_leaf_steps="cv"``, and the held-out third of
    ``min_impurity_decrease="auto"``, depend on `random_state` and the order of the rows.

    References
    ----------
    .. [1] T. Qin, W.-M. Huang. On subbagging boosted probit model trees, section 3.
    .. [2] S. Zheng, W. Liu (2012). Functional gradient ascent for probit regression. Pattern Recognition 45.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import ProbitModelTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = ProbitModelTreeClassifier().fit(X[::2], y[::2])
    >>> tree.score(X[1::2], y[1::2]) > 0.9
    True
    """

    n_leaf_steps: int | Literal["cv"] = shared.n_leaf_steps()
    _: KW_ONLY
    leaf_steps: Literal["newton", "gradient"] = shared.leaf_steps()
    link: LinkName = shared.leaf_link()
    tree: Literal["shared", "per_class"] = shared.trees_of_classes()
    max_depth: int | Literal["auto"] | None = shared.model_tree_depth(6)
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    min_samples_leaf: int = shared.min_samples_leaf(20, "20 is the paper's.")
    min_weight_leaf: float = shared.min_weight_leaf()
    min_impurity_decrease: float | Literal["auto"] = shared.model_tree_decrease(0.01)
    max_features: int | float | str | None = shared.max_features()
    feature_weights: Any = shared.feature_weights(of="`max_features` draws", more="Leaves use all columns.")
    selection: Literal["error", "likelihood"] = shared.selection()
    tol: float = shared.newton_tol("Boosting of a leaf")
    max_bins: int = shared.max_bins("For the tree.")
    categorical_features: Any = shared.categorical_features("Leaves see them as 0/1 columns.")
    random_state: Any = shared.random_state("the features of `max_features`, and of folds and held-out rows in leaves")
    n_jobs: int | None = shared.n_jobs()

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("model_trees",)
    stored_attributes: ClassVar[tuple[str, ...]] = ("risk_path_", "temperature_")

    def _check_parameters(self) -> None:
        check_leaf_steps(self)

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        table = ModelTreeTable(rows, self.table_, len(self.classes_), self.max_bins, n_threads(self.n_jobs))
        random = tasks.random(rows)
        seed = int(random.randint(2**31 - 1))
        drawn = np.arange(len(rows.labels), dtype=np.int32)
        tree = table.fit(ModelTreeLimits.of(self, len(drawn)), rows.weights, drawn, seed, record=True)
        voters = ModelTreeVoters(table, self.link)
        voters.add(tree)
        soft = replace(voters.voters(), soft=True)
        committee = Committee(soft, np.ones(1), self.classes_, Share(), self.table_)
        return self._finished({"committee_": committee, "risk_path_": tree.risk}, rows, None, random, tasks)

    @property
    def leaf_models_(self) -> pl.DataFrame:
        """Rule and linear score of every leaf: a row per leaf, or per leaf and class if leaves have several scores."""
        return leaf_models(self._trees, self.classes_, self.table_)

    def contributions(self, X: Any, *, output: Output | None = None, parts: bool = False) -> F64:
        """Return the exact share of each feature in a row's linear score; see `committee.vote.explain.contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"score"}, default=None
            Explained output; of model trees, scores alone.
        parts : bool, default=False
            Whether parts of dates are columns of their own, as for `FittedLearner.contributions`.

        Returns
        -------
        float64 array (n, p + 1) for two classes, else (n, p + 1, K)
            Features in order and last the bias, the mean score of the training rows. They add up to the score: a
            positive share is evidence for ``classes_[1]``, or for class k.

        Raises
        ------
        ValueError
            If another `output` is given.
        """
        require_score_output(output or "score")
        if self.n_classes_ == 1:
            shares: F64 = super().contributions(X, parts=parts)
            return shares
        trees = self._trees
        encoded = self.table_.encode(self.validate_rows(X))
        return self._by_part(contributions(trees, encoded, np.ones(1), n_threads(self.n_jobs)), parts=parts)

    @property
    def feature_importances_(self) -> F64:
        """Share of each feature in the decrease of the training risk, ``(p,)``."""
        return feature_importances(self._trees, np.ones(1))

    @property
    def _trees(self) -> ModelForest:
        check_is_fitted(self)
        voters = self.committee_.voters
        if not isinstance(voters, ModelForest):
            raise AttributeError("this model has no model trees: it was trained on rows of one class. Train it on two.")
        return voters


# --- limits -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelTreeLimits:
    growth: GrowthLimits
    n_leaf_steps: int | Literal["cv"]
    leaf_steps: Literal["newton", "gradient"]
    link: LinkName
    tree: Literal["shared", "per_class"]
    selection: Literal["error", "likelihood"]
    tol: float
    pruned: bool  # pruned by held-out errors, in place of a limit on the gain of a split
    most_classes: int  # as in `LeafBoosting`

    @classmethod
    def of(cls, learner: Any, n_rows: int, most_classes: int = 0) -> Self:
        growth, pruned = GrowthLimits.of(learner), learner.min_impurity_decrease == "auto"
        if learner.max_depth == "auto":
            growth = replace(growth, max_depth=depth_for(n_rows, growth.min_samples_leaf))
        if pruned:
            growth = replace(growth, min_impurity_decrease=0.0)
        return cls(
            growth, learner.n_leaf_steps, learner.leaf_steps, learner.link, learner.tree, learner.selection,
            learner.tol, pruned, most_classes,
        )  # fmt: skip


def check_leaf_steps(learner: Any) -> None:
    if learner.leaf_steps == "newton":
        return
    for name, needed in (("tree", "shared"), ("selection", "error")):
        if getattr(learner, name) != needed:
            raise ValueError(
                f"leaf_steps='gradient' boosts the scores of all classes together, along the gradient, and {name} is "
                f"{getattr(learner, name)!r}. Set {name}={needed!r}, or leaf_steps='newton'."
            )


def depth_for(n_rows: int, min_samples_leaf: int) -> int:
    # the paper's depth is 6
    return max(6, ceil(log2(max(1.0, n_rows / min_samples_leaf))) + 1)


# --- trees ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """A grown tree with boosted scores in its L leaves, for q design columns and O scores."""

    tree: GrownTree
    leaves: LeafRows  # training rows (m,), leaves by node number
    weights: F64  # (m,): of these rows in the round of boosting
    intercept: F64  # (L, O)
    coefficient: F64  # (L, O, q)
    scores: F64 | None  # (m, O); None if the record is made without them
    risk: F64  # (L, O): mean risk of each leaf's scores


@dataclass(frozen=True, eq=False)
class ModelTree:
    """A fitted model tree: one tree, or one for each class."""

    trees: tuple[BoostedTree, ...]
    drawn: I32  # (m,): training rows
    scores: F64  # (m, 1) or (m, K): of these rows
    risk: F64  # by leaf of all trees, score of a tree, and recorded step

    @property
    def predicted(self) -> I64:
        one = self.scores.shape[1] == 1
        return (self.scores[:, 0] > 0.0 if one else self.scores.argmax(axis=1)).astype(np.int64)


class ModelTreeTable:
    def __init__(self, rows: Rows, table: TableSchema, n_classes: int, max_bins: int, threads: int) -> None:
        self.labels = rows.labels
        self.weights: F64 = rows.weights
        self.n_classes: int = n_classes
        self.threads: int = threads
        self.binned = rows.binned(table, max_bins, threads)
        self.design: Design = Design.of_table(rows.dense, rows.weights, table, rows.room)
        self.D = rows.designed(self.design)

    def fit(
        self,
        limits: ModelTreeLimits,
        weights: F64,
        drawn: I32,
        seed: int,
        of_scores: F64 | None = None,  # (n, K): row weights of each score
        *,
        record: bool = False,  # risks by step
    ) -> ModelTree:
        """Return a model tree on the drawn rows. Equation: model-tree (docs/theory.md)."""
        if limits.tree == "shared" or self.n_classes == 2:
            return self._shared(limits, weights, drawn, seed, self.labels, self.n_classes, of_scores, record=record)
        by_class = np.repeat(weights[:, None], self.n_classes, axis=1) if of_scores is None else of_scores
        trees = [
            self._shared(
                limits, by_class[:, k].copy(), drawn, seed, (self.labels == k).astype(np.uint16), 2, record=record
            )
            for k in range(self.n_classes)
        ]
        scores = np.concatenate([tree.scores for tree in trees], axis=1)
        return ModelTree(
            tuple(tree.trees[0] for tree in trees), drawn, scores, np.concatenate([tree.risk for tree in trees])
        )

    def _shared(
        self,
        limits: ModelTreeLimits,
        weights: F64,
        drawn: I32,
        seed: int,
        labels: NDArray[np.uint16],
        n_classes: int,
        of_scores: F64 | None = None,
        *,
        record: bool,
    ) -> ModelTree:
        # the same tree, in time that depends on the rows of a node and not on its histogram of bins and classes
        by_rows = n_classes > limits.most_classes > 0 and not limits.growth.max_leaf_nodes
        growing = deep_tree_grower if by_rows else tree_grower
        tree = growing(self.binned, "gini", n_classes, limits.growth, self.threads).grow_classes(
            labels, whole_weights(weights) if by_rows and of_scores is None else weights, drawn, seed
        )
        n_outputs = 1 if n_classes == 2 else n_classes
        if limits.pruned:
            tree = pruned(tree, self, labels, drawn, n_outputs, limits, seed)
        leaf = tree.leaf_of_row[drawn]
        tree.forget_rows()
        order = rows_by_leaf(leaf, len(tree.left))
        inside = drawn[order]
        size = np.bincount(leaf)
        leaves = LeafRows(inside, np.concatenate([[0], np.cumsum(size[size > 0])]))
        joint = limits.leaf_steps == "gradient"
        recorded = record or limits.n_leaf_steps == "cv"
        boosting = LeafBoosting(
            self.D, labels, weights if of_scores is None or joint else of_scores, n_outputs, limits.link, limits.tol,
            SCORE_CAP[limits.link], limits.selection == "likelihood", self.threads, joint,
            recorded, 0 if recorded else limits.most_classes,
        )  # fmt: skip
        intercept, coefficient, scores, _, risk = boosted_leaves(boosting, leaves, limits.n_leaf_steps, seed)
        w, last_risk = weights[inside], risk[:, :, -1]
        if n_outputs > 1 and (joint or of_scores is not None):  # boosted by another risk, or by other weights
            losses = leaf_losses(limits.link, scores, labels[inside], joint)
            last_risk = leaves.sums(w[:, None] * losses) / leaves.sums(w[:, None])
        in_order = np.empty_like(scores)
        in_order[order] = scores
        kept = None if is_faster_by_covariance(n_outputs, self.D.shape[1]) else scores
        return ModelTree(
            (BoostedTree(tree, leaves, w, intercept, coefficient, kept, last_risk),), drawn, in_order, risk
        )


def whole_weights(weights: F64) -> F64:
    """Round weights to multiples of a power of two, so that squares of their sums are exact."""
    unit = 2.0 ** (ceil(log2(weights.sum())) - 25)
    return np.where(weights > 0.0, np.maximum(np.rint(weights / unit), 1.0) * unit, 0.0)


# --- voters -----------------------------------------------------------------------------------------------------------

# training rows times design columns of trees that become voters together; NumPy calls on small trees are all overhead
CELLS_AT_ONCE = 1_000_000


class ModelTreeVoters:
    def __init__(self, table: ModelTreeTable, link: LinkName) -> None:
        self.link = link
        self.table: ModelTreeTable = table
        self._waiting: list[BoostedTree] = []
        self._made: list[ModelForest] = []

    def add(self, tree: ModelTree) -> None:
        for each in tree.trees:
            self._waiting.append(each)
            if sum(len(one.leaves.rows) for one in self._waiting) * self.table.D.shape[1] >= CELLS_AT_ONCE:
                self._make()

    def voters(self) -> ModelForest:
        if self._waiting:
            self._make()
        voters = ModelForest.concatenate(self._made)
        n_classes = self.table.n_classes
        if voters.forest.n_classes == n_classes:
            return voters
        # trees of two classes each, "class k or not": a voter has one for each class
        return replace(voters, forest=replace(voters.forest, n_classes=n_classes), trees_per_voter=n_classes)

    def _make(self) -> None:
        self._made.append(model_forest(self._waiting, self.table, self.link))
        self._waiting = []


def model_forest(trees: Sequence[BoostedTree], table: ModelTreeTable, link: LinkName) -> ModelForest:
    grown = [each.tree for each in trees]
    sums = np.concatenate([tree.sums for tree in grown])
    forest = forest_from_grown(grown, table.binned.bins, sums.shape[1], label=[leaf_labels(tree) for tree in grown])
    leaves = LeafRows.concatenate([each.leaves for each in trees])
    weights, intercept, coefficient, risk = (
        np.concatenate([getattr(each, name) for each in trees])
        for name in ("weights", "intercept", "coefficient", "risk")
    )
    scored = [each.scores for each in trees if each.scores is not None]
    scores = np.concatenate(scored) if scored else None
    decrease = risk_decreases(forest, sums, table.design, leaves, table.D, weights, scores, coefficient, risk)
    w = table.weights[leaves.rows]
    record = TrainingRecord(leaves.sums(w), leaves.centre(table.D, w), decrease)
    end = forest.feature < 0
    model = np.where(end, np.cumsum(end) - 1, -1).astype(np.int32)
    return ModelForest(forest, model, intercept, coefficient, table.design, link, record=record)


# --- reduced-error pruning --------------------------------------------------------------------------------------------

HELD_OUT = 1 / 3
N_STEPS = 20  # boosting steps of a node's score, which reach most of the gain of a leaf's own steps
N_STEPS_OF_MANY = 10  # with more classes than `ModelTreeLimits.most_classes`
MOST_ROWS = 300  # most rows that the score of a node is boosted on


def rows_by_leaf(leaf: NDArray[np.integer], n_leaves: int) -> I64:
    # numbers of 16 bits are sorted by counting, in a tenth of the time
    return np.argsort(leaf.astype(np.uint16) if n_leaves <= 1 << 16 else leaf, kind="stable")


@dataclass(frozen=True, eq=False)
class RowsOfNodes:
    """Rows of a tree, ordered by leaf: those of node i are ``rows[begin[i]:end[i]]``."""

    rows: I32
    begin: I64
    end: I64

    @classmethod
    def of(cls, tree: GrownTree, drawn: I32) -> RowsOfNodes:
        leaf, left = tree.leaf_of_row[drawn], tree.left.tolist()
        size = np.bincount(leaf, minlength=len(left)).tolist()
        begin = [0] * len(left)
        for node in range(len(left) - 1, -1, -1):  # children come after their parents
            if left[node] >= 0:
                size[node] = size[left[node]] + size[left[node] + 1]
        for node, child in enumerate(left):
            if child >= 0:
                begin[child], begin[child + 1] = begin[node], begin[node] + size[child]
        first = np.array(begin, dtype=np.int64)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        return cls(drawn[rows_by_leaf(rank[leaf], len(first))], first, first + np.array(size, dtype=np.int64))


def pruned(
    tree: GrownTree,
    table: ModelTreeTable,
    labels: NDArray[np.uint16],
    drawn: I32,
    n_outputs: int,
    limits: ModelTreeLimits,
    seed: int,
) -> GrownTree:
    """Return the tree after reduced-error pruning (Quinlan 1987). Equation: reduced-error (docs/theory.md)."""
    if tree.left[0] < 0:
        return tree
    rows = RowsOfNodes.of(tree, drawn)
    held_out = (np.random.default_rng(seed).random(len(table.D)) < HELD_OUT).astype(np.uint8)
    n_steps = N_STEPS_OF_MANY if n_outputs > limits.most_classes > 0 else N_STEPS
    # rows weigh as in the data: late rounds of boosting put most of the weight on few rows
    errors = _core.held_out_errors(
        table.D, rows.rows, rows.begin, rows.end, labels, table.weights, held_out, n_outputs, limits.link, n_steps,
        SCORE_CAP[limits.link], MOST_ROWS, table.threads, limits.most_classes,
    )  # fmt: skip
    return cut(tree, kept_splits(tree.left, errors, ERROR_ROUNDING * float(table.weights[drawn].sum())))


def kept_splits(left: I32, errors: F64, rounding: float = 0.0) -> NDArray[np.bool_]:
    """Return a mask of the splits whose kept leaves together err no more than the node alone."""
    least, keep = errors.tolist(), left >= 0
    for node in range(len(least) - 1, -1, -1):  # children come after their parents
        if keep[node]:
            below = least[left[node]] + least[left[node] + 1]
            keep[node] = below <= least[node] + rounding
            least[node] = min(below, least[node])
    return keep


def cut(tree: GrownTree, keep: NDArray[np.bool_]) -> GrownTree:
    feature, bin, left, missing_left, offset, bits, gain, count, sums = tree.nodes()
    reached = np.zeros(len(left), dtype=bool)
    reached[0] = True
    over = np.arange(len(left))  # the node itself, or the leaf that it is now part of
    for node, child in enumerate(left.tolist()):
        if child >= 0:
            reached[child : child + 2] = reached[node] and keep[node]
            if not reached[child]:
                over[child : child + 2] = over[node]
    split = keep & reached
    number = np.cumsum(reached) - 1
    words = np.where(split, np.diff(offset), 0)
    nodes = (
        np.where(split, feature, -1)[reached],
        np.where(split, bin, -1)[reached],
        np.where(split, number[left], -1).astype(np.int32)[reached],
        np.where(split, missing_left, 0).astype(np.uint8)[reached],
        np.concatenate([[0], np.cumsum(words[reached])]).astype(np.int64),
        bits[np.repeat(split, np.diff(offset))],
        np.where(split, gain, 0.0)[reached],
        count[reached],
        np.ascontiguousarray(sums[reached]),
    )
    leaf = np.where(tree.leaf_of_row < 0, -1, number[over[tree.leaf_of_row]]).astype(np.int32)
    return GrownTree(nodes, leaf)
