"""What scikit-learn's transformers make of single columns, as far as trees can look at the columns themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
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

from committee.data.categories import Category
from committee.data.number_types import F64

Rising = Callable[[F64], F64]
"""A function of numbers that never falls."""


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """One column that a transformation gives, as a function of one column that it takes.

    Parameters
    ----------
    source : int
        The column taken.
    steps : tuple of functions
        Of a number, one after the other; none of them falls anywhere.
    missing : float
        What a missing value becomes; NaN if it stays missing.
    filled : str, number, bool or None
        What an imputer puts where a value is missing, before categories are numbered.
    levels : tuple or None
        Categories, where the column taken holds such; None for numbers.
    values : float64 array or None
        What each category becomes.
    unknown : float
        What a category becomes that is none of them.
    refuses_unknown : bool
        Such a category is an error.
    """

    source: int
    steps: tuple[Rising, ...] = ()
    missing: float = np.nan
    filled: Category | None = None
    levels: tuple[Category, ...] | None = None
    values: F64 | None = None
    unknown: float = np.nan
    refuses_unknown: bool = False

    def then(self, step: Rising) -> ColumnMap:
        """The column after one more step."""
        if self.values is None:
            return replace(self, steps=(*self.steps, step), missing=_of_one(step, self.missing))
        missing, unknown = (_of_one(step, number) for number in (self.missing, self.unknown))
        return replace(self, values=step(self.values), missing=missing, unknown=unknown)

    def imputed(self, value: Any) -> ColumnMap:
        """The column with a value in the place of missing ones."""
        if self.values is not None:
            values = np.where(np.isnan(self.values), value, self.values)
            missing, unknown = (value if np.isnan(number) else number for number in (self.missing, self.unknown))
            return replace(self, values=values, missing=missing, unknown=unknown)
        if not np.isnan(self.missing) or self.filled is not None:
            return self
        return replace(self, filled=value, missing=np.nan if isinstance(value, str) else float(value))

    def coded(self, levels: list[Any], codes: F64, unknown: float, of_missing: float, refuses: bool) -> ColumnMap:
        """The column with a number for each of its categories, among which NaN may be."""
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


def maps_after(transformer: Any, maps: Sequence[ColumnMap]) -> list[ColumnMap]:
    """Columns that a fitted transformer gives, each as a function of a column that the first one took.

    Raises
    ------
    TypeError
        If the transformer is of another kind than those that look at one column at a time.
    ValueError
        If it has a setting that is not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from committee.vote.adapters.column_maps import ColumnMap, maps_after
    >>> encoder = OneHotEncoder().fit(np.array([["red"], ["blue"]]))
    >>> [column.values.tolist() for column in maps_after(encoder, [ColumnMap(0)])]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return list(maps)
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            maps = maps_after(step, maps)
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
            f"the step {transformer!r} is none whose columns are functions of single columns; known are"
            f" {', '.join(kind.__name__ for kind in (*SCALERS, SimpleImputer, OrdinalEncoder, OneHotEncoder))},"
            " ColumnTransformer, Pipeline and selections of columns"
        )
    return [column.then(scaling(transformer, j)) for j, column in enumerate(maps)]


# -- kinds of transformers ------------------------------------------------------------------------------------


def _columns(transformer: ColumnTransformer, maps: Sequence[ColumnMap]) -> list[ColumnMap]:
    made: list[ColumnMap] = []
    for name, step, _ in transformer.transformers_:
        places = transformer._transformer_to_input_indices.get(name, [])
        if isinstance(step, str) and step == "drop":
            continue
        made += maps_after(step, [maps[int(place)] for place in places])
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
    """Categories of each column."""
    if any(found is not None for found in getattr(transformer, "infrequent_categories_", ())):
        raise ValueError(f"the step {transformer!r} takes rare categories together; leave out min_frequency")
    if any(column.steps or column.levels is not None for column in maps):
        raise ValueError(f"the step {transformer!r} takes columns that are transformed already")
    every = [found.tolist() for found in transformer.categories_]
    if any(None in levels for levels in every):
        raise ValueError(f"the step {transformer!r} has None among its categories; train with NaN in its place")
    return every


def _standard(scaler: StandardScaler, j: int) -> Rising:
    mean = 0.0 if scaler.mean_ is None or not scaler.with_mean else scaler.mean_[j]
    scale = 1.0 if scaler.scale_ is None else scaler.scale_[j]
    return lambda x: (x - mean) / scale


def _min_max(scaler: MinMaxScaler, j: int) -> Rising:
    scale, least, (low, high) = scaler.scale_[j], scaler.min_[j], scaler.feature_range
    if scaler.clip:
        return lambda x: np.clip(x * scale + least, low, high)
    return lambda x: x * scale + least


def _max_abs(scaler: MaxAbsScaler, j: int) -> Rising:
    scale = scaler.scale_[j]
    if getattr(scaler, "clip", False):
        return lambda x: np.clip(x / scale, -1.0, 1.0)
    return lambda x: x / scale


def _robust(scaler: RobustScaler, j: int) -> Rising:
    centre = scaler.center_[j] if scaler.with_centering else 0.0
    scale = scaler.scale_[j] if scaler.with_scaling else 1.0
    return lambda x: (x - centre) / scale


SCALERS: dict[type, Callable[[Any, int], Rising]] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    RobustScaler: _robust,
}
"""What each scaler does to a column."""


def _of_one(step: Rising, number: float) -> float:
    return float(step(np.array([number]))[0])
