"""Gradient boosting of numbers: what each loss predicts, quantiles that do not cross, monotone constraints."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.objectives.losses import Absolute, Huber, Poisson, Quantile, Quantiles, Squared, Tweedie
from tests.gradient_cases import PLAIN

Floats = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)


def numbers(n: int = 400, seed: int = 0, noise: float = 0.3) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + noise * (1 + np.abs(X[:, 0])) * rng.normal(size=n)


def fit(loss: Any, X: Any, y: Floats, w: Floats | None = None, **params: Any) -> GradientBoostingRegressor:
    settings = PLAIN | {"n_estimators": 30, "max_leaf_nodes": 8, "min_samples_leaf": 5, "learning_rate": 0.3}
    return GradientBoostingRegressor(loss, **settings | {"leaf_l2": 5.0} | params).fit(X, y, w)


# --- losses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "huber"])
def test_losses_of_numbers_learn(loss):
    X, y = numbers()
    model = fit(loss, X, y)
    assert model.score(X, y) > 0.75
    constant = model._chosen_loss().best_constant(y)
    assert_allclose(model.committee_.intercept, constant)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_losses_of_amounts_predict_means_above_zero(loss):
    X, y = numbers(noise=0.1)
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
    X, y = numbers()
    with pytest.raises(ValueError, match=r"the gamma loss needs targets in \(0, inf\)"):
        fit("gamma", X, y)
    with pytest.raises(ValueError, match="the poisson loss needs targets"):
        fit("poisson", X, np.abs(y), early_stopping=True).fit(X, np.abs(y), X_val=X, y_val=y)
    with pytest.raises(ValueError, match="must be one of squared_error"):
        fit("log_loss", X, y)


def test_losses_with_numbers_of_their_own():
    X, y = numbers()
    assert_array_equal(fit(Huber(delta=1.0), X, y).predict(X), fit("huber", X, y).predict(X))
    assert (fit(Huber(delta=0.1), X, y).predict(X) != fit("huber", X, y).predict(X)).any()
    assert_array_equal(fit(Quantile(0.9), X, y).predict(X), fit("quantile", X, y, quantile=0.9).predict(X))
    counts = np.round(np.exp(y / 2))
    assert (fit(Tweedie(power=1.2), X, counts).predict(X) != fit("tweedie", X, counts).predict(X)).any()
    assert_array_equal(fit(Poisson(), X, counts).predict(X), fit("poisson", X, counts).predict(X))
    assert_array_equal(
        fit(Squared(), X, y).predict(X), GradientBoostingRegressor(**params_of(fit, X, y)).fit(X, y).predict(X)
    )


def params_of(made: Any, X: Floats, y: Floats) -> dict[str, Any]:
    return {name: value for name, value in made("squared_error", X, y).get_params().items() if name != "loss"}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [Absolute(), Quantile(0.8), Quantile(0.1)], ids=str)
def test_leaves_are_the_best_constants_of_their_rows(loss, weighted):
    X, y = numbers()
    w = np.random.default_rng(0).exponential(size=len(y)) if weighted else np.ones(len(y))
    model = fit(loss, X, y, w, n_estimators=1, learning_rate=1.0, max_leaf_nodes=6)
    leaf = model.committee_.voters.apply(X)[:, 0]
    for i in np.unique(leaf):
        rows = leaf == i
        residual = y[rows] - model.committee_.intercept[0]
        value = model.committee_.voters.value[i, 0]
        # where as much pulls up as down the leaf abstains, and 0 is one of many best constants
        assert value in (loss.leaf_constant(residual, w[rows] if weighted else None), 0.0)
        for other in residual:
            assert w[rows] @ loss.value(residual, np.full(rows.sum(), value)) <= (
                w[rows] @ loss.value(residual, np.full(rows.sum(), other)) + 1e-9
            )


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
def test_refitted_leaves_and_line_search(loss):
    X, y = numbers()
    model = fit(loss, X, y, n_estimators=8, line_search=True)
    assert (np.diff(model.training_objectives_) <= 1e-12).all()
    assert model.training_objectives_[-1] < 0.8 * model.training_objectives_[0]


# --- quantiles --------------------------------------------------------------------------------------------------------


def test_a_quantile_has_its_share_below():
    X, y = numbers(2000)
    for q in (0.1, 0.5, 0.9):
        model = fit("quantile", X[:1000], y[:1000], quantile=q, min_samples_leaf=20)
        assert abs((y[1000:] < model.predict(X[1000:])).mean() - q) < 0.07


LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_several_quantiles_do_not_cross_and_order_costs_nothing(subsample):
    X, y = numbers(1000)
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


def test_several_quantiles_are_refitted_one_by_one():
    X, y = numbers()
    model = fit("quantile", X, y, quantile=[0.2, 0.7], n_estimators=1, learning_rate=1.0, max_leaf_nodes=4)
    leaf = model.committee_.voters.apply(X)[:, 0]
    for i in np.unique(leaf):
        for k, q in enumerate((0.2, 0.7)):
            best = Quantile(q).leaf_constant(y[leaf == i] - model.committee_.intercept[k], None)
            assert model.committee_.voters.value[i, k] == best


def test_quantiles_given_in_other_ways():
    X, y = numbers(100)
    one = fit("quantile", X, y, quantile=[0.3])
    assert one.predict(X).shape == (100,)
    assert_array_equal(one.predict(X), fit("quantile", X, y, quantile=0.3).predict(X))
    several = fit("quantile", X, y, quantile=np.array([0.3, 0.6])).predict(X)
    assert_array_equal(several, fit(Quantiles((0.3, 0.6)), X, y).predict(X))
    for wrong in ([0.6, 0.3], [0.5, 1.5], [0.5, 0.5]):
        with pytest.raises(ValueError, match="quantiles"):
            fit("quantile", X, y, quantile=wrong)


def test_quantiles_stop_early_and_go_on():
    X, y = numbers()
    params = {"quantile": [0.2, 0.8], "early_stopping": True, "random_state": 0, "n_iter_no_change": 3}
    model = fit("quantile", X, y, n_estimators=200, **params)
    assert 3 < model.committee_.n_voters < 200
    assert model.validation_losses_.argmin() == model.committee_.n_voters - 1
    whole = fit("quantile", X, y, n_estimators=6, quantile=[0.2, 0.8])
    parts = fit("quantile", X, y, n_estimators=3, quantile=[0.2, 0.8], warm_start=True).set_params(n_estimators=6)
    assert_array_equal(parts.fit(X, y).predict(X), whole.predict(X))
    with pytest.raises(ValueError, match="number of scores"):
        parts.set_params(quantile=[0.2, 0.5, 0.8]).fit(X, y)


def test_quantiles_by_name_are_those_that_are_given():
    X, y = numbers()
    params = {"n_estimators": 3, "quantile": [0.2, 0.8]}
    assert_array_equal(fit("quantiles", X, y, **params).predict(X), fit("quantile", X, y, **params).predict(X))
    assert fit("quantiles", X, y, n_estimators=3).predict(X).shape == (len(y), 3)
    with pytest.raises(ValueError, match="loss='quantiles' predicts several, and quantile=0\\.9 is one"):
        fit("quantiles", X, y, quantile=0.9)


# --- monotone constraints ---------------------------------------------------------------------------------------------


def along(column: int, n_columns: int, rng: np.random.Generator) -> Floats:
    """Rows that differ in one column only, in rising order of it: ``(lines, steps, columns)``."""
    lines = np.repeat(rng.normal(size=(40, 1, n_columns)) * 1.5, 81, axis=1)
    lines[:, :, column] = np.linspace(-4, 4, 81)
    return lines


@settings(max_examples=20)
@given(
    seeds,
    st.sampled_from(["squared_error", "absolute_error", "quantile", "huber"]),
    st.sampled_from([(1, 0, 0), (-1, 1, 0), (1, -1, 1)]),
    st.sampled_from([0.0, 1.0]),
    st.booleans(),
)
def test_monotone_constraints_hold(seed, loss, directions, penalty, missing):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(120, 3)), rng.normal(size=120) * 2  # nothing in the data asks for it
    y += X[:, 0] * rng.choice([-2, 0, 2])
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = fit(
        loss,
        np.round(X, 1),
        y,
        quantile=0.3,
        monotonic_constraints=directions,
        n_estimators=8,
        leaf_l0=penalty,
        leaf_l1=penalty,
        min_samples_leaf=2,
    )
    for j, direction in enumerate(directions):
        lines = along(j, 3, rng)
        F = model.predict(lines.reshape(-1, 3)).reshape(lines.shape[:2])
        assert (direction * np.diff(F, axis=1) >= -1e-12).all()


def test_a_constraint_costs_fit_where_the_data_disagree_only():
    X, y = numbers()
    free, with_it, against = (
        fit("squared_error", X, y, monotonic_constraints=c).score(X, y) for c in (None, [1, 0, 0], [-1, 0, 0])
    )
    assert against < with_it <= free + 0.02
    assert with_it > 0.7


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "probit"])
def test_monotone_probabilities(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=300) > 0).astype(int)
    model = GradientBoostingClassifier(
        loss, 20, monotonic_constraints=[1, 0], min_samples_leaf=5, max_leaf_nodes=8
    ).fit(X, y)
    lines = along(0, 2, rng)
    P = model.predict_proba(lines.reshape(-1, 2))[:, 1].reshape(lines.shape[:2])
    assert (np.diff(P, axis=1) >= 0).all()
    assert np.ptp(P) > 0.2


def test_constraints_by_name_and_what_is_refused():
    X, y = numbers()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_name = fit("squared_error", frame, y, monotonic_constraints={"b": -1})
    assert_array_equal(by_name.predict(frame), fit("squared_error", X, y, monotonic_constraints=[0, -1, 0]).predict(X))
    assert_array_equal(
        fit("squared_error", X, y, monotonic_constraints=[0, 0, 0]).predict(X), fit("squared_error", X, y).predict(X)
    )
    wrong: list[tuple[Any, Any, str]] = [
        (frame, {"d": 1}, "names 'd', which is no column of X; there are 'a', 'b', 'c'"),
        (X, {"b": 1}, "X is an array without names"),
        (X, [1, 0], "needs one of -1, 0 and 1 for each of the 3 columns"),
        (X, [1, 0, 2], "has 2 for column 'x2'"),
        (frame.assign(b=pd.Categorical(X[:, 1] > 0)), {"b": 1}, "whose categories have no order"),
    ]
    for table, constraint, match in wrong:
        with pytest.raises(ValueError, match=match):
            fit("squared_error", table, y, monotonic_constraints=constraint)
    with pytest.raises(ValueError, match="needs a tree for each score"):
        fit("quantile", X, y, quantile=[0.2, 0.8], monotonic_constraints=[1, 0, 0])


def test_diabetes_is_learnt():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(learning_rate=0.05, max_leaf_nodes=8).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.3


def test_large_targets_of_heavy_rows_are_refused():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(60, 1)), rng.choice([-1e150, 1e150], 60), rng.uniform(1e17, 2e17, 60)
    message = r"weighted squares of y exceed 1e\+306\. Rescale y or sample_weight"
    for params in ({"line_search": True}, {"early_stopping": True}, {"loss": "poisson"}):
        y = np.abs(y) if "loss" in params else y
        with np.errstate(over="raise"), pytest.raises(ValueError, match=message):
            GradientBoostingRegressor(random_state=0, **params).fit(X, y, w)
