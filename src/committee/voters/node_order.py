"""Nodes of linked trees, put in the order that flat trees have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import Index


def breadth_first(left: Index, right: Index, split: NDArray[np.bool_], root: Index) -> tuple[Index, Index, Index]:
    """Number the nodes of trees breadth-first, so that parents come first and siblings are neighbours.

    All trees are walked together, one level at a time; children enter in pairs, and so stay neighbours. Nodes that no
    root leads to are left out.

    Parameters
    ----------
    left, right : intp arrays (N,)
        Children of every inner node.
    split : bool array (N,)
        Which nodes are inner ones.
    root : intp array (T,)
        The trees, in the order wanted.

    Returns
    -------
    order : intp array (M,)
        Old number of each node, tree by tree.
    position : intp array (N,)
        New number of each node; -1 where it is left out.
    sizes : intp array (T,)
        Nodes of each tree.

    Raises
    ------
    ValueError
        If the nodes are no trees, as a crafted file may have them: a child is no node, a root, or one of two parents.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.voters.node_order import breadth_first
    >>> left, right = np.array([3, -1, -1, 1, -1]), np.array([2, -1, -1, 4, -1])
    >>> order, _, sizes = breadth_first(left, right, left >= 0, np.array([0]))
    >>> order.tolist(), sizes.tolist()
    ([0, 3, 2, 1, 4], [5])
    """
    _check_trees(np.concatenate([root, left[split], right[split]]), len(left))
    level, tree = np.asarray(root, dtype=np.intp), np.arange(len(root))
    levels, trees = [], []
    while len(level):
        levels.append(level)
        trees.append(tree)
        inner = split[level]
        parents = level[inner]
        level = np.column_stack([left[parents], right[parents]]).ravel()
        tree = np.repeat(tree[inner], 2)
    found, owner = np.concatenate(levels), np.concatenate(trees)
    order = found[np.argsort(owner, kind="stable")]
    position = np.full(len(left), -1, dtype=np.intp)
    position[order] = np.arange(len(order))
    return order, position, np.bincount(owner, minlength=len(root))


def inner_levels(left: NDArray[np.int32], offset: NDArray[np.int64]) -> list[tuple[Index, Index]]:
    """Inner nodes of flat trees at each depth, roots first, and their left children, counted through all trees.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.voters.node_order import inner_levels
    >>> left = np.array([1, -1, 3, -1, -1], dtype=np.int32)
    >>> [(level.tolist(), child.tolist()) for level, child in inner_levels(left, np.array([0, 5]))]
    [([0], [1]), ([2], [3])]
    """
    start = np.repeat(offset[:-1], np.diff(offset))
    level, levels = offset[:-1].astype(np.intp), []
    while len(level := level[left[level] >= 0]):
        child = (left[level] + start[level]).astype(np.intp)
        levels.append((level, child))
        level = np.column_stack([child, child + 1]).ravel()
    return levels


def in_breadth_first(left: NDArray[np.int32], offset: NDArray[np.int64]) -> Index | None:
    """Order of nodes ``(N,)`` in which flat trees are breadth first; None where they are already."""
    start = np.repeat(offset[:-1], np.diff(offset))
    split = left >= 0
    child = np.where(split, left + start, 0).astype(np.intp)
    order, _, _ = breadth_first(child, child + 1, split, offset[:-1].astype(np.intp))
    return None if (order == np.arange(len(order))).all() else order


def _check_trees(led_to: Index, n_nodes: int) -> None:
    """Refuse nodes that two lead to, on which a walk may never end."""
    inside = ((led_to >= 0) & (led_to < n_nodes)).all()
    if not inside or np.bincount(led_to, minlength=1).max() > 1:
        raise ValueError(
            "a tree has nodes whose children are none of its nodes, or those of two parents; it is no tree"
        )
