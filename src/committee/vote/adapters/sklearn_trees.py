"""scikit-learn's decision trees, gradient boosting and histogram boosting as trees of this library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor

from committee.data.categories import Category, unpack_category_bits
from committee.data.number_types import F64, Index
from committee.data.table_schema import TableSchema
from committee.vote.adapters.boosted_model import BoostedModel, LinkedTrees
from committee.vote.links.mean import Identity, Log, MeanLink
from committee.voters.flat_trees import extents
from committee.voters.forest import Forest

CLASSES = {"log_loss": 1.0, "exponential": 2.0}
"""Classification losses, with the factor from a score to a log-odds."""
NUMBERS = ("squared_error", "absolute_error", "huber", "quantile")
SAME_OF_ALL = ("prior", "most_frequent", "constant")
"""Strategies of dummy classifiers with constant predictions."""
HISTOGRAM_LOSS_LINKS: dict[str, MeanLink] = {
    **dict.fromkeys(("squared_error", "absolute_error", "quantile"), Identity()),
    **dict.fromkeys(("poisson", "gamma"), Log()),
}


def feature_names(estimator: Any) -> tuple[str, ...] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def numeric_table(estimator: Any) -> TableSchema:
    return TableSchema(feature_names(estimator), (None,) * estimator.n_features_in_)


def forest_of_trees(
    trees: Sequence[Any],
    *,
    n_features: int,
    classes: NDArray[Any] | None,
    soft: bool,
    features: Sequence[Index] | None = None,
) -> Forest:
    """Convert fitted scikit-learn trees with one output to a forest; `classes` is None for regressors."""
    if classes is None:
        shares = np.concatenate([member.tree_.value[:, 0, :1] for member in trees])
    else:
        shares = np.concatenate([_shares(member, classes, t) for t, member in enumerate(trees)])
    linked = linked_trees(trees, shares, features)
    no_categories = np.zeros(n_features, dtype=np.int32)
    forest = linked.forest(n_classes=shares.shape[1], n_categories=no_categories, inner_values=True)
    if soft:  # K columns also for two classes, as 2 p - 1 would lose digits and ties
        return forest
    label = np.where(forest.feature >= 0, -1, np.argmax(forest.node_votes, axis=1))
    return replace(forest, label=label.astype(np.int32), value=None)


def linked_trees(trees: Sequence[Any], value: F64, features: Sequence[Index] | None = None) -> LinkedTrees:
    inner = [_checked_nodes(member) for member in trees]

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in inner])

    offset = extents([tree.node_count for tree in inner])
    start, end = np.repeat(offset[:-1], np.diff(offset)), np.repeat(offset[1:], np.diff(offset))
    left, right = joined("children_left"), joined("children_right")
    split = left >= 0
    left, right = left + start, right + start
    if (split & ((np.minimum(left, right) <= np.arange(len(left))) | (np.maximum(left, right) >= end))).any():
        raise ValueError("a tree has a child that is not among the nodes after its parent; the tree is damaged")
    feature = joined("feature")
    if features is not None:
        feature = np.concatenate([own[np.maximum(tree.feature, 0)] for tree, own in zip(inner, features, strict=True)])
    weight = joined("weighted_n_node_samples")
    impurity = weight * joined("impurity")
    return LinkedTrees(
        root=offset[:-1].astype(np.intp),
        feature=np.where(split, feature, -1),
        threshold=np.where(split, float64_threshold(np.where(split, joined("threshold"), 0.0)), 0.0),
        left=np.where(split, left, -1),
        right=np.where(split, right, -1),
        missing_left=split & joined("missing_go_to_left").astype(bool),
        value=value,
        gain=np.where(split, impurity - impurity[left] - impurity[right], 0.0),
        weight=weight,
        count=joined("n_node_samples").astype(np.int64),
        codes={},
    )


def _checked_nodes(member: Any) -> Any:
    n_categories = np.asarray(getattr(member.tree_, "n_categories", 0))
    if (n_categories > 0).any():
        raise ValueError(
            f"a {type(member).__name__} takes column {int(np.argmax(n_categories > 0))} as categories, which "
            "are not read from scikit-learn's decision trees; train with one-hot columns, or HistGradientBoosting*, "
            "whose categories are read."
        )
    return member.tree_


def float64_threshold(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest float64 x whose float32 rounding is <= the threshold, as scikit-learn compares float32(x)."""
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        below = np.where(nearest > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
        above = np.nextafter(below, np.float32(np.inf)).astype(np.float64)
    # beyond the largest float32 lies 2**128, as far as rounding is concerned
    above = np.where(np.isinf(above), np.copysign(2.0**128, above), above)
    # up to the midpoint of neighbours numbers round down, at it if the last bit is 0
    even = (below.view(np.int32) & 1) == 0
    lower = np.clip(below.astype(np.float64), -(2.0**128), 2.0**128)
    middle = (lower + above) / 2.0  # exact: both have at most 24 bits and are neighbours
    limit = np.where(even, middle, np.nextafter(middle, -np.inf))
    largest = np.finfo(np.float64).max
    return np.where(np.isinf(threshold), np.copysign(largest, threshold), limit)


def _shares(member: Any, classes: NDArray[Any], t: int) -> NDArray[np.float64]:
    place = {label: k for k, label in enumerate(classes.tolist())}
    columns = [place.get(label, -1) for label in member.classes_.tolist()]
    if -1 in columns:
        unknown = member.classes_[columns.index(-1)]
        raise ValueError(f"trees[{t}] votes for {unknown!r}, which is not among {classes.tolist()}.")
    own = member.tree_.value[:, 0, :]
    shares = np.zeros((len(own), len(classes)))
    shares[:, columns] = own
    return shares


def gradient_model(estimator: Any) -> BoostedModel:
    """Read a ``GradientBoostingClassifier`` or ``GradientBoostingRegressor``."""
    of_classes = hasattr(estimator, "classes_")
    known: tuple[str, ...] = tuple(CLASSES) if of_classes else NUMBERS
    if estimator.loss not in known:
        raise ValueError(f"estimator has loss={estimator.loss!r}; supported losses are {', '.join(known)}.")
    n_rounds, n_scores = estimator.estimators_.shape
    trees = estimator.estimators_.ravel().tolist()
    value = np.concatenate([tree.tree_.value[:, 0, 0] for tree in trees]) * estimator.learning_rate
    return BoostedModel(
        linked_trees(trees, value),
        np.tile(np.arange(n_scores), n_rounds),
        _start(estimator),
        numeric_table(estimator),
        sigmoid=CLASSES[estimator.loss] if of_classes else 1.0,
        number_link=None if of_classes else Identity(),
    )


def _start(estimator: Any) -> F64:
    first = estimator.init_
    constant = isinstance(first, DummyRegressor) or (
        isinstance(first, DummyClassifier) and first.strategy in SAME_OF_ALL
    )
    if not constant and not (isinstance(first, str) and first == "zero"):
        raise ValueError(
            f"estimator has init={first!r}, whose predictions of each row are no part of the trees; use init=None or "
            "'zero'."
        )
    return np.asarray(estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_)))[0])


def histogram_model(estimator: Any) -> BoostedModel:
    """Read a ``HistGradientBoostingClassifier`` or ``HistGradientBoostingRegressor``."""
    rounds, link = estimator._predictors, None
    if not hasattr(estimator, "classes_"):
        if estimator.loss not in HISTOGRAM_LOSS_LINKS:
            raise ValueError(
                f"estimator has loss={estimator.loss!r}; supported losses are {', '.join(HISTOGRAM_LOSS_LINKS)}."
            )
        link = HISTOGRAM_LOSS_LINKS[estimator.loss]
    elif estimator.loss != "log_loss":
        raise ValueError(f"estimator has loss={estimator.loss!r}; the supported loss is log_loss.")
    if not rounds:
        raise ValueError("estimator has no trees; fit it with max_iter of at least 1.")
    n_scores = len(rounds[0])
    columns, table = _columns(estimator)
    return BoostedModel(
        _linked([tree for trees in rounds for tree in trees], columns, table),
        np.tile(np.arange(n_scores), len(rounds)),
        np.array(estimator._baseline_prediction, dtype=np.float64).ravel(),
        table,
        number_link=link,
    )


def _columns(estimator: Any) -> tuple[Index, TableSchema]:
    p, chosen, names = estimator.n_features_in_, estimator.is_categorical_, feature_names(estimator)
    categories: list[tuple[Category, ...] | None] = [None] * p
    if chosen is None:
        return np.arange(p), TableSchema(names, tuple(categories))
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    for j, found in zip(np.flatnonzero(chosen).tolist(), encoder.categories_, strict=True):
        known = [category for category in found.tolist() if category == category]  # NaN is none of them
        if None in known:
            name = j if names is None else repr(names[j])
            raise ValueError(f"estimator has None among the categories of column {name}; train with NaN in its place.")
        categories[j] = tuple(known)
    order = np.concatenate([np.flatnonzero(chosen), np.flatnonzero(~chosen)])
    return order, TableSchema(names, tuple(categories))


def _linked(trees: list[Any], columns: Index, table: TableSchema) -> LinkedTrees:
    nodes = np.concatenate([tree.nodes for tree in trees])
    sizes = [len(tree.nodes) for tree in trees]
    root = extents(sizes)[:-1].astype(np.intp)
    start = np.repeat(root, sizes)
    split = nodes["is_leaf"] == 0
    # a split of all numbers from the missing values has no threshold; a feature of a leaf is not used
    limit = np.minimum(np.where(split, nodes["num_threshold"], 0.0), np.finfo(np.float64).max)
    feature = np.where(split, columns[np.where(split, nodes["feature_idx"], 0)], -1)
    codes: dict[int, Index] = {}
    categorical = np.flatnonzero(split & (nodes["is_categorical"] != 0))
    for node, tree in zip(categorical.tolist(), np.searchsorted(root, categorical, side="right") - 1, strict=True):
        left_codes = unpack_category_bits(trees[tree].raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        codes[node] = left_codes[left_codes < table.n_categories[feature[node]]]
    return LinkedTrees(
        root=root,
        feature=feature,
        threshold=limit,
        left=np.where(split, nodes["left"] + start, -1),
        right=np.where(split, nodes["right"] + start, -1),
        missing_left=split & (nodes["missing_go_to_left"] != 0),
        value=nodes["value"].astype(np.float64),
        gain=np.where(split, nodes["gain"], 0.0),
        weight=nodes["count"].astype(np.float64),
        count=nodes["count"].astype(np.int64),
        codes=codes,
    )
