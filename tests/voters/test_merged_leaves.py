"""Equal leaves side by side are one: beside a recursion over each tree."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee import TreeRegressor
from committee.voters.forest import Forest
from committee.voters.merged_leaves import MergedLeaves, known_apart


def forest_of(seed: int, n_trees: int) -> Forest:
    rng = np.random.default_rng(seed)
    grown: list[Any] = []
    for t in range(n_trees):
        X, y = rng.integers(0, 6, (40, 3)).astype(float), rng.integers(0, 3, 40).astype(float)
        columns = [0] if t % 2 else []
        grown.append(TreeRegressor(max_depth=4, min_samples_leaf=1, categorical_features=columns or None).fit(X, y))
    return Forest.concatenate([each.committee_.voters for each in grown])


def naive(forest: Forest, t: int, node: int, says: Any) -> tuple[Any, list[int]]:
    """What a whole sub-tree says, None if leaves differ; and the nodes of it that are left, counted through."""
    first = int(forest.offset[t])
    if forest.feature[first + node] < 0:
        return says[first + node], [first + node]
    left = int(forest.left[first + node])
    (a, below_a), (b, below_b) = (naive(forest, t, child, says) for child in (left, left + 1))
    if a is not None and a == b:
        return a, [first + node]
    return None, [first + node, *below_a, *below_b]


@given(seed=st.integers(0, 10**6), n_trees=st.integers(1, 4), n_values=st.integers(1, 3))
def test_nodes_that_are_left_are_those_of_a_recursion(seed: int, n_trees: int, n_values: int) -> None:
    forest = forest_of(seed, n_trees)
    rng = np.random.default_rng(seed)
    says = rng.integers(0, n_values, len(forest.feature))
    merged = MergedLeaves.of(forest, [says])
    expected = sorted(node for t in range(n_trees) for node in naive(forest, t, 0, says)[1])
    assert merged.nodes.tolist() == expected
    for node in merged.nodes[merged.single[merged.nodes]].tolist():
        tree = int(np.searchsorted(forest.offset, node, side="right")) - 1
        assert says[merged.stands[node]] == naive(forest, tree, node - int(forest.offset[tree]), says)[0]
    two = np.column_stack([says, says[::-1]])
    pairs = {pair: number for number, pair in enumerate(sorted(set(map(tuple, two.tolist()))))}
    alike = np.array([pairs[tuple(pair)] for pair in two.tolist()])
    assert MergedLeaves.of(forest, [two]).nodes.tolist() == MergedLeaves.of(forest, [alike]).nodes.tolist()


@pytest.mark.parametrize("missing_left", [0, 1])
def test_categories_on_the_side_that_missing_ones_do_not_go_to(missing_left: int) -> None:
    stump = Forest(
        n_features=1,
        n_classes=2,
        offset=np.array([0, 3]),
        feature=np.array([0, -1, -1], np.int32),
        threshold=np.zeros(3),
        left=np.array([1, -1, -1], np.int32),
        missing_left=np.array([missing_left, 0, 0], np.uint8),
        category_offset=np.array([0, 1, 1, 1]),
        category_bits=np.array([0b0101], np.uint32),
        label=np.array([-1, 0, 1], np.int32),
        value=None,
        gain=np.zeros(3),
        weight=np.ones(3),
        count=np.ones(3, np.int64),
    )
    left = stump.votes(np.arange(40.0)[:, None])[:, 0] == 0
    known = 4
    apart = known_apart(stump, 0, known)
    assert apart.tolist() == [code for code in range(known) if left[code] != bool(missing_left)]
    everything = known_apart(stump, 0, 0)
    assert everything.tolist() == [code for code in range(40) if left[code] != bool(missing_left)]
