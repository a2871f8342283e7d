"""A Dask cluster as fits use it: objects sent once, tasks, and waiting that ends when the cluster is gone."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import uuid4

from committee.dask.needed import needed

if TYPE_CHECKING:
    from distributed import Client, Future, WorkerPlugin

T = TypeVar("T")

LOOK_SECONDS = 2.0
"""Between two looks at the workers while nothing comes back."""

MOST_SENDINGS = 4
"""How often an object is sent to workers that are lost meanwhile."""


class ClusterError(Exception):
    """The cluster cannot go on with a fit: its scheduler or its workers are gone, or do not answer."""


Packed: TypeAlias = tuple[bytes, list[pickle.PickleBuffer]]


@dataclass(frozen=True, eq=False)
class Sent:
    """An object that workers hold, of which Dask takes nothing apart.

    It is `packed` here by the thread of the fit, as making it ready may ask the cluster for rows: that of the client,
    which sends it, cannot wait for these. A worker has one, for all its tasks.
    """

    value: Any
    packed: Packed | None = None

    @classmethod
    def ready(cls, value: Any) -> Sent:
        """Make an object ready to be sent."""
        return cls(value, _packed(value))

    def __reduce__(self) -> tuple[Callable[..., Sent], Any]:
        content, buffers = _packed(self.value) if self.packed is None else self.packed
        return _unpacked, (content, buffers)


def _packed(value: Any) -> Packed:
    buffers: list[pickle.PickleBuffer] = []
    return needed("cloudpickle").dumps(value, protocol=5, buffer_callback=buffers.append), buffers


def _unpacked(content: bytes, buffers: list[Any]) -> Sent:
    return Sent(pickle.loads(content, buffers=buffers))


def client_in_force(client: Client | None) -> Client:
    """Return the client given, or the current one.

    Raises
    ------
    ValueError
        If there is none, or it is asynchronous.
    """
    if client is not None:
        if not isinstance(client, needed("distributed").Client):
            raise TypeError(
                f"client must be a distributed.Client or None, got {client!r}; connect with "
                "distributed.Client('tcp://scheduler:8786'), say."
            )
        if client.asynchronous:
            raise ValueError(f"client={client!r} is asynchronous; give one that is not, as fits wait for it.")
        return client
    distributed = needed("distributed")
    try:
        return distributed.get_client()
    except ValueError as error:
        raise ValueError(
            "client is None, and no Dask client is connected: give client=distributed.Client(...), with the address "
            "of a scheduler, or with nothing for workers on this machine."
        ) from error


@contextmanager
def outside_of_tasks() -> Iterator[None]:
    """Let a worker run other tasks while one of its own, if this is one, waits for the cluster."""
    distributed = needed("distributed")
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
    """The workers of a client's cluster.

    No call waits forever: after `timeout` seconds in which no worker has been heard of, or the scheduler has not
    answered, the wait ends with a `ClusterError`.
    """

    def __init__(self, client: Client | None, timeout: float) -> None:
        if not timeout > 0.0:
            raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")
        self.client: Client = client_in_force(client)
        self.timeout: float = timeout
        self.name: str = f"the Dask scheduler {self.client.scheduler.addr}"
        self.n_threads = 1
        """Threads of all workers, as of the last look."""
        self._seen: dict[str, float] = {}
        self._since: dict[str, float] = {}
        self._looked = self._heard = time.monotonic()

    def heard(self) -> None:
        """A worker has sent something; look for new ones now and then."""
        self._heard = time.monotonic()
        if self._heard > self._looked + LOOK_SECONDS:
            self.look()

    def look(self) -> None:
        """Ask the scheduler for its workers, and whether any has been heard of since the last look.

        One that is silent for more than `timeout` while others are heard of is given up.

        Raises
        ------
        ClusterError
            If the scheduler is gone, or nothing has been heard for too long.
        """
        self.refuse_closed()
        try:
            found, none = self.client.sync(workers_of, self.client, callback_timeout=LOOK_SECONDS), "it knows none"
        except (OSError, TimeoutError):
            found, none = {}, "it does not answer"
        self._looked = time.monotonic()
        seen = {address: one["last_seen"] for address, one in found.items() if one["status"] == "running"}
        heard = [address for address, at in seen.items() if self._seen.get(address) != at]
        if heard:
            self._heard = self._looked
        self._since = {address: self._since.get(address, self._looked) for address in seen}
        self._since |= dict.fromkeys(heard, self._looked)
        self._seen = seen
        for address in [one for one, since in self._since.items() if heard and self._looked - since > self.timeout]:
            self._give_up(address)
        self.n_threads = max(1, sum(found[address]["nthreads"] for address in seen))
        silent = self._looked - self._heard
        if silent > self.timeout:
            states = ", ".join(f"{address} is {one['status']}" for address, one in found.items()) or none
            raise ClusterError(
                f"{self.name} has had no working worker for {silent:.0f} s, more than timeout={self.timeout:g} "
                f"({states}). Add workers, or memory, or give a longer timeout, and fit again."
            )

    def refuse_closed(self) -> None:
        """Raise ``ClusterError`` if the client is not connected any more."""
        if self.client.status != "running":
            raise ClusterError(
                f"{self.name} is lost: its client is {self.client.status}. Connect to one that runs, and fit again."
            )

    @property
    def addresses(self) -> list[str]:
        """Workers that ran at the last look."""
        return list(self._seen)

    def _give_up(self, address: str) -> None:
        """Have the scheduler take a worker for lost, as it does itself some minutes later: others get its tasks."""
        del self._seen[address], self._since[address]
        unregister = self.client.scheduler.unregister
        with suppress(OSError, TimeoutError):
            self.client.sync(
                unregister, address=address, stimulus_id="committee-silent-worker", callback_timeout=LOOK_SECONDS
            )

    def on_workers(self, function: Callable[..., Any], *arguments: Any, workers: Sequence[str] | None = None) -> None:
        """Call a function on some workers, or all, as far as they can be reached."""
        if self.client.status == "running":
            with suppress(OSError, TimeoutError):
                named = {"workers": workers, "on_error": "ignore", "callback_timeout": LOOK_SECONDS}
                self.client.sync(self.client._run, function, *arguments, **named)

    def register(self, plugin: WorkerPlugin) -> None:
        """Give a plugin to all workers, now and later."""
        for _ in range(MOST_SENDINGS):
            with suppress(OSError):  # a worker has been lost meanwhile
                self.wait_for(partial(self.client.register_plugin, plugin))
                return
        raise ClusterError(
            f"{self.name} loses its workers while it prepares them for a fit. Add workers, and fit again."
        )

    def send(self, value: Any) -> Future[Sent]:
        """Send an object to a worker; one that is lost meanwhile is no error as long as there are others."""
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
                        f"{self.name} has taken no {type(value).__name__} for its workers: {error}. Add workers, or "
                        "connect to one that runs, and fit again."
                    ) from error
        raise AssertionError("every attempt returns or raises")

    def copy(self, sent: Sequence[Future[Sent]], address: str) -> Future[None]:
        """Have a worker fetch objects; nobody need wait for it.

        Dask's own broadcast goes on forever where a worker is lost meanwhile. Without copies all tasks would go to the
        worker that has large objects.
        """
        future: Future[None] = self.client.submit(_hold, *sent, workers=[address], pure=False, priority=1)
        return future

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Run a function on a worker; arguments may be futures."""
        future: Future[T] = self.client.submit(function, *arguments, pure=False)
        return future

    def fetched(self, future: Future[Any]) -> Any:
        """Return the result of a task, once it is there."""
        try:
            return self.wait_for(future.result)
        except (CancelledError, needed("distributed.comm").CommClosedError) as error:
            raise ClusterError(
                f"{self.name} has given up what it was asked for: {error}. Connect to one that runs, and fit again."
            ) from error

    def forget(self, futures: Sequence[Future[Any]]) -> None:
        """Cancel tasks, and let workers forget objects."""
        if futures and self.client.status == "running":
            with suppress(OSError, TimeoutError):
                self.client.sync(self.client._cancel, futures, callback_timeout=LOOK_SECONDS)

    def wait_for(self, call: Callable[[], T]) -> T:
        """Return what a call that talks to the cluster returns, unless the cluster is gone."""
        pool = ThreadPoolExecutor(1, "committee-dask")
        try:
            running = pool.submit(call)
            self._heard = time.monotonic()
            while not wait([running], LOOK_SECONDS).done:
                self.look()
            return running.result()
        finally:
            pool.shutdown(wait=False)


def _hold(*sent: Sent) -> None:
    """Have objects: a worker keeps what its tasks were given."""


async def workers_of(client: Client) -> dict[str, Any]:
    """What the scheduler knows of each worker, by address."""
    identity = await client.scheduler.identity(n_workers=-1)
    found: dict[str, Any] = identity["workers"]
    return found
