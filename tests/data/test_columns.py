"""Single columns: every type that is a feature, and every one that is not."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from committee.data.frames import TableSchema


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["m", "s", None, "l"], dtype=pd.CategoricalDtype(["s", "m", "l", "xl"], ordered=True)),
        pl.Series(["m", "s", None, "l"], dtype=pl.Enum(["s", "m", "l", "xl"])),
    ],
)
def test_declared_order_is_kept_and_only_what_occurs(column: Any) -> None:
    table = type(column.to_frame())({"size": column})
    schema = TableSchema.learn(table)
    assert schema.categories == (("s", "m", "l"),)
    np.testing.assert_array_equal(schema.encode(table).ravel(), [1, 0, np.nan, 2])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"c": pd.Categorical(["x", None, "a"], categories=["x", "z", "a"])}),
        pl.DataFrame({"c": pl.Series(["x", None, "a"], dtype=pl.Categorical)}),
        pa.table({"c": pa.array(["x", None, "a"]).dictionary_encode()}),
        pa.table({"c": pa.array(["x", None, "a"], pa.large_string())}),
        pa.table({"c": pa.array(["x", None, "a"], pa.string_view())}),
        pd.DataFrame({"c": pd.array(["x", None, "a"], dtype="string")}),
        pd.DataFrame({"c": pd.Series(["x", math.nan, "a"], dtype=object)}),
        pd.DataFrame({"c": pd.Series(["x", pd.NaT, "a"], dtype=object)}),
    ],
)
def test_unordered_categories_are_sorted(table: Any) -> None:
    schema = TableSchema.learn(table)
    assert schema.categories == (("a", "x"),)
    np.testing.assert_array_equal(schema.encode(table).ravel(), [1, np.nan, 0])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"c": pd.Categorical([3, None, 1])}),
        pd.DataFrame({"c": pd.Categorical([3, None, 1], categories=[3, 1], ordered=True)}),
        pa.table({"c": pa.array([3, None, 1]).dictionary_encode()}),
    ],
)
def test_categories_may_be_numbers(table: Any) -> None:
    schema = TableSchema.learn(table)
    categories = schema.categories[0]
    assert categories is not None
    assert set(categories) == {1, 3}
    three = float(categories.index(3))
    np.testing.assert_array_equal(schema.encode(table).ravel(), [three, np.nan, 1 - three])
    # the same values in a plain column mean the same categories
    np.testing.assert_array_equal(
        schema.encode(pl.DataFrame({"c": [1.0, 2.0, 3.0]})).ravel(), [1 - three, np.nan, three]
    )


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pl.Series([1, None], dtype=pl.UInt8), [1, np.nan]),
        (pl.Series([1, None], dtype=pl.Int128), [1, np.nan]),
        (pl.Series([2**60 + 1, -(2**63)], dtype=pl.Int64), [2.0**60, -(2.0**63)]),
        (pl.Series([0.1, None], dtype=pl.Float32), [np.float32(0.1), np.nan]),
        (pl.Series([Decimal("1.25"), None]), [1.25, np.nan]),
        (pl.Series([None, None]), [np.nan, np.nan]),
        (pa.nulls(2), [np.nan, np.nan]),
        (pd.Series([1, None], dtype="Int64"), [1, np.nan]),
        (pd.Series([1, 2.5], dtype="float16"), [1, 2.5]),
        (pd.Series([1, None], dtype=object), [1, np.nan]),
        (pd.Series([1.5, pd.NA], dtype=object), [1.5, np.nan]),
        (pd.Series([1.5, pd.NaT], dtype=object), [1.5, np.nan]),
    ],
)
def test_numbers_of_every_width(column: Any, expected: list[float]) -> None:
    if isinstance(column, pl.Series):
        table: Any = pl.DataFrame({"c": column})
    else:
        table = pd.DataFrame({"c": column}) if isinstance(column, pd.Series) else pa.table({"c": column})
    schema = TableSchema.learn(table)
    assert schema.categories == (None,)
    np.testing.assert_array_equal(schema.encode(table).ravel(), np.array(expected, dtype=np.float64))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.Series([datetime.date(2020, 1, 1)]), "column 'c' holds Date.*days since a date"),
        (pl.Series([datetime.datetime(2020, 1, 1)]), "column 'c' holds Datetime.*make numbers of it"),
        (pl.Series([datetime.timedelta(1)]), "column 'c' holds Duration.*total seconds"),
        (pl.Series([datetime.time(1)]), "column 'c' holds Time.*seconds since midnight"),
        (pl.Series([[1]]), "column 'c' holds List.*spread it"),
        (pl.Series([{"a": 1}]), "column 'c' holds Struct.*spread"),
        (pl.Series([b"a"]), "column 'c' holds Binary.*decode"),
        (pl.Series([object()], dtype=pl.Object), "column 'c' holds Object"),
        (pd.Series([1j]), "Complex data not supported: column 'c' holds complex128"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), "column 'c' holds Datetime"),
        (pd.Series(pd.period_range("2020", periods=1)), "column 'c' holds period"),
        (pd.Series(pd.arrays.SparseArray([0.0, 1.0])), "column 'c' holds Sparse"),
        (
            pd.Series(pd.Categorical(pd.to_datetime(["2020-01-01"]))),
            "column 'c' has categories of type Timestamp",
        ),
        (pd.Series(pd.Categorical(["a", 1])), "column 'c' has categories of type number and text"),
        (pd.Series([None, "a", 1], dtype=object), r"column 'c' mixes text with 1 of type int \(row 2\)"),
        (pd.Series([1, "a"], dtype=object), r"column 'c' mixes number with 'a' of type str \(row 1\)"),
        (
            pd.Series(["a"] * 500 + [{}], dtype=object),
            r"column 'c' mixes text with {} of type dict \(row 500\)",
        ),
        (pd.Series([{"u": 1}], dtype=object), r"column 'c' holds {'u': 1} of type dict \(row 0\)"),
        (pd.Series([Decimal(1)], dtype=object), "column 'c' holds Decimal"),
        (pd.Series([True, 2.0], dtype=object), "column 'c' mixes boolean with 2.0"),
    ],
)
def test_columns_that_can_be_no_feature(column: Any, message: str) -> None:
    table = pl.DataFrame({"c": column}) if isinstance(column, pl.Series) else pd.DataFrame({"c": column})
    for categorical_features in ("from_dtype", None, ["c"]):
        with pytest.raises(ValueError, match=message):
            TableSchema.learn(table, categorical_features=categorical_features)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        TableSchema(("c",), (None,)).encode(table)
