"""Random forests of classes and of one or several targets: out-of-bag curve, number of trees, draws, limits."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_friedman1
from sklearn.ensemble import RandomForestClassifier as PeerClassifier
from sklearn.ensemble import RandomForestRegressor as PeerRegressor
from sklearn.metrics import r2_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.tree import DecisionTreeRegressor

from committee import TreeRegressor
from committee.data.rows import TargetRows
from committee.learners.bagging.forest_trees import BATCH, MIN_WITH_VOTE, mean_and_error
from committee.learners.bagging.random_forest import RandomForestClassifier, RandomForestRegressor

Forest = RandomForestClassifier | RandomForestRegressor
FORESTS = [RandomForestClassifier, RandomForestRegressor]
both = pytest.mark.parametrize("kind", FORESTS)


def table(kind: Any, n: int = 200, seed: int = 0, n_classes: int = 2) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """A smooth score of three of five columns under noise, or classes of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    if kind is RandomForestRegressor:
        return X, score
    return X, np.searchsorted(np.linspace(-0.7, 0.7, n_classes + 1)[1:-1], score)


def times_drawn(model: Forest, n: int, n_trees: int) -> NDArray[np.int64]:
    """How often each tree drew each row, ``(n_trees, n)``."""
    most = model.max_estimators if model.n_estimators == "oob" else model.n_estimators
    draws = []
    for seed in np.random.RandomState(model.random_state).randint(2**31 - 1, size=most)[:n_trees]:
        random = np.random.RandomState(seed)
        size = n if model.max_samples is None else int(model.max_samples * n)
        drawn = random.randint(n, size=size) if model.bootstrap else random.permutation(n)[:size]
        draws.append(np.bincount(drawn, minlength=n))
    return np.array(draws)


def naive_losses(model: Forest, X: Any, y: Any, n_trees: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Out-of-bag losses after 1, 2, ... trees, and the rows that have a vote by then, both ``(n_trees, n)``."""
    out = times_drawn(model, len(X), n_trees) == 0
    votes = model.committee_.voters.votes(model.table_.encode(X))[:, :n_trees]
    losses, judged = np.full((n_trees, len(X)), np.nan), out.cumsum(axis=0) > 0
    for t, i in zip(*np.nonzero(judged), strict=True):
        mean = votes[i, np.flatnonzero(out[: t + 1, i])].mean(axis=0)
        if isinstance(model, RandomForestClassifier):
            losses[t, i] = model.classes_[mean.argmax()] != y[i]
        else:
            losses[t, i] = (y[i] - mean[0]) ** 2
    return losses, judged


# --- the out-of-bag curve -----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("params", [{}, {"bootstrap": False, "max_samples": 0.6}, {"max_leaf_nodes": 6}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_is_the_naive_computation(kind, n_classes, params, weighted):
    X, y = table(kind, 60, n_classes=n_classes)
    w = np.random.default_rng(1).exponential(size=60) if weighted else np.ones(60)
    model = kind(12, oob_score=True, random_state=3, **params).fit(X, y, w)
    losses, judged = naive_losses(model, X, y, 12)
    curve = [np.average(loss[j], weights=w[j]) for loss, j in zip(losses, judged, strict=True)]
    assert_allclose(model.oob_curve_, curve, rtol=1e-12)
    if kind is RandomForestClassifier:
        shares = model.oob_decision_function_
        assert_allclose(shares[judged[-1]].sum(axis=1), 1.0)
        assert_array_equal(model.classes_[shares[judged[-1]].argmax(axis=1)] != y[judged[-1]], losses[-1, judged[-1]])
        assert model.oob_score_ == pytest.approx(1 - curve[-1])
    else:
        shares = model.oob_prediction_
        assert_allclose((shares - y)[judged[-1]] ** 2, losses[-1, judged[-1]], rtol=1e-12)
        score = r2_score(y[judged[-1]], shares[judged[-1]], sample_weight=w[judged[-1]])
        assert model.oob_score_ == pytest.approx(score)
    assert np.isnan(shares[~judged[-1]]).all()


@pytest.mark.one_in(2)
@both
def test_the_out_of_bag_error_is_that_of_new_rows(kind):
    """Averaged over draws of the training set it differs from the test error by no more than chance."""
    X_test, y_test = table(kind, 20_000, seed=1_000)
    differences = []
    for repeat in range(16):
        X, y = table(kind, 400, seed=repeat)
        model = kind(150, oob_score=True, min_samples_leaf=2, random_state=repeat).fit(X, y)
        predicted = model.predict(X_test)
        test = np.mean(predicted != y_test) if kind is RandomForestClassifier else np.mean((predicted - y_test) ** 2)
        differences.append(model.oob_curve_[-1] - test)
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    assert abs(np.mean(differences)) < 3 * error
    assert error < 0.1 * abs(model.oob_curve_[-1])  # the test can tell


@both
def test_trees_are_joined_without_a_second_copy(kind):
    X, y = table(kind, 500)
    model = kind(40, random_state=0, n_jobs=1).fit(X[:50], y[:50])
    tracemalloc.start()
    try:
        kept = model.fit(X, y).committee_.voters.nbytes
        # with a second copy 2.6 times the trees of classes, and 1.6 times those of numbers
        assert tracemalloc.get_traced_memory()[1] < (2.0 if kind is RandomForestClassifier else 1.35) * kept
    finally:
        tracemalloc.stop()


@both
def test_rows_without_an_out_of_bag_vote(kind):
    X, y = table(kind)
    for params in ({"oob_score": True}, {"n_estimators": "oob"}):
        with pytest.raises(ValueError, match="needs out-of-bag rows"):
            kind(bootstrap=False, **params).fit(X, y)
        kind(**{"n_estimators": 30, **params}, bootstrap=False, max_samples=0.5, max_estimators=30).fit(X, y)
    with pytest.warns(UserWarning, match="have no out-of-bag vote"):
        model = kind(2, oob_score=True, random_state=0).fit(X, y)
    model.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(model) if name.startswith("oob_") and name.endswith("_")]
    with pytest.warns(UserWarning, match="have no out-of-bag vote"):  # no number of trees is a candidate
        model = kind("oob", max_estimators=3, random_state=0).fit(X, y)
    assert model.committee_.n_voters == len(model.oob_curve_) == 3


# --- as many trees as it takes ------------------------------------------------------------------------------


def grown_and_kept(losses: NDArray[np.float64], judged: NDArray[np.bool_], most: int, rule: str) -> tuple[int, int]:
    """How many trees the rule grows and keeps, from the losses of more trees than that."""
    w = np.ones(losses.shape[1])
    idle, grown = 0, BATCH
    while grown < most and idle < 2:
        grown += BATCH
        before = judged[grown - 1 - BATCH]
        gain, error = mean_and_error((losses[grown - 1 - BATCH] - losses[grown - 1])[before], w[before])
        idle = idle + 1 if gain <= error else 0
    first = int(np.argmax(judged.mean(axis=1) >= MIN_WITH_VOTE))
    curve = np.nanmean(losses, axis=1)
    lowest = first + int(np.argmin(curve[first:grown]))
    if rule == "minimum":
        return grown, lowest + 1
    for t in range(first, lowest + 1):
        worse, error = mean_and_error((losses[t] - losses[lowest])[judged[t]], w[judged[t]])
        if worse <= error:
            return grown, t + 1
    raise AssertionError("the lowest is as good as the lowest")


@pytest.mark.one_in(3)
@both
@pytest.mark.parametrize("rule", ["minimum", "one_standard_error"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_curve_decides_how_many_trees(kind, rule, seed):
    X, y = table(kind, 90, seed=seed)
    model = kind("oob", oob_rule=rule, max_estimators=200, random_state=seed).fit(X, y)
    all_grown = kind(200, oob_score=True, random_state=seed).fit(X, y)
    losses, judged = naive_losses(all_grown, X, y, 200)
    grown, kept = grown_and_kept(losses, judged, 200, rule)
    assert (len(model.oob_curve_), model.committee_.n_voters) == (grown, kept)
    assert_array_equal(model.oob_curve_, all_grown.oob_curve_[:grown])
    few = kind(kept, oob_score=True, max_estimators=200, random_state=seed).fit(X, y)
    assert_array_equal(model.predict(X), all_grown.committee_.select(slice(kept)).predict(X))
    assert few.oob_curve_[-1] == model.oob_curve_[kept - 1]
    if kind is RandomForestClassifier:
        assert model.oob_score_ == 1 - model.oob_curve_[kept - 1]
    says = "oob_decision_function_" if kind is RandomForestClassifier else "oob_prediction_"
    assert getattr(model, says).shape[0] == 90


def test_mean_and_standard_error():
    d = np.array([1.0, 2.0, 4.0, 5.0])
    assert mean_and_error(d, np.ones(4)) == pytest.approx((3.0, d.std() / 2))
    assert mean_and_error(d, np.full(4, 0.3)) == pytest.approx((3.0, d.std() / 2))
    assert mean_and_error(d[:0], d[:0]) == (0.0, 0.0)
    for size in (1e-300, 1e300):  # whose squares are out of float64's range
        assert mean_and_error(d * size, np.ones(4)) == pytest.approx((3.0 * size, size * d.std() / 2), abs=0.0)


# --- the trees ----------------------------------------------------------------------------------------------


@both
def test_a_tree_sees_its_draw_alone(kind):
    """What is not drawn does not move a tree, and a row drawn k times weighs k."""
    X, y = table(kind, 80)
    model = kind(6, max_features=None, random_state=2).fit(X, y)
    times = times_drawn(model, 80, 6)
    for t in range(6):
        tree = model.committee_.voters[t]
        assert tree.weight[0] == pytest.approx(80)
        assert tree.count[0] == (times[t] > 0).sum()
        single = kind(1, bootstrap=False, max_features=None).fit(X, y, times[t].astype(float))
        drawn = X[times[t] > 0]
        assert_allclose(tree.tally(drawn), single.committee_.voters.tally(drawn), atol=1e-12)


@both
@pytest.mark.parametrize("leaves", [None, 8])
@pytest.mark.parametrize("max_features", [None, 1])
def test_a_tree_sees_the_columns_it_drew(kind, leaves, max_features):
    """As many as asked for, others in other trees; of a tree that sees all of these alone it is the tree."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 9))
    y = X.sum(axis=1) + random.normal(size=300) if kind is RandomForestRegressor else random.integers(0, 3, 300)
    options = {"max_features": max_features, "max_leaf_nodes": leaves, "bootstrap": False}
    forest = kind(40, **options, max_features_tree=4, random_state=0).fit(X, y).committee_.voters
    seen = [np.unique(tree.feature[tree.feature >= 0]) for tree in (forest[t] for t in range(40))]
    assert max(map(len, seen)) == 4 and set(np.concatenate(seen)) == set(range(9))
    drawn = [columns for columns in seen if len(columns) == 4]
    assert len({tuple(columns) for columns in drawn}) > 10
    if max_features is None and leaves is None:
        t = next(t for t in range(40) if len(seen[t]) == 4)
        alone = kind(1, **options).fit(X[:, seen[t]], y).committee_.voters
        assert_allclose(forest[t].tally(X), alone.tally(X[:, seen[t]]), atol=1e-9)
    with pytest.raises(ValueError, match="max_features_tree=10 exceeds the 9 columns"):
        kind(max_features_tree=10).fit(X, y)


def test_hard_votes_are_counted():
    """Leaves name their heaviest class: p is the share of the trees, out of bag as well."""
    X, y = load_wine(return_X_y=True)
    options = {"min_samples_leaf": 20, "random_state": 3, "oob_score": True, "calibrate": None}
    hard = RandomForestClassifier(30, voting="hard", **options).fit(X, y)
    soft = RandomForestClassifier(30, **options).fit(X, y)
    trees = [soft.committee_.select([t]) for t in range(30)]
    named = np.stack([np.argmax(tree.predict_proba(X) >= tree.predict_proba(X).max(axis=1)[:, None] - 1e-9, axis=1)
                      for tree in trees])  # fmt: skip
    shares = (named[:, :, None] == np.arange(3)).mean(axis=0)
    assert_allclose(hard.predict_proba(X), shares, atol=1e-12)
    assert np.abs(soft.predict_proba(X) - shares).max() > 0.1
    unseen = times_drawn(hard, len(X), 30) == 0
    votes = ((named[:, :, None] == np.arange(3)) * unseen[:, :, None]).sum(axis=0)
    assert_allclose(hard.oob_decision_function_, votes / votes.sum(axis=1, keepdims=True), atol=1e-12)
    grown = RandomForestClassifier("oob", voting="hard", max_estimators=80, random_state=3).fit(X, y)
    assert grown.oob_score_ == pytest.approx(1 - grown.oob_curve_[grown.committee_.n_voters - 1])


@both
def test_a_limit_of_leaves_that_does_not_bind_changes_nothing(kind):
    X, y = table(kind, 150)
    free = kind(8, max_features=None, random_state=0).fit(X, y)
    limited = kind(8, max_features=None, max_leaf_nodes=10_000, random_state=0).fit(X, y)
    assert_allclose(limited.committee_.decision_function(X), free.committee_.decision_function(X), atol=1e-12)
    small = kind(8, max_leaf_nodes=5, random_state=0).fit(X, y)
    assert (small.committee_.voters.n_nodes == 9).all()
    assert_array_equal(kind(4, bootstrap=False).fit(X, y).predict(X), y)


def test_a_class_that_a_draw_lost_has_no_share():
    X = np.arange(40.0)[:, None]
    y = np.repeat([0, 1, 2], [20, 19, 1])
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    lost = times_drawn(model, 40, 30)[:, 39] == 0
    assert lost.any()
    for t in np.flatnonzero(lost):
        assert (model.committee_.voters[int(t)].value[:, 2] == 0).all()
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def friedman(*, return_X_y):
    return make_friedman1(600, noise=1.0, random_state=0)


# --- beside scikit-learn ------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_digits, load_diabetes, friedman])
def test_as_accurate_as_scikit_learn(load):
    """On the same halves the difference of the errors is no more than chance would have it."""
    X, y = load(return_X_y=True)
    train, of_numbers = np.random.default_rng(0).random(len(y)) < 0.5, load in (load_diabetes, friedman)
    errors = []
    for kind in (RandomForestRegressor, PeerRegressor) if of_numbers else (RandomForestClassifier, PeerClassifier):
        predicted = kind(150, random_state=0).fit(X[train], y[train]).predict(X[~train])
        errors.append((predicted - y[~train]) ** 2 if of_numbers else (predicted != y[~train]).astype(float))
    difference, error = mean_and_error(errors[0] - errors[1], np.ones(len(errors[0])))
    assert abs(difference) <= 3 * error


@both
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 100}])
def test_exchangeable_columns_are_used_alike(kind: Any, limits: dict[str, Any]) -> None:
    """Nodes of few rows tie often; none of ten columns of noise may gain by its place."""
    rng = np.random.default_rng(0)
    shares = []
    for seed in range(8):  # over tables, as the trees of one table share its rows
        X = rng.normal(size=(60, 10))
        y = rng.integers(0, 2, 60) if kind is RandomForestClassifier else rng.normal(size=60)
        used = kind(30, random_state=seed, **limits).fit(X, y).committee_.voters.feature
        shares.append(np.bincount(used[used >= 0], minlength=10) / np.count_nonzero(used >= 0))
    mean, error = np.mean(shares, axis=0), np.std(shares, axis=0, ddof=1) / np.sqrt(len(shares))
    assert (np.abs(mean - 0.1) < 5 * error + 0.005).all()


seeds = st.integers(0, 2**32 - 1)


def targets(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four targets on several scales, that have columns in common."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    Y = np.column_stack([X[:, 0] + X[:, 1] * X[:, 2], np.sin(2.0 * X[:, 0]) + X[:, 3], X[:, 0] - X[:, 4], X[:, 5] ** 2])
    return X, (Y + 0.3 * rng.normal(size=(n, 4))) * np.array([1.0, 2.0, 0.5, 1.0])


@given(seeds, st.integers(1, 6))
@settings(max_examples=25)
def test_trees_are_those_of_scikit_learn_on_standardised_targets(seed, depth):
    X, Y = targets(120, seed)
    w, units = np.random.default_rng(seed).exponential(size=len(X)), np.array([1.0, 2.0**30, 1.0, 2.0**-30])
    ours = TreeRegressor(max_depth=depth).fit(X, units * Y, w).predict(X) / units
    scale = TargetRows(X, Y, w, uniform=False).scale
    assert_allclose(
        scale, np.sqrt(np.average((Y - np.average(Y, axis=0, weights=w)) ** 2, axis=0, weights=w)), rtol=0.03
    )
    peer = DecisionTreeRegressor(max_depth=depth).fit(X, Y / scale, w)
    assert_allclose(ours, scale * peer.predict(X), atol=1e-9)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 20}])
@given(seed=seeds)
@settings(max_examples=10)
def test_a_target_twice_is_that_target_and_a_constant_stays(limits, seed):
    X, Y = targets(150, seed)
    forest = RandomForestRegressor(5, random_state=0, **limits)
    one = forest.fit(X, Y[:, 0]).predict(X)
    assert_allclose(forest.fit(X, Y[:, [0, 0]]).predict(X), np.column_stack([one, one]), atol=1e-9)
    with_constant = forest.fit(X, np.column_stack([Y[:, 0], np.full(150, 7.1)])).predict(X)
    assert_allclose(with_constant[:, 0], one, atol=1e-9)
    assert_array_equal(with_constant[:, 1], 7.1)


def test_forests_of_several_targets_are_as_good_as_scikit_learns():
    X, Y = targets(1500)
    kind = {"n_estimators": 60, "random_state": 0}
    ours = RandomForestRegressor(oob_score=True, **kind).fit(X[:1000], Y[:1000])
    peer = PeerRegressor(oob_score=True, **kind).fit(X[:1000], Y[:1000])
    assert ours.score(X[1000:], Y[1000:]) > peer.score(X[1000:], Y[1000:]) - 0.01
    assert ours.oob_score_ > peer.oob_score_ - 0.01
    apart = MultiOutputRegressor(RandomForestRegressor(**kind)).fit(X[:1000], Y[:1000])
    assert ours.committee_.n_nodes < sum(each.committee_.n_nodes for each in apart.estimators_) / 3


def test_out_of_bag_votes_and_scores_of_several_targets():
    X, Y = targets()
    w = np.random.default_rng(0).exponential(size=len(X)) * (np.arange(len(X)) % 10 > 0)
    forest = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, Y, w)
    counted = w > 0
    assert forest.oob_prediction_.shape == Y.shape
    assert_array_equal(np.isnan(forest.oob_prediction_).all(axis=1), ~counted)
    judged = forest.oob_prediction_[counted]
    assert forest.oob_score_ == pytest.approx(r2_score(Y[counted], judged, sample_weight=w[counted]))
    rows = TargetRows(X[counted], Y[counted], w[counted], uniform=False)
    errors = (((Y[counted] - judged) / rows.scale) ** 2).sum(axis=1)
    assert forest.oob_curve_[-1] == pytest.approx(np.average(errors, weights=w[counted]))


def test_contributions_and_votes_of_several_targets():
    X, Y = targets()
    forest = RandomForestRegressor(10, random_state=0).fit(X, Y)
    contributions, votes = forest.contributions(X), forest.committee_.votes(X)
    assert contributions.shape == (len(X), X.shape[1] + 1, 4) and votes.shape == (len(X), 10, 4)
    assert_allclose(contributions.sum(axis=1), forest.predict(X), atol=1e-9)
    assert_allclose(votes.mean(axis=1), forest.predict(X))
