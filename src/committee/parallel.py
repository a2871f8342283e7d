"""How many threads a kernel may use, and how many jobs a fit."""

import numpy as np
from joblib import effective_n_jobs

MAX_THREADS = 256
"""More than any machine this is for has processors; a wild ``n_jobs`` asks for no more."""


def n_threads(n_jobs: int | None) -> int:
    """Ceiling on native threads that a scikit-learn style ``n_jobs`` asks for.

    None means one, unless a joblib backend in force says otherwise; -1 means all processors. Inside a
    worker of another parallel run the answer is one, so that processors are never shared twice.

    Raises
    ------
    ValueError
        If `n_jobs` is 0.
    """
    return int(np.clip(effective_n_jobs(n_jobs), 1, MAX_THREADS))
