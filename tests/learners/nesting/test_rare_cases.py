"""What a reader tried to break the learners of probabilistic voters with."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.report import BoundDisplay


def table(n: int = 200, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)


class Scale(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Trembles when it reads the first column; counts how often it is asked."""

    asked = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Scale":
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def draw(self, X: Any, rng: np.random.Generator) -> Any:
        type(self).asked += 1
        return X[:, 0] + rng.normal(size=len(X))


class ScaleThatTells(Scale):
    """The same, but it knows how likely its answers are."""

    def prob_positive(self, X: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-1.7 * X[:, 0]))


def test_a_bound_below_rounding_is_the_product_of_the_normalisers():
    X, _ = table()
    model = ProbabilisticAdaBoostClassifier(200, softness=0.0).fit(X, X[:, 0] > 0)
    assert (model.bounds_ > 0.0).all()
    assert_allclose(np.log(model.bounds_), np.cumsum(np.log(model.normalisers_)), rtol=1e-9)
    BoundDisplay.from_estimator(model)


def test_a_voter_that_tells_its_probabilities_is_not_asked():
    model = BoostingTreeClassifier(4, voter=ScaleThatTells(), random_state=0).fit(*table())
    assert not model.n_draws_.any()


def test_an_oracle_is_asked_once_for_all_ways_through():
    X, y = table()
    model = MatryoshkaClassifier(levels=4, voter=Scale(), n_draws=10, random_state=0).fit(X, y)
    Scale.asked = 0
    P, error = model.vote_probability(X)
    assert Scale.asked == 10 * len(model.bounds_)
    assert not error.any()
    assert ((P >= 0.0) & (P <= 1.0)).all()


@pytest.mark.slow
def test_ways_are_counted_for_each_score():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 80
    model = BoostingTreeClassifier(64, softness=0.5).fit(X, y)
    assert len(model.bounds_) > 4096
    assert not model.vote_probability(X[:5])[1].any()


def test_a_softness_beyond_all_numbers_tells_nothing_apart():
    X, y = table()
    with pytest.warns(UserWarning, match="No voter beats chance"):
        model = BoostingTreeClassifier(2, softness=1e9, calibrate=None).fit(1e300 * X, y)
    assert_allclose(model.predict_proba(1e300 * X)[:, 1], y.mean(), atol=0.01)


def test_a_users_voter_is_given_weights_of_every_size():
    X, y = table(20)
    with np.errstate(over="raise", invalid="raise"):
        model = ProbabilisticAdaBoostClassifier(12, voter=DecisionTreeClassifier()).fit(X, y, np.full(20, 1e100))
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("shape", [[1] * 2000, [True, 2]])
def test_shapes_that_are_none_are_refused(shape):
    with pytest.raises(ValueError, match="shape"):
        MatryoshkaClassifier(shape).fit(*table())


def test_the_warning_names_the_line_of_the_caller():
    with pytest.warns(UserWarning, match="No voter beats chance") as caught:
        BoostingTreeClassifier(2).fit(np.ones((20, 2)), np.arange(20) % 2)
    assert caught[0].filename == __file__
