"""Quadratic programs over the simplex: their conditions, closed forms, and one solution at every scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from committee.objectives.programs.simplex_quadratic import simplex_quadratic


def moments(seed: int, T: int) -> np.ndarray:
    S = np.random.default_rng(seed).normal(size=(20, T))
    return S.T @ S / 20


@pytest.mark.parametrize("power", [-300, -100, -30, -14, -8, 8, 100, 300])
def test_the_scale_of_the_matrix_does_not_matter(power: int) -> None:
    for seed in range(20):
        Q = moments(seed, 2 + seed % 5)
        assert_allclose(simplex_quadratic(Q * 10.0**power)[0], simplex_quadratic(Q)[0], rtol=0, atol=1e-9)


def test_two_voters_have_a_closed_form() -> None:
    for seed in range(20):
        Q = moments(seed, 2)
        first = (Q[1, 1] - Q[0, 1]) / (Q[0, 0] + Q[1, 1] - 2.0 * Q[0, 1])
        weights, gap = simplex_quadratic(Q)
        assert weights[0] == pytest.approx(min(1.0, max(0.0, first)), abs=1e-12) and gap < 1e-12


def test_voters_that_are_alike_or_nothing_have_some_solution() -> None:
    for Q in (np.zeros((3, 3)), np.ones((3, 3)), np.diag([0.0, 1.0, 1.0])):
        weights, gap = simplex_quadratic(Q)
        least = 1.0 if Q[0, 1] else 0.0
        assert weights.min() >= 0.0 and weights.sum() == pytest.approx(1.0)
        assert weights @ Q @ weights == pytest.approx(least, abs=1e-12) and gap < 1e-12
