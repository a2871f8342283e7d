"""Models of CatBoost, read from the JSON that it writes of itself; the library is not imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import Category
from committee.data.frames import TableSchema
from committee.data.number_types import F64, Index
from committee.vote.adapters.boosted_model import BoostedModel
from committee.vote.adapters.catboost_hash import signed, whole_numbers
from committee.vote.adapters.linked_trees import LinkedTrees
from committee.vote.adapters.sklearn_trees import float64_threshold
from committee.vote.links.mean import Identity, Log, MeanLink

OBJECTIVES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
"""Objectives of classes."""
NUMBERS: dict[str, MeanLink] = {
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "MAPE", "Huber", "LogCosh", "Expectile", "Lq"), Identity()),
    **dict.fromkeys(("Poisson", "Tweedie"), Log()),
}
"""Objectives of numbers, and what makes the number of the score."""


def catboost_model(document: str | bytes) -> tuple[BoostedModel, NDArray[Any] | None]:
    """Read a model of classes or of one number.

    Borders part float32 numbers; here they are moved to where float64 numbers go the same way. A missing number goes
    where the model sends it, and below all borders where it does not say. Oblivious trees, which ask the same of all
    nodes of a level, become trees with a node for each; leaves of several classes have a number for each.

    Parameters
    ----------
    document : str or bytes
        What ``model.save_model(path, format="json")`` writes.

    Returns
    -------
    model : BoostedModel
        Columns of categories have those that its splits name; all others go where none of them goes. The model knows
        categories by their hashes: those that are whole numbers are found, others where it was written with the rows
        that it was trained on (``pool=``), which records them.
    classes : array (K,) or None
        Labels; None for numbers, and where they are not recorded.

    Raises
    ------
    ValueError
        If splits are on counted targets (CTR), text or embeddings, categories are not known, or the objective is
        none of classes or of one number.

    Examples
    --------
    ``catboost_model(Path("model.json").read_bytes())[0].voters``
    """
    stored: dict[str, Any] = json.loads(document)
    info = stored["model_info"]
    objective = _objective(info)
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


def _objective(info: dict[str, Any]) -> str:
    loss = info["params"]["loss_function"]
    name = str(loss["type"])
    if name not in (*OBJECTIVES, *NUMBERS):
        raise ValueError(
            f"estimator has loss_function={name!r}; committees vote for classes by one of {', '.join(OBJECTIVES)}, and "
            f"for numbers by one of {', '.join(NUMBERS)}."
        )
    return name


# -- columns --------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Columns:
    numbers: dict[int, dict[str, Any]]
    """Columns of numbers as the model describes them, by the number that splits know them by."""
    coded: dict[int, dict[str, Any]]
    """Columns of categories."""
    recorded: dict[int, str]
    """Categories by their hashes, as far as the model has them."""
    codes: dict[int, dict[int, int]] = field(default_factory=dict)
    """For each column of categories the code of each hash."""
    found: dict[int, tuple[Category, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, info: dict[str, Any]) -> _Columns:
        for kind in ("text_features", "embedding_features"):
            if info.get(kind):
                raise ValueError(f"estimator has {kind}, which are no columns of a table; train without them.")
        numbers = {each["feature_index"]: each for each in info.get("float_features", [])}
        coded = {each["feature_index"]: each for each in info.get("categorical_features", [])}
        recorded = {signed(each["hash"]): each["value"] for each in info.get("cat_features_hash", [])}
        columns = cls(numbers, coded, recorded)
        for number, each in coded.items():
            hashes = [signed(value) for value in each.get("values", [])]
            columns.found[number] = columns._categories(each, hashes)
            columns.codes[number] = {value: code for code, value in enumerate(hashes)}
        return columns

    def _categories(self, column: dict[str, Any], hashes: list[int]) -> tuple[Category, ...]:
        if not hashes:
            return ()
        whole = whole_numbers()
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


# -- trees ----------------------------------------------------------------------------------------------------


class _Nodes:
    """Nodes of all trees, as lists."""

    def __init__(self, columns: _Columns) -> None:
        self._columns = columns
        self._root: list[int] = []
        self._feature: list[int] = []
        self._border: list[float] = []
        self._missing_left: list[bool] = []
        self._left: list[int] = []
        self._right: list[int] = []
        self._value: list[list[float]] = []
        self._weight: list[float] = []
        self._codes: dict[int, Index] = {}

    def add(self, tree: dict[str, Any], number: int) -> None:
        """Add a tree of either form."""
        self._root.append(len(self._feature))
        if "splits" in tree or "leaf_values" in tree:
            self._add_oblivious(tree, number)
        else:
            self._add_linked(tree)

    def _add_oblivious(self, tree: dict[str, Any], number: int) -> None:
        """Node k of level L stands for the answers to splits 0, ..., L - 1, which are the bits of k."""
        splits, first = tree.get("splits") or [], len(self._feature)
        values, n_leaves = tree["leaf_values"], 2 ** len(splits)
        if not values or len(values) % n_leaves:
            raise ValueError(f"tree {number} has {len(values)} values for {n_leaves} leaves; it is no tree")
        D = len(values) // n_leaves
        weights = [np.array(tree.get("leaf_weights") or np.zeros(n_leaves), dtype=np.float64)]
        for level in reversed(range(len(splits))):
            weights.append(weights[-1][: 2**level] + weights[-1][2**level :])
        for level, split in enumerate(splits):
            below = first + 2 ** (level + 1) - 1
            for k in range(2**level):
                self._split(split, below + k, below + k + 2**level, float(weights[len(splits) - level][k]), D)
        for k in range(n_leaves):
            self._leaf(values[k * D : (k + 1) * D], float(weights[0][k]))

    def _add_linked(self, tree: dict[str, Any]) -> None:
        waiting: list[tuple[dict[str, Any], int, bool]] = [(tree, -1, True)]
        first = len(self._feature)
        while waiting:
            node, parent, is_left = waiting.pop()
            if parent >= 0:
                (self._left if is_left else self._right)[parent] = len(self._feature)
            if "split" in node:
                here = len(self._feature)
                self._split(node["split"], -1, -1, 0.0, 0)
                waiting += [(node["right"], here, False), (node["left"], here, True)]
            else:
                value = node["value"]
                self._leaf(value if isinstance(value, list) else [value], float(node.get("weight", 0.0)))
        for here in reversed(range(first, len(self._feature))):  # children come after their parents
            if self._feature[here] >= 0:
                self._weight[here] = self._weight[self._left[here]] + self._weight[self._right[here]]

    def _leaf(self, value: list[float], weight: float) -> None:
        self._append(-1, 0.0, False, -1, -1, weight)
        self._value[-1] = value

    def _split(self, split: dict[str, Any], left: int, right: int, weight: float, n_outputs: int) -> None:
        kind = split["split_type"]
        if kind == "FloatFeature":
            column = self._columns.numbers[split["float_feature_index"]]
            # above a border is right; a missing number is above none, unless the model says above all
            missing_left = column.get("nan_value_treatment", "AsIs") != "AsTrue"
            self._append(column["flat_feature_index"], split["border"], missing_left, left, right, weight)
        elif kind == "OneHotFeature":
            number = split["cat_feature_index"]
            column, codes = self._columns.coded[number], self._columns.codes[number]
            named = codes[signed(split["value"])]
            self._codes[len(self._feature)] = np.setdiff1d(np.arange(len(codes)), [named])
            self._append(column["flat_feature_index"], 0.0, True, left, right, weight)
        else:
            raise ValueError(
                f"estimator has splits of type {kind}, on numbers that CatBoost makes of categories by counting "
                "targets; train with one_hot_max_size=255, or with numbers in their place."
            )

    def _append(self, feature: int, border: float, missing_left: bool, left: int, right: int, weight: float) -> None:
        self._feature.append(feature)
        self._border.append(border)
        self._missing_left.append(missing_left)
        self._left.append(left)
        self._right.append(right)
        self._value.append([])
        self._weight.append(weight)

    def trees(self, scale: float, n_outputs: int) -> LinkedTrees:
        """All of them, their leaves times a factor."""
        value = np.zeros((len(self._feature), n_outputs))
        for node, numbers in self._leaves():
            if len(numbers) != n_outputs:
                raise ValueError(f"a leaf has {len(numbers)} values where {n_outputs} are predicted; it is no model")
            value[node] = numbers
        border = np.array(self._border, dtype=np.float32).astype(np.float64)
        weight: F64 = np.array(self._weight)
        return LinkedTrees(
            root=np.array(self._root, dtype=np.intp),
            feature=np.array(self._feature, dtype=np.intp),
            threshold=float64_threshold(border),
            left=np.array(self._left, dtype=np.intp),
            right=np.array(self._right, dtype=np.intp),
            missing_left=np.array(self._missing_left, dtype=bool),
            value=(value * scale)[:, 0] if n_outputs == 1 else value * scale,
            gain=np.zeros(len(weight)),
            weight=weight,
            count=np.zeros(len(weight), dtype=np.int64),  # it counts weights, not rows
            codes=self._codes,
        )

    def _leaves(self) -> Iterator[tuple[int, list[float]]]:
        return ((node, self._value[node]) for node, feature in enumerate(self._feature) if feature < 0)
