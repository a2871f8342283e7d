"""How many threads a kernel may use, and how many jobs a fit."""

from joblib import effective_n_jobs


def n_threads(n_jobs: int | None) -> int:
    """Ceiling on native threads that a scikit-learn style ``n_jobs`` asks for.

    None means one, unless a joblib backend in force says otherwise; -1 means all processors. Inside a
    worker of another parallel run the answer is one, so that processors are never shared twice.

    Raises
    ------
    ValueError
        If `n_jobs` is 0.
    """
    return max(1, int(effective_n_jobs(n_jobs)))
