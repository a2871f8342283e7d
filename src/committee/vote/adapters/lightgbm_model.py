"""Models of LightGBM, read from the text that it writes of itself; the library is not imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import Category, unpack_category_bits
from committee.data.frames import TableSchema
from committee.data.number_types import F64, Index
from committee.vote.adapters.boosted_model import BoostedModel
from committee.vote.adapters.lightgbm_lines import FURTHEST, LeafModel, with_lines
from committee.vote.adapters.linked_trees import LinkedTrees
from committee.vote.adapters.zero_as_missing import ZERO, part_zeros
from committee.vote.links.mean import Identity, Log, MeanLink
from committee.voters.flat_trees import extents

OBJECTIVES = ("binary", "multiclass", "multiclassova")
"""Objectives of classes."""

NUMBERS: dict[str, MeanLink] = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), Identity()),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), Log()),
}
"""Objectives of numbers, and what makes the number of the score."""

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_NONE, _MISSING_ZERO = 0, 1
"""Bits of a split's type: by category or not, where missing values go, and what is missing."""


def lightgbm_model(text: str, *, keep_names: bool = False) -> BoostedModel:
    """Read a booster of classes or of numbers.

    A split of numbers sends NaN its default way where NaN counts as missing; where nothing does, NaN is a zero; where
    zero does, both are missing. A split of categories sends right what it does not name, and what is missing.

    LightGBM adds its starting scores to the leaves of the first trees. They are taken out again as the mean of each
    such tree over its training rows, weighted by their hessians: trees can then be re-weighted or dropped, and their
    sum is the same. (The trees of ``boosting="rf"`` are averaged, each with the whole score, and stay as they are.)

    Parameters
    ----------
    text : str
        ``booster.model_to_string()``, which after early stopping has the rounds up to the best one.
    keep_names : bool, default=False
        Whether columns have the names of the text, in which underscores may stand for spaces.

    Returns
    -------
    BoostedModel
        A column of categories that a frame declared has them; one of bare codes has those of the training rows, and a
        number that is none of them is a missing value. Unless names are kept, those with underscores are left out, and
        columns known by their place, as LightGBM does: in such names it has put underscores for spaces.

    Raises
    ------
    ValueError
        If the booster predicts something else than classes or numbers or by a loss of one's own, has
        ordered categories among the columns, or its zeros, counted as missing, need trees that are too large.

    Examples
    --------
    ``lightgbm_model(classifier.booster_.model_to_string()).voters``
    """
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
    if not averaged:
        intercept[: len(trees)] = [tree.without_start() for tree in trees[:n_scores]]
    linked, lines = _linked(trees, columns), None
    if any(tree.is_linear for tree in trees):
        linked, lines = with_lines(linked, _leaf_models(trees), *_extent(header))
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
    """``name=value`` lines; a name alone has no value."""
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def _objective(header: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Its name and its numbers."""
    if not header.get("objective"):
        raise ValueError(
            "estimator was trained with an objective of one's own, from whose scores nobody else can compute "
            f"probabilities or numbers; use one of {', '.join((*OBJECTIVES, *NUMBERS))}."
        )
    name, *options = header["objective"].split()
    if name not in (*OBJECTIVES, *NUMBERS):
        raise ValueError(
            f"estimator has objective={name!r}; committees vote for classes by one of {', '.join(OBJECTIVES)}, and for"
            f" numbers by one of {', '.join(NUMBERS)}."
        )
    if "sqrt" in options:
        raise ValueError("estimator has reg_sqrt=True, whose predictions are squares of the scores; set it to False.")
    return name, dict(option.split(":") for option in options if ":" in option)


# -- columns --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Columns:
    table: TableSchema
    numbers: dict[int, NDArray[np.int64]]
    """For columns of bare codes, what the model calls each of the table's codes."""

    @classmethod
    def of(cls, header: dict[str, str], rest: str, keep_names: bool) -> _Columns:
        names, infos = header["feature_names"].split(" "), header["feature_infos"].split(" ")
        seen = {j: _numbers(info) for j, info in enumerate(infos) if info[0] not in "[n"}  # "[low:high]", "none"
        categories: list[tuple[Category, ...] | None] = [None] * len(infos)
        declared = _declared_categories(rest)
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
        return cls(TableSchema(None if unsure else tuple(names), tuple(categories)), seen)

    def codes(self, column: int, named: NDArray[np.int64]) -> Index:
        """The table's codes of what a split names."""
        own = self.numbers.get(column, np.arange(self.table.n_categories[column]))
        return np.flatnonzero(np.isin(own, named))


def _numbers(info: str) -> NDArray[np.int64]:
    """The codes of a column's training rows, without that for missing."""
    codes = np.unique(np.array(info.split(":"), dtype=np.int64))
    return codes[codes >= 0]


def _declared_categories(rest: str) -> list[list[Category]]:
    """Categories of the columns that a frame declared categorical, in the order of these columns."""
    line = next((line for line in rest.splitlines() if line.startswith("pandas_categorical:")), ":null")
    return json.loads(line.partition(":")[2]) or []


def _declared_columns(rest: str, n_declared: int, seen: dict[int, Any]) -> list[int]:
    """Numbers of these columns: those of ``categorical_feature``, unless there are others beside them."""
    line = next(
        (line for line in rest.splitlines() if line.startswith("[categorical_feature: ")), "[categorical_feature: ]"
    )
    columns = [int(number) for number in line[len("[categorical_feature: ") : -1].split(",") if number]
    if len(columns) != n_declared or not set(seen) <= set(columns):
        raise ValueError(
            f"estimator was trained on a frame with {n_declared} categorical columns, of which {len(columns)} are its "
            "categorical_feature; which ones, it does not record. Leave categorical_feature at 'auto', and give "
            "ordered categories as numbers."
        )
    return sorted(columns)


# -- trees ----------------------------------------------------------------------------------------------------


class _Tree:
    """One tree: inner nodes first, in their own order, and then the leaves."""

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
        """Take the mean of the leaves out of them, and give it back."""
        if self._entries["shrinkage"] != "1":
            return 0.0  # nothing was added to it
        weight = self._array("leaf_weight", np.float64)
        leaves = self.value[self.n_inner :]
        start = float(weight @ leaves / weight.sum()) if weight.any() else float(leaves[0])
        leaves -= start
        self._start = start
        return start

    def leaf_models(self) -> Iterator[tuple[int, LeafModel]]:
        """Every leaf of a linear tree, and its linear model."""
        if not self.is_linear:
            return
        bounds = extents(self._array("num_features", np.intp))
        columns, slopes = self._array("leaf_features", np.intp), self._array("leaf_coeff", np.float64)
        for leaf, constant in enumerate((self._array("leaf_const", np.float64) - self._start).tolist()):
            terms = slice(int(bounds[leaf]), int(bounds[leaf + 1]))
            yield self.n_inner + leaf, LeafModel(constant, columns[terms], slopes[terms])

    def named(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Every categorical split, and the codes that go left there."""
        if not self.categorical.any():
            return
        bounds, words = self._array("cat_boundaries", np.intp), self._array("cat_threshold", np.uint32)
        for node in np.flatnonzero(self.categorical).tolist():
            place = int(self.threshold[node])
            yield node, unpack_category_bits(words[bounds[place] : bounds[place + 1]])


def _leaf_models(trees: list[_Tree]) -> dict[int, LeafModel]:
    """Linear models of leaves, by their node among those of all trees."""
    start = extents([len(tree.feature) for tree in trees])
    return {
        first + leaf: model
        for first, tree in zip(start.tolist(), trees, strict=False)
        for leaf, model in tree.leaf_models()
    }


def _extent(header: dict[str, str]) -> tuple[F64, F64]:
    """Middle and width of the values that each column had in training; 0 where there were no numbers."""
    infos = header["feature_infos"].split(" ")
    ends = np.array([info[1:-1].split(":") if info[0] == "[" else [0.0, 0.0] for info in infos], dtype=np.float64)
    ends = np.clip(ends, -FURTHEST, FURTHEST)  # a column may have infinite ones
    return ends.mean(axis=1), np.ptp(ends, axis=1)


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
    # where nothing counts as missing, NaN is a zero, which the threshold itself sends on
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
    return linked if agrees[zero_is_missing].all() else part_zeros(linked, zero_is_missing)
