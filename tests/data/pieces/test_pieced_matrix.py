"""The matrix of a table in pieces, which is nowhere as a whole."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from committee import scan
from committee.data.binning import Bins
from committee.data.pieces.pieced_matrix import PiecedMatrix
from committee.data.pieces.storage import Storage
from committee.data.pieces.training_pass import look_at
from committee.data.row_digests import cell_sums, row_digests, unordered_digests
from tests.pieced_cases import cut, sampled

X = np.random.default_rng(0).normal(size=(90, 3)).round(1)
X[X > 1.5] = np.nan
WEIGHTS = np.random.default_rng(1).integers(0, 3, 90).astype(float)
COUNTED = X[WEIGHTS > 0]


@pytest.fixture
def matrix(tmp_path: Path) -> PiecedMatrix:
    looked = look_at(scan(cut([20, 20, 71, 90], X)), np.zeros(90), WEIGHTS, Storage(None, lambda: tmp_path))
    return PiecedMatrix(looked, looked.look.schema)


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
    assert_array_equal(matrix.row_by_row(2, lambda rows: rows[:, :2] + 1.0), COUNTED[:, :2] + 1.0)


@pytest.mark.parametrize("max_bins", [3, 20, 300])
@pytest.mark.parametrize("most", [10, 1000])
def test_bins(matrix, max_bins, most):
    with sampled(most):
        matrix.looked = look_at(matrix.looked.pieces, np.zeros(90), WEIGHTS, matrix.looked.storage)
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
    blocks = PiecedMatrix.blocks
    passes = []
    monkeypatch.setattr(PiecedMatrix, "blocks", lambda *given: passes.append(1) or blocks(*given))
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
