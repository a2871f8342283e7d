"""Walking trees against the naive walk: small trees are read from bits, others step by step, and none may differ."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from committee.voters.forest import Forest
from tests.core.cases import chain
from tests.limits import PATIENCE
from tests.oracles import traverse

F64 = NDArray[np.float64]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Forest, F64, np.random.Generator]:
    """Enough rows for whole blocks and what is left of them; enough splits that bits are worthwhile, or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    categories = tuple(draw(st.lists(st.sampled_from([0, 0, 0, 5, 40, 64, 100]), min_size=1, max_size=3)))
    forest = traverse.random_forest(
        rng,
        n_trees=draw(st.sampled_from([1, 2, 6])),
        n_splits=draw(st.sampled_from([1, 5, 30, 63, 64, 80])),
        n_categories=categories,
        n_outputs=1,
    )
    X = traverse.random_rows(rng, draw(st.sampled_from([1, 63, 64, 65, 130])), categories)
    if draw(st.booleans()):
        X[X == 63] = 1.0  # the code that stands for no code where bits are read
    return forest, X, rng


@settings(max_examples=40)
@given(cases())
def test_every_row_reaches_the_leaf_of_the_naive_walk(case):
    forest, X, _ = case
    assert_array_equal(forest.trees.apply(X, 1), traverse.apply(forest, X))


@settings(max_examples=40)
@given(cases(), st.sampled_from([1, 2, 3]))
def test_outputs_are_the_bits_of_a_sum_in_the_order_of_the_trees(case, n_outputs):
    forest, X, rng = case
    forest = Forest.concatenate([forest] * n_outputs)
    value, weights = rng.normal(size=len(forest.feature)), rng.normal(size=len(forest) // n_outputs)
    total = forest.trees.sum_outputs(X, value, weights, n_outputs, 1)
    assert total.tobytes() == traverse.sum_outputs(forest, value, X, weights, n_outputs).tobytes()
    assert forest.trees.sum_outputs(X, value, weights, n_outputs, 3).tobytes() == total.tobytes()


def test_one_output_is_the_sum_of_values():
    rng = np.random.default_rng(0)
    forest, X, weights = traverse.random_forest(rng, n_trees=9), traverse.random_rows(rng, 200), rng.normal(size=9)
    trees, value = forest.trees, rng.normal(size=len(forest.feature))
    one = trees.sum_outputs(X, value, weights, 1, 1)
    assert one.tobytes() == trees.sum_values(X, value[:, None], weights, 1).tobytes()


def numbered_chain(depth: int, missing_left: int, falls_left: bool) -> Forest:
    """Splits x <= 0, x <= 1, ... or the other way about."""
    forest = chain(depth, -np.arange(depth) if falls_left else np.arange(depth), falls_left=falls_left)
    return replace(forest, missing_left=np.where(forest.feature >= 0, missing_left, 0).astype(np.uint8))


@pytest.mark.parametrize("falls_left", [False, True])
@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("depth", [4, 31, 62, 63, 64])
def test_words_full_of_leaves(depth, missing_left, falls_left):
    """63 splits have 64 leaves, a whole word; one more does not fit."""
    forest = numbered_chain(depth, missing_left, falls_left)
    forest.check()
    x = np.concatenate([np.arange(-70.0, 70.0, 0.5), [-0.0, np.nan, np.inf, -np.inf]])[:, None]
    assert_array_equal(forest.trees.apply(x, 1), traverse.apply(forest, x))


@pytest.mark.parametrize("missing_left", [0, 1])
def test_a_threshold_of_infinity_parts_values_from_gaps(missing_left):
    forest = numbered_chain(4, missing_left, False)
    forest = replace(forest, threshold=np.where(forest.feature >= 0, np.inf, 0.0))
    x = np.tile([1.0, np.nan, 1e308, np.inf], 20)[:, None]
    assert_array_equal(forest.trees.apply(x, 1), traverse.apply(forest, x))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.zeros((2, 3))}, "X has another number of columns"),
        ({"value": np.zeros(3)}, "value needs one number per node"),
        ({"n_outputs": 0}, "n_outputs must be positive"),
        ({"n_outputs": 2}, "one tree per output and round"),
        ({"weights": np.ones(2)}, "weights needs one number per round"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    arguments: dict[str, Any] = {"X": np.zeros((2, 1)), "value": np.zeros(9), "weights": np.ones(1), "n_outputs": 1}
    with pytest.raises(ValueError, match=message):
        numbered_chain(4, 0, False).trees.sum_outputs(**(arguments | {"n_threads": 1} | changes))


ROOT = Path(__file__).resolve().parents[2]


def with_words(tree: Forest) -> Forest:
    """The tree with sets of categories at the splits of one column."""
    offset = np.concatenate([[0], np.cumsum(2 * (tree.feature == 1))]).astype(np.int64)
    return replace(tree, category_offset=offset, category_bits=np.full(offset[-1], 2**31 + 5, np.uint32))


def of_leaves(with_categories: bool) -> None:
    """Walk trees of many shapes through rows that change all the while."""
    rng = np.random.default_rng(0)
    writing = True
    X = rng.normal(size=(512, 3))
    values = [np.nan, 0.0, 1.0, 5.0, 1e300, -np.inf, np.inf, 62.0, 63.0, 64.0]

    def write() -> None:
        while writing:
            X[:] = values[rng.integers(len(values))]
            X[:, rng.integers(3)] = rng.normal(size=512)

    # the deepest leaf is the last one, too, so that a step from there leaves the tree
    chains = [chain(depth, 0.0, 3, falls_left) for depth in (1, 2, 5, 9, 90) for falls_left in (True, False)]
    forest = Forest.concatenate([with_words(tree) if with_categories else tree for tree in chains])
    leaf = forest.feature < 0
    thread = threading.Thread(target=write)
    thread.start()
    try:
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            at = forest.trees.apply(X, 1) + forest.offset[:-1]
            assert ((at >= 0) & (at < len(leaf))).all(), "a walk left the forest"
            assert leaf[at].all(), "a walk ended inside of a tree"
    finally:
        writing = False
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("with_categories", [False, True])
def test_a_walk_ends_at_a_leaf_while_its_rows_are_written_to(with_categories):
    code = f"from tests.core.test_traverse import of_leaves; of_leaves({with_categories})"
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr[-2000:]
