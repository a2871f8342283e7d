"""Gradient boosting over any regressor, against its rounds as they are written."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingRegressor as TheirBoosting
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import FunctionalGradientBoostingClassifier, FunctionalGradientBoostingRegressor, load
from committee.data.rows import scaled_weights
from committee.learners.gradient.rounds import FLAT
from committee.objectives.losses import Absolute, Exponential, Logistic, Poisson, Squared
from committee.voters.estimators import RegressorRounds
from tests.subjects import noisy_scores, numbers

SPLINES = make_pipeline(SplineTransformer(n_knots=4, degree=2), Ridge())
BASES = [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0), SPLINES]


LOSSES = [(Logistic(), 2), (Logistic(), 3), (Exponential(), 2), (Squared(), 0), (Absolute(), 0), (Poisson(), 0)]


@pytest.mark.parametrize("base", BASES, ids=["line", "tree", "splines"])
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_rounds_are_fits_to_the_antigradient_and_best_steps(loss, n_classes, base):
    X, y = numbers(n_classes) if n_classes else noisy_scores()
    w = scaled_weights(np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y)))
    kind = FunctionalGradientBoostingClassifier if n_classes else FunctionalGradientBoostingRegressor
    model = kind(loss, base, 3, learning_rate=0.7).fit(X, y, w)
    committee = model.committee_
    D = len(committee.intercept)
    F = np.repeat(committee.intercept[:, None], len(y), axis=1)

    def risk(F):
        return np.average(loss.value(y, F if D > 1 else F[0]), weights=w)

    assert_allclose(risk(F), model.training_objectives_[0], rtol=1e-9)
    for t in range(3):
        gradient = np.atleast_2d(loss.gradient_hessian(y, F if D > 1 else F[0])[0])
        peers = [type(base)(**base.get_params(deep=False)) for _ in range(D)]
        weighted = {"ridge__sample_weight" if base is SPLINES else "sample_weight": w}
        b = np.stack([peer.fit(X, -g, **weighted).predict(X) for peer, g in zip(peers, gradient, strict=True)])
        votes = committee.voters[t].votes(X)[:, 0].T
        assert_allclose(votes, b, rtol=1e-7, atol=1e-8)

        def after(a, F=F, b=b):
            return risk(F + a * b / np.abs(b).max())

        longest = 30.0 / np.abs(b).max()
        if loss.hessian_is_true:  # no further than Newton's step along b
            hessian = np.atleast_2d(loss.gradient_hessian(y, F if D > 1 else F[0])[1])
            longest = -(w * gradient * b).sum() / (w * hessian * b**2).sum()
        bounds = (0.0, longest * np.abs(b).max())
        best = minimize_scalar(after, bounds=bounds, method="bounded", options={"xatol": 1e-9})
        step = committee.weights[t]
        assert risk(F + step / 0.7 * b) <= best.fun + FLAT and step / 0.7 <= longest * (1.0 + 1e-9)
        F = F + step * b
        assert_allclose(risk(F), model.training_objectives_[t + 1], rtol=1e-7)
    assert (np.diff(model.training_objectives_) < 0).all()
    assert_allclose(committee.decision_function(X), F.T if D > 1 else F[0], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("base", [None, Ridge()], ids=["trees", "lines"])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_trees_that_part_the_classes_leave_probabilities_of_use(load, base):
    X, y = load(return_X_y=True)
    p = FunctionalGradientBoostingClassifier(base=base, n_estimators=50).fit(X[::2], y[::2]).predict_proba(X[1::2])
    assert log_loss(y[1::2], p) < 0.4


def test_fixed_steps_are_those_of_scikit_learn():
    X, y = noisy_scores(300)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    ours = FunctionalGradientBoostingRegressor(base=tree, n_estimators=30, line_search=False).fit(X, y)
    theirs = TheirBoosting(n_estimators=30, max_depth=3, random_state=0).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    assert len(ours.committee_.weights) == 30 and ours.training_objectives_ is None


def test_steps_follow_the_units_of_the_target():
    """The antigradient of the absolute error has no units: the step has them."""
    X, y = noisy_scores()
    line = LinearRegression()
    for loss, base in [("absolute_error", line), ("squared_error", line), ("quantile", None)]:
        small, large = (
            FunctionalGradientBoostingRegressor(loss, base, 20).fit(X, unit * y).predict(X) / unit
            for unit in (1e-6, 1e10)
        )
        assert_allclose(small, large, rtol=1e-5, atol=1e-5)


def test_a_round_that_changes_nothing_ends_the_run():
    X, y = noisy_scores()
    model = FunctionalGradientBoostingRegressor(base=LinearRegression(), learning_rate=1.0).fit(X, y)
    assert model.committee_.n_voters <= 3  # the first is the least squares fit itself
    assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-9)


def test_rows_of_rounds_are_drawn():
    X, y = numbers(2, 400)
    settings = {"n_estimators": 20, "subsample": 0.3}
    models = [FunctionalGradientBoostingClassifier(random_state=seed, **settings).fit(X, y) for seed in (0, 0, 1)]
    p, same, other = (model.predict_proba(X) for model in models)
    assert_array_equal(p, same)
    assert np.abs(p - other).max() > 1e-3
    counts = [member.committee_.voters.count[0] for member in models[0].committee_.voters.estimators]
    assert min(counts) > 60 and max(counts) < 190 and len(set(counts)) > 5


def test_rounds_that_went_nowhere_leave_no_voter():
    X, y = noisy_scores()
    model = FunctionalGradientBoostingRegressor(n_estimators=80, subsample=0.1, learning_rate=1.0, random_state=0)
    committee = model.fit(X, y).committee_
    lower = np.diff(model.training_objectives_) < 0.0
    assert len(lower) == 80 and committee.n_voters == lower.sum() < 80
    assert (committee.weights > 0.0).all()
    assert_allclose(0.5 * np.mean((y - model.predict(X)) ** 2), model.training_objectives_[-1], rtol=1e-9)


@pytest.mark.parametrize("targets", ["classes", "numbers"])
def test_a_round_of_several_scores_is_one_voter(targets, tmp_path):
    if targets == "classes":
        X, y = numbers(3, 300)
        model = FunctionalGradientBoostingClassifier(n_estimators=6, random_state=0).fit(X, y)
    else:
        X, _ = numbers(2, 300)
        y = np.column_stack([X[:, 0] ** 2, X[:, 1], X[:, 0] * X[:, 1]])
        model = FunctionalGradientBoostingRegressor(n_estimators=6, random_state=0).fit(X, y)
    committee = model.committee_
    stages = list(committee.staged_decision_function(X))
    assert len(stages) == committee.n_voters == len(list(model.staged_predict(X))) == 6
    for t, stage in enumerate(stages, start=1):
        shorter = clone(model).set_params(n_estimators=t).fit(X, y)
        assert_array_equal(stage, shorter.committee_.decision_function(X))
        assert_allclose(stage, committee.select(range(t)).decision_function(X), rtol=1e-12)
    voters, votes = committee.voters, committee.voters.votes(X)
    assert_allclose(voters.tally(X, committee.weights), np.einsum("t,ntk->nk", committee.weights, votes), rtol=1e-9)
    gaps = (votes[..., :, None] - votes[..., None, :]).max(axis=(0, 2, 3))
    assert (gaps <= voters.spread * (1.0 + 1e-9)).all() and (voters.n_nodes > 2 * 3).all()
    model.save(tmp_path / "model.safetensors")
    assert_array_equal(list(load(tmp_path / "model.safetensors").staged_predict(X)), list(model.staged_predict(X)))
    with pytest.raises(ValueError, match="2 regressors do not form whole rounds of 3"):
        RegressorRounds(voters.regressors[:2])
    with pytest.raises(ValueError, match=r"weights has shape \(18,\); 6 voters need \(6,\)"):
        voters.tally(X, np.ones(18))


def test_missing_values_and_categories_go_where_the_base_takes_them():
    X, y = numbers(2, 200)
    X[::7, 0] = np.nan
    model = FunctionalGradientBoostingClassifier(base=DecisionTreeRegressor(max_depth=2), n_estimators=5)
    assert model.__sklearn_tags__().input_tags.allow_nan and model.fit(X, y).score(X, y) > 0.7
    lines = FunctionalGradientBoostingClassifier(base=LinearRegression())
    assert not lines.__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="LinearRegression does not accept missing values"):
        lines.fit(X, y)
    frame = pd.DataFrame({"size": X[:, 1], "colour": np.where(X[:, 2] > 0, "red", "blue")})
    own = FunctionalGradientBoostingClassifier(n_estimators=5).fit(frame, y)
    assert own.committee_.voters.estimators[0].categorical_features == [1]
    assert_array_equal(own.predict_proba(pl.from_pandas(frame)), own.predict_proba(frame))


def test_a_base_without_weights_is_for_rows_that_weigh_alike():
    X, y = numbers(2)
    near = FunctionalGradientBoostingClassifier(base=KNeighborsRegressor(), n_estimators=3)
    p = near.fit(X, y).predict_proba(X)
    assert near.score(X, y) > 0.8
    assert_allclose(near.fit(X, y, np.full(len(y), 0.3)).predict_proba(X), p, rtol=1e-9)
    with pytest.raises(ValueError, match=r"base=KNeighborsRegressor\(\) takes no weights.*Choose another base"):
        near.fit(X, y, np.arange(1.0, 121.0) / 60.5)


class Odd(LinearRegression):
    def predict(self, X):
        return super().predict(X) * self.factor


@pytest.mark.parametrize(
    ("factor", "message"),
    [(np.nan, r"Odd\(\) predicts numbers that are not finite"), (np.ones((120, 1)), r"array of shape \(120, 120\)")],
)
def test_predictions_that_are_no_numbers_are_refused(factor, message):
    base = type("Odd", (Odd,), {"factor": factor})()
    with pytest.raises(ValueError, match=message):
        FunctionalGradientBoostingRegressor(base=base, n_estimators=2).fit(*noisy_scores())


def test_refusals_name_the_parameter():
    X, y = numbers(2)
    own = FunctionalGradientBoostingRegressor(lambda y, F: (F - y, np.ones_like(F)))
    steep = FunctionalGradientBoostingRegressor("poisson", LinearRegression(), line_search=False)
    trees = FunctionalGradientBoostingClassifier(base=DecisionTreeClassifier())
    for model, target, options, message in [
        (trees, y, {}, r"Classifier\(\) is not a regressor"),
        (FunctionalGradientBoostingClassifier(), y, {"checkpoint": "run"}, "is of no use: the rounds of a Functional"),
        (own, y, {}, "which early stopping, curves of training rows and line_search need"),
        (steep, 1e3 * (y + 1.0), {}, r"overflow in round \d+; lower learning_rate, or set line_search"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(X, target, **options)
