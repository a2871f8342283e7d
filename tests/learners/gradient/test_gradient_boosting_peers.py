"""The trees of LightGBM and XGBoost, where they must be ours.

They are where nothing is left to taste: columns of whole numbers with few values, so that all three have a bin for
each; no missing values, no categories, and no two splits of a node that gain the same. Four caveats remain.

- A threshold between two values that a node does not hold parts its rows alike wherever it lies; LightGBM puts it
  behind the last such value, we in their middle. So trees are compared by how they part the training rows.
- Both libraries keep gradients as float32: numbers agree to about six digits, and splits whose gains are closer than
  that may differ.
- LightGBM guesses the rows of a child from its hessians, where these differ from row to row. So `min_samples_leaf` is
  the same limit only in the first tree and for squared error; otherwise the limit is `min_hessian_leaf`.
- LightGBM never looks again at a column that gains nothing at a node. Without penalties such a column is constant
  there; with them a child may gain where its parent did not. So penalised trees are compared with XGBoost's.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from committee import GradientBoostingRegressor
from committee.objectives.losses import classification_loss, regression_loss
from tests.gradient_cases import PLAIN, both, learner

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


def assert_same_as_xgboost(model, kind, X, y, **options):
    """The trees and scores of XGBoost on the rows of a model; `options` are its own names of limits and penalties."""
    xgboost = pytest.importorskip("xgboost")
    fixed = {"objective": OBJECTIVES[kind][1], "tree_method": "hist", "max_bin": 255, "nthread": 1}
    options = fixed | {"base_score": y.mean(), "min_child_weight": 4.321} | options
    rows = xgboost.DMatrix(X, y)
    peer = xgboost.train(options, rows, num_boost_round=model.n_estimators)
    assert_same_parts(model.committee_.voters.apply(X), peer.predict(rows, pred_leaf=True).astype(int))
    theirs = peer.predict(rows, output_margin=True)
    assert_allclose(model.committee_.decision_function(X), theirs, rtol=2e-4, atol=2e-5)


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


@pytest.mark.parametrize("growth", ["leaf", "depth"])
@pytest.mark.parametrize("prices", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.5), (2.0, 0.0, 1.0), (1.0, 0.5, 0.0)], ids=str)
@both
def test_trees_of_xgboost(kind, prices, growth):
    """Its gamma is the price of a leaf, in units of a gain without the factor 1/2."""
    X, y = rows_of(kind, 800, seed=4)
    l0, l1, l2 = prices
    limit = {"max_leaf_nodes": 12} if growth == "leaf" else {"max_leaf_nodes": None, "max_depth": 3}
    penalty = {"leaf_l0": l0, "leaf_l1": l1, "leaf_l2": l2, "l0_counts": "leaves"}
    settings = {"n_estimators": 10, "learning_rate": 0.3, "min_samples_leaf": 1, "min_hessian_leaf": 4.321}
    model = learner(kind, growth=growth, **settings | penalty | limit).fit(X, y)
    shape = {"grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0}
    shape = shape if growth == "leaf" else {"grow_policy": "depthwise", "max_leaves": 0, "max_depth": 3}
    prices = {"gamma": 2.0 * l0, "alpha": l1, "lambda": l2}
    assert_same_as_xgboost(model, kind, X, y, learning_rate=0.3, **shape, **prices)


@pytest.mark.parametrize("limit", [0.05, 0.3])
@both
def test_bounded_leaves_of_xgboost(kind, limit):
    """Splits gain what weights within the bounds gain."""
    X, y = rows_of(kind, 800, seed=4)
    settings = {"learning_rate": 0.5, "max_leaf_nodes": 12, "min_samples_leaf": 1, "min_hessian_leaf": 4.321}
    model = learner(kind, n_estimators=5, leaf_l2=1.0, max_delta_step=limit, **settings).fit(X, y)
    assert np.abs(model.committee_.voters.value).max() <= limit
    shape = {"grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0, "lambda": 1.0}
    assert_same_as_xgboost(model, kind, X, y, learning_rate=0.5, max_delta_step=limit, **shape)


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
