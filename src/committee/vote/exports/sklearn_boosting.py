"""Export score trees to scikit-learn's histogram boosting and its calibrators."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration, _TemperatureScaling
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from threadpoolctl import threadpool_limits

from committee.data.categories import Category
from committee.data.number_types import F64, Index
from committee.data.table_schema import TableSchema
from committee.vote.exports.score_trees import ScoreTrees
from committee.voters.redundant_splits import MergedLeaves

EPSILON = 1e-12
"""Constant that scikit-learn adds to probabilities before their logarithms."""
MOST = 255
"""Largest number of categories of a column."""
WORDS = 8
"""Number of 32-bit words of a set of categories."""


def classifier(trees: ScoreTrees, classes: NDArray[Any], table: TableSchema | None) -> HistGradientBoostingClassifier:
    """Histogram booster with these scores: one log-odds of two classes, or a score per class."""
    if classes.tolist() != np.unique(classes).tolist():
        raise ValueError(
            f"classes are {classes.tolist()}; scikit-learn's boosting needs them sorted. Use committee.to_onnx."
        )
    made = HistGradientBoostingClassifier(max_iter=1, early_stopping=False)
    return _booster(made, trees, classes, table)


def regressor(trees: ScoreTrees, loss: str, table: TableSchema | None) -> HistGradientBoostingRegressor:
    """Histogram booster with this score, or with ``loss="poisson"`` its exponential."""
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
    nodes["depth"] = _depths(merged.left, kept, leaf, number)
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


def _depths(
    left: NDArray[np.int64], kept: NDArray[np.int64], leaf: NDArray[np.bool_], number: NDArray[np.int64]
) -> Any:
    depth, level = np.zeros(len(left), dtype=np.int64), kept[number[kept] == 0]
    is_inner = np.zeros(len(left), dtype=bool)
    is_inner[kept[~leaf]] = True
    while len(level := level[is_inner[level]]):
        depth[left[level]] = depth[left[level] + 1] = depth[level] + 1
        level = np.concatenate([left[level], left[level] + 1])
    return depth[kept]


def tempered(shares: Any, temperature: float) -> CalibratedClassifierCV:
    """Probabilities of a classifier to the power 1 / T, normalised."""
    scaling = _TemperatureScaling()
    scaling.beta_ = np.float64(1.0 / temperature)
    return _calibrated(shares, "temperature", [scaling])


def subtract_epsilon(shares: F64, n_classes: int) -> F64:
    """Correct shares for the constant that scikit-learn adds before their logarithms."""
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
