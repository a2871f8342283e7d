"""The trees of a random forest: each grown on a draw of the rows, all of them on one binned table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.binning import Binned, Bins
from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows
from committee.learners.bagging.draws import balanced_draw
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits, class_shares, forest_of, grower, leaf_labels, leaf_means

if TYPE_CHECKING:
    from committee._core import GrownTree
    from committee.learners.base.fit_record import Form

I32: TypeAlias = NDArray[np.int32]
DeepCriterion: TypeAlias = Literal["gini", "entropy", "squared_error"]
R = TypeVar("R", Rows, TargetRows)


@dataclass(frozen=True)
class RowDraw:
    """Draw of a tree's rows: `size` of `n`, with or without replacement."""

    n: int
    size: int
    bootstrap: bool

    @classmethod
    def of(cls, n: int, max_samples: float | int | None, bootstrap: bool) -> RowDraw:
        """Return the draw that the parameters ask for.

        Raises
        ------
        ValueError
            If `max_samples` is a number larger than the rows there are, and they are not drawn with replacement.
        """
        if max_samples is None:
            return cls(n, n, bootstrap)
        size = int(max_samples) if isinstance(max_samples, Integral) else max(1, int(max_samples * n))
        if size > n and not bootstrap:
            raise ValueError(
                f"max_samples={max_samples} asks for {size} rows without replacement, but only {n} have weight; "
                "lower it."
            )
        return cls(n, size, bootstrap)

    @property
    def leaves_out(self) -> bool:
        """Whether a draw may leave rows out."""
        return self.bootstrap or self.size < self.n

    def times(self, seed: int) -> NDArray[np.int64]:
        """Count how often the tree of this seed drew each row, ``(n,)``."""
        if not self.leaves_out:
            return np.ones(self.n, dtype=np.int64)
        random = np.random.RandomState(seed)
        drawn = random.randint(self.n, size=self.size) if self.bootstrap else random.permutation(self.n)[: self.size]
        return np.bincount(drawn, minlength=self.n)

    def left_out(self, seed: int) -> I32:
        """The rows that the tree of this seed did not see, in order."""
        return rows_where(self.times(seed) == 0)


@dataclass(frozen=True, eq=False)
class DrawnTree:
    """One tree, the rows that it did not see, and their leaves; no rows where these do not vote."""

    forest: Forest
    left_out: I32
    leaves: I32

    @property
    def votes(self) -> F64:
        """Votes of the tree on the rows that it did not see."""
        if self.forest.value is not None:
            return self.forest.value[self.leaves]
        assert self.forest.label is not None
        return np.eye(self.forest.n_classes)[self.forest.label[self.leaves]]


def drawn_tree_form(n_rows: int, n_features: int, n_classes: int) -> Form[DrawnTree]:
    """Return how they become arrays of a checkpoint."""
    from committee.learners.bagging.voter_parts import parts_of, voters_of
    from committee.learners.base.fit_record import Form

    def drawn_tree(*parts: NDArray[Any]) -> DrawnTree:
        *voters, left_out, leaves = parts
        forest = voters_of(Forest, voters, n_features, n_classes)
        n_nodes = len(forest.feature)
        if left_out.shape != leaves.shape or not (_is_below(leaves, n_nodes) and _is_below(left_out, n_rows)):
            raise ValueError("the rows that a tree has not seen are in leaves that it does not have")
        return DrawnTree(forest, left_out, leaves)

    return Form(lambda tree: [*parts_of(tree.forest), tree.left_out, tree.leaves], drawn_tree)


def _is_below(numbers: NDArray[Any], n: int) -> bool:
    """Tell whether these are whole numbers from 0 to n - 1."""
    if numbers.dtype != np.int32:
        return False
    return not numbers.size or bool(numbers.min() >= 0 and numbers.max() < n)


class ForestTrees(ABC, Generic[R]):
    """Makes the tree of a seed; from any number of threads at the same time.

    A row that is drawn k times has k times its weight. `judged` trees also walk the rows that they did not see. What is
    made ready once uses `n_threads`; a tree is grown by one. `has_earlier` trees of an earlier fit may come with the
    seeds, whose votes need the values of cells.
    """

    def __init__(
        self,
        rows: R,
        binned: Binned,
        draw: RowDraw,
        criterion: DeepCriterion,
        n_classes: int,
        limits: GrowthLimits,
        *,
        judged: bool,
        n_threads: int,
    ) -> None:
        self.rows: R = rows
        self.binned = binned
        self.draw: RowDraw = draw
        self.limits: GrowthLimits = limits
        self.criterion = criterion
        self.n_classes: int = n_classes
        self.judged: bool = judged
        self.has_earlier = False
        self.deep = self._deep_grower(n_threads)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what other processes make again, and values of cells that nothing reads where there are codes."""
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
        """Draw rows, and grow the tree, unless an earlier fit has done so."""
        times = self.draw.times(seed)
        drawn = rows_where(times > 0)
        if earlier is not None:
            return self._judged_again(earlier, times) if self.judged else DrawnTree(earlier, drawn[:0], drawn[:0])
        tree, voter = self._grow(self._weights(times) * times, drawn, seed)
        if not self.judged:
            return DrawnTree(voter, drawn[:0], drawn[:0])
        left_out = rows_where(times == 0)
        leaves = _core.walk_codes(self.binned.codes, self.binned.bins.n_bins, tree, left_out)
        return DrawnTree(voter, left_out, leaves)

    def _judged_again(self, tree: Forest, times: NDArray[np.int64]) -> DrawnTree:
        """An earlier fit's tree with the leaves of the rows that it did not see, once it is known which these are."""
        leaf = tree.apply(self.rows.cells)[:, 0]
        leaves = tree.feature < 0
        if not np.array_equal(np.bincount(leaf[times > 0], minlength=len(leaves))[leaves], tree.count[leaves]):
            raise ValueError(
                "warm_start goes on from trees that were grown on other rows, or drew rows by another random_state, so "
                "that they cannot be judged out of bag. Give the same, set oob_score=False and calibrate=None, or set "
                "warm_start=False."
            )
        left_out = rows_where(times == 0)
        return DrawnTree(tree, left_out, leaf[left_out])

    @property
    def grower(self) -> _core.DeepGrower | _core.Grower:
        """Return the kernel for the next tree. Best-first growth keeps histograms, which trees cannot share."""
        if self.deep is not None:
            return self.deep
        return grower(self.binned, self.criterion, self.n_classes, self.limits, 1)

    def _deep_grower(self, n_threads: int) -> _core.DeepGrower | None:
        if self.limits.max_leaf_nodes:
            return None
        return _deep_grower(self.binned, self.criterion, self.n_classes, self.limits, n_threads)

    def _weights(self, times: NDArray[np.int64]) -> F64:
        """Weights of the rows in a draw of each of them so many times."""
        return self.rows.weights

    @abstractmethod
    def _grow(self, weights: F64, drawn: I32, seed: int) -> tuple[GrownTree, Forest]:
        """The tree as it was grown, and as it votes."""


class ClassTrees(ForestTrees[Rows]):
    """Trees whose leaves hold class shares; `hard` ones name the heaviest class."""

    def __init__(self, *settings: Any, hard: bool, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.hard = hard

    def _grow(self, weights: F64, drawn: I32, seed: int) -> tuple[GrownTree, Forest]:
        tree = self.grower.grow_classes(self.rows.labels, weights, drawn, seed)
        if self.hard:
            return tree, forest_of([tree], self.binned.bins, self.n_classes, label=[leaf_labels(tree)])
        return tree, forest_of([tree], self.binned.bins, self.n_classes, value=[class_shares(tree)])


class BalancedTrees(ClassTrees):
    """Trees in whose draws all classes weigh alike."""

    def _weights(self, times: NDArray[np.int64]) -> F64:
        return balanced_draw(self.rows.labels, self.n_classes, self.rows.weights, times)


class TargetTrees(ForestTrees[TargetRows]):
    """Trees whose leaves hold means."""

    def __init__(self, rows: TargetRows, *settings: Any, **more: Any) -> None:
        super().__init__(rows, *settings, **more)
        self.target: F64 = rows.comparable

    def _grow(self, weights: F64, drawn: I32, seed: int) -> tuple[GrownTree, Forest]:
        tree = self.grower.grow_targets(self.target, weights, drawn, seed)
        # the kernel's sums are of fixed precision; the means of leaves are taken again at full precision
        means = leaf_means(tree.leaf_of_row[drawn], len(tree.feature), weights[drawn], self.rows.target[drawn])
        q = self.rows.n_targets
        voter = forest_of([tree], self.binned.bins, q, value=[means.reshape(-1, q)], weight=[tree.sums[:, 0]])
        return tree, voter


def rows_where(mask: NDArray[np.bool_]) -> I32:
    """Numbers of the rows where the mask is set, as the kernels take them."""
    return np.flatnonzero(mask).astype(np.int32)


def _deep_grower(
    binned: Binned, criterion: DeepCriterion, n_classes: int, limits: GrowthLimits, n_threads: int
) -> _core.DeepGrower:
    return _core.DeepGrower(
        binned.codes,
        binned.bins.n_bins,
        binned.bins.categorical,
        criterion,
        n_classes,
        max_depth=limits.max_depth or 0,
        min_samples_leaf=limits.min_samples_leaf,
        min_weight_leaf=limits.min_weight_leaf,
        min_gain=limits.min_impurity_decrease,
        **limits.features_tried(binned.codes.shape[1]),
        n_threads=n_threads,
    )
