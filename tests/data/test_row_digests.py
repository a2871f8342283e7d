"""Numbers of rows by what they hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from committee import _core
from committee.data.row_digests import row_digests, unordered_digests
from committee.data.sparse import SparseMatrix
from tests.oracles import bins as oracle

seeds = st.integers(0, 2**32 - 1)


def sparse_table(seed: int, n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 1) * (rng.random((n, 5)) < 0.4)
    X[5, 2], X[6, 1], X[7, 3], X[8, 4] = np.nan, -0.0, -1e300, 1e-60
    return X


def test_digests_are_those_of_the_oracle_dense_and_sparse():
    X = sparse_table(1)
    sparse = SparseMatrix.read(csr_array(X))
    stored = (sparse.start, sparse.column, sparse.value)
    rng = np.random.default_rng(0)
    columns, rows = (rng.integers(2**64, size=n, dtype=np.uint64) for n in X.shape[::-1])
    of_rows = oracle.row_digests(X, columns.tolist())
    for threads in (1, 3):
        assert _core.row_digests(X, columns, threads).tolist() == of_rows
        assert _core.stored_row_digests(*stored, columns, threads).tolist() == of_rows
    of_columns = oracle.column_digests(X, rows.tolist())
    assert _core.column_digests(X, rows).tolist() == of_columns
    assert _core.stored_column_digests(*stored, rows, X.shape[1]).tolist() == of_columns
    assert row_digests(X, 1).tolist() == row_digests(sparse, 1).tolist() == oracle.row_digests(X, [1, 2, 3, 4, 5])


@given(seeds, st.permutations(range(5)))
def test_unordered_digests_know_no_order(seed, columns):
    X = np.unique(sparse_table(seed, 40), axis=0)
    labels = np.random.default_rng(seed).integers(0, 3, len(X)).astype(np.uint16)
    order = np.random.default_rng(seed).permutation(len(X))
    for classes in (None, labels):
        digests = unordered_digests(X, 1, classes)
        assert_array_equal(unordered_digests(np.ascontiguousarray(X[:, list(columns)]), 1, classes), digests)
        among = None if classes is None else classes[order]
        assert_array_equal(unordered_digests(X[order], 1, among), digests[order])
        assert_array_equal(unordered_digests(SparseMatrix.read(csr_array(X)), 1, classes), digests)


@given(seeds)
def test_different_rows_have_different_digests(seed):
    X = np.unique(np.random.default_rng(seed).integers(0, 3, (40, 6)).astype(float), axis=0)
    for digests in (row_digests(X, 1), unordered_digests(X, 1)):
        assert len(set(digests.tolist())) == len(X)


def test_wrong_sizes_are_refused():
    X = sparse_table(1)
    sparse = SparseMatrix.read(csr_array(X))
    start, column, value = sparse.start, sparse.column, sparse.value
    columns, rows = np.zeros(5, dtype=np.uint64), np.zeros(300, dtype=np.uint64)
    with pytest.raises(ValueError, match="column_number needs one number per column"):
        _core.row_digests(X, columns[1:], 1)
    with pytest.raises(ValueError, match="row_number needs one number per row"):
        _core.column_digests(X, rows[1:])
    with pytest.raises(ValueError, match="start must go from 0"):
        _core.stored_row_digests(start[:-1], column, value, columns, 1)
    with pytest.raises(ValueError, match="column needs one number"):
        _core.stored_row_digests(start, column[1:], value, columns, 1)
    with pytest.raises(ValueError, match="column must lie within"):
        _core.stored_row_digests(start, column, value, columns[:2], 1)
    with pytest.raises(ValueError, match="column must lie within"):
        _core.stored_column_digests(start, column, value, rows, 2)
    unsorted = start.copy()
    unsorted[1], unsorted[2] = 10, 2
    with pytest.raises(ValueError, match="must not decrease"):
        _core.stored_row_digests(unsorted, column, value, columns, 1)
