"""What a committee of ensembles costs for a row, which member costs it, and the size of its file.

``python -m benchmarks.bench_committee_predict`` fits the default effort on the first fold of tables of different kinds
and on a made table of 3,000 rows, and times the answers to 10,000 of their rows, drawn with replacement: on one thread
by processor time, on two by the clock on the wall, and each member alone.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.default_tables import Problem, problems
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, interleave
from committee import CommitteeClassifier, CommitteeRegressor
from committee.learners.blend.blend import Blend
from committee.vote.members import MemberCommittees

N_ROWS, ROUNDS = 10_000, 5
MOST, MOST_MB = 10.0, 1.0
"""Microseconds a row, and megabytes of the made table's committee, that are asked for."""
TABLES = ("german", "segment", "spambase", "pendigits", "friedman1")


def made() -> Problem:
    X, y = make_classification(3000, 12, n_informative=6, random_state=0)
    return Problem("made", X, y, np.zeros(12, dtype=bool), numbers=False)


def trained(problem: Problem) -> Blend:
    """The default effort on the first fold."""
    train = np.arange(len(problem.y)) if problem.name == "made" else next(problem.splits(5, 0))[0]
    kind = CommitteeRegressor if problem.numbers else CommitteeClassifier
    flags = problem.categorical if problem.categorical.any() else None
    return kind(categorical_features=flags, random_state=0).fit(problem.X[train], problem.y[train])


def measure_table(findings: Findings, problem: Problem) -> None:
    """Time the vote and its members."""
    model = trained(problem)
    drawn = problem.X[np.random.default_rng(0).integers(len(problem.X), size=N_ROWS)]
    X, voters = model.table_.encode(drawn), model.committee_.voters
    ends = np.cumsum(model.member_sizes_)
    members = {
        name: MemberCommittees(voters.members[end - size : end])
        for name, size, end in zip(model.member_names_, model.member_sizes_, ends, strict=True)
    }
    answer = model.predict if problem.numbers else model.predict_proba
    contenders = {"the vote": lambda: answer(drawn)}
    contenders |= {name: (lambda one=one: one.tally(X)) for name, one in members.items()}
    trial = interleave(contenders, ROUNDS)
    nodes = int(sum(one.n_nodes.sum() for one in members.values()))
    size = f"{problem.name}, {problem.X.shape[1]} columns, {len(voters)} fits, {nodes:,} nodes"
    findings.record(size, trial)
    row = 1e6 / N_ROWS
    us, wall = (Spread.of(row * trial.seconds("the vote", clock)) for clock in ("cpu", "wall"))
    findings.add(Figure(f"{size}: a row", "", "us", us, MOST, at_least=False, clock="cpu", wall=wall))
    megabytes = Spread.of([(model.committee_.file_bytes or 0) / 1e6])
    asked = MOST_MB if problem.name == "made" else None
    findings.add(Figure(f"{size}: file", "", "MB", megabytes, asked, at_least=False))
    whole = sum(float(np.median(trial.seconds(name))) for name in members)
    for name in members:
        seconds = Spread.of(row * trial.seconds(name))
        share = float(np.median(trial.seconds(name))) / whole
        words = f"{problem.name}: {name}, {len(members[name])} fits, {share:.0%} of the members' time"
        findings.add(Figure(words, "", "us", seconds, at_least=False, clock="cpu"))
    model.set_params(n_jobs=2)
    two = Spread.of(row * interleave({"two": lambda: answer(drawn)}, ROUNDS).seconds("two", "wall"))
    findings.add(Figure(f"{problem.name}: a row, two threads", "", "us", two, MOST, at_least=False, clock="wall"))


def measure(findings: Findings, quick: bool) -> None:
    """Predictions of committees of ensembles, and of their members."""
    folder = os.environ.get("COMMITTEE_DATA")
    findings.settings = {"half": "checking", "rows": N_ROWS, "effort": "default"}
    if folder is None or quick:
        findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for problem in [made(), *problems(Path(folder), "checking")]:
            if problem.name in ("made", *TABLES):
                measure_table(findings, problem)


if __name__ == "__main__":
    command("committee_predict", measure)
