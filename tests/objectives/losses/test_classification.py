"""Losses of classes: their class numbers, infinite optima, and the shares of the classes."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from committee.objectives.losses import Logistic, Loss
from committee.vote.links.probability import Link
from tests.objectives.losses.cases import OF_CLASSES, seeds


@pytest.mark.parametrize("case", OF_CLASSES, ids=lambda case: f"{case.loss}-{case.n_classes}")
def test_class_numbers_of_any_integer_type(case):
    rng = np.random.default_rng(1)
    y, F = case.targets(rng, 20), case.scores(rng, 20, 2.0)
    expected = case.loss.gradient_hessian(y, F)
    for dtype in (np.int64, np.int32, np.uint8):
        assert_array_equal(case.loss.gradient_hessian(y.astype(dtype), F), expected)
        assert_array_equal(case.loss.value(y.astype(dtype), F), case.loss.value(y, F))
        assert_array_equal(case.loss.best_constant(y.astype(dtype)), case.loss.best_constant(y))


def test_inherited_constant_of_an_infinite_optimum():
    @dataclass(frozen=True)
    class Log(Logistic):
        best_constant = Loss.best_constant

    for value, sign in ((0, -1.0), (1, 1.0)):
        best = Log().best_constant(np.full(4, value, dtype=np.uint16))[0]
        assert 25.0 < sign * best < 100.0


@pytest.mark.parametrize("case", OF_CLASSES, ids=lambda case: f"{case.loss}-{case.n_classes}")
@given(seed=seeds)
def test_link_of_the_best_constant_gives_the_shares_of_the_classes(case, seed):
    rng = np.random.default_rng(seed)
    y, w = case.targets(rng, 50), rng.exponential(size=50)
    y[: case.n_classes] = np.arange(case.n_classes)
    shares = np.bincount(y, w) / w.sum()
    F = case.loss.best_constant(y, w)
    assert isinstance(case.loss.link, Link)
    assert_allclose(case.loss.link.probability(F[None, :])[0], shares, rtol=1e-9)
