"""The temperature of a vote against a search over all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from committee.vote.links.temperature import STEPS, best_temperature
from tests.oracles.votes import smoothed_log_loss

evidence = st.integers(2, 4).flatmap(lambda K: arrays(np.float64, (7, K), elements=st.integers(-9, 9).map(float)))
labels = st.lists(st.integers(0, 1), min_size=7, max_size=7).map(lambda y: np.array(y, dtype=np.uint16))
weights = st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=7, max_size=7).map(np.array)


@given(evidence, labels, weights, st.integers(1, 50))
def test_no_temperature_has_a_smaller_loss(z, y, w, m):
    best = best_temperature(z, y, w, m)
    loss = smoothed_log_loss(z.tolist(), y.tolist(), w.tolist(), m, best)
    others = 2.0 ** (np.arange(-8 * STEPS, 12 * STEPS, 3) / STEPS)
    least = min(smoothed_log_loss(z.tolist(), y.tolist(), w.tolist(), m, T) for T in others)
    # the best of all is within one step of the temperature found, and the loss is flat there
    step = smoothed_log_loss(z.tolist(), y.tolist(), w.tolist(), m, best * 2.0 ** (1 / STEPS))
    assert min(loss, step) <= least + 1e-3 * abs(least)


@given(evidence, labels, weights, st.integers(1, 50), st.sampled_from([0.125, 2.0, 64.0]))
def test_evidence_in_other_units_has_the_temperature_in_these_units(z, y, w, m, unit):
    found = best_temperature(z, y, w, m)
    if 1e-6 < found < 1e6 and np.ptp(z, axis=1).any():  # the ends of the search, and no evidence, have no units
        assert best_temperature(z * unit, y, w, m) == found * unit


@given(evidence, labels, weights, st.integers(1, 50), st.permutations(range(7)))
def test_rows_have_no_order_and_weights_no_unit(z, y, w, m, order):
    expected = best_temperature(z, y, w, m)
    for found in (best_temperature(z[order], y[order], w[order], m), best_temperature(z, y, 1e9 * w, m)):
        assert_allclose(np.log2(found), np.log2(expected), atol=1.01 / STEPS)


@pytest.mark.parametrize("m", [4, 60, 1000])
def test_rows_that_are_all_right_leave_a_doubt(m):
    z = np.tile([[0.0, 3.0]], (m, 1))
    T = best_temperature(z, np.ones(m, dtype=np.uint16), np.ones(m), m)
    wrong = 1 / (1 + np.exp(3.0 / T))
    assert 0.4 / (m + 1) < wrong < 0.6 / (m + 1)


def test_votes_that_are_always_wrong_are_evened_out():
    T = best_temperature(np.array([[0.0, 1.0]] * 3), np.zeros(3, dtype=np.uint16), np.ones(3), 3)
    assert T >= 2.0**40


def test_no_evidence_has_temperature_one():
    assert best_temperature(np.full((3, 2), 5.0), np.array([0, 1, 1], dtype=np.uint16), np.ones(3), 3) == 1.0
