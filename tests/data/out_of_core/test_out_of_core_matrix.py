"""The matrix of a table in pieces, which is nowhere as a whole."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from committee import scan
from committee.data.bins import Bins
from committee.data.out_of_core.out_of_core_matrix import OutOfCoreMatrix
from committee.data.out_of_core.scan import draw_stratified_rows
from committee.data.out_of_core.training_pass import Storage, scan_training_pieces
from committee.data.row_digests import cell_sums, row_digests, unordered_digests
from tests.pieced_cases import cut, sampled

X = np.random.default_rng(0).normal(size=(90, 3)).round(1)
X[X > 1.5] = np.nan
WEIGHTS = np.random.default_rng(1).integers(0, 3, 90).astype(float)
COUNTED = X[WEIGHTS > 0]


@pytest.fixture
def matrix(tmp_path: Path) -> OutOfCoreMatrix:
    looked = scan_training_pieces(
        scan(cut([20, 20, 71, 90], X)), np.zeros(90), WEIGHTS, Storage(None, lambda: tmp_path)
    )
    return OutOfCoreMatrix(looked, looked.summary.schema)


def test_it_answers_as_the_matrix_in_memory(matrix):
    assert matrix.shape == COUNTED.shape and len(matrix) == len(COUNTED) and matrix.ndim == 2
    assert_array_equal(matrix.dense, COUNTED)
    assert_array_equal(matrix[[5, 3, 3]], COUNTED[[5, 3, 3]])
    assert_array_equal(matrix[COUNTED[:, 0] > 0], COUNTED[COUNTED[:, 0] > 0])
    for digests in (row_digests, cell_sums, unordered_digests):
        assert_array_equal(digests(matrix, 1), digests(COUNTED, 1))
    other = np.arange(2.0 * len(COUNTED)).reshape(-1, 2)
    changed = COUNTED.copy()
    changed[:, [2, 0]] = other
    assert_array_equal(matrix.with_columns([2, 0], other).dense, changed)
    assert_array_equal(matrix.transform_rows(2, lambda rows: rows[:, :2] + 1.0), COUNTED[:, :2] + 1.0)


@pytest.mark.parametrize("max_bins", [3, 20, 300])
@pytest.mark.parametrize("most", [10, 1000])
def test_bins(matrix, max_bins, most):
    with sampled(most):
        matrix.training = scan_training_pieces(matrix.training.pieces, np.zeros(90), WEIGHTS, matrix.training.storage)
        none = np.zeros(3, np.int32)
        for weights in (None, WEIGHTS[WEIGHTS > 0]):
            bins, expected = Bins.learn(matrix, weights, none, max_bins), Bins.learn(COUNTED, weights, none, max_bins)
            assert_array_equal(bins.edges, expected.edges)
            assert_array_equal(bins.offset, expected.offset)
            assert_array_equal(bins.encode(matrix), expected.encode(COUNTED))


def test_digests_are_found_with_the_bin_numbers(matrix, monkeypatch):
    matrix.digests = True
    bins = Bins.learn(matrix, None, np.zeros(3, np.int32), 20)
    bins.encode(matrix)
    blocks = OutOfCoreMatrix.blocks
    passes = []
    monkeypatch.setattr(OutOfCoreMatrix, "blocks", lambda *given: passes.append(1) or blocks(*given))
    for n_passes in (0, 1):  # they are given away
        assert_array_equal(row_digests(matrix, 1), row_digests(COUNTED, 1))
        assert len(passes) == n_passes


def test_cells_are_written_once_for_all_threads(matrix, monkeypatch):
    mapped, calls = Storage.mapped, []
    monkeypatch.setattr(Storage, "mapped", lambda *given: calls.append(1) or mapped(*given))
    with ThreadPoolExecutor(4) as pool:
        for cells in pool.map(lambda _: matrix.dense, range(8)):
            assert_array_equal(cells, COUNTED)
    assert len(calls) == 1


def test_another_process_gets_the_cells(matrix):
    again = pickle.loads(pickle.dumps(matrix))
    assert type(again) is np.ndarray
    assert_array_equal(again, COUNTED)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=200), st.integers(1, 220))
def test_every_class_has_its_share_and_at_least_one_row(labels, n):
    y = np.array(labels)
    classes, counts = np.unique(y, return_counts=True)
    if n < min(len(classes), len(y)):
        with pytest.raises(ValueError, match="has no room for the"):
            draw_stratified_rows(y, n)
        return
    rows = draw_stratified_rows(y, n)
    assert len(rows) == min(n, len(y))
    assert (np.diff(rows) > 0).all()
    sizes = np.array([(y[rows] == label).sum() for label in classes])
    assert (sizes >= 1).all() and (sizes <= counts).all()
    shares = counts * (min(n, len(y)) / len(y))
    if (shares >= 1).all():
        assert (abs(sizes - shares) < 1).all()
    np.testing.assert_array_equal(rows, draw_stratified_rows(y, n))
