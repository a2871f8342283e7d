"""Bins of sparse tables: edges and codes are those of the same table with all its cells."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from committee import _core
from committee.data.bins import Bins, column_codes
from committee.data.matrices import SparseMatrix


def table(n: int, p: int, seed: int, density: float, n_values: int) -> scipy.sparse.csr_array:
    """A sparse table of few or many values, some of them negative, some missing, some stored zeros."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, p), density=density, format="csr", rng=rng)
    values = rng.normal(size=n_values)
    values[:2] = 0.0, np.nan
    X.data = rng.choice(values, size=len(X.data))
    return X


def assert_same_bins(X, weights, max_bins, n_threads=1):
    dense, sparse = X.toarray(), SparseMatrix.read(X)
    none = np.zeros(X.shape[1], np.int32)
    expected, found = Bins.learn(dense, weights, none, max_bins), Bins.learn(sparse, weights, none, max_bins, n_threads)
    assert_array_equal(found.edges, expected.edges)
    assert_array_equal(found.offset, expected.offset)
    codes, every = found.encode(sparse, n_threads), expected.encode(dense)
    assert codes.shape == every.shape
    assert len(codes) == len(every)
    for j in range(X.shape[1]):
        assert_array_equal(column_codes(codes, j), column_codes(every, j))
    return codes


@given(
    st.integers(1, 60),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.floats(0.0, 1.0),
    st.integers(3, 40),
    st.integers(2, 12),
    st.booleans(),
)
def test_bins_are_those_of_the_dense_table(n, p, seed, density, n_values, max_bins, weighted):
    weights = None
    if weighted:
        rng = np.random.default_rng(seed)
        weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
        weights[0] = 1.0
    assert_same_bins(table(n, p, seed, density, n_values), weights, max_bins)


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_of_sampled_columns(weighted, monkeypatch):
    """More rows than are sampled: few values are read whole, many at the sampled rows."""
    monkeypatch.setattr("committee.data.bins.MAX_SAMPLE", 500)
    weights = np.random.default_rng(3).exponential(size=3000) if weighted else None
    for n_values in (6, 300):
        for threads in (1, 4):
            assert_same_bins(table(3000, 7, 5, 0.2, n_values), weights, 20, threads)


def test_wide_codes_and_memory():
    X = scipy.sparse.random_array((4000, 400), density=0.01, format="csr", rng=np.random.default_rng(0))
    X.data[:1500] = np.arange(1500)
    codes = assert_same_bins(X, None, 1000)
    # 4 bytes of an entry by row, 6 by column; 4,000 x 400 codes of two bytes would be 3,200,000
    assert codes.nbytes < 10 * X.nnz + 12 * 4001 + 20 * 401


def test_even_edges():
    X = table(50, 4, 1, 0.4, 9)
    none = np.zeros(4, np.int32)
    expected, found = Bins.even(X.toarray(), none, 5), Bins.even(SparseMatrix.read(X), none, 5)
    assert_array_equal(found.edges, expected.edges)
    assert_array_equal(found.offset, expected.offset)


START, COLUMN, VALUE = np.array([0, 2, 3]), np.array([0, 2, 1], np.int32), np.array([1.0, 2.0, 3.0])
EDGES, OFFSET = np.array([0.5, 1.5, 1.5]), np.array([0, 1, 2, 3])


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


BAD_PARTS = {
    "start falls": {"start": changed(START, 1, 4)},
    "start begins late": {"start": changed(START, 0, 1)},
    "start ends early": {"start": changed(START, 2, 2)},
    "a column too far": {"column": changed(COLUMN, 1, 3)},
    "a negative column": {"column": changed(COLUMN, 0, -1)},
    "columns fall": {"column": np.array([2, 0, 1], np.int32)},
    "a column twice": {"column": np.array([2, 2, 1], np.int32)},
    "too few values": {"value": VALUE[:2]},
}


@pytest.mark.parametrize("case", BAD_PARTS)
def test_kernels_refuse_parts_that_contradict_each_other(case):
    parts = {"start": START, "column": COLUMN, "value": VALUE} | BAD_PARTS[case]
    with pytest.raises(ValueError, match=r"start must|columns must"):
        _core.SparseCodes(**parts, edges=EDGES, offset=OFFSET, n_threads=1)
    with pytest.raises(ValueError, match=r"start must|columns must"):
        _core.sparse_bin_edges(**parts, n_columns=3, weights=None, max_bins=5, max_sample=100, n_threads=1)


@pytest.mark.parametrize(
    ("edges", "offset"),
    [
        (EDGES, np.array([0, 1, 3])),
        (EDGES, np.array([0, 2, 1, 3])),
        (EDGES, np.array([0, 1, 2, 4])),
        (np.array([0.5, 0.2, 1.5]), np.array([0, 2, 2, 3])),
        (np.array([0.5, np.nan, 1.5]), OFFSET),
    ],
)
def test_kernels_refuse_bad_edges(edges, offset):
    with pytest.raises(ValueError, match=r"edges must|offset must|columns must"):
        _core.SparseCodes(START, COLUMN, VALUE, edges, offset, 1)


def test_kernels_refuse_other_bins_and_categories():
    codes = _core.SparseCodes(START, COLUMN, VALUE, EDGES, OFFSET, 1)
    n_bins = np.array([2, 2, 2], np.int32)
    assert _core.Cells(codes, n_bins, 1).sums(np.ones(2)).tolist() == [1.0, 1.0, 0.0] * 3
    with pytest.raises(ValueError, match="n_bins are not those of the sparse codes"):
        _core.Cells(codes, n_bins + 1, 1)
    limits = {"max_depth": 1, "max_leaf_nodes": 0, "min_samples_leaf": 1, "min_weight_leaf": 0.0, "min_gain": 0.0}
    with pytest.raises(ValueError, match="a sparse table has no categories"):
        _core.Grower(codes, n_bins, np.array([0, 1, 0], np.uint8), "gini", 2, **limits, max_features=0, n_threads=1)
    with pytest.raises(ValueError, match="feature is no column of the table"):
        codes.column(3)


def test_a_grower_keeps_its_codes():
    """The codes go out of reach while the grower, which reads them, lives on."""
    codes = _core.SparseCodes(START, COLUMN, VALUE, EDGES, OFFSET, 1)
    cells = _core.Cells(codes, np.array([2, 2, 2], np.int32), 1)
    del codes
    ballast = [np.ones(64) for _ in range(1000)]
    assert cells.sums(np.ones(2)).tolist() == [1.0, 1.0, 0.0] * 3
    assert len(ballast) == 1000


def test_dense_rows_refuse_what_is_out_of_range():
    place = np.array([0, -1, 1], np.int32)
    assert _core.dense_rows(START, COLUMN, VALUE, place, 2, 0, 2, 1).tolist() == [[1.0, 2.0], [0.0, 0.0]]
    for change in ({"first": -1}, {"last": 3}, {"place": np.array([0, 2, 1], np.int32)}, {"place": place[:2]}):
        parts = {"place": place, "n_places": 2, "first": 0, "last": 2, "n_threads": 1} | change
        with pytest.raises(ValueError, match=r"must be rows|out of range"):
            _core.dense_rows(START, COLUMN, VALUE, **parts)
    with pytest.raises(ValueError, match="start must not fall"):
        _core.dense_rows(changed(START, 1, 9), COLUMN, VALUE, place, 2, 0, 2, 1)
