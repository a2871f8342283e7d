"""Bins of cells and the values that splits on bins mean; digests of rows with an oracle, and sketches with counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from committee import AdaBoostClassifier, GradientBoostingClassifier, _core
from committee.data.bins import (
    MOST_DIGESTS,
    Binned,
    Bins,
    RowSketch,
    check_category_counts,
    most_bins,
    row_digests,
    unordered_digests,
)
from committee.data.matrices import SparseMatrix
from committee.data.rows import Rows
from committee.data.table_schema import TableSchema
from tests.oracles import bins as oracle

values = st.integers(-9, 9).map(lambda k: k / 2) | st.sampled_from([np.nan, 1e300, -1e300, 0.0, -0.0, 5e-324])
matrices = arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 4)), elements=values)


def numeric(p: int) -> np.ndarray:
    return np.zeros(p, dtype=np.int32)


@given(matrices)
def test_few_values_keep_a_bin_each(X):
    bins = Bins.learn(X, None, numeric(X.shape[1]), 255)
    assert_array_equal(bins.n_bins, [max(1, len(oracle.values_in_use(column, None))) for column in X.T])
    assert not bins.categorical.any()
    codes = bins.encode(X)
    assert codes.dtype == np.uint8 and codes.shape == X.shape and codes.flags.c_contiguous
    assert_array_equal(codes, oracle.bin_codes(X, bins.edges, bins.offset, bins.n_categories))
    for column, code, n_bins in zip(X.T, codes.T, bins.n_bins, strict=True):
        assert_array_equal(code == n_bins, np.isnan(column))  # the bin after the last


@given(matrices, st.integers(2, 6))
def test_a_threshold_says_of_values_what_its_bin_says_of_codes(X, max_bins):
    bins = Bins.learn(X, None, numeric(X.shape[1]), max_bins)
    assert bins.n_bins.max() <= max_bins
    codes = bins.encode(X)
    for j, n_bins in enumerate(bins.n_bins):
        for b in range(n_bins):
            threshold = bins.threshold(np.array([j], dtype=np.int32), np.array([b], dtype=np.int32))[0]
            known = ~np.isnan(X[:, j])
            assert_array_equal((X[:, j] <= threshold)[known], (codes[:, j] <= b)[known])
            assert np.isinf(threshold) == (b == n_bins - 1)


def test_thresholds_of_many_nodes():
    X = np.array([[0.0, 10.0], [1.0, 20.0], [2.0, 40.0]])
    bins = Bins.learn(X, None, numeric(2), 255)
    feature, bin = np.array([1, -1, 0, 1, 1, 0], dtype=np.int32), np.array([0, -1, 1, 1, 2, -1], dtype=np.int32)
    assert_array_equal(bins.threshold(feature, bin), [15.0, 0.0, 1.5, 30.0, np.inf, 0.0])


def test_categories_are_their_own_bins():
    X = np.array([[0.0, 0.5], [2.0, np.nan], [np.nan, 1.5], [7.0, 0.5]])
    bins = Bins.learn(X, None, np.array([3, 0], dtype=np.int32), 255)
    assert_array_equal(bins.n_bins, [3, 2])
    assert_array_equal(bins.categorical, [1, 0])
    assert_array_equal(bins.encode(X), [[0, 0], [2, 2], [3, 1], [3, 0]])  # a code out of range is missing


@pytest.mark.parametrize(("max_bins", "dtype"), [(255, np.uint8), (256, np.uint16), (65_535, np.uint16)])
def test_codes_are_as_wide_as_the_bins_need(max_bins, dtype):
    X = np.random.default_rng(0).permutation(np.arange(70_000.0))[:, None]
    bins = Bins.learn(X, None, numeric(1), max_bins)
    assert bins.n_bins[0] == max_bins
    codes = bins.encode(X)
    assert codes.dtype == dtype
    counts = np.bincount(codes[:, 0], minlength=max_bins)
    assert counts.max() - counts.min() <= 2  # evenly filled
    assert Bins.learn(X[:100], None, numeric(1), max_bins).encode(X).dtype == np.uint8


def test_long_columns_are_sampled(monkeypatch):
    monkeypatch.setattr("committee.data.bins.MAX_SAMPLE", 1000)
    X = np.random.default_rng(0).normal(size=(20_000, 1))
    bins = Bins.learn(X, None, numeric(1), 50)
    share = np.bincount(bins.encode(X)[:, 0]) / len(X)
    assert len(share) == 50 and share.max() < 0.05


def test_more_categories_than_bins_are_refused_by_name():
    many = TableSchema(("size", "town"), (None, tuple(f"t{i}" for i in range(300))))
    message = r"column 'town' has 300 categories, more than max_bins=255; raise max_bins, .* identifier"
    with pytest.raises(ValueError, match=message):
        check_category_counts(many, 255)
    with pytest.raises(ValueError, match=message):
        Binned.of(np.zeros((4, 2)), None, many, 255)
    check_category_counts(many, 300)
    nameless = TableSchema(None, (None, tuple(range(10))))
    with pytest.raises(ValueError, match="column 'x1' has 10 categories"):
        check_category_counts(nameless, 9)


@pytest.mark.parametrize(("n", "p", "expected"), [(60, 60, 40), (300, 300, 100), (300, 299, 255), (900, 900, 255)])
def test_automatic_bins_of_wide_tables_are_a_third_of_the_rows(n, p, expected):
    X = np.random.default_rng(0).normal(size=(n, p))
    rows = Rows(X, np.zeros(n, dtype=np.uint16), np.ones(n), True)
    assert set(rows.binned(TableSchema.learn(X), "auto", 1).bins.n_bins.tolist()) == {expected}
    twice = Rows(X, rows.labels, np.full(n, 2.0), False)
    assert most_bins("auto", twice.count, p) == most_bins("auto", 2 * n, p) and most_bins(17, n, p) == 17


@pytest.mark.parametrize("kind", [AdaBoostClassifier, GradientBoostingClassifier])
def test_boosting_of_wide_tables_has_as_many_bins_as_pay(kind):
    X = np.random.default_rng(0).normal(size=(150, 160))
    y = X[:, 0] + np.sin(3.0 * X[:, 1]) > 0.3
    some, all_of, same = (kind(5, max_bins=bins, random_state=0).fit(X, y) for bins in ("auto", 255, 50))
    assert_array_equal(some.decision_function(X), same.decision_function(X))
    assert kind().max_bins == "auto" and (some.decision_function(X) != all_of.decision_function(X)).any()
    with pytest.raises(ValueError, match="max_bins"):
        kind(5, max_bins="few").fit(X, y)


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
    unsorted = start.copy()
    unsorted[1], unsorted[2] = 10, 2
    for function, arguments, message in (
        (_core.row_digests, (X, columns[1:], 1), "column_number needs one number per column"),
        (_core.column_digests, (X, rows[1:]), "row_number needs one number per row"),
        (_core.stored_row_digests, (start[:-1], column, value, columns, 1), "start must go from 0"),
        (_core.stored_row_digests, (start, column[1:], value, columns, 1), "column needs one number"),
        (_core.stored_row_digests, (start, column, value, columns[:2], 1), "column must lie within"),
        (_core.stored_column_digests, (start, column, value, rows, 2), "column must lie within"),
        (_core.stored_row_digests, (unsorted, column, value, columns, 1), "must not decrease"),
    ):
        with pytest.raises(ValueError, match=message):
            function(*arguments)


SMALL = st.lists(st.integers(0, 12), min_size=1, max_size=60)


def digest_numbers(values):
    return np.array(values, dtype=np.uint64)


@given(SMALL, SMALL, st.integers(1, 8), st.integers(1, 20))
def test_it_is_what_counting_says(rows, others, most, at_once):
    """By the definition, whatever is kept and however many rows are sorted at the same time."""
    kept = sorted(set(rows))[:most]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("committee.data.bins.MOST_DIGESTS", most)
        patch.setattr("committee.data.bins.AT_ONCE", at_once)
        sketch = RowSketch.of(digest_numbers(rows))
        known = sketch.known(digest_numbers(others))
    assert sketch.digests.tolist() == kept
    assert sketch.complete == (len(set(rows)) <= most)
    assert sketch.n_rows == sum(row in kept for row in rows)
    assert sketch.n_repeated == sum(row in kept and rows.count(row) > 1 for row in rows)
    judged = others if sketch.complete else [row for row in others if row <= kept[-1]]
    assert (known.n_rows, known.n_judged) == (len(others), len(judged))
    assert known.n_known == sum(row in kept for row in judged)


def test_the_share_of_a_large_table_is_told_by_a_sample():
    random = np.random.default_rng(0)
    every = random.integers(0, 2**63, size=60_000, dtype=np.uint64)
    known = RowSketch.of(every[:50_000]).known(every[20_000:])
    assert not known.exact
    assert known.n_judged == pytest.approx(40_000 * MOST_DIGESTS / 50_000, rel=0.1)
    assert known.share == pytest.approx(0.75, abs=0.04)


@pytest.mark.parametrize(
    ("digests", "complete", "n_rows", "n_repeated"),
    [
        ([], True, 0, 0),
        ([2, 1], True, 2, 0),
        ([1, 1], True, 2, 0),
        ([1, 2], False, 2, 0),
        ([1, 2], True, 3, 0),
        ([1, 2], True, 3, 4),
        ([1, 2], True, 2, -1),
        ([1, 2], True, 4, 1),
    ],
)
def test_numbers_that_do_not_go_together(digests, complete, n_rows, n_repeated):
    with pytest.raises(ValueError, match="digests"):
        RowSketch(digest_numbers(digests), complete, n_rows, n_repeated)
