"""scikit-learn's boosting and ensembles of numbers: predictions of the original, and all that committees can do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from committee import Committee, RegressionCommittee, load
from tests.cli.calls import succeed
from tests.vote.adapters.every_use import assert_every_use, assert_saved_and_explained

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def mixed(n: int, seed: int, *, kinds: int = 12) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers that often meet thresholds, categories of text, of numbers and of one value, and gaps; a number."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(1)
    code, step, gone = rng.integers(0, kinds, n), rng.integers(0, 6, n), rng.random((n, 5)) < 0.1
    y = X[:, 0] * (code % 3 == 1) + X[:, 1] + (step > 3) + gone[:, 4] + 0.2 * rng.normal(size=n)
    frame = pd.DataFrame({"size": X[:, 0], "kind": [f"kind {c}" for c in code], "depth": X[:, 1], "step": step})
    frame["one"] = "x"
    frame = frame.mask(pd.DataFrame(gone, columns=frame.columns))
    return frame.astype(dict.fromkeys(["kind", "step", "one"], "category")), y


ROWS, NUMBER = mixed(1500, 0)
NEW = mixed(10_000, 1, kinds=15)[0]
PLAIN, NEW_PLAIN = (frame[["size", "depth"]].fillna(-5.0).to_numpy() for frame in (ROWS, NEW))
SMALL: dict[str, Any] = {"n_estimators": 12, "random_state": 0}


def classes(n_classes: int) -> np.ndarray:
    bounds = np.quantile(NUMBER, np.arange(1, n_classes) / n_classes)
    return np.array(["low", "middle", "top"])[np.digitize(NUMBER, bounds)]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_histogram_boosting_of_classes(n_classes, tmp_path):
    y = classes(n_classes)
    model = HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=10).fit(ROWS, y)
    committee = Committee.from_estimator(model)
    assert_allclose(committee.decision_function(NEW), model.decision_function(NEW), **CLOSE)
    assert_allclose(committee.predict_proba(NEW), model.predict_proba(NEW), **CLOSE)
    assert_array_equal(committee.predict(NEW), model.predict(NEW))
    assert committee.table is not None and committee.table.n_categories.tolist() == [0, 12, 0, 6, 1]
    assert len(committee.voters.category_bits if n_classes == 2 else committee.voters.forest.category_bits)
    assert_every_use(committee, ROWS, y, tmp_path / "model")


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "poisson", "gamma"])
def test_histogram_boosting_of_numbers(loss, tmp_path):
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.7, max_iter=12).fit(ROWS, np.exp(NUMBER))
    committee = RegressionCommittee.from_estimator(model)
    assert_allclose(committee.predict(NEW), model.predict(NEW), rtol=1e-12)
    (assert_every_use if loss == "squared_error" else lambda c, X, _, file: assert_saved_and_explained(c, X[:9], file))(
        committee, ROWS, np.exp(NUMBER), tmp_path / "model"
    )


@pytest.mark.parametrize(
    ("n_classes", "options"),
    [
        (2, {}),
        (2, {"loss": "exponential"}),
        (2, {"init": "zero"}),
        (3, {}),
        (3, {"init": DummyClassifier(strategy="most_frequent")}),
    ],
)
def test_gradient_boosting_of_classes(n_classes, options, tmp_path):
    y = classes(n_classes)
    model = GradientBoostingClassifier(**SMALL, **options).fit(PLAIN, y)
    committee = Committee.from_estimator(model)
    assert_allclose(committee.decision_function(NEW_PLAIN), model.decision_function(NEW_PLAIN), **CLOSE)
    assert_allclose(committee.predict_proba(NEW_PLAIN), model.predict_proba(NEW_PLAIN), **CLOSE)
    assert_array_equal(committee.predict(NEW_PLAIN), model.predict(NEW_PLAIN))
    if not options:
        assert_every_use(committee, PLAIN, y, tmp_path / "model")


TREES = [("a", DecisionTreeRegressor(max_depth=4)), ("b", ExtraTreeRegressor(random_state=0)), ("c", "drop")]
NUMBERS = [
    *(GradientBoostingRegressor(loss=loss, **SMALL) for loss in ("squared_error", "absolute_error", "huber")),
    GradientBoostingRegressor(loss="quantile", init="zero", subsample=0.5, **SMALL),
    BaggingRegressor(max_features=0.5, **SMALL),
    BaggingRegressor(ExtraTreeRegressor(), **SMALL),
    VotingRegressor(TREES, weights=[1.0, 3.0, 9.0]),
]


@pytest.mark.parametrize("model", NUMBERS, ids=lambda model: f"{type(model).__name__} {getattr(model, 'loss', '')}")
def test_ensembles_of_numbers(model, tmp_path):
    y = np.exp(NUMBER)
    committee = RegressionCommittee.from_estimator(model.fit(PLAIN, y))
    assert_allclose(committee.predict(NEW_PLAIN), model.predict(NEW_PLAIN), rtol=1e-12)
    if getattr(model, "loss", "squared_error") == "squared_error":
        assert_every_use(committee, PLAIN, y, tmp_path / "model")


def test_the_command_line_converts_them(tmp_path):
    y, rows = classes(2), NEW[:300]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for name, model in (
        ("histogram", HistGradientBoostingClassifier(max_iter=5).fit(ROWS, y)),
        ("numbers", HistGradientBoostingRegressor(max_iter=5).fit(ROWS[["size"]], NUMBER)),
        ("boosting", GradientBoostingClassifier(n_estimators=5).fit(PLAIN, y)),
        ("vote", VotingRegressor(TREES).fit(PLAIN, NUMBER)),
    ):
        skops.io.dump(model, tmp_path / f"{name}.skops")
        assert "voters" in succeed("convert", tmp_path / f"{name}.skops", "-o", tmp_path / f"{name}.st").stderr
        seen = rows if name == "histogram" else rows[["size"]] if name == "numbers" else NEW_PLAIN[:300]
        found, expected = load(tmp_path / f"{name}.st").predict(seen), model.predict(seen)
        if isinstance(model, GradientBoostingClassifier | HistGradientBoostingClassifier):
            assert_array_equal(found, expected)
        else:
            assert_allclose(found, expected, **CLOSE)
    printed = succeed("predict", tmp_path / "histogram.st", tmp_path / "rows.csv").stdout.splitlines()[1:]
    assert printed == load(tmp_path / "histogram.st").predict(rows).tolist()


def with_none(X: np.ndarray) -> np.ndarray:
    some = np.array(["a", "b", None], dtype=object)[np.arange(len(X)) % 3]
    return np.column_stack([some, X[:, :1].astype(object)])


@pytest.mark.parametrize(
    ("kind", "make", "match"),
    [
        (
            Committee,
            lambda: GradientBoostingClassifier(init=LogisticRegression(), n_estimators=1).fit(PLAIN, classes(2)),
            r"init=LogisticRegression\(\), whose predictions of each row",
        ),
        (
            Committee,
            lambda: GradientBoostingClassifier(init=DummyClassifier(strategy="uniform"), n_estimators=1).fit(
                PLAIN, classes(2)
            ),
            "init=DummyClassifier",
        ),
        (
            RegressionCommittee,
            lambda: GradientBoostingRegressor(init=LinearRegression(), n_estimators=1).fit(PLAIN, NUMBER),
            r"init=LinearRegression\(\)",
        ),
        (
            Committee,
            lambda: HistGradientBoostingClassifier(max_iter=1, categorical_features=[0]).fit(
                with_none(PLAIN), classes(2)
            ),
            "has None among the categories of column 0",
        ),
        (
            RegressionCommittee,
            lambda: BaggingRegressor(LinearRegression(), n_estimators=2).fit(PLAIN, NUMBER),
            "a BaggingRegressor of LinearRegression; its members must be DecisionTreeRegressor",
        ),
        (RegressionCommittee, lambda: BaggingRegressor(n_estimators=2).fit(PLAIN, PLAIN), "predicts 2 outputs"),
        (RegressionCommittee, lambda: AdaBoostRegressor().fit(PLAIN, NUMBER), "predicts the weighted median"),
    ],
)
def test_what_is_refused(kind, make, match):
    with pytest.raises(ValueError, match=match):
        kind.from_estimator(make())


def test_nodes_of_a_crafted_file_that_are_no_tree_are_refused():
    for children in ((0, 0), (1, 1), (1, 2_000_000)):
        model = HistGradientBoostingRegressor(max_iter=1).fit(PLAIN, NUMBER)
        nodes = model._predictors[0][0].nodes
        nodes["left"][0], nodes["right"][0] = children
        with pytest.raises(ValueError, match="do not form trees"):
            RegressionCommittee.from_estimator(model)
