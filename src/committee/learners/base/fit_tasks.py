"""scikit-learn's callbacks: one fit and its rounds, or voters, told as tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.callback import CallbackSupportMixin

State = Callable[[], dict[str, Any]]
"""The fitted attributes as of now; called only where a callback asks."""


class FitTasks:
    """The tasks of one fit: the whole, and one after the other its parts.

    Parameters
    ----------
    estimator : estimator
        Whose fit it is.
    X, y, sample_weight
        As its fit got them.
    most : int or None
        Most parts; None where only the rows will tell.

    Attributes
    ----------
    watched : bool
        Whether anyone is told: rounds that take microseconds need not be told one by one to nobody.
    """

    def __init__(self, estimator: CallbackSupportMixin, X: Any, y: Any, sample_weight: Any, most: int | None) -> None:
        self._context = estimator._init_callback_context(max_subtasks=most)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.watched = bool(getattr(estimator, "_skl_callbacks", ()))
        self._told: dict[str, Any] = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}

    def begin(self) -> None:
        """The fit begins."""
        self._context.call_on_fit_task_begin(**self._told)

    def part(self, name: str) -> Callable[[State], bool]:
        """A part begins; what is returned ends it, and says whether a callback wants the fit to stop there."""
        task = self._context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self._told)
        return partial(self._ended, task)

    def _ended(self, task: Any, state: State) -> bool:
        return bool(task.call_on_fit_task_end(**self._told, reconstruction_attributes=state))

    def end(self, state: State) -> None:
        """The fit is done."""
        self._context.call_on_fit_task_end(**self._told, reconstruction_attributes=state)
