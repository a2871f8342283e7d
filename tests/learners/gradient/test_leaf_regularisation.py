"""Leaf weights and split gains under L0, L1 and L2 penalties, against a search over a fine grid of weights."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from committee.learners.gradient.leaf import LeafPenalty

Floats = NDArray[np.float64]

ON_OR_OFF = [0.0, 0.7, 3.0]
PENALTIES = [LeafPenalty(*prices) for prices in itertools.product(ON_OR_OFF, repeat=3)]
numbers = st.sampled_from([0.0]) | st.floats(0.01, 5.0)
penalties = st.builds(LeafPenalty, numbers, numbers, numbers, st.booleans())
gradients, hessians = st.floats(-20.0, 20.0), st.floats(0.1, 10.0)
limits = st.tuples(st.floats(-4.0, 4.0), st.floats(0.0, 4.0)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def objective(penalty: LeafPenalty, G: float, H: float, w: Floats) -> Floats:
    """J as it is defined, without anything that was derived from it."""
    counted = np.ones_like(w) if penalty.per_leaf else w != 0
    return G * w + 0.5 * H * w**2 + penalty.l0 * counted + penalty.l1 * np.abs(w) + 0.5 * penalty.l2 * w**2


def grid(G: float, H: float, lower: float = -np.inf, upper: float = np.inf) -> Floats:
    """Where the best weight must be, finely, and 0."""
    reach = abs(G) / H + 0.1
    w = np.linspace(max(-reach, lower), min(reach, upper), 4001) if -reach < upper and reach > lower else np.zeros(0)
    ends = [end for end in (lower, upper) if np.isfinite(end)]
    zero = [0.0] if lower <= 0.0 <= upper else []
    return np.concatenate([w, ends, zero])


def least(penalty: LeafPenalty, G: float, H: float, lower: float = -np.inf, upper: float = np.inf) -> float:
    return float(objective(penalty, G, H, grid(G, H, lower, upper)).min())


def fineness(penalty: LeafPenalty, G: float, H: float) -> float:
    """How far the grid's best can be from the best."""
    width = 2 * (abs(G) / H + 0.1) / 4000
    return 0.5 * (H + penalty.l2) * width**2 + 1e-9


@given(penalties, gradients, hessians)
def test_no_weight_is_better(penalty, G, H):
    w = penalty.weight(G, H)
    reached = float(objective(penalty, G, H, w))
    assert reached <= least(penalty, G, H) + 1e-9
    assert reached >= least(penalty, G, H) - fineness(penalty, G, H)
    assert_allclose(-reached, penalty.worth([G], [H]), atol=1e-9)


@given(penalties, gradients, hessians, limits)
def test_no_weight_within_limits_is_better(penalty, G, H, bounds):
    w = penalty.weight(G, H, *bounds)
    assert bounds[0] <= w <= bounds[1]
    reached = float(objective(penalty, G, H, w))
    assert reached <= least(penalty, G, H, *bounds) + 1e-9
    assert_allclose(-reached, penalty.worth([G], [H], *bounds), atol=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: f"{p.l0}-{p.l1}-{p.l2}")
def test_the_closed_form(penalty):
    """w = -sign(G) max(|G| - l1, 0) / (H + l2) when s > l0, else 0; V = max(0, s - l0)."""
    G, H = np.meshgrid(np.linspace(-6, 6, 25), [0.3, 1.0, 4.0])
    s = np.maximum(np.abs(G) - penalty.l1, 0) ** 2 / (2 * (H + penalty.l2))
    w = np.where(s > penalty.l0, -np.sign(G) * np.maximum(np.abs(G) - penalty.l1, 0) / (H + penalty.l2), 0.0)
    assert_allclose(penalty.weight(G, H), w, atol=1e-12)
    assert_allclose(penalty.worth(G[..., None], H[..., None]), np.maximum(0, s - penalty.l0), atol=1e-12)


@given(penalties, gradients, hessians, gradients, hessians)
def test_gain_of_a_split(penalty, G, H, other_G, other_H):
    """What the best two weights lower J by, more than the best single one."""
    apart = least(penalty, G, H) + least(penalty, other_G, other_H)
    together = least(penalty, G + other_G, H + other_H)
    gain = penalty.gain((np.array([G]), np.array([H])), (np.array([other_G]), np.array([other_H])))
    close = fineness(penalty, G, H) + fineness(penalty, other_G, other_H) + fineness(penalty, G + other_G, H + other_H)
    assert_allclose(gain, together - apart, atol=close)


@given(gradients, hessians, numbers, numbers, numbers)
def test_a_leaf_that_is_not_worth_its_price_abstains(G, H, l0, l1, l2):
    free, priced = LeafPenalty(0.0, l1, l2), LeafPenalty(l0, l1, l2)
    weight, worth = free.weight(G, H), free.worth([G], [H])
    assert_allclose(priced.weight(G, H), weight if worth > l0 else 0.0, atol=1e-12)
    leaves = LeafPenalty(l0, l1, l2, per_leaf=True)
    assert_allclose(leaves.weight(G, H), weight, atol=1e-12)
    assert_allclose(leaves.worth([G], [H]), worth - l0, atol=1e-9)


def test_cost_of_a_tree():
    w = np.array([[0.0], [2.0], [-1.0]])
    assert LeafPenalty(1.0, 10.0, 100.0).cost(w) == 2.0 + 30.0 + 250.0
    assert LeafPenalty(1.0, 10.0, 100.0, per_leaf=True).cost(w) == 3.0 + 30.0 + 250.0


# --- the trees that are grown by it -----------------------------------------------------------------------------------


def grow(penalty: LeafPenalty, code: NDArray[np.uint8], g: Floats, h: Floats, **limits: object) -> _core.GradientTree:
    """A tree on one column without missing values."""
    settings = {"max_depth": 1, "max_leaf_nodes": 0, "growth": "leaf", "monotone": None}
    grower = _core.GradientGrower(
        code[:, None],
        np.array([int(code.max()) + 1], dtype=np.int32),
        np.zeros(1, dtype=np.uint8),
        n_outputs=1,
        min_samples_leaf=1,
        min_hessian_leaf=0.0,
        leaf_l0=penalty.l0,
        leaf_l1=penalty.l1,
        leaf_l2=penalty.l2,
        l0_per_leaf=penalty.per_leaf,
        min_gain=0.0,
        max_features=1,
        max_interaction=0,
        interaction_groups=[],
        draw_thresholds=False,
        n_threads=1,
        **(settings | limits),
    )
    return grower.grow(g, h, None, None, 0)


@given(penalties, st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_the_best_threshold(penalty, n_bins, seed):
    rng = np.random.default_rng(seed)
    code = np.append(np.arange(n_bins), rng.integers(0, n_bins, 20)).astype(np.uint8)
    g, h = 3.0 * rng.normal(size=len(code)), rng.uniform(0.1, 1.0, len(code))
    tree = grow(penalty, code, g, h)
    alone = least(penalty, g.sum(), h.sum())
    sides = [(code <= b, code > b) for b in range(n_bins - 1)]
    gains = [alone - sum(least(penalty, g[side].sum(), h[side].sum()) for side in pair) for pair in sides]
    tolerance = 1e-6 + 0.01 * abs(max(gains))
    if max(gains) <= tolerance:
        assert len(tree.feature) == 1 or tree.gain[0] <= 2 * tolerance
        return
    assert_allclose(tree.gain[0], max(gains), atol=tolerance)
    assert gains[tree.bin[0]] >= max(gains) - tolerance
    for i in (1, 2):
        w = float(penalty.weight(tree.sums[i, 0], tree.sums[i, 1]))
        assert_allclose(tree.value[i, 0], w, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_leaves_abstain_in_a_tree_and_weigh_exactly_zero(seed):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 20, 200).astype(np.uint8)
    g, h = rng.normal(size=200) + 3.0 * (code == 7), np.ones(200)
    tree = grow(LeafPenalty(l0=8.0, l2=1.0), code, g, h, max_depth=4)
    leaf = tree.feature < 0
    s = tree.sums[:, 0] ** 2 / (2 * (tree.sums[:, 1] + 1.0))
    assert_array_equal(tree.value[leaf, 0] == 0.0, s[leaf] <= 8.0)
    assert (tree.gain[~leaf] > 0).all()
    nothing = grow(LeafPenalty(l0=1e9), code, g, h, max_depth=4)
    assert_array_equal(nothing.value, 0.0)
    assert len(nothing.feature) == 1
