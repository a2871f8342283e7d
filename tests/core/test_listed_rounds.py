"""Rounds of AdaBoost over listed voters, against the same rounds written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import _core


def written_out(votes, signs, weights, T):
    """The voter or complement of least weighted error, its weight, the rows' new weights; alpha after each round."""
    margins, alpha, found = np.zeros(len(signs)), np.zeros(votes.shape[1]), []
    wrong = votes != signs[:, None]
    for _ in range(T):
        D = weights * np.exp(margins.min() - margins)
        errors = D @ wrong / D.sum()
        least = np.minimum(errors, 1.0 - errors)
        j = int(np.argmax(least <= least.min() + 1e-12))
        if least[j] >= 0.5 - 1e-12:
            break
        perfect = least[j] <= 1e-12
        error = 0.5 / len(signs) if perfect else least[j]
        step = np.copysign(0.5 * np.log((1.0 - error) / error), 0.5 - errors[j])
        alpha[j] += step
        margins += signs * votes[:, j] * step
        found.append(alpha.copy())
        if perfect:
            break
    return found


def drawn(n, N, seed, noise=0.3):
    random = np.random.default_rng(seed)
    signs = random.choice(np.array([-1, 1], np.int8), n)
    votes = np.where(random.random((n, N)) < noise, -signs[:, None], signs[:, None]).astype(np.int8)
    return votes, signs, random.choice([0.0, 0.5, 1.0, 3.0], n) + (np.arange(n) == 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([0.0, 0.2, 0.5, 0.9]))
def test_as_written_out(n, N, seed, noise):
    votes, signs, weights = drawn(n, N, seed, noise)
    expected = written_out(votes, signs, weights, 30)
    alpha, n_rounds = _core.listed_rounds(votes, signs, weights, np.arange(1, 31))
    assert n_rounds == len(expected) and alpha.shape == (30, N)
    expected += [expected[-1] if expected else np.zeros(N)] * (30 - n_rounds)
    np.testing.assert_allclose(alpha, expected, rtol=1e-9, atol=1e-9)


def test_long_runs_of_voters_that_part_the_classes():
    """Margins of a hundred thousand rounds are far apart: weights of most rows are 0, none is infinite."""
    votes, signs, _ = drawn(101, 15, 3, noise=0.1)
    (alpha,), n_rounds = _core.listed_rounds(votes, signs, np.ones(101), np.array([100_000]))
    margins = signs * (votes @ alpha) / np.abs(alpha).sum()
    assert n_rounds == 100_000 and np.isfinite(alpha).all() and margins.min() > 0.0
    # AdaBoost's margin is at least half of the largest one (Raetsch and Warmuth 2005)
    from scipy.optimize import linprog

    cost = np.append(np.zeros(30), -1.0)
    rows = np.hstack([-signs[:, None] * np.hstack([votes, -votes]), np.ones((101, 1))])
    best = linprog(cost, rows, np.zeros(101), [[*np.ones(30), 0.0]], [1.0], [(0, None)] * 30 + [(None, None)])
    assert -best.fun >= margins.min() >= -0.5 * best.fun - 1e-3


def test_rows_without_weight_are_absent_and_weights_are_repetitions():
    votes, signs, _ = drawn(30, 6, 5)
    times = np.array([0, 1, 2])[np.arange(30) % 3]
    T = np.array([5, 20])
    one, _ = _core.listed_rounds(votes, signs, times.astype(float), T)
    other, _ = _core.listed_rounds(np.repeat(votes, times, axis=0), np.repeat(signs, times), np.ones(times.sum()), T)
    np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signs": np.array([1, 0], np.int8)}, "signs and votes must be -1 or"),
        ({"votes": np.array([[1], [2]], np.int8)}, "signs and votes must be -1 or"),
        ({"signs": np.array([1], np.int8)}, "each row needs a sign and a weight"),
        ({"weights": np.array([1.0, -1.0])}, "must not be negative"),
        ({"weights": np.array([1.0, np.nan])}, "must not be negative"),
        ({"weights": np.array([1.0, np.inf])}, "finite, positive sum"),
        ({"weights": np.zeros(2)}, "finite, positive sum"),
        ({"rounds": np.array([0])}, "must be positive and ascend"),
        ({"rounds": np.array([2, 2])}, "must be positive and ascend"),
    ],
)
def test_refused(change, message):
    given = {
        "votes": np.array([[1], [-1]], np.int8),
        "signs": np.array([1, 1], np.int8),
        "weights": np.ones(2),
        "rounds": np.array([1, 2]),
    }
    with pytest.raises(ValueError, match=message):
        _core.listed_rounds(**(given | change))
