"""Gradient boosting that stops early, goes on from an earlier fit, or is refitted on other rows."""

from __future__ import annotations

import copy
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import random as sparse_random
from sklearn.base import clone

import committee
from committee import GradientBoostingClassifier, GradientBoostingRegressor, _core
from committee.data.bins import Binned, Bins
from committee.data.matrices import SparseMatrix
from committee.data.table_schema import TableSchema
from committee.learners.gradient import gradient_fit
from committee.learners.gradient.gradient_fit import n_screened, screened_columns
from committee.learners.gradient.leaf_values import LeafPenalty
from committee.learners.gradient.rounds import RowsInMemory
from tests.gradient_cases import SMALL, answer, both, data, learner, table
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


@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "absolute_error"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_are_refitted_on_all_rows(loss, weighted):
    X, y = data("classes" if loss == "log_loss" else "numbers")
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    made = GradientBoostingClassifier if loss == "log_loss" else GradientBoostingRegressor
    settings = SMALL | {"early_stopping": True, "n_estimators": 12, "random_state": 0}
    model, grown = (made(loss=loss, **settings, warm_start=on).fit(X, y, w) for on in (False, True))
    forest, before = model.committee_.voters, grown.committee_.voters
    assert before.count[0] < forest.count[0] == 300  # rows as they were grown, and as they were refitted
    assert len(model.validation_losses_) == model.committee_.n_voters
    assert_array_equal(model.validation_losses_, grown.validation_losses_)
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
    for change, match in (
        ({"n_estimators": 3}, "n_estimators=3 is less than the 8"),
        ({"loss": "probit"}, "link"),
        ({"n_estimators": 9, "leaf": "linear"}, "other leaves: 'constant' then, 'linear' now"),
    ):
        with pytest.raises(ValueError, match=match):
            copy.copy(model).set_params(**change).fit(X, y)
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


# --- screening of columns ---------------------------------------------------------------------------------------------


EXACT = {
    "n_estimators": 5,
    "learning_rate": 0.3,
    "subsample": 1.0,
    "max_features": None,
    "extra_trees": False,
    "max_bins": 64,
}


def naive_gain(codes, g, h, w, categorical, least, l2):
    best = -np.inf
    for b in range(codes.max() + 1):
        left = codes == b if categorical else codes <= b
        if min((w[left] > 0).sum(), (w[~left] > 0).sum()) >= least:
            best = max(best, sum(g[:, s].sum(1) ** 2 @ (1.0 / (h[:, s].sum(1) + l2)) for s in (left, ~left)))
    return best


@pytest.mark.parametrize("n_scores", [1, 3])
def test_it_is_the_naive_one(n_scores):
    rng = np.random.default_rng(n_scores)
    X = rng.normal(size=(40, 25)).round(1)
    X[:, :5] = rng.integers(0, 4, (40, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    table = TableSchema.learn(X, list(range(5)))
    binned = Binned.of(table.encode(X), None, table, 8)
    w = rng.integers(0, 3, 40).astype(float)
    g, h = rng.normal(size=(n_scores, 40)) * w, rng.uniform(0.5, 1.0, (n_scores, 40)) * w
    gains = [
        naive_gain(binned.codes[:, j], g, h, w, j < 5 and bool(binned.bins.n_categories[j]), 5, 0.5) for j in range(25)
    ]
    expected = np.sort(np.argsort(gains)[-7:])
    found = screened_columns(binned, g.squeeze(), h.squeeze(), w, 7, 5, 0.5, 1)
    assert_array_equal(found, expected)
    order = rng.permutation(40)
    shuffled = Binned(binned.bins, binned.codes[order])
    again = screened_columns(shuffled, g[:, order].copy(), h[:, order].copy(), w[order], 7, 5, 0.5, 2)
    assert_array_equal(again, expected)


def test_zeros_that_are_not_stored_have_the_same_gains():
    rng = np.random.default_rng(0)
    X = sparse_random(60, 30, 0.2, "csr", rng=rng)
    matrix = SparseMatrix.read(X)
    table = TableSchema.learn(X.toarray())
    bins = Bins.learn(matrix, None, table.n_categories, 16)
    g, h = rng.normal(size=60), np.ones(60)
    every, stored = (
        _core.first_split_gains(codes, bins.n_bins, bins.categorical, g, h, None, 2, 1.0, 1)
        for codes in (bins.encode(X.toarray()), bins.encode(matrix))
    )
    assert_array_equal(every, stored)
    assert np.isfinite(every).sum() > 20


@pytest.fixture
def screened(monkeypatch):
    """Arguments of each screening, and the columns it leaves; tables of more than 10 columns are screened."""
    monkeypatch.setattr(gradient_fit, "LEAST_SCREENED", 10)
    seen = []

    def recorded(binned, gradient, hessian, w, most, *rest):
        found = screened_columns(binned, gradient, hessian, w, most, *rest)
        seen.append((len(binned.codes), gradient.copy(), w, most, found))
        return found

    monkeypatch.setattr(gradient_fit, "screened_columns", recorded)
    return seen


def wide(n=60, p=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, 3] + X[:, 70] + rng.normal(size=n)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_trees_are_those_of_the_screened_columns_alone(kind, screened):
    X, y = wide(200, 150)
    y = y if kind is GradientBoostingRegressor else np.digitize(y, [-0.5, 0.5])
    few_ties = EXACT | {"max_leaf_nodes": 4, "min_samples_leaf": 20}  # which have a random order among some columns
    model = kind(**few_ties).fit(X, y)
    ((*_, columns),) = screened
    assert len(columns) == 100 and {3, 70} <= set(columns.tolist())
    same = kind(**few_ties, max_features_tree=None).fit(X[:, columns], y)
    assert_allclose(answer(model, X), answer(same, X[:, columns]), rtol=1e-10)
    assert len(screened) == 1  # None: all columns


@pytest.mark.usefixtures("screened")
def test_weights_count_rows_and_every_thread_finds_the_same():
    X, y = wide()
    w = np.random.default_rng(1).integers(0, 3, len(y))
    model = GradientBoostingRegressor(random_state=0, min_samples_leaf=1, **EXACT)
    repeated = clone(model).set_params(n_jobs=2).fit(np.repeat(X, w, 0), np.repeat(y, w))
    assert_allclose(model.fit(X, y, w).predict(X), repeated.predict(X), rtol=1e-10)


def test_held_out_rows_choose_no_columns(screened):
    X, y = wide(200, 150)
    GradientBoostingClassifier(20, random_state=0).fit(X, y > 0)
    assert len(screened) == 5  # once for each of four runs of all trials, once for the fit
    for _, gradient, w, *_ in screened[:4]:
        assert 0 < (w == 0).sum() < 100
        assert not gradient[w == 0].any()
    assert screened[4][2] is None


@pytest.mark.usefixtures("screened")
def test_a_warm_start_goes_on_with_the_same_columns():
    X, y = wide()
    short = GradientBoostingRegressor(random_state=0, warm_start=True, **EXACT).fit(X, y)
    long = GradientBoostingRegressor(random_state=0, **EXACT | {"n_estimators": 9}).fit(X, y)
    assert_array_equal(short.set_params(n_estimators=9).fit(X, y).predict(X), long.predict(X))
    model = GradientBoostingClassifier(5, learning_rate=0.1, random_state=0, warm_start=True, max_features_tree=None)
    assert model.fit(X, y > 0).max_features_ == 40  # of all columns, and then among fewer
    assert model.set_params(n_estimators=8, max_features_tree="auto").fit(X, y > 0).max_features_ == 15


def test_columns_are_half_the_rows_or_a_thousand():
    def screened(p, **params):
        rows = SimpleNamespace(count=4_000.0, is_remote=False, X=np.empty((1, p)))
        return n_screened(GradientBoostingClassifier(**params), rows)

    assert (screened(2_001), screened(2_000)) == (2_000, None)
    for params in ({"max_features_tree": None}, {"feature_weights": {0: 2}}, {"monotonic_constraints": {0: 1}}):
        assert screened(9_000, **params) is None


def test_trials_on_a_sample_have_the_columns_of_the_fit(screened, monkeypatch):
    monkeypatch.setattr(gradient_fit, "one_row_in", lambda n, n_classes: 3)
    X, y = wide(240, 150)
    model = GradientBoostingClassifier(20, random_state=0).fit(X, np.digitize(y, [-0.5, 0.5]))
    sizes, _, _, most, _ = zip(*screened, strict=True)
    assert set(most) == {120} and sizes[-1] == 240 and max(sizes[:-1]) < 100
    assert model.trials_["max_features"][0] == 60


def test_the_kernel_refuses_what_has_no_sums():
    codes, n_bins, categorical = np.zeros((3, 2), np.uint8), np.array([2, 1], np.int32), np.zeros(2, np.uint8)
    settings = None, 1, 0.0, 1
    for g, h in ((np.full(3, 1e200), np.ones(3)), (np.zeros(3), -np.ones(3)), (np.full(3, np.nan), np.ones(3))):
        with pytest.raises(ValueError, match="at most 1e150, hessians not negative"):
            _core.first_split_gains(codes, n_bins, categorical, g, h, *settings)
    with pytest.raises(ValueError, match="at least one row"):
        _core.first_split_gains(codes[:0], n_bins, categorical, np.zeros(0), np.zeros(0), *settings)
