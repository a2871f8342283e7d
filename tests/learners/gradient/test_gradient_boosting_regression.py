"""Gradient boosting of numbers: what each loss predicts, quantiles that do not cross, monotone constraints."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

import committee
from committee import GradientBoostingClassifier, GradientBoostingRegressor, QuadBoostRegressor
from committee.objectives.losses import Absolute, Huber, Poisson, Quantile, Quantiles, Squared, Tweedie
from tests.gradient_cases import PLAIN, SMALL, numbers, seeds


def noisy_numbers(n=400, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + noise * (1 + np.abs(X[:, 0])) * rng.normal(size=n)


def fit(loss, X, y, w=None, **params):
    settings = PLAIN | {"n_estimators": 30, "max_leaf_nodes": 8, "min_samples_leaf": 5, "learning_rate": 0.3}
    return GradientBoostingRegressor(loss=loss, **settings | {"leaf_l2": 5.0} | params).fit(X, y, w)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "huber"])
def test_losses_of_numbers_learn_and_line_search_never_raises_the_objective(loss):
    X, y = noisy_numbers()
    model, searched = fit(loss, X, y), fit(loss, X, y, n_estimators=8, line_search=True)
    assert model.score(X, y) > 0.75
    assert_allclose(model.committee_.intercept, model._chosen_loss().best_constant(y))
    assert (np.diff(searched.training_objectives_) <= 1e-12).all()
    assert searched.training_objectives_[-1] < 0.8 * searched.training_objectives_[0]


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_losses_of_amounts_predict_means_above_zero(loss):
    X, y = noisy_numbers(noise=0.1)
    rng = np.random.default_rng(1)
    mean = np.exp(0.7 * y)
    y = {"poisson": rng.poisson(mean) * 1.0, "gamma": mean * rng.gamma(5.0, 0.2, len(y)), "tweedie": mean}[loss]
    model = fit(loss, X, y)
    predicted = model.predict(X)
    assert (predicted > 0).all()
    assert np.corrcoef(np.log(predicted), np.log(mean))[0, 1] > 0.85
    assert_allclose(predicted.mean(), y.mean(), rtol=0.1)
    assert_allclose(np.exp(model.committee_.decision_function(X)), predicted)


def test_targets_that_a_loss_does_not_take():
    X, y = noisy_numbers()
    with pytest.raises(ValueError, match=r"the gamma loss needs targets in \(0, inf\)"):
        fit("gamma", X, y)
    with pytest.raises(ValueError, match="the poisson loss needs targets"):
        fit("poisson", X, np.abs(y), early_stopping=True).fit(X, np.abs(y), X_val=X, y_val=y)
    with pytest.raises(ValueError, match="must be one of squared_error"):
        fit("log_loss", X, y)


@pytest.mark.parametrize(
    ("loss", "name", "params", "same"),
    [
        (Huber(delta=1.0), "huber", {}, True),
        (Huber(delta=0.1), "huber", {}, False),
        (Tweedie(power=1.2), "tweedie", {}, False),
        (Poisson(), "poisson", {}, True),
        (Squared(), "squared_error", {}, True),
        (Quantile(0.9), "quantile", {"quantile": 0.9}, True),
        (Quantile(0.3), "quantile", {"quantile": [0.3]}, True),
        (Quantiles((0.3, 0.6)), "quantile", {"quantile": np.array([0.3, 0.6])}, True),
        (Quantiles((0.2, 0.8)), "quantiles", {"quantile": [0.2, 0.8]}, True),
        (Quantiles(), "quantiles", {}, True),
    ],
    ids=str,
)
def test_losses_by_name_and_with_numbers_of_their_own(loss, name, params, same):
    X, y = noisy_numbers(100)
    y = np.round(np.exp(y / 2)) if name in ("tweedie", "poisson") else y
    own, named = (fit(each, X, y, n_estimators=5, **given).predict(X) for each, given in ((loss, {}), (name, params)))
    assert own.shape == named.shape and np.array_equal(own, named) == same


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [Absolute(), Quantile(0.8), Quantile(0.1), Quantiles((0.2, 0.7))], ids=str)
def test_leaves_are_the_best_constants_of_their_rows(loss, weighted):
    X, y = noisy_numbers()
    w = np.random.default_rng(0).exponential(size=len(y)) if weighted else np.ones(len(y))
    grown = fit(loss, X, y, w, n_estimators=1, learning_rate=1.0, max_leaf_nodes=6).committee_
    leaf = grown.voters.apply(X)[:, 0]
    for i in np.unique(leaf):
        rows = leaf == i
        for k, one in enumerate([loss] if len(grown.intercept) == 1 else map(Quantile, (0.2, 0.7))):
            residual, value = y[rows] - grown.intercept[k], grown.voters.value[i, k]
            # where as much pulls up as down the leaf abstains, and 0 is one of many best constants
            assert value in (one.leaf_constant(residual, w[rows] if weighted else None), 0.0)
            least = min(w[rows] @ one.value(residual, np.full(rows.sum(), other)) for other in residual)
            assert w[rows] @ one.value(residual, np.full(rows.sum(), value)) <= least + 1e-9


def test_a_quantile_has_its_share_below():
    X, y = noisy_numbers(2000)
    for q in (0.1, 0.5, 0.9):
        model = fit("quantile", X[:1000], y[:1000], quantile=q, min_samples_leaf=20)
        assert abs((y[1000:] < model.predict(X[1000:])).mean() - q) < 0.07


LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_several_quantiles_do_not_cross_and_order_costs_nothing(subsample):
    X, y = noisy_numbers(1000)
    model = fit("quantile", X[:500], y[:500], quantile=LEVELS, n_estimators=60, min_samples_leaf=3, subsample=subsample)
    grid = np.random.default_rng(1).normal(size=(500, 3)) * 2
    assert (np.diff(model.predict(grid), axis=1) >= 0).all()
    raw, ordered = model.committee_.decision_function(X[500:]), model.predict(X[500:])
    assert (np.diff(raw, axis=1) < 0).any()  # or there would be nothing to put in order
    assert_array_equal(np.sort(raw, axis=1), ordered)
    pinball = [Quantiles(LEVELS).value(y[500:], np.ascontiguousarray(F.T)) for F in (raw, ordered)]
    assert (pinball[1] <= pinball[0] + 1e-12).all()
    assert model.committee_.n_voters == 60 and model.committee_.voters.n_outputs == 5
    assert [stage.shape for stage in model.staged_predict(X[:3])] == [(3, 5)] * 60


def test_quantiles_that_are_refused():
    X, y = noisy_numbers(100)
    for wrong in ([0.6, 0.3], [0.5, 1.5], [0.5, 0.5]):
        with pytest.raises(ValueError, match="quantiles"):
            fit("quantile", X, y, quantile=wrong)
    with pytest.raises(ValueError, match="loss='quantiles' predicts several, and quantile=0\\.9 is one"):
        fit("quantiles", X, y, quantile=0.9)


def test_quantiles_stop_early_and_go_on():
    X, y = noisy_numbers()
    params = {"quantile": [0.2, 0.8], "early_stopping": True, "random_state": 0, "n_iter_no_change": 3}
    model = fit("quantile", X, y, n_estimators=200, **params)
    assert 3 < model.committee_.n_voters < 200
    assert model.validation_losses_.argmin() == model.committee_.n_voters - 1
    parts = fit("quantile", X, y, n_estimators=3, quantile=[0.2, 0.8], warm_start=True)
    with pytest.raises(ValueError, match="other number of scores: 2 then, 3 now"):
        parts.set_params(quantile=[0.2, 0.5, 0.8], n_estimators=6).fit(X, y)


def targets(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X, y = numbers(n, seed)
    return X, np.column_stack(
        [y, X[:, 0] - X[:, 3] + 0.3 * rng.normal(size=n), X[:, 1] ** 2 + 0.3 * rng.normal(size=n)]
    )


def boosting(**params):
    return GradientBoostingRegressor(**(SMALL | {"n_estimators": 8, "random_state": 0} | params))


def dispersion(loss, Y):
    """Of each target, by its gradients and hessians at the best constant."""
    found = []
    for y in Y.T:
        g, h = loss.gradient_hessian(y, np.full(len(y), loss.best_constant(y).item()))
        found.append((g**2).sum() / h.sum())
    return np.array(found)


both_trees = pytest.mark.parametrize("tree", ["shared", "per_target"])


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "poisson", "quantile"])
def test_trees_of_their_own_are_those_of_separate_fits(loss):
    X, Y = targets()
    Y = np.exp(0.2 * Y) if loss == "poisson" else Y
    w = np.random.default_rng(1).exponential(size=len(X))
    together = boosting(loss=loss, tree="per_target").fit(X, Y, w).predict(X)
    for y, predicted in zip(Y.T, together.T, strict=True):
        assert_allclose(predicted, boosting(loss=loss).fit(X, y, w).predict(X), rtol=0, atol=1e-9)


@given(seed=seeds)
@settings(max_examples=20)
def test_a_target_twice_or_beside_a_constant_changes_no_tree(seed):
    X, y = numbers(seed=seed)
    one = boosting().fit(X, y).predict(X)
    twice = boosting(tree="shared").fit(X, np.column_stack([y, y])).predict(X)
    assert_allclose(twice, np.column_stack([one, one]), rtol=0, atol=1e-9)
    beside = boosting(tree="shared").fit(X, np.column_stack([y, np.full(len(y), 7.0)])).predict(X)
    assert_allclose(beside[:, 0], one, rtol=0, atol=1e-9)
    assert_array_equal(beside[:, 1], 7.0)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_the_units_of_targets_do_not_matter(loss):
    X, Y = targets()
    units = np.array([1.0, 2.0**40, 2.0**-30])
    plain, other = (boosting(loss=loss, tree="shared").fit(X, y) for y in (Y, units * Y))
    assert_allclose(other.predict(X) / units, plain.predict(X), rtol=1e-9)
    assert_array_equal(other.committee_.voters.feature, plain.committee_.voters.feature)


def test_targets_have_trees_of_their_own_unless_told_and_quantiles_share():
    X, Y = targets()
    assert_array_equal(boosting().fit(X, Y).predict(X), boosting(tree="per_target").fit(X, Y).predict(X))
    quantiles = {"loss": "quantile", "quantile": [0.2, 0.8]}
    shared = boosting(tree="shared", **quantiles).fit(X, Y[:, 0])
    assert_array_equal(boosting(**quantiles).fit(X, Y[:, 0]).predict(X), shared.predict(X))


@both_trees
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", Huber(0.5)])
def test_losses_of_held_out_rows_add_up(tree, loss):
    X, Y = targets()
    model = boosting(tree=tree, loss=loss).fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    chosen = model._chosen_loss()
    of_each = chosen.value(Y[200:], model.predict(X[200:])).mean(axis=0)
    assert_allclose(model.validation_losses_[-1], (of_each / dispersion(chosen, Y[:200])).sum(), rtol=0.1)


@both_trees
def test_line_search_never_raises_the_objective(tree):
    X, Y = targets()
    model = boosting(tree=tree, line_search=True).fit(X, Y)
    assert (np.diff(model.training_objectives_) < 0).all()
    assert_allclose(model.training_objectives_[0], 3 / 2, rtol=0.1)  # half of each target's variance over itself


@both_trees
def test_early_stopping_keeps_rounds_and_refits_leaves(tree):
    X, Y = targets(600)
    for scoring in (None, "r2"):
        model = boosting(tree=tree, n_estimators=300, learning_rate=0.5, early_stopping=True, scoring=scoring)
        model.fit(X[:400], Y[:400])
        assert model.committee_.n_voters < 300
        assert model.score(X[400:], Y[400:]) > 0.7


@both_trees
def test_checkpoint_and_file_hold_all_targets_of_any_type(tree, tmp_path):
    X, Y = targets()
    path, model = tmp_path / "checkpoint", boosting(tree=tree).fit(X, Y)
    model.save(tmp_path / "model")
    kept = [boosting(tree=tree).fit(X, Y.tolist(), checkpoint=path), boosting(tree=tree).fit(X, Y, checkpoint=path)]
    kept += [boosting(tree=tree).fit(X, same) for same in (pd.DataFrame(Y), np.asfortranarray(Y), Y.astype(object))]
    for other in (*kept, committee.load(tmp_path / "model")):
        assert_array_equal(other.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="checkpoint"):
        boosting(tree=tree).fit(X, Y[:, ::-1], checkpoint=path)
    with pytest.warns(UserWarning, match="column-vector"):
        assert boosting().fit(X, Y[:, :1]).predict(X).shape == (len(X),)


def test_a_function_as_loss_sees_one_target_at_a_time():
    X, Y = targets()

    def squared(y, F):
        assert y.shape == F.shape == (len(X),)
        return F - y, np.ones_like(F)

    model = boosting(loss=squared).fit(X, Y)
    assert_allclose(model.predict(X), boosting().fit(X, Y).predict(X))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            boosting(loss="quantile", quantile=[0.1, 0.9]),
            "2 numbers of one target, and y has 3 columns.*MultiOutputReg",
        ),
        (boosting(loss="poisson"), r"y\[0, 1\] is -.*poisson loss needs targets in \[0, inf\)"),
        (boosting(tree="shared", monotonic_constraints=[1, 0, 0, 0]), "needs a tree for each score"),
        (QuadBoostRegressor(), "y has 3 columns, and this learner predicts one number a row; .*MultiOutputRegressor"),
        (GradientBoostingClassifier(), "y has 3 columns, but classes are one label a row; .*MultiOutputClassifier"),
    ],
)
def test_what_is_not_of_several_targets_says_what_is(model, message):
    X, Y = targets()
    Y = np.rint(np.abs(Y)).astype(int)
    Y[0, 1] = -1
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_bad_targets_are_named_by_row_and_column():
    X, Y = targets(1_000)
    at = (np.arange(len(Y)) == 5)[:, None] & (np.arange(3) == 2)
    for bad, message in (
        (np.where(at, np.nan, Y), "row 5 has no number"),
        (np.where(at, np.inf, Y), r"y\[5, 2\] is inf"),
        (5e149 * Y / np.abs(Y).max(), "squares of y exceed"),
    ):
        with pytest.raises(ValueError, match=message):
            boosting().fit(X, bad)
    with pytest.raises(ValueError, match="y_val has 2 columns, and y has 3"):
        boosting().fit(X, Y, X_val=X, y_val=Y[:, :2])
