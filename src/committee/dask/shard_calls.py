"""Calls to shards that are on workers: one message to each worker, and shards made anew where a worker is lost."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.dask.cluster import LOOK_SECONDS, ClusterError, workers_of
from committee.dask.needed import needed
from committee.dask.shard_homes import ShardHomes
from committee.dask.shard_host import FAN, HANDLER, Below, groups_of
from committee.learners.gradient.scores import Target
from committee.learners.gradient.shards import Call, Shards, sum_of

MOST_LOSSES = 10
"""How often a message is sent again, as workers were lost on the way, before the fit ends."""


class ShardsOnWorkers(Shards):
    """Shards of a fit on the workers of a cluster.

    A message has a number, and a worker that has answered it answers again without doing anything anew. So where
    workers are lost on the way their shards are made anew elsewhere, from their rows and the journal, and the message
    is sent to all once more.
    """

    def __init__(self, homes: ShardHomes, target: Target, n_outputs: int) -> None:
        super().__init__(homes.weights)
        self._homes, self._serial, self._looked = homes, 0, time.monotonic()
        self.tell_each("make", [(target.part(rows), n_outputs) for rows in self.slices])

    def _replies(self, calls: Sequence[Call]) -> list[Any]:
        answers = self._asked(calls, add=False)
        found = {number: value for numbers, values in answers for number, value in zip(numbers, values, strict=True)}
        return [found[number] for number in range(len(self.sizes))]

    def _sum(self, calls: Sequence[Call]) -> NDArray[Any]:
        return sum_of([np.asarray(value) for _, value in self._asked(calls, add=True)])

    def _asked(self, calls: Sequence[Call], *, add: bool) -> list[tuple[Sequence[int], Any]]:
        """Send calls to all shards, again where workers are lost; answers by the shards that they are of."""
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
            f"{self._homes.cluster.name} has lost workers {MOST_LOSSES} times at the same step of a fit, as happens "
            "where they have too little memory. Give it larger or more workers, and fit again."
        )

    def _spread(self, calls: Sequence[Call]) -> None:
        """Move a shard to a worker that has none, if it has come since another had to take several."""
        if time.monotonic() < self._looked + LOOK_SECONDS or len(set(self._homes.of_shard.values())) == len(self.sizes):
            return
        self._looked = time.monotonic()
        if (number := self._homes.crowded()) is not None:
            old = self._homes.of_shard[number]
            self._restored({number}, calls)
            self._homes.let_go(number, old)

    def _groups(self, *, one_by_one: bool) -> list[Below]:
        """Workers with their shards, those that the client asks itself first; each asks the others of its group."""
        of_worker: dict[str, list[int]] = {}
        for number, address in sorted(self._homes.of_shard.items()):
            of_worker.setdefault(address, []).append(number)
        workers = list(of_worker.items())
        return [[one] for one in workers] if one_by_one or len(workers) <= FAN else groups_of(workers)

    def _sent(
        self, message: dict[str, Any], groups: Sequence[Below]
    ) -> tuple[list[tuple[Sequence[int], Any]], set[int]]:
        """Send a message; the answers, and the shards that are not there any more."""
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
        """Wait for all answers, but for no worker from which the scheduler hears nothing for too long."""
        asked = [asyncio.ensure_future(self._ask(message, group)) for group in groups]
        heard: dict[str, tuple[float, float]] = {}
        while True:
            _, waiting = await asyncio.wait(asked, timeout=LOOK_SECONDS)
            if not waiting:
                return [one.exception() or one.result() for one in asked]
            now, seen = time.monotonic(), await self._last_seen()
            for group, one in zip(groups, asked, strict=True):
                silent = [address for address, _ in group if self._is_silent(address, seen, heard, now)]
                if not one.done() and silent:
                    one.cancel()
                    asked[asked.index(one)] = asyncio.ensure_future(_silence_of(silent))

    async def _last_seen(self) -> dict[str, float]:
        """When the scheduler has heard of each worker; of none if it is lost itself."""
        cluster = self._homes.cluster
        try:
            found = await asyncio.wait_for(workers_of(cluster.client), cluster.timeout)
        except (OSError, RuntimeError, TimeoutError):
            return {}
        return {address: one["last_seen"] for address, one in found.items()}

    def _is_silent(
        self, address: str, seen: dict[str, float], heard: dict[str, tuple[float, float]], now: float
    ) -> bool:
        """Whether nothing has been heard of a worker for too long, or it is known no more."""
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
        """Make lost shards anew; they have made all calls then, and know the answer to the last of these."""
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
    """Pickle calls; with what a user has defined, such as a loss, as a whole."""
    try:
        return pickle.dumps(list(calls), protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        content: bytes = needed("cloudpickle").dumps(list(calls))
        return content
