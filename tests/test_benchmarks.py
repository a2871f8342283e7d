"""The list of the benchmarks is whole, on the page, too; what they share does what it says."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from benchmarks.__main__ import NAMES
from benchmarks.figures import both
from benchmarks.forest_prune import forest_prune
from benchmarks.global_refinement import global_refinement
from benchmarks.lop import lop
from benchmarks.packed_bytes import packed_bytes
from benchmarks.pairing import interleave
from benchmarks.tables import hastie
from benchmarks.thread_schedule import ThreadSchedule, speed_up, split_nodes
from committee import GradientBoostingClassifier, RandomForestClassifier
from committee.learners.reweighting.leaf_cuts import TreeNodes, cut_forest, node_votes
from committee.voters.forest import Forest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
FILES = sorted(path.stem.removeprefix("bench_") for path in BENCHMARKS.glob("bench_*.py"))


def test_all_benchmarks_are_run_by_name_and_on_the_page():
    assert sorted(NAMES) == FILES
    page = (BENCHMARKS / "README.md").read_text(encoding="utf-8").split("## How to read a figure")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == FILES
    for name in FILES:
        import_module(f"benchmarks.bench_{name}")


@pytest.mark.slow
def test_contenders_take_turns_and_programs_tell_their_own_seconds():
    turns: list[str] = []

    def program() -> tuple[float, float]:
        turns.append("program")
        return 6.0, 3.0

    trial = interleave({"ours": lambda: turns.append("ours")}, 2, shortest=0.0, clocked={"program": program})
    assert turns == ["ours", "ours", "program", "ours", "program"]  # the first to warm up
    assert trial.ratio("program", "program", "wall").median == 1.0 and trial.seconds("program").tolist() == [3.0, 3.0]


def test_what_is_worse_is_called_so():
    assert both("error", 26.84, 26.9, 1, " %") == "error 26.8 / 26.9 %"
    assert both("log loss", 0.2865, 0.2482) == "log loss 0.286 / 0.248: worse"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_rivals_of_pruning_cut_a_forest_to_the_nodes_asked_for(n_classes):
    X, y = hastie(300) if n_classes == 2 else load_iris(return_X_y=True)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y).committee_.voters
    nodes = TreeNodes.of(forest)
    votes, leaf = node_votes(forest, nodes), (forest.apply(X) + forest.offset[:-1]).astype(np.intp)
    y = np.unique(y, return_inverse=True)[1]
    limits = [len(nodes) // 2, len(nodes) // 10]
    for cuts in (
        forest_prune(nodes, votes, leaf, y, n_classes, limits),
        global_refinement(nodes, leaf, y, n_classes, limits, 1.0),
        [lop(nodes, votes, leaf, y, n_classes, C) for C in (10.0, 0.3)],
    ):
        for cut, limit in zip(cuts, limits, strict=True):
            probability = cut.probabilities(leaf)
            assert 2 < cut.n_nodes <= limit and np.mean(probability.argmax(axis=1) == y) > 0.8
            assert_allclose(probability.sum(axis=1), 1.0)
            # the trees that are left say the same as the whole forest's nodes that stand for theirs
            kept = cut_forest(forest, cut.stands, cut.value)
            assert kept.n_nodes[kept.n_nodes > 1].sum() == cut.n_nodes
            own = kept.value[kept.apply(X) + kept.offset[:-1]].sum(axis=1)
            assert_allclose(own, cut.value[cut.stands[leaf]].sum(axis=1), atol=1e-12)


def test_packed_bytes_count_each_threshold_and_value_once():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(1, max_depth=1, random_state=0).fit(X, y).committee_.voters
    assert forest.n_nodes.tolist() == [3]
    # three flags, two bits for two values, tables of a column, a threshold and two values of three numbers
    assert packed_bytes(forest) == (3 + 2 + 32 + 32 + 6 * 32) / 8
    twice = Forest.concatenate([forest, forest])
    assert packed_bytes(twice) == (6 + 4 + 32 + 32 + 6 * 32) / 8


def test_the_schedule_of_threads_gains_no_more_than_there_are_threads():
    X, y = hastie(100_000)
    forest = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y).committee_.voters
    ratios = [speed_up(forest, threads, len(X), 256 * X.shape[1]) for threads in (1, 2, 4, 16)]
    assert ratios[0] == 1.0
    assert 1.0 < ratios[1] <= ratios[2] <= ratios[3]
    assert ratios[1] <= 2.0 and ratios[2] <= 4.0
    assert speed_up(forest, 16, 100, 256 * X.shape[1]) == 1.0  # a tree of 100 rows starts no thread


def test_works_are_shared_out_the_largest_first():
    assert ThreadSchedule(2, 1, 1).busiest([3.0, 1.0, 2.0, 2.0]) == 4.0
    nodes = split_nodes(RandomForestClassifier(1, random_state=0).fit(*hastie(300)).committee_.voters, 0)
    assert all(0 < node.smaller <= node.size / 2 for node in nodes.values())
    assert nodes[0].size <= 300
