"""One row, and many, in onnxruntime beside our own prediction: one thread each, labels and probabilities."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import onnxruntime

import committee
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Work, interleave
from benchmarks.tables import hastie

MOST = 3.0
"""How many times as long onnxruntime may take for one row."""
MANY = 10_000


def learners(quick: bool) -> dict[str, Any]:
    """Learners by name; the committee of ensembles stops after 60 s."""
    size = 10 if quick else 100
    return {
        "gradient boosting": committee.GradientBoostingClassifier(n_estimators=size),
        "forest": committee.RandomForestClassifier(n_estimators=size),
        "AdaBoost of trees": committee.AdaBoostClassifier(n_estimators=size, max_depth=3, vote="confidence"),
        "SBPMT": committee.SBPMTClassifier(n_estimators=2 if quick else 20),
        "boosting tree": committee.BoostingTreeClassifier(),
        "committee of ensembles": committee.CommitteeClassifier(effort="fast", time_limit=60),
    }


def measure(findings: Findings, quick: bool) -> None:
    """Exported models asked for one row, and for many."""
    rounds = 3 if quick else 11
    findings.settings = {"rounds": rounds, "onnxruntime": onnxruntime.__version__}
    X, y = hastie(2_000, seed=0)
    many, _ = hastie(MANY, seed=1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for name, learner in learners(quick).items():
        model = learner.set_params(random_state=0).fit(X, y)
        session = onnxruntime.InferenceSession(committee.to_onnx(model).SerializeToString(), options)
        for rows in (many[:1].copy(), many):
            _beside(findings, name, model, session, rows, rounds)


def _beside(findings: Findings, name: str, model: Any, session: Any, rows: Any, rounds: int) -> None:
    contenders: dict[str, Work] = {
        "onnxruntime": partial(session.run, None, {"X": rows}),
        "committee": partial(model.predict_proba, rows),
    }
    label, probabilities = session.run(None, {"X": rows})
    apart = float(np.abs(probabilities - model.predict_proba(rows)).max())
    if not (label == model.predict(rows)).all() or apart > 1e-12:
        raise RuntimeError(f"{name}: onnxruntime answers otherwise, by {apart}")
    trial, single = interleave(contenders, rounds), len(rows) == 1
    work = f"{name}, {len(rows):,} {'row' if single else 'rows'}: onnxruntime over predict_proba"
    findings.record(work, trial)
    ratio, wall = trial.ratio("onnxruntime", "committee"), trial.ratio("onnxruntime", "committee", "wall")
    target = MOST if single else None
    findings.add(Figure(work, "committee", "x", ratio, target=target, at_least=False, clock="cpu", wall=wall))


if __name__ == "__main__":
    command("onnx", measure)
