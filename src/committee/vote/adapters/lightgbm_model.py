"""Read LightGBM models from text, without importing the library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import Category, unpack_category_bits
from committee.data.number_types import F64, Index
from committee.data.table_schema import TableSchema
from committee.vote.adapters.boosted_model import BoostedModel, LinkedTrees, NodeLists, check_objective
from committee.vote.links.mean import Identity, Log, MeanLink
from committee.voters.flat_trees import extents
from committee.voters.rounds import LeafLines

OBJECTIVES = ("binary", "multiclass", "multiclassova")
NUMBERS: dict[str, MeanLink] = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), Identity()),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), Log()),
}
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_NONE, _MISSING_ZERO = 0, 1
"""Bits of a split's type, and values of its missing type."""
LINE_LIMIT = 1e100
"""Ends of a line's range, which is unbounded in LightGBM."""
_LARGEST = float(np.finfo(np.float64).max)
ZERO = float(np.float32(1e-35))
"""Largest magnitude that LightGBM treats as zero."""
MAX_GROWTH = 100
"""Largest ratio of the nodes of a new tree to the mean number of the old trees."""
_ABSENT, _NEGATIVE, _POSITIVE = range(3)
"""Range of a column below a split: zero or missing, below zero, or above."""
_BELOW = float(np.nextafter(-ZERO, -np.inf))


@dataclass(frozen=True)
class _Child:
    side: int
    known: int | None


@dataclass(frozen=True)
class _Split:
    limit: float
    missing_left: bool
    left: _Split | _Child
    right: _Split | _Child


def split_off_zeros(trees: LinkedTrees, zero_is_missing: NDArray[np.bool_]) -> LinkedTrees:
    """Replace splits that treat zeros as missing by splits where only NaN is missing."""
    grown = _ZeroSplitter(trees, zero_is_missing.tolist())
    roots = [grown.tree(int(root)) for root in trees.root]
    of, sides = np.array(grown.of), np.array(grown.sides)
    return LinkedTrees(
        root=np.array(roots),
        feature=trees.feature[of],
        threshold=np.array(grown.limit),
        left=sides[:, 0],
        right=sides[:, 1],
        missing_left=np.array(grown.missing_left),
        value=trees.value[of],
        gain=np.where(grown.first, trees.gain[of], 0.0),
        weight=np.zeros(len(of)),
        count=np.zeros(len(of), dtype=np.int64),
        codes={new: trees.codes[node] for new, node in enumerate(grown.of) if node in trees.codes},
    )


def _zero_splits(limit: float, missing_left: bool, known: int | None) -> _Split | _Child:
    if known == _ABSENT:
        return _Child(0 if missing_left else 1, known)
    if known is not None:
        if (limit >= _BELOW) if known == _NEGATIVE else (limit <= ZERO):  # all on one side of the limit
            return _Child(0 if known == _NEGATIVE else 1, known)
        return _Split(limit, False, _Child(0, known), _Child(1, known))
    if (limit >= ZERO) if missing_left else (limit < -ZERO):
        return _Split(limit, missing_left, _Child(0, None), _Child(1, None))
    if missing_left:
        low: _Split | _Child = _Child(0, None)
        if limit < -ZERO:
            low = _Split(
                _BELOW, False, _Split(limit, False, _Child(0, _NEGATIVE), _Child(1, _NEGATIVE)), _Child(0, _ABSENT)
            )
        return _Split(ZERO, True, low, _Child(1, _POSITIVE))
    high: _Split | _Child = _Child(1, None)
    if limit > ZERO:
        high = _Split(ZERO, True, _Child(1, _ABSENT), _Split(limit, False, _Child(0, _POSITIVE), _Child(1, _POSITIVE)))
    return _Split(_BELOW, False, _Child(0, _NEGATIVE), high)


class _ZeroSplitter:
    def __init__(self, trees: LinkedTrees, zero_is_missing: list[bool]) -> None:
        self._feature, self._threshold = trees.feature.tolist(), trees.threshold.tolist()
        self._zero_is_missing = zero_is_missing
        self._children = np.column_stack([trees.left, trees.right]).tolist()
        self._missing_left = trees.missing_left.tolist()
        self._most = MAX_GROWTH * (len(self._feature) // len(trees.root) + 1)
        self.of: list[int] = []
        """Old node of each new node."""
        self.first: list[bool] = []
        """True for the first of the new nodes in place of an old one."""
        self.limit: list[float] = []
        self.missing_left: list[bool] = []
        self.sides: list[list[int]] = []

    def tree(self, root: int) -> int:
        start, top = len(self.of), [-1]
        waiting: list[tuple[int, dict[int, int], _Split | None, list[int], int]] = [(root, {}, None, top, 0)]
        while waiting:
            node, known, split, parent, side = waiting.pop()
            first = split is None
            if split is None:
                node, split = self._next(node, known)
            parent[side] = len(self.of)
            own = [-1, -1]
            self.of.append(node)
            self.first.append(first)
            self.sides.append(own)
            self.limit.append(self._threshold[node] if split is None else split.limit)
            self.missing_left.append(self._missing_left[node] if split is None else split.missing_left)
            if self._feature[node] >= 0:
                ways = (_Child(0, None), _Child(1, None)) if split is None else (split.left, split.right)
                for side, way in enumerate(ways):
                    if isinstance(way, _Split):
                        waiting.append((node, known, way, own, side))
                        continue
                    now = known if way.known is None else {**known, self._feature[node]: way.known}
                    waiting.append((self._children[node][way.side], now, None, own, side))
            if len(self.of) - start > self._most:
                raise ValueError(
                    "estimator has zero_as_missing=True; if only NaN were missing, an equal tree would have more than "
                    f"{MAX_GROWTH} times the mean number of nodes. Train with NaN for missing values, and "
                    "zero_as_missing=False."
                )
        return top[0]

    def _next(self, node: int, known: dict[int, int]) -> tuple[int, _Split | None]:
        while self._zero_is_missing[node]:
            split = _zero_splits(self._threshold[node], self._missing_left[node], known.get(self._feature[node]))
            if isinstance(split, _Split):
                return node, split
            node = self._children[node][split.side]
        return node, None


@dataclass(frozen=True, eq=False)
class LeafModel:
    constant: float
    column: Index
    slope: F64


def add_leaf_lines(
    trees: LinkedTrees, models: dict[int, LeafModel], middle: F64, width: F64
) -> tuple[LinkedTrees, LeafLines]:
    """Convert linear models of leaves to lines, and return the extended trees and the lines of their nodes.

    `middle` and `width` ``(p,)`` are those of the columns' training ranges.
    """
    nodes = NodeLists()
    for name in ("root", "feature", "threshold", "left", "right", "missing_left", "value", "weight", "count"):
        setattr(nodes, name, getattr(trees, name).tolist())
    of_node: dict[int, tuple[LeafModel, F64]] = {}
    for leaf, model in models.items():
        model = replace(model, column=model.column[model.slope != 0.0], slope=model.slope[model.slope != 0.0])
        if not len(model.column):
            nodes.value[leaf] = model.constant
            continue
        slope, centre = model.slope, middle[model.column]
        pull = slope * np.where(width[model.column] > 0.0, width[model.column], 1.0) ** 2
        left_over = nodes.value[leaf] - model.constant
        # centres near the middle that express the constant
        centre = np.asarray(centre + pull * ((left_over - slope @ centre) / (slope @ pull)))
        # LightGBM uses the leaf value if any value is missing; a single line adds 0 where its own is missing
        for column in model.column.tolist() if len(model.column) > 1 else ():
            present = nodes.append(nodes.value[leaf], nodes.weight[leaf], nodes.count[leaf])
            absent = nodes.append(nodes.value[leaf])
            nodes.split(leaf, column, _LARGEST, present, absent, missing_left=False)
            leaf = present
        of_node[leaf] = (model, centre)
    N = len(nodes.feature)
    gain = np.append(trees.gain, np.zeros(N - len(trees.gain)))
    linked = nodes.linked(np.array(nodes.threshold), np.array(nodes.value), gain, trees.codes)
    return linked, _lines(of_node, N)


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
        low=np.full(len(column), -LINE_LIMIT),
        high=np.full(len(column), LINE_LIMIT),
    )


def lightgbm_model(text: str, *, keep_names: bool = False) -> BoostedModel:
    """Read a classifier or regressor from ``booster.model_to_string()``."""
    parts = text.split("\nTree=")
    header = _entries(parts[0].splitlines())
    objective, options = _objective(header)
    last, _, rest = parts[-1].partition("\nend of trees")
    trees = [_Tree(_entries(part.splitlines())) for part in [*parts[1:-1], last]] if len(parts) > 1 else []
    if not trees:
        raise ValueError("estimator has no trees; train it for at least one round.")
    columns = _Columns.of(header, rest, keep_names)
    n_scores = int(header["num_tree_per_iteration"])
    averaged = "average_output" in header
    intercept = np.zeros(n_scores)
    if not averaged:  # starting scores are in the leaves of the first trees
        intercept[: len(trees)] = [tree.without_start() for tree in trees[:n_scores]]
    linked, lines = _linked(trees, columns), None
    if any(tree.is_linear for tree in trees):
        pairs = zip(linked.root.tolist(), trees, strict=True)
        models = {first + leaf: model for first, tree in pairs for leaf, model in tree.leaf_models()}
        infos = header["feature_infos"].split(" ")
        ends = np.array([info[1:-1].split(":") if info[0] == "[" else [0.0, 0.0] for info in infos], dtype=np.float64)
        ends = np.clip(ends, -LINE_LIMIT, LINE_LIMIT)  # a column may have infinite ones
        linked, lines = add_leaf_lines(linked, models, ends.mean(axis=1), np.ptp(ends, axis=1))
    return BoostedModel(
        linked,
        np.arange(len(trees)) % n_scores,
        intercept,
        columns.table,
        lines=lines,
        one_vs_rest=objective == "multiclassova",
        sigmoid=float(options.get("sigmoid", 1.0)),
        averaged=averaged,
        number_link=NUMBERS.get(objective),
    )


def _entries(lines: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def _objective(header: dict[str, str]) -> tuple[str, dict[str, str]]:
    if not header.get("objective"):
        raise ValueError(
            "estimator was trained with a user-defined objective, whose link from scores to probabilities or numbers "
            f"is not in the model; use one of {', '.join((*OBJECTIVES, *NUMBERS))}."
        )
    name, *options = header["objective"].split()
    check_objective("objective", name, OBJECTIVES, NUMBERS)
    if "sqrt" in options:
        raise ValueError("estimator has reg_sqrt=True, whose predictions are squares of the scores; set it to False.")
    return name, dict(option.split(":") for option in options if ":" in option)


@dataclass(frozen=True)
class _Columns:
    table: TableSchema
    numbers: dict[int, NDArray[np.int64]]  # for columns of bare codes, LightGBM's code of each of the table's codes

    @classmethod
    def of(cls, header: dict[str, str], rest: str, keep_names: bool) -> _Columns:
        names, infos = header["feature_names"].split(" "), header["feature_infos"].split(" ")
        coded = {j: np.array(info.split(":"), np.int64) for j, info in enumerate(infos) if info[0] not in "[n"}
        seen = {j: np.unique(codes[codes >= 0]) for j, codes in coded.items()}  # not "[low:high]" nor "none"
        categories: list[tuple[Category, ...] | None] = [None] * len(infos)
        line = next((line for line in rest.splitlines() if line.startswith("pandas_categorical:")), ":null")
        declared: list[list[Category]] = json.loads(line.partition(":")[2]) or []
        if declared:
            for j, found in zip(_declared_columns(rest, len(declared), seen), declared, strict=True):
                if j in seen and seen[j].max(initial=-1) >= len(found):
                    raise ValueError(
                        f"estimator has column {names[j]!r} among categorical_feature, and other columns as the "
                        "frame's own categories; declare all of them in the frame."
                    )
                categories[j] = tuple(found)
            seen = {}
        for j, codes in seen.items():
            categories[j] = tuple(codes.tolist())
        # an underscore may have been a space, and columns of an array are named Column_0, Column_1, ...
        unsure = any("_" in name for name in names) and not keep_names
        unsure = unsure or names == [f"Column_{j}" for j in range(len(names))]
        table = TableSchema(None if unsure else tuple(names), tuple(categories), rounding="trunc" if seen else None)
        return cls(table, seen)

    def codes(self, column: int, named: NDArray[np.int64]) -> Index:
        own = self.numbers.get(column, np.arange(self.table.n_categories[column]))
        return np.flatnonzero(np.isin(own, named))


def _declared_columns(rest: str, n_declared: int, seen: dict[int, Any]) -> list[int]:
    line = next(
        (line for line in rest.splitlines() if line.startswith("[categorical_feature: ")), "[categorical_feature: ]"
    )
    columns = [int(number) for number in line[len("[categorical_feature: ") : -1].split(",") if number]
    if len(columns) != n_declared or not set(seen) <= set(columns):
        raise ValueError(
            f"estimator was trained on a frame with {n_declared} categorical columns, of which {len(columns)} are its "
            "categorical_feature; the model does not record which. Leave categorical_feature at 'auto', and give "
            "ordered categories as numbers."
        )
    return sorted(columns)


class _Tree:
    def __init__(self, entries: dict[str, str]) -> None:
        self._entries = entries
        self.is_linear = entries.get("is_linear", "0") != "0"
        self._start = 0.0
        n = self.n_inner = int(entries["num_leaves"]) - 1
        leaf = np.full(n + 1, -1)
        kind = self._array("decision_type", np.int64)
        self.categorical = np.append((kind & _CATEGORICAL) > 0, leaf > 0)
        self.missing = np.append(kind >> 2 & 3, leaf)
        self.default_left = np.append((kind & _DEFAULT_LEFT) > 0, leaf > 0)
        self.feature = np.append(self._array("split_feature", np.intp), leaf)
        self.threshold = np.append(self._array("threshold", np.float64), np.zeros(n + 1))
        self.left, self.right = (
            np.append(np.where(child < 0, n + ~child, child), leaf)
            for child in (self._array(f"{side}_child", np.intp) for side in ("left", "right"))
        )
        self.gain = np.append(self._array("split_gain", np.float64), np.zeros(n + 1))
        self.count = np.append(self._array("internal_count", np.int64), self._array("leaf_count", np.int64))
        self.value = np.append(np.zeros(n), self._array("leaf_value", np.float64))

    def _array(self, name: str, dtype: type[np.generic]) -> NDArray[Any]:
        return np.array(self._entries[name].split(), dtype=dtype)

    def without_start(self) -> float:
        if self._entries["shrinkage"] != "1":
            return 0.0  # nothing was added to it
        weight = self._array("leaf_weight", np.float64)
        leaves = self.value[self.n_inner :]
        start = float(weight @ leaves / weight.sum()) if weight.any() else float(leaves[0])
        leaves -= start
        self._start = start
        return start

    def leaf_models(self) -> Iterator[tuple[int, LeafModel]]:
        if not self.is_linear:
            return
        bounds = extents(self._array("num_features", np.intp))
        columns, slopes = self._array("leaf_features", np.intp), self._array("leaf_coeff", np.float64)
        for leaf, constant in enumerate((self._array("leaf_const", np.float64) - self._start).tolist()):
            terms = slice(int(bounds[leaf]), int(bounds[leaf + 1]))
            yield self.n_inner + leaf, LeafModel(constant, columns[terms], slopes[terms])

    def named(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        if not self.categorical.any():
            return
        bounds, words = self._array("cat_boundaries", np.intp), self._array("cat_threshold", np.uint32)
        for node in np.flatnonzero(self.categorical).tolist():
            place = int(self.threshold[node])
            yield node, unpack_category_bits(words[bounds[place] : bounds[place + 1]])


def _linked(trees: list[_Tree], columns: _Columns) -> LinkedTrees:
    sizes = [len(tree.feature) for tree in trees]
    root = extents(sizes)[:-1].astype(np.intp)
    start = np.repeat(root, sizes)
    codes = {
        first + node: columns.codes(int(tree.feature[node]), named)
        for first, tree in zip(root.tolist(), trees, strict=True)
        for node, named in tree.named()
    }

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    feature, threshold, count = joined("feature"), joined("threshold"), joined("count")
    split, missing = feature >= 0, joined("missing")
    # where nothing counts as missing, LightGBM replaces NaN by zero, which goes by the threshold
    missing_left = np.where(missing == _MISSING_NONE, threshold >= 0.0, joined("default_left"))
    weight = count.astype(np.float64)
    weight[root[np.array(sizes) == 1]] = 1.0  # of a tree that is a leaf, not every version counts the rows
    linked = LinkedTrees(
        root=root,
        feature=feature,
        threshold=threshold,
        left=np.where(split, joined("left") + start, -1),
        right=np.where(split, joined("right") + start, -1),
        missing_left=missing_left & split & ~joined("categorical"),
        value=joined("value"),
        gain=joined("gain"),
        weight=weight,
        count=count,
        codes=codes,
    )
    zero_is_missing = (missing == _MISSING_ZERO) & ~joined("categorical")
    agrees = np.where(missing_left, threshold >= ZERO, threshold < -ZERO)
    return linked if agrees[zero_is_missing].all() else split_off_zeros(linked, zero_is_missing)
