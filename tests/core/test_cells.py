"""Cells: sums of row values, of pairs, and back to rows."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from committee import _core
from tests.oracles import votes as oracle


@st.composite
def tables(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.float64]]:
    """Codes, bins of the columns, and a value for each row."""
    n, p = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    n_bins = np.array(draw(st.lists(st.integers(1, 300), min_size=p, max_size=p)), np.int32)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = np.uint16 if n_bins.max() > 255 else np.uint8
    codes = np.column_stack([rng.integers(0, b + 1, n) for b in n_bins]).astype(dtype)
    return np.ascontiguousarray(codes), n_bins, rng.normal(size=n) * 10.0 ** rng.integers(-8, 8)


@given(tables())
def test_sums_are_those_of_the_rows_in_each_cell(case: Any) -> None:
    codes, n_bins, values = case
    sums = _core.Cells(codes, n_bins, 1).sums(values)
    np.testing.assert_allclose(
        sums, oracle.cell_sums(codes, n_bins, values), rtol=1e-12, atol=1e-14 * np.abs(values).sum()
    )


@given(tables())
def test_pairs_are_the_weight_that_cells_share(case: Any) -> None:
    codes, n_bins, values = case
    masks, w = oracle.cell_masks(codes, n_bins), np.abs(values)
    pairs = _core.Cells(codes, n_bins, 1).pairs(w)
    np.testing.assert_allclose(pairs, (masks.T * w) @ masks, rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(pairs, pairs.T)


@given(tables(), st.integers(1, 3))
def test_scores_add_up_what_the_cells_of_a_row_give(case: Any, k: int) -> None:
    codes, n_bins, _ = case
    masks = oracle.cell_masks(codes, n_bins)
    by_cell = np.random.default_rng(0).normal(size=(masks.shape[1], k))
    scores = _core.Cells(codes, n_bins, 1).scores(by_cell)
    np.testing.assert_allclose(scores, masks @ by_cell, rtol=1e-12, atol=1e-14)


@given(tables())
def test_shift_adds_one_columns_numbers(case: Any) -> None:
    codes, n_bins, values = case
    by_bin = np.random.default_rng(0).normal(size=n_bins[0] + 1)
    expected = values + by_bin[codes[:, 0]]
    _core.Cells(codes, n_bins, 1).shift(values, 0, by_bin)
    np.testing.assert_array_equal(values, expected)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    n, p = 60_000, 24
    codes, n_bins = rng.integers(0, 30, (n, p)).astype(np.uint8), np.full(p, 29, np.int32)
    values = rng.normal(size=n)
    one, three = _core.Cells(codes, n_bins, 1), _core.Cells(codes, n_bins, 3)
    np.testing.assert_array_equal(one.sums(values), three.sums(values))
    np.testing.assert_array_equal(one.pairs(values), three.pairs(values))
    by_cell = rng.normal(size=(p * 30, 2))
    np.testing.assert_array_equal(one.scores(by_cell), three.scores(by_cell))


def test_sums_of_nothing_are_nothing() -> None:
    cells = _core.Cells(np.zeros((3, 1), np.uint8), np.ones(1, np.int32), 1)
    assert cells.sums(np.zeros(3)).tolist() == [0.0, 0.0]
    assert cells.sums(np.full(3, 5e-324)).sum() <= 1.5e-323


def test_what_does_not_fit_is_refused() -> None:
    codes, n_bins = np.zeros((3, 2), np.uint8), np.ones(2, np.int32)
    cells = _core.Cells(codes, n_bins, 1)
    with pytest.raises(ValueError, match="finite"):
        cells.sums(np.array([1.0, np.nan, 0.0]))
    with pytest.raises(ValueError, match="one number per row"):
        cells.sums(np.ones(4))
    with pytest.raises(ValueError, match="one row per cell"):
        cells.scores(np.ones((3, 1)))
    with pytest.raises(ValueError, match="no column"):
        cells.shift(np.ones(3), 2, np.ones(2))
    with pytest.raises(ValueError, match="one number per bin"):
        cells.shift(np.ones(3), 0, np.ones(3))
    with pytest.raises(ValueError, match="exceed"):
        _core.Cells(codes + 3, n_bins, 1)
