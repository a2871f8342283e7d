"""Kinds of what a file holds: one of one's own, and files made to deceive, whose digest is right."""

from __future__ import annotations

import copy
import pickle
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone

import committee
from committee import Committee, RandomForestClassifier, TreeVoter, learner
from committee.data.number_types import check_range
from committee.data.table_schema import TableSchema
from committee.files.documents import Document, Estimate, Provenance, Tensors, read_count
from committee.files.kinds import GRAPH_VOTERS, VOTERS
from committee.files.store import load
from committee.report.inspection import inspection
from committee.report.provenance import known_rows, provenance_of
from committee.vote.links.probability import Softmax
from committee.voters.protocol import VoterIndex, Voters
from tests.model_files import (
    LEARNERS,
    Change,
    craft,
    forget,
    gain,
    load_changed,
    lose,
    put,
    refused,
    small_file,
    swap,
    table,
    tell,
)


def test_crafting_nothing_gives_the_model(tmp_path):
    (tmp_path / "model").write_bytes(craft(small_file()[0], lambda document, arrays: None))
    assert load(tmp_path / "model").predict_proba(table()[0]).tobytes() == small_file()[1].tobytes()


def as_numeric(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Categorical splits where the table knows no categories."""
    document["model"]["table"]["categories"] = [None, None, None]
    del document["model"]["table"]["values"]


def more_words(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Category bits for 64 categories where the table knows 3."""
    offset, bits = arrays["voters.category_offset"], arrays["voters.category_bits"]
    node = int(np.flatnonzero(np.diff(offset))[0])
    arrays["voters.category_bits"] = np.insert(bits, offset[node + 1], 0)
    arrays["voters.category_offset"] = offset + (np.arange(len(offset)) > node)


def nested(depth: int) -> Change:
    """Learners as parameters of learners."""

    def change(document: dict[str, Any], _: dict[str, np.ndarray]) -> None:
        inner: dict[str, Any] = {"class": "TreeVoter", "params": {}}
        for _level in range(depth):
            inner = {"class": "AdaBoostClassifier", "params": {"voter": {"learner": inner}}}
        document["model"]["params"]["voter"] = {"learner": inner}

    return change


MALICIOUS: list[tuple[Change, str]] = [
    (put("voters.left", 0, 2**31 - 1), "left is beyond the end of its tree"),
    (put("voters.offset", 1, 2**62), "offset goes from"),
    (put("weights", 0, np.nan), "weights are not 2 finite float64 numbers"),
    (swap("weights", lambda w: w[:1]), "weights are not 2 finite float64 numbers"),
    (swap("weights", lambda w: w.astype(np.float32)), "weights are not 2 finite float64 numbers"),
    (swap("voters.left", lambda a: a.astype(np.int64)), "left is int64; it must be an array of int32"),
    (lose("voters.left"), "array 'voters.left' is absent"),
    (lose("weights"), "array 'weights' is absent"),
    (gain("voters.value"), "array 'voters.value' belongs to nothing"),
    (tell("class", value="os.system"), "class is 'os.system', which is no learner"),
    (tell("class", value="__init__"), "class is '__init__'"),
    (tell("class", value=3), "'class' is a int"),
    (tell("params", "n_estimators", value=-1), "n_estimators"),
    (tell("params", "n_estimators", value={"list": [1]}), "n_estimators"),
    (tell("params", "n_estimators", value={"eval": "1"}), "stands for no value"),
    (tell("params", "__class__", value=1), "has no parameter '__class__'"),
    (tell("params", "voter", value={"learner": {"class": "Popen", "params": {}}}), "class is 'Popen'"),
    (nested(50), "nested more than"),
    (tell("n_features", value=2), "not 2 different names"),
    (tell("n_features", value=0), "n_features is 0"),
    (tell("n_features", value=True), "'n_features' is a bool"),
    (tell("n_features", value=10**300), "n_features is 1000"),
    (tell("feature_names", "values", value=["a", "b"]), "not 3 different names"),
    (tell("feature_names", "values", value=["a", "b", "c"]), "not the names of the table"),
    (tell("feature_names", "values", value=["a", "b", 1]), "not text"),
    (tell("classes", "values", value=[0, 1]), "voters are for 3 classes; there are 2"),
    (tell("classes", "values", value=[0, 1, 1]), "not sorted and unique"),
    (tell("classes", "values", value=[2, 1, 0]), "not sorted and unique"),
    (tell("classes", "values", value=[]), "classes are empty"),
    (tell("classes", "values", value=["a", "b", "c"]), "an array of int64 holds 'a'"),
    (tell("classes", value={"dtype": "object", "values": [1, "a", None]}), "of several types"),
    (tell("classes", value={"dtype": "float64", "values": [0.0, 1.0, {"float": "inf"}]}), "not finite"),
    (tell("table", value={}), "table schema"),
    (tell("table", "categories", value=[None]), "names"),
    (tell("table", "categories", 1, value=["r", "r"]), "distinct"),
    (as_numeric, "does not suit that column's type"),
    (more_words, "a split on colour does not suit that column's type"),
    (tell("link", value={"name": "eval"}), "link"),
    (tell("link", value=7), "'link' is a int"),
    (tell("voters", "kind", value="pickle"), "voters are of kind 'pickle'"),
    (tell("voters", "n_classes", value=2), "label is not between|classes"),
    (tell("voters", "n_classes", value=10**9), "n_classes is 1000000000"),
    (tell("voters", "n_features", value=7), "voters are for 7 columns"),
    (tell("voters", "n_features", value=2**29), "n_features is"),
    (tell("voters", "vote", value="value"), "array 'voters.value' is absent"),
    (tell("voters", "vote", value="weight"), "vote is 'weight'"),
    (tell("voters", value=[]), "'voters' is a list"),
    (tell("attributes", "predict", value=1), "stores no attribute 'predict'"),
    (tell("attributes", "__class__", value=1), "stores no attribute '__class__'"),
    (forget("class"), "'class' is absent"),
    (forget("params"), "'params' is absent"),
    (forget("voters"), "'voters' is absent"),
    (forget("voters", "kind"), "'kind' is absent"),
    (forget("attributes"), "'attributes' is absent"),
    (forget("table"), "'table' is absent"),
]


@pytest.mark.parametrize(("change", "message"), MALICIOUS)
def test_crafted_files_are_refused(tmp_path, change, message):
    refused(tmp_path / "model", craft(small_file()[0], change), message)


def test_crafted_members_are_refused(tmp_path):
    X, y = table()
    path = tmp_path / "model"
    LEARNERS["nested"]().fit(X, y).save(path)
    content = path.read_bytes()
    refused(path, craft(content, put("voters.1.voters.0.voters.left", 0, 999)), "left is beyond the end")
    refused(path, craft(content, put("voters.1.weights", 0, np.inf)), r"voters\.1\.weights are not")
    refused(path, craft(content, tell("voters", "members", value=[])), "estimators is empty")
    refused(path, craft(content, tell("voters", "members", 0, value=None)), "is not a JSON object")
    refused(path, craft(content, tell("voters", "soft", value=1)), "'soft' is a int")
    refused(path, craft(content, tell("voters", "classes", "values", value=[7, 8, 9])), "has classes that")
    refused(path, craft(content, forget("voters", "members", 1)), "weights are not 1 finite")

    def deeper(document, _):
        for _level in range(20):
            inner = copy.deepcopy(document["model"])
            document["model"]["voters"]["members"] = [inner]

    refused(path, craft(content, deeper), r"nested more than|absent")


@settings(
    max_examples=6 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_random_documents_and_arrays(tmp_path, data):
    loaded = load_changed(tmp_path / "model", small_file()[0], data)
    if loaded is not None:
        X = table()[0]
        if loaded.table_ == TableSchema.learn(X):
            assert loaded.predict_proba(X).shape == (len(X), len(loaded.classes_))
        elif loaded.table_ is not None:
            # other categories or names: this table may be refused, but nothing worse
            with suppress(ValueError, TypeError):
                loaded.predict_proba(X)


@dataclass(frozen=True, eq=False)
class Constants:
    """T voters that say the same of every row: the class that each names."""

    label: np.ndarray
    n_classes: int
    n_features: int
    kind = "label"

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, index: VoterIndex) -> Constants:
        return replace(self, label=np.atleast_1d(self.label[index]))

    @property
    def n_outputs(self) -> int:
        return self.n_classes

    @property
    def n_nodes(self) -> np.ndarray:
        return np.zeros(len(self), dtype=np.int64)

    @property
    def nbytes(self) -> int:
        return self.label.nbytes

    @property
    def spread(self) -> np.ndarray:
        return np.ones(len(self))

    def votes(self, X: Any, n_threads: int = 1) -> np.ndarray:
        return np.tile(self.label.astype(np.int16), (len(X), 1))

    def tally(self, X: Any, weights: Any = None, n_threads: int = 1) -> np.ndarray:
        named = self.label[:, None] == np.arange(self.n_classes)
        return np.tile(np.ones(len(self)) @ named if weights is None else weights @ named, (len(X), 1))

    def to_document(self, tensors: Tensors) -> Document:
        tensors.put(label=self.label)
        return {"kind": "constants", "n_classes": self.n_classes, "n_features": self.n_features}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Constants:
        K = read_count(document, "n_classes")
        label = tensors.take("label", np.int64, 1)
        check_range("label", label, 0, K - 1)
        return cls(label, K, read_count(document, "n_features"))

    def check_columns(self, table: TableSchema | None) -> None:
        """Any will do."""


def constants() -> Committee:
    voters = Constants(np.array([1, 0, 1]), 2, 3)
    assert isinstance(voters, Voters)
    return Committee(voters, [1.0, 2.0, 0.5], ["no", "yes"], Softmax(), TableSchema(None, (None,) * 3))


def test_a_kind_is_a_class_and_a_line_in_the_table(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="Constants cannot be saved"):
        constants().save(tmp_path / "model")
    monkeypatch.setitem(VOTERS, "constants", f"{__name__}:Constants")
    constants().save(tmp_path / "model")
    X = np.zeros((4, 3))
    assert load(tmp_path / "model").predict_proba(X).tolist() == constants().predict_proba(X).tolist()
    content = (tmp_path / "model").read_bytes()
    refused(
        tmp_path / "model", craft(content, put("voters.label", 0, 2)), "label holds 2, which is not between 0 and 1"
    )
    refused(tmp_path / "model", craft(content, tell("n_features", value=2)), "the table has 3 columns")
    monkeypatch.delitem(VOTERS, "constants")
    refused(tmp_path / "model", content, "voters are of kind 'constants'; the kind must be one of 'forest', ")


def test_every_kind_is_of_the_class_that_writes_it():
    for table_ in (VOTERS, GRAPH_VOTERS):
        for kind, where in table_.items():
            found = resolve_name(where)
            assert {"to_document", "from_document", "check_columns"} <= set(dir(found)), kind


def golden(name: str) -> bytes:
    return (Path(__file__).parents[1] / "golden" / f"{name}.safetensors").read_bytes()


def voters_of(name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Voters, columns and classes of another model."""
    found: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}

    def look(document: dict[str, Any], held: dict[str, np.ndarray]) -> None:
        kept = ("voters", "table", "n_features", "feature_names", "classes", "link", "intercept")
        found.update({key: document["model"][key] for key in kept if key in document["model"]})
        arrays.update({key: held[key] for key in held if key.startswith("voters") or key in ("weights", "intercept")})

    craft(golden(name), look)
    return found, arrays


@pytest.mark.parametrize(
    ("trained", "other", "message"),
    [
        ("sbpmt", "forest", "voters are of kind 'forest'; a SBPMTClassifier has 'committees'"),
        ("forest", "sbpmt", "voters are of kind 'committees'; a RandomForestClassifier has 'forest'"),
        ("matryoshka", "forest", "voters are of kind 'forest'; a MatryoshkaClassifier has 'graph'"),
        ("tree_regressor", "quadboost_regressor_learners", "voters are of kind 'signed'; a TreeRegressor has 'forest'"),
        ("model_tree", "adaboost", "voters are of kind 'forest'; a ProbitModelTreeClassifier has 'model_trees'"),
        ("gradient_three", "subagging_of_rounds", "voters are of kind 'estimators'.* has 'forest' or 'rounds'"),
    ],
)
def test_a_learner_has_no_voters_that_it_does_not_train(trained, other, message, tmp_path):
    found, arrays = voters_of(other)

    def change(document, held):
        document["model"].pop("intercept", None)
        document["model"].update(found)
        for name in [name for name in held if name.startswith("voters") or name in ("weights", "intercept")]:
            del held[name]
        held.update(arrays)

    refused(tmp_path / "model", craft(golden(trained), change), message)


@pytest.mark.filterwarnings("ignore:y holds one class only")
@pytest.mark.parametrize("name", ["SBPMTClassifier", "ProbitModelTreeClassifier", "MatryoshkaClassifier"])
def test_a_model_of_one_class_is_a_forest_whatever_its_learner(name, tmp_path):
    X = np.arange(8.0)[:, None]
    model = learner(name)().fit(X, np.zeros(8, dtype=int))
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X).tolist() == [0] * 8
    assert inspection(model)[0].rows[0] == ("learner", name)


def test_a_learner_reads_rows_by_its_table(tmp_path):
    def change(document, _):
        document["model"].update(table=None, feature_names=None)

    refused(tmp_path / "model", craft(golden("adaboost"), change), "the table is null")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("quadboost", tell("link", value={"name": "truncated", "floor": {"": 0}}), "truncated' cannot have"),
        ("boosting_tree", lose("attributes.bounds_"), "absent"),
        ("boosting_tree", forget("attributes", "bounds_"), "bounds_ are not .* numbers|belongs to nothing"),
        ("boosting_tree", swap("attributes.edges_", lambda a: a[:, None]), "edges_ are not"),
        ("boosting_tree", swap("attributes.n_draws_", lambda a: a[1:]), "n_draws_ are not"),
        ("boosting_tree", tell("link", value={"name": "share"}), "VoteGraph hold scores, which do not sum to one"),
        ("boosting_tree_majority", tell("voters", "n_paths", value=10**6 + 1), "must be between 1 and 1000000"),
        ("boosting_tree_majority", tell("params", "n_paths", value=10**7), "n_paths"),
        ("gradient_linear", put("voters.lines.column", 0, 99), "column holds 99, which is not between"),
        ("gradient_linear", put("voters.lines.slope", (0, 0), np.nan), "slope holds a number that is not finite"),
        ("gradient_linear", put("voters.lines.low", 0, 1e9), "low is above high"),
        ("gradient_linear", put("voters.lines.start", 1, 10**6), "start goes from|start ends at"),
        ("gradient_linear", swap("voters.lines.high", lambda a: a[1:]), "high is"),
        ("gradient_linear", swap("voters.lines.start", lambda a: np.append(0, a[1:] * 0 + a[-1])), "inner node"),
        (
            "gradient_linear",
            tell("voters", "trees_per_voter", value=2),
            "voters of 2 trees|a single one if",
        ),
        ("gradient_linear_three", tell("voters", "trees_per_voter", value=10**9), "whole voters|must be between"),
    ],
)
def test_malformed_documents_are_refused(name, change, message, tmp_path):
    refused(tmp_path / "model", craft(golden(name), change), message)


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
        (("versions",), {"numpy": 2}, "the version of 'numpy' is of type int; it must be str"),
        (("versions",), {"": "1"}, "a package is 0 characters"),
        (("versions",), {str(k): "1" for k in range(300)}, "300 versions"),
        (("estimate",), [], "'estimate' is a list"),
        (("estimate", "figures"), {}, "0 figures"),
        (("estimate", "figures"), {"accuracy": 1}, "it must be float"),
        (("estimate", "figures"), {"accuracy": {"list": []}}, "it must be float"),
        (("estimate", "more"), 1, "unknown entry 'more'"),
        (("rows", "complete"), False, "of some rows has"),
        (("rows", "n_repeated"), 1, "are not those of 80 rows"),
        (("rows", "n_repeated"), None, "n_repeated"),
        (("rows",), None, "belongs to nothing"),
        (("more",), 1, "unknown entry 'more'"),
        (("versions", "numpy"), ["2"], "the version of 'numpy' is of type list"),
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
    refused(path, craft(content, of_class("Committee")), "the model is a committee with a provenance")
    refused(path, craft(content, of_class(["Committee"])), "'class' is a list")


def test_rows_are_known_in_any_form():
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
