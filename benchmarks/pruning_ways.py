"""The ways to prune that `bench_pruning` compares: each leaves of an ensemble what fits into several limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import global_refinement
from benchmarks.cut_trees import CutTrees
from benchmarks.forest_prune import forest_prune
from benchmarks.lop import STRENGTHS, lop
from benchmarks.packed_bytes import packed_bytes
from benchmarks.pairing import timed
from benchmarks.pruned_ensembles import Trained
from committee import LeafReweighter
from committee.learners.reweighting.leaf_cuts import cut_forest
from committee.learners.reweighting.margin_reweighter import MarginReweighter
from committee.vote.committee import Committee
from committee.voters.forest import Forest

F64 = NDArray[np.float64]

CLIPPED = 1e-3
"""Probabilities are kept this far from 0, so that one row cannot make a log loss infinite."""
ROWS_TIMED = 2_000

Measures = dict[str, float]


@dataclass(frozen=True)
class Way:
    """A way to prune."""

    run: Callable[[Trained, Sequence[int]], list[Measures]]
    """Measures at each limit of nodes, which fall."""
    module: str
    """Where its program stands, so that only its own cells are measured again when that changes."""
    of_boosters: bool = True
    """Whether it is for boosters, too."""


def judged(probability: F64, trained: Trained) -> Measures:
    """Test error and log loss."""
    y = trained.y_new
    says, right = probability.argmax(axis=1), probability[np.arange(len(y)), y]
    return {"error": float((says != y).mean()), "log_loss": float(-np.log(np.clip(right, CLIPPED, 1.0)).mean())}


def _of_committee(committee: Committee, trained: Trained) -> Measures:
    found = judged(committee.predict_proba(trained.X_new), trained)
    return {**found, "nodes": committee.n_nodes, "trees": committee.n_voters}


def _cost(committee: Committee, trained: Trained) -> Measures:
    """Bytes, and microseconds to predict a row among many."""
    rows = np.ascontiguousarray(np.resize(trained.X_new, (ROWS_TIMED, trained.X_new.shape[1])))
    committee.predict(rows)
    _, cpu = timed(lambda: committee.predict(rows), 2)
    return {"bytes": float(committee.nbytes), "us": 1e6 * cpu / len(rows)}


def all_trees(trained: Trained, limits: Sequence[int]) -> list[Measures]:
    """The whole ensemble, at any limit."""
    found = {**_of_committee(trained.committee, trained), **_cost(trained.committee, trained)}
    return [{**found, "packed": packed_bytes(trained.forest)} for _ in limits]


def first_trees(trained: Trained, limits: Sequence[int]) -> list[Measures]:
    """As many of the first trees, or rounds, as fit, at least one."""
    committee = trained.committee
    sizes = np.add.reduceat(
        trained.forest.n_nodes, np.arange(0, len(trained.forest), len(trained.forest) // committee.n_voters)
    )
    nodes = np.cumsum(sizes)
    counts = [max(1, int(np.searchsorted(nodes, limit, side="right"))) for limit in limits]
    return [_of_committee(committee.select(slice(count)), trained) for count in counts]


def whole_trees(trained: Trained, limits: Sequence[int]) -> list[Measures]:
    """The largest committee on the path of weights that fits into each limit; the smallest, if none does."""
    start = time.process_time()
    weighted = MarginReweighter(trained.ensemble, "doom", on="oob").fit(trained.X, trained.y)
    path = weighted.prune().pruning_path_.steps
    seconds = time.process_time() - start
    found = []
    for limit in limits:
        step = next((step for step in path if step.n_nodes <= limit), path[-1])
        pruned = weighted.prune(max_voters=len(step.voters)).committee_
        found.append({**_of_committee(pruned, trained), "seconds": seconds})
    return found


def leaves(trained: Trained, limits: Sequence[int]) -> list[Measures]:
    """`LeafReweighter`."""
    found = []
    for limit in limits:
        start = time.process_time()
        on = "oob" if trained.drawn else "train"
        small = LeafReweighter(trained.ensemble, max_nodes=limit, on=on).fit(trained.X, trained.y)
        seconds = time.process_time() - start
        committee = small.committee_
        assert isinstance(committee.voters, Forest)
        found.append(
            {
                **_of_committee(committee, trained),
                **_cost(committee, trained),
                "packed": packed_bytes(committee.voters),
                "seconds": seconds,
                "C": small.C_,
                "growth": small.growth_,
            }
        )
    return found


def _rival(cut: Callable[[Any, Trained, Sequence[int]], list[CutTrees]]) -> Callable[..., list[Measures]]:
    """A program that hands back `CutTrees`, from the leaves of the training rows."""

    def run(trained: Trained, limits: Sequence[int]) -> list[Measures]:
        leaf, leaf_new = trained.leaves(trained.X), trained.leaves(trained.X_new)
        start = time.process_time()
        cuts = cut(leaf, trained, limits)
        seconds = time.process_time() - start
        return [
            {
                **judged(one.probabilities(leaf_new), trained),
                "nodes": one.n_nodes,
                "packed": packed_bytes(cut_forest(trained.forest, one.stands, one.value)),
                "seconds": seconds,
            }
            for one in cuts
        ]

    return run


def _forest_prune(leaf: Any, of: Trained, limits: Sequence[int]) -> list[CutTrees]:
    return forest_prune(of.nodes, of.votes, leaf, of.y, of.n_classes, limits)


def _refined(leaf: Any, of: Trained, limits: Sequence[int]) -> list[CutTrees]:
    """With the strength that cross-validation chooses."""
    C = global_refinement.chosen_strength(leaf, of.y, of.n_classes, len(of.nodes))
    return global_refinement.global_refinement(of.nodes, leaf, of.y, of.n_classes, limits, C)


def _lop(leaf: Any, of: Trained, limits: Sequence[int]) -> list[CutTrees]:
    """With the strength of least log loss on the twin's unseen rows, among those that meet the limit."""
    twin = of.twin
    twins = [lop(twin.nodes, twin.votes, twin.leaves(twin.X), twin.y, twin.n_classes, C) for C in STRENGTHS]
    unseen = twin.leaves(twin.X_new)
    loss = [judged(cut.probabilities(unseen), twin)["log_loss"] for cut in twins]
    cuts = [lop(of.nodes, of.votes, leaf, of.y, of.n_classes, C) for C in STRENGTHS]
    within = [[i for i, cut in enumerate(cuts) if cut.n_nodes <= limit] or [len(cuts) - 1] for limit in limits]
    return [cuts[min(some, key=lambda i: loss[i])] for some in within]


ALL, FIRST, WHOLE, LEAVES = "all trees", "first trees", "MarginReweighter", "LeafReweighter"
REFINED, DEPTHS, LEVELS = "global refinement", "ForestPrune", "LOP"

OWN = "committee.learners.reweighting"
WAYS: dict[str, Way] = {
    ALL: Way(all_trees, "benchmarks.pruned_ensembles"),
    FIRST: Way(first_trees, "benchmarks.pruned_ensembles"),
    LEAVES: Way(leaves, f"{OWN}.leaf_reweighter"),
    LEVELS: Way(_rival(_lop), "benchmarks.lop"),
    WHOLE: Way(whole_trees, f"{OWN}.margin_reweighter", of_boosters=False),
    DEPTHS: Way(_rival(_forest_prune), "benchmarks.forest_prune", of_boosters=False),
    REFINED: Way(_rival(_refined), "benchmarks.global_refinement"),
}
"""In the order in which they are measured."""
