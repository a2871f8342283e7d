"""Sums of row values per cell: histograms, pairs of cells, rounds over listed voters, and the next row weights."""

from __future__ import annotations

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from tests.core.cases import Case, bad_weights, cases, check_threads, each
from tests.oracles import grow as oracle
from tests.oracles import votes as votes_oracle

some_cases = cases(kinds=("gini",))


def histogram_of(case: Case, rows: NDArray[np.int32] | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return _core.class_histogram(case.codes, case.n_bins, case.labels, case.n_classes, case.weights, rows, 1)


@given(some_cases)
def test_same_as_row_by_row(case):
    sums, counts = histogram_of(case)
    expected_sums, expected_counts = oracle.class_histogram(
        case.codes, case.n_bins, case.labels, case.n_classes, case.weights, None
    )
    assert sums.dtype == np.float64
    assert counts.dtype == np.int64
    assert_array_equal(counts, expected_counts)
    assert_allclose(sums, expected_sums, rtol=1e-14, atol=1e-16 * case.weights.sum())


@given(some_cases)
def test_sums_are_the_weights_to_the_promised_precision(case):
    sums, counts = histogram_of(case)
    n = len(case.codes)
    quantum = case.weights.sum() * 2.0 ** -(63 - n.bit_length())
    offset = oracle.cell_offsets(case.n_bins)
    for j in range(case.codes.shape[1]):
        for k in range(case.n_classes):
            for b in range(case.n_bins[j] + 1):
                chosen = (case.codes[:, j] == b) & (case.labels == k)
                exact = math.fsum(case.weights[chosen])
                assert counts[k, offset[j] + b] == chosen.sum()
                assert abs(sums[k, offset[j] + b] - exact) <= chosen.sum() * quantum + 4 * np.spacing(exact)


@given(some_cases, st.integers(0, 2**32 - 1))
def test_order_of_rows_does_not_matter(case, seed):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(case.codes)).astype(np.int32)
    for given_rows, same_rows in (
        (rows, None),
        (rows[: len(rows) // 2 + 1], np.sort(rows[: len(rows) // 2 + 1])),
    ):
        if case.weights[given_rows].sum() == 0:
            continue
        sums, counts = histogram_of(case, given_rows)
        same_sums, same_counts = histogram_of(case, same_rows)
        assert_array_equal(counts, same_counts)
        assert_allclose(sums, same_sums, rtol=1e-14, atol=1e-16 * case.weights.sum())


@given(some_cases, st.integers(0, 2**32 - 1))
def test_some_rows_are_a_smaller_table(case, seed):
    keep = np.random.default_rng(seed).random(len(case.codes)) < 0.5
    keep[0] = True
    smaller = _core.class_histogram(
        case.codes[keep], case.n_bins, case.labels[keep], case.n_classes, case.weights[keep], None, 1
    )
    for ours, theirs in zip(histogram_of(case, np.flatnonzero(keep).astype(np.int32)), smaller, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("scale", [1e-290, 1e-30, 1.0, 1e30, 1e300])
def test_the_unit_of_the_weights_does_not_matter(scale):
    codes = np.array([[0], [1], [1], [2]], dtype=np.uint8)
    labels = np.array([0, 1, 0, 1], dtype=np.uint16)
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    sums, _ = _core.class_histogram(codes, np.array([3], dtype=np.int32), labels, 2, scale * weights, None, 1)
    assert_allclose(sums / scale, [[1, 3, 0, 0], [0, 2, 4, 0]], rtol=1e-15)


def test_weights_of_very_different_size():
    codes = np.array([[0], [1], [2]], dtype=np.uint8)
    labels = np.zeros(3, dtype=np.uint16)
    weights = np.array([1e300, 1.0, 1e290])
    sums, counts = _core.class_histogram(codes, np.array([3], dtype=np.int32), labels, 1, weights, None, 1)
    assert_array_equal(counts, [[1, 1, 1, 0]])
    assert_allclose(sums, [[1e300, 0.0, 1e290, 0.0]], atol=1e300 * 2.0**-60)


GOOD: dict[str, Any] = {
    "codes": np.array([[0, 1], [3, 0], [1, 2]], dtype=np.uint8),
    "n_bins": np.array([3, 2], dtype=np.int32),
    "labels": np.array([0, 1, 1], dtype=np.uint16),
    "n_classes": 2,
    "weights": np.ones(3),
    "rows": np.array([2, 0], dtype=np.int32),
    "n_threads": 1,
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": np.array([[0, 1], [4, 0], [1, 2]], dtype=np.uint8), "rows": None},
        {"n_bins": np.array([3, 2**31 - 1], dtype=np.int32), "codes": np.zeros((3, 2), dtype=np.uint16)},
        *each(
            codes=[np.array([[0, 3], [3, 0], [1, 2]], dtype=np.uint16)],
            n_bins=[np.array(bins, dtype=np.int32) for bins in ([3], [3, 2, 2], [3, -1])],
            labels=[np.array(labels, dtype=np.uint16) for labels in ([0, 1], [2, 1, 1], [65_535, 1, 1])],
            n_classes=[0, -1, 65_536],
            weights=[*bad_weights(3), np.full(3, 1e308), np.full(3, 5e-324)],
            rows=[np.array(rows, dtype=np.int32) for rows in ([0, 3], [-1, 0], [])],
        ),
    ],
    ids="-".join,
)
def test_refuses(wrong):
    _core.class_histogram(**GOOD)
    with pytest.raises(ValueError):
        _core.class_histogram(**GOOD | wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": GOOD["codes"].astype(np.int64)},
        {"codes": GOOD["codes"][0]},
        {"labels": GOOD["labels"].astype(np.int64)},
        {"weights": np.ones(3, dtype=np.float32)},
        {"rows": np.array([0.0, 1.0])},
    ],
    ids="-".join,
)
def test_other_types_are_refused(wrong):
    with pytest.raises(TypeError):
        _core.class_histogram(**GOOD | wrong)


N_ROWS = 40_000


def histogram(codes, n_bins, g, h, rows, narrow, n_threads=1):
    """What the kernel counts, and the layout of its words."""
    shard = _core.GradientShard(codes, n_bins, n_outputs=1, n_threads=n_threads)
    n, most_g, most_h, *_ = shard.begin(g, h, None, rows, None)
    layout = _core.RoundScale(most_g, most_h, True, 0, 0, n, 1).layout()
    assert layout[0]  # in words
    shard.pack(layout, False)
    return shard.root(narrow), layout


def sums(codes, n_bins, values, rows):
    """Sums of whole numbers by column and code, one column after the other; the last cell of each is for what lacks."""
    values = values[rows].astype(np.float64)
    return np.concatenate([np.bincount(codes[rows, j], values, b + 1) for j, b in enumerate(n_bins)]).astype(np.int64)


def check(codes, n_bins, rows, narrow, n_threads=1):
    """Beside NumPy, of rows so thin that they are gathered."""
    rng = np.random.default_rng(len(rows))
    g, h = rng.normal(size=len(codes)), rng.uniform(0.1, 1.0, len(codes))
    assert 16 * len(rows) < rows[-1] - rows[0]
    found, (_, _, block, count_bits, hessian_bits, wide_bits, g_unit, h_unit) = histogram(
        codes, n_bins, g, h, rows, narrow, n_threads
    )
    gradients = sums(codes, n_bins, np.rint(g * g_unit), rows)
    hessians = sums(codes, n_bins, np.rint(h * h_unit), rows)
    counts = sums(codes, n_bins, np.ones(len(codes)), rows)
    if narrow:
        assert len(rows) <= block
        words = (gradients << (count_bits + hessian_bits)) + (hessians << count_bits) + counts
        assert_array_equal(found.view(np.int64), words)
    else:
        pairs = (hessians << wide_bits) + counts
        assert_array_equal(found.view(np.int64), np.concatenate([gradients, pairs]))


def scattered(n, n_rows, rng):
    """Some rows, the first and the last among them: the last row ends where the table does."""
    between = rng.choice(np.arange(1, n - 1), n_rows - 2, replace=False)
    return np.sort(np.concatenate([[0, n - 1], between])).astype(np.int32)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("n_rows", [2, 5, 1_023, 1_500, 2_400])
@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 28, 33, 49, 63, 64, 65, 130])
@pytest.mark.parametrize("wide_codes", [False, True])
@pytest.mark.parametrize("narrow", [False, True])
def test_every_cell_of_scattered_rows(n_rows, p, wide_codes, narrow):
    """Rows of whole pieces of 16 bytes and of parts of one; several ranges of columns; several handfuls of rows."""
    rng = np.random.default_rng([n_rows, p, wide_codes])
    n_bins = rng.integers(2, 300 if wide_codes else 255, p).astype(np.int32)
    codes = rng.integers(0, n_bins + 1, (N_ROWS, p)).astype(np.uint16 if wide_codes else np.uint8)
    check(codes, n_bins, scattered(N_ROWS, n_rows, rng), narrow)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_more_rows_than_words_have_room_for(n_threads):
    """Words are emptied after 8,191 rows, and threads have histograms of their own."""
    rng = np.random.default_rng(1)
    n_bins = np.array([250, 3, 40, 12, 100], np.int32)
    codes = rng.integers(0, n_bins + 1, (400_000, 5)).astype(np.uint8)
    check(codes, n_bins, scattered(400_000, 20_000, rng), False, n_threads)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 50),
    st.integers(1, 6),
    st.integers(2, 5),
    st.booleans(),
)
def test_emphasis_row_by_row(seed, n, n_leaves, n_classes, per_class):
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(n, n_classes) if per_class else n)
    leaf = rng.integers(-1, n_leaves, n).astype(np.int32)
    labels = rng.integers(0, n_classes, n).astype(np.uint16)
    factor = rng.exponential(size=(n_leaves, 2 * n_classes if per_class else n_classes))
    expected = weights.copy()
    expected_total = oracle.scale_rows(expected, leaf, labels, factor)
    untouched = weights[leaf < 0].copy()
    total = _core.scale_rows(weights, leaf, labels, factor, 1)
    assert_array_equal(weights, expected)
    assert_array_equal(weights[leaf < 0], untouched)
    assert total == pytest.approx(expected_total, rel=1e-13)


EMPHASIS_ARGUMENTS: dict[str, Any] = {
    "weights": np.ones(3),
    "leaf_of_row": np.array([0, 1, -1], dtype=np.int32),
    "labels": np.array([0, 1, 1], dtype=np.uint16),
    "factor": np.ones((2, 2)),
    "n_threads": 1,
}


@pytest.mark.parametrize(
    "wrong",
    [
        *each(
            leaf_of_row=[np.array(at, np.int32) for at in ([0, 2, -1], [0, -2, -1], [0, 2**31 - 1, -1], [0, 1])],
            labels=[np.array(labels, dtype=np.uint16) for labels in ([0, 2, 1], [0, 65_535, 1], [0, 1])],
            weights=[np.ones(2), np.ones((3, 2))],
            factor=[np.ones((0, 2))],
        ),
        {"weights": np.ones((3, 2)), "factor": np.ones((2, 3))},
        {"weights": np.ones((3, 2)), "factor": np.ones((2, 4)), "labels": np.array([0, 2, 1], dtype=np.uint16)},
    ],
    ids="-".join,
)
def test_emphasis_refuses(wrong):
    arguments: dict[str, Any] = {
        name: np.copy(v) if isinstance(v, np.ndarray) else v for name, v in (EMPHASIS_ARGUMENTS | wrong).items()
    }
    _core.scale_rows(**EMPHASIS_ARGUMENTS)
    with pytest.raises(ValueError):
        _core.scale_rows(**arguments)


def test_weights_that_cannot_be_changed_in_place_are_refused():
    frozen = np.ones(3)
    frozen.flags.writeable = False
    for weights in (frozen, np.ones(6)[::2], np.ones(3, dtype=np.float32), [1.0, 1.0, 1.0]):
        with pytest.raises((TypeError, ValueError)):
            _core.scale_rows(**EMPHASIS_ARGUMENTS | {"weights": weights})


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
def test_sums_are_those_of_the_rows_in_each_cell(case):
    codes, n_bins, values = case
    sums = _core.Cells(codes, n_bins, 1).sums(values)
    assert_allclose(sums, votes_oracle.cell_sums(codes, n_bins, values), rtol=1e-12, atol=1e-14 * np.abs(values).sum())


@given(tables())
def test_pairs_are_the_weight_that_cells_share(case):
    codes, n_bins, values = case
    masks, w = votes_oracle.cell_masks(codes, n_bins), np.abs(values)
    pairs = _core.Cells(codes, n_bins, 1).pairs(w)
    assert_allclose(pairs, (masks.T * w) @ masks, rtol=1e-12, atol=1e-300)
    assert_array_equal(pairs, pairs.T)


@given(tables(), st.integers(1, 3))
def test_scores_add_up_what_the_cells_of_a_row_give(case, k):
    codes, n_bins, _ = case
    masks = votes_oracle.cell_masks(codes, n_bins)
    by_cell = np.random.default_rng(0).normal(size=(masks.shape[1], k))
    scores = _core.Cells(codes, n_bins, 1).scores(by_cell)
    assert_allclose(scores, masks @ by_cell, rtol=1e-12, atol=1e-14)


@given(tables())
def test_shift_adds_one_columns_numbers(case):
    codes, n_bins, values = case
    by_bin = np.random.default_rng(0).normal(size=n_bins[0] + 1)
    expected = values + by_bin[codes[:, 0]]
    _core.Cells(codes, n_bins, 1).shift(values, 0, by_bin)
    assert_array_equal(values, expected)


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(0)
    n, p = 60_000, 24
    codes, n_bins = rng.integers(0, 30, (n, p)).astype(np.uint8), np.full(p, 29, np.int32)
    values = rng.normal(size=n)
    by_cell = rng.normal(size=(p * 30, 2))

    def sums(n_threads):
        cells = _core.Cells(codes, n_bins, n_threads)
        return cells.sums(values), cells.pairs(values), cells.scores(by_cell)

    check_threads(sums)


def test_sums_of_nothing_are_nothing():
    cells = _core.Cells(np.zeros((3, 1), np.uint8), np.ones(1, np.int32), 1)
    assert cells.sums(np.zeros(3)).tolist() == [0.0, 0.0]
    assert cells.sums(np.full(3, 5e-324)).sum() <= 1.5e-323


def test_what_does_not_fit_is_refused():
    codes, n_bins = np.zeros((3, 2), np.uint8), np.ones(2, np.int32)
    cells = _core.Cells(codes, n_bins, 1)
    for message, call, *arguments in (
        ("finite", cells.sums, np.array([1.0, np.nan, 0.0])),
        ("one number per row", cells.sums, np.ones(4)),
        ("one row per cell", cells.scores, np.ones((3, 1))),
        ("no column", cells.shift, np.ones(3), 2, np.ones(2)),
        ("one number per bin", cells.shift, np.ones(3), 0, np.ones(3)),
        ("exceed", _core.Cells, codes + 3, n_bins, 1),
    ):
        with pytest.raises(ValueError, match=message):
            call(*arguments)


def written_out(votes, signs, weights, T):
    """The voter or complement of least weighted error, its weight, the rows' new weights; alpha after each round."""
    margins, alpha, found = np.zeros(len(signs)), np.zeros(votes.shape[1]), []
    wrong = votes != signs[:, None]
    for _ in range(T):
        D = weights * np.exp(margins.min() - margins)
        errors = D @ wrong / D.sum()
        least = np.minimum(errors, 1.0 - errors)
        j = int(np.argmax(least <= least.min() + 1e-12))
        if least[j] >= 0.5 - 1e-12:
            break
        perfect = least[j] <= 1e-12
        error = 0.5 / len(signs) if perfect else least[j]
        step = np.copysign(0.5 * np.log((1.0 - error) / error), 0.5 - errors[j])
        alpha[j] += step
        margins += signs * votes[:, j] * step
        found.append(alpha.copy())
        if perfect:
            break
    return found


def drawn(n, N, seed, noise=0.3):
    random = np.random.default_rng(seed)
    signs = random.choice(np.array([-1, 1], np.int8), n)
    votes = np.where(random.random((n, N)) < noise, -signs[:, None], signs[:, None]).astype(np.int8)
    return votes, signs, random.choice([0.0, 0.5, 1.0, 3.0], n) + (np.arange(n) == 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([0.0, 0.2, 0.5, 0.9]))
def test_as_written_out(n, N, seed, noise):
    votes, signs, weights = drawn(n, N, seed, noise)
    expected = written_out(votes, signs, weights, 30)
    alpha, n_rounds = _core.listed_rounds(votes, signs, weights, np.arange(1, 31))
    assert n_rounds == len(expected) and alpha.shape == (30, N)
    expected += [expected[-1] if expected else np.zeros(N)] * (30 - n_rounds)
    assert_allclose(alpha, expected, rtol=1e-9, atol=1e-9)


def test_long_runs_of_voters_that_part_the_classes():
    """Margins of a hundred thousand rounds are far apart: weights of most rows are 0, none is infinite."""
    votes, signs, _ = drawn(101, 15, 3, noise=0.1)
    (alpha,), n_rounds = _core.listed_rounds(votes, signs, np.ones(101), np.array([100_000]))
    margins = signs * (votes @ alpha) / np.abs(alpha).sum()
    assert n_rounds == 100_000 and np.isfinite(alpha).all() and margins.min() > 0.0
    # AdaBoost's margin is at least half of the largest one (Raetsch and Warmuth 2005)
    from scipy.optimize import linprog

    cost = np.append(np.zeros(30), -1.0)
    rows = np.hstack([-signs[:, None] * np.hstack([votes, -votes]), np.ones((101, 1))])
    best = linprog(cost, rows, np.zeros(101), [[*np.ones(30), 0.0]], [1.0], [(0, None)] * 30 + [(None, None)])
    assert -best.fun >= margins.min() >= -0.5 * best.fun - 1e-3


def test_rows_without_weight_are_absent_and_weights_are_repetitions():
    votes, signs, _ = drawn(30, 6, 5)
    times = np.array([0, 1, 2])[np.arange(30) % 3]
    T = np.array([5, 20])
    one, _ = _core.listed_rounds(votes, signs, times.astype(float), T)
    other, _ = _core.listed_rounds(np.repeat(votes, times, axis=0), np.repeat(signs, times), np.ones(times.sum()), T)
    assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signs": np.array([1, 0], np.int8)}, "signs and votes must be -1 or"),
        ({"votes": np.array([[1], [2]], np.int8)}, "signs and votes must be -1 or"),
        ({"signs": np.array([1], np.int8)}, "each row needs a sign and a weight"),
        ({"weights": np.array([1.0, -1.0])}, "must not be negative"),
        ({"weights": np.array([1.0, np.nan])}, "must not be negative"),
        ({"weights": np.array([1.0, np.inf])}, "finite, positive sum"),
        ({"weights": np.zeros(2)}, "finite, positive sum"),
        ({"rounds": np.array([0])}, "must be positive and ascend"),
        ({"rounds": np.array([2, 2])}, "must be positive and ascend"),
    ],
)
def test_refused(change, message):
    given = {
        "votes": np.array([[1], [-1]], np.int8),
        "signs": np.array([1, 1], np.int8),
        "weights": np.ones(2),
        "rounds": np.array([1, 2]),
    }
    with pytest.raises(ValueError, match=message):
        _core.listed_rounds(**(given | change))
