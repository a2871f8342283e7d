"""Partitions of a Dask collection, computed by the workers of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from committee.dask.cluster import Cluster
from committee.data.pieces.dask_collections import DaskPartitions

AHEAD = 2
"""Partitions that are computed while one is read."""


@dataclass(frozen=True, eq=False)
class ClusterPartitions(DaskPartitions):
    """A Dask collection whose partitions come to the client one after the other."""

    cluster: Cluster

    def computed(self, parts: Sequence[Any]) -> Iterator[Any]:
        """Compute partitions or blocks on the workers, a few at a time."""
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
