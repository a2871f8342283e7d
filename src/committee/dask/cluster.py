"""Access to a Dask cluster: shared objects, tasks, partitions, and waits that end when the cluster is lost."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

import cloudpickle
import distributed
from distributed import Client, Future, WorkerPlugin
from distributed.comm import CommClosedError

from committee.data.out_of_core.sources import DaskSource
from committee.data.text import check_names

T = TypeVar("T")

POLL_SECONDS = 2.0  # between polls of the workers while no result arrives

MOST_SENDINGS = 4  # attempts to send anything if workers are lost meanwhile


class ClusterError(Exception):
    """The scheduler or all workers of a cluster are lost or do not respond, or workers are lost again and again."""


Packed: TypeAlias = tuple[bytes, list[pickle.PickleBuffer]]


@dataclass(frozen=True, eq=False)
class Sent:
    """Object sent to workers as a whole, pickled in the thread of the fit: pickling may fetch rows of the cluster."""

    value: Any
    packed: Packed | None = None

    @classmethod
    def ready(cls, value: Any) -> Sent:
        return cls(value, _packed(value))

    def __reduce__(self) -> tuple[Callable[..., Sent], Any]:
        content, buffers = _packed(self.value) if self.packed is None else self.packed
        return _unpacked, (content, buffers)


def _packed(value: Any) -> Packed:
    buffers: list[pickle.PickleBuffer] = []
    return cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append), buffers


def _unpacked(content: bytes, buffers: list[Any]) -> Sent:
    return Sent(pickle.loads(content, buffers=buffers))


def client_in_force(client: Client | None) -> Client:
    if client is not None:
        if not isinstance(client, Client):
            raise TypeError(
                f"client must be a distributed.Client or None, got {client!r}; connect with "
                "distributed.Client('tcp://scheduler:8786'), say."
            )
        if client.asynchronous:
            raise ValueError(f"client={client!r} is asynchronous, and fits wait; give a synchronous client.")
        return client
    try:
        return distributed.get_client()
    except ValueError as error:
        raise ValueError(
            "client is None, and no Dask client is connected: give client=distributed.Client(...), with the address "
            "of a scheduler, or without arguments for workers on this machine."
        ) from error


@contextmanager
def outside_of_tasks() -> Iterator[None]:
    """Leave the worker's thread pool while a fit inside a task waits for the cluster."""
    try:
        distributed.get_worker()
    except ValueError:
        yield
        return
    distributed.secede()
    try:
        yield
    finally:
        distributed.rejoin()


class Cluster:
    """Workers of a client's cluster; waits for them end with a `ClusterError` after `timeout` silent seconds."""

    def __init__(self, client: Client | None, timeout: float) -> None:
        if not timeout > 0.0:
            raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")
        self.client: Client = client_in_force(client)
        self.timeout: float = timeout
        self.name: str = f"the Dask scheduler {self.client.scheduler.addr}"
        self.n_threads = 1  # of all workers at the last poll
        self._seen: dict[str, float] = {}
        self._since: dict[str, float] = {}
        self._looked = self._heard = time.monotonic()

    def heard(self) -> None:
        self._heard = time.monotonic()
        if self._heard > self._looked + POLL_SECONDS:
            self.look()

    def look(self) -> None:
        self.refuse_closed()
        try:
            found, none = self.client.sync(workers_of, self.client, callback_timeout=POLL_SECONDS), "it has none"
        except (OSError, TimeoutError):
            found, none = {}, "it does not respond"
        self._looked = time.monotonic()
        seen = {address: one["last_seen"] for address, one in found.items() if one["status"] == "running"}
        heard = [address for address, at in seen.items() if self._seen.get(address) != at]
        if heard:
            self._heard = self._looked
        self._since = {address: self._since.get(address, self._looked) for address in seen}
        self._since |= dict.fromkeys(heard, self._looked)
        self._seen = seen
        for address in [one for one, since in self._since.items() if heard and self._looked - since > self.timeout]:
            del self._seen[address], self._since[address]
            self._try(self.client.scheduler.unregister, address=address, stimulus_id="committee-silent-worker")
        self.n_threads = max(1, sum(found[address]["nthreads"] for address in seen))
        silent = self._looked - self._heard
        if silent > self.timeout:
            states = ", ".join(f"{address} is {one['status']}" for address, one in found.items()) or none
            raise ClusterError(
                f"{self.name} has had no working worker for {silent:.0f} s, more than timeout={self.timeout:g} "
                f"({states}). Add workers, or memory, or give a longer timeout, and fit again."
            )

    def refuse_closed(self) -> None:
        if self.client.status != "running":
            raise ClusterError(
                f"{self.name} is lost: its client is {self.client.status}. Connect to a running one, and fit again."
            )

    @property
    def addresses(self) -> list[str]:
        return list(self._seen)

    def _try(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        with suppress(OSError, TimeoutError):
            self.client.sync(call, *arguments, **named, callback_timeout=POLL_SECONDS)

    def on_workers(self, function: Callable[..., Any], *arguments: Any, workers: Sequence[str] | None = None) -> None:
        if self.client.status == "running":
            self._try(self.client._run, function, *arguments, workers=workers, on_error="ignore")

    def register(self, plugin: WorkerPlugin) -> None:
        for _ in range(MOST_SENDINGS):
            with suppress(OSError):  # a worker has been lost meanwhile
                self.wait_for(partial(self.client.register_plugin, plugin))
                return
        raise ClusterError(
            f"{self.name} loses its workers while it prepares them for a fit. Add workers, and fit again."
        )

    def send(self, value: Any) -> Future[Sent]:
        ready = Sent.ready(value)

        def scatter() -> Future[Sent]:
            key = f"committee-{type(value).__name__}-{uuid4().hex}"
            sent = self.client.scatter({key: ready}, hash=False, timeout=self.timeout)
            future: Future[Sent] = sent[key]
            return future

        for attempt in range(MOST_SENDINGS):
            try:
                return self.wait_for(scatter)
            except (OSError, CancelledError) as error:
                self.look()
                if attempt + 1 == MOST_SENDINGS or isinstance(error, TimeoutError):
                    raise ClusterError(
                        f"{self.name} could not send {type(value).__name__} to workers: {error}. Add workers, or "
                        "connect to a running scheduler, and fit again."
                    ) from error
        raise AssertionError("every attempt returns or raises")

    def copy(self, sent: Sequence[Future[Sent]], address: str) -> Future[None]:
        # Dask's broadcast hangs if a worker is lost
        future: Future[None] = self.client.submit(_hold, *sent, workers=[address], pure=False, priority=1)
        return future

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        future: Future[T] = self.client.submit(function, *arguments, pure=False)
        return future

    def fetched(self, future: Future[Any]) -> Any:
        try:
            return self.wait_for(future.result)
        except (CancelledError, CommClosedError) as error:
            raise ClusterError(
                f"{self.name} has cancelled a task or lost a connection: {error}. Connect to a running one, and fit "
                "again."
            ) from error

    def forget(self, futures: Sequence[Future[Any]]) -> None:
        if futures and self.client.status == "running":
            self._try(self.client._cancel, futures)

    def wait_for(self, call: Callable[[], T]) -> T:
        pool = ThreadPoolExecutor(1, "committee-dask")
        try:
            running = pool.submit(call)
            self._heard = time.monotonic()
            while not wait([running], POLL_SECONDS).done:
                self.look()
            return running.result()
        finally:
            pool.shutdown(wait=False)


def _hold(*sent: Sent) -> None: ...


async def workers_of(client: Client) -> dict[str, Any]:
    identity = await client.scheduler.identity(n_workers=-1)
    found: dict[str, Any] = identity["workers"]
    return found


AHEAD = 2  # partitions computed ahead of the one being read


@dataclass(frozen=True, eq=False)
class ClusterPartitions(DaskSource):
    cluster: Cluster

    def computed(self, parts: Sequence[Any]) -> Iterator[Any]:
        waiting, client = iter(parts), self.cluster.client
        under_way: deque[Any] = deque(client.compute(part) for part in islice(waiting, AHEAD + 1))
        try:
            while under_way:
                found = self.cluster.fetched(under_way[0])
                under_way.popleft()
                under_way.extend(client.compute(part) for part in islice(waiting, 1))
                yield found
        finally:
            self.cluster.forget(list(under_way))


def without_named(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    names = {"y": y, "sample_weight": sample_weight}
    named = {what: name for what, name in names.items() if isinstance(name, str)}
    if not named:
        return X, y, sample_weight
    if not hasattr(X, "columns"):
        what, name = next(iter(named.items()))
        raise ValueError(f"{what}={name!r} is the name of a column, and X is an array; give an array as {what}")
    columns = list(X.columns)
    for what, name in named.items():
        check_names([name], columns, what)
    kept = [name for name in columns if name not in named.values()]
    found = {what: X[name] for what, name in named.items()}
    return X[kept], found.get("y", y), found.get("sample_weight", sample_weight)
