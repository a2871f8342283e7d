"""What a worker does with its shards of the rows: it holds them, and answers what it is asked about them."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.dask.needed import needed
from committee.learners.gradient.scores import Target
from committee.learners.gradient.shard import Shard
from committee.learners.gradient.shards import Call, sum_of

if TYPE_CHECKING:
    from distributed import Worker

HANDLER = "committee_shards"
"""Name under which workers answer."""

LEASE = "committee-lease-"
"""Beginning of the keys of tasks whose results say that a worker holds shards of a fit."""

FAN = 8
"""Workers that the client, or a worker, asks itself; others are asked by these."""

Below: TypeAlias = Sequence[tuple[str, Sequence[int]]]
"""Workers that another asks, by their addresses, and the numbers of their shards."""


@dataclass(eq=False)
class HeldShard:
    """A shard of a fit on this worker: its codes, and once it is known what is boosted the shard itself."""

    codes: NDArray[np.uint8] | NDArray[np.uint16]
    n_bins: NDArray[np.int32]
    cells: NDArray[np.float64] | None
    """The encoded rows, if the fit needs them: 8 bytes a cell."""
    shard: Shard | None = None
    serial: int = -1
    """Number of the message that was answered last."""
    answer: Any = None

    def make(self, target: Target, n_outputs: int, n_threads: int) -> None:
        """Make the shard."""
        self.shard = Shard(self.codes, self.n_bins, target, n_outputs, n_threads, self.cells)

    def answered(self, serial: int, number: int, calls: Sequence[Call], n_threads: int) -> Any:
        """Make the calls, unless this message has been answered before, and return the answer to the last."""
        if serial != self.serial:
            for call in calls:
                if call.method == "make":
                    target, n_outputs = call.of(number)[1]
                    self.make(target, n_outputs, n_threads)
                else:
                    assert self.shard is not None
                    self.answer = call.made(self.shard, number)
            self.serial = serial
        return self.answer


HELD: dict[str, dict[int, HeldShard]] = {}
"""Shards that this worker holds, by fit and number."""


def hold(fit: str, number: int, shard: HeldShard) -> None:
    """Hold a shard of a fit."""
    HELD.setdefault(fit, {})[number] = shard


class ShardHost(needed("distributed").WorkerPlugin):  # type: ignore[misc]
    """Answers calls about the shards of this worker, and hands calls on to other workers; a plugin of Dask's.

    Sums are added up on the way: a worker that was asked adds what the workers below it have found. Shards are held as
    long as the worker has the fit's `lease`, which the scheduler takes back when the fit ends or its client is gone.
    """

    name = "committee-shards"
    idempotent = True
    _thread: ThreadPoolExecutor | None = None

    def setup(self, worker: Worker) -> None:
        """Begin to answer."""
        self._thread = ThreadPoolExecutor(1, "committee-shards")

        async def answer(**message: Any) -> dict[str, Any]:
            return await self.answer(worker, **message)

        worker.handlers[HANDLER] = answer

    def teardown(self, worker: Worker) -> None:
        """End; who asks is told that nothing is here any more."""
        HELD.clear()
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Forget the shards of a fit whose lease ends; called by the worker for each of its tasks."""
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
        """Answer a message: the values of the last call by shard, or their sum; and who could not be asked."""
        if self._thread is None:
            return {"lost": [worker.address], "missing": [], "value": None}
        asked = [self._hand_on(worker, group, fit, serial, calls, add) for group in groups_of(below)]
        own = asyncio.get_running_loop().run_in_executor(
            self._thread, answers_of, fit, serial, list(numbers), calls, add, worker.state.nthreads
        )
        found = await asyncio.gather(own, *asked)
        lost = [one for answer in found for one in answer["lost"]]
        missing = [one for answer in found for one in answer["missing"]]
        values = [answer["value"] for answer in found if answer["value"] is not None]
        value = None
        if values and not (lost or missing):
            value = needed("distributed.protocol").to_serialize(sum_of(values) if add else values[0])
        return {"lost": lost, "missing": missing, "value": value}

    @staticmethod
    async def _hand_on(worker: Worker, group: Below, fit: str, serial: int, calls: bytes, add: bool) -> dict[str, Any]:
        (address, numbers), *others = group
        try:
            found: dict[str, Any] = await getattr(worker.rpc(address), HANDLER)(
                fit=fit, serial=serial, numbers=numbers, calls=calls, add=add, below=others
            )
        except OSError:
            return {"lost": [address], "missing": [], "value": None}
        return found


def answers_of(
    fit: str, serial: int, numbers: Sequence[int], packed: bytes, add: bool, n_threads: int
) -> dict[str, Any]:
    """Answers of this worker's shards; without a value if one of them is not here."""
    held = HELD.get(fit, {})
    missing = [number for number in numbers if number not in held]
    calls: list[Call] = pickle.loads(packed)
    values = [held[i].answered(serial, i, calls, n_threads) for i in numbers if i in held]
    if missing or not values:
        return {"lost": [], "missing": missing, "value": None}
    return {"lost": [], "missing": [], "value": sum_of(values) if add else values}


def groups_of(below: Below) -> list[Below]:
    """Share out workers to at most `FAN`, each of which asks the others of its group."""
    return [below[first::FAN] for first in range(min(FAN, len(below)))]


def forget(fit: str) -> None:
    """Let go of the shards of a fit."""
    HELD.pop(fit, None)


def lease() -> bool:
    """Task whose result stays on a worker as long as a client wants it to hold the shards of a fit."""
    return True


def forget_shard(fit: str, number: int) -> None:
    """Let go of one of them."""
    HELD.get(fit, {}).pop(number, None)
