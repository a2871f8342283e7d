"""A matrix from the columns of a frame."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from committee import _core


@given(st.data(), st.integers(0, 600), st.integers(1, 70), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_columns_of_doubles_and_floats_are_put_together(data, n, p, seed, n_threads):
    rng = np.random.default_rng(seed)
    kinds = [np.float64, np.float32]
    columns = [rng.normal(size=n * stride)[::stride].astype(kinds[j % 2]) for j, stride in enumerate([1, 3] * p)][:p]
    columns = [np.repeat(column, 2)[::2] if j % 3 == 0 else column for j, column in enumerate(columns)]
    special = data.draw(st.sampled_from([None, np.nan, np.inf, -np.inf]))
    if special is not None and n:
        columns[data.draw(st.integers(0, p - 1))][data.draw(st.integers(0, n - 1))] = special
    first = data.draw(st.integers(0, 3))
    matrix = np.full((n, p + 4), 7.0)
    infinite = _core.put_together(columns, matrix, first, n_threads)
    expected = np.full((n, p + 4), 7.0)
    for j, column in enumerate(columns):
        expected[:, first + j] = column
    np.testing.assert_array_equal(matrix, expected)
    assert infinite == np.isinf(expected).any()


def test_sizes_are_checked():
    matrix, column = np.zeros((3, 2)), np.zeros(3)
    with pytest.raises(ValueError, match="the columns must lie within the matrix"):
        _core.put_together([column, column], matrix, 1, 1)
    with pytest.raises(ValueError, match="the columns must lie within the matrix"):
        _core.put_together([column], matrix, -1, 1)
    with pytest.raises(ValueError, match="columns need one number per row"):
        _core.put_together([column[:2]], matrix, 0, 1)
    with pytest.raises(TypeError):
        _core.put_together([column.astype(int)], matrix.astype(int), 0, 1)  # type: ignore[arg-type, list-item]
