"""The lecture notes' gradient boosting, its leaves, and the forest, on simulated rows."""

import numpy as np
import pytest

from committee.papers.lectures import forest
from committee.papers.lectures.plan import QUICK


def test_losses_and_subsamples_have_their_lines(rebuilt):
    grids, _ = rebuilt
    grid = next(grid for grid in grids if grid.title.startswith("Gradient boosting"))
    assert [row[:3] for row in grid.rows][:2] == [
        ("two classes, error %", "exponential, by votes", "1"),
        ("two classes, error %", "exponential", "1"),
    ]
    assert len(grid.rows) == 1 + 3 * 3 + 3
    for row in grid.rows:
        assert float(row[3].split()[0]) >= float(row[4]) - 0.01 and 1 <= int(row[5]) <= QUICK.boosting_rounds


def test_l0_and_l1_make_leaves_zero_and_l2_does_not(rebuilt):
    grids, _ = rebuilt
    grid = next(grid for grid in grids if grid.title.startswith("Regularised leaves"))
    share = {row[0]: float(row[3]) for row in grid.rows}
    assert share["none"] == share["leaf_l2=10"] == 100.0
    assert 100.0 > share["leaf_l0=0.5"] > share["leaf_l0=2"]
    assert 100.0 > share["leaf_l1=0.5"] > share["leaf_l1=2"]


def test_simulations_differ_from_repeat_to_repeat_only():
    for task in ("classes", "numbers"):
        one, again, other = (QUICK.simulated(task, 0, repeat) for repeat in (0, 0, 1))
        assert all((a == b).all() for a, b in zip(one, again, strict=True)) and (one[0] != other[0]).any()
        assert [len(part) for part in one] == [QUICK.training_rows] * 2 + [QUICK.test_rows] * 2


@pytest.mark.parametrize(("repeats", "bands"), [(1, 0), (2, 2)])
def test_a_single_repeat_has_no_band_of_errors(repeats, bands):
    oob = np.array([[0.4, 0.3, 0.21], [0.5, 0.2, 0.3]])[:repeats]
    left, right = forest.picture(forest.ForestCurves(oob, oob - 0.1), 100).axes
    assert len(right.collections) == bands
    np.testing.assert_allclose(left.lines[0].get_ydata(), 100.0 * oob.mean(axis=0))
    np.testing.assert_allclose(right.lines[0].get_ydata(), 10.0)


def test_numbers_of_trees_chosen_out_of_bag():
    oob = np.array([[0.4, 0.3, 0.21, 0.2, 0.22], [0.5, 0.2, 0.3, 0.3, 0.19]])
    found = forest.ForestCurves(oob, oob)
    assert found.smallest().tolist() == [4, 5]
    assert found.within_one_standard_error(100).tolist() == [3, 2]
    rows = forest.grid(found, 100).rows
    assert [row[0] for row in rows] == ["1", "2", "5", "least out of bag", "within one s.e."]
    assert rows[3][1:5] == ("4", "19.50", "19.50", "+0.00 ±0.00")
    # out of bag, 5 trees are judged by 2
    assert rows[2][5:] == ("25.00", "-4.50 ±3.50") and (found.test_of_as_many[:, -1] == oob[:, 1]).all()
