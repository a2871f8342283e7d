"""Links against their equations, and their two promises on scores of any size."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

import committee
from committee.vote.links.probability import (
    LINKS,
    Link,
    Logistic,
    Probit,
    Share,
    Softmax,
    TemperedMargin,
    TemperedShare,
    Truncated,
    elected,
    from_json,
)
from committee.vote.links.temperature import STEPS, best_temperature
from committee.voters.flat_trees import ClassShares
from tests.cast_votes import forest_that_votes
from tests.golden.write import FOLDER
from tests.oracles import votes as oracle
from tests.oracles.votes import smoothed_log_loss

ordinary = st.floats(-20, 20)
# the neighbourhoods where probabilities round: near zero, near saturation, far out, and one ulp apart
extreme = st.one_of(
    st.floats(-1e6, 1e6),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-20, -1e-20, 1e-300]),
    st.sampled_from([36.0, 40.0, 50.0, 745.0, 800.0, 1e6, -1e6]),
    st.sampled_from([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 1e6, np.nextafter(1e6, 0.0)]),
)
links = st.one_of(
    st.builds(Softmax, st.floats(1e-3, 1e3), st.just(False)),
    st.builds(Logistic, st.floats(1e-3, 1e3)),
    st.just(Probit()),
    st.just(Truncated()),
    st.builds(TemperedMargin, st.floats(1e-3, 1e3)),
)


def rows(values: st.SearchStrategy[float], K: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.lists(values, min_size=K, max_size=K), min_size=1, max_size=6).map(np.array)


def keep_promises(p: np.ndarray, F: np.ndarray) -> None:
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    expected = [oracle.elected(list(np.atleast_1d(scores))) for scores in F.tolist()]
    assert_array_equal(np.argmax(p, axis=1), expected)


@given(st.integers(1, 5).flatmap(lambda K: rows(ordinary, K)), st.floats(0.1, 3.0))
def test_equations(F, scale):
    softmax = [oracle.softmax(row, scale) for row in F.tolist()]
    assert_allclose(Softmax(scale).probability(F), softmax, rtol=1e-9)
    logistic = [oracle.logistic(row, scale) for row in F.tolist()]
    assert_allclose(Logistic(scale).probability(F), logistic, rtol=1e-9)
    probit = [oracle.probit(row) for row in F.tolist()]
    assert_allclose(Probit().probability(F), probit, rtol=1e-9, atol=1e-300)  # smaller ones have few digits
    truncated = [oracle.truncated(row) for row in (F / 8).tolist()]
    assert_allclose(Truncated().probability(F / 8), truncated, rtol=1e-9, atol=1e-15)


tallies = st.integers(2, 5).flatmap(lambda K: rows(st.sampled_from([0.0, 0.1, 1.0, 2.5, 1e6]), K))


@given(tallies, st.floats(1, 1e7))
def test_shares(F, factor):
    assert_allclose(Share().probability(F), [oracle.share(row) for row in F.tolist()], rtol=1e-12)
    total = float(F.sum(axis=1).max() * factor)
    by_total = np.array([oracle.share(row, total) for row in F.tolist()])
    assert_allclose(Share().probability(F, total), by_total, rtol=1e-12)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9).map(np.array), st.floats(1, 9))
def test_shares_of_signed_scores(F, total):
    p = Share().probability(F, total)
    keep_promises(p, F)
    assert_allclose(p, [oracle.share([f], total) for f in F.tolist()], rtol=1e-12, atol=1e-15)
    assert_array_equal(p, Share().probability(F[:, None], total))


@given(links, st.integers(3, 6).flatmap(lambda K: rows(extreme, K)))
def test_promises_for_several_classes(link, F):
    keep_promises(link.probability(F), F)


@given(links, st.lists(extreme, min_size=1, max_size=9).map(np.array))
def test_promises_for_two_classes(link, F):
    p = link.probability(F)
    keep_promises(p, F)
    assert_array_equal(p, link.probability(F[:, None]))


@given(links, rows(ordinary | extreme, 2))
def test_two_column_tally_is_its_difference(link, F):
    p = link.probability(F)
    assert_array_equal(np.argmax(p, axis=1), [oracle.elected(row) for row in F.tolist()])
    assert_array_equal(p, link.probability(F[:, 1] - F[:, 0]))


@given(st.integers(2, 5).flatmap(lambda K: rows(extreme.map(abs), K)), st.booleans())
def test_promises_of_shares(F, known_total):
    total = float(F.sum(axis=1).max()) if known_total else None
    p = Share().probability(F, total)
    assert np.isfinite(p).all() and (p >= 0).all()
    assert_array_equal(np.argmax(p, axis=1), [oracle.elected(row) for row in F.tolist()])
    if not known_total:
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


@given(st.integers(2, 5).flatmap(lambda K: rows(extreme.map(abs), K)), st.floats(0.01, 100), st.floats(0.01, 10))
def test_promises_of_tempered_shares(F, temperature, prior):
    keep_promises(TemperedShare(temperature, prior).probability(F), F)


@given(tallies, st.floats(0.1, 3), st.floats(0.05, 2))
def test_tempered_shares_are_powers_of_votes(F, temperature, prior):
    link = TemperedShare(temperature, prior)
    expected = [oracle.tempered_share(row, temperature, prior) for row in F.tolist()]
    assert_allclose(link.probability(F), expected, rtol=1e-9)
    assert_allclose(Share().tempered(temperature).probability(F), TemperedShare(temperature).probability(F))
    assert TemperedShare(2.0, prior).tempered(temperature) == link
    signed, total = F[:, 1] - F[:, 0], float(F.sum(axis=1).max())
    votes = np.column_stack([total - signed, total + signed]) / 2
    assert_allclose(link.probability(signed, total), link.probability(votes), rtol=1e-6)


@given(links, st.floats(0.01, 100), st.integers(3, 5).flatmap(lambda K: rows(ordinary, K)))
def test_tempered_links_divide_the_evidence(link, temperature, F):
    for scores in (F, F[:, 0]):
        z = link.evidence(scores, 30.0) / temperature
        expected = [oracle.softmax(row, 1.0) for row in z.tolist()]
        assert_allclose(link.tempered(temperature).probability(scores), expected, rtol=1e-9, atol=1e-300)


@given(st.integers(2, 5).flatmap(lambda K: rows(st.floats(0, 1), K)), st.integers(1, 60))
def test_settled_scores_elect_the_first_largest_mean(F, total):
    settled = Share().settle(F, total)
    means = np.argmax(F / total, axis=1)
    assert_array_equal([oracle.elected(row) for row in settled.tolist()], means)
    assert_array_equal(np.argmax(Share().probability(settled, total), axis=1), means)
    assert_array_equal(settled / total, F / total)
    assert_allclose(settled, F, rtol=3e-16)


def test_settling_happens():
    """Sums that differ in the last bit and have the same mean: the case that `settle` is for."""
    low = 1.75
    high = np.nextafter(low, 2.0)
    total = next(t for t in range(1, 100) if low / t == high / t)
    tally = np.array([[low, high], [high, low]])
    assert_array_equal(Share().settle(tally, total), [[high, high], [high, low]])
    of_each = np.array([[0.0], [total]])
    assert_array_equal(Share().settle(tally[[0, 0]], of_each), [[low, high], [high, high]])
    assert Softmax().settle(tally, total) is tally
    single = tally[:, :1]
    assert Share().settle(single, total) is single
    assert Share().settle(tally, 0.0) is tally  # no voter has weight
    assert_array_equal(Share().settle(tally / 1024, total / 1024), np.array([[high, high], [high, low]]) / 1024)


def test_tempered_margins_settle_as_truncated_ones_do():
    tallies = np.array([[1.0, 1.0 - 1e-14, 0.0], [2.0, 1.0, 0.0]])
    assert_array_equal(TemperedMargin(1.0).settle(tallies, 1.0), Truncated().settle(tallies, 1.0))
    assert Truncated(0.1).tempered(2.0) == TemperedMargin(1.0).tempered(2.0) == TemperedMargin(2.0)


def test_least_squares_settles_what_differs_by_a_rounding():
    """By 1e-12 of the total weight, or of 1 where that is less."""
    F = np.array([[0.0], [9e-13], [-9e-13], [1.1e-12], [-0.5]])
    for total, settled in ((0.5, [0, 0, 0, 1.1e-12, -0.5]), (2.0, [0, 0, 0, 0, -0.5])):
        assert_array_equal(Truncated().settle(F, total)[:, 0], settled)
    tallies = np.array([[1.0, 1.0 + 9e-13, 0.5], [2.0, 1.0, 2.0 + 2e-12], [0.0, 3.0, 1.0]])
    assert_array_equal(Truncated().settle(tallies, 1.0)[:, 0], [1.0 + 9e-13, 2.0, 0.0])
    assert_array_equal(Truncated().settle(tallies, 3.0)[:, 0], [1.0 + 9e-13, 2.0 + 2e-12, 0.0])
    assert_array_equal(Truncated().settle(tallies, 3.0)[:, 1:], tallies[:, 1:])
    for clear in (tallies[2:], np.array([[0.0], [-1.0]])):
        assert Truncated().settle(clear, 1.0) is clear
    assert_array_equal(Truncated().settle(np.array([[1e-12], [-1e-12]]), 1.0), [[0.0], [0.0]])
    assert_array_equal(Truncated().settle(np.array([[0.0, 1e-12, -1.0]]), 1.0), [[1e-12, 1e-12, -1.0]])


@pytest.mark.parametrize(
    ("link", "F", "expected"),
    [
        (Softmax(), [math.log(3)], [[0.25, 0.75]]),
        (Softmax(), [[0.0, math.log(3)]], [[0.25, 0.75]]),
        (Softmax(), [[0.0, math.log(2), math.log(5)]], [[0.125, 0.25, 0.625]]),
        (Softmax(), [-700.0], [[1.0, math.exp(-700)]]),
        (Softmax(), [[800.0, 799.0, -800.0]], [oracle.softmax([0.0, -1.0, -1600.0])]),
        (Softmax(), [[-800.0, -801.0, -1000.0]], [oracle.softmax([0.0, -1.0, -200.0])]),
        (Softmax(normalized=True), [[1.0, 1.0, 2.0]], [oracle.softmax([0.25, 0.25, 0.5])]),
        (Softmax(normalized=True), [[0.0, 0.0]], [[0.5, 0.5]]),
        (Softmax(normalized=True), [[0.0, 0.0, 0.0, 0.0]], [[0.25] * 4]),
        (Logistic(), [math.log(3) / 2], [[0.25, 0.75]]),
        (Logistic(1.0), [[0.0, 0.0, 0.0]], [[1 / 3] * 3]),
        (Logistic(1.0), [[-1e6, -1e6 - 1, -2e6]], [[1 / (1 + math.exp(-1)), 1 / (1 + math.e), 0.0]]),
        (Probit(), [0.0, 1.0], [[0.5, 0.5], [0.15865525393145707, 0.8413447460685429]]),
        (Probit(), [[-1.0, 1.0]], [[0.022750131948179195, 0.9772498680518208]]),
        (Probit(), [[0.0, 0.0, 0.0], [-1e200, -1e200, -3.0]], [[1 / 3] * 3, [0.0, 0.0, 1.0]]),
        (Probit(), [[-50.0, -50.0, -100.0]], [[0.5, 0.5, 0.0]]),
        (Truncated(), [-3.0, -0.5, 0.0, 0.5, 3.0], [[1, 0], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0, 1]]),
        (Truncated(), [[0.5, 0.0], [-1e300, 1e300]], [[0.75, 0.25], [0.0, 1.0]]),
        (Truncated(), [[-1.0, 0.0, 2.0], [-1.0, -2.0, -3.0]], [[0.0, 1 / 3, 2 / 3], [1 / 3] * 3]),
        (Truncated(0.125), [-3.0, 0.0, 0.5, 3.0], [[0.875, 0.125], [0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]),
        (Truncated(0.125), [[-3.0, 0.0, 3.0]], [[0.125 / 1.5, 0.5 / 1.5, 0.875 / 1.5]]),
        (Share(), [[1.0, 3.0]], [[0.25, 0.75]]),
        (Share(), [[0.0, 0.0, 0.0]], [[1 / 3] * 3]),
        (TemperedShare(1.0, 0.5), [[1.5, 3.5]], [[1 / 3, 2 / 3]]),
        (TemperedShare(0.5, 0.5), [[1.5, 0.5], [0.0, 0.0]], [[0.8, 0.2], [0.5, 0.5]]),
        (TemperedMargin(0.5), [math.log(3) / 2], [[0.25, 0.75]]),
        (TemperedMargin(0.5), [[0.0, math.log(2) / 2, math.log(5) / 2]], [[0.125, 0.25, 0.625]]),
    ],
)
def test_known_values(link, F, expected):
    assert_allclose(link.probability(F), expected, rtol=1e-12)


def test_mean_needs_its_weight():
    for link in (Share(), Softmax(normalized=True), TemperedShare(1.0)):
        with pytest.raises(ValueError, match="total is missing"):
            link.probability([0.5])
    assert_array_equal(Share().probability([0.5], total=0.0), [[0.5, np.nextafter(0.5, 1.0)]])


def test_a_winner_keeps_its_bits():
    assert_array_equal(Truncated().probability([0.5, -0.25]), [[0.25, 0.75], [0.625, 0.375]])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaves_that_hold_no_shares_are_refused(n_classes):
    X = np.arange(6.0)[:, None]
    forest = committee.TreeVoter().fit(X, np.arange(6) % n_classes).committee_.voters
    weights = np.ones(1)
    Share().check_votes(forest, weights)
    leaf = np.flatnonzero(forest.feature < 0)[1]
    for wrong in (-2.0, 1.1, np.nextafter(1.0, 2.0) if n_classes == 2 else 2e-9 + forest.value[leaf, 0]):
        value = forest.value.copy()
        value[leaf, 0] = wrong
        with pytest.raises(ValueError, match=re.escape(f"A leaf holds {value[leaf].tolist()}")):
            Share().check_votes(replace(forest, value=value), weights)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("wrong", [[0.25, 0.25], [-0.5, 1.5], [1.0, 1.0], [0.5, 0.5 + 1.5e-9]])
def test_two_shares_sum_to_one_and_neither_is_negative(wrong, listed):
    """Whether leaves hold the shares of all classes or list them, zeros too."""

    def forest(second):
        dense = forest_that_votes(np.array([[[0.0, 1.0]], [second]]), 2)
        N = len(dense.feature)
        shares = ClassShares(2, 2 * np.arange(N + 1), np.tile(np.arange(2, dtype=np.uint16), N), dense.value.ravel())
        return replace(dense, value=None, shares=shares) if listed else dense

    Share().check_votes(forest([0.5, 0.5 + 5e-10]), np.ones(1))
    with pytest.raises(ValueError, match=re.escape(f"A leaf holds {wrong}")):
        Share().check_votes(forest(wrong), np.ones(1))


@pytest.mark.parametrize("wrong", [np.nextafter(1.0, 2.0), np.nextafter(-1.0, -2.0), 3.0])
def test_signed_shares_lie_within_one(wrong):
    Share().check_votes(forest_that_votes(np.array([[[1.0]], [[-1.0]], [[0.0]]]), 2), np.ones(1))
    with pytest.raises(ValueError, match=re.escape(f"A leaf holds [{wrong}]")):
        Share().check_votes(forest_that_votes(np.array([[[0.5]], [[wrong]]]), 2), np.ones(1))


def test_what_inner_nodes_hold_is_no_vote():
    forest = forest_that_votes(np.array([[[0.5, 0.5]], [[1.0, 0.0]]]), 2)
    value = np.where(forest.feature[:, None] < 0, forest.value, 7.0)
    assert (value == 7.0).any()
    Share().check_votes(replace(forest, value=value), np.ones(1))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("probit_boost", "LinearScores"),
        ("boosting_tree_majority", "PathMajority"),
        ("gradient_three", "Rounds"),
        ("quadboost_learners", "SignedVoters"),
        ("boosting_tree", "VoteGraph"),
    ],
)
def test_voters_of_scores_have_no_shares(name, kind):
    vote = committee.load(FOLDER / f"{name}.safetensors").committee_
    with pytest.raises(ValueError, match=f"^{kind} hold scores, which do not sum to one"):
        Share().check_votes(vote.voters, np.abs(vote.weights))


def test_negative_weights_are_named():
    forest = committee.TreeVoter().fit([[0.0], [1.0]], [0, 1]).committee_.voters
    for link in (Share(), Softmax(normalized=True)):
        with pytest.raises(ValueError, match=r"weights\[1\] is -0\.5"):
            link.check_votes(forest, np.array([1.0, -0.5, 2.0]))
        link.check_votes(forest, np.array([1.0, 0.0, 2.0]))


def test_refused_scores():
    with pytest.raises(ValueError, match="F has shape"):
        Softmax().probability(np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match=r"F holds -1\.0"):
        Share().probability([[-1.0, 2.0]])


def test_ties_elect_the_first():
    assert elected(np.array([0.0, -0.0, 1e-300])).tolist() == [0, 0, 1]
    assert elected(np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]])).tolist() == [0, 1]


@given(st.one_of(links, st.just(Share()), st.just(TemperedShare(0.7, 0.1)), st.just(Softmax(0.25, normalized=True))))
def test_json_round_trip(link):
    assert from_json(json.loads(json.dumps(link.to_json()))) == link


def test_every_link_is_in_the_table():
    kinds = {*Link.__subclasses__(), *Share.__subclasses__()}
    own = {link for link in kinds if link.__module__.startswith("committee.")}  # tests define others
    assert set(LINKS.values()) == own
    assert from_json({"name": "logistic"}) == Logistic()


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (None, "NoneType"),
        ([], "list"),
        ({}, "link name is None"),
        ({"name": "cauchit"}, "'cauchit'"),
        ({"name": ["share"]}, "link name is"),
        ({"name": "share", "scale": 1.0}, "has no 'scale'"),
        ({"name": "softmax", "power": 1.0}, "has no 'power'"),
        ({"name": "softmax", "scale": "1"}, "scale is '1'"),
        ({"name": "softmax", "scale": None}, "scale is None"),
        ({"name": "softmax", "normalized": 1}, "normalized is 1"),
        ({"name": "logistic", "scale": True}, "scale is True"),
        ({"name": "logistic", "scale": 0}, r"scale is 0\.0"),
        ({"name": "logistic", "scale": float("nan")}, "scale is nan"),
        ({"name": "logistic", "scale": float("inf")}, "scale is inf"),
        ({"name": "logistic", "scale": 10**400}, "scale is inf"),
        ({"name": "truncated", "floor": 0.5}, r"floor is 0\.5"),
        ({"name": "truncated", "floor": -0.01}, r"floor is -0\.01"),
        ({"name": "tempered_share"}, "temperature"),
        ({"name": "tempered_share", "temperature": 0.0}, r"temperature is 0\.0"),
        ({"name": "tempered_share", "temperature": 1.0, "prior": 0.0}, r"prior is 0\.0"),
        ({"name": "tempered_margin", "temperature": "1"}, "temperature is '1'"),
    ],
)
def test_stored_links_are_checked(stored, message):
    with pytest.raises(ValueError, match=message):
        from_json(stored)


def test_a_share_is_at_most_one_whatever_the_order_of_the_sums():
    tally = np.array([[0.1 + 0.2, 0.0], [0.0, 0.1 + 0.2]])  # three tenths, and a rounding
    assert_array_equal(Share().probability(tally, 0.3), [[1.0, 0.0], [0.0, 1.0]])
    assert_array_equal(Share().probability([1.0 + 5e-16, -1.0 - 5e-16], 1.0), [[0.0, 1.0], [1.0, 0.0]])


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


def test_evidence_of_signed_scores_is_that_of_both_classes():
    z, total = np.array([1.0, -2.0]), np.array([3.0, 4.0])
    both = np.column_stack([total - z, total + z]) / 2.0
    link = TemperedShare(1.0)
    for F in (z, z[:, None], both):
        np.testing.assert_allclose(link.evidence(F, total), np.log(both + link.prior), rtol=1e-12)


def test_evidence_of_two_scores_is_the_scores():
    F = np.array([[1.0, 3.0], [0.5, -2.0]])
    np.testing.assert_array_equal(TemperedMargin(1.0).evidence(F, 1.0), F)
