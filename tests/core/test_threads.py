"""Threads, interrupts and vector widths: none changes a bit of a result."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ctypes import c_ulong, py_object, pythonapi
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from types import FrameType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from committee import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    SBPMTClassifier,
    _core,
    quadboost_path,
)
from tests.core.cases import (
    CRITERIA,
    NARROWER,
    OF_TARGETS,
    THREADS,
    WIDEST,
    Case,
    check_threads,
    check_vectors,
    random_case,
)
from tests.core.checked_tree import DEFAULTS, assert_same_tree
from tests.limits import PATIENCE
from tests.oracles import grow as oracle

MANY_ROWS = 200_000
"""Enough work for every kernel to start its threads."""
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


def test_bins():
    X = table_of_numbers()
    weights = np.random.default_rng(0).exponential(size=len(X))
    for w in (None, weights):
        edges, offset = check_threads(lambda t, w=w: _core.bin_edges(X, w, N_CATEGORIES, 255, 40_000, t))
    check_threads(lambda t: [_core.bin_codes(X, edges, offset, N_CATEGORIES, False, t)])


@pytest.mark.parametrize("subset", [False, True])
def test_histogram(subset):
    case = large_case("gini", weights="heavy")
    rows = np.random.default_rng(0).permutation(MANY_ROWS)[:180_000].astype(np.int32) if subset else None
    table = (case.codes, case.n_bins, case.labels, case.n_classes, case.weights)
    check_threads(lambda t: _core.class_histogram(*table, rows, t))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("max_leaf_nodes", [0, 12])
@pytest.mark.parametrize("subset", [False, True])
def test_growth(kind, max_leaf_nodes, subset):
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
def test_emphasis(per_class):
    rng = np.random.default_rng(13)
    n = 300_000
    start = rng.exponential(size=(n, 3) if per_class else n)
    leaf = rng.integers(-1, 8, n).astype(np.int32)
    labels = rng.integers(0, 3, n).astype(np.uint16)
    factor = rng.exponential(size=(8, 6 if per_class else 3))

    def scaled(n_threads):
        weights = start.copy()
        return _core.scale_rows(weights, leaf, labels, factor, n_threads), weights

    check_threads(scaled)


@pytest.mark.parametrize("n_threads", [0, -1, 1000])
def test_any_ceiling_is_a_ceiling(n_threads):
    """The callers translate n_jobs; whatever reaches the kernels must not crash them."""
    case = large_case("gini", n=30_000)
    limits = oracle.Limits(max_depth=2)
    try:
        tree = case.grow(limits, n_threads=n_threads)
    except ValueError:
        return
    assert_same_tree(tree, case.grow(limits))


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_wild_number_of_threads_starts_few():
    case = large_case("gini")
    before = most = len(list(THREADS_OF_PROCESS.iterdir()))
    with ThreadPoolExecutor(1) as pool:
        growing = pool.submit(case.grow, oracle.Limits(max_depth=6), n_threads=4000)
        while not growing.done():
            most = max(most, len(list(THREADS_OF_PROCESS.iterdir())))
    assert before + 100 < most <= before + 1 + 256


@pytest.mark.parametrize("shared", [False, True])
def test_growers_in_several_threads(shared):
    """Calls on one grower share its buffers: they may wait for each other, but not write over each other."""
    case, limits = large_case("gini", n=20_000), oracle.Limits(max_depth=6)
    grower = case.grower(limits, max_features=3)
    expected = [case.grow_with(grower, seed) for seed in range(8)]

    def grow(seed):
        return case.grow_with(grower if shared else case.grower(limits, max_features=3, n_threads=2), seed)

    with ThreadPoolExecutor(8) as pool:
        for ours, theirs in zip(pool.map(grow, range(8)), expected, strict=True):
            assert_same_tree(ours, theirs)


def grown_in_child(n_threads: int) -> NDArray[np.int32]:
    return large_case("gini", n=30_000).grow(oracle.Limits(max_depth=5), n_threads=n_threads).leaf_of_row


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_can_use_threads_too():
    """No thread outlives the call that started it, so a child starts its own."""
    expected = grown_in_child(5)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for leaf_of_row in pool.map_async(grown_in_child, [1, 5]).get(timeout=PATIENCE):
            assert_array_equal(leaf_of_row, expected)


SOON = 0.5
"""Seconds of a processor from the signal to the end of the call, at most: a busy machine makes none of them longer."""
N, P = 100_000, 20


class AlarmError(Exception):
    """The signal has come."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `AlarmError` when the process has had so many seconds of processors."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def codes() -> tuple[Any, Any, Any]:
    table = np.random.default_rng(0).integers(0, 255, (N, P)).astype(np.uint8)
    return table, np.full(P, 255, dtype=np.int32), np.zeros(P, dtype=np.uint8)


def deep_tree(n_threads: int) -> Callable[[], Any]:
    limits = {"max_depth": 0, "min_samples_leaf": 1, "min_weight_leaf": 0.0, "min_gain": 0.0, "max_features": 0}
    grower = _core.DeepGrower(*codes(), "gini", 2, **limits, n_threads=n_threads)  # type: ignore[arg-type]
    labels = np.random.default_rng(1).integers(0, 2, N).astype(np.uint16)
    return lambda: grower.grow_classes(labels, np.ones(N), None, 0)


def gradient_tree(n_threads: int) -> Callable[[], Any]:
    grower = _core.GradientGrower(*codes(), **DEFAULTS | {"n_threads": n_threads})
    gradient = np.random.default_rng(1).normal(size=N)
    return lambda: grower.grow(gradient, np.ones(N), None, None, 0)


def scores_in_leaves(n_threads: int) -> Callable[[], Any]:
    """Two leaves, of which the caller of two threads has one, and waits for the other or the other for it."""
    rng = np.random.default_rng(1)
    D, labels = rng.normal(size=(N, P)), rng.integers(0, 2, N).astype(np.uint16)
    rows, start = np.arange(N, dtype=np.int32), np.array([0, 2000, N])
    return lambda: _core.linear_boost(
        D, rows, start, labels, np.ones(N), 1, "probit", 5000, 0.0, 1e9, True, False, n_threads
    )


def judged_nodes(n_threads: int) -> Callable[[], Any]:
    """A thousand nodes of the same rows."""
    rng = np.random.default_rng(1)
    D, labels = rng.normal(size=(N, P)), rng.integers(0, 2, N).astype(np.uint16)
    rows, held_out = np.arange(N, dtype=np.int32), (np.arange(N) % 3 == 0).astype(np.uint8)
    begin, end = np.zeros(1000, dtype=np.int64), np.full(1000, N)
    return lambda: _core.held_out_errors(
        D, rows, begin, end, labels, np.ones(N), held_out, 1, "probit", 100, 20.0, N, n_threads
    )


def quadratic() -> tuple[Any, Any, Any]:
    votes = np.random.default_rng(1).normal(size=(600, 500))
    return votes.T @ votes / 600, votes.mean(axis=0), np.zeros(500)


def sweeps(n_threads: int) -> Callable[[], Any]:
    gram, c, alpha = quadratic()
    return lambda: _core.cyclic_sweeps(gram, c, alpha, "none", 0.0, 0.0, 10**9)


def greedy_rounds(n_threads: int) -> Callable[[], Any]:
    gram, c, alpha = quadratic()
    return lambda: _core.greedy_rounds(gram, c, alpha, "l2", 0.1, True, 10**6, 0.0)


def lasso_path(n_threads: int) -> Callable[[], Any]:
    gram, b, _ = quadratic()
    return lambda: _core.lasso_path(gram, b, 1.0, np.array([0, 250, 500]), np.array([0.01, 0.0]), 0.0, 10**9)


def paths(n_threads: int) -> Callable[[], Any]:
    T = 50
    following = np.repeat(np.append(np.arange(1, T), -1), 2).reshape(T, 2).astype(np.int32)
    graph = _core.MatrixGraph(following, np.ones((T, 2)), np.array([0, T]))
    q, keys = np.full((500, T), 0.5), np.arange(500, dtype=np.uint64)
    return lambda: graph.sampled(q, keys, 10**8, n_threads)


def pairs(n_threads: int) -> Callable[[], Any]:
    wide = np.random.default_rng(0).integers(0, 4, (4 * N, 80)).astype(np.uint8)
    cells = _core.Cells(wide, np.full(80, 4, dtype=np.int32), n_threads)
    return lambda: [cells.pairs(np.ones(4 * N)) for _ in range(5)]


KERNELS = [deep_tree, gradient_tree, scores_in_leaves, judged_nodes, sweeps, greedy_rounds, lasso_path, paths, pairs]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_a_signal_ends_the_call(kernel, n_threads):
    call = kernel(n_threads)
    begun = time.process_time()
    with pytest.raises(AlarmError), alarm(0.1):
        call()
    assert time.process_time() - begun - 0.1 < n_threads * SOON


def test_an_exception_set_in_another_thread_ends_its_call():
    call, running, raised = deep_tree(1), Event(), Event()

    def run():
        running.set()
        try:
            call()
        except AlarmError:
            raised.set()

    thread = Thread(target=run)
    thread.start()
    running.wait()
    assert thread.ident is not None
    begun = time.process_time()
    pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread.ident), py_object(AlarmError))
    assert raised.wait(PATIENCE) and time.process_time() - begun < SOON
    thread.join()


def test_a_grower_goes_on_after_an_interrupt():
    for kernel in (deep_tree, gradient_tree):
        call = kernel(2)
        expected = kernel(2)()
        with pytest.raises(AlarmError), alarm(0.05):
            call()
        tree = call()
        assert_array_equal(tree.feature, expected.feature)
        assert_array_equal(tree.sums, expected.sums)


ONE_KERNEL = "2026-11-26: the processor has vectors of 16 bytes alone, or the sanitizers' build one kernel alone"


def rows(n: int = 700) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.nansum(X[:, :3], axis=1) + 0.5 * rng.normal(size=n)


def answers(model: Any, X: Any, y: Any) -> list[Any]:
    model.fit(X, y)
    said = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return [said, model.contributions(X[:50])] if hasattr(model, "contributions") else [said]


@pytest.mark.skipif(not NARROWER, reason=ONE_KERNEL)
@pytest.mark.parametrize(
    ("make", "n_classes"),
    [
        (lambda: GradientBoostingClassifier(n_estimators=12, random_state=0), 2),
        (lambda: GradientBoostingClassifier(n_estimators=6, random_state=0, leaf_l2=2.0), 4),
        (lambda: GradientBoostingRegressor(n_estimators=12, random_state=0), 0),
        (lambda: RandomForestClassifier(n_estimators=12, random_state=0), 3),
        (lambda: AdaBoostClassifier(8, vote="confidence", max_depth=3, random_state=0), 2),
        (lambda: AdaBoostClassifier(8, vote="confidence", max_depth=3, random_state=0), 4),
        (lambda: SBPMTClassifier(n_estimators=3, random_state=0), 3),
        (lambda: SBPMTClassifier(n_estimators=2, link="logit", random_state=0), 2),
        (lambda: SBPMTClassifier(n_estimators=2, leaf_steps="gradient", random_state=0), 2),
        (lambda: SBPMTClassifier(n_estimators=2, leaf_steps="gradient", random_state=0), 3),
    ],
)
def test_every_length_of_vectors_gives_the_same_bits(make, n_classes):
    X, y = rows()
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    check_vectors(lambda: answers(make(), X, y))


def boosted(n: int, p: int, link: str) -> list[Any]:
    """Lines of one leaf of n rows and p columns, short or long, and the Newton terms of its scores."""
    rng = np.random.default_rng(n + p)
    D = rng.normal(size=(n, p))
    labels = rng.integers(3, size=n).astype(np.uint16)
    rows, start, weights = np.arange(n, dtype=np.int32), np.array([0, n]), 0.1 + rng.random(n)
    lines = _core.linear_boost(D, rows, start, labels, weights, 3, link, 30, 0.0, 20.0, False, True, 1)
    extremes = np.array([0.0, -0.0, 40.0, -40.0, 700.0, -700.0, 1e300, -1e300])
    return [*lines, *_core.newton_terms(link, np.concatenate([lines[2].ravel(), extremes]))]


@pytest.mark.skipif(not NARROWER, reason=ONE_KERNEL)
@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize(("n", "p"), [(5, 3), (29, 18), (64, 41), (65, 5), (300, 7), (1200, 33)])
def test_lines_of_every_size_of_leaf_have_the_same_bits(n, p, link):
    check_vectors(lambda: boosted(n, p, link))


@pytest.mark.skipif(not NARROWER, reason=ONE_KERNEL)
def test_every_length_of_vectors_follows_the_same_path():
    """Codes by comparisons, counts of bits, and the steps of the LASSO."""
    X = np.random.default_rng(1).normal(size=(900, 12))
    y = np.where(X[:, 0] + np.sin(3.0 * X[:, 1]) > 0.2, 1, 0)

    def path():
        found = quadboost_path(X, y, n_alphas=20)
        return found.weights, found.gaps

    check_vectors(path)


@pytest.mark.parametrize("bytes", [0, 8, 48, 128])
def test_there_are_no_kernels_for_other_vectors(bytes):
    with pytest.raises(ValueError, match=f"lane_bytes={bytes}: kernels are for 16, 32 or 64"):
        _core.use_lane_bytes(bytes)
    assert _core.lane_bytes() == WIDEST
