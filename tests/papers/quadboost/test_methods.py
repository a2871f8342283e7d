"""The six methods of the QuadBoost document: grids, choices on folds, LPBoost's penalty."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_wine

from committee.papers.quadboost.methods import FULL, LEARNERS, QUICK, BestEdgeSearch, GrownSearch, LPBoostSearch, worth
from committee.papers.quadboost.tables import (
    ADABOOST,
    ANEW_L2,
    ANEW_LINF,
    GINI,
    L1,
    L2,
    LINF,
    LPBOOST,
    METHODS,
    VANILLA,
)
from committee.report.folds import stratified_folds


def test_grids_are_the_documents():
    assert FULL.grid(-4, 0) == pytest.approx(10 ** np.linspace(-4, 0, 10))
    assert FULL.rounds(2, 6)[0] == 100 and FULL.rounds(2, 6)[-1] == 10**6
    assert len(FULL.rounds(0, 3)) == 10
    assert LEARNERS[ADABOOST].tried(FULL) == FULL.rounds(2, 6)
    assert LEARNERS[GINI].tried(FULL) == [100, 278, 774, 2154, 5995]
    assert LEARNERS[ADABOOST].tried(replace(FULL, max_rounds=50)) == [50]
    assert tuple(LEARNERS) == (*METHODS, GINI, ANEW_L2, ANEW_LINF)
    assert [m for m in LEARNERS if not LEARNERS[m].quadratic] == [LPBOOST, ADABOOST, GINI]


def greedy(H, y, rounds, weight, fall):
    """The document's rounds as they are written: the voter, its weight, on to the residual of the sum."""
    F = np.zeros(len(y))
    for _ in range(rounds):
        c, eta = H.T @ (y - F) / len(y), (H * H).mean(axis=0)
        gain = fall(c, eta)
        j = int(np.argmax(gain >= gain.max() * (1 - 1e-10)))
        F += weight(c[j], eta[j]) * H[:, j]
    return F


@pytest.mark.parametrize(
    ("method", "params", "weight", "fall"),
    [
        (VANILLA, {}, lambda c, eta: c / eta, lambda c, eta: c**2 / eta),
        (L2, {"alpha": 10.0}, lambda c, eta: c / (eta + 10), lambda c, eta: c**2 / (eta + 10)),
        (
            LINF,
            {"alpha": 0.02},
            lambda c, eta: np.clip(c / eta, -0.02, 0.02),
            lambda c, eta: c**2 / eta - np.maximum(np.abs(c) - 0.02 * eta, 0) ** 2 / eta,
        ),
    ],
)
def test_a_voter_that_is_chosen_again_is_one_voter_more(method, params, weight, fall):
    X, y = load_wine(return_X_y=True)
    X, y = np.round(X[:, :3] * 2), np.where(y == 1, 1, -1)
    X = np.minimum(X - X.min(axis=0), 10)
    H = np.column_stack([np.where(x > k, 1.0, -1.0) for x in X.T for k in np.unique(x)[:-1]])
    model = LEARNERS[method].fit(X, y, {**params, "rounds": 60})
    assert model.committee_.intercept is None and model.committee_.n_voters < 60
    np.testing.assert_allclose(model.decision_function(X), greedy(H, y, 60, weight, fall), atol=1e-9)


def test_l1_goes_on_until_no_voter_is_left():
    X, y = load_wine(return_X_y=True)
    X, y = np.minimum(np.round(X[:, :3]), 16) % 11, np.where(y == 1, 1, -1)
    method = LEARNERS[L1]
    H = np.column_stack([np.where(x > k, 1.0, -1.0) for x in X.T for k in np.unique(x)[:-1]])
    for alpha in (0.3, 0.05, 0.004):
        model = method.fit(X, y, {"alpha": alpha})
        assert np.abs(H.T @ (y - model.decision_function(X))).max() / len(y) <= alpha + 1.01e-6
    folds = stratified_folds((y > 0).astype(np.intp), 3, 1, 0)
    plan = replace(FULL, values=4)
    params, error = method.choose(X, y, folds, plan)
    wrong = {}
    for alpha in plan.grid(-4, 0)[:-1]:
        fits = [(method.fit(X[train], y[train], {"alpha": alpha}), test) for train, test in folds]
        wrong[alpha] = sum((model.predict(X[test]) != y[test]).sum() for model, test in fits)
    best = min(sorted(wrong, reverse=True), key=wrong.get)
    assert params == {"alpha": pytest.approx(best)} and error == pytest.approx(wrong[best] / len(y), abs=0.01)


@pytest.mark.parametrize("search", [BestEdgeSearch, GrownSearch])
def test_adaboost_is_read_off_one_run_per_fold(search):
    X, y = load_wine(return_X_y=True)
    X, y = np.minimum(np.round(X[:, :3]), 16) % 11, np.where(y == 1, 1, -1)
    folds = stratified_folds((y > 0).astype(np.intp), 3, 1, 0)
    method, plan = search((0, 2)), replace(FULL, values=4)
    params, error = method.choose(X, y, folds, plan)
    wrong = {}
    for T in plan.rounds(0, 2):
        fits = [(method.fit(X[train], y[train], {"rounds": T}), test) for train, test in folds]
        wrong[T] = sum((model.predict(X[test]) != y[test]).sum() for model, test in fits)
    assert params == {"rounds": min(wrong, key=wrong.get)}
    assert error == min(wrong.values()) / len(y)
    train, test = folds[0]
    errors = method.test_errors((X[train], y[train]), (X[test], y[test]), plan)
    model = method.fit(X[train], y[train], {"rounds": 100})
    assert list(errors) == [str(T) for T in plan.rounds(0, 2)]
    assert errors["100"] == pytest.approx((model.predict(X[test]) != y[test]).mean(), abs=1e-6)


def test_adaboost_takes_the_listed_stump_of_the_best_edge():
    """Columns of few values, one with missing numbers: every stump written out, with both sides for what is missing."""
    X, y = load_wine(return_X_y=True)
    X, y = np.minimum(np.round(X[:, :4]), 9), np.where(y == 1, 1, -1)
    X[::7, 2] = np.nan
    cuts = [(j, k) for j in range(4) for k in np.unique(X[~np.isnan(X[:, j]), j])[:-1]]
    H = [np.where(np.isnan(X[:, j]), gap, np.where(X[:, j] > k, 1, -1)) for j, k in cuts for gap in (-1, 1)]
    H = np.column_stack([*H, np.where(np.isnan(X[:, 2]), -1, 1)])
    F = np.zeros(len(y))
    for _ in range(40):
        D = np.exp(-y * F)
        edges = (D * y) @ H / D.sum()
        best = int(np.argmax(np.abs(edges)))
        F += 0.5 * np.log((1 + edges[best]) / (1 - edges[best])) * H[:, best]
    model = BestEdgeSearch((2, 6)).fit(X, y, {"rounds": 40})
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-8)
    assert (model.predict(X) == np.where(F > 0, 1, -1)).all() and model.committee_.n_voters <= 40


def solved(H, y, D):
    """max rho - D sum xi by linear programming: the value and the weights."""
    n, T = H.shape
    cost = np.concatenate([np.zeros(T), [-1.0], np.full(n, D)])
    signed = y[:, None] * H
    rows = np.hstack([-signed, np.ones((n, 1)), -np.eye(n)])
    equal = np.concatenate([np.ones(T), np.zeros(n + 1)])[None, :]
    bounds = [(0, None)] * T + [(None, None)] + [(0, None)] * n
    found = linprog(cost, rows, np.zeros(n), equal, [1.0], bounds)
    return -found.fun, found.x[:T]


def hinge(H, y, C):
    """min |a|_1 + C sum xi with margins of at least 1 - xi: the value."""
    n, T = H.shape
    rows = np.hstack([-y[:, None] * H, -np.eye(n)])
    return linprog(np.concatenate([np.ones(T), np.full(n, C)]), rows, -np.ones(n)).fun


class LinearProgram:
    """A stand-in for LPBoost: the columns and their complements are the voters."""

    def __init__(self, nu):
        self.nu = nu

    def fit(self, X, y):
        H = np.hstack([X, -X])
        self.value, weights = solved(H, y, 1.0 / (self.nu * len(y)))
        self.weights = weights[: X.shape[1]] - weights[X.shape[1] :]
        self.committee_ = SimpleNamespace(margins=lambda X, y: y * (X @ self.weights), n_voters=H.shape[1])
        return self

    def predict(self, X):
        return np.where(X @ self.weights > 0, 1, -1)


def noisy_votes(n=24, T=5, seed=0):
    random = np.random.default_rng(seed)
    y = random.choice([-1, 1], n)
    return np.where(random.random((n, T)) < 0.3, -y[:, None], y[:, None]).astype(float), y


@pytest.mark.parametrize("D", [1 / 24, 0.07, 0.2, 0.9])
def test_the_two_linear_programs_have_the_same_solutions(D):
    X, y = noisy_votes()
    H = np.hstack([X, -X])
    value, weights = solved(H, y, D)
    margins = y * (H @ weights)
    assert worth(margins, D)[0] == pytest.approx(value, abs=1e-9)
    assert worth(margins, D)[1] == pytest.approx(np.maximum(0, value + D * worth(margins, D)[1] - margins).sum())
    if value > 1e-6:
        assert hinge(H, y, D / value) == pytest.approx(1.0 / value, rel=1e-6)


def test_penalties_of_lpboost_are_found():
    X, y = noisy_votes()
    method = LPBoostSearch((-3, 3), LinearProgram)
    n = len(y)
    penalties = [1e-3, 0.1, 0.15, 0.3, 1e3]
    found = method.path(X, y, penalties)
    assert [nu for nu, _ in found] == sorted((nu for nu, _ in found), reverse=True)
    assert found[0][0] == 1.0, "less than any nu stands for: the vote of a single voter"
    for C, (nu, model) in zip(penalties[1:4], found[1:4], strict=True):
        value, _ = worth(model.committee_.margins(X, y), 1 / (nu * n))
        assert 1 / (nu * n) / value == pytest.approx(C, rel=0.03)
        assert hinge(np.hstack([X, -X]), y, C) == pytest.approx(1 / value, rel=0.03)


def test_lpboost_chooses_on_the_folds():
    X, y = noisy_votes(60, 6, seed=1)
    method = LPBoostSearch((-2, 1), LinearProgram)
    folds = stratified_folds((y > 0).astype(np.intp), 3, 1, 0)
    params, error = method.choose(X, y, folds, replace(QUICK, values=3))
    assert params["C"] in (pytest.approx(0.01), pytest.approx(10**-0.5), pytest.approx(10.0))
    wrong = 0
    for train, test in folds:
        [(_, model)] = method.path(X[train], y[train], [params["C"]])
        wrong += (model.predict(X[test]) != y[test]).sum()
    assert error == pytest.approx(wrong / 60, abs=2.1 / 60)
    assert method.fit(X, y, params).nu == params["nu"]
