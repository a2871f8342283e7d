"""Leaves refitted on other rows: a fixed point on the training rows, LightGBM's refit, shares, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from committee import GradientBoostingClassifier, GradientBoostingRegressor, scan
from tests.gradient_cases import LIGHTGBM, PLAIN, SMALL, answer, learner, numbers, table, whole_numbers

CASES = {
    "lines": {"leaf": "linear"},
    "constants": {"leaf": "constant"},
    "medians": {"loss": "absolute_error"},
    "least squares": {"newton": False, "line_search": True},
    "bounded": {"max_delta_step": 0.5},
    "quantiles": {"loss": "quantile", "quantile": [0.2, 0.8]},
    "abstaining": {"leaf_l0": 0.5, "leaf_l1": 0.5},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_training_rows_give_the_trained_leaves(name, weighted):
    X, y = numbers(150)
    w = np.random.default_rng(0).integers(0, 4, 150) if weighted else None
    model = GradientBoostingRegressor(**SMALL | {"n_estimators": 4} | CASES[name]).fit(X, y, w)
    assert_allclose(model.refit(X, y, w, decay_rate=0.0).predict(X), model.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"tree": "shared"}, {"loss": "exponential"}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_training_rows_of_classes(n_classes, settings):
    X, y = table(150, n_classes)
    labels = np.array(["a", "b", "c"])[y]
    model = learner("classes", n_estimators=3, class_weight="balanced", **settings).fit(X, labels)
    assert_allclose(answer(model.refit(X, labels, decay_rate=0.0), X), answer(model, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("tree", ["shared", "per_target"])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_the_training_rows_of_several_targets_and_of_kept_rounds(tree, leaf):
    X, y = numbers(200)
    y, o = np.stack([y, 100.0 * X[:, 1] ** 2], axis=1), np.tile(X[:, 2:3], 2)
    model = learner("numbers", tree=tree, leaf=leaf, early_stopping=True, n_iter_no_change=3).fit(X, y, offset=o)
    again = model.refit(X, y, offset=o, decay_rate=0.0)  # a stopped fit has refitted its leaves on all rows
    assert_allclose(again.predict(X), model.predict(X), rtol=1e-8)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_the_first_round_is_a_mixture(leaf):
    """Later rounds follow the mixed scores."""
    X, y = numbers(300)
    old, new = slice(0, 150), slice(150, None)
    model = learner("numbers", n_estimators=1, leaf=leaf).fit(X[old], y[old])
    fresh = model.refit(X[new], y[new], decay_rate=0.0)
    assert_allclose(model.refit(X[new], y[new], decay_rate=1.0).predict(X), model.predict(X), rtol=1e-12)
    mixed = model.refit(X[new], y[new], decay_rate=0.3)
    start = [each.committee_.intercept for each in (model, fresh, mixed)]
    assert_allclose(start[2], 0.3 * start[0] + 0.7 * start[1])
    # of the squared error the new leaves at the mixed intercept: their hessians are those of the rows
    forest = getattr(model.committee_.voters, "forest", model.committee_.voters)
    leaves, residual = forest.apply(X[new])[:, 0], y[new] - start[2]
    for i in np.flatnonzero(forest.feature < 0).tolist():
        rows = leaves == i
        own = residual[rows].sum() / (rows.sum() + 5.0) if rows.any() else forest.value[i, 0]
        value = getattr(mixed.committee_.voters, "forest", mixed.committee_.voters).value[i, 0]
        assert_allclose(value, 0.3 * forest.value[i, 0] + 0.7 * own, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("decay_rate", [0.0, 0.9])
def test_refit_of_lightgbm(decay_rate):
    lightgbm = pytest.importorskip("lightgbm")
    X, z = whole_numbers(600, seed=3)
    new, z_new = whole_numbers(600, seed=4)
    z, z_new = z - z.mean(), z_new - z_new.mean()  # LightGBM has no intercept beside its trees
    options = LIGHTGBM | {
        "num_leaves": 6,
        "min_data_in_leaf": 10,
        "objective": "regression",
        "boost_from_average": False,
    }
    peer = lightgbm.train(options, lightgbm.Dataset(X, z), num_boost_round=8)
    settings = PLAIN | {"max_leaf_nodes": 6, "leaf_l2": 0.0, "min_samples_leaf": 10}
    model = GradientBoostingRegressor(n_estimators=8, **settings).fit(X, z)
    assert_allclose(model.predict(X), peer.predict(X), rtol=1e-5, atol=1e-6)
    ours, theirs = model.refit(new, z_new, decay_rate=decay_rate), peer.refit(new, z_new, decay_rate=decay_rate)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-6)


def test_a_leaf_without_rows_and_rows_without_weight(tmp_path):
    X, y = table(200)
    model = learner("classes", n_estimators=3).fit(X, y)
    low = X[:, 0] < 0.0
    one = model.refit(X[low], y[low], decay_rate=0.5)
    other = model.refit(X, y, low, decay_rate=0.5)
    assert_array_equal(answer(one, X), answer(other, X))
    one.save(tmp_path / "model.safetensors")
    forest, before = one.committee_.voters, model.committee_.voters
    untouched = np.ones(len(forest.feature), dtype=bool)
    for t, leaves in enumerate(forest.apply(X[low]).T):
        untouched[forest.offset[t] + np.unique(leaves)] = False
    assert_array_equal(forest.value[untouched], before.value[untouched])
    assert not np.allclose(forest.value, before.value)


def test_frames_with_categories_names_and_sparse_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=150), "b": pd.Categorical(rng.choice(list("xyz"), 150))})
    frame["y"] = frame["a"] + (frame["b"] == "x")
    model = learner("numbers", n_estimators=3).fit(frame, "y")
    assert_allclose(
        model.refit(frame, "y", decay_rate=0.0).predict(frame[["a", "b"]]), model.predict(frame[["a", "b"]])
    )
    X, y = table(150)
    dense = learner("classes", n_estimators=3).fit(X, y)
    sparse = learner("classes", n_estimators=3).fit(csr_array(X), y).refit(csr_array(X[:90]), y[:90])
    assert_allclose(sparse.decision_function(csr_array(X)), answer(dense.refit(X[:90], y[:90]), X), rtol=1e-12)


def test_what_is_refused():
    X, y = table(150)
    model = learner("classes", n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=r"decay_rate is 1.5; it must be a number from 0 to 1"):
        model.refit(X, y, decay_rate=1.5)
    with pytest.raises(ValueError, match=r"^y holds 7, which is not a class of the model; its classes are \[0, 1\]"):
        model.refit(X, np.where(y == 1, 7, y))
    number = learner("numbers", n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=r"^Input y contains NaN"):
        number.refit(X, np.where(y == 1, np.nan, y))
    with pytest.raises(ValueError, match=r"^y has 2 targets for each row, and the model predicts 1"):
        number.refit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="could break monotonic_constraints"):
        learner("classes", n_estimators=2, monotonic_constraints=[1, 0, 0, 0]).fit(X, y).refit(X, y)
    with pytest.raises(ValueError, match="X is read in pieces"):
        model.refit(scan(X), y)
    with pytest.warns(UserWarning, match="one class"):
        constant = learner("classes").fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="this model has one class"):
        constant.refit(X, np.zeros(150))


def test_the_model_stays_as_it_was():
    X, y = table(150)
    model = GradientBoostingClassifier(**SMALL, n_estimators=3, random_state=0).fit(X, y, X_val=X, y_val=y)
    before, losses = answer(model, X), model.validation_losses_
    renewed = model.refit(X[:100], y[:100])
    assert_array_equal(answer(model, X), before)
    assert model.validation_losses_ is losses and not hasattr(renewed, "validation_losses_")
    assert renewed.get_params() == model.get_params()
