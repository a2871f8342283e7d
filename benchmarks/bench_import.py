"""How long imports and commands take in a fresh process, beside those of other libraries."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Clock, Spread, Trial, collect

SKLEARN, BOOSTING = "import sklearn.ensemble", "from committee import GradientBoostingClassifier"
CLOCKS: tuple[Clock, Clock] = ("cpu", "wall")
PEERS = {module: f"import {module}" for module in ("lightgbm", "xgboost")}
OUR_PREDICT = "import committee, pandas as pd\nmodel = committee.load({model!r})\n"
THEIR_PREDICT = "import joblib, pandas as pd\nmodel = joblib.load({model!r})\n"
WRITE = "pd.DataFrame({{'prediction': model.predict(pd.read_csv({table!r}))}}).to_csv({out!r}, index=False)"
"""The script of a user that predicts the rows of a CSV file."""


def fresh(words: Sequence[str]) -> Callable[[], tuple[float, float]]:
    """Return a measurement: wall and processor seconds of a new process with compiled byte code, as pip installs it."""

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def once() -> tuple[float, float]:
        start = time.perf_counter()
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError(f"exit code {child.returncode} of {words!r}")
        return wall, usage.ru_utime + usage.ru_stime

    return once


def python(program: str) -> Callable[[], tuple[float, float]]:
    """Return a measurement of a program in a fresh interpreter."""
    return fresh([sys.executable, "-c", program])


def entry(module: str, *words: str) -> Callable[[], tuple[float, float]]:
    """Return a measurement of a command, given as ``module:function`` of its entry point."""
    module, _, function = module.partition(":")
    return python(f"import sys; sys.argv = {['command', *words]}; from {module} import {function}; {function}()")


def measure(findings: Findings, quick: bool) -> None:
    """Import time, `committee --help` and `committee predict` of ten rows, in fresh processes."""
    rounds = 3 if quick else 5
    findings.settings = {"rounds": rounds, "rows_predicted": 10, "model_trained_on": "breast_cancer"}
    findings.caption = (
        "Figures in seconds are of whole processes, or differences of two. Scripts read the CSV with pandas, predict"
        " and write a CSV; scikit-learn's model is a HistGradientBoostingClassifier that joblib wrote."
    )
    _measure_imports(findings, rounds)
    _measure_help(findings, rounds)
    with tempfile.TemporaryDirectory() as folder:
        _measure_predict(findings, rounds, Path(folder), quick)


def _measure_imports(findings: Findings, rounds: int) -> None:
    statements = {"nothing": "pass", "committee": "import committee", "all names": "from committee import *"}
    statements |= {"scikit-learn": SKLEARN, "a learner": BOOSTING}
    statements |= {name: line for name, line in PEERS.items() if find_spec(name) is not None}
    trial = _turns({name: python(line) for name, line in statements.items()}, rounds)
    findings.record("imports", trial)
    for name in ("committee", "a learner", "all names"):
        _add_difference(findings, f"{statements[name]}: seconds more", SKLEARN, trial, name, "scikit-learn", 0.15)
    for name in PEERS:
        if name in statements:
            _add_difference(findings, f"{BOOSTING}: seconds more", PEERS[name], trial, "a learner", name)


def _measure_help(findings: Findings, rounds: int) -> None:
    measures = {"committee": entry("committee.cli.entry:main", "--help")}
    if find_spec("optuna") is not None:
        measures["optuna"] = entry("optuna.cli:main", "--help")
    trial = _turns(measures, rounds)
    findings.record("--help", trial)
    _add_seconds(findings, "committee --help", trial, "committee", 0.5)
    if "optuna" in measures:
        _add_difference(findings, "committee --help: seconds more", "optuna --help", trial, "committee", "optuna")


def _measure_predict(findings: Findings, rounds: int, folder: Path, quick: bool) -> None:
    import joblib
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import HistGradientBoostingClassifier

    from committee import CommitteeClassifier, GradientBoostingClassifier

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    table, theirs, out = folder / "ten.csv", folder / "theirs.joblib", folder / "out.csv"
    X.head(10).to_csv(table, index=False)
    joblib.dump(HistGradientBoostingClassifier(random_state=0).fit(X, y), theirs)
    models = {"gradient boosting": GradientBoostingClassifier(random_state=0)}
    models["CommitteeClassifier('fast')"] = CommitteeClassifier(
        effort="fast", random_state=0, **({"cv": 2} if quick else {})
    )
    script = "scikit-learn script"
    places = {"table": str(table), "out": str(out)}
    measures = {script: python((THEIR_PREDICT + WRITE).format(model=str(theirs), **places))}
    for name, model in models.items():
        ours = folder / f"{type(model).__name__}.safetensors"
        model.fit(X, y).save(ours)
        measures[f"predict, {name}"] = entry("committee.cli.entry:main", "predict", str(ours), str(table))
        measures[f"script, {name}"] = python((OUR_PREDICT + WRITE).format(model=str(ours), **places))
    trial = _turns(measures, rounds)
    findings.record("ten rows of a CSV file", trial)
    for name in models:
        _add_seconds(findings, f"committee predict, ten rows, {name}", trial, f"predict, {name}", 1.0)
        for kind in ("predict", "script"):
            work = f"{'committee predict' if kind == 'predict' else 'Python script'}, {name}: seconds more"
            _add_difference(findings, work, "script: pandas, joblib, scikit-learn", trial, f"{kind}, {name}", script)


def _turns(measures: dict[str, Callable[[], tuple[float, float]]], rounds: int) -> Trial:
    collect(measures, 1)  # byte code compiled, files in the page cache
    return collect(measures, rounds)


def _add_seconds(findings: Findings, work: str, trial: Trial, name: str, target: float) -> None:
    cpu, wall = (Spread.of(trial.seconds(name, clock)) for clock in CLOCKS)
    findings.add(Figure(work, "", "s", cpu, target, at_least=False, clock="cpu", wall=wall))


def _add_difference(
    findings: Findings, work: str, against: str, trial: Trial, longer: str, shorter: str, target: float | None = None
) -> None:
    cpu, wall = (trial.difference(longer, shorter, clock) for clock in CLOCKS)
    findings.add(Figure(work, against, "s", cpu, target, at_least=False, clock="cpu", wall=wall))


if __name__ == "__main__":
    command("import", measure, one_thread=False)
