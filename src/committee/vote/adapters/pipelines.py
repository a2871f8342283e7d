"""Ensembles at the end of scikit-learn pipelines, with splits moved to the pipeline's input columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from committee.data.categories import Category, pack_category_bits, unpack_category_bits
from committee.data.number_types import F64
from committee.data.table_schema import TableSchema
from committee.vote.adapters.boosted_model import CommitteeParts, RegressionParts
from committee.vote.adapters.sklearn_trees import feature_names
from committee.voters.flat_trees import join_words
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds

Monotone = Callable[[F64], F64]
"""Non-decreasing function of numbers."""


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """A transformed column as a function of one input column."""

    source: int
    steps: tuple[Monotone, ...] = ()  # monotone functions, applied in order
    missing: float = np.nan  # value for a missing input; NaN if it stays missing
    filled: Category | None = None  # value that an imputer puts in place of a missing one before encoding
    levels: tuple[Category, ...] | None = None  # categories of a categorical input
    values: F64 | None = None  # value of each category
    unknown: float = np.nan  # value of an unknown category
    refuses_unknown: bool = False  # unknown categories are an error

    def then(self, step: Monotone) -> ColumnMap:
        if self.values is None:
            return replace(self, steps=(*self.steps, step), missing=_of_one(step, self.missing))
        missing, unknown = (_of_one(step, number) for number in (self.missing, self.unknown))
        return replace(self, values=step(self.values), missing=missing, unknown=unknown)

    def imputed(self, value: Any) -> ColumnMap:
        if self.values is not None:
            values = np.where(np.isnan(self.values), value, self.values)
            missing, unknown = (value if np.isnan(number) else number for number in (self.missing, self.unknown))
            return replace(self, values=values, missing=missing, unknown=unknown)
        if not np.isnan(self.missing) or self.filled is not None:
            return self
        return replace(self, filled=value, missing=np.nan if isinstance(value, str) else float(value))

    def coded(self, levels: list[Any], codes: F64, unknown: float, of_missing: float, refuses: bool) -> ColumnMap:
        known = {level: code for level, code in zip(levels, codes.tolist(), strict=True) if level == level}
        missing = of_missing if self.filled is None else known.get(self.filled, unknown)
        return replace(
            self,
            levels=tuple(known),
            values=np.array(list(known.values()), dtype=np.float64),
            unknown=unknown,
            missing=missing,
            refuses_unknown=refuses,
        )


def map_columns(transformer: Any, maps: Sequence[ColumnMap]) -> list[ColumnMap]:
    """Output columns of a fitted transformer as functions of the pipeline's input columns."""
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return list(maps)
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            maps = map_columns(step, maps)
        return list(maps)
    if isinstance(transformer, ColumnTransformer):
        return _columns(transformer, maps)
    if isinstance(transformer, SelectorMixin):
        return [column for column, stays in zip(maps, transformer.get_support(), strict=True) if stays]
    if isinstance(transformer, FunctionTransformer) and transformer.func is None:
        return list(maps)
    if isinstance(transformer, SimpleImputer):
        return _imputed(transformer, maps)
    if isinstance(transformer, OneHotEncoder):
        return _one_hot(transformer, maps)
    if isinstance(transformer, OrdinalEncoder):
        return _ordinal(transformer, maps)
    scaling = next((found for kind, found in SCALERS.items() if isinstance(transformer, kind)), None)
    if scaling is None:
        raise TypeError(
            f"the step {transformer!r} cannot be converted: its columns must be functions of single columns; use"
            f" {', '.join(kind.__name__ for kind in (*SCALERS, SimpleImputer, OrdinalEncoder, OneHotEncoder))},"
            " ColumnTransformer, Pipeline or selections of columns"
        )
    return [column.then(scaling(transformer, j)) for j, column in enumerate(maps)]


def _columns(transformer: ColumnTransformer, maps: Sequence[ColumnMap]) -> list[ColumnMap]:
    made: list[ColumnMap] = []
    for name, step, _ in transformer.transformers_:
        places = transformer._transformer_to_input_indices.get(name, [])
        if isinstance(step, str) and step == "drop":
            continue
        made += map_columns(step, [maps[int(place)] for place in places])
    return made


def _imputed(transformer: SimpleImputer, maps: Sequence[ColumnMap]) -> list[ColumnMap]:
    marked = transformer.missing_values
    if transformer.add_indicator or not (marked is None or marked != marked):
        raise ValueError(f"the step {transformer!r} has add_indicator, or missing_values that are not NaN")
    values = transformer.statistics_.tolist()
    if any(value != value for value in values):
        raise ValueError(f"the step {transformer!r} has dropped columns without any value; drop them before it")
    return [column.imputed(value) for column, value in zip(maps, values, strict=True)]


def _one_hot(transformer: OneHotEncoder, maps: Sequence[ColumnMap]) -> list[ColumnMap]:
    dropped = transformer.drop_idx_ if transformer.drop_idx_ is not None else [None] * len(maps)
    made: list[ColumnMap] = []
    for column, levels, left_out in zip(maps, _levels(transformer, maps), dropped, strict=True):
        for k in (k for k in range(len(levels)) if k != left_out):
            codes = np.zeros(len(levels))
            codes[k] = 1.0
            of_missing = next((code for level, code in zip(levels, codes.tolist(), strict=True) if level != level), 0.0)
            made.append(column.coded(levels, codes, 0.0, of_missing, transformer.handle_unknown == "error"))
    return made


def _ordinal(transformer: OrdinalEncoder, maps: Sequence[ColumnMap]) -> list[ColumnMap]:
    refuses = transformer.handle_unknown == "error"
    unknown = np.nan if refuses else float(transformer.unknown_value)
    made = []
    for column, levels in zip(maps, _levels(transformer, maps), strict=True):
        seen = any(level != level for level in levels)
        of_missing = float(transformer.encoded_missing_value) if seen else unknown
        made.append(column.coded(levels, np.arange(len(levels), dtype=np.float64), unknown, of_missing, refuses))
    return made


def _levels(transformer: Any, maps: Sequence[ColumnMap]) -> list[list[Any]]:
    if any(found is not None for found in getattr(transformer, "infrequent_categories_", ())):
        raise ValueError(f"the step {transformer!r} groups rare categories; leave out min_frequency and max_categories")
    if any(column.steps or column.levels is not None for column in maps):
        raise ValueError(f"the step {transformer!r} takes columns that are transformed already")
    every = [found.tolist() for found in transformer.categories_]
    if any(None in levels for levels in every):
        raise ValueError(f"the step {transformer!r} has None among its categories; train with NaN in its place")
    return every


def _standard(scaler: StandardScaler, j: int) -> Monotone:
    mean = 0.0 if scaler.mean_ is None or not scaler.with_mean else scaler.mean_[j]
    scale = 1.0 if scaler.scale_ is None else scaler.scale_[j]
    return lambda x: (x - mean) / scale


def _min_max(scaler: MinMaxScaler, j: int) -> Monotone:
    scale, least, (low, high) = scaler.scale_[j], scaler.min_[j], scaler.feature_range
    if scaler.clip:
        return lambda x: np.clip(x * scale + least, low, high)
    return lambda x: x * scale + least


def _max_abs(scaler: MaxAbsScaler, j: int) -> Monotone:
    scale = scaler.scale_[j]
    if getattr(scaler, "clip", False):
        return lambda x: np.clip(x / scale, -1.0, 1.0)
    return lambda x: x / scale


def _robust(scaler: RobustScaler, j: int) -> Monotone:
    centre = scaler.center_[j] if scaler.with_centering else 0.0
    scale = scaler.scale_[j] if scaler.with_scaling else 1.0
    return lambda x: (x - centre) / scale


SCALERS: dict[type, Callable[[Any, int], Monotone]] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    RobustScaler: _robust,
}


def _of_one(step: Monotone, number: float) -> float:
    return float(step(np.array([number]))[0])


Parts = TypeVar("Parts", CommitteeParts, RegressionParts)


def is_pipeline(estimator: Any) -> bool:
    """True for a scikit-learn pipeline whose last step is no fitted learner of this library."""
    return isinstance(estimator, Pipeline) and not hasattr(estimator[-1], "committee_")


def last_step(estimator: Any) -> Any:
    return estimator[-1] if is_pipeline(estimator) else estimator


def move_to_pipeline_input(pipeline: Pipeline, parts: Parts | None) -> Parts:
    """Change a committee's arguments for a pipeline's last step so that they take the pipeline's input."""
    if parts is None:
        raise TypeError(
            f"estimator is a Pipeline, and there is no adapter for its last step {pipeline[-1]!r}; end it in a"
            " supported ensemble of trees, or give it to EstimatorVoters as one member."
        )
    voters = parts.voters
    check_is_fitted(pipeline.steps[0][1])
    if not isinstance(voters, (Forest, Rounds)):
        raise TypeError(_remedy(f"its last step has {type(voters).__name__} for voters, which are no plain trees"))
    assert parts.table is not None  # as trees have
    try:
        maps = [ColumnMap(j) for j in range(pipeline.n_features_in_)]
        for _, step in pipeline.steps[:-1]:
            maps = map_columns(step, maps)
        table = _table(pipeline, maps, parts.table)
        forest = voters if isinstance(voters, Forest) else voters.forest
        moved, apart = _moved(forest, maps, parts.table, table)
    except (TypeError, ValueError) as error:
        raise type(error)(_remedy(str(error))) from error
    if apart:  # unknown categories would count as missing
        table = replace(table, refuses_unknown=True)
    return parts._replace(voters=moved if isinstance(voters, Forest) else replace(voters, forest=moved), table=table)


def _remedy(reason: str) -> str:
    return (
        f"estimator is a Pipeline that is not read as a whole: {reason.rstrip('.')}. Take its last step, "
        "from_estimator(pipeline[-1]), whose rows are pipeline[:-1].transform(X)."
    )


def _table(pipeline: Pipeline, maps: Sequence[ColumnMap], inner: TableSchema) -> TableSchema:
    categories: list[tuple[Category, ...] | None] = [() for _ in range(pipeline.n_features_in_)]
    taken: dict[int, tuple[Category, ...] | None] = {}
    for k, column in enumerate(maps):
        levels = column.levels
        if levels is None and not column.steps and inner.categories[k] is not None:
            levels = inner.categories[k]  # the last step's own categories
        if taken.setdefault(column.source, levels) != levels:
            raise ValueError(
                f"column {column.source} is used as numbers and as categories, or with different lists of categories"
            )
        categories[column.source] = levels
    refuses = [column.refuses_unknown for column in maps if column.levels is not None]
    encoded_numbers = any(column.levels and not isinstance(column.levels[0], str) for column in maps)
    return TableSchema(
        feature_names(pipeline),
        tuple(categories),
        refuses_unknown=bool(refuses) and all(refuses),
        rounding=None if encoded_numbers else inner.rounding,
    )


def _moved(forest: Forest, maps: Sequence[ColumnMap], inner: TableSchema, table: TableSchema) -> tuple[Forest, bool]:
    feature, threshold = forest.feature.copy(), forest.threshold.copy()
    missing_left = forest.missing_left.copy()
    words: dict[int, NDArray[np.uint32]] = {}
    n_words, apart = np.diff(forest.category_offset), False
    for k in np.unique(forest.feature[forest.feature >= 0]).tolist():
        column, nodes = maps[k], np.flatnonzero(forest.feature == k)
        feature[nodes] = column.source
        if column.values is not None:
            for node in nodes.tolist():
                words[node], missing_left[node], alike = _by_category(forest, node, column, inner.categories[k])
                apart |= not alike
                threshold[node] = 0.0
        elif inner.categories[k] is not None:
            if column.steps or column.filled is not None:
                raise ValueError(f"column {column.source} is transformed before the last step takes its categories")
            for node in nodes[n_words[nodes] > 0].tolist():
                words[node] = forest.category_words(node)
        else:
            if not np.isnan(column.missing):
                missing_left[nodes] = column.missing <= threshold[nodes]
            threshold[nodes] = invert_threshold(column, threshold[nodes])
    offset, bits = join_words(words, len(feature))
    changes: dict[str, Any] = {"feature": feature, "threshold": threshold, "missing_left": missing_left}
    return replace(forest, n_features=table.n_features, category_offset=offset, category_bits=bits, **changes), apart


def _by_category(
    forest: Forest, node: int, column: ColumnMap, inner: tuple[Category, ...] | None
) -> tuple[NDArray[np.uint32], bool, bool]:
    assert column.values is not None
    numbers = np.append(column.values, [column.missing, column.unknown])
    if inner is None:
        left = np.where(np.isnan(numbers), bool(forest.missing_left[node]), numbers <= forest.threshold[node])
    else:
        code, named = (
            {level: k for k, level in enumerate(inner)},
            set(unpack_category_bits(forest.category_words(node)).tolist()),
        )
        absent = bool(forest.missing_left[node])
        left = np.array([code[number] in named if number in code else absent for number in numbers.tolist()])
    return pack_category_bits(left[:-2]), bool(left[-2]), bool(left[-1] == left[-2])


def invert_threshold(column: ColumnMap, limit: F64) -> F64:
    """Largest input whose transform is at most each limit."""
    if not column.steps:
        return limit
    last = int(np.array([np.finfo(np.float64).max]).view(np.int64)[0])  # rank of the largest number
    low, high = np.full(len(limit), -last), np.full(len(limit), last)
    while (low < high).any():
        # the mean of two ranks, rounded up, without a sum that is too large; of ranks, so that this ends after 64 steps
        middle = (low | high) - ((low ^ high) >> 1)
        number = _number(middle)
        with np.errstate(over="ignore", invalid="ignore"):
            for step in column.steps:
                number = step(number)
        fits = number <= limit
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return _number(low)


def _number(rank: NDArray[np.int64]) -> F64:
    return np.asarray(np.where(rank < 0, np.int64(-(2**63)) - rank, rank).view(np.float64))
