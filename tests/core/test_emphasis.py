"""Emphasis: weights scaled in place by a factor of leaf and label."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from committee import _core
from tests.oracles import emphasis as oracle


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 50),
    st.integers(1, 6),
    st.integers(2, 5),
    st.booleans(),
)
def test_same_as_row_by_row(seed: int, n: int, n_leaves: int, n_classes: int, per_class: bool) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(n, n_classes) if per_class else n)
    leaf = rng.integers(-1, n_leaves, n).astype(np.int32)
    labels = rng.integers(0, n_classes, n).astype(np.uint16)
    factor = rng.exponential(size=(n_leaves, 2 * n_classes if per_class else n_classes))
    expected = weights.copy()
    expected_total = oracle.scale_rows(expected, leaf, labels, factor)
    untouched = weights[leaf < 0].copy()
    total = _core.scale_rows(weights, leaf, labels, factor, 1)
    np.testing.assert_array_equal(weights, expected)
    np.testing.assert_array_equal(weights[leaf < 0], untouched)
    assert total == pytest.approx(expected_total, rel=1e-13)


GOOD: dict[str, Any] = {
    "weights": np.ones(3),
    "leaf_of_row": np.array([0, 1, -1], dtype=np.int32),
    "labels": np.array([0, 1, 1], dtype=np.uint16),
    "factor": np.ones((2, 2)),
    "n_threads": 1,
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"leaf_of_row": np.array([0, 2, -1], dtype=np.int32)},
        {"leaf_of_row": np.array([0, -2, -1], dtype=np.int32)},
        {"leaf_of_row": np.array([0, 2**31 - 1, -1], dtype=np.int32)},
        {"leaf_of_row": np.array([0, 1], dtype=np.int32)},
        {"labels": np.array([0, 2, 1], dtype=np.uint16)},
        {"labels": np.array([0, 65_535, 1], dtype=np.uint16)},
        {"labels": np.array([0, 1], dtype=np.uint16)},
        {"weights": np.ones(2)},
        {"weights": np.ones((3, 2))},
        {"weights": np.ones((3, 2)), "factor": np.ones((2, 3))},
        {
            "weights": np.ones((3, 2)),
            "factor": np.ones((2, 4)),
            "labels": np.array([0, 2, 1], dtype=np.uint16),
        },
        {"factor": np.ones((0, 2))},
    ],
    ids="-".join,
)
def test_refuses(wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {
        name: np.copy(v) if isinstance(v, np.ndarray) else v for name, v in (GOOD | wrong).items()
    }
    _core.scale_rows(**GOOD)
    with pytest.raises(ValueError):
        _core.scale_rows(**arguments)


def test_weights_that_cannot_be_changed_in_place_are_refused() -> None:
    frozen = np.ones(3)
    frozen.flags.writeable = False
    for weights in (frozen, np.ones(6)[::2], np.ones(3, dtype=np.float32), [1.0, 1.0, 1.0]):
        with pytest.raises((TypeError, ValueError)):
            _core.scale_rows(**GOOD | {"weights": weights})
