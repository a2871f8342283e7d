"""Trees made again from their arrays: the same tree, and nothing that a walk could get lost in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee import _core
from tests.core.cases import random_case
from tests.oracles import grow as oracle

seeds = st.integers(0, 2**32 - 1)


def grown(seed: int) -> tuple[_core.GrownTree, np.ndarray, np.ndarray]:
    case = random_case(np.random.default_rng(seed), "gini", 200, 3, missing=0.1)
    return case.grow_with(case.deep_grower(oracle.Limits())), case.codes, case.n_bins


@given(seeds)
def test_a_tree_is_the_same_again(seed):
    tree, codes, n_bins = grown(seed)
    rows = np.arange(len(codes), dtype=np.int32)
    again = _core.GrownTree(tuple(array.copy() for array in tree.nodes()), tree.leaf_of_row)
    for before, after in zip(tree.nodes(), again.nodes(), strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(_core.walk_codes(codes, n_bins, again, rows), tree.leaf_of_row)
    np.testing.assert_array_equal(again.leaf_of_row, tree.leaf_of_row)
    again.forget_rows()
    assert again.leaf_of_row is None and _core.GrownTree(tree.nodes(), None).leaf_of_row is None


@given(st.lists(seeds, min_size=1, max_size=4))
def test_trees_are_joined_node_by_node(several):
    trees = [grown(seed)[0] for seed in several]
    n_nodes, *joined = _core.joined_nodes(trees)
    assert n_nodes.tolist() == [len(tree.feature) for tree in trees]
    offset = joined.pop(4)
    for name, array in zip([name for name in NAMES if name not in ("category_offset", "sums")], joined, strict=True):
        np.testing.assert_array_equal(array, np.concatenate([getattr(tree, name) for tree in trees]))
    words = np.concatenate([np.diff(tree.category_offset) for tree in trees])
    np.testing.assert_array_equal(offset, np.concatenate([[0], np.cumsum(words)]))


def test_what_joins_no_trees_is_refused():
    for other in (None, 3, np.zeros(3)):
        with pytest.raises(TypeError, match="takes grown trees"):
            _core.joined_nodes([grown(3)[0], other])


def test_trees_that_are_made_when_they_are_asked_for_are_joined():
    class Made:
        def __len__(self):
            return 3

        def __getitem__(self, number):
            if number >= 3:
                raise IndexError
            return grown(number)[0]

    for made, kept in zip(_core.joined_nodes(Made()), _core.joined_nodes([grown(k)[0] for k in range(3)]), strict=True):
        np.testing.assert_array_equal(made, kept)


def test_arrays_outlive_their_tree_and_cannot_be_changed():
    tree, _, _ = grown(3)
    feature, expected = tree.feature, tree.feature.copy()
    with pytest.raises(ValueError, match="read-only"):
        feature[0] = 7
    del tree
    np.testing.assert_array_equal(feature, expected)


NAMES = ("feature", "bin", "left", "missing_left", "category_offset", "category_bits", "gain", "count", "sums")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        *[
            (name, lambda a: a[:-1], "not of one length|words of categories")
            for name in NAMES
            if name != "category_bits"
        ],
        *[(name, lambda a: a.astype(np.float32), "another type or shape") for name in NAMES],
        *[(name, lambda a: a[None], "another type or shape") for name in NAMES],
        *[(name, lambda a: None, "another type or shape") for name in NAMES],
        ("left", lambda a: np.where(a < 0, a, 0).astype(np.int32), "does not follow its parent"),
        ("left", lambda a: np.where(a < 0, a, len(a) - 1).astype(np.int32), "does not follow its parent"),
        ("left", lambda a: np.where(a < 0, a, 2**31 - 1).astype(np.int32), "does not follow its parent"),
        ("feature", lambda a: np.abs(a), "does not follow its parent"),
        ("category_offset", lambda a: a + 1, "words of categories"),
        ("category_offset", lambda a: a[::-1].copy(), "words of categories"),
        ("category_bits", lambda a: np.append(a, np.uint32(1)), "words of categories"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(name, change, message):
    tree, _, _ = grown(3)
    assert len(tree.category_bits) and len(tree.feature) > 9
    nodes = list(tree.nodes())
    nodes[NAMES.index(name)] = change(nodes[NAMES.index(name)])
    with pytest.raises(ValueError, match=message):
        _core.TreeNodes(tuple(nodes))


def test_other_numbers_of_arrays_are_refused():
    tree, _, _ = grown(3)
    with pytest.raises(ValueError, match="a tree is of 9 arrays"):
        _core.TreeNodes(tree.nodes()[:-1])
    with pytest.raises(ValueError, match="another type or shape"):
        _core.GrownTree(tree.nodes(), np.zeros(3))
    n = len(tree.feature)
    for value, bounds in ((np.zeros((n, 0)), np.zeros((n, 2))), (np.zeros((n, 1)), np.zeros((n, 1)))):
        with pytest.raises(ValueError, match="not of one length"):
            _core.GradientTree(tree.nodes(), value, bounds)


def test_a_tree_of_fewer_categories_is_not_walked():
    tree, codes, n_bins = grown(3)
    nodes = list(tree.nodes())
    nodes[4], nodes[5] = np.zeros_like(nodes[4]), nodes[5][:0]  # numeric splits are walked by any code
    rows = np.arange(len(codes), dtype=np.int32)
    _core.walk_codes(codes, n_bins, _core.TreeNodes(tuple(nodes)), rows)
    more = n_bins + 40 * np.isin(np.arange(len(n_bins)), tree.feature[np.diff(tree.category_offset) > 0])
    with pytest.raises(ValueError, match="grown on fewer categories"):
        _core.walk_codes(codes, more.astype(np.int32), tree, rows)
