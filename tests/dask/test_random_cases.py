"""Random tables, learners, partitions and losses of workers: no bit differs from a fit in one process."""

import os
import signal
from threading import Timer

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    SubaggingClassifier,
)
from committee.dask import fit
from tests.dask.conftest import client_of
from tests.small_portfolio import use_small_members
from tests.subjects import assert_same_bits

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
    y = (
        signal_.to_numpy()
        if numbers
        else np.digitize(signal_, np.quantile(signal_, [0.4, 0.7][: random.integers(1, 3)]))
    )
    weights = random.integers(0, 3, n).astype(float) if random.random() < 0.5 else None
    return X, y, weights, random


def kill_one(client, random) -> None:
    process = random.choice(list(client.run(os.getpid).values()))
    os.kill(process, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* rows were left out of no draw")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_same_bits(workers, learner, monkeypatch):
    use_small_members(monkeypatch)
    for seed in range(CASES):
        X, y, weights, random = case(seed, "Regressor" in type(learner).__name__)
        model = clone(learner).set_params(random_state=seed)
        here = clone(model).fit(X if "colour" in X else X.to_numpy(), y, weights)
        loss = Timer(random.random() * 0.2, kill_one, [workers, random])
        if seed % 2:
            loss.start()
        fit(model, partitions(X, random), y, weights, client=workers)
        assert_same_bits(here, model, X if "colour" in X else X.to_numpy())
        if loss.is_alive():
            loss.join()
