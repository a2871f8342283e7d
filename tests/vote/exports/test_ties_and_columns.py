"""Classes that are tied, or by a rounding nearly so: which one models of scikit-learn elect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import committee
from committee.vote.exports.scikit_learn_model import Kept
from committee.vote.exports.score_trees import round_to_grid

KEPT: tuple[Kept, ...] = ("probabilities", "classes")
CLOSE = 1e-12
ROUNDING = 2e-14
"""More than sums of ten votes, over their weight, are rounded by."""


def table(seed: int, n_classes: int = 3, noise: float = 1.0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 5))
    score = X[:, 0] + (n_classes - 2) * X[:, 1] + noise * rng.normal(size=500)
    y = np.digitize(score, [-0.5, 0.5] if n_classes == 3 else [0.0])
    return X, y, rng.normal(size=(3000, 5)).astype(np.float32).astype(np.float64)


def lead(F: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest score less the second largest."""
    ordered = np.sort(F, axis=1) if F.ndim == 2 else np.column_stack([np.zeros(len(F)), np.abs(F)])
    return ordered[:, -1] - ordered[:, -2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("keep", KEPT)
@pytest.mark.parametrize("learner", [committee.LPBoostClassifier, committee.MDBoostClassifier])
def test_margin_boosting_of_three_classes(learner: Any, keep: Kept) -> None:
    tied = 0
    for seed in range(2):
        for noise in (0.0, 1.0):
            X, y, X_new = table(seed, noise=noise)
            model = learner(n_estimators=10).fit(X, y)
            tied += int((lead(model.decision_function(X_new)) <= CLOSE).sum())
            assert_array_equal(committee.as_sklearn(model, keep=keep).predict(X_new), model.predict(X_new))
    assert tied > 100


@pytest.mark.parametrize("keep", KEPT)
@pytest.mark.parametrize("objective", ["min_margin", "soft_margin"])
def test_label_votes_with_new_weights(objective: Any, keep: Kept) -> None:
    """Sums that are tied but for their rounding may elect either class."""
    tied = 0
    for seed in range(3):
        X, y, X_new = table(seed)
        voters = committee.AdaBoostClassifier(n_estimators=10, vote="discrete").fit(X, y)
        model = committee.MarginReweighter(voters, objective).fit(X, y)
        F = model.decision_function(X_new)
        found, ours, near = (
            committee.as_sklearn(model, keep=keep).predict(X_new),
            model.predict(X_new),
            lead(F) <= CLOSE,
        )
        either = near & (lead(F) > 0.0)
        assert_array_equal(found[~either], ours[~either])
        assert_allclose(F[either, found[either]], F[either].max(axis=1), rtol=0.0, atol=CLOSE)
        tied += int(near.sum())
    assert tied > 100


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("calibrate", ["auto", None])
def test_forests_with_new_weights(calibrate: Any, n_classes: int) -> None:
    """Sums that are tied, or are but for their rounding, elect the first class there; here only exact ones do."""
    near = 0
    for seed in range(3):
        X, y, X_new = table(seed, n_classes)
        forest = committee.RandomForestClassifier(10, calibrate=calibrate, random_state=0).fit(X, y)
        for objective in ("soft_margin", "min_margin"):
            model = committee.MarginReweighter(forest, objective).fit(X, y)
            F = model.decision_function(X_new) / model.committee_.total_weight
            both = np.column_stack([-F, F]) / 2.0 if F.ndim == 1 else F
            first = np.argmax(both >= both.max(axis=1, keepdims=True) - ROUNDING, axis=1)
            theirs = committee.as_sklearn(model)
            assert_allclose(theirs.predict_proba(X_new), model.predict_proba(X_new), rtol=0.0, atol=CLOSE)
            found, ours = theirs.predict(X_new), model.predict(X_new)
            # solvers of weights may leave differences that are neither roundings nor apart
            known = (lead(F) <= ROUNDING) | (lead(F) >= 1e-12)
            assert_array_equal(found[known], model.classes_[first][known])
            assert known.mean() > 0.9
            tied = lead(F) == 0.0
            assert_array_equal(found[tied], ours[tied])
            near += int((lead(F) <= ROUNDING).sum())
    assert near > 10


@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_with_new_weights_as_forests_are_rounded_alike(n_classes: int) -> None:
    """Powers of two change no rounding: all that can part the two is the last tree and the division by their number."""
    for seed in range(3):
        X, y, X_new = table(seed, n_classes)
        forest = committee.RandomForestClassifier(10, calibrate=None, random_state=0).fit(X, y)
        model = committee.MarginReweighter(forest, "min_margin").fit(X, y)
        theirs = committee.as_sklearn(model, keep="classes")
        proba, F = theirs.predict_proba(X_new), model.decision_function(X_new)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert (proba >= 0.0).all()
        parted = theirs.predict(X_new) != model.predict(X_new)
        assert (lead(F)[parted] <= CLOSE).all()
        assert parted.mean() <= 0.01


@pytest.mark.parametrize("keep", KEPT)
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_forests_with_equal_weights_elect_the_same(voting: Any, keep: Kept) -> None:
    X, y, X_new = table(0)
    for calibrate in ("auto", None):
        model: Any = committee.RandomForestClassifier(12, voting=voting, calibrate=calibrate, random_state=0).fit(X, y)
        assert_array_equal(committee.as_sklearn(model, keep=keep).predict(X_new), model.predict(X_new))
    theirs = RandomForestClassifier(12, max_depth=6, random_state=0).fit(X, y)
    again = committee.as_sklearn(theirs, keep=keep)
    assert_array_equal(again.predict(X_new), theirs.predict(X_new))
    assert_array_equal(again.predict_proba(X_new), theirs.predict_proba(X_new))


def test_sums_on_a_grid_are_exact_in_any_order() -> None:
    numbers = round_to_grid(np.random.default_rng(0).random(1000), 1000.0)
    assert len({float(np.random.default_rng(seed).permutation(numbers).cumsum()[-1]) for seed in range(20)}) == 1
    assert_allclose(numbers, np.random.default_rng(0).random(1000), atol=1e-12)


def with_idle_categories() -> tuple[Any, Any]:
    """A table whose categories say nothing, and classes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    return pd.DataFrame({"x": x, "g": pd.Categorical(rng.choice(["b", "a", "c"], 400))}), x > 0


@pytest.mark.parametrize("classes", [2, 3])
def test_categories_that_no_split_asks_for(classes: int) -> None:
    table, y = with_idle_categories()
    label = y.astype(int) if classes == 2 else np.digitize(table["x"], [-0.5, 0.5])
    for calibrate in (None, "auto") if classes == 3 else (None,):
        model = committee.RandomForestClassifier(
            5, max_depth=classes - 1, max_features=None, calibrate=calibrate, random_state=0
        ).fit(table, label)
        forest: Any = model.committee_.voters
        assert set(forest.feature[forest.feature >= 0].tolist()) == {0}
        theirs = committee.as_sklearn(model)
        new = table.assign(g="unseen")
        for rows in (table, new):
            assert_array_equal(theirs.predict(rows), model.predict(rows))
            assert_allclose(theirs.predict_proba(rows), model.predict_proba(rows), rtol=0.0, atol=CLOSE)
        with pytest.raises(ValueError, match=r"column 'g' has categories.* leave keep at \"probabilities\""):
            committee.as_sklearn(model, keep="classes")


def test_categories_that_no_split_of_numbers_asks_for() -> None:
    table, _ = with_idle_categories()
    model = committee.RandomForestRegressor(5, max_depth=1, max_features=None, random_state=0).fit(table, table["x"])
    assert_allclose(committee.as_sklearn(model).predict(table), model.predict(table), rtol=CLOSE, atol=CLOSE)


def test_errors_lead_to_a_way() -> None:
    table, y = with_idle_categories()
    model: Any = committee.RandomForestClassifier(5, random_state=0).fit(table, y ^ (table["g"] == "a"))
    with pytest.raises(ValueError, match=r"Train with calibrate=None, or use committee.to_onnx\.$"):
        committee.as_sklearn(model)
    with pytest.raises(ValueError, match=r"column 'g' has categories, .* cannot take; use committee.to_onnx"):
        committee.as_sklearn(model, keep="classes")
    again: Any = committee.RandomForestClassifier(5, calibrate=None, random_state=0).fit(table, y)
    assert_array_equal(committee.as_sklearn(again).predict(table), again.predict(table))


def test_large_whole_numbers_are_compared_as_doubles() -> None:
    X = 1e8 + np.random.default_rng(0).integers(0, 50, size=(500, 1)).astype(float)
    for y in (X[:, 0] % 2, X[:, 0] % 3):
        model = committee.RandomForestClassifier(10, calibrate=None, random_state=0).fit(X, y)
        theirs = committee.as_sklearn(model)
        assert type(theirs.estimator.estimator).__name__ == "HistGradientBoostingClassifier"
        assert_array_equal(theirs.predict(X), model.predict(X))
        assert_allclose(theirs.predict_proba(X), model.predict_proba(X), rtol=0.0, atol=CLOSE)
    numbers = committee.RandomForestRegressor(10, random_state=0).fit(X, X[:, 0] % 2)
    assert_allclose(committee.as_sklearn(numbers).predict(X), numbers.predict(X), atol=CLOSE)
    with pytest.raises(ValueError, match="column 'x0' has splits that single precision does not keep apart"):
        committee.as_sklearn(model, keep="classes")


def test_thresholds_that_fall_together_are_compared_as_doubles() -> None:
    X = 1e6 + np.arange(400.0)[:, None] / 1000
    model = committee.TreeVoter().fit(X, (np.arange(400) // 3) % 2)
    theirs = committee.as_sklearn(model)
    assert type(theirs).__name__ == "CalibratedClassifierCV"
    assert_array_equal(theirs.predict(X), model.predict(X))


def test_splits_of_single_precision_stay_forests() -> None:
    X = 1e8 + np.random.default_rng(0).integers(0, 50, size=(500, 1)).astype(float) * 8
    theirs = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] % 3)
    again = committee.as_sklearn(theirs)
    assert type(again) is RandomForestClassifier
    assert_array_equal(again.predict_proba(X), theirs.predict_proba(X))


def test_rounds_are_counted_once() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = committee.GradientBoostingClassifier(n_estimators=7, early_stopping=False).fit(
        X, np.digitize(X[:, 0], [-0.5, 0.5])
    )
    theirs = committee.as_sklearn(model)
    assert theirs.max_iter == theirs.n_iter_ == len(model.committee_.voters)


def test_one_class_is_refused_everywhere() -> None:
    with pytest.warns(UserWarning, match="one class only"):
        model = committee.TreeVoter().fit(np.zeros((5, 1)), np.zeros(5))
    for keep in ("probabilities", "classes"):
        with pytest.raises(ValueError, match="one class only"):
            committee.as_sklearn(model, keep=keep)
    for output in ("predictions", "votes"):
        with pytest.raises(ValueError, match="one class only"):
            committee.to_treelite(model, output=output)
