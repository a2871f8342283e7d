"""Models of trees as treelite's: the same answers on 10,000 rows with missing values and unseen categories."""

from typing import Any

import pandas as pd
import pytest
import treelite
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import committee
from committee import Committee
from tests.vote.exports.test_scikit_learn_model import (
    CLOSE,
    OURS_OF_CLASSES,
    OURS_OF_NUMBERS,
    N,
    mixed,
    table_of_classes,
    table_of_numbers,
    target,
    unseen,
)


def asked(made: Any, X: Any) -> Any:
    return treelite.gtil.predict(made, X, nthread=1).reshape(len(X), -1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learner", OURS_OF_CLASSES, ids=lambda each: type(each).__name__)
def test_learners_of_classes(learner: Any, n_classes: int) -> None:
    X, y, X_new = table_of_classes(n_classes)
    model = learner.fit(X, y)
    votes = asked(committee.to_treelite(model, output="votes"), X_new)
    probabilities = model.committee_.probability_of(votes)
    assert_allclose(probabilities, model.predict_proba(X_new), rtol=0.0, atol=CLOSE)
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X_new))


@pytest.mark.parametrize("learner", OURS_OF_NUMBERS, ids=lambda each: type(each).__name__)
def test_learners_of_numbers(learner: Any) -> None:
    X, y, X_new = table_of_numbers()
    model = learner.fit(X, y)
    assert_allclose(asked(committee.to_treelite(model), X_new)[:, 0], model.predict(X_new), rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities(n_classes: int) -> None:
    X, y, X_new = table_of_classes(n_classes)
    forest = committee.RandomForestClassifier(20, calibrate=False, random_state=0).fit(X, y)
    assert_allclose(asked(committee.to_treelite(forest), X_new), forest.predict_proba(X_new), rtol=0.0, atol=CLOSE)
    boosted = committee.GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    p, made = boosted.predict_proba(X_new), committee.to_treelite(boosted)
    if n_classes == 2:
        assert_allclose(asked(made, X_new)[:, 0], p[:, 1], rtol=0.0, atol=CLOSE)
        return
    # exponents are in single precision there, sums are not
    assert_allclose(asked(made, X_new), p, rtol=0.0, atol=1e-6)
    sums = treelite.gtil.predict(made, X_new, nthread=1, pred_margin=True)[:, 0]
    assert_allclose(boosted.committee_.link.probability(sums), p, rtol=0.0, atol=CLOSE)


def test_categories_and_unseen_ones() -> None:
    table = mixed(400, 0)
    new = unseen(mixed(N, 1))
    for learner in (
        committee.GradientBoostingClassifier(n_estimators=20, categorical_features=["colour", "number", "flag"]),
        committee.RandomForestClassifier(10, calibrate=False, random_state=0),
    ):
        model: Any = learner.fit(table, target(table))
        found = asked(committee.to_treelite(model), model.committee_.encode(new))
        assert_allclose(found[:, -1], model.predict_proba(new)[:, 1], rtol=0.0, atol=CLOSE)


def test_ensembles_of_other_libraries() -> None:
    X, y, X_new = table_of_classes(3)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    assert_allclose(asked(committee.to_treelite(forest), X_new), forest.predict_proba(X_new), rtol=0.0, atol=CLOSE)
    table = mixed(400, 0).assign(colour=lambda each: each["colour"].astype("category"))
    theirs = HistGradientBoostingClassifier(max_iter=20).fit(table, target(table))
    new = pd.DataFrame(unseen(mixed(N, 1)))
    found = asked(committee.to_treelite(theirs), Committee.from_estimator(theirs).encode(new))
    assert_allclose(found[:, 0], theirs.predict_proba(new)[:, 1], rtol=0.0, atol=CLOSE)


def test_models_are_stored() -> None:
    X, y, X_new = table_of_classes(3)
    made = committee.to_treelite(committee.AdaBoostClassifier(n_estimators=10).fit(X, y))
    again = treelite.Model.deserialize_bytes(made.serialize_bytes())
    assert_array_equal(asked(again, X_new), asked(made, X_new))
    assert made.num_feature == 8 and made.num_tree == 10


def test_what_cannot_be() -> None:
    X, y, _ = table_of_classes(2)
    with pytest.raises(ValueError, match="output is 'scores'"):
        committee.to_treelite(committee.TreeVoter().fit(X, y), output="scores")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tempered_share link, by which a learner calibrates"):
        committee.to_treelite(committee.RandomForestClassifier(10, random_state=0).fit(X, y))
