"""Linear models in the leaves of LightGBM's trees, as lines."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from committee.data.number_types import F64, Index
from committee.vote.adapters.linked_trees import LinkedTrees
from committee.voters.flat_trees import extents
from committee.voters.leaf_lines import LeafLines

FURTHEST = 1e100
"""Numbers up to which lines go on; LightGBM's have no end, and ours must have one."""
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class LeafModel:
    """Answer of a leaf where no number is missing: ``constant + sum(slope * x[column])``; elsewhere it has a value."""

    constant: float
    column: Index
    slope: F64


def with_lines(
    trees: LinkedTrees, models: dict[int, LeafModel], middle: F64, width: F64
) -> tuple[LinkedTrees, LeafLines]:
    """Give leaves their lines.

    A line here adds nothing where its number is missing, whatever the others are, and LightGBM's answer without any
    line where one number is. So a leaf of several lines comes below splits that send each missing number to a leaf
    without lines. How a constant is shared out to the places where each line adds nothing changes no answer; they are
    as near to the middles of the columns as can be.

    Parameters
    ----------
    trees : LinkedTrees
        A leaf's value is its answer without lines.
    models : dict of int to LeafModel
        Of those leaves that have any.
    middle, width : float64 arrays (p,)
        Middle and width of each column's values in training; a width may be 0.

    Returns
    -------
    trees : LinkedTrees
        With the further splits.
    lines : LeafLines
        Of their nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.vote.adapters.lightgbm_lines import LeafModel, with_lines
    >>> from committee.vote.adapters.linked_trees import LinkedTrees
    >>> leaf = LinkedTrees(
    ...     root=np.array([0]), feature=np.array([-1]), threshold=np.zeros(1), left=np.array([-1]),
    ...     right=np.array([-1]), missing_left=np.zeros(1, bool), value=np.array([3.0]), gain=np.zeros(1),
    ...     weight=np.ones(1), count=np.ones(1, np.int64), codes={})
    >>> model = LeafModel(constant=1.0, column=np.array([0]), slope=np.array([0.5]))
    >>> _, lines = with_lines(leaf, {0: model}, np.zeros(1), np.ones(1))
    >>> lines.slope.tolist(), lines.centre.tolist()  # 3 + (x - 4) / 2 is 1 + x / 2
    ([[0.5]], [[4.0]])
    """
    grown = _Grown(trees)
    of_node: dict[int, tuple[LeafModel, F64]] = {}
    for leaf, model in models.items():
        model = replace(model, column=model.column[model.slope != 0.0], slope=model.slope[model.slope != 0.0])
        if not len(model.column):
            grown.value[leaf] = model.constant
            continue
        centre = _centres(model, grown.value[leaf] - model.constant, middle, width)
        of_node[grown.where_none_is_missing(leaf, model.column)] = (model, centre)
    return grown.trees(), _lines(of_node, len(grown.feature))


def _centres(model: LeafModel, left_over: float, middle: F64, width: F64) -> F64:
    """Where each line adds nothing, so that slopes times these are `left_over` in all."""
    slope, centre = model.slope, middle[model.column]
    pull = slope * np.where(width[model.column] > 0.0, width[model.column], 1.0) ** 2
    moved: F64 = centre + pull * ((left_over - slope @ centre) / (slope @ pull))
    return moved


def _lines(of_node: dict[int, tuple[LeafModel, F64]], n_nodes: int) -> LeafLines:
    sizes, none = np.zeros(n_nodes, dtype=np.int64), [np.zeros(0)]
    nodes = sorted(of_node)
    for node in nodes:
        sizes[node] = len(of_node[node][1])
    column = np.concatenate([np.zeros(0, dtype=np.intp), *(of_node[node][0].column for node in nodes)])
    return LeafLines(
        start=extents(sizes),
        column=column.astype(np.int32),
        slope=np.concatenate([*none, *(of_node[node][0].slope for node in nodes)])[:, None],
        centre=np.concatenate([*none, *(of_node[node][1] for node in nodes)])[:, None],
        low=np.full(len(column), -FURTHEST),
        high=np.full(len(column), FURTHEST),
    )


class _Grown:
    """The nodes of trees as lists that can be added to."""

    def __init__(self, trees: LinkedTrees) -> None:
        self._trees = trees
        self.feature, self.value = trees.feature.tolist(), trees.value.tolist()
        self._threshold, self._missing_left = trees.threshold.tolist(), trees.missing_left.tolist()
        self._left, self._right = trees.left.tolist(), trees.right.tolist()
        self._weight, self._count = trees.weight.tolist(), trees.count.tolist()

    def where_none_is_missing(self, leaf: int, columns: Index) -> int:
        """Split the missing numbers off a leaf, of each of several columns; the leaf that is left."""
        if len(columns) == 1:
            return leaf  # a line of its own adds nothing where its number is missing
        for column in columns.tolist():
            present, absent = len(self.feature), len(self.feature) + 1
            for weight, count in ((self._weight[leaf], self._count[leaf]), (0.0, 0)):
                self.feature.append(-1)
                self.value.append(self.value[leaf])
                self._threshold.append(0.0)
                self._missing_left.append(False)
                self._left.append(-1)
                self._right.append(-1)
                self._weight.append(weight)
                self._count.append(count)
            self.feature[leaf], self._threshold[leaf] = column, _LARGEST
            self._left[leaf], self._right[leaf] = present, absent
            leaf = present
        return leaf

    def trees(self) -> LinkedTrees:
        old = self._trees
        return LinkedTrees(
            root=old.root,
            feature=np.array(self.feature, dtype=np.intp),
            threshold=np.array(self._threshold),
            left=np.array(self._left, dtype=np.intp),
            right=np.array(self._right, dtype=np.intp),
            missing_left=np.array(self._missing_left, dtype=bool),
            value=np.array(self.value),
            gain=np.append(old.gain, np.zeros(len(self.feature) - len(old.gain))),
            weight=np.array(self._weight),
            count=np.array(self._count, dtype=np.int64),
            codes=old.codes,
        )
