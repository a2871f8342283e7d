"""Trees that share their equal parts: the same votes for every row, and files that are refused or load."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import committee
from committee import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
)
from committee.files.documents import Tensors, to_single
from committee.learners.reweighting.leaf_cuts import TreeNodes
from committee.vote.committee import Committee
from committee.vote.explain.contributions import probability_contributions
from committee.vote.explain.tree_contributions import tree_contributions
from committee.vote.members import MemberCommittees
from committee.voters.flat_trees import DTYPES
from committee.voters.forest import Forest
from committee.voters.redundant_splits import MergedLeaves, categories_opposite_missing
from committee.voters.shared_forest import SharedForest
from committee.voters.tree_voters import TOLERANCE, compact_voters
from tests.cast_votes import stump_by_hand
from tests.model_files import Change, craft, forget, put, refused, swap, tell
from tests.oracles import traverse

GOLDEN = Path(__file__).parent.parent / "golden"


@st.composite
def coarse_forests(draw: st.DrawFn) -> tuple[Forest, np.ndarray]:
    """Trees whose thresholds and votes are few, so that splits are decided and sub-trees equal; rows on thresholds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    categories = tuple(draw(st.lists(st.sampled_from([0, 0, 2, 5, 33]), min_size=1, max_size=3)))
    forest = traverse.random_forest(
        rng,
        n_trees=draw(st.integers(1, 5)),
        n_splits=draw(st.integers(0, 15)),
        n_categories=categories,
        n_classes=3,
        n_outputs=draw(st.sampled_from([None, 3])),
    )
    value = None if forest.value is None else np.round(forest.value)
    return replace(forest, value=value), traverse.random_rows(rng, 60, categories)


@given(coarse_forests())
def test_votes_stay_bit_for_bit(case):
    forest, X = case
    shared = SharedForest.of(forest)
    shared.check()
    assert len(shared.feature) <= len(forest.feature)
    assert len(shared) == len(forest)
    assert_array_equal(shared.votes(X), forest.votes(X))
    assert shared.tally(X).tobytes() == forest.tally(X).tobytes()
    again = SharedForest.of(shared)
    for name in ("offset", "feature", "threshold", "left", "missing_left", "category_offset", "category_bits"):
        assert_array_equal(getattr(again, name), getattr(shared, name))
    graph = shared.graph
    both = np.stack([graph.split, graph.left, graph.right])
    assert np.unique(both, axis=1).shape == both.shape
    assert (graph.left != graph.right).all()


@given(st.integers(0, 2**32 - 1))
def test_every_split_that_is_left_parts_rows(seed):
    rng = np.random.default_rng(seed)
    shared = SharedForest.of(traverse.random_forest(rng, n_splits=12, n_categories=(0, 0)))
    values = np.append(np.arange(-4, 5) / 2, np.nan)
    X = np.column_stack([column.ravel() for column in np.meshgrid(values, values)])
    reached = [set(column.tolist()) for column in shared.apply(X).T]
    whole = zip(shared.offset, shared.offset[1:], strict=False)
    assert reached == [set(np.flatnonzero(shared.left[first:end] < 0).tolist()) for first, end in whole]


RECORD = ("gain", "weight", "count")


@given(coarse_forests(), st.sampled_from(["sums", "whole", "any"]))
def test_trees_with_their_record_are_the_same_node_by_node(case, numbers):
    forest, X = case
    rng = np.random.default_rng(len(forest.feature))
    n, leaf = len(forest.feature), forest.left < 0
    gain = np.where(leaf, 0.0, rng.integers(0, 3, n) + (0.0 if numbers == "sums" else rng.random(n)))
    weight, count = rng.integers(0, 300, n).astype(float), rng.integers(0, 300, n)
    if numbers == "any":
        weight += rng.random(n)
    elif numbers == "sums":
        nodes = TreeNodes.of(forest)
        weight, count = (nodes.upwards(np.where(leaf, each, 0)) for each in (weight, count))
    count[0] += 1  # whatever is drawn, there is a record
    unused = {"threshold": leaf | (np.diff(forest.category_offset) > 0), "value": ~leaf}
    blank = {k: None if getattr(forest, k) is None else np.array(getattr(forest, k)) for k in unused}
    for name, where in unused.items():
        if blank[name] is not None:
            blank[name][where] = 0.0
    forest = replace(forest, gain=gain, weight=weight, count=count, **blank)
    kept = SharedForest.with_record(forest)
    kept.check()
    assert kept.n_nodes.tolist() == forest.n_nodes.tolist()
    assert kept.tally(X).tobytes() == forest.tally(X).tobytes()
    place, before = kept.apply(X) + kept.offset[:-1], forest.apply(X) + forest.offset[:-1]
    for name in RECORD:
        assert_array_equal(getattr(kept, name)[place], getattr(forest, name)[before])
    for kind in ("gain", "count"):
        assert_allclose(kept.feature_importances(kind=kind), forest.feature_importances(kind=kind))
    tensors = Tensors({})
    described = kept.to_document(tensors)
    read = SharedForest.from_document(described, tensors)
    assert not tensors.arrays
    for name in DTYPES:
        assert_array_equal(getattr(read, name), getattr(kept, name), err_msg=name)
    again = SharedForest.with_record(kept)
    for name in DTYPES:
        assert_array_equal(getattr(again, name), getattr(kept, name), err_msg=name)


def test_some_trees_with_their_record_keep_it():
    model = committee.load(GOLDEN / "recorded_shares.safetensors")
    some = model[[2, 0]].voters
    assert type(some) is SharedForest
    first = slice(*model.voters.offset[2:4].tolist())
    assert_array_equal(some.weight[: some.offset[1]], model.voters.weight[first])
    assert some.weight.all() and some.stored_bytes < 0.5 * some.nbytes


def test_leaves_that_gained_something_are_written_whole():
    voters = committee.load(GOLDEN / "recorded_shares.safetensors").voters
    tensors = Tensors({})
    odd = replace(voters, gain=voters.gain + 1.0)
    assert odd.to_document(tensors)["kind"] == "forest"
    assert_array_equal(tensors.arrays["gain"], odd.gain)


def test_selections_and_copies_share_too():
    model = committee.load(GOLDEN / "shared_shares.safetensors")
    assert type(model[[2, 0]].voters) is SharedForest
    copied = pickle.loads(pickle.dumps(model.voters))
    assert type(copied) is SharedForest and copied.stored_bytes == model.voters.stored_bytes
    assert 0.2 * copied.most_stored_bytes < copied.stored_bytes < copied.most_stored_bytes


def test_trees_that_share_more_than_a_file_may_are_written_whole(tmp_path, monkeypatch):
    model = committee.load(GOLDEN / "shared_shares.safetensors")
    many = model[[0] * 400]
    many.save(tmp_path / "shared")
    assert type(committee.load(tmp_path / "shared").voters) is SharedForest
    monkeypatch.setattr("committee.voters.shared_forest.MIN_NODE_LIMIT", 10)
    monkeypatch.setattr("committee.voters.shared_forest.NODES_PER_ENTRY", 1)
    refused(tmp_path / "shared", None, "more than .* nodes in all")
    many.save(tmp_path / "whole")
    assert type(committee.load(tmp_path / "whole").voters) is Forest


def chain(repeat: int, n: int) -> Change:
    """Inner nodes of which each has the one before it for a child, or for both."""

    def change(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        numbers = np.maximum(np.arange(n, dtype=np.uint32), 1) - 1
        numbers[0] = n
        arrays["voters.split"] = np.zeros(n, np.uint8)
        arrays["voters.left"] = numbers
        arrays["voters.right"] = numbers if repeat else np.full(n, n, np.uint32)
        arrays["voters.root"] = np.full(len(arrays["voters.root"]), n - 1, np.uint32)

    return change


CRAFTED: list[tuple[str, Change, str]] = [
    ("shared_shares", chain(1, 60), "more than 524288 nodes in all"),
    ("shared_shares", chain(0, 40_000), "has 40000 levels; at most 32768"),
    ("shared_shares", swap("voters.root", lambda a: a[:0]), "there are no voters"),
    ("shared_shares", swap("voters.root", lambda a: a.astype(np.int64)), "root is int64 of 1 dimensions"),
    ("shared_shares", swap("voters.left", lambda a: a[:-1]), "split, left and right have"),
    ("shared_shares", swap("voters.left", lambda a: a[:, None]), "left is uint8 of 2 dimensions"),
    ("shared_shares", put("voters.left", 0, 0), "left of inner node 0 is 0, which does not come before it"),
    ("shared_shares", put("voters.right", 0, 255), "right holds 255, which is not between 0 and"),
    ("shared_shares", put("voters.root", 0, 255), "root holds 255, which is not between 0 and"),
    ("shared_shares", put("voters.split", 0, 255), "split holds 255, which is not between 0 and"),
    ("shared_shares", put("voters.feature", 0, 200), "feature is not between"),
    ("shared_shares", swap("voters.feature", lambda a: a.astype(np.uint32) + 2**31), "feature is not between"),
    ("shared_shares", swap("voters.threshold", lambda a: a[1:]), "differ in their number of splits"),
    ("shared_shares", swap("voters.threshold", lambda a: a.astype(np.float16)), "threshold is float16"),
    ("shared_shares", put("voters.threshold", 0, np.nan), "threshold is neither finite nor"),
    ("shared_shares", put("voters.missing_left", 0, 2), "missing_left is neither 0 nor 1"),
    ("shared_shares", put("voters.value", 0, np.inf), "value is not finite"),
    ("shared_shares", swap("voters.value", lambda a: a.ravel()), "value is float64 of 1 dimensions"),
    ("shared_shares", tell("voters", "vote", value="both"), "vote is 'both'"),
    ("shared_shares", tell("voters", "vote", value="label"), "'voters.label' is absent"),
    ("shared_shares", forget("voters", "n_classes"), "n_classes"),
    ("recorded_shares", tell("voters", "record", value="some"), "record is 'some'"),
    ("recorded_shares", forget("voters", "record"), "belongs to nothing"),
    ("recorded_shares", swap("voters.weight", lambda a: a[:-1]), "weight is uint8 of shape"),
    ("recorded_shares", swap("voters.count", lambda a: a.astype(np.int32)), "count is int32 of shape"),
    ("recorded_shares", swap("voters.gain", lambda a: a[1:]), "gain has the shape"),
    ("recorded_shares", swap("voters.gain", lambda a: a.astype(np.int32)), "gain is int32"),
    ("recorded_shares", swap("voters.gain", lambda a: np.full(len(a), np.nan)), "gain is not finite"),
    ("shared_labels", put("voters.label", 0, 9), "label is not between"),
    ("shared_labels", swap("voters.label", lambda a: a.astype(np.int64)), "label is int64"),
    ("shared_labels", swap("voters.category_bits", lambda a: a[:-1]), "category_offset does not partition"),
    ("shared_labels", swap("voters.category_offset", lambda a: a[::-1].copy()), "category_offset does not partition"),
    ("shared_rounds", tell("voters", "trees", "kind", value="rounds"), "the trees of rounds must be a forest"),
    ("shared_rounds", swap("voters.trees.root", lambda a: a[:-1]), "do not form whole rounds"),
]


@pytest.mark.parametrize(("name", "change", "message"), CRAFTED)
def test_files_made_to_deceive_are_refused(name, change, message, tmp_path):
    content = craft((GOLDEN / f"{name}.safetensors").read_bytes(), change)
    refused(tmp_path / "model", content, message)


def naive(forest: Forest, t: int, node: int, says: Any) -> tuple[Any, list[int]]:
    """What a whole sub-tree says, None if leaves differ; and the nodes of it that are left, counted through."""
    first = int(forest.offset[t])
    if forest.feature[first + node] < 0:
        return says[first + node], [first + node]
    left = int(forest.left[first + node])
    (a, below_a), (b, below_b) = (naive(forest, t, child, says) for child in (left, left + 1))
    if a is not None and a == b:
        return a, [first + node]
    return None, [first + node, *below_a, *below_b]


@given(seed=st.integers(0, 10**6), n_trees=st.integers(1, 4), n_values=st.integers(1, 3))
def test_nodes_that_are_left_are_those_of_a_recursion(seed: int, n_trees: int, n_values: int) -> None:
    rng = np.random.default_rng(seed)
    forest = traverse.random_forest(rng, n_trees=n_trees, n_splits=10, n_categories=(0, 5))
    says = rng.integers(0, n_values, len(forest.feature))
    merged = MergedLeaves.of(forest, [says])
    expected = sorted(node for t in range(n_trees) for node in naive(forest, t, 0, says)[1])
    assert merged.nodes.tolist() == expected
    for node in merged.nodes[merged.is_leaf[merged.nodes]].tolist():
        tree = int(np.searchsorted(forest.offset, node, side="right")) - 1
        assert says[merged.representative[node]] == naive(forest, tree, node - int(forest.offset[tree]), says)[0]
    two = np.column_stack([says, says[::-1]])
    pairs = {pair: number for number, pair in enumerate(sorted(set(map(tuple, two.tolist()))))}
    alike = np.array([pairs[tuple(pair)] for pair in two.tolist()])
    assert MergedLeaves.of(forest, [two]).nodes.tolist() == MergedLeaves.of(forest, [alike]).nodes.tolist()


@pytest.mark.parametrize("missing_left", [0, 1])
def test_categories_on_the_side_that_missing_ones_do_not_go_to(missing_left: int) -> None:
    stump = stump_by_hand(
        missing_left=np.array([missing_left, 0, 0], np.uint8),
        category_offset=np.array([0, 1, 1, 1]),
        category_bits=np.array([0b0101], np.uint32),
        label=np.array([-1, 0, 1], np.int32),
    )
    left = stump.votes(np.arange(40.0)[:, None])[:, 0] == 0
    for known, n_codes in ((4, 4), (0, 40)):
        apart = categories_opposite_missing(stump, 0, known)
        assert apart.tolist() == [code for code in range(n_codes) if left[code] != bool(missing_left)]


FEW: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
LEARNERS = [
    RandomForestClassifier(**FEW),
    RandomForestClassifier(calibrate=None, **FEW),
    AdaBoostClassifier(vote="confidence", max_depth=3, **FEW),
    GradientBoostingClassifier(**FEW),
    SBPMTClassifier(**FEW),
    LogitBoostClassifier(random_state=0),
    RandomForestRegressor(**FEW),
    GradientBoostingRegressor(learning_rate=0.3, **FEW),
    GradientBoostingRegressor(leaf="constant", learning_rate=0.3, **FEW),
]


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, one of them far from 0, with missing cells; targets; weights that are no whole numbers."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), 1e9 + rng.normal(size=n), rng.integers(0, 4, n)])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.nan_to_num(X[:, 0] + X[:, 4]) + rng.normal(size=n), rng.uniform(0.5, 1.5, n)


def compacted(learner: Any, *, offset: float = 0.0, n_classes: int = 2) -> tuple[Any, Any, np.ndarray]:
    X, y, w = rows(150)
    if hasattr(learner, "predict_proba"):
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = learner.fit(X, y + offset if n_classes == 2 else y, w).committee_
    return model, replace(model, voters=compact_voters(model.voters)), X  # refused if shares do not add up to 1


def array_bytes(model: Any) -> int:
    """Bytes of a model's file without its header, which is most of a small file."""
    arrays: dict[str, np.ndarray] = {}
    model.to_document(Tensors(arrays))
    return sum(array.nbytes for array in arrays.values())


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_and_explanations_stay_to_the_tolerance(learner, n_classes, tmp_path):
    model, small, X = compacted(learner, n_classes=n_classes)
    answers = [one.predict_proba(X) if hasattr(one, "classes") else one.predict(X) for one in (model, small)]
    assert_allclose(*answers, rtol=3 * TOLERANCE, atol=3 * TOLERANCE * np.ptp(answers[0]))
    explain = probability_contributions if hasattr(model, "classes") else tree_contributions
    assert_allclose(explain(small, X[:5]), explain(model, X[:5]), atol=1e-5)
    small.save(tmp_path / "m.safetensors")
    again = committee.load(tmp_path / "m.safetensors")
    assert again.decision_function(X).tobytes() == small.decision_function(X).tobytes()
    assert_array_equal(explain(again, X[:5]), explain(small, X[:5]))
    if not isinstance(learner, LogitBoostClassifier):
        assert array_bytes(small) < 0.7 * array_bytes(model)


def test_trees_of_deep_forests_take_a_fifth():
    X, y, _ = rows(1200)
    model = RandomForestClassifier(3, random_state=0).fit(X, y > 0).committee_
    small = replace(model, voters=compact_voters(model.voters))
    assert small.file_bytes < model.file_bytes / 5
    assert small.feature_importances_ == pytest.approx(model.feature_importances_, rel=1e-6)
    assert_allclose(small.voters.weight.sum(), model.voters.weight.sum())


@pytest.mark.parametrize("learner", [RandomForestRegressor(**FEW), GradientBoostingRegressor(**FEW)])
def test_numbers_that_single_precision_cannot_tell_apart_stay_double(learner):
    model, small, X = compacted(learner, offset=1e12)
    assert np.ptp(model.predict(X)) > 0.5
    assert_allclose(small.predict(X), model.predict(X), atol=1e-3)


def test_lines_along_a_column_whose_range_overflows_stay_finite():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.choice([-1.5e308, -1e300, 1e300, 1.5e308], 200)])
    model = GradientBoostingRegressor(**FEW).fit(X, X[:, 0] + (X[:, 1] > 0)).committee_
    lines = compact_voters(model.voters).lines
    assert (lines.column == 1).any()
    assert np.isfinite(lines.centre).all() and np.isfinite(lines.high).all()


def test_pickles_of_a_committee_are_as_small_as_its_file():
    X, y, _ = rows(300)
    model = RandomForestClassifier(3, random_state=0).fit(X, y > 0).committee_
    small = replace(model, voters=compact_voters(model.voters))
    votes = Committee(MemberCommittees([small, small]), np.ones(2), small.classes, small.link)
    stored = pickle.dumps(votes)
    assert len(stored) < votes.file_bytes + 5_000 < votes.nbytes / 2
    assert pickle.loads(stored).voters.tally(X).tobytes() == votes.voters.tally(X).tobytes()


def test_numbers_without_zeros_are_read_as_they_were():
    sparse = np.zeros((3, 2, 40))
    sparse[1, :, ::7], sparse[2, 0, 3] = 0.1, -0.0
    arrays: dict[str, np.ndarray] = {}
    Tensors(arrays).put_reals(a=sparse, b=np.arange(3.0))
    assert arrays["a"].shape == (13,) and arrays["b"].dtype == np.float32
    changed = {name: array.copy() for name, array in arrays.items()}
    assert Tensors(dict(arrays)).take_reals("a").tobytes() == sparse.tobytes()
    assert_array_equal(Tensors(dict(arrays)).take_reals("b"), np.arange(3.0))
    for name, array, fault in (
        ("a", changed["a"][1:], r"a has the shape \(12,\) for 13 numbers"),
        ("a", changed["a"].astype(np.int64), "a is int64; it must be float32 or float64"),
        ("a.shape", np.array([2**40, 2**40]), "a.nonzero has 30 bytes for the shape"),
        ("a.shape", np.array([-3, -80]), "a.nonzero has 30 bytes for the shape"),
        ("a.nonzero", changed["a.nonzero"][1:], "a.nonzero has 29 bytes for the shape"),
    ):
        with pytest.raises(ValueError, match=fault):
            Tensors(arrays | {name: array}).take_reals("a")
    huge = np.array([1e300, 1.0])
    assert to_single(huge) is huge
