"""The voting bound: its formulas, what never rises, and that what it bounds is below it."""

from math import comb, exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from committee.bounds import ln_tree_class, voting, voting_certified, voting_margins
from committee.bounds.base_class import splits_of_bins, splits_of_rows
from committee.bounds.voting_margins import DRAWN, THETAS
from committee.data.bins import Bins
from committee.objectives.pac_bayes import kl_inverse

margins = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=30).map(np.array)
sizes = st.floats(0.0, 60.0)
etas = st.floats(0.001, 0.5)
repeats = st.integers(3, 10_000)


# --- the formulas ----------------------------------------------------------------------------------------------------


def test_the_lecture_notes_formula():
    m = np.array([-0.5, 0.1, 0.2, 0.4] * 50)
    best = min(
        np.mean(m <= theta) + 2.0 * sqrt(log(30) * log(200) / (200 * theta**2) + log(100 / 0.1) / 200)
        for theta in THETAS
    )
    bound = voting(m, log(30), 0.1, constant=2.0)
    assert bound.value == pytest.approx(best)
    terms = bound.terms
    assert bound.value == pytest.approx(terms["nu_theta"] + 2.0 * sqrt(terms["complexity"] + terms["confidence"]))
    assert "not a certificate" in bound.remarks[0] and bound.vacuous


def kl(q, p):
    return (q * log(q / p) if q else 0.0) + ((1 - q) * log((1 - q) / (1 - p)) if q < 1 else 0.0)


def naive(m, size, eta, K, r, theta, N):
    """One theta and one N of the certified bound, with the number of multisets as it is."""
    left = len(m) - r * N
    if left < 1:
        return inf
    tail = exp(-N * theta**2 / 8)
    q = min(1.0, len(m) / left * (np.mean(m <= theta) + (K - 1) * tail))
    c = (log(comb(size + N - 1, N)) + log(len(THETAS) * len(DRAWN) / eta)) / left
    p = 1.0 if q == 1.0 else brentq(lambda p: kl(q, p) - c, q, 1 - 1e-16) if kl(q, 1 - 1e-16) > c else 1.0
    return tail + p


@pytest.mark.parametrize(("K", "r"), [(2, 0), (3, 0), (2, 2)])
def test_the_certified_formula(K, r):
    m = np.repeat([-0.2, 0.3, 0.6, 0.9], [100, 400, 4500, 5000])
    bound = voting_certified(m, log(50), 0.1, n_classes=K, rows_per_voter=r)
    best = min(naive(m, 50, 0.1, K, r, t, int(N)) for t in THETAS for N in DRAWN[DRAWN < 3000])
    assert bound.value == pytest.approx(best, abs=1e-6)
    assert 0.01 < bound.value < 0.5 and not bound.vacuous and not bound.remarks


@given(st.floats(0.0, 1.0), st.floats(0.0, 5.0))
def test_the_inverse_of_kl(q, c):
    p = float(kl_inverse(q, c))
    assert q <= p <= 1.0
    if q < p < 1.0 - 1e-9:
        assert kl(q, p) == pytest.approx(c, rel=1e-6, abs=1e-9)


def test_the_inverse_of_kl_at_its_ends():
    assert float(kl_inverse(0.0, 0.0)) == pytest.approx(0.0, abs=1e-15)
    assert float(kl_inverse(1.0, 0.5)) == 1.0
    assert np.isnan(kl_inverse(np.nan, 0.5))


def test_drawn_voters_are_as_far_from_the_committee_as_hoeffding_says():
    rng = np.random.default_rng(0)
    weights, votes = rng.dirichlet(np.ones(30)), rng.choice([-1, 0, 1], size=30)
    margin = float(weights @ votes)
    for N, theta in ((20, 0.5), (80, 0.4)):
        means = rng.choice(votes, p=weights, size=(20_000, N)).mean(axis=1)
        for distance in (means - margin, margin - means):
            assert np.mean(distance >= theta / 2) <= exp(-N * theta**2 / 8)


def test_rows_to_be_useful():
    for bound in (voting, voting_certified):
        rows = bound(np.full(500, 0.2), log(100)).terms["rows_to_be_useful"]
        assert bound(np.full(int(rows * 1.01), 0.2), log(100)).value <= 0.5
        assert bound(np.full(int(rows * 0.97), 0.2), log(100)).value > 0.5
        assert bound(np.full(500, -0.2), log(100)).terms["rows_to_be_useful"] == inf


# --- what never rises ------------------------------------------------------------------------------------------------


@given(margins, sizes, etas, repeats, st.integers(2, 100))
def test_more_rows_of_the_same_margins_never_raise_it(m, size, eta, few, times):
    m = np.repeat(m, 3) if len(m) < 3 else m  # ln n / n falls from 3 on
    n = few % 20 + 1
    for bound in (voting, voting_certified):
        assert bound(np.repeat(m, n * times), size, eta).value <= bound(np.repeat(m, n), size, eta).value + 1e-12
    small = voting_certified(np.repeat(m, n), size, eta, rows_per_voter=2).value
    assert voting_certified(np.repeat(m, n * times), size, eta, rows_per_voter=2).value <= small + 1e-12


@given(margins, sizes, st.floats(0.0, 10.0), etas, st.floats(1.0, 1.9))
def test_a_larger_class_and_a_smaller_risk_never_lower_it(m, size, more, eta, factor):
    m = np.repeat(m, 200)
    for bound in (voting, voting_certified):
        value = bound(m, size, eta).value
        assert bound(m, size + more, eta).value >= value - 1e-12
        assert bound(m, size, eta * factor).value <= value + 1e-12


@given(margins, sizes, etas, repeats)
def test_it_is_never_below_the_share_of_small_margins(m, size, eta, times):
    m = np.repeat(m, times % 300 + 1)
    for bound in (voting(m, size, eta), voting_certified(m, size, eta)):
        assert bound.value >= bound.terms["nu_theta"] >= np.mean(m <= 0.0)
        assert bound.terms["nu_theta"] == np.mean(m <= bound.terms["theta"])


@given(margins, sizes)
def test_classes_and_rows_read_off_never_lower_the_certificate(m, size):
    m = np.repeat(m, 300)
    value = voting_certified(m, size).value
    assert voting_certified(m, size, n_classes=4).value >= value - 1e-12
    assert voting_certified(m, size, rows_per_voter=2).value >= value - 1e-12


# --- what it bounds --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_certificate_holds_for_the_committee_that_fits_best(monkeypatch):
    """1,000 samples; of many committees of a fixed class, the one with the best margins is asked."""
    # how many rows would be enough is nearly all of the work, and not asked here
    monkeypatch.setattr(voting_margins, "rows_needed", lambda *_: inf)
    rng = np.random.default_rng(0)
    size, n, held = 12, 2000, []
    accuracy = rng.uniform(0.7, 0.95, size=size)
    flip = 0.02  # a row that all voters get wrong

    def draw(rows):
        right = np.where(rng.random((rows, size)) < accuracy, 1, -1)
        return right * np.where(rng.random((rows, 1)) < flip, -1, 1)

    committees = rng.dirichlet(np.ones(size), size=20)
    true = np.mean(draw(50_000) @ committees.T <= 0.0, axis=0)
    for _ in range(1000):
        margins = draw(n) @ committees.T
        best = int(np.quantile(margins, 0.05, axis=0).argmax())
        bound = voting_certified(np.clip(margins[:, best], -1.0, 1.0), log(size), eta=0.1, thetas=THETAS[9::10])
        assert not bound.vacuous
        held.append(true[best] <= bound.value)
    assert np.mean(held) >= 0.9


# --- how many voters there were --------------------------------------------------------------------------------------


def test_stumps_are_counted_one_by_one():
    x = np.arange(5.0)
    for outputs in ((-1, 1), (-1, 0, 1)):
        seen = {
            tuple(np.where(x <= t, a, b)) for t in np.arange(4) + 0.5 for a in outputs for b in outputs
        }  # fmt: skip
        assert exp(ln_tree_class(4, 2, len(outputs))) == pytest.approx(len(seen))
    assert exp(ln_tree_class(4, 1, 3)) == pytest.approx(3) and exp(ln_tree_class(0, 8, 2)) == pytest.approx(2)
    # three leaves on one column: at most three runs of labels
    runs = {tuple(np.where(x <= s, a, np.where(x <= t, b, c))) for s in x for t in x for a in (0, 1) for b in (0, 1)
            for c in (0, 1)}  # fmt: skip
    assert exp(ln_tree_class(4, 3, 2)) == pytest.approx(2 * 4**2 * 2**3) and len(runs) <= 256
    with pytest.raises(ValueError, match="n_outputs is 1; it must be a whole number of at least 2"):
        ln_tree_class(4, 2, 1)


def test_splits_of_a_binned_table():
    X = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [2.0, np.nan, 2.0], [3.0, 2.0, 2.0]])
    categories = np.array([0, 0, 3], dtype=np.int32)
    bins = Bins.learn(X, None, categories, 255)
    assert splits_of_bins(bins, np.isnan(X).any(axis=0)) == 3 + (1 * 2 + 1) + 3
    assert splits_of_rows(4, categories) == 2 * (2 * 6 + 1) + 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"margins": [0.5, 1.5]}, r"margins\[1\] is 1.5; it must be within -1 and 1"),
        ({"margins": []}, "margins has shape"),
        ({"ln_size": -1.0}, "ln_size is -1.0"),
        ({"eta": 0.0}, "eta is 0.0, the probability that the bound fails; it must be between 0 and 1"),
        ({"thetas": [0.0]}, r"thetas\[0\] is 0.0"),
    ],
)
def test_what_is_refused(change, message):
    arguments = {"margins": [0.5], "ln_size": 1.0, "eta": 0.05} | change
    for bound in (voting, voting_certified):
        with pytest.raises(ValueError, match=message):
            bound(**arguments)
    with pytest.raises(ValueError, match="rows_per_voter is -1"):
        voting_certified([0.5], 1.0, rows_per_voter=-1)
