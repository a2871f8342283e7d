"""Schemas with derived columns: encoding, names, sums by column, files."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from committee.data.derived.date_parts import part_columns
from committee.data.derived.derived_table import DerivedTable, learn_table, read_schema
from committee.data.table_schema import TableSchema

DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=5 * k) for k in range(30)]
TABLE = pl.DataFrame({"city": ["a", "b", None] * 10, "day": [None, *DAYS[1:]], "x": np.arange(30.0)})


@pytest.fixture(scope="module")
def schema():
    return learn_table(TABLE, "from_dtype", "auto")


def test_the_matrix_has_the_parts_behind_the_columns(schema):
    plain = TableSchema.learn(TABLE)
    encoded = schema.encode(TABLE)
    assert schema.names[3:5] == ("day (month)", "day (month, sine)")
    assert_array_equal(encoded[:, :3], plain.encode(TABLE))
    assert_array_equal(encoded[:, 3:], part_columns(encoded[:, 1], ("month", "weekday"), cyclic=True))
    assert schema.n_features == encoded.shape[1] == 9
    assert schema.source == plain
    assert schema.source.n_features == 3


@pytest.mark.parametrize("derived", [None, "auto"])
def test_tables_without_dates_have_no_derived_columns(derived):
    assert type(learn_table(TABLE.drop("day"), "from_dtype", derived)) is TableSchema
    assert type(learn_table(np.zeros((3, 2)), "from_dtype", derived)) is TableSchema
    assert type(learn_table(TABLE.with_columns(day=DAYS[0]), "from_dtype", derived)) is TableSchema


def test_none_derives_nothing():
    assert learn_table(TABLE, "from_dtype", None) == TableSchema.learn(TABLE)


def test_rows_without_weight_vary_nothing():
    keep = np.zeros(30, dtype=bool)
    keep[:2] = True  # one missing day, and one day
    assert type(learn_table(TABLE, "from_dtype", "auto", keep)) is TableSchema


def test_a_column_of_the_same_name_stays_alone():
    table = TABLE.with_columns(pl.lit(1.0).alias("day (month)"))
    assert type(learn_table(table, "from_dtype", "auto")) is TableSchema


def test_numbers_of_the_matrix_add_up_by_column_and_by_part(schema):
    shares = np.arange(20.0).reshape(2, 10)  # nine columns, and the expectation
    by_column = schema.by_source(shares, axis=1)
    assert_array_equal(by_column[:, [0, 2, 3]], shares[:, [0, 2, 9]])
    assert_array_equal(by_column[:, 1], shares[:, 1] + shares[:, 3:9].sum(axis=1))
    assert schema.explained == ("city", "day", "x", "day (month)", "day (weekday)")
    by_part = schema.by_part(shares, axis=1)
    assert_array_equal(by_part[:, [0, 1, 2, 5]], shares[:, [0, 1, 2, 9]])
    assert_array_equal(by_part[:, 3], shares[:, 3:6].sum(axis=1))
    assert_array_equal(by_part[:, 4], shares[:, 6:9].sum(axis=1))
    assert schema.matrix_columns(1) == [1, 3, 6]
    assert schema.matrix_columns(2) == [2]


def test_a_file_holds_it(schema):
    for one in (schema, schema.with_forms({"day": "%d.%m.%Y"}).with_missing(["?"])):
        read = read_schema(json.loads(json.dumps(one.to_json())))
        assert read == one
        assert read.encode(TABLE).tobytes() == one.encode(TABLE).tobytes()
    assert read.source.missing == ("?",)
    assert read.source.forms == {"day": "%d.%m.%Y"}


def test_columns_that_are_left_out(schema):
    less = DerivedTable.of(schema.given, schema.derived, [0])
    matrix = schema.encode(TABLE)
    assert_array_equal(less.encode(TABLE), matrix[:, 1:])
    assert less.names == schema.names[1:] and less.n_derived == 6 and less.explained == schema.explained
    assert less.matrix_columns(0) == [] and less.matrix_columns(1) == [0, 2, 5]
    shares = np.arange(18.0).reshape(2, 9)
    padded = np.insert(shares, 0, 0.0, axis=1)
    assert_array_equal(less.by_source(shares, 1), schema.by_source(padded, 1))
    assert_array_equal(less.by_part(shares, 1), schema.by_part(padded, 1))
    stored = json.loads(json.dumps(less.to_json()))
    assert read_schema(stored) == less and read_schema(stored).encode(TABLE).tobytes() == less.encode(TABLE).tobytes()
    for wrong in ([1, 0], [3], [0, 1, 2], ["0"], 1):
        with pytest.raises(ValueError, match="'left_out' of derived columns is"):
            read_schema({**stored, "derived": {**stored["derived"], "left_out": wrong}})


def test_a_schema_of_the_matrix_becomes_one_of_the_table(schema):
    inner = TableSchema.learn(schema.encode(TABLE), [0])
    outer = inner.decode_categories(schema)
    assert isinstance(outer, DerivedTable)
    assert outer.categories == schema.categories
    assert_array_equal(outer.encode(TABLE), schema.encode(TABLE))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dates": [{"column": 0, "parts": ["month"]}]}, "column 0, which holds no dates"),
        ({"dates": [{"column": True, "parts": ["month"]}]}, "column True"),
        ({"dates": [{"column": 1, "parts": ["hour", "month"]}]}, "in order, they must be some of month, weekday, hour"),
        ({"dates": [{"column": 1, "parts": []}]}, r"have parts \[\]; in order, they must be some of"),
        ({"dates": [{"column": 1}]}, "'column' and 'parts'"),
        ({"dates": [{"column": 1, "parts": ["month"]}]}, "names of a table schema"),
        ({"dates": 3}, "must be lists"),
        ({"more": 3}, "'table', 'dates', 'texts' and at most 'left_out'"),
        ({"texts": [{"column": 1, "terms": [], "idf": [], "svd": ""}]}, "column 1, which holds no text"),
        ({"texts": [{"column": -1}]}, "column -1"),
        ({"texts": [3]}, "number of a 'column'"),
        ({"table": None}, "a table schema must be an object"),
    ],
)
def test_damaged_documents_are_refused(schema, change, message):
    document = json.loads(json.dumps(schema.to_json()))
    document["derived"] |= change
    with pytest.raises(ValueError, match=message):
        read_schema(document)
