"""What tests may take: seconds of waiting and random examples; and threads that start for few rows."""

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import settings

from committee import _core

PATIENCE = 300.0
"""Seconds. A busy machine may run a test at a tenth of its speed."""


def examples(few: int, many: int) -> int:
    """Few in ``make test``, many in ``make test-all``, which takes the profile of that name."""
    return many if settings.get_current_profile_name() == "all" else few


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
