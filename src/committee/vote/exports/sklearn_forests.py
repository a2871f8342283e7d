"""Trees as scikit-learn's decision trees and forests, of classes and of numbers."""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree

from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.vote.exports.first_of_ties import AHEAD, AHEAD_OF_NEAR, shares_of_first
from committee.vote.exports.score_trees import ScoreTrees
from committee.vote.exports.single_precision import blurred_column
from committee.voters.forest import Forest


def classifier(trees: ScoreTrees, value: F64, classes: NDArray[Any], table: TableSchema | None) -> Any:
    """scikit-learn's forest whose trees' mean is the mean of `value` ``(N, K)``; a tree alone is a decision tree.

    Raises
    ------
    ValueError
        If a column has categories, or single precision does not keep its splits apart.
    """
    refuse_columns(trees, table)
    grown = [_tree(trees.forest, value, t, DecisionTreeClassifier()) for t in range(len(trees.forest))]
    return _named(_forest_of(grown, classes), trees.forest, table)


def regressor(trees: ScoreTrees, value: F64, table: TableSchema | None) -> Any:
    """scikit-learn's forest whose trees' mean is the mean of `value` ``(N, D)``; a tree alone is a decision tree.

    Raises
    ------
    ValueError
        If a column has categories, or single precision does not keep its splits apart.
    """
    refuse_columns(trees, table)
    grown = [_tree(trees.forest, value, t, DecisionTreeRegressor()) for t in range(len(trees.forest))]
    if len(grown) == 1:
        return _named(grown[0], trees.forest, table)
    made = RandomForestRegressor(n_estimators=len(grown))
    made.estimators_, made.estimator_, made.n_outputs_ = grown, DecisionTreeRegressor(), value.shape[1]
    return _named(made, trees.forest, table)


def of_votes(trees: ScoreTrees, classes: NDArray[Any], table: TableSchema | None, *, near_ties: bool) -> Any:
    """A forest that elects the class of the largest score.

    Weighted votes for classes are multiplied by a power of two alone: sums are rounded as they are here, and ties are
    the same. A last tree of one leaf gives every class the same, so that probabilities add up to 1. Other numbers, and
    scores that tie where they are nearly the same, become `centred_shares`.

    Raises
    ------
    ValueError
        As `classifier`.
    """
    votes = trees.by_leaf()
    weight = None if near_ties else _weight_of_each(votes)
    if weight is None:
        return classifier(trees, centred_shares(votes, AHEAD_OF_NEAR if near_ties else AHEAD), classes, table)
    T, total = len(trees.forest), float(weight.sum())
    if T == 1:
        return classifier(trees, votes.value / total, classes, table)
    exact = frexp(T / total)[0] == 0.5 and bool((weight == weight[0]).all())
    scale = 2.0 ** (frexp((T if exact else T + 1) / total)[1] - 1)
    grown = [_tree(trees.forest, votes.value * scale, t, DecisionTreeClassifier()) for t in range(T)]
    if not exact:
        share = max(0.0, (T + 1 - scale * total) / len(classes))
        grown.append(_leaf_alone(np.full(len(classes), share), trees.forest.n_features))
    return _named(_forest_of(grown, classes), trees.forest, table)


def _weight_of_each(votes: ScoreTrees) -> F64 | None:
    """Weights of trees whose leaves give all of it to classes; None of others."""
    forest, value = votes.forest, votes.value
    leaf, given = forest.feature < 0, value.sum(axis=1)
    weight = np.maximum.reduceat(np.where(leaf, given, 0.0), forest.offset[:-1])
    if value.shape[1] < 2 or votes.intercept.any() or value.min() < 0.0 or not weight.sum() > 0.0:
        return None
    off = np.abs(given - np.repeat(weight, forest.n_nodes))[leaf]
    return weight if off.max() <= 1e-9 * weight.max() else None


def _leaf_alone(value: F64, n_features: int) -> Any:
    """A tree of one leaf."""
    nodes, tree = np.zeros(1, dtype=NODE_DTYPE), DecisionTreeClassifier()
    nodes["left_child"] = nodes["right_child"] = -1
    nodes["feature"], nodes["threshold"] = -2, -2.0
    nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = 1
    native = Tree(n_features, np.array([len(value)], dtype=np.intp), 1)
    native.__setstate__({"max_depth": 0, "node_count": 1, "nodes": nodes, "values": value[None, None, :].copy()})
    tree.tree_, tree.n_features_in_, tree.n_outputs_, tree.max_features_ = native, n_features, 1, n_features
    return tree


def _forest_of(grown: list[Any], classes: NDArray[Any]) -> Any:
    """A forest, or the tree alone."""
    if len(grown) == 1:
        made = grown[0]
    else:
        for tree in grown:  # as a forest's own trees, they name the numbers of the classes
            tree.classes_, tree.n_classes_ = np.arange(len(classes), dtype=np.float64), len(classes)
        made = RandomForestClassifier(n_estimators=len(grown))
        made.estimators_, made.estimator_ = grown, DecisionTreeClassifier()
    made.classes_, made.n_classes_, made.n_outputs_ = np.array(classes), len(classes), 1
    return made


def centred_shares(trees: ScoreTrees, most_ahead: float) -> F64:
    """Class shares ``(N, K)`` whose mean is largest for the class of the largest score.

    A leaf's numbers v, centred over the classes, become 1 / K + a v_k, with one a for all trees, as large as keeps
    every share above 0: so the mean share of a class is 1 / K + a F_k / T. Of tied classes the first is ahead by a
    little.
    """
    by_leaf = trees.by_leaf()
    value, start = by_leaf.value, by_leaf.intercept / len(trees.forest)
    if value.shape[1] == 1:
        value, start = np.hstack([-value, value]) / 2.0, np.array([-start[0], start[0]]) / 2.0
    leaf, K = (trees.forest.feature < 0)[:, None], value.shape[1]
    value = value + start
    says = np.where(leaf, value - value.mean(axis=1, keepdims=True), 0.0)
    lowest = -float(says.min())
    factor = 1.0 / (K * lowest) if lowest > 0.0 else 1.0
    shares = np.where(leaf, np.maximum(1.0 / K + factor * says, 0.0), 0.0)
    return shares_of_first(shares, trees.forest, most_ahead=most_ahead)


def column_for_boosting(trees: ScoreTrees, table: TableSchema | None) -> tuple[int, str] | None:
    """A column that scikit-learn's decision trees cannot take and its boosting can, and what is the matter with it."""
    of_categories = [] if table is None else [j for j, each in enumerate(table.categories) if each is not None]
    if not of_categories and trees.categorical.any():
        of_categories = trees.forest.feature[trees.categorical].tolist()
    if of_categories:
        asked = [j for j in of_categories if j in trees.split_columns]
        return (asked or of_categories)[0], "has categories"
    blurred = blurred_column(trees.forest)
    return None if blurred is None else (blurred, "has splits that single precision does not keep apart")


def refuse_columns(trees: ScoreTrees, table: TableSchema | None, instead: str = "") -> None:
    """Refuse columns of categories, and splits of double precision; `instead` says what takes them besides ONNX.

    Raises
    ------
    ValueError
        Naming a column.
    """
    found = column_for_boosting(trees, table)
    if found is not None:
        name = f"x{found[0]}" if table is None else table.column(found[0])
        raise ValueError(
            f"column {name!r} {found[1]}, which scikit-learn's decision trees cannot take; {instead}committee.to_onnx "
            "takes such columns."
        )


def _named(made: Any, forest: Forest, table: TableSchema | None) -> Any:
    made.n_features_in_ = forest.n_features
    if table is not None and table.names is not None:
        made.feature_names_in_ = np.array(table.names, dtype=object)
    return made


def _tree(forest: Forest, value: F64, t: int, tree: Any) -> Any:
    """One tree, fitted as far as predicting goes."""
    nodes = slice(int(forest.offset[t]), int(forest.offset[t + 1]))
    left = forest.left[nodes].astype(np.intp)
    split, levels = left >= 0, _levels(left)
    weight = forest.weight[nodes] if forest.weight[nodes.start] > 0.0 else _leaves_below(left, levels)
    table = np.zeros(len(left), dtype=NODE_DTYPE)
    table["left_child"] = np.where(split, left, -1)
    table["right_child"] = np.where(split, left + 1, -1)
    table["feature"] = np.where(split, forest.feature[nodes], -2)
    table["threshold"] = np.where(split, forest.threshold[nodes], -2.0)
    table["missing_go_to_left"] = forest.missing_left[nodes]
    table["n_node_samples"] = forest.count[nodes]
    table["weighted_n_node_samples"] = weight
    table["impurity"] = _impurity(left, levels, forest.gain[nodes], weight)
    says = _means(left, levels, value[nodes], weight)
    of_classes = isinstance(tree, DecisionTreeClassifier)
    D = 1 if of_classes else says.shape[1]
    values = np.ascontiguousarray(says[:, None, :] if of_classes else says[:, :, None])
    native = Tree(forest.n_features, np.full(D, says.shape[1] if of_classes else 1, dtype=np.intp), D)
    native.__setstate__({"max_depth": len(levels), "node_count": len(left), "nodes": table, "values": values})
    tree.tree_, tree.n_features_in_, tree.n_outputs_ = native, forest.n_features, D
    tree.max_features_ = forest.n_features
    return tree


def _levels(left: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The inner nodes at each depth, root first."""
    levels, level = [], np.zeros(1, dtype=np.intp)
    while len(level := level[left[level] >= 0]):
        levels.append(level)
        level = np.concatenate([left[level], left[level] + 1])
    return levels


def _leaves_below(left: NDArray[np.intp], levels: list[NDArray[np.intp]]) -> F64:
    """Number of leaves of each node, for trees that recorded no rows."""
    found = np.ones(len(left))
    for level in reversed(levels):
        found[level] = found[left[level]] + found[left[level] + 1]
    return found


def _impurity(left: NDArray[np.intp], levels: list[NDArray[np.intp]], gain: F64, weight: F64) -> F64:
    """Impurity that, weighted, decreases by the gain of every split down to none: importances are shares of gain."""
    worth = np.zeros(len(left))
    for level in reversed(levels):
        worth[level] = worth[left[level]] + worth[left[level] + 1] + gain[level]
    return np.divide(worth, weight, out=np.zeros(len(worth)), where=weight > 0.0)


def _means(left: NDArray[np.intp], levels: list[NDArray[np.intp]], value: F64, weight: F64) -> F64:
    """What leaves say, and above them the means by the rows that came there, for pictures of the tree."""
    says, mass = value.copy(), np.where(left < 0, weight, 0.0)
    for level in reversed(levels):
        a, b = left[level], left[level] + 1
        mass[level] = mass[a] + mass[b]
        share = np.divide(mass[a], mass[level], out=np.full(len(level), 0.5), where=mass[level] > 0.0)[:, None]
        says[level] = share * says[a] + (1.0 - share) * says[b]
    return says
