"""Models of trees as scikit-learn's own: the same answers on 10,000 rows with missing values, and what cannot be."""

import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import export_text
from sklearn.utils import get_tags

import committee
from committee import Committee, RegressionCommittee, lossless, prune
from committee.voters.forest import Forest

N = 10_000
CLOSE = 1e-12


def with_gaps(X: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Every tenth value missing; numbers of single precision, to which scikit-learn's forests round."""
    X = X.astype(np.float32).astype(np.float64)
    return np.where(np.random.default_rng(seed).random(X.shape) < 0.1, np.nan, X)


def table_of_classes(n_classes: int) -> tuple[Any, Any, Any]:
    X, y = make_classification(N + 400, 8, n_informative=6, n_classes=n_classes, n_clusters_per_class=1, random_state=0)
    X = with_gaps(X, 1)
    return X[:400], np.array(["no", "yes", "else"])[y[:400]], X[400:]


def table_of_numbers() -> tuple[Any, Any, Any]:
    X, y = make_regression(N + 400, 8, noise=5.0, random_state=0)
    X = with_gaps(X, 2)
    return X[:400], y[:400], X[400:]


def assert_same(theirs: Any, model: Any, X: Any) -> None:
    expected = model.predict(X)
    if not hasattr(model, "predict_proba"):
        assert (np.abs(theirs.predict(X) - expected) <= CLOSE * (1.0 + np.abs(expected))).all()
        return
    assert_array_equal(theirs.predict(X), expected)
    assert_allclose(theirs.predict_proba(X), model.predict_proba(X), rtol=0.0, atol=CLOSE)


OURS_OF_CLASSES = [
    committee.RandomForestClassifier(20, random_state=0),
    committee.RandomForestClassifier(20, voting="hard", random_state=0),
    committee.TreeVoter(max_depth=4),
    committee.AdaBoostClassifier(n_estimators=20, random_state=0),
    committee.AdaBoostClassifier(n_estimators=20, vote="confidence", max_depth=3, random_state=0),
    committee.GradientBoostingClassifier(n_estimators=20, random_state=0),
    committee.ArcGVClassifier(n_estimators=10),
]


ROUND_TRIPS = [
    (RandomForestClassifier(20, random_state=0), RandomForestClassifier),
    (ExtraTreesClassifier(20, random_state=0), RandomForestClassifier),
    (BaggingClassifier(n_estimators=10, random_state=0), RandomForestClassifier),
    (HistGradientBoostingClassifier(max_iter=20), HistGradientBoostingClassifier),
    (AdaBoostClassifier(n_estimators=20), HistGradientBoostingClassifier),
    (GradientBoostingClassifier(n_estimators=20), HistGradientBoostingClassifier),
    (RandomForestRegressor(20, random_state=0), RandomForestRegressor),
    (ExtraTreesRegressor(20, random_state=0), RandomForestRegressor),
    (BaggingRegressor(n_estimators=10, random_state=0), RandomForestRegressor),
    (HistGradientBoostingRegressor(max_iter=20), HistGradientBoostingRegressor),
    (GradientBoostingRegressor(n_estimators=20), HistGradientBoostingRegressor),
]


@pytest.mark.parametrize(("ensemble", "kind"), ROUND_TRIPS, ids=lambda each: getattr(each, "__name__", ""))
def test_there_and_back(ensemble: Any, kind: type) -> None:
    X, y, X_new = table_of_numbers() if is_regressor(ensemble) else table_of_classes(3)
    if not get_tags(ensemble).input_tags.allow_nan:
        X, X_new = np.nan_to_num(X), np.nan_to_num(X_new)
    theirs = ensemble.fit(X, y)
    again = committee.as_sklearn(theirs)
    inner = getattr(getattr(again, "estimator", None), "estimator", again)
    assert type(inner) is kind
    assert_same(again, theirs, X_new)


def mixed(n: int, seed: int, frame: Any = pd.DataFrame) -> Any:
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    size[rng.random(n) < 0.1] = np.nan
    colour = rng.choice(["red", "green", "blue", "violet"], n).astype(object)
    return frame(
        {"size": size, "colour": colour.tolist(), "number": rng.integers(0, 9, n), "flag": rng.random(n) < 0.5}
    )


def target(table: Any) -> NDArray[np.bool_]:
    size, colour = np.nan_to_num(np.asarray(table["size"], dtype=float)), np.asarray(table["colour"])
    return np.asarray((size > 0) ^ np.isin(colour, ["red", "blue"]) ^ np.asarray(table["flag"]))


def unseen(table: Any) -> Any:
    """Rows with colours that training has not seen, and missing ones."""
    colour = table["colour"].astype(object)
    colour[::7], colour[::11] = "unseen", None
    return table.assign(colour=colour)


@pytest.mark.parametrize(
    "learner",
    [
        committee.GradientBoostingClassifier(n_estimators=20, categorical_features=["colour", "number", "flag"]),
        committee.RandomForestClassifier(10, calibrate=False, random_state=0),
        committee.TreeVoter(max_depth=5),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_go_to_boosting(learner: Any, frame: Any) -> None:
    table = mixed(400, 0, frame)
    model = learner.fit(table, target(table))
    theirs = committee.as_sklearn(model)
    assert theirs.feature_names_in_.tolist() == ["size", "colour", "number", "flag"]
    assert_same(theirs, model, unseen(mixed(N, 1)))
    assert_same(theirs, model, mixed(N, 1, pl.DataFrame))


def test_categories_of_numbers_in_arrays() -> None:
    table = mixed(400, 0)
    X, X_new = (each[["size", "number", "flag"]].to_numpy(float) for each in (table, mixed(N, 1)))
    X_new[::5, 1], X_new[::7, 1] = 99.0, np.nan
    model = committee.GradientBoostingRegressor(n_estimators=20, leaf="constant", categorical_features=[1]).fit(
        X, X[:, 1] % 7
    )
    assert_same(committee.as_sklearn(model), model, X_new)
    forest = committee.RandomForestRegressor(10, categorical_features=[1], random_state=0).fit(X, X[:, 1] % 7)
    assert_same(committee.as_sklearn(forest), forest, X_new)


def test_histograms_with_categories_come_back() -> None:
    table = mixed(400, 0).assign(colour=lambda each: each["colour"].astype("category"))
    theirs = HistGradientBoostingClassifier(max_iter=20).fit(table, target(table))
    assert_same(committee.as_sklearn(theirs), theirs, unseen(mixed(N, 1)))


def test_lightgbm_goes_to_scikit_learn() -> None:
    import lightgbm

    table = mixed(400, 0)[["size", "number"]].assign(number=lambda each: each["number"].astype("category"))
    theirs = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(table, target(mixed(400, 0)))
    new = mixed(N, 1)[["size", "number"]].assign(number=lambda each: each["number"].astype("category"))
    assert_allclose(committee.as_sklearn(theirs).predict_proba(new), theirs.predict_proba(new), atol=CLOSE)


def test_models_are_pickled_and_read_without_the_library(tmp_path: Any) -> None:
    X, y, X_new = table_of_classes(3)
    models = [committee.as_sklearn(learner.fit(X, y)) for learner in OURS_OF_CLASSES]
    (tmp_path / "models.pickle").write_bytes(pickle.dumps(models))
    np.save(tmp_path / "X.npy", X_new[:100])
    program = (
        "import pickle, sys, numpy; X = numpy.load('X.npy'); models = pickle.load(open('models.pickle', 'rb')); "
        "[each.predict_proba(X) for each in models]; assert 'committee' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_trees_are_printed_with_what_their_leaves_say() -> None:
    X, y, _ = table_of_classes(2)
    model = committee.TreeVoter(max_depth=2).fit(X, y)
    theirs = committee.as_sklearn(model)
    assert export_text(theirs).count("class:") == int((model.committee_.voters.feature < 0).sum())
    leaves, root = theirs.tree_.children_left < 0, theirs.tree_.value[0, 0]
    weight = theirs.tree_.weighted_n_node_samples[leaves]
    assert_allclose(weight @ theirs.tree_.value[leaves, 0] / weight.sum(), root)


def test_pruned_ensembles_have_it_as_a_method() -> None:
    X, y, X_new = table_of_classes(3)
    forest = committee.RandomForestClassifier(30, random_state=0).fit(X, y)
    for smaller in (prune(forest, X, y, max_nodes=0.3), prune(forest, X, y, max_nodes=0.3, level="voter")):
        assert_same(smaller.as_sklearn(), smaller, X_new)
    X, y, X_new = table_of_numbers()
    numbers = committee.RandomForestRegressor(30, random_state=0).fit(X, y)
    small = prune(numbers, X, y, max_nodes=0.3)
    assert_same(small.as_sklearn(), small, X_new)


def test_trees_without_a_training_record() -> None:
    X, y, X_new = table_of_classes(3)
    forest = committee.RandomForestClassifier(10, calibrate=False, random_state=0).fit(X, y)
    without = lossless(forest, fewest=None).committee
    theirs = committee.as_sklearn(without)
    assert_array_equal(theirs.predict(X_new), forest.predict(X_new))
    assert np.isfinite(theirs.estimators_[0].tree_.value).all()


def test_several_numbers() -> None:
    X, y, X_new = table_of_numbers()
    one = RegressionCommittee.from_estimator(RandomForestRegressor(5, random_state=0).fit(X, y))
    assert isinstance(one.voters, Forest) and one.voters.value is not None
    voters = replace(one.voters, n_classes=2, value=np.hstack([one.voters.value, -one.voters.value]))
    both = RegressionCommittee(voters, np.ones(5), one.link, intercept=[1.0, 2.0])
    assert_allclose(committee.as_sklearn(both).predict(X_new), both.predict(X_new), atol=1e-10)


def test_what_cannot_be() -> None:
    X, y, _ = table_of_classes(2)
    with pytest.raises(ValueError, match="keep is 'all'"):
        committee.as_sklearn(committee.TreeVoter().fit(X, y), keep="all")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="fitted estimators"):
        committee.as_sklearn(BaggingClassifier(LogisticRegression(), 3).fit(np.nan_to_num(X), y))
    many = pd.DataFrame({"x": [f"c{i % 300}" for i in range(900)], "y": np.arange(900.0)})
    model = committee.RandomForestRegressor(5, random_state=0).fit(many, np.arange(900) % 300 < 100)
    with pytest.raises(ValueError, match="numbers stand for the 300 categories of column 'x'"):
        committee.as_sklearn(model)
    table = mixed(400, 0)
    codes = table[["number"]].astype(str).astype("category")
    boosted = committee.GradientBoostingClassifier(n_estimators=5).fit(codes, target(table))
    levels = (tuple(f"c{i}" for i in range(300)),)
    wide = replace(boosted.committee_, table=replace(boosted.table_, categories=levels))
    with pytest.raises(ValueError, match="has 300 categories; scikit-learn"):
        committee.as_sklearn(wide)


def test_splits_of_categories_in_coming_versions_are_refused_by_name() -> None:
    """After 1.9 a tree's `n_categories` says how many each column has, and its threshold holds bits in their place."""
    X, y, _ = table_of_classes(2)

    class Later:
        def __init__(self, tree: Any) -> None:
            self.tree = tree
            self.n_categories = np.array([-1, 4, *[-1] * 6])

        def __getattr__(self, name: str) -> Any:
            return getattr(self.tree, name)

    for forest in (RandomForestClassifier(2).fit(X, y), RandomForestRegressor(2).fit(X, y == "yes")):
        for tree in forest.estimators_:
            tree.tree_ = Later(tree.tree_)
        kind = RegressionCommittee if isinstance(forest, RandomForestRegressor) else Committee
        with pytest.raises(ValueError, match=r"DecisionTree.* takes column 1 as categories"):
            kind.from_estimator(forest)
