"""Soft stumps: what they say of rows, the stump of least Z, and the weights that go on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from tests.core.cases import each, random_weights, refusals
from tests.oracles import vote_graph as oracle

F64 = NDArray[np.float64]


def search(table: oracle.Table, n_threads: int = 1) -> _core.StumpSearch:
    return _core.StumpSearch(*table.arrays, n_threads)


def random_table(
    rng: np.random.Generator, n: int, p: int, *, max_bins: int = 8, categorical=True, missing=0.2, wide=False
) -> oracle.Table:
    """Labels lean on the first and the last column; each column is hard or soft, of numbers or of categories."""
    n_bins = rng.integers(1, max_bins + 1, p).astype(np.int32)
    is_set = (rng.random(p) < 0.3).astype(np.uint8) if categorical else np.zeros(p, np.uint8)
    n_bins[is_set == 1] = np.minimum(n_bins[is_set == 1], 5)  # every set of them is tried
    codes = np.where(rng.random((n, p)) < missing, n_bins, rng.integers(0, n_bins, (n, p)))
    edges, positions = [], []
    for bins, set_ in zip(n_bins.tolist(), is_set.tolist(), strict=True):
        if set_:
            edges.append(np.empty(0))
            positions.append(np.zeros(bins))
            continue
        between = np.cumsum(rng.exponential(size=2 * bins - 1)) - 3.0  # position, edge, position, ...
        edges.append(between[1::2])
        positions.append(between[::2])
    guess = (codes[:, 0] * 3 + codes[:, -1]) % 2
    return oracle.Table(
        np.ascontiguousarray(codes.astype(np.uint16 if wide or max_bins > 255 else np.uint8)),
        n_bins,
        is_set,
        np.where(rng.random(n) < 0.6, guess, rng.integers(0, 2, n)).astype(np.uint8),
        np.concatenate(positions),
        np.concatenate(edges),
        np.cumsum([0, *(len(e) for e in edges)]).astype(np.int64),
        rng.choice([0.0, 0.01, 1.0, 30.0], p),
    )


@st.composite
def tables(draw: st.DrawFn, **fixed: Any) -> tuple[oracle.Table, F64]:
    """A table and its rows' weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    options: dict[str, Any] = {
        "n": draw(st.integers(1, 50)),
        "p": draw(st.integers(1, 4)),
        "missing": draw(st.sampled_from([0.0, 0.2])),
        "wide": draw(st.booleans()),
    }
    options.update(fixed)
    table = random_table(rng, **options)
    kind = draw(st.sampled_from(["equal", "integer", "some_zero", "heavy"]))
    return table, random_weights(rng, (options["n"],), kind) * draw(st.sampled_from([1.0, 1e-200, 1e150]))


@given(tables())
def test_the_stump_is_the_best_of_all_that_there_are(case):
    table, weights = case
    expected, choice = oracle.best(table, weights), search(table).best(weights)
    assert choice[4] == pytest.approx(expected.z, rel=1e-7, abs=1e-9 * weights.sum())
    if choice[0] < 0 or expected.feature < 0:
        one_side = oracle.z_of(weights, np.ones(len(weights)), table.labels)
        assert expected.z == pytest.approx(one_side, rel=1e-9, abs=0.0)
        return
    if choice[:2] != (expected.feature, expected.edge):  # as good, but for rounding
        of_choice = [c.z for c in oracle.candidates(table, weights) if (c.feature, c.edge) == choice[:2]]
        assert min(of_choice) == pytest.approx(expected.z, rel=1e-7, abs=1e-9 * weights.sum())


@given(tables())
def test_what_is_returned_has_the_z_that_is_told(case):
    table, weights = case
    choice = search(table).best(weights)
    feature, edge, _, missing, z, words = choice
    assert (words is not None) == (feature >= 0 and bool(table.categorical[feature]))
    assert (edge >= 0) == (feature >= 0 and words is None)
    if feature < 0:
        return
    q = oracle.q_of_choice(table, choice)
    assert z == pytest.approx(oracle.z_of(weights, q, table.labels), rel=1e-7, abs=1e-9 * weights.sum())
    W = oracle.branch_sums(weights, q, table.labels) / weights.sum()
    assert W[0, 0] * W[1, 1] >= W[0, 1] * W[1, 0] * (1 - 1e-9)  # + is the positive class's side
    gaps = weights[table.codes[:, feature] == table.n_bins[feature]].sum() > 1e-15 * weights.sum()
    if gaps:
        assert missing in (0.0, 1.0)
    else:
        assert missing == pytest.approx(W[0].sum(), rel=1e-9)


@given(tables())
def test_no_soft_stump_beats_the_best_hard_one(case):
    """A soft stump is a mixture of hard ones, one that parts missing cells from others among them; Z is concave."""
    table, weights = case
    present = [table.codes[:, j] < n_bins for j, n_bins in enumerate(table.n_bins)]
    of_gaps = [oracle.z_of(weights, q.astype(np.float64), table.labels) for q in present]
    hard = min(search(table.hard()).best(weights)[4], *of_gaps)
    assert hard <= search(table).best(weights)[4] * (1 + 1e-9)


@given(tables(wide=False))
def test_single_precision_and_wide_codes_are_the_same_table(case):
    table, weights = case
    weights = np.float32(weights / weights.max())
    narrow = search(table).best(weights)
    for other in (
        search(table).best(weights.astype(np.float64)),
        search(replace(table, codes=table.codes.astype(np.uint16))).best(weights),
    ):
        assert narrow[:5] == other[:5]
        assert_array_equal(narrow[5], other[5])


@given(tables())
def test_whole_weights_are_repeated_rows(case):
    table, _ = case
    times = np.random.default_rng(0).integers(0, 4, len(table.labels))
    times[0] = 1
    repeated = replace(table, codes=np.repeat(table.codes, times, axis=0), labels=np.repeat(table.labels, times))
    ones = np.ones(times.sum())
    assert search(table).best(times.astype(np.float64))[:5] == search(repeated).best(ones)[:5]


@given(tables(n=40, p=3))
def test_labels_the_other_way_turn_the_stump_round(case):
    table, weights = case
    one = search(table).best(weights)
    other = search(replace(table, labels=1 - table.labels)).best(weights)
    assert other[4] == pytest.approx(one[4], rel=1e-12)
    if one[0] >= 0 and one[:2] == other[:2] and one[5] is None:
        assert one[2] != other[2]


def test_many_edges_are_thinned_for_soft_stumps_alone():
    rng = np.random.default_rng(0)
    table = random_table(rng, 400, 2, max_bins=300, categorical=False, missing=0.05)
    n_bins = np.array([300, 200], np.int32)
    codes = rng.integers(0, n_bins + 1, (400, 2)).astype(np.uint16)
    between = [np.arange(2 * b - 1) * 0.01 for b in n_bins]
    table = replace(
        table,
        codes=codes,
        n_bins=n_bins,
        labels=(codes[:, 0] + rng.integers(0, 60, 400) > 170).astype(np.uint8),
        positions=np.concatenate([b[::2] for b in between]),
        edges=np.concatenate([b[1::2] for b in between]),
        edge_offset=np.array([0, 299, 498]),
        softness=np.array([0.3, 0.0]),
    )
    weights = rng.random(400)
    for case in (table, table.hard()):
        choice, expected = search(case).best(weights), oracle.best(case, weights)
        assert choice[:2] == (expected.feature, expected.edge)
        assert choice[4] == pytest.approx(expected.z, rel=1e-12)


def test_ties_go_to_the_first_column_and_its_first_edge():
    codes = np.array([[0, 0], [2, 2], [0, 0], [2, 2]], np.uint8)  # nothing lies in the middle bin
    labels = np.array([0, 1, 0, 1], np.uint8)
    n_bins, offset = np.array([3, 3], np.int32), np.array([0, 2, 4])
    positions, edges = np.tile([0.0, 1.0, 2.0], 2), np.tile([0.5, 1.5], 2)
    table = oracle.Table(codes, n_bins, np.zeros(2, np.uint8), labels, positions, edges, offset, np.zeros(2))
    assert search(table).best(np.ones(4)) == (0, 0, True, 0.5, 0.0, None)


@pytest.mark.parametrize("labels", [[0, 0, 0], [1, 1, 1]])
def test_nothing_is_offered_where_no_split_helps(labels):
    codes, n_bins, no = np.array([[0], [1], [2]], np.uint8), np.array([2], np.int32), np.zeros(1, np.uint8)
    of_bins = (np.array([0.0, 1.0]), np.array([0.5]), np.array([0, 1]), np.zeros(1))
    one_class = oracle.Table(codes, n_bins, no, np.array(labels, np.uint8), *of_bins)
    assert search(one_class).best(np.ones(3)) == (-1, -1, True, 0.0, 0.0, None)
    assert search(replace(one_class, labels=np.array([0, 1, 1], np.uint8))).best(np.zeros(3))[0] == -1
    constant = replace(one_class, codes=np.zeros((3, 1), np.uint8), labels=np.array([0, 1, 1], np.uint8))
    assert search(constant).best(np.ones(3))[:4] == (-1, -1, True, 0.0)
    assert search(constant).best(np.ones(3))[4] == pytest.approx(2 * math.sqrt(2))


def test_a_category_without_weight_goes_with_the_heavier_side():
    codes = np.array([[0], [1], [1], [3]], np.uint8)  # of five categories two and 3, of weight zero
    n_bins, labels = np.array([5], np.int32), np.array([1, 0, 0, 1], np.uint8)
    of_bins = (np.zeros(5), np.empty(0), np.array([0, 0]), np.zeros(1))
    table = oracle.Table(codes, n_bins, np.ones(1, np.uint8), labels, *of_bins)
    feature, edge, ascending, missing, z, words = search(table).best(np.array([1.0, 0.5, 1.5, 0.0]))
    assert (feature, edge, ascending, z) == (0, -1, True, 0.0)
    assert missing == pytest.approx(1 / 3)
    assert words.tolist() == [0b00001]
    assert search(table).best(np.array([3.0, 0.5, 1.5, 0.0]))[5].tolist() == [0b11101]


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(0)
    n = 60_000
    table = random_table(rng, n, 40, max_bins=200)
    weights = rng.random(n)
    one, three = search(table, 1).best(weights), search(table, 3).best(weights)
    assert one[:5] == three[:5]
    X = rng.normal(size=(n, 12))
    stumps = oracle.random_stumps(rng, 9, (0,) * 12)
    q = _core.stump_probabilities(X, *stumps.arrays, 1)
    assert q.tobytes() == _core.stump_probabilities(X, *stumps.arrays, 3).tobytes()
    many = np.tile(weights, 30)  # work worth a second thread
    arguments = (many, np.tile(np.ascontiguousarray(q[:, 0]), 30), np.tile(table.labels, 30))
    factors = np.array([[0.5, 2.0], [3.0, 0.25]])
    assert _core.branch_sums(*arguments, 1).tobytes() == _core.branch_sums(*arguments, 3).tobytes()
    one, three = (_core.joined_weights(*arguments, factors, n_threads) for n_threads in (1, 3))
    assert one.tobytes() == three.tobytes()


def of_values(stumps: oracle.Stumps, x: Any) -> F64:
    q = _core.stump_probabilities(np.asarray(x, dtype=np.float64).reshape(-1, 1).copy(), *stumps.arrays, 1)
    return np.asarray(q[:, 0])


@pytest.mark.parametrize("ascending", [True, False])
def test_both_tails_have_thirteen_decimals(ascending):
    z = np.concatenate([np.linspace(-37.0, 37.0, 1500), np.geomspace(1e-18, 1.0, 50), -np.geomspace(1e-18, 1.0, 50)])
    with mp.workdps(40):
        for q, x in zip(of_values(oracle.one_stump(0.0, 1.0, ascending), z).tolist(), z.tolist(), strict=True):
            exact = mp.erfc((-x if ascending else x) / mp.sqrt(2)) / 2
            assert abs(q / exact - 1) <= 1e-13, x
            assert 0.0 <= q <= 1.0
            assert q >= 0.5 if (x > 0) == ascending else q <= 0.5


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 7, 8, 9, 30]), st.sampled_from([0, 1, 2, 9]))
def test_probabilities_are_those_of_the_naive_twin(seed, n, n_stumps):
    rng = np.random.default_rng(seed)
    n_categories = (0, 0, 5, 40)
    stumps = oracle.random_stumps(rng, n_stumps, n_categories)
    X = rng.integers(-4, 5, (n, 4)) / 2
    X[:, 2:] = rng.integers(0, 40, (n, 2))
    odd = rng.random(X.shape) < 0.2
    X[odd] = rng.choice([np.nan, -0.0, -1.0, 0.5, 31.0, 64.0, 1e300, -1e300, np.inf, -np.inf], odd.sum())
    q = _core.stump_probabilities(X, *stumps.arrays, 1)
    assert q.shape == (n, n_stumps)
    assert_allclose(q, oracle.probabilities(stumps, X), rtol=1e-12, atol=1e-300)


def test_far_and_sharp_and_flat_stay_probabilities():
    x = [-np.inf, -1.7e308, -1e-300, -0.0, 0.0, 5e-324, 1.7e308, np.inf, np.nan]
    hard = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.25]
    assert of_values(oracle.one_stump(0.0, 0.0, True, 0.25), x).tolist() == hard
    assert of_values(oracle.one_stump(0.0, 0.0, False, 0.25), x).tolist() == [*(1.0 - np.array(hard[:-1])), 0.25]
    sharp = [0.0, 0.0, 0.0, 0.5, 0.5, normal := oracle.normal_cdf(1.0), 1.0, 1.0, 0.25]
    assert_allclose(of_values(oracle.one_stump(0.0, 5e-324, True, 0.25), x), sharp, rtol=1e-13)
    assert normal > 0.5
    flat = of_values(oracle.one_stump(0.0, 1.7e308, False, 0.25), x)
    assert_allclose(flat[[0, 3, 7]], [1.0, 0.5, 0.0])
    assert of_values(oracle.one_stump(np.inf, 1.0, True), [1.0, np.inf]).tolist() == [0.0, 0.5]
    assert of_values(oracle.one_stump(-1.7e308, 1.0, True), [1.7e308]).tolist() == [1.0]


dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def random_rows(rng: np.random.Generator, n: int, dtype: Any) -> tuple[Any, F64, NDArray[np.uint8]]:
    weights = random_weights(rng, (n,), "some_zero").astype(dtype)
    q = rng.choice([0.0, 1.0, 0.5, 0.1], n) * rng.choice([1.0, rng.random()], n)
    return weights, q, rng.integers(0, 2, n).astype(np.uint8)


@dtypes
@pytest.mark.parametrize("n", [1, 7, 8, 9, 100, 20_000])
def test_branches_are_those_of_the_naive_twin(dtype, n):
    rng = np.random.default_rng(n)
    weights, q, labels = random_rows(rng, n, dtype)
    assert_allclose(_core.branch_sums(weights, q, labels, 1), oracle.branch_sums(weights, q, labels), rtol=1e-12)
    factors = np.array([[0.5, 2.0], [3.0, 0.3]])
    plus, minus = _core.branch_weights(weights, q, labels, factors, 1)
    column = 1 - labels.astype(int)  # the first is that of the positive class
    to_plus = weights.astype(float) * q * factors[0, column]
    to_minus = weights.astype(float) * (1 - q) * factors[1, column]
    assert plus.dtype == minus.dtype == dtype
    assert_array_equal(plus, to_plus.astype(dtype))
    assert_array_equal(minus, to_minus.astype(dtype))
    joined = _core.joined_weights(weights, q, labels, factors, 1)
    assert joined.dtype == dtype
    assert_array_equal(joined, (to_plus + to_minus).astype(dtype))


def test_no_rows_have_no_weight():
    none = (np.empty(0), np.empty(0), np.empty(0, np.uint8))
    assert _core.branch_sums(*none, 1).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert len(_core.joined_weights(*none, np.ones((2, 2)), 1)) == 0


@dtypes
@pytest.mark.parametrize("row", [3, 8_500, 9_999])
def test_the_first_row_that_cannot_be_is_named(dtype, row):
    rng = np.random.default_rng(0)
    weights, q, labels = random_rows(rng, 10_000, dtype)
    for wrong in (-1.0, np.nan, np.inf):
        bad = weights.copy()
        bad[row:] = wrong
        with pytest.raises(ValueError, match=f"weight of row {row} is"):
            _core.branch_sums(bad, q, labels, 1)
    for wrong in (-1e-9, 1.0000001, np.nan):
        bad = q.copy()
        bad[row:] = wrong
        with pytest.raises(ValueError, match=f"q of row {row} is"):
            _core.branch_weights(weights, bad, labels, np.ones((2, 2)), 1)
    strange = labels.copy()
    strange[row] = 2
    with pytest.raises(ValueError, match=f"label of row {row} is 2"):
        _core.joined_weights(weights, q, strange, np.ones((2, 2)), 1)


def test_a_table_that_does_not_fit_is_refused():
    table = random_table(np.random.default_rng(1), 20, 3, categorical=False)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"codes": table.codes + np.uint8(9)}, "exceed"),
        ({"labels": np.full(20, 2, np.uint8)}, "labels must be 0 or 1"),
        ({"labels": table.labels[1:]}, "labels needs"),
        ({"positions": table.positions[1:]}, "positions needs"),
        ({"positions": table.positions * np.nan}, "positions must be finite"),
        ({"edges": -table.edges}, "increase"),
        ({"edges": table.edges[1:]}, "edge_offset must run"),
        ({"edge_offset": np.array([0, len(table.edges), 0, len(table.edges)])}, "one edge less"),
        ({"softness": table.softness[1:]}, "one number per column"),
        ({"softness": np.array([0.0, np.inf, 0.0])}, "softness must be finite"),
        ({"softness": np.array([0.0, -1.0, 0.0])}, "softness must be finite"),
        ({"categorical": np.ones(3, np.uint8)}, "one of categories none"),
    ]
    for change, message in wrong:
        with pytest.raises(ValueError, match=message):
            search(replace(table, **change))
    for weights in (np.full(20, -1.0), np.full(20, np.nan), np.full(20, 1.7e308)):
        with pytest.raises(ValueError, match="finite"):
            search(table).best(weights)
    with pytest.raises(ValueError, match="one number per row"):
        search(table).best(np.ones(21))


def test_stumps_that_cannot_be_are_refused():
    stumps, X = oracle.random_stumps(np.random.default_rng(0), 3, (0, 40)), np.zeros((2, 2))
    wrong = {
        "feature out of range at stump 1": each(feature=[np.array([0, j, 0], np.int32) for j in (2, -1)]),
        "threshold is NaN at stump 2": each(threshold=[np.array([0.0, 0.0, np.nan])]),
        "softness must be finite": each(softness=[np.array([s, 0.0, 0.0]) for s in (np.inf, -1.0)]),
        "missing must lie": each(missing=[np.array([0.0, q, 0.0]) for q in (1.5, np.nan)]),
        "category_offset must run": each(category_offset=[stumps.category_offset + 1]),
        "category_offset falls": each(category_offset=[np.array([0, 9, 0, len(stumps.category_bits)])]),
        "differ in length": each(ascending=[stumps.ascending[1:]]),
    }
    for change, message in refusals(wrong):
        with pytest.raises(ValueError, match=message):
            _core.stump_probabilities(X, *replace(stumps, **change).arrays, 1)


def test_branches_that_do_not_fit_are_refused():
    rows = (np.ones(3), np.ones(3), np.ones(3, np.uint8))
    with pytest.raises(ValueError, match="one number per row"):
        _core.branch_sums(rows[0][1:].copy(), rows[1], rows[2], 1)
    for factors in (np.ones((2, 3)), np.full((2, 2), np.inf), np.full((2, 2), -1.0)):
        with pytest.raises(ValueError, match="factors must be"):
            _core.branch_weights(*rows, factors, 1)
