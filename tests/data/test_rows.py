"""Class weights compared with scikit-learn, digests of rows with an oracle, and sketches with counting."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.utils.class_weight import compute_class_weight

from committee import _core
from committee.data import bins as module
from committee.data.bins import MOST_DIGESTS, RowSketch, row_digests, unordered_digests
from committee.data.matrices import SparseMatrix
from committee.data.rows import (
    MOST_COUNTED,
    ClassWeights,
    balanced_class_factors,
    checked_weights,
    counts_rows,
    inner_weights,
    row_weights,
    weighted_by_class,
)
from tests.oracles import bins as oracle

LABELS = np.array(["a", "b", "b", "c", "b", "c"])
COUNTS = st.lists(st.integers(0, 30), min_size=1, max_size=20).filter(any)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_balanced_is_that_of_scikit_learn(labels):
    y = np.array(labels)
    ours = ClassWeights.of("balanced", y, np.ones(len(y)))
    assert_array_equal(ours.classes, np.unique(y))
    assert_array_equal(ours.factors, compute_class_weight("balanced", classes=np.unique(y), y=y))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1).filter(lambda rows: any(w for _, w in rows))
)
def test_weights_of_integers_are_repeated_rows(rows):
    y, times = np.array(rows).T
    whole = ClassWeights.of("balanced", np.repeat(y, times), np.ones(times.sum()))
    weighted = ClassWeights.of("balanced", y, times.astype(float))
    assert_array_equal(weighted.classes, whole.classes)
    assert_array_equal(weighted.factors, whole.factors)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=5))
def test_balanced_classes_weigh_alike_and_as_much_as_before(weights):
    totals = np.array(weights)
    balanced = totals * balanced_class_factors(totals)
    assert_allclose(balanced, totals.sum() / len(totals))


@given(COUNTS)
def test_small_whole_weights_are_counts_and_large_ones_are_ratios(counts):
    weights = np.array(counts, dtype=float)
    mean = weights[weights > 0].mean()
    if mean <= MOST_COUNTED:
        assert_array_equal(row_weights(weights, weights), weights)
    else:
        with pytest.warns(UserWarning, match="whole numbers with a mean of .* Only their ratios are used"):
            scaled = row_weights(weights, weights)
        assert_allclose(scaled, weights / mean, rtol=1e-15)


@given(COUNTS, st.floats(1e-290, 1e290).filter(lambda factor: factor % 1.0))
def test_only_ratios_of_other_weights_matter(counts, factor):
    weights = np.array(counts) * factor
    assume((weights % 1.0).any())
    counted = weights > 0
    scaled = row_weights(weights, weights)
    assert_allclose(scaled, weights / (weights[counted] / counted.sum()).sum(), rtol=1e-14)
    assert_array_equal(row_weights(2.0**-30 * weights, weights), scaled)
    assert_array_equal(row_weights(scaled, weights), scaled)
    order = np.random.default_rng(0).permutation(len(weights))
    assert_array_equal(row_weights(weights[order], weights), scaled[order])
    assert_array_equal(row_weights(weights[counted], weights[counted]), scaled[counted])


@given(COUNTS, st.sampled_from([1.0, 0.7, 40.0]))
def test_weights_of_a_fit_inside_a_fit_are_used_as_they_are(counts, factor):
    weights = np.array(counts) * factor
    inner = pickle.loads(pickle.dumps(inner_weights(weights)))
    assert_array_equal(row_weights(inner[::-1], weights), weights[::-1])
    assert type(row_weights(inner, weights)) is np.ndarray
    product = weighted_by_class(checked_weights(inner, weights), np.full(len(weights), 3.0))
    assert_allclose(product, weights, rtol=1e-12)


@given(COUNTS, st.lists(st.sampled_from([0.3, 1.0, 2.0, 1e-6]), min_size=20, max_size=20))
def test_weights_of_classes_leave_the_number_of_counted_rows(counts, factors):
    weights, factors = np.array(counts, dtype=float), np.array(factors[: len(counts)])
    product = weighted_by_class(weights, factors)
    assert product.sum() == pytest.approx(weights.sum() if counts_rows(weights) else (weights > 0).sum())
    assert_allclose(product / product.sum(), weights * factors / (weights * factors).sum(), rtol=1e-12)


def test_a_class_without_weight_is_none():
    weights = np.array([1.0, 2.0, 0.0, 0.0, 1e-200, 0.0])
    balanced = ClassWeights.of("balanced", LABELS, weights)
    assert balanced.classes.tolist() == ["a", "b"]
    assert_array_equal(balanced.factors, [1.5, 0.75])
    assert_array_equal(balanced.of_rows(LABELS), [1.5, 0.75, 0.75, 1.0, 0.75, 1.0])
    assert balanced_class_factors(np.array([2.0, 0.0, 2.0])).tolist() == [1.0, 0.0, 1.0]


def test_a_dict_gives_factors_by_label():
    some = ClassWeights.of({"c": 3, "a": np.float32(0.5)}, LABELS, np.ones(6))
    assert some.factors.tolist() == [0.5, 1.0, 3.0]
    numbers = ClassWeights.of({np.int64(7): 2, 3.0: 4}, np.array([3, 7, 9]), np.ones(3))
    assert numbers.factors.tolist() == [4.0, 2.0, 1.0]
    objects = ClassWeights.of({"a": 2.0}, LABELS.astype(object), np.ones(6))
    assert objects.of_rows(LABELS.astype(object)).tolist() == [2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert ClassWeights.of({}, LABELS, np.ones(6)).factors.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"d": 1.0}, r"class_weight has the key 'd', which is not a class of y; its classes are \['a', 'b', 'c'\]"),
        ({0: 1.0}, "class_weight has the key 0, which is not a class"),
        ({"a": 0}, r"class_weight\['a'\] is 0; it must be a finite number above 0"),
        ({"a": -1.0}, r"class_weight\['a'\] is -1.0"),
        ({"a": np.nan}, r"class_weight\['a'\] is nan"),
        ({"a": np.inf}, r"class_weight\['a'\] is inf"),
        ({"a": True}, r"class_weight\['a'\] is True"),
        ({"a": "2"}, r"class_weight\['a'\] is '2'"),
        ({"a": None}, r"class_weight\['a'\] is None"),
    ],
)
def test_what_is_no_class_or_no_weight_is_refused(choice, message):
    with pytest.raises(ValueError, match=message):
        ClassWeights.of(choice, LABELS, np.ones(6))


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


def numbers(values):
    return np.array(values, dtype=np.uint64)


@given(SMALL, SMALL, st.integers(1, 8), st.integers(1, 20))
def test_it_is_what_counting_says(rows, others, most, at_once):
    """By the definition, whatever is kept and however many rows are sorted at the same time."""
    kept = sorted(set(rows))[:most]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_DIGESTS", most)
        patch.setattr(module, "AT_ONCE", at_once)
        sketch = RowSketch.of(numbers(rows))
        known = sketch.known(numbers(others))
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
        RowSketch(numbers(digests), complete, n_rows, n_repeated)
