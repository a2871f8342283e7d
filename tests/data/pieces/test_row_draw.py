"""Rows drawn by their numbers: of each class its share, the same whatever the pieces."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from committee.data.pieces.row_draw import drawn_rows


@given(st.lists(st.integers(0, 9), min_size=1, max_size=200), st.integers(1, 220))
def test_every_class_has_its_share_and_at_least_one_row(labels, n):
    y = np.array(labels)
    classes, counts = np.unique(y, return_counts=True)
    if n < min(len(classes), len(y)):
        with pytest.raises(ValueError, match="has no room for the"):
            drawn_rows(y, n)
        return
    rows = drawn_rows(y, n)
    assert len(rows) == min(n, len(y))
    assert (np.diff(rows) > 0).all()
    sizes = np.array([(y[rows] == label).sum() for label in classes])
    assert (sizes >= 1).all() and (sizes <= counts).all()
    shares = counts * (min(n, len(y)) / len(y))
    if (shares >= 1).all():
        assert (abs(sizes - shares) < 1).all()
    np.testing.assert_array_equal(rows, drawn_rows(y, n))
