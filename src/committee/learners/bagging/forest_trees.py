"""Trees of a random forest as they are grown, their out-of-bag error, and reserves of rows that no tree is grown on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee._core import GrownTree
from committee.data.bins import Binned, Bins
from committee.data.matrices import Matrix, SparseMatrix
from committee.data.number_types import F64, Mask
from committee.data.rows import Rows, TargetRows
from committee.data.table_schema import TableSchema
from committee.learners.bagging.subsamples import I32, RowDraw, draw_weights, rows_where
from committee.learners.base.fit_record import Codec, voters_from_arrays, voters_to_arrays
from committee.learners.base.predictors import BaseClassifier
from committee.vote.committee import Committee
from committee.vote.weighted_votes import elected
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

R = TypeVar("R", Rows, TargetRows)


@dataclass(frozen=True, eq=False)
class DrawnTree:
    """A tree, its out-of-bag rows ``(m,)``, and the nodes of their leaves."""

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
    """Grower of one tree per call, from a seed; several threads may call it at the same time."""

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


Rule: TypeAlias = Literal["one_standard_error", "minimum"]

BATCH = 25  # trees between two checks of early stopping
MIN_WITH_VOTE = 0.99  # least share of the rows with an out-of-bag vote at a number of trees that may be chosen


# --- the curve of a forest --------------------------------------------------------------------------------------------


class OobCurve(ABC):
    """Sums ``(n, width)`` of the out-of-bag votes of a growing forest, and the error after each tree."""

    def __init__(self, weights: F64, width: int, has_curve: bool) -> None:
        self.weights = weights
        self.tally: F64 = np.zeros((len(weights), width))
        self.n_votes = np.zeros(len(weights), dtype=np.int64)
        self.loss: F64 = np.zeros(len(weights))
        self.has_curve = has_curve
        self.curve: list[float] = []

    def add(self, tree: DrawnTree) -> None:
        rows = tree.left_out
        tree.add_to(self.tally)
        self.n_votes[rows] += 1
        if not self.has_curve:
            return
        self.loss[rows] = self._loss(rows, self.tally[rows] / self.n_votes[rows, None])
        voted = float(self.weights[self.n_votes > 0].sum())
        self.curve.append(float((self.weights * self.loss).sum()) / voted if voted > 0 else float("nan"))

    @property
    def has_vote(self) -> Mask:
        return self.n_votes > 0

    @property
    def mean_vote(self) -> F64:
        mean = np.full_like(self.tally, np.nan)
        np.divide(self.tally, self.n_votes[:, None], out=mean, where=self.has_vote[:, None])
        return mean

    def afresh(self) -> Self:
        again = copy(self)
        OobCurve.__init__(again, self.weights, self.tally.shape[1], self.has_curve)
        return again

    @abstractmethod
    def _loss(self, rows: NDArray[np.int32], mean: F64) -> F64: ...


class ClassOobCurve(OobCurve):
    def __init__(self, labels: NDArray[np.uint16], weights: F64, n_classes: int, *, has_curve: bool) -> None:
        super().__init__(weights, n_classes, has_curve)
        self.labels = labels

    def _loss(self, rows: NDArray[np.int32], mean: F64) -> F64:
        wrong: F64 = (elected(mean) != self.labels[rows]).astype(np.float64)
        return wrong


class TargetOobCurve(OobCurve):
    def __init__(self, target: F64, weights: F64, scale: F64) -> None:
        super().__init__(weights, len(scale), has_curve=True)
        self.target = target.reshape(len(target), -1)
        self.scale: F64 = scale

    def _loss(self, rows: NDArray[np.int32], mean: F64) -> F64:
        losses: F64 = (((self.target[rows] - mean) / self.scale) ** 2).sum(axis=1)
        return losses


def mean_and_error(d: F64, weights: F64) -> tuple[float, float]:
    """Weighted mean m of differences d, and its standard error sqrt(sum w^2 (d - m)^2) / sum w."""
    total = float(weights.sum())
    if total <= 0:
        return 0.0, 0.0
    mean = float((weights * d).sum()) / total
    apart = weights * (d - mean)
    exponent = int(np.frexp(np.abs(apart).max())[1])  # squares of large differences are more than float64 holds
    return mean, float(np.ldexp(np.sqrt((np.ldexp(apart, -exponent) ** 2).sum()), exponent)) / total


class GrowingForest:
    """Trees as they are grown, and the choice of their number by the out-of-bag error.

    Equation: oob-curve (docs/theory.md).
    """

    def __init__(self, oob: OobCurve | None, rule: Rule | None) -> None:
        self.rule = rule
        self.oob: OobCurve | None = oob
        self._leaves: list[NDArray[np.int32]] = []  # of each tree's out-of-bag rows, to count them again
        self._before: tuple[F64, Mask] | None = None  # losses a batch ago, and the rows with a vote then
        self._idle = 0
        self._first = 0
        self._lowest, self._at_lowest, self._loss_at_lowest = np.inf, 0, np.zeros(0)

    def trees(self, grown: Iterable[DrawnTree]) -> Iterator[Forest]:
        for tree in grown:
            if self.oob is not None:
                self.oob.add(tree)
            flat = False
            if self.oob is not None and self.rule is not None:
                self._leaves.append(tree.leaves)
                flat = self._is_flat(self.oob)
            yield tree.forest
            if flat:
                return

    def _is_flat(self, oob: OobCurve) -> bool:
        if not self._first and oob.has_vote.mean() >= MIN_WITH_VOTE:
            self._first = len(oob.curve)
        if self._first and oob.curve[-1] < self._lowest:
            self._lowest, self._at_lowest, self._loss_at_lowest = oob.curve[-1], len(oob.curve), oob.loss.copy()
        if len(oob.curve) % BATCH:
            return False
        if self._before is not None:
            loss, voted = self._before
            gain, error = mean_and_error((loss - oob.loss)[voted], oob.weights[voted])
            self._idle = self._idle + 1 if gain <= error else 0
        self._before = oob.loss.copy(), oob.has_vote
        return self._idle >= 2

    def best(self, trees: list[Forest], left_out: Iterable[NDArray[np.int32]]) -> tuple[list[Forest], OobCurve | None]:
        """Return the trees to keep and their out-of-bag votes."""
        if self.oob is None or self.rule is None or not self._first:
            return trees, self.oob
        if self.rule == "minimum" and self._at_lowest == len(self.oob.curve):
            return trees, self.oob
        again = self.oob.afresh()
        for tree, rows, leaves in zip(trees, left_out, self._leaves, strict=False):
            again.add(DrawnTree(tree, rows, leaves))
            n_trees, voted = len(again.curve), again.has_vote
            if n_trees == self._at_lowest:
                break
            if self.rule == "one_standard_error" and n_trees >= self._first:
                worse, error = mean_and_error((again.loss - self._loss_at_lowest)[voted], again.weights[voted])
                if worse <= error:
                    break
        return trees[: len(again.curve)], again


# --- the reserve ------------------------------------------------------------------------------------------------------


def draw_reserve(n: int, share: float, random: np.random.RandomState) -> Mask:
    size = int(share * n)
    if not 0 < size < n:
        raise ValueError(f"reserve={share} is {size} of {n} rows; raise it, or set 0 for no reserve.")
    mask = np.zeros(n, dtype=bool)
    mask[random.permutation(n)[:size]] = True  # not stratified by class, as the bound is for an independent test set
    return mask


@dataclass(frozen=True, eq=False)
class Reserve:
    rows: Rows
    numbers: NDArray[np.int64]
    """``(m,)``: their indices among the user's rows, ascending."""
    others: Mask
    """``(n,)``: mask of the user's rows with weight that are not reserved."""

    @classmethod
    def draw(
        cls, model: BaseClassifier, rows: Rows, counted: Mask, random: np.random.RandomState
    ) -> tuple[Rows, Reserve]:
        """Return the other rows and the reserve, and set the model's table to that of the other rows."""
        share: float = model.reserve
        if isinstance(model.class_weight, str):
            raise ValueError(
                f"class_weight={model.class_weight!r} counts the labels of all rows, and those of reserve={share} must "
                "have no part in the fit; give the weights as a dict."
            )
        mask = draw_reserve(len(rows), share, random)
        held = np.bincount(rows.labels[~mask], minlength=len(model.classes_))
        if not held.all():
            raise ValueError(
                f"reserve={share} takes all rows of class {model.classes_.tolist()[held.argmin()]!r}, "
                "which leaves none for training; lower reserve, or drop classes with so few rows."
            )
        numbers = np.flatnonzero(counted)[mask].astype(np.int64)
        others = counted.copy()
        others[numbers] = False
        # categories that only the reserve has are unseen ones
        table, X = _narrowed(model.table_, rows.cells, ~mask)
        rows = replace(rows, X=X)
        kept, model.table_ = rows.take(~mask).with_numbers(table)
        return kept, cls(rows.take(mask).encode_levels_with(model.table_), numbers, others)

    def attributes(self, committee: Committee, oob: OobCurve | None, votes: F64 | None) -> dict[str, Any]:
        shares = committee.voters.tally(self.rows.cells) / committee.n_voters
        votes = np.full((len(self.others), shares.shape[1]), np.nan) if votes is None else votes
        votes[self.numbers] = shares
        wrong = float(self.rows.weights @ (elected(shares) != self.rows.labels))
        voted = 0.0 if oob is None else float(oob.weights[oob.has_vote].sum())
        if oob is not None and voted > 0.0:
            wrong += oob.curve[-1] * voted
        return {
            "oob_score_": 1.0 - wrong / (voted + float(self.rows.weights.sum())),
            "oob_decision_function_": votes,
            "reserved_rows_": self.numbers,
        }


def _narrowed(table: TableSchema, X: Matrix, some: Mask) -> tuple[TableSchema, Matrix]:
    # schema with the categories of some rows alone, and all rows encoded by it
    if isinstance(X, SparseMatrix):
        return table, X  # which has no categories
    categories: list[Any] = list(table.categories)
    for j in np.flatnonzero(table.categorical):
        seen = np.zeros(len(categories[j]), dtype=bool)
        codes = X[:, j]
        seen[codes[some & ~np.isnan(codes)].astype(np.intp)] = True
        if seen.all():
            continue
        categories[j] = tuple(name for name, stays in zip(categories[j], seen, strict=True) if stays)
        number = np.append(np.where(seen, np.cumsum(seen) - 1.0, np.nan), np.nan)
        X = X.copy()
        X[:, j] = number[np.where(np.isnan(codes), len(seen), codes).astype(np.intp)]
    return replace(table, categories=tuple(categories)), X
