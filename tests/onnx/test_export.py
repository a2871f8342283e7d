"""Inputs and outputs of exported models, models of other libraries, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import AdaBoostClassifier as TheirAdaBoost
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee.onnx import register_converters
from tests.golden.write import FOLDER, MODELS
from tests.onnx.parity import REFUSED, asked, assert_same, awkward_rows

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
    with pytest.raises(TypeError, match=r"column 'place' has many categories.*\"float64\""):
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


@pytest.mark.parametrize("name", sorted(MODELS.keys() - REFUSED))
def test_a_runtime_answers_the_same(name):
    model = golden(name)
    X = awkward_rows(model, 300, np.random.default_rng(len(name)))
    assert_same(asked(committee.to_onnx(model), X), model, X)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_nodes_is_refused_by_name(name):
    with pytest.raises(TypeError, match=r"sampled paths .* set method to 'expected'|Conformal\w+ .* estimator_"):
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
