"""Boosting trees and matryoshki as bounds: the document's formulas, its own values, and what they promise."""

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from committee.bounds import boosting_tree, matryoshka
from committee.bounds.nested_trees import nesting_rate, normaliser_of_edge, slope_in_nodes, tree_factor, two_matryoshka

rhos = st.floats(0.01, 0.999)


@pytest.mark.parametrize(
    ("T", "rho", "expected"), [(2, 0.3, 0.195), (5, 0.7, 0.46561725), (10, 31 / 32, 0.9118320818), (0, 0.4, 1.0)]
)
def test_tree_factor_has_the_values_of_its_product(T: int, rho: float, expected: float) -> None:
    assert tree_factor(T, rho) == pytest.approx(expected, abs=1e-9)


def test_what_is_no_tree_has_no_factor() -> None:
    with pytest.raises(ValueError, match="n_nodes is -1; it must be at least 0"):
        tree_factor(-1, 0.5)
    with pytest.raises(ValueError, match=r"n_nodes is \[1, nan\]; it must be at least 0"):
        tree_factor([1, np.nan], 0.5)


@given(st.integers(1, 200), rhos)
def test_tree_factor_is_the_product_and_the_beta_function(T: int, rho: float) -> None:
    t = np.arange(T)
    assert tree_factor(T, rho) == pytest.approx(np.prod((t + rho) / (t + 1)), rel=1e-11)


def exact_factor(T: mpmath.mpf, rho: mpmath.mpf) -> mpmath.mpf:
    return 1 / (T * mpmath.beta(T, rho))


@given(st.floats(0.5, 300.0), rhos)
def test_slopes_are_those_of_finite_differences(T: float, rho: float) -> None:
    with mpmath.workdps(40):
        in_nodes = mpmath.diff(lambda t: exact_factor(t, mpmath.mpf(rho)), mpmath.mpf(T))
    assert slope_in_nodes(T, rho) == pytest.approx(float(in_nodes), rel=1e-8, abs=1e-13)


@given(st.integers(1, 100), rhos)
def test_nesting_rate_is_the_printed_one(T: int, C: float) -> None:
    with mpmath.workdps(40):
        rate = mpmath.diff(lambda t: exact_factor(t / T, mpmath.mpf(C)), mpmath.mpf(T))
        printed = mpmath.mpf(C) / T * (mpmath.euler + mpmath.digamma(C) + 1 / mpmath.mpf(C) - 1)
    assert nesting_rate(T, C) == pytest.approx(float(rate), rel=1e-8, abs=1e-13)
    assert nesting_rate(T, C) == pytest.approx(float(printed), rel=1e-8, abs=1e-13)


@given(rhos)
def test_nesting_a_single_voter_changes_nothing(rho: float) -> None:
    assert nesting_rate(1, rho) == pytest.approx(float(slope_in_nodes(1, rho)), abs=1e-12)


@pytest.mark.parametrize(("T", "expected"), [(16, 0.8544262), (1024, 0.2471858), (65536, 0.0065931)])
def test_two_matryoshka_has_its_reference_values(T: int, expected: float) -> None:
    rho = 31 / 32
    assert two_matryoshka(T, rho) == pytest.approx(expected, abs=1e-7)
    edge = float(np.sqrt(1 - rho**2) / 2)
    assert matryoshka([2] * int(np.log2(T)), edge).value == pytest.approx(expected, abs=1e-7)


@given(st.integers(2, 40), st.integers(2, 40), st.floats(0.01, 0.49))
def test_a_tree_of_trees_is_never_worse_than_a_tree(T1: int, T2: int, edge: float) -> None:
    nested = matryoshka([T1, T2], edge)
    assert nested.value <= nested.terms["plain_tree"] * (1 + 1e-12)
    assert nested.value >= nested.terms["adaboost"] * (1 - 1e-9)
    assert nested.terms["plain_tree"] == pytest.approx(boosting_tree(T1 * T2, edge).value)


@pytest.mark.parametrize("rho", [31 / 32, 7 / 8, 3 / 4])
@pytest.mark.parametrize("T", [256, 1024, 4096])
def test_trees_of_two_levels_are_best_near_the_square_root(T: int, rho: float) -> None:
    inner = np.geomspace(1, T, 400)
    bound = tree_factor(T / inner, tree_factor(inner, rho))
    best = inner[bound.argmin()]
    assert 0.5 * np.sqrt(T) <= best <= 2.0 * np.sqrt(T)
    assert_allclose(bound[[0, -1]], tree_factor(T, rho), rtol=1e-9)


@given(st.floats(0.0, 0.4999), st.integers(1, 50))
def test_more_voters_and_larger_edges_lower_every_bound(edge: float, T: int) -> None:
    assert boosting_tree(T + 1, edge).value <= boosting_tree(T, edge).value * (1 + 1e-12)
    assert boosting_tree(T, edge).value <= boosting_tree(T, edge / 2).value * (1 + 1e-12)
    assert normaliser_of_edge(edge) == pytest.approx(np.sqrt(1 - 4 * edge**2), abs=1e-12)


def test_numbers_out_of_range_are_named() -> None:
    with pytest.raises(ValueError, match="edge"):
        boosting_tree(3, 0.6)
    with pytest.raises(ValueError, match=r"edge is 0\.5"):
        boosting_tree(3, 0.5)
    with pytest.raises(ValueError, match="n_voters"):
        boosting_tree(0, 0.1)
    with pytest.raises(ValueError, match="sizes is empty"):
        matryoshka([], 0.1)
    with pytest.raises(ValueError, match="power of two"):
        two_matryoshka(12, 0.5)
    with pytest.raises(ValueError, match="rho"):
        tree_factor(3, 0.0)
    with pytest.raises(ValueError, match="n_nodes"):
        nesting_rate(0.5, 0.3)
