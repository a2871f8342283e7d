"""Read CatBoost models from JSON, without importing the library."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import Category
from committee.data.number_types import Index
from committee.data.table_schema import TableSchema
from committee.vote.adapters.boosted_model import BoostedModel, LinkedTrees, NodeLists, check_objective
from committee.vote.adapters.sklearn_trees import float64_threshold
from committee.vote.links.mean import Identity, Log, MeanLink

OBJECTIVES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
NUMBERS: dict[str, MeanLink] = {
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "MAPE", "Huber", "LogCosh", "Expectile", "Lq"), Identity()),
    **dict.fromkeys(("Poisson", "Tweedie"), Log()),
}
_WORD = (1 << 64) - 1
_FACTOR_2, _FACTOR_3, _FACTOR_16 = 0x9AE16A3B2F90404F, 0xC949D7C7509E6557, 0x9DDFEA08EB382D69

WHOLE_NUMBERS = range(-999, 100_000)
"""Integers whose hashes are compared with those of categories."""


def category_hash(category: str) -> int:
    """Signed low half of CityHash64, by which CatBoost models identify a category."""
    text = category.encode()
    n = len(text)
    if not 0 < n <= 8:
        raise ValueError(f"category {category!r} has {n} bytes; the hash is defined for 1 to 8.")
    if n >= 4:
        first, last = (int.from_bytes(part, "little") for part in (text[:4], text[-4:]))
        mixed = _shifted(((n + (first << 3) & _WORD) ^ last) * _FACTOR_16 & _WORD)
        whole = _shifted((last ^ mixed) * _FACTOR_16 & _WORD) * _FACTOR_16
    else:
        mixed = (text[0] + (text[n >> 1] << 8)) * _FACTOR_2 ^ (n + (text[-1] << 2)) * _FACTOR_3
        whole = _shifted(mixed & _WORD) * _FACTOR_2
    return signed_32_bit(whole)


def signed_32_bit(number: int) -> int:
    low = number & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


@cache
def integers_by_hash() -> dict[int, int]:
    return {category_hash(str(number)): number for number in WHOLE_NUMBERS}


def _shifted(word: int) -> int:
    return word ^ (word >> 47)


def catboost_model(document: str | bytes) -> tuple[BoostedModel, NDArray[Any] | None]:
    """Read a model and its class labels from the JSON of ``save_model(format="json")``."""
    stored: dict[str, Any] = json.loads(document)
    info = stored["model_info"]
    objective = str(info["params"]["loss_function"]["type"])
    check_objective("loss_function", objective, OBJECTIVES, NUMBERS)
    columns = _Columns.of(stored["features_info"])
    trees = stored.get("oblivious_trees") or stored.get("trees")
    if not trees:
        raise ValueError("estimator has no trees; train it for at least one round.")
    nodes = _Nodes(columns)
    for number, tree in enumerate(trees):
        nodes.add(tree, number)
    scale, start = stored["scale_and_bias"]
    intercept = np.array(start, dtype=np.float64).ravel()
    model = BoostedModel(
        nodes.trees(scale, len(intercept)),
        np.zeros(len(trees), dtype=np.intp),
        intercept,
        columns.table(),
        one_vs_rest=objective == "MultiClassOneVsAll",
        number_link=NUMBERS.get(objective),
    )
    names = info.get("class_params", {}).get("class_names") or None
    return model, None if names is None or objective in NUMBERS else np.array(names)


@dataclass(eq=False)
class _Columns:
    numbers: dict[int, dict[str, Any]]  # numeric columns by their number in splits
    coded: dict[int, dict[str, Any]]  # categorical columns by their number in splits
    recorded: dict[int, str]  # recorded categories by their hashes
    codes: dict[int, dict[int, int]] = field(default_factory=dict)  # codes of each categorical column by the hashes
    found: dict[int, tuple[Category, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, info: dict[str, Any]) -> _Columns:
        for kind in ("text_features", "embedding_features"):
            if info.get(kind):
                raise ValueError(f"estimator has {kind}, which are not supported; train without them.")
        numbers = {each["feature_index"]: each for each in info.get("float_features", [])}
        coded = {each["feature_index"]: each for each in info.get("categorical_features", [])}
        recorded = {signed_32_bit(each["hash"]): each["value"] for each in info.get("cat_features_hash", [])}
        columns = cls(numbers, coded, recorded)
        for number, each in coded.items():
            hashes = [signed_32_bit(value) for value in each.get("values", [])]
            columns.found[number] = columns._categories(each, hashes)
            columns.codes[number] = {value: code for code, value in enumerate(hashes)}
        return columns

    def _categories(self, column: dict[str, Any], hashes: list[int]) -> tuple[Category, ...]:
        if not hashes:
            return ()
        whole = integers_by_hash()
        if all(value in whole for value in hashes):
            return tuple(whole[value] for value in hashes)
        if all(value in self.recorded for value in hashes):
            return tuple(self.recorded[value] for value in hashes)
        name = column.get("feature_id") or column["flat_feature_index"]
        raise ValueError(
            f"estimator splits on categories of column {name!r}, of which it keeps hashes alone; write it with "
            "save_model(path, format='json', pool=training_pool), which records them, and read this file by `committee "
            "convert`; or train with whole numbers from -999 to 99999 in their place, such as codes."
        )

    def table(self) -> TableSchema:
        every = [*self.numbers.values(), *self.coded.values()]
        p = max(each["flat_feature_index"] for each in every) + 1
        names: list[str] = [""] * p
        categories: list[tuple[Category, ...] | None] = [None] * p
        for each in every:
            names[each["flat_feature_index"]] = each.get("feature_id", "")
        for number, each in self.coded.items():
            categories[each["flat_feature_index"]] = self.found[number]
        return TableSchema(tuple(names) if all(names) else None, tuple(categories))


class _Nodes(NodeLists):
    def __init__(self, columns: _Columns) -> None:
        super().__init__()
        self._columns = columns
        self._codes: dict[int, Index] = {}

    def add(self, tree: dict[str, Any], number: int) -> None:
        self.root.append(len(self.feature))
        if "splits" in tree or "leaf_values" in tree:
            self._add_oblivious(tree, number)
        else:
            self._add_linked(tree)

    def _add_oblivious(self, tree: dict[str, Any], number: int) -> None:
        # node k of level L is reached by the results of splits 0, ..., L - 1, which are the bits of k
        splits, first = tree.get("splits") or [], len(self.feature)
        values, n_leaves = tree["leaf_values"], 2 ** len(splits)
        if not values or len(values) % n_leaves:
            raise ValueError(f"tree {number} has {len(values)} values for {n_leaves} leaves; the file is damaged")
        D = len(values) // n_leaves
        weights = [np.array(tree.get("leaf_weights") or np.zeros(n_leaves), dtype=np.float64)]
        for level in reversed(range(len(splits))):
            weights.append(weights[-1][: 2**level] + weights[-1][2**level :])
        for level, split in enumerate(splits):
            below = first + 2 ** (level + 1) - 1
            for k in range(2**level):
                self._add_split(split, below + k, below + k + 2**level, float(weights[len(splits) - level][k]))
        for k in range(n_leaves):
            self.append(values[k * D : (k + 1) * D], float(weights[0][k]))

    def _add_linked(self, tree: dict[str, Any]) -> None:
        waiting: list[tuple[dict[str, Any], int, bool]] = [(tree, -1, True)]
        first = len(self.feature)
        while waiting:
            node, parent, is_left = waiting.pop()
            if parent >= 0:
                (self.left if is_left else self.right)[parent] = len(self.feature)
            if "split" in node:
                here = len(self.feature)
                self._add_split(node["split"], -1, -1, 0.0)
                waiting += [(node["right"], here, False), (node["left"], here, True)]
            else:
                value = node["value"]
                self.append(value if isinstance(value, list) else [value], float(node.get("weight", 0.0)))
        for here in reversed(range(first, len(self.feature))):  # children come after their parents
            if self.feature[here] >= 0:
                self.weight[here] = self.weight[self.left[here]] + self.weight[self.right[here]]

    def _add_split(self, split: dict[str, Any], left: int, right: int, weight: float) -> None:
        kind, threshold, missing_left = split["split_type"], 0.0, True
        node = self.append([], weight)
        if kind == "FloatFeature":
            column, threshold = self._columns.numbers[split["float_feature_index"]], split["border"]
            # above a border is right; a missing number is above no border, or above all with AsTrue
            missing_left = column.get("nan_value_treatment", "AsIs") != "AsTrue"
        elif kind == "OneHotFeature":
            number = split["cat_feature_index"]
            column, codes = self._columns.coded[number], self._columns.codes[number]
            self._codes[node] = np.setdiff1d(np.arange(len(codes)), [codes[signed_32_bit(split["value"])]])
        else:
            raise ValueError(
                f"estimator has splits of type {kind}, on numbers that CatBoost makes of categories (CTR); "
                "train with one_hot_max_size=255, or with numbers in their place."
            )
        self.split(node, column["flat_feature_index"], threshold, left, right, missing_left)

    def trees(self, scale: float, n_outputs: int) -> LinkedTrees:
        value = np.zeros((len(self.feature), n_outputs))
        for node, numbers in enumerate(self.value):
            if self.feature[node] < 0:
                if len(numbers) != n_outputs:
                    raise ValueError(
                        f"a leaf has {len(numbers)} values where {n_outputs} are predicted; the file is damaged"
                    )
                value[node] = numbers
        border = np.array(self.threshold, dtype=np.float32).astype(np.float64)
        value = (value * scale)[:, 0] if n_outputs == 1 else value * scale
        return self.linked(float64_threshold(border), value, np.zeros(len(value)), self._codes)
