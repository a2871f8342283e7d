"""Class shares of leaves by the classes present, against the same trees with dense shares."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import committee
from committee import RandomForestClassifier, SubaggingClassifier
from committee.files.documents import Tensors
from committee.vote.committee import Committee
from committee.vote.exports.score_trees import ScoreTrees
from committee.vote.links.probability import Share
from committee.voters.flat_trees import SHARE_DTYPES, ClassShares
from committee.voters.forest import Forest
from committee.voters.shared_forest import SharedForest
from committee.voters.tree_voters import compact_voters
from tests.model_files import Change, craft, put, refused, swap, tell
from tests.oracles import traverse

K = 11


@st.composite
def twins(draw: st.DrawFn) -> tuple[Forest, Forest, np.ndarray]:
    """Trees whose leaves have shares of one to K classes, dense and sparse; and rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    categories = (0, 5)
    forest = traverse.random_forest(
        rng, n_trees=draw(st.integers(1, 4)), n_splits=6, n_categories=categories, n_classes=K, n_outputs=K
    )
    counts = rng.integers(1, 4, (len(forest.feature), K)) * (rng.random((len(forest.feature), K)) < rng.random())
    counts[np.arange(len(counts)), rng.integers(0, K, len(counts))] += 1
    counts[forest.feature >= 0] = 0
    value = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    sparse = replace(forest, value=None, shares=ClassShares.of_dense(value, forest.feature < 0))
    return replace(forest, value=value), sparse, traverse.random_rows(rng, 20, categories)


def assert_alike(dense: Forest, found: Forest, X: np.ndarray) -> None:
    assert found.shares is not None
    found.check()
    assert_array_equal(found.node_votes, dense.node_votes)
    assert_array_equal(found.votes(X), dense.votes(X))
    assert_array_equal(found.spread, dense.spread)
    weights = np.linspace(0.3, 1.7, len(dense))
    assert found.tally(X, weights).tobytes() == dense.tally(X, weights).tobytes()


@given(twins(), st.data())
def test_votes_are_those_of_dense_shares(case, data):
    dense, forest, X = case
    assert_alike(dense, forest, X)
    assert forest.kind == "score"
    assert forest.n_outputs == K
    chosen = data.draw(st.lists(st.integers(0, len(dense) - 1), min_size=1, max_size=5))
    assert_alike(dense[chosen], forest[chosen], X)
    assert_alike(dense[1:], forest[1:], X)
    assert_alike(Forest.concatenate([dense, dense[:1]]), Forest.concatenate([forest, forest[:1]]), X)
    assert_alike(Forest.concatenate([dense, dense]), Forest.concatenate([forest, dense]), X)
    assert_alike(dense, pickle.loads(pickle.dumps(forest)), X)
    assert_array_equal(forest.tally(X, n_threads=3), forest.tally(X))


@given(twins())
def test_shared_and_rounded_trees_are_those_of_dense_shares(case):
    dense, forest, X = case
    for small in (SharedForest.of, SharedForest.with_record, compact_voters):
        one, other = small(dense), small(forest)
        assert_alike(one, other, X)
        tensors = Tensors({})
        stored = other.to_document(tensors)
        assert stored["vote"] == "shares"
        assert_alike(one, type(other).from_document(stored, tensors), X)
        assert not tensors.arrays


@given(twins())
def test_exports_take_dense_shares(case):
    dense, forest, _ = case
    one, other = (
        ScoreTrees.of(Committee(trees, np.ones(len(trees)), np.arange(K), Share(), None), "a test").value
        for trees in (dense, forest)
    )
    assert_array_equal(one, other)


def table(n: int = 240, n_classes: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n_classes, 3))[y] + rng.normal(size=(n, 3)), y


@pytest.mark.parametrize(
    "learner",
    [
        RandomForestClassifier(5, random_state=0),
        RandomForestClassifier(5, max_leaf_nodes=30, random_state=0),
        SubaggingClassifier(n_estimators=5, voting="soft", random_state=0),
    ],
)
def test_trees_of_many_classes_hold_the_classes_present(learner, tmp_path):
    X, y = table()
    model = learner.fit(X, y)
    forest = model.committee_.voters
    leaf = forest.feature < 0
    assert forest.shares.sizes[leaf].min() >= 1
    assert (forest.shares.sizes[leaf] <= forest.count[leaf]).all()
    assert_allclose(forest.shares.totals()[leaf], 1.0)
    dense = replace(forest, shares=None, value=forest.node_votes)
    assert model.committee_.voters.tally(X).tobytes() == dense.tally(X).tobytes()
    model.save(tmp_path / "model")
    assert committee.load(tmp_path / "model").predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


def test_a_class_of_its_own_for_each_row_takes_memory_by_rows():
    X, _ = table()
    forest = RandomForestClassifier(10, random_state=0, calibrate=None).fit(X, np.arange(len(X))).committee_.voters
    assert forest.nbytes < 75 * len(forest.feature)


def test_a_forest_of_400_classes_is_small(tmp_path):
    X, y = table(400, 400)
    model = RandomForestClassifier(random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    assert model.committee_.voters.nbytes < 5e6
    assert (tmp_path / "model").stat().st_size < 5e6


PEAK = """
import numpy as np
from benchmarks.peak_memory import peak_bytes
from committee import RandomForestClassifier, SubaggingClassifier, TreeVoter
rng = np.random.default_rng(0)
{learner}.fit(rng.normal(size=(5_000, 10)), rng.permutation(np.arange(5_000) % 500))
print(peak_bytes())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner", ["TreeVoter()", "SubaggingClassifier(n_estimators=3)", "RandomForestClassifier(n_estimators=100)"]
)
def test_fits_of_500_classes_take_less_than_a_gigabyte(learner):
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    command = [sys.executable, "-c", PEAK.format(learner=learner)]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=environment)
    assert int(done.stdout) < 1e9


@pytest.fixture(scope="module")
def small() -> Committee:
    X, y = table(60, K)
    return RandomForestClassifier(2, random_state=0, calibrate=None).fit(X, y).committee_


def test_leaves_that_hold_no_shares_are_refused(small):
    forest = small.voters
    shares = replace(forest.shares, share=forest.shares.share * 0.5)
    with pytest.raises(ValueError, match="the share link needs class shares"):
        replace(small, voters=replace(forest, shares=shares))
    with pytest.raises(ValueError, match="exactly one of label"):
        replace(forest, value=forest.node_votes)
    with pytest.raises(ValueError, match="share_label is int64"):
        ClassShares(K, forest.shares.share_offset, forest.shares.share_label.astype(np.int64), forest.shares.share)
    with pytest.raises(ValueError, match="a label is out of range"):
        forest.trees.sum_shares(
            np.zeros((1, 3)), *(getattr(forest.shares, name) for name in SHARE_DTYPES), np.ones(2), 2, 1
        )


CRAFTED: list[tuple[str, Change, str]] = [
    ("forest", put("voters.share_label", 0, K), "share_label is not between 0 and 10"),
    ("forest", put("voters.share", 0, np.nan), "share is not finite"),
    ("forest", put("voters.share", 0, 0.5), "the share link needs class shares"),
    ("forest", swap("voters.share", lambda a: a[:-1]), "share_label one per share"),
    ("forest", swap("voters.share", lambda a: a.astype(np.float32)), "share is float32"),
    ("forest", swap("voters.share_offset", lambda a: a[:-1]), "shares are for"),
    ("forest", swap("voters.share_offset", lambda a: a + 1), "share_offset starts at 1"),
    ("forest", swap("voters.share_offset", lambda a: np.minimum(a + (a > 0), a[-1])), "an inner node|ascending|sum"),
    ("forest", swap("voters.share_offset", lambda a: np.where(a == a[-1], a[-1] + 1, a)), "it must end at"),
    ("forest", tell("voters", "vote", value="value"), "'voters.value' is absent"),
    ("forest", tell("voters", "n_classes", value=K + 1), "."),
    ("shared", put("voters.share_label", 0, 255), "share_label holds 255"),
    ("shared", swap("voters.share_offset", lambda a: a[::-1].copy()), "share_offset starts at"),
    ("shared", swap("voters.share", lambda a: a.astype(np.float16)), "share is float16"),
    ("shared", swap("voters.share", lambda a: a[:, None]), "share is float.. of 2 dimensions"),
]


@pytest.mark.parametrize(("kind", "change", "message"), CRAFTED)
def test_files_made_to_deceive_are_refused(kind, change, message, small, tmp_path):
    model = small if kind == "forest" else replace(small, voters=compact_voters(small.voters))
    model.save(tmp_path / "model")
    refused(tmp_path / "model", craft((tmp_path / "model").read_bytes(), change), message)
