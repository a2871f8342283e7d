"""Newton terms of margin losses, and gradients and hessians of boosting losses."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.special import expit

from committee import _core
from tests.core.cases import check_threads, check_vectors
from tests.oracles import losses as oracle

LINKS = ("probit", "logit")
SMALLEST_NORMAL = np.finfo(np.float64).tiny

arguments = st.one_of(
    st.floats(-1e4, 40.0),
    st.floats(-40.0, 40.0),
    st.floats(-1.0, 1.0),
    st.floats(0.0, 4.0).map(lambda e: -(10.0**e)),
)


def exact_probit(x: float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """lambda = phi / Phi, lambda (x + lambda) and -ln Phi, by the complementary error function."""
    with mp.workdps(50):
        z = mp.mpf(x)
        if x < 0:  # erfc would underflow nowhere, but the quotient keeps no more digits than it is given
            scaled = mp.erfc(-z / mp.sqrt(2)) * mp.exp(z * z / 2)
            rate = mp.sqrt(2 / mp.pi) / scaled
            loss = z * z / 2 - mp.log(scaled / 2)
        else:
            upper = mp.erfc(z / mp.sqrt(2)) / 2
            rate = mp.npdf(z) / (1 - upper)
            loss = -mp.log1p(-upper)
        return rate, rate * (z + rate), loss


def assert_probit_is_exact(x: NDArray[np.float64]) -> None:
    for point, rate, weight, loss in zip(x.tolist(), *_core.newton_terms("probit", x), strict=True):
        exact_rate, exact_weight, exact_loss = exact_probit(point)
        for ours, exact in ((rate, exact_rate), (weight, exact_weight)):
            if exact >= SMALLEST_NORMAL / 1e-2:
                assert abs(ours / exact - 1) <= 1e-12, (point, ours, exact)
            else:
                assert 0.0 <= ours <= 1e-305
        # the loss is of the size of x^2 / 2 far to the left, where no number has 13 decimals
        assert abs(loss - exact_loss) <= max(1e-13, 4e-16 * exact_loss), (point, loss, exact_loss)


def test_probit_on_a_grid():
    edges = np.array([-1e4, -0.0, 0.0, 40.0, 37.5, 37.6, 8.2, 8.3, 4.0, -4.0, -1e-300, 1e-300])
    assert_probit_is_exact(np.concatenate([np.linspace(-45.0, 40.0, 2001), -np.geomspace(1e-8, 1e4, 500), edges]))


@given(st.lists(arguments, min_size=1, max_size=20))
def test_probit_anywhere(x):
    assert_probit_is_exact(np.array(x))


def test_rough_terms_are_those_of_single_precision():
    x = np.concatenate([np.linspace(-1e3, 12.9, 4001), [-1e-300, -0.0, 0.0]])
    for rough, exact in zip(
        _core.newton_terms("probit", x, rough=True)[:2], _core.newton_terms("probit", x), strict=False
    ):
        assert_allclose(rough, exact, rtol=2e-5)
    for rough in _core.newton_terms("probit", np.array([13.1, 40.0, 1e300]), rough=True):
        assert_allclose(rough, 0.0, atol=1e-36)
    assert np.isfinite(_core.newton_terms("probit", np.array([-1e5, -1e300]), rough=True)).all()
    check_vectors(lambda: _core.newton_terms("probit", x, rough=True))
    for ours, exact in zip(_core.newton_terms("logit", x, rough=True), _core.newton_terms("logit", x), strict=True):
        assert_array_equal(ours, exact)


def test_reference_values():
    """Section 3.1 and appendix B of the document, with its misprinted sign corrected."""
    x = np.array([-3.0, -0.5, 0.7, 2.0])
    assert_allclose(_core.newton_terms("probit", x)[1], [0.929441, 0.731520, 0.458029, 0.113548], atol=5e-7)
    rate = _core.newton_terms("probit", np.array([-30.0, 10.0]))[0]
    assert rate[0] == pytest.approx(30.0332597, abs=5e-8)
    assert rate[1] == pytest.approx(7.6946e-23, rel=1e-5)


@given(st.lists(st.floats(-700.0, 700.0), min_size=1, max_size=50))
def test_logit(x):
    x = np.array(x)
    gradient, curvature, loss = _core.newton_terms("logit", x)
    assert_allclose(gradient, expit(-x), rtol=1e-14)
    assert_allclose(curvature, expit(x) * expit(-x), rtol=1e-14)
    assert_allclose(loss, np.logaddexp(0.0, -x), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("link", LINKS)
def test_far_out_is_no_nan(link):
    size = np.array([40.0, 1e3, 1e5, 1e8, 1e16, 1e100, 1e154, 1e155, 1e300, np.finfo(np.float64).max])
    gradient, curvature, loss = _core.newton_terms(link, size)
    assert_array_equal(gradient[1:], 0.0)
    assert_array_equal(curvature[1:], 0.0)
    assert np.abs(loss).max() <= 1e-15
    gradient, curvature, loss = _core.newton_terms(link, -size)
    assert not np.isnan([gradient, curvature, loss]).any()
    near = size <= 1e16  # beyond, terms may stay what they are there
    assert_allclose(gradient[near], size[near] if link == "probit" else 1.0, rtol=1e-3)
    assert_allclose(loss[near], size[near] ** 2 / 2 if link == "probit" else size[near], rtol=1e-2)
    assert_allclose(curvature, 1.0 if link == "probit" else 0.0, rtol=1e-3, atol=1e-15)
    assert (np.diff(gradient) >= 0).all() and (np.diff(loss) >= 0).all()


@pytest.mark.parametrize("link", LINKS)
def test_place_in_the_array_changes_no_bit(link):
    x = np.random.default_rng(0).normal(size=37) * 10
    together = _core.newton_terms(link, x)
    alone = [np.concatenate(terms) for terms in zip(*(_core.newton_terms(link, x[i : i + 1]) for i in range(37)))]  # noqa: B905
    for one, other in zip(together, alone, strict=True):
        assert_array_equal(one, other)
    assert all(len(terms) == 0 for terms in _core.newton_terms(link, np.empty(0)))


def test_refusals():
    with pytest.raises(ValueError, match="link must be 'probit' or 'logit'"):
        _core.newton_terms("cauchit", np.zeros(3))
    with pytest.raises(TypeError):
        _core.newton_terms("probit", np.zeros(3, dtype=np.float32))


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
def test_same_as_row_by_row(name, seed, n, K, scale, weighted):
    case = problem(name, seed, n, K, scale, weighted)
    for ours, theirs in zip(computed(case), oracle.gradients(name, case["y"], case["F"], case["weights"]), strict=True):
        assert_allclose(ours, theirs, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("name", NAMES)
def test_tied_and_certain_scores(name):
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
def test_same_bits_for_any_number_of_threads(name, seed, n, K, weighted):
    case = problem(name, seed, n, K, 2.0, weighted)
    check_threads(lambda t: computed(case, n_threads=t))


@pytest.mark.parametrize("name", NAMES)
def test_many_rows_on_many_threads(name):
    case = problem(name, 1, 200_003, 3, 2.0, weighted=True)
    check_threads(lambda t: computed(case, n_threads=t))


@pytest.mark.parametrize("name", NAMES)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_a_row_does_not_depend_on_its_place(name, seed, n):
    case = problem(name, seed, n, 4, 2.0, weighted=True)
    order = np.random.default_rng(seed).permutation(n)
    moved = {"y": case["y"][order], "F": np.ascontiguousarray(case["F"][..., order]), "weights": case["weights"][order]}
    for ours, theirs in zip(computed(case, **moved), computed(case), strict=True):
        assert_array_equal(ours, theirs[..., order])


@pytest.mark.parametrize("name", NAMES)
def test_no_weights_are_weights_of_one(name):
    case = problem(name, 2, 37, 4, 2.0, weighted=False)
    for ours, theirs in zip(computed(case), computed(case, weights=np.ones(37)), strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("n", [1, 8, 13])
def test_softmax_of_two_scores_is_logistic(n):
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
def test_refuses(wrong):
    good = problem("logistic", 0, 3, 2, 1.0, weighted=True) | {"y": np.array([0, 1, 1], dtype=np.uint16)}
    _core.loss_gradients(**good)
    with pytest.raises(ValueError):
        _core.loss_gradients(**good | wrong)


def test_other_types_are_refused():
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
