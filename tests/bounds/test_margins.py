"""Margin bounds of given rows, and the C-bound: their formulas, what never rises, and that they hold."""

from math import exp, inf, lgamma, log, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.bounds import breiman_margin, c_bound, equilibrium_margin, schapire_margin, voting_certified
from committee.bounds.voting_margins import DRAWN, THETAS
from committee.objectives.pac_bayes import kl_inverse
from tests.oracles import bounds as oracle

margins = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=30).map(np.array)
clear = st.lists(st.floats(0.2, 1.0), min_size=1, max_size=30).map(np.array)


# --- the formulas ----------------------------------------------------------------------------------------------------


def test_schapire_is_the_least_over_thetas_and_draws():
    m = np.repeat([-0.2, 0.3, 0.6, 0.9], [100, 400, 4500, 5000])
    bound = schapire_margin(m, log(50), 0.1)
    assert bound.value == pytest.approx(
        min(oracle.schapire(m, 50, 0.1, t, int(N)) for t in THETAS for N in DRAWN[DRAWN < 500])
    )
    terms = bound.terms
    assert bound.value == pytest.approx(terms["nu_theta"] + terms["tail"] + terms["complexity"])
    assert terms["nu_theta"] == np.mean(m <= terms["theta"]) and 0.1 < bound.value < 0.5


def test_breiman_as_it_is_printed_in_his_paper():
    n, size, delta, theta = 100_000, 1000, 0.05, 0.5
    R = 32 * log(2 * size) / (n * theta**2)
    bound = breiman_margin(np.r_[theta, np.ones(n - 1)], log(size), delta)
    assert bound.value == pytest.approx(R * (log(2 * n) + log(1 / R) + 1) + log(size / delta) / n)
    assert bound.value == pytest.approx(0.1736545, abs=1e-7) and not bound.remarks
    assert bound.terms["R"] == pytest.approx(R) and bound.terms["smallest_margin"] == theta


@pytest.mark.parametrize(
    ("smallest", "ln_size", "n", "remark"),
    [
        (0.0, 5.0, 100, "The smallest margin is 0: the bound is for votes that get every row right"),
        (-0.5, 5.0, 100, "The smallest margin is -0.5"),
        (0.4, log(100), 10_000, r"must exceed 4 sqrt\(2 / \|H\|\) = 0.5657"),
        (0.5, log(1000), 10, "and must be at most 2 n = 20"),
    ],
)
def test_breiman_says_which_condition_is_not_met(smallest, ln_size, n, remark):
    bound = breiman_margin(np.r_[smallest, np.ones(n - 1)], ln_size)
    assert bound.value == inf and bound.vacuous
    with pytest.raises(ValueError, match=remark):
        raise ValueError(bound.remarks[0])


@given(margins.map(lambda m: m.round(6)), st.integers(1, 3000), st.floats(log(2), 20.0), st.floats(0.01, 0.3))
def test_the_equilibrium_margin_is_the_least_over_all_shares(m, times, size, delta):
    m = np.sort(np.repeat(m, times))
    n = len(m)
    bound = equilibrium_margin(m, size, delta)
    terms, values = bound.terms, {}
    for k in np.flatnonzero(np.append(True, m[1:] != m[:-1])).tolist():
        if m[k] > 0.0:
            u = (8 * size * log(2 * n**2 / size) / m[k] ** 2 + size + log(n / delta)) / n
            values[k] = size / n + oracle.kl_above(k / n, u)
    if not values or log(2 * n**2 / size) < 0.0:
        assert bound.vacuous and (values or "No margin is above 0" in bound.remarks[0])
        return
    assert bound.value == pytest.approx(min(values.values()), abs=1e-8)
    at = round(n * terms["share_below"])
    assert values[at] == pytest.approx(bound.value, abs=1e-8) and m[at] == terms["equilibrium_margin"]
    assert bound.value <= breiman_margin(m, size, delta).value + 1e-12


def test_the_equilibrium_margin_is_told_apart_where_every_bound_rounds_to_one():
    """By arithmetic of 400 digits, as each p of kl(q, p) = u differs from 1 by less than 1e-16."""
    m, size, delta = np.repeat([0.02, 0.05, 0.2, 0.25], [5, 10, 35, 50]), log(50), 0.05
    best = {}
    with mpmath.workdps(400):
        for k, theta in ((0, 0.02), (5, 0.05), (15, 0.2), (50, 0.25)):
            u = (8 * size * log(2 * 100**2 / size) / theta**2 + size + log(100 / delta)) / 100
            q = mpmath.mpf(k) / 100

            def kl(x, q=q, u=u):  # of p = 1 - exp(-x)
                entropy = (q * mpmath.log(q) if q else 0) + (1 - q) * mpmath.log(1 - q)
                return entropy - q * mpmath.log1p(-mpmath.exp(-x)) + (1 - q) * x - u

            best[theta] = mpmath.findroot(kl, 2 * u / (1 - q) + 1)
    assert all(x > 37 for x in best.values())
    assert equilibrium_margin(m, size, delta).terms["equilibrium_margin"] == min(best, key=best.get) == 0.2


@given(margins)
def test_the_c_bound_has_a_square_and_is_never_below_the_share_of_wrong_rows(m):
    bound = c_bound(m)
    mean, second = m.mean(), (m**2).mean()
    if mean > 1e-3:
        assert bound.value == pytest.approx(1 - mean**2 / second)
        gibbs, disagreement = (1 - mean) / 2, (1 - second) / 2
        assert bound.value == pytest.approx(1 - (1 - 2 * gibbs) ** 2 / (1 - 2 * disagreement), abs=1e-6)
        assert not bound.remarks
    if mean <= 0.0:
        assert bound.value == 1.0 and "for means above 0" in bound.remarks[0]
    assert bound.value >= bound.terms["observed"] - 1e-12 and bound.terms["observed"] == np.mean(m <= 0)


def test_without_the_square_eq_6_of_martinez_and_gray_fails():
    """Two margins of 1 and one of -0.1: a third is wrong, and the bound as printed says less."""
    m = np.array([1.0, 1.0, -0.1])
    assert 1 - m.mean() / (m**2).mean() < np.mean(m <= 0) <= c_bound(m).value


# --- what never rises ------------------------------------------------------------------------------------------------


@given(clear, st.floats(4.0, 60.0), st.floats(0.001, 0.5), st.integers(1, 20), st.integers(2, 50))
def test_more_rows_of_the_same_margins_never_raise_them(m, size, delta, few, times):
    for bound in (schapire_margin, breiman_margin, equilibrium_margin):
        few_rows, many_rows = bound(np.repeat(m, few), size, delta), bound(np.repeat(m, few * times), size, delta)
        # below R = 2 e n, where Breiman's first summand turns, he says nothing
        if few_rows.value < inf and few_rows.terms.get("R", 0.0) <= 1.0:
            assert many_rows.value <= few_rows.value + 1e-12


@given(clear, st.floats(5.0, 60.0), st.floats(0.0, 10.0), st.floats(0.001, 0.25), st.floats(1.0, 3.9))
def test_a_larger_class_and_a_smaller_risk_never_lower_them(m, size, more, delta, factor):
    m = np.repeat(m, 2000)
    for bound in (schapire_margin, breiman_margin, equilibrium_margin):
        value = bound(m, size, delta).value
        if value == inf:  # Breiman's second condition, which a larger class may meet
            continue
        assert bound(m, size + more, delta).value >= value - 1e-12
        assert bound(m, size, delta * factor).value <= value + 1e-12


@given(margins, st.floats(0.0, 60.0))
def test_the_chernoff_form_of_the_same_proof_is_never_much_above_schapires(m, size):
    """Pinsker gives sqrt(c / 2); but its two tails are two terms, and thetas and draws are paid for otherwise."""
    m = np.repeat(m, 500)
    schapire, certified = schapire_margin(m, size).value, voting_certified(m, size).value
    assert min(1.0, certified) <= min(1.0, schapire) + 0.05


# --- what they bound -------------------------------------------------------------------------------------------------


def test_they_hold_for_the_vote_that_fits_best():
    """1,000 samples of known voters; of many votes of them the one of the largest margins is asked."""
    rng = np.random.default_rng(0)
    size, n, delta = 12, 400, 0.1
    accuracy = rng.uniform(0.8, 0.99, size=size)
    votes = rng.dirichlet(np.ones(size), size=20)
    new = np.where(rng.random((100_000, size)) < accuracy, 1, -1)
    true = np.mean(new @ votes.T <= 0, axis=0)
    failed = {schapire_margin: 0, breiman_margin: 0, equilibrium_margin: 0}
    for _ in range(1000):
        m = np.where(rng.random((n, size)) < accuracy, 1, -1) @ votes.T
        best = int(m.min(axis=0).argmax())
        for bound in failed:
            failed[bound] += true[best] > bound(np.clip(m[:, best], -1, 1), log(size), delta).value
    assert max(failed.values()) <= delta * 1000


def test_breimans_bound_follows_from_the_draw_of_voters():
    """(n + 1) e^(-N theta^2 / 8) + (N ln|H| + ln(N (N + 1)^2 / delta)) / n is less, at the N that his R asks for."""
    for n in (1_000, 100_000, 10_000_000):
        for size in (40, 1e3, 1e6, 1e12):
            for theta in (0.05, 0.2, 0.5, 1.0):
                R = 32 * log(2 * size) / (n * theta**2)
                if R >= 1.0:
                    continue  # above 1 his bound is vacuous
                N = int(np.ceil(8 / theta**2 * log((n + 1) / R)))
                ours = (n + 1) * exp(-N * theta**2 / 8) + (N * log(size) + log(N * (N + 1) ** 2 / 0.05)) / n
                assert ours <= R * (log(2 * n) + log(1 / R) + 1) + log(size / 0.05) / n


def test_the_equilibrium_bound_follows_from_the_draw_of_voters():
    """Of any theta_q, however small: voters drawn with repetition and without order, N and thresholds paid for."""
    for n in (8, 30, 1_000, 100_000):
        for size in (2, 3, 40, 1e6):
            ln_size, L = log(size), log(2 * n**2 / log(size))
            for theta in (0.01, 0.3, 1.0):
                N = int(np.ceil(8 * L / theta**2))
                bits = lgamma(size + N) - lgamma(N + 1) - lgamma(size) + log(N * (N + 1) ** 2)
                e = exp(-N * theta**2 / 8)
                u = (8 * ln_size * L / theta**2 + ln_size + log(n / 0.05)) / n
                for q in (0.0, 1 / n, 2 / n, 0.1, 0.5):
                    ours = e + float(kl_inverse(min(1.0, q + e), (bits + log(1 / 0.05)) / n))
                    assert min(1.0, ours) <= ln_size / n + float(kl_inverse(q, u)) + 1e-12
    for n in range(1, 8):  # with so few rows it says nothing
        assert all(equilibrium_margin(np.ones(n), ln_size, 0.99).vacuous for ln_size in np.linspace(log(2), 200, 50))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"margins": [0.5, 1.5]}, r"margins\[1\] is 1.5; it must be within -1 and 1"),
        ({"ln_size": -1.0}, "ln_size is -1.0"),
        ({"delta": 0.0}, "delta is 0.0, the probability that the bound fails; it must be between 0 and 1"),
    ],
)
def test_what_is_refused(change, message):
    arguments = {"margins": [0.5], "ln_size": 1.0, "delta": 0.05} | change
    for bound in (schapire_margin, breiman_margin, equilibrium_margin):
        with pytest.raises(ValueError, match=message):
            bound(**arguments)
    with pytest.raises(ValueError, match=r"thetas\[0\] is 0.0"):
        schapire_margin([0.5], 1.0, thetas=[0.0])
    with pytest.raises(ValueError, match=r"ln_size is 0.5; it must be within 0.693\d+ and 1e\+300"):
        equilibrium_margin([0.5], 0.5)
    with pytest.raises(ValueError, match="margins has shape"):
        c_bound([])


def test_a_size_that_overflows_is_a_logarithm():
    assert 0.0 < breiman_margin(np.ones(10**6), 5000.0).value < inf
    assert schapire_margin(np.ones(10**6), 5000.0).value < sqrt(10**6)
