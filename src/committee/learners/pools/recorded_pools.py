"""Pools whose searches are recorded: those known from an earlier attempt at the fit are not made again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.learners.base.fit_record import Codec, FitRecord, Parts, RecordedGrower
from committee.learners.pools.pool import Candidate, Pool
from committee.learners.pools.stump_pool import StumpPool
from committee.learners.pools.tree_pool import TreePool
from committee.objectives.programs.penalty import Penalty


@singledispatch
def recorded(pool: Pool, record: FitRecord) -> Pool:
    """Return a pool that finds what the given one does, and records it; the given one is not to be used any more."""
    raise TypeError(f"the voters of a {type(pool).__name__} are not recorded")


@recorded.register
def _(pool: TreePool, record: FitRecord) -> Pool:
    pool.grower = RecordedGrower(pool.grower, pool.binned, record)
    return pool


@recorded.register
def _(pool: StumpPool, record: FitRecord) -> Pool:
    return RecordedStumpPool(pool, record)


class RecordedStumpPool(StumpPool):
    """As the `StumpPool` that it is made of, which shares all it has with it."""

    def __init__(self, pool: StumpPool, record: FitRecord) -> None:
        vars(self).update(vars(pool))
        self._record = record

    def best(self, s: F64, penalty: Penalty, alpha: Mapping[Hashable, float]) -> Candidate | None:
        """As `Pool.best`."""

        def compute() -> tuple[float, list[Candidate]]:
            found = StumpPool.best(self, s, penalty, alpha)
            return 0.0, [] if found is None else [found]

        form = Codec(_parts, lambda *parts: self._found(*parts, signed=False))
        _, candidates = self._record.result("stumps", (s, sorted(map(repr, alpha.items()))), compute, form)
        return candidates[0] if candidates else None

    def largest(
        self, s: F64, centre: F64, least: float, most: int, known: set[Hashable]
    ) -> tuple[float, list[Candidate]]:
        """As `Pool.largest`."""
        form = Codec(_parts, lambda *parts: self._found(*parts, signed=True))
        given = (s, least, most, sorted(map(repr, known)))
        return self._record.result(
            "stumps", given, lambda: StumpPool.largest(self, s, centre, least, most, known), form
        )

    def _found(
        self, value: Any, number: Any, sign: Any, sizes: Any, extent: Any, by_bin: Any, *, signed: bool
    ) -> tuple[float, list[Candidate]]:
        """Undo `_parts`; a listed stump goes by its number and its sign if it is `signed`."""
        candidates, first = [], 0
        for j, side, (c, mean), length in zip(
            number.tolist(), sign.tolist(), sizes.tolist(), extent.tolist(), strict=True
        ):
            if not -len(self.bins.n_bins) <= j < len(self.dictionary) or abs(side) != 1:
                raise ValueError("a stump is not in the dictionary")
            if j < 0:
                if length != self.bins.n_bins[-1 - j] + 1:
                    raise ValueError("a subset has not a vote for every bin")
                candidates.append(self._subset(-1 - j, by_bin[first : first + length], c, mean))
            elif signed:
                candidates.append(Candidate((j, side), self._alone(j), c, sign=side))
            else:
                candidates.append(self.listed(j, c))
            first += length
        return float(value), candidates


def _parts(found: tuple[float, list[Candidate]]) -> Parts:
    """Arrays of candidates: their numbers (-1 - column of a subset), signs, correlations and means, votes by bin."""
    value, candidates = found
    number, by_bin = [], [np.empty(0, np.int8)]
    for one in candidates:
        first = one.key if isinstance(one.key, int) else one.key[0]  # type: ignore[index]
        subset = isinstance(one.key, tuple) and isinstance(one.key[1], bytes)
        number.append(-1 - first if subset else first)
        by_bin.append(np.frombuffer(one.key[1], np.int8) if subset else by_bin[0])  # type: ignore[index]
    return [
        np.array(value),
        np.array(number, dtype=np.int64),
        np.array([one.sign for one in candidates], dtype=np.int64),
        np.array([(one.c, one.mean) for one in candidates]).reshape(-1, 2),
        np.array([len(votes) for votes in by_bin[1:]], dtype=np.int64),
        np.concatenate(by_bin),
    ]
