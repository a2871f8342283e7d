"""A committee of trees as a forest of scikit-learn, for users who stay there."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import NODE_DTYPE, Tree

from committee.data.number_types import F64
from committee.learners.trained.tree_nodes import TreeNodes, leaf_votes
from committee.vote.committee import Committee
from committee.voters.forest import Forest


def scikit_forest(committee: Committee) -> RandomForestClassifier:
    """scikit-learn's forest of the same trees, which elects the same classes.

    scikit-learn's forest averages class shares: trees have no weights, and a leaf no score. A leaf's vote v, centred
    over the classes, becomes the shares 1/K + a w_t v_k of a tree of weight w_t, with one factor a for all trees, as
    large as keeps every share above 0: so the mean share of a class is 1/K + a F_k / T, and the largest is that of the
    elected class. Shares that are averaged with equal weights stay as they are, probabilities too.

    Parameters
    ----------
    committee : Committee
        Its voters are a `Forest` without categorical splits, and without intercept.

    Returns
    -------
    RandomForestClassifier
        Fitted, as far as predicting goes. Its ``predict`` is the committee's, but for rows on which rounding parts a
        tie, and for columns whose values are not the same in single precision, to which scikit-learn rounds them. Its
        ``predict_proba`` is a straight line in the scores, which are not probabilities unless the committee's were
        means of shares. Its ``feature_importances_`` are by the gain of the splits that are left.

    Raises
    ------
    TypeError
        If the voters are no forest.
    ValueError
        If a split is categorical, or there is an intercept.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee.learners.trained.scikit_forest import scikit_forest
    >>> from committee.vote.committee import Committee
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> first = scikit_forest(Committee.from_estimator(forest).select(slice(5)))
    >>> len(first.estimators_), bool((first.predict(X) == y).mean() > 0.9)
    (5, True)
    """
    forest = committee.voters
    if not isinstance(forest, Forest):
        raise TypeError(f"committee has {type(forest).__name__} for voters; a scikit-learn forest is made of trees.")
    if len(forest.category_bits):
        raise ValueError(
            "committee splits on categories, which scikit-learn's trees cannot; train on one-hot columns to take trees "
            "there."
        )
    if committee.intercept is not None:
        raise ValueError("committee has an intercept, which scikit-learn's forests have not.")
    shares = _shares(committee, forest)
    made = RandomForestClassifier(n_estimators=len(forest))
    made.estimators_ = [_tree(forest, shares, t, committee.n_classes) for t in range(len(forest))]
    made.estimator_ = DecisionTreeClassifier()
    made.classes_, made.n_classes_, made.n_outputs_ = np.array(committee.classes), committee.n_classes, 1
    made.n_features_in_ = forest.n_features
    if committee.table is not None and committee.table.names is not None:
        made.feature_names_in_ = np.array(committee.table.names, dtype=object)
    return made


def _shares(committee: Committee, forest: Forest) -> F64:
    """Class shares of all nodes, ``(N, K)``."""
    K = committee.n_classes
    vote = leaf_votes(forest)
    leaf = (forest.feature < 0)[:, None]
    weight = np.repeat(committee.weights, forest.n_nodes)[:, None]
    equal = (committee.weights == committee.weights[0]).all() and committee.weights[0] > 0.0
    if equal and vote.shape[1] == K and np.allclose(vote[leaf[:, 0]].sum(axis=1), 1.0, atol=1e-9):
        return np.where(leaf, vote, 1.0 / K)
    if vote.shape[1] == 1:
        vote = np.hstack([-vote, vote]) / 2.0
    says = np.where(leaf, weight * (vote - vote.mean(axis=1, keepdims=True)), 0.0)
    lowest = -float(says.min())
    factor = 1.0 / (K * lowest) if lowest > 0.0 else 1.0
    return np.maximum(1.0 / K + factor * says, 0.0)


def _tree(forest: Forest, shares: F64, t: int, n_classes: int) -> DecisionTreeClassifier:
    nodes = slice(int(forest.offset[t]), int(forest.offset[t + 1]))
    linked = TreeNodes.of(forest[t : t + 1])
    left = linked.left
    split = left >= 0
    table = np.zeros(len(left), dtype=NODE_DTYPE)
    table["left_child"] = np.where(split, left, -1)
    table["right_child"] = np.where(split, left + 1, -1)
    table["feature"] = np.where(split, forest.feature[nodes], -2)
    table["threshold"] = np.where(split, forest.threshold[nodes], -2.0)
    table["missing_go_to_left"] = forest.missing_left[nodes]
    table["n_node_samples"] = forest.count[nodes]
    table["weighted_n_node_samples"] = forest.weight[nodes]
    table["impurity"] = _impurity(linked, forest.gain[nodes], forest.weight[nodes])
    values = np.ascontiguousarray(shares[nodes][:, None, :])
    native = Tree(forest.n_features, np.array([n_classes], dtype=np.intp), 1)
    native.__setstate__({"max_depth": len(linked.levels), "node_count": len(left), "nodes": table, "values": values})
    tree = DecisionTreeClassifier()
    tree.tree_, tree.n_features_in_, tree.n_outputs_ = native, forest.n_features, 1
    tree.classes_, tree.n_classes_ = np.arange(n_classes, dtype=np.float64), n_classes
    tree.max_features_ = forest.n_features
    return tree


def _impurity(nodes: TreeNodes, gain: F64, weight: F64) -> F64:
    """Impurity that, weighted, decreases by the gain of every split down to none: importances are shares of gain."""
    worth = np.zeros(len(nodes))
    for level in reversed(nodes.levels):
        children = nodes.left[level]
        worth[level] = worth[children] + worth[children + 1] + gain[level]
    return np.divide(worth, weight, out=np.zeros(len(worth)), where=weight > 0.0)
