"""Gradient boosting of classes, and what both learners promise, with peers; numbers are in *_regression.py."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.tree import DecisionTreeRegressor

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.data.rows import scaled_weights
from committee.learners.gradient.leaf_values import LeafPenalty
from committee.learners.gradient.rounds import LARGEST_STEP, best_step
from committee.objectives.losses import (
    Absolute,
    Exponential,
    Huber,
    Logistic,
    Poisson,
    Squared,
    classification_loss,
    regression_loss,
)
from committee.voters.rounds import Rounds
from tests.gradient_cases import PLAIN, SMALL, answer, both, data, learner, numbers, seeds, table


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "probit", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("tree", ["per_class", "shared"])
def test_every_loss_learns_every_number_of_classes(loss, n_classes, tree):
    X, y = table(400, n_classes)
    model = GradientBoostingClassifier(15, loss=loss, tree=tree, **SMALL | {"learning_rate": 0.3}).fit(X, y)
    assert model.score(X, y) > (0.8 if n_classes == 2 else 0.65)
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert -np.log(np.maximum(P[np.arange(400), y], 1e-3)).mean() < 0.7 * np.log(n_classes)
    assert model.committee_.link == (Logistic() if loss == "log_loss" else model._chosen_loss()).link
    assert isinstance(model.committee_.voters, Rounds) == (n_classes > 2 and tree == "per_class")
    assert model.committee_.n_voters == 15


@both
def test_one_round_by_hand(kind):
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([0, 1, 1, 1, 1])
    params = {"max_leaf_nodes": 2, "min_samples_leaf": 1, "n_estimators": 1, "learning_rate": 0.5, "leaf_l2": 2.0}
    model = learner(kind, **params).fit(X, y)
    F0 = np.log(4.0) if kind == "classes" else 0.8
    g = np.full(5, 0.8) - y
    h = np.full(5, 0.16 if kind == "classes" else 1.0)
    leaf = [-g[:2].sum() / (h[:2].sum() + 2.0), -g[2:].sum() / (h[2:].sum() + 2.0)]
    assert_allclose(model.committee_.intercept, [F0])
    assert_allclose(model.committee_.weights, [0.5])
    assert_allclose(answer(model, [[0.0], [1.0]]), F0 + 0.5 * np.array(leaf), rtol=1e-7)


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_training_scores_are_those_of_the_committee(kind, weighted):
    X, y = data(kind)
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    model = learner(kind).fit(X, y, w)
    forest = model.committee_.voters
    leaves = forest.apply(np.ascontiguousarray(X))
    for t in range(len(forest)):
        nodes = slice(forest.offset[t], forest.offset[t + 1])
        reached = np.bincount(leaves[:, t], minlength=forest.n_nodes[t])
        weight = np.bincount(leaves[:, t], weights=w, minlength=forest.n_nodes[t])
        leaf = forest.feature[nodes] < 0
        assert_array_equal(forest.count[nodes][leaf], reached[leaf])
        assert_allclose(forest.weight[nodes][leaf], weight[leaf])
        assert_allclose(forest.weight[nodes][0], weight.sum())


def objectives(model, X, y, loss, penalty, w=None):
    c = model.committee_
    forest = c.voters.forest if isinstance(c.voters, Rounds) else c.voters
    total = len(y) if w is None else w.sum()
    stages = [np.broadcast_to(c.intercept, (len(y), len(c.intercept)))]
    stages += [s.reshape(len(y), -1) for s in c.staged_decision_function(X)]
    found, spent, per = [], 0.0, len(forest) // c.n_voters
    for t, F in enumerate(stages):
        if t:
            for tree in range((t - 1) * per, t * per):
                nodes = slice(forest.offset[tree], forest.offset[tree + 1])
                spent += penalty.cost(c.weights[t - 1] * forest.value[nodes][forest.feature[nodes] < 0])
        F = np.ascontiguousarray(F[:, 0] if F.shape[1] == 1 else F.T)
        found.append(np.average(loss.value(y, F), weights=w) + spent / total)
    return np.array(found)


prices = st.sampled_from([0.0, 0.3, 2.0])


@settings(max_examples=25)
@given(
    seeds,
    st.sampled_from(["log_loss", "exponential", "probit", "squared_hinge"]),
    st.integers(2, 3),
    prices,
    prices,
    prices,
    st.sampled_from([0.1, 1.0, 3.0]),
    st.booleans(),
)
def test_with_line_search_the_objective_never_rises(seed, loss, n_classes, l0, l1, l2, learning_rate, weighted):
    X, y = table(80, n_classes, seed, noise=1.0)
    w = scaled_weights(np.random.default_rng(seed).exponential(size=80)) if weighted else None
    prices = {"leaf_l0": l0, "leaf_l1": l1, "leaf_l2": l2, "learning_rate": learning_rate}
    model = GradientBoostingClassifier(5, loss=loss, line_search=True, **SMALL | prices).fit(X, y, w)
    found = objectives(model, X, y, model._chosen_loss(), LeafPenalty(l0, l1, l2), w)
    assert_allclose(model.training_objectives_, found[: len(model.training_objectives_)], rtol=1e-9)
    assert (np.diff(found) <= 1e-12).all()


@settings(max_examples=25)
@given(seeds, prices, prices, prices)
def test_whole_steps_of_the_squared_loss_never_raise_the_objective(seed, l0, l1, l2):
    """Its quadratic model is the loss itself, so each tree lowers the objective by what its leaves are worth."""
    X, y = numbers(80, seed)
    penalty = LeafPenalty(l0, l1, l2)
    prices = {"leaf_l0": l0, "leaf_l1": l1, "leaf_l2": l2, "learning_rate": 1.0}
    model = GradientBoostingRegressor(n_estimators=6, **SMALL | prices).fit(X, y)
    found = objectives(model, X, y, model._chosen_loss(), penalty)
    assert (np.diff(found) <= 1e-9).all()
    residual, forest = y - model.committee_.intercept[0], model.committee_.voters
    leaf = forest.apply(X)[:, 0]
    G, H = np.bincount(leaf, weights=-residual), np.bincount(leaf).astype(float)
    assert_allclose(found[0] - found[1], penalty.worth(G[:, None], H[:, None]).sum() / len(y), atol=1e-9)


def test_exact_steps():
    assert best_step(lambda a: (2.0 * (a - 3.0), 2.0)) == 3.0
    assert best_step(lambda a: (1.0, 1.0)) == 0.0
    assert best_step(lambda a: (-1.0, 0.0)) == LARGEST_STEP
    assert_allclose(best_step(lambda a: (np.exp(a - 2.0) - 1.0, np.exp(a - 2.0))), 2.0, rtol=1e-9)
    # a corner, as absolute error has them: the curvature says nothing
    assert_allclose(best_step(lambda a: (-1.0 if a < 1.7 else 2.0, 50.0)), 1.7, rtol=1e-8)
    assert_allclose(best_step(lambda a: (-1.0 if a < 0.01 else 2.0, 0.0)), 0.01, rtol=1e-8)
    assert_allclose(best_step(lambda a: (-1.0 if a < 1.7 else 2.0, 1e12), curved=False), 1.7, rtol=1e-8)


def test_the_line_search_is_exact():
    X, y = table(200, noise=1.0)
    model = GradientBoostingClassifier(
        n_estimators=1, line_search=True, **SMALL | {"learning_rate": 1.0, "leaf_l2": 1.0}
    ).fit(X, y)
    c = model.committee_
    h = c.votes(X)[:, 0]
    penalty = LeafPenalty(l2=1.0)
    leaves = c.voters.value[c.voters.feature < 0]

    def objective(a):
        return float(Logistic().value(y.astype(np.uint16), c.intercept[0] + a * h).sum()) + penalty.cost(a * leaves)

    best = c.weights[0]
    assert 0.5 < best < 2.0
    assert objective(best) <= min(objective(best + d) for d in (-1e-3, 1e-3, -0.1, 0.1))


@both
def test_leaves_too_dear_abstain_and_the_constant_remains(kind):
    X, y = data(kind)
    model = learner(kind, leaf_l0=1e9, n_estimators=50).fit(X, y)
    assert_array_equal(model.committee_.voters.value, 0.0)
    assert_array_equal(answer(model, X), np.full(len(y), model.committee_.intercept[0]))
    assert model.committee_.n_voters == 1  # another round would be the same
    assert_array_equal(model.feature_importances_, 0.0)


@both
@pytest.mark.parametrize(("drawn", "n_rounds"), [(True, 5), (0.5, 5), ("auto", 5), (False, 1)])
@pytest.mark.parametrize("line_search", [False, True])
def test_a_round_that_changes_nothing_ends_no_run_of_drawn_thresholds(kind, drawn, n_rounds, line_search):
    X, y = data(kind, 40)
    params = {"leaf_l0": 1e9, "n_estimators": 5, "extra_trees": drawn, "line_search": line_search}
    assert learner(kind, **params).fit(X, y).n_estimators_ == n_rounds


def depths(forest, t):
    left = forest.left[forest.offset[t] : forest.offset[t + 1]]
    depth = np.zeros(len(left), dtype=np.int64)
    for i in np.flatnonzero(left >= 0):
        depth[left[i]] = depth[left[i] + 1] = depth[i] + 1
    return depth


@both
def test_limits_of_trees_hold(kind):
    X, y = data(kind)
    forest = learner(kind, max_leaf_nodes=5, max_depth=3, min_samples_leaf=11).fit(X, y).committee_.voters
    leaf = forest.feature < 0
    assert max(leaf[forest.offset[t] : forest.offset[t + 1]].sum() for t in range(len(forest))) == 5
    assert max(depths(forest, t).max() for t in range(len(forest))) <= 3
    assert forest.count[leaf].min() >= 11


@both
@pytest.mark.parametrize(("n", "leaves"), [(9_999, 15), (10_000, 31), (50_000, 63)])
def test_leaves_follow_the_rows(kind, n, leaves):
    X, y = data(kind, 5_000)
    w = np.full(len(y), n // len(y))
    w[: n % len(y)] += 1
    for params in ({}, {"early_stopping": True, "n_iter_no_change": 2}):
        model = learner(kind, max_leaf_nodes="auto", n_estimators=2, **params).fit(X, y, w)
        same = learner(kind, max_leaf_nodes=leaves, n_estimators=2, **params).fit(X, y, w)
        assert_array_equal(answer(model, X), answer(same, X))
    forest = model.committee_.voters
    assert np.add.reduceat(forest.feature < 0, forest.offset[:-1]).max() == leaves


def test_depth_wise_trees_are_balanced_and_leaf_wise_ones_gain_more():
    X, y = table(400)
    grown = {g: learner("classes", growth=g, max_leaf_nodes=8, n_estimators=1).fit(X, y) for g in ("leaf", "depth")}
    gain = {g: model.committee_.voters.gain.sum() for g, model in grown.items()}
    assert gain["leaf"] >= gain["depth"] - 1e-9
    balanced = depths(grown["depth"].committee_.voters, 0)
    assert balanced.max() == 3
    assert_array_equal(np.sort(np.bincount(balanced)), [1, 2, 4, 8])
    without_limit = {"max_leaf_nodes": None, "max_depth": 3}
    same = [learner("classes", growth=g, **without_limit).fit(X, y).decision_function(X) for g in ("leaf", "depth")]
    assert_array_equal(*same)


@both
def test_subsamples_are_drawn_without_replacement_anew(kind):
    X, y = data(kind)
    model = learner(kind, subsample=0.5).fit(X, y)
    forest = model.committee_.voters
    sizes = forest.count[forest.offset[:-1]]
    assert len(set(sizes.tolist())) > 1  # each row by itself
    assert (np.abs(sizes - 150) < 5.0 * np.sqrt(75)).all()
    assert (answer(learner(kind, subsample=0.5, random_state=1).fit(X, y), X) != answer(model, X)).any()


def test_columns_of_trees_and_of_nodes():
    X, y = table()

    def used(**params):
        forest = learner("classes", n_estimators=20, **params).fit(X, y).committee_.voters
        return [set(f[f >= 0].tolist()) for f in np.split(forest.feature, forest.offset[1:-1])]

    by_tree = used(max_features_tree=1)
    assert max(map(len, by_tree)) == 1 and set().union(*by_tree) == {0, 1, 2, 3}
    assert max(map(len, used(max_features=1))) > 1
    assert max(map(len, used(max_features_tree=2, max_features=0.5))) == 2
    with pytest.raises(ValueError, match="max_features=5 exceeds the 4 columns"):
        learner("classes", max_features=5).fit(X, y)


@both
def test_random_thresholds(kind):
    X, y = data(kind)
    X[::9, 0] = np.nan
    model, other, every = (
        learner(kind, n_estimators=40, **{"extra_trees": True} | params).fit(X, y)
        for params in ({}, {"random_state": 1}, {"extra_trees": False})
    )
    assert (answer(other, X) != answer(model, X)).any()
    drawn, all_of_them = (len(np.unique(m.committee_.voters.threshold)) for m in (model, every))
    assert drawn > 1.2 * all_of_them
    assert model.score(X, y) > 0.6


@both
@pytest.mark.parametrize(
    ("n", "params", "rtol"),
    [
        (300, {"min_hessian_leaf": 2.345, "extra_trees": True}, 1e-6),
        (400, {"n_estimators": 30, "subsample": 0.7}, 1e-9),
        (9_000, {"n_estimators": 30, "subsample": 0.7}, 1e-9),
    ],
    ids=str,
)
def test_integer_weights_are_repeated_rows(kind, n, params, rtol):
    X, y = data(kind, n)
    X = np.random.default_rng(5).normal(size=X.shape)
    times = np.random.default_rng(2).integers(0, 5, n)
    weighted = learner(kind, min_samples_leaf=1, **params).fit(X, y, times)
    repeated = learner(kind, min_samples_leaf=1, **params).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(answer(weighted, X), answer(repeated, X), rtol=rtol, atol=rtol)


def test_the_two_learners_share_their_defaults():
    classifier, regressor = GradientBoostingClassifier().get_params(), GradientBoostingRegressor().get_params()
    assert set(classifier) ^ set(regressor) == {"quantile", "class_weight"}
    common = set(classifier) & set(regressor) - {"loss"}
    assert {name for name in common if classifier[name] != regressor[name]} == {
        *("leaf_l2", "max_features", "subsample", "tree")
    }
    assert [classifier[f"leaf_l{k}"] for k in range(3)] == [0.0, 0.0, 1.0]


def test_scores_that_overflow_are_no_result():
    X, y = table()
    with pytest.raises(ValueError, match="overflow"):
        learner("classes", loss=Exploding(), min_hessian_leaf=0.0, leaf_l2=0.0).fit(X, y)


class Exploding(Exponential):
    def gradient_hessian(self, y, F, w=None):
        return np.where(y == 1, -1e140, 1e140), np.full(len(y), 1e-200)


WITHOUT_DRAWS = {"newton": False, "line_search": True, "learning_rate": 1.0, "leaf_l2": 0.0, "min_samples_leaf": 1}
TREES = PLAIN | {"max_leaf_nodes": 6, "n_estimators": 4, "random_state": 0}


def table_for(loss, seed=0):
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(160, 4)), 2)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * random.normal(size=160)
    if isinstance(loss, (Logistic, Exponential)):
        return X, (signal > 0).astype(int)
    return X, np.exp(signal) if isinstance(loss, Poisson) else signal


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), Squared(), Absolute(), Huber(), Poisson()])
@pytest.mark.parametrize("weighted", [False, True])
def test_rounds_are_least_squares_fits_to_the_antigradient(loss, weighted):
    X, y = table_for(loss)
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y)) if weighted else np.ones(len(y))
    kind = GradientBoostingClassifier if y.dtype.kind == "i" else GradientBoostingRegressor
    committee = kind(loss=loss, **TREES | WITHOUT_DRAWS).fit(X, y, w).committee_
    F = np.repeat(committee.intercept, len(y))
    for t, step in enumerate(committee.weights):
        gradient, hessian = loss.gradient_hessian(y, F)
        antigradient = -gradient
        tree = committee.voters[t]
        leaf = tree.apply(X)[:, 0]
        means = np.bincount(leaf, w * antigradient, len(tree.feature)) / np.maximum(
            np.bincount(leaf, w, len(tree.feature)), 1e-300
        )
        assert_allclose(tree.value[leaf, 0], means[leaf], rtol=1e-6, atol=1e-9)
        peer = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X, antigradient, w)
        ours, theirs = (np.average((antigradient - fit) ** 2, weights=w) for fit in (means[leaf], peer.predict(X)))
        assert ours <= theirs * (1 + 1e-6)

        def risk(a, F=F, b=means[leaf]):
            return np.average(loss.value(y, F + a * b), weights=w)

        fit, longest = means[leaf], 50.0
        if loss.hessian_is_true:  # no further than Newton's step along the tree
            longest = np.sum(w * antigradient * fit) / np.sum(w * hessian * fit**2)
        best = minimize_scalar(risk, bounds=(0.0, longest), method="bounded", options={"xatol": 1e-10})
        assert risk(step) <= best.fun + 1e-9 and step <= longest * (1.0 + 1e-9)
        F = F + step * means[leaf]
    assert_allclose(committee.decision_function(X), F, rtol=1e-9, atol=1e-9)


def test_of_the_squared_error_both_are_the_same():
    X, y = table_for(Squared())
    options = TREES | {"n_estimators": 20}
    one, other = (GradientBoostingRegressor(newton=newton, **options).fit(X, y) for newton in (True, False))
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-12)


# --- the trees of LightGBM and XGBoost --------------------------------------------------------------------------------
# They must be ours where nothing is left to taste: columns of whole numbers with few values, so that all three have a
# bin for each; no missing values, no categories, and no two splits of a node that gain the same. Four caveats remain.
#
# - A threshold between two values that a node does not hold parts its rows alike wherever it lies; LightGBM puts it
#   behind the last such value, we in their middle. So trees are compared by how they part the training rows.
# - Both libraries keep gradients as float32: numbers agree to about six digits, and splits whose gains are closer than
#   that may differ.
# - LightGBM guesses the rows of a child from its hessians, where these differ from row to row. So `min_samples_leaf` is
#   the same limit only in the first tree and for squared error; otherwise the limit is `min_hessian_leaf`.
# - LightGBM never looks again at a column that gains nothing at a node. Without penalties such a column is constant
#   there; with them a child may gain where its parent did not. So penalised trees are compared with XGBoost's.


OBJECTIVES = {"classes": ("binary", "binary:logistic"), "numbers": ("regression", "reg:squarederror")}
"""Those of LightGBM and of XGBoost."""


def rows_of(kind, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, size=(n, 5)).astype(np.float64)
    z = X[:, 0] / 15 + X[:, 1] * X[:, 2] / 720 + rng.normal(size=n)
    return X, (z > 2.5).astype(float) if kind == "classes" else z


def lightgbm_of(kind, X, y, n_rounds, *, init_score=None, **options):
    """A booster that has a bin for every value of `rows_of`, and penalises no leaf."""
    lightgbm = pytest.importorskip("lightgbm")
    fixed = {"objective": OBJECTIVES[kind][0], "max_bin": 255, "min_data_in_bin": 1, "feature_pre_filter": False}
    fixed |= {"learning_rate": 0.1, "lambda_l2": 0.0, "boost_from_average": True, "num_threads": 1, "verbosity": -1}
    return lightgbm.train(fixed | options, lightgbm.Dataset(X, y, init_score=init_score), num_boost_round=n_rounds)


def assert_same_parts(ours, theirs):
    assert ours.shape == theirs.shape
    for t in range(ours.shape[1]):
        pairs = np.unique(np.stack([ours[:, t], theirs[:, t]]), axis=1)
        assert pairs.shape[1] == len(np.unique(ours[:, t])) == len(np.unique(theirs[:, t])), f"tree {t}"


ROWS = ({"min_samples_leaf": 10}, {"min_data_in_leaf": 10, "min_sum_hessian_in_leaf": 1e-3})
HESSIANS = (
    {"min_samples_leaf": 1, "min_hessian_leaf": 9.345},
    {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 9.345},
)


@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
@pytest.mark.parametrize(
    ("kind", "n_rounds", "limits"),
    [("numbers", 15, ROWS), ("numbers", 15, HESSIANS), ("classes", 1, ROWS), ("classes", 15, HESSIANS)],
    ids=["numbers", "numbers-hessians", "classes-first", "classes-hessians"],
)
@pytest.mark.parametrize("depth", [None, 3])
def test_trees_of_lightgbm(learning_rate, kind, n_rounds, limits, depth):
    X, y = rows_of(kind, 800, seed=3)
    options = {"num_leaves": 12, "max_depth": depth or -1, "learning_rate": learning_rate} | limits[1]
    peer = lightgbm_of(kind, X, y, n_rounds, **options)
    settings = {"max_leaf_nodes": 12, "max_depth": depth, "leaf_l2": 0.0, "learning_rate": learning_rate} | limits[0]
    model = learner(kind, n_estimators=n_rounds, **settings).fit(X, y)
    parts = peer.predict(X, pred_leaf=True).reshape(len(X), -1)
    assert_same_parts(model.committee_.voters.apply(X), parts)
    assert_allclose(model.committee_.decision_function(X), peer.predict(X, raw_score=True), rtol=1e-6, atol=1e-6)


def test_trees_of_lightgbm_under_interaction_constraints():
    X, y = rows_of("numbers", 800, 3)
    groups = [[0, 1, 3], [1, 2], [3, 4]]
    peer = lightgbm_of("numbers", X, y, 10, num_leaves=12, min_data_in_leaf=10, interaction_constraints=groups)
    settings = {"max_leaf_nodes": 12, "leaf_l2": 0.0, "min_samples_leaf": 10, "interaction_constraints": groups}
    model = learner("numbers", n_estimators=10, **settings).fit(X, y)
    assert_allclose(model.predict(X), peer.predict(X), rtol=1e-6, atol=1e-6)


@both
def test_init_score_of_lightgbm(kind):
    X, y = rows_of(kind, 600, seed=3)
    y = y.astype(np.uint16) if kind == "classes" else y
    offset = 0.5 * np.random.default_rng(0).normal(size=600)
    loss = classification_loss("log_loss") if kind == "classes" else regression_loss("squared_error")
    offset += loss.best_shift(y, offset)  # LightGBM has no intercept beside an init_score
    peer = lightgbm_of(kind, X, y, 8, init_score=offset, num_leaves=8, **HESSIANS[1])
    model = learner(kind, max_leaf_nodes=8, leaf_l2=0.0, **HESSIANS[0]).fit(X, y, offset=offset)
    score = model.committee_.decision_function(X)
    assert_allclose(score, peer.predict(X, raw_score=True), rtol=1e-5, atol=1e-6)
    assert_allclose(model.committee_.decision_function(X, offset=offset) - score, offset)


@pytest.mark.parametrize("decay_rate", [0.0, 0.9])
def test_refit_of_lightgbm(decay_rate):
    X, z = rows_of("numbers", 600, seed=3)
    new, z_new = rows_of("numbers", 600, seed=4)
    z, z_new = z - z.mean(), z_new - z_new.mean()  # LightGBM has no intercept beside its trees
    peer = lightgbm_of("numbers", X, z, 8, num_leaves=6, min_data_in_leaf=10, boost_from_average=False)
    model = learner("numbers", leaf_l2=0.0, min_samples_leaf=10).fit(X, z)
    assert_allclose(model.predict(X), peer.predict(X), rtol=1e-5, atol=1e-6)
    ours, theirs = model.refit(new, z_new, decay_rate=decay_rate), peer.refit(new, z_new, decay_rate=decay_rate)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-6)


PRICES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.5), (2.0, 0.0, 1.0), (1.0, 0.5, 0.0))
SHAPES = [*itertools.product(["leaf", "depth"], PRICES, [None]), ("leaf", PRICES[0], 0.05), ("leaf", PRICES[0], 0.3)]


@pytest.mark.parametrize(("growth", "prices", "bound"), SHAPES)
@both
def test_trees_of_xgboost(kind, growth, prices, bound):
    """Its gamma is the price of a leaf, in units of a gain without the factor 1/2."""
    xgboost = pytest.importorskip("xgboost")
    X, y = rows_of(kind, 800, seed=4)
    l0, l1, l2 = prices
    limit = {"max_leaf_nodes": 12} if growth == "leaf" else {"max_leaf_nodes": None, "max_depth": 3}
    penalty = {"leaf_l0": l0, "leaf_l1": l1, "leaf_l2": l2, "l0_counts": "leaves", "max_delta_step": bound}
    settings = {"n_estimators": 10, "learning_rate": 0.3, "min_samples_leaf": 1, "min_hessian_leaf": 4.321}
    model = learner(kind, growth=growth, **settings | penalty | limit).fit(X, y)
    options = {"grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0}
    options = options if growth == "leaf" else {"grow_policy": "depthwise", "max_leaves": 0, "max_depth": 3}
    options |= {"gamma": 2.0 * l0, "alpha": l1, "lambda": l2, "max_delta_step": bound or 0.0, "min_child_weight": 4.321}
    options |= {"objective": OBJECTIVES[kind][1], "tree_method": "hist", "max_bin": 255, "nthread": 1}
    rows = xgboost.DMatrix(X, y)
    peer = xgboost.train(options | {"base_score": y.mean(), "learning_rate": 0.3}, rows, num_boost_round=10)
    assert_same_parts(model.committee_.voters.apply(X), peer.predict(rows, pred_leaf=True).astype(int))
    assert_allclose(model.committee_.decision_function(X), peer.predict(rows, output_margin=True), rtol=2e-4, atol=2e-5)
    assert bound is None or np.abs(model.committee_.voters.value).max() <= bound


def test_the_three_find_the_same_number_of_leaves_where_ties_abound():
    """Few values, many ties: trees may differ, what they predict hardly does."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(600, 4)).astype(np.float64)
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=600)
    peer = lightgbm.LGBMRegressor(
        n_estimators=20, num_leaves=8, reg_lambda=0.0, min_child_samples=10, min_data_in_bin=1, n_jobs=1, verbosity=-1
    ).fit(X, y)
    model = GradientBoostingRegressor(n_estimators=20, max_leaf_nodes=8, leaf_l2=0.0, min_samples_leaf=10, **PLAIN).fit(
        X, y
    )
    assert_allclose(model.score(X, y), peer.score(X, y), atol=0.01)
    assert_array_equal(model.committee_.voters.n_nodes, 15)
