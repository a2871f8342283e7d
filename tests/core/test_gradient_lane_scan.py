"""Thresholds of gradient trees, eight at a time: those that leave enough on both sides, of any number of cells."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given
from numpy.testing import assert_array_equal

from tests.core.checked_gradient_tree import check_tree, gradients, grown, table
from tests.core.lengths_of_vectors import NARROWER, vectors_of


@given(
    n=st.integers(2, 200),
    n_bins=st.lists(st.sampled_from([7, 8, 9, 63, 64, 65, 255, 256, 257, 511, 513, 700]), min_size=1, max_size=2),
    seed=st.integers(0, 10_000),
    missing=st.sampled_from([0.0, 0.1, 0.9]),
    heavy=st.booleans(),
    limits=st.fixed_dictionaries(
        {
            "n_outputs": st.sampled_from([1, 1, 2]),
            "max_leaf_nodes": st.just(4),
            "min_samples_leaf": st.sampled_from([1, 2, 7, 20, 60]),
            "min_hessian_leaf": st.sampled_from([0.0, 1.0, 12.0]),
        }
    ),
)
def test_thresholds_with_too_little_on_a_side_are_passed_over(n, n_bins, seed, missing, heavy, limits):
    """Where those with enough begin and end, among cells that are looked at by eights and by 256."""
    data = table(n, n_bins, [0] * len(n_bins), seed, missing)
    g, h = gradients(n, limits["n_outputs"], seed, heavy)
    tree, leaf = grown(data, g, h, **limits)
    if not heavy:  # gains of heavy tails are compared elsewhere
        check_tree(tree, data, g, h, limits)
    assert (np.bincount(leaf)[np.unique(leaf)] >= min(limits["min_samples_leaf"], n)).all()
    for bytes in NARROWER:
        with vectors_of(bytes):
            again, leaf_again = grown(data, g, h, **limits)
        for mine, theirs in zip(again.nodes(), tree.nodes(), strict=True):
            assert mine.tobytes() == theirs.tobytes()
        assert_array_equal(leaf_again, leaf)
