"""The reserve of a forest: its rows, the forest of the other rows, and its certificate."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import beta
from sklearn.base import clone

from committee import RandomForestClassifier, load
from committee.data.table_schema import TableSchema
from committee.learners.bagging.forest_trees import draw_reserve
from tests.subjects import assert_same_bits

seeds = st.integers(0, 2**32 - 1)


def table(n=300, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    return X, np.searchsorted(np.linspace(-0.7, 0.7, n_classes + 1)[1:-1], score)


def of_the_others(model, X, y, weight=None):
    """The forest that the other rows alone make, its draws those after the reserve's."""
    n = len(y) if weight is None else int(np.sum(weight > 0))
    random = np.random.RandomState(model.random_state)
    random.permutation(n)
    others = np.ones(len(y), dtype=bool) if weight is None else weight > 0
    others[model.reserved_rows_] = False
    alone = clone(model).set_params(reserve=0.0, oob_score=True, random_state=random)
    index = np.flatnonzero(others)
    some = X.iloc[index].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[index]
    return alone.fit(some, y[index], None if weight is None else weight[index]), index


# --- which rows ---------------------------------------------------------------------------------------------


@given(seeds, st.integers(2, 400), st.floats(0.01, 0.99))
def test_the_reserve_is_a_share_of_the_rows_drawn_without_a_look_at_them(seed, n, share):
    size = int(share * n)
    if size == 0:
        with pytest.raises(ValueError, match=rf"is 0 of {n} rows; raise it, or set 0"):
            draw_reserve(n, share, np.random.RandomState(seed))
        return
    mask = draw_reserve(n, share, np.random.RandomState(seed))
    assert mask.sum() == size
    assert_array_equal(np.flatnonzero(mask), np.sort(np.random.RandomState(seed).permutation(n)[:size]))


@given(seeds, st.floats(0.1, 0.6), st.booleans())
@settings(max_examples=10, deadline=None)
def test_no_tree_has_drawn_a_reserved_row(seed, share, bootstrap):
    X, y = table(100, seed % 1000)
    X[:, 3] = np.arange(100)  # tells rows apart, so that trees which grow to the end know their own
    model = RandomForestClassifier(5, reserve=share, bootstrap=bootstrap, random_state=seed % 2**31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    drawn = int(share * 100)
    assert len(model.reserved_rows_) == drawn and (np.diff(model.reserved_rows_) > 0).all()
    assert (model.committee_.voters.weight[model.committee_.voters.offset[:-1]] == 100 - drawn).all()
    if not bootstrap:
        others = np.delete(np.arange(100), model.reserved_rows_)
        assert_array_equal(model.predict(X[others]), y[others])
        assert np.isnan(model.oob_decision_function_[others]).all()
        assert model.oob_score_ == pytest.approx(model.score(X[model.reserved_rows_], y[model.reserved_rows_]))


# --- whose forest it is -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"bootstrap": False, "max_samples": 0.5},
        {"n_estimators": "oob", "max_estimators": 90},
        {"max_leaf_nodes": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_forest_is_that_of_the_other_rows(n_classes, params, weighted):
    X, y = table(250, n_classes=n_classes)
    weight = np.random.default_rng(1).integers(0, 4, 250).astype(float) if weighted else None
    model = RandomForestClassifier(
        **{"n_estimators": 20, "reserve": 0.2, "random_state": 4, "calibrate": None, **params}
    )
    model.fit(X, y, weight)
    alone, others = of_the_others(model, X, y, weight)
    assert_same_bits(model, alone, X)
    assert_array_equal(model.oob_curve_, alone.oob_curve_)
    assert_array_equal(model.oob_decision_function_[others], alone.oob_decision_function_)
    reserve = model.reserved_rows_
    assert not np.intersect1d(others, reserve).size and (weight is None or (weight[reserve] > 0).all())
    np.testing.assert_allclose(model.oob_decision_function_[reserve], model.predict_proba(X[reserve]), atol=1e-12)
    judged = np.isfinite(model.oob_decision_function_[:, 0])
    right = model.classes_[model.oob_decision_function_[judged].argmax(axis=1)] == y[judged]
    each = None if weight is None else weight[judged]
    assert model.oob_score_ == pytest.approx(np.average(right, weights=each))


def test_categories_of_the_reserve_alone_are_unknown():
    rng = np.random.default_rng(0)
    X, y = table(200)
    city = rng.choice(["Bern", "Oslo", "Rome"], 200).astype(object)
    model = RandomForestClassifier(30, reserve=0.2, calibrate=None, random_state=0)
    reserve = np.flatnonzero(draw_reserve(200, 0.2, np.random.RandomState(0)))
    city[reserve[:5]], city[reserve[5]] = "Bonn", None
    frame = pd.DataFrame(X).rename(columns=str).assign(city=city, code=pd.Categorical(rng.integers(0, 3, 200)))
    model.fit(frame, y)
    assert_array_equal(model.reserved_rows_, reserve)
    assert model.table_.categories[4] == ("Bern", "Oslo", "Rome")
    others = frame.drop(index=reserve).reset_index(drop=True)
    assert model.table_ == TableSchema.learn(others)
    alone, _ = of_the_others(model, frame, y)
    assert_array_equal(model.predict_proba(frame), alone.predict_proba(frame))
    np.testing.assert_allclose(
        model.oob_decision_function_[reserve], alone.predict_proba(frame.iloc[reserve]), atol=1e-12
    )


def test_without_a_reserve_nothing_changes_and_nothing_is_remembered():
    X, y = table()
    model = RandomForestClassifier(10, reserve=0.3, random_state=0).fit(X, y)
    model.set_params(reserve=0.0).fit(X, y)
    assert [name for name in model.stored_attributes if hasattr(model, name)] == ["temperature_"]


def test_threads_files_clones_and_more_trees_have_the_same_reserve(tmp_path):
    X, y = table()
    models = [RandomForestClassifier(25, reserve=0.25, random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 3)]
    models[0].save(tmp_path / "forest")
    models += [load(tmp_path / "forest"), clone(models[0]).fit(X, y)]
    for other in models[1:]:
        assert_same_bits(models[0], other, X)
        for name in ("reserved_rows_", "oob_decision_function_", "oob_curve_", "oob_score_"):
            assert_array_equal(getattr(other, name), getattr(models[0], name))
    many = clone(models[0]).set_params(n_estimators=40).fit(X, y)
    assert_array_equal(models[0].reserved_rows_, many.reserved_rows_)
    assert_array_equal(models[0].predict(X), many.committee_.select(slice(25)).predict(X))


# --- a test in the strict sense -----------------------------------------------------------------------------


def test_the_test_set_bound_by_the_reserve_fails_no_more_often_than_it_says():
    """1,000 samples, reserves and votes; the vote is for the commoner label of the others, which are half of the rows.

    Labels are coins, so that it errs on half of the new rows; a reserve in equal shares of each class would have the
    same commoner label, and too few errors.
    """
    rng, n, delta = np.random.default_rng(0), 100, 0.05
    failed = 0
    for _ in range(1000):
        y = rng.integers(0, 2, n)
        mask = draw_reserve(n, 0.5, np.random.RandomState(rng.integers(2**31)))
        vote = np.mean(y[~mask]) > 0.5
        wrong = int(np.sum(y[mask] != vote))
        failed += float(beta.ppf(1 - delta, wrong + 1, mask.sum() - wrong)) < 0.5
    assert failed <= delta * 1000


@pytest.mark.slow
def test_forests_are_certified_by_their_reserve():
    """300 forests of a known distribution: rows of 30 kinds, each with its share of label 1."""
    from committee.learners.trained_ensembles import certify

    rng, delta, failed = np.random.default_rng(0), 0.2, 0
    share, chance = rng.beta(0.7, 0.7, 30), rng.dirichlet(np.ones(30))
    for draw in range(300):
        kind = rng.choice(30, p=chance, size=80)
        y = (rng.random(80) < share[kind]).astype(int)
        model = RandomForestClassifier(15, reserve=0.3, random_state=draw)
        model.fit(kind[:, None].astype(float), y)
        error = chance @ np.where(model.predict(np.arange(30.0)[:, None]) == 1, 1 - share, share)
        found = certify(model, kind[:, None].astype(float), y, on="oob", delta=delta)
        failed += found.best.value < error
    assert failed <= delta * 300


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"reserve": 0.001}, r"reserve=0\.001 is 0 of 60 rows; raise it, or set 0 for no reserve"),
        ({"reserve": 0.9}, r"reserve=0\.9 takes all rows of class 2, which leaves none for training; lower reserve"),
        ({"reserve": 0.2, "max_samples": 50, "bootstrap": False}, "max_samples=50 asks for 50 rows"),
        ({"reserve": 0.2, "bootstrap": False, "n_estimators": "oob"}, "n_estimators='oob' needs out-of-bag rows"),
    ],
)
def test_what_is_refused(params, message):
    X, y = table(60)
    y[7] = 2
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(**{"n_estimators": 5, "random_state": 0, **params}).fit(X, y)
