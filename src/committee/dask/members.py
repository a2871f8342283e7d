"""Independent members of a fit as plain futures of a Dask cluster."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from committee.dask.cluster import LOOK_SECONDS, Cluster, ClusterError, Sent
from committee.dask.needed import needed
from committee.dask.worker_jobs import Job, Results, SharedObjects, run_jobs

if TYPE_CHECKING:
    from distributed import Future

TASK_SECONDS = 0.3
"""What a task of several jobs should take: much more than the milliseconds that Dask needs for it."""

MOST_JOBS = 1000
"""Of a task."""

AHEAD = 3
"""Tasks a thread that are not yet yielded: more than one, so that no worker waits for the next."""

MOST_LOSSES = 3
"""How often tasks begin again, without a result between, because all workers that held their objects were lost."""

LARGE_CONTENT = 2**20
"""Bytes of a task that go to a worker as an object; those of fewer stay with the scheduler."""

FETCHED_AT_ONCE = 4

GONE = ("lost", "cancelled")
"""States of a future of which no result comes any more."""


class ClusterMembers:
    """Trains the members of fits on the workers of a cluster; see `committee.data.parallel.MemberExecutor`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @contextmanager
    def results(self, jobs: Iterable[Job], *, ordered: bool = True) -> Iterator[Iterator[Any]]:
        """Results of joblib's delayed calls, in their order or as they come; leaving the context cancels those left."""
        run = _MemberRun(self.cluster, iter(jobs), ordered)
        try:
            yield run.results()
        finally:
            run.end()


@dataclass(eq=False)
class _Task:
    """Some jobs in order."""

    n_jobs: int
    content: bytes
    future: Future[Results] | None = None
    values: list[Any] | None = None


class _MemberRun:
    """One run of jobs: a few tasks a thread under way, of as many jobs as their times say.

    The objects that the jobs share are copied to all workers. Dask itself begins the tasks of a lost worker again; only
    where the last copy of an object is lost it cannot, and these tasks and objects are sent again.
    """

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
        """Yield the results of all jobs."""
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
        """Cancel what is under way, and let workers forget the shared objects."""
        self._fetching.shutdown(wait=False, cancel_futures=True)
        self._forget(self._tasks)

    def _forget(self, tasks: Iterable[_Task]) -> None:
        futures = [task.future for task in tasks if task.future is not None]
        self._cluster.forget([*futures, *self._copies.values(), *self._sent])

    def _send_shared(self) -> None:
        self._sent = [self._cluster.send(one) for one in self._shared.objects]
        self._copies = {}

    def _copy_shared(self) -> None:
        """Give the workers that have come what all tasks need."""
        for address in set(self._cluster.addresses).difference(self._copies) if self._sent else ():
            self._copies[address] = self._cluster.copy(self._sent, address)

    def _fill(self) -> bool:
        """Begin as many tasks as workers need; False if none is left."""
        self._copy_shared()
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
        """Fetch the results of a task in another thread: the one of the fit waits for none."""
        with suppress(RuntimeError):  # the run has ended
            self._fetching.submit(self._fetch, future)

    def _fetch(self, future: Future[Results]) -> None:
        try:
            self._news.put((future, future.result()))
        except BaseException as error:
            self._news.put((future, error))

    def _take_news(self) -> None:
        try:
            future, outcome = self._news.get(timeout=LOOK_SECONDS)
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
            self._failed(future, outcome)
            return
        self._losses = 0
        task.values, task.future = outcome.values, None
        self._next_size = max(1, min(MOST_JOBS, int(TASK_SECONDS * task.n_jobs / max(outcome.seconds, 1e-6))))

    def _failed(self, future: Future[Results], error: BaseException) -> None:
        """Begin again what was lost; raise the error of a job."""
        if future.status != "error":
            self._begin_again(error)
            return
        if isinstance(error, needed("distributed").KilledWorker):
            raise ClusterError(
                f"{self._cluster.name} has lost {error.allowed_failures + 1} workers, one after the other, at the same "
                "task of the fit: most often they need more memory. Give workers more of it or fewer threads, or draw "
                "fewer rows (max_samples), and fit again."
            ) from error
        raise error

    def _begin_again(self, error: BaseException | None = None) -> None:
        """Send the shared objects and all tasks without results again."""
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
