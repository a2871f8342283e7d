"""Edges that separate exactly or share the weight evenly, codes, matrices from columns; the same of sparse tables."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, example, given
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Bins, column_codes
from committee.data.matrices import SparseMatrix
from tests.core.cases import bad_weights, each
from tests.oracles import bins as oracle

EVERY_ROW = 2**40
NUMERIC = np.zeros(1, dtype=np.int32)

finite = st.floats(allow_nan=False, allow_infinity=False)
special = st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), 5e-324, -5e-324, 1e-323, 1e308, -1e308, 1.79e308])
columns = arrays(np.float64, st.integers(1, 40), elements=finite | special | st.just(np.nan))
crowded = arrays(np.float64, st.integers(1, 200), elements=st.integers(-30, 30).map(float) | st.just(np.nan))


def edges_of(column: Any, weights: Any = None, max_bins: int = 255, max_sample: int = EVERY_ROW) -> Any:
    edges, offset = _core.bin_edges(column[:, None].copy(), weights, NUMERIC, max_bins, max_sample, 1)
    assert_array_equal(offset, [0, len(edges)])
    return edges


def assert_separates(edges: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    """One edge in each gap between neighbouring values, as near its middle as the grid of floats allows."""
    assert len(edges) == max(0, len(values) - 1)
    assert (values[:-1] <= edges).all()
    assert (edges < values[1:]).all()
    middle = 0.5 * values[:-1] + 0.5 * values[1:]
    grid = np.spacing(0.5 * np.maximum(np.abs(values[:-1]), np.abs(values[1:])))  # halved: 1e308 has no next
    assert (np.abs(edges - middle) <= 2 * grid).all()


@given(columns)
@example(np.array([1e308, -1e308]))
@example(np.array([0.0, -0.0]))
@example(np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)]))
@example(np.array([5e-324, 0.0, -5e-324, 1e-323]))
@example(np.array([-1.79e308, 1.79e308, 1.7e308]))
@example(np.full(5, np.nan))
@example(np.full(5, 3.5))
def test_few_values_get_a_bin_each(column):
    values = oracle.values_in_use(column, None)
    edges = edges_of(column)
    assert_separates(edges, values)
    assert_allclose(edges, oracle.exact_edges(column, None), rtol=1e-15, atol=1e-323)
    known = column[~np.isnan(column)]
    assert_array_equal((edges[None, :] < known[:, None]).sum(1), np.searchsorted(values, known))


@given(crowded, st.integers(2, 20), st.sampled_from(["none", "integer", "heavy"]), st.integers(0, 2**32 - 1))
def test_many_values_share_the_weight_out(column, max_bins, kind, seed):
    rng = np.random.default_rng(seed)
    weights = {
        "none": None,
        "integer": rng.integers(0, 4, len(column)).astype(np.float64),
        "heavy": np.exp(3 * rng.normal(size=len(column))),
    }[kind]
    if weights is not None:
        weights[0] = 1.0
    values = oracle.values_in_use(column, weights)
    edges = edges_of(column, weights, max_bins)
    assert len(edges) <= max_bins - 1
    assert (np.diff(edges) > 0).all()
    if len(values) <= max_bins:
        assert_separates(edges, values)
        return
    # every edge parts two neighbouring values, in the middle of their gap
    below = np.searchsorted(values, edges, side="right")
    assert (below >= 1).all()
    assert (below < len(values)).all()
    assert (edges < values[below]).all()
    assert_allclose(edges, 0.5 * (values[below - 1] + values[below]))
    # no bin holds much more than its share
    w = np.ones(len(column)) if weights is None else weights
    in_use = ~np.isnan(column) & (w > 0)
    in_bin = np.bincount(np.searchsorted(edges, column[in_use]), w[in_use], minlength=len(edges) + 1)
    of_value = np.bincount(np.searchsorted(values, column[in_use]), w[in_use])
    assert in_bin.max() <= (2 / max_bins * of_value.sum() + of_value.max()) * (1 + 1e-9)
    assert in_bin.min() > 0


@st.composite
def long_columns(draw: st.DrawFn) -> NDArray[np.float64]:
    """Enough values to be looked for by rank: smooth, with ties, far out ones, or all in a few places."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(500, 3_000))
    columns = {
        "smooth": rng.normal(size=n),
        "ties": np.where(rng.random(n) < 0.5, np.round(rng.normal(size=n), 1), rng.normal(size=n)),
        "one value often": np.where(rng.random(n) < 0.11, 0.25, rng.normal(size=n)),
        "far out": np.where(rng.random(n) < 0.001, 1e300, rng.normal(size=n)),
        "infinite": np.where(rng.random(n) < 0.001, np.inf, rng.normal(size=n)),
        "tiny": 5e-324 * rng.integers(-1_000, 1_000, n),
        "huge": 1.7e308 * rng.uniform(-1.0, 1.0, n),
        "zeros": np.where(rng.random(n) < 0.1, -0.0, np.where(rng.random(n) < 0.1, 0.0, rng.normal(size=n))),
        "whole": rng.integers(-200, 200, n).astype(float),
    }
    return columns[draw(st.sampled_from(sorted(columns)))]


@given(long_columns(), st.one_of(st.integers(2, 40), st.sampled_from([255, 300])))
def test_edges_by_rank_are_those_of_sorted_values(column, max_bins):
    assume(len(np.unique(column + 0.0)) > max_bins)  # fewer values have a bin each
    edges = edges_of(column, max_bins=max_bins)
    assert_array_equal(edges, oracle.shared_edges(column, max_bins))
    # rows with weights are sorted
    assert_array_equal(edges, edges_of(column, np.ones(len(column)), max_bins))
    column = np.insert(column, 7, np.nan)
    assert_array_equal(edges, edges_of(column, max_bins=max_bins))


@pytest.mark.parametrize("weighted", [False, True])
def test_values_that_differ_in_their_last_bits(weighted):
    steps = np.random.default_rng(0).permutation(np.repeat(np.arange(5_000), 3))
    column = np.where(steps % 2 == 0, 1.0 + steps * 2.0**-52, -1.0 - steps * 2.0**-52)
    edges = edges_of(column, np.ones(len(column)) if weighted else None, max_bins=100)
    in_bin = np.bincount(np.searchsorted(edges, column))
    assert_array_equal(in_bin, 150)
    assert_separates(edges_of(column, None, max_bins=65_535), np.unique(column))


@given(crowded, st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_integer_weights_are_repeated_rows(column, max_bins, seed):
    times = np.random.default_rng(seed).integers(0, 4, len(column))
    times[0] = 2
    weighted = edges_of(column, times.astype(np.float64), max_bins)
    assert_array_equal(weighted, edges_of(np.repeat(column, times), None, max_bins))


@given(crowded, st.integers(2, 12))
def test_order_of_rows_does_not_matter(column, max_bins):
    assert_array_equal(edges_of(column, None, max_bins), edges_of(column[::-1], None, max_bins))


def test_rare_values_that_the_sample_misses_keep_their_bin():
    column = np.zeros(10_000)
    column[4_321] = 1.0
    column[[7, 9_999]] = [2.0, -5.0]
    assert_array_equal(edges_of(column, max_sample=100), [-2.5, 0.5, 1.5])
    weights = np.ones(10_000)
    weights[7] = 0.0
    assert_array_equal(edges_of(column, weights, max_sample=100), [-2.5, 0.5])


@given(st.integers(6, 500), st.integers(1, 200), st.integers(0, 2**32 - 1), st.booleans())
def test_edges_are_learned_from_the_sampled_rows(n, most, seed, weighted):
    rng = np.random.default_rng(seed)
    column, weights = rng.normal(size=n), rng.integers(1, 4, n).astype(float) if weighted else None
    rows = oracle.sampled_rows(n, most)
    expected = edges_of(column[rows], None if weights is None else weights[rows], 5)
    assert_array_equal(edges_of(column, weights, 5, most), expected)


@given(st.integers(0, 2**62), st.integers(0, 50))
def test_levels_of_rows(first, n):
    levels = _core.sample_levels(first, n)
    assert levels.tolist() == [oracle.sample_level(first + k) for k in range(n)]


@given(crowded, crowded, st.integers(0, 12))
def test_distinct_values(known, column, most):
    values = np.unique(np.concatenate([known, column]) + 0.0)
    values = values[~np.isnan(values)]
    found = _core.distinct_values(known, column, most)
    if len(values) > most:
        assert found is None
    else:
        assert_array_equal(found, values)


@pytest.mark.parametrize("max_bins", [256, 65_535])
def test_wide_bins(max_bins):
    column = np.random.default_rng(1).normal(size=70_000)
    edges = edges_of(column, max_bins=max_bins)
    assert len(edges) == max_bins - 1
    codes = _core.bin_codes(column[:, None].copy(), edges, np.array([0, len(edges)]), NUMERIC, True, 1)
    assert codes.dtype == np.uint16
    assert_array_equal(codes[:, 0], np.searchsorted(edges, column))


@st.composite
def tables(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(1, 300)), draw(st.integers(1, 20))
    some = rng.random(p) < draw(st.sampled_from([0.0, 0.1, 0.5]))
    n_categories = np.where(some, rng.integers(0, 40, p), 0).astype(np.int32)
    X = np.where(n_categories > 0, rng.integers(0, np.maximum(n_categories, 1), (n, p)), rng.normal(size=(n, p)))
    X = np.where(rng.random((n, p)) < 0.3, np.round(X), X)
    X[rng.random((n, p)) < 0.1] = np.nan
    return X, n_categories


@given(tables(), st.integers(2, 60), st.booleans())
def test_columns_are_binned_one_by_one(table, max_bins, wide):
    X, n_categories = table
    edges, offset = _core.bin_edges(X, None, n_categories, max_bins, EVERY_ROW, 1)
    assert edges.dtype == np.float64
    assert offset.dtype == np.int64
    for j in range(X.shape[1]):
        own = edges[offset[j] : offset[j + 1]]
        assert_array_equal(own, [] if n_categories[j] else edges_of(X[:, j], None, max_bins))
        if not n_categories[j]:  # rows that come later may lie on an edge, or beyond all numbers
            places = slice(j % 5, None, 5)
            X[places, j] = np.resize([np.inf, -np.inf, -0.0, *own], len(X[places, j]))
    codes = _core.bin_codes(X, edges, offset, n_categories, wide, 1)
    assert codes.dtype == (np.uint16 if wide else np.uint8)
    assert_array_equal(codes, oracle.bin_codes(X, edges, offset, n_categories))


@given(
    arrays(np.float64, st.integers(0, 20), elements=finite).map(np.unique),
    arrays(np.float64, st.integers(1, 60), elements=st.floats() | special),
)
def test_codes_say_on_which_side_of_the_edges(edges, column):
    with np.errstate(over="ignore"):
        column = np.concatenate([column, edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
    codes = _core.bin_codes(column[:, None].copy(), edges, np.array([0, len(edges)]), NUMERIC, False, 1)[:, 0]
    missing = np.isnan(column)
    assert (codes[missing] == len(edges) + 1).all()
    for b, edge in enumerate(edges):
        assert_array_equal(codes[~missing] <= b, column[~missing] <= edge)


def test_categories_out_of_range_are_missing():
    column = np.array([0.0, 2.0, 3.0, -1.0, -0.0, 1.5, np.nan, np.inf, -np.inf, 1e300, 2**32 + 1.0, -0.5])
    codes = _core.bin_codes(
        column[:, None].copy(), np.empty(0), np.array([0, 0]), np.array([3], dtype=np.int32), False, 1
    )
    assert_array_equal(codes[:, 0], [0, 2, 3, 3, 0, 3, 3, 3, 3, 3, 3, 3])


GOOD_EDGES: dict[str, Any] = {
    "X": np.arange(12.0).reshape(4, 3),
    "weights": np.ones(4),
    "n_categories": np.array([0, 12, 0], dtype=np.int32),
    "max_bins": 255,
    "max_sample": 100,
    "n_threads": 1,
}


@pytest.mark.parametrize(
    "wrong",
    each(
        max_bins=[1, 0, -5, 65_536],
        max_sample=[0, -1],
        weights=bad_weights(4),
        n_categories=[np.zeros(2, np.int32), np.zeros(4, np.int32), np.array([0, -1, 0], np.int32)],
    ),
    ids="-".join,
)
def test_bin_edges_refuses(wrong):
    _core.bin_edges(**GOOD_EDGES)
    with pytest.raises(ValueError):
        _core.bin_edges(**GOOD_EDGES | wrong)


GOOD_CODES: dict[str, Any] = {
    "X": np.arange(12.0).reshape(4, 3),
    "edges": np.array([1.0, 2.0, 3.0]),
    "offset": np.array([0, 2, 2, 3]),
    "n_categories": np.array([0, 12, 0], dtype=np.int32),
    "wide": False,
    "n_threads": 1,
}


@pytest.mark.parametrize(
    "wrong",
    [
        *each(
            offset=map(np.array, ([0, 2, 3], [0, 2, 2, 3, 3], [0, 2, 1, 3], [0, 2, 2, 4], [0, 2, 2, 2])),
            edges=map(np.array, ([2.0, 1.0, 3.0], [1.0, np.nan, 3.0])),
            n_categories=[np.array(counts, np.int32) for counts in ([0, 12], [0, 12, -3], [0, 256, 0])],
        ),
        *each(offset=map(np.array, ([-1, 2, 2, 3], [1, 2, 2, 3], [0, 2**40, 2**40, 3]))),
        {"n_categories": np.array([0, 65_536, 0], dtype=np.int32), "wide": True},
        {"edges": np.arange(257.0), "offset": np.array([0, 256, 256, 257])},
        {"edges": np.arange(65_537.0), "offset": np.array([0, 65_536, 65_536, 65_537]), "wide": True},
    ],
    ids="-".join,
)
def test_bin_codes_refuses(wrong):
    _core.bin_codes(**GOOD_CODES)
    with pytest.raises(ValueError):
        _core.bin_codes(**GOOD_CODES | wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128, object])
def test_other_types_of_number_are_refused(dtype):
    with pytest.raises(TypeError):
        _core.bin_edges(**GOOD_EDGES | {"X": GOOD_EDGES["X"].astype(dtype)})


def test_255_bins_fit_narrow_codes():
    column = np.append(np.arange(255.0), np.nan)
    edges = edges_of(column)
    assert len(edges) == 254
    codes = _core.bin_codes(column[:, None].copy(), edges, np.array([0, 254]), NUMERIC, False, 1)
    assert_array_equal(codes[:, 0], np.arange(256))


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
    assert_array_equal(matrix, expected)
    assert infinite == np.isinf(expected).any()


def test_sizes_are_checked():
    matrix, column = np.zeros((3, 2)), np.zeros(3)
    within = "the columns must lie within the matrix"
    for columns, first, message in (
        ([column, column], 1, within),
        ([column], -1, within),
        ([column[:2]], 0, "columns need one number per row"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.put_together(columns, matrix, first, 1)
    with pytest.raises(TypeError):
        _core.put_together([column.astype(int)], matrix.astype(int), 0, 1)  # type: ignore[arg-type, list-item]


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
