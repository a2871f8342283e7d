"""Crafted files of graphs, soft stumps, oracles, signed voters and classifiers: what these cannot be is refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

import committee
from committee import (
    LogitBoostClassifier,
    ProbitBoostClassifier,
    ProbitModelTreeClassifier,
    SBPMTClassifier,
    SubaggingClassifier,
)
from committee.data.table_schema import TableSchema
from tests.model_files import (
    Change,
    assert_loaded_is_saved,
    craft,
    forget,
    gain,
    load_changed,
    load_damaged,
    lose,
    matrix,
    put,
    refused,
    swap,
    table,
    tell,
)
from tests.subjects import assert_same_bits

GOLDEN = Path(__file__).parent.parent / "golden"


def both(*changes: Change) -> Change:
    def change(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        for each in changes:
            each(document, arrays)

    return change


def without_trees(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if name == "weights" or name.startswith("voters."):
            arrays[name] = array[: 1 if name.endswith("offset") else 0]


def without_design(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    for name in ("voters.design.source", "voters.design.category"):
        arrays[name] = arrays[name][:0]
    for name in ("voters.coefficient", "voters.record.centre"):
        arrays[name] = arrays[name][..., :0].copy()


STUMPS = "voters.stumps."
CRAFTED: list[tuple[str, Change, str]] = [
    # a graph
    ("probabilistic", swap("voters.next", lambda a: a[:3]), r"next and vote have shapes \(3, 2\) and \(4, 2\)"),
    (
        "probabilistic",
        swap("voters.vote", lambda a: a[:, :1].copy()),
        r"next and vote have shapes \(4, 2\) and \(4, 1\)",
    ),
    ("probabilistic", swap("voters.vote", lambda a: a.ravel()), "vote is float64 of 1 dimensions; it must be"),
    ("probabilistic", put("voters.next", (3, 0), 2), "graph: "),
    ("probabilistic", put("voters.vote", (0, 0), np.nan), "graph: "),
    ("probabilistic", tell("voters", "walk", value="drunk"), "walk is 'drunk'; it must be one of expected"),
    ("probabilistic", tell("voters", "n_classes", value=1), "n_classes is 1; it does not suit the graph"),
    ("probabilistic", tell("voters", "n_classes", value=7), "n_classes is 7; it does not suit the graph"),
    (
        "probabilistic",
        both(swap("voters.start", lambda a: np.array([0, 2, 4])), tell("voters", "n_classes", value=2)),
        "start has 3 entries; 2 classes need 2",
    ),
    ("probabilistic", tell("voters", "seed", value=-1), r"seed is -1; it must lie in \[0, 2\*\*63\)"),
    ("probabilistic", tell("voters", "seed", value=2**63), r"seed is 9223372036854775808; it must lie in"),
    ("probabilistic", tell("voters", "voters", "kind", value="forest"), "'forest'"),
    ("boosting_tree_majority", tell("voters", "n_paths", value=0), "n_paths is 0; it must be between 1 and"),
    # soft stumps
    ("probabilistic", swap(STUMPS + "missing", lambda a: a[:3]), "the stumps' arrays differ in length"),
    ("probabilistic", swap(STUMPS + "threshold", lambda a: a.astype(np.float32)), "threshold is float32"),
    ("probabilistic", swap(STUMPS + "category_offset", lambda a: a[:4]), "category_offset does not partition"),
    ("probabilistic", put(STUMPS + "category_offset", 2, 1), "category_offset does not partition"),
    ("matryoshka", put(STUMPS + "category_offset", 0, 1), "category_offset does not partition"),
    ("matryoshka", swap(STUMPS + "category_bits", lambda a: a[:-1]), "category_offset does not partition"),
    ("probabilistic", put(STUMPS + "feature", 1, 4), "feature holds a column outside \\[0, 4\\)"),
    ("probabilistic", put(STUMPS + "feature", 1, -1), "feature holds a column outside \\[0, 4\\)"),
    ("probabilistic", put(STUMPS + "threshold", 0, np.nan), "threshold must be a number, softness finite"),
    ("probabilistic", put(STUMPS + "softness", 0, np.inf), "threshold must be a number, softness finite"),
    ("probabilistic", put(STUMPS + "softness", 0, -0.5), "softness finite and not negative"),
    ("probabilistic", put(STUMPS + "missing", 3, 1.5), r"missing must lie in \[0, 1\], ascending be 0 or 1"),
    ("probabilistic", put(STUMPS + "missing", 3, np.nan), r"missing must lie in \[0, 1\]"),
    ("probabilistic", put(STUMPS + "ascending", 3, 2), "ascending be 0 or 1"),
    ("probabilistic", tell("table", "categories", value=[["a", "b"]] * 4), "does not suit its type"),
    # oracles
    ("probabilistic_learners", tell("voters", "voters", "estimate", value="mean"), "estimate is 'mean'; it must be"),
    (
        "probabilistic_learners",
        put("voters.n_draws", 1, 3),
        "voters.n_draws is not zero; the library's learners have exact",
    ),
    ("probabilistic_learners", swap("voters.n_draws", lambda a: a[:1]), r"n_draws has shape \(1,\); 2 voters need"),
    ("probabilistic_learners", tell("voters", "voters", "seed", value=2**63), "seed is 9223372036854775808"),
    (
        "probabilistic_learners",
        tell("voters", "voters", "members", 1, "classes", "values", value=[0, 2]),
        "voters.1 is not a classifier of 0 and 1",
    ),
    (
        "probabilistic_learners",
        both(
            tell("voters", "voters", "members", 1, "n_features", value=5),
            tell("voters", "voters", "members", 1, "table", "categories", value=[None] * 5),
            tell("voters", "voters", "members", 1, "voters", "n_features", value=5),
        ),
        "voters.1 is for other columns than the first voter",
    ),
    # signed voters
    ("quadboost_learners", tell("voters", "members", "kind", value="forest"), "members of signed voters must be class"),
    ("quadboost_learners", swap("voters.output", lambda a: a[:5]), r"output has shape \(5,\); 6 voters need one each"),
    ("quadboost_learners", put("voters.output", 0, 3), r"output must lie in \[0, 3\)"),
    ("quadboost_learners", put("voters.output", 0, -1), r"output must lie in \[0, 3\)"),
    ("quadboost_learners", tell("voters", "n_outputs", value=0), r"output must lie in \[0, 0\)"),
    ("quadboost_learners", tell("voters", "members", "soft", value=True), "name one of two classes"),
    ("quadboost_learners", forget("voters", "members", "classes"), "'classes' is absent"),
    # classifiers
    (
        "adaboost_of_trees",
        tell("voters", "members", 1, "classes", "values", value=["ant", "bee", "dog"]),
        "voters.1 has classes that the committee does not have",
    ),
    # trees
    ("adaboost", without_trees, "there are no voters"),
    (
        "model_tree",
        tell("voters", "link", value="identity"),
        "link of the leaves is 'identity'; it must be 'probit' or",
    ),
    ("model_tree", without_design, r"design.source is empty; a linear model needs a column"),
    ("model_tree", tell("voters", "trees_per_voter", value=2), "trees_per_voter is 2; for 3 classes it must be 1 or 3"),
    ("model_tree", tell("voters", "trees_per_voter", value=3), "1 trees do not form whole voters of 3 trees"),
]


@pytest.mark.parametrize(
    "name",
    [
        "adaboost", "adaboost_of_trees", "boosting_tree_majority", "gradient_log_loss", "gradient_three", "logit_boost",
        "matryoshka", "model_tree", "probit_boost", "quadboost_learners", "sbpmt",
    ],
)  # fmt: skip
def test_a_tally_of_every_kind_of_voters_has_its_outputs_for_columns(name: str) -> None:
    model = committee.load(GOLDEN / f"{name}.safetensors")
    voters, weights = model.committee_.voters, model.committee_.weights
    assert voters.tally(np.zeros((3, model.n_features_in_)), weights).shape == (3, voters.n_outputs)


def test_some_of_the_voters_of_a_graph_cannot_be_saved(tmp_path: Path) -> None:
    """Where the others lead to is part of the graph."""
    vote = committee.load(GOLDEN / "matryoshka.safetensors").committee_
    with pytest.raises(TypeError, match="A selection of a graph's voters cannot be saved; save the learner with all"):
        vote.select([0, 2]).save(tmp_path / "some")
    assert not (tmp_path / "some").exists()


def test_what_a_graph_cannot_be_is_refused() -> None:
    graph = committee.load(GOLDEN / "probabilistic.safetensors").graph_
    with pytest.raises(ValueError, match=r"walk is 'drunk'; it must be one of expected"):
        replace(graph, walk="drunk")
    with pytest.raises(ValueError, match="threshold is float32 of 1 dimensions; it must be float64 of one"):
        replace(graph.voters, threshold=graph.voters.threshold.astype(np.float32))
    graph.check_columns(None)  # without a table there is nothing to refuse


def test_a_majority_of_paths_is_one_voter() -> None:
    model = committee.load(GOLDEN / "boosting_tree_majority.safetensors")
    voters = model.committee_.voters
    assert (len(voters), voters.n_classes, voters.n_outputs) == (1, len(model.classes_), voters.graph.n_outputs)
    assert voters.n_features == model.n_features_in_ and voters.n_nodes.tolist() == [len(model.graph_)]
    assert voters[:1] is voters and voters[[0]] is voters
    with pytest.raises(ValueError, match="The majority of paths is one voter; select it once"):
        voters[[]]


def tree(**params: Any) -> ProbitModelTreeClassifier:
    return ProbitModelTreeClassifier(**({"n_leaf_steps": 5, "max_depth": 3, "min_samples_leaf": 8} | params))


def sbpmt(**params: Any) -> SBPMTClassifier:
    small = {"n_estimators": 3, "n_boosting_rounds": 2, "n_leaf_steps": 5, "max_depth": 2, "min_samples_leaf": 8}
    small |= {"voting": "hard"}
    return SBPMTClassifier(**(small | {"random_state": 0} | params))


MODELS: dict[str, Callable[[], BaseEstimator]] = {
    "shared": tree,
    "per class": lambda: tree(tree="per_class"),
    "logit": lambda: tree(link="logit", max_depth=1),
    "hard": sbpmt,
    "soft": lambda: sbpmt(voting="soft", oob_score=True, max_samples=0.3, n_estimators=9),
    "hard per class": lambda: sbpmt(tree="per_class", emphasis="samme"),
    "probit lines": lambda: ProbitBoostClassifier(20),
    "logit lines": lambda: LogitBoostClassifier(20, early_stopping=True, random_state=0),
    "probit stumps": lambda: ProbitBoostClassifier(6, learner="stump"),
    "logit stumps": lambda: LogitBoostClassifier(6, learner="stump", early_stopping=True, random_state=0),
    "members": lambda: SubaggingClassifier(tree(), n_estimators=2, voting="soft", random_state=0),
}


def two_classes() -> tuple[Any, Any]:
    X, y = table()
    return X, np.where(y > 0, "yes", "no")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("data", [table, two_classes, matrix])
@pytest.mark.parametrize("name", MODELS)
def test_the_loaded_model_is_the_saved_one(name, data, tmp_path):
    X, y = data()
    assert_loaded_is_saved(MODELS[name]().fit(X, y), X, y, tmp_path)


def test_a_selection_of_voters_is_stored(tmp_path):
    X, y = table()
    model = sbpmt().fit(X, y)
    model.committee_ = model.committee_.select([2, 0, 2], [0.5, 2.0, 1.0])
    model.save(tmp_path / "model")
    assert_same_bits(committee.load(tmp_path / "model"), model, X)


def test_without_a_record_of_the_training_rows(tmp_path):
    X, y = table()
    model = tree().fit(X, y)
    voters = replace(model.committee_.voters, record=None)
    model.committee_ = replace(model.committee_, voters=voters)
    model.save(tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    assert loaded.committee_.voters.record is None
    assert_same_bits(loaded, model, X)


@cache
def stored(name: str) -> tuple[bytes, np.ndarray]:
    """A small model's file, and what it must answer to `table`."""
    X, y = table()
    model = MODELS[name]().fit(X, y)
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes(), model.predict_proba(X)


def at(*path: Any, to: Any) -> Change:
    return tell("voters", *path, value=to)


def first_leaf_model(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """A leaf without a model."""
    arrays["voters.model"][np.flatnonzero(arrays["voters.trees.feature"] < 0)[0]] = -1


def inner_model(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """A model where a row does not stay."""
    arrays["voters.model"][np.flatnonzero(arrays["voters.trees.feature"] >= 0)[0]] = 0


TREES: list[tuple[Change, str]] = [
    (put("voters.trees.left", 0, 2**31 - 1), "left is beyond the end of its tree"),
    (first_leaf_model, "model holds -1, which is not between 0 and"),
    (inner_model, "model is not -1 at an inner node"),
    (put("voters.model", -1, 2**31 - 1), "model holds 2147483647"),
    (put("voters.model", -1, -7), "model holds -7"),
    (swap("voters.model", lambda a: a[:-1]), "model is int32 of shape"),
    (swap("voters.model", lambda a: a.astype(np.int64)), "model is int64 of shape"),
    (swap("voters.model", lambda a: np.array(a[0])), r"model is int32 of shape \(\)"),
    (put("voters.intercept", (0, 0), np.nan), "intercept holds a number that is not finite"),
    (swap("voters.intercept", lambda a: a[:, :1].copy()), "intercept is float64 of shape"),
    (swap("voters.intercept", lambda a: np.array(a[0, 0])), "intercept is a single number"),
    (swap("voters.intercept", lambda a: a.astype(np.float32)), "intercept is float32"),
    (swap("voters.intercept", lambda a: a[:0]), "coefficient is float64 of shape"),
    (put("voters.coefficient", (0, 0, 0), np.inf), "coefficient holds a number that is not finite"),
    (swap("voters.coefficient", lambda a: a[:, :, :-1].copy()), "coefficient is float64 of shape"),
    (swap("voters.coefficient", lambda a: a.reshape(len(a), -1)), "coefficient is float64 of shape"),
    (put("voters.design.source", 0, 3), "source holds 3, which is not between 0 and 2"),
    (put("voters.design.source", 0, -1), "source holds -1"),
    (put("voters.design.source", 1, 1), "category has a column twice"),
    (put("voters.design.category", 0, -3), "category is -3 for column 'size'"),
    (put("voters.design.category", 0, 0), "category is 0 for column 'size'"),
    (put("voters.design.category", 2, -1), "category is -1 for column 'colour'"),
    (put("voters.design.category", 2, 2**31 - 1), "category is 2147483647 for column 'colour'"),
    (put("voters.design.category", 2, 1), "category has a column twice"),
    (swap("voters.design.category", lambda a: a[:-1]), "category is int32 of shape"),
    (swap("voters.design.source", lambda a: np.array(a[0])), "source is a single number"),
    (put("voters.design.fill", 0, np.nan), "fill holds a number that is not finite"),
    (swap("voters.design.fill", lambda a: a[:-1]), "fill is float64 of shape"),
    (put("voters.record.mass", 0, -1.0), "mass is not positive"),
    (put("voters.record.centre", (0, 0), np.nan), "centre holds a number that is not finite"),
    (swap("voters.record.risk_fall", lambda a: a[:, :-1].copy()), "risk_fall is float64 of shape"),
    (at("record", to=False), "array 'voters.record.centre' belongs to nothing"),
    (at("record", to=1), "'record' is a int"),
    (lose("voters.coefficient"), "array 'voters.coefficient' is absent"),
    (gain("voters.alpha"), "array 'voters.alpha' belongs to nothing"),
    (at("link", to="cloglog"), "link of the leaves is 'cloglog'"),
    (at("trees_per_voter", to=3), "do not form whole voters of 3 trees|intercept is float64 of shape"),
    (at("trees_per_voter", to=2), "trees_per_voter is 2; for 3 classes"),
    (at("trees_per_voter", to=0), "trees_per_voter is 0"),
    (at("trees_per_voter", to=10**30), "trees_per_voter is 1000"),
    (at("soft", to="yes"), "'soft' is a str"),
    (at("trees", "vote", to="value"), "must be a forest of labels"),
    (at("trees", "kind", to="committees"), "must be a forest of labels"),
    (at("trees", to=None), "'trees' is a NoneType"),
    (at("trees", "n_classes", to=2), "label is not between|intercept|voters are for 2 classes"),
    (at("trees", "n_features", to=7), "risk_fall|voters are for 7 columns"),
    (at("kind", to="committees"), "'members' is absent"),
    (at("kind", to="linear_scores"), "'cap' is absent"),
    (
        both(tell("table", value=None), tell("feature_names", value=None)),
        "linear models need the types of their columns",
    ),
    (tell("table", "categories", 1, value=["r"]), "no such code|does not suit"),
    (tell("table", "categories", 1, value=None), "no such code|does not suit"),
    (tell("table", "categories", 2, value=["p0", "p1"]), "'place' has a different number of values than categories"),
    (tell("feature_names", value=None), "not the names of the table's columns"),
    (forget("voters", "link"), "'link' is absent"),
]


COMMITTEES: list[tuple[Change, str]] = [
    (put("voters.start", 0, 1), "start starts at 1"),
    (put("voters.start", 1, 2**62), "start goes from"),
    (put("voters.start", 1, 0), "start goes from 0 to 0"),
    (put("voters.start", -1, 99), "start ends at 99"),
    (swap("voters.start", lambda a: a[:1]), "start has length 1"),
    (swap("voters.start", lambda a: a[:0]), "start"),
    (swap("voters.start", lambda a: np.array(a[0])), "start is a single number"),
    (swap("voters.start", lambda a: a.astype(np.int32)), "start is int32"),
    (swap("voters.start", lambda a: a[[0, -1]]), "weights are not 1 finite float64 numbers"),
    (put("voters.alpha", 0, 0.0), "alpha must be positive"),
    (put("voters.alpha", 0, -1.0), "alpha must be positive"),
    (put("voters.alpha", 0, np.nan), "alpha holds a number that is not finite"),
    (swap("voters.alpha", lambda a: np.full_like(a, 1e308)), "with a finite sum"),
    (swap("voters.alpha", lambda a: a[:-1]), "alpha is float64 of shape"),
    (at("members", "soft", to=True), "members give scores"),
    (at("members", "kind", to="linear_scores"), "members are of kind 'linear_scores'"),
    (at("members", "kind", to="committees"), "members are of kind 'committees'"),
    (at("members", "trees_per_voter", to=3), "intercept is float64 of shape|do not form whole voters"),
    (at("members", to=[]), "'members' is a list"),
    (at("soft", to=0), "'soft' is a int"),
    (put("voters.members.model", -1, 1000), "model holds 1000"),
    (swap("voters.members.trees.left", lambda a: np.where(a > 0, 999, a)), "left is beyond the end"),
    (put("voters.members.design.source", 0, 77), "source holds 77"),
]


LINES: list[tuple[Change, str]] = [
    (at("cap", to=0.0), "cap is 0.0"),
    (at("cap", to=-3.0), "cap is -3.0"),
    (at("cap", to=20), "'cap' is a int"),
    (put("voters.model", 0, 1), "model holds 1"),
    (put("voters.coefficient", (0, 0, 0), np.nan), "coefficient holds a number"),
    (tell("link", value={"name": "probit", "scale": 2.0}), "has no 'scale'"),
    (tell("link", value={"name": "share"}), "LinearScores hold scores, which do not sum to one"),
]
for several, cases in (("shared", TREES), ("hard", COMMITTEES), ("probit lines", LINES)):
    CRAFTED += [(several, *case) for case in cases]


@pytest.mark.parametrize(("name", "change", "message"), CRAFTED)
def test_crafted_files_are_refused(tmp_path: Path, name: str, change: Change, message: str) -> None:
    content = stored(name)[0] if name in MODELS else (GOLDEN / f"{name}.safetensors").read_bytes()
    refused(tmp_path / "model", craft(content, change), message)


DAMAGED = ("shared", "per class", "soft", "hard", "probit lines", "logit stumps")


@settings(max_examples=3 * settings.default.max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_damage(tmp_path, data):
    """Any damage is noticed, unless it is none (a blank more in the header's padding)."""
    content, expected = stored(data.draw(st.sampled_from(DAMAGED)))
    loaded = load_damaged(tmp_path / "model", content, data)
    if loaded is not None:
        assert loaded.predict_proba(table()[0]).tobytes() == expected.tobytes()


@settings(max_examples=6 * settings.default.max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_documents_and_arrays(tmp_path, data):
    """With a digest that fits: refused, or a model that answers."""

    content = stored(data.draw(st.sampled_from(DAMAGED)))[0]
    loaded = load_changed(tmp_path / "model", content, data)
    if loaded is not None:
        X = table()[0]
        loaded.set_params(n_jobs=None)  # what it is to be asked with, not what it is; 0 would be refused then
        if loaded.table_ == TableSchema.learn(X):
            with np.errstate(all="ignore"):  # coefficients may have become as large as numbers can be
                assert loaded.predict_proba(X).shape == (len(X), len(loaded.classes_))
                assert loaded.predict(X).shape == (len(X),)
        else:
            # other categories or names: this table may be refused, but nothing worse
            with suppress(ValueError, TypeError), np.errstate(all="ignore"):
                loaded.predict_proba(X)
