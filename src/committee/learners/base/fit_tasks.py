"""One fit of an estimator as scikit-learn's callbacks see it: a task, and one for each of its rounds or voters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext, CallbackSupportMixin

T = TypeVar("T")
Fitted = Callable[[], dict[str, Any]]
"""The fitted attributes as of now; called only where a callback asks for a fitted estimator."""


class FitTasks:
    """The tasks of one fit: the whole, and one after the other its parts.

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
        self._estimator, self._context = estimator, context
        self._part: CallbackContext | None = None
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._about: dict[str, Any] = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}

    def begin(self) -> None:
        """Begin the whole, once parameters and rows are known to be sound."""
        self._context.call_on_fit_task_begin(**self._about)

    def begin_part(self, name: str) -> None:
        """Begin a part; callbacks do not see the parts of a fit that is a single task."""
        if self._context.max_subtasks != 0:
            self._part = self._context.subcontext(task_name=name)
            self._part.call_on_fit_task_begin(**self._about)

    def end_part(self, fitted: Fitted) -> bool:
        """End the part; True if a callback wants the fit to stop there."""
        return self._part is not None and bool(
            self._part.call_on_fit_task_end(**self._about, reconstruction_attributes=fitted)
        )

    def each(self, name: str, trained: Iterable[T], fitted: Callable[[list[T]], dict[str, Any]]) -> list[T]:
        """Gather what is trained as it comes, each a part; fewer if a callback wants the fit to stop."""
        gathered: list[T] = []
        for one in trained:
            gathered.append(one)
            self.begin_part(name)
            if self.end_part(lambda: fitted(gathered)):
                break
        return gathered

    def end(self, fitted: dict[str, Any]) -> None:
        """Set the results, and end the whole."""
        self._estimator.__dict__.update(fitted)
        self._context.call_on_fit_task_end(**self._about, reconstruction_attributes=fitted)
