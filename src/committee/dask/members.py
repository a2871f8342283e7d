"""Independent members of a fit as tasks of a Dask cluster."""

from __future__ import annotations

import pickle
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, islice
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

import cloudpickle
from distributed import Future, KilledWorker
from joblib import parallel_config

from committee.dask.cluster import POLL_SECONDS, Cluster, ClusterError, Sent

Job: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]  # as `joblib.delayed` returns
Results: TypeAlias = tuple[list[Any], float]  # of the jobs of a task, and their seconds

SMALL = (bool, int, float, complex, str, bytes, type(None), type, FunctionType, BuiltinFunctionType)


@dataclass(frozen=True)
class _Shared:
    number: int


class SharedObjects:
    """Objects that occur, by identity, in all of the given jobs, and are sent once."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        held = [{id(part): part for part in _parts(job)} for job in jobs]
        self.objects: list[Any] = (
            [part for key, part in held[0].items() if all(key in one for one in held[1:])] if held else []
        )
        self._number = {id(part): number for number, part in enumerate(self.objects)}

    def task(self, jobs: Sequence[Job]) -> bytes:
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
    if of_client != version("committee"):
        raise RuntimeError(
            f"the client has committee {of_client}, and a worker has {version('committee')}; "
            "install the same version everywhere."
        )


def run_jobs(task: bytes | Sent, *sent: Sent) -> Results:
    begun = time.perf_counter()
    theirs, calls = pickle.loads(task.value if isinstance(task, Sent) else task)
    refuse_other_version(theirs)

    def get(part: Any) -> Any:
        return sent[part.number].value if isinstance(part, _Shared) else part

    with parallel_config("sequential"):
        values = [
            get(f)(*map(get, given), **{name: get(value) for name, value in named.items()}) for f, given, named in calls
        ]
    return values, time.perf_counter() - begun


TASK_SECONDS = 0.3  # target run time of a task of several jobs

MOST_JOBS = 1000

AHEAD = 3  # tasks in flight per thread, so that no worker is idle

MOST_LOSSES = 3  # restarts in a row without a result

LARGE_CONTENT = 2**20  # bytes from which a task is sent as an object, not through the scheduler

FETCHED_AT_ONCE = 4

GONE = ("lost", "cancelled")  # final states of a future without a result


class ClusterMembers:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @contextmanager
    def results(self, jobs: Iterable[Job], *, ordered: bool = True) -> Iterator[Iterator[Any]]:
        run = _MemberRun(self.cluster, iter(jobs), ordered)
        try:
            yield run.results()
        finally:
            run.end()


@dataclass(eq=False)
class _Task:
    n_jobs: int
    content: bytes
    future: Future[Results] | None = None
    values: list[Any] | None = None


class _MemberRun:
    # Dask restarts the tasks of a lost worker. Where the last copy of a shared object is lost, Dask cannot, and objects
    # and tasks are sent again.
    def __init__(self, cluster: Cluster, jobs: Iterator[Job], ordered: bool) -> None:
        self._cluster, self._ordered = cluster, ordered
        first = list(islice(jobs, 2))
        self._jobs = chain(first, jobs)
        self._shared = SharedObjects(first)
        self._sent: list[Future[Sent]] = []
        self._copies: dict[str, Future[None]] = {}  # by addresses of workers
        self._tasks: list[_Task] = []  # not yet yielded, in the order of their jobs
        self._next_size, self._losses = 1, 0
        self._news: queue.SimpleQueue[tuple[Future[Results], Results | BaseException]] = queue.SimpleQueue()
        self._fetching = ThreadPoolExecutor(FETCHED_AT_ONCE, "committee-dask")

    def results(self) -> Iterator[Any]:
        self._cluster.look()
        self._send_shared()
        while self._fill():
            ready = self._tasks[0] if self._ordered else next((t for t in self._tasks if t.values is not None), None)
            if ready is None or ready.values is None:
                self._take_news()
                continue
            self._tasks.remove(ready)
            yield from ready.values

    def end(self) -> None:
        self._fetching.shutdown(wait=False, cancel_futures=True)
        self._forget(self._tasks)

    def _forget(self, tasks: Iterable[_Task]) -> None:
        futures = [task.future for task in tasks if task.future is not None]
        self._cluster.forget([*futures, *self._copies.values(), *self._sent])

    def _send_shared(self) -> None:
        self._sent = [self._cluster.send(one) for one in self._shared.objects]
        self._copies = {}

    def _fill(self) -> bool:
        for address in set(self._cluster.addresses).difference(self._copies) if self._sent else ():
            self._copies[address] = self._cluster.copy(self._sent, address)
        while len(self._tasks) < AHEAD * self._cluster.n_threads:
            jobs = list(islice(self._jobs, self._next_size))
            if not jobs:
                break
            task = _Task(len(jobs), self._shared.task(jobs))
            self._tasks.append(task)
            self._begin(task)
        return bool(self._tasks)

    def _begin(self, task: _Task) -> None:
        large = len(task.content) > LARGE_CONTENT
        content = self._cluster.send(task.content) if large else task.content
        task.future = self._cluster.submit(run_jobs, content, *self._sent)
        task.future.add_done_callback(self._done)

    def _done(self, future: Future[Results]) -> None:
        with suppress(RuntimeError):  # the run has ended
            self._fetching.submit(self._fetch, future)

    def _fetch(self, future: Future[Results]) -> None:
        try:
            self._news.put((future, future.result()))
        except BaseException as error:
            self._news.put((future, error))

    def _take_news(self) -> None:
        try:
            future, outcome = self._news.get(timeout=POLL_SECONDS)
        except queue.Empty:
            self._cluster.look()
            if any(task.future is not None and task.future.status in GONE for task in self._tasks):
                self._begin_again()
            return
        task = next((task for task in self._tasks if task.future is future), None)
        if task is None:
            return  # of an attempt that was given up
        self._cluster.heard()
        if isinstance(outcome, BaseException):
            if future.status != "error":
                self._begin_again(outcome)
                return
            if isinstance(outcome, KilledWorker):
                raise ClusterError(
                    f"{self._cluster.name} has lost {outcome.allowed_failures + 1} workers, one after the other, at "
                    "the same task of the fit: most often they need more memory. Give workers more of it or fewer "
                    "threads, or draw fewer rows (max_samples of a forest), and fit again."
                ) from outcome
            raise outcome
        self._losses = 0
        (task.values, seconds), task.future = outcome, None
        self._next_size = max(1, min(MOST_JOBS, int(TASK_SECONDS * task.n_jobs / max(seconds, 1e-6))))

    def _begin_again(self, error: BaseException | None = None) -> None:
        self._cluster.look()
        self._losses += 1
        if self._losses > MOST_LOSSES:
            raise ClusterError(
                f"{self._cluster.name} has lost the objects of a fit {self._losses} times, with all workers that held "
                "them: most often workers need more memory. Give them more, and fit again."
            ) from error
        lost = [task for task in self._tasks if task.values is None]
        self._forget(lost)
        self._send_shared()
        for task in lost:
            self._begin(task)
