"""How long the candidates that are still to be trained will take, by those that are."""

from __future__ import annotations

import time


class TimeLeft:
    """An estimate of the seconds that are left of a fit of several candidates.

    A candidate is taken to last as long as those before it did in the mean, and one under way as long as its own fits
    so far say. Candidates differ, so that it is a guess; before the first fit has ended there is none.

    Parameters
    ----------
    n_candidates : int
        Candidates of the fit.
    limit : float or None
        Seconds that the fit may take.

    Examples
    --------
    >>> left = TimeLeft(3, None)
    >>> left.begin(n_fits=4)
    >>> left.seconds() is None
    True
    """

    def __init__(self, n_candidates: int, limit: float | None) -> None:
        self.n_candidates: int = n_candidates
        self.begun: float = time.perf_counter()
        self._limit = limit
        self._took: list[float] = []
        self._candidate_begun, self._n_fits, self._fits = self.begun, 0, 0

    def begin(self, n_fits: int) -> None:
        """Begin a candidate of so many fits."""
        self._candidate_begun, self._n_fits, self._fits = time.perf_counter(), n_fits, 0

    def fit_ended(self) -> None:
        """End one of its fits."""
        self._fits += 1

    def end(self) -> None:
        """End the candidate."""
        self._took.append(time.perf_counter() - self._candidate_begun)
        self._n_fits = 0

    @property
    def n_ended(self) -> int:
        """Candidates that have ended."""
        return len(self._took)

    @property
    def share(self) -> float:
        """Share of the work that is done, each candidate and each of its fits as much as the others."""
        return (len(self._took) + (self._fits / self._n_fits if self._n_fits else 0.0)) / self.n_candidates

    @property
    def passed(self) -> float:
        """Seconds since the fit began."""
        return time.perf_counter() - self.begun

    @property
    def by_limit(self) -> float | None:
        """Seconds that the limit leaves; None if there is none."""
        return None if self._limit is None else max(0.0, self._limit - self.passed)

    def seconds(self) -> float | None:
        """Seconds that are left, by what was measured; None if nothing was."""
        lasted, took = time.perf_counter() - self._candidate_begun, list(self._took)
        if self._fits and self._n_fits:
            took.append(lasted * self._n_fits / self._fits)
        if not took:
            return None
        mean, under_way = sum(took) / len(took), 0.0
        if self._n_fits:
            under_way = max(0.0, (took[-1] if self._fits else mean) - lasted)
        return under_way + mean * (self.n_candidates - len(self._took) - bool(self._n_fits))
