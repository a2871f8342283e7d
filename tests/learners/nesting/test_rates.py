"""What the document says of trees of trees and of when to nest, and how much of it is so."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betaln, zeta

from committee.bounds.nested_trees import (
    nesting_rate,
    normaliser_of_edge,
    slope_in_nodes,
    tree_factor,
    two_matryoshka,
)

Floats = NDArray[np.float64]


def best_inner_size(T: float, rho: float) -> tuple[float, float]:
    """T_1 of the least F(T / T_1, F(T_1, rho)), as a power of T, and how much larger that is at sqrt T."""

    def log_bound(power: float) -> float:
        return float(np.log(tree_factor(T ** (1.0 - power), min(float(tree_factor(T**power, rho)), 1.0))))

    powers = np.linspace(0.0, 1.0, 401)
    first = float(powers[np.argmin([log_bound(power) for power in powers])])
    best = minimize_scalar(log_bound, bounds=(max(first - 0.01, 0), min(first + 0.01, 1)), method="bounded")
    return float(best.x), float(np.exp(log_bound(0.5) - best.fun))


@pytest.mark.parametrize(
    ("rho", "shares"),  # of T_1 in sqrt T, for T = 64, 256, 1024, 65536
    [
        (31 / 32, [0.988, 0.974, 0.954, 0.857]),
        (7 / 8, [0.946, 0.891, 0.816, 0.536]),
        (3 / 4, [0.881, 0.774, 0.649, 0.300]),
        (1 / 2, [0.735, 0.568, 0.412, 0.122]),
        (1 / 4, [0.598, 0.417, 0.275, 0.064]),
    ],
)
def test_the_best_tree_of_trees_has_inner_trees_below_the_square_root(rho: float, shares: list[float]) -> None:
    """The document has them always near it: so they are for weak voters, and ever less for more of them."""
    for T, share in zip([64, 256, 1024, 65536], shares, strict=True):
        power, excess = best_inner_size(T, rho)
        assert T ** (power - 0.5) == pytest.approx(share, abs=2e-3)
        assert 0.25 < power < 0.5
        assert 1.0 <= excess < 1.6  # but nothing much is lost at the square root
    assert np.all(np.diff(shares) < 0)


@given(st.floats(0.01, 0.99), st.integers(2, 5000))
def test_a_tree_as_bad_as_its_bound_falls_faster_nested(rho: float, T: int) -> None:
    """The document has both rates equal for all T > 1; they are at T = 1 alone."""
    C = float(tree_factor(T, rho))
    assert nesting_rate(T, C) < slope_in_nodes(T, rho) < 0
    assert nesting_rate(1, rho) == pytest.approx(float(slope_in_nodes(1, rho)), abs=1e-12)


@pytest.mark.parametrize("C", [1e-2, 1e-4, 1e-6])
def test_the_nested_rate_tends_to_that_of_halving_by_doubling(C: float) -> None:
    for T in (1, 30, 1000):
        assert float(nesting_rate(T, C)) * T / C == pytest.approx(-1.0, abs=2 * zeta(2) * C)


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.75])
def test_the_simple_rate_tends_to_that_of_a_power(rho: float) -> None:
    T = 10**6
    assert float(slope_in_nodes(T, rho) * T / tree_factor(T, rho)) == pytest.approx(rho - 1.0, abs=1e-5)


def log_factor(T: Floats, rho: float | Floats) -> Floats:
    """ln F, of any number of voters."""
    factor: Floats = -np.log(T) - betaln(T, rho)
    return factor


@pytest.mark.parametrize("rho", [0.25, 0.5, 0.75])
def test_in_the_end_no_power_is_the_best_inner_size(rho: float) -> None:
    off = []
    for log_T in (40.0, 160.0, 640.0):
        inner = np.linspace(0.005, 0.9, 100_001) * log_T
        C = np.exp(log_factor(np.exp(inner), rho))
        best = int(np.argmin(log_factor(np.exp(log_T - inner), C)))
        off.append(abs(C[best] * (log_T - inner[best]) * (1.0 - rho) / rho - 1.0))
    assert off[0] > off[1] > off[2]
    assert off[2] < 0.05


def test_differences_for_slopes_hold_the_first_voters_back() -> None:
    # eq. 12 takes (C(T + 1) - C(T - 1)) / 2, which for few strong voters is far steeper than the slope of eq. 13
    for rho, ahead in [(31 / 32, [1]), (1 / 2, [1]), (1 / 4, [1, 2]), (0.05, [1, 2, 4])]:
        for T in (1, 2, 4, 16):
            difference = float(tree_factor(T + 1, rho) - tree_factor(T - 1, rho)) / 2.0
            assert (difference < nesting_rate(T, float(tree_factor(T, rho)))) == (T in ahead)


def test_bounds_stand_in_the_order_of_the_document() -> None:
    for edge in (0.05, 0.2, 0.4):
        rho = normaliser_of_edge(edge)
        for L in range(1, 9):
            T = 2**L
            assert rho**T <= two_matryoshka(T, rho) * (1 + 1e-12) <= float(tree_factor(T, rho)) * (1 + 1e-9)
    assert_allclose(two_matryoshka(2, 0.4), tree_factor(2, 0.4))
