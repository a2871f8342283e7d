"""A dictionary of stumps: what it says of rows without casting a vote."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned, Bins
from committee.objectives.programs.penalties import PENALTIES, NoPenalty
from committee.voters.stump_dictionary import StumpDictionary
from tests.oracles import votes as oracle


def table(seed: int, n: int = 40, missing: bool = True) -> tuple[NDArray[np.float64], Binned, NDArray[np.float64]]:
    """Numbers, few distinct numbers and categories, with gaps, in bins; and row weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.integers(0, 4, n), rng.integers(0, 2, n)])
    X = X.astype(np.float64)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    w = rng.exponential(size=n)
    bins = Bins.learn(X, w, np.array([0, 0, 4, 2], np.int32), 6)
    return X, Binned(bins, bins.encode(X)), w


seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.booleans())
def test_sums_over_cells_say_what_the_votes_say(seed: int, missing: bool) -> None:
    _, binned, w = table(seed, missing=missing)
    dictionary = StumpDictionary.of(binned, w)
    H = oracle.stump_votes(binned.codes, dictionary.stumps, binned.bins.n_bins, binned.bins.categorical)
    cells = _core.Cells(binned.codes, binned.bins.n_bins, 1)
    v = np.random.default_rng(seed).normal(size=len(w))
    assert_allclose(dictionary.correlations(cells.sums(v)), H.T @ v, atol=1e-12)
    assert_allclose(dictionary.gram(cells.pairs(w)), (H.T * w) @ H, atol=1e-11)
    assert_allclose(dictionary.mean, w @ H / w.sum(), atol=1e-12)
    assert_allclose(dictionary.mean_square, w @ H**2 / w.sum(), atol=1e-12)
    alpha = np.random.default_rng(seed).normal(size=(len(dictionary), 2))
    assert_allclose(cells.scores(dictionary.cell_scores(alpha)), H @ alpha, atol=1e-11)
    assert_allclose(dictionary.cell_scores(alpha[:, 0]), dictionary.cell_scores(alpha)[:, 0], atol=1e-12)
    assert dictionary.max_correlation(cells.sums(v)) == pytest.approx(np.abs(H.T @ v).max(initial=0.0))


@given(seeds, st.sampled_from([1, 63, 64, 65, 700, 70_000]), st.sampled_from([np.uint8, np.uint16]))
def test_rows_on_which_stumps_differ_are_counted(seed: int, n: int, code: Any) -> None:
    _, binned, w = table(seed, n, missing=False)
    codes = binned.codes.astype(code)
    dictionary = StumpDictionary.of(binned, w)
    H = oracle.stump_votes(codes, dictionary.stumps, binned.bins.n_bins, binned.bins.categorical)
    expected = (n - H.T @ H) / 2.0
    for n_threads in (1, 3):
        apart = dictionary.disagreements(_core.Cells(codes, binned.bins.n_bins, n_threads))
        assert apart is not None and apart.dtype == (np.uint16 if n < 65_536 else np.uint32)
        assert_array_equal(apart, expected)


@pytest.mark.parametrize(("n", "p", "n_bins"), [(9_000, 7, 11), (700, 130, 9), (300, 3, 200)])
def test_rows_are_counted_of_many_stumps_in_many_blocks(n: int, p: int, n_bins: int) -> None:
    """Stumps of several cache lines, and columns whose stumps lie in two of them."""
    X = np.random.default_rng(n).normal(size=(n, p))
    bins = Bins.learn(X, None, np.zeros(p, np.int32), n_bins)
    dictionary = StumpDictionary.of(Binned(bins, bins.encode(X)), np.ones(n))
    codes = bins.encode(X)
    H = oracle.stump_votes(codes, dictionary.stumps, bins.n_bins, bins.categorical)
    ends, vote = dictionary._ends, dictionary.stumps.missing
    for n_threads in (1, 2):
        apart = _core.Cells(codes, bins.n_bins, n_threads).votes_apart(*ends, vote)
        assert_array_equal(apart, (n - H.T @ H) / 2.0)


@given(seeds, st.integers(1, 6), st.booleans())
def test_stumps_are_listed_column_by_column(seed: int, p: int, whole: bool) -> None:
    """Numbers and categories, whether cells are empty or values missing, and weights that are whole or not."""
    rng = np.random.default_rng(seed)
    n_categories = np.where(rng.random(p) < 0.3, rng.integers(1, 5, p), 0).astype(np.int32)
    n_edges = np.where(n_categories > 0, 0, rng.integers(0, 13, p))
    bins = Bins(
        np.concatenate([np.arange(n, dtype=np.float64) for n in n_edges]),
        np.concatenate([[0], np.cumsum(n_edges)]).astype(np.int64),
        n_categories,
    )
    size = bins.n_bins + 1
    count = rng.integers(0, 4, size.sum()).astype(np.float64)
    count[(np.cumsum(size) - 1)[rng.random(p) < 0.6]] = 0.0
    weight = count if whole else count * rng.exponential(size=len(count))
    stumps = StumpDictionary(bins, weight, count).stumps
    listed = oracle.listed_stumps(bins.n_bins, bins.categorical, weight, count)
    assert list(zip(stumps.feature.tolist(), stumps.bin.tolist(), stumps.missing.tolist(), strict=True)) == listed


def test_rows_that_differ_are_counted_of_missing_values_that_vote() -> None:
    """Stumps that put missing values on either side, or vote by them alone."""
    _, binned, w = table(3, 300)
    dictionary = StumpDictionary.of(binned, w)
    stumps = dictionary.stumps
    some = np.flatnonzero(stumps.missing)
    H = oracle.stump_votes(binned.codes, stumps, binned.bins.n_bins, binned.bins.categorical)[:, some]
    cells = _core.Cells(binned.codes, binned.bins.n_bins, 1)
    ends = [np.ascontiguousarray(cut[some]) for cut in dictionary._ends]
    assert_array_equal(cells.votes_apart(*ends, stumps.missing[some]), (300 - H.T @ H) / 2.0)
    assert dictionary.disagreements(cells) is None, "stumps that refuse rows have no count"
    with pytest.raises(ValueError, match="vote must not be 0"):
        cells.votes_apart(*dictionary._ends, stumps.missing)


@given(seeds, st.booleans(), st.sampled_from([("none", 0.0), ("l1", 0.02), ("l1", 0.5), ("l2", 0.3), ("linf", 0.2)]))
def test_the_best_stump_is_the_first_that_lowers_the_risk_most(
    seed: int, centred: bool, penalty: tuple[Any, float]
) -> None:
    """Decreases of all votes written out, with weights that some stumps have already."""
    _, binned, w = table(seed)
    w = w / w.sum()
    dictionary = StumpDictionary.of(binned, w)
    H = oracle.stump_votes(binned.codes, dictionary.stumps, binned.bins.n_bins, binned.bins.categorical)
    rng = np.random.default_rng(seed)
    s, alpha = w * rng.normal(size=len(w)), np.where(rng.random(len(dictionary)) < 0.3, 0.1, 0.0)
    mean = w @ H if centred else np.zeros(len(dictionary))
    eta = w @ H**2 - mean**2
    rule = PENALTIES.get(penalty[0], NoPenalty)(penalty[1])
    decreases, _ = rule.decrease((H - mean).T @ s, eta, alpha)
    sums = _core.Cells(binned.codes, binned.bins.n_bins, 1).sums(s)
    given_mean = mean if centred else None
    j, c = dictionary.best_listed(sums, float(s.sum()), given_mean, eta, alpha, penalty, 1e-10)
    assert decreases[j] == pytest.approx(decreases.max(), rel=1e-8, abs=1e-14)
    assert not (decreases[:j] > decreases[j] * (1.0 + 1e-9) + 1e-14).any()
    assert c == pytest.approx(float((H[:, j] - mean[j]) @ s), abs=1e-12)


def test_of_no_stumps_none_is_the_best() -> None:
    _, binned, w = table(0, 1, missing=False)
    dictionary = StumpDictionary.of(binned, w)
    sums = _core.Cells(binned.codes, binned.bins.n_bins, 1).sums(w)
    assert len(dictionary) == 0
    assert dictionary.best_listed(sums, 1.0, None, np.zeros(0), None, ("none", 0.0), 1e-10)[0] == -1


@given(seeds, st.booleans())
def test_planted_stumps_vote_as_listed(seed: int, missing: bool) -> None:
    X, binned, w = table(seed, missing=missing)
    dictionary = StumpDictionary.of(binned, w)
    H = oracle.stump_votes(binned.codes, dictionary.stumps, binned.bins.n_bins, binned.bins.categorical)
    flip = np.random.default_rng(seed).random(len(dictionary)) < 0.5
    signs = np.where(flip, -1.0, 1.0)
    labels = dictionary.to_forest(dictionary.stumps, flip=flip)
    labels.check()
    label = labels.votes(X)
    assert_array_equal(np.where(label < 0, 0, 2 * label - 1), H * signs)
    output = np.arange(len(dictionary)) % 3
    scores = dictionary.to_forest(dictionary.stumps, n_classes=3, output=output, flip=flip)
    scores.check()
    expected = np.zeros((*H.shape, 3))
    expected[:, np.arange(len(dictionary)), output] = H * signs
    assert_array_equal(scores.votes(X), expected)


@given(seeds, st.booleans())
def test_stumps_are_different_and_part_the_rows(seed: int, missing: bool) -> None:
    _, binned, w = table(seed, missing=missing)
    dictionary = StumpDictionary.of(binned, w)
    H = oracle.stump_votes(binned.codes, dictionary.stumps, binned.bins.n_bins, binned.bins.categorical)
    assert (H.min(axis=0) < H.max(axis=0)).all()
    for j in range(4):
        of_column = H[:, dictionary.stumps.feature == j]
        assert len(np.unique(of_column, axis=1).T) == of_column.shape[1]
        groups = slice(*dictionary.groups[j : j + 2])
        assert (dictionary.stumps.feature[groups] == j).all()


@given(seeds, st.sampled_from([0.0, 0.7, 2.0]))
def test_no_subset_of_categories_does_better_than_the_best(seed: int, lean: float) -> None:
    """Also where all categories lean to one side, and the subset of all of them would say nothing."""
    _, binned, w = table(seed, n=12)
    dictionary = StumpDictionary.of(binned, w, subsets=True)
    v = np.random.default_rng(seed).normal(lean, size=len(w))
    cells = _core.Cells(binned.codes, binned.bins.n_bins, 1)
    sums = cells.sums(v)
    values, subsets = dictionary.best_subset(sums)
    assert [j for j, _ in subsets] == [j for j in (2, 3) if len(np.unique(binned.codes[:, j])) > 1]
    for value, (j, votes) in zip(values, subsets, strict=True):
        code = binned.codes[:, j]
        assert votes[code] @ v == pytest.approx(value)
        present = np.unique(code)
        most = 0.0
        for bits in range(1, 2 ** len(present) - 1):
            signs = [1 if bits >> k & 1 else -1 for k in range(len(present))]
            most = max(most, float(sum(s * v[code == c].sum() for s, c in zip(signs, present, strict=True))))
        assert value == pytest.approx(most)


def test_integer_weights_are_repeated_rows() -> None:
    X, binned, _ = table(3)
    k = np.random.default_rng(0).integers(1, 4, len(X))
    repeated = Binned(binned.bins, np.repeat(binned.codes, k, axis=0))
    once = StumpDictionary.of(binned, k.astype(np.float64))
    many = StumpDictionary.of(repeated, np.ones(int(k.sum())))
    assert_array_equal(once.stumps.missing, many.stumps.missing)
    assert_array_equal(once.mean, many.mean)


def test_only_the_heaviest_categories_get_a_stump_of_their_own() -> None:
    codes = np.repeat(np.arange(5), [5, 4, 3, 2, 1]).astype(np.float64)[:, None]
    bins = Bins.learn(codes, None, np.array([5], np.int32), 255)
    binned = Binned(bins, bins.encode(codes))
    dictionary = StumpDictionary.of(binned, np.ones(15), most_categories=2)
    assert dictionary.stumps.bin.tolist() == [0, 1]


def test_even_edges_share_out_the_range() -> None:
    X = np.array([[0.0, 5.0, np.nan], [10.0, 5.0, np.nan], [1.0, 5.0, np.nan]])
    bins: Any = Bins.even(X, np.zeros(3, np.int32), 4)
    assert_allclose(bins.edges, [2.0, 4.0, 6.0, 8.0])
    assert bins.n_bins.tolist() == [5, 1, 1]
    huge = Bins.even(np.array([[-1e308], [1e308]]), np.zeros(1, np.int32), 3)
    assert np.isfinite(huge.edges).all()
