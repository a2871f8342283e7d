"""Models of XGBoost, read from the JSON that it writes of itself; the library is not imported."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import Category
from committee.data.frames import TableSchema
from committee.data.number_types import F64, Index
from committee.vote.adapters.boosted_model import BoostedModel
from committee.vote.adapters.linked_trees import LinkedTrees
from committee.vote.adapters.sklearn_trees import float64_threshold
from committee.vote.links.mean import Identity, Log, MeanLink
from committee.voters.flat_trees import extents

OBJECTIVES = ("binary:logistic", "multi:softprob", "multi:softmax")
"""Objectives of classes, whose scores are log-odds or go through the softmax."""
NUMBERS: dict[str, MeanLink] = {
    **dict.fromkeys(
        ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror", "reg:quantileerror"),
        Identity(),
    ),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), Log()),
}
"""Objectives of numbers, and what makes the number of the score."""
LEAST_SHARE = np.float32(1e-6)
"""The base score's distance from 0 and 1 that its log-odds are taken at, at least."""
UNNAMED_CODES = 256
"""Codes that a column of categories has at least where the model records none."""


def xgboost_model(document: str | bytes | bytearray, n_rounds: int | None = None) -> BoostedModel:
    """Read a booster of classes or of one number.

    Its thresholds part float32 numbers by ``x < threshold``; here they are moved to where a float64 goes the same way
    by ``x <= threshold``. At a split of categories those that the model names go right and all others left.

    Parameters
    ----------
    document : str or bytes
        ``booster.save_raw("json")``.
    n_rounds : int, default=None
        The first so many rounds, as early stopping leaves; None: all.

    Returns
    -------
    BoostedModel
        Weights of DART's trees are in their leaves. A column of categories that a frame declared has them; one of bare
        codes has codes 0, 1, ..., at least 256 of them, and larger ones than any split names are missing values.

    Raises
    ------
    ValueError
        If the booster is linear, has leaves of several numbers, predicts several outputs or something else than
        classes and numbers, or was trained on declared categories that it does not record, or not in full.

    Examples
    --------
    ``xgboost_model(classifier.get_booster().save_raw("json")).voters``
    """
    stored: dict[str, Any] = json.loads(document)
    learner = stored["learner"]
    _check_objective(learner)
    booster, drops = learner["gradient_booster"], None
    if booster["name"] == "dart":
        drops, booster = booster["weight_drop"], booster["gbtree"]
    if "trees" not in booster["model"]:
        raise ValueError(f"estimator has booster={booster['name']!r}, which grows no trees; use 'gbtree' or 'dart'.")
    model = booster["model"]
    n_trees = len(model["trees"]) if n_rounds is None else int(model["iteration_indptr"][n_rounds])
    if not n_trees:
        raise ValueError("estimator has no trees; train it for at least one round.")
    _check_leaves(model["trees"])
    table = _table(learner, model, stored["version"])
    trees = model["trees"][:n_trees]
    factors = np.ones(n_trees) if drops is None else np.asarray(drops[:n_trees], dtype=np.float32).astype(np.float64)
    score = np.asarray(model["tree_info"][:n_trees], dtype=np.intp)
    link = NUMBERS.get(learner["objective"]["name"])
    return BoostedModel(
        _linked(trees, factors, table.n_categories), score, _intercept(learner, link), table, number_link=link
    )


def _check_objective(learner: dict[str, Any]) -> None:
    numbers, objective = learner["learner_model_param"], learner["objective"]["name"]
    if objective not in (*OBJECTIVES, *NUMBERS):
        raise ValueError(
            f"estimator has objective={objective!r}; committees vote for classes by one of {', '.join(OBJECTIVES)}, and"
            f" for numbers by one of {', '.join(NUMBERS)}."
        )
    if int(numbers.get("num_target", 1)) > 1:
        raise ValueError(
            f"estimator predicts {numbers['num_target']} outputs; a committee votes on one. Fit one ensemble for each."
        )


def _check_leaves(trees: list[dict[str, Any]]) -> None:
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise ValueError(
            "estimator has multi_strategy='multi_output_tree', whose leaves hold a number for every class; use "
            "'one_output_per_tree'."
        )


def _intercept(learner: dict[str, Any], link: MeanLink | None) -> F64:
    """The base score on the scale of the scores; one number may stand for all of them."""
    numbers = learner["learner_model_param"]
    start = np.array(numbers["base_score"].strip("[]").split(","), dtype=np.float32)
    if link is not None:  # it is kept as a number that is predicted
        return np.log(start).astype(np.float64) if isinstance(link, Log) else start.astype(np.float64)
    if learner["objective"]["name"] == "binary:logistic":
        # it is kept as a probability; XGBoost takes its log-odds in single precision, and so away from 0 and 1
        share = np.clip(start, LEAST_SHARE, np.float32(1.0) - LEAST_SHARE)
        log_odds: F64 = -np.log(np.float32(1.0) / share - np.float32(1.0)).astype(np.float64)
        return log_odds
    return np.broadcast_to(start.astype(np.float64), (int(numbers["num_class"]),)).copy()


# -- columns --------------------------------------------------------------------------------------------------


def _table(learner: dict[str, Any], model: dict[str, Any], version: list[int]) -> TableSchema:
    p = int(learner["learner_model_param"]["num_feature"])
    names, types = learner["feature_names"], learner["feature_types"] or ["float"] * p
    declared = model.get("cats", {}).get("enc", [])
    categories: list[tuple[Category, ...] | None] = [None] * p
    most = _most_codes(model["trees"], p)
    for j in (j for j, kind in enumerate(types) if kind == "c"):
        if declared:
            categories[j] = _declared(declared[j], names[j])
        elif names and version < [3, 1]:
            raise ValueError(
                f"estimator was trained by XGBoost {'.'.join(map(str, version))}, which does not record the categories "
                f"of column {names[j]!r}; train with XGBoost 3.1 or later, or on an array of codes."
            )
        else:
            categories[j] = tuple(range(max(UNNAMED_CODES, int(most[j]))))
    return TableSchema(tuple(names) if names else None, tuple(categories), refuses_unknown=bool(declared))


def _declared(stored: dict[str, Any], name: str) -> tuple[Category, ...]:
    """Categories of a frame's column: numbers, or text as its bytes end to end."""
    if "offsets" not in stored:
        return tuple(stored["values"])
    # XGBoost 3.2 takes the numbers of characters for those of bytes, and so cuts what needs more than one for each
    if any(value & 128 for value in stored["values"]):
        raise ValueError(
            f"estimator has column {name!r} with categories that are not plain ASCII, which XGBoost records cut short; "
            "rename them, or train on codes."
        )
    text, ends = bytes(stored["values"]).decode(), stored["offsets"]
    return tuple(text[start:end] for start, end in pairwise(ends))


def _most_codes(trees: list[dict[str, Any]], p: int) -> Index:
    """One more than the largest code that any split names, by column."""
    most = np.zeros(p, dtype=np.intp)
    for tree in trees:
        column = np.asarray(tree["split_indices"], dtype=np.intp)[tree["categories_nodes"]]
        for j, codes in zip(column.tolist(), _codes_right(tree), strict=True):
            most[j] = max(most[j], codes.max(initial=-1) + 1)
    return most


# -- trees ----------------------------------------------------------------------------------------------------


def _codes_right(tree: dict[str, Any]) -> list[Index]:
    """Codes that go right, for every categorical split of a tree."""
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
            # a forest's bits say what goes left: all that the split does not name
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
        count=np.zeros(len(left), dtype=np.int64),  # it counts hessians, not rows
        codes=codes,
    )
