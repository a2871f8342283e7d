"""Pools: the best voter for signed row weights, its votes on any rows, and the same voter in a committee."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import GaussianNB

from committee.data.bins import Binned
from committee.data.rows import Rows
from committee.data.table_schema import TableSchema
from committee.learners.boosting.dictionaries import DistinctRows, StumpPool
from committee.learners.boosting.pool import ClassifierPool, TreePool
from committee.objectives.programs.penalties import L1Penalty, L2Penalty, NoPenalty
from committee.voters.growing import GrowthLimits
from committee.voters.stump_dictionary import StumpDictionary
from tests.oracles import votes as oracle

N = 80
RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(N, 3)), 1)
X_GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
S = RNG.normal(size=N) / N


def stump_pool(X, **options):
    binned = Binned.of(X, None, TableSchema.learn(X), 255)
    dictionary = StumpDictionary.of(binned, np.ones(N))
    H = oracle.stump_votes(binned.codes, dictionary.stumps, binned.bins.n_bins, binned.bins.categorical)
    return StumpPool(binned, dictionary, 1, **options), H.astype(np.float64)


def pools():
    binned = Binned.of(X, None, TableSchema.learn(X), 255)
    return [
        stump_pool(X)[0],
        TreePool(binned, GrowthLimits(max_depth=2), 1),
        ClassifierPool(GaussianNB(), X, 0, lambda weights: weights / weights.mean()),
    ]


def test_the_largest_correlations_of_stumps_are_those_of_all_votes():
    pool, H = stump_pool(X_GAPS)
    size, found = pool.largest(S, S, 0.0, 10, set())
    assert size == pytest.approx(np.abs(S @ H).max())
    assert_allclose([one.c for one in found], np.sort(np.abs(S @ H))[::-1][:10])
    assert_allclose([S @ pool.votes(one) for one in found], [one.c for one in found])
    _, others = pool.largest(S, S, 0.0, 10, {found[0].key})
    assert [one.key for one in others[:9]] == [one.key for one in found[1:]]
    assert pool.largest(S, S, found[3].c, 10, set())[1][-1].key == found[2].key


@pytest.mark.parametrize("penalty", [NoPenalty(), L1Penalty(0.01), L2Penalty(0.5)], ids=str)
@pytest.mark.parametrize("centred", [False, True])
def test_the_best_stump_lowers_the_penalised_risk_most(penalty, centred):
    pool, H = stump_pool(X_GAPS, centred=centred)
    H -= H.mean(axis=0) if centred else 0.0
    alpha = {3: 0.1, 17: -0.2}
    weights = np.zeros(H.shape[1])
    weights[list(alpha)] = list(alpha.values())
    decreases, _ = penalty.decrease(S @ H, (H**2).mean(axis=0), weights)
    best = pool.best(S, penalty, alpha)
    assert best is not None
    assert decreases[best.key] == pytest.approx(decreases.max())
    assert best.c == pytest.approx((S @ H)[best.key])
    assert best.eta == pytest.approx((H**2).mean(axis=0)[best.key])


@pytest.mark.parametrize("pool", pools(), ids=lambda pool: type(pool).__name__)
def test_a_candidate_votes_as_it_does_in_a_committee(pool):
    _, (one, *_) = pool.largest(S, S, -np.inf, 1, set())
    votes = pool.votes(one)
    assert one.c == pytest.approx(S @ votes)
    assert_array_equal(pool.votes_on(pool.read(X), one), votes)
    assert_array_equal(2 * pool.voters([one], None, 2).votes(X)[:, 0] - 1, votes)
    scores = pool.voters([one, one], np.array([2, 0]), 3).tally(X, np.array([1.0, 0.5]))
    assert_allclose(scores, np.outer(votes, [0.5, 0.0, 1.0]))
    residual = S.copy()
    pool.subtract(residual, one, 0.25)
    assert_allclose(residual, S - 0.25 * votes)
    assert pool.exhaustive or pool.largest(-S, -S, -np.inf, 1, set())[1][0].key != one.key


@pytest.mark.parametrize("pool", pools()[1:], ids=lambda pool: type(pool).__name__)
def test_rows_of_one_class_train_nothing(pool):
    assert pool.largest(np.abs(S), np.abs(S), -np.inf, 1, set()) == (-np.inf, [])
    # but where the mean weights have both classes, a voter is trained on them
    assert len(pool.largest(np.abs(S), S, -np.inf, 1, set())[1]) == 1
    assert pool.best(np.zeros(N), NoPenalty(), {}) is None


@pytest.mark.parametrize("pool", pools(), ids=lambda pool: type(pool).__name__)
def test_a_stand_in_needs_no_candidate_before_it_and_is_the_first_that_there_was(pool):
    weights = np.full(N, 1.0 / N)
    one = pool.stand_in(weights)
    assert set(np.unique(pool.votes(one))) <= {-1, 0, 1}
    assert len(pool.voters([one], None, 2)) == 1
    assert pool.stand_in(weights).key == one.key


def test_a_stand_in_of_categories_alone_is_a_subset():
    codes = np.stack([np.ones(N), np.arange(N) % 8], axis=1)
    binned = Binned.of(codes, None, TableSchema(None, ((0, 1), tuple(range(8)))), 255)
    dictionary = StumpDictionary.of(binned, np.ones(N), subsets=True)
    assert len(dictionary) == 0
    pool = StumpPool(binned, dictionary, 1)
    stand_in = pool.votes(pool.stand_in(np.full(N, 1.0 / N)))
    assert set(stand_in) == {-1, 1}
    sums = np.array([S[codes[:, 1] == k].sum() for k in range(8)])
    largest, (best,) = pool.largest(S, S, 0.0, 10, set())
    assert largest == best.c == pytest.approx(np.abs(sums).sum())
    assert_array_equal(pool.votes(best), np.sign(sums)[codes[:, 1].astype(int)])


def test_equal_rows_of_a_class_are_one_distinct_row():
    x, labels, weights = np.array([2.0, 1.0, 2.0, 0.0, -0.0, 2.0]), [0, 1, 0, 1, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    rows = Rows(x[:, None], np.array(labels, np.uint16), np.array(weights), uniform=False)
    distinct = DistinctRows(rows.X, rows)
    found = sorted(zip(x[distinct.first], distinct.labels.tolist(), distinct.weights.tolist(), strict=True))
    assert found == [(0.0, 1, 9.0), (1.0, 1, 2.0), (2.0, 0, 4.0), (2.0, 1, 6.0)]
    assert_allclose(distinct.shared_out(distinct.weights), weights)
