"""Importances of model trees by hand."""

import numpy as np
import pytest
from scipy.special import entr, log_ndtr
from sklearn.datasets import load_breast_cancer

from committee import ProbitModelTreeClassifier, SBPMTClassifier
from tests.vote.explain.mixed_table import N, mixed_table, scores


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_importances_divide_the_fall_of_the_risk(n_classes, tree):
    X, y = mixed_table(8, n_classes=n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N)
    model = ProbitModelTreeClassifier(tree=tree, min_impurity_decrease=0.001).fit(X, y, weights)
    fall = model.committee_.voters.record.risk_decrease.sum()
    F = scores(model, X)
    w = weights / weights.sum()
    positive = y[:, None] == (model.classes_[1:] if n_classes == 2 else model.classes_)
    risk = -(w @ log_ndtr(np.where(positive, F, -F))).sum()
    p = w @ positive
    assert np.isclose(fall, (entr(p) + entr(1 - p)).sum() - risk, rtol=1e-9)
    importances = model.feature_importances_
    assert importances.shape == (4,) and np.isclose(importances.sum(), 1.0) and (importances >= 0).all()


def test_importances_find_what_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    y = 2.0 * (X[:, 0] > 0) + X[:, 1] + 0.3 * rng.normal(size=1000) > 1.0
    for model in (ProbitModelTreeClassifier(), SBPMTClassifier(5, random_state=0)):
        importances = model.fit(X, y).feature_importances_
        assert importances[:2].min() > importances[2:].max()
        assert np.isclose(importances.sum(), 1.0)


def test_units_do_not_matter_to_importances():
    X, y = load_breast_cancer(return_X_y=True)
    scale = 10.0 ** np.random.default_rng(0).integers(-3, 4, X.shape[1])
    one, other = (ProbitModelTreeClassifier(n_leaf_steps=20).fit(A, y).feature_importances_ for A in (X, X * scale))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_nothing_learned_is_nothing_important():
    y = np.tile([0, 1], 50)
    model = ProbitModelTreeClassifier().fit(np.ones((100, 3)), y)
    np.testing.assert_array_equal(model.feature_importances_, np.zeros(3))
    np.testing.assert_allclose(model.contributions(np.ones((2, 3))), 0.0, atol=1e-12)
