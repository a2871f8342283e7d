"""Contenders timed in turn, A B A B ...: what slows the machine down slows both, and each pair gives a ratio.

Two clocks run: wall time, and processor time of this process over all its threads. For work on one thread the
second barely sees what other processes do, so ratios of single-threaded work are read from it.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Clock = Literal["wall", "cpu"]
Work = Callable[[], Any]
Clocked = Callable[[], tuple[float, float]]
"""Does its work and tells the seconds by the clock on the wall and of the processors."""

SHORTEST = 0.02
"""Seconds that one measurement should last at least: quicker work is called several times over."""


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    lower_quartile: float
    upper_quartile: float
    least: float
    most: float
    n: int

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """Of any number of values, at least one."""
        v = np.asarray(values, dtype=np.float64).ravel()
        lower, middle, upper = np.quantile(v, [0.25, 0.5, 0.75])
        return cls(float(middle), float(lower), float(upper), float(v.min()), float(v.max()), v.size)


@dataclass(frozen=True)
class Trial:
    """Seconds per call of every contender in every round."""

    wall: dict[str, NDArray[np.float64]]
    cpu: dict[str, NDArray[np.float64]]
    calls: dict[str, int]

    def seconds(self, name: str, clock: Clock = "cpu") -> NDArray[np.float64]:
        """Seconds per call in each round."""
        return (self.wall if clock == "wall" else self.cpu)[name]

    def ratio(self, slower: str, faster: str, clock: Clock = "cpu") -> Spread:
        """How many times faster, round by round."""
        return Spread.of(self.seconds(slower, clock) / self.seconds(faster, clock))

    def difference(self, longer: str, shorter: str, clock: Clock = "cpu") -> Spread:
        """How many seconds more, round by round."""
        return Spread.of(self.seconds(longer, clock) - self.seconds(shorter, clock))


def interleave(
    contenders: Mapping[str, Work],
    rounds: int,
    *,
    shortest: float = SHORTEST,
    before_round: Work | None = None,
    clocked: Mapping[str, Clocked] | None = None,
) -> Trial:
    """Time the contenders in turn, `rounds` times, after one call of each to warm up.

    Parameters
    ----------
    contenders : mapping of name to work
        Called without arguments; what they return is dropped.
    rounds : int
        Measurements of each contender.
    shortest : float
        Work quicker than this many seconds is repeated within a measurement until it lasts about as long.
    before_round : callable
        Called before every round, such as to wait for a quiet machine; not timed.
    clocked : mapping of name to measurement
        Contenders that tell their own (wall, processor) seconds, such as programs in another language; they take
        their turns after the others, without a warm-up.
    """
    first = {name: timed(work, 1)[0] for name, work in contenders.items()}
    # what took long at first is long enough, however much of that was warming up
    once = {
        name: timed(work, 1)[0] if first[name] < 50.0 * shortest else first[name] for name, work in contenders.items()
    }
    calls = {name: max(1, math.ceil(shortest / max(1e-9, seconds))) for name, seconds in once.items()}
    measures: dict[str, Clocked] = {name: partial(timed, work, calls[name]) for name, work in contenders.items()}
    own = clocked or {}
    return collect(measures | dict(own), rounds, calls | dict.fromkeys(own, 1), before_round)


def collect(
    measures: Mapping[str, Clocked],
    rounds: int,
    calls: dict[str, int] | None = None,
    before_round: Work | None = None,
) -> Trial:
    """In turn, what measures itself: each gives (wall, processor) seconds."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in measures}
    for _ in range(rounds):
        if before_round is not None:
            before_round()
        for name, measure in measures.items():
            found[name].append(measure())
    seconds = {name: np.array(pairs) for name, pairs in found.items()}
    return Trial(
        {name: pairs[:, 0] for name, pairs in seconds.items()},
        {name: pairs[:, 1] for name, pairs in seconds.items()},
        calls or dict.fromkeys(measures, 1),
    )


def timed(work: Work, calls: int) -> tuple[float, float]:
    """Wall and processor seconds per call, with the garbage collector at rest."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(calls):
            work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    finally:
        if was_on:
            gc.enable()
    return wall / calls, cpu / calls
