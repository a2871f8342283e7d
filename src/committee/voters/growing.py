"""From trees as the kernel grows them, on bins, to voters of a committee, on values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from committee._core import Grower, GrownTree, joined_nodes
from committee.data.bins import Binned, Bins
from committee.voters.flat_trees import extents
from committee.voters.forest import Forest

if TYPE_CHECKING:
    from committee._core import Criterion, TreeNodes


@dataclass(frozen=True)
class GrowthLimits:
    """When a tree stops growing, as users say it; `grower` translates."""

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_features: int | float | str | None = None
    max_features_tree: int | float | str | None = None

    @classmethod
    def of(cls, learner: Any) -> GrowthLimits:
        """The limits among a learner's parameters; those that it does not have are the defaults."""
        # not by get_params, which knows only what the __init__ of a user's subclass takes
        return cls(**{each.name: getattr(learner, each.name) for each in fields(cls) if hasattr(learner, each.name)})

    def features_tried(self, p: int) -> dict[str, int]:
        """Of p columns, those that are drawn for a tree and for each of its nodes, as the kernels take them."""
        of_tree, of_node = features_of_tree_and_node(self.max_features_tree, self.max_features, p)
        return {"max_features_tree": of_tree, "max_features": of_node}


def grower(binned: Binned, criterion: Criterion, n_classes: int, limits: GrowthLimits, n_threads: int) -> Grower:
    """Make ready to grow trees on a binned table."""
    return Grower(
        binned.codes,
        binned.bins.n_bins,
        binned.bins.categorical,
        criterion,
        n_classes,
        max_depth=limits.max_depth or 0,
        max_leaf_nodes=limits.max_leaf_nodes or 0,
        min_samples_leaf=limits.min_samples_leaf,
        min_weight_leaf=limits.min_weight_leaf,
        min_gain=limits.min_impurity_decrease,
        **limits.features_tried(binned.codes.shape[1]),
        n_threads=n_threads,
    )


def n_features_tried(max_features: int | float | str | None, p: int, name: str = "max_features") -> int:
    """Features drawn for a node, as the kernels take it: 0, none drawn and all looked at in order, for None."""
    if max_features is None:
        return 0
    if isinstance(max_features, str):
        return max(1, int(np.sqrt(p) if max_features == "sqrt" else np.log2(p)))
    if isinstance(max_features, Integral):
        if max_features > p:
            raise ValueError(f"{name}={max_features} exceeds the {p} columns; use None for all of them.")
        return int(max_features)
    return max(1, int(max_features * p))


def features_of_tree_and_node(
    max_features_tree: int | float | str | None, max_features: int | float | str | None, p: int
) -> tuple[int, int]:
    """Of p columns, how many a tree sees, and how many of these are drawn for each of its nodes: 0 for none.

    Shares, roots and logarithms of a node are those of the columns that the tree sees.
    """
    of_tree = n_features_tried(max_features_tree, p, "max_features_tree") or p
    if isinstance(max_features, (str, float)):
        return of_tree, n_features_tried(max_features, of_tree)
    return of_tree, min(n_features_tried(max_features, p), of_tree)


def forest_of(
    trees: Sequence[TreeNodes],
    bins: Bins,
    n_classes: int,
    *,
    label: Sequence[NDArray[np.int32]] | None = None,
    value: Sequence[NDArray[np.float64]] | None = None,
    weight: Sequence[NDArray[np.float64]] | Literal["rows"] | None = None,
) -> Forest:
    """Return grown trees as a `Forest`: bins become thresholds.

    Parameters
    ----------
    trees : sequence of TreeNodes
        As `committee._core.Grower` and `committee._core.GradientGrower` return them.
    bins : Bins
        The bins they were grown on; their edges become thresholds.
    n_classes : int
        Number of classes K.
    label, value : sequence of arrays
        What each tree's nodes vote: class indices ``(N,)`` or scores ``(N, D)``; exactly one of the two.
    weight : sequence of float64 arrays (N,) or "rows", default=None
        Weight of each node's rows; "rows": how many there are. None: the sum of its class weights.
    """
    n_nodes, feature, bin, left, missing_left, category_offset, category_bits, gain, count = joined_nodes(trees)
    if weight is None:
        weight = [tree.sums.sum(axis=1) for tree in trees]
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
        value=None if value is None else np.concatenate(value),
        gain=gain,
        weight=count.astype(np.float64) if weight == "rows" else np.concatenate(weight),
        count=count,
    )


def heaviest_class(sums: NDArray[np.float64]) -> NDArray[np.intp]:
    """The class of the largest sum in each row, the first of those that are equal but for rounding.

    Three rows of weight 1/7 and one of weight 3/7 are a tie, whatever their sums' last bits say.
    """
    first: NDArray[np.intp] = np.argmax(sums >= sums.max(axis=1, keepdims=True) * (1.0 - 1e-10), axis=1)
    return first


def leaf_labels(tree: GrownTree) -> NDArray[np.int32]:
    """The heaviest class of each leaf (ties: the first), -1 on inner nodes."""
    return np.where(tree.feature < 0, heaviest_class(tree.sums), -1).astype(np.int32)


def signed_votes(tree: GrownTree) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """The label of each leaf of a tree of two classes, and the votes of its training rows, -1 or +1.

    The tree forgets its rows then.
    """
    label = leaf_labels(tree)
    votes = (2 * label[tree.leaf_of_row] - 1).astype(np.int8)
    tree.forget_rows()
    return label, votes


def class_shares(tree: GrownTree) -> NDArray[np.float64]:
    """Each node's class weights as shares ``(N, K)``; a node without weight says nothing (uniform)."""
    total = tree.sums.sum(axis=1, keepdims=True)
    share = np.full_like(tree.sums, 1.0 / tree.sums.shape[1])
    np.divide(tree.sums, total, out=share, where=total > 0)
    return share


def leaf_means(
    leaf: NDArray[np.int32], n_nodes: int, w: NDArray[np.float64], z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted mean response of each leaf's rows, ``(N,)``, or of q responses ``(N, q)``; 0 at other nodes.

    Taken about the first row of each leaf: where all responses are equal, so is their mean, to the last bit. Classes
    that stumps part alike then tie exactly, and no rounding elects one of them.
    """
    responses = z.reshape(len(z), -1)
    first = np.zeros((n_nodes, responses.shape[1]))
    first[leaf[::-1]] = responses[::-1]
    weight = np.bincount(leaf, w, n_nodes)[:, None]
    apart = w[:, None] * (responses - first[leaf])
    rest = np.column_stack([np.bincount(leaf, terms, n_nodes) for terms in apart.T])
    means: NDArray[np.float64] = first + np.divide(rest, weight, out=np.zeros_like(rest), where=weight > 0)
    return means.reshape(n_nodes, *z.shape[1:])
