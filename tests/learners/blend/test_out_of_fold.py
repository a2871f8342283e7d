"""Folds of a user's splitter and of groups, and too few rows for folds."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit, TimeSeriesSplit

from committee import CommitteeClassifier, CommitteeRegressor
from committee.learners.blend.portfolio import candidates
from tests.small_portfolio import BOTH, FAST, rows_for
from tests.subjects import assert_same_bits, noisy_scores, numbers, weights

pytestmark = pytest.mark.usefixtures("small_members")


def refused(kind, cv, message, y=None, **given):
    X, own = rows_for(kind)
    model = kind("fast", cv=cv, random_state=0)
    with pytest.raises(ValueError, match=message):
        model.fit(X, own if y is None else y, **given)
    assert not hasattr(model, "committee_") and not hasattr(model, "table_")


FIRST, LAST = np.arange(60), np.arange(60, 120)


@BOTH
@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([(FIRST, LAST), (FIRST[:50], np.arange(50, 120))], "has a row in several test sets; use a splitter"),
        ([(FIRST, LAST), (np.arange(120), FIRST)], "has training rows in a test set; give disjoint training"),
        ([], "has no split with training and test rows; give a splitter with rows in both"),
        ([(FIRST, [])], "has no split with training and test rows"),
        ([(FIRST, LAST), (LAST, [0, 120])], "has row numbers from 0 to 120; rows are numbered 0 to 119"),
        ([(FIRST, LAST), (LAST, [-1, 3])], "has row numbers from -1 to 3; rows are numbered 0 to 119"),
        ([(FIRST, LAST + 0.5)], "has row numbers from .* to 119.5"),
        (ShuffleSplit(3, random_state=0), "has a row in several test sets"),
        (KFold(121), "Cannot have number of splits n_splits=121 greater than the number of samples"),
    ],
)
def test_splits_that_cannot_judge_are_refused(kind, cv, message):
    refused(kind, cv, message)


@BOTH
@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (GroupKFold(3), np.zeros(120), "n_splits=3 greater than the number of groups: 1"),
        (LeaveOneGroupOut(), np.zeros(120), "fewer than 2 unique groups"),
        (GroupKFold(3), None, "'groups' parameter should not be None"),
        (GroupKFold(3), np.zeros(119), "inconsistent numbers of samples"),
        (None, np.zeros(119), "groups has shape"),
    ],
)
def test_groups_that_cannot_be_split_are_refused(kind, cv, groups, message):
    refused(kind, cv, message, groups=groups)


def test_groups_of_one_class_each_are_refused():
    _, y = numbers(2)
    names = np.array(["benign", "malign"])[y]
    refused(
        CommitteeClassifier,
        GroupKFold(2),
        r"leaves split 0 without a row of class '(benign|malign)' to train on.*StratifiedGroupKFold",
        names,
        groups=y,
    )
    y[7] = 2
    refused(CommitteeClassifier, KFold(3), "leaves split 0 without a row of class 2 to train on", y)


@BOTH
def test_groups_are_judged_by_fits_that_saw_none_of_them(kind, fits):
    X, y = rows_for(kind)
    groups = np.random.default_rng(0).integers(0, 12, len(y))
    model = kind(**FAST | {"cv": GroupKFold(3)}).fit(X, y, groups=groups)
    judged = [set(groups[test]) for _, test in GroupKFold(3).split(X, y, groups)]
    for place, (_, index) in enumerate(fits):
        assert not judged[place % 3] & set(groups[index])
    assert {name for name, _ in fits} == {one.name for one in candidates(kind is CommitteeRegressor, "fast")}
    assert set(model.member_sizes_) == {3}


@BOTH
def test_groups_without_a_splitter_are_kept_whole_by_every_fold(kind, fits):
    X, y = rows_for(kind)
    groups = np.random.default_rng(0).integers(0, 12, len(y))
    model = kind(**FAST | {"cv": 3}).fit(X, y, groups=groups)
    held = {place % 3: set(groups) - set(groups[index]) for place, (_, index) in enumerate(fits)}
    assert sum(map(len, held.values())) == 12 == len(set().union(*held.values()))
    assert all(set(groups) - set(groups[index]) == held[place % 3] for place, (_, index) in enumerate(fits))
    assert model.n_folds_ == 3
    frame = pl.DataFrame(X).with_columns(of=groups)
    named = kind(**FAST | {"cv": 3}).fit(frame, y, groups="of")
    assert_array_equal(named.member_losses_, model.member_losses_)


def test_groups_are_not_folds_of_fewer_than_two_or_without_a_class():
    X, y = rows_for(CommitteeClassifier)
    two = np.arange(len(y)) % 2
    assert CommitteeClassifier(**FAST).fit(X, y, groups=two).n_folds_ == 2
    with pytest.raises(ValueError, match="one group only, where several are needed"):
        CommitteeClassifier(**FAST).fit(X, y, groups=np.ones(len(y)))
    with pytest.raises(ValueError, match=r"without a training row of class .*, which has rows in 1 group;"):
        CommitteeClassifier(**FAST).fit(X, y, groups=np.where(y == y[0], 9, two))


def test_groups_that_have_one_answer_each_are_not_judged_by_their_own():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 8)
    X = rng.normal(size=(30, 2))[groups]
    y = rng.permutation(np.arange(30) % 2)[groups]
    X += 0.01 * rng.normal(size=X.shape)
    assert CommitteeClassifier(**FAST).fit(X, y).oof_score_ > 0.9
    assert CommitteeClassifier(**FAST | {"cv": GroupKFold(5)}).fit(X, y, groups=groups).oof_score_ < 0.7
    assert CommitteeClassifier(**FAST).fit(X, y, groups=groups).oof_score_ < 0.7


@BOTH
def test_time_is_judged_by_earlier_fits(kind, fits):
    X, y = rows_for(kind)
    model = kind(**FAST | {"cv": TimeSeriesSplit(3)}).fit(X, y)
    ends = [len(train) for train, _ in TimeSeriesSplit(3).split(X)]
    assert [len(index) for _, index in fits] == ends * (len(fits) // 3)
    assert all(index.max() < end for (_, index), end in zip(fits, ends * (len(fits) // 3), strict=True))
    assert np.isfinite(model.oof_loss_) and model.n_folds_ == 3


@BOTH
def test_splits_number_all_rows_and_those_of_no_weight_are_absent(kind):
    X, y = rows_for(kind)
    w = weights() * (np.random.default_rng(3).random(len(y)) < 0.7)
    splits, place = list(KFold(3).split(X)), np.cumsum(w > 0) - 1
    fewer = [tuple(place[index[w[index] > 0]] for index in split) for split in splits]
    model = kind(**FAST | {"cv": splits}).fit(X, y, w)
    same = kind(**FAST | {"cv": fewer}).fit(X[w > 0], y[w > 0], w[w > 0])
    assert_same_bits(model, same, X)
    assert model.oof_loss_ == same.oof_loss_


@BOTH
def test_masks_are_splits(kind):
    X, y = rows_for(kind)
    splits = list(KFold(3).split(X))
    masks = [tuple(np.isin(np.arange(len(y)), part) for part in split) for split in splits]
    assert_same_bits(*(kind("fast", cv=cv, random_state=0).fit(X, y) for cv in (splits, masks)), X)


@BOTH
def test_one_split_judges_every_member_by_one_fit(kind):
    X, y = rows_for(kind)
    model = kind("fast", cv=[(np.arange(80), np.arange(80, 120))], min_gain=0.0, random_state=0).fit(X, y)
    assert model.n_folds_ == 1 and set(model.member_sizes_) == {1}
    own = type(model)(
        "fast", cv=[(np.arange(80), np.arange(80, 120))], min_gain=0.0, random_state=0, memory_limit="1 GB"
    )
    assert_same_bits(own.fit(X, y), model, X)
    score = model.score(X[80:], y[80:])
    assert model.oof_score_ == pytest.approx(score)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [5, 9, 20])
def test_fewer_rows_than_folds_are_as_many_folds_as_there_can_be(n):
    X, y = numbers(2)
    few = CommitteeClassifier("fast", cv=50, random_state=0).fit(X[:n], y[:n])
    assert 2 <= few.n_folds_ <= np.bincount(y[:n]).max()
    X, y = noisy_scores()
    assert CommitteeRegressor("fast", cv=50, random_state=0).fit(X[:n], y[:n]).n_folds_ == n


def test_rows_that_hold_the_same_are_too_few():
    X, y = numbers(2)
    with pytest.warns(UserWarning, match="equal rows count as one; the only row of a class is never held"):
        model = CommitteeClassifier("fast", random_state=0).fit(np.zeros_like(X), y)
    assert model.n_folds_ == 0
