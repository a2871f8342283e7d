"""Clusters of processes on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager

import dask
import pytest
from distributed import Client, LocalCluster


@contextmanager
def client_of(n_workers: int, **settings) -> Iterator[Client]:
    """A client of a cluster of so many worker processes, of one thread each.

    Killed workers come back. A LocalCluster would give one up that is missing 15 s after it was lost, even where it
    came back and is lost a second time.
    """
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        LocalCluster(
            processes=True, n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", **settings
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with client_of(2) as client:
        yield client


@pytest.fixture(scope="module")
def four_workers() -> Iterator[Client]:
    with client_of(4) as client:
        yield client
