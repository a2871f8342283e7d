"""Shards of the training rows, and how they are called; a shard that is lost is made again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.learners.gradient.scores import Target
from committee.learners.gradient.shard import Shard
from committee.voters.leaf_lines import LeafLines

LASTING = frozenset({"make", "open", "restart", "catch_up"})
"""Calls after which a shard's scores are others for good."""
OF_ROUND = frozenset({"begin", "begin_with"})
"""Calls by which a round begins."""
ASKS_ALONE = frozenset({"scores"})
"""Calls after which a shard is as before."""


@dataclass(frozen=True)
class Call:
    """A method of `Shard`, and what it is called with: the same for all shards, or arguments for each."""

    method: str
    same: tuple[Any, ...] = ()
    each: Sequence[tuple[Any, ...]] | None = None

    def of(self, shard: int) -> tuple[str, tuple[Any, ...]]:
        """Return the call of one shard."""
        return self.method, self.same if self.each is None else self.each[shard]

    def made(self, shard: Shard, number: int) -> Any:
        """Call a shard, of this number."""
        method, arguments = self.of(number)
        return getattr(shard, method)(*arguments)


class Shards(ABC):
    """Shards of the training rows, each a `committee.learners.gradient.shard.Shard`.

    Calls that ask for nothing wait for the next one that does. A shard that is made anew from its rows has the state of
    one that was lost once the calls of `journal` have been made.

    Parameters
    ----------
    sizes : sequence of int
        Rows of each shard; together they are all rows, in order.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.journal: list[Call] = []
        """Calls that have made the shards what they are, without those that later ones have made needless."""
        self._waiting: list[Call] = []

    @property
    def slices(self) -> list[slice]:
        """Rows of each shard among all."""
        return [slice(*ends) for ends in pairwise(accumulate(self.sizes, initial=0))]

    def tell(self, method: str, *arguments: Any) -> None:
        """Let each shard do something."""
        self._waiting.append(Call(method, arguments))

    def tell_each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> None:
        """Let each shard do something, with arguments of its own."""
        self._waiting.append(Call(method, each=arguments))

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Return what each shard returns."""
        return self._answers(Call(method, arguments))

    def each_of(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return what each shard returns to arguments of its own."""
        return self._answers(Call(method, each=arguments))

    def total(self, method: str, *arguments: Any) -> NDArray[Any]:
        """Return the sum of the arrays that the shards return."""
        return self._sum(self._ready(Call(method, arguments)))

    def move(
        self, known: bool, run: int, tree: tuple[Any, ...], value: F64, lines: LeafLines | None, step: float, k: int
    ) -> None:
        """Let each move its scores along a tree: the one grown last or, if `known`, one that was grown before.

        What was told to grow the tree is of no more use then.
        """
        done = Call("catch_up", (run, tree, value, lines, step, k))
        self._waiting.append(done if known else Call("move", done.same))
        self._write_down(self._waiting)
        self.journal = [call for call in self.journal if call.method in LASTING | OF_ROUND]
        if not known:
            self.journal.append(done)

    def _answers(self, call: Call) -> list[Any]:
        return self._replies(self._ready(call))

    def _ready(self, call: Call) -> list[Call]:
        """Return the calls that are due, the last of which asks."""
        self._write_down([*self._waiting, call])
        calls, self._waiting = [*self._waiting, call], []
        return calls

    def _write_down(self, calls: Sequence[Call]) -> None:
        for call in calls:
            if any(call is known for known in self.journal) or call.method in ASKS_ALONE | {"move"}:
                continue
            if call.method == "begin":  # a new round: what the one before it needed is needed no more
                self.journal = [known for known in self.journal if known.method in LASTING]
            self.journal.append(call)

    @abstractmethod
    def _replies(self, calls: Sequence[Call]) -> list[Any]:
        """Make the calls, and return what each shard returns to the last one."""

    @abstractmethod
    def _sum(self, calls: Sequence[Call]) -> NDArray[Any]:
        """Make the calls, and return the sum of what the shards return to the last one."""


def sum_of(values: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Sum of arrays of whole numbers; a single one as it is, as copies of histograms cost as much as sending them."""
    if len(values) == 1:
        return values[0]
    total: NDArray[Any] = values[0] + values[1]
    for value in values[2:]:
        total += value
    return total


class ShardedCodes(ABC):
    """Bin numbers of a table ``(n, p)`` that others hold, in shards."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self.n_runs = 0
        self._made: Shards | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def shards(self, target: Target, n_outputs: int) -> Shards:
        """Return the shards, for the rows of a target and trees of so many scores; all runs of a fit share them."""
        if self._made is None:
            self._made = self._shards(target, n_outputs)
        return self._made

    def new_run(self) -> int:
        """Return the number of the next run."""
        self.n_runs += 1
        return self.n_runs - 1

    @abstractmethod
    def _shards(self, target: Target, n_outputs: int) -> Shards: ...
