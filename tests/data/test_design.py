"""What leaf models see: every encoded column as numbers, and no column lost or made up."""

import json
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee.data.design import MAX_NUMBER, Design
from committee.data.table_schema import TableSchema

nan = np.nan


def learned(X: Any, n_categories: list[int], weights: Any = None) -> Design:
    X = np.array(X, dtype=np.float64)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    return Design.learn(X, w, np.array(n_categories, dtype=np.int32))


def of_frame(table: Any, **options: Any) -> tuple[TableSchema, NDArray[np.float64], Design]:
    """Schema of a table, its encoded matrix and its design."""
    schema = TableSchema.learn(table, **options)
    X = schema.encode(table)
    return schema, X, Design.learn(X, np.ones(len(X)), schema.n_categories)


def by_hand(design: Design, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cell by cell."""
    D = np.empty((len(X), len(design)))
    for i, row in enumerate(X):
        for c in range(len(design)):
            value, code = row[design.source[c]], design.category[c]
            if code == -1:
                D[i, c] = design.fill[design.source[c]] if np.isnan(value) else value
            elif code == -2:
                D[i, c] = 1.0 if np.isnan(value) else 0.0
            else:
                D[i, c] = 1.0 if value == code else 0.0
    return D


@st.composite
def tables(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_categories = draw(st.integers(1, 20)), draw(st.lists(st.sampled_from([0, 0, 1, 2, 3, 40]), min_size=1))
    columns = [rng.normal(size=n) if k == 0 else rng.integers(0, k, n) for k in n_categories]
    X = np.column_stack(columns).astype(np.float64)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.0, 0.3, 1.0]))] = nan
    return X, np.array(n_categories, dtype=np.int32)


@given(tables(), tables())
def test_matrix_is_the_one_by_hand(table, other):
    X, n_categories = table
    design = Design.learn(X, np.ones(len(X)), n_categories)
    assert design.source.dtype == design.category.dtype == np.int32
    assert_array_equal(design.matrix(X), by_hand(design, X))
    D = design.matrix(X)
    assert D.shape == (len(X), len(design)) and np.isfinite(D).all()
    assert design.matrix(X[:0]).shape == (0, len(design))
    new = np.resize(other[0], (7, X.shape[1]))  # other values, other gaps, codes that no column knows
    assert_array_equal(design.matrix(new), by_hand(design, new))


def test_blocks_of_rows_and_wild_numbers_are_those_by_hand(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=50), rng.integers(0, 3, 50), rng.normal(size=50)])
    X[rng.random(X.shape) < 0.2] = nan
    design = Design.learn(X, np.ones(50), np.array([0, 3, 0], dtype=np.int32))
    X[7, 0], X[31, 2] = 1e300, -np.inf
    expected = np.clip(by_hand(design, X), -MAX_NUMBER, MAX_NUMBER)
    for cells in (1, 3 * len(design), 10**6):
        monkeypatch.setattr("committee.data.design._CELLS", cells)
        assert_array_equal(design.matrix(X), expected)


@given(tables())
def test_columns_come_in_the_order_of_the_table(table):
    X, n_categories = table
    design = Design.learn(X, np.ones(len(X)), n_categories)
    expected = []
    for j, k in enumerate(n_categories.tolist()):
        expected += [(j, -1)] if k == 0 else [(j, 1)] if k == 2 else [(j, code) for code in range(k)]
        expected += [(j, -2)] if np.isnan(X[:, j]).any() else []
    assert list(zip(design.source.tolist(), design.category.tolist(), strict=True)) == expected


def test_numbers_without_gaps_are_the_table_itself():
    X = np.arange(6.0).reshape(3, 2)
    design = learned(X, [0, 0])
    assert design.matrix(X) is X
    assert_array_equal(design.matrix(np.array([[nan, 9.0]])), [[2.0, 9.0]])


def test_missing_numbers_become_the_weighted_mean_of_the_others():
    X = [[1.0], [nan], [3.0], [7.0]]
    for weights in ([1.0, 5.0, 1.0, 2.0], [1e-200, 5e-200, 1e-200, 2e-200]):
        design = learned(X, [0], weights)
        assert design.fill[0] == pytest.approx(18 / 4)
        assert_allclose(design.matrix(np.array(X)), [[1.0, 0.0], [4.5, 1.0], [3.0, 0.0], [7.0, 0.0]])
    nothing = learned([[nan], [nan]], [0])
    assert_array_equal(nothing.matrix(np.array([[nan], [5.0]])), [[0.0, 1.0], [5.0, 0.0]])


def test_mean_of_very_large_numbers_is_finite():
    assert_allclose(learned([[1e308], [1.2e308], [nan], [1.4e308]], [0]).fill, 1.2e308)


def test_unseen_category_is_missing():
    frame = pl.DataFrame({"city": ["Oslo", "Bergen", None, "Oslo", "Tromsø"], "size": [1.0, 2.0, 3.0, 4.0, None]})
    table, _, design = of_frame(frame)
    unseen = pl.DataFrame({"city": ["Paris", None], "size": [1.0, 1.0]})
    rows = design.matrix(table.encode(unseen))
    assert_array_equal(rows[0], rows[1])
    assert design.names(table) == [
        "city = Bergen",
        "city = Oslo",
        "city = Tromsø",
        "city missing",
        "size",
        "size missing",
    ]
    assert_array_equal(rows[0], [0.0, 0.0, 0.0, 1.0, 1.0, 0.0])


def test_names_of_every_kind_of_column():
    table, _, design = of_frame(pl.DataFrame({"old": [True, False, None], "n": [1, 2, 3]}))
    assert design.names(table) == ["old = True", "old missing", "n"]
    nameless, _, design = of_frame(np.array([[0.0, nan, 1.0], [1.0, 2.0, 5.0]]), categorical_features=[2])
    assert design.names(nameless) == ["x0", "x1", "x1 missing", "x2 = 5.0"]


def test_column_of_text_that_is_never_there():
    table, X, design = of_frame(pl.DataFrame({"note": pl.Series([None, None], dtype=pl.String), "n": [1.0, 2.0]}))
    assert np.isfinite(design.matrix(X)).all()
    assert len(design.names(table)) == len(design)


@given(tables())
def test_json_holds_the_design(table):
    X, n_categories = table
    design = Design.learn(X, np.ones(len(X)), n_categories)
    stored = json.loads(json.dumps(design.to_json()))
    twin = Design(
        np.array(stored["source"], dtype=np.int32),
        np.array(stored["category"], dtype=np.int32),
        np.array(stored["fill"]),
    )
    assert_array_equal(twin.matrix(X), design.matrix(X))


def test_more_indicators_than_memory_are_refused_by_name():
    table = TableSchema(("size", "name", "kind"), (None, tuple(range(60_000)), (False, True)))
    X = np.zeros((5_000, 3))
    with pytest.raises(ValueError, match=r"5,000 rows .* 60,000 of them for column 'name', need more than 268,435,456"):
        Design.of_table(X, np.ones(len(X)), table)
    assert len(Design.of_table(X[:10], np.ones(10), table)) == 60_002
