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

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from tests.gradient_cases import LIGHTGBM, PLAIN, whole_numbers


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
    lightgbm = pytest.importorskip("lightgbm")
    X, z = whole_numbers(800, seed=3)
    y = (z > 2.5).astype(float) if kind == "classes" else z
    options = {"num_leaves": 12, "max_depth": depth or -1, "learning_rate": learning_rate} | limits[1]
    options["objective"] = "binary" if kind == "classes" else "regression"
    peer = lightgbm.train(LIGHTGBM | options, lightgbm.Dataset(X, y), num_boost_round=n_rounds)
    made = GradientBoostingClassifier if kind == "classes" else GradientBoostingRegressor
    settings = {"max_leaf_nodes": 12, "max_depth": depth, "leaf_l2": 0.0} | limits[0]
    model = made(n_estimators=n_rounds, **PLAIN | settings | {"learning_rate": learning_rate}).fit(X, y)
    parts = peer.predict(X, pred_leaf=True).reshape(len(X), -1)
    assert_same_parts(model.committee_.voters.apply(X), parts)
    assert_allclose(model.committee_.decision_function(X), peer.predict(X, raw_score=True), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("growth", ["leaf", "depth"])
@pytest.mark.parametrize("prices", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.5), (2.0, 0.0, 1.0), (1.0, 0.5, 0.0)], ids=str)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_trees_of_xgboost(kind, prices, growth):
    """Its gamma is the price of a leaf, in units of a gain without the factor 1/2."""
    xgboost = pytest.importorskip("xgboost")
    X, z = whole_numbers(800, seed=4)
    y = (z > 2.5).astype(float) if kind == "classes" else z
    start = y.mean()
    l0, l1, l2 = prices
    limit = {"max_leaves": 12, "max_depth": 0} if growth == "leaf" else {"max_leaves": 0, "max_depth": 3}
    peer = xgboost.train(
        {
            "objective": "binary:logistic" if kind == "classes" else "reg:squarederror",
            "tree_method": "hist",
            "grow_policy": "lossguide" if growth == "leaf" else "depthwise",
            "max_bin": 255,
            "learning_rate": 0.3,
            "min_child_weight": 4.321,
            "gamma": 2.0 * l0,
            "alpha": l1,
            "lambda": l2,
            "base_score": start,
            "nthread": 1,
            **limit,
        },
        xgboost.DMatrix(X, y),
        num_boost_round=10,
    )
    made = GradientBoostingClassifier if kind == "classes" else GradientBoostingRegressor
    model = made(
        n_estimators=10,
        **PLAIN | {"learning_rate": 0.3},
        max_leaf_nodes=12 if growth == "leaf" else None,
        max_depth=None if growth == "leaf" else 3,
        growth=growth,
        min_samples_leaf=1,
        min_hessian_leaf=4.321,
        leaf_l0=l0,
        leaf_l1=l1,
        leaf_l2=l2,
        l0_counts="leaves",
    ).fit(X, y)
    assert_same_parts(model.committee_.voters.apply(X), peer.predict(xgboost.DMatrix(X), pred_leaf=True).astype(int))
    theirs = peer.predict(xgboost.DMatrix(X), output_margin=True)
    assert_allclose(model.committee_.decision_function(X), theirs, rtol=2e-4, atol=2e-5)


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


@pytest.mark.parametrize("limit", [0.05, 0.3])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_bounded_leaves_of_xgboost(kind, limit):
    """Splits gain what weights within the bounds gain."""
    xgboost = pytest.importorskip("xgboost")
    X, z = whole_numbers(800, seed=4)
    y = (z > 2.5).astype(float) if kind == "classes" else z
    objective = "binary:logistic" if kind == "classes" else "reg:squarederror"
    options = {"objective": objective, "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 12}
    options |= {"max_depth": 0, "max_bin": 255, "learning_rate": 0.5, "min_child_weight": 4.321, "lambda": 1.0}
    options |= {"base_score": y.mean(), "nthread": 1, "max_delta_step": limit}
    peer = xgboost.train(options, xgboost.DMatrix(X, y), num_boost_round=5)
    made = GradientBoostingClassifier if kind == "classes" else GradientBoostingRegressor
    settings = PLAIN | {"learning_rate": 0.5, "max_leaf_nodes": 12, "min_samples_leaf": 1, "min_hessian_leaf": 4.321}
    model = made(n_estimators=5, leaf_l2=1.0, max_delta_step=limit, **settings).fit(X, y)
    assert np.abs(model.committee_.voters.value).max() <= limit
    assert_same_parts(model.committee_.voters.apply(X), peer.predict(xgboost.DMatrix(X), pred_leaf=True).astype(int))
    theirs = peer.predict(xgboost.DMatrix(X), output_margin=True)
    assert_allclose(model.committee_.decision_function(X), theirs, rtol=2e-4, atol=2e-5)
