"""Penalties: kernels against NumPy, optima against other solvers, re-weighting, and a penalty of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, minimize
from scipy.special import rel_entr
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import ElasticNet, Lasso, Ridge

from committee import QuadBoostClassifier, QuadBoostClassifierCV, QuadBoostRegressor, quadboost_path
from committee.learners.boosting.quadboost_rounds import WeightHistory
from committee.objectives.programs.penalised_least_squares import (
    Penalty,
    cyclic_sweeps,
    first_largest,
    greedy_rounds,
    reweight,
)
from committee.objectives.programs.penalties import PENALTIES, KLPenalty, L1Penalty, L2Penalty, LinfPenalty, NoPenalty
from tests.oracles import votes as oracle
from tests.subjects import noisy_scores, numbers, weights

F64 = NDArray[np.float64]
ALL = [NoPenalty(), L1Penalty(0.03), L2Penalty(0.1), LinfPenalty(0.15)]


def products(seed: int = 0, n: int = 60, N: int = 12) -> tuple[F64, F64]:
    rng = np.random.default_rng(seed)
    H = rng.choice([-1.0, 1.0], size=(n, N))
    y = np.sign(H[:, 0] + H[:, 3] + rng.normal(size=n))
    return H.T @ H / n, H.T @ y / n


def without_kernel(penalty: Penalty) -> Penalty:
    kind: Any = type(penalty)
    made: Penalty = type("InNumPy", (kind,), {"kernel": None})(penalty.strength)
    return made


@pytest.mark.parametrize("penalty", ALL, ids=str)
@pytest.mark.parametrize("as_new", [True, False])
def test_rounds_in_numpy_are_those_of_the_kernel(penalty: Penalty, as_new: bool) -> None:
    gram, b = products()
    found = []
    for rule in (penalty, without_kernel(penalty)):
        c, alpha = b.copy(), np.zeros(len(b))
        found.append((*greedy_rounds(rule, gram, c, alpha, as_new=as_new, n_rounds=15, least=1e-9), c, alpha))
    assert_array_equal(found[0][0], found[1][0])
    for native, other in zip(found[0][1:], found[1][1:], strict=True):
        assert_allclose(native, other, atol=1e-12)


@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_sweeps_in_numpy_end_where_the_kernels_do(penalty: Penalty) -> None:
    gram, b = products()
    weights = []
    for rule in (penalty, without_kernel(penalty)):
        c, alpha = b.copy(), np.zeros(len(b))
        assert cyclic_sweeps(rule, gram, c, alpha, 1e-12, 1000) <= 1e-12
        assert_allclose(c, b - gram @ alpha, atol=1e-12)
        weights.append(alpha)
    assert_allclose(*weights, atol=1e-10)


@dataclass(frozen=True)
class Elastic(Penalty):
    """lambda (2 |alpha| + alpha^2), of which the library knows nothing."""

    def best(self, own: F64, eta: F64) -> F64:
        return np.sign(own) * np.maximum(np.abs(own) - self.strength, 0.0) / (eta + self.strength)

    def cost(self, alpha: F64) -> F64:
        return self.strength * (2.0 * np.abs(alpha) + alpha**2)

    def distance(self, c: F64, alpha: F64) -> F64:
        off = np.maximum(np.abs(c) - self.strength, 0.0)
        return np.where(alpha == 0.0, off, np.abs(c - self.strength * (np.sign(alpha) + alpha)))

    @property
    def ridge(self) -> float:
        return self.strength

    def slope(self, alpha: F64) -> F64:
        return self.strength * np.sign(alpha)

    def free(self, alpha: F64) -> NDArray[np.bool_]:
        return alpha != 0.0

    def stops(self, alpha: F64, step: F64) -> tuple[NDArray[np.bool_], F64]:
        return np.sign(alpha + step) != np.sign(alpha), np.zeros(len(alpha))


@pytest.mark.parametrize("dictionary", ["stumps", "all_stumps"])
def test_a_penalty_from_outside_needs_a_class_and_a_line(dictionary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PENALTIES, "elastic", Elastic)
    X, y = load_breast_cancer(return_X_y=True)
    chosen: Any = "elastic"
    model = QuadBoostClassifier(
        chosen, alpha=0.02, dictionary=dictionary, reweight="fully_corrective", n_estimators=60, tol=1e-7
    ).fit(X, y)
    H = model.committee_.votes(X).astype(np.float64)
    # scikit-learn's penalty is alpha (l1_ratio |w| + (1 - l1_ratio) w^2 / 2), beside half our risk
    peer = ElasticNet(alpha=0.04, l1_ratio=0.5, tol=1e-12, max_iter=100_000).fit(H, 2.0 * y - 1.0)
    assert_allclose(model.committee_.weights, peer.coef_, atol=1e-6)
    with pytest.raises(ValueError, match="The risk bound gives no strength for this penalty"):
        QuadBoostClassifier(chosen, alpha="theory", dictionary=dictionary).fit(X, y)
    assert np.isnan(Elastic(0.02).gap(np.ones(2), np.zeros(2), np.ones(2), 1.0)), "no bound of it is known"


def correlated_products(seed, n=60, T=8):
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
    gram, b = correlated_products(seed)
    penalty, alpha = KLPenalty(strength, bound), np.zeros(len(b))
    reached = reweight(gram, b, alpha, penalty, 1e-8)
    assert reached <= 1e-8 and (np.abs(alpha) < bound).all()

    def risk(alpha):
        return alpha @ gram @ alpha - 2.0 * alpha @ b + penalty.cost(alpha).sum()

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


def problem(seed: int, n: int = 60, N: int = 12, alike: bool = False) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    if alike:  # thresholds on one column: neighbours differ in few rows
        x = np.sort(rng.normal(size=n))
        H = np.where(x[:, None] > x[:: n // N][1 : N + 1], 1.0, -1.0)
    else:
        H = rng.choice([-1.0, 1.0], size=(n, N))
    w = rng.exponential(size=n)
    y = np.sign(H[:, 0] + H[:, 3] + rng.normal(size=n))
    return H, y, w / w.sum()


def solved(H: Any, y: Any, w: Any, penalty: Penalty, tol: float = 1e-11) -> tuple[Any, float]:
    alpha = np.zeros(H.shape[1])
    distance = reweight((H.T * w) @ H, H.T @ (w * y), alpha, penalty, tol)
    return alpha, distance


@given(st.integers(0, 2**32 - 1), st.sampled_from(ALL), st.booleans())
def test_zero_is_in_the_subdifferential(seed: int, penalty: Penalty, alike: bool) -> None:
    H, y, w = problem(seed, alike=alike)
    alpha, distance = solved(H, y, w, penalty)
    assert distance <= 1e-11
    # from the rows, not from the products
    c = H.T @ (w * (y - H @ alpha))
    assert penalty.distance(c, alpha).max() <= 1e-10


@pytest.mark.parametrize(
    ("penalty", "peer", "atol"),
    [
        # scikit-learn halves the squared error and the penalty alike
        (L1Penalty(0.03), Lasso(alpha=0.03, fit_intercept=False, tol=1e-12, max_iter=100_000), 1e-6),
        (L2Penalty(0.1), Ridge(alpha=0.1, fit_intercept=False, solver="cholesky"), 1e-9),
    ],
    ids=str,
)
@given(st.integers(0, 2**32 - 1))
def test_l1_and_l2_are_scikit_learns_lasso_and_ridge(penalty: Penalty, peer: Any, atol: float, seed: int) -> None:
    H, y, w = problem(seed)
    alpha, _ = solved(H, y, w, penalty)
    assert_allclose(alpha, peer.fit(H, y, sample_weight=w).coef_, atol=atol)


@given(st.integers(0, 2**32 - 1))
def test_linf_is_least_squares_in_a_box(seed: int) -> None:
    H, y, w = problem(seed)
    alpha, _ = solved(H, y, w, LinfPenalty(0.15))
    root = np.sqrt(w)
    peer = lsq_linear(H * root[:, None], y * root, bounds=(-0.15, 0.15), tol=1e-13, lsq_solver="exact")
    assert oracle.objective(H, y, w, alpha, "linf", 0.15) <= float(w @ (y - H @ peer.x) ** 2) + 1e-12
    assert_allclose(alpha, peer.x, atol=1e-5)


@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_voters_that_are_the_same_share_their_weight_or_not_but_the_risk_is_least(penalty: Penalty) -> None:
    H, y, w = problem(0)
    twice = np.hstack([H, H[:, :3], -H[:, 3:5], np.zeros((len(H), 1))])
    alpha, distance = solved(twice, y, w, penalty, tol=1e-9)
    assert distance <= 1e-9
    once, _ = solved(H, y, w, penalty)
    least = oracle.objective(H, y, w, once, str(penalty.kernel), penalty.strength)
    assert oracle.objective(twice, y, w, alpha, str(penalty.kernel), penalty.strength) <= least + 1e-9


def test_it_may_start_anywhere() -> None:
    H, y, w = problem(1)
    for penalty in ALL:
        alpha = np.random.default_rng(0).normal(size=H.shape[1])
        reweight((H.T * w) @ H, H.T @ (w * y), alpha, penalty, 1e-11)
        assert_allclose(alpha, solved(H, y, w, penalty)[0], atol=1e-8)


def test_the_distance_is_told_where_the_steps_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.objectives.programs.penalised_least_squares.MOST_STEPS", 1)
    monkeypatch.setattr("committee.objectives.programs.penalised_least_squares.SWEEPS_BETWEEN", 1)
    H, y, w = problem(0, alike=True)
    penalty = L1Penalty(0.03)
    alpha, distance = solved(H, y, w, penalty)
    assert distance > 1e-6
    monkeypatch.undo()
    best, settled = solved(H, y, w, penalty)
    assert settled <= 1e-11 and penalised(H, y, w, best, penalty) <= penalised(H, y, w, alpha, penalty)


def penalised(H: Any, y: Any, w: Any, alpha: Any, penalty: Penalty) -> float:
    return float(w @ (y - H @ alpha) ** 2 + penalty.cost(alpha).sum())


def test_no_voters_need_no_weights() -> None:
    assert reweight(np.zeros((0, 0)), np.zeros(0), np.zeros(0), NoPenalty(), 1e-9) == 0.0


def test_ties_go_to_the_first() -> None:
    assert first_largest(np.array([0.1, 0.3, 0.3 * (1 + 1e-12), 0.2])) == 1
    assert first_largest(np.empty(0)) == -1


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.floats(-1, 1)), min_size=1, max_size=4), max_size=12))
def test_history_goes_back_to_any_round(rounds: list[list[tuple[int, float]]]) -> None:
    history, weights, order = WeightHistory(), {}, []
    for t, changes in enumerate(rounds):
        changed = dict(changes)
        history.add(np.array(list(changed)), np.array(list(changed.values())))
        weights |= changed
        order += [voter for voter in changed if voter not in order]
        voter, weight = history.after(t + 1)
        assert voter.tolist() == order
        assert weight.tolist() == [weights[j] for j in order]
        assert dict(zip(*(part.tolist() for part in history.changes(t)), strict=True)) == changed
    assert len(history) == len(rounds)
    assert history.after(0)[0].tolist() == []
