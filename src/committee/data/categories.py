"""Categories of columns: their codes, sets of codes as bits, and numbers that stand for them."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import is_number
from committee.data.text import is_unicode, quoted

Category: TypeAlias = str | int | float | bool

EXACT = 2.0**53  # integers below it have a float64 of their own
MAX_CATEGORIES = 2**31 - 1  # most categories of a column: codes fit 32 bits
MAX_SUBSET_CATEGORIES = 16
MAX_VALUE = 1e300  # numbers that stand for categories in a file must be below it


def pack_category_bits(is_in: NDArray[np.bool_]) -> NDArray[np.uint32]:
    padded = np.zeros(-(-len(is_in) // 32) * 32, dtype=np.uint8)
    padded[: len(is_in)] = is_in
    return np.packbits(padded, bitorder="little").view("<u4").astype(np.uint32)


def unpack_category_bits(words: NDArray[np.uint32]) -> NDArray[np.intp]:
    return np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))


@dataclass(frozen=True)
class CategoryValues:
    values: tuple[float, ...]  # in the order of the codes
    unknown: float  # for an unseen category: the statistic of all rows with a category
    of: str  # name of the statistic in rules, such as "rate of yes"

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        return np.append(np.array(self.values, dtype=np.float64), self.unknown)

    def numbers(self, codes: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
        place = np.where(np.isnan(codes), len(self.values), codes).astype(np.intp)
        return np.where(missing, np.nan, self._table[place])

    def to_json(self) -> dict[str, Any]:
        packed = base64.b64encode(np.array(self.values, dtype="<f8").tobytes()).decode()
        numbers = packed if len(packed) + 2 < len(json.dumps(self.values)) else list(self.values)
        return {"values": numbers, "unknown": self.unknown, "of": self.of}

    @classmethod
    def from_json(cls, stored: Any) -> CategoryValues:
        if not isinstance(stored, dict) or set(stored) != {"values", "unknown", "of"}:
            raise ValueError("category values must be an object with 'values', 'unknown' and 'of', and nothing else")
        values, unknown, of = stored["values"], stored["unknown"], stored["of"]
        if isinstance(values, str):
            try:
                values = np.frombuffer(base64.b64decode(values, validate=True), dtype="<f8").tolist()
            except ValueError:
                values = None
        if not isinstance(values, list) or not all(is_number(x) and abs(x) < MAX_VALUE for x in [*values, unknown]):
            raise ValueError(f"'values' and 'unknown' of category values must be numbers of size below {MAX_VALUE:g}")
        if not isinstance(of, str):
            raise ValueError(f"'of' of category values must be text, got {of!r}")
        return cls(tuple(float(each) for each in values), float(unknown), of)


class UnknownCategoryError(ValueError):
    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(
            f"{found}, which did not occur in training; the model is of another library and refuses unseen categories. "
            "Leave such rows out, or make the cell missing"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.found,)


def reject_unknown(values: Any, missing: NDArray[np.bool_], codes: NDArray[np.float64], name: str) -> None:
    unknown = np.flatnonzero(np.isnan(codes) & ~missing)
    if unknown.size:
        row = int(unknown[0])
        value = values[row].item() if isinstance(values[row], np.generic) else values[row]
        raise UnknownCategoryError(f"column {name!r} holds the category {value!r} at row {row}")


def check_categories(categories: tuple[Any, ...], name: str) -> None:
    if len(categories) > MAX_CATEGORIES:
        raise ValueError(f"column {name!r} has {len(categories)} categories, at most {MAX_CATEGORIES} are possible")
    kinds = {_kind_of_category(category) for category in categories}
    if None in kinds or len(kinds) > 1:
        raise ValueError(
            f"the categories of column {name!r} must be all Unicode text, all finite numbers or all booleans"
        )
    keys = categories if kinds == {"text"} else [float(category) for category in categories]
    if len(set(keys)) != len(keys):
        raise ValueError(f"the categories of column {name!r} must be distinct")


def _kind_of_category(category: Any) -> str | None:
    if isinstance(category, str):
        return "text" if is_unicode(category) else None
    if isinstance(category, bool):
        return "boolean"
    if isinstance(category, int):
        # 2**1023 and above may have no float64
        return "number" if category.bit_length() < 1024 else None
    if isinstance(category, float):
        return "number" if math.isfinite(category) else None
    return None


def distinct_numbers(values: NDArray[Any], name: str) -> tuple[int | float, ...]:
    wide = values.astype(np.float64)
    reject_infinity(wide, name)
    found = np.unique(wide[~np.isnan(wide)])
    if len(found) and max(-found[0], found[-1]) >= EXACT:
        raise ValueError(
            f"column {name!r} has the category {found[np.abs(found).argmax()]:.0f}; whole numbers of size 2**53 "
            "and more cannot be told apart as float64. Make the column text, or number its categories."
        )
    if values.dtype.kind in "iu":
        return tuple(int(value) for value in found)
    return tuple(float(value) for value in found)


def encode_numbers(values: NDArray[Any], categories: Sequence[Category], name: str) -> NDArray[np.float64]:
    if not categories:
        return np.full(len(values), np.nan)
    if isinstance(categories[0], str):
        raise ValueError(
            f"column {name!r} must hold text categories ({quoted(categories, 3)}) but X is an array of "
            "numbers; pass a frame (pandas, polars, Arrow) with that column as text"
        )
    wide = values.astype(np.float64)
    reject_infinity(wide, name)
    keys = np.array([float(category) for category in categories])
    if (keys == np.arange(len(keys))).all():  # codes, as within a committee of ensembles
        return np.where((wide >= 0.0) & (wide < len(keys)) & (wide == np.floor(wide)), wide + 0.0, np.nan)
    order = np.argsort(keys)
    keys = keys[order]
    place = np.minimum(np.searchsorted(keys, wide), len(keys) - 1)
    return np.where(keys[place] == wide, order[place], np.nan)


def reject_infinity(values: NDArray[np.float64], name: str) -> None:
    rows = np.flatnonzero(np.isinf(values))
    if rows.size:
        raise ValueError(infinity_message(name, int(rows[0])))


def infinity_message(name: str, row: int) -> str:
    return f"column {name!r} holds infinity at row {row}; replace it or mark it missing (NaN)"
