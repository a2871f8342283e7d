"""Lines that tell how the fit of a committee of ensembles gets on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from committee.learners.blend.loss_of_rows import name_of, shown
from committee.learners.blend.time_left import TimeLeft

_SHORT = "under 1 s"


class MemberLines:
    """A line for each candidate of a committee of ensembles once it is trained: its score and the time left.

    A callback of scikit-learn's. The loss alone and that of the vote so far are of rows that the fits have not seen;
    the time left is a guess by the candidates that are trained, or what `time_limit` leaves if that is less.

    Parameters
    ----------
    write : callable, default=None
        Takes each line; None: standard error.

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
        """Begin to count."""
        self._fit = context
        self.time_left: TimeLeft = TimeLeft(context.max_subtasks, estimator.time_limit)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Begin a candidate."""
        if context.parent is self._fit:
            self.time_left.begin(max(1, context.max_subtasks))
            self.moved(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> None:
        """Tell of a candidate that is trained."""
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
        """End."""

    def moved(self, name: str) -> None:
        """Take note that a candidate or one of its fits has begun or ended; subclasses may draw it."""

    def _time(self) -> str:
        left = self.time_left
        passed = f"{left.n_ended} of {left.n_candidates} candidates, {span(left.passed)} so far"
        if left.n_ended == left.n_candidates:
            return passed
        return f"{passed}, {words_of(left)} left"


def words_of(left: TimeLeft) -> str:
    """Time that is left, and whether that is a guess or the limit.

    Examples
    --------
    >>> words_of(TimeLeft(3, None)), words_of(TimeLeft(3, 0.5))
    ('unknown time', 'under 1 s')
    """
    guess, limit = left.seconds(), left.by_limit
    limited = limit is not None and (guess is None or limit < guess)
    seconds = limit if limited else guess
    if seconds is None:
        return "unknown time"
    words = span(seconds)
    return words if words == _SHORT else f"{'at most' if limited else 'about'} {words}"


def span(seconds: float) -> str:
    """Seconds in words, as exact as they matter.

    Examples
    --------
    >>> [span(seconds) for seconds in (0.2, 3.4, 119.0, 150.0, 9000.0)]
    ['under 1 s', '3 s', '119 s', '2.5 min', '2.5 h']
    """
    if seconds < 120.0:
        return _SHORT if seconds < 0.95 else f"{seconds:.0f} s"
    return f"{seconds / 60.0:.1f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def _scores(name: str, model: Any) -> str:
    """Loss of a candidate alone and of the vote so far; that it is left out if it has none."""
    if model is None:
        return "left out"
    if name in model.left_out_ and not np.isfinite(_loss(name, model)):
        return f"left out ({model.left_out_[name]})"
    loss, n = model.number_loss, len(model.member_names_)
    words = "log loss" if loss is None else name_of(loss)
    alone, vote = (x if loss is None else shown(loss, x) for x in (_loss(name, model), model.oof_loss_))
    counts = "" if name in model.member_names_ else " (no weight)"
    return f"{words} {alone:#.4g} alone{counts}, {vote:#.4g} by the vote of {n}"


def _loss(name: str, model: Any) -> float:
    if name in model.member_names_:
        return float(model.member_losses_[model.member_names_.index(name)])
    return float(model.left_out_losses_[list(model.left_out_).index(name)])
