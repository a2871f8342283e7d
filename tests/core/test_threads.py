"""Threads: they change how long a call takes, and not a bit of what it returns."""

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import _core
from tests.core.cases import CRITERIA, OF_TARGETS, Case, random_case
from tests.core.checked_tree import assert_same_tree
from tests.oracles import grow as oracle
from tests.patience import PATIENCE

MANY_ROWS = 200_000
"""Enough work for every kernel to start its threads."""
THREADS = (1, 2, 5)
THREADS_OF_PROCESS = Path("/proc/self/task")


def large_case(kind: str, n: int = MANY_ROWS, **options: object) -> Case:
    rng = np.random.default_rng(11)
    case = random_case(rng, kind, n, 6, n_classes=3, max_bins=200, **options)  # type: ignore[arg-type]
    if kind in OF_TARGETS:
        return case
    return replace(case, labels=((case.codes[:, 0] // 50 + rng.integers(0, 2, n)) % case.n_classes).astype(np.uint16))


def table_of_numbers(n: int = MANY_ROWS) -> NDArray[np.float64]:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(n, 11))
    X[:, 3] = np.round(X[:, 3])
    X[:, 7] = rng.integers(0, 30, n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


N_CATEGORIES = np.array([0] * 7 + [30] + [0] * 3, dtype=np.int32)


def test_bins() -> None:
    X = table_of_numbers()
    weights = np.random.default_rng(0).exponential(size=len(X))
    for w in (None, weights):
        (edges, offset), *others = [_core.bin_edges(X, w, N_CATEGORIES, 255, 40_000, t) for t in THREADS]
        for other_edges, other_offset in others:
            np.testing.assert_array_equal(edges, other_edges)
            np.testing.assert_array_equal(offset, other_offset)
    codes, *other_codes = [_core.bin_codes(X, edges, offset, N_CATEGORIES, False, t) for t in THREADS]
    for other in other_codes:
        np.testing.assert_array_equal(codes, other)


@pytest.mark.parametrize("subset", [False, True])
def test_histogram(subset: bool) -> None:
    case = large_case("gini", weights="heavy")
    rows = np.random.default_rng(0).permutation(MANY_ROWS)[:180_000].astype(np.int32) if subset else None
    (sums, counts), *others = [
        _core.class_histogram(case.codes, case.n_bins, case.labels, case.n_classes, case.weights, rows, t)
        for t in THREADS
    ]
    for other_sums, other_counts in others:
        np.testing.assert_array_equal(sums, other_sums)
        np.testing.assert_array_equal(counts, other_counts)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("max_leaf_nodes", [0, 12])
@pytest.mark.parametrize("subset", [False, True])
def test_growth(kind: str, max_leaf_nodes: int, subset: bool) -> None:
    case = large_case(kind, weights="heavy")
    if subset:
        rows = np.random.default_rng(0).permutation(MANY_ROWS)[:180_000].astype(np.int32)
        case = replace(case, rows=rows)
    limits = case.limits(max_depth=6, max_leaf_nodes=max_leaf_nodes, min_samples_leaf=20)
    tree, *others = [case.grow(limits, max_features=4, n_threads=t, seed=3) for t in THREADS]
    assert len(tree.feature) >= 3
    for other in others:
        assert_same_tree(tree, other)


@pytest.mark.parametrize("per_class", [False, True])
def test_emphasis(per_class: bool) -> None:
    rng = np.random.default_rng(13)
    n = 300_000
    start = rng.exponential(size=(n, 3) if per_class else n)
    leaf = rng.integers(-1, 8, n).astype(np.int32)
    labels = rng.integers(0, 3, n).astype(np.uint16)
    factor = rng.exponential(size=(8, 6 if per_class else 3))
    results = []
    for t in THREADS:
        weights = start.copy()
        results.append((_core.scale_rows(weights, leaf, labels, factor, t), weights))
    for total, weights in results[1:]:
        assert total == results[0][0]
        np.testing.assert_array_equal(weights, results[0][1])


@pytest.mark.parametrize("n_threads", [0, -1, 1000])
def test_any_ceiling_is_a_ceiling(n_threads: int) -> None:
    """The callers translate n_jobs; whatever reaches the kernels must not crash them."""
    case = large_case("gini", n=30_000)
    limits = oracle.Limits(max_depth=2)
    try:
        tree = case.grow(limits, n_threads=n_threads)
    except ValueError:
        return
    assert_same_tree(tree, case.grow(limits))


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_wild_number_of_threads_starts_few() -> None:
    case = large_case("gini")
    before = most = len(list(THREADS_OF_PROCESS.iterdir()))
    with ThreadPoolExecutor(1) as pool:
        growing = pool.submit(case.grow, oracle.Limits(max_depth=6), n_threads=4000)
        while not growing.done():
            most = max(most, len(list(THREADS_OF_PROCESS.iterdir())))
    assert before + 100 < most <= before + 1 + 256


def in_parallel(calls: list[Callable[[], _core.GrownTree]]) -> list[_core.GrownTree]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))


def test_growers_in_threads_of_their_own() -> None:
    case = large_case("gini", n=20_000)
    limits = oracle.Limits(max_depth=6)
    expected = [case.grow(limits, max_features=3, seed=seed) for seed in range(8)]
    trees = in_parallel([partial(case.grow, limits, max_features=3, n_threads=2, seed=seed) for seed in range(8)])
    for ours, theirs in zip(trees, expected, strict=True):
        assert_same_tree(ours, theirs)


def test_one_grower_in_several_threads() -> None:
    """Calls on one grower share its buffers: they may wait for each other, but not write over each other."""
    case = large_case("gini", n=20_000)
    grower = case.grower(oracle.Limits(max_depth=6), max_features=3)
    expected = [case.grow_with(grower, seed) for seed in range(8)]
    for ours, theirs in zip(
        in_parallel([partial(case.grow_with, grower, seed) for seed in range(8)]), expected, strict=True
    ):
        assert_same_tree(ours, theirs)


def grown_in_child(n_threads: int) -> NDArray[np.int32]:
    return large_case("gini", n=30_000).grow(oracle.Limits(max_depth=5), n_threads=n_threads).leaf_of_row


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_can_use_threads_too() -> None:
    """No thread outlives the call that started it, so a child starts its own."""
    expected = grown_in_child(5)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for leaf_of_row in pool.map_async(grown_in_child, [1, 5]).get(timeout=PATIENCE):
            np.testing.assert_array_equal(leaf_of_row, expected)
