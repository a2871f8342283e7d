"""Names of categories and columns, and the unit of the target, change no draw of rows and no fold."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import committee as c
from committee.data.rows import Rows, TargetRows
from committee.learners.base.row_sampling import Folds, RowUnits
from committee.learners.conformal.out_of_sample import folds_of_rows
from tests.learners.base.test_capabilities import words
from tests.limits import examples
from tests.small_portfolio import use_small_members

N, DEEP = 120, {"max_depth": 4, "max_features": 0.5, "random_state": 0}
seeds = st.integers(0, 2**32 - 1)


def table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns of numbers, one of four categories, and one of as many as become target statistics."""
    rng = np.random.default_rng(seed)
    few, many = rng.integers(0, 4, N), rng.integers(0, 24, N)
    X = pd.DataFrame({"a": rng.normal(size=N), "few": few, "b": rng.normal(size=N), "many": many})
    y = X["a"] + few % 3 + 0.5 * (many % 2) + 0.3 * rng.normal(size=N)
    return X.assign(few=[f"f{k}" for k in few], many=[f"m{k:02d}" for k in many]), y.to_numpy()


def renamed(X: pd.DataFrame) -> pd.DataFrame:
    """Other names of categories, in another order, and of columns."""
    few = {f"f{k}": f"g{(3 * k + 1) % 4}" for k in range(4)}
    many = {f"m{k:02d}": f"n{(5 * k + 3) % 24:02d}" for k in range(24)}
    return X.assign(few=X["few"].map(few), many=X["many"].map(many)).rename(columns={"a": "z", "many": "c"})


CLASSIFIERS = [
    c.GradientBoostingClassifier(n_estimators=2),
    c.GradientBoostingClassifier(n_estimators=2, learning_rate=0.3, early_stopping=True, validation_fraction=0.2),
    c.GradientBoostingClassifier(n_estimators=2, max_features=0.5),
    c.GradientBoostingClassifier(n_estimators=2, max_features=0.5, extra_trees=True),
    c.RandomForestClassifier(3, max_features=0.5),
    c.RandomForestClassifier(3, max_features=0.5, max_leaf_nodes=6, voting="hard"),
    c.TreeVoter(max_features=0.5),
    c.AdaBoostClassifier(3, max_depth=3, max_features=0.5),
    c.SubaggingClassifier(c.TreeVoter(max_features=0.5), 2),
    c.SBPMTClassifier(2, 2, 3, max_features=0.5),
    c.ProbitModelTreeClassifier(3),
    c.LogitBoostClassifier(2),
    c.QuadBoostClassifier(n_estimators=3, dictionary="trees"),
    c.ArcGVClassifier(3),
    c.BoostingTreeClassifier(3),
    c.MatryoshkaClassifier(levels=2),
    c.ProbabilisticAdaBoostClassifier(3),
    c.AbstainingStump(),
    c.FunctionalGradientBoostingClassifier(n_estimators=2, subsample=0.5),
    c.AdaBoostClassifier(3),
    c.SubaggingClassifier(n_estimators=3, max_samples=1.0),
    c.LPBoostClassifier(),
    c.ConformalClassifier(c.AdaBoostClassifier(2), cv=2),
    c.CommitteeClassifier(cv=2),
]
REGRESSORS = [
    c.GradientBoostingRegressor(n_estimators=2),
    c.GradientBoostingRegressor(n_estimators=2, learning_rate=0.3, early_stopping=True, validation_fraction=0.2),
    c.FunctionalGradientBoostingRegressor(n_estimators=2, subsample=0.5),
    c.GradientBoostingRegressor(n_estimators=2, max_features=0.5),
    c.RandomForestRegressor(3),
    c.RandomForestRegressor(3, max_features=0.5, max_leaf_nodes=6),
    c.TreeRegressor(max_features=0.5),
    c.RandomForestRegressor(3, max_features=0.5, criterion="absolute_error"),
    c.QuadBoostRegressor(None, n_estimators=3),
    c.ConformalRegressor(c.GradientBoostingRegressor(n_estimators=2, learning_rate=0.3), cv=2),
    c.CommitteeRegressor(cv=2),
]


@pytest.fixture(autouse=True)
def small_members(monkeypatch):
    use_small_members(monkeypatch)


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", CLASSIFIERS, ids=words)
def test_names_change_no_classifier(model):
    X, y = table(0)
    p, q = (clone(model).fit(each, y > 1.0).predict_proba(each) for each in (X, renamed(X)))
    assert_allclose(p, q, rtol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", REGRESSORS, ids=words)
def test_names_and_units_change_no_regressor(model):
    X, y = table(0)
    expected = clone(model).fit(X, y).predict(X)
    assert_allclose(clone(model).fit(renamed(X), y).predict(renamed(X)), expected, rtol=1e-9)
    assert_array_equal(clone(model).fit(X, 2.0**10 * y).predict(X), 2.0**10 * expected)
    # leaves of a committee's members are rounded to single precision, if the error is below 1e-7 of their spread
    error = 1e-6 * y.std() if isinstance(model, c.CommitteeRegressor) else 0.0
    fahrenheit = clone(model).fit(X, 1.8 * y + 32.0).predict(X)
    assert_allclose((fahrenheit - 32.0) / 1.8, expected, rtol=1e-9, atol=error)


@pytest.mark.parametrize("seed", range(3))
def test_names_of_two_categories_and_of_two_classes_change_no_forest(seed):
    X, y = table(seed)
    X = X.drop(columns="many").assign(few=X["few"].map({"f0": "a", "f1": "b", "f2": "b"}))
    other, labels = X.assign(few=X["few"].map({"a": "z", "b": "y"})), y > 0.5
    for model in (c.RandomForestClassifier(3, **DEEP), c.TreeVoter(calibrate=None, **DEEP)):
        expected = clone(model).fit(X, labels).predict_proba(X)
        assert_array_equal(clone(model).fit(other, labels).predict_proba(other), expected)
        assert_allclose(clone(model).fit(X, ~labels).predict_proba(X)[:, ::-1], expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_names_change_the_vote_of_lpboost_among_those_of_the_largest_margin():
    X, y = table(7)
    one, other = (c.LPBoostClassifier().fit(each, y > 1.0) for each in (X, renamed(X)))
    assert not np.allclose(one.predict_proba(X), other.predict_proba(renamed(X)))  # two optima
    assert_allclose(one.soft_margin_, other.soft_margin_, atol=2e-6)


@pytest.mark.parametrize("more", [{}, {"number": np.arange(N)}])
def test_names_change_no_tree_and_its_folds_only_without_numbers(more):
    X, y = table(0)
    one = X[["few", "many"]].assign(**more)
    other = renamed(X).rename(columns={"c": "many"})[["few", "many"]].assign(**more)
    for calibrate in [None, "auto"] if more else [None]:
        model = c.ProbitModelTreeClassifier(calibrate=calibrate)
        p, q = (clone(model).fit(each, y > 1.0).predict_proba(each) for each in (one, other))
        assert_allclose(p, q, rtol=1e-9)


def coded(seed: int, *, numeric: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes, numbers = rng.integers(0, 4, (60, 2)), np.round(rng.normal(size=(60, 2)), 2)
    return np.column_stack([codes, numbers if numeric else codes]).astype(float), np.round(rng.normal(size=60), 1)


@settings(max_examples=examples(5, 60))
@given(seeds, st.permutations(range(4)), st.floats(1e-3, 1e3), st.floats(-100, 100))
def test_draws_and_folds_depend_on_neither_names_nor_units(seed, names, factor, shift):
    X, y = coded(seed, numeric=True)
    other = X.copy()
    other[:, :2] = np.array(names)[X[:, :2].astype(int)]
    categorical, ones = np.arange(4) < 2, np.ones(60)
    here, there = (
        TargetRows(each, target, ones, True, categorical=categorical)
        for each, target in ((X, y), (other, factor * y + shift))
    )
    assert_array_equal(RowUnits.of(here, 1, 1).place, RowUnits.of(there, 1, 1).place)
    assert_array_equal(Folds.of(here, 3).first, Folds.of(there, 3).first)
    labels = (y > 0).astype(np.uint16)
    here, there = (Rows(each, labels, ones, True, categorical=categorical) for each in (X, other))
    assert_array_equal(RowUnits.of(here, 1, 1).place, RowUnits.of(there, 1, 1).place)
    assert_array_equal(Folds.of(here, 3).first, Folds.of(there, 3).first)
    frames = [pd.DataFrame(each).astype({0: str, 1: str}) for each in (X, other)]
    assert_array_equal(*(folds_of_rows(3, each, y, labels) for each in frames))


@settings(max_examples=examples(5, 60))
@given(seeds, st.booleans())
def test_draws_and_folds_of_categories_alone_depend_on_no_order_of_rows(seed, numeric):
    X, y = coded(seed, numeric=numeric)
    order, w = np.random.default_rng(seed).permutation(60), np.random.default_rng(seed).integers(1, 3, 60)
    categorical = np.array([True, True, not numeric, not numeric])
    labels = (y > 0).astype(np.uint16)
    whole = Rows(X, labels, w.astype(float), uniform=False, categorical=categorical)
    rows = np.repeat(order, w[order])
    repeated = Rows(X[rows], labels[rows], np.ones(len(rows)), uniform=True, categorical=categorical)
    heavy, many = RowUnits.of(whole, 1, 1), RowUnits.of(repeated, 1, 1)
    for k in range(60):
        alike = (X[k] == X).all(axis=1) & (labels == labels[k])
        assert_array_equal(np.sort(heavy.place[alike[heavy.row]]), np.sort(many.place[alike[rows]]))
    assert sorted(Folds.of(whole, 3).first.tolist()) == sorted(Folds.of(repeated, 3).first.tolist())
