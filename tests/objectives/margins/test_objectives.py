"""The objectives of the margins: equal to naive programs, and what each of them promises."""

import warnings

import numpy as np
import pytest
from highspy import HighsModelStatus
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning

from committee.objectives.margins.linear_objectives import (
    MinMargin,
    Percentile,
    Range,
    Rank,
    SoftMargin,
    Uniform,
    quantile,
)
from committee.objectives.margins.margin_costs import Doom, MinCq, Variance, project_on_simplex
from committee.objectives.margins.named_objectives import OBJECTIVES
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.soft_margin import interior_point
from committee.vote.signed_votes import SignedVotes
from tests.oracles import margins as oracle
from tests.oracles.margins import primal_program, value_of

seeds = st.integers(0, 2**32 - 1)
shares = st.one_of(st.sampled_from([0.05, 0.2, 0.5, 1.0]), st.floats(0.02, 1.0))
quick = settings(max_examples=60, deadline=None)


def lines_of(seed: int, *, most_rows: int = 40, most_voters: int = 15) -> MarginMatrix:
    """Two to four classes; votes of labels, with some who abstain, or numbers; own weights and row weights or none."""
    rng = np.random.default_rng(seed)
    n, T, rivals = rng.integers(2, most_rows), rng.integers(2, most_voters), rng.integers(1, 4)
    r = n * rivals
    S = rng.normal(rng.uniform(0.0, 0.8), 1.0, size=(r, T))
    if rng.random() < 0.7:
        S = np.where(np.abs(S) < 0.2, 0, np.sign(S)).astype(np.int8)
    own = rng.dirichlet(np.ones(T)) if rng.random() < 0.5 else np.full(T, 1.0 / T)
    if rng.random() < 0.3:
        own = own * rng.choice([-1.0, 1.0], size=T)
    weight = rng.integers(0, 4, n).astype(float) if rng.random() < 0.4 else None
    if weight is not None:
        weight[0] += 1.0
    asked = rng.random((n, T)) < 0.6 if rng.random() < 0.3 else None
    if asked is not None:
        asked[0, 0] = True
    row = np.repeat(np.arange(n), rivals)
    return MarginMatrix.of(SignedVotes(S, row, np.ones_like(row), int(n), own), weight, asked)


def dense(lines: MarginMatrix) -> np.ndarray:
    S = lines.taken(np.arange(len(lines)))
    assert_allclose(lines.values(lines.own), S @ lines.own, rtol=0, atol=1e-12)
    return S


def solved(objective, lines):
    """A solution, whether or not there was room; with what every solution has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = objective.solve(lines)
    w = found.weights
    assert_allclose(w.sum(), 1.0, rtol=0, atol=1e-9)
    assert_allclose(found.value, objective.value(lines, w), rtol=0, atol=1e-7)
    assert_allclose(found.before, objective.value(lines, lines.own), rtol=0, atol=1e-12)
    return found


@quick
@given(seeds, st.sampled_from(["uniform", "rank", "percentile"]), shares, st.sampled_from([0.0, 0.05, 0.3]))
def test_margin_maxima_are_those_of_one_dense_program_and_no_margin_falls(seed, kind, xi, slack):
    lines = lines_of(seed)
    S, own = dense(lines), lines.margins(lines.own)
    objective = {
        "uniform": Uniform(slack=slack),
        "rank": Rank(slack=slack, k=5.0),
        "percentile": Percentile(slack=slack, xi=xi),
    }[kind]
    found = solved(objective, lines)
    r = oracle.emphasised(kind, own, lines.row_weight, 5.0 if kind == "rank" else xi)
    status, value = oracle.rows_program(r, S, own - slack)
    assert status == 0
    assert_allclose(found.value, value, rtol=0, atol=2e-7)
    assert found.value >= found.before
    assert found.weights.min() >= 0.0
    assert (lines.margins(found.weights) - own).min() >= -slack - 2e-8
    assert 0.0 <= found.gap < 1e-7


@quick
@given(seeds, st.sampled_from([0.0, 0.1]))
def test_rows_taken_as_needed_are_all_rows(seed, slack):
    rng = np.random.default_rng(seed)
    S = np.where(rng.random((500, 8)) < rng.uniform(0.55, 0.9, 500)[:, None], 1, -1).astype(np.int8)
    lines = MarginMatrix.of_matrix(S)
    found = solved(Uniform(slack=slack), lines)
    _, value, _ = oracle.dense_program(S.mean(axis=0), S.astype(float), S.mean(axis=1) - slack)
    assert_allclose(found.value, value, rtol=0, atol=2e-8)
    assert found.n_rows_used <= 500
    least = solved(MinMargin(), lines)
    assert_allclose(least.value, oracle.least_margin(S.astype(float)), rtol=0, atol=2e-8)


def test_most_rows_are_never_looked_at_by_the_solver():
    rng = np.random.default_rng(0)
    S = np.where(rng.random((20_000, 30)) < rng.uniform(0.5, 0.9, 20_000)[:, None], 1, -1).astype(np.int8)
    found = Uniform(slack=0.1).solve(MarginMatrix.of_matrix(S))
    assert found.value > found.before and found.n_rows_used < 2_000 and found.rounds > 1


def test_where_the_own_weights_are_the_only_ones_it_says_so_and_keeps_them():
    rng = np.random.default_rng(0)
    S = np.where(rng.random((2_000, 10)) < 0.7, 1, -1).astype(np.int8)
    lines = MarginMatrix.of_matrix(S)
    with pytest.warns(ConvergenceWarning, match="keeps its own weights; raise slack"):
        found = Uniform().solve(lines)
    assert_array_equal(found.weights, lines.own)
    assert found.value == found.before
    assert solved(Uniform(slack=0.05), lines).value > found.before + 1e-3


@given(seeds, shares)
def test_a_quantile_is_the_least_margin_with_a_share_up_to_it(seed, xi):
    rng = np.random.default_rng(seed)
    m, w = rng.normal(size=12).round(1), rng.integers(1, 4, 12).astype(float)
    assert quantile(m, w / w.sum(), xi) == oracle.level(m, w / w.sum(), xi)


@quick
@given(seeds, shares)
def test_the_range_is_that_of_one_dense_program_or_names_the_largest_share(seed, xi):
    lines = lines_of(seed)
    S, own = dense(lines), lines.margins(lines.own)
    mean = lines.row_weight @ own

    def program(share):
        low = np.where(own <= mean, oracle.level(own, lines.row_weight, share), mean)
        return oracle.rows_program(lines.row_weight, S, low)

    status, value = program(xi)
    if status == oracle.INFEASIBLE:
        with pytest.raises(ValueError, match=rf"xi={xi}.*the largest feasible xi is ") as refused:
            Range(xi).solve(lines)
        largest = float(str(refused.value).split("feasible xi is ")[1].rstrip("."))
        assert 0.0 < largest < xi
        assert program(largest)[0] == 0
        Range(largest).solve(lines)
        assert program(min(1.0, largest + 1e-3 * largest + np.min(lines.row_weight)))[0] == oracle.INFEASIBLE
        return
    found = solved(Range(xi), lines)
    assert_allclose(found.value, value, rtol=0, atol=2e-7)
    now = lines.margins(found.weights)
    assert now[own <= mean].min() >= oracle.level(own, lines.row_weight, xi) - 1e-7
    assert now[own > mean].min(initial=np.inf) >= mean - 1e-7


@quick
@given(seeds)
def test_the_least_margin_is_that_of_one_dense_program_and_never_falls(seed):
    lines = lines_of(seed)
    found = solved(MinMargin(), lines)
    assert_allclose(found.value, oracle.least_margin(dense(lines)), rtol=0, atol=2e-8)
    assert found.value >= found.before - 1e-8
    assert 0.0 <= found.gap < 1e-7


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"most_rows": 400, "most_voters": 6},  # many rows alike, most of them far from the threshold
    ],
)
@quick
@given(seed=seeds, nu=shares)
def test_the_soft_margin_is_that_of_one_dense_program(sizes, seed, nu):
    lines = lines_of(seed, **sizes)
    found = solved(SoftMargin(nu), lines)
    value, _ = primal_program(dense(lines), nu, lines.row_weight, lines.lines_of_row)
    assert_allclose(found.value, value, rtol=0, atol=1e-7)
    assert_allclose(found.value, value_of(lines.margins(found.weights), nu, lines.row_weight), rtol=0, atol=1e-9)
    assert found.value >= found.before - 1e-9
    assert 0.0 <= found.gap < 1e-7


@quick
@given(seeds, st.floats(0.05, 0.95))
def test_an_interior_point_is_near_the_best_and_inside(seed, nu):
    lines = lines_of(seed, most_rows=100)
    cap = lines.row_weight / nu
    weights, u = interior_point(lines, cap)
    best, _ = primal_program(dense(lines), nu, lines.row_weight, lines.lines_of_row)
    value = value_of(lines.margins(weights), nu, lines.row_weight)
    assert best - 2e-3 <= value <= best + 1e-9
    assert weights.min() > 0.0 and u.min() > 0.0
    assert (u.sum(axis=1) < cap).all()
    assert lines.dots(u.ravel() / u.sum()).max() <= best + 2e-3


def test_a_part_of_many_rows_says_where_a_program_begins(monkeypatch):
    lines = lines_of(5, most_rows=400)
    whole = SoftMargin(0.4).solve(lines)
    monkeypatch.setattr("committee.objectives.margins.multiclass_margins.MOST_CELLS", lines.matrix.size // 3)
    assert_allclose(SoftMargin(0.4).solve(lines).value, whole.value, rtol=0, atol=1e-9)


@quick
@given(seeds)
def test_the_variance_on_the_simplex_satisfies_its_conditions_and_is_no_larger_than_before(seed):
    lines = lines_of(seed)
    S, share = dense(lines), lines.line_weight
    centre = share @ S @ lines.own
    found = solved(Variance("simplex"), lines)
    assert oracle.tangent_gap(S, share, centre, found.weights, None) < 1e-7
    assert found.value <= oracle.quadratic(S, share, centre, None, lines.own) + 1e-8
    now = S @ found.weights
    assert share @ (now - share @ now) ** 2 <= found.value + 1e-12
    assert found.value <= found.before + 1e-9
    assert 0.0 <= found.gap < 1e-7


@quick
@given(seeds)
def test_the_free_variance_is_least_squares(seed):
    lines = lines_of(seed, most_voters=8)
    S, root = dense(lines), np.sqrt(lines.line_weight)
    centre = lines.line_weight @ S @ lines.own
    w = np.linalg.lstsq(S * root[:, None], root * centre, rcond=None)[0]
    if w.sum() < 1e-6:
        return
    assert_allclose(solved(Variance("free"), lines).weights, w / w.sum(), rtol=1e-6, atol=1e-7)


@quick
@given(seeds, st.booleans())
def test_distances_are_those_of_one_dense_program(seed, largest):
    lines = lines_of(seed)
    S, share = dense(lines), lines.line_weight
    found = solved(Variance("chebyshev" if largest else "lad"), lines)
    value = oracle.distance_program(S, share, share @ S @ lines.own, largest)
    assert_allclose(found.value, value, rtol=0, atol=2e-7)
    assert found.value <= found.before + 1e-7
    assert 0.0 <= found.gap < 1e-7


@quick
@given(seeds, st.sampled_from([0.5, 0.75, 1.0]), st.sampled_from(["lts", "lms"]))
def test_the_robust_forms_leave_the_farthest_lines_out(seed, coverage, form):
    """No worse than both starts; the optimum of the lines that they keep; of all lines the convex form's."""
    lines = lines_of(seed)
    S, share = dense(lines), lines.line_weight
    centre = share @ S @ lines.own
    objective = Variance(form, coverage=coverage)
    found = solved(objective, lines)
    convex = Variance("simplex" if form == "lts" else "chebyshev")
    if coverage == 1.0:
        assert_allclose(found.value, solved(convex, lines).value, rtol=0, atol=1e-6)
    starts = (lines.own, solved(Variance(), lines).weights)
    assert found.value <= min(objective.value(lines, w) for w in starts) + 1e-9
    away = np.abs(S @ found.weights - centre)
    order = np.argsort(away, kind="stable")
    reach = np.cumsum(share[order])
    if form == "lms":
        assert_allclose(found.value, away[order][np.searchsorted(reach, coverage - 1e-12)], rtol=0, atol=1e-12)
        kept = away <= found.value + 1e-12
        assert oracle.distance_program(S[kept], share[kept], centre, largest=True) >= found.value - 1e-5
    else:
        taken = np.zeros(len(share))
        taken[order] = np.diff(np.minimum(reach, coverage), prepend=0.0)
        assert_allclose(found.value, taken @ away**2 / coverage, rtol=1e-9, atol=1e-12)
        assert oracle.tangent_gap(S, taken / coverage, centre, found.weights, None) < 1e-4
    assert np.isnan(found.gap) and found.status == "Local optimum"


def test_a_line_that_no_weights_suit_is_left_out_by_the_robust_forms():
    """Three voters who agree with each other on all rows but a few that all of them have wrong."""
    random = np.random.default_rng(4)
    S = np.where(random.random((60, 6)) < 0.8, 1, -1).astype(np.int8)
    S[:6] = -1
    lines = MarginMatrix.of_matrix(S)
    plain = lines.values(solved(Variance(target=0.6), lines).weights)
    for form in ("lts", "lms"):
        robust = lines.values(solved(Variance(form, target=0.6, coverage=0.8), lines).weights)
        others = np.abs(robust[6:] - 0.6)
        assert np.sort(others)[:48].max() <= np.sort(np.abs(plain[6:] - 0.6))[:48].max() + 1e-9


@quick
@given(seeds, st.floats(-1.0, 1.0))
def test_a_target_is_what_margins_come_close_to(seed, target):
    lines = lines_of(seed)
    S, share = dense(lines), lines.line_weight
    found = solved(Variance(target=target), lines)
    assert_allclose(found.value, share @ (S @ found.weights - target) ** 2, rtol=1e-9, atol=1e-12)
    assert oracle.tangent_gap(S, share, target, found.weights, None) < 1e-6
    lad = solved(Variance("lad", target=target), lines)
    assert_allclose(lad.value, oracle.distance_program(S, share, target, False), rtol=0, atol=2e-7)
    higher = solved(Variance(target=target + 0.5), lines)
    assert share @ S @ higher.weights >= share @ S @ found.weights - 1e-7, "a larger target, no smaller mean"


@quick
@given(seeds, st.one_of(st.none(), st.floats(0.0, 1.0)))
def test_mincq_has_the_mean_and_the_least_second_moment(seed, between):
    lines = lines_of(seed)
    S, share = dense(lines), lines.line_weight
    means = share @ S
    mu = None if between is None else float(means.min() + between * np.ptp(means))
    found = solved(MinCq(mu), lines)
    mean = means @ lines.own if mu is None else mu
    assert_allclose(means @ found.weights, mean, rtol=0, atol=1e-9)
    start = lines.own
    if mu is not None:
        start = np.zeros(len(means))
        start[np.argmin(means)], start[np.argmax(means)] = 1.0 - between, between
    assert found.value <= oracle.quadratic(S, share, 0.0, mean, start) + 1e-8
    if mu is None:
        assert found.value <= found.before
    if mu is None or 0.05 < between < 0.95:
        assert oracle.tangent_gap(S, share, 0.0, found.weights, mean) < 1e-6


@quick
@given(seeds, st.integers(2, 6))
def test_the_second_moment_of_lines_is_that_of_the_right_share_and_the_spread_of_the_wrong_ones(seed, K):
    rng = np.random.default_rng(seed)
    n, T = 12, 7
    H, truth, w = rng.integers(0, K, (n, T)), rng.integers(0, K, n), rng.dirichlet(np.ones(T))
    rival = np.array([[k for k in range(K) if k != own] for own in truth])
    S = (truth[:, None] == H)[:, None].astype(np.int8) - (H[:, None] == rival[:, :, None])
    lines = MarginMatrix.of(SignedVotes(S.reshape(-1, T), np.repeat(np.arange(n), K - 1), rival.ravel(), n, w))
    share = np.array([[w[H[i] == k].sum() for k in range(K)] for i in range(n)])
    right = share[np.arange(n), truth]
    wrong = np.take_along_axis(share, rival, axis=1)
    moment = (K / (K - 1)) ** 2 * np.mean((right - 1 / K) ** 2) + wrong.var(axis=1).mean()
    assert_allclose(MinCq().value(lines, w), moment, rtol=0, atol=1e-12)


@quick
@given(seeds, st.floats(0.5, 20.0))
def test_doom_never_costs_more_and_ends_where_no_voter_is_downhill(seed, steepness):
    lines = lines_of(seed)
    objective = Doom(steepness, restarts=1, max_iter=500)
    found = solved(objective, lines)
    assert found.value <= found.before + 1e-12
    assert found.weights.min() >= 0.0
    S, w = dense(lines), found.weights
    assert_allclose(found.value, oracle.sigmoid_cost(S, lines.row_weight, steepness, w), rtol=1e-9, atol=1e-12)
    slope = approx_fprime(w, lambda v: oracle.sigmoid_cost(S, lines.row_weight, steepness, v), 1e-7)
    if found.status == "Stationary":
        assert slope @ w - slope.min() < 1e-4 * steepness + 1e-5


@quick
@given(seeds, st.floats(0.5, 20.0))
def test_the_smooth_margin_of_doom_is_between_the_margin_and_its_limit(seed, steepness):
    lines = lines_of(seed)
    margins, objective = lines.margins(lines.own), Doom(steepness)
    above = np.log(lines.lines_of_row) / (4.0 * steepness)
    most = lines.row_weight @ (1.0 - np.tanh(steepness * margins))
    least = lines.row_weight @ (1.0 - np.tanh(steepness * (margins + above)))
    assert least - 1e-12 <= objective.value(lines, lines.own) <= most + 1e-12


def test_doom_is_the_same_every_time_and_more_starts_do_no_harm():
    lines = lines_of(12)
    one, other = Doom(restarts=3).solve(lines), Doom(restarts=3).solve(lines)
    assert_array_equal(one.weights, other.weights)
    assert one.value <= Doom(restarts=0).solve(lines).value


@given(seeds)
def test_a_projection_is_the_nearest_point_of_the_simplex(seed):
    rng = np.random.default_rng(seed)
    point = rng.normal(size=6)
    near = project_on_simplex(point)
    assert near.min() >= 0.0
    assert_allclose(near.sum(), 1.0)
    for other in rng.dirichlet(np.ones(6), size=20):
        assert (point - near) @ (other - near) <= 1e-12


@given(seeds)
def test_products_of_blocks_are_those_of_the_matrix(seed):
    lines = lines_of(seed)
    S, u = dense(lines), np.random.default_rng(seed).normal(size=len(lines))
    assert_allclose(lines.dots(u), S.T @ u, rtol=0, atol=1e-9)
    assert_allclose(lines.gram(), S.T @ (S * lines.line_weight[:, None]), rtol=0, atol=1e-9)
    assert_allclose(lines.line_weight.sum(), 1.0)
    assert_allclose(lines.margins(lines.own), oracle.row_margins(S, lines.own, lines.n_rows), rtol=0, atol=1e-12)


@given(seeds, st.integers(1, 4))
def test_the_lowest_lines_and_parts_are_those_of_the_matrix(seed, most):
    lines = lines_of(seed)
    S, n, k = dense(lines), lines.n_rows, lines.lines_of_row
    low = lines.lowest(most)
    assert low.lines_of_row == min(most, k)
    expected = np.sort((S @ lines.own).reshape(n, k), axis=1)[:, :most]
    assert_allclose(np.sort(low.values(low.own).reshape(n, -1), axis=1), expected, rtol=0, atol=1e-12)
    some, voters = np.arange(0, len(lines), 2), np.arange(lines.n_voters)[::-1]
    assert_array_equal(lines.part(some, voters), S[some][:, voters])
    assert_array_equal(lines.as_numbers().values(lines.own), lines.values(lines.own))


def test_a_row_of_weight_two_is_two_rows_for_every_objective():
    rng = np.random.default_rng(8)
    S = np.where(rng.random((30, 6)) < 0.75, 1, -1).astype(np.int8)
    times = rng.integers(0, 3, 30)
    weighted = MarginMatrix.of_matrix(S, row_weight=times.astype(float))
    repeated = MarginMatrix.of_matrix(np.repeat(S, times, axis=0))
    for name, kind in OBJECTIVES.items():
        if name in ("rank", "tandem"):  # ranks, and bounds on new rows, count rows and not weights
            continue
        one, other = solved(kind(), weighted), solved(kind(), repeated)
        assert_allclose(one.value, other.value, rtol=0, atol=1e-7, err_msg=name)


def test_numbers_that_are_whole_are_kept_as_bytes():
    S = np.array([[1.0, -1.0], [0.0, 1.0]])
    assert MarginMatrix.of_matrix(S).matrix.dtype == np.int8
    assert MarginMatrix.of_matrix(S * 0.5).matrix.dtype == np.float64


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(slack=-0.1), r"slack=-0\.1 must be finite and not negative"),
        (lambda: Uniform(tol=0.0), r"tol=0\.0 must be positive"),
        (lambda: Rank(k=np.inf), r"k=inf must be finite"),
        (lambda: Uniform(slack=True), r"slack=True must be finite and not negative"),
        (lambda: SoftMargin(True), r"nu=True is not in \(0, 1\]"),
        (lambda: Percentile(xi=0.0), r"xi=0\.0 is not in \(0, 1\]"),
        (lambda: Range(1.5), r"xi=1\.5 is not in \(0, 1\]"),
        (lambda: Range(tol=-1.0), r"tol=-1\.0 must be positive"),
        (lambda: MinMargin(tol=0.0), r"tol=0\.0 must be positive"),
        (lambda: SoftMargin(0.0), r"nu=0\.0 is not in \(0, 1\]"),
        (lambda: Variance("best"), r"form='best' is unknown; choose from free, simplex, lad, chebyshev, lts, lms"),
        (lambda: Variance(target=np.inf), r"target=inf must be a finite number or None"),
        (lambda: Variance("free", target=0.5), r"target=0.5 has no meaning for form='free'.* use form='simplex'"),
        (lambda: Variance("lts", coverage=0.0), r"coverage=0.0 is not in \(0, 1\]"),
        (lambda: MinCq(np.nan), r"mu=nan must be a finite number"),
        (lambda: Doom(steepness=0.0), r"steepness=0\.0 must be finite and positive"),
        (lambda: Doom(max_iter=0), r"max_iter=0 at least 1"),
        (
            lambda: MinCq(-0.5).solve(MarginMatrix.of_matrix(np.array([[1, 1], [1, -1]], dtype=np.int8))),
            r"mu=-0\.5 is the mean margin of no weights, .* from 0 to 1",
        ),
        (
            lambda: Variance("free").solve(MarginMatrix.of_matrix(np.diag([1.0, -1.0]), np.array([0.5, 0.5]))),
            "form='free' divides weights by their sum",
        ),
        (
            lambda: MarginMatrix.of(
                SignedVotes(np.ones((2, 2), dtype=np.int8), np.arange(2), np.ones(2, dtype=int), 2, np.full(2, 0.5)),
                unseen=np.zeros((2, 2), dtype=bool),
            ),
            "No row is left",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_single_voter_has_nothing_to_gain_by_doom():
    lines = MarginMatrix.of_matrix(np.array([[1], [1], [-1]], dtype=np.int8))
    found = Doom().solve(lines)
    assert found.weights.tolist() == [1.0] and found.value == found.before == pytest.approx(1.0 - np.tanh(5.0) / 3.0)


@pytest.mark.parametrize(
    ("objective", "module", "what"),
    [
        (Uniform(slack=0.1), "programs.linear_programs", r"the program of \d+ lines and 4 weights"),
        (Variance("lad"), "margins.margin_costs", "the program of least absolute deviations of 30 lines"),
    ],
    ids=lambda given: type(given).__name__ if not isinstance(given, str) else "",
)
def test_what_the_solver_reports_is_named(monkeypatch, objective, module, what):
    monkeypatch.setattr(f"committee.objectives.{module}.run", lambda highs: (HighsModelStatus.kSolveError, "Trouble"))
    S = np.where(np.random.default_rng(0).random((30, 4)) < 0.7, 1, -1).astype(np.int8)
    with pytest.raises(RuntimeError, match=f"HiGHS reports {what} as 'Trouble'. Look for votes or row weights of very"):
        objective.solve(MarginMatrix.of_matrix(S))


def test_rows_that_all_voters_of_weight_have_seen_are_not_judged():
    S = np.array([[1, -1], [1, 1], [-1, 1]], dtype=np.int8)
    unseen = np.array([[True, False], [False, True], [True, True]])
    lines = MarginMatrix.of(SignedVotes(S, np.arange(3), np.ones(3, dtype=int), 3, np.full(2, 0.5)), unseen=unseen)
    margins, weight = lines.judged(np.array([1.0, 0.0]))
    assert (margins.tolist(), weight.tolist()) == ([1.0, -1.0], [0.5, 0.5])
    margins, weight = lines.judged(np.zeros(2))
    assert len(margins) == len(weight) == 3 and weight.sum() == pytest.approx(1.0), "no voter has weight: all rows"


def test_votes_that_do_not_fit_into_a_block_stay_bytes(monkeypatch):
    lines = MarginMatrix.of_matrix(np.ones((5, 4), dtype=np.int8))
    assert lines.as_numbers().matrix.dtype == np.float64
    monkeypatch.setattr("committee.objectives.programs.margin_matrix.BLOCK", 19)
    assert lines.as_numbers() is lines
