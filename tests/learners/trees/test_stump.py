"""The abstaining stump against every stump and every vote of its sides, tried one by one."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from committee import AbstainingStump
from committee.learners.trees.stump import abstention_z
from tests.oracles import adaboost as oracle

seeds = st.integers(0, 2**32 - 1)


def table(rng: np.random.Generator, n: int = 60, n_classes: int = 2):
    X = rng.normal(size=(n, 3))
    y = np.where(np.abs(X[:, 0]) > 1, X[:, 0] > 0, rng.integers(0, n_classes, n)).astype(int)
    y[:n_classes] = np.arange(n_classes)
    return X, y, rng.exponential(size=n)


@given(seeds, st.integers(8, 60))
def test_two_classes_have_the_least_z_of_all(seed, n):
    X, y, w = table(np.random.default_rng(seed), n)
    stump = AbstainingStump().fit(X, y, w)
    try:
        best = next(oracle.abstaining(X, y, w, 1.0, 1))
    except oracle.TieError:
        assume(False)
    assert stump.committee_.voters.feature[0] == best.feature
    assert_allclose(stump.committee_.voters.threshold[0], best.threshold)
    for rows in (X, np.random.default_rng(0).normal(size=(40, 3))):
        assert_array_equal(stump.vote(rows), best.say(rows)[:, 0])


@given(seeds, st.integers(3, 5))
def test_many_classes_have_the_least_z_of_all(seed, n_classes):
    """Each side votes for any class or refuses; Z is minimised over alpha by search."""
    X, y, w = table(np.random.default_rng(seed), 30, n_classes)
    w = w / w.sum()
    stump = AbstainingStump().fit(X, y, w)
    vote = stump.vote(X)
    P, N = w[vote == y].sum(), w[(vote >= 0) & (vote != y)].sum()
    ours = abstention_z(P, N, n_classes)
    shares = []
    for _, _, left in oracle.stumps(X):
        W = [oracle.class_weights(side, y, w, n_classes) for side in (left, ~left)]
        for a in range(-1, n_classes):
            for b in range(-1, n_classes):
                voted = [(side, k) for side, k in zip(W, (a, b), strict=True) if k >= 0]
                right = sum(side[k] for side, k in voted)
                shares.append((right, sum(side.sum() for side, _ in voted) - right))
    assert ours <= min(abstention_z(p, n, n_classes) for p, n in shares) + 1e-9


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_z_is_the_least_over_alpha(n_classes):
    rng = np.random.default_rng(n_classes)
    for _ in range(50):
        right, wrong, refused = rng.dirichlet([1, 1, 1])

        def loss(alpha: float, right: float = right, wrong: float = wrong, refused: float = refused) -> float:
            return refused + right * np.exp(-alpha) + wrong * np.exp(alpha / (n_classes - 1))

        least = minimize_scalar(loss, bounds=(0, 50), method="bounded", options={"xatol": 1e-10}).fun
        assert abstention_z(right, wrong, n_classes) == pytest.approx(least, abs=1e-7)
    if n_classes == 2:
        assert abstention_z(0.5, 0.2, 2) == pytest.approx(1 - (np.sqrt(0.5) - np.sqrt(0.2)) ** 2)
    assert abstention_z(0.0, 0.5, n_classes) == 1.0


def test_silent_where_it_knows_nothing():
    """One side is pure, the other a mixture."""
    x = np.arange(100.0)
    y = np.where(x < 60, np.arange(100) % 2, 1)
    stump = AbstainingStump().fit(x[:, None], y)
    assert_array_equal(stump.vote(x[:, None]), x >= 59)  # the last of the mixture is a 1
    refused = stump.vote(x[:, None]) == 0
    assert_array_equal(stump.predict(x[:, None])[refused], 0)
    assert_allclose(stump.predict_proba(x[:, None])[refused], 0.5)
    assert_array_equal(stump.predict_proba(x[:, None])[~refused], [[0.0, 1.0]] * (~refused).sum())
    assert stump.committee_.n_voters == 1


def test_votes_of_many_classes_are_their_numbers():
    x = np.arange(90.0)
    y = np.array(["a", "b", "c"])[np.where(x < 30, 2, np.arange(90) % 2)]
    stump = AbstainingStump().fit(x[:, None], y)
    assert set(stump.vote(x[:, None]).tolist()) == {-1, 2}
    assert set(stump.predict(x[:30, None])) == {"c"}
    assert_allclose(stump.predict_proba(x[30:, None]), 1 / 3)


def test_categories_and_missing_values():
    letters = np.array(list("abcd") * 25)
    y = np.where(np.isin(letters, ["b", "d"]), 1, np.arange(100) // 4 % 2)
    stump = AbstainingStump().fit(pl.DataFrame({"letter": letters}), y)
    assert stump.vote(pl.DataFrame({"letter": ["a", "b", "c", "d"]})).tolist() == [0, 1, 0, 1]
    gone = np.arange(100) % 4 == 0
    X = np.where(gone, np.nan, np.random.default_rng(0).normal(size=100))[:, None]
    y = np.where(gone, 1, np.arange(100) // 2 % 2)
    assert AbstainingStump().fit(X, y).vote([[np.nan], [0.0]]).tolist() == [1, 0]


def test_limits_of_a_side():
    X, y, w = table(np.random.default_rng(0), 200)
    for fewest in (1, 60, 100):
        assert AbstainingStump(min_samples_leaf=fewest).fit(X, y).committee_.voters.count.min() >= fewest
    voters = AbstainingStump(min_weight_leaf=0.3).fit(X, y, w).committee_.voters
    assert voters.weight.min() >= 0.3 * w.sum() * (1 - 1e-9)


@pytest.mark.parametrize("y", [[0, 1] * 10, [0, 1, 1, 1] * 5, [0, 1, 2, 1] * 5])
def test_nothing_to_split(y):
    """The heaviest class, the first on a tie."""
    stump = AbstainingStump().fit(np.ones((20, 1)), y)
    assert stump.committee_.n_nodes == 1
    assert_array_equal(stump.predict(np.ones((3, 1))), np.bincount(y).argmax())
