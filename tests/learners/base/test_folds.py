"""Folds that follow from what rows hold."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from committee.data.rows import Rows
from committee.data.sparse import SparseMatrix
from committee.learners.base.folds import Folds


def rows(X, y):
    return Rows(np.array(X, dtype=np.float64), np.array(y, dtype=np.uint16), np.ones(len(y)), uniform=True)


def table(seed, n=40, levels=3, n_classes=3):
    random = np.random.default_rng(seed)
    X = random.integers(0, levels, (n, 4)).astype(np.float64)
    X[random.random(X.shape) < 0.1] = np.nan
    return X, random.integers(0, n_classes, n)


@given(st.integers(0, 99), st.integers(2, 6))
def test_rows_that_are_alike_are_together_and_folds_are_even(seed, n_folds):
    X, y = table(seed)
    folds = Folds.of(rows(X, y), n_folds)
    of = {}
    for row, label, fold in zip(X.tolist(), y.tolist(), folds.number.tolist(), strict=True):
        of.setdefault((label, str(row)), set()).add(fold)
    assert all(len(some) == 1 for some in of.values())
    by_class = [[next(iter(some)) for (label, _), some in of.items() if label == k] for k in range(3)]
    for folds_of_class in by_class:
        counts = np.bincount([k for k in folds_of_class if k >= 0], minlength=n_folds)
        assert np.ptp(counts) <= 1
        assert (min(folds_of_class, default=-1) >= 0) == (len(folds_of_class) > 1)
    placed = [fold for folds_of_class in by_class for fold in folds_of_class if fold >= 0]
    assert folds.n_different.tolist() == np.bincount(placed, minlength=n_folds).tolist()
    assert {k for _, k in folds} <= set(folds.n_different.tolist())


@given(st.integers(0, 99), st.permutations(range(40)), st.permutations(range(4)))
def test_order_and_repetitions_do_not_matter(seed, order, columns):
    X, y = table(seed)
    expected = Folds.of(rows(X, y), 5).number
    order, columns = list(order), list(columns)
    np.testing.assert_array_equal(Folds.of(rows(X[order], y[order]), 5).number, expected[order])
    np.testing.assert_array_equal(Folds.of(rows(X[:, columns], y), 5).number, expected)
    times = np.random.default_rng(seed).integers(1, 4, len(y))
    repeated = Folds.of(rows(np.repeat(X, times, axis=0), np.repeat(y, times)), 5).number
    np.testing.assert_array_equal(repeated, np.repeat(expected, times))


def test_columns_of_the_same_values_are_told_apart():
    """Rows of ones and zeros are not dealt out by the number of their ones."""
    bits = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.float64)
    label = (np.random.default_rng(0).random(256) < 0.5).astype(int)
    folds = Folds.of(rows(bits, label), 4)
    ones = bits.sum(axis=1)
    assert all(len(set(folds.number[ones == k].tolist())) == 4 for k in (3, 4, 5))


def test_zeros_and_missing_values_have_no_signs():
    X = np.array([[0.0, np.nan], [-0.0, -np.nan], [1.0, 2.0], [3.0, 4.0]])
    folds = Folds.of(rows(X, [0, 0, 0, 0]), 3)
    assert folds.number[0] == folds.number[1] and folds.n_different.tolist() == [1, 1, 1]


def test_the_only_row_of_a_class_is_in_no_fold():
    folds = Folds.of(rows([[1.0], [2.0], [3.0], [3.0]], [0, 0, 1, 1]), 2)
    assert folds.number[2:].tolist() == [-1, -1] and sorted(folds.number[:2].tolist()) == [0, 1]
    assert not list(Folds.of(rows([[1.0], [2.0]], [0, 1]), 5))


@given(st.integers(0, 99))
def test_sparse_rows_have_the_folds_of_dense_ones(seed):
    X, y = table(seed, levels=2)
    dense = Folds.of(rows(X, y), 5)
    stored = Rows(SparseMatrix.read(csr_array(X)), y.astype(np.uint16), np.ones(len(y)), uniform=True)
    np.testing.assert_array_equal(Folds.of(stored, 5).number, dense.number)
