"""Classification trees with shrunk class shares, regression trees and stumps that may abstain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from math import inf
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils._param_validation import Options, StrOptions

from committee import _core
from committee._core import DeepGrower, Grower, GrownTree
from committee.data.bins import Binned
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.calibration import ENOUGH_ROWS, N_FOLDS
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.base.predictors import BaseClassifier, BaseRegressor
from committee.learners.base.row_sampling import Folds
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Identity
from committee.vote.links.probability import Share
from committee.voters.flat_trees import inner_levels
from committee.voters.growing import (
    GrowthLimits,
    TargetCriterion,
    check_target_criterion,
    class_shares,
    class_tree_grower,
    class_votes,
    deep_tree_grower,
    forest_from_grown,
    leaf_values,
    majority_class,
    node_weights,
    tree_grower,
)


@with_parameters
class TreeParameters:
    committee_: Any = fitted("A committee of one tree.", "Committee or RegressionCommittee")

    first_parameters: ClassVar[tuple[str, ...]] = (
        *("max_depth", "min_samples_leaf", "max_leaf_nodes", "class_weight", "criterion", "random_state"),
    )

    _: KW_ONLY
    max_depth: int | None = shared.max_depth()
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    min_samples_leaf: int = shared.min_samples_leaf()
    min_weight_leaf: float = shared.min_weight_leaf()
    min_impurity_decrease: float = shared.min_impurity_decrease()
    max_features: int | float | str | None = shared.max_features()
    feature_weights: Any = shared.feature_weights(of="`max_features` draws")
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the features of `max_features`")
    n_jobs: int | None = shared.n_jobs()


class OneTree(CommitteeEstimator):
    def decision_path(self, X: Any) -> Any:
        """Nodes that each row passes, as scikit-learn's trees return them.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.

        Returns
        -------
        sparse array (n, nodes)
            1 where a row passes a node, from the root to the leaf.
        """
        return super().decision_path(X)[0]


@with_parameters
class TreeVoter(OneTree, BaseClassifier, TreeParameters):
    """A classification tree, alone or as a voter.

    Splits maximise the decrease of the weighted impurity over at most `max_bins` thresholds a column [1]_. Missing
    values learn their side, categories are split into subsets without one-hot columns: with two classes the best subset
    (Theorem 4.5 of [1]_), with more the best prefix over the orderings by each class's share.

    Leaves vote with the shares of their classes. Those of a full-grown tree are mostly 0 or 1, so by default they are
    shrunk towards the shares of the nodes above [2]_, which makes probabilities of them and decides ties of small
    leaves.

    Attributes
    ----------
    committee_ : Committee
        A committee of one tree.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and Regression Trees.
    .. [2] A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu (2022). Hierarchical shrinkage: improving the accuracy and
       interpretability of tree-based methods. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import TreeVoter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TreeVoter(max_depth=2).fit(X, y)
    >>> tree.committee_.n_nodes, round(tree.score(X, y), 2)
    (5, 0.96)
    """

    _: KW_ONLY
    criterion: Literal["gini", "entropy"] = parameter("gini", "Impurity: 1 - sum p_k^2, or -sum p_k ln p_k.")

    calibrate: Literal["auto", False] | None = parameter(
        "auto",
        """Shrinkage of the leaves' class shares. "auto": towards the shares of the nodes above, by the strength of
        least log loss on held-out rows of up to five folds, until there are 100 such rows, which costs 0.8 to 4 further
        trees. None, False: the shares of the training rows; so it is for voters of other learners.""",
        StrOptions({"auto"}),
        Options(bool, {False}),
        type_words='"auto", False or None',
    )

    shrinkage_: float = fitted(
        """Strength of the shrinkage, in rows (docs/theory.md); absent if `calibrate` is None or False, and where no
        rows could be held out.""",
        "float",
    )
    stored_attributes: ClassVar[tuple[str, ...]] = ("shrinkage_",)
    _takes_sparse = True

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        threads, n_classes = n_threads(self.n_jobs), len(self.classes_)
        binned = rows.binned(self.table_, self.max_bins, threads)
        seed = int(tasks.random(rows).randint(2**31 - 1))
        tree = self.grower(binned, n_classes, threads).grow_classes(rows.labels, rows.weights, None, seed)
        found: dict[str, Any] = {}
        votes: dict[str, Any]
        if self.calibrate == "auto" and (strength := best_strength(self._of_folds(rows, seed))) is not None:
            found, votes = {"shrinkage_": strength}, {"value": [shrunk_shares(tree, strength)]}
        else:
            votes = class_votes(tree, hard=False)
        voters = forest_from_grown([tree], binned.bins, n_classes, **votes)
        return found | {"committee_": Committee(voters, np.ones(1), self.classes_, Share(), self.table_)}

    def _of_folds(self, rows: Rows, seed: int) -> Iterator[TreeOfFold]:
        threads = n_threads(self.n_jobs)
        for fold in Folds.of(rows.with_codes, N_FOLDS, threads):
            train = replace(rows.take(fold.train), weights=fold.train_weights, uniform=False)
            train, table = train.with_numbers(self.table_)  # each fold learns its own target statistics
            binned, test = train.binned(table, self.max_bins, threads), rows.take(fold.test).encode_levels_with(table)
            grower = self.grower(binned, len(self.classes_), threads)
            tree = grower.grow_classes(train.labels, train.weights, None, seed)
            leaf = _core.walk_codes(
                binned.bins.encode(test.X), binned.bins.n_bins, tree, np.arange(len(test), dtype=np.int32)
            )
            yield TreeOfFold(tree, leaf, test.labels, fold.test_weights, fold.n_test)

    def _from_file(self) -> None:
        super()._from_file()
        strength = getattr(self, "shrinkage_", 1.0)
        if not (isinstance(strength, float) and 0.0 < strength < inf):
            raise ValueError(f"shrinkage_ is {strength!r}; it must be a finite float above 0")

    def validated(self) -> Self:
        """Validate the parameters as `fit` does, and return the estimator."""
        self._validate_params()
        return self

    def grower(self, binned: Binned, n_classes: int, n_threads: int) -> DeepGrower | Grower:
        """Return the kernel that grows trees with these parameters on a binned table."""
        return class_tree_grower(binned, self.criterion, n_classes, GrowthLimits.of(self), n_threads)


@with_parameters
class TreeRegressor(OneTree, BaseRegressor, TreeParameters):
    """A regression tree: a leaf predicts the weighted mean of its training rows, or their median.

    Splits minimise the weighted squared error of both sides,

        sum_left w (y - mean_left)^2 + sum_right w (y - mean_right)^2,

    over at most `max_bins` thresholds a column. Missing values learn their side, and categories are split into the best
    two sets, which are intervals in the order of their mean targets [1]_ [2]_. `y` may have several columns: then
    squared errors, each over its target's variance, are summed, and categories tried in the order of the means of each
    target. Other errors are those of `criterion`; for "absolute_error" categories are tried in the order of their
    medians, where the best two sets need not be intervals.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and Regression Trees.
    .. [2] W. Fisher (1958). On grouping for maximum homogeneity. JASA 53.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import TreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = TreeRegressor(max_depth=2).fit(X, y)
    >>> tree.committee_.n_nodes, round(tree.score(X, y), 2)
    (7, 0.43)
    """

    _takes_sparse = True
    _takes_several_targets = True

    _: KW_ONLY
    criterion: TargetCriterion = shared.target_criterion()
    min_impurity_decrease: float = shared.min_impurity_decrease(of="mean error over all rows", classes=False)

    def _train(self, rows: TargetRows, tasks: FitTasks) -> dict[str, Any]:
        check_target_criterion(self.criterion, rows.target, self.max_leaf_nodes)
        binned = rows.binned(self.table_, self.max_bins, n_threads(self.n_jobs))
        seed = int(tasks.random(rows).randint(2**31 - 1))
        kernel = deep_tree_grower if self.criterion == "absolute_error" else tree_grower
        growing = kernel(binned, self.criterion, 1, GrowthLimits.of(self), n_threads(self.n_jobs))
        tree = growing.grow_targets(rows.comparable, rows.weights, None, seed)
        value = leaf_values(self.criterion, tree.leaf_of_row, len(tree.feature), rows.weights, rows.target)
        # a regression tree's sums are its weight and its weighted targets
        forest = forest_from_grown([tree], binned.bins, rows.n_targets, value=[value], weight=[tree.sums[:, 0]])
        return {"committee_": RegressionCommittee(forest, np.ones(1), Identity(), self.table_)}


# --- shrinkage of class shares towards those of ancestors -------------------------------------------------------------

STRENGTHS = 2.0 ** (np.arange(-8, 21) / 2)  # that are tried, in rows
CELLS = 4_000_000  # most shares, by node, class and strength, in memory at a time


def shrunk_shares(tree: GrownTree, strength: float) -> F64:
    """Return the nodes' class shares ``(N, K)``, shrunk towards their ancestors'.

    Equation: leaf-shrinkage (docs/theory.md).
    """
    return _shrunk(class_shares(tree), tree, np.array([strength]))[:, :, 0]


def _shrunk(shares: F64, tree: GrownTree, strengths: F64) -> F64:
    # (N, K, strengths)
    found = np.repeat(shares[:, :, None], len(strengths), axis=2)
    weight = node_weights(tree)
    for parent, child in inner_levels(tree.left, np.array([0, len(tree.left)])):
        factor = 1.0 / (1.0 + strengths / weight[parent, None])  # (parents, strengths)
        for side in (child, child + 1):
            found[side] = found[parent] + (shares[side] - shares[parent])[:, :, None] * factor[:, None, :]
    return found


@dataclass(frozen=True, eq=False)
class TreeOfFold:
    tree: GrownTree
    leaf: NDArray[np.int32]
    labels: NDArray[np.uint16]
    weights: F64
    n_test: int  # rows that the test weights stand for


def best_strength(trees: Iterable[TreeOfFold]) -> float | None:
    """Return the strength of least log loss on the test rows of folds."""
    total, loss, anywhere, n_rows = 0.0, np.zeros(len(STRENGTHS)), np.zeros(len(STRENGTHS)), 0
    for one in trees:
        shares = class_shares(one.tree)
        if not shares[0].all():
            continue
        leaf, place = np.unique(one.leaf, return_inverse=True)
        own, mean = [], []
        # two strengths at a time or more: NumPy adds the classes of one alone in another order
        for some in np.array_split(STRENGTHS, min(len(STRENGTHS) // 2, 1 + shares.size * len(STRENGTHS) // CELLS)):
            surprise = -np.log(_shrunk(shares, one.tree, some)[leaf])
            own.append(surprise[place, one.labels])
            mean.append(surprise.mean(axis=1))
        loss += one.weights @ np.hstack(own)
        # each test row with equally likely classes, so that the least strength does not win if all rows are right
        anywhere += np.bincount(place, one.weights) @ np.hstack(mean)
        total, n_rows = total + float(one.weights.sum()), n_rows + one.n_test
        if n_rows >= ENOUGH_ROWS:
            break
    return float(STRENGTHS[np.argmin(loss + anywhere / n_rows)]) if total > 0.0 else None


# --- stumps that may abstain ------------------------------------------------------------------------------------------


def abstention_z(right: float, wrong: float, n_classes: int) -> float:
    """Return Z of voting with shares P right and N wrong. Equation: abstentions (docs/theory.md)."""
    K = n_classes
    if (K - 1) * right <= wrong:
        return 1.0
    # the least of 1 - P - N + P exp(-alpha) + N exp(alpha / (K - 1)) over alpha >= 0
    return float(1.0 - right - wrong + K * right ** (1 / K) * (wrong / (K - 1)) ** ((K - 1) / K))


def best_abstention(tree: GrownTree) -> NDArray[np.int32]:
    """Return the votes of least Z of a grown stump's nodes, -1 where they abstain."""
    leaves = np.flatnonzero(tree.feature < 0)
    W = tree.sums[leaves] / tree.sums[leaves].sum()
    heaviest, right = majority_class(W), W.max(axis=1)
    wrong = W.sum(axis=1) - right
    every = np.ones(len(leaves), dtype=bool)
    choices = [every, *np.eye(len(leaves), dtype=bool)] if len(leaves) > 1 else [every]
    Z = [abstention_z(right[v].sum(), wrong[v].sum(), W.shape[1]) for v in choices]
    voting = next(v for v, z in zip(choices, Z, strict=True) if z <= min(Z) + 1e-12)  # the first, but for rounding
    label = np.full(len(tree.feature), -1, dtype=np.int32)
    label[leaves[voting]] = heaviest[voting]
    return label


_ALIKE = 1e-12  # difference of probabilities that are equal but for rounding


@with_parameters
class AbstainingStump(BaseClassifier):
    """One split whose sides vote for a class or abstain, h in {-1, 0, +1} [1]_.

    The best stump has the least

        Z = A + K P^(1/K) (N / (K - 1))^((K - 1)/K),

    with P, N, A the shares of weight voted right, voted wrong and not voted; for two classes
    Z = 1 - (sqrt P - sqrt N)^2. The form for many classes is derived in docs/theory.md#abstaining-votes. `vote` returns
    abstentions; `predict` returns the first class for such a row, and `predict_proba` equal probabilities. On a side
    that votes, with weight W_k of class k, these are (W_k + 1) / (sum_j W_j + n_classes).

    Attributes
    ----------
    committee_ : Committee
        A committee of one.

    References
    ----------
    .. [1] R. Schapire, Y. Singer (1999). Improved boosting algorithms using confidence-rated predictions. Machine
       Learning 37.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AbstainingStump
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = AbstainingStump().fit(X, y)
    >>> sorted(set(stump.vote(X).tolist()))
    [-1, 1]
    """

    _: KW_ONLY
    min_samples_leaf: int = shared.min_samples_leaf(more="A leaf is a side of the split.")
    min_weight_leaf: float = shared.min_weight_leaf()
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    n_jobs: int | None = shared.n_jobs()

    _takes_sparse = True

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        threads, n_classes = n_threads(self.n_jobs), len(self.classes_)
        binned = rows.binned(self.table_, self.max_bins, threads)
        limits = GrowthLimits(1, None, self.min_samples_leaf, self.min_weight_leaf)
        growing = tree_grower(binned, "abstaining", n_classes, limits, threads)
        tree = growing.grow_classes(rows.labels, rows.weights, None, 0)
        votes = best_abstention(tree)[:, None] >= 0
        shares = np.where(votes, (tree.sums + 1.0) / (tree.sums + 1.0).sum(axis=1, keepdims=True), 1.0 / n_classes)
        voters = forest_from_grown([tree], binned.bins, n_classes, value=[shares])
        return {"committee_": Committee(voters, np.ones(1), self.classes_, Share(), self.table_)}

    def vote(self, X: Any) -> NDArray[Any]:
        """Return h(x), ``(n,)``: -1, 0 (abstains) or +1 of two classes; else the class number, or -1 (abstains)."""
        p = self.predict_proba(X)
        elected, votes = p.argmax(axis=1), (np.ptp(p, axis=1) > _ALIKE) | (p.shape[1] == 1)
        return np.where(votes, 2 * elected - 1, 0) if p.shape[1] == 2 else np.where(votes, elected, -1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # a voter may abstain on most rows
        return tags
