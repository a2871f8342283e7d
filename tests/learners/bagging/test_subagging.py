"""Subagging: draws, votes, out-of-bag rows, the variance of the vote, and complete subagging."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from committee import AdaBoostClassifier, SBPMTClassifier, SubaggingClassifier, TreeVoter, load
from committee.learners.bagging.subsamples import infinitesimal_jackknife
from committee.voters.forest import Forest

seeds = st.integers(0, 2**32 - 1)


class Witness(ClassifierMixin, BaseEstimator):
    """Remembers what it was given; column 0 of the table is the row's number."""

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> "Witness":
        self.rows_, self.y_ = X[:, 0].astype(int), y
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        return np.full(len(X), self.classes_[0])


class WeightedWitness(Witness):
    """One that takes weights."""

    def fit(self, X: NDArray[np.float64], y: NDArray[Any], sample_weight: Any = None) -> "WeightedWitness":
        self.weights_ = sample_weight
        return super().fit(X, y)


def numbered(n: int, y: Any, **params: Any) -> list[Witness]:
    """The members after training on rows 0 to n - 1."""
    X = np.column_stack([np.arange(n), np.zeros(n)])
    estimator = params.pop("estimator", Witness())
    return list(SubaggingClassifier(estimator, **params).fit(X, y).committee_.voters.estimators)


def noisy(n: int = 300, n_classes: int = 2) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(n_classes)
    X = rng.integers(0, 4, (n, 4)).astype(float)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)).astype(int) % n_classes


# --- draws --------------------------------------------------------------------------------------------------


@given(seeds, st.integers(10, 60), st.floats(0.2, 1.0))
def test_draws_without_replacement(seed, n, max_samples):
    y = np.random.default_rng(seed).integers(0, 2, n)
    y[:2] = 0, 1
    for member in numbered(n, y, n_estimators=4, max_samples=max_samples, random_state=seed):
        assert len(member.rows_) == len(set(member.rows_)) == max(2, int(max_samples * n))
        assert_array_equal(member.y_, y[member.rows_])
    for member in numbered(n, y, n_estimators=4, max_samples=9, random_state=seed):
        assert len(set(member.rows_)) == len(member.rows_) == 9


@given(seeds, st.booleans())
def test_every_draw_has_every_class(seed, bootstrap):
    y = np.array([0] * 50 + [1] * 30 + [2] * 2 + [3])
    members = numbered(83, y, n_estimators=5, max_samples=6, bootstrap=bootstrap, random_state=seed)
    for member in members:
        assert set(member.y_) == {0, 1, 2, 3}
        assert len(member.rows_) == 6


def test_draws_with_replacement():
    members = numbered(100, np.arange(100) % 2, bootstrap=True, max_samples=1.0, n_estimators=30, random_state=0)
    distinct = [len(set(member.rows_)) for member in members]
    assert {len(member.rows_) for member in members} == {100}
    assert np.mean(distinct) == pytest.approx(100 * (1 - np.exp(-1)), abs=3)
    large = numbered(10, np.arange(10) % 2, bootstrap=True, max_samples=50, n_estimators=2)
    assert {len(member.rows_) for member in large} == {50}


def test_rows_are_drawn_equally_often_and_each_draw_anew():
    members = numbered(40, np.arange(40) % 2, max_samples=0.5, n_estimators=400, random_state=0)
    often = np.bincount(np.concatenate([member.rows_ for member in members]), minlength=40)
    assert np.abs(often - 200).max() < 50  # five standard deviations
    assert len({tuple(sorted(member.rows_)) for member in members}) == 400
    # a small class is put in only where the draw had lost it
    members = numbered(100, np.arange(100) >= 90, max_samples=0.5, n_estimators=300, random_state=0)
    assert np.mean([member.y_.sum() for member in members]) == pytest.approx(5, abs=0.3)


def test_weights_go_to_the_voters():
    w = np.random.default_rng(0).exponential(size=50)
    w[::5] = 0
    w *= 40 / w.sum()
    model = SubaggingClassifier(WeightedWitness(), n_estimators=6, bootstrap=True, random_state=0)
    X = np.column_stack([np.arange(50), np.zeros(50)])
    for member in model.fit(X, np.arange(50) % 2, w).committee_.voters.estimators:
        assert not (member.rows_ % 5 == 0).any()
        times = member.weights_ / w[member.rows_]
        assert_allclose(times, np.rint(times))  # a row drawn k times counts k times
        assert np.rint(times).sum() == 28  # 0.7 of the 40 rows that count
    plain = SubaggingClassifier(WeightedWitness(), n_estimators=2).fit(X, np.arange(50) % 2)
    assert_array_equal(plain.committee_.voters.estimators[0].weights_, 1.0)


def test_weight_of_a_row_in_the_mean_over_draws():
    """In the mean a row of weight k weighs as much as k rows; so it does draw by draw if copies are drawn together."""
    y, times = np.arange(30) % 2, np.arange(30) % 4 + 1
    X = np.column_stack([np.arange(30), np.zeros(30)])
    settings = {"n_estimators": 500, "max_samples": 0.5, "random_state": 0}
    weighted, repeated = np.zeros(30), np.zeros(30)
    for member in SubaggingClassifier(WeightedWitness(), **settings).fit(X, y, times).committee_.voters.estimators:
        weighted[member.rows_] += member.weights_
    with pytest.warns(UserWarning, match="copies of other rows"):
        again = SubaggingClassifier(WeightedWitness(), **settings).fit(X.repeat(times, axis=0), y.repeat(times))
    for member in again.committee_.voters.estimators:
        np.add.at(repeated, member.rows_, member.weights_)
    assert_allclose(weighted / 500, times / 2, rtol=0.2)
    assert_allclose(repeated / 500, times / 2, rtol=0.2)


# --- the vote and its voters --------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_vote_is_the_mean_of_its_voters(voting, n_classes):
    X, y = noisy(n_classes=n_classes)
    for estimator in (None, GaussianNB(), DecisionTreeClassifier(max_depth=3), AdaBoostClassifier(5)):
        model = SubaggingClassifier(estimator, 5, voting=voting, calibrate=None, random_state=0).fit(X, y)
        votes = model.committee_.voters.votes(model.table_.encode(X))
        p = votes.mean(axis=1) if voting == "soft" else (votes[:, :, None] == np.arange(n_classes)).mean(axis=1)
        assert_allclose(model.predict_proba(X), p, atol=1e-12)
        assert_array_equal(model.committee_.weights, 1.0)
        if estimator is not None:
            members = model.committee_.voters.estimators
            said = [m.predict_proba(X) if voting == "soft" else m.predict(X) == 1 for m in members]
            ours = model.predict_proba(X) if voting == "soft" else model.predict_proba(X)[:, 1]
            assert_allclose(np.mean(said, axis=0), ours, atol=1e-12)


class OtherTree(TreeVoter):
    """A tree that is fitted like any classifier, not on the bins that all draws share."""


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_on_shared_bins_are_the_trees_on_their_own(voting, bootstrap, weighted):
    """Every draw holds every value of every column, so its own bins are the shared ones."""
    X, y = noisy(600, 3)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.array(["x", "y", "z"])[(X[:, 3] + y).astype(int) % 3])
    w = np.random.default_rng(0).exponential(size=600) if weighted else None
    settings = {"n_estimators": 9, "voting": voting, "bootstrap": bootstrap, "random_state": 0, "oob_score": True}
    settings["max_samples"] = 0.5
    limits: dict[str, Any] = {"max_depth": 5, "min_samples_leaf": 3, "criterion": "entropy"}
    shared = SubaggingClassifier(TreeVoter(**limits), **settings).fit(frame, y, w)
    own = SubaggingClassifier(OtherTree(**limits), **settings).fit(frame, y, w)
    assert isinstance(shared.committee_.voters, Forest) and not isinstance(own.committee_.voters, Forest)
    assert_allclose(shared.predict_proba(frame), own.predict_proba(frame), atol=1e-12)
    assert_array_equal(shared.predict(frame), own.predict(frame))
    assert_allclose(shared.oob_margins_, own.oob_margins_, atol=1e-12)
    assert shared.committee_.n_nodes == own.committee_.n_nodes


def test_voters_are_told_which_columns_are_categories():
    rng = np.random.default_rng(0)
    town = rng.choice(list("abcdefgh"), 300)
    frame = pd.DataFrame({"size": rng.normal(size=300), "town": town})
    y = np.isin(town, ["a", "c", "e", "g"])
    for estimator in (TreeVoter(max_depth=1), OtherTree(max_depth=1), HistGradientBoostingClassifier(max_iter=3)):
        assert SubaggingClassifier(estimator, 3, random_state=0).fit(frame, y).score(frame, y) == 1.0


def test_seeds_of_the_voters():
    X, y = noisy()
    tree = DecisionTreeClassifier(max_features=1)
    for estimator in (tree, make_pipeline(StandardScaler(), tree)):
        first, second = (SubaggingClassifier(estimator, 4, random_state=3).fit(X, y) for _ in range(2))
        assert_array_equal(first.predict_proba(X), second.predict_proba(X))
        ends = [member if estimator is tree else member[-1] for member in first.committee_.voters.estimators]
        assert len({member.random_state for member in ends}) == 4
    fixed = SubaggingClassifier(DecisionTreeClassifier(random_state=7), 3).fit(X, y)
    assert {member.random_state for member in fixed.committee_.voters.estimators} == {7}
    other = SubaggingClassifier(tree, 4, random_state=np.random.RandomState(3)).fit(X, y)
    assert_array_equal(other.predict_proba(X), SubaggingClassifier(tree, 4, random_state=3).fit(X, y).predict_proba(X))


# --- out of bag ---------------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_left_out_judge(voting, bootstrap, n_classes, weighted):
    """Each row by the voters that did not see it, recomputed one row after the other."""
    X, y = noisy(120, n_classes)
    X = np.column_stack([np.arange(120), X])
    w = None
    if weighted:
        w = np.random.default_rng(0).exponential(size=120)
        w[::9] = 0
    model = SubaggingClassifier(
        RememberingTree(max_depth=4), 15, oob_score=True, voting=voting, bootstrap=bootstrap, random_state=0
    ).fit(X, y, w)
    counts = np.ones(120, bool) if w is None else w > 0
    right, total = 0.0, 0.0
    for i in range(120):
        judges = [m for m in model.committee_.voters.estimators if i not in m.rows_]
        if not counts[i] or not judges:
            assert np.isnan(model.oob_margins_[i]) and np.isnan(model.oob_decision_function_[i]).all()
            continue
        share = np.zeros(n_classes)
        for judge in judges:
            p = judge.predict_proba(X[i : i + 1])[0]
            share += (p if voting == "soft" else np.eye(n_classes)[p.argmax()]) / len(judges)
        assert_allclose(model.oob_decision_function_[i], share, atol=1e-12)
        assert model.oob_margins_[i] == pytest.approx(share[y[i]] - np.delete(share, y[i]).max(), abs=1e-12)
        weight = 1.0 if w is None else w[i]
        right += weight * (share.argmax() == y[i])
        total += weight
    assert model.oob_score_ == pytest.approx(right / total)


class RememberingTree(TreeVoter):
    """Column 0 is the row's number."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RememberingTree":
        super().fit(X, y, sample_weight)
        self.rows_ = set(X[:, 0].astype(int).tolist())
        return self


def test_rows_that_every_voter_saw_are_counted():
    X, y = noisy()
    with pytest.warns(UserWarning, match=r"\d+ rows are in every draw.*more estimators or a smaller max_samples"):
        model = SubaggingClassifier(n_estimators=2, oob_score=True, random_state=0).fit(X, y)
    assert np.isnan(model.oob_margins_).mean() == pytest.approx(0.49, abs=0.1)
    assert 0 < model.oob_score_ < 1
    with pytest.warns(UserWarning, match="300 rows are in every draw"):
        model = SubaggingClassifier(n_estimators=2, max_samples=1.0, oob_score=True).fit(X, y)
    assert np.isnan(model.oob_score_)
    model.set_params(oob_score=False).fit(X[:100], y[:100])
    assert not hasattr(model, "oob_score_") and not hasattr(model, "oob_margins_")


# --- errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_samples": 101}, "max_samples=101 asks for 101 rows without replacement, but only 100.*lower it"),
        ({"max_samples": 1}, "max_samples=1 is fewer than the 2 classes.*raise it"),
        ({"estimator": LinearSVC(), "voting": "soft"}, r"needs predict_proba.*LinearSVC\(\).*set voting='hard'"),
        ({"estimator": TreeVoter(max_depth=0)}, "'max_depth' parameter of TreeVoter"),
    ],
)
def test_parameters_are_checked(params, message):
    with pytest.raises(ValueError, match=message):
        SubaggingClassifier(**params).fit(np.zeros((100, 1)), np.arange(100) % 2)


def test_weights_need_a_voter_that_takes_them():
    X, y = noisy()
    message = r"sample_weight is given, but the fit of estimator=KNeighbors.*leave the weights"
    with pytest.raises(ValueError, match=message):
        SubaggingClassifier(KNeighborsClassifier()).fit(X, y, np.ones(300))
    with pytest.raises(ValueError, match="only 2 can be drawn"):
        SubaggingClassifier(max_samples=5).fit(X, np.arange(300) % 2, (np.arange(300) < 2).astype(float))


# --- the variance of the vote ----------------------------------------------------------------------------------------


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
        (SubaggingClassifier(max_samples=30), ValueError, "every voter was trained on all 30 rows"),
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
        (9000, {}, "of 6300 of the 9000 rows, .* at most 1,111 are possible .* Set n_estimators to a number.$"),
        (30, {"bootstrap": True}, "n_estimators='all' is for draws without replacement"),
        (30, {"max_samples": 31}, "only 30 can be drawn"),
        (30, {"n_estimators": "every"}, "n_estimators"),
    ],
)
def test_too_many_subsamples_are_refused(n, params, words):
    X, y = np.random.default_rng(0).normal(size=(n, 2)), np.arange(n) % 2
    with pytest.raises(ValueError, match=words):
        SubaggingClassifier(**({"n_estimators": "all"} | params)).fit(X, y)
