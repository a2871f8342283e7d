"""Histograms of words of rows that lie scattered over a table, beside sums of NumPy: every cell to the unit."""

from __future__ import annotations

import numpy as np
import pytest

from committee import _core

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
    return np.concatenate(
        [
            np.bincount(codes[rows, j], values[rows].astype(np.float64), b + 1).astype(np.int64)
            for j, b in enumerate(n_bins)
        ]
    )


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
        np.testing.assert_array_equal(found.view(np.int64), words)
    else:
        pairs = (hessians << wide_bits) + counts
        np.testing.assert_array_equal(found.view(np.int64), np.concatenate([gradients, pairs]))


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
