"""Gradients and hessians by the kernel: its twin, its threads, its weights, and what it refuses."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from committee import _core
from tests.oracles import losses as oracle

NAMES = ("logistic", "softmax", "squared")
sizes = st.one_of(st.integers(0, 40), st.sampled_from([8192, 8193, 20_000]))


def problem(name: str, seed: int, n: int, K: int, scale: float, weighted: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shape = (K, n) if name == "softmax" else (n,)
    y: Any = rng.normal(size=n) * scale
    if name != "squared":
        y = rng.integers(0, K if name == "softmax" else 2, n).astype(np.uint16)
    return {
        "name": name,
        "y": y,
        "F": rng.normal(size=shape) * scale,
        "weights": rng.exponential(size=n) * (rng.uniform(size=n) < 0.9) if weighted else None,
        "gradient": np.full(shape, np.nan),
        "hessian": np.full(shape, np.nan),
        "n_threads": 1,
    }


def computed(arguments: dict[str, Any], **changed: Any) -> tuple[np.ndarray, np.ndarray]:
    arguments = arguments | changed
    gradient, hessian = np.full_like(arguments["F"], np.nan), np.full_like(arguments["F"], np.nan)
    assert _core.loss_gradients(**arguments | {"gradient": gradient, "hessian": hessian}) is None
    return gradient, hessian


@pytest.mark.parametrize("name", NAMES)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 40),
    st.integers(1, 6),
    st.sampled_from([0.0, 1e-9, 1.0, 30.0, 300.0]),
    st.booleans(),
)
def test_same_as_row_by_row(name: str, seed: int, n: int, K: int, scale: float, weighted: bool) -> None:
    case = problem(name, seed, n, K, scale, weighted)
    for ours, theirs in zip(computed(case), oracle.gradients(name, case["y"], case["F"], case["weights"]), strict=True):
        assert_allclose(ours, theirs, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("name", NAMES)
def test_tied_and_certain_scores(name: str) -> None:
    """All pairs of scores that are equal, far apart, or huge; numbers below 1e-300 may be zero."""
    scores = np.array([0.0, -0.0, 1.0, -1.0, 36.0, 40.0, 700.0, 707.9, 708.1, 745.2, 1e3, -1e3])
    a, b, c = (grid.ravel() for grid in np.meshgrid(scores, scores, [0.0, 1.0, 2.0]))
    case = problem(name, 0, len(a), 3, 0.0, weighted=False)
    case["F"] = np.array([a, b, np.zeros_like(a)]) if name == "softmax" else a
    case["y"] = c if name == "squared" else (c.astype(np.uint16) % (3 if name == "softmax" else 2))
    for ours, theirs in zip(computed(case), oracle.gradients(name, case["y"], case["F"], None), strict=True):
        assert_allclose(ours, theirs, rtol=1e-13, atol=1e-300)
    for ours in computed(case | {"F": case["F"] * 1e290}):
        assert np.isfinite(ours).all()


@pytest.mark.parametrize("name", NAMES)
@given(st.integers(0, 2**32 - 1), sizes, st.integers(1, 5), st.booleans())
def test_same_bits_for_any_number_of_threads(name: str, seed: int, n: int, K: int, weighted: bool) -> None:
    case = problem(name, seed, n, K, 2.0, weighted)
    alone = computed(case)
    for n_threads in (2, 5):
        for ours, theirs in zip(computed(case, n_threads=n_threads), alone, strict=True):
            assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", NAMES)
def test_many_rows_on_many_threads(name: str) -> None:
    case = problem(name, 1, 200_003, 3, 2.0, weighted=True)
    for ours, theirs in zip(computed(case, n_threads=3), computed(case), strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", NAMES)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_a_row_does_not_depend_on_its_place(name: str, seed: int, n: int) -> None:
    case = problem(name, seed, n, 4, 2.0, weighted=True)
    order = np.random.default_rng(seed).permutation(n)
    moved = {"y": case["y"][order], "F": np.ascontiguousarray(case["F"][..., order]), "weights": case["weights"][order]}
    for ours, theirs in zip(computed(case, **moved), computed(case), strict=True):
        assert_array_equal(ours, theirs[..., order])


@pytest.mark.parametrize("name", NAMES)
def test_no_weights_are_weights_of_one(name: str) -> None:
    case = problem(name, 2, 37, 4, 2.0, weighted=False)
    for ours, theirs in zip(computed(case), computed(case, weights=np.ones(37)), strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("n", [1, 8, 13])
def test_softmax_of_two_scores_is_logistic(n: int) -> None:
    case = problem("logistic", 3, n, 2, 5.0, weighted=True)
    two = computed(case, name="softmax", F=np.array([np.zeros(n), case["F"]]))
    for ours, theirs in zip(two, computed(case), strict=True):
        assert_allclose(ours[1], theirs, rtol=1e-14)
    assert_allclose(two[0][0], -two[0][1], rtol=1e-14)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "probit"},
        {"y": np.array([0, 2, 1], dtype=np.uint16)},
        {"y": np.array([0, 65_535, 1], dtype=np.uint16)},
        {"y": np.array([0, 1], dtype=np.uint16)},
        {"F": np.zeros((1, 3))},
        {"F": np.zeros(4)},
        {"weights": np.ones(2)},
        {"gradient": np.empty(2)},
        {"hessian": np.empty((1, 3))},
        {"name": "softmax"},
        {"name": "softmax", "F": np.zeros((0, 3)), "gradient": np.empty((0, 3)), "hessian": np.empty((0, 3))},
        {"name": "softmax", "F": np.zeros((1, 3)), "gradient": np.empty((1, 3)), "hessian": np.empty((1, 3))},
        {"name": "softmax", "F": np.zeros((2, 3)), "gradient": np.empty((3, 2)), "hessian": np.empty((2, 3))},
    ],
    ids=lambda wrong: "-".join(wrong),
)
def test_refuses(wrong: dict[str, Any]) -> None:
    good = problem("logistic", 0, 3, 2, 1.0, weighted=True) | {"y": np.array([0, 1, 1], dtype=np.uint16)}
    _core.loss_gradients(**good)
    with pytest.raises(ValueError):
        _core.loss_gradients(**good | wrong)


def test_other_types_are_refused() -> None:
    good = problem("logistic", 0, 4, 2, 1.0, weighted=True)
    frozen = np.empty(4)
    frozen.flags.writeable = False
    for wrong in (
        {"y": good["y"].astype(np.int64)},
        {"y": good["y"].astype(np.float64)},
        {"name": "squared"},
        {"F": good["F"].astype(np.float32)},
        {"F": np.zeros(8)[::2]},
        {"weights": np.ones(4, dtype=np.float32)},
        {"gradient": frozen},
        {"hessian": np.empty(8)[::2]},
        {"gradient": np.empty(4, dtype=np.float32)},
    ):
        with pytest.raises((TypeError, ValueError)):
            _core.loss_gradients(**good | wrong)
