"""Gradient boosting whose rows stay with the workers: the bits of one machine, whatever happens to workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise
from threading import Timer

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import committee.dask as cd
from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    SubaggingClassifier,
)
from committee.dask import ClusterError, fit, shards
from committee.dask.shards import groups_of
from committee.voters.rounds import LinearLeaves
from tests.dask.conftest import client_of
from tests.limits import PATIENCE
from tests.small_portfolio import use_small_members
from tests.subjects import Callback, assert_same_bits


def frame(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(4)})
    table["few"] = rng.integers(0, 4, n).astype(float)
    table["letter"] = rng.choice(list("abcde"), n)
    table["code"] = [f"c{i}" for i in rng.integers(0, 40, n)]
    table.loc[rng.random(n) < 0.1, "x0"] = np.nan
    signal_ = np.nan_to_num(table["x0"]) + (table["letter"] < "c") + 0.1 * rng.normal(size=n)
    table["label"] = np.digitize(signal_, [0.0, 1.0])
    table["number"] = signal_
    table["weight"] = rng.integers(0, 3, n)
    return table


FEATURES = ["x0", "x1", "x2", "x3", "few", "letter", "code"]
SMALL = {"n_estimators": 6, "random_state": 0, "max_leaf_nodes": 8}


def assert_same(ours, theirs, X) -> None:
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(theirs, name):
            assert_array_equal(getattr(ours, name)(X), getattr(theirs, name)(X))
    ours, theirs = ours.committee_, theirs.committee_
    forest, other = (getattr(one.voters, "forest", one.voters) for one in (ours, theirs))
    for name in ("threshold", "value", "gain", "count", "weight"):
        assert_array_equal(getattr(forest, name), getattr(other, name))
    assert isinstance(ours.voters, LinearLeaves) == isinstance(theirs.voters, LinearLeaves)
    if isinstance(ours.voters, LinearLeaves):
        for one, same in zip(ours.voters.lines.arrays, theirs.voters.lines.arrays, strict=True):
            assert_array_equal(one, same)


def collection_of(table: pd.DataFrame, npartitions: int = 5):
    return dd.from_pandas(table, npartitions=npartitions, sort=False)


def check_fit(client: Client, table: pd.DataFrame, rows=None, callbacks=(), settings=SMALL, **options) -> None:
    """Compare a fit on a cluster with that of one machine."""
    rows = collection_of(table) if rows is None else rows
    model, other = (GradientBoostingClassifier(**settings) for _ in range(2))
    model.set_callbacks(*callbacks)
    cd.fit(model, rows[FEATURES], rows["label"], client=client, **options)
    assert_same(model, other.fit(table[FEATURES], table["label"]), table[FEATURES])


@contextmanager
def sooner_than_usual() -> Iterator[None]:
    """Check that an error or a loss is noticed by a timeout below the default of 60 s."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < 50.0


def wait_until_released(client: Client) -> None:
    deadline = time.monotonic() + PATIENCE
    while any(client.run(holds).values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("settings", "weighted"),
    [
        pytest.param({}, True, marks=pytest.mark.slow),
        pytest.param({"learning_rate": 0.1, "subsample": 1.0, "max_features": None}, False, marks=pytest.mark.slow),
        pytest.param({"learning_rate": 0.1, "subsample": 1.0, "max_features": None}, True, marks=pytest.mark.slow),
        pytest.param({"early_stopping": True, "n_iter_no_change": 2}, True, marks=pytest.mark.slow),
        pytest.param({"growth": "depth", "max_features_tree": 0.5}, False, marks=pytest.mark.slow),
        ({"tree": "shared", "leaf": "linear"}, True),
    ],
    ids=str,
)
def test_classes(client, settings, weighted):
    table = frame(900)
    collection = collection_of(table, 7)
    model, other = (GradientBoostingClassifier(**SMALL | settings) for _ in range(2))
    weight = "weight" if weighted else None
    columns = [*FEATURES, "label", *(["weight"] if weighted else [])]
    assert cd.fit(model, collection[columns], "label", weight, client=client) is model
    other.fit(table[FEATURES], table["label"], table["weight"] if weighted else None)
    assert_same(model, other, table[FEATURES])


def test_an_offset(client):
    table = frame(900)
    table["count"], exposure = table["label"] * 3, np.log(table["few"] + 1.0)
    settings = SMALL | {"loss": "poisson", "early_stopping": True, "n_iter_no_change": 2}
    model, other = cd.DaskGradientBoostingRegressor(client=client, **settings), GradientBoostingRegressor(**settings)
    collection = collection_of(table, 7)
    model.fit(collection[FEATURES], collection["count"], offset=np.log(collection["few"] + 1.0))
    other.fit(table[FEATURES], table["count"], offset=exposure)
    assert_same(model, other, table[FEATURES])
    assert_array_equal(model.predict(table[FEATURES], offset=exposure), other.predict(table[FEATURES], offset=exposure))
    with pytest.raises(ValueError, match="offset needs rows in memory, and X is a Dask collection"):
        model.predict(collection[FEATURES], offset=exposure)


def test_numbers_of_an_array(two_or_four_workers):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 5))
    y = np.column_stack([X[:, 0] ** 2, X[:, 1] + rng.normal(size=1000)])
    model, other = (GradientBoostingRegressor(**SMALL, early_stopping=True) for _ in range(2))
    cd.fit(model, da.from_array(X, chunks=(130, 2)), da.from_array(y, chunks=(400, 2)), client=two_or_four_workers)
    assert isinstance(model.committee_.voters, LinearLeaves)
    assert_same(model, other.fit(X, y), X)


@pytest.mark.slow
def test_shards_of_very_different_size_some_empty_some_without_a_class(two_or_four_workers):
    table = frame(700).sort_values("label", ignore_index=True)
    ends = [0, 1, 1, 3, 650, 650, 700]
    parts = [table.iloc[a:b] for a, b in pairwise(ends)]
    check_fit(two_or_four_workers, table, dd.from_map(lambda part: part, parts, meta=table.iloc[:0]))


@pytest.mark.slow
def test_workers_below_others_add_up(client, monkeypatch):
    monkeypatch.setattr(shards, "FAN", 1)
    client.run(setattr, shards, "FAN", 1)
    try:
        table = frame(600)
        check_fit(client, table, collection_of(table, 8))
    finally:
        client.run(setattr, shards, "FAN", 8)


def test_groups_hold_every_worker_once():
    workers = [(f"w{i}", [i]) for i in range(21)]
    groups = groups_of(workers)
    assert len(groups) == shards.FAN
    assert sorted(one for group in groups for one in group) == sorted(workers)


@pytest.mark.slow
def test_two_fits_at_once(client):
    table = frame(500)
    with ThreadPoolExecutor() as pool:
        fits = [pool.submit(check_fit, client, table, settings=SMALL | {"random_state": seed}) for seed in (0, 1)]
        for running in fits:
            running.result()


class KilledInRound(Callback):
    """A callback that kills a worker, or adds one, after a round."""

    def __init__(self, client: Client, round_: int, what) -> None:
        self.client, self.round, self.what, self.seen = client, round_, what, 0

    def on_fit_task_end(self, estimator, context, **_):
        self.seen += 1
        if self.seen == self.round:
            self.what(self.client)


def signal_worker(client: Client, number: int, random: np.random.Generator | None = None) -> int:
    """Send a signal to the process of a worker, and return its number."""
    pids = list(client.run(os.getpid).values())
    pid = pids[0] if random is None else random.choice(pids)
    os.kill(pid, number)
    return pid


def kill_one(client: Client) -> None:
    signal_worker(client, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("round_", [1, 2])
def test_a_worker_killed_in_a_round_changes_no_bit(client, round_):
    killed = KilledInRound(client, round_, kill_one)
    check_fit(client, frame(800), callbacks=[killed], settings=SMALL | {"n_estimators": 3})
    assert killed.seen >= round_


@pytest.mark.slow
def test_a_worker_that_comes_takes_a_shard_of_one_that_has_two(monkeypatch):
    monkeypatch.setattr("committee.dask.shards.POLL_SECONDS", 0.0)
    held = []
    with client_of(2) as client:
        callbacks = [
            KilledInRound(client, 2, kill_one),
            KilledInRound(client, 5, lambda client: client.wait_for_workers(2, timeout=PATIENCE)),
            KilledInRound(client, 10, lambda client: held.extend(client.run(holds).values())),
        ]
        check_fit(client, frame(800), callbacks=callbacks, settings=SMALL | {"n_estimators": 12})
    assert held == [1, 1]


def holds() -> int:
    return sum(len(shards) for shards in shards.HELD.values())


@pytest.mark.slow
def test_a_worker_that_is_paused_is_waited_for_and_then_replaced():
    paused = []
    with client_of(2) as client:
        pause = KilledInRound(client, 2, lambda client: paused.append(signal_worker(client, signal.SIGSTOP)))
        try:
            with sooner_than_usual():
                check_fit(client, frame(800), callbacks=[pause], timeout=10.0)
        finally:
            os.kill(paused[0], signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "timeout", "message"),
    [(lambda client: client.cluster.scale(0), 3.0, "Add workers"), (lambda client: client.cluster.close(), 5.0, None)],
    ids=["no worker", "no scheduler"],
)
def test_a_lost_cluster_is_an_error_in_the_stated_time(loss, timeout, message):
    with client_of(1) as client:
        rows = collection_of(frame(400), 3)
        model = GradientBoostingClassifier(**SMALL)
        model.set_callbacks(KilledInRound(client, 2, loss))
        with sooner_than_usual(), pytest.raises(ClusterError, match=message):
            cd.fit(model, rows[FEATURES], rows["label"], client=client, timeout=timeout)
        assert not hasattr(model, "committee_")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"line_search": True}, "line_search=True needs all rows on one machine"),
        ({"warm_start": True}, "warm_start=True needs all rows"),
        ({"loss": "absolute_error"}, "medians or quantiles"),
    ],
)
def test_what_needs_all_rows_is_refused(client, settings, message):
    X = da.from_array(np.random.default_rng(0).normal(size=(60, 2)), chunks=(30, 2))
    model = GradientBoostingRegressor(**settings)
    with pytest.raises(ValueError, match=message):
        cd.fit(model, X, X[:, 0], client=client)


@pytest.mark.parametrize(
    ("Learner", "target"),
    [
        pytest.param(GradientBoostingClassifier, "label", marks=pytest.mark.slow),
        (GradientBoostingRegressor, "number"),
    ],
)
def test_a_checkpoint_keeps_finished_rounds(client, tmp_path, Learner, target):
    table = frame(500)
    collection = collection_of(table, 3)

    def stop(_):
        raise RuntimeError("stopped")

    settings = SMALL | {"n_estimators": 3}
    first, path = Learner(**settings), tmp_path / "fit.checkpoint"
    first.set_callbacks(KilledInRound(client, 2, stop))
    with pytest.raises(RuntimeError, match="stopped"):
        cd.fit(first, collection[FEATURES], collection[target], client=client, checkpoint=path)
    size = path.stat().st_size
    model = Learner(**settings)
    cd.fit(model, collection[FEATURES], collection[target], client=client, checkpoint=path)
    assert path.stat().st_size > size
    assert_same(model, Learner(**settings).fit(table[FEATURES], table[target]), table[FEATURES])
    with pytest.raises(ValueError, match="other rows"):
        other = collection_of(table.iloc[::-1], 3)
        cd.fit(model, other[FEATURES], other[target], client=client, checkpoint=path)


def test_nothing_stays_on_the_workers(client):
    X = da.from_array(np.random.default_rng(0).normal(size=(60, 2)), chunks=(30, 2))
    cd.fit(GradientBoostingClassifier(**SMALL), X, X[:, 0] > 0, client=client)
    wait_until_released(client)


def test_nothing_stays_on_the_workers_when_the_client_is_gone(client):
    other = Client(client.scheduler.address, set_as_default=False)
    X = da.from_array(np.random.default_rng(0).normal(size=(60, 2)), chunks=(30, 2))
    model, held = GradientBoostingClassifier(**SMALL), []

    def leave(client):
        held.extend(client.run(holds).values())
        client.close()

    model.set_callbacks(KilledInRound(other, 3, leave))
    with pytest.raises(ClusterError):
        cd.fit(model, X, X[:, 0] > 0, client=other, timeout=5.0)
    assert held == [1, 1]
    wait_until_released(client)


@pytest.mark.slow
def test_a_worker_that_stands_still_before_the_fit_begins_is_replaced():
    with client_of(2) as client:
        pid = signal_worker(client, signal.SIGSTOP)
        try:
            with sooner_than_usual():
                check_fit(client, frame(400), timeout=5.0)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": "lable"}, "y names 'lable', which is not there; did you mean 'label'"),
        ({"sample_weight": "no"}, "sample_weight names 'no'"),
        ({"timeout": -1.0}, "timeout must be a positive number of seconds, got -1"),
        ({"client": "tcp://here:8786"}, "client must be a distributed.Client or None, got 'tcp://here:8786'"),
    ],
)
def test_errors_name_what_was_given(client, change, message):
    rows = dd.from_pandas(frame(60), npartitions=2)
    given = {"X": rows, "y": "label", "client": client} | change
    with pytest.raises((ValueError, TypeError), match=message):
        cd.fit(GradientBoostingClassifier(**SMALL), **given)


def test_a_partition_of_other_types_is_named(client):
    table = frame(60)[["x0", "x1"]]
    parts = [table.iloc[:30], table.iloc[30:].astype({"x1": str})]
    collection = dd.from_map(lambda part: part, parts, meta=table.iloc[:0], enforce_metadata=False)
    with pytest.raises(ValueError, match=r"partition 1: column 'x1' holds text here"):
        cd.fit(GradientBoostingClassifier(**SMALL), collection, np.arange(60) % 2, client=client)


def test_the_users_function_as_a_loss(client):
    def halves(y, F):
        return (F - y) / 2, np.full_like(F, 0.5)

    X = np.random.default_rng(0).normal(size=(200, 2))
    settings = SMALL | {"loss": halves, "leaf": "constant"}
    model, other = (GradientBoostingRegressor(**settings) for _ in range(2))
    cd.fit(model, da.from_array(X, chunks=(60, 2)), da.from_array(X[:, 0], chunks=60), client=client)
    assert_same(model, other.fit(X, X[:, 0]), X)


CASES = 6
"""Of each learner, for each number of workers; in every second one a worker is lost."""

LEARNERS = [
    RandomForestClassifier(40),
    RandomForestRegressor(40, oob_score=True),
    SBPMTClassifier(6, n_boosting_rounds=2, n_leaf_steps=8),
    SubaggingClassifier(n_estimators=12),
    SubaggingClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=12, voting="soft"),
    CommitteeClassifier("fast", cv=2),
    CommitteeRegressor("fast", cv=2),
]


@pytest.fixture(scope="module", params=[1, 2, 4, 7])
def workers(request):
    with client_of(request.param) as client:
        yield client


def partitions(rows: pd.DataFrame, random: np.random.Generator) -> object:
    """The rows as a Dask collection of blocks of any size."""
    ends = np.unique(random.integers(1, len(rows), random.integers(1, 6)))
    sizes = np.diff([0, *ends, len(rows)])
    if "colour" not in rows:
        return da.from_array(rows.to_numpy(), chunks=(tuple(sizes.tolist()), -1))
    pieces = [rows.iloc[end - size : end] for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
    return dd.concat([dd.from_pandas(piece, npartitions=1, sort=False) for piece in pieces])


def case(seed: int, numbers: bool) -> tuple[pd.DataFrame, np.ndarray, np.ndarray | None, np.random.Generator]:
    random = np.random.default_rng(seed)
    n, p = random.integers(60, 300), random.integers(2, 7)
    X = pd.DataFrame(random.normal(size=(n, p)).round(random.integers(1, 4)), columns=[f"x{j}" for j in range(p)])
    signal_ = X["x0"] + X["x1"] ** 2 + 0.5 * random.normal(size=n)
    X = X.mask(random.random(X.shape) < random.choice([0.0, 0.1]))
    if random.random() < 0.5:
        X["colour"] = pd.Categorical(random.choice(["red", "green", "blue"], n))
    y = signal_.to_numpy()
    if not numbers:
        y = np.digitize(signal_, np.quantile(signal_, [0.4, 0.7][: random.integers(1, 3)]))
    weights = random.integers(0, 3, n).astype(float) if random.random() < 0.5 else None
    return X, y, weights, random


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* rows are in every draw")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_same_bits(workers, learner, monkeypatch):
    use_small_members(monkeypatch)
    for seed in range(CASES):
        X, y, weights, random = case(seed, "Regressor" in type(learner).__name__)
        model = clone(learner).set_params(random_state=seed)
        here = clone(model).fit(X if "colour" in X else X.to_numpy(), y, weights)
        loss = Timer(random.random() * 0.2, signal_worker, [workers, signal.SIGKILL, random])
        if seed % 2:
            loss.start()
        fit(model, partitions(X, random), y, weights, client=workers)
        assert_same_bits(here, model, X if "colour" in X else X.to_numpy())
        if loss.is_alive():
            loss.join()
