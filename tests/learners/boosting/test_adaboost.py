"""AdaBoost against the slow way of tests/oracles, against scikit-learn's, and against its theorems."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier as TheirAdaBoost
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee import AdaBoostClassifier, TreeVoter
from committee.data.rows import scaled_weights
from committee.learners.boosting.adaboost import Confidence, Discrete
from tests.oracles import adaboost as oracle

seeds = st.integers(0, 2**32 - 1)


@st.composite
def tables(draw, n_classes=2, weighted=None, min_rows=12):
    rng = np.random.default_rng(draw(seeds))
    K = draw(st.integers(2, 4)) if n_classes is None else n_classes
    n, p = draw(st.integers(min_rows, 60)), draw(st.integers(1, 3))
    X = rng.normal(size=(n, p))
    score = X[:, 0] + X[:, -1] * (X[:, 0] > 0) + draw(st.sampled_from([0.1, 0.5, 2.0])) * rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score)
    y[: 2 * K] = np.repeat(np.arange(K), 2)
    with_weights = draw(st.booleans()) if weighted is None else weighted
    return X, y, scaled_weights(rng.exponential(size=n) + 0.01) if with_weights else None


def until_tie(rounds):
    found = []
    try:
        for step in rounds:
            found.append(step)
    except oracle.TieError:
        pass
    assume(found)
    return found


def fit(table, **params):
    X, y, w = table
    return AdaBoostClassifier(**params).fit(X, y, w)


def row_weights(table):
    _, y, w = table
    return np.full(len(y), 1 / len(y)) if w is None else w / w.sum()


def assert_same_rounds(model, steps, factor=1.0):
    T = len(steps)
    assert model.committee_.n_voters >= T
    assert_allclose(model.committee_.weights[:T], factor * np.array([s.alpha for s in steps]), rtol=1e-7, atol=1e-9)
    assert_allclose(model.estimator_errors_[:T], [s.error for s in steps], rtol=1e-7, atol=1e-9)
    assert_allclose(model.normalisers_[:T], [s.normaliser for s in steps], rtol=1e-7)
    forest = model.committee_.voters
    root = forest.offset[:T]
    assert_array_equal(forest.feature[root], [s.feature for s in steps])
    assert_allclose(forest.threshold[root], [s.threshold for s in steps], rtol=1e-12)


def assert_same_scores(model, steps, X, score):
    for rows in (X, np.random.default_rng(0).normal(size=(50, X.shape[1])) * 2):
        F = score(sum(s.alpha * s.say(rows) for s in steps))
        ours = model.committee_.select(slice(len(steps))).decision_function(rows)
        assert_allclose(ours, F, rtol=1e-6, atol=1e-7)


@given(tables(n_classes=None), st.sampled_from([1.0, 0.3]), st.sampled_from(["gini", "entropy"]))
def test_discrete_is_samme(table, learning_rate, criterion):
    X, y, w = table
    K = y.max() + 1
    given_weights = np.ones(len(y)) if w is None else w
    steps = until_tie(oracle.samme(X, y, given_weights, K, learning_rate, 8, criterion))
    model = fit(table, n_estimators=8, learning_rate=learning_rate, criterion=criterion, vote="discrete")
    assert_same_rounds(model, steps)
    assert_same_scores(model, steps, X, lambda F: F[:, 1] - F[:, 0] if K == 2 else F)


@pytest.mark.parametrize("n_classes", [2, 3])
@given(st.data(), st.sampled_from([1.0, 0.3, 1.9]))
def test_confidence_is_schapire_and_singer(n_classes, data, learning_rate):
    """With more than two classes it is AdaBoost.MH."""
    X, y, w = table = data.draw(tables(n_classes=n_classes))
    given_weights = np.ones(len(y)) if w is None else w
    if n_classes == 2:
        steps = until_tie(oracle.confidence(X, y, given_weights, learning_rate, 8))
    else:
        steps = until_tie(oracle.adaboost_mh(X, y, given_weights, 3, learning_rate, 6))
    model = fit(table, n_estimators=8, learning_rate=learning_rate, vote="confidence")
    assert_same_rounds(model, steps)
    assert_same_scores(model, steps, X, lambda F: F[:, 0] if n_classes == 2 else F)


@given(tables(weighted=True), st.sampled_from([1.0, 0.3]))
def test_abstaining_is_the_least_z_with_refusals(table, learning_rate):
    X, y, w = table
    steps = until_tie(oracle.abstaining(X, y, w, learning_rate, 6))
    model = fit(table, n_estimators=6, learning_rate=learning_rate, vote="abstaining")
    T = len(steps)
    errors, model.estimator_errors_ = model.estimator_errors_, np.array([s.error for s in steps])
    # who refuses rows is not perfect, so a voter without errors is said to err by half a row
    assert_allclose(errors[:T], np.maximum([s.error for s in steps], np.minimum(errors[:T], 0.5 / len(y))), atol=1e-9)
    assert_same_rounds(model, steps, factor=2.0)
    assert_same_scores(model, steps, X, lambda F: 2 * F[:, 0])


def coarse(seed, n_classes):
    """Few distinct values, so that bins lose nothing; random weights, so that no two splits are equally good."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(300, 5)).astype(np.float64)
    score = X[:, 0] + X[:, 1] * (X[:, 2] > 4) + 2 * rng.normal(size=300)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score), rng.exponential(size=300)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("tree", [{"max_depth": 1}, {"max_depth": 3}, {"max_depth": None, "max_leaf_nodes": 5}])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_same_rounds_as_scikit_learn(learning_rate, n_classes, tree, criterion):
    X, y, w = table = coarse(n_classes, n_classes)
    tree = {"min_samples_leaf": 4, "criterion": criterion} | tree
    theirs = TheirAdaBoost(
        DecisionTreeClassifier(**tree), n_estimators=30, learning_rate=learning_rate, random_state=0
    ).fit(X, y, w)
    ours = fit(table, n_estimators=30, learning_rate=learning_rate, vote="discrete", **tree)
    T = ours.committee_.n_voters
    assert T == len(theirs.estimators_) > 3
    assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[:T], rtol=1e-7)
    assert_allclose(ours.committee_.weights, theirs.estimator_weights_[:T], rtol=1e-7)
    for mine, other in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        assert_array_equal(mine, other)


def test_votes_are_discrete_for_two_classes_and_any_voter_and_confident_for_several():
    two, five = coarse(2, 2), coarse(5, 5)
    for table, params, vote in (
        (two, {}, "discrete"),
        (five, {}, "confidence"),
        (five, {"voter": GaussianNB()}, "discrete"),
    ):
        auto = fit(table, n_estimators=10, **params)
        assert (auto.vote, auto.vote_) == ("auto", vote)
        assert_array_equal(
            auto.predict_proba(table[0]), fit(table, n_estimators=10, vote=vote, **params).predict_proba(table[0])
        )
    assert fit(five).score(*five) > fit(five, vote="discrete").score(*five)
    assert fit(five, vote="discrete").vote_ == "discrete"


def test_any_voter_gives_the_rounds_of_scikit_learn():
    X, y, w = coarse(0, 3)
    for voter in (GaussianNB(), LogisticRegression(tol=1e-10)):
        theirs = TheirAdaBoost(voter, n_estimators=8).fit(X, y, w)
        ours = AdaBoostClassifier(8, voter=voter).fit(X, y, w)
        T = ours.committee_.n_voters
        assert len(theirs.estimators_) == T
        assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[:T], rtol=1e-3)
        assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


votes = st.sampled_from(["discrete", "confidence", "abstaining"])
HALF = {"discrete": 0.5, "confidence": 1.0, "abstaining": 0.5}
"""A row's weight is multiplied by exp(-this y F)."""


def signs(model, y):
    return np.where(y == model.classes_[1], 1.0, -1.0)


@given(tables(), votes, st.sampled_from([1.0, 0.4]))
def test_product_of_z_is_the_exponential_loss(table, vote, learning_rate):
    """The identity behind the bound of the training error, for which the weights sum to one after every round."""
    X, y, _ = table
    model = fit(table, n_estimators=10, vote=vote, learning_rate=learning_rate)
    for F, labels, product in zip(
        model.staged_decision_function(X), model.staged_predict(X), np.cumprod(model.normalisers_), strict=True
    ):
        loss = row_weights(table) @ np.exp(-HALF[vote] * signs(model, y) * F)
        assert_allclose(loss, product, rtol=1e-7)
        assert row_weights(table) @ (labels != y) <= product + 1e-9


@given(tables(n_classes=3))
def test_hamming_loss_is_at_most_the_product_of_z(table):
    X, y, _ = table
    model = fit(table, n_estimators=10, vote="confidence")
    F = model.decision_function(X)
    wrong = (F > 0) != (y[:, None] == np.arange(3))
    assert row_weights(table) @ wrong.mean(axis=1) <= np.prod(model.normalisers_) + 1e-9


@given(tables())
def test_a_voter_is_worth_nothing_under_the_weights_it_leaves(table):
    """Binary, discrete, whole steps: its weighted error becomes exactly one half."""
    X, y, _ = table
    model = fit(table, n_estimators=8)
    H = model.committee_.votes(X)
    assume(model.estimator_errors_.max() < 0.5)
    for t, F in enumerate(model.staged_decision_function(X)):
        w = row_weights(table) * np.exp(-0.5 * signs(model, y) * F)
        if model.estimator_errors_[t] > 0:
            assert_allclose(w @ (H[:, t] != signs(model, y)) / w.sum(), 0.5, rtol=1e-9)


@given(st.integers(1, 6), seeds)
def test_confident_votes_have_no_larger_z_than_labels_on_the_same_leaves(n_leaves, seed):
    W = np.random.default_rng(seed).exponential(size=(n_leaves, 2)) ** 3 + 0.01
    tree = SimpleNamespace(feature=np.full(n_leaves, -1), sums=W)
    discrete = Discrete(2, 1e15, 1.0).round(tree)
    assume(not discrete.useless)
    confident = Confidence(2, 1e15, 1.0).round(tree)
    assert confident.normaliser <= discrete.normaliser + 1e-12
    W = W / W.sum()
    assert_allclose(confident.normaliser, 2 * np.sqrt(W.prod(axis=1)).sum(), rtol=1e-9)
    assert_allclose(discrete.normaliser, 2 * np.sqrt(discrete.error * (1 - discrete.error)), rtol=1e-9)


@given(tables(weighted=False), st.floats(-0.5, 0.9))
@example((np.arange(12.0)[:, None], np.array([0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1]), None), 0.0)
def test_share_of_small_margins(table, theta):
    """Schapire, Freund, Bartlett, Lee 1998, theorem 5; classical weights."""
    X, y, _ = table
    model = fit(table, n_estimators=12)
    error = model.estimator_errors_
    assume(error.min() > 0 and error.max() < 0.5)  # a perfect voter would have an infinite weight
    bound = np.prod(2 * np.sqrt(error ** (1 - theta) * (1 - error) ** (1 + theta)))
    assert (model.committee_.margins(X, y) <= theta - 1e-12).mean() <= bound + 1e-12


def noisy(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, (X[:, 0] + X[:, 1] ** 2 + 1.5 * rng.normal(size=n) > 1).astype(np.int64)


@pytest.mark.parametrize("params", [{"max_depth": 3}, {"vote": "confidence", "max_depth": 2}, {"voter": GaussianNB()}])
def test_the_best_round_is_restored(params):
    X, y = noisy()
    X_val, y_val = noisy(200, 1)
    model = AdaBoostClassifier(80, early_stopping=True, n_iter_no_change=6, random_state=0, **params)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    whole = AdaBoostClassifier(80, random_state=0, **params).fit(X, y)
    errors = np.array([(labels != y_val).mean() for labels in whole.staged_predict(X_val)])
    stopped = next(
        (t for t in range(len(errors)) if t - int(errors[: t + 1].argmin()) >= 6), len(errors) - 1
    )  # the first round with six since the best
    best = int(errors[: stopped + 1].argmin())
    assert model.committee_.n_voters == best + 1 < 80
    assert_allclose(model.validation_errors_, errors[: best + 1], rtol=0, atol=1e-12)
    assert_array_equal(model.committee_.weights, whole.committee_.weights[: best + 1])
    assert_array_equal(model.predict(X), whole.committee_.select(slice(best + 1)).predict(X))
    assert len(model.estimator_errors_) == len(model.normalisers_) == best + 1


def test_a_perfect_voter_ends_the_run():
    X = np.arange(20.0)[:, None]
    for vote in ("discrete", "confidence", "abstaining"):
        model = AdaBoostClassifier(10, vote=vote).fit(X, X[:, 0] > 7)
        assert model.committee_.n_voters == 1 and model.score(X, X[:, 0] > 7) == 1.0
        assert np.isfinite(model.committee_.weights).all()
        assert model.predict_proba(X).max() < 1.0
    assert_allclose(AdaBoostClassifier().fit(X, X[:, 0] > 7).committee_.weights, np.log(39.0))  # half a row of 20


@pytest.mark.parametrize("params", [{}, {"vote": "confidence"}, {"vote": "abstaining"}, {"voter": TreeVoter()}])
def test_nothing_to_learn_is_said_and_leaves_one_voter(params):
    X, n = np.ones((20, 2)), np.arange(20)
    with pytest.warns(UserWarning, match="No voter beats chance"):
        model = AdaBoostClassifier(10, **params).fit(X, n % 2)
    assert model.committee_.n_voters == 1
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    if "vote" not in params:  # whose second voter is worth nothing, too
        majority = AdaBoostClassifier(10, **params).fit(X, n % 3 > 0)
        assert majority.predict(X).all() and majority.committee_.n_voters == 1


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"voter": DecisionTreeClassifier(max_depth=3)},
        {"max_depth": 3},
        {"vote": "confidence"},
        {"vote": "abstaining"},
    ],
    ids=str,
)
def test_extreme_weights_and_the_largest_steps_leave_numbers(params):
    X, y = noisy(100)
    heavy = AdaBoostClassifier(5, **params).fit(X, y, np.where(np.arange(100) % 2, 1e140, 1e-300))
    assert heavy.score(X[1::2], y[1::2]) > 0.6
    with np.errstate(over="raise", invalid="raise"):
        steep = AdaBoostClassifier(20, learning_rate=10.0, **params).fit(X, y, np.full(100, 1e140))
    for model in (heavy, steep):
        assert np.isfinite(model.predict_proba(X)).all() and np.isfinite(model.normalisers_).all()


def test_a_pipeline_gets_the_weights_in_its_last_step():
    X, y = load_breast_cancer(return_X_y=True)
    piped = make_pipeline(StandardScaler(), LogisticRegression())
    model = AdaBoostClassifier(3, voter=piped, random_state=0).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    bare = AdaBoostClassifier(3, voter=LogisticRegression(), random_state=0).fit(scaled, y)
    assert_allclose(model.decision_function(X), bare.decision_function(scaled), rtol=1e-9)
    with config_context(enable_metadata_routing=True):
        routed = AdaBoostClassifier(3, voter=piped, random_state=0).fit(X, y)
    assert_array_equal(routed.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="its fit takes no sample_weight"):
        AdaBoostClassifier(3, voter=make_pipeline(StandardScaler(), KNeighborsClassifier())).fit(X, y)


def test_random_state_draws_features():
    X, y = noisy()

    def features(**params):
        return AdaBoostClassifier(20, max_features=1, **params).fit(X, y).committee_.voters.feature.tolist()

    assert features(random_state=0) == features(random_state=np.random.RandomState(0)) != features(random_state=1)
    assert set(features(random_state=0)) == {-1, 0, 1, 2, 3, 4}


def test_voters_inside_a_pipeline_are_seeded():
    X, y = noisy()
    voter = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, max_features=1))
    first, second = (AdaBoostClassifier(6, voter=voter, random_state=0).fit(X, y) for _ in range(2))
    assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    seeds_used = [member[-1].random_state for member in first.committee_.voters.estimators]
    assert len(set(seeds_used)) == len(seeds_used)
