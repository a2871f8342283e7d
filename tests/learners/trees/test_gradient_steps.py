"""Gradient ProbitBoost: one likelihood for the scores of all classes, by lines, by stumps and in trees' leaves."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.optimize import minimize

from committee import LogitBoostClassifier, ProbitBoostClassifier, ProbitModelTreeClassifier, SBPMTClassifier, load
from committee.data.binning import Binned
from committee.data.design import Design
from tests.oracles import grow, linear_boost, sbpmt

F64 = NDArray[np.float64]
LEARNERS = ("line", "stump")


def noisy(n_classes: int = 3, n: int = 150, seed: int = 0) -> tuple[F64, NDArray[np.int64]]:
    """Columns of different units, and classes that overlap."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    y = (Z @ rng.normal(size=(3, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = range(n_classes)
    return Z * [1.0, 100.0, 0.01] + [0.0, 5000.0, 0.0], y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lines_reach_the_greatest_likelihood(n_classes):
    X, y = noisy(n_classes)
    v = np.random.default_rng(1).exponential(size=len(y))
    model = ProbitBoostClassifier(3000, steps="gradient").fit(X, y, v)
    A = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / X.std(axis=0)])
    K = 1 if n_classes == 2 else n_classes
    found = minimize(
        lambda b: linear_boost.risk("probit", A @ b.reshape(4, K), y, v), np.zeros(4 * K), method="BFGS", tol=1e-8
    )
    newton = ProbitBoostClassifier(3000).fit(X, y, v)
    if n_classes == 2:
        assert_allclose(model.risk_path_[:, -1].sum(), found.fun, rtol=1e-8)
        assert_allclose(model.predict_proba(X), newton.predict_proba(X), atol=1e-5)
    else:  # whose likelihood still rises by little as all scores sink together
        apart = -np.average(np.log(newton.predict_proba(X)[np.arange(len(y)), y]), weights=v)
        assert 0.0 < model.risk_path_[:, -1].sum() - found.fun < 0.2 * (apart - found.fun)


@settings(max_examples=15)
@given(
    st.integers(0, 10_000), st.sampled_from([ProbitBoostClassifier, LogitBoostClassifier]), st.sampled_from(LEARNERS),
    st.integers(2, 4), st.booleans(),
)  # fmt: skip
def test_the_risk_never_rises_and_is_that_of_the_probabilities(seed, Booster, learner, n_classes, separable):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)).round(int(rng.integers(0, 3)))
    y = np.searchsorted([-0.6, 0.0, 0.5][: n_classes - 1], X[:, 0] + (0.0 if separable else 0.7) * rng.normal(size=40))
    y[:n_classes] = range(n_classes)
    X[rng.random(X.shape) < 0.1] = np.nan
    v = rng.exponential(size=40)
    model = Booster(25, learner=learner, steps="gradient").fit(X, y, v)
    assert (np.diff(model.risk_path_, axis=1) <= 1e-12).all()
    assert_allclose(model.risk_path_[:, 0].sum(), np.log(n_classes), rtol=1e-12)
    F = model.decision_function(X).reshape(40, -1)
    assert np.abs(F).max() <= (20.0 if Booster is ProbitBoostClassifier else 40.0) * (1 + 1e-9)
    link = "probit" if Booster is ProbitBoostClassifier else "logit"
    assert_allclose(model.risk_path_[:, -1].sum(), linear_boost.risk(link, F, y, v), rtol=1e-7, atol=1e-12)
    P = model.predict_proba(X)
    assert_allclose(P, np.exp(linear_boost.log_shares(link, F)), atol=1e-9)
    assert_array_equal(model.predict(X), P.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_step_of_stumps_by_hand(n_classes):
    """For each class the stump of least squared error to its gradient at zero; all move by one step."""
    X, y = noisy(n_classes, 40)
    model = ProbitBoostClassifier(1, learner="stump", steps="gradient").fit(X, y)
    K = 1 if n_classes == 2 else n_classes
    F = np.zeros((40, K))
    r = linear_boost.gradient("probit", F, y)
    d = np.empty_like(F)
    for k in range(K):
        error, j, t = min(
            (
                float(
                    (
                        (r[:, k] - np.where(X[:, j] <= t, *(r[side, k].mean() for side in (X[:, j] <= t, X[:, j] > t))))
                        ** 2
                    ).sum()
                ),
                j,
                t,
            )
            for j in range(3)
            for t in np.sort(X[:, j])[:-1]
        )
        assert model.feature_path_[k, 0] == j and error < (r[:, k] ** 2).sum()
        left = X[:, j] <= t
        d[:, k] = np.where(left, r[left, k].mean(), r[~left, k].mean())
    eta = (r * d).sum() / linear_boost.information("probit", F, d).sum()
    assert_allclose(model.decision_function(X).reshape(40, K), eta * d, rtol=1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_early_stopping_weights_and_repeated_rows(learner):
    X, y = noisy(3, 200)
    train, held = slice(0, 120), slice(120, None)
    stopped = ProbitBoostClassifier(40, learner=learner, steps="gradient", early_stopping=True, n_iter_no_change=5)
    stopped.fit(X[train], y[train], X_val=X[held], y_val=y[held])
    for steps, found in enumerate(stopped.validation_risks_, 1):
        if steps % 4 == 1:
            shorter = ProbitBoostClassifier(steps, learner=learner, steps="gradient").fit(X[train], y[train])
            loss = linear_boost.risk("probit", shorter.decision_function(X[held]), y[held], np.ones(80))
            assert_allclose(found, loss, rtol=1e-9)
    assert stopped.feature_path_.shape[1] == stopped.validation_risks_.argmin() + 1
    k = np.random.default_rng(0).integers(0, 3, 200)
    model = ProbitBoostClassifier(10, learner=learner, steps="gradient")
    weighed = model.fit(X, y, k).decision_function(X)
    assert_allclose(model.fit(np.repeat(X, k, axis=0), np.repeat(y, k)).decision_function(X), weighed, atol=1e-6)


def test_categories_and_missing_values():
    rng = np.random.default_rng(0)
    town = rng.choice(["Oslo", "Bergen", "Hamar"], 200)
    x = rng.normal(size=200)
    y = np.where(town == "Oslo", "a", np.where(x > 0, "b", "c"))
    frame = pl.DataFrame({"x": x, "town": town}).with_columns(pl.when(pl.col("x") < 1.5).then("x"))
    for model in (
        ProbitBoostClassifier(30, steps="gradient"),
        ProbitBoostClassifier(30, learner="stump", steps="gradient"),
        ProbitModelTreeClassifier(20, leaf_steps="gradient"),
    ):
        assert model.fit(frame, y).score(frame, y) > 0.95


# -- in leaves ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_tree_by_hand(n_classes, seed):
    X, y = noisy(n_classes, 120, seed)
    w = np.random.default_rng(seed).exponential(size=120) + 0.05
    model = ProbitModelTreeClassifier(
        5, leaf_steps="gradient", max_depth=1, min_samples_leaf=30, min_impurity_decrease=0.0
    ).fit(X, y, w)
    binned = Binned.of(X, w, model.table_, 255)
    D = Design.learn(X, w, model.table_.n_categories).matrix(X)
    statistics = grow.class_statistics(y.astype(np.uint16), w, n_classes)
    columns = (binned.codes, binned.bins.n_bins, binned.bins.categorical, "gini", statistics, w)
    nodes = grow.grow(grow.Table(*columns, np.arange(120)), grow.Limits(1, 0, 30, 0.0, 0.0))
    K = 1 if n_classes == 2 else n_classes
    P = np.empty((120, n_classes))
    for leaf, _ in sbpmt.leaves(nodes, binned.codes):
        assert set(y[leaf]) == set(range(n_classes))
        P[leaf] = np.exp(
            linear_boost.log_shares(
                "probit", linear_boost.joint_boost(D[leaf], y[leaf], w[leaf], K, "probit", 5).scores
            )
        )
    assert_allclose(model.predict_proba(X), P, atol=1e-6)
    assert model.risk_path_.shape == (len(model.leaf_models_) // K, K, 6)
    assert_allclose(model.feature_importances_.sum(), 1.0)


@pytest.mark.parametrize("n_leaf_steps", [10, "cv"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_sbpmt_boosts_such_trees(n_leaf_steps, n_classes, tmp_path):
    X, y = noisy(n_classes, 200)
    model = SBPMTClassifier(
        3, 3, n_leaf_steps, leaf_steps="gradient", emphasis="m2", min_samples_leaf=10, random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.6
    assert (model.errors_ <= model.risks_ / np.log(2.0)).all()
    assert_allclose(model.feature_importances_.sum(), 1.0)
    model.save(tmp_path / "model.committee")
    assert_array_equal(load(tmp_path / "model.committee").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("other", [{"tree": "per_class"}, {"selection": "likelihood"}])
def test_parameters_of_newton_steps_are_refused(other):
    X, y = noisy()
    [name] = other
    for model in (
        ProbitModelTreeClassifier(leaf_steps="gradient", **other),
        SBPMTClassifier(leaf_steps="gradient", **other),
    ):
        with pytest.raises(
            ValueError, match=rf"leaf_steps='gradient' boosts .* {name} is '{other[name]}'\. Set {name}="
        ):
            model.fit(X, y)
    with pytest.raises(ValueError, match=r"selection='likelihood' chooses among Newton steps"):
        ProbitBoostClassifier(steps="gradient", selection="likelihood").fit(X, y)
