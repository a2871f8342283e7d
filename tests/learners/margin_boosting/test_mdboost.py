"""MDBoost: the optimum of its quadratic program over all stumps, by its own conditions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.naive_bayes import GaussianNB

from committee import MDBoostClassifier
from committee.objectives.programs.simplex_active_set import simplex_minimum
from tests.examples import examples
from tests.margin_cases import Diary, assert_short_runs_bound_what_is_left, signed_votes, small, without_noise
from tests.oracles.margins import all_signed_stumps, md_matrix, md_objective, md_row_weights
from tests.subjects import numbers

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.sampled_from([0.5, 3.0, 10.0, 60.0]))
def test_no_vote_over_all_stumps_has_a_better_margin_distribution(seed, D):
    X, y = small(seed)
    stumps = all_signed_stumps(X, 2 * y - 1)
    model = MDBoostClassifier(D, tol=1e-9).fit(X, y)
    signed, w = signed_votes(model, X, y), D * model.committee_.weights
    rho = signed @ w
    assert w.min() > 0 and w.sum() == pytest.approx(D)
    # the Karush-Kuhn-Tucker conditions of a convex program: used voters have the largest edge, and no stump a larger
    u = md_row_weights(rho)
    edges = u @ signed
    assert_allclose(edges, edges.max(), atol=1e-7 * len(y))
    assert (u @ stumps).max() <= edges.max() + 1e-7 * len(y)
    assert_allclose(-md_objective(rho) / (D * len(y)), model.objective_[0], atol=1e-9)
    assert 0 <= model.duality_gap_[0] < 1e-8
    margins = model.committee_.margins(X, y)
    assert_allclose(
        [margins.mean(), margins.var(ddof=1)], [model.mean_margin_[0], model.margin_variance_[0]], atol=1e-12
    )


@settings(max_examples=examples(5, 20))
@given(seeds)
def test_the_gap_bounds_what_is_left_at_any_time(seed):
    X, y = small(seed)
    diary = Diary("objective_")
    best = MDBoostClassifier(10.0).set_callbacks(diary).fit(X, y).objective_[0]
    for k in range(1, len(diary.rounds)):
        model = MDBoostClassifier(10.0).set_callbacks(Diary("objective_", stop_after=k)).fit(X, y)
        assert -1e-9 <= best - model.objective_[0] <= model.duality_gap_[0] + 1e-9
    rounds = [objective[0] for objective, _ in diary.rounds]
    assert (np.diff(rounds) > -1e-9).all()


@settings(max_examples=examples(4, 20))
@given(seeds)
def test_the_price_of_variance_buys_a_smaller_variance_and_mean(seed):
    X, y = small(seed)
    models = [MDBoostClassifier(D, tol=1e-9).fit(X, y) for D in (0.01, 1.0, 5.0, 20.0, 100.0)]
    assert (np.diff([model.margin_variance_[0] for model in models]) < 1e-7).all()
    assert (np.diff([model.mean_margin_[0] for model in models]) < 1e-7).all()
    means = all_signed_stumps(X, 2 * y - 1).mean(axis=0)
    assert_allclose(models[0].mean_margin_[0], means.max(), atol=0.02)


def test_rows_far_above_the_mean_weigh_less_than_nothing():
    X, y = numbers(2, 200)
    for params in ({}, {"max_depth": 2}, {"voter": GaussianNB()}):
        model = MDBoostClassifier(40.0, random_state=0, n_estimators=2000, **params).fit(X, y)
        signed = signed_votes(model, X, y)
        rho = 40.0 * signed @ model.committee_.weights
        u = md_row_weights(rho)
        assert (u < 0).any()
        assert_allclose(u.mean(), 1.0)
        assert_allclose(u, 1.0 - md_matrix(200) @ rho)
        edges = u @ signed / 200
        assert_allclose(edges, edges[0], atol=1e-8)


def test_a_row_of_weight_k_is_k_rows():
    X, y = small(5)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    times[:2] = 1
    weighted = MDBoostClassifier().fit(X, y, times)
    repeated = MDBoostClassifier().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert (weighted.decision_function(X) == repeated.decision_function(X)).all()
    assert_allclose(weighted.objective_, repeated.objective_)


def test_a_run_that_is_cut_short_says_what_is_left():
    assert_short_runs_bound_what_is_left(MDBoostClassifier(30.0), "objective_", (1, 7, 30))


def test_a_perfect_voter_is_the_whole_committee():
    X = np.arange(10.0)[:, None]
    model = MDBoostClassifier().fit(X, X[:, 0] > 4)
    assert model.committee_.n_voters == 1
    assert_allclose([model.mean_margin_[0], model.margin_variance_[0]], [1.0, 0.0], atol=1e-15)


@settings(max_examples=examples(2, 10))
@given(seeds)
def test_with_more_classes_each_is_told_from_the_rest(seed):
    X, y = small(seed, 3)
    model = MDBoostClassifier(8.0, tol=1e-9).fit(X, y)
    for k in range(3):
        alone = MDBoostClassifier(8.0, tol=1e-9).fit(X, y == k)
        assert_allclose(model.objective_[k], alone.objective_[0], atol=1e-8)


@settings(max_examples=200)
@given(seeds)
def test_the_quadratic_program_is_solved_from_any_start(seed):
    """Voters that are alike, more voters than rows, curvatures of any size: no slope is below that of the weights."""
    rng = np.random.default_rng(seed)
    T, n = int(rng.integers(1, 30)), int(rng.integers(2, 40))
    signed = np.where(rng.random((n, T)) < rng.uniform(0.3, 0.9), 1.0, -1.0)
    signed[:, rng.integers(0, T, T // 3)] = signed[:, rng.integers(0, T, T // 3)]
    Q = 10.0 ** rng.uniform(-3, 4) * np.cov(signed.T, bias=True).reshape(T, T)
    q = signed.mean(axis=0)
    ends = []
    for start in (np.eye(T)[0], rng.dirichlet(np.ones(T))):
        w = simplex_minimum(Q, q, start)
        assert w.min() >= 0 and w.sum() == pytest.approx(1.0)
        slope = Q @ w - q
        assert slope @ w - slope.min() <= 1e-9 * max(1.0, float(np.abs(Q).max()))
        ends.append(float(w @ Q @ w / 2 - q @ w))
    assert ends[0] == pytest.approx(ends[1], abs=1e-8 * max(1.0, float(np.abs(Q).max())))


@pytest.mark.parametrize(("name", "value"), [("total_weight", 0.0), ("total_weight", -1.0), ("tol", -0.1)])
def test_parameters_outside_their_range_are_refused(name: str, value: Any):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        MDBoostClassifier().set_params(**{name: value}).fit(*without_noise(0))
