"""Voters that draw groups of rows: copies of a row, and groups that the user gives."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import cross_validate

from committee import (
    Checkpoint,
    CommitteeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    SubaggingClassifier,
    load,
)
from committee.data.rows import Rows
from committee.learners.bagging.subsamples import RowDraw, draw_groups
from committee.learners.base.row_sampling import copied_rows, group_folds
from committee.learners.certificates.fitted_bounds import for_sbpmt
from committee.learners.trained_ensembles.out_of_bag import out_of_bag_mask
from tests.limits import examples

CLASSIFIERS = [
    RandomForestClassifier(25, oob_score=True, random_state=0),
    SubaggingClassifier(n_estimators=15, max_samples=0.5, voting="soft", oob_score=True, random_state=0),
    SBPMTClassifier(15, 1, 2, max_samples=0.5, max_features=None, min_samples_leaf=2, oob_score=True, random_state=0),
]
LEARNERS = [*CLASSIFIERS, RandomForestRegressor(25, oob_score=True, random_state=0)]
COPIES = "rows are copies of other rows"


def noise(n=120, p=4, seed=0):
    """Columns of values and classes that they say nothing about."""
    random = np.random.default_rng(seed)
    return random.normal(size=(n, p)), random.integers(0, 2, n)


# --- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("how", ["each row three times", "one class resampled"])
def test_no_row_is_judged_by_its_copy(learner, how):
    X, y = noise()
    if how == "each row three times":
        X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    else:
        own = np.flatnonzero(y == 1)
        row = np.append(np.arange(120), np.random.default_rng(0).choice(own, 250 - len(own)))
        X, y = X[row], y[row]
    with pytest.warns(UserWarning, match=COPIES):
        model = sklearn.clone(learner).fit(X, y)
    assert model.n_groups_ == 120
    assert model.oob_score_ < 0.75  # the larger class of the second table has .8 of the rows


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_rows_that_all_come_twice_are_rows_of_weight_two(kind):
    X, y = noise()
    with pytest.warns(UserWarning, match=COPIES):
        twice = kind(5, random_state=0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    heavy = kind(5, random_state=0).fit(X, y, np.full(120, 2))
    assert_array_equal(twice.predict(X), heavy.predict(X))
    assert not hasattr(heavy, "n_groups_")


def test_the_committee_gives_the_same_warning():
    X, y = noise(40)
    with pytest.warns(UserWarning, match=COPIES):
        CommitteeClassifier("fast", cv=2, random_state=0).fit(np.tile(X, (2, 1)), np.tile(y, 2))


def test_rows_of_few_values_are_drawn_as_they_are():
    random = np.random.default_rng(0)
    X = random.integers(0, 3, (300, 3)).astype(float)
    y = (X[:, 0] + random.integers(0, 2, 300) > 1).astype(int)
    for learner in CLASSIFIERS:
        assert not hasattr(sklearn.clone(learner).fit(X, y), "n_groups_")


def test_copies_are_numbered_by_their_first():
    row = np.array([0, 1, 1, 2, 0, *range(2, 10), *range(3, 10)])
    X = np.random.default_rng(0).normal(size=(10, 2))[row]
    rows = Rows(X, np.zeros(20, dtype=np.uint16), np.ones(20), uniform=True)
    assert copied_rows(rows, 1).tolist() == row.tolist()
    assert copied_rows(rows.take(np.arange(3, 13)), 1) is None
    few = np.zeros((40, 1)), np.arange(40, dtype=np.uint16) % 2
    assert copied_rows(Rows(*few, np.ones(40), uniform=True), 1) is None


def test_all_subsamples_are_of_rows():
    X, y = noise(4)
    y[:2], y[2:] = 0, 1
    model = SubaggingClassifier(n_estimators="all", max_samples=7, calibrate=None)
    assert model.fit(np.tile(X, (2, 1)), np.tile(y, 2)).complete_


def test_copies_certify_nothing():
    X, y = noise(60)
    again = np.tile(X, (2, 1)), np.tile(y, 2)
    with pytest.warns(UserWarning, match=COPIES), pytest.raises(ValueError, match=r"reserve=0\.2 is drawn row by row"):
        RandomForestClassifier(5, reserve=0.2).fit(*again)
    with pytest.warns(UserWarning, match=COPIES):
        forest = RandomForestClassifier(5).fit(*again)
        votes = sklearn.clone(CLASSIFIERS[2]).fit(*again)
    with pytest.raises(ValueError, match="which drew 60 groups"):
        out_of_bag_mask(forest, 5, again[1])
    with pytest.raises(ValueError, match="model drew 60 groups"):
        for_sbpmt(votes, *again)
    with pytest.raises(AttributeError, match="whole groups or copies of rows were drawn"):
        votes.vote_variance(X)


# --- groups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_no_row_is_judged_by_its_group(learner):
    """Places with a value each, and rows that measure it nearly the same."""
    X, y = noise(40)
    place = np.random.default_rng(1).integers(0, 40, 200)
    near = X[place] + 1e-3 * np.random.default_rng(2).normal(size=(200, 4))
    by_row = sklearn.clone(learner).fit(near, y[place])
    by_place = sklearn.clone(learner).fit(near, y[place], groups=[f"place {j}" for j in place])
    assert by_row.oob_score_ > 0.8 > 0.75 > by_place.oob_score_
    assert by_place.n_groups_ == len(set(place))


@given(st.integers(0, 1000), st.sampled_from([0.5, 0.9, 3]), st.booleans())
def test_groups_are_drawn_whole(seed, max_samples, bootstrap):
    random = np.random.default_rng(seed)
    group = random.permutation(np.concatenate([np.arange(8), random.integers(0, 8, 30)]))
    labels = random.integers(0, 3, 38).astype(np.uint16)
    labels[:3] = [0, 1, 2]
    counts = draw_groups(labels, group, 3, max_samples, bootstrap, np.random.RandomState(seed))
    assert all(len(set(counts[group == g])) == 1 for g in range(8))
    assert set(labels[counts > 0]) == {0, 1, 2}
    each = np.array([counts[group == g][0] for g in range(8)])
    assert each.sum() >= (max_samples if max_samples == 3 else int(8 * max_samples))
    assert bootstrap or each.max() <= 1
    times = RowDraw.of(38, max_samples, bootstrap, group).times(seed)
    assert all(len(set(times[group == g])) == 1 for g in range(8))


def test_as_many_groups_are_drawn_as_shares_ask_for():
    group = np.repeat(np.arange(10), 3)
    times = [RowDraw.of(30, 0.5, False, group).times(seed) for seed in range(examples(20, 200))]
    assert {int(one.sum()) for one in times} == {15}
    with pytest.raises(ValueError, match="11 groups without replacement, but only 10"):
        RowDraw.of(30, 11, False, group)


def test_folds_of_groups_share_none():
    group = np.random.default_rng(0).integers(0, 7, 50)
    group[:7] = np.arange(7)
    folds = list(group_folds(group, np.ones(50), 5))
    assert len(folds) == 5
    assert not any(set(group[fold.train]) & set(group[fold.test]) for fold in folds)
    assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(50))


def test_a_temperature_is_that_of_new_groups_where_all_rows_are_drawn():
    X, y = noise(40)
    place = np.repeat(np.arange(40), 5)
    forest = RandomForestClassifier(5, bootstrap=False, random_state=0)
    by_row, by_place = (forest.fit(X[place], y[place], groups=g).temperature_ for g in (np.arange(200), place))
    assert by_place > 4 * by_row


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], r"groups has shape \(2,\); 120 rows need one"),
        (np.ones((120, 2)), r"groups has shape \(120, 2\)"),
        (np.ones(120), "groups holds one group only"),
        ([None, *range(119)], "groups holds missing values"),
        ([float("nan"), *range(119)], "groups holds missing values"),
        ([pd.NA, *range(119)], "groups holds missing values"),
        (pd.Series([None, *range(119)], dtype="Int64"), "groups holds missing values"),
        (pd.Series([None, *"ab" * 59, "a"], dtype="string"), "groups holds missing values"),
    ],
)
def test_groups_that_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(2).fit(*noise(), groups=groups)


def test_groups_that_parameters_do_not_suit():
    X, y = noise()
    place = np.arange(120) // 2
    with pytest.raises(ValueError, match="n_estimators='all' lists draws of rows"):
        SubaggingClassifier(n_estimators="all").fit(X, y, groups=place)
    with pytest.raises(ValueError, match="hold groups back yourself"):
        RandomForestClassifier(2, reserve=0.2).fit(X, y, groups=place)


def test_rows_of_zero_weight_are_in_no_group():
    X, y = noise()
    weights = np.repeat([1.0, 0.0], 60)
    group = np.concatenate([np.arange(60) // 3, np.full(60, None)])
    model = RandomForestClassifier(3, random_state=0).fit(X, y, weights, groups=group)
    alone = RandomForestClassifier(3, random_state=0).fit(X[:60], y[:60], groups=group[:60])
    assert model.n_groups_ == 20
    assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_groups_are_routed_stored_and_part_of_a_checkpoint(tmp_path):
    X, y = noise()
    place = np.arange(120) // 3
    with sklearn.config_context(enable_metadata_routing=True):
        forest = RandomForestClassifier(2, random_state=0).set_fit_request(groups=True)
        found = cross_validate(forest, X, y, cv=2, params={"groups": place}, return_estimator=True)
    assert all(model.n_groups_ <= 40 for model in found["estimator"])
    forest = RandomForestClassifier(2, random_state=0).fit(X, y, groups=place)
    forest.save(tmp_path / "forest.committee")
    assert load(tmp_path / "forest.committee").n_groups_ == 40
    path = tmp_path / "fit"
    RandomForestClassifier(2, random_state=0).fit(X, y, groups=place, checkpoint=Checkpoint(path, interval=0))
    with pytest.raises(ValueError, match="offsets, groups or columns"):
        RandomForestClassifier(2, random_state=0).fit(X, y, groups=place // 2, checkpoint=path)


def test_more_trees_of_groups_are_those_of_one_fit():
    X, y = noise()
    place = np.arange(120) // 3
    grown = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, y, groups=place)
    grown.set_params(n_estimators=6).fit(X, y, groups=place)
    once = RandomForestClassifier(6, random_state=0).fit(X, y, groups=place)
    assert_array_equal(grown.predict_proba(X), once.predict_proba(X))
    assert grown.n_groups_ == once.n_groups_ == 40
