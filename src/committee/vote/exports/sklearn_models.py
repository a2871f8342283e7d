"""Score trees as scikit-learn's decision trees, forests, histogram boosting and calibrators."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from math import frexp
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration, _TemperatureScaling
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree
from threadpoolctl import threadpool_limits

from committee.data.categories import Category
from committee.data.number_types import F64, Index
from committee.data.table_schema import TableSchema
from committee.vote.exports.score_trees import NEAR_TIE_BREAK, TIE_BREAK, ScoreTrees, break_share_ties
from committee.voters.flat_trees import inner_levels
from committee.voters.forest import Forest
from committee.voters.redundant_splits import MergedLeaves

WHOLE = 2.0**24
"""Largest integer up to which float32 holds all integers."""
FEW = 0.01
"""Largest share of a column's thresholds that may coincide in float32."""


def column_beyond_float32(forest: Forest) -> int | None:
    """First column whose thresholds float32 cannot hold."""
    from committee.vote.adapters.sklearn_trees import float64_threshold

    asks = (forest.feature >= 0) & (np.diff(forest.category_offset) == 0)
    feature, threshold = forest.feature[asks], forest.threshold[asks]
    # thresholds as read from scikit-learn's trees do not count, nor those that part missing values from numbers
    moved = (float64_threshold(threshold) != threshold) & (np.abs(threshold) < np.finfo(np.float32).max)
    for j in np.unique(feature[moved]).tolist():
        own = np.unique(threshold[moved & (feature == j)])
        single = np.unique(own.astype(np.float32))
        if np.abs(own).max() > WHOLE or len(own) - len(single) > FEW * len(own):
            return int(j)
    return None


def forest_classifier(trees: ScoreTrees, value: F64, classes: NDArray[Any], table: TableSchema | None) -> Any:
    check_columns(trees, table)
    grown = [_tree(trees.forest, value, t, DecisionTreeClassifier()) for t in range(len(trees.forest))]
    return _named(_forest_of(grown, classes), trees.forest, table)


def forest_regressor(trees: ScoreTrees, value: F64, table: TableSchema | None) -> Any:
    check_columns(trees, table)
    grown = [_tree(trees.forest, value, t, DecisionTreeRegressor()) for t in range(len(trees.forest))]
    if len(grown) == 1:
        return _named(grown[0], trees.forest, table)
    made = RandomForestRegressor(n_estimators=len(grown))
    made.estimators_, made.estimator_, made.n_outputs_ = grown, DecisionTreeRegressor(), value.shape[1]
    return _named(made, trees.forest, table)


def voting_forest(trees: ScoreTrees, classes: NDArray[Any], table: TableSchema | None, *, near_ties: bool) -> Any:
    """Forest that elects the class of the largest score."""
    votes = trees.by_leaf()
    weight = None if near_ties else _weight_of_each(votes)
    if weight is None:
        return forest_classifier(
            trees, centred_shares(votes, NEAR_TIE_BREAK if near_ties else TIE_BREAK), classes, table
        )
    T, total = len(trees.forest), float(weight.sum())
    if T == 1:
        return forest_classifier(trees, votes.value / total, classes, table)
    # a power of two keeps sums and ties
    exact = frexp(T / total)[0] == 0.5 and bool((weight == weight[0]).all())
    scale = 2.0 ** (frexp((T if exact else T + 1) / total)[1] - 1)
    grown = [_tree(trees.forest, votes.value * scale, t, DecisionTreeClassifier()) for t in range(T)]
    if not exact:  # the mean must sum to 1
        share = max(0.0, (T + 1 - scale * total) / len(classes))
        grown.append(_single_leaf(np.full(len(classes), share), trees.forest.n_features))
    return _named(_forest_of(grown, classes), trees.forest, table)


def _weight_of_each(votes: ScoreTrees) -> F64 | None:
    forest, value = votes.forest, votes.value
    leaf, given = forest.feature < 0, value.sum(axis=1)
    weight = np.maximum.reduceat(np.where(leaf, given, 0.0), forest.offset[:-1])
    if value.shape[1] < 2 or votes.intercept.any() or value.min() < 0.0 or not weight.sum() > 0.0:
        return None
    off = np.abs(given - np.repeat(weight, forest.n_nodes))[leaf]
    return weight if off.max() <= 1e-9 * weight.max() else None


def _single_leaf(value: F64, n_features: int) -> Any:
    nodes = np.zeros(1, dtype=NODE_DTYPE)
    nodes["left_child"] = nodes["right_child"] = -1
    nodes["feature"], nodes["threshold"] = -2, -2.0
    nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = 1
    return _with_nodes(DecisionTreeClassifier(), n_features, nodes, value[None, None, :].copy(), 0)


def _forest_of(grown: list[Any], classes: NDArray[Any]) -> Any:
    if len(grown) == 1:
        made = grown[0]
    else:
        for tree in grown:  # the trees of a forest have class numbers for labels
            tree.classes_, tree.n_classes_ = np.arange(len(classes), dtype=np.float64), len(classes)
        made = RandomForestClassifier(n_estimators=len(grown))
        made.estimators_, made.estimator_ = grown, DecisionTreeClassifier()
    made.classes_, made.n_classes_, made.n_outputs_ = np.array(classes), len(classes), 1
    return made


def centred_shares(trees: ScoreTrees, most_ahead: float) -> F64:
    """Class shares ``(N, K)`` of mean 1 / K + a (F_k - mean F) / T, with the largest a that makes none negative."""
    by_leaf = trees.by_leaf()
    value, start = by_leaf.value, by_leaf.intercept / len(trees.forest)
    if value.shape[1] == 1:
        value, start = np.hstack([-value, value]) / 2.0, np.array([-start[0], start[0]]) / 2.0
    leaf, K = (trees.forest.feature < 0)[:, None], value.shape[1]
    value = value + start
    says = np.where(leaf, value - value.mean(axis=1, keepdims=True), 0.0)
    lowest = -float(says.min())
    factor = 1.0 / (K * lowest) if lowest > 0.0 else 1.0
    shares = np.where(leaf, np.maximum(1.0 / K + factor * says, 0.0), 0.0)
    return break_share_ties(shares, trees.forest, most_ahead=most_ahead)


def column_unfit_for_forests(trees: ScoreTrees, table: TableSchema | None) -> tuple[int, str] | None:
    of_categories = [] if table is None else [j for j, each in enumerate(table.categories) if each is not None]
    if not of_categories and trees.categorical.any():
        of_categories = trees.forest.feature[trees.categorical].tolist()
    if of_categories:
        asked = [j for j in of_categories if j in trees.split_columns]
        return (asked or of_categories)[0], "has categories"
    blurred = column_beyond_float32(trees.forest)
    return None if blurred is None else (blurred, "has splits that single precision does not keep apart")


def check_columns(trees: ScoreTrees, table: TableSchema | None, instead: str = "") -> None:
    found = column_unfit_for_forests(trees, table)
    if found is not None:
        name = f"x{found[0]}" if table is None else table.column(found[0])
        raise ValueError(
            f"column {name!r} {found[1]}, which scikit-learn's decision trees cannot take; {instead}use "
            "committee.to_onnx."
        )


def _named(made: Any, forest: Forest, table: TableSchema | None) -> Any:
    made.n_features_in_ = forest.n_features
    if table is not None and table.names is not None:
        made.feature_names_in_ = np.array(table.names, dtype=object)
    return made


def _tree(forest: Forest, value: F64, t: int, tree: Any) -> Any:
    nodes = slice(int(forest.offset[t]), int(forest.offset[t + 1]))
    left = forest.left[nodes].astype(np.intp)
    split, levels = left >= 0, inner_levels(forest.left[nodes], np.array([0, len(left)]))
    weight = forest.weight[nodes]
    if not weight[0] > 0.0:  # unknown: the number of leaves
        weight = np.ones(len(left))
        for level, child in reversed(levels):
            weight[level] = weight[child] + weight[child + 1]
    gain, mean = forest.gain[nodes], value[nodes].copy()
    impurity, mass = np.zeros(len(left)), np.where(split, 0.0, weight)
    for level, child in reversed(levels):
        # the weighted impurity decreases by the gain of each split: importances are shares of gain
        impurity[level] = impurity[child] + impurity[child + 1] + gain[level]
        mass[level] = mass[child] + mass[child + 1]
        share = np.divide(mass[child], mass[level], out=np.full(len(level), 0.5), where=mass[level] > 0.0)[:, None]
        mean[level] = share * mean[child] + (1.0 - share) * mean[child + 1]
    table = np.zeros(len(left), dtype=NODE_DTYPE)
    table["left_child"] = np.where(split, left, -1)
    table["right_child"] = np.where(split, left + 1, -1)
    table["feature"] = np.where(split, forest.feature[nodes], -2)
    table["threshold"] = np.where(split, forest.threshold[nodes], -2.0)
    table["missing_go_to_left"] = forest.missing_left[nodes]
    table["n_node_samples"] = forest.count[nodes]
    table["weighted_n_node_samples"] = weight
    table["impurity"] = np.divide(impurity, weight, out=np.zeros(len(left)), where=weight > 0.0)
    values = np.ascontiguousarray(mean[:, None, :] if isinstance(tree, DecisionTreeClassifier) else mean[:, :, None])
    return _with_nodes(tree, forest.n_features, table, values, len(levels))


def _with_nodes(tree: Any, n_features: int, nodes: NDArray[Any], values: F64, depth: int) -> Any:
    _, n_outputs, n_classes = values.shape
    native = Tree(n_features, np.full(n_outputs, n_classes, dtype=np.intp), n_outputs)
    native.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    tree.tree_, tree.n_features_in_, tree.n_outputs_, tree.max_features_ = native, n_features, n_outputs, n_features
    return tree


EPSILON = 1e-12
"""Constant that scikit-learn adds to probabilities before their logarithms."""
MOST = 255
"""Largest number of categories of a column in histogram boosting."""
WORDS = 8
"""Number of 32-bit words of a set of categories."""


def boosting_classifier(
    trees: ScoreTrees, classes: NDArray[Any], table: TableSchema | None
) -> HistGradientBoostingClassifier:
    if classes.tolist() != np.unique(classes).tolist():
        raise ValueError(
            f"classes are {classes.tolist()}; scikit-learn's boosting needs them sorted. Use committee.to_onnx."
        )
    made = HistGradientBoostingClassifier(max_iter=1, early_stopping=False)
    return _booster(made, trees, classes, table)


def boosting_regressor(trees: ScoreTrees, loss: str, table: TableSchema | None) -> HistGradientBoostingRegressor:
    made = HistGradientBoostingRegressor(loss=loss, max_iter=1, early_stopping=False)
    return _booster(made, trees, np.array([1.0, 2.0]), table)


def _booster(made: Any, trees: ScoreTrees, targets: NDArray[Any], table: TableSchema | None) -> Any:
    p = trees.forest.n_features
    table = TableSchema(None, (None,) * p) if table is None else table
    levels = _levels(trees, table)
    chosen = np.array([each is not None for each in levels])
    made.set_params(categorical_features=chosen if chosen.any() else None)
    n = max(len(targets), *(len(each or ()) for each in levels))
    with threadpool_limits(1):  # there is nothing to share out
        made.fit(_rows(levels, table.names, n), np.resize(targets, n))
    if table.names is not None:
        made.feature_names_in_ = np.array(table.names, dtype=object)
    made._baseline_prediction = trees.intercept.reshape(1, -1)
    made._predictors = _rounds(trees, _order(made, levels, table), chosen)
    made.set_params(max_iter=len(made._predictors))
    return made


def _levels(trees: ScoreTrees, table: TableSchema) -> list[tuple[Category, ...] | None]:
    used, found = set(trees.split_columns.tolist()), list(table.categories)
    if len(found) != trees.forest.n_features:
        raise ValueError(f"the table has {len(found)} columns, the trees {trees.forest.n_features}.")
    for j, each in enumerate(found):
        if each is None:
            continue
        if j not in used:
            found[j] = each[:1] or ("",)
        elif table.coded(j) is None:
            raise ValueError(
                f"numbers stand for the {len(each)} categories of column {table.column(j)!r}, and one for unseen "
                "categories, which scikit-learn's boosting treats as missing; use committee.to_onnx."
            )
        elif len(each) > MOST:
            raise ValueError(
                f"column {table.column(j)!r} has {len(each)} categories; scikit-learn's boosting takes at most "
                f"{MOST}. Use committee.to_onnx."
            )
    return found


def _rows(levels: Sequence[tuple[Category, ...] | None], names: tuple[str, ...] | None, n: int) -> Any:
    if all(each is None for each in levels):
        return np.zeros((n, len(levels)))
    columns = [np.zeros(n) if each is None else np.resize(np.array(each, dtype=object), n) for each in levels]
    if names is None:
        kinds = {float if each is None or not isinstance(each[0], str) else object for each in levels}
        return np.column_stack(columns).astype(float if kinds == {float} else object)
    data = {name: column.tolist() for name, column in zip(names, columns, strict=True)}
    if find_spec("pandas") is not None:
        import pandas as pd

        return pd.DataFrame(data)
    import polars as pl

    return pl.DataFrame(data)


def _order(
    made: Any, levels: Sequence[tuple[Category, ...] | None], table: TableSchema
) -> dict[int, NDArray[np.uint32]]:
    chosen = [j for j, each in enumerate(levels) if each is not None]
    if not chosen:
        return {}
    learned = made._preprocessor.named_transformers_["encoder"].categories_
    found: dict[int, NDArray[np.uint32]] = {}
    for j, own in zip(chosen, learned, strict=True):
        place = {level: number for number, level in enumerate(own.tolist())}
        known = levels[j] or ()
        if len(place) != len(known) or any(level not in place for level in known):
            raise ValueError(
                f"column {table.column(j)!r} has categories that scikit-learn's encoder does not keep apart; use "
                "committee.to_onnx."
            )
        found[j] = np.array([place[level] for level in known], dtype=np.uint32)
    return found


def _rounds(trees: ScoreTrees, order: dict[int, NDArray[np.uint32]], chosen: NDArray[np.bool_]) -> list[list[Any]]:
    column = np.empty(len(chosen), dtype=np.intp)
    # scikit-learn has columns of categories first
    column[np.concatenate([np.flatnonzero(chosen), np.flatnonzero(~chosen)])] = np.arange(len(chosen))
    D = trees.n_scores
    if D == 1 or trees.score is not None:
        made = _predictors(trees, trees.value[:, 0], order, column)
        return [made[begin : begin + D] for begin in range(0, len(made), D)]
    each = [_predictors(trees, np.ascontiguousarray(trees.value[:, k]), order, column) for k in range(D)]
    return [list(of_round) for of_round in zip(*each, strict=True)]


def _predictors(trees: ScoreTrees, value: F64, order: dict[int, NDArray[np.uint32]], column: Index) -> list[Any]:
    forest = trees.forest
    merged = MergedLeaves.of(forest, [value])
    kept, leaf = merged.nodes, merged.is_leaf[merged.nodes]
    ends = np.searchsorted(kept, forest.offset)
    number = np.zeros(len(forest.feature), dtype=np.int64)
    number[kept] = np.arange(len(kept)) - np.repeat(ends[:-1], np.diff(ends))
    by_category = trees.categorical[kept] & ~leaf
    left = np.where(leaf, 0, merged.left[kept])
    nodes = np.zeros(len(kept), dtype=PREDICTOR_RECORD_DTYPE)
    nodes["value"] = np.where(leaf, value[merged.representative[kept]], 0.0)
    nodes["count"] = np.minimum(forest.count[kept], np.iinfo(np.uint32).max)
    nodes["feature_idx"] = np.where(leaf, 0, column[np.where(leaf, 0, forest.feature[kept])])
    nodes["num_threshold"] = np.where(leaf | by_category, 0.0, forest.threshold[kept])
    nodes["missing_go_to_left"] = np.where(leaf, 0, forest.missing_left[kept])
    nodes["left"], nodes["right"] = np.where(leaf, 0, number[left]), np.where(leaf, 0, number[left + 1 - leaf])
    nodes["gain"], nodes["is_leaf"], nodes["is_categorical"] = forest.gain[kept], leaf, by_category
    depth, level = np.zeros(len(forest.feature), dtype=np.int64), kept[number[kept] == 0]
    while len(level := level[~merged.is_leaf[level]]):
        left = merged.left[level]
        depth[left] = depth[left + 1] = depth[level] + 1
        level = np.concatenate([left, left + 1])
    nodes["depth"] = depth[kept]
    made = []
    for t in range(len(forest)):
        own = nodes[ends[t] : ends[t + 1]].copy()
        asked = np.flatnonzero(own["is_categorical"])
        own["bitset_idx"][asked] = np.arange(len(asked))
        bits = np.zeros((len(asked), WORDS), dtype=np.uint32)
        for row, node in enumerate(kept[ends[t] : ends[t + 1]][asked].tolist()):
            bits[row] = _bits(trees, node, order[int(forest.feature[node])])
        made.append(TreePredictor(own, bits, bits))
    return made


def _bits(trees: ScoreTrees, node: int, order: NDArray[np.uint32]) -> NDArray[np.uint32]:
    chosen = order[trees.forest.categories_left(node, len(order))]
    bits = np.zeros(WORDS, dtype=np.uint32)
    np.bitwise_or.at(bits, chosen // 32, np.uint32(1) << (chosen % 32))
    return bits


def tempered(shares: Any, temperature: float) -> CalibratedClassifierCV:
    scaling = _TemperatureScaling()
    scaling.beta_ = np.float64(1.0 / temperature)
    return _calibrated(shares, "temperature", [scaling])


def subtract_epsilon(shares: F64, n_classes: int) -> F64:
    return shares * (1.0 + n_classes * EPSILON) - EPSILON


def one_vs_rest(scores: Any, scale: float) -> CalibratedClassifierCV:
    """Probabilities sigma(s F_k) of a classifier's scores, normalised."""
    curve = _SigmoidCalibration()
    curve.a_, curve.b_ = -scale, 0.0
    return _calibrated(scores, "sigmoid", [curve] * len(scores.classes_))


def clipped(scores: Any, most: float) -> CalibratedClassifierCV:
    """Probabilities (1 + F_k) / 2 of a classifier's scores clipped to [-most, most], normalised."""
    line = IsotonicRegression(out_of_bounds="clip").fit([-most, most], [(1.0 - most) / 2.0, (1.0 + most) / 2.0])
    return _calibrated(scores, "isotonic", [line] * (len(scores.classes_) if len(scores.classes_) > 2 else 1))


def _calibrated(
    inner: Any, method: Literal["temperature", "sigmoid", "isotonic"], calibrators: Sequence[Any]
) -> CalibratedClassifierCV:
    made = CalibratedClassifierCV(FrozenEstimator(inner), method=method)
    made.calibrated_classifiers_ = [_CalibratedClassifier(inner, calibrators, classes=inner.classes_, method=method)]
    made.classes_, made.n_features_in_ = inner.classes_, inner.n_features_in_
    if hasattr(inner, "feature_names_in_"):
        made.feature_names_in_ = inner.feature_names_in_
    return made
