"""A signal ends a kernel's call: what its handler raises is raised by the call, soon, on any number of threads."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import c_ulong, py_object, pythonapi
from threading import Event, Thread
from types import FrameType
from typing import Any

import numpy as np
import pytest

from committee import _core
from tests.patience import PATIENCE

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
    grower = _core.GradientGrower(
        *codes(),
        n_outputs=1,
        max_depth=0,
        max_leaf_nodes=0,
        min_samples_leaf=1,
        min_hessian_leaf=0.0,
        leaf_l0=0.0,
        leaf_l1=0.0,
        leaf_l2=0.0,
        l0_per_leaf=False,
        min_gain=0.0,
        max_features=0,
        growth="leaf",
        monotone=None,
        max_interaction=0,
        interaction_groups=[],
        draw_thresholds=False,
        n_threads=n_threads,
    )
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

    def run() -> None:
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
        np.testing.assert_array_equal(tree.feature, expected.feature)
        np.testing.assert_array_equal(tree.sums, expected.sums)
