"""Shards of a table on the workers of a cluster: storage, placement and messages."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

import cloudpickle
import numpy as np
from distributed import Worker, WorkerPlugin
from distributed.protocol import to_serialize
from numpy.typing import NDArray

from committee.dask.cluster import POLL_SECONDS, Cluster, ClusterError, workers_of
from committee.learners.gradient.shards import Call, Shard, Shards, sum_of
from committee.learners.gradient.target import Target

HANDLER = "committee_shards"  # name of the workers' message handler

LEASE = "committee-lease-"  # key prefix of the tasks whose results keep a fit's shards on a worker

FAN = 8  # workers that a message for a sum is sent to; each forwards it to its group

Below: TypeAlias = Sequence[tuple[str, Sequence[int]]]  # addresses of workers, with the indices of their shards


@dataclass(eq=False)
class StoredShard:
    codes: NDArray[np.uint8] | NDArray[np.uint16]
    n_bins: NDArray[np.int32]
    cells: NDArray[np.float64] | None  # encoded rows, if the fit needs them
    shard: Shard | None = None  # None until targets are known
    serial: int = -1  # of the last message processed
    answer: Any = None

    def answered(self, serial: int, number: int, calls: Sequence[Call], n_threads: int) -> Any:
        if serial != self.serial:
            for call in calls:
                if call.method == "make":
                    target, n_outputs = call.of(number)[1]
                    self.shard = Shard(self.codes, self.n_bins, target, n_outputs, n_threads, self.cells)
                else:
                    assert self.shard is not None
                    self.answer = call.made(self.shard, number)
            self.serial = serial
        return self.answer


HELD: dict[str, dict[int, StoredShard]] = {}  # by fit and number


def hold(fit: str, number: int, shard: StoredShard) -> None:
    HELD.setdefault(fit, {})[number] = shard


class ShardHost(WorkerPlugin):  # type: ignore[misc]
    """Dask worker plugin that executes calls on the shards of its worker, and forwards them to other workers."""

    name = "committee-shards"
    idempotent = True
    _thread: ThreadPoolExecutor | None = None

    def setup(self, worker: Worker) -> None:
        self._thread = ThreadPoolExecutor(1, "committee-shards")

        async def answer(**message: Any) -> dict[str, Any]:
            return await self.answer(worker, **message)

        worker.handlers[HANDLER] = answer

    def teardown(self, worker: Worker) -> None:
        HELD.clear()
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:  # Dask calls it for every task
        if finish in ("released", "forgotten") and isinstance(key, str) and key.startswith(LEASE):
            forget(key.removeprefix(LEASE).partition("@")[0])

    async def answer(
        self,
        worker: Worker,
        fit: str,
        serial: int,
        numbers: Sequence[int],
        calls: bytes,
        add: bool,
        below: Below = (),
    ) -> dict[str, Any]:
        if self._thread is None:
            return _nothing_of([worker.address])
        asked = [self._hand_on(worker, group, fit, serial, calls, add) for group in groups_of(below)]
        own = asyncio.get_running_loop().run_in_executor(
            self._thread, answers_of, fit, serial, list(numbers), calls, add, worker.state.nthreads
        )
        found = await asyncio.gather(own, *asked)
        lost, missing = ([one for answer in found for one in answer[what]] for what in ("lost", "missing"))
        values = [answer["value"] for answer in found if answer["value"] is not None]
        value = None
        if values and not (lost or missing):
            value = to_serialize(sum_of(values) if add else values[0])
        return {"lost": lost, "missing": missing, "value": value}

    @staticmethod
    async def _hand_on(worker: Worker, group: Below, fit: str, serial: int, calls: bytes, add: bool) -> dict[str, Any]:
        (address, numbers), *others = group
        try:
            found: dict[str, Any] = await getattr(worker.rpc(address), HANDLER)(
                fit=fit, serial=serial, numbers=numbers, calls=calls, add=add, below=others
            )
        except OSError:
            return _nothing_of([address])
        return found


def answers_of(
    fit: str, serial: int, numbers: Sequence[int], packed: bytes, add: bool, n_threads: int
) -> dict[str, Any]:
    held = HELD.get(fit, {})
    missing = [number for number in numbers if number not in held]
    calls: list[Call] = pickle.loads(packed)
    values = [held[i].answered(serial, i, calls, n_threads) for i in numbers if i in held]
    if missing or not values:
        return {"lost": [], "missing": missing, "value": None}
    return {"lost": [], "missing": [], "value": sum_of(values) if add else values}


def groups_of(below: Below) -> list[Below]:
    return [below[first::FAN] for first in range(min(FAN, len(below)))]


def forget(fit: str) -> None:
    HELD.pop(fit, None)


def lease() -> bool:
    return True  # stays on a worker as long as the client holds its future


def forget_shard(fit: str, number: int) -> None:
    HELD.get(fit, {}).pop(number, None)


class ShardHomes:
    """Workers of a fit's shards; `held` returns a shard's Dask graph, `weights` are numbers of rows."""

    def __init__(self, cluster: Cluster, held: Callable[[str, int], Any], weights: Sequence[int]) -> None:
        self.cluster: Cluster = cluster
        self.weights: Sequence[int] = weights
        self.fit: str = f"committee-{uuid4().hex}"
        self._held = held
        self.of_shard: dict[int, str] = {}
        self.avoided: set[str] = set()  # workers that did not respond
        self._leases: dict[str, Any] = {}
        cluster.register(ShardHost())

    def open(self, numbers: Sequence[int]) -> dict[int, Any]:
        client, waiting, results = self.cluster.client, list(numbers), {}
        futures: dict[int, tuple[str, Any]] = {}
        for number in waiting:
            self.of_shard.pop(number, None)
        while waiting or futures:
            for number in waiting:
                address = self._least_laden({**self.of_shard, **{i: a for i, (a, _) in futures.items()}})
                only = {"workers": [address], "allow_other_workers": False}
                if address not in self._leases:
                    key = f"{LEASE}{self.fit}@{address}"
                    self._leases[address] = client.submit(lease, key=key, pure=False, **only)
                futures[number] = address, client.compute(self._held(self.fit, number), retries=2, **only)
            waiting = []
            for number, (address, future) in list(futures.items()):
                if self._ended(future):
                    results[number], self.of_shard[number] = self.cluster.fetched(future), address
                    del futures[number]
                elif address not in self.workers():
                    self.cluster.forget([future])
                    del futures[number]
                    waiting.append(number)
        return results

    @staticmethod
    def _ended(future: Any) -> bool:
        try:
            future.exception(timeout=POLL_SECONDS / 4)
        except TimeoutError:
            return False
        return True

    def workers(self) -> list[str]:
        self.cluster.look()
        return [address for address in self.cluster.addresses if address not in self.avoided]

    def _least_laden(self, homes: dict[int, str]) -> str:
        deadline = time.monotonic() + self.cluster.timeout
        while not (workers := self.workers()):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"{self.cluster.name} has had no responding worker for {self.cluster.timeout:g} s. Add workers, "
                    "or give a longer timeout, and fit again."
                )
            time.sleep(POLL_SECONDS / 4)
        load = dict.fromkeys(workers, 0)
        for number, address in homes.items():
            if address in load:
                load[address] += self.weights[number]
        return min(workers, key=load.__getitem__)

    def crowded(self) -> int | None:
        """Return a shard of the worker with most, if a worker without shards can take it."""
        shards: dict[str, list[int]] = {}
        for number, address in self.of_shard.items():
            shards.setdefault(address, []).append(number)
        most = max(shards.values(), key=len)
        return most[-1] if len(most) > 1 and set(self.workers()) - set(shards) else None

    def let_go(self, number: int, address: str) -> None:
        if self.of_shard[number] != address:
            self.cluster.on_workers(forget_shard, self.fit, number, workers=[address])

    def close(self) -> None:
        self.cluster.on_workers(forget, self.fit)
        self.cluster.forget(list(self._leases.values()))


MOST_LOSSES = 10  # times a message is sent, each time losing workers, before the fit fails


class ShardsOnWorkers(Shards):
    """Shards on the workers of a cluster, rebuilt from their rows and the journal after a loss."""

    def __init__(self, homes: ShardHomes, target: Target, n_outputs: int) -> None:
        super().__init__(homes.weights)
        self._homes, self._serial, self._looked = homes, 0, time.monotonic()
        self.enqueue_each("make", [(target.part(rows), n_outputs) for rows in self.slices])

    def _replies(self, calls: Sequence[Call]) -> list[Any]:
        answers = self._asked(calls, add=False)
        found = {number: value for numbers, values in answers for number, value in zip(numbers, values, strict=True)}
        return [found[number] for number in range(len(self.sizes))]

    def _sum(self, calls: Sequence[Call]) -> NDArray[Any]:
        return sum_of([np.asarray(value) for _, value in self._asked(calls, add=True)])

    def _asked(self, calls: Sequence[Call], *, add: bool) -> list[tuple[Sequence[int], Any]]:
        self._serial += 1
        if any(call.method == "begin" for call in calls):
            self._spread(calls)
        message = {"fit": self._homes.fit, "serial": self._serial, "calls": packed(calls), "add": add}
        for _ in range(MOST_LOSSES):
            answers, lost = self._sent(message, self._groups(one_by_one=not add))
            if not lost:
                return answers
            self._restored(lost, calls)
        raise ClusterError(
            f"{self._homes.cluster.name} has lost workers {MOST_LOSSES} times at the same step of a fit, most often "
            "for lack of memory. Give it larger or more workers, and fit again."
        )

    def _spread(self, calls: Sequence[Call]) -> None:
        if time.monotonic() < self._looked + POLL_SECONDS or len(set(self._homes.of_shard.values())) == len(self.sizes):
            return
        self._looked = time.monotonic()
        if (number := self._homes.crowded()) is not None:
            old = self._homes.of_shard[number]
            self._restored({number}, calls)
            self._homes.let_go(number, old)

    def _groups(self, *, one_by_one: bool) -> list[Below]:
        of_worker: dict[str, list[int]] = {}
        for number, address in sorted(self._homes.of_shard.items()):
            of_worker.setdefault(address, []).append(number)
        workers = list(of_worker.items())
        return [[one] for one in workers] if one_by_one or len(workers) <= FAN else groups_of(workers)

    def _sent(
        self, message: dict[str, Any], groups: Sequence[Below]
    ) -> tuple[list[tuple[Sequence[int], Any]], set[int]]:
        cluster = self._homes.cluster
        cluster.refuse_closed()
        found = cluster.client.sync(self._gathered, message, groups)
        answers: list[tuple[Sequence[int], Any]] = []
        lost: set[int] = set()
        of_shard = self._homes.of_shard
        for group, answer in zip(groups, found, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            gone = set(answer["lost"])
            lost.update(answer["missing"], [number for number, address in of_shard.items() if address in gone])
            self._homes.avoided.update(answer.get("silent", ()))
            answers.append((group[0][1], answer["value"]))
        return answers, lost

    async def _gathered(self, message: dict[str, Any], groups: Sequence[Below]) -> list[Any]:
        asked = [asyncio.ensure_future(self._ask(message, group)) for group in groups]
        heard: dict[str, tuple[float, float]] = {}
        cluster = self._homes.cluster
        while True:
            _, waiting = await asyncio.wait(asked, timeout=POLL_SECONDS)
            if not waiting:
                return [one.exception() or one.result() for one in asked]
            now = time.monotonic()
            try:
                workers = await asyncio.wait_for(workers_of(cluster.client), cluster.timeout)
            except (OSError, RuntimeError, TimeoutError):
                workers = {}
            seen = {address: one["last_seen"] for address, one in workers.items()}
            for group, one in zip(groups, asked, strict=True):
                silent = [address for address, _ in group if self._is_silent(address, seen, heard, now)]
                if not one.done() and silent:
                    one.cancel()
                    asked[asked.index(one)] = asyncio.ensure_future(_silence_of(silent))

    def _is_silent(
        self, address: str, seen: dict[str, float], heard: dict[str, tuple[float, float]], now: float
    ) -> bool:
        if address not in seen:
            return True
        at, since = heard.get(address, (seen[address], now))
        heard[address] = (seen[address], now if at != seen[address] else since)
        return now - heard[address][1] > self._homes.cluster.timeout

    async def _ask(self, message: dict[str, Any], group: Below) -> dict[str, Any]:
        (address, numbers), *below = group
        client = self._homes.cluster.client
        try:
            answer: dict[str, Any] = await getattr(client.rpc(address), HANDLER)(
                **message, numbers=numbers, below=below
            )
        except OSError:
            return _nothing_of([address])
        except RuntimeError:
            if client.status == "running":
                raise
            return _nothing_of([address])  # all connections are closed
        return answer

    def _restored(self, lost: set[int], calls: Sequence[Call]) -> None:
        self._homes.open(sorted(lost))
        journal = list(self.journal)
        journal += [call for call in calls[-1:] if not any(call is known for known in journal)]
        for number in sorted(lost):
            message = {"fit": self._homes.fit, "serial": self._serial, "calls": packed(journal), "add": False}
            self._sent(message, [[(self._homes.of_shard[number], [number])]])


def _nothing_of(addresses: Sequence[str]) -> dict[str, Any]:
    return {"lost": list(addresses), "missing": [], "value": None}


async def _silence_of(addresses: Sequence[str]) -> dict[str, Any]:
    return _nothing_of(addresses) | {"silent": list(addresses)}


def packed(calls: Sequence[Call]) -> bytes:
    try:
        return pickle.dumps(list(calls), protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        content: bytes = cloudpickle.dumps(list(calls))
        return content
