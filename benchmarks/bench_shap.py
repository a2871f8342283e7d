"""Shapley values beside XGBoost's and LightGBM's own, of their own trees, and interventional ones beside shap's."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import shap
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from xgboost import DMatrix, XGBClassifier

import committee
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, Work, interleave
from benchmarks.tables import collisions, hastie
from committee.vote.explain.tree_contributions import (
    interventional_contributions,
    tree_contributions,
    tree_interactions,
)

TARGET = 2.0
"""How many times as fast as theirs our values of their trees are to be."""
ROWS = 10_000
BACKGROUND = 100


def measure(findings: Findings, quick: bool) -> None:
    """Values, interactions and interventional values of the same trees, on one thread."""
    rounds, n, size = (3, 500, 10) if quick else (7, ROWS, 100)
    findings.settings = {"rounds": rounds, "rows": n, "trees": size, "shap": shap.__version__}
    X, y = hastie(5_000, seed=0)
    labels = (y > 0).astype(int)
    rows, _ = hastie(n, seed=1)
    xgboost = XGBClassifier(n_estimators=size, max_leaves=31, max_depth=0, grow_policy="lossguide", n_jobs=1)
    xgboost.fit(X, labels)
    lightgbm = LGBMClassifier(n_estimators=size, num_leaves=31, n_jobs=1, verbose=-1).fit(X, labels)
    matrix, booster = DMatrix(rows, nthread=1), xgboost.get_booster()
    peers = {
        "XGBoost": (xgboost, partial(booster.predict, matrix, pred_contribs=True)),
        "LightGBM": (lightgbm, partial(lightgbm.booster_.predict, rows, pred_contrib=True, num_threads=1)),
    }
    for name, (model, theirs) in peers.items():
        ours = partial(tree_contributions, committee.Committee.from_estimator(model), rows)
        _beside(findings, f"values of {size} trees of {name}, {n:,} rows", name, theirs, ours, rounds, TARGET)
    few = rows[: n // 10].copy()
    of_pairs = partial(booster.predict, DMatrix(few, nthread=1), pred_interactions=True)
    ours = partial(tree_interactions, committee.Committee.from_estimator(xgboost), few)
    what = f"interactions of {size} trees of XGBoost, {len(few):,} rows"
    _beside(findings, what, "XGBoost", lambda: of_pairs()[:, :-1, :-1], ours, rounds, None)
    forest = RandomForestClassifier(size, max_leaf_nodes=31, random_state=0, n_jobs=1).fit(X, labels)
    background = X[:BACKGROUND].copy()
    explainer = shap.TreeExplainer(forest, background, feature_perturbation="interventional")
    votes = committee.Committee.from_estimator(forest)
    beside = partial(interventional_contributions, votes, few, background, output="probability")
    what = f"interventional values of {size} trees of a forest, {len(few):,} rows, {BACKGROUND} of the background"
    theirs = partial(explainer.shap_values, few, check_additivity=False)
    _beside(findings, what, "shap", theirs, lambda: beside()[:, :-1], rounds, None)
    _of_deep_trees(findings, rounds, n // 50)


def _of_deep_trees(findings: Findings, rounds: int, n: int) -> None:
    """Four trees grown to the end, beside shap; then the microseconds of ours a row and tree."""
    X, y = collisions(20_000, seed=0)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    explainer = shap.TreeExplainer(forest, feature_perturbation="tree_path_dependent")
    votes, rows = committee.Committee.from_estimator(forest), X[:n].copy()
    nodes = sum(tree.tree_.node_count for tree in forest.estimators_) // 4
    what = f"values of 4 trees of {nodes:,} nodes, {n:,} rows"
    ours = partial(tree_contributions, votes, rows, output="probability")
    theirs = partial(explainer.shap_values, rows, check_additivity=False)
    _beside(findings, what, "shap", theirs, lambda: ours()[:, :-1], min(rounds, 3), TARGET)
    many = np.repeat(rows, 4, axis=0)
    trial = interleave({"committee": partial(tree_contributions, votes, many)}, rounds)
    each = Spread.of([1e6 * s / len(many) / 4 for s in trial.seconds("committee")])
    what = f"score of one row and tree of {nodes:,} nodes"
    findings.record(what, trial)
    findings.add(Figure(what, "", "us", each, target=20.0, at_least=False, clock="cpu"))


def _beside(
    findings: Findings, what: str, peer: str, theirs: Work, ours: Work, rounds: int, target: float | None
) -> None:
    answers: list[Any] = [np.asarray(each()) for each in (theirs, ours)]
    apart = float(np.abs(answers[0] - answers[1]).max()) / max(1.0, float(np.abs(answers[1]).max()))
    if apart > 2e-5:  # XGBoost sums in single precision
        raise RuntimeError(f"{what}: {peer} answers otherwise, by {apart}")
    trial = interleave({peer: theirs, "committee": ours}, rounds)
    findings.record(what, trial)
    ratio, wall = trial.ratio(peer, "committee"), trial.ratio(peer, "committee", "wall")
    findings.add(Figure(what, peer, "x", ratio, target=target, clock="cpu", wall=wall))


if __name__ == "__main__":
    command("shap", measure)
