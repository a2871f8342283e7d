"""The variance of a vote of subsamples: against jackknives by refits, and against repetitions of the whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from committee import SBPMTClassifier, SubaggingClassifier, load
from committee.learners.bagging.vote_variance import infinitesimal_jackknife


def rows_of_few_values(seed, n=8):
    """Every value of a column stands twice or more, so that without one row the bins are the same."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(np.arange(n) % 3), rng.permutation(np.arange(n) % 4)], axis=1), np.arange(n) % 2


def jackknife(model, X, y, X_test, w=None):
    """(n - 1) / n times the squared distances of the votes without one row each, every one refitted."""
    n = len(y)
    left = [np.flatnonzero(np.arange(n) != i) for i in range(n)]
    votes = [model.fit(X[rows], y[rows], *([] if w is None else [w[rows]])).predict_proba(X_test) for rows in left]
    whole = model.fit(X, y, *([] if w is None else [w])).predict_proba(X_test)
    return (n - 1) / n * ((whole - votes) ** 2).sum(axis=0)


@pytest.mark.parametrize("voting", ["hard", "shares", "soft"])
def test_over_all_subsamples_it_is_the_jackknife_of_refits(voting, tmp_path):
    X, y = rows_of_few_values(0)
    w = np.random.default_rng(1).integers(1, 4, 8)
    limits = {"min_samples_leaf": 1, "max_features": None, "min_impurity_decrease": 0.0, "max_depth": 2}
    model = SBPMTClassifier("all", 2, 3, max_samples=6, voting=voting, calibrate=None, random_state=0, **limits)
    expected = jackknife(model, X, y, X, w)
    variance = model.vote_variance(X)
    assert model.complete_ and len(model.draws_) == 28 and expected.max() > 0.01
    assert_allclose(variance.rows, expected, rtol=1e-9, atol=1e-12)
    assert not variance.draws.any() and not variance.noise.any()
    assert_allclose(variance.standard_error, np.sqrt(expected), rtol=1e-6, atol=1e-6)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").vote_variance(X).rows, variance.rows)


def test_rows_of_no_weight_count_for_nothing():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 2
    model = SubaggingClassifier(LinearDiscriminantAnalysis(), "all", max_samples=6, voting="soft", calibrate=None)
    padded, w = np.vstack([np.ones((3, 2)), X]), np.r_[0.0, 0.0, 0.0, np.ones(9)]
    tree = SubaggingClassifier(n_estimators="all", max_samples=6, calibrate=None)
    expected = jackknife(model, X, y, X)
    assert len(model.draws_) == 84
    assert_allclose(model.vote_variance(X).rows, expected, rtol=1e-9, atol=1e-12)
    one, other = tree.fit(X, y).vote_variance(X), tree.fit(padded, np.r_[0, 1, 1, y], w).vote_variance(X)
    assert_allclose(other.rows, one.rows, atol=1e-12)


def test_some_draws_give_the_jackknife_of_all_in_the_mean():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(10, 2)), np.arange(10) % 2
    limits = {"max_samples": 5, "calibrate": None}
    alone = SubaggingClassifier(n_estimators="all", **limits).fit(X, y)
    whole, tally = alone.vote_variance(X), alone.predict_proba(X)
    found = [SubaggingClassifier(n_estimators=40, random_state=s, **limits).fit(X, y) for s in range(150)]
    variances = [model.vote_variance(X) for model in found]
    estimates = np.array([variance.rows for variance in variances])
    error = estimates.std(axis=0) / np.sqrt(150)
    # a draw that lost a class was mended, which moves votes by little; hence not to the last digit
    assert (np.abs(estimates.mean(axis=0) - whole.rows) < 4 * error + 0.1 * whole.rows).all()
    # without the correction the mean would be a multiple of what it is
    assert np.mean([v.noise for v in variances]) == pytest.approx(estimates.std(axis=0).mean(), rel=0.5)
    votes = np.array([model.predict_proba(X) for model in found])
    assert np.mean([v.draws for v in variances]) == pytest.approx(((votes - tally) ** 2).mean(), rel=0.1)


@pytest.mark.parametrize(("drawn_rows", "least", "most"), [(8, 0.8, 1.4), (20, 1.0, 2.5)])
def test_over_training_tables_it_is_their_variance_or_more(drawn_rows, least, most):
    """Votes for the nearer class mean, on tables drawn anew."""
    query = np.array([[0.0, 0.0], [0.5, -0.5], [1.5, 1.0]])
    votes, estimates = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        y = np.arange(40) % 2
        X = rng.normal(size=(40, 2)) + 0.7 * y[:, None]
        drawn = rng.permuted(np.tile(np.arange(40) < drawn_rows, (300, 1)), axis=1)
        drawn = drawn[drawn[:, y == 0].any(axis=1) & drawn[:, y == 1].any(axis=1)]
        mean = [(drawn & (y == k)) @ X / (drawn & (y == k)).sum(axis=1)[:, None] for k in (0, 1)]
        near = [((query - m[:, None]) ** 2).sum(axis=2) for m in mean]
        P = (near[1] < near[0]).astype(float)[:, :, None]
        votes.append(P.mean(axis=0)[:, 0])
        estimates.append(infinitesimal_jackknife(drawn, P).rows[:, 0])
    ratio = np.mean(estimates, axis=0) / np.var(votes, axis=0, ddof=1)
    assert (ratio > least).all() and (ratio < most).all()


def test_it_is_refused_where_nothing_is_known():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    for model, error, words in (
        (SubaggingClassifier(bootstrap=True), AttributeError, "no record of subsamples"),
        (SubaggingClassifier(max_samples=30), ValueError, "every voter has seen all 30 rows"),
        (SubaggingClassifier(n_estimators=1), ValueError, "fit with n_estimators=2 at least"),
    ):
        with pytest.raises(error, match=words):
            model.fit(X, y).vote_variance(X)
    with pytest.raises(AttributeError, match="no record of subsamples"):
        _ = SubaggingClassifier(bootstrap=True).fit(X, y).estimators_samples_
    earlier = SubaggingClassifier(n_estimators=3).fit(X, y)
    variance = earlier.vote_variance(X)
    del earlier.complete_  # as models of releases before it
    assert_allclose(earlier.vote_variance(X).rows, variance.rows)


# --- all subsamples there are ---------------------------------------------------------------------------------------


def test_all_subsamples_are_drawn_once():
    X, y = np.arange(14.0).reshape(7, 2), np.array([0, 0, 0, 1, 1, 2, 2])
    model = SubaggingClassifier(n_estimators="all", max_samples=4, random_state=0, oob_score=True).fit(X, y)
    samples = {tuple(rows.tolist()) for rows in model.estimators_samples_}
    assert len(samples) == len(model.draws_) == 24  # 35 less those without a class: 1 + 5 + 5
    assert all(len(rows) == 4 and len(set(y[list(rows)])) == 3 for rows in samples)
    assert model.estimators_samples_[0].tolist() != min(samples), "in random order"
    other = SubaggingClassifier(n_estimators="all", max_samples=4, random_state=1, oob_score=True).fit(X, y)
    assert_allclose(model.predict_proba(X), other.predict_proba(X))
    assert_allclose(model.oob_decision_function_, other.oob_decision_function_)


@pytest.mark.parametrize(
    ("n", "params", "words"),
    [
        (30, {}, r"every subsample of 21 of the 30 rows, and there are 14,307,150; .*max_samples=29 for the 30"),
        (900, {}, r"every subsample of 630 of the 900 rows, and there are more than 1e12; at most 10,000"),
        (
            9000,
            {},
            "of 6300 of the 9000 rows, and there are more than 1e12; at most 1,111 of so many rows are drawn. "
            "Give a number of them.$",
        ),
        (30, {"bootstrap": True}, "n_estimators='all' is for draws without replacement"),
        (30, {"max_samples": 31}, "only 30 have weight"),
        (30, {"n_estimators": "every"}, "n_estimators"),
    ],
)
def test_too_many_subsamples_are_refused(n, params, words):
    X, y = np.random.default_rng(0).normal(size=(n, 2)), np.arange(n) % 2
    with pytest.raises(ValueError, match=words):
        SubaggingClassifier(**({"n_estimators": "all"} | params)).fit(X, y)
