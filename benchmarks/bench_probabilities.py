"""What one temperature makes of probabilities: log loss beside the best one in hindsight, calibration, what it costs.

Tables of classes of the folder that ``COMMITTEE_DATA`` names, of the half that chose nothing; a third of the rows is
new. In hindsight the temperature is that of least log loss on these very rows. The peer is scikit-learn's
``CalibratedClassifierCV`` around the same learner with the votes as they come, sigmoids of five folds.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import train_test_split

from benchmarks.bench_forest_tables import TOO_LARGE, Table, matrix
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread
from committee import (
    AdaBoostClassifier,
    ArcGVClassifier,
    BoostingTreeClassifier,
    DOOMBoostClassifier,
    LPBoostClassifier,
    MatryoshkaClassifier,
    MDBoostClassifier,
    ProbabilisticAdaBoostClassifier,
    ProbitModelTreeClassifier,
    RandomForestClassifier,
    SBPMTClassifier,
    SubaggingClassifier,
    TreeVoter,
)
from committee.vote.links.temperature import best_temperature

LEARNERS: dict[str, Callable[[], Any]] = {
    "tree": TreeVoter,
    "model tree": ProbitModelTreeClassifier,
    "forest": RandomForestClassifier,
    "SBPMT": SBPMTClassifier,
    "SBPMT, hard": lambda: SBPMTClassifier(voting="hard"),
    "subagging": SubaggingClassifier,
    "AdaBoost": AdaBoostClassifier,
    "AdaBoost, 200 trees of depth 3": lambda: AdaBoostClassifier(200, max_depth=3, vote="discrete"),
    "AdaBoost, confidence": lambda: AdaBoostClassifier(vote="confidence"),
    "AdaBoost, abstaining": lambda: AdaBoostClassifier(vote="abstaining"),
    "arc-gv": ArcGVClassifier,
    "LPBoost": LPBoostClassifier,
    "MDBoost": MDBoostClassifier,
    "DOOM II": DOOMBoostClassifier,
    "probabilistic AdaBoost": ProbabilisticAdaBoostClassifier,
    "boosting tree": BoostingTreeClassifier,
    "matryoshka": MatryoshkaClassifier,
}
MARGINS = ("arc-gv", "LPBoost", "MDBoost", "DOOM II")
MOST_ROWS, MOST_ROWS_OF_MARGINS = 2000, 700
NAMES = ("votes", "calibrated", "hindsight", "peer", "ECE votes", "ECE calibrated", "ECE peer", "cost", "cost of peer")
LEAST = 1e-15
"""Probability below which a log loss is cut off, as scikit-learn does."""
NEAR = 0.005
"""Nats that make no difference on a single table."""


def loss(p: NDArray[np.float64], truth: NDArray[np.intp]) -> float:
    """Mean log loss."""
    return float(-np.log(np.maximum(p[np.arange(len(p)), truth], LEAST)).mean())


def calibration_error(p: NDArray[np.float64], truth: NDArray[np.intp], n_bins: int = 10) -> float:
    """Expected calibration error of the elected class: accuracy less probability, by bins of the latter."""
    sure, right = p.max(axis=1), p.argmax(axis=1) == truth
    place = np.minimum((sure * n_bins).astype(int), n_bins - 1)
    return float(np.abs(np.bincount(place, right - sure, n_bins)).sum() / len(p))


def timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    """A fit, and its processor time."""
    began = time.process_time()
    model = fit()
    return model, time.process_time() - began


def figures_of(learner: Any, table: Table, split: int) -> list[float]:
    """`NAMES` of one table; NaN where the peer cannot be fitted."""
    X, y = table
    common = np.unique(y, return_counts=True)[1].min() > 2
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=1 / 3, random_state=split, stratify=y if common else None)
    raw = learner.set_params(random_state=split, calibrate=None)
    plain, seconds = timed(lambda: clone(raw).fit(X[train], y[train]))
    ours, seconds_of_ours = timed(lambda: clone(raw).set_params(calibrate="auto").fit(X[train], y[train]))
    test = test[np.isin(y[test], plain.classes_)]
    truth = np.searchsorted(plain.classes_, y[test])
    votes, calibrated = plain.predict_proba(X[test]), ours.predict_proba(X[test])
    committee = ours.committee_
    z = committee.link.evidence(ours.decision_function(X[test]), committee.total_weight)
    T = best_temperature(z, truth.astype(np.uint16), np.ones(len(z)), 10**9)
    hindsight = committee.link.tempered(T).probability(ours.decision_function(X[test]), committee.total_weight)
    found = [loss(votes, truth), loss(calibrated, truth), loss(hindsight, truth)]
    errors = [calibration_error(p, truth) for p in (votes, calibrated)]
    try:
        peer, seconds_of_peer = timed(lambda: CalibratedClassifierCV(clone(raw), cv=5).fit(X[train], y[train]))
        p = peer.predict_proba(X[test])
        of_peer = [loss(p, truth), calibration_error(p, truth), seconds_of_peer]
    except ValueError:  # a class of fewer than five rows
        of_peer = [np.nan] * 3
    more = seconds_of_ours - seconds
    return [*found, of_peer[0], *errors, of_peer[1], more, of_peer[2]]


def measure(findings: Findings, quick: bool) -> None:
    """Each learner at its defaults, two splits of every table."""
    folder, splits = os.environ.get("COMMITTEE_DATA"), 1 if quick else 2
    findings.settings = {"splits": splits, "columns": NAMES, "rows": MOST_ROWS, "rows of margins": MOST_ROWS_OF_MARGINS}
    if folder is None:
        findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
        return
    halves = json.loads((Path(folder) / "halves.json").read_text())
    entries = [e for e in json.loads((Path(folder) / "catalogue.json").read_text()) if e["name"] not in TOO_LARGE]
    entries = [e for e in entries if halves.get(e["name"]) == "checking"][: 2 if quick else None]
    tables = {e["name"]: matrix(Path(folder), e)[:2] for e in entries}
    for name, make in LEARNERS.items():
        most = 100 if quick else MOST_ROWS_OF_MARGINS if name in MARGINS else MOST_ROWS
        found = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of runs that end before their optimum
            for table, (X, y) in tables.items():
                some = np.random.default_rng(0).permutation(len(y))[:most]
                each = [figures_of(make(), (X[some], y[some]), split) for split in range(splits)]
                found[table] = np.mean(each, axis=0)
        report(findings, name, found)


def report(findings: Findings, name: str, found: dict[str, NDArray[np.float64]]) -> None:
    """Means over the tables, and on how many the loss is near that in hindsight."""
    findings.settings[name] = {table: np.round(each, 4).tolist() for table, each in found.items()}
    all_of = np.array(list(found.values()))
    votes, ours, hindsight, peer, *errors, more, cost = all_of.T
    near = int(((ours <= 1.05 * hindsight) | (ours <= hindsight + NEAR)).sum())
    both = ~np.isnan(peer)
    ratios = ours / np.maximum(hindsight, NEAR)
    remark = (
        f"mean {votes.mean():.3f} as votes, {ours.mean():.3f} calibrated, {hindsight.mean():.3f} in hindsight: "
        f"{ours.mean() / hindsight.mean():.3f} x; within 1.05 x or {NEAR} nats on {near} of {len(found)} tables"
    )
    near_hindsight = Spread.of(ratios)
    findings.add(Figure(f"{name}: log loss", "in hindsight", "x", near_hindsight, 1.05, at_least=False, remark=remark))
    ece = [float(each[both].mean()) for each in errors]
    remark = (
        f"mean ECE {ece[0]:.3f} as votes, {ece[1]:.3f} calibrated, peer {ece[2]:.3f}; log loss {ours[both].mean():.3f} "
        f"and {peer[both].mean():.3f}, on {both.sum()} tables"
    )
    less = Spread.of(errors[1][both] - errors[2][both])
    findings.add(Figure(f"{name}: ECE less the peer's", "scikit-learn", "", less, remark=remark))
    share = Spread.of(np.array([more[both].sum() / cost[both].sum()]))
    findings.add(Figure(f"{name}: time beyond the fit", "scikit-learn", "x", share, 0.2, at_least=False))


if __name__ == "__main__":
    command("probabilities", measure)
