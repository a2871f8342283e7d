"""One split of one table for `bench_pruning`: a forest, what each way of pruning leaves of it, and how good that is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split

from benchmarks import global_refinement
from benchmarks.bench_certify import table
from benchmarks.cut_trees import CutTrees
from benchmarks.forest_prune import forest_prune
from benchmarks.pairing import timed
from committee import LeafReweighter
from committee.learners.trained.reweighter import MarginReweighter
from committee.learners.trained.tree_nodes import TreeNodes, node_votes
from committee.vote.committee import Committee

F64 = NDArray[np.float64]

SHARES = {"1/3": 1 / 3, "1/10": 0.1, "1/30": 1 / 30, "1/100": 0.01}
"""Of the forest's nodes, falling."""
ALL, FIRST, WHOLE, LEAVES, REFINED, DEPTHS = (
    "all trees",
    "first trees",
    "MarginReweighter",
    "LeafReweighter",
    "global refinement",
    "ForestPrune",
)
CLIPPED = 1e-3
"""Probabilities are kept this far from 0 and 1, so that one row cannot make a log loss infinite."""
TIMED, ROWS_TIMED = "1/10", 2_000
"""Share at which predictions are timed, and on how many rows."""

Cell = dict[str, dict[str, dict[str, float]]]
"""Way of pruning, share of the nodes, measure."""


def matrix(folder: Path, name: str) -> tuple[F64, NDArray[np.bool_]]:
    """A table as scikit-learn's forests take it: categories as columns of 0 and 1, medians for missing numbers."""
    X, labels = table(folder, name)
    frame = pl.DataFrame(X)
    named = [column for column in frame.columns if not frame[column].dtype.is_numeric()]
    encoded = frame.to_dummies(named) if named else frame
    filled = SimpleImputer(strategy="median").fit_transform(encoded.to_numpy().astype(np.float64))
    return np.ascontiguousarray(filled), labels == np.unique(labels)[1]


def measured(X: F64, y: NDArray[np.bool_], n_trees: int, split: int) -> Cell:
    """All ways at all shares, trained on 70% of the rows and judged by the rest."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=split, stratify=y)
    forest = RandomForestClassifier(n_trees, random_state=split).fit(X[train], y[train])
    committee = Committee.from_estimator(forest)
    limits = {name: max(3, int(share * committee.n_nodes)) for name, share in SHARES.items()}
    rows, new = (X[train], y[train]), (X[test], y[test])
    every = {**_judged(committee, *new), **_cost(committee, X[test])}
    found: Cell = {ALL: dict.fromkeys(SHARES, every)}
    found[FIRST] = {name: _judged(_first(committee, limit), *new) for name, limit in limits.items()}
    found[WHOLE] = _whole_trees(forest, limits, rows, new)
    found[LEAVES] = _leaves(forest, limits, rows, new)
    return found | _rivals(committee, limits, rows, new)


def _first(committee: Committee, limit: int) -> Committee:
    """As many of the first trees as have at most `limit` nodes, at least one."""
    nodes = np.cumsum(committee.voters.n_nodes)
    return committee.select(slice(max(1, int(np.searchsorted(nodes, limit, side="right")))))


def _whole_trees(forest: Any, limits: dict[str, int], rows: Any, new: Any) -> dict[str, dict[str, float]]:
    """The largest committee on the path of weights that fits into each limit; the smallest, if none does."""
    start = time.process_time()
    weighted = MarginReweighter(forest, "doom", on="oob").fit(*rows)
    path = weighted.prune().pruning_path_.steps
    seconds = time.process_time() - start
    found = {}
    for name, limit in limits.items():
        step = next((step for step in path if step.n_nodes <= limit), path[-1])
        pruned = weighted.prune(max_voters=len(step.voters)).committee_
        found[name] = {**_judged(pruned, *new), "seconds": seconds}
    return found


def _leaves(forest: Any, limits: dict[str, int], rows: Any, new: Any) -> dict[str, dict[str, float]]:
    found = {}
    for name, limit in limits.items():
        start = time.process_time()
        small = LeafReweighter(forest, max_nodes=limit).fit(*rows)
        seconds = time.process_time() - start
        found[name] = {
            **_judged(small.committee_, *new),
            **(_cost(small.committee_, new[0]) if name == TIMED else {}),
            "seconds": seconds,
            "C": small.C_,
            "growth": small.growth_,
            "trees": small.committee_.n_voters,
        }
    return found


def _rivals(committee: Committee, limits: dict[str, int], rows: Any, new: Any) -> Cell:
    """Both rivals; global refinement with the strength that cross-validation chooses, and with each."""
    forest: Any = committee.voters
    nodes = TreeNodes.of(forest)
    votes = node_votes(forest, nodes)[:, 0]
    leaf, leaf_new = ((forest.apply(X) + forest.offset[:-1]).astype(np.intp) for X, _ in (rows, new))
    y = rows[1]

    def run(work: Callable[[], list[CutTrees]], probability: Callable[[F64], F64]) -> dict[str, dict[str, float]]:
        start = time.process_time()
        cuts = work()
        seconds = time.process_time() - start
        scores = [cut.score(leaf_new) for cut in cuts]
        return {
            name: {**_errors(score > 0.0, probability(score), new[1]), "nodes": cut.n_nodes, "seconds": seconds}
            for name, score, cut in zip(limits, scores, cuts, strict=True)
        }

    each = list(limits.values())
    found = {
        DEPTHS: run(lambda: forest_prune(nodes, votes, leaf, y, each), lambda score: (1.0 + score) / 2.0),
    }
    start = time.process_time()
    chosen = global_refinement.chosen_strength(leaf, y, len(nodes))
    choosing = time.process_time() - start
    for C in global_refinement.STRENGTHS:
        found[f"{REFINED}, C = {C:g}"] = run(
            lambda C=C: global_refinement.global_refinement(nodes, leaf, y, each, C),  # type: ignore[misc]
            lambda score: 1.0 / (1.0 + np.exp(-score)),
        )
    best = found[f"{REFINED}, C = {chosen:g}"]
    found[REFINED] = {name: {**of, "seconds": of["seconds"] + choosing, "C": chosen} for name, of in best.items()}
    return found


def _judged(committee: Committee, X: F64, y: NDArray[np.bool_]) -> dict[str, float]:
    probability = committee.predict_proba(X)[:, 1]
    return {**_errors(committee.predict(X), probability, y), "nodes": committee.n_nodes}


def _errors(says: NDArray[np.bool_], probability: F64, y: NDArray[np.bool_]) -> dict[str, float]:
    sure = np.clip(probability, CLIPPED, 1.0 - CLIPPED)
    return {"error": float((says != y).mean()), "log_loss": float(-np.log(np.where(y, sure, 1.0 - sure)).mean())}


def _cost(committee: Committee, X: F64) -> dict[str, float]:
    """Bytes, and microseconds to predict a row among many."""
    rows = np.ascontiguousarray(np.resize(X, (ROWS_TIMED, X.shape[1])))
    committee.predict(rows)
    _, cpu = timed(lambda: committee.predict(rows), 2)
    return {"bytes": float(committee.nbytes), "us": 1e6 * cpu / len(rows)}
