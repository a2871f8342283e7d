"""Every kind of model of the golden files, as scikit-learn and treelite answer and as the library does."""

from typing import Any

import numpy as np
import pytest
import treelite

import committee
from tests.golden.write import FOLDER, MODELS
from tests.onnx.parity import awkward_rows

CLOSE = 1e-12
SINGLE = 1e-6
"""treelite takes exponents of a softmax in single precision."""

NO_TREES = {
    **dict.fromkeys(("gradient_linear", "gradient_linear_three"), "lines in their leaves"),
    **dict.fromkeys(("model_tree", "model_tree_per_class"), "models in their leaves"),
    **dict.fromkeys(("sbpmt", "sbpmt_hard", "sbpmt_shares"), "boosted model trees"),
    **dict.fromkeys(("probit_boost", "logit_boost"), "linear scores"),
    **dict.fromkeys(("boosting_tree", "boosting_tree_majority", "boosting_tree_sampled"), "at random along paths"),
    **dict.fromkeys(("matryoshka", "matryoshka_greedy", "matryoshka_learners"), "at random along paths"),
    **dict.fromkeys(("probabilistic", "probabilistic_learners"), "at random along paths"),
    **dict.fromkeys(("committee", "committee_two", "committee_regressor"), "whole committees"),
    **dict.fromkeys(("adaboost_of_trees", "reweighted_bagging", "reweighted_learners"), "models of their own"),
    **dict.fromkeys(("functional_regressor", "functional_rounds", "functional_three"), "models of their own"),
    **dict.fromkeys(("quadboost_learners", "quadboost_of_numbers"), "models of their own"),
    **dict.fromkeys(("quadboost_regressor_learners", "subagging_nested", "subagging_of_rounds"), "models of their own"),
    **dict.fromkeys(("conformal_sets", "conformal_bag"), r"ConformalClassifier answers with sets .* estimator_"),
    **dict.fromkeys(("conformal_folds", "conformal_normalised"), r"ConformalRegressor answers with sets"),
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
    **dict.fromkeys(("forest_calibrated", "recorded_shares", "shared_shares"), "tempered_share link"),
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
