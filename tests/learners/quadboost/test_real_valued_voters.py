"""Regressors as voters of QuadBoost: rounds by the document's rules with eta, and optima by their conditions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.tree import DecisionTreeRegressor

import committee
from committee import LPBoostClassifier, QuadBoostClassifier, QuadBoostRegressor, TreeRegressor
from tests.subjects import noisy_scores, numbers, weights

SPLINES = make_pipeline(SplineTransformer(n_knots=4, degree=2), Ridge(alpha=5.0))
BASES = [DecisionTreeRegressor(max_depth=2, random_state=0), SPLINES]
STRENGTHS = {None: {}, "l1": {"alpha": 0.02}, "l2": {"alpha": 0.4}, "linf": {"alpha_max": 0.25}}


def step(penalty, own, eta):
    """The best weight of a voter, by equations 6 to 9."""
    if penalty == "l1":
        return np.sign(own) * max(abs(own) - 0.02, 0.0) / eta
    if penalty == "l2":
        return own / (eta + 0.4)
    return own / eta if penalty is None else np.clip(own / eta, -0.25, 0.25)


@pytest.mark.parametrize("base", BASES, ids=["tree", "splines"])
@pytest.mark.parametrize("penalty", STRENGTHS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_rounds_are_those_of_the_document(penalty, base, fit_intercept):
    X, y = numbers(2)
    w = weights()
    model = QuadBoostClassifier(
        penalty, n_estimators=4, dictionary=base, fit_intercept=fit_intercept, tol=0.0, **STRENGTHS[penalty]
    ).fit(X, y, w)
    share, given = w / w.sum(), {"ridge__sample_weight" if base is SPLINES else "sample_weight": w}
    target = 2.0 * y - 1.0
    start = share @ target if fit_intercept else 0.0
    residual, F = target - start, np.full(len(y), start)
    risks = [share @ residual**2]
    for t in range(4):
        h = clone(base).fit(X, residual / np.sqrt(share @ residual**2), **given).predict(X)
        votes, h = h, h - (share @ h if fit_intercept else 0.0)
        eta = share @ h**2
        assert 0.001 < eta < 0.6
        alpha = step(penalty, share @ (h * residual), eta)
        if alpha == 0.0:  # no voter is left that the penalty lets in
            assert penalty == "l1" and model.committee_.n_voters == t > 0
            break
        assert_allclose(model.committee_.voters[t].votes(X)[:, 0, 0], votes, rtol=1e-9, atol=1e-12)
        assert_allclose(model.committee_.weights[t], alpha, rtol=1e-9)
        residual, F = residual - alpha * h, F + alpha * h
        risks.append(share @ residual**2)
    assert_allclose(model.training_risks_, risks, rtol=1e-9)
    assert_allclose(model.decision_function(X), F, atol=1e-10)


@pytest.mark.parametrize("penalty", STRENGTHS)
@pytest.mark.parametrize("kind", [QuadBoostClassifier, QuadBoostRegressor])
def test_fully_corrected_weights_are_optimal(penalty, kind):
    """No weight can be moved a little, one way or the other, without the penalised risk rising."""
    X, y = numbers(2) if kind is QuadBoostClassifier else noisy_scores()
    w = weights()
    base = DecisionTreeRegressor(max_depth=2, random_state=0)
    model = kind(
        penalty, n_estimators=8, dictionary=base, reweight="fully_corrective", tol=1e-6, **STRENGTHS[penalty]
    ).fit(X, y, w)
    members = model.committee_.voters.estimators
    assert len(members) > (2 if penalty == "l1" else 7)
    target = 2.0 * y - 1.0 if kind is QuadBoostClassifier else y
    share = w / w.sum()
    H = np.stack([member.predict(X) for member in members], axis=1)
    H, r = H - share @ H, target - share @ target

    def risk(alpha):
        cost = {
            "l1": 0.04 * np.abs(alpha).sum(),
            "l2": 0.4 * alpha @ alpha,
            "linf": np.inf if np.abs(alpha).max() > 0.25 + 1e-12 else 0.0,
        }
        return share @ (r - H @ alpha) ** 2 + cost.get(penalty, 0.0)

    alpha = model.committee_.weights
    here = risk(alpha)
    for j in range(len(alpha)):
        for d in (1e-3, -1e-3, 1e-4, -1e-4):
            assert risk(alpha + d * np.eye(len(alpha))[j]) > here - 1e-10
    if penalty == "linf":
        assert (np.abs(alpha) == 0.25).any()


def test_several_classes_early_stopping_and_files(tmp_path):
    X, y = numbers(3, 300)
    model = QuadBoostClassifier(
        "l2", alpha=1.0, n_estimators=40, dictionary=TreeRegressor(max_depth=3), early_stopping=True, random_state=0
    ).fit(X, y)
    voters = model.committee_.voters
    assert set(voters.output.tolist()) == {0, 1, 2} and model.score(X, y) > 0.75
    assert np.abs(model.committee_.margins(X, y)).max() <= 1.0
    assert len(model.validation_risks_) <= 41 and model.validation_risks_.argmin() == len(model.validation_risks_) - 1
    model.save(tmp_path / "model")
    assert_array_equal(committee.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)


def test_units_of_numbers():
    X, y = noisy_scores()
    small, large = (
        QuadBoostRegressor("l1", alpha=0.01 * unit, n_estimators=10, dictionary=TreeRegressor(max_depth=2))
        .fit(X, unit * y)
        .predict(X)
        / unit
        for unit in (1e-5, 1e5)
    )
    assert_allclose(small, large, rtol=1e-9)


def test_least_squares_lines_end_after_one():
    """What a line leaves over no other line can tell."""
    X, y = noisy_scores()
    model = QuadBoostRegressor(None, dictionary=LinearRegression()).fit(X, y)
    assert model.committee_.n_voters == 1
    assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-9)


def test_refusals():
    X, y = numbers(2)
    near = QuadBoostClassifier(dictionary=KNeighborsRegressor(), n_estimators=3)
    with pytest.raises(ValueError, match=r"rows weigh differently, and dictionary=KNeighborsRegressor\(\) takes no w"):
        near.fit(X, y, np.arange(1.0, len(y) + 1.0))
    p = near.fit(X, y).predict_proba(X)
    assert_allclose(near.fit(X, y, np.ones(len(y))).predict_proba(X), p, rtol=1e-12)
    with pytest.raises(ValueError, match=r"dictionary=KNeighborsClassifier\(\) cannot be boosted: its fit takes no sa"):
        QuadBoostClassifier(dictionary=KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="alpha='theory' needs the complexity of the voters"):
        QuadBoostClassifier(alpha="theory", dictionary=LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match=r"dictionary=LinearRegression\(\) is no classifier"):
        LPBoostClassifier(dictionary=LinearRegression()).fit(X, y)
