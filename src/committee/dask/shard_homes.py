"""Where the shards of a fit are: on which worker each, and how one comes to another worker when its own is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from committee.dask.cluster import LOOK_SECONDS, Cluster, ClusterError
from committee.dask.shard_host import LEASE, ShardHost, forget, forget_shard, lease


class ShardHomes:
    """Workers that hold the shards of one fit.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    held : callable
        Returns a Dask graph by which a shard of a number is read, binned and held, wherever it runs.
    weights : sequence of int
        Rows of each shard.
    """

    def __init__(self, cluster: Cluster, held: Callable[[str, int], Any], weights: Sequence[int]) -> None:
        self.cluster: Cluster = cluster
        self.weights: Sequence[int] = weights
        self.fit: str = f"committee-{uuid4().hex}"
        self._held = held
        self.of_shard: dict[int, str] = {}
        self.avoided: set[str] = set()
        """Workers that did not answer."""
        self._leases: dict[str, Any] = {}
        cluster.register(ShardHost())

    def open(self, numbers: Sequence[int]) -> dict[int, Any]:
        """Let workers read and hold shards, the least laden first; what each task returns.

        Raises
        ------
        ClusterError
            If there is no worker for so long as the cluster waits.
        """
        waiting, results = list(numbers), {}
        futures: dict[int, tuple[str, Any]] = {}
        for number in waiting:
            self.of_shard.pop(number, None)
        while waiting or futures:
            for number in waiting:
                address = self._least_laden({**self.of_shard, **{i: a for i, (a, _) in futures.items()}})
                self._take_lease(address)
                futures[number] = (
                    address,
                    self.cluster.client.compute(
                        self._held(self.fit, number), workers=[address], allow_other_workers=False, retries=2
                    ),
                )
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

    def _take_lease(self, address: str) -> None:
        """Have a worker hold what it holds for the fit until the fit ends, or this client is gone."""
        if address not in self._leases:
            self._leases[address] = self.cluster.client.submit(
                lease, key=f"{LEASE}{self.fit}@{address}", workers=[address], allow_other_workers=False, pure=False
            )

    @staticmethod
    def _ended(future: Any) -> bool:
        """Wait a little for a task; True once it has ended, well or with an error."""
        try:
            future.exception(timeout=LOOK_SECONDS / 4)
        except TimeoutError:
            return False
        return True

    def workers(self) -> list[str]:
        """Workers that answer."""
        self.cluster.look()
        return [address for address in self.cluster.addresses if address not in self.avoided]

    def _least_laden(self, homes: dict[int, str]) -> str:
        deadline = time.monotonic() + self.cluster.timeout
        while not (workers := self.workers()):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"{self.cluster.name} has had no worker that answers for {self.cluster.timeout:g} s. Add workers, "
                    "or give a longer timeout, and fit again."
                )
            time.sleep(LOOK_SECONDS / 4)
        load = dict.fromkeys(workers, 0)
        for number, address in homes.items():
            if address in load:
                load[address] += self.weights[number]
        return min(workers, key=load.__getitem__)

    def crowded(self) -> int | None:
        """Return a shard of a worker that has several, if another worker has none."""
        shards: dict[str, list[int]] = {}
        for number, address in self.of_shard.items():
            shards.setdefault(address, []).append(number)
        most = max(shards.values(), key=len)
        return most[-1] if len(most) > 1 and set(self.workers()) - set(shards) else None

    def let_go(self, number: int, address: str) -> None:
        """Let a worker forget a shard that is another's now."""
        if self.of_shard[number] != address:
            self.cluster.on_workers(forget_shard, self.fit, number, workers=[address])

    def close(self) -> None:
        """Let all workers forget the shards."""
        self.cluster.on_workers(forget, self.fit)
        self.cluster.forget(list(self._leases.values()))
