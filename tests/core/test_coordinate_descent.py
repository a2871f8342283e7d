"""Coordinate steps on a penalised quadratic, beside the paper's rules on the rows themselves."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from committee import _core
from committee.objectives.programs.penalties import PENALTIES as CLASSES
from committee.objectives.programs.penalties import NoPenalty
from tests.oracles import votes as oracle

PENALTIES: Any = st.one_of(
    st.just(("none", 0.0)),
    st.tuples(st.sampled_from(["l1", "l2", "linf"]), st.sampled_from([0.0, 0.01, 0.1, 0.5])).filter(
        lambda penalty: penalty != ("linf", 0.0)
    ),
)


@st.composite
def votes(draw: st.DrawFn) -> tuple[NDArray[np.float64], ...]:
    """A vote matrix, targets and weights that sum to one."""
    n, N = draw(st.integers(2, 40)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    H = rng.choice([-1.0, 0.0, 1.0], size=(n, N), p=[0.45, 0.1, 0.45])
    w = rng.exponential(size=n)
    return H, np.where(rng.random(n) < 0.5, -1.0, 1.0), w / w.sum()


def products(H: Any, y: Any, w: Any) -> tuple[Any, Any]:
    return np.ascontiguousarray((H.T * w) @ H), H.T @ (w * y)


@given(votes(), PENALTIES, st.booleans())
def test_rounds_are_the_papers(case, penalty, as_new):
    H, y, w = case
    gram, b = products(H, y, w)
    c, alpha = b.copy(), np.zeros(len(b))
    voter, weight, fall = _core.greedy_rounds(gram, c, alpha, *penalty, as_new, 6, 1e-9)
    chosen, weights, falls = oracle.rounds(H, y, w, *penalty, 6, 1e-9, as_new=as_new)
    assert_allclose(c, H.T @ (w * (y - H @ alpha)), atol=1e-12)
    # where two voters lower the risk alike, rounding may pick either, and later rounds differ
    same = 0
    while same < min(len(chosen), len(voter)) and voter[same] == chosen[same]:
        same += 1
    assert_allclose(weight[:same], weights[:same], rtol=1e-9, atol=1e-12)
    assert_allclose(fall[:same], falls[:same], rtol=1e-6, atol=1e-12)


@given(votes(), PENALTIES, st.booleans())
def test_every_round_lowers_the_risk_by_what_it_says(case, penalty, as_new):
    H, y, w = case
    gram, b = products(H, y, w)
    c, alpha = b.copy(), np.zeros(len(b))
    before, penalised = oracle.objective(H, y, w, alpha, "none", 0.0), oracle.objective(H, y, w, alpha, *penalty)
    for _ in range(10):
        _, _, fall = _core.greedy_rounds(gram, c, alpha, *penalty, as_new, 1, 1e-12)
        after = oracle.objective(H, y, w, alpha, "none", 0.0)
        assert before - after == pytest.approx(fall.sum(), abs=1e-12)
        before = after
        if not as_new:
            assert oracle.objective(H, y, w, alpha, *penalty) <= penalised + 1e-12
            penalised = oracle.objective(H, y, w, alpha, *penalty)


@given(votes(), st.sampled_from([0.0, 0.05, 0.2]), st.sampled_from(["l1", "l2"]))
def test_penalised_risk_falls_by_the_squared_excess_over_eta(case, strength, name):
    H, y, w = case
    gram, b = products(H, y, w)
    eta = np.diag(gram)
    excess = np.maximum(np.abs(b) - strength, 0.0) if name == "l1" else b
    below = eta if name == "l1" else eta + strength
    expected = np.max(np.divide(excess**2, below, out=np.zeros(len(b)), where=eta > 0))
    _, weight, fall = _core.greedy_rounds(gram, b.copy(), np.zeros(len(b)), name, strength, True, 1, 0.0)
    paid = CLASSES[name](strength).cost(weight)
    assert (fall - paid).sum() == pytest.approx(expected, abs=1e-12)


@given(votes(), PENALTIES)
def test_python_says_the_same_as_the_kernel(case, penalty):
    H, y, w = case
    gram, b = products(H, y, w)
    c, alpha = b.copy(), np.zeros(len(b))
    _core.greedy_rounds(gram, c, alpha, *penalty, False, 3, 0.0)
    rule = CLASSES.get(penalty[0], NoPenalty)(penalty[1])
    falls, best = rule.decrease(c, np.diag(gram), alpha)
    voter, weight, fall = _core.greedy_rounds(gram, c.copy(), alpha.copy(), *penalty, False, 1, 0.0)
    if len(voter):
        j = int(voter[0])
        assert falls[j] == pytest.approx(falls.max(), rel=1e-9)
        assert weight[0] == pytest.approx(best[j])
        assert falls[j] == pytest.approx(fall[0] - (rule.cost(best) - rule.cost(alpha))[j], abs=1e-14)
    _, distance = _core.cyclic_sweeps(gram, c, alpha, *penalty, 0.0, 0)
    assert rule.distance(c, alpha).max() == pytest.approx(distance, abs=1e-14)


@given(votes(), PENALTIES)
def test_sweeps_end_at_an_optimum(case, penalty):
    H, y, w = case
    gram, b = products(H, y, w)
    c, alpha = b.copy(), np.zeros(len(b))
    sweeps, distance = _core.cyclic_sweeps(gram, c, alpha, *penalty, 1e-9, 20_000)  # type: ignore[arg-type]
    if sweeps == 20_000:
        return  # nearly the same voters: the bound is the step's own, tested through `reweight`
    assert distance <= 1e-9
    least = oracle.objective(H, y, w, alpha, *penalty)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = alpha + 0.1 * rng.normal(size=len(alpha))
        if penalty[0] == "linf":
            other = np.clip(other, -penalty[1], penalty[1])
        assert least <= oracle.objective(H, y, w, other, *penalty) + 1e-8


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.uint16, np.uint32]), st.booleans())
def test_a_path_on_counts_is_that_on_products(seed, count, centred):
    """Weights are at the optimum of each strength, whichever way the products are known."""
    rng = np.random.default_rng(seed)
    n, sizes = int(rng.integers(2, 60)), rng.integers(0, 12, size=int(rng.integers(1, 5)))
    start = np.concatenate([[0], np.cumsum(sizes)])
    N = int(start[-1])
    H, y = rng.choice([-1.0, 1.0], size=(n, N)), rng.choice([-1.0, 1.0], size=n)
    mean = H.mean(axis=0) if centred else np.zeros(N)
    y = y - y.mean() if centred else y
    apart = ((n - H.T @ H) / 2.0).astype(count)
    gram, b = np.ascontiguousarray(H.T @ H / n - np.outer(mean, mean)), (H - mean).T @ y / n
    square = float(y @ y / n)
    rest = b, square, start, np.geomspace(1.0, 0.05, 6), 1e-10, 10_000
    of_counts = _core.lasso_path_of_votes(apart, mean, 1.0 / n, 1.0, *rest)
    of_products = _core.lasso_path(gram, *rest)
    for weights, gaps, risks in (of_counts, of_products):
        assert gaps.max() <= 1e-10
        for strength, alpha, risk in zip(rest[3], weights, risks, strict=True):
            residual = y - (H - mean) @ alpha
            assert risk == pytest.approx(residual @ residual / n, abs=1e-12)
            assert np.abs((H - mean).T @ residual / n).max(initial=0.0) <= strength + 1e-4
    assert_allclose(of_counts[2], of_products[2], atol=1e-6)


@example(seed=643, size=5, twice=True)  # a stump that another says all of was left with a weight of 2e-16
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 5, 30, 70]), st.booleans())
def test_a_path_over_stumps_of_columns_ends_at_the_optimum(seed, size, twice):
    """Neighbouring stumps are much alike, or the same; more than 64 of a column go another way."""
    rng = np.random.default_rng(seed)
    n, p = 100, 3
    X = rng.normal(size=(n, p))
    edges = np.sort(rng.normal(size=(p, size)), axis=1)
    if twice:
        edges[:, 1::2] = edges[:, : 2 * (size // 2) : 2]
    H = np.where(X[:, :, None] > edges, 1.0, -1.0).reshape(n, p * size)
    y = X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.3 * rng.normal(size=n)
    H, y = H - H.mean(axis=0), y - y.mean()
    gram, b, square = np.ascontiguousarray(H.T @ H / n), H.T @ y / n, float(y @ y / n)
    strengths = np.abs(b).max() * np.geomspace(1.0, 0.01, 8)
    weights, gaps, _ = _core.lasso_path(gram, b, square, size * np.arange(p + 1), strengths, 1e-10, 10_000)
    assert gaps.max() <= 1e-10
    for strength, alpha in zip(strengths, weights, strict=True):
        c = H.T @ (y - H @ alpha) / n
        # a gap of g leaves the risk g from its least, and moves no correlation by more than the root of that
        assert np.abs(c).max() <= strength + 2e-5
        assert np.abs(c - strength * np.sign(alpha))[alpha != 0.0].max(initial=0.0) <= 2e-5


def test_voters_without_votes_are_never_taken():
    gram = np.zeros((2, 2))
    voter, _, _ = _core.greedy_rounds(gram, np.zeros(2), np.zeros(2), "none", 0.0, True, 5, 0.0)
    assert len(voter) == 0


def test_what_does_not_fit_is_refused():
    one = np.ones(1)
    for message, gram, c, alpha, *penalty in (
        ("square", np.ones((2, 3)), np.ones(2), np.ones(2), "none", 0.0),
        ("penalty must be", one[None], one, one, "l3", 0.0),
        ("strength", one[None], one, one, "l1", -1.0),
    ):
        with pytest.raises(ValueError, match=message):
            _core.greedy_rounds(gram, c, alpha, *penalty, True, 1, 0.0)
    with pytest.raises(ValueError, match="one number per voter"):
        _core.cyclic_sweeps(np.ones((2, 2)), np.ones(3), np.ones(2), "none", 0.0, 0.0, 1)
