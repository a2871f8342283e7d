"""One fit of an estimator: the tasks that scikit-learn's callbacks see, and all of its results or none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext, CallbackSupportMixin

T = TypeVar("T")
Fitted = Callable[[], dict[str, Any]]
"""The fitted attributes as of now; called only where a callback asks for a fitted estimator."""


class FitTasks:
    """The tasks of one fit: the whole, and one after the other its parts.

    It is a context: a fit that fails inside it leaves the estimator as it was before.

    Parameters
    ----------
    estimator : estimator
        Whose fit it is.
    context : CallbackContext
        The estimator's own, which knows how many parts there are at most.
    X, y, sample_weight
        As its fit got them.

    Attributes
    ----------
    begun : float
        When it began, by `time.perf_counter`.
    """

    def __init__(
        self, estimator: CallbackSupportMixin, context: CallbackContext, X: Any, y: Any, sample_weight: Any
    ) -> None:
        self.sample_weight, self.begun = sample_weight, time.perf_counter()
        self._context = context
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._about: dict[str, Any] = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._attributes = estimator.__dict__
        self._before = dict(self._attributes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self._attributes.clear()
            self._attributes.update(self._before)

    def begin(self) -> None:
        """Begin the whole, once parameters and rows are known to be sound."""
        self._context.call_on_fit_task_begin(**self._about)

    def part(self, name: str) -> Callable[[Fitted], bool]:
        """Begin a part; what is returned ends it, and says whether a callback wants the fit to stop there."""
        if self._context.max_subtasks == 0:
            return lambda fitted: False  # the fit is a single task
        task = self._context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self._about)
        return lambda fitted: bool(task.call_on_fit_task_end(**self._about, reconstruction_attributes=fitted))

    def each(self, name: str, trained: Iterable[T], fitted: Callable[[list[T]], dict[str, Any]]) -> list[T]:
        """Gather what is trained as it comes, each a part; fewer if a callback wants the fit to stop."""
        gathered: list[T] = []
        for one in trained:
            gathered.append(one)
            if self.part(name)(lambda: fitted(gathered)):
                break
        return gathered

    def end(self, fitted: dict[str, Any]) -> None:
        """Set the results, and end the whole."""
        self._attributes.update(fitted)
        self._context.call_on_fit_task_end(**self._about, reconstruction_attributes=fitted)
