"""Fits on a cluster, with the bits of one process for any workers and source of rows, and lazy predictions."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from functools import partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier as ScikitForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import committee
import committee.dask
from committee import (
    AdaBoostClassifier,
    Checkpoint,
    CommitteeClassifier,
    CommitteeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    SubaggingClassifier,
    TreeVoter,
)
from committee.dask import decision_function, fit, members, members_on, predict, predict_proba, score
from committee.papers.shared.cells import Task, finished_cells
from committee.report.comparison import compare
from tests.small_portfolio import use_small_members
from tests.subjects import assert_same_bits

X, LABELS = make_classification(300, 6, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
_, NUMBERS = make_regression(300, 6, noise=5.0, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)

OF_CLASSES = [
    RandomForestClassifier(30, random_state=0, oob_score=True),
    RandomForestClassifier(10, random_state=0, max_leaf_nodes=8, class_weight="balanced_subsample"),
    RandomForestClassifier("oob", max_estimators=60, random_state=0),
    RandomForestClassifier(40, random_state=0, reserve=0.2),
    SubaggingClassifier(n_estimators=9, random_state=0),
    SubaggingClassifier(TreeVoter(max_depth=3), n_estimators=9, voting="soft", random_state=0),
    SubaggingClassifier(DecisionTreeClassifier(), n_estimators=9, random_state=0),
    SubaggingClassifier(AdaBoostClassifier(n_estimators=3), n_estimators=9, random_state=0),
    SBPMTClassifier(9, n_boosting_rounds=2, n_leaf_steps=8, random_state=0),
    SBPMTClassifier(9, n_boosting_rounds=2, n_leaf_steps=8, class_weight="balanced_subsample", random_state=0),
    CommitteeClassifier(cv=3, random_state=0),
]
OF_NUMBERS = [
    RandomForestRegressor(20, random_state=0, oob_score=True),
    CommitteeRegressor(cv=3, random_state=0),
]


@pytest.fixture(autouse=True)
def small_members(monkeypatch):
    use_small_members(monkeypatch)


def check_bits(learner, y, client, rows=X, there=None):
    here = clone(learner).fit(rows, y, WEIGHTS)
    model = clone(learner)
    assert fit(model, rows if there is None else there, y, WEIGHTS, client=client) is model
    assert_same_bits(here, model, rows)


@pytest.mark.filterwarnings("ignore:.* rows are in every draw")
@pytest.mark.parametrize(
    "learner",
    [*OF_CLASSES[:2], *OF_CLASSES[3:5], *OF_CLASSES[8:9], *OF_NUMBERS[:1], *OF_CLASSES[-1:]]
    + [
        pytest.param(learner, marks=pytest.mark.slow)
        for learner in [OF_CLASSES[2], *OF_CLASSES[5:8], OF_CLASSES[9], OF_NUMBERS[1]]
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_bits_of_one_process(client, learner):
    check_bits(learner, LABELS if hasattr(learner, "predict_proba") else NUMBERS, client)


@pytest.mark.filterwarnings("ignore:.* rows are in every draw")
@pytest.mark.slow
@pytest.mark.parametrize("learner", OF_CLASSES + OF_NUMBERS, ids=lambda learner: type(learner).__name__)
def test_bits_of_four_workers(four_workers, learner):
    check_bits(learner, LABELS if hasattr(learner, "predict_proba") else NUMBERS, four_workers)


def test_large_tasks_are_sent_as_objects(client, monkeypatch):
    monkeypatch.setattr(members, "LARGE_CONTENT", 100)
    check_bits(SubaggingClassifier(n_estimators=5, random_state=0), LABELS, client)


def test_asynchronous_clients_are_refused():
    async def fitted():
        async with Client(processes=False, n_workers=0, dashboard_address=":0", asynchronous=True) as client:
            fit(RandomForestClassifier(), X, LABELS, client=client)

    with pytest.raises(ValueError, match="is asynchronous"):
        asyncio.run(fitted())


def test_sparse_rows(client):
    rows = sparse.csr_array(np.where(X > 0.5, X, 0.0))
    check_bits(RandomForestClassifier(10, random_state=0), LABELS, client, rows)


def test_several_targets(client):
    check_bits(RandomForestRegressor(10, random_state=0), np.column_stack([NUMBERS, NUMBERS**2]), client)


@pytest.mark.parametrize(
    "learner",
    [
        RandomForestClassifier(10, random_state=0),
        OF_CLASSES[6],
        pytest.param(OF_CLASSES[-1], marks=pytest.mark.slow),
    ],
)
def test_partitions_of_a_dataframe(client, learner):
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(colour=pd.Categorical(np.where(X[:, 0] > 0, "red", "green")))
    names = pd.Series(np.array(["one", "two", "three"])[LABELS])
    here = clone(learner).fit(frame, names)
    there = fit(
        clone(learner), dd.from_pandas(frame, npartitions=3), dd.from_pandas(names, npartitions=3), client=client
    )
    assert_same_bits(here, there, frame)
    assert list(there.feature_names_in_) == list(frame.columns)


def test_blocks_of_an_array(client):
    rows = da.from_array(X, chunks=(120, 4))
    check_bits(RandomForestRegressor(10, random_state=0), NUMBERS, client, there=rows)


def test_other_estimators(client):
    rows, labels = da.from_array(X, chunks=120), da.from_array(LABELS, chunks=120)
    here = make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0)).fit(X, LABELS)
    there = fit(clone(here), rows, labels, client=client)
    assert np.array_equal(here.predict_proba(X), there.predict_proba(X))
    forest = fit(ScikitForest(5, random_state=0), rows, labels, client=client)
    assert np.array_equal(forest.predict(X), ScikitForest(5, random_state=0).fit(X, LABELS).predict(X))


def test_warm_start(client):
    settings = {"random_state": 0, "oob_score": True, "warm_start": True}
    forest = fit(RandomForestClassifier(10, **settings), X, LABELS, client=client)
    fit(forest.set_params(n_estimators=25), X, LABELS, client=client)
    assert_same_bits(RandomForestClassifier(25, **settings).fit(X, LABELS), forest, X)


def test_goes_on_from_a_checkpoint(client, tmp_path):
    path = tmp_path / "fit.checkpoint"
    here = RandomForestClassifier(10, random_state=0).fit(X, LABELS, checkpoint=Checkpoint(path, 0.0))
    with members_on(client):
        there = RandomForestClassifier(10, random_state=0).fit(X, LABELS, checkpoint=Checkpoint(path, 0.0))
        blend = CommitteeClassifier(cv=3, random_state=0).fit(X, LABELS, checkpoint=tmp_path / "blend.checkpoint")
        again = CommitteeClassifier(cv=3, random_state=0).fit(X, LABELS, checkpoint=tmp_path / "blend.checkpoint")
    assert_same_bits(here, there, X)
    assert_same_bits(blend, again, X)


def test_time_limit_of_a_committee_of_ensembles(client):
    model = CommitteeClassifier(cv=3, time_limit=1e-3, random_state=0)
    with pytest.warns(UserWarning, match="leaves no candidate its time"):
        fit(model, X, LABELS, client=client)
    assert all(reason.startswith("no time") for reason in model.left_out_.values())
    assert len(model.member_seconds_) and (model.member_seconds_ > 0.0).all()


def test_cells_of_a_comparison(client):
    models = ["adaboost", "random_forest"]
    here = compare(X, LABELS, models=models, folds=3)
    with members_on(client):
        there = compare(X, LABELS, models=models, folds=3)
    assert len(here.models) == 2
    for one, other in zip(here.models, there.models, strict=True):
        assert one.values("log_loss").tolist() == other.values("log_loss").tolist()


def test_cells_of_a_paper(client, tmp_path):
    tasks = [Task({"table": "t", "number": n}, partial(dict, square=n**2)) for n in range(5)]
    with members_on(client):
        found = finished_cells(tmp_path / "cells.jsonl", {"seed": 0}, tasks)
    assert list(found.values()) == [{"table": "t", "number": n, "square": n**2} for n in range(5)]


def test_needs_a_client():
    with pytest.raises(ValueError, match=r"no Dask client is connected.*client=distributed\.Client"):
        fit(RandomForestClassifier(), X, LABELS)


RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(200, 4))
TABLE_LABELS = np.array(["no", "yes"])[(TABLE[:, 0] + RANDOM.normal(size=200) > 0).astype(int)]
NAMES = [name for name in committee.dask.__all__ if name.startswith("Dask")]


def test_fit_and_lazy_answers(client):
    here = committee.RandomForestClassifier(8, random_state=0).fit(TABLE, TABLE_LABELS)
    there = committee.dask.DaskRandomForestClassifier(8, random_state=0, client=client)
    rows = da.from_array(TABLE, chunks=60)
    assert there.fit(rows, TABLE_LABELS) is there
    assert_same_bits(here, there.to_local(), TABLE)
    for method in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(there, method)(rows)
        assert isinstance(lazy, da.Array)
        assert np.array_equal(lazy.compute(scheduler="sync"), getattr(here, method)(TABLE))
        assert np.array_equal(getattr(there, method)(TABLE), getattr(here, method)(TABLE))
    assert there.score(TABLE, TABLE_LABELS) == there.score(rows, TABLE_LABELS) == here.score(TABLE, TABLE_LABELS)


def test_columns_of_a_dataframe_as_labels_and_weights(client):
    frame = pd.DataFrame(TABLE, columns=list("abcd")).assign(label=TABLE_LABELS, weight=RANDOM.integers(0, 3, 200))
    there = committee.dask.DaskSBPMTClassifier(4, random_state=0, client=client)
    there.fit(dd.from_pandas(frame, npartitions=3), "label", "weight")
    here = committee.SBPMTClassifier(4, random_state=0).fit(frame[list("abcd")], TABLE_LABELS, frame["weight"])
    assert_same_bits(here, there.to_local(), frame[list("abcd")])


def test_saved_as_the_learner_itself(client, tmp_path):
    there = committee.dask.DaskRandomForestRegressor(4, random_state=0, client=client).fit(TABLE, TABLE[:, 1])
    there.save(tmp_path / "forest.model")
    loaded = committee.load(tmp_path / "forest.model")
    assert type(loaded) is type(there.to_local()) is committee.RandomForestRegressor
    assert np.array_equal(loaded.predict(TABLE), there.predict(TABLE))


def test_clones_share_the_client_and_pickles_have_none(client):
    forest = committee.dask.DaskRandomForestClassifier(4, client=client)
    assert clone(forest).client is client
    assert clone(forest).n_estimators == 4
    assert pickle.loads(pickle.dumps(forest)).client is None
    assert forest.get_params()["client"] is client
    assert len(cross_val_score(forest, TABLE, TABLE_LABELS, cv=2)) == 2


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_the_learner_and_the_client(name):
    there, here = getattr(committee.dask, name), getattr(committee, name.removeprefix("Dask"))
    assert set(there().get_params()) == {"client", *here().get_params()}
    assert issubclass(there, here)


def test_says_how_to_get_it():
    program = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = None\n"
        "import committee\nimport committee.dask\n"
        "try:\n    committee.dask.fit(committee.RandomForestClassifier(), [[0.0], [1.0]], [0, 1])\n"
        "except ImportError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, encoding="utf-8").stdout
    assert 'pip install "committee[dask]"' in said


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        SBPMTClassifier(3, 2, 8, random_state=0),
        GridSearchCV(RandomForestClassifier(3, random_state=0), {"max_depth": [1, 2]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_fits_of_rows_in_memory_beside_joblibs_backend_dask(client, model):
    expected = clone(model).fit(X, LABELS).predict(X)
    with client.as_current(), parallel_config("dask"):
        np.testing.assert_array_equal(clone(model).fit(X, LABELS).predict(X), expected)


ROWS = RANDOM.normal(size=(120, 3))
CLASSES = np.array(["low", "middle", "high"])[np.digitize(ROWS[:, 0] + 0.3 * RANDOM.normal(size=120), [-0.5, 0.5])]
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c"]).assign(
    d=pd.Categorical(np.where(ROWS[:, 1] > 0, "red", "green")), e=np.where(ROWS[:, 2] > 0, "here", "there")
)


def check_lazy(lazy, expected):
    assert isinstance(lazy, da.Array)
    computed = lazy.compute(scheduler="sync")
    assert lazy.dtype == computed.dtype == expected.dtype
    assert lazy.ndim == expected.ndim and lazy.shape[1:] == expected.shape[1:]
    assert np.array_equal(computed, expected)


def check_answers(model, rows, here):
    for answer in (predict, predict_proba, decision_function):
        check_lazy(answer(model, rows), getattr(model, answer.__name__)(here))


@pytest.mark.parametrize("labels", [CLASSES, CLASSES == "high", (CLASSES == "high").astype(np.int8)])
@pytest.mark.parametrize("n_partitions", [1, 4])
def test_predictions_of_a_dataframe(labels, n_partitions):
    model = RandomForestClassifier(5, random_state=0).fit(FRAME, labels)
    check_answers(model, dd.from_pandas(FRAME, npartitions=n_partitions), FRAME)


def test_predictions_of_partitions_without_rows():
    model = RandomForestClassifier(5, random_state=0).fit(FRAME, CLASSES)
    rows = dd.from_pandas(FRAME.sort_values("a", ignore_index=True), npartitions=4)
    kept = rows[rows["a"] > 0]
    check_lazy(predict_proba(model, kept), model.predict_proba(kept.compute(scheduler="sync")))


def test_predictions_of_an_array():
    model = AdaBoostClassifier(n_estimators=5).fit(ROWS, CLASSES)
    rows = da.from_array(ROWS, chunks=(50, 2))
    assert predict(model, rows).chunks == ((50, 50, 20),)
    assert predict_proba(model, rows).chunks == ((50, 50, 20), (3,))
    check_lazy(predict(model, rows), model.predict(ROWS))
    check_lazy(predict(model, rows[rows[:, 0] > 0]), model.predict(ROWS[ROWS[:, 0] > 0]))


@pytest.mark.parametrize("n_targets", [1, 2])
def test_predictions_of_numbers(n_targets):
    y = ROWS[:, 0] if n_targets == 1 else ROWS[:, :2]
    model = RandomForestRegressor(5, random_state=0).fit(ROWS, y)
    rows = da.from_array(ROWS, chunks=50)
    check_lazy(predict(model, rows), model.predict(ROWS))
    with dask.config.set(scheduler="sync"):
        assert score(model, rows, y) == model.score(ROWS, y)


def test_predictions_of_one_class():
    with pytest.warns(UserWarning, match="one class"):
        model = RandomForestClassifier(5).fit(ROWS, ["only"] * 120)
    check_answers(model, da.from_array(ROWS, chunks=50), ROWS)


def test_score_with_weights():
    model = RandomForestClassifier(2, max_depth=1, random_state=0).fit(FRAME, CLASSES)
    weights = RANDOM.random(120)
    rows, labels = dd.from_pandas(FRAME, npartitions=3), dd.from_pandas(pd.Series(CLASSES), npartitions=3)
    with dask.config.set(scheduler="sync"):
        assert score(model, rows, labels, da.from_array(weights, chunks=50)) == model.score(FRAME, CLASSES, weights)


def test_score_by_names_of_columns():
    table = FRAME.assign(label=CLASSES, weight=RANDOM.random(120))
    model = RandomForestClassifier(2, max_depth=1, random_state=0).fit(FRAME, CLASSES)
    with dask.config.set(scheduler="sync"):
        found = score(model, dd.from_pandas(table, npartitions=3), "label", "weight")
    assert found == model.score(FRAME, CLASSES, table["weight"])
    with pytest.raises(ValueError, match="y='label' is the name of a column, and X is an array"):
        score(model, da.from_array(ROWS, chunks=50), "label")


def test_columns_that_are_missing_are_named_at_once():
    model = RandomForestClassifier(2, random_state=0).fit(FRAME, CLASSES)
    with pytest.raises(ValueError, match=r"(?s)missing.*- b"):
        predict(model, dd.from_pandas(FRAME.drop(columns="b"), npartitions=2))


def test_predictions_of_other_estimators():
    rows = da.from_array(ROWS, chunks=50)
    check_lazy(
        predict(LinearRegression().fit(ROWS, ROWS[:, 0]), rows), LinearRegression().fit(ROWS, ROWS[:, 0]).predict(ROWS)
    )
    with pytest.raises(AttributeError, match="LinearSVC has no predict_proba"):
        predict_proba(LinearSVC().fit(ROWS, CLASSES), rows)


def test_tables_of_this_process_are_answered_at_once():
    model = RandomForestClassifier(5, random_state=0).fit(FRAME, CLASSES)
    assert np.array_equal(predict(model, FRAME), model.predict(FRAME))
    assert score(model, FRAME, CLASSES) == model.score(FRAME, CLASSES)


def test_needs_a_fitted_model():
    with pytest.raises(NotFittedError):
        predict_proba(RandomForestClassifier(), da.from_array(ROWS))
