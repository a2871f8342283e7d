"""A fit that ends in time, with the rounds or members that it has by then."""

from __future__ import annotations

import time
from typing import Any


class Deadline:
    """Stops a fit before the round, or member, that would end too late, were it to take as long as the longest so far.

    A callback of scikit-learn's. The first is always trained, so that there is a model; it counts with all that comes
    before it.

    Parameters
    ----------
    seconds : float
        Time for the fit, from when it begins.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import GradientBoostingClassifier
    >>> model = GradientBoostingClassifier(learning_rate=0.1).set_callbacks(Deadline(1e-3))
    >>> model.fit(*load_wine(return_X_y=True)).committee_.n_voters < 200
    True
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin to count."""
        self._begun = self._last = time.perf_counter()
        self._longest = 0.0

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A part begins."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Tell whether the fit should end, now that a part of it has."""
        now = time.perf_counter()
        self._longest, self._last = max(self._longest, now - self._last), now
        return now - self._begun + self._longest > self.seconds

    def teardown(self, estimator: Any, context: Any) -> None:
        """End."""
