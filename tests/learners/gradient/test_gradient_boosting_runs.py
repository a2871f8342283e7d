"""Gradient boosting that stops early, goes on from an earlier fit, or is refitted on other rows."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import committee
from committee import GradientBoostingClassifier, GradientBoostingRegressor, scan
from committee.learners.gradient.leaf_values import LeafPenalty
from committee.learners.gradient.rounds import RowsInMemory
from tests.gradient_cases import SMALL, answer, both, data, learner, numbers, table
from tests.subjects import assert_same_bits


@both
def test_the_best_round_is_restored(kind):
    X, y = data(kind, 200)
    X_val, y_val = data(kind, 150, seed=1)
    if kind == "classes":
        y = np.where(np.random.default_rng(0).random(200) < 0.2, 1 - y, y)
    params = {"n_estimators": 60, "learning_rate": 0.5, "min_samples_leaf": 2, "leaf_l2": 1.0, "max_leaf_nodes": 31}
    model = learner(kind, early_stopping=True, n_iter_no_change=6, **params).fit(X, y, X_val=X_val, y_val=y_val)
    whole = learner(kind, **params).fit(X, y)
    loss = whole._chosen_loss()
    losses = np.array([loss.value(y_val, F).mean() for F in whole.committee_.staged_decision_function(X_val)])
    stopped = next((t for t in range(60) if t - int(losses[: t + 1].argmin()) >= 6), 59)
    best = int(losses[: stopped + 1].argmin())
    assert model.committee_.n_voters == best + 1 < 60
    assert_allclose(model.validation_losses_, losses[: best + 1], rtol=1e-12)
    assert_array_equal(model.predict(X_val), whole.committee_.select(slice(best + 1)).predict(X_val))


@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize("draws", [{}, {"subsample": 0.7}])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_a_round_in_one_call_is_the_same_in_several(monkeypatch, n_classes, draws, leaf):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 3)) < 0.2, np.nan, rng.normal(size=(60, 3)))
    y = np.nan_to_num(X).sum(axis=1)
    y = y if n_classes is None else np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    kind = GradientBoostingRegressor if n_classes is None else GradientBoostingClassifier
    for more in ({}, {"early_stopping": True}, {"tree": "shared"}):  # held-out rows are in no draw
        model = kind(4, learning_rate=0.3, leaf=leaf, random_state=1, **draws, **more)
        together = clone(model).fit(X, y)
        with monkeypatch.context() as patch:
            patch.setattr(RowsInMemory, "rounds", lambda *_: None)
            assert_same_bits(together, model.fit(X, y), X)


def test_rows_that_are_watched_may_have_gaps_and_unknown_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400), "b": pd.Categorical(rng.choice(list("uvw"), size=400))})
    y = (X["a"] > 0).to_numpy().astype(int) + (X["b"] == "u").to_numpy()
    X_val = X.copy()
    X_val.loc[::3, "a"] = np.nan
    X_val["b"] = pd.Categorical(np.where(np.arange(400) % 5 == 0, "x", X["b"].astype(str)))
    X_val.loc[::7, "b"] = None
    model = GradientBoostingClassifier(n_estimators=12, min_samples_leaf=5).fit(X, y, X_val=X_val, y_val=y)
    loss = model._chosen_loss()
    scores = model.committee_.staged_decision_function(X_val)
    losses = [loss.value(y, np.ascontiguousarray(F.T)).mean() for F in scores]
    assert_allclose(model.validation_losses_, losses, rtol=1e-12)


@both
def test_rows_are_held_out(kind):
    X, y = data(kind)
    settings = {"early_stopping": True, "validation_fraction": 0.2, "n_estimators": 30}
    going_on = learner(kind, **settings, warm_start=True).fit(X, y)
    assert going_on.committee_.voters.count[0] == 240  # as they were grown
    model = learner(kind, **settings).fit(X, y)
    assert model.committee_.voters.count[0] == 300  # as they were refitted
    assert_array_equal(model.validation_losses_, going_on.validation_losses_)
    assert len(model.validation_losses_) == model.committee_.n_voters
    assert learner(kind).fit(X, y).validation_losses_ is None


@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "absolute_error"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_are_refitted_on_all_rows(loss, weighted):
    X, y = data("classes" if loss == "log_loss" else "numbers")
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    made = GradientBoostingClassifier if loss == "log_loss" else GradientBoostingRegressor
    settings = SMALL | {"early_stopping": True, "n_estimators": 12, "random_state": 0}
    model, grown = (made(loss=loss, **settings, warm_start=on).fit(X, y, w) for on in (False, True))
    forest, before = model.committee_.voters, grown.committee_.voters
    assert_array_equal(forest.feature, before.feature)
    assert_array_equal(forest.threshold, before.threshold)
    chosen, penalty = model._chosen_loss(), LeafPenalty(l2=5.0)
    ones = np.ones(len(y)) if w is None else w
    F = np.full(len(y), float(np.ravel(chosen.best_constant(y, w))[0]))
    assert_allclose(model.committee_.intercept, F[:1])
    for t, leaf in enumerate(forest.apply(X).T):
        g, h = chosen.gradient_hessian(y, F)
        weight = np.zeros(len(y))
        for i in np.unique(leaf):
            rows = leaf == i
            value = float(penalty.weight(ones[rows] @ g[rows], ones[rows] @ h[rows]))
            if loss == "absolute_error" and value:
                value = chosen.leaf_constant(y[rows] - F[rows], None if w is None else w[rows])
            weight[rows] = value
            assert_allclose(forest.weight[forest.offset[t] + i], ones[rows].sum())
        assert_allclose(forest.value[forest.offset[t] + leaf, 0], weight, rtol=1e-9, atol=1e-12)
        F += model.committee_.weights[t] * weight


@both
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"subsample": 0.5, "max_features": 2},
        {"line_search": True},
        {"max_features_tree": 2},
        {"leaf": "linear"},
        {"tree": "per_class"},
        {"tree": "shared"},
    ],
    ids=str,
)
def test_a_warm_start_is_one_long_fit(kind, params):
    X, y = data(kind)
    if "tree" in params and kind == "classes":
        X, y = table(n_classes=3)
    elif "tree" in params:
        params, y = params | {"tree": params["tree"].replace("class", "target")}, np.column_stack([y, X[:, 0], -y])
    whole = learner(kind, n_estimators=9, **params).fit(X, y)
    parts = learner(kind, n_estimators=4, warm_start=True, **params).fit(X, y)
    assert parts.committee_.n_voters == 4
    assert parts.set_params(n_estimators=9).fit(X, y) is parts
    assert_same_bits(parts, whole, X)
    assert parts.set_params(n_estimators=9).fit(X, y).committee_.n_voters == 9


@both
@pytest.mark.parametrize("held_out", ["drawn", "drawn by a stored seed", "given"])
def test_a_warm_start_holds_the_same_rows_out(kind, held_out, tmp_path):
    """Rows that trees were grown on would say that further rounds are better than they are."""
    X, y = data(kind)
    given = dict(zip(("X_val", "y_val"), data(kind, 100, seed=1), strict=True)) if held_out == "given" else {}
    settings = {"early_stopping": True, "n_iter_no_change": 50, "subsample": 0.7}
    whole, parts = (
        learner(kind, n_estimators=n, warm_start=n < 9, random_state=np.random.RandomState(3), **settings)
        for n in (9, 4)
    )
    whole.fit(X, y, **given)
    parts.fit(X, y, **given)
    if held_out == "drawn by a stored seed":
        parts.set_params(random_state=None).save(tmp_path / "model")
        parts = committee.load(tmp_path / "model")
    parts.set_params(n_estimators=9).fit(X, y, **given)
    assert parts.seed_ == whole.seed_
    assert_allclose(parts.validation_losses_, whole.validation_losses_, rtol=1e-12)
    if given:
        assert_same_bits(parts, whole, X)
    again = parts.set_params(warm_start=False, random_state=None).fit(X, y)
    assert again.seed_ != whole.seed_


def with_categories(X, y):
    """A frame of the columns of X, of few categories and of many."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(few=rng.choice(list("xyz"), len(y)), many=[f"c{i}" for i in rng.integers(0, 40, len(y))])


@both
def test_a_loaded_model_goes_on(kind, tmp_path):
    """Also one that was not saved with `warm_start`, of a frame with few and many categories, and missing values."""
    X, y = data(kind)
    frame = with_categories(X, y)
    frame.loc[::7, ["a", "few"]] = None
    settings = {"subsample": 0.7, "max_features": 0.5, "leaf": "auto"}
    learner(kind, n_estimators=4, **settings).fit(frame, y).save(tmp_path / "model")
    parts = committee.load(tmp_path / "model").set_params(warm_start=True, n_estimators=9).fit(frame, y)
    assert_same_bits(parts, learner(kind, n_estimators=9, **settings).fit(frame, y), frame)


@both
def test_a_loaded_model_goes_on_with_new_rows(kind, tmp_path):
    """They need not have all categories of the first rows."""
    X, y = data(kind)
    frame = with_categories(X, y)
    first, w = np.arange(len(y)) < 150, np.arange(len(y)) % 3
    new = (frame["few"] != "z").to_numpy() & frame["many"].isin(frame["many"][first]).to_numpy() & ~first
    typed = frame.assign(few=pd.Categorical(frame["few"], categories=list("xyz")))
    models = []
    for every in (frame, typed):
        for columns in (["a", "few"], ["a", "few", "many"]):
            start = learner(kind, n_estimators=4).fit(every.loc[first, columns], y[first])
            start.save(tmp_path / "model")
            parts = committee.load(tmp_path / "model").set_params(warm_start=True, n_estimators=9)
            parts.fit(every.loc[new, columns], y[new], w[new])
            assert parts.table_ == start.table_
            models.append((parts, every[columns]))
    for (one, rows), (other, others) in ((models[0], models[2]), (models[1], models[3])):
        assert_array_equal(answer(one, rows), answer(other, others))


def test_a_warm_start_must_fit():
    X, y = table()
    model = learner("classes", warm_start=True).fit(X, y)
    for change, rows, labels, match in (
        ({"n_estimators": 3}, X, y, "n_estimators=3 is less than the 8"),
        ({"loss": "probit"}, X, y, "link"),
        ({"n_estimators": 9}, X, y + 1, "other classes"),
        ({"n_estimators": 9}, pd.DataFrame(X, columns=list("abcd")), y, "other columns"),
        ({"n_estimators": 9, "leaf": "linear"}, X, y, "other leaves: 'constant' then, 'linear' now"),
    ):
        with pytest.raises(ValueError, match=match):
            copy.copy(model).set_params(**change).fit(rows, labels)
    assert model.set_params(warm_start=False, n_estimators=3).fit(X, y).committee_.n_voters == 3


@both
def test_too_few_rows_for_two_leaves_are_told(kind):
    X, y = data(kind)
    with pytest.warns(UserWarning, match=r"a constant: 19 training rows cannot .* min_samples_leaf=10\. Lower it"):
        model = learner(kind, min_samples_leaf=10).fit(X[:19], y[:19])
    assert len(np.unique(model.predict(X))) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(kind, min_samples_leaf=10).fit(X[:20], y[:20])
        learner(kind, min_samples_leaf=9).fit(X[:19], y[:19])


# --- leaves refitted on other rows -----------------------------------------------------------------------------------

REFITTED = {
    "lines": {"leaf": "linear"},
    "constants": {"leaf": "constant"},
    "medians": {"loss": "absolute_error"},
    "least squares": {"newton": False, "line_search": True},
    "bounded": {"max_delta_step": 0.5},
    "quantiles": {"loss": "quantile", "quantile": [0.2, 0.8]},
    "abstaining": {"leaf_l0": 0.5, "leaf_l1": 0.5},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", REFITTED)
def test_the_training_rows_give_the_trained_leaves(name, weighted):
    X, y = numbers(150)
    w = np.random.default_rng(0).integers(0, 4, 150) if weighted else None
    model = GradientBoostingRegressor(**SMALL | {"n_estimators": 4} | REFITTED[name]).fit(X, y, w)
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
def test_the_first_round_of_a_refit_is_a_mixture(leaf):
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


def test_refits_with_leaves_without_rows_and_rows_without_weight(tmp_path):
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


def test_refits_on_frames_and_sparse_rows():
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


def test_refits_that_are_refused():
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


def test_a_refitted_model_stays_as_it_was():
    X, y = table(150)
    model = GradientBoostingClassifier(**SMALL, n_estimators=3, random_state=0).fit(X, y, X_val=X, y_val=y)
    before, losses = answer(model, X), model.validation_losses_
    renewed = model.refit(X[:100], y[:100])
    assert_array_equal(answer(model, X), before)
    assert model.validation_losses_ is losses and not hasattr(renewed, "validation_losses_")
    assert renewed.get_params() == model.get_params()
