"""Sums of trees as scikit-learn's boosting on histograms: doubles, missing values and categories as here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from threadpoolctl import threadpool_limits

from committee.data.categories import Category, unpack_category_bits
from committee.data.frames import TableSchema
from committee.data.number_types import F64, Index
from committee.vote.exports.score_trees import ScoreTrees
from committee.voters.merged_leaves import MergedLeaves

MOST = 255
"""Categories of a column that scikit-learn's boosting can tell apart."""
WORDS = 8
"""32-bit words of its sets of categories."""


def classifier(trees: ScoreTrees, classes: NDArray[Any], table: TableSchema | None) -> HistGradientBoostingClassifier:
    """scikit-learn's booster with these scores: one log-odds of two classes, or a score for each class.

    Raises
    ------
    ValueError
        If classes are not in order, or a column cannot be one of its.
    """
    if classes.tolist() != np.unique(classes).tolist():
        raise ValueError(f"classes are {classes.tolist()}; scikit-learn's boosting needs them in ascending order.")
    made = HistGradientBoostingClassifier(max_iter=1, early_stopping=False)
    return _booster(made, trees, classes, table)


def regressor(trees: ScoreTrees, loss: str, table: TableSchema | None) -> HistGradientBoostingRegressor:
    """scikit-learn's booster with this score: the number itself, or by ``loss="poisson"`` the logarithm of it.

    Raises
    ------
    ValueError
        If a column cannot be one of its.
    """
    made = HistGradientBoostingRegressor(loss=loss, max_iter=1, early_stopping=False)
    return _booster(made, trees, np.array([1.0, 2.0]), table)


def _booster(made: Any, trees: ScoreTrees, targets: NDArray[Any], table: TableSchema | None) -> Any:
    """A booster that has learned the columns and classes, and nothing else, with these trees in place of its own."""
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
    """Categories of each column, of those that no split asks for one that stands for all."""
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
                f"numbers stand for the {len(each)} categories of column {table.column(j)!r}, and one for those that "
                "training has not seen, which scikit-learn's boosting takes for missing; committee.to_onnx takes such "
                "columns."
            )
        elif len(each) > MOST:
            raise ValueError(
                f"column {table.column(j)!r} has {len(each)} categories, of which scikit-learn's boosting can tell at "
                f"most {MOST} apart; committee.to_onnx takes such columns."
            )
    return found


def _rows(levels: Sequence[tuple[Category, ...] | None], names: tuple[str, ...] | None, n: int) -> Any:
    """A table of n rows that has every category: a frame where categories are, for text needs one, else a matrix."""
    if all(each is None for each in levels):
        return np.zeros((n, len(levels)))
    columns = [np.zeros(n) if each is None else np.resize(np.array(each, dtype=object), n) for each in levels]
    if names is None:
        kinds = {float if each is None or not isinstance(each[0], str) else object for each in levels}
        return np.column_stack(columns).astype(float if kinds == {float} else object)
    from importlib.util import find_spec

    if find_spec("pandas") is not None:
        import pandas as pd

        return pd.DataFrame({name: column.tolist() for name, column in zip(names, columns, strict=True)})
    import polars as pl

    return pl.DataFrame({name: column.tolist() for name, column in zip(names, columns, strict=True)})


def _order(
    made: Any, levels: Sequence[tuple[Category, ...] | None], table: TableSchema
) -> dict[int, NDArray[np.uint32]]:
    """For each column of categories its own number of each of our codes."""
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
                f"column {table.column(j)!r} has categories that scikit-learn's encoder does not keep apart."
            )
        found[j] = np.array([place[level] for level in known], dtype=np.uint32)
    return found


def _rounds(trees: ScoreTrees, order: dict[int, NDArray[np.uint32]], chosen: NDArray[np.bool_]) -> list[list[Any]]:
    """The trees in rounds of one for each score."""
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
    """One tree of numbers for each tree, as scikit-learn's boosting has them."""
    forest = trees.forest
    merged = MergedLeaves.of(forest, [value])
    kept, leaf = merged.nodes, merged.single[merged.nodes]
    ends = np.searchsorted(kept, forest.offset)
    number = np.zeros(len(forest.feature), dtype=np.int64)
    number[kept] = np.arange(len(kept)) - np.repeat(ends[:-1], np.diff(ends))
    by_category = trees.categorical[kept] & ~leaf
    left = np.where(leaf, 0, merged.left[kept])
    nodes = np.zeros(len(kept), dtype=PREDICTOR_RECORD_DTYPE)
    nodes["value"] = np.where(leaf, value[merged.stands[kept]], 0.0)
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
    """The known categories that go left at a node, as bits of scikit-learn's numbers."""
    forest = trees.forest
    words = forest.category_bits[forest.category_offset[node] : forest.category_offset[node + 1]]
    # known codes beyond the bits go where unseen ones go
    goes_left = np.full(max(len(order), 32 * len(words)), bool(forest.missing_left[node]))
    goes_left[: 32 * len(words)] = False
    goes_left[unpack_category_bits(words)] = True
    chosen = order[goes_left[: len(order)]]
    bits = np.zeros(WORDS, dtype=np.uint32)
    np.bitwise_or.at(bits, chosen // 32, np.uint32(1) << (chosen % 32))
    return bits


def _depths(
    left: NDArray[np.int64], kept: NDArray[np.int64], leaf: NDArray[np.bool_], number: NDArray[np.int64]
) -> Any:
    """Depth of each node that is left, roots at 0."""
    depth = np.zeros(len(left), dtype=np.int64)
    inner, roots = kept[~leaf], kept[number[kept] == 0]
    is_inner = np.zeros(len(left), dtype=bool)
    is_inner[inner] = True
    level, d = roots, 0
    while len(level):
        depth[level] = d
        level = level[is_inner[level]]
        level, d = np.concatenate([left[level], left[level] + 1]), d + 1
    return depth[kept]
