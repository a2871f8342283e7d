"""A sketch of rows knows them again: all of a small table, and of a large one the share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.data import row_sketch
from committee.data.row_sketch import MOST_DIGESTS, RowSketch

SMALL = st.lists(st.integers(0, 12), min_size=1, max_size=60)


def numbers(values):
    return np.array(values, dtype=np.uint64)


@given(SMALL, SMALL, st.integers(1, 8), st.integers(1, 20))
def test_it_is_what_counting_says(rows, others, most, at_once):
    """By the definition, whatever is kept and however many rows are sorted at the same time."""
    kept = sorted(set(rows))[:most]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_sketch, "MOST_DIGESTS", most)
        patch.setattr(row_sketch, "AT_ONCE", at_once)
        sketch = RowSketch.of(numbers(rows))
        known = sketch.known(numbers(others))
    assert sketch.digests.tolist() == kept
    assert sketch.complete == (len(set(rows)) <= most)
    assert sketch.n_rows == sum(row in kept for row in rows)
    assert sketch.n_repeated == sum(row in kept and rows.count(row) > 1 for row in rows)
    judged = others if sketch.complete else [row for row in others if row <= kept[-1]]
    assert (known.n_rows, known.n_judged) == (len(others), len(judged))
    assert known.n_known == sum(row in kept for row in judged)


def test_the_share_of_a_large_table_is_told_by_a_sample():
    random = np.random.default_rng(0)
    every = random.integers(0, 2**63, size=60_000, dtype=np.uint64)
    known = RowSketch.of(every[:50_000]).known(every[20_000:])
    assert not known.exact
    assert known.n_judged == pytest.approx(40_000 * MOST_DIGESTS / 50_000, rel=0.1)
    assert known.share == pytest.approx(0.75, abs=0.04)


@pytest.mark.parametrize(
    ("digests", "complete", "n_rows", "n_repeated"),
    [
        ([], True, 0, 0),
        ([2, 1], True, 2, 0),
        ([1, 1], True, 2, 0),
        ([1, 2], False, 2, 0),
        ([1, 2], True, 3, 0),
        ([1, 2], True, 3, 4),
        ([1, 2], True, 2, -1),
        ([1, 2], True, 4, 1),
    ],
)
def test_numbers_that_do_not_go_together(digests, complete, n_rows, n_repeated):
    with pytest.raises(ValueError, match="digests"):
        RowSketch(numbers(digests), complete, n_rows, n_repeated)
