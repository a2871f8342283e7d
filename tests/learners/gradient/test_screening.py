"""Screening of columns: the columns whose first split gains most, by the training rows alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import random as sparse_random

from committee import GradientBoostingClassifier, GradientBoostingRegressor, _core
from committee.data.bins import Binned, Bins
from committee.data.matrices import SparseMatrix
from committee.data.table_schema import TableSchema
from committee.learners.gradient import gradient_fit
from committee.learners.gradient.gradient_fit import n_screened, screened_columns

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
def few(monkeypatch):
    monkeypatch.setattr(gradient_fit, "LEAST_SCREENED", 10)


def wide(n=60, p=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, 3] + X[:, 70] + rng.normal(size=n)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_trees_are_those_of_the_screened_columns_alone(kind, monkeypatch):
    found = []
    monkeypatch.setattr(
        "committee.learners.gradient.gradient_fit.screened_columns",
        lambda *given: found.append(screened_columns(*given)) or found[-1],
    )
    X, y = wide(200, 150)
    y = y if kind is GradientBoostingRegressor else np.digitize(y, [-0.5, 0.5])
    few_ties = EXACT | {"max_leaf_nodes": 4, "min_samples_leaf": 20}  # which have a random order among some columns
    model = kind(**few_ties).fit(X, y)
    (columns,) = found
    assert len(columns) == 100 and {3, 70} <= set(columns.tolist())
    same = kind(**few_ties, max_features_tree=None).fit(X[:, columns], y)
    answer = "decision_function" if hasattr(model, "classes_") else "predict"
    assert_allclose(getattr(model, answer)(X), getattr(same, answer)(X[:, columns]), rtol=1e-10)
    assert len(found) == 1  # None: all columns


@pytest.mark.usefixtures("few")
def test_weights_count_rows_and_every_thread_finds_the_same():
    X, y = wide()
    w = np.random.default_rng(1).integers(0, 3, len(y))
    model = GradientBoostingRegressor(random_state=0, min_samples_leaf=1, **EXACT).fit(X, y, w)
    repeated = GradientBoostingRegressor(random_state=0, min_samples_leaf=1, n_jobs=2, **EXACT).fit(
        np.repeat(X, w, 0), np.repeat(y, w)
    )
    assert_allclose(model.predict(X), repeated.predict(X), rtol=1e-10)


@pytest.mark.usefixtures("few")
def test_held_out_rows_choose_no_columns(monkeypatch):
    X, y = wide(200, 150)
    seen = []
    real = gradient_fit.screened_columns

    def recorded(binned, gradient, hessian, w, *rest):
        seen.append((gradient.copy(), w))
        return real(binned, gradient, hessian, w, *rest)

    monkeypatch.setattr("committee.learners.gradient.gradient_fit.screened_columns", recorded)
    GradientBoostingClassifier(20, random_state=0).fit(X, y > 0)
    assert len(seen) == 5  # once for each of four runs of all trials, once for the fit
    for gradient, w in seen[:4]:
        assert 0 < (w == 0).sum() < 100
        assert not gradient[w == 0].any()
    assert seen[4][1] is None


@pytest.mark.usefixtures("few")
def test_a_warm_start_goes_on_with_the_same_columns():
    X, y = wide()
    short = GradientBoostingRegressor(random_state=0, warm_start=True, **EXACT).fit(X, y)
    short.set_params(n_estimators=9).fit(X, y)
    long = GradientBoostingRegressor(random_state=0, **(EXACT | {"n_estimators": 9})).fit(X, y)
    assert_array_equal(short.predict(X), long.predict(X))


class Rows:
    count, is_remote = 4_000.0, False

    def __init__(self, p):
        self.X = np.empty((1, p))


def test_columns_are_half_the_rows_or_a_thousand():
    learner = GradientBoostingClassifier()
    assert n_screened(learner, Rows(2_001)) == 2_000
    assert n_screened(learner, Rows(2_000)) is None
    assert n_screened(GradientBoostingClassifier(max_features_tree=None), Rows(9_000)) is None
    assert n_screened(GradientBoostingClassifier(feature_weights={0: 2}), Rows(9_000)) is None
    assert n_screened(GradientBoostingClassifier(monotonic_constraints={0: 1}), Rows(9_000)) is None


@pytest.mark.usefixtures("few")
def test_trials_on_a_sample_have_the_columns_of_the_fit(monkeypatch):
    monkeypatch.setattr("committee.learners.gradient.gradient_fit.one_row_in", lambda n, n_classes: 3)
    numbers = []
    real = gradient_fit.screened_columns
    monkeypatch.setattr(
        "committee.learners.gradient.gradient_fit.screened_columns",
        lambda binned, *rest: numbers.append((len(binned.codes), rest[3])) or real(binned, *rest),
    )
    X, y = wide(240, 150)
    model = GradientBoostingClassifier(20, random_state=0).fit(X, np.digitize(y, [-0.5, 0.5]))
    assert {most for _, most in numbers} == {120}
    sizes = [n for n, _ in numbers]
    assert sizes[-1] == 240 and max(sizes[:-1]) < 100
    assert model.trials_["max_features"][0] == 60


@pytest.mark.usefixtures("few")
def test_a_warm_start_on_fewer_columns_of_a_tree_draws_among_these():
    X, y = wide()
    model = GradientBoostingClassifier(5, learning_rate=0.1, random_state=0, warm_start=True, max_features_tree=None)
    assert model.fit(X, y > 0).max_features_ == 40
    assert model.set_params(n_estimators=8, max_features_tree="auto").fit(X, y > 0).max_features_ == 15


def test_the_kernel_refuses_what_has_no_sums():
    codes, n_bins, categorical = np.zeros((3, 2), np.uint8), np.array([2, 1], np.int32), np.zeros(2, np.uint8)
    settings = None, 1, 0.0, 1
    for g, h in ((np.full(3, 1e200), np.ones(3)), (np.zeros(3), -np.ones(3)), (np.full(3, np.nan), np.ones(3))):
        with pytest.raises(ValueError, match="at most 1e150, hessians not negative"):
            _core.first_split_gains(codes, n_bins, categorical, g, h, *settings)
    with pytest.raises(ValueError, match="at least one row"):
        _core.first_split_gains(codes[:0], n_bins, categorical, np.zeros(0), np.zeros(0), *settings)
