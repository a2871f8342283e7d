"""Growers whose trees are recorded: those known from an earlier attempt at the fit are not grown again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.binning import Binned
from committee.data.number_types import F64
from committee.learners.base.fit_record import FitRecord, Form

I32 = NDArray[np.int32]
U16 = NDArray[np.uint16]


class RecordedGrower:
    """As `committee._core.Grower`; rows walk down the trees that are known."""

    def __init__(self, grower: _core.Grower | RecordedGrower, binned: Binned, record: FitRecord) -> None:
        self._grower, self._binned, self._record = grower, binned, record

    def grow_classes(self, labels: U16, weights: F64, rows: I32 | None, seed: int) -> _core.GrownTree:
        """As `committee._core.Grower.grow_classes`."""
        return self._grown(self._grower.grow_classes, labels, weights, rows, seed)

    def grow_targets(self, targets: F64, weights: F64, rows: I32 | None, seed: int) -> _core.GrownTree:
        """As `committee._core.Grower.grow_targets`."""
        return self._grown(self._grower.grow_targets, targets, weights, rows, seed)

    def _grown(
        self, grow: Callable[..., _core.GrownTree], y: U16 | F64, weights: F64, rows: I32 | None, seed: int
    ) -> _core.GrownTree:
        given = (y, weights, rows, seed)
        form = Form(_core.GrownTree.nodes, lambda *nodes: self._known(nodes, rows))
        return self._record.result("tree", given, lambda: grow(*given), form)

    def _known(self, nodes: tuple[Any, ...], rows: I32 | None) -> _core.GrownTree:
        leaf = leaf_of_rows(self._binned, _core.TreeNodes(cast("_core.Nodes", nodes)), rows)
        return _core.GrownTree(cast("_core.Nodes", nodes), leaf)


class RecordedGradientGrower:
    """As `committee._core.GradientGrower`; rows walk down the trees that are known."""

    def __init__(
        self, grower: _core.GradientGrower | RecordedGradientGrower, binned: Binned, record: FitRecord
    ) -> None:
        self._grower, self._binned, self._record = grower, binned, record
        self._leaf: I32 | None = None

    def grow(
        self,
        gradient: F64,
        hessian: F64,
        rows: I32 | None,
        features: I32 | None,
        seed: int,
        score: int = 0,
        weights: F64 | None = None,
    ) -> _core.GradientTree:
        """As `committee._core.GradientGrower.grow`."""
        self._leaf = None
        return self._record.result(
            "tree",
            (gradient, hessian, rows, features, seed),
            lambda: self._grower.grow(gradient, hessian, rows, features, seed, score, weights),
            Form(parts_of_tree, self._known),
        )

    @property
    def n_outputs(self) -> int:
        """As `committee._core.GradientGrower.n_outputs`."""
        return self._grower.n_outputs

    @property
    def leaf_of_row(self) -> I32:
        """As `committee._core.GradientGrower.leaf_of_row`."""
        return self._grower.leaf_of_row if self._leaf is None else self._leaf

    def _known(self, *parts: Any) -> _core.GradientTree:
        tree = tree_of_parts(*parts)
        self._leaf = leaf_of_rows(self._binned, tree, None)
        return tree


def parts_of_tree(tree: _core.GradientTree) -> tuple[NDArray[Any], ...]:
    """Return the arrays of a tree; that of weights is empty where rows have none."""
    return (*tree.nodes(), tree.value, tree.bounds, np.empty(0) if tree.weight is None else tree.weight)


def tree_of_parts(*parts: Any) -> _core.GradientTree:
    """Rebuild a tree from its arrays."""
    *nodes, value, bounds, weight = parts
    return _core.GradientTree(cast("_core.Nodes", tuple(nodes)), value, bounds, weight if len(weight) else None)


def leaf_of_rows(binned: Binned, tree: _core.TreeNodes, rows: I32 | None) -> I32:
    """Leaf of every row in `rows` (None: all) on the binned table, ``(n,)``; -1 elsewhere."""
    n = len(binned.codes)
    seen = np.arange(n, dtype=np.int32) if rows is None else rows
    leaves = _core.walk_codes(binned.codes, binned.bins.n_bins, tree, seen)
    if rows is None:
        return leaves
    leaf = np.full(n, -1, dtype=np.int32)
    leaf[seen] = leaves
    return leaf
