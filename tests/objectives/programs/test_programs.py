"""Programs: what they reach, what they prove, that growing one changes neither, and how interrupts end them."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee import LPBoostClassifier
from committee.data import parallel
from committee.data.parallel import in_own_thread
from committee.objectives.margins.multiclass_margins import ManyRows, distinct_lines, opposite_voters
from committee.objectives.programs import linear_programs as programs
from committee.objectives.programs.linear_programs import add_rows, run, simplex_solver
from committee.objectives.programs.simplex_quadratic import simplex_quadratic
from committee.objectives.programs.soft_margin import SoftMarginLP, SoftMarginSolution, lowest_mean, soft_margin
from tests.limits import PATIENCE, examples
from tests.oracles.margins import primal_program, value_of

seeds = st.integers(0, 2**32 - 1)
nus = st.one_of(st.sampled_from([0.01, 0.25, 0.5, 1.0]), st.floats(0.02, 1.0))


def votes_of(seed: int, *, abstain: bool = False, real: bool = False) -> NDArray[np.float64]:
    """Votes of a few voters, right more often than not, on a few rows."""
    rng = np.random.default_rng(seed)
    n, N = rng.integers(1, 40), rng.integers(1, 30)
    signed = rng.normal(rng.uniform(0.0, 0.8), 1.0, size=(n, N))
    if real:
        return signed
    return np.where(np.abs(signed) < 0.3, 0, np.sign(signed)) if abstain else np.sign(signed)


def assert_is_feasible(
    found: SoftMarginSolution, signed: NDArray[np.float64], nu: float, weights: NDArray[np.float64]
) -> None:
    alpha, u = found.weights, found.row_weights
    assert alpha.min() >= 0.0 and u.min() >= 0.0
    assert_allclose([alpha.sum(), u.sum()], 1.0, rtol=0, atol=1e-12)
    assert (u <= weights / (nu * weights.sum()) * (1 + 1e-12)).all()
    assert_allclose(found.margins, signed @ alpha, rtol=0, atol=1e-12)
    assert_allclose(found.value, value_of(signed @ alpha, nu, weights), rtol=0, atol=1e-12)
    assert_allclose(found.bound, (u @ signed).max(), rtol=0, atol=1e-12)


@given(seeds, nus, st.booleans(), st.booleans())
def test_primal_and_dual_agree_and_are_those_of_one_dense_program(seed, nu, abstain, real):
    signed = votes_of(seed, abstain=abstain, real=real)
    value, _ = primal_program(signed, nu)
    for generate in (False, True):
        found = soft_margin(signed, nu, generate=generate)
        assert_is_feasible(found, signed, nu, np.ones(len(signed)))
        assert abs(found.gap) < 1e-8
        assert_allclose(found.value, value, rtol=0, atol=1e-8)
        assert found.status == "Optimal"


@given(seeds, nus)
def test_weighted_rows_are_those_of_one_dense_program(seed, nu):
    signed = votes_of(seed)
    w = np.random.default_rng(seed).exponential(size=len(signed)) + 1e-3
    found = soft_margin(signed, nu, w)
    assert_is_feasible(found, signed, nu, w)
    assert abs(found.gap) < 1e-8
    assert_allclose(found.value, primal_program(signed, nu, w)[0], rtol=0, atol=1e-8)


@given(seeds, nus)
def test_a_row_of_weight_k_is_k_rows(seed, nu):
    signed = votes_of(seed)
    times = np.random.default_rng(seed).integers(0, 4, len(signed))
    times[0] += 1
    weighted, repeated = soft_margin(signed, nu, times), soft_margin(np.repeat(signed, times, axis=0), nu)
    assert_allclose(weighted.value, repeated.value, rtol=0, atol=1e-8)
    assert (weighted.row_weights[times == 0] == 0).all()


@given(seeds, st.integers(1, 5))
def test_a_program_grown_bit_by_bit_is_the_whole_one(seed, step):
    signed = votes_of(seed)
    program, before = SoftMarginLP(len(signed), 0.3), -np.inf
    for first in range(0, signed.shape[1], step):
        program.add_voters(signed[:, first : first + step])
        found = program.solve()
        assert len(program) == len(found.weights) == min(first + step, signed.shape[1])
        assert found.value >= before - 1e-9  # more voters cannot lower the margin
        before = found.value
    assert_allclose(found.value, primal_program(signed, 0.3)[0], rtol=0, atol=1e-8)


@given(seeds, nus)
def test_at_most_a_share_nu_has_a_margin_below_rho_and_at_least_nu_up_to_it(seed, nu):
    signed = votes_of(seed)
    found, n = soft_margin(signed, nu), len(signed)
    assert np.count_nonzero(found.margins < found.rho - 1e-9) <= nu * n * (1 + 1e-12)
    assert np.count_nonzero(found.margins <= found.rho + 1e-9) >= nu * n * (1 - 1e-9)
    # complementary slackness: rows above rho have no weight, rows below all that they may have
    cap = 1.0 / (nu * n)
    assert_allclose(found.row_weights[found.margins > found.rho + 1e-6], 0.0, atol=1e-6 * cap)
    assert_allclose(found.row_weights[found.margins < found.rho - 1e-6], cap, rtol=1e-6)


@given(seeds, nus)
def test_the_value_is_the_mean_of_the_lowest_margins(seed, nu):
    rng = np.random.default_rng(seed)
    m, w = rng.normal(size=20).round(1), rng.integers(1, 4, 20).astype(float)
    rho, value = lowest_mean(m, w / (nu * w.sum()))
    assert_allclose(value, value_of(m, nu, w), rtol=0, atol=1e-12)
    assert rho in m


def test_the_smallest_nu_is_the_hard_margin():
    rng = np.random.default_rng(0)
    signed = rng.choice([-1, 1], p=[0.2, 0.8], size=(30, 40))
    found = soft_margin(signed, 0.01)
    assert_allclose(found.value, found.margins.min(), atol=1e-9)
    assert_allclose(found.rho, found.margins.min(), atol=1e-9)
    for nu in (1e-200, 5e-324):  # caps beyond float64 are none
        assert_allclose(soft_margin(signed, nu).value, found.value, atol=1e-9)


def test_a_large_set_of_voters_is_left_out_for_the_most_part():
    rng = np.random.default_rng(1)
    signed = np.sign(rng.normal(0.3, 1.0, size=(60, 2000)))
    some, whole = soft_margin(signed, 0.3), soft_margin(signed, 0.3, generate=False)
    assert_allclose(some.value, whole.value, rtol=0, atol=1e-8)
    assert len(some.weights) == 2000 and np.count_nonzero(some.weights) <= 61


def test_many_rows_are_their_few_patterns_of_votes():
    rng = np.random.default_rng(5)
    signed = np.sign(rng.normal(0.5, 1.0, size=(3000, 9)))
    patterns, times = np.unique(signed, axis=0, return_counts=True)
    program = SoftMarginLP(3000, 0.35)
    for j in range(9):
        program.add_voters(signed[:, j : j + 1])
        found = program.solve()
        value, _ = primal_program(patterns[:, : j + 1], 0.35, times.astype(float))
        assert_allclose(found.value, value, rtol=0, atol=1e-8)
        assert abs(found.gap) < 1e-8


def test_a_limit_gives_the_best_weights_so_far_and_their_gap():
    rng = np.random.default_rng(0)
    signed = np.sign(rng.normal(0.3, 1.0, size=(300, 200)))
    program = SoftMarginLP(300, 0.4, iteration_limit=3)
    program.add_voters(signed[:, :1])
    first = program.solve()
    program.add_voters(signed)
    with pytest.warns(ConvergenceWarning, match=r"stopped before the optimum \(Iteration limit.*below the largest"):
        found = program.solve()
    assert_is_feasible(found, np.hstack([signed[:, :1], signed]), 0.4, np.ones(300))
    assert found.value >= first.value - 1e-12
    best = primal_program(signed, 0.4)[0]
    assert 0 < best - found.value <= found.gap + 1e-8


def test_no_time_at_all_is_a_limit_too():
    signed = np.sign(np.random.default_rng(0).normal(0.3, 1.0, size=(300, 200)))
    program = SoftMarginLP(300, 0.4, time_limit=0.0)
    program.add_voters(signed)
    with pytest.warns(ConvergenceWarning, match="Time limit"):
        assert program.solve().gap > 0


def test_what_highs_cannot_solve_is_named():
    program = SoftMarginLP(4, 0.5)
    program.add_voters(np.ones((4, 1)))
    program.highs.changeColBounds(0, 100.0, 100.0)  # v must add up to 4
    with pytest.raises(RuntimeError, match=r"4 rows and 1 voters, nu=0.5, as 'Infeasible'"):
        program.solve()
    program = SoftMarginLP(4, 0.5)
    program.add_voters(np.ones((4, 1)))
    program.highs.deleteRows(1, np.array([1], dtype=np.int32))  # nothing holds beta
    with pytest.raises(RuntimeError, match="as 'Unbounded'"):
        program.solve()


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.01, np.nan])
def test_nu_outside_its_range_is_refused(nu):
    with pytest.raises(ValueError, match=r"nu=.* is not in \(0, 1\]"):
        soft_margin(np.ones((3, 2)), nu)


def test_bad_input_is_refused():
    for weights in ([], [1.0, -1.0], [0.0, 0.0], [1.0, np.inf], [[1.0]]):
        with pytest.raises(ValueError, match="weights must be one number for each row"):
            SoftMarginLP(weights, 0.5)
    program = SoftMarginLP(3, 0.5)
    with pytest.raises(ValueError, match="no voters"):
        program.solve()
    with pytest.raises(ValueError, match=r"shape \(2, 1\); it must be \(3, k\)"):
        program.add_voters(np.ones((2, 1)))
    with pytest.raises(ValueError, match="not finite"):
        program.add_voters(np.full((3, 1), np.nan))
    program.add_voters(np.ones((3, 0)))
    assert len(program) == 0
    for empty in (np.ones((0, 2)), np.ones((2, 0)), np.ones(3)):
        with pytest.raises(ValueError, match="at least one row and one voter"):
            soft_margin(empty, 0.5)
    with pytest.raises(ValueError, match="signed holds numbers that are not finite; votes must be finite"):
        soft_margin(np.array([[1.0, np.inf], [0.5, 1.0]]), 0.5)


MANY = "committee.learners.boosting.largest_margin.MANY_ROWS"


@settings(max_examples=examples(15, 200))
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.02, 0.2, 0.5, 0.9, 1.0]),
    st.sampled_from([0.45, 0.5, 0.7]),
    st.booleans(),
)
def test_value_and_bound_are_those_of_one_dense_program(seed, nu, right, complements):
    rng = np.random.default_rng(seed)
    n, T = int(rng.integers(1, 200)), int(rng.integers(1, 8))
    S = np.where(rng.random((n, T)) < right, 1, -1).astype(np.int8)
    if complements:
        S = np.concatenate([S, -S], axis=1)
    w = rng.choice([0.01, 1.0, 2.0, 3.0], n)
    program = ManyRows(w, nu)
    first = max(1, T // 2)
    program.add_voters(S[:, :first])
    program.solve()
    if first < S.shape[1]:
        program.add_voters(S[:, first:])
    found = program.solve()
    value, _ = primal_program(S.astype(float), nu, w / w.sum())
    assert_allclose([found.value, found.bound], value, rtol=0, atol=1e-8)
    cap = w / w.sum() / nu
    assert_allclose(found.row_weights.sum(), 1.0)
    assert found.row_weights.min() >= 0.0 and (found.row_weights <= cap * (1 + 1e-9)).all()
    assert_allclose(found.margins, S @ found.weights)
    assert_allclose(found.weights.sum(), 1.0)


def test_without_a_margin_two_opposite_voters_are_the_vote():
    rng = np.random.default_rng(0)
    S = rng.choice([-1, 1], (400, 5)).astype(np.int8)
    program = ManyRows(np.ones(400), 0.3)
    program.add_voters(np.concatenate([S, -S], axis=1))
    found = program.solve()
    assert_array_equal(np.sort(found.weights)[-2:], 0.5)
    assert_array_equal(found.margins, 0.0)
    assert found.bound <= 1e-10
    assert opposite_voters(S) is None


def test_equal_rows_are_one():
    S = np.array([[1, -1], [1, 1], [1, -1], [-1, 1]], dtype=np.int8)
    first, twin = distinct_lines(S)
    assert len(first) == 3
    assert_array_equal(S[first][twin], S)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_has_the_same_soft_margins_in_both_ways(n_classes, monkeypatch):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=300), [0.0, 0.8][: n_classes - 1])
    weights = rng.choice([0.0, 1.0, 2.0], 300)
    program = LPBoostClassifier(calibrate=None).fit(X, y, weights)
    monkeypatch.setattr(MANY, 1)
    rows = LPBoostClassifier(calibrate=None).fit(X, y, weights)
    assert_allclose(rows.soft_margin_, program.soft_margin_, rtol=0, atol=1e-8)
    assert rows.duality_gap_.max() < 1e-6
    repeated = np.repeat(np.arange(300), weights.astype(int))
    again = LPBoostClassifier(calibrate=None).fit(X[repeated], y[repeated])
    assert_allclose(again.soft_margin_, rows.soft_margin_, rtol=0, atol=1e-8)


def test_it_agrees_with_the_simplex_method_on_real_valued_row_weights():
    rng = np.random.default_rng(3)
    S, w = np.where(rng.random((500, 30)) < 0.6, 1, -1).astype(np.int8), rng.uniform(0.1, 1.0, 500)
    programs = SoftMarginLP(w, 0.4), ManyRows(w, 0.4)
    for each in programs:
        each.add_voters(S)
    one, other = (each.solve() for each in programs)
    assert_allclose([other.value, other.rho], [one.value, one.rho], rtol=0, atol=1e-9)


def moments(seed: int, T: int) -> np.ndarray:
    S = np.random.default_rng(seed).normal(size=(20, T))
    return S.T @ S / 20


@pytest.mark.parametrize("power", [-300, -100, -30, -14, -8, 8, 100, 300])
def test_the_scale_of_the_matrix_does_not_matter(power: int) -> None:
    for seed in range(20):
        Q = moments(seed, 2 + seed % 5)
        assert_allclose(simplex_quadratic(Q * 10.0**power)[0], simplex_quadratic(Q)[0], rtol=0, atol=1e-9)


def test_two_voters_have_a_closed_form() -> None:
    for seed in range(20):
        Q = moments(seed, 2)
        first = (Q[1, 1] - Q[0, 1]) / (Q[0, 0] + Q[1, 1] - 2.0 * Q[0, 1])
        weights, gap = simplex_quadratic(Q)
        assert weights[0] == pytest.approx(min(1.0, max(0.0, first)), abs=1e-12) and gap < 1e-12


def test_voters_that_are_alike_or_nothing_have_some_solution() -> None:
    for Q in (np.zeros((3, 3)), np.ones((3, 3)), np.diag([0.0, 1.0, 1.0])):
        weights, gap = simplex_quadratic(Q)
        least = 1.0 if Q[0, 1] else 0.0
        assert weights.min() >= 0.0 and weights.sum() == pytest.approx(1.0)
        assert weights @ Q @ weights == pytest.approx(least, abs=1e-12) and gap < 1e-12


class AlarmError(Exception):
    """The signal has come."""


def packing(n: int, p: int) -> Any:
    rng = np.random.default_rng(0)
    highs = simplex_solver(np.zeros(p), np.ones(p), -rng.random(p))
    add_rows(highs, np.full(n, -np.inf), np.ones(n), rng.normal(size=(n, p)))
    return highs


@pytest.mark.parametrize("large", [programs.LARGE, 10**4])
def test_a_signal_ends_the_simplex_method(monkeypatch, large):
    def ring(number: int, frame: FrameType | None) -> None:
        raise AlarmError

    monkeypatch.setattr(programs, "LARGE", large)
    highs = packing(500, 700)
    before, threads = signal.signal(signal.SIGPROF, ring), threading.active_count()
    used = time.process_time()
    try:
        with pytest.raises(AlarmError):
            signal.setitimer(signal.ITIMER_PROF, 0.1)  # of processor time, as is all that is measured here
            run(highs)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
    assert time.process_time() - used < 0.6
    begun = time.perf_counter()
    while threading.active_count() > threads and time.perf_counter() - begun < PATIENCE:
        time.sleep(0.01)  # its thread is at the end of a step
    assert threading.active_count() == threads


def test_a_program_in_a_thread_has_the_same_solution(monkeypatch):
    solutions = []
    for large in (programs.LARGE, 0):
        monkeypatch.setattr(programs, "LARGE", large)
        highs = packing(30, 40)
        assert run(highs)[1] == "Optimal"
        solutions.append(list(highs.getSolution().col_value))
    assert solutions[0] == solutions[1]


def test_a_thread_is_left_behind_by_an_interrupt_that_it_does_not_see(monkeypatch):
    stopped, ended = threading.Event(), threading.Event()
    monkeypatch.setattr(parallel, "wait", interrupted_once(parallel.wait))
    with pytest.raises(AlarmError):
        in_own_thread(lambda: ended.wait(5.0), stopped.set)
    assert stopped.is_set()
    ended.set()


def interrupted_once(wait: Any) -> Any:
    calls = []

    def waiting(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            raise AlarmError
        return wait(*arguments)

    return waiting
