"""How many threads a kernel may use, and how many jobs a fit."""

import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from multiprocessing import current_process
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils._param_validation import Interval

MAX_THREADS = 256
"""More than any machine this is for has processors; a wild ``n_jobs`` asks for no more."""


N_JOBS: list[Any] = [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None]
"""scikit-learn parameter constraint of ``n_jobs``: a number but not 0, or None."""


def n_threads(n_jobs: int | None) -> int:
    """Ceiling on native threads that a scikit-learn style ``n_jobs`` asks for.

    None means one, unless a joblib backend in force says otherwise; -1 means all processors. Inside a
    worker of another parallel run the answer is one, so that processors are never shared twice.

    Raises
    ------
    ValueError
        If `n_jobs` is 0.
    """
    if n_jobs and current_process().daemon:
        return 1  # as joblib would have it, but without its warning of processes, which threads are not
    return int(np.clip(effective_n_jobs(n_jobs), 1, MAX_THREADS))


@contextmanager
def closed_in_silence(members: Generator[Any]) -> Iterator[Iterator[Any]]:
    """Ends the training of members that a callback's stop or failure has left over; joblib would warn of them."""
    try:
        yield members
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            members.close()
