"""The bounds of a fitted QuadBoost or LPBoost: what is counted, for how many questions, and that errors stay below."""

from math import exp, inf, log

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

from committee.bounds import ensemble_margin, ensemble_norm, massart
from committee.learners.margin_boosting.lpboost import LPBoostClassifier
from committee.learners.quadboost.quadboost import QuadBoostClassifier
from committee.learners.trained import fitted_norm, for_quadboost
from committee.objectives.complexity import Complexity, rademacher


def draw(rng, n, noise=0.02):
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] > 0.0) ^ (rng.random(n) < noise)


# --- what it says ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["l1", "l2", "linf", None])
def test_the_error_on_new_rows_stays_below(penalty):
    rng = np.random.default_rng(0)
    X, y = draw(rng, 6000)
    model = QuadBoostClassifier(penalty, alpha=0.1, alpha_max=0.5, n_estimators=10).fit(X, y)
    bounds = for_quadboost(model, X, y)
    X_new, y_new = draw(rng, 20_000)
    error = np.mean(model.predict(X_new) != y_new)
    assert error < bounds["margin"].value < 0.3
    assert bounds["margin"].value < bounds["norm"].value
    assert bounds["norm"].inputs["p"] == {"l2": 2.0, "linf": inf}.get(penalty, 1.0)
    for bound in bounds.values():
        assert "with probability 0.95" in bound.statement


@pytest.mark.parametrize("n", [60, 1000])
def test_no_bound_believes_in_labels_that_nothing_explains(n):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 10)), rng.random(n) < 0.5
    for rounds in (1, 20, 300):
        model = QuadBoostClassifier(None, n_estimators=rounds, dictionary="all_stumps").fit(X, y)
        assert min(for_quadboost(model, X, y, p=1).values(), key=float).value > 0.5
    assert np.mean(model.predict(X) != y) < 0.4  # it did fit them


def test_it_is_made_of_the_theorems_for_the_committee():
    X, y = load_breast_cancer(return_X_y=True)
    model = QuadBoostClassifier("l2", alpha=0.5, n_estimators=20, fit_intercept=False).fit(X, y)
    R = Complexity(estimate=0.1, standard_error=0.01, upper=0.12, delta=0.01, draws=30, n_rows=569)
    bounds = for_quadboost(model, X, y, complexity=R)
    sign = np.where(y == 1, 1.0, -1.0)
    scores, weights = sign * model.decision_function(X), model.committee_.weights
    assert bounds["norm"].value == pytest.approx(ensemble_norm(scores, weights, R, 0.04, p=2).value)
    margins = model.committee_.margins(X, y)
    assert bounds["margin"].value == pytest.approx(ensemble_margin(margins, R, 0.04).value)
    known = for_quadboost(model, X, y, complexity=0.12)
    assert known["norm"].value == pytest.approx(ensemble_norm(scores, weights, 0.12, 0.05, p=2).value)
    other = for_quadboost(model, X, y, p=1, complexity=0.12)["norm"]
    assert other.value == pytest.approx(ensemble_norm(scores, weights, 0.12, 0.05, p=1).value)
    assert other.value < known["norm"].value


def test_lpboost_has_weights_of_norm_one():
    X, y = draw(np.random.default_rng(0), 3000)
    bounds = for_quadboost(LPBoostClassifier(nu=0.2).fit(X, y), X, y)
    assert bounds["norm"].terms["norm"] == pytest.approx(1.0) and bounds["norm"].inputs["p"] == 1.0
    assert bounds["margin"].value < bounds["norm"].value < 1.0


def test_an_intercept_is_one_voter_more():
    X, y = load_breast_cancer(return_X_y=True)
    model = QuadBoostClassifier("l1", alpha=0.05, fit_intercept=True).fit(X, y)
    bound = for_quadboost(model, X, y, complexity=0.1)["norm"]
    assert bound.terms["n_voters"] == model.committee_.n_voters + 1
    constant = model.decision_function(X) - model.committee_.votes(X) @ model.committee_.weights
    assert bound.terms["norm"] == pytest.approx(np.abs(model.committee_.weights).sum() + abs(constant[0]))


def test_several_classes_are_as_many_questions():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = QuadBoostClassifier("l1", alpha=0.05, fit_intercept=True).fit(X, names)
    bounds = for_quadboost(model, X, names, complexity=0.1)
    F = model.decision_function(X)
    assert len(bounds["norm"].inputs["bounds"]) == 3 and "3 classes" in bounds["norm"].name
    for k, bound in enumerate(bounds["norm"].inputs["bounds"]):
        alone = QuadBoostClassifier("l1", alpha=0.05, fit_intercept=True).fit(X, y == k)
        np.testing.assert_allclose(alone.decision_function(X), F[:, k], atol=1e-9)
        yF = np.where(y == k, 1.0, -1.0) * F[:, k]
        weights = np.append(alone.committee_.weights, np.ptp(alone.committee_.intercept))
        assert bound.value == pytest.approx(ensemble_norm(yF, weights, 0.1, 0.05 / 3).value)
    for bound in bounds.values():
        assert bound.value == pytest.approx(sum(one.value for one in bound.inputs["bounds"]))
        assert bound.value == pytest.approx(sum(bound.terms[t] for t in ("loss", "complexity", "confidence"))) or (
            bound is bounds["norm"]
        )


def test_votes_are_looked_at_a_part_of_the_rows_at_a_time(monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = QuadBoostClassifier("l1", alpha=0.05).fit(X, y)
    whole = for_quadboost(model, X, y, complexity=0.1)
    monkeypatch.setattr(fitted_norm, "ROWS_VOTED", 1)
    parts = for_quadboost(model, X, y, complexity=0.1)
    assert {name: bound.value for name, bound in parts.items()} == {name: bound.value for name, bound in whole.items()}


def test_other_learners_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(
        TypeError, match=r"model is of type DecisionTreeClassifier; these bounds are for QuadBoostClass"
    ):
        for_quadboost(DecisionTreeClassifier().fit(X, y), X, y)


def test_a_class_without_a_voter_is_guessed():
    X, y = load_iris(return_X_y=True)
    with_gaps = X.copy()
    with_gaps[::3, 2] = np.nan
    model = QuadBoostClassifier("l1", alpha=0.5, fit_intercept=False).fit(with_gaps, y)
    bounds = for_quadboost(model, with_gaps, y, complexity=0.1)
    voters = [one.terms["n_voters"] for one in bounds["norm"].inputs["bounds"]]
    silent = [one for one in bounds["norm"].inputs["bounds"] if one.terms["norm"] == 0.0]
    assert silent and sum(voters) == model.committee_.n_voters + len(silent)
    assert all(one.terms["loss"] == 1.0 and one.vacuous for one in silent)


# --- which voters are counted ----------------------------------------------------------------------------------------


def test_the_class_is_every_stump_wherever_its_threshold():
    rng = np.random.default_rng(1)
    x, gaps = rng.normal(size=60), rng.integers(0, 6, size=60).astype(float)
    gaps[:15] = np.nan
    X, y = np.column_stack([x, gaps]), x > 0.3
    model = QuadBoostClassifier("l1", alpha=0.05, n_thresholds=3).fit(X, y)
    found = for_quadboost(model, X, y)["margin"].inputs["complexity"]
    stumps = [np.where(x > t, 1, -1) for t in x]
    for t in range(-1, 6):
        for missing in (-1, 0, 1):
            stumps.append(np.where(np.isnan(gaps), missing, np.where(gaps > t, 1, -1)))
    dense = rademacher(np.array(stumps).T, constant=True, delta=0.005, random_state=0)
    assert found.estimate == pytest.approx(dense.estimate)
    assert found.upper == pytest.approx(dense.upper) and found.delta == pytest.approx(0.005)


def test_categories_are_told_apart_as_the_dictionary_does():
    rng = np.random.default_rng(2)
    c = rng.integers(0, 5, size=200)
    frame = pl.DataFrame({"c": np.array(list("abcde"))[c], "x": rng.normal(size=200)})
    y = (c < 2) ^ (rng.random(200) < 0.1)
    one, subsets = (
        for_quadboost(QuadBoostClassifier("l1", alpha=0.05, dictionary=kind).fit(frame, y), frame, y)["margin"]
        for kind in ("stumps", "all_stumps")
    )
    assert one.inputs["complexity"].estimate < subsets.inputs["complexity"].estimate


def test_trees_are_counted_by_massart():
    X, y = load_breast_cancer(return_X_y=True)
    model = QuadBoostClassifier("linf", dictionary="trees", max_depth=1, n_estimators=5).fit(X, y)
    splits = sum(len(np.unique(column)) - 1 for column in X.T)
    expected = massart(log(2 * splits + 2), 569)
    assert for_quadboost(model, X, y)["norm"].inputs["complexity"] == pytest.approx(expected)
    deep = QuadBoostClassifier("linf", dictionary="trees", max_depth=3, min_samples_leaf=200, n_estimators=5).fit(X, y)
    assert for_quadboost(deep, X, y)["norm"].inputs["complexity"] == pytest.approx(expected)  # two leaves at most


def test_columns_of_too_many_values_are_counted_too(monkeypatch):
    X, y = draw(np.random.default_rng(0), 300)
    model = QuadBoostClassifier("l1", alpha=0.1).fit(X, y)
    searched = for_quadboost(model, X, y)["norm"].inputs["complexity"]
    monkeypatch.setattr(fitted_norm, "MOST_VALUES", 299)
    counted = for_quadboost(model, X, y)["norm"].inputs["complexity"]
    assert counted == pytest.approx(massart(log(2 * 2 * 299 + 2), 300))
    assert exp(counted**2 * 150) == pytest.approx(2 * 2 * 299 + 2)
    assert searched.estimate < counted


def test_where_the_class_is_unknown_it_is_said():
    X, y = load_breast_cancer(return_X_y=True)
    deep = QuadBoostClassifier("linf", dictionary="trees", max_depth=None, n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="the complexity of the voters is unknown: they are trees of unlimited growth"):
        for_quadboost(deep, X, y)
    other = QuadBoostClassifier("linf", dictionary=DecisionTreeClassifier(max_depth=1), n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match=r"classifiers of unknown make\. Give it as complexity"):
        for_quadboost(other, X, y)
    assert for_quadboost(other, X, y, complexity=0.1)["norm"].terms["rademacher"] == 0.1
    unsure = Complexity(estimate=0.1, standard_error=0.01, upper=0.12, delta=0.1, draws=30, n_rows=569)
    with pytest.raises(ValueError, match=r"complexity fails with probability 0\.1, and delta is 0\.05"):
        for_quadboost(other, X, y, complexity=unsure)
    with pytest.raises(ValueError, match=r"delta is 0\.0"):
        for_quadboost(other, X, y, 0.0)
