"""Threads on small tables."""

from collections.abc import Iterator
from contextlib import contextmanager

from committee import _core

ROWS = 9_000
"""Rows of two blocks: sums over them are formed in parts."""


@contextmanager
def threads_of_few_rows() -> Iterator[None]:
    """Let the kernels start a thread for a thousandth of the usual work; started processes do the same if forked."""
    usual = _core.work_per_thread()
    _core.use_work_per_thread(usual // 1000)
    try:
        yield
    finally:
        _core.use_work_per_thread(usual)
