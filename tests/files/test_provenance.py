"""Where a model comes from stands in its file, goes with the model, and is believed only as far as it can be."""

import pickle
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import committee
from committee import Committee, RandomForestClassifier, TreeVoter
from committee.files.provenance import Estimate, Provenance
from committee.report.known_rows import known_rows, provenance_of
from tests.crafted_files import craft, refused

GOLDEN = Path(__file__).parents[1] / "golden" / "provenance.safetensors"


def same(one, other):
    assert (one.target, one.data, one.n_rows, one.trained) == (other.target, other.data, other.n_rows, other.trained)
    assert one.versions == other.versions and one.estimate == other.estimate
    assert one.rows.digests.tobytes() == other.rows.digests.tobytes()
    assert (one.rows.complete, one.rows.n_repeated) == (other.rows.complete, other.rows.n_repeated)


def test_it_goes_with_the_model_and_a_new_fit_removes_it(tmp_path):
    X, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 2
    model = TreeVoter().fit(X, y)
    model.provenance_ = made = provenance_of(model, X, target="odd", estimate=Estimate("5 folds", 12, {"r2": 0.5}))
    assert made.versions["committee"] == committee.__version__
    model.save(tmp_path / "one")
    loaded = committee.load(tmp_path / "one")
    loaded.save(tmp_path / "two")
    for again in (loaded, committee.load(tmp_path / "two"), pickle.loads(pickle.dumps(model))):
        same(again.provenance_, made)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert not hasattr(clone(model), "provenance_")
    with pytest.raises(ValueError):
        model.fit(X, y[1:])
    assert model.provenance_ is made
    assert not hasattr(model.fit(X, y), "provenance_")
    model.provenance_ = replace(made, rows=None)
    model.save(tmp_path / "one")
    assert committee.load(tmp_path / "one").provenance_.rows is None
    model.provenance_ = {"target": "odd"}
    with pytest.raises(TypeError, match="provenance_ is a dict"):
        model.save(tmp_path / "one")


def test_rows_of_an_ensemble_that_is_trained_further_are_no_longer_those():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    small = committee.prune(forest, X, y, max_nodes=0.5, on="train")
    small.provenance_ = provenance_of(forest, X)
    assert not hasattr(small.fit(X, y), "provenance_")


def test_digests_of_rows_do_not_change_from_version_to_version():
    made = committee.load(GOLDEN).provenance_
    assert made.rows.digests[:2].tolist() == [340405852632767895, 371170505825990562]
    assert made.trained == date(2026, 11, 23) and made.estimate.figures == {"accuracy": 0.75, "log_loss": 0.5}


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("target",), 3, "'target' is a int"),
        (("target",), "x" * 2**17, "target is 131072 characters"),
        (("n_rows",), 0, "does not go with 0 rows"),
        (("n_rows",), True, "'n_rows' is a bool"),
        (("n_rows",), 79, "a sketch of 80 rows does not go with 79"),
        (("trained",), "2026-13-01", "month must be"),
        (("trained",), "20261123", "it must be written as"),
        (("trained",), "2026-11-23T10:00", "it must be written as"),
        (("versions",), {"numpy": 2}, "a version is a int"),
        (("versions",), {"": "1"}, "a package is 0 characters"),
        (("versions",), {str(k): "1" for k in range(300)}, "300 versions"),
        (("estimate",), [], "'estimate' is a list"),
        (("estimate", "figures"), {}, "0 figures"),
        (("estimate", "figures"), {"accuracy": 1}, "it must be float"),
        (("estimate", "figures"), {"accuracy": {"list": []}}, "it must be float"),
        (("estimate", "more"), 1, "unknown entry 'more'"),
        (("rows", "complete"), False, "of some rows has"),
        (("rows", "n_repeated"), 1, "are not those of 80 rows"),
        (("rows", "n_repeated"), None, "does not go with"),
        (("rows",), None, "belongs to nothing"),
        (("more",), 1, "unknown entry 'more'"),
        (("versions", "numpy"), ["2"], "a version is a list"),
    ],
)
def test_what_cannot_be_is_refused(place, value, message, tmp_path):
    def change(document, arrays):
        inner = document["provenance"]
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value

    refused(tmp_path / "model", craft(GOLDEN.read_bytes(), change), message)


def test_arrays_and_entries_that_are_not_there(tmp_path):
    def without(name):
        return lambda document, arrays: document["provenance"].pop(name)

    def of_class(name):
        return lambda document, arrays: document["model"].update({"class": name})

    path, content = tmp_path / "model", GOLDEN.read_bytes()
    refused(path, craft(content, without("data")), "has no entry 'data'")
    refused(path, craft(content, lambda document, arrays: arrays.pop("provenance.digests")), "is absent")
    refused(path, craft(content, lambda _, arrays: arrays.update({"provenance.digests": np.zeros(3)})), "it must be")
    refused(path, craft(content, of_class("Committee")), "a committee alone has a provenance")
    refused(path, craft(content, of_class(["Committee"])), "'class' is a list")


def test_rows_are_known_in_any_form():
    """As an array or a frame, sparse or not, of numbers and categories; whoever has no table is not asked."""
    import pandas as pd
    from scipy.sparse import csr_matrix

    random = np.random.default_rng(0)
    X = random.integers(0, 2, size=(400, 12)) * random.normal(size=(400, 12)).round(2)
    y = (X[:, 0] > 0).astype(int)
    model = RandomForestClassifier(3, random_state=0).fit(X[:300], y[:300])
    model.provenance_ = provenance_of(model, csr_matrix(X[:300]))
    assert model.provenance_.n_rows == 300
    told = known_rows(model, X[200:])
    assert told == known_rows(model, csr_matrix(X[200:]))
    assert told.exact and told.n_known == sum(any((row == X[:300]).all(axis=1)) for row in X[200:])
    frame = pd.DataFrame({"size": X[:, 0], "colour": pd.Categorical(np.where(y, "red", "green"))})
    model.fit(frame[:300], y[:300])
    assert known_rows(model, frame) is None
    model.provenance_ = provenance_of(model, frame[:300], sketch=False)
    assert known_rows(model, frame) is None and model.provenance_.n_rows == 300
    assert isinstance(model.provenance_, Provenance)
    assert not hasattr(Committee.from_estimator(model), "provenance_")
