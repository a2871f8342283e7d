"""Trees of a random forest, each grown on a draw of the rows, all of them on one binned table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned, Bins
from committee.data.number_types import F64, Index
from committee.data.rows import Rows, TargetRows
from committee.learners.bagging.subsamples import draw_weights, subsample_size
from committee.voters.forest import Forest
from committee.voters.growing import (
    DeepCriterion,
    GrowthLimits,
    class_votes,
    deep_tree_grower,
    forest_from_grown,
    leaf_values,
    tree_grower,
)

if TYPE_CHECKING:
    from committee._core import GrownTree
    from committee.learners.base.fit_record import Codec

I32: TypeAlias = NDArray[np.int32]
R = TypeVar("R", Rows, TargetRows)


@dataclass(frozen=True)
class RowDraw:
    """Draw of a tree's rows: `size` of `n` rows, or of `n` groups of rows, with or without replacement.

    `group` ``(rows,)`` is the number of each row's group, None if rows are drawn.
    """

    n: int
    size: int
    bootstrap: bool
    group: Index | None = None

    @classmethod
    def of(cls, n: int, max_samples: float | int | None, bootstrap: bool, group: Index | None = None) -> RowDraw:
        if group is not None:
            n = int(group.max()) + 1
        if max_samples is None:
            return cls(n, n, bootstrap, group)
        drawn = "rows" if group is None else "groups"
        return cls(n, subsample_size(n, 1, max_samples, bootstrap, drawn), bootstrap, group)

    @property
    def leaves_out(self) -> bool:
        return self.bootstrap or self.size < self.n

    def times(self, seed: int) -> NDArray[np.int64]:
        if not self.leaves_out:
            return np.ones(self.n if self.group is None else len(self.group), dtype=np.int64)
        random = np.random.RandomState(seed)
        drawn = random.randint(self.n, size=self.size) if self.bootstrap else random.permutation(self.n)[: self.size]
        times = np.bincount(drawn, minlength=self.n)
        return times if self.group is None else times[self.group]

    def left_out(self, seed: int) -> I32:
        return rows_where(self.times(seed) == 0)


@dataclass(frozen=True, eq=False)
class DrawnTree:
    """A tree, its out-of-bag rows and their leaves; both arrays are empty if no out-of-bag votes are needed."""

    forest: Forest
    left_out: I32
    leaves: I32

    def add_to(self, tally: F64) -> None:
        if self.forest.value is not None:
            tally[self.left_out] += self.forest.value[self.leaves]
        elif self.forest.shares is not None:
            self.forest.shares.take(self.leaves).add_to(tally, self.left_out)
        else:
            assert self.forest.label is not None
            tally[self.left_out, self.forest.label[self.leaves]] += 1.0


def drawn_tree_codec(n_rows: int, n_features: int, n_classes: int) -> Codec[DrawnTree]:
    from committee.learners.base.fit_record import Codec, voters_from_arrays, voters_to_arrays

    def decode(*parts: NDArray[Any]) -> DrawnTree:
        *voters, left_out, leaves = parts
        forest = voters_from_arrays(Forest, voters, n_features, n_classes)
        n_nodes = len(forest.feature)
        if left_out.shape != leaves.shape or not (_are_below(leaves, n_nodes) and _are_below(left_out, n_rows)):
            raise ValueError(
                f"out-of-bag rows of a tree must be int32 below {n_rows}, each with a leaf, an int32 below {n_nodes}"
            )
        return DrawnTree(forest, left_out, leaves)

    return Codec(lambda tree: [*voters_to_arrays(tree.forest), tree.left_out, tree.leaves], decode)


def _are_below(numbers: NDArray[Any], n: int) -> bool:
    if numbers.dtype != np.int32:
        return False
    return not numbers.size or bool(numbers.min() >= 0 and numbers.max() < n)


@dataclass(eq=False)
class ForestTrees(ABC, Generic[R]):
    """Grower of the tree of each seed, which any number of threads may call at the same time.

    A row that is drawn k times has k times its weight. The preparation uses `n_threads`, the growth of a tree one.
    With `has_earlier` the first seeds have trees of an earlier fit, whose out-of-bag votes need cells, not bin codes.
    """

    rows: R
    binned: Binned
    draw: RowDraw
    criterion: DeepCriterion
    n_classes: int
    limits: GrowthLimits
    _: KW_ONLY
    out_of_bag: bool
    n_threads: InitVar[int]
    has_earlier: bool = False

    def __post_init__(self, n_threads: int) -> None:
        self.deep = self._deep_grower(n_threads)

    def __getstate__(self) -> dict[str, Any]:
        # without what other processes make again, and values of cells where codes suffice
        state = self.__dict__ | {"deep": None}
        if isinstance(self.binned.codes, _core.SparseCodes):
            state["binned"] = self.binned.bins
        elif not self.has_earlier:
            state["rows"] = self.rows.without_cells()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self.binned, Bins):
            self.binned = Binned(self.binned, self.binned.encode(self.rows.X))
        self.deep = self._deep_grower(1)

    def __call__(self, seed: int, earlier: Forest | None = None) -> DrawnTree:
        times = self.draw.times(seed)
        drawn = rows_where(times > 0)
        if earlier is not None:
            return self._earlier_tree(earlier, times) if self.out_of_bag else DrawnTree(earlier, drawn[:0], drawn[:0])
        tree, voter = self._grow(self._weights(times) * times, drawn, seed)
        if not self.out_of_bag:
            return DrawnTree(voter, drawn[:0], drawn[:0])
        left_out = rows_where(times == 0)
        leaves = _core.walk_codes(self.binned.codes, self.binned.bins.n_bins, tree, left_out)
        return DrawnTree(voter, left_out, leaves)

    def _earlier_tree(self, tree: Forest, times: NDArray[np.int64]) -> DrawnTree:
        leaf = tree.apply(self.rows.cells)[:, 0]
        leaves = tree.feature < 0
        if not np.array_equal(np.bincount(leaf[times > 0], minlength=len(leaves))[leaves], tree.count[leaves]):
            raise ValueError(
                "warm_start continues trees that drew other rows than this fit would, so that their out-of-bag rows "
                "are unknown. Give the rows, groups, random_state, bootstrap, max_samples and reserve of the last fit, "
                "ask for no out-of-bag votes (oob_score=False, a number as n_estimators, for classes reserve=0 and "
                "calibrate=None), or set warm_start=False."
            )
        left_out = rows_where(times == 0)
        return DrawnTree(tree, left_out, leaf[left_out])

    @property
    def grower(self) -> _core.DeepGrower | _core.Grower:
        if self.deep is not None:
            return self.deep
        # best-first growth keeps histograms, which trees cannot share
        return tree_grower(self.binned, self.criterion, self.n_classes, self.limits, 1)

    def _deep_grower(self, n_threads: int) -> _core.DeepGrower | None:
        if self.limits.max_leaf_nodes:
            return None
        return deep_tree_grower(self.binned, self.criterion, self.n_classes, self.limits, n_threads)

    def _weights(self, times: NDArray[np.int64]) -> F64:
        return self.rows.weights

    @abstractmethod
    def _grow(self, weights: F64, drawn: I32, seed: int) -> tuple[GrownTree, Forest]: ...


@dataclass(eq=False)
class ClassTrees(ForestTrees[Rows]):
    _: KW_ONLY
    hard: bool
    class_weight: Any

    def _weights(self, times: NDArray[np.int64]) -> F64:
        return draw_weights(self.rows, self.n_classes, self.class_weight, times)

    def _grow(self, weights: F64, drawn: I32, seed: int) -> tuple[GrownTree, Forest]:
        tree = self.grower.grow_classes(self.rows.labels, weights, drawn, seed)
        votes = class_votes(tree, hard=self.hard)
        return tree, forest_from_grown([tree], self.binned.bins, self.n_classes, **votes)


@dataclass(eq=False)
class TargetTrees(ForestTrees[TargetRows]):
    def __post_init__(self, n_threads: int) -> None:
        super().__post_init__(n_threads)
        self.target: F64 = self.rows.comparable

    def _grow(self, weights: F64, drawn: I32, seed: int) -> tuple[GrownTree, Forest]:
        tree = self.grower.grow_targets(self.target, weights, drawn, seed)
        # the kernel's sums have fixed precision; the values of leaves are computed again at full precision
        leaf, n_nodes = tree.leaf_of_row[drawn], len(tree.feature)
        values = leaf_values(self.criterion, leaf, n_nodes, weights[drawn], self.rows.target[drawn])
        q = self.rows.n_targets
        voter = forest_from_grown([tree], self.binned.bins, q, value=[values], weight=[tree.sums[:, 0]])
        return tree, voter


def rows_where(mask: NDArray[np.bool_]) -> I32:
    return np.flatnonzero(mask).astype(np.int32)
