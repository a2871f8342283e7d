"""Tables in: one encoding from pandas, polars and Arrow, compared with one written cell by cell."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
import unicodedata
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from committee.data.categories import CategoryValues
from committee.data.columns import is_frame
from committee.data.table_schema import TableSchema
from committee.data.text import printable

PEOPLE: dict[str, list[Any]] = {
    "age": [31, 45, None, 8],
    "weight": [60.5, None, 71.25, 30.0],
    "city": ["Oslo", "Bern", None, "Oslo"],
    "member": [True, None, False, True],
}
ENCODED = np.array(
    [[31.0, 60.5, 1.0, 1.0], [45.0, np.nan, 0.0, np.nan], [np.nan, 71.25, np.nan, 0.0], [8.0, 30.0, 1.0, 1.0]]
)

FRAMES = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas pyarrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas object": lambda columns: pd.DataFrame(columns, dtype=object),
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "narwhals": lambda columns: nw.from_native(pl.DataFrame(columns)),
}


@pytest.fixture(params=list(FRAMES))
def make(request: pytest.FixtureRequest) -> Any:
    return FRAMES[request.param]


@pytest.fixture(params=["pandas", "polars", "arrow"])
def make_plain(request: pytest.FixtureRequest) -> Any:
    return FRAMES[request.param]


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def encode_by_cell(kinds: dict[str, str], train: dict[str, list[Any]], table: dict[str, list[Any]]) -> np.ndarray:
    """Encode a table cell by cell, straight from the definition."""
    encoded = []
    for name, cells in table.items():
        present = [value for value in train[name] if not is_missing(value)]
        numeric = kinds[name] in ("number", "integer")
        categories = sorted(set(present))
        column = []
        for value in cells:
            if is_missing(value):
                column.append(math.nan)
            elif numeric:
                column.append(float(value))
            else:
                column.append(float(categories.index(value)) if value in categories else math.nan)
        encoded.append(column)
    return np.array(encoded, dtype=np.float64).T.reshape(-1, len(table))


def test_every_frame_gives_the_same_matrix(make: Any) -> None:
    table = make(PEOPLE)
    schema = TableSchema.learn(table)
    assert schema == TableSchema(tuple(PEOPLE), (None, None, ("Bern", "Oslo"), (False, True)))
    X = schema.encode(table)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert_array_equal(X, ENCODED)
    assert_array_equal(schema.n_categories, [0, 0, 2, 2])
    assert_array_equal(schema.categorical, [False, False, True, True])
    assert schema.n_features == 4
    assert schema.column(2) == "city"


CELLS = {
    "number": st.none() | st.floats(allow_infinity=False, width=32) | st.just(math.nan),
    "integer": st.none() | st.integers(1 - 2**53, 2**53 - 1),
    "text": st.none() | st.sampled_from(["", "a", "b", "B", "é", "10", "nan", "None", " a"]),
    "boolean": st.none() | st.booleans(),
}


@st.composite
def train_and_test(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, list[Any]], dict[str, list[Any]]]:
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5))
    n_train, n_test = draw(st.integers(1, 12)), draw(st.integers(0, 12))
    named = {f"c{j}": kind for j, kind in enumerate(kinds)}
    train = {name: draw(st.lists(CELLS[kind], min_size=n_train, max_size=n_train)) for name, kind in named.items()}
    test = {name: draw(st.lists(CELLS[kind], min_size=n_test, max_size=n_test)) for name, kind in named.items()}
    return named, train, test


POLARS = {"number": pl.Float64, "integer": pl.Int64, "text": pl.String, "boolean": pl.Boolean}
PANDAS = {"number": "float64", "integer": "Int64", "text": "str", "boolean": "boolean"}


@settings(max_examples=150, deadline=None)
@given(train_and_test())
def test_encoding_is_the_definition(case: tuple[dict[str, str], dict[str, list[Any]], dict[str, list[Any]]]) -> None:
    kinds, train, test = case
    schemas = []
    for make in (
        lambda columns: pl.DataFrame(columns, schema={name: POLARS[kind] for name, kind in kinds.items()}),
        lambda columns: pd.DataFrame({c: pd.array(columns[c], dtype=PANDAS[kinds[c]]) for c in kinds}),
        lambda columns: (
            pl.DataFrame(columns, schema={name: POLARS[kind] for name, kind in kinds.items()})
            .to_arrow()
            .replace_schema_metadata()
        ),
    ):
        schema = TableSchema.learn(make(train))
        assert_array_equal(schema.encode(make(train)), encode_by_cell(kinds, train, train))
        assert_array_equal(schema.encode(make(test)), encode_by_cell(kinds, train, test))
        assert TableSchema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
        schemas.append(schema)
    assert schemas[0] == schemas[1] == schemas[2]


def test_many_rows_and_columns() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(9_001, 67))
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    letters = np.array(["a", "b", "c", None], dtype=object)[rng.integers(0, 4, len(numbers))]
    table = pl.DataFrame(numbers).insert_column(40, pl.Series("letter", letters.tolist()))
    expected = np.insert(
        numbers, 40, pl.Series(letters.tolist()).replace_strict({"a": 0.0, "b": 1.0, "c": 2.0}), axis=1
    )
    for frame in (table, table.to_pandas(), table.to_arrow(), pl.concat([table[:5000], table[5000:]])):
        assert_array_equal(TableSchema.learn(frame).encode(frame), expected)


def test_an_index_of_a_pandas_frame_is_ignored() -> None:
    table = pd.DataFrame(PEOPLE, index=[7, 7, 3, 0])
    assert_array_equal(TableSchema.learn(table).encode(table), ENCODED)


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        (np.array([[1.0], [np.nan], [7.0]]), "7.0"),
        (pd.DataFrame({"c": [1.0, None, 7.0]}), "7.0"),
        (pl.DataFrame({"c": [1, None, 7]}), "7"),
    ],
    ids=["array", "pandas", "polars"],
)
def test_a_schema_that_refuses_unseen_categories_names_the_first(encoded: Any, value: str) -> None:
    schema = TableSchema(("c",), ((1, 3),), refuses_unknown=True)
    with pytest.raises(ValueError, match=f"column 'c' holds the category {value} at row 2, which did not occur"):
        schema.encode(encoded)
    known = encoded[:2]
    assert_array_equal(schema.encode(known).ravel(), [0, np.nan])


def test_a_categorical_column_without_values(make_plain: Any) -> None:
    schema = TableSchema((*"cx",), ((), None))
    assert_array_equal(schema.n_categories, [0, 0])
    assert not schema.categorical.any()
    assert np.isnan(schema.encode(make_plain({"c": ["a"], "x": [1.0]}))[0, 0])
    empty = pd.DataFrame({"c": pd.Series([None, None], dtype="str")})
    assert TableSchema.learn(empty).categories == ((),)
    undeclared = pd.DataFrame({"c": pd.Categorical([None, None], categories=["a"])})
    assert TableSchema.learn(undeclared).categories == ((),)


def test_a_column_may_be_all_missing_when_encoded() -> None:
    schema = TableSchema.learn(pl.DataFrame(PEOPLE))
    nothing = pl.DataFrame({name: [None] for name in PEOPLE})
    assert np.isnan(schema.encode(nothing)).all()
    assert np.isnan(schema.encode(nothing.cast(pl.String))).all()
    assert np.isnan(schema.encode(nothing.cast(pl.Float64))).all()
    assert np.isnan(schema.encode(pd.DataFrame({name: [np.nan] for name in PEOPLE}))).all()


@pytest.mark.parametrize("chosen", [["age"], [0], np.array([0]), [True, False], np.array([True, False])])
def test_categorical_features_by_name_index_or_mask(make_plain: Any, chosen: Any) -> None:
    table = make_plain({"age": [5, 3, 5], "member": [True, False, True]})
    schema = TableSchema.learn(table, categorical_features=chosen)
    assert schema.categories == ((3, 5), None)
    assert_array_equal(schema.encode(table), [[1, 1], [0, 0], [1, 1]])


def test_no_categorical_features(make_plain: Any) -> None:
    table = make_plain({"member": [True, False], "x": [1, 2]})
    for nothing in (None, [], ()):
        schema = TableSchema.learn(table, categorical_features=nothing)
        assert schema.categories == (None, None)
        assert_array_equal(schema.encode(table), [[1, 1], [0, 2]])
    with pytest.raises(ValueError, match="column 'city' holds text but is not among categorical_features"):
        TableSchema.learn(make_plain({"city": ["Oslo"]}), categorical_features=None)


def test_array_columns_by_index() -> None:
    X = np.array([[0.5, 7.0], [1.5, np.nan], [2.5, 3.0]])
    schema = TableSchema.learn(X, categorical_features=[1])
    assert schema.names is None
    assert schema.categories == (None, (3.0, 7.0))
    before = X.copy()
    assert_array_equal(schema.encode(X), [[0.5, 1], [1.5, np.nan], [2.5, 0]])
    assert_array_equal(X, before)
    assert TableSchema.learn(X).categories == (None, None)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("auto", "must be 'from_dtype', None or a list, got 'auto'"),
        (5, "must be 'from_dtype', None or a list, got 5"),
        (["agee"], "names 'agee', which is not there; did you mean 'age'?"),
        ([2], "gives column 2, but X has columns 0 to 1"),
        ([-1], "gives column -1"),
        ([True], "is a mask of 1, but X has 2 columns"),
        ([True, 1], "must be all names, all indices or a mask, got True"),
        (["age", 1], "must be all names, all indices or a mask, got 'age'"),
        ([0.5], "must be all names, all indices or a mask, got 0.5"),
    ],
)
def test_wrong_categorical_features(chosen: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        TableSchema.learn(pl.DataFrame({"age": [1], "weight": [2]}), categorical_features=chosen)


def test_names_need_named_columns() -> None:
    with pytest.raises(ValueError, match="the columns of X have none; give indices"):
        TableSchema.learn(np.zeros((2, 2)), categorical_features=["age"])


def test_columns_must_be_the_learned_ones_in_order(make_plain: Any) -> None:
    schema = TableSchema.learn(make_plain({"a": [1.0], "b": [2.0]}))
    for names, message in (
        ("ba", "another order than the learned ones: column 0 must be 'a', got 'b'"),
        ("ac", "not the learned ones: 'b' missing, 'c' unexpected"),
        ("a", "'b' missing"),
        ("abc", "'c' unexpected"),
    ):
        with pytest.raises(ValueError, match=message):
            schema.encode(make_plain({name: [2.0] for name in names}))


def test_tables_without_names_go_by_place() -> None:
    named = TableSchema.learn(pl.DataFrame({"a": [1.0], "b": [2.0]}))
    assert_array_equal(named.encode(np.array([[3, 4]])), [[3, 4]])
    assert_array_equal(named.encode(pd.DataFrame([[3, 4]])), [[3, 4]])
    nameless = TableSchema.learn(pd.DataFrame([["u", 4], ["v", 5]]))
    assert nameless == TableSchema(None, (("u", "v"), None))
    assert nameless.column(1) == "x1"
    assert_array_equal(nameless.encode(pl.DataFrame({"a": ["v"], "b": [1]})), [[1, 1]])
    for wrong in (np.zeros((2, 3)), pd.DataFrame(np.zeros((2, 3)))):
        with pytest.raises(ValueError, match="X has 3 features, but 2 features were learned"):
            named.encode(wrong)


def test_duplicate_and_mixed_names() -> None:
    for twice in (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ):
        assert is_frame(twice)
        with pytest.raises(ValueError, match="column name 'a' occurs more than once; rename"):
            TableSchema.learn(twice)
    with pytest.raises(TypeError, match="only supported if all input features have string names, but 1 is"):
        TableSchema.learn(pd.DataFrame([[1, 2]], columns=["a", 1]))


def test_infinity_is_refused_by_name_and_row(make_plain: Any) -> None:
    values = [0.0] * 20
    schema = TableSchema.learn(make_plain({"a": values, "age": values}))
    values[17] = -math.inf
    table = make_plain({"a": [0.0] * 20, "age": values})
    for call in (
        schema.encode,
        TableSchema(("a", "age"), (None, (0.0,))).encode,
        lambda X: TableSchema.learn(X, categorical_features=["age"]),
    ):
        with pytest.raises(ValueError, match="column 'age' holds infinity at row 17; replace it or mark it missing"):
            call(table)
    X = np.zeros((100_000, 3))
    X[99_998, 2] = np.inf
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="column 'x2' holds infinity at row 99998"):
        TableSchema.learn(X).encode(X)


def test_text_for_numbers_and_numbers_for_text(make_plain: Any) -> None:
    schema = TableSchema.learn(make_plain({"a": [1.0, 2.0], "b": ["u", "v"]}))
    for X, message in (
        (make_plain({"a": ["7", "x"], "b": ["u", "v"]}), r"column 'a' must hold numbers but holds text \('x'\)"),
        (make_plain({"a": [1.0, 2.0], "b": [1, 2]}), r"column 'b' must hold text categories \('u', 'v'\) but holds n"),
        (np.zeros((2, 2)), r"column 'b' must hold text categories.*pass a frame"),
    ):
        with pytest.raises(ValueError, match=message):
            schema.encode(X)


def test_categories_of_whole_numbers_are_named_as_integers() -> None:
    schema = TableSchema.learn(pl.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]}), categorical_features=["a"])
    with pytest.raises(ValueError, match="column 'a' must hold 0, 1, 2 and 1 more, as in training, but holds text"):
        schema.encode(pl.DataFrame({"a": ["x"]}))


def test_containers_that_are_refused() -> None:
    schema = TableSchema(("a",), (None,))
    for X, message in (
        (pl.LazyFrame({"a": [1.0]}), r"lazy frame.*X.collect\(\)"),
        (scipy.sparse.csr_array(np.eye(2)), r"sparse csr_array.*pass X.toarray\(\)"),
        (scipy.sparse.csc_matrix(np.eye(2)), r"sparse csc_matrix.*pass X.toarray\(\)"),
        (np.ma.masked_invalid([[np.nan]]), "mask would be lost"),
        (np.zeros(3), "Expected 2D array, got 1D array instead"),
        (pd.Series([1.0]), "Expected 2D array, got 1D array instead"),
    ):
        for refuse in (TableSchema.learn, schema.encode):
            with pytest.raises((TypeError, ValueError), match=message):
                refuse(X)


def test_arrays_that_are_no_numbers() -> None:
    of_text = r"column 'x0' holds .* at row [01], and X is an array; make it numeric"
    for X, message in (
        (np.array([["1.5"]]), of_text),
        (np.array([[1.5], ["a"]], dtype=object), of_text),
        (np.array([[b"u"]]), of_text),
        (np.array([[{"a": 1}]], dtype=object), r"argument must be .* string.* number"),
        (np.array([[1j]]), "Complex data not supported"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "make numbers of the times"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            TableSchema.learn(X)
    with pytest.raises(ValueError, match="column 'b' holds 'v' at row 0"):
        TableSchema(("a", "b"), (None, None)).encode(np.array([[1, "v"]], dtype=object))
    assert_array_equal(
        TableSchema(None, (None, None)).encode(np.array([[1, None], [2, 3.5]], dtype=object)),
        [[1, np.nan], [2, 3.5]],
    )


def test_any_number_of_categories() -> None:
    table = pl.DataFrame({"c": [f"v{i:05}" for i in range(70_000)]})
    schema = TableSchema.learn(table)
    assert schema.n_categories[0] == 70_000
    assert_array_equal(schema.encode(table).ravel(), np.arange(70_000.0))


NUMBERED = TableSchema(
    ("size", "town"), (None, ("Bern", "Oslo")), values=(None, CategoryValues((0.25, 0.5), 0.4, "mean"))
)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_numbers_stand_for_categories(make: Any) -> None:
    X = NUMBERED.encode(make({"size": [1.0, 2.0, 3.0, 4.0], "town": ["Oslo", "Bern", "Rome", None]}))
    assert_array_equal(X, [[1.0, 0.5], [2.0, 0.25], [3.0, 0.4], [4.0, np.nan]])


def test_numbers_stand_for_categories_of_numbers() -> None:
    schema = TableSchema(None, ((3.0, 7.0),), values=(CategoryValues((0.25, 0.5), 0.4, "mean"),))
    expected = [[0.5], [0.25], [0.4], [np.nan]]
    assert_array_equal(schema.encode(np.array([[7.0], [3.0], [5.0], [np.nan]])), expected)
    declared = pd.DataFrame({"x0": pd.Categorical([7, 3, 5, None])})
    assert_array_equal(schema.encode(declared), expected)


def test_a_column_of_numbers_for_categories_is_numeric_to_trees() -> None:
    assert NUMBERED.n_categories.tolist() == [0, 0]
    assert NUMBERED.n_levels.tolist() == [0, 2]
    assert NUMBERED.categorical.tolist() == [False, False]
    assert (NUMBERED.coded(1), NUMBERED.column(1), NUMBERED.quantity(1)) == (None, "town", "mean by town")
    plain = TableSchema(NUMBERED.names, NUMBERED.categories)
    assert (plain.coded(1), plain.quantity(1)) == (("Bern", "Oslo"), "town")
    assert plain.with_values({1: CategoryValues((0.25, 0.5), 0.4, "mean")}) == NUMBERED


@pytest.mark.parametrize(
    "values",
    [
        (None,),
        (None, CategoryValues((0.25,), 0.4, "mean")),
        (CategoryValues((0.25,), 0.4, "mean"), None),
        (None, None, CategoryValues((0.25,), 0.4, "mean")),
    ],
)
def test_values_that_do_not_fit_the_categories_are_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="values"):
        TableSchema(NUMBERED.names, NUMBERED.categories, values=values)


def test_many_numbers_are_stored_as_base64_of_their_bits() -> None:
    numbers = CategoryValues(tuple(np.random.default_rng(0).normal(size=50).tolist()), 0.1, "mean")
    stored = numbers.to_json()
    assert type(stored["values"]) is str and CategoryValues.from_json(stored) == numbers
    assert CategoryValues.from_json(stored | {"values": list(numbers.values)}) == numbers  # as earlier files
    assert CategoryValues((0.0, 1.0), 0.5, "mean").to_json()["values"] == [0.0, 1.0]


def test_a_float64_array_is_passed_through() -> None:
    X = np.arange(12.0).reshape(4, 3)
    schema = TableSchema.learn(X)
    assert schema.encode(X) is X or np.shares_memory(schema.encode(X), X)
    for other in (np.asfortranarray(X), X.astype(np.float32), X.astype(int), X.tolist()):
        encoded = schema.encode(other)
        assert encoded.dtype == np.float64
        assert encoded.flags.c_contiguous
        assert_array_equal(encoded, X)


def test_is_frame() -> None:
    assert all(is_frame(make({"a": [1]})) for make in (pd.DataFrame, pl.DataFrame, pa.table, pl.LazyFrame))
    others = (np.eye(2), [[1]], ([1],), scipy.sparse.csr_array(np.eye(2)), None, 3, "a", {"a": [1]})
    assert not any(map(is_frame, (*others, pd.Series([1]), pl.Series([1]))))


def test_arrays_do_not_import_frame_libraries() -> None:
    program = (
        "import sys, numpy as np\n"
        "from committee.data.columns import is_frame\nfrom committee.data.table_schema import TableSchema\n"
        "X = np.eye(2); TableSchema.learn(X).encode(X); is_frame([[1]])\n"
        "import committee.data.readers.tables, committee.data.examples\n"
        "print(sorted({'narwhals', 'polars', 'pandas', 'pyarrow', 'sklearn'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


MALFORMED_CATEGORIES: list[Any] = [
    *([], {"a": None}, ["ab"], [3]),
    *([[each]] for each in (10**400, math.nan, math.inf, None, ["a"], "\udfff")),
    *([each] for each in (["a", "a"], ["a", 1], [True, 1], [True, True], [1, 1.0], [2**53, 2**53 + 1])),
]
MALFORMED_NAMES: list[Any] = ["a", ["a"], ["a", "a"], ["a", 1], ["a", None], ["\ud800", "b"]]
NUMBERS: dict[str, Any] = {"values": [1.0], "unknown": 0.5, "of": "mean"}
MALFORMED_VALUES: list[Any] = [
    *([], None, [None], {"0": None}, [[1.0]], [{"values": [1.0], "unknown": 0.5}]),
    *([NUMBERS | {"values": each}] for each in ([1.0, 2.0], [math.nan], [True], [10**400], ["1"], 1.0)),
    *([NUMBERS | {"values": each}] for each in ("AAAAAAAA+H8=", "AAAA", "!", "")),
    *([NUMBERS | each] for each in ({"unknown": None}, {"of": 3})),
]


@pytest.mark.parametrize(
    "stored",
    [
        *(None, [], {}, {"names": None}, {"names": None, "categories": [None], "more": 1}),
        *({"names": None, "categories": [None], "refuses_unknown": each} for each in (False, 1)),
        *({"names": None, "categories": each} for each in MALFORMED_CATEGORIES),
        *({"names": each, "categories": [None, None]} for each in MALFORMED_NAMES),
        *({"names": None, "categories": [["a"]], "values": each} for each in MALFORMED_VALUES),
        {"names": None, "categories": [None, ["a"]], "values": [None, None]},
        {"names": None, "categories": [None], "written": ["duration"], "typed": False},
        {"names": None, "categories": [[1, 2]], "rounding": "ceil"},
        {"names": None, "categories": [None], "written": ["0,5"], "typed": True},
    ],
)
def test_malformed_json_is_refused(stored: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        TableSchema.from_json(stored)


def test_json_keeps_kinds_and_order() -> None:
    schema = TableSchema(("a", "b", "c", "d", "e"), (None, ("s", "m", "l"), (3, 1), (False, True), ()))
    again = TableSchema.from_json(json.loads(json.dumps(schema.to_json())))
    assert again == schema
    assert TableSchema.from_json(json.loads(json.dumps(NUMBERED.to_json()))) == NUMBERED
    assert [type(found[0]) for found in again.categories if found] == [str, int, bool]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(json_values, json_values)
def test_any_json_gives_a_schema_or_a_value_error(names: Any, categories: Any) -> None:
    stored = {"names": names, "categories": categories}
    try:
        schema = TableSchema.from_json(stored)
    except ValueError:
        return
    assert TableSchema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**62])
@pytest.mark.parametrize("make", [lambda x: np.array(x), pd.DataFrame, lambda x: pl.DataFrame(x, orient="row")])
def test_whole_categories_that_float64_cannot_tell_apart_are_refused(make, value):
    table = make([[value, 1], [value + 1, 2], [3, 3]])
    with pytest.raises(ValueError, match=r"has the category .*; whole numbers of size 2\*\*53 and more"):
        TableSchema.learn(table, categorical_features=[0])
    assert TableSchema.learn(table, categorical_features=[1]).categories[1] == (1, 2, 3)


def test_whole_categories_just_below_are_told_apart():
    table = pl.DataFrame({"id": [2**53 - 1, 2**53 - 2, 2**53 - 1]})
    schema = TableSchema.learn(table, categorical_features=["id"])
    assert schema.categories == ((2**53 - 2, 2**53 - 1),)
    assert schema.encode(table)[:, 0].tolist() == [1.0, 0.0, 1.0]


SIZES = ["s", "m", "l", "xl"]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"c": pd.Categorical(["m", "s", None, "l"], categories=SIZES, ordered=True)}),
        pl.DataFrame({"c": pl.Series(["m", "s", None, "l"], dtype=pl.Enum(SIZES))}),
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
def test_categories_that_occur_are_in_their_declared_order_or_sorted(table: Any) -> None:
    declared = len(table) == 4
    schema = TableSchema.learn(table)
    assert schema.categories == (("s", "m", "l") if declared else ("a", "x"),)
    assert_array_equal(schema.encode(table).ravel(), [1, 0, np.nan, 2] if declared else [1, np.nan, 0])


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
    assert_array_equal(schema.encode(table).ravel(), [three, np.nan, 1 - three])
    # the same values in a plain column mean the same categories
    assert_array_equal(schema.encode(pl.DataFrame({"c": [1.0, 2.0, 3.0]})).ravel(), [1 - three, np.nan, three])


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
    assert_array_equal(schema.encode(table).ravel(), np.array(expected, dtype=np.float64))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.Series([[1]]), "column 'c' holds List.*spread it"),
        (pl.Series([{"a": 1}]), "column 'c' holds Struct.*spread"),
        (pl.Series([b"a"]), "column 'c' holds Binary.*decode"),
        (pl.Series([object()], dtype=pl.Object), "column 'c' holds Object"),
        (pd.Series([1j]), "Complex data not supported: column 'c' holds complex128"),
        (pd.Series(pd.Categorical(pd.to_datetime(["2020-01-01"]))), "column 'c' has categories of type date"),
        (pd.Series(pd.Categorical(["a", 1])), "column 'c' has categories of type number and text"),
        (pd.Series([None, "a", 1], dtype=object), r"column 'c' mixes text with 1 of type int \(row 2\)"),
        (pd.Series([1, "a"], dtype=object), r"column 'c' mixes numbers with 'a' of type str \(row 1\)"),
        (pd.Series(["a"] * 500 + [{}], dtype=object), r"column 'c' mixes text with {} of type dict \(row 500\)"),
        (pd.Series([{"u": 1}], dtype=object), r"column 'c' holds {'u': 1} of type dict \(row 0\)"),
        (pd.Series([Decimal(1)], dtype=object), "column 'c' holds Decimal"),
        (pd.Series([True, 2.0], dtype=object), "column 'c' mixes booleans with 2.0"),
    ],
)
def test_columns_that_can_be_no_feature(column: Any, message: str) -> None:
    table = pl.DataFrame({"c": column}) if isinstance(column, pl.Series) else pd.DataFrame({"c": column})
    for categorical_features in ("from_dtype", None, ["c"]):
        with pytest.raises(ValueError, match=message):
            TableSchema.learn(table, categorical_features=categorical_features)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        TableSchema(("c",), (None,)).encode(table)


@given(st.text(st.characters(exclude_categories=[])))
def test_nothing_is_left_that_a_terminal_obeys_and_nothing_is_lost(text):
    shown = printable(text)
    assert not {unicodedata.category(c) for c in shown if c not in "\n\u200c\u200d"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    if "\\" not in text:
        quoted = shown.replace("\n", "\\n").replace("'", "\\'")
        assert ast.literal_eval(f"'{quoted}'") == text


def test_words_of_all_languages_stay():
    for text in ("plain", "größer", "日本語", "नमस्\u200dते", "a\u00a0b", "🙂"):
        assert printable(text) == text
    assert printable("\x1b]0;title\x07\x9b1m\u202e\r") == r"\x1b]0;title\x07\x9b1m\u202e\r"
