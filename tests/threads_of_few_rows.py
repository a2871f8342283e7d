"""Threads on small tables."""

from collections.abc import Iterator
from contextlib import contextmanager

from committee import _core

ROWS = 20_500
"""Rows of three blocks, even without a fifth of them: the order in which blocks are summed shows in the bits."""


@contextmanager
def threads_of_few_rows() -> Iterator[None]:
    """Let the kernels start a thread for a thousandth of the usual work, in forked processes too."""
    usual = _core.work_per_thread()
    _core.use_work_per_thread(600)
    try:
        yield
    finally:
        _core.use_work_per_thread(usual)
