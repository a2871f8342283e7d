"""Categories of many levels: numbers that stand for them, learned inside each fit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes

from committee import (
    FunctionalGradientBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MarginReweighter,
    ProbitBoostClassifier,
    RandomForestClassifier,
    TreeVoter,
    certify,
    load,
)
from committee.vote.explain.rules import leaf_rules
from tests.learners.base.test_capabilities import FIRST

ENOUGH_ROUNDS = [
    GradientBoostingRegressor(n_estimators=30, learning_rate=0.1, subsample=1.0),
    FunctionalGradientBoostingRegressor(n_estimators=8),
]
TESTED = FIRST | {type(model): model for model in ENOUGH_ROUNDS}
MODELS = [model for kind, model in TESTED.items() if not kind.__name__.startswith("Conformal")]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
TRAIN, TEST = slice(0, 300), slice(300, None)
Target = NDArray[np.number]


def table_for(model: object, k: int) -> tuple[pd.DataFrame, Target]:
    """Rows of breast cancers or diabetes, with a column of k random levels of text."""
    X, y = (load_breast_cancer if is_classifier(model) else load_diabetes)(return_X_y=True)
    frame = pd.DataFrame(X[:, :8], columns=[f"x{j}" for j in range(8)])
    level = np.random.default_rng(k).integers(k, size=len(y))
    return frame.assign(town=[f"town {each}" for each in level]), y


def towns(n_classes: int = 2, n: int = 900) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """A column of numbers that says little, and 60 towns that say much of the classes."""
    rng = np.random.default_rng(n_classes)
    level = rng.integers(60, size=n)
    score = 3.0 * rng.normal(size=(60, n_classes))[level] + rng.gumbel(size=(n, n_classes))
    frame = pd.DataFrame({"size": rng.normal(size=n), "town": [f"town {each}" for each in level]})
    return frame, np.array(["no", "yes", "perhaps"])[score.argmax(axis=1)]


def quietly_fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, y)


@pytest.mark.one_in(3)
@each_model
@pytest.mark.parametrize("k", [50, 250])
def test_random_levels_cost_next_to_nothing(model, k):
    frame, y = table_for(model, k)
    noisy = quietly_fitted(model, frame[TRAIN], y[TRAIN]).score(frame[TEST], y[TEST])
    plain = frame.drop(columns="town")
    without = quietly_fitted(model, plain[TRAIN], y[TRAIN]).score(plain[TEST], y[TEST])
    assert noisy > without - 0.02


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 3])
@each_model
def test_what_levels_say_is_learned(model, n_classes):
    frame, y = towns(n_classes)
    least = 0.75 if n_classes == 2 else 0.5
    if is_regressor(model):
        y, least = np.random.default_rng(1).normal(size=60)[pd.Categorical(frame["town"]).codes], 0.6
    fitted = quietly_fitted(model, frame[:600], y[:600])
    assert fitted.score(frame[600:], y[600:]) > least


def test_a_level_for_each_of_many_rows():
    n = 70_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=n), "id": [f"i{i}" for i in range(n)]})
    y = (frame["size"] > 0).to_numpy().astype(int)
    tree = TreeVoter().fit(frame, y)
    assert tree.score(frame, y) > 0.99
    assert tree.feature_importances_.tolist() == [1.0, 0.0]


def test_levels_are_read_off_arrays_too():
    frame, y = towns()
    codes = frame.assign(town=pd.Categorical(frame["town"]).codes)
    by_frame = TreeVoter(max_depth=3).fit(frame, y)
    by_array = TreeVoter(max_depth=3, categorical_features=[1]).fit(codes.to_numpy(), y)
    assert np.mean(by_frame.predict(frame) == by_array.predict(codes.to_numpy())) > 0.9


# --- what is held out has no part in it ---------------------------------------------------------------------


def test_rows_of_early_stopping_teach_no_number():
    frame, y = towns()
    model = GradientBoostingClassifier(n_estimators=5, early_stopping=True, random_state=0)
    rows = model.training_rows(frame, y, None)
    parted, _ = model._hold_out(rows, np.random.RandomState(0))
    trained, judged = (parted.units.rows_of(units)[0] for units in (~parted.held, parted.held))
    alone = GradientBoostingClassifier(random_state=0)
    taught = alone.training_rows(frame.iloc[trained], y[trained], None)
    assert model.table_ == alone.table_
    assert_array_equal(parted.rows.X[trained], taught.X)
    assert_array_equal(parted.rows.X[judged], alone.table_.encode(frame.iloc[judged]))


def test_rows_of_a_reserve_teach_no_number():
    frame, y = towns()
    forest = RandomForestClassifier(5, reserve=0.3, random_state=0).fit(frame, y)
    turned = y.copy()
    reserved = forest.reserved_rows_
    turned[reserved] = np.where(y[reserved] == "yes", "no", "yes")
    again = RandomForestClassifier(5, reserve=0.3, random_state=0).fit(frame, turned)
    assert_array_equal(again.reserved_rows_, reserved)
    assert again.table_ == forest.table_


def test_rows_out_of_bag_are_refused_where_their_labels_taught_numbers():
    frame, y = towns()
    forest = RandomForestClassifier(25, oob_score=True, random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="60 categories of column 'town' were learned from all rows"):
        certify(forest, frame, y, on="oob")
    certify(RandomForestClassifier(5, random_state=0).fit(frame[:600], y[:600]), frame[600:], y[600:])


# --- names and files ----------------------------------------------------------------------------------------


def test_rules_name_the_column_and_what_its_numbers_are():
    frame, y = towns()
    tree = TreeVoter(max_depth=1).fit(frame, y)
    rules = leaf_rules(tree.committee_.voters, 0, tree.table_, np.zeros(2, dtype=bool))
    assert all(rule.startswith("rate of yes by town") for rule in rules.values())
    assert tree.feature_importances_.tolist() == [0.0, 1.0]
    line = ProbitBoostClassifier(5).fit(frame, y)
    assert line.design_names_ == ["size", "rate of yes by town"]


@pytest.mark.one_in(3)
@each_model
def test_files_keep_the_numbers(model, tmp_path):
    frame, y = towns()
    if not is_classifier(model):
        y = (y == "yes").astype(float)
    fitted = quietly_fitted(model, frame, y)
    fitted.save(tmp_path / "model.committee")
    again = load(tmp_path / "model.committee")
    assert again.table_ == fitted.table_
    new = pd.DataFrame({"size": [0.0, 0.0, 0.0], "town": ["town 3", "elsewhere", None]})
    assert_array_equal(again.predict(new), fitted.predict(new))


def test_models_made_of_a_trained_one_keep_the_numbers():
    frame, y = towns()
    forest = RandomForestClassifier(5, random_state=0).fit(frame[:600], y[:600])
    reweighted = MarginReweighter(forest, on="validation").fit(frame[600:], y[600:])
    assert reweighted.table_.values == forest.table_.values
