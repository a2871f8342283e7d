"""The path of all strengths, and the choice among them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Ridge, lasso_path
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from committee import QuadBoostClassifier, QuadBoostClassifierCV, quadboost_path
from committee.objectives.programs.penalties import PENALTIES
from tests.learners.boosting.test_quadboost import noisy
from tests.oracles import votes as oracle


def matrix(path, X):
    dictionary = path.dictionary
    codes = dictionary.bins.encode(np.ascontiguousarray(X))
    return oracle.stump_votes(codes, dictionary.stumps, dictionary.bins.n_bins, dictionary.bins.categorical)


def test_l1_path_is_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    path = quadboost_path(X, y, n_alphas=20, eps=1e-2, tol=1e-9)
    H, signs = matrix(path, X), 2.0 * y - 1.0
    alphas, coefs, _ = lasso_path(
        H - H.mean(axis=0), signs - signs.mean(), alphas=path.alphas, tol=1e-10, max_iter=100_000
    )
    assert_allclose(path.alphas, alphas)
    assert_allclose(path.decision_function(X), H @ coefs + (signs.mean() - H.mean(axis=0) @ coefs), atol=1e-4)
    assert path.gaps.max() <= 1e-9
    assert path.n_voters[0] == 0
    assert_array_equal(path.n_voters, (path.weights != 0).sum(axis=1))


def test_l2_path_is_scikit_learns_ridge():
    X, y = load_diabetes(return_X_y=True)
    path = quadboost_path(X, y, penalty="l2", alphas=[0.01, 1.0])
    H = matrix(path, X)
    assert path.alphas.tolist() == [1.0, 0.01]
    for i, alpha in enumerate(path.alphas):
        peer = Ridge(alpha=alpha * len(y), solver="cholesky").fit(H, y)
        assert_allclose(path.decision_function(X)[:, i], peer.predict(H), rtol=1e-6)
    assert path.gaps.max() < 1e-9


@pytest.mark.parametrize("penalty", ["l1", "l2", "linf"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_risks_scores_and_committees_agree(penalty, fit_intercept):
    X, y = noisy(200)
    X[::9, 0] = np.nan
    w = np.random.default_rng(0).exponential(size=200)
    path = quadboost_path(
        X, y, penalty=penalty, n_alphas=6, sample_weight=w, fit_intercept=fit_intercept, n_thresholds=4
    )
    signs, F = 2.0 * y - 1.0, path.decision_function(X)
    assert_allclose(path.risks, np.average((signs[:, None] - F) ** 2, axis=0, weights=w), atol=1e-10)
    assert (np.diff(path.risks) <= 1e-9).all()
    for i in range(6):
        assert_allclose(path.committee(i).decision_function(X), F[:, i], atol=1e-10)


@pytest.mark.parametrize("penalty", ["l1", "l2", "linf"])
def test_gap_is_never_less_than_the_distance_to_the_least_risk(penalty):
    rng = np.random.default_rng(0)
    X, y = noisy(100)
    path = quadboost_path(X, y, penalty=penalty, n_alphas=4, n_thresholds=4, tol=1e-8)
    H, signs = matrix(path, X), 2.0 * y - 1.0
    H, signs = H - H.mean(axis=0), signs - signs.mean()
    w = np.full(100, 0.01)
    gram, b, square = (H.T * w) @ H, H.T @ (w * signs), float(w @ signs**2)
    for i, alpha in enumerate(path.alphas):
        rule = PENALTIES[penalty](float(alpha))
        best = oracle.objective(H, signs, w, path.weights[i], penalty, float(alpha))
        for _ in range(10):
            other = path.weights[i] + 0.05 * rng.normal(size=len(b))
            if penalty == "linf":
                other = np.clip(other, -alpha, alpha)
            excess = oracle.objective(H, signs, w, other, penalty, float(alpha)) - best
            assert rule.gap(b - gram @ other, other, b, square) >= excess - 1e-7


def test_box_path_keeps_to_its_bounds():
    X, y = noisy(200)
    path = quadboost_path(X, y, penalty="linf", n_alphas=8, tol=1e-6)
    assert (np.diff(path.alphas) > 0).all()
    assert (np.abs(path.weights).max(axis=1) <= path.alphas * (1 + 1e-12)).all()
    assert path.gaps.max() <= 1e-6


def test_a_gap_that_no_digits_reach_is_told():
    X, y = noisy(50)
    near, far = (quadboost_path(X, y, penalty="linf", alphas=[0.05, 0.2], tol=tol) for tol in (1e-6, 1e-25))
    assert 0.0 <= far.gaps.max() < 1e-9 and far.gaps.max() > 1e-25
    assert_allclose(far.decision_function(X), near.decision_function(X), atol=1e-2)


def test_what_a_path_cannot_follow_is_refused():
    X, y = noisy(50)
    wide = np.random.default_rng(0).normal(size=(3000, 5))
    for rows, targets, options, message in [
        (X, np.arange(50) % 3, {}, "two classes or for numbers"),
        (X, np.full(50, "a"), {}, "y holds one class only, 'a'; a path needs two"),
        (X, y, {"alphas": ["strong"]}, r"alphas=\['strong'\] must be a list of finite numbers"),
        (X, y, {"alphas": [-1.0]}, r"alphas=\[-1\.0\]"),
        (X, y, {"alphas": [0.0, 1.0]}, "alphas holds 0, where"),
        (X, y, {"alphas": [0.0, 1.0], "penalty": "linf"}, "alphas holds 0; as"),
        (wide, wide[:, 0], {"n_thresholds": 2000}, "n_thresholds=2000 makes"),
        (wide, 1e-170 * wide[:, 0], {"penalty": "kl"}, r"y around its mean is 0, below 1e-280, and .* Rescale y"),
    ]:
        with pytest.raises(ValueError, match=message):
            quadboost_path(rows, targets, **options)
    assert quadboost_path(wide, 1e-139 * wide[:, 0], n_alphas=3).n_voters[-1] > 0
    only = np.where(np.arange(3000) < 9, np.arange(3000), 7.0)  # constant where rows have a weight
    path = quadboost_path(wide, only, sample_weight=(np.arange(3000) >= 9).astype(float), alphas=[0.1, 1.0])
    assert (path.n_voters == 0).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("penalty", "power"), [("l1", 1), ("l2", 0), ("linf", 1)])
def test_targets_whose_squares_no_float_holds_have_the_same_path(penalty, power, fit_intercept):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y, unit = X[:, 0] + 0.3 * X[:, 1] ** 2, 2.0**-600
    for alphas in (None, [0.01, 0.1]) if power else ([0.01, 0.1],):
        options = {"penalty": penalty, "n_alphas": 4, "fit_intercept": fit_intercept, "n_thresholds": 4}
        near = quadboost_path(X, y, alphas=alphas, **options)
        given = None if alphas is None else np.array(alphas) * unit**power
        far = quadboost_path(X, y * unit, alphas=given, **options)
        for a, b, p in [(near.alphas, far.alphas, power), (near.weights, far.weights, 1)]:
            assert_allclose(b / unit**p, a, rtol=1e-9, atol=1e-12)
        assert_allclose(far.decision_function(X) / unit, near.decision_function(X), rtol=1e-9, atol=1e-12)
        assert_array_equal(far.n_voters, near.n_voters)
    strong = quadboost_path(X, y * unit, penalty="l1", alphas=[1.0])
    assert strong.n_voters.tolist() == [0] and not strong.weights.any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_errors_of_the_folds_are_those_of_fits_without_them(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = (X, y) if n_classes == 3 else (X[50:, :2], y[50:])
    w = np.random.default_rng(0).exponential(size=len(y))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = QuadBoostClassifierCV("l2", alphas=[1.0, 0.1], n_estimators=[3, 30], cv=folds, n_thresholds=200)
    model.fit(X, y, w)
    for k, (train, test) in enumerate(folds.split(X, y)):
        for i, alpha in enumerate(model.alphas_):
            for t, rounds in enumerate([3, 30]):
                # the same thresholds need the same rows: those held out weigh next to nothing
                weights = np.where(np.isin(np.arange(len(y)), train), w, 1e-13)
                one = QuadBoostClassifier(
                    "l2", alpha=alpha, n_estimators=rounds, n_thresholds=200, reweight="none"
                ).fit(X, y, weights)
                error = np.average(one.predict(X[test]) != y[test], weights=w[test])
                assert model.cv_errors_[i, t, k] == pytest.approx(error, abs=1e-9)


def test_chosen_committee_is_the_one_fitted_at_that_strength():
    X, y = noisy(300)
    model = QuadBoostClassifierCV(n_alphas=12, tol=1e-10).fit(X, y)
    path = quadboost_path(X, y, alphas=model.alphas_[model.alphas_ >= model.alpha_], tol=1e-10)
    assert_allclose(model.decision_function(X), path.decision_function(X)[:, -1], atol=1e-6)
    rounds = QuadBoostClassifierCV("linf", alphas=[0.05, 0.2], n_estimators=[5, 50]).fit(X, y)
    same = QuadBoostClassifier("linf", alpha_max=rounds.alpha_, n_estimators=rounds.n_estimators_, reweight="none").fit(
        X, y
    )
    assert_allclose(rounds.decision_function(X), same.decision_function(X), atol=1e-9)


def test_one_standard_error_takes_the_strongest_that_is_as_good():
    X, y = noisy(300)
    best = QuadBoostClassifierCV().fit(X, y)
    simple = QuadBoostClassifierCV(one_standard_error=True).fit(X, y)
    mean = best.cv_errors_.mean(axis=2)[:, 0]
    at = int(mean.argmin())
    assert best.alpha_ == best.alphas_[at]
    allowed = mean[at] + best.cv_errors_[at, 0].std(ddof=1) / np.sqrt(5)
    assert simple.alpha_ == best.alphas_[np.flatnonzero(mean <= allowed)[0]] >= best.alpha_
    assert simple.committee_.n_voters <= best.committee_.n_voters


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"penalty": None}, "penalty=None needs n_estimators"),
        ({"n_estimators": [0, 3]}, "n_estimators="),
        ({"n_estimators": [1.5]}, "n_estimators="),
        ({"alphas": [np.nan]}, "alphas="),
        ({"alphas": ["a"]}, "alphas="),
        ({"eps": 5e-324}, "eps=5e-324 is below 1e-100"),
        ({"alphas": [[0.1]]}, "alphas="),
        ({"cv": ShuffleSplit(3)}, "hold out every row once"),
    ],
)
def test_choices_that_make_no_sense_are_named(params, message):
    X, y = noisy(50)
    with pytest.raises(ValueError, match=message):
        QuadBoostClassifierCV(**params).fit(X, y)


def test_risk_as_criterion_is_the_quadratic_risk_of_the_folds():
    X, y = noisy(90)
    folds = KFold(3)
    model = QuadBoostClassifierCV("l2", alphas=[0.5], criterion="risk", cv=folds, n_thresholds=100).fit(X, y)
    for k, (train, test) in enumerate(folds.split(X)):
        weights = np.where(np.isin(np.arange(90), train), 1.0, 1e-13)
        path = quadboost_path(X, y, penalty="l2", alphas=[0.5], sample_weight=weights, n_thresholds=100)
        risk = np.mean((2.0 * y[test] - 1.0 - path.decision_function(X[test])[:, 0]) ** 2)
        assert model.cv_errors_[0, 0, k] == pytest.approx(risk, rel=1e-6)


def test_any_folds_that_hold_out_each_row_once_will_do():
    X, y = noisy(60)
    own = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    kept = [(np.arange(27), np.arange(27, 57)), (np.arange(27, 57), np.arange(27))]
    weights = np.ones(60)
    weights[:3] = 0.0
    for cv, w, folds, first in (
        (KFold(4), None, list(KFold(4).split(X)), 0),
        (None, None, list(StratifiedKFold(5).split(X, y)), 0),
        (own, weights, kept, 3),
    ):
        found = QuadBoostClassifierCV(n_alphas=3, cv=cv).fit(X, y, w)
        by_list = QuadBoostClassifierCV(n_alphas=3, cv=folds).fit(X[first:], y[first:])
        assert_array_equal(found.cv_errors_, by_list.cv_errors_)
