"""Workers and schedulers that are lost while a fit is under way: results without difference, or one clear error."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Timer

import dask
import numpy as np
import pytest
from sklearn.base import clone

from committee import RandomForestClassifier, SubaggingClassifier
from committee.dask import ClusterError, fit
from tests.dask.conftest import client_of
from tests.dask.failing import FailingVoter
from tests.limits import PATIENCE

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 4))
Y = (X[:, 0] + RANDOM.normal(size=200) > 0).astype(int)


def subagging(n_estimators: int = 12, **settings) -> SubaggingClassifier:
    return SubaggingClassifier(FailingVoter(**settings), n_estimators=n_estimators, random_state=0)


UNDISTURBED = subagging().fit(X, Y).predict_proba(X)


def check_bits(model):
    assert np.array_equal(model.predict_proba(X), UNDISTURBED)


def nothing_left(client) -> bool:
    """Whether the cluster soon has nothing of the fits that are over."""
    until = time.monotonic() + PATIENCE
    while client.futures or any(client.processing().values()):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 3])  # one worker, and both with one that comes
def test_workers_are_killed(client, tmp_path, times):
    check_bits(fit(subagging(how="kill", times=times, folder=str(tmp_path)), X, Y, client=client))
    assert len(list(tmp_path.iterdir())) == times
    assert nothing_left(client)


@pytest.mark.slow
def test_the_only_worker_is_killed(tmp_path):
    """With it the last copy of what was sent to all."""
    with client_of(1) as client:
        check_bits(fit(subagging(how="kill", times=1, folder=str(tmp_path)), X, Y, client=client))


@pytest.mark.slow
@pytest.mark.parametrize(
    "n_estimators", [1, 12]
)  # a single one shares nothing with others, and Dask itself gives it up
def test_a_member_kills_every_worker(tmp_path, n_estimators):
    model = subagging(n_estimators, how="kill", times=99, folder=str(tmp_path))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        client_of(1) as client,
        pytest.raises(ClusterError, match=r"more memory|more of it"),
    ):
        fit(model, X, Y, client=client)


def test_there_is_no_worker():
    begun = time.monotonic()
    with client_of(0) as client, pytest.raises(ClusterError, match="Add workers"):
        fit(subagging(), X, Y, client=client, timeout=1.0)
    assert time.monotonic() - begun < 50.0  # the default is 60 s


@pytest.mark.slow
def test_workers_come_and_go():
    with client_of(1) as client:
        changes = [Timer(0.5, client.cluster.scale, [3]), Timer(6.0, client.cluster.scale, [1])]
        for change in changes:
            change.start()
        check_bits(fit(subagging(seconds=1.0), X, Y, client=client))
        for change in changes:
            change.cancel()
            change.join()


@pytest.mark.slow
def test_a_worker_stands_still(tmp_path):
    """On a cluster of its own, to which the worker that the fit gives up does not come back."""

    def go_on():
        os.kill(int((tmp_path / "stopped").read_text("utf-8")), signal.SIGCONT)

    timer = Timer(20.0, go_on)
    timer.start()
    with client_of(2) as client:
        check_bits(fit(subagging(how="stop", times=1, folder=str(tmp_path)), X, Y, client=client, timeout=10.0))
        timer.join()


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 99])
def test_a_member_needs_too_much_memory(tmp_path, times):
    with client_of(2, memory_limit="600MB") as client:
        model = subagging(how="fill_memory", times=times, folder=str(tmp_path))
        if times == 1:
            check_bits(fit(model, X, Y, client=client))
            return
        with pytest.raises(ClusterError, match=r"more memory|more of it"):
            fit(model, X, Y, client=client)


@pytest.mark.slow
def test_the_scheduler_is_lost():
    with client_of(1) as client:
        loss = Timer(1.0, client.cluster.close)
        loss.start()
        model = subagging(seconds=0.3)
        begun = time.monotonic()
        with pytest.raises(ClusterError, match=r"the Dask scheduler tcp://.* Connect to a running"):
            fit(model, X, Y, client=client, timeout=10.0)
        assert time.monotonic() - begun < 50.0  # the default is 60 s
        assert not hasattr(model, "committee_")
        loss.join()


@pytest.mark.slow
def test_two_fits_at_once(client):
    forest = RandomForestClassifier(60, random_state=0)
    with ThreadPoolExecutor() as pool:
        fits = [pool.submit(fit, model, X, Y, client=client) for model in (subagging(), clone(forest), clone(forest))]
        one, two, three = (running.result() for running in fits)
    check_bits(one)
    here = forest.fit(X, Y).predict_proba(X)
    assert np.array_equal(two.predict_proba(X), here)
    assert np.array_equal(three.predict_proba(X), here)


def test_an_error_of_a_member_is_the_users(client, tmp_path):
    with pytest.raises(ZeroDivisionError, match=r"^no row is good enough$"):
        fit(subagging(how="refuse", times=1, folder=str(tmp_path)), X, Y, client=client)
    assert nothing_left(client)


def test_an_interrupt_cancels_what_is_left(client):
    model = subagging(500, seconds=0.2)
    timer = Timer(1.0, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fit(model, X, Y, client=client)
    assert nothing_left(client)
    assert not hasattr(model, "committee_")


def test_a_fit_within_a_task(client):
    """Its worker, of one thread, trains members too."""
    there = client.submit(fit, subagging(), X, Y, pure=False).result(timeout=PATIENCE)
    check_bits(there)
