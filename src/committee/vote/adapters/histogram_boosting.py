"""scikit-learn's boosting on histograms as boosted trees of one form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import Category, unpack_category_bits
from committee.data.frames import TableSchema
from committee.data.number_types import Index
from committee.vote.adapters.boosted_model import BoostedModel
from committee.vote.adapters.linked_trees import LinkedTrees
from committee.vote.links.mean import Identity, Log, MeanLink
from committee.voters.flat_trees import extents

NUMBERS: dict[str, MeanLink] = {
    **dict.fromkeys(("squared_error", "absolute_error", "quantile"), Identity()),
    **dict.fromkeys(("poisson", "gamma"), Log()),
}
"""Losses of numbers, and what makes the number of the score."""


def histogram_model(estimator: Any) -> BoostedModel:
    """Read scikit-learn's ``HistGradientBoostingClassifier`` or ``HistGradientBoostingRegressor``.

    Thresholds part float64 numbers by ``x <= threshold``, as here. A split of categories names those that go left; all
    others that training has seen go right, and what is missing or not known goes with the missing values of the split.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Fitted.

    Returns
    -------
    BoostedModel
        Columns of categories have those that were seen in training.

    Raises
    ------
    ValueError
        If the loss is one of another kind, or a column of categories has None as one of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> len(histogram_model(HistGradientBoostingClassifier(max_iter=5).fit(X, y)).voters)
    5
    """
    rounds, link = estimator._predictors, None
    if not hasattr(estimator, "classes_"):
        if estimator.loss not in NUMBERS:
            raise ValueError(f"estimator has loss={estimator.loss!r}; numbers are predicted by {', '.join(NUMBERS)}.")
        link = NUMBERS[estimator.loss]
    elif estimator.loss != "log_loss":
        raise ValueError(f"estimator has loss={estimator.loss!r}; classes are predicted by log_loss.")
    if not rounds:
        raise ValueError("estimator has no trees; fit it with max_iter of at least 1.")
    n_scores = len(rounds[0])
    columns, table = _columns(estimator)
    return BoostedModel(
        _linked([tree for trees in rounds for tree in trees], columns, table),
        np.tile(np.arange(n_scores), len(rounds)),
        np.array(estimator._baseline_prediction, dtype=np.float64).ravel(),
        table,
        number_link=link,
    )


def _columns(estimator: Any) -> tuple[Index, TableSchema]:
    """Column of the table that each column of the trees is, as they have those of categories first; and the table."""
    p, chosen = estimator.n_features_in_, estimator.is_categorical_
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else tuple(map(str, names))
    categories: list[tuple[Category, ...] | None] = [None] * p
    if chosen is None:
        return np.arange(p), TableSchema(names, tuple(categories))
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    for j, found in zip(np.flatnonzero(chosen).tolist(), encoder.categories_, strict=True):
        known = [category for category in found.tolist() if category == category]  # NaN is none of them
        if None in known:
            name = j if names is None else repr(names[j])
            raise ValueError(f"estimator has None among the categories of column {name}; train with NaN in its place.")
        categories[j] = tuple(known)
    order = np.concatenate([np.flatnonzero(chosen), np.flatnonzero(~chosen)])
    return order, TableSchema(names, tuple(categories))


def _linked(trees: list[Any], columns: Index, table: TableSchema) -> LinkedTrees:
    nodes = np.concatenate([tree.nodes for tree in trees])
    sizes = [len(tree.nodes) for tree in trees]
    root = extents(sizes)[:-1].astype(np.intp)
    start = np.repeat(root, sizes)
    split = nodes["is_leaf"] == 0
    by_category = split & (nodes["is_categorical"] != 0)
    # a split of all numbers from the missing values has no threshold; a feature of a leaf is not looked at
    limit = np.minimum(np.where(split, nodes["num_threshold"], 0.0), np.finfo(np.float64).max)
    feature = np.where(split, columns[np.where(split, nodes["feature_idx"], 0)], -1)
    return LinkedTrees(
        root=root,
        feature=feature,
        threshold=limit,
        left=np.where(split, nodes["left"] + start, -1),
        right=np.where(split, nodes["right"] + start, -1),
        missing_left=split & (nodes["missing_go_to_left"] != 0),
        value=nodes["value"].astype(np.float64),
        gain=np.where(split, nodes["gain"], 0.0),
        weight=nodes["count"].astype(np.float64),
        count=nodes["count"].astype(np.int64),
        codes=_codes(trees, root, by_category, feature, nodes["bitset_idx"], table),
    )


def _codes(
    trees: list[Any],
    root: Index,
    by_category: NDArray[np.bool_],
    feature: Index,
    place: NDArray[np.uint32],
    table: TableSchema,
) -> dict[int, Index]:
    """Codes that go left at each split of categories."""
    found: dict[int, Index] = {}
    where = np.flatnonzero(by_category)
    for node, tree in zip(where.tolist(), np.searchsorted(root, where, side="right") - 1, strict=True):
        codes = unpack_category_bits(trees[tree].raw_left_cat_bitsets[place[node]])
        found[node] = codes[codes < table.n_categories[feature[node]]]
    return found
