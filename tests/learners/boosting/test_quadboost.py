"""QuadBoost: rounds as the paper has them, on any dictionary, with any penalty."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import committee
from committee import LPBoostClassifier, QuadBoostClassifier, QuadBoostRegressor, TreeRegressor
from committee.learners.boosting import quadboost
from committee.learners.boosting.quadboost_rounds import GramRun, ResidualRun
from committee.objectives.programs.penalties import penalty_class
from tests.oracles import votes as oracle
from tests.subjects import noisy_scores, numbers, weights

STRENGTHS = {None: {}, "l1": {"alpha": 0.02}, "l2": {"alpha": 0.3}, "linf": {"alpha_max": 0.07}}
each_penalty = pytest.mark.parametrize("penalty", STRENGTHS)


def noisy(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] = np.round(X[:, 2])
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(np.int64)


def risk(model, X, y, w):
    signs = np.where(y == 1, 1.0, -1.0)
    return float(np.average((signs - model.decision_function(X)) ** 2, weights=w))


@each_penalty
@pytest.mark.parametrize("dictionary", ["stumps", "all_stumps"])
@pytest.mark.parametrize("reweight", ["none", "chosen"])
def test_rounds_are_those_of_the_paper(penalty, dictionary, reweight):
    X, y = noisy(60)
    w = np.random.default_rng(1).exponential(size=len(y))
    settings = {"dictionary": dictionary, "n_thresholds": 5, "reweight": reweight, "fit_intercept": False, "tol": 0.0}
    model = QuadBoostClassifier(penalty, **STRENGTHS[penalty], n_estimators=12, **settings).fit(X, y, w)
    x = [np.unique(X[:, j]) for j in range(4)]
    if dictionary == "stumps":  # the thresholds are the committee's own business; all that it has are enough
        votes = model.committee_.votes(X).astype(float)
    else:
        votes = np.column_stack([np.where(X[:, j] > v, 1.0, -1.0) for j in range(4) for v in x[j][:-1]])
    shares = w / w.sum()
    signs = np.where(y == 1, 1.0, -1.0)
    rule = penalty or "none", next(iter(STRENGTHS[penalty].values()), 0.0)
    _, _, falls = oracle.rounds(votes, signs, shares, *rule, 12, 0.0, as_new=reweight == "none")
    assert_allclose(-np.diff(model.training_risks_)[: len(falls)], falls, rtol=1e-6, atol=1e-10)


@each_penalty
def test_training_risk_is_what_the_committee_has(penalty):
    X, y = noisy()
    w = np.random.default_rng(1).exponential(size=len(y))
    for reweight in ("none", "chosen", "every_k", "fully_corrective"):
        for dictionary in ("stumps", "all_stumps", "trees"):
            settings = {"dictionary": dictionary, "reweight": reweight, "reweight_interval": 3}
            model = QuadBoostClassifier(penalty, n_estimators=15, **settings, **STRENGTHS[penalty]).fit(X, y, w)
            assert model.training_risks_[-1] == pytest.approx(risk(model, X, y, w), abs=1e-9)
            if reweight == "none":
                assert (np.diff(model.training_risks_) <= 1e-12).all()
            alpha = model.committee_.weights
            assert alpha.min() >= 0.0
            if model.penalty == "linf" and reweight != "none":
                assert alpha.max() <= 0.07 * (1 + 1e-12)


@each_penalty
@pytest.mark.parametrize("reweight", ["none", "chosen", "fully_corrective"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_products_and_passes_make_the_same_committee(penalty, reweight, fit_intercept, monkeypatch):
    X, y = noisy()
    X[::7, 1] = np.nan
    settings = {"dictionary": "all_stumps", "reweight": reweight, "fit_intercept": fit_intercept}
    model = QuadBoostClassifier(penalty, n_estimators=20, **settings, **STRENGTHS[penalty])
    found = []
    for run in (GramRun, ResidualRun):
        monkeypatch.setattr(quadboost, "products_pay", lambda *_, run=run: run is GramRun)
        found.append(model.fit(X, y).decision_function(X))
        assert isinstance(run_of(model, X, y), run)
    assert_allclose(*found, atol=1e-6)


def test_products_are_kept_where_they_are_cheaper_than_passes():
    X, y = noisy(200)
    assert isinstance(run_of(QuadBoostClassifier(), X, y), GramRun)
    wide = np.random.default_rng(0).normal(size=(200, 400))
    assert isinstance(run_of(QuadBoostClassifier(n_estimators=20), wide, y), ResidualRun)
    assert isinstance(run_of(QuadBoostClassifier(n_estimators=20, dictionary="all_stumps"), X, y), ResidualRun)


def run_of(model, X, y):
    rows = model.training_rows(X, y, None)
    return model._score_runs(rows, model.target_of(rows), 0).runs[0]


def test_training_error_is_at_most_one_less_the_squared_edges():
    X, y = noisy()
    model = QuadBoostClassifier(penalty=None, n_estimators=40, fit_intercept=False, tol=0.0).fit(X, y)
    for t, predicted in enumerate(model.staged_predict(X), start=1):
        gamma_squared = -np.diff(model.training_risks_[: t + 1])
        assert model.training_risks_[t] <= 1.0 - t * gamma_squared.min() + 1e-12
        if t == len(model.training_risks_) - 1:
            assert np.mean(predicted != y) <= model.training_risks_[t]


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_fully_corrective_l1_is_the_lasso_of_all_votes(fit_intercept):
    X, y = noisy()
    model = QuadBoostClassifier(
        alpha=0.03, reweight="fully_corrective", tol=1e-7, fit_intercept=fit_intercept, dictionary="all_stumps"
    ).fit(X, y)
    H = np.column_stack([np.where(X[:, j] > v, 1.0, -1.0) for j in range(4) for v in np.unique(X[:, j])[:-1]])
    signs = np.where(y == 1, 1.0, -1.0)
    peer = Lasso(alpha=0.03, fit_intercept=fit_intercept, tol=1e-10, max_iter=100_000).fit(H, signs)
    assert_allclose(model.decision_function(X), peer.predict(H), atol=1e-5)
    assert len(model.training_risks_) - 1 < 1000  # it stopped by itself


def test_more_classes_are_each_against_the_rest():
    X, y = load_iris(return_X_y=True)
    model = QuadBoostClassifier(n_estimators=30).fit(X, y)
    F = model.decision_function(X)
    for k in range(3):
        one = QuadBoostClassifier(n_estimators=30).fit(X, y == k)
        assert_allclose(one.decision_function(X), F[:, k], atol=1e-12)


@pytest.mark.parametrize("dictionary", ["trees", DecisionTreeClassifier(max_depth=1), committee.TreeVoter(max_depth=1)])
def test_trained_voters_see_signs_and_sizes_of_the_residuals(dictionary):
    X, y = noisy()
    model = QuadBoostClassifier(
        None, dictionary=dictionary, max_depth=1, n_estimators=4, fit_intercept=False, random_state=0
    ).fit(X, y)
    stumps = QuadBoostClassifier(None, dictionary="all_stumps", n_estimators=1, fit_intercept=False).fit(X, y)
    # the best stump for all rows is a tree's too; later trees are grown on the residuals' signs
    assert model.training_risks_[1] == pytest.approx(stumps.training_risks_[1], abs=2e-2)
    assert (np.diff(model.training_risks_) < 0).all()


@pytest.mark.parametrize(
    "dictionary",
    ["stumps", "all_stumps", "trees", DecisionTreeClassifier(max_depth=2), TreeRegressor(max_depth=3)],
)
def test_every_dictionary_serves_every_target(dictionary):
    settings = {"dictionary": dictionary, "n_estimators": 25, "random_state": 0}
    for load in (load_breast_cancer, load_iris):
        X, y = load(return_X_y=True)
        assert QuadBoostClassifier(**settings).fit(X, y).score(X, y) > 0.93
    X, y = load_diabetes(return_X_y=True)
    assert QuadBoostRegressor(**settings).fit(X, y).score(X, y) > 0.5


def test_subsets_of_categories_beat_one_against_the_rest():
    rng = np.random.default_rng(0)
    letters = rng.integers(0, 12, 400)
    y = np.isin(letters, [1, 3, 4, 8, 9, 11])
    frame = pl.DataFrame({"letter": [f"c{k}" for k in letters]})
    one = QuadBoostClassifier(None, n_estimators=1, dictionary="all_stumps").fit(frame, y)
    assert one.score(frame, y) == 1.0
    assert one.committee_.n_voters == 1
    singles = QuadBoostClassifier(None, n_estimators=1).fit(frame, y)
    assert singles.score(frame, y) < 0.8


def test_stumps_may_refuse_missing_values_or_learn_from_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    random_gaps, telling_gaps = rng.random(300) < 0.3, (y == 1) & (rng.random(300) < 0.5)
    for dictionary, gaps, vote in (("stumps", random_gaps, 0), ("all_stumps", telling_gaps, 1)):
        rows = np.column_stack([np.where(gaps, np.nan, X[:, 0]), X[:, 1]])
        model = QuadBoostClassifier(None, n_estimators=1, fit_intercept=False, dictionary=dictionary).fit(rows, y)
        assert (model.committee_.votes(rows)[gaps, 0] == vote).all()


def test_early_stopping_keeps_the_weights_of_the_best_round():
    X, y = noisy(400)
    X_val, y_val = noisy(300, seed=5)
    for more in ({}, {"reweight": "every_k"}, {"dictionary": "trees"}, {"dictionary": "all_stumps"}):
        model = QuadBoostClassifier(None, early_stopping=True, n_estimators=300, **more)
        model.fit(X, y, X_val=X_val, y_val=y_val)
        best = int(np.argmin(model.validation_risks_))
        assert len(model.validation_risks_) == len(model.training_risks_) == best + 1
        assert risk(model, X_val, y_val, None) == pytest.approx(model.validation_risks_[best], abs=1e-9)
        assert risk(model, X, y, None) == pytest.approx(model.training_risks_[best], abs=1e-9)


def test_one_held_out_row_is_enough():
    X, _ = noisy(10)
    kept = QuadBoostRegressor(None, n_estimators=3, early_stopping=True, random_state=0)  # holds out a tenth
    for given in ({}, {"X_val": X[:1], "y_val": X[:1, 0]}):
        assert np.isfinite(clone(kept).fit(X, X[:, 0], **given).validation_risks_).all()
    with pytest.raises(ValueError, match="n_samples=1: X has too few rows"):
        QuadBoostRegressor().fit(X[:1], X[:1, 0])


def test_theory_asks_for_much_smaller_committees():
    X, y = load_breast_cancer(return_X_y=True)
    model = QuadBoostClassifier(alpha="theory", random_state=0).fit(X, y)
    again = QuadBoostClassifier(alpha="theory", random_state=0).fit(X, y)
    assert 0.2 < model.strength_ == again.strength_ < 1.0
    assert model.committee_.n_voters < 10
    ridge = QuadBoostClassifier("l2", alpha="theory", n_estimators=100, random_state=0).fit(X, y)
    assert ridge.strength_ == pytest.approx(2.0 * 10.0 * model.strength_)


@pytest.mark.parametrize(
    ("params", "remedy"),
    [
        ({"alpha": 5.0}, "lower alpha"),
        ({"penalty": "l2", "alpha": 1e12}, "lower alpha"),
        ({"penalty": "linf", "alpha_max": 1e-12}, "raise alpha_max"),
    ],
)
def test_a_penalty_that_nothing_passes_leaves_a_warning_and_a_mean(params, remedy):
    X, y = noisy()
    with pytest.warns(UserWarning, match=rf"admits no voter, as the largest .* is 0\.\d+; {remedy}"):
        model = QuadBoostClassifier(**params).fit(X, y)
    assert model.committee_.weights.tolist() == [0.0]
    assert_allclose(model.predict_proba(X)[:, 1], np.mean(y))


def test_targets_far_from_zero_keep_their_digits():
    X, y = load_diabetes(return_X_y=True)
    near = QuadBoostRegressor(alpha=1.0).fit(X, y)
    far = QuadBoostRegressor(alpha=1.0).fit(X, y + 1e8)
    assert_allclose(far.training_risks_, near.training_risks_, rtol=1e-6)
    assert_allclose(far.predict(X) - 1e8, near.predict(X), atol=1e-3)


def test_a_re_weighting_that_ends_early_says_so(monkeypatch):
    X, y = noisy()
    monkeypatch.setattr("committee.objectives.programs.penalised_least_squares.SWEEPS_BETWEEN", 0)
    monkeypatch.setattr("committee.objectives.programs.penalised_least_squares._step_on_free", lambda *_: None)
    with pytest.warns(ConvergenceWarning, match="ended .* from its optimum"):
        QuadBoostClassifier(None, n_estimators=3, reweight="fully_corrective").fit(X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("dictionary", ["stumps", "all_stumps", "trees"])
def test_constant_targets_are_fitted_by_nobody(dictionary):
    X, _ = noisy(40)
    model = QuadBoostRegressor(dictionary=dictionary, n_estimators=5).fit(X, np.full(40, 3.0))
    assert_allclose(model.predict(X), 3.0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (QuadBoostClassifier("linf", alpha="theory"), "'theory' is for penalty='l1' and 'l2'"),
        (QuadBoostClassifier(dictionary="trees", alpha="theory"), "known for stumps"),
        (QuadBoostClassifier(dictionary=LinearRegression(), alpha="theory"), "needs the complexity of the voters"),
        (
            QuadBoostClassifier(dictionary=KNeighborsClassifier()),
            r"KNeighborsClassifier\(\) cannot .* no sample_weight",
        ),
        (LPBoostClassifier(dictionary=LinearRegression()), r"dictionary=LinearRegression\(\) is not a classifier"),
        (LPBoostClassifier(dictionary=KNeighborsClassifier()), r"KNeighborsClassifier\(\).*takes no sample_weight"),
    ],
)
def test_parameters_that_contradict_each_other_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*noisy(30))


@pytest.mark.parametrize("dictionary", ["stumps", "all_stumps", "trees"])
@pytest.mark.parametrize("learner", [QuadBoostClassifier, committee.LPBoostClassifier])
def test_constant_columns_make_no_voter(learner, dictionary):
    with pytest.raises(ValueError, match="every column of X is constant"):
        learner(dictionary=dictionary).fit(np.ones((10, 2)), np.arange(10) % 2)


def test_a_users_classifier_is_kept_with_its_sign():
    X, y = load_iris(return_X_y=True)
    committee = QuadBoostClassifier(dictionary=GaussianNB(), n_estimators=5).fit(X, y).committee_
    F = committee.intercept + np.einsum("ntk,t->nk", committee.votes(X), committee.weights)
    assert_allclose(committee.decision_function(X), F)


SPLINES = make_pipeline(SplineTransformer(n_knots=4, degree=2), Ridge(alpha=5.0))
BASES = [DecisionTreeRegressor(max_depth=2, random_state=0), SPLINES]


def step(penalty, own, eta):
    if penalty == "l1":
        return np.sign(own) * max(abs(own) - 0.02, 0.0) / eta
    if penalty == "l2":
        return own / (eta + 0.3)
    return own / eta if penalty is None else np.clip(own / eta, -0.07, 0.07)


@pytest.mark.parametrize("base", BASES, ids=["tree", "splines"])
@each_penalty
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_rounds_are_those_of_the_document(penalty, base, fit_intercept):
    X, y = numbers(2)
    w = weights()
    model = QuadBoostClassifier(
        penalty, n_estimators=4, dictionary=base, fit_intercept=fit_intercept, tol=0.0, **STRENGTHS[penalty]
    ).fit(X, y, w)
    share, given = w / w.sum(), {"ridge__sample_weight" if base is SPLINES else "sample_weight": w}
    target = 2.0 * y - 1.0
    start = share @ target if fit_intercept else 0.0
    residual, F = target - start, np.full(len(y), start)
    risks = [share @ residual**2]
    for t in range(4):
        h = clone(base).fit(X, residual / np.sqrt(share @ residual**2), **given).predict(X)
        votes, h = h, h - (share @ h if fit_intercept else 0.0)
        eta = share @ h**2
        assert 0.001 < eta < 0.6
        alpha = step(penalty, share @ (h * residual), eta)
        if alpha == 0.0:  # no voter is left that the penalty lets in
            assert penalty == "l1" and model.committee_.n_voters == t > 0
            break
        assert_allclose(model.committee_.voters[t].votes(X)[:, 0, 0], votes, rtol=1e-9, atol=1e-12)
        assert_allclose(model.committee_.weights[t], alpha, rtol=1e-9)
        residual, F = residual - alpha * h, F + alpha * h
        risks.append(share @ residual**2)
    assert_allclose(model.training_risks_, risks, rtol=1e-9)
    assert_allclose(model.decision_function(X), F, atol=1e-10)


@each_penalty
@pytest.mark.parametrize("kind", [QuadBoostClassifier, QuadBoostRegressor])
def test_fully_corrected_weights_are_optimal(penalty, kind):
    X, y = numbers(2) if kind is QuadBoostClassifier else noisy_scores()
    w = weights()
    base, strength = DecisionTreeRegressor(max_depth=2, random_state=0), STRENGTHS[penalty]
    model = kind(penalty, n_estimators=8, dictionary=base, reweight="fully_corrective", tol=1e-6, **strength)
    committee = model.fit(X, y, w).committee_
    assert committee.n_voters > (2 if penalty == "l1" else 7)
    target = 2.0 * y - 1.0 if kind is QuadBoostClassifier else y
    share = w / w.sum()
    H = np.stack([member.predict(X) for member in committee.voters.estimators], axis=1)
    H, r, alpha = H - share @ H, target - share @ target, committee.weights
    rule = penalty_class(penalty)(*strength.values())
    assert rule.distance(H.T @ (share * (r - H @ alpha)), alpha).max() < 1e-6  # of 0 to the subdifferential
    if penalty == "linf":
        assert (np.abs(alpha) == 0.07).any()


def test_least_squares_lines_end_after_one():
    X, y = noisy_scores()
    model = QuadBoostRegressor(None, dictionary=LinearRegression()).fit(X, y)
    assert model.committee_.n_voters == 1
    assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-9)


def test_a_regressor_without_weights_is_for_rows_that_weigh_alike():
    X, y = numbers(2)
    near = QuadBoostClassifier(dictionary=KNeighborsRegressor(), n_estimators=3)
    with pytest.raises(ValueError, match=r"rows weigh differently, and dictionary=KNeighborsRegressor\(\) takes no w"):
        near.fit(X, y, np.arange(1.0, len(y) + 1.0) / len(y))
    p = near.fit(X, y).predict_proba(X)
    assert_allclose(near.fit(X, y, np.ones(len(y))).predict_proba(X), p, rtol=1e-12)
