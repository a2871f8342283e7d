"""The theory of matryoshki: the values of its Figures 2 and 3."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from committee.bounds.nested_trees import tree_factor, two_matryoshka
from committee.papers.matryoshka.curves import RHOS, by_inner_size, by_level, by_voters, nested_bound, whole_sizes


def value(curves, name, rho, x, T=None):
    [curve] = [c for c in curves if (c.name, c.rho, c.T) == (name, rho, T)]
    return float(curve.y[np.flatnonzero(np.isclose(curve.x, x))[0]])


def test_figure_2_left_has_the_documents_values():
    curves = by_voters()
    assert {c.rho for c in curves} == set(RHOS) and len(curves) == 15
    assert value(curves, "2-matryoshka", "31/32", 16) == pytest.approx(0.8544262, abs=1e-7)
    assert value(curves, "2-matryoshka", "31/32", 1024) == pytest.approx(0.2471858, abs=1e-7)
    assert value(curves, "2-matryoshka", "31/32", 65536) == pytest.approx(0.0065931, abs=1e-7)
    for name, rho in RHOS.items():
        for T in (1, 8, 4096):
            t = np.arange(T)
            assert value(curves, "tree", name, T) == pytest.approx(np.prod((t + rho) / (t + 1)), rel=1e-10)
            assert value(curves, "AdaBoost", name, T) == pytest.approx(rho**T, rel=1e-9)
            trio = [value(curves, kind, name, T) for kind in ("tree", "2-matryoshka", "AdaBoost")]
            # one voter is all three
            in_order = trio == sorted(trio, reverse=True) if T > 1 else trio == pytest.approx([rho] * 3)
            assert in_order, "highest, middle, lowest, as its caption says"


def test_figure_2_right_begins_and_ends_at_the_plain_tree():
    for curve in by_inner_size():
        plain = float(tree_factor(curve.T, RHOS[curve.rho]))
        assert curve.y[[0, -1]] == pytest.approx([plain, plain], rel=1e-12)
        assert (curve.y <= plain * (1 + 1e-12)).all()
        best = minimize_scalar(
            lambda log, T=curve.T, rho=RHOS[curve.rho]: float(tree_factor(T / 2**log, tree_factor(2**log, rho))),
            bounds=(0.0, np.log2(curve.T)), method="bounded",
        )  # fmt: skip
        assert np.log2(curve.x[np.argmin(curve.y)]) == pytest.approx(best.x, abs=0.05)
        # "always near sqrt T" on the scale of the figure: within one of log2 T / 2, and not above it
        assert -1.0 < best.x - np.log2(curve.T) / 2 < 0.05


def test_figure_3_nests_ever_deeper():
    curves = by_level()
    for T, end in ((1024, 0.2471858), (65536, 0.0065931)):
        own = {c.name: c for c in curves if c.T == T}
        real, levels = own["real sizes"], round(np.log2(T))
        assert (np.diff(real.y) < 0).all() and real.x[-1] > levels, "falls past log2 T too"
        assert real.y[levels - 1] == pytest.approx(end, abs=1e-7)
        assert real.y[0] == pytest.approx(own["not nested"].y[0]) == pytest.approx(float(tree_factor(T, 31 / 32)))
        for name in ("whole sizes, larger inside", "whole sizes, larger outside"):
            assert own[name].y[-1] == pytest.approx(end, abs=1e-7) and len(own[name].y) == levels
            assert (own[name].y >= real.y[:levels] - 1e-12).all(), "never more voters than T"


@given(st.integers(4, 5000), st.integers(1, 11))
def test_whole_sizes_are_neighbours_and_use_up_the_voters(T, levels):
    if 2**levels > T:
        return
    sizes = whole_sizes(T, levels)
    assert len(sizes) == levels and sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= T ** (1 / levels) + 1e-6 < sizes[-1] + 1.001 and sizes[0] - sizes[-1] <= 1
    assert np.prod(sizes) <= T
    if sizes[0] == sizes[-1]:
        assert np.prod([sizes[0] + 1, *sizes[1:]]) > T


def test_a_bound_nested_once_is_the_trees():
    assert nested_bound([7], 0.6) == pytest.approx(float(tree_factor(7, 0.6)))
    assert nested_bound([2] * 4, 0.9) == pytest.approx(two_matryoshka(16, 0.9))
