"""Arc-gv, DOOM II, MDBoost and LPBoost: rounds by their equations, optimality conditions, and what all promise."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from committee import AdaBoostClassifier, ArcGVClassifier, DOOMBoostClassifier, LPBoostClassifier, MDBoostClassifier
from committee.objectives.programs.simplex_quadratic import simplex_minimum
from committee.voters.forest import Forest
from tests.limits import examples
from tests.margin_cases import Diary, signed_votes, small, without_noise
from tests.oracles.margins import (
    all_signed_stumps,
    arc_gv_round,
    arc_gv_step,
    largest_minimum_margin,
    least_on_a_line,
    md_matrix,
    md_objective,
    md_row_weights,
    mean_sigmoid_cost,
    primal_program,
    sigmoid_slopes,
    signed_stump_votes,
    value_of,
)
from tests.subjects import numbers, weights

seeds = st.integers(0, 2**32 - 1)
ALL = [ArcGVClassifier, MDBoostClassifier, DOOMBoostClassifier]


def follow(model, X, y, share, stumps):
    signed, alphas = signed_votes(model, X, y), model.estimator_weights_[0]
    assert_allclose(model.committee_.weights, alphas / alphas.sum())
    for t, alpha in enumerate(alphas):
        u, reached = arc_gv_round(share, list(signed[:, :t].T), alphas[:t].tolist())
        edge = float(u @ signed[:, t])
        assert_allclose(model.edges_[0, t], edge, atol=1e-9)
        assert alpha == pytest.approx(arc_gv_step(edge, reached), abs=1e-8) and alpha > 0
        if stumps is not None:
            assert edge >= float((u @ stumps).max()) - 1e-9
        margins = signed[:, : t + 1] @ alphas[: t + 1] / alphas[: t + 1].sum()
        assert_allclose(model.minimum_margins_[0, t], margins.min(), atol=1e-9)


@settings(max_examples=examples(15, 50))
@given(seeds, st.booleans())
def test_every_round_is_the_equation(seed, noise):
    X, y = small(seed) if noise else without_noise(seed)
    stumps = all_signed_stumps(X, 2 * y - 1)
    w = np.random.default_rng(seed).integers(1, 4, len(y))
    model = ArcGVClassifier(30).fit(X, y, w)
    if np.isinf(model.estimator_weights_).any():
        assert (stumps > 0).all(axis=0).any()
        return
    follow(model, X, y, w / w.sum(), stumps)


def test_so_it_is_on_trees_and_on_a_users_classifier():
    X, y = numbers(2, 200)
    share = np.full(200, 1 / 200)
    follow(ArcGVClassifier(15, max_depth=2, min_samples_leaf=5).fit(X, y), X, y, share, None)
    follow(ArcGVClassifier(6, voter=GaussianNB()).fit(X, y), X, y, share, None)
    follow(ArcGVClassifier(15, min_samples_leaf=9).fit(X, y), X, y, share, None)


@settings(max_examples=examples(3, 25), deadline=None)
@given(seeds)
def test_the_least_margin_tends_to_the_largest_that_a_vote_of_stumps_has(seed):
    X, y = without_noise(seed)
    best = largest_minimum_margin(all_signed_stumps(X, 2 * y - 1))
    model = ArcGVClassifier(2000).fit(X, y)
    # at all times what is reached and what the edges allow have the optimum between them
    assert model.minimum_margins_.max() <= best + 1e-9
    assert np.nanmin(model.edges_) >= best - 1e-9
    assert model.duality_gap_[0] >= best - model.minimum_margins_[0, -1] - 1e-9
    if best > 0.01:  # below, it is hardly ever more than AdaBoost
        assert model.minimum_margins_[0, -1] >= best - 0.03


@pytest.mark.slow
def test_it_closes_the_gap_that_adaboost_leaves():
    X, y = load_breast_cancer(return_X_y=True)
    best = LPBoostClassifier(1 / len(y), dictionary="all_stumps", n_estimators=5000).fit(X, y).soft_margin_[0]
    arc = ArcGVClassifier(3000).fit(X, y)
    ada = AdaBoostClassifier(3000).fit(X, y).committee_.margins(X, y).min()
    assert ada < arc.minimum_margins_[0, -1] <= best + 1e-6
    assert arc.minimum_margins_[0, -1] > 0.85 * best
    assert_allclose(arc.committee_.margins(X, y).min(), arc.minimum_margins_[0, -1])


def test_a_class_whose_weight_rounds_to_nothing_is_absent():
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 1]
    for params in ({}, {"voter": DecisionTreeClassifier()}):
        with pytest.warns(UserWarning, match="one class"):
            model = ArcGVClassifier(**params).fit(X, y, [5e-324, 1e150, 1.0])
        assert model.classes_.tolist() == [1]


def test_a_perfect_voter_is_the_whole_vote():
    X = np.arange(10.0)[:, None]
    y = (X[:, 0] > 4).astype(int)
    for params in ({}, {"max_depth": 3}, {"voter": DecisionTreeClassifier()}):
        model = ArcGVClassifier(**params).fit(X, y)
        assert model.committee_.n_voters == 1 and model.score(X, y) == 1.0
        assert model.estimator_weights_.tolist() == [[np.inf]]
        assert model.edges_[0, 0] == pytest.approx(1.0) and model.minimum_margins_.tolist() == [[1.0]]
    model = MDBoostClassifier().fit(X, y)
    assert model.committee_.n_voters == 1
    assert_allclose([model.mean_margin_[0], model.margin_variance_[0]], [1.0, 0.0], atol=1e-15)
    for dictionary in ("all_stumps", "trees"):
        model = LPBoostClassifier(0.5, dictionary=dictionary).fit(X, y)
        assert model.committee_.n_voters == 1 and model.score(X, y) == 1.0
        assert_allclose([model.rho_[0], model.soft_margin_[0]], 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_with_more_classes_each_is_told_from_the_rest(seed):
    X, y = numbers(3, 80, seed)
    w = weights(80, seed)  # no two stumps are equally good
    model = ArcGVClassifier(12).fit(X, y, w)
    F = model.decision_function(X)
    for k in range(3):
        alone = ArcGVClassifier(12).fit(X, y == k, w)
        assert_allclose(F[:, k], alone.decision_function(X), atol=1e-12)
        rounds = alone.edges_.shape[1]
        assert_allclose(model.edges_[k, :rounds], alone.edges_[0])
        assert np.isnan(model.edges_[k, rounds:]).all() and not model.estimator_weights_[k, rounds:].any()
        assert_allclose(model.duality_gap_[k], alone.duality_gap_[0])


@pytest.mark.parametrize("learner", ALL)
def test_no_voter_better_than_chance_is_told(learner):
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1, 0]
    with pytest.warns(UserWarning, match="No voter beats chance"):
        model = learner().fit(X, y)
    assert (model.committee_.n_voters == 1) == (learner is not MDBoostClassifier)  # a mean of 0 may vary less


@pytest.mark.parametrize(
    "model", [*(kind(n_estimators=5) for kind in ALL), LPBoostClassifier(0.5, dictionary="all_stumps")], ids=str
)
def test_categories_that_all_lean_to_one_side_are_told_apart(model):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"letter": rng.choice(list("abc"), 120)})
    y = rng.random(120) < np.where(frame["letter"] == "a", 0.4, 0.1)
    assert model.fit(frame, y).committee_.n_voters >= 1
    assert model.predict(frame).shape == (120,)


@pytest.mark.filterwarnings("ignore:nu=.* is too small")
@pytest.mark.parametrize(
    ("model", "name"),
    [
        (ArcGVClassifier(12), "minimum_margins_"),
        (ArcGVClassifier(12, voter=GaussianNB()), "minimum_margins_"),
        (DOOMBoostClassifier(n_estimators=12, n_start=5), "costs_"),
        (MDBoostClassifier(), "objective_"),
        *((LPBoostClassifier(0.25, dictionary=each), "soft_margin_") for each in ("stumps", "trees", GaussianNB())),
    ],
    ids=str,
)
def test_callbacks_see_every_round_and_may_stop_the_run(model, name):
    X, y = numbers(2, 300)
    diary = Diary(name)
    model.set_params(calibrate=None, random_state=0)  # calibration is the last step of a fit
    whole = model.set_callbacks(diary).fit(X, y)
    assert len(diary.rounds) >= 3
    assert_array_equal(diary.rounds[-1][0], getattr(whole, name))
    assert_array_equal(diary.rounds[-1][1], whole.predict_proba(X))
    early = clone(model).set_callbacks(Diary(name, stop_after=2)).fit(X, y)
    assert_array_equal(getattr(early, name), diary.rounds[1][0])
    assert_array_equal(early.predict_proba(X), diary.rounds[1][1])
    if name == "soft_margin_":
        margins = np.concatenate([margin for margin, _ in diary.rounds])
        assert (np.diff(margins) > -1e-9).all()
        left = margins[-1] - margins[1] - 1e-9 if model.dictionary == "stumps" else 0.0  # others are not all known
        assert early.duality_gap_[0] >= left


@pytest.mark.parametrize("learner", ALL)
def test_bad_input_is_refused(learner):
    X, y = numbers(2)
    with pytest.raises(ValueError, match="Every column of X is constant"):
        learner().fit(np.ones((10, 3)), np.arange(10) % 2)
    with pytest.raises(ValueError, match=r"voter=KNeighborsClassifier\(\).*takes no sample_weight"):
        learner(voter=KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match=r"voter=LinearRegression\(\) is not a classifier"):
        learner(voter=LinearRegression()).fit(X, y)


def votes_after(signed, weights, t):
    """Margins after t rounds: the weights so far, of which later rounds left a common share."""
    return signed[:, :t] @ weights[:t] / weights[:t].sum()


@settings(max_examples=examples(8, 30))
@given(seeds, st.sampled_from([1.0, 5.0, 20.0]), st.sampled_from([0.1, 1.0]))
def test_every_step_takes_the_steepest_voter_to_the_lowest_cost(seed, steepness, rate):
    X, y = small(seed)
    stumps = all_signed_stumps(X, 2 * y - 1)
    w = np.random.default_rng(seed).integers(1, 4, len(y))
    share = w / w.sum()
    model = DOOMBoostClassifier(steepness, n_estimators=14, n_start=4, learning_rate=rate).fit(X, y, w)
    signed, weights = signed_votes(model, X, y), model.committee_.weights
    costs = model.costs_[0]
    if len(weights) < len(costs) or (signed[:, 0] > 0).all():
        return  # a step of length zero ended the run, or one of length 1 all that was before; or a perfect voter did
    assert_allclose(weights.sum(), 1.0)
    for t in range(len(weights)):
        after = votes_after(signed, weights, t + 1)
        assert_allclose(costs[t], mean_sigmoid_cost(share, after, steepness), atol=1e-9)
        if t < 4:
            continue
        before = votes_after(signed, weights, t)
        slopes = sigmoid_slopes(share, before, steepness)
        u = slopes / slopes.sum()
        assert u @ signed[:, t] >= (u @ stumps).max() - 1e-6
        assert costs[t] <= least_on_a_line(share, before, signed[:, t], steepness, rate) + 1e-6
        assert weights[t] <= rate * weights[: t + 1].sum() * (1 + 1e-9)
    assert (np.diff(costs[3:]) < 0).all()
    if len(costs) < 14:  # no way into the hull goes down
        slopes = sigmoid_slopes(share, after, steepness)
        assert (slopes @ stumps).max() <= slopes @ after + 1e-5


@given(st.sampled_from([1.0, 5.0, 20.0]), st.floats(-1.0, 1.0))
def test_the_oracles_slope_is_the_fall_of_the_cost(steepness, margin):
    one, eps = np.ones(1), 1e-6
    fall = mean_sigmoid_cost(one, one * (margin - eps), steepness) - mean_sigmoid_cost(
        one, one * (margin + eps), steepness
    )
    assert_allclose(fall / (2 * eps), sigmoid_slopes(one, one * margin, steepness)[0], rtol=1e-4, atol=1e-8)


@settings(max_examples=20)
@given(seeds)
def test_from_a_single_voter_there_is_no_way_down(seed):
    """All margins are -1 or +1, where the cost is equally steep: the first voter is the best again."""
    X, y = small(seed)
    model = DOOMBoostClassifier(3.0, n_start=1).fit(X, y)
    assert model.committee_.n_voters == 1 and model.costs_.shape == (1, 1)


def test_the_start_is_adaboost():
    X, y = numbers(2, 200)  # rows of both classes everywhere: arc-gv's margin stays below 0, and it is AdaBoost
    y = np.where(np.arange(200) % 5 == 0, 1 - y, y)
    arc = ArcGVClassifier(15).fit(X, y)
    assert arc.minimum_margins_.max() < 0
    start = DOOMBoostClassifier(n_estimators=15, n_start=15).fit(X, y)
    assert_allclose(start.decision_function(X), arc.decision_function(X), atol=1e-12)
    on = DOOMBoostClassifier(n_estimators=60, n_start=15).fit(X, y)
    assert_allclose(on.costs_[0, :15], start.costs_[0])
    assert on.costs_[0, -1] < start.costs_[0, -1]


def test_probabilities_are_the_cost():
    X, y = without_noise(3)
    model = DOOMBoostClassifier(4.0, n_estimators=40, calibrate=None).fit(X, y)
    own = model.predict_proba(X)[np.arange(len(y)), y]
    assert_allclose(2 * (1 - own).mean(), model.costs_[0, -1])


def test_rows_of_wrong_labels_are_given_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 8))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    noisy = np.where(rng.random(800) < 0.2, 1 - y, y)
    given_up = DOOMBoostClassifier().fit(X[:400], noisy[:400])
    turned_to = AdaBoostClassifier(200).fit(X[:400], noisy[:400])
    assert given_up.score(X[400:], y[400:]) > turned_to.score(X[400:], y[400:]) + 0.02
    wrong = noisy[:400] != y[:400]
    assert given_up.committee_.margins(X[:400], noisy[:400])[wrong].mean() < 0


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


@pytest.mark.parametrize(
    ("model", "objective", "lengths"),
    [(MDBoostClassifier(30.0), "objective_", (1, 7, 30)), (LPBoostClassifier(0.3), "soft_margin_", (1, 7, 25))],
    ids=str,
)
def test_a_run_that_is_cut_short_says_what_is_left(model, objective, lengths):
    X, y = numbers(2, 300)
    best = getattr(clone(model).fit(X, y), objective)[0]
    for most in lengths:
        with pytest.warns(ConvergenceWarning, match=f"n_estimators={most} ended the run.*Raise n_estimators"):
            short = clone(model).set_params(n_estimators=most).fit(X, y)
        assert short.committee_.n_voters <= most
        assert 0 < best - getattr(short, objective)[0] <= short.duality_gap_[0] + 1e-6


@settings(max_examples=200)
@given(seeds)
def test_the_quadratic_program_is_solved_from_any_start(seed):
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


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "nu=.* is too small")
        return model.fit(*data)


def margins_of(model, X, y):
    F = model.decision_function(X)
    if F.ndim == 1:
        return np.where(y == model.classes_[1], F, -F)[None]
    return np.where(y == model.classes_[:, None], F.T, -F.T)


@given(seeds, st.sampled_from([0.05, 0.3, 0.6, 1.0]))
def test_no_vote_over_all_stumps_has_a_larger_soft_margin(seed, nu):
    X, y = small(seed)
    model = quiet(LPBoostClassifier(nu, dictionary="all_stumps", tol=1e-9), X, y)
    value, _ = primal_program(signed_stump_votes(X, 2 * y - 1), nu)
    assert_allclose(model.soft_margin_, value, rtol=0, atol=1e-8)
    assert abs(model.duality_gap_[0]) < 1e-8
    # and the committee is the vote that was solved for
    assert_allclose(value_of(margins_of(model, X, y)[0], nu), value, rtol=0, atol=1e-8)
    assert model.committee_.weights.min() > 0
    assert_allclose(model.committee_.weights.sum(), 1.0)


@settings(max_examples=20)
@given(seeds)
def test_each_of_several_classes_has_the_program_of_its_stumps(seed):
    X, y = small(seed, 3)
    model = quiet(LPBoostClassifier(0.4, dictionary="all_stumps", tol=1e-9), X, y)
    forest = model.committee_.voters
    assert isinstance(forest, Forest) and forest.value is not None
    for k, margins in enumerate(margins_of(model, X, y)):
        value, _ = primal_program(signed_stump_votes(X, np.where(y == k, 1, -1)), 0.4)
        assert_allclose(model.soft_margin_[k], value, rtol=0, atol=1e-8)
        assert_allclose(value_of(margins, 0.4), value, rtol=0, atol=1e-8)
    spoken_to = np.abs(np.add.reduceat(np.abs(forest.value), forest.offset[:-1])).argmax(axis=1)
    assert_allclose(np.bincount(spoken_to, model.committee_.weights), 1.0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dictionary", ["stumps", "all_stumps", "trees", GaussianNB()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_at_most_a_share_nu_of_the_rows_is_below_rho(dictionary, n_classes):
    X, y = numbers(n_classes, 300)
    for nu in (0.2, 0.5):
        model = quiet(LPBoostClassifier(nu, dictionary=dictionary, n_estimators=3000, random_state=0), X, y)
        margins = margins_of(model, X, y)
        for rho, m, u in zip(model.rho_, margins, model.row_weights_, strict=True):
            assert np.mean(m < rho - 1e-9) <= nu
            assert np.mean(m <= rho + 1e-9) >= nu
            assert_allclose(u.sum(), 1.0)
            assert u.min() >= 0.0 and u.max() <= 1.0 / (nu * len(y)) * (1 + 1e-9)
            assert_allclose(u[m > rho + 1e-6], 0.0, atol=1e-9)


@pytest.mark.parametrize("dictionary", ["stumps", "trees", GaussianNB()])
def test_row_weights_give_the_committees_voters_the_same_edge(dictionary):
    """Complementary slackness: every voter of positive weight is as right as any under the final row weights."""
    X, y = numbers(2, 200)
    model = LPBoostClassifier(0.3, dictionary=dictionary, random_state=0).fit(X, y)
    edges = (model.row_weights_[0] * (2 * y - 1)) @ model.committee_.votes(X)
    assert_allclose(edges, model.soft_margin_[0], rtol=0, atol=1e-8)


def test_rows_of_no_weight_have_no_row_weight():
    X, y = numbers(2)
    w = weights() * (np.arange(len(y)) % 3 > 0)
    model = LPBoostClassifier(0.4).fit(X, y, w)
    assert model.row_weights_.shape == (1, len(y))
    assert (model.row_weights_[0, w == 0] == 0).all()
    assert (model.row_weights_[0] <= w / (0.4 * w.sum()) * (1 + 1e-9)).all()


@given(seeds)
@settings(max_examples=examples(5, 20))
def test_a_row_of_weight_k_is_k_rows_in_any_order(seed):
    X, y = small(seed)
    times = np.random.default_rng(seed).integers(1, 4, len(y))
    order = np.random.default_rng(seed).permutation(int(times.sum()))
    for dictionary in ("all_stumps", "trees"):
        model = LPBoostClassifier(0.5, dictionary=dictionary)
        weighted = quiet(model, X, y, times)
        assert_array_equal(
            weighted.decision_function(X),
            quiet(model, np.repeat(X, times, axis=0)[order], np.repeat(y, times)[order]).decision_function(X),
        )


def test_a_margin_that_cannot_be_above_zero_is_told():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(200, 2)).astype(float), rng.integers(0, 2, 200)
    with pytest.warns(UserWarning, match=r"nu=0.01 is too small.*Raise nu"):
        LPBoostClassifier(0.01).fit(X, y)


def test_a_classifier_that_learns_nothing_ends_the_run():
    X, y = numbers(2)
    model = quiet(LPBoostClassifier(0.5, dictionary=DummyClassifier()), X, y)
    assert model.committee_.n_voters <= 2


def test_subsets_of_categories_tell_several_classes_apart():
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abcdef"), 300)
    y = np.array(["one", "two", "three"])[np.searchsorted(["c", "e"], letters, side="right")]
    frame = pd.DataFrame({"letter": letters, "noise": rng.normal(size=300)})
    model = LPBoostClassifier(0.3, dictionary="all_stumps").fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert_allclose(model.soft_margin_, 1.0)
    assert model.committee_.n_voters == 3
