"""Model trees: classification trees whose leaves are boosted linear scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import ceil, log2
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from committee import _core
from committee._core import GrownTree
from committee.data.design import Design
from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import BaseClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import with_parameters
from committee.learners.trees.newton_boost import SCORE_CAP, JointLikelihood
from committee.vote.committee import Committee
from committee.vote.explain.importances import feature_importances, risk_decreases
from committee.vote.links.probability import Share
from committee.voters.growing import GrowthLimits, forest_from_grown, leaf_labels, tree_grower
from committee.voters.model_forest import LeafRows, LinkName, ModelForest, TrainingRecord

if TYPE_CHECKING:
    import polars as pl

    from committee.vote.explain.tree_contributions import Output

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
BoostedScores: TypeAlias = tuple[F64, F64, F64, I32, F64]
"""Intercepts, coefficients, scores of the rows, path and risk by step, as `_core.linear_boost` returns them.

Without a record the path is empty, and the risk is the last."""


@with_parameters
class ProbitModelTreeClassifier(BaseClassifier):
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

    Notes
    -----
    The probabilities of one tree are overconfident after a hundred steps in leaves of some twenty rows, as in the
    paper; ``n_leaf_steps="cv"`` removes most of that, and `SBPMTClassifier` votes with calibrated probabilities.

    Steps that would take a training score past +-20 (probit; 40 for logit) are not taken, and a step that does not
    lower the risk is halved until it does, so the weighted risk never rises (Lemma 3 of [1]_).

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
    selection: Literal["error", "likelihood"] = shared.selection()
    tol: float = shared.newton_tol("Boosting of a leaf")
    max_bins: int = shared.max_bins("For the tree.")
    categorical_features: Any = shared.categorical_features("Leaves see them as 0/1 columns.")
    random_state: Any = shared.random_state("the features of `max_features` and the parts of cross-validation")
    n_jobs: int | None = shared.n_jobs()

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("model_trees",)
    stored_attributes: ClassVar[tuple[str, ...]] = ("risk_path_",)

    def _check_parameters(self) -> None:
        check_leaf_steps(self)

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        table = ModelTreeTable(rows, self.table_, len(self.classes_), self.max_bins, n_threads(self.n_jobs))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        drawn = np.arange(len(rows.labels), dtype=np.int32)
        tree = table.fit(ModelTreeLimits.of(self, len(drawn)), rows.weights, drawn, seed, record=True)
        voters = ModelTreeVoters(table, self.link)
        voters.add(tree)
        soft = replace(voters.voters(), soft=True)
        return {"committee_": Committee(soft, np.ones(1), self.classes_, Share(), self.table_), "risk_path_": tree.risk}

    @property
    def leaf_models_(self) -> pl.DataFrame:
        """Every leaf in words with its linear score, one row for each class."""
        from committee.vote.explain.rules import leaf_models

        return leaf_models(self._trees, self.classes_, self.table_)

    def contributions(self, X: Any, *, output: Output = "score") -> F64:
        """Return the exact share of each feature in a row's linear score; see `committee.vote.explain.contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"score"}, default="score"
            Explained output; of model trees, scores alone.

        Returns
        -------
        float64 array (n, p + 1) for two classes, else (n, p + 1, K)
            Features in order and last the bias, the mean score of the training rows. They add up to the score: a
            positive share is evidence for ``classes_[1]``, or for class k.

        Raises
        ------
        ValueError
            If `output` is not "score".
        """
        from committee.vote.explain.contributions import contributions, require_score_output

        require_score_output(output)
        trees = self._trees
        encoded = self.table_.encode(self.validate_rows(X))
        return contributions(trees, encoded, np.ones(1), n_threads(self.n_jobs))

    @property
    def feature_importances_(self) -> F64:
        """Share of each feature in the decrease of the training risk, ``(p,)``."""
        return feature_importances(self._trees, np.ones(1))

    @property
    def _trees(self) -> ModelForest:
        check_is_fitted(self)
        voters = self.committee_.voters
        if not isinstance(voters, ModelForest):
            raise AttributeError("this model has no model trees: it was trained on rows of one class.")
        return voters


# --- limits -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelTreeLimits:
    """Limits of a model tree's growth, and of the boosting in its leaves."""

    growth: GrowthLimits
    n_leaf_steps: int | Literal["cv"]
    leaf_steps: Literal["newton", "gradient"]
    link: LinkName
    tree: Literal["shared", "per_class"]
    selection: Literal["error", "likelihood"]
    tol: float
    pruned: bool  # pruned by held-out errors, in place of a limit on the gain of a split

    @classmethod
    def of(cls, learner: Any, n_rows: int) -> Self:
        growth, pruned = GrowthLimits.of(learner), learner.min_impurity_decrease == "auto"
        if learner.max_depth == "auto":
            growth = replace(growth, max_depth=depth_for(n_rows, growth.min_samples_leaf))
        if pruned:
            growth = replace(growth, min_impurity_decrease=0.0)
        return cls(
            growth, learner.n_leaf_steps, learner.leaf_steps, learner.link, learner.tree, learner.selection,
            learner.tol, pruned,
        )  # fmt: skip


def check_leaf_steps(learner: Any) -> None:
    """Raise ValueError if `leaf_steps` is "gradient" and trees are per class, or columns are chosen by likelihood."""
    if learner.leaf_steps == "newton":
        return
    for name, needed in (("tree", "shared"), ("selection", "error")):
        if getattr(learner, name) != needed:
            raise ValueError(
                f"leaf_steps='gradient' boosts the scores of all classes together, along the gradient, and {name} is "
                f"{getattr(learner, name)!r}. Set {name}={needed!r}, or leaf_steps='newton'."
            )


def depth_for(n_rows: int, min_samples_leaf: int) -> int:
    """Return one more than the depth of even splits down to the least leaves; at least 6, the paper's depth."""
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
    scores: F64  # (m, O)
    risk: F64  # (L, O): mean risk of each leaf's scores


@dataclass(frozen=True, eq=False)
class ModelTree:
    """A fitted model tree of one tree, or one for each class, with its linear scores of the `drawn` training rows.

    `risk` is that of each leaf before and after every step, ``(L, O, B + 1)``, or without a record the last one.
    """

    trees: tuple[BoostedTree, ...]
    drawn: I32
    scores: F64
    risk: F64

    @property
    def predicted(self) -> I64:
        one = self.scores.shape[1] == 1
        return (self.scores[:, 0] > 0.0 if one else self.scores.argmax(axis=1)).astype(np.int64)


class ModelTreeTable:
    """Training rows, prepared once for any number of model trees on any of the rows and weights."""

    def __init__(self, rows: Rows, table: TableSchema, n_classes: int, max_bins: int, threads: int) -> None:
        self.labels, self.weights, self.n_classes, self.threads = rows.labels, rows.weights, n_classes, threads
        self.binned = rows.binned(table, max_bins, threads)
        self.design: Design = Design.of_table(rows.dense, rows.weights, table, rows.room)
        self.D = rows.designed(self.design)

    def fit(
        self,
        limits: ModelTreeLimits,
        weights: F64,
        drawn: I32,
        seed: int,
        of_scores: F64 | None = None,
        *,
        record: bool = False,
    ) -> ModelTree:
        """Return a model tree on the drawn rows, whose weights ``(n,)`` are positive; if `record`, with risks by step.

        With `of_scores` ``(n, K)`` the score of class k is boosted by the weights in column k, by which its own tree is
        grown, too.

        Equation: model-tree (docs/theory.md).
        """
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
        growing = tree_grower(self.binned, "gini", n_classes, limits.growth, self.threads)
        tree = growing.grow_classes(labels, weights, drawn, seed)
        n_outputs = 1 if n_classes == 2 else n_classes
        if limits.pruned:
            tree = pruned(tree, self, labels, drawn, n_outputs, limits.link, seed)
        leaf = tree.leaf_of_row[drawn]
        tree.forget_rows()
        order = np.argsort(leaf, kind="stable")
        inside = drawn[order]
        size = np.bincount(leaf)
        leaves = LeafRows(inside, np.concatenate([[0], np.cumsum(size[size > 0])]))
        joint = limits.leaf_steps == "gradient"
        boosting = LeafBoosting(
            self.D, labels, weights if of_scores is None or joint else of_scores, n_outputs, limits.link, limits.tol,
            SCORE_CAP[limits.link], limits.selection == "likelihood", self.threads, joint,
            record or limits.n_leaf_steps == "cv",
        )  # fmt: skip
        intercept, coefficient, scores, _, risk = boosted_leaves(boosting, leaves, limits.n_leaf_steps, seed)
        w, last_risk = weights[inside], risk[:, :, -1]
        if n_outputs > 1 and (joint or of_scores is not None):  # boosted by another risk, or by other weights
            losses = leaf_losses(limits.link, scores, labels[inside], joint)
            last_risk = leaves.sums(w[:, None] * losses) / leaves.sums(w[:, None])
        in_order = np.empty_like(scores)
        in_order[order] = scores
        return ModelTree(
            (BoostedTree(tree, leaves, w, intercept, coefficient, scores, last_risk),), drawn, in_order, risk
        )


def leaf_losses(link: LinkName, F: F64, labels: NDArray[np.uint16], joint: bool) -> F64:
    """Return the loss of each score for "class k or not", ``(n, O)``; if `joint`, that of P(k)."""
    n_scores = F.shape[1]
    positive = labels[:, None] == (np.ones(1) if n_scores == 1 else np.arange(n_scores))
    if joint and n_scores > 1:
        L = JointLikelihood(link).log_shares(F)
        others = np.log(np.maximum(-np.expm1(L), np.finfo(np.float64).tiny))
        return np.where(positive, -L, -others)
    losses: F64 = _core.newton_terms(link, np.where(positive, F, -F).ravel())[2].reshape(-1, n_scores)
    return losses


# --- voters -----------------------------------------------------------------------------------------------------------

CELLS_AT_ONCE = 1_000_000
"""Training rows times design columns of the trees that become voters together, as NumPy calls on small trees are mostly
overhead."""


class ModelTreeVoters:
    """Fitted model trees, added one after the other, as voters with a training record."""

    def __init__(self, table: ModelTreeTable, link: LinkName) -> None:
        self.table, self.link = table, link
        self._waiting: list[BoostedTree] = []
        self._made: list[ModelForest] = []

    def add(self, tree: ModelTree) -> None:
        """Add a voter: a tree, or the trees of all classes."""
        for each in tree.trees:
            self._waiting.append(each)
            if sum(len(one.leaves.rows) for one in self._waiting) * self.table.D.shape[1] >= CELLS_AT_ONCE:
                self._make()

    def voters(self) -> ModelForest:
        """Return the voters, at least one, in the order in which they were added."""
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
    """Return voters of one tree each: bins become thresholds, and sums over the leaves' rows are recorded."""
    grown = [each.tree for each in trees]
    sums = np.concatenate([tree.sums for tree in grown])
    forest = forest_from_grown(grown, table.binned.bins, sums.shape[1], label=[leaf_labels(tree) for tree in grown])
    leaves = LeafRows.concatenate([each.leaves for each in trees])
    weights, intercept, coefficient, scores, risk = (
        np.concatenate([getattr(each, name) for each in trees])
        for name in ("weights", "intercept", "coefficient", "scores", "risk")
    )
    D, w = table.D[leaves.rows], table.weights[leaves.rows]
    decrease = risk_decreases(forest, sums, table.design, leaves, D, weights, scores, coefficient, risk)
    record = TrainingRecord(leaves.sums(w), leaves.centre(D, w), decrease)
    end = forest.feature < 0
    model = np.where(end, np.cumsum(end) - 1, -1).astype(np.int32)
    return ModelForest(forest, model, intercept, coefficient, table.design, link, record=record)


# --- boosting in leaves -----------------------------------------------------------------------------------------------

CANDIDATES = (1, 2, 5, 10, 20, 50, 100)  # numbers of steps that cross-validation chooses among
N_FOLDS = 5
ROUNDING = 1e-12  # errors that differ by less than this share of the weight are equal


@dataclass(frozen=True, eq=False)
class LeafBoosting:
    """Data and limits of the boosting in leaves."""

    D: F64
    labels: NDArray[np.uint16]
    weights: F64  # Of rows (n,), or of rows for each score (n, O)
    n_outputs: int
    link: LinkName
    tol: float
    cap: float
    by_likelihood: bool
    n_threads: int
    joint: bool = False  # all scores of a leaf together, along the gradient of their likelihood
    record: bool = True  # return path and risk of every step; always if `joint`

    def boosted(self, rows: I32, start: I64, n_steps: int) -> BoostedScores:
        """Boost every score by at most so many steps; leaf l has ``rows[start[l]:start[l + 1]]``."""
        if self.joint:
            return _core.joint_boost(
                self.D, rows, start, self.labels, self.weights, self.n_outputs, self.link, n_steps, self.tol, self.cap,
                self.n_threads,
            )[:5]  # fmt: skip
        if self.weights.ndim == 1:
            return self._boosted(rows, start, n_steps, self.labels, self.weights, self.n_outputs)
        each = [
            self._boosted(rows, start, n_steps, (self.labels == k).astype(np.uint16), self.weights[:, k].copy(), 1)
            for k in range(self.n_outputs)
        ]
        found: list[Any] = [np.concatenate([score[i] for score in each], axis=1) for i in range(5)]
        intercept, coefficient, scores, path, risk = found
        return intercept, coefficient, scores, path, risk

    def _boosted(
        self, rows: I32, start: I64, n_steps: int, labels: NDArray[np.uint16], weights: F64, n_outputs: int
    ) -> BoostedScores:
        return _core.linear_boost(
            self.D, rows, start, labels, weights, n_outputs, self.link, n_steps, self.tol, self.cap,
            self.by_likelihood, self.record, self.n_threads,
        )  # fmt: skip

    def errors(self, rows: I32, scores: F64) -> F64:
        """Return the weight of each row that a score misclassifies, else 0, ``(m, O)``.

        If `joint` that is where the largest score is of another class, the same for each score.
        """
        if self.joint and self.n_outputs > 1:
            others = (scores.argmax(axis=1) != self.labels[rows]) * self.weights[rows]
            return np.repeat(others[:, None], self.n_outputs, axis=1)
        classes = np.ones(1) if self.n_outputs == 1 else np.arange(self.n_outputs)
        wrong = (self.labels[rows][:, None] == classes) != (scores > 0.0)
        return np.where(wrong, self.weights[rows].reshape(len(rows), -1), 0.0)


def boosted_leaves(boosting: LeafBoosting, leaves: LeafRows, n_steps: int | Literal["cv"], seed: int) -> BoostedScores:
    """Boost the scores of all leaves by `n_steps`, or by the numbers of `chosen_steps`.

    Path and risk of a score of fewer steps go on as those of one that ended early.
    """
    if n_steps != "cv":
        return boosting.boosted(leaves.rows, leaves.start, n_steps)
    steps = chosen_steps(boosting, leaves, seed)
    intercept, coefficient, scores, path, risk = boosting.boosted(leaves.rows, leaves.start, max(CANDIDATES))
    for fewer in np.unique(steps[steps < max(CANDIDATES)]).tolist():
        # the first steps of a long run are those of a short one
        a, b, f, _, _ = boosting.boosted(leaves.rows, leaves.start, fewer)
        chosen = steps == fewer
        intercept[chosen], coefficient[chosen] = a[chosen], b[chosen]
        scores = np.where(leaves.repeat_by_leaf(chosen), f, scores)
        path[chosen, fewer:] = -2
        risk[chosen, fewer + 1 :] = risk[chosen, fewer][:, None]
    return intercept, coefficient, scores, path, risk


def chosen_steps(boosting: LeafBoosting, leaves: LeafRows, seed: int) -> I64:
    """Return the fewest steps of least held-out error among the candidates, for each score of each leaf, ``(L, O)``.

    As in logistic model trees (Landwehr, Hall and Frank 2005), but each score of each leaf has a number of its own. A
    leaf of one class has the least candidate. Equation: leaf-steps (docs/theory.md).
    """
    leaf = np.repeat(np.arange(len(leaves.start) - 1), np.diff(leaves.start))
    fold = folds(leaf, boosting.labels[leaves.rows], seed)
    of_rows = boosting.labels[leaves.rows]
    other = of_rows != leaves.repeat_by_leaf(of_rows[leaves.start[:-1]])
    mixed = leaves.repeat_by_leaf(np.logical_or.reduceat(other, leaves.start[:-1]))
    rows, start, place = without_each_fold(leaves.rows[mixed], leaf[mixed], fold[mixed])
    held_out = leaves.rows[mixed]
    D = boosting.D[held_out]
    error = np.zeros((len(CANDIDATES), len(leaves.start) - 1, boosting.n_outputs))
    for c, n_steps in enumerate(CANDIDATES if mixed.any() else ()):
        intercept, coefficient, _, _, _ = boosting.boosted(rows, start, n_steps)
        scores = intercept[place]
        for o in range(boosting.n_outputs):  # not by BLAS, whose sums depend on its threads
            scores[:, o] += np.einsum("ij,ij->i", D, coefficient[place, o])
        np.add.at(error[c], leaf[mixed], boosting.errors(held_out, scores))
    least = error <= error.min(axis=0) * (1.0 + ROUNDING)
    steps: I64 = np.array(CANDIDATES)[least.argmax(axis=0)]
    return steps


def folds(leaf: I64, labels: NDArray[np.uint16], seed: int) -> I64:
    """Return the fold of each row, stratified by leaf and class, in random order."""
    order = np.lexsort((np.random.default_rng(seed).random(len(leaf)), labels, leaf))
    first = np.searchsorted(leaf[order], leaf[order])
    fold = np.empty(len(leaf), dtype=np.int64)
    fold[order] = (np.arange(len(leaf)) - first) % N_FOLDS
    return fold


def without_each_fold(rows: I32, leaf: I64, fold: I64) -> tuple[I32, I64, I64]:
    """Return rows and ``start``, as of leaves, of each leaf without each of its folds, and the place of each row's own.

    Each leaf has rows of at least two folds.
    """
    own = leaf * N_FOLDS + fold
    problems = np.unique(own)
    row, other = np.nonzero(fold[:, None] != np.arange(N_FOLDS))
    trained = leaf[row] * N_FOLDS + other
    there = np.isin(trained, problems)
    row, trained = row[there], trained[there]
    order = np.argsort(trained, kind="stable")
    start = np.searchsorted(trained[order], problems)
    return rows[row[order]], np.append(start, len(order)), np.searchsorted(problems, own)


# --- reduced-error pruning --------------------------------------------------------------------------------------------

HELD_OUT = 1 / 3
N_STEPS = 20  # boosting steps of a node's score, which reach most of the gain of a leaf's own steps
MOST_ROWS = 1_000  # rows that the score of a node is boosted on


@dataclass(frozen=True, eq=False)
class RowsOfNodes:
    """Rows of a tree, ordered by leaf so that each node has those of one range."""

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
        return cls(drawn[np.argsort(first[leaf], kind="stable")], first, first + np.array(size, dtype=np.int64))


def pruned(
    tree: GrownTree,
    table: ModelTreeTable,
    labels: NDArray[np.uint16],
    drawn: I32,
    n_outputs: int,
    link: LinkName,
    seed: int,
) -> GrownTree:
    """Return the tree without splits below which scores err more than the node's own (Quinlan 1987).

    Scores are boosted in every node on two thirds of its rows, and evaluated on the others. Rows weigh as in the data,
    not as in the round of boosting: late rounds put most of the weight on few rows.

    Equation: reduced-error (docs/theory.md).
    """
    if tree.left[0] < 0:
        return tree
    rows = RowsOfNodes.of(tree, drawn)
    held_out = (np.random.default_rng(seed).random(len(table.D)) < HELD_OUT).astype(np.uint8)
    errors = _core.held_out_errors(
        table.D, rows.rows, rows.begin, rows.end, labels, table.weights, held_out, n_outputs, link, N_STEPS,
        SCORE_CAP[link], MOST_ROWS, table.threads,
    )  # fmt: skip
    return cut(tree, kept_splits(tree.left, errors, ROUNDING * float(table.weights[drawn].sum())))


def kept_splits(left: I32, errors: F64, rounding: float = 0.0) -> NDArray[np.bool_]:
    """Return a mask of the nodes that stay split: those whose kept leaves together err no more than the node alone."""
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
