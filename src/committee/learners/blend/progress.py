"""Progress of the fit of a committee of ensembles: a line for each candidate, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from committee.learners.blend.losses import loss_label, reported_loss

_SHORT = "under 1 s"


class TimeLeft:
    """Estimate of the seconds left of a fit of several candidates, with an optional `limit` in seconds.

    A candidate is estimated by the mean time of those before it, and the current one by its own fits so far. There is
    no estimate before the first fit has ended.
    """

    def __init__(self, n_candidates: int, limit: float | None) -> None:
        self.n_candidates: int = n_candidates
        self.begun: float = time.perf_counter()
        self._limit = limit
        self._took: list[float] = []
        self._candidate_begun, self._n_fits, self._fits = self.begun, 0, 0

    def begin(self, n_fits: int) -> None:
        self._candidate_begun, self._n_fits, self._fits = time.perf_counter(), n_fits, 0

    def fit_ended(self) -> None:
        self._fits += 1

    def end(self) -> None:
        self._took.append(time.perf_counter() - self._candidate_begun)
        self._n_fits = 0

    @property
    def n_ended(self) -> int:
        return len(self._took)

    @property
    def share(self) -> float:
        return (len(self._took) + (self._fits / self._n_fits if self._n_fits else 0.0)) / self.n_candidates

    @property
    def passed(self) -> float:
        return time.perf_counter() - self.begun

    @property
    def by_limit(self) -> float | None:
        return None if self._limit is None else max(0.0, self._limit - self.passed)

    def seconds(self) -> float | None:
        lasted, took = time.perf_counter() - self._candidate_begun, list(self._took)
        if self._fits and self._n_fits:
            took.append(lasted * self._n_fits / self._fits)
        if not took:
            return None
        mean, under_way = sum(took) / len(took), 0.0
        if self._n_fits:
            under_way = max(0.0, (took[-1] if self._fits else mean) - lasted)
        return under_way + mean * (self.n_candidates - len(self._took) - bool(self._n_fits))


class MemberLines:
    """A callback that writes a line for each candidate of a committee of ensembles: its loss, and the time left.

    The losses of the candidate alone and of the vote so far are on held-out rows. The time left is estimated by the
    candidates so far, or what `time_limit` leaves if that is less.

    Parameters
    ----------
    write : callable, default=None
        Called with each line. None writes to standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import CommitteeRegressor, MemberLines
    >>> lines = []
    >>> model = CommitteeRegressor("fast", random_state=0).set_callbacks(MemberLines(lines.append))
    >>> model = model.fit(*load_diabetes(return_X_y=True))
    >>> [line.split(":")[0] for line in lines]
    ['forest', 'boosted_lines', 'small_trees']
    """

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        self.write = write

    def setup(self, estimator: Any, context: Any) -> None:
        """Start the clock."""
        self._fit = context
        self.time_left: TimeLeft = TimeLeft(context.max_subtasks, estimator.time_limit)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Begin a candidate."""
        if context.parent is self._fit:
            self.time_left.begin(max(1, context.max_subtasks))
            self.moved(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> None:
        """Write the line of a candidate that is trained or left out."""
        if context is self._fit:
            return
        if context.parent is not self._fit:
            self.time_left.fit_ended()
            self.moved(context.parent.task_name)
            return
        self.time_left.end()
        self.moved(context.task_name)
        line = f"{context.task_name}: {_scores(context.task_name, fitted_estimator)}; {self._time()}"
        if self.write is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self.write(line)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Required by scikit-learn."""

    def moved(self, name: str) -> None:
        """Hook for subclasses that draw progress: a candidate has begun or ended, or one of its fits has ended."""

    def _time(self) -> str:
        left = self.time_left
        passed = f"{left.n_ended} of {left.n_candidates} candidates, {duration_text(left.passed)} so far"
        if left.n_ended == left.n_candidates:
            return passed
        return f"{passed}, {time_left_text(left)} left"


def time_left_text(left: TimeLeft) -> str:
    estimate, limit = left.seconds(), left.by_limit
    limited = limit is not None and (estimate is None or limit < estimate)
    seconds = limit if limited else estimate
    if seconds is None:
        return "unknown time"
    words = duration_text(seconds)
    return words if words == _SHORT else f"{'at most' if limited else 'about'} {words}"


def duration_text(seconds: float) -> str:
    if seconds < 120.0:
        return _SHORT if seconds < 0.95 else f"{seconds:.0f} s"
    return f"{seconds / 60.0:.1f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def _scores(name: str, model: Any) -> str:
    if model is None:
        return "left out"
    if name in model.left_out_ and not np.isfinite(_loss(name, model)):
        return f"left out ({model.left_out_[name]})"
    loss, n = model.number_loss, len(model.member_names_)
    words = "log loss" if loss is None else loss_label(loss)
    alone, vote = (x if loss is None else reported_loss(loss, x) for x in (_loss(name, model), model.oof_loss_))
    counts = "" if name in model.member_names_ else " (no weight)"
    return f"{words} {alone:#.4g} alone{counts}, {vote:#.4g} by the vote of {n}"


def _loss(name: str, model: Any) -> float:
    if name in model.member_names_:
        return float(model.member_losses_[model.member_names_.index(name)])
    return float(model.left_out_losses_[list(model.left_out_).index(name)])
