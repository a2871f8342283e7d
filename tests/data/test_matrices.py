"""Sparse matrices, read as `toarray` reads them, and matrices of tables in pieces, which are nowhere as a whole."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from committee import scan
from committee.data.bins import Bins, cell_sums, row_digests, unordered_digests
from committee.data.matrices import SparseMatrix
from committee.data.out_of_core.scan import draw_stratified_rows
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix, Storage, scan_training_pieces
from committee.data.table_schema import TableSchema
from tests.table_checks import cut, sampled

FORMATS = [scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.csc_matrix]


@st.composite
def raw(draw):
    """Parts of a matrix as scipy lets them be: in any order, some places several times, stored zeros and NaN."""
    n, p = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    size = draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    start = np.concatenate([[0], np.cumsum(size)])
    place = draw(st.lists(st.integers(0, p - 1), min_size=int(start[-1]), max_size=int(start[-1])))
    kind = draw(st.sampled_from([np.float64, np.float32, np.int8, np.bool_]))
    values = [0.0, 0.1, -1.5, 100.0, *([np.nan] if kind in (np.float64, np.float32) else [])]
    value = np.array(draw(st.lists(st.sampled_from(values), min_size=len(place), max_size=len(place))), dtype=kind)
    index = draw(st.sampled_from([np.int32, np.int64]))
    return (value, np.array(place, dtype=index), start.astype(index)), (n, p)


@given(raw(), st.sampled_from(FORMATS))
def test_sparse_tables_are_read_as_toarray_would(parts, make):
    arrays, shape = parts
    X = make(arrays, shape=shape if "csr" in make.__name__ else shape[::-1])
    before = [array.copy() for array in (X.data, X.indices, X.indptr)]
    expected = X.toarray().astype(np.float64)
    matrix = SparseMatrix.read(X)
    assert matrix.shape == X.shape
    assert len(matrix) == X.shape[0]
    (all_rows,) = matrix.blocks(np.arange(X.shape[1]))
    assert_array_equal(all_rows, expected)
    for array, was in zip((X.data, X.indices, X.indptr), before, strict=True):
        assert_array_equal(array, was)  # the user's matrix is as it was


@given(raw(), st.data())
def test_some_rows_and_the_values_of_columns(parts, data):
    arrays, shape = parts
    X = scipy.sparse.csr_array(arrays, shape=shape)
    matrix, expected = SparseMatrix.read(X), X.toarray().astype(np.float64)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=shape[0], max_size=shape[0])), dtype=bool)
    for index in (mask, np.flatnonzero(mask)[::-1], slice(1, None)):
        (some,) = matrix[index].blocks(np.arange(shape[1]))
        assert_array_equal(some, expected[index])
    for j, values in enumerate(matrix.columns()):
        assert_array_equal(np.unique(values), np.unique(expected[:, j]))


def test_blocks_are_all_rows_whatever_their_size(monkeypatch):
    monkeypatch.setattr("committee.data.matrices._BLOCK", 8)
    X = scipy.sparse.random_array((23, 5), density=0.4, format="csr", rng=np.random.default_rng(0))
    blocks = list(SparseMatrix.read(X).blocks(np.array([1, 3, 4])))
    assert len(blocks) == 12
    assert_array_equal(np.concatenate(blocks), X.toarray()[:, [1, 3, 4]])


def damaged(**parts):
    """A matrix whose parts were changed behind scipy's back."""
    X = scipy.sparse.csr_array(np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0], [0.0, 0.0, 4.0]]))
    for name, change in parts.items():
        setattr(X, name, change(getattr(X, name).astype(np.int64)))
    return X


def put(at, value):
    return lambda array: np.where(np.arange(len(array)) == at, value, array)


DAMAGED = {
    "a column beyond the table": (damaged(indices=put(1, 3)), "indices are not all between 0 and 2"),
    "a negative column": (damaged(indices=put(1, -1)), "indices are not all between 0 and 2"),
    "a column beyond 32 bits": (damaged(indices=put(1, 2**32)), "indices are not all between 0 and 2"),
    "rows that fall": (damaged(indptr=put(1, 5)), "indptr does not rise from 0 in 3 steps, one for each row"),
    "rows that begin late": (damaged(indptr=put(0, 1)), "indptr does not rise from 0"),
    "rows that begin before 0": (damaged(indptr=put(0, -1)), "indptr does not rise from 0"),
    "rows beyond the cells": (damaged(indptr=put(3, 99)), "indptr ends at 99, beyond its 4 indices or 4 values"),
    "rows beyond all memory": (damaged(indptr=put(3, 2**62)), "indptr ends at"),
    "too few rows": (damaged(indptr=lambda array: array[:2]), "indptr does not rise from 0 in 3 steps"),
    "rows of floats": (damaged(indptr=lambda array: array.astype(float)), "its indptr is malformed"),
    "objects": (damaged(data=lambda array: array.astype(object)), r"array of object; make it one of numbers, X.astype"),
}


@pytest.mark.parametrize("case", DAMAGED)
@pytest.mark.parametrize("by_row", [True, False])
def test_damaged_matrices_are_refused(case, by_row):
    X, message = DAMAGED[case]
    if not by_row:
        whole = scipy.sparse.csc_array(np.eye(3))
        whole.data, whole.indices, whole.indptr = X.data, X.indices, X.indptr
        X, message = whole, message.replace("each row", "each column")
    with pytest.raises(ValueError, match=message):
        SparseMatrix.read(X)


REFUSED = {
    "one dimension": (scipy.sparse.csr_array(np.ones(3)), ValueError, "Expected 2D array, got a sparse 1D array"),
    "complex": (scipy.sparse.csr_array(np.eye(2) * 1j), ValueError, "Complex data not supported: X is a sparse array"),
    "no rows": (scipy.sparse.csr_array((0, 2)), ValueError, r"0 sample\(s\)"),
    "no columns": (scipy.sparse.csr_array((2, 0)), ValueError, r"0 feature\(s\)"),
    "too many columns": (scipy.sparse.csr_array((2, 2**29)), ValueError, r"at most 2\^31 - 1 rows and 2\^29 - 1 colu"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_refused(case):
    X, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        SparseMatrix.read(X)


def test_schema_of_a_sparse_table():
    X = SparseMatrix.read(scipy.sparse.csr_array([[0.0, 2.0], [np.inf, 0.0]]))
    schema = TableSchema.of_sparse(X)
    assert schema.categories == (None, None)
    assert TableSchema.of_sparse(X, []).categories == (None, None)
    with pytest.raises(ValueError, match=r"names column 1 of a sparse table.*one-hot encode it, or pass X.toarray"):
        TableSchema.of_sparse(X, [1])
    with pytest.raises(ValueError, match="column 'x0' holds infinity at row 1; replace it or mark it missing"):
        schema.encode_sparse(X)
    with pytest.raises(ValueError, match="X has 2 features, but 1 features were learned"):
        TableSchema(None, (None,)).encode_sparse(X)
    with pytest.raises(ValueError, match="X is sparse, but column 'x1' has categories"):
        TableSchema(None, (None, (1, 2))).encode_sparse(X)
    assert schema.encode_sparse(X[:1]).shape == (1, 2)


X = np.random.default_rng(0).normal(size=(90, 3)).round(1)
X[X > 1.5] = np.nan
WEIGHTS = np.random.default_rng(1).integers(0, 3, 90).astype(float)
COUNTED = X[WEIGHTS > 0]


@pytest.fixture
def matrix(tmp_path: Path) -> OutOfCoreMatrix:
    looked = scan_training_pieces(
        scan(cut([20, 20, 71, 90], X)), np.zeros(90), WEIGHTS, Storage(None, lambda: tmp_path)
    )
    return OutOfCoreMatrix(looked, looked.summary.schema)


def test_it_answers_as_the_matrix_in_memory(matrix):
    assert matrix.shape == COUNTED.shape and len(matrix) == len(COUNTED) and matrix.ndim == 2
    assert_array_equal(matrix.dense, COUNTED)
    assert_array_equal(matrix[[5, 3, 3]], COUNTED[[5, 3, 3]])
    assert_array_equal(matrix[COUNTED[:, 0] > 0], COUNTED[COUNTED[:, 0] > 0])
    for digests in (row_digests, cell_sums, unordered_digests):
        assert_array_equal(digests(matrix, 1), digests(COUNTED, 1))
    other = np.arange(2.0 * len(COUNTED)).reshape(-1, 2)
    changed = COUNTED.copy()
    changed[:, [2, 0]] = other
    assert_array_equal(matrix.with_columns([2, 0], other).dense, changed)
    assert_array_equal(matrix.transform_rows(2, lambda rows: rows[:, :2] + 1.0), COUNTED[:, :2] + 1.0)


@pytest.mark.parametrize("max_bins", [3, 20, 300])
@pytest.mark.parametrize("most", [10, 1000])
def test_bins(matrix, max_bins, most):
    with sampled(most):
        matrix.training = scan_training_pieces(matrix.training.pieces, np.zeros(90), WEIGHTS, matrix.training.storage)
        none = np.zeros(3, np.int32)
        for weights in (None, WEIGHTS[WEIGHTS > 0]):
            bins, expected = Bins.learn(matrix, weights, none, max_bins), Bins.learn(COUNTED, weights, none, max_bins)
            assert_array_equal(bins.edges, expected.edges)
            assert_array_equal(bins.offset, expected.offset)
            assert_array_equal(bins.encode(matrix), expected.encode(COUNTED))


def test_digests_are_found_with_the_bin_numbers(matrix, monkeypatch):
    matrix.digests = True
    bins = Bins.learn(matrix, None, np.zeros(3, np.int32), 20)
    bins.encode(matrix)
    blocks = OutOfCoreMatrix.blocks
    passes = []
    monkeypatch.setattr(OutOfCoreMatrix, "blocks", lambda *given: passes.append(1) or blocks(*given))
    for n_passes in (0, 1):  # they are given away
        assert_array_equal(row_digests(matrix, 1), row_digests(COUNTED, 1))
        assert len(passes) == n_passes


def test_cells_are_written_once_for_all_threads(matrix, monkeypatch):
    mapped, calls = Storage.mapped, []
    monkeypatch.setattr(Storage, "mapped", lambda *given: calls.append(1) or mapped(*given))
    with ThreadPoolExecutor(4) as pool:
        for cells in pool.map(lambda _: matrix.dense, range(8)):
            assert_array_equal(cells, COUNTED)
    assert len(calls) == 1


def test_another_process_gets_the_cells(matrix):
    again = pickle.loads(pickle.dumps(matrix))
    assert type(again) is np.ndarray
    assert_array_equal(again, COUNTED)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=200), st.integers(1, 220))
def test_every_class_has_its_share_and_at_least_one_row(labels, n):
    y = np.array(labels)
    classes, counts = np.unique(y, return_counts=True)
    if n < min(len(classes), len(y)):
        with pytest.raises(ValueError, match="has no room for the"):
            draw_stratified_rows(y, n)
        return
    rows = draw_stratified_rows(y, n)
    assert len(rows) == min(n, len(y))
    assert (np.diff(rows) > 0).all()
    sizes = np.array([(y[rows] == label).sum() for label in classes])
    assert (sizes >= 1).all() and (sizes <= counts).all()
    shares = counts * (min(n, len(y)) / len(y))
    if (shares >= 1).all():
        assert (abs(sizes - shares) < 1).all()
    assert_array_equal(rows, draw_stratified_rows(y, n))
