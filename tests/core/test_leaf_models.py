"""Walking model trees: scores, votes and committees against walks by hand, and arrays that must be refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from committee import _core
from committee.voters.forest import Forest
from tests.core.cases import check_threads, each, refusals
from tests.oracles import traverse


@dataclass(frozen=True)
class Models:
    """Random trees with a random linear model in every leaf."""

    forest: Forest
    model: NDArray[np.int32]
    intercept: NDArray[np.float64]
    coefficient: NDArray[np.float64]

    @property
    def native(self) -> _core.LeafModelTrees:
        return _core.LeafModelTrees(*self.forest.walk_arrays, self.model, self.intercept, self.coefficient)

    def scores(self, X: NDArray[np.float64], D: NDArray[np.float64]) -> NDArray[np.float64]:
        """Row by row, tree by tree."""
        T, (_, n_outputs) = len(self.forest), self.intercept.shape
        F = np.zeros((len(X), T, n_outputs))
        for i, row in enumerate(X):
            for t in range(T):
                model = self.model[traverse.leaf(self.forest, t, row)]
                for k in range(n_outputs):
                    F[i, t, k] = self.intercept[model, k] + sum(self.coefficient[model, k] * D[i])
        return F


CATEGORIES = (0, 5, 0, 40)
"""Categories of the columns; 0 for numbers."""


def random_models(
    seed: int, n_trees: int = 4, n_features: int = 3, n_splits: int = 5, n_outputs: int = 1, q: int = 5
) -> Models:
    rng = np.random.default_rng(seed)
    forest = traverse.random_forest(
        rng,
        n_trees=n_trees,
        n_splits=n_splits,
        n_categories=CATEGORIES[:n_features],
        n_classes=max(2, n_outputs),
    )
    is_leaf = forest.feature < 0
    n_models = int(is_leaf.sum())
    model = np.full(len(is_leaf), -1, dtype=np.int32)
    model[is_leaf] = rng.permutation(n_models)
    return Models(forest, model, rng.normal(size=(n_models, n_outputs)), rng.normal(size=(n_models, n_outputs, q)))


def random_rows(seed: int, models: Models, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows of the forest, and what leaf models see."""
    rng = np.random.default_rng(seed)
    X = traverse.random_rows(rng, n, CATEGORIES[: models.forest.n_features])
    return X, rng.normal(size=(n, models.coefficient.shape[2]))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Models, NDArray[np.float64], NDArray[np.float64]]:
    seed = draw(st.integers(0, 2**32 - 1))
    models = random_models(
        seed,
        n_trees=draw(st.integers(1, 6)),
        n_features=draw(st.integers(1, 4)),
        n_splits=draw(st.sampled_from([0, 1, 5, 12])),
        n_outputs=draw(st.sampled_from([1, 1, 2, 3, 9])),
        q=draw(st.integers(1, 17)),
    )
    return models, *random_rows(seed, models, draw(st.sampled_from([0, 1, 7, 8, 9, 70])))


@given(cases())
def test_scores_are_those_of_a_walk_by_hand(case):
    models, X, D = case
    F = models.native.scores(X, D, 1)
    assert F.shape == (len(X), len(models.forest), models.intercept.shape[1])
    assert_allclose(F, models.scores(X, D), rtol=1e-12, atol=1e-12)


@given(cases())
def test_votes_are_elected_by_the_scores(case):
    models, X, D = case
    F = models.native.scores(X, D, 1)
    elected = F[:, :, 0] > 0 if F.shape[2] == 1 else F.argmax(axis=2)
    votes = models.native.votes(X, D, 1)
    assert votes.dtype == np.int16
    assert_array_equal(votes, elected)


@pytest.mark.parametrize("hard", [False, True])
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_committees_are_counted_one_after_the_other(hard, case, seed):
    models, X, D = case
    rng = np.random.default_rng(seed)
    T, K = len(models.forest), models.forest.n_classes + int(rng.integers(0, 2))
    start = np.unique([0, T, *rng.integers(0, T + 1, 3)])
    # few different weights, so that committees tie; powers of two, so that their sums are exact
    weights = rng.choice([0.5, 1.0, 2.0], T)
    tally = models.native.tally_committees(X, D, weights, start, K, hard, 1)
    votes = models.native.votes(X, D, 1)
    expected = np.zeros((len(X), K))
    for i in range(len(X)):
        for a, b in pairwise(start):
            inner = np.bincount(votes[i, a:b], weights=weights[a:b], minlength=K)
            expected[i] += np.eye(K)[inner.argmax()] if hard else inner / inner.sum()
    assert_allclose(tally, expected, rtol=1e-13)
    if hard:
        assert_array_equal(tally, expected)


def test_ties_go_to_the_first_class():
    models = random_models(0, n_trees=2, n_splits=0, q=1)
    zero = replace(models, intercept=np.zeros((2, 1)), coefficient=np.zeros((2, 1, 1)))
    X, D = np.zeros((1, 3)), np.zeros((1, 1))
    assert_array_equal(zero.native.votes(X, D, 1), 0)
    opposed = replace(zero, intercept=np.array([[1.0], [-1.0]]))
    assert sorted(opposed.native.votes(X, D, 1)[0].tolist()) == [0, 1]
    assert_array_equal(opposed.native.tally_committees(X, D, np.ones(2), np.array([0, 2]), 2, True, 1), [[1.0, 0.0]])
    several = random_models(0, n_trees=1, n_splits=0, n_outputs=3, q=1)
    several = replace(several, intercept=np.array([[0.0, 2.0, 2.0]]), coefficient=np.zeros((1, 3, 1)))
    assert several.native.votes(X, D, 1).tolist() == [[1]]


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_threads_and_blocks_change_no_bit(n_outputs):
    models = random_models(1, n_trees=30, n_features=4, n_splits=20, n_outputs=n_outputs, q=11)
    X, D = random_rows(2, models, 5000)
    trees, weights, start = models.native, np.random.default_rng(0).exponential(size=30), np.array([0, 7, 8, 30])
    K = max(2, n_outputs)

    def everything(n):
        tallies = [trees.tally_committees(X, D, weights, start, K, hard, n) for hard in (False, True)]
        return trees.scores(X, D, n), trees.votes(X, D, n), *tallies

    check_threads(everything)
    for some in (slice(0, 1), slice(513, 1100), slice(4999, 5000)):
        assert_array_equal(trees.scores(X[some].copy(), D[some].copy(), 1), trees.scores(X, D, 1)[some])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": lambda m: m.model[:-1].copy()}, "model needs one number per node"),
        ({"model": lambda m: np.full_like(m.model, -1)}, "a leaf has no model"),
        ({"model": lambda m: np.full_like(m.model, len(m.intercept))}, "a leaf has no model"),
        ({"model": lambda m: np.full_like(m.model, np.iinfo(np.int32).min)}, "a leaf has no model"),
        ({"intercept": lambda m: m.intercept[:-1].copy()}, "same models and outputs"),
        ({"intercept": lambda m: np.hstack([m.intercept, m.intercept])}, "same models and outputs"),
        ({"coefficient": lambda m: m.coefficient[1:].copy()}, "same models and outputs"),
        (
            {"intercept": lambda m: np.empty((len(m.intercept), 0)), "coefficient": lambda m: m.coefficient[:, :0]},
            "a model needs 1 to 32767 outputs",
        ),
    ],
)
def test_malformed_models_are_refused(changed, message):
    models = random_models(5)
    malformed = replace(models, **{name: np.ascontiguousarray(make(models)) for name, make in changed.items()})
    with pytest.raises(ValueError, match=message):
        _ = malformed.native


def test_malformed_trees_are_refused():
    models = random_models(5, n_trees=3)
    f = models.forest
    arrays: dict[str, Any] = {
        name: getattr(f, name)
        for name in ("offset", "feature", "threshold", "left", "missing_left", "category_offset", "category_bits")
    }
    split = int(np.flatnonzero(f.feature >= 0)[0])
    wrong: list[dict[str, Any]] = [
        {"offset": f.offset[:-1].copy()},
        {"offset": f.offset + 1},
        {"feature": np.where(np.arange(len(f.feature)) == split, 3, f.feature).astype(np.int32)},
        {"left": np.where(f.left >= 0, 0, f.left).astype(np.int32)},
        {"left": np.where(f.left >= 0, 10_000, f.left).astype(np.int32)},
        {"threshold": np.full_like(f.threshold, np.nan)},
        {"missing_left": f.missing_left[:-1].copy()},
        {"category_offset": f.category_offset + 1},
    ]
    for change in wrong:
        with pytest.raises(ValueError):
            _core.LeafModelTrees(
                f.n_features,
                **(arrays | change),
                model=models.model,
                intercept=models.intercept,
                coefficient=models.coefficient,
            )


@pytest.mark.parametrize("method", ["scores", "votes", "tally_committees"])
def test_rows_of_another_shape_are_refused(method):
    models = random_models(0)
    X, D = random_rows(0, models, 6)
    extra = (np.ones(4), np.array([0, 4]), 2, True) if method == "tally_committees" else ()
    call = getattr(models.native, method)
    call(X, D, *extra, 1)
    for wrong_X, wrong_D, message in (
        (X[:, :2].copy(), D, "X has another number of columns"),
        (X, np.hstack([D, D]), "D has another number of columns"),
        (X, D[:5].copy(), "same rows"),
    ):
        with pytest.raises(ValueError, match=message):
            call(wrong_X, wrong_D, *extra, 1)
    with pytest.raises(TypeError):
        call(np.zeros(X.shape, np.float32), D, *extra, 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    refusals(
        {
            "one number per tree": each(weights=[np.ones(3)]),
            "positive and finite": each(weights=[np.array([1.0, 1.0, w, 1.0]) for w in (0.0, -1.0, np.nan, np.inf)]),
            "start must run": each(start=map(np.array, ([0, 3], [1, 4], [0]))),
            "a committee has no trees": each(start=map(np.array, ([0, 2, 2, 4], [0, 9, 4]))),
            "n_classes must be 2": each(n_classes=[1, -5]),
            "number of outputs": each(n_classes=[2]),
        }
    ),
)
def test_malformed_committees_are_refused(changed, message):
    models = random_models(0, n_outputs=3)
    X, D = random_rows(0, models, 6)
    given: dict[str, Any] = {"weights": np.ones(4), "start": np.array([0, 4]), "n_classes": 3} | changed
    with pytest.raises(ValueError, match=message):
        models.native.tally_committees(X, D, **given, hard=True, n_threads=1)


@given(st.integers(0, 10_000), st.sampled_from([np.uint16, np.uint32]), st.integers(1, 10))
@settings(max_examples=30, deadline=None)
def test_sums_are_those_of_loops(seed, code, n_scores):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 9, random.integers(1, 11))
    start = np.concatenate([[0], np.cumsum(sizes)])
    n = int(random.integers(1, 40))
    codes = np.stack([random.integers(0, size, n) for size in sizes]).astype(code)
    places = _core.LeafPlaces(codes, start)
    value, rows = random.normal(size=(start[-1], n_scores)), random.normal(size=(n, n_scores))
    scores, sums = np.zeros((n, n_scores)), np.zeros((start[-1], n_scores))
    for t in range(len(sizes)):
        for i in range(n):
            scores[i] += value[start[t] + codes[t, i]]
            sums[start[t] + codes[t, i]] += rows[i]
    assert_array_equal(places.scores(value, 1), scores)  # in the order of trees
    assert_array_equal(places.sums(rows, 1), sums)  # in the order of rows


def test_the_same_bits_for_any_number_of_threads():
    random = np.random.default_rng(0)
    codes = random.integers(0, 50, (40, 50_000)).astype(np.uint16)
    places = _core.LeafPlaces(codes, np.arange(41) * 50)
    of_leaves, of_rows = random.normal(size=(2000, 3)), random.normal(size=(50_000, 3))
    check_threads(lambda t: [places.scores(of_leaves, t), places.sums(of_rows, t)])


@pytest.mark.parametrize(
    ("codes", "start", "error", "words"),
    [
        (np.zeros((2, 3), np.uint16), [0, 1], ValueError, "one more number than there are trees"),
        (np.zeros((2, 3), np.uint16), [1, 2, 3], ValueError, "from 0 on"),
        (np.zeros((2, 3), np.uint16), [0, 2, 2], ValueError, "must rise"),
        (np.full((1, 3), 2, np.uint16), [0, 2], ValueError, "no leaf of its tree"),
        (np.zeros((0, 3), np.uint16), [0], ValueError, "at least one tree"),
        (np.zeros((1, 3), np.uint8), [0, 2], TypeError, "uint16 or uint32"),
    ],
)
def test_refused(codes, start, error, words):
    with pytest.raises(error, match=words):
        _core.LeafPlaces(codes, np.array(start, dtype=np.int64))


def test_values_of_another_size_are_refused():
    places = _core.LeafPlaces(np.zeros((1, 3), np.uint16), np.array([0, 2]))
    with pytest.raises(ValueError, match="one row per leaf"):
        places.scores(np.zeros((3, 1)), 1)
    with pytest.raises(ValueError, match="one row per row"):
        places.sums(np.zeros((2, 1)), 1)
