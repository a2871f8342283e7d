"""Read XGBoost models from JSON, without importing the library."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import Category
from committee.data.number_types import F64, Index
from committee.data.table_schema import Rounding, TableSchema
from committee.vote.adapters.boosted_model import BoostedModel, LinkedTrees, check_objective
from committee.vote.adapters.sklearn_trees import float64_threshold
from committee.vote.links.mean import Identity, Log, MeanLink
from committee.voters.flat_trees import extents

OBJECTIVES = ("binary:logistic", "multi:softprob", "multi:softmax")
NUMBERS: dict[str, MeanLink] = {
    **dict.fromkeys(
        ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror", "reg:quantileerror"),
        Identity(),
    ),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), Log()),
}
LEAST_SHARE = np.float32(1e-6)
"""Least distance of the base score from 0 and 1 before its log-odds are taken."""
UNNAMED_CODES = 256
"""Least number of codes of a categorical column without recorded categories."""


def xgboost_model(document: str | bytes | bytearray, n_rounds: int | None = None) -> BoostedModel:
    """Read the first `n_rounds` of a classifier or a regressor from ``booster.save_raw("json")``."""
    stored: dict[str, Any] = json.loads(document)
    learner = stored["learner"]
    objective, n_outputs = learner["objective"]["name"], int(learner["learner_model_param"].get("num_target", 1))
    check_objective("objective", objective, OBJECTIVES, NUMBERS)
    if n_outputs > 1:
        raise ValueError(
            f"estimator predicts {n_outputs} outputs; a committee votes on one. Fit one ensemble for each."
        )
    booster, drops = learner["gradient_booster"], None
    if booster["name"] == "dart":
        drops, booster = booster["weight_drop"], booster["gbtree"]
    if "trees" not in booster["model"]:
        raise ValueError(f"estimator has booster={booster['name']!r}, which grows no trees; use 'gbtree' or 'dart'.")
    model = booster["model"]
    n_trees = len(model["trees"]) if n_rounds is None else int(model["iteration_indptr"][n_rounds])
    if not n_trees:
        raise ValueError("estimator has no trees; train it for at least one round.")
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in model["trees"]):
        raise ValueError(
            "estimator has multi_strategy='multi_output_tree', whose leaves hold a number for every class; use "
            "'one_output_per_tree'."
        )
    table = _table(learner, model, stored["version"])
    trees = model["trees"][:n_trees]
    factors = np.ones(n_trees) if drops is None else np.asarray(drops[:n_trees], dtype=np.float32).astype(np.float64)
    score = np.asarray(model["tree_info"][:n_trees], dtype=np.intp)
    link, linked = NUMBERS.get(objective), _linked(trees, factors, table.n_categories)
    return BoostedModel(linked, score, _intercept(learner, link), table, number_link=link)


def _intercept(learner: dict[str, Any], link: MeanLink | None) -> F64:
    numbers = learner["learner_model_param"]
    start = np.array(numbers["base_score"].strip("[]").split(","), dtype=np.float32)
    if link is not None:  # the base score is stored as a predicted number
        return np.log(start).astype(np.float64) if isinstance(link, Log) else start.astype(np.float64)
    if learner["objective"]["name"] == "binary:logistic":
        # the base score is stored as a probability; its log-odds are taken in single precision, so away from 0 and 1
        share = np.clip(start, LEAST_SHARE, np.float32(1.0) - LEAST_SHARE)
        return np.asarray(-np.log(np.float32(1.0) / share - np.float32(1.0)).astype(np.float64))
    return np.broadcast_to(start.astype(np.float64), (int(numbers["num_class"]),)).copy()


def _table(learner: dict[str, Any], model: dict[str, Any], version: list[int]) -> TableSchema:
    p = int(learner["learner_model_param"]["num_feature"])
    names, types = learner["feature_names"], learner["feature_types"] or ["float"] * p
    declared = model.get("cats", {}).get("enc", [])
    categories: list[tuple[Category, ...] | None] = [None] * p
    most = np.zeros(p, dtype=np.intp)  # number of codes of each column that the splits name
    for tree in model["trees"]:
        column = np.asarray(tree["split_indices"], dtype=np.intp)[tree["categories_nodes"]]
        for j, codes in zip(column.tolist(), _codes_right(tree), strict=True):
            most[j] = max(most[j], codes.max(initial=-1) + 1)
    for j in (j for j, kind in enumerate(types) if kind == "c"):
        if declared:
            categories[j] = _declared(declared[j], names[j])
        elif names and version < [3, 1]:
            raise ValueError(
                f"estimator was saved by XGBoost {'.'.join(map(str, version))}, which does not record the categories "
                f"of column {names[j]!r}; train with XGBoost 3.1 or later, or on an array of codes."
            )
        else:
            categories[j] = tuple(range(max(UNNAMED_CODES, int(most[j]))))
    rounding: Rounding | None = None if declared or categories.count(None) == p else "floor"
    return TableSchema(
        tuple(names) if names else None, tuple(categories), refuses_unknown=bool(declared), rounding=rounding
    )


def _declared(stored: dict[str, Any], name: str) -> tuple[Category, ...]:
    if "offsets" not in stored:
        return tuple(stored["values"])
    # XGBoost 3.2 records as many bytes as there are characters, and so cuts categories with longer characters
    if any(value & 128 for value in stored["values"]):
        raise ValueError(
            f"estimator has column {name!r} with categories that are not plain ASCII, which XGBoost records cut short; "
            "rename them, or train on codes."
        )
    text, ends = bytes(stored["values"]).decode(), stored["offsets"]
    return tuple(text[start:end] for start, end in pairwise(ends))


def _codes_right(tree: dict[str, Any]) -> list[Index]:
    codes = np.asarray(tree["categories"], dtype=np.intp)
    extents = zip(tree["categories_segments"], tree["categories_sizes"], strict=True)
    return [codes[start : start + size] for start, size in extents]


def _linked(trees: list[dict[str, Any]], factors: F64, n_categories: NDArray[np.int32]) -> LinkedTrees:
    sizes = [len(tree["left_children"]) for tree in trees]
    root = extents(sizes)[:-1].astype(np.intp)
    start = np.repeat(root, sizes)

    def joined(name: str, dtype: type[np.generic]) -> NDArray[Any]:
        return np.concatenate([np.asarray(tree[name], dtype=dtype) for tree in trees])

    left, right = joined("left_children", np.intp), joined("right_children", np.intp)
    split = left >= 0
    condition = joined("split_conditions", np.float32)  # of a leaf its value
    codes: dict[int, Index] = {}
    for first, tree in zip(root.tolist(), trees, strict=True):
        for node, to_the_right in zip(tree["categories_nodes"], _codes_right(tree), strict=True):
            # a forest's bits list the codes that go left: all that the split does not name
            every = np.arange(n_categories[tree["split_indices"][node]])
            codes[first + node] = np.setdiff1d(every, to_the_right)
    # x < c in float32 is x <= the float32 number just below c
    below = np.nextafter(np.where(split, condition, np.float32(0.0)), np.float32(-np.inf))
    return LinkedTrees(
        root=root,
        feature=np.where(split, joined("split_indices", np.intp), -1),
        threshold=np.where(split, float64_threshold(below.astype(np.float64)), 0.0),
        left=np.where(split, left + start, -1),
        right=np.where(split, right + start, -1),
        missing_left=split & joined("default_left", np.bool_),
        value=condition.astype(np.float64) * np.repeat(factors, sizes),
        gain=joined("loss_changes", np.float64),
        weight=joined("sum_hessian", np.float64),
        count=np.zeros(len(left), dtype=np.int64),  # XGBoost sums hessians, and records no rows
        codes=codes,
    )
