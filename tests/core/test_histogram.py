"""Histograms: exact sums of rounded weights, whatever the order of the rows."""

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from committee import _core
from tests.core.cases import Case, cases
from tests.oracles import histogram as oracle

some_cases = cases(kinds=("gini",))


def histogram_of(case: Case, rows: NDArray[np.int32] | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return _core.class_histogram(case.codes, case.n_bins, case.labels, case.n_classes, case.weights, rows, 1)


@given(some_cases)
def test_same_as_row_by_row(case: Case) -> None:
    sums, counts = histogram_of(case)
    expected_sums, expected_counts = oracle.class_histogram(
        case.codes, case.n_bins, case.labels, case.n_classes, case.weights, None
    )
    assert sums.dtype == np.float64
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, expected_counts)
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-14, atol=1e-16 * case.weights.sum())


@given(some_cases)
def test_sums_are_the_weights_to_the_promised_precision(case: Case) -> None:
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
def test_order_of_rows_does_not_matter(case: Case, seed: int) -> None:
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
        np.testing.assert_array_equal(counts, same_counts)
        np.testing.assert_allclose(sums, same_sums, rtol=1e-14, atol=1e-16 * case.weights.sum())


@given(some_cases, st.integers(0, 2**32 - 1))
def test_some_rows_are_a_smaller_table(case: Case, seed: int) -> None:
    keep = np.random.default_rng(seed).random(len(case.codes)) < 0.5
    keep[0] = True
    smaller = _core.class_histogram(
        case.codes[keep], case.n_bins, case.labels[keep], case.n_classes, case.weights[keep], None, 1
    )
    for ours, theirs in zip(histogram_of(case, np.flatnonzero(keep).astype(np.int32)), smaller, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(some_cases)
def test_halves_add_up_to_the_whole(case: Case) -> None:
    case.weights[:] = 1.0
    rows = np.arange(len(case.codes), dtype=np.int32)
    whole = histogram_of(case)[1]
    halves = [histogram_of(case, rows[start::2].copy())[1] for start in (0, 1)]
    np.testing.assert_array_equal(halves[0] + halves[1], whole)


@pytest.mark.parametrize("scale", [1e-290, 1e-30, 1.0, 1e30, 1e300])
def test_the_unit_of_the_weights_does_not_matter(scale: float) -> None:
    codes = np.array([[0], [1], [1], [2]], dtype=np.uint8)
    labels = np.array([0, 1, 0, 1], dtype=np.uint16)
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    sums, _ = _core.class_histogram(codes, np.array([3], dtype=np.int32), labels, 2, scale * weights, None, 1)
    np.testing.assert_allclose(sums / scale, [[1, 3, 0, 0], [0, 2, 4, 0]], rtol=1e-15)


def test_weights_of_very_different_size() -> None:
    codes = np.array([[0], [1], [2]], dtype=np.uint8)
    labels = np.zeros(3, dtype=np.uint16)
    weights = np.array([1e300, 1.0, 1e290])
    sums, counts = _core.class_histogram(codes, np.array([3], dtype=np.int32), labels, 1, weights, None, 1)
    np.testing.assert_array_equal(counts, [[1, 1, 1, 0]])
    np.testing.assert_allclose(sums, [[1e300, 0.0, 1e290, 0.0]], atol=1e300 * 2.0**-60)


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
        {"codes": np.array([[0, 3], [3, 0], [1, 2]], dtype=np.uint16)},
        {"n_bins": np.array([3], dtype=np.int32)},
        {"n_bins": np.array([3, 2, 2], dtype=np.int32)},
        {"n_bins": np.array([3, -1], dtype=np.int32)},
        {"n_bins": np.array([3, 2**31 - 1], dtype=np.int32), "codes": np.zeros((3, 2), dtype=np.uint16)},
        {"labels": np.array([0, 1], dtype=np.uint16)},
        {"labels": np.array([2, 1, 1], dtype=np.uint16)},
        {"labels": np.array([65_535, 1, 1], dtype=np.uint16)},
        {"n_classes": 0},
        {"n_classes": -1},
        {"n_classes": 65_536},
        {"weights": np.ones(2)},
        {"weights": np.array([1.0, 1.0, -1.0])},
        {"weights": np.array([1.0, 1.0, np.nan])},
        {"weights": np.array([1.0, 1.0, np.inf])},
        {"weights": np.zeros(3)},
        {"weights": np.full(3, 1e308)},
        {"weights": np.full(3, 5e-324)},
        {"rows": np.array([0, 3], dtype=np.int32)},
        {"rows": np.array([-1, 0], dtype=np.int32)},
        {"rows": np.array([], dtype=np.int32)},
    ],
    ids="-".join,
)
def test_refuses(wrong: dict[str, Any]) -> None:
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
def test_other_types_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        _core.class_histogram(**GOOD | wrong)
