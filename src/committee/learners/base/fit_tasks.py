"""One fit as scikit-learn's callbacks and a checkpoint see it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from committee.data.parallel import trained_members
from committee.learners.base.scikit_types import CallbackSupportMixin

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext

    from committee.files.checkpoint import Checkpoint
    from committee.learners.base.fit_record import FitRecord, Form
    from committee.learners.base.recorded_fit import RecordedFit

T = TypeVar("T")
Fitted = Callable[[], dict[str, Any] | None]
"""The fitted attributes as of now, None if there is no model yet; called only where a callback asks for one."""


class FitTasks:
    """One fit as scikit-learn's callbacks see it: a task, one for each of its rounds or voters, and parts of these.

    The estimator's own `context` knows how many parts there are at most; `begun` is when the fit began, by
    `time.perf_counter`. `sample_weight` are the weights of all the user's rows, once these are known to be sound
    multiplied by those of their classes; None if all rows weigh alike. `y` and `given_weight` are the labels and the
    user's weights of all rows, once they have been read.
    """

    def __init__(
        self, estimator: CallbackSupportMixin, context: CallbackContext, X: Any, y: Any, sample_weight: Any
    ) -> None:
        self.sample_weight: Any = sample_weight
        self.begun: float = time.perf_counter()
        self.y, self.given_weight = y, sample_weight
        self._estimator, self._context = estimator, context
        self._open: list[CallbackContext] = []  # the last within the one before
        self._recorded: RecordedFit | None = None
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._about: dict[str, Any] = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}

    def open_record(self, checkpoint: Checkpoint | str | os.PathLike[str], rows: Any) -> None:
        """Go on from a checkpoint of this fit, or begin one."""
        from committee.files.checkpoint import Checkpoint  # few fits have one
        from committee.learners.base.recorded_fit import RecordedFit

        given = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        self._recorded = RecordedFit(given, self._estimator, rows)

    @property
    def record(self) -> FitRecord | None:
        """The costly results of the fit; None if there is no checkpoint."""
        return None if self._recorded is None else self._recorded.record

    def random(self) -> np.random.RandomState:
        """Return the generator of all that the fit draws; that of an earlier attempt if it goes on from there."""
        if self._recorded is not None:
            return self._recorded.random
        generator: np.random.RandomState = check_random_state(getattr(self._estimator, "random_state", None))
        return generator

    def result(self, kind: str, given: Iterable[Any], compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return an array that is costly to find; the known one, if the fit goes on from a checkpoint."""
        return compute() if self.record is None else self.record.array(kind, given, compute)

    @contextmanager
    def in_parallel(
        self, jobs: Iterable[Any], n_jobs: int | None, form: Callable[[], Form[T]]
    ) -> Iterator[Iterator[T]]:
        """Results of joblib's delayed calls in order, as `committee.data.parallel` has them; known ones at once."""
        with ExitStack() as pools:

            def computed(n_known: int) -> Iterator[T]:
                return pools.enter_context(trained_members(islice(jobs, n_known, None), n_jobs))

            yield computed(0) if self.record is None else self.record.each("member", form(), computed)

    def close_record(self) -> None:
        """Write what the checkpoint does not hold yet."""
        if self._recorded is not None:
            self._recorded.close()

    def interrupt(self) -> None:
        """End soon: what takes long to write is not written."""
        if self._recorded is not None:
            self._recorded.interrupt()

    def add_note(self, error: Exception) -> None:
        """Add to the error of a fit that went on from a checkpoint where it came from."""
        if self._recorded is not None:
            self._recorded.add_note(error)

    def release_targets(self) -> None:
        """Hold on to the labels and weights of all rows no longer."""
        self.y = self.given_weight = None

    def begin(self) -> None:
        """Begin the whole, once parameters and rows are known to be sound."""
        self._context.call_on_fit_task_begin(**self._about)

    def begin_part(self, name: str, n_parts: int = 0) -> None:
        """Begin a part of the fit, or of the part that is open; callbacks see no parts of a fit that is a single task.

        Parameters
        ----------
        name : str
            Name of the task.
        n_parts : int, default=0
            Most parts that it has itself.
        """
        # to open parts that nobody looks at takes as long as a round on a hundred rows
        if self._context.max_subtasks != 0 and getattr(self._estimator, "_skl_callbacks", None):
            whole = self._open[-1] if self._open else self._context
            self._open.append(whole.subcontext(task_name=name, max_subtasks=n_parts))
            self._open[-1].call_on_fit_task_begin(**self._about)

    def end_part(self, fitted: Fitted) -> bool:
        """End the part that is open; True if a callback wants the fit to stop there."""
        if not self._open:
            return False
        return bool(self._open.pop().call_on_fit_task_end(**self._about, reconstruction_attributes=fitted))

    def end_parts(self, fitted: Fitted) -> None:
        """End all parts that are open."""
        while self._open:
            self.end_part(fitted)

    def each(
        self,
        name: str | Callable[[T], str],
        trained: Iterable[T],
        fitted: Callable[[list[T]], dict[str, Any]],
    ) -> list[T]:
        """Gather what is trained as it comes, each a part; fewer if a callback wants the fit to stop."""
        gathered: list[T] = []
        for one in trained:
            gathered.append(one)
            self.begin_part(name if isinstance(name, str) else name(one))
            if self.end_part(lambda: fitted(gathered)):
                break
        return gathered

    def end(self, fitted: dict[str, Any]) -> None:
        """Set the results, and end the whole."""
        self._estimator.__dict__.update(fitted)
        self._context.call_on_fit_task_end(**self._about, reconstruction_attributes=fitted)
