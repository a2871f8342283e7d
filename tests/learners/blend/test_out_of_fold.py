"""Folds of a user's splitter, and too few rows for folds."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit, StratifiedKFold

from committee import CommitteeClassifier, CommitteeRegressor
from tests.small_portfolio import BOTH, rows_for
from tests.subjects import assert_same_bits, noisy_scores, numbers

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


def test_stratified_splits_part_all_classes():
    X, y = numbers(3)
    model = CommitteeClassifier("fast", cv=StratifiedKFold(4), random_state=0).fit(X, y)
    assert model.n_folds_ == 4 and np.isfinite(model.oof_loss_)
