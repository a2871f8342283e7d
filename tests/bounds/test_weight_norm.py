"""The bounds by complexity: Lemma 1, deviations, the losses' constants, and Theorem 1 where risks are known."""

from __future__ import annotations

from itertools import product
from math import inf, log, log2, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.bounds import (
    Surrogate,
    ensemble_complexity,
    ensemble_margin,
    ensemble_norm,
    expected_complexity,
    massart,
)
from committee.bounds.rademacher import RADII_PER_DOUBLING, SCALES, SURROGATES
from committee.objectives.complexity import Complexity, rademacher
from committee.objectives.losses import Exponential, Logistic, Probit, Squared, SquaredHinge
from tests.oracles import bounds as oracle

seeds = st.integers(0, 10_000)
norms = st.sampled_from([1.0, 1.5, 2.0, 3.0, inf])
scores = st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=30).map(np.array)
weights = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=20).map(np.array)
complexities = st.floats(0.0, 1.0)
losses = st.sampled_from(list(SURROGATES))
forms = st.sampled_from(["empirical", "expected"])


def votes(seed, n, N, kinds=(-1.0, 0.0, 1.0)):
    return np.random.default_rng(seed).choice(kinds, size=(n, N))


@given(seeds, st.integers(1, 7), st.integers(1, 4), st.integers(1, 4), norms)
def test_lemma_1_over_every_sign_and_every_choice_of_voters(seed, n, N, T, p):
    H = np.random.default_rng(seed).normal(size=(n, N))  # any real voters
    exact = oracle.complexity_of_votes(H, T, p)
    assert ensemble_complexity(oracle.complexity(H), T, p) == pytest.approx(exact)


@given(seeds, st.integers(1, 6), norms)
def test_no_weights_of_norm_one_do_better_than_lemma_1(seed, T, p):
    rng = np.random.default_rng(seed)
    H, sigma = votes(seed, 20, 6), rng.choice([-1.0, 1.0], size=20)
    correlations = sigma @ H[:, rng.integers(0, 6, size=T)] / 20
    alpha = rng.normal(size=(100, T))
    alpha /= np.linalg.norm(alpha, p, axis=1)[:, None]
    most = ensemble_complexity(np.abs(sigma @ H / 20).max(), T, p)
    assert (alpha @ correlations).max() <= most + 1e-12
    assert (np.abs(alpha).sum(axis=1) <= ensemble_complexity(1.0, T, p) + 1e-12).all()


@given(seeds, st.integers(1, 9), st.integers(1, 30))
def test_massart_is_above_what_all_signs_give(seed, n, N):
    assert oracle.complexity(votes(seed, n, N)) <= massart(log(2 * N), n) + 1e-12


@given(seeds, st.integers(2, 8), st.integers(1, 5))
def test_rows_add_to_the_complexity_by_little_and_together_by_no_more_than_it(seed, n, N):
    """What makes n R_S self-bounding."""
    H = votes(seed, n, N)
    whole = n * oracle.complexity(H)
    without = [(n - 1) * oracle.complexity(np.delete(H, i, axis=0)) for i in range(n)]
    added = whole - np.array(without)
    assert (added >= -1e-12).all() and (added <= 1.0 + 1e-12).all()
    assert added.sum() <= whole + 1e-9


@given(seeds, st.integers(1, 8), st.integers(1, 6))
def test_a_row_replaced_moves_a_class_within_0_and_1_by_half_of_1_over_n(seed, n, N):
    """Why the empirical form needs twice the deviation, and not three times."""
    rng = np.random.default_rng(seed)
    G = rng.random((n, N)) if seed % 2 else rng.integers(0, 2, size=(n, N)).astype(float)
    other = G.copy()
    other[rng.integers(n)] = rng.integers(0, 2, size=N)
    change = oracle.complexity_of_functions(G) - oracle.complexity_of_functions(other)
    assert abs(change) <= 1.0 / (2.0 * n) + 1e-12


@pytest.mark.parametrize("rare", [0.05, 0.5])
def test_the_expected_complexity_is_below_its_limit_as_often_as_promised(rare):
    """All votes on three points of which a few rows see the first two: the sample's complexity varies."""
    rng, n, delta = np.random.default_rng(0), 10, 0.2
    H = np.array(list(product((-1.0, 0.0, 1.0), repeat=2))).T
    points = rng.choice(3, size=(3000, n), p=[rare / 2, rare / 2, 1.0 - rare])
    known: dict[tuple[int, ...], float] = {}
    found = []
    for sample in np.sort(points, axis=1):
        key = tuple(np.bincount(sample, minlength=3).tolist())
        if key not in known:
            known[key] = oracle.complexity(np.vstack([H, np.zeros(H.shape[1])])[sample])
        found.append(known[key])
    expected = float(np.mean(found))
    failed = np.mean([expected > expected_complexity(one, n, delta) for one in found])
    assert failed <= delta


@given(complexities, st.integers(1, 10_000), st.floats(0.001, 0.5))
def test_the_expected_complexity_solves_both_inequalities(R, n, delta):
    limit = expected_complexity(R, n, delta)
    by_differences = R + sqrt(log(1 / delta) / (2 * n))
    # the larger root of x - R = sqrt(2 x ln(1 / delta) / n)
    by_itself = max(np.roots([1.0, -2.0 * R - 2.0 * log(1 / delta) / n, R * R]).real)
    assert limit == pytest.approx(min(by_differences, by_itself), rel=1e-6)


@pytest.mark.parametrize("loss", SURROGATES.values(), ids=SURROGATES)
def test_a_clipped_loss_is_as_steep_as_its_constant_and_no_steeper(loss):
    x = np.linspace(-6.0, 6.0, 120_001)
    slopes = np.abs(np.diff(np.minimum(loss.value(x), 1.0))) / np.diff(x)
    assert loss.lipschitz * 0.999 < slopes.max() <= loss.lipschitz * (1 + 1e-9)


@given(st.floats(-1e6, 1e6), losses)
def test_a_loss_is_never_below_the_error(x, name):
    value = float(SURROGATES[name].value(np.array([x]))[0])
    assert value >= (1.0 - 1e-12 if x <= 0.0 else 0.0)


@given(scores)
def test_losses_are_those_of_the_library(x):
    of_class_1 = np.ones(len(x), dtype=np.int64)
    for name, loss, unit in (
        ("squared_error", Squared(), 0.5),
        ("squared_hinge", SquaredHinge(), 1.0),
        ("exponential", Exponential(), 1.0),
        ("log_loss", Logistic(), log(2)),
        ("probit", Probit(), log(2)),
    ):
        np.testing.assert_allclose(SURROGATES[name].value(x), loss.value(of_class_1, x) / unit, rtol=1e-12)
    np.testing.assert_allclose(SURROGATES["hinge"].value(x) ** 2, SURROGATES["squared_hinge"].value(x))


def test_theorem_1_as_it_is_written():
    yF, alpha, R, n, delta = np.array([1.0, 0.5, -0.5, 2.0] * 25), np.array([1.0, -2.0, 0.5]), 0.1, 100, 0.1
    loss = np.mean((1 - yF) ** 2)
    for p, norm, factor in ((1, 3.5, 1.0), (2, sqrt(5.25), sqrt(3)), (inf, 2.0, 3.0)):
        expected = ensemble_norm(yF, alpha, R, delta, p=p, form="expected")
        confidence = sqrt(log(pi**2 * 16 / (6 * delta)) / (2 * n))
        last = sqrt(log(log2(2 * norm)) / n)
        assert expected.value == pytest.approx(loss + 4 * 2 * factor * norm * R + confidence + last)
        empirical = ensemble_norm(yF, alpha, R, delta, p=p)
        confidence = 3 * sqrt(log(pi**2 * 16 / (6 * delta / 2)) / (2 * n))
        assert empirical.value == pytest.approx(loss + 4 * 2 * factor * norm * R + confidence + 3 * last)
        assert empirical.terms["norm"] == pytest.approx(norm) and empirical.vacuous
    clipped = ensemble_norm(yF, alpha, R, delta, clipped=True)
    assert clipped.terms["loss"] == pytest.approx(np.mean(np.minimum((1 - yF) ** 2, 1)))


def test_weights_of_small_norm_count_as_of_norm_one():
    yF, alpha, R = np.full(50, 0.5), np.full(10, 0.3), 0.1  # L1 norm 3, L2 norm 0.95
    one, two = ensemble_norm(yF, alpha, R, p=1), ensemble_norm(yF, alpha, R, p=2)
    assert two.terms["complexity"] == pytest.approx(one.terms["complexity"])  # equal weights: Hoelder is an equality
    assert two.terms["norm_confidence"] == pytest.approx(one.terms["norm_confidence"])
    tiny = ensemble_norm(yF, alpha / 100, R)
    assert tiny.terms["complexity"] == pytest.approx(4 * 2 * 1.0 * R) and tiny.terms["norm_confidence"] == 0.0


def test_the_margin_form_as_it_is_written():
    m, R, n, delta = np.array([0.1, 0.3, -0.2, 0.6] * 25), 0.02, 100, 0.1
    for form, k in (("expected", 1), ("empirical", 2)):
        values = []
        for j in SCALES.tolist():
            r = 2.0 ** (j / 8)
            ramp = np.mean(np.clip(1 - r * m, 0, 1))
            risk = delta * 2 / (3 * (abs(j) + 1) * (abs(j) + 2))
            values.append(ramp + 2 * r * R + k * sqrt(log(1 / risk) / (2 * n)))
        bound = ensemble_margin(m, R, delta, form=form)
        assert bound.value == pytest.approx(min(values))
        assert bound.value == pytest.approx(sum(bound.terms[t] for t in ("loss", "complexity", "confidence")))


def test_the_shares_of_the_risk_add_up_to_no_more_than_one():
    k = np.arange(1.0, 200_000)
    tail = 1 / k[-1]
    over_norms = np.sum(1 / k**2) + tail
    # every number of voters and every norm; and, for norms below one, those of two or more voters once more
    share = 6 / pi**2 * (np.sum(1 / (k + 1) ** 2) + tail + 1 / 9) * over_norms
    assert share == pytest.approx(pi**2 / 6 - 1 + 1 / 9, abs=1e-4) and share < 1.0
    j = np.abs(np.arange(-200_000.0, 200_001.0))
    assert np.sum(2 / (3 * (j + 1) * (j + 2))) == pytest.approx(1.0, abs=1e-4)
    assert RADII_PER_DOUBLING == 8


def test_rows_to_be_useful():
    for bound in (ensemble_norm(np.full(400, 0.8), [0.5, 0.5], 0.1), ensemble_margin(np.full(400, 0.4), 0.1)):
        rows = bound.terms["rows_to_be_useful"]
        more = round(rows)
        R = 0.1 * sqrt(400 / more)
        if "n_voters" in bound.terms:
            value = ensemble_norm(np.full(more, 0.8), [0.5, 0.5], R).value
        else:
            value = ensemble_margin(np.full(more, 0.4), R).value
        assert value == pytest.approx(0.5, abs=2e-3)
    assert ensemble_norm(np.full(400, 0.1), [0.1], 0.1).terms["rows_to_be_useful"] == inf
    assert ensemble_margin(np.full(400, -0.1), 0.1).terms["rows_to_be_useful"] == inf


def test_an_estimated_complexity_counts_with_its_limit_and_its_risk():
    found = Complexity(estimate=0.1, standard_error=0.01, upper=0.13, delta=0.01, draws=30, n_rows=50)
    for bound, plain in (
        (ensemble_norm(np.ones(50), [1.0], found, 0.04), ensemble_norm(np.ones(50), [1.0], 0.13, 0.04)),
        (ensemble_margin(np.ones(50), found, 0.04), ensemble_margin(np.ones(50), 0.13, 0.04)),
    ):
        assert bound.value == plain.value
        assert "with probability 0.95" in bound.statement and "30 draws of random signs" in bound.remarks[0]


@given(scores, weights, complexities, st.floats(0.0, 0.5), norms, losses, forms)
def test_complexity_confidence_and_norm_never_lower_it(yF, alpha, R, more, p, loss, form):
    given_ = {"loss": loss, "form": form}
    value = ensemble_norm(yF, alpha, R, 0.1, p=p, **given_).value
    assert ensemble_norm(yF, alpha, R + more, 0.1, p=p, **given_).value >= value
    assert ensemble_norm(yF, alpha, R, 0.05, p=p, **given_).value >= value
    if p == 1.0 or np.linalg.norm(alpha, p) >= 1.0:  # below one another norm is counted
        assert ensemble_norm(yF, np.append(alpha, more), R, 0.1, p=p, **given_).value >= value - 1e-9
    clipped = ensemble_norm(yF, alpha, R, 0.1, p=p, clipped=True, **given_).value
    assert clipped <= value and clipped >= np.mean(yF <= 0.0)
    m = yF / 5.0
    value = ensemble_margin(m, R, 0.1, **given_).value
    assert ensemble_margin(m, R + more, 0.1, **given_).value >= value
    assert ensemble_margin(m, R, 0.05, **given_).value >= value
    assert value >= np.mean(m <= 0.0)


@given(scores, weights, complexities, forms)
def test_the_margin_form_is_never_above_theorem_1_by_more_than_its_price_of_scales(yF, alpha, R, form):
    """Same loss, whose mean at the next radius is asked; the margins may be scaled, so only the price remains."""
    total = np.abs(alpha).sum()
    if not 0.5 <= total <= 1000.0:
        return
    yF = np.clip(yF, -total, total)
    r = int(np.ceil(8 * log2(total)))
    stretched = yF / total * 2.0 ** (r / 8)
    theorem = ensemble_norm(stretched, [2.0 ** (r / 8)], R, form=form, loss="hinge", clipped=True)
    k = 2.0 if form == "empirical" else 1.0
    price = k * sqrt(log(1.5 * (abs(r) + 1) * (abs(r) + 2) / 0.05) / (2 * len(yF)))
    margin = ensemble_margin(yF / total, R, form=form)
    assert margin.value <= theorem.terms["loss"] + theorem.terms["complexity"] / 2 + price + 1e-9


class KnownRisk:
    """Sixteen points, 40 random voters and noisy labels: every risk is a sum over the points."""

    def __init__(self, seed, noise):
        rng = np.random.default_rng(seed)
        self.H = rng.choice([-1.0, 1.0], size=(16, 40))
        self.truth = np.sign(self.H[:, :3].sum(axis=1))
        self.noise, self.rng = noise, rng

    def draw(self, n):
        x = self.rng.integers(16, size=n)
        return x, self.truth[x] * np.where(self.rng.random(n) < self.noise, -1.0, 1.0)

    def risk(self, alpha):
        right = self.truth * (self.H @ alpha) > 0.0
        wrong = self.truth * (self.H @ alpha) < 0.0
        # a vote of zero is counted as wrong, whatever the label
        return float(np.mean(np.where(right, self.noise, np.where(wrong, 1.0 - self.noise, 1.0))))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("p", [1.0, 2.0, inf])
def test_theorem_1_holds_for_the_committee_that_it_flatters_most(p):
    known, n, delta = KnownRisk(0, 0.02), 6000, 0.1
    held = said = 0
    for draw in range(40):
        x, y = known.draw(n)
        R = rademacher(known.H[x], draws=32, delta=0.01, random_state=draw)
        tried = known.rng.dirichlet(np.ones(3), size=20) * known.rng.choice([0.7, 1.0, 1.5], size=(20, 1))
        for_all = True
        for alpha in tried:
            whole = np.append(alpha, np.zeros(37))
            yF = y * (known.H[x] @ whole)
            bounds = [
                ensemble_norm(yF, alpha, R, delta, p=p, loss="squared_error"),
                ensemble_norm(yF, alpha, R, delta, p=p, loss="hinge", clipped=True),
                ensemble_margin(np.clip(yF / alpha.sum(), -1.0, 1.0), R, delta),
            ]
            for_all &= all(known.risk(whole) <= bound.value for bound in bounds)
            said += not bounds[1].vacuous and not bounds[2].vacuous
        held += for_all
    assert held / 40 >= 1.0 - delta - 0.01
    assert said > 100  # it was put to the test


@pytest.mark.parametrize("N", [1, 4, 40])
def test_the_deviations_hold_for_any_class_within_0_and_1(N):
    """sup_g (expectation - mean) beyond 2 R_S, against twice the root; and beyond 2 R_n, against once."""
    rng, n, points, delta = np.random.default_rng(N), 8, 6, 0.3
    G = rng.integers(0, 2, size=(points, N)).astype(float)
    samples = rng.integers(points, size=(3000, n))
    gap = np.array([(G.mean(axis=0) - G[s].mean(axis=0)).max() for s in samples])
    R = np.array([oracle.complexity_of_functions(G[s]) for s in samples[:300]])
    root = sqrt(log(1 / delta) / (2 * n))
    assert np.mean(gap[:300] > 2 * R + 2 * root) <= delta
    assert np.mean(gap > 2 * R.mean() + root) <= delta


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 0.0}, "delta is 0.0"),
        ({"complexity": -1.0}, "complexity is -1.0"),
        ({"loss": "absolute_error"}, "loss is 'absolute_error'; it must be one of squared_error, squared_hinge, hinge"),
        ({"form": "both"}, "form is 'both'; it must be 'empirical' or 'expected'"),
        ({"p": 0.5}, "p is 0.5; it must be a number between 1 and inf"),
        ({"weights": []}, "weights has shape"),
        ({"signed_scores": [np.nan]}, r"signed_scores\[0\] is nan"),
    ],
)
def test_what_is_refused(change, message):
    arguments = {"signed_scores": [0.5], "weights": [1.0], "complexity": 0.1} | change
    with pytest.raises(ValueError, match=message):
        ensemble_norm(**arguments)


def test_a_loss_of_ones_own_and_bad_margins():
    ramp = Surrogate("ramp", lambda x: np.clip(1.0 - 2.0 * x, 0.0, 1.0), 2.0)
    assert ensemble_norm([1.0] * 10, [1.0], 0.1, loss=ramp).terms["loss"] == 0.0
    with pytest.raises(ValueError, match=r"margins\[0\] is 2.0"):
        ensemble_margin([2.0], 0.1)
    for function, arguments in ((massart, (-1.0, 5)), (massart, (1.0, 0)), (expected_complexity, (0.1, 0))):
        with pytest.raises(ValueError, match="must be"):
            function(*arguments)
    with pytest.raises(ValueError, match=r"p is 0\.9"):
        ensemble_complexity(0.1, 3, 0.9)
