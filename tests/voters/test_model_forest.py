"""Collections of model trees: what a committee asks of its voters, answered alike in every way of asking."""

import pickle
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from committee.data.design import Design
from committee.voters.forest import Forest
from committee.voters.model_forest import BoostedCommittees, ModelForest
from committee.voters.protocol import Voters
from tests.cast_votes import forest_by_hand, stump_by_hand
from tests.oracles import traverse

Floats = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)
N_FEATURES = 3


def stump(rng: np.random.Generator, n_classes: int, split: bool) -> Forest:
    """One split at a random place, or none."""
    some = {"n_classes": n_classes, "n_features": N_FEATURES}
    if not split:
        return forest_by_hand([-1], [-1], label=np.zeros(1, dtype=np.int32), **some)
    feature, threshold = int(rng.integers(N_FEATURES)), np.array([rng.normal(), 0.0, 0.0])
    missing_left = np.array([int(rng.integers(2)), 0, 0], dtype=np.uint8)
    label = np.array([-1, 0, 1], dtype=np.int32)
    return stump_by_hand(feature, threshold=threshold, missing_left=missing_left, label=label, **some)


def random_voters(
    seed: int, n_voters: int = 5, n_classes: int = 2, per_class: bool = False, soft: bool = False, link: str = "probit"
) -> ModelForest:
    rng = np.random.default_rng(seed)
    outputs = 1 if n_classes == 2 or per_class else n_classes
    per_voter = n_classes if per_class and n_classes > 2 else 1
    design = Design(np.arange(N_FEATURES, dtype=np.int32), np.full(N_FEATURES, -1, np.int32), rng.normal(size=3))
    trees = []
    for _ in range(n_voters * per_voter):
        forest = stump(rng, n_classes, bool(rng.random() < 0.8))
        L = int((forest.feature < 0).sum())
        model = np.full(len(forest.feature), -1, dtype=np.int32)
        model[forest.feature < 0] = rng.permutation(L)
        coefficient = rng.normal(size=(L, outputs, N_FEATURES))
        trees.append(ModelForest(forest, model, rng.normal(size=(L, outputs)), coefficient, design))
    together = ModelForest.concatenate(trees)
    return replace(together, soft=soft, link=link, trees_per_voter=per_voter)  # type: ignore[arg-type]


def random_committees(
    seed: int, n_committees: int = 4, soft: bool = False, n_classes: int = 3, per_class: bool = False
) -> BoostedCommittees:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_committees)
    members = random_voters(seed, int(sizes.sum()), n_classes, per_class)
    alpha = rng.choice([0.1, 0.2, 0.3, 0.7], sizes.sum())
    return BoostedCommittees(members, alpha, np.cumsum([0, *sizes], dtype=np.int64), soft)


def rows(seed: int, n: int = 40) -> Floats:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def scores_by_hand(voters: ModelForest, X: Floats) -> Floats:
    """``(n, T, O)``; a voter of several trees has one score from each."""
    trees = len(voters.forest)
    D = np.where(np.isnan(X), voters.design.fill, X)
    F = np.zeros((len(X), trees, voters.intercept.shape[1]))
    for i, row in enumerate(X):
        for t in range(trees):
            leaf = voters.model[traverse.leaf(voters.forest, t, row)]
            F[i, t] = voters.intercept[leaf] + voters.coefficient[leaf] @ D[i]
    return F.reshape(len(X), len(voters), -1)


CONFIGURATIONS = [
    {"n_classes": 2},
    {"n_classes": 3},
    {"n_classes": 3, "per_class": True},
    {"n_classes": 2, "soft": True},
    {"n_classes": 2, "soft": True, "link": "logit"},
    {"n_classes": 4, "soft": True},
    {"n_classes": 4, "soft": True, "per_class": True, "link": "logit"},
]
COMMITTEES = [
    {"n_classes": 2},
    {"n_classes": 3},
    {"n_classes": 3, "soft": True},
    {"n_classes": 3, "per_class": True},
    {"n_classes": 4, "per_class": True, "soft": True},
]
INDICES: list[Any] = [0, -1, slice(1, 3), slice(None, None, -1), [2, 0], [3, 3, 1], np.array([1, 2]), slice(0, 0)]


def every_collection(seed: int) -> list[Any]:
    voters: list[Any] = [random_voters(seed, **options) for options in CONFIGURATIONS]  # type: ignore[arg-type]
    return voters + [random_committees(seed, **options) for options in COMMITTEES]  # type: ignore[arg-type]


@pytest.mark.parametrize("options", CONFIGURATIONS)
@given(seed=seeds)
def test_scores_and_votes_are_those_by_hand(options, seed):
    voters, X = random_voters(seed, **options), rows(seed)
    F = scores_by_hand(voters, X)
    assert_allclose(voters.scores(X), F, rtol=1e-12, atol=1e-12)
    F = voters.scores(X)
    curve = expit if options.get("link") == "logit" else ndtr
    P = curve(np.concatenate([-F, F], axis=2)) if F.shape[2] == 1 else curve(F)
    P /= P.sum(axis=2, keepdims=True)
    assert_allclose(voters.probabilities(X), P, rtol=1e-9, atol=1e-14)
    if voters.soft:
        assert_array_equal(voters.votes(X), voters.probabilities(X))
        assert voters.kind == "score"
    else:
        assert_array_equal(voters.votes(X), F[:, :, 0] > 0 if F.shape[2] == 1 else F.argmax(axis=2))
        assert voters.votes(X).dtype == np.int16 and voters.kind == "label"


@pytest.mark.parametrize("options", CONFIGURATIONS)
@pytest.mark.parametrize("scale", [1e-25, 1e-3, 1.0, 30.0, 1e4, 1e100])
def test_probabilities_elect_what_the_scores_elect(options, scale):
    """Near 0 and far out probabilities round to the same number, which must hide no winner."""
    voters, X = random_voters(1, **options), rows(2, 300)
    voters = replace(voters, intercept=voters.intercept * scale, coefficient=voters.coefficient * scale)
    P = voters.probabilities(X)
    hard = replace(voters, soft=False)
    assert_array_equal(P.argmax(axis=2), hard.votes(X))
    assert_allclose(P.sum(axis=2), 1.0, rtol=1e-12)
    assert (P >= 0.0).all()


def test_tie_goes_to_the_first_class():
    for options in CONFIGURATIONS:
        voters = random_voters(0, **options)  # type: ignore[arg-type]
        voters = replace(voters, intercept=0 * voters.intercept, coefficient=0 * voters.coefficient)
        assert_allclose(voters.probabilities(rows(0)), 1.0 / voters.n_classes)
        assert_array_equal(voters.probabilities(rows(0)).argmax(axis=2), 0)
        assert_array_equal(replace(voters, soft=False).votes(rows(0)), 0)


@pytest.mark.parametrize("options", COMMITTEES)
@given(seed=seeds)
def test_committees_vote_by_their_members(options, seed):
    voters, X = random_committees(seed, **options), rows(seed)
    members = voters.members.votes(X)
    cast = voters.votes(X)
    for i in range(len(X)):
        for m in range(len(voters)):
            mine = slice(voters.start[m], voters.start[m + 1])
            inner = np.zeros(voters.n_classes)
            for label, alpha in zip(members[i, mine], voters.alpha[mine], strict=True):
                inner[label] += alpha
            if voters.soft:
                assert_allclose(cast[i, m], inner / inner.sum(), rtol=1e-13)
            else:
                assert cast[i, m] == inner.argmax()


@settings(max_examples=12)
@given(seeds)
def test_tally_is_the_weighted_sum_of_the_votes(seed):
    rng, X = np.random.default_rng(seed), rows(seed)
    for voters in every_collection(seed):
        votes = voters.votes(X)
        each = votes if voters.kind == "score" else (votes[:, :, None] == np.arange(voters.n_classes)).astype(float)
        for weights in (None, np.ones(len(voters)), rng.exponential(size=len(voters)), rng.normal(size=len(voters))):
            w = np.ones(len(voters)) if weights is None else weights
            expected = np.einsum("ntk,t->nk", each, w)
            tally = voters.tally(X) if weights is None else voters.tally(X, weights)
            assert tally.shape == (len(X), voters.n_classes)
            # hard committees elect before they are summed, so nothing of theirs may hang on a rounding
            assert_allclose(tally, expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=12)
@given(seeds)
def test_parts_vote_as_in_the_whole(seed):
    X = rows(seed)
    for voters in every_collection(seed):
        assert isinstance(voters, Voters)
        assert voters.n_nodes.shape == voters.spread.shape == (len(voters),)
        mask = np.arange(len(voters)) % 2 == 0
        for index in [*INDICES, mask]:
            part = voters[index]
            chosen = np.atleast_1d(np.arange(len(voters))[index])
            assert type(part) is type(voters) and len(part) == len(chosen)
            assert part.kind == voters.kind and part.n_classes == voters.n_classes and part.n_features == 3
            assert_array_equal(part.n_nodes, voters.n_nodes[chosen])
            if len(chosen):
                assert_array_equal(part.votes(X), voters.votes(X)[:, chosen])
        with pytest.raises(IndexError):
            voters[len(voters)]


@settings(max_examples=12)
@given(seeds)
def test_concatenation_puts_the_voters_side_by_side(seed):
    X = rows(seed)
    for options in CONFIGURATIONS:
        one, other = (random_voters(seed + k, 3 + k, **options) for k in (0, 1))  # type: ignore[arg-type]
        other = replace(other, design=one.design)
        both = ModelForest.concatenate([one, other, one[1]])
        assert len(both) == 8
        assert_array_equal(both.votes(X), np.concatenate([v.votes(X) for v in (one, other, one[1])], axis=1))
        assert both.nbytes >= one.nbytes + other.nbytes
        assert_array_equal(both[3:7].votes(X), other.votes(X))


def test_repeated_voters_share_their_models():
    voters = random_voters(0)
    twice = voters[[0, 0]]
    assert len(twice.intercept) == len(voters[0].intercept)
    assert_array_equal(*np.split(twice.votes(rows(0)), 2, axis=1))


def test_copies_threads_and_no_rows():
    X = rows(0, 3000)
    for voters in every_collection(0):
        votes, tally = voters.votes(X), voters.tally(X)
        for twin, n_threads in ((pickle.loads(pickle.dumps(voters)), 1), (voters, 2), (voters, 5)):
            assert_array_equal(twin.votes(X, n_threads), votes)
            assert_array_equal(twin.tally(X, None, n_threads), tally)
        assert voters.votes(X[:0]).shape[:2] == (0, len(voters))
        assert voters.tally(X[:0]).shape == (0, voters.n_classes)
        members = voters.members if isinstance(voters, BoostedCommittees) else voters
        assert voters.n_nodes.sum() == len(members.forest.feature)
        assert voters.nbytes > members.coefficient.nbytes
