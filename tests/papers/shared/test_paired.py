"""Two methods over tables, and the error of a mean."""

import numpy as np
import pytest

from committee.papers.shared.paired import compared, packed, signs_text, standard_error, unpacked


def test_standard_error():
    assert standard_error([1.0, 3.0]) == pytest.approx(1.0)
    assert standard_error([1.0]) == 0.0


def test_a_comparison_counts_tables_and_rows():
    found = compared(np.array([[0.1, 0.2, 0.3], [0.2, 0.2 + 1e-16, 0.1]]), [(2, 0), (0, 0), (0, 3)])
    assert (found.signs.wins, found.signs.losses, found.signs.ties) == (1, 1, 1), "rounding decides nothing"
    assert found.less == pytest.approx(0.1 / 3)
    # better with chances 7/8, 1/2 and 1/16: on two tables at least with (105 + 7 + 1 + 7) / 256
    assert found.probability == pytest.approx(120 / 256) and signs_text(found.signs) == "1-1-1, 1.000"
    none = compared(np.zeros((2, 0)), [])
    assert np.isnan(none.probability) and np.isnan(none.less) and none.signs.pvalue == 1.0
    assert np.isnan(compared(np.zeros((2, 2))).probability), "without rows there is no such test"


def test_bits_come_back():
    right = np.random.default_rng(0).random(21) < 0.5
    assert (unpacked(packed(right), 21) == right).all()
