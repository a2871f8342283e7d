"""What workers run: a few members of a fit, one after the other."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

from committee.dask.cluster import Sent

Job: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A function, its arguments and those with names, as `joblib.delayed` makes it."""

SMALL = (bool, int, float, complex, str, bytes, type(None), type, FunctionType, BuiltinFunctionType)


@dataclass(frozen=True)
class Results:
    """Results of a task's jobs, and the seconds that they took."""

    values: list[Any]
    seconds: float


@dataclass(frozen=True)
class _Shared:
    """Stands for one of the objects that are sent once."""

    number: int


class SharedObjects:
    """The objects that all of some jobs hold, by identity, as functions or as arguments: what to send once."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        held = [{id(part): part for part in _parts(job)} for job in jobs]
        self.objects: list[Any] = (
            [part for key, part in held[0].items() if all(key in one for one in held[1:])] if held else []
        )
        self._number = {id(part): number for number, part in enumerate(self.objects)}

    def task(self, jobs: Sequence[Job]) -> bytes:
        """Jobs as bytes, without the shared objects."""
        import cloudpickle

        put = self._put
        calls = [
            (put(f), tuple(map(put, given)), {name: put(value) for name, value in named.items()})
            for f, given, named in jobs
        ]
        content: bytes = cloudpickle.dumps((version("committee"), calls))
        return content

    def _put(self, part: Any) -> Any:
        number = self._number.get(id(part))
        return part if number is None else _Shared(number)


def _parts(job: Job) -> list[Any]:
    function, given, named = job
    return [part for part in (function, *given, *named.values()) if not isinstance(part, SMALL)]


def refuse_other_version(of_client: str) -> None:
    """Raise ``RuntimeError`` where this worker has another version of the library than the client."""
    if of_client != version("committee"):
        raise RuntimeError(
            f"the client has committee {of_client}, and a worker has {version('committee')}; "
            "install the same everywhere."
        )


def run_jobs(task: bytes | Sent, *sent: Sent) -> Results:
    """Run the jobs of `SharedObjects.task` with the objects that they share, on one thread.

    A worker runs as many tasks at the same time as it has threads.

    Raises
    ------
    RuntimeError
        If the worker has another version of the library, whose bits may be others.
    """
    from joblib import parallel_config

    begun = time.perf_counter()
    theirs, calls = pickle.loads(task.value if isinstance(task, Sent) else task)
    refuse_other_version(theirs)

    def get(part: Any) -> Any:
        return sent[part.number].value if isinstance(part, _Shared) else part

    with parallel_config("sequential"):
        values = [
            get(f)(*map(get, given), **{name: get(value) for name, value in named.items()}) for f, given, named in calls
        ]
    return Results(values, time.perf_counter() - begun)
