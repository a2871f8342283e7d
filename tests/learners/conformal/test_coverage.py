"""How often sets and intervals cover, over many draws of all rows: what docs/conformal.md says of each kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

from committee import (
    ConformalClassifier,
    ConformalRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeRegressor,
    TreeVoter,
)
from committee.learners.conformal.calibration_scores import (
    CalibrationScores,
    covered,
    interval_scores,
    intervals,
    random_shares,
    row_hashes,
)
from committee.learners.conformal.out_of_sample import folds_of_rows
from committee.learners.trained_ensembles.out_of_bag import out_of_bag_mask
from committee.vote.committee import Committee
from tests.oracles import conformal as naive
from tests.subjects import noisy_scores, numbers

pytestmark = pytest.mark.filterwarnings("ignore:.*rows are scored")  # a rare class may have too few

ALPHA, N_TRAIN, N_NEW = 0.2, 80, 60
DIFFICULTY = RandomForestRegressor(10, max_samples=0.6, min_samples_leaf=5)
QUANTILES = GradientBoostingRegressor(5, loss="quantile", quantile=[0.1, 0.9], max_leaf_nodes=4, learning_rate=0.5)


class ToldClassifier(ClassifierMixin, BaseEstimator):
    """The columns of a row are its probabilities."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict_proba(self, X):
        return np.asarray(X, dtype=np.float64)

    def predict(self, X):
        return self.classes_[np.argmax(X, axis=1)]


class ToldRegressor(RegressorMixin, BaseEstimator):
    """The columns of a row, but for the last, are its predictions."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        told = np.asarray(X, dtype=np.float64)[:, :-1]
        return told[:, 0] if told.shape[1] == 1 else told


def classes(rng, n):
    """Three classes that overlap, the last of them rare."""
    X = rng.normal(size=(n, 3))
    score = X[:, 0] + 0.8 * rng.normal(size=n)
    return X, np.searchsorted([0.0, 1.3], score)


def amounts(rng, n):
    """Numbers whose noise depends on the row, with heavy tails."""
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.standard_t(3, size=n)


def shares(model, draw, n_draws):
    """Share of new rows that are covered, for each draw of training rows and new ones."""
    found = np.empty(n_draws)
    for k in range(n_draws):
        rng = np.random.default_rng(k)
        model.fit(*draw(rng, N_TRAIN))
        X, y = draw(rng, N_NEW)
        if hasattr(model, "predict_set"):
            found[k] = model.predict_set(X)[np.arange(N_NEW), np.searchsorted(model.classes_, y)].mean()
        else:
            low, high = model.predict_interval(X).T
            found[k] = ((low <= y) & (y <= high)).mean()
    return found


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("model", "draw"),
    [
        (ConformalClassifier(RandomForestClassifier(15, max_samples=0.6, calibrate=None), ALPHA), classes),
        (ConformalClassifier(LogisticRegression(), ALPHA, cv=4, nonconformity="aps"), classes),
        (ConformalClassifier(LogisticRegression(), ALPHA, cv=2, nonconformity="aps", randomised=True), classes),
        (ConformalClassifier(LogisticRegression(), ALPHA, cv=4, per_class=True, method="plus"), classes),
        (ConformalRegressor(RandomForestRegressor(15, max_samples=0.6), ALPHA), amounts),
        (ConformalRegressor(RandomForestRegressor(15, max_samples=0.6), ALPHA, method="plus"), amounts),
        (ConformalRegressor(LinearRegression(), ALPHA, cv=4, method="plus"), amounts),
        (ConformalRegressor(LinearRegression(), ALPHA, nonconformity="normalised", difficulty=DIFFICULTY), amounts),
        (ConformalRegressor(QUANTILES, ALPHA, cv=2, nonconformity="quantile"), amounts),
    ],
    ids=lambda part: part.__name__ if callable(part) and not hasattr(part, "fit") else " ".join(repr(part).split()),
)
def test_coverage_is_about_the_target(model, draw):
    found = shares(model.set_params(random_state=0), draw, 30)
    error = found.std(ddof=1) / np.sqrt(30)
    assert found.mean() + 3.0 * error >= 1.0 - ALPHA  # and so far from the 1 - 2 alpha that is proved
    assert found.mean() - 3.0 * error <= 1.0 - ALPHA + 0.06


def test_coverage_of_held_out_rows_is_that_of_theory():
    """A new row is as likely to have any rank among n + 1: exactly, whatever scores are."""
    rng = np.random.default_rng(0)
    n, alpha, n_draws = 25, 0.1, 8000
    p = rng.dirichlet([0.6, 0.5, 0.4], (n_draws, n + 1))
    y = (rng.random((n_draws, n + 1, 1)) > np.cumsum(p, axis=2)).sum(axis=2)
    inside = 0
    for rows, labels in zip(p, y, strict=True):
        score = 1.0 - rows[np.arange(n + 1), labels]
        known = CalibrationScores.of(score[:-1], np.zeros(n, dtype=int), 1)
        inside += int(covered(known.p_values(score[None, -1:], np.zeros((1, 1), dtype=int)), alpha)[0, 0])
    exact = np.ceil((1 - alpha) * (n + 1)) / (n + 1)
    assert binom.ppf(1e-5, n_draws, exact) <= inside <= binom.isf(1e-5, n_draws, exact)


def test_coverage_of_each_class_and_each_group():
    """By held-out rows of a model that is better for one class and one group than for the others."""
    rng, alpha = np.random.default_rng(1), 0.2

    def drawn(n):
        y, group = (rng.random(n) < 0.25).astype(int), rng.choice(["near", "far"], n)
        sure = 1.2 + 1.2 * (group == "near") + 0.8 * (y == 0)
        own = 1.0 / (1.0 + np.exp(-(sure + 1.5 * rng.normal(size=n))))
        p = np.where((y == 1)[:, None], np.column_stack([1 - own, own]), np.column_stack([own, 1 - own]))
        return p, y, group

    frozen = FrozenEstimator(ToldClassifier().fit(*drawn(50)[:2]))
    of_class, of_group, plain = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
    for _ in range(120):
        (p, y, group), (new, labels, groups) = drawn(120), drawn(150)
        both = (
            (ConformalClassifier(frozen, alpha, on="validation", per_class=True).fit(p, y), {}, labels, of_class),
            (ConformalClassifier(frozen, alpha, on="validation").fit(p, y), {}, labels, plain),
            (
                ConformalClassifier(frozen, alpha, on="validation").fit(p, y, groups=group),
                {"groups": groups},
                (groups == "far").astype(int),
                of_group,
            ),
        )
        for model, options, part, counts in both:
            inside = model.predict_set(new, **options)[np.arange(150), labels]
            counts[0] += np.bincount(part, inside, 2)
            counts[1] += np.bincount(part, minlength=2)
    for counts in (of_class, of_group):
        share = counts[0] / counts[1]
        assert (share > 1 - alpha - 0.01).all() and (share < 1 - alpha + 0.05).all()
    assert (plain[0] / plain[1])[1] < 1 - alpha - 0.05  # of the rarer class, unless it is judged apart


SCORES = {"lac": naive.lac, "aps": naive.aps}


def told(seed, n, K, ties):
    """Probabilities, with many equal ones or none, and labels of all classes."""
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 4, (n, K)).astype(float) if ties else rng.dirichlet(np.ones(K), n)
    return p / p.sum(axis=1, keepdims=True), np.concatenate([np.arange(K), rng.integers(0, K, n - K)])


def around(model, X, y, *args, kind=ConformalClassifier, **params):
    """A conformal model around one that is told, scored on rows."""
    return kind(FrozenEstimator(model.fit(X, y)), on="validation", **params).fit(X, y, *args)


@settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(4, 40),
    st.integers(2, 4),
    st.booleans(),
    st.sampled_from(["lac", "aps"]),
    st.booleans(),
    st.sampled_from([0.02, 0.1, 0.3, 0.5]),
)
def test_sets_are_those_of_sadinle_and_romano(seed, n, K, ties, kind, per_class, alpha):
    p, y = told(seed, n, K, ties)
    new, _ = told(seed + 1, 30, K, ties)
    model = around(ToldClassifier(), p, y, nonconformity=kind, per_class=per_class)
    score = SCORES[kind]
    known = [(label, score(row, label)) for row, label in zip(p.tolist(), y.tolist(), strict=True)]

    def threshold(label):
        return naive.quantile([s for other, s in known if other == label or not per_class], alpha)

    expected = [naive.label_set(row, score, threshold) for row in new.tolist()]
    found = model.predict_set(new, alpha)
    # sums of the same probabilities in another order, and one minus a number, round alike but for ties
    assert [set(np.flatnonzero(row).tolist()) for row in found] == expected
    assert_allclose(model.predict_set(new, 0.5) <= model.predict_set(new, 0.2), True)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 40), st.booleans(), st.sampled_from([0.02, 0.1, 0.3]))
def test_intervals_are_those_of_split_conformal_and_of_quantile_regression(seed, n, quantiles, alpha):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, 9, (n, 2 if quantiles else 1)).astype(float), axis=1)
    X, y = np.column_stack([ends, np.zeros(n)]), rng.integers(0, 9, n).astype(float)
    kind = "quantile" if quantiles else "absolute"
    model = around(ToldRegressor(), X, y, kind=ConformalRegressor, nonconformity=kind)
    low, high = ends[:, 0], ends[:, -1]
    q = naive.quantile(np.maximum(low - y, y - high).tolist(), alpha)
    expected = np.column_stack([low - q, high + q])
    middle = (low + high) / 2
    expected[expected[:, 0] > expected[:, 1]] = middle[expected[:, 0] > expected[:, 1], None]
    assert_allclose(model.predict_interval(X, alpha), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("kind", ["lac", "aps"])
def test_sets_of_folds_are_those_of_cv_plus(kind):
    X, y = numbers(3, 60)
    new, _ = numbers(3, 20, seed=5)
    splits, score = list(KFold(4).split(X)), SCORES[kind]
    model = ConformalClassifier(LogisticRegression(), cv=splits, method="plus", nonconformity=kind).fit(X, y)
    without, scores = np.empty((60, 20, 3)), np.empty(60)
    for train, test in splits:
        fit = LogisticRegression().fit(X[train], y[train])
        without[test] = fit.predict_proba(new)
        scores[test] = [score(p, k) for p, k in zip(fit.predict_proba(X[test]).tolist(), y[test], strict=True)]
    for alpha in (0.1, 0.4):
        rows = without.swapaxes(0, 1).tolist()
        expected = [naive.cross_conformal_set(row, scores.tolist(), score, alpha) for row in rows]
        assert [set(np.flatnonzero(row).tolist()) for row in model.predict_set(new, alpha)] == expected


@pytest.mark.parametrize("kind", ["lac", "aps"])
@pytest.mark.parametrize("source", ["out of bag", "out of fold"])
@pytest.mark.parametrize("whole", [False, True])
def test_p_values_without_each_row_count_its_weight(kind, source, whole):
    """Whole weights count as they are, others in units of their mean over all rows, not over those of a fold."""
    X, y = numbers(3, 60)
    new, _ = numbers(3, 20, seed=5)
    rng, score = np.random.default_rng(0), SCORES[kind]
    w = rng.integers(0, 4, 60).astype(float) if whole else np.append(0.0, rng.uniform(0.2, 2.0, 59))
    counts = w if whole else w / w[1:].mean()
    without, scores = np.full((60, 20, 3), np.nan), np.full(60, np.nan)
    if source == "out of bag":
        estimator = RandomForestClassifier(16, calibrate=None, random_state=0)  # votes of 0 or 1 have exact means
        trees = [estimator.fit(X, y, w).committee_.voters[t] for t in range(16)]
        for i, unseen in enumerate(out_of_bag_mask(estimator, 16, y, w)):
            if unseen.any():
                votes = [trees[t].tally(np.vstack([X[[i]], new])) for t in np.flatnonzero(unseen)]
                (own, *without[i]) = np.mean(votes, axis=0)
                scores[i] = score(own.tolist(), y[i])
    else:
        estimator, splits = LogisticRegression(), list(KFold(4).split(X))
        for train, test in splits:
            rows = train[w[train] > 0]
            fit = LogisticRegression().fit(X[rows], y[rows], counts[rows])
            without[test] = fit.predict_proba(new)
            scores[test] = [score(p, k) for p, k in zip(fit.predict_proba(X[test]).tolist(), y[test], strict=True)]
    cv = None if source == "out of bag" else splits
    model = ConformalClassifier(estimator, cv=cv, method="plus", nonconformity=kind, per_class=True).fit(X, y, w)
    assert model.source_ == source
    found = model.p_values(new)
    for k in range(3):
        rows = np.flatnonzero((y == k) & (w > 0))
        assert np.isfinite(scores[rows]).all()
        known, weights = scores[rows].tolist(), counts[rows].tolist()
        own = [[score(p, k) for p in of_new.tolist()] for of_new in without[rows].swapaxes(0, 1)]
        expected = [naive.p_value(known, weights, of_row) for of_row in own]
        assert_allclose(found[:, k], expected, rtol=1e-12)


def test_intervals_without_each_row_are_those_of_the_jackknife_plus():
    X, y = noisy_scores(50)
    new, _ = noisy_scores(20, seed=5)
    splits = list(KFold(50).split(X))
    model = ConformalRegressor(LinearRegression(), cv=splits, method="plus").fit(X, y)
    without, errors = np.empty((50, 20)), np.empty(50)
    for i, (train, test) in enumerate(splits):
        fit = LinearRegression().fit(X[train], y[train])
        without[i], errors[i] = fit.predict(new), abs(y[test] - fit.predict(X[test]))[0]
    for alpha in (0.1, 0.3):
        expected = [naive.jackknife_plus(column, errors.tolist(), alpha) for column in without.T.tolist()]
        assert_allclose(model.predict_interval(new, alpha), expected, rtol=1e-12)
    assert_allclose(np.abs(model.predict_interval(new, 0.01)), np.inf)


def test_out_of_bag_intervals_are_those_of_the_trees_that_have_not_seen_a_row():
    X, y = noisy_scores(60)
    new, _ = noisy_scores(15, seed=5)
    model = ConformalRegressor(RandomForestRegressor(30, random_state=0), method="plus").fit(X, y)
    forest = RandomForestRegressor(30, random_state=0, oob_score=True).fit(X, y)
    unseen = out_of_bag_mask(forest, 30, y)
    trees = [forest.committee_.voters[t].tally(new)[:, 0] for t in range(30)]
    without = np.array([np.mean([trees[t] for t in np.flatnonzero(row)], axis=0) for row in unseen])
    errors = np.abs(y - forest.oob_prediction_).tolist()
    expected = [naive.jackknife_plus(column, errors, 0.2) for column in without.T.tolist()]
    assert_allclose(model.predict_interval(new, 0.2), expected, rtol=1e-12)
    frozen = ConformalRegressor(FrozenEstimator(forest), on="oob").fit(X, y)
    assert_allclose(frozen.scores_, model.scores_, atol=1e-12)


def test_out_of_bag_scores_of_a_trained_forest_follow_from_its_draws():
    X, y = numbers(3, 120)
    scored = TheirForest(40, random_state=0, oob_score=True).fit(X, y)
    bare = TheirForest(40, random_state=0).fit(X, y)
    remembered, counted = (ConformalClassifier(FrozenEstimator(f), on="oob").fit(X, y) for f in (scored, bare))
    assert_allclose(counted.scores_, remembered.scores_, atol=1e-12)
    with pytest.raises(ValueError, match="ensemble with the training rows"):
        ConformalClassifier(Committee.from_estimator(bare), on="oob").fit(X, y)


# --- what follows ---------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(["lac", "aps"]), st.booleans(), st.booleans())
def test_order_and_repetition_of_scored_rows(seed, kind, per_class, grouped):
    p, y = told(seed, 40, 3, ties=seed % 2 == 0)
    new, _ = told(seed + 1, 25, 3, ties=False)
    rng = np.random.default_rng(seed)
    group, times, order = rng.choice(["a", "b"], 40), rng.integers(0, 4, 40), rng.permutation(40)
    params = {"nonconformity": kind, "per_class": per_class}
    given_groups = {"groups": rng.choice(["a", "b"], 25)} if grouped else {}

    def fitted(rows, weights=None):
        groups = {"groups": group[rows]} if grouped else {}
        frozen = FrozenEstimator(ToldClassifier().fit(p, y))
        return ConformalClassifier(frozen, on="validation", **params).fit(p[rows], y[rows], weights, **groups)

    every = np.arange(40)
    times[0] = 1
    plain, shuffled = fitted(every), fitted(order)
    weighted, repeated = fitted(every, times), fitted(np.repeat(every, times))
    for one, other in ((plain, shuffled), (weighted, repeated)):
        ours, theirs = (model.predict_set(new, 0.2, **given_groups) for model in (one, other))
        assert_array_equal(ours, theirs)
    larger = plain.predict_set(new, 0.05, **given_groups)
    assert (plain.predict_set(new, 0.2, **given_groups) <= larger).all()
    p_values = plain.p_values(new, **given_groups)
    assert_array_equal(p_values > 0.21, plain.predict_set(new, 0.21, **given_groups))


def test_rounding_leaves_no_number_out_whose_score_is_the_threshold():
    """Numbers that are given to two digits are ties; many of f + (y - f) are below y."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        f, y = rng.uniform(0, 50, 20).round(2), rng.uniform(0, 50, 20).round(2)
        X = np.column_stack([f, np.zeros(20)])
        low, high = intervals(f, f, 3.7, interval_scores(y, f, f, 3.7)).T
        assert ((low <= y) & (y <= high)).all()
        model = around(ToldRegressor(), X, y, kind=ConformalRegressor)
        low, high = model.predict_interval(X, 0.3).T
        assert ((low <= y) & (y <= high)).sum() >= 15  # the 15th smallest of 20 scores, where ends are rounded too


def test_copies_are_in_one_fold_and_count_as_one_row_of_their_weight():
    """Else a tree has seen the twin of each row that it judges, and its errors are all 0."""
    X, y = noisy_scores(60)
    new, known = noisy_scores(300, seed=5)
    twice, labels = np.repeat(np.arange(60), 2), (y > np.median(y)).astype(int)
    fold = folds_of_rows(4, X[twice], labels[twice], labels[twice])
    assert_array_equal(fold[::2], fold[1::2])
    assert np.bincount(fold).tolist() == [30] * 4
    for nonconformity in ("absolute", "normalised"):
        model = ConformalRegressor(TreeRegressor(max_depth=None), nonconformity=nonconformity, random_state=0)
        if nonconformity == "normalised":
            model.set_params(difficulty=TreeRegressor(max_depth=2))
        weighted = model.fit(X, y, np.full(60, 2.0)).known_.thresholds(0.1)
        repeated = model.fit(X[twice], y[twice])
        assert_allclose(repeated.known_.thresholds(0.1), weighted, rtol=1e-9)
        low, high = repeated.predict_interval(new).T
        assert ((low <= known) & (known <= high)).mean() > 0.8


def survey(n, seed=0):
    """Answers of few values, so that most rows equal others, and a label or number that they do not determine."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 4)).astype(float)
    score = 1.5 * (X[:, 0] - X[:, 1] + 0.7 * X[:, 2] - 0.7)
    return X, rng.random(n) < expit(score), np.rint(score + rng.normal(size=n))


def test_equal_rows_of_few_values_are_predicted_by_fits_that_have_seen_such_rows():
    X, y, number = survey(600)
    new, label, new_number = survey(4000, seed=1)
    model = ConformalClassifier(TreeVoter(max_depth=None), random_state=0).fit(X, y)
    sets = model.predict_set(new)
    assert 0.87 < sets[np.arange(4000), label.astype(int)].mean() < 0.93 and sets.sum(axis=1).mean() < 1.6
    low, high = ConformalRegressor(TreeRegressor(max_depth=None), random_state=0).fit(X, number).predict_interval(new).T
    assert 0.87 < ((low <= new_number) & (new_number <= high)).mean() < 0.96 and (high - low).mean() < 5.0


@pytest.mark.parametrize("n_copies", [15, 60])
def test_accidental_copies_are_in_one_fold(n_copies):
    X, y = noisy_scores(200)
    rows = np.append(np.arange(200), np.arange(n_copies))
    fold = folds_of_rows(5, X[rows], y[rows], None)
    assert_array_equal(fold[200:], fold[:n_copies])


def test_folds_follow_from_the_rows_and_not_from_threads_or_their_order():
    X, y = numbers(3, 90)
    new, _ = numbers(3, 30, seed=4)
    order = np.random.default_rng(0).permutation(90)
    for method in ("base", "plus"):
        model = ConformalClassifier(LogisticRegression(C=1e-3), cv=3, method=method)
        plain = model.fit(X, y).p_values(new)
        assert_allclose(model.fit(X[order], y[order]).p_values(new), plain, rtol=1e-9)
        assert_array_equal(model.set_params(n_jobs=3).fit(X, y).p_values(new), plain)


def test_shares_of_randomised_sets_are_uniform_and_independent():
    p, y = told(0, 4000, 3, ties=False)
    model = around(ToldClassifier(), p, y, nonconformity="aps", randomised=True, random_state=0)
    numbers = row_hashes(p, None)
    u = random_shares(numbers, model.seed_)
    assert np.abs(np.histogram(u, 10, (0.0, 1.0))[0] / 4000 - 0.1).max() < 0.02
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.06
    assert_array_equal(model.p_values(p[:7]), model.p_values(p)[:7])
    assert not np.array_equal(u, random_shares(numbers, model.seed_ + 1))


def test_rows_of_one_leaf_have_shares_of_their_own():
    """Two leaves have two probabilities; a share for each would cover by chance, all of its rows alike."""
    X, y = noisy_scores(200)
    new, known = noisy_scores(1000, seed=5)
    labels, right = (y > np.median(y)).astype(int), (known > np.median(y)).astype(int)
    shares = []
    for seed in range(12):
        options = {"nonconformity": "aps", "randomised": True, "random_state": seed}
        model = ConformalClassifier(TreeVoter(max_depth=1), cv=3, **options).fit(X, labels)
        shares.append(model.predict_set(new)[np.arange(1000), right].mean())
    assert np.std(shares) < 0.03
    assert_array_equal(model.predict_set(new[:9]), model.predict_set(new)[:9])
