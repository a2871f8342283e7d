"""Losses by name: stored, read and chosen; losses given by derivatives."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.objectives import losses
from committee.objectives.losses import Derivatives, Logistic, Squared, regression_loss, write_gradients
from committee.objectives.losses.base import PlainGradient
from tests.gradient_cases import PLAIN
from tests.objectives.losses.cases import CASES, of_all


def test_every_loss_is_in_the_tables():
    def is_ours(loss: type) -> bool:  # pages may have added to the tables
        return loss.__module__.startswith("committee.")

    def below(loss: type) -> set[type]:
        return {loss} | {deeper for child in loss.__subclasses__() for deeper in below(child)}

    concrete = {loss for loss in below(losses.Loss) if not loss.__abstractmethods__ and is_ours(loss)}
    # a user's function, which has neither name nor file, and what a learner makes of another loss
    concrete -= {losses.Derivatives, PlainGradient}
    assert concrete == set(filter(is_ours, losses.LOSSES.values()))
    assert concrete == set(losses.REGRESSION_LOSSES.values()) | set(losses.CLASSIFICATION_LOSSES.values())
    assert {type(case.loss) for case in CASES} == concrete


@of_all
def test_json_round_trip(case):
    assert losses.from_json(json.loads(json.dumps(case.loss.to_json()))) == case.loss
    assert losses.from_json({"name": case.loss.name}) == type(case.loss)()


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (None, "loss is NoneType"),
        ({"name": "hinge"}, "loss name is 'hinge'"),
        ({"name": "huber", "alpha": 1.0}, "has no 'alpha'"),
        ({"name": "huber", "delta": 0.0}, r"delta is 0\.0; it must lie in \(0, inf\)"),
        ({"name": "huber", "delta": "1"}, "delta is '1'"),
        ({"name": "huber", "delta": True}, "delta is True"),
        ({"name": "huber", "delta": 10**400}, "delta is inf"),
        ({"name": "huber", "delta": float("inf")}, "delta is inf"),
        ({"name": "quantile", "quantile": 1.0}, r"quantile is 1\.0; it must lie in \(0, 1\)"),
        ({"name": "quantile", "quantile": float("nan")}, "quantile is nan"),
        ({"name": "quantiles", "quantiles": [0.5]}, "two or more"),
        ({"name": "quantiles", "quantiles": [0.5, 0.5]}, "increasing"),
        ({"name": "quantiles", "quantiles": [0.5, 2.0]}, r"quantiles\[1\] is 2\.0"),
        ({"name": "quantiles", "quantiles": 0.5}, "must be a sequence"),
        ({"name": "quantiles", "quantiles": "12"}, "must be a sequence"),
        ({"name": "tweedie", "power": 2.0}, r"power is 2\.0; it must lie in \(1, 2\)"),
    ],
)
def test_stored_losses_are_checked(stored, message):
    with pytest.raises(ValueError, match=message):
        losses.from_json(stored)


def test_choosing_a_loss():
    assert {name: losses.regression_loss(name).name for name in losses.REGRESSION_LOSSES} == {
        name: name for name in losses.REGRESSION_LOSSES
    }
    assert losses.classification_loss("squared_hinge") == losses.SquaredHinge()
    assert losses.classification_loss(losses.Probit()) == losses.Probit()
    for choose, wrong, message in (
        (losses.regression_loss, "log_loss", "loss is 'log_loss'; it must be one of squared_error"),
        (losses.classification_loss, "gini", "it must be one of log_loss, exponential, probit, squared_hinge"),
        (losses.regression_loss, losses.Logistic(), "with the link Softmax"),
        (losses.classification_loss, losses.Squared(), "with the link Identity"),
        (losses.classification_loss, 3, "loss is 3"),
        (losses.regression_loss, losses.Squared, "committee.objectives.losses.Loss"),
    ):
        with pytest.raises(ValueError, match=message):
            choose(wrong)


IMPORTANT = 3.0  # weight of what the losses below punish more


@dataclass(frozen=True)
class MissedPositives(Logistic):
    """Log loss in which a row of class 1 counts thrice."""

    def gradient_hessian(self, y: Any, F: Any, w: Any = None) -> tuple[Any, Any]:
        thrice = np.where(y == 1, IMPORTANT, 1.0)
        return super().gradient_hessian(y, F, thrice if w is None else w * thrice)

    def best_constant(self, y: Any, w: Any = None, n_scores: int | None = None) -> Any:
        thrice = np.where(y == 1, IMPORTANT, 1.0)
        return super().best_constant(y, thrice if w is None else w * thrice, n_scores)


@dataclass(frozen=True)
class Underestimates(Squared):
    """Squared error in which too small a prediction counts thrice."""

    def gradient_hessian(self, y: Any, F: Any, w: Any = None) -> tuple[Any, Any]:
        factor = np.where(y > F, IMPORTANT, 1.0) * (1.0 if w is None else w)
        return (F - y) * factor, factor


def test_derivatives_of_a_subclass_are_asked_for() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = np.round(4 * X / X.std(axis=0))  # so few values that weights move no edge of a bin
    own = GradientBoostingClassifier(15, loss=MissedPositives(), **PLAIN).fit(X, y)
    weighted = GradientBoostingClassifier(n_estimators=15, **PLAIN).fit(X, y, np.where(y == 1, IMPORTANT, 1.0))
    plain = GradientBoostingClassifier(n_estimators=15, **PLAIN).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), weighted.decision_function(X), rtol=1e-6)
    assert np.abs(own.decision_function(X) - plain.decision_function(X)).max() > 0.1


def test_derivatives_of_a_subclass_of_numbers_are_asked_for() -> None:
    X, y = load_diabetes(return_X_y=True)
    own = GradientBoostingRegressor(loss=Underestimates(), n_estimators=50, learning_rate=0.1, random_state=0).fit(X, y)
    plain = GradientBoostingRegressor(n_estimators=50, learning_rate=0.1, random_state=0).fit(X, y)
    assert own.predict(X).mean() > plain.predict(X).mean() + 5


def test_a_subclass_without_derivatives_of_its_own_takes_the_kernel() -> None:
    @dataclass(frozen=True)
    class Renamed(Logistic):
        pass

    y, F = np.array([0, 1, 1], dtype=np.uint16), np.array([0.3, -1.0, 2.0])
    written = np.empty((2, 3))
    write_gradients(Renamed(), y, F, None, written[0], written[1])
    assert_array_equal(written, Logistic().gradient_hessian(y, F))


def log_loss(y: Any, F: Any) -> tuple[Any, Any]:
    p = expit(F)
    return p - y, p * (1 - p)


def softmax_loss(y: Any, F: Any) -> tuple[Any, Any]:
    p = np.exp(F - F.max(axis=0))
    p /= p.sum(axis=0)
    return p - (y == np.arange(len(F))[:, None]), p * (1 - p)


def squared_error(y: Any, F: Any) -> tuple[Any, Any]:
    return F - y, np.ones_like(F)


@pytest.mark.parametrize(
    ("learner", "load", "function"),
    [
        (GradientBoostingClassifier, load_breast_cancer, log_loss),
        (GradientBoostingRegressor, load_diabetes, squared_error),
    ],
)
def test_a_function_is_the_loss_of_its_derivatives(learner: Any, load: Any, function: Any) -> None:
    X, y = load(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    native = learner(n_estimators=10, learning_rate=0.1, random_state=0)
    own = clone(clone(native).set_params(loss=function))
    answers = [getattr(model.fit(X, y, weight), "predict_proba", model.predict)(X) for model in (own, native)]
    np.testing.assert_allclose(*answers, rtol=1e-6)


def test_a_function_of_several_classes() -> None:
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(loss=softmax_loss, n_estimators=30, learning_rate=0.1, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.committee_.intercept.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, F: F - y, r"must return \(gradient, hessian\)"),
        (lambda y, F: (F - y, 1.0), r"a hessian of shape \(\); F has \(3,\)"),
        (lambda y, F: ((F - y) * np.nan, np.ones_like(F)), "a gradient that is not finite"),
    ],
)
def test_what_a_function_returns_is_checked(function: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regression_loss(function).gradient_hessian(np.arange(3.0), np.zeros(3))


def test_early_stopping_needs_a_value() -> None:
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(
        ValueError, match="no value, which early stopping, curves of training rows and line_search need"
    ):
        GradientBoostingRegressor(loss=squared_error, early_stopping=True, learning_rate=0.1, random_state=0).fit(X, y)


def test_a_function_is_no_part_of_a_file(tmp_path: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(loss=squared_error, n_estimators=3, learning_rate=0.1, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="loss"):
        model.save(tmp_path / "model.committee")


def test_equal_functions_are_equal_losses() -> None:
    assert Derivatives(log_loss, True) == Derivatives(log_loss, True) != Derivatives(log_loss, False)
