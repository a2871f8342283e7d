"""Every kind of model of the golden files, as scikit-learn and treelite answer and as the library does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import treelite
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import committee
from committee import Committee
from tests.golden.write import FOLDER, MODELS
from tests.onnx.parity import awkward_rows
from tests.vote.exports.test_scikit_learn_model import (
    CLOSE,
    N,
    mixed,
    table_of_classes,
    target,
    unseen,
)

SINGLE = 1e-6
"""treelite takes exponents of a softmax in single precision."""

NO_TREES = {
    **dict.fromkeys(("gradient_linear", "gradient_linear_three", "gradient_trials_regressor"), "lines in their leaves"),
    **dict.fromkeys(("model_tree", "model_tree_per_class"), "models in their leaves"),
    **dict.fromkeys(("sbpmt", "sbpmt_hard", "sbpmt_shares"), "boosted model trees"),
    **dict.fromkeys(("probit_boost", "logit_boost"), "linear scores"),
    **dict.fromkeys(("boosting_tree", "boosting_tree_majority", "boosting_tree_sampled"), "random votes along paths"),
    **dict.fromkeys(("matryoshka", "matryoshka_greedy", "matryoshka_learners"), "random votes along paths"),
    **dict.fromkeys(("probabilistic", "probabilistic_learners"), "random votes along paths"),
    **dict.fromkeys(("committee", "committee_two", "committee_stacked", "committee_regressor"), "whole committees"),
    **dict.fromkeys(("committee_compact", "committee_compact_regressor"), "whole committees"),
    **dict.fromkeys(("adaboost_of_trees", "reweighted_bagging", "reweighted_learners"), "fitted estimators"),
    **dict.fromkeys(("functional_regressor", "functional_rounds", "functional_three"), "fitted estimators"),
    **dict.fromkeys(("quadboost_learners", "quadboost_of_numbers"), "fitted estimators"),
    **dict.fromkeys(("quadboost_regressor_learners", "subagging_nested", "subagging_of_rounds"), "fitted estimators"),
    **dict.fromkeys(("conformal_sets", "conformal_bag"), r"ConformalClassifier predicts sets .* estimator_"),
    **dict.fromkeys(("conformal_folds", "conformal_normalised"), r"ConformalRegressor predicts sets"),
}
"""Models without trees of numbers or classes, and what the refusal says of them."""

NOT_OF_SCIKIT_LEARN = {
    **NO_TREES,
    **dict.fromkeys(("gradient_probit", "probit_boost_stumps"), 'probit link .* keep="classes"'),
    **dict.fromkeys(("gradient_quantiles", "gradient_object_quantiles"), "ordered link"),
    **dict.fromkeys(("lpboost_three", "quadboost_cv", "quadboost_three", "quadboost_trees"), "scores may be as large"),
}

NO_LINK = {
    **dict.fromkeys(("gradient_probit", "probit_boost_stumps"), 'probit link .* output="votes"'),
    **dict.fromkeys(("gradient_quantiles", "gradient_object_quantiles"), "ordered link"),
    **dict.fromkeys(("forest_calibrated", "forest_many", "recorded_shares"), "tempered_share link"),
    **dict.fromkeys(("shared_many", "shared_shares"), "tempered_share link"),
    **dict.fromkeys(("adaboost_confidence", "logit_boost_stumps", "pruned_leaves"), "logistic link of several classes"),
    **dict.fromkeys(("arc_gv", "gradient_squared_hinge", "lpboost", "lpboost_three", "mdboost"), "truncated link"),
    **dict.fromkeys(("quadboost", "quadboost_cv", "quadboost_plain", "quadboost_three"), "truncated link"),
    **dict.fromkeys(("quadboost_trees", "reweighted_quad"), "truncated link"),
}
"""Models whose links treelite has not; their votes go there."""


def golden(name: str) -> tuple[Any, Any, Any]:
    """A model, its committee, and rows."""
    model: Any = committee.load(FOLDER / f"{name}.safetensors")
    return model, getattr(model, "committee_", model), awkward_rows(model, 300, np.random.default_rng(len(name)))


def in_single_precision(X: Any) -> Any:
    return np.clip(X, -1e30, 1e30).astype(np.float32).astype(np.float64) if isinstance(X, np.ndarray) else X


@pytest.mark.parametrize("name", sorted(MODELS.keys() - NOT_OF_SCIKIT_LEARN.keys()))
def test_scikit_learn_answers_the_same(name: str) -> None:
    model, own, X = golden(name)
    theirs = committee.as_sklearn(model)
    assert type(theirs).__module__.startswith("sklearn.")
    inner = getattr(theirs, "estimator", theirs)
    if "HistGradientBoosting" not in type(getattr(inner, "estimator", inner)).__name__:
        X = in_single_precision(X)
    expected = model.predict(X)
    if not hasattr(own, "classes"):
        assert (np.abs(theirs.predict(X) - expected) <= CLOSE * (1.0 + np.abs(expected))).all()
        return
    assert theirs.classes_.tolist() == own.classes.tolist()
    assert (theirs.predict(X) == expected).all()
    assert np.abs(theirs.predict_proba(X) - model.predict_proba(X)).max() <= CLOSE


@pytest.mark.parametrize("name", sorted(NOT_OF_SCIKIT_LEARN))
def test_what_scikit_learn_cannot_hold_is_refused_by_name(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=NOT_OF_SCIKIT_LEARN[name]):
        committee.as_sklearn(golden(name)[0])


@pytest.mark.parametrize("name", sorted(MODELS.keys() - NO_TREES.keys()))
def test_treelite_sums_the_same_votes(name: str) -> None:
    model, own, X = golden(name)
    data = own.encode(X)
    votes = treelite.gtil.predict(committee.to_treelite(model, output="votes"), data, nthread=1)
    tally = own.voters.tally(data, own.weights, 1)
    assert np.abs(votes.reshape(tally.shape) - tally).max() <= CLOSE
    if hasattr(own, "classes"):
        assert np.abs(own.probability_of(votes.reshape(tally.shape)) - model.predict_proba(X)).max() <= CLOSE


@pytest.mark.parametrize("name", sorted(MODELS.keys() - NO_TREES.keys() - NO_LINK.keys()))
def test_treelite_predicts_the_same(name: str) -> None:
    model, own, X = golden(name)
    made = committee.to_treelite(model)
    found = treelite.gtil.predict(made, own.encode(X), nthread=1).reshape(len(X), -1)
    if not hasattr(own, "classes"):
        assert np.abs(found[:, 0] - model.predict(X)).max() <= CLOSE * (1.0 + np.abs(model.predict(X)).max())
        return
    expected = model.predict_proba(X)
    softmax = "softmax" in made.dump_as_json()
    assert np.abs(found - expected[:, -found.shape[1] :]).max() <= (SINGLE if softmax else CLOSE)
    label = found.argmax(axis=1) if found.shape[1] > 1 else (found[:, 0] > 0.5).astype(int)
    clear = np.ones(len(X), dtype=bool) if not softmax else np.ptp(np.sort(expected)[:, -2:], axis=1) > SINGLE
    assert (own.classes[label] == model.predict(X))[clear].all()


@pytest.mark.parametrize("name", sorted(NO_TREES))
def test_what_treelite_has_no_trees_for_is_refused_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=NO_TREES[name]):
        committee.to_treelite(golden(name)[0], output="votes")


@pytest.mark.parametrize("name", sorted(NO_LINK))
def test_what_treelite_has_no_link_for_is_refused_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=NO_LINK[name]):
        committee.to_treelite(golden(name)[0])


@pytest.mark.parametrize("name", ["adaboost_three", "arc_gv", "lpboost", "probit_boost_stumps", "reweighted_rounds"])
def test_forests_of_scikit_learn_elect_the_same(name: str) -> None:
    model, own, X = golden(name)
    if any(own.table.categories[j] is not None for j in range(own.table.n_features)):
        with pytest.raises(ValueError, match='keep at "probabilities"'):
            committee.as_sklearn(model, keep="classes")
        return
    X = in_single_precision(X)
    theirs = committee.as_sklearn(model, keep="classes")
    assert (theirs.predict(X) == model.predict(X)).all()


def asked(made: Any, X: Any) -> Any:
    return treelite.gtil.predict(made, X, nthread=1).reshape(len(X), -1)


def test_a_softmax_is_in_single_precision_and_its_sums_are_not() -> None:
    X, y, X_new = table_of_classes(3)
    boosted = committee.GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    made = committee.to_treelite(boosted)
    assert_allclose(asked(made, X_new), boosted.predict_proba(X_new), rtol=0.0, atol=SINGLE)
    sums = treelite.gtil.predict(made, X_new, nthread=1, pred_margin=True)[:, 0]
    p = boosted.committee_.link.probability(sums)
    assert_allclose(p, boosted.predict_proba(X_new), rtol=0.0, atol=CLOSE)
    with pytest.raises(ValueError, match="output is 'scores'"):
        committee.to_treelite(boosted, output="scores")  # type: ignore[arg-type]


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
