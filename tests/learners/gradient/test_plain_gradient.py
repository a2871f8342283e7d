"""Plain gradient boosting: without hessians, against the rounds as they are written."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.tree import DecisionTreeRegressor

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.objectives.losses import Absolute, Exponential, Huber, Logistic, Poisson, Squared

PLAIN = {"newton": False, "line_search": True, "learning_rate": 1.0, "leaf_l2": 0.0, "min_samples_leaf": 1}
TREES = {
    "max_leaf_nodes": 6,
    "subsample": 1.0,
    "max_features": None,
    "leaf": "constant",
    "n_estimators": 4,
    "random_state": 0,
}


def table(loss, seed=0):
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(160, 4)), 2)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * random.normal(size=160)
    if isinstance(loss, (Logistic, Exponential)):
        return X, (signal > 0).astype(int)
    return X, np.exp(signal) if isinstance(loss, Poisson) else signal


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), Squared(), Absolute(), Huber(), Poisson()])
@pytest.mark.parametrize("weighted", [False, True])
def test_rounds_are_least_squares_fits_to_the_antigradient(loss, weighted):
    X, y = table(loss)
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y)) if weighted else np.ones(len(y))
    kind = GradientBoostingClassifier if y.dtype.kind == "i" else GradientBoostingRegressor
    committee = kind(loss=loss, **PLAIN, **TREES).fit(X, y, w).committee_
    F = np.repeat(committee.intercept, len(y))
    for t, step in enumerate(committee.weights):
        gradient, hessian = loss.gradient_hessian(y, F)
        antigradient = -gradient
        tree = committee.voters[t]
        leaf = tree.apply(X)[:, 0]
        means = np.bincount(leaf, w * antigradient, len(tree.feature)) / np.maximum(
            np.bincount(leaf, w, len(tree.feature)), 1e-300
        )
        assert_allclose(tree.value[leaf, 0], means[leaf], rtol=1e-6, atol=1e-9)
        peer = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X, antigradient, w)
        ours, theirs = (np.average((antigradient - fit) ** 2, weights=w) for fit in (means[leaf], peer.predict(X)))
        assert ours <= theirs * (1 + 1e-6)

        def risk(a, F=F, b=means[leaf]):
            return np.average(loss.value(y, F + a * b), weights=w)

        fit, longest = means[leaf], 50.0
        if loss.hessian_is_true:  # no further than Newton's step along the tree
            longest = np.sum(w * antigradient * fit) / np.sum(w * hessian * fit**2)
        best = minimize_scalar(risk, bounds=(0.0, longest), method="bounded", options={"xatol": 1e-10})
        assert risk(step) <= best.fun + 1e-9 and step <= longest * (1.0 + 1e-9)
        F = F + step * means[leaf]
    assert_allclose(committee.decision_function(X), F, rtol=1e-9, atol=1e-9)


def test_several_classes_and_a_learning_rate_of_its_own():
    random = np.random.default_rng(2)
    X = random.normal(size=(400, 5))
    y = np.argmax(X[:, :3] + 0.5 * random.normal(size=(400, 3)), axis=1)
    plain = GradientBoostingClassifier(n_estimators=150, newton=False, random_state=0).fit(X[:250], y[:250])
    assert plain.score(X[250:], y[250:]) > 0.75
    newton = GradientBoostingClassifier(n_estimators=150, random_state=0).fit(X[:250], y[:250])
    assert np.abs(plain.predict_proba(X) - newton.predict_proba(X)).max() > 0.01


def test_of_the_squared_error_both_are_the_same():
    X, y = table(Squared())
    options = TREES | {"n_estimators": 20}
    one, other = (GradientBoostingRegressor(newton=newton, **options).fit(X, y) for newton in (True, False))
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-12)
