"""Exported models in a runtime: inputs, outputs, trees and links, models of other libraries, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from onnx import TensorProto, helper
from scipy.special import log_ndtr, ndtr
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import AdaBoostClassifier as TheirAdaBoost
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee.onnx import register_converters
from committee.onnx.export import protos
from committee.onnx.graph import Graph, Value
from committee.onnx.links import log_upper, two_sided
from committee.onnx.trees import Ensemble, double_ensemble, leaf_ensemble, round_down_float32
from tests.golden.write import FOLDER, MODELS
from tests.onnx.parity import REFUSED, asked, assert_same, awkward_rows, session
from tests.small_portfolio import with_second_layer

X3, Y3 = load_iris(return_X_y=True)


def table(n: int = 200) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    size, code, place = rng.normal(size=n), rng.choice([10, 20, 31], n), rng.integers(0, 40, n)
    frame = pl.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "colour": [None if r < 0.1 else "rgb"[c % 3] for r, c in zip(rng.random(n), place, strict=True)],
            "place": [f"p{p}" for p in place],
            "empty": pl.Series([""] * (n // 2) + ["full"] * (n - n // 2)),
            "code": code,
        }
    )
    return frame, (size + (code == 20) + (place % 3 == 0) > 0.6).astype(int)


def test_a_frame_goes_in_column_by_column_or_encoded():
    frame, y = table()
    model = committee.GradientBoostingClassifier(
        n_estimators=8, categorical_features=["colour", "place", "empty", "code"]
    )
    model.fit(frame, y)
    exported = committee.to_onnx(model)
    assert [entry.name for entry in exported.graph.input] == frame.columns
    rows = awkward_rows(model, 400, np.random.default_rng(0))
    rows = rows.with_columns(pl.col("empty").fill_null(""), pl.col("code").cast(pl.Float64).fill_null(np.nan))
    assert_same(asked(exported, rows), model, rows)
    encoded = model.committee_.encode(rows)
    answers = asked(committee.to_onnx(model, inputs="encoded"), encoded)
    assert np.abs(answers["probabilities"] - model.predict_proba(rows)).max() <= 1e-12
    with pytest.raises(TypeError, match=r"column 'colour' has categories of text.*\"columns\" or \"encoded\""):
        committee.to_onnx(model, inputs="matrix")
    with pytest.raises(TypeError, match=r"categories of column 'place' are encoded.*\"float64\""):
        committee.to_onnx(model, dtype="float32")
    with pytest.raises(ValueError, match=r"inputs is 'frame'; it must be one of 'auto'"):
        committee.to_onnx(model, inputs="frame")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"dtype is 'half'; it must be 'float64' or 'float32'"):
        committee.to_onnx(model, dtype="half")  # type: ignore[arg-type]
    named = frame.rename({"size": "label"})
    with pytest.raises(ValueError, match=r"the column 'label' has the name of an output"):
        committee.to_onnx(committee.TreeVoter().fit(named, y))


def test_few_categories_go_in_single_precision_too():
    frame, y = table()
    frame = frame.drop("place")
    model = committee.RandomForestClassifier(10, categorical_features=["colour", "empty", "code"], random_state=0)
    model.fit(frame, y)
    rows = frame.with_columns(pl.col("size").cast(pl.Float32).cast(pl.Float64), pl.col("colour").fill_null("black"))
    assert_same(asked(committee.to_onnx(model, dtype="float32"), rows), model, rows, close=1e-6)


@pytest.mark.parametrize(
    "theirs",
    [
        RandomForestClassifier(10, random_state=0),
        BaggingClassifier(n_estimators=5, max_features=0.5, random_state=0),
        TheirAdaBoost(n_estimators=5),
        BaggingClassifier(committee.TreeVoter(max_depth=2), n_estimators=4, max_features=0.5, random_state=0),
    ],
)
def test_ensembles_of_others_go_out_as_their_committees(theirs):
    theirs.fit(X3, Y3)
    ours = committee.Committee.from_estimator(theirs)
    assert_same(asked(committee.to_onnx(theirs), X3), ours, X3)


def test_numbers_of_others_and_one_class():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    answers = asked(committee.to_onnx(forest), X)
    assert np.abs(answers["prediction"] - forest.predict(X)).max() < 1e-9
    with pytest.warns(UserWarning, match="one class"):
        single = committee.TreeVoter().fit(X3[:20], ["only"] * 20)
    answers = asked(committee.to_onnx(single), X3)
    assert set(answers["label"]) == {"only"} and (answers["probabilities"] == 1.0).all()


def test_what_cannot_go_out_is_named():
    with pytest.raises(NotFittedError):
        committee.to_onnx(committee.AdaBoostClassifier())
    with pytest.raises(TypeError, match="LogisticRegression"):
        committee.to_onnx(LogisticRegression(max_iter=500).fit(X3, Y3))
    lines = committee.SubaggingClassifier(LogisticRegression(max_iter=500), n_estimators=2, random_state=0).fit(X3, Y3)
    with pytest.raises(TypeError, match=r"a voter is a LogisticRegression.*Committee\.from_estimator"):
        committee.to_onnx(lines)
    days = pl.DataFrame({"day": pl.date_range(date(2024, 1, 1), date(2024, 5, 29), eager=True)})
    voter = committee.CommitteeClassifier(candidates=["lines"], random_state=0)
    committee.to_onnx(voter.fit(days, Y3), inputs="encoded")
    voters = VotingClassifier([("lines", voter)], voting="soft").fit(days, Y3)
    with pytest.raises(TypeError, match=r"a voter uses the derived column 'day .*; fit with derived_columns=None\.$"):
        committee.to_onnx(voters, inputs="encoded")


@pytest.mark.parametrize("text", [False, True])
def test_pipelines_go_out_through_skl2onnx(text):
    import skl2onnx

    register_converters()
    X, y = load_diabetes(return_X_y=True)
    names = np.array(["ant", "bee", "cow"])[Y3] if text else Y3
    for learner in (
        committee.AdaBoostClassifier(n_estimators=5),
        committee.SBPMTClassifier(n_estimators=2),
        committee.RandomForestClassifier(5, min_samples_leaf=5),
    ):
        pipeline = make_pipeline(StandardScaler(), learner.set_params(random_state=0)).fit(X3, names)
        assert_same(asked(skl2onnx.to_onnx(pipeline, X3[:1]), X3), pipeline, X3)
    learner = committee.GradientBoostingRegressor(n_estimators=5, leaf="linear", categorical_features=[1])
    pipeline = make_pipeline(StandardScaler(), learner).fit(X, y)
    found = asked(skl2onnx.to_onnx(pipeline, X[:1]), X)["prediction"]
    assert np.abs(found[:, 0] - pipeline.predict(X)).max() < 1e-9


def golden(name: str) -> Any:
    return committee.load(FOLDER / f"{name}.safetensors")


def test_a_second_layer_is_refused():
    model = with_second_layer()
    with pytest.raises(TypeError, match=r"'second_layer' reads .* model\.without\('second_layer'\)"):
        committee.to_onnx(model)
    committee.to_onnx(model.without("second_layer"))


@pytest.mark.parametrize("name", sorted(MODELS.keys() - REFUSED))
def test_a_runtime_answers_the_same(name):
    model = golden(name)
    X = awkward_rows(model, 300, np.random.default_rng(len(name)))
    assert_same(asked(committee.to_onnx(model), X), model, X)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_nodes_is_refused_by_name(name):
    with pytest.raises(
        TypeError, match=r"sampled paths .* set method to 'expected'|Conformal\w+ .* estimator_|second_layer"
    ):
        committee.to_onnx(golden(name))


@pytest.mark.parametrize("name", ["forest_regressor", "forest_oob", "committee_two"])
def test_single_precision_comes_to_the_same_leaves(name):
    model = golden(name)
    if model.table_.names is not None or any(model.table_.categories):
        pytest.fail(f"{name} is meant to be a model of a matrix of numbers")
    X = awkward_rows(model, 300, np.random.default_rng(0))
    X = np.clip(X, -1e30, 1e30).astype(np.float32)
    answers = asked(committee.to_onnx(model, dtype="float32"), X)
    assert all(answer.dtype == np.float32 for name, answer in answers.items() if name != "label")
    assert_same(answers, model, X.astype(np.float64), close=1e-6)


F64 = NDArray[np.float64]


def random_trees(
    rng: np.random.Generator, n_trees: int, n_categories: int, n_scores: int
) -> tuple[Ensemble, NDArray[np.int64]]:
    """Trees on two columns, of which the second has categories, and the tree of each leaf.

    Leaves add 1 or 2 to any score.
    """
    rows: dict[str, list[float]] = {name: [] for name in ("feature", "threshold", "missing", "true", "false")}
    target: list[int] = []
    number: list[float] = []
    members: dict[int, NDArray[np.int64]] = {}

    def grow(depth: int) -> int:
        if depth == 0 or rng.random() < 0.15:
            target.append(int(rng.integers(n_scores)))
            number.append(float(rng.choice([1.0, 1.0, 2.0])))
            return -len(number)
        me, is_set = len(rows["feature"]), rng.random() < 0.8
        size = int(rng.integers(0, n_categories))
        if is_set:
            members[me] = np.sort(rng.choice(n_categories, size, replace=False)).astype(np.int64)
        for name, cell in (("feature", int(is_set)), ("threshold", float(rng.integers(8))), ("missing", 0)):
            rows[name].append(cell)
        if not is_set:
            rows["missing"][me] = int(rng.integers(2))
        rows["true"].append(0)
        rows["false"].append(0)
        rows["true"][me], rows["false"][me] = grow(depth - 1), grow(depth - 1)
        return me

    roots, n_leaves = [], [0]
    for _ in range(n_trees):
        roots.append(grow(int(rng.integers(0, 6))))
        n_leaves.append(len(number))
    inner = [np.array(rows[name], dtype=np.int64) for name in ("missing", "true", "false")]
    feature = np.array(rows["feature"], dtype=np.int64)
    threshold = np.array(rows["threshold"])
    trees = Ensemble(np.array(roots), feature, threshold, *inner, members, np.array(target), np.array(number))
    return trees, np.repeat(np.arange(n_trees), np.diff(n_leaves))


def leaf_of(trees: Ensemble, root: int, x: F64) -> int:
    at = root
    while at >= 0:
        value = x[trees.feature[at]]
        if at in trees.members:
            yes = value in trees.members[at]
        else:
            yes = bool(value <= trees.threshold[at]) or (bool(np.isnan(value)) and bool(trees.missing_true[at]))
        at = int(trees.true[at] if yes else trees.false[at])
    return -1 - at


def run(graph: Graph, output: Value, X: F64, version: int = 5) -> F64:
    versions = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    ends = [helper.make_tensor_value_info(name, kind, None) for name, kind in (("X", 11), (output.name, 11))]
    if output.name.startswith("/Cast"):
        ends[1] = helper.make_tensor_value_info(output.name, TensorProto.INT64, None)
    nodes, constants = protos(graph)
    model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], constants), opset_imports=versions)
    model.ir_version = 10
    return np.asarray(session(model).run(None, {"X": X})[0])


@pytest.mark.parametrize("n_categories", [3, 20, 70])
def test_trees_are_walked_as_they_stand(n_categories):
    rng = np.random.default_rng(n_categories)
    for _ in range(25):
        trees, tree_of_leaf = random_trees(rng, int(rng.integers(1, 5)), n_categories, 3)
        X = np.column_stack([rng.integers(0, 9, 80), rng.integers(0, n_categories + 2, 80)]).astype(np.float64)
        X[rng.random(X.shape) < 0.1] = np.nan
        leaves = np.array([[leaf_of(trees, root, x) for root in trees.root.tolist()] for x in X])
        added = np.zeros((len(X), 3))
        np.add.at(added, (np.arange(len(X))[:, None], trees.target[leaves]), trees.number[leaves])
        graph = Graph()
        assert_array_equal(run(graph, double_ensemble(graph.value("X"), trees, 3), X), added)
        # the older operator: each leaf has a number, in the column of its tree
        numbered = replace(trees, target=tree_of_leaf, number=np.arange(len(trees.number), dtype=np.float64))
        graph = Graph(trees=3)
        assert_array_equal(run(graph, leaf_ensemble(graph.value("X"), numbered), X, version=3), leaves)


def test_thresholds_in_single_precision_part_the_same_numbers():
    rng = np.random.default_rng(0)
    thresholds = np.concatenate([rng.normal(size=500), [0.1, 0.7, np.inf, 1e300, -1e300]])
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
    for x in (near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))):
        assert_array_equal(x <= round_down_float32(thresholds), x.astype(np.float64) <= thresholds)


def test_the_normal_curve_is_exact_to_rounding():
    z = np.concatenate([np.linspace(-45.0, 45.0, 4001), [0.0, -0.0, 1e-300, 1e150, -1e150, np.inf, -np.inf]])[:, None]
    graph = Graph()
    found = run(graph, two_sided("probit", graph.value("X")), z)
    assert_allclose(found, np.hstack([ndtr(-z), ndtr(z)]), rtol=1e-12, atol=1e-300)
    graph = Graph()
    finite = z[np.isfinite(z[:, 0])]
    found = run(graph, log_upper("probit", graph.value("X")), finite)
    assert_allclose(found, log_ndtr(finite), rtol=1e-12, atol=1e-15)
