"""The Kullback-Leibler penalty: its divergence, its best weights, and optima of many weights by another solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import rel_entr
from sklearn.datasets import load_breast_cancer

from committee import QuadBoostClassifier, QuadBoostClassifierCV, QuadBoostRegressor, quadboost_path
from committee.objectives.programs.kl_penalty import KLPenalty
from committee.objectives.programs.penalties import L2Penalty
from committee.objectives.programs.reweighting import reweight
from tests.subjects import noisy_scores, numbers, weights


def risk_of(gram, b, penalty):
    return lambda alpha: alpha @ gram @ alpha - 2.0 * alpha @ b + penalty.cost(alpha).sum()


def products(seed, n=60, T=8):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, T)) @ (np.eye(T) + 0.5 * rng.normal(size=(T, T)))
    y = np.sign(rng.normal(size=n) + H[:, 0])
    return H.T @ H / n, H.T @ y / n


def test_the_cost_is_the_divergence_of_quasi_uniform_distributions():
    u = np.array([0.7, -0.2, 0.0, 0.999, -1.0 + 1e-9])
    N, penalty = len(u), KLPenalty(0.4, bound=0.25)
    Q, P = np.concatenate([1.0 + u, 1.0 - u]) / (2 * N), np.full(2 * N, 1.0 / (2 * N))
    assert_allclose(penalty.cost(0.25 * u).sum(), 2.0 * 0.4 * 0.25**2 * N * rel_entr(Q, P).sum(), rtol=1e-9)


@pytest.mark.parametrize("strength", [1e-6, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("bound", [0.01, 0.3, 50.0])
def test_the_best_weight_is_where_the_slope_is_zero(strength, bound):
    penalty = KLPenalty(strength, bound)
    own, eta = np.array([-3.0, -0.1, 0.0, 1e-9, 0.02, 0.4, 20.0]), np.array([1.0, 0.3, 1.0, 1.0, 2.0, 0.01, 1.0])
    best = penalty.best(own, eta)
    assert (np.abs(best) < bound).all() and (np.sign(best) == np.sign(own)).all()
    assert_allclose(penalty.distance(own - eta * best, best), 0.0, atol=1e-7 * (1.0 + bound))
    for shift in (-1e-4, 1e-4):
        other = best + shift * bound * (1.0 - np.abs(best / bound))
        risks = [eta * a**2 - 2.0 * own * a + penalty.cost(a) for a in (best, other)]
        assert (risks[0] <= risks[1] + 1e-12 * (1.0 + np.abs(risks[1]))).all()


def test_far_inside_the_bound_it_is_l2():
    own, eta = np.array([-0.5, 0.3]), np.array([1.0, 0.4])
    assert_allclose(KLPenalty(0.7, bound=1e4).best(own, eta), L2Penalty(0.7).best(own, eta), rtol=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("strength", "bound"), [(0.01, 0.1), (0.2, 0.3), (1e-4, 0.05)])
def test_optima_are_those_of_a_solver(seed, strength, bound):
    gram, b = products(seed)
    penalty, alpha = KLPenalty(strength, bound), np.zeros(len(b))
    reached = reweight(gram, b, alpha, penalty, 1e-8)
    assert reached <= 1e-8 and (np.abs(alpha) < bound).all()
    risk = risk_of(gram, b, penalty)
    box = [(-bound * (1 - 1e-12), bound * (1 - 1e-12))] * len(b)
    theirs = minimize(risk, np.zeros(len(b)), bounds=box, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    assert risk(alpha) <= theirs.fun + 1e-12
    assert_allclose(alpha, theirs.x, atol=1e-4 * bound)
    c = b - gram @ alpha
    assert_allclose(alpha, bound * np.tanh(c / (strength * bound)), atol=1e-8 / strength)  # the condition of an optimum
    square = float(b @ np.linalg.solve(gram, b)) + 1.0
    assert 0.0 <= penalty.gap(c, alpha, b, square) < 1e-9
    away = 0.5 * alpha
    excess = risk(away) - risk(alpha)
    assert excess - 1e-12 <= penalty.gap(b - gram @ away, away, b, square)


@pytest.mark.parametrize("kind", [QuadBoostClassifier, QuadBoostRegressor])
def test_learners_reach_the_optimum_over_their_voters(kind):
    X, y = numbers(2) if kind is QuadBoostClassifier else noisy_scores()
    w = weights()
    model = kind("kl", alpha=0.05, alpha_max=0.2, n_estimators=25, reweight="fully_corrective", tol=1e-6).fit(X, y, w)
    committee, share = model.committee_, w / w.sum()
    H = committee.votes(X).reshape(len(X), -1).astype(float)
    target = 2.0 * y - 1.0 if kind is QuadBoostClassifier else y
    H, r = H - share @ H, target - share @ target
    c = H.T @ (share * (r - H @ committee.weights))
    assert committee.n_voters > 10 and (np.abs(committee.weights) < 0.2).all()
    assert_allclose(committee.weights, 0.2 * np.tanh(c / (0.05 * 0.2)), atol=1e-4)


def test_strengths_are_chosen_and_followed():
    X, y = load_breast_cancer(return_X_y=True)
    path = quadboost_path(X[:, :5], y, penalty="kl", n_alphas=4, n_thresholds=4)
    assert (path.gaps <= 1e-4).all() and (np.diff(path.risks) < 0).all()
    assert (np.abs(path.weights) < 0.3).all()
    chosen = QuadBoostClassifierCV("kl", n_alphas=3, n_thresholds=3, cv=3).fit(X[:, :5], y)
    assert chosen.score(X[:, :5], y) > 0.88
    three = QuadBoostClassifier("kl", alpha=0.1, n_estimators=30).fit(*numbers(3))
    assert three.score(*numbers(3)) > 0.6


def test_refusals():
    X, y = numbers(2)
    with pytest.raises(ValueError, match="penalty='kl' needs alpha > 0; with 0 only the bound is left"):
        QuadBoostClassifier("kl", alpha=0.0).fit(X, y)
    with pytest.raises(ValueError, match="for penalty='kl' the theory names no value"):
        QuadBoostClassifier("kl", alpha="theory").fit(X, y)
    with pytest.raises(ValueError, match="alphas holds 0, where penalty='kl' is the bound"):
        quadboost_path(X, y, penalty="kl", alphas=[0.0, 1.0])
