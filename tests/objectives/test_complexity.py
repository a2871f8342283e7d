"""Rademacher complexity from random signs: what it estimates, how surely, and which voters it has looked at."""

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee import _core
from committee.data.bins import Binned, Bins
from committee.objectives.complexity import rademacher, rademacher_of_stumps, theory_alpha
from committee.voters.stump_dictionary import StumpDictionary
from tests.oracles import bounds as oracle

seeds = st.integers(0, 10_000)


def votes(seed, n, N, kinds=(-1, 0, 1)):
    return np.random.default_rng(seed).choice(kinds, size=(n, N))


@given(seeds, st.integers(1, 9), st.integers(1, 6), st.booleans())
def test_random_signs_come_to_what_all_signs_give(seed, n, N, weighted):
    H = votes(seed, n, N)
    w = np.random.default_rng(seed).integers(0, 4, size=n) + (np.arange(n) == 0) if weighted else None
    exact = oracle.complexity(H, w)
    found = rademacher(H, sample_weight=w, draws=1000, delta=1e-9, random_state=seed)
    assert abs(found.estimate - exact) <= 6.0 * found.standard_error + 1e-12
    assert exact <= found.upper <= 1.0


def test_the_limit_is_mcdiarmids():
    H, w = votes(0, 50, 4), np.arange(1.0, 51.0)
    found = rademacher(H, draws=40, delta=0.01, random_state=0)
    assert found.upper - found.estimate == pytest.approx(sqrt(2 * log(100) / (50 * 40)))
    weighted = rademacher(H, sample_weight=w, draws=40, delta=0.01, random_state=0)
    assert weighted.upper - weighted.estimate == pytest.approx(sqrt(2 * np.sum((w / w.sum()) ** 2) * log(100) / 40))
    assert found.draws == 40 and found.n_rows == 50 and found.delta == 0.01


@pytest.mark.parametrize("N", [1, 5])
def test_the_limit_fails_no_more_often_than_it_says(N):
    """One voter and one draw of two is the worst there is; many repeats, on signs that never come twice."""
    H, delta = votes(0, 8, N, (-1, 1)), 0.3
    exact = oracle.complexity(H)
    found = [rademacher(H, draws=2, delta=delta, random_state=seed) for seed in range(1000)]
    failed = np.mean([exact > one.upper for one in found])
    assert failed <= delta
    estimates = np.array([one.estimate for one in found])
    assert abs(estimates.mean() - exact) < 5 * estimates.std() / sqrt(1000)
    # it is not idle either: without the term about half of the estimates are too low
    assert 0.3 < np.mean(exact > estimates) < 0.7


def test_one_sign_moves_the_best_vote_by_no_more_than_twice_its_weight():
    rng = np.random.default_rng(0)
    H, w = votes(1, 12, 7), rng.dirichlet(np.ones(12))
    for _ in range(200):
        sigma = rng.choice([-1.0, 1.0], size=12)
        i = rng.integers(12)
        turned = np.where(np.arange(12) == i, -sigma, sigma)
        change = np.abs((sigma * w) @ H).max() - np.abs((turned * w) @ H).max()
        assert abs(change) <= 2 * w[i] + 1e-12


@given(seeds)
def test_more_voters_never_lower_it_and_opposites_change_nothing(seed):
    H = votes(seed, 30, 6)
    few = rademacher(H[:, :3], draws=20, random_state=seed)
    all_ = rademacher(H, draws=20, random_state=seed)
    assert all_.estimate >= few.estimate
    both = rademacher(np.hstack([H, -H]), draws=20, random_state=seed)
    assert both.estimate == pytest.approx(all_.estimate, abs=1e-12)
    ones = rademacher(np.hstack([H, np.ones((30, 1))]), draws=20, random_state=seed)
    with_constant = rademacher(H, draws=20, constant=True, random_state=seed)
    assert with_constant.estimate == pytest.approx(ones.estimate, abs=1e-12)


def test_the_same_seed_gives_the_same_number_and_draws_follow_the_rows():
    H = votes(0, 40, 3)
    assert rademacher(H, random_state=1) == rademacher(H, random_state=1)
    assert rademacher(H, random_state=1).estimate != rademacher(H, random_state=2).estimate
    assert [rademacher(np.ones((n, 1)), random_state=0).draws for n in (500, 20_000, 100_000)] == [1000, 100, 32]


def table(seed, n=40):
    """A column of many values, one of few with gaps, and one of categories with gaps."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 4, size=n), rng.integers(0, 4, size=n)]).astype(float)
    X[rng.random(n) < 0.2, 1] = np.nan
    X[rng.random(n) < 0.2, 2] = np.nan
    bins = Bins.learn(X, None, np.array([0, 0, 4], dtype=np.int32), 255)
    return X, Binned(bins, bins.encode(X))


@given(seeds)
def test_stumps_are_searched_as_if_all_votes_were_there(seed):
    _, binned = table(seed)
    dictionary = StumpDictionary.of(binned, np.ones(40))
    cells = _core.Cells(binned.codes, binned.bins.n_bins, 1)
    H = dictionary.votes(binned.codes, range(len(dictionary)))
    w = np.random.default_rng(seed).random(40)
    for weights, constant in product((None, w), (False, True)):
        given_ = {"sample_weight": weights, "constant": constant, "draws": 10, "random_state": seed}
        found = rademacher_of_stumps(dictionary, cells, 40, **given_)
        assert found.estimate == pytest.approx(rademacher(H, **given_).estimate, abs=1e-12)


@given(seeds)
def test_every_subset_of_the_categories_is_searched(seed):
    X, binned = table(seed)
    dictionary = StumpDictionary.of(binned, np.ones(40), subsets=True)
    cells = _core.Cells(binned.codes, binned.bins.n_bins, 1)
    listed = dictionary.votes(binned.codes, range(len(dictionary)))
    category = np.where(np.isnan(X[:, 2]), 4, X[:, 2]).astype(int)
    subsets = np.array(list(product((-1, 1), repeat=5)))[:, category].T
    given_ = {"constant": True, "draws": 10, "random_state": seed}
    found = rademacher_of_stumps(dictionary, cells, 40, **given_)
    assert found.estimate == pytest.approx(rademacher(np.hstack([listed, subsets]), **given_).estimate, abs=1e-12)


def test_the_penalty_that_theory_asks_for():
    R, T = 0.05, 100
    assert theory_alpha("l1", R, T) == pytest.approx(4 * R)
    assert theory_alpha("l2", R, T) == pytest.approx(8 * sqrt(T) * R)
    assert theory_alpha("linf", R, T) == pytest.approx(8 * T * R)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"votes": [[2.0]]}, r"votes\[0, 0\] is 2.0; it must be between -1 and 1"),
        ({"votes": [[np.nan]]}, r"votes\[0, 0\] is nan"),
        ({"votes": np.empty((0, 3))}, r"votes has shape \(0, 3\)"),
        ({"draws": 1}, "draws is 1; it must be a whole number of at least 2"),
        ({"draws": np.nan}, "draws is nan; it must be a whole number"),
        ({"delta": 1.0}, "delta is 1.0"),
        (
            {"sample_weight": [1.0, 2.0]},
            r"sample_weight has shape \(2,\); it must be one number for each of the 1 rows",
        ),
        ({"sample_weight": [-1.0]}, "sample_weight must be finite numbers of at least 0"),
        ({"sample_weight": [0.0]}, "sample_weight must be finite"),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        rademacher(**({"votes": [[1.0]]} | change))


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        (("l3", 0.1), r"penalty is 'l3'; it must be one of l1, l2, linf\."),
        (("kl", 0.1), "The risk bound gives no strength for this penalty"),
        (("l1", -0.1), "complexity is -0.1"),
        (("l2", 0.1, 0), "n_voters is 0"),
    ],
)
def test_penalties_that_are_refused(given_, message):
    with pytest.raises(ValueError, match=message):
        theory_alpha(*given_)
