"""Warm starts of forests: the bits of one long fit, or a refusal."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import committee
from committee import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tests.model_files import craft, refused, tell
from tests.model_files import table as mixed_table
from tests.subjects import assert_same_bits, noisy_scores, numbers, weights

FORESTS = [
    RandomForestClassifier(20, random_state=3),
    RandomForestClassifier(20, oob_score=True, calibrate=None, random_state=3),
    RandomForestClassifier(20, reserve=0.2, class_weight="balanced_subsample", random_state=3),
    RandomForestClassifier(20, max_leaf_nodes=6, max_samples=0.5, bootstrap=False, oob_score=True, random_state=3),
    RandomForestClassifier(4, bootstrap=False, random_state=3),
    RandomForestRegressor(20, oob_score=True, random_state=3),
    RandomForestRegressor(20, max_leaf_nodes=6, random_state=3),
]
few_votes = pytest.mark.filterwarnings("ignore:.* rows are in every draw")


def words(model):
    return " ".join(repr(model).split())


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
    with pytest.raises(ValueError, match="warm_start continues a committee that the file would not hold"):
        model.fit(X, y, checkpoint=tmp_path / "fit")


def table(**columns):
    return pd.DataFrame({"a": np.arange(40.0), "b": np.repeat(["x", "y"], 20)} | columns)


@few_votes
@pytest.mark.parametrize(
    ("first", "later", "change"),
    [
        (table(), table().drop(columns="b"), "2 then, 1 now"),
        (table(), table().rename(columns={"a": "c"}), "column 0 was 'a' then, and is 'c' now"),
        (table(b=np.ones(40)), np.ones((40, 2)), "with names then, none now"),
        (np.ones((40, 2)), table(b=np.ones(40)), "without names then, with names now"),
        (table(), table(b=np.ones(40)), "column 'b' held categories then, numbers now"),
        (table(b=np.ones(40)), table(), "column 'b' held numbers then, categories now"),
        (table(), table(b=np.repeat(["x", "z"], 20)), "column 'b' has other categories, as for 'y', 'z'"),
    ],
)
@pytest.mark.parametrize("kind", [RandomForestRegressor, GradientBoostingRegressor])
def test_the_columns_that_differ_are_told(kind, first, later, change):
    refuses_to_continue(kind, first, later, change)


def test_a_forest_does_not_continue_with_numbers_of_categories_from_other_rows():
    first = table(b=np.arange(40) % 20).astype({"b": "category"})
    later = table(b=np.arange(40)[::-1] // 2).astype({"b": "category"})
    change = "the target statistics of high-cardinality categories were learned on other rows"
    refuses_to_continue(RandomForestRegressor, first, later, change)


def refuses_to_continue(kind, first, later, change):
    y = np.sin(np.arange(40.0))
    model = kind(n_estimators=2, warm_start=True, random_state=0).fit(first, y)
    message = f"warm_start continues a committee with other columns: {change}. Give X the columns of the first fit"
    with pytest.raises(ValueError, match=re.escape(message)):
        model.set_params(n_estimators=3).fit(later, y)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "one"])
def test_a_seed_that_cannot_be_is_refused(seed, tmp_path):
    X, y = numbers(2)
    RandomForestClassifier(2, calibrate=None, warm_start=True, random_state=0).fit(X, y).save(tmp_path / "model")
    content = craft((tmp_path / "model").read_bytes(), tell("attributes", "seed_", value=seed))
    refused(tmp_path / "changed", content, "seed_ is .*; it must be a whole number from 0 to 2\\^32 - 1")
