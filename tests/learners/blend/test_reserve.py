"""The reserve of a committee of ensembles, and its certificate."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, train_test_split

from committee import CommitteeClassifier, MarginReweighter, RandomForestClassifier, certify, load
from committee.bounds import VoterLosses, held_out_errors
from tests.subjects import assert_same_bits

X, X_NEW, y, y_new = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.3, random_state=0)
WEIGHT = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
MODEL = CommitteeClassifier("fast", cv=2, reserve=0.2, random_state=0)
FITTED = clone(MODEL).fit(X, y)


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
    pl = pytest.importorskip("polars")
    names = np.array(["a", "b"])[np.arange(len(y)) % 2].astype(object)
    names[FITTED.reserved_rows_[:3]] = "rare"
    rows = pl.DataFrame({f"x{j}": X[:, j] for j in range(3)} | {"name": names.tolist()})
    model = clone(MODEL).fit(rows, y)
    assert_array_equal(model.reserved_rows_, FITTED.reserved_rows_)
    assert model.table_.categories[3] == ("a", "b")
    assert_allclose(model.reserve_score_, model.score(rows[FITTED.reserved_rows_.tolist()], y[FITTED.reserved_rows_]))


def test_its_certificate_is_that_of_held_out_rows(tmp_path):
    reserve = FITTED.reserved_rows_
    wrong = FITTED.predict(X[reserve]) != y[reserve]
    expected = held_out_errors(VoterLosses(np.where(wrong[:, None], -1, 1), None, np.ones(1)), delta=0.05)
    found = certify(FITTED, X, y, on="oob")
    assert found.n_untouched == len(reserve)
    assert_allclose(found.headline.value, expected.value, rtol=1e-12)
    alone = certify(FITTED, X[reserve], y[reserve])
    assert {name: found[name].value for name in found.bounds} == pytest.approx(
        {name: alone[name].value for name in alone.bounds}
    )
    FITTED.save(tmp_path / "committee.safetensors")
    again = load(tmp_path / "committee.safetensors")
    assert certify(again, X, y, on="oob").headline.value == found.headline.value


def test_other_rows_are_refused():
    others = "not the rows that the CommitteeClassifier was trained on"
    for rows, labels in ((X[1:], y[1:]), (X[::-1], y[::-1]), (X[:-3], y[:-3])):
        with pytest.raises(ValueError, match=others):
            certify(FITTED, rows, labels, on="oob")
    with pytest.raises(ValueError, match=others):
        MarginReweighter(FITTED, on="oob").fit(X[::-1], y[::-1])
    with pytest.raises(ValueError, match="was pruned after its fit"):
        certify(FITTED.prune(0.5), X, y, on="oob")


def test_a_vote_that_was_reweighted_by_the_reserve_is_not_certified_by_it():
    model = MarginReweighter(FITTED, on="oob").fit(X, y)
    assert certify(model, X, y, on="oob").n_untouched == 0


def test_later_fits_forget_it():
    model = clone(MODEL).fit(X, y).set_params(reserve=0.0).fit(X, y)
    assert not hasattr(model, "reserved_rows_") and not hasattr(model, "reserve_loss_")
    with pytest.raises(ValueError, match=r"Fit a CommitteeClassifier with reserve=0\.1"):
        certify(model, X, y, on="oob")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cv": GroupKFold(2)}, "reserve=0.2 is drawn without regard to groups"),
        ({"class_weight": "balanced"}, "class_weight='balanced' counts the labels of all rows"),
        ({"reserve": 1e-4}, "reserve=0.0001 is 0 of 398 rows"),
        ({"reserve": 1.0}, "reserve"),
    ],
)
def test_refused(arguments, message):
    groups = np.arange(len(y)) % 5 if "cv" in arguments else None
    with pytest.raises(ValueError, match=message):
        clone(MODEL).set_params(**arguments).fit(X, y, groups=groups)


def test_forests_refuse_weights_learned_from_all_labels():
    with pytest.raises(ValueError, match="class_weight='balanced' counts the labels of all rows"):
        RandomForestClassifier(5, reserve=0.2, class_weight="balanced").fit(X, y)


def test_a_certificate_of_other_rows_is_refused():
    with pytest.raises(ValueError, match="X and y are not the rows that the CommitteeClassifier was trained on"):
        certify(FITTED, X[::-1], y[::-1], on="oob")
