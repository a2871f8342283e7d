"""Held-out rows of a committee of ensembles: folds, groups, its reserve, rows kept from the fit, and their bounds."""

from functools import cache

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit, TimeSeriesSplit, train_test_split

from committee import CommitteeClassifier, CommitteeRegressor, MarginReweighter, RandomForestClassifier, load
from committee.bounds import VoterLosses, held_out_errors
from committee.bounds.held_out_rows import unlabelled_margins
from committee.learners.blend.portfolio import candidates
from committee.learners.certificates.certificates import CERTIFICATES, UNLABELLED
from committee.learners.trained_ensembles import certify, voter_losses
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
        ([(FIRST, LAST), (np.arange(120), FIRST)], r"cv=\[\(array.{,75}… has training rows in a test set; give"),
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
    assert_same_bits(clone(model).set_params(memory_limit="1 GB").fit(X, y), model, X)
    assert model.oof_score_ == pytest.approx(model.score(X[80:], y[80:]))


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
    with pytest.warns(UserWarning, match="equal rows may count as one; the only row of a class is never held"):
        model = CommitteeClassifier("fast", random_state=0).fit(np.zeros_like(X), y)
    assert model.n_folds_ == 0


# --- rows kept from the fit, and the reserve --------------------------------------------------------------------------


def drawn(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    scores = np.column_stack([X[:, 0] * X[:, 1] + k * X[:, 2] + np.sin(2.0 * X[:, 3] + k) for k in range(n_classes)])
    return X, (scores + 0.5 * rng.gumbel(size=scores.shape)).argmax(axis=1)


@cache
def fitted(n_classes):
    return CommitteeClassifier(**FAST).fit(*drawn(300, n_classes, 0))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("votes", ["own", "labels"])
def test_rows_kept_from_the_fit_give_every_bound(n_classes, votes):
    model, (X, y) = fitted(n_classes), drawn(400, n_classes, 1)
    unlabelled = {"X_unlabelled": X} if votes == "own" else {}
    certificate = certify(model, X, y, votes=votes, X_test=X, y_test=y, **unlabelled)
    expected = {*CERTIFICATES, UNLABELLED} - {"partition"} if votes == "own" else {*CERTIFICATES}
    assert set(certificate.bounds) == expected
    assert all(bound.value > certificate.test_error for bound in certificate.bounds.values())
    if votes == "own":
        assert certificate.test_error == np.mean(model.predict(X) != y)
    assert certificate["test_set"].value < 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("votes", ["own", "labels"])
def test_a_wrong_row_has_half_of_the_vote_against_it(n_classes, votes):
    model, (X, y) = fitted(n_classes), drawn(2000, n_classes, 1)
    losses = voter_losses(model, X, y, votes=votes)
    assert losses.n_voters == model.committee_.n_voters
    assert losses.errors.sum() > 100
    assert (losses.gibbs()[losses.errors] >= 0.5 - 1e-9).all()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bounds_fail_no_more_often_than_they_may(n_classes):
    model, (X, y), n, delta, times = fitted(n_classes), drawn(10_000, n_classes, 1), 150, 0.2, 60
    losses = voter_losses(model, X, y)
    error, leads = losses.errors.mean(), model.committee_.margins(X, model.predict(X))
    failures = dict.fromkeys([*CERTIFICATES, UNLABELLED], 0)
    rng = np.random.default_rng(2)
    for _ in range(times):
        rows, unlabelled = rng.choice(len(y), n, replace=False), rng.choice(len(y), n, replace=False)
        some = VoterLosses(losses.least[rows], None, losses.weights, False, n_classes, wrong=losses.wrong[rows])
        for name, bound in CERTIFICATES.items():
            failures[name] += bound(some, delta=delta).value < error
        failures[UNLABELLED] += unlabelled_margins(some, leads[unlabelled], delta).value < error
    # twice as many as may be are as good as impossible: less than 1 in 1,000
    assert max(failures.values()) <= 2 * delta * times
    assert failures["test_set"] > 0  # and that one is no larger than it has to be


def test_its_own_rows_give_none():
    X, y = drawn(300, 2, 0)
    with pytest.raises(ValueError, match=r"no rows that are new to the CommitteeClassifier: .*on='validation'"):
        certify(fitted(2), X, y, on="oob")
    with pytest.raises(ValueError, match="no rows that are new to the CommitteeClassifier"):
        MarginReweighter(fitted(2), on="oob").fit(X, y)


def test_numbers_have_no_error():
    X, y = noisy_scores(100)
    with pytest.raises(TypeError, match="is the regressor CommitteeRegressor"):
        certify(CommitteeRegressor(**FAST).fit(X, y), X, y)


# --- the reserve -----------------------------------------------------------------------------------------------------

X, X_NEW, y, y_new = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.3, random_state=0)
WEIGHT = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
MODEL = CommitteeClassifier("fast", cv=2, reserve=0.2, random_state=0)


@cache
def reserving():
    return clone(MODEL).fit(X, y)


def test_the_committee_is_that_of_the_other_rows():
    model = clone(MODEL).set_params(keep_oof=True).fit(X, y, WEIGHT)
    reserve = model.reserved_rows_
    assert len(reserve) == int(0.2 * (WEIGHT > 0).sum())
    assert (WEIGHT[reserve] > 0).all() and (np.diff(reserve) > 0).all()
    others = np.setdiff1d(np.arange(len(y)), reserve)
    alone = clone(model).set_params(reserve=0.0).fit(X[others], y[others], WEIGHT[others])
    assert_same_bits(model, alone, X_NEW)
    assert_array_equal(model.oof_decision_function_[others], alone.oof_decision_function_)
    assert np.isnan(model.oof_decision_function_[reserve]).all()
    assert_allclose(model.reserve_score_, model.score(X[reserve], y[reserve]), rtol=1e-12)
    assert_allclose(model.reserve_loss_, log_loss(y[reserve], model.predict_proba(X[reserve])), rtol=1e-9)


def test_categories_of_the_reserve_alone_are_unknown():
    reserve = reserving().reserved_rows_
    names = np.array(["a", "b"])[np.arange(len(y)) % 2].astype(object)
    names[reserve[:3]] = "rare"
    rows = pl.DataFrame({f"x{j}": X[:, j] for j in range(3)} | {"name": names.tolist()})
    model = clone(MODEL).fit(rows, y)
    assert_array_equal(model.reserved_rows_, reserve)
    assert model.table_.categories[3] == ("a", "b")
    assert_allclose(model.reserve_score_, model.score(rows[reserve.tolist()], y[reserve]))


def test_its_certificate_is_that_of_held_out_rows(tmp_path):
    model, reserve = reserving(), reserving().reserved_rows_
    wrong = model.predict(X[reserve]) != y[reserve]
    expected = held_out_errors(VoterLosses(np.where(wrong[:, None], -1, 1), None, np.ones(1)), delta=0.05)
    found = certify(model, X, y, on="oob")
    assert found.n_untouched == len(reserve)
    assert_allclose(found.headline.value, expected.value, rtol=1e-12)
    alone = certify(model, X[reserve], y[reserve])
    assert {name: found[name].value for name in found.bounds} == pytest.approx(
        {name: alone[name].value for name in alone.bounds}
    )
    model.save(tmp_path / "committee.safetensors")
    again = load(tmp_path / "committee.safetensors")
    assert certify(again, X, y, on="oob").headline.value == found.headline.value


def test_other_rows_are_refused():
    others = "X and y are not the rows that the CommitteeClassifier was trained on"
    for rows, labels in ((X[1:], y[1:]), (X[::-1], y[::-1]), (X[:-3], y[:-3])):
        with pytest.raises(ValueError, match=others):
            certify(reserving(), rows, labels, on="oob")
    with pytest.raises(ValueError, match=others):
        MarginReweighter(reserving(), on="oob").fit(X[::-1], y[::-1])
    with pytest.raises(ValueError, match="was made by prune or without"):
        certify(reserving().prune(0.5), X, y, on="oob")


def test_a_vote_that_was_reweighted_by_the_reserve_is_not_certified_by_it():
    model = MarginReweighter(reserving(), on="oob").fit(X, y)
    assert certify(model, X, y, on="oob").n_untouched == 0


def test_later_fits_forget_it():
    model = clone(MODEL).fit(X, y).set_params(reserve=0.0).fit(X, y)
    assert not hasattr(model, "reserved_rows_") and not hasattr(model, "reserve_loss_")
    with pytest.raises(ValueError, match=r"Fit a CommitteeClassifier with reserve=0\.1"):
        certify(model, X, y, on="oob")


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (MODEL, {"cv": GroupKFold(2)}, "reserve=0.2 is drawn without regard to groups or time, which cv="),
        (MODEL, {"cv": 2}, r"reserve=0\.2 is drawn without regard to groups .* the folds respect"),
        (MODEL, {"class_weight": "balanced"}, "class_weight='balanced' counts the labels of all rows"),
        (RandomForestClassifier(5), {"reserve": 0.2, "class_weight": "balanced"}, "='balanced' counts the labels of"),
        (RandomForestClassifier(5), {"reserve": 0.2, "class_weight": "balanced_subsample"}, "_subsample' counts the l"),
        (MODEL, {"reserve": 1e-4}, "reserve=0.0001 is 0 of 398 rows"),
        (MODEL, {"reserve": 1.0}, "reserve"),
    ],
)
def test_refused(model, arguments, message):
    groups = {"groups": np.arange(len(y)) % 5} if "cv" in arguments else {}
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**arguments).fit(X, y, **groups)


@pytest.mark.parametrize("seed", [2, 4, 5])
def test_rows_of_few_cells_are_judged_together_and_no_better_than_their_majorities(seed):
    rng = np.random.default_rng(seed)
    cell = rng.choice(12, 600, p=rng.dirichlet(np.full(12, 0.5)))
    y = rng.random(600) < rng.uniform(0.05, 0.95, 12)[cell]
    X = np.stack([cell // 4, cell % 4], axis=1).astype(float)
    model = CommitteeClassifier("fast", candidates=["sbpmt"], keep_oof=True, random_state=0).fit(X, y)
    known = np.isfinite(model.oof_decision_function_[:, 0])  # but for single rows that no voter leaves out
    majorities = sum(max(np.sum(y[known & (cell == c)]), np.sum(~y[known & (cell == c)])) for c in range(12))
    assert known.mean() > 0.99
    assert model.oof_score_ * known.sum() < majorities + 0.5
