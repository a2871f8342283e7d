"""Tree growth: limits, native growers, and the conversion of grown trees to forests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee._core import DeepGrower, Grower, GrownTree, joined_nodes
from committee.data.bins import Binned, Bins
from committee.data.table_schema import check_draws, feature_weights
from committee.voters.flat_trees import FEW_CLASSES, ClassShares, extents
from committee.voters.forest import Forest

if TYPE_CHECKING:
    from committee._core import Criterion, TreeNodes

TargetCriterion: TypeAlias = Literal["squared_error", "absolute_error", "poisson"]
ClassCriterion: TypeAlias = Literal["gini", "entropy"]
DeepCriterion: TypeAlias = ClassCriterion | TargetCriterion


@dataclass(frozen=True)
class GrowthLimits:
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_features: int | float | str | None = None
    max_features_tree: int | float | str | None = None
    feature_weights: NDArray[np.uint32] | None = None

    @classmethod
    def of(cls, learner: Any) -> GrowthLimits:
        # not by get_params, which returns only what the __init__ of a user's subclass takes
        found = {each.name: getattr(learner, each.name) for each in fields(cls) if hasattr(learner, each.name)}
        if (weights := found.get("feature_weights")) is not None:
            found["feature_weights"] = feature_weights(weights, learner.table_)
        return cls(**found)

    def most_leaves(self, n_rows: int) -> int:
        by_rows = n_rows // self.min_samples_leaf
        return by_rows if self.max_depth is None else min(by_rows, 2 ** min(self.max_depth, 60))

    def settings(self, binned: Binned, n_threads: int) -> dict[str, Any]:
        of_tree, of_node = features_per_tree_and_node(self.max_features_tree, self.max_features, binned.codes.shape[1])
        check_draws(self.feature_weights, of_tree, of_node)
        return {
            "codes": binned.codes,
            "n_bins": binned.bins.n_bins,
            "categorical": binned.bins.categorical,
            "max_depth": self.max_depth or 0,
            "min_samples_leaf": self.min_samples_leaf,
            "min_weight_leaf": self.min_weight_leaf,
            "min_gain": self.min_impurity_decrease,
            "max_features_tree": of_tree,
            "max_features": of_node,
            **({} if self.feature_weights is None else {"feature_weights": self.feature_weights}),
            "n_threads": n_threads,
        }


def tree_grower(binned: Binned, criterion: Criterion, n_classes: int, limits: GrowthLimits, n_threads: int) -> Grower:
    settings = limits.settings(binned, n_threads)
    return Grower(criterion=criterion, n_classes=n_classes, max_leaf_nodes=limits.max_leaf_nodes or 0, **settings)


def deep_tree_grower(
    binned: Binned, criterion: DeepCriterion, n_classes: int, limits: GrowthLimits, n_threads: int
) -> DeepGrower:
    return DeepGrower(criterion=criterion, n_classes=n_classes, **limits.settings(binned, n_threads))


def class_tree_grower(
    binned: Binned, criterion: ClassCriterion, n_classes: int, limits: GrowthLimits, n_threads: int
) -> DeepGrower | Grower:
    """Return the grower that is faster for the size of the tree. Both grow the same trees."""
    n_rows = binned.codes.shape[0]
    # histograms take time by nodes and classes, deep growth by rows: the same at about four rows per leaf and class
    shallow = 4 * n_classes * limits.most_leaves(n_rows) < n_rows
    kernel = tree_grower if limits.max_leaf_nodes or shallow else deep_tree_grower
    return kernel(binned, criterion, n_classes, limits, n_threads)


def check_target_criterion(criterion: DeepCriterion, target: NDArray[np.float64], max_leaf_nodes: int | None) -> None:
    if criterion == "poisson":
        if (target < 0.0).any():
            row = int((target.reshape(len(target), -1) < 0.0).any(axis=1).argmax())
            raise ValueError(
                f"criterion='poisson' is for counts and amounts, and y holds {target[row]} (row {row} of those with "
                "weight); choose criterion='squared_error' or 'absolute_error' for negative numbers."
            )
        if (target.reshape(len(target), -1).sum(axis=0) <= 0.0).any():
            raise ValueError(
                "criterion='poisson' needs a number above 0, and y, or a column of it, is 0 in all rows with weight; "
                "choose criterion='squared_error'."
            )
    if criterion == "absolute_error":
        if target.ndim == 2:
            raise ValueError(
                f"criterion='absolute_error' takes one target, and y has {target.shape[1]} columns; wrap the learner "
                "in sklearn.multioutput.MultiOutputRegressor, or choose criterion='squared_error'."
            )
        if max_leaf_nodes is not None:
            raise ValueError(
                f"max_leaf_nodes={max_leaf_nodes} limits trees that are grown best-first, and those of "
                "criterion='absolute_error' are grown depth-first; set max_depth or min_samples_leaf instead."
            )


def n_sampled_features(max_features: int | float | str | None, p: int, name: str = "max_features") -> int:
    if max_features is None:
        return 0
    if isinstance(max_features, str):
        return max(1, int(np.sqrt(p) if max_features == "sqrt" else np.log2(p)))
    if isinstance(max_features, Integral):
        if max_features > p:
            raise ValueError(f"{name}={max_features} exceeds the {p} columns; use None for all of them.")
        return int(max_features)
    return max(1, int(max_features * p))


def features_per_tree_and_node(
    max_features_tree: int | float | str | None, max_features: int | float | str | None, p: int
) -> tuple[int, int]:
    """Numbers of columns drawn for each tree (p: all) and for each node (0: all)."""
    of_tree = n_sampled_features(max_features_tree, p, "max_features_tree") or p
    if isinstance(max_features, (str, float)):  # of the tree's columns
        return of_tree, n_sampled_features(max_features, of_tree)
    return of_tree, min(n_sampled_features(max_features, p), of_tree)


def forest_from_grown(
    trees: Sequence[TreeNodes],
    bins: Bins,
    n_classes: int,
    *,
    label: Sequence[NDArray[np.int32]] | None = None,
    value: Sequence[NDArray[np.float64]] | None = None,
    shares: ClassShares | None = None,
    weight: Sequence[NDArray[np.float64]] | Literal["rows"] | None = None,
) -> Forest:
    """Convert grown trees to a `Forest` with thresholds in place of bins."""
    n_nodes, feature, bin, left, missing_left, category_offset, category_bits, gain, count = joined_nodes(trees)
    if weight is None:
        weight = [node_weights(tree) for tree in trees]
    return Forest(
        n_features=len(bins.n_categories),
        n_classes=n_classes,
        offset=extents(n_nodes),
        feature=feature,
        threshold=bins.threshold(feature, bin),
        left=left,
        missing_left=missing_left,
        category_offset=category_offset,
        category_bits=category_bits,
        label=None if label is None else np.concatenate(label),
        value=None if value is None else value[0] if len(value) == 1 else np.concatenate(value),
        gain=gain,
        weight=count.astype(np.float64) if weight == "rows" else np.concatenate(weight),
        count=count,
        shares=shares,
    )


def majority_class(sums: NDArray[np.float64]) -> NDArray[np.intp]:
    """Class of the largest of each node's `sums` ``(N, K)``, the first of those equal up to rounding."""
    return np.asarray(np.argmax(sums >= sums.max(axis=1, keepdims=True) * (1.0 - 1e-10), axis=1))


def node_weights(tree: TreeNodes) -> NDArray[np.float64]:
    sums = tree.leaf_sums()
    return tree.sums.sum(axis=1) if sums is None else sums[3]


def leaf_labels(tree: GrownTree) -> NDArray[np.int32]:
    if (sums := tree.leaf_sums()) is None:
        heaviest = majority_class(tree.sums)
    else:
        heaviest = ClassShares(tree.n_classes, *sums[:3]).majority()
    return np.where(tree.feature < 0, heaviest, -1).astype(np.int32)


def leaf_labels_and_votes(tree: GrownTree) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Leaf labels ``(N,)`` of a two-class tree and its votes -1 or +1 on its rows ``(n,)``, whose leaves it forgets."""
    label = leaf_labels(tree)
    votes = (2 * label[tree.leaf_of_row] - 1).astype(np.int8)
    tree.forget_rows()
    return label, votes


def class_votes(tree: GrownTree, *, hard: bool) -> dict[str, Any]:
    """Votes of one tree as keyword arguments of `forest_from_grown`."""
    if hard:
        return {"label": [leaf_labels(tree)]}
    if tree.n_classes > FEW_CLASSES and (sums := tree.leaf_sums()) is not None:
        offset, label, weight, total = sums
        share = weight / np.repeat(total, np.diff(offset))
        return {"shares": ClassShares(tree.n_classes, offset, label, share), "weight": [total]}
    shares = class_shares(tree)
    if shares.shape[1] > FEW_CLASSES:
        return {"shares": ClassShares.of_dense(shares, tree.feature < 0)}
    return {"value": [shares]}


def class_shares(tree: GrownTree) -> NDArray[np.float64]:
    sums = tree.sums
    total = sums.sum(axis=1, keepdims=True)
    if (total > 0.0).all():
        return np.asarray(sums / total)
    share = np.full_like(sums, 1.0 / sums.shape[1])
    np.divide(sums, total, out=share, where=total > 0.0)
    return share


def leaf_values(
    criterion: DeepCriterion, leaf: NDArray[np.int32], n_nodes: int, w: NDArray[np.float64], z: NDArray[np.float64]
) -> NDArray[np.float64]:
    values = leaf_medians if criterion == "absolute_error" else leaf_means
    return values(leaf, n_nodes, w, z).reshape(n_nodes, -1)


def leaf_medians(
    leaf: NDArray[np.int32], n_nodes: int, w: NDArray[np.float64], z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted median response at each leaf, ``(N,)``, for positive weights."""
    order = np.lexsort((z, leaf))
    nodes, last = np.unique(leaf[order][::-1], return_index=True)
    last = len(order) - 1 - last
    below, ordered = np.cumsum(w[order]), z[order]
    total = np.diff(below[last], prepend=0.0)
    # sums of weights that equal the half may miss it by rounding
    half, rounding = below[last] - 0.5 * total, 1e-12 * total + 1e-14 * below[-1]
    low = ordered[np.searchsorted(below, half - rounding)]
    high = ordered[np.minimum(np.searchsorted(below, half + rounding, side="right"), last)]
    medians = np.zeros(n_nodes)
    medians[nodes] = low + 0.5 * (high - low)
    return medians


def leaf_means(
    leaf: NDArray[np.int32], n_nodes: int, w: NDArray[np.float64], z: NDArray[np.float64]
) -> NDArray[np.float64]:
    responses = z.reshape(len(z), -1)
    first = np.zeros((n_nodes, responses.shape[1]))
    first[leaf[::-1]] = responses[::-1]
    weight = np.bincount(leaf, w, n_nodes)[:, None]
    apart = w[:, None] * (responses - first[leaf])
    rest = np.column_stack([np.bincount(leaf, terms, n_nodes) for terms in apart.T])
    means: NDArray[np.float64] = first + np.divide(rest, weight, out=np.zeros_like(rest), where=weight > 0)
    return means.reshape(n_nodes, *z.shape[1:])
