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


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """The cluster of two workers of a whole run: to start one takes 10 s of processor time."""
    with client_of(2) as client:
        yield client.cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    """A client of that cluster, with both workers: one that a test has killed comes back."""
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture(scope="module")
def four_workers() -> Iterator[Client]:
    with client_of(4) as client:
        yield client


@pytest.fixture(params=[2, pytest.param(4, marks=pytest.mark.slow)])
def two_or_four_workers(request: pytest.FixtureRequest) -> Client:
    return request.getfixturevalue("client" if request.param == 2 else "four_workers")
