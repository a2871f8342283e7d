"""Sums of row values per cell and pair of cells, and rounds of AdaBoost over listed voters."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from tests.core.cases import check_threads
from tests.oracles import votes as oracle


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
    assert_allclose(sums, oracle.cell_sums(codes, n_bins, values), rtol=1e-12, atol=1e-14 * np.abs(values).sum())


@given(tables())
def test_pairs_are_the_weight_that_cells_share(case):
    codes, n_bins, values = case
    masks, w = oracle.cell_masks(codes, n_bins), np.abs(values)
    pairs = _core.Cells(codes, n_bins, 1).pairs(w)
    assert_allclose(pairs, (masks.T * w) @ masks, rtol=1e-12, atol=1e-300)
    assert_array_equal(pairs, pairs.T)


@given(tables(), st.integers(1, 3))
def test_scores_add_up_what_the_cells_of_a_row_give(case, k):
    codes, n_bins, _ = case
    masks = oracle.cell_masks(codes, n_bins)
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
