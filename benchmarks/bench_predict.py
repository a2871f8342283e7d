"""Prediction, of many rows and of one, beside scikit-learn, LightGBM and XGBoost; and what explains it."""

from __future__ import annotations

from functools import partial

import lightgbm
import xgboost
from sklearn.ensemble import RandomForestClassifier

from benchmarks.bench_adaboost import peer_of
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, Trial, Work, interleave
from benchmarks.tables import collisions, hastie
from committee import AdaBoostClassifier
from committee.vote.committee import Committee
from committee.vote.explain.tree_contributions import tree_contributions

STUMPS, DEPTH = 200, 2
TREES, LEAVES = 100, 31
FULL_TREES = 300


def measure(findings: Findings, quick: bool) -> None:
    """Predict by 100 boosted trees of 31 leaves, 300 full trees, 200 voters of depth 2; explain rows; one thread."""
    rounds = 5 if quick else 31
    findings.settings = {"rounds": rounds, "threads": 1}
    boosted_trees(findings, quick)
    full_trees(findings, quick)
    one_row(findings, rounds)
    shallow_voters(findings, rounds)


def boosted_trees(findings: Findings, quick: bool) -> None:
    """LightGBM's own trees on both sides, and as many of XGBoost's, grown by leaves too."""
    X, y = collisions(20_000, seed=0)
    many, _ = collisions(100_000 if quick else 1_000_000, seed=1)
    settings = {"objective": "binary", "num_leaves": LEAVES, "num_threads": 1, "verbose": -1}
    light = lightgbm.train(settings, lightgbm.Dataset(X, y), TREES)
    leafwise = {"max_leaves": LEAVES, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist"}
    gradient = xgboost.train(
        {"objective": "binary:logistic", "nthread": 1, **leafwise}, xgboost.DMatrix(X, y, nthread=1), TREES
    )
    committee = Committee.from_estimator(light)
    contenders: dict[str, Work] = {
        "committee": partial(committee.decision_function, many),
        "XGBoost": partial(gradient.inplace_predict, many, predict_type="margin"),
        "LightGBM": partial(light.predict, many, raw_score=True, num_threads=1),
    }
    work = f"predict, {TREES} trees of {LEAVES} leaves, {len(many):,} rows x {many.shape[1]}"
    trial = interleave(contenders, 3 if quick else 5)
    for peer in ("XGBoost", "LightGBM"):
        findings.add_ratio(work, f"{peer}, equal trees" if peer == "LightGBM" else peer, trial, peer, "committee", 2.0)
    _per_row_and_tree(findings, work, trial, "committee", len(many) * TREES)
    rows = many[:2_000]
    contenders = {
        "committee": partial(tree_contributions, committee, rows),
        "LightGBM": partial(light.predict, rows[:200], pred_contrib=True, num_threads=1),
    }
    trial = interleave(contenders, 3 if quick else 5)
    work = f"contributions, {TREES} trees of {LEAVES} leaves"
    _per_row_and_tree(findings, work, trial, "committee", len(rows) * TREES)
    _per_row_and_tree(findings, work, trial, "LightGBM", 200 * TREES)


def full_trees(findings: Findings, quick: bool) -> None:
    """Scikit-learn's own forest of full trees on both sides."""
    X, y = collisions(5_000, seed=0)
    many, _ = collisions(10_000, seed=1)
    forest = RandomForestClassifier(FULL_TREES, random_state=0, n_jobs=1).fit(X, y)
    committee = Committee.from_estimator(forest)
    contenders: dict[str, Work] = {
        "committee": partial(committee.predict_proba, many),
        "scikit-learn": partial(forest.predict_proba, many),
    }
    trial = interleave(contenders, 3 if quick else 11)
    work = f"predict, {FULL_TREES} full trees, {len(many):,} rows x {many.shape[1]}"
    findings.add_ratio(work, "scikit-learn, equal trees", trial, "scikit-learn", "committee", 2.0)
    for name in contenders:
        _per_row_and_tree(findings, work, trial, name, len(many) * FULL_TREES)


def one_row(findings: Findings, rounds: int) -> None:
    """The public methods on one row: what a service pays for each request."""
    X, y = collisions(5_000, seed=0)
    model = AdaBoostClassifier(TREES, max_leaf_nodes=LEAVES, max_depth=None, vote="confidence").fit(X, y)
    row = X[:1].copy()
    trial = interleave({"predict": partial(model.predict, row), "proba": partial(model.predict_proba, row)}, rounds)
    for name, method in (("predict", "predict"), ("proba", "predict_proba")):
        work = f"{method} of one row, {TREES} trees of {LEAVES} leaves"
        findings.record(work, trial)
        spread = Spread.of(trial.cpu[name] * 1e6)
        wall = Spread.of(trial.wall[name] * 1e6)
        findings.add(Figure(work, "", "us", spread, target=60.0, at_least=False, clock="cpu", wall=wall))


def shallow_voters(findings: Findings, rounds: int) -> None:
    """Voters of depth 2, on 10,000 rows and on one."""
    X, y = hastie(2_000, seed=0)
    many, _ = hastie(10_000, seed=1)
    ours = AdaBoostClassifier(n_estimators=STUMPS, max_depth=DEPTH).fit(X, y)
    theirs = peer_of(ours).fit(X, y)
    light = lightgbm.train(
        {"objective": "binary", "num_leaves": 2**DEPTH, "max_depth": DEPTH, "num_threads": 1, "verbose": -1},
        lightgbm.Dataset(X, y),
        STUMPS,
    )
    gradient = xgboost.train(
        {"objective": "binary:logistic", "max_depth": DEPTH, "nthread": 1}, xgboost.DMatrix(X, y, nthread=1), STUMPS
    )
    for rows, target in ((many, 10.0), (many[:1], None)):
        contenders: dict[str, Work] = {
            "committee": partial(ours.predict, rows),
            "committee, the committee alone": partial(ours.committee_.predict, rows),
            "committee, the native walk alone": partial(ours.committee_.voters.tally, rows, ours.committee_.weights),
            "scikit-learn": partial(theirs.predict, rows),
            "LightGBM": partial(light.predict, rows, num_threads=1),
            "XGBoost": partial(gradient.inplace_predict, rows),
        }
        trial, n = interleave(contenders, rounds), len(rows)
        work = f"predict, {STUMPS} voters of depth {DEPTH}, {n:,} {'row' if n == 1 else 'rows'}"
        findings.add_ratio(work, "scikit-learn AdaBoost", trial, "scikit-learn", "committee", target)
        for peer in ("LightGBM", "XGBoost"):
            ratio, wall = trial.ratio(peer, "committee"), trial.ratio(peer, "committee", "wall")
            findings.add(Figure(work, f"{peer}, as many trees", "x", ratio, clock="cpu", wall=wall))
        _per_row_and_tree(findings, work, trial, "committee, the native walk alone", n * STUMPS)


def _per_row_and_tree(findings: Findings, work: str, trial: Trial, name: str, n: int) -> None:
    cpu, wall = Spread.of(trial.cpu[name] * 1e9 / n), Spread.of(trial.wall[name] * 1e9 / n)
    findings.add(Figure(f"{work}: {name}, per row and tree", "", "ns", cpu, clock="cpu", wall=wall))


if __name__ == "__main__":
    command("predict", measure)
