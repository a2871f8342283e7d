"""The rows that a forest's trees are grown on: reserves, which no tree draws, and warm starts, whose trees are kept."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import beta
from sklearn.base import clone

import committee
from committee import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.data.table_schema import TableSchema
from committee.learners.bagging.forest_trees import draw_reserve
from tests.learners.base.test_capabilities import words
from tests.model_files import craft, refused, tell
from tests.model_files import table as mixed_table
from tests.subjects import assert_same_bits, noisy_scores, numbers, weights

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


def test_more_trees_and_files_have_the_same_reserve(tmp_path):
    X, y = table()
    few, many = (RandomForestClassifier(n, reserve=0.25, random_state=0).fit(X, y) for n in (25, 40))
    assert_array_equal(few.reserved_rows_, many.reserved_rows_)
    assert_array_equal(few.predict(X), many.committee_.select(slice(25)).predict(X))
    few.save(tmp_path / "forest")
    for name in ("reserved_rows_", "oob_decision_function_", "oob_curve_", "oob_score_"):
        assert_array_equal(getattr(committee.load(tmp_path / "forest"), name), getattr(few, name))


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


FORESTS = [
    RandomForestClassifier(20, random_state=3),
    RandomForestClassifier(20, oob_score=True, calibrate=None, random_state=3),
    RandomForestClassifier(20, reserve=0.2, random_state=3),
    RandomForestClassifier(20, class_weight="balanced_subsample", random_state=3),
    RandomForestClassifier(20, max_leaf_nodes=6, max_samples=0.5, bootstrap=False, oob_score=True, random_state=3),
    RandomForestClassifier(4, bootstrap=False, random_state=3),
    RandomForestRegressor(20, oob_score=True, random_state=3),
    RandomForestRegressor(20, max_leaf_nodes=6, random_state=3),
]
few_votes = pytest.mark.filterwarnings("ignore:.* rows are in every draw")


def data(model, seed=0):
    return noisy_scores(150, seed) if isinstance(model, RandomForestRegressor) else numbers(3, 150, seed)


def assert_same_fit(ours, theirs, X):
    assert_same_bits(ours, theirs, X)
    assert ours.stored_values().keys() == {*theirs.stored_values(), "seed_"}
    for name, value in theirs.stored_values().items():
        assert_array_equal(getattr(ours, name), value, name)


@few_votes
@pytest.mark.parametrize("model", FORESTS, ids=words)
def test_a_forest_that_goes_on_is_one_that_was_grown_at_once(model):
    X, y = data(model)
    whole = clone(model).fit(X, y, weights(150))
    part = clone(model).set_params(n_estimators=model.n_estimators // 3, warm_start=True).fit(X, y, weights(150))
    first = part.committee_.voters
    part.set_params(n_estimators=model.n_estimators - 1, n_jobs=2).fit(X, y, weights(150))
    assert part.set_params(n_estimators=model.n_estimators).fit(X, y, weights(150)) is part
    assert_same_fit(part, whole, X)
    assert_array_equal(part.committee_.voters[: len(first)].threshold, first.threshold)


@few_votes
def test_frames_with_gaps_many_categories_and_sparse_rows():
    X, y = mixed_table()
    for rows in (X, csr_array(np.nan_to_num(X.select("size").to_numpy()))):
        model = RandomForestClassifier(9, oob_score=True, random_state=0)
        part = clone(model).set_params(n_estimators=4, warm_start=True).fit(rows, y).set_params(n_estimators=9)
        assert_same_fit(part.fit(rows, y), clone(model).fit(rows, y), rows)


@few_votes
@pytest.mark.parametrize("rule", ["minimum", "one_standard_error"])
@pytest.mark.parametrize("before", [10, 60, "oob"])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_as_many_trees_as_out_of_bag_rows_ask_for_are_the_same_whatever_was_grown_before(kind, before, rule):
    settings = {"oob_rule": rule, "max_estimators": 100, "random_state": 1}
    X, y = data(kind())
    whole = kind("oob", **settings).fit(X, y)
    part = kind(before, warm_start=True, **settings).fit(X, y).set_params(n_estimators="oob").fit(X, y)
    assert_same_fit(part, whole, X)


@few_votes
def test_a_seed_that_was_drawn_is_kept_in_the_file_too(tmp_path):
    X, y = numbers(2)
    settings = {"oob_score": True, "warm_start": True}
    whole = RandomForestClassifier(12, random_state=np.random.RandomState(5), **settings).fit(X, y)
    part = RandomForestClassifier(5, random_state=np.random.RandomState(5), **settings).fit(X, y)
    part.set_params(random_state=None).save(tmp_path / "model")
    part = committee.load(tmp_path / "model").set_params(n_estimators=12).fit(X, y)
    assert_same_fit(part, whole, X)
    assert not hasattr(part.set_params(warm_start=False).fit(X, y), "seed_")


def test_a_forest_does_not_shrink_and_warns_where_it_does_not_grow():
    X, y = numbers()
    model = RandomForestClassifier(6, warm_start=True, random_state=0).fit(X, y)
    before = model.committee_
    with pytest.raises(ValueError, match="n_estimators=5 is less than the 6 trees that warm_start continues; raise"):
        model.set_params(n_estimators=5).fit(X, y)
    assert model.committee_ is before
    with pytest.warns(UserWarning, match="warm_start with n_estimators=6 adds no trees") as seen:
        model.set_params(n_estimators=6).fit(X, y)
    assert seen[0].filename == __file__
    assert_same_bits(model, RandomForestClassifier(6, random_state=0).fit(X, y), X)


@few_votes
def test_nothing_is_left_of_what_the_last_fit_was_asked_for():
    X, y = numbers()
    model = RandomForestClassifier(6, oob_score=True, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=7, oob_score=False, calibrate=None).fit(X, y)
    assert model.stored_values() == {"seed_": 0}


@few_votes
@pytest.mark.filterwarnings("ignore:.*one class")
@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingClassifier])
def test_rows_of_one_class_leave_nothing_of_the_last_fit(kind):
    X, y = numbers()
    model = kind(n_estimators=5, warm_start=True, random_state=0).fit(X, y)
    assert model.stored_values()
    model.fit(X, np.zeros(len(X)))
    assert model.classes_.tolist() == [0.0] and not model.stored_values()


@few_votes
def test_trees_of_other_rows_stay_but_are_not_judged():
    X, y = numbers()
    other, labels = numbers(n=80, seed=4)
    model = RandomForestClassifier(6, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="continues trees that drew other rows than this fit would"):
        model.set_params(n_estimators=9).fit(other, labels)
    with pytest.raises(ValueError, match="that their out-of-bag rows are unknown"):
        model.set_params(random_state=1).fit(X, y)
    first = model.committee_.voters
    model.set_params(random_state=0, calibrate=None).fit(other, labels)
    grown = RandomForestClassifier(9, calibrate=None, random_state=0).fit(other, labels).committee_.voters
    assert_array_equal(model.committee_.voters[:6].threshold, first.threshold)
    assert_array_equal(model.committee_.voters[6:].threshold, grown[6:].threshold)


@few_votes
def test_a_warm_start_must_fit(tmp_path):
    X, y = numbers()
    model = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, y)
    before = model.committee_
    for rows, labels, what in [(X[:, :3], y, "columns"), (X, np.array(["a", "b", "c"])[y], "classes")]:
        with pytest.raises(ValueError, match=f"warm_start continues a committee with other {what}"):
            model.set_params(n_estimators=5).fit(rows, labels)
        assert model.committee_ is before and model.n_features_in_ == 5
    targets = RandomForestRegressor(3, warm_start=True, random_state=0).fit(X, X[:, :4])
    with pytest.raises(ValueError, match="other number of targets: 4 then, 2 now"):
        targets.set_params(n_estimators=5).fit(X, X[:, :2])
    with pytest.raises(ValueError, match="warm_start continues a committee that the file would not hold"):
        model.fit(X, y, checkpoint=tmp_path / "fit")


def columns_of(**columns):
    return pd.DataFrame({"a": np.arange(40.0), "b": np.repeat(["x", "y"], 20)} | columns)


CHANGES = [
    (columns_of(), columns_of().drop(columns="b"), "2 then, 1 now"),
    (columns_of(), columns_of().rename(columns={"a": "c"}), "column 0 was 'a' then, and is 'c' now"),
    (columns_of(b=np.ones(40)), np.ones((40, 2)), "with names then, none now"),
    (np.ones((40, 2)), columns_of(b=np.ones(40)), "without names then, with names now"),
    (columns_of(), columns_of(b=np.ones(40)), "column 'b' held categories then, numbers now"),
    (columns_of(b=np.ones(40)), columns_of(), "column 'b' held numbers then, categories now"),
    (columns_of(), columns_of(b=np.repeat(["x", "z"], 20)), "column 'b' has other categories, as for 'y', 'z'"),
]
MANY = [columns_of(b=b).astype({"b": "category"}) for b in (np.arange(40) % 20, np.arange(40)[::-1] // 2)]


@few_votes
@pytest.mark.parametrize(
    ("kind", "first", "later", "change"),
    [
        *((kind, *change) for kind in (RandomForestRegressor, GradientBoostingRegressor) for change in CHANGES),
        (RandomForestRegressor, *MANY, "the target statistics of high-cardinality categories were learned on other"),
    ],
)
def test_the_columns_that_differ_are_told(kind, first, later, change):
    y = np.sin(np.arange(40.0))
    model = kind(n_estimators=2, warm_start=True, random_state=0).fit(first, y)
    with pytest.raises(ValueError, match=re.escape(f"warm_start continues a committee with other columns: {change}")):
        model.set_params(n_estimators=3).fit(later, y)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "one"])
def test_a_seed_that_cannot_be_is_refused(seed, tmp_path):
    X, y = numbers(2)
    RandomForestClassifier(2, calibrate=None, warm_start=True, random_state=0).fit(X, y).save(tmp_path / "model")
    content = craft((tmp_path / "model").read_bytes(), tell("attributes", "seed_", value=seed))
    refused(tmp_path / "changed", content, "seed_ is .*; it must be a whole number from 0 to 2\\^32 - 1")
