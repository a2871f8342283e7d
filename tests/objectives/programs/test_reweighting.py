"""The best weights of given voters: optimality conditions, and peers that solve the same problem."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from scipy.optimize import lsq_linear
from sklearn.linear_model import Lasso, Ridge

from committee.learners.quadboost.rounds import WeightHistory
from committee.objectives.programs.coordinate_steps import first_largest
from committee.objectives.programs.penalties import L1Penalty, L2Penalty, LinfPenalty, NoPenalty
from committee.objectives.programs.penalty import Penalty
from committee.objectives.programs.reweighting import reweight
from tests.oracles import votes as oracle


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


PENALTIES = [NoPenalty(), L1Penalty(0.03), L2Penalty(0.1), LinfPenalty(0.15)]


@given(st.integers(0, 2**32 - 1), st.sampled_from(PENALTIES), st.booleans())
def test_zero_is_in_the_subdifferential(seed: int, penalty: Penalty, alike: bool) -> None:
    H, y, w = problem(seed, alike=alike)
    alpha, distance = solved(H, y, w, penalty)
    assert distance <= 1e-11
    # from the rows, not from the products
    c = H.T @ (w * (y - H @ alpha))
    assert penalty.distance(c, alpha).max() <= 1e-10


@given(st.integers(0, 2**32 - 1))
def test_l1_is_scikit_learns_lasso(seed: int) -> None:
    H, y, w = problem(seed)
    alpha, _ = solved(H, y, w, L1Penalty(0.03))
    peer = Lasso(alpha=0.03, fit_intercept=False, tol=1e-12, max_iter=100_000)
    # scikit-learn halves the squared error and the penalty alike
    peer.fit(H, y, sample_weight=w)
    assert_allclose(alpha, peer.coef_, atol=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_l2_is_scikit_learns_ridge(seed: int) -> None:
    H, y, w = problem(seed)
    alpha, _ = solved(H, y, w, L2Penalty(0.1))
    peer = Ridge(alpha=0.1, fit_intercept=False, solver="cholesky").fit(H, y, sample_weight=w)
    assert_allclose(alpha, peer.coef_, atol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_linf_is_least_squares_in_a_box(seed: int) -> None:
    H, y, w = problem(seed)
    alpha, _ = solved(H, y, w, LinfPenalty(0.15))
    root = np.sqrt(w)
    peer = lsq_linear(H * root[:, None], y * root, bounds=(-0.15, 0.15), tol=1e-13, lsq_solver="exact")
    assert oracle.objective(H, y, w, alpha, "linf", 0.15) <= float(w @ (y - H @ peer.x) ** 2) + 1e-12
    assert_allclose(alpha, peer.x, atol=1e-5)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
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
    for penalty in PENALTIES:
        alpha = np.random.default_rng(0).normal(size=H.shape[1])
        reweight((H.T * w) @ H, H.T @ (w * y), alpha, penalty, 1e-11)
        assert_allclose(alpha, solved(H, y, w, penalty)[0], atol=1e-8)


def test_the_distance_is_told_where_the_steps_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.objectives.programs.reweighting.MOST_STEPS", 1)
    monkeypatch.setattr("committee.objectives.programs.reweighting.SWEEPS_BETWEEN", 1)
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
