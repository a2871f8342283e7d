"""Learners by names of their own for clusters."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import committee
import committee.dask
from tests.subjects import assert_same_bits

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 4))
LABELS = np.array(["no", "yes"])[(X[:, 0] + RANDOM.normal(size=200) > 0).astype(int)]
NAMES = [name for name in committee.dask.__all__ if name.startswith("Dask")]


def test_fit_and_lazy_answers(client):
    here = committee.RandomForestClassifier(8, random_state=0).fit(X, LABELS)
    there = committee.dask.DaskRandomForestClassifier(8, random_state=0, client=client)
    rows = da.from_array(X, chunks=60)
    assert there.fit(rows, LABELS) is there
    assert_same_bits(here, there.to_local(), X)
    for method in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(there, method)(rows)
        assert isinstance(lazy, da.Array)
        assert np.array_equal(lazy.compute(scheduler="sync"), getattr(here, method)(X))
        assert np.array_equal(getattr(there, method)(X), getattr(here, method)(X))
    assert there.score(X, LABELS) == there.score(rows, LABELS) == here.score(X, LABELS)


def test_columns_of_a_dataframe_as_labels_and_weights(client):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=LABELS, weight=RANDOM.integers(0, 3, 200))
    there = committee.dask.DaskSBPMTClassifier(4, random_state=0, client=client)
    there.fit(dd.from_pandas(frame, npartitions=3), "label", "weight")
    here = committee.SBPMTClassifier(4, random_state=0).fit(frame[list("abcd")], LABELS, frame["weight"])
    assert_same_bits(here, there.to_local(), frame[list("abcd")])


def test_saved_as_the_learner_itself(client, tmp_path):
    there = committee.dask.DaskRandomForestRegressor(4, random_state=0, client=client).fit(X, X[:, 1])
    there.save(tmp_path / "forest.model")
    loaded = committee.load(tmp_path / "forest.model")
    assert type(loaded) is type(there.to_local()) is committee.RandomForestRegressor
    assert np.array_equal(loaded.predict(X), there.predict(X))


def test_clones_share_the_client_and_pickles_have_none(client):
    forest = committee.dask.DaskRandomForestClassifier(4, client=client)
    assert clone(forest).client is client
    assert clone(forest).n_estimators == 4
    assert pickle.loads(pickle.dumps(forest)).client is None
    assert forest.get_params()["client"] is client
    assert len(cross_val_score(forest, X, LABELS, cv=2)) == 2


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_the_learner_and_the_client(name):
    there, here = getattr(committee.dask, name), getattr(committee, name.removeprefix("Dask"))
    assert set(there().get_params()) == {"client", *here().get_params()}
    assert issubclass(there, here)
