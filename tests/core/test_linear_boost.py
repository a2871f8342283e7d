"""Newton boosting of linear scores: the kernel against NumPy, against likelihood fits, and what changes no score."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr
from sklearn.linear_model import LogisticRegression

from committee import _core
from tests.core.leaf_problems import (
    LINKS,
    Problem,
    Result,
    in_user_units,
    one_leaf,
    problems,
    random_problem,
    random_table,
    seeds,
)
from tests.oracles import linear_boost as oracle
from tests.oracles.linear_boost import Settings


def mean_risks(problem: Problem, settings: Settings, F: NDArray[np.float64]) -> NDArray[np.float64]:
    """``(L, O)`` from scores."""
    v = problem.weights[problem.rows]
    Y = oracle.signs(problem.labels[problem.rows], problem.n_outputs)
    loss = v[:, None] * oracle.terms(settings.link, Y * F)[2]
    return np.add.reduceat(loss, problem.start[:-1]) / np.add.reduceat(v, problem.start[:-1])[:, None]


def assert_same_result(one: Result, other: Result) -> None:
    for name, values in one._asdict().items():
        assert_array_equal(values, getattr(other, name), name)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("by_likelihood", [False, True])
@given(problem=problems(), n_steps=st.integers(1, 25), tol=st.sampled_from([0.0, 0.0, 1e-3]))
def test_kernel_is_the_oracle(link, by_likelihood, problem, n_steps, tol):
    settings = Settings(link, n_steps, tol, 20.0, by_likelihood)
    clear = min(fit.clear for fit in problem.oracle(settings))
    assume(clear > 0)
    settings = replace(settings, n_steps=clear)  # what follows hangs on a tie
    ours = problem.boost(settings)
    for leaf, fit in enumerate(problem.oracle(settings)):
        assert_array_equal(ours.path[leaf], fit.path)
        assert_allclose(ours.risk[leaf], fit.risk, rtol=1e-8, atol=1e-12)
        mine = ours.scores[problem.start[leaf] : problem.start[leaf + 1]]
        assert_allclose(mine, fit.scores, rtol=1e-6, atol=1e-8)
        size = np.abs(fit.coefficient * problem.D.std(axis=0)).max()
        assert_allclose(ours.coefficient[leaf] * problem.D.std(axis=0), fit.coefficient * problem.D.std(axis=0),
                        rtol=1e-6, atol=1e-8 * (1.0 + size))  # fmt: skip
        assert_allclose(in_user_units(problem, ours), ours.scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("link", LINKS)
@given(seed=seeds)
def test_oracle_is_the_text_of_the_algorithm(link, seed):
    problem = random_problem(seed, n=80, n_leaves=1, noise=4.0)
    [fit] = problem.oracle(Settings(link, 12))
    assume(fit.clear == 12 and fit.path.min() >= 0 and np.abs(fit.scores).max() < 6)  # no cap, nothing halved
    leaf = problem.rows
    y = oracle.signs(problem.labels[leaf], 1)[:, 0]
    D = problem.D[leaf] / problem.D.std(axis=0)
    path, intercept, slope = oracle.literal(D, y, problem.weights[leaf], link, 12)
    assert fit.path[0].tolist() == path
    assert_allclose(intercept + D @ slope, fit.scores[:, 0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
@given(problem=problems(), by_likelihood=st.booleans(), cap=st.sampled_from([1.0, 8.0, 20.0]))
def test_risk_never_rises_and_is_that_of_the_scores(link, problem, by_likelihood, cap):
    settings = Settings(link, 40, 0.0, cap, by_likelihood)
    result = problem.boost(settings)
    assert (np.diff(result.risk, axis=2) <= 0.0).all()
    assert (np.abs(result.scores) <= cap).all()
    assert_allclose(result.risk[:, :, -1], mean_risks(problem, settings, result.scores), rtol=1e-10, atol=1e-14)
    taken = result.path > -2
    assert (taken[:, :, :-1] >= taken[:, :, 1:]).all()  # steps end, and do not begin again
    assert (np.diff(result.risk, axis=2)[~taken] == 0.0).all()
    assert result.path.min() >= -2 and result.path.max() < problem.D.shape[1]


@given(seeds)
def test_tolerance_ends_the_boosting(seed):
    problem = random_problem(seed, n_leaves=1)
    whole, early = problem.boost(Settings(n_steps=30)), problem.boost(Settings(n_steps=30, tol=1e-3))
    falls = -np.diff(whole.risk[0, 0])
    small = np.flatnonzero(falls < 1e-3)
    steps = int(small[0]) if len(small) else 30
    assert_array_equal(early.path[0, 0, :steps], whole.path[0, 0, :steps])
    assert_array_equal(early.path[0, 0, steps:], -2)
    assert_array_equal(early.risk[0, 0, : steps + 1], whole.risk[0, 0, : steps + 1])


def probit_likelihood_fit(D: NDArray[np.float64], y: NDArray[np.float64], v: NDArray[np.float64]) -> Any:
    """The maximum of the likelihood by a general optimiser."""
    A = np.column_stack([np.ones(len(D)), D])

    def risk(b: NDArray[np.float64]) -> float:
        return float(-(v @ log_ndtr(y * (A @ b))))

    def slope(b: NDArray[np.float64]) -> Any:
        x = y * (A @ b)
        return -A.T @ (v * y * np.exp(-x * x / 2 - log_ndtr(x)) / np.sqrt(2 * np.pi))

    return minimize(risk, np.zeros(A.shape[1]), jac=slope, method="BFGS", options={"gtol": 1e-10}).x


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("q", "n_steps", "noise", "close"), [(1, 100, 2.0, 1e-6), (4, 2000, 3.0, 1e-4)])
def test_steps_end_at_the_probit_likelihood_fit(q, n_steps, noise, close, seed):
    """Component-wise steps are coordinate descent, so they end where all columns together would."""
    problem = random_problem(seed, n=300, q=q, n_leaves=1, noise=noise)
    leaf = problem.rows
    deviation = problem.D[leaf].std(axis=0)
    X = (problem.D[leaf] - problem.D[leaf].mean(axis=0)) / deviation
    best = probit_likelihood_fit(X, oracle.signs(problem.labels[leaf], 1)[:, 0], problem.weights[leaf])
    result = problem.boost(Settings("probit", n_steps))
    assert_allclose(result.scores[:, 0], best[0] + X @ best[1:], atol=close)
    if q == 1:
        assert_allclose(result.coefficient[0, 0], best[1:] / deviation, rtol=1e-6)


def test_one_column_is_the_fit_of_statsmodels():
    import statsmodels.api as api

    problem = one_leaf(*random_table(300, 1))
    fitted = api.Probit(problem.labels.astype(float), api.add_constant(problem.D)).fit(disp=False)
    result = problem.boost(Settings("probit", 100))
    assert_allclose([result.intercept[0, 0], result.coefficient[0, 0, 0]], fitted.params, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_one_column_is_the_logistic_regression(seed):
    problem = random_problem(seed, n=300, q=1, n_leaves=1, noise=2.0)
    leaf = problem.rows
    x = (problem.D[leaf] - problem.D[leaf].mean()) / problem.D[leaf].std()
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000)
    peer.fit(x, problem.labels[leaf], problem.weights[leaf])
    result = problem.boost(Settings("logit", 100, cap=40.0))
    assert_allclose(result.scores[:, 0], peer.decision_function(x), atol=1e-5)


@pytest.mark.parametrize("link", LINKS)
@given(seed=seeds)
def test_units_of_the_columns_change_no_score(link, seed):
    problem = random_problem(seed, noise=2.0)
    settings = Settings(link, 15)
    assume(min(fit.clear for fit in problem.oracle(settings)) == 15)
    plain = problem.boost(settings)
    rng = np.random.default_rng(seed)
    factor = rng.choice([-1.0, 1.0], 4) * 10.0 ** rng.uniform(-6, 6, 4)
    shift = 10.0 * factor * rng.normal(size=4)
    standard = (problem.D - problem.D.mean(axis=0)) / problem.D.std(axis=0)
    for D in (problem.D * factor, standard * factor + shift, standard):
        other = replace(problem, D=D).boost(settings)
        assert_array_equal(other.path, plain.path)
        assert_allclose(other.scores, plain.scores, rtol=1e-6, atol=1e-8)
    scaled = replace(problem, D=problem.D * factor).boost(settings)
    assert_allclose(scaled.coefficient * factor, plain.coefficient, rtol=1e-6, atol=1e-9 / problem.D.std(axis=0).min())


@pytest.mark.parametrize("link", LINKS)
@given(seed=seeds)
def test_a_weight_of_k_is_k_rows(link, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, n_leaves=1, n_outputs=int(rng.choice([1, 3])), noise=2.0)
    times = rng.integers(1, 4, len(problem.D))
    weighted = replace(problem, weights=times.astype(np.float64))
    settings = Settings(link, 10)
    # the mean and deviation that columns are standardised by count rows, which the choice must not see
    assume(all(fit.clear == 10 for fit in weighted.oracle(settings)))
    rows = problem.rows.repeat(times[problem.rows])
    repeated = replace(problem, weights=np.ones(len(problem.D)), rows=rows, start=np.array([0, len(rows)]))
    one, other = weighted.boost(settings), repeated.boost(settings)
    assert_array_equal(one.path, other.path)
    assert_allclose(one.risk, other.risk, rtol=1e-9, atol=1e-14)
    assert_allclose(one.scores.repeat(times[problem.rows], axis=0), other.scores, rtol=1e-6, atol=1e-8)


@given(seeds)
def test_scale_of_the_weights_changes_nothing(seed):
    problem = random_problem(seed, noise=2.0)
    assume(min(fit.clear for fit in problem.oracle(Settings())) == 20)
    plain = problem.boost()
    for factor in (1e-12, 1e12):
        other = replace(problem, weights=factor * problem.weights).boost()
        assert_array_equal(other.path, plain.path)
        assert_allclose(other.scores, plain.scores, rtol=1e-8, atol=1e-10)
        assert_allclose(other.risk, plain.risk, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("by_likelihood", [False, True])
@given(problem=problems())
def test_many_leaves_are_the_leaves_one_by_one(by_likelihood, problem):
    settings = Settings(n_steps=12, by_likelihood=by_likelihood)
    together = problem.boost(settings)
    for leaf, (a, b) in enumerate(zip(problem.start[:-1], problem.start[1:], strict=True)):
        alone = replace(problem, rows=problem.rows[a:b], start=np.array([0, b - a])).boost(settings)
        assert_array_equal(alone.scores, together.scores[a:b])
        for name in ("intercept", "coefficient", "path", "risk"):
            assert_array_equal(getattr(alone, name)[0], getattr(together, name)[leaf], name)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_threads_change_no_bit(n_outputs):
    problem = random_problem(3, n=20_000, q=11, n_outputs=n_outputs, n_leaves=40)
    one = problem.boost(Settings(n_steps=30))
    for n_threads in (2, 5):
        assert_same_result(problem.boost(Settings(n_steps=30), n_threads=n_threads), one)


@pytest.mark.parametrize("link", LINKS)
@given(problem=problems(), n_steps=st.sampled_from([1, 20, 300]), tol=st.sampled_from([0.0, 0.0, 1e-3]))
def test_unrecorded_is_the_same_without_the_record(link, problem, n_steps, tol):
    """Where risks are not told, most steps are known to lower them without a logarithm."""
    settings = Settings(link, n_steps, tol)
    with_record, without = problem.boost(settings), problem.boost(settings, record=False)
    assert_array_equal(with_record.intercept, without.intercept)
    assert_array_equal(with_record.scores, without.scores)
    assert_array_equal(with_record.coefficient, without.coefficient)
    assert without.path.shape == (*with_record.path.shape[:2], 0)
    assert_array_equal(with_record.risk[:, :, -1:], without.risk)


@pytest.mark.parametrize("link", LINKS)
@given(seed=seeds)
def test_outputs_of_many_classes_are_boosted_on_samples(link, seed):
    problem = random_problem(seed, n=150, n_outputs=9, n_leaves=2)
    settings = Settings(link, 3)
    ours = problem.boost(settings, record=False, most_classes=4)
    for leaf, (a, b) in enumerate(pairwise(problem.start)):
        rows = problem.rows[a:b]
        labels, v = problem.labels[rows], problem.weights[rows]
        for k in range(9):
            drawn, weights = oracle.sampled(labels, v, k, 4)
            fit = oracle.boost(problem.D[rows[drawn]], oracle.signs(labels[drawn], 9)[:, [k]], weights, settings)
            if fit.clear < 3:
                continue  # a step hangs on rounding
            scores = fit.intercept[0] + problem.D[rows] @ fit.coefficient[0]
            loss = oracle.terms(link, oracle.signs(labels, 9)[:, k] * scores)[2]
            assert_allclose(ours.scores[a:b, k], scores, rtol=1e-6, atol=1e-6)
            assert_allclose(ours.risk[leaf, k, 0], np.average(loss, weights=v), rtol=1e-6, atol=1e-9)


def test_a_sample_weighs_as_much_as_the_rows_it_is_of():
    labels, v = np.arange(60, dtype=np.uint16) % 12, np.random.default_rng(0).exponential(size=60)
    for k in range(12):
        rows, weights = oracle.sampled(labels, v, k, 5)
        assert len(rows) <= 5 + 25
        assert_allclose(weights.sum(), v.sum())
        assert_array_equal(np.sort(rows[:5]), np.flatnonzero(labels == k))


def test_samples_have_no_record():
    with pytest.raises(ValueError, match="no record"):
        random_problem(0, n_outputs=3).boost(most_classes=2)


@pytest.mark.parametrize("link", LINKS)
@given(seed=seeds)
def test_likelihood_takes_the_feature_of_least_risk(link, seed):
    """One step with each column alone: the best of them is the step that all columns take."""
    problem = random_problem(seed, q=6, n_leaves=1)
    settings = Settings(link, 1, by_likelihood=True)
    result = problem.boost(settings)
    alone = [replace(problem, D=problem.D[:, [j]].copy()).boost(settings).risk[0, 0, 1] for j in range(6)]
    assert result.risk[0, 0, 1] == pytest.approx(min(alone), rel=1e-9)
    order = np.sort(alone)
    assume(order[1] > order[0] * (1 + 1e-8))
    assert result.path[0, 0, 0] == np.argmin(alone)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("rows", [65, 600, 1500])
@given(seed=seeds)
def test_columns_that_are_nearly_equal_are_told_apart(link, rows, seed):
    """Long leaves are looked at in single precision first, which cannot tell all of these columns apart."""
    rng = np.random.default_rng(seed)
    X, y = random_table(rows, 7, seed)
    near = X[:, :4] + X.std(axis=0)[:4] * 10.0 ** rng.uniform(-7, -3, 4) * rng.normal(size=(rows, 4))
    problem = one_leaf(np.column_stack([near, X]), y, rng.uniform(0.1, 10.0, rows) ** 3)
    settings = Settings(link, 30)
    [fit] = problem.oracle(settings)
    assume(fit.clear > 0)
    settings = replace(settings, n_steps=fit.clear)  # what follows hangs on a tie
    [fit] = problem.oracle(settings)
    result = problem.boost(settings)
    assert_array_equal(result.path[0], fit.path)
    assert_allclose(result.scores, fit.scores, rtol=1e-6, atol=1e-8)
    assert_array_equal(problem.boost(settings, record=False).scores, result.scores)


def test_first_of_equal_columns_is_taken():
    X, y = random_table(150, 2)
    plain, doubled = one_leaf(X, y).boost(), one_leaf(np.column_stack([X, X[:, 0], -3 * X[:, 0] + 1]), y).boost()
    assert set(doubled.path[0, 0].tolist()) <= {0, 1, -2}
    assert_allclose(doubled.scores, plain.scores, rtol=1e-9)
    assert_array_equal(doubled.coefficient[0, 0, 2:], 0.0)


def test_leaf_products_are_sums_about_the_first_row():
    problem = random_problem(0)
    rows, start, D = problem.rows, problem.start, problem.D + 1e6
    values = np.random.default_rng(0).normal(size=(len(rows), 2))
    expected = [values[a:b].T @ (D[rows[a:b]] - D[rows[a]]) for a, b in pairwise(start)]
    assert_allclose(_core.leaf_products(D, rows, start, values), expected, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="one row for each"):
        _core.leaf_products(D, rows, start, values[1:])
    with pytest.raises(ValueError, match="outside the table"):
        _core.leaf_products(D, rows + len(D), start, values)
