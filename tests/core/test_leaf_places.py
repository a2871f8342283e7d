"""Sums over the leaves of many trees: against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from committee import _core


@given(st.integers(0, 10_000), st.sampled_from([np.uint16, np.uint32]), st.integers(1, 10))
@settings(max_examples=30, deadline=None)
def test_sums_are_those_of_loops(seed, code, n_scores):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 9, random.integers(1, 11))
    start = np.concatenate([[0], np.cumsum(sizes)])
    n = int(random.integers(1, 40))
    codes = np.stack([random.integers(0, size, n) for size in sizes]).astype(code)
    places = _core.LeafPlaces(codes, start)
    value, rows = random.normal(size=(start[-1], n_scores)), random.normal(size=(n, n_scores))
    scores, sums = np.zeros((n, n_scores)), np.zeros((start[-1], n_scores))
    for t in range(len(sizes)):
        for i in range(n):
            scores[i] += value[start[t] + codes[t, i]]
            sums[start[t] + codes[t, i]] += rows[i]
    assert_array_equal(places.scores(value, 1), scores)  # in the order of trees
    assert_array_equal(places.sums(rows, 1), sums)  # in the order of rows


def test_the_same_bits_for_any_number_of_threads():
    random = np.random.default_rng(0)
    codes = random.integers(0, 50, (40, 50_000)).astype(np.uint16)
    places = _core.LeafPlaces(codes, np.arange(41) * 50)
    for method, value in (
        (places.scores, random.normal(size=(2000, 3))),
        (places.sums, random.normal(size=(50_000, 3))),
    ):
        assert_array_equal(method(value, 1), method(value, 3))


@pytest.mark.parametrize(
    ("codes", "start", "error", "words"),
    [
        (np.zeros((2, 3), np.uint16), [0, 1], ValueError, "one more number than there are trees"),
        (np.zeros((2, 3), np.uint16), [1, 2, 3], ValueError, "from 0 on"),
        (np.zeros((2, 3), np.uint16), [0, 2, 2], ValueError, "must rise"),
        (np.full((1, 3), 2, np.uint16), [0, 2], ValueError, "no leaf of its tree"),
        (np.zeros((0, 3), np.uint16), [0], ValueError, "at least one tree"),
        (np.zeros((1, 3), np.uint8), [0, 2], TypeError, "uint16 or uint32"),
    ],
)
def test_refused(codes, start, error, words):
    with pytest.raises(error, match=words):
        _core.LeafPlaces(codes, np.array(start, dtype=np.int64))


def test_values_of_another_size_are_refused():
    places = _core.LeafPlaces(np.zeros((1, 3), np.uint16), np.array([0, 2]))
    with pytest.raises(ValueError, match="one row per leaf"):
        places.scores(np.zeros((3, 1)), 1)
    with pytest.raises(ValueError, match="one row per row"):
        places.sums(np.zeros((2, 1)), 1)
